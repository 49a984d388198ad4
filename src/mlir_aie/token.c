/* token.c - see token.h. */
#include "mlir_aie/token.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$'; }
static bool is_name(char c) { return is_word(c) || c == '-'; }

static void skip_blanks(xd_lexer *l) {
  for (;; l->at++) {
    if (*l->at == '\n')
      l->line++;
    else if (l->at[0] == '/' && l->at[1] == '/')
      l->at += strcspn(l->at, "\n") - 1;
    else if (!isspace((unsigned char)*l->at))
      return;
  }
}

static void take_while(xd_lexer *l, xd_token *t, bool (*belongs)(char)) {
  t->at = l->at;
  while (belongs(*l->at)) l->at++;
  t->length = (size_t)(l->at - t->at);
}

static void take_string(xd_lexer *l, xd_token *t) {
  t->kind = XD_TOKEN_STRING;
  t->at = ++l->at;
  while (*l->at && *l->at != '"' && *l->at != '\n') l->at += l->at[0] == '\\' && l->at[1] && l->at[1] != '\n' ? 2 : 1;
  t->length = (size_t)(l->at - t->at);
  if (*l->at == '"') {
    l->at++;
    return;
  }
  t->kind = XD_TOKEN_BAD;
  t->problem = "a string does not end on its line";
}

/* %name or @name; @"name", too. */
static void take_name(xd_lexer *l, xd_token *t, xd_token_kind kind) {
  l->at++;
  if (*l->at == '"')
    take_string(l, t);
  else
    take_while(l, t, kind == XD_TOKEN_VALUE ? is_name : is_word);
  if (t->kind == XD_TOKEN_BAD) return;
  t->kind = kind;
  if (t->length) return;
  t->kind = XD_TOKEN_BAD;
  t->problem = kind == XD_TOKEN_VALUE ? "a name is missing after %" : "a name is missing after @";
}

/* After the sign. */
static void take_hexadecimal(xd_lexer *l, xd_token *t, bool negative) {
  bool fits = true;
  for (l->at += 2; isxdigit((unsigned char)*l->at); l->at++) {
    const int digit = isdigit((unsigned char)*l->at) ? *l->at - '0' : tolower((unsigned char)*l->at) - 'a' + 10;
    fits = fits && !__builtin_mul_overflow(t->number, 16, &t->number) &&
           !__builtin_add_overflow(t->number, negative ? -digit : digit, &t->number);
  }
  t->length = (size_t)(l->at - t->at);
  if (fits) return;
  t->kind = XD_TOKEN_BAD;
  t->problem = "a number does not fit in 64 bits";
}

static void take_number(xd_lexer *l, xd_token *t) {
  const bool negative = *l->at == '-';
  bool fits = true;
  t->kind = XD_TOKEN_NUMBER;
  t->at = l->at;
  if (negative) l->at++;
  if (l->at[0] == '0' && l->at[1] == 'x' && isxdigit((unsigned char)l->at[2])) {
    take_hexadecimal(l, t, negative);
    return;
  }
  for (; isdigit((unsigned char)*l->at); l->at++) {
    const int64_t digit = negative ? '0' - *l->at : *l->at - '0';
    fits = fits && !__builtin_mul_overflow(t->number, 10, &t->number) &&
           !__builtin_add_overflow(t->number, digit, &t->number);
  }
  if (l->at[0] == '.' && isdigit((unsigned char)l->at[1])) {
    t->kind = XD_TOKEN_REAL;
    while (isalnum((unsigned char)*l->at) || *l->at == '.' || ((*l->at == '-' || *l->at == '+') && l->at[-1] == 'e'))
      l->at++;
  }
  t->length = (size_t)(l->at - t->at);
  if (t->kind == XD_TOKEN_REAL || fits) return;
  t->kind = XD_TOKEN_BAD;
  t->problem = "a number does not fit in 64 bits";
}

xd_token xd_lex(xd_lexer *l) {
  skip_blanks(l);
  xd_token t = {.at = l->at, .length = 1, .line = l->line};
  const char c = *l->at;
  if (!c)
    t.length = 0;
  else if (isalpha((unsigned char)c) || c == '_')
    t.kind = XD_TOKEN_WORD, take_while(l, &t, is_word);
  else if (isdigit((unsigned char)c) || (c == '-' && isdigit((unsigned char)l->at[1])))
    take_number(l, &t);
  else if (c == '%' || c == '@')
    take_name(l, &t, c == '%' ? XD_TOKEN_VALUE : XD_TOKEN_SYMBOL);
  else if (c == '"')
    take_string(l, &t);
  else if (c == '-' && l->at[1] == '>')
    t.kind = XD_TOKEN_ARROW, t.length = 2, l->at += 2;
  else
    t.kind = XD_TOKEN_MARK, l->at++;
  return t;
}

bool xd_token_is(const xd_token *t, const char *word) {
  return strlen(word) == t->length && !memcmp(word, t->at, t->length);
}
