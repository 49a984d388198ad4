/* ddr.h - what a run of bytes costs DDR, whoever moves it: for the simulation (ddr.c) and for predictions. */
#ifndef TW_XDNA2_ARRAY_DDR_H
#define TW_XDNA2_ARRAY_DDR_H

#include "target/xdna2/array/program.h"

/* Nanoseconds of requests for one run that begins at some multiple of `unit`, `stride` bytes behind the one before, while
 * `together` shims work on neighbouring runs. */
double xd_ddr_run_ns(const xd_array *, int64_t run, int64_t unit, int64_t stride, int together);
/* Of the runs of a program's descriptor, for each byte. */
double xd_ddr_descriptor_ns(const xd_array *, const xd_program *, int descriptor);

#endif
