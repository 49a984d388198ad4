/* gemm_reference.c - the definition of gemm: exact in integers, in double for real types.
 *
 * Integers: op(A) and the transpose of op(B) are widened to 16 bits and laid out so that every element of C is a dot
 * product of two contiguous rows; a compiler turns that into multiply-add-pairs of the host (a product of two int8 fits
 * 16 x 16 -> 32 bits exactly). Blocks of C are independent and shared between threads. Without memory for the copies
 * (and of int16, which needs none) the same sums are computed in place, slowly. f32 sums k products in double, in
 * order. */
#include <stdlib.h>

#include "base/integers.h"
#include "base/parallel.h"
#include "op/element.h"
#include "op/gemm_values.h"
#include "op/int8.h"

enum { ROWS = TW_DOT_ROWS, COLUMNS = TW_DOT_COLUMNS }; /* size of a block of C */

typedef struct job {
  const tw_gemm *g;
  const void *A, *B, *D;
  void *C;
  int64_t depth;   /* k rounded up to a multiple of 16 */
  int16_t *a, *bt; /* m x depth and n x depth, zeros after k; NULL without memory */
  int64_t blocks_per_row;
} job;

static int32_t bias_i32(const job *j, int64_t row, int64_t column) {
  if (j->g->bias == TW_GEMM_BIAS_NONE) return 0;
  return ((const int32_t *)j->D)[(j->g->bias == TW_GEMM_BIAS_FULL ? row * j->g->ldd : 0) + column];
}

static void accumulate_in_place(const job *j, int64_t row, int64_t rows, int64_t column, int64_t columns,
                                int32_t sum[ROWS][COLUMNS]) {
  const tw_gemm *g = j->g;
  const tw_type b_type = tw_gemm_numerics_of(g).b;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = 0; p < g->k; p++) {
      int64_t at = g->a_transposed ? p * g->lda + row + i : (row + i) * g->lda + p;
      int32_t a = (int32_t)tw_element(g->a, j->A, at);
      for (int64_t c = 0; c < columns; c++)
        sum[i][c] += a * (int32_t)tw_element(b_type, j->B,
                                             g->b_transposed ? (column + c) * g->ldb + p : p * g->ldb + column + c);
    }
}

static void integer_block(void *context, size_t index) {
  const job *j = context;
  const tw_type c_type = tw_gemm_numerics_of(j->g).c;
  int64_t row = (int64_t)index / j->blocks_per_row * ROWS, column = (int64_t)index % j->blocks_per_row * COLUMNS;
  int64_t rows = j->g->m - row < ROWS ? j->g->m - row : ROWS;
  int64_t columns = j->g->n - column < COLUMNS ? j->g->n - column : COLUMNS;
  int32_t sum[ROWS][COLUMNS] = {0};
  if (j->a && j->bt)
    tw_dot_block(j->a + row * j->depth, rows, j->bt + column * j->depth, columns, j->depth, sum);
  else
    accumulate_in_place(j, row, rows, column, columns, sum);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < columns; c++)
      tw_set_element(c_type, j->C, (row + i) * j->g->ldc + column + c,
                     tw_gemm_finish(j->g, (double)(sum[i][c] + bias_i32(j, row + i, column + c))));
}

static void real_block(void *context, size_t index) {
  const job *j = context;
  const tw_gemm *g = j->g;
  const tw_gemm_numerics types = tw_gemm_numerics_of(g);
  const tw_type a_type = types.a, b_type = types.b, c_type = types.c;
  int64_t row = (int64_t)index / j->blocks_per_row * ROWS, column = (int64_t)index % j->blocks_per_row * COLUMNS;
  int64_t rows = g->m - row < ROWS ? g->m - row : ROWS, columns = g->n - column < COLUMNS ? g->n - column : COLUMNS;
  double sum[ROWS][COLUMNS] = {0}, b[COLUMNS];
  for (int64_t p = 0; p < g->k; p++) {
    for (int64_t c = 0; c < columns; c++)
      b[c] = tw_element(b_type, j->B, g->b_transposed ? (column + c) * g->ldb + p : p * g->ldb + column + c);
    for (int64_t i = 0; i < rows; i++) {
      double a = tw_element(a_type, j->A, g->a_transposed ? p * g->lda + row + i : (row + i) * g->lda + p);
      for (int64_t c = 0; c < columns; c++) sum[i][c] += a * b[c];
    }
  }
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < columns; c++) {
      const int64_t at = (g->bias == TW_GEMM_BIAS_FULL ? (row + i) * g->ldd : 0) + column + c;
      const double d = j->D ? tw_element(types.d, j->D, at) : 0;
      tw_set_element(c_type, j->C, (row + i) * g->ldc + column + c, tw_gemm_finish(g, sum[i][c] + d));
    }
}

void tw_gemm_reference(const tw_gemm *g, void *const buffers[], int threads) {
  job j = {.g = g, .A = buffers[0], .B = buffers[1], .C = buffers[tw_gemm_c_index(g)]};
  if (g->bias != TW_GEMM_BIAS_NONE) j.D = buffers[tw_gemm_d_index(g)];
  j.blocks_per_row = tw_ceil_div(g->n, COLUMNS);
  size_t blocks = (size_t)(tw_ceil_div(g->m, ROWS) * j.blocks_per_row);
  if (g->acc != TW_I32 && !tw_gemm_narrow_sums(g)) {
    tw_parallel_for(threads, blocks, real_block, &j);
    return;
  }
  j.depth = tw_dot_depth(g->k);
  if (g->a == TW_I8) /* unsigned rows are summed in place */
    j.a = tw_dot_widen(j.A, g->m, g->k, g->a_transposed ? 1 : g->lda, g->a_transposed ? g->lda : 1, threads);
  if (g->b != TW_I16)
    j.bt = tw_dot_widen(j.B, g->n, g->k, g->b_transposed ? g->ldb : 1, g->b_transposed ? 1 : g->ldb, threads);
  tw_parallel_for(threads, blocks, integer_block, &j);
  free(j.a);
  free(j.bt);
}
