/* expression.c - see expression.h: recursive descent, a function for each level of C's precedence. */
#include "launch/expression.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"

typedef struct reader {
  const char *text, *at;
  const tw_scope *scope;
  int depth;
  int muted; /* > 0: text is read but not evaluated, so errors of values are ignored */
  tw_status status;
  tw_error *error;
} reader;

bool tw_scope_set(tw_scope *s, const char *name, int64_t value) {
  size_t i = 0;
  if (strlen(name) >= TW_SCOPE_NAME) return false;
  while (i < s->n && strcmp(s->entry[i].name, name) != 0) i++;
  if (i == TW_SCOPE_MAX) return false;
  if (i == s->n) {
    strcpy(s->entry[i].name, name);
    s->n++;
  }
  s->entry[i].value = value;
  return true;
}

bool tw_scope_find(const tw_scope *s, const char *name, size_t length, int64_t *out) {
  for (size_t i = 0; i < s->n; i++) {
    if (strncmp(s->entry[i].name, name, length) != 0 || s->entry[i].name[length]) continue;
    *out = s->entry[i].value;
    return true;
  }
  return false;
}

/* ---- errors: the first one counts ---- */

static int64_t wrong(reader *r, const char *what) {
  if (r->status == TW_OK)
    r->status = tw_fail(r->error, TW_USAGE, "'%.200s': %s at '%.40s'", r->text, what, *r->at ? r->at : "the end");
  return 0;
}

/* Reports an error of a value, not of the text. */
static int64_t wrong_value(reader *r, const char *what) { return r->muted ? 0 : wrong(r, what); }

static int64_t unknown(reader *r, const char *name, size_t length) {
  const char *known[TW_SCOPE_MAX];
  char word[TW_SCOPE_NAME];
  if (r->status != TW_OK) return 0;
  snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, name);
  for (size_t i = 0; i < r->scope->n; i++) known[i] = r->scope->entry[i].name;
  const char *near = tw_nearest_word(word, known, r->scope->n);
  r->status = tw_fail(r->error, TW_USAGE, "'%.200s': unknown name '%s'%s%s%s", r->text, word,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
  return 0;
}

/* ---- tokens ---- */

static void blanks(reader *r) {
  while (*r->at == ' ' || *r->at == '\t') r->at++;
}

static bool take_token(reader *r, const char *token) {
  const size_t length = strlen(token);
  if (r->status != TW_OK || strncmp(r->at, token, length) != 0) return false;
  r->at += length;
  blanks(r);
  return true;
}

static bool is_name(char c, bool first) {
  return isalpha((unsigned char)c) || c == '_' || (!first && (isdigit((unsigned char)c) || c == '.'));
}

static int64_t number(reader *r) {
  const bool hexadecimal = r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X');
  const int base = hexadecimal ? 16 : 10;
  int64_t value = 0;
  const char *start = r->at += hexadecimal ? 2 : 0;
  for (; isxdigit((unsigned char)*r->at) && (hexadecimal || isdigit((unsigned char)*r->at)); r->at++) {
    const int c = tolower((unsigned char)*r->at), digit = isdigit(c) ? c - '0' : c - 'a' + 10;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
      return wrong(r, "a number of more than 64 bits");
  }
  if (r->at == start || is_name(*r->at, false)) return wrong(r, "no number");
  blanks(r);
  return value;
}

/* ---- levels ---- */

static int64_t conditional(reader *r);

static int64_t ceildiv(reader *r, int64_t a, int64_t b) {
  if (a < 0 || b <= 0) return wrong_value(r, "ceildiv and align require a >= 0 and b > 0");
  return a / b + (a % b != 0);
}

static int64_t align(reader *r, int64_t a, int64_t b) {
  int64_t all;
  return __builtin_mul_overflow(ceildiv(r, a, b), b, &all) ? wrong_value(r, "overflow") : all;
}

static int64_t call(reader *r, const char *name, size_t length) {
  static const char *const functions[] = {"min", "max", "ceildiv", "align"};
  size_t f = 0, n = 1;
  while (f < 4 && (strlen(functions[f]) != length || memcmp(functions[f], name, length) != 0)) f++;
  if (f == 4) return unknown(r, name, length);
  int64_t value = conditional(r);
  for (; take_token(r, ","); n++) {
    const int64_t next = conditional(r);
    if (r->status != TW_OK) return 0;
    if (f >= 2 && n == 2) return wrong(r, "more than two arguments");
    value = f == 0   ? (next < value ? next : value)
            : f == 1 ? (next > value ? next : value)
            : f == 2 ? ceildiv(r, value, next)
                     : align(r, value, next);
  }
  if (n == 1) return wrong(r, "a second argument is missing");
  if (!take_token(r, ")")) return wrong(r, "')' is missing");
  return value;
}

static int64_t primary(reader *r) {
  int64_t value = 0;
  if (isdigit((unsigned char)*r->at)) return number(r);
  if (take_token(r, "(")) {
    value = conditional(r);
    if (!take_token(r, ")")) return wrong(r, "')' is missing");
    return value;
  }
  if (!is_name(*r->at, true)) return wrong(r, "a number, a name or '(' is missing");
  const char *name = r->at;
  while (is_name(*r->at, false)) r->at++;
  const size_t length = (size_t)(r->at - name);
  blanks(r);
  if (take_token(r, "(")) return call(r, name, length);
  return tw_scope_find(r->scope, name, length, &value) ? value : unknown(r, name, length);
}

static int64_t unary(reader *r) {
  int64_t value = 0;
  if (++r->depth > TW_EXPRESSION_DEPTH) return wrong(r, "nested too deeply");
  if (take_token(r, "-")) {
    if (__builtin_sub_overflow((int64_t)0, unary(r), &value)) value = wrong_value(r, "overflow");
  } else if (take_token(r, "+")) {
    value = unary(r);
  } else if (strncmp(r->at, "!=", 2) != 0 && take_token(r, "!")) {
    value = !unary(r);
  } else {
    value = primary(r);
  }
  r->depth--;
  return value;
}

static int64_t divide(reader *r, int64_t a, int64_t b, bool rest) {
  if (b == 0) return wrong_value(r, "division by zero");
  if (a == INT64_MIN && b == -1) return wrong_value(r, "overflow");
  return rest ? a % b : a / b;
}

static int64_t product(reader *r) {
  int64_t value = unary(r);
  for (;;) {
    if (take_token(r, "*")) {
      if (__builtin_mul_overflow(value, unary(r), &value)) value = wrong_value(r, "overflow");
    } else if (take_token(r, "/")) {
      value = divide(r, value, unary(r), false);
    } else if (take_token(r, "%")) {
      value = divide(r, value, unary(r), true);
    } else {
      return value;
    }
  }
}

static int64_t sum(reader *r) {
  int64_t value = product(r);
  for (;;) {
    if (take_token(r, "+")) {
      if (__builtin_add_overflow(value, product(r), &value)) value = wrong_value(r, "overflow");
    } else if (take_token(r, "-")) {
      if (__builtin_sub_overflow(value, product(r), &value)) value = wrong_value(r, "overflow");
    } else {
      return value;
    }
  }
}

static int64_t comparison(reader *r) {
  int64_t value = sum(r);
  for (;;) {
    if (take_token(r, "<="))
      value = value <= sum(r);
    else if (take_token(r, ">="))
      value = value >= sum(r);
    else if (take_token(r, "<"))
      value = value < sum(r);
    else if (take_token(r, ">"))
      value = value > sum(r);
    else
      return value;
  }
}

static int64_t equality(reader *r) {
  int64_t value = comparison(r);
  for (;;) {
    if (take_token(r, "=="))
      value = value == comparison(r);
    else if (take_token(r, "!="))
      value = value != comparison(r);
    else
      return value;
  }
}

/* The operand after && or ||, ignored if C would not evaluate it. */
static int64_t lazily(reader *r, bool needed, int64_t (*operand)(reader *)) {
  r->muted += !needed;
  const int64_t value = operand(r);
  r->muted -= !needed;
  return value;
}

static int64_t conjunction(reader *r) {
  int64_t value = equality(r);
  while (take_token(r, "&&")) value = (lazily(r, value != 0, equality) != 0) & (value != 0);
  return value;
}

static int64_t disjunction(reader *r) {
  int64_t value = conjunction(r);
  while (take_token(r, "||")) value = (lazily(r, value == 0, conjunction) != 0) | (value != 0);
  return value;
}

static int64_t conditional(reader *r) {
  if (++r->depth > TW_EXPRESSION_DEPTH) return wrong(r, "nested too deeply");
  int64_t value = disjunction(r);
  if (take_token(r, "?")) {
    const int64_t yes = lazily(r, value != 0, conditional);
    if (!take_token(r, ":")) return wrong(r, "':' is missing");
    const int64_t no = lazily(r, value == 0, conditional);
    value = value ? yes : no;
  }
  r->depth--;
  return value;
}

tw_status tw_expression(const char *text, const char **end, const tw_scope *scope, int64_t *out, tw_error *error) {
  reader r = {.text = text, .at = text, .scope = scope, .error = error};
  blanks(&r);
  const int64_t value = conditional(&r);
  if (r.status == TW_OK && !end && *r.at) wrong(&r, "the expression ends");
  if (r.status != TW_OK) return r.status;
  if (end) *end = r.at;
  *out = value;
  return TW_OK;
}
