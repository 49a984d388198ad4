/* caches.h - hit rates of a GEMM's grid in L2 and in the last-level cache (LLC), by the order of its workgroups.
 *
 * The complete model:
 *   - Workgroup w runs on XCD w % xcds (HipKittens, section 3.4). Each CU of an XCD has one at a time, since its tiles
 *     take most of the LDS, and starts the XCD's next one when it is done. A K-step lasts as long everywhere.
 *   - CUs begin in the order of their workgroups, evenly over one K-step; they are not aligned later. A workgroup reads
 *     its panels of A and B evenly over each K-step.
 *   - An XCD's L2 is 4 MB in 16 channels, 16-way, with lines of 128 bytes (AMD, CDNA 3 white paper), LRU in each set.
 *     Addresses are interleaved over channels in pieces of 256 bytes (ROCm Compute Profiler, L2), lines of a channel
 *     over its sets: no hashing. A and B are row-major, K along rows, unpadded, B after A at the next multiple of 4
 *     KiB.
 *   - The LLC has 256 MB for all XCDs, LRU in parts of panels, and receives L2's misses. Its hit rate is relative to
 *     these.
 *   - C is not counted. Hit rates are for the second of two launches on the same operands.
 *
 * No constant was fitted; tests/cdna/test_cdna_grid.c has the errors against table 4 of HipKittens. Two assumptions
 * are unverified: CUs begin evenly over one K-step (not over two, not all at once), and nothing is hashed. Both
 * affect problems whose rows map to few channels that a K-step's panels nearly fill. In the table this is the L2
 * rate of 9216 row by row: 73% without either assumption, 55% as published. The other eleven rates hardly change.
 * The assumption of no hashing cannot be fully true: rows of 16 KiB would be in one channel, too slow for the
 * published 8192. */
#ifndef TW_CDNA_CACHES_H
#define TW_CDNA_CACHES_H

#include <stdint.h>

#include "target/cdna/grid/order.h"
#include "tilewright/status.h"

enum { CDNA_XCDS_MAX = 64 };

typedef struct cdna_cache_machine {
  int xcds, cus; /* CUs of an XCD */
  int64_t l2_bytes, llc_bytes;
  int channels, interleave, line_bytes, ways; /* bytes of an L2 */
  double l2_tbs, llc_tbs;                     /* TB/s of all XCDs together, for equation 1 of the paper */
} cdna_cache_machine;

typedef struct cdna_grid {
  int64_t m, n, k;
  int tile_m, tile_n, tile_k;
  int bits; /* bytes of an element of A and B */
} cdna_grid;

typedef struct cdna_hits {
  double l2, llc;                 /* hit rates, relative to the requests to each */
  double bandwidth_tbs;           /* equation 1: l2 * l2_tbs + llc * llc_tbs */
  double llc_bytes, memory_bytes; /* bytes from L2s, and from the LLC, in a launch */
} cdna_hits;

static inline int cdna_grid_rows(const cdna_grid *g) { return (int)((g->m + g->tile_m - 1) / g->tile_m); }
static inline int cdna_grid_columns(const cdna_grid *g) { return (int)((g->n + g->tile_n - 1) / g->tile_n); }

/* `steps`: number of K-steps to simulate, with an LLC that is smaller in proportion. 0: enough that their reads are
 * several times an L2, because more steps do not change the rates. -1: all. `every`: a power of two,
 * of which one set is simulated; 1: all. */
tw_status cdna_grid_hits(const cdna_cache_machine *, const cdna_grid *, const cdna_order *, int steps, int every,
                         cdna_hits *, tw_error *);

/* ---- search.c ---- */

typedef struct cdna_grid_choice {
  cdna_order order;
  cdna_hits hits;
} cdna_grid_choice;

enum { CDNA_GRID_CHOICES = 8 };

/* The orders with the most bandwidth, best first, with the row-by-row order among them; `tried`: number of tried
 * orders. */
tw_status cdna_grid_search(const cdna_cache_machine *, const cdna_grid *, int jobs,
                           cdna_grid_choice best[CDNA_GRID_CHOICES], int *n, int *tried, tw_error *);

#endif
