/* trace.h - a run as a timeline in the Chrome trace format (tw_target.measure says how). */
#ifndef TW_XDNA2_ARRAY_TRACE_H
#define TW_XDNA2_ARRAY_TRACE_H

#include <stdio.h>

#include "target/xdna2/array/run.h"

typedef struct xd_trace {
  FILE *file;
  double cycles_per_us;
} xd_trace;

/* Begins the file, with the lanes in order: column by column its lowest core, the channels of its shim and its memory
 * tile, the other cores, the cores' channels. Times are microseconds. */
xd_trace xd_trace_begin(FILE *, const xd_config *, const xd_program *);
/* An xd_on_span; the context is the xd_trace. */
void xd_trace_span(void *trace, const char *lane, const char *name, double from, double to);
void xd_trace_end(const xd_trace *, double cycles);

#endif
