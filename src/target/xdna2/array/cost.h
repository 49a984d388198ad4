/* cost.h - cycles of kernel calls.
 *
 * A matmul takes the time of its micro-kernel plus delta (switch_cycles); `step` takes the cost of a step of K. Two
 * sources give the micro-kernel's time: the analytic model (src/target/xdna2/model: VMACs over the efficiency of
 * equation 13, or 5 to 10) and the core's instruction scheduler (core/core.h). docs/explain/xdna2-array.md compares
 * both with measurements; the machine file selects the closer one for each kernel (`scheduled`). The
 * time of a kernel that the scheduler does not know (A converted in registers) is the analytic one.
 *
 * The analytic model has only published clusters. For other clusters it is scaled by the ratio of the two schedules.
 * The scheduler gives the time of passes over a buffer (clearing, narrowing, rounding, unpacking). */
#ifndef TW_XDNA2_ARRAY_COST_H
#define TW_XDNA2_ARRAY_COST_H

#include "target/xdna2/array/run.h"

/* Cycles by the core's scheduler (core/core.h); HUGE_VAL if it fails. */
double xd_pass_cycles(xd_core_pass, int64_t count);

/* The cost function that the machine file selects. Its `context` is the configuration. */
xd_cost xd_cost_of(const xd_config *);

/* For one call of the micro-kernel on m x k x n (rows of a sub-tile of A, depth, columns), without delta, by the source
 * that the machine file selects: for predictions. */
double xd_micro_cycles(const xd_config *, const xd_kernel *, xd_cover, int64_t m, int64_t k, int64_t n);

/* How many rows of clusters of a call of m rows and n columns unpack a vector of codes with each cluster, if the cover
 * has some beside; *left: vectors that remain, for a pass after the products. */
int64_t xd_bands_beside(const xd_kernel *, xd_cover, int64_t m, int64_t n, int64_t *left);

/* TW_USAGE with the reason if registers or program memory cannot hold the kernel with that cover; TW_OK, too, where the
 * scheduler does not know the kernel and the cover is the published one. */
tw_status xd_cover_check(const xd_kernel *, xd_cover, int64_t m, int64_t k, int64_t n, tw_error *);

#endif
