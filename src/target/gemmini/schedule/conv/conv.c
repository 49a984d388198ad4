/* conv.c - a conv2d problem as blocks of channels, results and windows, with C types. */
#include "target/gemmini/schedule/conv/conv.h"

#include <string.h>

/* The rules of a problem. Pooling has the limits of the store unit (StoreController.scala, GemminiISA.scala: widths of
 * the fields of config_st). */
static tw_status check(const gm_config *c, const tw_conv2d *v, tw_error *error) {
  enum { POOL_MOST = 3, COLUMNS_MOST = 255 };
  if (v->layout == TW_CONV2D_KCRS)
    return tw_fail(error, TW_USAGE, "%s: weight_layout=kcrs is not supported; use rsck or krsc", c->name);
  if (v->input != c->input_type || v->weights != c->input_type)
    return tw_fail(error, TW_USAGE, "%s multiplies %s by %s, not %s by %s", c->name, tw_type_name(c->input_type),
                   tw_type_name(c->input_type), tw_type_name(v->input), tw_type_name(v->weights));
  if (v->output != c->input_type && v->output != c->acc_type)
    return tw_fail(error, TW_USAGE, "%s stores the output as %s or %s, not %s", c->name, tw_type_name(c->input_type),
                   tw_type_name(c->acc_type), tw_type_name(v->output));
  if (v->output != c->input_type && (v->relu || v->pool))
    return tw_fail(error, TW_USAGE, "%s: out=%s is stored unchanged from the accumulator; relu and pool require out=%s",
                   c->name, tw_type_name(v->output), tw_type_name(c->input_type));
  if (!v->pool) return TW_OK;
  if (!c->has_max_pool)
    return tw_fail(error, TW_USAGE, "%s: pooling is not in this machine (has_max_pool = 0)", c->name);
  if (v->pool > POOL_MOST || v->pool_stride > POOL_MOST)
    return tw_fail(
        error, TW_USAGE,
        "%s: the store unit supports pooling windows of at most 3 x 3 and strides of at most 3; use pool=2 or pool=3",
        c->name);
  if (v->pool_pad && !v->relu)
    return tw_fail(
        error, TW_USAGE,
        "%s: the store unit pads pooling windows with zeros, which exceed negative results; use relu=1 or pool_pad=0",
        c->name);
  if (v->out_w > COLUMNS_MOST)
    return tw_fail(error, TW_USAGE, "%s: the store unit pools at most %d columns (found %d)", c->name, COLUMNS_MOST,
                   (int)v->out_w);
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
  const tw_status status = check(config, &p, error);
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
