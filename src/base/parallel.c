/* parallel.c - a loop shared by threads that take the next index from one counter. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"

enum { THREADS_MAX = 256 };

/* The flags of tw_parallel_until and of tw_interrupt_by. */
static _Thread_local const volatile int *until, *asked;

typedef struct loop {
  const volatile int *until;
  atomic_size_t next;
  size_t n;
  tw_parallel_function *function;
  void *context;
} loop;

static void *work(void *argument) {
  loop *l = argument;
  until = l->until;
  for (size_t i; !tw_is_set(until) && (i = atomic_fetch_add(&l->next, 1)) < l->n;) l->function(l->context, i);
  return NULL;
}

const volatile int *tw_interrupt_by(const volatile int *flag) {
  const volatile int *before = asked;
  asked = flag;
  return before;
}

const volatile int *tw_interrupt(void) { return asked; }

bool tw_is_interrupted(void) { return tw_is_set(asked); }

const volatile int *tw_parallel_until(const volatile int *interrupt) {
  const volatile int *before = until;
  until = interrupt;
  return before;
}

void tw_parallel_for(int jobs, size_t n, tw_parallel_function *function, void *context) {
  loop l = {.until = until, .n = n, .function = function, .context = context};
  if (jobs <= 0) jobs = tw_cores();
  if ((size_t)jobs > n) jobs = (int)n;
  if (jobs > THREADS_MAX) jobs = THREADS_MAX;
  pthread_t thread[THREADS_MAX];
  int started = 0;
  while (started < jobs - 1 && pthread_create(&thread[started], NULL, work, &l) == 0) started++;
  work(&l);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}
