/* rate.c - equations 2, 5 to 10, 12, 13 and 15 of the ATB paper on this machine, and what measurements added to them: a
 * cost of each step of K, the bandwidth that shims reach together, the launch. docs/explain/xdna2-model.md has the
 * reasons and the errors. */
#include "target/xdna2/rate.h"

#include <math.h>
#include <stdio.h>

#include "target/count.h"
#include "target/xdna2/model/pipeline.h"

static int chains(const xd_kernel *k) { return k->cluster[0] * k->cluster[1]; }

xd_cluster xd_cluster_of(const xd_config *c, const xd_kernel *k, int64_t t_k) {
  xd_cluster out = {.vmacs = chains(k) * (double)t_k / k->vmac[1] * k->vmac_issues};
  if (!k->acc_loads) return out;
  const int operands = k->cluster[0] + k->cluster[1]; /* loads of A and B for one VMAC of each chain */
  const tw_loads loads[] = {{k->load, operands}, {k->acc_latency, chains(k) * k->acc_loads}};
  const double ii = tw_ii_issued(k->vmac_distance, chains(k), (double)operands / chains(k), c->load_slots);
  out.prologue = tw_prologue(loads, sizeof loads / sizeof *loads, c->load_slots);
  out.steady = tw_steady(ii, out.vmacs, chains(k));
  out.epilogue = tw_epilogue(c->vmac_to_store, c->store_latency, k->acc_stores, chains(k));
  out.cycles = tw_clusters_in_turn(out.prologue, out.steady, out.epilogue, 1);
  return out;
}

double xd_micro_efficiency(const xd_config *c, const xd_kernel *k, int64_t t_k) {
  const double eta = (double)chains(k) / k->vmac[1];
  if (k->vmac_cycles > 0) return tw_micro_efficiency(eta, k->cluster_cycles, k->vmac_cycles, (double)t_k);
  const xd_cluster cluster = xd_cluster_of(c, k, t_k);
  return tw_efficiency(cluster.vmacs / cluster.cycles, 1); /* VMACs of the same size on both sides */
}

/* A and B of one step of K arrive on a stream each; the slower one. Seconds for all steps of one core. */
static double stream_seconds(const xd_config *c, const xd_design *d, double tiles, double k) {
  const tw_element_bytes bytes = xd_element_bytes(d->kernel);
  const double a = bytes.a * (double)d->tile.m, b = bytes.b * (double)d->tile.n; /* for each unit of depth */
  return tiles * k * fmax(a, b) / c->stream_bytes / (c->clock_mhz * 1e6);
}

xd_rate xd_rate_of(const xd_config *c, const xd_design *d, double m, double n, double k) {
  const xd_kernel *kernel = d->kernel;
  const tw_tile *t = &d->tile;
  const tw_level levels[] = {{1, 1, t->rho}, {c->rows, c->columns, 1}};
  const tw_tile outer = tw_level_tile(levels, 2, t);
  const tw_element_bytes bytes = xd_element_bytes(kernel), paper = xd_paper_bytes(c, kernel);
  const double cycle_peak = 2.0 * xd_vmac_macs(kernel), cores = c->rows * c->columns;
  const tw_overhead theirs = {.per_switch = c->paper_switch_cycles},
                    ours = {.per_switch = kernel->switches ? c->switch_cycles : 0,
                            .per_step = kernel->switches ? c->step_cycles : 0};
  xd_rate r = {.core_peak = cycle_peak * c->clock_mhz * 1e6};
  r.efficiency_micro = xd_micro_efficiency(c, kernel, t->k);
  r.efficiency_paper = tw_core_efficiency(t, cycle_peak, r.efficiency_micro, &theirs);
  r.efficiency_core = d->core_tflops > 0 ? d->core_tflops * 1e12 / r.core_peak
                                         : tw_core_efficiency(t, cycle_peak, r.efficiency_micro, &ours);
  r.intensity = tw_intensity_at(levels, 2, t, &paper, k);
  r.intensity_packed = tw_intensity_at(levels, 2, t, &bytes, k);
  r.roofline = tw_roofline_of(r.intensity, c->ddr_mbs * 1e6, r.efficiency_core, r.core_peak, cores);

  const double tiles = ceil(m / (double)outer.m) * ceil(n / (double)outer.n); /* tiles of C for each core */
  const double steps_k = ceil(k / (double)t->k) * (double)t->k;
  const double work = 2 * tiles * (double)outer.m * (double)outer.n * steps_k, useful = 2 * m * n * k;
  const tw_traffic moved = tw_gemm_traffic(&outer, &bytes, m, n, k);
  r.read_bytes = moved.a + moved.b;
  r.write_bytes = moved.c;
  r.compute_seconds = work / (r.efficiency_core * r.core_peak * cores);
  r.stream_seconds = stream_seconds(c, d, tiles, steps_k);
  r.read_seconds = r.read_bytes / (c->read_mbs * 1e6);
  r.write_seconds = r.write_bytes / (c->read_mbs * 1e6);
  r.launch_seconds = c->launch_us * 1e-6;
  r.seconds = r.launch_seconds + fmax(fmax(r.compute_seconds, r.stream_seconds), fmax(r.read_seconds, r.write_seconds));
  r.rate = useful / r.seconds;
  r.padded_share = 1 - useful / work;
  return r;
}

static void say_limit(const xd_rate *r, tw_explanation *e) {
  const struct {
    const char *what;
    double seconds;
  } part[] = {{"the cores compute", r->compute_seconds},
              {"A and B come from memory", r->read_seconds},
              {"the streams into the cores", r->stream_seconds},
              {"C goes to memory", r->write_seconds}};
  int longest = 0;
  for (int i = 1; i < 4; i++)
    if (part[i].seconds > part[longest].seconds) longest = i;
  snprintf(e->limit, sizeof e->limit, "%s: %.3g of %.3g ms; the launch takes %.3g ms", part[longest].what,
           part[longest].seconds * 1e3, r->seconds * 1e3, r->launch_seconds * 1e3);
}

void xd_explain_rate(const xd_config *c, const xd_design *d, const xd_rate *r, tw_explanation *e) {
  const xd_cluster cluster = xd_cluster_of(c, d->kernel, d->tile.k);
  tw_add_quantity(e, "intensity", "op/byte", r->intensity,
                  "equation 2 of the ATB paper (docs/explain/xdna2-model.md), with bytes as the paper counts them");
  tw_add_quantity(e, "intensity_packed", "op/byte", r->intensity_packed, "equation 2, with bytes as stored in memory");
  tw_add_quantity(e, "efficiency_micro", "", r->efficiency_micro,
                  d->kernel->vmac_cycles > 0 ? "equation 13" : "equations 5 to 10: not fitted to any measurement");
  tw_add_quantity(e, "efficiency_core", "", r->efficiency_core,
                  d->core_tflops > 0 ? "as given by core_tflops" : "equation 15 plus a cost for each step of K");
  tw_add_quantity(e, "efficiency_core_paper", "", r->efficiency_paper,
                  "equation 15 alone, with delta of the ATB paper");
  tw_add_quantity(e, "compute_bound_tflops", "Tflop/s", r->roofline.compute * 1e-12, "equation 12, the cores");
  tw_add_quantity(e, "memory_bound_tflops", "Tflop/s", r->roofline.memory * 1e-12,
                  "equation 12, memory at the bandwidth in the ATB paper");
  tw_add_quantity(e, "predicted_tflops", "Tflop/s", r->rate * 1e-12,
                  "with the shims' measured bandwidth and the launch");
  tw_add_quantity(e, "seconds", "s", r->seconds, "predicted, of the whole GEMM");
  tw_add_quantity(e, "compute_seconds", "s", r->compute_seconds, "the cores alone");
  tw_add_quantity(e, "read_seconds", "s", r->read_seconds, "reading A and B alone");
  tw_add_quantity(e, "write_seconds", "s", r->write_seconds, "writing C alone");
  tw_add_quantity(e, "stream_seconds", "s", r->stream_seconds, "the slower stream into a core alone");
  tw_add_quantity(e, "read_bytes", "bytes", r->read_bytes, "of A and B from memory");
  tw_add_quantity(e, "write_bytes", "bytes", r->write_bytes, "of C to memory");
  tw_add_quantity(e, "padded_share", "", r->padded_share, "share of operations that are padding up to whole tiles");
  tw_add_quantity(e, "cluster_vmacs", "", cluster.vmacs, "multiply-accumulates of a chain cluster");
  if (cluster.cycles > 0) {
    tw_add_quantity(e, "cluster_prologue", "cycles", cluster.prologue, "equation 5");
    tw_add_quantity(e, "cluster_steady", "cycles", cluster.steady,
                    "equation 8, at most one multiply-accumulate a cycle");
    tw_add_quantity(e, "cluster_epilogue", "cycles", cluster.epilogue, "equation 9");
  }
  say_limit(r, e);
}
