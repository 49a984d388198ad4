/* fetch.h - the frontend's work on every packet and branch; frontend.c has the rare cases. */
#ifndef TW_GEMMINI_RV64_FETCH_H
#define TW_GEMMINI_RV64_FETCH_H

#include "target/gemmini/core/core.h"

/* An instruction that ends in the packet leaves decode at t. */
static inline void dequeue(rv64_frontend *fetch, uint64_t t) {
  fetch->dequeued[(fetch->count & 7) | fetch->later] = t;
  fetch->later = 8;
}

/* The cycle in which decode took the n-th packet before this one. */
static inline uint64_t dequeued_before(const rv64_frontend *fetch, unsigned n) {
  return fetch->dequeued[(fetch->count - n) & 7];
}

/* The slot that records whether the target buffer has the packet: the slot of the packet's first half. */
static inline uint64_t packet_slot(const rv64_core *core, uint64_t packet) {
  const uint64_t half = packet << 1, first = core->code_base >> 1;
  return half > first ? half - first : 0;
}

/* Moves to `packet` of the instruction at pc, after an instruction that was issued at `issue`; the packet is in decode
 * at `available` if its line is in the cache. */
static inline void fetch_packet(rv64_core *core, uint64_t pc, uint64_t packet, uint64_t available, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  fetch->count++;
  fetch->later = 0;
  /* The queue takes five packets ahead of decode: Frontend 100-106. A packet without room after its predecessor passes
   * on without data, and is requested three cycles later at the earliest: s2_replay, 113. */
  const uint64_t room = dequeued_before(fetch, FETCH_QUEUE) + 3;
  if (available < room) {
    fetch->lost |= rv64_loses_targets(core, pc, fetch->packet, packet);
    available = later(available + 3, room);
  }
  fetch->packet = packet;
  fetch->entered_late = UINT64_MAX;
  uint64_t line = packet >> PACKETS_SHIFT;
  if (unlikely(fetch->lines[line % KNOWN_LINES] != line + 1))
    available = rv64_fetch_line(core, pc, line, available, issue);
  fetch->available = available;
}

/* Decode continues at `target`. Its packet is available at cycle `available`. */
static inline void redirect(rv64_core *core, uint64_t target, uint64_t available, uint64_t issue) {
  fetch_packet(core, target, target >> 2, available, issue);
  if (target & 2) core->fetch.entered_late = target >> 2;
}

/* ---- Branch prediction ----------------------------------------------------------------------------------- */

/* True if the compressed jump whose only half is `half` is in the instruction buffer, so that the next packet can move
 * up in the cycle in which it leaves. It is if it follows another instruction in its packet, or a compressed one that
 * was in the buffer itself (IBuf.scala 42-58: a packet with one useful half moves up beside one in the buffer). */
static inline bool is_buffered(const rv64_core *core, uint64_t half) {
  const rv64_insn *in = &core->code[half - (core->code_base >> 1)];
  return in->length == 2 && (half & 1 || (half > core->code_base >> 1 && in[-1].length == 2));
}

static inline uint64_t top_return(const rv64_predictor *p) { return p->return_count ? p->returns[p->return_top] : 0; }

/* Notes a call or a return that is in s2 at that cycle. */
static inline void push_return(rv64_core *core, uint64_t address, uint64_t s2) {
  rv64_predictor *p = &core->predictor;
  if (unlikely(core->fetch.lost)) return;
  p->return_before = top_return(p);
  p->returns_moved = s2;
  if (p->return_count < RETURN_ENTRIES) p->return_count++;
  p->return_top = (p->return_top + 1) % RETURN_ENTRIES;
  p->returns[p->return_top] = address;
}

static inline uint64_t pop_return(rv64_core *core, uint64_t s2) {
  rv64_predictor *p = &core->predictor;
  if (unlikely(core->fetch.lost)) return top_return(p);
  p->return_before = top_return(p);
  p->returns_moved = s2;
  if (!p->return_count) return 0;
  p->return_count--;
  p->return_top = (p->return_top + RETURN_ENTRIES - 1) % RETURN_ENTRIES;
  return p->return_before;
}

/* The target buffer's prediction for a packet. It finds a packet only if it was entered at its first half, wherever
 * the jump came from. */
typedef struct foretold {
  int entry;  /* -1: nothing */
  bool taken; /* from its half */
  uint8_t half;
  uint64_t target;
} foretold;

/* gshare over packets: BTB.scala 78-93. floor(sqrt(3) / 2 * 2^8) = 221 spreads the history over 3 bits. */
static inline unsigned history_index(uint8_t seen, uint64_t packet) {
  const unsigned address = (unsigned)((packet & (HISTORY_ENTRIES - 1)) ^ (packet >> 9 & 3));
  return address ^ ((221u * seen) >> 5 & 7) << 6;
}

/* Does the branch history's counter for the packet say taken? */
static inline bool says_taken(const rv64_core *core, uint64_t packet);

static inline foretold foretell(rv64_core *core, uint64_t packet) {
  rv64_predictor *p = &core->predictor;
  const uint8_t i = core->code[packet_slot(core, packet)].target_buffer;
  if (p->entry[i].packet != packet || packet == core->fetch.entered_late) return (foretold){.entry = -1};
  rv64_target e = p->entry[i];
  const int entry = unlikely(e.twin) ? rv64_target_merge(p, (int)i, &e) : (int)i;
  foretold f = {entry, e.kind != JUMP_BRANCH || says_taken(core, packet), e.half, e.target};
  if (e.kind == JUMP_RETURN) { /* looked up in s1, before a call or return in s2 moves the stack */
    const uint64_t top = core->fetch.available < p->returns_moved + 2 ? p->return_before : top_return(p);
    if (top) f.target = top;
  }
  return f;
}

/* Cycles from a packet in s2 that jumps elsewhere to the packet there. The next packet, in s1, needs room in the
 * queue. Without room it is requested for nothing, and then the right packet is requested again. */
static inline unsigned s2_redirect(const rv64_frontend *fetch) {
  const uint64_t s2 = fetch->available, fourth = dequeued_before(fetch, 4);
  if (likely((fourth + 2 > s2 ? fourth : dequeued_before(fetch, 3)) < s2)) return 2;
  return dequeued_before(fetch, 2) < s2 + 2 ? 4 : 5;
}

/* A taken branch that fetch predicted. The target buffer predicts it at once (s1). Otherwise s2 sees the instruction
 * one cycle later; it then also trains the buffer, if the packet is unknown and a bubble is likely to show (Frontend
 * 196-310). */
static inline void predicted_taken(rv64_core *core, const foretold *f, uint64_t branch, rv64_jump_kind kind,
                                   uint64_t target, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t available = core->fetch.available;
  if (likely(f->entry >= 0 && f->taken)) {
    p->older = (p->older & ~p->path[f->entry]) | p->path_older[f->entry];
    available += 1;
  } else {
    if (f->entry < 0 && !core->fetch.lost && dequeued_before(&core->fetch, 2) < available)
      rv64_target_train(core, rv64_target_replace(p), branch, kind, target);
    available += s2_redirect(&core->fetch);
  }
  redirect(core, target, available, t);
  core->fetch.entered_free = core->fetch.available <= t && is_buffered(core, branch);
}

/* Fetch went to `wrong` (0: nowhere that it knew), whose packet is in s2 at that cycle, until MEM sent it to `target`.
 * Their changes to the return stack are kept. */
static inline void mispredicted(rv64_core *core, uint64_t wrong, uint64_t s2, uint64_t target, uint64_t t) {
  const uint8_t history = core->predictor.history;
  core->mispredicts++;
  if (wrong) rv64_run_ahead(core, wrong, wrong >> 2, s2, t - 1);
  core->predictor.history = history;
  core->fetch.lost = false;
  redirect(core, target, t + MISPREDICT_REFETCH, t);
  core->fetch.entered_free = false;
}

/* A packet's branches are looked up in s1. They move the history when the packet is in s2, at `available`, so the
 * packet in s1 at that time does not see the move yet (Frontend 238, 294; BTB.scala 313). Two branches in one packet
 * move it once. */
static inline uint8_t history_seen(const rv64_predictor *p, uint64_t available) {
  return available < p->moved + 2 ? p->history_before : p->history;
}
/* A misprediction restores the history that the branch saw and adds its outcome (BTB.scala 318). */
static inline void history_move(rv64_predictor *p, uint64_t available, uint8_t seen, bool taken, bool right) {
  if (!right || available == p->moved)
    p->history_before = seen;
  else
    p->history_before = p->history;
  p->history = (uint8_t)(taken << 7 | p->history_before >> 1);
  p->moved = right ? available : 0;
}

static inline bool says_taken(const rv64_core *core, uint64_t packet) {
  const rv64_predictor *p = &core->predictor;
  return p->taken[history_index(history_seen(p, core->fetch.available), packet)];
}

/* True if the packet has a jump after the branch, which fetch follows if the branch falls through. */
static inline bool jumps_behind(const rv64_core *core, uint64_t branch) {
  if (branch & 1) return false;
  const rv64_insn *in = &core->code[branch + 1 - (core->code_base >> 1)];
  return in->length == 2 && (in->op == OP_JAL || in->op == OP_JALR);
}

/* Returns the address at which decode continues after a conditional branch at pc. */
static inline uint64_t conditional(rv64_core *core, rv64_insn *in, uint64_t pc, bool taken, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t branch = (pc + in->length - 2) >> 1;
  const uint8_t history = history_seen(p, core->fetch.available);
  unsigned index = history_index(history, branch >> 1);
  const bool counter = p->taken[index];
  const foretold f = foretell(core, branch >> 1);
  /* a jump that the target buffer has at the packet's other half is not seen */
  const bool predicted = f.entry >= 0 && f.taken ? f.half == (branch & 1) : counter;
  p->taken[index] = taken;
  if (likely(predicted != taken || !core->fetch.lost))
    history_move(p, core->fetch.available, history, predicted == taken ? counter : taken, predicted == taken);
  const uint64_t s2 = core->fetch.available, next = taken ? pc + (uint64_t)(int64_t)in->imm : pc + in->length;
  if (unlikely(!rv64_is_code(core, next))) return next; /* the caller faults */
  if (likely(predicted == taken)) {
    if (taken) predicted_taken(core, &f, branch, JUMP_BRANCH, next, t);
  } else {
    if (taken) {
      /* Without an entry or a jump that fetch saw, the update writes entry 0: BTB.scala, resp.bits.entry :=
       * OHToUInt(idxHit), and updateHit */
      int entry = jumps_behind(core, branch) ? rv64_target_replace(p) : 0;
      if (f.entry >= 0) entry = f.entry;
      rv64_target_train(core, entry, branch, JUMP_BRANCH, next);
    }
    const bool at_once = f.entry >= 0 && f.taken;
    if (predicted)
      mispredicted(core, pc + (uint64_t)(int64_t)in->imm, s2 + (at_once ? 1 : s2_redirect(&core->fetch)), next, t);
    else
      mispredicted(core, pc + in->length, s2 + ((pc + in->length) >> 2 != core->fetch.packet), next, t);
  }
  return next;
}

/* jal, which s2 recognizes. It is mispredicted if the target buffer has a jump at the packet's other half. */
static inline void jump(rv64_core *core, rv64_insn *in, uint64_t pc, uint64_t target, uint64_t t) {
  const uint64_t branch = (pc + in->length - 2) >> 1;
  const rv64_jump_kind kind = in->rd & 1 ? JUMP_CALL : JUMP_PLAIN;
  const foretold f = foretell(core, branch >> 1);
  if (unlikely(f.entry >= 0 && f.taken && f.half != (branch & 1))) {
    rv64_target_train(core, f.entry, branch, kind, target);
    mispredicted(core, f.target, core->fetch.available + 1, target, t);
  } else {
    predicted_taken(core, &f, branch, kind, target, t);
  }
}

static inline void jump_register(rv64_core *core, rv64_insn *in, uint64_t pc, uint64_t target, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  const uint64_t branch = (pc + in->length - 2) >> 1;
  const bool links = in->rd & 1, returns = !links && (in->rs1 & 0x1b) == 1; /* rs1 is x1 or x5: BTB.scala 168-171 */
  const foretold f = foretell(core, branch >> 1);
  const bool is_known = f.entry >= 0 && f.taken;
  uint64_t predicted = is_known ? f.target : 0;
  const uint64_t s2 = core->fetch.available, top = returns ? pop_return(core, s2) : 0;
  if (!is_known) predicted = top;
  if (links) push_return(core, pc + in->length, s2);
  const rv64_jump_kind kind = links ? JUMP_CALL : returns ? JUMP_RETURN : JUMP_PLAIN;
  if (predicted == target && (!is_known || f.half == (branch & 1))) {
    predicted_taken(core, &f, branch, kind, target, t);
  } else {
    rv64_target_train(core, f.entry >= 0 ? f.entry : rv64_target_replace(p), branch, kind, target);
    p->history = history_seen(p, core->fetch.available); /* BTB.scala: resetHistory */
    p->moved = 0;
    mispredicted(core, predicted, s2 + (is_known ? 1 : s2_redirect(&core->fetch)), target, t);
  }
}

#endif
