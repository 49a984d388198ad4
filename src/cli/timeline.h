/* timeline.h - the picture of a run: a lane for each unit of the machine, a bar for each span of its time. */
#ifndef TW_CLI_TIMELINE_H
#define TW_CLI_TIMELINE_H

#include "tilewright/status.h"

typedef struct cli_timeline {
  const char *title, *unit; /* unit of time */
  double from, to;          /* the part that is shown, counted from the kernel's start; to = 0: all of it */
} cli_timeline;

/* Reads a trace as targets write it (include/tilewright/target.h, `measure`) and writes a self-contained SVG.
 * TW_USAGE if a given window is empty. */
tw_status cli_timeline_write(const cli_timeline *, const char *trace, const char *svg, tw_error *);

/* The same as JSON, for the page of `tilewright report`. */
tw_status cli_timeline_write_data(const cli_timeline *, const char *trace, const char *json, tw_error *);

/* Parses "FROM:TO", two whole numbers with FROM < TO. */
tw_status cli_timeline_window(const char *text, cli_timeline *, tw_error *);

#endif
