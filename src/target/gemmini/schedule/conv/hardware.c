/* hardware.c - the hardware loop for convolutions: legality and cost of a tile, and the C that runs it.
 *
 * The loop (machine/loop_conv.h) does everything below the loops over tiles: it loads a tile's pixels and weights, then
 * computes and stores. Meanwhile it loads the next tile. Tiles are walked by tiled_conv of the machine's library
 * (runtime/include/gemmini_conv.h): images, rows, columns, channels k, rows of the kernel, channels c. */
#include <math.h>

#include "target/gemmini/schedule/conv/emit.h"
#include "target/gemmini/schedule/conv/hardware.h"
#include "target/gemmini/schedule/walk.h"

/* The loop's registers of sizes have 16 bits (LoopConv.scala). */
enum { SIZE_LIMIT = 65535 };

/* A tile in pixels and channels, as tiled_conv_total_spad_rows counts it: the windows' pixels, and the input pixels
 * that they need. */
typedef struct extent {
  int rows, columns, in_rows, in_columns, k, c;
} extent;

/* Only every second row and column is loaded. */
static bool downsamples(const gm_conv *v) {
  return v->stride == 2 && v->r == 1 && v->h % 2 == 0 && v->pad == 0 && !v->pool;
}

static extent extent_of(const gm_config *config, const gm_conv *v, const gm_conv_plan *p) {
  const int window = v->pool ? v->pool : 1, half = downsamples(v) ? 1 : 0;
  extent x = {.rows = p->tile_p * v->pool_stride + window - 1,
              .columns = p->tile_q * v->pool_stride + window - 1,
              .k = gm_min(p->tile_k * config->dim, v->k),
              .c = gm_min(p->tile_c * config->dim, v->c)};
  x.in_rows = (x.rows * v->stride + p->tile_r - 1) >> half;
  x.in_columns = (x.columns * v->stride + v->s - 1) >> half;
  return x;
}

static tw_status check_problem(const gm_conv *v, tw_error *error) {
  if (v->of.h != v->h)
    return tw_fail(error, TW_USAGE,
                   "a 1 x 1 convolution without stride is laid out as one row of pixels; the hardware loop requires "
                   "square images");
  if (v->h != v->w || v->r != v->s)
    return tw_fail(error, TW_USAGE,
                   "the hardware loop has one size for both sides; h=%d w=%d and r=%d s=%d must be equal", v->h, v->w,
                   v->r, v->s);
  if (v->transposed)
    return tw_fail(error, TW_USAGE, "the hardware loop requires weight_layout=rsck, or 'transpose weights' before it");
  if (v->wide_output) return tw_fail(error, TW_USAGE, "the hardware loop stores results only in the input's type");
  if (v->pad >= v->r)
    return tw_fail(error, TW_USAGE, "the hardware loop needs pad=%d below the kernel's r=%d", v->pad, v->r);
  if (v->h + 2 * v->pad > SIZE_LIMIT || v->c > SIZE_LIMIT || v->k > SIZE_LIMIT)
    return tw_fail(error, TW_USAGE, "the hardware loop counts up to %d in h, w, c and k", SIZE_LIMIT);
  return TW_OK;
}

tw_status gm_conv_hardware_check(const gm_config *config, const gm_conv *v, const gm_conv_plan *p, gm_conv_layout *l,
                                 tw_error *error) {
  if (!config->has_loop_conv)
    return tw_fail(error, TW_USAGE, "%s has no hardware loop of convolutions (has_loop_conv = 0)", config->name);
  const tw_status status = check_problem(v, error);
  if (status != TW_OK) return status;
  const extent x = extent_of(config, v, p);
  const int64_t pixels = (int64_t)p->tile_n * x.in_rows * x.in_columns * p->tile_c,
                weights = (int64_t)p->tile_r * v->s * x.c * p->tile_k,
                results = (int64_t)p->tile_n * x.rows * x.columns * p->tile_k;
  if (pixels + weights > gm_spad_rows(config) / 2 || results > gm_acc_rows(config) / 2)
    return tw_fail(
        error, TW_USAGE,
        "a tile of the hardware loop may fill half of the scratchpad and of the accumulator; use smaller tiles");
  l->spad_bytes = (size_t)(2 * (pixels + weights) * config->dim * v->input_bytes);
  l->acc_bytes = (size_t)(2 * results * config->dim * v->acc_bytes);
  return TW_OK;
}

/* ---- cost ---- */

/* facts, "Execute": low blocks take 8.3 cycles a pair. */
static const double low_pair = 8.3;
/* per tile: the core's eight commands and the loop's own config commands. */
static const double tile_cycles = 60;

/* Cycles of the pairs with one block of weights: in each row full blocks, then the remainder. The very last pair
 * carries the next weights and takes dim cycles. */
static double run_cycles(const gm_config *config, int rows, int columns) {
  const int d = config->dim, left = columns % d;
  if (left == 0) return (double)rows * columns;
  return rows * (columns - left + fmax(left, low_pair)) + d - fmax(left, low_pair);
}

/* Cycles to load rows of `elements` each; each row is loaded `repeats` times from one place. */
static double load_cycles(const gm_config *config, bool cold, double rows, int elements, int repeats) {
  const int wide = gm_min(elements, gm_widest_load(config) * config->dim);
  const double bytes = gm_input_bytes(config), pieces = gm_ceil_div(elements, wide);
  return fmax(gm_load_cycles(config, cold, rows * elements * bytes, rows * pieces, wide * bytes), rows * repeats);
}

/* All tiles of the pixels [y, y + p) x [q, q + q): the time of the array or of the loads, whichever is larger. */
static double busy_cycles(const gm_config *config, const gm_conv *v, const gm_conv_plan *p, const extent *x, int y,
                          int q) {
  const int packed = x->c > config->dim || downsamples(v) ? 1 : gm_min(config->dim / x->c, v->s);
  const int rows = gm_conv_extent(v, y, gm_min(p->tile_p, v->out_h - y), v->p),
            columns = gm_conv_extent(v, q, gm_min(p->tile_q, v->out_w - q), v->q), half = downsamples(v) ? 2 : 1;
  const double runs = (double)v->r * gm_ceil_div(v->s, packed) * v->cb * v->kb;
  const int in_rows = (rows * v->stride + p->tile_r - 1) / half, in_columns = (columns * v->stride + v->s - 1) / half;
  const double pixels = (double)in_rows * in_columns;
  const double again = (double)gm_ceil_div(v->r, p->tile_r) * gm_ceil_div(v->kb, p->tile_k) * v->n;
  const double weights = (double)v->r * v->s * v->c * gm_ceil_div(v->kb, p->tile_k) * gm_ceil_div(v->n, p->tile_n);
  return fmax(runs * run_cycles(config, rows, columns) * v->n,
              load_cycles(config, false, pixels * again, v->c, packed) + load_cycles(config, false, weights, x->k, 1));
}

double gm_conv_hardware_predict(const gm_config *config, const gm_conv *v, const gm_conv_plan *p) {
  const extent x = extent_of(config, v, p);
  const double each = (double)gm_ceil_div(v->n, p->tile_n) * gm_ceil_div(v->kb, p->tile_k) *
                      gm_ceil_div(v->r, p->tile_r) * gm_ceil_div(v->cb, p->tile_c);
  const double results = (double)v->n * v->out_h * v->out_w, tile = (double)p->tile_n * x.rows * x.columns;
  double busy = 0;
  for (int y = 0; y < v->out_h; y += p->tile_p)
    for (int q = 0; q < v->out_w; q += p->tile_q) busy += busy_cycles(config, v, p, &x, y, q) + each * tile_cycles;
  /* all inputs are loaded cold once; the array waits for all loads of the first tile; the last tile is stored at the
   * end */
  const double memory = load_cycles(config, true, (double)v->n * v->h * v->w, v->c, 1) +
                        load_cycles(config, true, (double)v->r * v->s * v->c, v->k, 1);
  const double first = load_cycles(config, true, (double)p->tile_n * x.in_rows * x.in_columns, x.c, 1) +
                       load_cycles(config, true, (double)p->tile_r * v->s * x.c, x.k, 1);
  const double stores = gm_store_cycles(config, results, v->k, config->dim, v->output_bytes);
  return fmax(fmax(busy, memory), stores) + first + gm_store_cycles(config, tile, x.k, config->dim, v->output_bytes);
}

/* ---- source ---- */

void gm_conv_emit_hardware_loop(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  const extent x = extent_of(e->config, v, p);
  char scale[40];
  gm_float_text(v->scale, scale, sizeof scale);
  gm_write(&e->out,
           "tiled_conv(%d, %d, %d, %d, %d, %d, %d, /* images, rows, columns, channels c, k; rows, columns out */", v->n,
           v->h, v->w, v->c, v->k, v->p, v->q);
  LINE("  %d, 1, 1, %d, %d, false, false, false, false, false, /* stride, no dilation; padding; kernel */", v->stride,
       v->pad, v->r);
  LINE("  %d, %d, %d, %d, %d, %d, %d, /* a tile: images, rows, columns, channels k; kernel, channels c */", p->tile_n,
       p->tile_p, p->tile_q, x.k, p->tile_r, v->s, x.c);
  LINE("  &input[0][0][0][0], (%s *)weights, %s, &output[0][0][0][0],", v->input_type, v->bias ? "bias[0]" : "NULL");
  LINE("  %s, %s, %d, %d, %d, WS); /* pooling: size, stride, padding */", v->relu ? "RELU" : "NO_ACTIVATION", scale,
       v->pool, v->pool ? v->pool_stride : 0, v->pool_pad);
}
