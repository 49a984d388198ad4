/* gemm_warp_specialized.h - the structure of a GEMM kernel of tiles: a schedule, and the kernel that it describes.
 *
 * The empty schedule has no kernel here: what is plainest is the target's. Steps:
 *
 *   tile m=128 n=256 k=64 groups=2    a block computes m x n of C, k of its sums at a time, its rows shared among groups
 *   tile m=64 n=256 groups=2 turns    a group computes m x n; groups take turns: while one stores, the next multiplies
 *   stages 4                          tiles of A and B under way
 *   team m=2 | team n=2               two blocks share a tile of B (A): each copies half of it to both
 *   products 3                        f32 as a sum of products of bf16, of 2 (3) parts of each factor
 *   promote k=256                     sums of so much of k are added to others, rounded to nearest
 *   parts 33                          blocks share a tile's k; a kernel behind adds their sums
 *   even                              blocks have as many steps each, wherever tiles begin (stream-K)
 *   split 4                           blocks share a tile's k; the first adds what the others send it: for few tiles
 *   aligned                           a kernel before copies A and B to rows that copies of tiles can take
 *   band m=8 | band n=8               the order of tiles: bands of 8 rows (columns) of them
 *   staging 2                         tiles of results that a group holds in shared memory
 *   registers copy=40 multiply=232    of a thread; what copies needs few
 *
 * Operands whose pitch copies of whole tiles cannot take, or whose layout the multiplier cannot, are copied by the threads of
 * a group: in pieces of 4 or 8 bytes that nobody waits for, where pitch and layout allow that, else element by element. */
#ifndef TW_TILE_GEMM_WARP_SPECIALIZED_H
#define TW_TILE_GEMM_WARP_SPECIALIZED_H

#include <stdbool.h>
#include <stdint.h>

#include "tile/family.h"
#include "tile/gemm_before.h"

typedef struct tw_tile_gemm_plan {
  int m, n, k, groups; /* m = 0: no tiles yet */
  bool turns, even, aligned;
  int stages, team_m, team_n, split, parts;
  int products, promote; /* 0: the types themselves; 0: never */
  bool band_columns;
  int band, staging, width;               /* of a tile of results: its columns */
  int registers_copy, registers_multiply; /* 0: as the compiler has it */
  bool scales_early;                      /* of rows and columns: there is room for them while products are made */
  bool scales_staged;                     /* of blocks: they come with a stage's tiles */
  bool moved_a, moved_b;                  /* a kernel before copies them to rows that copies of tiles can take */
  bool turned_a, turned_b;                /* and so that k lies along them */
  bool copies_a, copies_b, copies_c;      /* asynchronously; else by threads */
  int piece_a, piece_b;    /* of A and B by threads: bytes that each copies asynchronously; 0: it waits */
  bool across_a, across_b; /* their shared tiles are stored with k across the rows */
  int64_t shared_bytes;
} tw_tile_gemm_plan;

extern const tw_tile_family tw_tile_gemm;

/* Its writer. */
tw_status tw_tile_gemm_write(const tw_tile_machine *, const tw_problem *, const void *plan, tw_text *, tw_error *);

/* What A and B are in shared tiles. */
tw_type tw_tile_gemm_factor(const tw_tile_gemm_plan *, tw_type a);

#endif
