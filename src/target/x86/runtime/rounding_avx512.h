/* rounding_avx512.h - the words of quantize.h in AVX-512: blocks of 32 elements, in registers.
 *
 *   largest_of_block(type, from)                 the largest magnitude: its bits, as binary32 or, of 16-bit types, in that type
 *   round_block(type, from, inverse, to, total)  to[i] = from[i] * inverse, rounded; their sum is added to the total
 *   sum_of(total, blocks)                        after so many blocks
 *   largest_of_blocks, round_blocks              of several blocks, each by itself; there are more, up to a multiple of 16
 *   scales_of(largest, n, scale, inverse)        of 16 groups, `n` of which count; is there one without (NaN, infinity, 0)?
 *
 * A magnitude that is NaN or infinite becomes 0 or -128: its block is cleared by whoever asked. */
#ifndef TW_X86_ROUNDING_H
#define TW_X86_ROUNDING_H

#include <immintrin.h>
#include <math.h>

/* The least of 8 words is one instruction: so magnitudes are complemented. The least of each eighth of a block. */
INLINE __m128i complements(const void *from) {
  const __m512i x = _mm512_andnot_si512(_mm512_loadu_si512(from), _mm512_set1_epi16(0x7fff));
  const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
  return _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

INLINE uint32_t largest_of_block(x86_real type, const void *from) {
  if (type == X86_REAL_F32) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i low = _mm512_and_si512(_mm512_loadu_si512(from), magnitude);
    const __m512i high = _mm512_and_si512(_mm512_loadu_si512((const char *)from + 64), magnitude);
    return _mm512_reduce_max_epu32(_mm512_max_epu32(low, high));
  }
  return 0x7fff - (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(complements(from)), 0);
}

INLINE __m512i rounded_16(__m512 x, __m512 inverse) { return _mm512_cvtps_epi32(_mm512_mul_ps(x, inverse)); }

/* bf16 in pairs: the second of a lane is its upper half. Otherwise 16 elements at a time. */
INLINE __m256i rounded_block(x86_real type, const void *from, float by) {
  const char *p = from;
  const __m512 inverse = _mm512_set1_ps(by);
  if (type == X86_REAL_BF16) {
    const __m512i x = _mm512_loadu_si512(p), upper = _mm512_set1_epi32((int)0xffff0000);
    const __m512i even = rounded_16(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)), inverse);
    const __m512i odd = rounded_16(_mm512_castsi512_ps(_mm512_and_si512(x, upper)), inverse);
    enum { CHOOSE = 0xea }; /* a & b | c */
    return _mm512_cvtepi32_epi16(
        _mm512_ternarylogic_epi32(even, _mm512_set1_epi32(0xff), _mm512_slli_epi32(odd, 8), CHOOSE));
  }
  const bool f32 = type == X86_REAL_F32;
  const __m512 low = f32 ? _mm512_loadu_ps(p) : _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
  const __m512 high = f32 ? _mm512_loadu_ps(p + 64) : _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p + 32)));
  return _mm256_set_m128i(_mm512_cvtepi32_epi8(rounded_16(high, inverse)),
                          _mm512_cvtepi32_epi8(rounded_16(low, inverse)));
}

#include "target/x86/runtime/rounding_blocks.h"

/* The largest magnitudes of 16 blocks of 16-bit elements, complemented: found as the lowest words of 16 registers, which are
 * put together in registers, too. (Through memory they would be read before what was written has arrived there.) */
INLINE __m256i complements_of_16(const block *b) {
  __m128i x[LANES_MOST];
  for (int i = 0; i < LANES_MOST; i++) x[i] = _mm_minpos_epu16(complements(b[i].from));
  for (int i = 0; i < LANES_MOST / 2; i++) x[i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
  for (int i = 0; i < LANES_MOST / 4; i++) x[i] = _mm_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
  return _mm256_set_m128i(_mm_unpacklo_epi64(x[2], x[3]), _mm_unpacklo_epi64(x[0], x[1]));
}

/* Largest magnitudes; 16 at a time become real: there are so many blocks, filled up. */
INLINE void largest_of_blocks(x86_real type, const block *b, int64_t n, float largest[BLOCKS_AT_ONCE]) {
  if (type == X86_REAL_F32) {
    const int64_t filled = (n + LANES_MOST - 1) / LANES_MOST * LANES_MOST;
    for (int64_t i = 0; i < filled; i++) largest[i] = f32_of_bits(largest_of_block(type, b[i].from));
    return;
  }
  for (int64_t i = 0; i < n; i += LANES_MOST) {
    const __m256i found = _mm256_andnot_si256(complements_of_16(b + i), _mm256_set1_epi16(0x7fff));
    const __m512 x = type == X86_REAL_BF16 ? _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(found), 16))
                                           : _mm512_cvtph_ps(found);
    _mm512_storeu_ps(largest + i, x);
  }
}

INLINE bool scales_of(const float *largest, int64_t n, float *scale, float *inverse) {
  const __mmask16 wanted = (__mmask16)(n < LANES_MOST ? (1 << n) - 1 : 0xffff);
  const __m512 x = _mm512_loadu_ps(largest);
  const __mmask16 counts = _mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p-118f), _CMP_GE_OQ);
  const __mmask16 finite = _mm512_cmp_ps_mask(x, _mm512_set1_ps(INFINITY), _CMP_LT_OQ);
  const __m512 quotient = _mm512_maskz_div_ps(counts, x, _mm512_set1_ps(LARGEST));
  _mm512_mask_storeu_ps(scale, wanted, _mm512_mask_mov_ps(_mm512_set1_ps(NAN), finite, quotient));
  _mm512_storeu_ps(inverse, _mm512_maskz_div_ps(counts & finite, _mm512_set1_ps(1), quotient));
  return (counts & finite) != 0xffff;
}

#endif
