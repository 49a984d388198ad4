/* quad.h - 4 x 4 units become their transpose, in vectors of 16 bytes that every instruction set has. */
#ifndef TW_X86_QUAD_H
#define TW_X86_QUAD_H

#include <stdint.h>
#include <string.h>

typedef int32_t quad __attribute__((vector_size(16)));

static inline quad load_quad(const char *p) {
  quad q;
  memcpy(&q, p, sizeof q);
  return q;
}

typedef int64_t pair __attribute__((vector_size(16)));

/* Two rows of two units. An array of them would be written in halves and read at once, for which a core waits. */
static inline quad load_pairs(const char *p, int64_t stride) {
  int64_t first, second;
  memcpy(&first, p, sizeof first);
  memcpy(&second, p + stride, sizeof second);
  return (quad)(pair){first, second};
}

static inline void transpose_4x2(char *to, int64_t to_stride, const char *from, int64_t stride) {
  const quad low = load_pairs(from, stride), high = load_pairs(from + 2 * stride, stride);
  const quad c0 = __builtin_shufflevector(low, high, 0, 2, 4, 6), c1 = __builtin_shufflevector(low, high, 1, 3, 5, 7);
  memcpy(to, &c0, sizeof c0);
  memcpy(to + to_stride, &c1, sizeof c1);
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

#endif
