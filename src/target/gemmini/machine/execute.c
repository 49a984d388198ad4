/* execute.c - the execute controller and the systolic array: ExecuteController.scala, TransposePreloadUnroller.scala,
 * MeshWithDelays.scala, Mesh.scala.
 *
 * A matrix enters the array row by row. Weights (D, last row first) and activations (A) of the next two matrices
 * enter side by side when the queue's head is compute, preload, compute (the overlap that makes 16 cycles a pair);
 * each row is read from a single-ported scratchpad bank, so operands in one bank take turns, and a bank that is
 * being written makes its reader wait. Rows reach the array through a queue as deep as the scratchpad read takes.
 * Results leave the array a fixed number of cycles later, tagged with the preload whose C they are. */
#include "target/gemmini/machine/internal.h"

void gm_execute_init(gm_machine *m) {
  gm_executor *x = &m->ex;
  const gm_config *c = &m->config;
  x->finished[0] = x->finished[1] = -1;
  x->weight_stationary = true;
  x->control_depth = c->spad_read_delay + 1;
  x->ids = 5 * (c->tile_latency + 1); /* MeshWithDelays.scala:48-56: 5 matmuls a PE latency */
  x->tag_max = x->ids + 1;
  /* A row passes dim tiles and an output register, and is skewed by up to dim-1 columns (Mesh.scala, shifted()). */
  x->latency = c->dim * (c->tile_latency + 1) + c->mesh_output_delay + (c->dim - 1) * (c->tile_latency + 1);
}

/* ---- TransposePreloadUnroller: with B transposed (weight-stationary), preload + compute_preloaded become
 * preload B to nowhere, compute to nowhere (which turns B), preload nothing to C, compute. ---- */

bool gm_executor_accepts(const gm_machine *m) { return m->ex.n_unroll < 2; }

void gm_executor_push(gm_machine *m, const gm_command *c, int entry) {
  m->ex.unroll[m->ex.n_unroll++] = (gm_ex_command){ *c, *c, true, entry };
}

static bool is_compute(const gm_ex_command *c) {
  return c->timing.funct == GM_COMPUTE_PRELOADED || c->timing.funct == GM_COMPUTE_ACCUMULATED;
}

static void unroll_step(gm_executor *x, int n_before) {
  gm_ex_command *in = x->unroll, out = in[0];
  bool pop = true, first = in[0].timing.funct == GM_PRELOAD && x->unroll_state == 0;
  if (first && x->b_transposed && n_before < 2) return;
  bool unroll = first && x->b_transposed && in[1].timing.funct == GM_COMPUTE_PRELOADED;
  if (unroll) {
    out.timing.rs2 |= GM_GARBAGE;
    out.has_semantic = false;
    out.entry = -1;
    pop = false;
    x->unroll_state = 1;
  } else if (x->unroll_state == 1) {
    out = in[1];
    out.timing.funct = GM_COMPUTE_ACCUMULATED;
    out.has_semantic = false;
    out.entry = -1;
    pop = false;
    x->unroll_state = 2;
  } else if (x->unroll_state == 2) {
    out.timing.rs1 |= GM_GARBAGE;
    x->unroll_state = 0;
  } else if (in[0].timing.funct == GM_CONFIG && !(in[0].timing.rs1 >> 7 & 1)) {
    x->b_transposed = (in[0].timing.rs1 >> 2 & 1) && (in[0].timing.rs1 >> 9 & 1);
  }
  x->queue[(x->head + x->count) & (GM_EX_QUEUE - 1)] = out;
  x->count++;
  if (pop) {
    x->unroll[0] = x->unroll[1];
    x->n_unroll--;
  }
}

/* ---- the array ---- */

/* Rows that leave the array in this cycle; the last one completes its preload. */
static int mesh_finished(gm_machine *m) {
  gm_executor *x = &m->ex;
  int done = -1;
  if (!x->row_count || x->rows[x->row_head].exit != m->now) return done;
  int id = x->rows[x->row_head].id;
  bool last = x->rows[x->row_head].last;
  x->row_head = (x->row_head + 1) & (GM_ROWS - 1);
  x->row_count--;
  if (!x->tag_count || x->tags[x->tag_head].id != id) return done;
  gm_tag *t = &x->tags[x->tag_head];
  if (t->entry >= 0) {
    if (!t->garbage && x->output_count < t->rows) {
      uint32_t row = t->row + (uint32_t)x->output_count * t->stride;
      if (t->acc) {
        uint32_t bank = 1u << (row >> m->acc_bank_shift);
        m->acc_written |= bank;
        if (t->accumulate) m->acc_accumulated |= bank;
      } else {
        m->spad_written |= 1u << (row >> m->spad_bank_shift);
      }
    }
    x->output_count++;
    if (last) {
      done = t->entry;
      x->output_count = 0;
    }
  }
  if (last) {
    x->tag_head = x->tag_head + 1 == GM_TAGS ? 0 : x->tag_head + 1;
    x->tag_count--;
  }
  return done;
}

/* Rows that are complete in the input buffers enter the array; then the next row's operands arrive there. */
static bool mesh_input(gm_machine *m, bool room_for_tag, bool flush_asked, bool *flushed) {
  gm_executor *x = &m->ex;
  bool enters = x->request && ((x->a_written && x->b_written && x->d_written) || x->flush), last = false;
  if (enters) {
    last = x->fire_count == x->request_rows - 1;
    int i = (x->row_head + x->row_count++) & (GM_ROWS - 1);
    x->rows[i].exit = m->now + (unsigned)x->latency;
    x->rows[i].id = (uint8_t)x->id;
    x->rows[i].last = last;
    x->fire_count = last ? 0 : x->fire_count + 1;
    x->a_written = x->b_written = x->d_written = false;
  }
  bool ready = (!x->request || last) && room_for_tag;
  if (last) x->request = x->flush = false;
  if (x->control_count) {
    gm_control *c = &x->control[x->control_head];
    bool any = c->a || c->b || c->d;
    if (c->data <= m->now && (!c->first || ready || !any)) {
      if (c->first && any) {
        x->request = true;
        x->request_rows = c->total;
        int old = x->id;
        x->id = (x->id + 1) % x->ids;
        int slot = x->tag_head + x->tag_count++;
        if (slot >= GM_TAGS) slot -= GM_TAGS;
        x->tags[slot] = x->next_tag[x->next_tag_head];
        x->next_tag_head = (x->next_tag_head + 1) & (GM_NEXT_TAGS - 1);
        x->tags[slot].id = (uint8_t)((old + (x->weight_stationary ? 2 : 3)) % x->ids);
      }
      x->a_written |= c->a;
      x->b_written |= c->b;
      x->d_written |= c->d;
      x->control_head = x->control_head + 1 == GM_CONTROL_QUEUE ? 0 : x->control_head + 1;
      x->control_count--;
    }
  } else if (flush_asked && ready) {
    x->request = x->flush = true;
    x->request_rows = m->config.dim;
    x->id = (x->id + 1) % x->ids;
    *flushed = true;
  }
  return ready;
}

/* ---- operands ---- */

static gm_operand operand(const gm_machine *m, uint64_t rs, bool feeds, uint32_t stride, int rows) {
  gm_operand o = { 0 };
  uint32_t local = gm_local(rs);
  o.garbage = gm_is_garbage(local);
  o.feeds = feeds;
  o.row = o.garbage ? 0 : gm_row_of(m, local);
  o.step = (int)stride;
  o.rows = rows;
  return o;
}

static uint32_t bank_of(const gm_machine *m, const gm_operand *o, bool weights) {
  uint32_t row = weights ? o->row + (uint32_t)(m->config.dim - 1 - o->count) : o->row + (uint32_t)(o->count * o->step);
  return row >> m->spad_bank_shift & (uint32_t)(m->config.spad_banks - 1);
}

static bool in_accumulator(gm_machine *m, uint64_t rs) {
  if (gm_is_garbage(gm_local(rs)) || !gm_is_acc(gm_local(rs))) return false;
  snprintf(m->why, sizeof m->why, "compute or preload reads an operand from the accumulator (address 0x%x): not modelled; "
           "move it to the scratchpad", gm_local(rs));
  return true;
}

/* Starts feeding: decodes the operands of the commands at the queue's head (:141-180, total_rows :300). */
static void begin(gm_machine *m, enum gm_ex_action action) {
  gm_executor *x = &m->ex;
  const int dim = m->config.dim;
  gm_ex_command *q[3];
  for (int i = 0; i < 3; i++) q[i] = &x->queue[(x->head + i) & (GM_EX_QUEUE - 1)];
  int preload = action == GM_PRELOAD_ALONE ? 0 : 1; /* preload_cmd_place */
  bool os = !x->weight_stationary;
  bool turn_a = os ? !x->a_transposed : x->a_transposed; /* A passes the transposer one step ahead */
  bool turn_d = !os && x->b_transposed;
  bool turn_b = os && x->b_transposed;
  const gm_command *pre = action == GM_COMPUTE_ALONE ? NULL : &q[preload]->timing;
  const gm_command *for_a = &q[preload == 0 ? 1 : turn_a ? 2 : 0]->timing;
  const gm_command *for_b = &q[preload == 0 ? 1 : turn_b ? 2 : 0]->timing;
  if (action == GM_COMPUTE_ALONE) for_a = for_b = &q[0]->timing;
  if (in_accumulator(m, for_a->rs1) || in_accumulator(m, for_b->rs2) || (pre && in_accumulator(m, pre->rs1))) return;

  int a_rows = x->a_transposed ? gm_cols(for_a->rs1) : gm_rows(for_a->rs1);
  int b_rows = turn_b ? gm_cols(for_b->rs2) : gm_rows(for_b->rs2);
  bool feeds_a = action == GM_OVERLAP || (action == GM_PRELOAD_ALONE ? turn_a : !turn_a);
  bool feeds_b = action == GM_OVERLAP || (action == GM_PRELOAD_ALONE ? turn_b : !turn_b);
  x->a = operand(m, for_a->rs1, feeds_a, x->a_stride, a_rows);
  x->b = operand(m, for_b->rs2, feeds_b, 1, b_rows);
  x->d = pre ? operand(m, pre->rs1, true, 1, turn_d ? gm_cols(pre->rs1) : gm_rows(pre->rs1)) : (gm_operand){ .garbage = true };
  if (pre && !x->d.garbage) x->d.step = -1;

  x->total = dim;
  if (!os && (x->d.garbage || !x->d.feeds) && !turn_a && !turn_b && !turn_d) {
    int rows_a = x->a.garbage || !feeds_a ? 1 : a_rows, rows_b = x->b.garbage || !feeds_b ? 1 : b_rows;
    x->total = rows_a > rows_b ? rows_a : rows_b;
    if (x->total < 4) x->total = 4;
  }
  uint32_t c = pre ? gm_local(pre->rs2) : GM_GARBAGE;
  x->tag = (gm_tag){ .entry = pre && !gm_is_garbage(c) ? q[preload]->entry : -1, .garbage = gm_is_garbage(c), .acc = gm_is_acc(c),
                     .accumulate = gm_accumulates(c), .row = gm_is_garbage(c) ? 0 : gm_row_of(m, c), .stride = x->c_stride,
                     .rows = pre ? (uint8_t)gm_rows(pre->rs2) : 0 };
  x->next_tag[x->next_tag_tail] = x->tag;
  x->next_tag_tail = (x->next_tag_tail + 1) & (GM_NEXT_TAGS - 1);
  x->action = action;
  x->state = GM_EX_COMPUTE;
  /* The usual case, fed without looking again: nothing but A and the weights, in two banks that they stay in. */
  uint32_t a_first = bank_of(m, &x->a, false), d_last = bank_of(m, &x->d, true);
  x->a_bank = 1u << a_first;
  x->d_bank = 1u << d_last;
  int a_end = x->total < x->a.rows ? x->total : x->a.rows;
  x->lockstep = x->b.garbage && !(feeds_a && x->d.feeds && !x->a.garbage && !x->d.garbage && a_first == d_last) &&
                (x->a.row + (uint32_t)((a_end - 1) * x->a.step)) >> m->spad_bank_shift == x->a.row >> m->spad_bank_shift &&
                (x->d.row + (uint32_t)dim - 1) >> m->spad_bank_shift == x->d.row >> m->spad_bank_shift;

  for (int i = 0; i < (action == GM_OVERLAP ? 2 : 1); i++) {
    if (!q[i]->has_semantic) continue;
    const gm_command *s = &q[i]->semantic;
    bool ok = s->funct == GM_PRELOAD ? gm_arch_preload(m->arch, s, m->why) : gm_arch_compute(m->arch, s, m->why);
    if (!ok) return;
    if (s->funct != GM_PRELOAD && !gm_is_garbage(gm_local(s->rs1)))
      m->counters.macs += (uint64_t)gm_rows(s->rs1) * (unsigned)gm_cols(s->rs1) * (unsigned)dim;
  }
}

static bool ahead(const gm_operand *o, const gm_operand *other, int total) {
  int next = other->count + 1 == total ? 0 : other->count + 1;
  return o->started && o->count == next;
}

static bool same_bank(const gm_machine *m, const gm_operand *o, bool weights, const gm_operand *p, bool p_weights) {
  return o->feeds && p->feeds && !o->garbage && !p->garbage && bank_of(m, o, weights) == bank_of(m, p, p_weights);
}

static bool in_step(const gm_operand *o, const gm_operand *p) { return o->started == p->started && o->count == p->count; }

static bool real_row(const gm_machine *m, const gm_operand *o, bool weights) {
  return o->feeds && !o->garbage && (weights ? m->config.dim - 1 - o->count : o->count) < o->rows;
}

static void advance(gm_operand *o, int total) {
  o->count = o->count + 1 == total ? 0 : o->count + 1;
  o->started = true;
}

static void into_control(gm_machine *m, bool reads, bool a, bool b, bool d, bool first) {
  gm_executor *x = &m->ex;
  int slot = x->control_head + x->control_count++;
  if (slot >= GM_CONTROL_QUEUE) slot -= GM_CONTROL_QUEUE;
  x->control[slot] = (gm_control){ m->now + 1 + (reads ? (unsigned)m->config.spad_read_delay : 0), a, b, d, first, (uint8_t)x->total };
}

/* feed() where the operands cannot be in each other's way and are in step: only a DMA write can stop a row. */
static bool feed_in_step(gm_machine *m, bool *all) {
  gm_executor *x = &m->ex;
  int i = x->a.count;
  uint32_t banks = (real_row(m, &x->a, false) ? x->a_bank : 0) | (real_row(m, &x->d, true) ? x->d_bank : 0);
  if (m->spad_written & banks || i != x->b.count || i != x->d.count) return false;
  m->spad_read |= banks;
  if (x->action == GM_PRELOAD_ALONE) m->counters.array_preload++;
  else m->counters.array_busy++;
  into_control(m, banks != 0, true, true, true, !x->a.started);
  *all = i == x->total - 1;
  x->a.count = x->b.count = x->d.count = *all ? 0 : i + 1;
  x->a.started = x->b.started = x->d.started = true;
  return true;
}

/* One cycle of feeding: which operands read their next row, and are all rows read? (:330-460) */
static bool feed(gm_machine *m) {
  gm_executor *x = &m->ex;
  gm_operand *a = &x->a, *b = &x->b, *d = &x->d;
  if (x->control_count >= x->control_depth) return false;
  bool in_step_done;
  if (x->lockstep && feed_in_step(m, &in_step_done)) return in_step_done;
  bool a_fires = !ahead(a, b, x->total) && !ahead(a, d, x->total);
  bool b_fires = !ahead(b, a, x->total) && !ahead(b, d, x->total) && !(same_bank(m, b, false, a, false) && in_step(b, a));
  bool d_fires = !ahead(d, a, x->total) && !ahead(d, b, x->total) && !(same_bank(m, d, true, a, false) && in_step(d, a)) &&
                 !(same_bank(m, d, true, b, false) && in_step(d, b));
  bool conflict = !a_fires || !b_fires || !d_fires, reads = false;
  gm_operand *const o[3] = { a, b, d };
  bool *const fires[3] = { &a_fires, &b_fires, &d_fires };
  for (int i = 0; i < 3; i++) {
    if (!*fires[i] || !real_row(m, o[i], i == 2)) continue;
    uint32_t bank = 1u << bank_of(m, o[i], i == 2);
    m->spad_read |= bank;
    if (m->spad_written & bank) {
      *fires[i] = false;
      conflict = true;
    } else {
      reads = true;
    }
  }
  if (conflict) m->counters.bank_conflict++;
  else if (x->action == GM_PRELOAD_ALONE) m->counters.array_preload++;
  else m->counters.array_busy++;
  into_control(m, reads, a_fires, b_fires, d_fires, !a->started && !b->started && !d->started);
  int end = x->total - 1;
  bool all = ((a->count == end && a_fires) || a->count == 0) && ((b->count == end && b_fires) || b->count == 0) &&
             ((d->count == end && d_fires) || d->count == 0) && (a->started || b->started || d->started);
  if (a_fires) advance(a, x->total);
  if (b_fires) advance(b, x->total);
  if (d_fires) advance(d, x->total);
  return all;
}

/* ---- control ---- */

static bool configure(gm_machine *m, const gm_ex_command *c) {
  gm_executor *x = &m->ex;
  if (!gm_arch_config(m->arch, &c->semantic, m->why)) return false;
  const gm_execute_registers *r = &gm_arch_registers(m->arch)->execute;
  x->weight_stationary = r->weight_stationary;
  x->a_transposed = r->a_transposed;
  x->a_stride = (uint32_t)r->a_stride;
  x->c_stride = (uint32_t)r->c_stride;
  return true;
}

static bool in_flight(const gm_executor *x) {
  for (int i = 0, t = x->tag_head; i < x->tag_count; i++, t = t + 1 == GM_TAGS ? 0 : t + 1)
    if (x->tags[t].entry >= 0) return true;
  return false;
}

/* A result still in the array that the commands at hand would read (raw_hazard_*; matters for C in the scratchpad). */
static bool reads_result(const gm_machine *m, const gm_ex_command *pre, const gm_ex_command *comp) {
  const gm_executor *x = &m->ex;
  for (int i = 0, t = x->tag_head; i < x->tag_count; i++, t = t + 1 == GM_TAGS ? 0 : t + 1) {
    const gm_tag *g = &x->tags[t];
    if (g->garbage || g->acc) continue;
    const uint64_t r[3] = { pre->timing.rs1, comp->timing.rs1, comp->timing.rs2 };
    for (int k = 0; k < 3; k++)
      if (!gm_is_acc(gm_local(r[k])) && gm_row_of(m, gm_local(r[k])) == g->row) return true;
  }
  return false;
}

static void pop(gm_executor *x, int n) {
  x->head = (x->head + n) & (GM_EX_QUEUE - 1);
  x->count -= n;
}

static void decide(gm_machine *m) {
  gm_executor *x = &m->ex;
  if (!x->count) {
    if (!x->weight_stationary && in_flight(x)) x->state = GM_EX_FLUSH;
    return;
  }
  gm_ex_command *q[3];
  for (int i = 0; i < 3; i++) q[i] = &x->queue[(x->head + i) & (GM_EX_QUEUE - 1)];
  bool config = q[0]->timing.funct == GM_CONFIG, preload = q[0]->timing.funct == GM_PRELOAD;
  if (config && x->finished[0] < 0 && x->finished[1] < 0 && !in_flight(x)) {
    if (!configure(m, q[0])) return;
    x->mesh_done = q[0]->entry; /* completes in this cycle; the array is empty, so the port is free */
    pop(x, 1);
  } else if (preload && x->count >= 2 && !reads_result(m, q[0], q[1])) {
    begin(m, GM_PRELOAD_ALONE);
  } else if (is_compute(q[0]) && x->count >= 3 && q[1]->timing.funct == GM_PRELOAD && !reads_result(m, q[1], q[2])) {
    begin(m, GM_OVERLAP);
  } else if (is_compute(q[0])) {
    begin(m, GM_COMPUTE_ALONE);
  } else if (in_flight(x) && (!x->weight_stationary || config)) {
    x->state = GM_EX_FLUSH;
  }
}

static void retire(gm_machine *m) {
  gm_executor *x = &m->ex;
  gm_ex_command *q0 = &x->queue[x->head], *q1 = &x->queue[(x->head + 1) & (GM_EX_QUEUE - 1)];
  if (x->action == GM_PRELOAD_ALONE) {
    x->finished[0] = x->tag.garbage ? q0->entry : -1;
    pop(x, 1);
  } else if (x->action == GM_OVERLAP) {
    x->finished[0] = q0->entry;
    x->finished[1] = x->tag.garbage ? q1->entry : -1;
    pop(x, 2);
  } else {
    x->finished[0] = q0->entry;
    pop(x, 1);
  }
  x->finished_at = m->now;
  x->state = GM_EX_WAIT;
}

/* Why nothing enters the array in this cycle. */
static void count_idle(gm_machine *m) {
  const gm_station *s = &m->rs;
  gm_counters *n = &m->counters;
  uint64_t waiting = s->valid & ~s->issued & s->mask[GM_EX];
  if (m->ex.state == GM_EX_FLUSH || m->ex.state == GM_EX_FLUSHING) {
    n->wait_config++;
  } else if (waiting) {
    uint64_t waits = 0;
    for (uint64_t w = waiting; w; w &= w - 1) { /* the next to issue waits for none of its own queue */
      waits = s->entry[__builtin_ctzll(w)].waits;
      if (!(waits & s->mask[GM_EX])) break;
    }
    if (waits & s->mask[GM_LD]) n->wait_load++;
    else if (waits & s->mask[GM_ST]) n->wait_store++;
    else n->wait_cpu++;
  } else if (m->fencing && !(s->valid & s->mask[GM_EX])) {
    n->drain++;
  } else if (m->front[GM_FRONT - 1].count) {
    int funct = m->front[GM_FRONT - 1].command[0].funct;
    if (funct == GM_MVOUT) n->wait_store++;
    else n->wait_load_queue++;
  } else {
    n->wait_cpu++;
  }
}

/* The command that the execute side completes in this cycle: results first (:978-990). */
int gm_executor_finished(gm_machine *m) {
  gm_executor *x = &m->ex;
  if (x->mesh_done >= 0) return x->mesh_done;
  for (int i = 0; i < 2; i++)
    if (x->finished[i] >= 0 && x->finished_at < m->now) {
      int done = x->finished[i];
      x->finished[i] = -1;
      return done;
    }
  return -1;
}

void gm_mesh_output(gm_machine *m) {
  gm_executor *x = &m->ex;
  x->room_for_tag = x->tag_count < x->tag_max;
  x->mesh_done = mesh_finished(m);
}

void gm_execute_step(gm_machine *m) {
  gm_executor *x = &m->ex;
  int queue_before = x->count, unroll_before = x->n_unroll;
  bool flushed = false;
  bool ready = mesh_input(m, x->room_for_tag, x->state == GM_EX_FLUSH, &flushed);
  switch (x->state) {
  case GM_EX_WAIT: decide(m); break;
  case GM_EX_FLUSH: if (flushed) x->state = GM_EX_FLUSHING; break;
  case GM_EX_FLUSHING: if (ready) x->state = GM_EX_WAIT; break;
  case GM_EX_COMPUTE: break;
  }
  if (x->state == GM_EX_COMPUTE) {
    if (feed(m)) retire(m);
  } else {
    count_idle(m);
  }
  if (unroll_before && queue_before < m->config.queue_execute) unroll_step(x, unroll_before);
}

bool gm_executor_idle(const gm_machine *m) {
  const gm_executor *x = &m->ex;
  return !x->count && !x->n_unroll && !x->control_count && !x->row_count && !x->request && x->finished[0] < 0 && x->finished[1] < 0 &&
         x->state == GM_EX_WAIT;
}
