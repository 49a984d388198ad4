/* codes_avx2.h - the primitives of tiles with packed weights in AVX2 (and AVX-VNNI). See codes_avx512.h. */
#ifndef TW_X86_CODES_H
#define TW_X86_CODES_H

#include <immintrin.h>
#include <stdint.h>

#include "target/x86/runtime/code_values.h"

typedef __m256i codes;
typedef __m256 reals;
typedef struct tables {
  __m256i a, b;
} tables;

WORD codes load_line(const void *p) { return _mm256_loadu_si256(p); }
WORD reals no_reals(void) { return _mm256_setzero_ps(); }
WORD reals add_reals(reals x, reals y) { return _mm256_add_ps(x, y); }
WORD reals scaled(reals x, reals f) { return _mm256_mul_ps(x, f); }
WORD reals scaled_add(reals total, reals x, reals f) { return _mm256_fmadd_ps(x, f, total); }
WORD reals one_real(const float *p) { return _mm256_set1_ps(*p); }

WORD reals scales_at(const char *p, int bytes, float factor) {
  if (bytes == 4) return _mm256_mul_ps(_mm256_loadu_ps((const void *)p), _mm256_set1_ps(factor));
  const __m256i e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
  const __m256i bits = _mm256_max_epu32(_mm256_slli_epi32(e, 23), _mm256_set1_epi32(0x00400000));
  return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(factor));
}

#if defined ARITHMETIC_F32
WORD reals real(sums x) { return x; }
WORD reals reals_of(sums x) { return x; }
WORD sums bits_of(reals x) { return x; }
WORD sums multiply_add_coded(sums s, operand a, operand b) { return multiply_add(s, a, b); }
WORD void store_value(void *p, operand x, reals f) { _mm256_storeu_ps(p, _mm256_mul_ps(x, f)); }
WORD codes at_top(codes w, int bit) { return bit < 32 ? _mm256_slli_epi32(w, 32 - bit) : w; }
/* Codes of 4 bits lie in "halves" (kernel.h): 32 of them are looked up at once, as the two bytes of a bf16, those are
 * interleaved, and of each pair one is moved up and the other masked: 27 instructions with the multiply-adds of a line. */
WORD tables tables_of_16(const uint16_t value[16]) {
  uint8_t lower[16], upper[16];
  for (int i = 0; i < 16; i++) lower[i] = (uint8_t)value[i], upper[i] = (uint8_t)(value[i] >> 8);
  return (tables){.a = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)lower)),
                  .b = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)upper))};
}
WORD operand look_up(codes w, int field, tables t) {
  const __m256i code = _mm256_and_si256(field / 4 ? _mm256_srli_epi16(w, 4) : w, _mm256_set1_epi8(15));
  const __m256i lower = _mm256_shuffle_epi8(t.a, code), upper = _mm256_shuffle_epi8(t.b, code);
  const __m256i pairs = field / 2 % 2 ? _mm256_unpackhi_epi8(lower, upper) : _mm256_unpacklo_epi8(lower, upper);
  return _mm256_castsi256_ps(field % 2 ? _mm256_and_si256(pairs, _mm256_set1_epi32((int)0xffff0000))
                                       : _mm256_slli_epi32(pairs, 16));
}
WORD tables tables_s4(void) { return tables_of_16(S4_AS_BF16); }
WORD tables tables_e2m1(void) { return tables_of_16(E2M1_AS_BF16); }
WORD operand value_s4(codes w, int field, tables t) { return look_up(w, field, t); }
WORD operand value_e2m1(codes w, int field, tables t) { return look_up(w, field, t); }
WORD operand value_s2(codes w, int field, tables t) { /* sign and one bit of the exponent: 0 or 2 */
  const __m256i mask = _mm256_set1_epi32((int)0xc0000000);
  return (void)t, _mm256_castsi256_ps(_mm256_and_si256(at_top(w, 2 * field + 2), mask));
}
WORD operand planes_at(const char *p, tables t) {
  return (void)t, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
}
/* Sign, exponent and mantissa where binary32 has them; the power of two mends the bias, subnormals included. */
WORD operand value_e4m3(codes w, int field, tables t) {
  const __m256i x = _mm256_srai_epi32(at_top(w, 8 * field + 8), 4), mask = _mm256_set1_epi32((int)0x87f00000);
  return (void)t, _mm256_mul_ps(_mm256_castsi256_ps(_mm256_and_si256(x, mask)), _mm256_set1_ps(0x1p120f));
}
WORD tables tables_s2(void) { return (tables){0}; }
WORD tables tables_s8(void) { return (tables){0}; }
WORD tables tables_e4m3(void) { return (tables){0}; }
#else
WORD reals real(sums x) { return _mm256_cvtepi32_ps((__m256i)x); }
WORD reals reals_of(sums x) { return (reals)x; }
WORD sums bits_of(reals x) { return (sums)x; }
WORD sums magic_at(const char *p) {
  const __m256i e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
  return (sums)_mm256_add_epi32(_mm256_slli_epi32(e, 23), _mm256_set1_epi32((23 << 23) + (1 << 22)));
}
WORD reals without(sums x, sums magic) { return _mm256_sub_ps((reals)x, (reals)magic); }
WORD tables tables_s2(void) { return (tables){0}; }
WORD tables tables_s4(void) { return (tables){0}; }
#endif

#if defined ARITHMETIC_S16
WORD sums multiply_add_coded(sums s, operand a, operand b) { return multiply_add(s, a, b); }
WORD operand integer(codes w, int field, int bits) {
  const int up = 16 - bits * (field + 1);
  return _mm256_srai_epi16(up ? _mm256_slli_epi16(w, up) : w, 16 - bits);
}
WORD operand value_s2(codes w, int field, tables t) { return (void)t, integer(w, field, 2); }
WORD operand value_s4(codes w, int field, tables t) { return (void)t, integer(w, field, 4); }
WORD operand value_s8(codes w, int field, tables t) { return (void)t, integer(w, field, 8); }
WORD tables tables_s8(void) { return (tables){0}; }
/* Looked up in the upper bytes, then moved down with its sign; the lower bytes are dropped. */
WORD tables tables_e2m1(void) {
  static const int8_t value[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  return (tables){.a = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)value))};
}
WORD operand value_e2m1(codes w, int field, tables t) {
  const __m256i up = field < 2 ? _mm256_slli_epi16(w, 8 - 4 * field) : field == 2 ? w : _mm256_srli_epi16(w, 4);
  return _mm256_srai_epi16(_mm256_shuffle_epi8(t.a, _mm256_and_si256(up, _mm256_set1_epi16(0x0f00))), 8);
}
#endif

#if defined ARITHMETIC_U8S8
WORD void store_codes(void *p, operand x) { _mm256_storeu_si256(p, x); }
WORD sums start_at(const int32_t *p) { return (sums)_mm256_set1_epi32(*p); }
#if defined __AVXVNNI__
WORD sums multiply_add_coded(sums s, operand a, operand b) { return (sums)_mm256_dpbusd_avx_epi32((__m256i)s, b, a); }
#else
/* vpmaddubsw adds two products and saturates at 2^15: lifted codes are at most 24, A at most 127, so two products 6096. */
WORD sums multiply_add_coded(sums s, operand a, operand b) {
  return add(s, (sums)_mm256_madd_epi16(_mm256_maddubs_epi16(b, a), _mm256_set1_epi16(1)));
}
#endif
WORD operand low_bits(codes w, int field, int bits) {
  const __m256i mask = _mm256_set1_epi8((char)((1 << bits) - 1));
  return _mm256_and_si256(field ? _mm256_srli_epi16(w, field * bits) : w, mask);
}
WORD tables tables_s8(void) { return (tables){0}; }
WORD operand value_s8(codes w, int field, tables t) { return (void)field, (void)t, w; }
WORD operand value_s2(codes w, int field, tables t) { return (void)t, low_bits(w, field, 2); }
WORD operand value_s4(codes w, int field, tables t) { return (void)t, low_bits(w, field, 4); }
WORD tables tables_e2m1(void) { /* 12 + 2 x */
  static const uint8_t value[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
  return (tables){.a = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)value))};
}
WORD operand value_e2m1(codes w, int field, tables t) { return _mm256_shuffle_epi8(t.a, low_bits(w, field, 4)); }
#endif

#endif
