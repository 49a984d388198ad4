/* list.c - backward list scheduling of straight-line code. */
#include <limits.h>
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/core/schedule.h"

void xc_schedule_free(xc_schedule *s) {
  free(s->cycle);
  free(s->slot);
  free(s->reg);
  *s = (xc_schedule){0};
}

typedef struct work {
  const xc_graph *g;
  xc_schedule *s;
  xc_table table;
  int *depth;  /* from the start: the larger, the sooner it is placed */
  int *waits;  /* successors that are not placed yet */
  int *latest; /* cycle, by the successors that are */
  bool *placed;
} work;

/* Of what could issue at `cycle`, the one farthest from the start; among equals the last in program order. */
static int choose(const work *w, int cycle) {
  int best = -1;
  for (int i = w->g->n_nodes - 1; i >= 0; i--)
    if (!w->placed[i] && !w->waits[i] && w->latest[i] >= cycle && (best < 0 || w->depth[i] > w->depth[best]) &&
        xc_table_slot(&w->table, i, cycle) >= 0)
      best = i;
  return best;
}

/* Returns the cycle to go on from. An instruction that waits for one placed before may, by a negative latency, belong
 * behind it: cycles that were passed by are tried again. */
static int place(work *w, int node, int cycle) {
  int next = cycle;
  const int slot = xc_table_slot(&w->table, node, cycle);
  xc_table_put(&w->table, node, cycle, slot);
  w->s->cycle[node] = cycle;
  w->s->slot[node] = slot;
  w->placed[node] = true;
  for (int e = 0; e < w->g->n_edges; e++) {
    const xc_edge *edge = &w->g->edge[e];
    if (edge->to != node || edge->distance) continue;
    w->waits[edge->from]--;
    if (cycle - edge->latency < w->latest[edge->from]) w->latest[edge->from] = cycle - edge->latency;
    if (!w->waits[edge->from] && w->latest[edge->from] > next) next = w->latest[edge->from];
  }
  return next;
}

static void place_all(work *w) {
  int cycle = 0, left = w->g->n_nodes;
  while (left) {
    const int node = choose(w, cycle);
    cycle = node < 0 ? cycle - 1 : place(w, node, cycle);
    left -= node >= 0;
  }
}

/* The first instruction to 0; the length. */
static void settle(const xc_graph *g, xc_schedule *s) {
  int first = INT_MAX, last = INT_MIN;
  for (int i = 0; i < g->n_nodes; i++) {
    if (s->cycle[i] < first) first = s->cycle[i];
    if (s->cycle[i] > last) last = s->cycle[i];
  }
  for (int i = 0; i < g->n_nodes; i++) s->cycle[i] -= first;
  s->length = last - first + 1;
}

tw_status xc_list_schedule(const xc_graph *g, xc_schedule *out, tw_error *error) {
  enum { CYCLES_EACH = 16 }; /* more than any latency: room for all instructions one after the other */
  const size_t n = (size_t)g->n_nodes;
  *out = (xc_schedule){.copies = 1, .cycle = tw_new(n, sizeof(int)), .slot = tw_new(n, sizeof(int))};
  work w = {.g = g,
            .s = out,
            .depth = tw_new(n, sizeof(int)),
            .waits = tw_new(n, sizeof(int)),
            .latest = tw_new(n, sizeof(int)),
            .placed = tw_new(n, sizeof(bool))};
  const bool open = xc_table_open(&w.table, g, CYCLES_EACH * (g->n_nodes + 1));
  const bool good = open && out->cycle && out->slot && w.depth && w.waits && w.latest && w.placed;
  if (good) {
    out->resource_ii = xc_resource_ii(g);
    out->recurrence_ii = xc_recurrence_ii(g, w.table.span, w.depth);
    xc_depths(g, w.table.span, w.depth);
    for (int i = 0; i < g->n_nodes; i++) w.latest[i] = 0;
    for (int e = 0; e < g->n_edges; e++) w.waits[g->edge[e].from] += !g->edge[e].distance;
    place_all(&w);
    settle(g, out);
  }
  xc_table_close(&w.table);
  free(w.depth);
  free(w.waits);
  free(w.latest);
  free(w.placed);
  if (good) return TW_OK;
  xc_schedule_free(out);
  return tw_fail(error, TW_MISSING, "out of memory");
}

/* ---- straight-line code as the body of a loop ---- */

static bool repeats_every(const xc_graph *g, const xc_schedule *s, int ii, bool *out_of_memory) {
  xc_table table;
  int rivals[3];
  for (int e = 0; e < g->n_edges; e++)
    if (s->cycle[g->edge[e].to] + ii * g->edge[e].distance < s->cycle[g->edge[e].from] + g->edge[e].latency)
      return false;
  if ((*out_of_memory = !xc_table_open(&table, g, ii))) return false;
  bool fits = true;
  for (int i = 0; i < g->n_nodes && fits; i++) {
    fits = !xc_table_rivals(&table, i, s->cycle[i], s->slot[i], rivals);
    if (fits) xc_table_put(&table, i, s->cycle[i], s->slot[i]);
  }
  xc_table_close(&table);
  return fits;
}

tw_status xc_list_repeat(const xc_graph *g, xc_schedule *s, tw_error *error) {
  bool out_of_memory = false;
  for (s->ii = s->length; !repeats_every(g, s, s->ii, &out_of_memory); s->ii++)
    if (out_of_memory) return tw_fail(error, TW_MISSING, "out of memory");
  return xc_allocate(g, s, error);
}
