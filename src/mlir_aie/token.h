/* token.h - MLIR text as tokens. Nothing is copied: tokens point into the text. */
#ifndef TW_MLIR_AIE_TOKEN_H
#define TW_MLIR_AIE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum xd_token_kind {
  XD_TOKEN_END,
  XD_TOKEN_WORD,   /* aie.objectfifo.link, memref, x32xi8 (after a number) */
  XD_TOKEN_VALUE,  /* %name: the text without '%' */
  XD_TOKEN_SYMBOL, /* @name: the text without '@' */
  XD_TOKEN_NUMBER, /* an integer */
  XD_TOKEN_REAL,
  XD_TOKEN_STRING, /* the text between the quotes */
  XD_TOKEN_ARROW,  /* -> */
  XD_TOKEN_MARK,   /* one character: at[0] */
  XD_TOKEN_BAD     /* `problem` says why */
} xd_token_kind;

typedef struct xd_token {
  xd_token_kind kind;
  const char *at;
  size_t length;
  int line;
  int64_t number;
  const char *problem; /* static text */
} xd_token;

typedef struct xd_lexer {
  const char *at;
  int line;
} xd_lexer;

/* The next token; XD_TOKEN_END for every call after the end. Comments (//) are skipped. */
xd_token xd_lex(xd_lexer *);

bool xd_token_is(const xd_token *, const char *word); /* the token's whole text */

#endif
