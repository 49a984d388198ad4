/* glossary.c - `tilewright help TERM`: a term of docs/reference/glossary.md, which is part of the program, or a
 * schedule step. Case, '-', '_' and blanks do not matter, so "Split-K", "split k" and `split_k` are one term. */
#define _GNU_SOURCE /* strndup */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"
#include "cli/cli.h"

enum { TERM_MAX = 80 };

/* A part of a text, not ended by '\0'. */
typedef struct span {
  const char *at;
  size_t n;
} span;

static span trim(const char *at, const char *end) {
  while (at < end && isspace((unsigned char)*at)) at++;
  while (at < end && isspace((unsigned char)end[-1])) end--;
  return (span){at, (size_t)(end - at)};
}

/* Letters in lower case, digits and '+'. */
static void normalize(span s, char out[TERM_MAX]) {
  size_t n = 0;
  for (size_t i = 0; i < s.n && n + 1 < TERM_MAX; i++)
    if (isalnum((unsigned char)s.at[i]) || s.at[i] == '+') out[n++] = (char)tolower((unsigned char)s.at[i]);
  out[n] = '\0';
}

static bool is_term(span s, const char *wanted) {
  char term[TERM_MAX];
  normalize(s, term);
  return *term && strcmp(term, wanted) == 0;
}

/* The next name of a cell, which may hold several: "mainloop, k-loop", "asymmetric tile buffering (ATB)". Empty past
 * the last. */
static span next_name(span *cell) {
  static const char between[] = ",;()";
  const char *end = cell->at + cell->n, *from = cell->at;
  while (from < end && (strchr(between, *from) || isspace((unsigned char)*from))) from++;
  const char *stop = from;
  while (stop < end && !strchr(between, *stop)) stop++;
  *cell = (span){stop, (size_t)(end - stop)};
  return trim(from, stop);
}

static bool names_term(span cell, const char *wanted) {
  if (is_term(cell, wanted)) return true;
  for (span name; (name = next_name(&cell)).n;)
    if (is_term(name, wanted)) return true;
  return false;
}

/* Prints a cell without Markdown's backticks. */
static void put_cell(span s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.at[i] != '`') putchar(s.at[i]);
}

/* The first two cells of a table's row; false for other lines. */
static bool read_row(span line, span *first, span *second) {
  const char *end = line.at + line.n;
  const char *middle = line.n > 2 && *line.at == '|' ? memchr(line.at + 1, '|', line.n - 1) : NULL;
  const char *last = middle ? memchr(middle + 1, '|', (size_t)(end - middle - 1)) : NULL;
  if (!last) return false;
  *first = trim(line.at + 1, middle);
  *second = trim(middle + 1, last);
  return strncmp(first->at, "---", 3) != 0;
}

/* A row of the glossary. */
typedef struct row {
  span term, meaning;
  bool is_older; /* from the table of older words: `meaning` is the current term */
} row;

/* Calls `visit` for each row, until it returns true. */
static bool visit_rows(bool (*visit)(const row *, void *context), void *context) {
  const tw_embedded *page = tw_embedded_find("docs/reference/glossary.md");
  row r = {0};
  for (const char *line = page ? (const char *)page->data : NULL; line && *line;) {
    const size_t n = strcspn(line, "\n");
    r.is_older |= strncmp(line, "## Older", 8) == 0;
    if (read_row((span){line, n}, &r.term, &r.meaning) && visit(&r, context)) return true;
    line += n + (line[n] == '\n');
  }
  return false;
}

static bool print_row(const row *r, void *context) {
  if (!names_term(r->term, context)) return false;
  put_cell(r->term);
  fputs(r->is_older ? "\n  older word for " : "\n  ", stdout);
  put_cell(r->meaning);
  putchar('\n');
  return true;
}

/* Is the wanted term the current name of the step, or an old one? */
static bool names_step(const tw_verb *v, const char *wanted) {
  for (const char *p = v->name; *p;) {
    const size_t n = strcspn(p, "|");
    if (is_term((span){p, n}, wanted)) return true;
    p += n + (p[n] == '|');
  }
  return false;
}

static bool print_steps(const char *wanted) {
  const tw_language *seen[64];
  size_t n_seen = 0;
  bool found = false;
  const tw_target *t;
  const tw_language *l;
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    for (size_t j = 0; t->language && (l = t->language(j)); j++) {
      size_t k = 0;
      while (k < n_seen && seen[k] != l) k++;
      if (k < n_seen || n_seen == sizeof seen / sizeof *seen) continue;
      seen[n_seen++] = l;
      for (const tw_verb *v = l->verb; v < l->verb + l->n; v++) {
        if (!names_step(v, wanted)) continue;
        printf("\nstep of %s: %s\n  %s\n", l->of, v->usage, v->help ? v->help : "");
        found = true;
      }
    }
  return found;
}

bool cli_print_term(const char *term) {
  char wanted[TERM_MAX];
  normalize((span){term, strlen(term)}, wanted);
  const bool defined = visit_rows(print_row, wanted);
  return print_steps(wanted) || defined;
}

/* The first `n_commands` are names of commands. Further names are malloc'ed. */
typedef struct names {
  size_t n, n_commands;
  const char *name[256];
} names;

static bool add_names(const row *r, void *context) {
  span cell = r->term;
  names *all = context;
  /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): cli_unknown_term frees the names */
  for (span one; all->n < sizeof all->name / sizeof *all->name && (one = next_name(&cell)).n;) {
    const char *name = strndup(one.at, one.n);
    if (name) all->name[all->n++] = name;
  }
  return false;
}

tw_status cli_unknown_term(const char *term, tw_error *error) {
  names all = {0};
  all.n = all.n_commands = cli_command_names(all.name, sizeof all.name / sizeof *all.name);
  visit_rows(add_names, &all);
  const char *near = tw_nearest_word(term, all.name, all.n);
  const tw_status status =
      near ? tw_fail(error, TW_USAGE, "unknown command or term '%s'; did you mean '%s'?", term, near)
           : tw_fail(error, TW_USAGE,
                     "unknown command or term '%s'; `tilewright --help` lists the commands, docs/reference/glossary.md "
                     "the terms",
                     term);
  for (size_t i = all.n_commands; i < all.n; i++) free((char *)all.name[i]);
  return status;
}
