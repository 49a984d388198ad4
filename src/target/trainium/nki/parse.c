/* parse.c - recursive descent over the grammar of Python: the part that kernels use.
 *
 * Statements that kernels cannot use (exceptions, ...) become NKI_UNSUPPORTED nodes with their block skipped, so
 * that a file may hold them beside a kernel. */
#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/trainium/nki/syntax.h"
#include "target/trainium/nki/token.h"

typedef struct parser {
  nki_lexer lexer;
  nki_token token;    /* the current one */
  const char *before; /* the end of the token before it */
  nki_module *module;
  int depth;
  tw_error *error;
  tw_status status;
  jmp_buf fail;
} parser;

/* A list of nodes under construction. */
typedef struct list {
  nki_node **item;
  size_t n, capacity;
} list;

/* ---- failing ---- */

static _Noreturn void out_of_memory(parser *p) {
  p->status = tw_fail(p->error, TW_NO_MEMORY, "out of memory");
  longjmp(p->fail, 1);
}

static _Noreturn void fail(parser *p, const char *what) {
  const nki_token *t = &p->token;
  if (t->kind == NKI_TOKEN_BAD)
    p->status = tw_fail(p->error, TW_FAILED, "line %d: %s", t->line, t->problem);
  else if (t->kind == NKI_TOKEN_WORD || t->kind == NKI_TOKEN_MARK || t->kind == NKI_TOKEN_INT)
    p->status = tw_fail(p->error, TW_FAILED, "line %d: %s (found '%.*s')", t->line, what,
                        (int)(t->length > 40 ? 40 : t->length), t->at);
  else
    p->status = tw_fail(p->error, TW_FAILED, "line %d: %s (found %s)", t->line, what,
                        t->kind == NKI_TOKEN_END      ? "the end of the file"
                        : t->kind == NKI_TOKEN_LINE   ? "the end of the line"
                        : t->kind == NKI_TOKEN_INDENT ? "an indented line"
                        : t->kind == NKI_TOKEN_DEDENT ? "the end of the block"
                        : t->kind == NKI_TOKEN_STRING ? "a string"
                                                      : "a number");
  longjmp(p->fail, 1);
}

static void deeper(parser *p) {
  if (++p->depth > NKI_DEPTH_MAX) fail(p, "expressions or blocks are nested too deeply");
}

/* ---- tokens and nodes ---- */

static void next(parser *p) {
  p->before = p->lexer.at;
  p->token = nki_lex(&p->lexer);
  if (p->token.kind == NKI_TOKEN_BAD) fail(p, "");
}

static bool at(const parser *p, const char *text) { return nki_token_is(&p->token, text); }

static bool take(parser *p, const char *text) {
  if (!at(p, text)) return false;
  next(p);
  return true;
}

static void expect(parser *p, const char *text) {
  char what[40];
  if (take(p, text)) return;
  strcpy(what, "expected '");
  strcat(what, text);
  strcat(what, "'");
  fail(p, what);
}

static nki_node *node(parser *p, nki_kind kind) {
  nki_node *n = tw_blocks_take(&p->module->arena, sizeof *n);
  if (!n) out_of_memory(p);
  n->kind = kind;
  n->line = p->token.line;
  n->symbol = -1;
  return n;
}

static void set_name(parser *p, nki_node *n, const char *text, size_t length) {
  n->symbol = nki_symbol(&p->module->symbols, &p->module->arena, text, length);
  if (n->symbol < 0) out_of_memory(p);
  n->text = p->module->symbols.text[n->symbol];
  n->length = length;
}

static void add(parser *p, list *l, nki_node *n) {
  if (l->n == l->capacity) { /* the arena frees the old array with everything else */
    const size_t more = l->capacity ? 2 * l->capacity : 4;
    nki_node **moved = tw_blocks_take(&p->module->arena, more * sizeof *moved);
    if (!moved) out_of_memory(p);
    if (l->n) memcpy(moved, l->item, l->n * sizeof *moved);
    l->item = moved;
    l->capacity = more;
  }
  l->item[l->n++] = n;
}

static void set_items(nki_node *n, list l) {
  n->item = l.item;
  n->n_items = l.n;
}

static bool is_keyword(const nki_token *t) {
  static const char *const keywords[] = {"False",  "None",   "True",    "and",      "as",       "assert", "async",
                                         "await",  "break",  "class",   "continue", "def",      "del",    "elif",
                                         "else",   "except", "finally", "for",      "from",     "global", "if",
                                         "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
                                         "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (nki_token_is(t, keywords[i])) return true;
  return false;
}

static bool at_name(const parser *p) { return p->token.kind == NKI_TOKEN_WORD && !is_keyword(&p->token); }

static nki_node *name(parser *p) {
  if (!at_name(p)) fail(p, "expected a name");
  nki_node *n = node(p, NKI_NAME);
  set_name(p, n, p->token.at, p->token.length);
  next(p);
  return n;
}

static nki_node *expression(parser *);
static nki_node *disjunction(parser *);
static nki_node *expressions(parser *, bool is_target);
static nki_node *comparison(parser *);

/* ---- strings ---- */

static size_t unescape(char *text, size_t length) {
  size_t n = 0;
  for (size_t i = 0; i < length; i++) {
    static const char from[] = "ntr0\\'\"", to[] = "\n\t\r\0\\'\"";
    const char *c;
    if (text[i] == '\\' && i + 1 < length && (c = strchr(from, text[i + 1])) && *c) {
      text[n++] = to[c - from];
      i++;
    } else if (text[i] == '\\' && i + 1 < length && text[i + 1] == '\n') {
      i++;
    } else {
      text[n++] = text[i];
    }
  }
  return n;
}

static nki_node *text_node(parser *p, const char *at_text, size_t length, bool is_raw) {
  nki_node *n = node(p, NKI_STRING);
  char *copy = tw_blocks_text(&p->module->arena, at_text, length);
  if (!copy) out_of_memory(p);
  n->text = copy;
  n->length = is_raw ? length : unescape(copy, length);
  copy[n->length] = '\0';
  return n;
}

/* The parts of f"...": strings and the expressions in braces, whose formats are dropped. */
static void format_parts(parser *p, const nki_token *t, list *parts) {
  const char *end = t->at + t->length, *from = t->at;
  for (const char *c = t->at; c < end; c++) {
    if ((*c == '{' || *c == '}') && c + 1 < end && c[1] == *c) {
      add(p, parts, text_node(p, from, (size_t)(c - from) + 1, t->is_raw));
      from = ++c + 1;
      continue;
    }
    if (*c != '{') continue;
    add(p, parts, text_node(p, from, (size_t)(c - from), t->is_raw));
    int open = 0;
    const char *stop = c + 1;
    for (;
         stop < end && (open || (*stop != '}' && *stop != ':' && !(*stop == '!' && stop + 1 < end && stop[1] != '=')));
         stop++)
      open += *stop == '(' || *stop == '[' || *stop == '{' ? 1 : *stop == ')' || *stop == ']' || *stop == '}' ? -1 : 0;
    const nki_lexer lexer = p->lexer;
    const nki_token token = p->token;
    p->lexer = nki_lexer_of(c + 1, (size_t)(stop - c - 1));
    p->lexer.line = t->line;
    p->lexer.brackets = 1;
    next(p);
    if (p->token.kind == NKI_TOKEN_END || p->token.kind == NKI_TOKEN_LINE)
      fail(p, "expected an expression in the f-string");
    add(p, parts, expression(p));
    p->lexer = lexer;
    p->token = token;
    while (stop < end && *stop != '}') stop++;
    c = stop;
    from = c + 1;
  }
  if (from < end) add(p, parts, text_node(p, from, (size_t)(end - from), t->is_raw));
}

/* Adjacent strings are one. */
static nki_node *strings(parser *p) {
  list parts = {0};
  nki_node *n = node(p, NKI_FORMAT);
  bool is_format = false;
  for (; p->token.kind == NKI_TOKEN_STRING; next(p)) {
    const nki_token t = p->token;
    is_format = is_format || t.is_format;
    if (t.is_format)
      format_parts(p, &t, &parts);
    else
      add(p, &parts, text_node(p, t.at, t.length, t.is_raw));
  }
  if (!is_format && parts.n == 1) return parts.item[0];
  set_items(n, parts);
  return n;
}

/* ---- expressions ---- */

static nki_node *comprehension(parser *p, nki_node *element) {
  nki_node *n = node(p, NKI_COMPREHENSION);
  list loops = {0};
  n->a = element;
  while (take(p, "for")) {
    nki_node *loop = node(p, NKI_FOR_CLAUSE);
    list conditions = {0};
    loop->a = expressions(p, true);
    expect(p, "in");
    loop->b = disjunction(p);
    while (take(p, "if")) add(p, &conditions, disjunction(p));
    set_items(loop, conditions);
    add(p, &loops, loop);
  }
  set_items(n, loops);
  return n;
}

/* An item of a sequence, which may be `*items`. */
static nki_node *starred(parser *p) {
  if (!at(p, "*")) return expression(p);
  nki_node *n = node(p, NKI_STAR);
  next(p);
  n->a = expression(p);
  return n;
}

/* A tuple or list, a comprehension, or an expression in parentheses. */
static nki_node *sequence(parser *p, const char *end) {
  nki_node *n = node(p, *end == ')' ? NKI_TUPLE : NKI_LIST);
  list items = {0};
  bool is_whole = *end == ']';
  next(p);
  while (!at(p, end)) {
    nki_node *item = starred(p);
    if (at(p, "for") && !items.n) {
      item = comprehension(p, item);
      expect(p, end);
      return item;
    }
    add(p, &items, item);
    if (!take(p, ",")) break;
    is_whole = true;
  }
  expect(p, end);
  if (items.n == 1 && !is_whole && items.item[0]->kind != NKI_STAR) return items.item[0];
  set_items(n, items);
  return n;
}

static nki_node *brace(parser *p) {
  nki_node *n = node(p, NKI_DICT);
  list items = {0};
  next(p);
  while (!at(p, "}")) {
    const bool unpacks = take(p, "**");
    add(p, &items, expression(p));
    if (unpacks || !at(p, ":")) {
      n->kind = NKI_UNSUPPORTED_VALUE;
      n->text = unpacks ? "dict of another dict" : "set";
    } else {
      next(p);
      add(p, &items, expression(p));
    }
    if (at(p, "for")) {
      comprehension(p, items.item[0]);
      n->kind = NKI_UNSUPPORTED_VALUE;
      n->text = "dict or set comprehension";
    }
    if (!take(p, ",")) break;
  }
  expect(p, "}");
  set_items(n, items);
  return n;
}

static nki_node *atom(parser *p) {
  const nki_token t = p->token;
  nki_node *n;
  if (t.kind == NKI_TOKEN_STRING) return strings(p);
  if (t.kind == NKI_TOKEN_INT || t.kind == NKI_TOKEN_REAL) {
    n = node(p, t.kind == NKI_TOKEN_INT ? NKI_INTEGER : NKI_NUMBER);
    n->integer = t.integer;
    n->real = t.real;
    next(p);
    return n;
  }
  if (at(p, "(") || at(p, "[")) return sequence(p, at(p, "(") ? ")" : "]");
  if (at(p, "{")) return brace(p);
  static const struct {
    const char *text;
    nki_kind kind;
  } constants[] = {{"None", NKI_NONE}, {"True", NKI_TRUE}, {"False", NKI_FALSE}, {"...", NKI_ELLIPSIS}};
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    if (!at(p, constants[i].text)) continue;
    n = node(p, constants[i].kind);
    next(p);
    return n;
  }
  if (!at_name(p)) fail(p, "expected an expression");
  return name(p);
}

static nki_node *call(parser *p, nki_node *callee) {
  nki_node *n = node(p, NKI_CALL);
  list items = {0};
  n->line = callee->line;
  n->a = callee;
  next(p);
  while (!at(p, ")")) {
    nki_node *item = at(p, "**") ? node(p, NKI_KEYWORD) : starred(p);
    if (item->kind == NKI_KEYWORD || (item->kind == NKI_NAME && at(p, "="))) {
      item->kind = NKI_KEYWORD;
      next(p);
      item->a = expression(p);
    } else if (at(p, "for") && !items.n) {
      item = comprehension(p, item);
    }
    add(p, &items, item);
    if (!take(p, ",")) break;
  }
  expect(p, ")");
  set_items(n, items);
  return n;
}

static nki_node *subscript(parser *p) {
  nki_node *first = NULL;
  if (!at(p, ":")) first = expression(p);
  if (!at(p, ":")) return first;
  nki_node *n = node(p, NKI_SLICE);
  n->a = first;
  next(p);
  if (!at(p, ":") && !at(p, ",") && !at(p, "]")) n->b = expression(p);
  if (take(p, ":") && !at(p, ",") && !at(p, "]")) n->c = expression(p);
  return n;
}

static nki_node *subscripts(parser *p) {
  nki_node *n = node(p, NKI_TUPLE);
  list items = {0};
  bool is_tuple = false;
  while (!at(p, "]")) {
    add(p, &items, subscript(p));
    if (!take(p, ",")) break;
    is_tuple = true;
  }
  if (!items.n) fail(p, "expected an index");
  expect(p, "]");
  if (items.n == 1 && !is_tuple) return items.item[0];
  set_items(n, items);
  return n;
}

static nki_node *primary(parser *p) {
  nki_node *n = atom(p);
  for (const int depth = p->depth;; deeper(p)) { /* each item after a primary makes it deeper */
    if (at(p, "(")) {
      n = call(p, n);
    } else if (at(p, "[")) {
      nki_node *index = node(p, NKI_INDEX);
      index->a = n;
      next(p);
      index->b = subscripts(p);
      n = index;
    } else if (at(p, ".")) {
      next(p);
      if (p->token.kind != NKI_TOKEN_WORD) fail(p, "expected the name of an attribute");
      nki_node *attribute = node(p, NKI_ATTRIBUTE);
      attribute->a = n;
      set_name(p, attribute, p->token.at, p->token.length);
      next(p);
      n = attribute;
    } else {
      p->depth = depth;
      return n;
    }
  }
}

static nki_node *unary(parser *p);

static nki_node *power(parser *p) {
  nki_node *n = primary(p);
  if (!at(p, "**")) return n;
  nki_node *out = node(p, NKI_BINARY);
  out->op = NKI_OP('*', '*');
  next(p);
  deeper(p);
  out->a = n;
  out->b = unary(p);
  p->depth--;
  return out;
}

static nki_node *unary(parser *p) {
  if (!at(p, "-") && !at(p, "+") && !at(p, "~")) return power(p);
  deeper(p);
  nki_node *n = node(p, NKI_UNARY);
  n->op = p->token.at[0];
  next(p);
  n->a = unary(p);
  p->depth--;
  return n;
}

/* Binary operators from the loosest to the tightest, as Python ranks them. */
static const char *const levels[][6] = {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}};
enum { LEVELS = sizeof levels / sizeof *levels };

static nki_node *binary(parser *p, int level) {
  if (level == LEVELS) return unary(p);
  nki_node *n = binary(p, level + 1);
  for (const int depth = p->depth;; deeper(p)) {
    const char *op = NULL;
    for (int i = 0; i < 6 && levels[level][i]; i++)
      if (at(p, levels[level][i])) op = levels[level][i];
    if (!op) {
      p->depth = depth;
      return n;
    }
    nki_node *out = node(p, NKI_BINARY);
    out->op = op[1] ? NKI_OP(op[0], op[1]) : op[0];
    next(p);
    out->a = n;
    out->b = binary(p, level + 1);
    n = out;
  }
}

/* A comparison operator, or 0. */
static int comparison_operator(parser *p) {
  static const char *const marks[] = {"<", ">", "<=", ">=", "==", "!="};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (take(p, marks[i])) return marks[i][1] ? NKI_OP(marks[i][0], marks[i][1]) : marks[i][0];
  if (take(p, "in")) return NKI_OP_IN;
  if (take(p, "is")) return take(p, "not") ? NKI_OP_IS_NOT : NKI_OP_IS;
  if (at(p, "not")) {
    next(p);
    expect(p, "in");
    return NKI_OP_NOT_IN;
  }
  return 0;
}

static nki_node *comparison(parser *p) {
  enum { CHAIN_MAX = 16 };
  int ops[CHAIN_MAX], n_ops = 0, op;
  list items = {0};
  add(p, &items, binary(p, 0));
  while ((op = comparison_operator(p))) {
    if (n_ops == CHAIN_MAX) fail(p, "the comparison is too long");
    ops[n_ops++] = op;
    add(p, &items, binary(p, 0));
  }
  if (!n_ops) return items.item[0];
  nki_node *n = node(p, NKI_COMPARE);
  n->line = items.item[0]->line;
  n->ops = tw_blocks_take(&p->module->arena, (size_t)n_ops * sizeof *n->ops);
  if (!n->ops) out_of_memory(p);
  memcpy(n->ops, ops, (size_t)n_ops * sizeof *ops);
  set_items(n, items);
  return n;
}

static nki_node *inversion(parser *p) {
  if (!at(p, "not")) return comparison(p);
  deeper(p);
  nki_node *n = node(p, NKI_NOT);
  next(p);
  n->a = inversion(p);
  p->depth--;
  return n;
}

/* Parses operands with a word between them, from left to right. */
static nki_node *chain(parser *p, const char *word, nki_kind kind, nki_node *(*part)(parser *)) {
  nki_node *n = part(p);
  const int depth = p->depth;
  for (; at(p, word); deeper(p)) {
    nki_node *out = node(p, kind);
    next(p);
    out->a = n;
    out->b = part(p);
    n = out;
  }
  p->depth = depth;
  return n;
}

static nki_node *conjunction(parser *p) { return chain(p, "and", NKI_AND, inversion); }
static nki_node *disjunction(parser *p) { return chain(p, "or", NKI_OR, conjunction); }

static void parameters(parser *p, const char *end, bool has_types, list *out);

static nki_node *lambda(parser *p) {
  nki_node *n = node(p, NKI_LAMBDA);
  list items = {0};
  next(p);
  parameters(p, ":", false, &items);
  expect(p, ":");
  set_items(n, items);
  n->a = expression(p);
  return n;
}

static nki_node *expression(parser *p) {
  deeper(p);
  nki_node *n;
  if (at(p, "lambda")) {
    n = lambda(p);
  } else {
    n = disjunction(p);
    if (at(p, "if")) {
      nki_node *choice = node(p, NKI_CHOICE);
      next(p);
      choice->b = n;
      choice->a = disjunction(p);
      expect(p, "else");
      choice->c = expression(p);
      n = choice;
    }
    if (n->kind == NKI_NAME && at(p, ":=")) {
      next(p);
      n->kind = NKI_NAMED;
      n->a = expression(p);
    }
  }
  p->depth--;
  return n;
}

/* One expression, or several with commas: a tuple. Targets of a loop end before `in`. */
static nki_node *expressions(parser *p, bool is_target) {
  list items = {0};
  nki_node *tuple = node(p, NKI_TUPLE);
  bool is_tuple = false;
  do {
    const bool ends = p->token.kind == NKI_TOKEN_LINE || at(p, "=") || at(p, ")") || at(p, "in") || at(p, ":");
    if (is_tuple && ends) break;
    add(p, &items, is_target && !at(p, "*") ? primary(p) : starred(p));
    is_tuple = is_tuple || at(p, ",");
  } while (take(p, ","));
  if (!is_tuple) return items.item[0];
  set_items(tuple, items);
  return tuple;
}

/* ---- statements ---- */

static void statement(parser *p, list *out);

static void block(parser *p, nki_node ***body, size_t *n) {
  list items = {0};
  expect(p, ":");
  deeper(p);
  if (p->token.kind != NKI_TOKEN_LINE) {
    statement(p, &items); /* statements on the same line */
  } else {
    next(p);
    if (p->token.kind != NKI_TOKEN_INDENT) fail(p, "expected an indented block");
    next(p);
    while (p->token.kind != NKI_TOKEN_DEDENT && p->token.kind != NKI_TOKEN_END) statement(p, &items);
    if (p->token.kind == NKI_TOKEN_DEDENT) next(p);
  }
  p->depth--;
  *body = items.item;
  *n = items.n;
}

static void parameters(parser *p, const char *end, bool has_types, list *out) {
  while (!at(p, end)) {
    nki_node *n = node(p, NKI_PARAMETER);
    if (take(p, "/")) {
      if (!take(p, ",")) break;
      continue;
    }
    if (take(p, "**"))
      n->op = 'p';
    else if (take(p, "*"))
      n->op = at(p, ",") || at(p, end) ? '/' : '*';
    if (n->op != '/') {
      if (!at_name(p)) fail(p, "expected the name of a parameter");
      set_name(p, n, p->token.at, p->token.length);
      next(p);
      if (has_types && take(p, ":")) expression(p); /* annotations are ignored */
      if (take(p, "=")) n->a = expression(p);
    }
    add(p, out, n);
    if (!take(p, ",")) break;
  }
}

static nki_node *definition(parser *p, list decorators) {
  nki_node *n = node(p, NKI_DEF);
  list items = {0};
  next(p);
  const nki_node *title = name(p);
  n->text = title->text;
  n->symbol = title->symbol;
  expect(p, "(");
  parameters(p, ")", true, &items);
  expect(p, ")");
  if (take(p, "->")) expression(p);
  set_items(n, items);
  n->other = decorators.item;
  n->n_other = decorators.n;
  block(p, &n->body, &n->n_body);
  return n;
}

static nki_node *conditional(parser *p) {
  nki_node *n = node(p, NKI_IF);
  next(p);
  n->a = expression(p);
  block(p, &n->body, &n->n_body);
  if (at(p, "elif")) {
    deeper(p);
    list other = {0};
    add(p, &other, conditional(p));
    n->other = other.item;
    n->n_other = other.n;
    p->depth--;
  } else if (take(p, "else")) {
    block(p, &n->other, &n->n_other);
  }
  return n;
}

static nki_node *loop(parser *p) {
  nki_node *n = node(p, at(p, "for") ? NKI_FOR : NKI_WHILE);
  next(p);
  if (n->kind == NKI_FOR) {
    n->a = expressions(p, true);
    expect(p, "in");
    n->b = expressions(p, false);
  } else {
    n->a = expression(p);
  }
  block(p, &n->body, &n->n_body);
  if (take(p, "else")) block(p, &n->other, &n->n_other); /* runs after the loop, unless `break` left it */
  return n;
}

/* a.b.c, as one text. */
static void dotted(parser *p, nki_node *n) {
  char text[200];
  size_t length = 0;
  bool is_first = true;
  for (;; next(p)) {
    const bool is_dot = at(p, ".") || at(p, "..."), is_name = at_name(p) && (is_first || text[length - 1] == '.');
    if (!is_dot && !is_name) break;
    if (p->token.length >= sizeof text - length) fail(p, "the name of a module is too long");
    memcpy(text + length, p->token.at, p->token.length);
    length += p->token.length;
    is_first = false;
  }
  if (!length || (text[length - 1] == '.' && !at(p, "import"))) fail(p, "expected the name of a module");
  n->text = tw_blocks_text(&p->module->arena, text, length);
  n->length = length;
  if (!n->text) out_of_memory(p);
}

static nki_node *import(parser *p) {
  nki_node *n = node(p, at(p, "from") ? NKI_FROM : NKI_IMPORT);
  list items = {0};
  next(p);
  if (n->kind == NKI_FROM) {
    dotted(p, n);
    expect(p, "import");
    if (take(p, "*")) return n;
  }
  const bool has_parenthesis = n->kind == NKI_FROM && take(p, "(");
  do {
    if (has_parenthesis && at(p, ")")) break;
    nki_node *alias = node(p, NKI_ALIAS);
    dotted(p, alias);
    if (take(p, "as")) alias->b = name(p);
    add(p, &items, alias);
  } while (take(p, ","));
  if (has_parenthesis) expect(p, ")");
  set_items(n, items);
  return n;
}

/* Its annotated names are the parameters of the function that makes objects. */
static nki_node *class(parser *p) {
  nki_node *n = node(p, NKI_CLASS);
  list items = {0};
  next(p);
  nki_node *title = name(p);
  set_name(p, n, title->text, title->length);
  if (at(p, "(")) n->c = call(p, title);
  block(p, &n->body, &n->n_body);
  for (size_t i = 0; i < n->n_body; i++) {
    const nki_node *x = n->body[i], *of = x->kind == NKI_ASSIGN ? x->item[0] : x->a;
    if (x->op != ':' || of->kind != NKI_NAME) continue;
    nki_node *field = node(p, NKI_PARAMETER);
    set_name(p, field, of->text, of->length);
    if (x->kind == NKI_ASSIGN) field->a = x->a;
    add(p, &items, field);
  }
  set_items(n, items);
  return n;
}

/* A statement that kernels cannot use: its line and its block are skipped. */
static nki_node *unsupported(parser *p) {
  nki_node *n = node(p, NKI_UNSUPPORTED);
  set_name(p, n, p->token.at, p->token.length);
  while (p->token.kind != NKI_TOKEN_LINE && p->token.kind != NKI_TOKEN_END) next(p);
  if (p->token.kind == NKI_TOKEN_LINE) next(p);
  if (p->token.kind == NKI_TOKEN_INDENT) {
    int depth = 0;
    do {
      depth += p->token.kind == NKI_TOKEN_INDENT ? 1 : p->token.kind == NKI_TOKEN_DEDENT ? -1 : 0;
      next(p);
    } while (depth && p->token.kind != NKI_TOKEN_END);
  }
  return n;
}

static nki_node *with(parser *p) {
  nki_node *n = node(p, NKI_WITH);
  list items = {0};
  next(p);
  do {
    add(p, &items, expression(p));
    if (take(p, "as")) primary(p);
  } while (take(p, ","));
  set_items(n, items);
  block(p, &n->body, &n->n_body);
  return n;
}

static void end_line(parser *p) {
  if (take(p, ";") && p->token.kind != NKI_TOKEN_LINE) return;
  if (p->token.kind == NKI_TOKEN_END || p->token.kind == NKI_TOKEN_DEDENT) return;
  if (p->token.kind != NKI_TOKEN_LINE) fail(p, "expected the end of the line");
  next(p);
}

/* `match` is a keyword only before a value. */
static bool begins_match(const parser *p) {
  const char *const s = p->lexer.at;
  return at(p, "match") && s + 1 < p->lexer.end && *s == ' ' && (isalnum((unsigned char)s[1]) || s[1] == '_');
}

/* Can the node stand left of '='? */
static bool is_target(const nki_node *n) {
  if (n->kind == NKI_NAME || n->kind == NKI_INDEX || n->kind == NKI_ATTRIBUTE) return true;
  if (n->kind == NKI_STAR) return is_target(n->a);
  if (n->kind != NKI_TUPLE && n->kind != NKI_LIST) return false;
  for (size_t i = 0; i < n->n_items; i++)
    if (!is_target(n->item[i])) return false;
  return true;
}

static nki_node *assignment(parser *p) {
  static const char *const augmented[] = {
      "+=", "-=", "*=", "/=", "//=", "%=", "**=", ">>=", "<<=", "&=", "|=", "^=", "@="};
  nki_node *n = node(p, NKI_EXPRESSION);
  n->a = expressions(p, false);
  for (size_t i = 0; i < sizeof augmented / sizeof *augmented; i++) {
    if (!at(p, augmented[i])) continue;
    if (!is_target(n->a) || n->a->kind == NKI_TUPLE) fail(p, "unsupported target of an assignment");
    n->kind = NKI_AUGMENT;
    n->op = augmented[i][2] ? NKI_OP(augmented[i][0], augmented[i][1]) : augmented[i][0];
    next(p);
    n->b = expressions(p, false);
    return n;
  }
  if (at(p, ":")) { /* x: type = value */
    next(p);
    expression(p);
    n->op = ':';
    if (!at(p, "=")) {
      n->kind = NKI_PASS;
      return n;
    }
  }
  list targets = {0};
  while (at(p, "=")) {
    if (!is_target(n->a)) fail(p, "unsupported target of an assignment");
    add(p, &targets, n->a);
    next(p);
    n->a = expressions(p, false);
  }
  if (!targets.n) return n;
  n->kind = NKI_ASSIGN;
  set_items(n, targets);
  return n;
}

static nki_node *simple_statement(parser *p) {
  nki_node *n;
  const bool is_return = at(p, "return");
  if (is_return || at(p, "raise")) {
    n = node(p, is_return ? NKI_RETURN : NKI_RAISE);
    next(p);
    if (p->token.kind != NKI_TOKEN_LINE && p->token.kind != NKI_TOKEN_END && !at(p, ";")) n->a = expressions(p, false);
    if (!is_return && take(p, "from")) expression(p);
    return n;
  }
  if (at(p, "assert")) {
    n = node(p, NKI_ASSERT);
    const char *condition = p->lexer.at;
    while (condition < p->lexer.end && *condition == ' ') condition++;
    next(p);
    n->a = expression(p);
    set_name(p, n, condition, (size_t)(p->before - condition));
    if (take(p, ",")) n->b = expression(p);
    return n;
  }
  if (at(p, "import") || at(p, "from")) return import(p);
  static const struct {
    const char *text;
    nki_kind kind;
  } words[] = {{"pass", NKI_PASS}, {"break", NKI_BREAK}, {"continue", NKI_CONTINUE}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!at(p, words[i].text)) continue;
    n = node(p, words[i].kind);
    next(p);
    return n;
  }
  if (at(p, "del") || at(p, "nonlocal") || at(p, "global")) { /* names stay defined: nothing to do */
    n = node(p, at(p, "del") ? NKI_PASS : NKI_UNSUPPORTED);
    n->text = at(p, "global") ? "global" : "nonlocal";
    next(p);
    expressions(p, false);
    return n;
  }
  return assignment(p);
}

static void statement(parser *p, list *out) {
  list decorators = {0};
  while (at(p, "@")) {
    next(p);
    add(p, &decorators, expression(p));
    if (p->token.kind != NKI_TOKEN_LINE) fail(p, "expected the end of the line");
    next(p);
  }
  if (at(p, "def"))
    add(p, out, definition(p, decorators));
  else if (at(p, "class"))
    add(p, out, class(p));
  else if (at(p, "try") || at(p, "except") || at(p, "finally") || at(p, "async") || at(p, "yield") || begins_match(p))
    add(p, out, unsupported(p));
  else if (decorators.n)
    fail(p, "expected 'def' after a decorator");
  else if (at(p, "if"))
    add(p, out, conditional(p));
  else if (at(p, "for") || at(p, "while"))
    add(p, out, loop(p));
  else if (at(p, "with"))
    add(p, out, with(p));
  else {
    add(p, out, simple_statement(p));
    end_line(p);
  }
}

static void file(parser *p) {
  list items = {0};
  next(p);
  while (p->token.kind != NKI_TOKEN_END) {
    if (p->token.kind == NKI_TOKEN_LINE) {
      next(p);
      continue;
    }
    if (p->token.kind == NKI_TOKEN_INDENT) fail(p, "unexpected indentation");
    statement(p, &items);
  }
  p->module->body = items.item;
  p->module->n_body = items.n;
}

/* ---- symbols ---- */

static size_t hash(const char *text, size_t length) {
  size_t h = 1469598103934665603u;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
  return h ^ h >> 32;
}

static bool rehash(nki_symbols *s) {
  const size_t slots = s->slots ? 2 * s->slots : 256;
  int *slot = tw_new(slots, sizeof *slot);
  const char **text = tw_resize(s->text, slots, sizeof *text);
  if (text) s->text = text;
  if (!slot || !text) {
    free(slot);
    return false;
  }
  for (size_t i = 0; i < s->n; i++) {
    size_t at_slot = hash(s->text[i], strlen(s->text[i])) & (slots - 1);
    while (slot[at_slot]) at_slot = (at_slot + 1) & (slots - 1);
    slot[at_slot] = (int)i + 1;
  }
  free(s->slot);
  s->slot = slot;
  s->slots = slots;
  return true;
}

int nki_symbol(nki_symbols *s, tw_blocks *arena, const char *text, size_t length) {
  if (2 * (s->n + 1) > s->slots && !rehash(s)) return -1;
  size_t at_slot = hash(text, length) & (s->slots - 1);
  for (; s->slot[at_slot]; at_slot = (at_slot + 1) & (s->slots - 1)) {
    const char *known = s->text[s->slot[at_slot] - 1];
    if (strlen(known) == length && memcmp(known, text, length) == 0) return s->slot[at_slot] - 1;
  }
  const char *copy = tw_blocks_text(arena, text, length);
  if (!copy) return -1;
  s->text[s->n] = copy;
  s->slot[at_slot] = (int)++s->n;
  return (int)s->n - 1;
}

/* ---- a module ---- */

tw_status nki_parse(const char *text, size_t length, nki_module *out, tw_error *error) {
  parser p = {.module = out, .error = error, .status = TW_OK};
  *out = (nki_module){0};
  if (length > NKI_SOURCE_MAX)
    return tw_fail(error, TW_FAILED, "the source has %zu bytes; expected at most %d", length, NKI_SOURCE_MAX);
  if (memchr(text, '\0', length)) return tw_fail(error, TW_FAILED, "the source holds a zero byte");
  p.lexer = nki_lexer_of(text, length);
  if (setjmp(p.fail) == 0)
    file(&p);
  else
    nki_module_free(out);
  return p.status;
}

void nki_module_free(nki_module *m) {
  tw_blocks_free(&m->arena);
  free(m->symbols.text);
  free(m->symbols.slot);
  *m = (nki_module){0};
}
