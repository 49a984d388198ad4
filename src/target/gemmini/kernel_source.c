/* kernel_source.c - see kernel_source.h. A tokenizer of C (C17 5.1.1.2, phases 2 and 3) and one query on it.
 *
 * It does not expand macros and does not evaluate #if: an entry point made by a macro is not found, one in an excluded
 * branch is. Such a source gets a clear error, never a wrong result. Safety does not depend on this check. */
#include "target/gemmini/kernel_source.h"

#include <ctype.h>
#include <string.h>

typedef enum token_kind { END, WORD, TEXT, NUMBER, PUNCTUATION } token_kind;

/* Text of a token without its line splices, cut to fit (no name or directive that matters is longer). */
typedef struct token {
  token_kind kind;
  char text[256];
  int line;
  bool starts_line; /* first on its line: a '#' here opens a directive */
  bool cut;
} token;

typedef struct reader {
  const char *at, *end;
  int line;
  bool starts_line;
} reader;

/* Skips backslash-newline (phase 2); GCC accepts blanks between the two. */
static void skip_splices(reader *r) {
  while (r->at < r->end && *r->at == '\\') {
    const char *p = r->at + 1;
    while (p < r->end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\f' || *p == '\v')) p++;
    if (p == r->end || *p != '\n') return;
    r->at = p + 1;
    r->line++;
  }
}

static int peek(reader *r) {
  skip_splices(r);
  return r->at < r->end ? (unsigned char)*r->at : -1;
}

static int next(reader *r) {
  int c = peek(r);
  if (c < 0) return c;
  r->at++;
  if (c == '\n') r->line++;
  return c;
}

static int peek_second(const reader *r) {
  reader ahead = *r;
  next(&ahead);
  return peek(&ahead);
}

static void append_character(token *t, size_t *n, int c) {
  if (*n + 1 < sizeof t->text) {
    t->text[(*n)++] = (char)c;
    t->text[*n] = '\0';
  } else {
    t->cut = true;
  }
}

/* Blanks and comments; stops before a newline if `within_line`. */
static void skip_blanks(reader *r, bool within_line) {
  for (;;) {
    int c = peek(r);
    if (c == '\n') {
      if (within_line) return;
      next(r);
      r->starts_line = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      next(r);
    } else if (c == '/' && peek_second(r) == '/') {
      while (peek(r) >= 0 && peek(r) != '\n') next(r);
    } else if (c == '/' && peek_second(r) == '*') {
      next(r), next(r);
      while (peek(r) >= 0 && !(peek(r) == '*' && peek_second(r) == '/')) next(r);
      next(r), next(r);
    } else {
      return;
    }
  }
}

static bool is_word(int c) { return c == '_' || c == '$' || c >= 0x80 || (c > 0 && isalnum(c)); }

/* A string or character constant up to its closing quote, or to the end of the line if it has none. */
static void read_quoted(reader *r, token *t, size_t *n, int quote) {
  append_character(t, n, next(r));
  while (peek(r) >= 0 && peek(r) != '\n' && peek(r) != quote) {
    if (peek(r) == '\\') {
      append_character(t, n, next(r));
      if (peek(r) == '\n') return;
    }
    append_character(t, n, next(r));
  }
  if (peek(r) == quote) append_character(t, n, next(r));
}

static token read_token(reader *r, bool within_line) {
  token t = {.kind = END};
  size_t n = 0;
  skip_blanks(r, within_line);
  int c = peek(r);
  t.line = r->line;
  t.starts_line = r->starts_line;
  if (c < 0 || c == '\n') return t;
  r->starts_line = false;
  if (is_word(c)) {
    t.kind = isdigit(c) ? NUMBER : WORD;
    while (is_word(peek(r))) append_character(&t, &n, next(r));
    if (t.kind == WORD && peek(r) == '"' &&
        (!strcmp(t.text, "L") || !strcmp(t.text, "u") || !strcmp(t.text, "U") || !strcmp(t.text, "u8")))
      read_quoted(r, &t, &n, '"'), t.kind = TEXT;
  } else if (c == '"' || c == '\'') {
    t.kind = TEXT;
    read_quoted(r, &t, &n, c);
  } else {
    t.kind = PUNCTUATION;
    append_character(&t, &n, next(r));
    if (c == '%' && peek(r) == ':') next(r), t.text[0] = '#'; /* the digraphs */
    if (c == '<' && peek(r) == '%') next(r), t.text[0] = '{';
    if (c == '%' && peek(r) == '>') next(r), t.text[0] = '}';
    if (c == '<' && peek(r) == ':') next(r), t.text[0] = '[';
    if (c == ':' && peek(r) == '>') next(r), t.text[0] = ']';
  }
  return t;
}

static bool is(const token *t, const char *text) { return t->kind != TEXT && !strcmp(t->text, text); }

static tw_status refuse(tw_error *error, int line, const char *what) {
  return tw_fail(error, TW_FAILED, "kernel.c:%d: error: %s", line, what);
}

static bool is_entry_name(const token *t) { return t->kind == WORD && (is(t, "test") || is(t, "solution")); }

/* ---- Directives ------------------------------------------------------------------------------------------- */

/* The library's header must know this one before it is included. */
/* The text after "#if 0", to its #else or #endif: any words, in which brackets need not match. */
static void skip_group(reader *r) {
  int depth = 1;
  for (token t = read_token(r, false); t.kind != END && depth; t = depth ? read_token(r, false) : t) {
    if (!t.starts_line || !is(&t, "#")) continue;
    t = read_token(r, true);
    if (is(&t, "if") || is(&t, "ifdef") || is(&t, "ifndef")) depth++;
    if (is(&t, "endif") || (depth == 1 && (is(&t, "else") || is(&t, "elif")))) depth--;
    while (t.kind != END) t = read_token(r, true);
  }
}

static void read_directive(reader *r, bool *software_loop) {
  const token name = read_token(r, true);
  token t = name;
  if (is(&name, "if")) {
    t = read_token(r, true);
    const bool never = is(&t, "0");
    if (never) t = read_token(r, true);
    if (never && t.kind == END) {
      skip_group(r);
      return;
    }
  }
  if (is(&name, "define")) t = read_token(r, true);
  if (is(&name, "define") && is(&t, "GEMMINI_SOFTWARE_LOOP")) *software_loop = true;
  while (t.kind != END) t = read_token(r, true);
}

/* ---- The entry point -------------------------------------------------------------------------------------- */

typedef struct finder {
  gm_entry entry;
  int found;
  bool open;     /* inside the entry point */
  bool no_paste; /* see gm_entry */
} finder;

/* The parameters, from after '(' to the matching ')'. */
static void read_parameters(reader *r, gm_entry *e) {
  int depth = 0;
  bool named = false, array = false, any = false;
  char name[GM_NAME_MAX] = "";
  e->n_parameters = 0;
  e->pasted = true;
  for (;;) {
    token t = read_token(r, false);
    bool last = t.kind == END || (depth == 0 && is(&t, ")"));
    if (last || (depth == 0 && is(&t, ","))) {
      if (any && !(last && e->n_parameters == 0 && !strcmp(name, "void") && !array)) {
        if (e->n_parameters < TW_OPERANDS_MAX) strcpy(e->parameter[e->n_parameters], name);
        e->n_parameters++;
        e->pasted = e->pasted && array && named;
      }
      named = array = any = false;
      name[0] = '\0';
      if (last) return;
      continue;
    }
    any = true;
    if (depth == 0 && is(&t, "[")) array = true;
    if (depth == 0 && is(&t, "*")) e->pasted = false; /* `int8_t (*A)[64]`, `int8_t *A[4]`: no plain arrays */
    if (depth == 0 && t.kind == WORD && !array && strlen(t.text) < GM_NAME_MAX) strcpy(name, t.text), named = true;
    if (is(&t, "(") || is(&t, "[")) depth++;
    if (is(&t, ")") || is(&t, "]")) depth--;
  }
}

/* After the name of an entry point at file scope. */
static void read_candidate(reader *r, finder *f, const token *name) {
  reader ahead = *r;
  token t = read_token(&ahead, false);
  if (!is(&t, "(")) return;
  gm_entry e = {.name = is(name, "test") ? "test" : "solution", .line = name->line};
  read_parameters(&ahead, &e);
  t = read_token(&ahead, false);
  if (!is(&t, "{")) return; /* a declaration */
  f->entry = e;
  f->found++;
}

tw_status gm_kernel_inspect(const char *source, size_t length, gm_entry *out, tw_error *error) {
  if (length > GM_SOURCE_MAX)
    return tw_fail(error, TW_FAILED, "the kernel's source has %zu bytes; at most %d are compiled", length,
                   (int)GM_SOURCE_MAX);
  const char *nul = memchr(source, '\0', length);
  if (nul) return tw_fail(error, TW_FAILED, "the kernel's source is not text: byte %zu is NUL", (size_t)(nul - source));

  reader r = {.at = source, .end = source + length, .line = 1, .starts_line = true};
  finder f = {0};
  int braces = 0, parentheses = 0;
  bool any = false, software_loop = false;
  for (token t = read_token(&r, false); t.kind != END; t = read_token(&r, false)) {
    any = true;
    if (t.starts_line && is(&t, "#")) {
      read_directive(&r, &software_loop);
      continue;
    }
    if (f.found > 0 && !f.open) f.no_paste = true; /* text after it */
    if (f.open && (is(&t, "return") || is(&t, "__label__"))) f.no_paste = true;
    if (is(&t, "{")) braces++;
    if (is(&t, "}") && --braces == 0) f.open = false;
    if (is(&t, "(")) parentheses++;
    if (is(&t, ")") && parentheses) parentheses--;
    if (!is_entry_name(&t)) continue;
    if (braces == 0 && parentheses == 0)
      read_candidate(&r, &f, &t), f.open = f.open || f.found > 0;
    else
      f.no_paste = true;
  }

  if (!any) return tw_fail(error, TW_FAILED, "the kernel's source is empty: it must define test(...) or solution(...)");
  if (f.found == 0)
    return tw_fail(error, TW_FAILED,
                   "kernel.c:1: error: the entry point is missing; define `void test(...)` or `void solution(...)` "
                   "with the problem's arrays as parameters");
  if (f.found > 1)
    return refuse(error, f.entry.line, "a second entry point: define one function named test or solution, not more");
  f.entry.pasted = f.entry.pasted && !f.no_paste;
  f.entry.software_loop = software_loop;
  *out = f.entry;
  return TW_OK;
}
