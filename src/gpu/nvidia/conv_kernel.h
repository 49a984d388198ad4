/* conv_kernel.h - convolution as implicit GEMM for NVIDIA Hopper: the plan of a schedule.
 *
 * A first kernel writes the images channels-last, with zeros around them, in the type that is multiplied (f32 as bf16 parts).
 * With a stride, the places within a stride become channels. In `fold`ed dimensions, the whole window becomes channels, so
 * that few channels still fill a copy. Another kernel writes the weights to match. The rest is a convolution of stride 1: for
 * each place of the window, a product of rectangles of pixels with weights. Steps:
 *
 *   tile x=8 y=8 n=96 consumers=2  x * y = 64 pixels for each consumer warpgroup, n output channels
 *   fold 2                         number of folded dimensions, from the innermost
 *   products 3                     f32 as a sum of products of bf16 parts (gemm_warp_specialized.h); with arithmetic=tf32, no
 *                                  such step multiplies tf32
 *   promote k=256                  partial sums of this many k are added to a second accumulator
 *   stages 4                       tiles in flight
 *
 * Supported: conv2d without pooling, and conv3d, of f32, bf16 and f16. The empty schedule is the target's plain kernel. */
#ifndef TW_TILE_CONV_KERNEL_H
#define TW_TILE_CONV_KERNEL_H

#include <stdint.h>

#include "gpu/common/family.h"
#include "op/conv.h"

typedef struct tw_tile_conv_plan {
  /* x = 0: no `tile` step yet. `groups` are consumer warpgroups. */
  int x, y, n, groups;
  int fold, products, promote, stages;
  /* Derived. For each dimension: input places that become channels, and the remaining size of the window. */
  int folded[TW_CONV_DIMS], taps[TW_CONV_DIMS];
  /* Channels of the written images; rounded up to a multiple of k. */
  int channels, padded;
  int k, planes;
  /* nchw: channels of results that are transposed together. */
  int width;
  int registers_copy, registers_multiply;
  int64_t shared_bytes;
} tw_tile_conv_plan;

extern const tw_tile_family tw_tile_conv;

/* The slots of the kernel of a plan. */
void tw_tile_conv_slots(const tw_tile_machine *, const tw_problem *, const void *plan, tw_slots *);

/* A conv2d or conv3d problem. */
tw_conv tw_tile_conv_of(const tw_problem *);

#endif
