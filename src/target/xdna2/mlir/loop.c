/* loop.c - loops of a core's program: scf.for, and the blocks and branches that mlir-aie makes of it:
 *
 *     cf.br ^header(%from)
 *   ^header(%turn: index):
 *     %more = arith.cmpi slt, %turn, %to
 *     cf.cond_br %more, ^body, ^behind
 *   ^body:
 *     ...
 *     %next = arith.addi %turn, %step
 *     cf.br ^header(%next)
 *   ^behind: */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/mlir/core_reader.h"

/* ---- a loop ---- */

static int64_t read_bound(core_reader *c) {
  const int line = c->r->token.line;
  const xd_value *v = xd_value_named(c->r, xd_read_value_name(c->r), line);
  if (v && v->kind != XD_NUMBER_VALUE)
    xd_read_fail(c->r, line, "%%%s is no constant; loops need constant bounds", xd_read_excerpt(v->name).text);
  return v ? v->number : 0;
}

/* ---- run-time parameters ---- */

/* %value = memref.load %buffer[%element] : memref<..> */
void xd_core_read_load(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  const xd_value *of = xd_value_named(r, xd_read_value_name(r), line);
  if (of && (of->kind != XD_BUFFER_VALUE || !xd_same_place(of->place, c->core.tile) || of->shape.element_bits != 32))
    xd_read_fail(r, line,
                 "%%%s is no buffer of 32-bit words of this core: memref.load is taken for run-time parameters",
                 xd_read_excerpt(of->name).text);
  xd_value v = {.name = result, .kind = XD_LOADED_VALUE, .index = of ? (int)of->number : 0};
  const xd_shape whole = of ? of->shape : (xd_shape){0};
  const int64_t elements = whole.elements;
  xd_read_expect(r, '[');
  v.number = read_bound(c);
  xd_read_expect(r, ']');
  xd_read_expect(r, ':');
  const xd_shape shape = xd_read_type(r);
  xd_expect_shape(r, &shape, &whole, line);
  if (xd_going(r) && (v.number < 0 || v.number >= elements))
    xd_read_fail(r, line, "element %" PRId64 " of a buffer of %" PRId64, v.number, elements);
  xd_define(r, v);
}

/* %index = arith.index_cast %value : i32 to index */
void xd_core_read_cast(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  const xd_value *of = xd_value_named(r, xd_read_value_name(r), line);
  xd_read_expect(r, ':');
  xd_read_type(r);
  xd_read_expect_word(r, "to");
  xd_read_type(r);
  if (!of) return;
  xd_value v = *of;
  if (v.kind != XD_LOADED_VALUE && v.kind != XD_NUMBER_VALUE)
    xd_read_fail(r, line, "%%%s is no number", xd_read_excerpt(v.name).text);
  v.name = result;
  xd_define(r, v);
}

/* The core's parameter that is this word. */
static int parameter_of(core_reader *c, const xd_value *v, int line) {
  xd_reader *r = c->r;
  const int core = (int)r->design->program.cores.n;
  int number = 0;
  for (size_t i = 0; i < r->parameters.n; i++) {
    const xd_parameter *q = &r->parameters.at[i];
    if (q->core != core) continue;
    if (q->buffer == v->index && q->element == v->number) return q->number;
    number++;
  }
  if (number == XD_PARAMETERS) xd_read_fail(r, line, "more than %d run-time parameters of a core", XD_PARAMETERS);
  const xd_parameter added = {v->index, core, number, line, v->number, false};
  xd_append(&r->parameters, sizeof added, &added, &r->failed);
  return number;
}

/* A loop's end: a constant, or a parameter, whose number is *parameter (else -1). */
static int64_t read_end(core_reader *c, int *parameter) {
  const int line = c->r->token.line;
  *parameter = -1;
  if (xd_read_at_kind(c->r, XD_TOKEN_VALUE)) {
    const xd_value *v = xd_value_named(c->r, (xd_slice){c->r->token.at, c->r->token.length}, line);
    if (v && v->kind == XD_LOADED_VALUE) {
      *parameter = parameter_of(c, v, line);
      xd_read_next(c->r);
      return 0;
    }
  }
  return read_bound(c);
}

/* ---- turns ---- */

/* What is done for ever in the text is a number of turns that no core comes to the end of. */
enum { FOR_EVER = INT32_MAX };

static int64_t turns_of(xd_reader *r, int64_t from, int64_t to, int64_t step, int line) {
  if (step < 1) xd_read_fail(r, line, "a loop's step is %" PRId64, step);
  if (!xd_going(r) || step < 1 || to <= from) return 0;
  const uint64_t turns = ((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step + 1;
  return turns >= FOR_EVER ? -1 : (int64_t)turns;
}

/* Of a parameter, its value: the turns are unknown here, as of a loop for ever. */
static int64_t turns_to(xd_reader *r, int64_t from, int64_t to, int parameter, int64_t step, int line) {
  if (parameter < 0) return turns_of(r, from, to, step, line);
  if (from || step != 1) xd_read_fail(r, line, "a loop to a run-time parameter must go from 0 in steps of 1");
  return -1;
}

static void check_turn(core_reader *c, const xd_port_note *before, size_t n, int line) {
  xd_reader *r = c->r;
  for (size_t i = 0; i < r->ports.n && xd_going(r); i++) {
    const xd_port_note *now = &r->ports.at[i], was = i < n ? before[i] : (xd_port_note){0};
    const char *name = r->design->program.ports.at[i].name;
    if (now->held > was.held)
      xd_read_fail(r, line,
                   "each turn of the loop keeps %d more object(s) of @%s (acquired in line %d): a release is "
                   "missing",
                   now->held - was.held, name, now->line);
    else if (now->held < was.held)
      xd_read_fail(r, line,
                   "each turn of the loop releases %d object(s) of @%s that it has not acquired: an acquire is "
                   "missing",
                   was.held - now->held, name);
    else if (was.held && now->released != was.released)
      xd_read_fail(r, line, "the loop keeps objects of @%s from turn to turn (a sliding window), which is not taken",
                   name);
  }
}

/* Turns that acquire nothing are simulated one by one, whatever they do. */
static void check_busy(core_reader *c, size_t begin, int64_t turns, int64_t outside, int line) {
  enum { MOST = 1 << 20 };
  for (size_t i = begin; i < c->core.ops.n; i++)
    if (c->core.ops.at[i].kind == XD_ACQUIRE) {
      c->busy = outside;
      return;
    }
  if (turns < 0 || turns * (c->busy + 1) > MOST)
    xd_read_fail(c->r, line, "a loop of more than %d turns that acquires nothing", MOST);
  c->busy = xd_going(c->r) ? outside + turns * (c->busy + 1) : 0;
}

/* Its turns may be known only where it ends. */
static void open_loop(core_reader *c, int parameter, xd_slice turn, xd_slice header, int line) {
  xd_reader *r = c->r;
  const xd_op op = {.kind = XD_LOOP, .parameter = parameter};
  if (c->loops == XD_LOOPS) xd_read_fail(r, line, "loops nest more than %d deep", XD_LOOPS);
  if (!xd_going(r)) return;
  core_loop *l = &c->loop[c->loops++];
  *l = (core_loop){.op = c->core.ops.n,
                   .values = r->values.n,
                   .n_ports = r->ports.n,
                   .before = tw_new(r->ports.n, sizeof *l->before),
                   .outside = c->busy,
                   .line = line,
                   .header = header};
  if (!l->before) r->failed = true;
  if (l->before && l->n_ports) memcpy(l->before, r->ports.at, l->n_ports * sizeof *l->before);
  c->busy = 0;
  xd_core_add(c, &op);
  xd_define(r, (xd_value){.name = turn, .kind = XD_TURN_VALUE});
}

static void close_loop(core_reader *c, int64_t turns) {
  xd_reader *r = c->r;
  const xd_op end = {.kind = XD_END, .parameter = -1};
  const core_loop *l = &c->loop[--c->loops];
  if (!r->design->program.failed) c->core.ops.at[l->op].count = turns;
  check_busy(c, l->op + 1, turns, l->outside, l->line);
  if (l->before) check_turn(c, l->before, l->n_ports, l->line);
  xd_core_add(c, &end);
  free(l->before);
  r->values.n = l->values;
}

/* ---- scf.for ---- */

void xd_core_read_for(core_reader *c, int line) {
  xd_reader *r = c->r;
  const int depth = c->loops;
  const xd_slice turn = xd_read_value_name(r);
  xd_read_expect(r, '=');
  const int64_t from = read_bound(c);
  xd_read_expect_word(r, "to");
  int parameter;
  const int64_t to = read_end(c, &parameter);
  xd_read_expect_word(r, "step");
  const int64_t step = read_bound(c);
  if (xd_read_at_word(r, "iter_args")) xd_read_fail(r, line, "iter_args of a loop is not taken");
  if (xd_read_take(r, ':')) xd_read_type(r);
  const int64_t turns = turns_to(r, from, to, parameter, step, line);
  open_loop(c, parameter, turn, (xd_slice){"", 0}, line);
  if (c->loops == depth) return;
  xd_core_read_region(c);
  close_loop(c, turns);
  xd_attributes attributes;
  xd_read_attributes(r, &attributes);
  xd_attributes_end(r, &attributes, "scf.for");
}

/* ---- branches ---- */

static void expect_label(xd_reader *r, xd_slice label, int line) {
  const int here = r->token.line;
  if (!xd_slice_same(xd_read_label(r), label))
    xd_read_fail(r, here, "block ^%s should follow the branch in line %d: other branches than a loop's are not taken",
                 xd_read_excerpt(label).text, line);
}

/* (%turn: index): or, of a branch, (%from : index) */
static xd_slice read_value_of_block(xd_reader *r) {
  xd_read_expect(r, '(');
  const xd_slice name = xd_read_value_name(r);
  xd_read_expect(r, ':');
  xd_read_type(r);
  xd_read_expect(r, ')');
  return name;
}

/* From the header on, of which the branch in that line has told. */
static void read_branch_loop(core_reader *c, xd_slice header, int64_t from, int line) {
  xd_reader *r = c->r;
  const int depth = c->loops;
  expect_label(r, header, line);
  const xd_slice turn = read_value_of_block(r);
  xd_read_expect(r, ':');
  const xd_slice condition = xd_read_value_name(r);
  xd_read_expect(r, '=');
  xd_read_expect_word(r, "arith.cmpi");
  xd_read_expect_word(r, "slt");
  xd_read_expect(r, ',');
  if (!xd_slice_same(xd_read_value_name(r), turn)) xd_read_fail(r, line, "a loop that does not compare its turn");
  xd_read_expect(r, ',');
  int parameter;
  const int64_t to = read_end(c, &parameter);
  xd_read_expect(r, ':');
  xd_read_type(r);
  xd_read_expect_word(r, "cf.cond_br");
  if (!xd_slice_same(xd_read_value_name(r), condition)) xd_read_fail(r, line, "a loop that asks for something else");
  xd_read_expect(r, ',');
  const xd_slice body = xd_read_label(r);
  xd_read_expect(r, ',');
  const xd_slice behind = xd_read_label(r);
  expect_label(r, body, line);
  xd_read_expect(r, ':');
  open_loop(c, parameter, turn, header, line);
  if (c->loops == depth) return;
  while (xd_going(r) && !c->back) {
    if (xd_read_at(r, '}') || xd_read_at(r, '^') || xd_read_at_kind(r, XD_TOKEN_END))
      xd_read_fail(r, r->token.line, "the loop from line %d on does not come back to ^%s", line,
                   xd_read_excerpt(header).text);
    else
      xd_core_read_op(c);
  }
  c->back = false;
  close_loop(c, turns_to(r, from, to, parameter, c->step, line));
  expect_label(r, behind, line);
  xd_read_expect(r, ':');
}

void xd_core_read_branch(core_reader *c, int line) {
  xd_reader *r = c->r;
  const xd_slice to = xd_read_label(r);
  const xd_value *v = xd_value_named(r, read_value_of_block(r), line);
  if (!v) return;
  if (c->loops && c->loop[c->loops - 1].header.length && xd_slice_same(c->loop[c->loops - 1].header, to)) {
    if (v->kind != XD_TURN_VALUE || !v->number) xd_read_fail(r, line, "a loop that does not go on by a constant");
    c->back = true;
    c->step = v->number;
    return;
  }
  if (v->kind != XD_NUMBER_VALUE) xd_read_fail(r, line, "%%%s is no constant", xd_read_excerpt(v->name).text);
  if (xd_going(r)) read_branch_loop(c, to, v->number, line);
}

/* %next = arith.addi %turn, %step : index. Of a turn that has been added to, `number` is the step. */
void xd_core_read_sum(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  const xd_value *turn = xd_value_named(r, xd_read_value_name(r), line);
  xd_read_expect(r, ',');
  const int64_t step = read_bound(c);
  xd_read_expect(r, ':');
  xd_read_type(r);
  if (turn && (turn->kind != XD_TURN_VALUE || turn->number))
    xd_read_fail(r, line, "arith.addi is taken for the turn of a loop only");
  xd_define(r, (xd_value){.name = result, .kind = XD_TURN_VALUE, .number = step});
}
