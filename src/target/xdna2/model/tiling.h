/* tiling.h - arithmetic intensity of tiled GEMM, with asymmetric tile buffering (ATB).
 *
 * Section 3 of "Can Asymmetric Tile Buffering Be Beneficial?" (Wang et al.), for any number of memory levels and any
 * element sizes. C is m x n; a tile of it is kept until all of K is
 * accumulated, while tiles of A (m_a x k) and B (k x n) are loaded, m_a = m / rho rows of A at a time. rho = 1 is
 * symmetric buffering. */
#ifndef TW_XDNA2_TILING_H
#define TW_XDNA2_TILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tw_tile {
  int64_t m, k, n; /* T_MC, T_K, T_N: rows of C, depth of A and B, columns of C */
  int64_t rho;     /* T_MC / T_MA; at least 1 */
} tw_tile;

/* Bytes of one element; 9/8 for eight mantissas of a byte with a shared exponent of one. */
typedef struct tw_element_bytes {
  double a, b, c;
} tw_element_bytes;

/* One memory level, described by the level below it: `rows` x `columns` instances of that level compute side by side; a
 * tile of A is broadcast along a row of them, one of B along a column. The innermost level has 1 x 1. */
typedef struct tw_level {
  int64_t rows, columns;
  int64_t rho; /* asymmetry of the buffers at this level */
} tw_level;

/* Section 3.2: the tile of levels[n - 1], made of the tiles of all instances below; levels[0] holds `inner`. The
 * depth of a tile is the same at each level. */
tw_tile tw_level_tile(const tw_level levels[], size_t n, const tw_tile *inner);

/* Equation 2: AI_array, operations (two per multiply-accumulate) for each byte that moves into and out of levels[n - 1].
 * With {{1, 1}, {4, 8}} and n = 2 it is the paper's 2 / (a/(8 T_N) + b/(4 T_MC) + c/K). It is independent of T_K and
 * rho. `depth` is the K of the problem. */
double tw_intensity_at(const tw_level levels[], size_t n, const tw_tile *inner, const tw_element_bytes *, double depth);

/* The least bytes of element traffic for a whole GEMM m x n x k out of level n - 1: A once for each column of its
 * tiles, B once for each row of them, C once. Sizes that do not divide are padded to whole tiles. */
typedef struct tw_traffic {
  double a, b, c; /* bytes */
} tw_traffic;
tw_traffic tw_gemm_traffic(const tw_tile *outer, const tw_element_bytes *, double m, double n, double k);

#endif
