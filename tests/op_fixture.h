/* op_fixture.h - ops known element by element, in tests: problems from text, kernels to judge, planted errors. */
#ifndef OP_FIXTURE_H
#define OP_FIXTURE_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "op/compare.h"
#include "op/element.h"
#include "subject.h"

static inline tw_problem op_problem(const char *text) { return problem_from(NULL, "%s", text); }

/* A case with its outputs poisoned, and outputs of a kernel's own beside its inputs. */
typedef struct op_run {
  tw_problem problem;
  tw_case data;
  void *actual[TW_OPERANDS_MAX];
} op_run;

static inline void op_run_free(op_run *r) {
  for (size_t i = 0; i < r->data.n_operands; i++) {
    if (r->data.operand[i].is_output) free(r->actual[i]);
  }
  tw_case_free(&r->data);
}

/* In place: the case points to its problem. */
static inline void op_run_make(op_run *r, const char *text, uint64_t seed) {
  tw_error error;
  r->problem = op_problem(text);
  if (tw_case_make_inputs(&r->problem, seed, &r->data, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  for (size_t i = 0; i < r->data.n_operands; i++) {
    r->actual[i] = r->data.buffer[i];
    if (!r->data.operand[i].is_output) continue;
    r->actual[i] = malloc(r->data.operand[i].bytes);
    memset(r->actual[i], TW_POISON, r->data.operand[i].bytes);
  }
}

/* Takes the reference's outputs for the kernel's. */
static inline void op_run_reference(op_run *r) {
  void *buffer[TW_OPERANDS_MAX];
  memcpy(buffer, r->actual, sizeof buffer);
  r->problem.op->reference(&r->problem, buffer, 2);
}

static inline double op_get(const op_run *r, size_t operand, int64_t i) {
  return tw_element(r->data.operand[operand].type, r->actual[operand], i);
}

static inline void op_put(const op_run *r, size_t operand, int64_t i, double value) {
  tw_set_element(r->data.operand[operand].type, r->actual[operand], i, value);
}

/* The complete comparison, and that of tw_case_check with a budget for everything, agree. `says`: NULL if it is
 * right. */
static inline void op_expect(const op_run *r, const char *says) {
  tw_error error = {0};
  tw_coverage c;
  const tw_status status = r->problem.op->compare(&r->problem, r->data.buffer, r->actual, &error);
  if (!says && status != TW_OK) fail_msg("%s", error.text);
  if (says && (status != TW_FAILED || !strstr(error.text, says)))
    fail_msg("'%s' does not say '%s'", status == TW_OK ? "right" : error.text, says);
  const tw_effort all = {.budget = 1e18, .seed = 1, .threads = 2};
  assert_int_equal(tw_case_check(&r->data, r->actual, &all, &c, &error), status);
  assert_string_equal(c.text, "every element");
}

/* With this budget, is it found for each of several seeds? */
static inline void op_expect_sampled(const op_run *r, double budget, bool right) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    tw_error error = {0};
    tw_coverage c;
    const tw_effort some = {.budget = budget, .seed = seed, .threads = 2};
    const tw_status status = tw_case_check(&r->data, r->actual, &some, &c, &error);
    if (right && status != TW_OK) fail_msg("%s", error.text);
    assert_int_equal(status, right ? TW_OK : TW_FAILED);
    if (c.exact >= c.elements || !strstr(c.text, " of ")) fail_msg("not a sample: %s", c.text);
  }
}

static inline void op_expect_refused(const char *text, const char *says) {
  const tw_problem p = op_problem(text);
  tw_error error = {0};
  assert_int_equal(tw_status_group(p.op->validate(&p, &error)), TW_USAGE);
  if (!strstr(error.text, says)) fail_msg("'%s' does not say '%s'", error.text, says);
}

#endif
