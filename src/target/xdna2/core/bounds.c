/* bounds.c - what an initiation interval cannot be below, and how far instructions are from the start. */
#include <stdlib.h>

#include "target/xdna2/core/schedule.h"

static int max(int a, int b) { return a > b ? a : b; }

/* Instructions that can only issue in some set of slots need as many cycles as its slots have to be used: over all sets
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

/* Bellman and Ford: paths have at most n_nodes edges, unless there is a cycle that II cannot pay for. */
bool xc_depths(const xc_graph *g, int ii, int *depth) {
  for (int i = 0; i < g->n_nodes; i++) depth[i] = 0;
  for (int round = 0; round <= g->n_nodes; round++) {
    bool changed = false;
    for (int e = 0; e < g->n_edges; e++) {
      const xc_edge *edge = &g->edge[e];
      const int reached = depth[edge->from] + edge->latency - ii * edge->distance;
      if (reached <= depth[edge->to]) continue;
      depth[edge->to] = reached;
      changed = true;
    }
    if (!changed) return true;
  }
  return false;
}

int xc_recurrence_ii(const xc_graph *g, int ii_max, int *depth) {
  int low = 1, high = ii_max;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (xc_depths(g, middle, depth))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
