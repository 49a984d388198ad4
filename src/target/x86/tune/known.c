/* known.c - the registry: entries are added under a lock and never changed or removed, so that plans may keep them.
 *
 * A kernel that a search found is not in the library, whose kernels are those of kernels.txt: one more for each of the
 * thousands of schedules would be code that nobody runs. It is made from its schedule, which is text that this program emits
 * as C and compiles, and kept as a shared object in the user's cache under the hash of that C, the compiler and its flags:
 * loading it is loading what this program has made. Wisdom stays text that can be sent around; nothing is loaded from it. */
#define _GNU_SOURCE
#include "target/x86/tune/known.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/x86/bench.h"
#include "target/x86/tune/build.h"
#include "target/x86/tune/tuning.h"

typedef struct entry {
  tw_gemm_spec spec;
  x86_tuned tuned;
  struct entry *next;
} entry;

static _Atomic(entry *) first;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

/* Everything that decides what a kernel is good for; pitches and the epilogue do not. */
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

/* The object stays loaded as long as the process lives. */
static tw_status load(const char *object, size_t bytes, x86_tuned *out, tw_error *error) {
  char path[64];
  const int file = memfd_create("tilewright kernel", MFD_CLOEXEC);
  const bool written = file >= 0 && write(file, object, bytes) == (ssize_t)bytes;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  void *library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const x86_kernel *const *kernel = library ? dlsym(library, "tilewright_kernel") : NULL;
  const x86_blocks *blocks = library ? dlsym(library, "tilewright_blocks") : NULL;
  if (file >= 0) close(file);
  if (!kernel || !blocks)
    return tw_fail(error, TW_MISSING, "a tuned kernel cannot be loaded: %s", written ? dlerror() : "no memory");
  *out = (x86_tuned){.kernel = *kernel, .blocks = *blocks};
  return TW_OK;
}

/* Puts it in front: a schedule that is learnt later counts. */
static tw_status add(const tw_gemm_spec *s, const x86_tuned *tuned, tw_error *error) {
  entry *e = calloc(1, sizeof *e);
  if (!e) return tw_fail(error, TW_MISSING, "out of memory");
  *e = (entry){.spec = *s, .tuned = *tuned};
  e->spec.kernel = NULL;
  pthread_mutex_lock(&adding);
  e->next = atomic_load(&first);
  atomic_store(&first, e);
  pthread_mutex_unlock(&adding);
  return TW_OK;
}

tw_status x86_learn(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_error *error) {
  tw_gemm_spec s = x86_spec_of(p);
  tw_gemm_planned *plan = NULL;
  x86_tuned tuned = {0};
  char *source = NULL, *object = NULL;
  size_t bytes = 0;
  tw_status status = tw_gemm_plan(&s, &plan, error); /* fills defaults in, as every plan does */
  if (status != TW_OK) return status;
  s = plan->spec;
  tw_gemm_destroy(plan);
  status = x86_emit(t, p, schedule, &source, error);
  if (status == TW_OK) status = x86_build(source, strlen(source), true, &object, &bytes, error);
  if (status == TW_OK) status = load(object, bytes, &tuned, error);
  if (status == TW_OK) status = add(&s, &tuned, error);
  free(source);
  free(object);
  return status;
}
