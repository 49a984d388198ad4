/* pipeline.h - how long the innermost loops of a GEMM take on a core that issues one multiply-accumulate a cycle.
 *
 * Equations 4, 5 and 8 to 10 of the ATB paper (section 4): accumulation chains of vector multiply-accumulates (VMACs) in three
 * phases. A chain cluster is C chains that share operands and are interleaved. All results are cycles. */
#ifndef TW_XDNA2_PIPELINE_H
#define TW_XDNA2_PIPELINE_H

#include <stddef.h>

/* Equation 4: achieved over peak, both in multiply-accumulates a cycle. */
double tw_efficiency(double achieved, double peak);

/* One kind of operand load: cycles from its issue to its use, and how many. */
typedef struct tw_loads {
  int latency, count;
} tw_loads;

/* Equation 5: T_load, the cycles until all operands are there: over the kinds sorted by falling latency, the latest of
 * latency(i) + ceil(S(i) / slots) - 1 with S(i) the loads of the first i kinds. `kinds` may be in any order. */
double tw_prologue(const tw_loads kinds[], size_t n, int slots);

/* In place of equations 6 and 7, which omit limits: a core issues at most one VMAC per cycle, and with C alternating chains the same
 * accumulator returns after C cycles: max(1, P / C, loads / slots) cycles for each VMAC. P is the distance between two VMACs on one
 * accumulator, `loads` the loads of one VMAC. For 2 x 2 clusters on XDNA2 (P = 3) this is 1, equation 7 is 0.25. */
double tw_ii_issued(int distance, int chains, double loads, int slots);

/* Equation 8: T_steady = II (N_accum - C); N_accum is the VMACs of the whole cluster. */
double tw_steady(double ii, double vmacs, int chains);

/* Equation 9: T_epilogue = (vmac_to_store + store_latency + stores - 1) + (C - 1). */
double tw_epilogue(int vmac_to_store, int store_latency, int stores, int chains);

/* Equation 10: consecutive clusters. */
double tw_clusters_in_turn(double prologue, double steady, double epilogue, double clusters);

#endif
