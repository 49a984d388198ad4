/* measure.h - tw_target.build, check, coverage, measure, wait and release, and tw_family.bound, of x86: see
 * native/sandbox.h. */
#ifndef TW_X86_MEASURE_H
#define TW_X86_MEASURE_H

#include "tilewright/extend/target.h"

tw_status x86_artefact(const tw_target *, const tw_problem *, const char *source, size_t length, tw_evaluation *,
                       tw_artefact **, tw_error *);
tw_status x86_check(const tw_target *, tw_artefact *, const tw_case *, tw_evaluation *, tw_error *);
tw_status x86_measure(const tw_target *, tw_artefact *, const tw_case *, tw_evaluation *, tw_measurement *, tw_error *);
void x86_release(tw_artefact *);
/* Problems of more multiply-adds have no expected outputs in a search: a sample is compared. */
#define X86_REFERENCE_UP_TO 2.5e9
/* After some timed repeats, at `now`: can the kernel have its least number of repeats, or one more and then the repeats
 * with an unchanged A, by `last`? A measurement that ends before the search's deadline counts. */
bool x86_has_time(size_t repeats, double now, double repeat_seconds, double last);
/* Do the times of n repeats tell enough about a kernel that must beat a cost of `limit`? Never without one (0). Sorts
 * the times. */
bool x86_tells_enough(double limit, double time[], size_t n);
tw_status x86_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

#endif
