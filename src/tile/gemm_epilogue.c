/* gemm_epilogue.c - see gemm_epilogue.h; what is computed is what op/gemm.c defines. */
#include "tile/gemm_epilogue.h"

static bool is_integer(const tw_gemm *g) { return g->acc == TW_I32; }

/* Fields of `result`, and what they are made of, that only some problems have. */
static void write_extras(tw_text *t, const tw_gemm *g, const char *before_scales, const char *before_bias,
                         const char *before_int, const char *before_float, const char *end) {
  if (g->scales) tw_text_add(t, "%sSA%s%sSB%s", before_scales, end, before_scales, end);
  if (g->bias != TW_GEMM_BIAS_NONE) tw_text_add(t, "%sD%s", before_bias, end);
  if (g->bias == TW_GEMM_BIAS_FULL) tw_text_add(t, "%sldd%s", before_int, end);
  if (g->scale != 1.0f) tw_text_add(t, "%sscale%s", before_float, end);
}

void tw_tile_result_names(tw_text *t, const tw_gemm *g) { write_extras(t, g, ", ", ", ", ", ", ", ", ""); }
void tw_tile_result_parameters(tw_text *t, const tw_gemm *g) {
  write_extras(t, g, ", const float *", is_integer(g) ? ", const int *" : ", const float *", ", int ", ", float ", "");
}
static void write_fields(tw_text *t, const tw_gemm *g) {
  write_extras(t, g, "  const float *", is_integer(g) ? "  const int *" : "  const float *", "  int ", "  float ",
               ";\n");
}

void tw_tile_result_arguments(tw_text *t, const tw_gemm *g) {
  if (g->scales) tw_text_add(t, ", SA, SB");
  if (g->bias != TW_GEMM_BIAS_NONE) tw_text_add(t, ", D");
  if (g->bias == TW_GEMM_BIAS_FULL) tw_text_add(t, ", ldd");
  if (g->scale != 1.0f) tw_text_add(t, ", f32(scale)");
}

/* From a sum to an element of C, as op/gemm.c defines it. */
void tw_tile_result_write(tw_text *t, const tw_gemm *g) {
  const bool narrow = g->c == TW_I8 || g->c == TW_I16, integer = is_integer(g), scaled = g->scale != 1.0f;
  tw_text_add(t, "/* From a sum to an element of C, i rows and j columns from the first. */\n"
                 "struct result {\n  int row, col, m, n;\n");
  write_fields(t, g);
  tw_text_add(t, "  TW_FN %s operator()(%s v, int i, int j) const {\n",
              integer && (narrow || g->c == TW_I32) ? "int" : "float", integer ? "int" : "float");
  if (g->scales == TW_GEMM_SCALES_TENSOR) tw_text_add(t, "    v *= SA[0] * SB[0];\n");
  if (g->scales == TW_GEMM_SCALES_ROW)
    tw_text_add(t, "    if (row + i < m && col + j < n) v *= SA[row + i] * SB[col + j];\n");
  if (g->bias == TW_GEMM_BIAS_ROW) tw_text_add(t, "    if (col + j < n) v += D[col + j];\n");
  if (g->bias == TW_GEMM_BIAS_FULL)
    tw_text_add(t, "    if (row + i < m && col + j < n) v += D[(i64)(row + i) * ldd + col + j];\n");
  if (!integer && scaled) tw_text_add(t, "    v *= scale;\n");
  if (g->gelu) tw_text_add(t, "    v = gelu_%s(v);\n", g->gelu == TW_GELU_ERF ? "erf" : "tanh");
  if (g->relu && !narrow) tw_text_add(t, "    v = v < 0 ? 0 : v;\n");
  if (narrow)
    tw_text_add(t, "    return round_within(%s(float)v, %s, %s);\n", scaled ? "scale * " : "",
                g->relu         ? "0"
                : g->c == TW_I8 ? "-128"
                                : "-32768",
                g->c == TW_I8 ? "127" : "32767");
  else if (integer && g->c != TW_I32)
    tw_text_add(t, "    return %s(float)v;\n", scaled ? "scale * " : "");
  else
    tw_text_add(t, "    return v;\n");
  tw_text_add(t, "  }\n};\n\n");
}

void tw_tile_parts_launch(tw_text *t, const tw_gemm *g, long long at) {
  tw_text_add(t,
              "//: after     add_parts\n//: grid      ceildiv(m * n, 256)\n//: block     256\n"
              "//: args      workspace(%lld), C, m, n, ldc",
              at);
  tw_tile_result_arguments(t, g);
}

void tw_tile_parts_write(tw_text *t, const tw_gemm *g) {
  const bool integer = g->acc == TW_I32;
  tw_text_add(t, "\nTW_KERNEL(256, 1) add_parts(const %s *parts, %s *c, int m, int n, int ldc",
              integer ? "int" : "float", tw_tile_type_word(g->c));
  tw_tile_result_parameters(t, g);
  tw_text_add(t,
              ") {\n  const i64 at = (i64)block_of_grid() * 256 + thread_of_block(), all = (i64)m * n;\n"
              "  if (at >= all) return;\n  %s sum = parts[at];\n#pragma unroll\n"
              "  for (int i = 1; i < SPLIT; i++) sum += parts[i * all + at];\n"
              "  const int row = (int)(at / n), col = (int)(at %% n);\n  const result finish{row, col, m, n",
              integer ? "int" : "float");
  tw_tile_result_names(t, g);
  tw_text_add(t, "};\n  set(c[(i64)row * ldc + col], finish(sum, 0, 0));\n}\n");
}

/* What `result` is made of beyond row, col, m and n, each after a comma. */
static void add_operands(tw_text *t, const tw_gemm *g, const char *before_scales, const char *before_bias,
                         const char *before_int, const char *scale) {
  if (g->scales) tw_text_add(t, ", %sSA, %sSB", before_scales, before_scales);
  if (g->bias != TW_GEMM_BIAS_NONE) tw_text_add(t, ", %sD", before_bias);
  if (g->bias == TW_GEMM_BIAS_FULL) tw_text_add(t, ", %sldd", before_int);
  if (g->scale != 1.0f) tw_text_add(t, ", %s", scale);
}

void tw_tile_result_slots(tw_slots *s, const tw_gemm *g, const tw_gemm *result) {
  const bool narrow = g->c == TW_I8 || g->c == TW_I16, integer = g->acc == TW_I32, scaled = g->scale != 1.0f;
  tw_text arguments = {0}, parameters = {0}, names = {0};
  add_operands(&arguments, g, "", "", "", "f32(scale)");
  add_operands(&parameters, g, "const float *", integer ? "const int *" : "const float *", "int ", "float scale");
  add_operands(&names, result, "", "", "", "scale");
  tw_slots_take(s, "result_arguments", &arguments);
  tw_slots_take(s, "result_parameters", &parameters);
  tw_slots_take(s, "result_names", &names);
  tw_slots_flag(s, "result_scales", result->scales);
  tw_slots_flag(s, "tensor_scales", result->scales == TW_GEMM_SCALES_TENSOR);
  tw_slots_flag(s, "row_scales", result->scales == TW_GEMM_SCALES_ROW);
  tw_slots_flag(s, "bias", g->bias != TW_GEMM_BIAS_NONE);
  tw_slots_flag(s, "row_bias", g->bias == TW_GEMM_BIAS_ROW);
  tw_slots_flag(s, "full_bias", g->bias == TW_GEMM_BIAS_FULL);
  tw_slots_text(s, "bias_type", integer ? "int" : "float");
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
