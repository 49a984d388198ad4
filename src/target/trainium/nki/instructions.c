/* instructions.c - the instructions that kernels execute: shapes, limits, values, and the entry in the program. */
#include <math.h>
#include <string.h>

#include "target/trainium/nki/value.h"

/* ---- shapes ---- */

int64_t nki_free_elements(const nki_view *v) {
  int64_t n = 1;
  for (int d = 1; d < v->n; d++) n *= v->size[d];
  return n;
}

static void print_shape(int n, const int64_t size[], char text[120]) {
  nki_value item[TRN_VIEW_DIMS];
  nki_sequence s = {.object.type = NKI_V_TUPLE, .n = (size_t)n, .item = item};
  for (int d = 0; d < n; d++) item[d] = nki_int(size[d]);
  nki_print((nki_value){.type = NKI_V_TUPLE, .as.o = &s.object}, text, 120);
}

/* A view with these sizes: dimensions of one element are added or dropped, and a dimension may be split. */
static nki_view *shaped(nki_run *r, const nki_view *v, int n, const int64_t size[], const char *what) {
  nki_view *out = nki_view_copy(r, v);
  int from = v->n - 1;
  int64_t left = from >= 0 ? v->size[from] : 1, step = 1; /* part of dimension `from` that is not assigned yet */
  bool fits = true;
  out->n = n;
  for (int d = n - 1; d >= 0; d--) {
    out->size[d] = size[d];
    out->along_partitions[d] = out->along_columns[d] = 0;
    if (size[d] == 1) continue;
    while (from >= 0 && left == 1) {
      from--;
      left = from >= 0 ? v->size[from] : 1;
      step = 1;
    }
    fits = fits && from >= 0 && size[d] > 0 && left % size[d] == 0;
    if (!fits) break;
    out->along_partitions[d] = v->along_partitions[from] * step;
    out->along_columns[d] = v->along_columns[from] * step;
    left /= size[d];
    step *= size[d];
  }
  for (; fits && from >= 0; left = --from >= 0 ? v->size[from] : 1) fits = left == 1;
  if (!fits) {
    char have[120], want[120];
    print_shape(v->n, v->size, have);
    print_shape(n, size, want);
    nki_fail(r, "%s has shape %s; expected %s", what, have, want);
  }
  return out;
}

/* The view that a result of these sizes is written to. */
static nki_view *destination(nki_run *r, const nki_result *result, trn_memory memory, trn_type type, int n,
                             const int64_t size[]) {
  if (result->into) {
    nki_view *tile = result->into->tensor->memory == TRN_HBM ? result->into : nki_as_tile(r, result->into);
    bool same = tile->n == n;
    for (int d = 0; d < n && same; d++) same = tile->size[d] == size[d];
    if (same) return tile;
    nki_view *out = shaped(r, tile, n, size, "the destination");
    if (tile->n_limits)
      nki_fail(r, "unsupported destination: index tensors of another number of dimensions than the result");
    return out;
  }
  return nki_tile(r, memory, result->has_type ? result->type : type, n, size);
}

/* Gives the operands of one instruction the same number of dimensions, and computes their common sizes. */
static int common_shape(nki_run *r, size_t n_views, nki_view *view[], int64_t size[TRN_VIEW_DIMS]) {
  int n = 2;
  for (size_t i = 0; i < n_views; i++) n = view[i]->n > n ? view[i]->n : n;
  for (size_t i = 0; i < n_views; i++) {
    if (view[i]->n == n) continue;
    nki_view *out = nki_view_copy(r, view[i]);
    bool is_column = true;
    for (int d = 1; d < view[i]->n; d++) is_column = is_column && view[i]->size[d] == 1;
    const int more = n - view[i]->n;
    for (int d = n - 1; d > 0; d--) { /* free dimensions align at the last */
      const int from = is_column ? (d < view[i]->n ? d : -1) : d - more;
      nki_set_dim(out, d, from > 0 ? view[i]->size[from] : 1, 0, from > 0 ? view[i]->along_columns[from] : 0);
    }
    out->n = n;
    view[i] = out;
  }
  for (int d = 0; d < n; d++) {
    size[d] = 1;
    for (size_t i = 0; i < n_views; i++) {
      if (view[i]->size[d] == 1) continue;
      if (size[d] != 1 && size[d] != view[i]->size[d]) {
        char a[120], b[120];
        print_shape(view[0]->n, view[0]->size, a);
        print_shape(view[i]->n, view[i]->size, b);
        nki_fail(r, "operands of shapes %s and %s do not broadcast", a, b);
      }
      size[d] = view[i]->size[d];
    }
  }
  return n;
}

static nki_view *tile_of(nki_run *r, nki_view *v) { return nki_spread(r, nki_as_tile(r, v)); }

/* An operand with one value per partition. */
static nki_view *pointer_of(nki_run *r, nki_view *v, int n) {
  nki_view *tile = nki_as_tile(r, v);
  if (nki_free_elements(tile) != 1) {
    char text[120];
    print_shape(v->n, v->size, text);
    nki_fail(r, "an operand of shape %s; expected one value per partition", text);
  }
  tile->n = n;
  for (int d = 1; d < n; d++) nki_set_dim(tile, d, 1, 0, 0);
  return tile;
}

static trn_type promote(trn_type a, trn_type b) {
  if (a == b) return a;
  if (trn_type_is_real(a) != trn_type_is_real(b)) return trn_type_is_real(a) ? a : b;
  if (trn_type_bytes(a) == trn_type_bytes(b) && trn_type_is_real(a)) return TRN_F32; /* bf16 and f16 */
  return trn_type_bytes(a) >= trn_type_bytes(b) ? a : b;
}

/* The bounds that the mask of `what` leaves; each of its conditions is on one dimension. */
static nki_bounds box_of(nki_run *r, nki_value mask, int n, const int64_t size[], const char *what) {
  const nki_bounds bounds = nki_bounds_of(r, mask, n, size);
  if (bounds.rest) nki_fail(r, "unsupported mask of %s with conditions on several dimensions", what);
  return bounds;
}

/* The operands of a pass: tiles of one shape, then operands with one value per partition. */
typedef struct operands {
  nki_view *source[3];
  size_t n;
  unsigned pointers; /* a bit for each source with one value per partition */
  int dims;
  int64_t size[TRN_VIEW_DIMS];
} operands;

/* b may be NULL. */
static operands operands_of(nki_run *r, nki_view *a, nki_view *b) {
  operands o = {.source = {tile_of(r, a), b ? tile_of(r, b) : NULL}, .n = b ? 2 : 1};
  o.dims = common_shape(r, o.n, o.source, o.size);
  return o;
}

/* The number of the new source; -1 without one. */
static int add_pointer(nki_run *r, operands *o, nki_view *pointer) {
  if (!pointer) return -1;
  o->pointers |= 1u << o->n;
  o->source[o->n] = pointer_of(r, pointer, o->dims);
  return (int)o->n++;
}

/* ---- rows ---- */

typedef struct computation {
  trn_unary unary;
  trn_binary op[2];
  bool reverse[2];
  double scalar[2];
  int source[2]; /* for each op the source that is its second operand; -1: the scalar */
  bool has_second;
  bool is_exact; /* integers are computed as integers, not in binary32 */
  double scale, bias;
  int scale_source, bias_source; /* -1: the number */
} computation;

static double round_step(const computation *c, double x) { return c->is_exact ? x : (double)(float)x; }

static void arithmetic_row(void *context, int64_t n, const double *const source[], double *out) {
  const computation *c = context;
  for (int k = 0; k < (c->has_second ? 2 : 1); k++) {
    const double *a = k ? out : source[0], *b = c->source[k] >= 0 ? source[c->source[k]] : NULL;
    for (int64_t i = 0; i < n; i++) {
      const double y = b ? b[i] : c->scalar[k];
      out[i] =
          round_step(c, c->reverse[k] ? trn_compute_binary(c->op[k], y, a[i]) : trn_compute_binary(c->op[k], a[i], y));
    }
  }
}

/* The common case, without a switch for each element. */
static void simple_row(void *context, int64_t n, const double *const source[], double *out) {
  const computation *c = context;
  const double *a = source[0], *b = source[1];
  if (c->op[0] == TRN_ADD)
    for (int64_t i = 0; i < n; i++) out[i] = (double)(float)(a[i] + b[i]);
  else if (c->op[0] == TRN_SUBTRACT)
    for (int64_t i = 0; i < n; i++) out[i] = (double)(float)(a[i] - b[i]);
  else
    for (int64_t i = 0; i < n; i++) out[i] = (double)(float)(a[i] * b[i]);
}

static void activation_row(void *context, int64_t n, const double *const source[], double *out) {
  const computation *c = context;
  for (int64_t i = 0; i < n; i++) {
    const double scale = c->scale_source >= 0 ? source[c->scale_source][i] : c->scale;
    const double bias = c->bias_source >= 0 ? source[c->bias_source][i] : c->bias;
    out[i] = trn_compute_unary(c->unary, (double)(float)((double)(float)(source[0][i] * scale) + bias));
  }
}

/* ---- one pass over operands of one shape ---- */

/* Cuts dst and sources by the mask, computes, and emits the instruction. Without a `row` the source is copied. */
static nki_view *pass(nki_run *r, nki_result result, trn_type type, const operands *o, trn_instruction i, trn_row *row,
                      computation *c) {
  nki_view *whole = destination(r, &result, TRN_SBUF, type, o->dims, o->size);
  const nki_bounds bounds = nki_bounds_of(r, result.mask, o->dims, o->size);
  if (bounds.is_empty) return whole;
  nki_view *operand[4] = {nki_cut(r, whole, &bounds)};
  for (size_t s = 0; s < o->n; s++) {
    operand[s + 1] = nki_cut(r, o->source[s], &bounds);
    if (operand[s + 1]->size[0] == operand[0]->size[0] || o->pointers >> s & 1) continue;
    int64_t wide[TRN_VIEW_DIMS];
    memcpy(wide, operand[s + 1]->size, sizeof wide);
    wide[0] = operand[0]->size[0]; /* engines cannot read one partition for all */
    operand[s + 1] = nki_spread(r, nki_broadcast(r, operand[s + 1], operand[s + 1]->n, wide));
  }
  i.engine = result.engine;
  i.partitions = (int)operand[0]->size[0];
  i.elements = nki_free_elements(operand[0]);
  for (size_t s = 0; s < o->n; s++) i.operand[s + 1].is_pointer = o->pointers >> s & 1;
  nki_emit(r, i, 1, o->n + 1, operand);
  trn_view data[4] = {nki_data(r, operand[0])};
  const trn_view *in[3];
  for (size_t s = 0; s < o->n; s++) {
    data[s + 1] = nki_data(r, operand[s + 1]);
    in[s] = &data[s + 1];
  }
  if (data[0].array && row)
    trn_map(&data[0], o->n, in, row, c, bounds.rest ? nki_allowed : NULL, &bounds);
  else if (data[0].array)
    trn_copy(&data[0], in[0], bounds.rest ? nki_allowed : NULL, &bounds);
  return whole;
}

nki_view *nki_do_copy(nki_run *r, nki_view *src, nki_result result) {
  const operands o = operands_of(r, src, NULL);
  return pass(r, result, src->type, &o, (trn_instruction){.opcode = TRN_COPY}, NULL, NULL);
}

nki_view *nki_do_unary(nki_run *r, trn_unary op, nki_view *src, nki_scalar scale, const nki_scalar *bias,
                       nki_result result) {
  operands o = operands_of(r, src, NULL);
  computation c = {.unary = op, .scale = scale.value, .bias = bias ? bias->value : 0};
  c.scale_source = add_pointer(r, &o, scale.pointer);
  c.bias_source = add_pointer(r, &o, bias ? bias->pointer : NULL);
  trn_instruction i = {.opcode = TRN_ACTIVATION, .function = trn_unary_name(op)};
  if (result.engine != TRN_SCALAR) i = (trn_instruction){.opcode = TRN_RECIPROCAL}; /* Vector's only function */
  return pass(r, result, src->type, &o, i, activation_row, &c);
}

nki_view *nki_do_binary(nki_run *r, trn_binary op, nki_view *a, nki_view *b, nki_result result) {
  const operands o = operands_of(r, a, b);
  nki_check_bits(r, op, a->type);
  nki_check_bits(r, op, b->type);
  const bool integers = !trn_type_is_real(a->type) && !trn_type_is_real(b->type);
  computation c = {.op = {op}, .source = {1, -1}};
  c.is_exact = trn_binary_is_exact(op) || (integers && result.engine == TRN_GPSIMD);
  trn_row *row = !c.is_exact && op <= TRN_MULTIPLY ? simple_row : arithmetic_row;
  return pass(r, result, promote(a->type, b->type), &o, (trn_instruction){.opcode = TRN_TENSOR_TENSOR}, row, &c);
}

static void set_scalar(nki_run *r, computation *c, int k, const nki_scalar *s, operands *o) {
  c->scalar[k] = s->value;
  c->source[k] = add_pointer(r, o, s->pointer);
}

nki_view *nki_do_scalar(nki_run *r, nki_view *src, trn_binary op0, nki_scalar operand0, bool reverse0, trn_binary op1,
                        const nki_scalar *operand1, bool reverse1, nki_result result) {
  operands o = operands_of(r, src, NULL);
  nki_check_bits(r, op0, src->type);
  if (operand1) nki_check_bits(r, op1, src->type);
  computation c = {.op = {op0, op1}, .reverse = {reverse0, reverse1}, .has_second = operand1 != NULL};
  set_scalar(r, &c, 0, &operand0, &o);
  if (operand1) set_scalar(r, &c, 1, operand1, &o);
  c.is_exact = trn_binary_is_exact(op0) || (result.engine == TRN_GPSIMD && !trn_type_is_real(src->type));
  return pass(r, result, src->type, &o, (trn_instruction){.opcode = TRN_TENSOR_SCALAR}, arithmetic_row, &c);
}

nki_view *nki_do_scalar_tensor(nki_run *r, nki_view *a, trn_binary op0, nki_scalar scalar, bool reverse0,
                               trn_binary op1, nki_view *b, bool reverse1, nki_result result) {
  operands o = operands_of(r, a, b);
  computation c = {.op = {op0, op1}, .reverse = {reverse0, reverse1}, .has_second = true};
  set_scalar(r, &c, 0, &scalar, &o);
  c.source[1] = 1;
  c.is_exact = trn_binary_is_exact(op0) && trn_binary_is_exact(op1);
  return pass(r, result, promote(a->type, b->type), &o, (trn_instruction){.opcode = TRN_SCALAR_TENSOR_TENSOR},
              arithmetic_row, &c);
}

/* ---- HBM ---- */

nki_view *nki_do_dma(nki_run *r, nki_view *src, nki_result result) {
  const bool from_hbm = src->tensor->memory == TRN_HBM;
  nki_view *source = from_hbm ? src : nki_as_tile(r, src);
  if (src->tensor->memory == TRN_PSUM || (result.into && result.into->tensor->memory == TRN_PSUM))
    nki_fail(r, "a DMA transfer cannot touch PSUM; copy to SBUF first");
  if (from_hbm && !result.into && src->n == 1) { /* one value per partition */
    source = nki_view_copy(r, src);
    nki_set_dim(source, 1, 1, 0, 0);
    source->n = 2;
  }
  if (!result.into && source->n && source->size[0] > r->config->memory.partitions)
    nki_fail(r, "a load of %lld rows; expected at most %d, one per partition", (long long)source->size[0],
             r->config->memory.partitions);
  const bool stores = result.into && result.into->tensor->memory == TRN_HBM;
  const nki_view *like = stores ? result.into : source; /* the mask refers to the destination's shape */
  const int n = like->n;
  const int64_t *size = like->size;
  bool same = source->n == n;
  for (int d = 0; d < n && same; d++) same = source->size[d] == size[d] || source->size[d] == 1;
  if (!same) source = shaped(r, source, n, size, "the source");
  nki_view *whole = stores ? result.into : destination(r, &result, TRN_SBUF, src->type, n, size);
  const nki_bounds bounds = nki_bounds_of(r, result.mask, n, size);
  if (bounds.is_empty) return whole;
  nki_view *dst = nki_cut(r, whole, &bounds), *part = nki_cut(r, source, &bounds);
  trn_instruction i = {.opcode = TRN_DMA,
                       .engine = result.engine,
                       .elements = nki_free_elements(dst),
                       .partitions = (int)(dst->n ? dst->size[0] : 1)};
  i.is_software_dma = result.engine == TRN_GPSIMD;
  i.is_transpose = result.is_transpose;
  nki_emit(r, i, 1, 2, (nki_view *[]){dst, part});
  const trn_view to = nki_data(r, dst), from = nki_data(r, part);
  if (to.array) trn_copy(&to, &from, bounds.rest ? nki_allowed : NULL, &bounds);
  return whole;
}

/* ---- reductions ---- */

nki_view *nki_do_reduce(nki_run *r, trn_binary op, nki_view *src, unsigned axes, bool keeps_dims, bool is_negated,
                        nki_result result) {
  nki_view *tile = tile_of(r, src);
  if (axes & 1) nki_fail(r, "unsupported reduction over the partition dimension; expected free dimensions");
  const nki_bounds bounds = box_of(r, result.mask, tile->n, tile->size, "a reduction");
  nki_view *ordered = nki_view_copy(r, tile);
  int64_t size[TRN_VIEW_DIMS];
  nki_bounds kept = {0}, moved = {.n = tile->n}; /* moved: the bounds of the view whose reduced dimensions are last */
  int n = 0, at = 0, reduced = 0;
  for (int phase = 0; phase < 2; phase++)
    for (int d = 0; d < tile->n; d++) {
      const bool is_reduced = axes >> d & 1;
      if (is_reduced == (phase == 0)) continue;
      nki_set_dim(ordered, at, tile->size[d], tile->along_partitions[d], tile->along_columns[d]);
      moved.lo[at] = bounds.lo[d];
      moved.hi[at++] = bounds.hi[d];
      reduced += is_reduced;
    }
  for (int d = 0; d < tile->n; d++) {
    const bool is_reduced = axes >> d & 1;
    if (is_reduced && !keeps_dims) continue;
    kept.lo[n] = is_reduced ? 0 : bounds.lo[d];
    kept.hi[n] = is_reduced ? 1 : bounds.hi[d];
    size[n++] = is_reduced ? 1 : tile->size[d];
  }
  if (n == 1) {
    kept.hi[1] = 1;
    size[n++] = 1;
  }
  kept.n = n;
  if (!reduced) nki_fail(r, "the reduction has no axis");
  nki_view *whole = destination(r, &result, TRN_SBUF, src->type, n, size);
  if (bounds.is_empty) return whole;
  nki_view *from = nki_cut(r, tile, &bounds), *to = nki_cut(r, whole, &kept);
  ordered->n_limits = 0;
  ordered = nki_cut(r, ordered, &moved);
  nki_emit_pass(r, TRN_REDUCE, result.engine, nki_free_elements(from), 2, (nki_view *[]){to, from});
  trn_view dst = nki_data(r, to), in = nki_data(r, ordered);
  if (keeps_dims) { /* reduced dimensions of one element are left out of the walk */
    int k = 0;
    for (int d = 0; d < dst.n; d++) {
      if (d < tile->n && (axes >> d & 1)) continue;
      dst.size[k] = dst.size[d];
      dst.stride[k++] = dst.stride[d];
    }
    dst.n = k;
  }
  if (dst.array) trn_reduce(&dst, &in, reduced, op, is_negated);
  return whole;
}

nki_view *nki_do_scan(nki_run *r, nki_view *a, nki_view *b, nki_scalar initial, trn_binary op0, trn_binary op1,
                      nki_result result) {
  const operands o = operands_of(r, a, b);
  nki_view *whole = destination(r, &result, TRN_SBUF, promote(a->type, b->type), o.dims, o.size);
  const nki_bounds bounds = box_of(r, result.mask, o.dims, o.size, "a scan");
  if (bounds.is_empty) return whole;
  nki_view *operand[4] = {nki_cut(r, whole, &bounds), nki_cut(r, o.source[0], &bounds),
                          nki_cut(r, o.source[1], &bounds)};
  if (initial.pointer) operand[3] = nki_cut(r, pointer_of(r, initial.pointer, o.dims), &bounds);
  nki_emit_pass(r, TRN_SCAN, result.engine, nki_free_elements(operand[0]), initial.pointer ? 4 : 3, operand);
  if (initial.pointer) nki_last(r)->operand[3].is_pointer = true;
  const trn_view dst = nki_data(r, operand[0]), x = nki_data(r, operand[1]), y = nki_data(r, operand[2]);
  const trn_view start = initial.pointer ? nki_data(r, operand[3]) : (trn_view){0};
  if (dst.array) trn_scan(&dst, &x, &y, initial.pointer ? &start : NULL, initial.value, op0, op1);
  return whole;
}

/* ---- the Tensor engine ---- */

nki_view *nki_do_matmul(nki_run *r, nki_view *stationary, nki_view *moving, bool adds, nki_result result) {
  nki_view *s = tile_of(r, stationary), *m = tile_of(r, moving);
  const int64_t rows = s->size[0], columns = nki_free_elements(s), n = nki_free_elements(m);
  if (s->size[0] != m->size[0])
    nki_fail(r, "nc_matmul contracts %lld partitions of the stationary with %lld of the moving operand",
             (long long)s->size[0], (long long)m->size[0]);
  if (rows > 128 || columns > 128 || n > 512)
    nki_fail(r, "nc_matmul of %lld x %lld and %lld x %lld; expected at most 128 x 128 and 128 x 512", (long long)rows,
             (long long)columns, (long long)rows, (long long)n);
  /* the array reads only SBUF: the compiler inserts a copy */
  if (s->tensor->memory == TRN_PSUM) s = nki_as_tile(r, nki_do_copy(r, s, (nki_result){.engine = TRN_ENGINE_ANY}));
  if (m->tensor->memory == TRN_PSUM) m = nki_as_tile(r, nki_do_copy(r, m, (nki_result){.engine = TRN_ENGINE_ANY}));
  if (result.into && result.into->tensor->memory != TRN_PSUM && !adds) result.into = NULL;
  /* the columns of the stationary operand, then the free dimensions of the moving operand */
  int64_t size[TRN_VIEW_DIMS];
  memcpy(size, m->size, sizeof size);
  size[0] = columns;
  nki_view *whole = destination(r, &result, TRN_PSUM, TRN_F32, m->n, size);
  if (whole->tensor->memory != TRN_PSUM) nki_fail(r, "the result of nc_matmul must be in PSUM");
  const nki_bounds bounds = box_of(r, result.mask, m->n, size, "nc_matmul");
  if (bounds.is_empty) return whole;
  nki_view *to = nki_cut(r, whole, &bounds);
  nki_tensor *t = to->tensor;
  const int64_t block = to->column / t->columns;
  bool is_first = !adds;
  if (t->block_is_zero_pending && t->block_is_zero_pending[block]) {
    t->block_is_zero_pending[block] = false;
    is_first = true;
  }
  nki_bounds cut = bounds; /* the bounds of the moving operand: all of its partitions */
  cut.lo[0] = 0;
  cut.hi[0] = rows;
  m = nki_cut(r, m, &cut);
  cut = (nki_bounds){.n = s->n};
  memcpy(cut.hi, s->size, sizeof cut.hi);
  if (bounds.lo[0] || bounds.hi[0] < columns) {
    if (s->n != 2) nki_fail(r, "unsupported mask of nc_matmul on a stationary operand of more than two dimensions");
    cut.lo[1] = bounds.lo[0];
    cut.hi[1] = bounds.hi[0];
  }
  s = nki_cut(r, s, &cut);
  trn_instruction i = {.opcode = TRN_MATMUL,
                       .engine = TRN_TENSOR,
                       .elements = nki_free_elements(m),
                       .partitions = (int)rows,
                       .columns = (int)nki_free_elements(s),
                       .is_first = is_first};
  nki_emit(r, i, 1, 3, (nki_view *[]){to, s, m});
  if (!is_first) nki_last(r)->operand[0].is_read = true;
  r->product = (nki_product){result.into || nki_given(result.mask) ? NULL : whole, s, m, r->program->n_instructions};
  const trn_view dst = nki_data(r, to), x = nki_data(r, s), y = nki_data(r, m);
  if (dst.array && !trn_multiply(&dst, &x, &y, !is_first)) nki_out_of_memory(r);
  return whole;
}

bool nki_add_product(nki_run *r, nki_view *into, const nki_view *product) {
  const nki_product of = r->product;
  if (product != of.tile || r->program->n_instructions != of.end) return false;
  const bool is_transpose = nki_last(r)->is_transpose;
  r->program->n_instructions--;
  of.tile->tensor->is_added = true;
  nki_do_matmul(r, of.stationary, of.moving, true, (nki_result){.into = into, .engine = TRN_TENSOR});
  nki_last(r)->is_transpose = is_transpose;
  return true;
}

nki_view *nki_do_transpose(nki_run *r, nki_view *src, nki_result result) {
  nki_view *s = tile_of(r, src);
  const nki_bounds bounds = box_of(r, result.mask, s->n, s->size, "a transpose");
  const int64_t rows = s->size[0], columns = nki_free_elements(s), limit = 128;
  if (rows > limit || columns > limit)
    nki_fail(r, "nc_transpose of %lld x %lld; expected at most %lld x %lld on this engine", (long long)rows,
             (long long)columns, (long long)limit, (long long)limit);
  const bool by_tensor = result.engine != TRN_VECTOR;
  if (by_tensor && s->tensor->memory != TRN_SBUF)
    nki_fail(r, "the Tensor engine transposes from SBUF; expected a tile in SBUF");
  nki_view *whole = destination(r, &result, by_tensor ? TRN_PSUM : TRN_SBUF, src->type, 2, (int64_t[]){columns, rows});
  if (bounds.is_empty) return whole;
  const bool is_flat = s->n == 2;
  const nki_bounds turned = {
      .n = 2, .lo = {is_flat ? bounds.lo[1] : 0, bounds.lo[0]}, .hi = {is_flat ? bounds.hi[1] : columns, bounds.hi[0]}};
  nki_view *from = nki_cut(r, s, &bounds), *to = nki_cut(r, whole, &turned);
  trn_instruction i = {.opcode = by_tensor ? TRN_PE_TRANSPOSE : TRN_TRANSPOSE,
                       .engine = by_tensor ? TRN_TENSOR : TRN_VECTOR,
                       .partitions = (int)from->size[0],
                       .elements = nki_free_elements(from),
                       .columns = (int)from->size[0],
                       .is_transpose = true};
  /* the array streams an identity with a column for each row of the tile */
  if (by_tensor && i.elements < i.partitions) i.elements = i.partitions;
  nki_emit(r, i, 1, 2, (nki_view *[]){to, from});
  const trn_view dst = nki_data(r, to), in = nki_data(r, from);
  if (dst.array) trn_turn(&dst, &in);
  return whole;
}

/* ---- constants and selections ---- */

nki_view *nki_do_fill(nki_run *r, double value, nki_view *into, nki_value mask, trn_engine engine) {
  nki_view *tile = nki_as_tile(r, into);
  const nki_bounds bounds = box_of(r, mask, tile->n, tile->size, "a fill");
  if (bounds.is_empty) return into;
  nki_view *to = nki_cut(r, tile, &bounds);
  nki_emit_pass(r, TRN_MEMSET, engine, nki_free_elements(to), 1, &to);
  const trn_view dst = nki_data(r, to);
  trn_fill(&dst, value);
  return into;
}

nki_view *nki_do_iota(nki_run *r, const nki_index *x, nki_result result) {
  int64_t size[TRN_VIEW_DIMS], at[TRN_VIEW_DIMS] = {0};
  const int n = x->n > 1 ? x->n : 2;
  for (int d = 0; d < n; d++) size[d] = d < x->n ? x->size[d] : 1;
  nki_view *whole = destination(r, &result, TRN_SBUF, TRN_I32, n, size);
  const nki_bounds bounds = box_of(r, result.mask, n, size, "iota");
  if (bounds.is_empty) return whole;
  nki_view *to = nki_cut(r, whole, &bounds);
  nki_emit_pass(r, TRN_IOTA, TRN_GPSIMD, nki_free_elements(to), 1, &to);
  const trn_view all = nki_data(r, to);
  if (!all.array) return whole;
  for (int d = 0; d >= 0;) {
    double value = (double)x->offset;
    int64_t element = all.offset;
    for (int k = 0; k < n; k++) {
      if (k < x->n) value += (double)x->factor[k] * (double)(at[k] + bounds.lo[k]);
      element += at[k] * all.stride[k];
    }
    trn_set(&all, element, value);
    for (d = n - 1; d >= 0 && ++at[d] == all.size[d]; d--) at[d] = 0;
  }
  return whole;
}

nki_view *nki_do_select(nki_run *r, const nki_mask *predicate, nki_view *on_true, double on_false, nki_result result) {
  const operands o = operands_of(r, on_true, NULL);
  nki_view *whole = destination(r, &result, TRN_SBUF, on_true->type, o.dims, o.size);
  const nki_bounds bounds = box_of(r, result.mask, o.dims, o.size, "affine_select");
  if (bounds.is_empty) return whole;
  nki_view *to = nki_cut(r, whole, &bounds), *from = nki_cut(r, o.source[0], &bounds);
  if (from->tensor->memory == TRN_PSUM && !r->is_newer) /* GpSimd cannot read PSUM: the older compiler inserts a copy */
    from = nki_as_tile(r, nki_do_copy(r, from, (nki_result){.engine = TRN_ENGINE_ANY}));
  nki_emit_pass(r, TRN_AFFINE_SELECT, TRN_GPSIMD, nki_free_elements(to), 2, (nki_view *[]){to, from});
  const trn_view dst = nki_data(r, to), src = nki_data(r, from);
  if (!dst.array) return whole;
  /* first the value for every element, then the elements that the predicate selects */
  nki_bounds allowed = bounds;
  allowed.rest = nki_mask_new(r);
  *allowed.rest = (nki_mask){.object = allowed.rest->object, .n = predicate->n};
  memcpy(allowed.rest->condition, predicate->condition, sizeof predicate->condition);
  if (dst.array == src.array) nki_fail(r, "unsupported affine_select in place");
  trn_fill(&dst, on_false);
  trn_copy(&dst, &src, nki_allowed, &allowed);
  return whole;
}
