/* dma.c - queues with transfers to move share the engines of a group equally. A later transfer slows earlier
 * transfers down, so their ends are events. */
#include "target/trainium/timing/dma.h"

#include <math.h>
#include <stdlib.h>

bool trn_dma_start(trn_dma *d, trn_engine e, trn_transfer t) {
  trn_dma_queue *q = &d->queue[e];
  if (!trn_room((void **)&q->transfer, q->n, &q->capacity, sizeof *q->transfer)) return false;
  t.open = 0;
  for (int g = 0; g < TRN_DMA_GROUPS; g++) t.open += t.work[g] > 0;
  if (!t.open) t.work[t.open++] = 1e-3; /* an empty transfer takes a little work, too, so that it ends */
  q->transfer[q->n++] = t;
  return true;
}

/* The transfer of a queue that a group moves at `now`; NULL: none. `next` is lowered to the time at which one can
 * begin. */
static trn_transfer *moving(trn_dma_queue *q, int group, double now, double *next) {
  while (q->head[group] < q->n && q->transfer[q->head[group]].work[group] <= 0) q->head[group]++;
  if (q->head[group] == q->n) return NULL;
  trn_transfer *t = &q->transfer[q->head[group]];
  if (t->first <= now) return t;
  if (t->first < *next) *next = t->first;
  return NULL;
}

const trn_transfer *trn_dma_move(trn_dma *d, double limit, trn_engine *queue) {
  while (d->now < limit) {
    trn_transfer *at[TRN_DMA_GROUPS][TRN_ENGINES], *ends = NULL;
    int active[TRN_DMA_GROUPS] = {0}, group = 0;
    double next = limit, end = INFINITY;
    for (int g = 0; g < TRN_DMA_GROUPS; g++) {
      double least = INFINITY;
      trn_transfer *first = NULL;
      for (int e = 0; e < TRN_ENGINES; e++) {
        trn_transfer *t = at[g][e] = moving(&d->queue[e], g, d->now, &next);
        if (!t) continue;
        active[g]++;
        if (t->begin < 0) t->begin = d->now;
        if (t->work[g] >= least) continue;
        least = t->work[g];
        first = t;
      }
      if (!first || d->now + least * active[g] >= end) continue;
      end = d->now + least * active[g];
      ends = first;
      group = g;
    }
    if (!ends && next == INFINITY) return NULL;
    if (end > next) ends = NULL;
    const double to = ends ? end : next;
    for (int g = 0; g < TRN_DMA_GROUPS; g++)
      for (int e = 0; e < TRN_ENGINES; e++)
        if (at[g][e]) at[g][e]->work[g] = fmax(1e-9, at[g][e]->work[g] - (to - d->now) / active[g]);
    d->now = to;
    if (!ends) continue;
    ends->work[group] = 0;
    if (--ends->open) continue;
    for (int e = 0; e < TRN_ENGINES; e++)
      if (at[group][e] == ends) *queue = (trn_engine)e;
    return ends;
  }
  return NULL;
}

void trn_dma_free(trn_dma *d) {
  for (int e = 0; e < TRN_ENGINES; e++) free(d->queue[e].transfer);
  *d = (trn_dma){0};
}
