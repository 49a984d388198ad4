/* lanes_avx2.h - the operations of the vector kernels for AVX2 and F16C: VW = 8 lanes of 32 bits.
 *
 * lanes_avx512.h has the same names with 16 lanes, and defines their meaning. */
#ifndef TW_FORMAT_LANES_H
#define TW_FORMAT_LANES_H

#include <immintrin.h>
#include <stdint.h>

enum { VW = 8 };
typedef __m256i vi;
typedef __m256 vf;
typedef __m256i vm; /* all bits of a lane, or none */

#define LANES static inline __attribute__((always_inline))

LANES vf f_load(const float *p) { return _mm256_loadu_ps(p); }
LANES void f_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
LANES vf f_set(float x) { return _mm256_set1_ps(x); }
LANES vf f_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
LANES vf f_mul_add(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
LANES vf f_div(vf a, vf b) { return _mm256_div_ps(a, b); }
LANES vf f_max(vf a, vf b) { return _mm256_max_ps(a, b); }
LANES vf f_min(vf a, vf b) { return _mm256_min_ps(a, b); }
LANES vf f_floor(vf a) { return _mm256_floor_ps(a); }
LANES vf f_of_bits(vi a) { return _mm256_castsi256_ps(a); }
LANES vi v_bits(vf a) { return _mm256_castps_si256(a); }
LANES vf f_of_int(vi a) { return _mm256_cvtepi32_ps(a); }
LANES vi v_rounded(vf a) { return _mm256_cvtps_epi32(a); }
LANES vi v_truncated(vf a) { return _mm256_cvttps_epi32(a); }
LANES vm f_less(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ)); }

LANES vi v_load(const void *p) { return _mm256_loadu_si256(p); }
LANES void v_store(void *p, vi a) { _mm256_storeu_si256(p, a); }
LANES vi v_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
LANES vi v_and(vi a, vi b) { return _mm256_and_si256(a, b); }
LANES vi v_or(vi a, vi b) { return _mm256_or_si256(a, b); }
LANES vi v_or_and(vi a, vi b, vi c) { return _mm256_or_si256(a, _mm256_and_si256(b, c)); }
LANES vi v_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
LANES vi v_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
LANES vi v_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
LANES vi v_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
#define v_srl(a, count) _mm256_srli_epi32(a, count)
#define v_sll(a, count) _mm256_slli_epi32(a, count)
LANES vm v_above(vi a, vi b) { return _mm256_cmpgt_epi32(a, b); }
LANES vi v_select(vm m, vi a, vi b) { return _mm256_blendv_epi8(b, a, m); }
LANES unsigned m_bits(vm m) { return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)); }

LANES vi v_trit(vf y, vf threshold) {
  vf minus = _mm256_sub_ps(_mm256_setzero_ps(), threshold);
  vi up = v_bits(_mm256_cmp_ps(y, threshold, _CMP_GE_OQ)), down = v_bits(_mm256_cmp_ps(y, minus, _CMP_LE_OQ));
  return v_sub(down, up); /* a true comparison is -1 */
}

LANES vi v_load_s8(const uint8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
LANES vi v_load_u16(const uint8_t *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)); }
LANES vf f_load_f16(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
LANES void f_store_f16(uint8_t *p, vf a) {
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
LANES vf f_load_e5m2(const uint8_t *p) {
  __m128i halves = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)p));
  return _mm256_cvtph_ps(_mm_slli_epi16(halves, 8));
}
LANES void v_store_u16(uint8_t *p, const vi v[2]) {
  _mm256_storeu_si256((__m256i *)p, _mm256_permute4x64_epi64(_mm256_packus_epi32(v[0], v[1]), 0xD8));
}
LANES void v_store_u8(uint8_t *p, vi v) {
  vi halves = _mm256_packus_epi32(v_and(v, v_set(0xFF)), _mm256_setzero_si256());
  vi bytes = _mm256_packus_epi16(halves, _mm256_setzero_si256()); /* 4 in each 128-bit lane */
  vi joined = _mm256_permutevar8x32_epi32(bytes, _mm256_set_epi32(7, 6, 5, 3, 2, 1, 4, 0));
  _mm_storel_epi64((__m128i *)p, _mm256_castsi256_si128(joined));
}

typedef __m256i vb;
LANES vi w_narrow(vi a, vi b) { return _mm256_packs_epi32(a, b); }
LANES vi w_narrow_u(vi a, vi b) { return _mm256_packus_epi32(a, b); }
LANES vi w_sub(vi a, vi b) { return _mm256_sub_epi16(a, b); }
LANES vi w_set(int x) { return _mm256_set1_epi16((short)x); }
#define w_srl(a, count) _mm256_srli_epi16(a, count)
LANES vi w_dot(vi a, vi b) { return _mm256_madd_epi16(a, b); }
LANES vb b_narrow(vi a, vi b) { return _mm256_packs_epi16(a, b); }
LANES vb b_narrow_u(vi a, vi b) { return _mm256_packus_epi16(a, b); }
LANES vb b_set(int x) { return _mm256_set1_epi8((char)x); }
LANES vb b_set16(int x) { return _mm256_set1_epi16((short)x); }
LANES vb b_by_sign(vb a, int x) { return _mm256_sign_epi8(b_set(x), a); }
LANES vi b_dot(vb a, vb b) { return _mm256_maddubs_epi16(a, b); }
LANES vb b_add(vb a, vb b) { return _mm256_add_epi8(a, b); }
LANES vb b_max(vb a, vb b) { return _mm256_max_epi8(a, b); }
LANES vb b_min(vb a, vb b) { return _mm256_min_epi8(a, b); }
LANES vb b_min_u(vb a, vb b) { return _mm256_min_epu8(a, b); }
LANES vb b_in_order(vb a) { return _mm256_permutevar8x32_epi32(a, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0)); }
LANES void b_store(uint8_t *p, vb a) { _mm256_storeu_si256((__m256i *)p, a); }
LANES vb b_low_nibbles(vb a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
LANES void b_store_nibbles(uint8_t *p, vb a) {
  vi pairs = _mm256_maddubs_epi16(a, _mm256_set1_epi16(0x1001));
  vi bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(pairs, pairs), 0xD8);
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(bytes));
}
LANES void b_store_6bit(uint8_t *p, vb a) {
  vi pairs = _mm256_maddubs_epi16(a, _mm256_set1_epi16(0x4001));
  vi fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x10000001));
  const vi three_of_four =
      _mm256_broadcastsi128_si256(_mm_set_epi8(-1, -1, -1, -1, 14, 13, 12, 10, 9, 8, 6, 5, 4, 2, 1, 0));
  vi packed =
      _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(fours, three_of_four), _mm256_set_epi32(7, 3, 6, 5, 4, 2, 1, 0));
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
  _mm_storel_epi64((__m128i *)(p + 16), _mm256_extracti128_si256(packed, 1));
}
LANES void b_store_after_bytes(uint8_t *p, const uint8_t *first, vb a) {
  __m128i low = _mm256_castsi256_si128(a), high = _mm256_extracti128_si256(a, 1);
  for (int i = 0; i < 4; i++) p[9 * i] = first[i];
  _mm_storel_epi64((__m128i *)(p + 1), low);
  _mm_storel_epi64((__m128i *)(p + 10), _mm_unpackhi_epi64(low, low));
  _mm_storel_epi64((__m128i *)(p + 19), high);
  _mm_storel_epi64((__m128i *)(p + 28), _mm_unpackhi_epi64(high, high));
}
LANES vb b_transposed(vb a) { /* 4 x 4 in both halves */
  return _mm256_shuffle_epi8(
      a, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
}
LANES void b_thirds(const vb a[3], vb third[3]) { /* unit j of third[i]: four of number 3 j + i */
  vb b0 = b_transposed(a[0]), b1 = b_transposed(a[1]), b2 = b_transposed(a[2]); /* unit p of b_k: of number 8 k + p */
  vb first = _mm256_blend_epi32(_mm256_blend_epi32(b0, b1, 0x92), b2, 0x24);
  vb second = _mm256_blend_epi32(_mm256_blend_epi32(b0, b1, 0x24), b2, 0x49);
  vb last = _mm256_blend_epi32(_mm256_blend_epi32(b0, b1, 0x49), b2, 0x92);
  third[0] = _mm256_permutevar8x32_epi32(first, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
  third[1] = _mm256_permutevar8x32_epi32(second, _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6));
  third[2] = _mm256_permutevar8x32_epi32(last, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
}
LANES vb b_of_thirds(vb a) {
  return _mm256_permutevar8x32_epi32(b_transposed(a), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
enum { WORDS = 2 * VW };
LANES vi w_load_8bit(const uint8_t *codes, size_t first) {
  return _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(codes + first))), 8);
}
LANES vi w_load_6bit(const uint8_t *codes,
                     size_t first) { /* 12 bytes, of which the 16 loaded are the first or the last */
  const vi holders = _mm256_set_epi8(11, 11, 11, 10, 10, 9, 10, 9, 8, 8, 8, 7, 7, 6, 7, 6, 5, 5, 5, 4, 4, 3, 4, 3, 2, 2,
                                     2, 1, 1, 0, 1, 0);
  const size_t from = first ? 8 : 0, skipped = first ? 4 : 0;
  vi bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(codes + from)));
  vi both = _mm256_shuffle_epi8(bytes, _mm256_add_epi8(holders, _mm256_set1_epi8((char)skipped)));
  return _mm256_mullo_epi16(both, _mm256_set1_epi64x(0x0100004000100400));
}
LANES vi w_load_4bit(const uint8_t *codes, size_t first) {
  vi bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(codes + first / 2)));
  return _mm256_mullo_epi16(_mm256_or_si256(bytes, _mm256_slli_epi32(bytes, 16)), _mm256_set1_epi32(0x01001000));
}
#define w_sra(a, count) _mm256_srai_epi16(a, count)
LANES vf f_of_f16_low(vi words) { return _mm256_cvtph_ps(_mm256_castsi256_si128(words)); }
LANES vf f_of_f16_high(vi words) { return _mm256_cvtph_ps(_mm256_extracti128_si256(words, 1)); }
LANES vf f_of_low(vi words) { return f_of_int(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(words))); }
LANES vf f_of_high(vi words) { return f_of_int(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(words, 1))); }

LANES vi max_of_4(const vi m[4]) {
  vi a = v_max(_mm256_unpacklo_epi32(m[0], m[1]), _mm256_unpackhi_epi32(m[0], m[1]));
  vi b = v_max(_mm256_unpacklo_epi32(m[2], m[3]), _mm256_unpackhi_epi32(m[2], m[3]));
  return v_max(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}
LANES vi v_max_across(const vi m[VW]) {
  vi a = max_of_4(m), b = max_of_4(m + 4);
  return v_max(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}
enum { BLOCKS_OF_8 = 1 };
LANES vi v_max_of_8(const vi m[VW]) { return v_max_across(m); }
LANES vf f_of_blocks_of_8(const float *p) { return _mm256_set1_ps(*p); }
LANES vf f_pair(const float p[BLOCKS_OF_8]) { return _mm256_set1_ps(*p); } /* from registers */
LANES vi v_load_s8_pair(const uint8_t *p, size_t apart) { return (void)apart, v_load_s8(p); }
LANES uint32_t v_max_of(vi a) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return (uint32_t)_mm_cvtsi128_si32(m);
}
LANES void v_stream(void *p, vi a) { _mm256_stream_si256((__m256i *)p, a); }

#endif
