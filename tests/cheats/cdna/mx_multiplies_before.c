// correct |  | gemm m=64 n=64 k=64 a=mxfp4 b=mxfp4 c=f32 -t cdna4 | 4.3e-6
/* kernels before the main one count, whether they pack or multiply */
//: let       BM = 32, BN = 32, GROUPS = 1, AHEAD = 1, SPLIT = 1
//: let       COLUMNS = 64, DEEP = 256
//: require   n <= COLUMNS && k <= DEEP
//: workspace 17408 + 4 * m * n
//: before    pack_weights
//: grid      ceildiv(COLUMNS * (DEEP / 32), 256)
//: block     256
//: args      B, workspace, workspace(8192), n, k, ldb
//: let       LINES = 64
//: require   m <= LINES
//: before    pack_a
//: grid      ceildiv(LINES * (DEEP / 32), 256)
//: block     256
//: args      A, workspace(8704), workspace(16896), m, k, lda
//: before    products
//: grid      ceildiv(m, BM) * ceildiv(n, BN) * SPLIT
//: block     GROUPS * 64
//: shared    0
//: args      A, workspace(8704), workspace(16896), workspace, workspace(8192), workspace(17408), m, n, k, lda, n
//: kernel    copy
//: grid      ceildiv(m * n, 256)
//: block     256
//: args      workspace(17408), C, m * n
#include "tile.hpp"
using namespace tw;

constexpr int ROWS = BM / mx_rows, COLS = BN / GROUPS / 32; /* of a group */
using left = mxfp4;  /* what A becomes */
using right = mxfp4;
using element = float; /* of A in memory */

/* From a sum to an element of C, i rows and j columns from the first. */
struct result {
  int row, col, m, n;
  TW_FN float operator()(float v, int i, int j) const {
    return v;
  }
};

TW_KERNEL(256, 1) pack_weights(const float *b, u8 *packed, u8 *scales, int n, int k, int ldb) {
  mx_pack<right>(b, ldb, 1, packed, scales, n, k, COLUMNS, DEEP);
}

TW_KERNEL(256, 1) pack_a(const element *a, u8 *packed, u8 *scales, int m, int k, int lda) {
  mx_pack<left>(a, 1, lda, packed, scales, m, k, LINES, DEEP);
}

TW_KERNEL(GROUPS * group_threads, 1) products(const element *a, const u8 *packed_a, const u8 *scales_a, const u8 *packed, const u8 *scales, float *c, int m, int n, int k, int lda, int ldc) {
  const int group = group_of_block(), part = block_of_grid() % SPLIT, begin = DEEP / mx_step * part / SPLIT;
  const int steps = DEEP / mx_step * (part + 1) / SPLIT - begin;
  k = min(k, (begin + steps) * mx_step);
  const place p = place_of_chips<0, 0, 8>(block_of_grid() / SPLIT, (m + BM - 1) / BM, (n + BN - 1) / BN);
  const int row = p.row * BM, col = p.col * BN + group * (BN / GROUPS);
  acc<mx_product, ROWS, 2 * COLS> sums;
  sums.clear();
  mx_right<left, ROWS / 2> lines[AHEAD];
  mx_right<right, COLS> weights[AHEAD];
  const auto fetch = [&](int i, int s) __attribute__((always_inline)) {
    lines[i].load(packed_a, scales_a, row, LINES, DEEP, begin + s, begin + steps);
    weights[i].load(packed, scales, col, COLUMNS, DEEP, begin + s, begin + steps);
  };
#pragma unroll
  for (int i = 0; i < AHEAD; i++) fetch(i, i);
  fixed_here(); /* else the compiler loads late */
  for (int first = 0; first < steps; first += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      mx_multiply_packed(sums, lines[i], weights[i]);
      if (first + AHEAD < steps) fetch(i, first + i + AHEAD);
      fixed_here();
    }
  }
  const result finish{row, col, m, n};
  put<true>(c, ldc, sums, row, col, m, min(n, col + BN / GROUPS), finish);
}

TW_KERNEL(256, 1) copy(const float *from, float *to, int n) {
  const int i = block_of_grid() * 256 + int(__builtin_amdgcn_workitem_id_x());
  if (i < n) to[i] = from[i];
}
