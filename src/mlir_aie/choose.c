/* choose.c - scf.index_switch on buffers. mlir-aie makes it of object FIFOs in loops whose number of iterations it does
 * not know: a counter in memory says which buffer is next.
 *
 *     %buffer = scf.index_switch %counter -> memref<..>
 *     case 0 {
 *       scf.yield %first : memref<..>
 *     }
 *     ...
 *     default {
 *       scf.yield %first : memref<..>
 *     } */
#include "mlir_aie/core_reader.h"

/* { scf.yield %buffer : memref<..> } */
static xd_value read_case(core_reader *c, const xd_shape *shape) {
  xd_reader *r = c->r;
  const int line = r->token.line;
  xd_read_expect(r, '{');
  xd_read_expect_word(r, "scf.yield");
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  const xd_value buffer = v ? *v : (xd_value){.kind = XD_BUFFER_VALUE};
  if (v && (v->kind != XD_BUFFER_VALUE || v->choices || !xd_same_place(v->place, c->core.tile)))
    xd_read_fail(r, line, "unsupported case of scf.index_switch: %%%s is not a buffer of %s",
                 xd_read_excerpt(v->name).text, xd_place_label(c->core.tile).text);
  xd_read_expect(r, ':');
  const xd_shape type = xd_read_type(r);
  xd_expect_shape(r, &type, shape, line);
  if (xd_going(r)) xd_expect_shape(r, &buffer.shape, shape, line);
  xd_read_expect(r, '}');
  return buffer;
}

void xd_core_read_switch(core_reader *c, xd_slice result, int line) {
  xd_reader *r = c->r;
  xd_value chosen = {.kind = XD_BUFFER_VALUE};
  const xd_source by = xd_core_source(c, xd_value_named(r, xd_read_value_name(r), line), line);
  if (xd_going(r) && !xd_read_at_kind(r, XD_TOKEN_ARROW)) xd_read_fail(r, r->token.line, "expected ->");
  xd_read_next(r);
  const xd_shape shape = xd_read_type(r);
  if (xd_going(r) && (!shape.is_memref || by.at < 0))
    xd_read_fail(r, line, "unsupported scf.index_switch; expected a choice among buffers by a computed number");
  int n = 0;
  for (; xd_going(r) && xd_read_take_word(r, "case"); n++) {
    const int at = r->token.line;
    const int64_t number = xd_read_number(r, 0, INT32_MAX);
    const xd_value v = read_case(c, &shape);
    if (!n) chosen = v;
    if (xd_going(r) && (number != n || v.number != chosen.number + n))
      xd_read_fail(r, at, "the cases of scf.index_switch must be 0, 1, ... of buffers that are declared consecutively");
  }
  xd_read_expect_word(r, "default");
  const int at = r->token.line;
  const xd_value otherwise = read_case(c, &shape);
  if (xd_going(r) && (!n || otherwise.number != chosen.number))
    xd_read_fail(r, at, "the default of scf.index_switch must be the buffer of case 0");
  chosen.name = result;
  chosen.choices = n;
  chosen.first = by.at;
  if (xd_going(r)) xd_define(r, chosen);
}
