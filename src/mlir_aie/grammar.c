/* grammar.c - the small pieces of the grammar, and names. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mlir_aie/reader.h"

void xd_read_fail(xd_reader *r, int line, const char *format, ...) {
  if (!xd_going(r)) return;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  r->status = tw_fail(r->error, TW_USAGE, "line %d: %s", line, text);
}

xd_excerpt xd_read_excerpt(xd_slice s) {
  xd_excerpt e;
  snprintf(e.text, sizeof e.text, "%.*s", (int)(s.length < 60 ? s.length : 60), s.at ? s.at : "");
  for (char *c = e.text; *c; c++)
    if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
  return e;
}

bool xd_slice_is(xd_slice s, const char *text) { return strlen(text) == s.length && !memcmp(text, s.at, s.length); }
bool xd_slice_same(xd_slice a, xd_slice b) { return a.length == b.length && !memcmp(a.at, b.at, a.length); }

/* ---- tokens ---- */

void xd_read_next(xd_reader *r) {
  if (!xd_going(r)) return;
  r->token = xd_lex(&r->lexer);
  if (r->token.kind == XD_TOKEN_BAD) xd_read_fail(r, r->token.line, "%s", r->token.problem);
}

bool xd_read_at_kind(const xd_reader *r, xd_token_kind kind) { return xd_going(r) && r->token.kind == kind; }
bool xd_read_at(const xd_reader *r, char mark) { return xd_read_at_kind(r, XD_TOKEN_MARK) && *r->token.at == mark; }
bool xd_read_at_word(const xd_reader *r, const char *word) {
  return xd_read_at_kind(r, XD_TOKEN_WORD) && xd_token_is(&r->token, word);
}

bool xd_read_take(xd_reader *r, char mark) {
  if (!xd_read_at(r, mark)) return false;
  xd_read_next(r);
  return true;
}

bool xd_read_take_word(xd_reader *r, const char *word) {
  if (!xd_read_at_word(r, word)) return false;
  xd_read_next(r);
  return true;
}

static void fail_expected(xd_reader *r, const char *what) {
  if (!xd_going(r)) return;
  if (r->token.kind == XD_TOKEN_END)
    xd_read_fail(r, r->token.line, "expected %s (found the end of the text)", what);
  else
    xd_read_fail(r, r->token.line, "expected %s (found \"%s\")", what,
                 xd_read_excerpt((xd_slice){r->token.at, r->token.length}).text);
}

void xd_read_expect(xd_reader *r, char mark) {
  if (!xd_read_take(r, mark)) fail_expected(r, (const char[]){mark, '\0'});
}

void xd_read_expect_word(xd_reader *r, const char *word) {
  if (!xd_read_take_word(r, word)) fail_expected(r, word);
}

static xd_slice take_text(xd_reader *r, xd_token_kind kind, const char *what) {
  const xd_slice s = {r->token.at, r->token.length};
  if (!xd_read_at_kind(r, kind)) {
    fail_expected(r, what);
    return (xd_slice){"", 0};
  }
  xd_read_next(r);
  return s;
}

xd_slice xd_read_symbol(xd_reader *r) { return take_text(r, XD_TOKEN_SYMBOL, "a name (@...)"); }
xd_slice xd_read_value_name(xd_reader *r) { return take_text(r, XD_TOKEN_VALUE, "a value (%...)"); }

xd_slice xd_read_label(xd_reader *r) {
  xd_read_expect(r, '^');
  return take_text(r, XD_TOKEN_WORD, "a block's name (^...)");
}

xd_slice xd_read_result(xd_reader *r, xd_slice *op) {
  xd_slice result = {"", 0};
  r->op_line = r->token.line;
  if (xd_read_at_kind(r, XD_TOKEN_VALUE)) {
    result = xd_read_value_name(r);
    xd_read_expect(r, '=');
  }
  *op = (xd_slice){r->token.at, r->token.length};
  return result;
}

int64_t xd_read_number(xd_reader *r, int64_t least, int64_t most) {
  const xd_token t = r->token;
  take_text(r, XD_TOKEN_NUMBER, "a number");
  if (xd_going(r) && (t.number < least || t.number > most))
    xd_read_fail(r, t.line, "%" PRId64 " is out of range; expected %" PRId64 " to %" PRId64, t.number, least, most);
  return xd_going(r) ? t.number : least;
}

void xd_skip_region(xd_reader *r) {
  int depth = 0;
  do {
    if (xd_read_at_kind(r, XD_TOKEN_END)) xd_read_fail(r, r->token.line, "the text ends within a skipped region");
    depth += xd_read_at(r, '{') ? 1 : xd_read_at(r, '}') ? -1 : 0;
    xd_read_next(r);
  } while (xd_going(r) && depth > 0);
}

/* ---- names ---- */

void xd_define(xd_reader *r, xd_value v) {
  for (size_t i = 0; v.name.length && xd_going(r) && i < r->values.n; i++)
    if (xd_slice_same(r->values.at[i].name, v.name))
      xd_read_fail(r, r->op_line, "%%%s is defined twice", xd_read_excerpt(v.name).text);
  xd_append(&r->values, sizeof v, &v, &r->failed);
}

const xd_value *xd_value_named(xd_reader *r, xd_slice name, int line) {
  for (size_t i = r->values.n; xd_going(r) && i-- > 0;)
    if (xd_slice_same(r->values.at[i].name, name)) return &r->values.at[i];
  xd_read_fail(r, line, "%%%s is not defined above", xd_read_excerpt(name).text);
  return NULL;
}

int xd_fifo_named(xd_reader *r, xd_slice name, int line) {
  for (size_t i = 0; xd_going(r) && i < r->fifos.n; i++)
    if (xd_slice_same(r->fifos.at[i].name, name)) return (int)i;
  xd_read_fail(r, line, "unknown object FIFO @%s; expected one from above", xd_read_excerpt(name).text);
  return -1;
}

const xd_declaration *xd_declaration_named(xd_reader *r, xd_slice name, int line) {
  for (size_t i = 0; xd_going(r) && i < r->declarations.n; i++)
    if (xd_slice_same(r->declarations.at[i].name, name)) return &r->declarations.at[i];
  xd_read_fail(r, line, "function @%s is not declared above", xd_read_excerpt(name).text);
  return NULL;
}
