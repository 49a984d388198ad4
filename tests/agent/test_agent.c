/* test_agent.c - what the search asks of agents, and what becomes of what they answer: an agent that writes sources,
 * makes mistakes, repairs them, and can be told what to do by a test. */
#include <unistd.h>

#include "test.h"

#include "search/result.h"
#include "search/state.h"
#include "search_fixture.h"

/* ---- an agent that writes sources ---- */

static struct {
  const char *name;
  int max_repairs;
  tw_status refuses; /* with this status, from iteration `refuses_from` on */
  int refuses_from;
  bool breaks;        /* the first try of each kernel does not do */
  bool gives_nothing; /* every second kernel is none */
  int asked;          /* questions to the world outside */
  int plans, repaired, failures_seen, requests, most_at_once;
} writer;

/* The answer to a question: the memo's if it knows it. */
static char *ask(const tw_request *r, uint64_t place, const char *asked) {
  tw_exchange e = {.place = r->place + place, .asked = asked, .model = "dice", .tokens_in = 3, .tokens_out = 4};
  if (r->memo && r->memo->recall(r->memo->context, writer.name, &e)) {
    assert_string_equal(e.model, "dice");
    assert_true(e.tokens_in == 3 && e.tokens_out == 4);
    return e.answer;
  }
  tw_text answer = {0};
  tw_random dice;
  tw_random_seed_stream(&dice, 99, r->place + place);
  tw_text_add(&answer, "%d %d", (int)tw_random_below(&dice, 3), (int)tw_random_below(&dice, 4));
  e.answer = tw_text_take(&answer);
  writer.asked++;
  if (r->memo) r->memo->keep(r->memo->context, writer.name, &e);
  return e.answer;
}

static void write_plans(tw_agent *agent, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  (void)agent;
  writer.requests += (int)n;
  if ((int)n > writer.most_at_once) writer.most_at_once = (int)n;
  for (size_t i = 0; i < n; i++) {
    const tw_request *r = request[i];
    assert_ptr_equal(r->lineage[r->n_lineage - 1], r->parent);
    assert_int_equal(r->lineage[0]->number, 0);
    for (size_t k = 0; k < r->n_children; k++) {
      assert_int_equal(r->child[k]->parent, r->parent->number);
      writer.failures_seen += tw_verdict_is_failure(r->child[k]->verdict) && r->child[k]->message;
    }
    if (writer.refuses && r->iteration >= writer.refuses_from) {
      proposal[i].status = tw_fail(&proposal[i].error, writer.refuses, "the budget is spent");
      continue;
    }
    for (size_t p = 0; p < r->plans; p++) {
      tw_agent_plan *plan = &proposal[i].plan[proposal[i].n++];
      *plan = (tw_agent_plan){.n_alternatives = r->kernels, .detail = (void *)(p + 1)};
      snprintf(plan->lever, sizeof plan->lever, "dice");
      writer.plans++;
    }
  }
}

/* The parent's kernel with other numbers. */
static void write_kernels(tw_agent *agent, size_t n, const tw_order order[], tw_kernel kernel[]) {
  (void)agent;
  for (size_t i = 0; i < n; i++) {
    const tw_order *o = &order[i];
    const uint64_t place = 1 + 100 * (uint64_t)(uintptr_t)o->plan->detail + 10 * o->alternative + (o->failed != NULL);
    char *answer = ask(o->request, place, o->failed ? "again, please" : o->request->parent->source);
    fake_state s = fake_read(o->request->parent->source);
    assert_int_equal(sscanf(answer, "%d %d", &s.value[DEPTH], &s.value[BANK]), 2);
    free(answer);
    tw_kernel *k = &kernel[i];
    *k = (tw_kernel){.n_levers = 1};
    snprintf(k->lever[0], sizeof k->lever[0], "dice");
    snprintf(k->step, sizeof k->step, "depth %d and bank %d", s.value[DEPTH], s.value[BANK]);
    snprintf(k->why, sizeof k->why, "the dice fell so");
    if (writer.gives_nothing && i % 2) {
      tw_fail(&k->message, TW_FAILED, "the reply holds no code");
      continue;
    }
    if (o->failed) {
      writer.repaired++;
      assert_true(tw_verdict_is_failure(o->failed->verdict));
      assert_non_null(o->failed->message);
    }
    s.value[CHEAT] = writer.breaks && !o->failed;
    tw_text text = {0};
    tw_text_add(&text, "written by hand\nkernel");
    for (int l = 0; l < LEVERS; l++) tw_text_add(&text, " %d", s.value[l]);
    tw_text_add(&text, "\n");
    k->source = tw_text_take(&text);
  }
}

static void drop_plan(tw_agent_plan *p) { (void)p; }
static void close_writer(tw_agent *agent, tw_text *notes) {
  if (notes) tw_text_add(notes, "%s asked %d times\n", agent->name, writer.asked);
}
static tw_agent the_writer;

static tw_status search(const tw_member *member, size_t n, const tw_search_options *o, tw_search_result *r,
                        tw_error *error) {
  const tw_problem problem = fake_problem(16);
  const tw_search_subject subject = {.target = &fake_target, .problem = &problem, .n_members = n, .member = member};
  return tw_search_by(&subject, o, r, error);
}

static char file[200];
static int start(void **state) {
  fake_reset();
  memset(&writer, 0, sizeof writer);
  writer.name = "writer";
  the_writer = (tw_agent){
      .name = "writer", .plan = write_plans, .implement = write_kernels, .free_plan = drop_plan, .close = close_writer};
  snprintf(file, sizeof file, "/tmp/test_agent_%d.sqlite", (int)getpid());
  remove(file);
  return 0;
}
static int end(void **state) {
  remove(file);
  return 0;
}

/* ---- claims ---- */

static void the_ladder_of_sources_is_their_lineage(void **state) {
  const tw_member alone = {&the_writer, 1};
  tw_search_options o = fake_options(1, 2);
  tw_search_result r = {0};
  o.iterations = 6;
  assert_int_equal(search(&alone, 1, &o, &r, NULL), TW_OK);
  assert_false(r.has_schedule);
  assert_true(r.best.cost < r.start.cost);
  assert_non_null(strstr(r.source, "written by hand"));
  assert_true(r.n_rungs > 1);
  assert_string_equal(r.rung[0].step, "start");
  for (size_t i = 1; i < r.n_rungs; i++) {
    assert_string_equal(r.rung[i].agent, "writer");
    assert_non_null(strstr(r.rung[i].step, "depth "));
    assert_string_equal(r.rung[i].why, "the dice fell so");
    assert_true(r.rung[i].cost < r.rung[i - 1].cost);
  }
  assert_true(r.rung[r.n_rungs - 1].cost == r.best.cost);
  assert_true(writer.most_at_once > 1); /* all parents at once */
  tw_search_result_clear(&r);
}

static void failures_come_back_with_their_messages(void **state) {
  const tw_member alone = {&the_writer, 1};
  tw_search_options o = fake_options(1, 1);
  tw_search_result r = {0};
  writer.breaks = true;
  assert_int_equal(search(&alone, 1, &o, &r, NULL), TW_OK);
  assert_int_equal(r.correct, 1); /* the start: nothing was repaired */
  assert_true(writer.failures_seen > 0);
  tw_search_result_clear(&r);
}

static void what_failed_is_mended_as_often_as_the_agent_tries(void **state) {
  const tw_member alone = {&the_writer, 1};
  tw_search_options o = fake_options(1, 2);
  tw_search_result r = {0};
  writer.breaks = true;
  the_writer.max_repairs = 1;
  o.iterations = 3;
  assert_int_equal(search(&alone, 1, &o, &r, NULL), TW_OK);
  assert_true(writer.repaired > 0);
  assert_true(r.best.cost < r.start.cost);
  tw_search_result_clear(&r);
}

static void a_kernel_that_is_none_is_a_candidate_that_failed(void **state) {
  const tw_member alone = {&the_writer, 1};
  tw_search_options o = fake_options(1, 2);
  tw_search_result r = {0};
  writer.gives_nothing = true;
  assert_int_equal(search(&alone, 1, &o, &r, NULL), TW_OK);
  assert_true(r.best.cost < r.start.cost);
  assert_true(writer.failures_seen > 0);
  tw_search_result_clear(&r);
}

static void an_agent_that_proposes_no_more_leaves_what_was_found(void **state) {
  const tw_member alone = {&the_writer, 1};
  tw_search_options o = fake_options(1, 2);
  for (int from = 1; from <= 3; from += 2) {
    tw_search_result r = {0};
    writer.refuses = TW_MISSING;
    writer.refuses_from = from;
    writer.requests = 0;
    assert_int_equal(search(&alone, 1, &o, &r, NULL), TW_OK);
    assert_non_null(strstr(r.notes, "writer proposes no more kernels: the budget is spent\n"));
    assert_null(strstr(strstr(r.notes, "no more") + 1, "no more")); /* said once */
    assert_true(from == 1 ? r.best.cost == r.start.cost : r.best.cost < r.start.cost);
    tw_search_result_clear(&r);
  }
}

static void plans_are_divided_by_shares_and_recipes_go_on(void **state) {
  tw_agent *rules;
  assert_int_equal(tw_rules_open("rules", &fake_target, NULL, &rules, NULL), TW_OK);
  const tw_member both[] = {{rules, 3}, {&the_writer, 1}};
  tw_search_options o = fake_options(2, 2);
  tw_search_result r = {0}, again = {0};
  o.iterations = 8;
  assert_int_equal(search(both, 2, &o, &r, NULL), TW_OK);
  const int plans = writer.plans;
  assert_true(plans > 0);
  assert_true(plans <= 8 * 4 * 4 / 4 + 8); /* iterations x beam x plans / 4, and what the rules could not take */
  assert_true(r.best.cost <= 1.1 * fake_optimum()); /* the rules were not starved by sources */
  o.jobs = 1;
  assert_int_equal(search(both, 2, &o, &again, NULL), TW_OK);
  assert_string_equal(r.source, again.source);
  assert_int_equal(r.samples, again.samples);
  rules->close(rules, NULL);
  tw_search_result_clear(&r);
  tw_search_result_clear(&again);
}

static void a_resumed_search_asks_nothing_twice_and_ends_alike(void **state) {
  const tw_member alone = {&the_writer, 1};
  tw_search_options o = fake_options(4, 2);
  tw_search_result whole = {0}, part = {0}, rest = {0};
  o.iterations = 4;
  assert_int_equal(search(&alone, 1, &o, &whole, NULL), TW_OK);
  const int all = writer.asked;
  writer.asked = 0;
  o.journal = file;
  writer.refuses = TW_MISSING; /* cut off in the middle */
  writer.refuses_from = 3;
  assert_int_equal(search(&alone, 1, &o, &part, NULL), TW_OK);
  const int first = writer.asked;
  assert_true(first > 0 && first < all);
  writer.refuses = TW_OK;
  fake_builds = 0;
  assert_int_equal(search(&alone, 1, &o, &rest, NULL), TW_OK);
  assert_int_equal(writer.asked, all);
  assert_string_equal(rest.source, whole.source);
  assert_int_equal(rest.samples, whole.samples);
  assert_int_equal(rest.n_rungs, whole.n_rungs);
  tw_search_result_clear(&whole);
  tw_search_result_clear(&part);
  tw_search_result_clear(&rest);
}

static void a_source_that_is_known_is_a_start(void **state) {
  tw_search_options o = fake_options(4, 1);
  const tw_problem problem = fake_problem(16);
  tw_search_result r = {0};
  o.start_source = "by hand\nkernel 4 2 2 1 3 0 0\n";
  o.iterations = 1;
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, NULL), TW_OK);
  assert_true(r.best.cost <= fake_cost(&(fake_state){{4, 2, 2, 1, 3, 0, 0}}));
  assert_false(r.has_schedule);
  assert_int_equal(r.n_rungs, 2);
  assert_string_equal(r.rung[1].step, "known source");
  tw_search_result_clear(&r);
}

static void agents_are_named_with_their_shares(void **state) {
  const char *good[] = {"rules", "2*rules", "0.5*rules"}, *bad[] = {"", "rule", "0*rules", "-1*rules", "rules*2", "2*"};
  const double share[] = {1, 2, .5};
  tw_member m;
  tw_error error;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(tw_agent_open(good[i], &fake_target, NULL, &m, &error), TW_OK);
    assert_true(m.share == share[i]);
    assert_string_equal(m.agent->name, "rules");
    m.agent->close(m.agent, NULL);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(tw_agent_open(bad[i], &fake_target, NULL, &m, &error), TW_USAGE);
    assert_non_null(strstr(error.text, "rules"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_ladder_of_sources_is_their_lineage, start, end),
      cmocka_unit_test_setup_teardown(failures_come_back_with_their_messages, start, end),
      cmocka_unit_test_setup_teardown(what_failed_is_mended_as_often_as_the_agent_tries, start, end),
      cmocka_unit_test_setup_teardown(a_kernel_that_is_none_is_a_candidate_that_failed, start, end),
      cmocka_unit_test_setup_teardown(an_agent_that_proposes_no_more_leaves_what_was_found, start, end),
      cmocka_unit_test_setup_teardown(plans_are_divided_by_shares_and_recipes_go_on, start, end),
      cmocka_unit_test_setup_teardown(a_resumed_search_asks_nothing_twice_and_ends_alike, start, end),
      cmocka_unit_test_setup_teardown(a_source_that_is_known_is_a_start, start, end),
      cmocka_unit_test_setup_teardown(agents_are_named_with_their_shares, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
