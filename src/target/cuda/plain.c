/* plain.c - see plain.h. gemm: 16 x 16 threads share tiles of A and B, a thread has R x R elements of C, so many that the
 * largest problems take a second and not a minute. Needs no header of CUDA's. */
#include "target/cuda/plain.h"

#include <inttypes.h>
#include <string.h>

#include "base/strings.h"
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

/* Elements of a tile that one load of the block takes: along the direction in which they lie side by side. */
static void add_load(tw_text *s, char operand, bool along_k, const char *line, const char *length, const char *at) {
  tw_text_add(s,
              "    for (int e = t; e < BM * BK; e += TX * TX) {\n"
              "      const int r = %s, p = %s, %s = %s * BM + r, q = p0 + p;\n"
              "      %cs[p][r] = %s < %s && q < k ? load_%c(%c[%s]) : 0;\n    }\n",
              along_k ? "e / BK" : "e % BM", along_k ? "e % BK" : "e / BM", line,
              operand == 'A' ? "(int)blockIdx.y" : "(int)blockIdx.x", operand + 'a' - 'A', line, length,
              operand + 'a' - 'A', operand, at);
}

/* Behind each block of k: what was summed of it, by its factors. */
static void add_scaled(tw_text *s, const tw_gemm *g) {
  tw_text_add(
      s,
      "    if ((p0 + BK) %% 128 && p0 + BK < k) continue;\n    const long long block = p0 / 128, blocks = (k + 127) / "
      "128;\n#pragma unroll\n    for (int e = 0; e < R * R; e++) {\n"
      "      const int i = blockIdx.y * BM + threadIdx.y + e / R * TX;\n"
      "      const int j = blockIdx.x * BM + threadIdx.x + e %% R * TX;\n"
      "      if (i < m && j < n) sums[e / R][e %% R] += some[e / R][e %% R] * (SA[%s] * SB[%s]);\n"
      "      some[e / R][e %% R] = 0;\n    }\n",
      g->a_transposed ? "block * m + i" : "i * blocks + block",
      g->b_transposed ? "j / 128 * blocks + block" : "block * ((n + 127) / 128) + j / 128");
}

static int elements_of_a_thread(const tw_gemm *g) {
  const int64_t least = g->m < g->n ? g->m : g->n;
  return least >= 1024 ? 8 : least >= 128 ? 4 : 1;
}

static tw_status gemm(const tw_problem *p, char **source, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const cuda_plain_words a = cuda_plain_words_of(g.a), b = cuda_plain_words_of(g.b), c = cuda_plain_words_of(g.c);
  const bool integer = g.acc == TW_I32, bias = g.bias != TW_GEMM_BIAS_NONE;
  const bool blocks = g.scales == TW_GEMM_SCALES_BLOCK;
  if (!a.load || !b.load || !c.store || g.a_rounding != TW_GEMM_A_EXACT)
    return tw_fail(error, TW_USAGE,
                   "no CUDA kernel for a=%s b=%s c=%s; use f32, f16, bf16, e4m3, e5m2 or i8, or weights of mxfp4, i4 "
                   "or ternary with packed=1",
                   tw_type_name(g.a), tw_type_name(g.b), tw_type_name(g.c));
  const char *sum = integer ? "int" : "float", *scaled = g.c == TW_I32 ? "int" : "float";
  tw_text s = {0};
  tw_text_add(&s,
              "// C = act(scale * (op(A) op(B) + D)), R x R elements of C for each thread: the baseline.\n"
              "//: kernel gemm\n//: let TX = 16, R = %d, BM = TX * R, BK = 16\n"
              "//: grid ceildiv(n, BM), ceildiv(m, BM)\n//: block TX, TX\n"
              "//: args A, B, %s%sC, m, n, k, i64(lda), i64(ldb), %si64(ldc), f32(scale)\n\n",
              elements_of_a_thread(&g), g.scales ? "SA, SB, " : "", bias ? "D, " : "", bias ? "i64(ldd), " : "");
  tw_text_add(&s, "static __device__ %s load_a(%s x) { %s }\nstatic __device__ %s load_b(%s x) { %s }\n", sum, a.stored,
              a.load, sum, b.stored, b.load);
  tw_text_add(&s, "static __device__ %s store_c(%s x) { %s }\n\n", c.stored, scaled, c.store);
  tw_text_add(&s,
              "extern \"C\" __global__ void __launch_bounds__(TX * TX)\n"
              "gemm(const %s *A, const %s *B, ",
              a.stored, b.stored);
  if (g.scales) tw_text_add(&s, "const float *SA, const float *SB, ");
  if (bias) tw_text_add(&s, "const %s *D, ", sum);
  tw_text_add(&s, "%s *C, int m, int n, int k, long long lda, long long ldb, %slong long ldc, float scale) {\n",
              c.stored, bias ? "long long ldd, " : "");
  tw_text_add(&s,
              "  __shared__ %s as[BK][BM + 1], bs[BK][BM + 1];\n"
              "  const int t = threadIdx.y * TX + threadIdx.x;\n  %s sums[R][R] = {}%s;\n"
              "  for (int p0 = 0; p0 < k; p0 += BK) {\n    __syncthreads();\n",
              sum, sum, blocks ? ", some[R][R] = {}" : "");
  add_load(&s, 'A', !g.a_transposed, "i", "m", g.a_transposed ? "q * lda + i" : "i * lda + q");
  add_load(&s, 'B', g.b_transposed, "j", "n", g.b_transposed ? "j * ldb + q" : "q * ldb + j");
  tw_text_add(&s,
              "    __syncthreads();\n    for (int p = 0; p < BK; p++)\n#pragma unroll\n"
              "      for (int y = 0; y < R; y++)\n#pragma unroll\n        for (int x = 0; x < R; x++)\n"
              "          %s[y][x] += as[p][threadIdx.y + y * TX] * bs[p][threadIdx.x + x * TX];\n",
              blocks ? "some" : "sums");
  if (blocks) add_scaled(&s, &g);
  tw_text_add(&s,
              "  }\n#pragma unroll\n  for (int e = 0; e < R * R; e++) {\n"
              "    const int i = blockIdx.y * BM + threadIdx.y + e / R * TX;\n"
              "    const int j = blockIdx.x * BM + threadIdx.x + e %% R * TX;\n    if (i >= m || j >= n) continue;\n"
              "    %s sum = sums[e / R][e %% R];\n",
              sum);
  if (g.scales && !blocks)
    tw_text_add(&s, g.scales == TW_GEMM_SCALES_ROW ? "    sum *= SA[i] * SB[j];\n" : "    sum *= SA[0] * SB[0];\n");
  if (bias) tw_text_add(&s, "    sum += D[%sj];\n", g.bias == TW_GEMM_BIAS_FULL ? "i * ldd + " : "");
  tw_text_add(&s, "    %s x = %ssum;\n", scaled, g.c == TW_I32 ? "" : "scale * ");
  if (g.gelu == TW_GELU_ERF) tw_text_add(&s, "    x = 0.5f * x * (1.f + erff(x * 0.707106781f));\n");
  if (g.gelu == TW_GELU_TANH)
    tw_text_add(&s, "    x = 0.5f * x * (1.f + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));\n");
  if (g.relu) tw_text_add(&s, "    x = x > 0 ? x : 0;\n");
  tw_text_add(&s, "    C[i * ldc + j] = store_c(x);\n  }\n}\n");
  *source = tw_text_take(&s);
  return *source ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
}

bool cuda_has_plain(const tw_problem *p) { return strcmp(p->op->name, "gemm") == 0 && !tw_gemm_of(p).packed; }

tw_status cuda_plain(const tw_problem *p, char **source, tw_error *error) { return gemm(p, source, error); }
