/* model.c - the analytic model of a plan for conv2d: the computation, loads and stores of each step, for the walk
 * (walk.h); and the lower bound. */
#include <math.h>
#include <stdio.h>

#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/conv/hardware.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/walk.h"

/* facts, "Execute": A and B in one bank 32.5 cycles a pair; B transposed 33.6; low blocks 8.3 to 9.3 cycles a pair. */
static const double same_bank = 32.5, transposed_b = 33.6, low_pair = 8.3;
/* facts, introduction: the memory port of the L2 moves 8 bytes per cycle. */
static const double port_bytes = 8;
/* The core's instructions, counted in emitted code: a pair; a run; a row of pixels in a loop; the bookkeeping of a
 * step; a unit of loads, of loads with padding. */
static const double pair_instructions = 5, run_instructions = 12, row_instructions = 6, step_instructions = 80,
                    unit_instructions = 16, padded_instructions = 45;

enum { STEPS_MAX = 20000 }; /* number of steps that are walked; longer plans continue at the rate of the second half */

typedef struct model {
  const gm_config *config;
  const gm_conv *v;
  const gm_conv_plan *p;
  const gm_conv_layout *l;
  bool conflict;           /* A and B share a bank */
  bool a_steals, b_steals; /* loads ahead write the bank that is read */
  bool cold_again;         /* data that are loaded again are no longer in the L2 */
  gm_walk walk;
  gm_lines lines;
  double loaded; /* bytes, since the last tile was stored */
} model;

/* A tile: its place in the output, its size. */
typedef struct tile {
  int n, y, x, k;
  int rows, columns, blocks_k;
} tile;

static double smaller(double a, double b) { return a < b ? a : b; }

/* Cycles of a run on the array: pairs of the blocks of `rows` x `columns` pixels with the same weights. The last
 * pair carries the next weights, the first reads its own weights. With the transposer in use, every pair takes dim
 * rows. */
static double run_cycles(const model *m, int rows, int columns) {
  const gm_conv_layout *l = m->l;
  const int blocks = gm_ceil_div(columns, l->block), head = columns - (blocks - 1) * l->block, d = m->config->dim;
  const double low = m->v->transposed ? d : low_pair;
  double cycles = rows * (gm_larger(head, low) + (blocks - 1) * gm_larger(l->block, low));
  if (m->v->transposed) cycles = (double)rows * blocks * d + transposed_b - d;
  cycles += d - gm_larger(blocks > 1 ? l->block : head, low); /* the last pair */
  return m->conflict ? cycles + same_bank - d : cycles;
}

/* The core's cycles for a step. */
static double core_cycles(const model *m, const tile *t, double runs, const gm_walk_step *x) {
  const double row =
      gm_ceil_div(t->columns, m->l->block) * pair_instructions + (m->p->unroll == 1 ? row_instructions : 0);
  return runs * (run_instructions + t->rows * row) +
         x->a_units * (m->v->pad || m->p->pack > 1 ? padded_instructions : unit_instructions) +
         x->b_units * unit_instructions + step_instructions;
}

static bool one_bank(const gm_config *config, const gm_operand_plan *p, const gm_operand_layout *l) {
  const int rows = gm_spad_bank_rows(config);
  if (p->n_banks == 0 || (p->n_banks == 1 && l->slots > 1)) return true;
  return l->slots > 1 && l->banks == 1 && gm_slot_row(l, 0) / rows == gm_slot_row(l, 1) / rows;
}

/* One step's loads and pairs. */
static gm_walk_step step_of(model *m, const tile *t, int r, int c) {
  const gm_conv *v = m->v;
  const gm_conv_plan *p = m->p;
  const gm_conv_layout *l = m->l;
  const int d = m->config->dim, taps = gm_min(p->tile_r, v->r - r), blocks_c = gm_min(p->tile_c, v->cb - c);
  const int channels = gm_min(v->c - c * d, p->tile_c * d), outs = gm_min(v->k - t->k * d, p->tile_k * d);
  const double runs = (double)taps * l->taps * blocks_c * t->blocks_k, bytes = v->input_bytes;
  const bool pixels_first = t->n == 0 && t->y == 0 && t->x == 0;
  gm_walk_step x = {.first = r == 0 && c == 0, .last = r + p->tile_r >= v->r && c + p->tile_c >= v->cb};
  x.pairs = runs * t->rows * gm_ceil_div(t->columns, l->block);
  if (p->levers.a.hold == GM_STREAM || t->k == 0) {
    const double rows =
                     p->unfold ? l->planes * l->chunk_h : p->tile_n * ((t->rows / p->tile_n - 1) * l->row_step + taps),
                 columns = p->unfold ? l->chunk_w : (t->columns - 1) * l->a_stride + v->s + p->pack - 1;
    const int wide = gm_min(p->levers.a.width * d, channels);
    const double pixels = rows * columns, pieces = ceil((double)channels / wide);
    x.a =
        gm_load_cycles(m->config, t->k == 0 || m->cold_again, pixels * channels * bytes, pixels * pieces, wide * bytes);
    if (t->k == 0 || m->cold_again) x.a += gm_cold_cycles(m->config, &m->lines, pixels * channels * bytes);
    m->loaded += pixels * channels * bytes;
    x.a = gm_larger(x.a, pixels * p->pack); /* a repeated pixel is written to one row a cycle */
    x.a_units = rows * ceil(columns / d);
    x.mvins += x.a_units * pieces;
    x.rows += pixels * blocks_c * p->pack;
    x.stolen += m->a_steals ? pixels * blocks_c * p->pack : 0;
  }
  if (p->levers.b.hold == GM_STREAM || pixels_first) {
    const double rows = (double)taps * v->s * (v->transposed ? outs : channels);
    const int columns = v->transposed ? channels : outs, wide = gm_min(p->levers.b.width * d, columns);
    const double pieces = ceil((double)columns / wide);
    x.b = gm_load_cycles(m->config, pixels_first || m->cold_again, rows * columns * bytes, rows * pieces, wide * bytes);
    if (pixels_first || m->cold_again) x.b += gm_cold_cycles(m->config, &m->lines, rows * columns * bytes);
    m->loaded += rows * columns * bytes;
    x.b_units = (double)taps * l->taps * (v->transposed ? t->blocks_k : blocks_c);
    x.mvins += x.b_units * pieces;
    x.rows += rows * gm_ceil_div(columns, d);
    x.stolen += m->b_steals ? rows * gm_ceil_div(columns, d) : 0;
  }
  const double array = runs * run_cycles(m, t->rows, t->columns), core = core_cycles(m, t, runs, &x);
  x.cycles = p->levers.prefetch ? gm_larger(array, core) : array + step_instructions;
  return x;
}

/* Work once per tile. */
static void add_tile(model *m, const tile *t, gm_walk_step *x) {
  const gm_conv *v = m->v;
  const gm_conv_plan *p = m->p;
  const gm_conv_layout *l = m->l;
  const int d = m->config->dim, outs = gm_min(v->k - t->k * d, p->tile_k * d),
            blocks = gm_ceil_div(t->columns, l->block);
  const double units = v->pool ? t->blocks_k : (double)t->rows * blocks;
  if (!p->levers.overwrite) {
    x->fill = gm_fill_cycles(v->bias, (double)l->c_rows);
    x->fill_mvins = (double)l->c_rows / d;
  }
  x->store_units = units;
  x->store_rows = (double)t->rows * t->columns * t->blocks_k;
  if (v->pool) { /* every element of a window is read; each row of the result is a separate store */
    const double windows =
        (double)gm_min(p->tile_p, v->out_h - t->y) * gm_min(p->tile_q, v->out_w - t->x) * t->blocks_k;
    x->stores = gm_larger(windows * v->pool * v->pool, gm_store_cycles(m->config, windows, d, d, v->output_bytes));
    x->store_commands = t->blocks_k;
  } else {
    const int wide = gm_min(p->levers.store_width * d, outs);
    x->stores = gm_store_cycles(m->config, (double)t->rows * t->columns, outs, wide, v->output_bytes);
    x->store_commands = units * gm_ceil_div(outs, wide);
    if (x->last) { /* cycles of the stores of a whole tile */
      const double written = (double)t->rows * t->columns * outs * v->output_bytes;
      x->stores = gm_tile_store_cycles(m->config, &m->lines, x->stores, written, v->output_bytes,
                                       m->walk.t > 0 ? m->loaded : 0);
      m->loaded = 0;
    }
  }
}

/* The steps of one tile; false when enough were walked. */
static bool walk_tile(model *m, const tile *t, double *half) {
  for (int r = 0; r < m->v->r; r += m->p->tile_r)
    for (int c = 0; c < m->v->cb; c += m->p->tile_c) {
      gm_walk_step x = step_of(m, t, r, c);
      if (x.first || x.last) add_tile(m, t, &x);
      if (!x.first) x.fill = 0;
      gm_walk_add(&m->walk, &x);
      if (m->walk.s == STEPS_MAX / 2) *half = m->walk.array;
      if (m->walk.s >= STEPS_MAX) return false;
    }
  return true;
}

static bool walk_pixels(model *m, int k, int from, int count, double *half) {
  const gm_conv *v = m->v;
  const gm_conv_plan *p = m->p;
  const gm_conv_layout *l = m->l;
  for (int i = from; i < from + count; i++) {
    tile t = {.n = i / (l->tiles_y * l->tiles_x),
              .y = i / l->tiles_x % l->tiles_y * p->tile_p,
              .x = i % l->tiles_x * p->tile_q,
              .k = k};
    t.rows = m->p->tile_n * gm_conv_extent(v, t.y, gm_min(p->tile_p, v->out_h - t.y), v->p);
    t.columns = gm_conv_extent(v, t.x, gm_min(p->tile_q, v->out_w - t.x), v->q);
    if (p->unfold) t.rows = l->rows, t.columns = l->columns;
    t.blocks_k = gm_min(p->tile_k, v->kb - k);
    if (!walk_tile(m, &t, half)) return false;
  }
  return true;
}

static double walk(model *m) {
  const gm_conv_layout *l = m->l;
  const int pixels = gm_conv_pixel_tiles(l);
  const double total = (double)pixels * l->tiles_k * gm_conv_steps_each(l);
  double half = 0;
  bool all = true;
  if (m->p->pixels_outer)
    for (int i = 0; i < pixels && all; i++)
      for (int k = 0; k < m->v->kb && all; k += m->p->tile_k) all = walk_pixels(m, k, i, 1, &half);
  else
    for (int k = 0; k < m->v->kb && all; k += m->p->tile_k) all = walk_pixels(m, k, 0, pixels, &half);
  if (all) return gm_walk_end(&m->walk);
  return m->walk.array + (total - (double)m->walk.s) * (m->walk.array - half) / (STEPS_MAX / 2.0);
}

/* Does the data that passes through the L2 between two loads of the same data evict it? */
static bool cold_again(const model *m) {
  const gm_conv *v = m->v;
  const gm_conv_plan *p = m->p;
  const double input = (double)v->n * v->h * v->w * v->c * v->input_bytes,
               weights = (double)v->r * v->s * v->c * v->k * v->input_bytes;
  const double output = (double)v->n * v->out_h * v->out_w * v->k * v->output_bytes, tiles = gm_conv_pixel_tiles(m->l);
  const double between = p->pixels_outer ? smaller(input, input / tiles) + weights + output / tiles
                                         : input + weights / m->l->tiles_k + output / m->l->tiles_k;
  return between > m->config->l2_bytes;
}

/* Time to transpose weights first. They are read cold and written as whole lines; the two hardly overlap in such
 * short groups. */
static double turn_cycles(const gm_config *config, const gm_conv *v) {
  const double bytes = (double)v->r * v->s * v->c * v->k * v->input_bytes;
  return gm_load_cycles(config, true, bytes, 0, 1) + gm_store_cycles(config, bytes / 64, 64, 64, 1);
}

double gm_conv_predict_plan(const gm_config *config, const gm_conv *given, const gm_conv_plan *p,
                            const gm_conv_layout *l) {
  const gm_conv turned = gm_conv_turned(given, p), *v = &turned;
  const double turn = p->turn ? turn_cycles(config, v) : 0;
  if (p->levers.hardware_loop) return turn + gm_conv_hardware_predict(config, v, p);
  model m = {.config = config, .v = v, .p = p, .l = l};
  m.conflict =
      p->levers.a.n_banks == 0 && l->a.base / gm_spad_bank_rows(config) == l->b.base / gm_spad_bank_rows(config);
  m.a_steals = one_bank(config, &p->levers.a, &l->a);
  m.b_steals = false; /* only one pair of a run reads weights */
  m.cold_again = cold_again(&m);
  m.walk = (gm_walk){.config = config,
                     .levers = &p->levers,
                     .load_pairs = gm_conv_slots(p, l, p->levers.spread_loads).pairs,
                     .store_pairs = gm_conv_slots(p, l, p->levers.spread_stores).pairs};
  const double straight = (double)l->blocks * (p->unroll == 2 ? l->rows : 1);
  return turn + walk(&m) + gm_code_cycles(straight * pair_instructions * (p->unroll == 1 && l->rows > 1 ? 2 : 1) + 300);
}

tw_status gm_conv2d_predict(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule,
                            double *cycles, tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_conv v;
  gm_conv_plan plan;
  gm_conv_layout layout;
  tw_status status = gm_conv_from(config, problem, &v, error);
  if (status == TW_OK) status = gm_conv_replay(config, &v, schedule, &plan, &layout, error);
  if (status == TW_OK) *cycles = gm_conv_predict_plan(config, &v, &plan, &layout);
  return status;
}

/* The rows (columns) of the input, of which there are `length`, that kernels of `taps` rows touch for `results`
 * pooled rows: the number of rows, and the number of touches. */
typedef struct meetings {
  double rows, all;
} meetings;

static meetings meetings_of(const gm_conv *v, int length, int taps, int results, int windows) {
  meetings m = {0};
  for (int row = 0; row < length; row++) {
    const double before = m.all;
    for (int r = 0; r < taps; r++) {
      const int at = row + v->pad - r;
      m.all += at >= 0 && at % v->stride == 0 && at / v->stride < results &&
               tw_conv2d_needs(&v->of, at / v->stride, windows);
    }
    m.rows += m.all > before;
  }
  return m;
}

/* Every block of weights, dim products deep, stays in the array while all pixels pass, one per cycle; the channels of
 * the taps of a row of the kernel, and of all its rows, could share blocks. Loading a block takes dim cycles, after the
 * previous pairs. Products with padding need not be computed. All inputs are read through the memory port once, because
 * the L2 is cold; the output leaves over the bus. */
tw_status gm_conv2d_bound(const tw_target *target, const tw_problem *problem, tw_bound *bound, tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_conv v;
  const tw_status status = gm_conv_from(config, problem, &v, error);
  if (status != TW_OK) return status;
  const int d = config->dim;
  const meetings rows = meetings_of(&v, v.h, v.r, v.p, v.out_h), columns = meetings_of(&v, v.w, v.s, v.q, v.out_w);
  const double in = v.n * rows.rows * columns.rows * v.c * v.input_bytes +
                    (double)v.r * v.s * v.c * v.k * v.input_bytes + (v.bias ? (double)v.k * v.acc_bytes : 0);
  const double out = (double)v.n * v.out_h * v.out_w * v.k * v.output_bytes;
  *bound = (tw_bound){0};
  bound->compute_cost = v.n * rows.all * columns.all * v.c / d * v.kb;
  bound->memory_cost = gm_larger(in / port_bytes, out / (config->dma_bus_bits / 8.0));
  bound->cost = gm_larger(bound->compute_cost, bound->memory_cost);
  bound->least = gm_least(config, v.n * rows.all * columns.all * v.c * v.k, in / port_bytes, out);
  if (bound->compute_cost >= bound->memory_cost)
    snprintf(bound->limit, sizeof bound->limit,
             "the array: %.0f pixels for each of %d blocks of channels, one a cycle%s", bound->compute_cost / v.kb,
             v.kb, v.pad ? ", padding left out" : "");
  else
    snprintf(bound->limit, sizeof bound->limit, "memory: %.0f KiB in at %.0f bytes a cycle, %.0f KiB out", in / 1024,
             port_bytes, out / 1024);
  return TW_OK;
}
