/* run.c - a simulation as a whole: state, the host's sequence, the loop over events. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/xdna2/array/ddr.h"
#include "target/xdna2/array/scalar.h"
#include "target/xdna2/array/sim.h"
#include "tilewright/extend/op.h"

/* ---- the host ---- */

enum { TABLE = 256 }; /* numbers of descriptors in a tile */

static int *holder_of(sim *s, int descriptor) {
  const xd_descriptor *d = &s->program->descriptors.at[descriptor];
  const xd_place tile = s->program->channels.at[d->channel].tile;
  return &s->holder[(tile.column * (s->config->rows + 2) + tile.row) * TABLE + d->id];
}

/* Every descriptor of a task takes its number in the tile's table. Another one under that number must not be in use. */
static bool claim(sim *s, const xd_command *k) {
  const xd_program *p = s->program;
  for (int d = k->descriptor; d >= 0; d = p->descriptors.at[d].next) {
    int *holder = holder_of(s, d);
    if (*holder >= 0 && *holder != d && s->in_use[*holder] > 0) {
      const xd_channel *other = &p->channels.at[p->descriptors.at[*holder].channel];
      SIM_FAIL(s,
               "command %zu of the sequence writes descriptor %d of %s, which a task of %s still uses; await that task "
               "first",
               s->command, p->descriptors.at[d].id, xd_place_label(other->tile).text, xd_channel_label(other).text);
      return false;
    }
    *holder = d;
    if (!s->in_use[d]++) s->iteration[d] = 0;
    if (p->descriptors.at[d].next == k->descriptor) break; /* a ring */
  }
  return true;
}

static void set_parameter(sim *s, const xd_command *k) {
  if (k->buffer && !s->options->timing_only)
    xd_scalar_store(TW_I32, k->value, s->memory[k->buffer - 1] + k->element * 4);
  if (k->core < 0) return;
  core_state *c = &s->core[k->core];
  c->parameter[k->parameter] = k->value;
  c->is_set[k->parameter] = true;
  if (c->waits_for_parameter != k->parameter) return;
  c->waits_for_parameter = -1;
  queue_add(&s->queue, s->now, EV_CORE, k->core, 0);
}

void host_run(sim *s) {
  const xd_program *p = s->program;
  for (; s->command < p->sequence.n && s->status == TW_OK; s->command++) {
    const xd_command *k = &p->sequence.at[s->command];
    if (k->kind == XD_AWAIT && !s->channel[k->channel].tokens) return;
    if (k->kind == XD_AWAIT) s->channel[k->channel].tokens--;
    if (k->kind == XD_SET) set_parameter(s, k);
    if (k->kind == XD_SET_LOCK) lock_set(s, k->lock, (int)k->value);
    if (k->kind != XD_START || !claim(s, k)) continue;
    const task t = {k->descriptor, k->repeat, k->token};
    channel_start_task(s, k->channel, &t);
  }
}

/* ---- state ---- */

static bool make_memory(sim *s) {
  const xd_program *p = s->program;
  int external = 0;
  if (s->options->timing_only) return true;
  if (!(s->memory = tw_new(p->buffers.n + 1, sizeof *s->memory))) return false;
  for (size_t i = 0; i < p->buffers.n; i++) {
    const xd_buffer *b = &p->buffers.at[i];
    s->memory[i] = b->external ? s->options->external[external++] : tw_new((size_t)b->bytes + 1, 1);
    if (!s->memory[i]) return false;
    if (!b->external) memset(s->memory[i], TW_POISON, (size_t)b->bytes);
    if (b->initial) memcpy(s->memory[i], b->initial, (size_t)b->bytes);
  }
  return true;
}

/* The time of each call is constant: computed once. */
static bool make_costs(sim *s) {
  const xd_program *p = s->program;
  size_t n = 0;
  for (size_t i = 0; i < p->cores.n; i++) n += p->cores.at[i].ops.n;
  double *to = s->call_cycles = tw_new(n + 1, sizeof *to);
  for (size_t i = 0; to && i < p->cores.n; i++) {
    s->core[i].cycles = to;
    for (size_t o = 0; o < p->cores.at[i].ops.n; o++, to++) {
      const xd_op *op = &p->cores.at[i].ops.at[o];
      if (op->kind == XD_CALL) *to = s->options->cost.cycles(s->options->cost.context, &op->call);
    }
  }
  return to;
}

static bool make(sim *s) {
  const xd_program *p = s->program;
  const size_t agents = p->channels.n + p->cores.n + 1;
  s->channel = tw_new(p->channels.n + 1, sizeof *s->channel);
  s->route = tw_new(p->routes.n + 1, sizeof *s->route);
  s->lock = tw_new(p->locks.n + 1, sizeof *s->lock);
  s->core = tw_new(p->cores.n + 1, sizeof *s->core);
  s->port = tw_new(p->ports.n + 1, sizeof *s->port);
  s->iteration = tw_new(p->descriptors.n + 1, sizeof *s->iteration);
  s->bytes = tw_new(p->descriptors.n + 1, sizeof *s->bytes);
  s->request = tw_new(p->descriptors.n + 1, sizeof *s->request);
  const size_t numbers = (size_t)s->config->columns * (size_t)(s->config->rows + 2) * TABLE;
  s->holder = tw_new(numbers, sizeof *s->holder);
  s->in_use = tw_new(p->descriptors.n + 1, sizeof *s->in_use);
  s->next_waiting = tw_new(agents, sizeof *s->next_waiting);
  s->wanted = tw_new(agents, sizeof *s->wanted);
  s->waits_for = tw_new(agents, sizeof *s->waits_for);
  if (!s->channel || !s->route || !s->lock || !s->core || !s->port || !s->iteration || !s->bytes || !s->request ||
      !s->holder || !s->in_use || !s->next_waiting || !s->wanted || !s->waits_for || !tw_events_open(&s->queue) ||
      !make_costs(s) || !make_memory(s))
    return false;
  for (size_t i = 0; i < numbers; i++) s->holder[i] = -1;
  for (size_t i = 0; i < agents; i++) s->waits_for[i] = -1;
  for (size_t i = 0; i < p->descriptors.n; i++) {
    const xd_descriptor *d = &p->descriptors.at[i];
    s->bytes[i] = xd_pattern_bytes(&d->pattern);
    if (xd_kind_of(p->channels.at[d->channel].tile) == XD_SHIM)
      s->request[i] = xd_ddr_descriptor_ns(&s->config->array, p, (int)i) * 1e-3 * s->config->clock_mhz;
  }
  for (size_t i = 0; i < p->locks.n; i++) s->lock[i] = (lock_state){p->locks.at[i].initial, -1};
  for (size_t i = 0; i < p->cores.n; i++) {
    s->core[i].waits_for_parameter = -1;
    if (!(s->core[i].registers = tw_new((size_t)p->cores.at[i].registers + 1, sizeof(int64_t)))) return false;
  }
  for (size_t i = 0; i < p->routes.n; i++) {
    const xd_route *r = &p->routes.at[i];
    s->route[i].is_read = xd_kind_of(p->channels.at[r->source].tile) == XD_SHIM;
    s->channel[r->source].route = (int)i;
    s->channel[r->source].packets = r->packet;
    s->channel[r->source].sink = -1;
    for (int k = 0; k < r->n_sinks; k++) {
      s->route[i].is_write |= xd_kind_of(p->channels.at[r->sink[k]].tile) == XD_SHIM;
      s->channel[r->sink[k]].route = (int)i;
      s->channel[r->sink[k]].packets = r->packet;
      s->channel[r->sink[k]].sink = k;
    }
  }
  return true;
}

static void destroy(sim *s) {
  for (size_t i = 0; s->memory && i < s->program->buffers.n; i++)
    if (!s->program->buffers.at[i].external) free(s->memory[i]);
  for (size_t i = 0; s->core && i < s->program->cores.n; i++) free(s->core[i].registers);
  void *const all[] = {s->bytes,     s->channel, s->route,       s->lock,         s->core,   s->port,
                       s->iteration, s->in_use,  s->holder,      s->next_waiting, s->wanted, s->waits_for,
                       s->memory,    s->stream,  s->call_cycles, s->request};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  tw_events_close(&s->queue);
}

/* Channels that start without a task, cores, the host. */
static void begin(sim *s) {
  const xd_program *p = s->program;
  for (size_t i = 0; i < p->channels.n; i++) {
    if (p->channels.at[i].start < 0) continue;
    const task t = {p->channels.at[i].start, 1 + p->channels.at[i].again, false};
    for (int d = t.descriptor; d >= 0 && !s->in_use[d]; d = p->descriptors.at[d].next) s->in_use[d] = 1;
    channel_start_task(s, (int)i, &t);
  }
  for (size_t i = 0; i < p->cores.n; i++) queue_add(&s->queue, 0, EV_CORE, (int)i, 0);
  host_run(s);
}

static void handle(sim *s, const event *e) {
  const int who = who_of_event(e);
  switch (kind_of_event(e)) {
  case EV_CHANNEL: channel_begin(s, who); break;
  case EV_SEGMENT:
    if (e->what)
      ddr_add(s, who);
    else
      route_segment_end(s, who);
    break;
  case EV_SINK: route_sink_end(s, who, e->what); break;
  case EV_DDR: ddr_event(s, e->what); break;
  case EV_CORE: core_run(s, who); break;
  }
}

enum { EVENTS_BETWEEN_LOOKS = 256 }; /* each may be a call of a kernel, which takes up to 100 us here */

static void run(sim *s) {
  event e;
  begin(s);
  while (s->status == TW_OK && s->command < s->program->sequence.n) {
    if (!tw_events_take(&s->queue, &e)) {
      if (!s->queue.failed) blame(s);
      break;
    }
    s->now = e.at;
    if (++s->result->events % EVENTS_BETWEEN_LOOKS == 0 && tw_is_stop_asked()) {
      s->status = tw_fail(s->error, TW_INTERRUPTED, "interrupted");
      break;
    }
    handle(s, &e);
  }
  s->result->cycles = s->now;
  if (s->queue.failed && s->status == TW_OK) s->status = tw_no_memory(s->error, NULL);
}

tw_status xd_run(const xd_config *c, const xd_program *p, const xd_run_options *options, xd_run_result *out,
                 tw_error *error) {
  sim s = {.config = c, .program = p, .options = options, .result = out, .error = error, .status = TW_OK};
  *out = (xd_run_result){0};
  if (make(&s))
    run(&s);
  else
    s.status = tw_no_memory(error, NULL);
  destroy(&s);
  return s.status;
}
