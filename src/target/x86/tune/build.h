/* build.h - C of a kernel becomes a shared object, cached by content. */
#ifndef TW_X86_BUILD_H
#define TW_X86_BUILD_H

#include <stddef.h>

#include "tilewright/status.h"

/* A source says with which instructions it is compiled by a comment "tilewright isa: NAME" (kernels.txt); without one
 * it gets all that this CPU has. */
#define X86_ISA_COMMENT "tilewright isa: "

/* Compiles with $TILEWRIGHT_CC or `cc`. The compiler reads no files for the source but the headers that it may include, and
 * does not run any of it. `object` is malloc'ed. TW_FAILED with the compiler's message; TW_MISSING without a compiler. */
tw_status x86_build(const char *source, size_t length, char **object, size_t *bytes, tw_error *);

/* inspect.c: TW_FAILED if the source includes what it may not, or its assembly has directives that read files. */
tw_status x86_inspect_source(const char *source, size_t length, tw_error *);
tw_status x86_inspect_assembly(const char *text, size_t length, tw_error *);

#endif
