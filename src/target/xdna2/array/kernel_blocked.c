/* kernel_blocked.c - see kernel_blocked.h. */
#include "target/xdna2/array/kernel_blocked.h"
#include "target/xdna2/array/kernel_bfp.h"

#include "tilewright/format.h"

static int64_t elements(const xd_call *c, int argument) {
  return (int64_t)(argument == 1 ? c->k : c->m) * (argument ? c->n : c->k);
}
static int64_t bytes(const xd_call *c, int argument, int in, int out) {
  return elements(c, argument) * (argument == 2 ? out : in);
}
int64_t xd_blocked_i8_i32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 1, 4); }
int64_t xd_blocked_i16_i32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 4); }
int64_t xd_blocked_i16_i16_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 2); }
int64_t xd_blocked_bf16_bf16_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 2); }
int64_t xd_blocked_f32_f32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 4, 4); }
int64_t xd_blocked_bf16_f32_bytes(const xd_call *c, int argument) { return bytes(c, argument, 2, 4); }

/* Blocks, and the starts of an element's block row and column. */
typedef struct blocks {
  int r, s, t, rows, depth, columns; /* of blocks */
} blocks;

static blocks blocks_of(const xd_call *c) {
  const int *b = c->block;
  return (blocks){b[0], b[1], b[2], c->m / b[0], c->k / b[1], c->n / b[2]};
}

/* For element (i, j) of C: itself, row i of the first block of A, column j of the first block of B. */
typedef struct corner {
  int64_t c, a, b;
} corner;

static corner corner_of(const blocks *x, int i, int j) {
  const int64_t row = i / x->r, column = j / x->t, down = i % x->r, along = j % x->t;
  return (corner){(row * x->columns + column) * x->r * x->t + down * x->t + along,
                  row * x->depth * x->r * x->s + down * x->s, column * x->s * x->t + along};
}

int64_t xd_narrowed(int64_t x, int shift, tw_rounding rounding, int64_t most) {
  const int64_t unit = (int64_t)1 << shift, down = x >> shift, twice = 2 * (x & (unit - 1));
  const bool up = rounding != TW_ROUND_FLOOR && (twice > unit || (twice == unit && (down & 1)));
  return down + up > most ? most : down + up < -most - 1 ? -most - 1 : down + up;
}

void xd_blocked_i16_i16(const xd_call *call, uint8_t *const arguments[]) {
  const int16_t *a = (const int16_t *)(const void *)arguments[0], *b = (const int16_t *)(const void *)arguments[1];
  int16_t *c = (int16_t *)(void *)arguments[2];
  const blocks x = blocks_of(call);
  for (int i = 0; i < call->m; i++)
    for (int j = 0; j < call->n; j++) {
      const corner at = corner_of(&x, i, j);
      int64_t sum = c[at.c] * ((int64_t)1 << call->shift);
      for (int p = 0; p < call->k; p++)
        sum += a[at.a + (int64_t)(p / x.s) * x.r * x.s + p % x.s] *
               b[at.b + ((int64_t)(p / x.s) * x.columns * x.s + p % x.s) * x.t];
      c[at.c] = (int16_t)xd_narrowed(sum, call->shift, call->rounding, INT16_MAX);
    }
}

#define INTEGER_PRODUCT(name, type)                                                                                    \
  void name(const xd_call *call, uint8_t *const arguments[]) {                                                         \
    const type *a = (const type *)(const void *)arguments[0], *b = (const type *)(const void *)arguments[1];           \
    uint32_t *c = (uint32_t *)(void *)arguments[2];                                                                    \
    const blocks x = blocks_of(call);                                                                                  \
    for (int i = 0; i < call->m; i++)                                                                                  \
      for (int j = 0; j < call->n; j++) {                                                                              \
        const corner at = corner_of(&x, i, j);                                                                         \
        uint32_t sum = c[at.c];                                                                                        \
        for (int block = 0; block < x.depth; block++)                                                                  \
          for (int p = 0; p < x.s; p++)                                                                                \
            sum += (uint32_t)(a[at.a + (int64_t)block * x.r * x.s + p] *                                               \
                              b[at.b + ((int64_t)block * x.columns * x.s + p) * x.t]);                                 \
        c[at.c] = sum;                                                                                                 \
      }                                                                                                                \
  }
INTEGER_PRODUCT(xd_blocked_i8_i32, int8_t)
INTEGER_PRODUCT(xd_blocked_i16_i32, int16_t)

static float dot_bf16(const blocks *x, const corner *at, uint8_t *const arguments[], float sum) {
  const uint16_t *a = (const uint16_t *)(const void *)arguments[0], *b = (const uint16_t *)(const void *)arguments[1];
  for (int block = 0; block < x->depth; block++)
    for (int p = 0; p < x->s; p++)
      sum += tw_bf16_to_f32(a[at->a + (int64_t)block * x->r * x->s + p]) *
             tw_bf16_to_f32(b[at->b + ((int64_t)block * x->columns * x->s + p) * x->t]);
  return sum;
}

void xd_blocked_bf16_bf16(const xd_call *call, uint8_t *const arguments[]) {
  uint16_t *c = (uint16_t *)(void *)arguments[2];
  const blocks x = blocks_of(call);
  for (int i = 0; i < call->m; i++)
    for (int j = 0; j < call->n; j++) {
      const corner at = corner_of(&x, i, j);
      c[at.c] = xd_to_bf16(dot_bf16(&x, &at, arguments, tw_bf16_to_f32(c[at.c])), call->rounding);
    }
}

void xd_blocked_bf16_f32(const xd_call *call, uint8_t *const arguments[]) {
  float *c = (float *)(void *)arguments[2];
  const blocks x = blocks_of(call);
  for (int i = 0; i < call->m; i++)
    for (int j = 0; j < call->n; j++) {
      const corner at = corner_of(&x, i, j);
      c[at.c] = dot_bf16(&x, &at, arguments, c[at.c]);
    }
}

/* A float as the exact sum of three numbers with eight significant bits. */
typedef struct parts {
  float of[3];
} parts;

static parts parts_of(float x, tw_rounding rounding) {
  parts p;
  for (int i = 0; i < 3; i++) {
    p.of[i] = tw_bf16_to_f32(xd_to_bf16(x, rounding));
    x -= p.of[i];
  }
  return p;
}

/* Nine products of parts, the smallest first. */
static float add_product(float sum, float x, float y, tw_rounding rounding) {
  const parts a = parts_of(x, rounding), b = parts_of(y, rounding);
  for (int order = 4; order >= 0; order--)
    for (int i = order > 2 ? 2 : order; i >= 0 && order - i < 3; i--) sum += a.of[i] * b.of[order - i];
  return sum;
}

void xd_blocked_f32_f32(const xd_call *call, uint8_t *const arguments[]) {
  const float *a = (const float *)(const void *)arguments[0], *b = (const float *)(const void *)arguments[1];
  float *c = (float *)(void *)arguments[2];
  const blocks x = blocks_of(call);
  for (int i = 0; i < call->m; i++)
    for (int j = 0; j < call->n; j++) {
      const corner at = corner_of(&x, i, j);
      for (int p = 0; p < call->k; p++)
        c[at.c] = add_product(c[at.c], a[at.a + (int64_t)(p / x.s) * x.r * x.s + p % x.s],
                              b[at.b + ((int64_t)(p / x.s) * x.columns * x.s + p % x.s) * x.t], call->rounding);
    }
}
