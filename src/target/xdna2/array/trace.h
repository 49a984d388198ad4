/* trace.h - a run as a timeline in the Chrome trace format (tw_evaluation.trace says how). */
#ifndef TW_XDNA2_ARRAY_TRACE_H
#define TW_XDNA2_ARRAY_TRACE_H

#include <stdio.h>

#include "base/trace.h"
#include "target/xdna2/array/run.h"

/* Begins the file, with the lanes in order: for each column its lowest core, the channels of its shim and its memory
 * tile; then the other cores, and the cores' channels. Times are microseconds. */
tw_trace xd_trace_begin(FILE *, const xd_config *, const xd_program *);
/* An xd_on_span; the context is the tw_trace. */
void xd_trace_span(void *trace, const char *lane, const char *name, double from, double to);

#endif
