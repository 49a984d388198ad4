/* Kernels on the caller's own memory (tilewright/device.h), with a driver without a device (cuda_stub/driver.c): what
 * wisdom knows is what is started, by several threads, and what cannot be is told. Needs the compiler, as any build. */
#include "test.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "search/wisdom.h"
#include "target/cuda/device.h"
#include "tilewright/extend/extend.h"

enum { M = 30, N = 40, K = 50, THREADS = 4 };

static const char PROBLEM[] = "gemm m=30 n=40 k=50 a=f32 b=f32 c=f32 acc=f32";
static const char SOURCE[] =
    "//: kernel right\n//: grid 1\n//: block 32\n//: workspace 100\n//: args A, B, C, workspace, m, n, k\n"
    "extern \"C\" __global__ void right(float *A, float *B, float *C, char *w, int m, int n, int k) {}\n";

static tw_wisdom_entry entry;
static tw_wisdom wisdom = {.n = 1, .entry = &entry};

static void need_compiler(void) {
  tw_error why = {0};
  if (cuda_need_compiler(&why) == TW_OK && cuda_need_device(NULL, &why) == TW_OK) return;
  print_message("%s\n", why.text);
  skip();
}

static tw_problem problem(void) {
  tw_error error = {0};
  tw_problem p;
  assert_int_equal(tw_problem_parse(NULL, PROBLEM, &p, &error), TW_OK);
  snprintf(entry.target, sizeof entry.target, "cuda");
  snprintf(entry.unit, sizeof entry.unit, "seconds");
  tw_problem_print(&p, entry.problem, sizeof entry.problem);
  entry.source = (char *)SOURCE;
  entry.cost = 1e-3;
  return p;
}

static tw_device_plan *planned(void) {
  tw_error error = {0};
  tw_device_plan *plan = NULL;
  const tw_problem p = problem();
  if (tw_device_plan_create(&p, &wisdom, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  return plan;
}

typedef struct work {
  const tw_device_plan *plan; /* NULL: each call finds it */
  tw_problem problem;
  const tw_device_plan *found[THREADS];
  float *memory[THREADS][3];
  char *workspace[THREADS];
  tw_status status[THREADS];
} work;

static void launch(void *with, size_t i) {
  work *w = with;
  void *const *operands = (void *const *)w->memory[i];
  w->status[i] = w->plan ? tw_device_plan_launch(w->plan, operands, w->workspace[i], NULL, NULL)
                         : tw_device_run(&w->problem, &wisdom, operands, w->workspace[i], NULL, &w->found[i], NULL);
}

static void launch_by_all(work *with) {
  static const size_t sizes[] = {M * K, K * N, M * N};
  work w = *with;
  for (int t = 0; t < THREADS; t++) {
    w.workspace[t] = malloc(100);
    for (int i = 0; i < 3; i++) {
      w.memory[t][i] = aligned_alloc(64, (sizes[i] * 4 + 63) / 64 * 64);
      for (size_t e = 0; e < sizes[i]; e++) w.memory[t][i][e] = (float)((e + (size_t)(i + t)) % 5);
    }
  }
  tw_parallel_for(THREADS, THREADS, launch, &w);
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(w.status[t], TW_OK);
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int p = 0; p < K; p++) sum += w.memory[t][0][i * K + p] * w.memory[t][1][p * N + j];
        assert_true(fabsf(w.memory[t][2][i * N + j] - sum) < 1e-6f); /* small whole numbers */
      }
    for (int i = 0; i < 3; i++) free(w.memory[t][i]);
    free(w.workspace[t]);
  }
  *with = w;
}

static void what_wisdom_knows_is_launched_by_any_thread(void **state) {
  need_compiler();
  work w = {.plan = planned()};
  assert_int_equal(tw_device_plan_workspace(w.plan), 100);
  launch_by_all(&w);
  tw_device_plan_destroy((tw_device_plan *)w.plan);
}

/* One call that looks up and launches: all threads get one plan, and other problems theirs. */
static void one_call_plans_once(void **state) {
  need_compiler();
  tw_error error = {0};
  work w = {.problem = problem()};
  launch_by_all(&w);
  assert_non_null(w.found[0]);
  for (int t = 1; t < THREADS; t++) assert_ptr_equal(w.found[t], w.found[0]);
  assert_int_equal(tw_device_plan_workspace(w.found[0]), 100);
  tw_problem other = w.problem;
  const tw_device_plan *plan = NULL, *again = NULL;
  assert_int_equal(tw_problem_set(&other, "relu", "1", &error), TW_OK);
  if (tw_device_run(&other, &wisdom, NULL, NULL, NULL, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  assert_ptr_not_equal(plan, w.found[0]);
  assert_int_equal(tw_device_run(&other, &wisdom, NULL, NULL, NULL, &again, &error), TW_OK);
  assert_ptr_equal(plan, again);
  static _Alignas(64) float room[M * K];
  void *const operands[] = {room, room, room};
  assert_int_equal(tw_device_run(&w.problem, &wisdom, operands, NULL, NULL, NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "a workspace of 100 bytes"));
  assert_int_equal(tw_problem_parse(NULL, "gemm m=3 n=4 k=5 a=i16 b=i16 c=i32 acc=i32", &other, &error), TW_OK);
  assert_int_not_equal(tw_device_run(&other, NULL, NULL, NULL, NULL, &plan, &error), TW_OK);
  assert_null(plan);
  tw_device_forget();
  tw_device_forget();
}

static void what_cannot_be_launched_is_told(void **state) {
  need_compiler();
  tw_device_plan *plan = planned();
  tw_error error = {0};
  static _Alignas(64) float a[M * K], b[K * N + 1], c[M * N];
  void *const right[] = {a, b, c}, *const odd[] = {a, (char *)b + 4, c};
  assert_int_equal(tw_device_plan_launch(plan, right, NULL, NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "a workspace of 100 bytes"));
  assert_int_equal(tw_device_plan_launch(plan, odd, a, NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "operand 1 is not at a multiple of 16 bytes"));
  tw_device_plan_destroy(plan);
  tw_device_plan_destroy(NULL);
  tw_problem p;
  assert_int_equal(tw_problem_parse(NULL, "gemm m=3 n=4 k=5 a=i16 b=i16 c=i32 acc=i32", &p, &error), TW_OK);
  assert_int_not_equal(tw_device_plan_create(&p, NULL, &plan, &error), TW_OK);
  assert_null(plan);
}

static atomic_bool has_device;

static void *reserve(void *argument) {
  (void)argument;
  if (tw_device_reserve(NULL) != TW_OK) return NULL;
  has_device = true;
  tw_device_release();
  return &has_device;
}

static void *release(void *argument) {
  tw_device_release();
  return argument;
}

static void a_reserved_device_is_kept(void **state) {
  tw_error error = {0};
  pthread_t other;
  void *succeeded = NULL;
  tw_device_release(); /* nothing is reserved */
  if (tw_device_reserve(&error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(tw_device_reserve(&error), TW_USAGE);
  assert_int_equal(pthread_create(&other, NULL, release, NULL), 0); /* the device is not this thread's */
  pthread_join(other, NULL);
  assert_int_equal(pthread_create(&other, NULL, reserve, NULL), 0);
  usleep(100000);
  assert_false(has_device);
  tw_device_release();
  pthread_join(other, &succeeded);
  assert_non_null(succeeded);
  const tw_stop at_once = {.deadline = tw_now()};
  const tw_stop *before = tw_stop_by(&at_once);
  assert_int_equal(tw_device_reserve(&error), TW_INTERRUPTED);
  tw_stop_by(before);
  if (tw_device_reserve(&error) != TW_OK) fail_msg("%s", error.text);
  tw_device_release();
}

/* Threads reserve the device and give it back at the same time. */
static void *reserve_often(void *argument) {
  (void)argument;
  for (int i = 0; i < 50000; i++) {
    if (tw_device_reserve(NULL) != TW_OK) return NULL;
    tw_device_release();
  }
  return &has_device;
}

static void many_owners_reserve_a_device_in_turn(void **state) {
  enum { OWNERS = 4 };
  pthread_t owner[OWNERS];
  for (int i = 0; i < OWNERS; i++) assert_int_equal(pthread_create(&owner[i], NULL, reserve_often, NULL), 0);
  for (int i = 0; i < OWNERS; i++) {
    void *succeeded = NULL;
    pthread_join(owner[i], &succeeded);
    assert_non_null(succeeded);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_wisdom_knows_is_launched_by_any_thread),
      cmocka_unit_test(one_call_plans_once),
      cmocka_unit_test(what_cannot_be_launched_is_told),
      cmocka_unit_test(a_reserved_device_is_kept),
      cmocka_unit_test(many_owners_reserve_a_device_in_turn),
  };
  setenv("LD_LIBRARY_PATH", TW_CUDA_STUB, 1);                                  /* for the process that lists devices */
  if (!dlopen(TW_CUDA_STUB "/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) return 1; /* later ones by its name get this one */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
