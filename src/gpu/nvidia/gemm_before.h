/* gemm_before.h - kernels around a GEMM: one before it that repacks its operands into the workspace, and one after
 * it that adds the partial sums of split-K. Their launch lines are in kernels/gemm_before_launch.cuh.in, their text
 * in kernels/gemm_before.cuh.in. */
#ifndef TW_TILE_GEMM_BEFORE_H
#define TW_TILE_GEMM_BEFORE_H

#include "base/template.h"
#include "op/gemm_problem.h"

typedef struct tw_tile_gemm_before {
  bool moved_a, moved_b;           /* repacked into rows that begin at multiples of 16 bytes */
  bool transposed_a, transposed_b; /* the repacked rows run along k */
  int products;                    /* bf16 products of an f32 product; 0: none */
  int parts;                       /* blocks that divide k; 1: no split-K */
} tw_tile_gemm_before;

/* Fills the slots of both files except `stream_k`. */
void tw_tile_gemm_before_slots(tw_slots *, const tw_gemm *, const tw_tile_gemm_before *);

/* An f32 product as products of bf16 parts: the parts of each operand, and the part of A and of B in each product, one
 * hexadecimal digit for each product, smallest products first. */
typedef struct tw_tile_parts {
  int planes, a, b;
} tw_tile_parts;
tw_tile_parts tw_tile_parts_of(int products);

/* Is a sum of k such products within the bound of f32? With three products, each is off by up to 3 x 2^-18, which is
 * 64 units of 2^-24 in the mean square. For sums of a thousand products and more, this is below f32's own rounding;
 * for shorter sums it is above. */
bool tw_tile_products_suffice(int products, tw_arithmetic, int64_t k);

#endif
