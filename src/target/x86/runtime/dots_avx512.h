/* dots_avx512.h - products of two matrices stored by rows, C[i][j] = or += sum over p of A[i][p] B[j][p], in AVX-512.
 *
 * Vectors run along k. For few rows or columns this takes less time than to transpose an operand. A tile has 1 x 8 or up
 * to 4 x 4 sums of 16 parts each, which are added at its end. */
#ifndef TW_X86_DOTS_H
#define TW_X86_DOTS_H

#include "target/x86/runtime/words_avx512.h"

#define UNROLLED _Pragma("GCC unroll 16")
enum { DOTS_ROWS = 4, DOTS_ADDED = 8 /* sums whose parts are added together */, DOTS_LANES = 16 };

WORD int dots_columns(int64_t rows) { return rows == 1 ? DOTS_ADDED : DOTS_ADDED / 2; }

WORD __m256 add_halves(__m512 s) { return _mm512_castps512_ps256(s) + (__m256)_mm512_extractf64x4_pd((__m512d)s, 1); }
WORD __m256 add_parts(__m512 s0, __m512 s1) {
  const __m256 x = add_halves(s0), y = add_halves(s1);
  return _mm256_unpacklo_ps(x, y) + _mm256_unpackhi_ps(x, y);
}
WORD __m256 add_pairs(__m256 x, __m256 y) {
  return (__m256)_mm256_unpacklo_pd((__m256d)x, (__m256d)y) + (__m256)_mm256_unpackhi_pd((__m256d)x, (__m256d)y);
}
/* The sums of the lanes of eight vectors. */
WORD __m256 add_lanes(const __m512 *s) {
  const __m256 low = add_pairs(add_parts(s[0], s[1]), add_parts(s[2], s[3]));
  const __m256 high = add_pairs(add_parts(s[4], s[5]), add_parts(s[6], s[7]));
  return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
}

WORD void add_products(int rows, int columns, const char *a, int64_t a_pitch, const char *b, int64_t b_pitch,
                       part which, __m512 *s) {
  __m512 of_b[DOTS_ADDED];
  UNROLLED for (int j = 0; j < columns; j++) of_b[j] = load_part(b + j * b_pitch, which);
  UNROLLED for (int i = 0; i < rows; i++) {
    const __m512 of_a = load_part(a + i * a_pitch, which);
    UNROLLED for (int j = 0; j < columns; j++) {
      __m512 *const of = &s[i * dots_columns(rows) + j];
      *of = multiply_add(*of, of_a, of_b[j]);
    }
  }
}

WORD void total_dots(float *total, const __m512 *s, int into, const float *alpha_beta) {
  __m256 x = add_lanes(s);
  if (into & X86_SCALED) x *= alpha_beta[0];
  _mm256_storeu_ps(total, x);
}

WORD void store_dots(const float *total, int rows, int columns, char *c, int64_t c_pitch, int into,
                     const float *alpha_beta) {
  if (into & X86_ACROSS) {
    UNROLLED for (int j = 0; j < columns; j++, c += c_pitch) UNROLLED for (int i = 0; i < rows; i++) {
      real_unit *const of_c = (real_unit *)(void *)c + i;
      const float sum = total[i * dots_columns(rows) + j];
      *of_c = into & X86_ADD ? sum + alpha_beta[1] * *of_c : sum;
    }
    return;
  }
  const __mmask8 which = (__mmask8)((1 << columns) - 1);
  if (rows == 1) {
    __m256 x = _mm256_loadu_ps(total);
    if (into & X86_ADD) x = _mm256_fmadd_ps(_mm256_set1_ps(alpha_beta[1]), _mm256_maskz_loadu_ps(which, c), x);
    _mm256_mask_storeu_ps(c, which, x);
    return;
  }
  UNROLLED for (int i = 0; i < rows; i++, c += c_pitch) { /* a load that spans two stores would wait for them */
    __m128 x = _mm_loadu_ps(total + i * dots_columns(rows));
    if (into & X86_ADD) x = _mm_fmadd_ps(_mm_set1_ps(alpha_beta[1]), _mm_maskz_loadu_ps(which, c), x);
    _mm_mask_storeu_ps(c, which, x);
  }
}

WORD void dots_tile(int rows, int columns, int64_t k, const char *a, int64_t a_pitch, const char *b, int64_t b_pitch,
                    char *c, int64_t c_pitch, int into, const float *alpha_beta) {
  __m512 s[2 * DOTS_ADDED];
  float total[2 * DOTS_ADDED];
  UNROLLED for (int i = 0; i < 2 * DOTS_ADDED; i++) s[i] = zero();
  for (; k >= DOTS_LANES; k -= DOTS_LANES, a += X86_LINE, b += X86_LINE)
    add_products(rows, columns, a, a_pitch, b, b_pitch, 0xffff, s);
  if (k) add_products(rows, columns, a, a_pitch, b, b_pitch, first(k), s);
  total_dots(total, s, into, alpha_beta);
  if (rows > 2) total_dots(total + DOTS_ADDED, s + DOTS_ADDED, into, alpha_beta);
  store_dots(total, rows, columns, c, c_pitch, into, alpha_beta);
}

#define DOTS_TILE(rows, columns)                                                                                       \
  case (rows)*DOTS_ADDED + (columns)-1:                                                                                \
    dots_tile(rows, columns, k, a, a_pitch, b, b_pitch, c, c_pitch, into, alpha_beta);                                 \
    break;
#define DOTS_TILES(rows) DOTS_TILE(rows, 1) DOTS_TILE(rows, 2) DOTS_TILE(rows, 3) DOTS_TILE(rows, 4)

/* Pitches are in bytes. */
static void dots(int64_t m, int64_t n, int64_t k, const void *a_start, int64_t a_pitch, const void *b_start,
                 int64_t b_pitch, void *c_start, int64_t c_pitch, int into, const float *alpha_beta) {
  const bool across = into & X86_ACROSS;
  if (n < m && n < DOTS_ROWS) { /* fewer lanes of sums are empty in the transposed product */
    dots(n, m, k, b_start, b_pitch, a_start, a_pitch, c_start, c_pitch, into ^ X86_ACROSS, alpha_beta);
    return;
  }
  const int64_t c_row = across ? X86_UNIT : c_pitch, c_column = across ? c_pitch : X86_UNIT;
  for (int64_t row = 0, rows; row < m; row += rows) {
    rows = m - row < DOTS_ROWS ? m - row : DOTS_ROWS;
    const int64_t most = dots_columns(rows);
    for (int64_t column = 0; column < n; column += most) {
      const char *a = (const char *)a_start + row * a_pitch, *b = (const char *)b_start + column * b_pitch;
      char *c = (char *)c_start + row * c_row + column * c_column;
      switch (rows * DOTS_ADDED + (n - column < most ? n - column : most) - 1) {
        DOTS_TILES(1)
        DOTS_TILE(1, 5)
        DOTS_TILE(1, 6)
        DOTS_TILE(1, 7)
        DOTS_TILE(1, 8)
        DOTS_TILES(2)
        DOTS_TILES(3)
        DOTS_TILES(4)
      default: break;
      }
    }
  }
}

#endif
