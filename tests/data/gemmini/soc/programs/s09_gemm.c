/* gemm m=117 n=128 k=317 bias=row scale=0.03125 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     buffers a=2 b=2
 * 16 x 64 x 64 tiles (m x n x k), order ij; A streamed (2), B streamed (2), C in 1 buffer; loads 0 steps ahead.
 * Scratchpad: A in 2 slots of 64 rows from row 0 (bank 0), B in 2 of 256 from row 128 (bank 0).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
void test(int8_t A[117][317], int8_t B[317][128], int32_t D[1][128], int8_t C[117][128]) {
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  uint64_t b_load = 0;
  int b_last = 16;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  uint64_t a_load = 0;
  int a_columns = 0;
  int a_last = 16;
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int c_last = 16;
  const int32_t *d_from = &D[0][0];
  uint64_t d_to = 0;
  int d_left = 0;
  int d_last = 16;
  config_ld(128, 1.0f, 16, 2);
  config_ld(317, 1.0f, 16, 1);
  config_ld(0, 1.0f, 16, 0);
  gemmini_extended_config_st(128, NO_ACTIVATION, 0.03125f);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  uint64_t b_slot = 0;
  uint64_t a_slot = 0;
  uint64_t c_at = 0x80000000;
  for (int i = 0, rows; i < 8; i += rows) {
    rows = 1;
    for (int j = 0; j < 8; j += 4) {
      config_ld(128, 1.0f, 16, 2);
      config_ld(317, 1.0f, 16, 1);
      config_ld(0, 1.0f, 16, 0);
      gemmini_extended_config_st(128, NO_ACTIVATION, 0.03125f);
      d_from = &D[0][j * 16];
      d_to = c_at;
      d_left = rows;
      d_last = i + rows == 8 ? 5 : 16;
      while (d_left > 0) { /* bias */
        mvin(d_from, d_to, 16, d_left == 1 ? d_last : 16);
        mvin(d_from + 16, d_to + 16, 16, d_left == 1 ? d_last : 16);
        mvin(d_from + 32, d_to + 32, 16, d_left == 1 ? d_last : 16);
        mvin(d_from + 48, d_to + 48, 16, d_left == 1 ? d_last : 16);
        d_to += 64; d_left--;
      }
      for (int k = 0; k < 20; k += 4) {
        b_from = &B[k * 16][j * 16];
        b_to = 128 + b_load * 256;
        b_left = 4;
        b_last = k + 4 == 20 ? 13 : 16;
        b_load ^= 1;
        a_from = &A[i * 16][k * 16];
        a_to = a_load * 64;
        a_left = rows;
        a_columns = MIN(64, 317 - k * 16);
        a_last = i + rows == 8 ? 5 : 16;
        a_load ^= 1;
        while (b_left > 0) {
          mvin3(b_from, b_to, 64, b_left == 1 ? b_last : 16);
          b_from += 2048; b_to += 64; b_left--;
        }
        while (a_left > 0) {
          for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
          a_from += 5072; a_to += 64; a_left--;
        }
        const uint32_t a = a_slot * 64;
        const uint32_t b = 128 + b_slot * 256;
        const uint32_t c = c_at;
        if (k + 4 < 20) {
          for (int kk = 0; kk < 4; kk++) {
            for (int ii = 0; ii < rows; ii++) {
              for (int jj = 0; jj < 4; jj++) {
                preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, 16, 16, 16, (i + ii == 7 ? 5 : 16));  compute_preloaded(a + ii * 64 + kk * 16, NONE, 16, (i + ii == 7 ? 5 : 16), 16, 16);
              }
            }
          }
        } else { /* the last chunk */
          for (int kk = 0; kk < 4; kk++) {
            for (int ii = 0; ii < rows; ii++) {
              for (int jj = 0; jj < 4; jj++) {
                preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, 16, (kk == 3 ? 13 : 16), 16, (i + ii == 7 ? 5 : 16));  compute_preloaded(a + ii * 64 + kk * 16, NONE, (kk == 3 ? 13 : 16), (i + ii == 7 ? 5 : 16), 16, 16);
              }
            }
          }
        }
        b_slot ^= 1;
        a_slot ^= 1;
      }
      c_to = &C[i * 16][j * 16];
      c_from = c_at;
      c_left = rows;
      c_last = i + rows == 8 ? 5 : 16;
      while (c_left > 0) {
        mvout(c_to, c_from, 16, c_left == 1 ? c_last : 16);
        mvout(c_to + 16, c_from + 16, 16, c_left == 1 ? c_last : 16);
        mvout(c_to + 32, c_from + 32, 16, c_left == 1 ? c_last : 16);
        mvout(c_to + 48, c_from + 48, 16, c_left == 1 ? c_last : 16);
        c_to += 2048; c_from += 64; c_left--;
      }
    }
  }
  fence();
}
