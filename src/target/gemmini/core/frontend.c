/* frontend.c - instruction fetch: misses of the I-cache and the tables of the branch predictor.
 *
 * Frequent events of each packet are inline in run.c; rare events are here. */
#include <string.h>

#include "target/gemmini/core/fetch.h"

/* ---- Decoding -------------------------------------------------------------------------------------------- */

static uint32_t load_halfword(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }

void rv64_decode_slot(rv64_core *core, rv64_insn *slot, uint64_t pc) {
  const rv64_region *r = rv64_region_find(core->memory, pc, 2);
  const uint8_t entry = slot->target_buffer;
  *slot = (rv64_insn){.op = OP_OUTSIDE, .length = 2, .target_buffer = entry};
  if (!r || !(r->rights & RV64_EXECUTE)) return;
  const uint8_t *bytes = r->host + (pc - r->base);
  uint32_t word = load_halfword(bytes);
  if ((word & 3) == 3) {
    if (r->base + r->size - pc < 4) return;
    word |= load_halfword(bytes + 2) << 16;
  }
  *slot = rv64_decode(word);
  slot->target_buffer = entry;
}

/* ---- Replays --------------------------------------------------------------------------------------------- */

/* Halfwords of code from pc on without a jump; not more than fetch can have taken ahead. */
static unsigned to_jump(rv64_core *core, uint64_t pc) {
  enum { AHEAD = 2 * (FETCH_QUEUE + 1) };
  rv64_insn *from = &core->code[(pc - core->code_base) >> 1];
  if (likely(from->to_jump)) return from->to_jump - 1u;
  unsigned n = 0;
  while (n < AHEAD && pc + 2 * n - core->code_base < core->code_size) {
    rv64_insn *in = from + n;
    if (!in->length) rv64_decode_slot(core, in, pc + 2 * n);
    if (in->op >= OP_JAL && in->op <= OP_BGEU) break;
    n += in->length / 2;
  }
  from->to_jump = (uint8_t)(n + 1);
  return n;
}

static bool has_line(rv64_core *core, uint64_t line) {
  uint64_t *known = &core->fetch.lines[line % KNOWN_LINES];
  if (likely(*known == line + 1)) return true;
  if (!rv64_cache_find(&core->icache, line)) return false;
  *known = line + 1;
  return true;
}

/* Would an instruction that begins at this halfword have 32 bits? */
static bool is_wide(const rv64_core *core, uint64_t half) {
  const rv64_region *r = rv64_region_find(core->memory, half << 1, 2);
  return r && (r->host[(half << 1) - r->base] & 3) == 3;
}

static bool knows_target(const rv64_core *core, uint64_t packet) {
  return core->predictor.entry[core->code[packet_slot(core, packet)].target_buffer].packet == packet;
}

/* The queue has no room for `packet`, which belongs to the instruction at pc. The packet is in s2 without data,
 * together with the data of the previous packet. Suppose that the target buffer has a jump at a half where these
 * data have the beginning of an instruction; the last half of a jump is never such a beginning. Then fetch assumes
 * that the buffer is wrong: it clears all targets, and learns nothing until the core redirects it (Frontend.scala
 * 256-262; s2_valid does not require data). Returns whether this happens. */
bool rv64_loses_targets(rv64_core *core, uint64_t pc, uint64_t before, uint64_t packet) {
  rv64_predictor *p = &core->predictor;
  const rv64_target *e = &p->entry[core->code[packet_slot(core, packet)].target_buffer];
  const bool straddles = pc >> 2 != packet;
  if (!knows_target(core, packet) || (!straddles && pc & 2)) return false; /* entered late: not found */
  const bool first = !straddles && is_wide(core, before << 1);
  if (e->half ? first || !is_wide(core, before << 1 | 1) : !first) return false;
  for (int i = 0; i < TARGET_ENTRIES; i++) p->entry[i].packet = 0;
  return true;
}

/* The last instruction from pc on that ends in the packet, or the first to end after it. All are decoded. */
static uint64_t ending_in(const rv64_core *core, uint64_t pc, uint64_t packet) {
  for (unsigned length; (pc + (length = core->code[(pc - core->code_base) >> 1].length) - 1) >> 2 < packet;)
    pc += length;
  return pc;
}

/* The effects of fetch until a flush three cycles after `issue`. None of these instructions executes. Fetch runs
 * from pc on, in `packet` (or after it), which is in s2 at cycle `s2`. Branches move the global history, calls and
 * returns move their stack. Only a misprediction restores the history (Frontend 257-260, BTB.scala 313-325, Core
 * 918-921). A missing line has no effect. */
void rv64_run_ahead(rv64_core *core, uint64_t pc, uint64_t packet, uint64_t s2, uint64_t issue) {
  const rv64_frontend *fetch = &core->fetch;
  rv64_predictor *p = &core->predictor;
  const uint64_t flush = issue + STAGES_TO_WRITE_BACK;
  if (unlikely(fetch->lost)) return;
  for (unsigned i = 0; rv64_is_code(core, pc);) {
    const uint64_t from = pc;
    const uint64_t straight = 2 * to_jump(core, pc);
    rv64_insn *in = &core->code[(pc - core->code_base) >> 1];
    const uint64_t first =
        (pc + in->length - 1) >> LINE_SHIFT; /* a packet of this line is on the way to the next jump */
    pc += straight;
    if (!rv64_is_code(core, pc)) return;
    in += straight / 2;
    if (!in->length) rv64_decode_slot(core, in, pc);
    uint64_t last = (pc + in->length - 1) >> 2;
    for (; packet < last; packet++) {
      uint64_t room = ++i < FETCH_QUEUE ? fetch->dequeued[(fetch->count + i - FETCH_QUEUE) & 7] + 3 : issue + 3;
      if ((i > FETCH_QUEUE || s2 + 1 < room) && s2 + 1 <= flush && knows_target(core, packet + 1) &&
          rv64_loses_targets(core, ending_in(core, from, packet + 1), packet, packet + 1))
        return;
      if (i > FETCH_QUEUE) return;
      s2 = s2 + 1 >= room ? s2 + 1 : later(s2 + 4, room);
    }
    if (s2 > flush) return;
    if (!has_line(core, first) || !has_line(core, last >> PACKETS_SHIFT)) return;
    uint64_t target = 0;
    if (in->op >= OP_BEQ && in->op <= OP_BGEU) {
      const bool taken = p->taken[history_index(p->history, last)];
      p->history = (uint8_t)(taken << 7 | p->history >> 1);
      if (taken) target = pc + (uint64_t)(int64_t)in->imm;
    } else if (in->op == OP_JAL || in->op == OP_JALR) {
      if (in->op == OP_JAL)
        target = pc + (uint64_t)(int64_t)in->imm;
      else if (!(in->rd & 1) && (in->rs1 & 0x1b) == 1)
        target = pop_return(core, s2);
      if (in->rd & 1) push_return(core, pc + in->length, s2);
      if (!target) return;
    }
    if (!target) {
      pc += in->length;
      continue;
    }
    const bool is_known = knows_target(core, last);
    s2 += is_known ? 1 : 2;
    pc = target;
    packet = pc >> 2;
    if (s2 > flush) return;
    if (++i > FETCH_QUEUE) {
      if (is_known && rv64_is_code(core, pc)) rv64_loses_targets(core, pc, last, packet);
      return;
    }
  }
}

/* The instruction at pc was fetched again, waited in decode, and leaves it at `issue`. Its first half entered the
 * instruction buffer one cycle before, and was in the queue until then (IBuf.scala 42-58). */
void rv64_waits_again(rv64_core *core, uint64_t pc, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  if (pc >> 2 != fetch->packet) fetch->dequeued[(fetch->count - 1) & 7] = issue - 1;
}

/* The instruction at pc left decode at `issue` and is refused in WB: all later fetched instructions are discarded, and
 * it is fetched again. Returns when it can issue then. */
uint64_t rv64_fetch_again(rv64_core *core, uint64_t pc, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  fetch->certain = (pc >> 2) + 1;
  rv64_run_ahead(core, pc + core->code[(pc - core->code_base) >> 1].length, fetch->packet, fetch->available, issue);
  fetch->lost = false;
  const uint64_t again = issue + REPLAY_REFETCH + (pc >> 2 != fetch->packet); /* its first half comes first */
  if (fetch->available < again) fetch->available = again;
  rv64_waits_again(core, pc, again);
  return again;
}

/* ---- I-cache misses -------------------------------------------------------------------------------------- */

/* While a line is missing, fetch tries again every second cycle (s2_replay, Frontend 113); a try that reads the tags
 * in s0 after the last beat hits in s2. */
enum { LAST_BEAT_TO_HIT = 3 };

/* The first of the tries at s2, s2 + 2, ... that is not before `earliest`. */
static uint64_t next_try(uint64_t s2, uint64_t earliest) {
  return earliest > s2 ? s2 + ((earliest - s2 + 1) & ~1ull) : s2;
}

static uint64_t refill(rv64_core *core, uint64_t line, uint64_t cycle) {
  if (!core->ports->refill) return cycle;
  return core->ports->refill(core->ports->context, cycle, line << LINE_SHIFT, RV64_FETCH_MISS);
}

void rv64_forget_lines(rv64_core *core) { memset(core->fetch.lines, 0, sizeof core->fetch.lines); }

/* The packet that ends the instruction at pc is in a line that may be missing, and is in s2 at cycle `s2`, after an
 * instruction issued at `issue`: returns the cycle at which it is available. Speculative fetch does not refill: the
 * chicken bit disableSpeculativeICacheRefill is set at reset (CSR 0x7c1, measured: 0x208, and no boot code writes
 * it). Such a packet goes to decode without data and travels to WB as a replay. The packet that WB fetches again is
 * not speculative (Frontend 107-140, 168: s2_kill; Core 940-943: speculative := !take_pc_wb), nor is the next
 * packet. */
uint64_t rv64_fetch_line(rv64_core *core, uint64_t pc, uint64_t line, uint64_t s2, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  uint64_t victim;
  if (has_line(core, line)) return s2;
  rv64_cache_fill(&core->icache, line, &victim);
  rv64_forget_lines(core); /* the refill evicted one of these lines */
  if (fetch->packet > fetch->certain || fetch->packet + 1 < fetch->certain) {
    const uint64_t decoded = later(s2, issue + 1), next = (line + 1) << PACKETS_SHIFT;
    if (next - fetch->packet <= STAGES_TO_WRITE_BACK && rv64_cache_find(&core->icache, line + 1))
      /* the content of the line is not visible: words of zeros */
      rv64_run_ahead(core, next << 2, fetch->packet, s2, decoded);
    fetch->lost = false;
    s2 = decoded + REPLAY_REFETCH;
    if (pc >> 2 != fetch->packet) s2++; /* its first half comes first */
    fetch->certain = (pc >> 2) + 1;
  }
  return next_try(s2, refill(core, line, s2) + LAST_BEAT_TO_HIT);
}

/* ---- Branch prediction ----------------------------------------------------------------------------------- */

/* The pseudo-LRU tree of util/Replacement.scala over `ways` entries, some of whose nodes have a smaller left side: the
 * nodes on the way to `way` and what they become when it is used. The tree's root is bit `first` + ways - 2. */
static void walk_tree(unsigned way, unsigned ways, unsigned first, uint32_t *path, uint32_t *older) {
  if (ways < 2) return;
  unsigned right = 1;
  while (right * 2 < ways) right *= 2;
  const bool is_left = way & right;
  *path |= 1u << (first + ways - 2);
  if (!is_left) *older |= 1u << (first + ways - 2);
  if (is_left)
    walk_tree(way & (right - 1), ways - right, first + right - 1, path, older);
  else
    walk_tree(way, right, first, path, older);
}

void rv64_predictor_make(rv64_predictor *p) {
  for (unsigned i = 0; i < TARGET_ENTRIES; i++) walk_tree(i, TARGET_ENTRIES, 0, &p->path[i], &p->path_older[i]);
}

/* The entry to which all nodes point as the older side. */
int rv64_target_replace(const rv64_predictor *p) {
  for (int i = 0; i < TARGET_ENTRIES; i++)
    if ((p->older & p->path[i]) == (~p->path_older[i] & p->path[i])) return i;
  return 0;
}

/* Two entries of one packet answer together and are then invalidated (BTB.scala: "zap them"). Returns the entry that
 * both together act as. */
int rv64_target_merge(rv64_predictor *p, int entry, rv64_target *merged) {
  const int other = p->entry[entry].twin - 1;
  rv64_target *a = &p->entry[entry], *b = &p->entry[other];
  a->twin = 0;
  *merged = *a;
  if (b->packet != a->packet) return entry;
  merged->target |= b->target;
  merged->half |= b->half;
  if (a->kind == JUMP_BRANCH || b->kind == JUMP_BRANCH) merged->kind = JUMP_BRANCH;
  a->packet = b->packet = 0;
  return (entry | other) < TARGET_ENTRIES ? entry | other : -1;
}

/* Writes a jump into an entry: an existing one of its packet, or the entry that the caller chose. */
void rv64_target_train(rv64_core *core, int entry, uint64_t branch, rv64_jump_kind kind, uint64_t target) {
  rv64_predictor *p = &core->predictor;
  const uint64_t packet = branch >> 1;
  uint8_t twin = 0;
  for (int i = 0; i < TARGET_ENTRIES; i++)
    if (p->entry[i].packet == packet && i != entry) twin = (uint8_t)(i + 1);
  p->entry[entry] = (rv64_target){packet, target, branch & 1, (uint8_t)kind, twin};
  p->older = (p->older & ~p->path[entry]) | p->path_older[entry];
  core->code[packet_slot(core, packet)].target_buffer = (uint8_t)entry;
}
