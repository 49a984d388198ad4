/* export.h - a kernel for the real machine: the files that `--out` writes beside it.
 *
 * The folder holds a bare-metal program that times the kernel and checks it, to be built against the public headers
 * (ucb-bar/gemmini-rocc-tests: include/gemmini_testutils.h, riscv-tests) and run on Spike, Verilator or FireSim:
 *
 *   main.c           the program; the same for every problem
 *   problem.h        the problem: macros that the kernel may use, its operands, the required machine
 *   gemmini_short.h  the short macros, which the public header lacks
 *   operands.S       places the operands; operands.bin: inputs, expected outputs, their tolerances
 *   README.md        the commands */
#ifndef TW_GEMMINI_EXPORT_H
#define TW_GEMMINI_EXPORT_H

#include "tilewright/extend/target.h"

/* tw_exporter.sources */
tw_status gm_export(const tw_target *, const tw_problem *, const tw_schedule *, const char *source, tw_files *out,
                    tw_error *);

#endif
