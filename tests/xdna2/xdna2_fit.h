/* xdna2_fit.h - the fits of the model's constants to the published tables. Each leaves out the rows that it is told
 * to. */
#ifndef TW_TEST_XDNA2_FIT_H
#define TW_TEST_XDNA2_FIT_H

#include "xdna2_tables.h"

/* Which rows a fit may not see. */
typedef enum leave { LEAVE_NONE, LEAVE_ROW, LEAVE_T_K } leave;

static inline bool is_left_out(const table *t, size_t row, leave how, size_t judged) {
  if (how == LEAVE_ROW) return row == judged;
  return how == LEAVE_T_K && number(t, row, "t_k") == number(t, judged, "t_k");
}

/* ---- Table 1 ---- */

enum { TABLE1_TILE = 128 }; /* T_MC and T_N; the paper's "T_MA = 128" exceeds L1 with the rows it has */

static inline tw_tile table1_tile(const table *t, size_t row) {
  return (tw_tile){TABLE1_TILE, (int64_t)number(t, row, "t_k"), TABLE1_TILE, (int64_t)number(t, row, "rho")};
}

/* Cycles of one step of K at the core's peak: one VMAC a cycle. */
static inline double ideal_cycles(const xd_kernel *k, const tw_tile *t) {
  return (double)t->m * (double)t->n * (double)t->k / xd_vmac_macs(k);
}

/* Clusters of one step of K, and VMACs of each. */
static inline double clusters(const xd_kernel *k, const tw_tile *t) {
  return (double)t->m / xd_unit_m(k) * (double)t->n / xd_unit_n(k);
}
static inline double cluster_vmacs(const xd_kernel *k, const tw_tile *t) { return ideal_cycles(k, t) / clusters(k, t); }

/* epsilon and II of equation 13 from the column of micro-kernels. */
static inline void fit_micro(const table *t, const xd_kernel *k, leave how, size_t judged, double p[2]) {
  fit f = {.unknowns = 2};
  for (size_t i = 0; i < t->n; i++) {
    const tw_tile tile = table1_tile(t, i);
    const double cycles = cluster_vmacs(k, &tile) / number(t, i, "eff_micro");
    if (!is_left_out(t, i, how, judged)) fit_add(&f, 1, cluster_vmacs(k, &tile), cycles, cycles);
  }
  fit_solve(&f, p);
}

/* delta and the cost of a step of K from what a step takes beyond its micro-kernels: of the measured ones, or of those
 * of equations 5 to 10. `with_step` = false leaves delta alone. */
static inline void fit_overhead(const table *t, const xd_config *c, const xd_kernel *k, leave how, size_t judged,
                                bool equations, bool with_step, double p[2]) {
  fit f = {.unknowns = 1 + with_step};
  for (size_t i = 0; i < t->n; i++) {
    const tw_tile tile = table1_tile(t, i);
    const double step = ideal_cycles(k, &tile) / number(t, i, "eff_core");
    const double micro = equations ? xd_cluster_of(c, k, tile.k).cycles * clusters(k, &tile)
                                   : ideal_cycles(k, &tile) / number(t, i, "eff_micro");
    if (!is_left_out(t, i, how, judged)) fit_add(&f, (double)tile.rho, 1, step, step - micro);
  }
  fit_solve(&f, p);
}

/* ---- Table 2: kernels that Table 1 does not have ---- */

static inline const char *kernel_name(const table *t, size_t row) {
  const bool paper = !strcmp(cell(t, row, "source"), "paper");
  switch (*cell(t, row, "config")) {
  case '1': return paper ? "atb" : "mlir-aie";
  case '2': return paper ? "atb-bfp16" : "mlir-aie-bfp16";
  case '3': return "atb-bf16acc";
  default: return NULL; /* a row without tiles */
  }
}

static inline xd_design table2_design(const xd_config *c, const table *t, size_t row) {
  return (xd_design){.kernel = kernel_of(c, kernel_name(t, row)),
                     .tile = {(int64_t)number(t, row, "t_mc"), (int64_t)number(t, row, "t_k"),
                              (int64_t)number(t, row, "t_n"), (int64_t)number(t, row, "rho")}};
}

/* One number of a kernel from its rates of a core, overheads as the machine file has them: epsilon where `ii` is given,
 * else II with epsilon = 0. */
static inline double fit_kernel(const table *t, const xd_config *c, const char *name, double ii) {
  fit f = {.unknowns = 1};
  double p[2];
  for (size_t i = 0; i < t->n; i++) {
    if (!kernel_name(t, i) || strcmp(kernel_name(t, i), name)) continue;
    const xd_design d = table2_design(c, t, i);
    const double n = clusters(d.kernel, &d.tile), vmacs = cluster_vmacs(d.kernel, &d.tile);
    const double peak = 2e-6 * xd_vmac_macs(d.kernel) * c->clock_mhz;
    const double step = ideal_cycles(d.kernel, &d.tile) / (number(t, i, "perf_core_tflops") / peak);
    const double micro = (step - (d.kernel->switches ? c->step_cycles + c->switch_cycles * (double)d.tile.rho : 0)) / n;
    fit_add(&f, ii > 0 ? 1 : vmacs, 0, step / n, micro - ii * vmacs);
  }
  fit_solve(&f, p);
  return p[0];
}

/* ---- Table 3 ---- */

static inline xd_design table3_design(const xd_config *c) {
  return (xd_design){.kernel = kernel_of(c, "atb"), .tile = {128, 64, 128, 4}};
}

static inline xd_rate table3_rate(const xd_config *c, const table *t, size_t row) {
  const xd_design d = table3_design(c);
  return xd_rate_of(c, &d, number(t, row, "m"), number(t, row, "n"), number(t, row, "k"));
}

static inline double table3_seconds(const table *t, size_t row) {
  return 2 * number(t, row, "m") * number(t, row, "n") * number(t, row, "k") / (number(t, row, "perf_tflops") * 1e12);
}

/* The bytes that a row's time is fitted to: what is read, or all that moves, as equation 2 counts it. */
static inline double table3_bytes(const xd_rate *r, bool with_writes) {
  return r->read_bytes + (with_writes ? r->write_bytes : 0);
}

/* Launch (seconds) and seconds a byte; every row is bound by reading (the test checks). */
static inline void fit_memory(const table *t, const xd_config *c, leave how, size_t judged, bool with_writes,
                              double p[2]) {
  fit f = {.unknowns = 2};
  for (size_t i = 0; i < t->n; i++) {
    const xd_rate r = table3_rate(c, t, i);
    const double seconds = table3_seconds(t, i), gigabytes = table3_bytes(&r, with_writes) * 1e-9;
    if (how != LEAVE_ROW || i != judged) fit_add(&f, 1e-3, gigabytes, seconds, seconds);
  }
  fit_solve(&f, p);
  p[0] *= 1e-3;
  p[1] *= 1e-9;
}

#endif
