/* test_verb.c - the language of steps: what a table takes, what it refuses and in which words, and the menu that is
 * built from it. The machine here has tiles of at most 100 elements. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "tilewright/extend/menu.h"

typedef struct plan {
  int64_t m;
  int n, unroll;
  enum { ROWS, COLUMNS, BOTH } order;
  bool packed, is_even;
  char loops[4];
} plan;

static bool read_loops(const void *context, const tw_argument *argument, const char *text, void *loops) {
  (void)context, (void)argument;
  if (strlen(text) != 2) return false;
  memcpy(loops, text, 3);
  return true;
}

static void pack_first(const void *context, void *changed) {
  (void)context;
  ((plan *)changed)->n = 64;
}

static tw_status then_even(const void *context, void *changed, unsigned given, tw_error *error) {
  plan *p = changed;
  (void)context;
  p->is_even = given & 1;
  return p->n % 2 == 0 ? TW_OK : tw_fail(error, TW_USAGE, "needs an even n, not %d", p->n);
}

static const tw_verb verbs[] = {
    {TW_VERB("tile", "tile m=16 n=8", "Set the tile.", 1, TW_NUMBER("m", plan, m, 1, 1LL << 40),
             TW_NUMBER("n", plan, n, 0, 4096))},
    {TW_VERB("order", "order rows", "Choose the order.", 1, TW_CHOICE("", plan, order, 0, "rows|columns|both"))},
    {TW_VERB("unroll", "unroll 2 ij", "Unroll.", 1, TW_NUMBER("", plan, unroll, 0, 9),
             TW_READ("", plan, loops, read_loops))},
    {.name = "pack",
     .usage = "pack, pack n=64",
     .sets = TW_FIELD(plan, packed),
     .argument = {TW_NUMBER("n", plan, n, 0, 4096)},
     .first = pack_first,
     .then = then_even},
};
static const tw_verb renamed_verbs[] = {
    {TW_VERB("cluster|team|gang", "cluster m=2", "Share loads.", 1, TW_NUMBER("m|rows", plan, m, 1, 16))},
    {TW_VERB("copy", "copy direct_to_lds", "Choose the path.", 1,
             TW_CHOICE("", plan, order, 0, "direct_to_lds=direct|registers"))},
    {TW_VERB("team_size|copy", "team_size n=4", "Set a number.", 1, TW_NUMBER("n", plan, n, 1, 64))},
};
static const tw_language renamed = {TW_LANGUAGE("a renamed test", renamed_verbs)};
static const tw_language language = {TW_LANGUAGE("a test", verbs)};

static plan applied(const char *text) {
  plan p = {0};
  tw_schedule s;
  tw_error error = {0};
  if (tw_schedule_parse(text, &s, &error) || tw_steps_apply(&language, NULL, &s, &p, NULL, &error))
    fail_msg("%s", error.text);
  return p;
}

static void old_names_are_read_and_replaced(void **state) {
  static const struct {
    const char *old, *current;
  } steps[] = {{"team m=2", "cluster m=2"},
               {"gang rows=4", "cluster m=4"},
               {"cluster rows=4", "cluster m=4"},
               {"copy direct", "copy direct_to_lds"},
               {"cluster m=2", NULL},
               {"copy registers", NULL},
               {"copy direct_to_lds", NULL},
               {"gangs m=2", NULL}};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    const char *current = steps[i].current ? steps[i].current : steps[i].old;
    char out[TW_STEP_MAX];
    plan a = {0}, b = {0};
    assert_int_equal(tw_step_rename(&renamed, steps[i].old, out), steps[i].current != NULL);
    assert_string_equal(out, current);
    const tw_status status = tw_step_apply(&renamed, NULL, steps[i].old, &a, NULL);
    assert_int_equal(status, strncmp(steps[i].old, "gangs", 5) == 0 ? TW_USAGE : TW_OK);
    assert_int_equal(tw_step_apply(&renamed, NULL, current, &b, NULL), status);
    assert_true(tw_plan_same(&renamed, &a, &b));
  }
  assert_true(tw_step_is(&renamed_verbs[0], "gang m=2"));
  assert_true(tw_step_is(&renamed_verbs[0], "cluster"));
  assert_false(tw_step_is(&renamed_verbs[0], "clusters m=2"));
}

/* The old name of one verb may be the current name of another. */
static void a_current_name_comes_before_an_old_one(void **state) {
  plan p = {0};
  tw_error error = {0};
  assert_int_equal(tw_step_apply(&renamed, NULL, "copy registers", &p, &error), TW_OK);
  assert_int_equal(p.order, COLUMNS);
}

static void messages_have_current_names_only(void **state) {
  plan p = {0};
  tw_error error = {0};
  assert_int_equal(tw_step_apply(&renamed, NULL, "copy sideways", &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "expected one of direct_to_lds|registers; usage"));
  assert_int_equal(tw_step_apply(&renamed, NULL, "clusterr m=2", &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "did you mean 'cluster'?"));
  assert_int_equal(tw_step_apply(&renamed, NULL, "zzz", &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "expected one of cluster, copy, team_size"));
  assert_int_equal(tw_step_apply(&renamed, NULL, "team rows=99", &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "'m=99'; expected a number from 1 to 16"));
}

static void values_go_where_the_table_says(void **state) {
  const plan p = applied("tile n=8 m=1099511627776\norder columns\nunroll 3 ji");
  assert_int_equal(p.m, 1LL << 40);
  assert_int_equal(p.n, 8);
  assert_int_equal(p.order, COLUMNS);
  assert_int_equal(p.unroll, 3);
  assert_string_equal(p.loops, "ji");
  assert_false(p.packed);
}

static void of_two_steps_about_the_same_the_later_counts_and_what_a_step_leaves_out_stays(void **state) {
  const plan p = applied("tile m=4 n=8\ntile m=5\nunroll 2 ij\nunroll 1");
  assert_int_equal(p.m, 5);
  assert_int_equal(p.n, 8);
  assert_int_equal(p.unroll, 1);
  assert_string_equal(p.loops, "ij");
}

static void arguments_count_more_than_what_a_verb_sets_by_itself(void **state) {
  assert_int_equal(applied("pack").n, 64);
  assert_false(applied("pack").is_even);
  const plan p = applied("pack n=12");
  assert_int_equal(p.n, 12);
  assert_true(p.packed);
  assert_true(p.is_even); /* `then` knows what was given */
}

static void what_is_wrong_is_said_in_one_line_with_the_word(void **state) {
  static const struct {
    const char *step, *part;
  } wrong[] = {
      {"fly high", "step 'fly high': unknown step for a test; expected one of tile, order, unroll, pack"},
      {"columns", "step 'columns': 'columns' is an argument of the step 'order' for a test; usage: order rows"},
      {"tile", "step 'tile' is incomplete; usage: tile m=16 n=8"},
      {"tile m=32 m=64", "step 'tile m=32 m=64': 'm' is given twice; remove one"},
      {"tile m=4 n=2 nonsense", "unexpected 'nonsense'; usage: tile m=16 n=8"},
      {"tile q=4", "unexpected 'q'"},
      {"tile =4", "unexpected ''"},
      {"tile m", "unexpected 'm'"},
      {"tile m=", "unsupported value 'm='; expected a number from 1 to 1099511627776"},
      {"tile m=0", "unsupported value 'm=0'; expected a number from"},
      {"tile m=+4", "unsupported value 'm=+4'; expected a number from"},
      {"tile m=4x", "unsupported value 'm=4x'; expected a number from"},
      {"tile m=99999999999999999999", "expected a number from"},
      {"tile m=1=2", "unsupported value 'm=1=2'; expected a number from"},
      {"order row", "unsupported value 'row'; expected one of rows|columns|both"},
      {"order rows|columns", "unsupported value 'rows|columns'; expected one of"},
      {"order rows columns", "unexpected 'columns'"},
      {"unroll 2 ij ji", "unexpected 'ji'"},
      {"unroll ij", "unsupported value 'ij'; expected a number from 0 to 9"},
      {"unroll 2 ijk", "unsupported value 'ijk'; usage: unroll 2 ij"},
      {"pack n=3", "step 'pack n=3' needs an even n, not 3"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    plan p = {0};
    tw_error error = {0};
    assert_int_equal(tw_step_apply(&language, NULL, wrong[i].step, &p, &error), TW_USAGE);
    if (!strstr(error.text, wrong[i].part)) fail_msg("'%s' does not say '%s'", error.text, wrong[i].part);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(tw_step_apply(&language, NULL, wrong[i].step, &p, NULL), TW_USAGE);
  }
}

static tw_status at_most_100(const void *context, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  (void)context;
  return p->m * p->n <= 100 ? TW_OK : tw_fail(error, TW_USAGE, "%d elements", (int)p->m * p->n);
}

static void the_step_that_makes_a_plan_illegal_is_named(void **state) {
  plan p = {0};
  tw_schedule s;
  tw_error error = {0};
  tw_schedule_parse("tile m=10 n=10\ntile n=20\ntile n=5", &s, NULL);
  assert_int_equal(tw_steps_apply(&language, NULL, &s, &p, at_most_100, &error), TW_USAGE);
  assert_string_equal(error.text, "step 2, 'tile n=20', is not possible here: 200 elements");
  assert_int_equal(tw_steps_apply(&language, NULL, &s, &p, NULL, &error), TW_OK);
}

static double judge(const void *context, const void *looked_at) {
  const plan *p = looked_at;
  return at_most_100(context, p, NULL) == TW_OK ? 1000.0 - (double)p->m * p->n : 0;
}

static void a_menu_holds_what_is_legal_and_new_the_best_first_and_once(void **state) {
  const tw_schedule none = {0};
  const plan now = {.m = 4, .n = 4};
  plan next;
  static const tw_offer offers[] = {
      {"tile", "tile m=4", "nothing new"}, {"tile", "tile n=50", "too large"}, {"tile", "tile m=0", "not a step"},
      {"order", "order both", "b"},        {"order", "order columns", "a"},
  };
  tw_menu_builder m = {.language = &language,
                       .schedule = &none,
                       .now = &now,
                       .next = &next,
                       .plan_size = sizeof now,
                       .judge = judge,
                       .now_cost = 984};
  tw_menu menu;
  tw_menu_offer_all(&m, sizeof offers / sizeof *offers, offers);
  for (int i = 0; i < 2; i++) tw_menu_offer(&m, "tile", "larger", "tile m=%d n=%d", 10, 10);
  assert_int_equal(tw_menu_finish(&m, &menu, NULL), TW_OK);
  assert_int_equal(menu.n, 3);
  assert_string_equal(menu.item[0].step, "tile m=10 n=10");
  assert_string_equal(menu.item[0].why, "larger; model: 1.09x as fast");
  assert_true(menu.item[0].predicted_cost == 900);
  assert_string_equal(menu.item[1].step, "order both"); /* equal costs: by text */
  assert_string_equal(menu.item[2].step, "order columns");
  assert_int_equal(now.m, 4); /* trying changes nothing */
  tw_menu_free(&menu);
}

static double equal(const void *context, const void *any) {
  (void)context, (void)any;
  return 1;
}

static void after_a_full_schedule_comes_nothing(void **state) {
  tw_schedule full = {0};
  const plan now = {.m = 1, .n = 1};
  plan next;
  while (full.n < TW_STEPS_MAX) tw_schedule_add(&full, "tile m=1", NULL);
  tw_menu_builder m = {.language = &language, .schedule = &full, .now = &now, .next = &next, .plan_size = sizeof now};
  tw_menu menu;
  m.judge = judge;
  tw_menu_offer(&m, "tile", "larger", "tile m=2");
  assert_int_equal(tw_menu_finish(&m, &menu, NULL), TW_OK);
  assert_int_equal(menu.n, 0);
  tw_menu_free(&menu);
}

/* The menu of a language: values out of range, steps without effect and rows without a reason are left out. */
static void rows_offer_their_steps(void **state) {
  static const tw_verb rows[] = {
      {TW_VERB("tile", "tile m=4, tile m=8", "Set the tile.", 1, TW_NUMBER("m", plan, m, 1, 16)),
       .offers = "m=2, m=4, m=32", .why = "larger"},
      {TW_NUMBERED("unroll|turn", "unroll 2", "Unroll.", plan, unroll, 1, 4), .offers = "1, 2, 9", .why = "longer"},
      {TW_FLAG_RENAMED("pack", "packed", "Pack.", plan, packed), .why = "shorter"},
      {TW_FLAG("even", "Make it even.", plan, is_even)},
  };
  static const tw_language offered = {TW_LANGUAGE("a test of offers", rows), .begun = TW_FIELD(plan, m)};
  static const char *const expected[2] = {"tile m=2;tile m=4;", "pack;tile m=2;unroll 1;unroll 2;"};
  const tw_schedule none = {0};
  for (int begun = 0; begun < 2; begun++) {
    const plan now = {.m = begun ? 4 : 0, .n = 1};
    plan next;
    tw_menu menu;
    char found[100] = "";
    tw_menu_builder m = {.language = &offered, .schedule = &none, .now = &now, .next = &next, .plan_size = sizeof now};
    m.judge = equal;
    tw_menu_offer_language(&m);
    assert_int_equal(tw_menu_finish(&m, &menu, NULL), TW_OK);
    for (size_t i = 0; i < menu.n; i++) {
      strcat(strcat(found, menu.item[i].step), ";");
      if (menu.item[i].step[0] == 'u') assert_string_equal(menu.item[i].lever, "unroll");
    }
    assert_string_equal(found, expected[begun]);
    tw_menu_free(&menu);
  }
  plan p = {0};
  tw_error error = {0};
  assert_int_equal(tw_step_apply(&offered, NULL, "pack", &p, &error), TW_USAGE);
  assert_string_equal(error.text, "step 'pack' requires 'tile m=4' before it");
  assert_int_equal(tw_step_apply(&offered, NULL, "tile m=1", &p, &error), TW_OK);
  assert_int_equal(tw_step_apply(&offered, NULL, "pack", &p, &error), TW_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(old_names_are_read_and_replaced),
      cmocka_unit_test(a_current_name_comes_before_an_old_one),
      cmocka_unit_test(messages_have_current_names_only),
      cmocka_unit_test(values_go_where_the_table_says),
      cmocka_unit_test(of_two_steps_about_the_same_the_later_counts_and_what_a_step_leaves_out_stays),
      cmocka_unit_test(arguments_count_more_than_what_a_verb_sets_by_itself),
      cmocka_unit_test(what_is_wrong_is_said_in_one_line_with_the_word),
      cmocka_unit_test(the_step_that_makes_a_plan_illegal_is_named),
      cmocka_unit_test(a_menu_holds_what_is_legal_and_new_the_best_first_and_once),
      cmocka_unit_test(after_a_full_schedule_comes_nothing),
      cmocka_unit_test(rows_offer_their_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
