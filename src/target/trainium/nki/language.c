/* language.c - nki.language: tensors, loads and stores, arithmetic on tiles. Each function becomes the instructions of nki.isa
 * that NKI's documentation names for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "target/trainium/nki/value.h"

nki_result nki_result_of(nki_run *r, nki_arguments *a, nki_value dtype, nki_value mask, trn_engine engine) {
  nki_result out = {.into = a->into, .mask = mask, .engine = engine};
  if (a->into) a->used_into = true;
  if (nki_given(dtype)) {
    out.has_type = true;
    out.type = nki_dtype(r, dtype);
  }
  return out;
}

static nki_result result_of(nki_run *r, nki_arguments *a, nki_value dtype, nki_value mask) {
  return nki_result_of(r, a, dtype, mask, TRN_ENGINE_ANY);
}

/* ---- tensors ---- */

static trn_memory memory_of(nki_run *r, nki_value v) {
  if (v.type == NKI_V_BUFFER) return (trn_memory)v.as.i;
  if (!nki_given(v)) return TRN_SBUF;
  nki_fail(r, "unsupported value of 'buffer': %s; expected nl.sbuf, nl.psum or nl.shared_hbm", nki_type_name(v));
}

/* shape dtype buffer */
static nki_view *make(nki_run *r, nki_value shape, nki_value dtype, nki_value buffer, bool is_defined) {
  int64_t size[TRN_VIEW_DIMS];
  int axis;
  const int n = nki_shape(r, shape, size, &axis);
  const trn_memory memory = memory_of(r, buffer);
  if (!n) nki_fail(r, "a tensor without dimensions");
  nki_tensor *t = nki_tensor_new(r, memory, nki_given(dtype) ? nki_dtype(r, dtype) : TRN_F32, n, size,
                                 memory == TRN_HBM ? -1 : axis, is_defined);
  return nki_view_whole(r, t, n, size, memory == TRN_HBM ? -1 : axis);
}

NKI_CALL(do_ndarray) { return nki_of(make(r, a->at[0], a->at[1], a->at[2], false)); }

/* shape dtype buffer value */
static nki_value filled(nki_run *r, nki_value shape, nki_value dtype, nki_value buffer, double value) {
  nki_view *v = make(r, shape, dtype, buffer, true);
  nki_tensor *t = v->tensor;
  if (t->memory == TRN_HBM) nki_fail(r, "unsupported filled tensor in HBM; expected nl.sbuf or nl.psum");
  if (t->memory == TRN_PSUM && value == 0) { /* if a multiplication comes first, the zeros need not be written */
    t->block_is_zero_pending = calloc((size_t)t->blocks, sizeof(bool));
    if (!t->block_is_zero_pending) nki_out_of_memory(r);
    memset(t->block_is_zero_pending, true, (size_t)t->blocks);
    return nki_of(v);
  }
  for (int64_t block = 0; block < t->blocks; block++) {
    nki_view *part = nki_tile_of_block(r, t, block);
    nki_do_fill(r, value, part, (nki_value){0}, TRN_ENGINE_ANY);
  }
  return nki_of(v);
}

NKI_CALL(do_zeros) { return filled(r, a->at[0], a->at[1], a->at[2], *b->name == 'o'); }

NKI_CALL(do_full) { return filled(r, a->at[0], a->at[2], a->at[3], nki_number(r, a->at[1], b->name)); }

NKI_CALL(do_zeros_like) {
  const nki_view *v = nki_operand(r, a->at[0], "a");
  const nki_value dtype = nki_given(a->at[1]) ? a->at[1] : (nki_value){.type = NKI_V_DTYPE, .as.i = v->type};
  return filled(r, nki_sizes_of(r, v), dtype, a->at[2], *b->name == 'o');
}

NKI_CALL(do_par_dim) { return (nki_value){.type = NKI_V_PAR_DIM, .as.i = nki_integer(r, a->at[0], b->name)}; }

NKI_CALL(do_arange) {
  const bool has_start = a->at[1].type != NKI_V_MISSING;
  const int64_t start = has_start ? nki_integer(r, a->at[0], "start") : 0;
  const int64_t stop = nki_integer(r, a->at[has_start ? 1 : 0], "stop");
  nki_index *i = nki_index_new(r, 1);
  i->size[0] = stop > start ? stop - start : 0;
  i->factor[0] = 1;
  i->offset = start;
  return nki_of(i);
}

NKI_CALL(do_ds) {
  nki_slice *s = nki_new(r, NKI_V_SLICE, sizeof *s);
  const int64_t start = nki_integer(r, a->at[0], b->name);
  s->start = nki_int(start);
  s->stop = nki_int(start + nki_integer(r, a->at[1], b->name));
  s->step = nki_none();
  return nki_of(s);
}

NKI_CALL(do_one) { return nki_int(b->code); }

/* ---- HBM ---- */

static nki_view *in_hbm(nki_run *r, nki_value v, const char *what) {
  if (v.type != NKI_V_VIEW || nki_view_of(v)->tensor->memory != TRN_HBM)
    nki_fail(r, "%s %s; expected a tensor in HBM", what, v.type == NKI_V_VIEW ? "a tile" : nki_type_name(v));
  return nki_view_of(v);
}

NKI_CALL(do_load) {
  return nki_of(nki_do_dma(r, in_hbm(r, a->at[0], "nl.load of"), result_of(r, a, a->at[2], a->at[1])));
}

NKI_CALL(do_store) {
  nki_view *dst = in_hbm(r, a->at[0], "nl.store to");
  nki_view *value = nki_operand(r, a->at[1], "value");
  if (value->tensor->memory == TRN_PSUM) value = nki_do_copy(r, value, (nki_result){.engine = TRN_ENGINE_ANY});
  nki_do_dma(r, value, (nki_result){.into = dst, .mask = a->at[2], .engine = TRN_SYNC});
  return nki_none();
}

/* DMA transposes have elements of two bytes at most: wider ones are loaded and transposed by the Tensor engine, 128 rows at a time. */
static nki_value load_transposed_by_tensor(nki_run *r, const nki_view *given, nki_result result) {
  const nki_bounds all = nki_bounds_of(r, (nki_value){0}, given->n, given->size);
  const nki_view *src = nki_cut(r, given, &all);
  const int64_t rows = src->size[0], columns = src->size[1];
  const bool is_there = result.into && result.into->n == 2 && result.into->tensor->memory == TRN_SBUF;
  const nki_bounds whole =
      nki_bounds_of(r, (nki_value){0}, 2, is_there ? result.into->size : (int64_t[]){columns, rows});
  nki_view *out = is_there
                      ? nki_cut(r, result.into, &whole)
                      : nki_tile(r, TRN_SBUF, result.has_type ? result.type : src->type, 2, (int64_t[]){columns, rows});
  if (out->size[0] != columns || out->size[1] != rows)
    nki_fail(r, "load_transpose2d: the destination has another shape");
  for (int64_t from = 0; from < rows; from += 128) {
    const int64_t n = rows - from < 128 ? rows - from : 128;
    nki_view *part = nki_view_copy(r, src), *to = nki_columns(r, out, from, n);
    part->column += from * part->along_columns[0];
    part->size[0] = n;
    nki_view *tile = nki_do_dma(r, part, (nki_result){.engine = TRN_ENGINE_ANY});
    nki_view *turned = nki_do_transpose(r, tile, (nki_result){.engine = TRN_TENSOR});
    nki_do_copy(r, turned, (nki_result){.into = to, .engine = TRN_ENGINE_ANY});
  }
  return nki_of(out);
}

NKI_CALL(do_load_transpose) {
  if (a->at[0].type != NKI_V_VIEW || nki_view_of(a->at[0])->n != 2)
    nki_fail(r, "load_transpose2d needs a tensor of two dimensions in HBM");
  const nki_view *given = nki_view_of(a->at[0]);
  if (trn_type_bytes(given->type) > 2 && given->size[1] <= 128 && given->tensor->memory == TRN_HBM)
    return load_transposed_by_tensor(r, given, result_of(r, a, a->at[2], a->at[1]));
  nki_result result = result_of(r, a, a->at[2], a->at[1]);
  result.is_transpose = true;
  return nki_of(nki_do_dma(r, nki_turn(r, given), result));
}

/* ---- arithmetic ---- */

static bool is_pointer(const nki_view *v, const nki_view *other) {
  return nki_free_elements(v) == 1 && nki_free_elements(other) > 1 && v->n &&
         (v->along_partitions[0] || v->size[0] == 1) && v->size[0] == other->size[0];
}

nki_value nki_arithmetic(nki_run *r, trn_binary op, nki_value x, nki_value y, nki_result result) {
  if (op == TRN_POWER) result.engine = TRN_GPSIMD;
  if (nki_is_number(x) && nki_is_number(y))
    return nki_real(trn_compute_binary(op, nki_number(r, x, "x"), nki_number(r, y, "y")));
  if (nki_is_number(x)) {
    nki_view *v = nki_operand(r, y, "y");
    return nki_of(
        nki_do_scalar(r, v, op, (nki_scalar){.value = nki_number(r, x, "x")}, true, TRN_BYPASS, NULL, false, result));
  }
  nki_view *a = nki_operand(r, x, "x");
  if (!nki_is_number(y)) {
    nki_view *b = nki_operand(r, y, "y");
    if (is_pointer(b, a))
      return nki_of(nki_do_scalar(r, a, op, (nki_scalar){.pointer = b}, false, TRN_BYPASS, NULL, false, result));
    if (is_pointer(a, b))
      return nki_of(nki_do_scalar(r, b, op, (nki_scalar){.pointer = a}, true, TRN_BYPASS, NULL, false, result));
    if (result.engine == TRN_ENGINE_ANY) result.engine = TRN_VECTOR;
    return nki_of(nki_do_binary(r, op, a, b, result));
  }
  double value = nki_number(r, y, "y");
  if (op == TRN_DIVIDE) { /* the engines multiply by the reciprocal */
    value = 1 / value;
    op = TRN_MULTIPLY;
  }
  return nki_of(nki_do_scalar(r, a, op, (nki_scalar){.value = value}, false, TRN_BYPASS, NULL, false, result));
}

NKI_CALL(do_arithmetic) {
  if (a->at[0].type == NKI_V_INDEX || a->at[1].type == NKI_V_INDEX || a->at[0].type == NKI_V_MASK) {
    const int op = b->code == TRN_LOGICAL_AND ? '&' : nki_operator_of((trn_binary)b->code);
    if (op) return nki_binary(r, op, a->at[0], a->at[1], NULL);
  }
  return nki_arithmetic(r, (trn_binary)b->code, a->at[0], a->at[1], result_of(r, a, a->at[2], a->at[3]));
}

NKI_CALL(do_function) {
  const trn_unary op = (trn_unary)(b->code - NKI_ACTIVATION);
  if (nki_is_number(a->at[0])) return nki_real(trn_compute_unary(op, nki_number(r, a->at[0], b->name)));
  nki_view *x = nki_operand(r, a->at[0], "x");
  nki_result result = result_of(r, a, a->at[1], a->at[2]);
  if (op == TRN_NEGATE)
    return nki_of(nki_do_scalar(r, x, TRN_MULTIPLY, (nki_scalar){.value = -1}, false, TRN_BYPASS, NULL, false, result));
  if (op != TRN_RECIP) result.engine = TRN_SCALAR;
  return nki_of(nki_do_unary(r, op, x, (nki_scalar){.value = 1}, NULL, result));
}

NKI_CALL(do_copy) {
  nki_view *src = nki_operand(r, a->at[0], "src");
  nki_result result = result_of(r, a, a->at[1], a->at[2]);
  /* profiles of NeuronCore-v2 have such copies on Scalar alone */
  if (trn_is_v2(r->config) && !r->is_newer && src->tensor->memory == TRN_PSUM) result.engine = TRN_SCALAR;
  return nki_of(nki_do_copy(r, src, result));
}

/* x axis dtype mask keepdims */
NKI_CALL(do_reduction) {
  nki_view *x = nki_operand(r, a->at[0], "x");
  const nki_value dtype = a->at[2], mask = a->at[3];
  const bool keeps = nki_given(a->at[4]) && nki_truth(r, a->at[4]);
  const unsigned axes = nki_axes(r, a->at[1], x->n);
  if (b->code >= 0) /* not the mean */
    return nki_of(
        nki_do_reduce(r, (trn_binary)b->code, x, axes, keeps, false, nki_result_of(r, a, dtype, mask, TRN_VECTOR)));
  int64_t n = 1;
  for (int d = 0; d < x->n; d++)
    if (axes >> d & 1) n *= x->size[d];
  nki_view *sum = nki_do_reduce(r, TRN_ADD, x, axes, keeps, false, (nki_result){.mask = mask, .engine = TRN_VECTOR});
  nki_result last = result_of(r, a, dtype, (nki_value){0});
  return nki_of(
      nki_do_scalar(r, sum, TRN_MULTIPLY, (nki_scalar){.value = 1 / (double)n}, false, TRN_BYPASS, NULL, false, last));
}

/* x op loop_indices dtype mask: over the iterations of loops that start at 0 */
NKI_CALL(do_loop_reduce) {
  bool is_first = true;
  const trn_binary op = nki_binary_op(r, a->at[1], "op");
  nki_view *x = nki_operand(r, a->at[0], "x");
  if (!a->into) nki_fail(r, "%s: expected an assignment to a part of a tensor", b->name);
  nki_value v;
  for (size_t i = 0; nki_next(r, a->at[2], &i, &v);) is_first = is_first && !nki_integer(r, v, "loop_indices");
  const nki_result result = result_of(r, a, a->at[3], a->at[4]);
  if (is_first) return nki_of(nki_do_copy(r, x, result));
  return nki_of(
      nki_do_binary(r, op, result.into, x, (nki_result){.into = result.into, .mask = a->at[4], .engine = TRN_VECTOR}));
}

/* x y transpose_x mask */
NKI_CALL(do_matmul) {
  nki_view *x = nki_operand(r, a->at[0], "x"), *y = nki_operand(r, a->at[1], "y");
  if (!(nki_given(a->at[2]) &&
        nki_truth(r, a->at[2]))) { /* the Tensor engine needs x with the contracted dimension in partitions */
    nki_view *turned = nki_do_transpose(r, x, (nki_result){.engine = TRN_TENSOR});
    x = nki_do_copy(r, turned, (nki_result){.engine = TRN_ENGINE_ANY, .has_type = true, .type = x->type});
  }
  nki_result result = {
      .into = a->into && a->into->tensor->memory == TRN_PSUM ? a->into : NULL, .mask = a->at[3], .engine = TRN_TENSOR};
  a->used_into = result.into != NULL;
  return nki_of(nki_do_matmul(r, x, y, a->adds && a->used_into, result));
}

NKI_CALL(do_transpose) {
  nki_result result = result_of(r, a, a->at[1], a->at[2]);
  if (result.into && result.into->tensor->memory != TRN_PSUM) {
    result.into = NULL;
    a->used_into = false;
  }
  result.engine = TRN_TENSOR;
  return nki_of(nki_do_transpose(r, nki_operand(r, a->at[0], "x"), result));
}

NKI_CALL(do_broadcast) { return nki_method_find("broadcast_to")->call(r, b, a); }

NKI_CALL(do_expand_dims) {
  nki_value index[TRN_VIEW_DIMS + 1];
  if (a->at[0].type != NKI_V_VIEW) nki_fail(r, "expand_dims of %s; expected a tensor", nki_type_name(a->at[0]));
  const int n = nki_view_of(a->at[0])->n;
  int64_t axis = nki_integer(r, a->at[1], "axis");
  if (axis < 0) axis += n + 1;
  if (axis < 0 || axis > n || n == TRN_VIEW_DIMS)
    nki_fail(r, "expand_dims: axis %lld of %d dimensions", (long long)axis, n);
  nki_slice *all = nki_new(r, NKI_V_SLICE, sizeof *all);
  all->start = all->stop = all->step = nki_none();
  for (int d = 0; d <= n; d++) index[d] = d == axis ? nki_none() : nki_of(all);
  return nki_of(nki_view_index(r, nki_view_of(a->at[0]), nki_sequence_of(r, NKI_V_TUPLE, (size_t)n + 1, index)));
}

/* condition x y dtype mask: y, then a predicated copy of x over it. */
NKI_CALL(do_where) {
  if (a->at[0].type == NKI_V_MASK) {
    nki_result result = result_of(r, a, a->at[3], a->at[4]);
    return nki_of(nki_do_select(r, (nki_mask *)a->at[0].as.o, nki_operand(r, a->at[1], "x"),
                                nki_number(r, a->at[2], "y"), result));
  }
  if (nki_given(a->at[4])) nki_fail(r, "unsupported mask of nl.where on the values of a tensor");
  nki_view *x = nki_operand(r, a->at[1], "x"); /* the result may be assigned to x, so it gets another tile */
  nki_view *out = nki_tile(r, TRN_SBUF, nki_given(a->at[3]) ? nki_dtype(r, a->at[3]) : x->type, x->n, x->size);
  nki_do_fill(r, nki_number(r, a->at[2], "y"), out, (nki_value){.type = NKI_V_MISSING}, TRN_ENGINE_ANY);
  nki_arguments select = {.at = {nki_of(out), a->at[1], a->at[0]}};
  return nki_do_predicated(r, b, &select);
}

/* x axis dtype mask: max, exp(x - max), sum, times 1 / sum */
NKI_CALL(do_softmax) {
  nki_view *x = nki_operand(r, a->at[0], "x");
  const unsigned axes = nki_axes(r, a->at[1], x->n);
  const nki_value mask = a->at[3];
  nki_view *least =
      nki_do_reduce(r, TRN_MAXIMUM, x, axes, true, true, (nki_result){.mask = mask, .engine = TRN_VECTOR});
  nki_scalar bias = {.pointer = least};
  nki_view *e = nki_do_unary(r, TRN_EXP, x, (nki_scalar){.value = 1}, &bias,
                             (nki_result){.mask = mask, .engine = TRN_SCALAR, .has_type = true, .type = TRN_F32});
  nki_view *sum = nki_do_reduce(r, TRN_ADD, e, axes, true, false, (nki_result){.mask = mask, .engine = TRN_VECTOR});
  nki_view *inverse =
      nki_do_unary(r, TRN_RECIP, sum, (nki_scalar){.value = 1}, NULL, (nki_result){.engine = TRN_VECTOR});
  return nki_of(nki_do_scalar(r, e, TRN_MULTIPLY, (nki_scalar){.pointer = inverse}, false, TRN_BYPASS, NULL, false,
                              result_of(r, a, a->at[2], mask)));
}

#define BINARY(op, name) {NKI_LIB_NL, name, do_arithmetic, "x y dtype mask", TRN_##op},
#define FUNCTION(op, name) {NKI_LIB_NL, name, do_function, "x dtype mask", NKI_ACTIVATION + TRN_##op},
#define REDUCTION(name, op)                                                                                            \
  { NKI_LIB_NL, name, do_reduction, "x axis dtype mask keepdims", op }
const nki_builtin nki_language_builtins[] = {
    {NKI_LIB_NL, "ndarray", do_ndarray, "shape dtype buffer address", -1},
    {NKI_LIB_NL, "empty", do_ndarray, "shape dtype buffer", -1},
    {NKI_LIB_NL, "zeros", do_zeros, "shape dtype buffer lazy_initialization", -1},
    {NKI_LIB_NL, "ones", do_zeros, "shape dtype buffer", -1},
    {NKI_LIB_NL, "full", do_full, "shape fill_value dtype buffer", -1},
    {NKI_LIB_NL, "zeros_like", do_zeros_like, "a dtype buffer", -1},
    {NKI_LIB_NL, "par_dim", do_par_dim, "size", -1},
    {NKI_LIB_NL, "arange", do_arange, "start stop", -1},
    {NKI_LIB_NL, "mgrid", NULL, "", -1},
    {NKI_LIB_NL, "ds", do_ds, "start size", -1},
    {NKI_LIB_NL, "dslice", do_ds, "start size", -1},
    {NKI_LIB_NL, "affine_range", nki_do_range, "*", -1},
    {NKI_LIB_NL, "sequential_range", nki_do_range, "*", -1},
    {NKI_LIB_NL, "static_range", nki_do_range, "*", -1},
    {NKI_LIB_NL, "no_reorder", nki_do_no_reorder, "", -1},
    {NKI_LIB_NL, "program_id", do_one, "axis", 0},
    {NKI_LIB_NL, "num_programs", do_one, "axes", 1},
    {NKI_LIB_NL, "program_ndim", do_one, "", 0},
    {NKI_LIB_NL, "load", do_load, "src mask dtype", -1},
    {NKI_LIB_NL, "store", do_store, "dst value mask", -1},
    {NKI_LIB_NL, "load_transpose2d", do_load_transpose, "src mask dtype", -1},
    {NKI_LIB_NL, "copy", do_copy, "src dtype mask", TRN_BYPASS},
    {NKI_LIB_NL, "static_cast", do_copy, "src dtype mask", -1},
    {NKI_LIB_NL, "matmul", do_matmul, "x y transpose_x mask", -1},
    {NKI_LIB_NL, "transpose", do_transpose, "x dtype mask", -1},
    {NKI_LIB_NL, "broadcast_to", do_broadcast, "x shape", -1},
    {NKI_LIB_NL, "expand_dims", do_expand_dims, "data axis", -1},
    {NKI_LIB_NL, "where", do_where, "condition x y dtype mask", -1},
    {NKI_LIB_NL, "loop_reduce", do_loop_reduce, "x op loop_indices dtype mask", -1},
    {NKI_LIB_NL, "softmax", do_softmax, "x axis dtype mask", -1},
    REDUCTION("sum", TRN_ADD),
    REDUCTION("max", TRN_MAXIMUM),
    REDUCTION("min", TRN_MINIMUM),
    REDUCTION("mean", -1),
    REDUCTION("prod", TRN_MULTIPLY),
    TRN_BINARY_OPS(BINARY) TRN_UNARY_OPS(FUNCTION){NKI_LIB_NL, NULL, NULL, NULL, -1}};
