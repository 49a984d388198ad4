/* scalar.c - scalar code of cores: loads, stores, arithmetic and conditions, which the simulator runs one by one. Each
 * takes a cycle, a lower bound (a core issues one scalar operation of a kind a cycle, and a load's value comes later);
 * what makes an address rides on the load or store, and conversions of a number's width are free. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mlir_aie/core_reader.h"
#include "target/xdna2/array/scalar.h"

/* ---- values ---- */

int xd_core_register(core_reader *c) { return c->core.registers++; }

xd_source xd_core_source(core_reader *c, const xd_value *v, int line) {
  if (!v || !xd_going(c->r)) return (xd_source){-1, 0};
  switch (v->kind) {
  case XD_NUMBER_VALUE:
  case XD_REAL_VALUE: return (xd_source){-1, v->number};
  case XD_TURN_VALUE:
    if (!c->r->failed && !c->r->design->program.failed) c->core.ops.at[v->first].turns = true;
    return (xd_source){v->index, 0};
  case XD_SCALAR_VALUE: return (xd_source){v->index, 0};
  case XD_LOADED_VALUE: return (xd_source){(int)v->first, 0};
  default: xd_read_fail(c->r, line, "%%%s is not a number", xd_read_excerpt(v->name).text); return (xd_source){-1, 0};
  }
}

static xd_source read_source(core_reader *c) {
  const int line = c->r->token.line;
  return xd_core_source(c, xd_value_named(c->r, xd_read_value_name(c->r), line), line);
}

/* ---- types ---- */

typedef struct scalar_type {
  tw_type type; /* TW_TYPE_NONE: 64 bits */
  bool is_unsigned;
} scalar_type;

static scalar_type type_of(xd_reader *r, const xd_shape *s, int line) {
  const scalar_type t = {!strcmp(s->element, "index")                              ? TW_I32
                         : !strcmp(s->element, "i1") || !strcmp(s->element, "ui8") ? TW_I8
                                                                                   : xd_shape_type(s),
                         !strcmp(s->element, "ui8") || !strcmp(s->element, "i1")};
  if (xd_going(r) && t.type != TW_I8 && t.type != TW_I16 && t.type != TW_I32 && t.type != TW_F32 && t.type != TW_BF16 &&
      strcmp(s->element, "i64") != 0)
    xd_read_fail(r, line, "unsupported type %s of scalar code", s->element);
  return strcmp(s->element, "i64") ? t : (scalar_type){TW_TYPE_NONE, false};
}

static bool is_real(tw_type t) { return t == TW_F32 || t == TW_BF16; }

/* ---- emission ---- */

static void emit(core_reader *c, const xd_scalar *s, const xd_op *arguments) {
  xd_op op = arguments ? *arguments : (xd_op){.kind = XD_SCALAR};
  op.kind = XD_SCALAR;
  op.parameter = -1;
  op.scalar = *s;
  xd_core_note(c, -1, c->r->op_line);
  xd_core_add(c, &op);
}

static void define(core_reader *c, xd_slice result, int at) {
  xd_define(c->r, (xd_value){.name = result, .kind = XD_SCALAR_VALUE, .index = at});
}

void xd_core_copy(core_reader *c, xd_source from, int to) {
  emit(c, &(xd_scalar){.kind = XD_SCALAR_COPY, .to = to, .from = {from, {-1, 0}, {-1, 0}}}, NULL);
}

/* a + b or a b of indices; computed at once if both numbers are known. */
static xd_source combine(core_reader *c, xd_scalar_kind kind, xd_source a, xd_source b) {
  const xd_scalar s = {
      .kind = kind, .type = TW_I32, .from = {a, b, {-1, 0}}, .to = a.at < 0 && b.at < 0 ? 0 : xd_core_register(c)};
  if (a.at < 0 && b.at < 0) return (xd_source){-1, xd_scalar_compute(&s, NULL)};
  emit(c, &s, NULL);
  return (xd_source){s.to, 0};
}

/* ---- loads and stores ---- */

/* %buffer[%i, %j] : memref<..>: the buffer becomes the argument; returns the element's index. */
static xd_source read_place(core_reader *c, xd_op *op, scalar_type *type, const xd_value **of, int line) {
  xd_reader *r = c->r;
  xd_source at = {-1, 0}, index[XD_SHAPE_DIMS];
  int n = 0;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && v->kind != XD_OBJECT_VALUE && v->kind != XD_BUFFER_VALUE)
    xd_read_fail(r, line, "%%%s is not a buffer or object of this core", xd_read_excerpt(v->name).text);
  if (v && xd_going(r) && v->kind == XD_BUFFER_VALUE &&
      (v->index < 0 || (!r->options.raw && !xd_same_place(v->place, c->core.tile))))
    xd_read_fail(r, line, "%%%s is in %s, not in %s; memory of neighbours is unsupported",
                 xd_read_excerpt(v->name).text, xd_place_label(v->place).text, xd_place_label(c->core.tile).text);
  if (!v || !xd_going(r)) return at;
  const xd_value buffer = *v; /* the list of values may move */
  *of = v;
  xd_read_expect(r, '[');
  while (xd_going(r) && !xd_read_at(r, ']')) {
    if (n == XD_SHAPE_DIMS) xd_read_fail(r, line, "more than %d indices", XD_SHAPE_DIMS);
    if (xd_going(r))
      index[n++] =
          xd_read_at_kind(r, XD_TOKEN_NUMBER) ? (xd_source){-1, xd_read_number(r, 0, INT32_MAX)} : read_source(c);
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ']');
  xd_read_expect(r, ':');
  const xd_shape shape = xd_read_type(r);
  xd_expect_shape(r, &shape, &buffer.shape, line);
  if (xd_going(r) && n != shape.n) xd_read_fail(r, line, "%d indices, but %d dimensions", n, shape.n);
  *type = type_of(r, &shape, line);
  if (xd_going(r) && type->type == TW_TYPE_NONE) xd_read_fail(r, line, "unsupported type i64 of scalar code in memory");
  for (int i = 0; i < n && xd_going(r); i++) {
    if (i) at = combine(c, XD_SCALAR_MULTIPLY, at, (xd_source){-1, shape.dim[i]});
    at = i ? combine(c, XD_SCALAR_ADD, at, index[i]) : index[i];
  }
  op->n_arguments = 1;
  op->argument[0].port = buffer.index;
  xd_core_take(c, &buffer, op, 0, line);
  return at;
}

void xd_core_read_load(core_reader *c, xd_slice result, int line) {
  xd_op op = {.n_arguments = 0};
  scalar_type type = {TW_I32, false};
  const xd_value *of = NULL;
  const xd_source at = read_place(c, &op, &type, &of, line);
  if (!xd_going(c->r)) return;
  const xd_value buffer = *of;
  const int to = xd_core_register(c);
  const bool is_word = buffer.kind == XD_BUFFER_VALUE && !buffer.choices && at.at < 0 &&
                       type.type == TW_I32; /* perhaps a run-time parameter */
  if (is_word && at.value >= buffer.shape.elements)
    xd_read_fail(c->r, line, "element %" PRId64 " of a buffer of %" PRId64, at.value, buffer.shape.elements);
  emit(c,
       &(xd_scalar){.kind = XD_SCALAR_LOAD,
                    .to = to,
                    .from = {at, {-1, 0}, {-1, 0}},
                    .type = type.type,
                    .is_unsigned = type.is_unsigned,
                    .cycles = !is_word},
       &op);
  if (is_word)
    xd_define(
        c->r,
        (xd_value){
            .name = result, .kind = XD_LOADED_VALUE, .index = (int)buffer.number, .number = at.value, .first = to});
  else
    define(c, result, to);
}

void xd_core_read_store(core_reader *c, int line) {
  xd_op op = {.n_arguments = 0};
  scalar_type type = {TW_I32, false};
  const xd_value *of = NULL;
  const xd_source value = read_source(c);
  xd_read_expect(c->r, ',');
  const xd_source at = read_place(c, &op, &type, &of, line);
  if (xd_going(c->r))
    emit(c, &(xd_scalar){.kind = XD_SCALAR_STORE, .from = {at, value, {-1, 0}}, .type = type.type, .cycles = 1}, &op);
}

/* ---- arithmetic ---- */

static const struct {
  const char *op;
  xd_scalar_kind kind;
  bool is_unsigned;
} binary[] = {
    {"addi", XD_SCALAR_ADD, false},       {"subi", XD_SCALAR_SUBTRACT, false}, {"muli", XD_SCALAR_MULTIPLY, false},
    {"divsi", XD_SCALAR_DIVIDE, false},   {"divui", XD_SCALAR_DIVIDE, true},   {"remsi", XD_SCALAR_REMAINDER, false},
    {"remui", XD_SCALAR_REMAINDER, true}, {"andi", XD_SCALAR_AND, false},      {"ori", XD_SCALAR_OR, false},
    {"xori", XD_SCALAR_XOR, false},       {"shli", XD_SCALAR_LEFT, false},     {"shrsi", XD_SCALAR_RIGHT, false},
    {"shrui", XD_SCALAR_RIGHT, true},     {"minsi", XD_SCALAR_LEAST, false},   {"maxsi", XD_SCALAR_MOST, false},
    {"minui", XD_SCALAR_LEAST, true},     {"maxui", XD_SCALAR_MOST, true},     {"addf", XD_SCALAR_ADD, false},
    {"subf", XD_SCALAR_SUBTRACT, false},  {"mulf", XD_SCALAR_MULTIPLY, false}, {"divf", XD_SCALAR_DIVIDE, false},
    {"minimumf", XD_SCALAR_LEAST, false}, {"maximumf", XD_SCALAR_MOST, false}, {"minnumf", XD_SCALAR_LEAST, false},
    {"maxnumf", XD_SCALAR_MOST, false},
};

static const struct {
  const char *op;
  xd_scalar_kind kind;
  bool is_unsigned;
} conversions[] = {
    {"index_cast", XD_SCALAR_ADD, false},    {"index_castui", XD_SCALAR_ADD, true},
    {"extsi", XD_SCALAR_ADD, false},         {"trunci", XD_SCALAR_ADD, false},
    {"extf", XD_SCALAR_ADD, false},          {"truncf", XD_SCALAR_ADD, false},
    {"sitofp", XD_SCALAR_TO_REAL, false},    {"uitofp", XD_SCALAR_TO_REAL, true},
    {"fptosi", XD_SCALAR_TO_INTEGER, false}, {"fptoui", XD_SCALAR_TO_INTEGER, true},
};

static const struct {
  const char *word;
  xd_compare compare;
  bool is_unsigned;
} predicates[] = {
    {"eq", XD_EQ, false},  {"ne", XD_NE, false},  {"slt", XD_LT, false}, {"sle", XD_LE, false},
    {"sgt", XD_GT, false}, {"sge", XD_GE, false}, {"ult", XD_LT, true},  {"ule", XD_LE, true},
    {"ugt", XD_GT, true},  {"uge", XD_GE, true},  {"oeq", XD_EQ, false}, {"une", XD_NE, false},
    {"olt", XD_LT, false}, {"ole", XD_LE, false}, {"ogt", XD_GT, false}, {"oge", XD_GE, false},
};
#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

/* overflow<nsw>, fastmath<..> */
static void skip_flags(xd_reader *r) {
  while (xd_read_at_word(r, "overflow") || xd_read_at_word(r, "fastmath")) {
    xd_read_next(r);
    xd_read_expect(r, '<');
    while (xd_going(r) && !xd_read_at(r, '>')) xd_read_next(r);
    xd_read_expect(r, '>');
  }
}

static void read_binary(core_reader *c, xd_slice result, xd_scalar s, int line) {
  s.from[0] = read_source(c);
  xd_read_expect(c->r, ',');
  s.from[1] = read_source(c);
  skip_flags(c->r);
  xd_read_expect(c->r, ':');
  const xd_shape shape = xd_read_type(c->r);
  const scalar_type t = type_of(c->r, &shape, line);
  s.type = t.type;
  s.is_unsigned = s.is_unsigned || t.is_unsigned;
  s.cycles = 1;
  if (!xd_going(c->r)) return;
  s.to = xd_core_register(c);
  emit(c, &s, NULL);
  define(c, result, s.to);
}

static void read_conversion(core_reader *c, xd_slice result, xd_scalar s, int line) {
  xd_reader *r = c->r;
  const xd_slice name = {r->token.at, r->token.length};
  const xd_source of = read_source(c);
  xd_read_expect(r, ':');
  const xd_shape from = xd_read_type(r);
  xd_read_expect_word(r, "to");
  const xd_shape shape = xd_read_type(r);
  const scalar_type t = type_of(r, &shape, line);
  /* looked up again, because the list may have moved */
  const xd_value *v = xd_going(r) ? xd_value_named(r, name, line) : NULL;
  if (!v) return;
  (void)from;
  xd_value same = *v;
  const bool kept =
      s.kind == XD_SCALAR_ADD && !is_real(t.type) && (v->kind == XD_NUMBER_VALUE || v->kind == XD_LOADED_VALUE);
  if (kept) { /* kept, so that loops may branch to it */
    same.name = result;
    xd_define(r, same);
    return;
  }
  s.type = t.type;
  s.from[0] = of;
  s.from[1] = (xd_source){-1, 0};
  s.to = xd_core_register(c);
  emit(c, &s, NULL);
  define(c, result, s.to);
}

static void read_compare(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  xd_scalar s = {.kind = XD_SCALAR_COMPARE};
  size_t i = 0;
  while (i < COUNT_OF(predicates) && !xd_read_at_word(r, predicates[i].word)) i++;
  if (i == COUNT_OF(predicates)) {
    xd_read_fail(r, line, "unsupported comparison '%s'",
                 xd_read_excerpt((xd_slice){r->token.at, r->token.length}).text);
    return;
  }
  s.compare = predicates[i].compare;
  s.is_unsigned = predicates[i].is_unsigned;
  xd_read_next(r);
  xd_read_expect(r, ',');
  read_binary(c, result, s, line);
}

static void read_select(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  xd_scalar s = {.kind = XD_SCALAR_SELECT, .cycles = 1};
  for (int i = 0; i < 3; i++) {
    if (i) xd_read_expect(r, ',');
    s.from[i] = read_source(c);
  }
  xd_read_expect(r, ':');
  const xd_shape shape = xd_read_type(r);
  s.type = type_of(r, &shape, line).type;
  if (!xd_going(r)) return;
  s.to = xd_core_register(c);
  emit(c, &s, NULL);
  define(c, result, s.to);
}

/* ---- conditions ---- */

/* A branch must restore the state before it, because the taken branch is known only at run time. */
static void check_branch(core_reader *c, const xd_port_note *before, size_t n, int line) {
  for (size_t i = 0; i < c->r->ports.n && xd_going(c->r); i++) {
    const xd_port_note *now = &c->r->ports.at[i], was = i < n ? before[i] : (xd_port_note){0};
    if (now->held != was.held || now->released != was.released)
      xd_read_fail(c->r, line, "unsupported branch of scf.if: it acquires or releases objects of @%s",
                   c->r->design->program.ports.at[i].name);
  }
}

/* { ... scf.yield %v : type }, whose value is stored in a register. */
static void read_branch(core_reader *c, int line) {
  const size_t n = c->r->ports.n, values = c->r->values.n;
  xd_port_note *before = malloc((n + 1) * sizeof *before);
  if (!before) {
    c->r->failed = true;
    return;
  }
  if (n) memcpy(before, c->r->ports.at, n * sizeof *before);
  xd_core_read_region(c);
  check_branch(c, before, n, line);
  c->r->values.n = values;
  free(before);
}

void xd_core_read_if(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  const xd_source when = read_source(c);
  const xd_op begin = {.kind = XD_IF, .parameter = -1, .scalar = {.from = {when, {-1, 0}, {-1, 0}}}},
              other = {.kind = XD_ELSE, .parameter = -1}, end = {.kind = XD_END_IF, .parameter = -1};
  const int outer = c->yields_to, yields = result.length ? xd_core_register(c) : -1;
  if (xd_read_at_kind(r, XD_TOKEN_ARROW)) {
    xd_read_next(r);
    xd_read_expect(r, '(');
    xd_read_type(r);
    if (xd_read_at(r, ',')) xd_read_fail(r, line, "unsupported scf.if with more than one result");
    xd_read_expect(r, ')');
  }
  xd_core_add(c, &begin);
  c->yields_to = yields;
  read_branch(c, line);
  xd_core_add(c, &other);
  if (xd_read_take_word(r, "else")) read_branch(c, line);
  c->yields_to = outer;
  xd_core_add(c, &end);
  if (result.length) define(c, result, yields);
}

/* scf.yield [%v : type] */
void xd_core_read_yield(core_reader *c, int line) {
  if (!xd_read_at_kind(c->r, XD_TOKEN_VALUE)) return;
  const xd_source value = read_source(c);
  if (xd_read_at(c->r, ',')) xd_read_fail(c->r, line, "unsupported loop with more than one carried value");
  xd_read_expect(c->r, ':');
  xd_read_type(c->r);
  if (xd_going(c->r) && c->yields_to >= 0) xd_core_copy(c, value, c->yields_to);
}

/* ---- all ---- */

bool xd_core_read_scalar(core_reader *c, xd_slice op, xd_slice result, int line) {
  xd_reader *r = c->r;
  if (op.length <= 6 || memcmp(op.at, "arith.", 6) != 0) return false;
  const xd_slice name = {op.at + 6, op.length - 6};
  for (size_t i = 0; i < COUNT_OF(binary); i++)
    if (xd_slice_is(name, binary[i].op)) {
      xd_read_next(r);
      read_binary(c, result, (xd_scalar){.kind = binary[i].kind, .is_unsigned = binary[i].is_unsigned}, line);
      return true;
    }
  for (size_t i = 0; i < COUNT_OF(conversions); i++)
    if (xd_slice_is(name, conversions[i].op)) {
      xd_read_next(r);
      read_conversion(c, result, (xd_scalar){.kind = conversions[i].kind, .is_unsigned = conversions[i].is_unsigned},
                      line);
      return true;
    }
  if (xd_slice_is(name, "extui")) { /* registers of unsigned types hold them so already; of signed ones, masked */
    xd_read_next(r);
    const xd_source of = read_source(c);
    xd_read_expect(r, ':');
    const xd_shape from = xd_read_type(r);
    xd_read_expect_word(r, "to");
    xd_read_type(r);
    if (!xd_going(r)) return true;
    const int to = xd_core_register(c), bits = (int)from.element_bits;
    emit(
        c,
        &(xd_scalar){
            .kind = XD_SCALAR_AND,
            .to = to,
            .type = TW_TYPE_NONE,
            .from = {of, {-1, !strcmp(from.element, "i1") ? 1 : ((int64_t)1 << (bits < 62 ? bits : 62)) - 1}, {-1, 0}}},
        NULL);
    define(c, result, to);
    return true;
  }
  if (xd_slice_is(name, "cmpi") || xd_slice_is(name, "cmpf")) {
    xd_read_next(r);
    read_compare(c, result, line);
    return true;
  }
  if (xd_slice_is(name, "select")) {
    xd_read_next(r);
    read_select(c, result, line);
    return true;
  }
  return false;
}
