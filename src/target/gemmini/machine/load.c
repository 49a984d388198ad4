/* load.c - mvin: load controller, DMA reader, and the path of the data into the memories.
 *
 *   controller --rows--> read_issue_q -> reader --packets--> L2 ... answers -> beat merger -> scaling -> repeater ->
 *   SRAM
 *              --rows of zeros--> zero writer ---------------------------------------------> repeater -> SRAM
 *
 * LoadController.scala (one row a cycle, at most `trackers` commands in flight), DMA.scala. Each row is cut into
 * aligned packets of 16, 32 or 64 bytes, one request per cycle, the largest useful first. XactTracker.scala (requests
 * in flight), BeatMerger.scala (one packet at a time; a beat in and a row out a cycle), VectorScalarMultiplier.scala (a
 * scale of 1 passes, others share four multipliers), Scratchpad.scala:337-455 (write arbitration).
 *
 * The usual answer, whole unscaled rows for the scratchpad, meets no obstacle between the L2 and the SRAM: its writes
 * are settled when its first beat arrives (settle). All other answers move from register to register, cycle by
 * cycle. */
#include "target/gemmini/machine/internal.h"

enum { SCALE_UNITS = 4 }; /* Configs.scala: mvin_scale_args num_scale_units */

void gm_load_init(gm_machine *m) {
  gm_loader *l = &m->ld;
  l->trackers = m->config.max_in_flight_reads / m->config.dim + 1; /* LoadController.scala:84 */
  l->issue_depth = m->config.spad_read_delay + 1;
  l->all_packets =
      m->config.max_in_flight_reads >= GM_XACTS ? ~UINT64_C(0) : (UINT64_C(1) << m->config.max_in_flight_reads) - 1;
  l->packets_free = l->all_packets;
  l->first_returned = GM_NEVER;
  l->beat_is_row = 1 << m->input_shift == m->config.dma_bus_bits / 8;
}

void gm_loader_push(gm_machine *m, const gm_command *c, int entry) {
  gm_loader *l = &m->ld;
  int i = (l->head + l->count++) & (GM_LOAD_QUEUE - 1);
  l->queue[i].command = *c;
  l->queue[i].entry = (uint8_t)entry;
  l->queue[i].ready = m->now + 1;
  if (c->funct != GM_CONFIG) gm_arch_expect(m->arch, c);
  gm_wake(m, GM_UNIT_READ, m->now + 1);
}

uint64_t gm_loader_next_finished(const gm_machine *m) {
  const uint64_t returned = m->ld.first_returned;
  return returned == GM_NEVER ? GM_NEVER : returned < m->now ? m->now : returned + 1;
}

/* A command is complete from the cycle after its last byte, or in the same cycle if another command is complete. */
int gm_loader_finished(gm_machine *m) {
  gm_loader *l = &m->ld;
  if (l->first_returned >= m->now) return -1;
  int found = -1;
  l->first_returned = GM_NEVER;
  for (int i = 0; i < l->trackers; i++) {
    if (!l->tracker[i].valid) continue;
    if (found < 0 && l->tracker[i].returned <= m->now)
      found = i;
    else if (l->tracker[i].returned < l->first_returned)
      l->first_returned = l->tracker[i].returned;
  }
  if (found < 0) return -1;
  l->tracker[found].valid = false;
  l->trackers_busy--;
  gm_wake(m, GM_UNIT_READ, m->now + 1);
  return l->tracker[found].entry;
}

/* The last row of a packet is written in that cycle. Settled packets report this before earlier packets. */
static void returned(gm_machine *m, int tracker, int bytes, uint64_t cycle) {
  gm_mvin *t = &m->ld.tracker[tracker];
  t->bytes_left -= bytes;
  t->last_write = later(t->last_write, cycle);
  if (t->bytes_left) return;
  t->returned = t->last_write;
  m->ld.first_returned = earlier(m->ld.first_returned, t->returned);
  gm_wake(m, GM_UNIT_STATION, t->returned + 1);
}

/* ---- into the memories ---- */

static bool write_row(gm_machine *m, const gm_row_write *w) {
  if (w->acc) {
    gm_mesh_look(m);
    uint32_t bank = 1u << (w->row >> m->acc_bank_shift & (uint32_t)(m->config.acc_banks - 1));
    if (m->acc_written & bank) return false;
    m->acc_written |= bank;
    if (w->accumulate) m->acc_accumulated |= bank;
  } else {
    uint32_t bank = 1u << (w->row >> m->spad_bank_shift & (uint32_t)(m->config.spad_banks - 1));
    if (m->spad_written & bank) return false;
    gm_write_bank(m, bank);
  }
  return true;
}

/* A pixel repeater's turn (PixelRepeater.scala): the row furthest before its own first; rows before the scratchpad
 * (or before its second half, for rows in that half) take a cycle but are not written. Returns true when the row
 * itself is written. */
static bool repeat_pixel(gm_machine *m, gm_row_write *w) {
  const uint32_t half = m->spad_rows / 2;
  gm_row_write row = *w;
  row.row -= w->pixels;
  const bool outside = w->pixels && (w->row < half ? 0 : half) + w->pixels > w->row;
  if (!outside && !write_row(m, &row)) return false;
  return w->pixels-- == 0;
}

static void write_rows(gm_machine *m) {
  gm_loader *l = &m->ld;
  bool last_here = (m->now < l->settled_end && l->settled & l->settled_last & UINT64_C(1) << m->now % GM_SETTLED) ||
                   (l->repeat_out.valid && l->repeat_out.last && l->repeat_out.pixels == 0) ||
                   (l->acc_in.valid && l->acc_in.last && l->acc_in.ready <= m->now);
  if (l->repeat_out.valid && repeat_pixel(m, &l->repeat_out)) {
    if (l->repeat_out.last) returned(m, l->repeat_out.tracker, l->repeat_out.bytes, m->now);
    l->repeat_out.valid = false;
  }
  if (l->acc_in.valid && l->acc_in.ready <= m->now && write_row(m, &l->acc_in)) {
    if (l->acc_in.repeats) {
      l->acc_in.repeats--;
      l->acc_in.row--;
    } else {
      if (l->acc_in.last) returned(m, l->acc_in.tracker, l->acc_in.bytes, m->now);
      l->acc_in.valid = false;
    }
  }
  if (l->zero_out.valid && !last_here && repeat_pixel(m, &l->zero_out)) {
    if (l->zero_out.last) returned(m, l->zero_out.tracker, l->zero_out.bytes, m->now);
    l->zero_out.valid = false;
  }
}

static void zero_writer(gm_machine *m) {
  gm_loader *l = &m->ld;
  if (!l->zero_busy || l->zero_out.valid) return;
  const gm_mvin *r = &l->tracker[l->zero.tracker];
  int element = r->acc ? 1 << m->acc_shift >> m->dim_shift : 1 << m->input_shift >> m->dim_shift;
  int columns = r->bytes / element, dim = m->config.dim;
  bool last = l->zero_column + dim >= columns;
  l->zero_out = (gm_row_write){.valid = true,
                               .acc = r->acc,
                               .accumulate = r->accumulate,
                               .last = last,
                               .tracker = l->zero.tracker,
                               .pixels = r->pixels,
                               .bytes = r->bytes,
                               .row = l->zero.row + (uint32_t)(l->zero_column >> m->dim_shift) * r->block_stride};
  l->zero_column += dim;
  if (last) l->zero_busy = false;
}

/* Scaling: identity leaves the ring of three in the next cycle; other scales wait for the multipliers. */
static void scale(gm_machine *m) {
  gm_loader *l = &m->ld;
  int ring_before = l->ring_count;
  if (ring_before && !l->repeat_out.valid && l->ring[l->ring_head].ready <= m->now) {
    l->repeat_out = l->ring[l->ring_head];
    l->ring_head = (l->ring_head + 1) % GM_SCALE_RING;
    l->ring_count--;
  }
  if (l->scale_in.valid && ring_before < GM_SCALE_RING) {
    gm_row_write w = l->scale_in;
    w.last = w.last && w.repeats == 0;
    w.row += w.repeats;
    if (w.unit_scale) {
      w.ready = m->now + 1;
    } else {
      int turns = (m->config.dim + SCALE_UNITS - 1) / SCALE_UNITS;
      uint64_t start = l->scale_free > m->now + 1 ? l->scale_free : m->now + 1;
      l->scale_free = start + (unsigned)turns;
      w.ready = l->scale_free + 1 + (unsigned)m->config.mvin_scale_latency;
    }
    l->ring[(l->ring_head + l->ring_count++) % GM_SCALE_RING] = w;
    if (l->scale_in.repeats)
      l->scale_in.repeats--;
    else
      l->scale_in.valid = false;
  }
}

/* ---- beat merger ---- */

static void merge_out(gm_machine *m, bool *popped) {
  gm_loader *l = &m->ld;
  const gm_packet *p = &l->merge;
  const gm_mvin *r = &l->tracker[p->tracker];
  bool wide = r->wide, scaled = !wide || m->config.mvin_scales_acc;
  int row_bytes = 1 << (wide ? m->acc_shift : m->input_shift);
  int after_shift = l->beats_read > p->shift ? l->beats_read - p->shift : 0;
  int useful = after_shift < p->useful ? after_shift : p->useful;
  bool out = useful > l->bytes_sent && (useful - l->bytes_sent >= row_bytes || useful == p->useful);
  bool room = scaled ? !l->scale_in.valid : !l->acc_in.valid;
  if (out && room) {
    int offset = l->bytes_sent == 0 ? p->row_offset : 0;
    int next = l->bytes_sent + row_bytes - offset;
    if (next > p->useful) next = p->useful;
    bool last = next == p->useful;
    uint32_t row = p->row + (uint32_t)((p->row_offset + l->bytes_sent) / row_bytes) * r->block_stride;
    gm_row_write w = {.valid = true,
                      .acc = r->acc,
                      .accumulate = r->accumulate,
                      .last = last,
                      .unit_scale = r->unit_scale,
                      .wide = wide,
                      .tracker = p->tracker,
                      .pixels = r->pixels,
                      .bytes = p->useful,
                      .repeats = r->repeats,
                      .row = row,
                      .ready = m->now + 1};
    if (scaled) {
      l->scale_in = w;
    } else {
      w.row += w.repeats;
      l->acc_in = w;
    }
    if (last && l->beats_read == p->length) {
      l->merging = false;
      *popped = true;
    }
    l->bytes_sent_next = next;
  } else if (l->beats_read == p->length && l->bytes_sent == p->useful) {
    /* the packet's tail was not needed; its slot is freed a cycle late, too late for a new packet now */
    l->merging = false;
  }
}

/* ---- answers ---- */

enum { BEAT_TO_WRITE = 4 }; /* merger, scaling in and out, repeater */

static bool passes(const gm_row_write *w) {
  return !w->valid || (!w->acc && w->unit_scale && !w->repeats && !w->pixels);
}

/* If nothing can delay the rows of the answer that begins in this cycle: fixes the cycles of their writes. */
static bool settle_if_rows_pass(gm_machine *m, const gm_packet *p, const l2_response *answer) {
  gm_loader *l = &m->ld;
  const unsigned interval = answer->interval, last = (answer->beats - 1u) * interval + BEAT_TO_WRITE;
  if (!p->plain) return false;
  /* Earlier data stay ahead if they also pass without obstacles and have not been delayed. */
  if (l->flows && (!passes(&l->scale_in) || !passes(&l->repeat_out) || l->ring_count > 1 ||
                   (l->ring_count && !passes(&l->ring[l->ring_head]))))
    return false;
  /* Only an array result for the scratchpad could use their bank; a result that arrives later is too late. */
  if (m->ex.results_to_spad || (int)last > m->ex.latency || last >= GM_SETTLED) return false;
  const uint64_t now = m->now, end = now + last + 1;
  const uint64_t rest = l->settled_end > now ? ~UINT64_C(0) >> (GM_SETTLED - (l->settled_end - now)) : 0;
  uint64_t bits = rest << now % GM_SETTLED | rest >> 1 >> (GM_SETTLED - 1 - now % GM_SETTLED); /* not gone by */
  bits &= l->settled;
  uint32_t row = p->row;
  const uint32_t stride = l->tracker[p->tracker].block_stride, banks = (uint32_t)(m->config.spad_banks - 1);
  for (uint64_t cycle = now + BEAT_TO_WRITE; cycle < end; cycle += interval, row += stride) {
    const uint32_t bank = row >> m->spad_bank_shift & banks;
    const uint64_t bit = UINT64_C(1) << cycle % GM_SETTLED;
    l->settled_to[l->settled_bank[cycle % GM_SETTLED]] &= ~bit;
    l->settled_to[bank] |= bit;
    l->settled_bank[cycle % GM_SETTLED] = (uint8_t)bank;
    l->settled_last &= ~bit;
    bits |= bit;
  }
  l->settled = bits;
  l->settled_last |= UINT64_C(1) << (end - 1) % GM_SETTLED;
  l->settled_end = end;
  returned(m, p->tracker, p->useful, end - 1);
  if (m->ex.state == GM_EX_STRETCH)
    gm_wake(m, GM_UNIT_EXECUTE, gm_next_settled(m, m->ex.stretch_banks, now + 1, m->ex.stretch_to));
  return true;
}

/* Receives the L2's answers, one beat per cycle, answer by answer. */
static void receive(gm_machine *m, bool merger_was_free, bool popped) {
  gm_loader *l = &m->ld;
  if (m->now < l->next_beat) return;
  if (!l->beats_left) {
    if (m->l2.answer_from > m->now) return;
    const l2_response *r = l2_next(&m->l2);
    if (r->kind == L2_READ && !(merger_was_free || popped)) return;
    const l2_response answer = *r;
    const gm_packet *p = &l->packet[answer.cookie];
    const uint64_t end = m->now + (unsigned)(answer.beats * answer.interval);
    l2_pop(&m->l2, m->now);
    if (answer.kind != L2_READ) { /* nothing can delay this answer, so the times of all its beats are known */
      l->next_beat = end;
      if (answer.kind == L2_WRITE) gm_write_acknowledged(m);
      if (answer.kind == L2_REFILL)
        m->refill[answer.cookie & L2_OF_INSTRUCTIONS].last_beat = l->next_beat - answer.interval;
      return;
    }
    if (settle_if_rows_pass(m, p, &answer)) {
      l->next_beat = end;
      l->freed |= UINT64_C(1) << answer.cookie;
      l->freed_at = end - answer.interval;
      return;
    }
    l->serving = (int)answer.cookie;
    l->serving_interval = answer.interval;
    l->beats_left = answer.beats;
    l->merging = l->flows = true;
    l->merge = *p;
    l->beats_read = l->bytes_sent = l->bytes_sent_next = 0;
  }
  l->beats_left--;
  l->next_beat = m->now + l->serving_interval;
  l->beats_read += m->config.dma_bus_bits / 8;
  if (!l->beats_left) {
    l->freed |= UINT64_C(1) << l->serving;
    l->freed_at = m->now;
    l->beats_read = l->merge.length;
  }
}

/* ---- reader ---- */

/* Moves requests through the two registers on their way to the port. A request has its address in the second one.
 * Without an address or without room, it goes round again, before new requests. Returns true if there is room for a
 * new request. */
static bool translate(gm_machine *m) {
  gm_loader *l = &m->ld;
  bool again = false;
  if (l->has_translated) {
    if (m->now < l->translated_from) return true;
    if (l2_reader_is_full(&m->l2)) gm_run_l2(m, m->now - 1);
    again = !gm_translated(m, GM_DMA_READER, m->now) || !l2_read_has_room(&m->l2, m->now);
    if (!again) {
      const gm_get *g = &l->translated;
      l2_send(&m->l2, L2_READER, m->now, L2_READ, g->address, g->bytes, g->slot);
      gm_wake_l2(m);
    }
  }
  gm_compare_page(m, GM_DMA_READER, m->now, l->queued.address, l->has_queued);
  const gm_get waits = l->translated;
  l->translated = l->queued, l->has_translated = l->has_queued;
  l->has_queued = again;
  if (again) l->queued = waits;
  return !again;
}

/* Adds a new request. It passes both registers at once if nothing is in its way in the L2. It is sent ahead if
 * nothing can happen to it there, unless the writer would see it in the L2 too early or it enters the second
 * register at once. */
static void send(gm_machine *m, uint64_t address, int bytes, int slot) {
  gm_loader *l = &m->ld;
  const gm_get get = {address, (uint8_t)bytes, (uint8_t)slot};
  const bool alone = !(l->has_queued | l->has_translated | (l->sent_at > m->now));
  const uint64_t page = address >> GM_PAGE_SHIFT;
  if (alone && gm_l2_is_clear(m)) {
    l2_send_clear(&m->l2, m->now + 2, L2_READ, address, bytes, false, (uint32_t)slot);
    gm_wake_l2(m);
    m->tlb.of[GM_DMA_READER].page = page;
  } else if (alone && !l2_reader_is_full(&m->l2) && gm_keeps_page(m, GM_DMA_READER, address)) {
    m->tlb.of[GM_DMA_READER].hit = true;
    if (gm_writer_may_ask(m)) {
      l->translated = get, l->has_translated = true;
      l->translated_from = m->now + 2;
    } else {
      l->sent_at = m->now + 2;
      l2_send(&m->l2, L2_READER, l->sent_at, L2_READ, address, bytes, (uint32_t)slot);
      gm_wake_l2(m);
    }
  } else {
    l->queued = get, l->has_queued = true;
  }
}

/* The next packet of the row that is being read, as large as it gets. */
static void start_packet(gm_machine *m) {
  gm_loader *l = &m->ld;
  const gm_mvin *r = &l->tracker[l->read.tracker];
  const uint64_t address = l->read.address + (unsigned)l->requested;
  const int left = r->bytes - l->requested, largest = m->config.dma_max_bytes, beat = 1 << m->beat_shift;
  const bool whole = !(address & (unsigned)(largest - 1)) && left >= largest;
  int size = whole ? largest : 0, useful = size;
  for (int s = beat; s <= largest && !whole; s <<= 1) {
    int covers = s - (int)(address & (unsigned)(s - 1));
    if (covers > left) covers = left;
    if (covers > useful) useful = covers, size = s;
  }
  const int row_shift = r->wide ? m->acc_shift : m->input_shift;
  const unsigned shift = (unsigned)address & (unsigned)(size - 1),
                 offset = (unsigned)l->requested & ((1u << row_shift) - 1);
  const int slot = __builtin_ctzll(l->packets_free);
  l->packets_free &= l->packets_free - 1;
  l->packet[slot] = (gm_packet){.row = l->read.row + (uint32_t)(l->requested >> row_shift) * r->block_stride,
                                .shift = (uint16_t)shift,
                                .useful = (uint16_t)useful,
                                .length = (uint16_t)size,
                                .row_offset = (uint16_t)offset,
                                .tracker = l->read.tracker,
                                .plain = r->plain & !(shift | offset) & (useful > size - beat)};
  send(m, address - shift, size, slot);
  m->counters.load_bytes += (unsigned)useful;
  l->requested += useful;
  l->reading = l->requested < r->bytes;
}

/* While requests are stalled, the requests in the two registers exchange places in every cycle. They are translated
 * again if they are in two pages. Advances them to that cycle's end. */
static void go_round(gm_machine *m, uint64_t cycle) {
  gm_loader *l = &m->ld;
  const bool one_page = gm_same_page(m, GM_DMA_READER, l->queued.address, l->translated.address);
  uint64_t at = one_page ? cycle - ((cycle - l->stalled_at) & 1) : l->stalled_at;
  while (at++ != cycle) {
    if (l->has_translated) gm_translated(m, GM_DMA_READER, at);
    gm_compare_page(m, GM_DMA_READER, at, l->queued.address, l->has_queued);
    const gm_get queued = l->queued;
    const bool has_queued = l->has_queued;
    l->queued = l->translated, l->has_queued = l->has_translated;
    l->translated = queued, l->has_translated = has_queued;
  }
  l->stalled_at = cycle;
}

void gm_reader_catch_up(gm_machine *m) {
  if (m->ld.stalled) go_round(m, m->now);
}

static void request(gm_machine *m) {
  gm_loader *l = &m->ld;
  /* Combined without branches, because these bits are unpredictable. */
  const bool stays = l->stalled & l2_reader_is_full(&m->l2) &
                     ((l->has_queued & l->has_translated) | !(l->reading & (l->packets_free != 0)));
  if (!stays) {
    if (l->stalled) go_round(m, m->now - 1);
    l->stalled = false;
    const bool room = !(l->has_queued | l->has_translated) || translate(m);
    if (l->reading && l->packets_free && room) start_packet(m);
  }
  if (!l->reading && l->issue_count) {
    l->read = l->issue[l->issue_head];
    l->issue_head = (l->issue_head + 1) & (GM_READ_ISSUE - 1);
    l->issue_count--;
    l->reading = true;
    l->requested = 0;
  } else if (stays) {
    return;
  }
  /* True if the requests cannot change, and no other can arrive, before the L2 has room. */
  const bool any = l->has_queued | l->has_translated, both = l->has_queued & l->has_translated;
  const bool stalls = any & (both | !(l->reading & (l->packets_free != 0))) & l2_reader_is_full(&m->l2);
  if (l->stalled) {
    if (!stalls) go_round(m, m->now);
  } else if (stalls) {
    l->stalled_at = m->now;
    gm_await_room(m);
  }
  l->stalled = stalls;
}

/* Is anything in the registers between the answers and the memories? A set of bits, because each is rarely set. */
static bool rows_on_their_way(const gm_loader *l) {
  return l->repeat_out.valid | l->acc_in.valid | l->zero_out.valid | l->scale_in.valid | (l->ring_count != 0) |
         l->zero_busy | l->merging;
}

/* Rarely needed, so kept out of the hot code. */
__attribute__((noinline)) static void move_rows(gm_machine *m, bool *popped) {
  gm_loader *l = &m->ld;
  write_rows(m);
  zero_writer(m);
  scale(m);
  l->bytes_sent_next = l->bytes_sent;
  if (l->merging) merge_out(m, popped);
  if (l->merging) l->bytes_sent = l->bytes_sent_next;
  l->flows = rows_on_their_way(l);
}

static void dma_step(gm_machine *m) {
  gm_loader *l = &m->ld;
  const uint64_t freed = l->freed_at < m->now ? l->freed : 0;
  l->packets_free |= freed;
  l->freed ^= freed;
  bool was_free = !l->merging, popped = false;
  if (l->flows) move_rows(m, &popped);
  receive(m, was_free, popped);
  request(m);
}

/* ---- controller ---- */

static bool start(gm_machine *m) {
  gm_loader *l = &m->ld;
  const gm_command *c = &l->queue[l->head].command;
  int id = c->funct == GM_MVIN ? 0 : c->funct == GM_MVIN2 ? 1 : 2;
  const gm_load_registers *r = &gm_arch_registers(m->arch)->load[id];
  if (!gm_arch_load(m->arch, c, m->why)) return false;
  uint32_t local = gm_local(c->rs2);
  bool acc = gm_is_acc(local), wide = acc && !r->shrink, zeros = c->rs1 == 0;
  int element = wide ? m->acc_bytes : m->input_bytes;
  int rows = gm_rows(c->rs2);
  bool repeat = r->stride == 0 && !zeros;
  l->rows = repeat ? 1 : rows;
  l->row = 0;
  l->stride = r->stride;
  int slot = 0;
  while (l->tracker[slot].valid) slot++;
  /* The zero writer counts the bytes of a row by the width of its destination (Scratchpad.scala:
   * zero_writer_bytes_read). */
  const int bytes = gm_cols(c->rs2) * (zeros && acc ? m->acc_bytes : zeros ? m->input_bytes : element);
  gm_mvin *t = &l->tracker[slot];
  *t = (gm_mvin){.valid = true,
                 .entry = l->queue[l->head].entry,
                 .acc = acc,
                 .wide = wide,
                 .accumulate = gm_accumulates(local),
                 .unit_scale = r->scale == 1.0f,
                 .pixels = (uint8_t)(r->pixel_repeats - 1),
                 .bytes = (uint16_t)bytes,
                 .block_stride = (uint16_t)r->block_stride,
                 .repeats = (uint16_t)(repeat ? rows - 1 : 0),
                 .returned = GM_NEVER};
  t->plain = l->beat_is_row && !acc && t->unit_scale && !t->repeats && !t->pixels;
  t->bytes_left = t->bytes * l->rows;
  l->next = (gm_mvin_row){c->rs1, gm_row_of(m, local), (uint8_t)slot};
  l->zeros = zeros;
  l->trackers_busy++;
  l->sending = true;
  return true;
}

static bool send_row(gm_loader *l) {
  if (l->zeros) {
    if (l->zero_busy) return false;
    l->zero = l->next;
    l->zero_busy = l->flows = true;
    l->zero_column = 0;
  } else {
    if (l->issue_count >= l->issue_depth) return false;
    l->issue[(l->issue_head + l->issue_count++) & (GM_READ_ISSUE - 1)] = l->next;
  }
  l->next.address += l->stride;
  l->next.row++;
  l->row++;
  return true;
}

static void drop(gm_machine *m) {
  gm_loader *l = &m->ld;
  l->head = (l->head + 1) & (GM_LOAD_QUEUE - 1);
  l->count--;
  gm_wake(m, GM_UNIT_STATION, m->now);
}

static void controller(gm_machine *m) {
  gm_loader *l = &m->ld;
  if (l->last_sent) { /* a command of one row: the controller notices a cycle later */
    l->last_sent = false;
    l->sending = false;
    drop(m);
    return;
  }
  if (!l->sending) {
    if (!l->count || l->queue[l->head].ready > m->now) return;
    const gm_command *c = &l->queue[l->head].command;
    if (c->funct == GM_CONFIG) {
      if (gm_arch_config(m->arch, c, m->why)) drop(m);
      return;
    }
    if (l->trackers_busy >= l->trackers) return;
    if (!start(m)) return;
  }
  if (send_row(l) && l->row == l->rows) {
    if (l->rows == 1) {
      l->last_sent = true;
    } else {
      l->sending = false;
      drop(m);
    }
  }
}

/* The next cycle in which any part of the loader may move. */
static uint64_t next_move(const gm_machine *m) {
  const gm_loader *l = &m->ld;
  const uint64_t soon = m->now + 1;
  const bool room = l->zeros | (l->issue_count < l->issue_depth);
  const bool requests = l->has_queued | (l->reading & (l->packets_free != 0)),
             issues = !l->reading & (l->issue_count != 0);
  if (l->flows | issues | (l->sending & room) | l->last_sent | (!l->stalled & requests)) return soon;
  uint64_t next = (l->has_translated & !l->stalled) ? later(l->translated_from, soon) : GM_NEVER;
  if (l->freed && l->reading && !(l->stalled & l->has_queued & l->has_translated))
    next = earlier(next, later(l->freed_at + 1, soon));
  if (l->freed && (l->freed | l->packets_free) == l->all_packets)
    next = earlier(next, later(l->freed_at, soon)); /* a fence may wait */
  if (l->count && !l->sending && (l->trackers_busy < l->trackers || l->queue[l->head].command.funct == GM_CONFIG))
    next = earlier(next, later(l->queue[l->head].ready, soon));
  return earlier(next, later(later(l->next_beat, m->l2.answer_from), soon));
}

void gm_read_step(gm_machine *m) {
  dma_step(m);
  controller(m);
  gm_wake(m, GM_UNIT_READ, next_move(m));
}

bool gm_loader_busy(const gm_machine *m) {
  const gm_loader *l = &m->ld;
  const uint64_t freed = l->freed_at < m->now ? l->freed : 0;
  return l->issue_count || l->reading || (l->packets_free | freed) != l->all_packets;
}
