/* test_failures.c - every public function that can fail does so with a documented status and one line. A row provokes each failure
 * through the public API, in a process of its own: some change the environment or limits. A function without a row fails the test. */
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/strings.h"
#include "search/wisdom.h"
#include "tilewright/extend/extend.h"
#include "tilewright/tensors.h"

/* An allocation that cannot succeed returns NULL under AddressSanitizer, too, but its own memory must not be limited. */
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

enum { TOO_MANY = 1 << 20 };

static const tw_target *gemmini(void) { return tw_target_find("gemmini-16x16-int8"); }
static const tw_target *cuda(void) { return tw_target_find("cuda-h200"); }

static tw_problem parsed(const tw_target *t, const char *text) {
  tw_problem p;
  tw_error error;
  if (tw_problem_parse(t, text, &p, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  return p;
}

static tw_problem supported(const tw_target *t, const char *text) {
  tw_problem p = parsed(t, text);
  tw_error error;
  if (tw_target_supports(t, &p, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  return p;
}

static tw_problem small(void) { return supported(gemmini(), "gemm m=16 n=16 k=16"); }

static const tw_schedule *illegal(void) {
  static tw_schedule s = {.n = 1, .step = {"brew coffee=1"}};
  return &s;
}

static void no_files_can_be_written(void) {
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
}

static void no_programs_are_found(void) { setenv("PATH", "/nonexistent", 1); }

static void no_device_is_visible(void) { setenv("CUDA_VISIBLE_DEVICES", "-1", 1); }

/* Of this process: what it has, and 64 MiB. */
static void memory_is_short(void) {
  FILE *f = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  assert_true(f && fscanf(f, "%lu", &pages) == 1);
  fclose(f);
  const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 20);
  setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
}

/* 256 MiB for each operand. */
static tw_problem large(void) { return supported(tw_target_find("x86"), "gemm m=8192 n=8192 k=8192"); }

static void write_file(const char *name, const char *text) {
  tw_error error;
  if (tw_file_write(name, text, strlen(text), &error) != TW_OK) fail_msg("%s", error.text);
}

static const tw_tensor one_tensor = {.name = "w", .dtype = "F32", .rank = 1, .shape = {4}, .bytes = 16};
static const float values[4] = {1, 2, 3, 4};

static tw_wisdom_entry too_good(void) {
  tw_wisdom_entry e = {
      .target = "gemmini-16x16-int8", .problem = "gemm m=64 n=64 k=64", .cost = 1, .utilization = 1, .unit = "cycles"};
  e.schedule = (tw_schedule){.n = 1, .step = {"tile m=64 n=64 k=64"}};
  return e;
}

static const tw_gemm_spec spec = {.size = sizeof spec, .m = 2, .n = 2, .k = 2};

static tw_gemm_plan *made_plan(void) {
  tw_gemm_plan *p;
  tw_error error;
  if (tw_gemm_plan_create(&spec, &p, &error) != TW_OK) fail_msg("%s", error.text);
  return p;
}

static tw_packing mxfp4(void) { return (tw_packing){.format = tw_format_find("mxfp4")}; }

static const volatile int stopped = 1;
static const tw_search_options stopped_search = {.size = sizeof stopped_search, .dropout = -1, .interrupt = &stopped};

static tw_search_result *result;

/* One failure, with its message in *e. */
#define FAILS(function) static __attribute__((unused)) tw_status function##_fails(tw_error *e)

FAILS(tw_device_plan_create) {
  const tw_problem p = supported(cuda(), "gemm m=64 n=64 k=64 a=bf16 b=bf16 c=bf16");
  tw_device_plan *plan;
  no_device_is_visible();
  return tw_device_plan_create(&p, NULL, &plan, e);
}
FAILS(tw_device_run) {
  const tw_problem p = supported(cuda(), "gemm m=64 n=64 k=64 a=bf16 b=bf16 c=bf16");
  no_device_is_visible();
  return tw_device_run(&p, NULL, NULL, NULL, NULL, NULL, e);
}
FAILS(tw_device_reserve) {
  no_device_is_visible();
  return tw_device_reserve(e);
}
FAILS(tw_packing_check) {
  tw_packing p = mxfp4();
  p.rounding = TW_ROUND_FLOOR;
  return tw_packing_check(&p, e);
}
FAILS(tw_format_sizes) {
  const tw_packing p = mxfp4();
  tw_packed_size size;
  return tw_format_sizes(&p, SIZE_MAX / 2, SIZE_MAX / 2, &size, e);
}
FAILS(tw_format_encode) {
  const tw_packing p = mxfp4();
  return tw_format_encode(&p, 2, 2, values, 1, NULL, NULL, e);
}
FAILS(tw_format_decode) {
  const tw_packing p = mxfp4();
  float out[4];
  return tw_format_decode(&p, 2, 2, NULL, NULL, out, 1, e);
}
FAILS(tw_gemm_plan_create) {
  tw_gemm_spec s = spec;
  tw_gemm_plan *p;
  s.a = TW_E4M3;
  return tw_gemm_plan_create(&s, &p, e);
}
FAILS(tw_gemm_pack) { return tw_gemm_pack(made_plan(), values, (void *)1, e); }
FAILS(tw_gemm_pack_codes) { return tw_gemm_pack_codes(made_plan(), values, NULL, (void *)64, e); }
FAILS(tw_gemm_plan_execute) {
  const tw_gemm_operands without_size = {0};
  return tw_gemm_plan_execute(made_plan(), &without_size, e);
}
FAILS(tw_target_open) {
  const tw_target *t;
  return tw_target_open("no-such-machine", &t, e);
}
FAILS(tw_machine_check) {
  char *problems;
  write_file("bad.machine", "base = gemmini-16x16-int8\ndim = many\n");
  return tw_machine_check("bad.machine", NULL, &problems, e);
}
FAILS(tw_machine_read) {
  const tw_target *t;
  return tw_machine_read("base = nothing\n", "mine", "here", &t, e);
}
FAILS(tw_machine_template) {
  char *text;
  return tw_machine_template(tw_target_find("x86"), &text, e);
}
FAILS(tw_machine_from) {
  char *text;
  return tw_machine_from("no-such-file.h", &text, e);
}
FAILS(tw_memory_alloc) {
  void *out;
  return tw_memory_alloc(SIZE_MAX / 4, &out, e);
}
FAILS(tw_problem_parse) {
  tw_problem p;
  return tw_problem_parse(NULL, "gemm m=0 n=1 k=1", &p, e);
}
FAILS(tw_problem_set) {
  tw_problem p = small();
  return tw_problem_set(&p, "m", "-1", e);
}
FAILS(tw_run) {
  const tw_problem p = small();
  const tw_run_options o = {.size = sizeof o};
  tw_run_result *r;
  return tw_run(gemmini(), &p, "this is no C", 12, &o, &r, e);
}
static tw_status tw_run_without_compiler(tw_error *e) {
  const tw_problem p = small();
  const tw_run_options o = {.size = sizeof o};
  tw_schedule s;
  char *source;
  tw_run_result *r;
  if (tw_target_baseline(gemmini(), &p, &s, e) != TW_OK || tw_target_emit(gemmini(), &p, &s, &source, e) != TW_OK)
    return TW_OK;
  no_programs_are_found();
  return tw_run(gemmini(), &p, source, strlen(source), &o, &r, e);
}
FAILS(tw_schedule_add) {
  tw_schedule s = {.n = TW_STEPS_MAX};
  return tw_schedule_add(&s, "tile m=1", e);
}
FAILS(tw_schedule_parse) {
  tw_schedule s;
  tw_text t = {0};
  for (int i = 0; i <= TW_STEPS_MAX; i++) tw_text_add(&t, "step %d\n", i);
  return tw_schedule_parse(t.data, &s, e);
}
FAILS(tw_without_parse) {
  uint64_t bits;
  return tw_without_parse("menu,brakes", &bits, e);
}
FAILS(tw_search) {
  const tw_problem p = small();
  const char *agents[] = {"no-such-agent"};
  const tw_search_options o = {.size = sizeof o, .dropout = -1, .agents = agents, .n_agents = 1};
  return tw_search(gemmini(), &p, &o, &result, e);
}
static tw_status tw_search_interrupted(tw_error *e) {
  const tw_problem p = small();
  return tw_search(gemmini(), &p, &stopped_search, &result, e);
}
FAILS(tw_target_available) {
  no_programs_are_found();
  return tw_target_available(gemmini(), e);
}
static tw_status tw_target_available_without_device(tw_error *e) {
  no_device_is_visible();
  return tw_target_available(tw_target_find("cuda"), e);
}
FAILS(tw_target_supports) {
  tw_problem p = parsed(NULL, "softmax rows=4 cols=16");
  return tw_target_supports(gemmini(), &p, e);
}
FAILS(tw_target_emit) {
  const tw_problem p = small();
  char *source;
  return tw_target_emit(gemmini(), &p, illegal(), &source, e);
}
FAILS(tw_target_baseline) {
  const tw_problem p = parsed(NULL, "softmax rows=4 cols=16");
  tw_schedule s;
  return tw_target_baseline(gemmini(), &p, &s, e);
}
FAILS(tw_target_predict) {
  const tw_problem p = supported(cuda(), "gemm m=64 n=64 k=64 a=bf16 b=bf16 c=bf16");
  const tw_schedule baseline = {0};
  double cost;
  return tw_target_predict(cuda(), &p, &baseline, &cost, e);
}
FAILS(tw_target_bound) {
  const tw_problem p = parsed(NULL, "softmax rows=4 cols=16");
  tw_bound b;
  return tw_target_bound(gemmini(), &p, &b, e);
}
FAILS(tw_target_steps) {
  const tw_problem p = small();
  tw_menu menu;
  return tw_target_steps(gemmini(), &p, illegal(), &menu, e);
}
FAILS(tw_target_export) {
  const tw_target *x86 = tw_target_find("x86");
  const tw_problem p = supported(x86, "gemm m=16 n=16 k=16");
  tw_files files;
  return tw_target_export(x86, &p, illegal(), "", &files, e);
}
FAILS(tw_view_show) {
  char *text;
  return tw_view_show(gemmini(), "no-such-view", 0, NULL, TW_VIEW_TEXT, &text, e);
}
FAILS(tw_tensors_open) {
  tw_tensors *t;
  write_file("bad.safetensors", "this is no header");
  return tw_tensors_open("bad.safetensors", &t, e);
}
FAILS(tw_tensors_read) {
  const void *const data[] = {values};
  tw_tensors *t;
  float out[4];
  if (tw_tensors_write("good.safetensors", 1, &one_tensor, data, e) != TW_OK) return TW_OK;
  if (tw_tensors_open("good.safetensors", &t, e) != TW_OK) return TW_OK;
  return tw_tensors_read(t, "w", 8, out, sizeof out, e);
}
FAILS(tw_tensors_write) {
  const void *const data[] = {values};
  no_files_can_be_written();
  return tw_tensors_write("full.safetensors", 1, &one_tensor, data, e);
}
FAILS(tw_tune) {
  const tw_problem p = small();
  const tw_tune_options o = {.size = sizeof o, .no_wisdom = true, .search = &stopped_search};
  return tw_tune(gemmini(), &p, &o, &result, e);
}
static tw_status tw_tune_unsupported(tw_error *e) {
  const tw_target *x86 = tw_target_find("x86");
  const tw_problem p = supported(x86, "gemm m=16 n=16 k=16");
  const tw_tune_options o = {.size = sizeof o, .no_wisdom = true, .program = "int main(void) { return 0; }\n"};
  return tw_tune(x86, &p, &o, &result, e);
}
FAILS(tw_wisdom_load) {
  tw_wisdom *w;
  write_file("bad.json", "{");
  return tw_wisdom_load("bad.json", &w, e);
}
FAILS(tw_wisdom_add) {
  const tw_problem p = small();
  const tw_measurement free_of_cost = {.cost = 0};
  const tw_schedule schedule = {0};
  tw_wisdom *w = NULL;
  const tw_status status = tw_wisdom_add(&w, gemmini(), &p, &schedule, NULL, &free_of_cost, 0, e);
  assert_null(w);
  return status;
}
FAILS(tw_wisdom_keep) {
  tw_wisdom_entry entry = too_good();
  entry.cost = 1e6;
  no_files_can_be_written();
  return tw_wisdom_keep("own.json", &(tw_wisdom){1, &entry}, NULL, NULL, e);
}
FAILS(tw_wisdom_replace) {
  tw_wisdom_entry entry = too_good();
  return tw_wisdom_replace("own.json", &(tw_wisdom){1, &entry}, e);
}
FAILS(tw_wisdom_forget) {
  const tw_problem p = small();
  write_file("bad.json", "{");
  return tw_wisdom_forget("bad.json", "gemmini-16x16-int8", &p, NULL, e);
}
FAILS(tw_wisdom_apply) {
  write_file("bad.json", "{");
  return tw_wisdom_apply("bad.json", NULL, e);
}
FAILS(tw_menu_join) {
  tw_menu menu = {.n = SIZE_MAX / sizeof(tw_menu_item) / 4}, more = {.n = 1};
  return tw_menu_join(&menu, &more, e);
}
FAILS(tw_menu_finish) {
  tw_menu_builder b = {.failed = true};
  tw_menu menu;
  return tw_menu_finish(&b, &menu, e);
}
FAILS(tw_op_register) {
  static tw_op op = {.size = sizeof op, .name = "gemm"};
  return tw_op_register(&op, e);
}
FAILS(tw_case_make) {
  const tw_problem p = large();
  tw_case k;
  memory_is_short();
  return tw_case_make(&p, 1, 1, &k, e);
}
FAILS(tw_case_make_inputs) {
  const tw_problem p = large();
  tw_case k;
  memory_is_short();
  return tw_case_make_inputs(&p, 1, &k, e);
}
FAILS(tw_case_check) {
  const tw_problem p = small();
  const tw_effort effort = {.budget = 1e9};
  tw_case k;
  tw_coverage coverage;
  if (tw_case_make_inputs(&p, 1, &k, e) != TW_OK) return TW_OK;
  return tw_case_check(&k, k.buffer, &effort, &coverage, e); /* outputs are poisoned */
}
FAILS(tw_target_settle) {
  tw_problem p = parsed(NULL, "softmax rows=4 cols=16");
  return tw_target_settle(gemmini(), &p, e);
}
FAILS(tw_target_case) {
  const tw_problem p = large();
  tw_case k;
  memory_is_short();
  return tw_target_case(tw_target_find("x86"), &p, 1, 1, &k, e);
}
FAILS(tw_target_register) {
  static tw_target t = {.size = sizeof t, .name = "x86"};
  return tw_target_register(&t, e);
}

typedef struct plan {
  int m;
} plan;
static const tw_verb verb[] = {{TW_VERB("tile", "tile m=1", "Tile.", 1, TW_NUMBER("m", plan, m, 1, 8))}};
static const tw_language language = {TW_LANGUAGE("tests", verb)};
FAILS(tw_step_apply) {
  plan p = {0};
  return tw_step_apply(&language, NULL, "tile m=9", &p, e);
}
FAILS(tw_steps_apply) {
  const tw_schedule s = {.n = 1, .step = {"untile"}};
  plan p = {0};
  return tw_steps_apply(&language, NULL, &s, &p, NULL, e);
}

static const struct row {
  const char *function;
  tw_status status;
  tw_status (*call)(tw_error *);
} rows[] = {
#define ROW(function, status)                                                                                          \
  { #function, status, function##_fails }
    ROW(tw_device_plan_create, TW_NO_DEVICE),
    ROW(tw_device_run, TW_NO_DEVICE),
    ROW(tw_device_reserve, TW_NO_DEVICE),
    ROW(tw_packing_check, TW_USAGE),
    ROW(tw_format_sizes, TW_USAGE),
    ROW(tw_format_encode, TW_USAGE),
    ROW(tw_format_decode, TW_USAGE),
    ROW(tw_gemm_plan_create, TW_UNSUPPORTED),
    ROW(tw_gemm_pack, TW_USAGE),
    ROW(tw_gemm_pack_codes, TW_USAGE),
    ROW(tw_gemm_plan_execute, TW_USAGE),
    ROW(tw_target_open, TW_USAGE),
    ROW(tw_machine_check, TW_USAGE),
    ROW(tw_machine_read, TW_USAGE),
    ROW(tw_machine_template, TW_USAGE),
    ROW(tw_machine_from, TW_USAGE),
    ROW(tw_memory_alloc, TW_NO_MEMORY),
    ROW(tw_problem_parse, TW_USAGE),
    ROW(tw_problem_set, TW_USAGE),
    ROW(tw_run, TW_FAILED),
    {"tw_run", TW_NO_COMPILER, tw_run_without_compiler},
    ROW(tw_schedule_add, TW_USAGE),
    ROW(tw_schedule_parse, TW_USAGE),
    ROW(tw_without_parse, TW_USAGE),
    ROW(tw_search, TW_USAGE),
    {"tw_search", TW_INTERRUPTED, tw_search_interrupted},
    ROW(tw_target_available, TW_NO_COMPILER),
    {"tw_target_available", TW_NO_DEVICE, tw_target_available_without_device},
    ROW(tw_target_supports, TW_UNSUPPORTED),
    ROW(tw_target_emit, TW_USAGE),
    ROW(tw_target_baseline, TW_UNSUPPORTED),
    ROW(tw_target_predict, TW_MISSING),
    ROW(tw_target_bound, TW_UNSUPPORTED),
    ROW(tw_target_steps, TW_USAGE),
    ROW(tw_target_export, TW_UNSUPPORTED),
    ROW(tw_view_show, TW_UNSUPPORTED),
    ROW(tw_tensors_open, TW_USAGE),
    ROW(tw_tensors_read, TW_USAGE),
    ROW(tw_tensors_write, TW_DISK_FULL),
    ROW(tw_tune, TW_INTERRUPTED),
    {"tw_tune", TW_UNSUPPORTED, tw_tune_unsupported},
    ROW(tw_wisdom_load, TW_USAGE),
    ROW(tw_wisdom_add, TW_USAGE),
    ROW(tw_wisdom_keep, TW_DISK_FULL),
    ROW(tw_wisdom_replace, TW_FAILED),
    ROW(tw_wisdom_forget, TW_USAGE),
    ROW(tw_wisdom_apply, TW_USAGE),
    ROW(tw_menu_join, TW_NO_MEMORY),
    ROW(tw_menu_finish, TW_NO_MEMORY),
    ROW(tw_op_register, TW_USAGE),
    ROW(tw_case_check, TW_FAILED),
    ROW(tw_target_settle, TW_UNSUPPORTED),
    ROW(tw_target_register, TW_USAGE),
    ROW(tw_step_apply, TW_USAGE),
    ROW(tw_steps_apply, TW_USAGE),
#ifndef __SANITIZE_ADDRESS__
    ROW(tw_case_make, TW_NO_MEMORY),
    ROW(tw_case_make_inputs, TW_NO_MEMORY),
    ROW(tw_target_case, TW_NO_MEMORY),
#endif
#undef ROW
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Functions without a row, with the reason. */
static const char *const excused[] = {
    "tw_fail",
    "tw_no_memory",          /* they make errors */
    "tw_device_plan_launch", /* needs a plan, and so a GPU: test_cuda_library has a driver of its own */
#ifdef __SANITIZE_ADDRESS__
    "tw_case_make",
    "tw_case_make_inputs",
    "tw_target_case",
#endif
};

typedef struct failure {
  tw_status status;
  tw_error error;
} failure;

/* The row's call in a process of its own, in `folder`. */
static failure provoked(const struct row *r, const char *folder) {
  failure f = {.status = TW_OK};
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    if (chdir(folder) != 0) _exit(1);
    f.status = r->call(&f.error);
    _exit(write(ends[1], &f, sizeof f) != sizeof f);
  }
  close(ends[1]);
  const bool told = read(ends[0], &f, sizeof f) == sizeof f;
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (!told || status) fail_msg("%s: the process ended with %#x", r->function, (unsigned)status);
  return f;
}

static void each_failure_has_its_status_and_a_line(void **state) {
  char folder[] = "/tmp/tw-failures-XXXXXX";
  int wrong = 0;
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < ROWS; i++) {
    const failure f = provoked(&rows[i], folder);
    const bool right = f.status == rows[i].status && f.error.status == f.status && *f.error.text;
    if (!right)
      print_message("%s: '%s' (in tw_error '%s') instead of '%s': %s\n", rows[i].function, tw_status_name(f.status),
                    tw_status_name(f.error.status), tw_status_name(rows[i].status), f.error.text);
    wrong += !right;
  }
  tw_directory_remove(folder);
  assert_int_equal(wrong, 0);
}

static bool has_row(const char *function) {
  for (int i = 0; i < ROWS; i++)
    if (!strcmp(rows[i].function, function)) return true;
  for (size_t i = 0; i < sizeof excused / sizeof *excused; i++)
    if (!strcmp(excused[i], function)) return true;
  return false;
}

/* The number of functions of a folder of headers that return a status; those without a row are printed and counted. */
static int functions_in(const char *folder, int *without) {
  struct dirent **list;
  int found = 0;
  const int n = scandir(folder, &list, NULL, alphasort);
  assert_true(n > 0);
  for (int i = 0; i < n; free(list[i++])) {
    char *path = tw_path_join(folder, list[i]->d_name), *text = NULL, name[64];
    size_t size;
    tw_error error;
    if (tw_ends_with(path, ".h") && tw_file_read(path, TOO_MANY, &text, &size, &error) == TW_OK)
      for (const char *at = text; (at = strstr(at, "TW_API tw_status ")); at++) {
        if (sscanf(at, "TW_API tw_status %63[a-z_](", name) != 1) continue;
        found++;
        if (has_row(name)) continue;
        print_message("%s has no row\n", name);
        ++*without;
      }
    free(text);
    free(path);
  }
  free(list);
  return found;
}

static void each_public_function_that_can_fail_has_a_row(void **state) {
  int without = 0;
  const int found = functions_in(TW_TEST_DATA "/../../include/tilewright", &without) +
                    functions_in(TW_TEST_DATA "/../../include/tilewright/extend", &without);
  assert_true(found >= 50);
  assert_int_equal(without, 0);
}

static void each_status_is_provoked(void **state) {
  for (int s = TW_FAILED; s <= TW_DISK_FULL; s++) {
    int n = 0;
    for (int i = 0; i < ROWS; i++) n += rows[i].status == (tw_status)s;
    if (!n) fail_msg("no row ends with '%s'", tw_status_name((tw_status)s));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_failure_has_its_status_and_a_line),
      cmocka_unit_test(each_public_function_that_can_fail_has_a_row),
      cmocka_unit_test(each_status_is_provoked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
