/* kit.c - selects the compiled lane functions for this CPU. */
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "target/cdna/lanes/lanes.h"

const cdna_lane_kit *cdna_kit(void) {
  const char *most = getenv("TILEWRIGHT_CDNA_ISA");
#if defined(__x86_64__)
  const bool portable = most && !strcmp(most, "portable"), narrow = most && !strcmp(most, "avx2");
  if (!portable && !narrow && tw_cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return &cdna_kit_avx512;
  if (!portable && tw_cpu_has_avx2()) return &cdna_kit_avx2;
#endif
  (void)most;
  return &cdna_kit_portable;
}
