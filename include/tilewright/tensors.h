/* tensors.h - files of tensors: NumPy's .npy (one array) and .safetensors (many, with names).
 *
 * Data is read by position, so a file may be larger than memory. Everything that a header says is checked against the file's
 * size; malformed files are TW_USAGE with one line. What `tilewright quantize` wrote tells its format and shape. Functions
 * are thread-safe on one open file. */
#ifndef TILEWRIGHT_TENSORS_H
#define TILEWRIGHT_TENSORS_H

#include "tilewright/format.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_TENSOR_RANK_MAX = 32 };

typedef struct tw_tensor {
  const char *name;  /* "" in a .npy file */
  const char *dtype; /* as .safetensors calls it: "F32", "BF16", "U8", ... */
  int rank;
  uint64_t shape[TW_TENSOR_RANK_MAX]; /* row-major */
  uint64_t bytes;
} tw_tensor;

typedef struct tw_tensors tw_tensors; /* an open file */

TW_API tw_status tw_tensors_open(const char *path, tw_tensors **out, tw_error *);
TW_API void tw_tensors_close(tw_tensors *); /* NULL is fine */
/* Tensors in the order of the file; false after the last. *out points to memory that is valid while the file is open. */
TW_API bool tw_tensors_at(const tw_tensors *, size_t index, tw_tensor *out);
TW_API bool tw_tensors_find(const tw_tensors *, const char *name, tw_tensor *out);
/* Bytes from .. from + bytes of a tensor's data. */
TW_API tw_status tw_tensors_read(const tw_tensors *, const char *name, uint64_t from, void *to, size_t bytes,
                                 tw_error *);

/* A tensor that `tilewright quantize` wrote, as tw_format_decode and tw_gemm_pack_codes take it: its packing, its size as a matrix
 * (the last dimension are the columns), and the bytes of its planes; the scales' plane is the tensor NAME.scales. False
 * if the file does not say so of the tensor. */
TW_API bool tw_tensors_packing(const tw_tensors *, const char *name, tw_packing *, size_t *rows, size_t *columns,
                               tw_packed_size *);

/* Writes a .safetensors file (or, of one tensor of a dtype that NumPy has, .npy, by the name's end). It appears whole or not
 * at all. `data[i]` holds tensor[i].bytes, which must be what dtype and shape say. */
TW_API tw_status tw_tensors_write(const char *path, size_t n, const tw_tensor tensor[], const void *const data[],
                                  tw_error *);

#ifdef __cplusplus
}
#endif
#endif
