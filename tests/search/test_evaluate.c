/* test_evaluate.c - trials and outcomes as messages: they read back as they were written, whoever evaluates gives the
 * same, what does not answer costs a line, and a device is measured on by one at a time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#include "base/clock.h"
#include "base/device.h"
#include "base/files.h"
#include "base/intern.h"
#include "base/parallel.h"
#include "base/random.h"
#include "evaluate/pool.h"
#include "evaluate/text.h"
#include "search/result.h"
#include "search_fixture.h"

static int start(void **state) {
  fake_reset();
  return 0;
}

static const tw_target *gemmini(void) { return tw_target_find("gemmini-16x16-int8"); }

/* ---- text ---- */

static tw_problem problem_of(const char *text) {
  tw_problem p;
  tw_error error = {0};
  if (tw_problem_parse(NULL, text, &p, &error) != TW_OK) fail_msg("%s", error.text);
  if (tw_target_supports(gemmini(), &p, &error) != TW_OK) fail_msg("%s", error.text);
  return p;
}

static void a_trial_reads_back(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16 scale=0.1 relu=1");
  const struct {
    const char *bytes;
    size_t length;
  } source[] = {
      {"void test(void) {}\n", 19}, {"", 0}, {"zero\0inside", 11}, {"latin \xe4\xff", 8}, {"utf-8 \xc3\xa4 \"\\", 12}};
  const uint64_t seeds[] = {0, 1, UINT64_MAX};
  for (size_t i = 0; i < sizeof source / sizeof source[0]; i++)
    for (size_t k = 0; k < 3; k++) {
      const tw_trial t = {.target = gemmini(),
                          .problem = &p,
                          .source = source[i].bytes,
                          .length = source[i].length,
                          .seed = seeds[k],
                          .limit = k ? 0.1 : 0,
                          .trust = k == 2,
                          .check_only = k == 1,
                          .seconds = 1e-9 * (double)k};
      char *text = tw_trial_print(&t);
      tw_read_trial r;
      tw_error error = {0};
      assert_non_null(text);
      assert_null(strchr(text, '\n'));
      if (tw_trial_read(text, NULL, &r, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
      assert_ptr_equal(r.trial.target, t.target);
      assert_int_equal(r.trial.length, t.length);
      assert_memory_equal(r.trial.source, t.source, t.length);
      assert_true(r.trial.seed == t.seed && r.trial.limit == t.limit && r.trial.check_only == t.check_only &&
                  r.trial.trust == t.trust && r.trial.seconds == t.seconds);
      char a[500], b[500];
      tw_problem_print(&p, a, sizeof a);
      tw_problem_print(r.trial.problem, b, sizeof b);
      assert_string_equal(a, b);
      tw_read_trial_free(&r);
      free(text);
    }
}

static tw_outcome random_outcome(tw_random *dice) {
  static const char *const names[] = {"array_busy", "bytes", "a name with blanks", "\xc3\xa4"};
  tw_outcome o = {.verdict = (tw_verdict)tw_random_below(dice, TW_VERDICT_COUNT), .seconds = tw_random_real(dice)};
  tw_measurement *m = &o.measured;
  if (o.verdict != TW_CORRECT) o.error.status = tw_random_below(dice, 2) ? TW_FAILED : TW_INTERRUPTED;
  snprintf(o.error.text, sizeof o.error.text, "%s",
           tw_random_below(dice, 2) ? "kernel.c:1: \"no\"\n  line 2\t\x01" : "");
  snprintf(o.coverage, sizeof o.coverage, "%s", tw_random_below(dice, 2) ? "every element" : "");
  m->cost = ldexp(tw_random_real(dice), (int)tw_random_below(dice, 200) - 100);
  m->cycles = (double)tw_random_below(dice, 1ull << 53);
  m->seconds = 0.1;
  m->utilization = 1.0 / 3;
  if (tw_random_below(dice, 2)) m->spread = (tw_spread){7, 0.5, 1.5, 2, 0x1.8p-40 + 3, 4};
  m->n_counters = tw_random_below(dice, TW_COUNTERS_MAX + 1);
  for (size_t i = 0; i < m->n_counters; i++)
    m->counter[i] = (tw_counter){names[i % 4], names[(i + 1) % 4], "", tw_random_real(dice) - 0.5};
  m->n_memories = tw_random_below(dice, TW_MEMORIES_MAX + 1);
  for (size_t i = 0; i < m->n_memories; i++) m->memory[i] = (tw_memory_use){names[i % 4], i, 1 << 20};
  return o;
}

static void an_outcome_reads_back(void **state) {
  tw_random dice;
  tw_random_seed(&dice, 1);
  for (int round = 0; round < 300; round++) {
    const tw_outcome o = random_outcome(&dice);
    tw_outcome back;
    tw_error error = {0};
    char *text = tw_outcome_print(&o);
    assert_null(strchr(text, '\n'));
    if (tw_outcome_read(text, &back, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
    assert_int_equal(back.verdict, o.verdict);
    assert_int_equal(back.error.status, o.error.status);
    assert_string_equal(back.error.text, o.error.text);
    assert_string_equal(back.coverage, o.coverage);
    const tw_measurement *x = &o.measured, *y = &back.measured;
    assert_true(o.seconds == back.seconds && x->cost == y->cost && x->cycles == y->cycles && x->seconds == y->seconds &&
                x->instructions == y->instructions && x->utilization == y->utilization);
    assert_true(x->spread.rounds == y->spread.rounds && x->spread.least == y->spread.least &&
                x->spread.lower == y->spread.lower && x->spread.median == y->spread.median &&
                x->spread.upper == y->spread.upper && x->spread.most == y->spread.most);
    assert_int_equal(x->n_counters, y->n_counters);
    for (size_t i = 0; i < x->n_counters; i++) {
      assert_string_equal(x->counter[i].name, y->counter[i].name);
      assert_string_equal(x->counter[i].unit, y->counter[i].unit);
      assert_true(x->counter[i].value == y->counter[i].value);
    }
    assert_int_equal(x->n_memories, y->n_memories);
    for (size_t i = 0; i < x->n_memories; i++)
      assert_true(!strcmp(x->memory[i].name, y->memory[i].name) && x->memory[i].used == y->memory[i].used &&
                  x->memory[i].size == y->memory[i].size);
    free(text);
  }
}

/* Each text with a part cut out, or a byte changed, is refused in a line or read: never a crash, never half a value. */
static void damaged_messages_are_refused_or_whole(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16");
  const tw_trial t = {.target = gemmini(), .problem = &p, .source = "x\xff", .length = 2, .seed = 3};
  tw_random dice;
  tw_random_seed(&dice, 2);
  tw_outcome outcome = random_outcome(&dice);
  char *text[] = {tw_trial_print(&t), tw_outcome_print(&outcome)};
  for (int round = 0; round < 4000; round++) {
    const char *whole = text[round % 2];
    size_t n = strlen(whole), from = tw_random_below(&dice, n), cut = tw_random_below(&dice, 6);
    char *bad = strdup(whole);
    if (from + cut > n) cut = n - from;
    memmove(bad + from, bad + from + cut, n - from - cut + 1);
    if (cut == 0) bad[from] = (char)(1 + tw_random_below(&dice, 255));
    tw_error error = {0};
    tw_read_trial r;
    tw_outcome o;
    if (round % 2 == 0) {
      if (tw_trial_read(bad, NULL, &r, &error) == TW_OK) {
        assert_true(r.trial.source && r.trial.target && r.trial.problem == &r.problem);
        tw_read_trial_free(&r);
      } else {
        assert_true(error.text[0] && !r.source);
      }
    } else if (tw_outcome_read(bad, &o, &error) == TW_OK) {
      char *again = tw_outcome_print(&o);
      assert_non_null(again);
      free(again);
    } else {
      assert_true(error.text[0]);
      assert_int_equal(o.measured.n_counters, 0);
    }
    free(bad);
  }
  free(text[0]);
  free(text[1]);
}

static void what_is_read_does_not_fill_memory(void **state) {
  char name[32], longest[TW_INTERNED_LENGTH + 2];
  const char *first = tw_intern("array_busy");
  assert_ptr_equal(first, tw_intern("array_busy"));
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  assert_null(tw_intern(longest));
  int kept = 0;
  for (int i = 0; i < 2 * TW_INTERNED_MAX; i++) {
    snprintf(name, sizeof name, "name %d", i);
    kept += tw_intern(name) != NULL;
  }
  assert_in_range(kept, 1, TW_INTERNED_MAX);
  assert_ptr_equal(first, tw_intern("array_busy"));
}

/* ---- backends ---- */

static void count_done(void *context, tw_job *job) {
  (void)job;
  (*(int *)context)++;
}
static void nothing(void *context) { (void)context; }

static tw_outcome evaluate_with(tw_backend *b, const tw_problem *p, const char *source, double seconds) {
  tw_job job = {.trial = {.target = gemmini(),
                          .problem = p,
                          .source = source,
                          .length = strlen(source),
                          .seed = 7,
                          .seconds = seconds}};
  tw_job *all[] = {&job};
  int done = 0;
  const tw_pool pool = {
      .backend = b, .jobs = 1, .deadline = HUGE_VAL, .done = count_done, .tick = nothing, .context = &done};
  tw_pool_run(&pool, all, 1);
  assert_int_equal(done, 1);
  return job.outcome;
}

static void a_process_gives_what_a_thread_gives(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16");
  const tw_schedule plainest = {0};
  char *right;
  assert_int_equal(tw_target_emit(gemmini(), &p, &plainest, &right, NULL), TW_OK);
  const char *source[] = {right, "void test(void) {",
                          "/* nothing */ void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {}", ""};
  tw_backend *here, *there;
  assert_int_equal(tw_backend_threads(1, &here, NULL), TW_OK);
  assert_int_equal(tw_backend_command(TW_COMMAND " evaluate --jobs 1", 1, &there, NULL), TW_OK);
  for (size_t i = 0; i < sizeof source / sizeof source[0]; i++) {
    tw_outcome a = evaluate_with(here, &p, source[i], 0), b = evaluate_with(there, &p, source[i], 0);
    if (b.verdict != a.verdict) fail_msg("%s", b.error.text);
    assert_int_equal(i == 0, a.verdict == TW_CORRECT);
    assert_string_equal(a.error.text, b.error.text);
    assert_string_equal(a.coverage, b.coverage);
    assert_true(a.measured.cost == b.measured.cost && a.measured.n_counters == b.measured.n_counters);
    for (size_t k = 0; k < a.measured.n_counters; k++)
      assert_true(a.measured.counter[k].value == b.measured.counter[k].value);
  }
  here->close(here);
  there->close(there);
  free(right);
}

static void commands_that_do_not_answer_say_so_and_nothing_of_the_kernel(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16");
  const struct {
    const char *command, *says;
  } bad[] = {{"true", "ended 2 times"},
             {"exit 3", "ended 2 times"},
             {"no-such-program-here", "ended 2 times"},
             {"echo hello; cat", "outcome"},
             {"echo '{}'; cat", "outcome"},
             {"yes | tr -d '\\n'", "without a line end"},
             {"sleep 100", "did not answer"},
             {"cat", "outcome"},
             {"printf half; exec cat >/dev/null", "ended 2 times"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tw_backend *b;
    assert_int_equal(tw_backend_command(bad[i].command, 2, &b, NULL), TW_OK);
    const tw_outcome o = evaluate_with(b, &p, "void test(void) {}", 0.3);
    assert_int_equal(o.verdict, TW_UNAVAILABLE);
    if (!strstr(o.error.text, bad[i].says)) fail_msg("%s: %s", bad[i].command, o.error.text);
    b->close(b);
  }
  assert_true(waitpid(-1, NULL, WNOHANG) < 0); /* nobody is left */
}

/* The first process dies over the first trial, as if its machine had; the next one answers. */
static void what_died_is_started_once_more(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16");
  char *directory, command[1000];
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  snprintf(command, sizeof command, "mkdir %s/once 2>/dev/null && exit 1; exec %s evaluate", directory, TW_COMMAND);
  tw_backend *b;
  assert_int_equal(tw_backend_command(command, 1, &b, NULL), TW_OK);
  assert_int_equal(evaluate_with(b, &p, "int x", 0).verdict, TW_UNBUILDABLE);
  b->close(b);
  tw_directory_remove(directory);
  free(directory);
}

static void an_interrupt_ends_a_command(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16");
  const volatile int now = 1;
  tw_outcome o;
  tw_backend *b;
  assert_int_equal(tw_backend_command("sleep 100", 1, &b, NULL), TW_OK);
  const tw_trial t = {.target = gemmini(), .problem = &p, .source = "", .length = 0};
  const double begin = tw_now();
  b->evaluate(b, 0, &t, NULL, NULL, &now, &o);
  assert_int_equal(o.verdict, TW_SKIPPED);
  assert_true(tw_now() - begin < 5);
  b->close(b);
}

static void a_search_ends_alike_wherever_it_evaluates(void **state) {
  const tw_problem p = problem_of("gemm m=32 n=32 k=64");
  tw_search_options o = {.size = sizeof o, .seed = 5, .jobs = 2, .iterations = 2, .dropout = -1};
  tw_search_result here = {0}, there = {0};
  tw_error error = {0};
  assert_int_equal(tw_search_into(gemmini(), &p, &o, &here, NULL), TW_OK);
  o.runner = TW_COMMAND " evaluate";
  if (tw_search_into(gemmini(), &p, &o, &there, &error) != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(here.source, there.source);
  assert_true(here.best.cost == there.best.cost);
  assert_int_equal(here.samples, there.samples);
  assert_int_equal(here.correct, there.correct);
  assert_string_equal(there.coverage, "every element, in 2 cases");
  assert_int_equal(here.cost_from, TW_COST_HERE);
  assert_int_equal(there.cost_from, TW_COST_CONFIRMED);
  assert_int_equal(here.best.n_counters, there.best.n_counters);
  assert_string_equal(here.best.counter[0].help, there.best.counter[0].help);
  tw_search_result_clear(&here);
  tw_search_result_clear(&there);
}

/* ---- runners that lie ---- */

static void an_implausible_outcome_says_nothing_of_the_kernel(void **state) {
  const tw_problem p = problem_of("gemm m=16 n=16 k=16");
  const struct {
    const char *arguments, *says; /* NULL: believed */
  } rows[] = {
      {"5000", NULL},
      {"1", "implausible outcome (faster than the hard bound: 1 cycles; the bound is 64"},
      {"0", "implausible outcome (verdict correct with a cost of 0)"},
      {"-5", "the outcome's field \"cost\" is missing or malformed"},
      {"1e999", "invalid outcome"},
      {"null", "the outcome's field \"cost\" is missing or malformed"},
      {"5000 's/\"cost\":5000,//'", "the outcome's field \"cost\" is missing or malformed"},
      {"5000 's/\"verdict\":\"correct\",//'", "the outcome's field \"verdict\" is missing or malformed"},
      {"5000 's/\"counters\":.. *,//'", "the outcome's field \"counters\" is missing or malformed"},
      {"5000 's/every element//'", "implausible outcome (verdict correct, but nothing was compared)"},
      {"5000 's/\"cycles\":5000/\"cycles\":400/'", "implausible outcome (cost 5000 differs from 400 cycles)"},
      {"5000 's/\"utilization\":0.5/\"utilization\":7/'",
       "implausible outcome (a utilization of 7 of the machine's peak)"},
      {"5000 's/:\"correct\"/:\"pending\"/'", "implausible outcome (unknown verdict \"pending\")"},
      {"5000 's/:\"correct\"/:\"duplicate\"/'", "implausible outcome (unknown verdict \"duplicate\")"},
      {"5000 's/:\"correct\"/:\"slower, not checked\"/'", "of a trial without a limit"},
      {"5000 "
       "'s/.$/"
       ",\"spread\":{\"rounds\":9,\"least\":1,\"lower_quartile\":2,\"median\":3,\"upper_quartile\":4,\"most\":5}}/'",
       "implausible outcome (cost 5000 is outside of its rounds (1 to 5))"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char command[1000];
    tw_backend *b;
    snprintf(command, sizeof command, "%s %s", TW_LYING_RUNNER, rows[i].arguments);
    assert_int_equal(tw_backend_command(command, 1, &b, NULL), TW_OK);
    const tw_outcome o = evaluate_with(b, &p, "void test(void) {}", 0);
    assert_int_equal(o.verdict, rows[i].says ? TW_UNAVAILABLE : TW_CORRECT);
    if (rows[i].says && !strstr(o.error.text, rows[i].says)) fail_msg("%s: %s", rows[i].arguments, o.error.text);
    assert_true(rows[i].says ? o.measured.cost == 0 : o.measured.cost == 5000);
    b->close(b);
  }
}

static tw_status not_here(const tw_target *t, tw_error *error) {
  (void)t;
  return tw_fail(error, TW_MISSING, "no such machine here");
}

/* The plainest kernel of the fake machine takes 16000 cycles. */
static void the_result_of_a_runner_is_evaluated_again_here(void **state) {
  const tw_problem p = fake_problem(16);
  for (int deterministic = 0; deterministic < 2; deterministic++)
    for (int here = 0; here < 2; here++)
      for (int honest = 0; honest < 2; honest++) {
        tw_target t = fake_target;
        tw_search_options o = fake_options(3, 1);
        tw_search_result r = {0};
        tw_error error = {0};
        o.iterations = 1;
        o.runner = honest ? TW_LYING_RUNNER " 16000" : TW_LYING_RUNNER " 5000";
        t.traits.deterministic = deterministic;
        if (!here) t.available = not_here;
        const tw_status status = tw_search_into(&t, &p, &o, &r, &error);
        if (here && deterministic && !honest) {
          assert_int_equal(status, TW_FAILED);
          assert_non_null(
              strstr(error.text, "--runner: it reported 5000 cycles for the baseline, which takes 16000 here"));
          assert_null(r.source);
          continue;
        }
        if (status != TW_OK) fail_msg("%s", error.text);
        assert_int_equal(r.cost_from, here ? TW_COST_CONFIRMED : TW_COST_REPORTED);
        assert_true(r.best.cost == (here || honest ? 16000 : 5000));
        assert_true(r.start.cost == r.best.cost);
        const char *note = "the result was not confirmed here (no such machine here)";
        assert_int_equal(strstr(r.notes, note) != NULL, !here);
        tw_search_result_clear(&r);
      }
}

/* A runner that calls a wrong kernel correct. */
static void a_wrong_result_of_a_runner_is_found(void **state) {
  const tw_problem p = fake_problem(16);
  tw_target t = fake_target;
  tw_search_options o = fake_options(3, 1);
  tw_search_result r = {0};
  tw_error error = {0};
  o.iterations = 1;
  o.runner = TW_LYING_RUNNER " 16000";
  o.start_source = "kernel 0 0 0 5 0 0 1\n"; /* cheats */
  o.program = "kernel 0 0 0 4 0 0 1\n";
  assert_int_equal(tw_search_into(&t, &p, &o, &r, &error), TW_FAILED);
  assert_non_null(
      strstr(error.text, "as correct, but here the verdict is \"wrong\" (C[3] is 0, not 7); check the runner"));
  t.available = not_here;
  assert_int_equal(tw_search_into(&t, &p, &o, &r, NULL), TW_OK);
  assert_int_equal(r.cost_from, TW_COST_REPORTED);
  tw_search_result_clear(&r);
}

/* Outcomes of a runner are recalled for searches by runners only. */
static void a_journal_keeps_a_runner_apart(void **state) {
  const tw_problem p = fake_problem(16);
  char *directory, path[1000];
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  snprintf(path, sizeof path, "%s/journal.sqlite", directory);
  for (int i = 0; i < 4; i++) {
    tw_target t = fake_target;
    tw_search_options o = fake_options(3, 1);
    tw_search_result r = {0};
    tw_error error = {0};
    o.iterations = 1;
    o.journal = path;
    if (i % 2 == 0) t.available = not_here;
    if (i % 2 == 0) o.runner = TW_LYING_RUNNER " 14000";
    const int before = fake_builds;
    if (tw_search_into(&t, &p, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
    assert_int_equal(r.recalled > 0, i > 1);
    assert_int_equal(r.cost_from, i % 2 ? TW_COST_HERE : TW_COST_REPORTED);
    assert_int_equal(fake_builds > before, i % 2);
    assert_true(i % 2 ? r.best.cost < 14000 : r.best.cost == 14000);
    tw_search_result_clear(&r);
  }
  tw_directory_remove(directory);
  free(directory);
}

/* ---- devices ---- */

static char device[64];
static atomic_int on_device, most_on_device, measured;

static tw_status measure_alone(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e,
                               tw_measurement *out, tw_error *error) {
  const int n = atomic_fetch_add(&on_device, 1) + 1;
  if (n > atomic_load(&most_on_device)) atomic_store(&most_on_device, n);
  nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
  atomic_fetch_sub(&on_device, 1);
  atomic_fetch_add(&measured, 1);
  return fake_measure(t, a, k, e, out, error);
}

static void one_measurement_at_a_time_and_builds_beside_it(void **state) {
  const tw_problem p = fake_problem(16);
  tw_search_options o = fake_options(3, 4);
  o.iterations = 2;
  for (int alone = 0; alone < 2; alone++) {
    tw_target t = fake_target;
    tw_search_result r = {0};
    t.measure = measure_alone;
    t.traits.device = alone ? device : NULL;
    fake.delay_ms = 3;
    most_on_device = measured = fake_running_most = 0;
    snprintf(device, sizeof device, "test:%d", (int)getpid());
    assert_int_equal(tw_search_into(&t, &p, &o, &r, NULL), TW_OK);
    assert_true(measured > 10);
    if (alone)
      assert_int_equal(most_on_device, 1);
    else
      assert_true(most_on_device > 1);
    assert_true(fake_running_most > 1);
    tw_search_result_clear(&r);
  }
}

static void a_device_is_held_between_processes(void **state) {
  int ready[2], lock, status;
  char byte = 0;
  snprintf(device, sizeof device, "test/%d", (int)getpid());
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) { /* holds it, and is killed holding it */
    if (tw_device_lock(device, false, NULL, &lock, NULL) != TW_OK) _exit(1);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  tw_error error;
  const tw_stop soon = {.deadline = tw_now() + 0.05};
  assert_int_equal(tw_device_lock(device, false, &soon, &lock, &error), TW_INTERRUPTED);
  assert_int_equal(tw_device_lock(device, true, &soon, &lock, &error), TW_INTERRUPTED);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  assert_int_equal(tw_device_lock(device, true, NULL, &lock, &error), TW_OK);
  int other;
  assert_int_equal(tw_device_lock(device, true, NULL, &other, &error), TW_OK); /* runs that are not timed share it */
  const tw_stop again = {.deadline = tw_now() + 0.05};
  int third;
  assert_int_equal(tw_device_lock(device, false, &again, &third, &error), TW_INTERRUPTED);
  tw_device_unlock(lock);
  tw_device_unlock(other);
  close(ready[0]);
  close(ready[1]);
}

enum { ACQUISITIONS = 10 };
static atomic_int turns; /* of a thread that takes the device again and again; negative: it cannot */
static atomic_bool enough;

static void *take_turns(void *unused) {
  (void)unused;
  while (!enough && turns >= 0) {
    int lock;
    if (tw_device_lock(device, false, NULL, &lock, NULL) == TW_OK)
      turns++;
    else
      turns = -1;
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    tw_device_unlock(lock);
  }
  return NULL;
}

/* While this thread waits, the owner gives the device back, so it may have begun one further turn at the most. The
 * wait is polled: once in a while a thread is early by chance, so several acquisitions are counted. */
static void a_waiting_thread_gets_the_device_next(void **state) {
  pthread_t greedy;
  int missed = 0;
  turns = 0;
  enough = false;
  snprintf(device, sizeof device, "test/%d", (int)getpid());
  assert_int_equal(pthread_create(&greedy, NULL, take_turns, NULL), 0);
  for (int i = 0; i < ACQUISITIONS; i++) {
    int lock;
    for (const int before = turns; turns == before && turns >= 0;) sched_yield();
    const int before = turns;
    assert_int_equal(tw_device_lock(device, false, NULL, &lock, NULL), TW_OK);
    missed += turns - before;
    tw_device_unlock(lock);
  }
  enough = true;
  pthread_join(greedy, NULL);
  assert_true(turns > 0);
  assert_true(missed <= 2 * ACQUISITIONS);
}

static int remove_locks(void **state) {
  char path[200];
  static const char *const folders[] = {"/run/lock", "/tmp"}, *const names[] = {"lock", "next"};
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/tilewright-test-%d.%s", folders[i / 2], (int)getpid(), names[i % 2]);
    unlink(path);
  }
  return 0;
}

/* Every stage looks at the limit: a trial whose time is over says nothing, and neither does one that is interrupted. */
static void a_trial_ends_at_its_deadline_and_when_interrupted(void **state) {
  static const char *const machine[][2] = {{"gemmini-16x16-int8", "gemm m=32 n=32 k=32 a=i8 b=i8"},
                                           {"cdna4", "gemm m=64 n=64 k=64 a=bf16 b=bf16"},
                                           {"xdna2", "gemm m=64 n=64 k=64 a=i8 b=i8"},
                                           {"trn2", "gemm m=128 n=512 k=128 a=bf16 b=bf16"},
                                           {"x86", "gemm m=32 n=32 k=32 threads=1"}};
  const volatile int set = 1;
  for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
    const tw_target *t = tw_target_find(machine[i][0]);
    tw_problem p;
    tw_schedule baseline;
    tw_error error = {0};
    char *source;
    if (t->available(t, NULL) != TW_OK) continue;
    assert_int_equal(tw_problem_parse(t, machine[i][1], &p, &error), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
    assert_int_equal(tw_target_baseline(t, &p, &baseline, &error), TW_OK);
    assert_int_equal(tw_target_emit(t, &p, &baseline, &source, &error), TW_OK);
    tw_trial trial = {.target = t, .problem = &p, .source = source, .length = strlen(source), .seed = 1, .trust = true};
    tw_setting setting = {.jobs = 1};
    tw_outcome out;
    trial.deadline = 1e-9; /* long ago */
    tw_trial_run(&trial, &setting, &out);
    if (out.verdict != TW_SKIPPED) fail_msg("%s: %s: %s", t->name, tw_verdict_name(out.verdict), out.error.text);
    trial.deadline = 0;
    setting.interrupt = &set;
    tw_trial_run(&trial, &setting, &out);
    if (out.verdict != TW_SKIPPED) fail_msg("%s: %s: %s", t->name, tw_verdict_name(out.verdict), out.error.text);
    setting.interrupt = NULL;
    tw_trial_run(&trial, &setting, &out);
    if (out.verdict != TW_CORRECT) fail_msg("%s: %s: %s", t->name, tw_verdict_name(out.verdict), out.error.text);
    free(source);
  }
}

/* Simulations end early, too, wherever they are. */
static void simulators_look_at_the_clock(void **state) {
  static const char *const machine[][2] = {{"gemmini-16x16-int8", "gemm m=64 n=64 k=64 a=i8 b=i8"},
                                           {"cdna4", "gemm m=64 n=64 k=1024 a=bf16 b=bf16"},
                                           {"xdna2", "gemm m=256 n=256 k=256 a=i8 b=i8"}};
  const tw_stop stop = {.deadline = 1e-9};
  for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
    const tw_target *t = tw_target_find(machine[i][0]);
    tw_problem p;
    tw_schedule baseline;
    tw_case data;
    tw_artefact *a;
    tw_error error = {0};
    char *source;
    if (t->available(t, NULL) != TW_OK) continue;
    assert_int_equal(tw_problem_parse(t, machine[i][1], &p, &error), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
    assert_int_equal(tw_target_baseline(t, &p, &baseline, &error), TW_OK);
    assert_int_equal(tw_target_emit(t, &p, &baseline, &source, &error), TW_OK);
    assert_int_equal(t->build(t, &p, source, strlen(source), &(tw_evaluation){.trust = true}, &a, &error), TW_OK);
    assert_int_equal(tw_target_case(t, &p, 1, 1, &data, &error), TW_OK);
    tw_stop_by(&stop);
    const tw_status status = t->check(t, a, &data, &(tw_evaluation){0}, &error);
    tw_stop_by(NULL);
    if (status == TW_OK || !strstr(error.text, "interrupted")) fail_msg("%s: %d, %s", t->name, status, error.text);
    t->release(a);
    tw_case_free(&data);
    free(source);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_trial_reads_back, start),
      cmocka_unit_test_setup(an_outcome_reads_back, start),
      cmocka_unit_test_setup(damaged_messages_are_refused_or_whole, start),
      cmocka_unit_test_setup(a_process_gives_what_a_thread_gives, start),
      cmocka_unit_test_setup(commands_that_do_not_answer_say_so_and_nothing_of_the_kernel, start),
      cmocka_unit_test_setup(what_died_is_started_once_more, start),
      cmocka_unit_test_setup(an_interrupt_ends_a_command, start),
      cmocka_unit_test_setup(a_search_ends_alike_wherever_it_evaluates, start),
      cmocka_unit_test_setup(an_implausible_outcome_says_nothing_of_the_kernel, start),
      cmocka_unit_test_setup(the_result_of_a_runner_is_evaluated_again_here, start),
      cmocka_unit_test_setup(a_wrong_result_of_a_runner_is_found, start),
      cmocka_unit_test_setup(a_journal_keeps_a_runner_apart, start),
      cmocka_unit_test_setup_teardown(one_measurement_at_a_time_and_builds_beside_it, start, remove_locks),
      cmocka_unit_test_setup_teardown(a_device_is_held_between_processes, start, remove_locks),
      cmocka_unit_test_setup_teardown(a_waiting_thread_gets_the_device_next, start, remove_locks),
      cmocka_unit_test_setup(what_is_read_does_not_fill_memory, start),
      cmocka_unit_test_setup(a_trial_ends_at_its_deadline_and_when_interrupted, start),
      cmocka_unit_test_setup(simulators_look_at_the_clock, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
