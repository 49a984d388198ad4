/* grid.c - runs the timed places, and derives the time of the whole grid: see timing.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/cdna/time/timing.h"

static const double ALIKE = 0.03;    /* if workgroups' times differ by more, more places are timed */
static const double CLOSE = 0.02;    /* a clock this close to the assumed one needs no further timing */
enum { PASSES = 4, LONG = 1000000 }; /* instructions of a workgroup whose timing takes about a second */

static cdna_share share_at(const cdna_timing *t, double mhz) {
  const cdna_rates *r = t->rates;
  const cdna_cache_machine *c = &t->machine->caches;
  /* CUs that work at the same time share everything beyond L1 */
  const double active = fmin((double)t->groups, (double)(c->xcds * c->cus));
  const double ns = mhz * 1e-3, bytes = 1e9 / (mhz * 1e6); /* cycles per ns; bytes per cycle for 1 GB/s */
  return (cdna_share){.l2 = fmin(r->l1_bandwidth, r->l2_gbs * bytes / active),
                      .llc = fmin(r->l1_bandwidth, r->llc_gbs * bytes / active),
                      .memory = fmin(r->l1_bandwidth, t->machine->memory_tbs * 1e3 * r->memory_use * bytes / active),
                      .l1_cycles = r->l1_ns * ns,
                      .l2_cycles = r->l2_ns * ns,
                      .llc_cycles = r->llc_ns * ns,
                      .memory_cycles = r->memory_ns * ns,
                      .arguments_cycles = r->arguments_ns * ns,
                      .code_cycles = r->code_ns * ns};
}

static void run_place(void *context, size_t i) {
  cdna_timing *t = context;
  cdna_cu_setup *s = &t->setups[i];
  *s = t->setup;
  cdna_timing_list_groups(t, (int)i);
  s->group = t->list[i];
  s->together = s->n_groups;
  s->spans = i == 0 ? t->spans : NULL;
  if (s->spans) s->spans->n = 0;
  t->status[i] = cdna_cu_run(s, &t->result[i], &t->error[i]);
}

static bool are_alike(const cdna_timing *t) {
  double least = INFINITY, most = 0;
  for (int i = 0; i < t->n_places; i++) {
    least = fmin(least, (double)t->result[i].cycles);
    most = fmax(most, (double)t->result[i].cycles);
  }
  return most <= least * (1 + ALIKE);
}

/* Interpolates a number of the timed places for a workgroup between two of them. */
static double between(const cdna_timing *t, uint64_t local, const double of_place[CDNA_PLACES]) {
  int i = 0;
  while (i + 1 < t->n_places && t->place[i + 1] <= local) i++;
  const double here = of_place[i];
  if (i + 1 >= t->n_places || local < t->place[0]) return here;
  const double span = (double)(t->place[i + 1] - t->place[i]);
  return here + (of_place[i + 1] - here) * (double)(local - t->place[i]) / span;
}

/* Work of one workgroup at the place, in cycles. */
double cdna_timing_work_at(const cdna_timing *t, int i) {
  double sum = 0;
  for (int k = 0; k < CDNA_KINDS; k++) sum += t->unit[k] * t->result[i].did[k];
  return t->setups[i].n_groups ? sum / t->setups[i].n_groups : 0;
}

/* The time of each workgroup: that of the timed places, in proportion to its work if that is known. If workgroups
 * differ, duration_by_work interpolates between amounts of work instead. */
typedef struct durations {
  double cycles[CDNA_PLACES], work[CDNA_PLACES];
} durations;

static durations durations_of(const cdna_timing *t) {
  durations d = {.work = {0}};
  for (int i = 0; i < t->n_places; i++) {
    d.cycles[i] = (double)t->result[i].cycles;
    d.work[i] = cdna_timing_work_at(t, i);
  }
  return d;
}

/* Interpolates between the places with the next smaller and the next larger amount of work; beyond them in
 * proportion. */
static double duration_by_work(const cdna_timing *t, const durations *d, double work) {
  int below = -1, above = -1;
  for (int i = 0; i < t->n_places; i++) {
    if (d->work[i] <= work && (below < 0 || d->work[i] > d->work[below])) below = i;
    if (d->work[i] >= work && (above < 0 || d->work[i] < d->work[above])) above = i;
  }
  const int only = below < 0 ? above : below;
  if (only < 0) return 0; /* without places */
  if (below < 0 || above < 0) return d->work[only] > 0 ? d->cycles[only] * work / d->work[only] : d->cycles[only];
  const double span = d->work[above] - d->work[below];
  return d->cycles[below] + (span > 0 ? (d->cycles[above] - d->cycles[below]) * (work - d->work[below]) / span : 0);
}

/* Whether workgroups on different XCDs do different amounts of work, as far as the sample of the check shows: the mean of
 * one XCD differs from the mean of all by more than four standard errors. */
static bool xcds_differ(const cdna_timing *t) {
  double n = 0, work = 0;
  if (!cdna_timing_is_sampled(t)) return false;
  for (int x = 0; x < t->machine->caches.xcds; x++) {
    n += t->watch->sampled[x].n;
    work += t->watch->sampled[x].work;
  }
  for (int x = 0; x < t->machine->caches.xcds; x++) {
    const struct cdna_sampled *s = &t->watch->sampled[x];
    if (s->n < 2) continue;
    const double mean = s->work / s->n, error = sqrt(fmax(0, s->squares / s->n - mean * mean) / (s->n - 1));
    if (fabs(mean - work / n) > CDNA_WORK_ROUNDED * work / n + 4 * error) return true;
  }
  return false;
}

/* The mean of the places on the XCD. Without one, that of all places. */
static double duration_on_xcd(const cdna_timing *t, const durations *d, int xcd) {
  double sum = 0, all = 0;
  int n = 0;
  for (int i = 0; i < t->n_places; i++) {
    all += d->cycles[i];
    if (t->xcd[i] == xcd) sum += d->cycles[i], n++;
  }
  return n ? sum / n : all / t->n_places;
}

static double duration(const cdna_timing *t, const durations *d, uint64_t local, int xcd) {
  const uint64_t id = local * (uint64_t)t->machine->caches.xcds + (uint64_t)xcd;
  if (t->xcds_differ) return duration_on_xcd(t, d, xcd);
  if (t->uneven && t->watch && t->watch->work && id < t->groups)
    return duration_by_work(t, d, (double)t->watch->work[id]);
  const double cycles = between(t, local, d->cycles);
  if (!t->watch || !t->watch->work || id >= t->groups) return cycles;
  const double timed = between(t, local, d->work);
  return timed > 0 ? cycles * (double)t->watch->work[id] / timed : cycles;
}

/* ---- the grid ---- */

static void sink(double *heap, int n, int i) {
  for (int child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && heap[child + 1] < heap[child]) child++;
    if (heap[i] <= heap[child]) break;
    const double kept = heap[i];
    heap[i] = heap[child];
    heap[child] = kept;
  }
}

/* Cycles from the first start to the last end on an XCD, whose CUs take its workgroups in order; also the CU time in
 * which workgroups ran. */
static bool schedule_xcd(const cdna_timing *t, const durations *d, int xcd, double *cycles, double *working) {
  const int n = t->cus * t->together;
  const uint64_t most = 1 << 22;
  double *heap = tw_new((size_t)n, sizeof *heap), sum = 0, end = 0;
  if (!heap) return false;
  const uint64_t all = t->of_xcd < most ? t->of_xcd : most;
  const double start = t->rates->wave_start;
  for (uint64_t i = 0; i < all; i++) {
    const double takes = duration(t, d, (uint64_t)((double)i * (double)t->of_xcd / (double)all), xcd);
    heap[0] += takes + (i < (uint64_t)n ? 0 : start);
    sum += takes;
    if (heap[0] > end) end = heap[0];
    sink(heap, n, 0);
  }
  free(heap);
  const double scale = (double)t->of_xcd / (double)all;
  const int slots = t->of_xcd < (uint64_t)n ? t->at_once[0] * t->cus : n;
  if (end * scale > *cycles) {
    *cycles = end * scale;
    *working = end > 0 ? sum / (end * slots) : 0;
  }
  return true;
}

/* The XCD that ends last. All XCDs are alike if nothing is known about single workgroups, and the sample of the check
 * shows no difference. */
static bool schedule(cdna_timing *t, double *cycles, double *working) {
  t->xcds_differ = xcds_differ(t);
  const bool known = t->xcds_differ || (t->watch && t->watch->work);
  const durations d = durations_of(t);
  *cycles = *working = 0;
  for (int xcd = 0; xcd < (known ? t->machine->caches.xcds : 1); xcd++)
    if (!schedule_xcd(t, &d, xcd, cycles, working)) return false;
  return true;
}

/* ---- results ---- */

static void summarize(const cdna_timing *t, double cycles, double working, double mhz, cdna_times *out) {
  cdna_cu_result sum = {0};
  double time = 0;
  *out = (cdna_times){.mhz = mhz,
                      .cycles = cycles,
                      .seconds = cycles / (mhz * 1e6) + t->rates->launch_us * 1e-6,
                      .working = working,
                      .together = t->at_once[0],
                      .sampled = t->n_places,
                      .occupancy_limit = t->occupancy.limit};
  for (int i = 0; i < t->n_places; i++) {
    const cdna_cu_result *r = &t->result[i];
    time += (double)r->cycles;
    sum.wave_cycles += r->wave_cycles;
    for (int s = 0; s < CDNA_WAITS; s++) sum.stall[s] += r->stall[s];
    for (int u = 0; u < CDNA_UNITS; u++) {
      sum.busy[u] += r->busy[u];
      sum.bytes[u] += r->bytes[u] / t->setups[i].n_groups / t->n_places;
    }
    sum.matrix_flops += r->matrix_flops / t->setups[i].n_groups / t->n_places;
    sum.instructions += r->instructions / t->setups[i].n_groups / t->n_places;
    sum.turns += r->turns;
    sum.phases += r->phases;
  }
  for (int u = 0; u < CDNA_UNITS; u++) {
    out->use[u] = time > 0 ? sum.busy[u] / time : 0;
    out->bytes[u] = sum.bytes[u] * (double)t->groups;
  }
  for (int s = 0; s < CDNA_WAITS; s++) out->stall[s] = sum.wave_cycles > 0 ? sum.stall[s] / sum.wave_cycles : 0;
  out->matrix_flops = sum.matrix_flops * (double)t->groups;
  out->instructions = sum.instructions * (double)t->groups;
  out->waves = (double)t->groups * cdna_dispatch_waves(t->dispatch);
  out->conflicts = sum.phases > 0 ? sum.turns / sum.phases - 1 : 0;
  double asked = 0, missed = 0, gone = 0;
  for (int a = 0; a < CDNA_ALLOCATIONS_MAX; a++) {
    asked += t->reuse.asked[a];
    missed += t->reuse.asked[a] * (1 - t->reuse.l2[a]);
    gone += t->reuse.asked[a] * (1 - t->reuse.l2[a]) * (1 - t->reuse.llc[a]);
  }
  out->l2_hits = asked > 0 ? 1 - missed / asked : 0;
  out->llc_hits = missed > 0 ? 1 - gone / missed : 0;
}

static void name_bottleneck(const cdna_timing *t, cdna_times *out) {
  static const char *const advice[] = {[CDNA_MATRIX] = "what is left is fewer or larger matrix instructions",
                                       [CDNA_VECTOR] = "fewer or packed vector instructions help",
                                       [CDNA_SCALAR_UNIT] = "fewer scalar instructions help",
                                       [CDNA_LDS] = "wider LDS accesses, a swizzle, or reuse in registers help",
                                       [CDNA_L1] = "wider loads and larger tiles help",
                                       [CDNA_L2] = "larger tiles help",
                                       [CDNA_LLC] = "larger tiles, or another order of the grid, help",
                                       [CDNA_MEMORY] = "less traffic, or another order of the grid, helps"};
  int unit = 0, stall = 0;
  for (int u = 1; u < CDNA_UNITS; u++)
    if (out->use[u] > out->use[unit]) unit = u;
  for (int s = 1; s < CDNA_WAITS; s++)
    if (out->stall[s] > out->stall[stall]) stall = s;
  const int n = (int)sizeof out->bottleneck;
  if (out->working < 0.7)
    snprintf(out->bottleneck, (size_t)n,
             "compute units without work: they work %.0f%% of the time, the grid has %llu workgroups",
             100 * out->working, (unsigned long long)t->groups);
  else if (out->use[unit] > 0.75)
    snprintf(out->bottleneck, (size_t)n, "%s: busy %.0f%% of the time; %s", cdna_unit_name((cdna_unit)unit),
             100 * out->use[unit], advice[unit]);
  else
    snprintf(out->bottleneck, (size_t)n, "waiting for %s: %.0f%% of waves' time; no unit is busy more than %.0f%% (%s)",
             cdna_stall_name((cdna_stall)stall), 100 * out->stall[stall], 100 * out->use[unit],
             cdna_unit_name((cdna_unit)unit));
}

/* ---- the whole grid ---- */

tw_status cdna_timing_run(cdna_timing *t, double mhz, int jobs, tw_error *error) {
  t->mhz = mhz;
  t->setup.share = share_at(t, mhz);
  cdna_memory_restore(t->memory); /* every run finds the memory as the kernel found it in the check */
  tw_parallel_for(jobs, (size_t)t->n_places, run_place, t);
  for (int i = 0; i < t->n_places; i++)
    if (t->status[i] != TW_OK) {
      if (error) *error = t->error[i];
      return t->status[i];
    }
  return TW_OK;
}

/* Power of matrix and vector units while CUs work; 1: matrix units are busy all the time. */
static double load(const cdna_timing *t) {
  double busy = 0, cycles = 0;
  for (int i = 0; i < t->n_places; i++) {
    busy += t->result[i].busy[CDNA_MATRIX] + t->rates->vector_power * t->result[i].vector_alone;
    cycles += (double)t->result[i].cycles;
  }
  return cycles > 0 ? busy / cycles : 0;
}

tw_status cdna_timing_grid(cdna_timing *t, int jobs, cdna_times *out, tw_error *error) {
  const double peak = t->machine->clock_mhz;
  double mhz = t->has_matrix ? sqrt(t->rates->matrix_mhz * peak) : peak, cycles = 0, working = 0;
  cdna_timing_choose_places(t, CDNA_PLACES_FIRST);
  const bool is_long = t->watch && t->watch->most * (uint64_t)cdna_dispatch_waves(t->dispatch) > LONG;
  /* workgroups that do different work may take equal time by chance; a foreign kernel may arrange it */
  if ((t->foreign && t->uneven) || (cdna_timing_is_sampled(t) && !is_long)) cdna_timing_choose_places(t, CDNA_PLACES);
  for (int again = 0; again < PASSES; again++) {
    tw_status status = cdna_timing_run(t, mhz, jobs, error);
    if (status == TW_OK && !again && t->n_places < CDNA_PLACES && !are_alike(t)) {
      cdna_timing_choose_places(t, CDNA_PLACES);
      status = cdna_timing_run(t, mhz, jobs, error);
    }
    if (status != TW_OK) return status;
    if (!schedule(t, &cycles, &working)) return tw_no_memory(error, "the grid");
    const double allowed = cdna_clock_mhz(t->rates, peak, load(t) * working);
    const bool same = fabs(allowed - mhz) < CLOSE * mhz;
    mhz = allowed;
    if (same) break;
  }
  summarize(t, cycles, working, mhz, out);
  name_bottleneck(t, out);
  return TW_OK;
}
