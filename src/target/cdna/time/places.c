/* places.c - chooses the workgroups of a grid that are timed: see timing.h. */
#include <math.h>

#include "base/random.h"
#include "target/cdna/time/timing.h"

static const double EQUAL = 0.02; /* workgroups whose work differs by less count as equal */

void cdna_timing_list_groups(cdna_timing *t, int i) {
  const uint64_t xcds = (uint64_t)t->machine->caches.xcds;
  int *n = &t->setups[i].n_groups;
  *n = 0;
  for (int k = 0; k < t->at_once[i]; k++) {
    const uint64_t id = (t->place[i] + (uint64_t)k * (uint64_t)t->cus) * xcds + (uint64_t)t->xcd[i];
    if (id < t->groups) t->list[i][(*n)++] = id;
  }
}

/* A random workgroup in part i of n of the grid. */
static uint64_t group_by_chance(const cdna_timing *t, tw_random *r, int i, int n) {
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
static double equal_for(const cdna_timing *t) { return t->foreign ? CDNA_WORK_ROUNDED : EQUAL; }

/* False: the work of single workgroups is unknown, or equal for all. */
static bool divide_by_work(const cdna_timing *t, classes *c) {
  const float *work = t->watch ? t->watch->work : NULL;
  *c = (classes){.least = INFINITY};
  for (uint64_t g = 0; work && g < t->groups; g++) {
    c->least = fmin(c->least, (double)work[g]);
    c->most = fmax(c->most, (double)work[g]);
  }
  if (!work || c->most <= c->least * (1 + equal_for(t)) || c->most <= 0) return false;
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

static uint64_t group_by_work(const cdna_timing *t, const classes *c, tw_random *r, int i, int n) {
  const int k = class_by_work(c, r, i, n);
  uint64_t nth = c->n[k] ? tw_random_below(r, c->n[k]) : 0, g = 0;
  for (; g + 1 < t->groups; g++)
    if (class_of(c, (double)t->watch->work[g]) == k && nth-- == 0) break;
  return g;
}

/* Only some workgroups of an untrusted kernel were executed in the check. */
bool cdna_timing_is_sampled(const cdna_timing *t) { return t->foreign && t->watch && !t->watch->work; }

/* Chooses n workgroups at random. */
static void choose_by_chance(cdna_timing *t, int n, uint64_t seed) {
  const uint64_t cus = (uint64_t)t->cus, round = cus * (uint64_t)t->together, xcds = (uint64_t)t->machine->caches.xcds;
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)n);
  t->n_places = 0;
  classes by_work;
  t->uneven = divide_by_work(t, &by_work);
  for (int i = 0; i < n; i++) {
    uint64_t id = t->uneven ? group_by_work(t, &by_work, &r, i, n) : group_by_chance(t, &r, i, n);
    if (id == UINT64_MAX) continue;
    if (cdna_timing_is_sampled(t) && t->of_xcd > id / xcds)
      id = id / xcds * xcds + (uint64_t)i % xcds; /* each XCD has a place */
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
void cdna_timing_choose_places(cdna_timing *t, int n) {
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
