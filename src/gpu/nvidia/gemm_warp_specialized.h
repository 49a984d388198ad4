/* gemm_warp_specialized.h - warp-specialized GEMM for NVIDIA Hopper: the plan of a schedule.
 *
 * One producer warpgroup copies tiles of A and B with TMA. One or more consumer warpgroups multiply them with wgmma. The empty
 * schedule is the target's plain kernel. Steps:
 *
 *   tile m=128 n=256 k=64 consumers=2     the tile of C of a block, shared by its consumers (cooperative); the step along k
 *   tile m=64 n=256 consumers=2 pingpong  each consumer has an m x n tile of its own: one stores while the other multiplies
 *   stages 4                              pipeline depth: tiles of A and B in flight or in use
 *   cluster m=2 | cluster n=2             two blocks share a tile of B (A): each copies half of it to both (multicast)
 *   products 3                            f32 as a sum of products of bf16 parts, 2 (3) parts of each operand
 *   promote k=256                         partial sums of this many k are added to a second accumulator (two-level)
 *   split_k_workspace 33                  blocks divide k; a second kernel adds the partial sums (split-K)
 *   stream_k                              every block has the same number of k steps, wherever tiles begin (stream-K)
 *   split_k 4                             the blocks of a cluster divide k; each adds the partial sums of some consumers
 *   repack                                a first kernel copies A and B to rows that TMA can read
 *   rasterize m=8 | rasterize n=8         order of tiles: bands of 8 rows (columns) of tiles
 *   epilogue_stages 2                     tiles of results that a consumer stages in shared memory
 *   registers producer=40 consumer=232    registers of a thread (setmaxnreg)
 *
 * Operands whose pitch or layout TMA or wgmma cannot use are copied by the threads of the producer: asynchronously in pieces
 * of 4 or 8 bytes where pitch and layout allow it, otherwise element by element. */
#ifndef TW_TILE_GEMM_WARP_SPECIALIZED_H
#define TW_TILE_GEMM_WARP_SPECIALIZED_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/common/family.h"
#include "gpu/nvidia/gemm_before.h"

typedef struct tw_tile_gemm_plan {
  /* m = 0: no `tile` step yet. `groups` are consumer warpgroups. */
  int m, n, k, groups;
  bool pingpong, stream_k, repack;
  /* `split` is split_k (through the cluster), `parts` is split_k_workspace. */
  int stages, cluster_m, cluster_n, split, parts;
  /* 0: operands are multiplied in their own types; 0: no promotion. */
  int products, promote;
  /* Rasterization: bands of `band` rows, or of columns. */
  bool band_columns;
  /* `staging` is epilogue_stages; `width` is the columns of a staged tile. */
  int band, staging, width;
  /* 0: the compiler decides. */
  int registers_copy, registers_multiply;
  /* Row and column scales are loaded before the mainloop: registers are free for them. */
  bool scales_early;
  /* Block scales arrive with the tiles of a stage. */
  bool scales_staged;
  /* A first kernel repacks the operand into rows that TMA can read. */
  bool moved_a, moved_b;
  /* The repacked rows run along k. */
  bool transposed_a, transposed_b;
  /* TMA copies the tiles; otherwise threads do. */
  bool copies_a, copies_b, copies_c;
  /* Copies by threads: bytes of an asynchronous copy; 0: synchronous. */
  int piece_a, piece_b;
  /* The shared tile is stored with k across the rows. */
  bool across_a, across_b;
  int64_t shared_bytes;
} tw_tile_gemm_plan;

extern const tw_tile_family tw_tile_gemm;

/* The slots of the kernel of a plan. */
void tw_tile_gemm_slots(const tw_tile_machine *, const tw_problem *, const void *plan, tw_slots *);

/* The type of A and B in shared tiles. */
tw_type tw_tile_gemm_factor(const tw_tile_gemm_plan *, tw_type a);

#endif
