/* time.c - see time.h. */
#include "target/cdna/time/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/time/atomics.h"
#include "target/cdna/time/inspect.h"
#include "target/cdna/time/reuse.h"

enum { PLACES_FIRST = 2, PLACES = 8 };
static const double EQUAL = 0.02;        /* workgroups whose work differs by less count as equal */
static const double ROUNDED = 1e-4;      /* the same, as far as sums of floats can tell */
static const double ALIKE = 0.03;        /* if workgroups' times differ by more, more places are timed */
static const double LEAST_OF_MEAN = 0.4; /* minimum fraction of the mean work; less is not representative */
static const double MATERIAL = 0.02;     /* minimum fraction of all work for a kind to count */
static const double SAME = 1.02;         /* tolerance for work whose order depends on arrival */
static const double CLOSE = 0.08;        /* a clock this close to the assumed one needs no second timing */

typedef struct timing {
  const cdna_machine *machine;
  const cdna_rates *rates;
  const cdna_dispatch *dispatch;
  cdna_cu_setup setup;
  cdna_reuse reuse;
  cdna_occupancy occupancy;
  uint64_t groups, of_xcd; /* number of workgroups; maximum number on one XCD */
  bool by_order;           /* atomics: the work of a workgroup may depend on the order of arrival */
  int cus, together;
  bool has_matrix;
  /* timed places of the grid: workgroups of XCD 0 from this one on */
  int n_places;
  uint64_t place[PLACES];
  int xcd[PLACES];
  int at_once[PLACES];
  cdna_cu_result result[PLACES];
  tw_status status[PLACES];
  tw_error error[PLACES];
  cdna_spans *spans;
  cdna_cu_setup setups[PLACES];
  uint64_t list[PLACES][CDNA_TOGETHER_MAX];
  cdna_memory *memory;
  uint64_t seed;           /* seed of places; 0: not random */
  bool uneven;             /* workgroups are known to do different amounts of work */
  bool foreign;            /* the kernel is untrusted */
  bool xcds_differ;        /* by the sample of the check */
  const cdna_watch *watch; /* compares the timed work with the check; NULL: no comparison */
  double unit[CDNA_KINDS];
  double mhz;                                    /* clock of the last run of all places */
  cdna_work expected[PLACES][CDNA_TOGETHER_MAX]; /* for each timed workgroup, executed alone */
  double would[CDNA_KINDS];                      /* sum of their work by kind */
} timing;

static cdna_share share_at(const timing *t, double mhz) {
  const cdna_rates *r = t->rates;
  const cdna_cache_machine *c = &t->machine->caches;
  /* CUs that work at the same time share everything beyond L1 */
  const double active = fmin((double)t->groups, (double)(c->xcds * c->cus)), of_xcd = fmin((double)t->of_xcd, c->cus);
  const double ns = mhz * 1e-3, bytes = 1e9 / (mhz * 1e6); /* cycles per ns; bytes per cycle for 1 GB/s */
  return (cdna_share){.l2 = fmin(fmin(r->l1_bandwidth, r->l2_bandwidth / of_xcd), r->l2_gbs * bytes / active),
                      .llc = fmin(r->l1_bandwidth, r->llc_gbs * bytes / active),
                      .memory = fmin(r->l1_bandwidth, t->machine->memory_tbs * 1e3 * r->memory_use * bytes / active),
                      .l1_cycles = r->l1_ns * ns,
                      .l2_cycles = r->l2_ns * ns,
                      .llc_cycles = r->llc_ns * ns,
                      .memory_cycles = r->memory_ns * ns,
                      .arguments_cycles = r->arguments_ns * ns};
}

/* ---- places ---- */

static void list_groups(timing *t, int i) {
  const uint64_t xcds = (uint64_t)t->machine->caches.xcds;
  int *n = &t->setups[i].n_groups;
  *n = 0;
  for (int k = 0; k < t->at_once[i]; k++) {
    const uint64_t id = (t->place[i] + (uint64_t)k * (uint64_t)t->cus) * xcds + (uint64_t)t->xcd[i];
    if (id < t->groups) t->list[i][(*n)++] = id;
  }
}

static void run_place(void *context, size_t i) {
  timing *t = context;
  cdna_cu_setup *s = &t->setups[i];
  *s = t->setup;
  list_groups(t, (int)i);
  s->group = t->list[i];
  s->together = s->n_groups;
  s->spans = i == 0 ? t->spans : NULL;
  if (s->spans) s->spans->n = 0;
  t->status[i] = cdna_cu_run(s, &t->result[i], &t->error[i]);
}

/* A random workgroup in part i of n of the grid. */
static uint64_t group_by_chance(const timing *t, tw_random *r, int i, int n) {
  const uint64_t from = t->groups * (uint64_t)i / (uint64_t)n, to = t->groups * (uint64_t)(i + 1) / (uint64_t)n;
  return from < to ? from + tw_random_below(r, to - from) : UINT64_MAX;
}

/* Groups workgroups of similar work. A workgroup with twice the work does not take twice as long, because it starts
 * only once. So each relevant amount of work is timed: workgroups are drawn from parts of equal work, in the order
 * of their work, and the last one from the workgroups with the most work. */
enum { CLASSES = 64 };

typedef struct classes {
  double least, most, work[CLASSES]; /* work of all workgroups of each class */
  uint64_t n[CLASSES];
} classes;

static int class_of(const classes *c, double work) {
  const double part = c->most > c->least ? (work - c->least) / (c->most - c->least) : 1;
  return part >= 1 ? CLASSES - 1 : (int)(part * CLASSES);
}

/* Kinds of work have random weights for an untrusted kernel. A kernel that balances two kinds of work may have equal
 * sums by chance, which a small tolerance makes rare. */
static double equal_for(const timing *t) { return t->foreign ? ROUNDED : EQUAL; }

/* False: the work of single workgroups is unknown, or equal for all. */
static bool divide_by_work(const timing *t, classes *c) {
  const float *work = t->watch ? t->watch->work : NULL;
  *c = (classes){.least = INFINITY};
  for (uint64_t g = 0; work && g < t->groups; g++) {
    c->least = fmin(c->least, (double)work[g]);
    c->most = fmax(c->most, (double)work[g]);
  }
  if (c->most <= c->least * (1 + equal_for(t)) || c->most <= 0) return false;
  for (uint64_t g = 0; g < t->groups; g++) {
    const int k = class_of(c, (double)work[g]);
    c->work[k] += (double)work[g];
    c->n[k]++;
  }
  return true;
}

/* The class of place i of n: each class that has workgroups, if there are not too many. */
static int class_by_work(const classes *c, tw_random *r, int i, int n) {
  double all = 0;
  int used = 0, k = 0, of_use[CLASSES];
  for (; k < CLASSES; k++) {
    all += c->work[k];
    if (c->n[k]) of_use[used++] = k;
  }
  if (used <= n) return of_use[i < used ? i : used - 1];
  double left = i + 1 == n ? INFINITY : all * (i + tw_random_real(r)) / n;
  for (k = 0; k + 1 < CLASSES && (left -= c->work[k]) > 0;) k++;
  while (k > 0 && !c->n[k]) k--;
  return k;
}

static uint64_t group_by_work(const timing *t, const classes *c, tw_random *r, int i, int n) {
  const int k = class_by_work(c, r, i, n);
  uint64_t nth = c->n[k] ? tw_random_below(r, c->n[k]) : 0, g = 0;
  for (; g + 1 < t->groups; g++)
    if (class_of(c, (double)t->watch->work[g]) == k && nth-- == 0) break;
  return g;
}

/* Only some workgroups of an untrusted kernel were executed in the check. */
static bool is_sampled(const timing *t) { return t->foreign && t->watch && !t->watch->work; }

/* Chooses n workgroups at random. */
static void choose_by_chance(timing *t, int n, uint64_t seed) {
  const uint64_t cus = (uint64_t)t->cus, round = cus * (uint64_t)t->together, xcds = (uint64_t)t->machine->caches.xcds;
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)n);
  t->n_places = 0;
  classes by_work;
  t->uneven = divide_by_work(t, &by_work);
  for (int i = 0; i < n; i++) {
    uint64_t id = t->uneven ? group_by_work(t, &by_work, &r, i, n) : group_by_chance(t, &r, i, n);
    if (id == UINT64_MAX) continue;
    if (is_sampled(t) && t->of_xcd > id / xcds) id = id / xcds * xcds + (uint64_t)i % xcds; /* each XCD has a place */
    if (id >= t->groups) continue;
    const uint64_t local = id / xcds;
    const uint64_t place = local / round * round + local % round % cus;
    int at = t->n_places;
    bool met = false;
    for (int k = 0; k < t->n_places; k++) met |= t->place[k] == place && (!t->uneven || t->xcd[k] == (int)(id % xcds));
    if (met) continue;
    for (; at && t->place[at - 1] > place; at--) t->place[at] = t->place[at - 1], t->xcd[at] = t->xcd[at - 1];
    t->place[at] = place;
    t->xcd[at] = (int)(id % xcds);
    t->at_once[t->n_places++] = t->of_xcd < round ? (int)((t->of_xcd + cus - 1) / cus) : t->together;
  }
}

/* Chooses n places, including the first and the last. They are spread over the rounds of the grid, on different CUs. */
static void choose_places(timing *t, int n) {
  if (t->seed) {
    choose_by_chance(t, n, t->seed);
    return;
  }
  const uint64_t cus = (uint64_t)t->cus, round = cus * (uint64_t)t->together;
  const uint64_t rounds = t->of_xcd > round ? t->of_xcd / round : 1;
  const uint64_t used = t->of_xcd < cus ? t->of_xcd : cus; /* CUs that have work in the first round */
  const int at_once = t->of_xcd < round ? (int)((t->of_xcd + cus - 1) / cus) : t->together;
  t->n_places = 0;
  for (int i = 0; i < n; i++) {
    const uint64_t place =
        (uint64_t)i * (rounds - 1) / (uint64_t)(n - 1) * round + (uint64_t)i * (used - 1) / (uint64_t)(n - 1);
    if (t->n_places && place <= t->place[t->n_places - 1]) continue;
    t->place[t->n_places] = place;
    t->xcd[t->n_places] = 0;
    t->at_once[t->n_places++] = at_once;
  }
}

static bool are_alike(const timing *t) {
  double least = INFINITY, most = 0;
  for (int i = 0; i < t->n_places; i++) {
    least = fmin(least, (double)t->result[i].cycles);
    most = fmax(most, (double)t->result[i].cycles);
  }
  return most <= least * (1 + ALIKE);
}

/* Interpolates a number of the timed places for a workgroup between two of them. */
static double between(const timing *t, uint64_t local, const double of_place[PLACES]) {
  int i = 0;
  while (i + 1 < t->n_places && t->place[i + 1] <= local) i++;
  const double here = of_place[i];
  if (i + 1 >= t->n_places || local < t->place[0]) return here;
  const double span = (double)(t->place[i + 1] - t->place[i]);
  return here + (of_place[i + 1] - here) * (double)(local - t->place[i]) / span;
}

/* Work of one workgroup at the place, in cycles. */
static double work_at(const timing *t, int i) {
  double sum = 0;
  for (int k = 0; k < CDNA_KINDS; k++) sum += t->unit[k] * t->result[i].did[k];
  return t->setups[i].n_groups ? sum / t->setups[i].n_groups : 0;
}

/* The time of each workgroup: that of the timed places, in proportion to its work if that is known. If workgroups
 * differ, duration_by_work interpolates between amounts of work instead. */
typedef struct durations {
  double cycles[PLACES], work[PLACES];
} durations;

static durations durations_of(const timing *t) {
  durations d = {.work = {0}};
  for (int i = 0; i < t->n_places; i++) {
    d.cycles[i] = (double)t->result[i].cycles;
    d.work[i] = work_at(t, i);
  }
  return d;
}

/* Interpolates between the places with the next smaller and the next larger amount of work; beyond them in
 * proportion. */
static double duration_by_work(const timing *t, const durations *d, double work) {
  int below = -1, above = -1;
  for (int i = 0; i < t->n_places; i++) {
    if (d->work[i] <= work && (below < 0 || d->work[i] > d->work[below])) below = i;
    if (d->work[i] >= work && (above < 0 || d->work[i] < d->work[above])) above = i;
  }
  const int only = below < 0 ? above : below;
  if (below < 0 || above < 0) return d->work[only] > 0 ? d->cycles[only] * work / d->work[only] : d->cycles[only];
  const double span = d->work[above] - d->work[below];
  return d->cycles[below] + (span > 0 ? (d->cycles[above] - d->cycles[below]) * (work - d->work[below]) / span : 0);
}

/* Whether workgroups on different XCDs do different amounts of work, as far as the sample of the check shows: the mean of
 * one XCD differs from the mean of all by more than four standard errors. */
static bool xcds_differ(const timing *t) {
  double n = 0, work = 0;
  if (!is_sampled(t)) return false;
  for (int x = 0; x < t->machine->caches.xcds; x++) {
    n += t->watch->sampled[x].n;
    work += t->watch->sampled[x].work;
  }
  for (int x = 0; x < t->machine->caches.xcds; x++) {
    const struct cdna_sampled *s = &t->watch->sampled[x];
    if (s->n < 2) continue;
    const double mean = s->work / s->n, error = sqrt(fmax(0, s->squares / s->n - mean * mean) / (s->n - 1));
    if (fabs(mean - work / n) > ROUNDED * work / n + 4 * error) return true;
  }
  return false;
}

/* The mean of the places on the XCD. Without one, that of all places. */
static double duration_on_xcd(const timing *t, const durations *d, int xcd) {
  double sum = 0, all = 0;
  int n = 0;
  for (int i = 0; i < t->n_places; i++) {
    all += d->cycles[i];
    if (t->xcd[i] == xcd) sum += d->cycles[i], n++;
  }
  return n ? sum / n : all / t->n_places;
}

static double duration(const timing *t, const durations *d, uint64_t local, int xcd) {
  const uint64_t id = local * (uint64_t)t->machine->caches.xcds + (uint64_t)xcd;
  if (t->xcds_differ) return duration_on_xcd(t, d, xcd);
  if (t->uneven && id < t->groups) return duration_by_work(t, d, (double)t->watch->work[id]);
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
static bool schedule_xcd(const timing *t, const durations *d, int xcd, double *cycles, double *working) {
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
static bool schedule(timing *t, double *cycles, double *working) {
  t->xcds_differ = xcds_differ(t);
  const bool known = t->xcds_differ || (t->watch && t->watch->work);
  const durations d = durations_of(t);
  *cycles = *working = 0;
  for (int xcd = 0; xcd < (known ? t->machine->caches.xcds : 1); xcd++)
    if (!schedule_xcd(t, &d, xcd, cycles, working)) return false;
  return true;
}

/* ---- results ---- */

static void summarize(const timing *t, double cycles, double working, double mhz, cdna_times *out) {
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

static void name_bottleneck(const timing *t, cdna_times *out) {
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

static tw_status time_at(timing *t, double mhz, int jobs, tw_error *error) {
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

static double matrix_use(const timing *t) {
  double busy = 0, cycles = 0;
  for (int i = 0; i < t->n_places; i++) {
    busy += t->result[i].busy[CDNA_MATRIX];
    cycles += (double)t->result[i].cycles;
  }
  return cycles > 0 ? busy / cycles : 0;
}

static tw_status time_grid(timing *t, int jobs, cdna_times *out, tw_error *error) {
  const double peak = t->machine->clock_mhz;
  double mhz = t->has_matrix ? sqrt(t->rates->matrix_mhz * peak) : peak, cycles = 0, working = 0;
  choose_places(t, PLACES_FIRST);
  /* workgroups that do different work may take equal time by chance; a foreign kernel may arrange it */
  if ((t->foreign && t->uneven) || is_sampled(t)) choose_places(t, PLACES);
  for (int again = 0; again < 2; again++) {
    tw_status status = time_at(t, mhz, jobs, error);
    if (status == TW_OK && !again && t->n_places < PLACES && !are_alike(t)) {
      choose_places(t, PLACES);
      status = time_at(t, mhz, jobs, error);
    }
    if (status != TW_OK) return status;
    if (!schedule(t, &cycles, &working)) return tw_no_memory(error, "the grid");
    const double allowed = cdna_clock_mhz(t->rates, peak, matrix_use(t) * working);
    const bool same = fabs(allowed - mhz) < CLOSE * mhz;
    mhz = allowed;
    if (same) break;
  }
  summarize(t, cycles, working, mhz, out);
  name_bottleneck(t, out);
  return TW_OK;
}

/* ---- the timed work is the checked work ---- */

void cdna_work_units(const cdna_rates *r, uint64_t seed, double unit[CDNA_KINDS]) {
  const double issue = r->slot / 4.0; /* one of four SIMDs */
  unit[CDNA_DOES_SCALAR] = unit[CDNA_DOES_VECTOR] = issue;
  unit[CDNA_DOES_TRANSCENDENTAL] = r->transcendental / 4.0;
  unit[CDNA_DOES_MATRIX] = 1; /* 4 cycles of one of four */
  unit[CDNA_DOES_LDS] = 1.0 / r->lds_read;
  unit[CDNA_DOES_LOAD] = unit[CDNA_DOES_STORE] = 1.0 / r->l1_bandwidth;
  unit[CDNA_DOES_CONSTANT] = issue / 4;
  unit[CDNA_DOES_WAIT] = 0;
  tw_random random;
  tw_random_seed_stream(&random, seed, CDNA_KINDS);
  for (int k = 0; k < CDNA_KINDS && seed; k++) unit[k] *= exp2(2 * tw_random_real(&random) - 1);
}

/* What the timed workgroups write when they are executed alone. */
typedef struct looking {
  cdna_work *work;
  cdna_memory *memory;
  uint8_t *copy[CDNA_ALLOCATIONS_MAX];
  uint8_t *atomics[CDNA_ALLOCATIONS_MAX]; /* bytes whose value depends on the order: cdna_atomics_note */
  size_t end;                             /* of compared allocations */
  bool failed;
} looking;

static void record_access(void *context, cdna_wave *w, const cdna_op *op) {
  looking *q = context;
  cdna_access a;
  cdna_work_add(q->work, w, op);
  if (op->kind != CDNA_DOES_STORE || !cdna_access_of(w, op, &a) || !a.reads || !a.writes) return;
  for (uint64_t left = a.lanes[CDNA_IN_GLOBAL]; left; left &= left - 1) {
    const uint64_t address = a.address[0][__builtin_ctzll(left)];
    for (size_t i = 0; i < q->end; i++) {
      const cdna_allocation *x = &q->memory->allocation[i];
      if (address - x->address >= x->size || a.bytes > x->size - (address - x->address)) continue;
      if (!cdna_atomics_note(&q->atomics[i], x, address, a.bytes)) q->failed = true;
    }
  }
}

/* Executes the timed workgroups one after another, as in the check of results. */
static tw_status execute_alone(timing *t, cdna_dispatch *d, looking *q, tw_error *error) {
  const cdna_observer observer = {.context = q, .before = record_access};
  tw_status status = TW_OK;
  cdna_memory_restore(t->memory);
  memset(t->expected, 0, sizeof t->expected);
  for (int i = 0; i < t->n_places && status == TW_OK; i++) {
    list_groups(t, i);
    for (int k = 0; k < t->setups[i].n_groups && status == TW_OK; k++) {
      q->work = &t->expected[i][k];
      status = cdna_group_run(d, t->list[i][k], &observer, error);
    }
  }
  if (status == TW_OK && q->failed) status = tw_no_memory(error, "the addresses of atomics");
  return status;
}

/* The workgroup does the work that it did when the grid was checked: else it can tell the two launches apart. */
static bool did_so_before(const timing *t, int place, int nth) {
  const float *before = t->watch->work;
  double now = 0;
  for (int k = 0; k < CDNA_KINDS; k++) now += t->unit[k] * (double)t->expected[place][nth].did[k];
  return !before || fabs(now - before[t->list[place][nth]]) <= ROUNDED * now;
}

/* Each workgroup does exactly the same work; if atomics distribute the work, all workgroups together do the same
 * amount. */
static bool does_the_same(const timing *t) {
  double did[CDNA_KINDS] = {0}, would[CDNA_KINDS] = {0}, all = 0;
  for (int i = 0; i < t->n_places; i++) {
    for (int k = 0; k < CDNA_KINDS; k++) did[k] += t->result[i].did[k];
    for (int g = 0; g < t->setups[i].n_groups; g++) {
      const cdna_work *x = &t->expected[i][g], *y = &t->result[i].work[g];
      if (!t->by_order && (x->instructions != y->instructions || x->sum != y->sum || !did_so_before(t, i, g)))
        return false;
      for (int k = 0; k < CDNA_KINDS; k++) would[k] += (double)x->did[k];
    }
  }
  for (int k = 0; k < CDNA_KINDS; k++) all += t->unit[k] * would[k];
  for (int k = 0; k < CDNA_KINDS; k++)
    if (t->unit[k] * would[k] > MATERIAL * all && would[k] > SAME * did[k]) return false;
  return true;
}

/* The factor by which the work of an average workgroup exceeds that of the timed ones; 1: equal or less. If the work
 * of each is known, `schedule` uses it. */
static double missing_work(const timing *t) {
  const cdna_watch *w = t->watch;
  double timed = 0, all = 0, n = 0;
  for (int i = 0; i < t->n_places; i++) {
    timed += work_at(t, i) * t->setups[i].n_groups;
    n += t->setups[i].n_groups;
  }
  for (int k = 0; k < CDNA_KINDS; k++) all += t->unit[k] * w->did[k];
  if (all <= 0 || n == 0) return 1;
  return timed > 0 ? fmax(1, all / w->groups / (timed / n)) : INFINITY;
}

/* The same for the kind of work of which the timed workgroups do least: where a foreign kernel was only sampled, the
 * timed ones may do as much work in all, but none of a kind that takes long. */
static double missing_kind(const timing *t) {
  static const double OF_ALL = 0.05; /* less of a kind may be the work of a few workgroups */
  const cdna_watch *w = t->watch;
  double all = 0, n = 0, most = 1;
  for (int i = 0; i < t->n_places; i++) n += t->setups[i].n_groups;
  for (int k = 0; k < CDNA_KINDS; k++) all += t->unit[k] * w->did[k];
  for (int k = 0; k < CDNA_KINDS && t->foreign && !w->work; k++) {
    double did = 0;
    for (int i = 0; i < t->n_places; i++) did += t->result[i].did[k];
    if (t->unit[k] * w->did[k] <= OF_ALL * all) continue;
    most = fmax(most, did > 0 ? w->did[k] / w->groups / (did / n) : INFINITY);
  }
  return most;
}

static tw_status other_work(tw_error *error) {
  return tw_fail(
      error, TW_FAILED,
      "workgroups do different work in the timed run and in the check; the kernel must not depend on the clock, "
      "on the set of workgroups, or on other waves without a barrier");
}

static bool wrote_the_same(const timing *t, const looking *q, const cdna_time_options *options) {
  bool same = true;
  for (size_t i = 0; i < q->end && same; i++) {
    const cdna_allocation *a = &t->memory->allocation[i];
    const tw_operand *o = i < options->results ? NULL : &options->operand[i - options->results];
    if (o || !t->by_order)
      same = cdna_memory_is_written(t->memory, i, q->copy[i], q->atomics[i]);
    else
      same = cdna_memory_is_permuted(t->memory, i, q->copy[i], q->atomics[i]);
    if (same && q->atomics[i] && q->copy[i]) same = cdna_atomics_agree(q->atomics[i], a, q->copy[i], o);
  }
  return same;
}

/* A second run of the timed workgroups, with matrix instructions and recorded work. Their writes to memory are compared
 * with the writes of the same workgroups executed alone. *differs: their time differs from the first run. */
static tw_status time_looked_at(timing *t, cdna_dispatch *d, const cdna_time_options *options, int jobs, bool *differs,
                                tw_error *error) {
  looking q = {.memory = t->memory, .end = options->end};
  int64_t before[PLACES];
  tw_status status = execute_alone(t, d, &q, error);
  for (size_t i = 0; i < q.end; i++) q.copy[i] = cdna_memory_copy_written(t->memory, i);
  for (int i = 0; i < t->n_places; i++) before[i] = t->result[i].cycles;
  t->setup.execute_matrix = t->setup.look = true;
  if (status == TW_OK) status = time_at(t, t->mhz, jobs, error);
  for (int i = 0; i < t->n_places && status == TW_OK; i++) *differs |= t->result[i].cycles != before[i];
  const bool same = status == TW_OK && does_the_same(t) && wrote_the_same(t, &q, options);
  for (size_t i = 0; i < q.end; i++) free(q.copy[i]), free(q.atomics[i]);
  return status == TW_OK && !same ? other_work(error) : status;
}

/* `same`: the workgroups accessed the same lines as in the check. *part: the number of different lines, as a
 * fraction of the number in the check. */
static tw_status compare_witnesses(timing *t, cdna_dispatch *d, const cdna_witness *w, bool *same, double *part,
                                   tw_error *error) {
  cdna_witness *checked = tw_new(1, sizeof *checked);
  tw_status status = checked ? TW_OK : tw_no_memory(error, "the reads of workgroups");
  double asked = 0, wanted = 0;
  *same = true;
  for (int i = 0; i < CDNA_WITNESSES && status == TW_OK; i++) {
    cdna_memory_restore(t->memory);
    status = cdna_witness_check(&w[i], d, t->setup.effects, __builtin_ctz((unsigned)t->rates->l1_line), checked, error);
    if (status != TW_OK) break;
    *same = *same && cdna_witness_is_same(&w[i], checked);
    asked += cdna_witness_lines(&w[i]);
    wanted += cdna_witness_lines(checked);
  }
  *part = wanted > asked ? asked / wanted : 1;
  free(checked);
  return status;
}

/* If atomics distribute the work, a workgroup may request different lines in another order. Fewer different lines
 * give fewer misses, so missing lines count as misses. */
static void charge_missing_lines(cdna_reuse *r, double part) {
  for (int a = 0; a < CDNA_ALLOCATIONS_MAX; a++) {
    r->l2[a] = 1 - fmin(1, (1 - r->l2[a]) / part);
    r->llc[a] = 1 - fmin(1, (1 - r->llc[a]) / part);
  }
}

/* Finds cache hit rates. If accesses depend on products, matrix instructions are executed. */
static tw_status find_reuse(timing *t, cdna_dispatch *d, int jobs, tw_error *error) {
  cdna_reuse_watch watch = {.seed = t->seed,
                            .witness = t->watch ? tw_new(CDNA_WITNESSES, sizeof *watch.witness) : NULL};
  if (t->watch && !watch.witness) return tw_no_memory(error, "the reads of workgroups");
  tw_status status = TW_OK;
  bool same = false;
  double part = 1;
  for (int again = 0; again < 2 && !same && status == TW_OK; again++) {
    watch.execute_matrix = again;
    cdna_memory_restore(t->memory);
    status = cdna_reuse_find(t->machine, t->rates, d, t->setup.effects, t->memory, t->together, jobs,
                             t->watch ? &watch : NULL, &t->reuse, error);
    same = !t->watch;
    if (status == TW_OK && t->watch) status = compare_witnesses(t, d, watch.witness, &same, &part, error);
  }
  free(watch.witness);
  if (status == TW_OK && !same && t->by_order && part > 0) {
    charge_missing_lines(&t->reuse, part);
    same = true;
  }
  return status == TW_OK && !same ? other_work(error) : status;
}

/* Inspects the first workgroup of each place. */
static tw_status inspect_timed(const timing *t, cdna_dispatch *d, tw_error *error) {
  uint64_t group[PLACES];
  int n = 0;
  cdna_memory_restore(t->memory);
  for (int i = 0; i < t->n_places; i++)
    if (t->setups[i].n_groups) group[n++] = t->list[i][0];
  return cdna_inspect_groups(d, group, n, t->machine, error);
}

static tw_status time_as_checked(timing *t, cdna_dispatch *d, const cdna_time_options *options, int jobs,
                                 cdna_times *out, tw_error *error) {
  bool differs = false;
  tw_status status = time_grid(t, jobs, out, error);
  if (status != TW_OK || !t->watch) return status;
  status = time_looked_at(t, d, options, jobs, &differs, error);
  /* its time depends on products, so it is timed again with all of them */
  if (status == TW_OK && differs) status = time_grid(t, jobs, out, error);
  if (status == TW_OK && differs) status = time_looked_at(t, d, options, jobs, &differs, error);
  if (status == TW_OK && options->inspect) status = inspect_timed(t, d, error);
  if (status != TW_OK) return status;
  const double missing = missing_work(t);
  if ((t->by_order || !t->watch->work) && fmax(missing, missing_kind(t)) * LEAST_OF_MEAN > 1) return other_work(error);
  /* `schedule` has used the work of each workgroup; in a grid that was executed only in part, some differ by chance */
  if (t->watch->work || !t->watch->whole || missing == 1) return TW_OK;
  out->charged = missing - 1;
  out->cycles *= missing;
  out->seconds += (missing - 1) * out->cycles / missing / (out->mhz * 1e6);
  return TW_OK;
}

static cdna_resources resources_of(const cdna_kernel *k, const cdna_launch *l, uint32_t lds) {
  const int all = cdna_kernel_vgprs(k), first = cdna_kernel_accum(k);
  return (cdna_resources){.vgprs = all < first ? all : first,
                          .agprs = cdna_kernel_agprs(k),
                          .lds_bytes = (int)lds,
                          .work_items = (int)(l->block[0] * l->block[1] * l->block[2])};
}

static void place_grid(timing *t, const cdna_machine *m, const cdna_dispatch *d) {
  t->machine = m;
  t->rates = &m->rates;
  t->dispatch = d;
  t->cus = t->machine->caches.cus;
  t->groups = cdna_dispatch_groups(d);
  t->of_xcd = (t->groups + (uint64_t)t->machine->caches.xcds - 1) / (uint64_t)t->machine->caches.xcds;
}

static int together_of(const timing *t) {
  return t->occupancy.workgroups < CDNA_TOGETHER_MAX ? t->occupancy.workgroups : CDNA_TOGETHER_MAX;
}

tw_status cdna_time(const cdna_object *o, const cdna_kernel *k, const cdna_launch *l, cdna_memory *memory,
                    const cdna_time_options *options, cdna_times *out, tw_error *error) {
  timing *t = tw_new(1, sizeof *t);
  cdna_dispatch *d = NULL;
  int jobs = options->jobs;
  if (!t) return tw_no_memory(error, NULL);
  tw_status status = cdna_dispatch_open(o, k, l, memory, &d, error);
  cdna_effects *effects = status == TW_OK ? cdna_program_effects(cdna_dispatch_program(d)) : NULL;
  if (status == TW_OK && !effects) status = tw_no_memory(error, NULL);
  if (status == TW_OK && !cdna_memory_hold(memory)) status = tw_no_memory(error, NULL);
  if (status == TW_OK) {
    place_grid(t, options->machine ? options->machine : cdna_machine_of_arch(o->arch), d);
    t->memory = memory;
    t->watch = options->watch && options->watch->groups > 0 ? options->watch : NULL;
    t->seed = options->seed;
    t->foreign = options->weights;
    t->by_order = cdna_dispatch_program(d)->has_atomics;
    cdna_work_units(t->rates, options->weights, t->unit);
    t->spans = options->spans;
    for (size_t i = 0; i < cdna_dispatch_program(d)->n; i++) t->has_matrix |= effects[i].mfma != NULL;
    /* the last arrival at a counter in memory may do more work; with one job this is always the same workgroup */
    if (cdna_dispatch_program(d)->has_atomics) jobs = 1;
    const cdna_resources resources = resources_of(k, l, cdna_dispatch_lds(d));
    status = cdna_occupancy_of(t->machine, &resources, &t->occupancy, error);
  }
  if (status == TW_OK) {
    t->together = together_of(t);
    t->setup = (cdna_cu_setup){.arch = o->arch,
                               .rates = t->rates,
                               .machine = t->machine,
                               .effects = effects,
                               .dispatch = d,
                               .memory = memory,
                               .arguments = cdna_dispatch_arguments(d),
                               .reuse = &t->reuse,
                               .modelled_clock = !options->judged,
                               .limit = l->limit};
    status = find_reuse(t, d, jobs, error);
  }
  if (status == TW_OK) {
    status = time_as_checked(t, d, options, jobs, out, error);
  }
  cdna_memory_let_go(memory);
  free(effects);
  if (d) cdna_dispatch_close(d);
  free(t);
  return status;
}
