/* emit_hardware.c - the hardware loop: one gemmini_loop_ws for every tile and step along k.
 *
 * The loop takes bounds in blocks and paddings in elements; it loads, computes and stores alone, and overwrites C
 * unless a bias or an earlier step along k must be added (facts: "Hardware loop"). */
#include <stdio.h>

#include "target/gemmini/schedule/emit.h"

static void bound_text(char *out, size_t size, int tile, int blocks, const char *place) {
  if (blocks % tile == 0)
    snprintf(out, size, "%d", tile);
  else
    snprintf(out, size, "MIN(%d, %d - %s)", tile, blocks, place);
}

static void padding_text(char *out, size_t size, int dim, int64_t length, int tile, int blocks, const char *place) {
  const int padding = (int)((int64_t)blocks * dim - length);
  if (padding == 0)
    snprintf(out, size, "0");
  else
    snprintf(out, size, "%s + %d < %d ? 0 : %d", place, tile, blocks, padding);
}

void gm_emit_hardware_loop(gm_emitter *e) {
  const gm_gemm *g = e->g;
  const gm_plan *p = e->plan;
  const int d = e->config->dim;
  const long ldd = g->bias == TW_GEMM_BIAS_FULL ? (long)g->ldd : 0;
  char bound[3][64], padding[3][96], d_text[64] = "NULL";
  bound_text(bound[0], sizeof bound[0], p->tile_m, g->mb, "i");
  bound_text(bound[1], sizeof bound[1], p->tile_n, g->nb, "j");
  bound_text(bound[2], sizeof bound[2], p->tile_k, g->kb, "k");
  padding_text(padding[0], sizeof padding[0], d, g->m, p->tile_m, g->mb, "i");
  padding_text(padding[1], sizeof padding[1], d, g->n, p->tile_n, g->nb, "j");
  padding_text(padding[2], sizeof padding[2], d, g->k, p->tile_k, g->kb, "k");
  if (g->bias == TW_GEMM_BIAS_ROW)
    snprintf(d_text, sizeof d_text, "k ? NULL : &D[0][j * %d]", d);
  else if (g->bias == TW_GEMM_BIAS_FULL)
    snprintf(d_text, sizeof d_text, "k ? NULL : &D[i * %d][j * %d]", d, d);
  char scale[40];
  gm_float_text(g->scale, scale, sizeof scale);
  LINE("gemmini_extended_config_st(%ld, %s, %s);", (long)g->ldc * g->output_bytes, g->relu ? "RELU" : "NO_ACTIVATION",
       scale);
  LINE("config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, %s, %s);", g->a_transposed ? "true" : "false",
       g->b_transposed ? "true" : "false");
  LINE("config_ld(%ld, 1.0f, %d, 0);", (long)g->lda * g->input_bytes, d);
  LINE("config_ld(%ld, 1.0f, %d, 1);", (long)g->ldb * g->input_bytes, d);
  LINE("config_ld(%ld, 1.0f, %d, 2);", ldd * g->acc_bytes, d);
  const char *i_loop = "for (int i = 0; i < %d; i += %d)", *j_loop = "for (int j = 0; j < %d; j += %d)";
  char line[2][64];
  snprintf(line[p->outer_is_i ? 0 : 1], sizeof line[0], i_loop, g->mb, p->tile_m);
  snprintf(line[p->outer_is_i ? 1 : 0], sizeof line[0], j_loop, g->nb, p->tile_n);
  LINE("%s {", line[0]);
  LINE("%s {", line[1]);
  LINE("for (int k = 0; k < %d; k += %d) {", g->kb, p->tile_k);
  LINE("const int mb = %s, nb = %s, kb = %s; /* blocks */", bound[0], bound[1], bound[2]);
  LINE("const int m_pad = %s, n_pad = %s, k_pad = %s; /* elements */", padding[0], padding[1], padding[2]);
  LINE("const %s *a = &A[%s * %d][%s * %d], *b = &B[%s * %d][%s * %d];", g->input_type, g->a_transposed ? "k" : "i", d,
       g->a_transposed ? "i" : "k", d, g->b_transposed ? "j" : "k", d, g->b_transposed ? "k" : "j", d);
  LINE("%s *c = k + %d < %d ? NULL : &C[i * %d][j * %d];", g->output_type, p->tile_k, g->kb, d, d);
  LINE("gemmini_loop_ws(mb, nb, kb, m_pad, n_pad, k_pad, a, b, %s, c, %ld, %ld, %ld, %ld,", d_text, (long)g->lda,
       (long)g->ldb, ldd, (long)g->ldc);
  /* the loop adds to the accumulator: the bias, or the steps before along k */
  LINE("  %s, %s, %s, false, %s, %s, 0, 0, false);", g->a_transposed ? "true" : "false",
       g->b_transposed ? "true" : "false", g->wide_output ? "true" : "false",
       g->bias == TW_GEMM_BIAS_NONE ? "k > 0" : "true", g->relu ? "RELU" : "NO_ACTIVATION");
  LINE("}");
  LINE("}");
  LINE("}");
}
