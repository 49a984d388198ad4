/* reuse.h - hit rates of a launch in L2 and in the last-level cache. The first workgroups of the grid, as many as the
 * machine runs at a time, are each executed for a while, and their accesses are replayed in step.
 *
 *   - Workgroup w runs on XCD w mod 8; an XCD's workgroups are all that its CUs hold at once. They advance in step: a
 *     piece of each in turn. Repeated requests within a workgroup's L1 count once.
 *   - L2: 16 channels, 16 ways, LRU, lines of 128 bytes. Channels and sets are chosen by hashed addresses (ROCm Compute
 *     Profiler, "L2 cache": requests are hashed over channels).
 *   - LLC: LRU, for L2's misses. Rounds follow one another, each with as many workgroups as the machine runs at a time.
 *     Only the beginning of each workgroup is executed, with an LLC that is smaller in proportion, so that one round
 *     leaves the same share for the next. At most four rounds; the first only fills it. A smaller grid is launched
 *     twice. C is not counted. If all buffers of a launch fit, all accesses hit, as in any launch but the first.
 *   - For L2 each workgroup of the first round is followed until the XCD has asked for several times its L2, or the
 *     workgroup ends. Rates are per buffer, for all XCDs together; later accesses are assumed to have the same rates.
 * Matrix instructions are not executed, unless they change the reads (witness.h). */
#ifndef TW_CDNA_REUSE_H
#define TW_CDNA_REUSE_H

#include "target/cdna/time/cu.h"
#include "target/cdna/time/witness.h"

/* For a kernel that is being judged. */
typedef struct cdna_reuse_watch {
  uint64_t seed; /* workgroups are drawn by chance */
  bool execute_matrix;
  cdna_witness *witness; /* CDNA_WITNESSES of them, filled */
} cdna_reuse_watch;

/* `watch` compares cache accesses with the accesses in the check; NULL: no comparison. */
tw_status cdna_reuse_find(const cdna_machine *, const cdna_rates *, const cdna_dispatch *, const cdna_effects *,
                          const cdna_memory *, int together, int jobs, const cdna_reuse_watch *, cdna_reuse *out,
                          tw_error *);

#endif
