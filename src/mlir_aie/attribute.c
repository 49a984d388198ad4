/* attribute.c - dictionaries of attributes, and the dimensions of a walk. */
#include <inttypes.h>
#include <string.h>

#include "mlir_aie/reader.h"

/* Skips #dialect.name<...> without reading its content. */
static void skip_opaque(xd_reader *r) {
  int depth = 0;
  xd_read_next(r);
  if (!xd_read_at_kind(r, XD_TOKEN_WORD)) xd_read_fail(r, r->token.line, "expected a name after #");
  xd_read_next(r);
  if (!xd_read_at(r, '<')) return;
  do {
    depth += xd_read_at(r, '<') ? 1 : xd_read_at(r, '>') ? -1 : 0;
    if (xd_read_at_kind(r, XD_TOKEN_END)) xd_read_fail(r, r->token.line, "expected > (found the end of the text)");
    xd_read_next(r);
  } while (depth && xd_going(r));
}

/* Reads 2 : i32, true, "text" or @name; the content of other values is skipped. */
static void read_value(xd_reader *r, xd_attribute *a) {
  if (xd_read_at(r, '#')) {
    a->kind = XD_TOKEN_MARK;
    a->opaque = r->lexer;
    skip_opaque(r);
    return;
  }
  a->kind = r->token.kind;
  a->text = (xd_slice){r->token.at, r->token.length};
  a->number = r->token.number;
  if (a->kind != XD_TOKEN_NUMBER && a->kind != XD_TOKEN_WORD && a->kind != XD_TOKEN_STRING &&
      a->kind != XD_TOKEN_SYMBOL) {
    xd_read_fail(r, r->token.line, "unsupported value of attribute '%s'", xd_read_excerpt(a->name).text);
    return;
  }
  xd_read_next(r);
  if (xd_read_take(r, ':')) xd_read_type(r);
}

void xd_read_attributes(xd_reader *r, xd_attributes *out) {
  *out = (xd_attributes){0};
  if (!xd_read_take(r, '{')) return;
  while (xd_going(r) && !xd_read_at(r, '}')) {
    xd_attribute a = {.name = {r->token.at, r->token.length}, .line = r->token.line, .kind = XD_TOKEN_WORD};
    if (out->n == XD_MLIR_ATTRIBUTES) xd_read_fail(r, a.line, "more than %d attributes", XD_MLIR_ATTRIBUTES);
    if (!xd_read_at_kind(r, XD_TOKEN_WORD)) xd_read_fail(r, a.line, "expected an attribute's name");
    xd_read_next(r);
    a.text = (xd_slice){"true", 4}; /* a name alone */
    if (xd_read_take(r, '=')) read_value(r, &a);
    if (xd_going(r)) out->at[out->n++] = a;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, '}');
}

static xd_attribute *find(xd_attributes *a, const char *name) {
  for (int i = 0; i < a->n; i++)
    if (xd_slice_is(a->at[i].name, name)) {
      a->at[i].used = true;
      return &a->at[i];
    }
  return NULL;
}

int64_t xd_attribute_number(xd_reader *r, xd_attributes *a, const char *name, int64_t otherwise) {
  const xd_attribute *found = find(a, name);
  if (!found) return otherwise;
  if (found->kind != XD_TOKEN_NUMBER) xd_read_fail(r, found->line, "attribute %s must be a number", name);
  return found->number;
}

bool xd_attribute_true(xd_reader *r, xd_attributes *a, const char *name) {
  const xd_attribute *found = find(a, name);
  if (!found) return false;
  const bool is_true = xd_slice_is(found->text, "true");
  if (found->kind != XD_TOKEN_WORD || (!is_true && !xd_slice_is(found->text, "false")))
    xd_read_fail(r, found->line, "attribute %s must be true or false", name);
  return is_true;
}

bool xd_attribute_false(xd_reader *r, xd_attributes *a, const char *name) {
  return find(a, name) && !xd_attribute_true(r, a, name);
}

xd_slice xd_attribute_text(xd_reader *r, xd_attributes *a, const char *name) {
  const xd_attribute *found = find(a, name);
  if (!found) return (xd_slice){"", 0};
  if (found->kind != XD_TOKEN_STRING && found->kind != XD_TOKEN_SYMBOL)
    xd_read_fail(r, found->line, "attribute %s must be a name", name);
  return found->text;
}

void xd_attribute_ignore(xd_attributes *a, const char *name) { find(a, name); }

void xd_attributes_end(xd_reader *r, xd_attributes *a, const char *op) {
  for (int i = 0; i < a->n; i++)
    if (!a->at[i].used)
      xd_read_fail(r, a->at[i].line, "unsupported attribute '%s' on '%s'", xd_read_excerpt(a->at[i].name).text, op);
}

/* ---- dimensions ---- */

xd_dims xd_read_dims(xd_reader *r) {
  const int64_t most = (int64_t)1 << 28; /* keeps products and sums within 64 bits; fields are checked later */
  xd_dims d = {0};
  xd_read_expect(r, '[');
  while (xd_going(r) && !xd_read_at(r, ']')) {
    if (d.n > XD_DIMS) xd_read_fail(r, r->token.line, "more than %d dimensions", XD_DIMS);
    if (!xd_going(r)) break;
    xd_read_expect(r, '<');
    xd_read_expect_word(r, "size");
    xd_read_expect(r, '=');
    d.size[d.n] = xd_read_number(r, 1, most);
    xd_read_expect(r, ',');
    xd_read_expect_word(r, "stride");
    xd_read_expect(r, '=');
    d.stride[d.n++] = xd_read_number(r, 0, most);
    xd_read_expect(r, '>');
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ']');
  return d;
}

static int read_zeros(xd_reader *r, const char *word) {
  enum { MOST = 1 << 16 }; /* keeps products within 64 bits; fields are checked later */
  xd_read_expect_word(r, word);
  xd_read_expect(r, '=');
  return (int)xd_read_number(r, 0, MOST);
}

void xd_read_padding(xd_reader *r, xd_dims *d) {
  const int line = r->token.line;
  int n = 0;
  xd_read_expect(r, '[');
  while (xd_going(r) && !xd_read_at(r, ']')) {
    xd_read_expect(r, '<');
    const int before = read_zeros(r, "const_pad_before");
    xd_read_expect(r, ',');
    const int after = read_zeros(r, "const_pad_after");
    xd_read_expect(r, '>');
    if (xd_going(r) && n < d->n) {
      d->before[n] = before;
      d->after[n] = after;
    }
    n++;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ']');
  if (xd_going(r) && n != d->n) xd_read_fail(r, line, "padding has %d dimensions, but the walk has %d", n, d->n);
}

int xd_read_packet_info(xd_reader *r) {
  int number = 0;
  while (xd_going(r) && !xd_read_at(r, '>')) {
    const bool is_number = xd_read_take_word(r, "pkt_id");
    if (!is_number) xd_read_expect_word(r, "pkt_type");
    xd_read_expect(r, '=');
    const int value = (int)xd_read_number(r, 0, 255);
    if (is_number) number = value;
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, '>');
  return number + 1;
}

int xd_attribute_packet(xd_reader *r, xd_attributes *a, const char *name) {
  const xd_attribute *found = find(a, name);
  if (!found || !xd_going(r)) return 0;
  const xd_lexer here = r->lexer;
  const xd_token next = r->token;
  if (found->kind != XD_TOKEN_MARK) xd_read_fail(r, found->line, "attribute %s must be #aie.packet_info<...>", name);
  r->lexer = found->opaque;
  xd_read_next(r);
  xd_read_expect_word(r, "aie.packet_info");
  xd_read_expect(r, '<');
  const int packet = xd_read_packet_info(r);
  if (!xd_going(r)) return 0;
  r->lexer = here;
  r->token = next;
  return packet;
}

/* The attribute's text is read again, from the place where it was skipped. */
void xd_attribute_padding(xd_reader *r, xd_attributes *a, const char *name, xd_dims *d) {
  const xd_attribute *found = find(a, name);
  if (!found || !xd_going(r)) return;
  const xd_lexer here = r->lexer;
  const xd_token next = r->token;
  if (found->kind != XD_TOKEN_MARK)
    xd_read_fail(r, found->line, "attribute %s must be #aie<bd_pad_layout_array[...]>", name);
  r->lexer = found->opaque;
  xd_read_next(r);
  xd_read_expect_word(r, "aie");
  xd_read_expect(r, '<');
  xd_read_expect_word(r, "bd_pad_layout_array");
  xd_read_padding(r, d);
  xd_read_expect(r, '>');
  r->lexer = here;
  r->token = next;
}

int xd_dims_in_bytes(xd_reader *r, const xd_dims *d, int64_t element, int line, xd_dim out[XD_DIMS]) {
  int n = 0;
  if (!d->n) return 0;
  const bool is_run = d->stride[d->n - 1] == 1; /* the innermost */
  out[n++] = (xd_dim){.size = is_run ? d->size[d->n - 1] * element : element, .stride = 1};
  if (is_run) {
    out[0].before = d->before[d->n - 1] * (int)element;
    out[0].after = d->after[d->n - 1] * (int)element;
  }
  for (int i = d->n - (is_run ? 2 : 1); i >= 0; i--) {
    if (d->size[i] == 1 && !d->before[i] && !d->after[i]) continue;
    if (n == XD_DIMS) {
      xd_read_fail(r, line, "a walk of more than %d dimensions; make the innermost a run (stride = 1)", XD_DIMS);
      return 0;
    }
    out[n++] = (xd_dim){d->size[i], d->stride[i] * element, d->before[i], d->after[i]};
  }
  return n;
}
