/* test_gemm_tolerance.c - what an element of a gemm may be off, pinned: no change may make a comparison accept more. */
#include "op_fixture.h"

#include <math.h>

#include "op/gemm_numerics.h"
#include "op/inputs.h"

/* The largest error that was accepted of elements [0][0] and [m-1][n/2] of these problems with seed 11, up or down,
 * when the figures were taken, A and B uniform in (-1, 1); measured by bisection, in representable values of C, and of
 * six digits. */
static const struct {
  const char *text;
  double first, last;
} pinned[] = {
#include "data/gemm_tolerance.inc"
};

static bool accepted(const op_run *r, int64_t at, double value) {
  const size_t c = r->data.n_operands - 1;
  const double before = op_get(r, c, at);
  op_put(r, c, at, value);
  const bool right = r->problem.op->compare(&r->problem, r->data.buffer, r->actual, NULL) == TW_OK;
  op_put(r, c, at, before);
  return right;
}

/* How far the value may go in this direction. */
static double reach(const op_run *r, int64_t at, double direction) {
  const size_t c = r->data.n_operands - 1;
  const tw_type type = r->data.operand[c].type;
  const double value = op_get(r, c, at);
  double low = 0, high = 1e-9;
  while (high < 1e6 && accepted(r, at, value + direction * high)) low = high, high *= 2;
  for (int i = 0; i < 40; i++) {
    const double middle = (low + high) / 2;
    if (accepted(r, at, value + direction * middle))
      low = middle;
    else
      high = middle;
  }
  uint64_t stored;
  tw_set_element(type, &stored, 0, value + direction * low);
  return fabs(tw_element(type, &stored, 0) - value);
}

static double reach_of(const op_run *r, int64_t at) { return fmax(reach(r, at, 1), reach(r, at, -1)); }

static void no_tolerance_is_looser_than_it_was(void **state) {
  for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
    op_run r;
    void *buffer[TW_OPERANDS_MAX];
    op_run_make(&r, pinned[i].text, 11);
    const tw_gemm g = tw_gemm_of(&r.problem);
    for (int o = 0; o < 2 && tw_gemm_numerics_of(&g).real; o++)
      tw_fill_uniform(11, o, &r.data.operand[o], 1, r.data.buffer[o]);
    if (tw_gemm_numerics_of(&g).real) tw_gemm_round_operands(&g, r.data.buffer);
    memcpy(buffer, r.data.buffer, sizeof buffer); /* the complete comparison wants expected outputs */
    r.problem.op->reference(&r.problem, buffer, 1);
    op_run_reference(&r);
    const double first = reach_of(&r, 0), last = reach_of(&r, (g.m - 1) * g.ldc + g.n / 2);
    if (getenv("PIN")) printf("    {\"%s\", %.6g, %.6g},\n", pinned[i].text, first, last);
    if (!(first <= pinned[i].first * 1.00001) || !(last <= pinned[i].last * 1.00001))
      fail_msg("%s: errors of %g and %g pass; it was %g and %g", pinned[i].text, first, last, pinned[i].first,
               pinned[i].last);
    op_run_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_tolerance_is_looser_than_it_was),
  };
  return cmocka_run_group_tests_name("gemm tolerance", tests, NULL, NULL);
}
