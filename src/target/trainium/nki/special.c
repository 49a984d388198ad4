/* special.c - instructions of nki.isa that are not passes over views of equal shape: gathers, predicated copies,
 * statistics, largest elements. Each element is computed separately. */
#include <math.h>
#include <stdlib.h>

#include "target/trainium/nki/value.h"

/* Element i of the free dimensions in partition p. */
static int64_t place_of(const trn_view *v, int64_t p, int64_t i) {
  int64_t at = v->offset + (v->size[0] > 1 ? p * v->stride[0] : 0);
  for (int d = v->n - 1; d > 0; i /= v->size[d--]) at += i % v->size[d] * v->stride[d];
  return at;
}

/* Reads an element; false: it was never written. */
static bool get(const trn_view *v, int64_t p, int64_t i, double *out) {
  const int64_t at = place_of(v, p, i);
  *out = trn_get(v, at);
  return !v->array->undefined || !v->array->undefined[at];
}

static void set(const trn_view *v, int64_t p, int64_t i, double value, bool is_defined) {
  const int64_t at = place_of(v, p, i);
  trn_set(v, at, value);
  if (!is_defined && v->array->undefined) v->array->undefined[at] = 1;
}

static nki_view *cut(nki_run *r, const nki_view *given) {
  const nki_view *v = nki_as_tile(r, given);
  const nki_bounds all = nki_bounds_of(r, (nki_value){0}, v->n, v->size);
  return nki_cut(r, v, &all);
}

/* The destination as [partitions][n]: `dst` of the newer dialect, the tensor that is assigned to, or a new tile. */
static nki_view *destination(nki_run *r, nki_arguments *a, trn_type type, int64_t partitions, int64_t n) {
  nki_view *out = a->at[0].type == NKI_V_VIEW ? nki_view_of(a->at[0]) : a->into;
  if (a->at[0].type != NKI_V_VIEW && a->into) a->used_into = true;
  if (!out) return nki_tile(r, TRN_SBUF, type, 2, (int64_t[]){partitions, n});
  if (out->tensor->memory == TRN_HBM) nki_fail(r, "'dst' is in HBM; expected a tile in SBUF or PSUM");
  out = cut(r, out);
  if (out->size[0] != partitions || nki_free_elements(out) != n)
    nki_fail(r, "the destination has %lld x %lld elements; expected %lld x %lld", (long long)out->size[0],
             (long long)nki_free_elements(out), (long long)partitions, (long long)n);
  return out;
}

/* dst data indices: dst[p, i] = data[p, indices[p, i]] */
NKI_CALL(do_gather) {
  nki_view *data = cut(r, nki_operand(r, a->at[1], "data")), *indices = cut(r, nki_operand(r, a->at[2], "indices"));
  const int64_t n = nki_free_elements(indices), limit = nki_free_elements(data), partitions = data->size[0];
  if (indices->size[0] != partitions) nki_fail(r, "%s: data and indices have different numbers of partitions", b->name);
  if (trn_type_is_real(indices->type)) nki_fail(r, "%s: 'indices' must be integers", b->name);
  nki_view *out = destination(r, a, data->type, partitions, n);
  nki_emit_pass(r, TRN_GATHER, TRN_GPSIMD, 4 * n + limit, 3, (nki_view *[]){out, data, indices});
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, out), from = nki_data(r, data), at = nki_data(r, indices);
  for (int64_t p = 0; p < partitions; p++)
    for (int64_t i = 0; i < n; i++) {
      double index, value = 0;
      if (!get(&at, p, i, &index)) nki_fail(r, "%s: an index was never written", b->name);
      if (index < 0 || index >= (double)limit)
        nki_fail(r, "%s: index %.0f is outside of data (it has %lld elements a partition)", b->name, index,
                 (long long)limit);
      const bool is_defined = get(&from, p, (int64_t)index, &value);
      set(&to, p, i, value, is_defined);
    }
  return nki_of(out);
}

/* dst src shuffle_mask: in each quadrant of 32 partitions dst[p] = src[shuffle_mask[p]]; 255 leaves dst[p] */
NKI_CALL(do_shuffle) {
  enum { QUADRANT = 32, PARTITIONS = 128, UNCHANGED = 255 };
  nki_view *out = cut(r, nki_operand(r, a->at[0], "dst")), *src = cut(r, nki_operand(r, a->at[1], "src"));
  const nki_sequence *mask = nki_is_sequence(a->at[2]) ? nki_items(a->at[2]) : NULL;
  int64_t from[PARTITIONS] = {0}; /* partitions of src; -1: dst stays */
  const int64_t partitions = out->size[0], n = nki_free_elements(src);
  if (r->imports_older) nki_fail(r, "unsupported %s of neuronxcc.nki; import nki", b->name);
  if (!mask || mask->n != QUADRANT) nki_fail(r, "%s: 'shuffle_mask' must be a list of %d integers", b->name, QUADRANT);
  if (partitions > PARTITIONS)
    nki_fail(r, "%s: dst has %lld partitions; expected at most %d", b->name, (long long)partitions, PARTITIONS);
  destination(r, a, src->type, partitions, n);
  for (int64_t p = 0; p < partitions; p++) {
    const int64_t row = nki_integer(r, mask->item[p % QUADRANT], "shuffle_mask");
    from[p] = row == UNCHANGED ? -1 : p / QUADRANT * QUADRANT + row;
    if (row != UNCHANGED && (row < 0 || row >= QUADRANT || from[p] >= src->size[0]))
      nki_fail(r, "%s: shuffle_mask[%d] is %lld; src has %lld partitions", b->name, (int)p % QUADRANT, (long long)row,
               (long long)src->size[0]);
  }
  nki_emit_pass(r, TRN_SELECT, TRN_VECTOR, n, 2, (nki_view *[]){out, src});
  nki_last(r)->operand[0].is_read = true;
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, out), data = nki_data(r, src);
  double value[PARTITIONS];
  bool is_defined[PARTITIONS];
  for (int64_t i = 0; i < n; i++) { /* dst may be src: element i of every partition is read before one is written */
    for (int64_t p = 0; p < partitions; p++)
      if (from[p] >= 0) is_defined[p] = get(&data, from[p], i, &value[p]);
    for (int64_t p = 0; p < partitions; p++)
      if (from[p] >= 0) set(&to, p, i, value[p], is_defined[p]);
  }
  return nki_of(out);
}

/* dst src predicate reverse_pred: writes src where the predicate is not 0; other elements of dst stay */
nki_value nki_do_predicated(nki_run *r, const nki_builtin *b, nki_arguments *a) {
  if (a->at[0].type != NKI_V_VIEW) nki_fail(r, "%s needs 'dst'", b->name);
  nki_view *predicate = cut(r, nki_operand(r, a->at[2], "predicate"));
  const bool is_number = nki_is_number(a->at[1]), reversed = nki_given(a->at[3]) && nki_truth(r, a->at[3]);
  nki_view *src = is_number ? NULL : cut(r, nki_operand(r, a->at[1], "src"));
  const int64_t n = nki_free_elements(predicate), partitions = predicate->size[0];
  nki_view *out = destination(r, a, TRN_F32, partitions, n);
  if (src && (src->size[0] != partitions || nki_free_elements(src) != n))
    nki_fail(r, "%s: src and predicate have different shapes", b->name);
  nki_emit_pass(r, TRN_SELECT, TRN_VECTOR, n, src ? 3 : 2, (nki_view *[]){out, predicate, src});
  nki_last(r)->operand[0].is_read = true;
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, out), where = nki_data(r, predicate), from = src ? nki_data(r, src) : to;
  for (int64_t p = 0; p < partitions; p++)
    for (int64_t i = 0; i < n; i++) {
      double holds, value = is_number ? nki_number(r, a->at[1], "src") : 0;
      bool is_defined = get(&where, p, i, &holds);
      if (is_defined && (holds != 0) == reversed) continue;
      if (src) is_defined = get(&from, p, i, &value) && is_defined;
      set(&to, p, i, value, is_defined);
    }
  return nki_of(out);
}

/* dst data: count, mean and variance times count of the elements at even places, then at odd ones */
NKI_CALL(do_bn_stats) {
  nki_view *data = cut(r, nki_operand(r, a->at[1], "data"));
  const int64_t n = nki_free_elements(data), partitions = data->size[0];
  if (n > 512) nki_fail(r, "%s of %lld elements a partition; expected at most 512", b->name, (long long)n);
  nki_view *out = destination(r, a, TRN_F32, partitions, 6);
  nki_emit_pass(r, TRN_BN_STATS, TRN_VECTOR, n, 2, (nki_view *[]){out, data});
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, out), from = nki_data(r, data);
  for (int64_t p = 0; p < partitions; p++)
    for (int64_t odd = 0; odd < 2; odd++) {
      double count = 0, sum = 0, squares = 0, x;
      bool is_defined = true;
      for (int64_t i = odd; i < n; i += 2, count++) {
        is_defined = get(&from, p, i, &x) && is_defined;
        sum += x;
      }
      const double mean = count > 0 ? sum / count : 0;
      for (int64_t i = odd; i < n; i += 2) {
        get(&from, p, i, &x);
        squares += (x - mean) * (x - mean);
      }
      set(&to, p, 3 * odd, count, is_defined);
      set(&to, p, 3 * odd + 1, mean, is_defined);
      set(&to, p, 3 * odd + 2, squares, is_defined);
    }
  return nki_of(out);
}

/* dst data: mean and variance of groups of three values as bn_stats makes them */
NKI_CALL(do_bn_aggregate) {
  nki_view *data = cut(r, nki_operand(r, a->at[1], "data"));
  const int64_t n = nki_free_elements(data), partitions = data->size[0];
  if (n % 3) nki_fail(r, "%s of %lld elements a partition; expected a multiple of 3", b->name, (long long)n);
  nki_view *out = destination(r, a, TRN_F32, partitions, 2);
  nki_emit_pass(r, TRN_BN_AGGREGATE, TRN_VECTOR, n, 2, (nki_view *[]){out, data});
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, out), from = nki_data(r, data);
  for (int64_t p = 0; p < partitions; p++) {
    double count = 0, mean = 0, squares = 0;
    bool is_defined = true;
    for (int64_t i = 0; i < n; i += 3) {
      double of[3]; /* count, mean, squares */
      for (int k = 0; k < 3; k++) is_defined = get(&from, p, i + k, &of[k]) && is_defined;
      if (of[0] <= 0) continue;
      const double difference = of[1] - mean, total = count + of[0];
      squares += of[2] + difference * difference * count * of[0] / total;
      mean += difference * of[0] / total;
      count = total;
    }
    set(&to, p, 0, mean, is_defined);
    set(&to, p, 1, count > 0 ? squares / count : 0, is_defined);
  }
  return nki_of(out);
}

static int compare_down(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a < b) - (a > b);
}

/* dst src: the eight largest, in descending order */
NKI_CALL(do_max8) {
  nki_view *data = cut(r, nki_operand(r, a->at[1], "src"));
  const int64_t n = nki_free_elements(data), partitions = data->size[0];
  if (n < 8 || n > 16384) nki_fail(r, "%s of %lld elements a partition; expected 8 to 16384", b->name, (long long)n);
  nki_view *out = destination(r, a, data->type, partitions, 8);
  nki_emit_pass(r, TRN_MAX8, TRN_VECTOR, n, 2, (nki_view *[]){out, data});
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, out), from = nki_data(r, data);
  double *row = malloc((size_t)n * sizeof *row);
  if (!row) nki_out_of_memory(r);
  for (int64_t p = 0; p < partitions; p++) {
    bool is_defined = true;
    for (int64_t i = 0; i < n; i++) is_defined = get(&from, p, i, &row[i]) && is_defined;
    qsort(row, (size_t)n, sizeof *row, compare_down);
    for (int64_t i = 0; i < 8; i++) set(&to, p, i, row[i], is_defined);
  }
  free(row);
  return nki_of(out);
}

/* dst data op0 operand0 reduce_op reduce_res reverse0 dtype mask: data op0 operand0, and its reduction over the free dimensions */
NKI_CALL(do_scalar_reduce) {
  const nki_result result = nki_isa_result(r, a, a->at[7], a->at[8], TRN_VECTOR);
  const bool reversed = nki_given(a->at[6]) && nki_truth(r, a->at[6]);
  nki_view *out = nki_do_scalar(r, nki_operand(r, a->at[1], "data"), nki_binary_op(r, a->at[2], "op0"),
                                nki_scalar_of(r, a->at[3], "operand0"), reversed, TRN_BYPASS, NULL, false, result);
  if (!nki_given(a->at[5])) nki_fail(r, "%s needs 'reduce_res'", b->name);
  nki_view *values = cut(r, out), *sum = cut(r, nki_operand(r, a->at[5], "reduce_res"));
  if (sum->size[0] != values->size[0] || nki_free_elements(sum) != 1)
    nki_fail(r, "%s: 'reduce_res' must have one value for each of the %lld partitions", b->name,
             (long long)values->size[0]);
  const trn_binary op = nki_binary_op(r, a->at[4], "reduce_op");
  nki_emit_pass(r, TRN_ACCUMULATOR_READ, TRN_VECTOR, 64, 2, (nki_view *[]){sum, values});
  if (!r->computes || r->skips) return nki_of(out);
  const trn_view to = nki_data(r, sum), from = nki_data(r, values);
  for (int64_t p = 0; p < values->size[0]; p++) {
    double total = 0, x;
    bool is_defined = true;
    for (int64_t i = 0; i < nki_free_elements(values); i++) {
      is_defined = get(&from, p, i, &x) && is_defined;
      total = i ? (double)(float)trn_compute_binary(op, total, x) : x;
    }
    set(&to, p, 0, total, is_defined);
  }
  return nki_of(out);
}

const nki_builtin nki_special_builtins[] = {
    {NKI_LIB_NISA, "nc_n_gather", do_gather, "dst data indices", -1},
    {NKI_LIB_NKI, "nc_stream_shuffle", do_shuffle, "dst src shuffle_mask dtype mask", -1},
    {NKI_LIB_NKI, "tensor_copy_predicated", nki_do_predicated, "dst src predicate reverse_pred dtype mask", -1},
    {NKI_LIB_NISA, "bn_stats", do_bn_stats, "dst data dtype mask", -1},
    {NKI_LIB_NISA, "bn_aggr", do_bn_aggregate, "dst data dtype mask", -1},
    {NKI_LIB_NISA, "max8", do_max8, "dst src dtype mask", -1},
    {NKI_LIB_NISA, "tensor_scalar_reduce", do_scalar_reduce,
     "dst data op0 operand0 reduce_op reduce_res reverse0 dtype mask", -1},
    {NKI_LIB_NISA, NULL, NULL, NULL, -1}};
