/* core.c - a core's program: loops, locks, kernel calls. */
#include "target/xdna2/array/sim.h"

static void add_wait(sim *s, const xd_port *q, double cycles) {
  *(q->is_producer ? &s->result->wait_output_cycles : &s->result->wait_input_cycles) += cycles;
}

static const xd_op *op_of(const sim *s, int core) { return &s->program->cores.at[core].ops.at[s->core[core].at]; }

/* ---- operations: false if the core waits ---- */

static bool begin_loop(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  int64_t turns = op->count;
  if (op->parameter >= 0) {
    if (!c->is_set[op->parameter]) {
      c->waits_for_parameter = op->parameter;
      return false;
    }
    turns = c->parameter[op->parameter];
  }
  if (turns) {
    c->loop[c->loops].start = ++c->at;
    c->loop[c->loops++].left = turns;
    return true;
  }
  const xd_op *ops = s->program->cores.at[core].ops.at;
  for (int depth = 0;;) { /* no turn at all: past its end */
    depth += ops[c->at].kind == XD_LOOP ? 1 : ops[c->at].kind == XD_END ? -1 : 0;
    c->at++;
    if (!depth) return true;
  }
}

static void end_loop(sim *s, int core) {
  core_state *c = &s->core[core];
  const int top = c->loops - 1;
  if (c->loop[top].left > 0) c->loop[top].left--;
  if (c->loop[top].left) {
    c->at = c->loop[top].start;
    return;
  }
  c->loops--;
  c->at++;
}

static bool acquire(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  const xd_port *q = &s->program->ports.at[op->port];
  port_state *port = &s->port[op->port];
  if (port->held + op->count > q->n_buffers) {
    SIM_FAIL(s, "%s acquires %d of the %d objects of %s at once: a release is missing", xd_place_label(q->tile).text,
             port->held + (int)op->count, q->n_buffers, q->name);
    return false;
  }
  c->waits_since = s->now;
  const xd_lock_use use = {q->acquire.lock, q->acquire.count * (int)op->count};
  if (!lock_take(s, agent_of_core(s, core), use)) return false;
  port->held += (int)op->count;
  c->ahead += s->config->array.lock_cycles;
  c->at++;
  return true;
}

void core_granted(sim *s, int core) {
  core_state *c = &s->core[core];
  const xd_op *op = op_of(s, core);
  if (op->kind == XD_ACQUIRE) {
    s->port[op->port].held += (int)op->count;
    add_wait(s, &s->program->ports.at[op->port], s->now - c->waits_since);
  }
  c->ahead = s->config->array.lock_cycles;
  c->at++;
  queue_add(&s->queue, s->now, EV_CORE, core, 0);
}

static bool release(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  const xd_port *q = &s->program->ports.at[op->port];
  port_state *port = &s->port[op->port];
  if (port->held < op->count) {
    SIM_FAIL(s, "%s releases %d objects of %s, but holds %d: an acquire is missing", xd_place_label(q->tile).text,
             (int)op->count, q->name, port->held);
    return false;
  }
  port->held -= (int)op->count;
  port->oldest = (port->oldest + (int)op->count) % q->n_buffers;
  lock_give(s, (xd_lock_use){q->release.lock, q->release.count * (int)op->count});
  c->ahead += s->config->array.lock_cycles;
  c->at++;
  return true;
}

/* Of a lock that guards no buffers. */
static bool use_barrier(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  if (op->kind == XD_ADD_TO_LOCK)
    lock_give(s, (xd_lock_use){op->lock, (int)op->count});
  else if (!lock_await(s, agent_of_core(s, core), op->lock, (int)op->count))
    return false;
  c->ahead += s->config->array.lock_cycles;
  c->at++;
  return true;
}

static bool call(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  uint8_t *argument[XD_ARGUMENTS] = {0};
  for (int i = 0; i < op->n_arguments; i++) {
    const xd_port *q = &s->program->ports.at[op->argument[i].port];
    const port_state *port = &s->port[op->argument[i].port];
    if (q->acquire.lock >= 0 && op->argument[i].element >= port->held) {
      SIM_FAIL(s, "%s calls %s on object %d of %s, but holds %d: an acquire is missing", xd_place_label(q->tile).text,
               op->call.function->name, op->argument[i].element, q->name, port->held);
      return false;
    }
    if (!s->options->timing_only)
      argument[i] =
          s->memory[q->first_buffer + (port->oldest + op->argument[i].element) % q->n_buffers] + op->argument[i].offset;
  }
  if (!s->options->timing_only) op->call.function->run(&op->call, argument);
  const double cycles = c->cycles[c->at];
  if (s->options->span && cycles > 0)
    s->options->span(s->options->span_context, xd_core_lane(s->program->cores.at[core].tile).text,
                     op->call.function->name, s->now + c->ahead, s->now + c->ahead + cycles);
  s->result->call_cycles += cycles;
  s->result->calls++;
  c->ahead += cycles;
  c->at++;
  return true;
}

void core_run(sim *s, int core) {
  core_state *c = &s->core[core];
  const xd_op *ops = s->program->cores.at[core].ops.at;
  const size_t n = s->program->cores.at[core].ops.n;
  while (s->status == TW_OK && c->at < n) {
    const xd_op *op = &ops[c->at];
    /* What others can see happens at its time: cycles spent so far pass first. */
    if (c->ahead > 0 && op->kind >= XD_ACQUIRE && op->kind != XD_CALL) {
      queue_add(&s->queue, s->now + c->ahead, EV_CORE, core, 0);
      c->ahead = 0;
      return;
    }
    bool goes_on = true;
    switch (op->kind) {
    case XD_LOOP: goes_on = begin_loop(s, core, op); break;
    case XD_END: end_loop(s, core); break;
    case XD_ACQUIRE: goes_on = acquire(s, core, op); break;
    case XD_RELEASE: goes_on = release(s, core, op); break;
    case XD_CALL: goes_on = call(s, core, op); break;
    case XD_AWAIT_LOCK:
    case XD_ADD_TO_LOCK: goes_on = use_barrier(s, core, op); break;
    }
    if (!goes_on) return;
  }
  c->ended = c->at >= n;
}
