/* kernel_blocked.c - see kernel_blocked.h. */
#include "target/xdna2/array/kernel_blocked.h"

#include <string.h>

#include "tilewright/format.h"

static int64_t elements(const xd_call *c, int argument) {
  return (int64_t)(argument == 1 ? c->k : c->m) * (argument ? c->n : c->k);
}
static int64_t bytes(const xd_call *c, int argument, int in, int out) {
  return elements(c, argument) * (argument == 2 ? out : in);
}
int64_t xd_blocked_i8_i32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 1, 4); }
int64_t xd_blocked_i16_i32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 4); }
int64_t xd_blocked_bf16_bf16_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 2); }
int64_t xd_blocked_bf16_f32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 4); }

/* Where element (row, column) lies in blocks of `height` x `width`, of which `across` make a row. */
static int64_t element_at(int row, int column, int height, int width, int across) {
  return ((int64_t)(row / height) * across + column / width) * height * width + row % height * width + column % width;
}
static int64_t a_at(const xd_call *c, int i, int p) {
  return element_at(i, p, c->block[0], c->block[1], c->k / c->block[1]);
}
static int64_t b_at(const xd_call *c, int p, int j) {
  return element_at(p, j, c->block[1], c->block[2], c->n / c->block[2]);
}
static int64_t c_at(const xd_call *c, int i, int j) {
  return element_at(i, j, c->block[0], c->block[2], c->n / c->block[2]);
}

void xd_blocked_i8_i32(const xd_call *c, uint8_t *const arguments[]) {
  const int8_t *a = (const int8_t *)arguments[0], *b = (const int8_t *)arguments[1];
  uint32_t *result = (uint32_t *)(void *)arguments[2];
  for (int i = 0; i < c->m; i++)
    for (int j = 0; j < c->n; j++)
      for (int p = 0; p < c->k; p++) result[c_at(c, i, j)] += (uint32_t)(a[a_at(c, i, p)] * b[b_at(c, p, j)]);
}

void xd_blocked_i16_i32(const xd_call *c, uint8_t *const arguments[]) {
  const int16_t *a = (const int16_t *)(const void *)arguments[0], *b = (const int16_t *)(const void *)arguments[1];
  uint32_t *result = (uint32_t *)(void *)arguments[2];
  for (int i = 0; i < c->m; i++)
    for (int j = 0; j < c->n; j++)
      for (int p = 0; p < c->k; p++) result[c_at(c, i, j)] += (uint32_t)(a[a_at(c, i, p)] * b[b_at(c, p, j)]);
}

static float bf16_at(const uint8_t *data, int64_t i) {
  uint16_t code;
  memcpy(&code, data + 2 * i, sizeof code);
  return tw_bf16_to_f32(code);
}

static float dot_bf16(const xd_call *c, uint8_t *const arguments[], int i, int j, float sum) {
  for (int p = 0; p < c->k; p++) sum += bf16_at(arguments[0], a_at(c, i, p)) * bf16_at(arguments[1], b_at(c, p, j));
  return sum;
}

void xd_blocked_bf16_bf16(const xd_call *c, uint8_t *const arguments[]) {
  for (int i = 0; i < c->m; i++)
    for (int j = 0; j < c->n; j++) {
      const int64_t at = c_at(c, i, j);
      const uint16_t code = tw_f32_to_bf16(dot_bf16(c, arguments, i, j, bf16_at(arguments[2], at)));
      memcpy(arguments[2] + 2 * at, &code, sizeof code);
    }
}

void xd_blocked_bf16_f32(const xd_call *c, uint8_t *const arguments[]) {
  float *result = (float *)(void *)arguments[2];
  for (int i = 0; i < c->m; i++)
    for (int j = 0; j < c->n; j++) {
      const int64_t at = c_at(c, i, j);
      result[at] = dot_bf16(c, arguments, i, j, result[at]);
    }
}
