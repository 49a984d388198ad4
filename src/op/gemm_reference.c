/* gemm_reference.c - the definition of a right gemm: exact in integers, in double for f32.
 *
 * Integers: op(A) and the transpose of op(B) are widened to 16 bits and laid out so that every element of C is a
 * dot product of two contiguous rows; a compiler turns that into multiply-add-pairs of the host (a product of
 * two int8 fits 16 x 16 -> 32 bits exactly). Blocks of C are independent and shared between threads. Without
 * memory for the copies the same sums are made in place, slowly. f32 sums k products in double, in order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "op/gemm.h"

enum { ROWS = 32, COLUMNS = 64, DEPTH = 1024 }; /* of a block of C, and of one pass over k: fits a 256 KB cache */

typedef struct job {
  const tw_gemm *g;
  const void *A, *B, *D;
  void *C;
  int64_t depth;   /* k rounded up to a multiple of 16 */
  int16_t *a, *bt; /* m x depth and n x depth, zeros behind k; NULL without memory */
  int64_t blocks_per_row;
} job;

int8_t tw_gemm_round_i8(int32_t acc, float scale, bool relu) {
  float x = rintf((float)acc * scale); /* to nearest, ties to even: the default rounding mode */
  if (relu && x < 0) x = 0;
  return (int8_t)(x > 127 ? 127 : x < -128 ? -128 : x);
}

/* rows x k from a matrix whose element (row, p) lies at row * row_step + p * step. */
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

static int16_t *widen(widening w, int threads) {
  w.to = tw_resize(NULL, (size_t)(w.rows * w.depth), sizeof *w.to);
  if (w.to) tw_parallel_for(threads, (size_t)((w.rows + WIDEN_ROWS - 1) / WIDEN_ROWS), widen_rows, &w);
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

static void store_integer(const job *j, int64_t row, int64_t column, int32_t acc) {
  const tw_gemm *g = j->g;
  if (g->c == TW_I8)
    ((int8_t *)j->C)[row * g->ldc + column] = tw_gemm_round_i8(acc, g->scale, g->relu);
  else
    ((int32_t *)j->C)[row * g->ldc + column] = g->relu && acc < 0 ? 0 : acc;
}

static int32_t bias_i32(const job *j, int64_t row, int64_t column) {
  if (j->g->bias == TW_GEMM_BIAS_NONE) return 0;
  return ((const int32_t *)j->D)[(j->g->bias == TW_GEMM_BIAS_FULL ? row * j->g->ldd : 0) + column];
}

static void accumulate_block(const job *j, int64_t row, int64_t rows, int64_t column, int64_t columns,
                             int32_t sum[ROWS][COLUMNS]) {
  for (int64_t p = 0; p < j->depth; p += DEPTH) {
    int64_t depth = j->depth - p < DEPTH ? j->depth - p : DEPTH;
    const int16_t *a = j->a + row * j->depth + p, *b = j->bt + column * j->depth + p;
    for (int64_t c = 0; c < columns; c += 4) {
      for (int64_t r = 0; r < rows; r += 2) {
        if (r + 2 <= rows && c + 4 <= columns) {
          int32_t part[2][4] = {0};
          dot_2x4(a + r * j->depth, b + c * j->depth, j->depth, depth, part);
          for (int i = 0; i < 2; i++)
            for (int k = 0; k < 4; k++) sum[r + i][c + k] += part[i][k];
          continue;
        }
        for (int64_t i = r; i < r + 2 && i < rows; i++)
          for (int64_t k = c; k < c + 4 && k < columns; k++)
            sum[i][k] += dot(a + i * j->depth, b + k * j->depth, depth);
      }
    }
  }
}

static void accumulate_in_place(const job *j, int64_t row, int64_t rows, int64_t column, int64_t columns,
                                int32_t sum[ROWS][COLUMNS]) {
  const tw_gemm *g = j->g;
  const int8_t *A = j->A, *B = j->B;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = 0; p < g->k; p++) {
      int32_t a = g->a_transposed ? A[p * g->lda + row + i] : A[(row + i) * g->lda + p];
      for (int64_t c = 0; c < columns; c++)
        sum[i][c] += a * (g->b_transposed ? B[(column + c) * g->ldb + p] : B[p * g->ldb + column + c]);
    }
}

static void integer_block(void *context, size_t index) {
  const job *j = context;
  int64_t row = (int64_t)index / j->blocks_per_row * ROWS, column = (int64_t)index % j->blocks_per_row * COLUMNS;
  int64_t rows = j->g->m - row < ROWS ? j->g->m - row : ROWS;
  int64_t columns = j->g->n - column < COLUMNS ? j->g->n - column : COLUMNS;
  int32_t sum[ROWS][COLUMNS] = {0};
  if (j->a && j->bt)
    accumulate_block(j, row, rows, column, columns, sum);
  else
    accumulate_in_place(j, row, rows, column, columns, sum);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < columns; c++)
      store_integer(j, row + i, column + c, sum[i][c] + bias_i32(j, row + i, column + c));
}

static void real_block(void *context, size_t index) {
  const job *j = context;
  const tw_gemm *g = j->g;
  const float *A = j->A, *B = j->B, *D = j->D;
  int64_t row = (int64_t)index / j->blocks_per_row * ROWS, column = (int64_t)index % j->blocks_per_row * COLUMNS;
  int64_t rows = g->m - row < ROWS ? g->m - row : ROWS, columns = g->n - column < COLUMNS ? g->n - column : COLUMNS;
  double sum[ROWS][COLUMNS] = {0}, b[COLUMNS];
  for (int64_t p = 0; p < g->k; p++) {
    for (int64_t c = 0; c < columns; c++)
      b[c] = (double)(g->b_transposed ? B[(column + c) * g->ldb + p] : B[p * g->ldb + column + c]);
    for (int64_t i = 0; i < rows; i++) {
      double a = (double)(g->a_transposed ? A[p * g->lda + row + i] : A[(row + i) * g->lda + p]);
      for (int64_t c = 0; c < columns; c++) sum[i][c] += a * b[c];
    }
  }
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < columns; c++) {
      double d = D ? (double)D[(g->bias == TW_GEMM_BIAS_FULL ? (row + i) * g->ldd : 0) + column + c] : 0;
      double x = (double)g->scale * (sum[i][c] + d);
      ((float *)j->C)[(row + i) * g->ldc + column + c] = (float)(g->relu && x < 0 ? 0 : x);
    }
}

void tw_gemm_reference(const tw_gemm *g, void *const buffers[], int threads) {
  bool has_bias = g->bias != TW_GEMM_BIAS_NONE;
  job j = {.g = g, .A = buffers[0], .B = buffers[1], .D = has_bias ? buffers[2] : NULL, .C = buffers[2 + has_bias]};
  j.blocks_per_row = (g->n + COLUMNS - 1) / COLUMNS;
  size_t blocks = (size_t)((g->m + ROWS - 1) / ROWS * j.blocks_per_row);
  if (g->c == TW_F32) {
    tw_parallel_for(threads, blocks, real_block, &j);
    return;
  }
  j.depth = (g->k + 15) / 16 * 16;
  j.a = widen((widening){.from = j.A,
                         .rows = g->m,
                         .k = g->k,
                         .depth = j.depth,
                         .row_step = g->a_transposed ? 1 : g->lda,
                         .step = g->a_transposed ? g->lda : 1},
              threads);
  j.bt = widen((widening){.from = j.B,
                          .rows = g->n,
                          .k = g->k,
                          .depth = j.depth,
                          .row_step = g->b_transposed ? g->ldb : 1,
                          .step = g->b_transposed ? 1 : g->ldb},
               threads);
  tw_parallel_for(threads, blocks, integer_block, &j);
  free(j.a);
  free(j.bt);
}
