/* lower.h - object FIFOs and links into buffers, locks, channels, descriptors and routes. */
#ifndef TW_XDNA2_ARRAY_LOWER_H
#define TW_XDNA2_ARRAY_LOWER_H

#include "target/xdna2/array/program.h"

/* The port of a FIFO's end at a core, by which the core's program acquires, uses and releases objects. Made at the
 * first request, filled in by xd_lower. -1, and program->failed, if the FIFO has no end there (or without memory). */
int xd_fifo_port(xd_program *, int fifo, xd_place core);

/* A port to a buffer that belongs to the core and that no DMA accesses. */
int xd_own_port(xd_program *, xd_place core, const char *name, int64_t bytes);
/* A port to `words` integers of 32 bits, which the host writes. */
int xd_own_words(xd_program *, xd_place core, const char *name, int words);

/* Lowers all FIFOs and links, in order; channels of a tile are numbered in the order of the FIFOs. An end of depth n
 * becomes n buffers with two locks (free, full) and a ring of n descriptors. In a memory tile every part of a split or
 * a join has its own two locks and descriptors; the ends' dims then describe one part. Then routes are laid
 * (xd_lay_routes) and descriptors numbered. TW_USAGE names the FIFO and the error. */
tw_status xd_lower(const xd_config *, xd_program *, tw_error *);

/* route.c: lays every route that has no steps yet: along columns, and along the row of the compute tile at one of
 * its ends (the shim's row if no end is a compute tile). Sinks of one route share their common links. */
tw_status xd_lay_routes(xd_program *, tw_error *);

/* Gives descriptors without a number the lowest that is free in their tile. In a memory tile channels of even number
 * reach the lower half of the table, odd ones the upper half. TW_USAGE with the tile and the number if there are not
 * enough. */
tw_status xd_number_descriptors(const xd_config *, xd_program *, tw_error *);

#endif
