/* kernel_weights.c - see kernel_weights.h. */
#include "target/xdna2/array/kernel_weights.h"

#include <string.h>

enum { R = 4, S = 16, T = 16, B_BLOCK = S * T }; /* with int4 */
/* depth of codes for int8 */
enum { BLOCK = 8, AREA = BLOCK * BLOCK, VECTOR = XD_UNPACK_CODES / 4, BLOCKS = 4, DEPTH = 32 };

/* ---- int8 x int4 -> int32 ---- */

int64_t xd_matmul_i8_i4_bytes(const xd_call *c, int argument) {
  return argument == 0 ? (int64_t)c->m * c->k : argument == 1 ? (int64_t)c->k * c->n / 2 : (int64_t)4 * c->m * c->n;
}

static void widen(const uint8_t *b, int16_t out[B_BLOCK]) {
  for (int i = 0; i < B_BLOCK / 2; i++) {
    out[2 * i] = (int16_t)(((b[i] & 15) ^ 8) - 8);
    out[2 * i + 1] = (int16_t)((b[i] >> 4 ^ 8) - 8);
  }
}

static void multiply(const int8_t *restrict a, const int16_t *restrict b, uint32_t *restrict c) {
  for (int i = 0; i < R; i++)
    for (int k = 0; k < S; k++) {
      const int16_t x = a[i * S + k];
      for (int j = 0; j < T; j++) c[i * T + j] += (uint32_t)(x * b[k * T + j]);
    }
}

void xd_matmul_i8_i4(const xd_call *c, uint8_t *const arguments[]) {
  const int8_t *a = (const int8_t *)arguments[0];
  uint32_t *sum = (uint32_t *)(void *)arguments[2];
  const int m = c->m / R, k = c->k / S, n = c->n / T;
  for (int p = 0; p < k; p++)
    for (int j = 0; j < n; j++) {
      int16_t wide[B_BLOCK];
      widen(arguments[1] + (p * n + j) * (B_BLOCK / 2), wide);
      for (int i = 0; i < m; i++) multiply(a + (i * k + p) * R * S, wide, sum + (i * n + j) * R * T);
    }
}

/* ---- codes of 2 bits ---- */

int64_t xd_unpack_i8_bytes(const xd_call *c, int argument) { return (int64_t)c->k * c->n / (argument ? 1 : 4); }
int64_t xd_unpack_i4_bytes(const xd_call *c, int argument) { return (int64_t)c->k * c->n / (argument ? 2 : 4); }

/* Block j of the 64 bytes of a group. */
static void unpack_block(const uint8_t *codes, int j, uint8_t *to) {
  for (int p = 0; p < VECTOR; p++) to[p] = (uint8_t)((codes[p] >> 2 * j & 3) - 1);
}

static int vectors_of(const xd_call *c) { return (int)((int64_t)c->k * c->n / XD_UNPACK_CODES); }

/* `count` vectors of the tile's codes, from `first` on. */
static void unpack_i8(const xd_call *c, int first, int count, const uint8_t *codes, uint8_t *to) {
  const int columns = c->n / BLOCK;
  for (int v = first; v < first + count; v++)
    for (int j = 0; j < BLOCKS; j++)
      unpack_block(codes + (int64_t)v * VECTOR, j,
                   to + (int64_t)((v / columns * BLOCKS + j) * columns + v % columns) * AREA);
}

static void unpack_i4(const xd_call *c, int first, int count, const uint8_t *codes, uint8_t *to) {
  (void)c;
  for (int v = first; v < first + count; v++)
    for (int i = 0; i < 2 * VECTOR; i++)
      to[2 * VECTOR * v + i] = (uint8_t)((codes[VECTOR * v + i % VECTOR] >> 2 * (i / VECTOR) & 0x33) - 0x11);
}

void xd_unpack_i8(const xd_call *c, uint8_t *const arguments[]) {
  unpack_i8(c, 0, vectors_of(c), arguments[0], arguments[1]);
}

void xd_unpack_i4(const xd_call *c, uint8_t *const arguments[]) {
  unpack_i4(c, 0, vectors_of(c), arguments[0], arguments[1]);
}

/* ---- products, and codes of the next tile ---- */

int xd_vectors_beside(const xd_call *c) {
  return c->rows && strstr(c->function->name, "_unpack") ? (int)((int64_t)vectors_of(c) * c->m / c->rows) : 0;
}

enum { B = 1, CODES = 3, NEXT };

int64_t xd_matmul_unpack_bytes(const xd_call *c, int argument) {
  return argument == CODES || argument == NEXT ? xd_unpack_i8_bytes(c, argument == NEXT)
         : argument == B                       ? (int64_t)c->k * c->n
                                               : xd_matmul_codes_bytes(c, argument);
}
void xd_matmul_unpack(const xd_call *c, uint8_t *const arguments[]) {
  xd_function_find("matmul_i8")->run(c, arguments);
  unpack_i8(c, c->row / c->m * xd_vectors_beside(c), xd_vectors_beside(c), arguments[CODES], arguments[NEXT]);
}

int64_t xd_matmul_i4_unpack_bytes(const xd_call *c, int argument) {
  return argument == CODES || argument == NEXT ? xd_unpack_i4_bytes(c, argument == NEXT)
                                               : xd_matmul_i8_i4_bytes(c, argument);
}
void xd_matmul_i4_unpack(const xd_call *c, uint8_t *const arguments[]) {
  xd_matmul_i8_i4(c, arguments);
  unpack_i4(c, c->row / c->m * xd_vectors_beside(c), xd_vectors_beside(c), arguments[CODES], arguments[NEXT]);
}

int64_t xd_matmul_codes_bytes(const xd_call *c, int argument) {
  return argument == 0 ? (int64_t)c->m * c->k : argument == 1 ? (int64_t)c->k * c->n / 4 : (int64_t)4 * c->m * c->n;
}

void xd_matmul_codes(const xd_call *c, uint8_t *const arguments[]) {
  const xd_function *multiply_i8 = xd_function_find("matmul_i8");
  const int columns = c->n / BLOCK, depth = c->k / BLOCK;
  uint8_t b[AREA];
  for (int i = 0; i < c->m / BLOCK; i++)
    for (int p = 0; p < depth; p++)
      for (int j = 0; j < columns; j++) {
        const int64_t group = (int64_t)(p / BLOCKS) * columns + j;
        const xd_call block = {.m = BLOCK, .k = BLOCK, .n = BLOCK};
        unpack_block(arguments[1] + group * VECTOR, p % BLOCKS, b);
        multiply_i8->run(&block, (uint8_t *[]){arguments[0] + (int64_t)(i * depth + p) * AREA, b,
                                               arguments[2] + (int64_t)(i * columns + j) * AREA * 4});
      }
}
