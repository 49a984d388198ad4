/* walk.h - moves bytes between memory and a stream in the order of a pattern. */
#ifndef TW_XDNA2_ARRAY_WALK_H
#define TW_XDNA2_ARRAY_WALK_H

#include "target/xdna2/array/program.h"

/* Bytes from .. from + n of the stream of one execution of the pattern, whose offset is displaced by `shift`. Padding
 * reads as zero; it is not written. check.h guarantees that all addresses are in memory. */
void xd_walk_read(const xd_pattern *, int64_t shift, const uint8_t *memory, int64_t from, int64_t n, uint8_t *stream);
void xd_walk_write(const xd_pattern *, int64_t shift, uint8_t *memory, int64_t from, int64_t n, const uint8_t *stream);

#endif
