/* model.c - the cost of a chain: each command starts as early as its unit, its operands and the core allow. It is
 * not a simulation: queues have only lengths, banks are a factor, and the bus is omitted.
 *
 * Times are from the facts file (design/gemmini-facts.md, measured on the RTL of the 16x16 machine where they are not
 * the array's own, which follow from the configuration): a command is at its unit 6 cycles after the core issued it; a
 * load takes 33 cycles and its data, 61 more on an L2 miss (98 - 37), where a line takes 9 (the inputs are in the L2:
 * tw_op.inputs_cached, harness.c); a store leaves 16 cycles after it was read, and is acknowledged 25 later; a fence
 * returns 8 cycles after the last; a line of code takes 47, 20 if it is in the L2 (kernels of 15 lines with and without
 * `code`, and with all code in the core's cache). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/family.h"

enum {
  TO_UNIT = 6,
  LOAD = 33,
  MISS = 61,
  LINE = 9,
  STORE = 16,
  ACKNOWLEDGE = 25,
  FENCE = 8,
  LINE_ELEMENTS = 16,
  CODE_LINE = 47,
  CODE_LINE_L2 = 20,
  CODE_BYTES = 64,
  COMMAND_BYTES = 12, /* the command and the instructions that make its operands */
  COMMAND_CYCLES = 3,
  ELEMENT_CYCLES = 6, /* per element, of a loop on the core: load, operate, store, count */
  LOOP_CYCLES = 14    /* to enter and leave a loop, including a mispredicted branch */
};

int gm_chain_through(const gm_config *c) {
  return c->dim * (c->tile_latency + 1) + c->mesh_output_delay + (c->dim - 1) * (c->tile_latency + 1);
}

typedef struct timeline {
  const gm_config *config;
  const gm_chain *chain;
  double core, load, execute, store; /* cycle at which each is free */
  double results, answers; /* cycle at which the last result is written, and at which the last store is acknowledged */
  double *spad, *acc;      /* cycle at which a row can be read */
  double entries[3][32];   /* for the entries of the reservation station: cycle at which each was released */
  int entry[3];
  bool *issued;                /* code fetched */
  bool code_in_l2;             /* loads fetched the code ahead */
  bool *line[GM_CHAIN_ARRAYS]; /* in the L2 */
  const gm_chain_command *before;
  double before_at;
  int before_index[GM_CHAIN_DEPTH];
} timeline;

static double later(double x, double y) { return x > y ? x : y; }

/* The core issues a command, at the earliest when an entry of its queue is free. Returns the cycle at which it is at
 * its unit. */
static double issue(timeline *t, int queue) {
  const int size[3] = {t->config->rs_load, t->config->rs_execute, t->config->rs_store};
  int slot = t->entry[queue] % (size[queue] < 32 ? size[queue] : 32);
  t->core = later(t->core + COMMAND_CYCLES, t->entries[queue][slot] - TO_UNIT);
  return t->core + TO_UNIT;
}

static void hold_entry(timeline *t, int queue, double until) {
  const int size[3] = {t->config->rs_load, t->config->rs_execute, t->config->rs_store};
  int slot = t->entry[queue]++ % (size[queue] < 32 ? size[queue] : 32);
  t->entries[queue][slot] = until;
}

static double *rows_of(timeline *t, gm_space s) { return s == GM_SPAD ? t->spad : t->acc; }

static double when_ready(timeline *t, const gm_rows *r, const int *index) {
  double ready = 0;
  if (r->space == GM_NOWHERE) return 0;
  int at = gm_affine_value(&r->at, index), rows = r->transposed ? r->cols : r->rows;
  for (int i = 0; i < rows; i++) ready = later(ready, rows_of(t, r->space)[at + i]);
  return ready;
}

/* Number of lines that are touched for the first time. */
static int misses(timeline *t, const gm_memory *m, const int *index) {
  int at = gm_affine_value(&m->at, index), n = 0;
  for (int r = 0; r < m->rows; r++)
    for (int e = (at + r * m->stride) / LINE_ELEMENTS; e <= (at + r * m->stride + m->cols - 1) / LINE_ELEMENTS; e++) {
      n += !t->line[m->array][e];
      t->line[m->array][e] = true;
    }
  return n;
}

static void do_load(timeline *t, const gm_chain_command *x, const int *index) {
  double at = issue(t, 0), start = later(at, t->load);
  int lines = misses(t, &x->memory, index), bytes = x->memory.cols * 4;
  double data = x->memory.rows * ceil(bytes / (t->config->dma_bus_bits / 8.0));
  double done = start + LOAD + later(data, lines * LINE) + (lines ? MISS : 0);
  t->load = start + later(data, lines * LINE);
  hold_entry(t, 0, done);
  int row = gm_affine_value(&x->a.at, index);
  for (int c = 0; c < x->a.cols; c += t->config->dim)
    for (int r = 0; r < x->a.rows; r++) rows_of(t, x->a.space)[row + c / t->config->dim * x->block_stride + r] = done;
}

static void do_store(timeline *t, const gm_chain_command *x, const int *index) {
  double at = issue(t, 2), start = later(later(at, t->store), when_ready(t, &x->a, index));
  misses(t, &x->memory, index);
  t->store = start + 2 * x->memory.rows;
  hold_entry(t, 2, start + STORE + x->memory.rows);
  t->answers = later(t->answers, start + STORE + 2 * x->memory.rows + ACKNOWLEDGE);
}

static int bank(const timeline *t, const gm_rows *r, const int *index) {
  return gm_affine_value(&r->at, index) / gm_spad_bank_rows(t->config);
}

static void do_product(timeline *t, const gm_chain_command *x, const int *index) {
  const gm_chain_command *b = t->before;
  const gm_rows *read[3] = {&b->a, &x->a, &x->b};
  const int *at[3] = {t->before_index, index, index};
  double arrival = issue(t, 1), ready = 0;
  int turns = 1;
  for (int i = 0; i < 3; i++) {
    ready = later(ready, when_ready(t, read[i], at[i]));
    for (int k = 0; k < i; k++)
      if (read[i]->space == GM_SPAD && read[k]->space == GM_SPAD && bank(t, read[i], at[i]) == bank(t, read[k], at[k]))
        turns = 2;
  }
  const int dim = t->config->dim;
  double start = later(arrival, t->execute);
  if (ready > start) start = ready + dim; /* the preload does not overlap with the previous product */
  t->execute = start + dim * turns;
  double out = start + dim * turns + dim + gm_chain_through(t->config) + 4;
  if (x->output_stationary) out += dim + 4; /* the next sum, or a flush, pushes it out */
  hold_entry(t, 1, start);
  hold_entry(t, 1, b->b.space == GM_NOWHERE ? start + dim : out);
  if (b->b.space == GM_NOWHERE) return;
  t->results = later(t->results, out);
  int row = gm_affine_value(&b->b.at, t->before_index);
  for (int r = 0; r < b->b.rows; r++) rows_of(t, b->b.space)[row + r] = out;
}

static bool step(void *context, const gm_chain_command *x, int position, const int *index) {
  timeline *t = context;
  if (x->kind == GM_OPERATOR) return true;
  if (!t->issued[position]) t->core += (double)(t->code_in_l2 ? CODE_LINE_L2 : CODE_LINE) * COMMAND_BYTES / CODE_BYTES;
  t->issued[position] = true;
  switch (x->kind) {
  case GM_FENCE:
    t->core = later(later(t->core, t->answers), later(later(t->load + LOAD, t->execute), t->results)) + FENCE;
    break;
  case GM_SET_EX: t->execute = later(later(t->execute, t->results), issue(t, 1)) + 1; break;
  case GM_SET_LD:
  case GM_SET_ST: t->core += COMMAND_CYCLES; break;
  case GM_LOAD: do_load(t, x, index); break;
  case GM_STORE: do_store(t, x, index); break;
  case GM_BEFORE:
    issue(t, 1);
    t->before = x;
    memcpy(t->before_index, index, sizeof t->before_index);
    break;
  case GM_MULTIPLY: do_product(t, x, index); break;
  case GM_NEGATE:
  case GM_ADD:
    t->core += LOOP_CYCLES + ELEMENT_CYCLES * x->memory.cols +
               (misses(t, &x->x, index) + misses(t, &x->memory, index)) * CODE_LINE;
    break;
  default: break;
  }
  return true;
}

double gm_chain_cycles(const gm_config *config, const gm_chain *c) {
  timeline t = {.config = config, .chain = c};
  t.spad = calloc((size_t)gm_spad_rows(config), sizeof *t.spad);
  t.acc = calloc((size_t)gm_acc_rows(config), sizeof *t.acc);
  t.issued = calloc((size_t)c->n + 1, sizeof *t.issued);
  bool ok = t.spad && t.acc && t.issued;
  for (int i = 0; i < c->n_arrays; i++)
    ok &= (t.line[i] = calloc((size_t)c->array[i].length / LINE_ELEMENTS + 2, sizeof(bool))) != NULL;
  double cycles = INFINITY;
  for (int i = 0; i < c->n_arrays; i++) t.code_in_l2 |= c->array[i].code;
  for (int i = 0; ok && i < c->n_arrays; i++)
    for (int e = 0; !c->array[i].code && e < c->array[i].given; e++)
      t.line[i][(c->array[i].given_at + e) / LINE_ELEMENTS] = true;
  if (ok) {
    gm_chain_walk(c, step, &t);
    const gm_chain_command last = {.kind = GM_FENCE};
    const int none[GM_CHAIN_DEPTH] = {0};
    step(&t, &last, c->n, none);
    cycles = t.core;
  }
  free(t.spad);
  free(t.acc);
  free(t.issued);
  for (int i = 0; i < GM_CHAIN_ARRAYS; i++) free(t.line[i]);
  return cycles;
}

tw_status gm_chain_predict(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule,
                           double *cycles, tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_chain_plan plan;
  gm_chain c;
  tw_status status = gm_chain_from(config, problem, schedule, &plan, &c, error);
  if (status != TW_OK) return status;
  *cycles = gm_chain_cycles(config, &c);
  gm_chain_free(&c);
  return TW_OK;
}

/* A kernel takes at least the largest of three times: the array at its peak; the operands over the DMA's bus from
 * the L2; one load, one product and one store in sequence. A recurrence that is computed step by step also waits for
 * one product in each step. Not every kernel does so (`lookahead`), so this time is reported but is not part of the
 * bound. */
tw_status gm_chain_bound(const tw_target *target, const tw_problem *problem, tw_bound *bound, tw_error *error) {
  const gm_config *config = gm_config_of(target);
  (void)error; /* every problem has a bound, also without a schedule */
  const tw_mpc m = tw_mpc_of(problem);
  double out = (double)(m.steps * m.inputs) * 4, in = problem->op->bytes(problem) - out;
  int dim = config->dim, product = 2 * dim + gm_chain_through(config);
  double alone = TO_UNIT + LOAD + product + STORE + ACKNOWLEDGE,
         chain = (double)(m.steps - 1) * (dim + gm_chain_through(config));
  *bound = (tw_bound){.compute_cost = problem->op->operations(problem) / (dim * dim),
                      .memory_cost = in / (config->dma_bus_bits / 8.0)};
  bound->least = gm_least(config, problem->op->operations(problem), 0, 0); /* the inputs may be in the core's cache */
  bound->cost = fmax(fmax(bound->compute_cost, bound->memory_cost), alone);
  const char *limit = bound->cost == bound->compute_cost  ? "the array at its peak"
                      : bound->cost == bound->memory_cost ? "memory: the inputs come in once"
                                                          : "latency: a load, a product and a store";
  snprintf(bound->limit, sizeof bound->limit, "%s; step by step the chain alone takes %.0f + %.0f cycles", limit, alone,
           chain);
  return TW_OK;
}
