/* write_scalar.c - the scalar code of cores: what rotate.c makes, counters of buffers. */
#include <inttypes.h>

#include "target/xdna2/mlir/core_writer.h"

/* A constant is written before it is used. */
static int write_source(core_writer *c, xd_source s, const char *type) {
  if (s.at >= 0) return c->values[s.at];
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = arith.constant %" PRId64 " : %s\n", c->value, s.value, type);
  return c->value++;
}

/* %v[%at] : memref<..> */
static void write_element(core_writer *c, const xd_op *op, int at) {
  const xd_port *q = &c->w->program->ports.at[op->argument[0].port];
  tw_text_add(&c->w->text, "%%%s[%%v%d] : %s\n", xd_write_local(q->name, q->tile).text, at,
              xd_write_port_type(c->w, op->argument[0].port).text);
}

static bool is_used(const xd_core *core, int value) {
  for (size_t i = 0; i < core->ops.n; i++) {
    const xd_op *op = &core->ops.at[i];
    for (int f = 0; f < 3; f++)
      if (op->kind == XD_SCALAR && op->scalar.from[f].at == value) return true;
    for (int a = 0; a < op->n_arguments; a++)
      if (op->argument[a].choices && op->argument[a].chosen == value) return true;
  }
  return false;
}

/* The bounds of loops are loaded by write_turns. */
void xd_write_scalar(core_writer *c, const xd_op *op) {
  const xd_scalar *s = &op->scalar;
  if (s->kind == XD_SCALAR_LOAD && !is_used(c->core, s->to)) return;
  const bool memory = s->kind == XD_SCALAR_LOAD || s->kind == XD_SCALAR_STORE;
  const int a = write_source(c, s->from[0], memory ? "index" : "i32"),
            b = s->kind == XD_SCALAR_LOAD ? 0 : write_source(c, s->from[1], "i32"),
            other = s->kind == XD_SCALAR_SELECT ? write_source(c, s->from[2], "i32") : 0;
  xd_write_indent(c);
  if (s->kind == XD_SCALAR_STORE) {
    tw_text_add(&c->w->text, "memref.store %%v%d, ", b);
    write_element(c, op, a);
    return;
  }
  c->values[s->to] = c->value++;
  tw_text_add(&c->w->text, "%%v%d = ", c->values[s->to]);
  if (s->kind == XD_SCALAR_LOAD) {
    tw_text_add_string(&c->w->text, "memref.load ");
    write_element(c, op, a);
  } else if (s->kind == XD_SCALAR_ADD)
    tw_text_add(&c->w->text, "arith.addi %%v%d, %%v%d : i32\n", a, b);
  else if (s->kind == XD_SCALAR_COMPARE && s->compare == XD_EQ)
    tw_text_add(&c->w->text, "arith.cmpi eq, %%v%d, %%v%d : i32\n", a, b);
  else if (s->kind == XD_SCALAR_SELECT)
    tw_text_add(&c->w->text, "arith.select %%v%d, %%v%d, %%v%d : i32\n", a, b, other);
  else
    xd_write_fail(c->w, "%s has scalar code", xd_place_label(c->core->tile).text);
}

int xd_write_choice(core_writer *c, int port, int chosen) {
  const xd_port *q = &c->w->program->ports.at[port];
  const xd_memref type = xd_write_port_type(c->w, port);
  const int at = c->value++, result = c->value++;
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = arith.index_cast %%v%d : i32 to index\n", at, c->values[chosen]);
  xd_write_indent(c);
  tw_text_add(&c->w->text, "%%v%d = scf.index_switch %%v%d -> %s\n", result, at, type.text);
  for (int i = 0; i <= q->n_buffers; i++) {
    const xd_buffer *b = &c->w->program->buffers.at[q->first_buffer + i % q->n_buffers];
    xd_write_indent(c);
    if (i < q->n_buffers)
      tw_text_add(&c->w->text, "case %d {\n", i);
    else
      tw_text_add_string(&c->w->text, "default {\n");
    xd_write_indent(c);
    tw_text_add(&c->w->text, "  scf.yield %%%s : %s\n", xd_write_local(b->name, b->tile).text, type.text);
    xd_write_indent(c);
    tw_text_add_string(&c->w->text, "}\n");
  }
  return result;
}
