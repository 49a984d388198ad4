/* plan.h - decides what convert_file does with each tensor, before anything is written. */
#ifndef TW_TENSORS_PLAN_H
#define TW_TENSORS_PLAN_H

#include "tensors/convert.h"

typedef struct source {         /* a tensor to read, as a matrix */
  const tensor *codes, *scales; /* scales may be NULL */
  tw_packing packing;           /* plain numbers have a format without scales */
  bool is_f64;                  /* f64 is not a format: it is read directly */
  int rank;
  uint64_t shape[TENSOR_RANK_MAX];
  size_t rows, columns;
} source;

typedef struct plan_entry {
  source from;
  bool converts; /* otherwise from.codes is copied */
  tw_packed_size size;
  tensor codes, scales;       /* tensors of the output; names malloc'ed; scales.name is NULL without scales */
  size_t codes_at, scales_at; /* in plan.out */
} plan_entry;

typedef struct plan {
  size_t n, n_out;
  plan_entry *entry;
  tensor *out; /* in the file's order; names belong to the entries */
  json_t *metadata;
} plan;

tw_status plan_make(const tensor_file *in, const convert_options *, bool to_npy, const char *out, plan *, tw_error *);
void plan_free(plan *);

#endif
