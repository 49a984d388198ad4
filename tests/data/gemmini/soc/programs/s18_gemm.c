/* gemm m=32 n=45 k=400 b_transposed=1 bias=full scale=0.125 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     (empty: the plain kernel)
 * 16 x 48 x 64 tiles (m x n x k), order ij; A streamed (1), B streamed (1), C in 1 buffer; loads 0 steps ahead.
 * Scratchpad: A in 1 slot of 64 rows from row 0 (bank 0), B in 1 of 192 from row 64 (bank 0).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
void test(int8_t A[32][400], int8_t B[45][400], int32_t D[32][45], int8_t C[32][45]) {
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
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int c_columns = 0;
  const int32_t *d_from = &D[0][0];
  uint64_t d_to = 0;
  int d_left = 0;
  int d_columns = 0;
  config_ld(400, 1.0f, 16, 2);
  config_ld(400, 1.0f, 16, 1);
  config_ld(180, 1.0f, 16, 0);
  gemmini_extended_config_st(45, NO_ACTIVATION, 0.125f);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, true);
  uint64_t c_at = 0x80000000;
  for (int i = 0, rows; i < 2; i += rows) {
    rows = 1;
    const int j = 0;
    config_ld(400, 1.0f, 16, 2);
    config_ld(400, 1.0f, 16, 1);
    config_ld(180, 1.0f, 16, 0);
    gemmini_extended_config_st(45, NO_ACTIVATION, 0.125f);
    d_from = &D[i * 16][j * 16];
    d_to = c_at;
    d_left = rows;
    d_columns = MIN(48, 45 - j * 16);
    while (d_left > 0) { /* bias */
      for (int x = 0; x < d_columns; x += 16) mvin(d_from + x, d_to + x, MIN(16, d_columns - x), 16);
      d_from += 720;
      d_to += 48; d_left--;
    }
    for (int k = 0; k < 25; k += 4) {
      b_from = &B[j * 16][k * 16];
      b_to = 64;
      b_left = 3;
      b_columns = MIN(64, 400 - k * 16);
      b_last = j + 3 == 3 ? 13 : 16;
      a_from = &A[i * 16][k * 16];
      a_to = 0;
      a_left = rows;
      a_columns = MIN(64, 400 - k * 16);
      while (b_left > 0) {
        for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
        b_from += 6400; b_to += 64; b_left--;
      }
      while (a_left > 0) {
        for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), 16);
        a_from += 6400; a_to += 64; a_left--;
      }
      const uint32_t a = 0;
      const uint32_t b = 64;
      const uint32_t c = c_at;
      if (k + 4 < 25) {
        for (int kk = 0; kk < 4; kk++) {
          for (int ii = 0; ii < rows; ii++) {
            for (int jj = 0; jj < 3; jj++) {
              preload(b + jj * 64 + kk * 16, (c + ii * 48 + jj * 16) | 0x40000000, (jj == 2 ? 13 : 16), 16, (jj == 2 ? 13 : 16), 16);  compute_preloaded(a + ii * 64 + kk * 16, NONE, 16, 16, 16, 16);
            }
          }
        }
      } else { /* the last chunk */
        for (int kk = 0; kk < 1; kk++) {
          for (int ii = 0; ii < rows; ii++) {
            for (int jj = 0; jj < 3; jj++) {
              preload(b + jj * 64 + kk * 16, (c + ii * 48 + jj * 16) | 0x40000000, (jj == 2 ? 13 : 16), 16, (jj == 2 ? 13 : 16), 16);  compute_preloaded(a + ii * 64 + kk * 16, NONE, 16, 16, 16, 16);
            }
          }
        }
      }
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_columns = MIN(48, 45 - j * 16);
    while (c_left > 0) {
      for (int x = 0; x < c_columns; x += 16) mvout(c_to + x, c_from + x, MIN(16, c_columns - x), 16);
      c_to += 720; c_from += 48; c_left--;
    }
  }
  fence();
}
