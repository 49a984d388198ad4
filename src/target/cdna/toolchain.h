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
#include "tilewright/status.h"

/* TW_NO_COMPILER with what to install. */
tw_status cdna_toolchain_find(tw_error *);

/* Adds a folder of the user's own headers, for all sources that are compiled from now on. The compiler may read it
 * (-I), and code objects made with it are not kept. TW_USAGE if the folder cannot be read. */
tw_status cdna_include(const char *folder, tw_error *);

/* The name by which tile kernels include a file of the library; NULL: it is not a header for them. */
const char *cdna_header(const tw_embedded *);

/* The compiler runs confined; where the system cannot confine it, only trusted sources are compiled. `launch` gives
 * macros (its lets) and may be NULL. The bytes of the code object are malloc'ed. TW_FAILED with the compiler's
 * message. */
tw_status cdna_compile(cdna_arch, const char *source, size_t length, bool trust, const tw_launch *launch, char **object,
                       size_t *size, tw_error *);

#endif
