/* test_pool.c - the pool op against known answers and plain loops; results that are wrong by little. */
#include "op_fixture.h"

#include <math.h>

static void expect(const char *text, const float *x, int n, const double *y, int results) {
  op_run r;
  op_run_make(&r, text, 1);
  memcpy(r.data.buffer[0], x, (size_t)n * sizeof *x);
  op_run_reference(&r);
  for (int i = 0; i < results; i++)
    if (!(fabs(op_get(&r, 1, i) - y[i]) < 1e-6)) fail_msg("%s: %g at %d", text, op_get(&r, 1, i), i);
  op_run_free(&r);
}

static void known_answers(void **state) {
  const float line[] = {-5, -1, -3, -2, -4}, image[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, cube[] = {1, 2, 3, 4, 5, 6, 7, 8};
  expect("pool w=5 s=3 a=f32", line, 5, (double[]){-1, -1, -2}, 3);
  expect("pool w=5 s=2 stride=2 pad=1 a=f32", line, 5, (double[]){-5, -1, -2}, 3);
  expect("pool w=5 s=2 dilation=3 a=f32", line, 5, (double[]){-2, -1}, 2);
  expect("pool w=5 s=2 stride=2 pad=1 f=mean a=f32", line, 5, (double[]){-2.5, -2, -3}, 3);
  expect("pool h=3 w=3 r=2 s=2 f=mean a=f32", image, 9, (double[]){3, 4, 6, 7}, 4);
  expect("pool h=3 w=3 r=3 s=3 stride=2 pad=1 a=f32", image, 9, (double[]){5, 6, 8, 9}, 4);
  expect("pool h=3 w=3 s=3 a=f32", image, 9, (double[]){3, 6, 9}, 3);
  expect("pool d=2 h=2 w=2 t=2 r=2 s=2 f=mean a=f32", cube, 8, (double[]){4.5}, 1);
  expect("pool d=2 h=2 w=2 t=2 r=2 s=2 stride=2 pad=1 a=f32", cube, 8, (double[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
}

enum { N = 3, H = 14, W = 21, R = 3, STRIDE = 2, PAD = 1, OUT_H = 7, OUT_W = 11 };

typedef enum plan { RIGHT, PADDING_IS_ZERO, LAST_LEFT_OUT, COUNTED } plan;

static double window(const op_run *r, int image, int i, int j, bool mean, plan wrong) {
  float most = -INFINITY, sum = 0;
  int count = 0;
  for (int k = 0; k < R * R - (wrong == LAST_LEFT_OUT); k++) {
    const int row = i * STRIDE - PAD + k / R, column = j * STRIDE - PAD + k % R;
    const bool is_inside = row >= 0 && row < H && column >= 0 && column < W;
    if (!is_inside && wrong != PADDING_IS_ZERO) continue;
    const float v = is_inside ? (float)op_get(r, 0, ((int64_t)image * H + row) * W + column) : 0;
    most = fmaxf(most, v);
    sum += v;
    count++;
  }
  return mean ? (double)(sum / (float)(wrong == COUNTED ? count : R * R)) : (double)most;
}

static void an_honest_kernel_passes_and_wrong_ones_do_not(void **state) {
  static const char *const types[] = {"f32", "bf16", "f16"};
  for (int t = 0; t < 3; t++)
    for (int mean = 0; mean < 2; mean++) {
      char text[120];
      op_run r;
      snprintf(text, sizeof text, "pool n=%d h=%d w=%d r=%d s=%d stride=%d pad=%d f=%s a=%s", N, H, W, R, R, STRIDE,
               PAD, mean ? "mean" : "max", types[t]);
      op_run_make(&r, text, 3);
      for (plan wrong = RIGHT; wrong <= COUNTED; wrong++) {
        if (wrong == (mean ? PADDING_IS_ZERO : COUNTED)) continue; /* no difference */
        for (int at = 0; at < N * OUT_H * OUT_W; at++)
          op_put(&r, 1, at, window(&r, at / OUT_W / OUT_H, at / OUT_W % OUT_H, at % OUT_W, mean, wrong));
        op_expect(&r, wrong ? "wrong result" : NULL);
      }
      op_run_free(&r);
    }
}

static void bad_keys_are_refused(void **state) {
  op_expect_refused("pool w=9 s=3 a=i8", "pool does not support a=i8; expected f32, f16 or bf16");
  op_expect_refused("pool w=9 s=3 pad=2 a=f32", "pad=2 must be at most half of each window (found 3)");
  op_expect_refused("pool w=9 s=5 dilation=3 a=f32",
                    "a window of 5 elements with dilation=3 exceeds the padded size 9");
  op_expect_refused("pool n=16777216 h=16777216 w=9 s=3 a=f32", "n d h w must be at most 2^40");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(an_honest_kernel_passes_and_wrong_ones_do_not),
      cmocka_unit_test(bad_keys_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
