/* conv2d_reference.c - the exact definition of conv2d.
 *
 * Each row of the output is computed independently, by any thread: the `pool` rows of the convolution that its windows
 * cover (one without pooling) are dot products of the weights with pixels gathered in the order of the weights
 * (int8.h). Without memory for the copies the same sums are computed in place, slowly. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "op/conv2d.h"
#include "op/int8.h"

typedef struct job {
  const tw_conv2d *v;
  const int8_t *input, *weights;
  const int32_t *bias; /* NULL without */
  void *output;
  int64_t products, depth; /* r s c; rounded up for tw_dot_block */
  int16_t *by_channel;     /* k x depth, zeros after the products; NULL without memory */
} job;

/* The input's pixel that (p, q) of the convolution meets at (r, s) of the kernel; NULL in the padding. */
static const int8_t *pixel(const job *j, int64_t n, int64_t p, int64_t q, int64_t r, int64_t s) {
  const tw_conv2d *v = j->v;
  int64_t row = p * v->stride + r - v->pad, column = q * v->stride + s - v->pad;
  if (row < 0 || row >= v->h || column < 0 || column >= v->w) return NULL;
  return j->input + ((n * v->h + row) * v->w + column) * v->c;
}

static int32_t finish(const job *j, int64_t k, int32_t sum) {
  if (j->bias) sum += j->bias[k];
  if (j->v->output == TW_I8) return tw_round_i8(sum, j->v->scale, j->v->relu);
  return j->v->relu && sum < 0 ? 0 : sum;
}

static int32_t plain_element(const job *j, int64_t n, int64_t p, int64_t q, int64_t k) {
  const tw_conv2d *v = j->v;
  int32_t sum = 0;
  for (int64_t r = 0; r < v->r; r++)
    for (int64_t s = 0; s < v->s; s++) {
      const int8_t *from = pixel(j, n, p, q, r, s);
      for (int64_t c = 0; from && c < v->c; c++) {
        int64_t product = (r * v->s + s) * v->c + c;
        sum += from[c] * j->weights[v->layout == TW_CONV2D_RSCK ? product * v->k + k : k * j->products + product];
      }
    }
  return finish(j, k, sum);
}

static void gather(const job *j, int64_t n, int64_t p, int64_t q, int16_t *to) {
  const tw_conv2d *v = j->v;
  for (int64_t r = 0; r < v->r; r++)
    for (int64_t s = 0; s < v->s; s++, to += v->c) {
      const int8_t *from = pixel(j, n, p, q, r, s);
      for (int64_t c = 0; c < v->c; c++) to[c] = from ? from[c] : 0;
    }
  memset(to, 0, (size_t)(j->depth - j->products) * sizeof *to);
}

/* Row p of the convolution of image n: q x k finished results. `pixels` has room for TW_DOT_ROWS gathered pixels. */
static void convolve_row(const job *j, int64_t n, int64_t p, int16_t *pixels, int32_t *to) {
  const tw_conv2d *v = j->v;
  for (int64_t q = 0; q < v->q; q += TW_DOT_ROWS) {
    int64_t rows = v->q - q < TW_DOT_ROWS ? v->q - q : TW_DOT_ROWS;
    for (int64_t i = 0; i < rows; i++) gather(j, n, p, q + i, pixels + i * j->depth);
    for (int64_t k = 0; k < v->k; k += TW_DOT_COLUMNS) {
      int64_t columns = v->k - k < TW_DOT_COLUMNS ? v->k - k : TW_DOT_COLUMNS;
      int32_t sum[TW_DOT_ROWS][TW_DOT_COLUMNS] = {0};
      tw_dot_block(pixels, rows, j->by_channel + k * j->depth, columns, j->depth, sum);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < columns; c++) to[(q + i) * v->k + k + c] = finish(j, k + c, sum[i][c]);
    }
  }
}

static void store(const job *j, int64_t at, int32_t value) {
  if (j->v->output == TW_I8)
    ((int8_t *)j->output)[at] = (int8_t)value;
  else
    ((int32_t *)j->output)[at] = value;
}

static int32_t largest(const job *j, int64_t n, tw_conv2d_span rows, tw_conv2d_span columns, int64_t k,
                       const int32_t *row_of_first) {
  const tw_conv2d *v = j->v;
  int32_t best = INT32_MIN;
  for (int64_t p = rows.first; p < rows.last; p++)
    for (int64_t q = columns.first; q < columns.last; q++) {
      int32_t x = row_of_first ? row_of_first[((p - rows.first) * v->q + q) * v->k + k] : plain_element(j, n, p, q, k);
      if (x > best) best = x;
    }
  return best;
}

static void output_row(void *context, size_t index) {
  const job *j = context;
  const tw_conv2d *v = j->v;
  const int64_t n = (int64_t)index / v->out_h;
  const tw_conv2d_span rows = tw_conv2d_window(v, (int64_t)index % v->out_h, v->p);
  int16_t *pixels = tw_resize(NULL, (size_t)(TW_DOT_ROWS * j->depth), sizeof *pixels);
  int32_t *results = tw_resize(NULL, (size_t)((rows.last - rows.first) * v->q * v->k), sizeof *results);
  const bool have_room = pixels && results && j->by_channel;
  for (int64_t p = rows.first; have_room && p < rows.last; p++)
    convolve_row(j, n, p, pixels, results + (p - rows.first) * v->q * v->k);
  for (int64_t q = 0; q < v->out_w; q++)
    for (int64_t k = 0; k < v->k; k++)
      store(j, ((int64_t)index * v->out_w + q) * v->k + k,
            largest(j, n, rows, tw_conv2d_window(v, q, v->q), k, have_room ? results : NULL));
  free(pixels);
  free(results);
}

void tw_conv2d_reference(const tw_conv2d *v, void *const buffers[], int threads) {
  job j = {.v = v, .input = buffers[0], .weights = buffers[1], .bias = v->bias ? buffers[2] : NULL};
  j.output = buffers[2 + v->bias];
  j.products = v->r * v->s * v->c;
  j.depth = tw_dot_depth(j.products);
  const bool innermost = v->layout == TW_CONV2D_RSCK;
  j.by_channel = tw_dot_widen(j.weights, v->k, j.products, innermost ? 1 : j.products, innermost ? v->k : 1, threads);
  tw_parallel_for(threads, (size_t)(v->n * v->out_h), output_row, &j);
  free(j.by_channel);
}
