/* gemm m=64 n=144 k=256 a=i8 b=i8 c=i32 acc=i32 on gemmini-16x16-int8, from the schedule
 *     buffers a=2 b=2
 *     tile m=64 n=144 k=64
 *     order ji
 *     reuse weights jki
 * 64 x 144 x 64 tiles (m x n x k), order ji; A streamed (2), B streamed (2), C in 1 buffer; loads 0 steps ahead.
 * Scratchpad: A in 2 slots of 256 rows from row 0 (bank 0), B in 2 of 576 from row 512 (bank 0).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
void test(int8_t A[64][256], int8_t B[256][144], int32_t C[64][144]) {
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  uint64_t b_load = 0;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  uint64_t a_load = 0;
  int32_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  uint64_t d_to = 0;
  int d_left = 0;
  config_ld(144, 1.0f, 16, 2);
  config_ld(256, 1.0f, 16, 1);
  config_ld(0, 1.0f, 16, 0);
  config_st(576);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  uint64_t b_slot = 0;
  uint64_t a_slot = 0;
  uint64_t c_at = 0x80000000;
  const int j = 0;
  const int i = 0, rows = 4;
  config_ld(144, 1.0f, 16, 2);
  config_ld(256, 1.0f, 16, 1);
  config_ld(0, 1.0f, 16, 0);
  config_st(576);
  d_to = c_at;
  d_left = rows;
  while (d_left > 0) { /* zeros */
    mvin(0, d_to, 16, 16);
    mvin(0, d_to + 16, 16, 16);
    mvin(0, d_to + 32, 16, 16);
    mvin(0, d_to + 48, 16, 16);
    mvin(0, d_to + 64, 16, 16);
    mvin(0, d_to + 80, 16, 16);
    mvin(0, d_to + 96, 16, 16);
    mvin(0, d_to + 112, 16, 16);
    mvin(0, d_to + 128, 16, 16);
    d_to += 144; d_left--;
  }
  for (int k = 0; k < 16; k += 4) {
    b_from = &B[k * 16][j * 16];
    b_to = 512 + b_load * 576;
    b_left = 4;
    b_load ^= 1;
    a_from = &A[i * 16][k * 16];
    a_to = a_load * 256;
    a_left = rows;
    a_load ^= 1;
    while (b_left > 0) {
      mvin3(b_from, b_to, 64, 16);
      mvin3(b_from + 64, b_to + 64, 64, 16);
      mvin3(b_from + 128, b_to + 128, 16, 16);
      b_from += 2304; b_to += 144; b_left--;
    }
    while (a_left > 0) {
      mvin2(a_from, a_to, 64, 16);
      a_from += 4096; a_to += 64; a_left--;
    }
    const uint32_t a = a_slot * 256;
    const uint32_t b = 512 + b_slot * 576;
    const uint32_t c = c_at;
    for (int jj = 0; jj < 9; jj++) {
      for (int kk = 0; kk < 4; kk++) {
        {
          const int ii = 0;
          preload(b + jj * 16 + kk * 144, (c + ii * 144 + jj * 16) | 0x40000000, 16, 16, 16, 16);  compute_preloaded(a + ii * 64 + kk * 16, NONE, 16, 16, 16, 16);
        }
        for (int ii = 1; ii < rows; ii++) {
          preload(NONE, (c + ii * 144 + jj * 16) | 0x40000000, 16, 16, 16, 16);  compute_accumulated(a + ii * 64 + kk * 16, NONE, 16, 16, 16, 16);
        }
      }
    }
    b_slot ^= 1;
    a_slot ^= 1;
  }
  c_to = &C[i * 16][j * 16];
  c_from = c_at | 0x20000000;
  c_left = rows;
  while (c_left > 0) {
    mvout(c_to, c_from, 16, 16);
    mvout(c_to + 16, c_from + 16, 16, 16);
    mvout(c_to + 32, c_from + 32, 16, 16);
    mvout(c_to + 48, c_from + 48, 16, 16);
    mvout(c_to + 64, c_from + 64, 16, 16);
    mvout(c_to + 80, c_from + 80, 16, 16);
    mvout(c_to + 96, c_from + 96, 16, 16);
    mvout(c_to + 112, c_from + 112, 16, 16);
    mvout(c_to + 128, c_from + 128, 16, 16);
    c_to += 2304; c_from += 144; c_left--;
  }
  fence();
}
