/* pipeline.c - equations 4, 5 and 8 to 10 of the ATB paper: prologue, steady state and epilogue of micro-kernels. */
#include "target/xdna2/model/pipeline.h"

#include <math.h>

double tw_efficiency(double achieved, double peak) { return achieved / peak; }

/* For each kind: the loads that are at least as slow. The kinds are few, so they are not sorted. */
double tw_prologue(const tw_loads kinds[], size_t n, int slots) {
  double latest = 0;
  for (size_t i = 0; i < n; i++) {
    int before = 0;
    for (size_t j = 0; j < n; j++)
      if (j <= i ? kinds[j].latency >= kinds[i].latency : kinds[j].latency > kinds[i].latency) before += kinds[j].count;
    latest = fmax(latest, kinds[i].latency + ceil((double)before / slots) - 1);
  }
  return latest;
}

double tw_ii_issued(int distance, int chains, double loads, int slots) {
  return fmax(fmax(1, (double)distance / chains), loads / slots);
}

double tw_steady(double ii, double vmacs, int chains) { return ii * (vmacs - chains); }

double tw_epilogue(int vmac_to_store, int store_latency, int stores, int chains) {
  return (vmac_to_store + store_latency + stores - 1) + (chains - 1);
}

double tw_clusters_in_turn(double prologue, double steady, double epilogue, double clusters) {
  return (prologue + steady + epilogue) * clusters;
}
