/* rounding_blocks.h - the words of quantize.h that are the same in AVX2 and AVX-512, behind
 *
 *   rounded_block(type, from, inverse)   32 elements * inverse, rounded, as bytes in their order */
#ifndef TW_X86_ROUNDING_BLOCKS_H
#define TW_X86_ROUNDING_BLOCKS_H

#include <immintrin.h>

typedef __m256i block_total; /* four sums of 64 bits, of bytes moved up by 128 */

INLINE block_total no_total(void) { return _mm256_setzero_si256(); }

/* `blocks`: that went into it. */
INLINE int32_t sum_of(block_total t, int64_t blocks) {
  const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1));
  return _mm_cvtsi128_si32(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))) - (int32_t)(128 * BLOCK * blocks);
}

INLINE __m256i lifted(__m256i q) { return _mm256_xor_si256(q, _mm256_set1_epi8((char)0x80)); }

INLINE block_total round_block(x86_real type, const void *from, float inverse, int8_t *to, block_total t) {
  const __m256i q = rounded_block(type, from, inverse);
  _mm256_storeu_si256((void *)to, q);
  return _mm256_add_epi64(t, _mm256_sad_epu8(lifted(q), _mm256_setzero_si256()));
}

/* Four blocks at a time: their sums are added in the lanes of one register. */
INLINE void round_blocks(x86_real type, const block *b, int64_t n, const float *inverse, int32_t *sum) {
  const __m256i zero = _mm256_setzero_si256();
  for (int64_t i = 0; i < n; i += BLOCKS_UNROLLED) {
    __m256i bytes[BLOCKS_UNROLLED];
    for (int j = 0; j < BLOCKS_UNROLLED; j++) {
      const __m256i q = rounded_block(type, b[i + j].from, inverse[i + j]);
      _mm256_storeu_si256((void *)b[i + j].to, q);
      bytes[j] = _mm256_sad_epu8(lifted(q), zero);
    }
    const __m256i words = _mm256_packus_epi32(_mm256_packus_epi32(bytes[0], bytes[1]), /* eight words of each block */
                                              _mm256_packus_epi32(bytes[2], bytes[3]));
    const __m256i pairs = _mm256_madd_epi16(words, _mm256_set1_epi16(1));
    const __m128i total = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128((void *)(sum + i), _mm_sub_epi32(total, _mm_set1_epi32(128 * BLOCK)));
  }
}

#endif
