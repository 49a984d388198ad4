/* allocate.c - registers for operands of a GEMM's loop; loop.h has the life of a tile.
 *
 * A fragment lives from its first read to the issue of its last product: an arc of the circle that the loop's body
 * is. Arcs get places (a register for each of an operand's words) first-fit, by their start. A fragment of the next
 * tile may have another place. The body has as many periods as are needed until all places and stages repeat. */
#include "target/cdna/loop/loop.h"

enum { BODY = 512, TICKS = CDNA_LOOP_TICKS };

/* Do arcs [a, a + n) and [b, b + m) of a circle overlap? */
static bool meet(int a, int n, int b, int m, int circle) {
  const int ahead = ((b - a) % circle + circle) % circle, behind = ((a - b) % circle + circle) % circle;
  return ahead < n || behind < m;
}

/* A product's second half is issued after the next product's first half. */
static int length_of(const cdna_loop *l, const cdna_loop_fragment *f) {
  return l->begin + (f->last_use + l->product.halves) * TICKS - f->read_at;
}

/* Allocates arcs in the order in which they begin. */
static bool try(cdna_loop *l, int turns) {
  const int circle = turns * l->period;
  struct {
    int fragment, turn, at;
  } arc[CDNA_LOOP_FRAGMENTS * CDNA_LOOP_TURNS];
  int n = 0;
  for (int i = 0; i < l->n_fragments; i++)
    for (int t = 0; t < turns; t++) {
      const int at = (l->fragment[i].read_at + t * l->period) % circle;
      int k = n++;
      for (; k > 0 && arc[k - 1].at > at; k--) arc[k] = arc[k - 1];
      arc[k].fragment = i, arc[k].turn = t, arc[k].at = at;
    }
  l->places = 0;
  for (int i = 0; i < n; i++) {
    const int length = length_of(l, &l->fragment[arc[i].fragment]);
    if (length > circle) return false;
    bool taken[CDNA_LOOP_FRAGMENTS * CDNA_LOOP_TURNS] = {false};
    for (int k = 0; k < i; k++)
      if (meet(arc[i].at, length, arc[k].at, length_of(l, &l->fragment[arc[k].fragment]), circle))
        taken[l->place[arc[k].fragment][arc[k].turn]] = true;
    int place = 0;
    while (taken[place]) place++;
    l->place[arc[i].fragment][arc[i].turn] = place;
    if (place >= l->places) l->places = place + 1;
  }
  l->turns = turns;
  return true;
}

tw_status cdna_loop_allocate(cdna_loop *l, tw_error *error) {
  const int stages = l->of->stages;
  int turns = stages;
  while (turns + stages <= CDNA_LOOP_TURNS && turns * l->products < BODY) turns += stages;
  for (; turns <= CDNA_LOOP_TURNS; turns += stages)
    if (try(l, turns)) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "hand_scheduled with %d matrix instructions and %d stages does not fit the loop body; use a smaller "
                 "tile or fewer stages",
                 l->products, stages);
}
