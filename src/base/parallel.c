/* parallel.c - a loop shared by threads that take the next index from one counter. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"

enum { THREADS_MAX = 256 };

/* State of tw_parallel_until and tw_stop_by. */
static _Thread_local const tw_stop *until, *asked;

typedef struct loop {
  const tw_stop *until, *asked;
  atomic_size_t next;
  size_t n;
  tw_parallel_function *function;
  void *context;
} loop;

static void *work(void *argument) {
  loop *l = argument;
  until = l->until;
  asked = l->asked;
  for (size_t i; !tw_is_stopped(until) && (i = atomic_fetch_add(&l->next, 1)) < l->n;) l->function(l->context, i);
  return NULL;
}

const tw_stop *tw_stop_by(const tw_stop *stop) {
  const tw_stop *before = asked;
  asked = stop;
  return before;
}

const tw_stop *tw_stop_of_thread(void) { return asked; }

bool tw_is_stop_asked(void) { return tw_is_stopped(asked); }

const tw_stop *tw_parallel_until(const tw_stop *stop) {
  const tw_stop *before = until;
  until = stop;
  return before;
}

void tw_parallel_for(int jobs, size_t n, tw_parallel_function *function, void *context) {
  loop l = {.until = until, .asked = asked, .n = n, .function = function, .context = context};
  if (jobs <= 0) jobs = tw_cores();
  if ((size_t)jobs > n) jobs = (int)n;
  if (jobs > THREADS_MAX) jobs = THREADS_MAX;
  pthread_t thread[THREADS_MAX];
  int started = 0;
  while (started < jobs - 1 && pthread_create(&thread[started], NULL, work, &l) == 0) started++;
  work(&l);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}
