/* check.h - static checks of a program. */
#ifndef TW_XDNA2_ARRAY_CHECK_H
#define TW_XDNA2_ARRAY_CHECK_H

#include "target/xdna2/array/program.h"

/* For a lowered program. TW_USAGE with one line that names tile, number and limit:
 * - tiles that do not exist; buffers (and the stack) that exceed a tile's memory, or overlap at the
 *   addresses that a design gives them; channels, locks, lock values, links
 *   of a switch that exceed their number;
 * - descriptors: number, dims, sizes and steps that exceed their fields; partial words; addresses outside the buffer;
 *   chains across channels;
 * - two writers of the same bytes; a transfer of a shared buffer without acquire or release; a core that uses such a
 *   buffer through a port without locks;
 * - core programs: loops that do not nest, ports of other tiles, arguments that do not fit their buffers. */
tw_status xd_check(const xd_config *, const xd_program *, tw_error *);

/* Checks one descriptor: the second group of the list. */
tw_status xd_check_descriptor(const xd_config *, const xd_program *, const xd_descriptor *, tw_error *);
/* check_sharing.c: only the third group. */
tw_status xd_check_sharing(const xd_program *, tw_error *);
/* check_core.c: the fourth. */
tw_status xd_check_cores(const xd_program *, tw_error *);

#endif
