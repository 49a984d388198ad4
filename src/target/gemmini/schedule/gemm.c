/* gemm.c - a gemm problem as blocks, pitches and C types. */
#include "target/gemmini/schedule/plan.h"

tw_status gm_gemm_from(const gm_config *config, const tw_problem *problem, gm_gemm *g, tw_error *error) {
  const tw_gemm p = tw_gemm_of(problem);
  if (p.a != config->input_type || p.b != config->input_type)
    return tw_fail(error, TW_USAGE, "%s multiplies %s by %s, not %s by %s", config->name,
                   tw_type_name(config->input_type), tw_type_name(config->input_type), tw_type_name(p.a),
                   tw_type_name(p.b));
  if (p.c != config->input_type && p.c != config->acc_type)
    return tw_fail(error, TW_USAGE, "%s stores C as %s or %s, not %s", config->name, tw_type_name(config->input_type),
                   tw_type_name(config->acc_type), tw_type_name(p.c));
  *g = (gm_gemm){
      .m = p.m,
      .n = p.n,
      .k = p.k,
      .a_transposed = p.a_transposed,
      .b_transposed = p.b_transposed,
      .bias = p.bias,
      .relu = p.relu,
      .scale = (double)p.scale,
      .wide_output = p.c != config->input_type,
      .lda = p.lda,
      .ldb = p.ldb,
      .ldc = p.ldc,
      .ldd = p.ldd,
      .input_bytes = gm_input_bytes(config),
      .acc_bytes = gm_acc_bytes(config),
      .output_bytes = tw_type_bits(p.c) / 8,
      .input_type = gm_c_type(config->input_type),
      .acc_type = gm_c_type(config->acc_type),
      .output_type = gm_c_type(p.c),
  };
  g->mb = gm_ceil_div(g->m, config->dim);
  g->nb = gm_ceil_div(g->n, config->dim);
  g->kb = gm_ceil_div(g->k, config->dim);
  if (!g->input_type || !g->acc_type || !g->output_type)
    return tw_fail(error, TW_USAGE, "%s: its elements have no C type", config->name);
  g->turns_b = g->a_transposed && g->b_transposed;
  if (g->turns_b) {
    g->b_transposed = false;
    g->ldb_stored = g->ldb;
    g->ldb = (int64_t)g->nb * config->dim;
  }
  if (g->wide_output && (g->relu || g->scale != 1.0))
    return tw_fail(error, TW_USAGE, "c=%s is stored unchanged from the accumulator; relu and scale require c=%s",
                   tw_type_name(p.c), tw_type_name(config->input_type));
  return TW_OK;
}
