/* rounding_avx2.h - the words of quantize.h in AVX2: blocks of 32 elements, in registers. See rounding_avx512.h. */
#ifndef TW_X86_ROUNDING_H
#define TW_X86_ROUNDING_H

#include <immintrin.h>
#include <math.h>

/* Magnitudes of 16-bit types, complemented: the least of 8 words is one instruction. */
INLINE uint32_t largest_of_block(x86_real type, const void *from) {
  const __m256i *p = from;
  if (type == X86_REAL_F32) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i most = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) most = _mm256_max_epu32(most, _mm256_and_si256(_mm256_loadu_si256(p + i), magnitude));
    __m128i x = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    x = _mm_max_epu32(x, _mm_shuffle_epi32(x, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(x, _mm_shuffle_epi32(x, 0xb1)));
  }
  const __m256i magnitude = _mm256_set1_epi16(0x7fff);
  const __m256i least = _mm256_min_epu16(_mm256_andnot_si256(_mm256_loadu_si256(p), magnitude),
                                         _mm256_andnot_si256(_mm256_loadu_si256(p + 1), magnitude));
  const __m128i x = _mm_min_epu16(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
  return 0x7fff - (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(x), 0);
}

INLINE uint32_t largest_of_run(x86_real type, const void *from, int64_t blocks) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < blocks; i++) {
    const uint32_t its = largest_of_block(type, element_of(type, from, i * BLOCK));
    largest = its > largest ? its : largest;
  }
  return largest;
}

/* Eight elements, from number `at` on. */
INLINE __m256i rounded_8(x86_real type, const void *from, int at, __m256 inverse) {
  const char *p = (const char *)from + at * size_of(type);
  __m256 x;
  if (type == X86_REAL_F32)
    x = _mm256_loadu_ps((const float *)(const void *)p);
  else if (type == X86_REAL_F16)
    x = _mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
  else
    x = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)), 16));
  return _mm256_cvtps_epi32(_mm256_mul_ps(x, inverse));
}

/* Eight elements; returns their sum. */
INLINE int32_t round_eight(x86_real type, const void *from, float inverse, int8_t *to) {
  const __m256i wide = rounded_8(type, from, 0, _mm256_set1_ps(inverse));
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  const __m128i q = _mm_packs_epi16(words, words);
  _mm_storel_epi64((void *)to, q);
  const __m128i lifted = _mm_xor_si128(q, _mm_set1_epi8((char)0x80));
  return _mm_cvtsi128_si32(_mm_sad_epu8(lifted, _mm_setzero_si128())) - 128 * X86_EIGHT;
}

/* Packing goes by halves of registers: fours of bytes are put in order in the end. */
INLINE __m256i rounded_block(x86_real type, const void *from, float by) {
  const __m256 inverse = _mm256_set1_ps(by);
  const __m256i low = _mm256_packs_epi32(rounded_8(type, from, 0, inverse), rounded_8(type, from, 8, inverse));
  const __m256i high = _mm256_packs_epi32(rounded_8(type, from, 16, inverse), rounded_8(type, from, 24, inverse));
  return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Four sums of 64 bits, of bytes moved up by 128. */
INLINE __m256i sums_lifted(__m256i q) {
  return _mm256_sad_epu8(_mm256_xor_si256(q, _mm256_set1_epi8((char)0x80)), _mm256_setzero_si256());
}

INLINE int32_t round_run(x86_real type, const void *from, int64_t blocks, float inverse, int8_t *to, int64_t step) {
  __m256i total = _mm256_setzero_si256();
  for (int64_t i = 0; i < blocks; i++, to += step) {
    const __m256i q = rounded_block(type, element_of(type, from, i * BLOCK), inverse);
    _mm256_storeu_si256((void *)to, q);
    total = _mm256_add_epi64(total, sums_lifted(q));
  }
  const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
  return _mm_cvtsi128_si32(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))) - (int32_t)(128 * BLOCK * blocks);
}

/* Four blocks at a time: their sums are added in the lanes of one register. */
INLINE void round_blocks(x86_real type, const char *from, const int64_t *at, int64_t n, const float *inverse,
                         int8_t *to, int lift, int32_t *starts) {
  enum { AT_ONCE = 4 };
  for (int64_t i = 0; i < n; i += AT_ONCE) {
    __m256i bytes[AT_ONCE];
    for (int j = 0; j < AT_ONCE; j++) {
      const __m256i q = rounded_block(type, from + at[i + j], inverse[i + j]);
      if (i + j < n) _mm256_storeu_si256((void *)(to + (i + j) * BLOCK), q);
      bytes[j] = sums_lifted(q);
    }
    const __m256i words = _mm256_packus_epi32(_mm256_packus_epi32(bytes[0], bytes[1]), /* eight words of each block */
                                              _mm256_packus_epi32(bytes[2], bytes[3]));
    const __m256i pairs = _mm256_madd_epi16(words, _mm256_set1_epi16(1));
    const __m128i total = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    const __m128i sum = _mm_sub_epi32(total, _mm_set1_epi32(128 * BLOCK));
    const __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n - i > AT_ONCE ? AT_ONCE : n - i)),
                                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    _mm_maskstore_epi32(starts + i, _mm256_castsi256_si128(wanted), _mm_mullo_epi32(sum, _mm_set1_epi32(-lift)));
  }
}

INLINE void largest_of_blocks(x86_real type, const char *from, const int64_t *at, int64_t n, float *largest) {
  const int64_t filled = (n + LANES_MOST - 1) / LANES_MOST * LANES_MOST;
  for (int64_t i = 0; i < filled; i++) largest[i] = magnitude(type, largest_of_block(type, from + at[i]));
}

/* The first n lanes of eight, or all. */
INLINE __m256i lanes_below(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n > 8 ? 8 : n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE bool scales_of(const float *largest, int64_t n, float *scale, float *inverse) {
  bool special = false;
  for (int i = 0; i < LANES_MOST; i += 8) {
    const __m256 x = _mm256_loadu_ps(largest + i);
    const __m256 counts = _mm256_cmp_ps(x, _mm256_set1_ps(0x1p-118f), _CMP_GE_OQ);
    const __m256 finite = _mm256_cmp_ps(x, _mm256_set1_ps(INFINITY), _CMP_LT_OQ), both = _mm256_and_ps(counts, finite);
    const __m256 quotient = _mm256_and_ps(counts, _mm256_div_ps(x, _mm256_set1_ps(LARGEST)));
    const __m256 found = _mm256_blendv_ps(_mm256_set1_ps(NAN), quotient, finite);
    if (n > i) _mm256_maskstore_ps(scale + i, lanes_below(n - i), found);
    _mm256_storeu_ps(inverse + i, _mm256_and_ps(both, _mm256_div_ps(_mm256_set1_ps(1), quotient)));
    special |= _mm256_movemask_ps(both) != 0xff;
  }
  return special;
}

#endif
