/* test_cuda_process.c - the process that runs a kernel, and what the library makes of what it says: with a driver of
 * our own (cuda_stub/driver.c) in place of NVIDIA's, so that it is tested where there is no device. Needs the
 * compiler, as any build. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cuda/device.h"
#include "target/cuda/measure.h"
#include "target/cuda/runner/protocol.h"
#include "tilewright/extend/extend.h"
#include "tilewright/run.h"

static const tw_target *target(void) {
  const tw_target *t = tw_target_find("cuda-h100-sxm");
  tw_error why = {0};
  if (t->available(t, &why) == TW_OK) return t;
  print_message("%s\n", why.text);
  skip();
  return NULL;
}

static double limit; /* tw_evaluation.limit */

static const char PROBLEM[] = "gemm m=30 n=40 k=50 a=f32 b=f32 c=f32 acc=f32";

static void write_source(const char *kernel, char source[600]) {
  static const char format[] =
      "//: kernel %s\n//: grid 1\n//: block 32\n//: workspace 100%s\n"
      "//: args A, B, C, workspace, m, n, k\n"
      "extern \"C\" __global__ void %s(float *A, float *B, float *C, char *w, int m, int n, int k) {}\n";
  snprintf(source, 600, format, kernel, strcmp(kernel, "zeros") == 0 ? " zeroed" : "", kernel);
}

static tw_status run_trusted(const char *kernel, bool trust, tw_measurement *m, tw_error *error) {
  const tw_target *t = target();
  char source[600];
  tw_problem p;
  tw_artefact *artefact = NULL;
  tw_case data = {0};
  write_source(kernel, source);
  assert_int_equal(tw_problem_parse(NULL, PROBLEM, &p, error), TW_OK);
  if (strcmp(kernel, "transposed") == 0) assert_int_equal(tw_problem_set(&p, "a_transposed", "1", error), TW_OK);
  if (tw_target_supports(t, &p, error) != TW_OK) fail_msg("%s", error->text);
  tw_evaluation e = {.trust = trust, .limit = limit};
  if (t->build(t, &p, source, strlen(source), &e, &artefact, error) != TW_OK) fail_msg("%s", error->text);
  assert_int_equal(tw_target_case(t, &p, 1, 1, &data, error), TW_OK);
  tw_status status = t->measure(t, artefact, &data, &e, m, error);
  if (status == TW_OK) status = t->check(t, artefact, &data, &e, error); /* known by now */
  tw_case_free(&data);
  if (status == TW_OK && !trust && (status = tw_target_case(t, &p, 2, 1, &data, error)) == TW_OK) {
    status = t->check(t, artefact, &data, &e, error);
    tw_case_free(&data);
  }
  t->release(artefact);
  return status;
}

static tw_status run(const char *kernel, tw_measurement *m, tw_error *error) {
  return run_trusted(kernel, false, m, error);
}

/* The stub computes on this machine's processors, where a launch may wait its turn: a time that looks like a lie, and
 * is not `expected` to, is not held against the kernel unless it comes again and again. */
static tw_status run_again(const char *kernel, const char *expected, tw_measurement *m, tw_error *error) {
  static const char *const lies[] = {"the wall clock", "a launch on new inputs"};
  for (int i = 0;; i++) {
    *error = (tw_error){0};
    const tw_status status = run(kernel, m, error);
    bool late = false;
    for (int l = 0; l < 2; l++) late |= strstr(error->text, lies[l]) && !strstr(error->text, expected);
    if (status != TW_FAILED || !late || i == 5) return status;
  }
}

static void the_devices_are_listed(void **state) {
  target();
  const cuda_here *here = cuda_look();
  assert_int_equal(here->driver, 13000);
  assert_int_equal(here->n_devices, 2);
  assert_string_equal(here->device[1].name, "Stub H100 80GB HBM3 1");
  assert_int_equal(here->device[0].capability, 90);
  assert_string_equal(cuda_config_here()->name, "h100-sxm");
  const cuda_device *device[CUDA_DEVICES_MAX];
  assert_int_equal(cuda_devices_of(cuda_config_find("h200"), device), 0);
  tw_error error = {0};
  assert_int_equal(cuda_need_device(cuda_config_find("l40s"), &error), TW_NO_DEVICE);
  assert_non_null(strstr(error.text, "no device here is 'L40S'; device 0 is 'Stub"));
}

static void a_right_kernel_is_right(void **state) {
  static const char *const kernels[] = {"right", "zeros", "transposed"};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    tw_measurement m = {0};
    tw_error error = {0};
    if (run_again(kernels[i], "nothing", &m, &error) != TW_OK) fail_msg("%s: %s", kernels[i], error.text);
    assert_true(m.cost > 1e-6 && m.cost < 0.1);
  }
}

/* Slower than what is of use: few launches tell; whether it is right is found out when somebody asks. */
static void what_is_much_too_slow_is_timed_briefly(void **state) {
  tw_measurement m = {0};
  tw_error error = {0};
  tw_status right = TW_FAILED;
  limit = 1e-9;
  for (int i = 0; i < 6 && m.spread.rounds != 11; i++) /* a time that looks like a lie is taken in full */
    right = run_again("right", "nothing", &m, &error);
  const size_t rounds = m.spread.rounds;
  const tw_status wrong = run_again("skips", "wrong result", &m, &error);
  limit = 0;
  assert_int_equal(right, TW_OK);
  assert_int_equal(rounds, 11);
  assert_true(wrong == TW_FAILED && strstr(error.text, "wrong result: C[0][5]"));
}

/* The stub computes for 20 ms, unless it finds its A among those that it met. */
static void results_that_are_kept_are_of_no_use(void **state) {
  tw_measurement m = {0};
  tw_error error = {0};
  if (run_again("recalls", "nothing", &m, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(m.cost > 0.02);
}

static void what_is_wrong_or_a_lie_is_told(void **state) {
  const struct {
    const char *kernel, *words;
  } cases[] = {
      {"behind", "writes outside its operands: within 65536 bytes after C"},
      {"before", "writes outside its operands: within 65536 bytes before C"},
      {"beyond", "writes outside its operands: within 65536 bytes after its workspace"},
      {"changes", "the kernel changed its input A"},
      {"skips", "wrong result: C[0][5]"},
      {"faults", "memory that is not its own (CUDA_ERROR_ILLEGAL_ADDRESS: as the stub says)"},
      {"ends", "the kernel ended the process that ran it"},
      {"spins", "the kernel did not end within"},
      {"stops", "wrong"},
      {"keeps", "the kernel keeps results between launches"},
      {"naps", "wrong when it is timed: in launch"},
      {"halves", "wrong when it is timed: in launch"},
      {"lies", "the wall clock"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tw_measurement m = {0};
    tw_error error = {0};
    const tw_status status = run_again(cases[i].kernel, cases[i].words, &m, &error);
    if (status != TW_FAILED || !strstr(error.text, cases[i].words))
      fail_msg("'%s' should end with '%s', but: %d %s", cases[i].kernel, cases[i].words, status, error.text);
  }
}

/* The wait for a process ends at the limit of a run, before that of a launch. */
static void a_run_ends_at_its_time_limit(void **state) {
  tw_run_options o = {.size = sizeof o, .seed = 1};
  char source[600];
  tw_problem p;
  write_source("spins", source);
  assert_int_equal(tw_problem_parse(NULL, PROBLEM, &p, NULL), TW_OK);
  for (int limited = 0; limited < 2; limited++) {
    tw_error error = {0};
    tw_run_result *r;
    o.seconds = limited ? 2 : 0; /* the kernel's file is compiled by then */
    const tw_status status = tw_run(target(), &p, source, strlen(source), &o, &r, &error);
    assert_int_equal(status, limited ? TW_INTERRUPTED : TW_FAILED);
    const char *words =
        limited ? "did not end within 2 s: interrupted while the device" : "the kernel did not end within";
    if (!strstr(error.text, words)) fail_msg("%s", error.text);
  }
  o.seconds = -1;
  tw_run_result *r;
  assert_int_equal(tw_run(target(), &p, source, strlen(source), &o, &r, NULL), TW_USAGE);
}

/* "later" is right in a process that had a kernel before; "spoils" makes it and all behind it in its process wrong. */
static void trusted_kernels_share_a_process_until_one_fails(void **state) {
  static const struct {
    const char *kernel, *words;
  } steps[] = {
      {"later", "wrong"}, {"right", NULL}, {"later", NULL},  {"zeros", NULL}, {"faults", "memory that is not its own"},
      {"right", NULL},    {"later", NULL}, {"spoils", NULL}, {"right", NULL}};
  tw_measurement m = {0};
  tw_error error = {0};
  assert_int_equal(run("later", &m, &error), TW_FAILED);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    const bool fails = steps[i].words || !strcmp(steps[i].kernel, "spoils");
    tw_status status;
    bool as_expected;
    int tries = 0;
    do { /* a time that looks like a lie ends a process: what comes next is the first in another */
      error = (tw_error){0};
      status = run_trusted(steps[i].kernel, true, &m, &error);
      as_expected = (status != TW_OK) == fails && (!steps[i].words || strstr(error.text, steps[i].words));
    } while (!as_expected && ++tries < 6);
    if (!as_expected) fail_msg("step %zu, '%s': %d %s", i, steps[i].kernel, status, error.text);
  }
}

/* Launches follow one another with other copies of the weights; a launch alone is told beside them. */
static void weights_of_codes_are_timed_in_chains(void **state) {
  static const char source[] = "//: kernel codes\n//: grid 1\n//: block 32\n//: args A, B, SB, C\n"
                               "extern \"C\" __global__ void codes(char *A, char *B, char *SB, char *C) {}\n";
  const tw_target *t = target();
  tw_problem p;
  tw_error error = {0};
  tw_artefact *artefact = NULL;
  tw_case data = {0};
  tw_measurement m = {0};
  assert_int_equal(
      tw_problem_parse(NULL, "gemm m=1 n=16 k=256 a=bf16 b=i4 c=bf16 acc=f32 packed=1 group=128", &p, &error), TW_OK);
  if (t->build(t, &p, source, strlen(source), &(tw_evaluation){.trust = true}, &artefact, &error) != TW_OK)
    fail_msg("%s", error.text);
  assert_int_equal(tw_target_case(t, &p, 1, 1, &data, &error), TW_OK);
  tw_evaluation e = {.limit = 1e-12}; /* nothing is compared */
  const double *alone = NULL;
  for (int tries = 0; !alone && tries < 6; tries++) { /* a launch that had to wait looks too slow for chains */
    if (t->measure(t, artefact, &data, &e, &m, &error) != TW_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < m.n_counters; i++)
      if (!strcmp(m.counter[i].name, "alone_us")) alone = &m.counter[i].value;
  }
  assert_true(alone && *alone > 0 && m.cost > 0);
  tw_case_free(&data);
  t->release(artefact);
}

/* What device code could make of the process that it runs in; without the profile each of them is seen to come
 * through. */
static void a_process_that_is_taken_over_is_confined(void **state) {
  static const char *const kernels[] = {"opens", "writes", "connects", "signals", "execs", "forks"};
  for (int confined = 0; confined < 2; confined++) {
    setenv(CUDA_CONFINE, confined ? "1" : "0", 1);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
      tw_measurement m = {0};
      tw_error error = {0};
      const tw_status status = run_again(kernels[i], "nothing", &m, &error);
      if ((status == TW_OK) != confined) fail_msg("'%s', %d: %s", kernels[i], confined, error.text);
    }
  }
  unsetenv(CUDA_CONFINE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_devices_are_listed),
      cmocka_unit_test(a_right_kernel_is_right),
      cmocka_unit_test(what_is_much_too_slow_is_timed_briefly),
      cmocka_unit_test(results_that_are_kept_are_of_no_use),
      cmocka_unit_test(what_is_wrong_or_a_lie_is_told),
      cmocka_unit_test(a_run_ends_at_its_time_limit),
      cmocka_unit_test(trusted_kernels_share_a_process_until_one_fails),
      cmocka_unit_test(weights_of_codes_are_timed_in_chains),
      cmocka_unit_test(a_process_that_is_taken_over_is_confined),
  };
  setenv("LD_LIBRARY_PATH", TW_CUDA_STUB, 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
