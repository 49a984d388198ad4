// GEMM with pinned register tiles: four waves of 64 x 64 sums in v[128:191], with operands in accumulation registers.
// build/tilewright run examples/tiles/gemm_pinned_cdna.hip gemm m=1000 n=1000 k=1024 b_transposed=1 a=bf16 c=f32 -t cdna4
//: kernel    gemm
//: let       BM = 128, BN = 128, BK = 32
//: require   a == bf16 && b == bf16 && c == f32 && !a_transposed && b_transposed && bias == 0 && k % 32 == 0 && n % 4 == 0
//: grid      ceildiv(n, BN), ceildiv(m, BM)
//: block     256
//: compile   sums_in_vgprs
//: shared    (BM + BN) * BK * 2
//: args      A, B, C, m, n, k, lda, ldb, ldc
#include "tile.hpp"
using namespace tw;
using left_tile = shared<bf16, BM, BK>;
using right_tile = shared<bf16, BN, BK>;

TW_KERNEL(256, 1)
gemm(const bf16 *a, const bf16 *b, float *c, int m, int n, int k, int lda, int ldb, int ldc) {
  const int row = (int)__builtin_amdgcn_workgroup_id_y() * BM, col = block_of_grid() * BN;
  const int below = group_of_block() / 2 * 64, right_of = group_of_block() % 2 * 64;
  arena memory;
  const left_tile as = memory.take<left_tile>();
  const right_tile bs = memory.take<right_tile>();
  copier<left_tile, 4, false> from_a(a, lda, row, m, k);
  copier<right_tile, 4, false> from_b(b, ldb, col, n, k);
  rt_bf<64, BK> left, right;
  rt_fl<64, 64> sums;
  zero(sums);
  from_a.load(0);
  from_b.load(0);
  for (int at = 0; at < k; at += BK) {
    from_a.lay(as);
    from_b.lay(bs);
    sync_block();
    load_shared(left, as, below, 0);
    load_shared(right, bs, right_of, 0);
    from_a.load(at + BK);
    from_b.load(at + BK);
    pin<'a', 0>(left);
    pin<'a', 64>(right);
    pin<'v', 128>(sums);
    mma_ABt(sums, left, right, sums);
    pin<'v', 128>(sums);
    sync_block();
  }
  store(matrix_of<float>{c, ldc, m, n}, sums, row + below, col + right_of);
}
