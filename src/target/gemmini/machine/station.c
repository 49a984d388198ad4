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
}

static gm_range range(const gm_machine *m, uint32_t local, uint32_t rows) {
  if (gm_is_garbage(local)) return (gm_range){0};
  uint32_t start = gm_row_of(m, local);
  return (gm_range){true, gm_is_acc(local), start, start + rows};
}

static bool overlap(const gm_range *x, const gm_range *y) {
  return x->valid && y->valid && x->acc == y->acc &&
         ((y->start <= x->start && x->start < y->end) || (x->start <= y->start && y->start < x->end));
}

/* Rows that a block-wise transfer spans: whole blocks of dim columns, `stride` rows apart. */
static uint32_t span(const gm_machine *m, int columns, int rows, uint32_t stride) {
  uint32_t blocks = (uint32_t)(columns + m->config.dim - 1) >> m->dim_shift;
  return (blocks ? blocks - 1 : 0) * stride + (uint32_t)rows;
}

/* Repeated pixels reach so many rows further back; the range keeps its length, and so misses its last rows (:271-290). */
static void before_pixels(const gm_machine *m, uint32_t pixels, gm_range *r) {
  const uint32_t half = (uint32_t)gm_spad_rows(&m->config) / 2, length = r->end - r->start;
  if (!r->valid || r->acc || !pixels) return;
  const uint32_t first = r->start > half ? half : 0;
  r->start = r->start - first < pixels ? first : r->start - pixels;
  r->end = r->start + length;
}

/* What a command reads and writes, and the configuration it leaves for those after it. */
static void decode(gm_machine *m, const gm_command *c, gm_entry *e) {
  gm_station *s = &m->rs;
  memset(e, 0, sizeof *e);
  e->command = *c;
  switch (c->funct) {
  case GM_CONFIG: {
    int kind = (int)(c->rs1 & 3);
    e->is_config = true;
    e->queue = kind == GM_CONFIG_EX ? GM_EX : kind == GM_CONFIG_LD ? GM_LD : GM_ST;
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
    e->queue = GM_LD;
    e->a = range(m, gm_local(c->rs2), span(m, gm_cols(c->rs2), gm_rows(c->rs2), s->block_stride[id]));
    before_pixels(m, s->pixels[id], &e->a);
    e->a_is_destination = true;
    return;
  }
  case GM_MVOUT: {
    uint32_t local = gm_local(c->rs2);
    e->queue = GM_ST;
    e->a = range(m, local, span(m, gm_cols(c->rs2), gm_rows(c->rs2), (uint32_t)m->config.dim));
    if (s->pooling)
      e->a.end = ((e->a.start >> m->acc_bank_shift) + 1) << m->acc_bank_shift; /* :242-252 to the end of the bank */
    return;
  }
  case GM_PRELOAD:
    e->queue = GM_EX;
    e->a = range(m, gm_local(c->rs2), (uint32_t)gm_rows(c->rs2) * s->c_stride);
    e->a_is_destination = true;
    e->b = range(m, gm_local(c->rs1), (uint32_t)gm_rows(c->rs1));
    s->lone_preload = true;
    return;
  default: /* compute */
    e->queue = GM_EX;
    e->a = range(m, gm_local(c->rs1), (uint32_t)(s->a_transposed ? gm_cols(c->rs1) : gm_rows(c->rs1)) * s->a_stride);
    e->b = range(m, gm_local(c->rs2), (uint32_t)gm_rows(c->rs2));
    s->lone_preload = false;
    return;
  }
}

/* Which entries the new one must wait for: older ones of its own queue until they issue, others until they
 * complete, where their rows collide (:327-381). */
static uint64_t hazards(const gm_station *s, const gm_entry *n) {
  uint64_t waits = s->valid & ~s->issued & s->mask[n->queue];
  if (n->is_config) return waits;
  for (uint64_t others = s->valid & ~s->mask[n->queue]; others; others &= others - 1) {
    int i = __builtin_ctzll(others);
    const gm_entry *e = &s->entry[i];
    bool waiting;
    switch (n->queue) {
    case GM_LD: waiting = overlap(&n->a, &e->a) || (e->queue == GM_EX && overlap(&n->a, &e->b)); break;
    case GM_EX:
      waiting = e->queue == GM_LD ? overlap(&n->a, &e->a) || overlap(&n->b, &e->a)
                                  : n->a_is_destination && overlap(&n->a, &e->a);
      break;
    default: waiting = (e->queue == GM_LD || e->a_is_destination) && overlap(&n->a, &e->a); break;
    }
    if (waiting) waits |= UINT64_C(1) << i;
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

void gm_station_complete(gm_machine *m, int i) {
  gm_station *s = &m->rs;
  uint64_t bit = UINT64_C(1) << i;
  gm_entry *e = &s->entry[i];
  s->valid &= ~bit;
  for (uint64_t rest = s->valid; rest; rest &= rest - 1) s->entry[__builtin_ctzll(rest)].waits &= ~bit;
  if (!(s->valid & s->mask[GM_EX])) gm_wake(m, GM_UNIT_EXECUTE, m->now + 1); /* what it waits for has changed */
  if (e->origin != GM_BY_CORE) s->loop_completed[e->origin][e->queue]++;
  if (m->trace) {
    static const char *const unit[GM_QUEUES] = {"load", "execute", "store"};
    gm_trace_span(m, unit[e->queue], name_of(&e->command), e->issue_cycle, m->now);
  }
}

static void issue(gm_machine *m, int queue) {
  gm_station *s = &m->rs;
  for (uint64_t ready = s->valid & ~s->issued & s->mask[queue]; ready; ready &= ready - 1) {
    int i = __builtin_ctzll(ready);
    gm_entry *e = &s->entry[i];
    if (e->waits || e->allocated == m->now) continue;
    uint64_t bit = UINT64_C(1) << i;
    s->issued |= bit;
    e->issue_cycle = m->now;
    for (uint64_t rest = s->valid & s->mask[queue]; rest; rest &= rest - 1)
      s->entry[__builtin_ctzll(rest)].waits &= ~bit;
    if (queue == GM_LD)
      gm_loader_push(m, &e->command, i);
    else if (queue == GM_EX)
      gm_executor_push(m, &e->command, i);
    else
      gm_storer_push(m, &e->command, i);
    if (e->is_config && queue != GM_EX) gm_station_complete(m, i); /* complete_on_issue */
    return;
  }
}

/* Takes the command at the end of the front queues if its queue has an entry free. */
static bool allocate(gm_machine *m, const gm_command *c, uint8_t origin, uint64_t valid_at_start) {
  gm_station *s = &m->rs;
  int kind = (int)(c->rs1 & 3);
  int queue = c->funct == GM_CONFIG                                                 ? (kind == GM_CONFIG_EX   ? GM_EX
                                                                                       : kind == GM_CONFIG_LD ? GM_LD
                                                                                                              : GM_ST)
              : c->funct == GM_MVIN || c->funct == GM_MVIN2 || c->funct == GM_MVIN3 ? GM_LD
              : c->funct == GM_MVOUT                                                ? GM_ST
                                                                                    : GM_EX;
  uint64_t free_entries = s->mask[queue] & ~valid_at_start;
  if (!free_entries) return false;
  int i = __builtin_ctzll(free_entries);
  gm_entry *e = &s->entry[i];
  decode(m, c, e);
  e->origin = origin;
  e->allocated = m->now;
  e->waits = hazards(s, e);
  s->valid |= UINT64_C(1) << i;
  s->issued &= ~(UINT64_C(1) << i);
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

static bool more_to_complete(const gm_machine *m) {
  return m->ex.finished[0] >= 0 || m->ex.finished[1] >= 0 || m->ld.trackers_done || m->st.trackers_done;
}

void gm_station_step(gm_machine *m) {
  gm_station *s = &m->rs;
  uint64_t valid_at_start = s->valid, issued_at_start = s->issued;
  /* What may issue was decided by the state at the start of the cycle: issue before completion. */
  uint64_t waiting = s->valid & ~s->issued;
  if (waiting & s->mask[GM_LD] && gm_loader_accepts(m)) issue(m, GM_LD);
  if (waiting & s->mask[GM_EX] && gm_executor_accepts(m)) issue(m, GM_EX);
  if (waiting & s->mask[GM_ST] && gm_storer_accepts(m)) issue(m, GM_ST);
  /* One completion a cycle: execute, then load, then store (Controller.scala:425-440). */
  int done = gm_executor_finished(m);
  if (done < 0) done = gm_loader_finished(m, true);
  if (done < 0) done = gm_storer_finished(m, true);
  if (done >= 0) gm_station_complete(m, done);
  /* The last front queue. A flush passes by. */
  if (m->front[GM_FRONT - 1].count) {
    const int slot = gm_front_last(m);
    const gm_command *c = &m->front_command[slot];
    bool taken = c->funct == GM_FLUSH || allocate(m, c, m->front_origin[slot], valid_at_start);
    if (taken) {
      m->front_taken = true; /* gm_front_step removes it */
      gm_wake(m, GM_UNIT_FRONT, m->now);
    }
  }
  if (s->valid != valid_at_start || s->issued != issued_at_start || done >= 0 || more_to_complete(m))
    gm_wake(m, GM_UNIT_STATION, m->now + 1);
}
