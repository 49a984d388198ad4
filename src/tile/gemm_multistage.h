/* gemm_multistage.h - the structure of a GEMM kernel of tiles whose groups are alike: each copies its share of the tiles of A and B,
 * and multiplies its part of the block's tile of C from registers. For machines whose copies signal no barriers and whose
 * registers do not move between groups; gemm_warp_specialized.h has the structure for other machines.
 *
 * The empty schedule is the plainest: small tiles, one stage, through registers. Steps:
 *
 *   tile m=256 n=256 k=64     a block computes m x n of C, k of its sums at a time
 *   groups m=2 n=4            that share it: rows, columns
 *   product 32                rows and columns of a matrix instruction: 16, 32
 *   stages 2                  tiles of A and B in shared memory: one is multiplied while the others arrive
 *   copy registers            through registers, not past them
 *   straight                  rows of shared tiles lie as they are, without swizzle
 *   order window=8 chunk=64   which block has which tile, on machines of several chips
 *   split 4                   blocks share a tile's k and leave sums in the workspace; a kernel after them adds those
 *   turns 4                   half of the groups multiply while the other half reads and copies (ping-pong)
 *   interleave                the compiler is told to spread reads and copies among products
 *   ahead                     operands of the next products are read while these multiply
 *   pinned                    the loop is the machine's own assembly: its order of instructions, its registers (loop.h)
 *   producers 4               so many groups more, which copy; the others only multiply
 *   held 4                    no shared memory: each group loads what it multiplies to its registers, 4 steps ahead; as many
 *                             as k has: all of it from the start
 *
 * Operands whose pitch or layout no copy of 16 bytes can take are copied element by element. */
#ifndef TW_TILE_GEMM_MULTISTAGE_H
#define TW_TILE_GEMM_MULTISTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "op/gemm_problem.h"
#include "tile/family.h"
#include "tile/loop.h"

typedef enum tw_tile_way { TW_TILE_DIRECT, TW_TILE_REGISTERS, TW_TILE_ELEMENTS } tw_tile_way;

typedef struct tw_tile_multistage_plan {
  int m, n, k;
  int groups_m, groups_n;
  int side; /* of a matrix instruction */
  int stages;
  bool registers, straight;
  int window, chunk, split;
  int turns; /* of a step: 0, 2, 4 */
  bool interleave, ahead, pinned;
  int producers, held;
  /* What follows from that. */
  int deep; /* k of a matrix instruction */
  tw_tile_way way_a, way_b;
  bool across_b; /* its shared tile is stored k x n, as it is in memory */
  bool across_a;
  bool tail;  /* k ends within a tile */
  bool whole; /* four neighbours of a row of C are stored at once */
  int64_t shared_bytes;
  int sums; /* registers of a thread */
} tw_tile_multistage_plan;

extern const tw_tile_family tw_tile_multistage;

/* Its writer. */
tw_status tw_tile_multistage_write(const tw_tile_machine *, const tw_problem *, const void *plan, tw_text *,
                                   tw_error *);
/* What the machine is to write, of a plan that is pinned. */
tw_tile_loop tw_tile_multistage_loop(const tw_gemm *, const tw_tile_multistage_plan *);
/* What such a loop is told of operand 'a' or 'b', by the names of loop.h: in a kernel with from_a, own_row, BK, steps and so on.
 * `split`: its steps begin at `begin`. */
tw_status tw_tile_loop_operand_write(const tw_tile_machine *, const tw_tile_loop *, char name, bool split, tw_text *,
                                     tw_error *);

#endif
