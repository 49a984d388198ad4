/* codes_avx512.h - the words of tiles on codes in AVX-512: from a line of codes to operands, and from sums to totals.
 *
 *   value_FORM(line, field, tables)   the operand in a field of all containers (kernel.h); `field` is a constant; e2m3: the
 *                                     line's three registers
 *   planes_at(p, tables)              of 8-bit integers (X86_S8) that lie in planes, in real arithmetic
 *   scales_at(p, bytes, factor)       the scales of a vector of columns
 *   real(sums)                        as binary32
 *   magic_at(p), without(sums, magic) what sums begin with to take on powers of two, and their end (kernel.h)
 *   store_value(to, operand, scales)  an element of a panel: value times scale
 *   store_codes(to, operand)          of integers of 8 bits: as they are
 *
 * Codes of 4 bits are looked up; the look-up ignores the bits above its index, so that tables repeat instead of codes being
 * masked. */
#ifndef TW_X86_CODES_H
#define TW_X86_CODES_H

#include <immintrin.h>
#include <stdint.h>

#include "target/x86/runtime/code_values.h"

typedef __m512i codes;
typedef __m512 reals;
typedef struct tables {
  __m512i a, b, c, d, e, f;
} tables;

WORD codes load_line(const void *p) { return _mm512_loadu_si512(p); }
WORD reals no_reals(void) { return _mm512_setzero_ps(); }
WORD reals add_reals(reals x, reals y) { return _mm512_add_ps(x, y); }
WORD reals scaled(reals x, reals f) { return _mm512_mul_ps(x, f); }
WORD reals scaled_add(reals total, reals x, reals f) { return _mm512_fmadd_ps(x, f, total); }
WORD reals one_real(const float *p) { return _mm512_set1_ps(*p); }

/* e8m0: 2^(e - 127). 0 is the subnormal 2^-127; 255, NaN, becomes infinity, and 0 * infinity, the value of its codes,
 * NaN. */
WORD reals scales_at(const char *p, int bytes, float factor) {
  if (bytes == 4) return _mm512_mul_ps(_mm512_loadu_ps(p), _mm512_set1_ps(factor));
  const __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
  const __m512i bits = _mm512_max_epu32(_mm512_slli_epi32(e, 23), _mm512_set1_epi32(0x00400000));
  return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(factor));
}

#if defined ARITHMETIC_F32 || defined ARITHMETIC_BF16
WORD reals real(sums x) { return x; }
WORD reals reals_of(sums x) { return x; }
WORD sums bits_of(reals x) { return x; }
WORD sums multiply_add_coded(sums s, operand a, operand b) { return multiply_add(s, a, b); }
#else
WORD reals real(sums x) { return _mm512_cvtepi32_ps((__m512i)x); }
WORD reals reals_of(sums x) { return (reals)x; }
WORD sums bits_of(reals x) { return (sums)x; }
WORD sums start_at(const int32_t *p) { return (sums)_mm512_set1_epi32(*p); }
WORD sums magic_at(const char *p) {
  const __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
  return (sums)_mm512_add_epi32(_mm512_slli_epi32(e, 23), _mm512_set1_epi32((23 << 23) + (1 << 22)));
}
WORD reals without(sums x, sums magic) { return _mm512_sub_ps((reals)x, (reals)magic); }
#if defined ARITHMETIC_U8S8
WORD sums multiply_add_coded(sums s, operand a, operand b) { return (sums)_mm512_dpbusd_epi32((__m512i)s, b, a); }
#else
WORD sums multiply_add_coded(sums s, operand a, operand b) { return multiply_add(s, a, b); }
#endif
#endif

#if defined ARITHMETIC_F32 || defined ARITHMETIC_BF16
/* The 64 values of e2m3, as bf16. */
WORD tables tables_e2m3(void) {
  static const uint16_t value[64] = {
      0x0000, 0x3e00, 0x3e80, 0x3ec0, 0x3f00, 0x3f20, 0x3f40, 0x3f60, 0x3f80, 0x3f90, 0x3fa0, 0x3fb0, 0x3fc0,
      0x3fd0, 0x3fe0, 0x3ff0, 0x4000, 0x4010, 0x4020, 0x4030, 0x4040, 0x4050, 0x4060, 0x4070, 0x4080, 0x4090,
      0x40a0, 0x40b0, 0x40c0, 0x40d0, 0x40e0, 0x40f0, 0x8000, 0xbe00, 0xbe80, 0xbec0, 0xbf00, 0xbf20, 0xbf40,
      0xbf60, 0xbf80, 0xbf90, 0xbfa0, 0xbfb0, 0xbfc0, 0xbfd0, 0xbfe0, 0xbff0, 0xc000, 0xc010, 0xc020, 0xc030,
      0xc040, 0xc050, 0xc060, 0xc070, 0xc080, 0xc090, 0xc0a0, 0xc0b0, 0xc0c0, 0xc0d0, 0xc0e0, 0xc0f0,
  };
  return (tables){.a = _mm512_loadu_si512(value), .b = _mm512_loadu_si512(value + 32)};
}
/* The values of slot `slot` of all 16-bit containers. */
WORD __m512i bf16_e2m3(codes w0, codes w1, codes w2, int slot, tables t) {
  const __m512i upper = _mm512_set1_epi16(0x30);
  const codes in[3] = {w0, w1, w2};
  codes code;
  if (slot < 6)
    code = slot % 2 ? _mm512_srli_epi16(in[slot / 2], 6) : in[slot / 2];
  else /* four bits at the top of one register, two in the third: x | y & 0x30 */
    code = _mm512_ternarylogic_epi32(_mm512_srli_epi16(in[slot - 6], 12), _mm512_srli_epi16(w2, slot == 6 ? 8 : 10),
                                     upper, 0xf8);
  return _mm512_permutex2var_epi16(t.a, code, t.b);
}
#endif

#if defined ARITHMETIC_F32
WORD codes at_bottom(codes w, int bit) { return bit ? _mm512_srli_epi32(w, (unsigned)bit) : w; }
WORD codes at_top(codes w, int bit) { return bit < 32 ? _mm512_slli_epi32(w, (unsigned)(32 - bit)) : w; }
WORD void store_value(void *p, operand x, reals f) { _mm512_storeu_ps(p, _mm512_mul_ps(x, f)); }
WORD operand look_up(codes w, int bit, __m512i table) {
  return _mm512_permutexvar_ps(at_bottom(w, bit), _mm512_castsi512_ps(table));
}
WORD tables table_of(__m512 values) { return (tables){.a = _mm512_castps_si512(values)}; }
/* Sign and one bit of the exponent: 0 or 2. */
WORD tables tables_s2(void) { return (tables){.a = _mm512_set1_epi32((int)0xc0000000)}; }
WORD tables tables_s4(void) { return table_of(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1)); }
WORD tables tables_e2m1(void) {
  return table_of(_mm512_setr_ps(0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6));
}
WORD operand value_s2(codes w, int field, tables t) {
  return _mm512_castsi512_ps(_mm512_and_si512(at_top(w, 2 * field + 2), t.a));
}
WORD operand ones(void) {
  operand x = _mm512_set1_ps(1);
  keep(x); /* an addition has the shifts' pipes; one times the table has others (Zen 5) */
  return x;
}
/* The three values of a field: c0, c1 and c2 of c0 + 3 c1 + 9 c2. */
static const float values_t3[3][32] __attribute__((unused)) = {
    {0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1},
    {0, 0, 0, 1, 1, 1, -1, -1, -1, 0, 0, 0, 1, 1, 1, -1, -1, -1, 0, 0, 0, 1, 1, 1, -1, -1, -1},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
};
WORD tables tables_t3(void) {
  return (tables){.a = _mm512_loadu_si512(values_t3[0]),
                  .b = _mm512_loadu_si512(values_t3[0] + 16),
                  .c = _mm512_loadu_si512(values_t3[1]),
                  .d = _mm512_loadu_si512(values_t3[1] + 16),
                  .e = _mm512_loadu_si512(values_t3[2]),
                  .f = _mm512_loadu_si512(values_t3[2] + 16)};
}
WORD operand look_up_in_two(codes index, __m512i lower, __m512i upper) {
  return _mm512_castsi512_ps(_mm512_permutex2var_epi32(lower, index, upper));
}
WORD operand value_t3(codes w, int field, int code, tables t) {
  return look_up_in_two(at_bottom(w, 5 * field),
                        code == 0   ? t.a
                        : code == 1 ? t.c
                                    : t.e,
                        code == 0   ? t.b
                        : code == 1 ? t.d
                                    : t.f);
}
WORD sums add_looked_up(sums s, codes index, operand lower, operand upper, operand one) {
  return _mm512_fmadd_ps(look_up_in_two(index, _mm512_castps_si512(lower), _mm512_castps_si512(upper)), one, s);
}
__attribute__((unused)) static void tabulate(void *to, const void *a, int64_t a_stride, int64_t rows, int64_t units) {
  for (int64_t i = 0; i < rows; i++) {
    const char *from = (const char *)a + i * a_stride;
    char *table = (char *)to + i * X86_TABLE;
    for (int64_t u = 0; u < units; u += X86_TABLE_UNITS, table += rows * X86_TABLE)
      for (int half = 0; half < 2; half++) {
        __m512 x = _mm512_mul_ps(broadcast(from + X86_UNIT * u), _mm512_loadu_ps(values_t3[0] + 16 * half));
        for (int code = 1; code < X86_TABLE_UNITS; code++)
          x = _mm512_fmadd_ps(broadcast(from + X86_UNIT * (u + code)), _mm512_loadu_ps(values_t3[code] + 16 * half), x);
        _mm512_storeu_ps(table + half * X86_TABLE / 2, x);
      }
  }
}
WORD operand value_s4(codes w, int field, tables t) { return look_up(w, 4 * field, t.a); }
WORD operand value_e2m1(codes w, int field, tables t) { return look_up(w, 4 * field, t.a); }
WORD operand value_e2m3(codes w0, codes w1, codes w2, int field, tables t) {
  const __m512i x = bf16_e2m3(w0, w1, w2, field / 2, t);
  return _mm512_castsi512_ps(field % 2 ? _mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000))
                                       : _mm512_slli_epi32(x, 16));
}
WORD tables tables_s8(void) { return (tables){0}; }
WORD operand planes_at(const char *p, tables t) {
  (void)t;
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
}
/* Sign, exponent and mantissa where binary32 has them; the power of two mends the bias, subnormals included. */
WORD tables tables_e4m3(void) {
  return (tables){.a = _mm512_set1_epi32((int)0x87f00000), .b = (__m512i)_mm512_set1_ps(0x1p120f)};
}
WORD operand value_e4m3(codes w, int field, tables t) {
  const __m512i bits = _mm512_and_si512(_mm512_srai_epi32(at_top(w, 8 * field + 8), 4), t.a);
  return _mm512_mul_ps(_mm512_castsi512_ps(bits), (__m512)t.b);
}
#endif

#if defined ARITHMETIC_BF16 || defined ARITHMETIC_S16
WORD codes at_bottom(codes w, int bit) { return bit ? _mm512_srli_epi16(w, (unsigned)bit) : w; }
WORD codes at_top(codes w, int bit) { return bit < 16 ? _mm512_slli_epi16(w, (unsigned)(16 - bit)) : w; }
WORD operand look_up(codes w, int bit, __m512i table) { return _mm512_permutexvar_epi16(at_bottom(w, bit), table); }
WORD tables table_of(const uint16_t value[16]) {
  const __m256i half = _mm256_loadu_si256((const void *)value);
  return (tables){.a = _mm512_broadcast_i64x4(half)};
}
#endif

#if defined ARITHMETIC_BF16
/* Sign and one bit of the exponent: 0 or 2. The two uppermost fields are moved there and masked; of the others, two at a
 * time are moved to the bottom, where two tables, each of which ignores the other's bits, look them up: 19 instead of 23
 * instructions with the multiply-adds of a line. */
WORD tables tables_s2(void) {
  uint16_t lower[32], upper[32];
  for (unsigned i = 0; i < 32; i++) lower[i] = (uint16_t)(i << 14), upper[i] = (uint16_t)(i >> 2 << 14);
  return (tables){
      .a = _mm512_set1_epi16((short)0xc000), .b = _mm512_loadu_si512(lower), .c = _mm512_loadu_si512(upper)};
}
WORD tables tables_s4(void) { return table_of(S4_AS_BF16); }
WORD tables tables_e2m1(void) { return table_of(E2M1_AS_BF16); }
WORD operand value_s2(codes w, int field, tables t) {
  if (field >= 6) return _mm512_and_si512(at_top(w, 2 * field + 2), t.a);
  return look_up(w, field / 2 * 4, field % 2 ? t.c : t.b);
}
WORD operand value_s4(codes w, int field, tables t) { return look_up(w, 4 * field, t.a); }
WORD operand value_e2m1(codes w, int field, tables t) { return look_up(w, 4 * field, t.a); }

WORD operand value_e2m3(codes w0, codes w1, codes w2, int field, tables t) { return bf16_e2m3(w0, w1, w2, field, t); }

WORD tables tables_s8(void) { /* the upper halves of two vectors in turn: bf16 holds 8 bits exactly */
  static const uint16_t from[32] = {1,  33, 3,  35, 5,  37, 7,  39, 9,  41, 11, 43, 13, 45, 15, 47,
                                    17, 49, 19, 51, 21, 53, 23, 55, 25, 57, 27, 59, 29, 61, 31, 63};
  return (tables){.a = _mm512_loadu_si512(from)};
}
WORD __m512i as_f32(const char *p) {
  return (__m512i)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
}
WORD operand planes_at(const char *p, tables t) { return _mm512_permutex2var_epi16(as_f32(p), t.a, as_f32(p + 16)); }

/* The upper and the lower bytes of 128 magnitudes, in two registers each; the code's sign goes to the upper byte. */
WORD tables tables_e4m3(void) {
  uint8_t upper[128], lower[128];
  for (unsigned i = 0; i < 128; i++) {
    const float x = i < 8 ? (float)i * 0x1p-9f : f32_of_bits(i << 20) * 0x1p120f;
    upper[i] = (uint8_t)(f32_bits(x) >> 24), lower[i] = (uint8_t)(f32_bits(x) >> 16);
  }
  return (tables){.a = _mm512_loadu_si512(upper),
                  .b = _mm512_loadu_si512(upper + 64),
                  .c = _mm512_loadu_si512(lower),
                  .d = _mm512_loadu_si512(lower + 64)};
}
WORD operand value_e4m3(codes w, int field, tables t) {
  const __m512i lower = _mm512_permutex2var_epi8(t.c, w, t.d), sign = _mm512_set1_epi8((char)0x80);
  const __m512i upper =
      _mm512_ternarylogic_epi32(_mm512_permutex2var_epi8(t.a, w, t.b), w, sign, 0xf8); /* x | w & sign */
  return field ? _mm512_unpackhi_epi8(lower, upper) : _mm512_unpacklo_epi8(lower, upper);
}

/* Rounded to nearest, ties to even; the halves of one unit are neighbours again. */
WORD void store_value(void *p, operand x, reals f) {
  const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512 even = _mm512_mul_ps((__m512)_mm512_slli_epi32(x, 16), f);
  const __m512 odd = _mm512_mul_ps((__m512)_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)), f);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi16(pairs, (__m512i)_mm512_cvtne2ps_pbh(odd, even)));
}
#endif

#if defined ARITHMETIC_S16
WORD operand integer(codes w, int field, int bits) {
  return _mm512_srai_epi16(at_top(w, bits * field + bits), (unsigned)(16 - bits));
}
WORD tables tables_s2(void) { return (tables){0}; }
WORD tables tables_s4(void) { return (tables){0}; }
WORD tables tables_s8(void) { return (tables){0}; }
WORD operand value_s2(codes w, int field, tables t) { return (void)t, integer(w, field, 2); }
WORD operand value_s4(codes w, int field, tables t) { return (void)t, integer(w, field, 4); }
WORD operand value_s8(codes w, int field, tables t) { return (void)t, integer(w, field, 8); }
WORD tables tables_e2m1(void) {
  static const int16_t value[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  return table_of((const uint16_t *)value);
}
WORD operand value_e2m1(codes w, int field, tables t) { return look_up(w, 4 * field, t.a); }
#endif

#if defined ARITHMETIC_U8S8
WORD void store_codes(void *p, operand x) { _mm512_storeu_si512(p, x); }
WORD tables tables_s8(void) { return (tables){0}; }
WORD operand value_s8(codes w, int field, tables t) { return (void)field, (void)t, w; }
WORD operand low_bits(codes w, int field, int bits) {
  const __m512i mask = _mm512_set1_epi8((char)((1 << bits) - 1));
  return _mm512_and_si512(field ? _mm512_srli_epi16(w, (unsigned)(field * bits)) : w, mask);
}
WORD tables tables_s2(void) { return (tables){0}; }
WORD tables tables_s4(void) { return (tables){0}; }
WORD operand value_s2(codes w, int field, tables t) { return (void)t, low_bits(w, field, 2); }
WORD operand value_s4(codes w, int field, tables t) { return (void)t, low_bits(w, field, 4); }
WORD tables tables_e2m1(void) { /* 12 + 2 x */
  static const uint8_t value[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
  return (tables){.a = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)value))};
}
WORD operand value_e2m1(codes w, int field, tables t) { return _mm512_shuffle_epi8(t.a, low_bits(w, field, 4)); }
#endif

#endif
