/* portable.h - the f32 GEMM kernel that every processor has. Its number of rows depends on the build: builds with
 * sanitizers have fewer. */
#ifndef TW_TESTS_X86_PORTABLE_H
#define TW_TESTS_X86_PORTABLE_H

#include <string.h>

#include "test.h"
#include "tilewright/gemm.h"

static inline const char *portable_kernel(void) {
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++)
    if (!strncmp(name, "f32-gemm-", 9) && strstr(name, "-portable")) return name;
  fail_msg("this build has no portable f32 kernel");
  return NULL;
}

#endif
