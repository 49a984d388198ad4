/* kernel_bfp.c - bf16 and bfp16, bit-exact.
 *
 * A VMAC multiplies 8x8 by 8x8 blocks of bfp16: eight products of mantissas are added exactly, scaled by both exponents
 * and added to the fp32 accumulator, rounded to nearest even. The exact sum of eight is an assumption (no source
 * documents its rounding); everything else is the format's definition (format.h). Conversions of C and A round by the
 * core's mode: to nearest even, or down. */
#include "target/xdna2/array/kernel_bfp.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

enum { BLOCK = 8, ROW = 9, AREA = BLOCK * BLOCK, PACKED = BLOCK * ROW };

/* ---- conversions ---- */

uint16_t xd_to_bf16(float x, tw_rounding rounding) {
  if (rounding == TW_ROUND_EVEN || isnan(x)) return tw_f32_to_bf16(x);
  const uint32_t bits = tw_bits_of(x);
  const uint16_t towards_zero = (uint16_t)(bits >> 16);
  return (uint16_t)(towards_zero + (x < 0 && (bits & 0xFFFF) && !isinf(x))); /* down: away from zero if negative */
}

/* n x 8 numbers, row after row, to n rows of bfp16. */
static void to_bfp16(const float *x, int rows, tw_rounding rounding, uint8_t *out) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16), .rounding = rounding};
  tw_format_encode(&packing, (size_t)rows, BLOCK, x, BLOCK, out, NULL, NULL);
}

static void from_bfp16(const uint8_t *x, int rows, float *out) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16)};
  tw_format_decode(&packing, (size_t)rows, BLOCK, x, NULL, out, BLOCK, NULL);
}

/* ---- the product ---- */

/* acc += A B of one block: a has rows along k, b has columns along k. */
static void vmac(const uint8_t *restrict a, const uint8_t *restrict b, float *restrict acc) {
  int16_t bt[BLOCK][BLOCK]; /* [k][column] */
  int e[BLOCK];
  for (int j = 0; j < BLOCK; j++) {
    e[j] = b[j * ROW];
    for (int k = 0; k < BLOCK; k++) bt[k][j] = (int8_t)b[j * ROW + 1 + k];
  }
  for (int i = 0; i < BLOCK; i++) {
    const uint8_t *row = a + i * ROW;
    int32_t sum[BLOCK] = {0};
    for (int k = 0; k < BLOCK; k++) {
      const int16_t x = (int8_t)row[1 + k];
      for (int j = 0; j < BLOCK; j++) sum[j] += x * bt[k][j];
    }
    for (int j = 0; j < BLOCK; j++) {
      const int exponent = row[0] + e[j] - 2 * 133;
      float scaled;
      if (row[0] == 255 || e[j] == 255)
        scaled = NAN;
      else if (exponent >= -126 && exponent <= 104) /* sums have 18 bits: the product is exact */
        scaled = (float)sum[j] * tw_float_of((uint32_t)(exponent + 127) << 23);
      else
        scaled = (float)ldexp(sum[j], exponent);
      acc[i * BLOCK + j] += scaled;
    }
  }
}

/* acc += block row i of A times block column j of B. */
static void chain(const xd_call *c, const uint8_t *a, const uint8_t *b, int64_t i, int64_t j, float *acc) {
  const int64_t depth = c->k / BLOCK;
  for (int64_t p = 0; p < depth; p++)
    vmac(a + xd_bfp16_a_at(c->cover, i, p, depth) * PACKED, b + xd_bfp16_b_at(c->cover, p, j, depth) * PACKED, acc);
}

/* ---- kernels ---- */

static int64_t eighths(const xd_call *c, int argument, int a, int result) {
  const int64_t m = c->m, k = c->k, n = c->n;
  return (argument == 0 ? a * m * k : argument == 1 ? 9 * k * n : result * m * n) / 8;
}
int64_t xd_matmul_bf16_bytes(const xd_call *c, int argument) {
  return argument == 3 ? (int64_t)c->m * c->k * 9 / 8 : eighths(c, argument, 16, 16);
}
int64_t xd_matmul_bfp16_bytes(const xd_call *c, int argument) { return eighths(c, argument, 9, 9); }
int64_t xd_matmul_staged_bytes(const xd_call *c, int argument) {
  const int64_t all = (int64_t)c->rows * c->n;
  return argument == 3 ? all : argument == 2 ? all * 9 / 8 : eighths(c, argument, 9, 0);
}
int64_t xd_round_bfp16_bytes(const xd_call *c, int argument) {
  return argument ? (int64_t)c->m * c->n * 9 / 8 : (int64_t)c->m * c->n;
}

static void read_bf16(const uint8_t *from, float *to) {
  uint16_t codes[AREA];
  memcpy(codes, from, sizeof codes);
  for (int i = 0; i < AREA; i++) to[i] = tw_bf16_to_f32(codes[i]);
}

static void write_bf16(const float *from, tw_rounding rounding, uint8_t *to) {
  uint16_t codes[AREA];
  for (int i = 0; i < AREA; i++) codes[i] = xd_to_bf16(from[i], rounding);
  memcpy(to, codes, sizeof codes);
}

/* Blocks of C in bf16, row by row; A is bfp16. */
static void matmul_to_bf16(const xd_call *c, const uint8_t *a, const uint8_t *b, uint8_t *results) {
  const int64_t m8 = c->m / BLOCK, n8 = c->n / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t j = 0; j < n8; j++) {
      uint8_t *result = results + (i * n8 + j) * AREA * 2;
      float acc[AREA];
      read_bf16(result, acc);
      chain(c, a, b, i, j, acc);
      write_bf16(acc, c->rounding, result);
    }
}

/* A as rows of blocks in bf16 to groups of rows of blocks in bfp16. */
static void convert_a(const xd_call *c, const uint8_t *from, uint8_t *to) {
  const int64_t m8 = c->m / BLOCK, k8 = c->k / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t p = 0; p < k8; p++) {
      float block[AREA];
      read_bf16(from + (i * k8 + p) * AREA * 2, block);
      to_bfp16(block, BLOCK, c->rounding, to + xd_bfp16_a_at(c->cover, i, p, k8) * PACKED);
    }
}

void xd_matmul_bf16(const xd_call *c, uint8_t *const arguments[]) {
  convert_a(c, arguments[0], arguments[3]);
  matmul_to_bf16(c, arguments[3], arguments[1], arguments[2]);
}

void xd_matmul_bf16_registers(const xd_call *c, uint8_t *const arguments[]) {
  uint8_t a[65536 / 2 / BLOCK * ROW]; /* the most elements of bf16 that L1 can hold */
  convert_a(c, arguments[0], a);
  matmul_to_bf16(c, a, arguments[1], arguments[2]);
}

/* Block `block` of row-major blocks of bf16, rounded along its rows or along its columns. */
static void rounded_block(const uint8_t *blocks, int64_t block, bool turned, tw_rounding rounding, uint8_t *to) {
  float x[AREA], y[AREA];
  read_bf16(blocks + block * AREA * 2, x);
  for (int e = 0; e < AREA; e++) y[e] = x[turned ? e % BLOCK * BLOCK + e / BLOCK : e];
  to_bfp16(y, BLOCK, rounding, to);
}

void xd_matmul_bf16_emulated(const xd_call *c, uint8_t *const arguments[]) {
  enum { MOST = 65536 / 2 / BLOCK * ROW }; /* as many elements as L1 can hold in bf16 */
  const int64_t m8 = c->m / BLOCK, k8 = c->k / BLOCK, n8 = c->n / BLOCK;
  uint8_t a[MOST], column[MOST]; /* all of A; a column of blocks of B */
  for (int64_t i = 0; i < m8 * k8; i++) rounded_block(arguments[0], i, false, c->rounding, a + i * PACKED);
  for (int64_t j = 0; j < n8; j++) {
    for (int64_t p = 0; p < k8; p++) rounded_block(arguments[1], p * n8 + j, true, c->rounding, column + p * PACKED);
    for (int64_t i = 0; i < m8; i++) {
      uint8_t *result = arguments[2] + (i * n8 + j) * AREA * 2;
      float acc[AREA];
      read_bf16(result, acc);
      for (int64_t p = 0; p < k8; p++) vmac(a + (i * k8 + p) * PACKED, column + p * PACKED, acc);
      write_bf16(acc, c->rounding, result);
    }
  }
}

int64_t xd_unpack_i4_bfp16_bytes(const xd_call *c, int argument) {
  return (int64_t)c->k * c->n * (argument ? 9 : 5) / 8;
}

void xd_unpack_i4_bfp16(const xd_call *c, uint8_t *const arguments[]) {
  enum { CODES = AREA / 2, SCALES = BLOCK * 2, BLOCKS = XD_SCALE_DEPTH / BLOCK };
  const int64_t k8 = c->k / BLOCK, n8 = c->n / BLOCK;
  for (int64_t j = 0; j < n8; j++)
    for (int64_t p = 0; p < k8; p++) {
      const uint8_t *codes = arguments[0] + (j * k8 + p) * CODES;
      uint16_t scale[BLOCK];
      float x[AREA];
      memcpy(scale, arguments[0] + n8 * k8 * CODES + (j * (k8 / BLOCKS) + p / BLOCKS) * SCALES, sizeof scale);
      for (int e = 0; e < AREA; e++)
        x[e] = (float)((((codes[e / 2] >> e % 2 * 4) & 15) ^ 8) - 8) * tw_bf16_to_f32(scale[e / BLOCK]);
      to_bfp16(x, BLOCK, c->rounding, arguments[1] + xd_bfp16_b_at(c->cover, p, j, k8) * PACKED);
    }
}

void xd_matmul_bfp16(const xd_call *c, uint8_t *const arguments[]) {
  const int64_t m8 = c->m / BLOCK, n8 = c->n / BLOCK;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t j = 0; j < n8; j++) {
      uint8_t *result = arguments[2] + xd_bfp16_c_at(c->cover, i, j, n8) * PACKED;
      float acc[AREA];
      from_bfp16(result, BLOCK, acc);
      chain(c, arguments[0], arguments[1], i, j, acc);
      to_bfp16(acc, BLOCK, c->rounding, result);
    }
}

/* The place of bf16 block number `block` of `elements` sums; blocks are numbered as in C. */
static uint8_t *staged_block(int64_t block, int64_t elements, uint8_t *c, uint8_t *staging) {
  const int64_t at = block * AREA * 2;
  return at < elements ? staging + at : c + elements / 8 + (at - elements);
}

void xd_matmul_staged(const xd_call *c, uint8_t *const arguments[]) {
  const int64_t m8 = c->m / BLOCK, n8 = c->n / BLOCK, elements = (int64_t)c->rows * c->n;
  for (int64_t i = 0; i < m8; i++)
    for (int64_t j = 0; j < n8; j++) {
      const int64_t block = xd_bfp16_c_at(c->cover, c->row / BLOCK + i, j, n8);
      uint8_t *result = staged_block(block, elements, arguments[2], arguments[3]);
      float acc[AREA];
      read_bf16(result, acc);
      chain(c, arguments[0], arguments[1], i, j, acc);
      write_bf16(acc, c->rounding, result);
    }
}

/* Begins with the last block: the destination of a block then holds no block that is still needed. */
void xd_round_bfp16(const xd_call *c, uint8_t *const arguments[]) {
  const int64_t elements = (int64_t)c->m * c->n;
  for (int64_t i = elements / AREA - 1; i >= 0; i--) {
    float block[AREA];
    read_bf16(staged_block(i, elements, arguments[1], arguments[0]), block);
    to_bfp16(block, BLOCK, c->rounding, arguments[1] + i * PACKED);
  }
}
