/* test_layernorm.c - the layernorm op: its generator's known answers, kernels in binary32, planted errors. */
#include "op_fixture.h"

#include <math.h>

#include "op/philox.h"

/* From the generator's own distribution (Random123 1.09, tests/kat_vectors). */
static void philox_gives_its_known_answers(void **state) {
  static const struct {
    tw_philox counter;
    uint32_t key[2];
    tw_philox out;
  } known[] = {
      {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {0xa4093822, 0x299f31d0},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (int i = 0; i < 3; i++) {
    const tw_philox got = tw_philox4x32(known[i].counter, known[i].key[0], known[i].key[1]);
    assert_memory_equal(&got, &known[i].out, sizeof got);
  }
}

static void known_answers(void **state) {
  static const struct {
    const char *text;
    double y[4];
  } cases[] = {{"layernorm rows=1 cols=4 eps=0.0000001 a=f32", {-1.34164, -0.44721, 0.44721, 1.34164}},
               {"layernorm rows=1 cols=4 eps=0.0000001 norm=rms a=f32", {0.36515, 0.73030, 1.09545, 1.46059}},
               {"layernorm rows=1 cols=4 eps=0 norm=abs affine=0 a=f32", {0.4, 0.8, 1.2, 1.6}},
               {"layernorm rows=1 cols=4 eps=0.5 norm=l2 affine=0 a=f32", {0.18107, 0.36214, 0.54321, 0.72428}}};
  for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
    op_run r;
    op_run_make(&r, cases[t].text, 1);
    memcpy(r.data.buffer[0], (float[]){1, 2, 3, 4}, 16);
    if (t < 2) memcpy(r.data.buffer[1], (float[]){1, 1, 1, 1}, 16);
    if (t == 0) memset(r.data.buffer[2], 0, 16);
    op_run_reference(&r);
    const size_t y = r.data.n_operands - 1;
    for (int i = 0; i < 4; i++) assert_true(fabs(op_get(&r, y, i) - cases[t].y[i]) < 1e-5);
    op_run_free(&r);
  }
}

/* Four rows of two groups; a group has two channels of two pixels. */
static void known_groups(void **state) {
  const float x[16] = {1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4, 4, 3, 2, 1}, weight[4] = {1, 2, 3, 4},
              bias[4] = {0, 1, 2, 3};
  const double z[4] = {-1.34164, -0.44721, 0.44721, 1.34164};
  for (int affine = 0; affine < 2; affine++) {
    op_run r;
    op_run_make(&r,
                affine ? "layernorm rows=4 cols=4 groups=2 span=2 eps=0.0000001 a=f32"
                       : "layernorm rows=4 cols=4 affine=0 eps=0.0000001 a=f32",
                1);
    assert_int_equal(r.data.n_operands, affine ? 4 : 2);
    memcpy(r.data.buffer[0], x, sizeof x);
    if (affine) memcpy(r.data.buffer[1], weight, sizeof weight);
    if (affine) memcpy(r.data.buffer[2], bias, sizeof bias);
    op_run_reference(&r);
    for (int i = 0; i < 16; i++) {
      const int row = i / 4, column = i % 4, channel = row % 2 * 2 + column / 2;
      const double normal = z[row % 2 ? 3 - column : column];
      const double y = affine ? normal * (double)weight[channel] + (double)bias[channel] : normal;
      assert_true(fabs(op_get(&r, affine ? 3 : 1, i) - y) < 1e-4);
    }
    op_run_free(&r);
  }
}

/* Vectors along the middle dimension: the weight is of the column, and the neighbours are of other vectors. */
static void known_vectors_that_are_apart(void **state) {
  op_run r;
  op_run_make(&r, "layernorm rows=1 cols=4 inner=2 eps=0.0000001 a=f32", 1);
  memcpy(r.data.buffer[0], (float[]){1, 40, 2, 30, 3, 20, 4, 10}, 32);
  memcpy(r.data.buffer[1], (float[]){1, 2, 3, 4}, 16);
  memcpy(r.data.buffer[2], (float[]){0, 1, 2, 3}, 16);
  op_run_reference(&r);
  const double z[4] = {-1.34164, -0.44721, 0.44721, 1.34164};
  for (int i = 0; i < 8; i++) {
    const double y = (i % 2 ? z[3 - i / 2] : z[i / 2]) * (1 + i / 2) + i / 2;
    assert_true(fabs(op_get(&r, 3, i) - y) < 1e-4);
  }
  op_run_free(&r);
}

typedef enum kernel_plan {
  RIGHT,
  ROUNDED_SUM,
  ONE_PASS,
  NO_DROPOUT,
  NO_SCALE,
  OTHER_MASK,
  NO_RESIDUAL,
  OTHER_NORM,
  NO_EPS,
  NO_BIAS,
  CUT,        /* quantized results are rounded towards 0 */
  SMALL_SCALE /* the largest result is 240, as in another type of 8 bits */
} kernel_plan;

typedef struct places {
  int x, residual, weight, bias, seed, y, scales, sum;
} places;

static places places_of(const op_run *r) {
  places p = {-1, -1, -1, -1, -1, -1, -1, -1};
  for (size_t i = 0; i < r->data.n_operands; i++) {
    const char *name = r->data.operand[i].name;
    int *of = !strcmp(name, "x")          ? &p.x
              : !strcmp(name, "residual") ? &p.residual
              : !strcmp(name, "weight")   ? &p.weight
              : !strcmp(name, "bias")     ? &p.bias
              : !strcmp(name, "seed")     ? &p.seed
              : !strcmp(name, "y")        ? &p.y
              : !strcmp(name, "scales")   ? &p.scales
                                          : &p.sum;
    *of = (int)i;
  }
  return p;
}

static float sum_of(const op_run *r, const places *p, int64_t row, int64_t column, int64_t columns, kernel_plan plan) {
  const int64_t at = row * columns + column;
  const float dropout = (float)tw_problem_real(&r->problem, "dropout");
  float x = (float)op_get(r, (size_t)p->x, at);
  if (p->seed >= 0 && plan != NO_DROPOUT) {
    const uint32_t *seed = r->actual[p->seed];
    const tw_philox counter = {{(uint32_t)(column / 4), (uint32_t)row, 0, plan == OTHER_MASK}};
    const bool keep = tw_philox4x32(counter, seed[0], seed[1]).word[column % 4] >= (uint32_t)((double)dropout * 0x1p32);
    x = !keep ? 0 : plan == NO_SCALE ? x : x * (1 / (1 - dropout));
  }
  return p->residual >= 0 && plan != NO_RESIDUAL ? x + (float)op_get(r, (size_t)p->residual, at) : x;
}

/* Towards 0, with three bits after the first. */
static float cut(float x) {
  int exponent;
  const float m = frexpf(x, &exponent);
  return ldexpf(truncf(m * 16), exponent - 4);
}

/* A kernel in binary32, with one error or another. */
static void normalize(const op_run *r, kernel_plan plan) {
  const places p = places_of(r);
  const int64_t rows = r->data.operand[p.x].dims[0], n = r->data.operand[p.x].dims[1];
  const bool rms = (tw_problem_int(&r->problem, "norm") == 1) != (plan == OTHER_NORM);
  const float eps = plan == NO_EPS ? 0 : (float)tw_problem_real(&r->problem, "eps");
  float *row = malloc((size_t)n * sizeof *row);
  for (int64_t i = 0; i < rows; i++) {
    float mean = 0, square = 0;
    for (int64_t j = 0; j < n; j++) {
      row[j] = sum_of(r, &p, i, j, n, plan);
      if (p.sum >= 0) op_put(r, (size_t)p.sum, i * n + j, (double)row[j]);
      if (p.sum >= 0 && plan == ROUNDED_SUM) row[j] = (float)op_get(r, (size_t)p.sum, i * n + j);
      mean += row[j];
      square += row[j] * row[j];
    }
    mean = rms ? 0 : mean / (float)n;
    float variance = square / (float)n - mean * mean;
    if (plan != ONE_PASS) {
      variance = 0;
      for (int64_t j = 0; j < n; j++) variance += (row[j] - mean) * (row[j] - mean);
      variance /= (float)n;
    }
    float largest = 0;
    for (int64_t j = 0; j < n; j++) {
      const float weight = (float)op_get(r, (size_t)p.weight, j),
                  bias = p.bias >= 0 && plan != NO_BIAS ? (float)op_get(r, (size_t)p.bias, j) : 0;
      row[j] = (row[j] - mean) * (1 / sqrtf(variance + eps)) * weight + bias;
      largest = fmaxf(largest, fabsf(row[j]));
    }
    const float scale = largest > 0 ? largest / (plan == SMALL_SCALE ? 240 : 448) : 1;
    if (p.scales >= 0) op_put(r, (size_t)p.scales, i, (double)scale);
    for (int64_t j = 0; j < n; j++) {
      const float y = p.scales >= 0 ? row[j] / scale : row[j];
      op_put(r, (size_t)p.y, i * n + j, (double)(p.scales >= 0 && plan == CUT ? cut(y) : y));
    }
  }
  free(row);
}

static void honest_kernels_pass_and_wrong_ones_do_not(void **state) {
  static const struct {
    const char *text;
    unsigned wrong; /* bits of the plans that are wrong here; all others are right */
  } cases[] = {
      {"layernorm rows=30 cols=128 a=f32", 1 << OTHER_NORM | 1 << NO_BIAS | 1 << NO_EPS},
      {"layernorm rows=30 cols=130 dropout=0.25 residual=1 a=f32", 1 << NO_DROPOUT | 1 << NO_SCALE | 1 << OTHER_MASK |
                                                                       1 << NO_RESIDUAL | 1 << OTHER_NORM |
                                                                       1 << NO_BIAS | 1 << NO_EPS},
      {"layernorm rows=20 cols=3000 dropout=0.1 residual=1 a=bf16", 1 << NO_DROPOUT | 1 << NO_SCALE | 1 << OTHER_MASK |
                                                                        1 << NO_RESIDUAL | 1 << OTHER_NORM |
                                                                        1 << NO_BIAS | 1 << NO_EPS},
      {"layernorm rows=30 cols=777 residual=1 norm=rms a=f16", 1 << NO_RESIDUAL | 1 << OTHER_NORM | 1 << NO_EPS},
      {"layernorm rows=30 cols=64 dropout=0.5 norm=rms a=bf16",
       1 << NO_DROPOUT | 1 << NO_SCALE | 1 << OTHER_MASK | 1 << OTHER_NORM | 1 << NO_EPS},
      {"layernorm rows=30 cols=777 norm=rms quantize=e4m3 a=bf16",
       1 << OTHER_NORM | 1 << NO_EPS | 1 << CUT | 1 << SMALL_SCALE},
      {"layernorm rows=30 cols=130 residual=1 quantize=e4m3 a=f32",
       1 << NO_RESIDUAL | 1 << OTHER_NORM | 1 << NO_EPS | 1 << NO_BIAS | 1 << CUT | 1 << SMALL_SCALE},
  };
  for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
    op_run r;
    op_run_make(&r, cases[t].text, 3);
    for (int i = RIGHT; i <= SMALL_SCALE; i++) {
      tw_error error = {0};
      normalize(&r, (kernel_plan)i);
      const bool right = r.problem.op->compare(&r.problem, r.data.buffer, r.actual, &error) == TW_OK;
      if (right == (bool)(cases[t].wrong >> i & 1)) fail_msg("%s: plan %d: %s", cases[t].text, i, error.text);
    }
    normalize(&r, RIGHT);
    op_expect(&r, NULL);
    op_run_free(&r);
  }
}

static void half_of_the_elements_are_dropped(void **state) {
  op_run r;
  op_run_make(&r, "layernorm rows=64 cols=101 dropout=0.5 residual=1 a=f32", 3);
  const places p = places_of(&r);
  memset(r.data.buffer[p.residual], 0, r.data.operand[p.residual].bytes);
  op_run_reference(&r);
  int dropped = 0;
  for (int64_t i = 0; i < 64 * 101; i++) dropped += op_get(&r, (size_t)p.sum, i) == 0;
  assert_in_range(dropped, 64 * 101 / 2 - 250, 64 * 101 / 2 + 250); /* six deviations */
  op_run_free(&r);
}

static void a_large_output_is_sampled(void **state) {
  op_run r;
  op_run_make(&r, "layernorm rows=4000 cols=64 dropout=0.5 residual=1 a=bf16", 3);
  const places p = places_of(&r);
  op_run_reference(&r);
  const double budget = 2 * 40 * 64 * 500; /* one of eight, of both */
  op_expect_sampled(&r, budget, true);
  for (int64_t i = 0; i < 16 * 64; i++)
    op_put(&r, (size_t)p.sum, 80 * 64 + i, op_get(&r, (size_t)p.sum, 80 * 64 + i) + 0.1);
  op_expect_sampled(&r, budget, false);
  op_run_free(&r);
}

static void impossible_problems_are_refused(void **state) {
  op_expect_refused("layernorm rows=4 cols=4", "expected f32, f16 or bf16");
  op_expect_refused("layernorm rows=4 cols=4 a=f32 dropout=1", "dropout=1");
  op_expect_refused("layernorm rows=4 cols=4 a=f32 dropout=-0.5", "dropout=-0.5");
  op_expect_refused("layernorm rows=4 cols=4 a=f32 eps=0", "eps=0");
  op_expect_refused("layernorm rows=4 cols=4 a=f32 norm=l2", "add affine=0");
  op_expect_refused("layernorm rows=4 cols=4 a=f32 groups=3", "groups=3 must divide rows=4");
  op_expect_refused("layernorm rows=4 cols=4 a=f32 affine=0 span=2", "affine=0 has no weights");
  op_expect_refused("layernorm rows=4 cols=4 inner=2 a=f32 span=2", "inner=2 requires groups=1");
  op_expect_refused("layernorm rows=4 cols=4 inner=2 a=f32 residual=1", "inner=2 requires groups=1");
  op_expect_refused("layernorm rows=1073741824 cols=1048576 a=f32", "at most 2^40");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_its_known_answers),
      cmocka_unit_test(known_answers),
      cmocka_unit_test(known_groups),
      cmocka_unit_test(known_vectors_that_are_apart),
      cmocka_unit_test(honest_kernels_pass_and_wrong_ones_do_not),
      cmocka_unit_test(half_of_the_elements_are_dropped),
      cmocka_unit_test(a_large_output_is_sampled),
      cmocka_unit_test(impossible_problems_are_refused),
  };
  return cmocka_run_group_tests_name("layernorm", tests, NULL, NULL);
}
