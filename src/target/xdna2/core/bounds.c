/* bounds.c - lower bounds of an initiation interval, and the distance of instructions from the start. */
#include <limits.h>
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/core/timetable.h"

static int max(int a, int b) { return a > b ? a : b; }
static int min(int a, int b) { return a < b ? a : b; }

/* Instructions that can only issue in a set of slots need enough cycles of these slots: the maximum over all sets
 * (Hall's condition). */
static int slots_bound(const xc_graph *g) {
  int by_mask[1 << XC_SLOTS_MAX] = {0}, bound = 1;
  for (int i = 0; i < g->n_nodes; i++) {
    const xc_instruction *what = &g->machine->instruction[g->node[i].what];
    unsigned mask = 0;
    for (int s = 0; s < what->n_slots; s++) mask |= 1u << what->slot[s];
    by_mask[mask]++;
  }
  for (unsigned set = 1; set < 1u << g->machine->n_slots; set++) {
    int inside = 0;
    for (unsigned mask = 1; mask <= set; mask++)
      if ((mask & set) == mask) inside += by_mask[mask];
    const int slots = __builtin_popcount(set);
    bound = max(bound, (inside + slots - 1) / slots);
  }
  return bound;
}

static int banks_bound(const xc_graph *g) {
  int bound = 1;
  for (int bank = 0; bank < g->machine->banks; bank++) {
    int accesses = 0;
    for (int i = 0; i < g->n_nodes; i++) accesses += g->node[i].bank == bank;
    bound = max(bound, accesses);
  }
  return bound;
}

int xc_resource_ii(const xc_graph *g) { return max(slots_bound(g), banks_bound(g)); }

/* One round of Bellman and Ford at `ii`. If by[] is not NULL, by[node] is the edge by which the node was reached
 * last. */
static bool relax(const xc_graph *g, int ii, int *depth, int *by) {
  bool changed = false;
  for (int e = 0; e < g->n_edges; e++) {
    const xc_edge *edge = &g->edge[e];
    const int reached = depth[edge->from] + edge->latency - ii * edge->distance;
    if (reached <= depth[edge->to]) continue;
    depth[edge->to] = reached;
    if (by) by[edge->to] = e;
    changed = true;
  }
  return changed;
}

/* Paths have at most n_nodes edges, unless a cycle needs a larger II. */
bool xc_depths(const xc_graph *g, int ii, int *depth) {
  for (int i = 0; i < g->n_nodes; i++) depth[i] = 0;
  for (int round = 0; round <= g->n_nodes; round++)
    if (!relax(g, ii, depth, NULL)) return true;
  return false;
}

/* ---- recurrences ---- */

/* A node on a cycle of the edges in `by`, -1 if they have none. The current II is too small for such a cycle. `seen`
 * has space for one number per node. */
static int on_cycle(const xc_graph *g, const int *by, int *seen) {
  for (int i = 0; i < g->n_nodes; i++) seen[i] = -1;
  for (int start = 0; start < g->n_nodes; start++) {
    int i = start;
    for (; i >= 0 && seen[i] < 0; i = by[i] < 0 ? -1 : g->edge[by[i]].from) seen[i] = start;
    if (i >= 0 && seen[i] == start) return i;
  }
  return -1;
}

/* The least II that satisfies the cycle through `node`: its latency divided by its distance, rounded up. INT_MAX for
 * distance 0. */
static int ii_of_cycle(const xc_graph *g, const int *by, int node) {
  int latency = 0, distance = 0, i = node;
  do {
    const xc_edge *edge = &g->edge[by[i]];
    latency += edge->latency;
    distance += edge->distance;
    i = edge->from;
  } while (i != node);
  return distance ? (latency + distance - 1) / distance : INT_MAX;
}

/* The least II, not below `ii`, that satisfies all known cycles. */
static int raise(const xc_graph *g, int ii, int ii_max, int *depth, int *by, int *seen) {
  for (int i = 0; i < g->n_nodes; i++) depth[i] = 0, by[i] = -1;
  while (relax(g, ii, depth, by)) {
    const int node = on_cycle(g, by, seen);
    if (node >= 0) return min(ii_of_cycle(g, by, node), ii_max);
  }
  return ii;
}

/* From cycle to cycle (as in R. A. Howard's policy iteration): each cycle that II does not satisfy gives the next II,
 * and the first that satisfies all is the least. */
int xc_recurrence_ii(const xc_graph *g, int ii_max) {
  const size_t n = (size_t)g->n_nodes;
  int *depth = tw_new(n, sizeof *depth), *by = tw_new(n, sizeof *by), *seen = tw_new(n, sizeof *seen);
  int ii = 0, next = 1;
  if (depth && by && seen)
    while (next > ii && (ii = next) < ii_max) next = raise(g, ii, ii_max, depth, by, seen);
  free(depth);
  free(by);
  free(seen);
  return ii;
}
