/* fetch.h - what the frontend does on every packet and branch; frontend.c has what it does seldom. */
#ifndef TW_SIM_RV64_FETCH_H
#define TW_SIM_RV64_FETCH_H

#include "sim/rv64/core.h"

/* Moves to `packet` of the instruction at pc, behind one that was issued at `issue`; the packet is in decode at
 * `available` if its line is in the cache. */
static inline void fetch_packet(rv64_core *core, uint64_t pc, uint64_t packet, uint64_t available, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  fetch->count++;
  /* the queue takes five packets ahead of decode: Frontend 100-106 */
  available = later(available, fetch->dequeued[(fetch->count - FETCH_QUEUE) & 7] + 3);
  fetch->packet = packet;
  fetch->entered_late = UINT64_MAX;
  uint64_t line = packet >> PACKETS_SHIFT;
  if (unlikely(line != fetch->line)) available = rv64_fetch_line(core, pc, line, available, issue);
  fetch->available = available;
}

/* Decode goes on at `target`, whose packet is there at `available`. */
static inline void redirect(rv64_core *core, uint64_t target, uint64_t available, uint64_t issue) {
  fetch_packet(core, target, target >> 2, available, issue);
  if (target & 2) core->fetch.entered_late = target >> 2;
}

/* ---- Branch prediction ----------------------------------------------------------------------------------- */

/* Is the compressed jump whose only half is `half` in the instruction buffer, so that the packet behind it can move up
 * in the cycle in which it leaves? So it is if it follows another instruction in its packet, or a compressed one that
 * was in the buffer itself (IBuf.scala 42-58: a packet with one half of use moves up beside one in the buffer). */
static inline bool is_buffered(const rv64_core *core, uint64_t half) {
  const rv64_insn *in = &core->code[half - (core->code_base >> 1)];
  return in->length == 2 && (half & 1 || (half > core->code_base >> 1 && in[-1].length == 2));
}

/* A taken branch that fetch predicted: at once from the target buffer (s1), or one cycle later when s2 sees the
 * instruction itself, which also trains the buffer if a bubble is likely to show (Frontend 196-310). */
static inline void predicted_taken(rv64_core *core, rv64_insn *in, uint64_t branch, uint64_t target, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t available = core->fetch.available;
  int entry = branch >> 1 == core->fetch.entered_late ? -1 : rv64_target_find(p, in, branch);
  if (likely(entry >= 0 && p->target[entry] == target)) {
    p->used[entry] = t;
    available += 1;
  } else {
    if (t - available < 2) rv64_target_train(p, in, branch, target, t);
    available += 2;
  }
  redirect(core, target, available, t);
  core->fetch.entered_free = core->fetch.available <= t && is_buffered(core, branch);
}

static void mispredicted(rv64_core *core, uint64_t target, uint64_t t) {
  core->mispredicts++;
  redirect(core, target, t + MISPREDICT_REFETCH, t);
  core->fetch.entered_free = false;
}

/* A packet's branches are looked up in s1, and move the history on when it is in s2, at `available`: what is in s1 then does
 * not see it yet (Frontend 238, 294; BTB.scala 313). Two branches in one packet move it once. */
static inline uint8_t history_seen(const rv64_predictor *p, uint64_t available) {
  return available < p->moved + 2 ? p->history_before : p->history;
}
/* A misprediction puts back what the branch saw, and its own outcome (BTB.scala 318). */
static inline void history_move(rv64_predictor *p, uint64_t available, uint8_t seen, bool taken, bool right) {
  if (!right || available == p->moved)
    p->history_before = seen;
  else
    p->history_before = p->history;
  p->history = (uint8_t)(taken << 7 | p->history_before >> 1);
  p->moved = right ? available : 0;
}

/* Returns where decode goes on after a conditional branch at pc. */
static inline uint64_t conditional(rv64_core *core, rv64_insn *in, uint64_t pc, bool taken, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t branch = (pc + in->length - 2) >> 1;
  const uint8_t history = history_seen(p, core->fetch.available);
  unsigned index = rv64_history_index(history, branch >> 1);
  bool predicted = p->taken[index];
  p->taken[index] = taken;
  history_move(p, core->fetch.available, history, taken, predicted == taken);
  uint64_t next = taken ? pc + (uint64_t)(int64_t)in->imm : pc + in->length;
  if (unlikely(!rv64_is_code(core, next))) return next; /* the caller faults */
  if (likely(predicted == taken)) {
    if (taken) predicted_taken(core, in, branch, next, t);
  } else {
    if (taken) rv64_target_train(p, in, branch, next, t);
    mispredicted(core, next, t);
  }
  return next;
}

static void push_return(rv64_predictor *p, uint64_t address) {
  if (p->return_count < RETURN_ENTRIES) p->return_count++;
  p->return_top = (p->return_top + 1) % RETURN_ENTRIES;
  p->returns[p->return_top] = address;
}

static bool pop_return(rv64_predictor *p, uint64_t *address) {
  if (!p->return_count) return false;
  *address = p->returns[p->return_top];
  p->return_count--;
  p->return_top = (p->return_top + RETURN_ENTRIES - 1) % RETURN_ENTRIES;
  return true;
}

static void jump_register(rv64_core *core, rv64_insn *in, uint64_t pc, uint64_t target, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t branch = (pc + in->length - 2) >> 1, predicted = 0;
  bool links = in->rd & 1, returns = !links && (in->rs1 & 0x1b) == 1; /* rs1 is x1 or x5: BTB.scala 168-171 */
  int entry = branch >> 1 == core->fetch.entered_late ? -1 : rv64_target_find(p, in, branch);
  if (entry >= 0) predicted = p->target[entry];
  if (returns) pop_return(p, &predicted);
  if (links) push_return(p, pc + in->length);
  if (predicted == target && (returns || entry >= 0)) {
    if (entry >= 0) p->target[entry] = target; /* the buffer's return entries take their target from the stack */
    predicted_taken(core, in, branch, target, t);
  } else {
    rv64_target_train(p, in, branch, target, t);
    mispredicted(core, target, t);
  }
}

#endif
