/* hints.c - reads comments that begin with //: (docs/reference/kernel-header.md). They give properties of called functions
 * that MLIR does not contain. `tilewright run` writes its options as such comments:
 *
 *   //: kernel NAME=gemm[,a=i8,c=i32][,block=4x8x8]   C += A B, of the sizes of its arguments; row-major without block
 *   //: kernel NAME=OTHER                              as a known function (zero_i32, matmul_bf16_f32)
 *   //: kernel-cycles NAME=CYCLES                      the time of a call; a function with only a time moves no data */
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "mlir_aie/reader.h"

static xd_hint *hint_of(xd_reader *r, xd_slice name) {
  for (size_t i = 0; i < r->hints.n; i++)
    if (xd_slice_same(r->hints.at[i].name, name)) return &r->hints.at[i];
  const xd_hint added = {.name = name};
  const int at = xd_append(&r->hints, sizeof added, &added, &r->failed);
  return at < 0 ? NULL : &r->hints.at[at];
}

/* The text after "//:" up to the end of its line. */
static void read_line(xd_reader *r, const char *at, size_t length, int line) {
  static const char kernel[] = "kernel ", cycles[] = "kernel-cycles ";
  while (length && *at == ' ') at++, length--;
  while (length && (at[length - 1] == ' ' || at[length - 1] == '\r')) length--;
  const bool times = length > sizeof cycles - 1 && !memcmp(at, cycles, sizeof cycles - 1);
  const size_t word = times ? sizeof cycles - 1 : sizeof kernel - 1;
  if (!times && (length <= word || memcmp(at, kernel, word) != 0)) return;
  at += word;
  length -= word;
  const char *equals = memchr(at, '=', length);
  const xd_slice name = {at, equals ? (size_t)(equals - at) : 0},
                 what = {equals ? equals + 1 : at, equals ? length - name.length - 1 : 0};
  char number[32];
  snprintf(number, sizeof number, "%.*s", (int)(what.length < 31 ? what.length : 31), what.at);
  double value = 0;
  if (!name.length || !what.length || (times && (!tw_parse_real(number, &value) || value < 1 || value > 1e12)))
    xd_read_fail(r, line,
                 times ? "kernel-cycles %s: expected NAME=CYCLES with CYCLES of at least 1"
                       : "kernel %s: expected NAME=gemm or NAME=FUNCTION",
                 xd_read_excerpt((xd_slice){at, length}).text);
  xd_hint *hint = xd_going(r) ? hint_of(r, name) : NULL;
  if (hint && times) hint->cycles = value;
  if (hint && !times) hint->what = what;
}

void xd_read_hints(xd_reader *r, const char *text) {
  int line = 1;
  for (const char *at = text; *at && xd_going(r); line++) {
    const size_t length = strcspn(at, "\n");
    if (length > 3 && !memcmp(at, "//:", 3)) read_line(r, at + 3, length - 3, line);
    at += length + (at[length] == '\n');
  }
}

const xd_hint *xd_hint_of(const xd_reader *r, xd_slice name) {
  for (size_t i = 0; i < r->hints.n; i++)
    if (xd_slice_same(r->hints.at[i].name, name)) return &r->hints.at[i];
  return NULL;
}

/* The next of what commas separate; its length is 0 at the end. */
static xd_slice next_word(xd_slice *rest) {
  const char *comma = rest->length ? memchr(rest->at, ',', rest->length) : NULL;
  const xd_slice word = {rest->at, comma ? (size_t)(comma - rest->at) : rest->length};
  const size_t passed = word.length + (comma != NULL);
  *rest = (xd_slice){rest->at + passed, rest->length - passed};
  return word;
}

bool xd_hint_product(xd_reader *r, const xd_hint *h, int line, xd_product_hint *out) {
  xd_slice rest = h->what;
  *out = (xd_product_hint){0};
  if (!xd_slice_is(next_word(&rest), "gemm")) return false;
  while (rest.length && xd_going(r)) {
    const xd_slice word = next_word(&rest);
    char text[40];
    int end = 0;
    snprintf(text, sizeof text, "%.*s", (int)(word.length < 39 ? word.length : 39), word.at);
    if (!strncmp(text, "a=", 2))
      snprintf(out->in, sizeof out->in, "%.15s", text + 2);
    else if (!strncmp(text, "c=", 2))
      snprintf(out->out, sizeof out->out, "%.15s", text + 2);
    else if (sscanf(text, "block=%5dx%5dx%5d%n", &out->block[0], &out->block[1], &out->block[2], &end) != 3 ||
             text[end] || out->block[0] < 1 || out->block[1] < 1 || out->block[2] < 1)
      xd_read_fail(r, line, "kernel %s=gemm: unknown key %s; expected a=TYPE, c=TYPE or block=RxSxT",
                   xd_read_excerpt(h->name).text, text);
  }
  return true;
}
