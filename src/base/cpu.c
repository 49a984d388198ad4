/* cpu.c - see cpu.h. */
#include "base/cpu.h"

#if defined __x86_64__
#include <cpuid.h>

/* clang 14's __builtin_cpu_supports does not know it. Intel's manual, volume 2, CPUID: leaf 1, ECX bit 29. */
static bool has_f16c(void) {
  unsigned a, b, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
}

bool tw_cpu_has_avx2(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
#else
bool tw_cpu_has_avx2(void) { return false; }
#endif
