/* gemm_epilogue.c - see gemm_epilogue.h; op/gemm.c defines the computed function. */
#include "gpu/common/gemm_epilogue.h"

#include <stdio.h>

/* The values of `result` in addition to row, col, m and n, each after a comma. A kernel rotates sums itself. */
static void add_operands(tw_text *t, const tw_gemm *g, const char *before_scales, const char *before_bias,
                         const char *before_table, const char *before_int, const char *scale) {
  if (g->scales) tw_text_add(t, ", %sSA, %sSB", before_scales, before_scales);
  if (tw_gemm_has_d(g)) tw_text_add(t, ", %sD", before_bias);
  if (tw_gemm_has_d(g) && g->bias != TW_GEMM_BIAS_ROW) tw_text_add(t, ", %sldd", before_int);
  if (g->rotary) tw_text_add(t, ", %sCOS, %sSIN, %spositions", before_table, before_table, before_int);
  if (g->scale != 1.0f) tw_text_add(t, ", %s", scale);
}

void tw_tile_result_slots(tw_slots *s, const tw_gemm *g, const tw_gemm *result) {
  const bool narrow = g->c == TW_I8 || g->c == TW_I16, integer = g->acc == TW_I32, scaled = g->scale != 1.0f;
  tw_text arguments = {0}, parameters = {0}, names = {0};
  add_operands(&arguments, g, "", "", "", "", "f32(scale)");
  char bias[40], table[40];
  snprintf(bias, sizeof bias, "const %s *", integer ? "int" : tw_tile_type_word(g->d));
  snprintf(table, sizeof table, "const %s *", tw_tile_type_word(g->c));
  add_operands(&parameters, g, "const float *", bias, table, "int ", "float scale");
  add_operands(&names, result, "", "", "", "", "scale");
  tw_slots_take(s, "result_arguments", &arguments);
  tw_slots_take(s, "result_parameters", &parameters);
  tw_slots_take(s, "result_names", &names);
  tw_slots_flag(s, "result_scales", result->scales);
  tw_slots_flag(s, "tensor_scales", result->scales == TW_GEMM_SCALES_TENSOR);
  tw_slots_flag(s, "row_scales", result->scales == TW_GEMM_SCALES_ROW);
  tw_slots_flag(s, "bias", result->bias != TW_GEMM_BIAS_NONE);
  tw_slots_flag(s, "row_bias", result->bias == TW_GEMM_BIAS_ROW);
  tw_slots_flag(s, "full_bias", result->bias == TW_GEMM_BIAS_FULL);
  tw_slots_text(s, "bias_type", integer ? "int" : tw_tile_type_word(g->d));
  tw_slots_flag(s, "short_bias", !integer && g->d != TW_F32);
  tw_slots_flag(s, "scale", scaled);
  tw_slots_flag(s, "float_scale", !integer && scaled);
  tw_slots_text(s, "gelu", !g->gelu ? NULL : g->gelu == TW_GELU_ERF ? "erf" : "tanh");
  tw_slots_flag(s, "relu", g->relu && !narrow);
  tw_slots_text(s, "round_from", !narrow ? NULL : g->relu ? "0" : g->c == TW_I8 ? "-128" : "-32768");
  tw_slots_text(s, "round_to", !narrow ? NULL : g->c == TW_I8 ? "127" : "32767");
  tw_slots_flag(s, "integer_to_float", integer && !narrow && g->c != TW_I32);
  tw_slots_text(s, "sum_type", integer ? "int" : "float");
  tw_slots_text(s, "result_type", integer && (narrow || g->c == TW_I32) ? "int" : "float");
  tw_slots_text(s, "c_type", tw_tile_type_word(g->c));
}
