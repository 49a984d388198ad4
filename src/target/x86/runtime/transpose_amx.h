/* transpose_amx.h - packs a strip of A for the tile of AMX: 16 units at a time, for each a row's 64 bytes after the
 * other's; then what is left of k, likewise. */
#ifndef TW_X86_TRANSPOSE_AMX_H
#define TW_X86_TRANSPOSE_AMX_H

#include <string.h>

#include "target/x86/kernel.h"

SHARED void transpose(void *to_start, const void *from_start, int64_t stride, int64_t rows, int64_t units) {
  enum { UNITS = X86_LINE / X86_UNIT };
  char *to = to_start;
  const char *from = from_start;
  for (; units >= UNITS; units -= UNITS, from += X86_LINE)
    for (int64_t i = 0; i < rows; i++, to += X86_LINE) memcpy(to, from + i * stride, X86_LINE);
  const size_t bytes = (size_t)units * X86_UNIT; /* what is left: often nothing */
  for (int64_t i = 0; bytes && i < rows; i++, to += bytes) memcpy(to, from + i * stride, bytes);
}

#endif
