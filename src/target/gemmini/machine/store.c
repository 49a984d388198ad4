/* store.c - mvout: store controller, the path of a row out of the memories, DMA writer.
 *
 *   controller -> dispatch (2) -> read of the SRAM -> norm (6) -> scale (6) -> scaling, issue (5) -> writer -> L2
 *
 * StoreController.scala (one row block a cycle), Scratchpad.scala:230-300, 640-740 (queues; a read waits for an
 * accumulating write of the array in its bank, :380), AccumulatorScale.scala (a pipeline; the issue queue after it is
 * shorter than its latency, hence 5 rows per 8 cycles), DMA.scala StreamWriter (blocks of a row are gathered, then put
 * beat by beat; a write is in flight until it is acknowledged).
 *
 * Before the writer only times matter: the time when a row enters a stage follows from its time in the previous stage,
 * and from the departure of earlier rows. So rows are not stepped: their times are computed as soon as their inputs are
 * known (settle_rows). Only the writer moves beat by beat; the rest runs when the writer is free, and in the cycles
 * that it names (others). */
#include "target/gemmini/machine/internal.h"

enum {
  DISPATCH = 2,    /* rows there */
  PASSTHROUGH = 2, /* between norm and scale: the normalizer's queue, without a normalizer (Normalizer.scala:618) */
};

void gm_store_init(gm_machine *m) {
  gm_storer *s = &m->st;
  s->depth = m->config.queue_store;
  s->trackers = m->config.max_in_flight_writes / m->config.dim + 1;
  s->scale_depth = (unsigned)m->config.spad_read_delay + 2;
  s->issue_depth = (unsigned)m->config.spad_read_delay + 1;
  s->drop_at = s->returns_at = s->read_next = s->others_next = GM_NEVER;
  s->ahead = m->ex.latency < GM_STORE_AHEAD ? (unsigned)m->ex.latency : GM_STORE_AHEAD;
}

/* Parts other than the writer may move in that cycle. */
static void wake_others(gm_machine *m, uint64_t cycle) {
  m->st.others_next = earlier(m->st.others_next, cycle);
  gm_wake(m, GM_UNIT_STORE, cycle);
}

void gm_storer_push(gm_machine *m, const gm_command *c, int entry) {
  gm_storer *s = &m->st;
  int i = (s->head + s->count++) & (GM_STORE_QUEUE - 1);
  s->queue[i].command = *c;
  s->queue[i].entry = (uint8_t)entry;
  s->queue[i].ready = m->now + 1;
  if (c->funct != GM_CONFIG) gm_arch_expect(m->arch, c);
  wake_others(m, m->now + 1);
}

int gm_storer_finished(gm_machine *m, bool take) {
  gm_storer *s = &m->st;
  if (!s->trackers_done || !take) return -1;
  int found = -1, more = 0;
  for (int i = s->trackers - 1; i >= 0; i--)
    if (s->tracker[i].valid && s->tracker[i].returned <= m->now) found = i, more++;
  if (found < 0) return -1;
  s->tracker[found].valid = false;
  s->trackers_busy--;
  s->trackers_done = more > 1;
  wake_others(m, m->now + 1);
  return s->tracker[found].entry;
}

static gm_store_row *row_at(gm_storer *s, uint32_t number) { return &s->ring[number & (GM_STORE_RING - 1)]; }

/* ---- DMA writer ---- */

/* The next packet of the row, as large as it gets (DMA.scala StreamWriter). */
static void start_packet(gm_machine *m) {
  gm_storer *s = &m->st;
  const uint64_t address = s->write_address;
  const int largest = m->config.dma_max_bytes;
  const bool whole = !(address & (unsigned)(largest - 1)) && s->write_bytes >= largest;
  int size = whole ? largest : 0, written = size;
  for (int z = 1 << m->beat_shift; z <= largest && !whole; z <<= 1) {
    const int offset = (int)(address & (unsigned)(z - 1));
    const int bytes = offset + s->write_bytes > z ? z - offset : s->write_bytes;
    if (bytes > written) written = bytes, size = z;
  }
  s->packet_bytes = written;
  s->puts++;
  s->put[s->puts % GM_PUTS] = (gm_put){address & ~(uint64_t)(size - 1), (uint8_t)size, written != size};
  s->beats_left = (uint8_t)(size >> m->beat_shift);
  s->beat =
      (uint8_t)(GM_BEAT | GM_BEAT_FIRST | (s->beats_left == 1 ? GM_BEAT_LAST : 0) | s->puts % GM_PUTS << GM_BEAT_PUT);
  m->counters.store_bytes += (unsigned)written;
}

static const gm_put *put_of(const gm_storer *s, unsigned beat) { return &s->put[beat >> GM_BEAT_PUT]; }

static bool beats_on_their_way(const gm_storer *s) { return (s->queued | s->translated | s->shadow) & GM_BEAT; }

/* Sends the row's next beat. True if it was the row's last one. */
static bool end_beat(gm_storer *s) {
  s->in_flight += (s->beat & GM_BEAT_FIRST) != 0;
  s->beats_left--;
  s->beat = (uint8_t)((s->beat & ~GM_BEAT_FIRST) | (s->beats_left == 1 ? GM_BEAT_LAST : 0));
  if (s->beats_left) return false;
  s->write_address += (unsigned)s->packet_bytes;
  s->write_bytes -= s->packet_bytes;
  s->packet_bytes = 0;
  return s->write_bytes == 0;
}

/* A beat on its way to the port: two registers, in the second of which it has its address. There it waits for room,
 * and meanwhile the client's register is compared with the address of the next beat, in the first register. If the
 * next beat is in another page, the waiting beat counts as not translated, and both repeat. `offers`: the row has a
 * next beat. Returns true if that beat is accepted. */
static bool translate(gm_machine *m, bool offers) {
  gm_storer *s = &m->st;
  if (m->tlb.of[GM_DMA_WRITER].asks_at == m->now) gm_reader_catch_up(m);
  const bool translated = gm_translated(m, GM_DMA_WRITER, m->now), misses = s->translated && !translated;
  const bool queued = s->queued & GM_BEAT;
  if (s->translated && translated) {
    if (l2_writer_is_full(&m->l2)) gm_run_l2(m, m->now - 1);
    if (l2_put_has_room(&m->l2, m->now)) {
      const unsigned beat = s->translated;
      const gm_put *p = put_of(s, beat);
      l2_put(&m->l2, m->now, p->address, p->bytes, p->partial, beat & GM_BEAT_FIRST, beat & GM_BEAT_LAST);
      gm_wake_l2(m);
      s->translated = 0;
    }
  }
  const bool moves = !s->translated || misses;
  gm_compare_page(m, GM_DMA_WRITER, m->now, put_of(s, s->queued)->address, queued && moves);
  if (misses) {
    s->shadow = queued ? s->queued : 0;
    s->queued = s->translated;
    s->translated = 0;
    return false;
  }
  if (queued && !moves) return false;
  if (queued) s->translated = s->queued;
  const bool again = s->shadow != 0;
  const unsigned gone = s->queued & ~(unsigned)GM_BEAT; /* its address stays */
  s->queued = again ? s->shadow : offers ? s->beat : (uint8_t)gone;
  s->shadow = 0;
  return offers && !again;
}

/* Puts the row that is being written, if any, beat by beat. True if the row's last beat leaves in this cycle. */
static bool send_beat(gm_machine *m, bool writing) {
  gm_storer *s = &m->st;
  if (m->now < s->packet_done) return false;
  if (s->packet_done == m->now) {
    s->packet_done = 0;
    s->beats_left = 1;
    return end_beat(s);
  }
  if (m->now < s->beats_from) return false;
  if (writing && !s->packet_bytes) start_packet(m);
  const bool offers = writing && s->in_flight < m->config.max_in_flight_writes;
  const bool begins = offers && s->beat & GM_BEAT_FIRST && !beats_on_their_way(s);
  if (begins && gm_l2_is_clear(m)) { /* sends all beats at once, without a stop */
    const gm_put *p = put_of(s, s->beat);
    l2_send_clear(&m->l2, m->now + 2, L2_WRITE, p->address, p->bytes, p->partial, 0);
    gm_wake_l2(m);
    m->tlb.of[GM_DMA_WRITER].page = p->address >> GM_PAGE_SHIFT;
    const uint64_t done = m->now + s->beats_left - 1;
    if (end_beat(s)) return true;
    if (s->packet_bytes) s->packet_done = done;
    return false;
  }
  const bool may_two = s->beats_left > 2 && s->in_flight + 1 < m->config.max_in_flight_writes;
  if (begins && may_two && gm_keeps_page(m, GM_DMA_WRITER, put_of(s, s->beat)->address)) { /* as in the next cycle */
    m->tlb.of[GM_DMA_WRITER].hit = true;
    s->translated = s->beat;
    end_beat(s);
    s->queued = s->beat;
    s->beats_from = m->now + 2;
    return end_beat(s);
  }
  return translate(m, offers) && end_beat(s);
}

void gm_write_acknowledged(gm_machine *m) {
  if (m->st.in_flight-- >= m->config.max_in_flight_writes) gm_wake(m, GM_UNIT_STORE, m->now);
}

/* True if the writer has become free. */
static bool write(gm_machine *m) {
  gm_storer *s = &m->st;
  const bool writing = s->writing && m->now >= s->write_from;
  if (!writing && !beats_on_their_way(s)) return false;
  if (!send_beat(m, writing) || !writing) return false;
  s->writing = false;
  s->free_from = m->now;
  return true;
}

/* The next cycle in which it may do anything. */
static uint64_t next_write(const gm_machine *m) {
  const gm_storer *s = &m->st;
  if (s->packet_done) return s->packet_done;
  if (s->stalled & s->queued & GM_BEAT) return GM_NEVER;
  if (!s->stalled && beats_on_their_way(s)) return later(s->beats_from, m->now + 1);
  const bool waits = s->packet_bytes && s->in_flight >= m->config.max_in_flight_writes; /* gm_write_acknowledged */
  return s->writing && !waits ? later(s->write_from, m->now + 1) : GM_NEVER;
}

/* ---- the rows' ways ---- */

/* Each of these functions advances the next row. It returns false without a row, or if its time is not known yet.
 * Room in a stage is judged at the start of a cycle. */

/* To the writer, unless the end of the writer's previous row is not known yet. */
static bool leave(gm_storer *s) {
  const uint32_t n = s->left;
  if (s->writing || n == s->issued) return false;
  gm_store_row *r = row_at(s, n);
  r->left = later(later(r->ready, row_at(s, n - 1)->left + 1), s->free_from);
  s->left++;
  if (r->kind == GM_ROW_OF_SPAD) s->spad_left[s->of_spad_left++ % 8] = r->left;
  if (r->bytes) {
    s->writing = true;
    s->write_from = r->left + 1;
    s->write_address = r->address;
    s->write_bytes = r->bytes;
    s->packet_bytes = 0;
  }
  return true;
}

/* This stage has room in the cycle in which the writer takes a row. */
static bool issue(gm_storer *s, const gm_machine *m) {
  const uint32_t n = s->issued;
  if (n == s->scaled || n - s->left >= s->issue_depth) return false;
  gm_store_row *r = row_at(s, n);
  const uint64_t after = later(r->scaled, row_at(s, n - 1)->issued) + 1;
  r->issued = later(after, row_at(s, n - s->issue_depth)->left);
  r->ready = r->issued + 1;
  s->issued++;
  if (r->kind == GM_ROW_OF_ACC) {
    r->ready = r->issued + (unsigned)m->config.acc_scale_latency;
    s->acc_issued[s->of_acc_issued++ % PASSTHROUGH] = r->issued;
  } else if (r->kind == GM_ROW_OF_SPAD) {
    r->ready = later(r->ready, r->read + 1 + (unsigned)m->config.spad_read_delay);
  }
  return true;
}

static bool scale(gm_storer *s) {
  const uint32_t n = s->scaled;
  if (n == s->read || n - s->issued >= s->scale_depth) return false;
  gm_store_row *r = row_at(s, n);
  const uint64_t after = later(later(r->read, row_at(s, n - 1)->scaled), row_at(s, n - s->scale_depth)->issued);
  r->scaled = after + 1;
  if (r->kind == GM_ROW_OF_ACC) {
    if (r->number - s->of_acc_issued >= PASSTHROUGH) return false;
    r->scaled = later(after, s->acc_issued[r->number % PASSTHROUGH]) + 1;
    s->output_free[r->bank] = r->scaled;
  }
  s->scaled++;
  return true;
}

/* Is it known that the array or the DMA uses the row's bank in that cycle, which is not over? */
static bool is_taken(gm_machine *m, const gm_store_row *r, uint64_t cycle) {
  gm_storer *s = &m->st;
  uint32_t banks;
  if (r->kind == GM_ROW_OF_SPAD) {
    banks = m->spad_written | m->spad_read | (m->now <= m->ex.stretch_to ? m->ex.stretch_banks : 0);
  } else if (cycle == m->now) {
    gm_mesh_look(m);
    banks = m->acc_accumulated;
  } else {
    if (cycle < s->known_from || cycle >= s->known_to) {
      s->known_banks = gm_mesh_will_accumulate(m, cycle, &s->known_to);
      s->known_from = cycle;
    }
    banks = s->known_banks;
  }
  return banks >> r->bank & 1;
}

/* The first cycle from that one on in which neither the array nor the DMA is known to use the row's bank. For the
 * accumulator this is known `ahead` cycles ahead, for the scratchpad in the cycle itself. GM_NEVER: check again in
 * read_next. */
static uint64_t find_read(gm_machine *m, const gm_store_row *r, uint64_t from) {
  gm_storer *s = &m->st;
  const uint64_t end = m->now + (r->kind == GM_ROW_OF_ACC && !m->loads_accumulate ? s->ahead : 0);
  while (from <= end && is_taken(m, r, from)) from = r->kind == GM_ROW_OF_ACC && from > m->now ? s->known_to : from + 1;
  if (from <= end) return from;
  s->read_from = s->read_next = from;
  return GM_NEVER;
}

static bool read(gm_storer *s, gm_machine *m) {
  const uint32_t n = s->read;
  s->read_next = GM_NEVER;
  if (n == s->sent || n - s->scaled >= s->scale_depth) return false;
  gm_store_row *r = row_at(s, n);
  const uint64_t sent = s->sent_at[n % DISPATCH], room = row_at(s, n - s->scale_depth)->scaled;
  const uint64_t after = later(later(sent, row_at(s, n - 1)->read), room);
  uint64_t cycle = later(after + 1, s->read_from);
  if (r->kind == GM_ROW_OF_ACC) {
    if (s->output_free[r->bank] == GM_NEVER) return false;
    cycle = later(cycle, s->output_free[r->bank]);
  } else if (r->kind == GM_ROW_OF_SPAD) {
    const uint32_t out = (unsigned)m->config.spad_read_delay + 1;
    if (r->number - s->of_spad_left >= out) return false;
    cycle = later(cycle, s->spad_left[(r->number - out) % 8]);
  }
  if (r->kind != GM_ROW_GARBAGE && (cycle = find_read(m, r, cycle)) == GM_NEVER) return false;
  if (r->kind == GM_ROW_OF_ACC) s->output_free[r->bank] = GM_NEVER;
  r->read = cycle;
  s->read++;
  if (r->last) {
    s->tracker[r->tracker].returned = cycle;
    s->returns_at = earlier(s->returns_at, cycle + 1);
  }
  return true;
}

static bool send(gm_storer *s, const gm_machine *m);

/* Computes times of rows in the first cycle in which they can be known. No time is in the past. */
static void settle_rows(gm_machine *m) {
  gm_storer *s = &m->st;
  s->known_to = 0;
  bool any;
  do {
    any = leave(s);
    any |= issue(s, m);
    any |= scale(s);
    any |= read(s, m);
    any |= send(s, m);
  } while (any);
}

/* ---- controller ---- */

static bool start(gm_machine *m) {
  gm_storer *s = &m->st;
  const gm_command *c = &s->queue[s->head].command;
  const gm_store_registers *r = &gm_arch_registers(m->arch)->store;
  if (!gm_arch_store(m->arch, c, m->why)) return false;
  const uint32_t local = gm_local(c->rs2);
  const bool acc = gm_is_acc(local), wide = acc && gm_is_full_width(local);
  const int columns = gm_cols(c->rs2), dim = m->config.dim, element = wide ? m->acc_bytes : m->input_bytes;
  s->local = s->line = gm_row_of(m, local);
  s->address = c->rs1;
  s->stride = r->stride;
  s->rows_left = gm_rows(c->rs2);
  s->blocks = s->blocks_left = (columns + dim - 1) >> m->dim_shift;
  s->line_bytes = (uint16_t)((s->blocks - 1) * (1 << m->input_shift) + (((columns - 1) & (dim - 1)) + 1) * element);
  s->bank_shift = (unsigned)(acc ? m->acc_bank_shift : m->spad_bank_shift);
  s->window_row = s->window_column = s->out_row = s->out_column = 0;
  s->pooling = r->pool_stride != 0;
  int slot = 0;
  while (s->tracker[slot].valid) slot++;
  s->tracker_now = (uint8_t)slot;
  s->kind = acc ? GM_ROW_OF_ACC : GM_ROW_OF_SPAD;
  s->tracker[slot].valid = true;
  s->tracker[slot].entry = s->queue[s->head].entry;
  s->tracker[slot].returned = GM_NEVER;
  s->trackers_busy++;
  s->sending = true;
  s->started = s->send_from = m->now;
  return true;
}

/* The next row of a window that is pooled. */
static void next_of_window(gm_storer *s, const gm_machine *m, gm_store_row *r) {
  const gm_store_registers *p = &gm_arch_registers(m->arch)->store;
  const int row = s->out_row * p->pool_stride + s->window_row - p->upper_pad;
  const int column = s->out_column * p->pool_stride + s->window_column - p->left_pad;
  if (row < 0 || column < 0 || row >= p->out_rows || column >= p->out_cols) r->kind = GM_ROW_GARBAGE;
  r->bank = (s->local + (uint32_t)(row * p->out_cols + column)) >> s->bank_shift & (GM_BANKS - 1);
  r->address = s->address + (uint64_t)(s->out_row * p->pool_out_dim + s->out_column) * s->stride;
  r->bytes = s->window_row == p->pool_size - 1 && s->window_column == p->pool_size - 1 ? s->line_bytes : 0;
  if (++s->window_column == p->pool_size) s->window_column = 0, s->window_row++;
  if (s->window_row == p->pool_size) s->window_row = 0, s->out_column++;
  if (s->out_column == p->pool_out_cols) s->out_column = 0, s->out_row++;
  r->last = s->out_row == p->pool_out_rows;
}

/* The next block of a line. */
static void next_block(gm_storer *s, const gm_machine *m, gm_store_row *r) {
  r->bank = s->local >> s->bank_shift & (GM_BANKS - 1);
  r->address = s->address;
  r->bytes = 0;
  s->local += (unsigned)m->config.dim;
  if (--s->blocks_left) return;
  r->bytes = s->line_bytes;
  r->last = --s->rows_left == 0;
  s->address += s->stride;
  s->blocks_left = s->blocks;
  s->local = ++s->line;
}

static bool send(gm_storer *s, const gm_machine *m) {
  const uint32_t n = s->sent;
  if (!s->sending || s->drop_at != GM_NEVER || n - s->read >= DISPATCH) return false;
  gm_store_row *r = row_at(s, n);
  r->tracker = s->tracker_now;
  r->kind = s->kind;
  r->last = false;
  if (s->pooling)
    next_of_window(s, m, r);
  else
    next_block(s, m, r);
  r->number = s->of[r->kind]++;
  const uint64_t cycle = later(s->send_from, row_at(s, n - DISPATCH)->read + 1);
  s->sent_at[n % DISPATCH] = cycle;
  s->sent++;
  s->send_from = cycle + 1;
  /* after one row, the controller notices this a cycle later */
  if (r->last) s->drop_at = cycle + (cycle == s->started);
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

/* Returns commands whose rows were all read in earlier cycles. */
static void return_commands(gm_machine *m) {
  gm_storer *s = &m->st;
  s->trackers_done = true;
  s->returns_at = GM_NEVER;
  for (int i = 0; i < s->trackers; i++)
    if (s->tracker[i].returned != GM_NEVER && s->tracker[i].returned >= m->now)
      s->returns_at = earlier(s->returns_at, s->tracker[i].returned + 1);
  gm_wake(m, GM_UNIT_STATION, m->now);
}

/* All units except the writer, which may have become free. Returns the next cycle in which it may move. */
static uint64_t others(gm_machine *m, bool freed) {
  gm_storer *s = &m->st;
  if (s->returns_at <= m->now) return_commands(m);
  if (freed || s->read_next <= m->now) settle_rows(m);
  if (s->drop_at <= m->now) {
    s->drop_at = GM_NEVER;
    s->sending = false;
    drop(m);
  } else {
    controller(m);
  }
  const uint64_t next = earlier(earlier(s->drop_at, s->returns_at), s->read_next);
  if (!s->sending && s->count && (s->trackers_busy < s->trackers || s->queue[s->head].command.funct == GM_CONFIG))
    return earlier(next, later(s->queue[s->head].ready, m->now + 1));
  return next;
}

void gm_store_step(gm_machine *m) {
  gm_storer *s = &m->st;
  s->stalled = false;
  const bool freed = write(m);
  if (freed | (s->others_next <= m->now)) s->others_next = others(m, freed);
  s->stalled = s->translated && !s->shadow && l2_writer_is_full(&m->l2) &&
               gm_same_page(m, GM_DMA_WRITER, put_of(s, s->queued)->address, put_of(s, s->translated)->address);
  if (s->stalled) gm_await_room(m);
  gm_wake(m, GM_UNIT_STORE, earlier(s->others_next, next_write(m)));
}

bool gm_storer_busy(const gm_machine *m) {
  const gm_storer *s = &m->st;
  return s->sent != s->left || s->writing || s->in_flight;
}
