/* build.h - builds a candidate's C source into an executable for the simulated machine. */
#ifndef TW_GEMMINI_BUILD_H
#define TW_GEMMINI_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "target/gemmini/config.h"
#include "tilewright/extend/op.h"

/* Is the compiler installed? If not, returns TW_NO_COMPILER and names the package to install. */
tw_status gm_build_available(const gm_config *, tw_error *);

/* Compiles `source` for `problem` into an ELF executable (malloc'ed): entry _start, operands in the sections that
 * src/target/gemmini/core/rv64.h describes, timing marks around the kernel. Cached by the content of everything that
 * goes into it. TW_FAILED with the compiler's message (kernel.c:LINE) if the source is not acceptable,
 * TW_NO_COMPILER without a compiler or disk space, or if the system cannot confine the compiler and the source is
 * not trusted. Can be called from any thread. */
tw_status gm_build(const gm_config *, const tw_problem *, const char *source, size_t length, bool trust, char **elf,
                   size_t *size, tw_error *);

#endif
