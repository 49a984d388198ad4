/* tensors.h - files of tensors: NumPy's .npy (one array) and .safetensors (many, with names).
 *
 * The functions are in libtilewright-tensors, which tilewright.h does not include.
 * Data is read by position, so a file may be larger than memory. Headers are checked against the file's size; a malformed
 * file is TW_USAGE with one line. Files of `tilewright quantize` contain their format and shape. Functions are thread-safe
 * on one open file. */
#ifndef TILEWRIGHT_TENSORS_H
#define TILEWRIGHT_TENSORS_H

#include "tilewright/format.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_TENSOR_RANK_MAX = 32 };

typedef struct tw_tensor {
  /* Name of the tensor; "" in a .npy file. */
  const char *name;
  /* Type by its name in .safetensors: "F32", "BF16", "U8", ... */
  const char *dtype;
  int rank;
  /* Shape of the row-major tensor. */
  uint64_t shape[TW_TENSOR_RANK_MAX];
  uint64_t bytes;
} tw_tensor;

typedef struct tw_tensors tw_tensors; /* an open file */

TW_API tw_status tw_tensors_open(const char *path, tw_tensors **out, tw_error *);
TW_API void tw_tensors_close(tw_tensors *); /* NULL is fine */
/* Tensors in the order of the file; false after the last. *out points to memory that is valid while the file is open. */
TW_API bool tw_tensors_at(const tw_tensors *, size_t index, tw_tensor *out);
TW_API bool tw_tensors_find(const tw_tensors *, const char *name, tw_tensor *out);
/* Reads `bytes` bytes of a tensor's data, from offset `from`. */
TW_API tw_status tw_tensors_read(const tw_tensors *, const char *name, uint64_t from, void *to, size_t bytes,
                                 tw_error *);

/* The packing of a tensor that `tilewright quantize` wrote, for tw_format_decode and tw_gemm_pack_codes. Also its size as a matrix
 * (the last dimension is the columns) and the bytes of its planes. The tensor NAME.scales has the scales. False: the file has
 * no packing for the tensor. */
TW_API bool tw_tensors_packing(const tw_tensors *, const char *name, tw_packing *, size_t *rows, size_t *columns,
                               tw_packed_size *);

/* Writes a .safetensors file, or a .npy file for one tensor of a dtype that NumPy has; the ending of `path` decides. The file
 * appears whole or not at all. `data[i]` has tensor[i].bytes bytes, which must match dtype and shape. */
TW_API tw_status tw_tensors_write(const char *path, size_t n, const tw_tensor tensor[], const void *const data[],
                                  tw_error *);

#ifdef __cplusplus
}
#endif
#endif
