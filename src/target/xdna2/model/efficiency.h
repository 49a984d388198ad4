/* efficiency.h - from the micro-kernel's efficiency to the rates of a core and an array: equations 12, 13 and 15 of the
 * ATB paper.
 *
 * Rates are operations (two per multiply-accumulate) per second, or per cycle where stated; efficiencies are
 * fractions. */
#ifndef TW_XDNA2_EFFICIENCY_H
#define TW_XDNA2_EFFICIENCY_H

#include "target/xdna2/model/tiling.h"

/* Equation 12 and its parts: the rate is the minimum of the memory's and the cores' limits. */
typedef struct tw_roofline {
  double memory;  /* AI_array * bandwidth */
  double compute; /* Eff_core * peak of a core * cores */
  double rate;    /* the lesser */
} tw_roofline;
tw_roofline tw_roofline_of(double intensity, double bandwidth, double core_efficiency, double core_peak, double cores);

/* Equation 13: Eff_micro = eta T_K / (epsilon + eta II T_K). eta is VMACs of a cluster for each unit of T_K, epsilon
 * the cycles of a cluster outside its steady state. */
double tw_micro_efficiency(double eta, double epsilon, double ii, double t_k);

/* Cycles of a core in addition to its micro-kernels. The paper's equations 14 and 15 contain only the switch. */
typedef struct tw_overhead {
  double per_switch; /* delta: each of the rho kernels of a step of K */
  double per_step;   /* for each step of K: 0 in the paper. docs/explain/xdna2-model.md gives the reason for it */
} tw_overhead;

/* Equation 15: Eff_core = 1 / (1/Eff_micro + (per_switch rho + per_step) peak / (2 T_MC T_N T_K)). */
double tw_core_efficiency(const tw_tile *, double peak, double micro_efficiency, const tw_overhead *);

#endif
