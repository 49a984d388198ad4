/* test_ensemble.c - `rules` and a model together never end worse than `rules` alone with the same budget of
 * evaluations, whatever the model answers. On a machine that is a formula; the models are here: some help, some are
 * useless, some would harm a search that let them. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "search/result.h"
#include "search/state.h"
#include "search_fixture.h"

/* ---- models ---- */

enum { GOOD, COPIES, SLOW, CHEATS, UNBUILDABLE, WRONG_LATER, SILENT, GONE, MODELS };
static const char *const names[MODELS] = {"good",        "copies",      "slow",   "cheats",
                                          "unbuildable", "wrong later", "silent", "gone"};

static int asked;

static void plan(tw_agent *a, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  const int model = *(int *)a->own;
  for (size_t i = 0; i < n; i++) {
    asked++;
    proposal[i].n = model == SILENT || model == GONE ? 0 : request[i]->plans;
    proposal[i].status = TW_OK;
    if (model == GONE) proposal[i].status = tw_fail(&proposal[i].error, TW_MISSING, "the server is gone");
    for (size_t p = 0; p < proposal[i].n; p++)
      proposal[i].plan[p] = (tw_agent_plan){.lever = "idea", .n_alternatives = request[i]->kernels};
  }
}

static char *write_source(const fake_state *s) {
  tw_text t = {0};
  tw_text_add(&t, "kernel");
  for (int i = 0; i < LEVERS; i++) tw_text_add(&t, " %d", s->value[i]);
  tw_text_add(&t, "\n");
  return tw_text_take(&t);
}

/* One lever of the parent's kernel, at random, or the best there is. */
static fake_state change(int model, const fake_state *from, tw_random *r) {
  fake_state best = *from;
  for (int i = 0; i < CHEAT; i++)
    for (int v = 0; v < fake_levers[i].values; v++) {
      fake_state next = *from;
      next.value[i] = v;
      if (model == GOOD ? fake_cost(&next) < fake_cost(&best) : tw_random_below(r, 12) == 0) best = next;
    }
  if (model == SLOW) best.value[HOIST] = 1, best.value[ORDER] = 5, best.value[TILE] = 0;
  if (model == CHEATS) best.value[CHEAT] = 1;
  if (model == UNBUILDABLE) best.value[UNROLL] = 3, best.value[TILE] = 5;
  if (model == WRONG_LATER) best.value[BANK] = 2;
  return best;
}

static void implement(tw_agent *a, size_t n, const tw_order order[], tw_kernel kernel[]) {
  const int model = *(int *)a->own;
  for (size_t i = 0; i < n; i++) {
    tw_random r;
    tw_random_seed(&r, order[i].request->place + order[i].alternative);
    const fake_state from = fake_read(order[i].request->parent->source), to = change(model, &from, &r);
    kernel[i].source = write_source(&to);
    snprintf(kernel[i].step, sizeof kernel[i].step, "an idea");
  }
}

static void free_plan(tw_agent_plan *p) { (void)p; }
static void close_agent(tw_agent *a, tw_text *notes) { (void)a, (void)notes; }

/* ---- searches ---- */

static tw_search_result search(int model, const tw_search_options *options) {
  int own = model;
  tw_agent *rules, other = {.name = "llm:test",
                            .asks_models = true,
                            .own = &own,
                            .plan = plan,
                            .implement = implement,
                            .free_plan = free_plan,
                            .close = close_agent};
  tw_search_result r = {0};
  tw_error error = {0};
  const tw_problem p = fake_problem(16);
  assert_int_equal(tw_rules_open("rules", &fake_target, NULL, &rules, &error), TW_OK);
  /* the model stands first: the order that they are named in means nothing */
  const tw_member both[] = {{&other, 2}, {rules, 1}}, alone[] = {{rules, 1}};
  const tw_search_subject subject = {.target = &fake_target,
                                     .problem = &p,
                                     .n_members = model == MODELS ? 1 : 2,
                                     .member = model == MODELS ? alone : both};
  if (tw_search_by(&subject, options, &r, &error) != TW_OK) fail_msg("%s", error.text);
  rules->close(rules, NULL);
  return r;
}

static void no_model_makes_it_worse(void **state) {
  static const struct {
    int samples, iterations, plans, kernels, beam;
  } budget[] = {{0, 2, 1, 1, 1}, {0, 3, 2, 1, 2}, {0, 0, 0, 0, 0}, {7, 0, 0, 0, 0}, {25, 0, 0, 0, 0}};
  int better[MODELS] = {0}, ended_short = 0;
  for (uint64_t seed = 1; seed <= 12; seed++)
    for (size_t b = 0; b < sizeof budget / sizeof *budget; b++) {
      fake_reset();
      fake.wrong_on_fresh_inputs = seed % 3 == 0;
      fake.first_seed = seed;
      tw_search_options o = fake_options(seed, 1);
      o.samples = budget[b].samples;
      o.iterations = budget[b].iterations;
      o.plans = budget[b].plans;
      o.kernels = budget[b].kernels;
      o.beam = budget[b].beam;
      tw_search_result alone = search(MODELS, &o);
      ended_short += alone.best.cost > fake_optimum();
      for (int model = 0; model < MODELS; model++) {
        tw_search_result r = search(model, &o);
        if (r.best.cost > alone.best.cost)
          fail_msg("seed %d, budget %zu: with the model '%s' %g, without %g", (int)seed, b, names[model], r.best.cost,
                   alone.best.cost);
        if (o.samples && r.samples > alone.samples + o.samples + 64) /* 64: for the ladder */
          fail_msg("%d samples, %d without the model", r.samples, alone.samples);
        if (model == SILENT || model == GONE) {
          assert_string_equal(r.source, alone.source);
          assert_int_equal(r.schedule.n, alone.schedule.n);
        }
        if (r.best.cost < alone.best.cost) {
          better[model]++;
          assert_true(r.n_rungs >= 2 && r.rung[0].cost == r.start.cost && r.rung[r.n_rungs - 1].cost == r.best.cost);
        }
        tw_search_result_clear(&r);
      }
      tw_search_result_clear(&alone);
    }
  assert_true(ended_short > 0); /* else there was nothing to gain or to lose */
  assert_true(better[GOOD] > 10);
  assert_int_equal(better[CHEATS] + better[UNBUILDABLE] + better[SILENT] + better[GONE], 0);
}

/* Models are asked as much as if they were alone, whatever `rules` used up. */
static void models_have_a_budget_of_their_own(void **state) {
  fake_reset();
  tw_search_options o = fake_options(1, 1);
  o.samples = 10;
  asked = 0;
  tw_search_result r = search(GOOD, &o);
  assert_true(asked > 0);
  tw_search_result_clear(&r);
}

/* ---- parents much slower than the best ---- */

/* In the first iteration a fast kernel and one that is not much slower; then of the start two that beat it by little,
 * and of others nothing new. What the third iteration asks is kept. */
static const fake_state FAST = {{4, 2, 2, 1, 0, 0, 0}}, NEAR = {{1, 1, 1, 1, 0, 0, 0}},
                        FAR[2] = {{{1, 1, 0, 5, 0, 0, 0}}, {{1, 2, 0, 5, 0, 0, 0}}};
static struct {
  size_t n;
  struct {
    double cost;
    size_t plans;
  } asked[8];
} third;

static void plan_ideas(tw_agent *a, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  (void)a;
  for (size_t i = 0; i < n; i++) {
    if (request[i]->iteration == 3) {
      third.asked[third.n].cost = request[i]->parent->measured.cost;
      third.asked[third.n++].plans = request[i]->plans;
    }
    proposal[i].n = request[i]->plans;
    proposal[i].status = TW_OK;
    for (size_t p = 0; p < proposal[i].n; p++)
      proposal[i].plan[p] = (tw_agent_plan){.lever = "idea", .n_alternatives = request[i]->kernels};
  }
}

static void implement_ideas(tw_agent *a, size_t n, const tw_order order[], tw_kernel kernel[]) {
  (void)a;
  for (size_t i = 0; i < n; i++) {
    const tw_request *r = order[i].request;
    fake_state to = fake_read(r->parent->source);
    if (r->parent->parent == TW_NONE)
      to = r->iteration > 1 ? FAR[order[i].alternative] : order[i].alternative ? NEAR : FAST;
    kernel[i].source = write_source(&to);
  }
}

static void much_slower_kernels_take_no_place_and_few_questions(void **state) {
  fake_reset();
  tw_agent model = {.name = "llm:test",
                    .asks_models = true,
                    .plan = plan_ideas,
                    .implement = implement_ideas,
                    .free_plan = free_plan,
                    .close = close_agent};
  const tw_member alone = {&model, 1};
  const tw_problem p = fake_problem(16);
  const tw_search_subject subject = {
      .target = &fake_target, .problem = &p, .n_members = 1, .member = &alone, .is_patient = true};
  tw_search_options o = fake_options(1, 1);
  o.iterations = 3, o.plans = 2, o.kernels = 2, o.beam = 3;
  tw_search_result r = {0};
  assert_int_equal(tw_search_by(&subject, &o, &r, NULL), TW_OK);
  assert_int_equal(third.n, 3);
  assert_true(third.asked[0].cost == fake_cost(&FAST) && third.asked[0].plans == 2);
  assert_true(third.asked[1].cost == fake_cost(&NEAR) && third.asked[1].plans == 2);
  assert_true(third.asked[2].cost == fake_cost(&FAR[0]) && third.asked[2].plans == 1);
  tw_search_result_clear(&r);
}

/* ---- kernels that begin with different steps ---- */

/* Four children of the start, each one step. Three have the same verb and are the fastest. */
static const char *const *four_steps;
static struct {
  size_t n;
  double cost[8];
} parents; /* of the second iteration */

static void plan_steps(tw_agent *a, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  (void)a;
  for (size_t i = 0; i < n; i++) {
    if (request[i]->iteration == 2) parents.cost[parents.n++] = request[i]->parent->measured.cost;
    proposal[i].status = TW_OK;
    proposal[i].n = request[i]->iteration == 1;
    proposal[i].plan[0] = (tw_agent_plan){.lever = "idea", .n_alternatives = request[i]->kernels};
  }
}

static void implement_steps(tw_agent *a, size_t n, const tw_order order[], tw_kernel kernel[]) {
  (void)a;
  for (size_t i = 0; i < n; i++) {
    tw_error error = {0};
    kernel[i] = (tw_kernel){.has_schedule = true};
    assert_int_equal(tw_schedule_add(&kernel[i].schedule, four_steps[order[i].alternative], NULL), TW_OK);
    if (tw_target_emit(&fake_target, order[i].request->problem, &kernel[i].schedule, &kernel[i].source, &error) !=
        TW_OK)
      fail_msg("%s", error.text);
  }
}

/* The start takes 16000. */
static void expect_parents(const char *const steps[4], const double cost[3]) {
  fake_reset();
  four_steps = steps;
  parents.n = 0;
  tw_agent agent = {
      .name = "steps", .plan = plan_steps, .implement = implement_steps, .free_plan = free_plan, .close = close_agent};
  const tw_member alone = {&agent, 1};
  const tw_problem p = fake_problem(16);
  const tw_search_subject subject = {
      .target = &fake_target, .problem = &p, .n_members = 1, .member = &alone, .is_patient = true};
  tw_search_options o = fake_options(1, 1);
  o.iterations = 2, o.plans = 1, o.kernels = 4, o.beam = 3;
  tw_search_result r = {0};
  assert_int_equal(tw_search_by(&subject, &o, &r, NULL), TW_OK);
  assert_int_equal(parents.n, 3);
  for (int i = 0; i < 3; i++)
    if (parents.cost[i] != cost[i]) fail_msg("parent %d takes %g", i, parents.cost[i]);
  tw_search_result_clear(&r);
}

static void another_first_step_keeps_a_place(void **state) {
  /* 12800, 13440, 13600, and 14560: 14% slower than the best */
  static const char *const near[] = {"order 1", "order 4", "order 2", "unroll 3"};
  expect_parents(near, (const double[]){12800, 13440, 14560});
  /* 16320: more than 25% slower */
  static const char *const far[] = {"order 1", "order 4", "order 2", "hoist 1"};
  expect_parents(far, (const double[]){12800, 13440, 13600});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_model_makes_it_worse),
      cmocka_unit_test(models_have_a_budget_of_their_own),
      cmocka_unit_test(much_slower_kernels_take_no_place_and_few_questions),
      cmocka_unit_test(another_first_step_keeps_a_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
