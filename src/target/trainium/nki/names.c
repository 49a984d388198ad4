/* names.c - the meaning of the modules' names, and the assignment of arguments to parameters. */
#include <math.h>
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
static nki_value module(nki_library library) { return (nki_value){.type = NKI_V_MODULE, .as.i = library}; }

/* Element types by the names of nki.language and NumPy. */
static bool type_of_name(const char *name, trn_type *out) {
  static const struct {
    const char *name;
    trn_type type;
  } others[] = {{"float8e4", TRN_E4M3}, {"float8e5", TRN_E5M2}, {"float8_e4m3fn", TRN_E4M3},
                {"bool_", TRN_BOOL},    {"half", TRN_F16},      {"single", TRN_F32},
                {"fp32", TRN_F32}};
  for (int t = 0; t < TRN_TYPES; t++) {
    if (strcmp(name, trn_type_name((trn_type)t)) != 0) continue;
    *out = (trn_type)t;
    return true;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(name, others[i].name) != 0) continue;
    *out = others[i].type;
    return true;
  }
  return false;
}

static nki_value constant(nki_library library, const char *name) {
  static const struct {
    nki_library library;
    const char *name;
    nki_value value;
  } known[] = {
      {NKI_LIB_TILE_SIZE, "pmax", {.type = NKI_V_INT, .as.i = 128}},
      {NKI_LIB_TILE_SIZE, "psum_fmax", {.type = NKI_V_INT, .as.i = 512}},
      {NKI_LIB_TILE_SIZE, "gemm_stationary_fmax", {.type = NKI_V_INT, .as.i = 128}},
      {NKI_LIB_TILE_SIZE, "gemm_moving_fmax", {.type = NKI_V_INT, .as.i = 512}},
      {NKI_LIB_TILE_SIZE, "bn_stats_fmax", {.type = NKI_V_INT, .as.i = 512}},
      {NKI_LIB_TILE_SIZE, "psum_min_align", {.type = NKI_V_INT, .as.i = 4}},
      {NKI_LIB_TILE_SIZE, "sbuf_min_align", {.type = NKI_V_INT, .as.i = 1}},
      {NKI_LIB_NL, "sbuf", {.type = NKI_V_BUFFER, .as.i = TRN_SBUF}},
      {NKI_LIB_NL, "psum", {.type = NKI_V_BUFFER, .as.i = TRN_PSUM}},
      {NKI_LIB_NL, "hbm", {.type = NKI_V_BUFFER, .as.i = TRN_HBM}},
      {NKI_LIB_NL, "shared_hbm", {.type = NKI_V_BUFFER, .as.i = TRN_HBM}},
      {NKI_LIB_NL, "private_hbm", {.type = NKI_V_BUFFER, .as.i = TRN_HBM}},
      {NKI_LIB_NL, "tile_size", {.type = NKI_V_MODULE, .as.i = NKI_LIB_TILE_SIZE}},
      {NKI_LIB_NKI, "language", {.type = NKI_V_MODULE, .as.i = NKI_LIB_NL}},
      {NKI_LIB_NKI, "isa", {.type = NKI_V_MODULE, .as.i = NKI_LIB_NISA}},
      {NKI_LIB_NKI, "nki", {.type = NKI_V_MODULE, .as.i = NKI_LIB_NKI}},
      {NKI_LIB_NKI, "typing", {.type = NKI_V_MODULE, .as.i = NKI_LIB_NKI}},
      {NKI_LIB_NISA, "tensor_engine", {.type = NKI_V_ENGINE, .as.i = TRN_TENSOR}},
      {NKI_LIB_NISA, "vector_engine", {.type = NKI_V_ENGINE, .as.i = TRN_VECTOR}},
      {NKI_LIB_NISA, "scalar_engine", {.type = NKI_V_ENGINE, .as.i = TRN_SCALAR}},
      {NKI_LIB_NISA, "gpsimd_engine", {.type = NKI_V_ENGINE, .as.i = TRN_GPSIMD}},
      {NKI_LIB_NISA, "unknown_engine", {.type = NKI_V_ENGINE, .as.i = TRN_ENGINE_ANY}},
      {NKI_LIB_NISA, "nc_version", {.type = NKI_V_MODULE, .as.i = NKI_LIB_VERSION}},
      {NKI_LIB_VERSION, "gen2", {.type = NKI_V_INT, .as.i = 2}},
      {NKI_LIB_VERSION, "gen3", {.type = NKI_V_INT, .as.i = 3}},
      {NKI_LIB_VERSION, "gen4", {.type = NKI_V_INT, .as.i = 4}},
      {NKI_LIB_NISA, "reduce_cmd", {.type = NKI_V_MODULE, .as.i = NKI_LIB_REDUCE_CMD}},
      {NKI_LIB_NISA, "engine", {.type = NKI_V_MODULE, .as.i = NKI_LIB_ENGINE}},
      {NKI_LIB_NISA, "dge_mode", {.type = NKI_V_MODULE, .as.i = NKI_LIB_MODE}},
      {NKI_LIB_NISA, "oob_mode", {.type = NKI_V_MODULE, .as.i = NKI_LIB_MODE}},
      {NKI_LIB_NISA, "matmul_perf_mode", {.type = NKI_V_MODULE, .as.i = NKI_LIB_MODE}},
      {NKI_LIB_NL, "fp32", {.type = NKI_V_MODULE, .as.i = NKI_LIB_LIMITS}},
      {NKI_LIB_LIMITS, "min", {.type = NKI_V_REAL, .as.r = -3.40282346638528859812e38}},
      {NKI_LIB_LIMITS, "max", {.type = NKI_V_REAL, .as.r = 3.40282346638528859812e38}},
      {NKI_LIB_REDUCE_CMD, "idle", {.type = NKI_V_INT, .as.i = NKI_REDUCE_IDLE}},
      {NKI_LIB_REDUCE_CMD, "reset", {.type = NKI_V_INT, .as.i = NKI_REDUCE_RESET}},
      {NKI_LIB_REDUCE_CMD, "reduce", {.type = NKI_V_INT, .as.i = NKI_REDUCE_REDUCE}},
      {NKI_LIB_REDUCE_CMD, "reset_reduce", {.type = NKI_V_INT, .as.i = NKI_REDUCE_RESET_REDUCE}},
      {NKI_LIB_ENGINE, "tensor", {.type = NKI_V_ENGINE, .as.i = TRN_TENSOR}},
      {NKI_LIB_ENGINE, "vector", {.type = NKI_V_ENGINE, .as.i = TRN_VECTOR}},
      {NKI_LIB_ENGINE, "scalar", {.type = NKI_V_ENGINE, .as.i = TRN_SCALAR}},
      {NKI_LIB_ENGINE, "gpsimd", {.type = NKI_V_ENGINE, .as.i = TRN_GPSIMD}},
      {NKI_LIB_ENGINE, "unknown", {.type = NKI_V_ENGINE, .as.i = TRN_ENGINE_ANY}},
      {NKI_LIB_MODE, "none", {.type = NKI_V_NONE}},
      {NKI_LIB_MODE, "unknown", {.type = NKI_V_NONE}},
      {NKI_LIB_MODE, "error", {.type = NKI_V_NONE}},
      {NKI_LIB_MODE, "skip", {.type = NKI_V_INT, .as.i = 1}},
      {NKI_LIB_MODE, "swdge", {.type = NKI_V_INT, .as.i = 2}},
      {NKI_LIB_MODE, "hwdge", {.type = NKI_V_INT, .as.i = 3}},
      {NKI_LIB_MODE, "double_row", {.type = NKI_V_INT, .as.i = 4}},
      {NKI_LIB_NUMPY, "newaxis", {.type = NKI_V_NONE}},
      {NKI_LIB_NUMPY, "inf", {.type = NKI_V_REAL, .as.r = INFINITY}},
      {NKI_LIB_NUMPY, "pi", {.type = NKI_V_REAL, .as.r = 3.14159265358979323846}},
      {NKI_LIB_MATH, "inf", {.type = NKI_V_REAL, .as.r = INFINITY}},
      {NKI_LIB_MATH, "pi", {.type = NKI_V_REAL, .as.r = 3.14159265358979323846}},
      {NKI_LIB_MATH, "e", {.type = NKI_V_REAL, .as.r = 2.71828182845904523536}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].library == library && strcmp(known[i].name, name) == 0) return known[i].value;
  return (nki_value){.type = NKI_V_MISSING};
}

static const char *library_name(nki_library library) {
  static const char *const names[] = {"nki",
                                      "nki.language",
                                      "nki.isa",
                                      "numpy",
                                      "math",
                                      "nl.tile_size",
                                      "nki.isa.reduce_cmd",
                                      "nki.isa.engine",
                                      "nki.isa",
                                      "nl.fp32",
                                      "nki.isa.nc_version",
                                      "module"};
  return names[library];
}

static nki_value library_name_or_missing(nki_library library, const char *name) {
  nki_value v = constant(library, name);
  trn_type type;
  if (v.type != NKI_V_MISSING) return v;
  if ((library == NKI_LIB_NL || library == NKI_LIB_NUMPY) && type_of_name(name, &type))
    return (nki_value){.type = NKI_V_DTYPE, .as.i = type};
  const nki_builtin *b = library == NKI_LIB_NL      ? find(nki_language_builtins, name)
                         : library == NKI_LIB_NISA  ? find(nki_isa_builtins, name)
                         : library == NKI_LIB_NUMPY ? find(nki_math_builtins, name)
                         : library == NKI_LIB_MATH  ? find(nki_math_builtins, name)
                                                    : NULL;
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
    if (strcmp(name, modules[i].name) == 0) return module(modules[i].library);
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
