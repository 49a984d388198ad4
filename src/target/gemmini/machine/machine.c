/* machine.c - the clock: advances all units to the cycle of the core's next command, fence or cache refill.
 *
 * The core runs ahead between commands. The accelerator catches up when the core needs its answer. Each unit knows the
 * next cycle in which it may act. Cycles before the earliest of these are skipped, and in other cycles only active
 * units run. */
#include "target/gemmini/machine/machine.h"

#include <stdlib.h>

#include "target/gemmini/machine/internal.h"

/* Parts of the L2's latency on hits: cycles between a request's acceptance and the departure of its first beat
 * (sim/l2.h: two for the directory, two stages), and beats in the buffers between it and the DMA (three TLBuffers of
 * two). */
enum { L2_STAGES = 4, ANSWER_BUFFER = 6 };

static int log2_of(unsigned n) { return 31 - __builtin_clz(n); }

gm_machine *gm_machine_new(const gm_config *c, const rv64_memory *memory, tw_error *error) {
  gm_machine *m = calloc(1, sizeof *m);
  if (!m || !(m->arch = gm_arch_new(c, memory))) {
    free(m);
    tw_no_memory(error, "the simulated machine");
    return NULL;
  }
  gm_arch_keep_order(m->arch, true);
  if (c->spad_banks > GM_BANKS || c->acc_banks > GM_BANKS || c->rs_load + c->rs_execute + c->rs_store >= GM_RS_MAX ||
      c->queue_load > GM_LOAD_QUEUE || c->queue_execute > GM_EX_QUEUE || c->queue_store > GM_STORE_QUEUE ||
      c->max_in_flight_reads > GM_XACTS || c->max_in_flight_reads / c->dim + 1 > GM_TRACKERS ||
      c->spad_read_delay + 1 > GM_READ_ISSUE || 4 * (c->spad_read_delay + 2) > GM_STORE_RING ||
      5 * (c->tile_latency + 1) + 1 > GM_TAGS || c->dim * 2 * (c->tile_latency + 1) + c->mesh_output_delay > GM_ROWS) {
    tw_fail(error, TW_USAGE,
            "%s: banks, queues, latencies or requests in flight exceed the simulator's limits (internal.h)", c->name);
    gm_machine_free(m);
    return NULL;
  }
  m->config = *c;
  m->limit = UINT64_MAX;
  for (int u = 0; u < GM_UNITS; u++) m->wake[u] = 0;
  gm_front_init(m);
  m->memory = memory;
  m->dim_shift = log2_of((unsigned)c->dim);
  m->beat_shift = log2_of((unsigned)c->dma_bus_bits / 8);
  m->input_shift = m->dim_shift + log2_of((unsigned)gm_input_bytes(c));
  m->acc_shift = m->dim_shift + log2_of((unsigned)gm_acc_bytes(c));
  m->input_bytes = gm_input_bytes(c);
  m->acc_bytes = gm_acc_bytes(c);
  m->spad_bank_shift = log2_of((unsigned)gm_spad_bank_rows(c));
  m->acc_bank_shift = log2_of((unsigned)gm_acc_bank_rows(c));
  m->spad_rows = (uint32_t)gm_spad_rows(c);
  m->acc_rows = (uint32_t)gm_acc_rows(c);
  const l2_parameters p = {
      .line_bytes = 64,
      .beat_bytes = c->dma_bus_bits / 8,
      .port_bytes = c->port_bytes,
      .bytes = c->l2_bytes,
      .ways = c->l2_ways,
      .request_latency = (c->l2_latency - L2_STAGES) / 2,
      .answer_latency = c->l2_latency - L2_STAGES - (c->l2_latency - L2_STAGES) / 2,
      .answer_buffer = ANSWER_BUFFER,
      .misses = c->l2_misses,
      .fill_latency = c->l2_fill_latency + c->llc_hit,
      .llc_bytes = c->llc_bytes,
      .llc_miss_extra = c->llc_miss - c->llc_hit,
      .write_interval = c->l2_write_interval,
      .write_latency = c->l2_fill_latency + c->llc_hit,
  };
  if (l2_init(&m->l2, &p, error) != TW_OK) {
    gm_machine_free(m);
    return NULL;
  }
  for (size_t i = 0; i < memory->n_regions; i++) l2_warm_llc(&m->l2, memory->region[i].base, memory->region[i].size);
  gm_station_init(m);
  gm_load_init(m);
  gm_execute_init(m);
  gm_store_init(m);
  gm_loop_ws_init(&m->loop, c);
  gm_loop_conv_init(&m->conv, c);
  return m;
}

void gm_machine_free(gm_machine *m) {
  if (!m) return;
  gm_arch_free(m->arch);
  l2_free(&m->l2);
  free(m);
}

/* ---- clock ---- */

static bool front_empty(const gm_machine *m) { return !m->front.count && !gm_loops_busy(m); }

void gm_look_at_l2(gm_machine *m) {
  const uint64_t next = l2_next_answer(&m->l2);
  m->wake[GM_UNIT_L2] = next == GM_NEVER ? GM_NEVER : next + gm_l2_lag(m);
  if (m->ld.stalled | m->st.stalled) gm_await_room(m);
  gm_wake(m, GM_UNIT_READ, m->l2.answer_from > m->ld.next_beat ? m->l2.answer_from : m->ld.next_beat);
  if (m->ld.stalled && !l2_reader_is_full(&m->l2)) gm_wake(m, GM_UNIT_READ, m->now + !l2_read_has_room(&m->l2, m->now));
  if (m->st.stalled && !l2_writer_is_full(&m->l2)) gm_wake(m, GM_UNIT_STORE, m->now + !l2_put_has_room(&m->l2, m->now));
}

static bool awake(const gm_machine *m, enum gm_unit unit) { return m->wake[unit] <= m->now; }

__attribute__((noinline)) static void step(gm_machine *m) {
  if (m->now > m->limit && !m->why[0])
    snprintf(m->why, sizeof m->why, "the accelerator is still running after %llu cycles, the limit",
             (unsigned long long)m->limit);
  m->spad_written = gm_settled_bank(m, m->now);
  m->spad_read = m->acc_written = m->acc_accumulated = 0;
  m->ex.mesh_done = -1;
  if (m->events.counts) gm_events_step(m);
  if (awake(m, GM_UNIT_ARRAY)) {
    m->wake[GM_UNIT_ARRAY] = GM_NEVER;
    gm_array_step(m);
  }
  gm_write_bank(m, m->spad_written);
  if (awake(m, GM_UNIT_L2)) {
    m->wake[GM_UNIT_L2] = GM_NEVER;
    l2_run(&m->l2, m->now);
    gm_look_at_l2(m);
  }
  if (awake(m, GM_UNIT_READ)) {
    m->wake[GM_UNIT_READ] = GM_NEVER;
    gm_read_step(m);
  }
  if (awake(m, GM_UNIT_EXECUTE)) {
    m->wake[GM_UNIT_EXECUTE] = GM_NEVER;
    gm_execute_step(m);
  }
  if (awake(m, GM_UNIT_STORE)) {
    m->wake[GM_UNIT_STORE] = GM_NEVER;
    gm_store_step(m);
  }
  if (awake(m, GM_UNIT_STATION)) {
    m->wake[GM_UNIT_STATION] = GM_NEVER;
    gm_station_step(m);
  }
  if (awake(m, GM_UNIT_FRONT)) {
    m->wake[GM_UNIT_FRONT] = GM_NEVER;
    gm_front_step(m);
  }
  m->now++;
}

/* In pairs, because each step waits for the previous result. */
static uint64_t next_wake(const gm_machine *m) {
  const uint64_t *w = m->wake;
  const uint64_t memories = earlier(w[GM_UNIT_L2], w[GM_UNIT_READ]),
                 array = earlier(w[GM_UNIT_ARRAY], w[GM_UNIT_EXECUTE]);
  const uint64_t commands = earlier(w[GM_UNIT_STATION], w[GM_UNIT_FRONT]);
  return earlier(earlier(memories, array), earlier(commands, w[GM_UNIT_STORE]));
}

/* Simulates all events before `cycle`. */
static void advance_to(gm_machine *m, uint64_t cycle) {
  while (m->now < cycle && !m->why[0]) {
    uint64_t next = next_wake(m);
    m->now = later(m->now, earlier(next, cycle));
    if (m->now < cycle) step(m);
  }
}

/* Simulates the next cycle in which something happens; there must be one. */
static void advance(gm_machine *m) {
  uint64_t next = next_wake(m);
  if (next == GM_NEVER) {
    snprintf(m->why, sizeof m->why, "deadlock in the accelerator: its commands wait for one another");
    return;
  }
  if (next > m->now) m->now = next;
  step(m);
}

/* Simulates all events before `cycle`, and then until the front queues have room. */
static void advance_to_room(gm_machine *m, uint64_t cycle) {
  while (!m->why[0]) {
    const uint64_t room = m->front.room, next = next_wake(m), end = later(room, cycle);
    if (m->now >= end) return;
    if (next >= end) {
      if (end == GM_NEVER) advance(m); /* GM_NEVER: nothing else will happen */
      m->now = end;
      return;
    }
    m->now = later(next, m->now);
    step(m);
  }
}

static bool failed(gm_machine *m, char why[256]) {
  if (!m->why[0]) return false;
  snprintf(why, 256, "%s", m->why);
  return true;
}

/* ---- ports ---- */

static void note_pc(void *context, uint64_t pc) { ((gm_machine *)context)->place = pc; }

static void load(void *context, uint64_t pc, uint64_t address, unsigned size) {
  gm_machine *m = context;
  const rv64_region *r = m->last_loaded;
  if (!r || address - r->base >= r->size) {
    m->last_loaded = r = rv64_region_find(m->memory, address, size);
    m->loads_count = r && r->rights & RV64_WRITE && r->name[0] != '.' && strcmp(r->name, "stack") != 0;
  }
  if (m->loads_count && !m->any_order) gm_arch_core_reads(m->arch, pc, address, size);
}

static uint64_t command(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                        rv64_answer *answer, char why[256]) {
  gm_machine *m = context;
  if ((instruction & 0x7f) != 0x7b) { /* custom-3 */
    snprintf(why, 256, "custom instruction 0x%08x: unsupported; Gemmini uses custom-3 only", instruction);
    return UINT64_MAX;
  }
  advance_to_room(m, cycle);
  if (failed(m, why)) return UINT64_MAX;
  uint64_t accepted = m->now;
  if (next_wake(m) <= m->now)
    step(m); /* a request accepted in this cycle moves on in the next */
  else
    m->now++;
  const gm_command given = {
      .funct = (uint8_t)(instruction >> 25), .order = gm_arch_issue(m->arch, m->place), .rs1 = rs1, .rs2 = rs2};
  gm_front_push(m, &given);
  if (m->trace.file) gm_trace_span(m, "core", accepted > cycle ? "waits to issue" : "issues", cycle, accepted + 1);
  if (m->listener.command) m->listener.command(m->listener.context, &given, cycle, accepted);
  if (given.funct == GM_COUNTER) { /* the only command with an answer */
    m->answer.cycle = 0;
    while (!m->answer.cycle && !m->why[0]) advance(m);
    if (failed(m, why)) return UINT64_MAX;
    *answer = m->answer;
  }
  return accepted;
}

/* The value of io.busy (Controller.scala:443): a preload alone does not count as busy. */
static bool busy(const gm_machine *m) {
  return !front_empty(m) || gm_station_busy(m) || gm_loader_busy(m) || gm_storer_busy(m);
}

static uint64_t fence(void *context, uint64_t cycle, char why[256]) {
  gm_machine *m = context;
  advance_to(m, cycle);
  m->counters.fences++;
  gm_executor_count_idle(m);
  m->fencing = true;
  gm_wake(m, GM_UNIT_EXECUTE, m->now);
  while (busy(m) && !m->why[0]) advance(m);
  m->fencing = false;
  gm_arch_fence(m->arch);
  if (failed(m, why)) return UINT64_MAX;
  if (!m->counters.commands) gm_machine_start(m, m->now); /* the harness's fence before its first mark */
  uint64_t passed = m->now > cycle ? m->now : cycle;
  if (m->trace.file) gm_trace_span(m, "core", "fence", cycle, passed);
  if (m->listener.fence) m->listener.fence(m->listener.context, cycle, passed);
  return passed;
}

/* The L2's latencies are as seen by the DMA, which reaches the tile's bus through two buffers in either direction
 * (Scratchpad.scala 200-202: TLBuffer, a cycle each); the core's caches have none. */
enum { DMA_BUFFERS = 2 };

/* One line for each L1 at a time: its cookie says which. */
static void ask(gm_machine *m, uint64_t cycle, uint64_t line, rv64_miss why) {
  static const uint32_t cookie[] = {[RV64_LOAD_MISS] = 0,
                                    [RV64_STORE_MISS] = L2_TO_WRITE,
                                    [RV64_RIGHT_MISS] = L2_TO_WRITE | L2_RIGHT_ALONE,
                                    [RV64_FETCH_MISS] = L2_OF_INSTRUCTIONS};
  const int bytes = why == RV64_RIGHT_MISS ? m->l2.p.beat_bytes : m->l2.p.line_bytes;
  m->refill[why == RV64_FETCH_MISS].last_beat = 0;
  if (cycle < m->now) cycle = m->now; /* the simulated state is unchanged */
  l2_send(&m->l2, L2_CORE, cycle - DMA_BUFFERS, L2_REFILL, line, bytes, cookie[why]);
  gm_wake_l2(m);
}

static uint64_t refill(void *context, uint64_t cycle, uint64_t line, rv64_miss why) {
  gm_machine *m = context;
  const bool is_instruction = why == RV64_FETCH_MISS;
  advance_to(m, cycle);
  ask(m, cycle, line, why);
  while (!m->refill[is_instruction].last_beat && !m->why[0]) advance(m);
  return m->why[0] ? m->now : m->refill[is_instruction].last_beat - DMA_BUFFERS;
}

static void writeback(void *context, uint64_t cycle, uint64_t line) {
  gm_machine *m = context;
  advance_to(m, cycle);
  l2_send(&m->l2, L2_CORE, m->now, L2_WRITEBACK, line, m->l2.p.line_bytes, 0);
  gm_wake_l2(m);
}

static void wrote(void *context, uint64_t cycle, uint64_t line) {
  gm_machine *m = context;
  (void)cycle;
  l2_note_write(&m->l2, m->now - 1, line);
}

static bool lost(void *context, uint64_t cycle, uint64_t *line, bool *stays) {
  gm_machine *m = context;
  advance_to(m, cycle);
  const uint64_t probed = l2_take_probe(&m->l2, m->now - 1, stays);
  *line = (probed - 1) * (uint64_t)m->l2.p.line_bytes;
  return probed;
}

static uint64_t loses_until(void *context, uint64_t cycle) {
  const gm_machine *m = context;
  return l2_probes_until(&m->l2, cycle);
}

rv64_ports gm_machine_ports(gm_machine *m) {
  return (rv64_ports){.context = m,
                      .place = note_pc,
                      .load = load,
                      .command = command,
                      .fence = fence,
                      .refill = refill,
                      .writeback = writeback,
                      .wrote = wrote,
                      .lost = lost,
                      .loses_until = loses_until};
}

void gm_machine_limit(gm_machine *m, uint64_t max_cycles) { m->limit = max_cycles; }

/* ---- counters and trace ---- */

void gm_machine_start(gm_machine *m, uint64_t cycle) {
  advance_to(m, cycle);
  gm_executor_count_idle(m);
  memset(&m->counters, 0, sizeof m->counters);
  m->l2.hits = m->l2.fills = m->l2.llc_misses = 0;
  m->counted_from = cycle;
}

gm_counters gm_machine_finish(gm_machine *m, uint64_t begin, uint64_t end) {
  if (!m->why[0]) advance_to(m, end);
  gm_executor_count_idle(m);
  gm_counters c = m->counters;
  if (begin < m->counted_from) begin = m->counted_from;
  const uint64_t before = begin - m->counted_from;
  c.wait_cpu -= before < c.wait_cpu ? before : c.wait_cpu;
  c.cycles = end - begin;
  c.l2_hits = m->l2.hits;
  c.l2_fills = m->l2.fills;
  c.llc_misses = m->l2.llc_misses;
  c.short_strides = gm_arch_short_strides(m->arch);
  if (m->trace.file) tw_trace_end(&m->trace, "core", (double)begin, (double)end);
  return c;
}

gm_memory_use gm_machine_memory_use(const gm_machine *m) { return gm_arch_memory_use(m->arch); }

void gm_machine_listen(gm_machine *m, const gm_listener *listener) { m->listener = *listener; }

void gm_machine_trace(gm_machine *m, FILE *f) {
  static const char *const unit[] = {"core", "load", "execute", "array", "store"}; /* as a viewer shows them */
  m->trace = tw_trace_begin(f, 1);
  for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) tw_trace_lane(&m->trace, unit[i]);
}

void gm_trace_span(gm_machine *m, const char *unit, const char *name, uint64_t from, uint64_t to) {
  tw_trace_span(&m->trace, unit, name, (double)from, (double)to);
}

void gm_machine_allow_any_order(gm_machine *m) {
  m->any_order = true;
  gm_arch_keep_order(m->arch, false);
}
