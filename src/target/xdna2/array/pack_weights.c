/* pack_weights.c - B of i4 and ternary: see pack.h. */
#include <string.h>

#include "target/xdna2/array/kernel_weights.h"
#include "target/xdna2/array/pack.h"

enum { GROUP = XD_UNPACK_CODES };

/* The elements of a group of a tile, in the multiplier's order; 0 outside of B. */
static void gather(const xd_gemm *g, const int8_t *b, xd_b_origin o, int64_t group, int8_t out[GROUP]) {
  const int deep = GROUP / g->kernel->vmac[2], wide = g->kernel->vmac[2];
  const int64_t groups = g->tile.n / wide; /* in a row of them */
  for (int64_t i = 0; i < GROUP; i++) {
    const int64_t k = o.depth + group / groups * deep + i / wide, n = o.column + group % groups * wide + i % wide;
    out[i] = 0;
    if (k >= o.first && k < g->k && n < g->n) out[i] = g->b_transposed ? b[n * g->k + k] : b[k * g->n + n];
  }
}

static void put_i4(const int8_t x[GROUP], uint8_t *out) {
  for (int i = 0; i < GROUP / 2; i++) out[i] = (uint8_t)((x[2 * i] & 15) | (x[2 * i + 1] & 15) << 4);
}

static void put_codes_for_i8(const int8_t x[GROUP], uint8_t *out) {
  enum { VECTOR = GROUP / 4 };
  memset(out, 0, VECTOR);
  for (int i = 0; i < GROUP; i++) out[i % VECTOR] |= (uint8_t)((x[i] + 1) << i / VECTOR * 2);
}

static void put_codes_for_i4(const int8_t x[GROUP], uint8_t *out) {
  enum { HALF = GROUP / 2 };
  for (int p = 0; p < GROUP / 4; p++) {
    out[p] = 0;
    for (int half = 0; half < 2; half++) {
      const int8_t *pair = x + half * HALF + 2 * p;
      const int low = pair[0] + 1, high = pair[1] + 1 + (pair[0] < 0);
      out[p] |= (uint8_t)((low | high << 4) << 2 * half);
    }
  }
}

void xd_pack_weights(const xd_gemm *g, const int8_t *b, uint8_t *out) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  int8_t x[GROUP];
  for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
    for (int64_t p = 0; p < s.steps * g->depth; p++) {
      const xd_b_origin o = xd_b_origin_of(g, &s, j, p);
      for (int64_t group = 0; group < g->tile.k * g->tile.n / GROUP; group++, out += GROUP * s.b_bytes8 / 8) {
        gather(g, b, o, group, x);
        if (g->kernel->b == TW_I4)
          put_i4(x, out);
        else if (g->kernel->scratch_b == TW_I4)
          put_codes_for_i4(x, out);
        else
          put_codes_for_i8(x, out);
      }
    }
}
