/* threads.c - see threads.h. */
#include "blas/threads.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/team.h"

static int number_in(const char *name) {
  const char *text = getenv(name);
  const long n = text ? strtol(text, NULL, 10) : 0; /* OMP_NUM_THREADS may be a list: one number for each level */
  return n < 1 ? 0 : n > TW_TEAM_MOST ? TW_TEAM_MOST : (int)n;
}

static int ask(void) {
  const int threads = number_in("TILEWRIGHT_NUM_THREADS");
  if (threads) return threads;
  /* OpenMP may have bound this thread to a core, which helper threads would share. */
  const int cores = tw_cores(), wanted = number_in("OMP_NUM_THREADS");
  return wanted && wanted < cores ? wanted : cores < TW_TEAM_MOST ? cores : TW_TEAM_MOST;
}

int blas_threads(void) {
  static atomic_int threads;
  const int known = atomic_load_explicit(&threads, memory_order_relaxed);
  if (known) return known;
  int none = 0; /* of two threads that ask, the first decides */
  const int found = ask();
  return atomic_compare_exchange_strong(&threads, &none, found) ? found : none;
}
