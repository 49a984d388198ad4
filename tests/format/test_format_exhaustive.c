/* test_format_exhaustive.c - every code there is, through the conversion of matrices: with every scale for formats
 * whose scale is a byte, every byte and every combination of digits for the ternary ones. Run with each instruction
 * set. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "tilewright/format.h"

static tw_packing packing_of(tw_format_id id) { return (tw_packing){.format = tw_format_at(id)}; }

static void decode(const tw_packing *p, size_t rows, size_t columns, const void *codes, const void *scales, float *x) {
  tw_error error;
  if (tw_format_decode(p, rows, columns, codes, scales, x, columns, &error) != TW_OK) fail_msg("%s", error.text);
}

static void encode(const tw_packing *p, size_t rows, size_t columns, const float *x, void *codes, void *scales) {
  tw_error error;
  if (tw_format_encode(p, rows, columns, x, columns, codes, scales, &error) != TW_OK) fail_msg("%s", error.text);
}

/* The same number, or both NaN. */
static void must_be(const char *name, unsigned code, unsigned scale, float got, float expected) {
  if (isnan(got) && isnan(expected)) return;
  if (tw_bits_of(got) != tw_bits_of(expected))
    fail_msg("%s code %x scale %x: %a, not %a", name, code, scale, (double)got, (double)expected);
}

/* ---- numbers by themselves ---- */

static void every_f16_and_bf16_of_a_matrix(void **state) {
  enum { ALL = 1 << 16 };
  uint16_t *codes = malloc(ALL * sizeof *codes), *back = malloc(ALL * sizeof *back);
  float *x = malloc(ALL * sizeof *x);
  for (int i = 0; i < ALL; i++) codes[i] = (uint16_t)i;
  for (int id = TW_FORMAT_F16; id <= TW_FORMAT_BF16; id++) {
    tw_packing p = packing_of((tw_format_id)id);
    decode(&p, 1, ALL, codes, NULL, x);
    for (unsigned i = 0; i < ALL; i++) {
      const float one = id == TW_FORMAT_F16 ? tw_f16_to_f32((uint16_t)i) : tw_bf16_to_f32((uint16_t)i);
      if (tw_bits_of(x[i]) != tw_bits_of(one)) fail_msg("%s %x", p.format->name, i);
    }
    encode(&p, 1, ALL, x, back, NULL);
    for (unsigned i = 0; i < ALL; i++)
      if (back[i] != codes[i] && !isnan(x[i])) fail_msg("%s %x comes back as %x", p.format->name, i, back[i]);
  }
  free(codes), free(back), free(x);
}

static void every_fp8_of_a_matrix(void **state) {
  uint8_t codes[256], back[256];
  float x[256];
  for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
  static const struct {
    tw_format_id id;
    float (*decode)(uint8_t);
    uint8_t (*encode)(float, tw_overflow);
  } all[] = {{TW_FORMAT_E4M3, tw_e4m3_to_f32, tw_f32_to_e4m3},
             {TW_FORMAT_E5M2, tw_e5m2_to_f32, tw_f32_to_e5m2},
             {TW_FORMAT_E4M3FNUZ, tw_e4m3fnuz_to_f32, tw_f32_to_e4m3fnuz}};
  for (size_t f = 0; f < sizeof all / sizeof *all; f++) {
    for (int overflow = TW_OVERFLOW_SATURATE; overflow <= TW_OVERFLOW_SPECIAL; overflow++) {
      tw_packing p = packing_of(all[f].id);
      p.overflow = (tw_overflow)overflow;
      decode(&p, 1, 256, codes, NULL, x);
      encode(&p, 1, 256, x, back, NULL);
      for (unsigned i = 0; i < 256; i++) {
        const float one = all[f].decode((uint8_t)i);
        must_be(p.format->name, i, 0, x[i], one);
        const uint8_t code = all[f].encode(one, p.overflow);
        assert_int_equal(back[i], code);
        if (isfinite(one)) assert_int_equal(code, i);
      }
    }
  }
}

/* ---- codes with a scale ---- */

static float element(tw_format_id id, unsigned code) {
  switch (id) {
  case TW_FORMAT_MXFP8_E4M3: return tw_e4m3_to_f32((uint8_t)code);
  case TW_FORMAT_MXFP8_E5M2: return tw_e5m2_to_f32((uint8_t)code);
  case TW_FORMAT_MXFP6_E3M2: return tw_e3m2_to_f32((uint8_t)code);
  case TW_FORMAT_MXFP6_E2M3: return tw_e2m3_to_f32((uint8_t)code);
  case TW_FORMAT_MXFP4: return tw_e2m1_to_f32((uint8_t)code);
  default: return (float)(int8_t)code / 64; /* mxint8 */
  }
}

/* Row r has scale byte r and every code once (mxfp4: twice). */
static void every_mx_code_at_every_scale(void **state) {
  enum { COLUMNS = 256, SCALES = 256 };
  static uint8_t codes[SCALES * COLUMNS], scales[SCALES * COLUMNS / 32];
  static float x[SCALES * COLUMNS];
  for (int id = TW_FORMAT_MXFP8_E4M3; id <= TW_FORMAT_MXINT8; id++) {
    tw_packing p = packing_of((tw_format_id)id);
    const unsigned bits = (unsigned)p.format->bits;
    const size_t row_bytes = COLUMNS * bits / 8;
    memset(codes, 0, sizeof codes);
    for (unsigned r = 0; r < SCALES; r++) {
      memset(scales + r * COLUMNS / 32, (int)r, COLUMNS / 32);
      for (unsigned c = 0; c < COLUMNS; c++)
        for (unsigned b = 0; b < bits; b++) /* bit by bit: one stream, first code lowest */
          codes[r * row_bytes + (c * bits + b) / 8] |= (uint8_t)((c >> b & 1) << (c * bits + b) % 8);
    }
    decode(&p, SCALES, COLUMNS, codes, scales, x);
    for (unsigned r = 0; r < SCALES; r++) {
      for (unsigned c = 0; c < COLUMNS; c++) {
        const unsigned code = c & ((1u << bits) - 1);
        const long double value = (long double)element((tw_format_id)id, code) * powl(2, (long double)r - 127);
        must_be(p.format->name, code, r, x[r * COLUMNS + c], r == 255 ? tw_float_of(0x7FC00000) : (float)value);
      }
    }
  }
}

static void every_bfp16_mantissa_at_every_exponent(void **state) {
  enum { BLOCKS = 256 * 32 }; /* exponents, and eight mantissas at a time */
  static uint8_t codes[BLOCKS * 9], back[BLOCKS * 9];
  static float x[BLOCKS * 8], y[BLOCKS * 8];
  tw_packing p = packing_of(TW_FORMAT_BFP16);
  for (unsigned b = 0; b < BLOCKS; b++) {
    codes[b * 9] = (uint8_t)(b / 32);
    for (unsigned i = 0; i < 8; i++) codes[b * 9 + 1 + i] = (uint8_t)(b % 32 * 8 + i);
  }
  decode(&p, 1, BLOCKS * 8, codes, NULL, x);
  for (unsigned b = 0; b < BLOCKS; b++) {
    const unsigned e = b / 32;
    for (unsigned i = 0; i < 8; i++) {
      const int m = (int8_t)(b % 32 * 8 + i);
      const long double value = m * powl(2, (long double)e - 133);
      must_be("bfp16", (unsigned)m & 255, e, x[b * 8 + i], e == 255 ? tw_float_of(0x7FC00000) : (float)value);
    }
  }
  for (int rounding = TW_ROUND_EVEN; rounding <= TW_ROUND_FLOOR; rounding++) { /* exact numbers stay what they are */
    p.rounding = (tw_rounding)rounding;
    encode(&p, 1, BLOCKS * 8, x, back, NULL);
    decode(&p, 1, BLOCKS * 8, back, NULL, y);
    for (unsigned i = 0; i < BLOCKS * 8; i++) {
      if (i / 8 % 32 == 16) continue; /* -128 takes the next exponent, whose steps are twice as large */
      must_be("bfp16 again", i % 256, i / 256, y[i], x[i] == 0 ? 0 : x[i]);
    }
  }
}

static void every_integer_code(void **state) {
  uint8_t codes[256];
  float x[512], scale = 0.5f;
  tw_packing p = packing_of(TW_FORMAT_I8);
  for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
  decode(&p, 1, 256, codes, &scale, x);
  for (int i = 0; i < 256; i++) must_be("i8", (unsigned)i, 0, x[i], (float)(int8_t)i * scale);
  p = packing_of(TW_FORMAT_I4);
  decode(&p, 1, 512, codes, &scale, x);
  for (int i = 0; i < 512; i++) {
    const int nibble = i % 2 ? i / 2 >> 4 : i / 2 & 15;
    must_be("i4", (unsigned)nibble, 0, x[i], (float)(nibble < 8 ? nibble : nibble - 16) * scale);
  }
}

/* ---- ternary ---- */

/* Which digit of its byte (or index) value i of a block is: what ternary.c and docs/reference/formats.md say. */
static int digit_of(tw_format_id id, int i) {
  switch (id) {
  case TW_FORMAT_I2_S: return i / 32;
  case TW_FORMAT_TQ1_0: return i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
  case TW_FORMAT_TQ2_0: return i % 128 / 32;
  case TW_FORMAT_TL1: return i % 4;
  default: return i % 3;
  }
}

static int trit(int combination, int digit) { /* -1, 0 or 1 */
  while (digit--) combination /= 3;
  return combination % 3 - 1;
}

static void every_combination_of_digits_comes_back(void **state) {
  enum { COMBINATIONS = 243, MOST = 256 };
  for (int id = TW_FORMAT_I2_S; id <= TW_FORMAT_TL2; id++) {
    tw_packing p = packing_of((tw_format_id)id);
    const int block = (int)p.format->block;
    uint8_t codes[MOST], scales[4];
    float x[MOST], y[MOST];
    for (int combination = 0; combination < COMBINATIONS; combination++) {
      for (int i = 0; i < block; i++) x[i] = (float)trit(combination, digit_of(p.format->id, i));
      encode(&p, 1, (size_t)block, x, codes, scales);
      decode(&p, 1, (size_t)block, codes, scales, y);
      for (int i = 0; i < block; i++)
        if (y[i] != x[i]) fail_msg("%s: combination %d, value %d", p.format->name, combination, i);
    }
  }
}

static void every_ternary_byte_decodes_to_its_formula(void **state) {
  static const unsigned power[5] = {1, 3, 9, 27, 81};
  const float one = 1;
  float x[256];
  for (unsigned byte = 0; byte < 256; byte++) {
    uint8_t codes[66];
    memset(codes, (int)byte, sizeof codes);
    tw_packing p = packing_of(TW_FORMAT_I2_S);
    decode(&p, 1, 128, codes, &one, x);
    for (int i = 0; i < 128; i++) must_be("i2_s", byte, 0, x[i], (float)(byte >> (6 - i / 32 * 2) & 3) - 1);
    p = packing_of(TW_FORMAT_TQ2_0);
    codes[64] = 0, codes[65] = 0x3C; /* 1 as f16 */
    decode(&p, 1, 256, codes, NULL, x);
    for (int i = 0; i < 256; i++) must_be("tq2_0", byte, 0, x[i], (float)(byte >> i % 128 / 32 * 2 & 3) - 1);
    p = packing_of(TW_FORMAT_TQ1_0);
    codes[52] = 0, codes[53] = 0x3C;
    decode(&p, 1, 256, codes, NULL, x);
    for (int i = 0; i < 256; i++) {
      const unsigned rest = byte * power[digit_of(TW_FORMAT_TQ1_0, i)] & 255;
      must_be("tq1_0", byte, 0, x[i], (float)(rest * 3 >> 8) - 1);
    }
    p = packing_of(TW_FORMAT_TL1);
    memset(codes, (int)byte, sizeof codes);
    decode(&p, 1, 256, codes, &one, x);
    for (int i = 0; i < 256; i++) {
      const int index = (int)(i % 4 < 2 ? byte >> 4 : byte & 15);
      must_be("tl1", byte, 0, x[i], (float)((i % 2 ? index % 3 : index / 3) - 1));
    }
    p = packing_of(TW_FORMAT_TL2);
    for (int negative = 0; negative < 2; negative++) {
      memset(codes + 16, negative ? 0xFF : 0, 4);
      decode(&p, 1, 96, codes, &one, x);
      for (int i = 0; i < 96; i++) {
        const int index = (int)(i / 3 < 16 ? byte >> 4 : byte & 15);
        if (index > 13) continue; /* never made */
        const int digits = index + 13, digit = i % 3 == 0 ? digits / 9 : i % 3 == 1 ? digits / 3 % 3 : digits % 3;
        const float value = (float)(digit - 1) * (negative ? -1.0f : 1.0f);
        if (x[i] != value) fail_msg("tl2 %x, value %d: %a", byte, i, (double)x[i]);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_f16_and_bf16_of_a_matrix),
      cmocka_unit_test(every_fp8_of_a_matrix),
      cmocka_unit_test(every_mx_code_at_every_scale),
      cmocka_unit_test(every_bfp16_mantissa_at_every_exponent),
      cmocka_unit_test(every_integer_code),
      cmocka_unit_test(every_combination_of_digits_comes_back),
      cmocka_unit_test(every_ternary_byte_decodes_to_its_formula),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
