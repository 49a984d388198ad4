/* test_without.c - searches without one of their parts, for experiments: each part is really left out, and only that
 * one. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "search/result.h"
#include "search/state.h"
#include "search_fixture.h"
#include "subject.h"

/* ---- names ---- */

static void names_are_read_and_unknown_ones_are_an_error(void **state) {
  uint64_t bits;
  tw_error error = {0};
  assert_int_equal(tw_without_parse("menu,isa,feedback,model,examples", &bits, &error), TW_OK);
  assert_int_equal(bits, 31);
  assert_int_equal(tw_without_parse("model", &bits, &error), TW_OK);
  assert_int_equal(bits, TW_WITHOUT_MODEL);
  static const char *const bad[] = {"modell", "", "menu,", ",menu", "menu isa", "mod"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(tw_without_parse(bad[i], &bits, &error), TW_USAGE);
    assert_non_null(strstr(error.text, "expected menu, isa, feedback, model or examples"));
  }
}

static void expect_unusable(const char *agent, uint64_t without) {
  tw_problem problem = fake_problem(64);
  tw_search_result r = {0};
  tw_search_options o = fake_options(1, 1);
  tw_error error = {0};
  o.agents = &agent, o.n_agents = 1, o.without = without;
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, &error), TW_USAGE);
  assert_non_null(strstr(error.text, without > 31 ? "unknown bits" : "changes nothing for the given agents"));
}

static void a_part_that_no_agent_has_is_an_error(void **state) {
  expect_unusable("rules", TW_WITHOUT_MENU);
  expect_unusable("rules", TW_WITHOUT_MODEL | TW_WITHOUT_EXAMPLES);
  expect_unusable("exec:true", TW_WITHOUT_MODEL);
  expect_unusable("random", TW_WITHOUT_FEEDBACK);
  expect_unusable("rules", 32);
}

/* ---- rules ---- */

enum { DRAWS = 200 };

static void pays_nothing(const void *context, const char *lever, int *tried, int *paid) {
  (void)context;
  *tried = !strcmp(lever, "cheat") ? 1000 : 0;
  *paid = 0;
}

/* How often the first plan takes this lever. */
static int count_first(const char *agent_name, const char *lever, uint64_t without, int idle) {
  tw_schedule none = {0};
  tw_candidate start = {.schedule = &none};
  start.measured.cost = 16000;
  tw_problem p = fake_problem(16);
  int n = 0;
  for (uint64_t seed = 0; seed < DRAWS; seed++) {
    tw_agent_plan plan;
    tw_proposal proposal = {.plan = &plan};
    tw_agent *agent;
    tw_request request = {.target = &fake_target,
                          .problem = &p,
                          .parent = &start,
                          .iteration = 1,
                          .iterations = 1,
                          .idle = idle,
                          .plans = 1,
                          .kernels = 1,
                          .jobs = 1,
                          .without = without,
                          .experience = pays_nothing};
    const tw_request *all[] = {&request};
    tw_random_seed(&request.random, seed);
    assert_int_equal(tw_rules_open(agent_name, &fake_target, NULL, &agent, NULL), TW_OK);
    assert_string_equal(agent->name, agent_name);
    agent->plan(agent, 1, all, &proposal);
    assert_int_equal(proposal.n, 1);
    n += !strcmp(plan.lever, lever);
    agent->free_plan(&plan);
    agent->close(agent, NULL);
  }
  return n;
}

static void without_the_model_rules_do_not_know_what_it_promises(void **state) {
  assert_int_equal(count_first("rules", "stack", 0, 0), DRAWS); /* the model promises a cost of 1 */
  assert_true(count_first("rules", "stack", TW_WITHOUT_MODEL, 0) < DRAWS / 2);
}

static void without_feedback_rules_do_not_know_what_failed(void **state) {
  const uint64_t no_model = TW_WITHOUT_MODEL;
  assert_int_equal(count_first("rules", "cheat", no_model, 0), 0); /* 1000 tries, no gain */
  assert_true(count_first("rules", "cheat", no_model | TW_WITHOUT_FEEDBACK, 0) > 0);
}

/* The menu has 23 steps, 5 of them of "tile" and 1 of "cheat". */
static void a_random_agent_draws_each_step_alike(void **state) {
  const int tile = count_first("random", "tile", 0, 0), cheat = count_first("random", "cheat", 0, 0);
  assert_true(tile > 20 && tile < 80);
  assert_true(cheat > 0 && cheat < 30);
}

static double search(const char *agent, uint64_t without, uint64_t seed) {
  tw_problem problem = fake_problem(64);
  tw_search_result r = {0};
  tw_search_options o = fake_options(seed, 1);
  tw_error error = {0};
  o.agents = &agent, o.n_agents = 1, o.without = without;
  if (tw_search_into(&fake_target, &problem, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  const double cost = r.best.cost;
  tw_search_result_clear(&r);
  return cost;
}

static void searches_without_parts_work_to_the_end(void **state) {
  const fake_state plainest = fake_plainest();
  for (uint64_t seed = 1; seed <= 3; seed++) {
    assert_true(search("random", 0, seed) < fake_cost(&plainest));
    assert_true(search("rules", TW_WITHOUT_MODEL, seed) < fake_cost(&plainest));
    assert_true(search("rules", TW_WITHOUT_FEEDBACK, seed) < fake_cost(&plainest));
  }
}

/* ---- prompts ---- */

static char *prompt_of(const char *plan, uint64_t without) {
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  const tw_problem problem = problem_from(target, "gemm m=64 n=64 k=64");
  tw_schedule baseline;
  tw_error error = {0};
  char *source = NULL, *prompt = NULL;
  assert_int_equal(tw_target_baseline(target, &problem, &baseline, NULL), TW_OK);
  if (tw_target_emit(target, &problem, &baseline, &source, &error) != TW_OK) fail_msg("%s", error.text);
  tw_candidate *parent = tw_candidate_new();
  tw_candidate_set_kernel(parent, target, NULL, source);
  parent->measured.cost = 16000;
  tw_request request = {
      .target = target, .problem = &problem, .parent = parent, .iteration = 1, .iterations = 1, .without = without};
  tw_random random;
  tw_random_seed(&random, 1);
  const tw_status status = plan ? tw_prompt_implement(&request, plan, NULL, &prompt, &error)
                                : tw_prompt_plan(&request, &random, &prompt, &error);
  if (status != TW_OK) fail_msg("%s", error.text);
  tw_candidate_free(parent);
  return prompt;
}

static void each_part_of_a_prompt_is_left_out_alone(void **state) {
  static const struct {
    uint64_t part;
    const char *plan, *text;
  } cases[] = {{TW_WITHOUT_MENU, NULL, "# Options"},
               {TW_WITHOUT_ISA, NULL, "# The language"},
               {TW_WITHOUT_FEEDBACK, NULL, "# What was measured"},
               {TW_WITHOUT_ISA, "OPTION: tiling\nPLAN: tile", "# The language"},
               {TW_WITHOUT_EXAMPLES, "OPTION: tiling\nPLAN: tile, two banks", "# Examples of such changes"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *whole = prompt_of(cases[i].plan, 0), *less = prompt_of(cases[i].plan, cases[i].part);
    assert_non_null(strstr(whole, cases[i].text));
    if (strstr(less, cases[i].text)) fail_msg("'%s' is not left out", cases[i].text);
    assert_null(strstr(less, "{{"));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
      if (cases[k].part != cases[i].part && !cases[k].plan == !cases[i].plan && !strstr(less, cases[k].text))
        fail_msg("'%s' is left out with '%s'", cases[k].text, cases[i].text);
    free(whole);
    free(less);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_read_and_unknown_ones_are_an_error),
      cmocka_unit_test(a_part_that_no_agent_has_is_an_error),
      cmocka_unit_test(without_the_model_rules_do_not_know_what_it_promises),
      cmocka_unit_test(without_feedback_rules_do_not_know_what_failed),
      cmocka_unit_test(a_random_agent_draws_each_step_alike),
      cmocka_unit_test(searches_without_parts_work_to_the_end),
      cmocka_unit_test(each_part_of_a_prompt_is_left_out_alone),
  };
  fake_reset();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
