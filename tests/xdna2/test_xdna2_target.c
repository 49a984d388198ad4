/* XDNA2 as a target: schedules become designs, designs run on the simulated array, the search finds better ones. */
#include "test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/random.h"
#include "base/status.h"
#include "search/result.h"
#include "subject.h"
#include "target/parse.h"
#include "target/xdna2/array/execute.h"
#include "target/xdna2/array/plan.h"
#include "tilewright/extend/target.h"
#include "tilewright/search.h"
#include "xdna2_array.h"

static const tw_target *target;
static xd_config machine;

static int setup(void **state) {
  machine = machine_config();
  target = tw_target_find("xdna2");
  return target ? 0 : -1;
}

static tw_problem problem_of(const char *m, const char *n, const char *k, const char *types) {
  return problem_from(target, "gemm m=%s n=%s k=%s %s", m, n, k, types);
}

/* Emits, builds, checks and measures. */
static tw_measurement measured(const tw_problem *p, const char *steps, const char *trace) {
  const tw_schedule s = schedule_from(steps);
  tw_error error;
  tw_artefact *artefact = NULL;
  tw_measurement m;
  tw_case inputs;
  char *source = NULL;
  if (tw_target_emit(target, p, &s, &source, &error) ||
      target->build(target, p, source, strlen(source), &(tw_evaluation){0}, &artefact, &error) ||
      tw_case_make(p, 3, 1, &inputs, &error) || target->check(target, artefact, &inputs, &(tw_evaluation){0}, &error) ||
      target->measure(target, artefact, &inputs, &(tw_evaluation){.trace = trace}, &m, &error))
    fail_msg("%s: %s", steps, error.text);
  target->release(artefact);
  tw_case_free(&inputs);
  free(source);
  return m;
}

/* The design as MLIR, on the problem that it is of. */
static void check_as_mlir(const tw_problem *p, const char *steps) {
  const tw_schedule s = schedule_from(steps);
  tw_error error;
  tw_artefact *artefact = NULL;
  tw_case inputs;
  tw_files files;
  const char *mlir = NULL;
  if (target->exporter->sources(target, p, &s, "", &files, &error)) fail_msg("%s", error.text);
  for (size_t i = 0; i < files.n; i++)
    if (!strcmp(files.file[i].name, "design.mlir")) mlir = files.file[i].text;
  assert_non_null(mlir);
  if (target->build(target, p, mlir, strlen(mlir), &(tw_evaluation){0}, &artefact, &error) ||
      tw_case_make(p, 5, 1, &inputs, &error) || target->check(target, artefact, &inputs, &(tw_evaluation){0}, &error))
    fail_msg("%s: %s", steps, error.text);
  target->release(artefact);
  tw_case_free(&inputs);
  tw_files_free(&files);
}

static void designs_are_right_and_measured(void **state) {
  const tw_problem wide = problem_of("256", "512", "256", "a=i8 b=i8 c=i32");
  const tw_problem narrow = problem_of("200", "300", "100", "a=i8 b=i8 c=i8 scale=0.0625");
  const tw_measurement plain = measured(&wide, "", NULL), better = measured(&wide, "tile m=64 k=64 n=64 rho=1", NULL);
  assert_true(better.cost < plain.cost && better.utilization > plain.utilization);
  assert_true(fabs(plain.seconds - plain.cycles / 1.8e9 - machine.array.dispatch_us * 1e-6) < 1e-12);
  const tw_problem exact = problem_of("200", "300", "100", "a=i16 b=i16 c=i16 scale=0.0000152587890625");
  assert_true(measured(&exact, "cores columns=3\ntile m=48 k=24 n=32 rho=3\nbuffers b=1 c=1", NULL).cost > 0);
  check_as_mlir(&exact, "tile m=32 k=32 n=32");
  const tw_problem wide16 = problem_of("200", "300", "100", "a=i8 b=i8 c=i16 scale=0.5");
  assert_true(measured(&wide16, "cores columns=3\ntile m=48 k=24 n=32 rho=3\nbuffers b=1 c=1", NULL).cost > 0);
  /* sums kept in C need no room beside it: a tile that published designs have */
  const tw_problem kept = problem_of("576", "1152", "432", "a=i8 b=i8 c=i8 acc=i8 b_transposed=1 scale=0.00048828125");
  assert_true(measured(&kept, "tile m=144 k=72 n=144", NULL).cost > 0);
  assert_true(measured(&narrow, "cores columns=3\ntile m=48 k=24 n=32 rho=3\nbuffers b=1 c=1", NULL).cost > 0);
}

static void block_formats_are_checked_to_the_bit(void **state) {
  static const char *const types[] = {"a=bf16 b=bfp16 c=bf16 acc=bf16",
                                      "a=bfp16 b=bfp16 c=bfp16 acc=bfp16",
                                      "a=bfp16 b=bfp16 c=bfp16 acc=bf16",
                                      "a=bf16 b=i4",
                                      "a=bf16 b=bf16",
                                      "a=bf16 b=bf16 acc=bf16",
                                      "a=i8 b=i8 c=i16 acc=i16 scale=0.25",
                                      "a=i16 b=i16 c=i16 acc=i16 scale=0.0009765625",
                                      "a=i16 b=i16 c=i16 acc=i16 b_transposed=1"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const tw_problem p = problem_of("300", "400", "200", types[i]);
    assert_true(measured(&p, "", NULL).cost > 0);
    assert_true(measured(&p, "tile m=64 k=48 n=32 rho=2", NULL).cost > 0);
    check_as_mlir(&p, "tile m=32 k=48 n=32 rho=2");
  }
}

/* More than what is checked whole. */
static void large_problems_are_checked_in_part(void **state) {
  const tw_problem p = problem_of("1100", "1100", "1000", "a=i8 b=i8 c=i32");
  const tw_measurement m = measured(&p, "tile m=64 k=64 n=64 rho=2", NULL);
  assert_true(m.counter[0].value > 1);
  const tw_problem grouped = problem_of("600", "1100", "1056", "a=bf16 b=i4 group=96"); /* whole groups in the part */
  assert_true(measured(&grouped, "tile m=64 k=64 n=64 rho=2", NULL).cost > 0);
}

static void column_major_b_is_checked_for_all_types(void **state) {
  static const char *const types[] = {
      "a=i8 b=i8 c=i32",      "a=i8 b=i8 c=i8 scale=0.125",     "a=i8 b=i4 c=i32",
      "a=i8 b=ternary c=i32", "a=bf16 b=bfp16 c=bf16 acc=bf16", "a=bfp16 b=bfp16 c=bfp16 acc=bf16",
      "a=bf16 b=i4 group=32"};
  for (int i = 0; i < 7; i++) {
    char with[64];
    snprintf(with, sizeof with, "%s b_transposed=1", types[i]);
    const tw_problem p = problem_of("100", "200", "96", with);
    assert_true(measured(&p, "", NULL).cost > 0);
    assert_true(measured(&p, "cores rows=2 columns=2\ntile m=32 k=32 n=64 rho=1\ndepth 3", NULL).cost > 0);
    check_as_mlir(&p, "");
  }
}

static void a_wrong_schedule_is_refused_by_its_step(void **state) {
  static const struct {
    const char *steps, *part;
  } wrong[] = {
      {"tile m=60", "needs multiples of 16x8x16"},
      {"tile m=96 k=8 n=16 rho=4", "rho 4: kernel int8 needs multiples"},
      {"tile q=3", "unexpected 'q'"},
      {"tile m=32 m=64", "'m' is given twice"},
      {"cores columns=9", "the array has 4 rows and 8 columns"},
      {"buffers a=7", "unsupported value 'a=7'; expected a number from 1 to 4"},
      {"depth 0", "unsupported value '0'; expected a number from 1 to 64; usage: depth 4"},
      {"kernel atb", "unsupported value 'atb'; usage: kernel NAME, one of the same types"},
      {"bogus 4\ntile m=64 k=64 n=64", "step 'bogus 4': unknown step"},
      {"bogus 4", "expected one of tile, cores, buffers, depth, kernel, cluster, unroll"},
      {"unroll 0", "unsupported value '0'; expected a number from 1 to 64"},
      {"cluster rows=9 columns=9", "at most 32 accumulators"},
      {"cluster rows=2 columns=4", "needs 8 accumulators, but the core has 5"},
      {"cluster rows=3 columns=1", "needs multiples of 24x8x8"},
      {"tile m=32 k=256 n=64 rho=1\nbuffers c=1\nunroll 8", "unroll less"},
      {"tile m=128 k=64 n=128 rho=1", "n=512 is less than the 1024"},
      {"tile m=64 k=256 n=64 rho=1", "buffers of a core need 98304 bytes and its stack 1024, but L1 has 65536"},
  };
  const tw_problem p = problem_of("512", "512", "512", "a=i8 b=i8 c=i32");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const tw_schedule s = schedule_from(wrong[i].steps);
    tw_error error = {0};
    char *source = NULL;
    if (tw_status_group(tw_target_emit(target, &p, &s, &source, &error)) != TW_USAGE ||
        !strstr(error.text, wrong[i].part))
      fail_msg("'%s': '%s' does not say '%s'", wrong[i].steps, error.text, wrong[i].part);
  }
}

/* What the command says of a problem that no design computes: one line each. */
static void wrong_problems_are_refused_in_one_line(void **state) {
  static const struct {
    const char *words[12], *part;
  } wrong[] = {
      {{"a=u8", "b=i8"}, "no kernel has the types a=u8 b=i8"},
      {{"a=f32", "b=bf16"},
       "no kernel has the types a=f32 b=bf16, as cores cannot multiply f16, nor f32 by other types;"},
      {{"a=bf16", "b=f16"},
       "no kernel has the types a=bf16 b=f16, as cores cannot multiply f16, nor f32 by other types"},
      {{"a=i8", "b=mxfp4"}, "no kernel has the types a=i8 b=mxfp4"},
      {{"a=i4", "b=i4"}, "no kernel has the types a=i4 b=i4"},
      {{"a=i8", "b=i8", "c=f32"}, "no kernel has the types a=i8 b=i8 c=f32"},
      {{"a=i8", "b=i8", "c=i32", "a_transposed=1"}, "a_transposed is not supported"},
      {{"a=i8", "b=ternary", "c=i32", "group=32"}, "group=32 requires weights with scales"},
      {{"a=i8", "b=i8", "c=i16", "scale=0.3"},
       "is unsupported: cores narrow by shifts; expected a power of two from 2^-30 to 1, with"},
      {{"a=i16", "b=i16", "c=i16", "scale=0.3"}, "scale=0.3 is unsupported: cores narrow by shifts"},
      {{"a=i8", "b=i8", "c=i32", "n=21"}, "n: a row of 21 bytes is not a multiple of the DMA's words of 4 bytes"},
      {{"a=i8", "b=ternary", "c=i32", "k=33"}, "k: a row of 33 bytes is not a multiple of the DMA's words of 4 bytes"},
      {{"a=i8", "b=i8", "c=i32", "k=38", "b_transposed=1"},
       "k: a row of 38 bytes is not a multiple of the DMA's words"},
      {{"a=bf16", "b=bfp16", "c=bf16", "acc=bf16", "k=6"}, "k=6 is less than the 8 that the array computes at a time"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const tw_schedule none = {0};
    tw_problem p;
    tw_error error = {0};
    char *source = NULL;
    const char *words[12] = {"m=32", "n=64", "k=64"};
    size_t n = 3;
    for (int j = 0; wrong[i].words[j]; j++) { /* sizes replace those above */
      const char *word = wrong[i].words[j];
      if (word[0] == 'n')
        words[1] = word;
      else if (word[0] == 'k')
        words[2] = word;
      else
        words[n++] = word;
    }
    tw_status status = tw_problem_parse_words(NULL, "gemm", n, words, &p, &error);
    if (status == TW_OK) status = tw_target_supports(target, &p, &error);
    if (status == TW_OK) status = tw_target_emit(target, &p, &none, &source, &error);
    free(source);
    if (tw_status_group(status) != TW_USAGE || !strstr(error.text, wrong[i].part) || strchr(error.text, '\n'))
      fail_msg("%s %s: '%s' does not say '%s'", wrong[i].words[0], wrong[i].words[1], error.text, wrong[i].part);
  }
}

static void a_design_says_all_and_reads_back(void **state) {
  const tw_problem p = problem_of("512", "512", "512", "a=i8 b=i8 c=i32");
  tw_schedule s = schedule_from("tile m=64 k=64 n=32 rho=2\ncores columns=4\ndepth 2\nbuffers c=1");
  tw_error error;
  char *once, *again;
  assert_int_equal(tw_target_emit(target, &p, &s, &once, &error), TW_OK);
  s = schedule_from(once);
  assert_int_equal(tw_target_emit(target, &p, &s, &again, &error), TW_OK);
  assert_string_equal(once, again);
  assert_non_null(strstr(once, "tile m=64 k=64 n=32 rho=2\nbuffers a=2 b=2 c=1\ndepth 2\n"));
  free(once);
  free(again);
}

static void every_step_of_the_menu_builds(void **state) {
  const tw_problem p = problem_of("320", "600", "200", "a=i8 b=i8 c=i32");
  const tw_schedule none = {0};
  tw_menu menu;
  tw_error error;
  assert_int_equal(tw_target_steps(target, &p, &none, &menu, &error), TW_OK);
  assert_true(menu.n > 60);
  for (size_t i = 0; i < menu.n; i++) {
    tw_schedule s = none;
    tw_artefact *artefact;
    char *source;
    tw_schedule_add(&s, menu.item[i].step, &error);
    if (tw_target_emit(target, &p, &s, &source, &error) ||
        target->build(target, &p, source, strlen(source), &(tw_evaluation){0}, &artefact, &error))
      fail_msg("%s: %s", menu.item[i].step, error.text);
    target->release(artefact);
    free(source);
    assert_true(menu.item[i].predicted_cost > 0);
  }
  tw_menu_free(&menu);
}

/* The bounds alone come near what the events say: good enough to order a menu. */
static void predictions_are_near(void **state) {
  const tw_problem p = problem_of("2048", "2048", "2048", "a=i8 b=i8 c=i32");
  static const char *const steps[] = {"tile m=64 k=64 n=64 rho=1", "tile m=128 k=64 n=64 rho=4\nbuffers c=1",
                                      "tile m=32 k=32 n=32", "tile m=128 k=32 n=64 rho=2\nbuffers c=1",
                                      "cores columns=4\ntile m=64 k=64 n=64"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    const tw_schedule s = schedule_from(steps[i]);
    xd_gemm g;
    xd_program program;
    xd_run_result r;
    tw_error error;
    double predicted;
    const xd_run_options options = {.timing_only = true, .cost = analytic_cost(&machine)};
    if (tw_target_predict(target, &p, &s, &predicted, &error) || xd_plan_of(&machine, &p, &s, &g, &error) ||
        xd_gemm_program(&machine, &g, &program, &error) || xd_run(&machine, &program, &options, &r, &error))
      fail_msg("%s: %s", steps[i], error.text);
    const double simulated = r.cycles / 1.8e9 + machine.array.dispatch_us * 1e-6;
    if (!(fabs(predicted / simulated - 1) < 0.25))
      fail_msg("%s: %g predicted, %g simulated", steps[i], predicted, simulated);
    xd_program_free(&program);
  }
}

/* One step after the other of the menu, drawn; seconds of the simulation for the design at the end. */
static double drawn_design(const tw_problem *p, tw_random *random, xd_gemm *g) {
  tw_schedule s = {0};
  tw_error error;
  for (uint64_t n = tw_random_below(random, 6); s.n < n;) {
    tw_menu menu;
    if (tw_target_steps(target, p, &s, &menu, &error)) fail_msg("%s", error.text);
    tw_schedule_add(&s, menu.item[tw_random_below(random, menu.n)].step, &error);
    tw_menu_free(&menu);
  }
  tw_measurement m;
  if (xd_plan_of(&machine, p, &s, g, &error) || xd_execute_measure(&machine, g, NULL, &m, &error))
    fail_msg("%s", error.text);
  return m.cost;
}

/* No simulation takes less than the bound by which a search leaves designs out; of large problems most are near it. */
static void the_bound_is_never_above_the_simulation(void **state) {
  static const char *const types[] = {"a=i8 b=i8 c=i32",
                                      "a=i8 b=i8 c=i8 scale=0.125",
                                      "a=i8 b=i8 c=i16 b_transposed=1",
                                      "a=i8 b=i4 c=i32",
                                      "a=i8 b=ternary c=i32",
                                      "a=bf16 b=bfp16 c=bf16",
                                      "a=bfp16 b=bfp16 c=bfp16",
                                      "a=bfp16 b=bfp16 c=bfp16 acc=bf16"};
  static const char *const sizes[][3] = {{"1", "512", "256"},
                                         {"24", "40", "1024"},
                                         {"512", "512", "512"},
                                         {"520", "600", "1032"},
                                         {"256", "1024", "2048"}};
  enum { TYPES = sizeof types / sizeof *types, SIZES = sizeof sizes / sizeof *sizes };
  const int drawn = 8 / example_stride();
  int near = 0;
  tw_random random;
  tw_random_seed_stream(&random, 7, 0);
  for (int i = 0; i < TYPES * SIZES * drawn; i++) {
    const char *const *size = sizes[i / TYPES % SIZES];
    const tw_problem p = problem_of(size[0], size[1], size[2], types[i % TYPES]);
    xd_gemm g;
    const double simulated = drawn_design(&p, &random, &g), least = xd_plan_least(&machine, &g);
    if (!(least <= simulated))
      fail_msg("%s: %g is not below %g\n%s", types[i % TYPES], least, simulated, xd_plan_print(&g));
    near += least > 0.9 * simulated;
  }
  assert_true(near > TYPES * SIZES * drawn / 3);
}

static void the_search_beats_the_plain_design(void **state) {
  const tw_problem p = problem_of("512", "1024", "512", "a=i8 b=i8 c=i32");
  const tw_search_options options = {
      .size = sizeof options, .iterations = 3, .plans = 2, .kernels = 2, .beam = 2, .dropout = -1, .seed = 1};
  tw_search_result r = {0};
  tw_error error;
  if (tw_search_into(target, &p, &options, &r, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(r.best.cost < 0.8 * r.start.cost);
  assert_int_equal(r.correct + r.slower, r.samples);
  assert_true(r.correct > 1 && r.slower > 0);
  tw_search_result_clear(&r);
}

/* What is not checked does not depend on threads, and a journal recalls it: the second search of each pair ends
 * alike. */
static void designs_that_are_not_checked_change_nothing(void **state) {
  const tw_problem p = problem_of("512", "1024", "512", "a=i8 b=i8 c=i32");
  char journal[] = "/tmp/tw-test-xdna2-XXXXXX";
  close(mkstemp(journal));
  tw_search_result first = {0};
  for (int i = 0; i < 3; i++) {
    const tw_search_options options = {.size = sizeof options,
                                       .iterations = 3,
                                       .plans = 2,
                                       .kernels = 2,
                                       .beam = 2,
                                       .dropout = -1,
                                       .seed = 1,
                                       .jobs = i ? 2 : 1,
                                       .journal = i ? journal : NULL};
    tw_search_result r = {0};
    tw_error error;
    if (tw_search_into(target, &p, &options, &r, &error) != TW_OK) fail_msg("%s", error.text);
    if (i == 0) {
      first = r;
      continue;
    }
    assert_string_equal(r.source, first.source);
    assert_true(r.best.cost == first.best.cost && r.best.n_counters == first.best.n_counters);
    assert_int_equal(r.samples, first.samples);
    assert_int_equal(r.correct, first.correct);
    assert_int_equal(r.slower, first.slower);
    tw_search_result_clear(&r);
  }
  tw_search_result_clear(&first);
  unlink(journal);
}

static void write_file(const char *folder, const char *name, const void *data, size_t size) {
  char path[600];
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (tw_file_write(path, data, size, &error) != TW_OK) fail_msg("%s", error.text);
}

/* Calls of core (0,2) as mlir-aie decodes them: one that was begun before the buffer, then four of 1500 cycles, 500
 * apart. */
static char *recorded(void) {
  tw_text t = {0};
  tw_text_add_string(
      &t, "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{\"name\":\"core_trace for tile2,0\"}}");
  for (int i = 0; i < 9; i++)
    tw_text_add(&t, ",{\"name\":\"INSTR_EVENT_%d\",\"ph\":\"B\",\"pid\":0,\"tid\":%d,\"ts\":%d}", !(i % 2), !(i % 2),
                5000 + i / 2 * 2000 + i % 2 * 500);
  tw_text_add_string(&t, "]");
  return tw_text_take(&t);
}

/* A traced design says what is recorded, reads back, and has a script that puts both runs side by side. */
static void recorded_and_simulated_calls_are_compared(void **state) {
  const tw_problem p = problem_of("512", "512", "256", "a=i8 b=i8 c=i32");
  const char steps[] = "tile m=64 k=64 n=64\ntrace 2";
  const tw_schedule s = schedule_from(steps);
  tw_files files = {0};
  tw_error error;
  char *folder, command[1200], path[600], *trace = recorded();
  check_as_mlir(&p, steps);
  assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
  if (target->exporter->sources(target, &p, &s, NULL, &files, &error) != TW_OK) fail_msg("%s", error.text);
  for (size_t i = 0; i < files.n; i++) {
    const char *text = files.file[i].text, *name = files.file[i].name;
    if (!strcmp(name, "design.mlir")) {
      assert_non_null(strstr(text, "aie.trace @trace_0_3(%tile_0_3) {"));
      assert_non_null(strstr(text, "aie.trace.start_config @trace_0_2"));
      assert_null(strstr(text, "@trace_0_4"));
    }
    if (!strcmp(name, "kernel.cc")) assert_true(strstr(text, "event0();") && strstr(text, "event1();"));
    if (!strcmp(name, "overlay.py")) write_file(folder, name, text, strlen(text));
  }
  write_file(folder, "trace.json", trace, strlen(trace));
  snprintf(path, sizeof path, "%s/simulated.json", folder);
  measured(&p, steps, path);
  snprintf(command, sizeof command,
           "cd %s && /usr/bin/python3 overlay.py trace.json simulated.json overlay.json >output 2>&1 && "
           "grep -q '^0,2 *4 *8 *1500, 976 (-34.9%%) *500, ' output && grep -q '\"recorded\"' overlay.json",
           folder);
  if (system(command) != 0) fail_msg("%s", command);
  tw_files_free(&files);
  tw_directory_remove(folder);
  free(folder);
  free(trace);
}

/* The script, on a module that stands for XRT and an NPU that multiplies (data/xdna2/python). */
static void the_script_tells_right_from_wrong(void **state) {
  static const char *const cases[][2] = {
      {"a=i8 b=i8 c=i32", "\"c\": \"int32\", \"shift\": 0, \"turned\": 0"},
      {"a=i8 b=i8 c=i16 scale=0.5", "\"c\": \"int16\", \"shift\": 1, \"turned\": 0"},
      {"a=i8 b=i8 c=i8 scale=0.0625 b_transposed=1", "\"c\": \"int8\", \"shift\": 4, \"turned\": 1"}};
  if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) skip();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = problem_of("256", "512", "256", cases[i][0]);
    const tw_schedule none = {0};
    tw_files files = {0};
    tw_error error;
    char *folder, command[1024];
    assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
    if (target->exporter->sources(target, &p, &none, NULL, &files, &error) != TW_OK) fail_msg("%s", error.text);
    for (size_t j = 0; j < files.n; j++)
      write_file(folder, files.file[j].name, files.file[j].text,
                 files.file[j].size ? files.file[j].size : strlen(files.file[j].text));
    write_file(folder, "insts.bin", "0123", 4);
    for (int wrong = 0; wrong < 2; wrong++) {
      snprintf(command, sizeof command,
               "cd %s && GEMM='{\"m\": 256, \"n\": 512, \"k\": 256, %s, \"wrong\": %d}' PYTHONDONTWRITEBYTECODE=1 "
               "PYTHONPATH=%s "
               "/usr/bin/python3 run.py >output 2>&1; test $? = %d && grep -q '%s' output",
               folder, cases[i][1], wrong, TW_TEST_DATA "/xdna2/python", wrong,
               wrong ? "WRONG: element 43690 of C" : "right: every element");
      if (system(command) != 0) fail_msg("%s", command);
    }
    tw_files_free(&files);
    tw_directory_remove(folder);
    free(folder);
  }
}

/* On spaces of which every design is measured, a search at its defaults finds one as good as the best, also where that
 * takes three steps of which the first two lose. */
static void the_search_finds_the_best_of_all_designs(void **state) {
  static const char *const problems[][4] = {{"8", "16", "64", "a=i8 b=ternary c=i32"},
                                            {"1", "8", "128", "a=i8 b=ternary c=i32"},
                                            {"8", "16", "96", "a=i8 b=i4 c=i32"},
                                            {"8", "16", "64", "a=i8 b=i4 c=i32"},
                                            {"8", "8", "64", "a=i8 b=i8 c=i32"}};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i += (size_t)example_stride()) {
    const char *const *q = problems[i];
    const tw_problem p = problem_of(q[0], q[1], q[2], q[3]);
    const tw_search_options all = {.size = sizeof all, .exhaustive = true, .dropout = -1, .seed = 1},
                            some = {.size = sizeof some, .dropout = -1, .seed = 1};
    tw_search_result every = {0}, found = {0};
    tw_error error;
    if (tw_search_into(target, &p, &all, &every, &error) != TW_OK ||
        tw_search_into(target, &p, &some, &found, &error) != TW_OK)
      fail_msg("%s", error.text);
    assert_true(every.samples > 500 && every.correct == every.samples);
    assert_true(found.samples < every.samples);
    if (found.best.cost > 1.002 * every.best.cost) /* most of it is the dispatch; less is below what is known of it */
      fail_msg("%s %s %s %s: %.9g of %d designs, %.9g of %d that the search met", q[0], q[1], q[2], q[3],
               every.best.cost, every.samples, found.best.cost, found.samples);
    tw_search_result_clear(&every);
    tw_search_result_clear(&found);
  }
}

static void too_many_designs_are_not_enumerated(void **state) {
  const tw_problem p = problem_of("64", "64", "32", "a=i8 b=i8 c=i32");
  const tw_search_options all = {.size = sizeof all, .exhaustive = true, .dropout = -1, .seed = 1};
  tw_search_result r = {0};
  tw_error error = {0};
  assert_int_equal(tw_search_into(target, &p, &all, &r, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "exhaustive: the menu leads to more than 4000 kernels"));
}

static size_t occurrences(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) n++;
  return n;
}

static void the_floorplan_shows_every_buffer_and_link(void **state) {
  const tw_problem p = problem_of("256", "512", "256", "a=i8 b=i8 c=i32");
  const tw_schedule s = schedule_from("tile m=64 k=64 n=64");
  xd_gemm g;
  xd_program program;
  tw_error error;
  char *svg;
  if (target->exporter->floorplan(target, &p, &s, &svg, &error) || xd_plan_of(&machine, &p, &s, &g, &error) ||
      xd_gemm_program(&machine, &g, &program, &error))
    fail_msg("%s", error.text);
  assert_int_equal(occurrences(svg, " bytes</title>"), program.buffers.n - XD_GEMM_OPERANDS);
  assert_int_equal(occurrences(svg, "<line "), program.steps.n);
  assert_non_null(strstr(svg, "core (7,5)"));
  assert_non_null(strstr(svg, "48.0 of 64 KiB"));
  xd_program_free(&program);
  free(svg);
}

static void the_timeline_is_a_trace(void **state) {
  const tw_problem p = problem_of("128", "256", "64", "a=i8 b=i8 c=i32");
  char path[] = "/tmp/xdna2_trace_XXXXXX";
  close(mkstemp(path));
  const tw_measurement m = measured(&p, "", path);
  json_error_t why;
  json_t *whole = json_load_file(path, 0, &why), *trace = json_object_get(whole, "traceEvents");
  if (!trace) fail_msg("%s", why.text);
  size_t lanes = 0, calls = 0;
  double end = 0;
  for (size_t i = 0; i < json_array_size(trace); i++) {
    const json_t *e = json_array_get(trace, i);
    const char *name = json_string_value(json_object_get(e, "name"));
    lanes += !strcmp(name, "thread_sort_index");
    calls += !strcmp(name, "matmul_i8");
    if (!strcmp(name, "kernel")) end = json_number_value(json_object_get(e, "dur"));
  }
  assert_true(lanes > 32 + 60);
  assert_int_equal(calls, 32 * 2);
  assert_true(fabs(end - m.cycles / 1800) < 0.001);
  json_decref(whole);
  remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(designs_are_right_and_measured),
      cmocka_unit_test(block_formats_are_checked_to_the_bit),
      cmocka_unit_test(large_problems_are_checked_in_part),
      cmocka_unit_test(column_major_b_is_checked_for_all_types),
      cmocka_unit_test(a_wrong_schedule_is_refused_by_its_step),
      cmocka_unit_test(wrong_problems_are_refused_in_one_line),
      cmocka_unit_test(a_design_says_all_and_reads_back),
      cmocka_unit_test(every_step_of_the_menu_builds),
      cmocka_unit_test(predictions_are_near),
      cmocka_unit_test(the_bound_is_never_above_the_simulation),
      cmocka_unit_test(the_search_beats_the_plain_design),
      cmocka_unit_test(designs_that_are_not_checked_change_nothing),
      cmocka_unit_test(recorded_and_simulated_calls_are_compared),
      cmocka_unit_test(the_script_tells_right_from_wrong),
      cmocka_unit_test(the_search_finds_the_best_of_all_designs),
      cmocka_unit_test(too_many_designs_are_not_enumerated),
      cmocka_unit_test(the_floorplan_shows_every_buffer_and_link),
      cmocka_unit_test(the_timeline_is_a_trace),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
