/* export.h - the files that `--out` adds to a kernel for CDNA: everything that a machine with the GPU needs. */
#ifndef TW_CDNA_EXPORT_H
#define TW_CDNA_EXPORT_H

#include "launch/launch.h"
#include "tilewright/extend/target.h"

/* The launch of a source for the problem: target.c. */
tw_status cdna_launch_of(const tw_target *, const tw_problem *, const char *source, size_t length, tw_launch *,
                         tw_error *);

extern const tw_exporter cdna_exporter;

#endif
