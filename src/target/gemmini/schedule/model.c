/* model.c - the analytic model: cycles of a plan without running it, and the bound that no plan can beat.
 *
 * A plan is walked step by step (plan.h) with four clocks: when the array, the load engine, the store engine and the
 * core are free. A step starts when its operands have arrived and its accumulator buffer is stored; it takes as long as
 * the slower of array and core. The model ranks plans, so it follows their differences and omits common costs.
 * Constants are from gemmini-facts.md ("facts"), scaled from its 16-row tiles to rows of blocks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/plan.h"
#include "target/gemmini/schedule/walk.h"

/* facts, "Loads": 64x16 64.6 cycles, 32x16 32.6, 16x16 18.1 on L2 hits: the bus's bytes a cycle, and little more. */
static const double load_overhead = 1.0;
/* facts, introduction: the memory port of the L2 moves 8 bytes per cycle. */
static const double port_bytes = 8;
/* facts, "Further effects" 1: stores of whole lines take 120 cycles for 64x16, lines cold. */
static const double store_line = 120.0 / 16;
/* facts, "Execute": A and B in one bank 32.5 cycles a pair; B transposed 33.6; weights reused: at least 4 rows. */
static const double same_bank = 32.5 / 16, transposed_b = 33.6 / 16;
static const int least_rows = 4;
/* facts, "Loads": i32 16x16 66. */
static const double fill_row_bias = 66.0 / 16;
/* The core's instructions, counted in emitted code: a pair whose operands are sums of a base and a constant; the extra
 * cost of a pair when its sizes are combined each time, and when it is the body of a rolled loop; a row of loads or
 * stores among the pairs; the bookkeeping of a step. */
static const double pair_instructions = 5, unhoisted_instructions = 5, rolled_instructions = 4, move_instructions = 9,
                    step_instructions = 60;

enum { STEPS_MAX = 20000 }; /* number of steps that are walked; longer plans continue at the rate of the second half */

typedef struct model {
  const gm_config *config;
  const gm_gemm *g;
  const gm_plan *p;
  const gm_layout *l;
  bool conflict;                   /* A and B share a bank */
  bool a_steals, b_steals;         /* loads ahead write the bank that is read */
  bool cold_again_a, cold_again_b; /* data that are loaded again are no longer in the L2 */
  double load_free, store_free, array_free;
  double begin[3];  /* cycle at which the step that loads for a step began, by step modulo 3 */
  double stored[2]; /* cycle at which a tile of C is stored, by tile modulo 2 */
  gm_lines lines;
  double loaded; /* bytes, since the last tile was stored */
  /* Pairs from one place of a load or store to the next; 0: no places. */
  int load_spread, store_spread;
  double pair;     /* instructions of a pair */
  double per_tile; /* cycles of configuration */
  bool core_adds;  /* the core's bookkeeping of a step is not hidden by its pairs */
} model;

static int bank_of(const gm_config *config, int row) { return row / gm_spad_bank_rows(config); }

static bool one_bank_for_all_slots(const gm_config *config, const gm_operand_layout *l) {
  if (l->slots < 2) return false;
  return l->banks == 1 && bank_of(config, l->base) == bank_of(config, l->base + l->chunk_rows);
}

static double load_cycles(const model *m, bool cold, double elements, int rows) {
  const double bytes = elements * m->g->input_bytes;
  const double bus = m->config->dma_bus_bits / 8.0;
  return cold ? bytes / cold_rate : gm_larger(bytes / bus, rows) + load_overhead * rows / m->config->dim;
}

static double store_cycles(const model *m, int rows, int columns) {
  const int wide = gm_min(m->p->levers.store_width * m->config->dim, columns);
  return gm_store_cycles(m->config, rows, columns, wide, m->g->output_bytes);
}

static int extent(int64_t length, int first_block, int blocks, int dim) {
  const int64_t start = (int64_t)first_block * dim;
  return (int)(length - start < (int64_t)blocks * dim ? length - start : (int64_t)blocks * dim);
}

/* Core and array cycles of a step's pairs. */
static double pairs_cycles(const model *m, int rows, int nb, int kb) {
  const gm_plan *p = m->p;
  const double pairs = (double)rows * nb * kb;
  double pair = m->config->dim;
  if (m->conflict) pair *= same_bank;
  if (m->g->b_transposed) pair *= transposed_b;
  if (p->reuse_weights && (m->conflict || m->g->b_transposed))
    pair = (pair + (rows - 1.0) * gm_larger(m->config->dim, least_rows)) / rows;
  double instructions = m->pair;
  if (p->unroll < 3) {
    const int bound[3] = {rows, nb, kb};
    double body = 1;
    for (int l = 3 - p->unroll; l < 3; l++) body *= bound[p->loops[l] - 'i'];
    instructions += rolled_instructions / body;
  }
  return pairs * gm_larger(pair, instructions);
}

/* One step: `s` counts steps, `t` tiles. */
typedef struct step_place {
  long s, t;
  int i, rows, j, nb, k, kb;
  bool first_k, last_k, load_a, load_b, cold_a, cold_b;
} step_place;

/* The loads of a step: cycles of B, cycles of A, rows of blocks of each. */
typedef struct step_loads {
  double a, b;
  int a_rows, b_rows;
} step_loads;

static step_loads loads_of(model *m, const step_place *x) {
  const int d = m->config->dim;
  const int me = extent(m->g->m, x->i, x->rows, d), ne = extent(m->g->n, x->j, x->nb, d),
            ke = extent(m->g->k, x->k, x->kb, d);
  const bool at = m->g->a_transposed, bt = m->g->b_transposed;
  step_loads l = {0};
  if (x->load_b) {
    l.b = load_cycles(m, x->cold_b, (double)ke * ne,
                      (bt ? ne : ke) * gm_ceil_div(bt ? x->kb : x->nb, m->p->levers.b.width));
    if (x->cold_b) l.b += gm_cold_cycles(m->config, &m->lines, (double)ke * ne * m->g->input_bytes);
    m->loaded += (double)ke * ne * m->g->input_bytes;
    l.b_rows = bt ? x->nb : x->kb;
  }
  if (x->load_a) {
    l.a = load_cycles(m, x->cold_a, (double)me * ke,
                      (at ? ke : me) * gm_ceil_div(at ? x->rows : x->kb, m->p->levers.a.width));
    if (x->cold_a) l.a += gm_cold_cycles(m->config, &m->lines, (double)me * ke * m->g->input_bytes);
    m->loaded += (double)me * ke * m->g->input_bytes;
    l.a_rows = at ? x->kb : x->rows;
  }
  return l;
}

/* The end of the loads for this step, if only their slots limit them. The slots are among the pairs of the step that
 * began at `from`, one every `spread_loads` pairs; loads without a slot follow the pairs in sequence. */
static double last_load(const model *m, const step_place *x, const step_loads *l, double from, double lead) {
  const int spread = m->load_spread, rows = l->a_rows + l->b_rows, d = m->config->dim;
  if (m->p->levers.spread_loads == 0) return from;
  const double pairs = (double)x->rows * x->nb * x->kb, places = spread ? floor(pairs / spread) : 0;
  if (rows <= places) return from + (double)rows * spread * d - lead + (l->a + l->b) / rows;
  const double left = gm_smaller(rows - places, l->a_rows), left_b = rows - places - left;
  return from + pairs * d - lead + (left ? left * l->a / l->a_rows : 0) + (left_b ? left_b * l->b / l->b_rows : 0);
}

/* If loads are issued faster than they complete, they fill the load entries of the reservation station. Then no
 * later command is accepted, and the array waits after the accepted pairs are done. */
static double blocked(const model *m, const step_place *x, const step_loads *l, double lead) {
  const gm_plan *p = m->p;
  const double pairs = (double)x->rows * x->nb * x->kb;
  const double spacing = p->levers.spread_loads ? gm_smaller(m->load_spread, pairs) * m->config->dim : 0;
  const double behind_b = gm_larger(0, l->b - l->b_rows * spacing),
               behind_a = gm_larger(0, behind_b + l->a - l->a_rows * spacing);
  const double mvins =
      l->a_rows * ceil((double)x->kb / p->levers.a.width) + l->b_rows * ceil((double)x->nb / p->levers.b.width);
  return gm_larger(0, gm_larger(behind_a, behind_b) - m->config->rs_load * (l->a + l->b) / gm_larger(1, mvins) - lead);
}

/* The fraction of a step's pairs after the first use of its last row of A. */
static double behind_last_load(const model *m, const step_place *x) {
  const int bound[3] = {x->rows, x->nb, x->kb};
  double outside = 1;
  for (const char *l = m->p->loops; *l != 'i'; l++) outside *= bound[*l - 'i'];
  return 1 - (x->rows - 1.0) / (x->rows * outside);
}

/* The stores of a tile that is complete at `end`. Returns the cycle at which the array may continue. */
static double finish_tile(model *m, const step_place *x, double pairs_of_step, double end, double lead) {
  const gm_plan *p = m->p;
  const int d = m->config->dim, slot = p->levers.c_buffers > 1 ? (int)(x->t & 1) : 0;
  const int rows = extent(m->g->m, x->i, x->rows, d), columns = extent(m->g->n, x->j, x->nb, d);
  const double written = (double)rows * columns * m->g->output_bytes;
  const double cycles = gm_tile_store_cycles(m->config, &m->lines, store_cycles(m, rows, columns), written,
                                             m->g->output_bytes, x->t > 0 ? m->loaded : 0);
  m->loaded = 0;
  const double commands = x->rows * ceil((double)x->nb / p->levers.store_width);
  const double complete =
      p->levers.early_stores ? end - pairs_of_step * (x->rows - 1) / x->rows : end; /* its first row */
  m->store_free = gm_larger(gm_larger(m->store_free, complete) + cycles, end + cycles / x->rows);
  if (p->levers.spread_stores == 0) { /* a burst: all commands beyond the store entries block later ones */
    end =
        gm_larger(end, m->store_free - cycles * m->config->rs_store / gm_larger(m->config->rs_store, commands) - lead);
  } else {
    const int spread = m->store_spread;
    const double pairs = (double)x->rows * x->nb * (p->levers.early_stores ? x->kb : m->g->kb),
                 places = spread ? ceil(pairs / spread) : 0;
    m->store_free = gm_larger(m->store_free, complete + gm_smaller(x->rows, places) * spread * d);
    if (places < x->rows) /* the remainder bursts at the end of the tile that has the places */
      end += cycles * (x->rows - places) / x->rows;
    if (!p->levers.c_split || (p->levers.early_stores && p->levers.c_buffers > 1))
      end += rows * (double)x->nb * acc_conflict;
  }
  m->stored[slot] = p->levers.early_stores && p->levers.c_buffers == 1
                        ? complete + store_latency + cycles / x->rows /* its first row */
                        : m->store_free + (p->levers.c_buffers > 1 ? 0 : store_latency);
  return end;
}

/* Fills a tile with zeros or the bias. A row of D is in the L2 after its first use; a full D never is. */
static double fill_cycles(const model *m, const step_place *x) {
  const double blocks = (double)x->rows * x->nb, d = m->config->dim;
  switch (m->g->bias) {
  case TW_GEMM_BIAS_NONE: return gm_fill_cycles(false, blocks * d);
  case TW_GEMM_BIAS_ROW: return blocks * d * fill_row_bias;
  default: return blocks * d * d * m->g->acc_bytes / cold_rate;
  }
}

static void walk_step(model *m, const step_place *x) {
  const gm_plan *p = m->p;
  const int d = m->config->dim, slot = p->levers.c_buffers > 1 ? (int)(x->t & 1) : 0;
  const step_loads l = loads_of(m, x);
  const double before = m->array_free, loads = l.a + l.b;
  const int load_rows = l.a_rows + l.b_rows;
  /* Commands are accepted half a reservation station of pairs before they execute. Loads ahead are in the step
   * `prefetch` steps before this one. Other loads follow the previous step's pairs; if there is a single buffer,
   * they also wait for its last reader. */
  const double lead = 0.5 * m->config->rs_execute * d;
  const bool waits = p->levers.prefetch == 0 && (p->levers.a.buffers == 1 || p->levers.b.buffers == 1);
  const double from = p->levers.prefetch > 0 ? m->begin[x->s % 3] : waits ? before : before - lead;
  double start = before, load_end = 0, stolen_rows = 0;
  if (loads > 0) {
    const double load_start = gm_larger(m->load_free, from);
    m->load_free = load_start + loads;
    if (p->levers.prefetch > 0 && x->s >= p->levers.prefetch)
      m->load_free = gm_larger(m->load_free, last_load(m, x, &l, from, lead));
    load_end = m->load_free + load_latency;
    /* loads that arrive after the step began take cycles from the bank that is being read */
    const double late = gm_smaller(1, gm_larger(0, load_end - before) / loads);
    if (p->levers.prefetch > 0 && x->s >= p->levers.prefetch)
      stolen_rows = late * d * ((x->load_a ? (double)x->rows * x->kb : 0) + (x->load_b ? (double)x->kb * x->nb : 0));
    start =
        gm_larger(start, m->load_free - l.a * (1 - 1.0 / gm_max(1, l.a_rows)) + load_latency); /* B, then a row of A */
  }
  if (p->levers.prefetch > 0) {
    const double in_one_bank = (m->a_steals && x->load_a ? (double)x->rows * x->kb * d : 0) +
                               (m->b_steals && x->load_b ? (double)x->kb * x->nb * d : 0);
    stolen_rows = gm_larger(stolen_rows, in_one_bank);
  }
  double pairs = pairs_cycles(m, x->rows, x->nb, x->kb) + stolen_rows * stolen;
  const double core = step_instructions + move_instructions * load_rows;
  if (m->core_adds) pairs += core;
  /* the tile's accumulator buffer must be stored, and filled unless the first product overwrites it */
  if (x->first_k) {
    start = gm_larger(start, m->stored[slot]);
    const double fill = fill_cycles(m, x);
    if (gm_fills_ahead(&p->levers) && x->t > 0) {
      const double spacing = m->store_spread * d;
      m->load_free += fill;
      start += gm_larger(0, fill - x->rows * spacing - m->config->rs_load * fill / (x->rows * x->nb) - lead);
    } else if (!p->levers.overwrite) {
      start += fill;
    }
    start += m->per_tile;
  }
  double end = gm_larger(start + pairs, loads > 0 ? load_end + pairs * behind_last_load(m, x) : 0);
  if (p->levers.prefetch > 0 && x->s >= p->levers.prefetch) end += blocked(m, x, &l, lead);
  if (x->last_k) end = finish_tile(m, x, pairs, end, lead);
  m->array_free = end;
  m->begin[(x->s + p->levers.prefetch) % 3] = start;
}

static double walk(model *m) {
  const gm_plan *p = m->p;
  const gm_gemm *g = m->g;
  long s = 0, t = 0;
  double half = 0;
  const double total = (double)m->l->tiles_m * m->l->tiles_n * m->l->tiles_k;
  const int outer_end = p->outer_is_i ? g->mb : g->nb, inner_end = p->outer_is_i ? g->nb : g->mb;
  for (int outer = 0, outer_size; outer < outer_end; outer += outer_size) {
    outer_size = 1;
    for (int inner = 0, inner_size; inner < inner_end; inner += inner_size, t++) {
      const int i = p->outer_is_i ? outer : inner, j = p->outer_is_i ? inner : outer;
      const bool last = p->outer_is_i || j + p->tile_n >= g->nb;
      const int rows = gm_plan_tile_rows(p, g->mb - i, last), nb = gm_min(p->tile_n, g->nb - j);
      outer_size = p->outer_is_i ? rows : p->tile_n;
      inner_size = p->outer_is_i ? p->tile_n : rows;
      for (int k = 0, depth; k < g->kb; k += depth, s++) {
        depth = k ? gm_min(p->tile_k, g->kb - k) : gm_first_depth(p, g);
        step_place x = {.s = s, .t = t, .i = i, .rows = rows, .j = j, .nb = nb, .k = k, .kb = depth};
        x.first_k = k == 0;
        x.last_k = k + p->tile_k >= g->kb;
        x.load_a = p->levers.a.hold == GM_STREAM || j == 0;
        x.load_b = p->levers.b.hold == GM_STREAM || i == 0;
        x.cold_a = j == 0 || m->cold_again_a;
        x.cold_b = i == 0 || m->cold_again_b;
        walk_step(m, &x);
        if (s == STEPS_MAX / 2) half = m->array_free;
        if (s == STEPS_MAX) return m->array_free + (total - s) * (m->array_free - half) / (STEPS_MAX / 2.0);
      }
    }
  }
  return gm_larger(m->array_free, m->store_free) + store_latency;
}

/* Every line of code is fetched cold once. */
static double code_cycles(const model *m) {
  const gm_plan *p = m->p;
  const int bound[3] = {p->tile_m, p->tile_n, p->tile_k};
  double body = 1;
  for (int l = 3 - p->unroll; l < 3; l++) body *= bound[p->loops[l] - 'i'];
  return gm_code_cycles(body * m->pair + 250);
}

/* Time to transpose B first (emit_turn.c). It is read cold and written as whole lines; the two hardly overlap in
 * such short groups. */
static double turn_cycles(const model *m) {
  if (!m->g->turns_b) return 0;
  const double bytes = (double)m->g->n * m->g->k * m->g->input_bytes;
  return bytes / cold_rate + bytes / 64 * store_line;
}

/* The hardware loop: loads, pairs and stores of a tile overlap with the loads, pairs and stores of its neighbours.
 * Short loops also pay for their commands. */
static double hardware_loop(model *m) {
  const gm_gemm *g = m->g;
  const gm_plan *p = m->p;
  const double steps =
      (double)gm_ceil_div(g->mb, p->tile_m) * gm_ceil_div(g->nb, p->tile_n) * gm_ceil_div(g->kb, p->tile_k);
  const double pairs = (double)g->mb * g->nb * g->kb * m->config->dim;
  const double a = (double)g->m * g->k * gm_ceil_div(g->nb, p->tile_n),
               b = (double)g->k * g->n * gm_ceil_div(g->mb, p->tile_m);
  const double loads = load_cycles(m, m->cold_again_a, a, 0) + load_cycles(m, m->cold_again_b, b, 0);
  const double first =
      load_cycles(m, true, (double)(p->tile_m + p->tile_n) * p->tile_k * m->config->dim * m->config->dim, 0);
  const int columns = p->tile_n * m->config->dim, widest = m->config->dma_max_bytes / g->output_bytes;
  const double drain =
      gm_store_cycles(m->config, p->tile_m * m->config->dim, columns, gm_min(widest, columns), g->output_bytes);
  const int tiles = gm_ceil_div(g->mb, p->tile_m) * gm_ceil_div(g->nb, p->tile_n);
  const double written = (double)g->m * g->n * g->output_bytes, loaded = (a + b) * g->input_bytes;
  double stores = 0;
  for (int t = 0; t < tiles; t++)
    stores +=
        gm_tile_store_cycles(m->config, &m->lines, drain, written / tiles, g->output_bytes, t > 0 ? loaded / tiles : 0);
  return gm_larger(gm_larger(pairs, loads) + 0.3 * gm_smaller(pairs, loads) * 0.2 + 0.25 * drain * tiles, stores) +
         steps * 60 + first / 2 + drain;
}

/* Bytes that pass through the L2 while the inner tile loop computes m x n of C. */
static double bytes_between(const gm_gemm *g, double m, double n) {
  return (m + n) * (double)g->k * g->input_bytes + m * n * g->output_bytes;
}

double gm_plan_predict(const gm_config *config, const gm_gemm *g, const gm_plan *p, const gm_layout *l) {
  model m = {.config = config, .g = g, .p = p, .l = l};
  const int d = config->dim;
  m.cold_again_a =
      bytes_between(g, p->outer_is_i ? (double)p->tile_m * d : (double)g->m, (double)p->tile_n * d) > config->l2_bytes;
  m.cold_again_b =
      bytes_between(g, (double)p->tile_m * d, p->outer_is_i ? (double)g->n : (double)p->tile_n * d) > config->l2_bytes;
  if (p->levers.hardware_loop) return hardware_loop(&m) + turn_cycles(&m);
  m.conflict = bank_of(config, l->a.base) == bank_of(config, l->b.base) && p->levers.a.n_banks == 0;
  m.a_steals =
      p->levers.a.n_banks == 0 || one_bank_for_all_slots(config, &l->a) || (p->levers.a.n_banks == 1 && l->a.slots > 1);
  m.b_steals =
      p->levers.b.n_banks == 0 || one_bank_for_all_slots(config, &l->b) || (p->levers.b.n_banks == 1 && l->b.slots > 1);
  m.pair = pair_instructions + (p->levers.hoist[GM_ADDRESSES] ? 0 : unhoisted_instructions);
  m.per_tile = p->levers.hoist[GM_CONFIGS] ? 0 : gm_config_cycles();
  m.core_adds = p->unroll == 0 || !p->levers.hoist[GM_ADDRESSES];
  m.load_spread = gm_plan_slots(p, p->levers.spread_loads).pairs;
  m.store_spread = gm_plan_slots(p, p->levers.spread_stores).pairs;
  return walk(&m) + code_cycles(&m) + turn_cycles(&m);
}

tw_status gm_gemm_predict(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule,
                          double *cycles, tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_gemm g;
  gm_plan plan;
  gm_layout layout;
  tw_status status = gm_gemm_from(config, problem, &g, error);
  if (status == TW_OK) status = gm_plan_from(config, &g, schedule, &plan, &layout, error);
  if (status == TW_OK) *cycles = gm_plan_predict(config, &g, &plan, &layout);
  return status;
}

double gm_least(const gm_config *config, double products, double port_cycles, double output_bytes) {
  /* per cycle of the core: one 64-bit multiplication may hold several 8-bit products; one store */
  enum { CORE_PRODUCTS = 4, CORE_BYTES = 8 };
  const double compute = products / (config->dim * config->dim + CORE_PRODUCTS);
  return gm_larger(gm_larger(compute, port_cycles), output_bytes / (config->dma_bus_bits / 8.0 + CORE_BYTES));
}

tw_status gm_gemm_bound(const tw_target *target, const tw_problem *problem, tw_bound *bound, tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_gemm g;
  const tw_status status = gm_gemm_from(config, problem, &g, error);
  if (status != TW_OK) return status;
  *bound = (tw_bound){0};
  const double a = (double)g.m * g.k * g.input_bytes, b = (double)g.k * g.n * g.input_bytes;
  const double d =
      g.bias == TW_GEMM_BIAS_NONE ? 0 : (double)(g.bias == TW_GEMM_BIAS_FULL ? g.m : 1) * g.n * g.acc_bytes;
  const double in = a + b + d, out = (double)g.m * g.n * g.output_bytes;
  /* Every block of B stays in the array while all rows of A pass, one per cycle; loading it takes dim cycles, after the
   * previous pairs. All inputs are read through the memory port once, because the L2 is cold; C leaves over the bus. */
  bound->compute_cost = (double)(g.m > config->dim ? g.m : config->dim) * g.nb * g.kb;
  bound->memory_cost = gm_larger(in / port_bytes, out / (config->dma_bus_bits / 8.0));
  bound->least = gm_least(config, problem->op->operations(problem), in / port_bytes, out);
  if (bound->compute_cost >= bound->memory_cost) {
    bound->cost = bound->compute_cost;
    snprintf(bound->limit, sizeof bound->limit, "the array: %d x %d blocks of weights, one row of A a cycle", g.kb,
             g.nb);
  } else {
    bound->cost = bound->memory_cost;
    snprintf(bound->limit, sizeof bound->limit, "memory: %.0f KiB in at %.0f bytes a cycle, %.0f KiB out", in / 1024,
             port_bytes, out / 1024);
  }
  return TW_OK;
}
