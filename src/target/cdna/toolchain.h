/* toolchain.h - compiles a kernel's source to a code object: Debian's clang 22 compiles C and assembly for gfx942 and
 * gfx950.
 *
 * C is freestanding: no headers of the system, no libraries; the compiler's builtins (__builtin_amdgcn_...) reach the
 * machine. Code objects are kept (base/cache.h). */
#ifndef TW_CDNA_TOOLCHAIN_H
#define TW_CDNA_TOOLCHAIN_H

#include <stdbool.h>

#include "base/embedded.h"
#include "launch/launch.h"
#include "target/cdna/arch.h"
#include "tilewright/extend/target.h"
#include "tilewright/status.h"

/* TW_NO_COMPILER with the name of the package to install. */
tw_status cdna_toolchain_find(tw_error *);

/* The name by which tile kernels include a file of the library; NULL: it is not a header for them. */
const char *cdna_header(const tw_embedded *);

/* LLVM's option for one of a `//: compile` line. TW_FAILED if the name or its number is unknown. */
enum { CDNA_FLAG = 64 };
tw_status cdna_compile_option(const tw_launch_option *, char flag[CDNA_FLAG], tw_error *);

/* TW_USAGE if the user gives macros: `what`, the kind of the file, cannot have them. */
tw_status cdna_reject_macros(const tw_headers *, const char *what, tw_error *);

/* The compiler runs confined; where the system cannot confine it, only trusted sources are compiled. It may read the
 * user's folders of headers (-I); code objects with such headers are not cached. `launch` gives macros (its lets)
 * and options, and may be NULL. The bytes of the code object are malloc'ed. TW_FAILED with the compiler's message, TW_USAGE if a
 * folder cannot be read, or a macro of the user is also one of the launch. */
tw_status cdna_compile(cdna_arch, const char *source, size_t length, const tw_evaluation *, const tw_launch *launch,
                       char **object, size_t *size, tw_error *);

#endif
