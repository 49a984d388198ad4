/* conv.c - a conv2d problem as blocks of channels, results and windows, with C types. */
#include "target/gemmini/schedule/conv/conv.h"

#include <inttypes.h>
#include <string.h>

/* config_st has two bits for the window, its stride and its padding (gemmini.h). */
enum { POOL_LIMIT = 3 };

static tw_status check_pooling(const gm_config *config, const tw_conv2d *p, tw_error *error) {
  if (!p->pool) return TW_OK;
  if (p->pool > POOL_LIMIT || p->pool_stride > POOL_LIMIT)
    return tw_fail(error, TW_USAGE,
                   "%s supports pooling windows of at most %d x %d and strides of at most %d; use pool=2 or pool=3",
                   config->name, POOL_LIMIT, POOL_LIMIT, POOL_LIMIT);
  if (p->pool_pad && !p->relu)
    return tw_fail(error, TW_USAGE, "%s pools with zeros outside of the image; pool_pad=%" PRId64 " requires relu=1",
                   config->name, p->pool_pad);
  if (p->output != config->input_type)
    return tw_fail(error, TW_USAGE, "%s pools only out=%s (found out=%s)", config->name,
                   tw_type_name(config->input_type), tw_type_name(p->output));
  return TW_OK;
}

static tw_status check_types(const gm_config *config, const tw_conv2d *p, tw_error *error) {
  if (p->input != config->input_type || p->weights != config->input_type)
    return tw_fail(error, TW_USAGE, "%s multiplies %s by %s, not %s by %s", config->name,
                   tw_type_name(config->input_type), tw_type_name(config->input_type), tw_type_name(p->input),
                   tw_type_name(p->weights));
  if (p->output != config->input_type && p->output != config->acc_type)
    return tw_fail(error, TW_USAGE, "%s stores the output as %s or %s, not %s", config->name,
                   tw_type_name(config->input_type), tw_type_name(config->acc_type), tw_type_name(p->output));
  if (p->output != config->input_type && (p->relu || p->scale != 1.0f))
    return tw_fail(error, TW_USAGE, "out=%s is stored unchanged from the accumulator; relu and scale require out=%s",
                   tw_type_name(p->output), tw_type_name(config->input_type));
  return TW_OK;
}

/* A 1 x 1 convolution without stride and padding is a matrix product: the pixels of all images form one row. */
static void flatten(gm_conv *v) {
  if (v->r != 1 || v->s != 1 || v->stride != 1 || v->pad || v->pool) return;
  const int64_t pixels = (int64_t)v->n * v->h * v->w;
  if (pixels > 1 << 24) return;
  v->n = v->h = v->p = v->out_h = 1;
  v->w = v->q = v->out_w = (int)pixels;
}

tw_status gm_conv_from(const gm_config *config, const tw_problem *problem, gm_conv *v, tw_error *error) {
  const tw_conv2d p = tw_conv2d_of(problem);
  tw_status status = check_types(config, &p, error);
  if (status == TW_OK) status = check_pooling(config, &p, error);
  if (status != TW_OK) return status;
  *v = (gm_conv){
      .of = p,
      .n = (int)p.n,
      .h = (int)p.h,
      .w = (int)p.w,
      .c = (int)p.c,
      .k = (int)p.k,
      .r = (int)p.r,
      .s = (int)p.s,
      .stride = (int)p.stride,
      .pad = (int)p.pad,
      .pool = (int)p.pool,
      .pool_stride = (int)p.pool_stride,
      .pool_pad = (int)p.pool_pad,
      .p = (int)p.p,
      .q = (int)p.q,
      .out_h = (int)p.out_h,
      .out_w = (int)p.out_w,
      .cb = gm_ceil_div(p.c, config->dim),
      .kb = gm_ceil_div(p.k, config->dim),
      .bias = p.bias,
      .relu = p.relu,
      .transposed = p.layout == TW_CONV2D_KRSC,
      .scale = (double)p.scale,
      .wide_output = p.output != config->input_type,
      .input_bytes = gm_input_bytes(config),
      .acc_bytes = gm_acc_bytes(config),
      .output_bytes = tw_type_bits(p.output) / 8,
      .input_type = gm_c_type(config->input_type),
      .acc_type = gm_c_type(config->acc_type),
      .output_type = gm_c_type(p.output),
  };
  flatten(v);
  return TW_OK;
}

/* The first row (column) of the convolution that row y of the output needs. */
static int first_of(const gm_conv *v, int y) { return gm_max(0, y * v->pool_stride - v->pool_pad); }

int gm_conv_extent(const gm_conv *v, int y, int n, int length) {
  const int window = v->pool ? v->pool : 1, end = (y + n - 1) * v->pool_stride - v->pool_pad + window;
  return gm_min(end, length) - first_of(v, y);
}
