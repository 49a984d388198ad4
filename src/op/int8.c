/* int8.c - see int8.h. */
#include "op/int8.h"

#include <math.h>
#include <string.h>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/strings.h"

int8_t tw_round_i8(int32_t acc, float scale, bool relu) {
  float x = rintf((float)acc * scale); /* to nearest, ties to even: the default rounding mode */
  if (relu && x < 0) x = 0;
  return (int8_t)(x > 127 ? 127 : x < -128 ? -128 : x);
}

int16_t tw_round_i16(double x, bool relu) {
  x = rint(x);
  if (relu && x < 0) x = 0;
  return (int16_t)(x > 32767 ? 32767 : x < -32768 ? -32768 : x);
}

/* ---- inputs ---- */

const tw_distribution tw_full_range = {127, 1};

static double variance_of(int64_t products, double scale) {
  return TW_INT8_DEVIATION / (fabs(scale) * sqrt((double)products));
}

double tw_amplitude(int64_t products, double scale) {
  return round((sqrt(1 + 12 * variance_of(products, scale)) - 1) / 2);
}

tw_distribution tw_int8_distribution(int64_t products, double scale) {
  const double variance = variance_of(products, scale), amplitude = tw_amplitude(products, scale);
  if (!(amplitude < 127)) return tw_full_range;
  if (amplitude <= 1) return (tw_distribution){1, fmin(1, 1.5 * variance)};
  return (tw_distribution){(int64_t)amplitude, 1};
}

int8_t tw_draw_i8(tw_random *r, tw_distribution d) {
  if (d.amplitude >= 127) return (int8_t)(tw_random_next(r) >> 56); /* [-128, 127] */
  if (d.density < 1 && tw_random_real(r) >= d.density) return 0;
  return (int8_t)tw_random_between(r, -d.amplitude, d.amplitude);
}

bool tw_is_full_range(uint64_t seed, int operand, int64_t index, int64_t count, int64_t one_in) {
  tw_random r;
  if (count < 4) return false;
  tw_random_seed_stream(&r, seed, (uint64_t)operand << 32);
  if (index == (int64_t)tw_random_below(&r, (uint64_t)count)) return true;
  tw_random_seed_stream(&r, seed, (uint64_t)operand << 32 | (uint64_t)(index + 1));
  return tw_random_below(&r, (uint64_t)one_in) == 0;
}

void tw_fill_bias_i32(uint64_t seed, double scale, int64_t rows, int64_t columns, int64_t pitch, int32_t *data) {
  double most = scale == 0 ? 0x1p20 : fmin(0x1p20, TW_INT8_DEVIATION * sqrt(3) / fabs(scale));
  int64_t amplitude = most < 1 ? 1 : (int64_t)most;
  for (int64_t row = 0; row < rows; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)10 << 32 | (uint64_t)row);
    for (int64_t i = 0; i < columns; i++) data[row * pitch + i] = (int32_t)tw_random_between(&r, -amplitude, amplitude);
  }
}

/* ---- dot products ---- */

enum { DEPTH = 1024 }; /* depth of one pass over the products */

int64_t tw_dot_depth(int64_t products) { return (products + 15) / 16 * 16; }

/* rows x k from a matrix whose element (row, p) is at row * row_step + p * step. */
typedef struct widening {
  const int8_t *from;
  int64_t rows, k, depth, row_step, step;
  int16_t *to;
} widening;

enum { WIDEN_ROWS = 64 };

static void widen_rows(void *context, size_t index) {
  const widening *w = context;
  int64_t first = (int64_t)index * WIDEN_ROWS, last = first + WIDEN_ROWS < w->rows ? first + WIDEN_ROWS : w->rows;
  for (int64_t p = 0; p < w->k; p += WIDEN_ROWS) { /* square blocks: a transposition that stays in the cache */
    int64_t end = p + WIDEN_ROWS < w->k ? p + WIDEN_ROWS : w->k;
    for (int64_t row = first; row < last; row++) {
      int16_t *to = w->to + row * w->depth;
      const int8_t *from = w->from + row * w->row_step;
      if (w->step == 1) {
        for (int64_t q = p; q < end; q++) to[q] = from[q];
      } else {
        for (int64_t q = p; q < end; q++) to[q] = from[q * w->step];
      }
    }
  }
  for (int64_t row = first; row < last; row++)
    memset(w->to + row * w->depth + w->k, 0, (size_t)(w->depth - w->k) * sizeof *w->to);
}

int16_t *tw_dot_widen(const int8_t *from, int64_t rows, int64_t k, int64_t row_step, int64_t step, int threads) {
  widening w = {.from = from, .rows = rows, .k = k, .depth = tw_dot_depth(k), .row_step = row_step, .step = step};
  w.to = tw_resize(NULL, (size_t)(w.rows * w.depth), sizeof *w.to);
  if (w.to) tw_parallel_for(threads, (size_t)tw_ceil_div(w.rows, WIDEN_ROWS), widen_rows, &w);
  return w.to;
}

/* sum[i][j] += a_i . b_j for 2 x 4 elements over `depth` (a multiple of 16). */
static void dot_2x4(const int16_t *restrict a, const int16_t *restrict b, int64_t pitch, int64_t depth,
                    int32_t sum[2][4]) {
  const int16_t *a0 = a, *a1 = a + pitch;
  const int16_t *b0 = b, *b1 = b + pitch, *b2 = b + 2 * pitch, *b3 = b + 3 * pitch;
  int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
  for (int64_t p = 0; p < depth; p++) {
    s00 += a0[p] * b0[p], s01 += a0[p] * b1[p], s02 += a0[p] * b2[p], s03 += a0[p] * b3[p];
    s10 += a1[p] * b0[p], s11 += a1[p] * b1[p], s12 += a1[p] * b2[p], s13 += a1[p] * b3[p];
  }
  sum[0][0] += s00, sum[0][1] += s01, sum[0][2] += s02, sum[0][3] += s03;
  sum[1][0] += s10, sum[1][1] += s11, sum[1][2] += s12, sum[1][3] += s13;
}

static int32_t dot(const int16_t *restrict a, const int16_t *restrict b, int64_t depth) {
  int32_t sum = 0;
  for (int64_t p = 0; p < depth; p++) sum += a[p] * b[p];
  return sum;
}

void tw_dot_block(const int16_t *a, int64_t rows, const int16_t *b, int64_t columns, int64_t depth,
                  int32_t sum[TW_DOT_ROWS][TW_DOT_COLUMNS]) {
  for (int64_t p = 0; p < depth; p += DEPTH) {
    int64_t part_depth = depth - p < DEPTH ? depth - p : DEPTH;
    for (int64_t c = 0; c < columns; c += 4) {
      for (int64_t r = 0; r < rows; r += 2) {
        if (r + 2 <= rows && c + 4 <= columns) {
          int32_t part[2][4] = {0};
          dot_2x4(a + r * depth + p, b + c * depth + p, depth, part_depth, part);
          for (int i = 0; i < 2; i++)
            for (int k = 0; k < 4; k++) sum[r + i][c + k] += part[i][k];
          continue;
        }
        for (int64_t i = r; i < r + 2 && i < rows; i++)
          for (int64_t k = c; k < c + 4 && k < columns; k++)
            sum[i][k] += dot(a + i * depth + p, b + k * depth + p, part_depth);
      }
    }
  }
}
