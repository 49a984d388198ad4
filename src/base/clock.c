/* clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

double tw_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool tw_is_stopped(const tw_stop *s) {
  return s && (tw_is_set(s->interrupt) || (s->deadline > 0 && tw_now() >= s->deadline));
}
