/* loop.h - the hand-scheduled loop over k of a tile GEMM. The machine writes it in assembly, with its own order of
 * instructions and registers. The kernel around it is C++ with the functions of docs/reference/tile-library.md.
 *
 * The loop is one statement of that kernel. It copies tiles of both operands to their stages, reads them, and leaves in
 * `sums` (acc<product, rows, cols>) their products over all steps. It uses these names, and no others:
 *
 *   steps                    tiles along k, at least one
 *   a_matrix b_matrix        u32x4: the buffer resource of the first tile's rows, from its first column on
 *   a_lane[i] b_lane[i]      u32: where the lane's part of a tile's copy i is, beside that; without `each_lane`
 *                            that of the first copy alone, and
 *   a_down b_down            u32: how much further down the next copy is
 *   a_past b_past            u32: with `tail`, the highest bit where the last tile's columns past the matrix' are the lane's
 *   a_step b_step            u32: of operands that are stored `across`: bytes from a tile to the next,
 *   a_full b_full            u32: bytes of the resource of a whole tile,
 *   a_last b_last            u32: and of the last one
 *   copied                   u32: LDS address of the group's part of A's first copy; B's tiles follow all of A's
 *   a_read[i] b_read[i]      u32: LDS addresses that the lane reads from, of the first stage: `pieces` of them
 *
 * and, where copies go through registers,
 *
 *   laid                     u32: LDS address where the lane's part of A's first copy is stored
 *
 * and, with `blocks`, whose tiles are blocks of k with f32 scales along k for each row of A and for all of B,
 *
 *   sa_matrix sb_matrix      u32x4: the buffer resources of scales
 *   sa_lane[i] sb_lane       u32: bytes from there to the first scale of the lane's row in A's fragment i, and of B
 *
 * and of block-scaled types, whose scales are copied with the tiles, 16 bytes of a lane, to stages after all of B's:
 *
 *   scale_matrix scale_lane  u32x4, u32: the resource of the group's part of the first tile's scales, the lane's place in it
 *   scale_step               u32: bytes from a tile's scales to the next one's
 *   a_scale b_scale          u32: LDS addresses of the lane's scales, of the first stage: a byte for each fragment at each
 *                            depth, depths of a fragment together; with `scale_words`, of its first word */
#ifndef TW_TILE_LOOP_H
#define TW_TILE_LOOP_H

#include <stdbool.h>

#include "tilewright/type.h"

typedef struct tw_tile_loop_operand {
  tw_type type;
  int fragments;        /* fragments of a wave: sides of matrix instructions */
  bool across;          /* the tile is stored with k down its rows; two transposing reads of 8 bytes read a fragment */
  bool each_lane;       /* each copy has its own lane offsets: `across`, and rows of 96 bytes (6-bit types) */
  int bytes, row_bytes; /* bytes of a tile; bytes of one of its rows */
  int advance;          /* bytes in memory from a tile to the next one, of an operand that is not `across` */
} tw_tile_loop_operand;

typedef struct tw_tile_loop {
  tw_tile_loop_operand operand[2]; /* A, B */
  int side, depth;                 /* side of matrix instructions; number of them along k of a tile */
  int groups, stages;
  bool tail;   /* k ends within a tile */
  bool scaled; /* the types are of blocks with scales */
  /* Scales are in AITER's order: words of a lane, each for two fragments and two depths. With `side` 16 a word is for 32
   * rows, 256 bytes after the previous word. Bytes 0 and 2 are of the first fragment, 0 and 1 of the first depth.
   * With `side` 32 two words are for 64 rows, 512 bytes after the previous two: depths 0 and 2, and, 128 bytes further,
   * depths 1 and 3. Of these rows, the first fragment has rows 0 to 15 and 32 to 47, and the second has rows 16 to 31
   * and 48 to 63. */
  bool scale_words;
  bool laid;   /* copies go through registers */
  bool blocks; /* the sums of a tile are multiplied by scales and then added */
} tw_tile_loop;

/* Reads for one fragment. */
static inline int tw_tile_loop_reads(const tw_tile_loop *l, int operand, int threads) {
  const tw_tile_loop_operand *o = &l->operand[operand];
  const bool float6 = o->type == TW_E2M3 || o->type == TW_E3M2; /* three reads of 8 bytes (x4_b64) */
  return o->across ? 2 : float6 ? 3 : o->row_bytes / (threads / l->side * 16) / l->depth;
}
/* Addresses that do not follow from one another: one for each depth, or, with `across`, one for each fragment. */
static inline int tw_tile_loop_pieces(const tw_tile_loop *l, int operand, int threads) {
  const tw_tile_loop_operand *o = &l->operand[operand];
  return tw_tile_loop_reads(l, operand, threads) * (o->across ? o->fragments : l->depth);
}
/* Bytes of a lane's scales in a tile. */
static inline int tw_tile_loop_scales(const tw_tile_loop *l, int operand) {
  return l->operand[operand].fragments * l->depth;
}

/* ---- attention, backward ----
 *
 * The loop over the queries that see a block's keys, of all heads that share them, 32 at a time: S = Q K^T, dP = dO V^T,
 * dV += P^T dO, dK += dS^T Q, dQ = dS K; `causal` from the last ones to the first, so that blocks that begin
 * together read the same ones. A wave has 32 `tiles` keys; K is in LDS, V in registers, dK and dV are
 * left in `k_sums` and `v_sums` (acc<product, tiles, d / 32>); dQ is added up in memory. Names that it uses:
 *
 *   own_v                     u32x4 [tiles][d / 16]: what an operand of them is
 *   steps head_steps          of 32 queries, at least one; how many of them are a head's
 *   q_matrix g_matrix         u32x4: buffer resources of the first queries and gradients of O
 *   q_lane                    u32: where the lane's part of the group's first copy of them is, beside that
 *   q_full q_down q_back      u32: bytes that the resources have at the beginning of a head; to the next queries; i64: from a
 *                             head's last to the next one's first
 *   lines_matrix lines_lane   u32x4, u32: the resource of the first queries' exponents; the lane's part
 *   inner_from lines_back     u32: from them to -D; as q_back
 *   dq_matrix dq_lane         u32x4, u32: the resource, of no bytes yet, of sums of dQ, which has 128 d bytes for 32 queries,
 *                             of the step before the first; the lane's part
 *   dq_back                   u32: as q_back
 *   factor_bits               u32: an f32; scores times it are exponents of 2
 *   hidden hidden_now         i32, `partial`: how many of the group's keys are not there, or less than 1; `causal`: first of the group's first 32 keys that the first query does not see, counted from
 *                             the last of these backwards; for a head, and now
 *   key                       u32: the lane's key among these, less 4 (lane / 32)
 *   copied                    u32: LDS address of the group's first copy of queries
 *   rows_q rows_k             u32: LDS addresses that a lane reads along the rows of Q and dO, of its group's keys;
 *   down_q_at down_k_at       [2], down their columns, of the first 16 of 32 rows and of the last 16;
 *   slopes                    [2] dS, of the first 8 of 16 keys and of the last 8;
 *   slopes_to                 [2] and writes of dS to, of the first 8 of 16 queries and of the last 8
 *
 * Shared memory is as the machine's words have it. */
typedef struct tw_tile_back_loop {
  tw_type type;
  int d, tiles, groups;
  bool causal;
  /* Some keys of the waves do not exist and are masked. Not with `causal`, which masks them anyway. */
  bool partial;
} tw_tile_back_loop;

#endif
