/* measure.h - tw_target.build, check, measure and release, and tw_family.bound, of x86: see native/sandbox.h. */
#ifndef TW_X86_MEASURE_H
#define TW_X86_MEASURE_H

#include "tilewright/target.h"

tw_status x86_artefact(const tw_target *, const tw_problem *, const char *source, size_t length, bool trust,
                       tw_artefact **, tw_error *);
tw_status x86_check(const tw_target *, tw_artefact *, const tw_case *, tw_error *);
tw_status x86_measure(const tw_target *, tw_artefact *, const tw_case *, const char *trace, tw_measurement *,
                      tw_error *);
void x86_release(tw_artefact *);
tw_status x86_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

#endif
