/* rotate.h - buffers by number, for loops whose number of iterations only the host knows. */
#ifndef TW_XDNA2_MLIR_ROTATE_H
#define TW_XDNA2_MLIR_ROTATE_H

#include "target/xdna2/array/program.h"

/* True if the host gives a core the number of iterations of a loop, as a word in the core's memory. */
bool xd_has_words(const xd_program *, int core);
/* In the explicit form, descriptors and locks name each buffer. A core with run-time loops then counts, in words of its
 * own memory, which of its buffers is next at each port; so do object FIFOs that mlir-aie lowers dynamically. *out is
 * a copy of the lists that change; the remaining lists are shared. */
tw_status xd_rotate(const xd_program *, xd_program *out, tw_error *);
void xd_rotate_free(xd_program *);

#endif
