/* transpose.h - packs a strip of A: rows of units become columns. Plain C; compiled once for each kernel.
 *
 * 4 x 4 units at a time as two rounds of interleaving, so that loads and stores are of 16 bytes. */
#ifndef TW_X86_TRANSPOSE_H
#define TW_X86_TRANSPOSE_H

#include <stdint.h>
#include <string.h>

typedef int32_t quad __attribute__((vector_size(16)));

static inline quad load_quad(const char *p) {
  quad q;
  memcpy(&q, p, sizeof q);
  return q;
}

static inline void transpose_4x4(char *to, int64_t to_stride, const char *from, int64_t stride) {
  quad r0 = load_quad(from), r1 = load_quad(from + stride), r2 = load_quad(from + 2 * stride),
       r3 = load_quad(from + 3 * stride);
  quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5), high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  quad c0 = __builtin_shufflevector(low01, low23, 0, 1, 4, 5), c1 = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  quad c2 = __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
       c3 = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
  memcpy(to, &c0, sizeof c0);
  memcpy(to + to_stride, &c1, sizeof c1);
  memcpy(to + 2 * to_stride, &c2, sizeof c2);
  memcpy(to + 3 * to_stride, &c3, sizeof c3);
}

/* to[p * rows + i] = from[i][p], in units; `stride` in bytes. The last four rows and units of a strip may be done twice
 * rather than one by one. Four rows at a time: more might lie in one set of the cache. */
static void transpose(void *to_start, const void *from_start, int64_t stride, int64_t rows, int64_t units) {
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
