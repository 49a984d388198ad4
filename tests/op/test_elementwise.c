/* test_elementwise.c - the elementwise op against known answers and plain formulas; results that are wrong by little. */
#include "op_fixture.h"

#include <math.h>

static void known_answers(void **state) {
  static const struct {
    const char *f;
    double y[4];
  } known[] = {
      {"relu", {0, 100, 0, 0.5}},
      {"leaky_relu alpha=0.25", {0, 100, -25, 0.5}},
      {"elu alpha=2", {0, 100, -2, 0.5}},
      {"sigmoid", {0.5, 1, 0, 0.6224593312018546}},
      {"hard_sigmoid", {0.5, 1, 0, 7.0 / 12}},
      {"tanh", {0, 1, -1, 0.46211715726000973}},
      {"hard_tanh alpha=2 beta=-3", {0, 2, -3, 0.5}},
      {"softplus", {0.6931471805599453, 100, 0, 0.9740769841801067}},
      {"softplus alpha=2", {0.34657359027997264, 100, 0, 0.6566308437639112}},
      {"softsign", {0, 100.0 / 101, -100.0 / 101, 1.0 / 3}},
      {"scale alpha=-3", {0, -300, 300, -1.5}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    op_run r;
    char text[100];
    snprintf(text, sizeof text, "elementwise rows=1 cols=4 f=%s a=f32", known[i].f);
    op_run_make(&r, text, 1);
    const float x[4] = {0, 100, -100, 0.5F};
    memcpy(r.data.buffer[0], x, sizeof x);
    op_run_reference(&r);
    for (int j = 0; j < 4; j++)
      if (!(fabs(op_get(&r, 1, j) - known[i].y[j]) <= 4e-7 * fmax(1, fabs(known[i].y[j]))))
        fail_msg("%s of %g is %.9g", known[i].f, (double)x[j], op_get(&r, 1, j));
    op_run_free(&r);
  }
}

/* By other formulas than the op's own where they do not overflow. */
static double formula(int f, double x, double alpha, double beta) {
  const double large = 60, near = fmax(fmin(x, large), -large), e = exp(near);
  switch (f) {
  case 0: return x > 0 ? x : 0;
  case 1: return x > 0 ? x : alpha * x;
  case 2: return x > 0 ? x : alpha * expm1(x);
  case 3: return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x));
  case 4: return x < -large ? 0 : e / (e + 1);
  case 5: return x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6;
  case 6: return x == near ? expm1(2 * x) / (exp(2 * x) + 1) : x > 0 ? 1 : -1;
  case 7: return x < beta ? beta : x > alpha ? alpha : x;
  case 8: return x < -large ? 0 : x * e / (e + 1);
  case 9: return x < -large ? 0 : x * erfc(-x * sqrt(0.5)) / 2;
  case 10:
    return x < -large ? 0 : x > large ? x : 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
  case 11: return x > large ? x : log1p(exp(alpha * x)) / alpha;
  case 12: return x / (1 + fabs(x));
  default: return alpha * x;
  }
}

static const char *const names[] = {"relu",         "leaky_relu", "elu",       "selu", "sigmoid",
                                    "hard_sigmoid", "tanh",       "hard_tanh", "silu", "gelu_erf",
                                    "gelu_tanh",    "softplus",   "softsign",  "scale"};
enum { FUNCTIONS = sizeof names / sizeof *names };

static void an_honest_kernel_passes_and_wrong_ones_do_not(void **state) {
  static const char *const types[] = {"f32", "bf16", "f16"};
  for (int f = 0; f < FUNCTIONS; f++)
    for (int t = 0; t < 3; t++) {
      char text[120];
      op_run r;
      snprintf(text, sizeof text, "elementwise rows=9 cols=70 f=%s alpha=0.75 beta=-0.5 a=%s", names[f], types[t]);
      op_run_make(&r, text, 7);
      for (int wrong = 0; wrong < 3; wrong++) {
        for (int64_t i = 0; i < 9 * 70; i++) {
          const double x = op_get(&r, 0, i), y = formula(f, x, 0.75, -0.5);
          const double near = t ? 0x1p-6 : 0x1p-15; /* wrong by little: some units of the type */
          op_put(&r, 1, i, wrong == 0 ? y : wrong == 1 ? y * (1 + near) : formula((f + 1) % FUNCTIONS, x, 0.75, -0.5));
        }
        op_expect(&r, wrong ? "wrong result" : NULL);
      }
      op_run_free(&r);
    }
}

/* The divisor is an operand. */
static void a_quotient_is_by_the_operand(void **state) {
  op_run r;
  op_run_make(&r, "elementwise rows=9 cols=70 f=divide a=f32", 7);
  const double s = op_get(&r, 1, 0);
  assert_true(fabs(s) > 0.25 && fabs(s) < 1.75);
  for (int wrong = 0; wrong < 2; wrong++) {
    for (int64_t i = 0; i < 9 * 70; i++) op_put(&r, 2, i, op_get(&r, 0, i) / s * (wrong ? 1 + 0x1p-20 : 1));
    op_expect(&r, wrong ? "wrong result" : NULL);
  }
  op_run_free(&r);
}

static void bad_keys_are_refused(void **state) {
  op_expect_refused("elementwise rows=4 cols=4 a=i8", "elementwise does not support a=i8; expected f32, f16 or bf16");
  op_expect_refused("elementwise rows=1073741824 cols=8000000 a=f32", "rows times cols must be at most 2^40");
  op_expect_refused("elementwise rows=4 cols=4 f=hard_tanh alpha=-2 a=f32", "hard_tanh requires beta <= alpha");
  op_expect_refused("elementwise rows=4 cols=4 f=softplus alpha=0 a=f32", "softplus requires alpha >= 2^-16");
  op_expect_refused("elementwise rows=4 cols=4 f=scale alpha=1e6 a=f32", "alpha and beta must be within -65536..65536");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(an_honest_kernel_passes_and_wrong_ones_do_not),
      cmocka_unit_test(a_quotient_is_by_the_operand),
      cmocka_unit_test(bad_keys_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
