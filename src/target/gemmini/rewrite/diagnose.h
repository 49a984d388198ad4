/* diagnose.h - describes where a program's cycles go, the most expensive finding first. */
#ifndef TW_GEMMINI_REWRITE_DIAGNOSE_H
#define TW_GEMMINI_REWRITE_DIAGNOSE_H

#include "target/gemmini/rewrite/stream.h"
#include "tilewright/extend/target.h"

/* The cost of a removable effect is the difference between two simulations of the command stream: with the effect and
 * without; causes that cannot be removed alone are counters of the machine. */
tw_status gm_diagnose(const gm_stream *, int jobs, tw_diagnosis *, tw_error *);

#endif
