/* Replays traces of a real trn2 on the timing model: bench_trainium_replay FOLDER [NAME | --write FOLDER]
 *
 * FOLDER has profiles of neuron-profile as NAME.json. The order of each engine and the waits are those of the trace, so the
 * compiler's part of the model has no say. For each trace the parameters that come from traces are estimated from the others
 * (leave one out): each is the median of what single instructions or packets show, never of a span. Then the device span, from
 * the first DMA trigger to the end of the last instruction, is predicted. With NAME its instructions are listed. --write writes
 * what tests/trainium/test_trainium_replay.c reads: order, waits, operands and times. */
#include <dirent.h>

#include "../tests/trainium/trainium_replay.h"
#include "target/trainium/timing/machine.h"
#include "trainium_trace.h"

enum { TRACES_MAX = 32 };

typedef struct samples {
  double *value;
  size_t n, capacity;
} samples;

static void add_sample(samples *s, double value) {
  if (s->n == s->capacity) {
    s->capacity = s->capacity ? 2 * s->capacity : 1024;
    s->value = realloc(s->value, s->capacity * sizeof *s->value);
    if (!s->value) exit(1);
  }
  s->value[s->n++] = value;
}

static double median(samples *s) {
  if (!s->n) return NAN;
  qsort(s->value, s->n, sizeof *s->value, compare_numbers);
  return s->n % 2 ? s->value[s->n / 2] : (s->value[s->n / 2 - 1] + s->value[s->n / 2]) / 2;
}

/* --- what single events show. Each sampler takes the parameters that were estimated before it from `c`. --- */

typedef void sampler(const trace *, const trn_config *c, samples *);

static bool is(const event *e, const char *opcode) { return !strcmp(e->opcode, opcode); }

/* Rows of a MATMUL at the full clock. */
static double rows_of(const event *e, const trn_config *c) {
  trn_region moving;
  if (!read_operand(e->operands, " src=", &moving)) return NAN;
  return (double)elements_of(&moving) * (trace_type_bytes(moving.type) > 2 ? 2 : 1) / c->tensor.ghz;
}

/* The event before on its engine. */
static const event *before(const trace *t, size_t i) {
  return i > 0 && t->event[i - 1].engine == t->event[i].engine ? &t->event[i - 1] : NULL;
}

static const event *matmul_before(const trace *t, size_t i) {
  for (size_t k = i; k-- > 0 && t->event[k].engine == t->event[i].engine;)
    if (is(&t->event[k], "MATMUL")) return &t->event[k];
  return NULL;
}

static void matmul_issue(const trace *t, const trn_config *c, samples *s) {
  for (size_t i = 0; i < t->n_events; i++) {
    const event *e = &t->event[i], *last = is(e, "MATMUL") ? matmul_before(t, i) : NULL;
    if (!last || trace_rate(t, last->start) < 1 || trace_rate(t, e->start) < 1) continue;
    const double beyond = e->start - last->start - rows_of(last, c);
    if (rows_of(last, c) > 200 && beyond > -20 && beyond < 20) add_sample(s, beyond);
  }
}

/* Between short f32 multiplications. */
static void load_interval(const trace *t, const trn_config *c, samples *s) {
  for (size_t i = 0; i < t->n_events; i++) {
    const event *e = &t->event[i], *last = is(e, "MATMUL") ? matmul_before(t, i) : NULL;
    if (!last || trace_rate(t, last->start) < 1 || !strstr(last->operands, " src=fp32") || rows_of(last, c) > 110)
      continue;
    if (e->start - last->start < rows_of(last, c) + 20) add_sample(s, e->start - last->start);
  }
}

static void matmul_done(const trace *t, const trn_config *c, samples *s, double rate) {
  for (size_t i = 0; i < t->n_events; i++) {
    const event *e = &t->event[i];
    if (is(e, "MATMUL") && trace_rate(t, e->start) == rate && trace_rate(t, e->end) == rate)
      add_sample(s, e->end - e->start - rows_of(e, c) / rate);
  }
}
static void matmul_done_full(const trace *t, const trn_config *c, samples *s) { matmul_done(t, c, s, 1); }
static void matmul_done_slow(const trace *t, const trn_config *c, samples *s) { matmul_done(t, c, s, 0.5); }

/* A multiplication on an idle array ends later by what LDWEIGHTS takes. */
static void matmul_load(const trace *t, const trn_config *c, samples *s) {
  for (size_t i = 1; i < t->n_events; i++) {
    const event *e = &t->event[i], *load = &t->event[i - 1], *last = is(e, "MATMUL") ? matmul_before(t, i) : NULL;
    if (!last || !is(load, "LDWEIGHTS") || trace_rate(t, load->start) < 1 || last->end > load->start) continue;
    add_sample(s, e->end - load->start - rows_of(e, c) - c->tensor.done_ns);
  }
}

/* Use of the array in each window in which the clock had one state, and whether it changed at the window's end. */
static void clock_uses(const trace *t, const trn_config *c, double rate, bool changes, samples *s) {
  const double window = c->tensor.window_ns;
  if (!t->n_clocks) return;
  for (double end = fmod(t->clock_up[0], window); end < t->span - window; end += window) {
    const double begin = end - window;
    double used = 0;
    if (trace_rate(t, begin + 10) != rate || begin < 0) continue;
    for (size_t i = 0; i < t->n_events; i++) {
      const event *e = &t->event[i];
      if (!is(e, "MATMUL")) continue;
      const double from = fmax(begin, e->start), to = fmin(end, e->start + rows_of(e, c) / rate);
      if (to > from) used += (to - from) * rate;
    }
    if ((trace_rate(t, end + 10) != rate) == changes) add_sample(s, used / window);
  }
}
static double extreme(const samples *s, double sign) {
  double best = -INFINITY;
  for (size_t i = 0; i < s->n; i++) best = fmax(best, sign * s->value[i]);
  return sign * best;
}

/* Between two instructions of an engine of which the second does not wait. */
static void issue_intervals(const trace *t, trn_engine engine, bool (*wanted)(const event *),
                            double (*law)(const event *, const trn_config *), const trn_config *c, samples *s) {
  for (size_t i = 1; i < t->n_events; i++) {
    const event *e = &t->event[i], *last = before(t, i);
    if (!last || e->engine != engine || !wanted(last) || e->adds_wait || is(e, "DMA_DIRECT2D")) continue;
    double ready = -INFINITY;
    for (int k = 0; k < e->n_producers; k++) ready = fmax(ready, t->event[t->producer[e->first_producer + k]].end);
    if (ready + 100 < e->start && e->start < last->end) add_sample(s, e->start - last->start - law(last, c));
  }
}

static double law_issue(const event *e, const trn_config *c) {
  static const trn_tensor tensor[] = {{.memory = TRN_HBM}, {.memory = TRN_SBUF}, {.memory = TRN_PSUM}};
  const trn_program p = {.tensor = (trn_tensor *)(uintptr_t)tensor, .n_tensors = 3};
  const trn_compiled compiled = {.program = &p};
  trn_instruction in;
  if (!read_instruction(e, &in)) return NAN;
  return trn_cost_of(c, &compiled, &in, e->engine).issue;
}

static bool has_pointer(const event *e) { return is(e, "TENSOR_SCALAR") && strstr(e->operands, "imm_src=PTR"); }
static bool from_psum(const event *e) {
  return strstr(e->operands, " src=fp32@0x2") || strstr(e->operands, " src=bfloat16@0x2");
}
static bool is_psum_scalar(const event *e) {
  return (is(e, "ACTIVATE") || is(e, "COPY") || is(e, "CAST")) && from_psum(e);
}
static bool is_sbuf_scalar(const event *e) {
  return (is(e, "ACTIVATE") || is(e, "COPY") || is(e, "CAST")) && !from_psum(e);
}
static double law_without_pointer(const event *e, const trn_config *c) {
  return law_issue(e, c) - c->vector.pointer_ns;
}
static double law_without_psum(const event *e, const trn_config *c) { return law_issue(e, c) - c->scalar.psum_ns; }
static double law_without_sbuf(const event *e, const trn_config *c) { return law_issue(e, c) - c->scalar.sbuf_ns; }

static void vector_pointer(const trace *t, const trn_config *c, samples *s) {
  issue_intervals(t, TRN_VECTOR, has_pointer, law_without_pointer, c, s);
}
static void scalar_psum(const trace *t, const trn_config *c, samples *s) {
  issue_intervals(t, TRN_SCALAR, is_psum_scalar, law_without_psum, c, s);
}
static void scalar_sbuf(const trace *t, const trn_config *c, samples *s) {
  issue_intervals(t, TRN_SCALAR, is_sbuf_scalar, law_without_sbuf, c, s);
}

static void done_after_issue(const trace *t, trn_engine engine, const trn_config *c, samples *s) {
  for (size_t i = 0; i < t->n_events; i++) {
    const event *e = &t->event[i];
    if (e->engine == engine && !e->adds_wait && !is(e, "DMA_DIRECT2D"))
      add_sample(s, e->end - e->start - law_issue(e, c));
  }
}
static void vector_done(const trace *t, const trn_config *c, samples *s) { done_after_issue(t, TRN_VECTOR, c, s); }
static void scalar_done(const trace *t, const trn_config *c, samples *s) { done_after_issue(t, TRN_SCALAR, c, s); }

/* From the last end that an instruction waits for to its start. Later than 100 ns it waited for its engine instead. */
static void handoff(const trace *t, const trn_config *c, samples *s) {
  (void)c;
  for (size_t i = 0; i < t->n_events; i++) {
    const event *e = &t->event[i];
    double ready = -INFINITY;
    for (int k = 0; k < e->n_producers; k++) {
      const event *p = &t->event[t->producer[e->first_producer + k]];
      ready = fmax(ready, is(p, "DMA_DIRECT2D") ? INFINITY : p->end);
    }
    if (e->start - ready > 0 && e->start - ready < 100 && !is(e, "DMA_DIRECT2D")) add_sample(s, e->start - ready);
  }
}

/* From a bare wait to the next instruction, which has nothing to wait for any more. */
static void bare_wait(const trace *t, trn_engine engine, samples *s) {
  for (size_t i = 0; i + 1 < t->n_events; i++) {
    const event *e = &t->event[i], *next = &t->event[i + 1];
    if (!is(e, "EVENT_SEMAPHORE") || e->engine != engine || next->engine != engine) continue;
    if (next->start - e->start < 150) add_sample(s, next->start - e->start);
  }
}
static void wait_tensor(const trace *t, const trn_config *c, samples *s) { (void)c, bare_wait(t, TRN_TENSOR, s); }
static void wait_vector(const trace *t, const trn_config *c, samples *s) { (void)c, bare_wait(t, TRN_VECTOR, s); }
static void wait_scalar(const trace *t, const trn_config *c, samples *s) { (void)c, bare_wait(t, TRN_SCALAR, s); }

/* --- transfers --- */

typedef struct moved {
  const event *trigger;
  /* The first packet, the last DMA engine's first packet, the end; busy: mean over the DMA engines. */
  double first, last_first, last, busy;
  double bytes; /* of a packet */
  int packets;
  bool is_read;
} moved;

/* The transfers of one engine: its queue is the one whose first packet comes next after its first trigger. A packet of 4
 * bytes, the semaphore, ends a transfer on each DMA engine. */
static size_t transfers_of(const trace *t, trn_engine engine, moved *out, size_t at_most) {
  const event *trigger[512];
  size_t n = 0;
  for (size_t i = 0; i < t->n_events && n < 512 && n < at_most; i++)
    if (t->event[i].engine == engine && is(&t->event[i], "DMA_DIRECT2D")) trigger[n++] = &t->event[i];
  if (!n) return 0;
  int queue = -1;
  double nearest = INFINITY;
  for (size_t i = 0; i < t->n_packets; i++) {
    const packet *p = &t->packet[i];
    double first = INFINITY;
    if (p->is_software != (engine == TRN_GPSIMD)) continue;
    for (size_t k = 0; k < t->n_packets; k++)
      if (t->packet[k].queue == p->queue) first = fmin(first, t->packet[k].start);
    if (first > trigger[0]->start && first - trigger[0]->start < nearest) {
      nearest = first - trigger[0]->start;
      queue = p->queue;
    }
  }
  for (size_t i = 0; i < n; i++) out[i] = (moved){.trigger = trigger[i], .first = INFINITY};
  size_t index = 0;
  bool is_first = true;
  for (size_t i = 0; i < t->n_packets; i++) {
    const packet *p = &t->packet[i];
    if (i == 0 || t->packet[i - 1].engine != p->engine) {
      index = 0;
      is_first = true;
    }
    if (p->queue != queue) continue;
    if (index >= n) break;
    moved *m = &out[index];
    if (p->bytes <= 4) {
      index++;
      is_first = true;
      continue;
    }
    if (is_first) m->last_first = fmax(m->last_first, p->start);
    is_first = false;
    m->first = fmin(m->first, p->start);
    m->last = fmax(m->last, p->start + p->duration);
    m->busy += p->duration / 16;
    m->bytes = p->bytes;
    m->packets++;
  }
  for (size_t i = 0; i < n; i++)
    out[i].is_read = transfer_side(trigger[i]->operands, "src", TW_F32).tensor == TRACE_HBM;
  return n;
}

enum { MOVED_MAX = 512 };
static moved transfer_list[MOVED_MAX];

/* Whether its queue was empty before it, and little else moves while it does: 250 ns of each DMA engine at most. */
static bool is_alone(const trace *t, const moved *m) {
  for (int e = 0; e < TRN_ENGINES; e++) {
    static moved other[MOVED_MAX];
    const size_t n = transfers_of(t, (trn_engine)e, other, MOVED_MAX);
    for (size_t i = 0; i < n; i++)
      if (other[i].trigger != m->trigger && other[i].first < m->last && other[i].last > m->last_first - 50 &&
          (other[i].busy > 250 || e == (int)m->trigger->engine))
        return false;
  }
  return true;
}

static void packets_of(const trace *t, double bytes, samples *s) {
  for (size_t i = 0; i < t->n_packets; i++)
    if (t->packet[i].bytes == bytes && !(t->packet[i].is_software && bytes < 512)) add_sample(s, t->packet[i].duration);
}

/* From a trigger to the last packet, less what the packets of an engine take: of transfers beside which little else moves. */
static void latencies(const trace *t, const trn_config *c, bool is_software, bool is_read, double least, double most,
                      samples *s) {
  for (int e = 0; e < TRN_ENGINES; e++) {
    if ((e == TRN_GPSIMD) != is_software) continue;
    const size_t n = transfers_of(t, (trn_engine)e, transfer_list, MOVED_MAX);
    for (size_t i = 0; i < n; i++) {
      const moved *m = &transfer_list[i];
      const double each = c->dma.packet_ns + m->bytes / c->dma.engine_gbs;
      if (m->is_read == is_read && m->bytes >= least && m->bytes <= most && is_alone(t, m))
        add_sample(s, m->last - m->trigger->start - m->packets / 16.0 * each);
    }
  }
}
static void hardware_write(const trace *t, const trn_config *c, samples *s) {
  latencies(t, c, false, false, 512, INFINITY, s);
}
static void hardware_read(const trace *t, const trn_config *c, samples *s) {
  latencies(t, c, false, true, 0, (double)c->dma.small_bytes, s);
}
static void hardware_read_large(const trace *t, const trn_config *c, samples *s) {
  latencies(t, c, false, true, (double)c->dma.small_bytes + 1, INFINITY, s);
}
static void software_write(const trace *t, const trn_config *c, samples *s) {
  latencies(t, c, true, false, 512, INFINITY, s);
}
static void software_read(const trace *t, const trn_config *c, samples *s) {
  latencies(t, c, true, true, 512, INFINITY, s);
}

/* From the last packet to an instruction that waits for it; later than 600 ns it waited for something else. */
static void notice(const trace *t, const trn_config *c, samples *s) {
  (void)c;
  for (int e = 0; e < TRN_ENGINES; e++) {
    const size_t n = transfers_of(t, (trn_engine)e, transfer_list, MOVED_MAX);
    for (size_t i = 0; i < t->n_events; i++)
      for (int k = 0; k < t->event[i].n_producers; k++)
        for (size_t j = 0; j < n; j++)
          if (&t->event[t->producer[t->event[i].first_producer + k]] == transfer_list[j].trigger &&
              t->event[i].start > transfer_list[j].last && t->event[i].start < transfer_list[j].last + 600)
            add_sample(s, t->event[i].start - transfer_list[j].last);
  }
}

static void trigger_intervals(const trace *t, bool is_software, double most, samples *s) {
  for (size_t i = 1; i < t->n_events; i++) {
    const event *e = &t->event[i], *last = before(t, i);
    if (!last || !is(e, "DMA_DIRECT2D") || !is(last, "DMA_DIRECT2D") || (e->engine == TRN_GPSIMD) != is_software)
      continue;
    if (e->start - last->start < most) add_sample(s, e->start - last->start);
  }
}
static void issue_hardware(const trace *t, const trn_config *c, samples *s) {
  (void)c, trigger_intervals(t, false, 700, s);
}
static void issue_software(const trace *t, const trn_config *c, samples *s) {
  (void)c, trigger_intervals(t, true, 700, s);
}

/* From the end that a software trigger waits for, or from the start of the kernel. */
static void prepare_software(const trace *t, const trn_config *c, samples *s) {
  for (size_t i = 0; i < t->n_events; i++) {
    const event *e = &t->event[i];
    if (e->engine != TRN_GPSIMD || !is(e, "DMA_DIRECT2D")) continue;
    double ready = before(t, i) ? -INFINITY : 0;
    for (int k = 0; k < e->n_producers; k++)
      ready = fmax(ready, t->event[t->producer[e->first_producer + k]].end + c->sync.handoff_ns);
    if (e->start - ready < 2000) add_sample(s, e->start - ready);
  }
}

/* --- parameters --- */

static const struct parameter {
  const char *name; /* of replay_parameters */
  sampler *sample;
} parameters[] = {
    {"tensor.issue_ns", matmul_issue},
    {"tensor.load_interval_32_ns", load_interval},
    {"tensor.done_ns", matmul_done_full},
    {"tensor.slow_done_ns", matmul_done_slow},
    {"tensor.load_ns", matmul_load},
    {"vector.pointer_ns", vector_pointer},
    {"vector.done_ns", vector_done},
    {"scalar.psum_ns", scalar_psum},
    {"scalar.sbuf_ns", scalar_sbuf},
    {"scalar.done_ns", scalar_done},
    {"sync.handoff_ns", handoff},
    {"sync.wait_tensor_ns", wait_tensor},
    {"sync.wait_vector_ns", wait_vector},
    {"sync.wait_scalar_ns", wait_scalar},
    {"dma.hardware_issue_ns", issue_hardware},
    {"dma.hardware_write_ns", hardware_write},
    {"dma.hardware_read_ns", hardware_read},
    {"dma.hardware_read_large_ns", hardware_read_large},
    {"dma.software_prepare_ns", prepare_software},
    {"dma.software_issue_ns", issue_software},
    {"dma.software_write_ns", software_write},
    {"dma.software_read_ns", software_read},
    {"dma.notice_ns", notice},
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

/* A packet's time is a line over its bytes: least squares over the median of each length. */
static void fit_packets(const trace *t, size_t n, size_t left_out, trn_config *c) {
  static const double length[] = {256, 512, 2048, 4096};
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
    samples s = {0};
    for (size_t i = 0; i < n; i++)
      if (i != left_out) packets_of(&t[i], length[k], &s);
    const double ns = median(&s);
    free(s.value);
    if (isnan(ns)) continue;
    count++;
    x += length[k];
    y += ns;
    xx += length[k] * length[k];
    xy += length[k] * ns;
  }
  const double slope = (count * xy - x * y) / (count * xx - x * x);
  c->dma.engine_gbs = 1 / slope;
  c->dma.packet_ns = (y - slope * x) / count;
}

/* The eighth (states of the clock are eighths, too) nearest to halfway between windows after which the clock changed and
 * windows after which it did not. */
static double eighth(double a, double b) { return round((a + b) / 2 * 8) / 8; }

static void fit_clock(const trace *t, size_t n, size_t left_out, trn_config *c) {
  samples up = {0}, stays_slow = {0}, down = {0}, stays_full = {0};
  for (size_t i = 0; i < n; i++) {
    if (i == left_out) continue;
    clock_uses(&t[i], c, 0.5, true, &up);
    clock_uses(&t[i], c, 0.5, false, &stays_slow);
    clock_uses(&t[i], c, 1, true, &down);
    clock_uses(&t[i], c, 1, false, &stays_full);
  }
  c->tensor.up_use = eighth(extreme(&up, -1), extreme(&stays_slow, 1));
  c->tensor.down_use = eighth(extreme(&down, 1), extreme(&stays_full, -1));
  free(up.value);
  free(stays_slow.value);
  free(down.value);
  free(stays_full.value);
}

static void fit(const trace *t, size_t n, size_t left_out, trn_config *c) {
  fit_packets(t, n, left_out, c);
  fit_clock(t, n, left_out, c);
  for (size_t k = 0; k < PARAMETERS; k++) {
    samples s = {0};
    for (size_t i = 0; i < n; i++)
      if (i != left_out) parameters[k].sample(&t[i], c, &s);
    const double value = median(&s);
    if (!isnan(value)) *replay_parameter(c, replay_find_parameter(parameters[k].name)) = value;
    free(s.value);
  }
}

/* --- prediction --- */

static double predicted_or_exit(const trn_config *c, const trace *t, double *low, double *high) {
  tw_error error;
  const double mean = replay_predict(c, &t->program, low, high, &error);
  if (isnan(mean)) {
    fprintf(stderr, "%s: %s\n", t->name, error.text);
    exit(1);
  }
  return mean;
}

/* With the clock's windows where they were: what is left is the rest of the model's error. */
static double predict_aligned(const trn_config *config, const trace *t, trn_timing *timing) {
  trn_config c = *config;
  tw_error error;
  if (t->n_clocks) c.tensor.window_phase_ns = fmod(t->clock_up[0], c.tensor.window_ns);
  if (trn_time(&c, &t->program, &trn_compiler_none, timing, &error) != TW_OK) {
    fprintf(stderr, "%s: %s\n", t->name, error.text);
    exit(1);
  }
  return timing->device;
}

/* Mean absolute error of durations, by opcode and engine, over all traces. */
typedef struct opcode_error {
  double sum, bias, measured;
  size_t n;
} opcode_error;

static void add_errors(const trace *t, const trn_timing *timing, opcode_error error[TRN_OPCODES][TRN_ENGINES]) {
  for (size_t i = 0; i < t->program.n_instructions; i++) {
    const trn_instruction *in = &t->program.instruction[i];
    if (in->opcode == TRN_DMA) continue;
    const double measured = t->end[i] - t->start[i], predicted = timing->end[i] - timing->start[i];
    opcode_error *e = &error[in->is_transpose ? TRN_PE_TRANSPOSE : in->opcode][in->engine];
    e->n++;
    e->measured += measured;
    e->sum += fabs(predicted - measured);
    e->bias += predicted - measured;
  }
}

static void list(const trace *t, const trn_timing *timing) {
  for (size_t i = 0; i < t->program.n_instructions; i++)
    printf("%-7s %-14s measured %8.0f %6.0f  predicted %8.0f %6.0f  start %+7.0f\n",
           trn_engine_name(t->program.instruction[i].engine), trn_opcode_name(t->program.instruction[i].opcode),
           t->start[i], t->end[i] - t->start[i], timing->start[i], timing->end[i] - timing->start[i],
           timing->start[i] - t->start[i]);
}

static bool write_replay(const trace *t, trn_config *config, const char *folder) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s.txt", folder, t->name) >= (int)sizeof path) return false;
  FILE *out = fopen(path, "w");
  if (!out) return false;
  fprintf(
      out,
      "# Facts from the public profile profiling/artifacts/%s of allenkchau/trainium-kernel-fusion (MIT), a trn2 with\n"
      "# neuronx-cc 2.23: instructions in order, waits, times in ns. Parameters are fitted to the other profiles. "
      "Written by\n"
      "# bench_trainium_replay --write; the format is in tests/trainium/trainium_replay.h.\n",
      t->name);
  for (int k = 0; k < REPLAY_PARAMETERS; k++)
    fprintf(out, "parameter %s %.6g\n", replay_parameters[k].name, *replay_parameter(config, k));
  replay_write(out, &(replay){.program = t->program, .span = t->span, .start = t->start, .end = t->end});
  return fclose(out) == 0;
}

static int compare_names(const void *x, const void *y) {
  return strcmp(((const trace *)x)->name, ((const trace *)y)->name);
}

static size_t read_folder(const char *folder, trace *t) {
  DIR *dir = opendir(folder);
  size_t n = 0;
  if (!dir) {
    perror(folder);
    return 0;
  }
  for (struct dirent *entry = readdir(dir); entry && n < TRACES_MAX; entry = readdir(dir)) {
    const size_t length = strlen(entry->d_name);
    char path[1024], name[64];
    if (length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    snprintf(name, sizeof name, "%.*s", (int)(length - 5), entry->d_name);
    n += trace_read(path, name, &t[n]);
  }
  closedir(dir);
  qsort(t, n, sizeof *t, compare_names);
  return n;
}

static void print_fit(const trace *t, trn_config *each, size_t n) {
  printf("\n| parameter |");
  for (size_t i = 0; i < n; i++) printf(" without %s |", t[i].name);
  printf(" all |\n");
  for (int k = 0; k < REPLAY_PARAMETERS; k++) {
    printf("| %s |", replay_parameters[k].name);
    for (size_t i = 0; i <= n; i++) printf(" %.4g |", *replay_parameter(&each[i], k));
    printf("\n");
  }
}

static void print_opcodes(opcode_error error[TRN_OPCODES][TRN_ENGINES]) {
  printf("\n| instruction | engine | samples | mean, ns | mean error, ns | bias, ns |\n");
  for (int o = 0; o < TRN_OPCODES; o++)
    for (int e = 0; e < TRN_ENGINES; e++) {
      const opcode_error *x = &error[o][e];
      const double n = (double)x->n;
      if (x->n)
        printf("| %s | %s | %zu | %.0f | %.0f | %+.0f |\n", trn_opcode_name((trn_opcode)o),
               trn_engine_name((trn_engine)e), x->n, x->measured / n, x->sum / n, x->bias / n);
    }
}

int main(int argc, char **argv) {
  static trace t[TRACES_MAX];
  static trn_config each[TRACES_MAX + 1];
  static opcode_error errors[TRN_OPCODES][TRN_ENGINES];
  trn_config machine;
  tw_error error;
  if (argc < 2) {
    fprintf(stderr, "usage: bench_trainium_replay FOLDER [NAME | --write FOLDER]\n");
    return 2;
  }
  if (trn_config_load("trn2", &machine, &error) != TW_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  const size_t n = read_folder(argv[1], t);
  if (n < 2) {
    fprintf(stderr, "%s: at least two traces are required (found %zu)\n", argv[1], n);
    return 1;
  }
  for (size_t i = 0; i <= n; i++) {
    each[i] = machine;
    fit(t, n, i, &each[i]);
  }
  if (argc > 3 && !strcmp(argv[2], "--write")) {
    for (size_t i = 0; i < n; i++)
      if (!write_replay(&t[i], &each[i], argv[3])) {
        perror(argv[3]);
        return 1;
      }
  }
  double sum = 0, worst = 0;
  printf("| trace | instructions | measured, us | predicted, us | error, %% | over places of the clock's windows, us | "
         "windows "
         "as measured, us | error, %% |\n");
  for (size_t i = 0; i < n; i++) {
    double low, high;
    trn_timing timing;
    const double mean = predicted_or_exit(&each[i], &t[i], &low, &high),
                 aligned = predict_aligned(&each[i], &t[i], &timing);
    const double off = 100 * (mean / t[i].span - 1);
    sum += fabs(off);
    worst = fmax(worst, fabs(off));
    printf("| %s | %zu | %.2f | %.2f | %+.1f | %.2f-%.2f | %.2f | %+.1f |\n", t[i].name, t[i].program.n_instructions,
           t[i].span / 1000, mean / 1000, off, low / 1000, high / 1000, aligned / 1000,
           100 * (aligned / t[i].span - 1));
    add_errors(&t[i], &timing, errors);
    if (argc > 2 && !strcmp(argv[2], t[i].name)) list(&t[i], &timing);
    trn_timing_free(&timing);
  }
  printf("mean error %.1f %%, worst %.1f %%\n", sum / (double)n, worst);
  print_fit(t, each, n);
  print_opcodes(errors);
  for (size_t i = 0; i < n; i++) trace_free(&t[i]);
  return 0;
}
