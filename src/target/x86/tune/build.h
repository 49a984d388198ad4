/* build.h - compiles the C of a kernel to a shared object, or to assembly; cached by content. */
#ifndef TW_X86_BUILD_H
#define TW_X86_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/status.h"

/* A source says with which instructions it is compiled by a comment "tilewright isa: NAME" (kernels.txt); without one
 * it gets all that this CPU has. */
#define X86_ISA_COMMENT "tilewright isa: "

/* Compiles with $TILEWRIGHT_CC or `cc`, confined (src/toolchain); the object is inspected and not run.
 * `object` is malloc'ed. TW_FAILED with the compiler's message; TW_NO_COMPILER without a compiler, TW_MISSING where the system
 * cannot confine it and the source is not trusted. */
tw_status x86_build(const char *source, size_t length, bool trust, char **object, size_t *bytes, tw_error *);
/* The compiler's assembly of the same kernel, malloc'ed. */
tw_status x86_assembly(const char *source, size_t length, bool trust, char **text, tw_error *);

#endif
