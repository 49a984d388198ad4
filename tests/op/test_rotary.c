/* test_rotary.c - the rotary op against known answers and plain loops, and its tolerance. */
#include "op_fixture.h"

#include <math.h>

enum { X, COS, SIN, Y };

static void a_quarter_turn(void **state) {
  static const struct {
    const char *text;
    double y[4];
  } cases[] = {{"rotary b=1 h=1 s=1 d=4 a=f32", {-3, -4, 1, 2}},
               {"rotary b=1 h=1 s=1 d=4 interleaved=1 a=f32", {-2, 1, -4, 3}}};
  for (int t = 0; t < 2; t++) {
    op_run r;
    op_run_make(&r, cases[t].text, 1);
    memcpy(r.data.buffer[X], (float[]){1, 2, 3, 4}, 16);
    memcpy(r.data.buffer[COS], (float[]){0, 0}, 8);
    memcpy(r.data.buffer[SIN], (float[]){1, 1}, 8);
    op_run_reference(&r);
    for (int i = 0; i < 4; i++) assert_true(op_get(&r, Y, i) == cases[t].y[i]);
    op_run_free(&r);
  }
}

typedef enum plan { RIGHT, SIGN, OTHER_PAIRS, NEXT_POSITION, LAST_HEAD } plan;

/* Binary32, in the loops that the layout says. */
static void turn(const op_run *r, plan wrong) {
  const int64_t *dims = r->data.operand[X].dims, *stride = r->data.operand[X].stride, d = dims[3], half = d / 2;
  const bool pairs = tw_problem_int(&r->problem, "interleaved") != (wrong == OTHER_PAIRS);
  for (int64_t b = 0; b < dims[0]; b++)
    for (int64_t s = 0; s < dims[1]; s++)
      for (int64_t h = 0; h < dims[2]; h++)
        for (int64_t p = 0; p < half; p++) {
          const int64_t base = ((b * dims[1] + s) * dims[2] + h) * d, i = base + (pairs ? 2 * p : p),
                        j = pairs ? i + 1 : i + half, from = b * stride[0] + s * stride[1] + h * stride[2] - base;
          const int64_t at = (wrong == NEXT_POSITION ? (s + 1) % dims[1] : s) * half + p;
          const float c = (float)op_get(r, COS, at), sine = (float)op_get(r, SIN, at),
                      xi = (float)op_get(r, X, from + i), xj = (float)op_get(r, X, from + j);
          if (wrong == LAST_HEAD && h + 1 == dims[2]) continue;
          op_put(r, Y, i, (double)(xi * c - xj * sine));
          op_put(r, Y, j, (double)(wrong == SIGN ? xj * c - xi * sine : xj * c + xi * sine));
        }
}

static void an_honest_kernel_passes_and_wrong_ones_do_not(void **state) {
  static const char *const texts[] = {"rotary b=2 h=3 s=17 d=64 a=f32", "rotary b=1 h=2 s=33 d=128 a=bf16",
                                      "rotary b=2 h=2 s=5 d=6 interleaved=1 a=f16",
                                      "rotary b=2 h=3 s=17 d=64 ldx=250 a=f32"};
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    op_run r;
    op_run_make(&r, texts[t], 3);
    for (int wrong = LAST_HEAD; wrong >= RIGHT; wrong--) {
      turn(&r, (plan)wrong);
      op_expect(&r, wrong == RIGHT ? NULL : wrong == LAST_HEAD ? "never written" : "wrong result");
    }
    op_run_free(&r);
  }
}

static void a_bit_too_much_is_found(void **state) {
  op_run r;
  op_run_make(&r, "rotary b=1 h=2 s=9 d=8 a=bf16", 3);
  op_run_reference(&r);
  uint16_t *y = r.actual[Y];
  y[77] ^= 4;
  op_expect(&r, "1 of 144");
  op_run_free(&r);
}

static void cost_counts_every_operand_once(void **state) {
  const tw_problem p = op_problem("rotary b=2 h=3 s=5 d=8 a=bf16");
  assert_true(p.op->bytes(&p) == 2 * (2 * 2 * 3 * 5 * 8 + 2 * 5 * 4));
  assert_true(p.op->operations(&p) == 1.5 * 2 * 3 * 5 * 8);
}

static void impossible_problems_are_refused(void **state) {
  op_expect_refused("rotary b=1 h=1 s=1 d=3 a=f32", "d=3 must be even");
  op_expect_refused("rotary b=1 h=1 s=1 d=4", "expected f32, f16 or bf16");
  op_expect_refused("rotary b=1 h=2 s=3 d=4 ldx=7 a=f32", "at least h * d = 8 elements");
  op_expect_refused("rotary b=1 h=2 s=3 d=4 ldx=16 transposed=1 a=f32", "requires transposed=0");
  op_expect_refused("rotary b=1000000 h=60000 s=10000 d=4 a=f32", "too many");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_quarter_turn),
      cmocka_unit_test(an_honest_kernel_passes_and_wrong_ones_do_not),
      cmocka_unit_test(a_bit_too_much_is_found),
      cmocka_unit_test(cost_counts_every_operand_once),
      cmocka_unit_test(impossible_problems_are_refused),
  };
  return cmocka_run_group_tests_name("rotary", tests, NULL, NULL);
}
