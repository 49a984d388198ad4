/* gemm m=48 n=31 k=32 bias=row scale=0.125 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     hoist all
 * 16 x 32 x 32 tiles (m x n x k), order ij; A streamed (1), B streamed (1), C in 1 buffer; loads 0 steps ahead.
 * Scratchpad: A in 1 slot of 32 rows from row 0 (bank 0), B in 1 of 64 from row 32 (bank 0).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
/* Operands carry their size: rows << 48 | columns << 32 | address. */
#define FULL ((uint64_t)16 << 48 | (uint64_t)16 << 32)
/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */
#define KEEP(x) asm volatile("" : "+r"(x))
#define CUT_N ((uint64_t)1) /* what the last block lacks */
void test(int8_t A[48][32], int8_t B[32][31], int32_t D[1][31], int8_t C[48][31]) {
  config_ld(31, 1.0f, 16, 2);
  config_ld(32, 1.0f, 16, 1);
  config_ld(0, 1.0f, 16, 0);
  gemmini_extended_config_st(31, NO_ACTIVATION, 0.125f);
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  int b_columns = 0;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int c_columns = 0;
  const int32_t *d_from = &D[0][0];
  uint64_t d_to = 0;
  int d_left = 0;
  int d_columns = 0;
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  uint64_t c_at = 0x80000000;
  uint64_t full = FULL;
  KEEP(full);
  for (int i = 0, rows; i < 3; i += rows) {
    rows = 1;
    const int j = 0;
    d_from = &D[0][j * 16];
    d_to = c_at;
    d_left = rows;
    d_columns = MIN(32, 31 - j * 16);
    while (d_left > 0) { /* bias */
      for (int x = 0; x < d_columns; x += 16) mvin(d_from + x, d_to + x, MIN(16, d_columns - x), 16);
      d_to += 32; d_left--;
    }
    const int k = 0;
    b_from = &B[k * 16][j * 16];
    b_to = 32;
    b_left = 2;
    b_columns = MIN(32, 31 - j * 16);
    a_from = &A[i * 16][k * 16];
    a_to = 0;
    a_left = rows;
    while (b_left > 0) {
      for (int x = 0; x < b_columns; x += 32) mvin3(b_from + x, b_to + x, MIN(32, b_columns - x), 16);
      b_from += 496; b_to += 32; b_left--;
    }
    while (a_left > 0) {
      mvin2(a_from, a_to, 32, 16);
      a_from += 512; a_to += 32; a_left--;
    }
    uint64_t a = full;
    uint64_t b = full + 32;
    uint64_t c_more = full + c_at + 0x40000000; /* accumulates */
    for (int kk = 0; kk < 2; kk++) {
      uint64_t a_k = a + kk * 16;
      uint64_t b_k = b + kk * 32;
      for (int ii = 0; ii < rows; ii++) {
        uint64_t a_k_i = a_k + ii * 32;
        uint64_t c_more_i = c_more + ii * 32;
        for (int jj = 0; jj < 2; jj++) {
          const uint64_t cut_j = jj == 1 ? CUT_N : 0;
          uint64_t b_k_j = b_k + jj * 16 - (cut_j << 32);
          uint64_t c_more_i_j = c_more_i + jj * 16 - (cut_j << 32);
          KEEP(a_k_i); KEEP(b_k_j); KEEP(c_more_i_j);
          preload(b_k_j, c_more_i_j, 0, 0, 0, 0);  compute_preloaded(a_k_i, NONE, 0, 0, 16, 16);
        }
      }
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_columns = MIN(32, 31 - j * 16);
    while (c_left > 0) {
      for (int x = 0; x < c_columns; x += 16) mvout(c_to + x, c_from + x, MIN(16, c_columns - x), 16);
      c_to += 496; c_from += 32; c_left--;
    }
  }
  fence();
}
