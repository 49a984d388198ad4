/* threads.c - see threads.h. */
#define _GNU_SOURCE
#include "target/x86/threads.h"

#include <pthread.h>

#include "base/clock.h"

/* Helpers of the team are late while other threads have their cores. If these are OpenMP's idle threads, which spin for
 * milliseconds, a region of OpenMP has them at once. If not, OpenMP's threads must share cores too, even with one
 * another, and a region waits for each of them: two on one core take a time slice, 4 ms, at each call. So each gives
 * way to the other. The team does so only after a time: it is never slower than its caller alone, and to wake 15
 * helpers takes as long as 200 small products. After each late region it does so after twice the time. OpenMP gives way
 * also after many regions: the other threads may have ended, and the team starts faster. A trial ends after LATE_CALLS
 * late calls. If each of these takes 16 times as long as a region, trials take 5% of the time. */
enum { LATE_CALLS = 200, LATE_REGIONS = 2, DOUBLINGS_MOST = 16 };
static const double LATE_SECONDS = 0.1, REGION_SECONDS = 1e-3 /* starts OpenMP's threads */;

void x86_note_team(x86_lateness *l, bool in_time, double now) {
  if (in_time) {
    atomic_store(&l->calls, 0);
    atomic_store(&l->trial, false);
    return;
  }
  if (atomic_fetch_add(&l->calls, 1) == 0) atomic_store(&l->since, now);
  const double patience = atomic_load(&l->trial) ? 0 : LATE_SECONDS * (1 << atomic_load(&l->doublings));
  if (atomic_load(&l->calls) < LATE_CALLS || now - atomic_load(&l->since) < patience) return;
  atomic_store(&l->calls, 0);
  atomic_store(&l->regions, 0);
  atomic_store(&l->openmp, true);
}

/* A core at half speed makes a region twice as long as the caller's work. */
void x86_note_openmp(x86_lateness *l, double own, double all) {
  const bool late = all > 2 * own + REGION_SECONDS;
  const int n = atomic_load(&l->doublings);
  if (late ? n < DOUBLINGS_MOST : n > 0) atomic_store(&l->doublings, late ? n + 1 : n - 1);
  const bool many = atomic_fetch_add(&l->regions, 1) + 1 >= X86_REGIONS_UNTIL_TRIAL;
  if (late && atomic_fetch_add(&l->calls, 1) + 1 < LATE_REGIONS) return;
  atomic_store(&l->calls, 0);
  atomic_store(&l->trial, many && !late);
  if (late || many) atomic_store(&l->openmp, false);
}

#ifdef _OPENMP
#include <omp.h>
#include <sched.h>

/* If OpenMP binds its threads to cores (OMP_PROC_BIND), helpers of the team are bound to the same ones. */
static void bind_like_openmp(int member) {
  int core[CPU_SETSIZE];
  const int places = omp_get_num_places(), place = places ? member % places : 0;
  if (omp_get_proc_bind() == omp_proc_bind_false || !places || omp_get_place_num_procs(place) > CPU_SETSIZE) return;
  omp_get_place_proc_ids(place, core);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < omp_get_place_num_procs(place); i++) CPU_SET(core[i], &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void watch_helpers(void) { tw_team_begin_with(bind_like_openmp); }

/* Not within a parallel region: the program has divided its own work among the cores. */
static bool may_use_team(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_helpers);
  return !omp_in_parallel();
}
#else
static bool may_use_team(void) { return true; }
#endif

/* Writes the time at which member 0 ended, unless `ended` is NULL. */
static void run_on_openmp(int threads, tw_team_work *work, void *context, double *ended) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; i++) {
    work(context, i);
    if (i == 0 && ended) *ended = tw_now();
  }
}

static atomic_bool keeps_team;
void x86_keep_team(void) { atomic_store(&keeps_team, true); }

/* The team serves one call at a time; another call at the same time gets OpenMP's threads. */
void x86_run_on_threads(int threads, tw_team_work *work, void *context) {
  static x86_lateness lateness;
  const bool openmp = atomic_load(&lateness.openmp);
  const int joined = !openmp && may_use_team() ? tw_team_run(threads, work, context) : -1;
  if (joined >= 0) {
    const bool in_time = 2 * joined >= threads - 1 || atomic_load(&keeps_team);
    x86_note_team(&lateness, in_time, in_time ? 0 : tw_now());
  } else if (!openmp) {
    run_on_openmp(threads, work, context, NULL);
  } else {
    const double begin = tw_now();
    double ended = begin;
    run_on_openmp(threads, work, context, &ended);
    x86_note_openmp(&lateness, ended - begin, tw_now() - begin);
  }
}
