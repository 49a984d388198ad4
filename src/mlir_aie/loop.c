/* loop.c - loops of a core's program: scf.for, and the blocks and branches into which mlir-aie lowers it:
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
#include "mlir_aie/core_reader.h"

/* ---- run-time parameters ---- */

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

/* The beginning, end or step of a loop. */
typedef struct bounds {
  xd_source at[3]; /* from, to, step */
  int parameter;   /* the parameter that `to` is; else -1 */
} bounds;

static bool is_known(const bounds *b) { return b->at[0].at < 0 && b->at[1].at < 0 && b->at[2].at < 0; }

/* One of them. A loop from 0 with step 1 to a word of memory that only the host writes is controlled by a parameter. */
static void read_bounds(core_reader *c, bounds *b, int i) {
  xd_reader *r = c->r;
  const int line = r->token.line;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (!v) return;
  if (i == 1 && v->kind == XD_LOADED_VALUE && !r->options.raw && b->at[0].at < 0)
    b->parameter = parameter_of(c, v, line);
  else
    b->at[i] = xd_core_source(c, v, line);
}

/* ---- iterations ---- */

/* An infinite loop in the text is a number of iterations that no core completes. */
enum { FOR_EVER = INT32_MAX };

static int64_t turns_of(xd_reader *r, int64_t from, int64_t to, int64_t step, int line) {
  if (step < 1) xd_read_fail(r, line, "a loop's step must be positive (found %" PRId64, step);
  if (!xd_going(r) || step < 1 || to <= from) return 0;
  const uint64_t turns = ((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step + 1;
  return turns >= FOR_EVER ? -1 : (int64_t)turns;
}

/* For a parameter, its value: the iterations are unknown here, as for an infinite loop. */
static int64_t turns_to(xd_reader *r, const bounds *b, int line) {
  if (b->parameter < 0 && !is_known(b)) return XD_COUNTED;
  if (b->parameter < 0) return turns_of(r, b->at[0].value, b->at[1].value, b->at[2].value, line);
  if (b->at[0].value || b->at[2].at >= 0 || b->at[2].value != 1)
    xd_read_fail(r, line, "a loop to a run-time parameter must start at 0 with step 1");
  return -1;
}

static void check_turn(core_reader *c, const xd_port_note *before, size_t n, int line) {
  xd_reader *r = c->r;
  for (size_t i = 0; i < r->ports.n && xd_going(r); i++) {
    const xd_port_note *now = &r->ports.at[i], was = i < n ? before[i] : (xd_port_note){0};
    const char *name = r->design->program.ports.at[i].name;
    if (now->held > was.held)
      xd_read_fail(
          r, line,
          "each iteration of the loop keeps %d more object(s) of @%s (acquired in line %d); a release is missing",
          now->held - was.held, name, now->line);
    else if (now->held < was.held)
      xd_read_fail(
          r, line,
          "each iteration of the loop releases %d object(s) of @%s that it has not acquired; an acquire is missing",
          was.held - now->held, name);
    else if (was.held && now->released != was.released)
      xd_read_fail(r, line, "unsupported sliding window: the loop keeps objects of @%s from one iteration to the next",
                   name);
  }
}

/* Iterations that acquire nothing are simulated one by one, whatever they do. */
static void check_busy(core_reader *c, size_t begin, int64_t turns, int64_t outside, int line) {
  enum { MOST = 1 << 26 };
  for (size_t i = begin; i < c->core.ops.n; i++)
    if (c->core.ops.at[i].kind == XD_ACQUIRE || c->core.ops.at[i].kind == XD_TAKE_LOCK) {
      c->busy = outside;
      return;
    }
  if (turns == XD_COUNTED) turns = 1; /* known when it runs, which is bounded, too */
  if (turns < 0 || turns * (c->busy + 1) > MOST)
    xd_read_fail(c->r, line, "a loop of more than %d iterations without an acquire", MOST);
  c->busy = xd_going(c->r) ? outside + turns * (c->busy + 1) : 0;
}

/* Its iterations may be known only where it ends. */
static void open_loop(core_reader *c, const bounds *b, xd_slice turn, xd_slice header, int line) {
  xd_reader *r = c->r;
  const xd_op op = {.kind = XD_LOOP,
                    .parameter = b->parameter,
                    .turns = !is_known(b) && b->parameter < 0,
                    .scalar = {.to = xd_core_register(c), .from = {b->at[0], b->at[1], b->at[2]}}};
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
  xd_define(r, (xd_value){.name = turn, .kind = XD_TURN_VALUE, .index = op.scalar.to, .first = (int64_t)l->op});
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

/* iter_args(%name = %begin) -> (type): a register that keeps a value between iterations; -1: none */
static int read_kept(core_reader *c, xd_slice *name, int line) {
  xd_reader *r = c->r;
  if (!xd_read_take_word(r, "iter_args")) return -1;
  xd_read_expect(r, '(');
  *name = xd_read_value_name(r);
  xd_read_expect(r, '=');
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  const xd_source begin = xd_core_source(c, v, line);
  if (xd_read_at(r, ',')) xd_read_fail(r, line, "unsupported iter_args with more than one value");
  xd_read_expect(r, ')');
  if (xd_going(r) && !xd_read_at_kind(r, XD_TOKEN_ARROW)) xd_read_fail(r, r->token.line, "expected ->");
  xd_read_next(r);
  xd_read_expect(r, '(');
  xd_read_type(r);
  xd_read_expect(r, ')');
  if (!xd_going(r)) return -1;
  const int at = xd_core_register(c);
  xd_core_copy(c, begin, at);
  return at;
}

static void read_body(core_reader *c, const bounds *b, xd_slice turn, xd_slice kept, int at, int line) {
  xd_reader *r = c->r;
  const int depth = c->loops, outer = c->yields_to;
  const int64_t turns = turns_to(r, b, line);
  xd_attributes attributes;
  open_loop(c, b, turn, (xd_slice){"", 0}, line);
  if (c->loops == depth) return;
  if (at >= 0) xd_define(r, (xd_value){.name = kept, .kind = XD_SCALAR_VALUE, .index = at});
  c->yields_to = at;
  xd_core_read_region(c);
  c->yields_to = outer;
  close_loop(c, turns);
  xd_read_attributes(r, &attributes);
  xd_attribute_ignore(&attributes, "loop_annotation"); /* for compilers */
  xd_attributes_end(r, &attributes, "a loop");
}

void xd_core_read_for(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  bounds b = {.parameter = -1};
  xd_slice kept = {"", 0};
  const xd_slice turn = xd_read_value_name(r);
  xd_read_expect(r, '=');
  read_bounds(c, &b, 0);
  xd_read_expect_word(r, "to");
  read_bounds(c, &b, 1);
  xd_read_expect_word(r, "step");
  read_bounds(c, &b, 2);
  const int at = read_kept(c, &kept, line);
  if (xd_read_take(r, ':')) xd_read_type(r);
  read_body(c, &b, turn, kept, at, line);
  if (result.length && at >= 0) xd_define(r, (xd_value){.name = result, .kind = XD_SCALAR_VALUE, .index = at});
}

/* affine.for %i = 0 to 64 [step 2] */
void xd_core_read_affine_for(core_reader *c, int line) {
  xd_reader *r = c->r;
  bounds b = {.at = {{-1, 0}, {-1, 0}, {-1, 1}}, .parameter = -1};
  const xd_slice turn = xd_read_value_name(r);
  xd_read_expect(r, '=');
  b.at[0].value = xd_read_number(r, INT32_MIN, INT32_MAX);
  xd_read_expect_word(r, "to");
  b.at[1].value = xd_read_number(r, INT32_MIN, INT32_MAX);
  if (xd_read_take_word(r, "step")) b.at[2].value = xd_read_number(r, 1, INT32_MAX);
  read_body(c, &b, turn, (xd_slice){"", 0}, -1, line);
}

/* ---- branches ---- */

static void expect_label(xd_reader *r, xd_slice label, int line) {
  const int here = r->token.line;
  if (!xd_slice_same(xd_read_label(r), label))
    xd_read_fail(r, here, "expected block ^%s after the branch in line %d; only the branches of a loop are supported",
                 xd_read_excerpt(label).text, line);
}

/* (%turn: index): or, for a branch, (%from : index) */
static xd_slice read_value_of_block(xd_reader *r) {
  xd_read_expect(r, '(');
  const xd_slice name = xd_read_value_name(r);
  xd_read_expect(r, ':');
  xd_read_type(r);
  xd_read_expect(r, ')');
  return name;
}

/* Up to the branch back. */
static void read_blocks(core_reader *c, xd_slice header, int line) {
  xd_reader *r = c->r;
  while (xd_going(r) && !c->back) {
    if (xd_read_at(r, '}') || xd_read_at(r, '^') || xd_read_at_kind(r, XD_TOKEN_END))
      xd_read_fail(r, r->token.line, "the loop from line %d on does not return to ^%s", line,
                   xd_read_excerpt(header).text);
    else
      xd_core_read_op(c);
  }
  c->back = false;
}

/* ^header: ... cf.br ^header: for ever */
static void read_endless(core_reader *c, xd_slice header, int line) {
  const bounds b = {.at = {{-1, 0}, {-1, 0}, {-1, 1}}, .parameter = -1};
  const int depth = c->loops;
  expect_label(c->r, header, line);
  xd_read_expect(c->r, ':');
  open_loop(c, &b, (xd_slice){"", 0}, header, line);
  if (c->loops == depth) return;
  read_blocks(c, header, line);
  close_loop(c, -1);
  c->endless = true;
}

/* The step, if %next is the value that was just added to the loop's counter: that operation is the loop's own. */
static int64_t take_step(core_reader *c, const core_loop *l, const xd_value *next, int line) {
  xd_core *core = &c->core;
  const xd_op *last = core->ops.n ? &core->ops.at[core->ops.n - 1] : NULL;
  if (!last || last->kind != XD_SCALAR || last->scalar.kind != XD_SCALAR_ADD || next->kind != XD_SCALAR_VALUE ||
      last->scalar.to != next->index || last->scalar.from[0].at != core->ops.at[l->op].scalar.to ||
      last->scalar.from[1].at >= 0) {
    xd_read_fail(c->r, line, "a loop that does not advance by a constant");
    return 1;
  }
  const int64_t step = last->scalar.from[1].value;
  core->ops.n--;
  c->r->ops.n--; /* its note */
  return step;
}

/* From the header on, which the branch in that line has named. */
static void read_branch_loop(core_reader *c, xd_slice header, xd_source from, int line) {
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
  if (!xd_slice_same(xd_read_value_name(r), turn))
    xd_read_fail(r, line, "a loop that does not compare its induction variable");
  xd_read_expect(r, ',');
  bounds b = {.at = {from, {-1, 0}, {-1, 1}}, .parameter = -1};
  read_bounds(c, &b, 1);
  xd_read_expect(r, ':');
  xd_read_type(r);
  xd_read_expect_word(r, "cf.cond_br");
  if (!xd_slice_same(xd_read_value_name(r), condition))
    xd_read_fail(r, line, "a loop with another condition than its induction variable");
  xd_read_expect(r, ',');
  const xd_slice body = xd_read_label(r);
  xd_read_expect(r, ',');
  const xd_slice behind = xd_read_label(r);
  expect_label(r, body, line);
  xd_read_expect(r, ':');
  open_loop(c, &b, turn, header, line);
  if (c->loops == depth) return;
  const size_t at = c->loop[depth].op;
  read_blocks(c, header, line);
  b.at[2].value = c->step;
  if (xd_going(r) && !r->design->program.failed) c->core.ops.at[at].scalar.from[2] = b.at[2];
  close_loop(c, turns_to(r, &b, line));
  expect_label(r, behind, line);
  xd_read_expect(r, ':');
}

void xd_core_read_branch(core_reader *c, int line) {
  xd_reader *r = c->r;
  const xd_slice to = xd_read_label(r);
  const core_loop *l = c->loops ? &c->loop[c->loops - 1] : NULL;
  const bool back = l && l->header.length && xd_slice_same(l->header, to);
  if (!xd_read_at(r, '(')) {
    c->back = back;
    if (!back) read_endless(c, to, line);
    return;
  }
  const xd_value *v = xd_value_named(r, read_value_of_block(r), line);
  if (!v) return;
  if (back) {
    c->back = true;
    c->step = take_step(c, l, v, line);
    return;
  }
  const xd_source from = xd_core_source(c, v, line);
  if (xd_going(r)) read_branch_loop(c, to, from, line);
}
