/* trace.h - a run as a timeline in the Chrome trace format (tw_target.measure says how). */
#ifndef TW_XDNA2_ARRAY_TRACE_H
#define TW_XDNA2_ARRAY_TRACE_H

#include <stdio.h>

#include "target/xdna2/array/run.h"

/* Begins the file, with the lanes in order: cores by column, then channels of memory tiles, shims and cores. */
void xd_trace_begin(FILE *, const xd_program *);
/* An xd_on_span; the context is the FILE. */
void xd_trace_span(void *file, const char *lane, const char *name, double from, double to);
void xd_trace_end(FILE *, double cycles);

#endif
