/* conv_kernel.h - the structure of a convolution's kernels of tiles: a schedule, and the kernels that it describes.
 *
 * A kernel before writes the images channels last, in the type that is multiplied (f32 as parts of bf16), zeros around them
 * included; where the stride is not 1, places of a stride become channels, and of dimensions that are `fold`ed all of a
 * window does: then few channels fill what a copy moves at once. Another one writes the weights to match. What is left is a
 * convolution of stride 1: for each place of the window, a product of rectangles of places with weights. Steps:
 *
 *   tile x=8 y=8 n=96 groups=2     x * y = 64 places for each group, n channels of the output
 *   fold 2                         how many dimensions, from the innermost, are folded
 *   products 3                     f32 as a sum of products of bf16 (gemm_warp_specialized.h)
 *   promote k=256                  sums of so much are added to others, rounded to nearest
 *   stages 4                       tiles under way
 *
 * conv2d without pooling, and conv3d; f32, and bf16 and f16 as they are. The empty schedule has no kernel here. */
#ifndef TW_TILE_CONV_KERNEL_H
#define TW_TILE_CONV_KERNEL_H

#include <stdint.h>

#include "op/conv.h"
#include "tile/family.h"

typedef struct tw_tile_conv_plan {
  int x, y, n, groups; /* x = 0: no tiles yet */
  int fold, products, promote, stages;
  /* What follows from that: of each dimension, how many of the input's places become channels, and what is left of the window. */
  int folded[TW_CONV_DIMS], taps[TW_CONV_DIMS];
  int channels, padded; /* of the images that are written; a multiple of k */
  int k, planes;
  int width; /* channels of results that are turned at a time, where images come first */
  int registers_copy, registers_multiply;
  int64_t shared_bytes;
} tw_tile_conv_plan;

extern const tw_tile_family tw_tile_conv;

/* Its writer. */
tw_status tw_tile_conv_write(const tw_tile_machine *, const tw_problem *, const void *plan, tw_text *, tw_error *);

/* A conv2d or conv3d problem. */
tw_conv tw_tile_conv_of(const tw_problem *);

#endif
