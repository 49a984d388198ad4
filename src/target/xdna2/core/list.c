/* list.c - backward list scheduling of straight-line code. */
#include <limits.h>
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/core/timetable.h"

void xc_timetable_free(xc_timetable *s) {
  free(s->cycle);
  free(s->slot);
  free(s->reg);
  *s = (xc_timetable){0};
}

typedef struct work {
  const xc_graph *g;
  xc_timetable *s;
  xc_table table;
  int *depth;              /* distance from the start: nodes with a larger distance are placed first */
  int *waits;              /* successors that are not placed yet */
  int *latest;             /* cycle, by the successors that are */
  int *ready, n_ready;     /* nodes that wait for nothing, in any order */
  int *first_in, *next_in; /* edges to each node, within an iteration */
} work;

/* The one farthest from the start is placed first; among equals the last in program order. */
static bool comes_first(const work *w, int node, int other) {
  return w->depth[node] != w->depth[other] ? w->depth[node] > w->depth[other] : node > other;
}

/* The first of the ready ones that can issue at `cycle`: its index among them, -1 if none can. */
static int choose(const work *w, int cycle) {
  int best = -1;
  for (int i = 0; i < w->n_ready; i++)
    if (w->latest[w->ready[i]] >= cycle && (best < 0 || comes_first(w, w->ready[i], w->ready[best])) &&
        xc_table_slot(&w->table, w->ready[i], cycle) >= 0)
      best = i;
  return best;
}

/* Returns the cycle to continue from. An instruction that waits for an earlier placed one may, by a negative latency,
 * belong after it: skipped cycles are tried again. */
static int schedule_node(work *w, int chosen, int cycle) {
  int next = cycle;
  const int node = w->ready[chosen], slot = xc_table_slot(&w->table, node, cycle);
  xc_table_put(&w->table, node, cycle, slot);
  w->s->cycle[node] = cycle;
  w->s->slot[node] = slot;
  w->ready[chosen] = w->ready[--w->n_ready];
  for (int e = w->first_in[node]; e >= 0; e = w->next_in[e]) {
    const xc_edge *edge = &w->g->edge[e];
    const int latest = cycle - edge->latency;
    if (latest < w->latest[edge->from]) w->latest[edge->from] = latest;
    if (--w->waits[edge->from]) continue;
    w->ready[w->n_ready++] = edge->from;
    if (w->latest[edge->from] > next) next = w->latest[edge->from];
  }
  return next;
}

static void place_all(work *w) {
  int cycle = 0;
  for (int i = 0; i < w->g->n_nodes; i++)
    if (!w->waits[i]) w->ready[w->n_ready++] = i;
  while (w->n_ready) {
    const int chosen = choose(w, cycle);
    cycle = chosen < 0 ? cycle - 1 : schedule_node(w, chosen, cycle);
  }
}

static void link_edges(work *w) {
  for (int i = 0; i < w->g->n_nodes; i++) w->first_in[i] = -1;
  for (int e = w->g->n_edges - 1; e >= 0; e--) {
    const xc_edge *edge = &w->g->edge[e];
    if (edge->distance) continue;
    w->waits[edge->from]++;
    w->next_in[e] = w->first_in[edge->to];
    w->first_in[edge->to] = e;
  }
}

void xc_start_at_0(const xc_graph *g, xc_timetable *s) {
  int first = INT_MAX, last = INT_MIN;
  for (int i = 0; i < g->n_nodes; i++) {
    if (s->cycle[i] < first) first = s->cycle[i];
    if (s->cycle[i] > last) last = s->cycle[i];
  }
  for (int i = 0; i < g->n_nodes; i++) s->cycle[i] -= first;
  s->length = last - first + 1;
}

tw_status xc_list_schedule(const xc_graph *g, xc_timetable *out, tw_error *error) {
  enum { CYCLES_EACH = 16 }; /* more than any latency: room for all instructions in sequence */
  const size_t n = (size_t)g->n_nodes;
  *out = (xc_timetable){.copies = 1, .cycle = tw_new(n, sizeof(int)), .slot = tw_new(n, sizeof(int))};
  work w = {.g = g,
            .s = out,
            .depth = tw_new(n, sizeof(int)),
            .waits = tw_new(n, sizeof(int)),
            .latest = tw_new(n, sizeof(int)),
            .ready = tw_new(n, sizeof(int)),
            .first_in = tw_new(n, sizeof(int)),
            .next_in = tw_new((size_t)g->n_edges, sizeof(int))};
  bool good = xc_table_open(&w.table, g, CYCLES_EACH * (g->n_nodes + 1)) && out->cycle && out->slot && w.depth &&
              w.waits && w.latest && w.ready && w.first_in && w.next_in;
  if (good) good = (out->recurrence_ii = xc_recurrence_ii(g, w.table.span)) > 0;
  if (good) {
    out->resource_ii = xc_resource_ii(g);
    xc_depths(g, w.table.span, w.depth);
    link_edges(&w);
    place_all(&w);
    xc_start_at_0(g, out);
  }
  xc_table_close(&w.table);
  free(w.depth);
  free(w.waits);
  free(w.latest);
  free(w.ready);
  free(w.first_in);
  free(w.next_in);
  if (good) return TW_OK;
  xc_timetable_free(out);
  return tw_no_memory(error, NULL);
}

/* ---- straight-line code as the body of a loop ---- */

static bool repeats_every(const xc_graph *g, const xc_timetable *s, int ii, bool *out_of_memory) {
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

tw_status xc_list_repeat(const xc_graph *g, xc_timetable *s, tw_error *error) {
  bool out_of_memory = false;
  for (s->ii = s->length; !repeats_every(g, s, s->ii, &out_of_memory); s->ii++)
    if (out_of_memory) return tw_no_memory(error, NULL);
  return xc_allocate(g, s, error);
}
