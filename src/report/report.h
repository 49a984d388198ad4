/* report.h - runs of `tilewright tune --out` as a page.
 *
 * A run is read from its directory: journal.sqlite has every candidate from the moment its verdict is known,
 * summary.json and timeline.json are there once the search has ended. Nothing in a directory is trusted, because it
 * may come from another person. Texts reach the page as JSON, which its scripts show as text and never as HTML. */
#ifndef TW_REPORT_REPORT_H
#define TW_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tilewright/status.h"

/* One run as a JSON object. TW_USAGE if the directory has no run, or has a damaged run. */
tw_status report_read_run(const char *directory, json_t **out, tw_error *);
/* {"lines": [...], "runs": {"0": [...], ...}, "left_out": N}: the sources of all candidates (lines.h), as many as a
 * page holds. An empty object where the directory has no journal. */
json_t *report_read_sources(const char *directory);
/* {"source": ..., "parent": ...}: the sources of one candidate and of its parent, null if absent. */
tw_status report_read_source(const char *directory, int64_t number, json_t **out, tw_error *);

/* A text that changes with the run; "" if nothing can be read. */
enum { REPORT_STAMP = 80 };
void report_read_stamp(const char *directory, char stamp[REPORT_STAMP]);

/* One page, malloc'ed, from {"runs": [run, ...], ...} and sources. TW_MISSING if this build has no charting library.
 * `nonce` marks the page's own scripts; a browser runs no other scripts. */
tw_status report_make_page(const json_t *data, const json_t *sources, const char *nonce, char **page, tw_error *);
/* 128 random bits in hexadecimal. */
enum { REPORT_NONCE = 33 };
void report_make_nonce(char nonce[REPORT_NONCE]);

#endif
