/* execute.c - the execute controller and the systolic array: ExecuteController.scala, TransposePreloadUnroller.scala,
 * MeshWithDelays.scala, Mesh.scala.
 *
 * A matrix enters the array row by row. Weights (D, last row first) and activations (A) of the next two matrices enter
 * side by side when the queue's head is compute, preload, compute (the overlap that makes 16 cycles a pair); each row
 * is read from a single-ported scratchpad bank, so operands in one bank alternate, and a bank that is being written
 * makes its reader wait. Rows reach the array through a queue whose depth is the latency of a scratchpad read. Results
 * leave the array a fixed number of cycles later, tagged with the preload of their C. */
#include "target/gemmini/machine/internal.h"

void gm_execute_init(gm_machine *m) {
  gm_executor *x = &m->ex;
  const gm_config *c = &m->config;
  x->finished[0] = x->finished[1] = -1;
  x->weight_stationary = true;
  x->output_at = GM_NEVER;
  x->whole = (unsigned)c->dim << 16 | (unsigned)c->dim;
  x->control_depth = c->spad_read_delay + 1;
  x->ids = 5 * (c->tile_latency + 1); /* MeshWithDelays.scala:48-56: 5 matmuls a PE latency */
  x->tag_max = x->ids + 1;
  /* A row passes all tiles of a column and an output register, and is skewed by a tile a column (Mesh.scala,
   * shifted()). */
  const int tiles = c->dim / c->tile_rows;
  x->latency = tiles * (c->tile_latency + 1) + c->mesh_output_delay + (tiles - 1) * (c->tile_latency + 1);
}

/* ---- TransposePreloadUnroller: with B transposed (weight-stationary), preload + compute_preloaded become preload B to
 * nowhere, compute to nowhere (which transposes B), preload nothing to C, compute. ---- */

static gm_ex_command *command_at(gm_executor *x, int i) { return &x->queue[(x->head + i) & (GM_EX_RING - 1)]; }

/* The unroller's first command moves to the queue, one per cycle: it is visible there from `cycle` on, or after the
 * previous one. */
static void into_queue(gm_executor *x, uint64_t cycle) {
  command_at(x, x->count)->ready = x->count ? later(cycle, command_at(x, x->count - 1)->ready + 1) : cycle;
  x->count++;
  x->n_unroll--;
}

/* Does the unroller pass the command on as soon as the queue has room? */
static bool passes(const gm_executor *x, const gm_command *c) {
  return !x->unroll_state && !x->b_transposed && c->funct != GM_CONFIG;
}

/* The unroller is not stepped if it certainly forwards the command in the next cycle, or if it cannot forward it
 * before the current matrix has made room. */
void gm_executor_push(gm_machine *m, const gm_command *c, int entry) {
  gm_executor *x = &m->ex;
  const bool room = x->count < m->config.queue_execute, now = room && !x->n_unroll && passes(x, c);
  *command_at(x, x->count + x->n_unroll++) = (gm_ex_command){*c, entry, 0};
  if (now) into_queue(x, m->now + 2);
  if (x->state != GM_EX_STRETCH || (room && !now)) gm_wake(m, GM_UNIT_EXECUTE, m->now + 1);
}

static bool is_compute(const gm_ex_command *c) {
  return c->command.funct == GM_COMPUTE_PRELOADED || c->command.funct == GM_COMPUTE_ACCUMULATED;
}

/* A command made by the unroller, before its queued ones. */
static void insert(gm_executor *x, gm_ex_command command) {
  for (int i = x->count + x->n_unroll++; i > x->count; i--) *command_at(x, i) = *command_at(x, i - 1);
  command.entry = -1;
  *command_at(x, x->count) = command;
}

static void unroll_step(gm_executor *x, int n_before, uint64_t now) {
  gm_ex_command *in = command_at(x, x->count), *behind = command_at(x, x->count + 1);
  const bool first = in->command.funct == GM_PRELOAD && x->unroll_state == 0 && x->b_transposed;
  if (first && n_before < 2) return;
  if (first && behind->command.funct == GM_COMPUTE_PRELOADED) {
    insert(x, *in);
    in->command.rs2 |= GM_GARBAGE;
    x->unroll_state = 1;
  } else if (x->unroll_state == 1) {
    insert(x, *behind);
    in->command.funct = GM_COMPUTE_ACCUMULATED;
    x->unroll_state = 2;
  } else if (x->unroll_state == 2) {
    in->command.rs1 |= GM_GARBAGE;
    x->unroll_state = 0;
  } else if (in->command.funct == GM_CONFIG && !(in->command.rs1 >> 7 & 1)) {
    x->b_transposed = (in->command.rs1 >> 2 & 1) && (in->command.rs1 >> 9 & 1);
  }
  into_queue(x, now + 1);
}

/* ---- the array ---- */

static int id_after(const gm_executor *x, int id, int n) { return id + n < x->ids ? id + n : id + n - x->ids; }

static gm_outflow *rows_at(gm_executor *x, int i) { return &x->rows[(x->row_head + i) & (GM_ROWS - 1)]; }

static void drop_rows_that_left(gm_executor *x, uint64_t now) {
  while (x->row_count && rows_at(x, 0)->exit + rows_at(x, 0)->count <= now) {
    x->row_head = (x->row_head + 1) & (GM_ROWS - 1);
    x->row_count--;
  }
}

/* Rows [exit, exit + count) of matrix `id` are in flight. Single rows may precede stretches that began while the
 * rows were on their way to the array. */
static void add_rows(gm_executor *x, uint64_t now, uint64_t exit, int count, int before, int id, bool last) {
  drop_rows_that_left(x, now);
  int at = x->row_count;
  while (at && rows_at(x, at - 1)->exit > exit) at--;
  gm_outflow *previous = at ? rows_at(x, at - 1) : NULL;
  if (previous && previous->id == id && !previous->last && previous->exit + previous->count == exit) {
    previous->count = (uint16_t)(previous->count + count);
    previous->last = last;
    return;
  }
  for (int i = x->row_count++; i > at; i--) *rows_at(x, i) = *rows_at(x, i - 1);
  *rows_at(x, at) = (gm_outflow){exit, (uint16_t)count, (uint16_t)before, (uint8_t)id, last};
}

/* The output of the array in this cycle: writes; the last row of a matrix completes its preload. */
void gm_mesh_output(gm_machine *m) {
  gm_executor *x = &m->ex;
  x->output_of = m->now + 1;
  x->room_for_tag = x->tags_arrived < x->tag_max;
  drop_rows_that_left(x, m->now);
  if (!x->row_count) return;
  const gm_outflow *r = rows_at(x, 0);
  if (r->exit > m->now || !x->tag_count || x->tags[x->tag_head].id != r->id) return;
  gm_tag *t = &x->tags[x->tag_head];
  int i = (int)(m->now - r->exit) + r->before;
  if (t->entry >= 0 && !t->garbage && i < t->rows) {
    uint32_t row = t->row + (uint32_t)i * t->stride;
    t->written = (uint8_t)(i + 1);
    if (t->acc) {
      uint32_t bank = 1u << (row >> m->acc_bank_shift);
      m->acc_written |= bank;
      if (t->accumulate) m->acc_accumulated |= bank;
    } else {
      gm_write_bank(m, 1u << (row >> m->spad_bank_shift));
    }
  }
  if (r->last && m->now == r->exit + r->count - 1) {
    if (t->entry >= 0) {
      x->mesh_done = t->entry;
      gm_wake(m, GM_UNIT_STATION, m->now);
    }
    x->results_to_spad -= !t->garbage && !t->acc;
    x->tag_head = x->tag_head + 1 == GM_TAGS ? 0 : x->tag_head + 1;
    x->tag_count--;
    x->tags_arrived--;
  }
}

uint32_t gm_mesh_will_accumulate(const gm_machine *m, uint64_t cycle, uint64_t *until) {
  const gm_executor *x = &m->ex;
  int tag = x->tag_head, tags = x->tag_count;
  for (int i = 0; i < x->row_count && tags; i++) {
    const gm_outflow *r = &x->rows[(x->row_head + i) & (GM_ROWS - 1)];
    const gm_tag *t = &x->tags[tag];
    const uint64_t end = r->exit + r->count;
    *until = r->exit;
    if (r->exit > cycle) return 0;
    if (t->id != r->id) continue; /* owned by none */
    if (cycle < end && end > m->now + 1) {
      const int row = (int)(cycle - r->exit) + r->before,
                last = (r->before + r->count < t->rows ? r->before + r->count : t->rows) - 1;
      *until = end;
      if (t->entry < 0 || t->garbage || !t->acc || !t->accumulate || row > last) return 0;
      const uint32_t bank = (t->row + (uint32_t)row * t->stride) >> m->acc_bank_shift;
      const bool same = bank == (t->row + (uint32_t)last * t->stride) >> m->acc_bank_shift;
      *until = same ? r->exit + (unsigned)(last + 1 - r->before) : cycle + 1;
      return 1u << bank;
    }
    if (r->last) tag = tag + 1 == GM_TAGS ? 0 : tag + 1, tags--;
  }
  *until = GM_NEVER;
  return 0;
}

/* The next cycle in which gm_mesh_output must be called, because its effect does not wait for a request
 * (gm_mesh_look). Results for the scratchpad write a bank in every row, before any read. For other results only the
 * end matters to the station. */
static uint64_t await_output(gm_machine *m) {
  gm_executor *x = &m->ex;
  const gm_tag *t = &x->tags[x->tag_head];
  x->output_at = GM_NEVER;
  if (!x->row_count || !x->tag_count) return GM_NEVER;
  if (!t->garbage && !t->acc) {
    gm_wake(m, GM_UNIT_ARRAY, m->now + 1);
    return m->now + 1;
  }
  for (int i = 0; i < x->row_count && x->output_at == GM_NEVER; i++) {
    const gm_outflow *r = rows_at(x, i);
    const uint64_t end = r->exit + r->count - 1;
    if (r->last && end > m->now) x->output_at = end;
  }
  gm_wake(m, GM_UNIT_STATION, x->output_at);
  return x->output_at;
}

void gm_array_step(gm_machine *m) {
  gm_mesh_look(m);
  await_output(m);
}

/* Rows that are complete in the input buffers enter the array; then the next row's operands arrive there. Returns
 * whether the array takes a new matrix in this cycle. */
static bool mesh_input(gm_machine *m, bool flush_asked, bool *flushed) {
  gm_executor *x = &m->ex;
  bool enters = x->request && ((x->a_written && x->b_written && x->d_written) || x->flush), last = false;
  if (enters) {
    last = x->fire_count == x->request_rows - 1;
    add_rows(x, m->now, m->now + (unsigned)x->latency, 1, x->fire_count, x->id_in_array, last);
    x->fire_count = last ? 0 : x->fire_count + 1;
    x->a_written = x->b_written = x->d_written = false;
  }
  bool ready = (!x->request || last) && x->room_for_tag;
  if (last) x->request = x->flush = false;
  if (x->control_count) {
    const gm_control *c = &x->control[x->control_head];
    bool any = c->a || c->b || c->d;
    if (c->data <= m->now && (!c->first || ready || !any)) {
      if ((c->first && any) || c->resume) {
        x->request = true;
        x->request_rows = c->total;
        x->fire_count = c->resume;
        x->id_in_array = c->id;
        if (c->first) {
          x->tags_arrived++;
          x->firsts_on_way--;
        }
      }
      x->a_written |= c->a;
      x->b_written |= c->b;
      x->d_written |= c->d;
      x->control_head = x->control_head + 1 == GM_CONTROL_QUEUE ? 0 : x->control_head + 1;
      x->control_count--;
    }
  } else if (flush_asked && ready && m->now >= x->stretch_in_array) {
    x->request = x->flush = true;
    x->request_rows = m->config.dim;
    x->id = x->id_in_array = id_after(x, x->id, 1);
    *flushed = true;
  }
  return ready;
}

/* ---- operands ---- */

static gm_operand operand(const gm_machine *m, uint64_t rs, bool feeds, uint32_t stride, int rows) {
  gm_operand o = {0};
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
  snprintf(m->why, sizeof m->why,
           "compute or preload reads an operand from the accumulator (address 0x%x): not modelled; "
           "move it to the scratchpad",
           gm_local(rs));
  return true;
}

static bool real_row(const gm_machine *m, const gm_operand *o, bool weights) {
  return o->feeds && !o->garbage && (weights ? m->config.dim - 1 - o->count : o->count) < o->rows;
}

/* True if the array still holds the value of a scratchpad row that an operand reads. The youngest `own` results in
 * flight belong to the reading product and to the product whose weights enter now. */
static bool row_is_on_its_way(const gm_machine *m, uint32_t row, int own) {
  const gm_executor *x = &m->ex;
  for (int i = 0, t = x->tag_head; i < x->tag_count - own; i++, t = t + 1 == GM_TAGS ? 0 : t + 1) {
    const gm_tag *g = &x->tags[t];
    if (g->entry < 0 || g->garbage || g->acc) continue;
    for (uint32_t k = g->written; k < g->rows; k++)
      if (g->row + k * g->stride == row) return true;
  }
  return false;
}

static uint32_t row_of(const gm_machine *m, const gm_operand *o, bool weights) {
  return o->row + (weights ? (uint32_t)(m->config.dim - 1 - o->count) : (uint32_t)(o->count * o->step));
}

/* The real machine would read the old value without a warning. A program that does so on purpose is rejected,
 * because it would be unsafe. */
static bool reads_too_early(gm_machine *m, const gm_operand *o, bool weights) {
  uint32_t row = row_of(m, o, weights);
  if (!row_is_on_its_way(m, row, o->own)) return false;
  snprintf(m->why, sizeof m->why,
           "a compute reads row 0x%x of the scratchpad before the array has written its new value; the machine waits "
           "only where operand and result have the same first rows",
           row);
  return true;
}

static bool any_on_its_way(const gm_machine *m, const gm_operand *o, bool weights) {
  gm_operand row = *o;
  for (row.count = 0; row.count < m->config.dim; row.count++)
    if (o->feeds && !o->garbage && row_is_on_its_way(m, row_of(m, &row, weights), o->own)) return true;
  return false;
}

static bool results_for_scratchpad(const gm_executor *x) {
  if (!x->results_to_spad) return false;
  for (int i = 0, t = x->tag_head; i < x->tag_count; i++, t = t + 1 == GM_TAGS ? 0 : t + 1)
    if (x->tags[t].entry >= 0 && !x->tags[t].garbage && !x->tags[t].acc) return true;
  return false;
}

/* Decodes the operands of the commands at the queue's head, for the operations that these commands start (:141-180,
 * total_rows :300). */
static bool decode_operands(gm_machine *m) {
  gm_executor *x = &m->ex;
  const enum gm_ex_action action = x->action;
  const gm_command *q[3];
  for (int i = 0; i < 3; i++) q[i] = &command_at(x, i)->command;
  const int preload = action == GM_PRELOAD_ALONE ? 0 : 1;
  const bool os = !x->weight_stationary;
  const bool turn_a = os ? !x->a_transposed : x->a_transposed; /* A passes the transposer one step ahead */
  const bool turn_d = !os && x->b_transposed, turn_b = os && x->b_transposed;
  const gm_command *pre = action == GM_COMPUTE_ALONE ? NULL : q[preload];
  const gm_command *for_a = q[preload == 0 ? 1 : turn_a ? 2 : 0], *for_b = q[preload == 0 ? 1 : turn_b ? 2 : 0];
  if (action == GM_COMPUTE_ALONE) for_a = for_b = q[0];
  if (in_accumulator(m, for_a->rs1) || in_accumulator(m, for_b->rs2) || (pre && in_accumulator(m, pre->rs1)))
    return false;

  const int a_rows = x->a_transposed ? gm_cols(for_a->rs1) : gm_rows(for_a->rs1);
  const int b_rows = turn_b ? gm_cols(for_b->rs2) : gm_rows(for_b->rs2);
  const bool feeds_a = action == GM_OVERLAP || (action == GM_PRELOAD_ALONE ? turn_a : !turn_a);
  const bool feeds_b = action == GM_OVERLAP || (action == GM_PRELOAD_ALONE ? turn_b : !turn_b);
  x->a = operand(m, for_a->rs1, feeds_a, x->a_stride, a_rows);
  x->b = operand(m, for_b->rs2, feeds_b, 1, b_rows);
  x->d = pre ? operand(m, pre->rs1, true, 1, turn_d ? gm_cols(pre->rs1) : gm_rows(pre->rs1))
             : (gm_operand){.garbage = true};
  if (pre && !x->d.garbage) x->d.step = -1;
  x->a.own = turn_a ? 1 : 2;
  x->b.own = turn_b ? 1 : 2;
  x->d.own = 1;

  x->total = m->config.dim;
  if (!os && (x->d.garbage || !x->d.feeds) && !turn_a && !turn_b && !turn_d) {
    const int rows_a = x->a.garbage || !feeds_a ? 1 : a_rows, rows_b = x->b.garbage || !feeds_b ? 1 : b_rows;
    x->total = rows_a > rows_b ? rows_a : rows_b;
    if (x->total < 4) x->total = 4;
  }
  return true;
}

/* Feeds the whole matrix, one row in each cycle from this one on. */
static void stretch(gm_machine *m, uint32_t banks) {
  gm_executor *x = &m->ex;
  x->state = GM_EX_STRETCH;
  x->stretch_from = m->now;
  x->stretch_to = m->now + (unsigned)x->total - 1;
  x->stretch_in_array = x->stretch_to + 2 + (unsigned)m->config.spad_read_delay;
  x->stretch_banks = banks;
  x->firsts_on_way--;
  x->tags_arrived++;
  add_rows(x, m->now, m->now + 2 + (unsigned)m->config.spad_read_delay + (unsigned)x->latency, x->total, 0, x->id_fed,
           true);
  *(x->action == GM_PRELOAD_ALONE ? &m->counters.array_preload : &m->counters.array_busy) += (unsigned)x->total;
}

/* The usual case does not need a check of every row: only A and the weights are read, each from one bank. If the
 * scratchpad supplies every row, all rows take equal time, and the matrix is one stretch. */
static void choose_way(gm_machine *m) {
  gm_executor *x = &m->ex;
  const gm_operand *a = &x->a, *d = &x->d;
  const int dim = m->config.dim;
  uint32_t a_bank = bank_of(m, a, false), d_bank = bank_of(m, d, true);
  bool reads_a = a->feeds && !a->garbage, reads_d = d->feeds && !d->garbage;
  int a_end = x->total < a->rows ? x->total : a->rows;
  x->a_bank = 1u << a_bank;
  x->d_bank = 1u << d_bank;
  x->resume = 0;
  x->lockstep = x->b.garbage && !(reads_a && reads_d && a_bank == d_bank) &&
                (a->row + (uint32_t)((a_end - 1) * a->step)) >> m->spad_bank_shift == a->row >> m->spad_bank_shift &&
                (d->row + (uint32_t)dim - 1) >> m->spad_bank_shift == d->row >> m->spad_bank_shift;
  bool every_row = (reads_a && a->rows >= x->total) || (reads_d && d->rows == dim);
  uint32_t banks = (reads_a ? x->a_bank : 0) | (reads_d ? x->d_bank : 0);
  x->watched = results_for_scratchpad(x);
  if (x->watched && (any_on_its_way(m, a, false) || any_on_its_way(m, &x->b, false) || any_on_its_way(m, d, true)))
    return;
  if (x->lockstep && every_row && x->firsts_on_way <= 1 && x->room_for_tag && !(m->spad_written & banks))
    stretch(m, banks);
}

void gm_executor_disturb(gm_machine *m) {
  gm_executor *x = &m->ex;
  gm_mesh_look(m);
  int fed = (int)(m->now - x->stretch_from);
  gm_outflow *r = rows_at(x, x->row_count - 1);
  if (x->plain_pair) decode_operands(m), x->lockstep = true;
  x->state = GM_EX_COMPUTE;
  x->a.count = x->b.count = x->d.count = fed;
  x->a.started = x->b.started = x->d.started = fed > 0;
  *(x->action == GM_PRELOAD_ALONE ? &m->counters.array_preload : &m->counters.array_busy) -= (unsigned)(x->total - fed);
  if (fed) {
    r->count = (uint16_t)fed;
    r->last = false;
    x->resume = fed;
  } else {
    x->row_count--;
    x->firsts_on_way++;
    x->tags_arrived--;
  }
  x->stretch_to = m->now;
  x->stretch_in_array = m->now + 1 + (unsigned)m->config.spad_read_delay;
  gm_wake(m, GM_UNIT_EXECUTE, m->now);
}

/* True for a whole tile of the scratchpad in one bank; *bank gets the bank's bit. */
static bool is_plain(const gm_machine *m, uint64_t field, uint32_t *bank) {
  const uint32_t row = gm_local(field) & (m->spad_rows - 1), of = row >> m->spad_bank_shift;
  *bank = 1u << of;
  return field >> 32 == m->ex.whole && !gm_is_acc(gm_local(field)) &&
         (row + (uint32_t)m->config.dim - 1) >> m->spad_bank_shift == of;
}

/* The usual pair without obstacles, with or without new weights. Its operands need not be decoded. */
static bool is_plain_pair(gm_machine *m, const gm_command *compute, const gm_command *preload) {
  gm_executor *x = &m->ex;
  if (!x->plain || x->b_transposed || !gm_is_garbage(gm_local(compute->rs2)) || x->results_to_spad ||
      x->firsts_on_way || !x->room_for_tag || !is_plain(m, compute->rs1, &x->a_bank))
    return false;
  if (gm_is_garbage(gm_local(preload->rs1)))
    x->d_bank = 0;
  else if (!is_plain(m, preload->rs1, &x->d_bank) || x->a_bank == x->d_bank)
    return false;
  return !(m->spad_written & (x->a_bank | x->d_bank));
}

/* Starts feeding the commands at the queue's head. */
static void begin(gm_machine *m, enum gm_ex_action action) {
  gm_executor *x = &m->ex;
  const int dim = m->config.dim;
  gm_ex_command *q[3];
  for (int i = 0; i < 3; i++) q[i] = command_at(x, i);
  const int preload = action == GM_PRELOAD_ALONE ? 0 : 1; /* preload_cmd_place */
  const gm_command *pre = action == GM_COMPUTE_ALONE ? NULL : &q[preload]->command;
  x->action = action;
  x->plain_pair = action == GM_OVERLAP && is_plain_pair(m, &q[0]->command, pre);
  if (x->plain_pair)
    x->total = dim, x->watched = false, x->resume = 0;
  else if (!decode_operands(m))
    return;
  uint32_t c = pre ? gm_local(pre->rs2) : GM_GARBAGE;
  x->tag = (gm_tag){.entry = pre && !gm_is_garbage(c) ? q[preload]->entry : -1,
                    .garbage = gm_is_garbage(c),
                    .acc = gm_is_acc(c),
                    .accumulate = gm_accumulates(c),
                    .row = gm_is_garbage(c) ? 0 : gm_row_of(m, c),
                    .stride = x->c_stride,
                    .rows = pre ? (uint8_t)gm_rows(pre->rs2) : 0};
  const int old = x->id;
  x->id = x->id_fed = id_after(x, x->id, 1);
  x->tag.id = (uint8_t)id_after(x, old, x->weight_stationary ? 2 : 3);
  int slot = x->tag_head + x->tag_count++;
  x->tags[slot >= GM_TAGS ? slot - GM_TAGS : slot] = x->tag;
  x->results_to_spad += !x->tag.garbage && !x->tag.acc;
  x->begun = m->now;
  x->state = GM_EX_COMPUTE;
  x->firsts_on_way++;
  if (x->plain_pair)
    stretch(m, x->a_bank | x->d_bank);
  else
    choose_way(m);
  for (int i = 0; i < (action == GM_OVERLAP ? 2 : 1); i++) {
    if (q[i]->entry < 0) continue;
    const gm_command *s = &m->rs.entry[q[i]->entry].command;
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

static bool in_step(const gm_operand *o, const gm_operand *p) {
  return o->started == p->started && o->count == p->count;
}

static void advance(gm_operand *o, int total) {
  o->count = o->count + 1 == total ? 0 : o->count + 1;
  o->started = true;
}

static void into_control(gm_machine *m, bool reads, bool a, bool b, bool d, bool first) {
  gm_executor *x = &m->ex;
  int slot = x->control_head + x->control_count++;
  if (slot >= GM_CONTROL_QUEUE) slot -= GM_CONTROL_QUEUE;
  uint64_t data = m->now + 1 + (reads ? (unsigned)m->config.spad_read_delay : 0);
  if (data < x->stretch_in_array) data = x->stretch_in_array;
  x->control[slot] = (gm_control){data, a, b, d, first, (uint8_t)x->total, (uint8_t)x->id_fed, (uint8_t)x->resume};
  x->resume = 0;
}

/* feed() for operands that are in step and cannot delay each other: only a DMA write can stop a row. */
static bool feed_in_step(gm_machine *m, bool *all) {
  gm_executor *x = &m->ex;
  int i = x->a.count;
  uint32_t banks = (real_row(m, &x->a, false) ? x->a_bank : 0) | (real_row(m, &x->d, true) ? x->d_bank : 0);
  if (m->spad_written & banks || i != x->b.count || i != x->d.count) return false;
  if (x->watched && ((real_row(m, &x->a, false) && reads_too_early(m, &x->a, false)) ||
                     (real_row(m, &x->d, true) && reads_too_early(m, &x->d, true))))
    return false;
  m->spad_read |= banks;
  if (x->action == GM_PRELOAD_ALONE)
    m->counters.array_preload++;
  else
    m->counters.array_busy++;
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
  bool b_fires =
      !ahead(b, a, x->total) && !ahead(b, d, x->total) && !(same_bank(m, b, false, a, false) && in_step(b, a));
  bool d_fires = !ahead(d, a, x->total) && !ahead(d, b, x->total) &&
                 !(same_bank(m, d, true, a, false) && in_step(d, a)) &&
                 !(same_bank(m, d, true, b, false) && in_step(d, b));
  bool conflict = !a_fires || !b_fires || !d_fires, reads = false;
  gm_operand *const o[3] = {a, b, d};
  bool *const fires[3] = {&a_fires, &b_fires, &d_fires};
  for (int i = 0; i < 3; i++) {
    if (!*fires[i] || !real_row(m, o[i], i == 2)) continue;
    uint32_t bank = 1u << bank_of(m, o[i], i == 2);
    m->spad_read |= bank;
    if (m->spad_written & bank) {
      *fires[i] = false;
      conflict = true;
    } else {
      reads = true;
      if (x->watched && reads_too_early(m, o[i], i == 2)) return false;
    }
  }
  if (conflict)
    m->counters.bank_conflict++;
  else if (x->action == GM_PRELOAD_ALONE)
    m->counters.array_preload++;
  else
    m->counters.array_busy++;
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
  if (!gm_arch_config(m->arch, &c->command, m->why)) return false;
  const gm_execute_registers *r = &gm_arch_registers(m->arch)->execute;
  x->weight_stationary = r->weight_stationary;
  x->a_transposed = r->a_transposed;
  x->a_stride = (uint32_t)r->a_stride;
  x->c_stride = (uint32_t)r->c_stride;
  x->plain = x->weight_stationary && !x->a_transposed && x->a_stride == 1;
  return true;
}

static bool in_flight(const gm_executor *x) {
  for (int i = 0, t = x->tag_head; i < x->tag_count; i++, t = t + 1 == GM_TAGS ? 0 : t + 1)
    if (x->tags[t].entry >= 0) return true;
  return false;
}

/* True if a result still in the array would be read by the current commands (raw_hazard_*; matters for C in the
 * scratchpad). */
static bool reads_result(const gm_machine *m, const gm_ex_command *pre, const gm_ex_command *comp) {
  const gm_executor *x = &m->ex;
  if (!x->results_to_spad) return false;
  for (int i = 0, t = x->tag_head; i < x->tag_count; i++, t = t + 1 == GM_TAGS ? 0 : t + 1) {
    const gm_tag *g = &x->tags[t];
    if (g->garbage || g->acc) continue;
    const uint64_t r[3] = {pre->command.rs1, comp->command.rs1, comp->command.rs2};
    for (int k = 0; k < 3; k++)
      if (!gm_is_acc(gm_local(r[k])) && gm_row_of(m, gm_local(r[k])) == g->row) return true;
  }
  return false;
}

static void pop(gm_executor *x, int n) {
  x->head = (x->head + n) & (GM_EX_RING - 1);
  x->count -= n;
}

/* Commands in the queue that the controller sees. */
static int seen(const gm_executor *x, uint64_t now) {
  int n = x->count;
  while (n && x->queue[(x->head + n - 1) & (GM_EX_RING - 1)].ready > now) n--;
  return n;
}

bool gm_executor_busy(const gm_machine *m, uint64_t cycle) { return seen(&m->ex, cycle) || in_flight(&m->ex); }

static void decide(gm_machine *m) {
  gm_executor *x = &m->ex;
  const int commands = seen(x, m->now);
  if (!commands) {
    if (!x->weight_stationary && in_flight(x)) x->state = GM_EX_FLUSH;
    return;
  }
  gm_ex_command *q[3];
  for (int i = 0; i < 3; i++) q[i] = command_at(x, i);
  bool config = q[0]->command.funct == GM_CONFIG, preload = q[0]->command.funct == GM_PRELOAD;
  if (config && x->mesh_done >= 0) { /* the last result leaves in this cycle: the array is empty in the next */
    gm_wake(m, GM_UNIT_EXECUTE, m->now + 1);
  } else if (config && x->finished[0] < 0 && x->finished[1] < 0 && !in_flight(x)) {
    if (!configure(m, q[0])) return;
    x->mesh_done = q[0]->entry; /* completes in this cycle; the array is empty, so the port is free */
    gm_wake(m, GM_UNIT_STATION, m->now);
    pop(x, 1);
  } else if (preload && commands >= 2 && !reads_result(m, q[0], q[1])) {
    begin(m, GM_PRELOAD_ALONE);
  } else if (is_compute(q[0]) && commands >= 3 && q[1]->command.funct == GM_PRELOAD && !reads_result(m, q[1], q[2])) {
    begin(m, GM_OVERLAP);
  } else if (is_compute(q[0])) {
    begin(m, GM_COMPUTE_ALONE);
  } else if (in_flight(x) && (!x->weight_stationary || config)) {
    x->state = GM_EX_FLUSH;
  }
}

/* The matrix's last row was read in that cycle. */
static void retire(gm_machine *m, uint64_t cycle) {
  gm_executor *x = &m->ex;
  if (m->trace.file) {
    static const char *const fed[] = {"weights", "rows", "rows and weights"};
    gm_trace_span(m, "array", fed[x->action], x->begun, cycle + 1);
  }
  const gm_ex_command *q0 = command_at(x, 0), *q1 = command_at(x, 1);
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
  x->finished_at = cycle;
  x->state = GM_EX_WAIT;
}

/* The counter of the reason why no row enters the array. */
static uint64_t *reason(gm_machine *m) {
  const gm_station *s = &m->rs;
  gm_counters *n = &m->counters;
  const gm_entry *next = gm_station_next(s, GM_EX);
  if (m->ex.state == GM_EX_FLUSH || m->ex.state == GM_EX_FLUSHING) return &n->wait_config;
  if (next)
    return next->waits & s->mask[GM_LD] ? &n->wait_load : next->waits & s->mask[GM_ST] ? &n->wait_store : &n->wait_cpu;
  if (m->fencing && !(s->valid & s->mask[GM_EX])) return &n->drain;
  int head = gm_front_head(m);
  if (head >= 0) return m->front.slot[head].command.funct == GM_MVOUT ? &n->wait_store : &n->wait_load_queue;
  return &n->wait_cpu;
}

void gm_executor_count_idle(gm_machine *m) {
  gm_executor *x = &m->ex;
  if (!x->idle_counter) {
    x->counted_to = m->now;
    return;
  }
  *x->idle_counter += m->now - x->counted_to;
  x->counted_to = m->now;
  x->idle_counter = reason(m);
}

static void sleep_until_needed(gm_machine *m, bool did_something) {
  gm_executor *x = &m->ex;
  uint64_t next = await_output(m);
  bool watch = x->control_count || x->request || (x->n_unroll && x->count < m->config.queue_execute) ||
               (!x->weight_stationary && x->tag_count);
  if (x->state == GM_EX_STRETCH) {
    const uint64_t end = x->stretch_to, hit = gm_next_settled(m, x->stretch_banks, m->now + 1, end);
    next = hit <= end ? hit : end + 1;
  } else if (x->state == GM_EX_WAIT) {
    const bool unseen = x->count > seen(x, m->now);
    watch |= did_something || unseen || (x->count && (x->tag_count || x->finished[0] >= 0));
  } else {
    watch = true;
  }
  gm_wake(m, GM_UNIT_EXECUTE, watch ? m->now + 1 : next);
  if (x->finished[0] >= 0 || x->finished[1] >= 0) gm_wake(m, GM_UNIT_STATION, m->now + (x->finished_at == m->now));
}

void gm_execute_step(gm_machine *m) {
  gm_executor *x = &m->ex;
  gm_mesh_follow(m);
  if (x->output_of <= m->now) x->room_for_tag = x->tags_arrived < x->tag_max;
  gm_executor_count_idle(m);
  if (x->state == GM_EX_STRETCH && m->now > x->stretch_to) retire(m, x->stretch_to);
  int queue_before = x->count, unroll_before = x->n_unroll;
  enum gm_ex_state state_before = x->state;
  bool flushed = false, ready = mesh_input(m, x->state == GM_EX_FLUSH, &flushed);
  switch (x->state) {
  case GM_EX_WAIT: decide(m); break;
  case GM_EX_FLUSH:
    if (flushed) x->state = GM_EX_FLUSHING;
    break;
  case GM_EX_FLUSHING:
    if (ready) x->state = GM_EX_WAIT;
    break;
  case GM_EX_COMPUTE:
  case GM_EX_STRETCH: break;
  }
  x->idle_counter = x->state == GM_EX_COMPUTE || x->state == GM_EX_STRETCH ? NULL : reason(m);
  if (x->state == GM_EX_COMPUTE && feed(m)) retire(m, m->now);
  if (unroll_before && queue_before < m->config.queue_execute) {
    unroll_step(x, unroll_before, m->now);
    if (x->state == GM_EX_STRETCH && x->n_unroll && x->count < m->config.queue_execute &&
        passes(x, &command_at(x, x->count)->command))
      /* computes its action in the next cycle, unless something leaves the queue */
      unroll_step(x, x->n_unroll, m->now + 1);
  }
  if (x->n_unroll < unroll_before) gm_wake_issue(m, GM_EX);
  sleep_until_needed(m, x->state != state_before || x->count != queue_before);
}
