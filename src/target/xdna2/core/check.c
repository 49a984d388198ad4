/* check.c - the replay: events of all instructions by cycle; then the state of registers, slots and FIFOs over time. */
#include "target/xdna2/core/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

enum {
  DRAIN = 32 /* more cycles than from any issue to its last access */,
  REGISTERS_MAX = 64,
  PARTS_MAX = 8,
  FIFOS_MAX = 16,
  NOTHING = -1
};

typedef struct replay {
  const xc_graph *g;
  const xc_timetable *s;
  int cycles, iterations;
  int *by_cycle, *next;      /* instances (iteration * nodes + node) that issue in a cycle, as lists */
  int *writer, *next_writer; /* nodes that write a value, as lists: by value, by node */
  int content[XC_FILES][REGISTERS_MAX][PARTS_MAX]; /* value * iterations + iteration */
  struct {
    int node, iteration; /* the last access */
    /* load FIFO: eighths of blocks that were filled and not popped; store FIFO: pushes since the last flush */
    int left;
  } fifo[FIFOS_MAX];
  tw_error *error;
} replay;

static const xc_node *node_of(const replay *r, int instance) { return &r->g->node[instance % r->g->n_nodes]; }
static const xc_instruction *what_of(const replay *r, int instance) {
  return &r->g->machine->instruction[node_of(r, instance)->what];
}

static tw_status wrong(const replay *r, int cycle, int instance, const char *why) {
  const xc_node *n = node_of(r, instance);
  return tw_fail(r->error, TW_FAILED, "cycle %d: %s of %c (cluster %d, block %d,%d,%d; iteration %d): %s", cycle,
                 what_of(r, instance)->name, n->role, n->cluster, n->row, n->column, n->step, instance / r->g->n_nodes,
                 why);
}

static int registers_of(const replay *r, xc_file file) {
  return file == XC_VECTOR ? r->g->machine->vectors : r->g->machine->accumulators;
}

/* ---- invariants ---- */

static tw_status check_static(const replay *r) {
  for (int v = 0; v < r->g->n_values; v++)
    for (int copy = 0; copy < r->s->copies; copy++) {
      const xc_value *value = &r->g->value[v];
      const int reg = r->s->reg[v * r->s->copies + copy];
      if (reg < 0 || reg + value->width > registers_of(r, value->file) - r->g->constants[value->file])
        return tw_fail(r->error, TW_FAILED, "value %d is in register %d, where it cannot be", v, reg);
      if (reg % value->width)
        return tw_fail(r->error, TW_FAILED, "value %d is a register pair, but is in register %d", v, reg);
      if (value->pin >= 0 && reg != value->pin)
        return tw_fail(r->error, TW_FAILED, "value %d must be in register %d (found %d)", v, value->pin, reg);
    }
  return TW_OK;
}

/* ---- slots, ports, banks: their users in each cycle ---- */

typedef struct taken {
  int slot[XC_SLOTS_MAX], port[XC_SLOTS_MAX], bank[32];
} taken;

static tw_status check_resources(const replay *r, taken *table) {
  for (int cycle = 0; cycle < r->cycles; cycle++)
    for (int i = r->by_cycle[cycle]; i != NOTHING; i = r->next[i]) {
      const xc_instruction *what = what_of(r, i);
      const xc_node *n = node_of(r, i);
      const int slot = r->s->slot[i % r->g->n_nodes];
      bool has = false;
      for (int s = 0; s < what->n_slots; s++) has = has || what->slot[s] == slot;
      if (!has) return wrong(r, cycle, i, "not in a slot that can issue it");
      if (table[cycle].slot[slot]++) return wrong(r, cycle, i, "its slot is in use");
      const bool vector = n->write.value >= 0 && r->g->value[n->write.value].file == XC_VECTOR;
      if (r->g->machine->write_port[slot] && vector && table[cycle + what->result - 1].port[slot]++)
        return wrong(r, cycle, i, "two results of its slot arrive at once");
      if (n->bank >= 0 && what->memory && table[cycle + what->memory - 1].bank[n->bank]++)
        return wrong(r, cycle, i, "its bank has another access in the same cycle");
    }
  return TW_OK;
}

/* ---- FIFOs ---- */

static tw_status check_fifo(replay *r, int cycle, int instance) {
  const xc_node *n = node_of(r, instance);
  const xc_machine *m = r->g->machine;
  const int node = instance % r->g->n_nodes, iteration = instance / r->g->n_nodes;
  const char *name = what_of(r, instance)->name;
  const int last_node = r->fifo[n->fifo].node, last_iteration = r->fifo[n->fifo].iteration;
  if (iteration < last_iteration || (iteration == last_iteration && node <= last_node))
    return wrong(r, cycle, instance, "is not before the next access of its FIFO");
  r->fifo[n->fifo].node = node;
  r->fifo[n->fifo].iteration = iteration;
  int *left = &r->fifo[n->fifo].left;
  if (!strcmp(name, "seek")) *left = 0;
  if (!strcmp(name, "vld.fill")) *left += m->pops_per_fill; /* a fill adds as much as pops_per_fill pops consume */
  if (!strcmp(name, "vld.fill") && *left > 2 * m->pops_per_fill) return wrong(r, cycle, instance, "the FIFO is full");
  if (!strcmp(name, "vld.pop") && --*left < 0) return wrong(r, cycle, instance, "the FIFO lacks a part of the block");
  if (!strcmp(name, "vst.push") && ++*left > m->pushes_per_flush) return wrong(r, cycle, instance, "the FIFO is full");
  if (!strcmp(name, "vst.flush")) *left = 0;
  return TW_OK;
}

/* An access changes a FIFO's state in the cycle `position`; at most one access in each cycle. */
static tw_status check_fifos(replay *r) {
  int last[FIFOS_MAX];
  for (int f = 0; f < FIFOS_MAX; f++) last[f] = r->fifo[f].iteration = NOTHING;
  for (int cycle = 0; cycle < r->cycles; cycle++)
    for (int i = r->by_cycle[cycle]; i != NOTHING; i = r->next[i]) {
      const int fifo = node_of(r, i)->fifo;
      if (fifo < 0) continue;
      if (last[fifo] == cycle) return wrong(r, cycle, i, "two accesses of a FIFO at once");
      last[fifo] = cycle;
      const tw_status status = check_fifo(r, cycle, i);
      if (status != TW_OK) return status;
    }
  return TW_OK;
}

/* ---- registers ---- */

static int parts_of(const replay *r, xc_file file) {
  return file == XC_ACCUMULATOR ? r->g->machine->accumulator_parts : 1;
}

/* The content of each part of an operand, in order. */
static int *part_at(replay *r, int value, int iteration, int part) {
  const xc_value *v = &r->g->value[value];
  const int each = parts_of(r, v->file), reg = r->s->reg[value * r->s->copies + iteration % r->s->copies];
  return &r->content[v->file][reg + part / each][part % each];
}

static int parts_in(const replay *r, int value) {
  return parts_of(r, r->g->value[value].file) * r->g->value[value].width;
}

static bool find_writers(replay *r) {
  r->writer = tw_new((size_t)r->g->n_values + 1, sizeof *r->writer);
  r->next_writer = tw_new((size_t)r->g->n_nodes, sizeof *r->next_writer);
  if (!r->writer || !r->next_writer) return false;
  for (int v = 0; v < r->g->n_values; v++) r->writer[v] = NOTHING;
  for (int w = r->g->n_nodes - 1; w >= 0; w--) {
    const int value = r->g->node[w].write.value;
    if (value < 0) continue;
    r->next_writer[w] = r->writer[value];
    r->writer[value] = w;
  }
  return true;
}

/* Does a bypass deliver the part at the end of this cycle, and does the reader have the bypass? */
static bool arrives_by_bypass(const replay *r, int instance, int operand, int part, int cycle) {
  const xc_node *reader = node_of(r, instance);
  const int iteration = instance / r->g->n_nodes;
  for (int w = r->writer[reader->read[operand].value]; w != NOTHING; w = r->next_writer[w]) {
    const xc_node *writer = &r->g->node[w];
    if ((writer->write.parts >> part & 1) && xc_bypassed(r->g, writer, reader, operand) &&
        iteration * r->s->ii + r->s->cycle[w] + xc_write_at(r->g, writer) == cycle)
      return true;
  }
  return false;
}

static tw_status check_read(replay *r, int cycle, int instance, int operand) {
  const xc_operand *read = &node_of(r, instance)->read[operand];
  const int iteration = instance / r->g->n_nodes, expected = read->value * r->iterations + iteration;
  for (int part = 0; part < parts_in(r, read->value); part++)
    if ((read->parts >> part & 1) && *part_at(r, read->value, iteration, part) != expected &&
        !arrives_by_bypass(r, instance, operand, part, cycle))
      return wrong(r, cycle, instance, "reads a register that does not hold its operand");
  return TW_OK;
}

static tw_status write_parts(replay *r, int cycle, int instance, int *written) {
  const xc_operand *write = &node_of(r, instance)->write;
  const int iteration = instance / r->g->n_nodes;
  for (int part = 0; part < parts_in(r, write->value); part++) {
    if (!(write->parts >> part & 1)) continue;
    int *content = part_at(r, write->value, iteration, part);
    int *when = &written[content - &r->content[0][0][0]];
    if (*when == cycle + 1) return wrong(r, cycle, instance, "another result arrives in its register at the same time");
    *when = cycle + 1;
    *content = write->value * r->iterations + iteration;
  }
  return TW_OK;
}

/* The reads and writes of instances, as lists by cycle: first the reads, then results that arrive at the end of the
 * cycle. */
typedef struct accesses {
  /* first: index cycle * 2 + (1 for a write); next: index instance * EACH + operand, the last operand is the write */
  int *first, *next;
} accesses;
enum { EACH = XC_READS_MAX + 1 };

static void add_access(accesses *a, int instance, int operand, int cycle) {
  int *first = &a->first[2 * cycle + (operand == XC_READS_MAX)];
  a->next[instance * EACH + operand] = *first;
  *first = instance * EACH + operand;
}

static bool find_accesses(const replay *r, accesses *a) {
  const int instances = r->g->n_nodes * r->iterations;
  *a = (accesses){tw_new((size_t)r->cycles * 2, sizeof(int)), tw_new((size_t)instances * EACH, sizeof(int))};
  if (!a->first || !a->next) return false;
  for (int i = 0; i < 2 * r->cycles; i++) a->first[i] = NOTHING;
  for (int i = instances - 1; i >= 0; i--) {
    const xc_node *n = node_of(r, i);
    const int issue = i / r->g->n_nodes * r->s->ii + r->s->cycle[i % r->g->n_nodes];
    for (int op = 0; op < n->n_reads; op++) add_access(a, i, op, issue + xc_read_at(r->g, n, op));
    if (n->write.value >= 0) add_access(a, i, XC_READS_MAX, issue + xc_write_at(r->g, n));
  }
  return true;
}

/* Reads of a cycle precede results that arrive at its end. */
static tw_status check_registers(replay *r) {
  int *written = tw_new(sizeof r->content / sizeof(int), sizeof *written); /* cycle + 1 of the last write */
  accesses all = {0};
  tw_status status = written && find_writers(r) && find_accesses(r, &all) ? TW_OK : tw_no_memory(r->error, NULL);
  memset(r->content, 0xff, sizeof r->content);
  for (int at = 0; at < 2 * r->cycles && status == TW_OK; at++)
    for (int i = all.first[at]; i != NOTHING && status == TW_OK; i = all.next[i])
      status = i % EACH == XC_READS_MAX ? write_parts(r, at / 2, i / EACH, written)
                                        : check_read(r, at / 2, i / EACH, i % EACH);
  free(written);
  free(all.first);
  free(all.next);
  return status;
}

tw_status xc_check(const xc_graph *g, const xc_timetable *s, int iterations, tw_error *error) {
  replay *r = tw_new(1, sizeof *r);
  if (!r) return tw_no_memory(error, NULL);
  *r = (replay){.g = g, .s = s, .iterations = iterations, .error = error};
  int last = 0;
  for (int i = 0; i < g->n_nodes; i++)
    if (s->cycle[i] > last) last = s->cycle[i];
  r->cycles = (iterations - 1) * s->ii + last + DRAIN;
  r->by_cycle = tw_new((size_t)r->cycles, sizeof(int));
  r->next = tw_new((size_t)g->n_nodes * (size_t)iterations, sizeof(int));
  taken *table = tw_new((size_t)r->cycles + DRAIN, sizeof *table);
  tw_status status = TW_OK;
  if (!r->by_cycle || !r->next || !table) status = tw_no_memory(error, NULL);
  for (int c = 0; c < r->cycles && status == TW_OK; c++) r->by_cycle[c] = NOTHING;
  for (int i = g->n_nodes * iterations - 1; i >= 0 && status == TW_OK; i--) {
    const int cycle = i / g->n_nodes * s->ii + s->cycle[i % g->n_nodes];
    if (s->cycle[i % g->n_nodes] < 0) {
      status = wrong(r, cycle, i, "issues before the start");
      break;
    }
    r->next[i] = r->by_cycle[cycle];
    r->by_cycle[cycle] = i;
  }
  if (status == TW_OK) status = check_static(r);
  if (status == TW_OK) status = check_resources(r, table);
  if (status == TW_OK) status = check_fifos(r);
  if (status == TW_OK) status = check_registers(r);
  free(table);
  free(r->by_cycle);
  free(r->next);
  free(r->writer);
  free(r->next_writer);
  free(r);
  return status;
}
