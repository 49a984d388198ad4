/* conv2d.h - a conv2d problem as a plain struct, for conv2d.c, its reference, its tests, and schedules. */
#ifndef TW_OP_CONV2D_H
#define TW_OP_CONV2D_H

#include <stdbool.h>
#include <stdint.h>

#include "op/gemm_problem.h"
#include "tilewright/extend/op.h"

/* RSCK: weights[r][s][c][k], as the public Gemmini harnesses have it. KRSC: weights[k][r][s][c].
 * KCRS: weights[k][c][r][s], as in PyTorch. */
typedef enum tw_conv2d_layout { TW_CONV2D_RSCK, TW_CONV2D_KRSC, TW_CONV2D_KCRS } tw_conv2d_layout;

typedef struct tw_conv2d {
  int64_t n, h, w, c, k, r, s; /* h, w: of the input */
  int64_t stride, pad;
  int64_t pool, pool_stride, pool_pad; /* pool 0: no pooling; then pool_stride is 1 and pool_pad 0 */
  int64_t p, q;                        /* rows and columns of the convolution, before pooling */
  int64_t out_h, out_w;                /* size of the output, after pooling */
  bool bias, relu;
  float scale;
  tw_conv2d_layout layout;
  tw_type input, weights, output, acc;
  bool images_first; /* input and output are stored as [n][c][h][w] */
  tw_arithmetic arithmetic;
} tw_conv2d;

tw_conv2d tw_conv2d_of(const tw_problem *);

/* Does one of the `windows` pooling windows cover row (column) `result` of the convolution? Always without pooling. */
static inline bool tw_conv2d_needs(const tw_conv2d *v, int64_t result, int64_t windows) {
  if (!v->pool) return true;
  int64_t last = (result + v->pool_pad) / v->pool_stride;
  if (last >= windows) last = windows - 1;
  return result < last * v->pool_stride - v->pool_pad + v->pool;
}

/* The rows or columns of the convolution that window `index` of the pooling covers, inside `length`; without pooling
 * one. */
typedef struct tw_conv2d_span {
  int64_t first, last; /* last: one past the end */
} tw_conv2d_span;
static inline tw_conv2d_span tw_conv2d_window(const tw_conv2d *v, int64_t index, int64_t length) {
  if (!v->pool) return (tw_conv2d_span){index, index + 1};
  const int64_t first = index * v->pool_stride - v->pool_pad, last = first + v->pool;
  return (tw_conv2d_span){first < 0 ? 0 : first, last > length ? length : last};
}

/* buffers: input, weights, [bias,] output. */
void tw_conv2d_reference(const tw_conv2d *, void *const buffers[], int threads);

#endif
