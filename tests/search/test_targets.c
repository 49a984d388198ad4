/* test_targets.c - what is true of every target, whatever machine it is: its tables are complete, its families name
 * keys that their op has, keys that it does not honour are refused; and targets and ops can be added, by any thread. */
#include "search_fixture.h"
#include "target/parse.h"
#include "test.h"

#include <pthread.h>

/* ---- the tables ---- */

static const tw_key *key_of(const tw_op *op, const char *name, size_t length) {
  for (size_t i = 0; i < op->n_keys; i++)
    if (strlen(op->keys[i].name) == length && memcmp(op->keys[i].name, name, length) == 0) return &op->keys[i];
  return NULL;
}

static void every_target_could_be_registered(void **state) {
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    tw_error error = {0};
    tw_target again = *t;
    again.size = sizeof again;
    assert_int_equal(tw_target_register(&again, &error), TW_USAGE); /* it lacks nothing: its name is taken */
    if (!strstr(error.text, "is in use")) fail_msg("%s", error.text);
  }
}

static void families_honour_keys_that_their_op_has(void **state) {
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    for (const tw_family *f = t->family; f < t->family + t->n_families; f++) {
      if (strcmp(f->op, "*") == 0) continue;
      const tw_op *op = tw_op_find(f->op);
      if (!op) fail_msg("%s: there is no op %s", t->name, f->op);
      assert_ptr_equal(tw_family_of(t, op), f);
      for (const char *k = strcmp(f->keys, "*") != 0 ? f->keys : ""; *k; k += strspn(k, " ")) {
        const size_t n = strcspn(k, " ");
        if (!key_of(op, k, n)) fail_msg("%s: %s has no key %.*s", t->name, f->op, (int)n, k);
        k += n;
      }
      for (size_t j = 0; j < op->n_keys; j++) /* what must be given is honoured */
        if (!op->keys[j].fallback && strcmp(f->keys, "*") != 0 && !strstr(f->keys, op->keys[j].name))
          fail_msg("%s: %s needs %s", t->name, f->op, op->keys[j].name);
    }
}

static void optional_tables_are_complete(void **state) {
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    if (t->explainer)
      assert_true(t->explainer->keys && *t->explainer->keys && t->explainer->explain && t->explainer->draw);
    if (t->exporter) assert_non_null(t->exporter->sources); /* floor plans are not for every machine */
    if (t->library) assert_true(t->library->bench && t->library->learn);
    if (t->launcher) assert_non_null(t->launcher->run);
    for (const tw_view *v = t->machine_views; v && v->name; v++) {
      assert_true(v->summary && v->keys && v->show);
      assert_ptr_equal(tw_view_find(t, v->name, NULL), v);
    }
    if (t->rewriter)
      assert_true(t->rewriter->study && t->rewriter->diagnose && t->rewriter->rewrites && t->rewriter->rewrite &&
                  t->rewriter->forget);
  }
}

/* ---- keys ---- */

static void options_of_a_machine_are_no_keys_of_the_op_and_are_known_where_it_is(void **state) {
  const tw_target *t;
  size_t options = 0;
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    for (const tw_family *f = t->family; f < t->family + t->n_families; f++)
      for (size_t j = 0; j < f->n_options; j++, options++) {
        const tw_op *op = tw_op_find(f->op);
        if (!f->options[j].fallback) fail_msg("%s: %s has no default", t->name, f->options[j].name);
        if (op && key_of(op, f->options[j].name, strlen(f->options[j].name)))
          fail_msg("%s: %s is a key of %s", t->name, f->options[j].name, f->op);
      }
  assert_true(options > 0);
  tw_problem p, again;
  tw_error error = {0};
  char text[100];
  assert_int_equal(tw_problem_parse(tw_target_find("x86"), "gemm threads=3 m=4 n=5 k=6", &p, &error), TW_OK);
  assert_int_equal(tw_problem_int(&p, "threads"), 3);
  assert_true(tw_problem_given(&p, "threads"));
  tw_problem_print(&p, text, sizeof text);
  assert_string_equal(text, "gemm m=4 n=5 k=6 threads=3");
  assert_int_equal(tw_problem_parse(tw_target_find("x86"), text, &again, &error), TW_OK);
  assert_int_equal(tw_problem_int(&again, "threads"), 3);
  assert_int_equal(tw_problem_set(&p, "threads", "5000", &error), TW_USAGE);
  assert_int_equal(tw_problem_parse(tw_target_find("xdna2"), text, &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "gemm has no key 'threads'"));
  assert_int_equal(tw_problem_parse(NULL, text, &p, &error), TW_USAGE);
}

/* A problem with the example for each key that must be given. */
static tw_problem example_of(const tw_op *op) {
  char text[TW_KEYS_MAX][64];
  const char *word[TW_KEYS_MAX];
  size_t n = 0;
  tw_problem p;
  tw_error error = {0};
  for (size_t i = 0; i < op->n_keys; i++) {
    const tw_key *k = &op->keys[i];
    if (k->fallback) continue;
    snprintf(text[n], sizeof text[n], "%s=%d", k->name, (int)(k->example ? k->example : 64));
    word[n] = text[n];
    n++;
  }
  if (tw_problem_parse_words(NULL, op->name, n, word, &p, &error) != TW_OK) fail_msg("%s", error.text);
  return p;
}

static void other_value_of(const tw_key *k, char text[64]) {
  const char *second = k->choices ? strchr(k->choices, '|') : NULL;
  switch (k->kind) {
  case TW_KEY_CHOICE: snprintf(text, 64, "%.*s", (int)strcspn(second + 1, "|"), second + 1); break;
  case TW_KEY_TYPE: snprintf(text, 64, "f32"); break;
  case TW_KEY_REAL: snprintf(text, 64, "0.25"); break;
  default: snprintf(text, 64, "%d", k->fallback ? atoi(k->fallback) + 1 : 3);
  }
}

static void keys_that_are_not_honoured_are_refused_by_name_and_their_defaults_are_not(void **state) {
  const tw_target *t;
  int refused = 0;
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    for (const tw_family *f = t->family; f < t->family + t->n_families; f++) {
      const tw_op *op = tw_op_find(f->op);
      for (size_t j = 0; op && j < op->n_keys; j++) {
        char padded[600], name[80], value[64], says[200];
        const tw_key *k = &op->keys[j];
        snprintf(padded, sizeof padded, " %s ", f->keys);
        snprintf(name, sizeof name, " %s ", k->name);
        if (strcmp(f->keys, "*") == 0 || strstr(padded, name)) continue;
        tw_problem plain = example_of(op), asks = plain;
        tw_error error = {0};
        other_value_of(k, value);
        if (tw_problem_set(&asks, k->name, value, &error) != TW_OK) fail_msg("%s", error.text);
        snprintf(says, sizeof says, "%s: %s is not supported for %s", t->name, k->name, f->op);
        assert_int_equal(tw_target_settle(t, &asks, &error), TW_UNSUPPORTED);
        if (!strstr(error.text, says)) fail_msg("'%s' does not say '%s'", error.text, says);
        assert_int_equal(tw_problem_set(&plain, k->name, k->fallback, &error), TW_OK);
        const tw_status status = tw_target_settle(t, &plain, &error);
        if (status != TW_OK && strstr(error.text, says)) fail_msg("a default is refused: %s", error.text);
        refused++;
      }
    }
  assert_true(refused >= 2);
}

static void an_op_that_a_machine_does_not_run_is_refused_with_those_that_it_runs(void **state) {
  tw_problem p = fake_problem(4);
  tw_error error = {0};
  assert_int_equal(tw_target_supports(tw_target_find("xdna2"), &p, &error), TW_UNSUPPORTED);
  assert_string_equal(error.text, "xdna2: op fake is unsupported; expected one of gemm");
}

static void a_family_of_any_op_comes_after_those_with_a_name(void **state) {
  static const tw_family both[] = {{.op = "fake", .keys = "size", .settle = fake_settle, .bound = fake_bound},
                                   {.op = "*", .keys = "*", .settle = fake_settle, .bound = fake_bound}};
  tw_target t = fake_target;
  t.n_families = 2, t.family = both;
  assert_ptr_equal(tw_family_of(&t, &fake_op), &both[0]);
  assert_ptr_equal(tw_family_of(&t, tw_op_find("gemm")), &both[1]);
  t.n_families = 1;
  assert_null(tw_family_of(&t, tw_op_find("gemm")));
}

static void a_family_may_do_without_schedules(void **state) {
  static const tw_family bare = {.op = "fake", .keys = "size", .settle = fake_settle, .bound = fake_bound};
  tw_target t = fake_target;
  t.family = &bare;
  tw_problem p = fake_problem(4);
  const tw_schedule none = {0};
  char *source;
  tw_error error = {0};
  assert_int_equal(tw_target_supports(&t, &p, &error), TW_OK);
  assert_int_equal(tw_target_emit(&t, &p, &none, &source, &error), TW_UNSUPPORTED);
  assert_string_equal(error.text, "fake-machine has no schedules for fake; give the source of a kernel");
}

/* ---- adding ---- */

static void what_is_incomplete_is_not_added(void **state) {
  tw_target t = fake_target;
  tw_op op = fake_op;
  tw_family family = fake_families[0];
  tw_error error = {0};
  t.measure = NULL;
  assert_int_equal(tw_target_register(&t, &error), TW_USAGE);
  assert_string_equal(error.text, "the target fake-machine lacks measure");
  t = fake_target;
  t.family = &family;
  family.predict = NULL;
  assert_int_equal(tw_target_register(&t, &error), TW_USAGE);
  assert_string_equal(error.text, "family 0 of the target fake-machine lacks steps, emit and predict together");
  op.compare = NULL;
  assert_int_equal(tw_op_register(&op, &error), TW_USAGE);
  assert_string_equal(error.text, "the op fake lacks compare");
  op = fake_op;
  op.name = "gemm";
  assert_int_equal(tw_op_register(&op, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "the name of the op 'gemm' is in use"));
  assert_null(tw_target_find("fake-machine"));
}

enum { THREADS = 8, EACH = 4 };
static tw_target own[THREADS][EACH];
static char own_name[THREADS][EACH][32];

static void *add_some(void *context) {
  const long thread = (long)context;
  for (int i = 0; i < EACH; i++) {
    own[thread][i] = fake_target;
    own[thread][i].name = own_name[thread][i];
    snprintf(own_name[thread][i], sizeof own_name[thread][i], "fake-%ld-%d", thread, i);
    if (tw_target_register(&own[thread][i], NULL) != TW_OK) return "not added";
    if (tw_target_find(own_name[thread][i]) != &own[thread][i]) return "not found";
  }
  return NULL;
}

static void threads_add_targets_and_all_are_found_once(void **state) {
  pthread_t thread[THREADS];
  size_t before = 0, after = 0;
  while (tw_target_at(before)) before++;
  for (long i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, add_some, (void *)i), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(thread[i], &wrong);
    if (wrong) fail_msg("%s", (char *)wrong);
  }
  while (tw_target_at(after)) after++;
  assert_int_equal(after, before + THREADS * EACH);
  for (size_t i = 0; i < after; i++) assert_ptr_equal(tw_target_find(tw_target_at(i)->name), tw_target_at(i));
  assert_int_equal(tw_op_register(&fake_op, NULL), TW_OK);
  assert_ptr_equal(tw_op_find("fake"), &fake_op);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_target_could_be_registered),
      cmocka_unit_test(families_honour_keys_that_their_op_has),
      cmocka_unit_test(optional_tables_are_complete),
      cmocka_unit_test(options_of_a_machine_are_no_keys_of_the_op_and_are_known_where_it_is),
      cmocka_unit_test(keys_that_are_not_honoured_are_refused_by_name_and_their_defaults_are_not),
      cmocka_unit_test(an_op_that_a_machine_does_not_run_is_refused_with_those_that_it_runs),
      cmocka_unit_test(a_family_of_any_op_comes_after_those_with_a_name),
      cmocka_unit_test(a_family_may_do_without_schedules),
      cmocka_unit_test(what_is_incomplete_is_not_added),
      cmocka_unit_test(threads_add_targets_and_all_are_found_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
