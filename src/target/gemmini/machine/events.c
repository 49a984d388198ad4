/* events.c - the event counters (CounterFile.scala): eight, each of an event that the program chooses.
 *
 * A counter counts the cycles in which its event's signal is high. Signals follow from the units' states, which change in
 * steps alone; so each step counts the cycles since the last one. The core waits for the answer of each access. */
#include "target/gemmini/machine/internal.h"

enum {
  LD_CYCLES = 1, /* MAIN_*: busy controllers of load, store and execute */
  ST_CYCLES,
  EX_CYCLES,
  LD_ST_CYCLES,
  LD_EX_CYCLES,
  ST_EX_CYCLES,
  LD_ST_EX_CYCLES,
  LOAD_DMA_WAIT,
  LOAD_ACTIVE,
  EXE_ACTIVE = 24,
  EXE_FLUSH,
  IM2COL_MEM = 38, /* this event and the two after it: no machine here has the unit */
  STATION_FULL = 41,
  STATION_ACTIVE,
  LOOP_MATMUL_ACTIVE,
};
#define BIT(event) (UINT64_C(1) << (event))
#define MODELLED                                                                                                       \
  ((BIT(LOAD_ACTIVE + 1) - 1) | BIT(EXE_ACTIVE) | BIT(EXE_FLUSH) | UINT64_C(7) << IM2COL_MEM |                         \
   UINT64_C(7) << STATION_FULL)
enum { STATION_LOADS = 1, STATION_STORES, STATION_EXECUTES }; /* external values */

/* MAIN_*: exactly one of them while a controller is busy. */
static uint64_t busy_controllers(const gm_machine *m, uint64_t cycle) {
  static const uint8_t event[8] = {0,         LD_CYCLES,    ST_CYCLES,    LD_ST_CYCLES,
                                   EX_CYCLES, LD_EX_CYCLES, ST_EX_CYCLES, LD_ST_EX_CYCLES};
  const gm_loader *l = &m->ld;
  const gm_storer *s = &m->st;
  const bool loads = l->trackers_busy || (l->count && l->queue[l->head].ready <= cycle);
  const bool stores = s->trackers_busy || (s->count && s->queue[s->head].ready <= cycle);
  const unsigned busy = (unsigned)loads | (unsigned)stores << 1 | (unsigned)gm_executor_busy(m, cycle) << 2;
  return busy ? BIT(event[busy]) : 0;
}

/* The signals in that cycle, a bit each. The state is that after the last step. STATION_FULL: the caller clears the
 * bit when a command is allocated. */
static uint64_t signals(const gm_machine *m, uint64_t cycle) {
  const gm_executor *x = &m->ex;
  uint64_t s = busy_controllers(m, cycle) | BIT(STATION_FULL);
  if (m->ld.sending) s |= m->ld.row ? BIT(LOAD_ACTIVE) : BIT(LOAD_DMA_WAIT);
  if (x->state == GM_EX_COMPUTE || (x->state == GM_EX_STRETCH && cycle <= x->stretch_to)) s |= BIT(EXE_ACTIVE);
  if (x->state == GM_EX_FLUSH || x->state == GM_EX_FLUSHING) s |= BIT(EXE_FLUSH);
  if (gm_station_busy(m)) s |= BIT(STATION_ACTIVE);
  if (gm_loop_ws_busy(&m->loop)) s |= BIT(LOOP_MATMUL_ACTIVE);
  return s;
}

void gm_events_step(gm_machine *m) {
  gm_events *e = &m->events;
  const uint32_t before = (uint32_t)(m->now - e->from); /* cycles since the last step */
  const uint64_t there = before ? signals(m, m->now - 1) : 0;
  for (size_t i = 0; i < GM_EVENT_COUNTERS; i++) {
    const unsigned event = e->counter[i].event;
    e->counter[i].count += (uint32_t)(e->now >> event & 1) + before * (uint32_t)(there >> event & 1);
  }
  e->now = signals(m, m->now);
  e->from = m->now + 1;
}

void gm_events_allocated(gm_machine *m) { m->events.now &= ~BIT(STATION_FULL); }

static uint32_t external_value(const gm_machine *m, unsigned which, uint64_t valid) {
  static const uint8_t queue[] = {[STATION_LOADS] = GM_LD, [STATION_STORES] = GM_ST, [STATION_EXECUTES] = GM_EX};
  if (which < STATION_LOADS || which > STATION_EXECUTES) return 0;
  return (uint32_t)__builtin_popcountll(valid & m->rs.mask[queue[which]]);
}

static bool is_modelled(gm_machine *m, unsigned event, bool external) {
  if (external ? event <= STATION_EXECUTES : event < 64 && MODELLED >> event & 1) return true;
  if (!m->why[0])
    snprintf(
        m->why, sizeof m->why,
        "counter: event %u%s is not modelled; use 1 to 9, 24, 25, 38 to 43 of gemmini_counter.h, or the reservation "
        "station's counts",
        event, external ? " of the external values" : "");
  return false;
}

/* rs1: bit 0 reset, 1 end of the snapshot, 2 snapshot, 3 new event; [6:4] counter, [17:12] event, 31 external. The
 * access returns the state before all of these changes. The kind of the addressed counter decides which values a
 * snapshot takes of every counter. */
void gm_events_access(gm_machine *m, uint64_t rs1, uint64_t valid_before) {
  gm_events *e = &m->events;
  const unsigned at = rs1 >> 4 & (GM_EVENT_COUNTERS - 1), event = rs1 >> 12 & 0x3f;
  const bool external = e->counter[at].external;
  uint32_t value[GM_EVENT_COUNTERS];
  if (!e->counts) *e = (gm_events){.counts = true, .from = m->now + 1};
  for (size_t i = 0; i < GM_EVENT_COUNTERS; i++)
    value[i] = external ? external_value(m, e->counter[i].event, valid_before) : e->counter[i].count;
  m->answer = (rv64_answer){e->is_frozen ? e->counter[at].snapshot : value[at], m->now + 1};
  if (rs1 & 8) {
    if (!is_modelled(m, event, rs1 >> 31 & 1)) return;
    e->counter[at].event = (uint8_t)event;
    e->counter[at].external = rs1 >> 31 & 1;
    e->counter[at].count = -(uint32_t)(e->now >> event & 1); /* does not count this cycle */
  }
  if (rs1 & 6) e->is_frozen = !(rs1 & 2);
  for (size_t i = 0; i < GM_EVENT_COUNTERS; i++) {
    if ((rs1 & 6) == 4) e->counter[i].snapshot = value[i];
    if (rs1 & 1) e->counter[i].count = -(uint32_t)(e->now >> e->counter[i].event & 1), e->counter[i].snapshot = 0;
  }
  if (rs1 & 1) e->is_frozen = false;
}
