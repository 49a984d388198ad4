/* plain.h - the baseline of an op in CUDA C++: where a search starts, and slow, obvious and right. */
#ifndef TW_CUDA_PLAIN_H
#define TW_CUDA_PLAIN_H

#include "base/template.h"
#include "tilewright/extend/op.h"

/* Has the op such a kernel? */
bool cuda_has_plain(const tw_problem *);
/* TW_UNSUPPORTED for types that have none. */
tw_status cuda_plain(const tw_problem *, char **source, tw_error *);
/* plain_rows.c: plain row kernels, for problems and machines without tile kernels. */
bool cuda_has_plain_rows(const tw_problem *);
tw_status cuda_plain_rows(const tw_problem *, char **source, tw_error *);

/* How a type is stored, loaded into the accumulator's type and converted back; NULL if it is unsupported. */
typedef struct cuda_plain_words {
  const char *stored, *load, *store;
} cuda_plain_words;
cuda_plain_words cuda_plain_words_of(tw_type);

/* `source` is the embedded template, filled, malloc'ed; frees the slots. */
tw_status cuda_plain_fill(tw_slots *, const char *file, char **source, tw_error *);

#endif
