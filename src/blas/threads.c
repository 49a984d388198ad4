/* threads.c - see threads.h. */
#include "blas/threads.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/team.h"

static int number_in(const char *name) {
  const char *text = getenv(name);
  const long n = text ? strtol(text, NULL, 10) : 0; /* OMP_NUM_THREADS may be a list: one number for each level */
  return n < 1 ? 0 : n > TW_TEAM_MOST ? TW_TEAM_MOST : (int)n;
}

static int threads;
static void ask(void) {
  threads = number_in("TILEWRIGHT_NUM_THREADS");
  if (threads) return;
  /* OpenMP may have bound this thread to a core, which helper threads would share. */
  const int cores = tw_cores(), wanted = number_in("OMP_NUM_THREADS");
  threads = wanted && wanted < cores ? wanted : cores < TW_TEAM_MOST ? cores : TW_TEAM_MOST;
}

int blas_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask);
  return threads;
}
