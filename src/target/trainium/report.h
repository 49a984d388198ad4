/* report.h - the output of a run on the machine's model: counters, and a timeline of engines and DMA queues. */
#ifndef TW_TRAINIUM_REPORT_H
#define TW_TRAINIUM_REPORT_H

#include "target/trainium/timing/timing.h"
#include "tilewright/extend/target.h"

void trn_report(const trn_config *, const trn_program *, const trn_timing *, tw_measurement *out);
/* The timeline in the form that tw_evaluation.trace documents, to a file. */
tw_status trn_report_trace(const trn_program *, const trn_timing *, const char *path, tw_error *);

#endif
