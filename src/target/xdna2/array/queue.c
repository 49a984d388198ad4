/* queue.c - events in order of time, then of scheduling. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/array/sim.h"

/* A heap of four children each: half as deep as a binary one, and siblings lie side by side. */
enum { WAYS = 4, FIRST_ROOM = 256 };

static bool before(const event *a, const event *b) {
  return (a->at < b->at) | ((a->at == b->at) & (a->order < b->order));
}

bool queue_open(event_queue *q) { return (q->ring = tw_new(EVENTS_NOW, sizeof *q->ring)); }

void queue_close(event_queue *q) {
  free(q->ring);
  free(q->at);
}

/* The first of the children from `child` on; `child` is one of the n events. */
static size_t first_child(const event_queue *q, size_t child) {
  const size_t end = child + WAYS < q->n ? child + WAYS : q->n;
  size_t first = child;
  for (size_t i = child + 1; i < end; i++) first = before(&q->at[i], &q->at[first]) ? i : first;
  return first;
}

/* To the place of the first, which is free. */
static void sink(event_queue *q, const event *e) {
  size_t i = 0;
  for (size_t child; (child = WAYS * i + 1) < q->n; i = child) {
    child = first_child(q, child);
    if (!before(&q->at[child], e)) break;
    q->at[i] = q->at[child];
  }
  q->at[i] = *e;
}

static void add_to_heap(event_queue *q, const event *e) {
  if (q->taken) {
    q->taken = false;
    sink(q, e);
    return;
  }
  if (q->n == q->room) {
    const size_t room = q->room ? q->room * 2 : FIRST_ROOM;
    event *grown = tw_resize(q->at, room, sizeof *grown);
    if (!grown) {
      q->failed = true;
      return;
    }
    q->at = grown;
    q->room = room;
  }
  size_t i = q->n++;
  for (; i && before(e, &q->at[(i - 1) / WAYS]); i = (i - 1) / WAYS) q->at[i] = q->at[(i - 1) / WAYS];
  q->at[i] = *e;
}

void queue_add(event_queue *q, double at, event_kind kind, int who, int what) {
  const event e = {at, q->order++, who * EVENT_KINDS + (int)kind, what};
  if (at == q->now && q->n_now < EVENTS_NOW)
    q->ring[(q->first + q->n_now++) % EVENTS_NOW] = e;
  else
    add_to_heap(q, &e);
}

bool queue_take(event_queue *q, event *out) {
  if (q->taken) {
    q->taken = false;
    if (--q->n) sink(q, &q->at[q->n]);
  }
  const event *soon = q->n_now ? &q->ring[q->first] : NULL;
  if (soon && (!q->n || before(soon, &q->at[0]))) {
    *out = *soon;
    q->first = (q->first + 1) % EVENTS_NOW;
    q->n_now--;
    return true;
  }
  if (!q->n) return false;
  *out = q->at[0];
  q->now = out->at;
  q->taken = true;
  return true;
}
