/* loop_common.h - shared by the two hardware loops (loop_ws, loop_conv): two loops held at once, units that start on
 * one and finish it, alternating halves of the accumulator, limits on commands in flight.
 *
 * Sources: LoopMatmul.scala and LoopConv.scala of ucb-bar/gemmini at be2e9f2, whose state machines around their units
 * are equal. The older loop is the head, the other the tail. A loop runs from its first unit's start until all units
 * have completed; then the tail becomes the head. */
#ifndef TW_GEMMINI_LOOP_COMMON_H
#define TW_GEMMINI_LOOP_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "target/gemmini/command.h"
#include "target/gemmini/config.h"

enum { GM_LOOP_UNITS = 5 };
enum { GM_LOOP_LOADS, GM_LOOP_EXECUTES, GM_LOOP_STORES, GM_LOOP_KINDS };

typedef struct gm_loop_slot {
  bool configured, running;
  uint8_t started, completed; /* bit per unit */
} gm_loop_slot;

typedef struct gm_loop_pair {
  gm_loop_slot slot[2];
  uint8_t head;
  int used[GM_LOOP_KINDS], limit[GM_LOOP_KINDS]; /* commands that were sent and have not completed; their maximum */
  uint32_t acc_start[GM_LOOP_UNITS]; /* accumulator row of the next loop, for each unit that works in the accumulator */
  uint32_t acc_rows, row_mask;
} gm_loop_pair;

static inline void gm_loop_pair_init(gm_loop_pair *p, const gm_config *c) {
  uint32_t spad_rows = (uint32_t)gm_spad_rows(c), rows = 1;
  *p = (gm_loop_pair){.limit = {c->rs_load, c->rs_execute, c->rs_store}, .acc_rows = (uint32_t)gm_acc_rows(c)};
  while (rows < spad_rows || rows < p->acc_rows) rows *= 2;
  p->row_mask = rows - 1; /* a local address has as many row bits as the larger memory needs */
}

static inline bool gm_loop_pair_busy(const gm_loop_pair *p) { return p->slot[0].configured || p->slot[1].configured; }

/* The loop that configuration commands go to: the head until it is configured, then the tail. */
static inline int gm_loop_to_configure(const gm_loop_pair *p) {
  return p->slot[p->head].configured ? !p->head : p->head;
}

/* Starts a unit on the head, or on the tail if it has been on the head, once the units in `after` have started there.
 * Returns the loop, or -1. */
static inline int gm_loop_start(gm_loop_pair *p, int unit, unsigned after) {
  uint8_t bit = (uint8_t)(1 << unit), id = p->slot[p->head].started & bit ? !p->head : p->head;
  gm_loop_slot *s = &p->slot[id];
  if (!s->configured || (s->started & bit) || (s->started & after) != after) return -1;
  s->started |= bit;
  s->running = true;
  return id;
}

/* The accumulator half for a unit that has just started. The next loop gets the other half, unless this loop stores
 * nothing and leaves its result for the next one to continue. */
static inline uint32_t gm_loop_take_acc(gm_loop_pair *p, int unit, bool stores) {
  uint32_t start = p->acc_start[unit];
  if (stores) p->acc_start[unit] = start + p->acc_rows / 2 >= p->acc_rows ? 0 : start + p->acc_rows / 2;
  return start;
}

/* Notes that a unit which worked for `loop` is idle. True if the unit has now completed the loop. */
static inline bool gm_loop_note_idle(gm_loop_pair *p, int unit, int loop) {
  gm_loop_slot *s = &p->slot[loop];
  uint8_t bit = (uint8_t)(1 << unit);
  if (!s->running || !(s->started & bit) || (s->completed & bit)) return false;
  s->completed |= bit;
  return true;
}

static inline bool gm_loop_head_retires(const gm_loop_pair *p) {
  const gm_loop_slot *s = &p->slot[p->head];
  return s->running && s->completed == (1 << GM_LOOP_UNITS) - 1;
}

static inline void gm_loop_retire_head(gm_loop_pair *p) {
  p->slot[p->head] = (gm_loop_slot){0};
  p->head = !p->head;
}

/* ---- commands ---- */

static inline uint64_t gm_local_operand(uint32_t rows, uint32_t cols, uint32_t local) {
  return (uint64_t)rows << 48 | (uint64_t)cols << 32 | local;
}

static inline uint32_t gm_min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* u + n, or 0 from `end` on: the iterators' step (Util.scala, floorAdd). */
static inline uint16_t gm_advance(uint32_t u, uint32_t n, uint32_t end) { return (uint16_t)(u + n >= end ? 0 : u + n); }

/* Blocks of dim elements of this size in one mvin or mvout. */
static inline int gm_loop_blocks(const gm_config *c, int element_bytes) {
  int blocks = c->dma_max_bytes / (c->dim * element_bytes);
  return blocks > 0 ? blocks : 1;
}

#endif
