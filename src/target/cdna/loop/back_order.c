/* back_order.c - see back.h. */
#include <string.h>

#include "target/cdna/loop/back.h"

/* With two waves on a SIMD, a slot takes twice as long: leads are shorter, which saves registers. A period with few slots
 * puts more into each. In order: lead, lead_first, lead_before, lead_dq, barrier, cycles, served, issues. */
static const back_pace one_wave = {6, 5, 8, 6, 6, 28, 12, 5};
static const back_pace few_slots = {6, 5, 8, 6, 6, 40, 16, 8};
static const back_pace two_waves = {2, 3, 5, 2, 4, 40, 16, 8};

/* ---- the order of matrix instructions ----
 *
 * Each instruction of dQ needs four reads, an instruction of another product at most one: dQ and dP alternate. */

/* The time of instruction i of a product, in the life of a step. */
static int when(const back_order *w, back_which p, int i) {
  const int n = w->n;
  switch (p) {
  case OF_S: return i;
  case OF_DP: return n + 2 * i;
  case OF_DQ: return 6 * n + 2 * i + 1;
  case OF_V: return 3 * n + i;
  default: return 4 * n + i;
  }
}
back_which cdna_back_product(const back_order *w, int place, int *i) {
  const int n = w->n, in = place - n;
  *i = in >= 0 && in < 2 * n ? in / 2 : place % n;
  return place < n ? OF_S : in < 2 * n ? (in % 2 ? OF_DQ : OF_DP) : place < 4 * n ? OF_V : OF_K;
}

/* ---- slots ---- */

/* Cycles that an op uses of the vector unit, or of the half of LDS that two waves share. */
static int cycles_of(const back_op *o) {
  return o->kind != VALU || o->what == HIDE ? 0 : o->what == EXPONENTIAL ? 16 : 4;
}
static int served_of(const back_op *o) {
  if (o->kind != LDS) return 0;
  return o->what == READ_Q || o->what == READ_G || o->what == READ_K || o->what == WRITE_SLOPES ? 8 : 4;
}

static bool has_room(const back_order *w, const back_op *o, int issued) {
  const int s = back_slot(w, o->slot);
  return w->vector[s] + cycles_of(o) <= w->pace->cycles &&
         w->issued[s] + issued <= w->pace->issues + (o->kind == LDS) && w->served[s] + served_of(o) <= w->pace->served;
}

/* The first slot with room from `slot` on, or the last one up to it. */
static back_op *place(back_order *w, back_op o, int direction, int issued) {
  for (int i = 0; i < w->period && !has_room(w, &o, issued); i++) o.slot += direction;
  w->vector[back_slot(w, o.slot)] += cycles_of(&o);
  w->issued[back_slot(w, o.slot)] += issued;
  w->served[back_slot(w, o.slot)] += served_of(&o);
  w->op[w->n_ops] = o;
  return &w->op[w->n_ops++];
}

static int new_value(back_order *w, int size) {
  w->value[w->n_values] = (back_held){size, 1 << 20, -(1 << 20), BACK_NOTHING};
  return w->n_values++;
}
static void lives(back_order *w, int v, int from, int to) {
  back_held *x = &w->value[v];
  if (from < x->from) x->from = from;
  if (to > x->to) x->to = to;
}
static int by_slot(int slot) { return 2 * slot + 1; }
static int by_product(int product) { return 2 * product; }

/* Reads a fragment for matrix instructions `first` to `last`, `lead` instructions before the first. Two reads are
 * needed if each loads one half. */
static int read_fragment(back_order *w, back_action what, int a, int b, int first, int last, int lead, bool halves) {
  const int v = new_value(w, BACK_FRAGMENT);
  int slot = first - lead;
  for (int half = halves; half >= 0; half--) {
    slot = place(w, (back_op){LDS, what, slot, a, 2 * b + half, v}, -1, 1)->slot;
    lives(w, v, by_slot(slot), by_product(last) + 1);
  }
  return v;
}

/* ---- the step ---- */

/* Places the fixed contents of slots: barrier, copies and related operations. */
static void place_copies(back_order *w) {
  const int barrier = w->period - w->pace->barrier, blocks = w->deep / w->of->groups;
  int slot = barrier + 1;
  place(w, (back_op){MEET, BARRIER_HERE, barrier, 0, 0, BACK_NOTHING}, 1, 2);
  for (int i = 0; i < 2 * blocks; i++)
    slot = place(w, (back_op){MEMORY, i < blocks ? COPY_Q : COPY_G, slot, i % blocks, 0, BACK_NOTHING}, 1, 3)->slot + 3;
  for (int part = 0; part < 3; part++)
    slot = place(w, (back_op){SCALAR, COPY_NEXT, slot, part, 0, BACK_NOTHING}, 1, 5)->slot + 1;
}

static void place_reads(back_order *w) {
  const int n = w->n;
  /* from the last to the first, so that they are issued in the order in which they are needed */
  for (int i = n - 1; i >= 0; i--) {
    w->k_down[i] = read_fragment(w, READ_K_DOWN, i, 0, when(w, OF_DQ, i), when(w, OF_DQ, i), w->pace->lead_dq, true);
    w->slopes_read[i] =
        read_fragment(w, READ_SLOPES, i, 0, when(w, OF_DQ, i), when(w, OF_DQ, i), w->pace->lead_dq, true);
  }
  for (int depth = 1; depth >= 0; depth--)
    for (int i = w->wide - 1; i >= 0; i--) {
      const int first = (depth * w->wide + i) * w->tiles;
      w->q_down[depth][i] = read_fragment(w, READ_Q_DOWN, depth, i, when(w, OF_K, first),
                                          when(w, OF_K, first + w->tiles - 1), w->pace->lead_before, true);
    }
  for (int depth = 1; depth >= 0; depth--)
    for (int i = w->wide - 1; i >= 0; i--) {
      const int first = (depth * w->wide + i) * w->tiles;
      w->g_down[depth][i] = read_fragment(w, READ_G_DOWN, depth, i, when(w, OF_V, first),
                                          when(w, OF_V, first + w->tiles - 1), w->pace->lead, true);
    }
  for (int d = w->deep - 1; d >= 0; d--)
    w->g_rows[d] = read_fragment(w, READ_G, d, 0, when(w, OF_DP, d * w->tiles),
                                 when(w, OF_DP, d * w->tiles + w->tiles - 1), w->pace->lead, false);
  for (int d = w->deep - 1; d >= 0; d--)
    w->q_rows[d] =
        read_fragment(w, READ_Q, d, 0, d * w->tiles, d * w->tiles + w->tiles - 1, w->pace->lead_first, false);
}

/* Reads of keys go to any slot with room, because keys are available from the beginning. */
static void place_keys(back_order *w) {
  for (int d = w->deep - 1; d >= 0; d--)
    for (int t = w->tiles - 1; t >= 0; t--)
      w->k_rows[t][d] = read_fragment(w, READ_K, d, t, d * w->tiles + t, d * w->tiles + t, w->pace->lead_first, false);
}

/* Places the product of two scores with the factor, less LSE. Returns its slot. */
static int place_scale(back_order *w, int t, int pair, int line_end[4]) {
  const bool hides = w->of->causal || w->of->partial;
  const int ready = w->n + (hides || t == w->tiles - 1);
  const int slot = place(w, (back_op){VALU, SCALE, ready, t, pair, BACK_NOTHING}, 1, 1)->slot;
  if (slot > line_end[pair / 2]) line_end[pair / 2] = slot;
  return slot;
}

/* P and dS, two numbers at a time: for each tile first its queries 0 to 15, then 16 to 31. */
static void place_weights(back_order *w) {
  const int n = w->n;
  /* the gradients of a single tile begin in the registers to which -D is loaded, in the step before */
  const bool in_place = w->tiles == 1;
  const int begun = in_place ? w->period : 0;
  int weighed[BACK_TILES][8], slopes_end = 0;
  w->dq = new_value(w, BACK_SUMS);
  for (int i = 0; i < 4; i++) w->line[i] = new_value(w, 4);
  for (int t = 0; t < w->tiles; t++) {
    w->scores[t] = new_value(w, BACK_SUMS);
    w->changes[t] = new_value(w, BACK_SUMS);
    lives(w, w->scores[t], by_product(t), by_product(t) + 1);
    lives(w, w->changes[t], by_product(begun + when(w, OF_DP, t)), by_product(begun + when(w, OF_DP, t)) + 1);
    for (int depth = 0; depth < 2; depth++) {
      w->weights[t][depth] = new_value(w, BACK_FRAGMENT);
      w->slopes[t][depth] = new_value(w, BACK_FRAGMENT);
    }
  }
  w->inner = in_place ? w->changes[0] : new_value(w, BACK_SUMS);
  const bool hides = w->of->causal || w->of->partial;
  /* with `partial` HIDE_NEXT has no effect; its slot stays, so that the same registers suffice as with `causal` */
  if (hides) {
    place(w, (back_op){VALU, HIDE, n, 0, 0, BACK_NOTHING}, 1, 2);
    place(w, (back_op){SCALAR, HIDE_NEXT, n + 1, 0, 0, BACK_NOTHING}, 1, 3);
  }
  int line_end[4] = {0}, scaled[BACK_TILES][8];
  /* first of all where registers are few: then LSE's registers are free */
  for (int pair = 0; pair < 8 && in_place; pair++) scaled[0][pair] = place_scale(w, 0, pair, line_end);
  for (int depth = 0; depth < 2; depth++)
    for (int t = 0; t < w->tiles; t++)
      for (int e = 0; e < 4; e++) {
        const int pair = 4 * depth + e;
        if (!in_place) scaled[t][pair] = place_scale(w, t, pair, line_end);
        int slot = scaled[t][pair] + 1;
        for (int i = 0; i < 2; i++)
          slot = place(w, (back_op){VALU, EXPONENTIAL, slot, t, 2 * pair + i, BACK_NOTHING}, 1, 1)->slot;
        weighed[t][pair] = slot + 1;
        slot = place(w, (back_op){VALU, ROUND_WEIGHTS, slot + 1, t, pair, w->weights[t][depth]}, 1, 1)->slot;
        lives(w, w->scores[t], by_slot(scaled[t][pair]), by_slot(slot) + 1);
        lives(w, w->weights[t][depth], by_slot(slot), by_slot(slot) + 1);
      }
  for (int depth = 0; depth < 2; depth++)
    for (int t = 0; t < w->tiles; t++)
      for (int e = 0; e < 4; e++) {
        const int pair = 4 * depth + e, ready = when(w, OF_DP, n - w->tiles + t) + 2;
        int slot = weighed[t][pair] > ready ? weighed[t][pair] : ready;
        slot = place(w, (back_op){VALU, SLOPE, slot, t, pair, BACK_NOTHING}, 1, 1)->slot;
        lives(w, w->scores[t], by_slot(slot), by_slot(slot) + 1);
        slot = place(w, (back_op){VALU, ROUND_SLOPES, slot + 1, t, pair, w->slopes[t][depth]}, 1, 1)->slot;
        lives(w, w->changes[t], by_slot(begun + slot), by_slot(begun + slot) + 1);
        lives(w, w->slopes[t][depth], by_slot(slot), by_slot(slot) + 1);
        if (slot > slopes_end) slopes_end = slot;
        if (e % 2 == 0) continue;
        slot = place(w, (back_op){LDS, WRITE_SLOPES, slot + 1, t, pair / 2, BACK_NOTHING}, 1, 1)->slot;
        lives(w, w->slopes[t][depth], by_slot(slot), by_slot(slot) + 1);
      }
  for (int depth = 0; depth < 2; depth++)
    for (int t = 0; t < w->tiles; t++) {
      const int last = ((depth + 1) * w->wide - 1) * w->tiles + t;
      lives(w, w->weights[t][depth], by_product(3 * n), by_product(3 * n + last) + 1);
      lives(w, w->slopes[t][depth], by_product(4 * n), by_product(4 * n + last) + 1);
    }
  /* for the next step, as soon as this step's values have been used; where registers are few, when dQ needs none */
  for (int i = 0; i < 4; i++) {
    const int first = in_place ? 4 * n - 2 : line_end[i] + 1;
    const int slot = place(w, (back_op){MEMORY, LOAD_LINE, first + i * w->n / 4, i, 0, w->line[i]}, 1, 1)->slot;
    lives(w, w->line[i], by_slot(slot), by_slot(line_end[i] + w->period) + 1);
  }
  int slot = in_place ? slopes_end + 1 : when(w, OF_DP, w->tiles - 1) + 2;
  for (int i = 0; i < 4; i++) {
    slot = place(w, (back_op){MEMORY, LOAD_INNER, slot + (i && !in_place ? w->n / 4 : 0), i, 0, w->inner}, 1, 1)->slot;
    lives(w, w->inner, by_slot(slot), by_product(w->period + when(w, OF_DP, w->tiles - 1)) + 2);
  }
}

static void place_dq(back_order *w) {
  const int first = when(w, OF_DQ, w->n - 1) + 2, room = 2 * w->n - 6;
  int slot = first;
  lives(w, w->dq, by_product(when(w, OF_DQ, 0)), by_product(when(w, OF_DQ, w->n)));
  for (int i = 0; i < BACK_SUMS; i++) {
    const int due = first + i * room / BACK_SUMS;
    slot = place(w, (back_op){MEMORY, ADD_DQ, due > slot ? due : slot, i, 0, w->dq}, 1, 1)->slot;
    lives(w, w->dq, by_slot(slot), by_slot(slot) + 1);
  }
  place(w, (back_op){SCALAR, DQ_NEXT, slot + 1, 0, 0, BACK_NOTHING}, 1, 5);
}

/* The LSE of the next step are loaded after this step's. */
static void place_lines_next(back_order *w) {
  int last = 0;
  for (int i = 0; i < w->n_ops; i++)
    if ((w->op[i].what == LOAD_LINE || w->op[i].what == LOAD_INNER) && w->op[i].slot > last) last = w->op[i].slot;
  place(w, (back_op){SCALAR, LINES_NEXT, last + 1, 0, 0, BACK_NOTHING}, 1, 4);
}

static int slot_of(const back_order *w, back_action what, bool last) {
  int slot = BACK_NOTHING;
  for (int i = 0; i < w->n_ops; i++)
    if (w->op[i].what == what && (slot == BACK_NOTHING || (last ? w->op[i].slot > slot : w->op[i].slot < slot)))
      slot = w->op[i].slot;
  return slot;
}

/* Constraints on the order of slots: the side of the barrier, and of COPY_NEXT, which advances ENDS. */
static bool is_in_order(const back_order *w) {
  const int barrier = w->period - w->pace->barrier, next = slot_of(w, COPY_NEXT, false);
  return slot_of(w, READ_Q, false) >= -w->pace->barrier && slot_of(w, READ_Q_DOWN, true) < barrier &&
         slot_of(w, READ_G_DOWN, true) < barrier && slot_of(w, WRITE_SLOPES, true) < barrier &&
         slot_of(w, READ_SLOPES, false) >= barrier &&
         slot_of(w, WRITE_SLOPES, false) > slot_of(w, READ_SLOPES, true) - 2 * w->period &&
         slot_of(w, LOAD_LINE, true) < w->period && slot_of(w, LINES_NEXT, true) < w->period &&
         slot_of(w, LINES_NEXT, false) > next - w->period &&
         (!w->of->causal || slot_of(w, HIDE_NEXT, false) > next - w->period) &&
         slot_of(w, DQ_NEXT, true) < 2 * w->period && slot_of(w, DQ_NEXT, true) > next && next < w->period + w->n &&
         slot_of(w, ROUND_WEIGHTS, true) < 3 * w->n + w->n / 2 && slot_of(w, ROUND_SLOPES, true) < 4 * w->n + w->n / 2;
}

/* ---- registers ---- */

/* Are the values alive at the same time, on the circle of the period? */
static bool meet(const back_order *w, const back_held *a, const back_held *b) {
  const int circle = 2 * w->period, ahead = ((b->from - a->from) % circle + circle) % circle,
            behind = (circle - ahead) % circle;
  return ahead < a->to - a->from || behind < b->to - b->from;
}

/* Allocates large values first, then in the order in which they begin: each gets the lowest registers that are free
 * all of its time. */
static tw_status give_registers(back_order *w, int first, tw_error *error) {
  int end = first;
  for (int size = BACK_SUMS; size >= BACK_FRAGMENT; size /= 4)
    for (;;) {
      back_held *v = NULL;
      for (int i = 0; i < w->n_values; i++) {
        back_held *x = &w->value[i];
        if (x->at == BACK_NOTHING && x->size == size && (!v || x->from < v->from)) v = x;
      }
      if (!v) break;
      if (v->to - v->from > 2 * w->period)
        return tw_fail(error, TW_FAILED, "a value of the hand-scheduled loop is live for longer than one period");
      int at = first;
      for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < w->n_values; i++) {
          const back_held *x = &w->value[i];
          if (x == v || x->at == BACK_NOTHING || x->at >= at + v->size || at >= x->at + x->size || !meet(w, v, x))
            continue;
          at = x->at + x->size;
          moved = true;
        }
      }
      v->at = at;
      if (at + v->size > end) end = at + v->size;
    }
  const int most = cdna_back_registers(w->of);
  if (end > most)
    return tw_fail(error, TW_USAGE,
                   "the hand-scheduled loop needs %d registers per lane besides its accumulators; %d are available",
                   end, most);
  return TW_OK;
}

/* ---- in turn ---- */

/* In the order of the period. */
static int by_place(const back_order *w, int a, int b) {
  const back_op *x = &w->op[a], *y = &w->op[b];
  const int s = back_slot(w, x->slot), u = back_slot(w, y->slot);
  if (s != u) return s < u ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->slot != y->slot) return x->slot > y->slot ? -1 : 1; /* an op of the older step comes first */
  return a < b ? -1 : 1;
}

static void number_ops(back_order *w) {
  int *order = w->in_turn;
  for (int i = 0; i < w->n_ops; i++) {
    int k = i;
    for (; k > 0 && by_place(w, i, order[k - 1]) < 0; k--) order[k] = order[k - 1];
    order[k] = i;
  }
  w->lds_each = w->memory_each = 0;
  for (int i = 0; i < w->n_ops; i++) {
    const back_op *o = &w->op[order[i]];
    if (o->kind == LDS) w->number[order[i]] = w->lds_each++;
    if (o->kind == MEMORY) w->number[order[i]] = w->memory_each++;
  }
}

tw_status cdna_back_order(const tw_tile_back_loop *of, int v, back_order *w, tw_error *error) {
  memset(w, 0, sizeof *w);
  w->of = of;
  w->wide = of->d / 32;
  w->deep = of->d / 16;
  w->tiles = of->tiles;
  w->n = w->tiles * w->deep;
  w->period = 5 * w->n;
  w->pace = w->tiles == 1 ? &two_waves : w->n <= 8 ? &few_slots : &one_wave;
  w->v = v;
  place_copies(w);
  place_reads(w);
  place_weights(w);
  place_dq(w);
  place_lines_next(w);
  place_keys(w);
  number_ops(w);
  const tw_status status = give_registers(w, v + w->tiles * w->deep * BACK_FRAGMENT, error);
  if (status == TW_OK && !is_in_order(w))
    return tw_fail(error, TW_USAGE, "hand_scheduled attention with d=%d: no order of its instructions was found",
                   of->d);
  return status;
}
