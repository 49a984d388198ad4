/* report.h - converts times to the project's measurements, bounds and traces. */
#ifndef TW_CDNA_REPORT_H
#define TW_CDNA_REPORT_H

#include "target/cdna/time/time.h"
#include "tilewright/extend/target.h"

/* Adds a kernel to a launch of several; values that are not sums are the main kernel's. */
void cdna_times_add(cdna_times *, const cdna_times *one, bool is_main);

/* `whole`: number of workgroups in the launch for each executed one. Counts without waves: no workgroup was
 * executed, and instructions count the timed workgroups. `p` may be NULL for a launch without an op. */
void cdna_report(const cdna_machine *, const cdna_result_counts *, double whole, const cdna_times *,
                 const tw_problem *p, tw_measurement *out);

/* Operations per second of all matrix units with a type at the peak clock; 0: unsupported type. */
double cdna_matrix_peak(const cdna_machine *, cdna_arch, tw_type);

/* As in tw_family: at the peak clock, with each operand transferred once. */
tw_status cdna_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

/* Chrome trace of the first compute unit; times in microseconds. */
tw_status cdna_write_trace(const cdna_spans *, double mhz, const char *path, tw_error *);

#endif
