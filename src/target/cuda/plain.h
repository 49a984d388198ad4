/* plain.h - the baseline of an op in CUDA C++: the slow, obvious and right kernel at which a search starts. */
#ifndef TW_CUDA_PLAIN_H
#define TW_CUDA_PLAIN_H

#include "base/template.h"
#include "tilewright/extend/op.h"

/* Is there such a kernel for the op? */
bool cuda_has_plain(const tw_problem *);
/* TW_UNSUPPORTED for types without such a kernel. */
tw_status cuda_plain(const tw_problem *, char **source, tw_error *);
/* plain_rows.c: plain row kernels, for problems and machines without tile kernels. */
bool cuda_has_plain_rows(const tw_problem *);
tw_status cuda_plain_rows(const tw_problem *, char **source, tw_error *);

/* How a type is stored, loaded into the accumulator's type and converted back; NULL if it is unsupported. */
typedef struct cuda_plain_words {
  const char *stored, *load, *store;
} cuda_plain_words;
cuda_plain_words cuda_plain_words_of(tw_type);

/* Fills the embedded template into `source`, malloc'ed; frees the slots. */
tw_status cuda_plain_fill(tw_slots *, const char *file, char **source, tw_error *);

#endif
