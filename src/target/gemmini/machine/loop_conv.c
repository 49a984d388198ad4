/* loop_conv.c - Gemmini's hardware convolution loop, one clock edge at a time (see loop_conv.h).
 *
 * Source: ucb-bar/gemmini at be2e9f2, src/main/scala/gemmini/LoopConv.scala (line numbers below are of that file) and
 * Pipeline.scala. All decisions of a cycle use the registers before the edge: gm_loop_conv_step first reads (which
 * units are idle, may send, wait), then updates. A unit's command is made when it enters the unit's output registers;
 * the RTL carries its parts and combines them at the end, which is equivalent. The load units' config_ld passes the
 * same way and counts as a load in flight until it issues. Assumed: dimensions and rows are powers of two, as the
 * generator requires (GemminiConfigs.scala). */
#include "target/gemmini/machine/loop_conv.h"

#include <stdio.h>
#include <string.h>

enum { IDLE, CONFIG, WORK, POOL, AFTER_POOL }; /* states; execute's PRELOAD and COMPUTE take the place of two */
enum { PRELOAD = CONFIG, COMPUTE = WORK, STRIDES = POOL };
enum { LOADED = 1 << GM_CONV_BIAS | 1 << GM_CONV_INPUT | 1 << GM_CONV_WEIGHTS };

static const uint64_t scale_one = UINT64_C(0x3f800000) << 32;

void gm_loop_conv_init(gm_loop_conv *l, const gm_config *c) {
  uint32_t spad_rows = (uint32_t)gm_spad_rows(c);
  memset(l, 0, sizeof *l);
  gm_loop_pair_init(&l->pair, c);
  l->dim = c->dim;
  l->input_bytes = gm_input_bytes(c);
  l->acc_bytes = gm_acc_bytes(c);
  l->has_training = c->has_training_convs, l->has_dw = c->has_dw_convs;
  l->columns = gm_loop_blocks(c, l->input_bytes) * c->dim;
  l->columns_acc = gm_loop_blocks(c, l->acc_bytes) * c->dim;
  for (uint32_t i = 0; i < 2; i++) {
    l->loops[i].input_start = i * (spad_rows / 2);
    l->loops[i].weights_end = (i + 1) * (spad_rows / 2);
  }
}

/* ---- Derived sizes (lines 1066-1117), of 16 bits like the registers that hold them ---- */

/* A size of the input in memory. The loop inserts zeros as every second row and column. */
static uint32_t undilated(const gm_conv_loop *p, uint32_t x) { return (x + p->input_dilated) >> p->input_dilated; }

static uint32_t taps(const gm_conv_loop *p, uint32_t n) { return n + (p->kernel_dilation - 1u) * (n - 1u); }
static int all_rows(const gm_conv_loop *p) { return (int)((uint32_t)p->orows * p->stride + taps(p, p->krows) - 1u); }
static int all_cols(const gm_conv_loop *p) { return (int)((uint32_t)p->ocols * p->stride + taps(p, p->kcols) - 1u); }

static int inner_rows(const gm_conv_loop *p) { /* without padding */
  return (uint16_t)undilated(p, (uint32_t)(all_rows(p) - p->upad - p->dpad));
}
static int inner_cols(const gm_conv_loop *p) {
  return (uint16_t)undilated(p, (uint32_t)(all_cols(p) - p->lpad - p->rpad));
}

static int up(const gm_conv_loop *p) { return (int)undilated(p, p->upad); }
static int down(const gm_conv_loop *p) { return (int)undilated(p, p->dpad); }
static int left(const gm_conv_loop *p) { return (int)undilated(p, p->lpad); }
static int right(const gm_conv_loop *p) { return (int)undilated(p, p->rpad); }

static int input_rows(const gm_conv_loop *p) {
  return (uint16_t)(p->input_dilated ? inner_rows(p) + up(p) + down(p) : all_rows(p));
}
static int input_cols(const gm_conv_loop *p) {
  return (uint16_t)(p->input_dilated ? inner_cols(p) + left(p) + right(p) : all_cols(p));
}

/* Local rows of one block of channels: of one image of the input, of all images, of the weights, of the results. Where
 * the input is transposed, a block is one of images, and each channel has an image of rows. */
static uint32_t input_image(const gm_conv_loop *p) {
  return (uint32_t)(input_rows(p) >> p->downsample) * (uint32_t)(input_cols(p) >> p->downsample);
}
static uint32_t input_block(const gm_conv_loop *p) {
  return (p->trans_input_3120 ? p->kchs : p->batches) * input_image(p);
}
static uint32_t weight_block(const gm_conv_loop *p) {
  return (uint32_t)p->krows * p->kcols * (p->trans_weight_0132 ? p->pochs : p->kchs);
}
static uint32_t result_block(const gm_conv_loop *p) { return (uint32_t)p->batches * p->orows * p->ocols; }

static uint32_t weights_start(const gm_loop_conv *l, const gm_conv_loop *p) {
  uint32_t channels = p->trans_weight_0132 ? p->kchs : p->pochs;
  return p->weights_end - (channels + (uint32_t)l->dim - 1) / (uint32_t)l->dim * weight_block(p);
}

static uint32_t input_local(const gm_loop_conv *l, const gm_conv_loop *p, int b, int row, int col, int channel) {
  const int block = p->trans_input_3120 ? b : channel, image = p->trans_input_3120 ? channel : b;
  return p->input_start + (uint32_t)(block / l->dim) * input_block(p) + (uint32_t)image * input_image(p) +
         (uint32_t)(row >> p->downsample) * (uint32_t)(input_cols(p) >> p->downsample) +
         (uint32_t)(col >> p->downsample);
}

static uint32_t result_local(const gm_loop_conv *l, const gm_conv_loop *p, const gm_conv_unit *u) {
  uint32_t pixel = ((uint32_t)u->b * p->orows + (uint32_t)u->row) * p->ocols + (uint32_t)u->col;
  return u->start + (uint32_t)(u->channel / l->dim) * result_block(p) + pixel;
}

static uint32_t weight_local(const gm_loop_conv *l, const gm_conv_loop *p, const gm_conv_unit *u, bool rotated) {
  const uint32_t krow = rotated ? p->krows - u->krow - 1u : u->krow, kcol = rotated ? p->kcols - u->kcol - 1u : u->kcol;
  const uint32_t tap = krow * p->kcols + kcol, start = weights_start(l, p);
  if (p->trans_weight_0132)
    return start + (uint32_t)(u->kch / l->dim) * weight_block(p) + tap * p->pochs + (uint32_t)u->channel;
  return start + (uint32_t)(u->channel / l->dim) * weight_block(p) + tap * p->kchs + u->kch;
}

static uint32_t at_most(int left, int most) { return (uint32_t)(left > most ? most : left); }

/* Offsets in memory are cut to 32 bits (castDramOffset). */
static uint64_t at(uint64_t base, uint64_t elements, int bytes) {
  return base + (uint32_t)(elements * (uint64_t)bytes);
}

/* ---- The commands of the units; each steps its unit's iterators (floorAdd, sFloorAdd) ---- */

static gm_command config_ld(int state_id, uint64_t stride, uint32_t block_stride, unsigned pixel_repeats) {
  return (gm_command){.funct = GM_CONFIG,
                      .rs1 = scale_one | (uint64_t)(block_stride & 0xffff) << 16 | pixel_repeats << 8 |
                             (uint64_t)state_id << 3 | GM_CONFIG_LD,
                      .rs2 = stride};
}

/* Steps *i by n. At `end`, *i restarts at `first`; returns true, so that the next iterator steps. */
static bool wraps(int32_t *i, int n, int end, int first) {
  *i = *i + n >= end ? first : *i + n;
  return *i == first;
}

static gm_command bias_command(gm_loop_conv *l) {
  gm_conv_unit *u = &l->units[GM_CONV_BIAS];
  const gm_conv_loop *p = &l->loops[u->loop];
  if (u->state == CONFIG) {
    u->state = WORK;
    return config_ld(2, 0, result_block(p), 1);
  }
  int width = (int)at_most(p->pochs, l->columns_acc);
  gm_command c = {.funct = GM_MVIN3,
                  .rs1 = p->no_bias ? 0 : at(p->bias, (uint64_t)u->channel, l->acc_bytes),
                  .rs2 = gm_local_operand(at_most(p->ocols - u->col, l->dim), at_most(p->pochs - u->channel, width),
                                          1u << 31 | (result_local(l, p, u) & l->pair.row_mask))};
  if (wraps(&u->channel, width, p->pochs, 0) && wraps(&u->col, l->dim, p->ocols, 0) && wraps(&u->row, 1, p->orows, 0) &&
      wraps(&u->b, 1, p->batches, 0))
    u->state = IDLE;
  return c;
}

/* Columns of pixels in one mvin: of the padding before the image, of the image, of the padding after it (line 270). */
static int input_width(const gm_loop_conv *l, const gm_conv_loop *p, int col) {
  int inner = inner_cols(p);
  if (col < 0) return (int)at_most(-col, l->dim);
  if (col >= inner) return (int)at_most(inner + p->rpad - col, l->dim);
  return (int)at_most(inner - col, l->dim << p->downsample);
}

static gm_command input_command(gm_loop_conv *l) {
  gm_conv_unit *u = &l->units[GM_CONV_INPUT];
  const gm_conv_loop *p = &l->loops[u->loop];
  if (u->state == CONFIG) {
    u->state = WORK;
    const uint64_t pixel = p->trans_input_3120 ? p->batch_size : p->in_channels;
    return config_ld(0, pixel * (uint32_t)l->input_bytes << p->downsample, input_block(p), p->pixels);
  }
  const bool images = p->trans_input_3120; /* a row holds images of a channel, not channels of an image */
  int width = input_width(l, p, u->col), row = (int)at_most(images ? p->batches : p->kchs, l->columns);
  bool padding = u->row < 0 || u->row >= inner_rows(p) || u->col < 0 || u->col >= inner_cols(p);
  const int64_t image = images ? u->channel : u->b;
  uint64_t pixel = (uint64_t)((image * p->in_dim + u->row) * p->in_dim + u->col),
           element = images ? pixel * p->batches + (uint64_t)u->b : pixel * p->in_channels + (uint64_t)u->channel;
  gm_command c = {.funct = GM_MVIN,
                  .rs1 = padding ? 0 : at(p->input, element, l->input_bytes),
                  .rs2 = gm_local_operand(
                      (uint32_t)width >> p->downsample, at_most(images ? p->batches - u->b : p->kchs - u->channel, row),
                      input_local(l, p, u->b, u->row + up(p), u->col + left(p), u->channel) & l->pair.row_mask)};
  if (wraps(&u->channel, images ? 1 : row, p->kchs, 0) && wraps(&u->col, width, inner_cols(p) + right(p), -left(p)) &&
      wraps(&u->row, 1 << p->downsample, inner_rows(p) + down(p), -up(p)) &&
      wraps(&u->b, images ? row : 1, p->batches, 0))
    u->state = IDLE;
  return c;
}

/* The first element of a tap's weights in memory (line 448), and the distance of the lines of one mvin. */
static uint64_t weights_element(const gm_conv_loop *p, const gm_conv_unit *u) {
  const uint64_t tap = (uint64_t)u->krow * p->kernel_dim + u->kcol, channel = (uint64_t)u->channel;
  if (p->dw) return tap;
  if (p->trans_weight_1203) return ((uint64_t)u->kch * p->kernel_dim * p->kernel_dim + tap) * p->out_channels + channel;
  if (p->trans_weight_0132) return (tap * p->out_channels + channel) * p->in_channels + u->kch;
  return (tap * p->in_channels + u->kch) * p->out_channels + channel;
}
static uint64_t weights_stride(const gm_conv_loop *p) {
  return p->dw                  ? 1
         : p->trans_weight_1203 ? (uint64_t)p->kernel_dim * p->kernel_dim * p->out_channels
         : p->trans_weight_0132 ? p->in_channels
                                : p->out_channels;
}

static gm_command weights_command(gm_loop_conv *l) {
  gm_conv_unit *u = &l->units[GM_CONV_WEIGHTS];
  const gm_conv_loop *p = &l->loops[u->loop];
  if (u->state == CONFIG) {
    u->state = WORK;
    return config_ld(1, weights_stride(p) * (uint32_t)l->input_bytes, weight_block(p), 1);
  }
  const bool turned = p->trans_weight_0132; /* lines of input channels, not of output channels */
  const int width = (int)at_most(turned ? p->kchs : p->pochs, l->columns), in = turned ? width : l->dim,
            out = turned ? l->dim : width;
  const uint32_t ins = at_most(p->kchs - u->kch, in), outs = at_most(p->pochs - u->channel, out);
  gm_command c = {.funct = GM_MVIN2,
                  .rs1 = at(p->weights, weights_element(p, u), l->input_bytes),
                  .rs2 = gm_local_operand(turned ? outs : ins, turned ? ins : outs,
                                          weight_local(l, p, u, false) & l->pair.row_mask)};
  u->kch = gm_advance(u->kch, (uint32_t)in, p->kchs);
  if (!u->kch) u->kcol = gm_advance(u->kcol, 1, p->kcols);
  if (!u->kch && !u->kcol) u->krow = gm_advance(u->krow, 1, p->krows);
  if (!u->kch && !u->kcol && !u->krow && wraps(&u->channel, out, p->pochs, 0)) u->state = IDLE;
  return c;
}

/* The pixels, channels and products of the next preload and compute. */
typedef struct block {
  uint32_t rows, cols, depth;
} block;

static gm_command preload(const gm_loop_conv *l, const gm_conv_loop *p, const gm_conv_unit *u, block n) {
  return (gm_command){
      .funct = GM_PRELOAD,
      .rs1 = gm_local_operand(n.depth, n.cols,
                              u->new_weights ? weight_local(l, p, u, p->wrot180) & l->pair.row_mask : GM_GARBAGE),
      .rs2 = gm_local_operand(n.rows, n.cols, 3u << 30 | (result_local(l, p, u) & l->pair.row_mask))};
}

static gm_command compute(const gm_loop_conv *l, const gm_conv_loop *p, const gm_conv_unit *u, block n) {
  int row = (uint16_t)undilated(p, (uint32_t)u->row * p->stride + (uint32_t)u->krow * p->kernel_dilation),
      col = (uint16_t)undilated(p, (uint32_t)u->col * p->stride + (uint32_t)u->kcol * p->kernel_dilation);
  uint32_t a = input_local(l, p, u->b, row, col, u->kch);
  return (gm_command){.funct = u->new_weights ? GM_COMPUTE_PRELOADED : GM_COMPUTE_ACCUMULATED,
                      .rs1 = gm_local_operand(n.rows, n.depth, a & l->pair.row_mask),
                      .rs2 = gm_local_operand(n.rows, n.cols, GM_GARBAGE)};
}

/* Only the strides change (ConfigExRs1, set_only_strides): an operand's rows are images, one from each image. */
static gm_command config_ex(const gm_conv_loop *p) {
  return (gm_command){.funct = GM_CONFIG,
                      .rs1 =
                          (uint64_t)((uint32_t)(input_rows(p) * input_cols(p)) & 0xffff) << 16 | 1u << 7 | GM_CONFIG_EX,
                      .rs2 = (uint64_t)((uint32_t)p->orows * p->ocols & 0xffff) << 48};
}

/* Does the tap meet only inserted zeros (line 668)? */
static bool meets_zeros(const gm_conv_loop *p, const gm_conv_unit *u) {
  const uint32_t row = (uint32_t)u->krow * p->kernel_dilation + (uint32_t)u->row - p->upad,
                 col = (uint32_t)u->kcol * p->kernel_dilation + (uint32_t)u->col - p->lpad;
  return p->input_dilated && ((row | col) & 1);
}

/* Goes to the next product. `cols`: the columns of pixels of the present product. */
static void next_product(const gm_loop_conv *l, const gm_conv_loop *p, gm_conv_unit *u, int cols) {
  u->state = PRELOAD;
  const bool all = wraps(&u->col, cols, p->ocols, 0) && wraps(&u->row, 1, p->orows, 0) &&
                   wraps(&u->b, p->trans_input_3120 ? l->dim : 1, p->batches, 0);
  u->new_weights |= all;
  if (!all) return;
  u->kch = gm_advance(u->kch, (uint32_t)l->dim, p->kchs);
  if (!u->kch) u->kcol = gm_advance(u->kcol, p->pixels, p->kcols);
  if (!u->kch && !u->kcol) u->krow = gm_advance(u->krow, 1, p->krows);
  if (!u->kch && !u->kcol && !u->krow && wraps(&u->channel, l->dim, p->pochs, 0)) u->state = IDLE;
}

static gm_command execute_command(gm_loop_conv *l) {
  gm_conv_unit *u = &l->units[GM_CONV_EX];
  const gm_conv_loop *p = &l->loops[u->loop];
  const int cols = l->dim << p->input_dilated;
  const block n = {p->trans_input_3120 ? at_most(p->batches - u->b, l->dim)
                                       : undilated(p, at_most(p->ocols - u->col, cols)),
                   at_most(p->pochs - u->channel, l->dim),
                   at_most(p->kcols - u->kcol, p->pixels) * at_most(p->kchs - u->kch, l->dim)};
  if (u->state == STRIDES) {
    u->state = PRELOAD;
    return config_ex(p);
  }
  if (u->state == PRELOAD) {
    u->state = COMPUTE;
    return preload(l, p, u, n);
  }
  gm_command c = compute(l, p, u, n);
  u->new_weights = false;
  next_product(l, p, u, p->trans_input_3120 ? 1 : cols);
  return c;
}

/* Execute skips products with zeros. This takes one cycle for the preload that is not sent and one for the compute,
 * independently of the units before it. Returns true if it skipped in this cycle. */
static bool pass_over_zeros(gm_loop_conv *l) {
  gm_conv_unit *u = &l->units[GM_CONV_EX];
  const gm_conv_loop *p = &l->loops[u->loop];
  if ((u->state != PRELOAD && u->state != COMPUTE) || !meets_zeros(p, u)) return false;
  if (u->state == PRELOAD)
    u->state = COMPUTE;
  else
    next_product(l, p, u, 1);
  return true;
}

/* Fields as in GemminiISA.scala, ConfigMvoutRs1; the accumulator's scale stays (all ones). */
static gm_command config_st(const gm_loop_conv *l, const gm_conv_loop *p, bool pooling) {
  uint64_t rs1 = (uint64_t)p->activation << 2 | GM_CONFIG_ST;
  if (pooling)
    rs1 |= (uint64_t)(p->ocols & 0xff) << 56 | (uint64_t)(p->orows & 0xff) << 48 | (uint64_t)(p->pocols & 0xff) << 40 |
           (uint64_t)(p->porows & 0xff) << 32 | (uint64_t)(p->pool_out_dim & 0xff) << 24 |
           (uint64_t)(p->plpad & 3) << 10 | (uint64_t)(p->pupad & 3) << 8 | (uint64_t)(p->pool_size & 3) << 6 |
           (uint64_t)(p->pool_stride & 3) << 4;
  return (gm_command){
      .funct = GM_CONFIG, .rs1 = rs1, .rs2 = UINT64_C(0xffffffff) << 32 | (uint32_t)(p->out_channels * l->input_bytes)};
}

static gm_command pooled_store(gm_loop_conv *l, gm_conv_unit *u, const gm_conv_loop *p) {
  uint64_t image = (uint64_t)u->b * p->pool_out_dim * p->pool_out_dim;
  gm_command c = {.funct = GM_MVOUT,
                  .rs1 = p->output + (image * p->out_channels + (uint64_t)u->channel) * (uint32_t)l->input_bytes,
                  .rs2 = gm_local_operand(0, at_most(p->pochs - u->channel, l->dim),
                                          1u << 31 | (result_local(l, p, u) & l->pair.row_mask))};
  if (wraps(&u->channel, l->dim, p->pochs, 0) && wraps(&u->b, 1, p->batches, 0)) u->state = AFTER_POOL;
  return c;
}

static gm_command store_command(gm_loop_conv *l) {
  gm_conv_unit *u = &l->units[GM_CONV_ST];
  const gm_conv_loop *p = &l->loops[u->loop];
  if (u->state == CONFIG || u->state == AFTER_POOL) {
    bool before = u->state == CONFIG;
    u->state = before ? POOL : IDLE;
    return config_st(l, p, before);
  }
  if (u->state == POOL) return pooled_store(l, u, p);
  uint64_t pixel = p->trans_output_1203
                       ? ((uint64_t)u->row * p->out_dim + (uint64_t)u->col) * p->batch_size + (uint64_t)u->b
                       : ((uint64_t)u->b * p->out_dim + (uint64_t)u->row) * p->out_dim + (uint64_t)u->col;
  gm_command c = {.funct = GM_MVOUT,
                  .rs1 = at(p->output, pixel * p->out_channels + (uint64_t)u->channel, l->input_bytes),
                  .rs2 = gm_local_operand(at_most(p->ocols - u->col, l->dim), at_most(p->pochs - u->channel, l->dim),
                                          1u << 31 | (result_local(l, p, u) & l->pair.row_mask))};
  if (wraps(&u->channel, l->dim, p->pochs, 0) && wraps(&u->col, l->dim, p->ocols, 0) &&
      wraps(&u->row, 1, p->orows, 0) && wraps(&u->b, 1, p->batches, 0))
    u->state = IDLE;
  return c;
}

static gm_command next_command(gm_loop_conv *l, int unit) {
  switch (unit) {
  case GM_CONV_BIAS: return bias_command(l);
  case GM_CONV_INPUT: return input_command(l);
  case GM_CONV_WEIGHTS: return weights_command(l);
  case GM_CONV_EX: return execute_command(l);
  default: return store_command(l);
  }
}

/* ---- states of the units ---- */

static bool idle(const gm_conv_unit *u) { return u->state == IDLE && !u->valid[0] && !u->valid[1]; }

/* May `u` go on? The unit before it must have sent all commands of their loop. */
static bool passed(const gm_conv_unit *before, const gm_conv_unit *u) {
  return before->loop != u->loop || idle(before);
}

/* Loads for the next loop wait until execute's own loads are done (lines 1073-1079). */
static bool waits_for_loads(const gm_loop_conv *l) {
  const gm_loop_slot *s = &l->pair.slot[l->units[GM_CONV_EX].loop];
  return s->started >> GM_CONV_EX & 1 && !(s->completed >> GM_CONV_EX & 1) && (s->completed & LOADED) != LOADED;
}

/* Bias and store units without an array become idle one cycle after they started. */
static bool has_nothing_to_do(const gm_loop_conv *l, int unit) {
  const gm_conv_loop *p = &l->loops[l->units[unit].loop];
  return (unit == GM_CONV_BIAS && !p->bias) || (unit == GM_CONV_ST && !p->output);
}

/* Does the unit have a command for its output registers? */
static bool offers(const gm_loop_conv *l, int unit, bool waiting) {
  const gm_conv_unit *u = &l->units[unit], *x = &l->units[GM_CONV_EX];
  if (u->state == IDLE || has_nothing_to_do(l, unit)) return false;
  if (unit == GM_CONV_EX)
    return !(u->state != STRIDES && meets_zeros(&l->loops[u->loop], u)) && passed(&l->units[GM_CONV_BIAS], u) &&
           passed(&l->units[GM_CONV_INPUT], u) && passed(&l->units[GM_CONV_WEIGHTS], u);
  if (unit == GM_CONV_ST) return passed(x, u);
  return !waiting || u->loop == x->loop;
}

static int kind_of(int unit) {
  return unit == GM_CONV_EX ? GM_LOOP_EXECUTES : unit == GM_CONV_ST ? GM_LOOP_STORES : GM_LOOP_LOADS;
}

/* The unit that sends a command in this cycle if the output is ready, or -1. */
static int sender(const gm_loop_conv *l) {
  static const uint8_t order[] = {GM_CONV_ST, GM_CONV_EX, GM_CONV_BIAS, GM_CONV_WEIGHTS, GM_CONV_INPUT};
  for (int i = 0; i < GM_LOOP_UNITS; i++) {
    int unit = order[i], kind = kind_of(unit);
    if (l->units[unit].valid[1] && l->pair.used[kind] < l->pair.limit[kind]) return unit;
  }
  return -1;
}

/* One edge of a unit's two output registers: [1] leaves if `sent`, [0] follows, a new command enters if there is room.
 * True if any did. */
static bool step_unit(gm_loop_conv *l, int unit, bool sent, bool offered) {
  gm_conv_unit *u = &l->units[unit];
  bool stalled = u->valid[1] && !sent, enters = offered && !(u->valid[0] && stalled);
  bool changed = enters || (!stalled && (u->valid[0] || u->valid[1]));
  if (!stalled) {
    u->stage[1] = u->stage[0];
    u->valid[1] = u->valid[0];
    u->valid[0] = false;
  }
  if (enters) {
    u->stage[0] = next_command(l, unit);
    u->valid[0] = true;
  }
  return changed;
}

/* ---- Loops ---- */

static bool start_unit(gm_loop_conv *l, int unit, unsigned after) {
  int loop = gm_loop_start(&l->pair, unit, after);
  if (loop < 0) return false;
  const gm_conv_loop *p = &l->loops[loop];
  gm_conv_unit *u = &l->units[unit];
  *u = (gm_conv_unit){.state = CONFIG, .loop = (uint8_t)loop, .new_weights = true};
  if (unit == GM_CONV_INPUT) u->row = -up(p), u->col = -left(p);
  if (unit == GM_CONV_EX && p->trans_input_3120) u->state = STRIDES;
  if (unit == GM_CONV_ST && p->no_pool) u->state = WORK;
  if (unit == GM_CONV_BIAS || unit == GM_CONV_EX || unit == GM_CONV_ST)
    u->start = gm_loop_take_acc(&l->pair, unit, p->output != 0);
  return true;
}

/* Starts units in `ready` that may start. Later units first: each depends on the starts before this cycle. */
static bool start_units(gm_loop_conv *l, unsigned ready) {
  static const unsigned after[GM_LOOP_UNITS] = {[GM_CONV_EX] = LOADED, [GM_CONV_ST] = 1 << GM_CONV_EX};
  bool changed = false;
  for (int unit = GM_LOOP_UNITS - 1; unit >= 0; unit--)
    if (ready >> unit & 1) changed |= start_unit(l, unit, after[unit]);
  return changed;
}

/* ---- Commands from the core ---- */

static bool refuse_sizes(const gm_conv_loop *p, char why[256]) {
  const struct {
    const char *name;
    unsigned value;
  } size[] = {{"batches", p->batches}, {"orows", p->orows}, {"ocols", p->ocols}, {"pochs", p->pochs},
              {"krows", p->krows},     {"kcols", p->kcols}, {"kchs", p->kchs},   {"stride", p->stride}};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    if (size[i].value) continue;
    snprintf(why, 256, "loop_conv: %s is 0; it must be at least 1 (is a LOOP_CONV_WS_CONFIG missing?)", size[i].name);
    return true;
  }
  if (all_rows(p) < p->upad + p->dpad || all_cols(p) < p->lpad + p->rpad) { /* unsigned in the RTL */
    snprintf(why, 256, "loop_conv: padding exceeds the input: %d rows with %d of padding, %d columns with %d",
             all_rows(p), p->upad + p->dpad, all_cols(p), p->lpad + p->rpad);
    return true;
  }
  return false;
}

/* The flags of GM_LOOP_CONV for training, and for depthwise convolutions: bits of its operands. */
static const struct flag {
  const char *name, *part;
  uint8_t operand, bit;
} flags[] = {{"wrot180", "has_training_convs", 1, 1},
             {"trans_output_1203", "has_training_convs", 1, 2},
             {"trans_weight_1203", "has_training_convs", 1, 3},
             {"trans_weight_0132", "has_training_convs", 1, 4},
             {"trans_input_3120", "has_training_convs", 1, 5},
             {"input_dilated", "has_training_convs", 2, 2},
             {"dw", "has_dw_convs", 1, 6}};

static bool is_set(const struct flag *f, const gm_command *c) {
  return (f->operand == 1 ? c->rs1 : c->rs2) >> f->bit & 1;
}

/* Writes why the loop in `p` cannot be started by `c`; false if it can. */
static bool refuse(const gm_loop_conv *l, const gm_conv_loop *p, const gm_command *c, char why[256]) {
  unsigned activation = c->rs2 >> 3 & 3, pixels = c->rs1 >> 8 & 0xff;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    const bool is_dw = flags[i].bit == 6;
    if (!is_set(&flags[i], c) || (is_dw ? l->has_dw : l->has_training)) continue;
    snprintf(why, 256, "loop_conv: %s is not in this machine (%s = 0)", flags[i].name, flags[i].part);
    return true;
  }
  if (pixels > 1 && pixels * p->kchs > (unsigned)l->dim)
    snprintf(why, 256, "loop_conv: max_pixels_per_row=%u of kchs=%u exceed a row of %d elements", pixels, p->kchs,
             l->dim);
  else if (!p->kernel_dilation)
    snprintf(why, 256, "loop_conv: kernel_dilation is 0; it must be at least 1");
  else if (is_set(&flags[6], c) && (p->kchs != 1 || p->pochs != 1))
    snprintf(why, 256, "loop_conv: dw with kchs=%u and pochs=%u; a depthwise loop has one channel", p->kchs, p->pochs);
  else if (activation > 1)
    snprintf(why, 256, "loop_conv: activation %u is not modelled; use 0 (none) or 1 (ReLU)", activation);
  else
    return refuse_sizes(p, why);
  return true;
}

static uint16_t field(uint64_t operand, int low) { return (uint16_t)(operand >> low); }

/* Lines 1103-1183. Fields that no unit reads (padding, pool_padding, prad, pdpad) are not kept. */
static void configure(gm_conv_loop *p, const gm_command *c) {
  switch (c->funct) {
  case GM_LOOP_CONV_CONFIG_1:
    p->out_channels = field(c->rs1, 48), p->in_channels = field(c->rs1, 32), p->in_dim = field(c->rs1, 16);
    p->batch_size = field(c->rs1, 0);
    p->stride = field(c->rs2, 32), p->pool_out_dim = field(c->rs2, 16), p->out_dim = field(c->rs2, 0);
    break;
  case GM_LOOP_CONV_CONFIG_2:
    p->kernel_dim = field(c->rs1, 48), p->pool_size = field(c->rs1, 32), p->pool_stride = field(c->rs1, 16);
    p->batches = field(c->rs2, 48), p->porows = field(c->rs2, 32);
    p->pocols = field(c->rs2, 16), p->pochs = field(c->rs2, 0);
    break;
  case GM_LOOP_CONV_CONFIG_3:
    p->krows = field(c->rs1, 48), p->kcols = field(c->rs1, 32), p->kchs = field(c->rs1, 16);
    p->lpad = field(c->rs1, 0);
    p->rpad = field(c->rs2, 48), p->upad = field(c->rs2, 32), p->dpad = field(c->rs2, 16), p->plpad = field(c->rs2, 0);
    break;
  case GM_LOOP_CONV_CONFIG_4:
    p->orows = field(c->rs1, 48), p->pupad = field(c->rs1, 16);
    p->kernel_dilation = field(c->rs2, 16), p->ocols = field(c->rs2, 0);
    break;
  case GM_LOOP_CONV_CONFIG_5: p->weights = c->rs1, p->output = c->rs2; break;
  case GM_LOOP_CONV_CONFIG_6: p->bias = c->rs1, p->input = c->rs2; break;
  default: /* GM_LOOP_CONV */
    p->no_bias = c->rs1 & 1;
    p->no_pool = c->rs2 & 1;
    p->downsample = c->rs2 >> 1 & 1;
    p->wrot180 = is_set(&flags[0], c), p->trans_output_1203 = is_set(&flags[1], c);
    p->trans_weight_1203 = is_set(&flags[2], c), p->trans_weight_0132 = is_set(&flags[3], c);
    p->trans_input_3120 = is_set(&flags[4], c), p->input_dilated = is_set(&flags[5], c), p->dw = is_set(&flags[6], c);
    p->activation = c->rs2 >> 3 & 3;
    p->pixels = c->rs1 >> 8 & 0xff;
    if (!p->pixels) p->pixels = 1; /* line 1334 */
  }
}

/* One edge of all units and loops, from the state before it. */
static bool step_loops(gm_loop_conv *l, bool out_ready, gm_command *out) {
  bool retires = gm_loop_head_retires(&l->pair), waiting = waits_for_loads(l), offered[GM_LOOP_UNITS];
  int unit = out_ready ? sender(l) : -1;
  unsigned ready = 0;
  for (int i = 0; i < GM_LOOP_UNITS; i++) {
    ready |= (unsigned)idle(&l->units[i]) << i;
    offered[i] = offers(l, i, waiting);
  }
  bool changed = retires || unit >= 0;
  for (int i = 0; i < GM_LOOP_UNITS; i++)
    if (ready >> i & 1) changed |= gm_loop_note_idle(&l->pair, i, l->units[i].loop);
  if (unit >= 0) {
    *out = l->units[unit].stage[1];
    l->pair.used[kind_of(unit)]++;
  }
  const bool passes = !offered[GM_CONV_EX] && pass_over_zeros(l);
  changed |= passes;
  for (int i = 0; i < GM_LOOP_UNITS; i++) {
    changed |= step_unit(l, i, i == unit, offered[i]);
    if (l->units[i].state == IDLE || !has_nothing_to_do(l, i)) continue;
    l->units[i].state = IDLE;
    changed = true;
  }
  changed |= start_units(l, ready);
  if (retires) gm_loop_retire_head(&l->pair);
  l->idle &= !changed;
  return unit >= 0;
}

bool gm_loop_conv_step(gm_loop_conv *l, const gm_command *in, bool *take_in, bool out_ready, int ld_completed,
                       int ex_completed, int st_completed, gm_command *out, bool *from_loop, char why[256]) {
  gm_loop_pair *pair = &l->pair;
  int target = gm_loop_to_configure(pair);
  bool busy = gm_loop_conv_busy(l), configures = in && gm_is_loop_conv(in->funct) && !pair->slot[target].configured;
  bool sent = false;

  why[0] = 0;
  *take_in = *from_loop = false;
  if (configures && in->funct == GM_LOOP_CONV && refuse(l, &l->loops[target], in, why)) return false;
  if (ld_completed > pair->used[GM_LOOP_LOADS] || ex_completed > pair->used[GM_LOOP_EXECUTES] ||
      st_completed > pair->used[GM_LOOP_STORES]) {
    snprintf(why, 256, "loop_conv: more commands completed than the loop sent");
    return false;
  }
  l->idle = !ld_completed && !ex_completed && !st_completed && !configures;
  if (busy) {
    sent = *from_loop = step_loops(l, out_ready, out);
  } else if (in && !gm_is_loop_conv(in->funct) && out_ready) {
    *out = *in;
    *take_in = sent = true;
  }
  if (configures) {
    configure(&l->loops[target], in);
    pair->slot[target].configured = in->funct == GM_LOOP_CONV;
    *take_in = true;
  }
  pair->used[GM_LOOP_LOADS] -= ld_completed;
  pair->used[GM_LOOP_EXECUTES] -= ex_completed;
  pair->used[GM_LOOP_STORES] -= st_completed;
  return sent;
}
