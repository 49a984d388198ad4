/* store.c - mvout: store controller, the way of a row out of the memories, DMA writer.
 *
 *   controller -> dispatch (2) -> read of the SRAM -> norm (6) -> scale (6) -> scaling, issue (5) -> writer -> L2
 *
 * StoreController.scala (one row block a cycle), Scratchpad.scala:230-300, 640-740 (queues; a read waits for an
 * accumulating write of the array in its bank, :380), AccumulatorScale.scala (a pipeline; the issue queue behind it
 * is shorter than its latency, hence 5 rows each 8 cycles), DMA.scala StreamWriter (blocks of a row are gathered,
 * then put beat by beat; a write is in flight until it is acknowledged).
 *
 * Up to the writer, the rows' ways are a matter of times: when a row enters a stage follows from when it entered the one
 * before, and from when the rows ahead of it left. So they are not stepped: each row's times are found as soon as all that
 * they follow from is known (settle_rows). Only the writer goes beat by beat. */
#include "target/gemmini/machine/internal.h"

enum {
  PASSTHROUGH = 2
}; /* rows between norm and scale: the normalizer's queue, without a normalizer (Normalizer.scala:618) */

void gm_store_init(gm_machine *m) {
  gm_storer *s = &m->st;
  s->depth = m->config.queue_store;
  s->trackers = m->config.max_in_flight_writes / m->config.dim + 1;
  s->depth_of[GM_STORE_DISPATCH] = 2;
  s->depth_of[GM_STORE_NORM] = s->depth_of[GM_STORE_SCALE] = (unsigned)m->config.spad_read_delay + 2;
  s->depth_of[GM_STORE_ISSUE] = (unsigned)m->config.spad_read_delay + 1;
  s->drop_at = s->returns_at = GM_NEVER;
  s->ahead = m->ex.latency < GM_STORE_AHEAD ? (unsigned)m->ex.latency : GM_STORE_AHEAD;
}

void gm_storer_push(gm_machine *m, const gm_command *c, int entry) {
  gm_storer *s = &m->st;
  int i = (s->head + s->count++) & (GM_STORE_QUEUE - 1);
  s->queue[i].command = *c;
  s->queue[i].entry = (uint8_t)entry;
  s->queue[i].ready = m->now + 1;
  if (c->funct != GM_CONFIG) gm_arch_expect(m->arch, c);
  gm_wake(m, GM_UNIT_STORE, m->now + 1);
}

int gm_storer_finished(gm_machine *m, bool take) {
  gm_storer *s = &m->st;
  if (!s->trackers_done || !take) return -1;
  int found = -1, more = 0;
  for (int i = s->trackers - 1; i >= 0; i--)
    if (s->tracker[i].valid && s->tracker[i].rows_left == 0 && s->tracker[i].returned <= m->now) found = i, more++;
  if (found < 0) return -1;
  s->tracker[found].valid = false;
  s->trackers_busy--;
  s->trackers_done = more > 1;
  gm_wake(m, GM_UNIT_STORE, m->now + 1);
  return s->tracker[found].entry;
}

static gm_store_row *row_at(gm_storer *s, uint32_t number) { return &s->ring[number & (GM_STORE_RING - 1)]; }
static uint64_t *into(gm_storer *s, enum gm_store_stage stage, uint32_t number) {
  return &s->into[stage][number & (GM_STORE_RING - 1)];
}

/* ---- DMA writer ---- */

/* The next packet of the row, as large as it gets (DMA.scala StreamWriter). */
static void start_packet(gm_machine *m) {
  gm_storer *s = &m->st;
  const int beat = 1 << m->beat_shift;
  int size = 0, written = 0;
  for (int z = beat; z <= m->config.dma_max_bytes; z <<= 1) {
    int offset = (int)(s->write_address & (unsigned)(z - 1));
    int bytes = offset + s->write_bytes > z ? z - offset : s->write_bytes;
    if (bytes > written) written = bytes, size = z;
  }
  s->packet_bytes = written;
  s->packet = (gm_put){.address = s->write_address & ~(uint64_t)(size - 1),
                       .bytes = (uint8_t)size,
                       .beats_left = (uint8_t)(size >> m->beat_shift),
                       .partial = written != size,
                       .first = true};
  m->counters.store_bytes += (unsigned)written;
}

/* A beat on its way to the port: two registers, in the second of which it has its address. There it waits for room, and while
 * it waits the client's register is compared with the address of the beat behind it, in the first one: if that is in
 * another page the beat that waits counts as not translated, and both go round again. `offered`: the row's next one, or NULL;
 * true if it is taken. */
static bool translate(gm_machine *m, const gm_put *offered) {
  gm_storer *t = &m->st;
  const bool translated = gm_translated(m, GM_DMA_WRITER), misses = t->has_translated && !translated;
  if (t->has_translated && translated) {
    if (l2_writer_is_full(&m->l2)) gm_run_l2(m, m->now - 1);
    if (l2_put_has_room(&m->l2, m->now)) {
      const gm_put *p = &t->translated;
      l2_put(&m->l2, m->now, p->address, p->bytes, p->partial, p->first, p->beats_left == 1);
      gm_wake_l2(m);
      t->has_translated = false;
    }
  }
  const bool moves = !t->has_translated || misses;
  gm_compare_page(m, GM_DMA_WRITER, t->queued.address, t->has_queued && moves);
  if (misses) {
    const gm_put again = t->translated;
    t->has_translated = false;
    t->shadow = t->queued, t->has_shadow = t->has_queued;
    t->queued = again, t->has_queued = true;
    return false;
  }
  if (t->has_queued) {
    if (!moves) return false;
    t->translated = t->queued, t->has_translated = true;
    t->has_queued = false;
  }
  const gm_put *next = t->has_shadow ? &t->shadow : offered;
  if (!next) return false;
  t->queued = *next, t->has_queued = true;
  if (next == offered) return true;
  t->has_shadow = false;
  return false;
}

/* Its last beat has left the row. True if it was the row's last one. */
static bool end_packet(gm_storer *s) {
  s->write_address += (unsigned)s->packet_bytes;
  s->write_bytes -= s->packet_bytes;
  s->packet_bytes = 0;
  return s->write_bytes == 0;
}

static bool beats_on_their_way(const gm_storer *s) { return s->has_queued || s->has_translated || s->has_shadow; }

/* Can nothing move before gm_write_acknowledged? */
static bool waits_for_acknowledgement(const gm_machine *m) {
  const gm_storer *s = &m->st;
  return s->packet_bytes && !s->packet_done && s->in_flight >= m->config.max_in_flight_writes && !beats_on_their_way(s);
}

/* Puts the row that is being written, if any, beat by beat. True if the row's last beat leaves in this cycle. */
static bool put(gm_machine *m, bool writing) {
  gm_storer *s = &m->st;
  if (writing && !s->packet_bytes) start_packet(m);
  if (m->now < s->packet_done) return false;
  if (s->packet_done == m->now) {
    s->packet_done = 0;
    return end_packet(s);
  }
  const bool offers = writing && s->in_flight < m->config.max_in_flight_writes;
  const bool first = s->packet.first;
  if (offers && first && !beats_on_their_way(s) && gm_l2_is_clear(m)) { /* all its beats, without a stop */
    const gm_put *p = &s->packet;
    l2_send_clear(&m->l2, m->now + 2, L2_WRITE, p->address, p->bytes, p->partial, 0);
    gm_wake_l2(m);
    m->tlb.of[GM_DMA_WRITER].page = p->address >> GM_PAGE_SHIFT;
    s->in_flight++;
    if (p->beats_left == 1) return end_packet(s);
    s->packet_done = m->now + p->beats_left - 1;
    return false;
  }
  if (!translate(m, offers ? &s->packet : NULL)) return false;
  s->in_flight += first;
  s->packet.first = false;
  return --s->packet.beats_left == 0 && end_packet(s);
}

void gm_write_acknowledged(gm_machine *m) {
  m->st.in_flight--;
  gm_wake(m, GM_UNIT_STORE, m->now);
}

/* ---- the rows' ways ---- */

/* Is there a next row for the stage, and is it known when the row leaves it that makes room for that one? */
static bool may_enter(const gm_storer *s, enum gm_store_stage stage) {
  const uint32_t n = s->entered[stage];
  return n != s->entered[stage - 1] && n - s->entered[stage + 1] < s->depth_of[stage];
}

/* The first cycle in which it may enter, as to its own way, the row before it, and room by the length at a cycle's start. */
static uint64_t enters(gm_storer *s, enum gm_store_stage stage) {
  const uint32_t n = s->entered[stage];
  const uint64_t after = later(*into(s, stage - 1, n), *into(s, stage, n - 1));
  return later(after, *into(s, stage + 1, n - s->depth_of[stage])) + 1;
}

static void enter(gm_storer *s, enum gm_store_stage stage, uint64_t cycle) {
  *into(s, stage, s->entered[stage]++) = cycle;
}

/* Each stage takes its next row: false if it is not known yet when. */

/* The writer, unless it does not know yet when it will be through with the row before. */
static bool leave(gm_storer *s, const gm_machine *m) {
  const uint32_t n = s->entered[GM_STORE_LEFT];
  if (s->writing || n == s->entered[GM_STORE_ISSUE]) return false;
  const gm_store_row *r = row_at(s, n);
  const uint64_t cycle = later(later(r->ready, *into(s, GM_STORE_LEFT, n - 1) + 1), s->free_from);
  enter(s, GM_STORE_LEFT, cycle);
  if (!r->acc && !r->garbage) s->spad_left[s->of_spad_left++ % 8] = cycle;
  if (r->store) {
    s->writing = true;
    s->write_from = cycle + 1;
    s->write_address = r->address;
    s->write_bytes = r->block * (1 << m->input_shift) + r->bytes;
    s->packet_bytes = 0;
  }
  return true;
}

/* This one has room in the cycle in which the writer takes a row. */
static bool into_issue(gm_storer *s, const gm_machine *m) {
  if (!may_enter(s, GM_STORE_ISSUE)) return false;
  const uint32_t n = s->entered[GM_STORE_ISSUE];
  gm_store_row *r = row_at(s, n);
  const uint64_t after = later(*into(s, GM_STORE_SCALE, n), *into(s, GM_STORE_ISSUE, n - 1));
  const uint64_t cycle = later(after + 1, *into(s, GM_STORE_LEFT, n - s->depth_of[GM_STORE_ISSUE]));
  enter(s, GM_STORE_ISSUE, cycle);
  r->ready = cycle + 1;
  if (r->garbage) return true;
  if (r->acc) {
    r->ready = cycle + (unsigned)m->config.acc_scale_latency;
    s->acc_issued[s->of_acc_issued++ % 8] = cycle;
  } else {
    r->ready = later(r->ready, *into(s, GM_STORE_NORM, n) + 1 + (unsigned)m->config.spad_read_delay);
  }
  return true;
}

static bool into_scale(gm_storer *s, const gm_machine *m) {
  if (!may_enter(s, GM_STORE_SCALE)) return false;
  const gm_store_row *r = row_at(s, s->entered[GM_STORE_SCALE]);
  uint64_t cycle = enters(s, GM_STORE_SCALE);
  if (r->acc && !r->garbage) {
    if (r->number - s->of_acc_issued >= PASSTHROUGH) return false;
    cycle = later(cycle, s->acc_issued[(r->number - PASSTHROUGH) % 8] + 1);
    s->output_free[r->row >> m->acc_bank_shift] = cycle;
  }
  enter(s, GM_STORE_SCALE, cycle);
  return true;
}

/* The first cycle from that one on in which the array and the DMA leave the row's bank to be read, as far as that is known:
 * of the accumulator `ahead` cycles ahead, of the scratchpad in the cycle itself. GM_NEVER: look in read_next. */
static uint64_t find_read(gm_machine *m, const gm_store_row *r, uint64_t from) {
  gm_storer *s = &m->st;
  const uint64_t end = m->now + (r->acc && !m->loads_accumulate ? s->ahead : 0);
  for (; from <= end; from++) {
    if (from > m->now) {
      if (!(gm_mesh_will_accumulate(m, from) & 1u << (r->row >> m->acc_bank_shift))) return from;
    } else if (r->acc) {
      gm_mesh_look(m);
      if (!(m->acc_accumulated & 1u << (r->row >> m->acc_bank_shift))) return from;
    } else {
      const uint32_t read = m->spad_read | (m->now <= m->ex.stretch_to ? m->ex.stretch_banks : 0);
      if (!((m->spad_written | read) & 1u << (r->row >> m->spad_bank_shift))) return from;
    }
  }
  s->read_from = s->read_next = from;
  return GM_NEVER;
}

static bool into_norm(gm_storer *s, gm_machine *m) {
  s->read_next = GM_NEVER;
  if (!may_enter(s, GM_STORE_NORM)) return false;
  const gm_store_row *r = row_at(s, s->entered[GM_STORE_NORM]);
  uint64_t cycle = later(enters(s, GM_STORE_NORM), s->read_from);
  if (!r->garbage && r->acc) {
    uint64_t *free = &s->output_free[r->row >> m->acc_bank_shift];
    if (*free == GM_NEVER || (cycle = find_read(m, r, later(cycle, *free))) == GM_NEVER) return false;
    *free = GM_NEVER;
  } else if (!r->garbage) {
    const uint32_t out = (unsigned)m->config.spad_read_delay + 1;
    if (r->number - s->of_spad_left >= out) return false;
    if ((cycle = find_read(m, r, later(cycle, s->spad_left[(r->number - out) % 8]))) == GM_NEVER) return false;
  }
  enter(s, GM_STORE_NORM, cycle);
  if (--s->tracker[r->tracker].rows_left == 0) {
    s->tracker[r->tracker].returned = cycle;
    s->returns_at = earlier(s->returns_at, cycle + 1);
  }
  return true;
}

static bool into_dispatch(gm_storer *s, const gm_machine *m);

/* Finds what can be known of the rows' ways; in the cycle in which it becomes so, and none of it lies before that. */
static void settle_rows(gm_machine *m) {
  gm_storer *s = &m->st;
  bool any;
  do {
    any = leave(s, m);
    any |= into_issue(s, m);
    any |= into_scale(s, m);
    any |= into_norm(s, m);
    any |= into_dispatch(s, m);
  } while (any);
}

/* True if the writer has become free. */
static bool write(gm_machine *m) {
  gm_storer *s = &m->st;
  const bool writing = s->writing && m->now >= s->write_from;
  if (!writing && !beats_on_their_way(s)) return false;
  if (!put(m, writing) || !writing) return false;
  s->writing = false;
  s->free_from = m->now;
  return true;
}

/* ---- controller ---- */

static bool start(gm_machine *m) {
  gm_storer *s = &m->st;
  const gm_command *c = &s->queue[s->head].command;
  const gm_store_registers *r = &gm_arch_registers(m->arch)->store;
  if (!gm_arch_store(m->arch, c, m->why)) return false;
  uint32_t local = gm_local(c->rs2);
  s->acc = gm_is_acc(local);
  s->wide = s->acc && gm_is_full_width(local);
  s->local = gm_row_of(m, local);
  s->address = c->rs1;
  s->stride = r->stride;
  s->columns = gm_cols(c->rs2);
  s->rows = gm_rows(c->rs2);
  s->blocks = (s->columns + m->config.dim - 1) >> m->dim_shift;
  s->row = s->block = s->window_row = s->window_column = s->out_row = s->out_column = 0;
  s->pooling = r->pool_stride != 0;
  int slot = 0;
  while (s->tracker[slot].valid) slot++;
  s->tracker_now = (uint8_t)slot;
  s->tracker[slot].valid = true;
  s->tracker[slot].entry = s->queue[s->head].entry;
  s->tracker[slot].rows_left =
      s->pooling ? r->pool_out_rows * r->pool_out_cols * r->pool_size * r->pool_size : s->rows * s->blocks;
  s->trackers_busy++;
  s->sending = true;
  s->started = s->send_from = m->now;
  return true;
}

/* The next row block; true if it was the last. */
static bool send_block(gm_storer *s, const gm_machine *m) {
  int element = s->wide ? m->acc_bytes : m->input_bytes, dim = m->config.dim;
  bool last_block = s->block == s->blocks - 1;
  gm_store_row r = {.tracker = s->tracker_now, .acc = s->acc};
  r.block = (uint8_t)s->block;
  r.bytes = (uint16_t)((last_block ? ((s->columns - 1) & (dim - 1)) + 1 : dim) * element);
  bool last;
  if (s->pooling) {
    const gm_store_registers *p = &gm_arch_registers(m->arch)->store;
    int row = s->out_row * p->pool_stride + s->window_row - p->upper_pad;
    int column = s->out_column * p->pool_stride + s->window_column - p->left_pad;
    r.garbage = row < 0 || column < 0 || row >= p->out_rows || column >= p->out_cols;
    r.row = s->local + (uint32_t)(row * p->out_cols + column);
    r.address = s->address + (uint64_t)(s->out_row * p->pool_out_dim + s->out_column) * s->stride;
    r.store = s->window_row == p->pool_size - 1 && s->window_column == p->pool_size - 1;
    if (++s->window_column == p->pool_size) s->window_column = 0, s->window_row++;
    if (s->window_row == p->pool_size) s->window_row = 0, s->out_column++;
    if (s->out_column == p->pool_out_cols) s->out_column = 0, s->out_row++;
    last = s->out_row == p->pool_out_rows;
  } else {
    r.row = s->local + (uint32_t)(s->block * dim + s->row);
    r.address = s->address + (uint64_t)s->row * s->stride;
    r.store = last_block;
    last = last_block && s->row == s->rows - 1;
    if (++s->block == s->blocks) s->block = 0, s->row++;
  }
  if (!r.garbage) r.number = r.acc ? s->of_acc++ : s->of_spad++;
  *row_at(s, s->entered[GM_STORE_DISPATCH]) = r;
  return last;
}

static bool into_dispatch(gm_storer *s, const gm_machine *m) {
  const uint32_t n = s->entered[GM_STORE_DISPATCH], depth = s->depth_of[GM_STORE_DISPATCH];
  if (!s->sending || s->drop_at != GM_NEVER || n - s->entered[GM_STORE_NORM] >= depth) return false;
  const uint64_t cycle = later(s->send_from, *into(s, GM_STORE_NORM, n - depth) + 1);
  if (send_block(s, m))
    s->drop_at = cycle + (cycle == s->started); /* of one row: the controller notices a cycle later */
  enter(s, GM_STORE_DISPATCH, cycle);
  s->send_from = cycle + 1;
  return true;
}

static void drop(gm_machine *m) {
  gm_storer *s = &m->st;
  s->head = (s->head + 1) & (GM_STORE_QUEUE - 1);
  s->count--;
  gm_wake(m, GM_UNIT_STATION, m->now);
}

static void controller(gm_machine *m) {
  gm_storer *s = &m->st;
  if (s->sending || !s->count || s->queue[s->head].ready > m->now) return;
  const gm_command *c = &s->queue[s->head].command;
  if (c->funct == GM_CONFIG) {
    if (gm_arch_config(m->arch, c, m->why)) drop(m);
    return;
  }
  if (s->trackers_busy >= s->trackers || !start(m)) return;
  settle_rows(m);
}

/* The next cycle in which any of this may move. */
static uint64_t next_move(const gm_machine *m) {
  const gm_storer *s = &m->st;
  const uint64_t soon = m->now + 1;
  uint64_t next = earlier(earlier(s->drop_at, s->returns_at), later(s->read_next, soon));
  if (!s->sending && s->count && (s->trackers_busy < s->trackers || s->queue[s->head].command.funct == GM_CONFIG))
    next = earlier(next, later(s->queue[s->head].ready, soon));
  if (s->packet_done > soon) return earlier(next, s->packet_done);
  if (s->stalled || waits_for_acknowledgement(m)) return next;
  if (beats_on_their_way(s)) return soon;
  return s->writing ? earlier(next, later(s->write_from, soon)) : next;
}

/* Rows were all read in cycles before this one. */
static void return_commands(gm_machine *m) {
  gm_storer *s = &m->st;
  s->trackers_done = true;
  s->returns_at = GM_NEVER;
  for (int i = 0; i < s->trackers; i++)
    if (s->tracker[i].rows_left == 0 && s->tracker[i].returned >= m->now)
      s->returns_at = earlier(s->returns_at, s->tracker[i].returned + 1);
  gm_wake(m, GM_UNIT_STATION, m->now);
}

void gm_store_step(gm_machine *m) {
  gm_storer *s = &m->st;
  s->stalled = false;
  if (s->returns_at <= m->now) return_commands(m);
  if (write(m) || s->read_next <= m->now) settle_rows(m);
  if (s->drop_at <= m->now) {
    s->drop_at = GM_NEVER;
    s->sending = false;
    drop(m);
  } else {
    controller(m);
  }
  s->stalled = s->has_queued && s->has_translated && l2_writer_is_full(&m->l2) &&
               gm_same_page(m, GM_DMA_WRITER, s->queued.address, s->translated.address);
  if (s->stalled) gm_await_room(m);
  gm_wake(m, GM_UNIT_STORE, next_move(m));
}

bool gm_storer_busy(const gm_machine *m) {
  const gm_storer *s = &m->st;
  return s->entered[GM_STORE_DISPATCH] != s->entered[GM_STORE_LEFT] || s->writing || s->in_flight;
}
