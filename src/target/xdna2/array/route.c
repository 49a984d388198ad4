/* route.c - lays routes through the stream switches; see lower.h. */
#include <stdlib.h>

#include "target/xdna2/array/lower.h"

static int larger(int a, int b) { return a > b ? a : b; }

/* Appends the link from `at` to its neighbour, unless the route has it already; returns the neighbour. */
static xd_place take_hop(xd_program *p, xd_route *r, xd_place at, xd_place to) {
  for (int i = 0; i < r->n_steps; i++) {
    const xd_step *s = &p->steps.at[r->first_step + i];
    if (xd_same_place(s->from, at) && xd_same_place(s->to, to)) return to;
  }
  const xd_step step = {at, to};
  if (XD_ADD(p, steps, &step) >= 0) r->n_steps++;
  return to;
}

static xd_place walk_column(xd_program *p, xd_route *r, xd_place at, int row) {
  while (at.row != row) at = take_hop(p, r, at, (xd_place){at.column, at.row + (row > at.row ? 1 : -1)});
  return at;
}

static xd_place walk_row(xd_program *p, xd_route *r, xd_place at, int column) {
  while (at.column != column) at = take_hop(p, r, at, (xd_place){at.column + (column > at.column ? 1 : -1), at.row});
  return at;
}

tw_status xd_lay_routes(xd_program *p, tw_error *error) {
  for (size_t i = 0; i < p->routes.n; i++) {
    xd_route *r = &p->routes.at[i];
    if (r->n_steps) continue;
    r->first_step = (int)p->steps.n;
    const xd_place from = p->channels.at[r->source].tile;
    for (int s = 0; s < r->n_sinks; s++) {
      const xd_place to = p->channels.at[r->sink[s]].tile;
      /* the tile where the route changes direction */
      const int row = larger(from.row, to.row) >= 2 ? larger(from.row, to.row) : 0;
      xd_place at = from;
      r->hops[s] = abs(from.column - to.column) + abs(from.row - to.row);
      if (from.column != to.column) {
        r->hops[s] = abs(from.column - to.column) + abs(from.row - row) + abs(row - to.row);
        at = walk_row(p, r, walk_column(p, r, at, row), to.column);
      }
      walk_column(p, r, at, to.row);
    }
  }
  return p->failed ? tw_no_memory(error, NULL) : TW_OK;
}
