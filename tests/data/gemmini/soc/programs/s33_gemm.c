/* gemm m=84 n=61 k=182 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     loops jki
 * 16 x 64 x 64 tiles (m x n x k), order ij; A streamed (1), B streamed (1), C in 1 buffer; loads 0 steps ahead.
 * Scratchpad: A in 1 slot of 64 rows from row 0 (bank 0), B in 1 of 256 from row 64 (bank 0).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
void test(int8_t A[84][182], int8_t B[182][61], int8_t C[84][61]) {
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  int b_columns = 0;
  int b_last = 16;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  int a_columns = 0;
  int a_last = 16;
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int c_columns = 0;
  int c_last = 16;
  uint64_t d_to = 0;
  int d_left = 0;
  int d_columns = 0;
  int d_last = 16;
  config_ld(61, 1.0f, 16, 2);
  config_ld(182, 1.0f, 16, 1);
  config_ld(0, 1.0f, 16, 0);
  config_st(61);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  uint64_t c_at = 0x80000000;
  for (int i = 0, rows; i < 6; i += rows) {
    rows = 1;
    const int j = 0;
    config_ld(61, 1.0f, 16, 2);
    config_ld(182, 1.0f, 16, 1);
    config_ld(0, 1.0f, 16, 0);
    config_st(61);
    d_to = c_at;
    d_left = rows;
    d_columns = MIN(64, 61 - j * 16);
    d_last = i + rows == 6 ? 4 : 16;
    while (d_left > 0) { /* zeros */
      for (int x = 0; x < d_columns; x += 16) mvin(0, d_to + x, MIN(16, d_columns - x), d_left == 1 ? d_last : 16);
      d_to += 64; d_left--;
    }
    for (int k = 0; k < 12; k += 4) {
      b_from = &B[k * 16][j * 16];
      b_to = 64;
      b_left = 4;
      b_columns = MIN(64, 61 - j * 16);
      b_last = k + 4 == 12 ? 6 : 16;
      a_from = &A[i * 16][k * 16];
      a_to = 0;
      a_left = rows;
      a_columns = MIN(64, 182 - k * 16);
      a_last = i + rows == 6 ? 4 : 16;
      while (b_left > 0) {
        for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
        b_from += 976; b_to += 64; b_left--;
      }
      while (a_left > 0) {
        for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
        a_from += 2912; a_to += 64; a_left--;
      }
      const uint32_t a = 0;
      const uint32_t b = 64;
      const uint32_t c = c_at;
      if (k + 4 < 12) {
        for (int jj = 0; jj < 4; jj++) {
          for (int kk = 0; kk < 4; kk++) {
            for (int ii = 0; ii < rows; ii++) {
              preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, (jj == 3 ? 13 : 16), 16, (jj == 3 ? 13 : 16), (i + ii == 5 ? 4 : 16));  compute_preloaded(a + ii * 64 + kk * 16, NONE, 16, (i + ii == 5 ? 4 : 16), 16, 16);
            }
          }
        }
      } else { /* the last chunk */
        for (int jj = 0; jj < 4; jj++) {
          for (int kk = 0; kk < 4; kk++) {
            for (int ii = 0; ii < rows; ii++) {
              preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, (jj == 3 ? 13 : 16), (kk == 3 ? 6 : 16), (jj == 3 ? 13 : 16), (i + ii == 5 ? 4 : 16));  compute_preloaded(a + ii * 64 + kk * 16, NONE, (kk == 3 ? 6 : 16), (i + ii == 5 ? 4 : 16), 16, 16);
            }
          }
        }
      }
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_columns = MIN(64, 61 - j * 16);
    c_last = i + rows == 6 ? 4 : 16;
    while (c_left > 0) {
      for (int x = 0; x < c_columns; x += 16) mvout(c_to + x, c_from + x, MIN(16, c_columns - x), c_left == 1 ? c_last : 16);
      c_to += 976; c_from += 64; c_left--;
    }
  }
  fence();
}
