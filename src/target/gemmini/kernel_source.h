/* kernel_source.h - reads just enough of a candidate's C source to build a program around it. */
#ifndef TW_GEMMINI_KERNEL_SOURCE_H
#define TW_GEMMINI_KERNEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/extend/op.h"
#include "tilewright/status.h"

enum { GM_NAME_MAX = 64, GM_SOURCE_MAX = 8 << 20 };

/* The function that a candidate defines: `test` or `solution`, with one parameter for each operand. */
typedef struct gm_entry {
  const char *name;
  int line; /* of its definition */
  /* Every parameter is declared as an array, the function is the last thing in the source, is not called there and
   * has no return: its body may be compiled with the operands' own arrays in place of its parameters. */
  bool pasted;
  bool software_loop; /* the source defines GEMMINI_SOFTWARE_LOOP, which the library's header must know before it */
  size_t n_parameters;
  char parameter[TW_OPERANDS_MAX][GM_NAME_MAX];
} gm_entry;

/* Rejects (TW_FAILED, with kernel.c:LINE if known) an empty or oversized source, NUL bytes, and sources without
 * exactly one entry point. It checks nothing else: toolchain.h confines the compiler. */
tw_status gm_kernel_inspect(const char *source, size_t length, gm_entry *out, tw_error *);

#endif
