/* test_conv.c - convolutions of real types: conv2d and conv3d against plain loops over their operands' strides, planted
 * errors, samples and sums with random signs. */
#include "op_fixture.h"

#include <math.h>

typedef enum kernel_plan { RIGHT, PAD_OFF_BY_ONE, NO_BIAS, NO_STRIDE, LAST_CHANNEL, TF32 } kernel_plan;

typedef struct shape {
  int64_t n, in[3], c, k, window[3], out[3], stride, pad[3], image_layout, weight_layout;
} shape;

static shape shape_of(const op_run *r) {
  const bool volumes = !strcmp(r->problem.op->name, "conv3d");
  const tw_problem *p = &r->problem;
  const int64_t pad = tw_problem_int(p, "pad");
  shape s = {.n = tw_problem_int(p, "n"),
             .in = {volumes ? tw_problem_int(p, "d") : 1, tw_problem_int(p, "h"), tw_problem_int(p, "w")},
             .c = tw_problem_int(p, "c"),
             .k = tw_problem_int(p, "k"),
             .window = {volumes ? tw_problem_int(p, "t") : 1, tw_problem_int(p, "r"), tw_problem_int(p, "s")},
             .stride = tw_problem_int(p, "stride"),
             .pad = {volumes ? pad : 0, pad, pad},
             .image_layout = tw_problem_int(p, "image_layout"),
             .weight_layout = tw_problem_int(p, "weight_layout")};
  for (int i = 0; i < 3; i++) s.out[i] = (s.in[i] + 2 * s.pad[i] - s.window[i]) / s.stride + 1;
  return s;
}

/* Where an image's element lies in memory, from the key's words alone. */
static int64_t image_at(const shape *s, const int64_t dims[3], int64_t channels, int64_t n, const int64_t at[3],
                        int64_t c) {
  const int64_t size = dims[0] * dims[1] * dims[2], pixel = (at[0] * dims[1] + at[1]) * dims[2] + at[2];
  return s->image_layout ? (n * channels + c) * size + pixel : (n * size + pixel) * channels + c;
}

static int64_t weight_at(const shape *s, int64_t k, int64_t window, int64_t c) {
  const int64_t windows = s->window[0] * s->window[1] * s->window[2];
  switch (s->weight_layout) {
  case 0: return (window * s->c + c) * s->k + k;
  case 1: return (k * windows + window) * s->c + c;
  default: return (k * s->c + c) * windows + window;
  }
}

static float cut(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  u &= ~UINT32_C(0x1fff);
  memcpy(&x, &u, 4);
  return x;
}

static float element(const op_run *r, const shape *s, int64_t n, const int64_t out[3], int64_t k, kernel_plan plan) {
  const int64_t stride = plan == NO_STRIDE ? 1 : s->stride;
  float sum = 0;
  int64_t window = 0, w[3];
  for (w[0] = 0; w[0] < s->window[0]; w[0]++)
    for (w[1] = 0; w[1] < s->window[1]; w[1]++)
      for (w[2] = 0; w[2] < s->window[2]; w[2]++, window++) {
        int64_t at[3];
        bool inside = true;
        for (int i = 0; i < 3; i++) {
          at[i] = out[i] * stride + w[i] - s->pad[i] + (plan == PAD_OFF_BY_ONE && i == 2);
          inside = inside && at[i] >= 0 && at[i] < s->in[i];
        }
        for (int64_t c = 0; inside && c < s->c - (plan == LAST_CHANNEL); c++) {
          float x = (float)op_get(r, 0, image_at(s, s->in, s->c, n, at, c)),
                y = (float)op_get(r, 1, weight_at(s, k, window, c));
          if (plan == TF32) x = cut(x), y = cut(y);
          sum += x * y;
        }
      }
  if (tw_problem_int(&r->problem, "bias") && plan != NO_BIAS) sum += (float)op_get(r, 2, k);
  sum *= (float)tw_problem_real(&r->problem, "scale");
  return tw_problem_int(&r->problem, "relu") && sum < 0 ? 0 : sum;
}

static void convolve(const op_run *r, kernel_plan plan) {
  const shape s = shape_of(r);
  const size_t output = r->data.n_operands - 1;
  int64_t out[3];
  for (int64_t n = 0; n < s.n; n++)
    for (out[0] = 0; out[0] < s.out[0]; out[0]++)
      for (out[1] = 0; out[1] < s.out[1]; out[1]++)
        for (out[2] = 0; out[2] < s.out[2]; out[2]++)
          for (int64_t k = 0; k < s.k; k++)
            op_put(r, output, image_at(&s, s.out, s.k, n, out, k), (double)element(r, &s, n, out, k, plan));
}

static bool matters(const op_run *r, kernel_plan plan) {
  switch (plan) {
  case RIGHT: return false;
  case NO_BIAS: return tw_problem_int(&r->problem, "bias");
  case NO_STRIDE: return tw_problem_int(&r->problem, "stride") > 1;
  case TF32: return tw_problem_type(&r->problem, "a") == TW_F32 && !tw_problem_int(&r->problem, "arithmetic");
  default: return true;
  }
}

static void honest_kernels_pass_and_wrong_ones_do_not(void **state) {
#define F32 " a=f32 b=f32 out=f32 acc=f32"
  static const char *const texts[] = {
      "conv2d n=2 h=13 w=11 c=3 k=5 r=5 s=3 stride=2 pad=2 bias=row image_layout=nchw weight_layout=kcrs" F32,
      "conv2d n=1 h=9 w=10 c=8 k=4 r=3 s=5 image_layout=nchw weight_layout=krsc relu=1 scale=-0.5" F32,
      "conv2d n=2 h=7 w=8 c=6 k=9 r=3 s=3 pad=1 bias=row arithmetic=tf32" F32,
      "conv2d n=1 h=7 w=8 c=16 k=4 r=3 s=3 pad=1 weight_layout=krsc a=bf16 b=bf16 out=f32 acc=f32",
      "conv3d n=2 d=6 h=7 w=5 c=3 k=4 t=3 r=3 s=3 bias=row image_layout=ncdhw weight_layout=kctrs" F32,
      "conv3d n=1 d=9 h=7 w=8 c=2 k=4 t=2 r=3 s=4 stride=2 pad=1 weight_layout=ktrsc relu=1" F32,
      "conv3d n=1 d=5 h=6 w=7 c=4 k=3 t=1 r=2 s=3 a=f16 b=f16 out=f16 acc=f32",
  };
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t += (size_t)example_stride()) {
    op_run r;
    op_run_make(&r, texts[t], 4);
    convolve(&r, RIGHT);
    op_expect(&r, NULL);
    for (int plan = PAD_OFF_BY_ONE; plan <= TF32; plan++) {
      tw_error error = {0};
      convolve(&r, (kernel_plan)plan);
      const bool right = r.problem.op->compare(&r.problem, r.data.buffer, r.actual, &error) == TW_OK;
      if (right == matters(&r, (kernel_plan)plan))
        fail_msg("%s: plan %d: %s", texts[t], plan, right ? "right" : error.text);
    }
    op_run_reference(&r);
    op_expect(&r, NULL);
    op_run_free(&r);
  }
}

static void large_outputs_are_sampled_and_surveyed(void **state) {
  static const char *const texts[] = {
      "conv2d n=2 h=40 w=40 c=8 k=64 r=3 s=3 image_layout=nchw weight_layout=kcrs" F32,
      "conv3d n=1 d=12 h=12 w=12 c=3 k=64 t=3 r=3 s=3 image_layout=ncdhw weight_layout=kctrs" F32,
  };
  for (int t = 0; t < 2; t++) {
    op_run r;
    op_run_make(&r, texts[t], 4);
    convolve(&r, RIGHT);
    op_expect_sampled(&r, 1e6, true);
    tw_coverage c;
    tw_error error;
    const tw_effort some = {.budget = 1e6, .seed = 1, .threads = 2};
    assert_int_equal(tw_case_check(&r.data, r.actual, &some, &c, &error), TW_OK);
    assert_non_null(strstr(c.text, "random signs"));
    const int64_t at = 12345;
    op_put(&r, r.data.n_operands - 1, at, op_get(&r, r.data.n_operands - 1, at) + 1); /* a single element */
    op_expect_sampled(&r, 1e6, false);
    op_run_free(&r);
  }
}

/* The largest of each window of a convolution without pooling. */
static void pooled_elements_are_the_largest_of_their_windows(void **state) {
#define CONVOLUTION "conv2d n=2 h=9 w=11 c=3 k=5 r=3 s=2 pad=1 relu=1 image_layout=nchw weight_layout=kcrs" F32
  op_run plain, pooled;
  op_run_make(&plain, CONVOLUTION, 4);
  op_run_make(&pooled, CONVOLUTION " pool=3 pool_stride=2 pool_pad=1", 4);
  assert_memory_equal(plain.data.buffer[0], pooled.data.buffer[0], plain.data.operand[0].bytes);
  op_run_reference(&plain);
  const int64_t *in = plain.data.operand[2].dims, *out = pooled.data.operand[2].dims; /* n, rows, columns, channels */
  for (int64_t i = 0; i < out[0] * out[3]; i++)
    for (int64_t p = 0; p < out[1]; p++)
      for (int64_t q = 0; q < out[2]; q++) {
        double most = -INFINITY;
        for (int64_t y = 2 * p - 1; y < 2 * p + 2; y++)
          for (int64_t x = 2 * q - 1; x < 2 * q + 2; x++)
            if (y >= 0 && y < in[1] && x >= 0 && x < in[2])
              most = fmax(most, op_get(&plain, 2, (i * in[1] + y) * in[2] + x));
        op_put(&pooled, 2, (i * out[1] + p) * out[2] + q, most);
      }
  op_expect(&pooled, NULL);
  op_put(&pooled, 2, 17, op_get(&pooled, 2, 17) + 0.01);
  op_expect(&pooled, "1 of");
  op_run_free(&plain);
  op_run_free(&pooled);
}

/* int8 with pooling: single elements are those of the whole reference. */
static void integers_are_exact_element_by_element(void **state) {
  static const char *const texts[] = {
      "conv2d n=1 h=12 w=12 c=8 k=9 r=3 s=3 pad=1 scale=0.05 bias=row relu=1 pool=2 a=i8 b=i8 out=i8 acc=i32",
      "conv2d n=2 h=9 w=9 c=8 k=9 r=3 s=3 stride=2 weight_layout=krsc a=i8 b=i8 out=i32 acc=i32"};
  for (int t = 0; t < 2; t++) {
    op_run r;
    tw_coverage c;
    tw_error error = {0};
    const tw_effort all = {.budget = 1e18, .seed = 1, .threads = 2};
    op_run_make(&r, texts[t], 4);
    op_run_reference(&r);
    if (tw_case_check(&r.data, r.actual, &all, &c, &error) != TW_OK) fail_msg("%s", error.text);
    const size_t output = r.data.n_operands - 1;
    op_put(&r, output, 40, op_get(&r, output, 40) == 1 ? 2 : 1);
    assert_int_equal(tw_case_check(&r.data, r.actual, &all, &c, &error), TW_FAILED);
    op_run_free(&r);
  }
}

static void cost_and_refusals(void **state) {
  const tw_problem p = op_problem("conv3d n=16 d=64 h=64 w=64 c=3 k=64 t=3 r=3 s=3" F32);
  assert_true(p.op->operations(&p) == 16.0 * 62 * 62 * 62 * 64 * 81);
  op_expect_refused("conv3d n=1 d=2 h=6 w=7 c=4 k=3 t=3 r=2 s=3" F32, "larger than the input");
  op_expect_refused("conv3d n=1 d=2 h=6 w=7 c=4 k=3 t=1 r=2 s=3", "types");
  op_expect_refused("conv3d n=1 d=2 h=6 w=7 c=4 k=3 t=1 r=2 s=3 arithmetic=tf32 a=f16 b=f16 out=f16 acc=f32", "tf32");
  op_expect_refused("conv2d n=1 h=6 w=7 c=4 k=3 r=2 s=3 image_layout=nchw a=i8 b=i8 out=i8 acc=i32",
                    "image_layout=nchw");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(honest_kernels_pass_and_wrong_ones_do_not),
      cmocka_unit_test(large_outputs_are_sampled_and_surveyed),
      cmocka_unit_test(pooled_elements_are_the_largest_of_their_windows),
      cmocka_unit_test(integers_are_exact_element_by_element),
      cmocka_unit_test(cost_and_refusals),
  };
  return cmocka_run_group_tests_name("convolution of real types", tests, NULL, NULL);
}
