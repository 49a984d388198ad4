/* test_rv64_softfloat.c - binary32 and binary64 in integers against the host's arithmetic: result and flags, in
 * the four rounding modes that hosts have, on random and on special operands; and what hosts do not have. */
#include "test.h"

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "target/gemmini/core/softfloat.h"

static const int host_modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static double to_double(uint64_t x) {
  double d;
  memcpy(&d, &x, 8);
  return d;
}
static float to_float(uint64_t x) {
  float f;
  uint32_t w = (uint32_t)x;
  memcpy(&f, &w, 4);
  return f;
}
static uint64_t from_double(double d) {
  uint64_t x;
  memcpy(&x, &d, 8);
  return isnan(d) ? sf_nan(SF_D) : x;
}
static uint64_t from_float(float f) {
  uint32_t x;
  memcpy(&x, &f, 4);
  return isnan(f) ? sf_nan(SF_S) : x;
}

static unsigned host_flags(void) {
  int e = fetestexcept(FE_ALL_EXCEPT);
  return (e & FE_INEXACT ? SF_NX : 0u) | (e & FE_UNDERFLOW ? SF_UF : 0u) | (e & FE_OVERFLOW ? SF_OF : 0u) |
         (e & FE_DIVBYZERO ? SF_DZ : 0u) | (e & FE_INVALID ? SF_NV : 0u);
}

/* Random fractions with random exponents, often near the ends of the range, near each other or with few bits. */
static uint64_t random_operand(tw_random *r, sf_format format) {
  int fraction_bits = format == SF_D ? 52 : 23, exponents = format == SF_D ? 2047 : 255;
  uint64_t fraction = tw_random_next(r) & ((1ull << fraction_bits) - 1);
  uint64_t exponent = tw_random_below(r, (uint64_t)exponents + 1);
  switch (tw_random_below(r, 8)) {
  case 0: exponent = tw_random_below(r, 3); break;
  case 1: exponent = (uint64_t)exponents - tw_random_below(r, 3); break;
  case 2:
  case 3:
  case 4: exponent = (uint64_t)exponents / 2 - 2 + tw_random_below(r, 5); break;
  case 5: exponent = (uint64_t)exponents / 2 + tw_random_below(r, 64); break; /* integers */
  default: break;
  }
  switch (tw_random_below(r, 4)) {
  case 0: fraction &= ~((1ull << tw_random_below(r, (uint64_t)fraction_bits + 1)) - 1); break;
  case 1: fraction = tw_random_below(r, 4); break;
  case 2:
    fraction |= ~((1ull << tw_random_below(r, 8)) - 1);
    fraction &= (1ull << fraction_bits) - 1;
    break;
  default: break;
  }
  return (tw_random_below(r, 2) ? sf_sign_bit(format) : 0) | exponent << fraction_bits | fraction;
}

enum operation { ADD, MUL, DIV, SQRT, FMA, NARROW_OR_WIDEN, FROM_SIGNED, TO_SIGNED, N_OPERATIONS };
static const char *const names[] = {"add", "mul", "div", "sqrt", "fma", "convert", "from int64", "to int64"};

static uint64_t ours(enum operation op, sf_format format, const uint64_t *t, unsigned mode, unsigned *flags) {
  switch (op) {
  case ADD: return sf_add(format, t[0], t[1], mode, flags);
  case MUL: return sf_mul(format, t[0], t[1], mode, flags);
  case DIV: return sf_div(format, t[0], t[1], mode, flags);
  case SQRT: return sf_sqrt(format, t[0], mode, flags);
  case FMA: return sf_fma(format, t[0], t[1], t[2], mode, flags);
  case NARROW_OR_WIDEN: return sf_convert(format, format == SF_D ? SF_S : SF_D, t[0], mode, flags);
  case FROM_SIGNED: return sf_from_int(format, t[0], true, mode, flags);
  default: return sf_to_int(format, t[0], 64, true, mode, flags);
  }
}

static uint64_t hosts_double(enum operation op, const uint64_t *t, unsigned *flags) {
  volatile double a = to_double(t[0]), b = to_double(t[1]), c = to_double(t[2]), r = 0;
  volatile float narrow = 0;
  volatile int64_t integer = (int64_t)t[0];
  feclearexcept(FE_ALL_EXCEPT);
  switch (op) {
  case ADD: r = a + b; break;
  case MUL: r = a * b; break;
  case DIV: r = a / b; break;
  case SQRT: r = sqrt(a); break;
  case FMA: r = fma(a, b, c); break;
  case NARROW_OR_WIDEN: narrow = (float)a; break;
  case FROM_SIGNED: r = (double)integer; break;
  default: integer = llrint(a); break;
  }
  *flags = host_flags();
  return op == NARROW_OR_WIDEN ? from_float(narrow) : op == TO_SIGNED ? (uint64_t)integer : from_double(r);
}

static uint64_t hosts_float(enum operation op, const uint64_t *t, unsigned *flags) {
  volatile float a = to_float(t[0]), b = to_float(t[1]), c = to_float(t[2]), r = 0;
  volatile double wide = 0;
  volatile int64_t integer = (int64_t)t[0];
  feclearexcept(FE_ALL_EXCEPT);
  switch (op) {
  case ADD: r = a + b; break;
  case MUL: r = a * b; break;
  case DIV: r = a / b; break;
  case SQRT: r = sqrtf(a); break;
  case FMA: r = fmaf(a, b, c); break;
  case NARROW_OR_WIDEN: wide = (double)a; break;
  case FROM_SIGNED: r = (float)integer; break;
  default: integer = llrintf(a); break;
  }
  *flags = host_flags();
  return op == NARROW_OR_WIDEN ? from_double(wide) : op == TO_SIGNED ? (uint64_t)integer : from_float(r);
}

static bool is_infinity_times_zero(sf_format format, const uint64_t *t) {
  enum { ZEROS = 1u << 3 | 1u << 4, INFINITIES = 1u << 0 | 1u << 7 };
  unsigned a = sf_class(format, t[0]), b = sf_class(format, t[1]);
  return ((a & ZEROS) && (b & INFINITIES)) || ((a & INFINITIES) && (b & ZEROS));
}

static void results_and_flags_are_the_hosts(void **state) {
  tw_random random;
  tw_random_seed(&random, 2);
  for (int i = 0; i < 400000; i++) {
    sf_format format = i & 1 ? SF_D : SF_S;
    enum operation op = (enum operation)(i / 2 % N_OPERATIONS);
    unsigned mode = (unsigned)tw_random_below(&random, 4), got_flags = 0, want_flags;
    uint64_t t[3];
    for (int j = 0; j < 3; j++) t[j] = random_operand(&random, format);
    if (op == FROM_SIGNED) t[0] = tw_random_next(&random) >> tw_random_below(&random, 64);
    if (op == FMA && tw_random_below(&random, 3) == 0) { /* c close to -a*b: cancellation */
      unsigned ignored = 0;
      t[2] = sf_mul(format, t[0], t[1], 0, &ignored) ^ sf_sign_bit(format) ^ tw_random_below(&random, 3);
    }
    uint64_t got = ours(op, format, t, mode, &got_flags);
    fesetround(host_modes[mode]);
    uint64_t want = format == SF_D ? hosts_double(op, t, &want_flags) : hosts_float(op, t, &want_flags);
    fesetround(FE_TONEAREST);
    /* RISC-V raises invalid for infinity times zero plus a NaN; IEEE 754 leaves it open, x86 does not */
    if (op == FMA && is_infinity_times_zero(format, t)) want_flags |= SF_NV;
    bool out_of_range = op == TO_SIGNED && (want_flags & SF_NV); /* the host's integer is then its own */
    if (out_of_range ? !(got_flags & SF_NV) : got != want || got_flags != want_flags)
      fail_msg("%s, format %d, mode %u, of 0x%llx 0x%llx 0x%llx: 0x%llx flags %u, not 0x%llx flags %u", names[op],
               (int)format, mode, (unsigned long long)t[0], (unsigned long long)t[1], (unsigned long long)t[2],
               (unsigned long long)got, got_flags, (unsigned long long)want, want_flags);
  }
}

#define D(x) from_double(x)
#define F(x) from_float(x)
static const uint64_t signalling = 0x7ff0000000000001;

static void ties_round_away_from_zero_in_mode_rmm(void **state) {
  unsigned flags = 0;
  assert_true(sf_add(SF_D, D(0x1p53), D(1), SF_RMM, &flags) == D(0x1p53 + 2));
  assert_true(sf_add(SF_D, D(-0x1p53), D(-1), SF_RMM, &flags) == D(-0x1p53 - 2));
  assert_true(sf_add(SF_D, D(0x1p53), D(1), SF_RNE, &flags) == D(0x1p53));
  assert_true(sf_add(SF_D, D(0x1p53), D(0.99), SF_RMM, &flags) == D(0x1p53));
  assert_int_equal(sf_to_int(SF_D, D(2.5), 32, true, SF_RMM, &flags), 3);
  assert_int_equal((int64_t)sf_to_int(SF_D, D(-2.5), 32, true, SF_RMM, &flags), -3);
  assert_int_equal(sf_to_int(SF_D, D(2.5), 32, true, SF_RNE, &flags), 2);
  assert_int_equal(sf_to_int(SF_D, D(0.5), 32, true, SF_RNE, &flags), 0);
  assert_int_equal(sf_to_int(SF_D, D(0.5), 32, true, SF_RMM, &flags), 1);
}

static void conversions_to_integers_saturate(void **state) {
  static const struct {
    double value;
    int bits;
    bool is_signed;
    uint64_t result;
    unsigned flags;
  } cases[] = {
      {1e10, 32, true, 0x7fffffff, SF_NV},
      {-1e10, 32, true, 0xffffffff80000000, SF_NV},
      {2147483647.0, 32, true, 0x7fffffff, 0},
      {2147483647.5, 32, true, 0x7fffffff, SF_NV}, /* rounds to 2^31 */
      {2147483647.25, 32, true, 0x7fffffff, SF_NX},
      {-2147483648.0, 32, true, 0xffffffff80000000, 0},
      {-2147483648.5, 32, true, 0xffffffff80000000, SF_NX},
      {4294967295.0, 32, false, 0xffffffffffffffff, 0},
      {4294967296.0, 32, false, 0xffffffffffffffff, SF_NV},
      {-1, 32, false, 0, SF_NV},
      {-0.25, 32, false, 0, SF_NX},
      {-0.75, 32, false, 0, SF_NV},
      {-0.0, 64, false, 0, 0},
      {0x1p63, 64, true, 0x7fffffffffffffff, SF_NV},
      {-0x1p63, 64, true, 0x8000000000000000, 0},
      {0x1p63, 64, false, 0x8000000000000000, 0},
      {0x1p64, 64, false, UINT64_MAX, SF_NV},
      {INFINITY, 64, true, 0x7fffffffffffffff, SF_NV},
      {-INFINITY, 64, true, 0x8000000000000000, SF_NV},
      {-INFINITY, 64, false, 0, SF_NV},
      {(double)NAN, 64, true, 0x7fffffffffffffff, SF_NV},
      {(double)NAN, 32, false, 0xffffffffffffffff, SF_NV},
      {0x1p51 + 0.5, 64, true, 0x8000000000000, SF_NX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned flags = 0;
    uint64_t got = sf_to_int(SF_D, D(cases[i].value), cases[i].bits, cases[i].is_signed, SF_RNE, &flags);
    if (got != cases[i].result || flags != cases[i].flags)
      fail_msg("%a to %d bits: 0x%llx flags %u", cases[i].value, cases[i].bits, (unsigned long long)got, flags);
  }
}

static void minimum_and_maximum_prefer_numbers(void **state) {
  unsigned flags = 0;
  assert_true(sf_min(SF_D, D(-0.0), D(0.0), &flags) == D(-0.0));
  assert_true(sf_min(SF_D, D(0.0), D(-0.0), &flags) == D(-0.0));
  assert_true(sf_max(SF_D, D(-0.0), D(0.0), &flags) == D(0.0));
  assert_true(sf_max(SF_D, D(0.0), D(-0.0), &flags) == D(0.0));
  assert_true(sf_min(SF_D, D(-1), D(-2), &flags) == D(-2));
  assert_true(sf_max(SF_S, F(-1), F(2), &flags) == F(2));
  assert_true(sf_min(SF_D, sf_nan(SF_D), D(3), &flags) == D(3));
  assert_true(sf_max(SF_D, D(3), sf_nan(SF_D), &flags) == D(3));
  assert_true(sf_max(SF_D, sf_nan(SF_D), sf_nan(SF_D), &flags) == sf_nan(SF_D));
  assert_int_equal(flags, 0);
  assert_true(sf_max(SF_D, D(3), signalling, &flags) == D(3));
  assert_int_equal(flags, SF_NV);
}

static void comparisons_with_nans_are_false(void **state) {
  unsigned flags = 0;
  assert_false(sf_eq(SF_D, sf_nan(SF_D), sf_nan(SF_D), &flags));
  assert_int_equal(flags, 0);
  assert_false(sf_eq(SF_D, signalling, D(1), &flags));
  assert_int_equal(flags, SF_NV);
  flags = 0;
  assert_false(sf_lt(SF_D, sf_nan(SF_D), D(1), &flags));
  assert_int_equal(flags, SF_NV);
  flags = 0;
  assert_false(sf_le(SF_S, F(1), sf_nan(SF_S), &flags));
  assert_int_equal(flags, SF_NV);
  flags = 0;
  assert_true(sf_le(SF_S, F(-0.0f), F(0.0f), &flags));
  assert_true(sf_eq(SF_S, F(-0.0f), F(0.0f), &flags));
  assert_false(sf_lt(SF_S, F(-0.0f), F(0.0f), &flags));
  assert_true(sf_lt(SF_S, F(-INFINITY), F(-1), &flags));
  assert_int_equal(flags, 0);
}

static void classes(void **state) {
  static const uint64_t of_class[] = {
      0xfff0000000000000, 0xbff0000000000000, 0x8000000000000001, 0x8000000000000000, 0, 1,
      0x3ff0000000000000, 0x7ff0000000000000, 0x7ff0000000000001, 0xfff8000000000000};
  for (unsigned i = 0; i < 10; i++) assert_int_equal(sf_class(SF_D, of_class[i]), 1u << i);
  assert_int_equal(sf_class(SF_S, 0x007fffff), 1u << 5);
  assert_int_equal(sf_class(SF_S, 0x00800000), 1u << 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_and_flags_are_the_hosts),  cmocka_unit_test(ties_round_away_from_zero_in_mode_rmm),
      cmocka_unit_test(conversions_to_integers_saturate), cmocka_unit_test(minimum_and_maximum_prefer_numbers),
      cmocka_unit_test(comparisons_with_nans_are_false),  cmocka_unit_test(classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
