/* live.h - the page of a running search, on 127.0.0.1: read-only, at an address that contains a random token. */
#ifndef TW_REPORT_LIVE_H
#define TW_REPORT_LIVE_H

#include "tilewright/status.h"

typedef struct report_live report_live;

/* Serves the run in `directory` from a separate thread; the journal need not exist yet. TW_MISSING if the build has
 * no server or no page, or the system no free port. */
tw_status report_live_start(const char *directory, report_live **out, tw_error *);
const char *report_live_address(const report_live *); /* "http://127.0.0.1:PORT/TOKEN/" */
/* Gives an open page some seconds to fetch the end of the search. NULL is allowed. */
void report_live_stop(report_live *);

#endif
