// A GEMM of tiles in C: four waves compute 128 x 128 of C = A B^T, each 64 x 64; tiles go past the registers, one ahead.
// build/tilewright run examples/tiles/gemm_cdna.c gemm m=1024 n=1024 k=1024 b_transposed=1 a=bf16 c=f32 -t cdna4
//: kernel    gemm
//: let       BM = 128, BN = 128, BK = 64
//: require   a == bf16 && b == bf16 && c == f32 && !a_transposed && b_transposed && bias == 0 && k % 64 == 0 && n % 4 == 0
//: grid      ceildiv(m, BM) * ceildiv(n, BN)
//: block     256
//: shared    2 * (BM + BN) * BK * 2
//: args      A, B, C, m, n, k, lda, ldb, ldc
#include "tile.h"

enum { ROW = BK * 2, TILE = BM * ROW, STAGE = 2 * TILE, COPIES = TILE / (256 * 16) };

/* Where a piece of a tile lies; tilewright view swizzle -t cdna4 finds such terms. */
TW_C unsigned swizzled(unsigned o) { return TW_SWIZZLE(o, 10, 8, 5); }

/* A thread's copies of a tile of rows that are `pitch` bytes long. */
TW_C void copy(TW_LOCAL unsigned char *to, tw_rows from, unsigned pitch, int col) {
  for (int i = 0; i < COPIES; i++) {
    const unsigned at = swizzled((unsigned)(i * 256 + tw_thread()) * 16);
    tw_copy16(to + (i * 256 + tw_group() * 64) * 16, from, at / ROW * pitch + at % ROW, (unsigned)col * 2);
  }
}

TW_KERNEL(256, 1)
gemm(const void *a, const void *b, void *c, int m, int n, int k, int lda, int ldb, int ldc) {
  const int across = (n + BN - 1) / BN, row = tw_block() / across * BM, col = tw_block() % across * BN;
  const int rows = m - row < BM ? m - row : BM, cols = n - col < BN ? n - col : BN;
  const tw_rows from_a = tw_rows_of((const char *)a + (long)row * lda * 2, (unsigned)((rows - 1) * lda + k) * 2);
  const tw_rows from_b = tw_rows_of((const char *)b + (long)col * ldb * 2, (unsigned)((cols - 1) * ldb + k) * 2);
  const int down = tw_group() / 2 * 64, right = tw_group() % 2 * 64, lane = tw_lane();
  TW_LOCAL unsigned char *const lds = (TW_LOCAL unsigned char *)tw_dynamic;
  tw_f32x4 sums[4][4] = {0};
  copy(lds, from_a, (unsigned)lda * 2, 0);
  copy(lds + TILE, from_b, (unsigned)ldb * 2, 0);
  for (int s = 0; s < k / BK; s++) {
    TW_LOCAL unsigned char *const now = lds + s % 2 * STAGE, *const next = lds + (s + 1) % 2 * STAGE;
    TW_COPIES_WAIT(0);
    tw_sync_block();
    if (s + 1 < k / BK) {
      copy(next, from_a, (unsigned)lda * 2, (s + 1) * BK);
      copy(next + TILE, from_b, (unsigned)ldb * 2, (s + 1) * BK);
    }
    for (int q = 0; q < BK / 32; q++) {
      tw_words left[4], right_side[4];
      const unsigned at = swizzled((unsigned)(lane % 16 * ROW + q * 64 + lane / 16 * 16));
      for (int i = 0; i < 4; i++) {
        left[i] = tw_read16(now + (down + i * 16) * ROW + at);
        right_side[i] = tw_read16(now + TILE + (right + i * 16) * ROW + at);
      }
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sums[i][j] = tw_mma_bf16(right_side[j], left[i], sums[i][j]);
    }
  }
  const tw_rows to = tw_rows_of((char *)c + ((long)row * ldc + col) * 4, (unsigned)((rows - 1) * ldc + cols) * 4);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const int y = down + i * 16 + lane % 16, x = right + j * 16 + lane / 16 * 4;
      if (x < cols) tw_store16(to, (unsigned)(y * ldc + x) * 4, __builtin_bit_cast(tw_words, sums[i][j]));
    }
}
