/* names.c - the meaning of the modules' names, and the assignment of arguments to parameters. */
#include <stdlib.h>
#include <string.h>

#include "target/trainium/nki/value.h"

/* ---- libraries ---- */

nki_library nki_library_of(const char *module) {
  static const struct {
    const char *name;
    nki_library library;
  } known[] = {{"neuronxcc", NKI_LIB_NKI},   {"nki", NKI_LIB_NKI},
               {"nki.language", NKI_LIB_NL}, {"nki.isa", NKI_LIB_NISA},
               {"numpy", NKI_LIB_NUMPY},     {"math", NKI_LIB_MATH},
               {"nki.typing", NKI_LIB_NKI},  {"starfish.penguin.targets.nki.private_api", NKI_LIB_NKI}};
  if (strncmp(module, "neuronxcc.", strlen("neuronxcc.")) == 0) module += strlen("neuronxcc.");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(module, known[i].name) == 0) return known[i].library;
  return NKI_LIB_OTHER;
}

static const nki_builtin *find(const nki_builtin *table, const char *name) {
  for (; table->name; table++)
    if (strcmp(table->name, name) == 0) return table;
  return NULL;
}

const nki_builtin *nki_method_find(const char *name) { return find(nki_methods, name); }

static nki_value builtin(const nki_builtin *b) { return (nki_value){.type = NKI_V_BUILTIN, .as.builtin = b}; }

/* name=value among words; the value may be left out, which counts up from 0. */
static bool value_in(const char *words, const char *name, double *out) {
  *out = -1;
  for (const char *at = words; *at; at += strspn(at, " ")) {
    const size_t n = strcspn(at, "= ");
    char *end = (char *)(uintptr_t)at + n;
    *out = *end == '=' ? strtod(end + 1, &end) : *out + 1;
    if (strlen(name) == n && strncmp(at, name, n) == 0) return true;
    at = end;
  }
  return false;
}

/* Element types by the names of nki.language and NumPy. */
static bool type_of_name(const char *name, trn_type *out) {
  static const char *const others[TRN_TYPES] = {[TRN_E4M3] = "float8e4 float8_e4m3fn",
                                                [TRN_E5M2] = "float8e5",
                                                [TRN_BOOL] = "bool_",
                                                [TRN_F16] = "half",
                                                [TRN_F32] = "single fp32"};
  double place;
  for (int t = 0; t < TRN_TYPES; t++) {
    *out = (trn_type)t;
    if (strcmp(name, trn_type_name(*out)) == 0 || (others[t] && value_in(others[t], name, &place))) return true;
  }
  return false;
}

static nki_value constant(nki_library library, const char *name) {
  static const struct {
    nki_library library;
    nki_type type;
    const char *words;
  } known[] = {
      {NKI_LIB_TILE_SIZE, NKI_V_INT,
       "pmax=128 psum_fmax=512 gemm_stationary_fmax=128 gemm_moving_fmax=512 bn_stats_fmax=512 psum_min_align=4 "
       "sbuf_min_align=1"},
      {NKI_LIB_NL, NKI_V_BUFFER, "hbm sbuf psum shared_hbm=0 private_hbm=0"}, /* trn_memory */
      {NKI_LIB_NKI, NKI_V_BUFFER, "sbuf=1 psum=2"},                           /* nki.compiler.sbuf */
      {NKI_LIB_NL, NKI_V_MODULE, "tile_size=5 fp32=9"},                       /* nki_library */
      {NKI_LIB_NKI, NKI_V_MODULE, "nki=0 language isa typing=0 compiler=0"},
      {NKI_LIB_NISA, NKI_V_MODULE, "reduce_cmd=6 engine dge_mode oob_mode=8 matmul_perf_mode=8 nc_version=10"},
      {NKI_LIB_NISA, NKI_V_ENGINE, /* trn_engine */
       "tensor_engine vector_engine scalar_engine gpsimd_engine unknown_engine=5"},
      {NKI_LIB_ENGINE, NKI_V_ENGINE, "tensor vector scalar gpsimd unknown=5"},
      {NKI_LIB_VERSION, NKI_V_INT, "gen2=2 gen3 gen4"},
      {NKI_LIB_LIMITS, NKI_V_REAL, "min=-3.40282346638528859812e38 max=3.40282346638528859812e38"},
      {NKI_LIB_REDUCE_CMD, NKI_V_INT, "idle reset reduce reset_reduce"},
      {NKI_LIB_MODE, NKI_V_NONE, "none unknown error"},
      {NKI_LIB_MODE, NKI_V_INT, "skip=1 swdge hwdge double_row"},
      {NKI_LIB_NUMPY, NKI_V_NONE, "newaxis"},
      {NKI_LIB_NUMPY, NKI_V_REAL, "inf=inf pi=3.14159265358979323846"},
      {NKI_LIB_MATH, NKI_V_REAL, "inf=inf pi=3.14159265358979323846 e=2.71828182845904523536"},
  };
  _Static_assert(TRN_SBUF == 1 && TRN_PSUM == 2 && TRN_ENGINE_ANY == 5 && NKI_LIB_TILE_SIZE == 5, "the words above");
  _Static_assert(NKI_LIB_REDUCE_CMD == 6 && NKI_LIB_LIMITS == 9 && NKI_LIB_VERSION == 10, "the words above");
  double value;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].library == library && value_in(known[i].words, name, &value))
      return known[i].type == NKI_V_REAL ? nki_real(value) : (nki_value){.type = known[i].type, .as.i = (int64_t)value};
  return (nki_value){.type = NKI_V_MISSING};
}

static const char *library_name(nki_library library) {
#define NAME(library, name) name,
  static const char *const names[] = {NKI_LIBRARIES(NAME)};
  return names[library];
}

static nki_value library_name_or_missing(nki_library library, const char *name) {
  nki_value v = constant(library, name);
  trn_type type;
  if (v.type != NKI_V_MISSING) return v;
  if ((library == NKI_LIB_NL || library == NKI_LIB_NUMPY) && type_of_name(name, &type))
    return (nki_value){.type = NKI_V_DTYPE, .as.i = type};
  static const nki_builtin *const builtins[NKI_LIBRARY_COUNT] = {[NKI_LIB_NL] = nki_language_builtins,
                                                                 [NKI_LIB_NISA] = nki_isa_builtins,
                                                                 [NKI_LIB_NUMPY] = nki_math_builtins,
                                                                 [NKI_LIB_MATH] = nki_math_builtins};
  const nki_builtin *b = builtins[library] ? find(builtins[library], name) : NULL;
  if (!b && library == NKI_LIB_NISA) b = find(nki_special_builtins, name);
  const nki_builtin *array = find(nki_array_builtins, name);
  if (array && array->library == library) b = array;
  if (!b && library == NKI_LIB_NUMPY) b = find(nki_language_builtins, name); /* operations: np.add, np.exp */
  if (!b && library == NKI_LIB_NKI) b = find(nki_python_builtins, name);
  return b ? builtin(b) : v;
}

nki_value nki_library_attribute(nki_run *r, nki_library library, const char *name) {
  if (library == NKI_LIB_OTHER)
    nki_fail(r, "unsupported module; a kernel can use nki.language, nki.isa, math and numpy's names");
  if (library == NKI_LIB_TILE_SIZE && strcmp(name, "total_available_sbuf_size") == 0)
    return nki_int(r->config->memory.sbuf_bytes);
  if (r->imports_newer && library == NKI_LIB_NL && (strcmp(name, "arange") == 0 || strcmp(name, "mgrid") == 0))
    nki_fail(r, "nki has no nl.%s; use slices, or import neuronxcc.nki", name);
  const nki_value v = library_name_or_missing(library, name);
  if (v.type == NKI_V_MISSING) nki_fail(r, "unsupported name %s.%s", library_name(library), name);
  return v;
}

nki_value nki_python_name(nki_run *r, const char *name) {
  static const struct {
    const char *name;
    nki_library library;
  } modules[] = {{"nl", NKI_LIB_NL},    {"nisa", NKI_LIB_NISA}, {"nki", NKI_LIB_NKI},
                 {"np", NKI_LIB_NUMPY}, {"math", NKI_LIB_MATH}, {"numpy", NKI_LIB_NUMPY}};
  const nki_builtin *b = find(nki_python_builtins, name);
  if (b) return builtin(b);
  for (unsigned l = 0; l < NKI_LIB_OTHER; l++) { /* from ... import * */
    if (!(r->stars >> l & 1)) continue;
    const nki_value v = library_name_or_missing((nki_library)l, name);
    if (v.type != NKI_V_MISSING) return v;
  }
  /* a kernel without its imports */
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
    if (strcmp(name, modules[i].name) == 0) return (nki_value){.type = NKI_V_MODULE, .as.i = modules[i].library};
  if (strcmp(name, "par_dim") == 0 || strcmp(name, "mgrid") == 0 || strcmp(name, "ds") == 0)
    return library_name_or_missing(NKI_LIB_NL, name);
  if (strcmp(name, "__name__") == 0) return nki_text(r, "kernel", 6);
  return (nki_value){.type = NKI_V_MISSING};
}

/* ---- arguments ---- */

/* The position of a name among a builtin's parameters; -1: there is none. */
static int parameter(const char *parameters, const char *name, size_t length) {
  int at = 0;
  for (const char *p = parameters; *p; at++) {
    const size_t n = strcspn(p, " ");
    if (n == length && memcmp(p, name, n) == 0) return at;
    p += n;
    p += *p == ' ';
  }
  return -1;
}

static int count(const char *parameters) {
  int n = *parameters != '\0';
  for (const char *p = parameters; *p; p++) n += *p == ' ';
  return n;
}

void nki_bind(nki_run *r, const nki_builtin *b, size_t n, const nki_value *positional, size_t n_named,
              const int *symbol, const nki_value *named, nki_arguments *out) {
  const char *parameters = b->parameters;
  const bool is_any = *parameters == '*'; /* accepts any number of arguments, without names */
  const int total = count(parameters);
  memset(out->at, 0, sizeof out->at);
  for (size_t k = 0; k < n_named; k++) {
    const char *name = r->module->symbols.text[symbol[k]];
    const int at = parameter(parameters, name, strlen(name));
    if (at < 0 && (strcmp(name, "name") == 0 || strcmp(name, "lowering_kwargs") == 0)) continue; /* ignored */
    if (at < 0 || is_any) nki_fail(r, "%s: unsupported argument '%s'", b->name, name);
    if (r->imports_newer && nki_given(named[k]) && strcmp(name, "mask") == 0)
      nki_fail(r, "%s of nki has no 'mask'; use slices, or import neuronxcc.nki", b->name);
    out->at[at] = named[k];
  }
  const bool has_dst = strncmp(parameters, "dst ", 4) == 0 && b->library == NKI_LIB_NISA;
  if (has_dst && out->at[0].type != NKI_V_MISSING && r->imports_older && !r->imports_newer)
    nki_fail(r, "%s of neuronxcc.nki has no 'dst'; assign its result, or import nki", b->name);
  if (has_dst && r->imports_newer && n + n_named == 1)
    nki_fail(r, "%s of nki writes to 'dst', its first argument (one argument was given)", b->name);
  if (has_dst && out->at[0].type != NKI_V_MISSING) r->is_newer = true;
  int first = has_dst && !r->is_newer ? 1 : 0;
  /* if the second parameter is given by name, the first positional argument is dst */
  if (has_dst && first && n && out->at[1].type != NKI_V_MISSING) {
    r->is_newer = true;
    first = 0;
  }
  if (has_dst && out->at[0].type != NKI_V_MISSING) first = 1;
  for (size_t k = 0; k < n; k++) {
    const int at = is_any ? (int)k : first + (int)k;
    if (at >= NKI_ARGUMENTS_MAX - 1 || (!is_any && at >= total))
      nki_fail(r, "%s takes %d arguments (%zu were given)", b->name, total, n + n_named);
    if (out->at[at].type != NKI_V_MISSING) nki_fail(r, "%s: argument %zu is given twice", b->name, k + 1);
    out->at[at] = positional[k];
  }
}

bool nki_given(nki_value v) { return v.type != NKI_V_MISSING && v.type != NKI_V_NONE; }

trn_type nki_dtype(nki_run *r, nki_value v) {
  trn_type type;
  if (v.type == NKI_V_DTYPE) return (trn_type)v.as.i;
  if (v.type == NKI_V_STRING && type_of_name(nki_string_of(v), &type)) return type;
  if (v.type == NKI_V_BUILTIN && strcmp(v.as.builtin->name, "float") == 0) return TRN_F32;
  if (v.type == NKI_V_BUILTIN && strcmp(v.as.builtin->name, "int") == 0) return TRN_I32;
  if (v.type == NKI_V_BUILTIN && strcmp(v.as.builtin->name, "bool") == 0) return TRN_BOOL;
  char text[80];
  nki_print(v, text, sizeof text);
  nki_fail(r, "unsupported element type '%s'", text);
}

int nki_shape(nki_run *r, nki_value v, int64_t size[TRN_VIEW_DIMS], int *partition_axis) {
  const nki_value *item = nki_is_sequence(v) ? nki_items(v)->item : &v;
  const size_t n = nki_is_sequence(v) ? nki_items(v)->n : 1;
  if (n > TRN_VIEW_DIMS) nki_fail(r, "a shape has more than %d dimensions", TRN_VIEW_DIMS);
  if (partition_axis) *partition_axis = 0;
  for (size_t d = 0; d < n; d++) {
    size[d] = nki_integer(r, item[d], "shape");
    if (item[d].type == NKI_V_PAR_DIM && partition_axis) *partition_axis = (int)d;
  }
  return (int)n;
}

int nki_operation(nki_run *r, nki_value v, const char *what) {
  if (v.type != NKI_V_BUILTIN || v.as.builtin->code < 0)
    nki_fail(r, "unsupported value of '%s': %s; expected an operation, as nl.add", what, nki_type_name(v));
  return v.as.builtin->code;
}

trn_binary nki_binary_op(nki_run *r, nki_value v, const char *what) {
  const int code = nki_operation(r, v, what);
  if (code >= NKI_ACTIVATION)
    nki_fail(r, "unsupported value of '%s': %s; expected an operation of two operands", what, v.as.builtin->name);
  return (trn_binary)code;
}

trn_unary nki_unary_op(nki_run *r, nki_value v, const char *what) {
  const int code = nki_operation(r, v, what);
  if (code == TRN_BYPASS) return TRN_IDENTITY;
  if (code < NKI_ACTIVATION)
    nki_fail(r, "unsupported value of '%s': %s; expected an activation function", what, v.as.builtin->name);
  return (trn_unary)(code - NKI_ACTIVATION);
}

unsigned nki_axes(nki_run *r, nki_value v, int n) {
  const nki_value *item = nki_is_sequence(v) ? nki_items(v)->item : &v;
  const size_t n_items = nki_is_sequence(v) ? nki_items(v)->n : 1;
  unsigned out = 0;
  for (size_t i = 0; i < n_items; i++) {
    int64_t axis = nki_integer(r, item[i], "axis");
    if (axis < 0) axis += n;
    if (axis < 0 || axis >= n) nki_fail(r, "axis %lld of an operand with %d dimensions", (long long)axis, n);
    out |= 1u << axis;
  }
  return out;
}

nki_scalar nki_scalar_of(nki_run *r, nki_value v, const char *what) {
  if (v.type == NKI_V_VIEW) return (nki_scalar){.pointer = nki_operand(r, v, what)};
  return (nki_scalar){.value = nki_number(r, v, what)};
}
