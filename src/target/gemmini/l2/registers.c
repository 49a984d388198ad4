/* registers.c - miss registers (MSHR.scala), the requests queued after them, and their reads of the directory
 * (Directory.scala). A set has at most one register; a line is in the directory as soon as a register requests it. */
#include "target/gemmini/l2/internal.h"

enum {
  /* Cycles from the data cache's turn to a probe until it has lost the line, until the register has its answer, and
   * until the last beat of an answer with data. Also: when it turns to the next probe (seen in the RTL). */
  PROBE_TO_L1 = 2,
  PROBE = 5,
  PROBE_DATA = 8,
  PROBE_DATA_LAST = 11,
  PROBE_NEXT = 4,
  PROBE_NEXT_DATA = 10,
};

/* Does the core's data cache request a line that it will hold? */
static bool is_held(const l2_request *r) { return r->kind == L2_REFILL && !(r->cookie & L2_OF_INSTRUCTIONS); }

/* Notifies the core. */
static void tell(l2_cache *c, uint64_t line, uint64_t from, bool stays) {
  if (c->end_probe - c->first_probe < L2_PROBES) c->probe[c->end_probe++ % L2_PROBES] = (l2_probe){from, line, stays};
}

void l2_send_probe(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  const bool data = r->held & L2_HELD_DIRTY, from_start = c->from_start >> i & 1;
  const uint64_t at = later(cycle, c->probe_next), last = at + (data ? PROBE_DATA_LAST : PROBE);
  if (at == cycle) c->probing_from = at;
  c->probe_at[c->probes_sent++ % L2_PROBES_SENT] = at;
  c->probe_next = at + (data ? PROBE_NEXT_DATA : PROBE_NEXT);
  c->to_probe &= ~(1u << i);
  put_message(&c->probed, data && (r->victim || from_start) ? at + PROBE_DATA : last, i);
  if (!r->victim) put_message(&c->probe_ends, last, i);
  c->core_next = earlier(c->core_next, earlier(c->probed.from, c->probe_ends.from));
  c->outer_next = earlier(c->outer_next, c->core_next);
  tell(c, r->victim ? r->victim - 1 : r->line, at + PROBE_TO_L1, !r->victim && !is_write(&r->request));
}

uint64_t l2_take_probe(l2_cache *c, uint64_t cycle, bool *stays) {
  l2_run(c, cycle);
  const l2_probe *p = &c->probe[c->first_probe % L2_PROBES];
  if (c->first_probe == c->end_probe || p->from > cycle) return 0;
  c->first_probe++;
  *stays = p->stays;
  return p->line + 1;
}

void l2_note_write(l2_cache *c, uint64_t cycle, uint64_t address) {
  l2_run(c, cycle);
  const uint64_t line = address >> c->line_shift;
  const size_t set = (line & (c->sets - 1)) * (unsigned)c->p.ways;
  for (size_t at = set; at < set + (unsigned)c->p.ways; at++)
    if (c->tag[at] >> 1 == line + 1 && c->held[at]) c->held[at] |= L2_HELD_DIRTY;
}

/* Register i's request meets its line in the register's way. Updates the state of the line in the core's data cache.
 * Returns whether the line must be fetched from there (MSHR.scala: new_needT, TRUNK). */
static bool meet(l2_cache *c, int i, uint64_t cycle) {
  l2_register *r = &c->of[i];
  const size_t at = (size_t)r->set * (unsigned)c->p.ways + r->way;
  const unsigned held = c->held[at];
  const bool writes = is_write(&r->request);
  bool changes = writes && !(c->tag[at] & 1), probes = false;
  c->tag[at] |= writes;
  if (r->request.kind == L2_WRITEBACK) {
    c->held[at] = 0;
    changes |= held != 0;
  } else if (is_held(&r->request)) {
    /* the L2 does not know of the loss yet: the core had only a copy */
    const bool again = held && !(r->request.cookie & L2_TO_WRITE);
    c->held[at] = again ? L2_HELD : L2_HELD | L2_HELD_TO_WRITE;
    if (again) tell(c, r->line, cycle, true);
    changes = true;
  } else if (held & (writes ? L2_HELD : L2_HELD_TO_WRITE)) {
    r->held = (uint8_t)held;
    c->tag[at] |= (held & L2_HELD_DIRTY) != 0;
    c->held[at] = writes ? 0 : L2_HELD;
    changes = probes = true;
  }
  c->writes_directory |= (l2_registers)changes << i;
  return probes;
}

/* Reads the directory for register i's request, before pending writes. Fibonacci LFSR, taps 15, 13, 12, 10, a step a
 * read; the victim is the way of its bits 9 to 7. */
static bool look_up(l2_cache *c, int i, uint64_t cycle) {
  l2_register *r = &c->of[i];
  if (c->directory_written == cycle) c->directory_written++;
  uint64_t *set = c->tag + (size_t)r->set * (unsigned)c->p.ways;
  const unsigned s = c->lfsr;
  const unsigned victim = (s & 1023) * (unsigned)c->p.ways >> 10;
  c->lfsr = (uint16_t)(s << 1 | ((s >> 15 ^ s >> 13 ^ s >> 12 ^ s >> 10) & 1));
  for (int w = 0; w < c->p.ways; w++) {
    if (set[w] >> 1 != r->line + 1) continue;
    r->way = (uint8_t)w;
    return true;
  }
  c->writes_directory |= 1u << i;
  r->victim = set[victim] >> 1;
  uint8_t *held = c->held + (size_t)r->set * (unsigned)c->p.ways + victim;
  r->way = (uint8_t)victim;
  r->held = *held;
  r->victim_is_dirty = (set[victim] & 1) | (*held & L2_HELD_DIRTY);
  __builtin_prefetch(llc_set(c, r->line));
  if (r->victim_is_dirty) __builtin_prefetch(llc_set(c, r->victim - 1));
  set[victim] = (r->line + 1) << 1 | is_write(&r->request);
  *held = is_held(&r->request) ? L2_HELD | L2_HELD_TO_WRITE : 0;
  return false;
}

static void set_to(l2_registers *all, l2_registers it, bool value) { *all = (*all & ~it) | (it & if_so(value)); }

/* A request enters register i in `cycle`; `repeats`: after one for the same line. */
static void enter(l2_cache *c, int i, const l2_request *request, bool repeats, uint64_t cycle) {
  l2_register *r = &c->of[i];
  const l2_registers it = 1u << i;
  r->request = *request;
  r->line = request->address >> c->line_shift;
  r->set = (uint32_t)(r->line & (c->sets - 1));
  r->victim = 0;
  c->writes_directory &= ~it;
  const bool hit = repeats || look_up(c, i, cycle);
  const bool probes = hit ? meet(c, i, cycle) : r->victim && r->held;
  c->hits += hit;
  c->valid |= it;
  c->want |= want(probes ? L2_END : hit ? L2_ANSWER : r->victim ? L2_RELEASE : L2_FETCH, i);
  set_to(&c->to_probe, it, probes);
  c->answered &= ~it;
  set_to(&c->granted, it, hit);
  set_to(&c->has_line, it, hit);
  set_to(&c->victim_is_gone, it, !r->victim && !probes);
  set_to(&c->acknowledges, it, !is_held(request));
  set_to(&c->from_start, it, !(request->address & (c->line_bytes - 1)));
  set_to(&c->whole, it, writes_whole_line(c, request));
  if (!repeats) c->fresh |= it;
}

void l2_leave(l2_cache *c, int i, uint64_t cycle) {
  l2_register *r = &c->of[i];
  if (c->refused) {
    c->refused = false;
    c->in_next = cycle + 1;
  }
  if (r->first < 0) {
    c->valid &= ~(1u << i);
    c->sets_busy[r->set / 64] &= ~(UINT64_C(1) << r->set % 64);
    return;
  }
  const int slot = r->first;
  r->first = c->secondary_next[slot];
  c->secondary_free |= 1u << slot;
  const uint64_t line = r->line;
  enter(c, i, &c->secondary[slot], c->secondary[slot].address >> c->line_shift == line, cycle);
}

/* Channel A: a request's first beat. */
bool l2_accept(l2_cache *c, const l2_beat_in *beat, uint64_t cycle) {
  const l2_request *request = &beat->request;
  const int beats = beats_of(c, request);
  if (is_write(request) && c->put_beats + beats > L2_PUT_BEATS) return false;
  const uint32_t set = (uint32_t)(request->address >> c->line_shift & (c->sets - 1));
  const uint64_t set_bit = UINT64_C(1) << set % 64;
  if (c->sets_busy[set / 64] & set_bit) {
    int i = __builtin_ctz(c->valid);
    for (uint32_t left = c->valid; c->of[i].set != set; left &= left - 1) i = __builtin_ctz(left);
    if (!c->secondary_free) return !(c->refused = true);
    const int slot = __builtin_ctz(c->secondary_free);
    c->secondary_free &= c->secondary_free - 1;
    c->secondary[slot] = *request;
    c->secondary_next[slot] = -1;
    if (c->of[i].first < 0)
      c->of[i].first = (int8_t)slot;
    else
      c->secondary_next[c->of[i].last] = (int8_t)slot;
    c->of[i].last = (int8_t)slot;
    goto accepted;
  }
  const uint32_t free = ~c->valid & ((UINT32_C(1) << c->p.misses) - 1);
  if (!free) return !(c->refused = true);
  const int i = __builtin_ctz(free);
  c->of[i].first = -1;
  c->sets_busy[set / 64] |= set_bit;
  enter(c, i, request, false, cycle);
accepted:
  if (is_write(request)) c->put_beats += beats;
  c->accept_next = cycle + (beat->all && is_write(request) ? (unsigned)beats : 1);
  return true;
}
