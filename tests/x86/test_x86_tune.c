/* test_x86_tune.c - schedules of x86: what is legal, that kernels made from them are right, and that wisdom reaches the
 * library's plans. */
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/parallel.h"
#include "base/random.h"
#include "search/result.h"
#include "search/wisdom.h"
#include "target/parse.h"
#include "target/x86/cpu.h"
#include "target/x86/emit.h"
#include "target/x86/plan.h"
#include "target/x86/rates.h"
#include "target/x86/tune/apply.h"
#include "target/x86/tune/build.h"
#include "target/x86/tune/inner_loop.h"
#include "target/x86/tune/measure.h"
#include "target/x86/tune/tuning.h"
#include "tilewright/extend/extend.h"
#include "x86/portable.h"

static const tw_target *target(void) { return tw_target_find("x86"); }

static tw_problem problem_of(const char *text) {
  char copy[256], *rest = NULL;
  const char *word[16];
  size_t n = 0;
  tw_problem p;
  tw_error error;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) word[n++] = w;
  assert_int_equal(tw_problem_parse_words(tw_target_find("x86"), "gemm", n, word, &p, &error), TW_OK);
  if (tw_target_supports(target(), &p, &error) != TW_OK) fail_msg("%s", error.text);
  return p;
}

static tw_schedule schedule_of(const char *text) {
  tw_schedule s;
  assert_int_equal(tw_schedule_parse(text, &s, NULL), TW_OK);
  return s;
}

static const char *const problems[] = {"m=70 n=100 k=130 threads=2",
                                       "m=37 n=65 k=130 a=bf16 b=bf16 threads=1",
                                       "m=40 n=64 k=100 a=u8 b=i8 c=i32 threads=1",
                                       "m=33 n=70 k=64 a=i8 b=i8 c=i32 threads=2",
                                       "m=1 n=96 k=256 threads=1",
                                       "m=40 n=64 k=256 a=bf16 b=i4 group=32 threads=1",
                                       "m=40 n=64 k=256 a=bf16 b=ternary threads=1",
                                       "m=33 n=70 k=64 a=i8 b=i8 c=i8 scale=0.01 threads=1",
                                       "m=1 n=96 k=512 a=bf16 b=mxfp6 threads=2",
                                       "m=5 n=96 k=256 b=i4 group=32 threads=1",
                                       "m=3 n=70 k=300 a=bf16 b=ternary a_rounding=rows threads=1",
                                       "m=70 n=64 k=256 a=bf16 b=mxfp4 a_rounding=groups threads=2"};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* Every step that the menu offers is legal, from any schedule that it leads to. */
static void every_step_of_the_menu_is_legal(void **state) {
  tw_random r;
  tw_random_seed(&r, 1);
  for (size_t i = 0; i < PROBLEMS; i++) {
    const tw_problem p = problem_of(problems[i]);
    tw_schedule s = {0};
    for (int depth = 0; depth < 6; depth++) {
      tw_menu menu;
      tw_error error;
      assert_int_equal(tw_target_steps(target(), &p, &s, &menu, &error), TW_OK);
      assert_true(menu.n > 0);
      for (size_t k = 0; k < menu.n; k++) {
        tw_schedule next = s;
        double cost = 0;
        char *source = NULL;
        assert_true(menu.item[k].predicted_cost > 0 && menu.item[k].lever[0] && menu.item[k].why[0]);
        assert_int_equal(tw_schedule_add(&next, menu.item[k].step, &error), TW_OK);
        if (tw_target_predict(target(), &p, &next, &cost, &error) != TW_OK) fail_msg("%s", error.text);
        assert_true(fabs(cost - menu.item[k].predicted_cost) <= 1e-9 * cost);
        if (k % 16 == 0) assert_int_equal(tw_target_emit(target(), &p, &next, &source, &error), TW_OK);
        free(source);
      }
      tw_schedule_add(&s, menu.item[tw_random_below(&r, menu.n)].step, &error);
      tw_menu_free(&menu);
    }
  }
}

static void illegal_steps_are_named(void **state) {
  static const struct {
    const char *problem, *schedule, *words;
  } wrong[] = {
      {"m=64 n=64 k=64", "isa sse9", "unsupported value 'sse9'; usage: isa avx512"},
      {"m=64 n=64 k=64", "tile rows=0 vectors=1", "unsupported value 'rows=0'; expected a number from 1 to 64"},
      {"m=64 n=64 k=64", "tile rows=4 vectors=2 nonsense", "unexpected 'nonsense'"},
      {"m=64 n=64 k=64", "tile rows=4", "is incomplete; usage: tile rows=14 vectors=2"},
      {"m=64 n=64 k=64", "go faster", "unknown step for gemm on x86; expected one of isa, tile"},
      {"m=64 n=64 k=64", "tile rows=9 vectors=2", "registers"},
      {"m=64 n=64 k=64", "tile rows=17 vectors=1", "at most 16 rows"},
      {"m=64 n=64 k=64", "unroll k=0", "unsupported value 'k=0'; expected a number from 1 to 16"},
      {"m=64 n=64 k=64", "block q=5", "unexpected 'q'; usage: block m="},
      {"m=64 n=64 k=64 a_transposed=1", "a in_place", "A cannot be read in place"},
      {"m=64 n=64 k=64", "panels n=3", "unsupported value 'n=3'; expected a number from 1 to 2"},
      {"m=64 n=64 k=64", "tile rows=4 vectors=3\npanels n=2", "tiles of 3 vectors"},
      {"m=4 n=64 k=64 b=mxfp4", "panels n=2", "panels n=2 is unsupported on codes and with tiles of"},
      {"m=64 n=64 k=64", "chains n=2", "must be a power of two and requires tiles on codes: m <= 16 or a rounded A"},
      {"m=4 n=64 k=64 b=mxfp4", "chains n=3", "a power of two"},
      {"m=4 n=64 k=64 b=mxfp4", "a in_place", "A cannot be read in place"},
      {"m=4 n=64 k=64 b=mxfp4 threads=2", "threads m=2 n=1",
       "is unsupported: real tiles on codes divide only columns among threads"},
      {"m=64 n=64 k=64 threads=2", "threads m=8 n=5", "parts exceed 16 for each of 2 threads"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const tw_problem p = problem_of(wrong[i].problem);
    const tw_schedule s = schedule_of(wrong[i].schedule);
    tw_error error = {0};
    char *source = NULL;
    assert_int_equal(tw_target_emit(target(), &p, &s, &source, &error), TW_USAGE);
    if (!strstr(error.text, wrong[i].words)) fail_msg("%s: %s", wrong[i].schedule, error.text);
    assert_null(strchr(error.text, '\n'));
  }
}

/* Of the sets that this CPU has, the last: the widest. */
static const char *widest(const char *problem) {
  const x86_cpu *cpu = x86_this_cpu();
  const bool integers = strstr(problem, "b=i8") || strstr(problem, "a_rounding"), bf16 = strstr(problem, "a=bf16");
  if (integers) return cpu->has[X86_AVX512VNNI] ? "avx512vnni" : cpu->has[X86_AVXVNNI] ? "avxvnni" : "portable";
  if (bf16 && cpu->has[X86_AVX512BF16]) return "avx512bf16";
  return cpu->has[X86_AVX512] ? "avx512" : cpu->has[X86_AVX2] ? "avx2" : "portable";
}

/* All are built and checked; of those that are measured too, a third does under sanitizers. */
#ifdef __SANITIZE_ADDRESS__
enum { MEASURED = 3 };
#else
enum { MEASURED = 1 };
#endif

/* Every second one is trusted: its parts are compiled by themselves. */
static void schedules_make_right_kernels(void **state) {
  static const char *const rest[] = {"tile rows=5 vectors=2\nunroll k=2\nprefetch bytes=256\nblock k=48\na packed\n",
                                     "tile rows=4 vectors=1\nblock m=20\nblock n=32\natb rho=2\nblock k=32\na packed\n",
                                     "tile rows=4 vectors=1\npanels n=2\nblock m=20\nblock k=48\n"};
  static const char *const codes[] = {"tile rows=3 vectors=2\nchains n=2\nahead bytes=4096\nblock k=64\n",
                                      "tile rows=2 vectors=2\nchains n=4\nblock m=4\nblock n=32\n"};
  for (size_t i = 0; i < PROBLEMS; i++) {
    const tw_problem p = problem_of(problems[i]);
    char text[256];
    tw_artefact *artefact = NULL;
    tw_case data;
    tw_measurement m;
    tw_error error = {0};
    char *source = NULL;
    const bool few = strstr(problems[i], "m=1 ") || strstr(problems[i], "m=3 ") || strstr(problems[i], "m=5 ");
    const bool on_codes = strstr(problems[i], "a_rounding") || (few && strstr(problems[i], "b="));
    snprintf(text, sizeof text, "isa %s\n%s", widest(problems[i]), on_codes ? codes[i % 2] : rest[i % 3]);
    const tw_schedule s = schedule_of(text);
    tw_status status = tw_target_emit(target(), &p, &s, &source, &error);
    if (status == TW_OK)
      status =
          target()->build(target(), &p, source, strlen(source), &(tw_evaluation){.trust = i % 2}, &artefact, &error);
    if (status != TW_OK) fail_msg("%s: %s", problems[i], error.text);
    assert_int_equal(tw_case_make(&p, 7, 1, &data, &error), TW_OK);
    status = target()->check(target(), artefact, &data, &(tw_evaluation){0}, &error);
    if (status == TW_OK && i % MEASURED == 0)
      status = target()->measure(target(), artefact, &data, &(tw_evaluation){0}, &m, &error);
    if (status != TW_OK) fail_msg("%s: %s", problems[i], error.text);
    if (i % MEASURED == 0) assert_true(m.cost > 0 && m.n_counters >= 3);
    tw_case_free(&data);
    target()->release(artefact);
    free(source);
  }
}

/* The number of objects in the cache after a source was built: that of the schedule, with `more` after `mark`. */
static int objects_after(const char *cache, const char *schedule, const char *mark, const char *more) {
  const tw_problem p = problem_of("m=40 n=40 k=40 threads=1");
  const tw_schedule s = schedule_of(schedule);
  char *source = NULL, *object = NULL, text[1 << 18], path[512];
  size_t bytes;
  int n = 0;
  tw_error error = {0};
  if (tw_target_emit(target(), &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
  const char *const at = strstr(source, mark);
  assert_non_null(at);
  const int first = (int)(at - source + strlen(mark));
  const int length = snprintf(text, sizeof text, "%.*s%s%s", first, source, more, source + first);
  assert_true(length > 0 && length < (int)sizeof text);
  if (x86_build(text, (size_t)length, true, &object, &bytes, &error) != TW_OK) fail_msg("%s", error.text);
  free(object);
  free(source);
  snprintf(path, sizeof path, "%s/tilewright/x86-parts", cache);
  DIR *const directory = opendir(path);
  for (struct dirent *e; directory && (e = readdir(directory));) n += e->d_name[0] != '.';
  if (directory) closedir(directory);
  return n;
}

static void functions_of_every_tile_are_compiled_once(void **state) {
  char *cache = NULL;
  const char *const before = getenv("XDG_CACHE_HOME");
  char *const kept = before ? strdup(before) : NULL;
  assert_int_equal(tw_directory_temporary(&cache, NULL), TW_OK);
  setenv("XDG_CACHE_HOME", cache, 1);
  assert_int_equal(objects_after(cache, "tile rows=4 vectors=1\n", "", ""), 3); /* functions, tiles, blocks */
  assert_int_equal(objects_after(cache, "tile rows=4 vectors=1\nblock k=16\n", "", ""), 4);
  assert_int_equal(objects_after(cache, "tile rows=3 vectors=1\n", "", ""), 6);
  /* as a whole: changed before the parts, and changed so that the functions do not compile by themselves */
  assert_int_equal(objects_after(cache, "tile rows=3 vectors=1\n", "\n", "enum { ADDED_BY_HAND };\n"), 7);
  assert_int_equal(
      objects_after(cache, "tile rows=3 vectors=1\n", X86_SHARED_COMMENT "\n", "static x86_pack interleave;\n"), 8);
  if (kept)
    setenv("XDG_CACHE_HOME", kept, 1);
  else
    unsetenv("XDG_CACHE_HOME");
  tw_directory_remove(cache);
  free(cache);
  free(kept);
}

/* ---- wisdom ---- */

static void product(float *c, int64_t m, int64_t n, int64_t k, char *line, size_t size) {
  const tw_gemm_spec spec = {.size = sizeof spec, .m = m, .n = n, .k = k, .threads = 1};
  tw_gemm_plan *plan;
  tw_error error;
  float *a = calloc((size_t)(m * k), sizeof *a), *b = calloc((size_t)(k * n), sizeof *b);
  for (int64_t i = 0; i < m * k; i++) a[i] = (float)(i % 7) - 3;
  for (int64_t i = 0; i < k * n; i++) b[i] = (float)(i % 5) - 2;
  assert_int_equal(tw_gemm_plan_create(&spec, &plan, &error), TW_OK);
  void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, (tw_gemm_packed_bytes(plan) + 63) / 64 * 64);
  assert_int_equal(tw_gemm_pack(plan, b, packed, &error), TW_OK);
  const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = packed, .c = c};
  if (tw_gemm_plan_execute(plan, &o, &error) != TW_OK) fail_msg("%s", error.text);
  tw_gemm_plan_print(plan, line, size);
  tw_gemm_plan_destroy(plan);
  free(a);
  free(b);
  free(packed);
}

static void wisdom_reaches_the_plan_of_its_problem_alone(void **state) {
  enum { M = 50, N = 60, K = 70 };
  static float before[M * N], after[M * N], other[M * N + M];
  char plain[400], tuned[400], neighbour[400], path[] = "/tmp/tilewright-wisdom-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  product(before, M, N, K, plain, sizeof plain);
  assert_null(strstr(plain, "kc=32"));
  const tw_problem p = problem_of("m=50 n=60 k=70 threads=1");
  tw_wisdom_entry e = {.target = "x86", .cost = 1, .unit = "seconds"};
  tw_error error = {0};
  assert_int_equal(tw_target_baseline(target(), &p, &e.schedule, &error), TW_OK);
  assert_int_equal(tw_schedule_add(&e.schedule, "block k=32", &error), TW_OK);
  tw_problem_print(&p, e.problem, sizeof e.problem);
  assert_int_equal(tw_wisdom_keep(path, &(tw_wisdom){1, &e}, NULL, NULL, &error), TW_OK);
  size_t applied = 0;
  if (tw_wisdom_apply(path, &applied, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(applied, 1);
  product(after, M, N, K, tuned, sizeof tuned);
  assert_non_null(strstr(tuned, "kc=32"));
  assert_memory_equal(before, after, sizeof before); /* sums of small integers are exact */
  product(other, M, N + 1, K, neighbour, sizeof neighbour);
  assert_null(strstr(neighbour, "kc=32"));
  unlink(path);
}

/* Earlier versions kept the best kernel of a short search, a portable one, where the library's own was faster. */
static void wisdom_that_is_much_slower_than_the_library_is_passed_over(void **state) {
  char path[] = "/tmp/tilewright-wisdom-XXXXXX";
  if (!x86_this_cpu()->has[X86_AVX2]) skip();
  const int file = mkstemp(path);
  close(file);
  unlink(path);
  tw_error error = {0};
  size_t applied = 9;
  tw_wisdom_entry e = {.target = "x86", .cost = 1, .unit = "seconds", .problem = "gemm m=512 n=512 k=512 threads=1"};
  assert_int_equal(tw_wisdom_keep(path, &(tw_wisdom){1, &e}, NULL, NULL, &error), TW_OK);
  assert_int_equal(tw_wisdom_apply(path, &applied, &error), TW_OK);
  assert_int_equal(applied, 0);
  unlink(path);
}

static void wisdom_that_cannot_be_used_is_passed_over(void **state) {
  char path[] = "/tmp/tilewright-wisdom-XXXXXX";
  const int file = mkstemp(path);
  close(file);
  unlink(path);
  tw_error error = {0};
  size_t applied = 9;
  assert_int_equal(tw_wisdom_apply(path, &applied, &error), TW_OK); /* there is none */
  assert_int_equal(applied, 0);
  tw_wisdom_entry e = {.target = "x86",
                       .cost = 1,
                       .unit = "seconds",
                       .problem = "gemm m=8 n=8 k=8 threads=1",
                       .schedule = schedule_of("isa of_tomorrow\n")};
  assert_int_equal(tw_wisdom_keep(path, &(tw_wisdom){1, &e}, NULL, NULL, &error), TW_OK);
  assert_int_equal(tw_wisdom_apply(path, &applied, &error), TW_OK);
  assert_int_equal(applied, 0);
  FILE *damaged = fopen(path, "w");
  fputs("{", damaged);
  fclose(damaged);
  assert_int_equal(tw_wisdom_apply(path, &applied, &error), TW_USAGE);
  unlink(path);
}

/* ---- the search ---- */

/* The rates of the machine take a second to measure. A measurement that is stopped has no result, and is not kept. */
static void a_stopped_bound_is_not_kept(void **state) {
  const tw_problem p = problem_of("m=64 n=64 k=64 a=u8 b=i8 c=i32 threads=1"); /* no other test asks for its rates */
  volatile int interrupt = 1;
  const tw_stop stop = {.interrupt = &interrupt}, *before = tw_stop_by(&stop);
  tw_bound bound;
  tw_error error;
  assert_int_equal(tw_target_bound(target(), &p, &bound, &error), TW_INTERRUPTED);
  interrupt = 0;
  if (tw_target_bound(target(), &p, &bound, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(bound.cost > 1e-8 && bound.cost < 1e-2); /* 64^3 products: 50 GFLOP/s to 50 TFLOP/s, and a margin */
  tw_stop_by(before);
}

/* A kernel that has its three repeats counts: the repeats end early enough for the checks that follow. */
static void repeats_end_in_time_for_the_last_checks(void **state) {
  assert_true(x86_has_time(1, 10, 1, 12)); /* the second and the third end at 12 */
  assert_false(x86_has_time(1, 10, 1, 11.9));
  assert_true(x86_has_time(2, 10, 1, 11));
  assert_false(x86_has_time(2, 10, 1, 10.9));
  assert_true(x86_has_time(3, 10, 1, 13)); /* one more ends at 11, two that keep A at 13 */
  assert_false(x86_has_time(3, 10, 1, 12.9));
  assert_false(x86_has_time(7, 10, 1, 12.9));
  assert_true(x86_has_time(3, 10, 1, HUGE_VAL));
}

static bool tells_enough(double limit, size_t n, double least, double most) {
  double time[40];
  for (size_t i = 0; i < n; i++) time[i] = i % 2 ? least : most;
  return x86_tells_enough(limit, time, n);
}

static void a_measurement_ends_early_only_if_it_tells_enough(void **state) {
  assert_false(tells_enough(0, 39, 1, 1));     /* no cost to beat: `run`, `bench` and the rounds of a search */
  assert_true(tells_enough(1, 6, 1.1, 1.5));   /* slower */
  assert_false(tells_enough(1, 5, 1.1, 1.5));  /* but five repeats may be bad luck */
  assert_false(tells_enough(1, 39, 0.9, 1.5)); /* a quarter of the repeats is faster */
  assert_true(tells_enough(1, 12, 0.9, 0.95)); /* little spread */
  assert_false(tells_enough(1, 11, 0.9, 0.95));
  assert_false(tells_enough(1, 39, 0.8, 0.95)); /* the median may be off by 2.5% */
}

/* Blocks follow the parts of C that a schedule sets: here each thread has all rows, or all columns. */
static void blocks_fit_the_parts_of_a_schedule(void **state) {
  const tw_gemm_spec s = {.size = sizeof s, .m = 512, .n = 512, .k = 64, .threads = 4};
  tw_gemm_plan own, rows, columns;
  assert_int_equal(x86_describe(&s, NULL, X86_B_PACKED, &own, NULL), TW_OK);
  x86_tuned tuned = {.kernel = own.kernel, .blocks = {.threads_m = 1, .threads_n = 8}};
  assert_int_equal(x86_describe(&s, &tuned, X86_B_PACKED, &rows, NULL), TW_OK);
  assert_true(rows.nc < 512 / 4 && rows.mc >= 512 / 4);
  tuned.blocks.threads_m = 8, tuned.blocks.threads_n = 1;
  assert_int_equal(x86_describe(&s, &tuned, X86_B_PACKED, &columns, NULL), TW_OK);
  assert_true(columns.nc == 512 && columns.mc < 512 / 4);
  assert_int_equal(columns.threads, 4);
}

/* Naming the parts of a plan does not change the prediction. */
static void expect_known_parts(const tw_problem *p, tw_schedule *schedule, const tw_gemm_plan *plan) {
  double without, with;
  char step[TW_STEP_MAX];
  assert_int_equal(tw_target_predict(target(), p, schedule, &without, NULL), TW_OK);
  snprintf(step, sizeof step, "threads m=%d n=%d", plan->parts_m, plan->parts_n);
  assert_int_equal(tw_schedule_add(schedule, step, NULL), TW_OK);
  assert_int_equal(tw_target_predict(target(), p, schedule, &with, NULL), TW_OK);
  assert_true(fabs(with - without) <= 1e-9 * with);
}

static void the_model_knows_the_parts_of_the_library(void **state) {
  const tw_problem p = problem_of("m=512 n=256 k=256 threads=4");
  const tw_gemm_spec s = {.size = sizeof s, .m = 512, .n = 256, .k = 256, .threads = 4};
  tw_gemm_plan own;
  tw_schedule schedule;
  assert_int_equal(x86_describe(&s, NULL, X86_B_PACKED, &own, NULL), TW_OK);
  assert_true(own.parts_m > 1); /* not what a model that knows nothing would assume */
  assert_int_equal(tw_target_baseline(target(), &p, &schedule, NULL), TW_OK);
  expect_known_parts(&p, &schedule, &own);
}

/* A narrow tile has more panels than the library's kernel, so C has other parts. */
static void the_model_knows_the_parts_of_another_kernel(void **state) {
  const tw_problem p = problem_of("m=40 n=16 k=4096 threads=4");
  const tw_gemm_spec s = {.size = sizeof s, .m = 40, .n = 16, .k = 4096, .threads = 4};
  tw_gemm_plan own, plan;
  x86_kernel kernel;
  x86_tuning tuning;
  tw_schedule schedule = schedule_of("tile rows=4 vectors=1\n");
  assert_int_equal(x86_tuning_of(&p, &schedule, &tuning, NULL), TW_OK);
  assert_int_equal(x86_describe(&s, NULL, X86_B_PACKED, &own, NULL), TW_OK);
  assert_int_equal(x86_tuning_plan(&s, &tuning, &kernel, &plan, NULL), TW_OK);
  assert_true(plan.parts_m != own.parts_m || plan.parts_n != own.parts_n);
  expect_known_parts(&p, &schedule, &plan);
}

static void a_short_search_finds_a_better_kernel(void **state) {
  const tw_problem p = problem_of("m=96 n=96 k=96 threads=1");
  const tw_schedule start =
      schedule_of(x86_this_cpu()->has[X86_AVX2] ? "isa avx2\ntile rows=4 vectors=2\n" : "unroll k=4\n");
  const tw_search_options o = {.size = sizeof o,
                               .iterations = 1,
                               .plans = 2,
                               .kernels = 1,
                               .beam = 1,
                               .dropout = 0.3,
                               .seed = 1,
                               .jobs = 2,
                               .start = &start};
  tw_search_result r = {0};
  tw_error error = {0};
  if (tw_search_into(target(), &p, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(r.samples >= 3 && r.correct >= 2);
  assert_true(r.best.cost <= r.start.cost && r.bound.cost > 0); /* how near they are is for bench, not for a test */
  assert_true(r.n_rungs >= 1);
  assert_non_null(strstr(r.source, "tilewright_kernel"));
  tw_search_result_clear(&r);
}

/* The peak belongs to the machine and the types: a tuned kernel with a small tile does not lower it. */
static void the_peak_does_not_depend_on_the_kernel(void **state) {
  tw_gemm_spec s = {.size = sizeof s, .m = 64, .n = 64, .k = 64, .a = TW_F32, .b = TW_F32, .c = TW_F32, .threads = 1};
  tw_gemm_plan *library, *slowest;
  tw_error error = {0};
  const char *limit;
  assert_int_equal(x86_plan(&s, NULL, &library, &error), TW_OK);
  s.kernel = portable_kernel();
  if (tw_gemm_plan_create(&s, &slowest, &error) != TW_OK) fail_msg("%s", error.text);
  const double fast = x86_peak_of(library, 1, &limit), slow = x86_peak_of(slowest, 1, &limit);
  assert_string_equal(limit, "multiply-adds");
  if (slow < 0.5 * fast) fail_msg("%g beside %g", slow, fast); /* other processes cannot halve the best of 40 runs */
  tw_gemm_plan_destroy(library);
  tw_gemm_plan_destroy(slowest);
}

/* Sums of three products are looked up in tables where the library does so: its limit is another one, and is named. */
static void look_ups_have_a_limit_of_their_own(void **state) {
  tw_gemm_spec s = {
      .size = sizeof s, .m = 1, .n = 512, .k = 512, .a = TW_F32, .b = TW_TERNARY, .c = TW_F32, .threads = 1};
  tw_gemm_plan *plan;
  tw_error error = {0};
  const char *limit;
  assert_int_equal(x86_plan(&s, NULL, &plan, &error), TW_OK);
  x86_peak_of(plan, 1, &limit);
  assert_string_equal(limit, plan->looks_up ? "table look-ups" : "multiply-adds");
  tw_gemm_plan_destroy(plan);
}

/* The expected text, or NULL if no loop is expected. */
static void expect_inner_loop(const char *assembly, const char *expected) {
  char *found = x86_inner_loop_text(assembly, 4);
  if (expected)
    assert_string_equal(found, expected);
  else
    assert_null(found);
  free(found);
}

static void the_inner_loop_is_the_one_that_multiplies_most(void **state) {
  /* the outer loop has more multiplications in all; the loop without memory measures the peak; two values are spilled */
  expect_inner_loop("test:\n.L1:\n\tvmulps\t%zmm1, %zmm1, %zmm2\n\tvmulps\t(%rax), %zmm1, %zmm3\n.L2:\n"
                    "\tvmovups\t(%rsi), %zmm0\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tvmovaps\t64(%rsp), %zmm4\n"
                    "\tvfmadd231ps\t128(%rsp), %zmm0, %zmm4\n\tvmovaps\t%zmm4, 64(%rsp)\n\tjne\t.L2\n\tjne\t.L1\n"
                    ".L3:\n\tvfmadd231ps\t%zmm0, %zmm0, %zmm1\n\tvfmadd231ps\t%zmm0, %zmm0, %zmm2\n"
                    "\tvfmadd231ps\t%zmm0, %zmm0, %zmm3\n\tjne\t.L3\n\tret\n",
                    "6 instructions, 2 of them multiplications; registers do not suffice: 2 loads from the stack and 1 "
                    "stores to it\n\n.L2:\n  vmovups\t(%rsi), %zmm0\n  vfmadd231ps\t%zmm0, %zmm1, %zmm2\n"
                    "  vmovaps\t64(%rsp), %zmm4\n  vfmadd231ps\t128(%rsp), %zmm0, %zmm4\n  (2 more)\n");
  expect_inner_loop(".L5:\n\tmulps\t(%rdi), %xmm0\n\tjmp\t.L6\n.L6:\n\tret\n", NULL); /* a jump forward is no loop */
  expect_inner_loop(".L5:\n\taddps\t(%rdi), %xmm0\n\tjne\t.L5\n", NULL);
  expect_inner_loop("", NULL);
  expect_inner_loop("j\njne\n:\n.L:\njne .L\n\tjmp *%rax", NULL);
}

static void the_inner_loop_of_a_kernel_is_shown(void **state) {
  const tw_problem p = problem_of("m=64 n=64 k=64 threads=1");
  tw_schedule baseline = {0};
  char *source = NULL, *text = NULL;
  tw_error error;
  if (tw_target_baseline(target(), &p, &baseline, &error) || tw_target_emit(target(), &p, &baseline, &source, &error) ||
      target()->inner_loop(target(), &p, source, strlen(source), true, &text, &error))
    fail_msg("%s", error.text);
  assert_non_null(strstr(text, " of them multiplications; "));
  assert_non_null(strstr(text, "mul"));
  free(text);
  text = NULL;
  assert_int_equal(target()->inner_loop(target(), &p, "error", 5, true, &text, &error), TW_FAILED);
  assert_null(text);
  free(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_peak_does_not_depend_on_the_kernel),
      cmocka_unit_test(look_ups_have_a_limit_of_their_own),
      cmocka_unit_test(every_step_of_the_menu_is_legal),
      cmocka_unit_test(illegal_steps_are_named),
      cmocka_unit_test(schedules_make_right_kernels),
      cmocka_unit_test(functions_of_every_tile_are_compiled_once),
      cmocka_unit_test(wisdom_reaches_the_plan_of_its_problem_alone),
      cmocka_unit_test(wisdom_that_cannot_be_used_is_passed_over),
      cmocka_unit_test(wisdom_that_is_much_slower_than_the_library_is_passed_over),
      cmocka_unit_test(a_stopped_bound_is_not_kept),
      cmocka_unit_test(repeats_end_in_time_for_the_last_checks),
      cmocka_unit_test(a_measurement_ends_early_only_if_it_tells_enough),
      cmocka_unit_test(blocks_fit_the_parts_of_a_schedule),
      cmocka_unit_test(the_model_knows_the_parts_of_the_library),
      cmocka_unit_test(the_model_knows_the_parts_of_another_kernel),
      cmocka_unit_test(a_short_search_finds_a_better_kernel),
      cmocka_unit_test(the_inner_loop_is_the_one_that_multiplies_most),
      cmocka_unit_test(the_inner_loop_of_a_kernel_is_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
