/* descriptor.c - aie.dma_bd, and the lists of numbers that dma_memcpy_nd shares with it. */
#include <inttypes.h>

#include "mlir_aie/reader.h"

static const int64_t MOST = (int64_t)1 << 28; /* keeps products and sums within 64 bits; fields are checked later */

int64_t xd_read_index(xd_reader *r, int64_t least) {
  if (!xd_read_at_kind(r, XD_TOKEN_VALUE)) return xd_read_number(r, least, (int64_t)1 << 40);
  const int line = r->token.line;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && (v->kind != XD_NUMBER_VALUE || v->number < least || v->number > (int64_t)1 << 40))
    xd_read_fail(r, line, "%%%s is not a constant that is supported here", xd_read_excerpt(v->name).text);
  return v && xd_going(r) ? v->number : least;
}

int xd_read_list(xd_reader *r, int64_t least, int64_t most, int64_t out[XD_SIZES]) {
  int n = 0;
  xd_read_expect(r, '[');
  while (xd_going(r) && !xd_read_at(r, ']')) {
    const int line = r->token.line;
    const int64_t number = xd_read_index(r, least);
    if (n == XD_SIZES) xd_read_fail(r, line, "more than %d dimensions", XD_SIZES);
    if (xd_going(r) && number > most) xd_read_fail(r, line, "%" PRId64 " exceeds %" PRId64, number, most);
    if (xd_going(r)) out[n++] = number;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ']');
  return n;
}

static int take_walk(xd_bd *bd, const xd_dims *d) {
  for (int i = 0; i < d->n; i++) {
    const int at = XD_SIZES - d->n + i;
    bd->size[at] = d->size[i];
    bd->stride[at] = d->stride[i];
    bd->before[at] = d->before[i];
    bd->after[at] = d->after[i];
  }
  return d->n;
}

/* Reads the list of <size, stride>, or sizes = [..] strides = [..] (mlir-aie from 2026 on). Returns the number of
 * dimensions. */
static int read_walk(xd_reader *r, xd_bd *bd) {
  xd_dims d = {0};
  if (xd_read_take(r, ',') || xd_read_at(r, '[')) {
    d = xd_read_dims(r);
    if (d.n > XD_SIZES) {
      xd_read_fail(r, bd->line, "more than %d dimensions", XD_SIZES);
      return 0;
    }
    if (xd_read_take(r, ',')) xd_read_padding(r, &d);
    return take_walk(bd, &d);
  }
  if (!xd_read_take_word(r, "sizes")) return 0;
  xd_read_expect(r, '=');
  d.n = xd_read_list(r, 1, MOST, d.size);
  xd_read_expect_word(r, "strides");
  xd_read_expect(r, '=');
  const int n_strides = xd_read_list(r, 0, MOST, d.stride);
  if (xd_going(r) && d.n != n_strides) xd_read_fail(r, bd->line, "%d sizes, but %d strides", d.n, n_strides);
  if (xd_read_take_word(r, "pad")) xd_read_padding(r, &d);
  return take_walk(bd, &d);
}

/* The memory that is moved: an argument or a buffer. */
static const xd_value *read_moved(xd_reader *r, xd_value_kind of) {
  const int line = r->token.line;
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (!v || v->kind == of) return v;
  xd_read_fail(r, line, "%%%s is not %s", xd_read_excerpt(v->name).text,
               of == XD_ARGUMENT_VALUE ? "an argument of the runtime sequence" : "a buffer");
  return NULL;
}

/* (%a : memref<..>, offset, length, walk) {bd_id}; without numbers, all of the memory. */
xd_bd xd_read_bd(xd_reader *r, xd_value_kind of) {
  xd_bd d = {.size = {1, 1, 1, 1}, .stride = {0, 0, 0, 1}, .line = r->token.line};
  xd_attributes a;
  xd_read_expect(r, '(');
  d.of = read_moved(r, of);
  xd_read_expect(r, ':');
  const xd_shape shape = xd_read_type(r);
  if (d.of) xd_expect_shape(r, &shape, &d.of->shape, d.line);
  d.length = d.of ? d.of->shape.elements : 0;
  const bool worded = xd_read_take_word(r, "offset");
  if (worded || !xd_read_at(r, ')')) {
    xd_read_expect(r, worded ? '=' : ',');
    d.offset = xd_read_index(r, 0);
    if (worded) xd_read_expect_word(r, "len");
    xd_read_expect(r, worded ? '=' : ',');
    d.length = xd_read_index(r, 1);
  }
  const int n = xd_read_at(r, ')') ? 0 : read_walk(r, &d);
  if (!n) d.size[XD_SIZES - 1] = d.length;
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  d.id = (int)xd_attribute_number(r, &a, "bd_id", -1);
  d.next_id = (int)xd_attribute_number(r, &a, "next_bd_id", -1);
  d.packet = xd_attribute_packet(r, &a, "packet");
  d.length = xd_attribute_number(r, &a, "len", d.length);
  d.offset = xd_attribute_number(r, &a, "offset", d.offset);
  if (!n) d.size[XD_SIZES - 1] = d.length;
  xd_attribute_number(r, &a, "burst_length", 0);
  xd_attributes_end(r, &a, "aie.dma_bd");
  if (xd_going(r) && (d.length < 1 || d.length > MOST || d.offset < 0 || d.offset > MOST))
    xd_read_fail(r, d.line, "a descriptor of %" PRId64 " elements from element %" PRId64 " on", d.length, d.offset);
  /* the first size of a task is the number of its repetitions */
  const int first = of == XD_ARGUMENT_VALUE && n == XD_SIZES ? 1 : 0;
  double walked = 1;
  for (int i = 0; i < XD_SIZES; i++)
    if (of == XD_ARGUMENT_VALUE && (d.before[i] || d.after[i]))
      xd_read_fail(r, d.line, "a shim's DMA does not pad; MM2S channels of memory tiles do");
  for (int i = first; i < XD_SIZES; i++) walked *= (double)d.size[i] + d.before[i] + d.after[i];
  if (xd_going(r) && walked != (double)d.length)
    xd_read_fail(r, d.line, "the descriptor's length is %" PRId64 ", but its walk has %.0f elements", d.length, walked);
  if (!xd_going(r)) d.of = NULL;
  return d;
}

xd_pattern xd_bd_pattern(xd_reader *r, const xd_bd *bd, int n) {
  const int64_t element = bd->of->shape.element_bits / 8;
  xd_dims d = {.n = n};
  for (int i = 0; i < n; i++) {
    const int at = XD_SIZES - n + i;
    d.size[i] = bd->size[at];
    d.before[i] = bd->before[at];
    d.after[i] = bd->after[at];
    d.stride[i] = bd->size[at] == 1 && at == XD_SIZES - 1 ? 1 : bd->stride[at]; /* never applied */
  }
  xd_pattern p = {.offset = bd->offset * element};
  p.n_dims = xd_dims_in_bytes(r, &d, element, bd->line, p.dim);
  return p;
}
