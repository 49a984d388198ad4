/* scalar.h - scalar code of cores: one operation at a time, on registers and on elements of buffers in L1. */
#ifndef TW_XDNA2_ARRAY_SCALAR_H
#define TW_XDNA2_ARRAY_SCALAR_H

#include "target/xdna2/array/program.h"

static inline int64_t xd_scalar_value(const xd_source *s, const int64_t registers[]) {
  return s->at < 0 ? s->value : registers[s->at];
}

/* The bits of a register that holds this real number. */
int64_t xd_scalar_of_real(double);

/* The result of a computing operation. Division by 0 gives 0, because no source documents a core's result. */
int64_t xd_scalar_compute(const xd_scalar *, const int64_t registers[]);

/* An element of this type, as a register holds it, and back. */
int64_t xd_scalar_load(tw_type, bool is_unsigned, const void *at);
void xd_scalar_store(tw_type, int64_t value, void *at);

#endif
