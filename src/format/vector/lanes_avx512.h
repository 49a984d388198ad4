/* lanes_avx512.h - the operations of the vector kernels for AVX-512 F, BW, DQ, VL, VBMI: VW = 16 lanes of 32 bits.
 *
 * lanes_avx2.h has the same names with 8 lanes. vi: lanes of integers, vf: of f32. */
#ifndef TW_FORMAT_LANES_H
#define TW_FORMAT_LANES_H

#include <immintrin.h>
#include <stdint.h>

enum { VW = 16 };
typedef __m512i vi;
typedef __m512 vf;
typedef __mmask16 vm; /* a condition per lane */

#define LANES static inline __attribute__((always_inline))

LANES vf f_load(const float *p) { return _mm512_loadu_ps(p); }
LANES void f_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
LANES vf f_set(float x) { return _mm512_set1_ps(x); }
LANES vf f_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
LANES vf f_mul_add(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); } /* a b + c, rounded once */
LANES vf f_div(vf a, vf b) { return _mm512_div_ps(a, b); }
LANES vf f_max(vf a, vf b) { return _mm512_max_ps(a, b); } /* b if one is NaN */
LANES vf f_min(vf a, vf b) { return _mm512_min_ps(a, b); }
LANES vf f_floor(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
LANES vf f_of_bits(vi a) { return _mm512_castsi512_ps(a); }
LANES vi v_bits(vf a) { return _mm512_castps_si512(a); }
LANES vf f_of_int(vi a) { return _mm512_cvtepi32_ps(a); }
LANES vi v_rounded(vf a) { return _mm512_cvtps_epi32(a); }    /* to nearest even */
LANES vi v_truncated(vf a) { return _mm512_cvttps_epi32(a); } /* towards 0 */
LANES vm f_less(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }

LANES vi v_load(const void *p) { return _mm512_loadu_si512(p); }
LANES void v_store(void *p, vi a) { _mm512_storeu_si512(p, a); }
LANES vi v_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
LANES vi v_and(vi a, vi b) { return _mm512_and_si512(a, b); }
LANES vi v_or(vi a, vi b) { return _mm512_or_si512(a, b); }
LANES vi v_or_and(vi a, vi b, vi c) { return _mm512_ternarylogic_epi32(a, b, c, 0xF8); } /* a | (b & c) */
LANES vi v_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
LANES vi v_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
LANES vi v_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
LANES vi v_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
#define v_srl(a, count) _mm512_srli_epi32(a, count)
#define v_sll(a, count) _mm512_slli_epi32(a, count)
LANES vm v_above(vi a, vi b) { return _mm512_cmpgt_epi32_mask(a, b); }
LANES vi v_select(vm m, vi a, vi b) { return _mm512_mask_blend_epi32(m, b, a); } /* m ? a : b */
LANES unsigned m_bits(vm m) { return m; }                                        /* bit i: lane i */

/* -1 if y <= -threshold, 1 if y >= threshold, else 0. */
LANES vi v_trit(vf y, vf threshold) {
  vm up = _mm512_cmp_ps_mask(y, threshold, _CMP_GE_OQ);
  vm down = _mm512_cmp_ps_mask(y, _mm512_sub_ps(_mm512_setzero_ps(), threshold), _CMP_LE_OQ);
  __m512i minus_1 =
      _mm512_set1_epi32(-1); /* computed by a subtraction: a masked constant would need a general register */
  return _mm512_mask_mov_epi32(_mm512_maskz_sub_epi32(up, _mm512_setzero_si512(), minus_1), down, minus_1);
}

/* Bytes and halves from and to lanes. */
LANES vi v_load_s8(const uint8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
LANES vi v_load_u16(const uint8_t *p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
LANES vf f_load_f16(const uint8_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
LANES void f_store_f16(uint8_t *p, vf a) {
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
LANES vf f_load_e5m2(const uint8_t *p) { /* the upper byte of an f16 */
  __m256i halves = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
  return _mm512_cvtph_ps(_mm256_slli_epi16(halves, 8));
}
LANES void v_store_u16(uint8_t *p, const vi v[2]) { /* 2 VW lanes below 2^16 */
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(v[0]));
  _mm256_storeu_si256((__m256i *)(p + 32), _mm512_cvtepi32_epi16(v[1]));
}
LANES void v_store_u8(uint8_t *p, vi v) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v)); }

/* Bytes of four vectors u, v, w, x. Two steps of narrowing leave them in packed order: 32-bit units of u, v, w, x
 * alternate, by 128-bit lanes; b_in_order makes them contiguous. Words and bytes saturate. */
typedef __m512i vb;
LANES vi w_narrow(vi a, vi b) { return _mm512_packs_epi32(a, b); } /* signed lanes to signed words */
LANES vi w_narrow_u(vi a, vi b) { return _mm512_packus_epi32(a, b); }
LANES vi w_sub(vi a, vi b) { return _mm512_sub_epi16(a, b); }
LANES vi w_set(int x) { return _mm512_set1_epi16((short)x); }
#define w_srl(a, count) _mm512_srli_epi16(a, count)
LANES vi w_dot(vi a, vi b) { return _mm512_madd_epi16(a, b); } /* product sums of two signed words, for each lane */
LANES vb b_narrow(vi a, vi b) { return _mm512_packs_epi16(a, b); }
LANES vb b_narrow_u(vi a, vi b) { return _mm512_packus_epi16(a, b); }
LANES vb b_set(int x) { return _mm512_set1_epi8((char)x); }
LANES vb b_set16(int x) { return _mm512_set1_epi16((short)x); }
LANES vb b_by_sign(vb a, int x) { /* -x, 0 or x by the signs of bytes from -2 to 2; x is a constant up to 127 */
  const long long plus = (long long)x << 8 | (long long)x << 16,
                  minus = (long long)((uint64_t)(-x & 255) * 0x0101 << 48);
  return _mm512_permutexvar_epi8(a, _mm512_setr_epi64(plus, 0, 0, 0, 0, 0, 0, minus));
}
LANES vi b_dot(vb a, vb b) {
  return _mm512_maddubs_epi16(a, b);
} /* product sums of two bytes, unsigned bytes of a and signed bytes of b */
LANES vb b_add(vb a, vb b) { return _mm512_add_epi8(a, b); }
LANES vb b_max(vb a, vb b) { return _mm512_max_epi8(a, b); } /* of signed bytes */
LANES vb b_min(vb a, vb b) { return _mm512_min_epi8(a, b); }
LANES vb b_min_u(vb a, vb b) { return _mm512_min_epu8(a, b); }
LANES vb b_in_order(vb a) {
  return _mm512_permutexvar_epi32(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0), a);
}
LANES void b_store(uint8_t *p, vb a) { _mm512_storeu_si512(p, a); }
LANES vb b_low_nibbles(vb a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
/* Stores 4 VW bytes below 16 as nibbles, the even one low: 2 VW bytes. */
LANES void b_store_nibbles(uint8_t *p, vb a) {
  __m512i pairs = _mm512_maddubs_epi16(a, _mm512_set1_epi16(0x1001));
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi16_epi8(pairs));
}
/* Stores 4 VW bytes below 64 as a stream of 6-bit codes, the first one lowest: 3 VW bytes. */
LANES void b_store_6bit(uint8_t *p, vb a) {
  __m512i pairs = _mm512_maddubs_epi16(a, _mm512_set1_epi16(0x4001));      /* c0 + 64 c1 */
  __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x10000001)); /* + 4096 (c2 + 64 c3) */
  const __m512i three_of_four =
      _mm512_set_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 62, 61, 60, 58, 57, 56, 54, 53, 52, 50, 49, 48,
                      46, 45, 44, 42, 41, 40, 38, 37, 36, 34, 33, 32, 30, 29, 28, 26, 25, 24, 22, 21, 20, 18, 17, 16,
                      14, 13, 12, 10, 9, 8, 6, 5, 4, 2, 1, 0);
  __m512i packed = _mm512_permutexvar_epi8(three_of_four, fours);
  _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(packed));
  _mm_storeu_si128((__m128i *)(p + 32), _mm512_extracti32x4_epi32(packed, 2));
}
/* Stores 4 VW bytes, with an additional byte (first[0], first[1], ...) before every 8: 9/2 VW bytes. */
LANES void b_store_after_bytes(uint8_t *p, const uint8_t *first, vb a) {
  const __m512i order = /* 64 + i is first[i] */
      _mm512_set_epi8(71, 55, 54, 53, 52, 51, 50, 49, 48, 70, 47, 46, 45, 44, 43, 42, 41, 40, 69, 39, 38, 37, 36, 35,
                      34, 33, 32, 68, 31, 30, 29, 28, 27, 26, 25, 24, 67, 23, 22, 21, 20, 19, 18, 17, 16, 66, 15, 14,
                      13, 12, 11, 10, 9, 8, 65, 7, 6, 5, 4, 3, 2, 1, 0, 64);
  __m512i bytes = _mm512_castsi128_si512(_mm_loadl_epi64((const __m128i *)first));
  _mm512_storeu_si512(p, _mm512_permutex2var_epi8(a, order, bytes));
  __m128i last = _mm512_extracti32x4_epi32(a, 3);
  _mm_storel_epi64((__m128i *)(p + 64), _mm_unpackhi_epi64(last, last));
}
/* a[k] holds bytes of vectors k, 3 + k, 6 + k and 9 + k of 12, in packed order. third[i]: bytes number 3 j + i of
 * the 12 VW, in an order that b_of_thirds changes to the order of j. */
LANES void b_thirds(const vb a[3], vb third[3]) {
  vb first = _mm512_mask_blend_epi8(0x2222444499992222u, _mm512_mask_blend_epi8(0x4444999922224444u, a[0], a[1]), a[2]);
  vb second =
      _mm512_mask_blend_epi8(0x4444999922224444u, _mm512_mask_blend_epi8(0x9999222244449999u, a[0], a[1]), a[2]);
  vb last = _mm512_mask_blend_epi8(0x9999222244449999u, _mm512_mask_blend_epi8(0x2222444499992222u, a[0], a[1]), a[2]);
  third[0] = _mm512_permutexvar_epi8(_mm512_set_epi8(61, 46, 31, 28, 13, 62, 47, 44, 29, 14, 63, 60, 45, 30, 15, 12, 57,
                                                     42, 27, 24, 9, 58, 43, 40, 25, 10, 59, 56, 41, 26, 11, 8, 53, 38,
                                                     23, 20, 5, 54, 39, 36, 21, 6, 55, 52, 37, 22, 7, 4, 49, 34, 19, 16,
                                                     1, 50, 35, 32, 17, 2, 51, 48, 33, 18, 3, 0),
                                     first);
  third[1] = _mm512_permutexvar_epi8(_mm512_set_epi8(62, 47, 44, 29, 14, 63, 60, 45, 30, 15, 12, 61, 46, 31, 28, 13, 58,
                                                     43, 40, 25, 10, 59, 56, 41, 26, 11, 8, 57, 42, 27, 24, 9, 54, 39,
                                                     36, 21, 6, 55, 52, 37, 22, 7, 4, 53, 38, 23, 20, 5, 50, 35, 32, 17,
                                                     2, 51, 48, 33, 18, 3, 0, 49, 34, 19, 16, 1),
                                     second);
  third[2] = _mm512_permutexvar_epi8(_mm512_set_epi8(63, 60, 45, 30, 15, 12, 61, 46, 31, 28, 13, 62, 47, 44, 29, 14, 59,
                                                     56, 41, 26, 11, 8, 57, 42, 27, 24, 9, 58, 43, 40, 25, 10, 55, 52,
                                                     37, 22, 7, 4, 53, 38, 23, 20, 5, 54, 39, 36, 21, 6, 51, 48, 33, 18,
                                                     3, 0, 49, 34, 19, 16, 1, 50, 35, 32, 17, 2),
                                     last);
}
LANES vb b_of_thirds(vb a) { return a; }
/* Loads codes of 8, 6 or 4 bits, 2 VW from the first on (6 bits: 0 or 16 of 32), into the uppermost bits of words;
 * lower bits are undefined. */
enum { WORDS = 2 * VW };
LANES vi w_load_8bit(const uint8_t *codes, size_t first) {
  return _mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(codes + first))), 8);
}
LANES vi w_load_6bit(const uint8_t *codes, size_t first) { /* the two bytes that hold each, then shifts as products */
  const __m512i holders = _mm512_set_epi8(23, 23, 23, 22, 22, 21, 22, 21, 20, 20, 20, 19, 19, 18, 19, 18, 17, 17, 17,
                                          16, 16, 15, 16, 15, 14, 14, 14, 13, 13, 12, 13, 12, 11, 11, 11, 10, 10, 9, 10,
                                          9, 8, 8, 8, 7, 7, 6, 7, 6, 5, 5, 5, 4, 4, 3, 4, 3, 2, 2, 2, 1, 1, 0, 1, 0);
  __m128i low = _mm_loadu_si128((const __m128i *)codes), high = _mm_loadl_epi64((const __m128i *)(codes + 16));
  __m512i bytes = _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
  (void)first; /* a vector has all 32, so first is 0 */
  return _mm512_mullo_epi16(_mm512_permutexvar_epi8(holders, bytes), _mm512_set1_epi64(0x0100004000100400));
}
LANES vi w_load_4bit(const uint8_t *codes, size_t first) {
  __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(codes + first / 2)));
  return _mm512_mullo_epi16(_mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 16)), _mm512_set1_epi32(0x01001000));
}
#define w_sra(a, count) _mm512_srai_epi16(a, count)
/* The values of words as f16, and as signed integers. */
LANES vf f_of_f16_low(vi words) { return _mm512_cvtph_ps(_mm512_castsi512_si256(words)); }
LANES vf f_of_f16_high(vi words) { return _mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1)); }
LANES vf f_of_low(vi words) { return f_of_int(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(words))); }
LANES vf f_of_high(vi words) { return f_of_int(_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(words, 1))); }

/* Lane i of the result: the largest of the VW lanes of m[i]. */
LANES vi max_of_4(const vi m[4]) { /* by 128-bit lanes: their largest of m[0..3] */
  vi a = v_max(_mm512_unpacklo_epi32(m[0], m[1]), _mm512_unpackhi_epi32(m[0], m[1]));
  vi b = v_max(_mm512_unpacklo_epi32(m[2], m[3]), _mm512_unpackhi_epi32(m[2], m[3]));
  return v_max(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
LANES vi max_of_lanes(vi a, vi b) { /* maxima of the 128-bit lanes 0 and 1, and 2 and 3, of a, then of b */
  return v_max(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}
LANES vi v_max_across(const vi m[VW]) {
  return max_of_lanes(max_of_lanes(max_of_4(m), max_of_4(m + 4)), max_of_lanes(max_of_4(m + 8), max_of_4(m + 12)));
}
/* VW blocks of 8 values in VW / 2 vectors: the maximum of each. */
LANES vi v_max_of_8(const vi m[VW / 2]) {
  vi halves = max_of_lanes(max_of_4(m), max_of_4(m + 4)); /* blocks 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15 */
  return _mm512_permutexvar_epi32(_mm512_set_epi32(15, 11, 14, 10, 13, 9, 12, 8, 7, 3, 6, 2, 5, 1, 4, 0), halves);
}
enum { BLOCKS_OF_8 = 2 }; /* in a vector */
/* Lanes of blocks 0 and 1 of 8 values get p[0] and p[1]. */
LANES vf f_of_blocks_of_8(const float *p) {
  return _mm512_permutexvar_ps(_mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
                               _mm512_castps128_ps512(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)p))));
}
LANES vf f_pair(const float p[BLOCKS_OF_8]) { /* the same from registers */
  return _mm512_insertf32x8(_mm512_set1_ps(p[0]), _mm256_set1_ps(p[1]), 1);
}
/* 8 signed bytes from p on, and 8 more at p + `apart`. */
LANES vi v_load_s8_pair(const uint8_t *p, size_t apart) {
  __m128i a = _mm_loadl_epi64((const __m128i *)p), b = _mm_loadl_epi64((const __m128i *)(p + apart));
  return _mm512_cvtepi8_epi32(_mm_unpacklo_epi64(a, b));
}
LANES uint32_t v_max_of(vi a) { return (uint32_t)_mm512_reduce_max_epi32(a); }
LANES void v_stream(void *p, vi a) { _mm512_stream_si512(p, a); } /* aligned; bypasses the caches */

#endif
