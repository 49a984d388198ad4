/* test_cheats.c - kernels that want to look right, or fast, and are not; and honest ones that look odd. One file each
 * in tests/cheats/MACHINE/, whose first line says what the judge must say:
 *
 *     // VERDICT | WORDS OF ITS LINE | OP key=value... -t TARGET | COST | thorough
 *
 * A line `#include "cheat.h"` is replaced by that file of the machine's folder: what many of them begin with. The
 * kernels in gpu/ are written in its words, and are judged on each GPU. A file whose third line is `edits NAME` is that
 * file of the folder, changed: lines that begin with - are replaced, where they first occur, by the lines after them
 * that begin with +.
 *
 * COST, in seconds, is what it must be found to take at least, for those that would look fast; it may be left out.
 * `thorough`: the file is judged with TW_TEST_THOROUGH=1 only, because it takes a quarter of a minute or more. A new machine
 * adds a folder. Inputs are new each time. Where a machine's device is not here, what is decided without it
 * is what is judged.
 *
 *     test_cheats [TESTS [FILES [ROUNDS]]]
 *
 * runs the tests whose names match the first pattern, with the files whose names match the second, as often as ROUNDS says:
 * `test_cheats 'x86*' 'honest*' 20`. */
#include "test.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "evaluate/trial.h"
#include "target/cuda/device.h"
#include "tilewright/extend/extend.h"

/* As `tilewright run` does. */
static tw_verdict judge(const tw_target *t, const tw_problem *p, const char *source, size_t length, double limit,
                        double *cost, tw_error *error) {
  const tw_trial trial = {.target = t,
                          .problem = p,
                          .source = source,
                          .length = length,
                          .limit = limit,
                          .seed = tw_random_system(),
                          .more_cases = tw_trial_more_cases(p)};
  const tw_setting setting = {.jobs = 1};
  tw_outcome out;
  tw_trial_run(&trial, &setting, &out);
  *error = out.error;
  *cost = out.measured.cost;
  return out.verdict;
}

/* The part behind the `index`th bar, without blanks around it. */
static void part_of(const char *line, int index, char *out, size_t size) {
  const char *const end = line + strcspn(line, "\n");
  for (; index > 0 && line; index--) {
    line = memchr(line, '|', (size_t)(end - line));
    if (line) line++;
  }
  if (!line) {
    *out = '\0';
    return;
  }
  size_t length = strcspn(line, "|\n");
  while (length && *line == ' ') line++, length--;
  while (length && line[length - 1] == ' ') length--;
  snprintf(out, size, "%.*s", (int)length, line);
}

static const char INCLUDE[] = "#include \"cheat.h\"\n";

/* Puts the machine's cheat.h in the place of its #include. */
static void include_common_part(const char *machine, char **source, size_t *length) {
  char name[600], *common = NULL, *at = strstr(*source, INCLUDE);
  size_t size = 0;
  tw_error error = {0};
  if (!at) return;
  snprintf(name, sizeof name, "%s/../cheats/%s/cheat.h", TW_TEST_DATA, machine);
  if (tw_file_read(name, 1 << 20, &common, &size, &error) != TW_OK) fail_msg("%s", error.text);
  tw_text text = {0};
  tw_text_add(&text, "%.*s%s%s", (int)(at - *source), *source, common, at + strlen(INCLUDE));
  free(*source);
  free(common);
  *source = tw_text_take(&text);
  *length = strlen(*source);
}

/* The lines from `at` on that begin with `mark`, without it. */
static const char *marked_lines(const char *at, char mark, tw_text *out) {
  tw_text_add_string(out, "");
  for (; *at == mark; at += strcspn(at, "\n") + 1) tw_text_add(out, "%.*s\n", (int)strcspn(at + 1, "\n"), at + 1);
  return at;
}

/* Puts what a file of edits makes of another one in its place, after the line that says the verdict. */
static void apply_edits(const char *path, char **source, size_t *length) {
  char name[600], *base = NULL, *second = strchr(*source, '\n'), *third = second ? strchr(second + 1, '\n') : NULL;
  char *const edits = third ? strstr(third, " edits ") : NULL;
  size_t size = 0;
  tw_error error = {0};
  if (!edits || edits > third + 4) return;
  const char *at = strchr(edits, '\n') + 1;
  snprintf(name, sizeof name, "%.*s/%.*s", (int)(strrchr(path, '/') - path), path, (int)strcspn(edits + 7, "\n"),
           edits + 7);
  if (tw_file_read(name, 1 << 20, &base, &size, &error) != TW_OK) fail_msg("%s", error.text);
  while (*at) {
    tw_text old = {0}, new = {0}, all = {0};
    at = marked_lines(marked_lines(at, '-', &old), '+', &new);
    char *found = strstr(base, old.data);
    if (!found || !old.length) fail_msg("%s: lines are not in %s:\n%s", path, name, old.data);
    tw_text_add(&all, "%.*s%s%s", (int)(found - base), base, new.data, found + old.length);
    free(base);
    base = tw_text_take(&all);
    tw_text_free(&old);
    tw_text_free(&new);
    if (*at && *at != '-') fail_msg("%s: expected - or + at the begin of a line", path);
  }
  tw_text whole = {0};
  tw_text_add(&whole, "%.*s%s", (int)(second - *source), *source, strchr(base, '\n'));
  free(base);
  free(*source);
  *source = tw_text_take(&whole);
  *length = strlen(*source);
}

/* Inputs are drawn anew. What is wrong on some of them is found in the check, in a timed call, or on the second inputs.
 */
static bool is_found_wrong(tw_verdict expected, tw_verdict given, const char *why) {
  return (expected == TW_WRONG || expected == TW_UNCONFIRMED) &&
         (given == TW_WRONG || given == TW_UNCONFIRMED || given == TW_UNMEASURED) && strstr(why, "wrong");
}

/* Some systems cannot forbid rdtsc. With AddressSanitizer, kernels run beside its runtime, which reads the clock. */
static bool hides_clock(void) {
#if defined __SANITIZE_ADDRESS__ || !defined __x86_64__
  return false;
#else
  int now;
  return prctl(PR_GET_TSC, &now, 0, 0, 0) == 0;
#endif
}

/* With sanitizers, which make the emulators several times as slow, large problems are left to the optimized build. Their kernels
 * run the code of the judge that smaller ones run. */
static bool is_left_out(const tw_problem *p) {
  static const double MOST = 1e8; /* multiply-adds */
  return example_stride() > 1 && p->op->operations(p) > MOST;
}

/* Is the file judged as it says? */
static bool one(const char *path, const char *machine, const tw_target *t, bool has_device) {
  char verdict[64], words[128], problem[256], least[32], when[32], *source = NULL;
  double cost = 0;
  size_t length;
  tw_error error = {0};
  tw_problem p;
  if (tw_file_read(path, 1 << 20, &source, &length, &error) != TW_OK) fail_msg("%s", error.text);
  apply_edits(path, &source, &length);
  include_common_part(machine, &source, &length);
  const char *line = source + strspn(source, "/# ");
  part_of(line, 0, verdict, sizeof verdict);
  part_of(line, 1, words, sizeof words);
  part_of(line, 2, problem, sizeof problem);
  part_of(line, 3, least, sizeof least);
  part_of(line, 4, when, sizeof when);
  char *name = strstr(problem, " -t ");
  tw_verdict expected;
  if (!name || !tw_verdict_parse(verdict, &expected)) fail_msg("%s: what is its first line?", path);
  *name = '\0';
  if (strcmp(when, "thorough") == 0 && !is_thorough()) return free(source), true;
  if (!has_device && expected != TW_UNBUILDABLE) return free(source), true;
  if (strstr(words, "read a clock") && !hides_clock()) return free(source), true;
  if (!t) t = tw_target_find(name + 4);
  if (!t || tw_problem_parse(t, problem, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
    fail_msg("%s: %s", path, error.text);
  if (is_left_out(&p)) return free(source), true;
  const tw_verdict given = judge(t, &p, source, length, 0, &cost, &error);
  const bool fits = (given == expected && strstr(error.text, words)) || is_found_wrong(expected, given, error.text);
  bool right = fits && !strstr(error.text, "root:") && (given != TW_CORRECT || cost >= strtod(least, NULL));
  /* as a search does, which measures before it checks: the cost that counts is measured after the check all the same */
  if (right && t->traits.measures_checked && (given == TW_UNMEASURED || given == TW_CORRECT))
    right =
        judge(t, &p, source, length, 1, &cost, &error) == given && (given != TW_CORRECT || cost >= strtod(least, NULL));
  if (!right)
    print_message("%s:\n  should be '%s' (%s) %s, is '%s' %g: %.300s\n", path, verdict, words, least,
                  tw_verdict_name(given), cost, error.text);
  free(source);
  return right;
}

static int is_kernel(const struct dirent *e) { return e->d_name[0] != '.' && strcmp(e->d_name, "cheat.h") != 0; }

static const char *files = "*"; /* the pattern of their names */
static int rounds = 1;

/* How many files of the folder are judged otherwise than they say. `t`, if given, replaces the target of their first
 * lines. */
static int wrongly_judged(const char *name, const char *machine, const tw_target *t, bool has_device, int least) {
  char folder[512];
  struct dirent **list;
  int wrong = 0;
  snprintf(folder, sizeof folder, "%s/../cheats/%s", TW_TEST_DATA, name);
  const int n = scandir(folder, &list, is_kernel, alphasort);
  assert_true(n >= least);
  for (int i = 0; i < n; i++) {
    char *path = tw_path_join(folder, list[i]->d_name);
    for (int round = 0; round < rounds && fnmatch(files, list[i]->d_name, 0) == 0; round++)
      if (i % example_stride() == 0) wrong += !one(path, machine, t, has_device);
    free(path);
    free(list[i]);
  }
  free(list);
  return wrong;
}

static void judge_all(const char *machine, const char *target, bool has_device, int least, int least_of_gpus) {
  const tw_target *t = tw_target_find(target);
  if (!t || (t->available && (has_device ? t->available(t, NULL) : cuda_need_compiler(NULL)) != TW_OK)) {
    print_message("%s cannot be used here\n", target);
    skip();
  }
  int wrong = wrongly_judged(machine, machine, has_device ? NULL : t, has_device, least);
  if (least_of_gpus) wrong += wrongly_judged("gpu", machine, t, has_device, least_of_gpus);
  assert_int_equal(wrong, 0);
}

static void gemmini_is_not_fooled(void **state) { judge_all("gemmini", "gemmini-16x16-int8", true, 108, 0); }

static void x86_is_not_fooled(void **state) { judge_all("x86", "x86", true, 150, 0); }

static void xdna2_is_not_fooled(void **state) { judge_all("xdna2", "xdna2", true, 43, 0); }

static void cdna_is_not_fooled(void **state) { judge_all("cdna", "cdna3", true, 102, 158); }

static void trainium_is_not_fooled(void **state) { judge_all("trainium", "trn2", true, 30, 0); }

static void cuda_is_not_fooled(void **state) {
  const tw_target *device = tw_target_find("cuda");
  const bool has_device = device->available(device, NULL) == TW_OK;
  judge_all("cuda", has_device ? "cuda" : "cuda-h200", has_device, 70, 158);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gemmini_is_not_fooled),  cmocka_unit_test(x86_is_not_fooled),
                                     cmocka_unit_test(xdna2_is_not_fooled),    cmocka_unit_test(cdna_is_not_fooled),
                                     cmocka_unit_test(trainium_is_not_fooled), cmocka_unit_test(cuda_is_not_fooled)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  if (argc > 2) files = argv[2];
  if (argc > 3) rounds = (int)strtol(argv[3], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
