/* vocabulary.c - see vocabulary.h.
 *
 * A reader of declarations, no compiler: it reads the tokens of a header and keeps the scopes (namespace, structure,
 * others). A declaration is the text between two of `;`, `{` and `}` as a declaration, unless a function's body is
 * around it. A name of a structure's member counts where the program uses it after a point, an arrow or `::`; other
 * names where it does not. */
#define _GNU_SOURCE
#include "agent/vocabulary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"

enum {
  DEPTH = 64,
  HEADERS_MAX = 32,
  NAMES_MAX = 20000, /* no program has more, but a model's text may have any number */
  COMMENT_SHOWN = 500,
  DECLARATION_SHOWN = 260,
  OVERLOADS = 3 /* declarations of one name that are shown */
};

/* ---- tokens ---- */

typedef struct token {
  const char *text;
  size_t length; /* 0: the end */
} token;

typedef struct reader {
  const char *at;
  const char *comment, *comment_end; /* the last one */
} reader;

static bool is_name_begin(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_name_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *literal_end(const char *s) {
  const char quote = *s++;
  while (*s && *s != quote && *s != '\n') s += s[0] == '\\' && s[1] ? 2 : 1;
  return *s == quote ? s + 1 : s;
}

static const char *line_end(const char *s) {
  while (*s && *s != '\n') s += s[0] == '\\' && s[1] ? 2 : 1;
  return s;
}

static void skip_blanks(reader *r) {
  for (;;) {
    r->at += strspn(r->at, " \t\r\n\\");
    const char *end;
    if (!strncmp(r->at, "/*", 2))
      end = strstr(r->at, "*/") ? strstr(r->at, "*/") + 2 : r->at + strlen(r->at);
    else if (!strncmp(r->at, "//", 2) && r->at[2] != ':')
      end = r->at + strcspn(r->at, "\n");
    else
      return;
    r->comment = r->at;
    r->at = r->comment_end = end;
  }
}

static token next_token(reader *r) {
  skip_blanks(r);
  token t = {r->at, 0};
  if (*r->at == '\0') return t;
  if (is_name_part(*r->at))
    while (is_name_part(*r->at)) r->at++;
  else if (*r->at == '"' || *r->at == '\'')
    r->at = literal_end(r->at);
  else
    r->at++;
  t.length = (size_t)(r->at - t.text);
  return t;
}

static bool is(token t, const char *text) { return t.length == strlen(text) && !strncmp(t.text, text, t.length); }
static bool is_name(token t) { return t.length > 0 && is_name_begin(*t.text); }

/* ---- the names that a program uses ---- */

typedef struct name {
  const char *text;
  size_t length;
  bool member, free;
  int shown;
} name;

typedef struct names {
  size_t n, room;
  name *name;
} names;

static int compare_text(const char *a, size_t n, const char *b, size_t m) {
  const int order = strncmp(a, b, n < m ? n : m);
  return order ? order : (n > m) - (n < m);
}

/* The place in the list, where it is or where to insert it. */
static size_t place_of(const names *all, token t) {
  size_t low = 0, high = all->n;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (compare_text(all->name[middle].text, all->name[middle].length, t.text, t.length) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static name *find_name(const names *all, token t) {
  const size_t i = place_of(all, t);
  return i < all->n && !compare_text(all->name[i].text, all->name[i].length, t.text, t.length) ? &all->name[i] : NULL;
}

static void add_name(names *all, token t, bool member) {
  name *known = find_name(all, t);
  if (!known) {
    if (all->n == NAMES_MAX) return;
    if (all->n == all->room) {
      const size_t room = all->room ? 2 * all->room : 256;
      name *larger = tw_resize(all->name, room, sizeof *larger);
      if (!larger) return;
      all->name = larger;
      all->room = room;
    }
    const size_t i = place_of(all, t);
    memmove(&all->name[i + 1], &all->name[i], (all->n++ - i) * sizeof *all->name);
    known = &all->name[i];
    *known = (name){.text = t.text, .length = t.length};
  }
  known->member |= member;
  known->free |= !member;
}

static void read_names(const char *source, names *out) {
  reader r = {.at = source};
  char before[2] = {0};
  for (token t; (t = next_token(&r)).length > 0;) {
    const bool member =
        before[1] == '.' || (before[1] == '>' && before[0] == '-') || (before[1] == ':' && before[0] == ':');
    if (is_name(t)) add_name(out, t, member);
    before[0] = before[1];
    before[1] = *t.text;
  }
}

/* ---- declarations ---- */

typedef enum scope { OPEN, STRUCTURE, ENUMERATION, BODY } scope; /* OPEN: a namespace, extern "C" */

enum { WORDS = 400 };
typedef struct declaration {
  size_t n;
  token word[WORDS]; /* without a template's head */
  const char *begin, *end;
  const char *comment, *comment_end; /* in front; NULL: none */
} declaration;

typedef struct parser {
  reader in;
  names *wanted;
  tw_text *out;
  const char *comment_shown; /* the last */
  bool any_structure;        /* also shows members of structures that the program does not name */
  scope scope[DEPTH];
  token structure[DEPTH]; /* its name, of a STRUCTURE */
  int depth;
} parser;

/* The comment in front of a text: nothing but blanks between, and at most one newline. */
static bool is_in_front(const char *comment_end, const char *begin) {
  int newlines = 0;
  for (const char *s = comment_end; s < begin; s++) {
    if (!strchr(" \t\r\n", *s)) return false;
    newlines += *s == '\n';
  }
  return newlines <= 1;
}

static void add_flat(tw_text *out, const char *begin, const char *end, size_t most) {
  bool blank = false;
  const size_t from = out->length;
  for (; begin < end; begin++) {
    if (strchr(" \t\r\n\\", *begin)) {
      if (*begin == '\n' && !strncmp(begin + 1 + strspn(begin + 1, " \t"), "* ", 2))
        begin += 1 + strspn(begin + 1, " \t");
      blank = true;
      continue;
    }
    if (out->length - from > most) {
      tw_text_add_string(out, " ...");
      return;
    }
    if (blank && out->length > from) tw_text_add_string(out, " ");
    blank = false;
    tw_text_add_bytes(out, begin, 1);
  }
}

static void show(parser *p, const declaration *d, name *n) {
  if (n->shown++ >= OVERLOADS) return;
  if (d->comment && d->comment != p->comment_shown) {
    add_flat(p->out, d->comment, d->comment_end, COMMENT_SHOWN);
    if (d->comment_end - d->comment > COMMENT_SHOWN && strncmp(d->comment, "//", 2) != 0)
      tw_text_add_string(p->out, " */");
    tw_text_add_string(p->out, "\n");
  }
  p->comment_shown = d->comment;
  if (p->depth && p->scope[p->depth - 1] == STRUCTURE) {
    const token s = p->structure[p->depth - 1];
    tw_text_add(p->out, "%.*s:: ", (int)s.length, s.text);
  }
  add_flat(p->out, d->begin, d->end, DECLARATION_SHOWN);
  tw_text_add_string(p->out, *d->begin == '#' ? "\n" : ";\n");
}

static bool is_declared_at(const declaration *d, size_t i, bool enumeration) {
  static const char *const after[] = {";", ",", "=", "[", "(", "{", ":"};
  const token t = d->word[i];
  const token none = {"", 0}, before = i ? d->word[i - 1] : none, next = i + 1 < d->n ? d->word[i + 1] : none;
  if (!is_name(t) || is(before, ".") || is(before, "(")) return false;
  if (enumeration) return i == 0 || is(before, ",") || is(before, "{");
  if (i == 0) return false;
  if (is(d->word[0], "using") || is(d->word[0], "struct") || is(d->word[0], "class") || is(d->word[0], "enum"))
    return i == 1;
  bool ends = next.length == 0;
  for (size_t k = 0; k < sizeof after / sizeof *after; k++) ends |= is(next, after[k]);
  return ends && (is_name(before) || is(before, "*") || is(before, "&") || is(before, ">") || is(before, ","));
}

/* Shows the declaration if it is of a name that the program uses. */
static void add_declaration(parser *p, const declaration *d) {
  const bool structure = p->depth && p->scope[p->depth - 1] == STRUCTURE;
  if (d->n && is(d->word[0], "namespace")) return;
  if (structure && !p->any_structure && !find_name(p->wanted, p->structure[p->depth - 1])) return;
  const bool enumeration = p->depth && p->scope[p->depth - 1] == ENUMERATION;
  int parentheses = 0, angles = 0;
  bool is_value = false;
  for (size_t i = 0; i < d->n; i++) {
    const token t = d->word[i];
    if (is(t, "(") || is(t, "[")) parentheses++;
    if (is(t, ")") || is(t, "]")) parentheses--;
    if (is(t, "<")) angles++;
    if (is(t, ">") && angles > 0) angles--;
    if (is(t, "=")) is_value = true;
    if (is(t, ",")) is_value = false;
    if (parentheses || angles || (is_value && !is(t, "=")) || !is_declared_at(d, i, enumeration)) continue;
    name *n = find_name(p->wanted, t);
    if (!n || !(structure ? n->member || (n->free && is(d->word[0], "struct")) : n->free || n->member)) continue;
    show(p, d, n);
    return;
  }
}

/* "#define NAME(a, b) text": up to the text, or with it where it is short. */
static void take_definition(parser *p, const char *line, const char *end) {
  reader r = {.at = line + strspn(line, "# \t")};
  if (!is(next_token(&r), "define")) return;
  const token t = next_token(&r);
  name *n = find_name(p->wanted, t);
  if (!n || !n->free) return;
  declaration d = {.begin = line, .end = end};
  if (p->in.comment && is_in_front(p->in.comment_end, line))
    d.comment = p->in.comment, d.comment_end = p->in.comment_end;
  show(p, &d, n);
}

static scope scope_of(const declaration *d) {
  bool call = false;
  for (size_t i = 0; i < d->n; i++) {
    if (is(d->word[i], "(") || is(d->word[i], "=")) call = true;
    if (!call && is(d->word[i], "enum")) return ENUMERATION;
    if (!call && (is(d->word[i], "struct") || is(d->word[i], "class") || is(d->word[i], "union"))) return STRUCTURE;
    if (!call && (is(d->word[i], "namespace") || is(d->word[i], "extern"))) return OPEN;
  }
  return BODY;
}

static token structure_of(const declaration *d) {
  for (size_t i = 0; i + 1 < d->n; i++)
    if (is(d->word[i], "struct") || is(d->word[i], "class") || is(d->word[i], "union")) return d->word[i + 1];
  return (token){"", 0};
}

/* Over "<...>" after `template`. */
static void skip_angles(parser *p, declaration *d) {
  int angles = 0;
  for (token t; (t = next_token(&p->in)).length > 0;) {
    angles += is(t, "<") - is(t, ">");
    d->end = p->in.at;
    if (angles <= 0) return;
  }
}

static void skip_body(parser *p) {
  int braces = 1;
  for (token t; braces > 0 && (t = next_token(&p->in)).length > 0;) braces += is(t, "{") - is(t, "}");
}

static void read_declarations(parser *p) {
  declaration d = {0};
  int parentheses = 0;
  for (;;) {
    skip_blanks(&p->in);
    if (d.n == 0 && *p->in.at == '#') {
      const char *line = p->in.at, *end = line_end(line);
      take_definition(p, line, end);
      p->in.at = end;
      continue;
    }
    const char *comment = p->in.comment, *comment_end = p->in.comment_end;
    const token t = next_token(&p->in);
    if (t.length == 0) return;
    if (d.n == 0 && !d.begin) {
      d = (declaration){.begin = t.text, .end = t.text};
      if (comment && is_in_front(comment_end, t.text)) d.comment = comment, d.comment_end = comment_end;
      parentheses = 0;
    }
    parentheses += is(t, "(") - is(t, ")");
    const bool enumeration = p->depth && p->scope[p->depth - 1] == ENUMERATION;
    const bool closes = is(t, "}");
    if (parentheses > 0 || !(is(t, ";") || is(t, "{") || closes || (enumeration && is(t, ",")))) {
      d.end = p->in.at;
      if (d.n == 0 && is(t, "template"))
        skip_angles(p, &d);
      else if (d.n < WORDS)
        d.word[d.n++] = t;
      continue;
    }
    add_declaration(p, &d);
    if (is(t, "{")) {
      const scope s = p->depth == DEPTH ? BODY : scope_of(&d);
      if (s == BODY) {
        skip_body(p);
      } else {
        p->structure[p->depth] = structure_of(&d);
        p->scope[p->depth++] = s;
      }
    } else if (closes && p->depth > 0) {
      p->depth--;
    }
    d = (declaration){0};
  }
}

/* ---- headers ---- */

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The embedded file of this name, from the machine's folder or from the shared one. */
static const tw_embedded *find_header(const tw_target *t, const char *path, size_t length) {
  char wanted[200];
  const tw_embedded *f;
  if (length >= sizeof wanted || !t->traits.prompts) return NULL;
  memcpy(wanted, path, length);
  wanted[length] = '\0';
  for (size_t i = 0; (f = tw_embedded_at(i)); i++) {
    const size_t n = strcspn(f->name, "/");
    const bool own = n == strlen(t->traits.prompts) && !strncmp(f->name, t->traits.prompts, n);
    if ((own || !strncmp(f->name, "gpu/", 4)) && !strcmp(file_name(f->name), file_name(wanted))) return f;
  }
  return NULL;
}

typedef struct headers {
  size_t n;
  const tw_embedded *file[HEADERS_MAX];
} headers;

/* The headers that a text includes, directly or through others. */
static void find_headers(const tw_target *t, const char *text, headers *out) {
  for (const char *at = text; (at = strstr(at, "#include \"")); at++) {
    const char *path = at + strlen("#include \"");
    const tw_embedded *f = find_header(t, path, strcspn(path, "\"\n"));
    bool known = !f || out->n == HEADERS_MAX;
    for (size_t i = 0; i < out->n; i++) known |= out->file[i] == f;
    if (known) continue;
    out->file[out->n++] = f;
    find_headers(t, (const char *)f->data, out);
  }
}

/* The headers that programs get without an include. */
static void find_given_headers(const tw_target *t, headers *out) {
  char folder[200];
  const tw_embedded *f;
  if (!t->traits.prompts) return;
  snprintf(folder, sizeof folder, "%s/runtime/include/", t->traits.prompts);
  for (size_t i = 0; (f = tw_embedded_at(i)) && out->n < HEADERS_MAX; i++)
    if (tw_embedded_below(f, folder)) out->file[out->n++] = f;
}

/* Names that are explained elsewhere are skipped. */
static void forget_names(names *all, const char *explained) {
  reader r = {.at = explained};
  for (token t; (t = next_token(&r)).length > 0;) {
    name *n = find_name(all, t);
    if (n) n->shown = OVERLOADS;
  }
}

/* First the members of structures that the program names; then names that are still unknown, in any structure. */
static void read_headers(const headers *h, names *all, tw_text *out) {
  for (int any = 0; any < 2; any++) {
    for (size_t i = 0; any && i < all->n; i++)
      if (all->name[i].shown) all->name[i].shown = OVERLOADS;
    for (size_t i = 0; i < h->n; i++) {
      parser p = {.in = {.at = (const char *)h->file[i]->data}, .wanted = all, .out = out, .any_structure = any};
      read_declarations(&p);
    }
  }
}

char *tw_vocabulary_of(const tw_target *t, const char *source, const char *explained) {
  headers h = {0};
  names all = {0};
  tw_text out = {0};
  read_names(source, &all);
  find_headers(t, source, &h);
  if (h.n == 0) {
    find_given_headers(t, &h);
    forget_names(&all, explained ? explained : "");
  }
  read_headers(&h, &all, &out);
  free(all.name);
  return tw_text_take(&out);
}
