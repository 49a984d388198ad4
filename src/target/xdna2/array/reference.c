/* reference.c - see reference.h. Slow and plain: kernels, packing and designs are tested against it. */
#include "target/xdna2/array/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/integers.h"
#include "base/strings.h"

enum { BLOCK = 8 };

/* Rows of `columns` numbers (a multiple of eight), rounded to bfp16 in place. */
static void round_bfp16(float *x, int64_t rows, int64_t columns, tw_rounding rounding) {
  const tw_packing packing = {.format = tw_format_at(TW_FORMAT_BFP16), .rounding = rounding};
  uint8_t code[9];
  for (int64_t i = 0; i < rows * columns; i += BLOCK) {
    tw_format_encode(&packing, 1, BLOCK, x + i, BLOCK, code, NULL, NULL);
    tw_format_decode(&packing, 1, BLOCK, code, NULL, x + i, BLOCK, NULL);
  }
}

/* The largest bf16 that is not above x. */
static float floor_bf16(float x) {
  float nearest = tw_bf16_to_f32(tw_f32_to_bf16(x));
  const uint32_t bits = tw_bits_of(nearest);
  if (!(nearest > x)) return nearest;
  return tw_float_of(nearest > 0 ? bits - 0x10000 : bits == 0 ? 0x80010000 : bits + 0x10000);
}

/* One step's columns of A (rows x T_K) or rows of B (transposed: n x T_K) from depth `at` on, zero before `first` and
 * beyond k. */
static void gather(const xd_gemm *g, const float *x, int64_t lines, int64_t next, int64_t along, int64_t at,
                   int64_t first, float *out) {
  for (int64_t i = 0; i < lines; i++)
    for (int64_t p = 0; p < g->tile.k; p++)
      out[i * g->tile.k + p] = at + p >= first && at + p < g->k ? x[i * next + (at + p) * along] : 0;
  if (xd_gemm_multiplies_blocks(g)) round_bfp16(out, lines, g->tile.k, g->rounding);
}

static float rounded_bf16(const xd_gemm *g, float x) {
  return g->rounding == TW_ROUND_FLOOR ? floor_bf16(x) : tw_bf16_to_f32(tw_f32_to_bf16(x));
}

/* A row of A and a column of B over one step: products one by one, or eight at once. */
static float add_products(bool blocks, const float *a, const float *b, int64_t k, float sum) {
  for (int64_t p = 0; p < k; p += blocks ? BLOCK : 1) {
    double eight = 0; /* or one */
    for (int64_t e = p; e < p + (blocks ? BLOCK : 1); e++) eight += (double)a[e] * (double)b[e];
    sum += (float)eight;
  }
  return sum;
}

static void add_step(const xd_gemm *g, const float *a, const float *bt, int64_t pitch, float *c) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      const float sum = add_products(xd_gemm_multiplies_blocks(g), a + i * g->tile.k, bt + j * g->tile.k, g->tile.k,
                                     c[i * pitch + j]);
      c[i * pitch + j] = g->kernel->acc == TW_BF16 ? rounded_bf16(g, sum) : sum;
    }
  if (g->kernel->acc == TW_BFP16) round_bfp16(c, g->m, pitch, g->rounding);
}

tw_status xd_gemm_reference(const xd_gemm *g, const float *a, const float *b, float *c, tw_error *error) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const bool row_major = g->kernel->a != TW_BFP16;
  const int64_t pitch = tw_round_up(g->n, BLOCK), last = (s.steps - 1) * s.step, back = s.steps * s.step - g->k;
  float *step_a = tw_new((size_t)(g->m * g->tile.k), sizeof *step_a);
  float *step_b = tw_new((size_t)(g->n * g->tile.k), sizeof *step_b);
  float *sums = tw_new((size_t)(g->m * pitch), sizeof *sums);
  for (int64_t p = 0; step_a && step_b && sums && p < s.steps * s.step; p += g->tile.k) {
    const bool moved = row_major && p >= last;
    const int64_t at = moved ? p - back : p;
    gather(g, a, g->m, g->k, 1, at, 0, step_a);
    gather(g, b, g->n, g->b_transposed ? g->k : 1, g->b_transposed ? 1 : g->n, at, moved ? last : 0, step_b);
    add_step(g, step_a, step_b, pitch, sums);
  }
  const bool done = step_a && step_b && sums;
  if (done && g->c == TW_BFP16 && g->kernel->acc != TW_BFP16) round_bfp16(sums, g->m, pitch, g->rounding);
  for (int64_t i = 0; done && g->c == TW_BF16 && i < g->m * pitch; i++) sums[i] = rounded_bf16(g, sums[i]);
  for (int64_t i = 0; done && i < g->m; i++) memcpy(c + i * g->n, sums + i * pitch, (size_t)g->n * sizeof *c);
  free(step_a);
  free(step_b);
  free(sums);
  return done ? TW_OK : tw_no_memory(error, "the reference");
}

/* Rounds to a multiple of 2^shift and returns the multiple's number. */
static int64_t narrowed(int64_t sum, int shift, tw_rounding rounding, int64_t most) {
  const int64_t unit = (int64_t)1 << shift, low = (sum >= 0 ? sum : sum - unit + 1) / unit, rest = sum - low * unit;
  const bool up = rounding != TW_ROUND_FLOOR && (2 * rest > unit || (2 * rest == unit && low % 2 != 0));
  const int64_t x = low + up;
  return x > most ? most : x < -most - 1 ? -most - 1 : x;
}

tw_status xd_gemm_narrow_reference(const xd_gemm *g, const float *a, const float *b, float *c, tw_error *error) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const int64_t last = (s.steps - 1) * s.step, back = s.steps * s.step - g->k;
  const int64_t most = g->kernel->acc == TW_I8 ? INT8_MAX : INT16_MAX;
  int64_t *sums = tw_new((size_t)g->n, sizeof *sums);
  if (!sums) return tw_no_memory(error, "the reference");
  for (int64_t i = 0; i < g->m; i++) {
    for (int64_t j = 0; j < g->n; j++) sums[j] = 0;
    for (int64_t p = 0; p < s.steps * s.step; p += g->tile.k) {
      const bool moved = p >= last && g->k >= s.step;
      for (int64_t j = 0; j < g->n; j++) {
        int64_t sum = sums[j] * ((int64_t)1 << g->shift);
        for (int64_t e = 0; e < g->tile.k; e++) {
          const int64_t at = (moved ? p - back : p) + e;
          if (at < (moved ? last : 0) || at >= g->k) continue;
          sum += (int64_t)a[i * g->k + at] * (int64_t)b[g->b_transposed ? j * g->k + at : at * g->n + j];
        }
        sums[j] = narrowed(sum, g->shift, g->rounding, most);
      }
    }
    for (int64_t j = 0; j < g->n; j++) c[i * g->n + j] = (float)sums[j];
  }
  free(sums);
  return TW_OK;
}
