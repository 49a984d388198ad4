/* back.c - the loop of attention's backward pass as assembly: an order of instructions, registers and waits of our own.
 * src/tile/loop.h says what it computes, tile_back.hpp how shared memory lies.
 *
 * A step of 32 queries is five products of `n` matrix instructions each, and a period of the loop is 5 n of them: scores S of
 * this step, dQ of the one before, dP, dV and dK. A step's life, counted in matrix instructions from its first:
 *
 *   0      S = Q K^T             operands are read LEAD instructions before
 *   n      dP = dO V^T, begun with -D, every other one, among those of dQ, which read most
 *   3 n    dV += P^T dO          P = 2^(S factor - exponents) is made behind S
 *   4 n    dK += dS^T Q          dS = P dP behind dP, and written to LDS
 *   5 n - BARRIER                all have read this step's queries and written their dS; the next step's have arrived, and copies
 *                                of those of the step after that begin
 *   6 n    dQ = dS K             every other one; of all groups' dS, 32 columns of d; then added to memory
 *
 * What is not a matrix instruction stands in a slot behind one. Slots are filled first come, first served: reads as late as
 * LEAD allows, the rest as early as what it is made of is there, while the slot has time for it (`vector`: cycles of the vector
 * unit; `issued`: instructions). Each slot of the period holds the work of one step or of two that follow.
 *
 * Invariants: those of loop.h; a result of a matrix instruction is used two instructions later at the earliest, that of an exponential
 * one slot later; all counters are of the steady state, and the first period has the same instructions: of dQ, in a
 * resource of no bytes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/loop/loop.h"

enum {
  TILES = 2, /* of 32 keys of a group */
  LEAD = 6,
  LEAD_FIRST = 5,  /* of what is read behind the barrier */
  LEAD_BEFORE = 8, /* of what is read last before it */
  LEAD_DQ = 6,
  BARRIER = 6,
  SLOT_CYCLES = 28,     /* of the vector unit, beside a matrix instruction */
  SLOT_CYCLES_FEW = 40, /* where there are few: they wait for that */
  SLOT_SERVED = 12,
  SLOT_SERVED_FEW = 16,
  SLOT_ISSUES = 5,
  SLOT_ISSUES_FEW = 8,
  MOST_OPS = 512,
  MOST_VALUES = 160,
  MOST_SLOTS = 80,
  LGKM_MOST = 15,
  VM_MOST = 63,
  BLOCK = 1152,    /* bytes from a block of LDS to the next */
  REGISTERS = 248, /* what the compiler may not have */
  FRAGMENT = 4,
  SUMS = 16,
  NOTHING = -1
};

/* Scalar registers. */
enum {
  Q_MATRIX = 36,
  G_MATRIX = 40,
  LINES = 44,
  DQ_MATRIX = 48,
  STEPS = 52,
  HEAD_STEPS,
  Q_DOWN,
  Q_FULL,
  Q_BACK = 56,
  LINES_BACK = 58,
  INNER,
  DQ_BACK,
  COPIED,
  FACTOR = 62,
  HIDDEN = 64,
  HIDDEN_BACK,
  OWN, /* from here on its own */
  COUNT = OWN,
  LEFT, /* of the head, for copies */
  HAVE,
  TO_COPY,
  ENDS, /* a head ends behind the step that is two, one, no steps, one step before what is copied next */
  OLD_M0 = ENDS + 3,
  NEXT_HAVE,
  SCRATCH = (NEXT_HAVE + 2) & ~1,
  DOWN = SCRATCH + 2, /* and above */
  SCALARS = DOWN + 2
};

/* Vector registers that are given: addresses. */
enum {
  Q_LANE,
  LINES_LANE,
  DQ_LANE,
  ROWS_Q,
  ROWS_K,
  DOWN_Q,
  DOWN_K = DOWN_Q + 2,
  SLOPES = DOWN_K + 2,
  SLOPES_TO = SLOPES + 2,
  KEY = SLOPES_TO + 2,
  HIDES,
  GIVEN
};

typedef enum unit {
  /* in this order where they share a slot */
  MEET,
  VALU,
  LDS,
  MEMORY,
  SCALAR
} unit;

typedef enum action {
  BARRIER_HERE,
  READ_Q, /* fragments: of rows of Q, of dO, of K; down the columns of dO, Q, K; of dS */
  READ_G,
  READ_K,
  READ_G_DOWN,
  READ_Q_DOWN,
  READ_K_DOWN,
  READ_SLOPES,
  HIDE,
  HIDE_NEXT,
  SCALE,
  EXPONENTIAL,
  ROUND_WEIGHTS,
  SLOPE,
  ROUND_SLOPES,
  WRITE_SLOPES,
  COPY_Q,
  COPY_G,
  COPY_NEXT, /* in three parts */
  LOAD_LINE,
  LOAD_INNER,
  LINES_NEXT,
  ADD_DQ,
  DQ_NEXT
} action;

typedef struct op {
  unit kind;
  action what;
  int slot;         /* of the step's life */
  int a, b;         /* which */
  int value, needs; /* that it writes or reads; of memory or LDS, an op whose result it needs first */
} op;

/* Registers that live from the slot (2 slot + 1) or the matrix instruction (2 instruction) `from` to `to`. */
typedef struct held {
  int size, from, to, at;
} held;

typedef struct writer {
  const tw_tile_back_loop *of;
  tw_text *t;
  int n, wide, deep, period; /* matrix instructions of a product; tiles of 32 columns of d, 16 columns; of a step */
  int vector[MOST_SLOTS], issued[MOST_SLOTS], served[MOST_SLOTS];
  op op[MOST_OPS];
  int n_ops;
  held value[MOST_VALUES];
  int n_values;
  /* values */
  int q_rows[8], g_rows[8], k_rows[TILES][8], g_down[2][4], q_down[2][4], k_down[16], slopes_read[16];
  int scores[TILES], changes[TILES], weights[TILES][2], slopes[TILES][2], dq, line[4], inner;
  /* of LDS and memory: how many a period has, and which of a period each op is */
  int lds_each, memory_each, number[MOST_OPS];
  int lds, memory, lds_known, memory_known; /* issued, known to be there, counted from the body's first */
  bool placed;
  int v; /* own_v */
} writer;

__attribute__((format(printf, 2, 3))) static void line(writer *w, const char *format, ...) {
  va_list arguments;
  char text[192];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  tw_text_add(w->t, "      \"%s\\n\"\n", text);
  w->placed = false;
}

/* ---- the order of matrix instructions ----
 *
 * Those of dQ read four times for each, the others once at most: dQ and dP take turns. */

typedef enum which { OF_S, OF_DP, OF_DQ, OF_V, OF_K } which;

/* Instruction i of a product, in the life of a step. */
static int when(const writer *w, which p, int i) {
  const int n = w->n;
  switch (p) {
  case OF_S: return i;
  case OF_DP: return n + 2 * i;
  case OF_DQ: return 6 * n + 2 * i + 1;
  case OF_V: return 3 * n + i;
  default: return 4 * n + i;
  }
}
static which product_at(const writer *w, int place, int *i) {
  const int n = w->n, in = place - n;
  *i = in >= 0 && in < 2 * n ? in / 2 : place % n;
  return place < n ? OF_S : in < 2 * n ? (in % 2 ? OF_DQ : OF_DP) : place < 4 * n ? OF_V : OF_K;
}

/* ---- slots ---- */

static int slot_in(const writer *w, int slot) { return (slot % w->period + w->period) % w->period; }

/* Cycles that it takes of the vector unit, of LDS (its half, which two waves share). */
static int cycles_of(const op *o) { return o->kind != VALU || o->what == HIDE ? 0 : o->what == EXPONENTIAL ? 16 : 4; }
static int served_of(const op *o) {
  if (o->kind != LDS) return 0;
  return o->what == READ_Q || o->what == READ_G || o->what == READ_K || o->what == WRITE_SLOPES ? 8 : 4;
}

static bool has_room(const writer *w, const op *o, int issued) {
  const int s = slot_in(w, o->slot);
  const bool few = w->n <= 8;
  return w->vector[s] + cycles_of(o) <= (few ? SLOT_CYCLES_FEW : SLOT_CYCLES) &&
         w->issued[s] + issued <= (few ? SLOT_ISSUES_FEW : SLOT_ISSUES) + (o->kind == LDS) &&
         w->served[s] + served_of(o) <= (few ? SLOT_SERVED_FEW : SLOT_SERVED);
}

/* The first slot from `slot` on, or the last up to it, that has room. */
static op *place(writer *w, op o, int direction, int issued) {
  for (int i = 0; i < w->period && !has_room(w, &o, issued); i++) o.slot += direction;
  w->vector[slot_in(w, o.slot)] += cycles_of(&o);
  w->issued[slot_in(w, o.slot)] += issued;
  w->served[slot_in(w, o.slot)] += served_of(&o);
  w->op[w->n_ops] = o;
  return &w->op[w->n_ops++];
}

static int new_value(writer *w, int size) {
  w->value[w->n_values] = (held){size, 1 << 20, -(1 << 20), NOTHING};
  return w->n_values++;
}
static void lives(writer *w, int v, int from, int to) {
  held *x = &w->value[v];
  if (from < x->from) x->from = from;
  if (to > x->to) x->to = to;
}
static int by_slot(int slot) { return 2 * slot + 1; }
static int by_product(int product) { return 2 * product; }

/* A fragment, for matrix instructions first .. last, `lead` before the first; by two reads where they are of half of it. */
static int read_fragment(writer *w, action what, int a, int b, int first, int last, int lead, bool halves) {
  const int v = new_value(w, FRAGMENT);
  int slot = first - lead;
  for (int half = halves; half >= 0; half--) {
    slot = place(w, (op){LDS, what, slot, a, 2 * b + half, v, NOTHING}, -1, 1)->slot;
    lives(w, v, by_slot(slot), by_product(last) + 1);
  }
  return v;
}

/* ---- the step ---- */

/* What slots hold anyway first: barrier, copies and what goes with them. */
static void place_copies(writer *w) {
  const int barrier = w->period - BARRIER, blocks = w->deep / w->of->groups;
  int slot = barrier + 1;
  place(w, (op){MEET, BARRIER_HERE, barrier, 0, 0, NOTHING, NOTHING}, 1, 2);
  for (int i = 0; i < 2 * blocks; i++)
    slot = place(w, (op){MEMORY, i < blocks ? COPY_Q : COPY_G, slot, i % blocks, 0, NOTHING, NOTHING}, 1, 3)->slot + 3;
  for (int part = 0; part < 3; part++)
    slot = place(w, (op){SCALAR, COPY_NEXT, slot, part, 0, NOTHING, NOTHING}, 1, 5)->slot + 1;
}

static void place_reads(writer *w) {
  const int n = w->n;
  /* from the last to the first: so they are issued in the order in which they are needed */
  for (int i = n - 1; i >= 0; i--) {
    w->k_down[i] = read_fragment(w, READ_K_DOWN, i, 0, when(w, OF_DQ, i), when(w, OF_DQ, i), LEAD_DQ, true);
    w->slopes_read[i] = read_fragment(w, READ_SLOPES, i, 0, when(w, OF_DQ, i), when(w, OF_DQ, i), LEAD_DQ, true);
  }
  for (int depth = 1; depth >= 0; depth--)
    for (int i = w->wide - 1; i >= 0; i--) {
      const int first = (depth * w->wide + i) * TILES;
      w->q_down[depth][i] = read_fragment(w, READ_Q_DOWN, depth, i, when(w, OF_K, first),
                                          when(w, OF_K, first + TILES - 1), LEAD_BEFORE, true);
    }
  for (int depth = 1; depth >= 0; depth--)
    for (int i = w->wide - 1; i >= 0; i--) {
      const int first = (depth * w->wide + i) * TILES;
      w->g_down[depth][i] =
          read_fragment(w, READ_G_DOWN, depth, i, when(w, OF_V, first), when(w, OF_V, first + TILES - 1), LEAD, true);
    }
  for (int d = w->deep - 1; d >= 0; d--)
    w->g_rows[d] =
        read_fragment(w, READ_G, d, 0, when(w, OF_DP, d * TILES), when(w, OF_DP, d * TILES + TILES - 1), LEAD, false);
  for (int d = w->deep - 1; d >= 0; d--)
    w->q_rows[d] = read_fragment(w, READ_Q, d, 0, d * TILES, d * TILES + TILES - 1, LEAD_FIRST, false);
}

/* Where there is room: keys are there from the beginning. */
static void place_keys(writer *w) {
  for (int d = w->deep - 1; d >= 0; d--)
    for (int t = TILES - 1; t >= 0; t--)
      w->k_rows[t][d] = read_fragment(w, READ_K, d, t, d * TILES + t, d * TILES + t, LEAD_FIRST, false);
}

/* Weights and slopes, two numbers at a time: those of the first 16 queries of each tile, then of the second. */
static void place_weights(writer *w) {
  const int n = w->n;
  int scaled[TILES][8], weighed[TILES][8];
  w->dq = new_value(w, SUMS);
  w->inner = new_value(w, SUMS);
  for (int i = 0; i < 4; i++) w->line[i] = new_value(w, 4);
  for (int t = 0; t < TILES; t++) {
    w->scores[t] = new_value(w, SUMS);
    w->changes[t] = new_value(w, SUMS);
    lives(w, w->scores[t], by_product(t), by_product(t) + 1);
    lives(w, w->changes[t], by_product(when(w, OF_DP, t)), by_product(when(w, OF_DP, t)) + 1);
    for (int depth = 0; depth < 2; depth++) {
      w->weights[t][depth] = new_value(w, FRAGMENT);
      w->slopes[t][depth] = new_value(w, FRAGMENT);
    }
  }
  if (w->of->causal) {
    place(w, (op){VALU, HIDE, n, 0, 0, NOTHING, NOTHING}, 1, 2);
    place(w, (op){SCALAR, HIDE_NEXT, n + 1, 0, 0, NOTHING, NOTHING}, 1, 3);
  }
  int line_end[4] = {0};
  for (int depth = 0; depth < 2; depth++)
    for (int t = 0; t < TILES; t++)
      for (int e = 0; e < 4; e++) {
        const int pair = 4 * depth + e, ready = n + (w->of->causal || t == TILES - 1);
        const int begun = scaled[t][pair] = place(w, (op){VALU, SCALE, ready, t, pair, NOTHING, NOTHING}, 1, 1)->slot;
        if (begun > line_end[pair / 2]) line_end[pair / 2] = begun;
        int slot = begun + 1;
        for (int i = 0; i < 2; i++)
          slot = place(w, (op){VALU, EXPONENTIAL, slot, t, 2 * pair + i, NOTHING, NOTHING}, 1, 1)->slot;
        weighed[t][pair] = slot + 1;
        slot = place(w, (op){VALU, ROUND_WEIGHTS, slot + 1, t, pair, w->weights[t][depth], NOTHING}, 1, 1)->slot;
        lives(w, w->scores[t], by_slot(begun), by_slot(slot) + 1);
        lives(w, w->weights[t][depth], by_slot(slot), by_slot(slot) + 1);
      }
  for (int depth = 0; depth < 2; depth++)
    for (int t = 0; t < TILES; t++)
      for (int e = 0; e < 4; e++) {
        const int pair = 4 * depth + e, ready = when(w, OF_DP, n - TILES + t) + 2;
        int slot = weighed[t][pair] > ready ? weighed[t][pair] : ready;
        slot = place(w, (op){VALU, SLOPE, slot, t, pair, NOTHING, NOTHING}, 1, 1)->slot;
        lives(w, w->scores[t], by_slot(slot), by_slot(slot) + 1);
        slot = place(w, (op){VALU, ROUND_SLOPES, slot + 1, t, pair, w->slopes[t][depth], NOTHING}, 1, 1)->slot;
        lives(w, w->changes[t], by_slot(slot), by_slot(slot) + 1);
        lives(w, w->slopes[t][depth], by_slot(slot), by_slot(slot) + 1);
        if (e % 2 == 0) continue;
        slot = place(w, (op){LDS, WRITE_SLOPES, slot + 1, t, pair / 2, NOTHING, NOTHING}, 1, 1)->slot;
        lives(w, w->slopes[t][depth], by_slot(slot), by_slot(slot) + 1);
      }
  for (int depth = 0; depth < 2; depth++)
    for (int t = 0; t < TILES; t++) {
      const int last = ((depth + 1) * w->wide - 1) * TILES + t;
      lives(w, w->weights[t][depth], by_product(3 * n), by_product(3 * n + last) + 1);
      lives(w, w->slopes[t][depth], by_product(4 * n), by_product(4 * n + last) + 1);
    }
  /* of the next step, as soon as this one's have been used */
  for (int i = 0; i < 4; i++) {
    const int slot =
        place(w, (op){MEMORY, LOAD_LINE, line_end[i] + 1 + i * w->n / 4, i, 0, w->line[i], NOTHING}, 1, 1)->slot;
    lives(w, w->line[i], by_slot(slot), by_slot(line_end[i] + w->period) + 1);
  }
  int slot = when(w, OF_DP, TILES - 1) + 2;
  for (int i = 0; i < 4; i++) {
    slot = place(w, (op){MEMORY, LOAD_INNER, slot + (i ? w->n / 4 : 0), i, 0, w->inner, NOTHING}, 1, 1)->slot;
    lives(w, w->inner, by_slot(slot), by_product(w->period + when(w, OF_DP, TILES - 1)) + 2);
  }
}

static void place_dq(writer *w) {
  const int first = when(w, OF_DQ, w->n - 1) + 2, room = 2 * w->n - 6;
  int slot = first;
  lives(w, w->dq, by_product(when(w, OF_DQ, 0)), by_product(when(w, OF_DQ, w->n)));
  for (int i = 0; i < SUMS; i++) {
    const int due = first + i * room / SUMS;
    slot = place(w, (op){MEMORY, ADD_DQ, due > slot ? due : slot, i, 0, w->dq, NOTHING}, 1, 1)->slot;
    lives(w, w->dq, by_slot(slot), by_slot(slot) + 1);
  }
  place(w, (op){SCALAR, DQ_NEXT, slot + 1, 0, 0, NOTHING, NOTHING}, 1, 5);
}

/* The lines of the next step are behind those of this one. */
static void place_lines_next(writer *w) {
  int last = 0;
  for (int i = 0; i < w->n_ops; i++)
    if ((w->op[i].what == LOAD_LINE || w->op[i].what == LOAD_INNER) && w->op[i].slot > last) last = w->op[i].slot;
  place(w, (op){SCALAR, LINES_NEXT, last + 1, 0, 0, NOTHING, NOTHING}, 1, 4);
}

static int slot_of(const writer *w, action what, bool last) {
  int slot = NOTHING;
  for (int i = 0; i < w->n_ops; i++)
    if (w->op[i].what == what && (slot == NOTHING || (last ? w->op[i].slot > slot : w->op[i].slot < slot)))
      slot = w->op[i].slot;
  return slot;
}

/* What the order of slots has to keep: on which side of the barrier, and of COPY_NEXT, which moves on ENDS. */
static bool is_in_order(const writer *w) {
  const int barrier = w->period - BARRIER, next = slot_of(w, COPY_NEXT, false);
  return slot_of(w, READ_Q, false) >= -BARRIER && slot_of(w, READ_Q_DOWN, true) < barrier &&
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

/* Do values overlap in time on the circle of the period? */
static bool meet(const writer *w, const held *a, const held *b) {
  const int circle = 2 * w->period, ahead = ((b->from - a->from) % circle + circle) % circle,
            behind = (circle - ahead) % circle;
  return ahead < a->to - a->from || behind < b->to - b->from;
}

/* Large ones first, then in the order in which they begin: each the lowest registers that are free all its time. */
static tw_status give_registers(writer *w, int first, tw_error *error) {
  int end = first;
  for (int size = SUMS; size >= FRAGMENT; size /= 4)
    for (;;) {
      held *v = NULL;
      for (int i = 0; i < w->n_values; i++) {
        held *x = &w->value[i];
        if (x->at == NOTHING && x->size == size && (!v || x->from < v->from)) v = x;
      }
      if (!v) break;
      if (v->to - v->from > 2 * w->period)
        return tw_fail(error, TW_FAILED, "a value of a pinned loop lives for longer than a period");
      int at = first;
      for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < w->n_values; i++) {
          const held *x = &w->value[i];
          if (x == v || x->at == NOTHING || x->at >= at + v->size || at >= x->at + x->size || !meet(w, v, x)) continue;
          at = x->at + x->size;
          moved = true;
        }
      }
      v->at = at;
      if (at + v->size > end) end = at + v->size;
    }
  if (end > REGISTERS)
    return tw_fail(error, TW_USAGE, "a pinned loop takes %d registers of a lane beside its sums, of %d", end,
                   REGISTERS);
  return TW_OK;
}

static int at(const writer *w, int value) { return w->value[value].at; }

/* ---- waits ---- */

/* In the order of the period. */
static int by_place(const writer *w, int a, int b) {
  const op *x = &w->op[a], *y = &w->op[b];
  const int s = slot_in(w, x->slot), u = slot_in(w, y->slot);
  if (s != u) return s < u ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->slot != y->slot) return x->slot > y->slot ? -1 : 1; /* of the older step */
  return a < b ? -1 : 1;
}

static void number_ops(writer *w, int order[MOST_OPS]) {
  for (int i = 0; i < w->n_ops; i++) {
    int k = i;
    for (; k > 0 && by_place(w, i, order[k - 1]) < 0; k--) order[k] = order[k - 1];
    order[k] = i;
  }
  w->lds_each = w->memory_each = 0;
  for (int i = 0; i < w->n_ops; i++) {
    const op *o = &w->op[order[i]];
    if (o->kind == LDS) w->number[order[i]] = w->lds_each++;
    if (o->kind == MEMORY) w->number[order[i]] = w->memory_each++;
  }
}

/* Periods after the step's first in which an op stands. */
static int later(const writer *w, int slot) { return (slot - slot_in(w, slot)) / w->period; }

/* Until the last op of that value, of the step that begins in `period`, is done. */
static void wait_for(writer *w, int value, int period) {
  int lds = -1000000, memory = -1000000;
  for (int i = 0; i < w->n_ops; i++) {
    const op *o = &w->op[i];
    if (o->value != value || o->what == ADD_DQ) continue;
    const int p = period + later(w, o->slot);
    if (o->kind == LDS && p * w->lds_each + w->number[i] + 1 > lds) lds = p * w->lds_each + w->number[i] + 1;
    if (o->kind == MEMORY && p * w->memory_each + w->number[i] + 1 > memory)
      memory = p * w->memory_each + w->number[i] + 1;
  }
  if (lds > w->lds_known) {
    const int left = w->lds - lds;
    line(w, "s_waitcnt lgkmcnt(%d)", left < LGKM_MOST ? left : LGKM_MOST);
    w->lds_known = lds;
  }
  if (memory > w->memory_known) {
    const int left = w->memory - memory;
    line(w, "s_waitcnt vmcnt(%d)", left < VM_MOST ? left : VM_MOST);
    w->memory_known = memory;
  }
}

/* ---- instructions ---- */

static int tile_bytes(const writer *w) { return w->deep * BLOCK; }
static const char *type_of(const writer *w) { return w->of->type == TW_F16 ? "f16" : "bf16"; }

static void write_read(writer *w, const op *o, int stage) {
  const int to = at(w, o->value), half = o->b % 2, b = o->b / 2, of_stage = stage * 2 * tile_bytes(w);
  const int gradients = tile_bytes(w), of_half = half * 256;
  switch (o->what) {
  case READ_Q: line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, ROWS_Q, of_stage + o->a * BLOCK); break;
  case READ_G:
    line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, ROWS_Q, of_stage + gradients + o->a * BLOCK);
    break;
  case READ_K:
    line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, ROWS_K, b * tile_bytes(w) + o->a * BLOCK);
    break;
  case READ_G_DOWN:
  case READ_Q_DOWN:
    line(w, "ds_read_b64_tr_b16 v[%d:%d], v%d offset:%d", to + 2 * half, to + 2 * half + 1, DOWN_Q + o->a,
         of_stage + (o->what == READ_G_DOWN ? gradients : 0) + b * 2 * BLOCK + o->a * 512 + of_half);
    break;
  case READ_K_DOWN:
    line(w, "ds_read_b64_tr_b16 v[%d:%d], v%d offset:%d", to + 2 * half, to + 2 * half + 1, DOWN_K + o->a % 2,
         o->a / 2 * tile_bytes(w) + o->a % 2 * 512 + of_half);
    break;
  default: /* READ_SLOPES */
    line(w, "ds_read_b64_tr_b16 v[%d:%d], v%d offset:%d", to + 2 * half, to + 2 * half + 1, SLOPES + half,
         stage * w->of->groups * TILES * 2 * BLOCK + o->a / 2 * 2 * BLOCK + o->a % 2 * 512 + of_half);
  }
}

static void write_copy(writer *w, const op *o, int stage) {
  const int blocks = w->deep / w->of->groups, gradients = o->what == COPY_G;
  const int matrix = gradients ? G_MATRIX : Q_MATRIX;
  (void)blocks;
  line(w, "s_add_u32 m0, s%d, %d", COPIED, stage * 2 * tile_bytes(w) + gradients * tile_bytes(w) + o->a * BLOCK);
  line(w, "s_nop 0");
  line(w, "buffer_load_dwordx4 v%d, s[%d:%d], %d offen lds", Q_LANE, matrix, matrix + 3, o->a * 32);
}

/* To the queries of the next step: of the same head or of the next one. Behind the last ones there are none. */
static void write_copy_next(writer *w, int part) {
  switch (part) {
  case 0:
    line(w, "s_mov_b32 s%d, s%d", ENDS + 2, ENDS + 1);
    line(w, "s_mov_b32 s%d, s%d", ENDS + 1, ENDS);
    line(w, "s_sub_u32 s%d, s%d, 1", LEFT, LEFT);
    line(w, "s_sub_u32 s%d, s%d, s%d", NEXT_HAVE, HAVE, Q_DOWN);
    line(w, "s_cmp_eq_u32 s%d, 0", LEFT);
    line(w, "s_cselect_b32 s%d, 1, 0", ENDS);
    break;
  case 1:
    line(w, "s_cmp_eq_u32 s%d, 0", LEFT);
    line(w, "s_cselect_b32 s%d, s%d, s%d", LEFT, HEAD_STEPS, LEFT);
    line(w, "s_cselect_b32 s%d, s%d, s%d", HAVE, Q_FULL, NEXT_HAVE);
    line(w, "s_cselect_b32 s%d, s%d, s%d", DOWN, Q_BACK, Q_DOWN);
    line(w, "s_cselect_b32 s%d, s%d, %d", DOWN + 1, Q_BACK + 1, w->of->causal ? -1 : 0);
    line(w, "s_sub_u32 s%d, s%d, 1", TO_COPY, TO_COPY);
    break;
  default:
    for (int matrix = Q_MATRIX; matrix <= G_MATRIX; matrix += 4) {
      line(w, "s_add_u32 s%d, s%d, s%d", matrix, matrix, DOWN);
      line(w, "s_addc_u32 s%d, s%d, s%d", matrix + 1, matrix + 1, DOWN + 1);
    }
    line(w, "s_cmp_gt_i32 s%d, 0", TO_COPY);
    line(w, "s_cselect_b32 s%d, s%d, 0", Q_MATRIX + 2, HAVE);
    line(w, "s_cselect_b32 s%d, s%d, 0", G_MATRIX + 2, HAVE);
  }
}

static void write_next(writer *w, int matrix, int ends, int back, int bytes) {
  line(w, "s_cmp_lg_u32 s%d, 0", ends);
  line(w, "s_cselect_b32 s%d, s%d, %d", SCRATCH, back, w->of->causal ? -bytes : bytes);
  line(w, "s_ashr_i32 s%d, s%d, 31", SCRATCH + 1, SCRATCH);
  line(w, "s_add_u32 s%d, s%d, s%d", matrix, matrix, SCRATCH);
  line(w, "s_addc_u32 s%d, s%d, s%d", matrix + 1, matrix + 1, SCRATCH + 1);
}

static void write_op(writer *w, const op *o, int period) {
  const int begun = period - later(w, o->slot), stage = ((begun % 2) + 2) % 2, t = o->a;
  switch (o->what) {
  case BARRIER_HERE: {
    /* copies of the next step: all of memory's that were issued before the next ones of this step */
    int copies = -1000000;
    for (int i = 0; i < w->n_ops; i++)
      if (w->op[i].what == COPY_Q || w->op[i].what == COPY_G) {
        const int number = (period - 1 + later(w, w->op[i].slot)) * w->memory_each + w->number[i] + 1;
        if (number > copies) copies = number;
      }
    if (copies > w->memory_known) w->memory_known = copies;
    /* of LDS: what has read this step's queries, and written its slopes */
    int lds = -1000000;
    for (int i = 0; i < w->n_ops; i++) {
      const action x = w->op[i].what;
      if (x != READ_Q && x != READ_G && x != READ_G_DOWN && x != READ_Q_DOWN && x != WRITE_SLOPES) continue;
      const int number = (period + later(w, w->op[i].slot)) * w->lds_each + w->number[i] + 1;
      if (number > lds) lds = number;
    }
    line(w, "s_waitcnt vmcnt(%d) lgkmcnt(%d)", w->memory - copies, w->lds - lds < LGKM_MOST ? w->lds - lds : LGKM_MOST);
    line(w, "s_barrier");
    if (lds > w->lds_known) w->lds_known = lds;
    break;
  }
  case HIDE:
    line(w, "s_cmp_gt_i32 s%d, -32", HIDDEN);
    line(w, "s_cbranch_scc1 tw_hide%d_%%=", period);
    line(w, "tw_seen%d_%%=:", period);
    break;
  case HIDE_NEXT:
    line(w, "s_add_i32 s%d, s%d, 32", SCRATCH, HIDDEN);
    line(w, "s_cmp_lg_u32 s%d, 0", ENDS + 1);
    line(w, "s_cselect_b32 s%d, s%d, s%d", HIDDEN, HIDDEN_BACK, SCRATCH);
    break;
  case SCALE: {
    const int s = at(w, w->scores[t]) + 2 * o->b, l = at(w, w->line[o->b / 2]) + o->b % 2 * 2;
    wait_for(w, w->line[o->b / 2], begun - 1);
    line(w, "v_pk_fma_f32 v[%d:%d], v[%d:%d], s[%d:%d], v[%d:%d] neg_lo:[0,0,1] neg_hi:[0,0,1]", s, s + 1, s, s + 1,
         FACTOR, FACTOR + 1, l, l + 1);
    break;
  }
  case EXPONENTIAL: {
    const int s = at(w, w->scores[t]) + o->b;
    line(w, "v_exp_f32_e32 v%d, v%d", s, s);
    break;
  }
  case ROUND_WEIGHTS:
  case ROUND_SLOPES: {
    const int from = at(w, o->what == ROUND_WEIGHTS ? w->scores[t] : w->changes[t]) + 2 * o->b;
    line(w, "v_cvt_pk_%s_f32 v%d, v%d, v%d", type_of(w), at(w, o->value) + o->b % 4, from, from + 1);
    break;
  }
  case SLOPE: {
    const int c = at(w, w->changes[t]) + 2 * o->b, s = at(w, w->scores[t]) + 2 * o->b;
    line(w, "v_pk_mul_f32 v[%d:%d], v[%d:%d], v[%d:%d]", c, c + 1, c, c + 1, s, s + 1);
    break;
  }
  case WRITE_SLOPES: {
    const int from = at(w, w->slopes[t][o->b / 2]) + o->b % 2 * 2;
    line(w, "ds_write_b64 v%d, v[%d:%d] offset:%d", SLOPES_TO + o->b % 2, from, from + 1,
         stage * w->of->groups * TILES * 2 * BLOCK + (t * 2 + o->b / 2) * BLOCK);
    break;
  }
  case COPY_Q:
  case COPY_G: write_copy(w, o, stage); break;
  case COPY_NEXT: write_copy_next(w, o->a); break;
  case LOAD_LINE:
  case LOAD_INNER: {
    const int to = at(w, o->value) + (o->what == LOAD_INNER ? 4 * o->a : 0);
    char from[16] = "0";
    if (o->what == LOAD_INNER) snprintf(from, sizeof from, "s%d", INNER);
    line(w, "buffer_load_dwordx4 v[%d:%d], v%d, s[%d:%d], %s offen offset:%d", to, to + 3, LINES_LANE, LINES, LINES + 3,
         from, 32 * o->a);
    break;
  }
  case LINES_NEXT: write_next(w, LINES, ENDS, LINES_BACK, 128); break;
  case ADD_DQ:
    line(w, "buffer_atomic_add_f32 v%d, v%d, s[%d:%d], 0 offen offset:%d", at(w, w->dq) + o->a, DQ_LANE, DQ_MATRIX,
         DQ_MATRIX + 3, 256 * o->a);
    break;
  case DQ_NEXT:
    write_next(w, DQ_MATRIX, ENDS + 2, DQ_BACK, 128 * w->of->d);
    line(w, "s_movk_i32 s%d, %d", DQ_MATRIX + 2, 128 * w->of->d);
    break;
  default: write_read(w, o, stage);
  }
  w->lds += o->kind == LDS;
  w->memory += o->kind == MEMORY;
}

static void multiply(writer *w, char kind, int sums, int first, int second, int begin, int begin_value) {
  char from[24];
  if (begin)
    snprintf(from, sizeof from, begin_value == NOTHING ? "0" : "v[%d:%d]", begin_value, begin_value + SUMS - 1);
  else
    snprintf(from, sizeof from, "%c[%d:%d]", kind, sums, sums + SUMS - 1);
  line(w, "v_mfma_f32_32x32x16_%s %c[%d:%d], v[%d:%d], v[%d:%d], %s", type_of(w), kind, sums, sums + SUMS - 1, first,
       first + 3, second, second + 3, from);
}

/* Matrix instruction i of the period. */
static void write_product(writer *w, int i, int period) {
  int in;
  const which p = product_at(w, i, &in);
  const int t = in % TILES, d = in / TILES, depth = d / w->wide, col = d % w->wide;
  switch (p) {
  case OF_S:
    wait_for(w, w->q_rows[d], period);
    wait_for(w, w->k_rows[t][d], period);
    multiply(w, 'v', at(w, w->scores[t]), at(w, w->q_rows[d]), at(w, w->k_rows[t][d]), d == 0, NOTHING);
    break;
  case OF_DP:
    wait_for(w, w->g_rows[d], period);
    if (d == 0) wait_for(w, w->inner, period - 1);
    multiply(w, 'v', at(w, w->changes[t]), at(w, w->g_rows[d]), w->v + (t * w->deep + d) * FRAGMENT, d == 0,
             at(w, w->inner));
    break;
  case OF_DQ:
    wait_for(w, w->k_down[in], period - 1);
    wait_for(w, w->slopes_read[in], period - 1);
    multiply(w, 'v', at(w, w->dq), at(w, w->k_down[in]), at(w, w->slopes_read[in]), in == 0, NOTHING);
    break;
  default: {
    const bool of_v = p == OF_V;
    const int fragment = of_v ? w->g_down[depth][col] : w->q_down[depth][col];
    wait_for(w, fragment, period);
    multiply(w, 'a', ((of_v ? TILES * w->wide : 0) + t * w->wide + col) * SUMS, at(w, fragment),
             at(w, of_v ? w->weights[t][depth] : w->slopes[t][depth]), false, NOTHING);
  }
  }
}

/* ---- parts ---- */

static void write_before(writer *w) {
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 s%d, m0", OLD_M0);
  line(w, "s_add_u32 s%d, s%d, 1", COUNT, STEPS);
  line(w, "s_mov_b32 s%d, s%d", FACTOR + 1, FACTOR);
  line(w, "s_mov_b32 s%d, s%d", TO_COPY, STEPS);
  line(w, "s_mov_b32 s%d, s%d", LEFT, HEAD_STEPS);
  line(w, "s_mov_b32 s%d, s%d", HAVE, Q_FULL);
  for (int i = 0; i < 3; i++) line(w, "s_mov_b32 s%d, 0", ENDS + i);
  /* queries of the first step; what of the second's is due later is in the body, as of every step's */
  for (int stage = 0; stage < 2; stage++) {
    for (int i = 0; i < w->n_ops; i++) {
      const op *o = &w->op[i];
      if (stage == 1 && o->slot >= w->period) continue;
      if (o->what == COPY_Q || o->what == COPY_G) write_copy(w, o, stage);
      if (o->what == COPY_NEXT) write_copy_next(w, o->a);
    }
    if (stage == 1) break;
    for (int i = 0; i < w->n_ops; i++)
      if (w->op[i].what == LOAD_LINE || w->op[i].what == LOAD_INNER) write_op(w, &w->op[i], 0);
    write_next(w, LINES, ENDS, LINES_BACK, 128);
  }
  line(w, ".set tw_i, 0");
  line(w, ".rept %d", 2 * TILES * w->wide * SUMS);
  line(w, "v_accvgpr_write_b32 a[tw_i], 0");
  line(w, ".set tw_i, tw_i + 1");
  line(w, ".endr");
  line(w, "s_waitcnt vmcnt(0)");
  line(w, "s_barrier");
}

/* What steps whose first period is this one had issued before it. */
static void write_reads_before(writer *w, const int order[MOST_OPS]) {
  for (int i = 0; i < w->n_ops; i++) {
    const op *o = &w->op[order[i]];
    if (o->kind == LDS && o->slot < 0) write_read(w, o, 0);
  }
  line(w, "s_waitcnt lgkmcnt(0)"); /* fewer than in the loop are behind them */
}

static void write_body(writer *w, const int order[MOST_OPS]) {
  line(w, "tw_loop%%=:");
  w->lds_known = w->memory_known = -1000000; /* entered from two sides */
  for (int period = 0; period < 2; period++) {
    int next = 0;
    w->lds = period * w->lds_each;
    w->memory = period * w->memory_each;
    for (int i = 0; i < w->period; i++) {
      if (i == 3 * w->n) { /* dQ of the last step has been made */
        line(w, "s_sub_u32 s%d, s%d, 1", COUNT, COUNT);
        line(w, "s_cmp_eq_u32 s%d, 0", COUNT);
        line(w, "s_cbranch_scc1 tw_last%d_%%=", period);
      }
      write_product(w, i, period);
      for (; next < w->n_ops && slot_in(w, w->op[order[next]].slot) == i; next++)
        write_op(w, &w->op[order[next]], period);
    }
  }
  line(w, "s_branch tw_loop%%=");
}

/* Scores of queries that do not see the key: far from the usual way. */
static void write_hides(writer *w) {
  for (int period = 0; w->of->causal && period < 2; period++) {
    line(w, "tw_hide%d_%%=:", period);
    line(w, "s_nop 15");
    line(w, "s_add_u32 s%d, s%d, -31", SCRATCH, HIDDEN);
    line(w, "v_add_u32_e32 v%d, s%d, v%d", HIDES, SCRATCH, KEY);
    line(w, "v_mov_b32_e32 v%d, 0xff800000", HIDES + 1);
    for (int t = 0; t < TILES; t++) {
      for (int x = 0; x < SUMS; x += 2) { /* by two masks in turn: one is read a wait state behind its comparison */
        const int s = at(w, w->scores[t]) + x;
        line(w, "v_cmp_lt_i32_e32 vcc, %d, v%d", x / 4 * 8 + x % 4, HIDES);
        line(w, "v_cmp_lt_i32_e64 s[%d:%d], %d, v%d", SCRATCH, SCRATCH + 1, x / 4 * 8 + x % 4 + 1, HIDES);
        line(w, "v_cndmask_b32_e32 v%d, v%d, v%d, vcc", s, s, HIDES + 1);
        line(w, "v_cndmask_b32_e64 v%d, v%d, v%d, s[%d:%d]", s + 1, s + 1, HIDES + 1, SCRATCH, SCRATCH + 1);
      }
      line(w, "v_add_u32_e32 v%d, 32, v%d", HIDES, HIDES);
    }
    line(w, "s_branch tw_seen%d_%%=", period);
  }
}

/* What is left of the last step: its dQ is added to memory. */
static void write_after(writer *w, const int order[MOST_OPS]) {
  for (int period = 0; period < 2; period++) {
    line(w, "tw_last%d_%%=:", period);
    line(w, "s_nop 15");
    line(w, "s_nop 3");
    for (int i = 0; i < w->n_ops; i++) {
      const op *o = &w->op[order[i]];
      if (o->what == ADD_DQ) write_op(w, o, period);
    }
    if (period == 0) line(w, "s_branch tw_end%%=");
  }
  line(w, "tw_end%%=:");
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 m0, s%d", OLD_M0);
}

static void write_operands(writer *w) {
  tw_text *t = w->t;
  const int wide = w->wide;
  bool input[256] = {false};
  const struct {
    int at;
    const char *name;
  } vector[] = {{Q_LANE, "q_lane"},
                {LINES_LANE, "lines_lane"},
                {DQ_LANE, "dq_lane"},
                {ROWS_Q, "rows_q"},
                {ROWS_K, "rows_k"},
                {DOWN_Q, "down_q_at[0]"},
                {DOWN_Q + 1, "down_q_at[1]"},
                {DOWN_K, "down_k_at[0]"},
                {DOWN_K + 1, "down_k_at[1]"},
                {SLOPES, "slopes[0]"},
                {SLOPES + 1, "slopes[1]"},
                {SLOPES_TO, "slopes_to[0]"},
                {SLOPES_TO + 1, "slopes_to[1]"},
                {KEY, "key"}},
    scalar[] = {{STEPS, "steps"},     {HEAD_STEPS, "head_steps"}, {Q_DOWN, "q_down"},
                {Q_FULL, "q_full"},   {LINES_BACK, "lines_back"}, {INNER, "inner_from"},
                {DQ_BACK, "dq_back"}, {COPIED, "copied"},         {HIDDEN_BACK, "hidden"}};
  tw_text_add(t, "      :");
  for (int i = 0; i < 2 * TILES * wide; i++)
    tw_text_add(t, " \"=&{a[%d:%d]}\"(%c_sums.value[%d][%d]),%s", i * SUMS, (i + 1) * SUMS - 1,
                i < TILES * wide ? 'k' : 'v', i / wide % TILES, i % wide, i % 2 ? "\n       " : "");
  tw_text_add(t,
              " \"+{s[%d:%d]}\"(q_matrix), \"+{s[%d:%d]}\"(g_matrix),\n        \"+{s[%d:%d]}\"(lines_matrix), "
              "\"+{s[%d:%d]}\"(dq_matrix), \"+{s%d}\"(hidden_now)\n      :",
              Q_MATRIX, Q_MATRIX + 3, G_MATRIX, G_MATRIX + 3, LINES, LINES + 3, DQ_MATRIX, DQ_MATRIX + 3, HIDDEN);
  for (int i = 0; i < TILES * w->deep; i++) {
    const int v = w->v + i * FRAGMENT;
    tw_text_add(t, " \"{v[%d:%d]}\"(own_v[%d][%d]),%s", v, v + 3, i / w->deep, i % w->deep, i % 2 ? "\n       " : "");
    for (int k = 0; k < FRAGMENT; k++) input[v + k] = true;
  }
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
    tw_text_add(t, " \"{v%d}\"(%s),%s", vector[i].at, vector[i].name, i % 4 == 3 ? "\n       " : "");
    input[vector[i].at] = true;
  }
  for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
    tw_text_add(t, " \"{s%d}\"(%s),%s", scalar[i].at, scalar[i].name, i % 4 == 3 ? "\n       " : "");
  tw_text_add(t, " \"{s[%d:%d]}\"(q_back), \"{s%d}\"(factor_bits)\n      : \"memory\", \"scc\", \"vcc\", \"s%d\"",
              Q_BACK, Q_BACK + 1, FACTOR, FACTOR + 1);
  for (int i = OWN; i < SCALARS; i++) tw_text_add(t, ", \"s%d\"", i);
  for (int i = 0, k = 0; i < REGISTERS; i++)
    if (!input[i]) tw_text_add(t, "%s\"v%d\"", k++ % 12 ? ", " : ",\n        ", i);
  tw_text_add(t, ");\n");
}

tw_status cdna_loop_back(cdna_arch arch, const tw_tile_back_loop *of, tw_text *text, tw_error *error) {
  if (arch != CDNA4 || of->tiles != TILES || of->groups != 4)
    return tw_fail(error, TW_USAGE, "a pinned loop of attention is for gfx950, 4 groups and 64 keys of each");
  writer *w = tw_new(1, sizeof *w);
  int order[MOST_OPS];
  if (!w) return tw_fail(error, TW_MISSING, "no memory for a loop");
  w->of = of;
  w->t = text;
  w->wide = of->d / 32;
  w->deep = of->d / 16;
  w->n = TILES * w->deep;
  w->period = 5 * w->n;
  w->v = (HIDES + 2 + 3) & ~3;
  place_copies(w);
  place_reads(w);
  place_weights(w);
  place_dq(w);
  place_lines_next(w);
  place_keys(w);
  number_ops(w, order);
  tw_status status = give_registers(w, w->v + TILES * w->deep * FRAGMENT, error);
  if (status == TW_OK && !is_in_order(w))
    status = tw_fail(error, TW_USAGE, "a pinned loop of attention with d=%d has no order of its instructions", of->d);
  if (status == TW_OK && text) {
    tw_text_add(text, "  asm volatile(\n");
    write_before(w);
    write_reads_before(w, order);
    write_body(w, order);
    write_hides(w);
    write_after(w, order);
    write_operands(w);
  }
  free(w);
  return status;
}
