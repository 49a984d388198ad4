/* ddr.h - the cost of a run of bytes for DDR, for any requester: for the simulation (ddr.c) and for predictions. */
#ifndef TW_XDNA2_ARRAY_DDR_H
#define TW_XDNA2_ARRAY_DDR_H

#include "target/xdna2/array/program.h"

/* Nanoseconds of requests for one run that begins at a multiple of `unit`, `stride` bytes after the previous one, while
 * `together` shims work on neighbouring runs. A write also reads the bursts that it covers only in part. */
double xd_ddr_run_ns(const xd_array *, int64_t run, int64_t unit, int64_t stride, int together, bool writes);
/* Nanoseconds for each byte, for the runs of a program's descriptor. */
double xd_ddr_descriptor_ns(const xd_array *, const xd_program *, int descriptor);

#endif
