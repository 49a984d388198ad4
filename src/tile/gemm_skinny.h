/* gemm_skinny.h - the structure of a GEMM of few rows: weights go by once, from memory through shared tiles to the registers of
 * warps that multiply by themselves. B is stored n x k; of types with shared scales as its codes (packed=1), which become
 * numbers in registers.
 *
 * A warp copies, the others multiply. A block has n columns of C and all rows; its warps have `rows` columns each, and where
 * those are fewer than warps, `warps` of them share each stage's k. Sums meet in shared memory, where tiles lay.
 *
 *   few n=64 k=512 rows=32 warps=4    columns of a block, k of a stage; columns of a warp, warps that share k
 *   stages 6                          under way; without: as many as fit
 *   blocks 2                          of a processor at once, which share its shared memory
 *   split 4                           blocks share k: a team adds their sums */
#ifndef TW_TILE_GEMM_SKINNY_H
#define TW_TILE_GEMM_SKINNY_H

#include "tile/family.h"

typedef struct tw_tile_skinny_plan {
  int n, k, rows, warps, stages, blocks, split; /* n = 0: no step yet */
  int few;                                      /* m rounded up to what a product takes */
  int bytes;                                    /* of a row of B, of a stage */
  int pieces, together, count; /* of 32 along k: of a warp, a stage; that share a scale; scales of these */
  int threads;
  int64_t shared_bytes;
} tw_tile_skinny_plan;

/* Is it a problem for this structure alone? Its weights are packed. */
bool tw_tile_skinny_only(const tw_problem *);
extern const tw_tile_family tw_tile_skinny;
/* Has a processor room for so many blocks, and can `split` of them add their sums? Why not. */
tw_status tw_tile_skinny_fits(const tw_tile_machine *, int blocks, int threads, int registers, int split, tw_error *);

#endif
