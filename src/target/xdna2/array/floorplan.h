/* floorplan.h - an array program as a picture: every tile with its buffers, every circuit through the switches. */
#ifndef TW_XDNA2_ARRAY_FLOORPLAN_H
#define TW_XDNA2_ARRAY_FLOORPLAN_H

#include "target/xdna2/array/program.h"

/* A lowered program as SVG that needs nothing else: tiles as they lie, memory as a bar of buffers to scale (hover names
 * it), routes coloured by the matrix or FIFO that their names begin with. malloc'ed; NULL without memory. */
char *xd_floorplan(const xd_config *, const xd_program *, const char *title);

#endif
