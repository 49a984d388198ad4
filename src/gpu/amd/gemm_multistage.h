/* gemm_multistage.h - multistage GEMM for AMD GPUs, where all waves have the same code.
 *
 * Each wave copies its share of the tiles of A and B, and multiplies its part of the workgroup's tile of C from registers.
 * It suits machines whose copies signal no barriers and whose registers do not move between waves. gemm_warp_specialized.h
 * has the structure for other machines. The empty schedule has small tiles and one stage, copied through registers. Steps:
 *
 *   tile m=256 n=256 k=64     the tile of C of a workgroup; the step along k
 *   waves m=2 n=4             waves of a workgroup, in rows and columns of its tile
 *   mfma 32                   side of a matrix instruction: 16 or 32
 *   stages 2                  tiles of A and B in LDS: one is multiplied while more arrive
 *   copy registers            copy through registers instead of direct-to-LDS loads
 *   loads x3_b96              how operands of 6 bits get to LDS and to registers (tile_float6.hpp)
 *   no_swizzle                rows of LDS tiles without swizzle
 *   rasterize window=8 chunk=64   which workgroup has which tile, on GPUs with several chiplets (XCDs)
 *   split_k 4                 workgroups divide k and store partial sums in the workspace; a second kernel adds them
 *   pingpong 4                half of the waves multiply while the other half reads LDS and copies (8-wave ping-pong)
 *   interleave                the compiler is asked to spread reads and copies among matrix instructions
 *   register_prefetch         operands of the next products are read while the current ones multiply
 *   hand_scheduled            the k-loop is assembly with fixed order and registers (loop.h)
 *   producers 4               extra waves that only copy; all other waves only multiply (warp-specialized)
 *   keep_in_registers 4       no LDS: each wave loads its operands to registers, 4 steps early; with as many steps as k has,
 *                             all operands are loaded at the start
 *   split_k_waves 4 m=16 n=64   waves of a workgroup divide k, keep their operands in registers, and add their sums in LDS
 *
 * Operands whose pitch or layout does not allow copies of 16 bytes are copied element by element. */
#ifndef TW_TILE_GEMM_MULTISTAGE_H
#define TW_TILE_GEMM_MULTISTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/amd/loop.h"
#include "gpu/common/family.h"
#include "op/gemm_problem.h"

typedef enum tw_tile_way { TW_TILE_DIRECT, TW_TILE_REGISTERS, TW_TILE_ELEMENTS } tw_tile_way;
/* Copies and reads of operands of 6 bits, as tile_float6.hpp calls them. */
typedef enum tw_tile_loads6 {
  TW_TILE_X4_B64,
  TW_TILE_X4_B128,
  TW_TILE_X4_B96,
  TW_TILE_X3_B96,
  TW_TILE_X1_B64
} tw_tile_loads6;

typedef struct tw_tile_multistage_plan {
  int m, n, k;
  /* Waves, in rows and columns. */
  int groups_m, groups_n;
  /* Side of a matrix instruction. */
  int side;
  int stages;
  bool registers, no_swizzle;
  tw_tile_loads6 loads;
  int window, chunk, split;
  /* Phases of a step: 0 (no ping-pong), 2 or 4. */
  int pingpong;
  /* `ahead` is register_prefetch. */
  bool interleave, ahead, hand_scheduled;
  int producers, keep_in_registers;
  /* Sets of waves that divide k. */
  int shares;
  /* Derived. `deep` is the k of a matrix instruction; `row` is the bytes of a row of an LDS tile along k. */
  int deep, row;
  tw_tile_way way_a, way_b;
  /* The LDS tile is stored k x n (k x m), as in memory. */
  bool across_b, across_a;
  /* Ping-pong with direct-to-LDS loads: each wave has a part of all four quarters of the tile. */
  bool halves;
  /* B is k x n in memory, and its columns go straight to registers. */
  bool columns_b;
  /* k ends within a tile. */
  bool tail;
  int64_t shared_bytes;
  /* Accumulator registers of a thread. */
  int sums;
} tw_tile_multistage_plan;

extern const tw_tile_family tw_tile_multistage;

/* Writes the kernel of a plan. */
tw_status tw_tile_multistage_write(const tw_tile_machine *, const tw_problem *, const void *plan, tw_text *,
                                   tw_error *);
/* The loop that the machine writes, for a plan with hand_scheduled. */
tw_tile_loop tw_tile_multistage_loop(const tw_gemm *, const tw_tile_multistage_plan *);
/* `put`'s argument Whole (docs/reference/tile-library.md) for a C with this many columns and this pitch. */
const char *tw_tile_whole(int64_t columns, int64_t pitch);
/* Writes the names of loop.h for operand 'a' or 'b', in a kernel that defines from_a, own_row, BK, steps and so on.
 * `split`: the steps begin at `begin`. */
tw_status tw_tile_loop_operand_write(const tw_tile_machine *, const tw_tile_loop *, char name, bool split, tw_text *,
                                     tw_error *);

#endif
