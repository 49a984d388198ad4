/* test_tune_baseline.c - tuning never makes things slower: the result of a search is no slower than what its user has,
 * the baseline or the kernel of an earlier search, on machines whose measurements differ; and a search ends in the time
 * that it was given. test_budgets.c has real targets. */
#include "test.h"

#include "search_fixture.h"

#include "base/clock.h"
#include "base/device.h"
#include "evaluate/trial.h"
#include "search/result.h"
#include "target/x86/bench.h"
#include "target/x86/plan.h"
#include "target/x86/tune/apply.h"
#include "target/x86/tune/tuning.h"

/* ---- a machine whose measurements differ ---- */

enum { MET_MAX = 4096 };

/* What the tests set, and what the machine remembers. */
static struct {
  double luck;          /* the first measurement of a kernel, but of the baseline, is off by this factor */
  double bad_moment;    /* the first measurement of the baseline is off by this factor */
  double noise;         /* later ones are off by up to this fraction, in turns */
  bool all_slower;      /* than the baseline, by a tenth */
  bool bank_pays;       /* but those with bank 2 are twice as fast as the baseline */
  int lucky;            /* the number of other kernels that have luck; 0: all */
  int lucky_left;       /* how many of them have not been measured yet */
  double check_seconds; /* that a check takes */
  double check_waits;   /* seconds that a check says it has waited */
  int quick;            /* how many measurements of the baseline are quick; 0: all */
  double slow_seconds;  /* that later ones take */
  bool fills_time;      /* measurements take as long as they may: take_time */
  int times[MET_MAX];   /* that each kernel was measured */
} noisy;

static tw_status noisy_baseline(const tw_target *t, const tw_problem *p, tw_schedule *out, tw_error *error) {
  (void)t, (void)p;
  *out = (tw_schedule){0};
  tw_schedule_add(out, "tile 3", error);
  return tw_schedule_add(out, "depth 1", error);
}

static bool is_baseline(const fake_state *s) {
  fake_state b = fake_plainest();
  b.value[TILE] = 3, b.value[DEPTH] = 1;
  return !memcmp(s, &b, sizeof b);
}

static int *times_of(const fake_state *s) {
  unsigned index = 0;
  for (int i = 0; i < LEVERS; i++) index = index * 7 + (unsigned)s->value[i];
  return &noisy.times[index % MET_MAX];
}

static void sleep_for(double seconds) {
  nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))},
            NULL);
}

static tw_status noisy_check(const tw_target *t, tw_artefact *artefact, const tw_case *data, tw_evaluation *e,
                             tw_error *error) {
  sleep_for(noisy.check_seconds);
  tw_add_wait(noisy.check_waits);
  return fake_check(t, artefact, data, e, error);
}

/* As on x86, a measurement adapts to its deadline: it takes more repeats while there is time, ends shortly before, and
 * needs a least time. Candidates of a search are measured with fewer repeats than the kernels of a comparison. */
static tw_status take_time(int times, const tw_evaluation *e, tw_error *error) {
  static const double QUICK = 0.2, FIRST = 0.3, FULL = 1, ENDING = 0.1, LEAST = 0.15;
  const double left = e->stop && e->stop->deadline > 0 ? e->stop->deadline - tw_now() : HUGE_VAL;
  const double wanted = e->limit > 0 ? QUICK : times == 0 ? FIRST : FULL;
  if (left < LEAST) return tw_fail(error, TW_INTERRUPTED, "no time is left");
  sleep_for(fmin(wanted, left - ENDING));
  return TW_OK;
}

static double true_cost(const fake_state *s) {
  fake_state baseline = fake_plainest();
  baseline.value[TILE] = 3, baseline.value[DEPTH] = 1;
  if (noisy.bank_pays && s->value[BANK] == 2) return 0.5 * fake_cost(&baseline);
  return noisy.all_slower && !is_baseline(s) ? 1.1 * fake_cost(&baseline) : fake_cost(s);
}

static tw_status noisy_measure(const tw_target *t, tw_artefact *artefact, const tw_case *data, tw_evaluation *e,
                               tw_measurement *out, tw_error *error) {
  const fake_state *s = (const fake_state *)artefact;
  tw_status status = fake_measure(t, artefact, data, e, out, error);
  const int n = (*times_of(s))++;
  if (noisy.fills_time) status = take_time(n, e, error);
  if (is_baseline(s) && noisy.quick > 0 && n >= noisy.quick) sleep_for(noisy.slow_seconds);
  const bool rare = noisy.lucky && !is_baseline(s);
  const double first = is_baseline(s) ? noisy.bad_moment : !rare || --noisy.lucky_left >= 0 ? noisy.luck : 0;
  const double factor = n == 0 && first > 0 ? first : 1 + noisy.noise * (n % 3 - 1);
  out->cost = out->cycles = true_cost(s) * factor;
  return status;
}

static tw_target noisy_target(void) {
  static tw_family family;
  tw_target t = fake_target;
  family = fake_families[0];
  family.baseline = noisy_baseline;
  t.name = "noisy-machine";
  t.family = &family;
  t.traits.deterministic = t.traits.simulated = false;
  t.check = noisy_check;
  t.measure = noisy_measure;
  return t;
}

static int start(void **state) {
  fake_reset();
  memset(&noisy, 0, sizeof noisy);
  return 0;
}

static tw_search_result search(const tw_target *t, const tw_search_options *o) {
  const tw_problem p = fake_problem(10);
  tw_search_result r = {0};
  tw_error error = {0};
  if (tw_search_into(t, &p, o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r;
}

static double cost_of(const tw_schedule *schedule) {
  fake_state s;
  assert_int_equal(fake_replay(schedule, &s, NULL), TW_OK);
  return true_cost(&s);
}

static void a_search_starts_from_the_targets_baseline(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(1, 1);
  o.samples = 1;
  tw_search_result r = search(&t, &o);
  assert_true(r.is_baseline);
  assert_int_equal(r.schedule.n, 2);
  assert_string_equal(r.schedule.step[0], "tile 3");
  assert_int_equal(r.n_rungs, 1);
  tw_search_result_clear(&r);
}

static void a_kernel_that_was_measured_at_a_good_moment_does_not_win(void **state) {
  const tw_target t = noisy_target();
  const int samples[] = {0, 1, 2, 5};
  noisy.all_slower = true;
  noisy.luck = 0.8;
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    tw_search_options o = fake_options(i, 2);
    o.samples = samples[i];
    memset(noisy.times, 0, sizeof noisy.times);
    tw_search_result r = search(&t, &o);
    assert_true(r.is_baseline);
    assert_false(r.known_lost);
    if (samples[i] != 1 && !strstr(r.notes, "the baseline is kept")) fail_msg("%s", r.notes);
    tw_search_result_clear(&r);
  }
}

/* On a busy computer a measurement can be off by much. */
static void a_baseline_that_was_measured_at_a_bad_moment_does_not_lose(void **state) {
  const tw_target t = noisy_target();
  noisy.all_slower = true;
  noisy.bad_moment = 20;
  tw_search_options o = fake_options(9, 1);
  tw_search_result r = search(&t, &o);
  assert_true(r.is_baseline);
  if (!strstr(r.notes, "the baseline is kept")) fail_msg("%s", r.notes);
  tw_search_result_clear(&r);
}

/* The best kernel is wrong on the inputs of the confirmation. The next best was lucky, and must not take its place. */
static void the_next_best_is_compared_with_the_baseline_too(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(2, 1);
  noisy.all_slower = noisy.bank_pays = true;
  noisy.luck = 0.8;
  fake.wrong_on_fresh_inputs = true;
  fake.first_seed = o.inputs;
  tw_search_result r = search(&t, &o);
  if (!strstr(r.notes, "wrong on fresh ones")) fail_msg("%s", r.notes);
  assert_true(r.is_baseline);
  tw_search_result_clear(&r);
}

/* A kernel that was lucky loses to the baseline. Then the next best, which is really faster, is compared. */
static void after_a_lost_duel_the_next_best_challenges(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(2, 1);
  noisy.all_slower = noisy.bank_pays = true;
  noisy.luck = 0.3;
  noisy.lucky = noisy.lucky_left = 1;
  tw_search_result r = search(&t, &o);
  if (r.is_baseline) fail_msg("%s", r.notes);
  assert_true(cost_of(&r.schedule) < 0.6 * r.start.cost);
  tw_search_result_clear(&r);
}

/* The kernel of fewer steps cannot be compared in time. The winner of the first comparison stays. */
static void a_winner_stays_if_its_shorter_form_cannot_be_compared(void **state) {
  const tw_target t = noisy_target();
  enum { BEFORE = 4 }; /* measurements of the baseline: the search's, and three rounds */
  tw_search_options o = fake_options(2, 1);
  o.seconds = 2;
  o.samples = 40;
  noisy.quick = BEFORE;
  noisy.slow_seconds = 4;
  tw_search_result r = search(&t, &o);
  fake_state baseline = fake_plainest();
  baseline.value[TILE] = 3, baseline.value[DEPTH] = 1;
  if (*times_of(&baseline) <= BEFORE) fail_msg("there was no second comparison");
  if (r.is_baseline) fail_msg("%s", r.notes);
  tw_search_result_clear(&r);
}

/* The first measurements of a comparison take three times as long as the search's first one. They must leave time for
 * the last one, otherwise the result of the search is lost. */
static void the_measurements_of_a_comparison_share_its_time(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(2, 4);
  o.seconds = 1;
  noisy.all_slower = noisy.bank_pays = noisy.fills_time = true;
  tw_search_result r = search(&t, &o);
  if (r.is_baseline) fail_msg("%s", r.notes);
  assert_true(cost_of(&r.schedule) < 0.6 * r.start.cost);
  tw_search_result_clear(&r);
}

static volatile int stop;
static void stop_when_better(void *context, const tw_search_status *now) {
  (void)context;
  if (now->best_cost < 0.9 * now->start_cost) __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

/* The rounds against the baseline follow an interrupt. Rounds that would take long do not. */
static void an_interrupted_search_compares_its_best_with_the_baseline(void **state) {
  const tw_target t = noisy_target();
  const tw_problem p = fake_problem(10);
  for (int is_long = 0; is_long < 2; is_long++) {
    tw_search_options o = fake_options(2, 1);
    tw_search_result r = {0};
    tw_error error = {0};
    noisy.check_seconds = is_long ? 2.6 : 0;
    memset(noisy.times, 0, sizeof noisy.times);
    stop = 0;
    o.interrupt = &stop;
    o.watch = stop_when_better;
    assert_int_equal(tw_search_into(&t, &p, &o, &r, &error), TW_INTERRUPTED);
    if (is_long != r.is_baseline) fail_msg("%s", r.notes);
    if (is_long) assert_non_null(strstr(r.notes, "two rounds of both did not end"));
    tw_search_result_clear(&r);
  }
}

/* How long a trial takes decides when the last one may begin: the wait for others is not part of it. */
static void waits_do_not_count_as_time_of_a_trial(void **state) {
  const tw_target t = noisy_target();
  const tw_problem p = fake_problem(10);
  tw_schedule schedule;
  tw_error error = {0};
  char *source = NULL;
  noisy.check_waits = 1000;
  assert_int_equal(tw_target_baseline(&t, &p, &schedule, &error), TW_OK);
  assert_int_equal(tw_target_emit(&t, &p, &schedule, &source, &error), TW_OK);
  const tw_trial trial = {.target = &t, .problem = &p, .source = source, .length = strlen(source), .seed = 1};
  tw_outcome out;
  tw_trial_run(&trial, &(tw_setting){.jobs = 1}, &out);
  assert_int_equal(out.verdict, TW_CORRECT);
  assert_true(out.seconds < -500 && out.build_seconds > -500);
  free(source);
}

static void a_gain_below_the_noise_is_no_gain(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(3, 1);
  noisy.noise = 0.5; /* the best kernel is some 40% better than the baseline */
  tw_search_result r = search(&t, &o);
  assert_true(r.is_baseline);
  tw_search_result_clear(&r);
  noisy.noise = 0.01;
  memset(noisy.times, 0, sizeof noisy.times);
  r = search(&t, &o);
  assert_false(r.is_baseline);
  assert_true(cost_of(&r.schedule) < 0.9 * r.start.cost);
  tw_search_result_clear(&r);
}

/* How wisdom may know a kernel. */
typedef enum form { AS_SCHEDULE, AS_SOURCE, AS_BOTH, FORMS } form;

static tw_search_options options_that_know(form how, const tw_schedule *known, const char *source, uint64_t seed) {
  tw_search_options o = fake_options(seed, 1);
  if (how != AS_SOURCE) o.start = known, o.start_is_exact = true;
  if (how != AS_SCHEDULE) o.start_source = source;
  return o;
}

static char *source_of(const tw_target *t, const tw_schedule *schedule) {
  const tw_problem p = fake_problem(10);
  tw_error error = {0};
  char *source = NULL;
  if (tw_target_emit(t, &p, schedule, &source, &error) != TW_OK) fail_msg("%s", error.text);
  return source;
}

/* The empty schedule is the plainest kernel, which is slower than the baseline: earlier versions stored it. */
static void a_known_kernel_that_is_slower_than_the_baseline_is_dropped(void **state) {
  const tw_target t = noisy_target();
  const tw_schedule known = {0};
  char *source = source_of(&t, &known);
  for (form how = 0; how < FORMS; how++) {
    tw_search_options o = options_that_know(how, &known, source, 4);
    o.samples = 2;
    memset(noisy.times, 0, sizeof noisy.times);
    tw_search_result r = search(&t, &o);
    assert_true(r.known_lost);
    assert_true(r.is_baseline);
    if (!strstr(r.notes, "is removed")) fail_msg("%s", r.notes);
    tw_search_result_clear(&r);
  }
  free(source);
}

static void a_known_source_that_is_wrong_is_dropped(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(7, 1);
  o.start_source = "kernel 4 2 2 1 3 0 1\n"; /* cheats */
  o.samples = 2;
  tw_search_result r = search(&t, &o);
  assert_true(r.known_lost);
  assert_true(r.is_baseline);
  if (!strstr(r.notes, "is removed")) fail_msg("%s", r.notes);
  tw_search_result_clear(&r);
}

/* What its user has is the better of both. */
static void of_a_known_schedule_and_a_known_source_the_faster_one_is_kept(void **state) {
  const tw_target t = noisy_target();
  tw_schedule good = {0}, better = {0};
  const char *steps[] = {"tile 4", "depth 2", "bank 2", "order 1", "unroll 3"};
  for (size_t i = 0; i < 5; i++) {
    if (i < 4) tw_schedule_add(&good, steps[i], NULL);
    tw_schedule_add(&better, steps[i], NULL);
  }
  noisy.luck = 0.5;
  for (int turned = 0; turned < 2; turned++) {
    char *source = source_of(&t, turned ? &good : &better);
    tw_search_options o = options_that_know(AS_BOTH, turned ? &better : &good, source, 8);
    o.samples = 4;
    memset(noisy.times, 0, sizeof noisy.times);
    tw_search_result r = search(&t, &o);
    assert_false(r.known_lost);
    const fake_state found = fake_read(r.source);
    if (true_cost(&found) > cost_of(&better)) fail_msg("%g after %g", true_cost(&found), cost_of(&better));
    tw_search_result_clear(&r);
    free(source);
  }
}

static void a_known_kernel_that_holds_is_kept_against_luck(void **state) {
  const tw_target t = noisy_target();
  tw_schedule known = {0};
  const char *steps[] = {"tile 4", "depth 2", "bank 2", "order 1", "unroll 3"};
  for (size_t i = 0; i < 5; i++) tw_schedule_add(&known, steps[i], NULL);
  const double best = cost_of(&known);
  char *source = source_of(&t, &known);
  noisy.luck = 0.5;
  for (form how = 0; how < FORMS; how++)
    for (int samples = 0; samples < 6; samples++) {
      tw_search_options o = options_that_know(how, &known, source, (uint64_t)samples);
      o.samples = samples;
      memset(noisy.times, 0, sizeof noisy.times);
      tw_search_result r = search(&t, &o);
      assert_false(r.known_lost);
      const fake_state found = fake_read(r.source);
      if (samples != 1 && true_cost(&found) > best) fail_msg("%d samples: %g after %g", samples, r.best.cost, best);
      tw_search_result_clear(&r);
    }
  free(source);
}

/* ---- large problems: a sample during the search, everything for the result ---- */

static tw_status large_check(const tw_target *t, tw_artefact *artefact, const tw_case *data, tw_evaluation *e,
                             tw_error *error) {
  snprintf(e->coverage, sizeof e->coverage, "%s", data->has_expected ? "every element" : "sampled: a few elements");
  return fake_check(t, artefact, data, e, error);
}

/* A reference of 4 seconds at least, as a search estimates it. */
static double large_operations(const tw_problem *p) {
  (void)p;
  return 1e9;
}

/* Never called: the machine compares by itself. */
static tw_status large_exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n,
                             const tw_place place[], double value[], double bound[], int threads, tw_error *error) {
  (void)p, (void)buffers, (void)operand, (void)n, (void)place, (void)value, (void)bound, (void)threads;
  return tw_fail(error, TW_FAILED, "exact is called");
}

static void the_result_of_a_large_problem_is_compared_in_full_if_time_permits(void **state) {
  tw_target t = noisy_target();
  tw_op op = fake_op;
  op.operations = large_operations;
  op.exact = large_exact;
  t.traits.own_reference = true;
  t.traits.reference_up_to = 1e6;
  t.check = large_check;
  tw_problem p = fake_problem(10);
  p.op = &op;
  for (int seconds = 0; seconds < 2; seconds++) {
    tw_search_options o = fake_options(1, 1);
    tw_search_result r = {0};
    tw_error error = {0};
    o.samples = 1;
    o.seconds = seconds;
    if (tw_search_into(&t, &p, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
    assert_string_equal(r.coverage, seconds ? "sampled: a few elements" : "every element");
    tw_search_result_clear(&r);
  }
}

static void a_search_ends_in_its_time(void **state) {
  const tw_target t = noisy_target();
  const struct { double seconds, build, check; } cases[] = {{1, 0.05, 0.05}, {1, 0.02, 0.3}, {2, 0.2, 0.1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tw_search_options o = fake_options(5, 2);
    o.seconds = cases[i].seconds;
    o.iterations = 1000, o.plans = 50;
    fake.delay_ms = (int)(1000 * cases[i].build);
    noisy.check_seconds = cases[i].check;
    const double before = tw_now();
    tw_search_result r = search(&t, &o);
    const double took = tw_now() - before, most = fmax(1.2 * o.seconds, o.seconds + 2);
    if (took > most + 0.5) fail_msg("%g s were given, it took %.2f s", o.seconds, took); /* 0.5: other processes */
    assert_true(r.samples > 1);
    tw_search_result_clear(&r);
  }
}

static void where_the_baseline_takes_all_of_the_time_the_search_says_so_and_ends(void **state) {
  const tw_target t = noisy_target();
  tw_search_options o = fake_options(6, 2);
  o.seconds = 0.1;
  noisy.check_seconds = 3;
  tw_search_result r = search(&t, &o);
  assert_true(r.is_baseline);
  assert_int_equal(r.samples, 1);
  if (!strstr(r.notes, "no candidate was tried")) fail_msg("%s", r.notes);
  tw_search_result_clear(&r);
}

/* ---- real targets ---- */

/* The baseline of x86 is the library's plan: the same kernel, blocks and parts. */
static void the_baseline_of_x86_is_what_the_library_runs(void **state) {
  static const char *const problems[] = {
      "gemm m=512 n=512 k=512",
      "gemm m=100 n=3000 k=77 a=bf16 b=bf16",
      "gemm m=33 n=400 k=900 a=u8 b=i8",
      "gemm m=33 n=400 k=900 a=i8 b=i8 c=i8",
      "gemm m=1 n=4096 k=512 a=bf16 b=i4 group=32",
      "gemm m=8 n=512 k=512 b=ternary",
      "gemm m=300 n=512 k=512 b=mxfp4 a_rounding=rows",
      "gemm m=64 n=64 k=64 a=f16 b=f16 c=f16 a_transposed=1",
  };
  const tw_target *t = tw_target_find("x86");
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    tw_problem p;
    tw_error error = {0};
    tw_schedule schedule;
    x86_tuning tuning;
    if (tw_problem_parse(t, problems[i], &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
      fail_msg("%s", error.text);
    if (tw_target_baseline(t, &p, &schedule, &error) != TW_OK) fail_msg("%s: %s", problems[i], error.text);
    if (x86_tuning_of(&p, &schedule, &tuning, &error) != TW_OK) fail_msg("%s: %s", problems[i], error.text);
    const tw_gemm_spec s = x86_spec_of(&p);
    tw_gemm_plan *plain, *tuned;
    assert_int_equal(x86_plan(&s, NULL, &plain, &error), TW_OK);
    const x86_tuned by_schedule = {.kernel = plain->kernel, .blocks = tuning.blocks};
    assert_int_equal(x86_plan(&s, &by_schedule, &tuned, &error), TW_OK);
    char a[400], b[400], name[X86_NAME];
    tw_gemm_plan_print(plain, a, sizeof a);
    tw_gemm_plan_print(tuned, b, sizeof b);
    assert_string_equal(a, b);
    assert_string_equal(x86_kernel_name(&tuning.kernel, name), tw_gemm_plan_kernel(plain));
    tw_gemm_plan_destroy(plain);
    tw_gemm_plan_destroy(tuned);
  }
}

int main(void) {
  tw_error error;
  tw_op_register(&fake_op, &error);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_search_starts_from_the_targets_baseline, start),
      cmocka_unit_test_setup(a_kernel_that_was_measured_at_a_good_moment_does_not_win, start),
      cmocka_unit_test_setup(a_baseline_that_was_measured_at_a_bad_moment_does_not_lose, start),
      cmocka_unit_test_setup(the_next_best_is_compared_with_the_baseline_too, start),
      cmocka_unit_test_setup(after_a_lost_duel_the_next_best_challenges, start),
      cmocka_unit_test_setup(a_winner_stays_if_its_shorter_form_cannot_be_compared, start),
      cmocka_unit_test_setup(the_measurements_of_a_comparison_share_its_time, start),
      cmocka_unit_test_setup(an_interrupted_search_compares_its_best_with_the_baseline, start),
      cmocka_unit_test_setup(waits_do_not_count_as_time_of_a_trial, start),
      cmocka_unit_test_setup(a_gain_below_the_noise_is_no_gain, start),
      cmocka_unit_test_setup(a_known_kernel_that_is_slower_than_the_baseline_is_dropped, start),
      cmocka_unit_test_setup(a_known_source_that_is_wrong_is_dropped, start),
      cmocka_unit_test_setup(of_a_known_schedule_and_a_known_source_the_faster_one_is_kept, start),
      cmocka_unit_test_setup(a_known_kernel_that_holds_is_kept_against_luck, start),
      cmocka_unit_test_setup(the_result_of_a_large_problem_is_compared_in_full_if_time_permits, start),
      cmocka_unit_test_setup(a_search_ends_in_its_time, start),
      cmocka_unit_test_setup(where_the_baseline_takes_all_of_the_time_the_search_says_so_and_ends, start),
      cmocka_unit_test_setup(the_baseline_of_x86_is_what_the_library_runs, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
