/* assembly.h - looks through the compiler's output before the assembler may see it.
 *
 * A candidate can put any text into inline assembly. The assembler would read files for it (.incbin, .include),
 * define macros that hide that, write files of any size (.zero, .align), or smuggle instructions past this check
 * (.word in code). And the harness's own registers, which mark where timing starts and ends, are main's alone. */
#ifndef TW_GEMMINI_ASSEMBLY_H
#define TW_GEMMINI_ASSEMBLY_H

#include <stddef.h>

#include "tilewright/status.h"

/* TW_FAILED with kernel.c:LINE and the offending word. Lines that carry `tag` in a comment may write harness registers. */
tw_status gm_assembly_check(const char *text, size_t length, const char *tag, tw_error *);

#endif
