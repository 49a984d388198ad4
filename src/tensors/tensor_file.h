/* tensor_file.h - files of tensors: NumPy's .npy (one array) and .safetensors (many, with names and metadata).
 *
 * Only headers are held in memory; data is read by position, so a file may be larger than memory. Everything that a
 * header says is checked against the file's size before it is used. Malformed files are TW_USAGE with one line.
 *   .npy          https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3
 *   .safetensors  https://github.com/huggingface/safetensors: u64 header length, JSON header, data */
#ifndef TW_TENSORS_TENSOR_FILE_H
#define TW_TENSORS_TENSOR_FILE_H

#include <jansson.h>

#include "tilewright/format.h"

enum { TENSOR_RANK_MAX = 32 }; /* NumPy's own limit for long */

typedef enum tensor_dtype {
  DTYPE_OTHER = 0, /* a dtype that is unknown here: such tensors are only copied */
  DTYPE_F64,
  DTYPE_F32,
  DTYPE_F16,
  DTYPE_BF16,
  DTYPE_E4M3,
  DTYPE_E5M2,
  DTYPE_E4M3FNUZ,
  DTYPE_I64,
  DTYPE_I32,
  DTYPE_I16,
  DTYPE_I8,
  DTYPE_U64,
  DTYPE_U32,
  DTYPE_U16,
  DTYPE_U8,
  DTYPE_BOOL,
  DTYPE_COUNT
} tensor_dtype;

size_t dtype_bytes(tensor_dtype); /* 0 for DTYPE_OTHER */
tensor_dtype dtype_named(const char *safetensors_name);
bool npy_has(tensor_dtype);

typedef struct tensor {
  char *name;
  tensor_dtype dtype;
  char dtype_name[16]; /* in a .safetensors file */
  int rank;
  uint64_t shape[TENSOR_RANK_MAX];
  uint64_t offset, bytes; /* in the file */
} tensor;

void tensor_set_dtype(tensor *, tensor_dtype); /* and its name; not DTYPE_OTHER */

typedef struct tensor_file {
  const char *path;
  int fd; /* -1: none */
  uint64_t size;
  bool is_npy;
  size_t n;
  tensor *tensor;
  json_t *metadata; /* an object of strings, or NULL */
} tensor_file;

/* `path` must outlive the file. On failure nothing is open. */
tw_status tensor_file_open(const char *path, tensor_file *, tw_error *);
void tensor_file_close(tensor_file *);
const tensor *tensor_named(const tensor_file *, const char *name); /* or NULL */
/* Bytes from .. from + bytes of a tensor's data. */
tw_status tensor_read(const tensor_file *, const tensor *, uint64_t from, void *to, size_t bytes, tw_error *);

/* The number of values of a shape; false if it does not fit. */
bool shape_values(int rank, const uint64_t shape[], uint64_t *values);

/* ---- headers, as bytes; `size` is the file's, `available` what there is of it in `data` ---- */

enum {
  HEADER_MAX = 100 << 20, /* safetensors' own limit */
  NPY_HEADER_MAX = 1 << 20,
};

/* The length of the header in the file, from the file's first 12 bytes (or fewer). */
tw_status npy_header_bytes(const uint8_t *data, size_t available, const char *path, uint64_t size, size_t *bytes,
                           tw_error *);
tw_status safetensors_header_bytes(const uint8_t *data, size_t available, const char *path, uint64_t size,
                                   size_t *bytes, tw_error *);
/* Fill n, tensor and metadata of *file; file->path and size are given. */
tw_status npy_parse(const uint8_t *data, size_t bytes, tensor_file *file, tw_error *);
tw_status safetensors_parse(const uint8_t *data, size_t bytes, tensor_file *file, tw_error *);
void tensor_file_free(tensor_file *); /* frees what these two filled */

/* The header of a new file, malloc'ed; sets the tensors' offsets and *size, the whole file's. NULL without memory. */
char *npy_header(tensor *, size_t *header_bytes, uint64_t *size);
char *safetensors_header(tensor *, size_t n, json_t *metadata, size_t *header_bytes, uint64_t *size);

#endif
