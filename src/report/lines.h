/* lines.h - many sources that share most of their lines, as one list of lines.
 *
 * A source becomes runs: pairs (first line, number of lines) of the list. Lines that follow each other in a source that
 * came before are one run, so a child costs little more than its difference from its parent. */
#ifndef TW_REPORT_LINES_H
#define TW_REPORT_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct report_lines report_lines;

report_lines *report_lines_new(void); /* NULL without memory */
/* [first, count, first, count, ...]; NULL without memory. */
json_t *report_lines_add(report_lines *, const char *source);
size_t report_lines_bytes(const report_lines *); /* bytes of all lines so far */
/* The list as an array of texts. */
json_t *report_lines_list(const report_lines *);
void report_lines_free(report_lines *);

#endif
