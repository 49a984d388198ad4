/* scalar.c - see scalar.h. Integers wrap at the width of their type, as arith of MLIR has it; real numbers are rounded
 * to theirs. */
#include "target/xdna2/array/scalar.h"

#include <math.h>
#include <string.h>

#include "tilewright/format.h"

int64_t xd_scalar_of_real(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double scalar_real(int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static bool is_real(tw_type t) { return t == TW_F32 || t == TW_BF16; }

static int64_t wrap(tw_type type, bool is_unsigned, int64_t x) {
  switch (type == TW_TYPE_NONE ? 64 : tw_type_bits(type)) {
  case 8: return is_unsigned ? (int64_t)(uint8_t)x : (int64_t)(int8_t)x;
  case 16: return is_unsigned ? (int64_t)(uint16_t)x : (int64_t)(int16_t)x;
  case 32: return is_unsigned ? (int64_t)(uint32_t)x : (int64_t)(int32_t)x;
  default: return x;
  }
}

static double round_to(tw_type type, double x) {
  return type == TW_BF16 ? (double)tw_bf16_to_f32(tw_f32_to_bf16((float)x)) : (double)(float)x;
}

int64_t xd_scalar_load(tw_type type, bool is_unsigned, const void *at) {
  uint8_t bytes[4] = {0};
  int32_t word;
  uint16_t half;
  float real;
  memcpy(bytes, at, (size_t)tw_type_bits(type) / 8);
  memcpy(&word, bytes, sizeof word);
  memcpy(&half, bytes, sizeof half);
  memcpy(&real, bytes, sizeof real);
  if (type == TW_F32) return xd_scalar_of_real((double)real);
  if (type == TW_BF16) return xd_scalar_of_real((double)tw_bf16_to_f32(half));
  return wrap(type, is_unsigned, word);
}

void xd_scalar_store(tw_type type, int64_t value, void *at) {
  const float real = is_real(type) ? (float)scalar_real(value) : 0;
  const uint16_t half = type == TW_BF16 ? tw_f32_to_bf16(real) : 0;
  const uint32_t word = (uint32_t)value;
  const void *from = type == TW_F32 ? (const void *)&real : type == TW_BF16 ? (const void *)&half : (const void *)&word;
  /* for integers the lower bytes: hosts and cores are little-endian */
  memcpy(at, from, (size_t)tw_type_bits(type) / 8);
}

static bool holds(xd_compare c, bool less, bool equal) {
  switch (c) {
  case XD_EQ: return equal;
  case XD_NE: return !equal;
  case XD_LT: return less;
  case XD_LE: return less || equal;
  case XD_GT: return !less && !equal;
  case XD_GE: return !less;
  }
  return false;
}

static double compute_real(xd_scalar_kind kind, double a, double b) {
  switch (kind) {
  case XD_SCALAR_ADD: return a + b;
  case XD_SCALAR_SUBTRACT: return a - b;
  case XD_SCALAR_MULTIPLY: return a * b;
  case XD_SCALAR_DIVIDE: return a / b;
  case XD_SCALAR_LEAST: return fmin(a, b);
  case XD_SCALAR_MOST: return fmax(a, b);
  default: return a;
  }
}

/* Operands have been wrapped; the result is, by the caller. */
static int64_t compute_integer(xd_scalar_kind kind, int64_t a, int64_t b, int bits) {
  const uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (kind) {
  case XD_SCALAR_ADD: return (int64_t)(x + y);
  case XD_SCALAR_SUBTRACT: return (int64_t)(x - y);
  case XD_SCALAR_MULTIPLY: return (int64_t)(x * y);
  case XD_SCALAR_DIVIDE: return b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : a / b;
  case XD_SCALAR_REMAINDER: return b == 0 || b == -1 ? 0 : a % b;
  case XD_SCALAR_AND: return a & b;
  case XD_SCALAR_OR: return a | b;
  case XD_SCALAR_XOR: return a ^ b;
  case XD_SCALAR_LEFT: return y >= (uint64_t)bits ? 0 : (int64_t)(x << y);
  case XD_SCALAR_RIGHT: return y >= (uint64_t)bits ? (a < 0 ? -1 : 0) : a >> y;
  case XD_SCALAR_LEAST: return a < b ? a : b;
  case XD_SCALAR_MOST: return a > b ? a : b;
  default: return a;
  }
}

int64_t xd_scalar_compute(const xd_scalar *s, const int64_t registers[]) {
  const int64_t a = xd_scalar_value(&s->from[0], registers), b = xd_scalar_value(&s->from[1], registers);
  const bool real = is_real(s->type);
  const double x = real ? scalar_real(a) : 0, y = real ? scalar_real(b) : 0;
  const int64_t p = wrap(s->type, s->is_unsigned, a), q = wrap(s->type, s->is_unsigned, b);
  switch (s->kind) {
  case XD_SCALAR_SELECT: return a ? b : xd_scalar_value(&s->from[2], registers);
  case XD_SCALAR_COMPARE:
    if (real && (isnan(x) || isnan(y))) return s->compare == XD_NE;
    return real ? holds(s->compare, x < y, !(x < y) && !(x > y)) : holds(s->compare, p < q, p == q);
  case XD_SCALAR_TO_REAL: return xd_scalar_of_real(round_to(s->type, (double)a));
  case XD_SCALAR_TO_INTEGER: {
    const double whole = trunc(scalar_real(a));
    return fabs(whole) < 0x1p62 ? wrap(s->type, s->is_unsigned, (int64_t)whole) : 0;
  }
  default: break;
  }
  if (real) return xd_scalar_of_real(round_to(s->type, compute_real(s->kind, x, y)));
  return wrap(s->type, s->is_unsigned,
              compute_integer(s->kind, p, q, s->type == TW_TYPE_NONE ? 64 : tw_type_bits(s->type)));
}
