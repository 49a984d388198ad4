/* aocl_dlp.c - AMD's AOCL-DLP: products of f32, bf16 and 8-bit integers with a reordered B, and of bf16 with weights of
 * 4 bits, which have an f32 scale for each group of k and column.
 *
 * Packed weights: its reordered B, behind it the scales, [k / group][n]. */
#include <aocl_dlp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rivals/rival.h"

enum { LARGEST_I4 = 7 };

typedef enum way { F32, BF16, U8S8, S8S8, BF16_S4, WAYS } way;

static const struct {
  tw_type a, b, c;
  const char *name;
} ways[WAYS] = {[F32] = {TW_F32, TW_F32, TW_F32, "f32f32f32of32"},
                [BF16] = {TW_BF16, TW_BF16, TW_F32, "bf16bf16f32of32"},
                [U8S8] = {TW_U8, TW_I8, TW_I32, "u8s8s32os32"},
                [S8S8] = {TW_I8, TW_I8, TW_I32, "s8s8s32os32"},
                [BF16_S4] = {TW_BF16, TW_I4, TW_F32, "bf16s4f32of32"}};

static const rival_case *job;
static way chosen;
static size_t scales_at; /* in packed weights */

const char *rival_start(void) { return NULL; }

static msz_t reordered_bytes(void) {
  const md_t k = job->gemm.k, n = job->gemm.n;
  switch (chosen) {
  case F32: return aocl_get_reorder_buf_size_f32f32f32of32('R', 'N', 'B', k, n, NULL);
  case BF16: return aocl_get_reorder_buf_size_bf16bf16f32of32('R', 'N', 'B', k, n, NULL);
  case U8S8: return aocl_get_reorder_buf_size_u8s8s32os32('R', 'N', 'B', k, n, NULL);
  case S8S8: return aocl_get_reorder_buf_size_s8s8s32os32('R', 'N', 'B', k, n, NULL);
  default: return aocl_get_reorder_buf_size_bf16s4f32of32('R', 'N', 'B', k, n, NULL);
  }
}

const char *rival_open(const rival_case *c, rival_ready *ready) {
  const tw_gemm *g = &c->gemm;
  job = c;
  for (chosen = 0; chosen < WAYS; chosen++)
    if (ways[chosen].a == g->a && ways[chosen].b == g->b && ways[chosen].c == g->c) break;
  if (chosen == WAYS) return "AOCL-DLP does not know these types";
  if (chosen == BF16_S4 && (g->a_rounding || !g->group || g->k % g->group)) return "not these groups";
  const msz_t bytes = reordered_bytes();
  if (!bytes) return "AOCL-DLP does not compute these types on this CPU";
  dlp_thread_set_num_threads(c->threads);
  scales_at = ((size_t)bytes + 63) / 64 * 64;
  const size_t scales = chosen == BF16_S4 ? (size_t)(g->k / g->group * g->n) * sizeof(float) : 0;
  ready->weight_bytes = scales_at + (scales + 63) / 64 * 64;
  ready->output = g->c;
  snprintf(ready->what, sizeof ready->what, "%s", ways[chosen].name);
  return NULL;
}

/* B is f32 that 4 bits and a scale can hold: the largest magnitude of a group is 7 times its scale. */
static void pack_i4(void *packed) {
  const tw_gemm *g = &job->gemm;
  const float *b = job->b;
  float *scales = (float *)(void *)((char *)packed + scales_at);
  uint8_t *codes = calloc((size_t)(g->k * g->n + 1) / 2, 1);
  for (int64_t first = 0; codes && first < g->k; first += g->group)
    for (int64_t j = 0; j < g->n; j++) {
      float largest = 0;
      for (int64_t p = first; p < first + g->group; p++) largest = fmaxf(largest, fabsf(b[p * g->n + j]));
      const float scale = largest / LARGEST_I4;
      scales[first / g->group * g->n + j] = scale;
      for (int64_t p = first; p < first + g->group; p++) {
        const int64_t at = p * g->n + j;
        const int code = scale > 0 ? (int)lrintf(b[at] / scale) : 0;
        codes[at / 2] |= (uint8_t)((code & 15) << at % 2 * 4);
      }
    }
  if (codes) aocl_reorder_bf16s4f32of32('R', 'N', 'B', (int8_t *)codes, packed, g->k, g->n, g->n, NULL);
  free(codes);
}

void rival_pack(void *packed) {
  const md_t k = job->gemm.k, n = job->gemm.n;
  switch (chosen) {
  case F32: aocl_reorder_f32f32f32of32('R', 'N', 'B', job->b, packed, k, n, n, NULL); break;
  case BF16: aocl_reorder_bf16bf16f32of32('R', 'N', 'B', job->b, packed, k, n, n, NULL); break;
  case U8S8: aocl_reorder_u8s8s32os32('R', 'N', 'B', job->b, packed, k, n, n, NULL); break;
  case S8S8: aocl_reorder_s8s8s32os32('R', 'N', 'B', job->b, packed, k, n, n, NULL); break;
  default: pack_i4(packed);
  }
}

static void run_i4(const void *packed, void *c) {
  const tw_gemm *g = &job->gemm;
  dlp_sf_t scales = {.scale_factor = (char *)(uintptr_t)packed + scales_at,
                     .scale_factor_len = g->k / g->group * g->n,
                     .scale_factor_type = DLP_F32};
  dlp_pre_op before = {.b_scl = &scales, .seq_length = 1, .group_size = g->group};
  dlp_metadata_t metadata = {.pre_ops = &before};
  aocl_gemm_bf16s4f32of32('R', 'N', 'N', g->m, g->n, g->k, 1, job->a, g->k, 'N', packed, g->n, 'R', 0, c, g->n,
                          &metadata);
}

void rival_run(const void *b, void *c) {
  const md_t m = job->gemm.m, n = job->gemm.n, k = job->gemm.k;
  const void *a = job->a;
  switch (chosen) {
  case F32: aocl_gemm_f32f32f32of32('R', 'N', 'N', m, n, k, 1, a, k, 'N', b, n, 'R', 0, c, n, NULL); break;
  case BF16: aocl_gemm_bf16bf16f32of32('R', 'N', 'N', m, n, k, 1, a, k, 'N', b, n, 'R', 0, c, n, NULL); break;
  case U8S8: aocl_gemm_u8s8s32os32('R', 'N', 'N', m, n, k, 1, a, k, 'N', b, n, 'R', 0, c, n, NULL); break;
  case S8S8: aocl_gemm_s8s8s32os32('R', 'N', 'N', m, n, k, 1, a, k, 'N', b, n, 'R', 0, c, n, NULL); break;
  default: run_i4(b, c);
  }
}

void rival_close(void) {}
