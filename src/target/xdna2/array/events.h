/* events.h - the queue of an event-driven simulation: a calendar (R. Brown, "Calendar queues", 1988). A day is a few
 * units of time, and its events are in order. Events after the last day of the calendar are in a heap until their day
 * is near.
 *
 * Events leave in order of time; simultaneous events leave in order of insertion. */
#ifndef TW_XDNA2_EVENTS_H
#define TW_XDNA2_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"

typedef struct tw_event {
  double at;
  uint64_t order; /* order of insertion, for simultaneous events */
  int32_t agent;  /* owner and subject of the event, defined by the simulation */
  int32_t what;
} tw_event;

typedef struct tw_events {
  int64_t today;
  struct tw_event_day {
    int32_t first, last; /* time of the events; last is undefined if there is none */
  } * day;               /* indexed by the day's number modulo the days of the calendar; first -1: no event */
  uint64_t *busy;        /* a bit for each day */
  struct tw_event_node {
    tw_event event;
    int32_t next;
  } * node;
  int32_t free, n_nodes, room_nodes; /* free: list of nodes, -1 */
  tw_heap far;                       /* of nodes */
  size_t room_far;
  uint64_t order;
  bool failed; /* memory ran out */
} tw_events;

/* For a queue that is all zero. False: out of memory. */
bool tw_events_open(tw_events *);
void tw_events_close(tw_events *);
/* Adds an event, not before the event that was taken last. */
void tw_events_add(tw_events *, double at, int32_t agent, int32_t what);
bool tw_events_take(tw_events *, tw_event *out); /* false: empty */

#endif
