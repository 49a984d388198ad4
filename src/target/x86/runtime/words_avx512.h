/* words_avx512.h - the words of generated kernels in AVX-512: 16 lanes.
 *
 * `operand` holds units of A or B, `sums` what accumulates. ARITHMETIC_* says which (kernel.h). */
#ifndef TW_X86_WORDS_H
#define TW_X86_WORDS_H

#include <immintrin.h>
#include <stdint.h>

#define REGISTER "v"
#include "target/x86/runtime/words.h"

typedef __mmask16 part;

typedef float real_unit __attribute__((aligned(1), may_alias));

WORD void fetch_sums(const void *p) { __builtin_prefetch(p); } /* to be written */

/* The first n lanes: none for n <= 0, all for n >= 16. */
WORD part first(int64_t n) { return (part)(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1); }

#if defined ARITHMETIC_F32 || defined ARITHMETIC_BF16
typedef __m512 sums;
WORD sums zero(void) { return _mm512_setzero_ps(); }
WORD sums add(sums x, sums y) { return _mm512_add_ps(x, y); }
WORD sums load_sums(const void *p) { return _mm512_loadu_ps(p); }
WORD void store_sums(void *p, sums x) { _mm512_storeu_ps(p, x); }
WORD sums load_part(const void *p, part which) { return _mm512_maskz_loadu_ps(which, p); }
WORD void store_part(void *p, part which, sums x) { _mm512_mask_storeu_ps(p, which, x); }

#if defined ARITHMETIC_BF16
/* The instruction takes subnormal numbers as zeros, which sums of bf16 instructions have become already. */
WORD void store_rounded(void *p, part which, sums x) {
  _mm256_mask_storeu_epi16(p, which, (__m256i)_mm512_cvtneps_pbh(x));
}
WORD void store_rounded_pair(void *p, part left, part right, sums x, sums y) {
  _mm512_mask_storeu_epi16(p, (__mmask32)right << 16 | left, (__m512i)_mm512_cvtne2ps_pbh(y, x));
}
#endif

/* Stores 128 bits of each of four vectors, `stride` bytes apart. GCC would make one instruction of the extraction and
 * the last line, which faults at bytes that its mask leaves out: `keep` prevents it. */
#define STORE_LANES(lane)                                                                                              \
  for (int e = 0; e < 4; e++, c += stride) {                                                                           \
    __m128 x = _mm512_extractf32x4_ps(e == 0 ? u0 : e == 1 ? u1 : e == 2 ? u2 : u3, lane);                             \
    if (rows == 4) {                                                                                                   \
      _mm_storeu_ps((float *)(void *)c, x);                                                                            \
    } else {                                                                                                           \
      keep(x);                                                                                                         \
      _mm_mask_storeu_ps(c, which, x);                                                                                 \
    }                                                                                                                  \
  }

/* Stores the first n sums of four rows, or of fewer, as columns `stride` bytes apart; plus beta * C, if `beta`. */
WORD void store_across(char *c, int64_t stride, int64_t n, int rows, const char *beta, sums s0, sums s1, sums s2,
                       sums s3) {
  const __m512d low0 = (__m512d)_mm512_unpacklo_ps(s0, s1), high0 = (__m512d)_mm512_unpackhi_ps(s0, s1);
  const __m512d low1 = (__m512d)_mm512_unpacklo_ps(s2, s3), high1 = (__m512d)_mm512_unpackhi_ps(s2, s3);
  const __m512 u0 = (__m512)_mm512_unpacklo_pd(low0, low1), u1 = (__m512)_mm512_unpackhi_pd(low0, low1);
  const __m512 u2 = (__m512)_mm512_unpacklo_pd(high0, high1), u3 = (__m512)_mm512_unpackhi_pd(high0, high1);
  const __mmask8 which = (__mmask8)((1 << rows) - 1);
  const __m128 factor = beta ? _mm_set1_ps(*(const real_unit *)(const void *)beta) : _mm_setzero_ps();
  if (n >= 8 && !beta) {
    STORE_LANES(0)
    STORE_LANES(1)
  }
  if (n >= 16 && !beta) {
    STORE_LANES(2)
    STORE_LANES(3)
    return;
  }
  float x[4][16];
  _mm512_storeu_ps(x[0], u0), _mm512_storeu_ps(x[1], u1), _mm512_storeu_ps(x[2], u2), _mm512_storeu_ps(x[3], u3);
  for (int64_t j = n >= 8 && !beta ? 8 : 0; j < n && j < 16; j++, c += stride) {
    __m128 y = _mm_loadu_ps(x[j % 4] + j / 4 * 4);
    if (beta) y = _mm_fmadd_ps(factor, _mm_maskz_loadu_ps(which, c), y);
    _mm_mask_storeu_ps(c, which, y);
  }
}
#undef STORE_LANES
#else
/* In the type that multiply-adds and conversions have: as __m512i, gcc 12 keeps the same sums in two registers. */
typedef int32_t sums __attribute__((vector_size(64)));
WORD sums zero(void) { return (sums){0}; }
WORD sums add(sums x, sums y) { return (sums)_mm512_add_epi32((__m512i)x, (__m512i)y); }
WORD sums load_sums(const void *p) { return (sums)_mm512_loadu_si512(p); }
WORD void store_sums(void *p, sums x) { _mm512_storeu_si512(p, (__m512i)x); }
WORD sums load_part(const void *p, part which) { return (sums)_mm512_maskz_loadu_epi32(which, p); }
WORD void store_part(void *p, part which, sums x) { _mm512_mask_storeu_epi32(p, which, (__m512i)x); }
#endif

#if defined ARITHMETIC_F32
typedef __m512 operand;
WORD operand load(const void *p) { return _mm512_loadu_ps(p); }
WORD operand broadcast(const char *p) { return _mm512_set1_ps(*(const real_unit *)(const void *)p); }
WORD sums multiply_add(sums s, operand a, operand b) { return _mm512_fmadd_ps(a, b, s); }
#else
typedef __m512i operand;
WORD operand load(const void *p) { return _mm512_loadu_si512(p); }
#if defined ARITHMETIC_S8S8
WORD operand broadcast(const char *p) { /* moved up by 128 */
  return _mm512_xor_si512(_mm512_set1_epi32(*(const unit *)(const void *)p), _mm512_set1_epi8((char)0x80));
}
#else
WORD operand broadcast(const char *p) { return _mm512_set1_epi32(*(const unit *)(const void *)p); }
#endif
#if defined ARITHMETIC_BF16
WORD sums multiply_add(sums s, operand a, operand b) { return _mm512_dpbf16_ps(s, (__m512bh)a, (__m512bh)b); }
#elif defined ARITHMETIC_S16
WORD sums multiply_add(sums s, operand a, operand b) { return add(s, (sums)_mm512_madd_epi16(a, b)); }
#else
WORD sums multiply_add(sums s, operand a, operand b) { return (sums)_mm512_dpbusd_epi32((__m512i)s, a, b); }
#endif
#endif

/* A zero that the compiler knows nothing about. */
WORD operand nothing(void) {
  operand x = {0};
  keep(x);
  return x;
}

#endif
