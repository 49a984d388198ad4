/* gemm_skinny.h - skinny GEMM (few rows, as in decoding) for NVIDIA GPUs.
 *
 * Weights are read once: from memory through shared tiles to the registers of warps that multiply by themselves. B is stored
 * n x k. Types with shared scales are stored as codes (packed=1), which become numbers in registers.
 *
 * One warp copies (with shuffle=mma two or three do), and all other warps multiply. A block has n columns of C and all rows; a warp has `rows` columns. If these are fewer
 * than the warps, `warps` of them share the k of each stage. Their partial sums meet in shared memory, in place of the tiles.
 *
 *   skinny n=64 k=512 rows=32 warps=4    columns of a block, k of a stage; columns of a warp, warps that share k
 *   stages 6                             stages in flight [default: as many as fit]
 *   blocks_per_sm 2                      blocks of a multiprocessor at once; they share its shared memory
 *   split_k 4                            blocks of a cluster divide k and add their partial sums
 *   prefetch_weights 1                   packed weights are constant across launches, so their first stages load before the previous
 *                                        kernel has ended (PDL). This many blocks on each multiprocessor, some without work,
 *                                        keep the blocks of every launch in the same places */
#ifndef TW_TILE_GEMM_SKINNY_H
#define TW_TILE_GEMM_SKINNY_H

#include "gpu/common/family.h"
#include "op/gemm_problem.h"

typedef struct tw_tile_skinny_plan {
  int n, k, rows, warps, stages, blocks, split, rest; /* n = 0: no step yet; `rest` is prefetch_weights */
  int few;                                            /* m rounded up to the rows of a product */
  int bytes;                                          /* bytes of a row of B in a stage */
  /* pieces of 32 along k: of a warp in a stage; that share a scale; number of their scales */
  int pieces, together, count;
  int producers; /* warps that copy */
  int words;     /* of scales of a stage and row, with shuffle=mma; 0: none are copied */
  int threads;
  int64_t shared_bytes;
} tw_tile_skinny_plan;

/* True if no other structure supports the problem: its weights are packed. */
bool tw_tile_skinny_only(const tw_problem *);
extern const tw_tile_family tw_tile_skinny;

/* ---- shared with swap-AB GEMM ---- */

enum { TW_TILE_SKINNY_STAGES = 24 }; /* at most */

/* Elements of k whose scales are a word: of mxfp4 four groups; 0: a row of B has one scale, or none. */
int64_t tw_tile_skinny_word_k(const tw_gemm *);
/* The words of scales of a row in a stage of k; 0: none. A stage must have whole words, or a word whole stages. */
tw_status tw_tile_skinny_words(const tw_gemm *, int k, int *words, tw_error *);
/* Warps that copy: one, or with shuffle=mma one each for weights, A and, if there are words, scales. */
int tw_tile_skinny_producers(const tw_gemm *, int words);

/* What a block of a kernel that streams weights through shared memory needs. */
typedef struct tw_tile_skinny_block {
  int threads, registers;
  int step, barriers; /* k, and barriers, of a stage */
  int64_t tile_bytes; /* of a stage */
  int sums, columns;  /* rows of partial sums that are added in the tiles' memory, and their columns */
} tw_tile_skinny_block;

/* Can a multiprocessor hold `blocks` blocks, and can `split` of them divide k and add their sums? The error gives the
 * reason if not. Sets *shared_bytes, and *stages where it is 0: as many as fit. */
tw_status tw_tile_skinny_fits(const tw_tile_machine *, int64_t k, const tw_tile_skinny_block *, int blocks, int split,
                              int *stages, int64_t *shared_bytes, tw_error *);

#endif
