/* station.c - the reservation station (ReservationStation.scala): entries per queue, allocation in program order,
 * hazards by row ranges, issue in order within a queue and out of order between queues. */
#include "target/gemmini/machine/internal.h"

void gm_station_init(gm_machine *m) {
  gm_station *s = &m->rs;
  s->base[GM_LD] = 0;
  s->base[GM_EX] = m->config.rs_load;
  s->base[GM_ST] = s->base[GM_EX] + m->config.rs_execute;
  s->base[GM_QUEUES] = s->base[GM_ST] + m->config.rs_store;
  for (int q = 0; q < GM_QUEUES; q++) s->mask[q] = (UINT64_C(1) << s->base[q + 1]) - (UINT64_C(1) << s->base[q]);
  s->mask[GM_QUEUES] = UINT64_C(1) << (GM_RS_MAX - 1);
}

enum { ACCUMULATOR = 1 << 28, NOWHERE = INT32_MIN }; /* starts of ranges: beyond all rows that a command can reach */

static gm_range range(const gm_machine *m, uint32_t local, uint32_t rows) {
  if (gm_is_garbage(local)) return (gm_range){(uint32_t)NOWHERE, 0};
  return (gm_range){gm_row_of(m, local) + (gm_is_acc(local) ? ACCUMULATOR : 0), rows};
}

/* Does one of them start inside the other? */
static bool overlap(gm_range x, gm_range y) { return x.start - y.start < y.rows || y.start - x.start < x.rows; }

/* Rows that a block-wise transfer spans: whole blocks of dim columns, `stride` rows apart. */
static uint32_t span(const gm_machine *m, int columns, int rows, uint32_t stride) {
  uint32_t blocks = (uint32_t)(columns + m->config.dim - 1) >> m->dim_shift;
  return (blocks ? blocks - 1 : 0) * stride + (uint32_t)rows;
}

/* Repeated pixels reach this many rows further back. As in the RTL, the range keeps its length, so it misses its
 * last rows (:271-290). */
static void before_pixels(const gm_machine *m, uint32_t pixels, gm_range *r) {
  const uint32_t half = m->spad_rows / 2, first = r->start > half ? half : 0;
  if (r->start < ACCUMULATOR) r->start = r->start - first < pixels ? first : r->start - pixels;
}

static uint32_t bank_end(const gm_machine *m, uint32_t row) {
  return ((row >> m->acc_bank_shift) + 1) << m->acc_bank_shift;
}

int gm_station_queue(const gm_command *c) {
  static const uint8_t of_config[4] = {[GM_CONFIG_EX] = GM_EX, [GM_CONFIG_LD] = GM_LD, GM_ST, GM_ST};
  switch (c->funct) {
  case GM_CONFIG: return of_config[c->rs1 & 3];
  case GM_MVIN:
  case GM_MVIN2:
  case GM_MVIN3: return GM_LD;
  case GM_MVOUT: return GM_ST;
  case GM_FLUSH:
  case GM_COUNTER: return GM_QUEUES;
  default: return GM_EX;
  }
}

/* Determines the rows that a command reads and writes, and the configuration that it leaves for later commands. */
static void decode(gm_machine *m, const gm_command *c, gm_entry *e) {
  gm_station *s = &m->rs;
  e->command = *c;
  e->a = e->b = (gm_range){(uint32_t)NOWHERE, 0};
  e->a_is_destination = e->is_config = false;
  switch (c->funct) {
  case GM_CONFIG: {
    int kind = (int)(c->rs1 & 3);
    e->is_config = true;
    if (kind == GM_CONFIG_EX) {
      s->a_stride = c->rs1 >> 16 & 0xffff;
      s->c_stride = (uint32_t)(c->rs2 >> 48);
      if (!(c->rs1 >> 7 & 1)) s->a_transposed = c->rs1 >> 8 & 1;
    } else if (kind == GM_CONFIG_LD) {
      const unsigned id = (c->rs1 >> 3 & 3) % 3, pixels = c->rs1 >> 8 & 0xff;
      s->block_stride[id] = c->rs1 >> 16 & 0xffff;
      s->pixels[id] = pixels ? pixels - 1 : 0;
    } else if (kind == GM_CONFIG_ST) {
      s->pooling = (c->rs1 >> 4 & 3) != 0;
    }
    return;
  }
  case GM_MVIN:
  case GM_MVIN2:
  case GM_MVIN3: {
    int id = c->funct == GM_MVIN ? 0 : c->funct == GM_MVIN2 ? 1 : 2;
    e->a = range(m, gm_local(c->rs2), span(m, gm_cols(c->rs2), gm_rows(c->rs2), s->block_stride[id]));
    before_pixels(m, s->pixels[id], &e->a);
    e->a_is_destination = true;
    return;
  }
  case GM_MVOUT: {
    uint32_t local = gm_local(c->rs2);
    e->a = range(m, local, span(m, gm_cols(c->rs2), gm_rows(c->rs2), (uint32_t)m->config.dim));
    if (s->pooling) e->a.rows = bank_end(m, e->a.start) - e->a.start; /* :242-252 */
    return;
  }
  case GM_PRELOAD:
    e->a = range(m, gm_local(c->rs2), (uint32_t)gm_rows(c->rs2) * s->c_stride);
    e->a_is_destination = true;
    e->b = range(m, gm_local(c->rs1), (uint32_t)gm_rows(c->rs1));
    s->lone_preload = true;
    return;
  default: /* compute */
    e->a = range(m, gm_local(c->rs1), (uint32_t)(s->a_transposed ? gm_cols(c->rs1) : gm_rows(c->rs1)) * s->a_stride);
    e->b = range(m, gm_local(c->rs2), (uint32_t)gm_rows(c->rs2));
    s->lone_preload = false;
    return;
  }
}

/* The entries of other queues for which the new one must wait: entries that have not completed and collide with its
 * rows (:327-381). In its own queue it only waits for its turn. */
static uint64_t hazards(const gm_station *s, const gm_entry *n) {
  uint64_t waits = 0, others = s->valid & ~s->mask[n->queue];
  if (n->is_config) return 0;
  if (n->queue == GM_EX && !n->a_is_destination) others &= ~s->mask[GM_ST];
  for (; others; others &= others - 1) {
    const int i = __builtin_ctzll(others);
    const gm_entry *e = &s->entry[i];
    bool waiting;
    switch (n->queue) {
    case GM_LD: waiting = overlap(n->a, e->a) || overlap(n->a, e->b); break; /* a store has no b */
    case GM_EX: waiting = overlap(n->a, e->a) || (e->queue == GM_LD && overlap(n->b, e->a)); break;
    default: waiting = e->a_is_destination && overlap(n->a, e->a); break;
    }
    waits |= (uint64_t)waiting << i;
  }
  return waits;
}

static const char *name_of(const gm_command *c) {
  switch (c->funct) {
  case GM_CONFIG: return "config";
  case GM_MVIN: return "mvin";
  case GM_MVIN2: return "mvin2";
  case GM_MVIN3: return "mvin3";
  case GM_MVOUT: return "mvout";
  case GM_PRELOAD: return "preload";
  default: return "compute";
  }
}

/* The queue has a new next entry, or its next entry waits for one command less. */
static void look_at_next(gm_station *s, int queue) {
  const gm_entry *next = gm_station_next(s, queue);
  s->open = (s->open & ~(1u << queue)) | (uint32_t)(next && !next->waits) << queue;
}

/* Frees the entry; at most one a cycle, see gm_station_step. */
static void complete_entry(gm_machine *m, int i) {
  gm_station *s = &m->rs;
  uint64_t bit = UINT64_C(1) << i;
  gm_entry *e = &s->entry[i];
  s->valid &= ~bit;
  for (uint64_t rest = e->dependents; rest; rest &= rest - 1) {
    gm_entry *dependent = &s->entry[__builtin_ctzll(rest)];
    dependent->waits &= ~bit;
    look_at_next(s, dependent->queue);
  }
  if (!(s->valid & s->mask[GM_EX])) gm_wake(m, GM_UNIT_EXECUTE, m->now + 1); /* one of its dependences has changed */
  if (e->origin != GM_BY_CORE) gm_front_completed(m, e->origin, e->queue);
  if (m->trace.file) {
    static const char *const unit[GM_QUEUES] = {"load", "execute", "store"};
    gm_trace_span(m, unit[e->queue], name_of(&e->command), e->issue_cycle, m->now);
  }
}

/* The queues whose next command may issue in the current state, as a set of bits: the order is unpredictable. */
static uint32_t ready(const gm_machine *m) {
  return m->rs.open & ((uint32_t)gm_loader_accepts(m) << GM_LD | (uint32_t)gm_executor_accepts(m) << GM_EX |
                       (uint32_t)gm_storer_accepts(m) << GM_ST);
}

static void issue(gm_machine *m, int queue) {
  gm_station *s = &m->rs;
  const int i = s->waiting[queue].entry[s->waiting[queue].first++ % GM_RS_MAX];
  gm_entry *e = &s->entry[i];
  look_at_next(s, queue);
  e->issue_cycle = m->now;
  if (queue == GM_LD)
    gm_loader_push(m, &e->command, i);
  else if (queue == GM_EX)
    gm_executor_push(m, &e->command, i);
  else
    gm_storer_push(m, &e->command, i);
  if (e->is_config && queue != GM_EX) complete_entry(m, i); /* complete_on_issue */
}

/* Takes the command at the end of the front queues, if its queue has a free entry. A flush and an access of an event
 * counter need no entry. */
static bool allocate(gm_machine *m, int head, uint64_t valid_at_start) {
  gm_station *s = &m->rs;
  const gm_command *c = &m->front.slot[head].command;
  const int queue = m->front.slot[head].station_queue;
  if (c->funct == GM_COUNTER) gm_events_access(m, c->rs1, valid_at_start);
  if (queue == GM_QUEUES) return true;
  const uint64_t free_entries = s->mask[queue] & ~valid_at_start;
  if (!free_entries) return false;
  const int i = __builtin_ctzll(free_entries);
  gm_entry *e = &s->entry[i];
  decode(m, c, e);
  e->queue = (uint8_t)queue;
  e->origin = m->front.slot[head].origin;
  e->dependents = 0;
  e->waits = hazards(s, e);
  for (uint64_t rest = e->waits; rest; rest &= rest - 1) s->entry[__builtin_ctzll(rest)].dependents |= UINT64_C(1) << i;
  s->valid |= UINT64_C(1) << i;
  s->waiting[queue].entry[s->waiting[queue].end++ % GM_RS_MAX] = (uint8_t)i;
  look_at_next(s, queue);
  gm_events_allocated(m);
  m->counters.commands++;
  if (e->is_config)
    m->counters.configs++;
  else if (queue == GM_LD)
    m->counters.loads++;
  else if (queue == GM_ST)
    m->counters.stores++;
  else if (c->funct != GM_PRELOAD)
    m->counters.computes++;
  return true;
}

/* One completion a cycle: execute, then load, then store (Controller.scala:425-440). */
static void complete(gm_machine *m) {
  int done = gm_executor_finished(m);
  if ((done < 0) & (m->ld.first_returned < m->now)) done = gm_loader_finished(m);
  if ((done < 0) & m->st.trackers_done) done = gm_storer_finished(m, true);
  if (done >= 0) complete_entry(m, done);
}

static uint64_t next_step(const gm_machine *m) {
  const gm_station *s = &m->rs;
  const uint64_t soon = m->now + 1;
  const bool done = ((m->ex.finished[0] & m->ex.finished[1]) >= 0) | m->st.trackers_done | (ready(m) != 0);
  const bool room = s->mask[m->front.slot[m->front.head].station_queue] & ~s->valid;
  const uint64_t head = m->front.head_from | -(uint64_t)!room; /* all bits: GM_NEVER */
  const uint64_t next = earlier(earlier(gm_loader_next_finished(m), m->ex.output_at), head);
  return done ? soon : later(next, soon);
}

void gm_station_step(gm_machine *m) {
  gm_mesh_follow(m);
  m->wake[GM_UNIT_STATION] = GM_NEVER; /* it is known when the array's end wakes it */
  const uint64_t valid_at_start = m->rs.valid;
  /* The state at the start of the cycle decides which commands may issue: issue before completion. */
  for (uint32_t queues = ready(m); queues; queues &= queues - 1) issue(m, __builtin_ctz(queues));
  complete(m);
  const int head = gm_front_head(m);
  if (head >= 0 && allocate(m, head, valid_at_start)) gm_front_take(m);
  gm_wake(m, GM_UNIT_STATION, next_step(m));
}
