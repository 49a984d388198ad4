/* Launches of which a few workgroups are executed: what those do wrong is found. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/strings.h"
#include "target/cdna/sample.h"

enum { SIZE = 64, PITCH = 80 };
typedef enum fault { RIGHT, WRONG, HOLE, GAP, FEW, STOPS, LATER, PAIRS, HALVES } fault;

typedef struct fake {
  const tw_case *data;
  fault fault;
  uint64_t first;   /* workgroups of the first kernel */
  size_t side;      /* of the tile that a workgroup makes */
  atomic_int left;  /* runs whose rest was not taken */
  char taken[2000]; /* numbers of the workgroups, in order */
} fake;

/* Workgroup g, counted through the kernels, makes a tile of C, a copy of the reference's. */
static tw_status run(void *context, void *const buffer[], size_t kernel, uint64_t group, void **left, tw_error *error) {
  fake *f = context;
  uint64_t *number = *left = malloc(sizeof *number);
  *number = group;
  f->left++;
  const size_t side = f->side, tiles = SIZE / side;
  group += kernel * f->first;
  if (f->fault == PAIRS) group &= ~(uint64_t)1;
  if (f->fault == HALVES) group %= tiles * tiles / 2;
  const size_t row = group / tiles * side, column = group % tiles * side;
  float *c = buffer[2];
  const float *right = f->data->buffer[2];
  for (size_t i = 0; i < side; i++)
    memcpy(&c[(row + i) * PITCH + column], &right[(row + i) * PITCH + column], side * sizeof *c);
  if (f->fault == WRONG)
    for (size_t i = 0; i < side; i++) c[(row + i) * PITCH + column + 7] += 1000;
  if (f->fault == HOLE) memset(&c[(row + 3) * PITCH + column + 5], TW_POISON, sizeof *c);
  if (f->fault == GAP) c[row * PITCH + SIZE] = 1;
  if (f->fault == STOPS || (f->fault == LATER && group % 4 == 2)) return tw_fail(error, TW_FAILED, "it stops");
  return TW_OK;
}

static void take(void *context, void *left, bool is_needed) {
  fake *f = context;
  const size_t at = strlen(f->taken);
  if (!left) return;
  f->left--;
  if (is_needed) snprintf(f->taken + at, sizeof f->taken - at, " %llu", *(unsigned long long *)left);
  free(left);
}

/* The result of a check with this seed (0: any) and number of threads. */
static tw_status check_with(fault made, size_t kernels, int jobs, uint64_t seed, tw_text *out) {
  tw_problem p;
  tw_case k = {0};
  tw_error error = {0};
  char text[200] = "";
  assert_int_equal(tw_problem_parse(NULL, "gemm m=64 n=64 k=32 a=f32 b=f32 c=f32 acc=f32 ldc=80", &p, &error), TW_OK);
  assert_int_equal(p.op->validate(&p, &error), TW_OK);
  assert_int_equal(tw_case_make(&p, 3, 1, &k, &error), TW_OK);
  const size_t side = made >= PAIRS ? 4 : 16;
  const uint64_t tiles = SIZE / side * (SIZE / side), all = made == FEW ? tiles - 1 : tiles,
                 groups[2] = {kernels == 1 ? all : 6, all - 6};
  fake f = {.data = &k, .fault = made, .first = groups[0], .side = side};
  const cdna_sampler sampler = {
      .kernels = kernels, .groups = groups, .run = run, .take = take, .context = &f, .jobs = jobs, .seed = seed};
  const tw_status status = cdna_sample_check(&sampler, &k, text, sizeof text, &error);
  tw_text_add(out, "%s; taken:%s", status == TW_OK ? text : error.text, f.taken);
  assert_int_equal(f.left, 0);
  tw_case_free(&k);
  return status;
}

static tw_status check(fault made, size_t kernels, const char *says) {
  tw_text said = {0};
  const tw_status status = check_with(made, kernels, 0, 0, &said);
  if (!strstr(said.data, says)) fail_msg("fault %d says: %s", made, said.data);
  tw_text_free(&said);
  return status;
}

/* The first workgroup that fails, what is taken of the others, and the elements that are compared. */
static void results_do_not_depend_on_threads(void **state) {
  for (fault made = RIGHT; made <= HALVES; made++)
    for (size_t kernels = 1; kernels <= (made < PAIRS ? 2 : 1); kernels++)
      for (uint64_t seed = 1; seed <= 3; seed++) {
        tw_text one = {0}, four = {0};
        const tw_status status = check_with(made, kernels, 1, seed, &one);
        assert_int_equal(check_with(made, kernels, 4, seed, &four), status);
        assert_string_equal(one.data, four.data);
        tw_text_free(&one);
        tw_text_free(&four);
      }
}

static void faults_are_found(void **state) {
  for (size_t kernels = 1; kernels <= 2; kernels++) {
    assert_int_equal(check(RIGHT, kernels, kernels == 1 ? " of 16 workgroups" : "16 of 16 workgroups"), TW_OK);
    assert_int_equal(check(WRONG, kernels, "C["), TW_FAILED);
    assert_int_equal(check(HOLE, kernels, "does not write"), TW_FAILED);
    assert_int_equal(check(GAP, kernels, "between its rows"), TW_FAILED);
    assert_int_equal(check(FEW, kernels, "cannot fill it"), TW_FAILED);
    assert_int_equal(check(STOPS, kernels, "it stops"), TW_FAILED);
  }
}

/* 2^25 elements of an output, or 3e9 multiply-adds, are the most that are compared in full. */
/* Every executed workgroup is right, but others never write their part. */
static void a_mapping_that_is_not_one_to_one_is_found(void **state) {
  assert_int_equal(check(PAIRS, 1, "write the same 16 elements of C"), TW_FAILED);
  assert_int_equal(check(HALVES, 1, "write the same 16 elements of C"), TW_FAILED);
}

static void large_outputs_and_long_sums_are_sampled(void **state) {
  static const struct {
    const char *problem;
    bool large;
  } rows[] = {{"softmax rows=16384 cols=2048 a=f32", false},
              {"softmax rows=16385 cols=2048 a=f32", true},
              {"layernorm rows=65536 cols=2048 a=bf16", true},
              {"gemm m=1024 n=1024 k=2048 a=bf16 b=bf16 c=f32 acc=f32", false},
              {"gemm m=1024 n=1024 k=4096 a=bf16 b=bf16 c=f32 acc=f32", true}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    tw_problem p;
    tw_error error;
    tw_case k = {.problem = &p}; /* without buffers: only shapes count */
    assert_int_equal(tw_problem_parse(NULL, rows[r].problem, &p, &error), TW_OK);
    assert_int_equal(p.op->validate(&p, &error), TW_OK);
    k.n_operands = p.op->operands(&p, k.operand);
    if (cdna_sample_is_large(&k) != rows[r].large) fail_msg("%s", rows[r].problem);
    assert_true(cdna_sample_possible(&p));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(faults_are_found),
                                     cmocka_unit_test(results_do_not_depend_on_threads),
                                     cmocka_unit_test(a_mapping_that_is_not_one_to_one_is_found),
                                     cmocka_unit_test(large_outputs_and_long_sums_are_sampled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
