/* core.c - a core's program: loops, objects that it acquires and releases, calls.
 *
 * The number of objects that a core holds is followed along the text: objectfifo.acquire states the new number, so the
 * difference is taken from the lock. An iteration of a loop must restore the state that it found, so one iteration
 * represents all. */
#include <inttypes.h>
#include <string.h>

#include "base/strings.h"
#include "mlir_aie/core_reader.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/lower.h"

void xd_core_note(core_reader *c, int lock, int line) {
  const xd_op_note note = {c->r->design->program.cores.n, c->core.ops.n, lock, line};
  xd_append(&c->r->ops, sizeof note, &note, &c->r->failed);
}

void xd_core_add(core_reader *c, const xd_op *op) {
  xd_append(&c->core.ops, sizeof *op, op, &c->r->design->program.failed);
}

/* ---- objects ---- */

/* @name(Produce, 1) or (Consume, 1): the port and the number. */
static int read_port(core_reader *c, int *count) {
  xd_reader *r = c->r;
  const int line = r->token.line;
  const int fifo = xd_fifo_named(r, xd_read_symbol(r), line);
  xd_read_expect(r, '(');
  const bool produces = xd_read_take_word(r, "Produce");
  if (!produces) xd_read_expect_word(r, "Consume");
  xd_read_expect(r, ',');
  *count = (int)xd_read_number(r, 1, 64);
  xd_read_expect(r, ')');
  if (!xd_going(r)) return -1;
  const xd_fifo *f = &r->design->program.fifos.at[fifo];
  bool is_end = produces && xd_same_place(f->producer.tile, c->core.tile);
  for (int i = 0; i < f->n_consumers && !produces; i++)
    is_end = is_end || xd_same_place(f->consumer[i].tile, c->core.tile);
  if (!is_end) {
    xd_read_fail(r, line, "%s is not a %s of object FIFO @%s", xd_place_label(c->core.tile).text,
                 produces ? "producer" : "consumer", f->name);
    return -1;
  }
  const int port = xd_fifo_port(&r->design->program, fifo, c->core.tile);
  const xd_port_note none = {0};
  while (r->ports.n < r->design->program.ports.n && !r->failed) xd_append(&r->ports, sizeof none, &none, &r->failed);
  return r->failed ? -1 : port;
}

/* Remembers the most that an end holds: mlir-aie makes its buffers by it. */
static void note_most(xd_reader *r, int port, int held, int line) {
  const xd_port *q = &r->design->program.ports.at[port];
  const xd_fifo *f = &r->design->program.fifos.at[q->fifo];
  xd_fifo_note *note = &r->fifos.at[q->fifo];
  int end = 0;
  for (int i = 0; i < f->n_consumers; i++)
    if (!q->is_producer && xd_same_place(f->consumer[i].tile, q->tile)) end = i + 1;
  if (held <= note->most[end]) return;
  note->most[end] = held;
  note->most_line[end] = line;
}

static void read_acquire(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  int count = 0;
  const int port = read_port(c, &count);
  xd_read_expect(r, ':');
  const xd_shape shape = xd_read_wrapped_type(r, "aie.objectfifosubview");
  if (!xd_going(r)) return;
  xd_expect_shape(r, &shape, &r->fifos.at[r->design->program.ports.at[port].fifo].object, line);
  xd_port_note *note = &r->ports.at[port];
  if (count > note->held) {
    const xd_op op = {.kind = XD_ACQUIRE, .parameter = -1, .port = port, .count = count - note->held};
    xd_core_add(c, &op);
    note->held = count;
    note->line = line;
    note_most(r, port, count, line);
  }
  xd_define(r, (xd_value){.name = result,
                          .kind = XD_VIEW_VALUE,
                          .index = port,
                          .number = count,
                          .first = note->released,
                          .shape = shape});
}

static void read_release(core_reader *c, int line) {
  xd_reader *r = c->r;
  int count = 0;
  const int port = read_port(c, &count);
  if (!xd_going(r)) return;
  xd_port_note *note = &r->ports.at[port];
  if (count > note->held)
    xd_read_fail(r, line, "%d object(s) of @%s are released, but %d are held; an acquire is missing", count,
                 r->design->program.ports.at[port].name, note->held);
  const xd_op op = {.kind = XD_RELEASE, .parameter = -1, .port = port, .count = count};
  xd_core_add(c, &op);
  note->held -= count;
  note->released += count;
}

/* %o = aie.objectfifo.subview.access %v[0] : !aie.objectfifosubview<memref<..>> -> memref<..> */
static void read_access(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  xd_read_expect(r, '[');
  const int64_t at = xd_read_number(r, 0, 64);
  xd_read_expect(r, ']');
  xd_read_expect(r, ':');
  const xd_shape whole = xd_read_wrapped_type(r, "aie.objectfifosubview");
  if (xd_going(r) && !xd_read_at_kind(r, XD_TOKEN_ARROW)) xd_read_fail(r, r->token.line, "expected ->");
  xd_read_next(r);
  const xd_shape shape = xd_read_type(r);
  if (!xd_going(r)) return;
  if (v->kind != XD_VIEW_VALUE || at >= v->number) {
    xd_read_fail(r, line, "%%%s holds no object %" PRId64, xd_read_excerpt(v->name).text, at);
    return;
  }
  xd_expect_shape(r, &whole, &v->shape, line);
  xd_expect_shape(r, &shape, &v->shape, line);
  xd_define(r, (xd_value){
                   .name = result, .kind = XD_OBJECT_VALUE, .index = v->index, .first = v->first + at, .shape = shape});
}

static void read_use(core_reader *c) {
  const xd_lock_action u = xd_read_use_lock(c->r, c->core.tile);
  const bool raw = c->r->options.raw;
  const xd_op op = {.kind = u.releases ? raw ? XD_ADD_TO_LOCK : XD_RELEASE
                            : u.equal  ? XD_AWAIT_LOCK
                            : raw      ? XD_TAKE_LOCK
                                       : XD_ACQUIRE,
                    .parameter = -1,
                    .lock = u.use.lock,
                    .count = u.use.count};
  xd_core_note(c, u.use.lock, u.line);
  xd_core_add(c, &op);
}

/* ---- calls ---- */

static void read_arguments(core_reader *c, xd_call_arguments *a) {
  xd_reader *r = c->r;
  xd_read_expect(r, '(');
  while (xd_going(r) && !xd_read_at(r, ')')) {
    const int line = r->token.line;
    const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
    if (a->n == XD_MLIR_ARGUMENTS) xd_read_fail(r, line, "a call with more than %d arguments", XD_MLIR_ARGUMENTS);
    if (!xd_going(r)) return;
    if (v->kind == XD_TILE_VALUE || v->kind == XD_VIEW_VALUE || v->kind == XD_LOCK_VALUE || v->kind == XD_OTHER_VALUE)
      xd_read_fail(r, line, "%%%s is not an object, buffer or number", xd_read_excerpt(v->name).text);
    if (xd_going(r) && v->kind == XD_BUFFER_VALUE && !r->options.raw && !xd_same_place(v->place, c->core.tile))
      xd_read_fail(r, line, "%%%s is in %s, not in %s; memory of neighbours is unsupported",
                   xd_read_excerpt(v->name).text, xd_place_label(v->place).text, xd_place_label(c->core.tile).text);
    if (!xd_going(r)) return;
    a->at[a->n++] = *v;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ')');
}

/* The index of an object among those held. */
static int element_of(core_reader *c, const xd_value *v, int line) {
  if (v->kind != XD_OBJECT_VALUE) return 0;
  const xd_port_note *note = &c->r->ports.at[v->index];
  const int64_t element = v->first - note->released;
  if (element < 0 || element >= note->held)
    xd_read_fail(c->r, line, "an object of @%s is used after its release; an acquire is missing",
                 c->r->design->program.ports.at[v->index].name);
  return (int)element;
}

void xd_core_take(core_reader *c, const xd_value *v, xd_op *op, int i, int line) {
  op->argument[i].element = element_of(c, v, line);
  op->argument[i].choices = v->choices;
  op->argument[i].chosen = v->choices ? (int)v->first : 0;
}

/* Compares the signature with the function's declaration. */
static void read_signature(xd_reader *r, const xd_declaration *f, int line) {
  int n = 0;
  xd_read_expect(r, ':');
  xd_read_expect(r, '(');
  while (xd_going(r) && !xd_read_at(r, ')')) {
    const xd_shape shape = xd_read_type(r);
    if (xd_going(r) && (n == f->n || !xd_shape_same(&shape, &f->argument[n])))
      xd_read_fail(r, line, "the types of the call differ from the declaration of @%s", xd_read_excerpt(f->name).text);
    n++;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ')');
  if (xd_going(r) && !xd_read_at_kind(r, XD_TOKEN_ARROW)) xd_read_fail(r, r->token.line, "expected ->");
  xd_read_next(r);
  const bool listed = xd_read_take(r, '(');
  if (!listed || !xd_read_at(r, ')')) xd_read_type(r);
  if (listed) xd_read_expect(r, ')');
}

/* The call's argument that is the buffer or object of the operation's argument `n`. */
static const xd_value *pointer_of(const xd_call_arguments *a, int n) {
  for (int i = 0; i < a->n; i++)
    if ((a->at[i].kind == XD_OBJECT_VALUE || a->at[i].kind == XD_BUFFER_VALUE) && n-- == 0) return &a->at[i];
  return NULL;
}

static void read_call(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  xd_call_arguments a = {0};
  xd_attributes attributes;
  xd_op op = {.kind = XD_CALL, .parameter = -1};
  const xd_declaration *f = xd_declaration_named(r, xd_read_symbol(r), line);
  read_arguments(c, &a);
  xd_read_attributes(r, &attributes);
  /* the attribute in which some generators keep the library function's name */
  xd_attribute_text(r, &attributes, "lib");
  xd_attributes_end(r, &attributes, "func.call");
  if (f) read_signature(r, f, line);
  if (!xd_going(r) || !xd_read_kernel(r, f, &a, line, &op)) return;
  for (int i = 0; i < op.n_arguments && xd_going(r); i++) {
    const xd_value *v = pointer_of(&a, i);
    if (v) xd_core_take(c, v, &op, i, line);
  }
  xd_core_note(c, -1, line);
  xd_core_add(c, &op);
  if (!result.length) return;
  const int given = xd_core_register(c); /* its result is unknown, so it is 0 */
  xd_define(r, (xd_value){.name = result, .kind = XD_SCALAR_VALUE, .index = given});
}

/* ---- a region ---- */

void xd_core_read_op(core_reader *c) {
  xd_reader *r = c->r;
  xd_slice op;
  const int line = r->token.line;
  const xd_slice result = xd_read_result(r, &op);
  if (xd_read_take_word(r, "arith.constant"))
    xd_read_constant(r, result);
  else if (xd_read_take_word(r, "scf.for"))
    xd_core_read_for(c, result, line);
  else if (xd_read_take_word(r, "affine.for"))
    xd_core_read_affine_for(c, line);
  else if (xd_read_take_word(r, "scf.if"))
    xd_core_read_if(c, result, line);
  else if (xd_read_take_word(r, "scf.index_switch"))
    xd_core_read_switch(c, result, line);
  else if (xd_read_take_word(r, "scf.yield"))
    xd_core_read_yield(c, line);
  else if (xd_read_take_word(r, "cf.br"))
    xd_core_read_branch(c, line);
  else if (xd_read_take_word(r, "memref.load"))
    xd_core_read_load(c, result, line);
  else if (xd_read_take_word(r, "memref.store"))
    xd_core_read_store(c, line);
  else if (xd_core_read_scalar(c, op, result, line))
    return;
  else if (xd_read_take_word(r, "aie.objectfifo.acquire"))
    read_acquire(c, result, line);
  else if (xd_read_take_word(r, "aie.objectfifo.release"))
    read_release(c, line);
  else if (xd_read_take_word(r, "aie.objectfifo.subview.access"))
    read_access(c, result, line);
  else if (xd_read_take_word(r, "aie.use_lock"))
    read_use(c);
  else if (xd_read_take_word(r, "func.call") || xd_read_take_word(r, "call"))
    read_call(c, result, line);
  else if (!xd_read_take_word(r, "aie.end") && !xd_read_take_word(r, "affine.yield"))
    xd_read_fail(r, line, "unsupported operation '%s' in a core", xd_read_excerpt(op).text);
}

void xd_core_read_region(core_reader *c) {
  xd_read_expect(c->r, '{');
  while (xd_going(c->r) && !xd_read_at(c->r, '}')) {
    if (xd_read_at_kind(c->r, XD_TOKEN_END)) xd_read_fail(c->r, c->r->token.line, "the text ends within a core");
    if (c->endless && xd_read_at(c->r, '^')) { /* unreachable, after an infinite loop */
      xd_read_label(c->r);
      xd_read_expect(c->r, ':');
    }
    xd_core_read_op(c);
  }
  xd_read_expect(c->r, '}');
}

static void check_end(core_reader *c, int line) {
  xd_reader *r = c->r;
  for (size_t i = 0; i < r->ports.n && xd_going(r); i++)
    if (r->ports.at[i].held)
      xd_read_fail(r, line, "%s ends while it holds %d object(s) of @%s (acquired in line %d); a release is missing",
                   xd_place_label(c->core.tile).text, r->ports.at[i].held, r->design->program.ports.at[i].name,
                   r->ports.at[i].line);
  for (size_t i = 0; i < r->ports.n; i++) r->ports.at[i] = (xd_port_note){0};
}

void xd_read_core(xd_reader *r, xd_slice result) {
  const int line = r->token.line;
  core_reader c = {.r = r, .yields_to = -1};
  xd_attributes attributes;
  xd_read_expect(r, '(');
  const xd_value *tile = xd_value_named(r, xd_read_value_name(r), line);
  xd_read_expect(r, ')');
  if (tile && (tile->kind != XD_TILE_VALUE || xd_kind_of(tile->place) != XD_COMPUTE))
    xd_read_fail(r, line, "%%%s is not a tile with a core", xd_read_excerpt(tile->name).text);
  if (!tile || !xd_going(r)) return;
  c.core.tile = tile->place;
  for (size_t i = 0; i < r->design->program.cores.n; i++)
    if (xd_same_place(r->design->program.cores.at[i].tile, c.core.tile))
      xd_read_fail(r, line, "%s has two programs", xd_place_label(c.core.tile).text);
  const size_t values = r->values.n;
  xd_core_read_region(&c);
  check_end(&c, line);
  r->values.n = values;
  xd_read_attributes(r, &attributes);
  xd_attribute_text(r, &attributes, "link_with");
  c.core.stack = xd_attribute_number(r, &attributes, "stack_size", r->config->stack_bytes);
  if (xd_going(r) && c.core.stack < 1)
    xd_read_fail(r, line, "stack_size = %lld; a core needs a stack: leave it out, or give its bytes",
                 (long long)c.core.stack);
  /* options of how loops are compiled; they do not change the meaning */
  xd_attribute_true(r, &attributes, "dynamic_objfifo_lowering");
  xd_attributes_end(r, &attributes, "aie.core");
  xd_define(r, (xd_value){.name = result, .kind = XD_OTHER_VALUE});
  XD_ADD(&r->design->program, cores, &c.core); /* also after a failure: it is freed with the program */
}
