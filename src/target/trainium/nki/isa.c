/* isa.c - nki.isa: one instruction for each call. The older dialect returns tiles; the newer one writes to `dst`. */
#include <math.h>
#include <string.h>

#include "target/trainium/nki/value.h"

static trn_engine engine_of(nki_run *r, nki_value v, trn_engine fallback) {
  if (!nki_given(v)) return fallback;
  if (v.type != NKI_V_ENGINE)
    nki_fail(r, "unsupported value of 'engine': %s; expected nisa.vector_engine or another engine", nki_type_name(v));
  return v.as.i == TRN_ENGINE_ANY ? fallback : (trn_engine)v.as.i;
}

/* The destination: `dst` of the newer dialect, or the tensor that is assigned to. */
nki_result nki_isa_result(nki_run *r, nki_arguments *a, nki_value dtype, nki_value mask, trn_engine engine) {
  nki_result out = {.mask = mask, .engine = engine};
  if (a->at[0].type != NKI_V_MISSING) {
    if (a->at[0].type != NKI_V_VIEW)
      nki_fail(r, "unsupported value of 'dst': %s; expected a tensor", nki_type_name(a->at[0]));
    out.into = nki_view_of(a->at[0]);
    if (out.into->tensor->memory == TRN_HBM) nki_fail(r, "'dst' is in HBM; expected a tile in SBUF or PSUM");
    return out;
  }
  return nki_result_of(r, a, dtype, mask, engine);
}

static bool flag(nki_run *r, nki_value v) { return nki_given(v) && nki_truth(r, v); }

/* A matmul or transpose writes to PSUM: if the assigned tensor is elsewhere, a copy follows. */
static void only_psum(nki_arguments *a, nki_result *result) {
  if (a->at[0].type != NKI_V_MISSING || !result->into || result->into->tensor->memory == TRN_PSUM) return;
  result->into = NULL;
  a->used_into = false;
}

/* dst stationary moving ... mask accumulate */
NKI_CALL(do_nc_matmul) {
  nki_result result = nki_isa_result(r, a, (nki_value){0}, a->at[8], TRN_TENSOR);
  only_psum(a, &result);
  nki_view *stationary = nki_operand(r, a->at[1], "stationary"), *moving = nki_operand(r, a->at[2], "moving");
  if (nki_given(a->at[7])) nki_fail(r, "nc_matmul: unsupported argument 'perf_mode'");
  bool adds = a->adds && a->used_into;
  if (a->at[0].type != NKI_V_MISSING) /* None: add to the result of an earlier multiplication, or overwrite */
    adds = nki_given(a->at[9]) ? nki_truth(r, a->at[9]) : nki_accumulates(result.into);
  const size_t before = r->program->n_instructions;
  const nki_value out = nki_of(nki_do_matmul(r, stationary, moving, adds, result));
  /* A transpose by the identity, or a product with zeros and ones: f32 needs only one pass. */
  if (r->program->n_instructions > before)
    nki_last(r)->is_transpose = flag(r, a->at[3]) || flag(r, a->at[4]) || flag(r, a->at[5]);
  if (a->at[0].type != NKI_V_MISSING) nki_note_matmul(r, result.into);
  return out;
}

NKI_CALL(do_nc_transpose) {
  nki_view *data = nki_operand(r, a->at[1], "data");
  const bool is_small = data->n && data->size[0] <= 32 && nki_free_elements(data) <= 32;
  const trn_engine engine =
      engine_of(r, a->at[3], is_small && data->tensor->memory == TRN_PSUM ? TRN_VECTOR : TRN_TENSOR);
  nki_result result = nki_isa_result(r, a, a->at[4], a->at[2], engine);
  if (engine == TRN_TENSOR) only_psum(a, &result);
  return nki_of(nki_do_transpose(r, data, result));
}

/* The values that an activation adds in the engine's accumulator, by `command`; a `reduce_res` is read from it. */
static void accumulate(nki_run *r, nki_view *written, nki_view *values, nki_value op, nki_value result,
                       nki_value command) {
  const int64_t what = nki_given(command)  ? nki_integer(r, command, "reduce_cmd")
                       : nki_given(result) ? NKI_REDUCE_RESET_REDUCE
                                           : NKI_REDUCE_IDLE;
  if (nki_given(op) && nki_binary_op(r, op, "reduce_op") != TRN_ADD)
    nki_fail(r, "unsupported reduce_op of an activation; expected nl.add");
  if (what == NKI_REDUCE_RESET || what == NKI_REDUCE_RESET_REDUCE) memset(r->accumulator, 0, sizeof r->accumulator);
  nki_view *tile = nki_as_tile(r, written);
  if (what >= NKI_REDUCE_REDUCE && r->computes && !r->skips) {
    trn_array sums;
    if (!trn_array_make(&sums, 128, false)) nki_out_of_memory(r);
    const trn_view to = {.array = &sums, .type = TRN_F32, .n = 1, .size = {tile->size[0]}, .stride = {1}},
                   from = nki_data(r, nki_as_tile(r, values));
    trn_reduce(&to, &from, tile->n - 1, TRN_ADD, false);
    for (int64_t p = 0; p < tile->size[0] && p < 128; p++)
      r->accumulator[p] = sums.undefined[p] ? NAN : (double)(float)(r->accumulator[p] + trn_get(&to, p));
    trn_array_free(&sums);
  }
  if (!nki_given(result)) return;
  nki_view *out = nki_as_tile(r, nki_operand(r, result, "reduce_res"));
  if (out->size[0] != tile->size[0])
    nki_fail(r, "reduce_res has %lld partitions; expected %lld", (long long)out->size[0], (long long)tile->size[0]);
  out->n_limits = 0;
  nki_emit(r,
           (trn_instruction){.opcode = TRN_ACCUMULATOR_READ,
                             .engine = TRN_SCALAR,
                             .elements = 1,
                             .partitions = (int)out->size[0],
                             .is_first = what == NKI_REDUCE_RESET_REDUCE},
           1, 2, (nki_view *[]){out, tile});
  if (!r->computes || r->skips) return;
  const trn_view to = nki_data(r, out);
  for (int64_t p = 0; p < out->size[0] && p < 128; p++) trn_set(&to, to.offset + p * to.stride[0], r->accumulator[p]);
}

/* dst op data bias scale reduce_op reduce_res reduce_cmd mask dtype */
NKI_CALL(do_activation) {
  const trn_unary op = nki_unary_op(r, a->at[1], "op");
  nki_view *data = nki_operand(r, a->at[2], "data");
  nki_scalar bias = {0};
  if (nki_given(a->at[3])) bias = nki_scalar_of(r, a->at[3], "bias");
  const nki_scalar scale = nki_given(a->at[4]) ? nki_scalar_of(r, a->at[4], "scale") : (nki_scalar){.value = 1};
  nki_result result = nki_isa_result(r, a, a->at[9], a->at[8], TRN_SCALAR);
  nki_view *exact = NULL; /* the accumulator adds the function's values before they are rounded to the tile's type */
  if (r->computes && result.into && result.into->type != TRN_F32 && (nki_given(a->at[6]) || nki_given(a->at[7]))) {
    r->is_muted = true;
    exact = nki_do_unary(r, op, data, scale, nki_given(a->at[3]) ? &bias : NULL,
                         (nki_result){.mask = a->at[8], .has_type = true, .type = TRN_F32, .engine = TRN_SCALAR});
    r->is_muted = false;
  }
  nki_view *out = nki_do_unary(r, op, data, scale, nki_given(a->at[3]) ? &bias : NULL, result);
  accumulate(r, out, exact ? exact : out, a->at[5], a->at[6], a->at[7]);
  return nki_of(out);
}

/* dst data1 data2 op dtype mask engine */
NKI_CALL(do_tensor_tensor) {
  const trn_binary op = nki_binary_op(r, a->at[3], "op");
  nki_result result =
      nki_isa_result(r, a, a->at[4], a->at[5], engine_of(r, a->at[6], op == TRN_POWER ? TRN_GPSIMD : TRN_VECTOR));
  return nki_of(nki_do_binary(r, op, nki_operand(r, a->at[1], "data1"), nki_operand(r, a->at[2], "data2"), result));
}

/* dst data op0 operand0 reverse0 op1 operand1 reverse1 dtype mask engine */
NKI_CALL(do_tensor_scalar) {
  nki_view *data = nki_operand(r, a->at[1], "data");
  nki_scalar first = nki_scalar_of(r, a->at[3], "operand0"), second = {0};
  const bool has_second = nki_given(a->at[5]),
             is_root =
                 nki_operation(r, a->at[2], "op0") == NKI_ACTIVATION + TRN_RSQRT && !first.pointer && !first.value;
  const trn_binary op0 = is_root ? TRN_POWER : nki_binary_op(r, a->at[2], "op0"); /* nl.rsqrt with 0 is a power */
  if (is_root) first.value = -0.5;
  if (has_second) second = nki_scalar_of(r, a->at[6], "operand1");
  return nki_of(nki_do_scalar(r, data, op0, first, flag(r, a->at[4]),
                              has_second ? nki_binary_op(r, a->at[5], "op1") : TRN_BYPASS, has_second ? &second : NULL,
                              flag(r, a->at[7]),
                              nki_isa_result(r, a, a->at[8], a->at[9], engine_of(r, a->at[10], TRN_ENGINE_ANY))));
}

/* dst data op0 operand0 op1 operand1 reverse0 reverse1 dtype mask */
NKI_CALL(do_scalar_tensor_tensor) {
  return nki_of(nki_do_scalar_tensor(r, nki_operand(r, a->at[1], "data"), nki_binary_op(r, a->at[2], "op0"),
                                     nki_scalar_of(r, a->at[3], "operand0"), flag(r, a->at[6]),
                                     nki_binary_op(r, a->at[4], "op1"), nki_operand(r, a->at[5], "operand1"),
                                     flag(r, a->at[7]), nki_isa_result(r, a, a->at[8], a->at[9], TRN_VECTOR)));
}

/* dst op data axis dtype mask negate keepdims */
NKI_CALL(do_tensor_reduce) {
  nki_view *data = nki_operand(r, a->at[2], "data");
  return nki_of(nki_do_reduce(r, nki_binary_op(r, a->at[1], "op"), data, nki_axes(r, a->at[3], data->n),
                              flag(r, a->at[7]), flag(r, a->at[6]),
                              nki_isa_result(r, a, a->at[4], a->at[5], TRN_VECTOR)));
}

/* dst data0 data1 initial op0 op1 reverse0 reverse1 dtype mask */
NKI_CALL(do_scan) {
  if (flag(r, a->at[6]) || flag(r, a->at[7]))
    nki_fail(r, "tensor_tensor_scan: unsupported argument 'reverse0' or 'reverse1'");
  const nki_scalar initial = nki_scalar_of(r, a->at[3], "initial");
  return nki_of(nki_do_scan(r, nki_operand(r, a->at[1], "data0"), nki_operand(r, a->at[2], "data1"), initial,
                            nki_binary_op(r, a->at[4], "op0"), nki_binary_op(r, a->at[5], "op1"),
                            nki_isa_result(r, a, a->at[8], a->at[9], TRN_VECTOR)));
}

/* dst src dtype mask engine */
NKI_CALL(do_tensor_copy) {
  const trn_engine usual = r->is_newer && trn_is_v2(r->config) ? TRN_VECTOR : TRN_ENGINE_ANY;
  return nki_of(nki_do_copy(r, nki_operand(r, a->at[1], "src"),
                            nki_isa_result(r, a, a->at[2], a->at[3], engine_of(r, a->at[4], usual))));
}

/* dst data dtype mask */
NKI_CALL(do_reciprocal) {
  return nki_of(nki_do_unary(r, TRN_RECIP, nki_operand(r, a->at[1], "data"), (nki_scalar){.value = 1}, NULL,
                             nki_isa_result(r, a, a->at[2], a->at[3], TRN_ENGINE_ANY)));
}

/* dst src mask dst_rmw_op oob_mode dge_mode: dst comes first in both dialects */
NKI_CALL(do_dma_copy) {
  for (int k = 0; k < 2; k++)
    if (a->at[k].type != NKI_V_VIEW)
      nki_fail(r, "dma_copy: unsupported value of '%s': %s; expected a tensor", k ? "src" : "dst",
               nki_type_name(a->at[k]));
  if (nki_given(a->at[3])) nki_fail(r, "dma_copy: unsupported argument 'dst_rmw_op'");
  return nki_of(nki_do_dma(r, nki_view_of(a->at[1]),
                           (nki_result){.into = nki_view_of(a->at[0]), .mask = a->at[2], .engine = TRN_SYNC}));
}

/* shape value dtype mask engine, or dst value */
NKI_CALL(do_memset) {
  const trn_engine engine = engine_of(r, a->at[5], TRN_ENGINE_ANY);
  if (a->at[0].type == NKI_V_VIEW || a->at[1].type == NKI_V_VIEW) {
    nki_view *dst = nki_operand(r, a->at[0].type == NKI_V_VIEW ? a->at[0] : a->at[1], "dst");
    nki_do_fill(r, nki_number(r, nki_given(a->at[2]) ? a->at[2] : a->at[1], "value"), dst, a->at[4], engine);
    return nki_of(dst);
  }
  int64_t size[TRN_VIEW_DIMS];
  const int n = nki_shape(r, a->at[1], size, NULL);
  nki_view *out = nki_tile(r, TRN_SBUF, nki_given(a->at[3]) ? nki_dtype(r, a->at[3]) : TRN_F32, n, size);
  nki_do_fill(r, nki_number(r, a->at[2], "value"), out, a->at[4], engine);
  return nki_of(out);
}

/* given: pattern offset channel_multiplier. The value is offset + channel_multiplier p + the steps of the pattern. */
static nki_index *pattern_of(nki_run *r, const nki_value given[3], int64_t partitions) {
  nki_index *x = nki_index_new(r, 1);
  x->size[0] = partitions;
  x->factor[0] = nki_given(given[2]) ? nki_integer(r, given[2], "channel_multiplier") : 0;
  x->offset = nki_given(given[1]) ? nki_integer(r, given[1], "offset") : 0;
  nki_add_pattern(r, given[0], x);
  return x;
}

/* The value of a pattern, compared with 0. */
static nki_mask *predicate_of(nki_run *r, nki_arguments *a, int64_t partitions) {
  nki_index *x = pattern_of(r, a->at + 6, partitions);
  const trn_binary op = nki_given(a->at[9]) ? nki_binary_op(r, a->at[9], "cmp_op") : TRN_EQUAL;
  return (nki_mask *)nki_compare(r, nki_operator_of(op), nki_of(x), nki_int(0)).as.o;
}

/* dst pred on_true_tile on_false_value mask dtype pattern offset channel_multiplier cmp_op */
NKI_CALL(do_affine_select) {
  const nki_result result = nki_isa_result(r, a, a->at[5], a->at[4], TRN_GPSIMD);
  nki_view *tile = nki_operand(r, a->at[2], "on_true_tile");
  const double value = nki_number(r, a->at[3], "on_false_value");
  nki_mask *mask = NULL;
  if (nki_given(a->at[6]))
    mask = predicate_of(r, a, nki_as_tile(r, tile)->size[0]);
  else if (a->at[1].type == NKI_V_MASK)
    mask = (nki_mask *)a->at[1].as.o;
  else if (a->at[1].type != NKI_V_BOOL)
    nki_fail(r, "affine_select: unsupported value of 'pred': %s; expected a comparison of indices",
             nki_type_name(a->at[1]));
  if (!mask) {
    mask = nki_mask_new(r);
    mask->n = 1;
    mask->condition[0].offset = a->at[1].as.i ? 0 : -1;
  }
  return nki_of(nki_do_select(r, mask, tile, value, result));
}

/* dst expr dtype mask pattern offset channel_multiplier: the value of an index expression at each place */
NKI_CALL(do_iota) {
  nki_index *x;
  nki_result result = nki_isa_result(r, a, a->at[2], a->at[3], TRN_GPSIMD);
  if (a->at[1].type == NKI_V_INDEX) {
    x = (nki_index *)a->at[1].as.o;
  } else {
    if (!result.into)
      nki_fail(r, "iota: unsupported value of 'expr': %s; expected an index expression", nki_type_name(a->at[1]));
    x = pattern_of(r, a->at + 4, nki_as_tile(r, result.into)->size[0]);
  }
  return nki_of(nki_do_iota(r, x, result));
}

/* dst src axes mask dtype: HBM to SBUF, its two dimensions exchanged */
NKI_CALL(do_dma_transpose) {
  if (a->at[1].type != NKI_V_VIEW || nki_view_of(a->at[1])->n != 2)
    nki_fail(r, "dma_transpose needs a tensor of two dimensions");
  if (nki_given(a->at[2])) nki_fail(r, "dma_transpose: unsupported argument 'axes'");
  nki_result result = nki_isa_result(r, a, a->at[4], a->at[3], TRN_SYNC);
  result.is_transpose = true;
  if (nki_view_of(a->at[1])->tensor->memory != TRN_HBM)
    nki_fail(r, "unsupported dma_transpose from SBUF; expected a tensor in HBM");
  return nki_of(nki_do_dma(r, nki_turn(r, nki_view_of(a->at[1])), result));
}

NKI_CALL(do_nothing) { return nki_none(); }

NKI_CALL(do_version) { return nki_int(trn_is_v2(r->config) ? 2 : 3); }

#define ISA(name, call, parameters)                                                                                    \
  { NKI_LIB_NISA, name, call, parameters, -1 }
const nki_builtin nki_isa_builtins[] = {
    ISA("nc_matmul", do_nc_matmul,
        "dst stationary moving is_stationary_onezero is_moving_onezero is_transpose tile_position perf_mode mask "
        "accumulate tile_size"),
    ISA("nc_transpose", do_nc_transpose, "dst data mask engine dtype"),
    ISA("activation", do_activation, "dst op data bias scale reduce_op reduce_res reduce_cmd mask dtype"),
    ISA("tensor_tensor", do_tensor_tensor, "dst data1 data2 op dtype mask engine"),
    ISA("tensor_scalar", do_tensor_scalar, "dst data op0 operand0 reverse0 op1 operand1 reverse1 dtype mask engine"),
    ISA("scalar_tensor_tensor", do_scalar_tensor_tensor,
        "dst data op0 operand0 op1 operand1 reverse0 reverse1 dtype mask"),
    ISA("tensor_reduce", do_tensor_reduce, "dst op data axis dtype mask negate keepdims"),
    ISA("tensor_tensor_scan", do_scan, "dst data0 data1 initial op0 op1 reverse0 reverse1 dtype mask"),
    ISA("tensor_copy", do_tensor_copy, "dst src dtype mask engine"),
    ISA("reciprocal", do_reciprocal, "dst data dtype mask"),
    ISA("memset", do_memset, "dst shape value dtype mask engine"),
    ISA("affine_select", do_affine_select,
        "dst pred on_true_tile on_false_value mask dtype pattern offset channel_multiplier cmp_op"),
    {NKI_LIB_NKI, "dma_copy", do_dma_copy, "dst src mask dst_rmw_op oob_mode dge_mode", -1},
    ISA("activation_reduce", do_activation, "dst op data bias scale reduce_op reduce_res reduce_cmd mask dtype"),
    ISA("iota", do_iota, "dst expr dtype mask pattern offset channel_multiplier"),
    {NKI_LIB_NKI, "dma_transpose", do_dma_transpose, "dst src axes mask dtype dge_mode oob_mode", -1},
    {NKI_LIB_NKI, "get_nc_version", do_version, "", -1},
    {NKI_LIB_NKI, "barrier", do_nothing, "*", -1},
    {NKI_LIB_NISA, NULL, NULL, NULL, -1}};
