/* walk.c - see walk.h. */
#include "target/gemmini/schedule/walk.h"

#include <math.h>

/* facts, "Loads": 64x16 64.6 cycles, 32x16 32.6, 16x16 18.1 on L2 hits: the bus's bytes a cycle, and little more. */
static const double load_overhead = 1.0 / 16;
/* facts, "Further effects" 1: stores of whole lines take 120 cycles for 64x16; of a quarter 54 for 16x16, lines
 * cold. */
static const double store_line = 120.0 / 16, store_part = 54.0 / 16;
/* facts, "The memory system under pressure", D: a row of i32 is a line, at 4 cycles until the L2's registers are full,
 * then 5. */
static const double store_full = 5;
/* facts, as before. B: the victim is a random way, even if another way is free. A clean victim costs 2.2 cycles of
 * the port (the rate of cold streams above includes half of them). D: a dirty victim costs 5 cycles; A: up to 151
 * cycles in all, concurrent with loads of 64x16 of i8, which take 112 cycles alone. */
static const double clean_victim = 2.2 / 2, dirty_victim = 5, dirty_victim_of_i8 = (151.0 - 112.0) / 16;
/* facts, "Further effects" 8: configs in every tile 55 cycles; "Loads": zero mvins 16.5 for 16 rows. */
static const double config_cycles = 55, fill_zero = 16.5 / 16;
/* An mvin of stride 0 reads its row once and writes it to all rows (LoadController.scala:76, 105). It is as fast as
 * one that writes a row in each cycle; facts, "Loads": 16x16 18.1. */
static const double fill_bias = 18.1 / 16;
/* facts, "Further effects" 5: a line of instructions that was never fetched costs 42 to 50 cycles. */
static const double cold_line = 46;
/* Counted in emitted code: the compressed instructions are about a third. */
static const double bytes_per_instruction = 3.3;

double gm_load_cycles(const gm_config *c, bool cold, double bytes, double rows, double row_bytes) {
  const double bus = c->dma_bus_bits / 8.0, beats = rows * ceil(row_bytes / bus);
  return cold ? gm_larger(bytes / cold_rate, beats) : beats + load_overhead * rows;
}

static bool row_is_line(const gm_config *c, int element_bytes) { return element_bytes * c->dim == c->dma_max_bytes; }

double gm_store_cycles(const gm_config *c, double rows, int columns, int wide, int element_bytes) {
  const double bytes = (double)(wide < columns ? wide : columns) * element_bytes, line = c->dma_max_bytes;
  const double commands = ceil((double)columns / wide);
  const bool full = bytes == line && row_is_line(c, element_bytes);
  return rows * commands *
         (full            ? store_full
          : bytes >= line ? store_line * bytes / 64
                          : gm_smaller(store_part, store_line));
}

/* The share of the L2's lines that this number of new lines replaces. */
static double share_of(gm_lines *l, const gm_config *c, double lines) {
  for (int i = 0; i < GM_LOADS_KNOWN; i++)
    if (l->lines[i] == lines) return l->share[i];
  const int at = l->next++ % GM_LOADS_KNOWN;
  l->lines[at] = lines;
  return l->share[at] = 1 - exp(-lines * c->dma_max_bytes / c->l2_bytes);
}

/* Notes that this number of lines was loaded. */
static void replace(gm_lines *l, const gm_config *c, double lines, bool written) {
  const double share = share_of(l, c, lines);
  l->valid += (1 - l->valid) * share;
  l->dirty += ((written ? 1 : 0) - l->dirty) * share;
}

double gm_cold_cycles(const gm_config *c, gm_lines *l, double bytes) {
  const double lines = bytes / c->dma_max_bytes;
  const double cycles = lines * (clean_victim * (l->valid - l->dirty) + dirty_victim * l->dirty);
  replace(l, c, lines, false);
  return cycles;
}

double gm_tile_store_cycles(const gm_config *c, gm_lines *l, double pace, double written, int element_bytes,
                            double loaded) {
  const double lines = written / c->dma_max_bytes, dirty = lines * l->dirty, beat = c->dma_bus_bits / 8.0;
  replace(l, c, lines, true);
  return gm_larger(pace + dirty * (row_is_line(c, element_bytes) ? dirty_victim : dirty_victim_of_i8),
                   (loaded + written) / beat + dirty * dirty_victim);
}

double gm_fill_cycles(bool bias, double rows) { return rows * (bias ? fill_bias : fill_zero); }

double gm_code_cycles(double instructions) { return instructions * bytes_per_instruction / 64 * cold_line; }

double gm_config_cycles(void) { return config_cycles; }

/* Commands are accepted half a reservation station of pairs before they execute. */
static double lead_of(const gm_walk *w) { return w->config->rs_execute / 2.0 * w->config->dim; }

/* The end of the loads for this step, if only their slots among the pairs of the loading step limit them. Loads
 * without a slot follow the pairs in sequence. */
static double last_place(const gm_walk *w, const gm_walk_step *x, int loader) {
  const double units = x->a_units + x->b_units, loads = x->a + x->b,
               pair = w->took[loader] / gm_larger(1, w->pairs[loader]);
  if (!w->levers->spread_loads || units == 0) return w->begin[loader];
  const double places = w->load_pairs ? floor(w->pairs[loader] / w->load_pairs) : 0;
  if (units <= places) return w->begin[loader] + units * w->load_pairs * pair - lead_of(w) + loads / units;
  const double left_b = gm_smaller(units - places, x->b_units), left_a = units - places - left_b; /* A goes first */
  const double left = (left_b > 0 ? left_b * x->b / x->b_units : 0) + (left_a > 0 ? left_a * x->a / x->a_units : 0);
  return w->begin[loader] + w->took[loader] - lead_of(w) + left;
}

/* If loads are issued faster than they complete, they fill the load entries of the reservation station. Then no
 * later command is accepted, and the array waits after the accepted pairs are done. */
static double blocked(const gm_walk *w, const gm_walk_step *x, int loader) {
  const double pair = w->took[loader] / gm_larger(1, w->pairs[loader]), loads = x->a + x->b;
  const double spacing = w->levers->spread_loads ? gm_smaller(w->load_pairs, w->pairs[loader]) * pair : 0;
  const double behind = loads - (x->a_units + x->b_units) * spacing;
  return gm_larger(0, behind - w->config->rs_load * loads / gm_larger(1, x->mvins) - lead_of(w));
}

/* The stores of a tile that is complete at `end`. Returns the cycle at which the array may continue. */
static double finish_tile(gm_walk *w, const gm_walk_step *x, double end) {
  const gm_levers *p = w->levers;
  const int slot = p->c_buffers > 1 ? (int)(w->t & 1) : 0, entries = w->config->rs_store;
  w->store = gm_larger(w->store, end) + x->stores;
  if (!p->spread_stores) { /* a burst: all commands beyond the store entries block later ones */
    end = gm_larger(end, w->store - x->stores * entries / gm_larger(entries, x->store_commands) - lead_of(w));
  } else {
    const double pair = x->cycles / gm_larger(1, x->pairs),
                 places = w->store_pairs ? ceil(x->pairs / w->store_pairs) : 0;
    w->store = gm_larger(w->store, end + gm_smaller(x->store_units, places) * w->store_pairs * pair);
    if (places < x->store_units) end += x->stores * (x->store_units - places) / x->store_units;
    if (!p->c_split) end += x->store_rows * acc_conflict;
  }
  w->stored[slot] = w->store + (p->c_buffers > 1 ? 0 : store_latency);
  return end;
}

void gm_walk_add(gm_walk *w, const gm_walk_step *x) {
  const gm_levers *p = w->levers;
  const int loader = (int)((w->s + 4 - p->prefetch) & 3), now = (int)(w->s & 3);
  const bool ahead = p->prefetch > 0 && w->s >= p->prefetch, filled = x->first && gm_fills_ahead(p) && w->t > 0;
  const double before = w->array, loads = x->a + x->b;
  /* Loads ahead are among the pairs of an earlier step; other loads follow the loads of the previous step. */
  const bool waits =
      p->prefetch == 0 && (p->a.buffers == 1 || p->b.buffers == 1); /* for its only buffer's last reader */
  const double from = ahead ? w->begin[loader] : p->prefetch > 0 ? 0 : waits ? before : before - lead_of(w);
  double start = before, rows = p->prefetch > 0 ? x->stolen : 0, loaded = 0;
  if (filled) w->load += x->fill; /* part of the loads of the previous tile */
  if (loads > 0) {
    w->load = gm_larger(w->load, from) + loads;
    if (ahead) w->load = gm_larger(w->load, last_place(w, x, loader));
    loaded = w->load + load_latency;
    /* loads that arrive after the step began take cycles from the bank that is being read */
    if (ahead) rows = gm_larger(rows, gm_smaller(1, gm_larger(0, loaded - before) / loads) * x->rows);
    /* A is loaded before B, which comes in while it is used; but all loads stand before the pairs where they are not
     * ahead, and all but what the load entries hold are then done */
    const double held = ahead ? 1 : gm_smaller(1, w->config->rs_load / gm_larger(1, x->mvins));
    start = gm_larger(start, loaded - x->b * held);
  }
  if (x->first) { /* the tile's accumulator buffer must be stored, and filled where nothing overwrites */
    start = gm_larger(start, w->stored[p->c_buffers > 1 ? (int)(w->t & 1) : 0]) +
            (p->hoist[GM_CONFIGS] ? 0 : config_cycles);
    if (filled)
      start = gm_larger(start, w->load - loads);
    else
      start += x->fill;
  }
  double end = gm_larger(start + x->cycles + rows * stolen, loaded);
  if (ahead) end += blocked(w, x, loader);
  if (x->last) end = finish_tile(w, x, end);
  w->array = end;
  w->begin[now] = start;
  w->took[now] = x->cycles;
  w->pairs[now] = x->pairs;
  w->s++;
  if (x->last) w->t++;
}

double gm_walk_end(const gm_walk *w) { return gm_larger(w->array, w->store) + store_latency; }
