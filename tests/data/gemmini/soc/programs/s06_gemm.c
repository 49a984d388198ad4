/* gemm m=241 n=17 k=265 b_transposed=1 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     banks a=0 b=1,2 c=0,1
 *     pipeline m=32 n=32 k=144 loads=16 stores=16
 *     unroll 1 ijk
 *     reuse weights jki
 * 32 x 32 x 144 tiles (m x n x k), order ij; A streamed (2), B streamed (2), C in 2 buffers; loads 1 step ahead.
 * Scratchpad: A in 2 slots of 288 rows from row 0 (bank 0), B in 2 of 288 from row 4096 (bank 1).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
/* Operands carry their size: rows << 48 | columns << 32 | address. */
#define FULL ((uint64_t)16 << 48 | (uint64_t)16 << 32)
/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */
#define KEEP(x) asm volatile("" : "+r"(x))
#define CUT_M ((uint64_t)15) /* what the last block lacks */
#define CUT_N ((uint64_t)15) /* what the last block lacks */
#define CUT_K ((uint64_t)7) /* what the last block lacks */
void test(int8_t A[241][265], int8_t B[17][265], int8_t C[241][17]) {
  config_ld(265, 1.0f, 16, 2);
  config_ld(265, 1.0f, 16, 1);
  config_st(17);
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  uint64_t b_load = 0;
  int b_columns = 0;
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
  int c_columns = 0;
  int c_last = 16;
  int li = 0, lj = 0, lk = 0;
  int lrows = 2;
  /* the operands of the first step */
  b_from = &B[lj * 16][lk * 16];
  b_to = 4096 + b_load * 8192;
  b_left = 2;
  b_columns = MIN(144, 265 - lk * 16);
  b_last = lj + 2 == 2 ? 1 : 16;
  b_load ^= 1;
  a_from = &A[li * 16][lk * 16];
  a_to = a_load * 8192;
  a_left = lrows;
  a_columns = MIN(144, 265 - lk * 16);
  a_last = li + lrows == 16 ? 1 : 16;
  a_load ^= 1;
  while (b_left > 0) {
    for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
    b_from += 4240; b_to += 144; b_left--;
  }
  while (a_left > 0) {
    for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
    a_from += 4240; a_to += 144; a_left--;
  }
  if ((lk += 9) >= 17) {
    lk = 0;
    li += lrows;
    lrows = 2;
  }
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, true);
  uint64_t b_slot = 0;
  uint64_t a_slot = 0;
  uint64_t c_at = 0x80000000;
  uint64_t full = FULL;
  KEEP(full);
  for (int i = 0, rows; i < 16; i += rows) {
    rows = 2;
    const int j = 0;
    for (int k = 0; k < 17; k += 9) {
      if (li < 16) { /* loads for the next step */
        b_from = &B[lj * 16][lk * 16];
        b_to = 4096 + b_load * 8192;
        b_left = 2;
        b_columns = MIN(144, 265 - lk * 16);
        b_last = lj + 2 == 2 ? 1 : 16;
        b_load ^= 1;
        a_from = &A[li * 16][lk * 16];
        a_to = a_load * 8192;
        a_left = lrows;
        a_columns = MIN(144, 265 - lk * 16);
        a_last = li + lrows == 16 ? 1 : 16;
        a_load ^= 1;
        if ((lk += 9) >= 17) {
          lk = 0;
          li += lrows;
          lrows = 2;
        }
      }
      uint64_t a = full + a_slot * 8192;
      uint64_t b = full + 4096 + b_slot * 8192;
      uint64_t c_more = full + c_at + 0x40000000; /* accumulates */
      uint64_t c_first = k ? c_more : full + c_at; /* the first step overwrites */
      if (i + 2 < 16) {
        if (k + 9 < 17) {
          for (int jj = 0; jj < 2; jj++) {
            const uint64_t cut_j = jj == 1 ? CUT_N : 0;
            uint64_t b_j = b + jj * 144 - (cut_j << 32);
            uint64_t c_first_j = c_first + jj * 16 - (cut_j << 32);
            uint64_t c_more_j = c_more + jj * 16 - (cut_j << 32);
            for (int kk = 0; kk < 9; kk++) {
              uint64_t a_k = a + kk * 16;
              uint64_t b_j_k = b_j + kk * 16;
              uint64_t c_first_j_k = kk ? c_more_j : c_first_j;
              KEEP(a_k); KEEP(b_j_k); KEEP(c_more_j); KEEP(c_first_j_k);
              preload(b_j_k, c_first_j_k, 0, 0, 0, 0);  compute_preloaded(a_k, NONE, 0, 0, 16, 16);
              preload(NONE, c_first_j_k + 32, 16, 16, 0, 0);  compute_accumulated(a_k + 144, NONE, 0, 0, 16, 16);
              if (kk % 8 == 7) {
                if (c_left > 0) {
                  for (int x = 0; x < c_columns; x += 32) mvout(c_to + x, c_from + x, MIN(32, c_columns - x), c_left == 1 ? c_last : 16);
                  c_to += 272; c_from += 32; c_left--;
                }
              }
              if (kk % 8 == 7) {
                if (b_left > 0) {
                  for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
                  b_from += 4240; b_to += 144; b_left--;
                } else if (a_left > 0) {
                  for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
                  a_from += 4240; a_to += 144; a_left--;
                }
              }
            }
          }
        } else { /* the last chunk */
          for (int jj = 0; jj < 2; jj++) {
            const uint64_t cut_j = jj == 1 ? CUT_N : 0;
            uint64_t b_j = b + jj * 144 - (cut_j << 32);
            uint64_t c_first_j = c_first + jj * 16 - (cut_j << 32);
            uint64_t c_more_j = c_more + jj * 16 - (cut_j << 32);
            for (int kk = 0; kk < 8; kk++) {
              const uint64_t cut_k = kk == 7 ? CUT_K : 0;
              uint64_t a_k = a + kk * 16 - (cut_k << 32);
              uint64_t b_j_k = b_j + kk * 16 - (cut_k << 48);
              uint64_t c_first_j_k = kk ? c_more_j : c_first_j;
              KEEP(a_k); KEEP(b_j_k); KEEP(c_more_j); KEEP(c_first_j_k);
              preload(b_j_k, c_first_j_k, 0, 0, 0, 0);  compute_preloaded(a_k, NONE, 0, 0, 16, 16);
              preload(NONE, c_first_j_k + 32, 16, 16, 0, 0);  compute_accumulated(a_k + 144, NONE, 0, 0, 16, 16);
              if (kk % 8 == 7) {
                if (c_left > 0) {
                  for (int x = 0; x < c_columns; x += 32) mvout(c_to + x, c_from + x, MIN(32, c_columns - x), c_left == 1 ? c_last : 16);
                  c_to += 272; c_from += 32; c_left--;
                }
              }
              if (kk % 8 == 7) {
                if (b_left > 0) {
                  for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
                  b_from += 4240; b_to += 144; b_left--;
                } else if (a_left > 0) {
                  for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
                  a_from += 4240; a_to += 144; a_left--;
                }
              }
            }
          }
        }
      } else { /* the last chunk */
        if (k + 9 < 17) {
          for (int jj = 0; jj < 2; jj++) {
            const uint64_t cut_j = jj == 1 ? CUT_N : 0;
            uint64_t b_j = b + jj * 144 - (cut_j << 32);
            uint64_t c_first_j = c_first + jj * 16 - (cut_j << 32);
            uint64_t c_more_j = c_more + jj * 16 - (cut_j << 32);
            for (int kk = 0; kk < 9; kk++) {
              uint64_t a_k = a + kk * 16;
              uint64_t b_j_k = b_j + kk * 16;
              uint64_t c_first_j_k = kk ? c_more_j : c_first_j;
              KEEP(a_k); KEEP(b_j_k); KEEP(c_more_j); KEEP(c_first_j_k);
              preload(b_j_k, c_first_j_k, 0, 0, 0, 0);  compute_preloaded(a_k, NONE, 0, 0, 16, 16);
              preload(NONE, c_first_j_k + 32 - (CUT_M << 48), 16, 16, 0, 0);  compute_accumulated(a_k + 144 - (CUT_M << 48), NONE, 0, 0, 16, 16);
              if (kk % 8 == 7) {
                if (c_left > 0) {
                  for (int x = 0; x < c_columns; x += 32) mvout(c_to + x, c_from + x, MIN(32, c_columns - x), c_left == 1 ? c_last : 16);
                  c_to += 272; c_from += 32; c_left--;
                }
              }
              if (kk % 8 == 7) {
                if (b_left > 0) {
                  for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
                  b_from += 4240; b_to += 144; b_left--;
                } else if (a_left > 0) {
                  for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
                  a_from += 4240; a_to += 144; a_left--;
                }
              }
            }
          }
        } else { /* the last chunk */
          for (int jj = 0; jj < 2; jj++) {
            const uint64_t cut_j = jj == 1 ? CUT_N : 0;
            uint64_t b_j = b + jj * 144 - (cut_j << 32);
            uint64_t c_first_j = c_first + jj * 16 - (cut_j << 32);
            uint64_t c_more_j = c_more + jj * 16 - (cut_j << 32);
            for (int kk = 0; kk < 8; kk++) {
              const uint64_t cut_k = kk == 7 ? CUT_K : 0;
              uint64_t a_k = a + kk * 16 - (cut_k << 32);
              uint64_t b_j_k = b_j + kk * 16 - (cut_k << 48);
              uint64_t c_first_j_k = kk ? c_more_j : c_first_j;
              KEEP(a_k); KEEP(b_j_k); KEEP(c_more_j); KEEP(c_first_j_k);
              preload(b_j_k, c_first_j_k, 0, 0, 0, 0);  compute_preloaded(a_k, NONE, 0, 0, 16, 16);
              preload(NONE, c_first_j_k + 32 - (CUT_M << 48), 16, 16, 0, 0);  compute_accumulated(a_k + 144 - (CUT_M << 48), NONE, 0, 0, 16, 16);
              if (kk % 8 == 7) {
                if (c_left > 0) {
                  for (int x = 0; x < c_columns; x += 32) mvout(c_to + x, c_from + x, MIN(32, c_columns - x), c_left == 1 ? c_last : 16);
                  c_to += 272; c_from += 32; c_left--;
                }
              }
              if (kk % 8 == 7) {
                if (b_left > 0) {
                  for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
                  b_from += 4240; b_to += 144; b_left--;
                } else if (a_left > 0) {
                  for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
                  a_from += 4240; a_to += 144; a_left--;
                }
              }
            }
          }
        }
      }
      b_slot ^= 1;
      a_slot ^= 1;
      while (b_left > 0) {
        for (int x = 0; x < b_columns; x += 64) mvin3(b_from + x, b_to + x, MIN(64, b_columns - x), b_left == 1 ? b_last : 16);
        b_from += 4240; b_to += 144; b_left--;
      }
      while (a_left > 0) {
        for (int x = 0; x < a_columns; x += 64) mvin2(a_from + x, a_to + x, MIN(64, a_columns - x), a_left == 1 ? a_last : 16);
        a_from += 4240; a_to += 144; a_left--;
      }
    }
    while (c_left > 0) {
      for (int x = 0; x < c_columns; x += 32) mvout(c_to + x, c_from + x, MIN(32, c_columns - x), c_left == 1 ? c_last : 16);
      c_to += 272; c_from += 32; c_left--;
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_columns = MIN(32, 17 - j * 16);
    c_last = i + rows == 16 ? 1 : 16;
    c_at ^= 512; /* the other accumulator buffer */
  }
  while (c_left > 0) {
    for (int x = 0; x < c_columns; x += 32) mvout(c_to + x, c_from + x, MIN(32, c_columns - x), c_left == 1 ? c_last : 16);
    c_to += 272; c_from += 32; c_left--;
  }
  fence();
}
