/* floorplan.h - an array program as a picture: every tile with its buffers, every circuit through the switches. */
#ifndef TW_XDNA2_ARRAY_FLOORPLAN_H
#define TW_XDNA2_ARRAY_FLOORPLAN_H

#include "target/xdna2/array/program.h"

/* A lowered program as self-contained SVG: tiles in their places, memory as a bar of buffers to scale (hovering shows
 * names), routes coloured by the matrix or FIFO at the start of their names. malloc'ed; NULL without memory. */
char *xd_floorplan(const xd_config *, const xd_program *, const char *title);

#endif
