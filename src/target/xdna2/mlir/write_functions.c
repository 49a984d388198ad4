/* write_functions.c - declarations of the functions that cores call, and the types of their arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/symbol.h"
#include "target/xdna2/mlir/writer.h"

/* ---- types of arguments ---- */

xd_memref xd_write_port_type(const xd_writer *w, int port) {
  const xd_port *q = &w->program->ports.at[port];
  const xd_buffer *b = &w->program->buffers.at[q->first_buffer];
  return xd_write_memref(b->bytes, q->fifo >= 0 ? w->program->fifos.at[q->fifo].type : b->type);
}

void xd_write_signature(const xd_writer *w, const xd_op *op, tw_text *t) {
  for (int i = 0; i < op->n_arguments; i++)
    tw_text_add(t, "%s%s", i ? ", " : "(", xd_write_port_type(w, op->argument[i].port).text);
  tw_text_add_string(t, xd_symbol_takes_row(&op->call) ? ", i32)" : ")");
}

/* ---- declarations ---- */

typedef struct declared {
  size_t n;
  char *text[32]; /* "@name(types)" */
} declared;

/* The name of the object file: the kernel and, if its cover differs from the published one, its cover. */
xd_object_name xd_mlir_object(const xd_program *p) {
  xd_object_name name = {"kernel.o"};
  for (size_t c = 0; c < p->cores.n; c++)
    for (size_t i = 0; i < p->cores.at[c].ops.n; i++) {
      const xd_op *op = &p->cores.at[c].ops.at[i];
      if (op->kind != XD_CALL || !op->call.micro) continue;
      const xd_cover own = xd_cover_of(op->call.micro), v = op->call.cover.rows ? op->call.cover : own;
      if (v.rows == own.rows && v.columns == own.columns && v.unroll == own.unroll)
        snprintf(name.text, sizeof name.text, "%s.o", op->call.micro->name);
      else
        snprintf(name.text, sizeof name.text, "%s_%dx%dx%d.o", op->call.micro->name, v.rows, v.columns, v.unroll);
      return name;
    }
  return name;
}

static void declare(xd_writer *w, const xd_op *op, declared *d) {
  const xd_symbol s = op->kind == XD_CALL ? xd_symbol_of(&op->call) : (xd_symbol){""};
  tw_text t = {0};
  if (!*s.text) return;
  if (op->call.macs) xd_write_fail(w, "%s is a kernel from a file", op->call.function->name);
  tw_text_add(&t, "@%s", s.text);
  xd_write_signature(w, op, &t);
  char *text = tw_text_take(&t);
  bool known = !text;
  for (size_t i = 0; i < d->n && !known; i++) {
    known = !strcmp(d->text[i], text);
    if (!known && !strncmp(d->text[i] + 1, s.text, strlen(s.text)) && d->text[i][strlen(s.text) + 1] == '(')
      xd_write_fail(w, "function %s is called on buffers of different types", s.text);
  }
  if (!known && d->n < sizeof d->text / sizeof *d->text) {
    tw_text_add(&w->text, "    func.func private %s attributes {link_with = \"%s\"}\n", text,
                xd_mlir_object(w->program).text);
    d->text[d->n++] = text;
    return;
  }
  if (!text) w->text.failed = true;
  if (!known) xd_write_fail(w, "more than %zu functions", d->n);
  free(text);
}

void xd_write_functions(xd_writer *w) {
  declared d = {0};
  for (size_t c = 0; c < w->program->cores.n && w->status == TW_OK; c++)
    for (size_t i = 0; i < w->program->cores.at[c].ops.n; i++) declare(w, &w->program->cores.at[c].ops.at[i], &d);
  for (size_t i = 0; i < d.n; i++) free(d.text[i]);
}
