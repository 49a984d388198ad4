/* softfloat.c - binary32 and binary64 in integers.
 *
 * A finite nonzero number is unpacked to (-1)^sign * significand * 2^(exponent - 63) with bit 63 of the
 * significand set; every operation computes such a triple exactly or with the lost part jammed into the lowest
 * bit ("sticky"), and one function rounds and packs it. 53 significant bits leave 11 below, more than the guard
 * and sticky bits that correct rounding needs. Semantics: IEEE 754-2008 and the RISC-V unprivileged
 * specification 20191213, chapters 11 and 12 (canonical NaNs, tininess after rounding, minimumNumber). */
#include "target/gemmini/core/softfloat.h"

typedef unsigned __int128 u128;

typedef struct layout {
  int fraction_bits, max_exponent; /* max_exponent: of a normal number; -max_exponent + 1 is the least */
} layout;

static const layout layouts[] = {[SF_S] = {23, 127}, [SF_D] = {52, 1023}};

typedef enum kind { ZERO, FINITE, INFINITE, QUIET_NAN, SIGNALLING_NAN } kind;

typedef struct number {
  kind kind;
  bool sign;
  int exponent;
  uint64_t significand;
} number;

static uint64_t exponent_mask(const layout *l) { return 2u * (unsigned)l->max_exponent + 1; }
static bool is_nan(const number *n) { return n->kind >= QUIET_NAN; }

static number unpack(sf_format format, uint64_t bits) {
  const layout *l = &layouts[format];
  uint64_t fraction = bits & ((1ull << l->fraction_bits) - 1);
  uint64_t exponent = bits >> l->fraction_bits & exponent_mask(l);
  number n = {.sign = (bits & sf_sign_bit(format)) != 0};
  if (exponent == exponent_mask(l)) {
    n.kind = !fraction ? INFINITE : fraction >> (l->fraction_bits - 1) ? QUIET_NAN : SIGNALLING_NAN;
  } else if (exponent || fraction) {
    n.kind = FINITE;
    n.significand = (exponent ? fraction | 1ull << l->fraction_bits : fraction) << (63 - l->fraction_bits);
    int shift = __builtin_clzll(n.significand);
    n.significand <<= shift;
    n.exponent = (int)(exponent ? exponent : 1) - l->max_exponent - shift;
  }
  return n;
}

static uint64_t pack(sf_format format, bool sign, uint64_t exponent, uint64_t fraction) {
  return (sign ? sf_sign_bit(format) : 0) | exponent << layouts[format].fraction_bits | fraction;
}

uint64_t sf_nan(sf_format format) {
  const layout *l = &layouts[format];
  return pack(format, false, exponent_mask(l), 1ull << (l->fraction_bits - 1));
}

static uint64_t infinity(sf_format format, bool sign) { return pack(format, sign, exponent_mask(&layouts[format]), 0); }
static uint64_t zero(sf_format format, bool sign) { return pack(format, sign, 0, 0); }

static uint64_t invalid(sf_format format, unsigned *flags) {
  *flags |= SF_NV;
  return sf_nan(format);
}

/* The result of an operation with at least one NaN among its operands. */
static uint64_t nan_of(sf_format format, const number *a, const number *b, unsigned *flags) {
  if (a->kind == SIGNALLING_NAN || b->kind == SIGNALLING_NAN) *flags |= SF_NV;
  return sf_nan(format);
}

static uint64_t jam(uint64_t value, int shift) {
  if (shift <= 0) return value;
  if (shift > 63) return value != 0;
  return value >> shift | ((value & ((1ull << shift) - 1)) != 0);
}

static u128 jam128(u128 value, int shift) {
  if (shift <= 0) return value;
  if (shift > 127) return value != 0;
  return value >> shift | ((value & (((u128)1 << shift) - 1)) != 0);
}

/* Does a value whose discarded part is `rest` round away from zero? `half` is the weight of half a unit. */
static bool rounds_up(bool sign, bool odd, uint64_t rest, uint64_t half, unsigned rounding) {
  switch (rounding) {
  case SF_RNE: return rest > half || (rest == half && odd);
  case SF_RTZ: return false;
  case SF_RDN: return sign && rest;
  case SF_RUP: return !sign && rest;
  default: return rest >= half;
  }
}

/* Rounds significand to fraction_bits + 1 bits; the result has one bit more if it became a power of two. */
static uint64_t round_significand(const layout *l, bool sign, uint64_t significand, unsigned rounding, bool *inexact) {
  int drop = 63 - l->fraction_bits;
  uint64_t rest = significand & ((1ull << drop) - 1), kept = significand >> drop;
  *inexact = rest != 0;
  return kept + rounds_up(sign, kept & 1, rest, 1ull << (drop - 1), rounding);
}

static uint64_t overflow(sf_format format, bool sign, unsigned rounding, unsigned *flags) {
  const layout *l = &layouts[format];
  *flags |= SF_OF | SF_NX;
  bool to_largest = rounding == SF_RTZ || rounding == (sign ? SF_RUP : SF_RDN);
  if (!to_largest) return infinity(format, sign);
  return pack(format, sign, exponent_mask(l) - 1, (1ull << l->fraction_bits) - 1);
}

static uint64_t round_pack(sf_format format, bool sign, int exponent, uint64_t significand, unsigned rounding,
                           unsigned *flags) {
  const layout *l = &layouts[format];
  const int least = 1 - l->max_exponent;
  uint64_t hidden = 1ull << l->fraction_bits;
  bool inexact;
  uint64_t rounded = round_significand(l, sign, significand, rounding, &inexact);
  bool carries = rounded >> (l->fraction_bits + 1);
  if (exponent < least) { /* subnormal: round again with fewer bits; a carry makes the least normal number */
    rounded = round_significand(l, sign, jam(significand, least - exponent), rounding, &inexact);
    bool tiny = exponent + carries < least; /* detected after rounding to full precision */
    if (inexact) *flags |= tiny ? SF_NX | SF_UF : SF_NX;
    return pack(format, sign, 0, rounded);
  }
  if (carries) {
    rounded >>= 1;
    exponent++;
  }
  if (exponent > l->max_exponent) return overflow(format, sign, rounding, flags);
  if (inexact) *flags |= SF_NX;
  return pack(format, sign, (uint64_t)(exponent + l->max_exponent), rounded - hidden);
}

/* Rounds value * 2^(exponent - 127), value != 0. */
static uint64_t round_pack128(sf_format format, bool sign, int exponent, u128 value, unsigned rounding,
                              unsigned *flags) {
  uint64_t high = (uint64_t)(value >> 64);
  int shift = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)value);
  value <<= shift;
  return round_pack(format, sign, exponent - shift, (uint64_t)(value >> 64) | ((uint64_t)value != 0), rounding, flags);
}

/* Sum of two finite nonzero numbers given with 128-bit significands (bit 127 set, exponents as in number). */
static uint64_t add_exact(sf_format format, bool sign_a, int exponent_a, u128 a, bool sign_b, int exponent_b, u128 b,
                          unsigned rounding, unsigned *flags) {
  if (exponent_a < exponent_b || (exponent_a == exponent_b && a < b)) {
    bool s = sign_a;
    sign_a = sign_b;
    sign_b = s;
    int e = exponent_a;
    exponent_a = exponent_b;
    exponent_b = e;
    u128 v = a;
    a = b;
    b = v;
  }
  /* one bit of room for the carry; the low bit of a is free for it: a has at most 106 significant bits */
  a >>= 1;
  b = jam128(b, exponent_a - exponent_b + 1);
  u128 sum = sign_a == sign_b ? a + b : a - b;
  if (!sum) return zero(format, rounding == SF_RDN);
  return round_pack128(format, sign_a, exponent_a + 1, sum, rounding, flags);
}

uint64_t sf_add(sf_format format, uint64_t x, uint64_t y, unsigned rounding, unsigned *flags) {
  number a = unpack(format, x), b = unpack(format, y);
  if (is_nan(&a) || is_nan(&b)) return nan_of(format, &a, &b, flags);
  if (a.kind == INFINITE) return b.kind == INFINITE && a.sign != b.sign ? invalid(format, flags) : x;
  if (b.kind == INFINITE) return y;
  if (a.kind == ZERO && b.kind == ZERO) return zero(format, a.sign == b.sign ? a.sign : rounding == SF_RDN);
  if (a.kind == ZERO) return y;
  if (b.kind == ZERO) return x;
  return add_exact(format, a.sign, a.exponent, (u128)a.significand << 64, b.sign, b.exponent, (u128)b.significand << 64,
                   rounding, flags);
}

uint64_t sf_mul(sf_format format, uint64_t x, uint64_t y, unsigned rounding, unsigned *flags) {
  number a = unpack(format, x), b = unpack(format, y);
  bool sign = a.sign != b.sign;
  if (is_nan(&a) || is_nan(&b)) return nan_of(format, &a, &b, flags);
  if (a.kind == INFINITE || b.kind == INFINITE)
    return a.kind == ZERO || b.kind == ZERO ? invalid(format, flags) : infinity(format, sign);
  if (a.kind == ZERO || b.kind == ZERO) return zero(format, sign);
  return round_pack128(format, sign, a.exponent + b.exponent + 1, (u128)a.significand * b.significand, rounding, flags);
}

uint64_t sf_fma(sf_format format, uint64_t x, uint64_t y, uint64_t z, unsigned rounding, unsigned *flags) {
  number a = unpack(format, x), b = unpack(format, y), c = unpack(format, z);
  bool sign = a.sign != b.sign;
  bool no_product = (a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE);
  if (no_product) return invalid(format, flags); /* also when c is a NaN */
  if (is_nan(&a) || is_nan(&b)) {
    if (c.kind == SIGNALLING_NAN) *flags |= SF_NV;
    return nan_of(format, &a, &b, flags);
  }
  if (is_nan(&c)) return nan_of(format, &c, &c, flags);
  if (a.kind == INFINITE || b.kind == INFINITE)
    return c.kind == INFINITE && c.sign != sign ? invalid(format, flags) : infinity(format, sign);
  if (c.kind == INFINITE) return z;
  if (a.kind == ZERO || b.kind == ZERO) {
    if (c.kind == ZERO) return zero(format, sign == c.sign ? sign : rounding == SF_RDN);
    return z;
  }
  u128 product = (u128)a.significand * b.significand;
  int exponent = a.exponent + b.exponent + 1;
  if (!(product >> 127)) {
    product <<= 1;
    exponent--;
  }
  if (c.kind == ZERO) return round_pack128(format, sign, exponent, product, rounding, flags);
  return add_exact(format, sign, exponent, product, c.sign, c.exponent, (u128)c.significand << 64, rounding, flags);
}

uint64_t sf_div(sf_format format, uint64_t x, uint64_t y, unsigned rounding, unsigned *flags) {
  number a = unpack(format, x), b = unpack(format, y);
  bool sign = a.sign != b.sign;
  if (is_nan(&a) || is_nan(&b)) return nan_of(format, &a, &b, flags);
  if (a.kind == INFINITE) return b.kind == INFINITE ? invalid(format, flags) : infinity(format, sign);
  if (b.kind == INFINITE) return zero(format, sign);
  if (b.kind == ZERO) {
    if (a.kind == ZERO) return invalid(format, flags);
    *flags |= SF_DZ;
    return infinity(format, sign);
  }
  if (a.kind == ZERO) return zero(format, sign);
  /* a / b is in (1/2, 2): the quotient of a * 2^63 has 63 or 64 bits, and the remainder is sticky */
  u128 dividend = (u128)a.significand << 63;
  u128 quotient = dividend / b.significand;
  bool rest = dividend % b.significand != 0;
  return round_pack128(format, sign, a.exponent - b.exponent, quotient << 64 | rest, rounding, flags);
}

uint64_t sf_sqrt(sf_format format, uint64_t x, unsigned rounding, unsigned *flags) {
  number a = unpack(format, x);
  if (is_nan(&a)) return nan_of(format, &a, &a, flags);
  if (a.kind == ZERO) return x;
  if (a.sign) return invalid(format, flags);
  if (a.kind == INFINITE) return x;
  /* value = m * 2^(2 h) with m in [1, 4): the root is sqrt(m) * 2^h; m is held with 126 fraction bits */
  int half = a.exponent >> 1;
  u128 rest = (u128)a.significand << (a.exponent & 1 ? 64 : 63);
  u128 root = 0;
  for (u128 bit = (u128)1 << 126; bit; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return round_pack128(format, false, half, root << 64 | (rest != 0), rounding, flags);
}

/* ---- Comparisons ----------------------------------------------------------------------------------------- */

/* a < b for operands that are no NaNs; -0 equals +0. */
static bool less(sf_format format, uint64_t x, uint64_t y) {
  uint64_t s = sf_sign_bit(format);
  if (!((x | y) & ~s)) return false;
  if ((x & s) != (y & s)) return x & s;
  return x & s ? (y & ~s) < (x & ~s) : x < y;
}

static bool unordered(sf_format format, uint64_t x, uint64_t y, bool quiet, unsigned *flags) {
  number a = unpack(format, x), b = unpack(format, y);
  if (!is_nan(&a) && !is_nan(&b)) return false;
  if (!quiet || a.kind == SIGNALLING_NAN || b.kind == SIGNALLING_NAN) *flags |= SF_NV;
  return true;
}

bool sf_eq(sf_format format, uint64_t x, uint64_t y, unsigned *flags) {
  if (unordered(format, x, y, true, flags)) return false;
  return x == y || !((x | y) & ~sf_sign_bit(format));
}

bool sf_lt(sf_format format, uint64_t x, uint64_t y, unsigned *flags) {
  return !unordered(format, x, y, false, flags) && less(format, x, y);
}

bool sf_le(sf_format format, uint64_t x, uint64_t y, unsigned *flags) {
  return !unordered(format, x, y, false, flags) && !less(format, y, x);
}

static uint64_t choose(sf_format format, uint64_t x, uint64_t y, bool want_less, unsigned *flags) {
  number a = unpack(format, x), b = unpack(format, y);
  if (a.kind == SIGNALLING_NAN || b.kind == SIGNALLING_NAN) *flags |= SF_NV;
  if (is_nan(&a)) return is_nan(&b) ? sf_nan(format) : y;
  if (is_nan(&b)) return x;
  bool x_less = less(format, x, y) || (a.kind == ZERO && b.kind == ZERO && a.sign);
  return x_less == want_less ? x : y;
}

uint64_t sf_min(sf_format format, uint64_t x, uint64_t y, unsigned *flags) { return choose(format, x, y, true, flags); }
uint64_t sf_max(sf_format format, uint64_t x, uint64_t y, unsigned *flags) {
  return choose(format, x, y, false, flags);
}

unsigned sf_class(sf_format format, uint64_t x) {
  const layout *l = &layouts[format];
  number a = unpack(format, x);
  bool subnormal = a.kind == FINITE && a.exponent < 1 - l->max_exponent;
  switch (a.kind) {
  case SIGNALLING_NAN: return 1u << 8;
  case QUIET_NAN: return 1u << 9;
  case INFINITE: return a.sign ? 1u << 0 : 1u << 7;
  case ZERO: return a.sign ? 1u << 3 : 1u << 4;
  default: return a.sign ? (subnormal ? 1u << 2 : 1u << 1) : (subnormal ? 1u << 5 : 1u << 6);
  }
}

/* ---- Conversions ----------------------------------------------------------------------------------------- */

uint64_t sf_convert(sf_format from, sf_format to, uint64_t x, unsigned rounding, unsigned *flags) {
  number a = unpack(from, x);
  if (is_nan(&a)) return nan_of(to, &a, &a, flags);
  if (a.kind == INFINITE) return infinity(to, a.sign);
  if (a.kind == ZERO) return zero(to, a.sign);
  return round_pack(to, a.sign, a.exponent, a.significand, rounding, flags);
}

uint64_t sf_from_int(sf_format format, uint64_t value, bool is_signed, unsigned rounding, unsigned *flags) {
  if (!value) return zero(format, false);
  bool sign = is_signed && value >> 63;
  if (sign) value = -value;
  int shift = __builtin_clzll(value);
  return round_pack(format, sign, 63 - shift, value << shift, rounding, flags);
}

uint64_t sf_to_int(sf_format format, uint64_t x, int bits, bool is_signed, unsigned rounding, unsigned *flags) {
  number a = unpack(format, x);
  uint64_t greatest = is_signed ? (1ull << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
  uint64_t least_magnitude = is_signed ? 1ull << (bits - 1) : 0; /* magnitude of the most negative result */
  bool negative = a.sign && !is_nan(&a);
  bool fits = a.kind == ZERO, inexact = false;
  uint64_t magnitude = 0;
  if (a.kind == FINITE && a.exponent < 64) {
    uint64_t rest = 0; /* the fraction, half a unit being 2^62; sticky */
    if (a.exponent < 0) {
      rest = jam(jam(a.significand, -a.exponent - 1), 1);
    } else {
      magnitude = a.significand >> (63 - a.exponent);
      if (a.exponent < 63) {
        rest = jam(a.significand << (a.exponent + 1), 1);
      }
    }
    inexact = rest != 0;
    bool up = rounds_up(a.sign, magnitude & 1, rest, 1ull << 62, rounding);
    fits = !(up && magnitude == UINT64_MAX);
    magnitude += up;
    if (magnitude > (negative ? least_magnitude : greatest)) fits = false;
  }
  uint64_t result;
  if (!fits) {
    *flags |= SF_NV;
    result = negative ? -least_magnitude : greatest;
  } else {
    if (inexact) *flags |= SF_NX;
    result = negative ? -magnitude : magnitude;
  }
  return bits == 32 ? (uint64_t)(int64_t)(int32_t)result : result;
}
