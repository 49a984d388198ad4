/* test_wisdom.c - what is known is kept, by several writers at once, and never destroyed. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "search/wisdom.h"
#include "subject.h"
#include "tilewright/extend/extend.h"

static char *directory, *file;

static int start(void **state) {
  if (tw_directory_temporary(&directory, NULL) != TW_OK) return -1;
  file = tw_path_join(directory, "wisdom.json");
  return 0;
}

static int end(void **state) {
  tw_directory_remove(directory);
  free(directory);
  free(file);
  return 0;
}

static tw_wisdom_entry entry(const char *problem, double cost, const char *step) {
  tw_wisdom_entry e = {.target = "machine", .unit = "cycles", .cost = cost, .utilization = 0.5};
  snprintf(e.problem, sizeof e.problem, "%s", problem);
  tw_schedule_add(&e.schedule, step, NULL);
  return e;
}

static tw_status keep_entry(const char *path, const tw_wisdom_entry *e, tw_error *error) {
  return tw_wisdom_keep(path, &(tw_wisdom){1, (tw_wisdom_entry *)e}, NULL, NULL, error);
}

static void keep(const char *problem, double cost, const char *step) {
  tw_wisdom_entry e = entry(problem, cost, step);
  tw_error error = {0};
  if (keep_entry(file, &e, &error) != TW_OK) fail_msg("%s", error.text);
}

static tw_wisdom *load(void) {
  tw_wisdom *w;
  tw_error error = {0};
  if (tw_wisdom_load(file, &w, &error) != TW_OK) fail_msg("%s", error.text);
  return w;
}

static size_t load_count(void) {
  tw_wisdom *w = load();
  const size_t n = w->n;
  tw_wisdom_free(w);
  return n;
}

static tw_problem gemm(const char *keys) { return problem_from(NULL, "gemm %s", keys); }

static void a_missing_file_is_empty_wisdom(void **state) {
  tw_wisdom *w = load();
  assert_int_equal(w->n, 0);
  tw_problem p = gemm("m=1 n=1 k=1");
  assert_null(tw_wisdom_find(w, "machine", &p, NULL));
  tw_wisdom_free(w);
}

static void another_order_of_keys_is_the_same_problem(void **state) {
  tw_wisdom_entry e = entry("gemm k=16 m=64 n=32", 123, "tile m=16");
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  tw_wisdom *w = load();
  tw_problem p = gemm("m=64 n=32 k=16"), other = gemm("m=64 n=32 k=17");
  bool exact = false;
  assert_non_null(tw_wisdom_find(w, "machine", &p, &exact));
  assert_true(exact);
  tw_wisdom_find(w, "machine", &other, &exact);
  assert_false(exact);
  tw_wisdom_free(w);
}

/* A machine file that is renamed keeps its wisdom: the digits say what machine it is. */
static void a_renamed_machine_keeps_its_wisdom(void **state) {
  tw_wisdom_entry e = entry("gemm m=64 n=32 k=16", 120, "tile m=16");
  snprintf(e.target, sizeof e.target, "mine@1a2b3c4d");
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  e = entry("gemm m=64 n=32 k=16", 100, "tile m=32");
  snprintf(e.target, sizeof e.target, "lab@1a2b3c4d");
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  tw_wisdom *w = load();
  tw_problem p = gemm("m=64 n=32 k=16");
  bool exact = false;
  assert_int_equal(w->n, 1);
  assert_string_equal(w->entry[0].target, "lab@1a2b3c4d"); /* the last name */
  assert_ptr_equal(tw_wisdom_find(w, "mine@1a2b3c4d", &p, &exact), &w->entry[0]);
  assert_true(exact);
  assert_null(tw_wisdom_find(w, "lab@1a2b3c4e", &p, NULL));
  assert_null(tw_wisdom_find(w, "lab", &p, NULL));
  tw_wisdom_free(w);
  size_t forgotten = 0;
  assert_int_equal(tw_wisdom_forget(file, "mine@1a2b3c4d", &p, &forgotten, NULL), TW_OK);
  assert_int_equal(forgotten, 1);
}

static void old_names_of_steps_are_replaced(void **state) {
  tw_wisdom_entry e = entry("gemm m=512 n=512 k=512 a=bf16 b=bf16", 1e-6, "tile m=128 n=128 groups=2 turns");
  snprintf(e.target, sizeof e.target, "cuda-h200");
  snprintf(e.unit, sizeof e.unit, "seconds");
  tw_schedule_add(&e.schedule, "band m=4", NULL);
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  tw_wisdom *w = load();
  assert_int_equal(w->n, 1);
  assert_string_equal(w->entry[0].schedule.step[0], "tile m=128 n=128 consumers=2 pingpong");
  assert_string_equal(w->entry[0].schedule.step[1], "rasterize m=4");
  tw_wisdom_free(w);
}

static void what_is_kept_is_found_again(void **state) {
  tw_wisdom_entry e = entry("gemm m=64 n=32 k=16", 123.456, "tile m=16");
  tw_schedule_add(&e.schedule, "unroll 4", NULL);
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  tw_wisdom *w = load();
  tw_problem p = gemm("m=64 n=32 k=16");
  bool exact = false;
  const tw_wisdom_entry *found = tw_wisdom_find(w, "machine", &p, &exact);
  assert_non_null(found);
  assert_true(exact);
  assert_true(found->cost == 123.456 && found->utilization == 0.5);
  assert_string_equal(found->unit, "cycles");
  assert_int_equal(found->schedule.n, 2);
  assert_string_equal(found->schedule.step[1], "unroll 4");
  assert_null(tw_wisdom_find(w, "another machine", &p, &exact));
  assert_false(exact);
  tw_wisdom_free(w);
}

/* Of another machine, compiler or version, a lower cost says nothing: the later measurement stays. */
static void costs_of_different_machines_are_not_compared(void **state) {
  static const struct {
    double cost;
    int64_t found;
    uint64_t machine;
    const char *step, *kept;
  } steps[] = {{100, 1000, 0xabcdef0123456789, "tile 1", "tile 1"},
               {90, 1001, 0xabcdef0123456789, "tile 2", "tile 2"},
               {500, 1002, 0x1234, "tile 3", "tile 3"},
               {50, 900, 0xabcdef0123456789, "tile 4", "tile 3"},
               {501, 1003, 0x1234, "tile 5", "tile 3"},
               {499, 0, 0, "tile 6", "tile 6"}};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    tw_wisdom_entry e = entry("gemm m=9 n=9 k=9", steps[i].cost, steps[i].step);
    e.found = steps[i].found, e.machine = steps[i].machine;
    assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
    tw_wisdom *w = load();
    tw_problem p = gemm("m=9 n=9 k=9");
    const tw_wisdom_entry *found = tw_wisdom_find(w, "machine", &p, NULL);
    assert_string_equal(found->schedule.step[0], steps[i].kept);
    if (!strcmp(steps[i].step, steps[i].kept)) assert_true(found->machine == steps[i].machine);
    tw_wisdom_free(w);
  }
  const tw_target *t = tw_target_find("gemmini-16x16-int8"), *other = tw_target_find("gemmini-4x4-fp32");
  assert_true(tw_wisdom_machine(t) && tw_wisdom_machine(t) != tw_wisdom_machine(other));
}

static void only_a_better_schedule_or_the_same_one_measured_again_replaces(void **state) {
  keep("gemm m=1 n=1 k=1", 100, "tile 1");
  keep("gemm m=1 n=1 k=1", 110, "tile 2");
  tw_wisdom *w = load();
  assert_string_equal(w->entry[0].schedule.step[0], "tile 1");
  tw_wisdom_free(w);
  keep("gemm m=1 n=1 k=1", 90, "tile 3");
  keep("gemm m=1 n=1 k=1", 95, "tile 3");
  w = load();
  assert_int_equal(w->n, 1);
  assert_string_equal(w->entry[0].schedule.step[0], "tile 3");
  assert_true(w->entry[0].cost == 95);
  tw_wisdom_free(w);
}

static void without_the_very_problem_the_nearest_shape_of_the_same_types_is_found(void **state) {
  keep("gemm m=512 n=512 k=512 a=i8 b=i8 c=i8 acc=i32", 1, "near");
  keep("gemm m=64 n=64 k=64 a=i8 b=i8 c=i8 acc=i32", 1, "small");
  keep("gemm m=512 n=512 k=256 a=f32 b=f32 c=f32 acc=f32", 1, "float");
  keep("gemm m=512 n=512 k=250 a_transposed=1 a=i8 b=i8 c=i8 acc=i32", 1, "transposed");
  keep("later m=1", 1, "an op of a later version");
  tw_wisdom *w = load();
  bool exact = true;
  tw_problem p = gemm("m=512 n=512 k=256 a=i8 b=i8 c=i8 acc=i32");
  assert_string_equal(tw_wisdom_find(w, "machine", &p, &exact)->schedule.step[0], "near");
  assert_false(exact);
  p = gemm("m=100 n=37 k=129 a=i8 b=i8 c=i8 acc=i32");
  assert_string_equal(tw_wisdom_find(w, "machine", &p, &exact)->schedule.step[0], "small");
  p = gemm("m=100 n=37 k=129 a=i8 b=i8 c=i32 acc=i32");
  assert_null(tw_wisdom_find(w, "machine", &p, &exact));
  tw_wisdom_free(w);
}

static void two_writers_at_once_lose_nothing(void **state) {
  enum { WRITERS = 2, ENTRIES = 40 };
  pid_t child[WRITERS];
  for (int i = 0; i < WRITERS; i++) {
    child[i] = fork();
    if (child[i] == 0) {
      for (int j = 0; j < ENTRIES; j++) {
        char problem[64];
        snprintf(problem, sizeof problem, "gemm m=%d n=%d k=1", i + 1, j + 1);
        tw_wisdom_entry e = entry(problem, 1, "tile 1");
        if (keep_entry(file, &e, NULL) != TW_OK) _exit(1);
      }
      _exit(0);
    }
  }
  for (int i = 0; i < WRITERS; i++) {
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_int_equal(status, 0);
  }
  tw_wisdom *w = load();
  assert_int_equal(w->n, WRITERS * ENTRIES);
  tw_wisdom_free(w);
}

static void a_file_that_is_no_wisdom_is_refused_and_left_as_it_is(void **state) {
  keep("gemm m=1 n=1 k=1", 100, "tile 1");
  char *good;
  size_t length;
  assert_int_equal(tw_file_read(file, 1 << 20, &good, &length, NULL), TW_OK);
  const char *bad[] = {"",
                       "garbage",
                       "[]",
                       "{}",
                       "\xff\xfe",
                       "{\"format\": \"tilewright wisdom\", \"version\": 3, \"entries\": []}",
                       "{\"format\": \"tilewright wisdom\", \"version\": 1}",
                       "{\"format\": \"tilewright wisdom\", \"version\": 1, \"entries\": [3]}",
                       "{\"format\": \"tilewright wisdom\", \"version\": 1, \"entries\": [{\"target\": \"t\", "
                       "\"problem\": \"p\", \"unit\": \"u\", "
                       "\"cost\": -1, \"utilization\": 0, \"schedule\": []}]}",
                       "{\"format\": \"tilewright wisdom\", \"version\": 1, \"entries\": [{\"target\": \"t\", "
                       "\"problem\": \"p\", \"unit\": \"u\", "
                       "\"cost\": 1, \"utilization\": 0, \"schedule\": [\"a\\nb\"]}]}"};
  const size_t n_bad = sizeof bad / sizeof bad[0];
  for (size_t i = 0; i < n_bad + length - 1; i++) { /* the bad ones, and every truncation of a good one */
    const char *text = i < n_bad ? bad[i] : good;
    size_t size = i < n_bad ? strlen(bad[i]) : i - n_bad;
    tw_wisdom *w;
    tw_error error = {0};
    char *after;
    size_t after_length;
    assert_int_equal(tw_file_write(file, text, size, NULL), TW_OK);
    assert_int_equal(tw_wisdom_load(file, &w, &error), TW_USAGE);
    assert_null(w);
    assert_non_null(strstr(error.text, file));
    assert_null(strchr(error.text, '\n'));
    tw_wisdom_entry e = entry("gemm m=2 n=2 k=2", 1, "tile 1");
    assert_int_equal(keep_entry(file, &e, &error), TW_USAGE);
    assert_int_equal(tw_file_read(file, 1 << 20, &after, &after_length, NULL), TW_OK);
    assert_int_equal(after_length, size);
    assert_memory_equal(after, text, size);
    free(after);
  }
  free(good);
}

static void a_full_disk_leaves_what_was_there(void **state) {
  keep("gemm m=1 n=1 k=1", 100, "tile 1");
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, 100}); /* writes beyond fail, as on a full disk */
    tw_wisdom_entry e = entry("gemm m=2 n=2 k=2", 1, "tile 1");
    tw_error error = {0};
    _exit(keep_entry(file, &e, &error) != TW_OK && strstr(error.text, file) ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  tw_wisdom *w = load();
  assert_int_equal(w->n, 1);
  tw_wisdom_free(w);
}

static void the_default_place_follows_the_environment(void **state) {
  char *own = tw_path_join(directory, "own/w.json"), *data = tw_path_join(directory, "data"),
       *home = tw_path_join(directory, "home");
  char *data_file = tw_path_join(data, "tilewright/wisdom.json"),
       *home_file = tw_path_join(home, ".local/share/tilewright/wisdom.json");
  tw_wisdom_entry e = entry("gemm m=2 n=2 k=2", 1, "tile 1");
  setenv("HOME", home, 1);
  unsetenv("XDG_DATA_HOME");
  unsetenv("TILEWRIGHT_WISDOM");
  assert_int_equal(keep_entry(NULL, &e, NULL), TW_OK);
  assert_true(tw_file_exists(home_file) && !tw_file_exists(data_file));
  setenv("XDG_DATA_HOME", data, 1);
  assert_int_equal(keep_entry(NULL, &e, NULL), TW_OK);
  assert_true(tw_file_exists(data_file) && !tw_file_exists(own));
  setenv("TILEWRIGHT_WISDOM", own, 1);
  assert_int_equal(keep_entry(NULL, &e, NULL), TW_OK);
  assert_true(tw_file_exists(own));
  unsetenv("TILEWRIGHT_WISDOM");
  unsetenv("XDG_DATA_HOME");
  unsetenv("HOME");
  tw_error error;
  assert_int_equal(keep_entry(NULL, &e, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "TILEWRIGHT_WISDOM"));
  free(own), free(data), free(home), free(data_file), free(home_file);
}

static void an_entry_that_could_not_be_read_back_is_not_written(void **state) {
  tw_wisdom_entry bad[] = {entry("", 1, "x"), entry("gemm", 0, "x"), entry("gemm", -1, "x"),
                           entry("gemm", 1.0 / 0.0, "x"), entry("gemm", 1, "x")};
  bad[4].unit[0] = '\0';
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(keep_entry(file, &bad[i], NULL), TW_USAGE);
  tw_wisdom_entry latin = entry("gemm m=\xe4", 1, "x");
  assert_int_equal(keep_entry(file, &latin, NULL), TW_USAGE);
  assert_false(tw_file_exists(file));
}

/* A source without a schedule stands beside the best schedule, is of this very problem alone, and counts where it is
 * better. */
static void sources_are_kept_beside_schedules(void **state) {
  const char *problem = "gemm m=64 n=32 k=16", source[] = "void f(void) {\n}\n", better[] = "/* \"2\" */";
  const tw_problem p = gemm("m=64 n=32 k=16"), near = gemm("m=64 n=32 k=32");
  tw_wisdom_entry e = {.target = "machine", .unit = "cycles", .cost = 90, .utilization = 0.5};
  snprintf(e.problem, sizeof e.problem, "%s", problem);
  e.source = (char *)source;
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  keep(problem, 100, "tile 1");
  keep("gemm m=1 n=1 k=1", 1, "tile 2");
  tw_wisdom *w = load();
  assert_int_equal(w->n, 3);
  assert_string_equal(tw_wisdom_find(w, "machine", &p, NULL)->schedule.step[0], "tile 1");
  assert_string_equal(tw_wisdom_find_source(w, "machine", &p)->source, source);
  assert_null(tw_wisdom_find_source(w, "machine", &near));
  assert_null(tw_wisdom_find(w, "machine", &near, NULL)->source);
  tw_wisdom_free(w);
  keep(problem, 80, "tile 3"); /* the schedule is better now */
  w = load();
  assert_null(tw_wisdom_find_source(w, "machine", &p));
  tw_wisdom_free(w);
  e.source = (char *)better;
  e.cost = 70;
  assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
  w = load();
  assert_int_equal(w->n, 3);
  assert_string_equal(tw_wisdom_find_source(w, "machine", &p)->source, better);
  tw_wisdom_free(w);
}

/* Files with schedules alone can be read by programs that know nothing else. */
static void only_a_file_with_sources_is_of_the_newer_version(void **state) {
  for (int with_source = 0; with_source < 2; with_source++) {
    char *text = NULL;
    tw_wisdom_entry e = entry("gemm m=1 n=1 k=1", 5, "x");
    if (with_source) e.source = (char *)"text";
    assert_int_equal(keep_entry(file, &e, NULL), TW_OK);
    assert_int_equal(tw_file_read(file, 1 << 16, &text, NULL, NULL), TW_OK);
    assert_non_null(strstr(text, with_source ? "\"version\": 2" : "\"version\": 1"));
    free(text);
  }
  const char both[] = "{\"format\": \"tilewright wisdom\", \"version\": 2, \"entries\": [{\"target\": \"t\", "
                      "\"problem\": \"p\", \"cost\": 1, \"unit\": \"u\", \"utilization\": 1, \"schedule\": [], "
                      "\"source\": \"s\"}]}";
  tw_wisdom *w;
  tw_error error;
  assert_int_equal(tw_file_write(file, both, strlen(both), NULL), TW_OK);
  assert_int_equal(tw_wisdom_load(file, &w, &error), TW_USAGE);
}

/* ---- what cannot be true ---- */

static tw_wisdom_entry gemmini(double cost) {
  tw_wisdom_entry e = entry("gemm m=64 n=64 k=64", cost, "tile m=64 n=64 k=64");
  snprintf(e.target, sizeof e.target, "gemmini-16x16-int8");
  return e;
}

static void what_no_machine_can_do_is_not_kept(void **state) {
  tw_error error = {0};
  tw_wisdom_entry e = gemmini(2); /* the array alone takes 1,024 cycles */
  assert_int_equal(keep_entry(file, &e, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "faster than the hard bound: 2 cycles"));
  const tw_wisdom all = {3, (tw_wisdom_entry[]){gemmini(1000), gemmini(3), gemmini(1500)}};
  size_t refused = 0;
  assert_int_equal(tw_wisdom_keep(file, &all, NULL, NULL, &error), TW_FAILED);
  assert_int_equal(load_count(), 0);
  assert_int_equal(tw_wisdom_keep(file, &all, &refused, &error, NULL), TW_OK);
  assert_int_equal(refused, 2);
  assert_non_null(strstr(error.text, "1000 cycles"));
  tw_wisdom *w = load();
  assert_int_equal(w->n, 1);
  assert_true(w->entry[0].cost == 1500);
  tw_wisdom_free(w);
}

/* A file that came from elsewhere. */
static void it_does_not_stand_in_the_way_of_the_truth(void **state) {
  static const char text[] =
      "{\"format\": \"tilewright wisdom\", \"version\": 1, \"entries\": [{\"target\": \"gemmini-16x16-int8\", "
      "\"problem\": \"gemm m=64 n=64 k=64\", \"cost\": 2.0, \"unit\": \"cycles\", \"utilization\": 887.0, "
      "\"schedule\": "
      "[\"x\"]}]}";
  tw_error error = {0};
  assert_int_equal(tw_file_write(file, text, sizeof text - 1, &error), TW_OK);
  tw_wisdom_entry e = gemmini(1500);
  assert_int_equal(keep_entry(file, &e, &error), TW_OK);
  tw_wisdom *w = load();
  assert_int_equal(w->n, 1);
  assert_true(w->entry[0].cost == 1500);
  tw_wisdom_free(w);
}

static void many_entries_are_one_change(void **state) {
#ifdef __SANITIZE_ADDRESS__ /* a minute of system calls for the same */
  enum { MANY = 400 };
#else
  enum { MANY = 4000 };
#endif
  tw_wisdom_entry *all = calloc(MANY, sizeof *all);
  struct stat before, after;
  char problem[64];
  assert_non_null(all);
  for (int i = 0; i < MANY; i++) {
    snprintf(problem, sizeof problem, "gemm m=%d n=1 k=1", i + 1);
    all[i] = entry(problem, 100, "tile m=1");
  }
  keep("gemm m=9 n=9 k=9", 5, "tile m=1");
  assert_int_equal(stat(file, &before), 0);
  assert_int_equal(tw_wisdom_keep(file, &(tw_wisdom){MANY, all}, NULL, NULL, NULL), TW_OK);
  assert_int_equal(stat(file, &after), 0);
  assert_int_not_equal(before.st_ino, after.st_ino); /* replaced whole */
  tw_wisdom *w = load();
  assert_int_equal(w->n, MANY + 1);
  tw_wisdom_free(w);
  all[7].cost = -1; /* one that is no entry: none is kept */
  all[6].cost = 1;
  assert_int_equal(tw_wisdom_keep(file, &(tw_wisdom){MANY, all}, NULL, NULL, NULL), TW_USAGE);
  w = load();
  for (size_t i = 0; i < w->n; i++) assert_true(w->entry[i].cost > 1);
  tw_wisdom_free(w);
  free(all);
}

static void forgetting_takes_one_problem_out(void **state) {
  tw_wisdom_entry source = entry("gemm m=7 n=8 k=9", 50, "tile m=1");
  source.source = (char *)"void f(void) {}";
  source.schedule.n = 0;
  source.found = 1700000000;
  assert_int_equal(keep_entry(file, &source, NULL), TW_OK);
  keep("gemm m=7 n=8 k=9", 70, "tile m=2");
  keep("gemm m=7 n=8 k=10", 70, "tile m=3");
  const size_t before = load_count();
  tw_problem p = gemm("m=7 n=8 k=9"), other = gemm("m=7 n=8 k=10"), nobody = gemm("m=7 n=8 k=11");
  size_t n = 99;
  assert_int_equal(tw_wisdom_forget(file, "machine", &nobody, &n, NULL), TW_OK);
  assert_int_equal(n, 0);
  assert_int_equal(tw_wisdom_forget(file, "another machine", &p, &n, NULL), TW_OK);
  assert_int_equal(n, 0);
  tw_wisdom *w = load();
  assert_int_equal(tw_wisdom_find_source(w, "machine", &p)->found, 1700000000);
  tw_wisdom_free(w);
  assert_int_equal(tw_wisdom_forget(file, "machine", &p, &n, NULL), TW_OK);
  assert_int_equal(n, 2);
  assert_int_equal(load_count(), before - 2);
  w = load();
  bool exact = false;
  assert_non_null(tw_wisdom_find(w, "machine", &other, &exact));
  assert_true(exact);
  tw_wisdom_free(w);
}

/* An entry with old names of keys is the entry of the same problem, and is written with the current names. */
static void old_names_of_keys_are_replaced(void **state) {
  const char old[] = "{\"format\": \"tilewright wisdom\", \"version\": 1, \"entries\": [{\"target\": \"machine\", "
                     "\"problem\": \"gemm m=8 n=8 k=64 quantize=mxfp4 rule=even\", \"cost\": 90, \"unit\": \"cycles\", "
                     "\"utilization\": 0.5, \"schedule\": [\"tile m=1\"]}]}";
  assert_int_equal(tw_file_write(file, old, strlen(old), NULL), TW_OK);
  keep("gemm m=8 n=8 k=64 quantize=mxfp4 scale_rule=even", 80, "tile m=2");
  tw_wisdom *w = load();
  assert_int_equal(w->n, 1);
  assert_string_equal(w->entry[0].schedule.step[0], "tile m=2");
  tw_wisdom_free(w);
  keep("gemm m=1 n=1 k=1", 1, "tile 1");
  char *text = NULL;
  assert_int_equal(tw_file_read(file, 1 << 16, &text, NULL, NULL), TW_OK);
  assert_null(strstr(text, " rule="));
  assert_non_null(strstr(text, "scale_rule=even"));
  free(text);
}

/* What was measured against an entry takes its place, whatever cost the entry claims; and if that fails, nothing is
 * lost. */
static void replacing_is_one_step(void **state) {
  tw_wisdom_entry source = entry("gemm m=8 n=8 k=9", 50, "x"), slower = entry("gemm m=8 n=8 k=9", 90, "tile m=4");
  const tw_problem p = gemm("m=8 n=8 k=9");
  source.source = (char *)"void f(void) {}";
  assert_int_equal(keep_entry(file, &source, NULL), TW_OK);
  keep("gemm m=8 n=8 k=9", 40, "tile m=2");
  keep("gemm m=8 n=8 k=10", 70, "tile m=3");
  const size_t before = load_count();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, 100});
    _exit(tw_wisdom_replace(file, &(tw_wisdom){1, &slower}, NULL) != TW_OK ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(load_count(), before);
  assert_int_equal(tw_wisdom_replace(file, &(tw_wisdom){1, &slower}, NULL), TW_OK);
  assert_int_equal(load_count(), before - 1);
  tw_wisdom *w = load();
  assert_string_equal(tw_wisdom_find(w, "machine", &p, NULL)->schedule.step[0], "tile m=4");
  assert_null(tw_wisdom_find_source(w, "machine", &p));
  tw_wisdom_free(w);
  tw_wisdom_entry impossible = gemmini(1);
  assert_int_equal(tw_wisdom_replace(file, &(tw_wisdom){1, &impossible}, NULL), TW_FAILED);
  assert_int_equal(load_count(), before - 1);
}

/* A process that was killed while it wrote leaves a file, and one that worked in a folder leaves the folder. */
static void what_killed_processes_left_is_removed(void **state) {
  static const char *const names[] = {"%s.%ld-0", "%s.%ld-1", "%s.%ld"};
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0); /* a number that nobody has */
  const long number[] = {(long)child, (long)getpid(), (long)child};
  char *path[3], *folder[2], *fresh = NULL;
  const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  for (int i = 0; i < 3; i++) {
    path[i] = malloc(strlen(file) + 40);
    sprintf(path[i], names[i], file, number[i]);
    assert_int_equal(tw_file_write(path[i], "x", 1, NULL), TW_OK);
    assert_int_equal(utimensat(AT_FDCWD, path[i], old, 0), 0);
  }
  char *young = malloc(strlen(file) + 40);
  sprintf(young, "%s.%ld-7", file, (long)child);
  assert_int_equal(tw_file_write(young, "x", 1, NULL), TW_OK);
  keep("gemm m=9 n=9 k=9", 70, "tile m=2");
  assert_false(tw_file_exists(path[0]));
  for (int i = 1; i < 3; i++) assert_true(tw_file_exists(path[i])); /* of a living one; of another name */
  assert_true(tw_file_exists(young));
  /* In a process of its own: each looks once. */
  setenv("TMPDIR", directory, 1);
  for (int i = 0; i < 2; i++) {
    folder[i] = malloc(strlen(directory) + 60);
    sprintf(folder[i], "%s/tilewright-%ld-abcdef", directory, number[i]);
    assert_int_equal(tw_directory_make(folder[i], NULL), TW_OK);
    char *inside = tw_path_join(folder[i], "inside");
    assert_int_equal(tw_file_write(inside, "x", 1, NULL), TW_OK);
    free(inside);
    assert_int_equal(utimensat(AT_FDCWD, folder[i], old, 0), 0);
  }
  setenv("TILEWRIGHT_WISDOM", file, 1);
  const pid_t looker = fork();
  if (looker == 0 && freopen("/dev/null", "w", stdout))
    execl(TW_COMMAND, TW_COMMAND, "wisdom", "export", NULL), _exit(9);
  int status = -1;
  waitpid(looker, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(tw_directory_temporary(&fresh, NULL), TW_OK);
  unsetenv("TMPDIR");
  unsetenv("TILEWRIGHT_WISDOM");
  assert_false(tw_file_exists(folder[0]));
  assert_true(tw_file_exists(folder[1]));
  tw_directory_remove(fresh);
  free(fresh);
  free(young);
  for (int i = 0; i < 3; i++) free(path[i]);
  for (int i = 0; i < 2; i++) free(folder[i]);
}

/* In a process of its own, which is killed; malloc'ed. */
static char *folder_of_a_killed_process(void) {
  int end[2];
  char name[1000] = "";
  assert_int_equal(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    char *made;
    if (tw_directory_temporary(&made, NULL) != TW_OK || write(end[1], made, strlen(made)) < 1) _exit(1);
    pause();
    _exit(0);
  }
  assert_true(read(end[0], name, sizeof name - 1) > 0);
  assert_true(tw_file_exists(name));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  close(end[0]);
  close(end[1]);
  return strdup(name);
}

/* At once, where the name says that its process was one of this system. */
static void folders_of_killed_processes_are_removed_by_the_next_run(void **state) {
  setenv("TMPDIR", directory, 1);
  char *left = folder_of_a_killed_process(), *other = strdup(left), *own;
  char *system = strchr(strrchr(other, '/') + strlen("/tilewright-"), '-') + 1;
  system[0] = system[0] == '0' ? '1' : '0'; /* another system, whose process may run */
  assert_int_equal(tw_directory_make(other, NULL), TW_OK);
  assert_int_equal(tw_directory_temporary(&own, NULL), TW_OK);
  const pid_t looker = fork();
  if (looker == 0 && freopen("/dev/null", "w", stdout)) {
    setenv("XDG_CACHE_HOME", directory, 1); /* a kernel that is already built needs no folder */
    execl(TW_COMMAND, TW_COMMAND, "run", TW_TEST_DATA "/../cheats/gemmini/honest_plain.c", "gemm", "m=64", "n=64",
          "k=64", "-t", "gemmini-16x16-int8", NULL);
    _exit(9);
  }
  int status = -1;
  waitpid(looker, &status, 0);
  unsetenv("TMPDIR");
  assert_false(tw_file_exists(left));
  assert_true(tw_file_exists(other));
  assert_true(tw_file_exists(own));
  tw_directory_remove(own);
  tw_directory_remove(other);
  free(own);
  free(other);
  free(left);
}

/* The part that cannot be made, and why, where its parents are the trouble. */
static void a_folder_that_cannot_be_made_says_which_part(void **state) {
  tw_error error = {0};
  assert_int_equal(tw_directory_make("/sys/kernel/tilewright/of/wisdom", &error), TW_USAGE);
  assert_non_null(strstr(error.text, "'/sys/kernel/tilewright/of/wisdom': '/sys/kernel/tilewright': "));
  assert_null(strstr(error.text, strerror(ENOENT)));
  char *plain = tw_path_join(directory, "a_file"), *below = tw_path_join(plain, "below");
  assert_int_equal(tw_file_write(plain, "x", 1, NULL), TW_OK);
  assert_int_equal(tw_directory_make(below, &error), TW_USAGE);
  assert_non_null(strstr(error.text, strerror(ENOTDIR)));
  free(below);
  free(plain);
}

static void a_link_stays_a_link_and_rights_stay(void **state) {
  char *real = tw_path_join(directory, "real.json");
  struct stat info;
  keep("gemm m=9 n=9 k=9", 5, "tile m=1");
  assert_int_equal(rename(file, real), 0);
  assert_int_equal(chmod(real, 0600), 0);
  assert_int_equal(symlink(real, file), 0);
  keep("gemm m=8 n=8 k=8", 5, "tile m=1");
  assert_int_equal(lstat(file, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(real, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  tw_wisdom *w = load();
  assert_int_equal(w->n, 2);
  tw_wisdom_free(w);
  free(real);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_missing_file_is_empty_wisdom, start, end),
      cmocka_unit_test_setup_teardown(another_order_of_keys_is_the_same_problem, start, end),
      cmocka_unit_test_setup_teardown(a_renamed_machine_keeps_its_wisdom, start, end),
      cmocka_unit_test_setup_teardown(old_names_of_steps_are_replaced, start, end),
      cmocka_unit_test_setup_teardown(what_is_kept_is_found_again, start, end),
      cmocka_unit_test_setup_teardown(costs_of_different_machines_are_not_compared, start, end),
      cmocka_unit_test_setup_teardown(only_a_better_schedule_or_the_same_one_measured_again_replaces, start, end),
      cmocka_unit_test_setup_teardown(without_the_very_problem_the_nearest_shape_of_the_same_types_is_found, start,
                                      end),
      cmocka_unit_test_setup_teardown(two_writers_at_once_lose_nothing, start, end),
      cmocka_unit_test_setup_teardown(a_file_that_is_no_wisdom_is_refused_and_left_as_it_is, start, end),
      cmocka_unit_test_setup_teardown(a_full_disk_leaves_what_was_there, start, end),
      cmocka_unit_test_setup_teardown(the_default_place_follows_the_environment, start, end),
      cmocka_unit_test_setup_teardown(an_entry_that_could_not_be_read_back_is_not_written, start, end),
      cmocka_unit_test_setup_teardown(sources_are_kept_beside_schedules, start, end),
      cmocka_unit_test_setup_teardown(only_a_file_with_sources_is_of_the_newer_version, start, end),
      cmocka_unit_test_setup_teardown(what_no_machine_can_do_is_not_kept, start, end),
      cmocka_unit_test_setup_teardown(it_does_not_stand_in_the_way_of_the_truth, start, end),
      cmocka_unit_test_setup_teardown(many_entries_are_one_change, start, end),
      cmocka_unit_test_setup_teardown(forgetting_takes_one_problem_out, start, end),
      cmocka_unit_test_setup_teardown(replacing_is_one_step, start, end),
      cmocka_unit_test_setup_teardown(old_names_of_keys_are_replaced, start, end),
      cmocka_unit_test_setup_teardown(what_killed_processes_left_is_removed, start, end),
      cmocka_unit_test_setup_teardown(folders_of_killed_processes_are_removed_by_the_next_run, start, end),
      cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_says_which_part, start, end),
      cmocka_unit_test_setup_teardown(a_link_stays_a_link_and_rights_stay, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
