/* trainium_operands.h - arguments of a kernel that has no op, as text: f32[128,512] is an operand, >f32[512,128] an output, and
 * eps=1e-5 a scalar by its name. */
#ifndef TW_BENCH_TRAINIUM_OPERANDS_H
#define TW_BENCH_TRAINIUM_OPERANDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/trainium/nki/kernel.h"

enum { OPERANDS_MAX = 16 };

static inline bool read_operand(const char *text, tw_operand *out) {
  char type[16];
  int64_t size[TW_RANK_MAX];
  int n = 0;
  const bool is_output = text[0] == '>';
  text += is_output;
  const char *at = strchr(text, '[');
  tw_type t;
  if (!at || (size_t)(at - text) >= sizeof type) return false;
  snprintf(type, sizeof type, "%.*s", (int)(at - text), text);
  if (!tw_type_parse(type, &t)) return false;
  while (*at && *at != ']' && n < TW_RANK_MAX) {
    char *end = NULL;
    size[n++] = strtoll(at + 1, &end, 10);
    at = end;
  }
  if (n == 0 || *at != ']') return false;
  *out = tw_operand_dense(is_output ? "out" : "in", t, n, size);
  out->is_output = is_output;
  return true;
}

#endif
