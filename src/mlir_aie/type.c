/* type.c - memref and integer types, and the types around them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mlir_aie/reader.h"

static const struct {
  const char *name;
  int bits;
} element_types[] = {{"i1", 8},  {"i8", 8},    {"i16", 16},  {"i32", 32},  {"i64", 64}, {"index", 32},
                     {"ui8", 8}, {"ui16", 16}, {"ui32", 32}, {"bf16", 16}, {"f32", 32}, {"f16", 16}};

/* A block of eight numbers and their exponent: 9 bytes. */
enum { BFP_BITS = 72 };

tw_type xd_shape_type(const xd_shape *s) {
  tw_type t;
  return tw_type_parse(s->element, &t) && tw_type_bits(t) == s->element_bits ? t : TW_TYPE_NONE;
}

static void set_element(xd_reader *r, xd_slice name, xd_shape *s) {
  for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++)
    if (xd_slice_is(name, element_types[i].name)) {
      snprintf(s->element, sizeof s->element, "%s", element_types[i].name);
      s->element_bits = element_types[i].bits;
      return;
    }
  xd_read_fail(r, r->token.line, "unsupported element type '%s'", xd_read_excerpt(name).text);
}

/* !aiex.bfp<"v8bfp16ebs8"> */
static void read_block_type(xd_reader *r, xd_shape *s) {
  xd_read_expect(r, '!');
  xd_read_expect_word(r, "aiex.bfp");
  xd_read_expect(r, '<');
  const xd_slice name = {r->token.at, r->token.length};
  if (xd_read_at_kind(r, XD_TOKEN_STRING) && xd_slice_is(name, "v8bfp16ebs8")) {
    snprintf(s->element, sizeof s->element, "v8bfp16ebs8");
    s->element_bits = BFP_BITS;
  } else {
    xd_read_fail(r, r->token.line, "unsupported block type '%s'; expected v8bfp16ebs8", xd_read_excerpt(name).text);
  }
  xd_read_next(r);
  xd_read_expect(r, '>');
}

static void add_dim(xd_reader *r, xd_shape *s, int64_t size) {
  const int64_t most = (int64_t)1 << 40; /* bytes: more than any memory of the machine */
  if (s->n == XD_SHAPE_DIMS || size < 1 || size > most || s->elements > most / size) {
    xd_read_fail(r, r->token.line, "a memref must have up to %d dimensions of at least 1, and less than 2^40 elements",
                 XD_SHAPE_DIMS);
    return;
  }
  s->dim[s->n++] = size;
  s->elements *= size;
}

/* Reads the rest of a shape after its first size: "x32xi8", "xi8", or "x" before a block type. */
static void read_rest_of_shape(xd_reader *r, xd_shape *s) {
  const char *at = r->token.at, *end = at + r->token.length;
  if (!xd_read_at_kind(r, XD_TOKEN_WORD)) end = at;
  while (at < end && *at == 'x' && at + 1 < end && isdigit((unsigned char)at[1]) && xd_going(r)) {
    int64_t size = 0;
    for (at++; at < end && isdigit((unsigned char)*at) && size < (int64_t)1 << 41; at++) size = size * 10 + (*at - '0');
    add_dim(r, s, size);
  }
  if (!xd_going(r)) return;
  if (at == end || *at != 'x') {
    xd_read_fail(r, r->token.line, "expected sizes and an element type, as in memref<32x64xi8>");
    return;
  }
  const xd_slice element = {at + 1, (size_t)(end - at - 1)};
  if (element.length) set_element(r, element, s);
  xd_read_next(r);
  if (!element.length) read_block_type(r, s);
}

static xd_shape read_memref(xd_reader *r) {
  xd_shape s = {.is_memref = true, .elements = 1};
  xd_read_expect(r, '<');
  add_dim(r, &s, xd_read_number(r, 1, INT64_MAX));
  read_rest_of_shape(r, &s);
  if (xd_read_take(r, ',')) { /* a memory space */
    xd_read_number(r, 0, 16);
    if (xd_read_take(r, ':')) xd_read_next(r);
  }
  xd_read_expect(r, '>');
  if (xd_going(r)) s.bytes = s.elements * s.element_bits / 8;
  return s;
}

xd_shape xd_read_type(xd_reader *r) {
  xd_shape s = {.elements = 1};
  if (xd_read_take_word(r, "memref")) return read_memref(r);
  const xd_slice name = {r->token.at, r->token.length};
  if (xd_read_at_kind(r, XD_TOKEN_WORD)) {
    set_element(r, name, &s);
    xd_read_next(r);
  } else {
    xd_read_fail(r, r->token.line, "expected a type (found \"%s\")", xd_read_excerpt(name).text);
  }
  s.bytes = s.element_bits / 8;
  return s;
}

xd_shape xd_read_wrapped_type(xd_reader *r, const char *wrapper) {
  xd_read_expect(r, '!');
  xd_read_expect_word(r, wrapper);
  xd_read_expect(r, '<');
  xd_read_expect_word(r, "memref");
  const xd_shape s = read_memref(r);
  xd_read_expect(r, '>');
  return s;
}

bool xd_shape_same(const xd_shape *a, const xd_shape *b) {
  if (a->is_memref != b->is_memref || a->n != b->n || strcmp(a->element, b->element) != 0) return false;
  for (int i = 0; i < a->n; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

void xd_expect_shape(xd_reader *r, const xd_shape *has, const xd_shape *should, int line) {
  if (!xd_shape_same(has, should)) xd_read_fail(r, line, "the type differs from the type of its alias");
}
