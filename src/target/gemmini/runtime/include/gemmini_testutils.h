/* gemmini_testutils.h - for programs that include it by this name: all that a kernel needs of it. */
#ifndef GEMMINI_TESTUTILS_H
#define GEMMINI_TESTUTILS_H

#include <assert.h>
#include <string.h>

#include "gemmini.h"
#include "gemmini_short.h"

static inline uint64_t read_cycles(void) {
  uint64_t cycles;
  asm volatile("rdcycle %0" : "=r"(cycles));
  return cycles;
}

#endif
