/* python.c - Python's own functions, functions of math and numpy, and methods. */
#include <math.h>
#include <string.h>

#include "base/strings.h"
#include "target/trainium/nki/value.h"

static size_t given(const nki_arguments *a) {
  size_t n = 0;
  while (n < NKI_ARGUMENTS_MAX && a->at[n].type != NKI_V_MISSING) n++;
  return n;
}

nki_value nki_do_range(nki_run *r, const nki_builtin *b, nki_arguments *a) {
  const size_t n = given(a);
  if (!n || n > 3) nki_fail(r, "%s takes 1 to 3 arguments", b->name);
  nki_range *x = nki_new(r, NKI_V_RANGE, sizeof *x);
  x->start = n > 1 ? nki_integer(r, a->at[0], "start") : 0;
  x->stop = nki_integer(r, a->at[n > 1 ? 1 : 0], "stop");
  x->step = n > 2 ? nki_integer(r, a->at[2], "step") : 1;
  if (!x->step) nki_fail(r, "%s: step is 0", b->name);
  x->is_parallel = b->name[0] == 'a';
  return nki_of(x);
}

NKI_CALL(do_len) {
  const nki_value v = a->at[0];
  if (nki_is_sequence(v)) return nki_int((int64_t)nki_items(v)->n);
  if (v.type == NKI_V_DICT) return nki_int((int64_t)nki_items(v)->n / 2);
  if (v.type == NKI_V_STRING) return nki_int((int64_t)((nki_string *)v.as.o)->length);
  if (v.type == NKI_V_VIEW && nki_view_of(v)->n) return nki_int(nki_view_of(v)->size[0]);
  size_t n = 0;
  for (nki_value item; v.type == NKI_V_RANGE;)
    if (!nki_next(r, v, &n, &item)) return nki_int((int64_t)n - 1);
  nki_fail(r, "unsupported len() of %s", nki_type_name(v));
}

NKI_CALL(do_extreme) {
  const bool is_max = b->name[1] == 'a';
  const nki_value all = given(a) == 1 ? a->at[0] : (nki_value){0};
  nki_value best = {0};
  for (size_t i = 0;; i++) {
    const nki_value v = all.type != NKI_V_MISSING ? nki_item(r, all, i) : i < given(a) ? a->at[i] : (nki_value){0};
    if (v.type == NKI_V_MISSING) break;
    const double x = nki_number(r, v, b->name);
    if (best.type == NKI_V_MISSING || (is_max ? x > nki_number(r, best, "") : x < nki_number(r, best, ""))) best = v;
  }
  if (best.type == NKI_V_MISSING) nki_fail(r, "%s of an empty sequence", b->name);
  return best;
}

/* sum, or a product of sizes */
NKI_CALL(do_fold) {
  const bool is_sum = *b->name == 's';
  nki_value out = is_sum && a->at[1].type != NKI_V_MISSING ? a->at[1] : nki_int(!is_sum), v;
  for (size_t i = 0; nki_next(r, a->at[0], &i, &v);) out = nki_binary(r, is_sum ? '+' : '*', out, v, NULL);
  return out;
}

NKI_CALL(do_any_all) {
  const bool is_any = b->name[1] == 'n';
  nki_value v;
  for (size_t i = 0; nki_next(r, a->at[0], &i, &v);)
    if (nki_truth(r, v) == is_any) return nki_bool(is_any);
  return nki_bool(!is_any);
}

NKI_CALL(do_int) {
  if (a->at[0].type == NKI_V_REAL && !(fabs(a->at[0].as.r) < 9e18)) nki_fail(r, "int() of a number that is too large");
  return a->at[0].type == NKI_V_REAL ? nki_int((int64_t)a->at[0].as.r) : nki_int(nki_integer(r, a->at[0], "value"));
}

NKI_CALL(do_float) {
  if (a->at[0].type == NKI_V_STRING) {
    const char *text = nki_string_of(a->at[0]);
    double value;
    if (tw_parse_real(text, &value)) return nki_real(value);
    if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0) return nki_real(*text == '-' ? -INFINITY : INFINITY);
    nki_fail(r, "float() of '%s'", text);
  }
  return nki_real(nki_number(r, a->at[0], "value"));
}

NKI_CALL(do_bool) { return nki_bool(nki_truth(r, a->at[0])); }

NKI_CALL(do_str) {
  char text[300];
  nki_print(a->at[0], text, sizeof text);
  return nki_text(r, text, strlen(text));
}

NKI_CALL(do_abs) {
  if (a->at[0].type == NKI_V_INT) return nki_int(a->at[0].as.i < 0 ? -a->at[0].as.i : a->at[0].as.i);
  return nki_real(fabs(nki_number(r, a->at[0], "value")));
}

NKI_CALL(do_sequence) {
  const nki_value out = nki_sequence_of(r, *b->name == 't' ? NKI_V_TUPLE : NKI_V_LIST, 0, NULL);
  nki_value v;
  for (size_t i = 0; a->at[0].type != NKI_V_MISSING && nki_next(r, a->at[0], &i, &v);) nki_append(r, nki_items(out), v);
  return out;
}

NKI_CALL(do_reversed) {
  const nki_value out = do_sequence(r, b, a);
  nki_sequence *s = nki_items(out);
  for (size_t i = 0; i < s->n / 2; i++) {
    const nki_value v = s->item[i];
    s->item[i] = s->item[s->n - 1 - i];
    s->item[s->n - 1 - i] = v;
  }
  return out;
}

NKI_CALL(do_enumerate) {
  const nki_value out = nki_sequence_of(r, NKI_V_LIST, 0, NULL);
  nki_value v;
  for (size_t i = 0; nki_next(r, a->at[0], &i, &v);)
    nki_append(r, nki_items(out), nki_sequence_of(r, NKI_V_TUPLE, 2, (nki_value[]){nki_int((int64_t)i - 1), v}));
  return out;
}

NKI_CALL(do_zip) {
  const nki_value out = nki_sequence_of(r, NKI_V_LIST, 0, NULL);
  for (size_t i = 0;; i++) {
    nki_value row[NKI_ARGUMENTS_MAX];
    const size_t n = given(a);
    for (size_t k = 0; k < n; k++) {
      row[k] = nki_item(r, a->at[k], i);
      if (row[k].type == NKI_V_MISSING) return out;
    }
    if (!n) return out;
    nki_append(r, nki_items(out), nki_sequence_of(r, NKI_V_TUPLE, n, row));
  }
}

NKI_CALL(do_map) {
  const nki_value out = nki_sequence_of(r, NKI_V_LIST, 0, NULL);
  nki_value v;
  for (size_t i = 0; nki_next(r, a->at[1], &i, &v);) {
    const nki_value made = nki_invoke(r, a->at[0], 1, &v);
    if (*b->name == 'm' || nki_truth(r, made)) nki_append(r, nki_items(out), *b->name == 'm' ? made : v);
  }
  return out;
}

static bool is_instance(nki_value v, nki_value type) {
  if (nki_is_sequence(type)) {
    for (size_t i = 0; i < nki_items(type)->n; i++)
      if (is_instance(v, nki_items(type)->item[i])) return true;
    return false;
  }
  if (type.type == NKI_V_FUNCTION && v.type == NKI_V_FRAME)
    return ((nki_frame *)v.as.o)->closure == ((nki_function *)type.as.o)->closure;
  if (type.type != NKI_V_BUILTIN) return false;
  static const struct {
    const char *name;
    nki_type type;
  } known[] = {{"int", NKI_V_INT},    {"int", NKI_V_BOOL},    {"float", NKI_V_REAL}, {"bool", NKI_V_BOOL},
               {"str", NKI_V_STRING}, {"tuple", NKI_V_TUPLE}, {"list", NKI_V_LIST},  {"dict", NKI_V_DICT}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (v.type == known[i].type && strcmp(type.as.builtin->name, known[i].name) == 0) return true;
  return false;
}

NKI_CALL(do_isinstance) { return nki_bool(is_instance(a->at[0], a->at[1])); }

NKI_CALL(do_nothing) { return nki_none(); }

const nki_builtin nki_no_reorder = {NKI_LIB_OTHER, "no_reorder()", NULL, "", -1};
nki_value nki_do_no_reorder(nki_run *r, const nki_builtin *b, nki_arguments *a) {
  (void)r, (void)b, (void)a;
  return (nki_value){.type = NKI_V_BUILTIN, .as.builtin = &nki_no_reorder};
}

/* @nki.jit, @nki.jit(mode=...), nki.trace: the function itself. nki.compiler.sbuf.mod_alloc(...): the memory. */
NKI_CALL(do_decorate) { return a->at[0].type == NKI_V_MISSING ? nki_none() : a->at[0]; }

NKI_CALL(do_slice) {
  nki_slice *s = nki_new(r, NKI_V_SLICE, sizeof *s);
  const size_t n = given(a);
  s->start = n > 1 ? a->at[0] : nki_none();
  s->stop = n > 1 ? a->at[1] : a->at[0];
  s->step = n > 2 ? a->at[2] : nki_none();
  return nki_of(s);
}

NKI_CALL(do_divmod) {
  return nki_sequence_of(r, NKI_V_TUPLE, 2,
                         (nki_value[]){nki_binary(r, NKI_OP('/', '/'), a->at[0], a->at[1], NULL),
                                       nki_binary(r, '%', a->at[0], a->at[1], NULL)});
}

NKI_CALL(do_round) { return nki_int((int64_t)nearbyint(nki_number(r, a->at[0], "value"))); }

/* The default value of kernels' parameters by name: max(1, ...). normalize_dim, n_elts, div_ceil of Neuron's utilities. */
NKI_CALL(do_div_ceil) {
  const int64_t x = nki_integer(r, a->at[0], "n"), y = nki_integer(r, a->at[1], "d");
  if (y <= 0) nki_fail(r, "div_ceil by %lld", (long long)y);
  return nki_int((x + y - 1) / y);
}

NKI_CALL(do_normalize_dim) {
  const int64_t axis = nki_integer(r, a->at[0], "dim"), rank = nki_integer(r, a->at[1], "rank");
  return nki_int(axis < 0 ? axis + rank : axis);
}

#define CALL(function, name, parameters) {NKI_LIB_OTHER, name, function, parameters, -1},
static const char allocation[] = "self base_addr base_bank base_partition num_bank_tiles num_par_tiles num_free_tiles";
static const char jit[] = "function mode platform_target show_compiler_tb debug_kernel";
/* clang-format off */
#define PYTHON_NAMES(X)                                                                                                \
  X(nki_do_range, "range", "*") X(do_len, "len", "x") X(do_extreme, "min", "*") X(do_extreme, "max", "*")              \
  X(do_fold, "sum", "x start") X(do_any_all, "any", "x") X(do_any_all, "all", "x") X(do_int, "int", "x")               \
  X(do_float, "float", "x") X(do_bool, "bool", "x") X(do_str, "str", "x") X(do_abs, "abs", "x")                        \
  X(do_sequence, "tuple", "x") X(do_sequence, "list", "x") X(do_reversed, "reversed", "x")                             \
  X(do_enumerate, "enumerate", "x") X(do_zip, "zip", "*") X(do_map, "map", "function x")                               \
  X(do_map, "filter", "function x") X(do_isinstance, "isinstance", "x type") X(do_nothing, "print", "*")               \
  X(nki_do_no_reorder, "no_reorder", "") X(do_slice, "slice", "*") X(do_divmod, "divmod", "a b") X(do_round, "round", "x")    \
  X(do_decorate, "jit", jit) X(do_decorate, "trace", "function") X(do_div_ceil, "div_ceil", "n d")                     \
  X(do_fold, "n_elts", "shape") X(do_normalize_dim, "normalize_dim", "dim rank")
#define METHODS(X)                                                                                                     \
  X(do_replace, "replace", "self old new") X(do_arrange, "reshape", "*") X(do_arrange, "broadcast_to", "*")            \
  X(do_arrange, "transpose", "*") X(do_astype, "astype", "self dtype") X(do_append, "append", "self item")             \
  X(do_get, "get", "self key fallback") X(do_dict_parts, "items", "self") X(do_dict_parts, "keys", "self")             \
  X(do_dict_parts, "values", "self") X(do_ap, "ap", "self pattern offset dtype")                                       \
  X(do_decorate, "auto_alloc", "self") X(do_decorate, "mod_alloc", allocation)
/* clang-format on */
const nki_builtin nki_python_builtins[] = {PYTHON_NAMES(CALL){NKI_LIB_OTHER, NULL, NULL, NULL, -1}};

/* ---- math and numpy on numbers ---- */

NKI_CALL(do_number) {
  const double x = nki_number(r, a->at[0], b->name);
  switch (b->code - 1000) {
  case 0: return nki_int((int64_t)ceil(x));
  case 1: return nki_int((int64_t)floor(x));
  case 2: return nki_real(log2(x));
  case 3: return nki_real(log10(x));
  default: return nki_real(x);
  }
}

NKI_CALL(do_elementary) {
  return nki_real(trn_compute_unary((trn_unary)(b->code - NKI_ACTIVATION), nki_number(r, a->at[0], b->name)));
}

NKI_CALL(do_gcd) {
  int64_t x = nki_integer(r, a->at[0], b->name), y = nki_integer(r, a->at[1], b->name);
  while (y) {
    const int64_t rest = y == -1 ? 0 : x % y;
    x = y;
    y = rest;
  }
  return nki_int(x < 0 ? -x : x);
}

NKI_CALL(do_pow) { return nki_real(pow(nki_number(r, a->at[0], b->name), nki_number(r, a->at[1], b->name))); }

const nki_builtin nki_math_builtins[] = {{NKI_LIB_MATH, "ceil", do_number, "x", 1000},
                                         {NKI_LIB_MATH, "floor", do_number, "x", 1001},
                                         {NKI_LIB_MATH, "log2", do_number, "x", 1002},
                                         {NKI_LIB_MATH, "log10", do_number, "x", 1003},
                                         {NKI_LIB_MATH, "sqrt", do_elementary, "x", NKI_ACTIVATION + TRN_SQRT},
                                         {NKI_LIB_MATH, "exp", do_elementary, "x", NKI_ACTIVATION + TRN_EXP},
                                         {NKI_LIB_MATH, "log", do_elementary, "x", NKI_ACTIVATION + TRN_LOG},
                                         {NKI_LIB_MATH, "gcd", do_gcd, "a b", -1},
                                         {NKI_LIB_MATH, "pow", do_pow, "x y", -1},
                                         {NKI_LIB_MATH, "prod", do_fold, "x axis", -1},
                                         {NKI_LIB_MATH, NULL, NULL, NULL, -1}};

/* ---- methods: the first argument is the value ---- */

/* A sequence of integers, or several: a shape, or axes. */
NKI_CALL(do_arrange) {
  int64_t size[TRN_VIEW_DIMS];
  if (a->at[0].type != NKI_V_VIEW) nki_fail(r, "%s of %s; expected a tensor", b->name, nki_type_name(a->at[0]));
  const nki_view *v = nki_view_of(a->at[0]);
  const bool is_list = nki_is_sequence(a->at[1]);
  const nki_value shape = is_list ? a->at[1] : nki_sequence_of(r, NKI_V_TUPLE, given(a) - 1, a->at + 1);
  if (*b->name == 't') return nki_operand_transposed(r, v, shape);
  const int n = nki_shape(r, shape, size, NULL);
  return nki_of(*b->name == 'r' ? nki_reshape(r, v, n, size) : nki_broadcast(r, v, n, size));
}

void nki_add_pattern(nki_run *r, nki_value pattern, nki_index *out) {
  const size_t n = nki_is_sequence(pattern) ? nki_items(pattern)->n : 0;
  if (!n || n + (size_t)out->n > TRN_VIEW_DIMS)
    nki_fail(r, "unsupported value of 'pattern'; expected [[step, count], ...] with at most %d pairs",
             TRN_VIEW_DIMS - out->n);
  for (size_t i = 0; i < n; i++) {
    const nki_value pair = nki_items(pattern)->item[i];
    if (!nki_is_sequence(pair) || nki_items(pair)->n != 2)
      nki_fail(r, "unsupported value of 'pattern'; expected [[step, count], ...]");
    out->factor[out->n] = nki_integer(r, nki_items(pair)->item[0], "pattern");
    out->size[out->n++] = nki_integer(r, nki_items(pair)->item[1], "pattern");
  }
}

/* self pattern offset dtype */
NKI_CALL(do_ap) {
  if (r->imports_older) nki_fail(r, "tensors of neuronxcc.nki have no 'ap'; use slices, or import nki");
  if (a->at[0].type != NKI_V_VIEW) nki_fail(r, "ap of %s; expected a tensor", nki_type_name(a->at[0]));
  if (nki_given(a->at[3]) && nki_dtype(r, a->at[3]) != nki_view_of(a->at[0])->type)
    nki_fail(r, "ap: unsupported dtype %s of a tensor of %s", trn_type_name(nki_dtype(r, a->at[3])),
             trn_type_name(nki_view_of(a->at[0])->type));
  nki_index *x = nki_index_new(r, 0);
  nki_add_pattern(r, a->at[1], x);
  x->offset = nki_given(a->at[2]) ? nki_integer(r, a->at[2], "offset") : 0;
  return nki_of(nki_pattern(r, nki_view_of(a->at[0]), x));
}

NKI_CALL(do_astype) {
  const trn_type type = nki_dtype(r, a->at[1]);
  return nki_of(nki_do_copy(r, nki_operand(r, a->at[0], "astype"),
                            (nki_result){.has_type = true, .type = type, .engine = TRN_ENGINE_ANY}));
}

NKI_CALL(do_append) {
  if (a->at[0].type != NKI_V_LIST) nki_fail(r, "append to %s; expected a list", nki_type_name(a->at[0]));
  nki_append(r, nki_items(a->at[0]), a->at[1]);
  return nki_none();
}

NKI_CALL(do_get) {
  if (a->at[0].type != NKI_V_DICT) nki_fail(r, "get of %s; expected a dict", nki_type_name(a->at[0]));
  const nki_sequence *d = nki_items(a->at[0]);
  for (size_t i = 0; i + 1 < d->n; i += 2)
    if (nki_equal(r, d->item[i], a->at[1])) return d->item[i + 1];
  return a->at[2].type == NKI_V_MISSING ? nki_none() : a->at[2];
}

NKI_CALL(do_dict_parts) {
  const nki_value out = nki_sequence_of(r, NKI_V_LIST, 0, NULL);
  if (a->at[0].type != NKI_V_DICT) nki_fail(r, "%s of %s; expected a dict", b->name, nki_type_name(a->at[0]));
  const nki_sequence *d = nki_items(a->at[0]);
  for (size_t i = 0; i + 1 < d->n; i += 2)
    nki_append(r, nki_items(out),
               *b->name == 'i' ? nki_sequence_of(r, NKI_V_TUPLE, 2, d->item + i) : d->item[i + (*b->name == 'v')]);
  return out;
}

NKI_CALL(do_replace) {
  char text[1000];
  size_t n = 0;
  for (int i = 0; i < 3; i++)
    if (a->at[i].type != NKI_V_STRING) nki_fail(r, "%s of %s; expected strings", b->name, nki_type_name(a->at[i]));
  const char *old = nki_string_of(a->at[1]), *new = nki_string_of(a->at[2]);
  if (!*old) nki_fail(r, "%s of an empty string", b->name);
  for (const char *c = nki_string_of(a->at[0]); *c;) {
    const bool fits = strncmp(c, old, strlen(old)) == 0;
    const size_t length = fits ? strlen(new) : 1;
    if (length > sizeof text - n) nki_fail(r, "the string is too long");
    memcpy(text + n, fits ? new : c, length);
    n += length;
    c += fits ? strlen(old) : 1;
  }
  return nki_text(r, text, n);
}

const nki_builtin nki_methods[] = {METHODS(CALL){NKI_LIB_OTHER, NULL, NULL, NULL, -1}};
