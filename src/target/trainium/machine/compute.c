/* compute.c - the engines' operations on elements, row by row. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "target/trainium/machine/data.h"

/* ---- operations ---- */

bool trn_binary_is_exact(trn_binary op) { return op >= TRN_EQUAL && op <= TRN_RIGHT_SHIFT; }

double trn_compute_binary(trn_binary op, double x, double y) {
  switch (op) {
  case TRN_ADD: return x + y;
  case TRN_SUBTRACT: return x - y;
  case TRN_MULTIPLY: return x * y;
  case TRN_DIVIDE: return x / y;
  case TRN_MAXIMUM: return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
  case TRN_MINIMUM: return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
  case TRN_POWER: return pow(x, y);
  case TRN_MODULO: return x - y * floor(x / y);
  case TRN_EQUAL: return x == y;
  case TRN_NOT_EQUAL: return x != y;
  case TRN_LESS: return x < y;
  case TRN_LESS_EQUAL: return x <= y;
  case TRN_GREATER: return x > y;
  case TRN_GREATER_EQUAL: return x >= y;
  case TRN_LOGICAL_AND: return x != 0 && y != 0;
  case TRN_LOGICAL_OR: return x != 0 || y != 0;
  case TRN_LOGICAL_XOR: return (x != 0) != (y != 0);
  case TRN_BITWISE_AND: return (double)((int64_t)x & (int64_t)y);
  case TRN_BITWISE_OR: return (double)((int64_t)x | (int64_t)y);
  case TRN_BITWISE_XOR: return (double)((int64_t)x ^ (int64_t)y);
  case TRN_LEFT_SHIFT: return y < 0 || y > 31 ? 0 : (double)(int32_t)(uint32_t)((uint64_t)(int64_t)x << (int)y);
  case TRN_RIGHT_SHIFT: return y < 0 || y > 31 ? 0 : (double)((int64_t)x >> (int)y);
  case TRN_ABS_MAX: return fmax(fabs(x), fabs(y));
  default: return x;
  }
}

double trn_compute_unary(trn_unary op, double x) {
  switch (op) {
  case TRN_EXP: return exp(x);
  case TRN_LOG: return log(x);
  case TRN_SQRT: return sqrt(x);
  case TRN_RSQRT: return 1 / sqrt(x);
  case TRN_SQUARE: return x * x;
  case TRN_RECIP: return 1 / x;
  case TRN_TANH: return tanh(x);
  case TRN_SIGMOID: return 1 / (1 + exp(-x));
  case TRN_SILU: return x / (1 + exp(-x));
  case TRN_GELU: return 0.5 * x * (1 + erf(x * 0.70710678118654752));
  case TRN_GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
  case TRN_RELU: return x > 0 ? x : isnan(x) ? x : 0;
  case TRN_SIN: return sin(x);
  case TRN_COS: return cos(x);
  case TRN_ABS: return fabs(x);
  case TRN_NEGATE: return -x;
  case TRN_SIGN: return (x > 0) - (x < 0);
  case TRN_ERF: return erf(x);
  case TRN_SOFTPLUS: return x > 30 ? x : log1p(exp(x));
  case TRN_MISH: return x * tanh(x > 30 ? x : log1p(exp(x)));
  case TRN_ARCTAN: return atan(x);
  case TRN_FLOOR: return floor(x);
  case TRN_CEIL: return ceil(x);
  case TRN_LOGICAL_NOT: return x == 0;
  case TRN_TRUNC: return trunc(x);
  case TRN_INVERT: return (double)(~(int64_t)x);
  default: return x;
  }
}

const char *trn_unary_name(trn_unary op) {
#define NAME(op, name) name,
  static const char *const names[TRN_UNARIES] = {"copy", TRN_UNARY_OPS(NAME)};
  return names[op];
}

/* ---- rows ---- */

void trn_gather(const trn_view *v, int64_t at, int64_t step, int64_t n, double *out) {
  const uint32_t *cell = v->array->cell + at;
  if (trn_type_is_real(v->type))
    for (int64_t i = 0; i < n; i++) out[i] = (double)tw_float_of(cell[i * step]);
  else if (v->type == TRN_U32)
    for (int64_t i = 0; i < n; i++) out[i] = cell[i * step];
  else
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)cell[i * step];
}

static uint32_t to_cell(trn_type type, double x) {
  const double kept = trn_round(type, x);
  if (trn_type_is_real(type)) return tw_bits_of((float)kept);
  return type == TRN_U32 ? (uint32_t)kept : (uint32_t)(int32_t)kept;
}

void trn_scatter(const trn_view *v, int64_t at, int64_t step, int64_t n, const double *in) {
  uint32_t *cell = v->array->cell + at;
  if (v->type == TRN_F32)
    for (int64_t i = 0; i < n; i++) cell[i * step] = tw_bits_of((float)in[i]);
  else if (v->type == TRN_BF16)
    for (int64_t i = 0; i < n; i++) cell[i * step] = tw_round_to_bf16(tw_bits_of((float)in[i]));
  else
    for (int64_t i = 0; i < n; i++) cell[i * step] = to_cell(v->type, in[i]);
}

static int64_t inner_size(const trn_view *v) { return v->n ? v->size[v->n - 1] : 1; }

/* Moves `at` to the next row of dst; false after the last row. */
static bool next_row(const trn_view *dst, int64_t at[TRN_VIEW_DIMS]) {
  for (int d = dst->n - 2; d >= 0; d--) {
    if (++at[d] < dst->size[d]) return true;
    at[d] = 0;
  }
  return false;
}

/* The start of the row of view `v` that belongs to the row at `at` of the destination. */
static int64_t row_of(const trn_view *v, const int64_t at[]) {
  int64_t out = v->offset;
  for (int d = 0; d + 1 < v->n; d++)
    if (v->size[d] > 1) out += at[d] * v->stride[d];
  return out;
}

static int64_t step_of(const trn_view *v) { return v->n && v->size[v->n - 1] > 1 ? v->stride[v->n - 1] : 0; }

uint8_t trn_mark_of(const trn_view *dst, const trn_view *src, int64_t at) {
  if (!src->array->undefined || !src->array->undefined[at]) return 0;
  if (dst->array != src->array) dst->array->origin = src->array->origin ? src->array->origin : src->array->line;
  if (!dst->array->origin) dst->array->origin = dst->array->line;
  return 2;
}

void trn_map(const trn_view *dst, size_t n_sources, const trn_view *const source[], trn_row *compute, void *context,
             trn_allowed *allowed, const void *mask) {
  double in[3][TRN_CHUNK], out[TRN_CHUNK], old[TRN_CHUNK];
  const double *rows[3] = {in[0], in[1], in[2]};
  int64_t at[TRN_VIEW_DIMS] = {0};
  if (!dst->array || !trn_view_elements(dst)) return;
  const int64_t columns = inner_size(dst), step = dst->n ? dst->stride[dst->n - 1] : 0;
  do {
    const int64_t row = row_of(dst, at);
    for (int64_t from = 0; from < columns; from += TRN_CHUNK) {
      const int64_t n = columns - from < TRN_CHUNK ? columns - from : TRN_CHUNK, to = row + from * step;
      uint8_t *undefined = dst->array->undefined;
      uint8_t flag[TRN_CHUNK] = {0};
      for (size_t s = 0; s < n_sources; s++) {
        const int64_t there = step_of(source[s]), begin = row_of(source[s], at) + from * there;
        trn_gather(source[s], begin, there, n, in[s]);
        const uint8_t *given = source[s]->array->undefined;
        for (int64_t i = 0; given && i < n; i++)
          if (given[begin + i * there]) flag[i] |= trn_mark_of(dst, source[s], begin + i * there);
      }
      compute(context, n, rows, out);
      if (!allowed) {
        trn_scatter(dst, to, step, n, out);
        if (undefined)
          for (int64_t i = 0; i < n; i++) undefined[to + i * step] = flag[i];
        continue;
      }
      trn_gather(dst, to, step, n, old);
      for (int64_t i = 0; i < n; i++) {
        if (dst->n) at[dst->n - 1] = from + i;
        if (!allowed(mask, at)) {
          out[i] = old[i];
        } else if (undefined) {
          undefined[to + i * step] = flag[i];
        }
      }
      trn_scatter(dst, to, step, n, out);
    }
  } while (next_row(dst, at));
}

static void copy_row(void *context, int64_t n, const double *const source[], double *out) {
  (void)context;
  memcpy(out, source[0], (size_t)n * sizeof *out);
}

/* Marks a row of dst as undefined wherever an element of src is. */
static void mark_row(const trn_view *dst, const trn_view *src, int64_t to, int64_t step, int64_t from, int64_t there,
                     int64_t n) {
  uint8_t *mark = dst->array->undefined + to;
  const uint8_t *given = src->array->undefined;
  uint8_t any = 0;
  for (int64_t i = 0; given && i < n; i++) any |= given[from + i * there];
  if (!any && step == 1)
    memset(mark, 0, (size_t)n);
  else
    for (int64_t i = 0; i < n; i++) mark[i * step] = trn_mark_of(dst, src, from + i * there);
}

/* A cell holds a real value as an f32 with the precision of its type. Copies keep it if both types are the same, or
 * if the destination is f32. */
static bool keeps_cells(const trn_view *dst, const trn_view *src) {
  return dst->array != src->array && (dst->type == src->type || (dst->type == TRN_F32 && trn_type_is_real(src->type)));
}

void trn_copy(const trn_view *dst, const trn_view *src, trn_allowed *allowed, const void *mask) {
  int64_t at[TRN_VIEW_DIMS] = {0};
  if (!dst->array || !trn_view_elements(dst)) return;
  if (allowed || !keeps_cells(dst, src)) {
    trn_map(dst, 1, &src, copy_row, NULL, allowed, mask);
    return;
  }
  const int64_t n = inner_size(dst), step = dst->n ? dst->stride[dst->n - 1] : 0, there = step_of(src);
  do {
    const int64_t to = row_of(dst, at), from = row_of(src, at);
    uint32_t *cell = dst->array->cell + to;
    const uint32_t *given = src->array->cell + from;
    if (step == 1 && there == 1)
      memcpy(cell, given, (size_t)n * sizeof *cell);
    else
      for (int64_t i = 0; i < n; i++) cell[i * step] = given[i * there];
    if (dst->array->undefined) mark_row(dst, src, to, step, from, there, n);
  } while (next_row(dst, at));
}

static void fill_row(void *context, int64_t n, const double *const source[], double *out) {
  (void)source;
  for (int64_t i = 0; i < n; i++) out[i] = *(const double *)context;
}

void trn_fill(const trn_view *dst, double value) { trn_map(dst, 0, NULL, fill_row, &value, NULL, NULL); }

double trn_get(const trn_view *v, int64_t element) {
  double out;
  trn_gather(v, element, 0, 1, &out);
  return out;
}

void trn_set(const trn_view *dst, int64_t element, double value) {
  trn_fill(&(trn_view){dst->array, dst->type, .n = 1, .size = {1}, .stride = {1}, .offset = element}, value);
}

void trn_reduce(const trn_view *dst, const trn_view *src, int axes, trn_binary op, bool is_negated) {
  if (!dst->array || !trn_view_elements(src)) return;
  trn_view inner = {.array = src->array, .type = src->type, .n = axes}, outer = *src;
  outer.n = src->n - axes;
  for (int d = 0; d < axes; d++) {
    inner.size[d] = src->size[outer.n + d];
    inner.stride[d] = src->stride[outer.n + d];
  }
  /* rows of one element each: then next_row walks over all dimensions except the last */
  trn_view walk = outer;
  walk.size[walk.n] = 1;
  walk.stride[walk.n++] = 0;
  int64_t at[TRN_VIEW_DIMS] = {0};
  double row[TRN_CHUNK];
  do {
    double value = 0;
    bool has_value = false;
    uint8_t undefined = 0;
    int64_t in[TRN_VIEW_DIMS] = {0};
    inner.offset = row_of(&walk, at);
    do {
      const int64_t begin = row_of(&inner, in), step = step_of(&inner), columns = inner_size(&inner);
      for (int64_t from = 0; from < columns; from += TRN_CHUNK) {
        const int64_t n = columns - from < TRN_CHUNK ? columns - from : TRN_CHUNK;
        trn_gather(src, begin + from * step, step, n, row);
        if (src->array->undefined)
          for (int64_t i = 0; i < n; i++) undefined |= trn_mark_of(dst, src, begin + (from + i) * step);
        for (int64_t i = 0; i < n; i++) {
          value = has_value ? (double)(float)trn_compute_binary(op, value, row[i]) : row[i];
          has_value = true;
        }
      }
    } while (next_row(&inner, in));
    int64_t to = dst->offset;
    for (int d = 0; d < outer.n && d < dst->n; d++) to += at[d] * dst->stride[d];
    dst->array->cell[to] = to_cell(dst->type, is_negated ? -value : value);
    if (dst->array->undefined) dst->array->undefined[to] = undefined;
  } while (next_row(&walk, at));
}

void trn_scan(const trn_view *dst, const trn_view *a, const trn_view *b, const trn_view *initial, double scalar,
              trn_binary op0, trn_binary op1) {
  int64_t at[TRN_VIEW_DIMS] = {0};
  if (!dst->array || !trn_view_elements(dst)) return;
  do {
    const int64_t rows[3] = {row_of(dst, at), row_of(a, at), row_of(b, at)};
    double state = scalar;
    uint8_t undefined = 0;
    if (initial) {
      const int64_t from = row_of(initial, at);
      state = trn_get(initial, from);
      undefined = trn_mark_of(dst, initial, from);
    }
    for (int64_t i = 0; i < inner_size(dst); i++) {
      const int64_t xi = rows[1] + i * step_of(a), yi = rows[2] + i * step_of(b),
                    to = rows[0] + i * dst->stride[dst->n - 1];
      const double x = trn_get(a, xi), y = trn_get(b, yi);
      undefined |= trn_mark_of(dst, a, xi) | trn_mark_of(dst, b, yi);
      state = (double)(float)trn_compute_binary(op1, (double)(float)trn_compute_binary(op0, state, x), y);
      dst->array->cell[to] = to_cell(dst->type, state);
      if (dst->array->undefined) dst->array->undefined[to] = undefined;
    }
  } while (next_row(dst, at));
}
