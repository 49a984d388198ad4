/* codes_portable.h - the words of tiles on codes in plain C with the compiler's vectors. See codes_avx512.h. */
#ifndef TW_X86_CODES_H
#define TW_X86_CODES_H

#include <stdint.h>
#include <string.h>

typedef uint32_t bits32 __attribute__((vector_size(16)));
typedef uint16_t bits16 __attribute__((vector_size(16)));
typedef int16_t ints16 __attribute__((vector_size(16)));
typedef struct tables {
  int none;
} tables;

WORD reals no_reals(void) { return (reals){0}; }
WORD reals add_reals(reals x, reals y) { return x + y; }
WORD reals scaled(reals x, reals f) { return x * f; }
WORD reals scaled_add(reals total, reals x, reals f) { return total + x * f; }
WORD reals one_real(const float *p) { return (reals){*p, *p, *p, *p}; }

WORD reals scales_at(const char *p, int bytes, float factor) {
  reals x;
  if (bytes == 4) {
    memcpy(&x, p, sizeof x);
    return x * factor;
  }
  uint8_t e[PORTABLE_LANES];
  memcpy(e, p, sizeof e);
  for (int i = 0; i < PORTABLE_LANES; i++) x[i] = f32_of_bits(e[i] == 0 ? 0x00400000 : (uint32_t)e[i] << 23);
  return x * factor;
}

#define NO_TABLES(form)                                                                                                \
  WORD tables tables_##form(void) { return (tables){0}; }
NO_TABLES(s2)
NO_TABLES(s4)
NO_TABLES(s8)
NO_TABLES(e2m1)

#if defined ARITHMETIC_F32
typedef bits32 codes;
NO_TABLES(e4m3)
WORD reals real(sums x) { return x; }
WORD reals reals_of(sums x) { return x; }
WORD sums bits_of(reals x) { return x; }
WORD void store_value(void *p, operand x, reals f) {
  x *= f;
  memcpy(p, &x, sizeof x);
}
WORD operand integer(codes w, int field, int bits) {
  return __builtin_convertvector((ints)(w << (32 - bits * (field + 1))) >> (32 - bits), reals);
}
WORD operand minifloat(codes w, int field, int bits, int shift, uint32_t mask, float factor) {
  return (reals)((bits32)((ints)(w << (32 - bits * (field + 1))) >> shift) & mask) * factor;
}
WORD operand value_e2m1(codes w, int field, tables t) {
  return (void)t, minifloat(w, field, 4, 6, 0x81c00000, 0x1p126f);
}
WORD operand value_e4m3(codes w, int field, tables t) {
  return (void)t, minifloat(w, field, 8, 4, 0x87f00000, 0x1p120f);
}
WORD operand planes_at(const char *p, tables t) {
  int8_t x[PORTABLE_LANES];
  memcpy(x, p, sizeof x);
  return (void)t, (operand){x[0], x[1], x[2], x[3]};
}
#else
typedef bits16 codes;
WORD reals real(sums x) { return __builtin_convertvector(x, reals); }
WORD reals reals_of(sums x) { return (reals)x; }
WORD sums bits_of(reals x) { return (sums)x; }
WORD operand integer(codes w, int field, int bits) {
  return (operand)((ints16)(w << (16 - bits * (field + 1))) >> (16 - bits));
}
/* Twice the value: mantissa, with its hidden one, moved up by the exponent less one; subnormals have neither. */
WORD operand value_e2m1(codes w, int field, tables t) {
  (void)t;
  const bits16 code = w >> (4 * field), exponent = code >> 1 & 3, normal = (bits16)(exponent != 0);
  const bits16 size = ((code & 1) | (normal & 2)) << (exponent + normal), sign = (bits16)((code & 8) != 0);
  return (operand)((size ^ sign) - sign);
}
#endif

WORD sums multiply_add_coded(sums s, operand a, operand b) { return multiply_add(s, a, b); }
WORD codes load_line(const void *p) {
  codes w;
  memcpy(&w, p, sizeof w);
  return w;
}
#if defined ARITHMETIC_F32
WORD operand value_s2(codes w, int field, tables t) { /* sign and one bit of the exponent: 0 or 2 */
  return (void)t, (operand)(w << (32 - 2 * (field + 1)) & 0xc0000000);
}
#else
WORD operand value_s2(codes w, int field, tables t) { return (void)t, integer(w, field, 2); }
#endif
WORD operand value_s4(codes w, int field, tables t) { return (void)t, integer(w, field, 4); }
#if defined ARITHMETIC_S16
WORD operand value_s8(codes w, int field, tables t) { return (void)t, integer(w, field, 8); }
#endif

#endif
