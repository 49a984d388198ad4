/* test_attention.c - the attention op: known answers, whole matrices in double as a second reference, kernels in
 * binary32 with P and dS rounded as FlashAttention rounds them, planted errors, samples of large outputs. */
#include "op_fixture.h"

#include <math.h>

#include "op/attention.h"

typedef enum kernel_plan {
  RIGHT,
  WRONG_SCALE,
  MASK_OFF_BY_ONE,
  TOP_LEFT_MASK,
  DROPPED_KEY,
  WINDOW_OFF_BY_ONE,
  OTHER_HEAD,
  NO_MAXIMUM,
  LSE_BASE_2,
  NO_SOFTCAP,
  ALL_KEYS,
  PAGES_IN_ORDER,
  FORWARD_PLANS,
  NO_DELTA = FORWARD_PLANS,
  OWN_LSE,
  NO_GROUP_SUM,
  UNSCALED_DK,
  PLANS
} kernel_plan;

static int64_t q_at(const tw_attention *a, int64_t b, int64_t i, int64_t h) {
  return ((b * a->queries + i) * a->query_heads + h) * a->d;
}
static int64_t k_at(const tw_attention *a, int64_t b, int64_t j, int64_t h) {
  return a->pitch ? (b * a->keys + j) * a->pitch + h * a->d : ((b * a->keys + j) * a->key_heads + h) * a->d;
}
/* The first element of a key of a sequence that has lengths or pages. */
static int64_t kept_at(const op_run *r, const tw_attention *a, int64_t b, int64_t j, int64_t h, kernel_plan plan) {
  if (a->tokens) return (((int64_t)op_get(r, 5, b) + j) * a->key_heads + h) * a->d;
  if (!a->page) return k_at(a, b, j, h);
  const int64_t pages = (a->keys + a->page - 1) / a->page, nth = b * pages + j / a->page;
  const int64_t page = plan == PAGES_IN_ORDER ? nth : (int64_t)op_get(r, a->has_lengths ? 6 : 5, nth);
  return ((page * a->page + j % a->page) * a->key_heads + h) * a->d;
}
static int64_t lse_at(const tw_attention *a, int64_t b, int64_t i, int64_t h) {
  return (b * a->query_heads + h) * a->queries + i;
}

static int64_t key_head(const tw_attention *a, int64_t head, kernel_plan plan) {
  return plan == OTHER_HEAD ? head % a->key_heads : head / a->group;
}

static bool sees(const tw_attention *a, int64_t i, int64_t j, kernel_plan plan) {
  if (plan == DROPPED_KEY && j == a->keys / 2) return false;
  if (!a->causal) return true;
  if (a->window && j <= i + a->keys - a->queries - a->window - (plan == WINDOW_OFF_BY_ONE)) return false;
  return j - (plan == TOP_LEFT_MASK ? 0 : a->keys - a->queries) <= i + (plan == MASK_OFF_BY_ONE);
}

static float rounded(tw_type type, float x) {
  uint32_t stored = 0;
  tw_set_element(type, &stored, 0, (double)x);
  return (float)tw_element(type, &stored, 0);
}

static bool cuts; /* operands are rounded to bf16: arithmetic=bf16 */

static float operand(const op_run *r, size_t x, int64_t at) {
  const float value = (float)op_get(r, x, at);
  return cuts ? rounded(TW_BF16, value) : value;
}

static float product(const op_run *r, size_t x, int64_t x_at, size_t y, int64_t y_at, int64_t d) {
  float sum = 0;
  for (int64_t c = 0; c < d; c++) sum += operand(r, x, x_at + c) * operand(r, y, y_at + c);
  return sum;
}

static void forward(const op_run *r, kernel_plan plan) {
  const tw_attention all = tw_attention_of(&r->problem);
  const float scale = (float)all.scale * (plan == WRONG_SCALE ? 1.01f : 1), cap = (float)all.softcap;
  float *s = malloc((size_t)all.keys * sizeof *s);
  cuts = all.is_cut;
  for (int64_t b = 0; b < all.batches; b++) {
    tw_attention a = all; /* of the sequence; places of its keys are those of the problem */
    if (a.has_lengths && plan != ALL_KEYS) a.keys = (int64_t)op_get(r, 5, b);
    const int64_t start = a.tokens ? (int64_t)op_get(r, 5, b) : 0;
    if (a.tokens) a.queries = a.keys = (int64_t)op_get(r, 5, b + 1) - start;
    for (int64_t h = 0; h < a.query_heads; h++)
      for (int64_t i = 0; i < a.queries; i++) {
        const int64_t kh = key_head(&a, h, plan),
                      o_at = a.tokens ? ((start + i) * a.query_heads + h) * a.d : q_at(&a, b, i, h),
                      q = a.pitch ? (b * a.queries + i) * a.pitch + h * a.d : o_at;
        float most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < a.keys; j++) {
          s[j] = sees(&a, i, j, plan)
                     ? scale * product(r, TW_ATTENTION_Q, q, TW_ATTENTION_K, kept_at(r, &all, b, j, kh, plan), a.d)
                     : -INFINITY;
          if (cap > 0 && plan != NO_SOFTCAP && s[j] > -INFINITY) s[j] = cap * tanhf(s[j] / cap);
          most = fmaxf(most, s[j]);
        }
        if (plan == NO_MAXIMUM) most = 0;
        for (int64_t j = 0; j < a.keys; j++) sum += s[j] = expf(s[j] - most);
        for (int64_t c = 0; c < a.d; c++) {
          float o = 0;
          for (int64_t j = 0; j < a.keys; j++)
            o += rounded(cuts ? TW_BF16 : a.type, s[j]) *
                 operand(r, TW_ATTENTION_V, kept_at(r, &all, b, j, kh, plan) + c);
          op_put(r, TW_ATTENTION_O, o_at + c, (double)(o / sum));
        }
        op_put(r, TW_ATTENTION_LSE, a.tokens ? h * a.tokens + start + i : lse_at(&a, b, i, h),
               (double)((most + logf(sum)) * (plan == LSE_BASE_2 ? (float)M_LOG2E : 1)));
      }
  }
  free(s);
}

/* P and dS of one head. */
static void gradients(const op_run *r, const tw_attention *a, int64_t b, int64_t h, kernel_plan plan, float *p,
                      float *ds) {
  const int64_t kh = key_head(a, h, plan);
  const float scale = (float)a->scale * (plan == WRONG_SCALE ? 1.01f : 1);
  for (int64_t i = 0; i < a->queries; i++) {
    float delta = product(r, TW_ATTENTION_DO, q_at(a, b, i, h), TW_ATTENTION_O, q_at(a, b, i, h), a->d), sum = 0,
          lse = (float)op_get(r, TW_ATTENTION_LSE, lse_at(a, b, i, h));
    if (plan == NO_DELTA) delta = 0;
    for (int64_t j = 0; j < a->keys; j++) {
      const float s = scale * product(r, TW_ATTENTION_Q, q_at(a, b, i, h), TW_ATTENTION_K, k_at(a, b, j, kh), a->d);
      p[i * a->keys + j] = sees(a, i, j, plan) ? s : -INFINITY;
      sum += expf(p[i * a->keys + j] - lse);
    }
    if (plan == OWN_LSE) lse += logf(sum);
    for (int64_t j = 0; j < a->keys; j++) {
      float *x = &p[i * a->keys + j];
      *x = expf(*x - lse);
      const float dp = product(r, TW_ATTENTION_DO, q_at(a, b, i, h), TW_ATTENTION_V, k_at(a, b, j, kh), a->d);
      ds[i * a->keys + j] = rounded(a->type, *x * (dp - delta));
      *x = rounded(a->type, *x);
    }
  }
}

static void backward(const op_run *r, kernel_plan plan) {
  const tw_attention a = tw_attention_of(&r->problem);
  const float scale = (float)a.scale * (plan == WRONG_SCALE ? 1.01f : 1);
  const size_t size = (size_t)(a.batches * a.keys * a.key_heads * a.d);
  float *p = malloc((size_t)(2 * a.queries * a.keys) * sizeof *p), *ds = p + a.queries * a.keys;
  float *dk = calloc(2 * size, sizeof *dk), *dv = dk + size;
  for (int64_t b = 0; b < a.batches; b++)
    for (int64_t h = 0; h < a.query_heads; h++) {
      const int64_t kh = key_head(&a, h, plan);
      gradients(r, &a, b, h, plan, p, ds);
      for (int64_t i = 0; i < a.queries; i++)
        for (int64_t c = 0; c < a.d; c++) {
          float sum = 0;
          for (int64_t j = 0; j < a.keys; j++)
            sum += ds[i * a.keys + j] * (float)op_get(r, TW_ATTENTION_K, k_at(&a, b, j, kh) + c);
          op_put(r, TW_ATTENTION_DQ, q_at(&a, b, i, h) + c, (double)(scale * sum));
        }
      for (int64_t j = 0; j < a.keys; j++)
        for (int64_t c = 0; c < a.d; c++) {
          float *k = &dk[k_at(&a, b, j, kh) + c], *v = &dv[k_at(&a, b, j, kh) + c];
          if (plan == NO_GROUP_SUM) *k = *v = 0;
          for (int64_t i = 0; i < a.queries; i++) {
            *k += ds[i * a.keys + j] * (float)op_get(r, TW_ATTENTION_Q, q_at(&a, b, i, h) + c);
            *v += p[i * a.keys + j] * (float)op_get(r, TW_ATTENTION_DO, q_at(&a, b, i, h) + c);
          }
        }
    }
  for (size_t i = 0; i < size; i++) {
    op_put(r, TW_ATTENTION_DK, (int64_t)i, (double)(dk[i] * (plan == UNSCALED_DK ? 1 : scale)));
    op_put(r, TW_ATTENTION_DV, (int64_t)i, (double)dv[i]);
  }
  free(p);
  free(dk);
}

static void known_answers(void **state) {
  op_run r;
  op_run_make(&r, "attention b=1 hq=1 hkv=1 sq=1 sk=2 d=2 scale=1 a=f32", 1);
  memcpy(r.data.buffer[TW_ATTENTION_Q], (float[]){1, 0}, 8);
  memcpy(r.data.buffer[TW_ATTENTION_K], (float[]){logf(3), 5, 0, 7}, 16); /* weights of 3/4 and 1/4 */
  memcpy(r.data.buffer[TW_ATTENTION_V], (float[]){4, 0, 8, 4}, 16);
  op_run_reference(&r);
  assert_true(fabs(op_get(&r, TW_ATTENTION_O, 0) - 5) < 1e-6 && fabs(op_get(&r, TW_ATTENTION_O, 1) - 1) < 1e-6);
  assert_true(fabs(op_get(&r, TW_ATTENTION_LSE, 0) - log(4)) < 1e-6);
  op_expect(&r, NULL);
  op_run_free(&r);
}

/* The gradient is what the forward pass's outputs change by: central differences of sum(dO O). */
static void the_backward_pass_is_the_gradient_of_the_forward_pass(void **state) {
#define SHAPE " b=1 hq=4 hkv=2 sq=3 sk=5 d=4 causal=1 a=f32"
  op_run f, g;
  op_run_make(&f, "attention" SHAPE, 3);
  for (int64_t e = 0; e < 3 * 4 * 4; e++) { /* differences are too coarse for large queries */
    float *q = (float *)f.data.buffer[TW_ATTENTION_Q] + e;
    if (fabsf(*q) > 2) *q /= 64;
  }
  op_run_make(&g, "attention pass=backward" SHAPE, 3);
  for (int i = TW_ATTENTION_Q; i <= TW_ATTENTION_V; i++)
    memcpy(g.data.buffer[i], f.data.buffer[i], f.data.operand[i].bytes);
  op_run_reference(&f);
  for (int i = TW_ATTENTION_O; i <= TW_ATTENTION_LSE; i++)
    memcpy(g.data.buffer[i], f.actual[i], f.data.operand[i].bytes);
  op_run_reference(&g);
  for (int i = TW_ATTENTION_Q; i <= TW_ATTENTION_V; i++) {
    const int64_t n = (int64_t)(f.data.operand[i].bytes / 4);
    for (int64_t e = 0; e < n; e++) {
      float *x = (float *)f.data.buffer[i] + e;
      const float before = *x, step = 0x1p-8f;
      double difference = 0;
      for (int side = -1; side <= 1; side += 2) {
        *x = before + (float)side * step;
        op_run_reference(&f);
        for (int64_t c = 0; c < 3 * 4 * 4; c++)
          difference += side * op_get(&f, TW_ATTENTION_O, c) * op_get(&g, TW_ATTENTION_DO, c);
      }
      *x = before;
      const double slope = difference / (2 * (double)step),
                   gradient = op_get(&g, (size_t)(TW_ATTENTION_DQ + i - TW_ATTENTION_Q), e);
      if (!(fabs(slope - gradient) < 2e-3 * (1 + fabs(gradient))))
        fail_msg("%s[%d]: %g, by differences %g", f.data.operand[i].name, (int)e, gradient, slope);
    }
  }
  op_run_free(&f);
  op_run_free(&g);
}

static bool matters(const tw_attention *a, kernel_plan plan) {
  switch (plan) {
  case RIGHT: return false;
  case MASK_OFF_BY_ONE: return a->causal && a->keys > 1;
  case TOP_LEFT_MASK: return a->causal && a->keys != a->queries;
  case WINDOW_OFF_BY_ONE: return a->window && a->window < a->keys;
  case DROPPED_KEY: return a->keys > 1;
  case OTHER_HEAD: return a->key_heads > 1 && a->group > 1;
  case NO_GROUP_SUM: return a->group > 1;
  case NO_SOFTCAP: return a->softcap > 0;
  case ALL_KEYS: return a->has_lengths;
  case PAGES_IN_ORDER: return a->page;
  case NO_MAXIMUM: return a->softcap == 0 || a->softcap > 80; /* exponentials of smaller scores fit */
  default: return true;
  }
}

static void expect_plans(const char *text, void (*kernel)(const op_run *, kernel_plan), kernel_plan first,
                         kernel_plan last) {
  op_run r;
  op_run_make(&r, text, 5);
  const tw_attention a = tw_attention_of(&r.problem);
  kernel(&r, RIGHT);
  op_expect(&r, NULL);
  for (kernel_plan plan = first; plan < last; plan++) {
    tw_error error = {0};
    kernel(&r, plan);
    const bool right = r.problem.op->compare(&r.problem, r.data.buffer, r.actual, &error) == TW_OK;
    if (right == matters(&a, plan)) fail_msg("%s: plan %d: %s", text, plan, right ? "right" : error.text);
  }
  op_run_free(&r);
}

static void honest_forward_kernels_pass_and_wrong_ones_do_not(void **state) {
  static const char *const texts[] = {
      "attention b=2 hq=4 hkv=2 sq=33 sk=70 d=64 a=bf16",
      "attention b=1 hq=2 hkv=2 sq=65 sk=65 d=128 causal=1 a=bf16",
      "attention b=1 hq=4 hkv=2 sq=20 sk=300 d=32 causal=1 a=f16",
      "attention b=1 hq=2 hkv=1 sq=40 sk=40 d=16 a=f32",
      "attention b=2 hq=4 hkv=2 sq=20 sk=33 d=16 causal=1 pitch=140 a=bf16",
      "attention b=1 hq=2 hkv=1 sq=40 sk=70 d=16 causal=1 window=17 a=bf16",
      "attention b=1 hq=4 hkv=1 sq=40 sk=70 d=16 softcap=100 a=bf16",
      "attention b=1 hq=4 hkv=1 sq=40 sk=70 d=16 softcap=5 a=f32",
      "attention b=1 hq=4 hkv=2 sq=20 sk=90 d=32 lengths=1 a=bf16",
      "attention b=3 hq=2 hkv=1 sq=10 sk=90 d=32 causal=1 lengths=1 page=16 a=f16",
      "attention b=2 hq=4 hkv=2 sq=20 sk=70 d=16 causal=1 window=11 lengths=1 page=8 softcap=100 a=bf16",
      "attention b=4 hq=4 hkv=2 sq=40 sk=40 d=16 causal=1 tokens=120 a=bf16",
      "attention b=3 hq=2 hkv=1 sq=40 sk=40 d=32 tokens=100 a=f16",
  };
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t += (size_t)example_stride())
    expect_plans(texts[t], forward, RIGHT, FORWARD_PLANS);
}

static void honest_backward_kernels_pass_and_wrong_ones_do_not(void **state) {
  static const char *const texts[] = {
      "attention pass=backward b=1 hq=4 hkv=2 sq=33 sk=70 d=64 a=bf16",
      "attention pass=backward b=1 hq=1 hkv=1 sq=65 sk=65 d=128 causal=1 a=bf16",
      "attention pass=backward b=1 hq=4 hkv=2 sq=20 sk=100 d=32 causal=1 a=f16",
      "attention pass=backward b=2 hq=2 hkv=1 sq=40 sk=40 d=16 a=f32",
      "attention pass=backward b=1 hq=2 hkv=1 sq=40 sk=70 d=16 causal=1 window=45 a=bf16",
  };
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t += (size_t)example_stride()) {
    expect_plans(texts[t], backward, RIGHT, NO_MAXIMUM);
    expect_plans(texts[t], backward, NO_DELTA, PLANS);
  }
}

static void a_sample_and_the_survey_find_wrong_blocks(void **state) {
  op_run r;
  op_run_make(&r, "attention b=2 hq=4 hkv=2 sq=256 sk=256 d=32 causal=1 a=bf16", 5);
  forward(&r, RIGHT);
  const double budget = 2e7;
  tw_coverage c;
  tw_error error;
  const tw_effort some = {.budget = budget, .seed = 1, .threads = 2};
  if (tw_case_check(&r.data, r.actual, &some, &c, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(c.exact < c.elements / 2);
  assert_non_null(strstr(c.text, "mean of values"));
  op_expect_sampled(&r, budget, true);
  for (int64_t i = 0; i < 16 * 4 * 32; i++) /* 16 queries of a sequence */
    op_put(&r, TW_ATTENTION_O, 64 * 4 * 32 + i, op_get(&r, TW_ATTENTION_O, 64 * 4 * 32 + i) * 1.5);
  op_expect_sampled(&r, budget, false);
  forward(&r, RIGHT);
  op_put(&r, TW_ATTENTION_O, 12345, 2.5); /* values are below 2 */
  op_expect_sampled(&r, budget, false);
  forward(&r, RIGHT);
  op_put(&r, TW_ATTENTION_LSE, 777, op_get(&r, TW_ATTENTION_LSE, 777) - 3); /* a single one that is too small */
  op_expect_sampled(&r, budget, false);
  op_run_free(&r);
  op_run_make(&r, "attention b=2 hq=4 hkv=2 sq=256 sk=256 d=32 causal=1 window=5 a=bf16", 5);
  forward(&r, RIGHT);
  op_expect_sampled(&r, 2e6, true);
  op_put(&r, TW_ATTENTION_LSE, 777, op_get(&r, TW_ATTENTION_LSE, 777) - 3);
  op_expect_sampled(&r, 2e6, false);
  op_run_free(&r);
  op_run_make(&r, "attention b=2 hq=4 hkv=2 sq=256 sk=256 d=32 causal=1 a=f32 arithmetic=bf16", 5);
  forward(&r, RIGHT);
  op_expect_sampled(&r, 2e6, true);
  op_put(&r, TW_ATTENTION_LSE, 777, op_get(&r, TW_ATTENTION_LSE, 777) - 100); /* below what any score allows */
  op_expect_sampled(&r, 2e6, false);
  forward(&r, RIGHT);
  op_put(&r, TW_ATTENTION_O, 12345, 2.5);
  op_expect_sampled(&r, 2e6, false);
  op_run_free(&r);
}

static void cost_counts_what_is_seen(void **state) {
  tw_problem p = op_problem("attention b=2 hq=4 hkv=2 sq=3 sk=5 d=8 a=bf16");
  assert_true(p.op->operations(&p) == 2 * 2 * 4 * 3 * 5 * 8);
  assert_true(p.op->bytes(&p) == 2 * (2 * 2 * 4 * 3 * 8 + 2 * 2 * 2 * 5 * 8) + 4 * 2 * 4 * 3);
  p = op_problem("attention b=1 hq=1 hkv=1 sq=3 sk=5 d=1 causal=1 pass=backward a=bf16");
  assert_true(p.op->operations(&p) == 5 * (3 + 4 + 5));
  p = op_problem("attention b=1 hq=1 hkv=1 sq=3 sk=5 d=1 causal=1 window=4 a=bf16");
  assert_true(p.op->operations(&p) == 2 * (3 + 4 + 4));
  p = op_problem("attention b=1 hq=1 hkv=1 sq=3 sk=5 d=1 causal=1 window=2 a=bf16");
  assert_true(p.op->operations(&p) == 2 * 3 * 2);
  assert_true(p.op->bytes(&p) == 2 * (2 * 3 + 2 * 4) + 4 * 3); /* of the keys, 4 are seen */
  p = op_problem("attention b=1 hq=1 hkv=1 sq=3 sk=5 d=1 causal=1 window=2 pitch=100 a=bf16");
  assert_true(p.op->bytes(&p) == 2 * (2 * 3 + 2 * 4) + 4 * 3);
  /* Three sequences have 1000 + 750 keys at least. */
  p = op_problem("attention b=3 hq=1 hkv=1 sq=1 sk=1000 d=8 lengths=1 a=bf16");
  assert_true(fabs(p.op->bytes(&p) - (2 * 8 * (2 * 3 + 2 * 1750) + 4 * 3 + 4 * 3)) < 1e-6);
}

/* Lengths differ, are within sq and sk, and have the least sum that costs count; pages are a permutation. */
static void lengths_and_pages_are_legal(void **state) {
  for (int seed = 1; seed < 40; seed++) {
    tw_error error = {0};
    tw_case c;
    const tw_problem p = op_problem("attention b=5 hq=1 hkv=1 sq=7 sk=100 d=8 lengths=1 page=16 a=bf16");
    if (tw_case_make_inputs(&p, (uint64_t)seed, &c, &error) != TW_OK) fail_msg("%s", error.text);
    const int32_t *length = c.buffer[5], *page = c.buffer[6];
    bool had[5 * 7] = {false};
    int sum = 0;
    for (int b = 0; b < 5; b++) {
      assert_in_range(length[b], 7, 100);
      sum += length[b];
    }
    assert_true(sum >= 2 * 107 + 75);
    for (int i = 0; i < 5 * 7; i++) {
      assert_in_range(page[i], 0, 5 * 7 - 1);
      assert_false(had[page[i]]);
      had[page[i]] = true;
    }
    tw_case_free(&c);
    const tw_problem t = op_problem("attention b=4 hq=1 hkv=1 sq=9 sk=9 d=8 tokens=30 a=bf16");
    if (tw_case_make_inputs(&t, (uint64_t)seed, &c, &error) != TW_OK) fail_msg("%s", error.text);
    const int32_t *start = c.buffer[5];
    assert_int_equal(start[0], 0);
    assert_int_equal(start[4], 30);
    for (int b = 0; b < 4; b++) assert_in_range(start[b + 1] - start[b], 0, 9);
    tw_case_free(&c);
  }
}

static void impossible_problems_are_refused(void **state) {
  op_expect_refused("attention b=1 hq=4 hkv=2 sq=3 sk=5 d=8 pitch=31 a=f32", "at least the 32 elements");
  op_expect_refused("attention b=1 hq=4 hkv=2 sq=3 sk=5 d=8 pitch=64 page=2 a=f32", "requires page=0");
  op_expect_refused("attention b=1 hq=4 hkv=2 sq=3 sk=5 d=8 pitch=64 pass=backward a=f32", "do not support pitch=64");
  op_expect_refused("attention b=1 hq=3 hkv=2 sq=4 sk=4 d=8 a=bf16", "hkv must divide hq");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=5 sk=4 d=8 causal=1 a=bf16", "give sq <= sk");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=4 sk=4 d=8", "expected bf16, f16 or f32");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=4 sk=4 d=8 a=bf16 scale=1000", "scale=1000");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=4 sk=4 d=8 window=2 a=bf16", "window=2 requires causal=1");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=4 sk=4 d=8 softcap=2 pass=backward a=bf16",
                    "do not support softcap=2");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=4 sk=4 d=8 softcap=-1 a=bf16", "softcap=-1 is out of range");
  op_expect_refused("attention b=2 hq=2 hkv=2 sq=5 sk=5 d=8 tokens=11 a=bf16", "at most b * sq tokens");
  op_expect_refused("attention b=2 hq=2 hkv=2 sq=5 sk=5 d=8 tokens=9 page=4 a=bf16", "do not support page=4");
  op_expect_refused("attention b=1 hq=2 hkv=2 sq=5 sk=4 d=8 lengths=1 a=bf16", "lengths=1 with sq=5 above sk=4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(the_backward_pass_is_the_gradient_of_the_forward_pass),
      cmocka_unit_test(honest_forward_kernels_pass_and_wrong_ones_do_not),
      cmocka_unit_test(honest_backward_kernels_pass_and_wrong_ones_do_not),
      cmocka_unit_test(a_sample_and_the_survey_find_wrong_blocks),
      cmocka_unit_test(cost_counts_what_is_seen),
      cmocka_unit_test(lengths_and_pages_are_legal),
      cmocka_unit_test(impossible_problems_are_refused),
  };
  return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
