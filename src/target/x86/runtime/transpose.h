/* transpose.h - packs a strip of A: rows of units become columns. Plain C; compiled once for each kernel.
 *
 * 4 x 4 units at a time as two rounds of interleaving, so that loads and stores are of 16 bytes. */
#ifndef TW_X86_TRANSPOSE_H
#define TW_X86_TRANSPOSE_H

#include <stdint.h>
#include <string.h>

#include "target/x86/runtime/quad.h"
/* to[p * rows + i] = from[i][p], in units; `stride` in bytes. The last four rows and units of a strip may be done twice
 * rather than one by one. Four rows at a time: more might lie in one set of the cache. */
SHARED void transpose(void *to_start, const void *from_start, int64_t stride, int64_t rows, int64_t units) {
  enum { UNIT = 4, STEP = 4 };
  char *to = to_start;
  const char *from = from_start;
  if (rows == 1) {
    memcpy(to, from, (size_t)units * UNIT);
    return;
  }
  if (rows < STEP || units < STEP) {
    for (int64_t i = 0; i < rows; i++)
      for (int64_t p = 0; p < units; p++) memcpy(to + (p * rows + i) * UNIT, from + i * stride + p * UNIT, UNIT);
    return;
  }
  for (int64_t row = 0; row < rows; row += STEP) {
    const int64_t i = row + STEP <= rows ? row : rows - STEP;
    for (int64_t column = 0; column < units; column += STEP) {
      const int64_t p = column + STEP <= units ? column : units - STEP;
      transpose_4x4(to + (p * rows + i) * UNIT, rows * UNIT, from + i * stride + p * UNIT, stride);
    }
  }
}

#endif
