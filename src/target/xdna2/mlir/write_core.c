/* write_core.c - the program of each core as structured loops.
 *
 * An acquire of a port gives the number of objects that the core then holds (as objectfifo.acquire). The view of an acquire is
 * valid until the next acquire. Accesses through the view skip objects that were released since. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/integers.h"
#include "target/xdna2/array/symbol.h"
#include "target/xdna2/mlir/core_writer.h"
#include "target/xdna2/mlir/rotate.h"

/* ---- a core ---- */

void xd_write_indent(core_writer *c) { tw_text_add(&c->w->text, "%*s", 6 + 2 * c->depth, ""); }

/* The word of the core's memory that holds a parameter, as the sequence writes it; NULL: it is a constant. */
static const xd_command *word_of(const core_writer *c, int parameter) {
  const xd_program *p = c->w->program;
  for (size_t i = 0; i < p->sequence.n && parameter >= 0; i++) {
    const xd_command *k = &p->sequence.at[i];
    if (k->kind == XD_SET && k->core == c->index && k->parameter == parameter && k->buffer) return k;
  }
  return NULL;
}

/* The value that the sequence gives to a parameter, if it is the same as long as the core runs. */
static int64_t parameter_value(core_writer *c, int parameter) {
  const xd_program *p = c->w->program;
  int found = 0;
  int64_t value = 0;
  for (size_t i = 0; i < p->sequence.n; i++) {
    const xd_command *k = &p->sequence.at[i];
    if (k->kind != XD_SET || k->core != c->index || k->parameter != parameter) continue;
    value = k->value;
    found++;
  }
  if (found != 1)
    xd_write_fail(c->w, "parameter %d of %s is set %d times by the sequence; expected once", parameter,
                  xd_place_label(c->core->tile).text, found);
  return value;
}

static void write_ops(core_writer *c, size_t from, size_t end);

/* The index of the end of the loop at `at`. */
static size_t end_of(const xd_core *core, size_t at) {
  int depth = 1;
  while (depth && at + 1 < core->ops.n) {
    at++;
    depth += core->ops.at[at].kind == XD_LOOP ? 1 : core->ops.at[at].kind == XD_END ? -1 : 0;
  }
  return at;
}

static int64_t turns_of(core_writer *c, const xd_op *op) {
  return op->parameter >= 0 ? parameter_value(c, op->parameter) : op->count;
}

/* How many objects of a port the operations release, modulo its buffers. */
static int64_t released_by(core_writer *c, size_t from, size_t end, int port, int buffers) {
  int64_t sum = 0;
  for (size_t i = from; i < end; i++) {
    const xd_op *op = &c->core->ops.at[i];
    if (op->kind == XD_RELEASE && op->port == port) sum += op->count;
    if (op->kind != XD_LOOP) continue;
    const size_t inner = end_of(c->core, i);
    const int64_t turns = turns_of(c, op);
    if (turns > 0) sum += turns % buffers * released_by(c, i + 1, inner, port, buffers);
    i = inner;
  }
  return sum % buffers;
}

/* The number of iterations after which all ports are at their initial buffers. mlir-aie unrolls object FIFOs itself. */
static int64_t period_of(core_writer *c, size_t from, size_t end) {
  int64_t period = 1;
  const bool counted = xd_has_words(c->w->program, c->index);
  for (size_t i = 0; c->w->explicit && !counted && i < c->w->program->ports.n; i++) {
    const xd_port *q = &c->w->program->ports.at[i];
    if (!xd_same_place(q->tile, c->core->tile) || q->n_buffers < 2) continue;
    const int64_t own = q->n_buffers / tw_common_divisor(q->n_buffers, released_by(c, from, end, (int)i, q->n_buffers));
    period *= own / tw_common_divisor(period, own);
  }
  return period;
}

/* The number of iterations, as a value. */
static int write_turns(core_writer *c, const xd_op *op, int64_t turns) {
  const xd_command *word = word_of(c, op->parameter);
  xd_write_indent(c);
  if (!word) {
    tw_text_add(&c->w->text, "%%v%d = arith.constant %" PRId64 " : index\n", c->value, turns < 0 ? INT64_MAX : turns);
    return c->value++;
  }
  const xd_buffer *b = &c->w->program->buffers.at[word->buffer - 1];
  const int at = c->value;
  c->value += 3;
  tw_text_add(&c->w->text, "%%v%d = arith.constant %" PRId64 " : index\n", at, word->element);
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = memref.load %%%s[%%v%d] : %s\n", at + 1, xd_write_local(b->name, b->tile).text, at,
              xd_write_memref(b->bytes, b->type).text);
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = arith.index_cast %%v%d : i32 to index\n", at + 2, at + 1);
  return at + 2;
}

static void write_for(core_writer *c, const xd_op *op, int64_t turns) {
  const int from = c->value++;
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = arith.constant 0 : index\n", from);
  const int to = write_turns(c, op, turns), step = c->value++;
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = arith.constant 1 : index\n", step);
  xd_write_indent(c);
  tw_text_add(&c->w->text, "scf.for %%v%d = %%v%d to %%v%d step %%v%d {\n", c->value++, from, to, step);
  c->depth++;
}

/* In the explicit form buffers have names, so a loop is unrolled until they repeat, unless the core counts them. */
static void write_loop(core_writer *c, size_t at, size_t end) {
  const xd_op *op = &c->core->ops.at[at];
  const int64_t turns = word_of(c, op->parameter) ? -1 : turns_of(c, op), least = period_of(c, at + 1, end),
                period = least > 1 ? least : 1;
  const int64_t whole = turns < 0 ? -1 : turns / period, rest = turns < 0 ? 0 : turns % period;
  if (whole || !turns) {
    write_for(c, op, whole);
    for (int64_t i = 0; i < period; i++) write_ops(c, at + 1, end);
    c->depth--;
    xd_write_indent(c);
    tw_text_add_string(&c->w->text, "}\n");
  }
  for (int64_t i = 0; i < rest; i++) write_ops(c, at + 1, end);
}

static const char *side(const xd_port *q) { return q->is_producer ? "Produce" : "Consume"; }

static void write_use(core_writer *c, xd_lock_use use, const char *action, int64_t objects) {
  const xd_lock *l = &c->w->program->locks.at[use.lock];
  xd_write_indent(c);
  tw_text_add(&c->w->text, "aie.use_lock(%%%s, %s, %" PRId64 ")\n", xd_write_local(l->name, l->tile).text, action,
              objects * use.count);
}

static void write_acquire(core_writer *c, const xd_op *op) {
  const xd_port *q = &c->w->program->ports.at[op->port];
  port_view *v = &c->views[op->port];
  if (c->w->explicit) {
    write_use(c, q->acquire, "AcquireGreaterEqual", op->count);
    return;
  }
  const xd_memref type = xd_write_port_type(c->w, op->port);
  v->held += (int)op->count;
  v->released = 0;
  v->view = c->value++;
  v->first_object = c->value;
  c->value += v->held;
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = aie.objectfifo.acquire @%s(%s, %d) : !aie.objectfifosubview<%s>\n", v->view,
              q->name, side(q), v->held, type.text);
  for (int i = 0; i < v->held; i++) {
    xd_write_indent(c);
    tw_text_add(&c->w->text, "%%v%d = aie.objectfifo.subview.access %%v%d[%d] : !aie.objectfifosubview<%s> -> %s\n",
                v->first_object + i, v->view, i, type.text, type.text);
  }
}

static void write_release(core_writer *c, const xd_op *op) {
  const xd_port *q = &c->w->program->ports.at[op->port];
  if (c->w->explicit) {
    write_use(c, q->release, "Release", op->count);
    c->views[op->port].oldest = (c->views[op->port].oldest + (int)op->count) % q->n_buffers;
    return;
  }
  c->views[op->port].held -= (int)op->count;
  c->views[op->port].released += (int)op->count;
  xd_write_indent(c);
  tw_text_add(&c->w->text, "aie.objectfifo.release @%s(%s, %d)\n", q->name, side(q), (int)op->count);
}

static void write_argument(core_writer *c, int port, int element) {
  const xd_port *q = &c->w->program->ports.at[port];
  const port_view *v = &c->views[port];
  if (q->fifo < 0 || c->w->explicit) {
    const xd_buffer *b = &c->w->program->buffers.at[q->first_buffer + (v->oldest + element) % q->n_buffers];
    tw_text_add(&c->w->text, "%%%s", xd_write_local(b->name, q->tile).text);
  } else {
    tw_text_add(&c->w->text, "%%v%d", v->first_object + v->released + element);
  }
}

static void write_call(core_writer *c, const xd_op *op) {
  const xd_symbol s = xd_symbol_of(&op->call);
  const bool takes_row = xd_symbol_takes_row(&op->call);
  int choice[XD_ARGUMENTS];
  if (!*s.text) return;
  for (int i = 0; i < op->n_arguments; i++)
    choice[i] = op->argument[i].choices ? xd_write_choice(c, op->argument[i].port, op->argument[i].chosen) : -1;
  const int row = c->value;
  xd_write_indent(c);
  if (takes_row) {
    c->value++;
    tw_text_add(&c->w->text, "%%v%d = arith.constant %d : i32\n", row, op->call.row);
    xd_write_indent(c);
  }
  tw_text_add(&c->w->text, "func.call @%s(", s.text);
  for (int i = 0; i < op->n_arguments; i++) {
    if (i) tw_text_add_string(&c->w->text, ", ");
    if (choice[i] >= 0)
      tw_text_add(&c->w->text, "%%v%d", choice[i]);
    else
      write_argument(c, op->argument[i].port, op->argument[i].element);
  }
  if (takes_row) tw_text_add(&c->w->text, ", %%v%d", row);
  tw_text_add_string(&c->w->text, ") : ");
  xd_write_signature(c->w, op, &c->w->text);
  tw_text_add_string(&c->w->text, " -> ()\n");
}

static void write_ops(core_writer *c, size_t from, size_t end) {
  for (size_t i = from; i < end && c->w->status == TW_OK; i++) {
    const xd_op *op = &c->core->ops.at[i];
    const size_t inner = op->kind == XD_LOOP ? end_of(c->core, i) : i;
    if (op->kind == XD_LOOP) write_loop(c, i, inner);
    if (op->kind == XD_ACQUIRE) write_acquire(c, op);
    if (op->kind == XD_RELEASE) write_release(c, op);
    if (op->kind == XD_TAKE_LOCK) write_use(c, (xd_lock_use){op->lock, 1}, "AcquireGreaterEqual", op->count);
    if (op->kind == XD_AWAIT_LOCK || op->kind == XD_ADD_TO_LOCK)
      xd_write_fail(c->w, "%s uses a barrier", xd_place_label(c->core->tile).text);
    if (op->kind == XD_CALL) write_call(c, op);
    if (op->kind == XD_SCALAR) xd_write_scalar(c, op);
    i = inner;
  }
}

/* Is it a lock that the host's sequence sets and a core acquires? */
static bool is_barrier(const xd_program *p, int lock) {
  for (size_t i = 0; i < p->sequence.n; i++)
    if (p->sequence.at[i].kind == XD_SET_LOCK && p->sequence.at[i].lock == lock) return true;
  return false;
}

static void write_own_buffers(xd_writer *w, xd_place tile) {
  for (size_t i = 0; i < w->program->ports.n; i++) {
    const xd_port *q = &w->program->ports.at[i];
    if (q->fifo < 0 && xd_same_place(q->tile, tile))
      tw_text_add(&w->text, "    %%%s = aie.buffer(%s) {sym_name = \"%s\"} : %s\n", xd_write_local(q->name, tile).text,
                  xd_write_tile(tile).text, xd_write_local(q->name, tile).text, xd_write_port_type(w, (int)i).text);
  }
  for (size_t i = 0; i < w->program->locks.n; i++)
    if (is_barrier(w->program, (int)i) && xd_same_place(w->program->locks.at[i].tile, tile)) {
      const xd_local_name name = xd_write_local(w->program->locks.at[i].name, tile);
      tw_text_add(&w->text, "    %%%s = aie.lock(%s) {init = %d : i32, sym_name = \"%s\"}\n", name.text,
                  xd_write_tile(tile).text, w->program->locks.at[i].initial, name.text);
    }
}

void xd_write_cores(xd_writer *w) {
  port_view *views = tw_new(w->program->ports.n, sizeof *views);
  if (!views) w->text.failed = true;
  for (size_t i = 0; i < w->program->cores.n && !w->text.failed && w->status == TW_OK; i++) {
    core_writer c = {.w = w, .core = &w->program->cores.at[i], .index = (int)i, .views = views};
    const xd_place t = c.core->tile;
    c.values = tw_new((size_t)c.core->registers + 1, sizeof *c.values);
    if (!c.values) w->text.failed = true;
    if (!w->explicit) write_own_buffers(w, t);
    tw_text_add(&w->text, "    %%core_%d_%d = aie.core(%s) {\n", t.column, t.row, xd_write_tile(t).text);
    write_ops(&c, 0, w->text.failed ? 0 : c.core->ops.n);
    /* without dynamic lowering, mlir-aie unrolls loops by the number of buffers, which takes constant bounds */
    tw_text_add(&w->text, "      aie.end\n    } {%sstack_size = %d : i32}\n",
                !w->explicit && xd_has_words(w->program, c.index) ? "dynamic_objfifo_lowering = true, " : "",
                w->config->stack_bytes);
    free(c.values);
  }
  free(views);
}
