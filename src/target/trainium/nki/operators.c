/* operators.c - Python's operators on numbers, texts, sequences, index tensors, masks and tensors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "target/trainium/nki/value.h"

/* ---- numbers ---- */

static int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a); /* the negated least integer overflows */
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static nki_value integer_binary(nki_run *r, int op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool overflow = false;
  if ((op == '/' || op == NKI_OP('/', '/') || op == '%') && b == 0) nki_fail(r, "division by zero");
  switch (op) {
  case '+': overflow = __builtin_add_overflow(a, b, &out); break;
  case '-': overflow = __builtin_sub_overflow(a, b, &out); break;
  case '*': overflow = __builtin_mul_overflow(a, b, &out); break;
  case '/': return nki_real((double)a / (double)b);
  case NKI_OP('/', '/'):
    overflow = b == -1 && a == INT64_MIN;
    if (!overflow) out = floor_div(a, b);
    break;
  case '%':
    if (b != -1) out = a - floor_div(a, b) * b;
    break;
  case '&': out = a & b; break;
  case '|': out = a | b; break;
  case '^': out = a ^ b; break;
  case NKI_OP('<', '<'):
    if (b < 0) nki_fail(r, "negative shift count");
    overflow = a && (b > 62 || __builtin_mul_overflow(a, INT64_C(1) << b, &out));
    break;
  case NKI_OP('>', '>'):
    if (b < 0) nki_fail(r, "negative shift count");
    out = a >> (b > 63 ? 63 : b);
    break;
  case NKI_OP('*', '*'): {
    if (b < 0) return nki_real(pow((double)a, (double)b));
    out = 1;
    if (b > 2 && a >= -1 && a <= 1) b = 2 - b % 2; /* the same power */
    for (int64_t i = 0; i < b && !overflow; i++) overflow = __builtin_mul_overflow(out, a, &out);
    break;
  }
  default: nki_fail(r, "unsupported operator on ints");
  }
  if (overflow) nki_fail(r, "the result does not fit 64 bits");
  return nki_int(out);
}

static nki_value real_binary(nki_run *r, int op, double a, double b) {
  if ((op == '/' || op == NKI_OP('/', '/') || op == '%') && b == 0) nki_fail(r, "division by zero");
  switch (op) {
  case '+': return nki_real(a + b);
  case '-': return nki_real(a - b);
  case '*': return nki_real(a * b);
  case '/': return nki_real(a / b);
  case NKI_OP('/', '/'): return nki_real(floor(a / b));
  case '%': return nki_real(a - floor(a / b) * b);
  case NKI_OP('*', '*'): return nki_real(pow(a, b));
  default: nki_fail(r, "unsupported operator on floats");
  }
}

/* ---- index tensors and masks ---- */

int nki_broadcast_dims(nki_run *r, const nki_index *a, const nki_index *b, int64_t size[TRN_VIEW_DIMS]) {
  const int n = a->n > b->n ? a->n : b->n;
  for (int d = 0; d < n; d++) {
    const int da = d - (n - a->n), db = d - (n - b->n);
    const int64_t sa = da < 0 ? 1 : a->size[da], sb = db < 0 ? 1 : b->size[db];
    if (sa != sb && sa != 1 && sb != 1)
      nki_fail(r, "index tensors of %lld and %lld elements in dimension %d do not broadcast", (long long)sa,
               (long long)sb, d);
    size[d] = sa == 1 ? sb : sa;
  }
  return n;
}

/* a x + b y of index tensors: small enough for sums over all dimensions of a tensor. */
static int64_t weighted(nki_run *r, int64_t a, int64_t x, int64_t b, int64_t y, int64_t most) {
  int64_t first, second, out;
  if (__builtin_mul_overflow(a, x, &first) || __builtin_mul_overflow(b, y, &second) ||
      __builtin_add_overflow(first, second, &out) || out > most || out < -most)
    nki_fail(r, "an index expression is larger than %lld", (long long)most);
  return out;
}

/* a * x + b * y, where one of them may be a plain number (n == 0). */
static nki_index *combine(nki_run *r, const nki_index *a, int64_t x, const nki_index *b, int64_t y) {
  nki_index *out = nki_index_new(r, 0);
  out->n = nki_broadcast_dims(r, a, b, out->size);
  for (int d = 0; d < out->n; d++) {
    const int da = d - (out->n - a->n), db = d - (out->n - b->n);
    out->factor[d] = weighted(r, da < 0 ? 0 : a->factor[da], x, db < 0 ? 0 : b->factor[db], y, INT32_MAX);
  }
  out->offset = weighted(r, a->offset, x, b->offset, y, (int64_t)1 << 40);
  return out;
}

static bool is_constant(const nki_index *i) {
  for (int d = 0; d < i->n; d++)
    if (i->factor[d]) return false;
  return true;
}

/* A division is affine only if all values have the same quotient, or if every factor is a multiple of the divisor. */
static nki_value index_division(nki_run *r, int op, const nki_index *a, int64_t by) {
  int64_t low = a->offset, high = low;
  bool divides = true;
  if (by <= 0) nki_fail(r, "unsupported division of an index tensor by %lld; expected a positive int", (long long)by);
  for (int d = 0; d < a->n; d++) {
    const int64_t reach = a->factor[d] * (a->size[d] - 1);
    if (a->size[d] > 1 && a->factor[d] % by) divides = false;
    *(reach < 0 ? &low : &high) += reach;
  }
  const bool is_same = floor_div(low, by) == floor_div(high, by);
  if (!is_same && !divides) nki_fail(r, "unsupported division of an index tensor; indices must be affine");
  nki_index *out = nki_index_new(r, a->n);
  memcpy(out->size, a->size, sizeof out->size);
  for (int d = 0; d < a->n; d++)
    out->factor[d] = op == '%' ? (is_same ? a->factor[d] : 0) : (is_same ? 0 : a->factor[d] / by);
  const int64_t quotient = floor_div(is_same ? low : a->offset, by);
  out->offset = op == '%' ? a->offset - quotient * by : quotient;
  return nki_of(out);
}

static nki_value index_binary(nki_run *r, int op, nki_value x, nki_value y) {
  const nki_index *a = nki_index_of(r, x), *b = nki_index_of(r, y);
  switch (op) {
  case '+': return nki_of(combine(r, a, 1, b, 1));
  case '-': return nki_of(combine(r, a, 1, b, -1));
  case '*':
    if (is_constant(b)) return nki_of(combine(r, a, b->offset, nki_index_new(r, b->n), 0));
    if (is_constant(a)) return nki_of(combine(r, b, a->offset, nki_index_new(r, a->n), 0));
    nki_fail(r, "unsupported product of two index tensors; indices must be affine");
  case NKI_OP('/', '/'):
  case '%':
    if (is_constant(b)) return index_division(r, op, a, b->offset);
    nki_fail(r, "unsupported division by an index tensor");
  default: nki_fail(r, "unsupported operator on an index tensor; indices must be affine (+, -, * by an int)");
  }
}

static nki_value mask_and(nki_run *r, nki_value a, nki_value b) {
  if (a.type != NKI_V_MASK || b.type != NKI_V_MASK) {
    const nki_value mask = a.type == NKI_V_MASK ? a : b, plain = a.type == NKI_V_MASK ? b : a;
    return nki_truth(r, plain) ? mask : nki_bool(false);
  }
  const nki_mask *x = (nki_mask *)a.as.o, *y = (nki_mask *)b.as.o;
  nki_mask *out = nki_mask_new(r);
  if (x->n + y->n > NKI_CONDITIONS_MAX) nki_fail(r, "a mask has more than %d conditions", NKI_CONDITIONS_MAX);
  memcpy(out->condition, x->condition, (size_t)x->n * sizeof *x->condition);
  memcpy(out->condition + x->n, y->condition, (size_t)y->n * sizeof *y->condition);
  out->n = x->n + y->n;
  return nki_of(out);
}

static void add_condition(nki_run *r, nki_mask *m, const nki_index *a, int64_t x, const nki_index *b, int64_t y,
                          int64_t more) {
  const nki_index *c = combine(r, a, x, b, y);
  m->condition[m->n] = *c;
  m->condition[m->n++].offset += more;
}

static nki_value index_compare(nki_run *r, int op, nki_value x, nki_value y) {
  const nki_index *a = nki_index_of(r, x), *b = nki_index_of(r, y);
  nki_mask *m = nki_mask_new(r);
  if (op == '<') add_condition(r, m, b, 1, a, -1, -1);
  if (op == NKI_OP('<', '=') || op == NKI_OP('=', '=')) add_condition(r, m, b, 1, a, -1, 0);
  if (op == '>') add_condition(r, m, a, 1, b, -1, -1);
  if (op == NKI_OP('>', '=') || op == NKI_OP('=', '=')) add_condition(r, m, a, 1, b, -1, 0);
  if (!m->n) nki_fail(r, "unsupported comparison of index tensors; expected <, <=, >, >= or ==");
  return nki_of(m);
}

/* ---- tensors ---- */

// clang-format off
#define TENSOR_OPERATORS(X)                                                                                            \
  X('+', ADD) X('-', SUBTRACT) X('*', MULTIPLY) X('/', DIVIDE) X('%', MODULO) X(NKI_OP('*', '*'), POWER)               \
  X('&', BITWISE_AND) X('|', BITWISE_OR) X('^', BITWISE_XOR) X(NKI_OP('<', '<'), LEFT_SHIFT)                           \
  X(NKI_OP('>', '>'), RIGHT_SHIFT) X('<', LESS) X('>', GREATER) X(NKI_OP('<', '='), LESS_EQUAL)                        \
  X(NKI_OP('>', '='), GREATER_EQUAL) X(NKI_OP('=', '='), EQUAL) X(NKI_OP('!', '='), NOT_EQUAL)
// clang-format on
#define ENTRY(op, code) {op, TRN_##code},
static const struct {
  int op;
  trn_binary code;
} tensor_ops[] = {TENSOR_OPERATORS(ENTRY)};
enum { TENSOR_OPS = sizeof tensor_ops / sizeof *tensor_ops };

int nki_operator_of(trn_binary code) {
  for (size_t i = 0; i < TENSOR_OPS; i++)
    if (tensor_ops[i].code == code) return tensor_ops[i].op;
  return 0;
}

static nki_value tensor_binary(nki_run *r, int op, nki_value a, nki_value b, nki_arguments *arguments) {
  size_t i = 0;
  while (i < TENSOR_OPS && tensor_ops[i].op != op) i++;
  if (i == TENSOR_OPS)
    nki_fail(r, "unsupported operator on a tensor; if a parameter is a number, set it in a line '#: PARAMETER = VALUE'");
  nki_result result = {.into = arguments ? arguments->into : NULL, .engine = TRN_ENGINE_ANY};
  if (result.into) arguments->used_into = true;
  return nki_arithmetic(r, tensor_ops[i].code, a, b, result);
}

/* ---- the operators ---- */

nki_value nki_binary(nki_run *r, int op, nki_value a, nki_value b, nki_arguments *arguments) {
  if (a.type == NKI_V_PAR_DIM) a = nki_int(a.as.i);
  if (b.type == NKI_V_PAR_DIM) b = nki_int(b.as.i);
  if (nki_is_number(a) && nki_is_number(b)) {
    if (a.type != NKI_V_REAL && b.type != NKI_V_REAL) return integer_binary(r, op, a.as.i, b.as.i);
    return real_binary(r, op, nki_number(r, a, "operand"), nki_number(r, b, "operand"));
  }
  if (a.type == NKI_V_VIEW || b.type == NKI_V_VIEW) return tensor_binary(r, op, a, b, arguments);
  if (a.type == NKI_V_MASK || b.type == NKI_V_MASK) {
    if (op == '&' || op == '*') return mask_and(r, a, b);
    nki_fail(r, "unsupported operator on a mask; expected '&'");
  }
  if (a.type == NKI_V_INDEX || b.type == NKI_V_INDEX) return index_binary(r, op, a, b);
  if (op == '+' && a.type == NKI_V_STRING && b.type == NKI_V_STRING) {
    char text[1000];
    const int n = snprintf(text, sizeof text, "%s%s", nki_string_of(a), nki_string_of(b));
    if (n >= (int)sizeof text) nki_fail(r, "the string is too long");
    return nki_text(r, text, (size_t)n);
  }
  if (op == '+' && a.type == b.type && nki_is_sequence(a)) {
    const nki_value out = nki_sequence_of(r, a.type, nki_items(a)->n, nki_items(a)->item);
    for (size_t i = 0; i < nki_items(b)->n; i++) nki_append(r, nki_items(out), nki_items(b)->item[i]);
    return out;
  }
  if (op == '*' && (nki_is_sequence(a) || nki_is_sequence(b))) {
    const nki_value s = nki_is_sequence(a) ? a : b;
    const int64_t times = nki_integer(r, nki_is_sequence(a) ? b : a, "count");
    const nki_value out = nki_sequence_of(r, s.type, 0, NULL);
    if (times > 0 && (int64_t)nki_items(s)->n > 1000000 / times) nki_fail(r, "the sequence is too long");
    for (int64_t t = 0; t < times; t++)
      for (size_t i = 0; i < nki_items(s)->n; i++) nki_append(r, nki_items(out), nki_items(s)->item[i]);
    return out;
  }
  if (op == '%' && a.type == NKI_V_STRING) return a; /* only messages are formatted like this */
  nki_fail(r, "unsupported operator on %s and %s", nki_type_name(a), nki_type_name(b));
}

static bool contains(nki_run *r, nki_value all, nki_value v) {
  if (nki_is_sequence(all) || all.type == NKI_V_DICT) {
    const size_t step = all.type == NKI_V_DICT ? 2 : 1;
    for (size_t i = 0; i < nki_items(all)->n; i += step)
      if (nki_equal(r, nki_items(all)->item[i], v)) return true;
    return false;
  }
  if (all.type == NKI_V_STRING && v.type == NKI_V_STRING) return strstr(nki_string_of(all), nki_string_of(v)) != NULL;
  nki_fail(r, "unsupported 'in' of %s", nki_type_name(all));
}

nki_value nki_compare(nki_run *r, int op, nki_value a, nki_value b) {
  if (op == NKI_OP_IS || op == NKI_OP_IS_NOT) {
    const bool same = a.type == b.type && (a.type == NKI_V_NONE || nki_equal(r, a, b));
    return nki_bool(same == (op == NKI_OP_IS));
  }
  if (op == NKI_OP_IN || op == NKI_OP_NOT_IN) return nki_bool(contains(r, b, a) == (op == NKI_OP_IN));
  if (a.type == NKI_V_INDEX || b.type == NKI_V_INDEX) return index_compare(r, op, a, b);
  const bool none = a.type == NKI_V_NONE || b.type == NKI_V_NONE;
  if ((a.type == NKI_V_VIEW || b.type == NKI_V_VIEW) && !none) return tensor_binary(r, op, a, b, NULL);
  if (op == NKI_OP('=', '=')) return nki_bool(nki_equal(r, a, b));
  if (op == NKI_OP('!', '=')) return nki_bool(!nki_equal(r, a, b));
  const bool are_texts = a.type == NKI_V_STRING && b.type == NKI_V_STRING;
  if (!are_texts && !(nki_is_number(a) && nki_is_number(b)))
    nki_fail(r, "unsupported comparison of %s and %s", nki_type_name(a), nki_type_name(b));
  const double x = are_texts ? strcmp(nki_string_of(a), nki_string_of(b)) : nki_number(r, a, "operand"),
               y = are_texts ? 0 : nki_number(r, b, "operand");
  return nki_bool(op == '<' ? x < y : op == '>' ? x > y : op == NKI_OP('<', '=') ? x <= y : x >= y);
}

nki_value nki_unary(nki_run *r, int op, nki_value v) {
  if (op == '+') return v;
  if (op == '-' && v.type == NKI_V_REAL) return nki_real(-v.as.r);
  if (op == '-' && nki_is_number(v)) return integer_binary(r, '-', 0, v.as.i);
  if (op == '-' && v.type == NKI_V_INDEX) return index_binary(r, '*', v, nki_int(-1));
  if (op == '-' && v.type == NKI_V_VIEW) return tensor_binary(r, '*', v, nki_int(-1), NULL);
  if (op == '~' && v.type == NKI_V_INT) return nki_int(~v.as.i);
  nki_fail(r, "unsupported operator '%c' on %s", op, nki_type_name(v));
}
