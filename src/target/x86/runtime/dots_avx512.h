/* dots_avx512.h - products of two matrices stored by rows, C[i][j] = or += sum over p of A[i][p] B[j][p], in AVX-512.
 *
 * Vectors run along k. For few rows or columns this takes less time than to transpose an operand. A tile has 1 x 8 or up
 * to 4 x 4 sums of 16 parts each, which are added at its end. */
#ifndef TW_X86_DOTS_H
#define TW_X86_DOTS_H

#include "target/x86/runtime/words_avx512.h"

#define UNROLLED _Pragma("GCC unroll 16")
enum { DOTS_ROWS = 4, DOTS_ADDED = 8 /* sums whose parts are added together */, DOTS_LANES = 16 };

/* The distance from the sums of a row to those of the next one. A tile's total is stored in this order, too. */
WORD int dots_pitch(int columns) { return columns == 3 ? 4 : columns; }
WORD int dots_columns(int64_t rows) { return rows == 1 ? DOTS_ADDED : DOTS_ADDED / 2; }

WORD __m256 add_halves(__m512 s) { return _mm512_castps512_ps256(s) + (__m256)_mm512_extractf64x4_pd((__m512d)s, 1); }
WORD __m256 add_parts(__m512 s0, __m512 s1) {
  const __m256 x = add_halves(s0), y = add_halves(s1);
  return _mm256_unpacklo_ps(x, y) + _mm256_unpackhi_ps(x, y);
}
WORD __m256 add_pairs(__m256 x, __m256 y) {
  return (__m256)_mm256_unpacklo_pd((__m256d)x, (__m256d)y) + (__m256)_mm256_unpackhi_pd((__m256d)x, (__m256d)y);
}
WORD __m128 add_quarters(__m256 x) { return _mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1); }

/* Stores the sums of the lanes of each of up to eight vectors. */
WORD void add_lanes(float *total, const __m512 *s, int count, float alpha) {
  if (count == 1) {
    const __m128 x = add_quarters(add_halves(s[0]));
    const __m128 y = x + _mm_movehl_ps(x, x);
    *total = (y[0] + y[1]) * alpha;
  } else if (count == 2) {
    const __m128 x = add_quarters(add_parts(s[0], s[1]));
    _mm_storel_pi((__m64 *)total, (x + _mm_movehl_ps(x, x)) * alpha);
  } else {
    const __m256 low = add_pairs(add_parts(s[0], s[1]), add_parts(s[2], s[3]));
    if (count <= 4) {
      _mm_storeu_ps(total, add_quarters(low) * alpha);
      return;
    }
    const __m256 high = add_pairs(add_parts(s[4], s[5]), add_parts(s[6], s[7]));
    const __m256 x = _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
    _mm256_storeu_ps(total, x * alpha);
  }
}

WORD void add_products(int rows, int columns, const char *a, int64_t a_pitch, const char *b, int64_t b_pitch,
                       part which, __m512 *s) {
  __m512 of_b[DOTS_ADDED];
  UNROLLED for (int j = 0; j < columns; j++) {
    of_b[j] = load_part(b + j * b_pitch, which);
    if (rows > 1) keep(of_b[j]); /* or GCC would load it again for each row */
  }
  UNROLLED for (int i = 0; i < rows; i++) {
    const __m512 of_a = load_part(a + i * a_pitch, which);
    UNROLLED for (int j = 0; j < columns; j++) {
      __m512 *const of = &s[i * dots_pitch(columns) + j];
      *of = multiply_add(*of, of_a, of_b[j]);
    }
  }
}

/* Up to four sums, from a store that has all of them: a load of more would wait. */
WORD __m128 load_total(const float *total, int columns) {
  return columns == 1   ? _mm_load_ss(total)
         : columns == 2 ? _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)total)
                        : _mm_loadu_ps(total);
}

WORD void store_dots(const float *total, int rows, int columns, char *c, int64_t c_pitch, int into,
                     const float *alpha_beta) {
  const int pitch = dots_pitch(columns);
  if (into & X86_ACROSS) {
    UNROLLED for (int j = 0; j < columns; j++, c += c_pitch) UNROLLED for (int i = 0; i < rows; i++) {
      real_unit *const of_c = (real_unit *)(void *)c + i;
      const float sum = total[i * pitch + j];
      *of_c = into & X86_ADD ? sum + alpha_beta[1] * *of_c : sum;
    }
    return;
  }
  const __mmask8 which = (__mmask8)((1 << columns) - 1);
  if (columns > DOTS_ROWS) {
    __m256 x = _mm256_loadu_ps(total);
    if (into & X86_ADD) x = _mm256_fmadd_ps(_mm256_set1_ps(alpha_beta[1]), _mm256_maskz_loadu_ps(which, c), x);
    _mm256_mask_storeu_ps(c, which, x);
    return;
  }
  UNROLLED for (int i = 0; i < rows; i++, c += c_pitch) {
    __m128 x = load_total(total + i * pitch, columns);
    if (into & X86_ADD) x = _mm_fmadd_ps(_mm_set1_ps(alpha_beta[1]), _mm_maskz_loadu_ps(which, c), x);
    _mm_mask_storeu_ps(c, which, x);
  }
}

/* Pitches are in bytes. */
typedef struct dots_job {
  int64_t k, a_pitch, b_pitch, c_pitch;
  int into;
  const float *alpha_beta;
} dots_job;

/* Few sums have two vectors each, which wait half as often for a multiply-add. */
WORD void dots_tile(int rows, int columns, const dots_job *x, const char *a, const char *b, char *c) {
  const int count = rows * dots_pitch(columns);
  int64_t k = x->k;
  __m512 s[2 * DOTS_ADDED];
  float total[2 * DOTS_ADDED];
  UNROLLED for (int i = 0; i < 2 * DOTS_ADDED; i++) s[i] = zero();
  if (count <= DOTS_ADDED / 2) {
    __m512 *const other = s + DOTS_ADDED;
    for (; k >= 2 * DOTS_LANES; k -= 2 * DOTS_LANES, a += 2 * X86_LINE, b += 2 * X86_LINE) {
      add_products(rows, columns, a, x->a_pitch, b, x->b_pitch, 0xffff, s);
      add_products(rows, columns, a + X86_LINE, x->a_pitch, b + X86_LINE, x->b_pitch, 0xffff, other);
    }
    UNROLLED for (int i = 0; i < count; i++) s[i] += other[i];
  }
  for (; k >= DOTS_LANES; k -= DOTS_LANES, a += X86_LINE, b += X86_LINE)
    add_products(rows, columns, a, x->a_pitch, b, x->b_pitch, 0xffff, s);
  if (k) add_products(rows, columns, a, x->a_pitch, b, x->b_pitch, first(k), s);
  const float alpha = x->into & X86_SCALED ? x->alpha_beta[0] : 1;
  add_lanes(total, s, count < DOTS_ADDED ? count : DOTS_ADDED, alpha);
  if (count > DOTS_ADDED) add_lanes(total + DOTS_ADDED, s + DOTS_ADDED, count - DOTS_ADDED, alpha);
  store_dots(total, rows, columns, c, x->c_pitch, x->into, x->alpha_beta);
}

/* A tile is a function of its own: in one function GCC prepares addresses for all tiles at each call. */
#define DOTS_TILE(rows, columns)                                                                                       \
  static __attribute__((noinline)) void dots_##rows##x##columns(const dots_job *x, const char *a, const char *b,       \
                                                                char *c) {                                             \
    dots_tile(rows, columns, x, a, b, c);                                                                              \
  }
#define DOTS_TILES(rows) DOTS_TILE(rows, 1) DOTS_TILE(rows, 2) DOTS_TILE(rows, 3) DOTS_TILE(rows, 4)
DOTS_TILES(1)
DOTS_TILE(1, 5)
DOTS_TILE(1, 6)
DOTS_TILE(1, 7)
DOTS_TILE(1, 8)
DOTS_TILES(2)
DOTS_TILES(3)
DOTS_TILES(4)

static void dots(int64_t m, int64_t n, int64_t k, const void *a_start, int64_t a_pitch, const void *b_start,
                 int64_t b_pitch, void *c_start, int64_t c_pitch, int into, const float *alpha_beta) {
  static void (*const tiles[DOTS_ROWS][DOTS_ADDED])(const dots_job *, const char *, const char *, char *) = {
      {dots_1x1, dots_1x2, dots_1x3, dots_1x4, dots_1x5, dots_1x6, dots_1x7, dots_1x8},
      {dots_2x1, dots_2x2, dots_2x3, dots_2x4},
      {dots_3x1, dots_3x2, dots_3x3, dots_3x4},
      {dots_4x1, dots_4x2, dots_4x3, dots_4x4}};
  if (n < m && n < DOTS_ROWS) { /* fewer lanes of sums are empty in the transposed product */
    dots(n, m, k, b_start, b_pitch, a_start, a_pitch, c_start, c_pitch, into ^ X86_ACROSS, alpha_beta);
    return;
  }
  const dots_job x = {k, a_pitch, b_pitch, c_pitch, into, alpha_beta};
  const int64_t c_row = into & X86_ACROSS ? X86_UNIT : c_pitch, c_column = into & X86_ACROSS ? c_pitch : X86_UNIT;
  for (int64_t row = 0, rows; row < m; row += rows) {
    rows = m - row < DOTS_ROWS ? m - row : DOTS_ROWS;
    const int64_t most = dots_columns(rows);
    for (int64_t column = 0; column < n; column += most)
      tiles[rows - 1][(n - column < most ? n - column : most) - 1](&x, (const char *)a_start + row * a_pitch,
                                                                   (const char *)b_start + column * b_pitch,
                                                                   (char *)c_start + row * c_row + column * c_column);
  }
}

#endif
