/* harness.h - the translation unit of a candidate kernel, and the linker script that lays out its memory. */
#ifndef TW_GEMMINI_HARNESS_H
#define TW_GEMMINI_HARNESS_H

#include <stddef.h>

#include "base/strings.h"
#include "target/gemmini/config.h"
#include "target/gemmini/kernel_source.h"
#include "tilewright/extend/op.h"

/* gemmini_params.h for a configuration. */
tw_status gm_harness_params(const gm_config *, char **text, tw_error *);

/* The candidate's translation unit: headers, the problem's macros, the source as "kernel.c". It defines
 * kernel_entry__. */
tw_status gm_harness_program(const tw_problem *, const char *source, size_t length, const gm_entry *, char **text,
                             tw_error *);

/* The declarations of a program for a kernel: the macros of the public problems, and the operands by the names of its
 * parameters (gm_operand_NAME unless the kernel is pasted), as symbols gm_operand_0, gm_operand_1, ... */
tw_status gm_harness_declarations(tw_text *, const tw_problem *, const gm_entry *, tw_error *);

/* The section of the harness's code. Only this section may write the timing marks. */
#define GM_HARNESS_SECTION ".harness"

/* The linker script: the harness, code, constants, data, then a section .operand.NAME (.operand.out.NAME) for each
 * operand. */
tw_status gm_harness_script(const tw_problem *, char **text, tw_error *);

#endif
