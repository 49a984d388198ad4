/* edits.c - see edits.h. A source is seen as lines with their indentation; statements may have several lines. */
#define _GNU_SOURCE /* memmem */
#include "target/trainium/rewrite/edits.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

typedef struct line {
  const char *text; /* after the indentation */
  size_t length;    /* without the newline */
  int indent;
  int last; /* last line of the statement that begins here; for other lines their own number */
  bool is_code;
} line;

typedef struct lines {
  size_t n;
  line *line;
} lines;

/* Number of brackets that are open after the line; brackets in strings and comments are not counted. */
static int depth_after(const line *l, int depth) {
  for (size_t i = 0; i < l->length && l->text[i] != '#'; i++) {
    const char c = l->text[i];
    if (c == '\'' || c == '"') {
      const char *end = memchr(l->text + i + 1, c, l->length - i - 1);
      if (!end) return depth;
      i = (size_t)(end - l->text);
    } else if (strchr("([{", c)) {
      depth++;
    } else if (strchr(")]}", c)) {
      depth--;
    }
  }
  return depth;
}

static tw_status read_lines(const char *source, lines *out, tw_error *error) {
  size_t n = 1;
  for (const char *p = source; *p; p++) n += *p == '\n';
  *out = (lines){.line = tw_new(n, sizeof *out->line)};
  if (!out->line) return tw_no_memory(error, "the lines of a kernel");
  for (const char *p = source; *p;) {
    line *l = &out->line[out->n];
    const size_t whole = strcspn(p, "\n"), blank = strspn(p, " ");
    *l = (line){.indent = (int)(blank < whole ? blank : whole), .last = (int)out->n};
    l->text = p + l->indent;
    l->length = whole - (size_t)l->indent;
    l->is_code = l->length > 0 && *l->text != '#';
    out->n++;
    p += whole + (p[whole] == '\n');
  }
  int depth = 0, begin = 0;
  for (size_t i = 0; i < out->n; i++) {
    if (depth <= 0) begin = (int)i;
    depth = depth_after(&out->line[i], depth > 0 ? depth : 0);
    out->line[begin].last = (int)i;
    if ((int)i != begin) out->line[i].is_code = false; /* a line that continues a statement */
  }
  return TW_OK;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t word_length(const char *text) {
  size_t n = 0;
  while (is_word(text[n])) n++;
  return n;
}

/* Whether a word occurs in the text up to `end`. */
static bool mentions(const char *text, const char *end, const char *word, size_t n) {
  for (const char *p = text; p + n <= end; p++)
    if (!memcmp(p, word, n) && !is_word(p[n]) && (p == text || !is_word(p[-1]))) return true;
  return false;
}

static const char *end_of(const lines *s, size_t i) {
  const line *last = &s->line[s->line[i].last];
  return last->text + last->length;
}

static bool begins(const line *l, const char *with) { return l->is_code && !strncmp(l->text, with, strlen(with)); }

static const char *find(const char *text, const char *end, const char *what) {
  return memmem(text, (size_t)(end - text), what, strlen(what));
}

/* ---- constants ---- */

/* "NAME = 128": the number's text, or NULL. */
static const char *constant_of(const line *l, long long *value) {
  const size_t n = l->is_code ? word_length(l->text) : 0;
  if (!n || strncmp(l->text + n, " = ", 3)) return NULL;
  const char *number = l->text + n + 3;
  const size_t digits = strspn(number, "0123456789");
  const char *after = number + digits;
  after += strspn(after, " ");
  if (!digits || digits > 6 || (*after && *after != '\n' && *after != '#')) return NULL;
  *value = atoll(number);
  return number;
}

/* ---- engines ---- */

static const struct {
  const char *call;
  const char *engines; /* engines that can execute the call */
} moved[] = {{"nisa.tensor_copy(", "vector scalar gpsimd"},
             {"nisa.tensor_scalar(", "vector scalar gpsimd"},
             {"nisa.tensor_tensor(", "vector gpsimd"},
             {"nisa.memset(", "vector gpsimd"}};

/* The parenthesis that closes the first one of `text`. */
static const char *closing(const char *text, const char *end) {
  int depth = 0;
  for (const char *p = text; p < end; p++) {
    depth += *p == '(';
    if (*p == ')' && --depth == 0) return p;
  }
  return NULL;
}

/* The opening parenthesis of a call in statement i that can run on another engine. */
static const char *movable(const lines *s, size_t i, const char **engines) {
  for (size_t k = 0; s->line[i].is_code && k < sizeof moved / sizeof *moved; k++) {
    const char *at = find(s->line[i].text, end_of(s, i), moved[k].call);
    if (!at) continue;
    *engines = moved[k].engines;
    at += strlen(moved[k].call) - 1;
    return closing(at, end_of(s, i)) ? at : NULL;
  }
  return NULL;
}

/* ---- loops ---- */

/* The line after the block whose header is line i. */
static size_t block_end(const lines *s, size_t i) {
  size_t end = i + 1;
  for (size_t k = i + 1; k < s->n; k++) {
    if (!s->line[k].is_code) continue;
    if (s->line[k].indent <= s->line[i].indent) break;
    end = (size_t)s->line[k].last + 1;
  }
  return end;
}

/* The loop that is the whole body of loop i and does not depend on it; 0: none. */
static size_t inner_loop(const lines *s, size_t i) {
  const line *l = &s->line[i];
  size_t j = i + 1;
  if (!begins(l, "for ")) return 0;
  while (j < s->n && !s->line[j].is_code) j++;
  if (j == s->n || !begins(&s->line[j], "for ") || s->line[j].indent <= l->indent) return 0;
  if (block_end(s, j) != block_end(s, i)) return 0;
  if ((size_t)l->last != i || (size_t)s->line[j].last != j) return 0;
  const char *variable = l->text + 4;
  const size_t n = word_length(variable);
  return n && !strncmp(variable + n, " in ", 4) && !mentions(s->line[j].text, end_of(s, j), variable, n) ? j : 0;
}

/* Does the loop with header h assign to a word of statement i? */
static bool depends_on_loop(const lines *s, size_t h, size_t i, const char *own, size_t own_length) {
  const char *from = s->line[i].text, *end = end_of(s, i);
  const char *variables = s->line[h].text + 4, *in = find(variables, end_of(s, h), " in ");
  for (const char *p = variables; in && p < in; p++) {
    const size_t n = word_length(p);
    if (n && mentions(from, end, p, n)) return true;
    p += n;
  }
  for (size_t k = h + 1; k < block_end(s, h); k++) {
    const line *l = &s->line[k];
    const size_t n = l->is_code ? word_length(l->text) : 0;
    if (!n || (n == own_length && !memcmp(l->text, own, n))) continue;
    const char *after = l->text + n;
    const bool assigns = !strncmp(after, " = ", 3) || !strncmp(after, " += ", 4) || !strncmp(l->text, "for ", 4);
    const char *name = !strncmp(l->text, "for ", 4) ? l->text + 4 : l->text;
    if (assigns && mentions(from, end, name, word_length(name))) return true;
  }
  return false;
}

/* The loop that the load in statement i can leave, and the last line that moves with it; 0: none. */
static size_t leaves(const lines *s, size_t i, size_t *last) {
  const line *l = &s->line[i];
  const size_t n = l->is_code ? word_length(l->text) : 0;
  if (!n || strncmp(l->text + n, " = nl.", 6)) return 0;
  const bool loads = !strncmp(l->text + n + 6, "load(", 5);
  *last = (size_t)l->last;
  if (!loads) { /* first a tile, then the transfer into it */
    const size_t j = (size_t)l->last + 1;
    char transfer[100];
    snprintf(transfer, sizeof transfer, "nisa.dma_copy(dst=%.*s", (int)(n < 60 ? n : 60), l->text);
    if (strncmp(l->text + n + 6, "ndarray(", 8) || j >= s->n || s->line[j].indent != l->indent ||
        !begins(&s->line[j], transfer) || is_word(s->line[j].text[strlen(transfer)]))
      return 0;
    *last = (size_t)s->line[j].last;
  }
  size_t h = i;
  while (h > 0 && (!s->line[h].is_code || s->line[h].indent >= l->indent)) h--;
  if (!begins(&s->line[h], "for ") || depends_on_loop(s, h, i, l->text, n)) return 0;
  return !loads && depends_on_loop(s, h, (size_t)l->last + 1, l->text, n) ? 0 : h;
}

/* ---- the list ---- */

typedef struct list {
  size_t n, room;
  trn_edit *edit;
} list;

static trn_edit *next_edit(list *l, const char *lever, const char *why) {
  if (l->n == l->room) return NULL;
  l->edit[l->n] = (trn_edit){.lever = lever, .why = why};
  return &l->edit[l->n++];
}

static void offer_constants(const lines *s, size_t i, list *l) {
  long long value;
  const char *number = constant_of(&s->line[i], &value);
  if (!number || value < 2 || value > 65536) return;
  for (int half = 0; half < 2; half++) {
    if (half && value % 2) return;
    trn_edit *e = next_edit(l, "tile sizes", "another value of the constant");
    if (e)
      snprintf(e->step, sizeof e->step, "set %.*s=%lld line %zu", (int)(word_length(s->line[i].text) % 80),
               s->line[i].text, half ? value / 2 : 2 * value, i + 1);
  }
}

static void offer_engines(const lines *s, size_t i, list *l) {
  const char *engines, *call = movable(s, i, &engines);
  for (const char *e = call ? engines : ""; *e; e += word_length(e) + (e[word_length(e)] == ' ')) {
    const int n = (int)word_length(e);
    char given[40];
    snprintf(given, sizeof given, "engine=nisa.%.*s_engine", n, e);
    if (find(call, end_of(s, i), given)) continue;
    trn_edit *out = next_edit(l, "move work between engines", "another engine has room for it");
    if (out) snprintf(out->step, sizeof out->step, "engine %.*s line %zu", n, e, i + 1);
  }
}

size_t trn_edits_find(const char *source, size_t room, trn_edit out[]) {
  lines s;
  list l = {.room = room, .edit = out};
  if (read_lines(source, &s, NULL) != TW_OK) return 0;
  for (size_t i = 0; i < s.n; i++) {
    size_t last;
    offer_constants(&s, i, &l);
    trn_edit *e =
        leaves(&s, i, &last) ? next_edit(&l, "hoist loads", "the loaded data does not change in the loop") : NULL;
    if (e) snprintf(e->step, sizeof e->step, "hoist line %zu", i + 1);
    e = inner_loop(&s, i) ? next_edit(&l, "loop order", "operands of the other loop are reused sooner") : NULL;
    if (e) snprintf(e->step, sizeof e->step, "exchange loops line %zu", i + 1);
    offer_engines(&s, i, &l);
  }
  free(s.line);
  return l.n;
}

/* ---- applying one ---- */

static void add_lines(tw_text *t, const lines *s, size_t from, size_t to, int less) {
  for (size_t i = from; i < to; i++) {
    const int indent = s->line[i].indent - less;
    tw_text_add(t, "%*s%.*s\n", indent > 0 ? indent : 0, "", (int)s->line[i].length, s->line[i].text);
  }
}

static bool apply_engine(const lines *s, size_t i, const char *engine, const char *source, tw_text *t) {
  const char *engines, *call = movable(s, i, &engines);
  if (!call || !mentions(engines, engines + strlen(engines), engine, strlen(engine))) return false;
  const char *close = closing(call, end_of(s, i)), *given = find(call, close, "engine=");
  tw_text_add_bytes(t, source, (size_t)((given ? given : close) - source));
  tw_text_add(t, "%sengine=nisa.%s_engine%s", given ? "" : ", ", engine, given ? given + strcspn(given, ",)") : close);
  return true;
}

static bool apply(const lines *s, const char *source, const char *step, tw_text *t) {
  char name[81], engine[16];
  long long value, old;
  size_t number = 0, last = 0, other;
  if (sscanf(step, "set %80[A-Za-z0-9_]=%lld line %zu", name, &value, &number) == 3 && number - 1 < s->n) {
    const size_t i = number - 1;
    const char *digits = constant_of(&s->line[i], &old);
    if (!digits || word_length(s->line[i].text) != strlen(name) || strncmp(s->line[i].text, name, strlen(name)))
      return false;
    add_lines(t, s, 0, i, 0);
    tw_text_add(t, "%*s%.*s%lld%s", s->line[i].indent, "", (int)(digits - s->line[i].text), s->line[i].text, value,
                digits + strspn(digits, "0123456789"));
    return true;
  }
  if (sscanf(step, "engine %15[a-z] line %zu", engine, &number) == 2 && number - 1 < s->n)
    return apply_engine(s, number - 1, engine, source, t);
  if (sscanf(step, "exchange loops line %zu", &number) == 1 && number - 1 < s->n) {
    const size_t i = number - 1;
    if (!(other = inner_loop(s, i))) return false;
    add_lines(t, s, 0, i, 0);
    tw_text_add(t, "%*s%.*s\n", s->line[i].indent, "", (int)s->line[other].length, s->line[other].text);
    add_lines(t, s, i + 1, other, 0);
    tw_text_add(t, "%*s%.*s\n", s->line[other].indent, "", (int)s->line[i].length, s->line[i].text);
    add_lines(t, s, other + 1, s->n, 0);
    return true;
  }
  if (sscanf(step, "hoist line %zu", &number) == 1 && number - 1 < s->n) {
    const size_t i = number - 1, loop = leaves(s, i, &last);
    if (!loop) return false;
    add_lines(t, s, 0, loop, 0);
    add_lines(t, s, i, last + 1, s->line[i].indent - s->line[loop].indent);
    add_lines(t, s, loop, i, 0);
    add_lines(t, s, last + 1, s->n, 0);
    return true;
  }
  return false;
}

tw_status trn_edit_apply(const char *source, const char *step, char **out, tw_error *error) {
  lines s;
  tw_text t = {0};
  tw_status status = read_lines(source, &s, error);
  if (status != TW_OK) return status;
  if (!apply(&s, source, step, &t)) {
    tw_text_free(&t);
    status = tw_fail(error, TW_USAGE, "'%s': unknown place in the source", step);
  } else if (!(*out = tw_text_take(&t))) {
    status = tw_no_memory(error, "a kernel");
  }
  free(s.line);
  return status;
}
