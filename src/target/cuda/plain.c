/* plain.c - see plain.h; kernels/plain_gemm.cu.in is the kernel. */
#include "target/cuda/plain.h"

#include <inttypes.h>
#include <string.h>

#include "op/gemm_problem.h"

cuda_plain_words cuda_plain_words_of(tw_type type) {
  switch (type) {
  case TW_F32: return (cuda_plain_words){"float", "return x;", "return x;"};
  case TW_BF16:
    return (cuda_plain_words){"unsigned short", "return __uint_as_float((unsigned)x << 16);",
                              "unsigned short y; asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x)); return y;"};
  case TW_F16:
    return (cuda_plain_words){"unsigned short",
                              "float y; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x)); return y;",
                              "unsigned short y; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x)); return y;"};
  case TW_E4M3:
  case TW_E5M2:
    return (cuda_plain_words){
        "unsigned char",
        type == TW_E4M3
            ? "float y = __uint_as_float((x & 127u) << 20) * 0x1p120f; if ((x & 127) == 127) y = __uint_as_float(~0u); "
              "return x & 128 ? -y : y;" /* machines before sm_89 have no instruction for it */
            : "float z; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(z) : \"h\"((unsigned short)(x << 8))); return z;",
        NULL};
  case TW_I8:
    return (cuda_plain_words){"signed char", "return x;",
                              "return (signed char)max(-128, min(127, __float2int_rn(x)));"};
  case TW_U8: return (cuda_plain_words){"unsigned char", "return x;", NULL};
  case TW_I16: return (cuda_plain_words){"short", NULL, "return (short)max(-32768, min(32767, __float2int_rn(x)));"};
  case TW_I32: return (cuda_plain_words){"int", NULL, "return x;"};
  default: return (cuda_plain_words){0};
  }
}

tw_status cuda_plain_fill(tw_slots *s, const char *file, char **source, tw_error *error) {
  tw_text t = {0};
  const tw_status status = tw_template_add(&t, file, s, error);
  tw_slots_free(s);
  *source = status == TW_OK ? tw_text_take(&t) : NULL;
  tw_text_free(&t);
  return status != TW_OK || *source ? status : tw_no_memory(error, "the source of a kernel");
}

static int elements_of_a_thread(const tw_gemm *g) {
  const int64_t least = g->m < g->n ? g->m : g->n;
  return least >= 1024 ? 8 : least >= 128 ? 4 : 1;
}

static tw_status gemm(const tw_problem *p, char **source, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const cuda_plain_words a = cuda_plain_words_of(g.a), b = cuda_plain_words_of(g.b), c = cuda_plain_words_of(g.c);
  if (!a.load || !b.load || !c.store || g.a_rounding != TW_GEMM_A_EXACT)
    return tw_fail(error, TW_UNSUPPORTED,
                   "no CUDA kernel for a=%s b=%s c=%s; use f32, f16, bf16, e4m3, e5m2 or i8, or weights of mxfp4, i4 "
                   "or ternary with packed=1",
                   tw_type_name(g.a), tw_type_name(g.b), tw_type_name(g.c));
  tw_slots s = {0};
  tw_slots_number(&s, "elements", elements_of_a_thread(&g));
  tw_slots_text(&s, "a_stored", a.stored);
  tw_slots_text(&s, "a_load", a.load);
  tw_slots_text(&s, "b_stored", b.stored);
  tw_slots_text(&s, "b_load", b.load);
  tw_slots_text(&s, "c_stored", c.stored);
  tw_slots_text(&s, "c_store", c.store);
  tw_slots_text(&s, "d_stored", g.acc == TW_I32 ? "int" : cuda_plain_words_of(g.d).stored);
  tw_slots_text(&s, "d_load", g.d != g.acc ? cuda_plain_words_of(g.d).load : NULL);
  tw_slots_text(&s, "sum", g.acc == TW_I32 ? "int" : "float");
  tw_slots_text(&s, "scaled", g.c == TW_I32 ? "int" : "float");
  tw_slots_flag(&s, "float_result", g.c != TW_I32);
  tw_slots_flag(&s, "a_transposed", g.a_transposed);
  tw_slots_flag(&s, "b_transposed", g.b_transposed);
  tw_slots_flag(&s, "scales", g.scales);
  tw_slots_flag(&s, "block_scales", g.scales == TW_GEMM_SCALES_BLOCK);
  tw_slots_flag(&s, "row_scales", g.scales == TW_GEMM_SCALES_ROW);
  tw_slots_flag(&s, "tensor_scales", g.scales == TW_GEMM_SCALES_TENSOR);
  tw_slots_flag(&s, "bias", g.bias != TW_GEMM_BIAS_NONE);
  tw_slots_flag(&s, "full_bias", g.bias == TW_GEMM_BIAS_FULL);
  tw_slots_flag(&s, "gelu_erf", g.gelu == TW_GELU_ERF);
  tw_slots_flag(&s, "gelu_tanh", g.gelu == TW_GELU_TANH);
  tw_slots_flag(&s, "relu", g.relu);
  return cuda_plain_fill(&s, "cuda/kernels/plain_gemm.cu.in", source, error);
}

bool cuda_has_plain(const tw_problem *p) {
  const tw_gemm g = tw_gemm_of(p);
  return strcmp(p->op->name, "gemm") == 0 && !g.packed && !tw_gemm_pair_key(&g);
}

tw_status cuda_plain(const tw_problem *p, char **source, tw_error *error) { return gemm(p, source, error); }
