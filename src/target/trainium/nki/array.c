/* array.c - NumPy arrays, of which kernels make constants: identities, masks, permutations.
 *
 * An array is a tensor in HBM that the device never writes: assigning to it makes no instruction, and
 * nl.shared_constant(array) is the array. */
#include "target/trainium/nki/value.h"

static nki_view *array_of(nki_run *r, int n, const int64_t size[], nki_value dtype, double value) {
  const trn_type type = nki_given(dtype) ? nki_dtype(r, dtype) : TRN_F32;
  nki_tensor *t = nki_tensor_new(r, TRN_HBM, type, n, size, -1, true);
  nki_view *v = nki_view_whole(r, t, n, size, -1);
  t->is_host = true;
  const trn_view all = nki_data(r, v);
  trn_fill(&all, value);
  return v;
}

/* shape fill_value dtype */
NKI_CALL(do_filled) {
  int64_t size[TRN_VIEW_DIMS];
  const bool has_value = *b->name == 'f';
  const int n = nki_shape(r, a->at[0], size, NULL);
  const double value = has_value ? nki_number(r, a->at[1], "fill_value") : *b->name == 'o';
  if (!n) nki_fail(r, "%s: an array without dimensions", b->name);
  return nki_of(array_of(r, n, size, a->at[has_value ? 2 : 1], value));
}

/* n dtype, or N M k dtype */
NKI_CALL(do_identity) {
  const bool is_eye = *b->name == 'e';
  const int64_t rows = nki_integer(r, a->at[0], "n"),
                shift = is_eye && nki_given(a->at[2]) ? nki_integer(r, a->at[2], "k") : 0;
  const int64_t columns = is_eye && nki_given(a->at[1]) ? nki_integer(r, a->at[1], "M") : rows;
  nki_view *v = array_of(r, 2, (int64_t[]){rows, columns}, a->at[is_eye ? 3 : 1], 0);
  const trn_view to = nki_data(r, v);
  for (int64_t i = 0; i < rows && to.array; i++)
    if (i + shift >= 0 && i + shift < columns) trn_set(&to, i * columns + i + shift, 1);
  /* nl.shared_identity_matrix of the newer dialect is in SBUF */
  const bool is_loaded = *b->name == 's' && r->imports_newer;
  return nki_of(is_loaded ? nki_do_dma(r, v, (nki_result){.engine = TRN_SYNC}) : v);
}

/* m k: the elements below or above a diagonal */
NKI_CALL(do_triangle) {
  const bool is_upper = b->name[3] == 'u';
  if (a->at[0].type != NKI_V_VIEW || !nki_view_of(a->at[0])->tensor->is_host || nki_view_of(a->at[0])->n != 2)
    nki_fail(r, "%s of %s; expected an array of NumPy with two dimensions", b->name, nki_type_name(a->at[0]));
  const nki_view *from = nki_view_of(a->at[0]);
  const int64_t shift = nki_given(a->at[1]) ? nki_integer(r, a->at[1], "k") : 0;
  nki_view *v = array_of(r, 2, from->size, (nki_value){.type = NKI_V_DTYPE, .as.i = from->type}, 0);
  const trn_view to = nki_data(r, v), src = nki_data(r, from);
  if (to.array) trn_copy(&to, &src, NULL, NULL);
  for (int64_t i = 0; i < from->size[0] && to.array; i++)
    for (int64_t j = 0; j < from->size[1]; j++)
      if (is_upper ? j < i + shift : j > i + shift) trn_set(&to, i * from->size[1] + j, 0);
  return nki_of(v);
}

/* constant dtype */
NKI_CALL(do_constant) {
  if (a->at[0].type != NKI_V_VIEW || !nki_view_of(a->at[0])->tensor->is_host)
    nki_fail(r, "%s of %s; expected an array of NumPy", b->name, nki_type_name(a->at[0]));
  return a->at[0];
}

/* np.dtype(x) is the element type */
NKI_CALL(do_dtype) { return (nki_value){.type = NKI_V_DTYPE, .as.i = nki_dtype(r, a->at[0])}; }

void nki_array_store(nki_run *r, nki_view *into, nki_value v) {
  const trn_view to = nki_data(r, into);
  if (nki_is_number(v)) {
    trn_fill(&to, nki_number(r, v, "value"));
    return;
  }
  if (v.type != NKI_V_VIEW || !nki_view_of(v)->tensor->is_host)
    nki_fail(r, "unsupported assignment of %s to an array of NumPy", nki_type_name(v));
  const nki_view *from = nki_view_of(v);
  bool same = from->n == into->n;
  for (int d = 0; d < from->n && same; d++) same = from->size[d] == into->size[d];
  if (!same) nki_fail(r, "unsupported assignment to a part of an array with another shape");
  const trn_view src = nki_data(r, from);
  if (to.array) trn_copy(&to, &src, NULL, NULL);
}

const nki_builtin nki_array_builtins[] = {{NKI_LIB_NUMPY, "identity", do_identity, "n dtype", -1},
                                          {NKI_LIB_NUMPY, "eye", do_identity, "N M k dtype", -1},
                                          {NKI_LIB_NUMPY, "zeros", do_filled, "shape dtype", -1},
                                          {NKI_LIB_NUMPY, "ones", do_filled, "shape dtype", -1},
                                          {NKI_LIB_NUMPY, "full", do_filled, "shape fill_value dtype", -1},
                                          {NKI_LIB_NUMPY, "tril", do_triangle, "m k", -1},
                                          {NKI_LIB_NUMPY, "triu", do_triangle, "m k", -1},
                                          {NKI_LIB_NUMPY, "dtype", do_dtype, "x", -1},
                                          {NKI_LIB_NL, "shared_constant", do_constant, "constant dtype", -1},
                                          {NKI_LIB_NL, "shared_identity_matrix", do_identity, "n dtype", -1},
                                          {NKI_LIB_NUMPY, NULL, NULL, NULL, -1}};
