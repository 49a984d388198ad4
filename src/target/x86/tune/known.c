/* known.c - the registry: entries are added under a lock and never changed or removed, so that plans may keep them. */
#include "target/x86/tune/known.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct entry {
  tw_gemm_spec spec;
  x86_tuned tuned;
  struct entry *next;
} entry;

static _Atomic(entry *) first;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

/* Compares everything that the speed of a kernel depends on; pitches and the epilogue are ignored. */
static bool same(const tw_gemm_spec *x, const tw_gemm_spec *y) {
  return x->m == y->m && x->n == y->n && x->k == y->k && x->a == y->a && x->b == y->b && x->c == y->c &&
         x->a_transposed == y->a_transposed && x->group == y->group && x->a_rounding == y->a_rounding &&
         x->threads == y->threads;
}

const x86_tuned *x86_known(const tw_gemm_spec *s) {
  for (const entry *e = atomic_load(&first); e; e = e->next)
    if (same(&e->spec, s)) return &e->tuned;
  return NULL;
}

tw_status x86_know(const tw_gemm_spec *s, const x86_tuned *tuned, tw_error *error) {
  entry *e = calloc(1, sizeof *e);
  if (!e) return tw_no_memory(error, NULL);
  *e = (entry){.spec = *s, .tuned = *tuned};
  e->spec.kernel = NULL;
  pthread_mutex_lock(&adding);
  e->next = atomic_load(&first);
  atomic_store(&first, e);
  pthread_mutex_unlock(&adding);
  return TW_OK;
}
