/* modulo.c - iterative modulo scheduling (B. R. Rau, "Iterative modulo scheduling", MICRO 27, 1994), backwards in time:
 * instructions are placed as late as their users allow, which keeps the lives of values short.
 *
 * An instruction that finds no room in the II cycles up to its latest cycle is put into a cycle where it was not
 * before. Instructions in its way, or now too early for it, are placed again. The budget of placements limits the
 * attempts for one II. */
#define _GNU_SOURCE /* qsort_r */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/core/timetable.h"

enum { BUDGET_EACH = 8, UNPLACED = INT_MAX };

typedef struct work {
  const xc_graph *g;
  int ii;
  xc_table table;
  int *cycle, *slot;                              /* UNPLACED, or the placement; the schedule owns the arrays */
  int *depth;                                     /* priority */
  int *order, *rank;                              /* the nodes by priority; where each is among them */
  int first;                                      /* nodes before it in the order are placed */
  int *tried;                                     /* the last cycle at which the node was placed */
  int *first_out, *next_out, *first_in, *next_in; /* edges by node */
} work;

static int compare_priorities(const void *x, const void *y, void *depth_of) {
  const int *depth = depth_of, a = *(const int *)x, b = *(const int *)y;
  return depth[a] != depth[b] ? (depth[a] < depth[b]) - (depth[a] > depth[b]) : (a < b) - (a > b);
}

static void sort_by_priority(work *w) {
  const int n = w->g->n_nodes;
  for (int i = 0; i < n; i++) w->order[i] = i;
  qsort_r(w->order, (size_t)n, sizeof *w->order, compare_priorities, w->depth);
  for (int i = 0; i < n; i++) w->rank[w->order[i]] = i;
  w->first = 0;
}

/* The unplaced node that is farthest from the start; of equals the last in program order. -1: all are placed. */
static int choose(work *w) {
  while (w->first < w->g->n_nodes && w->cycle[w->order[w->first]] != UNPLACED) w->first++;
  return w->first < w->g->n_nodes ? w->order[w->first] : -1;
}

static int latest(const work *w, int node) {
  int bound = 0;
  bool bounded = false;
  for (int e = w->first_out[node]; e >= 0; e = w->next_out[e]) {
    const xc_edge *edge = &w->g->edge[e];
    if (w->cycle[edge->to] == UNPLACED || edge->to == node) continue;
    const int at = w->cycle[edge->to] - edge->latency + w->ii * edge->distance;
    if (!bounded || at < bound) bound = at;
    bounded = true;
  }
  return bound;
}

static void remove_node(work *w, int node) {
  xc_table_take(&w->table, node, w->cycle[node], w->slot[node]);
  w->cycle[node] = UNPLACED;
  if (w->rank[node] < w->first) w->first = w->rank[node];
}

static void assign_slot(work *w, int node, int cycle, int slot) {
  int rivals[3];
  const int n = xc_table_rivals(&w->table, node, cycle, slot, rivals);
  for (int i = 0; i < n; i++) remove_node(w, rivals[i]);
  xc_table_put(&w->table, node, cycle, slot);
  w->cycle[node] = w->tried[node] = cycle;
  w->slot[node] = slot;
  /* predecessors that are now too late */
  for (int e = w->first_in[node]; e >= 0; e = w->next_in[e]) {
    const xc_edge *edge = &w->g->edge[e];
    if (edge->from != node && w->cycle[edge->from] != UNPLACED &&
        w->cycle[edge->from] > cycle - edge->latency + w->ii * edge->distance)
      remove_node(w, edge->from);
  }
  for (int e = w->first_out[node]; e >= 0; e = w->next_out[e]) { /* a forced place may be too late for its users */
    const xc_edge *edge = &w->g->edge[e];
    if (edge->to != node && w->cycle[edge->to] != UNPLACED &&
        w->cycle[edge->to] < cycle + edge->latency - w->ii * edge->distance)
      remove_node(w, edge->to);
  }
}

static void schedule_node(work *w, int node) {
  const int bound = latest(w, node);
  const xc_instruction *what = &w->g->machine->instruction[w->g->node[node].what];
  for (int cycle = bound; cycle > bound - w->ii; cycle--) {
    const int slot = xc_table_slot(&w->table, node, cycle);
    if (slot < 0) continue;
    assign_slot(w, node, cycle, slot);
    return;
  }
  const int before = w->tried[node];
  assign_slot(w, node, before != UNPLACED && before <= bound ? before - 1 : bound, what->slot[0]);
}

/* Each later chain of a cluster counts as `skew` cycles farther from the start. */
static void stagger_chains(work *w, int skew) {
  int columns = 1;
  for (int i = 0; i < w->g->n_nodes; i++)
    if (w->g->node[i].column >= columns) columns = w->g->node[i].column + 1;
  for (int i = 0; i < w->g->n_nodes; i++) {
    const xc_node *n = &w->g->node[i];
    if (n->row >= 0 && n->column >= 0) w->depth[i] += skew * (n->row * columns + n->column);
  }
}

static bool schedule_at(work *w, int ii, int skew) {
  w->ii = ii;
  if (!xc_depths(w->g, ii, w->depth)) return false;
  stagger_chains(w, skew);
  sort_by_priority(w);
  if (!xc_table_open(&w->table, w->g, ii)) return false;
  for (int i = 0; i < w->g->n_nodes; i++) w->cycle[i] = w->tried[i] = UNPLACED;
  int node = -1;
  for (int budget = BUDGET_EACH * w->g->n_nodes; budget && (node = choose(w)) >= 0; budget--) schedule_node(w, node);
  const bool done = choose(w) < 0;
  xc_table_close(&w->table);
  return done;
}

static bool open_work(work *w, const xc_graph *g, xc_timetable *s) {
  const size_t n = (size_t)g->n_nodes, edges = (size_t)g->n_edges;
  *s = (xc_timetable){.copies = 1, .cycle = tw_new(n, sizeof(int)), .slot = tw_new(n, sizeof(int))};
  *w = (work){.g = g,
              .cycle = s->cycle,
              .slot = s->slot,
              .depth = tw_new(n, sizeof(int)),
              .order = tw_new(n, sizeof(int)),
              .rank = tw_new(n, sizeof(int)),
              .tried = tw_new(n, sizeof(int)),
              .first_out = tw_new(n, sizeof(int)),
              .next_out = tw_new(edges, sizeof(int)),
              .first_in = tw_new(n, sizeof(int)),
              .next_in = tw_new(edges, sizeof(int))};
  if (!s->cycle || !s->slot || !w->depth || !w->order || !w->rank || !w->tried || !w->first_out || !w->next_out ||
      !w->first_in || !w->next_in)
    return false;
  for (size_t i = 0; i < n; i++) w->first_out[i] = w->first_in[i] = -1;
  for (int e = g->n_edges - 1; e >= 0; e--) {
    const xc_edge *edge = &g->edge[e];
    w->next_out[e] = w->first_out[edge->from];
    w->first_out[edge->from] = e;
    w->next_in[e] = w->first_in[edge->to];
    w->first_in[edge->to] = e;
  }
  return true;
}

static void close_work(work *w) {
  free(w->depth);
  free(w->order);
  free(w->rank);
  free(w->tried);
  free(w->first_out);
  free(w->next_out);
  free(w->first_in);
  free(w->next_in);
}

tw_status xc_modulo_schedule(const xc_graph *g, int ii_max, int skew, xc_timetable *out, tw_error *error) {
  work w;
  tw_status status = TW_USAGE;
  tw_error last = {0};
  const bool open = open_work(&w, g, out);
  if (!open || !(out->recurrence_ii = xc_recurrence_ii(g, ii_max))) {
    close_work(&w);
    xc_timetable_free(out);
    return tw_no_memory(error, NULL);
  }
  out->resource_ii = xc_resource_ii(g);
  const int least = out->resource_ii > out->recurrence_ii ? out->resource_ii : out->recurrence_ii;
  for (int ii = least; ii <= ii_max && status == TW_USAGE; ii++) {
    if (!schedule_at(&w, ii, skew)) continue;
    xc_start_at_0(g, out);
    out->ii = ii;
    status = xc_allocate(g, out, &last);
  }
  close_work(&w);
  if (status == TW_OK) return TW_OK;
  xc_timetable_free(out);
  return tw_fail(error, status, "no schedule of at most %d cycles from one iteration to the next: %s", ii_max,
                 *last.text ? last.text : "instructions do not fit");
}
