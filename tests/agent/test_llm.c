/* test_llm.c - searches whose agents ask models: the prompts, the loop with good, wrong and useless replies, budgets,
 * resumption. The model is a shell script. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "agent/reply.h"
#include "chat_server.h"
#include "evaluate/trial.h"
#include "scripted.h"
#include "search/result.h"

/* What came of each question, in their order: its beginning. */
static void expect_outcomes(const tw_search_result *r, size_t n, const char *const outcome[]) {
  assert_int_equal(r->n_exchanges, n);
  for (size_t i = 0; i < n; i++)
    if (strncmp(r->exchange[i].outcome, outcome[i], strlen(outcome[i])) != 0)
      fail_msg("question %zu: '%s' instead of '%s'", i, r->exchange[i].outcome, outcome[i]);
}

static void a_reply_becomes_a_kernel(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  tw_search_result r = search(model(PLAN_OR("echo Here:; echo '```c'; cat better; echo '```'")), options_of(NULL, 0));
  assert_true(r.best.cost == fake_cost(&better));
  assert_false(r.has_schedule);
  assert_int_equal(r.n_rungs, 2);
  assert_string_equal(r.rung[1].step, "tile");
  assert_string_equal(r.rung[1].why, "larger tiles");
  assert_true(strncmp(r.rung[1].agent, "exec:", 5) == 0);
  assert_non_null(strstr(r.notes, " requests, about "));
  char *log = read_text("log");
  assert_non_null(strstr(log, "the plan text")); /* in the second prompt */
  assert_non_null(strstr(log, "(do not repeat them)"));
  free(log);
  free(source);
  tw_search_result_clear(&r);
}

static void a_failure_is_sent_back_with_its_message(void **state) {
  fake_state better = fake_plainest();
  better.value[DEPTH] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  write_file("broken", "kernel 5 0 0 5 3 0 0\n"); /* does not compile */
  tw_search_options o = options_of(NULL, 0);
  tw_model_options repairing = hurried;
  repairing.fixes = 2;
  o.iterations = 1, o.plans = o.kernels = 1, o.model = &repairing;
  tw_search_result r = search(
      model(PLAN_OR("echo '```'; case \"$p\" in *'The last attempt'*) cat better;; *) cat broken;; esac; echo '```'")),
      o);
  assert_true(r.best.cost == fake_cost(&better));
  char *log = read_text("log");
  assert_int_equal(count(log, "# The last attempt"), 1);
  assert_non_null(strstr(log, "kernel.c:1: too large"));
  free(log);
  expect_outcomes(&r, 3, (const char *const[]){"a plan", "does not build", "correct"});
  assert_true(r.exchange[2].cost == fake_cost(&better) && r.exchange[2].candidate == 2 && r.exchange[2].iteration == 1);
  assert_true(r.exchange[1].cost == 0 && r.exchange[1].seconds > 0 && !r.exchange[1].recalled);
  assert_true(strncmp(r.exchange[1].model, "exec:", 5) == 0);
  tw_search_result_clear(&r);
  repairing.fixes = -1;
  r = search(
      model(PLAN_OR("echo '```'; case \"$p\" in *'The last attempt'*) cat better;; *) cat broken;; esac; echo '```'")),
      o);
  assert_true(r.best.cost == r.start.cost);
  tw_search_result_clear(&r);
  free(source);
}

/* Each try is told why the one before failed: a kernel, an edit that fits nowhere, a reply without code; the same
 * kernel again. */
static void a_reply_without_a_kernel_is_sent_back_with_the_reason(void **state) {
  fake_state better = fake_plainest();
  better.value[DEPTH] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  tw_search_options o = options_of(NULL, 0);
  tw_model_options repairing = hurried;
  repairing.fixes = 4;
  o.iterations = 1, o.plans = o.kernels = 1, o.model = &repairing;
  tw_search_result r = search(
      model(PLAN_OR("n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n; echo \"$p\" >prompt$n; case $n in "
                    "1) printf 'Done:\n<<<<<<< SEARCH\nno such line\n=======\nx\n>>>>>>> REPLACE\n';; "
                    "2) echo I would rather not;; "
                    "3|4) printf '```\nkernel 5 0 0 5 3 0 0\n```\n';; "
                    "*) echo '```'; cat better; echo '```';; esac")),
      o);
  assert_true(r.best.cost == fake_cost(&better));
  static const char *const outcomes[] = {"a plan",         "no kernel: edit 1", "no kernel: the reply has no code",
                                         "does not build", "duplicate",         "correct"};
  expect_outcomes(&r, 6, outcomes);
  char *prompt[6];
  for (int i = 1; i < 6; i++) {
    char name[10];
    snprintf(name, sizeof name, "prompt%d", i);
    prompt[i] = read_text(name);
    for (int k = 1; k < i; k++) assert_string_not_equal(prompt[i], prompt[k]);
  }
  assert_null(strstr(prompt[1], "# The last"));
  assert_non_null(strstr(prompt[2], "> no such line\n"));
  assert_non_null(strstr(prompt[2], "used: edit 1: SEARCH text not found: its line 1, 'no such line'"));
  assert_non_null(strstr(prompt[2], "edits of the program\nabove")); /* the parent is still what is edited */
  assert_non_null(strstr(prompt[3], "> I would rather not\n"));
  assert_non_null(strstr(prompt[3], "- no kernel: edit 1"));
  assert_non_null(strstr(prompt[4], "too large"));
  assert_null(strstr(prompt[4], "# The last reply"));
  assert_non_null(
      strstr(prompt[5], "the same program as an earlier one, which failed: does not build: kernel.c:1: too"));
  assert_non_null(strstr(prompt[5], "- no kernel: the reply has no code"));
  for (int i = 1; i < 6; i++) free(prompt[i]);
  free(source);
  tw_search_result_clear(&r);
}

/* The second and third question for a kernel are lost, each after another attempt; the search goes on with the next. */
static void a_lost_question_is_one_candidate(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 2, o.plans = 2, o.kernels = 1, o.beam = 1;
  tw_search_result r = search(model(PLAN_OR("echo x >>kernels; n=$(wc -l <kernels); if test $n -lt 5; then exit 1; fi; "
                                            "echo '```'; cat better; echo '```'")),
                              o);
  assert_true(r.best.cost == fake_cost(&better));
  assert_null(strstr(r.notes, "proposes no more"));
  assert_non_null(strstr(r.notes, "2 requests without an answer"));
  assert_int_equal(r.n_exchanges, 8);
  assert_int_equal(strncmp(r.exchange[2].outcome, "no kernel: exec:", 16), 0);
  assert_true(r.exchange[2].candidate > 0);
  char *log = read_text("log");
  assert_int_equal(count(log, "# The last"), 0); /* nobody is told of it */
  free(log), free(source);
  tw_search_result_clear(&r);
}

static void a_model_that_never_answers_is_asked_no_more(void **state) {
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 9, o.plans = 9;
  tw_search_result r = search(model("exit 1"), o);
  char *log = read_text("log");
  assert_int_equal(count(log, "tensor accelerator"), 12); /* six, twice each */
  assert_non_null(strstr(r.notes, "gave no answer to 6 requests in a row"));
  free(log);
  tw_search_result_clear(&r);
}

/* A reply without a plan costs no question about a kernel. */
static void a_reply_that_is_no_plan_is_not_followed(void **state) {
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 1, o.plans = 3;
  tw_search_result r = search(model("echo sure"), o);
  assert_int_equal(r.n_exchanges, 3);
  assert_non_null(strstr(r.notes, "3 answers without a plan; the first: the reply names no OPTION and has no PLAN"));
  assert_string_equal(r.exchange[0].outcome, "no plan");
  tw_search_result_clear(&r);
}

/* Whatever comes back, the search ends with the best that it had and says a line of each kind. */
static void useless_replies_end_in_a_line_of_each_kind(void **state) {
  const struct {
    const char *script, *says;
  } cases[] = {
      {"true", "empty"},
      {"exit 3", "status 3"},
      {PLAN_OR("echo I would rather not"), "no code"},
      {PLAN_OR("echo '```'; echo 'cut off'"), "ends inside"},
      {PLAN_OR("printf '\\377\\376```\\n\\200\\n```'"), NULL},
      {PLAN_OR("printf '<<<<<<< SEARCH\\nno such line\\n=======\\n>>>>>>> REPLACE\\n'"), "is not in the kernel"},
      {"head -c 300000000 /dev/zero", "too long"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tw_search_options o = options_of(NULL, 0);
    o.iterations = 1, o.plans = 1, o.kernels = 1;
    tw_search_result r = search(model(cases[i].script), o);
    assert_true(r.best.cost == r.start.cost);
    if (cases[i].says && !strstr(r.notes, cases[i].says)) fail_msg("case %zu: %s", i, r.notes);
    assert_true(r.n_exchanges > 0);
    if (cases[i].says && r.n_exchanges == 1) assert_non_null(strstr(r.exchange[0].outcome, cases[i].says));
    tw_search_result_clear(&r);
  }
}

/* A model that has no kernel to give is not asked for ever, and one that may evaluate little is not asked for much. */
static void nobody_pays_for_nothing(void **state) {
  char *agent = strdup(model(PLAN_OR("echo I would rather not")));
  const char *agents[] = {agent};
  tw_problem problem = fake_problem(64);
  tw_search_options o = options_of(agents, 1);
  o.iterations = 50, o.plans = 6, o.beam = 6;
  tw_search_result r = {0};
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, NULL), TW_OK);
  char *log = read_text("log");
  assert_int_equal(count(log, "tensor accelerator"), 6 + 12 + 12); /* 6 plans, 2 kernels each, each sent back once */
  assert_non_null(strstr(r.notes, "no kernel in 24 answers in a row"));
  free(log);
  tw_search_result_clear(&r);
  write_file("log", "");
  o.iterations = 1, o.samples = 4; /* the start is one of them */
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, NULL), TW_OK);
  log = read_text("log");
  assert_int_equal(count(log, "tensor accelerator"), 2 + 4 + 4);
  free(log);
  free(agent);
  tw_search_result_clear(&r);
}

static void a_budget_ends_the_questions_and_not_the_search(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  char *agent = strdup(model(PLAN_OR("echo '```'; cat better; echo '```'")));
  const char *agents[] = {agent, "rules"};
  tw_problem problem = fake_problem(64);
  tw_search_options o = options_of(agents, 2);
  tw_model_options three = hurried;
  three.questions = 3;
  o.model = &three;
  tw_search_result r = {0};
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, NULL), TW_OK);
  char *log = read_text("log");
  assert_int_equal(count(log, "tensor accelerator"), 3);
  assert_non_null(strstr(r.notes, "budget"));
  assert_true(r.best.cost <= fake_cost(&better));
  assert_true(r.samples >= 5); /* rules went on: the model made the start's only other child */
  free(log);
  free(agent);
  free(source);
  tw_search_result_clear(&r);
}

/* A command reports no tokens: a fourth of the characters counts, and the output says so. */
static void tokens_and_money_are_limited_without_a_report(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  const char *agent =
      model(PLAN_OR("sleep 0.2; head -c 4000 /dev/zero | tr '\\0' ' '; echo '```'; cat better; echo '```'"));
  tw_model_options limited = hurried;
  tw_search_options o = options_of(NULL, 0);
  o.model = &limited;
  limited.at_once = 4;
  limited.tokens = 1; /* a prompt is longer: nothing is asked */
  tw_search_result r = search(agent, o);
  assert_int_equal(r.n_exchanges, 0);
  assert_non_null(strstr(r.notes, "0 of 1 tokens, and another question takes about"));
  tw_search_result_clear(&r);
  for (int money = 0; money < 2; money++) {
    write_file("log", "");
    limited.tokens = money ? 0 : 6000;
    limited.money = money ? 0.018 : 0;
    limited.price_in = limited.price_out = 3;
    r = search(agent, o);
    double in = 0, out = 0, spent = 0;
    for (size_t i = 0; i < r.n_exchanges; i++) {
      in += r.exchange[i].tokens_in;
      out += r.exchange[i].tokens_out;
      spent += r.exchange[i].money;
    }
    char *log = read_text("log"); /* echo ends each prompt with one newline for those at its end */
    assert_true(fabs(in - (double)strlen(log) / 4) < (double)(2 * r.n_exchanges));
    free(log);
    assert_true(in + out <= 6000 && in + out > 3000);
    assert_true(fabs(spent - 3e-6 * (in + out)) < 1e-9);
    assert_non_null(strstr(r.notes, "(estimated as characters / 4)"));
    assert_non_null(strstr(r.notes, "the budget is used up ("));
    tw_search_result_clear(&r);
  }
  free(source);
}

/* A limit of requests is for the search, not for each of its processes. */
static void answers_of_the_journal_count_in_the_limit_of_requests(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better), *journal = path_of("limited.sqlite");
  write_file("better", source);
  tw_search_options o = options_of(NULL, 0);
  tw_model_options three = hurried;
  three.questions = 3;
  o.model = &three;
  o.journal = journal;
  const char *agent = model(PLAN_OR("echo '```'; cat better; echo '```'"));
  for (int process = 0; process < 2; process++) {
    tw_search_result r = search(agent, o);
    char *log = read_text("log");
    assert_int_equal(count(log, "tensor accelerator"), 3);
    assert_non_null(strstr(r.notes, "the budget is used up (3 questions)"));
    free(log);
    tw_search_result_clear(&r);
  }
  free(journal), free(source);
}

static void a_resumed_search_asks_nothing_twice(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better);
  write_file("better", source);
  char *journal = path_of("journal.sqlite");
  tw_search_options o = options_of(NULL, 0);
  o.journal = journal;
  const char *agent = model(PLAN_OR("echo '```'; cat better; echo '```'"));
  tw_search_result first = search(agent, o);
  char *log = read_text("log");
  tw_search_result second = search(agent, o);
  char *log_after = read_text("log");
  if (strcmp(log, log_after) != 0) fail_msg("asked again: %s\n%s", second.notes, log_after + strlen(log));
  assert_true(first.best.cost == second.best.cost);
  assert_string_equal(first.source, second.source);
  assert_int_equal(first.n_exchanges, second.n_exchanges);
  for (size_t i = 0; i < first.n_exchanges; i++) {
    assert_true(!first.exchange[i].recalled && second.exchange[i].recalled);
    assert_string_equal(first.exchange[i].outcome, second.exchange[i].outcome);
  }
  assert_non_null(strstr(second.notes, "known from the journal"));
  free(log), free(log_after), free(journal), free(source);
  tw_search_result_clear(&first);
  tw_search_result_clear(&second);
}

static void two_models_share_the_work(void **state) {
  fake_state better = fake_plainest();
  better.value[BANK] = 2;
  char *source = source_of(&better), *agent;
  write_file("better", source);
  assert_true(asprintf(&agent,
                       "exec:cd %s; cat >/dev/null; echo OPTION: x; echo p >> planned then exec:cd %s; cat >/dev/null; "
                       "echo c >> coded; echo '```'; cat better; echo '```'",
                       folder, folder) > 0);
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 1;
  tw_search_result r = search(agent, o);
  assert_true(r.best.cost == fake_cost(&better));
  char *planned = read_text("planned"), *coded = read_text("coded");
  assert_int_equal(count(planned, "p\n"), 2);
  assert_int_equal(count(coded, "c\n"), 4);
  free(planned), free(coded), free(agent), free(source);
  tw_search_result_clear(&r);
}

/* A server that does everything wrong, one thing after the other, among good answers: the search ends with the best
 * that it was given, and every kind of trouble is a line. */
static void a_search_outlives_its_server(void **state) {
#define SAYS(text) "{\"choices\":[{\"message\":{\"content\":\"" text "\"}}]}"
  static const scene scenes[] = {
      {.status = 200, .body = SAYS("OPTION: tile\\nPLAN: x")},
      {.status = 200, .body = SAYS("PLAN: y")},
      {.status = 200, .body = SAYS("```python\\nprint('no')\\n```")},
      {.status = 200, .body = SAYS("Two:\\n```\\nkernel\\n```\\nor\\n```c\\nkernel 0 0 2 5 0 0 0\\n```\\n")},
      {.status = 401, .body = "{\"error\":\"no\"}"},
      {.status = 200, .body = "<html>"},
      {.status = 200, .body = SAYS("PLAN: z")},
      {.status = 200, .body = SAYS("PLAN: z")},
      {.status = 200, .body = "{\"choices\":[{\"message\":{\"tool_calls\":[{}]}}]}"},
      {.status = 200, .body = "0123456789", .times = 900000},
  };
  chat_server *server = chat_server_start(scenes, sizeof scenes / sizeof scenes[0]);
  char agent[100];
  snprintf(agent, sizeof agent, "llm:m@http://127.0.0.1:%d", server->port);
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 6, o.beam = 1, o.kernels = 1;
  tw_search_result r = search(agent, o);
  const fake_state better = {{0, 0, 2, 5, 0, 0, 0}};
  assert_true(r.best.cost == fake_cost(&better));
  static const char *const kinds[] = {"refused: HTTP 401", "malformed", "declined", "too long"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (!strstr(r.notes, kinds[i])) fail_msg("no '%s': %s", kinds[i], r.notes);
  tw_search_result_clear(&r);
  chat_server_stop(server);
}

static void a_search_ends_when_its_samples_are_used_up(void **state) {
  tw_problem problem = fake_problem(64);
  for (int samples = 1; samples < 40; samples += 7) {
    tw_search_options o = fake_options(3, 2);
    tw_search_result r = {0};
    o.samples = samples;
    fake_reset();
    assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, NULL), TW_OK);
    assert_int_equal(r.samples, samples);
    assert_int_equal(fake_builds, samples + 1); /* the best is checked once more */
    tw_search_result_clear(&r);
  }
}

/* ---- recorded searches ---- */

/* Replies that somebody gave who knew the prompts and nothing else, in the order in which they were asked for: plans,
 * edits, whole programs, one that did not build and was repaired, one without a kernel. */
static tw_search_result replay_without(uint64_t part, const char *data, const char *machine, const char *text,
                                       const char *program, int iterations) {
  const tw_target *target = tw_target_find(machine);
  tw_problem problem;
  tw_error error = {0};
  assert_int_equal(tw_problem_parse(target, text, &problem, &error), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, &error), TW_OK);
  char *agent;
  assert_true(asprintf(&agent,
                       "exec:cat >%s/question; n=$(cat %s/n 2>/dev/null || echo 0); n=$((n+1)); echo $n >%s/n; "
                       "cat " TW_TEST_DATA "/agents/%s/$(printf %%02d $n).txt",
                       folder, folder, folder, data) > 0);
  const char *agents[] = {agent};
  const tw_search_options o = {.size = sizeof o,
                               .iterations = iterations,
                               .plans = iterations > 1 ? 2 : 1,
                               .kernels = 1,
                               .beam = 1,
                               .dropout = 0.5,
                               .seed = 1,
                               .jobs = 1,
                               .without = part,
                               .program = program,
                               .agents = agents,
                               .n_agents = 1,
                               .model = &hurried};
  tw_search_result r = {0};
  if (tw_search_into(target, &problem, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  free(agent);
  return r;
}

static tw_search_result replay(const char *data, const char *machine, const char *text, const char *program,
                               int iterations) {
  return replay_without(0, data, machine, text, program, iterations);
}

/* Simulations without one effect each say where the time goes: the planner is told, with costs, counts and an
 * example. */
static void a_planner_is_told_where_the_time_goes(void **state) {
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  tw_problem problem;
  assert_int_equal(tw_problem_parse(target, "gemm m=64 n=64 k=64", &problem, NULL), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
  const char *agents[] = {model("echo no")};
  tw_search_options o = options_of(agents, 1);
  o.iterations = 1, o.plans = 2;
  tw_search_result r = {0};
  assert_int_equal(tw_search_into(target, &problem, &o, &r, NULL), TW_OK);
  char *log = read_text("log");
  assert_int_equal(count(log, "Where the time goes"), 2);
  double cycles = 0;
  int loads = 0, found = 0;
  char *rest = NULL;
  for (char *line = strtok_r(log, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest))
    found = strstr(line, "loads repeat an earlier load") && strstr(line, "; for instance command ") &&
            sscanf(line, "- %lf cycles: %d loads repeat", &cycles, &loads) == 2;
  assert_true(found && cycles > 0 && cycles < r.start.cost && loads > 0);
  free(log);
  tw_search_result_clear(&r);
}

static int asked(void) {
  char *n = read_text("n");
  int all = n ? atoi(n) : 0;
  free(n);
  return all;
}

static void a_gemm_of_gemmini_by_hand_is_replayed(void **state) {
  tw_search_result r = replay("gemm", "gemmini-16x16-int8", "gemm m=128 n=128 k=128", NULL, 3);
  assert_int_equal(asked(), 12);
  assert_int_equal(r.correct, 7);
  assert_true(r.start.cost / r.best.cost > 2.9);
  assert_int_equal(r.n_rungs, 4);
  assert_string_equal(r.rung[3].step, "reordering");
  tw_search_result_clear(&r);
}

static void tinympc_by_hand_is_replayed(void **state) {
  tw_search_result r = replay("mpc_forward", "gemmini-4x4-fp32", "mpc_forward horizon=5 states=12 inputs=4", NULL, 3);
  assert_int_equal(asked(), 14); /* two were sent back */
  assert_int_equal(r.correct, 7);
  assert_true(r.start.cost / r.best.cost > 2.8);
  assert_non_null(strstr(r.notes, "1 answer without a kernel"));
  tw_search_result_clear(&r);
}

/* How fast each is, is the machine's, and so is which of them is the next parent: the replies are whole programs, as
 * edits would be of another parent whenever the clock falls out otherwise. That all are right, and that vectors beat
 * one product at a time, is not the machine's. */
static void a_gemm_of_the_cpu_by_hand_is_replayed(void **state) {
  if (example_stride() > 1) skip(); /* kernels that the optimized build runs: test_llm_on_cpu */
  char *program = NULL;
  assert_int_equal(tw_file_read(TW_TEST_DATA "/agents/x86_gemm/plain.c", 1 << 20, &program, NULL, NULL), TW_OK);
  tw_search_result r = replay("x86_gemm", "x86", "gemm m=96 n=96 k=96 threads=1 a=f32", program, 3);
  assert_int_equal(asked(), 12);
  assert_int_equal(r.correct, 7);
  assert_true(r.best.cost < r.start.cost);
  free(program);
  tw_search_result_clear(&r);
}

static void a_gemm_of_cdna_by_hand_is_replayed(void **state) {
  const tw_target *t = tw_target_find("cdna3");
  tw_error error = {0};
  if (t->available(t, &error) != TW_OK) {
    print_message("%s\n", error.text);
    skip();
  }
  tw_search_result r = replay("cdna_gemm", "cdna3", "gemm m=128 n=128 k=128 a=bf16 b=bf16 c=f32", NULL, 1);
  assert_int_equal(asked(), 2);
  assert_true(r.start.cost / r.best.cost > 3);
  tw_search_result_clear(&r);
}

/* ---- searches that a language model answered ---- */

static char *read_answer(const char *search, int n) {
  char path[512], *text = NULL;
  snprintf(path, sizeof path, TW_TEST_DATA "/agents/%s/%02d.txt", search, n);
  assert_int_equal(tw_file_read(path, 1 << 20, &text, NULL, NULL), TW_OK);
  return text;
}

/* The program of an answer; `parent`: the one that its edits change. */
static char *program_of(const char *search, int n, const char *parent) {
  char *answer = read_answer(search, n), *source = NULL;
  tw_error error = {0};
  if (tw_reply_source(answer, parent, &source, &error) != TW_OK) fail_msg("%s %d: %s", search, n, error.text);
  free(answer);
  return source;
}

static char *plainest(const char *machine, const char *text) {
  const tw_target *target = tw_target_find(machine);
  const tw_schedule plain = {0};
  tw_problem problem;
  char *source = NULL;
  assert_int_equal(tw_problem_parse(target, text, &problem, NULL), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
  assert_int_equal(tw_target_emit(target, &problem, &plain, &source, NULL), TW_OK);
  return source;
}

#define LONG_GEMM "gemm m=12544 n=64 k=256"
#define LONG_CONV "conv2d n=4 h=16 w=16 c=256 k=256 r=3 s=3"
#define SPLIT_GEMM "gemm m=512 n=512 k=1024 a=bf16 b=bf16 c=f32"

/* Each third of the answers: two plans, then a kernel for each. bench/replay_answers.py repeats the searches in full. */
static void all_answers_of_a_model_are_used(void **state) {
  static const struct {
    const char *search, *machine, *problem;
    int parent[3]; /* answers whose kernels are the parents of each iteration; 0: the plainest */
  } searches[] = {{"gemmini_gemm", "gemmini-16x16-int8", LONG_GEMM, {0, 4, 7}},
                  {"gemmini_conv", "gemmini-16x16-int8", LONG_CONV, {0, 4, 7}},
                  {"cdna4_gemm", "cdna4", SPLIT_GEMM, {0, 3, 3}}};
  for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
    for (int n = 1; n <= 12; n++) {
      const int parent = searches[i].parent[(n - 1) / 4];
      if ((n - 1) % 4 < 2) {
        char lever[TW_LEVER_MAX], why[TW_WHY_MAX], *answer = read_answer(searches[i].search, n);
        assert_true(tw_prompt_read_plan(answer, lever, why));
        free(answer);
        continue;
      }
      char *program =
          parent ? program_of(searches[i].search, parent, "") : plainest(searches[i].machine, searches[i].problem);
      char *source = program_of(searches[i].search, n, program);
      assert_string_not_equal(source, program);
      free(source), free(program);
    }
}

/* docs/lab/2026-11-language-model-searches.md has these costs; other compilers may move them a little. */
static void the_best_kernels_of_a_model_have_their_costs(void **state) {
  static const struct {
    const char *search, *problem;
    int answer;
    double cycles;
  } best[] = {{"gemmini_gemm", LONG_GEMM, 11, 805294}, {"gemmini_conv", LONG_CONV, 11, 1840366}};
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
    tw_problem problem;
    assert_int_equal(tw_problem_parse(target, best[i].problem, &problem, NULL), TW_OK);
    assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
    char *source = program_of(best[i].search, best[i].answer, "");
    const tw_trial trial = {
        .target = target, .problem = &problem, .source = source, .length = strlen(source), .seed = 1};
    const tw_setting setting = {.jobs = 1};
    tw_outcome outcome;
    tw_trial_run(&trial, &setting, &outcome);
    if (outcome.verdict != TW_CORRECT) fail_msg("%s: %s", best[i].search, outcome.error.text);
    assert_true(outcome.measured.cost < 1.005 * best[i].cycles && outcome.measured.cost > 0.995 * best[i].cycles);
    free(source);
  }
}

/* docs/lab/2026-11-language-model-parts.md: the best of the searches whose prompts lacked a part. */
static void a_search_without_examples_is_replayed(void **state) {
  if (example_stride() > 1) skip(); /* simulations that other tests run under sanitizers */
  tw_search_result r =
      replay_without(TW_WITHOUT_EXAMPLES, "parts/examples_conv", "gemmini-16x16-int8", LONG_CONV, NULL, 3);
  assert_int_equal(asked(), 12);
  assert_int_equal(r.correct, 7);
  assert_true(r.best.cost < 1.005 * 1810629 && r.best.cost > 0.995 * 1810629);
  char *question = read_text("question");
  assert_null(strstr(question, "# Examples of such changes"));
  free(question);
  tw_search_result_clear(&r);
}

/* ---- the words ---- */

static const char *const PROBLEMS[][2] = {
    {"gemmini-16x16-int8", "gemm m=64 n=64 k=64"},
    {"gemmini-16x16-int8", "conv2d n=1 h=8 w=8 c=16 k=16 r=3 s=3 pad=1"},
    {"gemmini-4x4-fp32", "gemm m=16 n=16 k=16"},
    {"gemmini-4x4-fp32", "mpc_forward horizon=5 states=4 inputs=2"},
    {"gemmini-4x4-fp32", "mpc_backward horizon=5 states=4 inputs=2"},
    {"x86", "gemm m=64 n=64 k=64 a=f32"},
    {"xdna2", "gemm m=256 n=256 k=256 a=i8 b=i8 c=i32"},
    {"cuda-h100-sxm", "gemm m=256 n=256 k=256 a=bf16 b=bf16 c=bf16"},
    {"cuda-h100-sxm", "softmax rows=64 cols=128 a=bf16"},
    {"cdna3", "gemm m=128 n=128 k=128 a=bf16 b=bf16 c=f32"},
    {"cdna4", "layernorm rows=64 cols=128 a=bf16"},
};

/* Every machine and op has its words; nothing is left of the templates; all of the menu is there without dropout. */
static void prompts_are_whole_for_every_machine_and_op(void **state) {
  for (size_t i = 0; i < sizeof PROBLEMS / sizeof PROBLEMS[0]; i++) {
    const tw_target *target = tw_target_find(PROBLEMS[i][0]);
    tw_problem problem;
    tw_error error = {0};
    assert_non_null(target);
    if (tw_problem_parse(target, PROBLEMS[i][1], &problem, &error) != TW_OK ||
        tw_target_supports(target, &problem, &error) != TW_OK)
      fail_msg("%s: %s", PROBLEMS[i][1], error.text);
    tw_candidate *parent = tw_candidate_new();
    tw_candidate_set_kernel(parent, target, NULL, strdup("the program\n"));
    parent->parent = TW_NONE;
    parent->measured.cost = 123;
    tw_request request = {.target = target, .problem = &problem, .parent = parent, .iteration = 3, .iterations = 10};
    tw_random random;
    tw_random_seed(&random, 1);
    char *plan = NULL, *code = NULL;
    if (tw_prompt_plan(&request, &random, &plan, &error) != TW_OK ||
        tw_prompt_implement(&request, "change the tiling", NULL, &code, &error) != TW_OK)
      fail_msg("%s: %s", PROBLEMS[i][1], error.text);
    char *describe = target->describe(target);
    const char *const both[] = {plan, code};
    for (int k = 0; k < 2; k++) {
      assert_null(strstr(both[k], "{{"));
      assert_non_null(strstr(both[k], "the program\n"));
      assert_non_null(strstr(both[k], describe));
      assert_non_null(strstr(both[k], tw_target_topic(target, &problem, "architecture")));
      assert_non_null(strstr(both[k], tw_target_topic(target, &problem, "rules")));
      assert_non_null(strstr(both[k], tw_target_topic(target, &problem, "kernel")));
    }
    const char *menu = tw_target_topic(target, &problem, "menu");
    for (const char *line = menu; *line; line += strcspn(line, "\n") + 1) {
      char item[400];
      snprintf(item, sizeof item, "%.*s\n", (int)strcspn(line, "\n"), line);
      assert_non_null(strchr(item, ':'));
      assert_non_null(strstr(plan, item));
    }
    assert_non_null(strstr(plan, "iteration 3 of 10"));
    assert_non_null(strstr(code, "change the tiling"));
    free(plan), free(code), free(describe);
    tw_candidate_free(parent);
  }
}

static void an_example_is_shown_when_the_plan_calls_for_it(void **state) {
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  tw_problem problem;
  assert_int_equal(tw_problem_parse(NULL, PROBLEMS[0][1], &problem, NULL), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
  tw_candidate *parent = tw_candidate_new();
  tw_candidate_set_kernel(parent, target, NULL, strdup("the program\n"));
  tw_request request = {.target = target, .problem = &problem, .parent = parent};
  char *with, *without;
  assert_int_equal(tw_prompt_implement(&request, "Change the TILING of n", NULL, &with, NULL), TW_OK);
  assert_null(strstr(with, "\nfor:"));
  assert_non_null(strstr(with, "mvin3(&B[k][j], b + k, 16, 16);"));
  assert_int_equal(tw_prompt_implement(&request, "Hoist the loads", NULL, &without, NULL), TW_OK);
  assert_non_null(strstr(with, "# Examples"));
  assert_null(strstr(without, "# Examples"));
  free(with), free(without);
  tw_candidate_free(parent);
}

static void plans_are_read_whatever_is_around_them(void **state) {
  const struct {
    const char *reply, *lever, *why;
    bool is_plan;
  } cases[] = {
      {"OPTION: double buffering\nWHY: hides loads.\nPLAN:\nx", "double buffering", "hides loads", true},
      {"Thinking...\n**Option:** 3. tiling: change sizes\n**Why:** `less` traffic\n", "tiling", "less` traffic", true},
      {"## OPTION: banks\r\nno reason", "banks", "## OPTION: banks", true},
      {"option: a name that is far longer than the room there is for it\nwhy: x", "a name that is far longer than t",
       "x", true},
      {"\xef\xbb\xbfOPTION: edges\nWHY: x\n", "edges", "x", true},
      {"1. OPTION: product shape\n2. WHY: 96 loads\n", "product shape", "96 loads", true},
      {"2) **OPTION:** 2) banks\nWHY: 2. loads\n", "banks", "loads", true},
      {"OPTION: x\nWHY: 3.5 us of 7 are waiting\n", "x", "3.5 us of 7 are waiting", true},
      {"PLAN:\ndo it", "other", "PLAN:", true},
      {"just do it\nnow", "other", "just do it", false},
      {"no", "other", "no", false},
      {"", "other", "", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char lever[TW_LEVER_MAX], why[TW_WHY_MAX];
    if (tw_prompt_read_plan(cases[i].reply, lever, why) != cases[i].is_plan) fail_msg("%s", cases[i].reply);
    assert_int_equal(strncmp(lever, cases[i].lever, TW_LEVER_MAX - 1), 0);
    assert_string_equal(why, cases[i].why);
  }
}

/* test_llm [TESTS]: the tests whose names match the pattern. */
int main(int argc, char **argv) {
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_reply_becomes_a_kernel, start, end),
      cmocka_unit_test_setup_teardown(a_failure_is_sent_back_with_its_message, start, end),
      cmocka_unit_test_setup_teardown(a_reply_without_a_kernel_is_sent_back_with_the_reason, start, end),
      cmocka_unit_test_setup_teardown(a_lost_question_is_one_candidate, start, end),
      cmocka_unit_test_setup_teardown(a_model_that_never_answers_is_asked_no_more, start, end),
      cmocka_unit_test_setup_teardown(a_reply_that_is_no_plan_is_not_followed, start, end),
      cmocka_unit_test_setup_teardown(useless_replies_end_in_a_line_of_each_kind, start, end),
      cmocka_unit_test_setup_teardown(nobody_pays_for_nothing, start, end),
      cmocka_unit_test_setup_teardown(a_budget_ends_the_questions_and_not_the_search, start, end),
      cmocka_unit_test_setup_teardown(answers_of_the_journal_count_in_the_limit_of_requests, start, end),
      cmocka_unit_test_setup_teardown(tokens_and_money_are_limited_without_a_report, start, end),
      cmocka_unit_test_setup_teardown(a_resumed_search_asks_nothing_twice, start, end),
      cmocka_unit_test_setup_teardown(two_models_share_the_work, start, end),
      cmocka_unit_test_setup_teardown(a_search_outlives_its_server, start, end),
      cmocka_unit_test_setup_teardown(a_search_ends_when_its_samples_are_used_up, start, end),
      cmocka_unit_test_setup_teardown(a_planner_is_told_where_the_time_goes, start, end),
      cmocka_unit_test_setup_teardown(a_gemm_of_gemmini_by_hand_is_replayed, start, end),
      cmocka_unit_test_setup_teardown(tinympc_by_hand_is_replayed, start, end),
      cmocka_unit_test_setup_teardown(a_gemm_of_cdna_by_hand_is_replayed, start, end),
      cmocka_unit_test_setup_teardown(a_gemm_of_the_cpu_by_hand_is_replayed, start, end),
      cmocka_unit_test(prompts_are_whole_for_every_machine_and_op),
      cmocka_unit_test(all_answers_of_a_model_are_used),
      cmocka_unit_test(the_best_kernels_of_a_model_have_their_costs),
      cmocka_unit_test_setup_teardown(a_search_without_examples_is_replayed, start, end),
      cmocka_unit_test(an_example_is_shown_when_the_plan_calls_for_it),
      cmocka_unit_test(plans_are_read_whatever_is_around_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
