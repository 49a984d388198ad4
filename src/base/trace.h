/* trace.h - a run as a timeline in the Chrome trace format, one event a line, as tw_evaluation.trace says. */
#ifndef TW_BASE_TRACE_H
#define TW_BASE_TRACE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct tw_trace {
  FILE *file;   /* NULL: nothing is traced */
  double ticks; /* ticks of the simulation in a unit of the trace */
  int lanes;
  bool has_event;
} tw_trace;

/* Begins the file; the caller closes it. With one tick per unit, times are whole numbers. */
tw_trace tw_trace_begin(FILE *, double ticks);
/* Lanes come first, in the order in which a viewer shows them. */
void tw_trace_lane(tw_trace *, const char *lane);
/* Times are ticks. */
void tw_trace_span(tw_trace *, const char *lane, const char *name, double from, double to);
/* A number over time, such as bytes in use: its value from `at` on. A viewer draws each name as a curve. */
void tw_trace_value(tw_trace *, const char *name, double at, double value);
/* Adds the span "kernel", the measured interval, and closes the list. */
void tw_trace_end(tw_trace *, const char *lane, double from, double to);

#endif
