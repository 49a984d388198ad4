/* convert.h - converts a file of tensors to another number format.
 *
 * A tensor is a matrix here: its last dimension has the columns, all other dimensions the rows. Converted tensors
 * become, in a .safetensors file,
 *
 *   NAME           the codes: in the format's own dtype with the tensor's shape where safetensors has one (f32, f16,
 *                  bf16, e4m3, e5m2, and I8 for i8), else U8 with the last dimension the bytes of a row
 *   NAME.scales    if the format has separate scales: U8 for e8m0, else F32; the last dimension is the scales of a row,
 *                  shape [1] for one scale a tensor
 *   __metadata__   "tilewright.NAME": "FORMAT shape=2,3,4 [group=N|tensor] [rule=...] [rounding=floor]"
 *
 * and are read again by that. Other tensors are copied. A .npy file holds one f32 or f16 array without scales. */
#ifndef TW_TENSORS_CONVERT_H
#define TW_TENSORS_CONVERT_H

#include "base/program.h"
#include "tensors/statistics.h"
#include "tensors/tensor_file.h"

typedef struct convert_options {
  tw_packing to;
  bool all;                    /* also tensors with fewer than 2 dimensions (a .npy file's array is always converted) */
  int jobs;                    /* number of threads, at most 8; 0: as many as cores. The result does not depend on it */
  const volatile int *stopped; /* may be NULL; after it is set, the result is TW_INTERRUPTED */
} convert_options;

typedef struct converted { /* the result for a tensor */
  char *name;
  char from[24];
  int rank;
  uint64_t shape[TENSOR_RANK_MAX], values;
  bool copied;
  uint64_t bytes_in, bytes_out;
  statistics statistics; /* of converted ones */
} converted;

typedef struct conversion {
  size_t n;
  converted *tensor;
  uint64_t bytes_in, bytes_out; /* of the files */
} conversion;

/* Converts. `done` (may be NULL) is called after each tensor. The output file appears only when it is complete. Uses
 * some tens of MiB of memory, for tensors of any size. */
tw_status convert_file(const char *in, const char *out, const convert_options *,
                       void (*done)(void *, const converted *), void *context, conversion *, tw_error *);
void conversion_free(conversion *);

/* The table of the module tilewright-quantize.so. */
typedef struct converter {
  tw_module module;
  tw_status (*convert)(const char *in, const char *out, const convert_options *,
                       void (*done)(void *, const converted *), void *context, conversion *, tw_error *);
  void (*free)(conversion *);
} converter;

/* "mxfp4 shape=2,3": fills packing, rank and shape; false if it is not what convert_file writes. */
bool packing_parse(const char *text, tw_packing *, int *rank, uint64_t shape[TENSOR_RANK_MAX]);
/* The inverse: a malloc'ed text, NULL without memory. */
char *packing_print(const tw_packing *, int rank, const uint64_t shape[]);

#endif
