/* test_reduce.c - the reduce op against known answers and plain formulas; results that are wrong by little. */
#include "op_fixture.h"

#include <math.h>

static void known_answers(void **state) {
  static const struct {
    const char *f;
    double y[2]; /* of the columns (3, -1, -4) and (0.5, 2, 2) */
  } known[] = {
      {"sum", {-2, 4.5}},
      {"mean", {-2.0 / 3, 1.5}},
      {"norm", {5.0990195135927845, 2.8722813232690143}},
      {"max", {3, 2}},
      {"min", {-4, 0.5}},
      {"argmax", {0, 1}},
      {"argmin", {2, 0}},
      {"sum of=abs", {8, 4.5}},
      {"mean of=square", {26.0 / 3, 2.75}},
      {"sum of=squared_difference", {4 + 0 + 16, 0.25 + 1 + 0}}, /* z is 1, -1, 0 and 1, 1, 2 */
      {"sum of=smooth_l1", {1.5 + 0 + 3.5, 0.125 + 0.5 + 0}},
      {"sum of=hinge", {0 + 0 + 1, 0.5 + 0 + 0}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    op_run r;
    char text[100];
    snprintf(text, sizeof text, "reduce outer=1 n=3 inner=2 f=%s a=f32", known[i].f);
    op_run_make(&r, text, 1);
    const float x[6] = {3, 0.5, -1, 2, -4, 2}, z[6] = {1, 1, -1, 1, 0, 2};
    const bool pairs = r.data.n_operands == 3;
    memcpy(r.data.buffer[0], x, sizeof x);
    if (pairs) memcpy(r.data.buffer[1], z, sizeof z);
    op_run_reference(&r);
    for (int j = 0; j < 2; j++)
      if (!(fabs(op_get(&r, pairs ? 2 : 1, j) - known[i].y[j]) <= 2e-7 * fabs(known[i].y[j])))
        fail_msg("%s is %.9g", known[i].f, op_get(&r, pairs ? 2 : 1, j));
    op_run_free(&r);
  }
}

enum { OUTER = 5, N = 67, INNER = 3 };

/* In binary32, one element after another, without the terms from `end` on. */
static double plainly(const op_run *r, const char *f, const char *of, int line, int end) {
  float sum = 0, best = 0;
  int place = 0;
  for (int j = 0; j < end; j++) {
    const int64_t in = j * INNER + line % INNER, at = (int64_t)(line / INNER) * N * INNER + in;
    const float x = (float)op_get(r, 0, at);
    if (strncmp(of, "hinge", 5) == 0) sum += fmaxf(0, 1 - x * (float)op_get(r, 1, strstr(of, "shared") ? in : at));
    if (strncmp(of, "hinge", 5) == 0) continue;
    float t = x;
    if (strcmp(of, "abs") == 0) t = fabsf(x);
    if (strcmp(of, "square") == 0 || strcmp(f, "norm") == 0) t = x * x;
    if (strcmp(of, "squared_difference") == 0) t = (x - (float)op_get(r, 1, at)) * (x - (float)op_get(r, 1, at));
    if (strcmp(of, "smooth_l1") == 0) {
      const float d = fabsf(x - (float)op_get(r, 1, at));
      t = d < 1 ? d * d / 2 : d - 0.5F;
    }
    sum += t;
    if (j == 0 || (strstr(f, "min") ? x < best : x > best)) best = x, place = j;
  }
  if (strncmp(f, "arg", 3) == 0) return place;
  if (strcmp(f, "max") == 0 || strcmp(f, "min") == 0) return (double)best;
  if (strcmp(f, "norm") == 0) return (double)sqrtf(sum);
  return strcmp(f, "mean") == 0 ? (double)(sum / N) : (double)sum;
}

static void an_honest_kernel_passes_and_wrong_ones_do_not(void **state) {
  static const char *const functions[][2] = {{"sum", "x"},
                                             {"mean", "x"},
                                             {"norm", "x"},
                                             {"max", "x"},
                                             {"min", "x"},
                                             {"argmax", "x"},
                                             {"argmin", "x"},
                                             {"sum", "abs"},
                                             {"mean", "square"},
                                             {"mean", "squared_difference"},
                                             {"sum", "smooth_l1"},
                                             {"sum", "hinge"},
                                             {"mean", "hinge shared=1"}};
  static const char *const types[] = {"f32", "bf16", "f16"};
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
    for (int t = 0; t < 3; t++) {
      char text[120];
      op_run r;
      snprintf(text, sizeof text, "reduce outer=%d n=%d inner=%d f=%s of=%s a=%s", OUTER, N, INNER, functions[f][0],
               functions[f][1], types[t]);
      op_run_make(&r, text, 7);
      const size_t y = r.data.n_operands - 1;
      for (int wrong = 0; wrong < 3; wrong++) {
        for (int line = 0; line < OUTER * INNER; line++) {
          const double right = plainly(&r, functions[f][0], functions[f][1], line, N);
          op_put(&r, y, line, right);
          if (wrong == 1) op_put(&r, y, line, plainly(&r, functions[f][0], functions[f][1], line, N - N / 4));
          if (wrong == 2 && line == OUTER * INNER - 2) /* one line, by some units of the type */
            op_put(&r, y, line,
                   strncmp(functions[f][0], "arg", 3) == 0 ? right + 1 : right * (1 + (t ? 0x1p-5 : 0x1p-14)));
        }
        op_expect(&r, wrong ? "wrong result" : NULL);
      }
      op_run_free(&r);
    }
}

/* The first of equals must be found. */
static void the_last_place_of_an_extreme_is_wrong(void **state) {
  op_run r;
  op_run_make(&r, "reduce outer=5 n=67 inner=3 f=argmax a=f32", 7);
  int differ = 0;
  for (int line = 0; line < OUTER * INNER; line++) {
    const int first = (int)plainly(&r, "argmax", "x", line, N);
    int last = first;
    for (int j = 0; j < N; j++) {
      const int64_t origin = (int64_t)(line / INNER) * N * INNER + line % INNER;
      if (op_get(&r, 0, origin + (int64_t)j * INNER) == op_get(&r, 0, origin + (int64_t)first * INNER)) last = j;
    }
    differ += last != first;
    op_put(&r, 1, line, last);
  }
  assert_true(differ > 0);
  op_expect(&r, "wrong result");
  op_run_free(&r);
}

static void bad_keys_are_refused(void **state) {
  op_expect_refused("reduce outer=4 n=4 a=i8", "reduce does not support a=i8; expected f32, f16 or bf16");
  op_expect_refused("reduce outer=1073741824 n=1073741824 a=f32", "outer times n times inner must be at most 2^40");
  op_expect_refused("reduce outer=4 n=4 f=max of=abs a=f32", "of=abs requires f=sum or f=mean (found f=max)");
  op_expect_refused("reduce outer=4 n=4 shared=1 a=f32", "shared=1 requires terms of x and z (found of=x)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(an_honest_kernel_passes_and_wrong_ones_do_not),
      cmocka_unit_test(the_last_place_of_an_extreme_is_wrong),
      cmocka_unit_test(bad_keys_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
