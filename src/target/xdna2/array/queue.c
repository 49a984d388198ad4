/* queue.c - events in order of time, then of scheduling. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/array/sim.h"

static bool before(const event *a, const event *b) { return a->at != b->at ? a->at < b->at : a->order < b->order; }

void queue_add(event_queue *q, double at, event_kind kind, int who, int what) {
  if (q->n == q->room) {
    event *grown = tw_resize(q->at, q->room ? q->room * 2 : 256, sizeof *grown);
    if (!grown) {
      q->failed = true;
      return;
    }
    q->at = grown;
    q->room = q->room ? q->room * 2 : 256;
  }
  const event e = {at, q->order++, kind, who, what};
  size_t i = q->n++;
  for (; i && before(&e, &q->at[(i - 1) / 2]); i = (i - 1) / 2) q->at[i] = q->at[(i - 1) / 2];
  q->at[i] = e;
}

bool queue_take(event_queue *q, event *out) {
  if (!q->n) return false;
  *out = q->at[0];
  const event last = q->at[--q->n];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < q->n; i = child) {
    if (child + 1 < q->n && before(&q->at[child + 1], &q->at[child])) child++;
    if (!before(&q->at[child], &last)) break;
    q->at[i] = q->at[child];
  }
  if (q->n) q->at[i] = last;
  return true;
}
