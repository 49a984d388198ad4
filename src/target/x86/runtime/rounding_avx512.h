/* rounding_avx512.h - the words of quantize.h in AVX-512: blocks of 32 elements, in registers.
 *
 *   largest_of_block(type, from)                 the largest magnitude: its bits, as binary32 or, of 16-bit types, in that type
 *   largest_of_run(type, from, blocks)           likewise of several blocks, one behind the other
 *   round_run(type, from, blocks, inverse, to, step)   each * inverse, rounded; blocks go `step` elements apart; their sum
 *   round_eight(type, from, inverse, to)         eight elements: their sum
 *   largest_of_blocks(type, from, at, n, largest), round_blocks(type, from, at, n, inverse, to, lift, starts)
 *                                                of several, each by itself, which lie `at` bytes from `from`: there are
 *                                                more, up to a multiple of 16. Integers go one behind the other
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

/* Of several blocks, one behind the other. */
INLINE uint32_t largest_of_run(x86_real type, const void *from, int64_t blocks) {
  uint32_t largest = 0;
  if (type == X86_REAL_F32) {
    for (int64_t i = 0; i < blocks; i++) {
      const uint32_t its = largest_of_block(type, (const float *)from + i * BLOCK);
      largest = its > largest ? its : largest;
    }
    return largest;
  }
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i most = _mm512_setzero_si512();
  for (int64_t i = 0; i < blocks; i++)
    most = _mm512_max_epu16(most, _mm512_and_si512(_mm512_loadu_si512((const uint16_t *)from + i * BLOCK), magnitude));
  return largest_of_block(type, &most);
}

/* In the lowest byte of each lane: adding 1.5 * 2^23 rounds to an integer, ties to even. */
INLINE __m512i rounded_16(__m512 x, __m512 inverse) {
  return _mm512_castps_si512(_mm512_fmadd_ps(x, inverse, _mm512_set1_ps(0x1.8p23f)));
}

/* bf16 in pairs: the second of a lane is its upper half. Both in the lane's lower half. */
INLINE __m512i rounded_pairs(const void *from, __m512 inverse) {
  const __m512i x = _mm512_loadu_si512(from), upper = _mm512_set1_epi32((int)0xffff0000);
  const __m512i even = rounded_16(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)), inverse);
  const __m512i odd = rounded_16(_mm512_castsi512_ps(_mm512_and_si512(x, upper)), inverse);
  enum { CHOOSE = 0xea }; /* a & b | c */
  return _mm512_ternarylogic_epi32(even, _mm512_set1_epi32(0xff), _mm512_slli_epi32(odd, 8), CHOOSE);
}

INLINE __m256i rounded_block(x86_real type, const void *from, __m512 inverse) {
  const char *p = from;
  if (type == X86_REAL_BF16) return _mm512_cvtepi32_epi16(rounded_pairs(from, inverse));
  const bool f32 = type == X86_REAL_F32;
  const __m512 low = f32 ? _mm512_loadu_ps(p) : _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
  const __m512 high = f32 ? _mm512_loadu_ps(p + 64) : _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p + 32)));
  return _mm256_set_m128i(_mm512_cvtepi32_epi8(rounded_16(high, inverse)),
                          _mm512_cvtepi32_epi8(rounded_16(low, inverse)));
}

/* Two blocks in one register. */
INLINE __m512i rounded_two(x86_real type, const void *first, float by_first, const void *second, float by_second) {
  const __m512 by = _mm512_set1_ps(by_first), by_too = _mm512_set1_ps(by_second);
  if (type != X86_REAL_BF16)
    return _mm512_inserti64x4(_mm512_castsi256_si512(rounded_block(type, first, by)),
                              rounded_block(type, second, by_too), 1);
  const __m512i lower = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24,
                                         22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_permutex2var_epi16(rounded_pairs(first, by), lower, rounded_pairs(second, by_too));
}

/* Eight elements; returns their sum. */
INLINE int32_t round_eight(x86_real type, const void *from, float inverse, int8_t *to) {
  __m256 x;
  if (type == X86_REAL_F32)
    x = _mm256_loadu_ps(from);
  else if (type == X86_REAL_F16)
    x = _mm256_cvtph_ps(_mm_loadu_si128(from));
  else
    x = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(from)), 16));
  const __m128i q = _mm256_cvtepi32_epi8(_mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(inverse))));
  _mm_storel_epi64((void *)to, q);
  const __m128i lifted = _mm_xor_si128(q, _mm_set1_epi8((char)0x80));
  return _mm_cvtsi128_si32(_mm_sad_epu8(lifted, _mm_setzero_si128())) - 128 * X86_EIGHT;
}

INLINE __m512i sums_of_fours(__m512i total, __m512i q) { return _mm512_dpbusd_epi32(total, _mm512_set1_epi8(1), q); }

INLINE int32_t round_run(x86_real type, const void *from, int64_t blocks, float inverse, int8_t *to, int64_t step) {
  __m512i total = _mm512_setzero_si512();
  int64_t i = 0;
  for (; i + 2 <= blocks; i += 2, to += 2 * step) {
    const void *x = element_of(type, from, i * BLOCK), *y = element_of(type, from, (i + 1) * BLOCK);
    const __m512i q = rounded_two(type, x, inverse, y, inverse);
    _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(q));
    _mm256_storeu_si256((void *)(to + step), _mm512_extracti64x4_epi64(q, 1));
    total = sums_of_fours(total, q);
  }
  if (i < blocks) {
    const __m256i q = rounded_block(type, element_of(type, from, i * BLOCK), _mm512_set1_ps(inverse));
    _mm256_storeu_si256((void *)to, q);
    total = sums_of_fours(total, _mm512_zextsi256_si512(q));
  }
  return _mm512_reduce_add_epi32(total);
}

/* Eight blocks at a time: their sums are added in the lanes of one register. */
INLINE void round_blocks(x86_real type, const char *from, const int64_t *at, int64_t n, const float *inverse,
                         int8_t *to, int lift, int32_t *starts) {
  enum { AT_ONCE = 8, PAIRS = AT_ONCE / 2 };
  const __m512i ones = _mm512_set1_epi16(1),
                in_order = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 0, 0, 0, 0, 0, 0, 0, 0);
  for (int64_t i = 0; i < n; i += AT_ONCE) {
    int8_t last[AT_ONCE * BLOCK], *const out = n - i < AT_ONCE ? last : to + i * BLOCK;
    __m512i fours[PAIRS];
    for (int64_t j = 0; j < PAIRS; j++) {
      const int64_t x = i + 2 * j;
      const __m512i q = rounded_two(type, from + at[x], inverse[x], from + at[x + 1], inverse[x + 1]);
      _mm512_storeu_si512(out + 2 * j * BLOCK, q);
      fours[j] = sums_of_fours(_mm512_setzero_si512(), q);
    }
    if (out == last) memcpy(to + i * BLOCK, last, (size_t)((n - i) * BLOCK));
    const __m512i low = _mm512_madd_epi16(_mm512_packs_epi32(fours[0], fours[1]), ones);
    const __m512i high = _mm512_madd_epi16(_mm512_packs_epi32(fours[2], fours[3]), ones);
    const __m512i quarters = _mm512_madd_epi16(_mm512_packs_epi32(low, high), ones); /* of even blocks, of odd ones */
    const __m512i halves = _mm512_add_epi32(quarters, _mm512_shuffle_i64x2(quarters, quarters, 0xb1));
    const __m256i all = _mm512_castsi512_si256(_mm512_permutexvar_epi32(in_order, halves));
    const __m256i start = _mm256_mullo_epi32(all, _mm256_set1_epi32(-lift));
    _mm256_mask_storeu_epi32(starts + i, (__mmask8)(n - i < AT_ONCE ? (1 << (n - i)) - 1 : 0xff), start);
  }
}

/* The largest magnitudes of 16 blocks of 16-bit elements: words of two registers are interleaved and compared, until a
 * register holds all blocks' in each half, one behind the other. */
INLINE __m512i magnitudes(const void *from) {
  return _mm512_and_si512(_mm512_loadu_si512(from), _mm512_set1_epi16(0x7fff));
}
INLINE __m512i larger_interleaved(__m512i x, __m512i y) {
  return _mm512_max_epu16(_mm512_unpacklo_epi16(x, y), _mm512_unpackhi_epi16(x, y));
}
INLINE __m256i largest_of_16(const char *from, const int64_t *at) {
  __m512i x[LANES_MOST / 2];
  for (int i = 0; i < 8; i++) x[i] = larger_interleaved(magnitudes(from + at[i]), magnitudes(from + at[i + 8]));
  for (int i = 0; i < 4; i++) x[i] = larger_interleaved(x[i], x[i + 4]);
  for (int i = 0; i < 2; i++) x[i] = larger_interleaved(x[i], x[i + 2]);
  const __m512i low = _mm512_unpacklo_epi16(x[0], x[1]), high = _mm512_unpackhi_epi16(x[0], x[1]);
  const __m512i most = _mm512_max_epu16(_mm512_shuffle_i64x2(low, high, 0x44), _mm512_shuffle_i64x2(low, high, 0xee));
  const __m512i all = _mm512_max_epu16(most, _mm512_shuffle_i64x2(most, most, 0xb1));
  return _mm512_castsi512_si256(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 1, 4, 5, 0, 1, 4, 5), all));
}

/* Largest magnitudes; 16 at a time become real: there are so many blocks, filled up. */
INLINE void largest_of_blocks(x86_real type, const char *from, const int64_t *at, int64_t n, float *largest) {
  if (type == X86_REAL_F32) {
    const int64_t filled = (n + LANES_MOST - 1) / LANES_MOST * LANES_MOST;
    for (int64_t i = 0; i < filled; i++) largest[i] = f32_of_bits(largest_of_block(type, from + at[i]));
    return;
  }
  for (int64_t i = 0; i < n; i += LANES_MOST) {
    const __m256i found = largest_of_16(from, at + i);
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
