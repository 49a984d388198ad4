/* gemm_values.c - see gemm_values.h. */
#include "op/gemm_values.h"

#include "op/element.h"
#include "op/int8.h"

tw_gemm_values tw_gemm_values_of(const tw_gemm *g, void *const buffers[]) {
  return (tw_gemm_values){.g = *g,
                          .numerics = tw_gemm_numerics_of(g),
                          .a = buffers[0],
                          .b = buffers[1],
                          .d = g->bias != TW_GEMM_BIAS_NONE ? buffers[2] : NULL};
}

void tw_gemm_row(const tw_gemm_values *v, int64_t i, double *out) {
  const tw_gemm *g = &v->g;
  tw_element_row(v->numerics.a, v->a, g->a_transposed ? i : i * g->lda, g->a_transposed ? g->lda : 1, g->k, out);
}

void tw_gemm_column(const tw_gemm_values *v, int64_t j, double *out) {
  const tw_gemm *g = &v->g;
  tw_element_row(v->numerics.b, v->b, g->b_transposed ? j * g->ldb : j, g->b_transposed ? 1 : g->ldb, g->k, out);
}

double tw_gemm_bias_at(const tw_gemm_values *v, int64_t i, int64_t j) {
  return v->d ? tw_element(v->numerics.d, v->d, (v->g.bias == TW_GEMM_BIAS_FULL ? i * v->g.ldd : 0) + j) : 0;
}

double tw_gemm_finish(const tw_gemm *g, double sum) {
  if (g->c == TW_I8) return tw_round_i8((int32_t)sum, g->scale, g->relu);
  if (g->c == TW_I16) return tw_round_i16((int32_t)sum, g->scale, g->relu);
  const double x = (double)g->scale * sum;
  return g->relu && x < 0 ? 0 : x;
}
