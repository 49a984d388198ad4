/* loop_ws.h - Gemmini's hardware matmul loop: six configuration commands in, tiled commands out.
 *
 * A cycle-by-cycle model of the loop unroller in front of the reservation station (ucb-bar/gemmini at be2e9f2, May
 * 2023, and what b6e24f0 added: LoopMatmul.scala and WeightedArbiter.scala). Commands GM_LOOP_WS_BOUNDS ..
 * GM_LOOP_WS_STRIDES_DC fill the registers of a loop, GM_LOOP_WS starts it. Two loops are held at once: the older one
 * (head) and the next (tail), which may be configured and may load while the head still computes. Five units walk a
 * loop's tiles, each working for one loop at a time:
 *
 *   load A   mvin    A into the bottom of the loop's half of the scratchpad, or of the half that it names; nothing if
 *   its address is 0: it is there already
 *   load B   mvin2   B into the top of a half, likewise
 *   load D   mvin3   the bias into the accumulator; nothing if its address is 0
 *   execute  preload, compute of every (k, j, i), i innermost; weights are preloaded at i = 0 only
 *   store C  mvout   after the last k; nothing if its address is 0
 *
 * At most one command comes out per cycle: store C before execute before load D before the loads of A and B, which
 * alternate by k. A unit is held back while as many of its kind's commands are uncompleted as the reservation station
 * has entries (rs_load, rs_execute, rs_store). Accumulator halves alternate from loop to loop that stores C.
 *
 * Rejected, with one line in `why`: resadd, unknown ids of halves, activations other than none and relu, A and B both
 * transposed (the RTL asserts against it), a loop of zero tiles. */
#ifndef TW_GEMMINI_LOOP_WS_H
#define TW_GEMMINI_LOOP_WS_H

#include <stdbool.h>
#include <stdint.h>

#include "target/gemmini/machine/loop_common.h"

enum gm_loop_unit_id { GM_LOOP_LD_A, GM_LOOP_LD_B, GM_LOOP_LD_D, GM_LOOP_EX, GM_LOOP_ST_C };

/* The registers of one of the two loops. */
typedef struct gm_loop {
  bool accumulate;    /* C += from the first k on, instead of overwriting at k = 0 */
  bool full_c, low_d; /* C leaves as accumulator elements; D arrives as input elements */
  bool a_transposed, b_transposed;
  uint8_t a_half, b_half;                          /* half of the scratchpad: 1 or 2; 0: the loop's own */
  uint16_t max_i, max_j, max_k;                    /* tiles */
  uint16_t pad_i, pad_j, pad_k;                    /* rows or columns missing in the last tile */
  uint64_t a, b, d, c;                             /* memory addresses */
  uint64_t a_stride, b_stride, d_stride, c_stride; /* elements */
  uint32_t a_start, b_end; /* scratchpad rows of this loop: A grows from a_start, B ends before b_end */
} gm_loop;

/* One unit: the loop for which it works (or last worked), and its next tile. */
typedef struct gm_loop_unit {
  bool active;
  bool compute; /* execute: the preload of this tile was sent */
  uint8_t loop;
  uint16_t i, j, k;
  uint32_t start; /* accumulator row of C */
} gm_loop_unit;

typedef struct gm_loop_ws {
  gm_loop loops[2];
  gm_loop_unit units[GM_LOOP_UNITS];
  gm_loop_pair pair;
  bool settled; /* the last step changed nothing except sent and completed commands */
  int next;     /* the unit that can send the next command, -1 = none. After a completion, -1 is not reliable. */
  int dim, input_bytes, acc_bytes;
  int blocks, blocks_acc; /* maximum of tiles in one mvin or mvout: of input, of accumulator elements */
} gm_loop_ws;

void gm_loop_ws_init(gm_loop_ws *, const gm_config *);

/* True while a loop is configured or running. (The RTL's busy is also true while its input queue holds a command;
 * that queue is the caller's.) */
static inline bool gm_loop_ws_busy(const gm_loop_ws *l) { return gm_loop_pair_busy(&l->pair); }

/* One clock edge. `in` is the head of the unroller's input queue (two entries, kept by the caller) or NULL; *take_in
 * says that it was consumed in this cycle. If out_ready (registered in the RTL: the output queue had a free entry at
 * the beginning of the cycle) and a command comes out, it is written to *out, *from_loop says whether the loop made it,
 * and the result is true. The other arguments count the loop's commands of each kind that complete in this cycle; they
 * free their entry for the next cycle. A refusal returns false, consumes nothing and leaves a line in `why`, which is
 * otherwise made empty. */
bool gm_loop_ws_step(gm_loop_ws *, const gm_command *in, bool *take_in, bool out_ready, int ld_completed,
                     int ex_completed, int st_completed, gm_command *out, bool *from_loop, char why[256]);

/* True if a further step with the same `in` as in the last one, this out_ready, and without completions would do
 * nothing: the caller may skip to the next event. */
static inline bool gm_loop_ws_waiting(const gm_loop_ws *l, bool out_ready) {
  return l->settled && !(out_ready && l->next != -1);
}
/* Completes commands in a cycle in which the loop needs no step for other reasons. */
static inline void gm_loop_ws_complete(gm_loop_ws *l, int kind) {
  l->pair.used[kind]--;
  l->next = GM_LOOP_UNITS;
}

#endif
