/* rank.c - the quality of the machine's model as a ranking. It is Spearman's correlation of ranks between predicted
 * and measured costs of the measured candidates. */
#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "search/state.h"

enum { LEAST = 8 }; /* candidates; fewer have no significance */

/* The number of the n values below the i-th, plus half of the values that equal it. */
static double rank(const double *x, size_t n, size_t i) {
  double below = 0;
  for (size_t j = 0; j < n; j++) below += x[j] < x[i] ? 1 : x[j] == x[i] ? 0.5 : 0;
  return below;
}

static double correlation(const double *x, const double *y, size_t n) {
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < n; i++) {
    const double a = rank(x, n, i) - (double)n / 2, b = rank(y, n, i) - (double)n / 2;
    xy += a * b;
    xx += a * a;
    yy += b * b;
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* The model does not predict a baseline without steps. */
static bool is_ranked(const tw_candidate *c) {
  return c->schedule && c->schedule->n && c->twin == TW_NONE && c->measured.cost > 0;
}

void tw_note_ranks(tw_state *s) {
  if (!s->target->traits.measures_first || s->target->traits.deterministic) return;
  double *room = tw_new(2 * s->n, sizeof *room), *cost = room + s->n;
  size_t n = 0;
  for (size_t i = 0; room && i < s->n; i++)
    if (is_ranked(s->all[i]) && tw_target_predict(s->target, &s->problem, s->all[i]->schedule, &room[n], NULL) == TW_OK)
      cost[n++] = s->all[i]->measured.cost;
  if (n >= LEAST)
    tw_state_note(s, "the model ranked the %zu kernels that were measured with a correlation of %.2f (Spearman)", n,
                  correlation(room, cost, n));
  free(room);
}
