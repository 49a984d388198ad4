/* test_journal.c - the record of a search: complete, crash-safe, and a place to go on from. */
#include "test.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "search/journal.h"
#include "search/result.h"
#include "search_fixture.h"

static char *directory, *file;

static int start(void **state) {
  fake_reset();
  if (tw_directory_temporary(&directory, NULL) != TW_OK) return -1;
  file = tw_path_join(directory, "journal.sqlite");
  return 0;
}

static int end(void **state) {
  tw_directory_remove(directory);
  free(directory);
  free(file);
  return 0;
}

static tw_status try_search(const tw_search_options *o, int64_t size, tw_search_result *r, tw_error *error) {
  tw_problem p = fake_problem(size);
  fake_builds = 0;
  return tw_search_into(&fake_target, &p, o, r, error);
}

static tw_search_result search(const char *journal, uint64_t seed) {
  tw_search_options o = fake_options(seed, 2);
  tw_search_result r = {0};
  tw_error error = {0};
  o.journal = journal;
  if (try_search(&o, 16, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r;
}

static void assert_same_result(const tw_search_result *a, const tw_search_result *b) {
  assert_string_equal(a->source, b->source);
  assert_true(a->best.cost == b->best.cost);
  assert_int_equal(a->best.n_counters, b->best.n_counters);
  for (size_t i = 0; i < a->best.n_counters; i++) {
    assert_string_equal(a->best.counter[i].name, b->best.counter[i].name);
    assert_string_equal(a->best.counter[i].unit, b->best.counter[i].unit);
    assert_string_equal(a->best.counter[i].help, b->best.counter[i].help);
    assert_true(a->best.counter[i].value == b->best.counter[i].value);
  }
  assert_int_equal(a->best.n_memories, b->best.n_memories);
  assert_int_equal(a->samples, b->samples);
  assert_int_equal(a->correct, b->correct);
  assert_int_equal(a->n_rungs, b->n_rungs);
  for (size_t i = 0; i < a->n_rungs; i++) assert_true(a->rung[i].cost == b->rung[i].cost);
}

/* The first column of the first row, as a number. */
static int64_t ask(const char *sql) {
  sqlite3 *db;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  int64_t value = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(db);
  return value;
}

static void every_candidate_is_in_the_journal_with_its_story(void **state) {
  tw_search_result r = search(file, 1);
  assert_int_equal(ask("SELECT count(*) FROM candidate WHERE verdict NOT IN ('duplicate', 'illegal schedule')"),
                   r.samples);
  assert_int_equal(ask("SELECT count(*) FROM candidate WHERE verdict = 'correct'"), r.correct);
  assert_int_equal(ask("SELECT max(number) + 1 FROM candidate"), ask("SELECT count(*) FROM candidate"));
  assert_int_equal(ask("SELECT min(cost) FROM candidate WHERE verdict = 'correct'"), r.best.cost);
  assert_true(ask("SELECT count(*) FROM candidate WHERE verdict = 'wrong' AND message LIKE '%C[3]%'") > 0);
  assert_true(ask("SELECT count(*) FROM candidate WHERE verdict = 'illegal schedule' AND message LIKE '%stack%'") > 0);
  assert_int_equal(ask("SELECT count(*) FROM candidate WHERE verdict = 'duplicate' AND twin IS NULL"), 0);
  assert_int_equal(
      ask("SELECT count(*) FROM candidate WHERE iteration > 0 AND (parent IS NULL OR lever = '' OR why = '' "
          "OR schedule = '')"),
      0);
  assert_int_equal(
      ask("SELECT count(*) FROM candidate WHERE verdict = 'correct' AND (source IS NULL OR cost IS NULL OR "
          "utilization IS NULL OR json_extract(counters, '$.array_busy') <> 1000 OR "
          "json_extract(memory, '$.scratchpad.size') <> 64)"),
      0);
  assert_int_equal(ask("SELECT count(*) FROM search WHERE finished IS NOT NULL AND seed = 1 AND agent = 'rules'"), 1);
  tw_search_result_clear(&r);
}

static void kill_at(void *context, const tw_progress *p) {
  if (p->done >= *(int *)context) kill(getpid(), SIGKILL);
}

static void a_killed_search_goes_on_where_it_was_and_ends_alike(void **state) {
  tw_search_result whole = search(NULL, 3);
  for (int done = 1; done <= 101; done += 25) {
    pid_t child = fork();
    if (child == 0) {
      tw_search_options o = fake_options(3, 2);
      tw_search_result r = {0};
      fake.delay_ms = 1;
      o.journal = file;
      o.progress = kill_at;
      o.context = &done;
      try_search(&o, 16, &r, NULL);
      _exit(1); /* not reached */
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(ask("SELECT count(*) FROM candidate WHERE verdict NOT IN ('duplicate', 'illegal schedule')") >=
                done - 1);
  }
  tw_search_result rest = search(file, 3);
  assert_same_result(&whole, &rest);
  assert_true(fake_builds <= whole.samples - 101 + 3); /* the plainest and the best are built anew */
  assert_int_equal(ask("SELECT count(*) FROM search"), 1);
  assert_int_equal(ask("SELECT count(*) FROM candidate WHERE verdict = 'correct'"), whole.correct);
  assert_int_equal(ask("SELECT count(*) FROM candidate WHERE verdict = 'correct' AND counters IS NULL"), 0);
  tw_search_result_clear(&whole);
  tw_search_result_clear(&rest);
}

static volatile int stop;
static void stop_at(void *context, const tw_progress *p) { stop = p->done >= *(int *)context; }

static void an_interrupted_search_goes_on_and_ends_alike(void **state) {
  tw_search_result whole = search(NULL, 3), part = {0};
  tw_search_options o = fake_options(3, 2);
  int done = 50;
  fake.delay_ms = 1;
  o.journal = file;
  o.progress = stop_at;
  o.context = &done;
  o.interrupt = &stop;
  assert_int_equal(try_search(&o, 16, &part, NULL), TW_INTERRUPTED);
  assert_int_equal(ask("SELECT count(*) FROM search WHERE finished IS NOT NULL"), 0);
  stop = 0;
  tw_search_result rest = search(file, 3);
  assert_same_result(&whole, &rest);
  assert_true(fake_builds < whole.samples - 40);
  tw_search_result_clear(&whole);
  tw_search_result_clear(&part);
  tw_search_result_clear(&rest);
}

static void a_finished_search_is_not_done_again(void **state) {
  tw_search_result once = search(file, 2);
  int64_t rows = ask("SELECT count(*) FROM candidate");
  tw_search_result again = search(file, 2);
  assert_same_result(&once, &again);
  assert_int_equal(fake_builds, 2); /* the plainest one; the best one on fresh inputs */
  assert_int_equal(ask("SELECT count(*) FROM candidate"), rows);
  tw_search_result_clear(&once);
  tw_search_result_clear(&again);
}

static void candidates_that_fail_on_fresh_inputs_fail_again_in_a_second_run(void **state) {
  fake.wrong_on_fresh_inputs = true;
  fake.first_seed = 2;
  tw_search_result once = search(file, 2);
  assert_true(ask("SELECT count(*) FROM candidate WHERE verdict = 'wrong on fresh inputs'") > 0);
  tw_search_result again = search(file, 2);
  assert_same_result(&once, &again);
  tw_search_result_clear(&once);
  tw_search_result_clear(&again);
}

static void another_seed_is_another_search_with_verdicts_of_its_own(void **state) {
  tw_search_result one = search(file, 1), two = search(file, 2);
  assert_int_equal(fake_builds, two.samples + 1);
  assert_int_equal(ask("SELECT count(*) FROM search"), 2);
  tw_search_result_clear(&one);
  tw_search_result_clear(&two);
}

static void other_options_recall_the_same_verdicts(void **state) {
  tw_search_result one = search(file, 1), two = {0};
  tw_search_options o = fake_options(1, 2);
  o.journal = file;
  o.beam = 2;
  assert_int_equal(try_search(&o, 16, &two, NULL), TW_OK);
  assert_true(fake_builds < two.samples);
  assert_int_equal(ask("SELECT count(*) FROM search"), 2);
  tw_search_result_clear(&one);
  tw_search_result_clear(&two);
}

/* ---- what is refused ---- */

static void assert_refused(int64_t size, const char *word) {
  tw_search_options o = fake_options(1, 1);
  tw_search_result r = {0};
  tw_error error = {0};
  o.journal = file;
  assert_int_equal(try_search(&o, size, &r, &error), TW_USAGE);
  assert_non_null(strstr(error.text, word));
  assert_non_null(strstr(error.text, file));
  assert_null(strchr(error.text, '\n'));
  assert_null(r.source);
}

static void a_journal_of_another_problem_is_refused(void **state) {
  tw_search_result r = search(file, 1);
  int64_t rows = ask("SELECT count(*) FROM candidate");
  assert_refused(17, "problem");
  assert_int_equal(ask("SELECT count(*) FROM candidate"), rows);
  tw_search_result_clear(&r);
}

/* A journal with old names of keys goes on under the current ones. */
static void old_names_of_keys_are_replaced(void **state) {
  static const char *const problems[] = {"gemm m=4 n=8 k=64 quantize=mxfp4 rule=even",
                                         "gemm m=4 n=8 k=64 quantize=mxfp4 scale_rule=even",
                                         "gemm m=4 n=8 k=64 quantize=mxfp4 scale_rule=up"};
  for (int i = 0; i < 3; i++) {
    const tw_journal_subject subject = {"1", "machine", "a machine", problems[i], "cycles"};
    tw_journal *j = NULL;
    tw_error error = {0};
    assert_int_equal(tw_journal_open(file, &subject, "rules", "", 1, &j, &error), i < 2 ? TW_OK : TW_USAGE);
    if (j) tw_journal_close(j, true);
  }
  assert_int_equal(ask("SELECT count(*) FROM journal WHERE value LIKE '% scale_rule=even'"), 1);
}

static void a_journal_of_another_version_or_machine_is_refused(void **state) {
  tw_search_result r = search(file, 1);
  const char *keys[] = {"version", "machine", "target", "unit"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    char sql[128];
    snprintf(sql, sizeof sql, "UPDATE journal SET value = value || 'x' WHERE key = '%s' RETURNING 1", keys[i]);
    ask(sql);
    assert_refused(16, keys[i]);
    snprintf(sql, sizeof sql, "UPDATE journal SET value = rtrim(value, 'x') WHERE key = '%s' RETURNING 1", keys[i]);
    ask(sql);
  }
  tw_search_result_clear(&r);
}

static void a_journal_of_another_build_of_the_simulator_is_refused(void **state) {
  tw_search_result r = search(file, 1);
  fake.plainest_factor = 1.5;
  assert_refused(16, "build");
  tw_search_result_clear(&r);
}

/* Whether costs vary is a trait of the target, whatever their unit is. */
static void costs_are_compared_where_they_do_not_vary(void **state) {
  tw_target clock = fake_target;
  clock.unit = "seconds";
  const tw_problem problem = fake_problem(16);
  tw_search_options o = fake_options(1, 1);
  tw_search_result r = {0};
  tw_error error;
  o.journal = file;
  for (int varies = 1; varies >= 0; varies--) {
    clock.traits.deterministic = !varies;
    remove(file);
    fake.plainest_factor = 0;
    assert_int_equal(tw_search_into(&clock, &problem, &o, &r, &error), TW_OK);
    tw_search_result_clear(&r);
    fake.plainest_factor = 1.5;
    assert_int_equal(tw_search_into(&clock, &problem, &o, &r, &error), varies ? TW_OK : TW_USAGE);
    if (!varies) assert_non_null(strstr(error.text, "was 16000 seconds and is now 24000"));
    tw_search_result_clear(&r);
  }
}

static void a_file_that_is_no_journal_is_refused_and_left_as_it_is(void **state) {
  char garbage[5000];
  memset(garbage, 'g', sizeof garbage);
  const size_t sizes[] = {1, 20, 100, 5000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char *after;
    size_t length;
    assert_int_equal(tw_file_write(file, garbage, sizes[i], NULL), TW_OK);
    assert_refused(16, "journal");
    assert_int_equal(tw_file_read(file, 1 << 20, &after, &length, NULL), TW_OK);
    assert_int_equal(length, sizes[i]);
    assert_memory_equal(after, garbage, length);
    free(after);
  }
}

static void a_database_of_something_else_is_refused(void **state) {
  sqlite3 *db;
  sqlite3_open(file, &db);
  sqlite3_exec(db, "CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('one')", NULL, NULL, NULL);
  sqlite3_close(db);
  assert_refused(16, "another kind of database");
  assert_int_equal(ask("SELECT count(*) FROM sqlite_master"), 1);
}

static void a_damaged_journal_is_refused_or_of_no_consequence(void **state) {
  tw_search_result whole = search(file, 1);
  char *data;
  size_t length;
  assert_int_equal(tw_file_read(file, 1 << 26, &data, &length, NULL), TW_OK);
  for (size_t part = 0; part < 8; part++) { /* truncations */
    tw_search_options o = fake_options(1, 2);
    tw_search_result r = {0};
    tw_error error = {0};
    o.journal = file;
    assert_int_equal(tw_file_write(file, data, length * part / 8 + 7 * (part > 0), NULL), TW_OK);
    tw_status status = try_search(&o, 16, &r, &error);
    if (status == TW_OK) {
      assert_string_equal(r.source, whole.source);
      tw_search_result_clear(&r);
    } else {
      assert_int_equal(status, TW_USAGE);
      assert_non_null(strstr(error.text, file));
    }
  }
  free(data);
  tw_search_result_clear(&whole);
}

static void a_place_that_cannot_be_written_is_refused(void **state) {
  free(file);
  file = tw_path_join(directory, "none/journal.sqlite");
  assert_refused(16, "cannot open");
}

/* ---- a full disk ---- */

static void a_full_disk_is_told_once_and_costs_nothing_but_the_journal(void **state) {
  tw_search_result whole = search(NULL, 1);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}); /* writes beyond fail, as on a full disk */
    tw_search_options o = fake_options(1, 2);
    tw_search_result r = {0};
    o.journal = file;
    bool right = try_search(&o, 16, &r, NULL) == TW_OK && !strcmp(r.source, whole.source) && r.samples == whole.samples;
    const char *told = r.notes ? strstr(r.notes, file) : NULL;
    _exit(right && told && !strstr(told + 1, file) ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  assert_true(ask("SELECT count(*) FROM candidate") > 5); /* what fitted is usable ... */
  tw_search_result rest = search(file, 1);                /* ... with room again, the rest is added */
  assert_same_result(&whole, &rest);
  assert_int_equal(ask("SELECT count(*) FROM candidate WHERE verdict = 'correct'"), whole.correct);
  tw_search_result_clear(&whole);
  tw_search_result_clear(&rest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_candidate_is_in_the_journal_with_its_story, start, end),
      cmocka_unit_test_setup_teardown(a_killed_search_goes_on_where_it_was_and_ends_alike, start, end),
      cmocka_unit_test_setup_teardown(an_interrupted_search_goes_on_and_ends_alike, start, end),
      cmocka_unit_test_setup_teardown(a_finished_search_is_not_done_again, start, end),
      cmocka_unit_test_setup_teardown(candidates_that_fail_on_fresh_inputs_fail_again_in_a_second_run, start, end),
      cmocka_unit_test_setup_teardown(another_seed_is_another_search_with_verdicts_of_its_own, start, end),
      cmocka_unit_test_setup_teardown(other_options_recall_the_same_verdicts, start, end),
      cmocka_unit_test_setup_teardown(a_journal_of_another_problem_is_refused, start, end),
      cmocka_unit_test_setup_teardown(old_names_of_keys_are_replaced, start, end),
      cmocka_unit_test_setup_teardown(a_journal_of_another_version_or_machine_is_refused, start, end),
      cmocka_unit_test_setup_teardown(costs_are_compared_where_they_do_not_vary, start, end),
      cmocka_unit_test_setup_teardown(a_journal_of_another_build_of_the_simulator_is_refused, start, end),
      cmocka_unit_test_setup_teardown(a_file_that_is_no_journal_is_refused_and_left_as_it_is, start, end),
      cmocka_unit_test_setup_teardown(a_database_of_something_else_is_refused, start, end),
      cmocka_unit_test_setup_teardown(a_damaged_journal_is_refused_or_of_no_consequence, start, end),
      cmocka_unit_test_setup_teardown(a_place_that_cannot_be_written_is_refused, start, end),
      cmocka_unit_test_setup_teardown(a_full_disk_is_told_once_and_costs_nothing_but_the_journal, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
