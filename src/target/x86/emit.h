/* emit.h - a schedule becomes C with intrinsics. */
#ifndef TW_X86_EMIT_H
#define TW_X86_EMIT_H

#include "base/strings.h"
#include "target/x86/schedule.h"

/* Appends the tile functions of one kernel and their `x86_kernel` (a global, x86_kernel_symbol).
 * The text includes headers of src/target/x86 alone. */
void x86_emit_kernel(const x86_schedule *, tw_text *);

/* Parts of it: the functions on codes, and their fields in the x86_kernel. */
void x86_emit_coded(const x86_schedule *, tw_text *);
void x86_emit_coded_fields(const x86_schedule *, tw_text *);

#endif
