/* test_reuse.c - what an earlier search found is offered to the next one: steps, steps that are illegal on the new
 * shape, plans of models, a budget that both share. On a machine that is a formula. */
#include "test.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "search/recording.h"
#include "search/result.h"
#include "search_fixture.h"

static char *folder;

static int start(void **state) {
  fake_reset();
  return tw_directory_temporary(&folder, NULL) == TW_OK ? 0 : -1;
}
static int end(void **state) {
  tw_directory_remove(folder);
  free(folder);
  return 0;
}

static char *path_of(const char *name) { return tw_path_join(folder, name); }

static char *write_file(const char *name, const char *text) {
  char *path = path_of(name);
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  return path;
}

static tw_search_result search(const tw_search_options *o) {
  tw_problem problem = fake_problem(64);
  tw_search_result r = {0};
  tw_error error = {0};
  if (tw_search_into(&fake_target, &problem, o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r;
}

static void expect_failure(const tw_search_options *o, const char *part) {
  tw_problem problem = fake_problem(64);
  tw_search_result r = {0};
  tw_error error = {0};
  assert_int_equal(tw_search_into(&fake_target, &problem, o, &r, &error), TW_USAGE);
  if (!strstr(error.text, part)) fail_msg("'%s' does not hold '%s'", error.text, part);
}

static double cost_with(const char *recording, uint64_t seed, int samples, int jobs) {
  tw_search_options o = fake_options(seed, jobs);
  o.samples = samples;
  o.reuse = &recording, o.n_reuse = recording ? 1 : 0;
  tw_search_result r = search(&o);
  const double cost = r.best.cost;
  assert_true(r.samples <= samples + samples / 2); /* the last stage may add some */
  tw_search_result_clear(&r);
  return cost;
}

/* ---- steps ---- */

static void a_recorded_search_is_repeated_in_a_few_samples(void **state) {
  char *journal = path_of("journal.sqlite");
  tw_search_options o = fake_options(3, 2);
  o.journal = journal;
  tw_search_result r = search(&o);
  assert_true(r.best.cost == fake_optimum());
  tw_search_result_clear(&r);
  double without = 0;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    assert_true(cost_with(journal, seed, 4, 2) == fake_optimum());
    assert_true(cost_with(folder, seed, 4, 1) == fake_optimum()); /* the directory has the journal */
    without += cost_with(NULL, seed, 4, 2);
  }
  assert_true(without / 3 > fake_optimum());
  free(journal);
}

/* "tile 9" and "order 7" are no steps here: steps of the same verb take their place. */
static void an_illegal_step_gives_way_to_the_menus_steps_of_its_verb(void **state) {
  char *steps = write_file("steps", "depth 2\ntile 9\norder 7\nbank 2\n");
  tw_search_options o = fake_options(1, 2);
  const char *recording = steps;
  o.reuse = &recording, o.n_reuse = 1;
  o.samples = 3;
  tw_search_result r = search(&o);
  const fake_state found = fake_read(r.source);
  assert_int_equal(found.value[DEPTH], 2);
  assert_int_equal(found.value[BANK], 2);
  assert_int_not_equal(found.value[TILE], 0);
  assert_int_not_equal(found.value[ORDER], 5);
  tw_search_result_clear(&r);
  free(steps);
}

/* "order 5" is legal here, but slow. The second kernel has the first steps of the menu with the recorded verbs. */
static void steps_with_values_of_another_shape_are_also_offered_with_the_menus_values(void **state) {
  char *steps = write_file("steps", "depth 1\ntile 1\norder 5\n");
  tw_search_options o = fake_options(1, 2);
  const char *recording = steps;
  o.reuse = &recording, o.n_reuse = 1;
  o.samples = 3;
  tw_search_result r = search(&o);
  const fake_state found = fake_read(r.source);
  assert_int_equal(found.value[DEPTH], 1);
  assert_int_equal(found.value[TILE], 1);
  assert_int_equal(found.value[ORDER], 0);
  tw_search_result_clear(&r);
  free(steps);
}

/* A start of another shape. */
static void steps_of_wisdom_that_are_illegal_here_are_replaced_too(void **state) {
  tw_schedule known;
  assert_int_equal(tw_schedule_parse("depth 2\ntile 9\norder 7\nbank 2\n", &known, NULL), TW_OK);
  tw_search_options o = fake_options(1, 2);
  o.start = &known;
  o.samples = 4;
  tw_search_result r = search(&o);
  assert_int_not_equal(fake_read(r.source).value[TILE], 0);
  assert_non_null(strstr(r.notes, "'tile 9'"));
  tw_search_result_clear(&r);
}

static void the_full_search_follows_and_any_jobs_lead_to_the_same(void **state) {
  char *steps = write_file("steps", "hoist 1\nunroll 1\n");
  for (uint64_t seed = 1; seed <= 4; seed++) {
    assert_true(cost_with(steps, seed, 400, 1) == fake_optimum());
    assert_true(cost_with(steps, seed, 30, 4) == cost_with(steps, seed, 30, 1));
  }
  free(steps);
}

/* ---- plans ---- */

static tw_search_result ask(const char *script, const char *recording, const char *journal) {
  char name[4096];
  snprintf(name, sizeof name, "exec:cd %s; p=$(cat); echo \"$p\" >> log; %s", folder, script);
  const char *agents[] = {name};
  const tw_model_options model = {.size = sizeof model, .at_once = 1, .seconds = 20};
  tw_search_options o = fake_options(1, 1);
  o.iterations = 1, o.plans = o.kernels = o.beam = 1;
  o.agents = agents, o.n_agents = 1, o.model = &model;
  o.journal = journal;
  o.reuse = &recording, o.n_reuse = recording ? 1 : 0;
  return search(&o);
}

static void recorded_plans_are_offered_to_a_model_without_a_question_for_a_plan(void **state) {
  char *journal = path_of("journal.sqlite"), *log = path_of("log"), *text = NULL;
  tw_search_result r =
      ask("case \"$p\" in *'Now you plan'*) printf 'OPTION: tile\\nWHY: larger\\nPLAN:\\nTHE RECORDED WORDS\\n';;"
          " *) printf '```c\\nkernel 2 1 0 5 0 0 0\\n```\\n';; esac",
          NULL, journal);
  assert_false(r.has_schedule);
  tw_search_result_clear(&r);
  remove(log);
  /* The same kernel from the recorded plan. A new plan is "useless", so only the recorded one can lead to it. */
  r = ask("case \"$p\" in *'Now you plan'*) echo nothing;;"
          " *'THE RECORDED WORDS'*) printf '```c\\nkernel 2 1 0 5 0 0 0\\n```\\n';; esac",
          journal, NULL);
  const fake_state expected = {{2, 1, 0, 5, 0, 0, 0}};
  assert_true(r.best.cost == fake_cost(&expected));
  assert_int_equal(tw_file_read(log, 1 << 24, &text, NULL, NULL), TW_OK);
  const char *kernel = strstr(text, "THE RECORDED WORDS"), *plan = strstr(text, "Now you plan");
  assert_non_null(kernel);
  assert_true(!plan || kernel < plan); /* questions for plans come after the recorded ones */
  tw_search_result_clear(&r);
  free(text);
  free(log);
  free(journal);
}

static void plans_without_a_model_are_an_error(void **state) {
  char *journal = path_of("journal.sqlite");
  tw_search_result r = ask("case \"$p\" in *'Now you plan'*) printf 'OPTION: tile\\nPLAN: x\\n';;"
                           " *) printf '```c\\nkernel 2 1 0 5 0 0 0\\n```\\n';; esac",
                           NULL, journal);
  tw_search_result_clear(&r);
  tw_search_options o = fake_options(1, 1);
  const char *recording = journal;
  o.reuse = &recording, o.n_reuse = 1;
  expect_failure(&o, "has plans for language models, and no agent asks one");
  free(journal);
}

/* ---- bad recordings ---- */

static void change(const char *journal, const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(journal, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static void bad_recordings_are_refused_in_a_line(void **state) {
  const struct {
    const char *text, *part;
  } bad[] = {{"# nothing\n", "it has no steps"}, {"SQLite format 3", "not text"}, {"a\n\x01", "steps"}};
  tw_search_options o = fake_options(1, 1);
  const char *recording = "/nowhere/to/be/found";
  o.reuse = &recording, o.n_reuse = 1;
  expect_failure(&o, "recording '/nowhere/to/be/found' does not exist");
  recording = folder;
  expect_failure(&o, "neither journal.sqlite nor schedule.txt");
  char *empty = write_file("empty", bad[0].text);
  recording = empty;
  expect_failure(&o, bad[0].part);
  char *journal = path_of("journal.sqlite");
  tw_search_options first = fake_options(1, 1);
  first.journal = journal;
  tw_search_result r = search(&first);
  tw_search_result_clear(&r);
  recording = journal;
  change(journal, "UPDATE journal SET value = 'gemm m=1' WHERE key = 'problem'");
  expect_failure(&o, "is of the op gemm; expected one of fake");
  change(journal, "UPDATE journal SET value = 'fake size=64' WHERE key = 'problem'");
  change(journal, "UPDATE journal SET value = 'x86' WHERE key = 'target'");
  expect_failure(&o, "is of the target x86; expected one of fake-machine");
  change(journal, "UPDATE journal SET value = 'fake-machine' WHERE key = 'target'");
  change(journal, "UPDATE candidate SET verdict = 'wrong'");
  expect_failure(&o, "has no correct kernel yet");
  change(journal, "DROP TABLE candidate");
  expect_failure(&o, "the journal cannot be read");
  change(journal, "CREATE VIEW candidate AS SELECT 1 AS search");
  expect_failure(&o, "views, triggers or no SQLite file");
  o.exhaustive = true;
  recording = empty;
  tw_error error = {0};
  tw_problem problem = fake_problem(64);
  r = (tw_search_result){0};
  assert_int_equal(tw_search_into(&fake_target, &problem, &o, &r, &error), TW_USAGE);
  free(empty);
  free(journal);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_recorded_search_is_repeated_in_a_few_samples, start, end),
      cmocka_unit_test_setup_teardown(steps_with_values_of_another_shape_are_also_offered_with_the_menus_values, start,
                                      end),
      cmocka_unit_test_setup_teardown(an_illegal_step_gives_way_to_the_menus_steps_of_its_verb, start, end),
      cmocka_unit_test_setup_teardown(steps_of_wisdom_that_are_illegal_here_are_replaced_too, start, end),
      cmocka_unit_test_setup_teardown(the_full_search_follows_and_any_jobs_lead_to_the_same, start, end),
      cmocka_unit_test_setup_teardown(recorded_plans_are_offered_to_a_model_without_a_question_for_a_plan, start, end),
      cmocka_unit_test_setup_teardown(plans_without_a_model_are_an_error, start, end),
      cmocka_unit_test_setup_teardown(bad_recordings_are_refused_in_a_line, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
