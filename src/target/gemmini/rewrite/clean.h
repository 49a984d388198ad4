/* clean.h - rewrites that remove or merge commands in place; the order of the other commands stays.
 *
 * Each is proved on the dynamic stream: rows of the local memories and bytes of memory are known exactly. Each returns
 * the number of changed commands, and the index of the first; TW_NO_MEMORY without memory, TW_FAILED for streams that
 * gm_decode_access rejects. */
#ifndef TW_GEMMINI_REWRITE_CLEAN_H
#define TW_GEMMINI_REWRITE_CLEAN_H

#include "target/gemmini/rewrite/stream.h"

typedef struct gm_change {
  size_t count, first;
} gm_change;

typedef tw_status gm_pass(gm_stream *, gm_change *, tw_error *);

/* A configuration that sets the current values. */
gm_pass gm_remove_configs;
/* A load of bytes that are still at its destination, unchanged in both places. */
gm_pass gm_remove_loads;
/* A fence between commands that do not meet in memory. The reservation station keeps the order of accesses to the
 * local memories, but not to memory. */
gm_pass gm_remove_fences;
/* Zeros for the accumulator that the first product can overwrite instead. */
gm_pass gm_remove_zero_fills;
/* Neighbouring narrow loads (stores) that form a wide one. */
gm_pass gm_widen_loads;
gm_pass gm_widen_stores;

#endif
