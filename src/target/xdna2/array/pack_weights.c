/* pack_weights.c - B of i4 and ternary: see pack.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integers.h"
#include "base/strings.h"
#include "tilewright/format.h"

#include "target/xdna2/array/pack.h"

enum { GROUP = XD_UNPACK_CODES };

/* The elements of a group of a tile, in the multiplier's order; 0 outside of B. */
static void gather(const xd_gemm *g, const int8_t *b, xd_b_origin o, int64_t group, int8_t out[GROUP]) {
  const int deep = GROUP / g->kernel->vmac[2], wide = g->kernel->vmac[2];
  const int64_t groups = g->tile.n / wide; /* number of groups in a row */
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

/* ---- weights with scales ---- */

/* The scale of each group of each column: the largest element has the largest code. malloc'ed, a column after the
 * other, `groups` each; NULL without memory. */
static float *scales_of(const xd_gemm *g, const float *b, int64_t *groups) {
  const float most = (float)tw_format_at(TW_FORMAT_I4)->max;
  const int64_t group = g->group ? g->group : g->k;
  *groups = tw_ceil_div(g->k, group);
  float *scale = tw_new((size_t)(g->n * *groups), sizeof *scale);
  for (int64_t n = 0; scale && n < g->n; n++)
    for (int64_t k = 0; k < g->k; k++) {
      const float size = fabsf(g->b_transposed ? b[n * g->k + k] : b[k * g->n + n]) / most;
      float *at = &scale[n * *groups + k / group];
      if (size > *at) *at = size;
    }
  return scale;
}

static int code_of(float x, float scale) { return scale > 0 ? (int)rintf(x / scale) : 0; }

tw_status xd_round_scales(const xd_gemm *g, float *b, tw_error *error) {
  int64_t groups;
  float *scale = scales_of(g, b, &groups);
  if (!scale) return tw_no_memory(error, "the scales of B");
  const int64_t group = g->group ? g->group : g->k;
  for (int64_t n = 0; n < g->n; n++)
    for (int64_t k = 0; k < g->k; k++) {
      float *x = &b[g->b_transposed ? n * g->k + k : k * g->n + n];
      const float s = scale[n * groups + k / group];
      *x = (float)code_of(*x, s) * tw_bf16_to_f32(tw_f32_to_bf16(s));
    }
  free(scale);
  return TW_OK;
}

enum { SIDE = 8, CODES = SIDE * SIDE / 2 };

/* A tile from its origin on; `scale` as scales_of gives it. */
static void put_scaled_tile(const xd_gemm *g, const float *b, const float *scale, int64_t groups, xd_b_origin o,
                            uint8_t *out) {
  const int64_t k8 = g->tile.k / SIDE, k16 = g->tile.k / XD_SCALE_DEPTH, group = g->group ? g->group : g->k;
  uint8_t *scales = out + g->tile.k * g->tile.n / 2;
  memset(out, 0, (size_t)(scales - out));
  for (int64_t j = 0; j < g->tile.n; j++) {
    const int64_t n = o.column + j;
    for (int64_t p = 0; p < g->tile.k; p++) {
      const int64_t k = o.depth + p, e = j % SIDE * SIDE + p % SIDE;
      const bool inside = k >= o.first && k < g->k && n < g->n;
      const float s = inside ? scale[n * groups + k / group] : 0;
      const int code = inside ? code_of(g->b_transposed ? b[n * g->k + k] : b[k * g->n + n], s) : 0;
      out[(j / SIDE * k8 + p / SIDE) * CODES + e / 2] |= (uint8_t)((code & 15) << e % 2 * 4);
      const uint16_t rounded = tw_f32_to_bf16(s);
      if (inside || p % XD_SCALE_DEPTH == 0)
        memcpy(scales + ((j / SIDE * k16 + p / XD_SCALE_DEPTH) * SIDE + j % SIDE) * 2, &rounded, sizeof rounded);
    }
  }
}

tw_status xd_pack_scaled_weights(const xd_gemm *g, const float *b, uint8_t *out, tw_error *error) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  int64_t groups;
  float *scale = scales_of(g, b, &groups);
  if (!scale) return tw_no_memory(error, "the scales of B");
  for (int64_t j = 0; j < s.tiles_n * g->columns; j++)
    for (int64_t p = 0; p < s.steps * g->depth; p++, out += g->tile.k * g->tile.n * s.b_bytes8 / 8)
      put_scaled_tile(g, b, scale, groups, xd_b_origin_of(g, &s, j, p), out);
  free(scale);
  return TW_OK;
}
