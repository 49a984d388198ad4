/* dispatch.c - selects the kernels: the best that this CPU supports, or the set that TILEWRIGHT_FORMAT_ISA names.
 * Chosen once.
 *
 * avx2 means AVX2, FMA and F16C (Haswell and Zen on); avx512 means these and F, BW, DQ, VL and VBMI (Ice Lake and Zen 4
 * on). */
#include <pthread.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "format/internal.h"

static bool runs_here(const format_kernels *k) {
  if (k == &format_reference) return true;
#if defined TW_FORMAT_VECTOR
  if (k == &format_avx2) return tw_cpu_has_avx2();
  if (k == &format_avx512)
    return tw_cpu_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi");
#endif
  return false;
}

static const format_kernels *const all[] = {/* best first */
#if defined TW_FORMAT_VECTOR
                                            &format_avx512, &format_avx2,
#endif
                                            &format_reference};

const format_kernels *format_kernels_named(const char *isa) {
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(all[i]->isa, isa) == 0) return runs_here(all[i]) ? all[i] : NULL;
  }
  return NULL;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const format_kernels *chosen;

static void choose(void) {
  const char *wanted = getenv("TILEWRIGHT_FORMAT_ISA");
  chosen = wanted ? format_kernels_named(wanted) : NULL;
  for (size_t i = 0; i < sizeof all / sizeof *all && !chosen; i++) {
    if (runs_here(all[i])) chosen = all[i]; /* the last one runs on every CPU */
  }
}

const format_kernels *format_kernels_chosen(void) {
  pthread_once(&once, choose);
  return chosen;
}

const char *tw_format_isa(void) { return format_kernels_chosen()->isa; }
