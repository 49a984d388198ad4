/* loop.h - the innermost loop of a GEMM of tiles, for machines that write it themselves: in an order of instructions and in
 * registers of their own, where a compiler would choose others. What is around it is the kernel's, in the words of
 * docs/tiles.md.
 *
 * The loop is one statement of that kernel. It copies tiles of both operands to their stages, reads them, and leaves in
 * `sums` (acc<product, rows, cols>) their products over all steps. It uses these names, and no others:
 *
 *   steps                    tiles along k, at least one
 *   a_matrix b_matrix        u32x4: the buffer resource of the tile's rows, from the first column of the first tile on
 *   a_lane b_lane            u32: where the lane's part of the first copy of a tile is, beside that
 *   a_down b_down            u32: how much further down the next copy of a tile is
 *   a_past b_past            u32: with `tail`, the highest bit where the last tile's columns past the matrix' are the lane's
 *   copied                   u32: LDS address of the group's part of A's first copy; B's tiles lie behind all of A's
 *   a_read[i] b_read[i]      u32: LDS addresses of the lane's 16 bytes of piece i of the group's first row */
#ifndef TW_TILE_LOOP_H
#define TW_TILE_LOOP_H

#include <stdbool.h>

#include "tilewright/type.h"

typedef struct tw_tile_loop {
  tw_type a, b;
  int side, rows, cols, depth; /* matrix instructions of a group: their side; down and across C; along k of a tile */
  int groups, stages;
  int a_bytes, b_bytes, row_bytes; /* of a tile, of its rows */
  bool tail;                       /* k ends within a tile */
} tw_tile_loop;

/* 16 bytes of a lane that an operand of all products along k of a tile has, for one row of it. */
static inline int tw_tile_loop_pieces(const tw_tile_loop *l, int threads) {
  return l->row_bytes / (threads / l->side * 16);
}

#endif
