/* harness.h - the C program around a candidate kernel, and the linker script that lays out its memory. */
#ifndef TW_GEMMINI_HARNESS_H
#define TW_GEMMINI_HARNESS_H

#include <stddef.h>

#include "target/gemmini/config.h"
#include "target/gemmini/kernel_source.h"
#include "tilewright/op.h"

/* gemmini_params.h for a configuration. */
tw_status gm_harness_params(const gm_config *, char **text, tw_error *);

/* One C file: headers, the operands as global arrays, the kernel's source as "kernel.c", main. `tag` marks main's own
 * writes of harness registers, so that others can be told from them (assembly.h). */
tw_status gm_harness_program(const tw_problem *, const char *source, size_t length, const gm_entry *, const char *tag,
                             char **text, tw_error *);

/* The linker script: code, constants, data, then a section .operand.NAME (.operand.out.NAME) for each operand. */
tw_status gm_harness_script(const tw_problem *, char **text, tw_error *);

#endif
