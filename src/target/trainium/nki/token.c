/* token.c - the lexical rules of Python: indentation, joined lines, numbers, strings. */
#include "target/trainium/nki/token.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

nki_lexer nki_lexer_of(const char *text, size_t length) {
  if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, length -= 3; /* a byte order mark */
  return (nki_lexer){.at = text, .end = text + length, .line = 1, .at_line_start = true, .n_indents = 1};
}

bool nki_token_is(const nki_token *t, const char *text) {
  return (t->kind == NKI_TOKEN_WORD || t->kind == NKI_TOKEN_MARK) && strlen(text) == t->length &&
         memcmp(t->at, text, t->length) == 0;
}

static nki_token bad(const nki_lexer *l, const char *problem) {
  return (nki_token){.kind = NKI_TOKEN_BAD, .at = l->at, .line = l->line, .problem = problem};
}

static char peek(const nki_lexer *l, size_t ahead) { return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0'; }

static bool is_name_start(char c) { return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }
static bool is_name(char c) { return is_name_start(c) || isdigit((unsigned char)c); }

static void skip_comment(nki_lexer *l) {
  while (l->at < l->end && *l->at != '\n') l->at++;
}

/* Skips blanks, comments and joined lines before a token. */
static void skip_blanks(nki_lexer *l) {
  for (; l->at < l->end; l->at++) {
    const char c = *l->at;
    if (c == '#') skip_comment(l);
    if (l->at >= l->end) return;
    if (*l->at == '\n') {
      if (!l->brackets) return;
      l->line++;
    } else if (*l->at == '\\' && (peek(l, 1) == '\n' || (peek(l, 1) == '\r' && peek(l, 2) == '\n'))) {
      l->at += peek(l, 1) == '\n' ? 1 : 2;
      l->line++;
    } else if (!strchr(" \t\r\f", *l->at)) {
      return;
    }
  }
}

/* The indentation of the next line that is not empty; -1 at the end. A tab goes to the next multiple of 8. */
static int next_indent(nki_lexer *l) {
  for (;;) {
    int width = 0;
    for (; l->at < l->end && strchr(" \t\f", *l->at); l->at++)
      width = *l->at == '\t' ? (width / 8 + 1) * 8 : *l->at == ' ' ? width + 1 : 0;
    if (l->at < l->end && *l->at == '#') skip_comment(l);
    if (l->at >= l->end) return -1;
    if (*l->at != '\n' && !(*l->at == '\r' && peek(l, 1) == '\n')) return width;
    l->at += *l->at == '\r' ? 2 : 1;
    l->line++;
  }
}

static nki_token simple(const nki_lexer *l, nki_token_kind kind) {
  return (nki_token){.kind = kind, .at = l->at, .line = l->line};
}

/* INDENT, DEDENT or END from the indentation of a line; WORD if the block stays the same. */
static nki_token line_start(nki_lexer *l) {
  const int width = next_indent(l);
  l->at_line_start = false;
  if (width < 0) {
    l->dedents = l->n_indents - 1;
    l->n_indents = 1;
    return simple(l, NKI_TOKEN_END);
  }
  if (width > l->indent[l->n_indents - 1]) {
    if (l->n_indents == NKI_INDENTS_MAX) return bad(l, "blocks are nested too deeply");
    l->indent[l->n_indents++] = width;
    return simple(l, NKI_TOKEN_INDENT);
  }
  while (width < l->indent[l->n_indents - 1]) {
    l->n_indents--;
    l->dedents++;
  }
  if (width != l->indent[l->n_indents - 1]) return bad(l, "the indentation matches no open block");
  return simple(l, NKI_TOKEN_WORD);
}

static nki_token number(nki_lexer *l) {
  char text[64] = "";
  size_t n = 0;
  const char *start = l->at;
  const bool is_prefixed = *l->at == '0' && peek(l, 1) && strchr("xXbBoO", peek(l, 1));
  bool is_real = false;
  for (; l->at < l->end; l->at++) {
    const char c = *l->at;
    if (c == '_') continue;
    if (!is_prefixed && (c == '.' || ((c == 'e' || c == 'E') && n))) is_real = true;
    const bool sign = (c == '+' || c == '-') && !is_prefixed && n && (text[n - 1] == 'e' || text[n - 1] == 'E');
    if ((c == 'j' || c == 'J') && n) { /* an imaginary number: only host code has them */
      l->at++;
      is_real = true;
      break;
    }
    if (!isalnum((unsigned char)c) && c != '.' && !sign) break;
    if (n + 1 == sizeof text) return bad(l, "the number is too long");
    text[n++] = c;
  }
  text[n] = '\0';
  nki_token t = {.kind = is_real ? NKI_TOKEN_REAL : NKI_TOKEN_INT, .at = start, .line = l->line};
  t.length = (size_t)(l->at - start);
  char *end;
  errno = 0;
  if (is_real) {
    t.real = strtod(text, &end);
  } else {
    const int base = !is_prefixed                             ? 10
                     : tolower((unsigned char)text[1]) == 'x' ? 16
                     : tolower((unsigned char)text[1]) == 'b' ? 2
                                                              : 8;
    t.integer = strtoll(is_prefixed ? text + 2 : text, &end, base);
  }
  return *end || errno == ERANGE || end == text + (is_prefixed ? 2 : 0) ? bad(l, "unsupported number") : t;
}

static nki_token string(nki_lexer *l, bool is_format, bool is_raw) {
  const char quote = *l->at;
  const bool is_long = peek(l, 1) == quote && peek(l, 2) == quote;
  const size_t quotes = is_long ? 3 : 1;
  l->at += quotes;
  nki_token t = {.kind = NKI_TOKEN_STRING, .at = l->at, .line = l->line, .is_format = is_format, .is_raw = is_raw};
  for (; l->at < l->end; l->at++) {
    if (*l->at == '\\' && l->at + 1 < l->end) {
      l->at++;
      if (*l->at == '\n') l->line++;
      continue;
    }
    if (*l->at == '\n') {
      if (!is_long) break;
      l->line++;
    }
    if (*l->at == quote && (!is_long || (peek(l, 1) == quote && peek(l, 2) == quote))) {
      t.length = (size_t)(l->at - t.at);
      l->at += quotes;
      return t;
    }
  }
  l->line = t.line;
  return bad(l, "the string has no end");
}

static nki_token mark(nki_lexer *l) {
  static const char *const marks[] = {"...", "**=", "//=", ">>=", "<<=", "->", "**", "//", ">>", "<<", "<=", ">=",
                                      "==",  "!=",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", ":=", "@="};
  nki_token t = {.kind = NKI_TOKEN_MARK, .at = l->at, .length = 1, .line = l->line};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    const size_t n = strlen(marks[i]);
    if ((size_t)(l->end - l->at) >= n && memcmp(l->at, marks[i], n) == 0) {
      t.length = n;
      break;
    }
  }
  if (t.length == 1 && !strchr("+-*/%@&|^~<>()[]{},:.;=", *l->at)) return bad(l, "unsupported character");
  if (strchr("([{", *l->at)) l->brackets++;
  if (strchr(")]}", *l->at) && l->brackets) l->brackets--;
  l->at += t.length;
  return t;
}

nki_token nki_lex(nki_lexer *l) {
  if (l->dedents) {
    l->dedents--;
    return simple(l, NKI_TOKEN_DEDENT);
  }
  if (l->at_line_start && !l->brackets) {
    const nki_token t = line_start(l);
    if (t.kind == NKI_TOKEN_END && l->dedents) return nki_lex(l);
    if (t.kind != NKI_TOKEN_WORD) return t;
    if (l->dedents) return nki_lex(l);
  }
  skip_blanks(l);
  if (l->at >= l->end) {
    if (!l->emitted_line) {
      l->emitted_line = true;
      l->at_line_start = true;
      l->brackets = 0;
      return simple(l, NKI_TOKEN_LINE);
    }
    l->dedents = l->n_indents - 1;
    l->n_indents = 1;
    if (l->dedents) return nki_lex(l);
    return simple(l, NKI_TOKEN_END);
  }
  if (*l->at == '\n') {
    const nki_token t = simple(l, NKI_TOKEN_LINE);
    l->at++;
    l->line++;
    l->at_line_start = l->emitted_line = true;
    return t;
  }
  l->emitted_line = false;
  if (isdigit((unsigned char)*l->at) || (*l->at == '.' && isdigit((unsigned char)peek(l, 1)))) return number(l);
  size_t prefix = 0;
  while (prefix < 2 && peek(l, prefix) && strchr("rRbBfFuU", peek(l, prefix))) prefix++;
  const char quote = peek(l, prefix);
  if (quote == '"' || quote == '\'') {
    bool is_format = false, is_raw = false;
    for (size_t i = 0; i < prefix; i++) {
      is_format = is_format || tolower((unsigned char)l->at[i]) == 'f';
      is_raw = is_raw || tolower((unsigned char)l->at[i]) == 'r';
    }
    l->at += prefix;
    return string(l, is_format, is_raw);
  }
  if (is_name_start(*l->at)) {
    nki_token t = {.kind = NKI_TOKEN_WORD, .at = l->at, .line = l->line};
    while (l->at < l->end && is_name(*l->at)) l->at++;
    t.length = (size_t)(l->at - t.at);
    return t;
  }
  return mark(l);
}
