/* test_mpc.c - the ops mpc_forward and mpc_backward: references against the equations in plain loops, inputs that keep
 * a trajectory alive, and a comparison that takes every sensible order of sums and nothing else. */
#include "test.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/mpc.h"
#include "subject.h"

static tw_problem parse(const char *text) { return problem_from(NULL, "%s type=f32", text); }

static tw_case make(const tw_problem *problem, uint64_t seed) {
  tw_case c;
  tw_error error = {0};
  if (tw_case_make(problem, seed, 1, &c, &error) != TW_OK) fail_msg("%s", error.text);
  return c;
}

static const char *const problems[] = {
    "mpc_forward horizon=1 states=1 inputs=1",   "mpc_forward horizon=5 states=12 inputs=4",
    "mpc_forward horizon=20 states=4 inputs=1",  "mpc_forward horizon=10 states=32 inputs=8",
    "mpc_forward horizon=7 states=5 inputs=9",   "mpc_forward horizon=1000 states=13 inputs=3",
    "mpc_backward horizon=2 states=1 inputs=1",  "mpc_backward horizon=10 states=12 inputs=4",
    "mpc_backward horizon=20 states=4 inputs=1", "mpc_backward horizon=5 states=32 inputs=8",
    "mpc_backward horizon=7 states=5 inputs=9",  "mpc_backward horizon=1000 states=13 inputs=3",
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* One pass in `real`, from the inputs in `b`, its results to `b`: what the head of mpc.c says, element by element. */
#define PLAIN(name, real)                                                                                              \
  static void name(const tw_mpc *m, void *const b[]) {                                                                 \
    int64_t n = m->states, k = m->inputs;                                                                              \
    real *s = calloc((size_t)(n + k), sizeof *s), *next = calloc((size_t)(n + k), sizeof *next);                       \
    float *state = b[m->forward ? TW_MPC_X : TW_MPC_BACK_P], *result = b[m->forward ? TW_MPC_U : TW_MPC_BACK_D];       \
    const float *A = b[m->forward ? TW_MPC_ADYN : TW_MPC_BACK_AMBKT],                                                  \
                *B = b[m->forward ? TW_MPC_BDYN : TW_MPC_BACK_BDYN];                                                   \
    const float *K = b[m->forward ? TW_MPC_KINF : TW_MPC_BACK_KINF], *in = b[m->forward ? TW_MPC_D : TW_MPC_BACK_R];   \
    for (int64_t i = 0; i < n; i++) s[i] = (real)state[(m->forward ? 0 : m->horizon - 1) * n + i];                     \
    for (int64_t step = 0; step < m->steps; step++) {                                                                  \
      int64_t t = m->forward ? step : m->horizon - 2 - step;                                                           \
      real *u = next + n;                                                                                              \
      for (int64_t i = 0; i < k; i++) {                                                                                \
        real sum = (real)in[t * k + i];                                                                                \
        for (int64_t j = 0; j < n; j++) sum += (real)(m->forward ? K[i * n + j] : B[j * k + i]) * s[j];                \
        u[i] = m->forward ? -sum : sum;                                                                                \
      }                                                                                                                \
      for (int64_t i = 0; i < n; i++) {                                                                                \
        real sum = m->forward ? 0 : (real)((const float *)b[TW_MPC_BACK_Q])[t * n + i];                                \
        for (int64_t j = 0; j < n; j++) sum += (real)A[i * n + j] * s[j];                                              \
        for (int64_t l = 0; l < k; l++)                                                                                \
          sum += m->forward ? (real)B[i * k + l] * u[l] : -(real)K[l * n + i] * (real)in[t * k + l];                   \
        next[i] = sum;                                                                                                 \
      }                                                                                                                \
      for (int64_t i = 0; i < k; i++) {                                                                                \
        real sum = u[i];                                                                                               \
        if (!m->forward) {                                                                                             \
          sum = 0;                                                                                                     \
          for (int64_t l = 0; l < k; l++) sum += (real)((const float *)b[TW_MPC_BACK_QUU])[i * k + l] * u[l];          \
        }                                                                                                              \
        result[t * k + i] = (float)sum;                                                                                \
      }                                                                                                                \
      memcpy(s, next, (size_t)n * sizeof *s);                                                                          \
    }                                                                                                                  \
    free(s);                                                                                                           \
    free(next);                                                                                                        \
  }
PLAIN(plain_double, double)
PLAIN(plain_float, float)

/* A copy of the case's buffers with poisoned outputs. */
static void poisoned(const tw_case *c, void *out[TW_OPERANDS_MAX]) {
  for (size_t i = 0; i < c->n_operands; i++) {
    const tw_operand *o = &c->operand[i];
    out[i] = malloc(o->bytes);
    assert_non_null(out[i]);
    memcpy(out[i], c->buffer[i], o->bytes);
    if (!o->is_output) continue;
    memset(out[i], TW_POISON, o->bytes);
    memcpy((char *)out[i] + o->given_at, (char *)c->buffer[i] + o->given_at, o->given_bytes);
  }
}

static void release(const tw_case *c, void *buffers[]) {
  for (size_t i = 0; i < c->n_operands; i++) free(buffers[i]);
}

static void reference_is_what_the_equations_say(void **state) {
  for (int i = 0; i < PROBLEMS; i++) {
    tw_problem p = parse(problems[i]);
    tw_mpc m = tw_mpc_of(&p);
    tw_case c = make(&p, 7);
    void *mine[TW_OPERANDS_MAX];
    poisoned(&c, mine);
    plain_double(&m, mine);
    int result = m.forward ? TW_MPC_U : TW_MPC_BACK_D;
    const float *expected = c.buffer[result], *got = mine[result];
    for (int64_t e = 0; e < m.steps * m.inputs; e++)
      if (fabs((double)got[e] - (double)expected[e]) > 1e-6 * (1 + fabs((double)expected[e])))
        fail_msg("%s: element %d is %g, the equations say %g", problems[i], (int)e, (double)expected[e],
                 (double)got[e]);
    release(&c, mine);
    tw_case_free(&c);
  }
}

static void single_precision_passes(void **state) {
  for (int i = 0; i < PROBLEMS; i++)
    for (uint64_t seed = 1; seed <= 5; seed++) {
      tw_problem p = parse(problems[i]);
      tw_mpc m = tw_mpc_of(&p);
      tw_case c = make(&p, seed);
      void *mine[TW_OPERANDS_MAX];
      poisoned(&c, mine);
      plain_float(&m, mine);
      tw_error error = {0};
      if (p.op->compare(&p, c.buffer, mine, &error) != TW_OK) fail_msg("%s: %s", problems[i], error.text);
      release(&c, mine);
      tw_case_free(&c);
    }
}

/* Neither dies out nor blows up, over the whole horizon. */
static void trajectories_stay_alive(void **state) {
  for (int i = 0; i < PROBLEMS; i++) {
    tw_problem p = parse(problems[i]);
    tw_mpc m = tw_mpc_of(&p);
    tw_case c = make(&p, 11);
    const float *x = c.buffer[m.forward ? TW_MPC_X : TW_MPC_BACK_P];
    int64_t first = m.forward ? 0 : 1; /* p[0] is of no use to anyone, but it is there too */
    double least = INFINITY, most = 0;
    for (int64_t t = first; t < m.horizon; t++) {
      double norm = 0;
      for (int64_t j = 0; j < m.states; j++) norm += (double)x[t * m.states + j] * (double)x[t * m.states + j];
      norm = sqrt(norm / (double)m.states);
      least = fmin(least, norm);
      most = fmax(most, norm);
    }
    if (!(most < 10)) fail_msg("%s: a state grows to %g", problems[i], most);
    if (m.states >= 4 && !(least > 0.05)) fail_msg("%s: a state shrinks to %g", problems[i], least);
    tw_case_free(&c);
  }
}

/* An error of a hundredth in any state shows in what is compared, at once and to the end of a short horizon. */
static void small_errors_are_found(void **state) {
  static const char *const texts[] = {"mpc_forward horizon=10 states=12 inputs=4",
                                      "mpc_backward horizon=10 states=12 inputs=4",
                                      "mpc_forward horizon=20 states=32 inputs=8"};
  for (int i = 0; i < 3; i++) {
    tw_problem p = parse(texts[i]);
    tw_mpc m = tw_mpc_of(&p);
    tw_case c = make(&p, 3);
    void *mine[TW_OPERANDS_MAX];
    int given = m.forward ? TW_MPC_X : TW_MPC_BACK_P, result = m.forward ? TW_MPC_U : TW_MPC_BACK_D;
    poisoned(&c, mine);
    float *start = (float *)(void *)((char *)mine[given] + c.operand[given].given_at);
    start[m.states / 2] += 1e-2f;
    plain_float(&m, mine);
    start[m.states / 2] =
        ((const float *)(const void *)((char *)c.buffer[given] + c.operand[given].given_at))[m.states / 2];
    tw_error error = {0};
    assert_int_equal(p.op->compare(&p, c.buffer, mine, &error), TW_FAILED);
    if (!strstr(error.text, "wrong result")) fail_msg("%s", error.text);
    /* the last step alone, wrong by that much */
    memcpy(mine[result], c.buffer[result], c.operand[result].bytes);
    ((float *)mine[result])[m.steps * m.inputs - 1] += 1e-2f;
    assert_int_equal(p.op->compare(&p, c.buffer, mine, &error), TW_FAILED);
    release(&c, mine);
    tw_case_free(&c);
  }
}

static void what_was_not_written_is_found(void **state) {
  for (int i = 0; i < PROBLEMS; i++) {
    tw_problem p = parse(problems[i]);
    tw_case c = make(&p, 3);
    void *mine[TW_OPERANDS_MAX];
    tw_error error = {0};
    poisoned(&c, mine);
    assert_int_equal(p.op->compare(&p, c.buffer, mine, &error), TW_FAILED);
    assert_non_null(strstr(error.text, "never written"));
    release(&c, mine);
    tw_case_free(&c);
  }
}

static void changed_inputs_are_found(void **state) {
  static const char *const texts[] = {"mpc_forward horizon=3 states=4 inputs=2",
                                      "mpc_backward horizon=3 states=4 inputs=2"};
  for (int i = 0; i < 2; i++) {
    tw_problem p = parse(texts[i]);
    tw_case c = make(&p, 3);
    for (size_t o = 0; o < c.n_operands; o++) {
      if (c.operand[o].is_output && !c.operand[o].given_bytes) continue;
      void *mine[TW_OPERANDS_MAX];
      tw_error error = {0};
      poisoned(&c, mine);
      const int result = i == 0 ? TW_MPC_U : TW_MPC_BACK_D;
      memcpy(mine[result], c.buffer[result], c.operand[result].bytes);
      assert_int_equal(p.op->compare(&p, c.buffer, mine, &error), TW_OK);
      ((char *)mine[o])[c.operand[o].given_at] ^= 1;
      assert_int_equal(p.op->compare(&p, c.buffer, mine, &error), TW_FAILED);
      assert_non_null(strstr(error.text, "changed its input"));
      release(&c, mine);
    }
    tw_case_free(&c);
  }
}

static void cost_is_counted_as_the_paper_counts(void **state) {
  tw_problem forward = parse("mpc_forward horizon=5 states=12 inputs=4");
  assert_true(forward.op->operations(&forward) == (12 * 4 + 12 * 4 + 12 * 12) * 5);
  assert_true(forward.op->bytes(&forward) == 4.0 * (144 + 48 + 48 + 12 + 5 * 4 + 5 * 4));
  tw_problem backward = parse("mpc_backward horizon=10 states=12 inputs=4");
  assert_true(backward.op->operations(&backward) == (4 * 12 + 4 * 4 + 4 * 12 + 12 * 12) * 9);
  assert_true(backward.op->bytes(&backward) == 4.0 * (144 + 48 + 48 + 16 + 12 + 9 * 4 + 9 * 4 + 9 * 12));
}

static void expect_refused(const char *op, const char *words, const char *message) {
  char text[256];
  tw_problem p;
  tw_error error = {0};
  snprintf(text, sizeof text, "%s %s", op, words);
  tw_status status = tw_problem_parse(NULL, text, &p, &error);
  if (status == TW_OK) status = p.op->validate(&p, &error);
  assert_int_equal(tw_status_group(status), TW_USAGE);
  if (!strstr(error.text, message)) fail_msg("'%s' does not say '%s'", error.text, message);
  assert_null(strchr(error.text, '\n'));
}

static void bad_keys_are_refused(void **state) {
  expect_refused("mpc_forward", "states=12 inputs=4", "requires horizon=");
  expect_refused("mpc_forward", "horizon=10 states=12", "mpc_forward horizon=10 states=12 inputs=4");
  expect_refused("mpc_forward", "horizon=0 states=12 inputs=4", "between 1 and");
  expect_refused("mpc_backward", "horizon=1 states=12 inputs=4", "between 2 and");
  expect_refused("mpc_backward", "horizon=5 states=513 inputs=4", "between 1 and 512");
  expect_refused("mpc_forward", "horizon=5 states=12 inputs=-1", "between 1 and 512");
  expect_refused("mpc_forward", "horizon=5 state=12 inputs=4", "did you mean 'states'");
  expect_refused("mpc_forward", "horizon=5 horizon=5 states=12 inputs=4", "given twice");
  expect_refused("mpc_forward", "horizon=x states=12 inputs=4", "not a whole number");
  expect_refused("mpc_forward", "horizon=5 states=12 inputs=4 type=i8", "use type=f32");
  expect_refused("mpc_forwards", "horizon=5", "did you mean 'mpc_forward'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_is_what_the_equations_say),
      cmocka_unit_test(single_precision_passes),
      cmocka_unit_test(trajectories_stay_alive),
      cmocka_unit_test(small_errors_are_found),
      cmocka_unit_test(what_was_not_written_is_found),
      cmocka_unit_test(changed_inputs_are_found),
      cmocka_unit_test(cost_is_counted_as_the_paper_counts),
      cmocka_unit_test(bad_keys_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
