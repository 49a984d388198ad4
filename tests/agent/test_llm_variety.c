/* test_llm_variety.c - what a search can show a model besides the program, and other ways to ask: each option changes
 * the prompts that it should change. The model is a shell script. */
#include "scripted.h"

#include "agent/prompt.h"
#include "agent/relevant.h"
#include "search/result.h"

static tw_search_result search_with(const char *agent, const tw_model_options *more, tw_search_options o) {
  o.model = more;
  return search(agent, o);
}

/* A better kernel on each answer: 1 0 0 5 ..., 1 1 0 5 ..., ... so that parents have ancestors. */
#define GROWING                                                                                                        \
  "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; echo '```c';"                                          \
  " case $n in 1) echo 'kernel 0 1 0 5 0 0 0';; 2) echo 'kernel 1 1 0 5 0 0 0';; 3) echo 'kernel 2 1 0 5 0 0 0';;"     \
  " 4) echo 'kernel 3 1 0 5 0 0 0';; *) echo 'kernel 3 1 2 5 0 0 0';; esac; echo '```'"

static char *log_of(const char *agent, const tw_model_options *more, int iterations, int beam) {
  tw_search_options o = options_of(NULL, 0);
  o.iterations = iterations, o.beam = beam, o.plans = 1, o.kernels = 1, o.dropout = 0;
  tw_search_result r = search_with(agent, more, o);
  const fake_state plainest = fake_plainest();
  assert_true(r.best.cost < fake_cost(&plainest)); /* the model's kernels are used */
  tw_search_result_clear(&r);
  return read_text("log");
}

static void expect_usage(const char *agent, const tw_model_options *more, const char *part) {
  tw_problem problem = fake_problem(64);
  tw_search_result r = {0};
  tw_search_options o = options_of(&agent, 1);
  tw_error error = {0};
  o.model = more;
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, &error), TW_USAGE);
  if (!strstr(error.text, part)) fail_msg("'%s' does not hold '%s'", error.text, part);
}

static void a_context_is_in_every_prompt(void **state) {
  char *path = path_of("notes");
  write_file("notes", "THE SCRATCHPAD LIKES EVEN ROWS\n");
  tw_model_options more = hurried;
  more.context = path;
  char *log = log_of(model(PLAN_OR(GROWING)), &more, 1, 1);
  assert_int_equal(count(log, "THE SCRATCHPAD LIKES EVEN ROWS"), 2);
  free(log);
  write_file("notes", "");
  expect_usage(model("true"), &more, "is empty or no text");
  more.context = "/nowhere/notes";
  expect_usage(model("true"), &more, "/nowhere/notes");
  free(path);
}

static void ancestors_are_shown_up_to_a_number(void **state) {
  tw_model_options more = hurried;
  more.ancestors = 1;
  char *log = log_of(model(PLAN_OR(GROWING)), &more, 3, 1);
  assert_int_equal(count(log, "# Earlier versions of the program"), 2); /* the first parent has none */
  assert_int_equal(count(log, "It took "), 2);
  free(log);
  more.ancestors = 17;
  expect_usage(model("true"), &more, "ancestors=17 is out of range");
}

static void two_programs_of_the_beam_are_combined(void **state) {
  tw_model_options more = hurried;
  more.combine = 1;
  char *log = log_of(model(PLAN_OR(GROWING)), &more, 2, 2);
  assert_int_equal(count(log, "It computes the same and takes"), 2); /* both parents of the second iteration */
  assert_int_equal(count(log, "The plan takes something over"), 2);  /* and the kernels after these plans */
  free(log);
  more.combine = 1.5;
  expect_usage(model("true"), &more, "probabilities");
}

static void scores_are_hidden_from_some_prompts(void **state) {
  tw_model_options more = hurried;
  more.hide_scores = 1;
  char *log = log_of(model(PLAN_OR(GROWING)), &more, 2, 1);
  assert_int_equal(count(log, "# What was measured"), 0);
  free(log);
  more.hide_scores = 0;
  write_file("log", "");
  write_file("n", "0");
  log = log_of(model(PLAN_OR(GROWING)), &more, 2, 1);
  assert_int_equal(count(log, "# What was measured"), 2);
  free(log);
}

/* Options: tile, depth, and "other", which stays at the end. */
static void a_menu_is_shuffled(void **state) {
  tw_model_options more = hurried;
  more.shuffle_menu = true;
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 1, o.plans = 16, o.kernels = 1, o.beam = 1, o.dropout = 0;
  tw_search_result r = search_with(model(PLAN_OR(GROWING)), &more, o);
  tw_search_result_clear(&r);
  char *log = read_text("log");
  const int tile = count(log, "1. tile: "), depth = count(log, "1. depth: ");
  assert_true(tile > 0 && depth > 0);
  assert_int_equal(tile + depth, 16);
  assert_int_equal(count(log, "3. other: "), 16);
  free(log);
}

static tw_search_options one_candidate(void) {
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 1, o.plans = 1, o.kernels = 1, o.beam = 1;
  return o;
}

static void plan_and_kernel_come_in_one_answer(void **state) {
  tw_model_options more = hurried;
  more.one_question = true;
  const tw_search_options o = one_candidate();
  tw_search_result r =
      search_with(model("echo 'OPTION: depth'; echo 'WHY: loads hide'; echo '```c'; echo 'kernel 0 1 0 5 0 0 0';"
                        " echo '```'"),
                  &more, o);
  assert_int_equal(r.n_exchanges, 1);
  assert_string_equal(r.rung[1].step, "depth");
  assert_string_equal(r.rung[1].why, "loads hide");
  tw_search_result_clear(&r);
  char *log = read_text("log");
  assert_int_equal(count(log, "Now you choose and write"), 1);
  assert_int_equal(count(log, "<<<<<<< SEARCH"), 1);
  free(log);
}

/* The second answer is right; the first one does not compile. */
static void a_failed_kernel_of_one_answer_is_repaired(void **state) {
  tw_model_options more = hurried;
  more.one_question = true, more.fixes = 1;
  const tw_search_options o = one_candidate();
  tw_search_result r =
      search_with(model("case \"$p\" in *'The last attempt'*) k='0 1 0 5 0 0 0';; *) k='5 0 0 5 3 0 0';; esac;"
                        " echo 'OPTION: depth'; echo 'WHY: loads hide'; echo '```c'; echo \"kernel $k\"; echo '```'"),
                  &more, o);
  assert_int_equal(r.n_exchanges, 2);
  const fake_state expected = {{0, 1, 0, 5, 0, 0, 0}};
  assert_true(r.best.cost == fake_cost(&expected));
  tw_search_result_clear(&r);
  more.own_menu = true;
  expect_usage(model("true"), &more, "cannot be combined");
}

static void a_menu_is_made_for_the_program_at_hand(void **state) {
  tw_model_options more = hurried;
  more.own_menu = true;
  char *log = log_of(
      model("case \"$p\" in *'Now you list options'*) echo 'Here they are:'; echo '1. **swap loops**: j outside';"
            " echo '- widen: four rows at once';; *) " PLAN_OR(GROWING) ";; esac"),
      &more, 1, 1);
  assert_int_equal(count(log, "Now you list options"), 1);
  assert_int_equal(count(log, "3. swap loops: j outside"), 1);
  assert_int_equal(count(log, "4. widen: four rows at once"), 1);
  assert_int_equal(count(log, "5. other: "), 1);
  free(log);
}

static void options_are_read_whatever_is_around_them(void **state) {
  static const char *const cases[][2] = {
      {"1. `tile`: do it\n2) **b c**: x\n", "tile: do it\nb c: x\n"},
      {"Sure, here is a list\n\n* a: b\n\nGood luck", "a: b\n"},
      {"no list\n", ""},
      {"a:\nb: \n", ""},
      {"a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\ni: 9\n", "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *menu = tw_prompt_read_menu(cases[i][0]);
    assert_string_equal(menu ? menu : "", cases[i][1]);
    free(menu);
  }
}

/* The first kernel is slower than the program, the second one is faster, and then the program is complete. */
#define TRANSLATION(first)                                                                                             \
  "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n;"                                                       \
  " case $n in 1) echo '**COMPLETE: " first "%**'; k='3 0 0 5 0 0 0';;"                                                \
  " *) echo 'COMPLETE: 100%'; k='2 1 0 5 0 0 0';; esac; echo '```c'; echo \"kernel $k\"; echo '```'"

static void a_translation_goes_on_from_its_most_complete_kernel(void **state) {
  tw_search_options o = options_of(NULL, 0);
  o.iterations = 3, o.beam = 1, o.plans = 1, o.kernels = 1;
  for (int idle = 0; idle < 2; idle++) { /* a slower kernel that is no more complete is no step of a translation */
    tw_model_options more = hurried;
    more.translate = 3;
    write_file("log", "");
    write_file("n", "0");
    tw_search_result r = search_with(model(idle ? PLAN_OR(TRANSLATION("0")) : PLAN_OR(TRANSLATION("50"))), &more, o);
    char *log = read_text("log");
    assert_int_equal(count(log, "it is translated first"), 2);
    assert_int_equal(count(log, "# Options"), 1); /* of the complete program */
    assert_int_equal(count(log, "COMPLETE: 40%"), 2);
    assert_int_equal(count(log, "So far 50% is translated"), !idle);
    assert_non_null(strstr(r.notes, "translated: 100%, by the model's estimate; the fastest kernel: 100%"));
    tw_search_result_clear(&r);
    free(log);
  }
}

static void a_program_is_translated_in_the_first_iterations_alone(void **state) {
  tw_model_options more = hurried;
  more.translate = 1;
  char *log = log_of(model(PLAN_OR(GROWING)), &more, 3, 1);
  assert_int_equal(count(log, "it is translated first"), 1);
  assert_int_equal(count(log, "# Options"), 2);
  free(log);
  more.one_question = true;
  expect_usage(model("true"), &more, "--translate and --one-question cannot be combined");
  assert_int_equal(tw_prompt_read_complete("COMPLETE: 40%\n```\ncomplete:\n```\n1. Complete: 250\n"), 100);
  assert_int_equal(tw_prompt_read_complete("incomplete: 40\n"), 0);
}

/* The plan names `tile`; nothing names `stride`. */
static void instructions_that_nothing_uses_are_omitted(void **state) {
  tw_model_options more = hurried;
  for (int filters = 0; filters < 2; filters++) {
    more.filter_isa = filters;
    write_file("log", "");
    write_file("n", "0");
    char *log = log_of(model(PLAN_OR(GROWING)), &more, 1, 1);
    assert_int_equal(count(log, "how large"), 2);
    assert_int_equal(count(log, "how far"), filters ? 1 : 2); /* the planning prompt has everything */
    assert_int_equal(count(log, "not described here: stride.\n"), filters);
    free(log);
  }
}

static void entries_are_found_by_their_names(void **state) {
  static const char isa[] =
      "Commands, each a statement (see above).\n\nload(a, b)\n  loads\nstore(a) or store(a, b)\n  stores\n"
      "v.add_to(x)\nv.sub_from(x)\n  both\n\nAddresses (in rows) matter.\n//: line\ndrop(x): drops.\nlast(x)";
  static const struct {
    const char *text[2], *expected;
  } cases[] = {
      {{NULL, "use load, last_of and sub_from"},
       "Commands, each a statement (see above).\n\nload(a, b)\n  loads\nv.add_to(x)\nv.sub_from(x)\n  both\n\n"
       "Addresses (in rows) matter.\n//: line\nlast(x)\nAlso in the language, not described here: store, drop.\n"},
      {{"load store drop", "add_to last"}, isa},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *left = tw_relevant_entries(isa, 2, cases[i].text);
    assert_string_equal(left, cases[i].expected);
    free(left);
  }
}

static void efforts_are_for_servers(void **state) {
  tw_model_options more = hurried;
  more.effort = "huge";
  expect_usage("llm:m@http://127.0.0.1:1/v1", &more, "reasoning effort 'huge' is unknown");
  more.effort = "low";
  expect_usage(model("true"), &more, "the reasoning effort is for llm:MODEL");
  expect_usage("rules", &more, "a reasoning effort: only for agents that ask language models");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_context_is_in_every_prompt, start, end),
      cmocka_unit_test_setup_teardown(ancestors_are_shown_up_to_a_number, start, end),
      cmocka_unit_test_setup_teardown(two_programs_of_the_beam_are_combined, start, end),
      cmocka_unit_test_setup_teardown(scores_are_hidden_from_some_prompts, start, end),
      cmocka_unit_test_setup_teardown(a_menu_is_shuffled, start, end),
      cmocka_unit_test_setup_teardown(plan_and_kernel_come_in_one_answer, start, end),
      cmocka_unit_test_setup_teardown(a_failed_kernel_of_one_answer_is_repaired, start, end),
      cmocka_unit_test_setup_teardown(a_menu_is_made_for_the_program_at_hand, start, end),
      cmocka_unit_test(options_are_read_whatever_is_around_them),
      cmocka_unit_test_setup_teardown(a_translation_goes_on_from_its_most_complete_kernel, start, end),
      cmocka_unit_test_setup_teardown(a_program_is_translated_in_the_first_iterations_alone, start, end),
      cmocka_unit_test_setup_teardown(instructions_that_nothing_uses_are_omitted, start, end),
      cmocka_unit_test(entries_are_found_by_their_names),
      cmocka_unit_test_setup_teardown(efforts_are_for_servers, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
