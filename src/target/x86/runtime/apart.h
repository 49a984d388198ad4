/* apart.h - the functions of a kernel that do not depend on its tile, as a search compiles them: once, in an object of
 * their own (tune/build.c). Both parts of a kernel include this file, before the functions or instead of them. */
#ifndef TW_X86_APART_H
#define TW_X86_APART_H

#include "target/x86/kernel.h"

#undef SHARED
#define SHARED __attribute__((visibility("hidden")))

SHARED void transpose(void *to, const void *from, int64_t stride, int64_t rows, int64_t units);
SHARED x86_pack interleave, gather;
SHARED void finish(const x86_finish *);
SHARED void finish_bf16(const x86_finish *);
SHARED void scales_of_rows(x86_real, const void *from, int64_t stride, int64_t rows, int64_t n, float *scale);
SHARED void quantize(const x86_quantize *);

#endif
