/* machine.c - runs the instructions on five in-order engines.
 *
 * Each step takes, of all engines, the instruction that can start first; its predecessors must have been taken. An
 * engine offers the first instruction of its queue; with look-ahead, the ready one of the first few that can start first.
 * If the compiler sees the whole program, two heaps for each engine hold the ready instructions: of those whose data has
 * arrived, the one with the least priority is offered. This is near-linear in the length of a program.
 *
 * Transfers start on their engine and enter its DMA queue (dma.h). Their ends are events between the steps. */
#include "target/trainium/timing/machine.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/heap.h"
#include "target/trainium/timing/dma.h"

trn_clock trn_clock_start(const trn_config_tensor *t) { return (trn_clock){t, t->slow_rate, t->window_phase_ns, 0}; }

static void end_window(trn_clock *c) {
  const double use = c->used / c->config->window_ns;
  if (c->rate < 1 && use >= c->config->up_use)
    c->rate = 1;
  else if (c->rate >= 1 && use < c->config->down_use)
    c->rate = c->config->slow_rate;
  c->used = 0;
  c->window_end += c->config->window_ns;
}

double trn_clock_run(trn_clock *c, double start, double work, double fill) {
  double now = start;
  if (c->config->slow_rate >= 1) return start + work;
  while (c->window_end <= now) end_window(c);
  while (now + work / c->rate > c->window_end) {
    const double part = c->window_end - now;
    c->used += part * c->rate * fill;
    work -= part * c->rate;
    now = c->window_end;
    end_window(c);
  }
  c->used += work * fill;
  return now + work / c->rate;
}

/* An engine's instructions in program order; instructions before `head` have been taken. */
typedef struct queue {
  int *instruction;
  size_t n, head;
  /* for TRN_WHOLE_PROGRAM: ready instructions, by the arrival of their data and by priority, and some that were taken */
  tw_heap arriving, arrived;
  double free;
  int issued;
  int known[TRN_ENGINES]; /* number of instructions of each engine whose end this engine has waited for */
  int candidate;          /* -1: none is ready */
  double candidate_start;
  bool is_stale;
} queue;

enum { WAITS_MAX = 64, STATIC_LOOK_AHEAD = 64 };

/* The progress of an instruction. */
typedef struct state {
  double visible;        /* time at which other engines see its end */
  double earliest;       /* it starts no earlier: the previous instructions of its nl.no_reorder start by then */
  int8_t engine;         /* -1: not taken */
  uint8_t was_awaited;   /* transfers: a bit for each engine that has waited for it */
  int number;            /* within its engine */
  int pending;           /* number of predecessors that have not been taken */
  int priority;          /* the least is taken first: a transfer that is needed first is loaded first */
  int next[TRN_ENGINES]; /* the next instruction of its nl.no_reorder, for each engine; 0: none */
} state;

typedef struct machine {
  tw_blocks memory;
  const trn_config *config;
  const trn_compiled *c;
  const trn_hazards *h;
  trn_timing *out;
  queue queue[TRN_ENGINES];
  trn_clock clock;
  double load_free, array_free, software_trigger; /* software_trigger: start of the last one */
  double port_free; /* when Vector and GpSimd can access SBUF again, if they share a port */
  int table;
  trn_dma dma;
  state *state;
  size_t span_capacity;
} machine;

static double wait_ns(const trn_config_sync *s, trn_engine e) {
  const double ns[TRN_ENGINES] = {s->wait_tensor_ns, s->wait_vector_ns, s->wait_scalar_ns, s->wait_gpsimd_ns,
                                  s->wait_sync_ns};
  return ns[e];
}

static bool is_dma(const machine *m, int i) { return m->c->program->instruction[i].opcode == TRN_DMA; }

/* The instructions that an engine must wait for, one for each producer, earliest first. */
typedef struct waits {
  int n;
  double at[WAITS_MAX];
} waits;

static void add_wait(waits *w, double at) {
  if (w->n == WAITS_MAX) memmove(w->at, w->at + 1, (size_t)--w->n * sizeof *w->at); /* the last wait counts */
  int place = w->n++;
  for (; place > 0 && w->at[place - 1] > at; place--) w->at[place] = w->at[place - 1];
  w->at[place] = at;
}

static waits waits_of(const machine *m, int i, trn_engine e) {
  waits w = {0};
  double of_engine[TRN_ENGINES] = {0};
  bool waits_for[TRN_ENGINES] = {false};
  const queue *q = &m->queue[e];
  for (size_t k = m->h->first[i]; k < m->h->end[i]; k++) {
    const int from = m->h->edge[k].instruction;
    const trn_engine producer = (trn_engine)m->state[from].engine;
    if (is_dma(m, from)) {
      if (!(m->state[from].was_awaited >> e & 1)) add_wait(&w, m->state[from].visible);
      continue;
    }
    if (producer == e && m->h->edge[k].is_order) continue;
    if (m->state[from].number < q->known[producer]) continue;
    waits_for[producer] = true;
    if (m->state[from].visible > of_engine[producer]) of_engine[producer] = m->state[from].visible;
  }
  for (int p = 0; p < TRN_ENGINES; p++)
    if (waits_for[p]) add_wait(&w, of_engine[p]);
  return w;
}

/* When the waits are over, on an engine that is free from a given time on. All waits but the last are instructions. */
static double after_waits(const machine *m, const waits *w, trn_engine e, double now) {
  for (int k = 0; k < w->n; k++) {
    if (w->at[k] > now) now = w->at[k];
    if (k + 1 < w->n) now += wait_ns(&m->config->sync, e);
  }
  return now;
}

static bool needs_port(const machine *m, int i, trn_engine e) {
  const trn_instruction *in = &m->c->program->instruction[i];
  bool is_in_sbuf = false;
  for (int k = 0; k < in->n_operands; k++) is_in_sbuf |= trn_tensor_of(m->c, in, k)->memory == TRN_SBUF;
  return m->config->gpsimd.shares_port && is_in_sbuf && in->opcode != TRN_DMA && (e == TRN_VECTOR || e == TRN_GPSIMD);
}

static double start_of(const machine *m, int i, trn_engine e) {
  const waits w = waits_of(m, i, e);
  const double start = fmax(after_waits(m, &w, e, m->queue[e].free), m->state[i].earliest);
  return needs_port(m, i, e) ? fmax(start, m->port_free) : start;
}

static void remember_waits(machine *m, int i, trn_engine e) {
  queue *q = &m->queue[e];
  for (size_t k = m->h->first[i]; k < m->h->end[i]; k++) {
    const int from = m->h->edge[k].instruction;
    const int producer = m->state[from].engine;
    if (is_dma(m, from))
      m->state[from].was_awaited |= (uint8_t)(1u << e);
    else if (!((int)e == producer && m->h->edge[k].is_order) && m->state[from].number >= q->known[producer])
      q->known[producer] = m->state[from].number + 1;
  }
}

/* Called when all predecessors of an instruction have been taken. */
static void offer(machine *m, int i) {
  for (int e = 0; e < TRN_ENGINES; e++) {
    if (!(m->c->engines[i] >> e & 1)) continue;
    m->queue[e].is_stale = true;
    if (m->c->look_ahead < TRN_WHOLE_PROGRAM) continue;
    const waits w = waits_of(m, i, (trn_engine)e);
    tw_heap_push(&m->queue[e].arriving,
                 (tw_heap_entry){fmax(w.n ? w.at[w.n - 1] : 0, m->state[i].earliest), m->state[i].priority, i});
  }
}

/* NULL: no instruction of the heap is left. */
static const tw_heap_entry *first_of(const machine *m, tw_heap *h) {
  while (h->n && m->state[h->entry->value].engine >= 0) tw_heap_pop(h);
  return h->n ? h->entry : NULL;
}

static void find_in_program(machine *m, trn_engine e) {
  queue *q = &m->queue[e];
  const tw_heap_entry *next;
  while ((next = first_of(m, &q->arriving)) && next->at <= q->free) {
    const tw_heap_entry now = tw_heap_pop(&q->arriving);
    tw_heap_push(&q->arrived, (tw_heap_entry){0, now.priority, now.value});
  }
  const tw_heap_entry *first = first_of(m, &q->arrived);
  if (!first) first = next;
  q->candidate = first ? first->value : -1;
  if (first) q->candidate_start = start_of(m, q->candidate, e);
}

static void find_candidate(machine *m, trn_engine e) {
  queue *q = &m->queue[e];
  q->is_stale = false;
  if (m->c->look_ahead == TRN_WHOLE_PROGRAM) {
    find_in_program(m, e);
    return;
  }
  q->candidate = -1;
  while (q->head < q->n && m->state[q->instruction[q->head]].engine >= 0) q->head++;
  /* static descriptors wait for their own data alone, not for the transfers before them */
  const int most = e == TRN_SYNC && m->c->static_dma && m->c->look_ahead > 1 ? STATIC_LOOK_AHEAD : m->c->look_ahead;
  int seen = 0;
  for (size_t k = q->head; k < q->n && seen < most; k++) {
    const int i = q->instruction[k];
    if (m->state[i].engine >= 0) continue;
    seen++;
    if (m->state[i].pending) continue;
    const double start = start_of(m, i, e);
    if (q->candidate >= 0 && (start > q->candidate_start ||
                              (start == q->candidate_start && m->state[i].priority >= m->state[q->candidate].priority)))
      continue;
    q->candidate = i;
    q->candidate_start = start;
  }
}

static bool add_span(machine *m, trn_span span) {
  trn_timing *t = m->out;
  if (!trn_room((void **)&t->span, t->n_spans, &m->span_capacity, sizeof *t->span)) return false;
  t->span[t->n_spans++] = span;
  return true;
}

/* The array multiplies while the stationary operand of the next multiplication loads. */
static void run_on_array(machine *m, int i, double start) {
  const trn_config_tensor *t = &m->config->tensor;
  const trn_tensor_cost cost = trn_cost_of_tensor(m->config, &m->c->program->instruction[i]);
  double multiply = 0, end = 0;
  double load = fmax(start, m->load_free);
  for (int pass = 0; pass < cost.passes; pass++) {
    multiply = fmax(load + t->load_ns, m->array_free);
    end = trn_clock_run(&m->clock, multiply, cost.rows / cost.passes, cost.fill);
    m->array_free = end + t->issue_ns;
    if (cost.is_32) m->array_free = fmax(m->array_free, multiply + t->load_interval_32_ns / m->clock.rate);
    m->load_free = load = multiply;
  }
  m->out->start[i] = start;
  m->out->end[i] = end + (m->clock.rate < 1 ? t->slow_done_ns : t->done_ns);
  m->out->busy[TRN_TENSOR] += end - start;
  m->queue[TRN_TENSOR].free = multiply;
}

static bool start_transfer(machine *m, int i, trn_engine e, double ready) {
  const trn_config_dma *d = &m->config->dma;
  const trn_dma_cost cost = trn_cost_of_dma(m->config, m->c, &m->c->program->instruction[i]);
  double start = ready, issue = d->hardware_issue_ns, first = d->hardware_write_ns;
  if (cost.read) first = cost.packet_bytes > d->small_bytes ? d->hardware_read_large_ns : d->hardware_read_ns;
  if (cost.kind == TRN_DMA_SOFTWARE) {
    start = fmax(start + d->software_prepare_ns, m->software_trigger + d->software_issue_ns);
    m->software_trigger = start;
    issue = 0;
    first = cost.read ? d->software_read_ns : d->software_write_ns;
  } else if (cost.kind == TRN_DMA_STATIC) {
    issue = d->static_issue_ns;
    first = d->static_first_ns;
  }
  trn_transfer t = {i, start + first, {0}, start + first + cost.least, -1, 0};
  for (int g = 0; g < TRN_DMA_GROUPS; g++) t.work[g] = cost.work[g];
  if (!trn_dma_start(&m->dma, e, t)) return false;
  m->out->start[i] = start;
  m->out->end[i] = INFINITY;
  for (int g = 0; g < TRN_DMA_GROUPS; g++) m->out->dma_busy += cost.work[g] / TRN_DMA_GROUPS;
  m->out->hbm_read += cost.read;
  m->out->hbm_written += cost.written;
  /* Software descriptors are prepared while the engine continues. */
  m->queue[e].free = cost.kind == TRN_DMA_SOFTWARE ? ready : start + issue;
  m->out->busy[e] += issue;
  return add_span(m, (trn_span){i, e, start, start + issue});
}

static void release(machine *m, int i) {
  if (--m->state[i].pending == 0) offer(m, i);
}

/* Called when an instruction has been taken or a transfer is complete: its successors may become ready. */
static void release_successors(machine *m, int i) {
  for (size_t k = m->h->first_successor[i]; k < m->h->first_successor[i + 1]; k++) release(m, m->h->successor[k]);
}

/* An instruction that another engine could have taken does not start before the previous instructions of its block. */
static void release_block(machine *m, int i) {
  for (int e = 0; e < TRN_ENGINES; e++) {
    const int next = m->state[i].next[e];
    if (!next) continue;
    m->state[next].earliest = fmax(m->state[next].earliest, m->out->start[i]);
    release(m, next);
  }
}

static bool finish_transfer(machine *m, const trn_transfer *t, trn_engine e) {
  const double end = fmax(m->dma.now, t->least);
  m->out->end[t->instruction] = end;
  m->state[t->instruction].visible = end + m->config->dma.notice_ns;
  release_successors(m, t->instruction);
  return add_span(m, (trn_span){t->instruction, TRN_ENGINES + (int)e, t->begin, end});
}

static bool take(machine *m, trn_engine e) {
  queue *q = &m->queue[e];
  const int i = q->candidate;
  const trn_instruction *in = &m->c->program->instruction[i];
  double start = q->candidate_start;
  remember_waits(m, i, e);
  m->state[i].engine = (int8_t)e;
  m->state[i].number = q->issued++;
  if (in->opcode == TRN_DMA) {
    if (!start_transfer(m, i, e, start)) return false;
  } else {
    const int table = e == TRN_SCALAR ? trn_table_of(in->function) : 0;
    if (table && table != m->table) { /* the table loads during the wait */
      start = fmax(start, q->free + m->config->scalar.table_ns);
      m->out->busy[e] += m->config->scalar.table_ns;
      m->out->table_loads++;
      m->table = table;
    }
    if (e == TRN_TENSOR) {
      run_on_array(m, i, start);
    } else {
      const trn_cost cost = trn_cost_of(m->config, m->c, in, e);
      q->free = start + cost.issue;
      if (needs_port(m, i, e)) {
        m->port_free = q->free;
        m->queue[TRN_VECTOR].is_stale = m->queue[TRN_GPSIMD].is_stale = true;
      }
      m->out->start[i] = start;
      m->out->end[i] = start + cost.completion;
      m->out->busy[e] += cost.issue;
    }
    m->state[i].visible = m->out->end[i] + m->config->sync.handoff_ns;
    if (!add_span(m, (trn_span){i, e, m->out->start[i], m->out->end[i]})) return false;
  }
  q->is_stale = true;
  if (in->opcode != TRN_DMA) release_successors(m, i);
  release_block(m, i);
  for (int other = 0; other < TRN_ENGINES; other++)
    if (m->c->engines[i] >> other & 1) m->queue[other].is_stale = true;
  return true;
}

/* Takes all instructions; false without memory, or if instructions wait for each other. */
static bool run_all(machine *m) {
  for (;;) {
    int best = -1;
    for (int e = 0; e < TRN_ENGINES; e++) {
      if (m->queue[e].is_stale) find_candidate(m, (trn_engine)e);
      if (m->queue[e].candidate < 0) continue;
      const queue *q = &m->queue[e], *b = best < 0 ? NULL : &m->queue[best];
      if (!b || q->candidate_start < b->candidate_start ||
          (q->candidate_start == b->candidate_start && q->candidate < b->candidate))
        best = e;
    }
    trn_engine from = TRN_SYNC;
    const trn_transfer *done = trn_dma_move(&m->dma, best < 0 ? INFINITY : m->queue[best].candidate_start, &from);
    if (done ? !finish_transfer(m, done, from) : best >= 0 && !take(m, (trn_engine)best)) return false;
    if (!done && best < 0) return true;
  }
}

/* True for an instruction that was neither removed nor merged into another. */
static bool runs(const machine *m, size_t i) { return !m->c->is_removed[i] && m->c->leader[i] == (int)i; }

/* An engine takes the instructions of an nl.no_reorder in the order of the source. Instructions of different engines may
 * overlap: NKI documents an order of issue, without a wait between engines. */
static bool fill_queues(machine *m) {
  const trn_program *p = m->c->program;
  for (size_t i = 0; i < p->n_instructions; i++) {
    m->state[i].engine = -1;
    m->state[i].pending = (int)(m->h->end[i] - m->h->first[i]);
  }
  for (int e = 0; e < TRN_ENGINES; e++) {
    queue *q = &m->queue[e];
    for (size_t i = 0; i < p->n_instructions; i++) q->n += runs(m, i) && (m->c->engines[i] >> e & 1);
    const size_t ready = m->c->look_ahead == TRN_WHOLE_PROGRAM ? q->n + 1 : 1;
    q->instruction = tw_blocks_take(&m->memory, (q->n + 1) * sizeof *q->instruction);
    q->arriving.entry = tw_blocks_take(&m->memory, ready * sizeof *q->arriving.entry);
    q->arrived.entry = tw_blocks_take(&m->memory, ready * sizeof *q->arrived.entry);
    if (!q->instruction || !q->arriving.entry || !q->arrived.entry) return false;
    q->n = 0;
    q->is_stale = true;
    for (size_t at = 0, before = 0; at < p->n_instructions; at++) {
      const int i = m->c->order[at], block = p->instruction[i].block;
      if (!runs(m, (size_t)i) || !(m->c->engines[i] >> e & 1)) continue;
      q->instruction[q->n++] = i;
      if (!block) continue;
      if (before && p->instruction[before - 1].block == block) {
        m->state[before - 1].next[e] = i;
        m->state[i].pending++;
      }
      before = (size_t)i + 1;
    }
  }
  return true;
}

/* The priority is the place in the order; for a transfer, the place of the first instruction that needs it. */
static void find_priorities(machine *m) {
  const size_t n = m->c->program->n_instructions;
  for (size_t at = 0; at < n; at++) m->state[m->c->order[at]].priority = (int)at;
  for (size_t at = n; at-- > 0;) {
    const int i = m->c->order[at];
    if (!is_dma(m, i) || m->h->first_successor[i] == m->h->first_successor[i + 1]) continue;
    int first = INT_MAX;
    for (size_t k = m->h->first_successor[i]; k < m->h->first_successor[i + 1]; k++)
      if (m->state[m->h->successor[k]].priority < first) first = m->state[m->h->successor[k]].priority;
    m->state[i].priority = first;
  }
}

/* The time since the first transfer, or since the start of a program without transfers. */
static double device_span(const machine *m) {
  double begin = INFINITY, end = 0;
  for (size_t i = 0; i < m->c->program->n_instructions; i++) {
    if (m->state[i].engine < 0) continue;
    const double here = is_dma(m, (int)i) ? m->state[i].visible : m->out->end[i];
    if (here > end) end = here;
    if (is_dma(m, (int)i) && m->out->start[i] < begin) begin = m->out->start[i];
  }
  return begin < end ? end - begin : end;
}

static tw_status check_all_ran(const machine *m, tw_error *error) {
  for (size_t i = 0; i < m->c->program->n_instructions; i++)
    if (runs(m, i) && m->state[i].engine < 0)
      return tw_fail(error, TW_FAILED, "line %d: instruction %zu (%s) waits for an instruction that never runs",
                     m->c->program->instruction[i].line, i, trn_opcode_name(m->c->program->instruction[i].opcode));
  return TW_OK;
}

tw_status trn_run_machine(const trn_config *config, const trn_compiled *c, const trn_hazards *h, trn_timing *out,
                          tw_error *error) {
  const size_t n = c->program->n_instructions;
  machine m = {.config = config, .c = c, .h = h, .out = out, .clock = trn_clock_start(&config->tensor)};
  m.software_trigger = -config->dma.software_issue_ns;
  m.state = tw_blocks_take(&m.memory, (n + 1) * sizeof *m.state);
  out->start = calloc(n + 1, sizeof *out->start);
  out->end = calloc(n + 1, sizeof *out->end);
  tw_status status = TW_OK;
  if (!m.state || !out->start || !out->end || !fill_queues(&m)) {
    status = tw_no_memory(error, "the timing of a kernel");
  } else {
    find_priorities(&m);
    for (size_t i = 0; i < n; i++)
      if (runs(&m, i) && !m.state[i].pending) offer(&m, (int)i);
    status = run_all(&m) ? check_all_ran(&m, error) : tw_no_memory(error, "the timing of a kernel");
    for (size_t i = 0; i < n; i++) {
      out->start[i] = out->start[c->leader[i]];
      out->end[i] = out->end[c->leader[i]];
    }
    out->device = device_span(&m);
  }
  trn_dma_free(&m.dma);
  tw_blocks_free(&m.memory);
  return status;
}
