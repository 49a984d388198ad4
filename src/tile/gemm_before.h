/* gemm_before.h - kernels before a GEMM that bring its operands to the workspace, and the one after it that adds the sums of blocks that
 * share k. kernels/gemm_before_launch.cuh.in has their launches, kernels/gemm_before.cuh.in their text. */
#ifndef TW_TILE_GEMM_BEFORE_H
#define TW_TILE_GEMM_BEFORE_H

#include "base/template.h"
#include "op/gemm_problem.h"

typedef struct tw_tile_gemm_before {
  bool moved_a, moved_b;   /* to rows that begin at multiples of 16 bytes */
  bool turned_a, turned_b; /* and so that k lies along them */
  int products;            /* f32 as parts of bf16; 0: not */
  int parts;               /* blocks that share k; 1: none */
} tw_tile_gemm_before;

/* Slots of both files but `even`, with the names of A's type in memory. */
void tw_tile_gemm_before_slots(tw_slots *, const tw_gemm *, const tw_tile_gemm_before *);

/* How products of parts make one: parts of each factor, and which of A's and of B's each product takes, a hexadecimal digit
 * for each, the smallest products first. */
typedef struct tw_tile_parts {
  int planes, a, b;
} tw_tile_parts;
tw_tile_parts tw_tile_parts_of(int products);

#endif
