/* test_mutants.c - a kernel that the judge accepts is right. Emitted kernels are changed at random and judged; each
 * accepted one is compared element by element on other inputs.
 *
 *     test_mutants                       a few mutants of each simulated machine
 *     test_mutants SECONDS [TARGET...]   for this many seconds, all machines or the named ones in turn; a mutant that was accepted and is wrong
 *                                        is written to the current folder
 *
 * A mutation replaces a number or an operator, or leaves out, repeats or exchanges lines. Most mutants do not build or
 * are plainly wrong. The others tell. Where a target exports a design in MLIR, half of the mutants are changed designs.
 * A mutant that is not judged after MUTANT_SECONDS counts as late. */
#include "test.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "evaluate/trial.h"
#include "tilewright/extend/extend.h"

static const struct subject {
  const char *target, *problem;
} subjects[] = {
    {"gemmini-16x16-int8", "gemm m=32 n=32 k=48"},
    {"cdna4", "gemm m=64 n=64 k=64 a=bf16 b=bf16"},
    {"xdna2", "gemm m=64 n=64 k=64 a=i8 b=i8"},
    {"trn2", "gemm m=128 n=512 k=256 a=bf16 b=bf16"},
    {"gemmini-16x16-int8", "conv2d n=1 c=16 h=6 w=6 k=16 r=3 s=3 pad=1"},
    {"cdna4", "softmax rows=16 cols=256 a=f32"},
    {"gemmini-4x4-fp32", "mpc_backward horizon=4 states=12 inputs=4"},
    {"cdna4", "attention b=1 hq=2 hkv=1 sq=32 sk=64 d=64 a=bf16"},
    {"gemmini-4x4-fp32", "gemm m=16 n=16 k=16"},
    {"cdna3", "layernorm rows=16 cols=256 a=f32"},
    {"x86", "gemm m=20 n=40 k=64 threads=1"},
    {"x86", "gemm m=20 n=40 k=64 a=u8 b=i8 threads=1"},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, STEPS_MOST = 4, CHANGES_MOST = 2, FRESH_CASES = 6, FEW = 2 };
static const double MUTANT_SECONDS = 10;

/* ---- mutations ---- */

/* The place of the n-th character at which `starts` holds; NULL: there are fewer. */
static char *nth(char *text, bool (*starts)(const char *, const char *), uint64_t n) {
  for (char *p = text; *p; p++)
    if (starts(text, p) && n-- == 0) return p;
  return NULL;
}

static uint64_t count(char *text, bool (*starts)(const char *, const char *)) {
  uint64_t n = 0;
  for (const char *p = text; *p; p++) n += starts(text, p);
  return n;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }
static bool starts_number(const char *text, const char *p) {
  return isdigit((unsigned char)*p) && (p == text || !is_word(p[-1]));
}
static bool starts_operator(const char *text, const char *p) {
  return strchr("+-*<>", *p) && p > text && p[-1] == ' ' && (p[1] == ' ' || p[1] == '=');
}
static bool starts_line(const char *text, const char *p) { return p > text && p[-1] == '\n' && *p != '/' && *p != '#'; }

/* `length` characters at `at` become `by`. */
static char *replaced(char *text, const char *at, size_t length, const char *by) {
  tw_text t = {0};
  tw_text_add(&t, "%.*s%s%s", (int)(at - text), text, by, at + length);
  free(text);
  return tw_text_take(&t);
}

static char *mutate_number(char *text, tw_random *r) {
  const uint64_t n = count(text, starts_number);
  if (!n) return text;
  char by[32], *at = nth(text, starts_number, tw_random_below(r, n));
  const long value = strtol(at, NULL, 10);
  const long next[] = {value + 1, value ? value - 1 : 2, 2 * value, value / 2, 0};
  snprintf(by, sizeof by, "%ld", next[tw_random_below(r, 5)]);
  return replaced(text, at, strspn(at, "0123456789"), by);
}

static char *mutate_operator(char *text, tw_random *r) {
  static const char all[] = "+-*<>";
  const uint64_t n = count(text, starts_operator);
  if (!n) return text;
  const char by[] = {all[tw_random_below(r, 5)], '\0'};
  return replaced(text, nth(text, starts_operator, tw_random_below(r, n)), 1, by);
}

/* Leaves a line out, or repeats it, or exchanges it with the next. */
static char *mutate_line(char *text, tw_random *r) {
  const uint64_t n = count(text, starts_line);
  if (!n) return text;
  char *at = nth(text, starts_line, tw_random_below(r, n));
  const size_t length = strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
  const size_t next = strcspn(at + length, "\n") + (at[length + strcspn(at + length, "\n")] == '\n');
  tw_text by = {0};
  const uint64_t kind = tw_random_below(r, 3);
  if (kind == 1) tw_text_add(&by, "%.*s%.*s", (int)length, at, (int)length, at);
  if (kind == 2) tw_text_add(&by, "%.*s%.*s", (int)next, at + length, (int)length, at);
  if (kind == 0) tw_text_add_string(&by, "");
  char *line = tw_text_take(&by);
  text = replaced(text, at, kind == 2 ? length + next : length, line);
  free(line);
  return text;
}

static char *mutate(char *text, tw_random *r) {
  switch (tw_random_below(r, 3)) {
  case 0: return mutate_number(text, r);
  case 1: return mutate_operator(text, r);
  default: return mutate_line(text, r);
  }
}

/* ---- one mutant ---- */

/* The schedule's design in MLIR; NULL: the target exports none. */
static char *design_of(const tw_target *t, const tw_problem *p, const tw_schedule *s, const char *source) {
  tw_files files = {0};
  char *design = NULL;
  if (t->traits.simulated && t->exporter && t->exporter->sources &&
      t->exporter->sources(t, p, s, source, &files, NULL) == TW_OK) {
    for (size_t i = 0; i < files.n; i++)
      if (!strcmp(files.file[i].name, "design.mlir")) design = strdup(files.file[i].text);
    tw_files_free(&files);
  }
  return design;
}

/* A kernel of some steps from the menu, changed once or twice. */
static char *random_kernel(const tw_target *t, const tw_problem *p, tw_random *r) {
  tw_schedule s;
  char *source = NULL;
  tw_error error = {0};
  if (tw_target_baseline(t, p, &s, &error) != TW_OK) fail_msg("%s", error.text);
  for (uint64_t n = tw_random_below(r, STEPS_MOST); n; n--) {
    tw_menu menu = {0};
    tw_schedule longer = s;
    if (tw_target_steps(t, p, &s, &menu, NULL) == TW_OK && menu.n &&
        tw_schedule_add(&longer, menu.item[tw_random_below(r, menu.n)].step, NULL) == TW_OK &&
        tw_target_emit(t, p, &longer, &source, NULL) == TW_OK)
      s = longer;
    free(source);
    source = NULL;
    tw_menu_free(&menu);
  }
  if (tw_target_emit(t, p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
  char *design = tw_random_below(r, 2) ? design_of(t, p, &s, source) : NULL;
  if (design) {
    free(source);
    source = design;
  }
  for (uint64_t n = 1 + tw_random_below(r, CHANGES_MOST); n; n--) source = mutate(source, r);
  return source;
}

/* Every element of further cases. */
static tw_status compare_all(const tw_target *t, const tw_problem *p, const char *source, uint64_t seed,
                             tw_error *error) {
  tw_artefact *a = NULL;
  tw_status status = t->build(t, p, source, strlen(source), &(tw_evaluation){.trust = true}, &a, error);
  for (uint64_t i = 0; i < FRESH_CASES && status == TW_OK; i++) {
    tw_case data = {0};
    status = tw_case_make(p, seed + i, 1, &data, error);
    if (status == TW_OK) status = t->check(t, a, &data, &(tw_evaluation){0}, error);
    tw_case_free(&data);
  }
  if (a) t->release(a);
  return status;
}

static struct { int judged, built, accepted, late, wrong; } sum[SUBJECTS];

static void try_mutant(size_t index, tw_random *r) {
  const tw_target *t = tw_target_find(subjects[index].target);
  tw_problem p;
  tw_error error = {0};
  if (tw_problem_parse(t, subjects[index].problem, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
    fail_msg("%s", error.text);
  char *source = random_kernel(t, &p, r);
  const tw_trial trial = {.target = t,
                          .problem = &p,
                          .source = source,
                          .length = strlen(source),
                          .seed = tw_random_next(r) | 1,
                          .deadline = tw_now() + MUTANT_SECONDS,
                          .more_cases = tw_trial_more_cases(&p)};
  const tw_setting setting = {.jobs = 1};
  tw_outcome out;
  tw_trial_run(&trial, &setting, &out);
  sum[index].judged++;
  sum[index].built += out.verdict != TW_UNBUILDABLE;
  sum[index].late += out.verdict == TW_SKIPPED;
  sum[index].accepted += out.verdict == TW_CORRECT;
  if (out.verdict == TW_CORRECT && compare_all(t, &p, source, tw_random_next(r) | 1, &error) != TW_OK) {
    char name[64];
    snprintf(name, sizeof name, "accepted-%s-%016" PRIx64, t->name, trial.seed);
    tw_file_write(name, source, strlen(source), NULL);
    print_message("%s: %s was accepted and is wrong: %s\n", subjects[index].problem, name, error.text);
    sum[index].wrong++;
  }
  free(source);
}

/* ---- the test ---- */

static double seconds; /* 0: a few of each */
static int n_named;
static char **named;

static bool is_wanted(size_t index) {
  const tw_target *t = tw_target_find(subjects[index].target);
  bool found = !n_named && (seconds > 0 || t->traits.simulated);
  for (int i = 0; i < n_named; i++) found = found || !strcmp(named[i], subjects[index].target);
  return found && t->available(t, NULL) == TW_OK;
}

static void what_is_accepted_is_right(void **state) {
  tw_random r;
  const uint64_t seed = seconds > 0 ? tw_random_system() : 1;
  const double end = tw_now() + seconds;
  tw_random_seed(&r, seed);
  if (seconds > 0) print_message("seed %" PRIu64 "\n", seed);
  for (int round = 0; seconds > 0 ? tw_now() < end : round < FEW; round++)
    for (size_t i = 0; i < SUBJECTS && (seconds == 0 || tw_now() < end); i++)
      if (is_wanted(i)) try_mutant(i, &r);
  int wrong = 0;
  for (size_t i = 0; i < SUBJECTS; i++) {
    if (!sum[i].judged) continue;
    print_message("%-20s %-52s %d judged, %d built, %d late, %d accepted, %d of them wrong\n", subjects[i].target,
                  subjects[i].problem, sum[i].judged, sum[i].built, sum[i].late, sum[i].accepted, sum[i].wrong);
    wrong += sum[i].wrong;
  }
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_accepted_is_right)};
  if (argc > 1) seconds = strtod(argv[1], NULL);
  n_named = argc > 2 ? argc - 2 : 0;
  named = argv + 2;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
