/* test_prune.c - schedules have no dead steps when a search shows them or wisdom stores them. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/candidate.h"
#include "base/files.h"
#include "base/random.h"
#include "search/prune.h"
#include "search/result.h"
#include "search/wisdom.h"
#include "search_fixture.h"
#include "subject.h"

static tw_digest emitted(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  char *source = NULL;
  tw_digest none = {{0}};
  if (tw_target_emit(t, p, s, &source, NULL) != TW_OK) return none;
  const tw_digest digest = tw_target_source_digest(t, source);
  free(source);
  return digest;
}

static bool is_same(tw_digest a, tw_digest b) { return !memcmp(&a, &b, sizeof a); }

/* The steps without which the code and the predicted cost are the same. */
static size_t count_dead(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  size_t dead = 0;
  double whole = -1, cost = -1;
  tw_target_predict(t, p, s, &whole, NULL);
  for (size_t i = 0; i < s->n; i++) {
    tw_schedule shorter = {0};
    for (size_t j = 0; j < s->n; j++)
      if (j != i) tw_schedule_add(&shorter, s->step[j], NULL);
    tw_target_predict(t, p, &shorter, &cost, NULL);
    dead += is_same(emitted(t, p, &shorter), emitted(t, p, s)) && cost == whole;
  }
  return dead;
}

/* Follows the menu at random, `steps` times. */
static tw_schedule walk(const tw_target *t, const tw_problem *p, tw_random *random, size_t steps) {
  tw_schedule s = {0};
  for (size_t i = 0; i < 4 * steps && s.n < steps; i++) {
    tw_menu menu = {0};
    if (tw_target_steps(t, p, &s, &menu, NULL) != TW_OK || menu.n == 0) break;
    tw_schedule longer = s;
    char *source = NULL;
    if (tw_schedule_add(&longer, menu.item[tw_random_below(random, menu.n)].step, NULL) == TW_OK &&
        tw_target_emit(t, p, &longer, &source, NULL) == TW_OK)
      s = longer;
    free(source);
    tw_menu_free(&menu);
  }
  return s;
}

static const char gemm[] = "gemm m=256 n=256 k=256";

static void no_target_keeps_a_dead_step(void **state) {
  enum { WALKS = 6, STEPS = 7 };
  size_t removed = 0, targets = 0;
  tw_problem p;
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    if (tw_problem_parse(t, gemm, &p, NULL) != TW_OK || tw_target_supports(t, &p, NULL) != TW_OK) continue;
    targets++;
    for (uint64_t seed = 0; seed < WALKS; seed += (uint64_t)example_stride()) {
      tw_random random;
      tw_random_seed(&random, seed);
      const tw_schedule given = walk(t, &p, &random, STEPS);
      tw_schedule pruned = given;
      tw_prune_schedule(t, &p, &pruned);
      assert_true(is_same(emitted(t, &p, &given), emitted(t, &p, &pruned)));
      assert_int_equal(count_dead(t, &p, &pruned), 0);
      removed += given.n - pruned.n;
    }
  }
  assert_true(targets >= 5);
  assert_true(removed * (size_t)example_stride() > targets);
}

static void of_two_equal_steps_the_first_stays(void **state) {
  const tw_problem p = fake_problem(16);
  tw_schedule s;
  assert_int_equal(tw_schedule_parse("tile 3\ndepth 1\ntile 3\n", &s, NULL), TW_OK);
  tw_prune_schedule(&fake_target, &p, &s);
  assert_int_equal(s.n, 2);
  assert_string_equal(s.step[0], "tile 3");
  assert_string_equal(s.step[1], "depth 1");
}

static void an_illegal_schedule_is_left_as_it_is(void **state) {
  const tw_problem p = fake_problem(16);
  tw_schedule s;
  assert_int_equal(tw_schedule_parse("tile 3\ntile 3\ntile 77\n", &s, NULL), TW_OK);
  tw_prune_schedule(&fake_target, &p, &s);
  assert_int_equal(s.n, 3);
}

static volatile int stop;
static void stop_soon(void *context, const tw_progress *p) {
  if (p->done >= *(const int *)context) stop = 1;
}

/* The start has a step that is overridden, one that changes nothing, and one that says what is so anyway. */
static tw_search_result search(tw_search_options o, tw_status expected) {
  static tw_schedule known;
  tw_search_result r = {0};
  const tw_problem p = fake_problem(16);
  assert_int_equal(tw_schedule_parse("tile 1\nrename 0\nbank 3\nhoist 0\ntile 4\ndepth 2\nbank 2\n", &known, NULL),
                   TW_OK);
  fake_reset();
  o.start = &known;
  assert_int_equal(tw_search_into(&fake_target, &p, &o, &r, NULL), expected);
  assert_true(r.has_schedule);
  assert_int_equal(count_dead(&fake_target, &p, &r.schedule), 0);
  for (size_t i = 0; i < r.n_rungs; i++) assert_null(strstr(r.rung[i].step, "rename"));
  /* The ladder still tells every step, and ends at the best. */
  char all[4096] = "";
  for (size_t i = 1; i < r.n_rungs; i++) strncat(strncat(all, r.rung[i].step, 1000), "; ", 3);
  for (size_t i = 0; i < r.schedule.n; i++) assert_non_null(strstr(all, r.schedule.step[i]));
  assert_true(r.rung[r.n_rungs - 1].cost == r.best.cost);
  return r;
}

static void a_search_shows_no_dead_step_however_it_ends(void **state) {
  tw_search_options o = fake_options(1, 1);
  tw_search_result whole = search(o, TW_OK);
  tw_search_result_clear(&whole);
  for (int samples = 2; samples < 40; samples += 7) {
    o.samples = samples;
    tw_search_result r = search(o, TW_OK);
    tw_search_result_clear(&r);
  }
  o = fake_options(1, 1);
  o.seconds = 1e-3; /* over before the search has begun */
  tw_search_result late = {0};
  const tw_problem p = fake_problem(16);
  if (tw_search_into(&fake_target, &p, &o, &late, NULL) == TW_OK)
    assert_int_equal(count_dead(&fake_target, &p, &late.schedule), 0);
  tw_search_result_clear(&late);
  for (int done = 2; done < 20; done += 6) {
    o = fake_options(1, 1);
    o.interrupt = &stop;
    o.progress = stop_soon;
    o.context = &done;
    stop = 0;
    tw_search_result r = search(o, TW_INTERRUPTED);
    tw_search_result_clear(&r);
  }
}

static void wisdom_stores_no_dead_step(void **state) {
  char *directory = NULL;
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  char *file = tw_path_join(directory, "wisdom.json");
  tw_wisdom_entry e = {.target = "gemmini-16x16-int8", .cost = 1e9, .unit = "cycles", .utilization = 0.01};
  const tw_target *t = tw_target_find(e.target);
  const tw_problem p = problem_from(t, gemm);
  tw_random random;
  tw_random_seed(&random, 3);
  e.schedule = walk(t, &p, &random, 4);
  tw_schedule_add(&e.schedule, e.schedule.step[e.schedule.n - 1], NULL); /* once more: it changes nothing */
  assert_true(count_dead(t, &p, &e.schedule) > 0);
  tw_problem_print(&p, e.problem, sizeof e.problem);
  assert_int_equal(tw_wisdom_keep(file, &(tw_wisdom){1, &e}, NULL, NULL, NULL), TW_OK);
  tw_wisdom *w;
  assert_int_equal(tw_wisdom_load(file, &w, NULL), TW_OK);
  assert_int_equal(w->n, 1);
  assert_int_equal(count_dead(t, &p, &w->entry[0].schedule), 0);
  assert_true(is_same(emitted(t, &p, &w->entry[0].schedule), emitted(t, &p, &e.schedule)));
  tw_wisdom_free(w);
  tw_directory_remove(directory);
  free(directory);
  free(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_target_keeps_a_dead_step),
      cmocka_unit_test(of_two_equal_steps_the_first_stays),
      cmocka_unit_test(an_illegal_schedule_is_left_as_it_is),
      cmocka_unit_test(a_search_shows_no_dead_step_however_it_ends),
      cmocka_unit_test(wisdom_stores_no_dead_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
