/* test_gemm_gpu.c - what gemm has for GPUs: e4m3 and e5m2 with scales, tf32, sums in 14 bits, GELU; plain loops as a
 * second reference, kernels as they compute, planted errors. */
#include "op_fixture.h"

#include <math.h>

#include "op/gemm_problem.h"
#include "op/gemm_values.h"

typedef enum kernel_plan {
  RIGHT,
  NO_SCALE_A,
  NO_SCALE_B,
  NEXT_BLOCK,
  TF32,
  CUT14,
  NO_ACTIVATION,
  NEXT_POSITION
} kernel_plan;

static float scale_of(const op_run *r, const tw_gemm *g, bool of_b, int64_t line, int64_t p, kernel_plan plan) {
  if (!g->scales || plan == (of_b ? NO_SCALE_B : NO_SCALE_A)) return 1;
  const float *s = r->actual[of_b ? 3 : 2];
  const int64_t blocks = (g->k + 127) / 128, lines = of_b ? (g->n + 127) / 128 : g->m;
  const int64_t block = plan == NEXT_BLOCK ? (p / 128 + 1) % blocks : p / 128, at = of_b ? line / 128 : line;
  const bool k_first = of_b ? !g->b_transposed : g->a_transposed;
  return g->scales == TW_GEMM_SCALES_TENSOR ? s[0]
         : g->scales == TW_GEMM_SCALES_ROW  ? s[line]
         : k_first                          ? s[block * lines + at]
                                            : s[at * blocks + block];
}

static float cut(float x, int bits) {
  uint32_t u;
  memcpy(&u, &x, 4);
  u &= ~UINT32_C(0) << bits;
  memcpy(&x, &u, 4);
  return x;
}

/* As GPUs do it: products of 32 are summed, the sum kept in binary32 (or cut), scaled and promoted each 128 of k. */
static float element(const op_run *r, const tw_gemm *g, int64_t i, int64_t j, kernel_plan plan) {
  float sum = 0;
  const int64_t promoted = plan == CUT14 ? g->k : 128; /* scales of blocks need it at 128 */
  for (int64_t block = 0; block < g->k; block += promoted) {
    float part = 0;
    for (int64_t p = block; p < block + promoted && p < g->k; p++) {
      float a = (float)op_get(r, 0, g->a_transposed ? p * g->lda + i : i * g->lda + p),
            b = (float)op_get(r, 1, g->b_transposed ? j * g->ldb + p : p * g->ldb + j);
      if (plan == TF32) a = cut(a, 13), b = cut(b, 13);
      part += a * b;
      if (plan == CUT14 && p % 32 == 31) part = cut(part, 10);
    }
    sum += part * (scale_of(r, g, false, i, block, plan) * scale_of(r, g, true, j, block, plan));
  }
  return sum;
}

/* The sum at (i, j), rotated as its head's pair is; NO_ACTIVATION turns the other way. */
static float rotated(const op_run *r, const tw_gemm *g, int64_t i, int64_t j, float sum, kernel_plan plan) {
  if (j >= g->heads * g->head) return sum;
  const bool halves = g->rotary == TW_GEMM_ROTARY_HALVES;
  const int64_t e = j % g->head, half = g->head / 2, p = halves ? e % half : e / 2;
  const bool first = halves ? e < half : e % 2 == 0;
  const int64_t other = halves ? (first ? j + half : j - half) : (first ? j + 1 : j - 1);
  const int64_t at = (i + (plan == NEXT_POSITION)) % g->positions * half + p;
  const float cosine = (float)op_get(r, 2, at), sine = (float)op_get(r, 3, at);
  const float turn = first == (plan == NO_ACTIVATION) ? sine : -sine;
  return sum * cosine + g->scale * element(r, g, i, other, plan) * turn;
}

/* act and its slope by a difference; NO_ACTIVATION: of the identity. */
static double act(const tw_gemm *g, double x, kernel_plan plan) {
  return plan == NO_ACTIVATION ? x : tw_gemm_act(g->glu, x);
}
static double slope(const tw_gemm *g, double x, kernel_plan plan) {
  const double h = 0x1p-14;
  return (act(g, x + h, plan) - act(g, x - h, plan)) / (2 * h);
}

/* A gated unit with its sums, or its gradient; NEXT_POSITION: gradients in the wrong order. */
static void gate(const op_run *r, const tw_gemm *g, kernel_plan plan) {
  const size_t d = tw_gemm_d_index(g), c = tw_gemm_c_index(g);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      double out[3];
      if (g->glu_pass == TW_GLU_SUMS) {
        out[0] = (double)element(r, g, i, j, plan);
        out[1] = (double)element(r, g, i, g->n + j, plan);
        out[2] = act(g, out[0], plan) * out[1];
      } else {
        const double sum = (double)element(r, g, i, j, plan), z = op_get(r, d, i * g->ldd + j);
        const bool turned = plan == NEXT_POSITION;
        out[turned] = sum * op_get(r, d, i * g->ldd + g->n + j) * slope(g, z, plan);
        out[!turned] = sum * act(g, z, plan);
      }
      for (int64_t h = 0; h < tw_gemm_c_columns(g) / g->n; h++) op_put(r, c, i * g->ldc + h * g->n + j, out[h]);
    }
}

static void multiply(const op_run *r, kernel_plan plan) {
  const tw_gemm g = tw_gemm_of(&r->problem);
  if (g.glu_pass) {
    gate(r, &g, plan);
    return;
  }
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j++) {
      float x = element(r, &g, i, j, plan);
      if (g.bias == TW_GEMM_BIAS_ROW) x += (float)op_get(r, tw_gemm_d_index(&g), j);
      if (g.bias == TW_GEMM_BIAS_FULL) x += (float)op_get(r, tw_gemm_d_index(&g), i * g.ldd + j);
      x *= g.scale;
      if (g.rotary)
        x = rotated(r, &g, i, j, x, plan);
      else if (g.glu) {
        const float gate = plan == NO_ACTIVATION ? x : (float)tw_gemm_act(g.glu, (double)x);
        x = gate * element(r, &g, i, g.n + j, plan);
      } else if (plan == NO_ACTIVATION)
        x += 0;
      else if (g.gelu == TW_GELU_ERF)
        x = 0.5f * x * (1 + erff(x * 0.70710678f));
      else if (g.gelu == TW_GELU_TANH)
        x = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
      op_put(r, tw_gemm_c_index(&g), i * g.ldc + j, (double)x);
    }
}

static void expect_plan(const char *text, kernel_plan plan, bool right) {
  op_run r;
  void *buffer[TW_OPERANDS_MAX];
  tw_error error = {0};
  op_run_make(&r, text, 3);
  memcpy(buffer, r.data.buffer, sizeof buffer);
  r.problem.op->reference(&r.problem, buffer, 2);
  multiply(&r, plan);
  const tw_status status = r.problem.op->compare(&r.problem, r.data.buffer, r.actual, &error);
  if ((status == TW_OK) != right) fail_msg("%s, plan %d: %s", text, plan, right ? error.text : "right");
  tw_coverage c;
  const tw_effort all = {.budget = 1e18, .seed = 1, .threads = 2};
  if ((tw_case_check(&r.data, r.actual, &all, &c, &error) == TW_OK) != right)
    fail_msg("%s, plan %d, exact elements: %s", text, plan, right ? error.text : "right");
  op_run_free(&r);
}

static void float8_with_every_kind_of_scales(void **state) {
  static const char *const turned[] = {"", " b_transposed=1", " a_transposed=1 b_transposed=1 bias=row scale=0.5"};
  static const char *const types[] = {" a=e4m3 b=e4m3 c=bf16 acc=f32", " a=e5m2 b=e4m3 c=f32 acc=f32"};
  static const char *const scales[] = {"tensor", "row", "block"};
  for (int t = 0; t < 3; t++)
    for (int u = 0; u < 2; u++) {
      char text[256];
      snprintf(text, sizeof text, "gemm m=9 n=200 k=300%s%s", turned[t], types[u]);
      expect_plan(text, RIGHT, true);
      for (int s = 0; s < 3; s++) {
        snprintf(text, sizeof text, "gemm m=9 n=200 k=300%s scales=%s%s", turned[t], scales[s], types[u]);
        expect_plan(text, RIGHT, true);
        expect_plan(text, NO_SCALE_A, false);
        expect_plan(text, NO_SCALE_B, false);
        if (s == 2) expect_plan(text, NEXT_BLOCK, false);
      }
    }
}

static void sums_in_14_bits_pass_where_they_are_allowed(void **state) {
  expect_plan("gemm m=9 n=20 k=2048 b_transposed=1 a=e4m3 b=e4m3 c=f32 acc=f32", CUT14, false);
  expect_plan("gemm m=9 n=20 k=2048 b_transposed=1 arithmetic=fast_accum a=e4m3 b=e4m3 c=f32 acc=f32", CUT14, true);
  expect_plan("gemm m=9 n=20 k=2048 arithmetic=fast_accum scales=row a=e4m3 b=e4m3 c=bf16 acc=f32", CUT14, true);
  expect_plan("gemm m=9 n=20 k=2048 arithmetic=fast_accum scales=row a=e4m3 b=e4m3 c=bf16 acc=f32", NO_SCALE_B, false);
}

static void tf32_passes_where_it_is_allowed(void **state) {
  expect_plan("gemm m=9 n=20 k=50 a=f32 b=f32 c=f32 acc=f32", TF32, false);
  expect_plan("gemm m=9 n=20 k=50 arithmetic=tf32 a=f32 b=f32 c=f32 acc=f32", TF32, true);
  expect_plan("gemm m=9 n=20 k=4000 arithmetic=tf32 a=f32 b=f32 c=f32 acc=f32", TF32, true);
  expect_plan("gemm m=9 n=20 k=4000 arithmetic=tf32 a=f32 b=f32 c=f32 acc=f32", RIGHT, true);
}

static void gelu_is_what_its_formulas_say(void **state) {
  const tw_gemm g = {.c = TW_F32, .scale = 1, .gelu = TW_GELU_ERF}, h = {.c = TW_F32, .scale = 1, .gelu = TW_GELU_TANH};
  assert_true(fabs(tw_gemm_finish(&g, 1) - 0.8413447460685429) < 1e-15); /* the normal distribution at 1 */
  assert_true(fabs(tw_gemm_finish(&g, -1) + 0.15865525393145707) < 1e-15);
  assert_true(fabs(tw_gemm_finish(&h, 1) - 0.8411919906082768) < 1e-15);
  for (int i = 0; i < 2; i++) {
    static const char *const texts[] = {"gemm m=20 n=30 k=40 bias=row gelu=erf a=bf16 b=bf16 c=bf16 acc=f32",
                                        "gemm m=20 n=30 k=40 bias=row gelu=tanh a=f32 b=f32 c=f32 acc=f32"};
    expect_plan(texts[i], RIGHT, true);
    expect_plan(texts[i], NO_ACTIVATION, false);
  }
}

static void gated_units_are_what_their_formulas_say(void **state) {
  assert_true(fabs(tw_gemm_act(TW_GLU_SILU, 1) - 0.7310585786300049) < 1e-15);
  assert_true(fabs(tw_gemm_act(TW_GLU_SILU, -2) + 0.2384058440442351) < 1e-15);
  assert_true(fabs(tw_gemm_act(TW_GLU_GELU_ERF, 1) - 0.8413447460685429) < 1e-15);
  assert_true(fabs(tw_gemm_act(TW_GLU_GELU_TANH, 1) - 0.8411919906082768) < 1e-15);
  static const char *const texts[] = {"gemm m=20 n=30 k=40 glu=silu a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
                                      "gemm m=20 n=30 k=300 glu=gelu_erf a=f32 b=f32 c=f32 acc=f32",
                                      "gemm m=9 n=30 k=40 glu=gelu_tanh a=f16 b=f16 c=f32 acc=f32 a_transposed=1",
                                      "gemm m=9 n=3000 k=64 glu=silu a=f32 b=f32 c=f32 acc=f32 b_transposed=1"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_plan(texts[i], RIGHT, true);
    expect_plan(texts[i], NO_ACTIVATION, false);
  }
  static const char *const passes[] = {
      "gemm m=20 n=30 k=40 glu=silu glu_pass=sums a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
      "gemm m=9 n=30 k=300 glu=gelu_tanh glu_pass=sums ldc=95 a=f32 b=f32 c=f32 acc=f32",
      "gemm m=20 n=30 k=40 glu=silu glu_pass=backward ldd=90 a=bf16 b=bf16 c=bf16 acc=f32",
      "gemm m=9 n=300 k=70 glu=gelu_erf glu_pass=backward a=f16 b=f16 c=f16 acc=f32 b_transposed=1",
      "gemm m=9 n=30 k=300 glu=gelu_tanh glu_pass=backward ldc=67 a=bf16 b=bf16 c=bf16 acc=f32 a_transposed=1"};
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    expect_plan(passes[i], RIGHT, true);
    expect_plan(passes[i], NO_ACTIVATION, false);
    if (i > 1) expect_plan(passes[i], NEXT_POSITION, false);
  }
  op_expect_refused("gemm m=4 n=4 k=4 glu_pass=sums a=f32 b=f32 c=f32 acc=f32", "glu_pass requires glu");
  op_expect_refused("gemm m=4 n=4 k=4 glu=silu glu_pass=sums ldc=11 a=f32 b=f32 c=f32 acc=f32", "ldc=11");
  op_expect_refused("gemm m=4 n=4 k=4 glu=silu glu_pass=backward ldd=7 a=f32 b=f32 c=f32 acc=f32", "ldd=7");
  expect_plan("gemm m=20 n=30 k=40 bias=full d=c a=bf16 b=bf16 c=bf16 acc=f32", RIGHT, true);
  expect_plan("gemm m=20 n=30 k=40 bias=row d=c a=f16 b=f16 c=f16 acc=f32", RIGHT, true);
  op_expect_refused("gemm m=4 n=4 k=4 glu=silu gelu=erf a=f32 b=f32 c=f32 acc=f32", "glu needs");
  op_expect_refused("gemm m=4 n=4 k=4 glu=silu bias=row a=f32 b=f32 c=f32 acc=f32", "glu needs");
  op_expect_refused("gemm m=4 n=4 k=4 glu=silu a=i8 b=i8 c=f32 acc=i32", "glu needs");
  op_expect_refused("gemm m=4 n=4 k=4 d=c a=bf16 b=bf16 c=bf16 acc=f32", "d=c needs a bias");
  op_expect_refused("gemm m=4 n=4 k=4 d=c bias=row a=i8 b=i8 c=i8 acc=i32", "d=c needs");
}

static void pairs_are_rotated_by_their_positions(void **state) {
  static const char *const texts[] = {
      "gemm m=20 n=40 k=40 rotary=halves head=8 heads=4 positions=7 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
      "gemm m=9 n=48 k=300 rotary=interleaved head=6 heads=8 positions=9 scale=0.5 a=f32 b=f32 c=f32 acc=f32",
      "gemm m=12 n=3000 k=64 rotary=halves head=1000 heads=2 positions=5 a=f16 b=f16 c=f16 acc=f32 a_transposed=1 "
      "ldc=3001"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_plan(texts[i], RIGHT, true);
    expect_plan(texts[i], NO_ACTIVATION, false);
    expect_plan(texts[i], NEXT_POSITION, false);
  }
  op_expect_refused("gemm m=4 n=8 k=4 rotary=halves head=3 heads=1 positions=4 a=f32 b=f32 c=f32 acc=f32", "even");
  op_expect_refused("gemm m=4 n=8 k=4 rotary=halves head=4 heads=3 positions=4 a=f32 b=f32 c=f32 acc=f32",
                    "at most n=8");
  op_expect_refused("gemm m=4 n=8 k=4 rotary=halves head=4 heads=2 a=f32 b=f32 c=f32 acc=f32", "positions=0");
  op_expect_refused("gemm m=4 n=8 k=4 head=4 a=f32 b=f32 c=f32 acc=f32", "require rotary");
  op_expect_refused("gemm m=4 n=8 k=4 rotary=halves head=4 heads=1 positions=4 relu=1 a=f32 b=f32 c=f32 acc=f32",
                    "rotary needs");
  op_expect_refused("gemm m=4 n=8 k=4 rotary=halves head=4 heads=1 positions=4 glu=silu a=f32 b=f32 c=f32 acc=f32",
                    "or rotary");
  op_expect_refused("gemm m=4 n=8 k=4 rotary=halves head=4 heads=1 positions=4 a=i8 b=i8 c=f32 acc=i32",
                    "rotary needs");
}

/* A as the format makes it, in blocks of 32 of a row, then plain sums; `rule` is what the kernel does. */
static void expect_quantized(const char *text, tw_type type, tw_scale_rule rule, bool right) {
  op_run r;
  tw_error error = {0};
  op_run_make(&r, text, 3);
  const tw_gemm g = tw_gemm_of(&r.problem);
  const tw_packing packing = {.format = tw_format_of_type(type), .rule = rule};
  float *a = malloc((size_t)g.k * sizeof *a);
  char codes[4096], scales[256];
  for (int64_t i = 0; i < g.m; i++) {
    for (int64_t p = 0; p < g.k; p++) a[p] = (float)op_get(&r, 0, g.a_transposed ? p * g.lda + i : i * g.lda + p);
    if (type != TW_F32) {
      assert_int_equal(tw_format_encode(&packing, 1, (size_t)g.k, a, (size_t)g.k, codes, scales, &error), TW_OK);
      assert_int_equal(tw_format_decode(&packing, 1, (size_t)g.k, codes, scales, a, (size_t)g.k, &error), TW_OK);
    }
    for (int64_t j = 0; j < g.n; j++) {
      float sum = 0;
      for (int64_t p = 0; p < g.k; p++)
        sum += a[p] * (float)op_get(&r, 1, g.b_transposed ? j * g.ldb + p : p * g.ldb + j);
      op_put(&r, 2, i * g.ldc + j, (double)sum);
    }
  }
  free(a);
  void *buffer[TW_OPERANDS_MAX];
  memcpy(buffer, r.data.buffer, sizeof buffer);
  r.problem.op->reference(&r.problem, buffer, 2);
  const tw_status status = r.problem.op->compare(&r.problem, r.data.buffer, r.actual, &error);
  if ((status == TW_OK) != right) fail_msg("%s: %s", text, right ? error.text : "right");
  op_run_free(&r);
}

static void activations_are_quantized_to_the_bit(void **state) {
  static const struct {
    const char *text;
    tw_type type;
    tw_scale_rule rule;
  } cases[] = {
      {"gemm m=9 n=20 k=1100 quantize=mxfp4 a=bf16 b=mxfp4 c=bf16 acc=f32", TW_MXFP4, TW_RULE_FLOOR},
      {"gemm m=9 n=20 k=70 quantize=mxfp4 scale_rule=even a_transposed=1 b_transposed=1 a=bf16 b=mxfp4 c=f32 acc=f32",
       TW_MXFP4, TW_RULE_EVEN},
      {"gemm m=9 n=20 k=96 quantize=mxfp6 scale_rule=up a=f16 b=mxfp8 c=f32 acc=f32", TW_MXFP6, TW_RULE_UP}};
  for (int i = 0; i < 3; i++) {
    expect_quantized(cases[i].text, cases[i].type, cases[i].rule, true);
    expect_quantized(cases[i].text, TW_F32, cases[i].rule, false);
    expect_quantized(cases[i].text, cases[i].type, cases[i].rule == TW_RULE_UP ? TW_RULE_FLOOR : TW_RULE_UP, false);
  }
  expect_quantized("gemm m=9 n=20 k=96 a=mxfp4 b=mxfp4 c=bf16 acc=f32", TW_MXFP4, TW_RULE_FLOOR, true);
  expect_quantized("gemm m=9 n=20 k=96 a=mxfp8 b=mxfp4 c=f32 acc=f32", TW_F32, TW_RULE_FLOOR, true);
  const tw_problem p = op_problem("gemm m=32 n=64 k=128 a=mxfp4 b=mxfp4 c=bf16 acc=f32");
  assert_true(p.op->bytes(&p) == 32 * 128 / 2 + 64 * 128 / 2 + 32 * 64 * 2);
}

/* One weight from its codes and scale, as docs/reference/formats.md draws them. `off` takes the scale of another
 * group. */
static float weight(const op_run *r, const tw_gemm *g, int64_t j, int64_t p, int off) {
  static const float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const tw_operand *codes = &r->data.operand[1], *scales = &r->data.operand[2];
  const uint8_t *row = (const uint8_t *)r->actual[1] + j * codes->dims[1];
  const int64_t group = g->b == TW_MXFP4 ? 32 : g->group ? g->group : g->k;
  const int64_t at = j * scales->dims[1] + (p / group + off) % scales->dims[1];
  if (g->b == TW_TERNARY)
    return (float)((row[p / 128 * 32 + p % 32] >> (6 - p % 128 / 32 * 2) & 3) - 1) * ((const float *)r->actual[2])[at];
  const int nibble = row[p / 2] >> p % 2 * 4 & 15;
  if (g->b == TW_I4) return (float)((nibble ^ 8) - 8) * ((const float *)r->actual[2])[at];
  return (nibble & 8 ? -1 : 1) * e2m1[nibble & 7] * ldexpf(1, ((const uint8_t *)r->actual[2])[at] - 127);
}

static void expect_packed(const char *text, int off, bool right) {
  op_run r;
  void *buffer[TW_OPERANDS_MAX];
  tw_error error = {0};
  op_run_make(&r, text, 3);
  memcpy(buffer, r.data.buffer, sizeof buffer);
  r.problem.op->reference(&r.problem, buffer, 2);
  const tw_gemm g = tw_gemm_of(&r.problem);
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j++) {
      float sum = 0;
      for (int64_t p = 0; p < g.k; p++) sum += (float)op_get(&r, 0, i * g.lda + p) * weight(&r, &g, j, p, off);
      if (g.bias == TW_GEMM_BIAS_ROW) sum += (float)op_get(&r, tw_gemm_d_index(&g), j);
      op_put(&r, tw_gemm_c_index(&g), i * g.ldc + j, (double)sum);
    }
  if ((r.problem.op->compare(&r.problem, r.data.buffer, r.actual, &error) == TW_OK) != right)
    fail_msg("%s: %s", text, right ? error.text : "right");
  tw_coverage c;
  const tw_effort some = {.budget = 1e4, .seed = 1, .threads = 2};
  if ((tw_case_check(&r.data, r.actual, &some, &c, &error) == TW_OK) != right)
    fail_msg("%s, a sample and signed sums: %s", text, right ? error.text : "right");
  op_run_free(&r);
}

static void packed_weights_are_what_their_format_says(void **state) {
  static const char *const cases[] = {"gemm m=5 n=70 k=200 packed=1 a=bf16 b=mxfp4 c=f32 acc=f32",
                                      "gemm m=3 n=40 k=192 packed=1 group=64 bias=row a=bf16 b=i4 c=bf16 acc=f32",
                                      "gemm m=3 n=40 k=300 packed=1 a=f32 b=ternary c=f32 acc=f32"};
  for (int i = 0; i < 3; i++) expect_packed(cases[i], 0, true);
  for (int i = 0; i < 2; i++) expect_packed(cases[i], 1, false);
  const tw_problem p = op_problem(cases[0]);
  assert_true(p.op->bytes(&p) == 5 * 200 * 2 + 70 * (7 * 16 + 7) + 5 * 70 * 4);
}

static void impossible_problems_are_refused(void **state) {
  op_expect_refused("gemm m=4 n=4 k=4 gelu=erf relu=1 a=f32 b=f32 c=f32 acc=f32", "exclude each other");
  op_expect_refused("gemm m=4 n=4 k=4 gelu=erf a=i8 b=i8 c=i8 acc=i32", "gelu needs c");
  op_expect_refused("gemm m=4 n=4 k=4 scales=row a=f32 b=f32 c=f32 acc=f32", "scales needs");
  op_expect_refused("gemm m=4 n=4 k=4 arithmetic=tf32 a=f16 b=f16 c=f32 acc=f32", "needs a=f32 b=f32");
  op_expect_refused("gemm m=4 n=4 k=4 arithmetic=fast_accum a=f16 b=f16 c=f32 acc=f32", "e4m3 or e5m2");
  op_expect_refused("gemm m=4 n=4 k=4 quantize=mxfp4 a=bf16 b=bf16 c=f32 acc=f32", "quantize requires");
  op_expect_refused("gemm m=4 n=4 k=4 scale_rule=even a=bf16 b=mxfp4 c=f32 acc=f32", "requires quantize=");
  op_expect_refused("gemm m=4 n=4 k=4 packed=1 a=bf16 b=bf16 c=f32 acc=f32", "packed=1 needs");
  op_expect_refused("gemm m=4 n=4 k=4 packed=1 a=i8 b=i4 c=i32 acc=i32", "packed=1 needs");
  op_expect_refused("gemm m=4 n=4 k=64 packed=1 ldb=96 a=bf16 b=mxfp4 c=f32 acc=f32", "have no gaps");
  op_expect_refused("gemm m=4 n=4 k=4 a=e4m3 b=bf16 c=f32 acc=f32", "with a=e4m3 it knows b=e4m3|e5m2");
  op_expect_refused("gemm m=4 n=4 k=4 a=e4m3fnuz b=e4m3 c=f32 acc=f32", "with a=e4m3fnuz it knows b=e4m3fnuz");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(float8_with_every_kind_of_scales),
      cmocka_unit_test(sums_in_14_bits_pass_where_they_are_allowed),
      cmocka_unit_test(tf32_passes_where_it_is_allowed),
      cmocka_unit_test(gelu_is_what_its_formulas_say),
      cmocka_unit_test(gated_units_are_what_their_formulas_say),
      cmocka_unit_test(pairs_are_rotated_by_their_positions),
      cmocka_unit_test(activations_are_quantized_to_the_bit),
      cmocka_unit_test(packed_weights_are_what_their_format_says),
      cmocka_unit_test(impossible_problems_are_refused),
  };
  return cmocka_run_group_tests_name("gemm, GPUs", tests, NULL, NULL);
}
