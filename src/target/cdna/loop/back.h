/* back.h - the order of instructions and the registers of the loop of attention's backward pass (back_order.c), from
 * which back.c writes it.
 *
 * A step of 32 queries has five products of `n` matrix instructions each, and a period of the loop has 5 n of them:
 * scores S of this step, dQ of the previous step, dP, dV and dK. A step's life, counted in matrix instructions from its
 * first:
 *
 *   0      S = Q K^T             operands are read some instructions earlier (back_pace)
 *   n      dP = dO V^T, begun with -D, every other one, alternating with dQ, which reads most
 *   3 n    dV += P^T dO          P = 2^(S factor - LSE) is made after S
 *   4 n    dK += dS^T Q          dS = P dP after dP, and written to LDS
 *   5 n - barrier                all have read this step's queries and written their dS; the next step's have arrived;
 *                               copies for the step after that begin
 *   6 n    dQ = dS K             every other one; from all waves' dS, 32 columns of d; then added to memory
 *
 * Other instructions are in slots, each after a matrix instruction. Slots are filled first come, first served: reads as
 * late as their lead allows, other instructions as early as their operands are available, while the slot has time for them
 * (`vector`: cycles of the vector unit; `issued`: instructions). Each slot of the period holds the work of one step or
 * of two that follow.
 *
 * A workgroup has 256 keys: 4 waves with two tiles each, one wave on a SIMD, or 8 waves with one tile, two on a SIMD. Two
 * waves take turns without a rule: one multiplies while the other waits or computes exponentials. They have half of the
 * registers, so -D is loaded where the sums of dP begin, LSE is loaded late, and reads have shorter leads. Each wave then
 * computes dQ for half of the keys.
 *
 * Invariants as in loop.h. A result of a matrix instruction is used two instructions later at the earliest, that of
 * an exponential one slot later; all counters hold in the steady state, and the first period has the same instructions:
 * of dQ, in a resource of no bytes. */
#ifndef TW_CDNA_LOOP_BACK_H
#define TW_CDNA_LOOP_BACK_H

#include "target/cdna/loop/loop.h"

enum {
  BACK_TILES = 2,    /* most tiles of 32 keys of a wave */
  BACK_FRAGMENT = 4, /* registers of an operand; registers of sums */
  BACK_SUMS = 16,
  BACK_OPS = 512,
  BACK_VALUES = 160,
  BACK_SLOTS = 80,
  BACK_NOTHING = -1
};

typedef enum back_unit {
  /* in this order when they share a slot */
  MEET,
  VALU,
  LDS,
  MEMORY,
  SCALAR
} back_unit;

typedef enum back_action {
  BARRIER_HERE,
  READ_Q, /* fragments: of rows of Q, of dO, of K; of columns of dO, Q, K; of dS */
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
} back_action;

typedef struct back_op {
  back_unit kind;
  back_action what;
  int slot;  /* time within the step's life */
  int a, b;  /* which */
  int value; /* registers that it writes or reads */
} back_op;

/* Registers that are in use from the slot (2 slot + 1) or the matrix instruction (2 instruction) `from` to `to`. */
typedef struct back_held {
  int size, from, to, at;
} back_held;

typedef struct back_pace {
  /* matrix instructions from a read to its use: in general, after and before the barrier, of dQ */
  int lead, lead_first, lead_before, lead_dq;
  int barrier;                /* its slot, counted from the end of the period */
  int cycles, served, issues; /* limits of a slot: cycles of the vector unit and of LDS, instructions */
} back_pace;

typedef struct back_order {
  const back_pace *pace;
  const tw_tile_back_loop *of;
  int tiles;                 /* of 32 keys of a wave */
  int n, wide, deep, period; /* matrix instructions of a product; tiles of 32 columns of d, 16 columns; of a step */
  int v;                     /* from this register on, registers of V's own fragments; lower ones are given */
  int vector[BACK_SLOTS], issued[BACK_SLOTS], served[BACK_SLOTS]; /* for each slot: used time */
  back_op op[BACK_OPS];
  int n_ops, in_turn[BACK_OPS]; /* the ops in the order of the period */
  back_held value[BACK_VALUES];
  int n_values;
  /* values */
  int q_rows[8], g_rows[8], k_rows[BACK_TILES][8], g_down[2][4], q_down[2][4], k_down[16], slopes_read[16];
  int scores[BACK_TILES], changes[BACK_TILES], weights[BACK_TILES][2], slopes[BACK_TILES][2], dq, line[4], inner;
  /* LDS and memory operations: their number in a period, and the place of each op in it */
  int lds_each, memory_each, number[BACK_OPS];
} back_order;

/* Vector registers that the compiler may not use; it needs a few. A SIMD has 512 for its waves, half of them for sums. */
static inline int cdna_back_registers(const tw_tile_back_loop *of) { return of->groups > 4 ? 124 : 248; }

/* Registers below `v` are given. TW_USAGE if no order exists, or if registers do not suffice. */
tw_status cdna_back_order(const tw_tile_back_loop *, int v, back_order *out, tw_error *);

typedef enum back_which { OF_S, OF_DP, OF_DQ, OF_V, OF_K } back_which;

/* The product to which matrix instruction `place` of the period belongs, and its number in that product. */
back_which cdna_back_product(const back_order *, int place, int *i);

/* The slot of the period for a slot of a step's life, and the number of periods between. */
static inline int back_slot(const back_order *w, int slot) { return (slot % w->period + w->period) % w->period; }
static inline int back_later(const back_order *w, int slot) { return (slot - back_slot(w, slot)) / w->period; }

#endif
