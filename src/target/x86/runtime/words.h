/* words.h - the words that are the same in every instruction set. The file that includes it says first, as REGISTER, which
 * of the compiler's constraints a vector register has. */
#ifndef TW_X86_WORDS_COMMON_H
#define TW_X86_WORDS_COMMON_H

#include <stdint.h>

#define WORD static inline __attribute__((always_inline, unused))

/* The linkage of functions that do not depend on the tile; apart.h has another one. */
#define SHARED static

typedef int32_t unit __attribute__((aligned(1), may_alias)); /* elements of 8 and 16 bits begin anywhere */

WORD void fetch(const void *p) { __builtin_prefetch(p); }
WORD void fetch_next(const void *p) { __builtin_prefetch(p, 0, 2); } /* into L2 */

/* A use of a register that costs nothing: the compiler knows nothing about what it holds then. */
#define keep(x) __asm__ volatile("" : "+" REGISTER(x))

/* A pointer that is moved on where it says so: computed in advance, many of them would take registers from the sums. */
#define one_by_one(pointer) __asm__ volatile("" : "+r"(pointer))

/* What an array holds is in memory here, not in registers. */
#define stays_in_memory(array) __asm__ volatile("" : : "r"(array) : "memory")

#endif
