/* rate.h - how fast a design runs, by the analytic model: micro-kernel, core, array. */
#ifndef TW_XDNA2_RATE_H
#define TW_XDNA2_RATE_H

#include "target/xdna2/design.h"
#include "target/xdna2/model/efficiency.h"

/* Equations 5 to 10 for one cluster of accumulators over the depth of a tile. Cycles; all 0 if the kernel's loads of
 * the accumulators are not known. */
typedef struct xd_cluster {
  double vmacs; /* issued */
  double prologue, steady, epilogue;
  double cycles; /* cycles of the parts in sequence: their sum */
} xd_cluster;
xd_cluster xd_cluster_of(const xd_config *, const xd_kernel *, int64_t t_k);

/* For the micro-kernel over a depth of t_k: equation 13, or 5 to 10 where nothing is fitted. */
double xd_micro_efficiency(const xd_config *, const xd_kernel *, int64_t t_k);

typedef struct xd_rate {
  double core_peak;        /* operations a second of one core */
  double efficiency_micro; /* equation 13, or 5 to 10 */
  double efficiency_paper; /* rate of a core by equation 15 with the paper's delta */
  double efficiency_core;  /* rate of a core by equation 15 with the fitted overheads, or as measured */
  double intensity;        /* equation 2 with the paper's bytes, operations a byte */
  double intensity_packed; /* equation 2 with bytes as stored in memory */
  tw_roofline roofline;    /* equation 12 with the paper's bandwidth, operations a second */
  double compute_seconds, read_seconds, write_seconds, stream_seconds; /* each alone, of the whole GEMM */
  double launch_seconds;
  double seconds;      /* launch and the longest of the four */
  double rate;         /* useful operations a second */
  double padded_share; /* share of the operations that are only padding; 0 if everything divides */
  double read_bytes, write_bytes;
} xd_rate;
xd_rate xd_rate_of(const xd_config *, const xd_design *, double m, double n, double k);

/* Fills the quantities and what limits. */
void xd_explain_rate(const xd_config *, const xd_design *, const xd_rate *, tw_explanation *);

#endif
