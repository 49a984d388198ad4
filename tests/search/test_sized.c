/* test_sized.c - programs that were compiled with another header than the library (status.h): older, smaller structs
 * work, newer, larger ones as long as they ask for nothing that the library does not know. The structs end at a page
 * that cannot be touched. */
#include "guarded.h"
#include "search/result.h"
#include "search_fixture.h"
#include "test.h"

enum { MORE = 24 }; /* bytes of what some later release adds */

/* The struct as a program has it whose header says `size` bytes: what lies behind the known ones is `filler`. */
static guarded as_compiled(const void *known, size_t known_size, size_t size, int filler) {
  guarded g = guarded_new(size, 8, 1);
  memset(g.data, filler, size);
  memcpy(g.data, known, size < known_size ? size : known_size);
  memcpy(g.data, &size, sizeof size);
  return g;
}

/* ---- what a program fills in ---- */

/* Does the call take the first `size` bytes of the struct, more of them that are 0, and no others? */
typedef tw_status taker(const void *given, tw_error *);
static void takes(taker *call, const char *type, const void *known, size_t known_size, size_t older) {
  const struct {
    size_t size;
    int filler;
    tw_status status;
  } as[] = {{known_size, 0, TW_OK}, {older, 0, TW_OK}, {known_size + MORE, 0, TW_OK}, {known_size + MORE, 1, TW_USAGE}};
  for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
    tw_error error = {0};
    guarded g = as_compiled(known, known_size, as[i].size, as[i].filler);
    const tw_status status = call(g.data, &error);
    if (status != as[i].status) fail_msg("%s of %zu bytes: %d, %s", type, as[i].size, (int)status, error.text);
    if (status != TW_OK) {
      char expected[100];
      snprintf(expected, sizeof expected, "%s has %zu bytes, but this library, ", type, as[i].size);
      if (strncmp(error.text, expected, strlen(expected)) != 0) fail_msg("%s", error.text);
    }
    guarded_free(&g);
  }
  for (size_t wrong = 0; wrong <= sizeof wrong; wrong += sizeof wrong) { /* not set, and nothing but the size */
    char memory[sizeof(tw_op) + sizeof(tw_target)], expected[100];
    tw_error error = {0};
    assert_true(known_size < sizeof memory);
    memcpy(memory, known, known_size);
    memcpy(memory, &wrong, sizeof wrong);
    snprintf(expected, sizeof expected, "%s.size is %zu: set it to sizeof(%s) before the call", type, wrong, type);
    assert_int_equal(call(memory, &error), TW_USAGE);
    assert_string_equal(error.text, expected);
  }
}

static tw_status plan(const void *spec, tw_error *error) {
  tw_gemm_plan *planned;
  const tw_status status = tw_gemm_plan_create(spec, &planned, error);
  tw_gemm_plan_destroy(planned);
  return status;
}

static tw_gemm_plan *planned;
static tw_status execute(const void *operands, tw_error *error) {
  return tw_gemm_plan_execute(planned, operands, error);
}

static void products_of_programs_with_other_headers(void **state) {
  const tw_gemm_spec spec = {.size = sizeof spec, .m = 1, .n = 1, .k = 2, .threads = 1};
  const float a[] = {2, 3}, b[] = {5, 7}, bias[] = {100};
  float c = 0;
  tw_error error = {0};
  takes(plan, "tw_gemm_spec", &spec, sizeof spec, offsetof(tw_gemm_spec, kernel));
  assert_int_equal(tw_gemm_plan_create(&spec, &planned, NULL), TW_OK);
  void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, (tw_gemm_packed_bytes(planned) + 63) / 64 * 64);
  assert_int_equal(tw_gemm_pack(planned, b, packed, NULL), TW_OK);
  const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = packed, .c = &c, .bias = bias};
  takes(execute, "tw_gemm_operands", &o, sizeof o, offsetof(tw_gemm_operands, row_scale));
  assert_true(c == 131);

  /* What an older program cannot say counts as 0: here the bias, and a k that must be given. */
  guarded older = as_compiled(&o, sizeof o, offsetof(tw_gemm_operands, bias), 0);
  assert_int_equal(tw_gemm_plan_execute(planned, (void *)older.data, NULL), TW_OK);
  assert_true(c == 31);
  guarded_free(&older);
  older = as_compiled(&spec, sizeof spec, offsetof(tw_gemm_spec, k), 0);
  assert_int_equal(plan(older.data, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "k=0"));
  guarded_free(&older);
  free(packed);
  tw_gemm_plan_destroy(planned);
}

static tw_status search(const void *options, tw_error *error) {
  const tw_problem p = fake_problem(16);
  tw_search_result r = {0};
  fake_reset();
  const tw_status status = tw_search_into(&fake_target, &p, options, &r, error);
  assert_true((r.source != NULL) == (status == TW_OK));
  tw_search_result_clear(&r);
  return status;
}

static tw_status search_with_models(const void *model, tw_error *error) {
  tw_search_options o = fake_options(1, 1);
  o.iterations = 1, o.model = model;
  return search(&o, error);
}

static tw_status run(const void *options, tw_error *error) {
  const tw_problem p = fake_problem(16);
  const tw_schedule none = {0};
  char *source;
  tw_run_result *r;
  fake_reset();
  assert_int_equal(tw_target_emit(&fake_target, &p, &none, &source, NULL), TW_OK);
  const tw_status status = tw_run(&fake_target, &p, source, strlen(source), options, &r, error);
  assert_true((r != NULL) == (status == TW_OK));
  tw_run_result_free(r);
  free(source);
  return status;
}

static void searches_of_programs_with_other_headers(void **state) {
  tw_search_options o = fake_options(1, 1);
  const tw_model_options model = {.size = sizeof model};
  const tw_run_options once = {.size = sizeof once, .seed = 1, .jobs = 1};
  o.iterations = 1;
  takes(search, "tw_search_options", &o, sizeof o, offsetof(tw_search_options, samples));
  takes(search_with_models, "tw_model_options", &model, sizeof model, offsetof(tw_model_options, questions));
  takes(run, "tw_run_options", &once, sizeof once, offsetof(tw_run_options, trust));
}

static tw_op own_op;
static tw_status add_op(const void *op, tw_error *error) {
  static char name[16][16];
  static int n;
  void *kept = NULL; /* it must stay where it is */
  memcpy(&own_op, op, sizeof(size_t));
  if (own_op.size == 0 || own_op.size == sizeof(size_t)) return tw_op_register(op, error);
  kept = malloc(own_op.size);
  memcpy(kept, op, own_op.size);
  snprintf(name[n], sizeof name[n], "op-%d", n);
  ((tw_op *)kept)->name = name[n];
  const tw_status status = tw_op_register(kept, error);
  const tw_op *found = tw_op_find(name[n++]);
  if (status != TW_OK) {
    assert_null(found);
    free(kept);
    return status;
  }
  assert_int_equal(found == kept, own_op.size >= sizeof(tw_op));
  assert_ptr_equal(found->compare, fake_op.compare);
  if (found != kept) { /* the library has a copy */
    assert_null(found->exact);
    free(kept);
  }
  return TW_OK;
}

static void ops_of_programs_with_other_headers(void **state) {
  takes(add_op, "tw_op", &fake_op, sizeof fake_op, offsetof(tw_op, exact));
}

/* A target without what came last works as one that has not. */
static void a_target_of_a_program_with_an_older_header(void **state) {
  const tw_problem p = fake_problem(16);
  tw_search_options o = fake_options(1, 1);
  tw_search_result r = {0};
  static guarded g; /* it stays */
  g = as_compiled(&fake_target, sizeof fake_target, offsetof(tw_target, explainer), 0);
  fake_reset();
  assert_int_equal(tw_target_register((void *)g.data, NULL), TW_OK);
  const tw_target *t = tw_target_find(fake_target.name);
  assert_true(t && (const void *)t != (const void *)g.data && !t->machine_views);
  o.iterations = 1;
  assert_int_equal(tw_search_into(t, &p, &o, &r, NULL), TW_OK);
  tw_search_result_clear(&r);
}

/* ---- mistakes in calls ---- */

static void missing_arguments_are_named(void **state) {
  const tw_problem p = fake_problem(16), none = {0};
  const tw_search_options search_options = fake_options(1, 1);
  const tw_tune_options bad_size = {.size = 3},
                        bad_search = {.size = sizeof bad_search, .search = &(tw_search_options){0}},
                        no_program = {.size = sizeof no_program, .rewrites_only = true};
  tw_search_result *found;
  tw_run_result *ran;
  tw_problem edited = {0};
  tw_error error = {0};
  assert_int_equal(tw_search(NULL, &p, &search_options, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_target_find"));
  assert_int_equal(tw_search(&fake_target, &none, &search_options, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_problem_parse"));
  assert_int_equal(tw_tune(NULL, &p, NULL, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_target_find"));
  assert_int_equal(tw_tune(&fake_target, NULL, NULL, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_problem_parse"));
  assert_int_equal(tw_tune(&fake_target, &p, &bad_size, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_tune_options.size is 3"));
  assert_int_equal(tw_tune(&fake_target, &p, &bad_search, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_search_options.size is 0"));
  assert_int_equal(tw_tune(&fake_target, &p, &no_program, &found, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_tune_options.program"));
  assert_null(found);
  assert_int_equal(tw_run(&fake_target, &p, NULL, 0, NULL, &ran, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "source is NULL"));
  assert_int_equal(tw_run(&fake_target, &none, "", 0, NULL, &ran, &error), TW_USAGE);
  assert_null(ran);
  assert_int_equal(tw_problem_set(&edited, "m", "1", &error), TW_USAGE);
  assert_non_null(strstr(error.text, "tw_problem_parse"));
  assert_int_equal(tw_problem_parse(NULL, NULL, &edited, &error), TW_USAGE);
  assert_int_equal(tw_problem_parse(NULL, "gemm m=4 n=5 k=6", &edited, &error), TW_OK);
  assert_int_equal(tw_problem_set(&edited, "m", NULL, &error), TW_USAGE);
  assert_int_equal(tw_problem_set(&edited, "m", "0", &error), TW_USAGE);
  assert_int_equal(tw_problem_int(&edited, "m"), 4); /* unchanged */
  assert_int_equal(tw_problem_set(&edited, "m", "7", &error), TW_OK);
  assert_int_equal(tw_problem_int(&edited, "m"), 7);
  tw_search_result_free(NULL);
  tw_run_result_free(NULL);
}

/* ---- results are read by functions ---- */

static void a_result_is_read_by_functions(void **state) {
  const tw_problem p = fake_problem(16);
  tw_search_options o = fake_options(1, 1);
  tw_search_result *r, whole;
  o.iterations = 1;
  fake_reset();
  assert_int_equal(tw_search_into(&fake_target, &p, &o, &whole, NULL), TW_OK);
  fake_reset();
  assert_int_equal(tw_search(&fake_target, &p, &o, &r, NULL), TW_OK);
  assert_string_equal(tw_search_result_source(r), whole.source);
  assert_string_equal(tw_search_result_start_source(r), whole.start_source);
  assert_int_equal(tw_search_result_schedule(r)->n, whole.schedule.n);
  assert_true(tw_search_result_best(r)->cost == whole.best.cost && tw_search_result_start(r)->cost == whole.start.cost);
  assert_true(tw_search_result_bound(r)->cost == whole.bound.cost && tw_search_result_error(r) == whole.error);
  assert_string_equal(tw_search_result_rung(r, 0)->step, "start");
  assert_non_null(tw_search_result_rung(r, whole.n_rungs - 1));
  assert_null(tw_search_result_rung(r, whole.n_rungs));
  assert_null(tw_search_result_model_call(r, 0));
  assert_int_equal(tw_search_result_samples(r), whole.samples);
  assert_int_equal(tw_search_result_correct(r), whole.correct);
  assert_int_equal(tw_search_result_slower(r), whole.slower);
  assert_int_equal(tw_search_result_cost_from(r), TW_COST_HERE);
  assert_false(tw_search_result_is_rewritten(r));
  assert_string_equal(tw_search_result_notes(r), "");
  tw_search_result_free(r);
  tw_search_result_clear(&whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_programs_with_other_headers),
      cmocka_unit_test(searches_of_programs_with_other_headers),
      cmocka_unit_test(ops_of_programs_with_other_headers),
      cmocka_unit_test(a_target_of_a_program_with_an_older_header),
      cmocka_unit_test(missing_arguments_are_named),
      cmocka_unit_test(a_result_is_read_by_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
