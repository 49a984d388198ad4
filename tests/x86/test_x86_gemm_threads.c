/* test_x86_gemm_threads.c - gemm on many threads: the same bits on any number of them, also when OpenMP gives fewer
 * than were asked for, and when several threads of a program execute one plan on teams of their own. Execution
 * allocates nothing. `./dev check` runs this under ThreadSanitizer too. */
#define _GNU_SOURCE
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amx.h"
#include "base/random.h"
#include "target/x86/loops.h"
#include "target/x86/threads.h"
#include "tilewright/gemm.h"

/* ---- allocations are counted, where no sanitizer has the allocator ---- */

static atomic_bool counts;
static atomic_int allocations;

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
#endif
#if !defined SANITIZED && defined __GLIBC__
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void count(void) {
  if (atomic_load(&counts)) atomic_fetch_add(&allocations, 1);
}
void *malloc(size_t n) { return count(), __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return count(), __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return count(), __libc_realloc(p, n); }
void *aligned_alloc(size_t alignment, size_t n) { return count(), __libc_memalign(alignment, n); }
#define COUNTS_ALLOCATIONS true
#else
#define COUNTS_ALLOCATIONS false
#endif

/* ---- one product ---- */

typedef struct product {
  tw_gemm_spec spec;
  bool vectors; /* bias and both scales */
} product;

typedef struct data {
  void *a, *b, *packed;
  float *vector;
  char *c;
} data;

static const product products[] = {
    {{.m = 64, .n = 300, .k = 500}, false},
    {{.m = 5, .n = 2000, .k = 200, .b_transposed = true}, true},
    {{.m = 1000, .n = 8, .k = 300, .activation = TW_ACTIVATION_GELU}, true},
    {{.m = 1, .n = 3000, .k = 900, .a = TW_BF16, .b = TW_BF16, .c = TW_BF16}, false},
    {{.m = 150, .n = 400, .k = 1500, .a = TW_BF16, .b = TW_BF16, .c = TW_F16, .activation = TW_ACTIVATION_SILU}, true},
    {{.m = 90, .n = 500, .k = 700, .a = TW_I8, .b = TW_I8, .c = TW_I32}, false},
    {{.m = 33, .n = 700, .k = 400, .a = TW_U8, .b = TW_I8, .c = TW_F32, .a_transposed = true}, true},
    {{.m = 40, .n = 600, .k = 1024, .b = TW_MXFP4}, false},
    {{.m = 3, .n = 600, .k = 1024, .a = TW_BF16, .b = TW_I4, .group = 128}, true},
    {{.m = 16, .n = 900, .k = 512, .a = TW_F16, .b = TW_TERNARY}, false},
    {{.m = 50, .n = 500, .k = 1024, .b = TW_MXFP4, .a_rounding = TW_A_INT8_GROUPS}, false},
    {{.m = 70, .n = 300, .k = 640, .a = TW_BF16, .b = TW_I4, .group = 32, .a_rounding = TW_A_INT8_ROWS}, true},
    {{.m = 1, .n = 2000, .k = 800, .a = TW_BF16, .b = TW_MXFP4}, false},
    {{.m = 1, .n = 650, .k = 3000, .b = TW_TERNARY}, false},
    {{.m = 1, .n = 500, .k = 4000, .b = TW_MXFP4, .c = TW_BF16}, true},
    /* more parts than threads */
    {{.m = 300, .n = 900, .k = 700, .activation = TW_ACTIVATION_RELU}, true},
    {{.m = 260, .n = 1000, .k = 1200, .a = TW_BF16, .b = TW_BF16}, false},
    {{.m = 500, .n = 1000, .k = 900, .a = TW_U8, .b = TW_I8, .c = TW_I32, .a_transposed = true}, false},
    {{.m = 16, .n = 2000, .k = 1024, .b = TW_MXFP4}, false},
};
enum { PRODUCTS = sizeof products / sizeof *products, MOST = 1 << 21 }; /* MOST: elements of any operand */

static tw_type or_f32(tw_type t) { return t == TW_TYPE_NONE ? TW_F32 : t; }

static size_t c_bytes(const tw_gemm_spec *s) { return (size_t)(s->m * s->n) * (size_t)tw_type_bits(or_f32(s->c)) / 8; }

/* Random real numbers, or bytes; two bytes of an f32 are a bf16, and any two with a small exponent an f16. */
static void *random_elements(tw_random *r, tw_type t, int64_t n) {
  uint8_t *p = malloc((size_t)n * 4);
  for (int64_t i = 0; i < n; i++) {
    const float x = (float)(tw_random_real(r) - 0.5);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint16_t upper = (uint16_t)(t == TW_F16 ? 0x3000 | (bits >> 3 & 0x8fff) : bits >> 16);
    switch (t) {
    case TW_BF16:
    case TW_F16: memcpy(p + 2 * i, &upper, 2); break;
    case TW_I8:
    case TW_U8: p[i] = (uint8_t)bits; break;
    default: memcpy(p + 4 * i, &bits, 4);
    }
  }
  return p;
}

static tw_gemm_plan *plan_of(const product *p, int threads) {
  tw_gemm_spec s = p->spec;
  tw_gemm_plan *plan;
  tw_error error;
  s.size = sizeof s, s.threads = threads;
  if (tw_gemm_plan_create(&s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  return plan;
}

static data data_of(const product *p) {
  const tw_gemm_spec *s = &p->spec;
  tw_random r;
  tw_error error;
  tw_random_seed(&r, (uint64_t)(s->m + s->n + s->k));
  const bool integers = s->a == TW_I8 || s->a == TW_U8, plain = integers || s->b == TW_BF16;
  data d = {.a = random_elements(&r, or_f32(s->a), s->m * s->k)};
  d.b = random_elements(&r, plain ? s->b : TW_F32, s->k * s->n);
  d.vector = random_elements(&r, TW_F32, s->m > s->n ? s->m : s->n);
  d.c = malloc(c_bytes(s));
  tw_gemm_plan *plan = plan_of(p, 1);
  d.packed = aligned_alloc(TW_GEMM_ALIGNMENT, tw_gemm_packed_bytes(plan));
  if (tw_gemm_pack(plan, d.b, d.packed, &error) != TW_OK) fail_msg("%s", error.text);
  tw_gemm_plan_destroy(plan);
  return d;
}

static void free_data(data *d) { free(d->a), free(d->b), free(d->packed), free(d->vector), free(d->c); }

static tw_gemm_operands operands_of(const product *p, const data *d, void *c) {
  tw_gemm_operands o = {.size = sizeof o, .a = d->a, .packed_b = d->packed, .c = c};
  if (p->vectors) o.bias = o.row_scale = o.column_scale = d->vector;
  return o;
}

static void execute(const product *p, const data *d, const tw_gemm_plan *plan, void *c) {
  tw_error error;
  const tw_gemm_operands o = operands_of(p, d, c);
  memset(c, 0xff, c_bytes(&p->spec));
  if (tw_gemm_plan_execute(plan, &o, &error) != TW_OK) fail_msg("%s", error.text);
}

/* ---- the claims ---- */

/* Where AMX is emulated, by a signal for each instruction: the products that use it, on fewer numbers of threads. */
static bool is_short(void) { return getenv("TILEWRIGHT_TEST_EMULATE") && !is_thorough(); }

static bool is_left_out(const product *p) {
  tw_gemm_plan *plan = plan_of(p, 1);
  const bool uses_amx = strstr(tw_gemm_plan_kernel(plan), "amx");
  tw_gemm_plan_destroy(plan);
  return is_short() && !uses_amx;
}

static void every_number_of_threads_gives_the_same_bits(void **state) {
  int computed = 0;
  for (int i = 0; i < PRODUCTS; i++) {
    const product *p = &products[i];
    if (is_left_out(p)) continue;
    computed++;
    data d = data_of(p);
    char *one = malloc(c_bytes(&p->spec));
    for (int threads = 1; threads <= 9; threads += is_short() && threads > 1 ? 4 : 1) {
      tw_gemm_plan *plan = plan_of(p, threads);
      execute(p, &d, plan, threads == 1 ? one : d.c);
      char line[400];
      tw_gemm_plan_print(plan, line, sizeof line);
      if (threads > 1 && memcmp(one, d.c, c_bytes(&p->spec)) != 0) fail_msg("other bits than one thread: %s", line);
      tw_gemm_plan_destroy(plan);
    }
    free(one);
    free_data(&d);
  }
  assert_true(computed > 0);
}

/* Inside of a parallel region OpenMP gives each caller a team of one: all parts of the work must be done by it. */
static void fewer_threads_than_planned_do_all_of_the_work(void **state) {
  for (int i = 0; i < PRODUCTS; i++) {
    const product *p = &products[i];
    data d = data_of(p);
    char *alone = malloc(c_bytes(&p->spec)), *inside[2] = {malloc(c_bytes(&p->spec)), malloc(c_bytes(&p->spec))};
    tw_gemm_plan *plan = plan_of(p, 4);
    execute(p, &d, plan, alone);
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int t = 0; t < 2; t++) execute(p, &d, plan, inside[t]);
    assert_memory_equal(alone, inside[0], c_bytes(&p->spec));
    assert_memory_equal(alone, inside[1], c_bytes(&p->spec));
    tw_gemm_plan_destroy(plan);
    free(alone), free(inside[0]), free(inside[1]);
    free_data(&d);
  }
}

typedef struct user {
  const product *p;
  const data *d;
  const tw_gemm_plan *plan;
  char *c;
} user;

static void *use(void *context) {
  user *u = context;
  for (int i = 0; i < 5; i++) execute(u->p, u->d, u->plan, u->c);
  return NULL;
}

/* More users than the plan has workspaces: some wait for one. */
static void users_share_a_plan(void **state) {
  enum { USERS = 7 };
  for (int i = 0; i < PRODUCTS; i += 3) {
    const product *p = &products[i];
    data d = data_of(p);
    tw_gemm_plan *plan = plan_of(p, 1 + i % 2);
    pthread_t thread[USERS];
    user users[USERS];
    execute(p, &d, plan, d.c);
    for (int u = 0; u < USERS; u++) {
      users[u] = (user){p, &d, plan, malloc(c_bytes(&p->spec))};
      assert_int_equal(pthread_create(&thread[u], NULL, use, &users[u]), 0);
    }
    for (int u = 0; u < USERS; u++) {
      pthread_join(thread[u], NULL);
      assert_memory_equal(users[u].c, d.c, c_bytes(&p->spec));
      free(users[u].c);
    }
    tw_gemm_plan_destroy(plan);
    free_data(&d);
  }
}

static void execution_allocates_nothing(void **state) {
  if (!COUNTS_ALLOCATIONS) {
    print_message("           a sanitizer has the allocator: not counted\n");
    return;
  }
  void *volatile kept = malloc(1);
  atomic_store(&counts, true);
  free(kept);
  kept = malloc(1);
  assert_int_equal(atomic_load(&allocations), 1); /* the counter counts */
  atomic_store(&counts, false);
  free(kept);
  for (int i = 0; i < PRODUCTS; i++) {
    const product *p = &products[i];
    data d = data_of(p);
    tw_gemm_plan *plan = plan_of(p, 2);
    execute(p, &d, plan, d.c); /* OpenMP makes its threads once */
    atomic_store(&allocations, 0);
    atomic_store(&counts, true);
    execute(p, &d, plan, d.c);
    atomic_store(&counts, false);
    assert_int_equal(atomic_load(&allocations), 0);
    tw_gemm_plan_destroy(plan);
    free_data(&d);
  }
}

/* Each thread begins with its own parts, one thread alone ends with all of them, and a thread of any number may
 * help. */
static void parts_are_dealt_once(void **state) {
  enum { THREADS = 5, PARTS_M = 3, PARTS_N = 4, PARTS = PARTS_M * PARTS_N };
  const tw_gemm_plan plan = {.threads = THREADS, .parts_m = PARTS_M, .parts_n = PARTS_N};
  x86_deal deal;
  int first[THREADS], taken[PARTS] = {0};
  x86_deal_parts(&deal, &plan);
  for (int thread = 0; thread < THREADS; thread++) {
    int from = 0;
    first[thread] = x86_next_part(&deal, thread, &from);
    assert_int_equal(first[thread], thread * PARTS / THREADS);
    taken[first[thread]]++;
  }
  for (int part, from = 0; (part = x86_next_part(&deal, THREADS + 2, &from)) >= 0;) taken[part]++;
  for (int part = 0; part < PARTS; part++) assert_int_equal(taken[part], 1);
  int from = 0;
  assert_int_equal(x86_next_part(&deal, 0, &from), -1);
}

/* Also if more parts would be wanted than a product of one tile of rows has panels. */
static void a_product_that_is_worth_two_threads_has_them(void **state) {
  static const int64_t n[] = {64, 96, 224};
  for (size_t i = 0; i < sizeof n / sizeof *n; i++)
    for (int m = 1; m <= 8; m += 7) {
      const tw_gemm_spec s = {.size = sizeof s, .m = m, .n = n[i], .k = 1 << 20, .threads = 2};
      tw_gemm_plan *plan = NULL;
      tw_error error = {0};
      if (tw_gemm_plan_create(&s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
      if (plan->threads != 2 || plan->parts_m * plan->parts_n < 2)
        fail_msg("%d x %d: %d threads, %d x %d parts", m, (int)n[i], plan->threads, plan->parts_m, plan->parts_n);
      tw_gemm_plan_destroy(plan);
    }
}

/* Times are given: no clock is read. */
static void the_team_and_openmp_give_way_to_each_other(void **state) {
  enum { CALLS = 1000 };
  x86_lateness l = {0};
  for (int i = 0; i < CALLS; i++) x86_note_team(&l, false, 1 + 2e-6 * i); /* helpers wake for 2 ms */
  assert_false(atomic_load(&l.openmp));
  x86_note_team(&l, true, 0);
  for (int i = 0; i < CALLS; i++) x86_note_team(&l, i % 150 == 0, 2 + 1e-3 * i); /* now and then they come */
  assert_false(atomic_load(&l.openmp));
  for (int i = 0; i < CALLS; i++) x86_note_team(&l, false, 10 + 1e-3 * i);
  assert_true(atomic_load(&l.openmp));
  for (int i = 0; i < CALLS; i++) {
    x86_note_openmp(&l, 1e-5, i % 2 ? 8e-3 : 2e-5); /* one late region in succession */
    x86_note_openmp(&l, 1e-2, 1.5e-2);
  }
  assert_true(atomic_load(&l.openmp));
  for (int i = 0; i < 2; i++) x86_note_openmp(&l, 1e-5, 8e-3);
  assert_false(atomic_load(&l.openmp));
  for (int i = 0; i < 300; i++) x86_note_team(&l, false, 20 + 1e-3 * i); /* the time has doubled */
  assert_false(atomic_load(&l.openmp));
  for (int i = 300; i < 600; i++) x86_note_team(&l, false, 20 + 1e-3 * i);
  assert_true(atomic_load(&l.openmp));
}

/* No time passes. */
static void openmp_has_calls_for_a_limited_number(void **state) {
  x86_lateness l = {.openmp = true};
  for (int i = 1; i < X86_REGIONS_UNTIL_TRIAL; i++) x86_note_openmp(&l, 1e-5, 1e-5);
  assert_true(atomic_load(&l.openmp));
  x86_note_openmp(&l, 1e-5, 1e-5);
  assert_false(atomic_load(&l.openmp));
  for (int i = 0; i < 300; i++) x86_note_team(&l, false, 1); /* still late: back at once */
  assert_true(atomic_load(&l.openmp));
  for (int i = 0; i < X86_REGIONS_UNTIL_TRIAL; i++) x86_note_openmp(&l, 1e-5, 1e-5);
  assert_false(atomic_load(&l.openmp));
  x86_note_team(&l, true, 1); /* in time: it has its usual patience again */
  for (int i = 0; i < 300; i++) x86_note_team(&l, false, 1);
  assert_false(atomic_load(&l.openmp));
}

int main(void) {
  emulate_what_is_asked();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(fewer_threads_than_planned_do_all_of_the_work),
      cmocka_unit_test(users_share_a_plan),
      cmocka_unit_test(parts_are_dealt_once),
      cmocka_unit_test(a_product_that_is_worth_two_threads_has_them),
      cmocka_unit_test(the_team_and_openmp_give_way_to_each_other),
      cmocka_unit_test(openmp_has_calls_for_a_limited_number),
      cmocka_unit_test(execution_allocates_nothing),
  };
  if (is_short()) cmocka_set_test_filter("every_number*");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
