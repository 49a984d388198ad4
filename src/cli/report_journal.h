/* report_journal.h - the chart of all candidates in the report. */
#ifndef TW_CLI_REPORT_JOURNAL_H
#define TW_CLI_REPORT_JOURNAL_H

#include "cli/html.h"

/* `samples`: that the whole run had. Nothing if the directory has no journal or one that cannot be read. */
void report_add_journal(tw_text *, const char *directory, int samples);

#endif
