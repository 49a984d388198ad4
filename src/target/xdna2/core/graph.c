/* graph.c - nodes, values, and the edges that follow from them. */
#include "target/xdna2/core/graph.h"

#include <stdlib.h>

#include "base/strings.h"

/* Returns `things`, reallocated if it has no space for one more than `count`. On failure it is unchanged, and the
 * graph is marked as failed. */
static void *grown(xc_graph *g, void *things, int count, int *room, size_t size) {
  enum { FIRST_ROOM = 64 };
  if (count < *room) return things;
  const int wanted = *room ? 2 * *room : FIRST_ROOM;
  void *more = tw_resize(things, (size_t)wanted, size);
  if (!more) {
    g->failed = true;
    return things;
  }
  *room = wanted;
  return more;
}

int xc_add_value(xc_graph *g, xc_file file, int width, int pin) {
  g->value = grown(g, g->value, g->n_values, &g->room_values, sizeof *g->value);
  if (g->n_values == g->room_values) return 0;
  g->value[g->n_values] = (xc_value){file, width, pin};
  return g->n_values++;
}

xc_node *xc_add_node(xc_graph *g, const char *instruction, char role, int cluster, int row, int column, int step) {
  static _Thread_local xc_node lost; /* a dummy, so that builders need not check every node */
  g->node = grown(g, g->node, g->n_nodes, &g->room_nodes, sizeof *g->node);
  xc_node *n = g->n_nodes < g->room_nodes ? &g->node[g->n_nodes++] : &lost;
  *n = (xc_node){.what = xc_find_instruction(g->machine, instruction),
                 .accumulator = -1,
                 .write = {-1, 0},
                 .bank = -1,
                 .fifo = -1,
                 .role = role,
                 .cluster = cluster,
                 .row = row,
                 .column = column,
                 .step = step};
  if (n->what < 0) {
    g->failed = true;
    n->what = 0;
  }
  return n;
}

void xc_reads(xc_node *n, int value, unsigned parts) { n->read[n->n_reads++] = (xc_operand){value, parts}; }

void xc_accumulates(xc_node *n, int value, unsigned parts) {
  n->accumulator = n->n_reads;
  xc_reads(n, value, parts);
}

void xc_writes(xc_node *n, int value, unsigned parts) { n->write = (xc_operand){value, parts}; }

unsigned xc_all_parts(const xc_graph *g, int value) {
  if (value >= g->n_values) return 0; /* memory ran out; xc_link reports it */
  const xc_value *v = &g->value[value];
  return (1u << (v->file == XC_ACCUMULATOR ? g->machine->accumulator_parts * v->width : v->width)) - 1;
}

int xc_bypassed(const xc_graph *g, const xc_node *from, const xc_node *to, int i) {
  const xc_bypass ours = g->machine->instruction[from->what].bypass, theirs = g->machine->instruction[to->what].bypass;
  if (ours != theirs || ours == XC_BYPASS_NONE) return 0;
  return (ours == XC_BYPASS_VEC) == (i == to->accumulator);
}

/* ---- edges ---- */

static void add_edge(xc_graph *g, int from, int to, int latency, int distance) {
  g->edge = grown(g, g->edge, g->n_edges, &g->room_edges, sizeof *g->edge);
  if (g->n_edges == g->room_edges) return;
  g->edge[g->n_edges++] = (xc_edge){from, to, latency, distance};
}

/* Nodes by value: its writers and its readers, as lists through `next`. */
typedef struct uses {
  int *first_writer, *next_writer; /* index: value; node */
  int *first_reader, *next_reader; /* index: value; node * XC_READS_MAX + operand */
} uses;

static void free_uses(uses *u) {
  free(u->first_writer);
  free(u->next_writer);
  free(u->first_reader);
  free(u->next_reader);
}

static int *filled(int n) {
  int *list = tw_new((size_t)n + 1, sizeof *list);
  for (int i = 0; list && i < n; i++) list[i] = -1;
  return list;
}

static bool find_uses(const xc_graph *g, uses *u) {
  *u = (uses){filled(g->n_values), filled(g->n_nodes), filled(g->n_values), filled(g->n_nodes * XC_READS_MAX)};
  if (!u->first_writer || !u->next_writer || !u->first_reader || !u->next_reader) return false;
  for (int i = g->n_nodes - 1; i >= 0; i--) {
    const xc_node *n = &g->node[i];
    if (n->write.value >= 0) {
      u->next_writer[i] = u->first_writer[n->write.value];
      u->first_writer[n->write.value] = i;
    }
    for (int r = 0; r < n->n_reads; r++) {
      u->next_reader[i * XC_READS_MAX + r] = u->first_reader[n->read[r].value];
      u->first_reader[n->read[r].value] = i * XC_READS_MAX + r;
    }
  }
  return true;
}

static void link_results(xc_graph *g, const uses *u) {
  for (int to = 0; to < g->n_nodes; to++)
    for (int r = 0; r < g->node[to].n_reads; r++) {
      const xc_operand *read = &g->node[to].read[r];
      for (int from = u->first_writer[read->value]; from >= 0; from = u->next_writer[from]) {
        const xc_node *a = &g->node[from], *b = &g->node[to];
        if (a->write.parts & read->parts)
          add_edge(g, from, to, xc_write_at(g, a) - xc_read_at(g, b, r) + 1 - xc_bypassed(g, a, b, r), 0);
      }
    }
}

/* Each access of a FIFO changes its state, in program order and on to the next iteration. */
static void link_fifos(xc_graph *g) {
  for (int fifo = 0; fifo < g->machine->load_fifos + g->machine->store_fifos; fifo++) {
    int first = -1, last = -1;
    for (int i = 0; i < g->n_nodes; i++) {
      if (g->node[i].fifo != fifo) continue;
      if (last >= 0) add_edge(g, last, i, 1, 0);
      if (first < 0) first = i;
      last = i;
    }
    if (first >= 0) add_edge(g, last, first, 1, 1);
  }
}

/* The next value in the same register must not arrive before the old value was read and written. */
static void link_reuse(xc_graph *g, const uses *u, int old, int new, int distance) {
  for (int to = u->first_writer[new]; to >= 0; to = u->next_writer[to]) {
    const xc_node *b = &g->node[to];
    for (int r = u->first_reader[old]; r >= 0; r = u->next_reader[r]) {
      const int from = r / XC_READS_MAX, operand = r % XC_READS_MAX;
      const xc_node *a = &g->node[from];
      if (from == to || !(a->read[operand].parts & b->write.parts)) continue; /* in place: it reads before it writes */
      add_edge(g, from, to, xc_read_at(g, a, operand) - xc_write_at(g, b), distance);
    }
    for (int from = u->first_writer[old]; from >= 0; from = u->next_writer[from])
      if (from != to && (g->node[from].write.parts & b->write.parts))
        add_edge(g, from, to, xc_write_at(g, &g->node[from]) - xc_write_at(g, b) + 1, distance);
  }
}

static void link_pins(xc_graph *g, const uses *u) {
  for (int file = 0; file < XC_FILES; file++) {
    const int registers = file == XC_VECTOR ? g->machine->vectors : g->machine->accumulators;
    for (int pin = 0; pin < registers; pin++) {
      int first = -1, last = -1;
      for (int v = 0; v < g->n_values; v++) {
        if (g->value[v].file != (xc_file)file || g->value[v].pin != pin) continue;
        if (last >= 0) link_reuse(g, u, last, v, 0);
        if (first < 0) first = v;
        last = v;
      }
      if (first >= 0) link_reuse(g, u, last, first, 1);
    }
  }
}

tw_status xc_link(xc_graph *g, tw_error *error) {
  uses u = {0};
  g->n_edges = 0;
  if (!g->failed && find_uses(g, &u)) {
    link_results(g, &u);
    link_fifos(g);
    link_pins(g, &u);
  } else {
    g->failed = true;
  }
  free_uses(&u);
  return g->failed ? tw_no_memory(error, NULL) : TW_OK;
}

void xc_graph_free(xc_graph *g) {
  free(g->node);
  free(g->value);
  free(g->edge);
  *g = (xc_graph){.machine = g->machine};
}
