/* syntax.h - a Python module as a tree. */
#ifndef TW_TRAINIUM_NKI_SYNTAX_H
#define TW_TRAINIUM_NKI_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/blocks.h"
#include "tilewright/status.h"

typedef enum nki_kind {
  /* expressions */
  NKI_NAME,    /* text */
  NKI_INTEGER, /* integer */
  NKI_NUMBER,  /* real */
  NKI_STRING,  /* text */
  NKI_FORMAT,  /* item: strings and expressions, joined */
  NKI_NONE,
  NKI_TRUE,
  NKI_FALSE,
  NKI_ELLIPSIS,
  NKI_TUPLE,         /* item */
  NKI_LIST,          /* item */
  NKI_DICT,          /* item: key, value, key, value, ... */
  NKI_COMPREHENSION, /* [a for b in item...]: a element, loops in item as NKI_FOR_CLAUSE */
  NKI_FOR_CLAUSE,    /* a target, b iterable, item: conditions */
  NKI_ATTRIBUTE,     /* a.text */
  NKI_INDEX,         /* a[b] */
  NKI_SLICE,         /* a:b:c, each may be NULL */
  NKI_CALL,          /* a(item); arguments may be NKI_KEYWORD or NKI_STAR */
  NKI_KEYWORD,       /* text=a; text NULL: **a */
  NKI_STAR,          /* *a */
  NKI_UNARY,         /* op a */
  NKI_BINARY,        /* a op b */
  NKI_COMPARE,       /* item[0] op item[1] op ...: the operators in ops */
  NKI_AND,           /* a and b */
  NKI_OR,
  NKI_NOT,               /* not a */
  NKI_CHOICE,            /* b if a else c */
  NKI_NAMED,             /* text := a */
  NKI_LAMBDA,            /* parameters in item, a the value */
  NKI_UNSUPPORTED_VALUE, /* text: its kind; evaluating it fails */
  /* statements */
  NKI_EXPRESSION, /* a */
  NKI_ASSIGN,     /* item: targets; a value; op ':': with an annotation */
  NKI_AUGMENT,    /* a op= b */
  NKI_IF,         /* a condition; body; other */
  NKI_FOR,        /* a target, b iterable, body */
  NKI_WHILE,      /* a condition; body; other: runs unless the loop was left by break */
  NKI_DEF,        /* text; item: NKI_PARAMETER; body; decorators in other */
  NKI_CLASS, /* text; item: NKI_PARAMETER, the annotated names; c: a call with the bases as arguments, or NULL; body */
  NKI_PARAMETER, /* text; a default; op '*': *text, 'p': **text, '/': a bare star */
  NKI_RETURN,    /* a may be NULL */
  NKI_ASSERT,    /* a, message b; text: of a */
  NKI_PASS,      /* op ':': an annotation of a */
  NKI_BREAK,
  NKI_CONTINUE,
  NKI_IMPORT,     /* item: NKI_ALIAS */
  NKI_FROM,       /* text module; item: NKI_ALIAS; none: everything */
  NKI_ALIAS,      /* text; b: the NKI_NAME of `as`, or NULL */
  NKI_WITH,       /* item: expressions (their names dropped); body */
  NKI_RAISE,      /* a may be NULL */
  NKI_UNSUPPORTED /* text: "try"; running it fails with this word */
} nki_kind;

/* Operators of one to three characters, as a number: "//=" is '/' << 8 | '/'. */
#define NKI_OP(a, b) ((a) << 8 | (b))
enum {
  NKI_OP_IN = NKI_OP('i', 'n'),
  NKI_OP_NOT_IN = NKI_OP('n', 'i'),
  NKI_OP_IS = NKI_OP('i', 's'),
  NKI_OP_IS_NOT = NKI_OP('n', 's'),
};

typedef struct nki_node nki_node;
struct nki_node {
  nki_kind kind;
  int line;
  int op;
  int64_t integer;
  double real;
  const char *text;
  size_t length; /* of text */
  nki_node *a, *b, *c;
  nki_node **item;
  size_t n_items;
  int *ops; /* of NKI_COMPARE */
  nki_node **body;
  size_t n_body;
  nki_node **other;
  size_t n_other;
  int symbol; /* for names and attributes: the number of the text; equal texts have equal numbers */
};

/* Texts of names by number. */
typedef struct nki_symbols {
  const char **text;
  size_t n, capacity;
  int *slot; /* hash table of numbers + 1; its size is a power of two */
  size_t slots;
} nki_symbols;

int nki_symbol(nki_symbols *, tw_blocks *, const char *text, size_t length); /* -1 without memory */

typedef struct nki_module {
  tw_blocks arena;
  nki_symbols symbols;
  nki_node **body;
  size_t n_body;
} nki_module;

enum { NKI_SOURCE_MAX = 16 << 20, NKI_DEPTH_MAX = 120 };

/* TW_FAILED with "line N: ..." where the text is no Python, or is Python that is not supported. */
tw_status nki_parse(const char *text, size_t length, nki_module *out, tw_error *);
void nki_module_free(nki_module *);

#endif
