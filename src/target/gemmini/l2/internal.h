/* internal.h - shared by the parts of the L2: l2.c has the flow, way_in.c the inputs to channel A, registers.c the miss
 * registers and the directory, schedule.h their actions and times, outer.h the path to memory and back, channel.h the
 * response channel. All is of one l2_cache (sim/l2.h), on which nothing else works. */
#ifndef TW_GEMMINI_L2_INTERNAL_H
#define TW_GEMMINI_L2_INTERNAL_H

#include <stddef.h>

#include "target/gemmini/l2/l2.h"

enum { LLC_WAYS = 16 };

/* ---- requests ---- */

static inline bool is_write(const l2_request *r) { return r->kind == L2_WRITE || r->kind == L2_WRITEBACK; }
static inline bool writes_whole_line(const l2_cache *c, const l2_request *r) {
  return is_write(r) && !r->partial && r->bytes == c->p.line_bytes;
}
static inline int beats_of(const l2_cache *c, const l2_request *r) {
  return r->bytes > c->p.beat_bytes ? r->bytes >> c->beat_shift : 1;
}

/* ---- registers ---- */

/* all bits if `so`, otherwise none: avoids branches */
static inline l2_registers if_so(bool so) { return 0 - (l2_registers)so; }

static inline l2_wants want(enum l2_want w, int i) { return UINT64_C(1) << (L2_MISSES_MAX * w + i); }
static inline l2_wants of_all(enum l2_want w) { return UINT64_C(0xffff) << L2_MISSES_MAX * w; }
/* Registers that request `w`. */
static inline l2_registers those(l2_wants wants, enum l2_want w) { return wants >> L2_MISSES_MAX * w & 0xffff; }
/* All requests of these registers. */
static inline l2_wants whatever(l2_registers these) { return these * UINT64_C(0x0001000100010001); }
/* Registers that leave as soon as their answer is sent. */
static inline l2_registers last_steps(const l2_cache *c) { return c->has_line & c->victim_is_gone & c->acknowledges; }
/* Register i has completed one more condition for its end. */
static inline void may_end(l2_cache *c, int i) {
  if (c->answered & last_steps(c) & 1u << i) c->want |= want(L2_END, i);
}

/* ---- messages to and from the memory side ---- */

static inline unsigned waiting(const l2_messages *q) { return q->end - q->first; }
static inline void put_message(l2_messages *q, uint64_t from, int of) {
  if (q->first == q->end) q->from = from;
  q->at[q->end++ % L2_MESSAGES] = (l2_message){from, (uint8_t)of};
  q->at[q->end % L2_MESSAGES].from = UINT64_MAX;
}
static inline int take_message(l2_messages *q) {
  const int of = q->at[q->first++ % L2_MESSAGES].of;
  q->from = q->at[q->first % L2_MESSAGES].from;
  return of;
}

/* ---- the parts ---- */

/* way_in.c: one cycle of channel A and the buffers before it. */
void l2_take_in(l2_cache *, uint64_t cycle);

/* registers.c: accepts a request on channel A by its first beat. False: not in this cycle. */
bool l2_accept(l2_cache *, const l2_beat_in *, uint64_t cycle);
/* Register i is done: it starts the request queued after it, or is free. */
void l2_leave(l2_cache *, int i, uint64_t cycle);

/* registers.c: requests the line that register i takes from the core's data cache. */
void l2_send_probe(l2_cache *, int i, uint64_t cycle);

/* llc.c: does the LLC have the line? If not, it is inserted in a free way, or replaces a random line. */
bool l2_touch_llc(l2_cache *, uint64_t line);
static inline uint32_t *llc_set(const l2_cache *c, uint64_t line) {
  return c->llc_tag + (line & (c->llc_sets - 1)) * LLC_WAYS;
}

#endif
