/* gemm m=27 n=224 k=93 a_transposed=1 b_transposed=1 relu=1 scale=0.03125 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     (empty: the plain kernel)
 * 16 x 64 x 64 tiles (m x n x k), order ij; A streamed (1), B streamed (1), C in 1 buffer; loads 0 steps ahead.
 * Scratchpad: A in 1 slot of 64 rows from row 0 (bank 0), B in 1 of 256 from row 64 (bank 0).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
void test(int8_t A[93][27], int8_t B_stored[224][93], int8_t C[27][224]) {
  static int8_t B[93][224] __attribute__((aligned(64))), identity[16][16];
  for (int x = 0; x < 16; x++) identity[x][x] = 1;
  /* B = turned B_stored; j, k, jj, kk count elements */
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
  config_ld(16, 1.0f, 16, 0);
  config_ld(93, 1.0f, 64, 1);
  config_st(224);
  mvin(identity, 0, 16, 16);
  for (int j = 0, slot = 0; j < 224; j += 64) {
    for (int k = 0; k < 93; k += 64, slot ^= 1) { /* 64 x 64 elements of B_stored */
      const uint32_t a = 4096 + slot * 256, c = 0x80000000 + slot * 256;
      const int columns = MIN(64, 224 - j), rows = MIN(64, 93 - k);
      for (int jj = 0; jj < columns; jj += 16) {
        mvin2((int8_t *)B_stored + (j + jj) * 93L + k, a + jj, rows, MIN(16, columns - jj));
      }
      for (int kk = 0; kk < rows; kk += 16) {
        const int r = MIN(16, rows - kk);
        for (int jj = 0; jj < columns; jj += 16) {
          const int n = MIN(16, columns - jj);
          preload(0, c + kk * 4 + jj, n, n, n, r);
          compute_preloaded(a + jj + kk * 4, 0xffffffffu, n, r, 16, 16);
        }
        mvout(&B[k + kk][j], c + kk * 4, columns, r);
      }
    }
  }
  fence(); /* B is in memory before it is loaded */
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
  config_ld(224, 1.0f, 16, 2);
  config_ld(27, 1.0f, 16, 1);
  config_ld(0, 1.0f, 16, 0);
  gemmini_extended_config_st(224, RELU, 0.03125f);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
  uint64_t c_at = 0x80000000;
  for (int i = 0, rows; i < 2; i += rows) {
    rows = 1;
    for (int j = 0; j < 14; j += 4) {
      config_ld(224, 1.0f, 16, 2);
      config_ld(27, 1.0f, 16, 1);
      config_ld(0, 1.0f, 16, 0);
      gemmini_extended_config_st(224, RELU, 0.03125f);
      d_to = c_at;
      d_left = rows;
      d_columns = MIN(64, 224 - j * 16);
      d_last = i + rows == 2 ? 11 : 16;
      while (d_left > 0) { /* zeros */
        for (int x = 0; x < d_columns; x += 16) mvin(0, d_to + x, MIN(16, d_columns - x), d_left == 1 ? d_last : 16);
        d_to += 64; d_left--;
      }
      for (int k = 0; k < 6; k += 4) {
        b_from = &B[k * 16][j * 16];
        b_to = 64;
        b_left = MIN(4, 6 - k);
        b_columns = MIN(64, 224 - j * 16);
        b_last = k + MIN(4, 6 - k) == 6 ? 13 : 16;
        a_from = &A[k * 16][i * 16];
        a_to = 0;
        a_left = MIN(4, 6 - k);
        a_columns = MIN(16, 27 - i * 16);
        a_last = k + MIN(4, 6 - k) == 6 ? 13 : 16;
        while (b_left > 0) {
          for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
          b_from += 3584; b_to += 64; b_left--;
        }
        while (a_left > 0) {
          for (int x = 0; x < a_columns; x += 16) mvin2(a_from + x, a_to + x, MIN(16, a_columns - x), a_left == 1 ? a_last : 16);
          a_from += 432; a_to += 16; a_left--;
        }
        const uint32_t a = 0;
        const uint32_t b = 64;
        const uint32_t c = c_at;
        if (j + 4 < 14) {
          if (k + 4 < 6) {
            for (int kk = 0; kk < 4; kk++) {
              for (int ii = 0; ii < rows; ii++) {
                for (int jj = 0; jj < 4; jj++) {
                  preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, 16, 16, 16, (i + ii == 1 ? 11 : 16));  compute_preloaded(a + ii * 16 + kk * 16, NONE, 16, (i + ii == 1 ? 11 : 16), 16, 16);
                }
              }
            }
          } else { /* the last chunk */
            for (int kk = 0; kk < 2; kk++) {
              for (int ii = 0; ii < rows; ii++) {
                for (int jj = 0; jj < 4; jj++) {
                  preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, 16, (kk == 1 ? 13 : 16), 16, (i + ii == 1 ? 11 : 16));  compute_preloaded(a + ii * 16 + kk * 16, NONE, (kk == 1 ? 13 : 16), (i + ii == 1 ? 11 : 16), 16, 16);
                }
              }
            }
          }
        } else { /* the last chunk */
          if (k + 4 < 6) {
            for (int kk = 0; kk < 4; kk++) {
              for (int ii = 0; ii < rows; ii++) {
                for (int jj = 0; jj < 2; jj++) {
                  preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, 16, 16, 16, (i + ii == 1 ? 11 : 16));  compute_preloaded(a + ii * 16 + kk * 16, NONE, 16, (i + ii == 1 ? 11 : 16), 16, 16);
                }
              }
            }
          } else { /* the last chunk */
            for (int kk = 0; kk < 2; kk++) {
              for (int ii = 0; ii < rows; ii++) {
                for (int jj = 0; jj < 2; jj++) {
                  preload(b + jj * 16 + kk * 64, (c + ii * 64 + jj * 16) | 0x40000000, 16, (kk == 1 ? 13 : 16), 16, (i + ii == 1 ? 11 : 16));  compute_preloaded(a + ii * 16 + kk * 16, NONE, (kk == 1 ? 13 : 16), (i + ii == 1 ? 11 : 16), 16, 16);
                }
              }
            }
          }
        }
      }
      c_to = &C[i * 16][j * 16];
      c_from = c_at;
      c_left = rows;
      c_columns = MIN(64, 224 - j * 16);
      c_last = i + rows == 2 ? 11 : 16;
      while (c_left > 0) {
        for (int x = 0; x < c_columns; x += 16) mvout(c_to + x, c_from + x, MIN(16, c_columns - x), c_left == 1 ? c_last : 16);
        c_to += 3584; c_from += 64; c_left--;
      }
    }
  }
  fence();
}
