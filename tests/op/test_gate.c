/* test_gate.c - the gate op against known answers, differences and plain loops; results that are wrong by little. */
#include "op_fixture.h"

#include <math.h>

enum { X, G };

static void known_answers(void **state) {
  op_run r;
  op_run_make(&r, "gate rows=1 cols=3 a=f32", 1);
  const float x[6] = {0, 100, -100, 5, 3, 7};
  memcpy(r.data.buffer[X], x, sizeof x);
  op_run_reference(&r);
  const double y[3] = {0, 300, 0};
  for (int i = 0; i < 3; i++) assert_true(fabs(op_get(&r, 1, i) - y[i]) < 1e-6);
  op_run_free(&r);
  op_run_make(&r, "gate rows=1 cols=3 pass=backward a=f32", 1);
  const float g[3] = {1, 2, 4};
  memcpy(r.data.buffer[X], x, sizeof x);
  memcpy(r.data.buffer[G], g, sizeof g);
  op_run_reference(&r);
  const double dx[6] = {2.5, 6, 0, 0, 200, 0};
  for (int i = 0; i < 6; i++) assert_true(fabs(op_get(&r, 2, i) - dx[i]) < 1e-6);
  op_run_free(&r);
}

/* Without limits for arguments whose square overflows. */
static void a_slope_that_overflows_is_wrong(void **state) {
  op_run r;
  op_run_make(&r, "gate rows=9 cols=70 act=gelu_tanh pass=backward a=bf16", 7);
  op_run_reference(&r);
  int64_t found = 0;
  for (int64_t i = 0; i < 9 * 70; i++) {
    const int64_t at = i / 70 * 140 + i % 70;
    const float gate = (float)op_get(&r, X, at), square = gate * gate;
    if (square * 0 == 0) continue;
    op_put(&r, 2, at, NAN);
    found++;
  }
  assert_true(found > 2);
  op_expect(&r, "wrong result");
  op_run_free(&r);
}

static double act(int kind, double x) {
  if (kind == 0) return x / (1 + exp(-x));
  if (kind == 1) return 0.5 * x * (1 + erf(x / sqrt(2)));
  return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

typedef enum plan { RIGHT, WITHOUT_UP, GATE_TWICE, FLAT } plan;

/* Forward, or backward with the slope by differences. FLAT: act(x) / x, as if act were linear. */
static void compute(const op_run *r, int kind, bool backward, plan how) {
  const int64_t rows = r->data.operand[X].dims[0], cols = r->data.operand[X].dims[1] / 2;
  for (int64_t i = 0; i < rows * cols; i++) {
    const int64_t row = i / cols, c = i % cols;
    const double gate = op_get(r, X, row * 2 * cols + c),
                 up = how == WITHOUT_UP ? 1 : op_get(r, X, row * 2 * cols + cols + c),
                 acted = act(kind, gate) * (how == GATE_TWICE ? gate : 1);
    if (!backward) {
      op_put(r, 1, i, acted * up);
      continue;
    }
    const double g = op_get(r, G, i), h = 1e-5;
    const double slope = how == FLAT        ? (gate ? acted / gate : 0.5)
                         : fabs(gate) > 100 ? gate > 0 /* a difference of h is lost there */
                                            : (act(kind, gate + h) - act(kind, gate - h)) / (2 * h);
    op_put(r, 2, row * 2 * cols + c, g * up * slope);
    op_put(r, 2, row * 2 * cols + cols + c, g * acted);
  }
}

static void an_honest_kernel_passes_and_wrong_ones_do_not(void **state) {
  static const char *const acts[] = {"silu", "gelu_erf", "gelu_tanh"}, *const types[] = {"f32", "bf16", "f16"};
  for (int kind = 0; kind < 3; kind++)
    for (int backward = 0; backward < 2; backward++) {
      char text[100];
      snprintf(text, sizeof text, "gate rows=9 cols=70 act=%s pass=%s a=%s", acts[kind],
               backward ? "backward" : "forward", types[kind]);
      op_run r;
      op_run_make(&r, text, 7);
      compute(&r, kind, backward, RIGHT);
      op_expect(&r, NULL);
      for (plan wrong = WITHOUT_UP; wrong <= (backward ? FLAT : GATE_TWICE); wrong++) {
        compute(&r, kind, backward, wrong);
        op_expect(&r, "wrong result");
      }
      if (kind == 0) {
        compute(&r, 1, backward, RIGHT); /* another act */
        op_expect(&r, "wrong result");
      }
      op_run_free(&r);
    }
}

static void bad_keys_are_refused(void **state) {
  op_expect_refused("gate rows=4 cols=4 a=i8", "gate does not support a=i8; expected f32, f16 or bf16");
  op_expect_refused("gate rows=1073741824 cols=8000000 a=f32", "rows times cols must be at most 2^40");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(a_slope_that_overflows_is_wrong),
      cmocka_unit_test(an_honest_kernel_passes_and_wrong_ones_do_not),
      cmocka_unit_test(bad_keys_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
