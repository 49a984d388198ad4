/* frontend.c - instruction fetch: misses of the I-cache and the tables of the branch predictor.
 *
 * What happens on every packet is inline in run.c; here is what happens seldom. */
#include "sim/rv64/core.h"

/* ---- Decoding -------------------------------------------------------------------------------------------- */

static uint32_t load_halfword(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }

void rv64_decode_slot(rv64_core *core, rv64_insn *slot, uint64_t pc) {
  const rv64_region *r = rv64_region_find(core->memory, pc, 2);
  *slot = (rv64_insn){.op = OP_OUTSIDE, .length = 2};
  if (!r || !(r->rights & RV64_EXECUTE)) return;
  const uint8_t *bytes = r->host + (pc - r->base);
  uint32_t word = load_halfword(bytes);
  if ((word & 3) == 3) {
    if (r->base + r->size - pc < 4) return;
    word |= load_halfword(bytes + 2) << 16;
  }
  *slot = rv64_decode(word);
}

/* ---- I-cache misses -------------------------------------------------------------------------------------- */

/* While a line is missing, fetch tries again every second cycle (s2_replay, Frontend 113); a try that reads the tags
 * in s0 after the last beat hits in s2, one that finds no refill under way in s1 asks in s2. */
enum { LAST_BEAT_TO_HIT = 3, LAST_BEAT_TO_REQUEST = 2 };

/* The first of the tries at s2, s2 + 2, ... that is not before `earliest`. */
static uint64_t next_try(uint64_t s2, uint64_t earliest) {
  return earliest > s2 ? s2 + ((earliest - s2 + 1) & ~1ull) : s2;
}

/* The same for a fetch behind an instruction that left decode at `issue`: if nothing has followed it when it is in
 * MEM, it takes fetch for misled and starts it again (mem_wrong_npc, Core 610-613), which changes the tries' phase. */
static uint64_t hit_after(uint64_t s2, uint64_t last_beat, uint64_t issue) {
  uint64_t hit = next_try(s2, last_beat + LAST_BEAT_TO_HIT), restart = issue + MISPREDICT_REFETCH;
  return hit > restart - 2 ? next_try(restart, last_beat + LAST_BEAT_TO_HIT) : hit;
}

static uint64_t refill(rv64_core *core, uint64_t line, uint64_t cycle) {
  if (!core->ports->refill) return cycle;
  return core->ports->refill(core->ports->context, cycle, line << LINE_SHIFT, true);
}

/* A packet of another line is in s2 at cycle `s2`, behind an instruction issued at `issue`: returns the cycle at which
 * it is available. Speculative fetches refill, too: the chicken bit disableSpeculativeICacheRefill, set at reset, is
 * cleared by the boot ROM (rocket-chip bootrom/bootrom.S:6), so the line is asked for at once (Frontend 168). There
 * is one refill at a time. */
uint64_t rv64_fetch_line(rv64_core *core, uint64_t line, uint64_t s2, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  fetch->line = line;
  fetch->plan = 0;
  bool there = rv64_cache_find(&core->icache, line);
  if (there && fetch->pending != line + 1) return s2;
  if (fetch->pending) {
    uint64_t last = refill(core, fetch->pending - 1, s2);
    bool was_this = fetch->pending == line + 1;
    fetch->pending = 0;
    if (was_this && there) return hit_after(s2, last, issue);
    s2 = next_try(s2, last + LAST_BEAT_TO_REQUEST);
  }
  uint64_t victim;
  rv64_cache_fill(&core->icache, line, &victim);
  return hit_after(s2, refill(core, line, s2), issue);
}

/* Does fetch go straight from pc to the end of its line? */
static bool goes_straight(rv64_core *core, uint64_t pc) {
  const rv64_predictor *p = &core->predictor;
  uint64_t end = ((pc >> LINE_SHIFT) + 1) << LINE_SHIFT;
  while (pc < end) {
    rv64_insn *in = &core->code[(pc - core->code_base) >> 1];
    if (!in->length) rv64_decode_slot(core, in, pc);
    uint64_t last = (pc + in->length - 2) >> 2;
    if (in->op == OP_JAL || in->op == OP_JALR || in->op == OP_OUTSIDE) return false;
    if (in->op >= OP_BEQ && in->op <= OP_BGEU && p->taken[rv64_history_index(p, last)]) return false;
    pc += in->length;
  }
  return pc - core->code_base < core->code_size;
}

/* The packet of pc, just fetched, is one of the last four of its line. Fetch runs up to that far ahead of decode
 * (the queue's depth), so it will come to the next line in a few cycles, whatever decode waits for. */
void rv64_fetch_ahead(rv64_core *core, uint64_t pc) {
  rv64_frontend *fetch = &core->fetch;
  uint64_t line = fetch->packet >> PACKETS_SHIFT;
  fetch->looked_from = line;
  if (!core->ports->prefetch || fetch->pending || rv64_cache_find(&core->icache, line + 1) || !goes_straight(core, pc))
    return;
  uint64_t cycle = fetch->available, left = LINE_PACKETS - (fetch->packet & (LINE_PACKETS - 1));
  for (unsigned i = 1; i <= left; i++) { /* as fetch_packet does it; those that decode has not taken do not bind yet */
    uint64_t room = i < FETCH_QUEUE ? fetch->dequeued[(fetch->count + i - FETCH_QUEUE) & 7] + 3 : 0;
    cycle = cycle + 1 > room ? cycle + 1 : room;
  }
  fetch->plan = line + 2;
  fetch->plan_cycle = cycle;
}

/* Asks for the planned line if that is due at `until` or before. */
void rv64_fetch_commit(rv64_core *core, uint64_t until) {
  rv64_frontend *fetch = &core->fetch;
  if (!fetch->plan || fetch->plan_cycle > until) return;
  uint64_t victim;
  fetch->pending = fetch->plan;
  fetch->plan = 0;
  rv64_cache_fill(&core->icache, fetch->pending - 1, &victim);
  core->ports->prefetch(core->ports->context, fetch->plan_cycle, (fetch->pending - 1) << LINE_SHIFT);
}

/* ---- Replays --------------------------------------------------------------------------------------------- */

/* The instruction at pc left decode at `issue` and is refused in WB: all that was fetched behind it is thrown away
 * and fetched again. The branches among it have moved the global history already, and do so a second time: only a
 * misprediction puts the history back (Frontend 257-260, BTB.scala 313-325, Core 918-921). */
void rv64_fetch_again(rv64_core *core, uint64_t pc, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  rv64_predictor *p = &core->predictor;
  uint64_t packet = fetch->packet, s2 = fetch->available, flush = issue + STAGES_TO_WRITE_BACK;
  pc += core->code[(pc - core->code_base) >> 1].length;
  for (unsigned i = 0; pc - core->code_base < core->code_size;) {
    rv64_insn *in = &core->code[(pc - core->code_base) >> 1];
    if (!in->length) rv64_decode_slot(core, in, pc);
    uint64_t last = (pc + in->length - 1) >> 2, branch = (pc + in->length - 2) >> 1;
    for (; packet < last; packet++) {
      if (++i > FETCH_QUEUE) goto flushed;
      uint64_t room = i < FETCH_QUEUE ? fetch->dequeued[(fetch->count + i - FETCH_QUEUE) & 7] + 3 : issue + 3;
      s2 = s2 + 1 > room ? s2 + 1 : room;
    }
    if (s2 > flush) break;
    bool is_branch = in->op >= OP_BEQ && in->op <= OP_BGEU, taken = in->op == OP_JAL;
    if (is_branch) {
      taken = p->taken[rv64_history_index(p, last)];
      p->history = (uint8_t)(taken << 7 | p->history >> 1);
    }
    if (in->op == OP_JALR) break;
    if (taken) {
      s2 += rv64_target_find(p, in, branch) >= 0 ? 1 : 2;
      pc += (uint64_t)(int64_t)in->imm;
      packet = pc >> 2;
      if (++i > FETCH_QUEUE || s2 > flush) break;
    } else {
      pc += in->length;
    }
  }
flushed:
  if (fetch->available < issue + REPLAY_REFETCH) fetch->available = issue + REPLAY_REFETCH;
}

/* ---- Branch prediction ----------------------------------------------------------------------------------- */

/* gshare over packets: BTB.scala 78-93. floor(sqrt(3) / 2 * 2^8) = 221 spreads the history over 3 bits. */
unsigned rv64_history_index(const rv64_predictor *p, uint64_t packet) {
  unsigned address = (unsigned)((packet & (HISTORY_ENTRIES - 1)) ^ (packet >> 9 & 3));
  unsigned history = (221u * p->history) >> 5 & 7;
  return address ^ history << 6;
}

int rv64_target_find(const rv64_predictor *p, const rv64_insn *in, uint64_t branch) {
  uint32_t i = in->target_buffer;
  return p->branch[i] == branch ? (int)i : -1;
}

/* One entry for each packet, as the RTL looks up packets. Its pseudo-LRU replacement is replaced by true LRU. */
void rv64_target_train(rv64_predictor *p, rv64_insn *in, uint64_t branch, uint64_t target, uint64_t now) {
  int oldest = 0;
  for (int i = 0; i < TARGET_ENTRIES; i++) {
    if (p->branch[i] >> 1 == branch >> 1) {
      oldest = i;
      break;
    }
    if (p->used[i] < p->used[oldest]) oldest = i;
  }
  p->branch[oldest] = branch;
  p->target[oldest] = target;
  p->used[oldest] = now;
  in->target_buffer = (uint32_t)oldest;
}
