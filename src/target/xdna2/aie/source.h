/* source.h - kernel.cc: the functions that the cores of a design call, in C++ on the AIE API, for chess and peano.
 *
 * One function for each kernel call of the simulator (array/symbol.h has names and arguments), on the same layouts of
 * tiles (array/kernel.h, array/pack.h) and with bit-identical results: tests/xdna2/test_xdna2_kernel_cc.c compiles it
 * against a functional stand-in of the AIE API and compares. Sizes, cluster, unrolling, rounding and shift of the
 * design are constants of the text. docs/explain/xdna2-core.md states what that proves and what it does not. */
#ifndef TW_XDNA2_AIE_SOURCE_H
#define TW_XDNA2_AIE_SOURCE_H

#include "target/xdna2/array/gemm_array.h"

/* The text, malloc'ed. TW_USAGE: the design cannot be built. */
tw_status xd_kernel_source(const xd_config *, const xd_gemm *, char **out, tw_error *);

#endif
