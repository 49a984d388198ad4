/* gemm m=400 n=16 k=176 a_transposed=1 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     pipeline m=112 n=16 k=64 loads=16 stores=16
 *     tile m=112 n=16 k=176
 *     taper
 * 112 x 16 x 176 tiles (m x n x k), order ij; A streamed (2), B streamed (2), C in 2 buffers; loads 1 step ahead.
 * Scratchpad: A in 2 slots of 1232 rows from row 0 (bank 0), B in 2 of 176 from row 4096 (bank 1).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
/* Operands carry their size: rows << 48 | columns << 32 | address. */
#define FULL ((uint64_t)16 << 48 | (uint64_t)16 << 32)
/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */
#define KEEP(x) asm volatile("" : "+r"(x))
void test(int8_t A[176][400], int8_t B[176][16], int8_t C[400][16]) {
  config_ld(16, 1.0f, 16, 2);
  config_ld(400, 1.0f, 16, 1);
  config_st(16);
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  uint64_t b_load = 0;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  uint64_t a_load = 0;
  int a_columns = 0;
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int li = 0, lj = 0, lk = 0;
  int lrows = 25 - li < 14 ? (25 - li + 1) / 2 : MIN(7, 25 - li);
  /* the operands of the first step */
  b_from = &B[lk * 16][lj * 16];
  b_to = 4096 + b_load * 8192;
  b_left = 11;
  b_load ^= 1;
  a_from = &A[lk * 16][li * 16];
  a_to = a_load * 8192;
  a_left = 11;
  a_columns = MIN(lrows * 16, 400 - li * 16);
  a_load ^= 1;
  while (b_left > 0) {
    mvin3(b_from, b_to, 16, 16);
    b_from += 256; b_to += 16; b_left--;
  }
  while (a_left > 0) {
    for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), 16);
    a_from += 6400; a_to += 112; a_left--;
  }
  li += lrows;
  lrows = 25 - li < 14 ? (25 - li + 1) / 2 : MIN(7, 25 - li);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, true, false);
  uint64_t b_slot = 0;
  uint64_t a_slot = 0;
  uint64_t c_at = 0x80000000;
  uint64_t full = FULL;
  KEEP(full);
  for (int i = 0, rows; i < 25; i += rows) {
    rows = 25 - i < 14 ? (25 - i + 1) / 2 : MIN(7, 25 - i);
    const int j = 0;
    if (li < 25) { /* loads for the next step */
      b_from = &B[lk * 16][lj * 16];
      b_to = 4096 + b_load * 8192;
      b_left = 11;
      b_load ^= 1;
      a_from = &A[lk * 16][li * 16];
      a_to = a_load * 8192;
      a_left = 11;
      a_columns = MIN(lrows * 16, 400 - li * 16);
      a_load ^= 1;
      li += lrows;
      lrows = 25 - li < 14 ? (25 - li + 1) / 2 : MIN(7, 25 - li);
    }
    uint64_t a = full + a_slot * 8192;
    uint64_t b = full + 4096 + b_slot * 8192;
    uint64_t c_more = full + c_at + 0x40000000; /* accumulates */
    uint64_t c_first = full + c_at; /* overwrites */
    for (int kk = 0; kk < 11; kk++) {
      uint64_t a_k = a + kk * 112;
      uint64_t b_k = b + kk * 16;
      uint64_t c_first_k = kk ? c_more : c_first;
      for (int ii = 0; ii < rows; ii++) {
        uint64_t a_k_i = a_k + ii * 16;
        uint64_t c_first_k_i = c_first_k + ii * 16;
        uint64_t c_more_i = c_more + ii * 16;
        for (int jj = 0; jj < 1; jj++) {
          uint64_t b_k_j = b_k + jj * 16;
          uint64_t c_first_k_i_j = c_first_k_i + jj * 16;
          uint64_t c_more_i_j = c_more_i + jj * 16;
          KEEP(a_k_i); KEEP(b_k_j); KEEP(c_more_i_j); KEEP(c_first_k_i_j);
          preload(b_k_j, c_first_k_i_j, 0, 0, 0, 0);  compute_preloaded(a_k_i, NONE, 0, 0, 16, 16);
        }
      }
      if (kk % 2 == 1) {
        if (c_left > 0) {
          mvout(c_to, c_from, 16, 16);
          c_to += 256; c_from += 16; c_left--;
        }
      }
      if (kk % 2 == 1) {
        if (b_left > 0) {
          mvin3(b_from, b_to, 16, 16);
          b_from += 256; b_to += 16; b_left--;
        } else if (a_left > 0) {
          for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), 16);
          a_from += 6400; a_to += 112; a_left--;
        }
      }
    }
    b_slot ^= 1;
    a_slot ^= 1;
    while (b_left > 0) {
      mvin3(b_from, b_to, 16, 16);
      b_from += 256; b_to += 16; b_left--;
    }
    while (a_left > 0) {
      for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), 16);
      a_from += 6400; a_to += 112; a_left--;
    }
    while (c_left > 0) {
      mvout(c_to, c_from, 16, 16);
      c_to += 256; c_from += 16; c_left--;
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_at ^= 512; /* the other accumulator buffer */
  }
  while (c_left > 0) {
    mvout(c_to, c_from, 16, 16);
    c_to += 256; c_from += 16; c_left--;
  }
  fence();
}
