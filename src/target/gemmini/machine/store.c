/* store.c - mvout: store controller, the way of a row out of the memories, DMA writer.
 *
 *   controller -> dispatch (2) -> read of the SRAM -> norm (6) -> scale (6) -> scaling, issue (5) -> writer -> L2
 *
 * StoreController.scala (one row block a cycle), Scratchpad.scala:230-300, 640-740 (queues; a read waits for an
 * accumulating write of the array in its bank, :380), AccumulatorScale.scala (a pipeline; the issue queue behind it
 * is shorter than its latency, hence 5 rows each 8 cycles), DMA.scala StreamWriter (blocks of a row are gathered,
 * then put beat by beat; a write is in flight until it is acknowledged). */
#include "target/gemmini/machine/internal.h"

enum {
  PASSTHROUGH = 2
}; /* rows between norm and scale: the normalizer's queue, without a normalizer (Normalizer.scala:618) */

void gm_store_init(gm_machine *m) {
  gm_storer *s = &m->st;
  s->depth = m->config.queue_store;
  s->trackers = m->config.max_in_flight_writes / m->config.dim + 1;
  s->depth_of[GM_STORE_DISPATCH] = 2;
  s->depth_of[GM_STORE_NORM] = s->depth_of[GM_STORE_SCALE] = m->config.spad_read_delay + 2;
  s->depth_of[GM_STORE_ISSUE] = m->config.spad_read_delay + 1;
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
    if (s->tracker[i].valid && s->tracker[i].rows_left == 0) found = i, more++;
  if (found < 0) return -1;
  s->tracker[found].valid = false;
  s->trackers_busy--;
  s->trackers_done = more > 1;
  gm_wake(m, GM_UNIT_STORE, m->now + 1);
  return s->tracker[found].entry;
}

/* Rows keep their order from stage to stage, so one ring holds them all; a stage is a stretch of it. */
static gm_store_row *head(gm_storer *s, enum gm_store_stage stage) {
  return &s->ring[s->first[stage] & (GM_STORE_RING - 1)];
}
static int count(const gm_storer *s, enum gm_store_stage stage) { return (int)(s->end[stage] - s->first[stage]); }
static bool visible(const gm_machine *m, enum gm_store_stage stage) {
  const gm_storer *s = &m->st;
  return s->end[stage] != s->first[stage] && s->ring[s->first[stage] & (GM_STORE_RING - 1)].ready <= m->now;
}
/* The stage's oldest row moves on and can be seen there from `ready` on. */
static void pass(gm_storer *s, enum gm_store_stage stage, uint64_t ready) {
  head(s, stage)->ready = ready;
  s->first[stage]++;
  s->passed++;
  if (stage != GM_STORE_ISSUE) s->end[stage + 1]++;
}

/* ---- DMA writer ---- */

/* The next packet of the row, as large as it gets (DMA.scala StreamWriter). */
static void start_packet(gm_machine *m) {
  gm_storer *s = &m->st;
  const int beat = m->config.dma_bus_bits / 8;
  int size = 0, written = 0;
  for (int z = beat; z <= m->config.dma_max_bytes; z <<= 1) {
    int offset = (int)(s->write_address & (unsigned)(z - 1));
    int bytes = offset + s->write_bytes > z ? z - offset : s->write_bytes;
    if (bytes > written) written = bytes, size = z;
  }
  s->packet_bytes = written;
  s->packet = (gm_put){.address = s->write_address & ~(uint64_t)(size - 1),
                       .bytes = (uint8_t)size,
                       .beats_left = (uint8_t)(size / beat),
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

/* Puts beat by beat. True if the row's last beat leaves in this cycle. */
static bool put(gm_machine *m) {
  gm_storer *s = &m->st;
  if (s->writing && !s->packet_bytes) start_packet(m);
  if (m->now < s->packet_done) return false;
  if (s->packet_done == m->now) {
    s->packet_done = 0;
    return end_packet(s);
  }
  const bool offers = s->writing && s->in_flight < m->config.max_in_flight_writes;
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

static void writer(gm_machine *m) {
  gm_storer *s = &m->st;
  if (s->writing || beats_on_their_way(s)) {
    const bool done = put(m);
    if (s->writing && !done) return;
    s->writing = false;
  }
  if (!visible(m, GM_STORE_ISSUE)) return;
  const gm_store_row *r = head(s, GM_STORE_ISSUE);
  if (r->store) {
    s->writing = true;
    s->write_address = r->address;
    s->write_bytes = r->block * (1 << m->input_shift) + r->bytes;
    s->packet_bytes = 0;
  }
  if (!r->acc && !r->garbage) s->spad_rows_out--;
  pass(s, GM_STORE_ISSUE, 0);
}

/* ---- queues ---- */

static void into_issue(gm_machine *m) {
  gm_storer *s = &m->st;
  if (!visible(m, GM_STORE_SCALE) || count(s, GM_STORE_ISSUE) >= s->depth_of[GM_STORE_ISSUE]) return;
  const gm_store_row *r = head(s, GM_STORE_SCALE);
  if (r->acc && !r->garbage) {
    s->passthrough--; /* it entered together with this stage, so it is visible too */
    pass(s, GM_STORE_SCALE, m->now + (unsigned)m->config.acc_scale_latency);
  } else {
    pass(s, GM_STORE_SCALE, r->data > m->now + 1 ? r->data : m->now + 1);
  }
}

static void into_scale(gm_machine *m, int scale_before, int passthrough_before) {
  gm_storer *s = &m->st;
  if (!visible(m, GM_STORE_NORM) || scale_before >= s->depth_of[GM_STORE_SCALE]) return;
  const gm_store_row *r = head(s, GM_STORE_NORM);
  if (r->acc && !r->garbage) {
    if (passthrough_before >= PASSTHROUGH) return;
    s->passthrough++;
    s->bank_output_busy &= ~(1u << (r->row >> m->acc_bank_shift));
  }
  pass(s, GM_STORE_NORM, m->now + 1);
}

/* Has the row before it in its accumulator bank still to pass into_scale? */
static bool output_is_busy(const gm_machine *m, const gm_store_row *r) {
  return r->acc && !r->garbage && m->st.bank_output_busy & 1u << (r->row >> m->acc_bank_shift);
}

static void into_norm(gm_machine *m, int norm_before) {
  gm_storer *s = &m->st;
  if (!visible(m, GM_STORE_DISPATCH) || norm_before >= s->depth_of[GM_STORE_NORM]) return;
  gm_store_row *r = head(s, GM_STORE_DISPATCH);
  if (!r->garbage && r->acc) {
    uint32_t bank = 1u << (r->row >> m->acc_bank_shift);
    if (output_is_busy(m, r)) return;
    gm_mesh_look(m);
    if (m->acc_accumulated & bank) return;
    s->bank_output_busy |= bank;
  } else if (!r->garbage) {
    uint32_t bank = 1u << (r->row >> m->spad_bank_shift);
    uint32_t read = m->spad_read | (m->now <= m->ex.stretch_to ? m->ex.stretch_banks : 0);
    if ((m->spad_written | read) & bank || s->spad_rows_out > m->config.spad_read_delay) return;
    s->spad_rows_out++;
    r->data = m->now + 1 + (unsigned)m->config.spad_read_delay;
  }
  if (--s->tracker[r->tracker].rows_left == 0) s->returned_now = true;
  pass(s, GM_STORE_DISPATCH, m->now + 1);
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
  return true;
}

/* The next row block; true if it was the last. */
static bool send_block(gm_machine *m) {
  gm_storer *s = &m->st;
  int element = s->wide ? m->acc_bytes : m->input_bytes, dim = m->config.dim;
  bool last_block = s->block == s->blocks - 1;
  gm_store_row r = {.ready = m->now + 1, .tracker = s->tracker_now, .acc = s->acc};
  r.block = (uint8_t)s->block;
  r.bytes = (uint16_t)((last_block ? (s->columns - 1) % dim + 1 : dim) * element);
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
  s->ring[s->end[GM_STORE_DISPATCH]++ & (GM_STORE_RING - 1)] = r;
  s->passed++;
  return last;
}

static void drop(gm_machine *m) {
  gm_storer *s = &m->st;
  s->head = (s->head + 1) & (GM_STORE_QUEUE - 1);
  s->count--;
  gm_wake(m, GM_UNIT_STATION, m->now);
}

static void controller(gm_machine *m, int dispatch_before) {
  gm_storer *s = &m->st;
  if (s->last_sent) { /* a command of one row: the controller notices a cycle later */
    s->last_sent = s->sending = false;
    drop(m);
    return;
  }
  bool first = false;
  if (!s->sending) {
    if (!s->count || s->queue[s->head].ready > m->now) return;
    const gm_command *c = &s->queue[s->head].command;
    if (c->funct == GM_CONFIG) {
      if (gm_arch_config(m->arch, c, m->why)) drop(m);
      return;
    }
    if (s->trackers_busy >= s->trackers || !start(m)) return;
    first = true;
  }
  if (dispatch_before >= s->depth_of[GM_STORE_DISPATCH]) return;
  if (send_block(m)) {
    if (first) {
      s->last_sent = true;
    } else {
      s->sending = false;
      drop(m);
    }
  }
}

/* The next cycle in which any of this may move, after one in which `passed_before` tells whether something did. */
static uint64_t next_move(const gm_machine *m, uint32_t passed_before) {
  const gm_storer *s = &m->st;
  const uint64_t soon = m->now + 1;
  if (s->passed != passed_before || s->last_sent || s->returned_now) return soon;
  uint64_t next = GM_NEVER;
  if (s->sending || (s->count && s->trackers_busy < s->trackers)) { /* it waits for room behind it, or may start */
    if (!s->sending || count(s, GM_STORE_DISPATCH) < s->depth_of[GM_STORE_DISPATCH]) return soon;
  }
  if (s->packet_done > soon)
    next = s->packet_done;
  else if (!s->stalled && !waits_for_acknowledgement(m) && (s->writing || beats_on_their_way(s)))
    return soon;
  for (int stage = 0; stage < GM_STORE_STAGES; stage++) {
    if (!count(s, stage)) continue;
    uint64_t ready = s->ring[s->first[stage] & (GM_STORE_RING - 1)].ready;
    if (ready <= m->now && stage == GM_STORE_DISPATCH && count(s, GM_STORE_NORM) < s->depth_of[GM_STORE_NORM] &&
        !output_is_busy(m, &s->ring[s->first[stage] & (GM_STORE_RING - 1)]))
      return soon; /* for its bank */
    if (ready > m->now && ready < next) next = ready;
  }
  return next;
}

void gm_store_step(gm_machine *m) {
  gm_storer *s = &m->st;
  const uint32_t passed_before = s->passed;
  s->stalled = false;
  if (s->returned_now) {
    s->trackers_done = true;
    s->returned_now = false;
    gm_wake(m, GM_UNIT_STATION, m->now);
  }
  int dispatch_before = count(s, GM_STORE_DISPATCH), norm_before = count(s, GM_STORE_NORM),
      scale_before = count(s, GM_STORE_SCALE);
  int passthrough_before = s->passthrough;
  writer(m);
  into_issue(m);
  into_scale(m, scale_before, passthrough_before);
  into_norm(m, norm_before);
  controller(m, dispatch_before);
  s->stalled = s->has_queued && s->has_translated && l2_writer_is_full(&m->l2) &&
               gm_same_page(m, GM_DMA_WRITER, s->queued.address, s->translated.address);
  if (s->stalled) gm_await_room(m);
  gm_wake(m, GM_UNIT_STORE, next_move(m, passed_before));
}

bool gm_storer_busy(const gm_machine *m) {
  const gm_storer *s = &m->st;
  return s->end[GM_STORE_DISPATCH] != s->first[GM_STORE_ISSUE] || s->writing || s->in_flight;
}
