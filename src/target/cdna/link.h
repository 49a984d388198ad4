/* link.h - links the compiler's output for a kernel to a code object. The object is inspected before the linker
 * reads it. */
#ifndef TW_CDNA_LINK_H
#define TW_CDNA_LINK_H

#include <stdbool.h>

#include "target/cdna/arch.h"
#include "toolchain/toolchain.h"

/* Indices of tw_toolchain_kind.program. */
enum { CDNA_CLANG, CDNA_LINKER };

#define CDNA_ASSEMBLY "compiled.s"
#define CDNA_OBJECT "kernel.o"
#define CDNA_CODE_OBJECT "kernel.co"

/* In a folder that has CDNA_ASSEMBLY (`is_assembly`) or CDNA_OBJECT: makes CDNA_CODE_OBJECT. TW_FAILED with the
 * linker's errors, or with a forbidden part of the object: sections for the linker (.deplibs, .linker-options, code of
 * LLVM), constructors. */
tw_status cdna_link(const tw_toolchain *, const char *directory, cdna_arch, bool is_assembly, bool trust, tw_error *);

#endif
