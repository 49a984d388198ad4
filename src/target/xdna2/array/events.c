/* events.c - events in order of time, then of scheduling: a calendar for near events, a heap for far ones. */
#include "target/xdna2/array/events.h"

#include <stdlib.h>

#include "base/strings.h"

/* Cores that run in step have many events in the same few cycles. A day is as short as the distance between events,
 * so that a new event is mostly the last of its day. The year is longer than most kernel calls. */
enum { CYCLES = 2, DAYS = 8192, WORD = 64, FIRST_ROOM = 256, NONE = -1 };

static bool before(const tw_event *a, const tw_event *b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static int64_t day_of(double at) { return (int64_t)(at * (1.0 / CYCLES)); }

bool tw_events_open(tw_events *q) {
  q->day = tw_new(DAYS, sizeof *q->day);
  q->busy = tw_new(DAYS / WORD, sizeof *q->busy);
  q->free = NONE;
  for (int i = 0; q->day && i < DAYS; i++) q->day[i].first = NONE;
  return q->day && q->busy;
}

void tw_events_close(tw_events *q) {
  free(q->day);
  free(q->busy);
  free(q->node);
  free(q->far.entry);
}

/* ---- the calendar ---- */

static int32_t new_node(tw_events *q) {
  const int32_t node = q->free;
  if (node != NONE) {
    q->free = q->node[node].next;
    return node;
  }
  if (q->n_nodes == q->room_nodes) {
    const int32_t room = q->room_nodes ? 2 * q->room_nodes : FIRST_ROOM;
    struct tw_event_node *grown = tw_resize(q->node, (size_t)room, sizeof *grown);
    if (!grown) return NONE;
    q->node = grown;
    q->room_nodes = room;
  }
  return q->n_nodes++;
}

/* Links the node, whose event is filled in, into its day. */
static void add_to_day(tw_events *q, int64_t number, int32_t node) {
  const int64_t place = number % DAYS;
  struct tw_event_day *day = &q->day[place];
  struct tw_event_node *added = &q->node[node];
  added->next = NONE;
  q->busy[place / WORD] |= (uint64_t)1 << place % WORD;
  if (day->first != NONE && !before(&added->event, &q->node[day->last].event)) {
    q->node[day->last].next = node; /* the common case: simultaneous events are added in order */
    day->last = node;
    return;
  }
  int32_t *link = &day->first;
  while (*link != NONE && before(&q->node[*link].event, &added->event)) link = &q->node[*link].next;
  added->next = *link;
  if (*link == NONE) day->last = node;
  *link = node;
}

/* The first day from today on that has an event, as days from today; DAYS if none has. */
static int64_t next_busy(const tw_events *q) {
  const int64_t start = q->today % DAYS;
  uint64_t word = q->busy[start / WORD] >> start % WORD;
  if (word) return __builtin_ctzll(word);
  for (int64_t i = 1; i <= DAYS / WORD; i++) {
    word = q->busy[(start / WORD + i) % (DAYS / WORD)];
    if (word) return i * WORD - start % WORD + __builtin_ctzll(word);
  }
  return DAYS;
}

/* ---- far events ---- */

static bool add_far(tw_events *q, int32_t node) {
  if (q->far.n == q->room_far) {
    const size_t room = q->room_far ? 2 * q->room_far : FIRST_ROOM;
    tw_heap_entry *grown = tw_resize(q->far.entry, room, sizeof *grown);
    if (!grown) return false;
    q->far.entry = grown;
    q->room_far = room;
  }
  const tw_event *e = &q->node[node].event;
  tw_heap_push(&q->far, (tw_heap_entry){e->at, (int64_t)e->order, node});
  return true;
}

/* ---- both ---- */

/* Written in its final place: reading a whole event that was just written in parts would wait for the stores. */
void tw_events_add(tw_events *q, double at, int32_t agent, int32_t what) {
  const int32_t node = new_node(q);
  if (node == NONE) {
    q->failed = true;
    return;
  }
  tw_event *e = &q->node[node].event;
  e->at = at;
  e->order = q->order++;
  e->agent = agent;
  e->what = what;
  const int64_t number = day_of(at);
  if (number < q->today + DAYS)
    add_to_day(q, number, node);
  else if (!add_far(q, node))
    q->failed = true;
}

/* Advances to the next day that has an event. Events that are no longer far move into the calendar. */
static bool turn(tw_events *q) {
  const int64_t ahead = next_busy(q);
  if (ahead == DAYS && !q->far.n) return false;
  q->today = ahead < DAYS ? q->today + ahead : day_of(q->far.entry->at);
  while (q->far.n && day_of(q->far.entry->at) < q->today + DAYS) {
    const tw_heap_entry e = tw_heap_pop(&q->far);
    add_to_day(q, day_of(e.at), e.value);
  }
  return true;
}

bool tw_events_take(tw_events *q, tw_event *out) {
  struct tw_event_day *day = &q->day[q->today % DAYS];
  if (day->first == NONE) {
    if (q->failed || !turn(q)) return false;
    day = &q->day[q->today % DAYS];
  }
  const int32_t node = day->first;
  *out = q->node[node].event;
  day->first = q->node[node].next;
  q->node[node].next = q->free;
  q->free = node;
  if (day->first == NONE) q->busy[q->today % DAYS / WORD] &= ~((uint64_t)1 << q->today % DAYS % WORD);
  return true;
}
