/* core.c - a core's program: loops, locks, kernel calls. */
#include <stdio.h>

#include "target/xdna2/array/scalar.h"
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
  const xd_scalar *t = &op->scalar;
  if (turns == XD_COUNTED) {
    const int64_t from = xd_scalar_value(&t->from[0], c->registers), to = xd_scalar_value(&t->from[1], c->registers),
                  step = xd_scalar_value(&t->from[2], c->registers);
    if (step < 1) {
      SIM_FAIL(s, "%s: a loop in steps of %lld", xd_place_label(s->program->cores.at[core].tile).text, (long long)step);
      return false;
    }
    turns = to <= from ? 0 : (int64_t)(((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step + 1);
  }
  if (op->turns) c->registers[t->to] = xd_scalar_value(&t->from[0], c->registers);
  if (turns) {
    c->loop[c->loops].start = ++c->at;
    c->loop[c->loops++].left = turns;
    return true;
  }
  const xd_op *ops = s->program->cores.at[core].ops.at;
  for (int depth = 0;;) { /* a loop of no iterations: continues after its end */
    depth += ops[c->at].kind == XD_LOOP ? 1 : ops[c->at].kind == XD_END ? -1 : 0;
    c->at++;
    if (!depth) return true;
  }
}

static void end_loop(sim *s, int core) {
  core_state *c = &s->core[core];
  const int top = c->loops - 1;
  const xd_op *begin = &s->program->cores.at[core].ops.at[c->loop[top].start - 1];
  if (c->loop[top].left > 0) c->loop[top].left--;
  if (begin->turns) c->registers[begin->scalar.to] += xd_scalar_value(&begin->scalar.from[2], c->registers);
  if (c->loop[top].left) {
    c->at = c->loop[top].start;
    return;
  }
  c->loops--;
  c->at++;
}

/* Continues after the ELSE or END_IF of the next IF or ELSE. */
static void skip_branch(sim *s, int core, bool to_else) {
  core_state *c = &s->core[core];
  const xd_op *ops = s->program->cores.at[core].ops.at;
  for (int depth = 0;; c->at++) {
    const xd_op_kind kind = ops[c->at].kind;
    if (kind == XD_IF) depth++;
    if (kind == XD_END_IF) depth--;
    if ((kind == XD_END_IF && depth <= (to_else ? 0 : -1)) || (kind == XD_ELSE && depth == 1 && to_else)) break;
  }
  c->at++;
}

/* The number of the argument's buffer in its port. Without data, registers have no numbers of buffers. */
static int buffer_of(const sim *s, int core, const xd_op *op, int i) {
  const int choices = op->argument[i].choices;
  const int64_t chosen = s->core[core].registers[op->argument[i].chosen];
  if (choices && !s->options->timing_only)
    return chosen > 0 && chosen < choices ? (int)chosen : 0; /* 0: the default of scf.index_switch */
  return (s->port[op->argument[i].port].oldest + op->argument[i].element) %
         s->program->ports.at[op->argument[i].port].n_buffers;
}

/* The bytes of an argument that the core holds; NULL, with the failure noted, if it does not hold it. */
static uint8_t *argument_of(sim *s, int core, const xd_op *op, int i, const char *what) {
  const xd_port *q = &s->program->ports.at[op->argument[i].port];
  const port_state *port = &s->port[op->argument[i].port];
  const int buffer = buffer_of(s, core, op, i), element = (buffer - port->oldest + q->n_buffers) % q->n_buffers;
  if (q->acquire.lock >= 0 && element >= port->held) {
    SIM_FAIL(s, "%s %s object %d of %s, but holds %d; an acquire is missing", xd_place_label(q->tile).text, what,
             element, q->name, port->held);
    return NULL;
  }
  if (s->options->timing_only) return NULL;
  return s->memory[q->first_buffer + buffer] + op->argument[i].offset;
}

/* Without data, loads give 0. */
static bool scalar(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  const xd_scalar *x = &op->scalar;
  if (x->kind == XD_SCALAR_LOAD || x->kind == XD_SCALAR_STORE) {
    const xd_port *q = &s->program->ports.at[op->argument[0].port];
    const int64_t at = xd_scalar_value(&x->from[0], c->registers), size = tw_type_bits(x->type) / 8,
                  room = s->program->buffers.at[q->first_buffer].bytes - op->argument[0].offset;
    uint8_t *bytes = argument_of(s, core, op, 0, x->kind == XD_SCALAR_LOAD ? "loads from" : "stores to");
    if (s->status == TW_OK && (at < 0 || at >= room / size))
      SIM_FAIL(s, "%s %s element %lld of %s, which has %lld", xd_place_label(s->program->cores.at[core].tile).text,
               x->kind == XD_SCALAR_LOAD ? "loads" : "stores", (long long)at, q->name, (long long)(room / size));
    if (s->status != TW_OK) return false;
    if (x->kind == XD_SCALAR_STORE && bytes)
      xd_scalar_store(x->type, xd_scalar_value(&x->from[1], c->registers), bytes + at * size);
    else if (x->kind == XD_SCALAR_LOAD)
      c->registers[x->to] = bytes ? xd_scalar_load(x->type, x->is_unsigned, bytes + at * size) : 0;
  } else {
    c->registers[x->to] = xd_scalar_compute(x, c->registers);
  }
  c->ahead += x->cycles;
  s->result->call_cycles += x->cycles;
  c->at++;
  return true;
}

static bool acquire(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  const xd_port *q = &s->program->ports.at[op->port];
  port_state *port = &s->port[op->port];
  if (port->held + op->count > q->n_buffers) {
    SIM_FAIL(s, "%s acquires %d of the %d objects of %s at once; a release is missing", xd_place_label(q->tile).text,
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
    SIM_FAIL(s, "%s releases %d objects of %s, but holds %d; an acquire is missing", xd_place_label(q->tile).text,
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

/* Uses a lock that guards no buffers. */
static bool use_barrier(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  if (op->kind == XD_ADD_TO_LOCK)
    lock_give(s, (xd_lock_use){op->lock, (int)op->count});
  else if (op->kind == XD_TAKE_LOCK) {
    c->waits_since = s->now;
    if (!lock_take(s, agent_of_core(s, core), (xd_lock_use){op->lock, (int)op->count})) return false;
  } else if (!lock_await(s, agent_of_core(s, core), op->lock, (int)op->count))
    return false;
  c->ahead += s->config->array.lock_cycles;
  c->at++;
  return true;
}

static bool call(sim *s, int core, const xd_op *op) {
  core_state *c = &s->core[core];
  uint8_t *argument[XD_ARGUMENTS] = {0};
  for (int i = 0; i < op->n_arguments; i++) {
    char what[64];
    snprintf(what, sizeof what, "calls %.40s on", op->call.function->name);
    argument[i] = argument_of(s, core, op, i, what);
    if (s->status != TW_OK) return false;
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
  enum { MOST = 1 << 28 }; /* operations between two waits, which take a core minutes */
  for (int done = 0; s->status == TW_OK && c->at < n; done++) {
    const xd_op *op = &ops[c->at];
    if (done == MOST)
      SIM_FAIL(s, "%s runs more than %d operations without waiting",
               xd_place_label(s->program->cores.at[core].tile).text, MOST);
    /* an operation that others can see happens at its time: earlier cycles pass first */
    if (c->ahead > 0 && op->kind >= XD_ACQUIRE && op->kind != XD_CALL) {
      queue_add(&s->queue, s->now + c->ahead, EV_CORE, core, 0);
      c->ahead = 0;
      return;
    }
    bool goes_on = true;
    switch (op->kind) {
    case XD_LOOP: goes_on = begin_loop(s, core, op); break;
    case XD_END: end_loop(s, core); break;
    case XD_IF:
      if (xd_scalar_value(&op->scalar.from[0], c->registers))
        c->at++;
      else
        skip_branch(s, core, true);
      break;
    case XD_ELSE:
      c->at++;
      skip_branch(s, core, false);
      break;
    case XD_END_IF: c->at++; break;
    case XD_SCALAR: goes_on = scalar(s, core, op); break;
    case XD_ACQUIRE: goes_on = acquire(s, core, op); break;
    case XD_RELEASE: goes_on = release(s, core, op); break;
    case XD_CALL: goes_on = call(s, core, op); break;
    case XD_AWAIT_LOCK:
    case XD_TAKE_LOCK:
    case XD_ADD_TO_LOCK: goes_on = use_barrier(s, core, op); break;
    }
    if (!goes_on) return;
  }
  c->ended = c->at >= n;
}
