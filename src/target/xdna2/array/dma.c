/* dma.c - channels execute tasks and descriptors; a circuit moves data when all its ends are ready. */
#include <math.h>

#include "base/strings.h"
#include "target/xdna2/array/sim.h"
#include "target/xdna2/array/walk.h"

static const xd_descriptor *descriptor_of(const sim *s, int channel) {
  return &s->program->descriptors.at[s->channel[channel].descriptor];
}

/* ---- circuits ---- */

static double latency(const sim *s, const xd_route *r, int sink) {
  return r->hops[sink] * s->config->array.hop_cycles + s->config->array.memory_cycles;
}

/* Begins a segment if every end has its lock. The source may have begun before a sink was ready, by as much as the
 * circuit holds in flight. */
static void route_try(sim *s, int route) {
  const xd_route *r = &s->program->routes.at[route];
  route_state *state = &s->route[route];
  const channel_state *source = &s->channel[r->source];
  if (state->moving || source->phase != READY) return;
  if (r->packet && descriptor_of(s, r->source)->packet != r->packet) return;
  for (int i = 0; i < r->n_sinks && r->packet; i++)
    if (s->channel[r->sink[i]].engaged && s->channel[r->sink[i]].engaged != route + 1) return;
  double begin = source->ready_at;
  int64_t bytes = source->bytes - source->done;
  for (int i = 0; i < r->n_sinks; i++) {
    const channel_state *sink = &s->channel[r->sink[i]];
    if (sink->phase != READY) return;
    begin = fmax(begin, sink->ready_at - latency(s, r, i));
    if (sink->bytes - sink->done < bytes) bytes = sink->bytes - sink->done;
  }
  for (int i = 0; i < r->n_sinks && r->packet; i++) s->channel[r->sink[i]].engaged = route + 1;
  state->moving = true;
  state->segment = bytes;
  state->begin = begin;
  s->channel[r->source].phase = MOVING;
  for (int i = 0; i < r->n_sinks; i++) s->channel[r->sink[i]].phase = MOVING;
  if (!state->is_read && !state->is_write)
    queue_add(&s->queue, fmax(s->now, begin + (double)bytes / s->config->stream_bytes), EV_SEGMENT, route, 0);
  else
    /* the segment takes its share of DDR from here on */
    queue_add(&s->queue, fmax(s->now, begin), EV_SEGMENT, route, 1);
}

/* Tries to begin segments on all circuits of the channel. */
static void channel_try(sim *s, int channel) {
  if (!s->channel[channel].packets) {
    route_try(s, s->channel[channel].route);
    return;
  }
  for (size_t i = 0; i < s->program->routes.n; i++) {
    const xd_route *r = &s->program->routes.at[i];
    bool is_end = r->source == channel;
    for (int k = 0; k < r->n_sinks; k++) is_end = is_end || r->sink[k] == channel;
    if (is_end) route_try(s, (int)i);
  }
}

static int64_t shift_of(const sim *s, int channel) {
  const xd_descriptor *d = descriptor_of(s, channel);
  return s->iteration[s->channel[channel].descriptor] % d->iterations * d->iteration_stride;
}

static void copy(sim *s, const xd_route *r, int64_t n) {
  if (s->options->timing_only) return;
  if (n > s->stream_room) {
    uint8_t *grown = tw_resize(s->stream, (size_t)n, 1);
    if (!grown) {
      if (s->status == TW_OK) s->status = tw_no_memory(s->error, NULL);
      return;
    }
    s->stream = grown;
    s->stream_room = n;
  }
  const xd_descriptor *from = descriptor_of(s, r->source);
  xd_walk_read(&from->pattern, shift_of(s, r->source), s->memory[from->buffer], s->channel[r->source].done, n,
               s->stream);
  for (int i = 0; i < r->n_sinks; i++) {
    const xd_descriptor *to = descriptor_of(s, r->sink[i]);
    xd_walk_write(&to->pattern, shift_of(s, r->sink[i]), s->memory[to->buffer], s->channel[r->sink[i]].done, n,
                  s->stream);
  }
}

/* ---- channels ---- */

static void begin_after(sim *s, int channel, double cycles) {
  s->channel[channel].phase = STARTING;
  queue_add(&s->queue, s->now + cycles, EV_CHANNEL, channel, 0);
}

static void run_task(sim *s, int channel, const task *t) {
  const xd_array *a = &s->config->array;
  const xd_channel *c = &s->program->channels.at[channel];
  channel_state *state = &s->channel[channel];
  const int reads = c->direction == XD_MM2S ? 0 : 1; /* the order of the lists in the machine file */
  state->now = *t;
  state->running = true;
  state->descriptor = t->descriptor;
  begin_after(s, channel,
              xd_kind_of(c->tile) != XD_SHIM ? a->start_cycles
              : state->warm                  ? a->shim_task_cycles[reads]
                                             : a->shim_cold_cycles[reads]);
  state->warm = true;
}

void channel_start_task(sim *s, int channel, const task *t) {
  channel_state *state = &s->channel[channel];
  const int room = s->config->array.queue < QUEUE_MAX ? s->config->array.queue : QUEUE_MAX;
  if (!state->running) {
    run_task(s, channel, t);
    return;
  }
  if (state->n_waiting == room) {
    SIM_FAIL(s, "command %zu of the sequence starts a task, but the queue of %s holds %d; await earlier tasks first",
             s->command, xd_channel_label(&s->program->channels.at[channel]).text, room);
    return;
  }
  state->waiting[(state->first_waiting + state->n_waiting++) % QUEUE_MAX] = *t;
}

void channel_begin(sim *s, int channel) {
  channel_state *state = &s->channel[channel];
  const xd_descriptor *d = descriptor_of(s, channel);
  state->done = 0;
  state->bytes = s->bytes[state->descriptor];
  if (d->acquire.lock < 0 || lock_take(s, channel, d->acquire))
    channel_granted(s, channel);
  else
    state->phase = BLOCKED;
}

void channel_granted(sim *s, int channel) {
  channel_state *state = &s->channel[channel];
  const xd_array *a = &s->config->array;
  state->phase = READY;
  state->begun_at = s->now;
  state->ready_at = s->now + a->descriptor_cycles + (descriptor_of(s, channel)->acquire.lock >= 0 ? a->lock_cycles : 0);
  channel_try(s, channel);
}

static void end_task(sim *s, int channel) {
  channel_state *state = &s->channel[channel];
  for (int d = state->now.descriptor; d >= 0; d = s->program->descriptors.at[d].next) s->in_use[d]--;
  state->running = false;
  state->phase = IDLE;
  state->tokens += state->now.token;
  if (state->n_waiting) {
    const task next = state->waiting[state->first_waiting];
    state->first_waiting = (state->first_waiting + 1) % QUEUE_MAX;
    state->n_waiting--;
    run_task(s, channel, &next);
  }
  host_run(s);
}

static void end_descriptor(sim *s, int channel) {
  channel_state *state = &s->channel[channel];
  const xd_descriptor *d = descriptor_of(s, channel);
  if (s->options->span)
    s->options->span(s->options->span_context, xd_channel_lane(&s->program->channels.at[channel]).text,
                     s->program->buffers.at[d->buffer].name, state->begun_at, s->now);
  s->iteration[state->descriptor]++;
  if (d->release.lock >= 0) lock_give(s, d->release);
  if (d->next >= 0)
    state->descriptor = d->next;
  else if (--state->now.repeat > 0)
    state->descriptor = state->now.descriptor;
  else {
    end_task(s, channel);
    return;
  }
  begin_after(s, channel, s->config->array.chain_cycles);
}

void route_segment_end(sim *s, int route) {
  const xd_route *r = &s->program->routes.at[route];
  route_state *state = &s->route[route];
  channel_state *source = &s->channel[r->source];
  const int64_t n = state->segment;
  copy(s, r, n);
  state->moving = false;
  if (state->is_read) s->result->read_bytes += (double)n;
  if (state->is_write) s->result->written_bytes += (double)n;
  for (int i = 0; i < r->n_sinks; i++) {
    channel_state *sink = &s->channel[r->sink[i]];
    sink->done += n;
    sink->phase = sink->done == sink->bytes ? FINISHING : READY;
    sink->ready_at = s->now + latency(s, r, i);
    if (sink->phase == FINISHING) queue_add(&s->queue, sink->ready_at, EV_SINK, route, i);
  }
  source->done += n;
  if (source->done == source->bytes) {
    for (int i = 0; i < r->n_sinks; i++) s->channel[r->sink[i]].engaged = 0;
    end_descriptor(s, r->source);
  } else {
    source->phase = READY;
    source->ready_at = s->now;
  }
  route_try(s, route);
  for (int i = 0; i < r->n_sinks && r->packet; i++) channel_try(s, r->sink[i]);
}

void route_sink_end(sim *s, int route, int sink) { end_descriptor(s, s->program->routes.at[route].sink[sink]); }
