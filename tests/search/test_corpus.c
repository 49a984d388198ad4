/* test_corpus.c - the text that schedules emit, and its cost on simulated machines, stay as they were recorded.
 *
 * tests/data/corpus/TARGET.txt holds problems, and under each problem lines of
 *
 *     HASH COST STEP; STEP; ...
 *
 * HASH is the first 16 digits of the SHA-256 of the emitted source. COST is what the simulator says, or "-" where none
 * is recorded. A line "environment TEXT" names the compiler that built the kernels, which costs depend on, or the CPU,
 * which texts for x86 depend on. In another environment these are not compared, and the test says so.
 *
 * A change that means to alter a kernel's text or cost records the corpus again, in a commit of its own:
 *
 *     ./dev corpus                                    recompute the hash and cost of every entry
 *     test_corpus --add TARGET N [cost] OP KEY=VALUE...   add N schedules, walked at random from the menu */
#include "filled.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/random.h"
#include "base/strings.h"
#include "evaluate/trial.h"
#include "target/x86/cpu.h"
#include "tilewright/extend/extend.h"

static const char ENVIRONMENT[] = "environment ";
enum { DIGITS = 16, LINE = 4096, DEEPEST = 6 };

typedef struct corpus {
  const tw_target *target;
  bool same_environment; /* as when the corpus was recorded */
  tw_problem problem;    /* of the entries that follow */
  bool has_problem;
  bool writes; /* the corpus is recorded again: nothing is left out */
  int entries, costs, differences;
} corpus;

/* What the target's entries depend on: a compiler's version, or this CPU. */
static void environment_of(const char *target, char *out, size_t size) {
  const char *command = !strncmp(target, "gemmini", 7) ? "riscv64-unknown-elf-gcc --version"
                        : !strncmp(target, "cdna", 4)  ? "clang-22 --version"
                                                       : NULL;
  snprintf(out, size, "any");
  if (!strcmp(target, "x86")) {
    const x86_cpu *cpu = x86_this_cpu();
    snprintf(out, size, "cores=%d l1=%" PRId64 " l2=%" PRId64 " l3=%" PRId64 " isa=", cpu->cores, (int64_t)cpu->l1,
             (int64_t)cpu->l2, (int64_t)cpu->l3);
    for (int isa = 0; isa < X86_ISAS; isa++) strncat(out, cpu->has[isa] ? "1" : "0", size - strlen(out) - 1);
  }
  if (!command) return;
  char line[256];
  FILE *f = popen(command, "r");
  if (f && fgets(line, sizeof line, f)) snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
  if (f) pclose(f);
}

static bool texts_depend_on_environment(const tw_target *t) { return !strcmp(t->name, "x86"); }

static void read_schedule(const char *text, tw_schedule *s) {
  char copy[LINE];
  tw_error error = {0};
  snprintf(copy, sizeof copy, "%s", text);
  *s = (tw_schedule){0};
  char *rest = NULL;
  for (char *step = strtok_r(copy, ";", &rest); step; step = strtok_r(NULL, ";", &rest))
    if (strspn(step, " ") < strlen(step) && tw_schedule_add(s, step, &error) != TW_OK) fail_msg("%s", error.text);
}

static void print_schedule(const tw_schedule *s, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t i = 0; i < s->n && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "; " : "", s->step[i]);
}

/* The hash of the emitted source, and the cost on the simulator where it is asked for; what fails is told in
 * `error`. */
static bool evaluate(const tw_target *t, const tw_problem *p, const tw_schedule *s, char hash[DIGITS + 1], double *cost,
                     tw_error *error) {
  char *source = NULL, text[TW_HASH_TEXT];
  if (tw_target_emit(t, p, s, &source, error) != TW_OK) return false;
  tw_hash h;
  tw_hash_start(&h);
  tw_hash_add_string(&h, source);
  tw_hash_finish_text(&h, text);
  snprintf(hash, DIGITS + 1, "%.*s", DIGITS, text);
  bool ok = true;
  if (cost) {
    const tw_trial trial = {
        .target = t, .problem = p, .source = source, .length = strlen(source), .seed = 1, .trust = true};
    const tw_setting setting = {.jobs = 1};
    tw_outcome outcome;
    tw_trial_run(&trial, &setting, &outcome);
    ok = outcome.verdict == TW_CORRECT;
    *cost = outcome.measured.cost;
    if (!ok) tw_fail(error, TW_FAILED, "%s: %s", tw_verdict_name(outcome.verdict), outcome.error.text);
  }
  free(source);
  return ok;
}

/* One line of a corpus, as it should be now, into `out`. */
static void line_now(corpus *c, const char *line, char *out, size_t size) {
  char recorded_hash[32], recorded_cost[64], hash[DIGITS + 1];
  int end = 0;
  tw_error error = {0};
  snprintf(out, size, "%s", line);
  if (!*line || *line == '#') return;
  if (!strncmp(line, ENVIRONMENT, strlen(ENVIRONMENT))) {
    char now[256];
    environment_of(c->target->name, now, sizeof now);
    c->same_environment = !strcmp(now, line + strlen(ENVIRONMENT));
    if (!texts_depend_on_environment(c->target)) snprintf(out, size, "%s%s", ENVIRONMENT, now);
    return;
  }
  if (texts_depend_on_environment(c->target) && !c->same_environment) return; /* recorded on another CPU */
  if (*line != ' ') {
    if (tw_problem_parse(c->target, line, &c->problem, &error) != TW_OK ||
        tw_target_supports(c->target, &c->problem, &error) != TW_OK)
      fail_msg("%s: %s: %s", c->target->name, line, error.text);
    c->has_problem = true;
    return;
  }
  if (!c->has_problem || sscanf(line, " %31s %63s%n", recorded_hash, recorded_cost, &end) != 2)
    fail_msg("%s: expected a problem, or 'HASH COST STEPS': %s", c->target->name, line);
  tw_schedule s;
  double cost = 0;
  const bool has_cost = strcmp(recorded_cost, "-") != 0, is_compared = c->entries % example_stride() == 0,
             runs = has_cost && ((c->same_environment && is_compared) || c->writes);
  read_schedule(line + end, &s);
  if (!evaluate(c->target, &c->problem, &s, hash, runs ? &cost : NULL, &error)) {
    if (!c->writes)
      snprintf(out, size, "  error: %s", error.text);
    else
      printf("%s: this entry is left as it was, edit it:%s\n  %s\n", c->target->name, line + end, error.text);
    return;
  }
  char number[64];
  snprintf(number, sizeof number, "%s", recorded_cost);
  if (runs) snprintf(number, sizeof number, "%.9g", cost);
  snprintf(out, size, "  %s %s%s", hash, number, line + end);
  c->entries++;
  c->costs += runs;
}

/* Every line of a corpus: compared with what it should be, or written anew to `rewrite`. */
static void go_through(const char *path, const char *name, FILE *rewrite, corpus *c) {
  char line[LINE], now[LINE + 64], target[64];
  snprintf(target, sizeof target, "%.*s", (int)(strlen(name) - strlen(".txt")), name);
  *c = (corpus){.target = tw_target_find(target), .writes = rewrite != NULL};
  if (!c->target) fail_msg("%s: there is no target %s", path, target);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  for (int number = 1; fgets(line, sizeof line, f); number++) {
    line[strcspn(line, "\n")] = '\0';
    line_now(c, line, now, sizeof now);
    if (rewrite) fprintf(rewrite, "%s\n", now);
    if (strncmp(line, ENVIRONMENT, strlen(ENVIRONMENT)) && strcmp(line, now)) {
      c->differences++;
      if (!rewrite) print_error("%s:%d: recorded:%s\n  now:%s\n", path, number, line, now);
    }
  }
  fclose(f);
  if (!c->same_environment)
    print_message("%s: another environment than the recorded one: %s are not compared\n", target,
                  texts_depend_on_environment(c->target) ? "texts" : "costs");
}

static bool is_corpus(const char *name) {
  const size_t length = strlen(name);
  return length > 4 && !strcmp(name + length - 4, ".txt");
}

/* XDNA2's are of files beside the kernel: test_xdna2_kernel_cc.c has them. */
static void every_template_of_a_kernel_is_filled(void **state) {
  expect_filled("xdna2/", true, "no entry of the corpus uses it; add one with test_corpus --add");
}

static void texts_and_costs_are_as_recorded(void **state) {
  int entries = 0, costs = 0, differences = 0;
  DIR *folder = opendir(TW_TEST_DATA "/corpus");
  assert_non_null(folder);
  tw_template_watch = note_filled;
  for (struct dirent *e; (e = readdir(folder));) {
    if (!is_corpus(e->d_name)) continue;
    char path[512];
    corpus c;
    snprintf(path, sizeof path, "%s/corpus/%s", TW_TEST_DATA, e->d_name);
    go_through(path, e->d_name, NULL, &c);
    entries += c.entries, costs += c.costs, differences += c.differences;
  }
  closedir(folder);
  tw_template_watch = NULL;
  print_message("%d texts and %d costs compared, %d differ\n", entries, costs, differences);
  if (differences) fail_msg("where this is meant, run test_corpus --write and commit the change by itself");
  assert_true(entries >= 300);
}

static int write_again(void) {
  DIR *folder = opendir(TW_TEST_DATA "/corpus");
  int differences = 0;
  for (struct dirent *e; folder && (e = readdir(folder));) {
    if (!is_corpus(e->d_name)) continue;
    char path[512], beside[600];
    corpus c;
    snprintf(path, sizeof path, "%s/corpus/%s", TW_TEST_DATA, e->d_name);
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *out = fopen(beside, "w");
    if (!out) return perror(beside), 1;
    go_through(path, e->d_name, out, &c);
    if (fclose(out) || rename(beside, path)) return perror(path), 1;
    printf("%s: %d texts, %d costs, %d lines changed\n", e->d_name, c.entries, c.costs, c.differences);
    differences += c.differences;
  }
  if (folder) closedir(folder);
  return 0;
}

/* Steps chosen at random from the menu, up to a depth that is random, too. */
static void walk(const tw_target *t, const tw_problem *p, tw_random *r, tw_schedule *s) {
  const uint64_t depth = 1 + tw_random_below(r, DEEPEST);
  *s = (tw_schedule){0};
  for (uint64_t i = 0; i < depth; i++) {
    tw_menu menu = {0};
    tw_error error = {0};
    if (tw_target_steps(t, p, s, &menu, &error) != TW_OK) fail_msg("%s", error.text);
    if (menu.n) tw_schedule_add(s, menu.item[tw_random_below(r, menu.n)].step, NULL);
    tw_menu_free(&menu);
  }
}

/* --add TARGET N [cost] OP KEY=VALUE... */
static int add(int argc, char **argv) {
  char path[512], text[1024] = "", environment[256], source_hash[DIGITS + 1];
  tw_problem p;
  tw_error error = {0};
  const tw_target *t = tw_target_find(argv[0]);
  const int n = atoi(argv[1]);
  const bool with_cost = !strcmp(argv[2], "cost");
  for (int i = with_cost ? 3 : 2; i < argc; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "", argv[i]);
  if (!t || tw_problem_parse(t, text, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
    return fprintf(stderr, "%s: %s: %s\n", argv[0], text, t ? error.text : "no such target"), 2;
  snprintf(path, sizeof path, "%s/corpus/%s.txt", TW_TEST_DATA, t->name);
  const tw_schedule baseline = {0};
  if (!evaluate(t, &p, &baseline, source_hash, NULL, &error)) return fprintf(stderr, "%s: %s\n", text, error.text), 2;
  const bool is_new = access(path, F_OK) != 0;
  FILE *out = fopen(path, "a");
  if (!out) return perror(path), 1;
  environment_of(t->name, environment, sizeof environment);
  if (is_new) fprintf(out, "%s%s\n", ENVIRONMENT, environment);
  fprintf(out, "%s\n", text);
  tw_random r;
  tw_random_seed_stream(&r, 1, strlen(text));
  for (int i = 0, tries = 0; i < n && tries < 4 * n; tries++) {
    tw_schedule s = {0};
    char hash[DIGITS + 1], steps[LINE];
    double cost = 0;
    if (i) walk(t, &p, &r, &s);
    if (!evaluate(t, &p, &s, hash, with_cost ? &cost : NULL, &error)) {
      fprintf(stderr, "%s: left out: %s\n", text, error.text);
      i += i == 0;
      continue;
    }
    print_schedule(&s, steps, sizeof steps);
    fprintf(out, "  %s ", hash);
    fprintf(out, with_cost ? "%.9g" : "-", cost);
    fprintf(out, "%s%s\n", *steps ? " " : "", steps);
    i++;
  }
  return fclose(out) ? 1 : 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--write")) return write_again();
  if (argc > 4 && !strcmp(argv[1], "--add")) return add(argc - 2, argv + 2);
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts_and_costs_are_as_recorded),
                                     cmocka_unit_test(every_template_of_a_kernel_is_filled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
