/* core_design.h - converts a kernel of the machine file, and a design's call of the kernel, to input of the core's
 * scheduler. */
#ifndef TW_XDNA2_CORE_DESIGN_H
#define TW_XDNA2_CORE_DESIGN_H

#include "target/xdna2/core/core.h"
#include "target/xdna2/design.h"

/* One call of the kernel on m x depth x n (rows of A's sub-tile, depth, columns), with clusters in the order of the
 * published source. False if the scheduler does not support the kernel: one that converts A in registers. */
bool xd_core_call(const xd_kernel *, int64_t m, int64_t depth, int64_t n, xd_core_kernel *out);

/* The call of a design: T_MC / rho rows; its words way=, unroll= and cluster= instead of the kernel's. */
bool xd_core_of_design(const xd_design *, xd_core_kernel *out);

/* The scheduler's result for the design: cycles, II, phases and registers, and the cycles with overlapping clusters.
 * Adds nothing if the kernel does not exist, or cannot be scheduled as in its source; TW_USAGE if it cannot be
 * scheduled as the design requests. */
tw_status xd_explain_core(const xd_design *, tw_explanation *, tw_error *);

#endif
