/* plan.h - the loop over clusters of a kernel, scheduled and checked: for results, tables and pictures. */
#ifndef TW_XDNA2_CORE_PLAN_H
#define TW_XDNA2_CORE_PLAN_H

#include "target/xdna2/core/core.h"
#include "target/xdna2/core/timetable.h"

typedef struct xc_loop {
  xc_graph graph;
  xc_timetable table;
} xc_loop;

/* The loop whose iteration is `clusters` clusters, with the binding of registers that makes it fastest. `k` must have
 * passed xc_check_kernel. Free with xc_loop_free. */
tw_status xc_plan_loop(const xc_machine *, const xd_core_kernel *k, int clusters, xc_loop *out, tw_error *);
void xc_loop_free(xc_loop *);

/* The loop that converts eight blocks of A from bf16 to bfp16; banks of the source and of the result. */
tw_status xc_plan_conversion(const xc_machine *, const int bank[2], xc_loop *out, tw_error *);

/* The loop of a pass; source and result in separate banks. */
tw_status xc_plan_pass(const xc_machine *, xd_core_pass, xc_loop *out, tw_error *);

/* The loop of a graph, which it takes over; cycles of a number of its iterations. */
tw_status xc_plan_graph(xc_graph *, xc_loop *out, tw_error *);
int xc_loop_cycles(const xc_loop *, int iterations);

/* Checks the kernel and plans its main loop: *clusters of them in an iteration. */
tw_status xc_plan_kernel(const xd_core_kernel *, int *clusters, xc_loop *out, tw_error *);

#endif
