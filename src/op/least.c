/* least.c - see least.h. */
#include "op/least.h"

#include <math.h>
#include <string.h>

#include "op/compare.h"
#include "op/conv.h"
#include "op/elementwise.h"

/* The share of a convolution's products that are inside of the image. all_weights: false if a weight has none. */
static double share_inside(const tw_conv *v, bool *all_weights) {
  double share = v->scale != 0;
  *all_weights = v->scale != 0;
  for (int d = 0; d < TW_CONV_DIMS; d++) {
    int64_t inside = 0;
    for (int64_t i = 0; i < v->out[d] * v->window[d]; i++) {
      const int64_t at = i / v->window[d] * v->stride + i % v->window[d] - v->pad[d];
      inside += at >= 0 && at < v->in[d];
    }
    share *= (double)inside / (double)(v->out[d] * v->window[d]);
    if (v->window[d] > v->in[d] + v->pad[d]) *all_weights = false;
  }
  return share;
}

tw_least tw_least_work(const tw_problem *p, bool first_only) {
  const bool is_2d = !strcmp(p->op->name, "conv2d"), is_3d = !strcmp(p->op->name, "conv3d");
  tw_least least = {.read = p->op->bytes(p), .operations = p->op->operations(p)};
  tw_operand o[TW_OPERANDS_MAX];
  const size_t n = p->op->operands(p, o);
  for (size_t i = 0; i < n; i++) {
    const double bytes = o[i].is_output ? tw_operand_bytes(&o[i], 1) : 0;
    least.read -= bytes;
    if (!first_only || least.written == 0) least.written += bytes;
  }
  bool reads_all = tw_problem_int(p, "stride") <= 1 && tw_problem_int(p, "pool_stride") <= 1 &&
                   tw_problem_int(p, "taps") <= tw_problem_int(p, "w") + tw_problem_int(p, "pad");
  if (is_2d || is_3d) {
    bool all_weights;
    const tw_conv v = is_2d ? tw_conv_of_conv2d(p) : tw_conv_of_conv3d(p);
    least.operations *= share_inside(&v, &all_weights);
    reads_all = reads_all && all_weights;
  }
  least.read = reads_all ? fmax(least.read, 0) : 0;
  return least;
}

bool tw_is_copy(const tw_problem *p) {
  if (strcmp(p->op->name, "elementwise") != 0) return !strcmp(p->op->name, "transpose");
  const tw_elementwise f = tw_elementwise_function(p);
  return (f == TW_SCALE || f == TW_DIVIDE || f == TW_LEAKY_RELU) && tw_problem_real(p, "alpha") == 1;
}
