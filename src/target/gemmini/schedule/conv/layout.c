/* layout.c - checks a plan for conv2d and places its data. A and B as in operand.h; a tile of the output must fit its
 * accumulator buffer. */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/conv/hardware.h"

/* The fields of config_st that describe pooling. */
enum { IMAGE_LIMIT = 255 };

/* The chunk of A: the pixels of the input that it holds, and their places. */
static void shape_chunk(const gm_conv *v, const gm_conv_plan *p, gm_conv_layout *l) {
  /* Pixels that a kernel of one column (row) skips are not loaded. */
  l->dx = v->s == 1 ? v->stride : 1;
  l->dy = p->tile_r == 1 ? v->stride : 1;
  l->a_stride = v->stride / l->dx;
  l->row_step = v->stride / l->dy;
  l->image_h = (l->image_rows - 1) * l->row_step + p->tile_r;
  l->chunk_h = p->tile_n * l->image_h;
  /* The station assumes that an mvin with repeated pixels ends pack - 1 rows early. The last rows of a chunk are not
   * needed. */
  l->taps = gm_ceil_div(v->s, p->pack);
  l->chunk_w = (l->columns - 1) * l->a_stride + v->s + p->pack - 1;
  l->planes = 1;
  l->a_row = p->tile_c * l->chunk_w;
  l->a_tap = p->pack;
  l->a_channels = l->chunk_w;
  l->a_before = p->pack - 1;
}

/* A plane for each column of the kernel. It holds only the columns of the input that this column touches. The
 * results of an image are one row. */
static void unfold(const gm_conv *v, const gm_conv_plan *p, gm_conv_layout *l) {
  l->dx = v->stride;
  l->a_stride = 1;
  l->planes = v->s;
  l->chunk_w = l->columns;
  l->a_row = l->chunk_w;
  l->a_tap = l->chunk_h * l->a_row;
  l->a_channels = l->planes * l->a_tap;
  l->columns *= l->image_rows;
  l->image_rows = 1;
  l->rows = p->tile_n;
}

/* The tile in the accumulator. Without pooling, a block of pixels has dim rows for each block of k, side by side, as
 * a wide mvout needs them. With pooling, a block of k is an image without gaps (StoreController.scala:126-129). */
static void shape_tile(const gm_config *config, const gm_conv *v, const gm_conv_plan *p, gm_conv_layout *l) {
  const int d = config->dim;
  l->blocks = gm_ceil_div(l->columns, d);
  l->block = p->even ? gm_ceil_div(l->columns, l->blocks) : gm_min(d, l->columns);
  if (v->pool) {
    l->c_block = l->block;
    l->c_row = l->columns;
    l->c_plane = l->rows * l->columns;
    l->c_rows = l->c_plane * p->tile_k;
  } else {
    l->c_block = p->tile_k * d;
    l->c_row = l->blocks * l->c_block;
    l->c_plane = d;
    l->c_rows = l->rows * l->c_row;
  }
}

gm_slots gm_conv_slots(const gm_conv_plan *p, const gm_conv_layout *l, int spread) {
  int trips[6] = {0, 0, 0, 0, l->rows, l->blocks};
  for (int i = 0; i < 4; i++) switch (p->loops[i]) {
    case 'r': trips[i] = p->tile_r; break;
    case 's': trips[i] = l->taps; break;
    case 'c': trips[i] = p->tile_c; break;
    default: trips[i] = p->tile_k; break;
    }
  return gm_slots_find(trips, 6, l->rows == 1 ? 2 : p->unroll, spread);
}

static tw_status place_accumulator(const gm_config *config, const gm_conv_plan *p, gm_conv_layout *l, tw_error *error) {
  l->c_stride = p->levers.c_split ? gm_acc_bank_rows(config) : l->c_rows;
  l->acc_bytes = (size_t)l->c_rows * (size_t)(p->levers.c_buffers * config->dim * gm_acc_bytes(config));
  if (p->levers.c_split && config->acc_banks < 2)
    return tw_fail(error, TW_USAGE, "%s has one accumulator bank", config->name);
  const int room = p->levers.c_split && p->levers.c_buffers > 1 ? gm_acc_bank_rows(config)
                                                                : gm_acc_rows(config) / p->levers.c_buffers;
  if (l->c_rows > room)
    return tw_fail(
        error, TW_USAGE,
        "a tile of the output needs %d accumulator rows, but each of the %d buffers has %d; use smaller tiles",
        l->c_rows, p->levers.c_buffers, room);
  return TW_OK;
}

/* Several images make one tall one, whose rows of results are consecutive in the output as well. */
static tw_status check_images(const gm_conv *v, const gm_conv_plan *p, const gm_conv_layout *l, tw_error *error) {
  if (p->tile_n == 1) return TW_OK;
  if (l->tiles_y > 1 || l->tiles_x > 1 || v->pool)
    return tw_fail(error, TW_USAGE,
                   "a tile of several images must hold all of their pixels, without pooling; use 'tile p=%d q=%d'%s",
                   v->out_h, v->out_w, v->pool ? " and n=1" : "");
  if (v->n % p->tile_n || v->r % p->tile_r)
    return tw_fail(
        error, TW_USAGE,
        "tiles of %d images and steps of %d rows of the kernel leave a remainder of %d images, %d rows; use divisors",
        p->tile_n, p->tile_r, v->n % p->tile_n, v->r % p->tile_r);
  return TW_OK;
}

static tw_status check_unfolding(const gm_conv *v, const gm_conv_plan *p, const gm_conv_layout *l, tw_error *error) {
  if (!p->unfold) return TW_OK;
  if (v->pool || p->pack > 1)
    return tw_fail(error, TW_USAGE, "unfolded columns of the kernel cannot be combined with %s",
                   v->pool ? "pooling" : "'pack'");
  if (l->tiles_x > 1 || l->image_rows == 1)
    return tw_fail(
        error, TW_USAGE,
        "unfolded columns join rows of the output; tiles must have several complete rows, as in 'tile p=%d q=%d'",
        v->out_h, v->out_w);
  if (v->out_h % p->tile_p || v->r % p->tile_r)
    return tw_fail(error, TW_USAGE,
                   "unfolded tiles must have equal sizes; use rows p that divide %d and r that divide %d", v->out_h,
                   v->r);
  if (l->row_step > 1)
    return tw_fail(error, TW_USAGE,
                   "rows of the output can only be joined when the rows of a step are adjacent; use 'tile r=1'");
  return TW_OK;
}

/* The station does not see the last pack - 1 rows that an mvin with repeated pixels writes
 * (ReservationStation.scala:290). So a load must be placed where no command in the station still reads the slot's
 * earlier contents. */
static tw_status check_packing(const gm_config *config, const gm_conv *v, const gm_conv_plan *p, tw_error *error) {
  if (p->pack == 1) return TW_OK;
  if (!config->has_pixel_repeats)
    return tw_fail(error, TW_USAGE, "%s cannot pack pixels: its mvin does not repeat them (has_pixel_repeats = 0)",
                   config->name);
  if (p->pack * v->c > config->dim)
    return tw_fail(error, TW_USAGE, "%d pixels of %d channels do not fit a row of %d; pack fewer pixels", p->pack, v->c,
                   config->dim);
  if (v->transposed)
    return tw_fail(error, TW_USAGE, "pack requires weight_layout=rsck, or 'transpose weights' before it");
  const int pairs = gm_ceil_div(config->rs_execute, 2);
  if (p->levers.prefetch == 0 || p->levers.spread_loads < pairs)
    return tw_fail(error, TW_USAGE,
                   "packed pixels require loads before their use and at least %d pairs apart; use 'pipeline loads=%d'",
                   pairs, pairs);
  return TW_OK;
}

/* The reservation station does not know the size of a pooling mvout. It assumes a read up to the end of the bank in
 * which it begins, and no further (ReservationStation.scala:242-252). Data in the next bank could be overwritten. */
static bool straddles_banks(const gm_config *config, const gm_conv_plan *p, const gm_conv_layout *l) {
  const int bank = gm_acc_bank_rows(config);
  for (int i = 0; i < p->levers.c_buffers; i++)
    if (i * l->c_stride / bank != (i * l->c_stride + l->c_rows - 1) / bank) return true;
  return false;
}

static tw_status check_pooling(const gm_config *config, const gm_conv *v, const gm_conv_plan *p,
                               const gm_conv_layout *l, tw_error *error) {
  if (!v->pool) return TW_OK;
  if (straddles_banks(config, p, l))
    return tw_fail(error, TW_USAGE,
                   "a pooled tile of %d accumulator rows must fit one bank of %d; use smaller tiles, and 'banks a=0,2 "
                   "b=1,3 c=0,1' with two buffers",
                   l->c_rows, gm_acc_bank_rows(config));
  if (l->rows > IMAGE_LIMIT || l->columns > IMAGE_LIMIT)
    return tw_fail(error, TW_USAGE, "a tile of %d x %d results is too large for pooling; at most %d x %d are supported",
                   l->rows, l->columns, IMAGE_LIMIT, IMAGE_LIMIT);
  if (p->tile_p > 1 && v->out_w > IMAGE_LIMIT)
    return tw_fail(error, TW_USAGE, "an output of more than %d columns is pooled row by row; use 'tile p=1'",
                   IMAGE_LIMIT);
  return TW_OK;
}

static tw_status place_operands(const gm_config *config, const gm_conv_plan *p, gm_conv_layout *l, tw_error *error) {
  const int steps = gm_conv_steps_each(l), prefetch = p->levers.prefetch, tiles = gm_conv_pixel_tiles(l);
  const gm_operand a = {&p->levers.a, &l->a, 'A', p->pixels_outer, "order pk", tiles, steps, prefetch},
                   b = {&p->levers.b, &l->b, 'B', !p->pixels_outer, "order kp", l->tiles_k, steps, prefetch};
  const int64_t a_rows = (int64_t)p->tile_c * l->planes * l->chunk_h * l->chunk_w + l->a_before;
  const int64_t b_rows = (int64_t)p->tile_r * l->taps * p->tile_c * p->tile_k * config->dim;
  const int spad = gm_spad_rows(config);
  if (a_rows > spad || b_rows > spad)
    return tw_fail(error, TW_USAGE, "a step's chunks do not fit the scratchpad; use smaller tiles");
  if (p->levers.a.hold == GM_WHOLE && (int64_t)tiles * steps > spad)
    return tw_fail(error, TW_USAGE,
                   "%d tiles of pixels do not fit the scratchpad; use larger tiles, or keep less resident", tiles);
  l->a.chunk_rows = (int)a_rows;
  l->b.chunk_rows = (int)b_rows;
  return gm_operands_place(config, &a, &b, &l->spad_bytes, error);
}

tw_status gm_conv_layout_of(const void *context, const void *plan, tw_error *error) {
  const gm_conv_context *c = context;
  const gm_config *config = c->levers.config;
  const gm_conv_plan *p = plan;
  gm_conv_layout *l = c->layout;
  const gm_conv turned = gm_conv_turned(c->conv, p), *v = &turned;
  *l = (gm_conv_layout){
      .tiles_n = gm_ceil_div(v->n, p->tile_n),
      .tiles_y = gm_ceil_div(v->out_h, p->tile_p),
      .tiles_x = gm_ceil_div(v->out_w, p->tile_q),
      .tiles_k = gm_ceil_div(v->kb, p->tile_k),
      .chunks_r = gm_ceil_div(v->r, p->tile_r),
      .chunks_c = gm_ceil_div(v->cb, p->tile_c),
  };
  if (p->turn && !c->conv->transposed)
    return tw_fail(error, TW_USAGE, "transpose weights has no effect with weight_layout=rsck; remove it");
  if (p->levers.hardware_loop) return gm_conv_hardware_check(config, v, p, l, error);
  const int64_t tile = (int64_t)p->tile_n * p->tile_p * p->tile_q * p->tile_k;
  if (tile > gm_acc_rows(config))
    return tw_fail(
        error, TW_USAGE,
        "a tile of the output needs at least %ld accumulator rows, but the machine has %d; use smaller tiles",
        (long)tile, gm_acc_rows(config));
  /* A tile at the border of the image needs fewer rows than an inner tile. If there is only one tile, it is the
   * largest. */
  l->image_rows = l->tiles_y == 1 ? gm_conv_extent(v, 0, v->out_h, v->p)
                                  : gm_min(v->p, (p->tile_p - 1) * v->pool_stride + (v->pool ? v->pool : 1));
  l->rows = p->tile_n * l->image_rows;
  l->columns = l->tiles_x == 1 ? gm_conv_extent(v, 0, v->out_w, v->q)
                               : gm_min(v->q, (p->tile_q - 1) * v->pool_stride + (v->pool ? v->pool : 1));
  shape_chunk(v, p, l);
  tw_status status = check_unfolding(v, p, l, error);
  if (status != TW_OK) return status;
  if (p->unfold) unfold(v, p, l);
  shape_tile(config, v, p, l);
  status = gm_levers_check(&c->levers, &p->levers, error);
  if (status == TW_OK) status = check_images(v, p, l, error);
  if (status == TW_OK) status = check_packing(config, v, p, error);
  if (status == TW_OK) status = place_accumulator(config, p, l, error);
  if (status == TW_OK) status = check_pooling(config, v, p, l, error);
  return status == TW_OK ? place_operands(config, p, l, error) : status;
}
