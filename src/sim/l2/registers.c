/* registers.c - miss registers (MSHR.scala), the requests that wait behind them, and the directory that is read for them
 * (Directory.scala). A set has one register at most; a line is in the directory as soon as a register asks for it. */
#include "sim/l2/internal.h"

enum {
  PROBE_TO_L1 =
      4, /* the directory is read -> the core's data cache has lost the victim: register, SourceB, a buffer, its tags */
  PROBE = 6, /* it is read -> the register may release the victim, later than without a probe (seen in the RTL) */
};

/* The core's data cache asks for lines that it will hold. */
static bool is_held(const l2_request *r) { return r->kind == L2_REFILL && !r->cookie; }

/* The victim of register i is taken from the core's data cache. */
static void probe(l2_cache *c, int i, uint64_t line, uint64_t cycle) {
  c->probing |= 1u << i;
  c->probed[i] = cycle + 2 + PROBE;
  if (c->end_probe - c->first_probe < L2_PROBES)
    c->probe[c->end_probe++ % L2_PROBES] = (l2_probe){cycle + PROBE_TO_L1, line};
}

uint64_t l2_take_probe(l2_cache *c, uint64_t cycle) {
  l2_run(c, cycle);
  const l2_probe *p = &c->probe[c->first_probe % L2_PROBES];
  if (c->first_probe == c->end_probe || p->from > cycle) return 0;
  c->first_probe++;
  return p->line + 1;
}

/* The core's data cache takes, or gives back, the line of that way. */
static void note_held(l2_cache *c, const l2_register *r, int way) {
  uint8_t *held = c->held + (size_t)r->set * (unsigned)c->p.ways + (unsigned)way;
  if (r->request.kind == L2_WRITEBACK || is_held(&r->request)) *held = r->request.kind == L2_REFILL;
}

/* The directory is read for register i's request, before what waits to be written. Fibonacci LFSR, taps 15, 13, 12,
 * 10, a step a read; the victim is the way of its bits 9 to 7. */
static bool look_up(l2_cache *c, int i, uint64_t cycle) {
  l2_register *r = &c->of[i];
  const bool writes = is_write(&r->request);
  if (c->directory_written == cycle) c->directory_written++;
  uint64_t *set = c->tag + (size_t)r->set * (unsigned)c->p.ways;
  const unsigned s = c->lfsr;
  const unsigned victim = (s & 1023) * (unsigned)c->p.ways >> 10;
  c->lfsr = (uint16_t)(s << 1 | ((s >> 15 ^ s >> 13 ^ s >> 12 ^ s >> 10) & 1));
  for (int w = 0; w < c->p.ways; w++) {
    if (set[w] >> 1 != r->line + 1) continue;
    c->writes_directory |= (l2_registers)(writes && !(set[w] & 1)) << i;
    set[w] |= writes;
    note_held(c, r, w);
    return true;
  }
  c->writes_directory |= 1u << i;
  r->victim = set[victim] >> 1;
  r->victim_is_dirty = set[victim] & 1;
  __builtin_prefetch(llc_set(c, r->line));
  if (r->victim_is_dirty) __builtin_prefetch(llc_set(c, r->victim - 1));
  set[victim] = (r->line + 1) << 1 | writes;
  uint8_t *held = c->held + (size_t)r->set * (unsigned)c->p.ways + victim;
  if (*held) probe(c, i, r->victim - 1, cycle);
  *held = is_held(&r->request);
  return false;
}

/* The line of the request before; it becomes dirty, or the core's. */
static void note_repeated(l2_cache *c, int i) {
  const l2_register *r = &c->of[i];
  const bool writes = is_write(&r->request);
  if (!writes && !is_held(&r->request)) return;
  uint64_t *set = c->tag + (size_t)r->set * (unsigned)c->p.ways;
  for (int w = 0; w < c->p.ways; w++) {
    if (set[w] >> 1 != r->line + 1) continue;
    c->writes_directory |= (l2_registers)(writes && !(set[w] & 1)) << i;
    set[w] |= writes;
    note_held(c, r, w);
  }
}

static void set_to(l2_registers *all, l2_registers it, bool value) { *all = (*all & ~it) | (it & if_so(value)); }

/* A request enters register i in `cycle`; `repeats`: behind one to the same line. */
static void enter(l2_cache *c, int i, const l2_request *request, bool repeats, uint64_t cycle) {
  l2_register *r = &c->of[i];
  const l2_registers it = 1u << i;
  r->request = *request;
  r->line = request->address >> c->line_shift;
  r->set = (uint32_t)(r->line & (c->sets - 1));
  r->victim = 0;
  c->writes_directory &= ~it;
  if (repeats) note_repeated(c, i);
  const bool hit = repeats || look_up(c, i, cycle);
  c->hits += hit;
  c->valid |= it;
  c->want |= want(hit ? L2_ANSWER : r->victim ? L2_RELEASE : L2_FETCH, i);
  c->answered &= ~it;
  set_to(&c->granted, it, hit);
  set_to(&c->has_line, it, hit);
  set_to(&c->victim_is_gone, it, !r->victim);
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
