/* dense.c - initial values: dense<0>, dense<[[1, 2], [3, 4]]>, dense<"0x0102"> : type. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "mlir_aie/reader.h"
#include "target/xdna2/array/scalar.h"

typedef struct dense {
  xd_reader *r;
  uint8_t *bytes;
  tw_type type;
  int64_t size, n, most; /* size: bytes of an element; n, most: elements read so far, and at most */
} dense;

static void read_element(dense *d) {
  xd_reader *r = d->r;
  char text[64];
  snprintf(text, sizeof text, "%.*s", (int)(r->token.length < 63 ? r->token.length : 63), r->token.at);
  const bool is_real = d->type == TW_F32 || d->type == TW_BF16, truth = xd_read_at_word(r, "true");
  if (!xd_read_at_kind(r, XD_TOKEN_NUMBER) && !xd_read_at_kind(r, XD_TOKEN_REAL) && !truth &&
      !xd_read_at_word(r, "false"))
    xd_read_fail(r, r->token.line, "expected an element of an initial value (found %s)", text);
  if (d->n == d->most)
    xd_read_fail(r, r->token.line, "an initial value of more than %lld elements", (long long)d->most);
  if (!xd_going(r)) return;
  const int64_t value = is_real ? xd_scalar_of_real(strtod(text, NULL)) : truth ? 1 : r->token.number;
  xd_scalar_store(d->type, value, d->bytes + d->n++ * d->size);
  xd_read_next(r);
}

static void read_elements(dense *d, int depth) {
  if (!xd_read_take(d->r, '[')) {
    read_element(d);
    return;
  }
  if (depth > XD_SHAPE_DIMS)
    xd_read_fail(d->r, d->r->token.line, "an initial value of more than %d dimensions", XD_SHAPE_DIMS);
  while (xd_going(d->r) && !xd_read_at(d->r, ']')) {
    read_elements(d, depth + 1);
    if (!xd_read_take(d->r, ',')) break;
  }
  xd_read_expect(d->r, ']');
}

static int digit_of(char c) { return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10; }

/* "0x0102": bytes in memory order. */
static void read_bytes(dense *d) {
  const xd_slice text = {d->r->token.at, d->r->token.length};
  const int64_t n = text.length >= 2 ? (int64_t)(text.length - 2) / 2 : 0;
  bool good = n == d->most * d->size || n == d->size;
  for (int64_t i = 0; good && i < 2 * n; i++) good = isxdigit((unsigned char)text.at[2 + i]);
  if (!good) xd_read_fail(d->r, d->r->token.line, "an initial value of %lld bytes in hexadecimal digits", (long long)n);
  if (!xd_going(d->r)) return;
  for (int64_t i = 0; i < n; i++)
    d->bytes[i] = (uint8_t)(digit_of(text.at[2 + 2 * i]) * 16 + digit_of(text.at[3 + 2 * i]));
  d->n = n / d->size;
  xd_read_next(d->r);
}

uint8_t *xd_read_dense(xd_reader *r, const xd_shape *shape) {
  enum { MOST = 1 << 20 }; /* bytes: more than any memory of a tile */
  const int line = r->token.line;
  dense d = {.r = r, .type = xd_shape_type(shape), .most = shape->elements};
  xd_read_expect_word(r, "dense");
  xd_read_expect(r, '<');
  if (xd_going(r) && (d.type == TW_TYPE_NONE || shape->bytes > MOST))
    xd_read_fail(r, line, "unsupported type of an initial value");
  if (!xd_going(r)) return NULL;
  d.size = tw_type_bits(d.type) / 8;
  if (!(d.bytes = tw_new((size_t)shape->bytes + 8, 1))) {
    r->failed = true;
    return NULL;
  }
  if (xd_read_at_kind(r, XD_TOKEN_STRING))
    read_bytes(&d);
  else if (!xd_read_at(r, '>'))
    read_elements(&d, 0);
  xd_read_expect(r, '>');
  if (xd_read_take(r, ':')) {
    if (xd_read_take_word(r, "tensor")) { /* like a memref, except for its first word */
      while (xd_going(r) && !xd_read_at(r, '>')) xd_read_next(r);
      xd_read_expect(r, '>');
    } else {
      xd_read_type(r);
    }
  }
  if (xd_going(r) && d.n != 1 && d.n != d.most && d.most)
    xd_read_fail(r, line, "an initial value has %lld elements; expected %lld", (long long)d.n, (long long)d.most);
  for (int64_t i = 1; xd_going(r) && d.n == 1 && i < d.most; i++) memcpy(d.bytes + i * d.size, d.bytes, (size_t)d.size);
  if (xd_going(r)) return d.bytes;
  free(d.bytes);
  return NULL;
}
