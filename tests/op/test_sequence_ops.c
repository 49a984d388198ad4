/* Ops along a dimension, and pooling: known answers, plain loops, and results that are wrong by little. */
#include "op_fixture.h"

#include <math.h>

/* ---- known answers ---- */

static void fill(const op_run *r, size_t operand, const double *values, int64_t n) {
  for (int64_t i = 0; i < n; i++) op_put(r, operand, i, values[i]);
}

static void expect_answer(const char *text, size_t n_inputs, const double *const input[], const int64_t length[],
                          const double *answer, int64_t n) {
  op_run r;
  op_run_make(&r, text, 1);
  for (size_t i = 0; i < n_inputs; i++) fill(&r, i, input[i], length[i]);
  op_run_reference(&r);
  for (int64_t i = 0; i < n; i++)
    if (fabs(op_get(&r, n_inputs, i) - answer[i]) > 1e-6)
      fail_msg("%s: %g at %lld", text, op_get(&r, n_inputs, i), (long long)i);
  op_run_free(&r);
}

static void answers_that_are_known(void **state) {
  expect_answer("cumsum rows=2 cols=3 a=f32", 1, (const double *[]){(double[]){1, 2, 3, -1, 0, 5}}, (int64_t[]){6},
                (double[]){1, 3, 6, -1, -1, 4}, 6);
  expect_answer("cumsum rows=2 cols=3 reverse=1 a=f32", 1, (const double *[]){(double[]){1, 2, 3, -1, 0, 5}},
                (int64_t[]){6}, (double[]){6, 5, 3, 4, 5, 5}, 6);
  expect_answer("cumsum rows=2 cols=3 exclusive=1 a=f32", 1, (const double *[]){(double[]){1, 2, 3, -1, 0, 5}},
                (int64_t[]){6}, (double[]){0, 1, 3, 0, -1, -1}, 6);
  expect_answer("cumsum rows=1 cols=3 reverse=1 exclusive=1 a=f32", 1, (const double *[]){(double[]){1, 2, 3}},
                (int64_t[]){3}, (double[]){5, 3, 0}, 3);
  expect_answer("cumsum rows=2 cols=3 masked=1 a=f32", 2,
                (const double *[]){(double[]){1, 2, 3, -1, 0, 5}, (double[]){1, 0, 1, 0, 1, 1}}, (int64_t[]){6, 6},
                (double[]){1, 1, 4, 0, 0, 5}, 6);
  expect_answer("cumsum rows=1 cols=3 masked=1 reverse=1 exclusive=1 a=f32", 2,
                (const double *[]){(double[]){1, 2, 3}, (double[]){1, 1, 0}}, (int64_t[]){3, 3}, (double[]){2, 0, 0},
                3);
  expect_answer("transpose rows=2 cols=3 a=f32", 1, (const double *[]){(double[]){1, 2, 3, 4, 5, 6}}, (int64_t[]){6},
                (double[]){1, 4, 2, 5, 3, 6}, 6);
  expect_answer("maxpool h=3 w=3 pool=2 a=f32" /* its name before */, 1,
                (const double *[]){(double[]){-9, -8, -7, -1, -2, -3, -6, -5, -4}}, (int64_t[]){9},
                (double[]){-1, -2, -1, -2}, 4);
  expect_answer("depthwise c=1 w=4 taps=3 pad=1 a=f32", 2,
                (const double *[]){(double[]){1, 2, 3, 4}, (double[]){10, 100, 1000}}, (int64_t[]){4, 3},
                (double[]){2100, 3210, 4320, 430}, 4);
  /* no decay: the state is the running sum of delta u B */
  expect_answer("mamba c=1 s=3 n=1 a=f32", 5,
                (const double *[]){(double[]){1, 1, 2}, (double[]){3, 4, 5}, (double[]){0}, (double[]){1, 1, 2},
                                   (double[]){1, 2, 1}},
                (int64_t[]){3, 3, 1, 3, 3}, (double[]){3, 14, 27}, 3);
  /* with exp(delta A) = 1/2 */
  expect_answer("mamba c=1 s=2 n=1 a=f32", 5,
                (const double *[]){(double[]){1, 1}, (double[]){8, 1}, (double[]){-0.69314718055994531},
                                   (double[]){1, 1}, (double[]){1, 1}},
                (int64_t[]){2, 2, 1, 2, 2}, (double[]){8, 5}, 2);
}

/* ---- plain loops in binary32 ---- */

typedef enum plan { RIGHT, LAST_LEFT_OUT, ONE_OFF } plan;

/* Writes `value`, or for a wrong plan something else, into one place. */
static void put(const op_run *r, size_t operand, int64_t i, int64_t n, plan wrong, double value, double other) {
  if (wrong == LAST_LEFT_OUT && i + 1 == n) return;
  op_put(r, operand, i, wrong == ONE_OFF && i == n / 2 ? other : value);
}

static void sum_up(const op_run *r, plan wrong) {
  const int64_t rows = r->data.operand[0].dims[0], columns = r->data.operand[0].dims[1];
  for (int64_t i = 0; i < rows; i++) {
    float sum = 0;
    for (int64_t j = 0; j < columns; j++) {
      const float before = sum;
      sum += (float)op_get(r, 0, i * columns + j);
      put(r, 1, i * columns + j, rows * columns, wrong, (double)sum, (double)before);
    }
  }
}

static void turn(const op_run *r, plan wrong) {
  const int64_t *d = r->data.operand[0].dims;
  for (int64_t b = 0; b < d[0]; b++)
    for (int64_t i = 0; i < d[1]; i++)
      for (int64_t j = 0; j < d[2]; j++) {
        const double x = op_get(r, 0, (b * d[1] + i) * d[2] + j);
        put(r, 1, (b * d[2] + j) * d[1] + i, d[0] * d[1] * d[2], wrong, x, x * (1 + 0x1p-6));
      }
}

static void pool(const op_run *r, plan wrong) {
  const int64_t *in = r->data.operand[0].dims, *out = r->data.operand[1].dims, p = in[1] - out[1] + 1;
  for (int64_t i = 0; i < out[0] * out[1] * out[2]; i++) {
    const int64_t n = i / (out[1] * out[2]), y = i / out[2] % out[1], x = i % out[2];
    double most = -INFINITY, others = -INFINITY;
    for (int64_t k = 0; k < p * p; k++) {
      const double now = op_get(r, 0, (n * in[1] + y + k / p) * in[2] + x + k % p);
      others = now > most ? most : fmax(others, now);
      most = fmax(most, now);
    }
    put(r, 1, i, out[0] * out[1] * out[2], wrong, most, others);
  }
}

static void filter(const op_run *r, plan wrong) {
  const int64_t *x = r->data.operand[0].dims, *y = r->data.operand[2].dims, taps = r->data.operand[1].dims[1],
                pad = (y[2] - x[2] + taps - 1) / 2;
  for (int64_t i = 0; i < y[0] * y[1] * y[2]; i++) {
    const int64_t row = i / y[2], at = i % y[2];
    float sum = 0, last = 0;
    for (int64_t k = 0; k < taps; k++) {
      if (at + k < pad || at + k - pad >= x[2]) continue;
      last = (float)(op_get(r, 0, row * x[2] + at + k - pad) * op_get(r, 1, row % x[1] * taps + k));
      sum += last;
    }
    put(r, 2, i, y[0] * y[1] * y[2], wrong, (double)sum, (double)(sum - last));
  }
}

static void scan(const op_run *r, plan wrong) {
  const int64_t *x = r->data.operand[0].dims, states = r->data.operand[2].dims[1];
  for (int64_t row = 0; row < x[0] * x[1]; row++) {
    float h[64] = {0};
    for (int64_t t = 0; t < x[2]; t++) {
      const float delta = (float)op_get(r, 0, row * x[2] + t), u = (float)op_get(r, 1, row * x[2] + t);
      float sum = 0, last = 0;
      for (int64_t n = 0; n < states; n++) {
        const int64_t at = (row / x[1] * states + n) * x[2] + t;
        h[n] = expf(delta * (float)op_get(r, 2, row % x[1] * states + n)) * h[n] + delta * u * (float)op_get(r, 3, at);
        last = (float)op_get(r, 4, at) * h[n];
        sum += last;
      }
      put(r, 5, row * x[2] + t, x[0] * x[1] * x[2], wrong, (double)sum, (double)(sum - last));
    }
  }
}

static void honest_kernels_pass_and_wrong_ones_do_not(void **state) {
  static const struct {
    const char *problem;
    void (*run)(const op_run *, plan);
  } cases[] = {{"cumsum rows=7 cols=1000 a=f32", sum_up},
               {"cumsum rows=3 cols=65 a=f16", sum_up},
               {"transpose b=3 rows=5 cols=70 a=f32", turn},
               {"transpose rows=33 cols=8 a=bf16", turn},
               {"pool n=2 h=9 w=20 r=3 s=3 a=f32", pool},
               {"pool h=8 w=8 r=8 s=8 a=f32", pool},
               {"depthwise n=2 c=3 w=50 taps=5 pad=2 a=f32", filter},
               {"depthwise c=2 w=9 taps=4 a=bf16", filter},
               {"mamba b=2 c=3 s=100 n=16 a=f32", scan},
               {"mamba c=4 s=33 n=3 a=f16", scan}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int wrong = RIGHT; wrong <= ONE_OFF; wrong++) {
      op_run r;
      print_message("%s: kernel %d\n", cases[i].problem, wrong);
      op_run_make(&r, cases[i].problem, 5);
      cases[i].run(&r, (plan)wrong);
      op_expect(&r, wrong == RIGHT ? NULL : wrong == LAST_LEFT_OUT ? "never written" : "wrong result");
      op_run_free(&r);
    }
}

static void impossible_problems_are_refused(void **state) {
  op_expect_refused("cumsum rows=1 cols=1", "expected f32, f16 or bf16");
  op_expect_refused("transpose rows=1 cols=1 a=i8", "a=i8");
  op_expect_refused("pool h=4 w=8 r=5 s=5 a=f32", "a window of 5 elements");
  op_expect_refused("depthwise c=1 w=2 taps=3 a=f32", "taps=3");
  op_expect_refused("depthwise c=1 w=8 taps=3 pad=3 a=f32", "pad=3");
  op_expect_refused("mamba c=1048576 s=16777216 n=1 a=f32", "elements");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_that_are_known),
                                     cmocka_unit_test(honest_kernels_pass_and_wrong_ones_do_not),
                                     cmocka_unit_test(impossible_problems_are_refused)};
  return cmocka_run_group_tests_name("sequence_ops", tests, NULL, NULL);
}
