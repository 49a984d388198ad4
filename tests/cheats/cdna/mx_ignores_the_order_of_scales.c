// wrong | wrong result | gemm m=16 n=32 k=256 a=mxfp4 b=mxfp4 c=f32 packed=1 shuffle=aiter -t cdna4
/* given scales are in AITER's order, and are read as if they were in rows */
//: kernel gemm
//: grid 1
//: block 64
//: shared 0
//: args A, SA, B, SB, C, m, n, k, ldc
#include "tile.hpp"
using namespace tw;
TW_KERNEL(64, 1) gemm(const u8 *a, const u8 *sa, const u8 *b, const u8 *sb, float *c, int m, int n, int k, int ldc) {
  acc<mx_product, 2, 2> sums;
  sums.clear();
  mx_right<mxfp4, 1, mx_in_rows, mx_in_rows> rows[1];
  mx_right<mxfp4, 1, mx_in_tiles, mx_in_rows> columns[1];
  rows[0].load(a, sa, 0, m, k, 0);
  columns[0].load(b, sb, 0, n, k, 0);
  mx_multiply_packed(sums, rows[0], columns[0]);
  put<true>(c, ldc, sums, 0, 0, m, n, as_is());
}
