/* learn.c - see known.h.
 *
 * The library has only the kernels of kernels.txt, because thousands of further schedules would be mostly unused
 * code. Another kernel that a search found is made from its schedule: this program emits C from the text, compiles
 * it, and keeps it as a shared object in the user's cache under the hash of that C, the compiler and its flags. Only
 * objects that this program has made are loaded. Wisdom is text that can be exchanged; no code is loaded from it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/x86/bench.h"
#include "target/x86/tune/build.h"
#include "target/x86/tune/known.h"
#include "target/x86/tune/tuning.h"

/* The object stays loaded until the process ends. */
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

tw_status x86_learn(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_error *error) {
  tw_gemm_spec s = x86_spec_of(p);
  tw_gemm_plan *plan = NULL;
  x86_tuned tuned = {0};
  char *source = NULL, *object = NULL;
  size_t bytes = 0;
  tw_status status = tw_gemm_plan_create(&s, &plan, error); /* fills in defaults, as every plan does */
  if (status != TW_OK) return status;
  s = plan->spec;
  tw_gemm_plan_destroy(plan);
  status = x86_emit(t, p, schedule, &source, error);
  if (status == TW_OK) status = x86_build(source, strlen(source), true, &object, &bytes, error);
  if (status == TW_OK) status = load(object, bytes, &tuned, error);
  if (status == TW_OK) status = x86_know(&s, &tuned, error);
  free(source);
  free(object);
  return status;
}
