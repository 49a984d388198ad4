/* reuse.h - what a launch finds in L2 and in the last-level cache: the first workgroups of the grid, as many as the
 * machine runs at a time, each executed for a while, and their accesses replayed in step.
 *
 *   - Workgroup w runs on XCD w mod 8; an XCD's workgroups are all that its CUs hold at once. They advance in step: a
 *     piece of each in turn. What a workgroup asks twice within its L1 is asked once.
 *   - L2: 16 channels, 16 ways, LRU, lines of 128 bytes. Channels and sets are chosen by hashed addresses (ROCm Compute
 *     Profiler, "L2 cache": requests are hashed over channels).
 *   - LLC: LRU, of what L2s miss. Rounds follow one another, each as many workgroups as the machine runs at a time; of each
 *     workgroup only the beginning is executed, and the LLC is smaller in proportion: what one round leaves for the next is
 *     as much of it as of all. Four rounds at most, the first of which only fills it; a grid that is smaller is launched twice.
 *     C is not counted. If all buffers of a launch fit everything is there, as in any launch but the first.
 *   - For L2 each workgroup of the first round is followed until the XCD has asked for several times its L2, or the workgroup
 *     ends. Rates are of each buffer, of all XCDs together; what comes later is taken to find the same.
 * Matrix instructions are not executed, unless that changes what is read (witness.h). */
#ifndef TW_CDNA_REUSE_H
#define TW_CDNA_REUSE_H

#include "target/cdna/time/cu.h"
#include "target/cdna/time/witness.h"

/* Of a kernel that is judged. */
typedef struct cdna_reuse_watch {
  uint64_t seed; /* workgroups are drawn by chance */
  bool execute_matrix;
  cdna_witness *witness; /* CDNA_WITNESSES of them, filled */
} cdna_reuse_watch;

/* `watch` compares cache accesses with those of the check; NULL: no comparison. */
tw_status cdna_reuse_find(const cdna_machine *, const cdna_rates *, const cdna_dispatch *, const cdna_effects *,
                          const cdna_memory *, int together, int jobs, const cdna_reuse_watch *, cdna_reuse *out,
                          tw_error *);

#endif
