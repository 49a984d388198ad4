/* token.h - Python text as tokens, with its indentation. Nothing is copied: tokens point into the text. */
#ifndef TW_TRAINIUM_NKI_TOKEN_H
#define TW_TRAINIUM_NKI_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum nki_token_kind {
  NKI_TOKEN_END,
  NKI_TOKEN_LINE,   /* the end of a logical line */
  NKI_TOKEN_INDENT, /* the next line is indented more */
  NKI_TOKEN_DEDENT, /* one level less */
  NKI_TOKEN_WORD,   /* a name or a keyword */
  NKI_TOKEN_INT,
  NKI_TOKEN_REAL,
  NKI_TOKEN_STRING, /* `at` and `length`: between the quotes, escapes as written */
  NKI_TOKEN_MARK,   /* an operator or a delimiter of one to three characters */
  NKI_TOKEN_BAD     /* `problem` says why */
} nki_token_kind;

typedef struct nki_token {
  nki_token_kind kind;
  const char *at;
  size_t length;
  int line;
  int64_t integer;
  double real;
  bool is_format, is_raw; /* for strings: f"", r"" */
  const char *problem;    /* static text */
} nki_token;

enum { NKI_INDENTS_MAX = 100 };

typedef struct nki_lexer {
  const char *at, *end;
  int line;
  int brackets; /* open ( [ {: line ends do not count inside */
  bool at_line_start, emitted_line;
  int indent[NKI_INDENTS_MAX], n_indents; /* widths of the open blocks; the first is 0 */
  int dedents;                            /* still to be returned */
} nki_lexer;

nki_lexer nki_lexer_of(const char *text, size_t length);
nki_token nki_lex(nki_lexer *);                         /* NKI_TOKEN_END again and again at the end */
bool nki_token_is(const nki_token *, const char *text); /* a word or mark with this text */

#endif
