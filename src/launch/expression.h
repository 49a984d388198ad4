/* expression.h - whole numbers from untrusted text: `ceildiv(n, 128) * min(m, 4)`.
 *
 *   numbers      decimal and 0x hexadecimal, of 64 bits with a sign
 *   names        what the scope holds: keys of an op, sizes of operands, traits of a machine
 *   operators    as in C, with C's precedence: ?: || && == != < <= > >= + - * / % and unary - + !
 *   functions    min(a, b, ...), max(a, b, ...), ceildiv(a, b), and align(a, b): a rounded up to a multiple of b
 *
 * Evaluated while it is read. Overflow, division by zero, an unknown name and nesting deeper than TW_EXPRESSION_DEPTH
 * are errors of one line; operands of ?: && || that C would not evaluate are only read. */
#ifndef TW_LAUNCH_EXPRESSION_H
#define TW_LAUNCH_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

enum { TW_EXPRESSION_DEPTH = 64, TW_SCOPE_NAME = 32, TW_SCOPE_MAX = 400 };

/* Names and their values. Start with {0}. */
typedef struct tw_scope {
  size_t n;
  struct {
    char name[TW_SCOPE_NAME];
    int64_t value;
  } entry[TW_SCOPE_MAX];
} tw_scope;

/* False if the name is too long or the scope is full; an existing name takes the new value. */
bool tw_scope_set(tw_scope *, const char *name, int64_t value);
bool tw_scope_find(const tw_scope *, const char *name, size_t length, int64_t *out);

/* Reads one expression from `text` and moves *end past it and the blanks after it; the text may continue there (",
 * ..."). With `end` NULL all of the text must be the expression. TW_USAGE with the error and its place. */
tw_status tw_expression(const char *text, const char **end, const tw_scope *, int64_t *out, tw_error *);

#endif
