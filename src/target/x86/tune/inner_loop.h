/* inner_loop.h - the loop of a compiled kernel that does most of its arithmetic. */
#ifndef TW_X86_INNER_LOOP_H
#define TW_X86_INNER_LOOP_H

#include <stddef.h>

/* Finds the loop in assembly that the compiler wrote (AT&T syntax, as `cc -S` prints it): of the loops without an inner
 * loop that access memory, the one with the most vector multiplications. Returns a summary and the instructions, to a
 * malloc'ed string. The summary has the numbers of instructions, of multiplications, and of loads and stores of spilled
 * registers. At most `lines_max` instructions are shown. NULL: no loop multiplies, or no memory. */
char *x86_inner_loop_text(const char *assembly, size_t lines_max);

#endif
