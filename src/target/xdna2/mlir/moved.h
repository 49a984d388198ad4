/* moved.h - the bytes of one transfer at an end of an object FIFO, as in mlir-aie's descriptors. */
#ifndef TW_XDNA2_MLIR_MOVED_H
#define TW_XDNA2_MLIR_MOVED_H

#include "target/xdna2/array/program.h"

/* Bytes of an object, or of a part of a link. 0 if parts of different sizes alternate. */
int64_t xd_mlir_moved(const xd_program *, int fifo, xd_place tile);
/* Bytes of an end's walk, in memory or with the zeros around them; without a walk: 0. */
double xd_mlir_walked(const xd_fifo_end *, bool zeros);

#endif
