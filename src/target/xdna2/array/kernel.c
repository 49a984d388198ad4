/* kernel.c - the table of kernels, and the integer kernels. */
#include "target/xdna2/array/kernel.h"

#include <stdalign.h>
#include <string.h>

#include "target/xdna2/array/kernel_bfp.h"
#include "target/xdna2/array/kernel_blocked.h"
#include "target/xdna2/array/kernel_weights.h"

enum { BLOCK = 8 };

static int64_t bytes_a(const xd_call *c) { return (int64_t)c->m * c->k; }
static int64_t bytes_b(const xd_call *c) { return (int64_t)c->k * c->n; }
static int64_t elements_c(const xd_call *c) { return (int64_t)c->m * c->n; }

/* ---- int8 x int8 -> int32: C += A B, wrapping ---- */

static int64_t matmul_i8_bytes(const xd_call *c, int argument) {
  return argument == 0 ? bytes_a(c) : argument == 1 ? bytes_b(c) : 4 * elements_c(c);
}

/* c += a b for blocks of 8x8, b widened to 16 bits (products then fit a host's 16 x 16 -> 32). */
static void block_i8(const int8_t *restrict a, const int16_t *restrict b, uint32_t *restrict c) {
  for (int i = 0; i < BLOCK; i++)
    for (int k = 0; k < BLOCK; k++) {
      const int16_t x = a[i * BLOCK + k];
      for (int j = 0; j < BLOCK; j++) c[i * BLOCK + j] += (uint32_t)(x * b[k * BLOCK + j]);
    }
}

static void matmul_i8(const xd_call *c, uint8_t *const arguments[]) {
  const int8_t *a = (const int8_t *)arguments[0], *b = (const int8_t *)arguments[1];
  uint32_t *sum = (uint32_t *)(void *)arguments[2];
  const int m = c->m / BLOCK, k = c->k / BLOCK, n = c->n / BLOCK, area = BLOCK * BLOCK;
  for (int p = 0; p < k; p++)
    for (int j = 0; j < n; j++) {
      int16_t wide[BLOCK * BLOCK];
      for (int i = 0; i < area; i++) wide[i] = b[(p * n + j) * area + i];
      for (int i = 0; i < m; i++) block_i8(a + (i * k + p) * area, wide, sum + (i * n + j) * area);
    }
}

/* The same with blocks of B by columns, as a column-major B has them. */
static void matmul_i8_turned(const xd_call *c, uint8_t *const arguments[]) {
  const int columns = c->n / BLOCK, depth = c->k / BLOCK;
  const xd_call block = {.m = BLOCK, .k = BLOCK, .n = BLOCK};
  for (int p = 0; p < depth; p++)
    for (int j = 0; j < columns; j++) {
      const uint8_t *from = arguments[1] + (int64_t)(p * columns + j) * BLOCK * BLOCK;
      uint8_t turned[BLOCK * BLOCK];
      for (int e = 0; e < BLOCK * BLOCK; e++) turned[e] = from[e % BLOCK * BLOCK + e / BLOCK];
      for (int i = 0; i < c->m / BLOCK; i++)
        matmul_i8(&block, (uint8_t *[]){arguments[0] + (int64_t)(i * depth + p) * BLOCK * BLOCK, turned,
                                        arguments[2] + (int64_t)(i * columns + j) * BLOCK * BLOCK * 4});
    }
}

/* ---- int32 -> int16, int8: as VST.SRS does: shifted right, rounded, saturated ---- */

static int64_t narrow_i16_bytes(const xd_call *c, int argument) { return elements_c(c) * (argument ? 2 : 4); }
static int64_t narrow_i8_bytes(const xd_call *c, int argument) { return elements_c(c) * (argument ? 1 : 4); }

static int64_t narrow_bf16_bytes(const xd_call *c, int argument) { return elements_c(c) * (argument ? 2 : 4); }
static void narrow_bf16(const xd_call *c, uint8_t *const arguments[]) {
  const float *from = (const float *)(const void *)arguments[0];
  uint16_t *to = (uint16_t *)(void *)arguments[1];
  for (int64_t i = 0; i < elements_c(c); i++) to[i] = xd_to_bf16(from[i], c->rounding);
}

static void narrow_i16(const xd_call *c, uint8_t *const arguments[]) {
  const int32_t *from = (const int32_t *)(const void *)arguments[0];
  int16_t *to = (int16_t *)(void *)arguments[1];
  for (int64_t i = 0; i < elements_c(c); i++) to[i] = (int16_t)xd_narrowed(from[i], c->shift, c->rounding, INT16_MAX);
}

static void narrow_i8(const xd_call *c, uint8_t *const arguments[]) {
  const int32_t *from = (const int32_t *)(const void *)arguments[0];
  int8_t *to = (int8_t *)arguments[1];
  for (int64_t i = 0; i < elements_c(c); i++) to[i] = (int8_t)xd_narrowed(from[i], c->shift, c->rounding, INT8_MAX);
}

/* ---- int8 x int8, sums in C's own type: widened by the shift, added to, narrowed again ---- */

static int64_t matmul_i8_i8_bytes(const xd_call *c, int argument) {
  return argument == 0 ? bytes_a(c) : argument == 1 ? bytes_b(c) : elements_c(c);
}
static int64_t matmul_i8_i16_bytes(const xd_call *c, int argument) {
  return argument == 2 ? 2 * elements_c(c) : matmul_i8_i8_bytes(c, argument);
}

/* Element e of C, read and written. */
static int32_t get(const void *c, int size, int64_t e) {
  return size == 1 ? ((const int8_t *)c)[e] : ((const int16_t *)c)[e];
}
static void write_element(void *c, int size, int64_t e, int64_t sum, const xd_call *call) {
  const int64_t x = xd_narrowed(sum, call->shift, call->rounding, size == 1 ? INT8_MAX : INT16_MAX);
  if (size == 1)
    ((int8_t *)c)[e] = (int8_t)x;
  else
    ((int16_t *)c)[e] = (int16_t)x;
}

/* Only rows of blocks: sums of 32 bits, as in the accumulators. */
static void matmul_narrow(const xd_call *c, uint8_t *const arguments[], int size, bool turned) {
  const int row = BLOCK * c->n;
  for (int i = 0; i < c->m / BLOCK; i++) {
    void *at = arguments[2] + (int64_t)i * row * size;
    for (int first = 0; first < c->n; first += BLOCK) { /* a column of blocks: 64 sums */
      uint32_t sum[BLOCK * BLOCK];
      const int64_t block = (int64_t)first * BLOCK;
      for (int e = 0; e < BLOCK * BLOCK; e++) sum[e] = (uint32_t)get(at, size, block + e) << c->shift;
      for (int p = 0; p < c->k / BLOCK; p++) {
        const int8_t *a = (const int8_t *)arguments[0] + ((int64_t)i * (c->k / BLOCK) + p) * BLOCK * BLOCK,
                     *b = (const int8_t *)arguments[1] + ((int64_t)p * (c->n / BLOCK) + first / BLOCK) * BLOCK * BLOCK;
        int16_t wide[BLOCK * BLOCK];
        for (int e = 0; e < BLOCK * BLOCK; e++) wide[e] = turned ? b[e % BLOCK * BLOCK + e / BLOCK] : b[e];
        block_i8(a, wide, sum);
      }
      for (int e = 0; e < BLOCK * BLOCK; e++) write_element(at, size, block + e, (int32_t)sum[e], c);
    }
  }
}

static void matmul_i8_i8(const xd_call *c, uint8_t *const arguments[]) { matmul_narrow(c, arguments, 1, false); }
static void matmul_i8_i16(const xd_call *c, uint8_t *const arguments[]) { matmul_narrow(c, arguments, 2, false); }
static void matmul_i8_i8_turned(const xd_call *c, uint8_t *const arguments[]) { matmul_narrow(c, arguments, 1, true); }
static void matmul_i8_i16_turned(const xd_call *c, uint8_t *const arguments[]) { matmul_narrow(c, arguments, 2, true); }

/* ---- column-major B of 16 and 32 bits: the kernels above and of other files, with blocks of B by columns ---- */

typedef void compute(const xd_call *, uint8_t *const arguments[]);

static void with_turned_b(compute *product, int size, const xd_call *c, uint8_t *const arguments[]) {
  enum { MOST = 65536 }; /* bytes that L1 has */
  const int deep = c->block[1], wide = c->block[2], area = deep * wide;
  alignas(4) uint8_t to[MOST];
  for (int first = 0; first < c->k * c->n; first += area)
    for (int e = 0; e < area; e++)
      memcpy(to + (int64_t)(first + e) * size, arguments[1] + (int64_t)(first + e % wide * deep + e / wide) * size,
             (size_t)size);
  product(c, (uint8_t *[]){arguments[0], to, arguments[2]});
}

static void matmul_i16_turned(const xd_call *c, uint8_t *const arguments[]) {
  with_turned_b(xd_blocked_i16_i32, 2, c, arguments);
}
static void matmul_i16_i16_turned(const xd_call *c, uint8_t *const arguments[]) {
  with_turned_b(xd_blocked_i16_i16, 2, c, arguments);
}
static void matmul_lanes_turned(const xd_call *c, uint8_t *const arguments[]) {
  with_turned_b(xd_blocked_bf16_bf16, 2, c, arguments);
}
static void matmul_lanes_f32_turned(const xd_call *c, uint8_t *const arguments[]) {
  with_turned_b(xd_blocked_bf16_f32, 2, c, arguments);
}
static void matmul_emulated_turned(const xd_call *c, uint8_t *const arguments[]) {
  with_turned_b(xd_matmul_bf16_emulated, 2, c, arguments);
}

static void matmul_f32_turned(const xd_call *c, uint8_t *const arguments[]) {
  with_turned_b(xd_blocked_f32_f32, 4, c, arguments);
}

/* ---- others ---- */

/* Zeros n bytes: m and k are 1. */
static int64_t zero_bytes(const xd_call *c, int argument) {
  (void)argument;
  return c->n;
}
static void zero(const xd_call *c, uint8_t *const arguments[]) { memset(arguments[0], 0, (size_t)c->n); }

/* The cost of a step of K in addition to its kernels, if the cost function includes it. */
static void step(const xd_call *c, uint8_t *const arguments[]) { (void)c, (void)arguments; }

/* Functions of which only the time is known: they accept any buffers and do not access them. */
static int64_t unknown_bytes(const xd_call *c, int argument) {
  (void)c, (void)argument;
  return 0;
}

/* The arguments of a function: their number, and the access to each. */
#define ACCUMULATES                                                                                                    \
  3, { XD_READS, XD_READS, XD_READS | XD_WRITES } /* C += A B */
#define CONVERTS                                                                                                       \
  2, { XD_READS, XD_WRITES }

static const xd_function table[] = {
    {"zero", 1, {XD_WRITES}, zero_bytes, zero},
    {"step", 0, {0}, zero_bytes, step},
    {"unknown", -1, {0}, unknown_bytes, step},
    {"matmul_i8", ACCUMULATES, matmul_i8_bytes, matmul_i8},
    {"matmul_i8_turned", ACCUMULATES, matmul_i8_bytes, matmul_i8_turned},
    {"matmul_i8_i8", ACCUMULATES, matmul_i8_i8_bytes, matmul_i8_i8},
    {"matmul_i8_i8_turned", ACCUMULATES, matmul_i8_i8_bytes, matmul_i8_i8_turned},
    {"matmul_i8_i16", ACCUMULATES, matmul_i8_i16_bytes, matmul_i8_i16},
    {"matmul_i8_i16_turned", ACCUMULATES, matmul_i8_i16_bytes, matmul_i8_i16_turned},
    {"matmul_i8_i4", ACCUMULATES, xd_matmul_i8_i4_bytes, xd_matmul_i8_i4},
    {"matmul_i8_codes", ACCUMULATES, xd_matmul_codes_bytes, xd_matmul_codes},
    {"matmul_i8_unpack",
     5,
     {XD_READS, XD_READS, XD_READS | XD_WRITES, XD_READS, XD_WRITES},
     xd_matmul_unpack_bytes,
     xd_matmul_unpack},
    {"matmul_i8_i4_unpack",
     5,
     {XD_READS, XD_READS, XD_READS | XD_WRITES, XD_READS, XD_WRITES},
     xd_matmul_i4_unpack_bytes,
     xd_matmul_i4_unpack},
    {"unpack_i8", CONVERTS, xd_unpack_i8_bytes, xd_unpack_i8},
    {"unpack_i4", CONVERTS, xd_unpack_i4_bytes, xd_unpack_i4},
    {"unpack_i4_bfp16", CONVERTS, xd_unpack_i4_bfp16_bytes, xd_unpack_i4_bfp16},
    {"narrow_i16", CONVERTS, narrow_i16_bytes, narrow_i16},
    {"narrow_i8", CONVERTS, narrow_i8_bytes, narrow_i8},
    {"narrow_bf16", CONVERTS, narrow_bf16_bytes, narrow_bf16},
    {"matmul_i16", ACCUMULATES, xd_blocked_i16_i32_bytes, xd_blocked_i16_i32},
    {"matmul_i16_turned", ACCUMULATES, xd_blocked_i16_i32_bytes, matmul_i16_turned},
    {"matmul_i16_i16", ACCUMULATES, xd_blocked_i16_i16_bytes, xd_blocked_i16_i16},
    {"matmul_i16_i16_turned", ACCUMULATES, xd_blocked_i16_i16_bytes, matmul_i16_i16_turned},
    {"matmul_f32", ACCUMULATES, xd_blocked_f32_f32_bytes, xd_blocked_f32_f32},
    {"matmul_f32_turned", ACCUMULATES, xd_blocked_f32_f32_bytes, matmul_f32_turned},
    {"matmul_bf16_lanes_turned", ACCUMULATES, xd_blocked_bf16_bf16_bytes, matmul_lanes_turned},
    {"matmul_bf16_lanes_f32_turned", ACCUMULATES, xd_blocked_bf16_f32_bytes, matmul_lanes_f32_turned},
    {"matmul_bf16_emulated_turned", ACCUMULATES, xd_blocked_bf16_bf16_bytes, matmul_emulated_turned},
    {"matmul_bf16_lanes", ACCUMULATES, xd_blocked_bf16_bf16_bytes, xd_blocked_bf16_bf16},
    {"matmul_bf16_lanes_f32", ACCUMULATES, xd_blocked_bf16_f32_bytes, xd_blocked_bf16_f32},
    {"matmul_bf16_emulated", ACCUMULATES, xd_blocked_bf16_bf16_bytes, xd_matmul_bf16_emulated},
    {"matmul_bf16_bfp16",
     4,
     {XD_READS, XD_READS, XD_READS | XD_WRITES, XD_WRITES},
     xd_matmul_bf16_bytes,
     xd_matmul_bf16},
    {"matmul_bf16_registers", ACCUMULATES, xd_matmul_bf16_bytes, xd_matmul_bf16_registers},
    {"matmul_bfp16", ACCUMULATES, xd_matmul_bfp16_bytes, xd_matmul_bfp16},
    {"matmul_bfp16_staged",
     4,
     {XD_READS, XD_READS, XD_READS | XD_WRITES, XD_READS | XD_WRITES},
     xd_matmul_staged_bytes,
     xd_matmul_staged},
    {"round_bfp16", 2, {XD_READS, XD_READS | XD_WRITES}, xd_round_bfp16_bytes, xd_round_bfp16},
    {"blocked_i8_i32", ACCUMULATES, xd_blocked_i8_i32_bytes, xd_blocked_i8_i32},
    {"blocked_i16_i32", ACCUMULATES, xd_blocked_i16_i32_bytes, xd_blocked_i16_i32},
    {"blocked_bf16_bf16", ACCUMULATES, xd_blocked_bf16_bf16_bytes, xd_blocked_bf16_bf16},
    {"blocked_bf16_f32", ACCUMULATES, xd_blocked_bf16_f32_bytes, xd_blocked_bf16_f32},
};

const xd_function *xd_function_find(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].name, name)) return &table[i];
  return NULL;
}
