/* test_format.c - the reference of every format against its definition, by other means than the code under test:
 * values by long double arithmetic, roundings by a search for the nearest code.
 *
 * What the tests call is what TILEWRIGHT_FORMAT_ISA chooses; test_format_vector.c compares the instruction sets. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/random.h"
#include "tilewright/format.h"

/* ---- one number: small floats by their definition ---- */

typedef struct small {
  const char *name;
  int exponent_bits, mantissa_bits, bias;
  unsigned finite; /* codes 0..finite are finite magnitudes */
  float (*decode)(unsigned);
  unsigned (*encode)(float);
  bool has_infinity, has_nan, saturates, fnuz; /* fnuz: the code of -0 is the only NaN */
} small;

static float f16_value(unsigned c) { return tw_f16_to_f32((uint16_t)c); }
static float bf16_value(unsigned c) { return tw_bf16_to_f32((uint16_t)c); }
static float e4m3_value(unsigned c) { return tw_e4m3_to_f32((uint8_t)c); }
static float e5m2_value(unsigned c) { return tw_e5m2_to_f32((uint8_t)c); }
static float e4m3fnuz_value(unsigned c) { return tw_e4m3fnuz_to_f32((uint8_t)c); }
static float e3m2_value(unsigned c) { return tw_e3m2_to_f32((uint8_t)c); }
static float e2m3_value(unsigned c) { return tw_e2m3_to_f32((uint8_t)c); }
static float e2m1_value(unsigned c) { return tw_e2m1_to_f32((uint8_t)c); }
static unsigned f16_code(float x) { return tw_f32_to_f16(x); }
static unsigned bf16_code(float x) { return tw_f32_to_bf16(x); }
static unsigned e4m3_code(float x) { return tw_f32_to_e4m3(x, TW_OVERFLOW_SATURATE); }
static unsigned e5m2_code(float x) { return tw_f32_to_e5m2(x, TW_OVERFLOW_SATURATE); }
static unsigned e4m3_code_special(float x) { return tw_f32_to_e4m3(x, TW_OVERFLOW_SPECIAL); }
static unsigned e5m2_code_special(float x) { return tw_f32_to_e5m2(x, TW_OVERFLOW_SPECIAL); }
static unsigned e4m3fnuz_code(float x) { return tw_f32_to_e4m3fnuz(x, TW_OVERFLOW_SATURATE); }
static unsigned e4m3fnuz_code_special(float x) { return tw_f32_to_e4m3fnuz(x, TW_OVERFLOW_SPECIAL); }
static unsigned e3m2_code(float x) { return tw_f32_to_e3m2(x); }
static unsigned e2m3_code(float x) { return tw_f32_to_e2m3(x); }
static unsigned e2m1_code(float x) { return tw_f32_to_e2m1(x); }

static const small smalls[] = {
    {"f16", 5, 10, 15, 0x7BFF, f16_value, f16_code, true, true, false, false},
    {"bf16", 8, 7, 127, 0x7F7F, bf16_value, bf16_code, true, true, false, false},
    {"e4m3", 4, 3, 7, 0x7E, e4m3_value, e4m3_code, false, true, true, false},
    {"e4m3 special", 4, 3, 7, 0x7E, e4m3_value, e4m3_code_special, false, true, false, false},
    {"e5m2", 5, 2, 15, 0x7B, e5m2_value, e5m2_code, true, true, true, false},
    {"e5m2 special", 5, 2, 15, 0x7B, e5m2_value, e5m2_code_special, true, true, false, false},
    {"e3m2", 3, 2, 3, 0x1F, e3m2_value, e3m2_code, false, false, true, false},
    {"e2m3", 2, 3, 1, 0x1F, e2m3_value, e2m3_code, false, false, true, false},
    {"e2m1", 2, 1, 1, 0x07, e2m1_value, e2m1_code, false, false, true, false},
    {"e4m3fnuz", 4, 3, 8, 0x7F, e4m3fnuz_value, e4m3fnuz_code, false, true, true, true},
    {"e4m3fnuz special", 4, 3, 8, 0x7F, e4m3fnuz_value, e4m3fnuz_code_special, false, true, false, true},
};

enum { N_SMALLS = sizeof smalls / sizeof *smalls };

static unsigned sign_bit(const small *s) { return 1u << (s->exponent_bits + s->mantissa_bits); }

/* (-1)^s 2^(E - bias) (1 + M 2^-m), or 2^(1 - bias) M 2^-m where E is 0; also for codes beyond the finite ones, as if
 * exponents went on. */
static long double value_by_definition(const small *s, unsigned magnitude) {
  unsigned field = magnitude >> s->mantissa_bits, mantissa = magnitude & ((1u << s->mantissa_bits) - 1);
  long double fraction = (long double)mantissa / (long double)(1u << s->mantissa_bits);
  return field ? (1 + fraction) * powl(2, (long double)field - s->bias) : fraction * powl(2, 1 - s->bias);
}

static void every_code_has_the_value_of_its_definition(void **state) {
  for (const small *s = smalls; s < smalls + N_SMALLS; s++) {
    for (unsigned code = 0; code < 2 * sign_bit(s); code++) {
      unsigned magnitude = code & (sign_bit(s) - 1);
      float value = s->decode(code);
      if (s->fnuz && code == sign_bit(s)) {
        assert_int_equal(tw_bits_of(value), 0x7FC00000);
        continue;
      }
      assert_int_equal(signbit(value) != 0, (code & sign_bit(s)) != 0);
      if (magnitude <= s->finite)
        assert_true((long double)fabsf(value) == value_by_definition(s, magnitude));
      else if (s->has_infinity && magnitude == s->finite + 1)
        assert_true(isinf(value));
      else
        assert_true(isnan(value));
    }
  }
}

static void every_code_survives_a_round_trip(void **state) {
  for (const small *s = smalls; s < smalls + N_SMALLS; s++) {
    for (unsigned code = 0; code < 2 * sign_bit(s); code++) {
      unsigned magnitude = code & (sign_bit(s) - 1);
      if (s->fnuz && code == sign_bit(s))
        assert_int_equal(s->encode(s->decode(code)), code);
      else if (magnitude <= s->finite || (s->has_infinity && magnitude == s->finite + 1 && !s->saturates))
        assert_int_equal(s->encode(s->decode(code)), code);
      else if (s->has_nan && isnan(s->decode(code)))
        assert_true(isnan(s->decode(s->encode(s->decode(code)))));
    }
  }
}

/* value_by_definition of all codes up to one beyond the finite ones. */
static const long double *values_of(const small *s) {
  static long double values[N_SMALLS][0x8000];
  long double *v = values[s - smalls];
  if (v[1] == 0) {
    for (unsigned code = 0; code <= s->finite + 1; code++) v[code] = value_by_definition(s, code);
  }
  return v;
}

/* Nearest code by search over the definition's values; a tie goes to the even one; one code beyond the finite ones
 * stands for overflow. */
static unsigned nearest_code(const small *s, long double x) {
  const long double *value = values_of(s);
  unsigned low = 0, high = s->finite + 1;
  while (high - low > 1) { /* value(low) <= x < value(high), or x beyond all */
    unsigned middle = (low + high) / 2;
    if (value[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  long double below = x - value[low], above = value[high] - x;
  return below < above || (below == above && low % 2 == 0) ? low : high;
}

static void check_rounding(const small *s, float x) {
  unsigned magnitude = nearest_code(s, fabsl((long double)x));
  if (magnitude > s->finite) magnitude = s->saturates ? s->finite : s->finite + 1; /* infinity, or e4m3's NaN */
  unsigned expected = magnitude | (signbit(x) ? sign_bit(s) : 0), got = s->encode(x);
  if (s->fnuz && !magnitude) expected = 0;
  if (s->fnuz && magnitude > s->finite) expected = sign_bit(s);
  if (got != expected) fail_msg("%s of %a: %x, not %x", s->name, x, got, expected);
}

static void check_around(const small *s, float x) {
  uint32_t bits = tw_bits_of(x);
  for (int step = -2; step <= 2; step++) {
    uint32_t near = bits + (uint32_t)step;
    if (near > 0x7F7FFFFF) continue;
    check_rounding(s, tw_float_of(near));
    check_rounding(s, -tw_float_of(near));
  }
}

static void roundings_go_to_the_nearest_code_at_every_boundary(void **state) {
  for (const small *s = smalls; s < smalls + N_SMALLS; s++) {
    for (unsigned magnitude = 0; magnitude <= s->finite; magnitude++) {
      long double here = value_by_definition(s, magnitude), next = value_by_definition(s, magnitude + 1);
      check_around(s, (float)here);
      check_around(s, (float)((here + next) / 2)); /* a tie: an f32 holds it exactly, for bf16 too */
      check_around(s, (float)(here + (next - here) / 3));
    }
    check_rounding(s, tw_float_of(0x7F7FFFFF));
    check_rounding(s, tw_float_of(1));
  }
}

static void roundings_of_random_bits_go_to_the_nearest_code(void **state) {
  tw_random random;
  tw_random_seed(&random, 7);
  for (const small *s = smalls; s < smalls + N_SMALLS; s++) {
    for (int i = 0; i < 50000; i++) {
      uint32_t bits = (uint32_t)tw_random_next(&random);
      if ((bits & 0x7FFFFFFF) < 0x7F800000) check_rounding(s, tw_float_of(bits));
    }
  }
}

static void nan_and_infinity_become_what_the_header_says(void **state) {
  float nan = tw_float_of(0x7FC00000), negative_nan = tw_float_of(0xFF800001), infinity = tw_float_of(0x7F800000);
  assert_int_equal(tw_f32_to_f16(nan), 0x7E00);
  assert_int_equal(tw_f32_to_f16(negative_nan), 0xFE00);
  assert_int_equal(tw_f32_to_f16(tw_float_of(0x7FABE000)), 0x7F5F); /* the upper payload stays, the quiet bit is set */
  assert_int_equal(tw_f32_to_bf16(negative_nan), 0xFFC0);
  assert_int_equal(tw_f32_to_bf16(tw_float_of(0x7FABE000)), 0x7FEB);
  assert_int_equal(tw_bits_of(tw_f16_to_f32(0x7D01)), 0x7FE02000);
  assert_int_equal(tw_f32_to_e4m3(nan, TW_OVERFLOW_SATURATE), 0x7F);
  assert_int_equal(tw_f32_to_e4m3(negative_nan, TW_OVERFLOW_SPECIAL), 0xFF);
  assert_int_equal(tw_f32_to_e4m3(infinity, TW_OVERFLOW_SATURATE), 0x7E);
  assert_int_equal(tw_f32_to_e4m3(-infinity, TW_OVERFLOW_SPECIAL), 0xFF);
  assert_int_equal(tw_f32_to_e5m2(nan, TW_OVERFLOW_SATURATE), 0x7E);
  assert_int_equal(tw_f32_to_e5m2(-infinity, TW_OVERFLOW_SATURATE), 0xFB);
  assert_int_equal(tw_f32_to_e5m2(-infinity, TW_OVERFLOW_SPECIAL), 0xFC);
  for (int overflow = TW_OVERFLOW_SATURATE; overflow <= TW_OVERFLOW_SPECIAL; overflow++) {
    assert_int_equal(tw_f32_to_e4m3fnuz(nan, (tw_overflow)overflow), 0x80);
    assert_int_equal(tw_f32_to_e4m3fnuz(negative_nan, (tw_overflow)overflow), 0x80);
    assert_int_equal(tw_f32_to_e4m3fnuz(-0.0f, (tw_overflow)overflow), 0);
  }
  assert_int_equal(tw_f32_to_e4m3fnuz(-infinity, TW_OVERFLOW_SATURATE), 0xFF);
  assert_int_equal(tw_f32_to_e4m3fnuz(infinity, TW_OVERFLOW_SPECIAL), 0x80);
  assert_int_equal(tw_f32_to_e2m1(negative_nan), 0xF);
  assert_int_equal(tw_f32_to_e3m2(infinity), 0x1F);
  assert_int_equal(tw_f32_to_e2m3(-infinity), 0x3F);
  assert_true(isnan(tw_e8m0_to_f32(255)));
  for (int byte = 0; byte < 255; byte++)
    assert_true((long double)tw_e8m0_to_f32((uint8_t)byte) == powl(2, (long double)byte - 127));
}

/* ---- blocks ---- */

enum { MOST_BYTES = 1 << 16 };
static uint8_t codes[MOST_BYTES], scales[MOST_BYTES];

static tw_packing packing_of(tw_format_id id) { return (tw_packing){.format = tw_format_at(id)}; }

static void encode(const tw_packing *p, size_t rows, size_t columns, const float *x) {
  tw_packed_size size;
  assert_int_equal(tw_format_sizes(p, rows, columns, &size, NULL), TW_OK);
  assert_true(size.codes <= MOST_BYTES && size.scales <= MOST_BYTES);
  assert_int_equal(tw_format_encode(p, rows, columns, x, columns, codes, scales, NULL), TW_OK);
}

static void decode(const tw_packing *p, size_t rows, size_t columns, float *x) {
  assert_int_equal(tw_format_decode(p, rows, columns, codes, scales, x, columns, NULL), TW_OK);
}

/* Normal-ish numbers of very different sizes, with zeros. */
static void fill(tw_random *random, float *x, size_t n) {
  int spread = (int)tw_random_below(random, 3) * 40, middle = (int)tw_random_below(random, 120) - 60;
  for (size_t i = 0; i < n; i++) {
    double mantissa = (double)tw_random_next(random) / 0x1p64 * 2 - 1;
    int exponent = middle + (spread ? (int)tw_random_below(random, (uint64_t)spread) - spread / 2 : 0);
    x[i] = tw_random_below(random, 20) ? (float)ldexp(mantissa, exponent) : 0;
  }
}

static const small *element_of(tw_format_id id) {
  switch (id) {
  case TW_FORMAT_MXFP8_E4M3: return &smalls[2];
  case TW_FORMAT_MXFP8_E5M2: return &smalls[4];
  case TW_FORMAT_MXFP6_E3M2: return &smalls[6];
  case TW_FORMAT_MXFP6_E2M3: return &smalls[7];
  case TW_FORMAT_MXFP4: return &smalls[8];
  default: return NULL; /* mxint8 */
  }
}

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/* The scale's exponent by the words of tw_scale_rule, in long double. */
static int scale_exponent(tw_format_id id, tw_scale_rule rule, long double amax) {
  const small *s = element_of(id);
  long double largest = s ? value_by_definition(s, s->finite) : 127.0L / 64;
  int emax = ilogbl(largest), mantissa_bits = s ? s->mantissa_bits : 6, exponent = -200;
  if (amax == 0) return -127;
  switch (rule) {
  case TW_RULE_EVEN: { /* to mantissa_bits bits, half upwards */
    long double unit = powl(2, (long double)ilogbl(amax) - mantissa_bits);
    return clamp(ilogbl(floorl(amax / unit + 0.5L) * unit) - emax, -127, 127);
  }
  case TW_RULE_UP:
    while (amax > largest * powl(2, exponent)) exponent++;
    return clamp(exponent, -127, 127);
  case TW_RULE_CEIL:
    while (amax > powl(2, exponent)) exponent++;
    return clamp(exponent - emax, -127, 127);
  default: return clamp(ilogbl(amax) - emax, -127, 127);
  }
}

static unsigned mx_code(tw_format_id id, unsigned i) { /* of element i of a block, bit by bit */
  int bits = tw_format_at(id)->bits;
  unsigned code = 0;
  for (int b = 0; b < bits; b++) {
    size_t at = i * (size_t)bits + (size_t)b;
    code |= (unsigned)(codes[at / 8] >> at % 8 & 1) << b;
  }
  return code;
}

static unsigned expected_element(tw_format_id id, long double scaled) {
  const small *s = element_of(id);
  if (!s) return (unsigned)clamp((int)rintl(scaled * 64), -127, 127) & 0xFF;
  unsigned magnitude = nearest_code(s, fabsl(scaled));
  return (magnitude > s->finite ? s->finite : magnitude) | (signbit(scaled) ? sign_bit(s) : 0);
}

static void check_mx_block(tw_format_id id, tw_scale_rule rule, const float x[32]) {
  tw_packing p = packing_of(id);
  long double amax = 0;
  float back[32];
  p.rule = rule;
  encode(&p, 1, 32, x);
  decode(&p, 1, 32, back);
  for (int i = 0; i < 32; i++) amax = fmaxl(amax, fabsl((long double)x[i]));
  int exponent = scale_exponent(id, rule, amax);
  assert_int_equal(scales[0], exponent + 127);
  for (unsigned i = 0; i < 32; i++) {
    unsigned code = mx_code(id, i);
    assert_int_equal(code, expected_element(id, (long double)x[i] / powl(2, exponent)));
    long double element = element_of(id) ? (long double)element_of(id)->decode(code) : (int8_t)code / 64.0L;
    assert_true(back[i] == (float)(element * powl(2, exponent))); /* may be infinite */
  }
}

static void mx_blocks_follow_the_four_rules(void **state) {
  tw_random random;
  tw_random_seed(&random, 11);
  float x[32];
  for (int id = TW_FORMAT_MXFP8_E4M3; id <= TW_FORMAT_MXINT8; id++) {
    for (int rule = TW_RULE_FLOOR; rule <= TW_RULE_CEIL; rule++) {
      for (int round = 0; round < 300; round++) {
        fill(&random, x, 32);
        check_mx_block((tw_format_id)id, (tw_scale_rule)rule, x);
      }
      /* amax at each boundary of each rule: every upper 8 bits of the mantissa, and one bit more and less */
      for (uint32_t top = 0; top < 256; top++) {
        for (int step = -1; step <= 1; step++) {
          memset(x, 0, sizeof x);
          x[top % 32] = tw_float_of(0x42000000 + (top << 15) + (uint32_t)step);
          check_mx_block((tw_format_id)id, (tw_scale_rule)rule, x);
        }
      }
    }
  }
}

static void mx_special_blocks(void **state) {
  float x[32] = {0}, back[32];
  for (int id = TW_FORMAT_MXFP8_E4M3; id <= TW_FORMAT_MXINT8; id++) {
    tw_packing p = packing_of((tw_format_id)id);
    memset(x, 0, sizeof x);
    x[3] = -0.0f;
    encode(&p, 1, 32, x);
    decode(&p, 1, 32, back);
    assert_int_equal(scales[0], 0);
    for (int i = 0; i < 32; i++) assert_true(back[i] == 0);
    assert_int_equal(signbit(back[3]) != 0, id != TW_FORMAT_MXINT8);
    for (int kind = 0; kind < 2; kind++) {
      x[5] = kind ? tw_float_of(0xFF800000) : tw_float_of(0x7F800001);
      x[6] = 1;
      encode(&p, 1, 32, x);
      decode(&p, 1, 32, back);
      assert_int_equal(scales[0], 255);
      for (unsigned i = 0; i < 32; i++) {
        assert_true(isnan(back[i]));
        assert_int_equal(mx_code((tw_format_id)id, i), 0);
      }
    }
    memset(x, 0, sizeof x); /* subnormals, and the largest f32 */
    x[0] = tw_float_of(0x00400000);
    x[1] = tw_float_of(0x80000001);
    check_mx_block((tw_format_id)id, TW_RULE_FLOOR, x);
    x[7] = tw_float_of(0x7F7FFFFF);
    for (int rule = TW_RULE_FLOOR; rule <= TW_RULE_CEIL; rule++)
      check_mx_block((tw_format_id)id, (tw_scale_rule)rule, x);
  }
}

static void bfp16_blocks_follow_their_definition(void **state) {
  tw_random random;
  tw_random_seed(&random, 13);
  float x[8], back[8];
  for (int round = 0; round < 20000; round++) {
    tw_packing p = packing_of(TW_FORMAT_BFP16);
    p.rounding = round % 2 ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
    fill(&random, x, 8);
    if (round % 7 == 0) x[round % 8] = tw_float_of(0x43800000 - 1 - (uint32_t)round % 5); /* rounds up to 128 */
    if (round % 11 == 0)
      for (int i = 0; i < 8; i++) x[i] = tw_float_of((uint32_t)tw_random_next(&random) & 0x80FFFFFF); /* about 2^-126 */
    encode(&p, 1, 8, x);
    decode(&p, 1, 8, back);
    uint32_t exponent = 0;
    for (int i = 0; i < 8; i++)
      exponent = (tw_bits_of(x[i]) >> 23 & 255) > exponent ? tw_bits_of(x[i]) >> 23 & 255 : exponent;
    assert_int_equal(codes[0], exponent);
    for (int i = 0; i < 8; i++) {
      long double unit = powl(2, (long double)exponent - 133), quotient = x[i] / unit;
      int m = (int)(p.rounding == TW_ROUND_FLOOR ? floorl(quotient) : rintl(quotient));
      assert_int_equal((int8_t)codes[1 + i], m > 127 ? 127 : m);
      assert_true((long double)back[i] == (int8_t)codes[1 + i] * unit);
    }
  }
  tw_packing p = packing_of(TW_FORMAT_BFP16);
  float bad[9] = {1, 2, tw_float_of(0x7FC00000), 3, 4, 5, 6, 7, 9};
  encode(&p, 1, 9, bad);
  assert_int_equal(codes[0], 255);
  decode(&p, 1, 9, bad);
  for (int i = 0; i < 8; i++) assert_true(isnan(bad[i]));
  assert_true(bad[8] == 9);
}

static void integers_follow_their_definition(void **state) {
  tw_random random;
  tw_random_seed(&random, 17);
  enum { ROWS = 3, COLUMNS = 77 };
  static const int64_t groups[] = {TW_GROUP_TENSOR, TW_GROUP_ROW, 2, 32, 64, 128};
  float x[ROWS * COLUMNS], back[ROWS * COLUMNS];
  for (int round = 0; round < 600; round++) {
    tw_packing p = packing_of(round % 2 ? TW_FORMAT_I8 : TW_FORMAT_I4);
    p.group = groups[round / 2 % 6];
    fill(&random, x, ROWS * COLUMNS);
    encode(&p, ROWS, COLUMNS, x);
    decode(&p, ROWS, COLUMNS, back);
    size_t length = p.group > 0 ? (size_t)p.group : COLUMNS, in_row = (COLUMNS + length - 1) / length;
    float largest = (float)p.format->max;
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
      size_t row = i / COLUMNS, column = i % COLUMNS, at = p.group < 0 ? 0 : row * in_row + column / length;
      size_t first = p.group < 0 ? 0 : row * COLUMNS + column / length * length;
      size_t last = p.group < 0                            ? ROWS * COLUMNS
                    : first + length < (row + 1) * COLUMNS ? first + length
                                                           : (row + 1) * COLUMNS;
      float amax = 0, scale;
      for (size_t j = first; j < last; j++) amax = fmaxf(amax, fabsf(x[j]));
      memcpy(&scale, scales + 4 * at, 4);
      assert_true(scale == amax / largest);
      int code = round % 2 ? (int8_t)codes[i] : ((codes[row * 39 + column / 2] >> column % 2 * 4 & 15) ^ 8) - 8;
      assert_true(fabs(code - (scale > 0 ? (double)x[i] / scale : 0)) <= 0.5 + 1e-4);
      assert_true(abs(code) <= largest);
      assert_true(back[i] == (float)code * scale);
      assert_true(tw_format_scale(&p, ROWS, COLUMNS, codes, scales, row, column) == scale);
    }
  }
}

static void a_group_with_a_fault_decodes_to_nan_and_others_do_not(void **state) {
  float x[64], back[64];
  for (int i = 0; i < 64; i++) x[i] = (float)i;
  x[40] = tw_float_of(0x7F800000);
  for (int id = TW_FORMAT_I8; id <= TW_FORMAT_I4; id++) {
    tw_packing p = packing_of((tw_format_id)id);
    p.group = 32;
    encode(&p, 1, 64, x);
    decode(&p, 1, 64, back);
    for (int i = 0; i < 64; i++) assert_int_equal(isnan(back[i]) != 0, i >= 32);
  }
}

/* ---- ternary: where each value lies ---- */

static unsigned digit_of_tq1(unsigned byte, int n) {
  for (int i = 0; i < n; i++) byte = byte * 3 & 255;
  return byte * 3 >> 8;
}

/* Trit i as the layouts of ternary.c draw it, read from `codes` by other formulas. */
static int trit_at(tw_format_id id, size_t i) {
  size_t b, at;
  switch (id) {
  case TW_FORMAT_I2_S:
    b = i / 128, at = i % 128;
    return (codes[b * 32 + at % 32] >> (at < 32 ? 6 : at < 64 ? 4 : at < 96 ? 2 : 0) & 3) - 1;
  case TW_FORMAT_TQ2_0:
    b = i / 256, at = i % 256;
    return (codes[b * 66 + (at >= 128 ? 32 : 0) + at % 32] >> 2 * (at / 32 % 4) & 3) - 1;
  case TW_FORMAT_TQ1_0:
    b = i / 256, at = i % 256;
    if (at < 160) return (int)digit_of_tq1(codes[b * 54 + at % 32], (int)at / 32) - 1;
    if (at < 240) return (int)digit_of_tq1(codes[b * 54 + 32 + at % 16], (int)(at - 160) / 16) - 1;
    return (int)digit_of_tq1(codes[b * 54 + 48 + at % 4], (int)(at - 240) / 4) - 1;
  case TW_FORMAT_TL1: {
    unsigned index = i / 2 % 2 ? codes[i / 4] & 15 : codes[i / 4] >> 4;
    return (int)(i % 2 ? index % 3 : index / 3) - 1;
  }
  default: { /* tl2: find the three trits whose sum is the index */
    size_t triple = i % 96 / 3;
    const uint8_t *block = codes + i / 96 * 20;
    int index = triple < 16 ? block[triple] >> 4 : block[triple - 16] & 15;
    int sum = block[16 + triple / 8] >> triple % 8 & 1 ? -index : index;
    for (int t = 0; t < 27; t++) {
      int t0 = t / 9 - 1, t1 = t / 3 % 3 - 1, t2 = t % 3 - 1;
      if (9 * t0 + 3 * t1 + t2 == sum) return i % 3 == 0 ? t0 : i % 3 == 1 ? t1 : t2;
    }
    return 99;
  }
  }
}

static void ternary_values_lie_where_the_layouts_say(void **state) {
  tw_random random;
  tw_random_seed(&random, 19);
  enum { N = 1536 }; /* a multiple of every block */
  static float x[N], back[N];
  for (int id = TW_FORMAT_I2_S; id <= TW_FORMAT_TL2; id++) {
    for (int round = 0; round < 50; round++) {
      tw_packing p = packing_of((tw_format_id)id);
      for (size_t i = 0; i < N; i++) x[i] = (float)((int)tw_random_below(&random, 3) - 1) * 0.75f;
      for (size_t i = 0; i < N; i += 256) x[i] = 0.75f; /* so that each block's scale is the same */
      encode(&p, 1, N, x);
      decode(&p, 1, N, back);
      for (size_t i = 0; i < N; i++) {
        assert_int_equal(trit_at((tw_format_id)id, i), (x[i] > 0) - (x[i] < 0));
        assert_true(back[i] == x[i]);
      }
    }
  }
}

static void ternary_rules_round_halves_as_they_say(void **state) {
  float x[8] = {1, -0.5f, 0.5f, 0.49f, -0.25f, -1, 0.75f, 0}, back[8];
  tw_packing p = packing_of(TW_FORMAT_I2_S);
  encode(&p, 1, 8, x);
  decode(&p, 1, 8, back);
  static const float by_max[8] = {1, -1, 1, 0, 0, -1, 1, 0};
  for (int i = 0; i < 8; i++) assert_true(back[i] == by_max[i]);
  float y[4] = {1, -0.5f, 0.5f, 2}, mean[4]; /* mean 1 */
  p.rule = TW_RULE_ABSMEAN;
  encode(&p, 1, 4, y);
  decode(&p, 1, 4, mean);
  static const float by_mean[4] = {1, 0, 0, 1};
  for (int i = 0; i < 4; i++) assert_true(mean[i] == by_mean[i]);
}

/* ---- the interface ---- */

static void tails_decode_like_whole_blocks(void **state) {
  tw_random random;
  tw_random_seed(&random, 23);
  static float x[600], back[600], padded[768], whole[768];
  for (int id = 0; id < TW_FORMAT_COUNT; id++) {
    tw_packing p = packing_of((tw_format_id)id);
    for (size_t n = 1; n <= 600; n += n < 70 ? 1 : 53) {
      fill(&random, x, n);
      memset(padded, 0, sizeof padded);
      memcpy(padded, x, n * sizeof *x);
      encode(&p, 1, n, x);
      decode(&p, 1, n, back);
      size_t block = p.format->block, filled = (n + block - 1) / block * block;
      encode(&p, 1, filled, padded);
      decode(&p, 1, filled, whole);
      assert_memory_equal(back, whole, n * sizeof *x);
      float scale = tw_format_scale(&p, 1, filled, codes, scales, 0, filled - 1);
      if (isinf(scale)) continue; /* of tq1_0 and tq2_0: beyond f16 */
      for (size_t i = n; i < filled; i++) assert_true(whole[i] == 0);
    }
  }
}

static void parts_of_a_tensor_with_a_given_magnitude_equal_the_whole(void **state) {
  tw_random random;
  tw_random_seed(&random, 29);
  enum { ROWS = 8, COLUMNS = 384, N = ROWS * COLUMNS };
  static float x[N];
  static uint8_t part[N];
  static const tw_format_id ids[] = {TW_FORMAT_I8, TW_FORMAT_I4, TW_FORMAT_I2_S, TW_FORMAT_TL1, TW_FORMAT_TL2};
  for (size_t f = 0; f < sizeof ids / sizeof *ids; f++) {
    tw_packing p = packing_of(ids[f]);
    tw_packed_size size;
    tw_magnitude magnitude = {0};
    uint8_t scale[4];
    p.group = TW_GROUP_TENSOR;
    if (ids[f] >= TW_FORMAT_I2_S) p.rule = TW_RULE_ABSMEAN;
    fill(&random, x, N);
    encode(&p, ROWS, COLUMNS, x);
    assert_int_equal(tw_format_sizes(&p, ROWS, COLUMNS, &size, NULL), TW_OK);
    tw_magnitude_add(&magnitude, x, 5);
    tw_magnitude_add(&magnitude, x + 5, N - 5);
    p.magnitude = tw_magnitude_of(&magnitude, &p);
    for (size_t r = 0; r < ROWS; r++) {
      assert_int_equal(tw_format_encode(&p, 1, COLUMNS, x + r * COLUMNS, COLUMNS, part, scale, NULL), TW_OK);
      assert_memory_equal(part, codes + r * size.row_codes, size.row_codes);
      assert_memory_equal(scale, scales, 4);
    }
  }
}

static void wrong_arguments_are_refused_in_one_line(void **state) {
  float x[64] = {0};
  tw_error error;
  tw_packed_size size;
  tw_packing p = packing_of(TW_FORMAT_MXFP4);
  assert_int_equal(tw_format_encode(&p, 1, 64, NULL, 64, codes, scales, &error), TW_USAGE);
  assert_string_equal(error.text, "x is NULL");
  assert_int_equal(tw_format_encode(&p, 1, 64, x, 64, NULL, scales, &error), TW_USAGE);
  assert_int_equal(tw_format_decode(&p, 1, 64, codes, NULL, x, 64, &error), TW_USAGE);
  assert_string_equal(error.text, "scales is NULL, but mxfp4 has scales");
  assert_int_equal(tw_format_encode(&p, 2, 32, x, 31, codes, scales, &error), TW_USAGE);
  assert_int_equal(tw_format_sizes(&p, SIZE_MAX, SIZE_MAX, &size, &error), TW_USAGE);
  p.rule = TW_RULE_ABSMEAN;
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  assert_string_equal(error.text, "mxfp4 has no scale rule 'absmean'; expected floor, even, up or ceil");
  p = packing_of(TW_FORMAT_MXFP4);
  p.group = 32;
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  p = packing_of(TW_FORMAT_I4);
  p.group = 33;
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  p = packing_of(TW_FORMAT_I4);
  p.rounding = TW_ROUND_FLOOR;
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  p = packing_of(TW_FORMAT_TQ1_0);
  p.rule = TW_RULE_ABSMEAN;
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  p = packing_of(TW_FORMAT_F16);
  p.overflow = TW_OVERFLOW_SPECIAL;
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  p = (tw_packing){0};
  assert_int_equal(tw_packing_check(&p, &error), TW_USAGE);
  p = packing_of(TW_FORMAT_I8);
  assert_int_equal(tw_format_encode(&p, 0, 64, NULL, 64, NULL, NULL, &error), TW_OK); /* nothing to do */
}

static void the_table_is_consistent(void **state) {
  for (int id = 0; id < TW_FORMAT_COUNT; id++) {
    const tw_format *f = tw_format_at((tw_format_id)id);
    assert_int_equal(f->id, id);
    assert_ptr_equal(tw_format_find(f->name), f);
    assert_true(f->block >= 1 && f->block <= 256 && f->block_bytes >= 1);
    if (f->bits && f->scale != TW_SCALE_INSIDE) assert_int_equal(f->block * (size_t)f->bits, 8 * f->block_bytes);
  }
  assert_null(tw_format_find("mxfp5"));
  assert_ptr_equal(tw_format_find("e4m3fn"), tw_format_find("e4m3"));
  assert_ptr_equal(tw_format_find("mxfp6-e2m3"), tw_format_find("mxfp6"));
  assert_ptr_equal(tw_format_find("ternary"), tw_format_find("i2_s"));
  assert_null(tw_format_at(TW_FORMAT_COUNT));
  assert_int_equal(tw_format_of_type(TW_MXFP6)->id, TW_FORMAT_MXFP6_E2M3);
  assert_null(tw_format_of_type(TW_U8));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_table_is_consistent),
      cmocka_unit_test(every_code_has_the_value_of_its_definition),
      cmocka_unit_test(every_code_survives_a_round_trip),
      cmocka_unit_test(roundings_go_to_the_nearest_code_at_every_boundary),
      cmocka_unit_test(roundings_of_random_bits_go_to_the_nearest_code),
      cmocka_unit_test(nan_and_infinity_become_what_the_header_says),
      cmocka_unit_test(mx_blocks_follow_the_four_rules),
      cmocka_unit_test(mx_special_blocks),
      cmocka_unit_test(bfp16_blocks_follow_their_definition),
      cmocka_unit_test(integers_follow_their_definition),
      cmocka_unit_test(a_group_with_a_fault_decodes_to_nan_and_others_do_not),
      cmocka_unit_test(ternary_values_lie_where_the_layouts_say),
      cmocka_unit_test(ternary_rules_round_halves_as_they_say),
      cmocka_unit_test(tails_decode_like_whole_blocks),
      cmocka_unit_test(parts_of_a_tensor_with_a_given_magnitude_equal_the_whole),
      cmocka_unit_test(wrong_arguments_are_refused_in_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
