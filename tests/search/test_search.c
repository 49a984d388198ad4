/* test_search.c - the beam search, on a target whose best kernel is known. */
#include "test.h"

#include "base/clock.h"
#include "base/status.h"

#include "agent/agent.h"
#include "evaluate/backend.h"
#include "search/result.h"
#include "search_fixture.h"

static int start(void **state) {
  fake_reset();
  return 0;
}

static tw_search_result search(const tw_search_options *options) {
  tw_search_result r = {0};
  tw_error error = {0};
  tw_problem p = fake_problem(16);
  tw_status status = tw_search_into(&fake_target, &p, options, &r, &error);
  if (status != TW_OK) fail_msg("%s", error.text);
  return r;
}

static char *print_schedule(const tw_schedule *schedule) {
  size_t n = tw_schedule_print(schedule, NULL, 0);
  char *text = malloc(n + 1);
  tw_schedule_print(schedule, text, n + 1);
  return text;
}

static void assert_same_result(const tw_search_result *a, const tw_search_result *b) {
  char *x = print_schedule(&a->schedule), *y = print_schedule(&b->schedule);
  assert_string_equal(x, y);
  assert_string_equal(a->source, b->source);
  assert_true(a->best.cost == b->best.cost);
  assert_int_equal(a->best.n_counters, b->best.n_counters);
  assert_int_equal(a->samples, b->samples);
  assert_int_equal(a->correct, b->correct);
  assert_int_equal(a->n_rungs, b->n_rungs);
  for (size_t i = 0; i < a->n_rungs; i++) {
    assert_string_equal(a->rung[i].step, b->rung[i].step);
    assert_true(a->rung[i].cost == b->rung[i].cost);
  }
  free(x);
  free(y);
}

static void finds_the_optimum_whatever_the_seed(void **state) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    tw_search_options o = fake_options(seed, 2);
    tw_search_result r = search(&o);
    assert_true(r.best.cost == fake_optimum());
    assert_true(r.samples < 450);
    tw_search_result_clear(&r);
  }
}

/* Every kernel of the menu, or the first ones; more threads make the same candidates. */
static void exhaustive_is_the_same_for_any_jobs(void **state) {
  const int samples[] = {100000, 1, 7, 100};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    tw_search_options o = fake_options(3, 1);
    o.exhaustive = true;
    o.samples = samples[i];
    tw_search_result one = search(&o);
    o.jobs = 4;
    tw_search_result four = search(&o);
    assert_same_result(&one, &four);
    if (samples[i] < 1000) {
      assert_int_equal(one.samples, samples[i]);
      assert_non_null(strstr(one.notes, "the menu leads to more"));
    } else {
      assert_true(one.samples > TW_EXHAUSTIVE_MOST && one.best.cost == fake_optimum());
      assert_non_null(strstr(one.notes, "all are evaluated"));
    }
    tw_search_result_clear(&one);
    tw_search_result_clear(&four);
  }
}

static void the_result_is_the_same_for_any_jobs(void **state) {
  fake.delay_ms = 1;
  tw_search_options o = fake_options(3, 1);
  o.iterations = 4;
  tw_search_result one = search(&o);
  for (int jobs = 2; jobs <= 4; jobs += 2) {
    o.jobs = jobs;
    tw_search_result many = search(&o);
    assert_same_result(&one, &many);
    tw_search_result_clear(&many);
  }
  assert_true(fake_running_most > 1);
  tw_search_result_clear(&one);
}

/* Evaluates here as if it were elsewhere. The first trials wait until kernels are made meanwhile: up to 20 ms each. */
static void evaluate_away(tw_backend *b, size_t slot, const tw_trial *trial, const tw_case *data, const tw_bound *bound,
                          const volatile int *interrupt, tw_outcome *out) {
  static const struct timespec ms = {.tv_nsec = 1000000};
  static atomic_int waits;
  atomic_bool *overlaps = b->own;
  const int emits = atomic_load(&fake_emits);
  (void)slot, (void)data;
  for (int i = 0; i < 20 && atomic_fetch_add(&waits, 1) < 5000 && !atomic_load(overlaps); i++) {
    nanosleep(&ms, NULL);
    if (atomic_load(&fake_emits) > emits) atomic_store(overlaps, true);
  }
  const tw_setting setting = {.bound = bound, .jobs = 1, .interrupt = interrupt};
  tw_trial_run(trial, &setting, out);
}

static void kernels_are_evaluated_elsewhere_while_others_are_made_and_the_result_is_the_same(void **state) {
  atomic_bool overlaps = false;
  tw_backend away = {.name = "away", .is_own = true, .is_elsewhere = true, .own = &overlaps, .evaluate = evaluate_away};
  tw_search_options o = fake_options(3, 4);
  o.beam = 64, o.plans = 20, o.kernels = 2, o.iterations = 4;
  tw_search_result here = search(&o);
  for (int samples = 0; samples < 600; samples += 300) { /* 0: no limit */
    o.samples = samples;
    o.backend = NULL;
    if (samples) {
      tw_search_result_clear(&here);
      here = search(&o);
      assert_true(here.samples <= samples);
    }
    o.backend = &away;
    tw_search_result there = search(&o);
    assert_same_result(&here, &there);
    tw_search_result_clear(&there);
  }
  assert_true(overlaps);
  tw_search_result_clear(&here);
}

static void seeds_take_different_ways(void **state) {
  tw_search_options o = fake_options(1, 2);
  o.iterations = 2;
  tw_search_result a = search(&o);
  o.seed = 2;
  tw_search_result b = search(&o);
  assert_true(a.samples != b.samples || a.correct != b.correct || strcmp(a.source, b.source) != 0);
  tw_search_result_clear(&a);
  tw_search_result_clear(&b);
}

static void every_kernel_is_built_once(void **state) {
  tw_search_options o = fake_options(5, 2);
  tw_search_result r = search(&o);
  /* Once each, and the best once more on fresh inputs. */
  assert_int_equal(fake_builds, r.samples + 1);
  tw_search_result_clear(&r);
}

static void wrong_kernels_never_win(void **state) {
  fake.all_wrong = true;
  tw_search_options o = fake_options(5, 2);
  tw_search_result r = search(&o);
  assert_int_equal(r.schedule.n, 0);
  assert_string_equal(r.source, r.start_source);
  assert_int_equal(r.correct, 1);
  assert_int_equal(r.n_rungs, 1);
  tw_search_result_clear(&r);
}

static void a_kernel_that_fails_on_fresh_inputs_gives_way_to_the_next(void **state) {
  tw_search_options o = fake_options(5, 2);
  fake.wrong_on_fresh_inputs = true;
  fake.first_seed = 5;
  tw_search_result r = search(&o);
  assert_null(strstr(r.source, "kernel 4 2 2")); /* bank 2 */
  assert_non_null(strstr(r.notes, "fresh"));
  assert_true(r.best.cost > fake_optimum() && r.best.cost < r.start.cost);
  tw_search_result_clear(&r);
}

static void the_ladder_goes_from_the_plainest_kernel_to_the_best_step_by_step(void **state) {
  tw_search_options o = fake_options(7, 2);
  tw_search_result r = search(&o);
  assert_int_equal(r.n_rungs, r.schedule.n + 1);
  assert_string_equal(r.rung[0].step, "start");
  assert_true(r.rung[0].cost == r.start.cost);
  for (size_t i = 1; i < r.n_rungs; i++) {
    tw_schedule beginning = r.schedule;
    fake_state s;
    beginning.n = i;
    assert_int_equal(fake_replay(&beginning, &s, NULL), TW_OK);
    assert_string_equal(r.rung[i].step, r.schedule.step[i - 1]);
    assert_true(r.rung[i].cost == fake_cost(&s));
    assert_non_null(strstr(r.rung[i].why, "brings"));
  }
  assert_true(r.rung[r.n_rungs - 1].cost == r.best.cost);
  tw_search_result_clear(&r);
}

static void the_schedule_has_no_step_that_it_can_do_without(void **state) {
  for (uint64_t seed = 0; seed < 5; seed++) {
    tw_search_options o = fake_options(seed, 2);
    tw_search_result r = search(&o);
    for (size_t i = 0; i < r.schedule.n; i++) {
      tw_schedule shorter = {0};
      for (size_t j = 0; j < r.schedule.n; j++)
        if (j != i) tw_schedule_add(&shorter, r.schedule.step[j], NULL);
      fake_state s;
      assert_int_equal(fake_replay(&shorter, &s, NULL), TW_OK);
      assert_true(fake_cost(&s) > r.best.cost);
    }
    tw_search_result_clear(&r);
  }
}

static double predict(const tw_schedule *schedule) {
  double cost;
  assert_int_equal(fake_predict(&fake_target, NULL, schedule, &cost, NULL), TW_OK);
  return cost;
}

static void steps_come_in_the_order_of_what_the_model_expects_of_them(void **state) {
  for (uint64_t seed = 0; seed < 5; seed++) {
    tw_search_options o = fake_options(seed, 2);
    tw_search_result r = search(&o);
    for (size_t n = 1; n < r.schedule.n; n++) {
      tw_schedule chosen = r.schedule, other = r.schedule;
      chosen.n = other.n = n;
      for (size_t later = n; later < r.schedule.n; later++) {
        memcpy(other.step[n - 1], r.schedule.step[later], sizeof other.step[0]);
        assert_true(predict(&chosen) <= predict(&other));
      }
    }
    tw_search_result_clear(&r);
  }
}

static void remember_iteration(void *context, const tw_progress *p) { *(int *)context = p->iteration; }

static void a_search_that_gains_nothing_more_ends_before_its_iterations_are_spent(void **state) {
  tw_search_options o = fake_options(1, 2);
  int last = 0;
  o.iterations = 1000;
  o.progress = remember_iteration;
  o.context = &last;
  tw_search_result r = search(&o);
  assert_true(r.best.cost == fake_optimum());
  assert_in_range(last, 2, 30);
  tw_search_result_clear(&r);
}

static void wisdom_is_replayed_and_illegal_steps_are_left_out_with_a_note(void **state) {
  tw_schedule known;
  assert_int_equal(tw_schedule_parse("depth 2\ntile 77\ntile 4\nbank 2\n", &known, NULL), TW_OK);
  tw_search_options o = fake_options(1, 2);
  o.start = &known;
  o.iterations = o.plans = o.kernels = o.beam = 1;
  tw_search_result r = search(&o);
  fake_state s = fake_plainest();
  s.value[DEPTH] = 2, s.value[TILE] = 4, s.value[BANK] = 2;
  assert_true(r.best.cost <= fake_cost(&s));
  fake_state plainest = fake_plainest();
  assert_true(r.start.cost == fake_cost(&plainest));
  assert_non_null(strstr(r.notes, "'tile 77'"));
  tw_search_result_clear(&r);
}

/* ---- stopping ---- */

static volatile int stop;
static int stop_after, planned;
static void stop_when_done(void *context, const tw_progress *p) {
  int *calls = context;
  ++*calls;
  assert_true(p->done <= p->planned && p->correct <= p->done && p->elapsed >= 0);
  planned = p->planned;
  if (p->done >= stop_after) __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static void an_interrupted_search_returns_the_best_so_far(void **state) {
  fake.delay_ms = 2;
  int calls = 0;
  tw_search_options o = fake_options(1, 2);
  tw_problem p = fake_problem(16);
  tw_search_result r = {0};
  tw_error error;
  stop = 0;
  stop_after = 30;
  o.interrupt = &stop;
  o.progress = stop_when_done;
  o.context = &calls;
  assert_int_equal(tw_search_into(&fake_target, &p, &o, &r, &error), TW_INTERRUPTED);
  assert_int_equal(error.status, TW_INTERRUPTED);
  assert_true(r.samples >= 30 && r.samples < planned); /* how soon it stops is up to the system's scheduler */
  assert_true(calls >= 30);
  assert_true(r.best.cost < r.start.cost);
  assert_non_null(r.source);
  tw_search_result_clear(&r);
}

static void an_interrupt_before_the_first_kernel_leaves_nothing(void **state) {
  tw_search_options o = fake_options(1, 2);
  tw_problem p = fake_problem(16);
  tw_search_result r = {0};
  stop = 1;
  o.interrupt = &stop;
  assert_int_equal(tw_search_into(&fake_target, &p, &o, &r, NULL), TW_INTERRUPTED);
  assert_null(r.source);
  tw_search_result_clear(&r);
}

/* The bound is 1000: nothing is below nine tenths of it. */
static void what_is_faster_than_the_machine_can_be_is_no_result(void **state) {
  fake.plainest_factor = 0.01;
  tw_search_options o = fake_options(1, 2);
  tw_problem p = fake_problem(16);
  tw_search_result r = {0};
  tw_error error = {0};
  assert_int_equal(tw_search_into(&fake_target, &p, &o, &r, &error), TW_FAILED);
  if (!strstr(error.text, "faster than the machine can be")) fail_msg("%s", error.text);
  tw_search_result_clear(&r);
}

static void a_time_limit_ends_the_search_with_what_it_has(void **state) {
  fake.delay_ms = 20;
  tw_search_options o = fake_options(1, 1);
  o.seconds = 0.2;
  tw_search_result r = search(&o);
  assert_true(r.samples < 100);
  assert_non_null(r.source);
  tw_search_result_clear(&r);
}

static void the_time_before_the_search_counts(void **state) {
  tw_search_options o = fake_options(1, 1);
  o.seconds = 100;
  o.began = tw_now() - 101;
  tw_search_result r = search(&o);
  assert_int_equal(r.samples, 1);
  assert_non_null(strstr(r.notes, "of the 100 s given"));
  tw_search_result_clear(&r);
}

static void when_nothing_can_be_evaluated_any_more_the_search_ends_with_a_note(void **state) {
  fake.unavailable = true;
  tw_search_options o = fake_options(1, 2);
  tw_search_result r = search(&o);
  assert_non_null(strstr(r.notes, "no room in /tmp"));
  assert_string_equal(r.source, r.start_source);
  assert_true(r.samples < 20);
  tw_search_result_clear(&r);
}

static void bad_options_and_problems_are_refused_in_a_line(void **state) {
  struct {
    tw_search_options options;
    const char *word;
  } bad[] = {{{.iterations = -1}, "iterations"}, {{.beam = 1 << 20}, "beam"},  {{.dropout = 1}, "dropout"},
             {{.dropout = NAN}, "dropout"},      {{.seconds = -1}, "seconds"}, {{.jobs = -2}, "jobs"}};
  tw_problem p = fake_problem(16);
  tw_search_result r = {0};
  tw_error error;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    bad[i].options.size = sizeof bad[i].options;
    assert_int_equal(tw_search_into(&fake_target, &p, &bad[i].options, &r, &error), TW_USAGE);
    assert_non_null(strstr(error.text, bad[i].word));
  }
  p = fake_problem(999);
  tw_search_options o = fake_options(0, 1);
  assert_int_equal(tw_search_into(&fake_target, &p, &o, &r, &error), TW_UNSUPPORTED);
  assert_non_null(strstr(error.text, "999"));
}

/* ---- the rules agent ---- */

static tw_candidate *parent(void) {
  static tw_candidate c;
  static tw_schedule none;
  c = (tw_candidate){.schedule = &none};
  c.measured.cost = 16000;
  return &c;
}

static void (*free_plan)(tw_agent_plan *);

static tw_request request_with(const tw_problem *p, double dropout, size_t plans, uint64_t seed) {
  tw_request request = {.target = &fake_target,
                        .problem = p,
                        .parent = parent(),
                        .iteration = 1,
                        .iterations = 1,
                        .plans = plans,
                        .kernels = 2,
                        .dropout = dropout,
                        .jobs = 1};
  tw_random_seed(&request.random, seed);
  return request;
}

static size_t plan_once(double dropout, size_t plans, uint64_t seed, tw_agent_plan *out) {
  tw_problem p = fake_problem(16);
  const tw_request request = request_with(&p, dropout, plans, seed);
  const tw_request *all[] = {&request};
  tw_proposal proposal = {.plan = out};
  tw_agent *rules;
  assert_int_equal(tw_rules_open("rules", &fake_target, NULL, &rules, NULL), TW_OK);
  rules->plan(rules, 1, all, &proposal);
  assert_int_equal(proposal.status, TW_OK);
  free_plan = rules->free_plan;
  rules->close(rules, NULL);
  return proposal.n;
}

static void dropout_never_hides_all_levers(void **state) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    tw_agent_plan plan[4];
    size_t n = plan_once(0.9999, 4, seed, plan);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) free_plan(&plan[i]);
  }
}

static void without_dropout_the_first_plan_is_what_the_model_likes_best_and_all_plans_differ(void **state) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    tw_agent_plan plan[6];
    size_t n = plan_once(0, 6, seed, plan);
    assert_int_equal(n, 6);
    assert_string_equal(plan[0].lever, "stack"); /* the model promises a cost of 1 */
    for (size_t i = 0; i < n; i++) {
      assert_true(strlen(plan[i].why) > 0);
      for (size_t j = 0; j < i; j++) assert_string_not_equal(plan[i].lever, plan[j].lever);
    }
    for (size_t i = 0; i < n; i++) free_plan(&plan[i]);
  }
}

static void every_lever_gets_its_turn_also_those_that_the_model_dislikes(void **state) {
  int seen[LEVERS] = {0};
  for (uint64_t seed = 0; seed < 300; seed++) {
    tw_agent_plan plan[2];
    size_t n = plan_once(0.4, 2, seed, plan);
    for (size_t i = 0; i < n; i++) {
      for (int l = 0; l < LEVERS; l++) seen[l] += !strcmp(plan[i].lever, fake_levers[l].verb);
      free_plan(&plan[i]);
    }
  }
  for (int l = 0; l < LEVERS; l++) assert_true(seen[l] > 0);
  assert_true(seen[CHEAT] > 3 * seen[BANK]); /* promised .01 against promised nothing */
}

/* As if a step hid the effect of all others. */
static bool has_cheat(const void *context, const char *source) {
  (void)context;
  return fake_read(source).value[CHEAT];
}

static void a_chain_is_cut_until_its_kernel_is_new(void **state) {
  tw_problem p = fake_problem(16);
  size_t longest = 0;
  tw_agent *rules;
  assert_int_equal(tw_rules_open("rules", &fake_target, NULL, &rules, NULL), TW_OK);
  for (uint64_t seed = 0; seed < 100; seed++) {
    tw_agent_plan plan[4];
    tw_request request = request_with(&p, 0.3, 4, seed);
    request.known_source = has_cheat;
    const tw_request *all[] = {&request};
    tw_proposal proposal = {.plan = plan};
    rules->plan(rules, 1, all, &proposal);
    for (size_t i = 0; i < proposal.n; i++) {
      const tw_order order = {.request = &request, .plan = &plan[i]};
      tw_kernel kernel = {0};
      rules->implement(rules, 1, &order, &kernel);
      if (kernel.source && kernel.n_levers > 1) assert_false(has_cheat(NULL, kernel.source));
      if (kernel.n_levers > longest) longest = kernel.n_levers;
      free(kernel.source);
      rules->free_plan(&plan[i]);
    }
  }
  assert_true(longest > 1);
  rules->close(rules, NULL);
}

/* ---- when two sources are the same kernel ---- */

static bool are_same(const char *a, const char *b, const char *line_comment) {
  tw_digest x = tw_source_digest(a, line_comment), y = tw_source_digest(b, line_comment);
  return !memcmp(&x, &y, sizeof x);
}

static bool same(const char *a, const char *b) { return are_same(a, b, NULL); }

static void comments_are_no_part_of_a_kernel(void **state) {
  assert_true(same("/* one */\nint x;\n", "/* another\n * two */\n\nint x;"));
  assert_true(same("// one\nint x;\n", "int x;  \n  // more\n"));
  assert_false(same("//: let N = 1\nint x[N];\n", "//: let N = 2\nint x[N];\n")); /* a launch is a part of it */
  assert_false(same("int x;", "int y;"));
  assert_false(same("s = \"/* a */\";", "s = \"/* b */\";"));
  assert_false(same("s = '\"'; /* a */ t = \"/* b */\";", "s = '\"'; /* a */ t = \"/* c */\";"));
  assert_false(same("x = a // 2\n", "x = a // 3\n")); /* a division in other languages */
  assert_true(same("", "\n/* nothing */\n"));
  assert_false(same("/* unended", "/* unended, too"));
}

static void python_has_its_own_comments(void **state) {
  assert_true(are_same("# one\nx = 1\n", "x = 1\n  # more\n", "#"));
  assert_false(are_same("x = (a\n  // 2)\n", "x = (a\n  // 3)\n", "#")); /* a division */
  assert_false(are_same("f(a /*b)\ng(c */ d)", "f(a /*c)\ng(c */ d)", "#"));
  assert_false(are_same("if a:\n  x = 1\n  y = 1\n", "if a:\n  x = 1\ny = 1\n", "#"));
}

static void an_index_keeps_the_first_number_of_each_key(void **state) {
  tw_index index = {0};
  tw_digest d;
  char text[16];
  for (int i = 0; i < 3000; i++) {
    snprintf(text, sizeof text, "%d", i % 1500);
    d = tw_source_digest(text, NULL);
    assert_true(tw_index_add(&index, &d, i));
  }
  assert_int_equal(index.n, 1500);
  for (int i = 0; i < 1500; i++) {
    snprintf(text, sizeof text, "%d", i);
    d = tw_source_digest(text, NULL);
    assert_int_equal(tw_index_find(&index, &d), i);
  }
  d = tw_source_digest("-1", NULL);
  assert_int_equal(tw_index_find(&index, &d), TW_NONE);
  tw_index_free(&index);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(finds_the_optimum_whatever_the_seed, start),
      cmocka_unit_test_setup(the_result_is_the_same_for_any_jobs, start),
      cmocka_unit_test_setup(exhaustive_is_the_same_for_any_jobs, start),
      cmocka_unit_test_setup(kernels_are_evaluated_elsewhere_while_others_are_made_and_the_result_is_the_same, start),
      cmocka_unit_test_setup(seeds_take_different_ways, start),
      cmocka_unit_test_setup(every_kernel_is_built_once, start),
      cmocka_unit_test_setup(wrong_kernels_never_win, start),
      cmocka_unit_test_setup(a_kernel_that_fails_on_fresh_inputs_gives_way_to_the_next, start),
      cmocka_unit_test_setup(the_ladder_goes_from_the_plainest_kernel_to_the_best_step_by_step, start),
      cmocka_unit_test_setup(the_schedule_has_no_step_that_it_can_do_without, start),
      cmocka_unit_test_setup(steps_come_in_the_order_of_what_the_model_expects_of_them, start),
      cmocka_unit_test_setup(a_search_that_gains_nothing_more_ends_before_its_iterations_are_spent, start),
      cmocka_unit_test_setup(wisdom_is_replayed_and_illegal_steps_are_left_out_with_a_note, start),
      cmocka_unit_test_setup(an_interrupted_search_returns_the_best_so_far, start),
      cmocka_unit_test_setup(an_interrupt_before_the_first_kernel_leaves_nothing, start),
      cmocka_unit_test_setup(what_is_faster_than_the_machine_can_be_is_no_result, start),
      cmocka_unit_test_setup(a_time_limit_ends_the_search_with_what_it_has, start),
      cmocka_unit_test_setup(the_time_before_the_search_counts, start),
      cmocka_unit_test_setup(when_nothing_can_be_evaluated_any_more_the_search_ends_with_a_note, start),
      cmocka_unit_test_setup(bad_options_and_problems_are_refused_in_a_line, start),
      cmocka_unit_test_setup(dropout_never_hides_all_levers, start),
      cmocka_unit_test_setup(without_dropout_the_first_plan_is_what_the_model_likes_best_and_all_plans_differ, start),
      cmocka_unit_test_setup(every_lever_gets_its_turn_also_those_that_the_model_dislikes, start),
      cmocka_unit_test_setup(a_chain_is_cut_until_its_kernel_is_new, start),
      cmocka_unit_test_setup(comments_are_no_part_of_a_kernel, start),
      cmocka_unit_test(python_has_its_own_comments),
      cmocka_unit_test_setup(an_index_keeps_the_first_number_of_each_key, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
