/* test_old_steps.c - schedules with old step names, of problems with old keys, still mean what they meant.
 * tests/data/old_schedules.txt has a line per old schedule, and below it the same schedule with current names. Both
 * must give the same kernel, byte for byte. */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tilewright/extend/extend.h"

enum { LINE = 4096, LEAST = 300 };

typedef struct corpus {
  const tw_target *target;
  tw_problem problem;
  tw_schedule old;
  int pairs, old_keys;
} corpus;

static void read_schedule(const char *text, tw_schedule *s) {
  char copy[LINE], *rest = copy;
  tw_error error = {0};
  snprintf(copy, sizeof copy, "%s", text);
  *s = (tw_schedule){0};
  for (char *step; (step = strsep(&rest, ";"));)
    if (tw_schedule_add(s, step, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
}

/* A problem with old keys is the problem with the current ones, and is printed with them. */
static void compare_keys(corpus *c, const char *problem) {
  char *renamed = tw_problem_renamed(problem), text[LINE], again[LINE];
  tw_problem now;
  assert_non_null(renamed);
  assert_int_equal(tw_problem_parse(c->target, renamed, &now, NULL), TW_OK);
  assert_int_equal(tw_target_supports(c->target, &now, NULL), TW_OK);
  tw_problem_print(&c->problem, text, sizeof text);
  tw_problem_print(&now, again, sizeof again);
  assert_string_equal(text, again);
  c->old_keys += strcmp(problem, renamed) != 0;
  free(renamed);
  renamed = tw_problem_renamed(text);
  assert_string_equal(renamed, text);
  free(renamed);
}

static void read_problem(corpus *c, char *line) {
  tw_error error = {0};
  char *problem = strchr(line, ' ');
  if (!problem) fail_msg("expected 'TARGET PROBLEM': %s", line);
  *problem++ = '\0';
  c->target = tw_target_find(line);
  if (!c->target) fail_msg("unknown target %s", line);
  if (tw_problem_parse(c->target, problem, &c->problem, &error) != TW_OK ||
      tw_target_supports(c->target, &c->problem, &error) != TW_OK)
    fail_msg("%s %s: %s", line, problem, error.text);
  compare_keys(c, problem);
}

/* NULL: this CPU lacks an instruction set that the schedule names. */
static char *emitted(const corpus *c, const tw_schedule *s, const char *current) {
  char *source = NULL;
  tw_error error = {0};
  if (tw_target_emit(c->target, &c->problem, s, &source, &error) != TW_OK && strcmp(c->target->name, "x86") != 0)
    fail_msg("%s: %s: %s", c->target->name, current, error.text);
  return source;
}

/* The menus after both schedules must be the same, too. */
static void compare_menus(const corpus *c, const tw_schedule *now) {
  tw_menu a, b;
  tw_error error = {0};
  assert_int_equal(tw_target_steps(c->target, &c->problem, &c->old, &a, &error), TW_OK);
  assert_int_equal(tw_target_steps(c->target, &c->problem, now, &b, &error), TW_OK);
  assert_int_equal(a.n, b.n);
  for (size_t i = 0; i < a.n; i++) assert_string_equal(a.item[i].step, b.item[i].step);
  tw_menu_free(&a);
  tw_menu_free(&b);
}

static void compare(corpus *c, const char *current) {
  tw_schedule now, renamed = c->old;
  read_schedule(current, &now);
  assert_true(tw_target_rename_steps(c->target, &c->problem, &renamed));
  assert_int_equal(renamed.n, now.n);
  for (size_t i = 0; i < now.n; i++) assert_string_equal(renamed.step[i], now.step[i]);
  assert_false(tw_target_rename_steps(c->target, &c->problem, &now));
  char *before = emitted(c, &c->old, current), *after = emitted(c, &now, current);
  assert_true(!before == !after);
  if (!before) return;
  assert_string_equal(before, after);
  double old_cost = 0, cost = 0;
  assert_int_equal(tw_target_predict(c->target, &c->problem, &c->old, &old_cost, NULL), TW_OK);
  assert_int_equal(tw_target_predict(c->target, &c->problem, &now, &cost, NULL), TW_OK);
  assert_true(old_cost == cost);
  free(before);
  free(after);
  if (c->pairs++ % 16 == 0) compare_menus(c, &now);
}

static void an_old_schedule_makes_the_kernel_of_the_current_one(void **state) {
  static corpus c;
  char line[LINE];
  FILE *f = fopen(TW_TEST_DATA "/old_schedules.txt", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    if (*line == '#') continue;
    if (*line == ' ')
      read_schedule(line + 2, &c.old);
    else if (*line == '>')
      compare(&c, line + 2);
    else
      read_problem(&c, line);
  }
  fclose(f);
  if (c.pairs < LEAST) fail_msg("%d schedules; expected at least %d", c.pairs, LEAST);
  if (c.old_keys < 5) fail_msg("%d problems with old keys; expected 5", c.old_keys);
}

static void the_menu_has_current_names_only(void **state) {
  static const char *const subjects[][2] = {{"cuda-h200", "gemm m=512 n=512 k=512 a=bf16 b=bf16"},
                                            {"cdna4", "gemm m=512 n=512 k=512 a=bf16 b=bf16"},
                                            {"gemmini-16x16-int8", "gemm m=64 n=64 k=64"},
                                            {"gemmini-4x4-fp32", "mpc_forward horizon=10 states=12 inputs=4"}};
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    const tw_target *t = tw_target_find(subjects[i][0]);
    tw_problem p;
    tw_menu menu;
    const tw_schedule none = {0};
    assert_int_equal(tw_problem_parse(t, subjects[i][1], &p, NULL), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, NULL), TW_OK);
    assert_int_equal(tw_target_steps(t, &p, &none, &menu, NULL), TW_OK);
    assert_true(menu.n > 0);
    for (size_t j = 0; j < menu.n; j++) {
      tw_schedule s = {0};
      assert_int_equal(tw_schedule_add(&s, menu.item[j].step, NULL), TW_OK);
      if (tw_target_rename_steps(t, &p, &s)) fail_msg("the menu offers the old name '%s'", menu.item[j].step);
    }
    tw_menu_free(&menu);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_old_schedule_makes_the_kernel_of_the_current_one),
                                     cmocka_unit_test(the_menu_has_current_names_only)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
