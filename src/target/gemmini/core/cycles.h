/* cycles.h - the earlier and the later of two cycles of a simulated clock. */
#ifndef TW_GEMMINI_CYCLES_H
#define TW_GEMMINI_CYCLES_H

#include <stdint.h>

static inline uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
