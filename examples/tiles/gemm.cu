// The plainest GEMM of tiles: a block of one group computes 64 x 128 of C = A B^T, one step of k after the other.
// build/tilewright run examples/tiles/gemm.cu gemm m=4096 n=4096 k=4096 b_transposed=1 a=bf16 -t cuda
//: kernel    gemm
//: let       BM = 64, BN = 128, BK = 64
//: require   a == bf16 && b == bf16 && c == bf16 && !a_transposed && b_transposed && bias == 0
//: grid      ceildiv(m, BM) * ceildiv(n, BN)
//: block     128
//: shared    1024 + (BM + BN) * BK * 2 + 8
//: map       a = A box(BK, BM) swizzle(128)
//: map       b = B box(BK, BN) swizzle(128)
//: args      a, b, C, m, n, k, ldc
#include "tile.cuh"
using namespace tw;

TW_KERNEL(128, 1) gemm(TW_TENSOR a, TW_TENSOR b, bf16 *c, int m, int n, int k, int ldc) {
  arena memory;
  const auto as = memory.take<shared<bf16, BM, BK>>();
  const auto bs = memory.take<shared<bf16, BN, BK>>();
  const auto full = memory.take<barrier>();
  if (thread_of_block() == 0) {
    full.init(1);
    barriers_ready();
  }
  sync_block();
  const place p = place_of<1>(block_of_grid(), (m + BM - 1) / BM, (n + BN - 1) / BN);
  acc<BM, BN> sums;
  for (int s = 0; s < (k + BK - 1) / BK; s++) {
    if (thread_of_block() == 0) {
      full.expect(as.bytes + bs.bytes);
      copy(as, a, p.row * BM, s * BK, full);
      copy(bs, b, p.col * BN, s * BK, full);
    }
    full.wait(s % 2);
    mma_begin();
    mma_abt(sums, as, bs, s > 0);
    mma_commit();
    mma_wait<0>();
    sync_block();
  }
  put(c, ldc, sums.value[0], p.row * BM, p.col * BN, m, n, as_is());
}
