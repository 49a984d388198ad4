/* gemm m=32 n=87 k=96 relu=1 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     hold a=panel b=whole
 *     banks a=0 b=1 c=0,1
 *     pipeline m=32 n=48 k=48 loads=8 stores=8
 * 32 x 48 x 48 tiles (m x n x k), order ij; A held as a panel (2), B held whole (2), C in 2 buffers; loads 1 step ahead.
 * Scratchpad: A in 2 slots of 96 rows from row 0 (bank 0), B in 4 of 144 from row 4096 (bank 1).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
/* Operands carry their size: rows << 48 | columns << 32 | address. */
#define FULL ((uint64_t)16 << 48 | (uint64_t)16 << 32)
/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */
#define KEEP(x) asm volatile("" : "+r"(x))
#define CUT_N ((uint64_t)9) /* what the last block lacks */
void test(int8_t A[32][96], int8_t B[96][87], int8_t C[32][87]) {
  config_ld(87, 1.0f, 16, 2);
  config_ld(96, 1.0f, 16, 1);
  gemmini_extended_config_st(87, RELU, 1.0f);
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  uint64_t b_load = 0;
  int b_columns = 0;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  uint64_t a_load = 0;
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int c_columns = 0;
  int li = 0, lj = 0, lk = 0;
  int lrows = 2;
  /* the operands of the first step */
  if (li == 0) {
    b_from = &B[lk * 16][lj * 16];
    b_to = 4096 + b_load % 2 * 8192 + b_load / 2 * 144;
    b_left = 3;
    b_columns = MIN(48, 87 - lj * 16);
    if (++b_load == 4) b_load = 0;
  }
  if (lj == 0) {
    a_from = &A[li * 16][lk * 16];
    a_to = a_load * 8192;
    a_left = lrows;
    a_load ^= 1;
  }
  while (b_left > 0) {
    for (int x = 0; x < b_columns; x += 48) mvin3(b_from + x, b_to + x, MIN(48, b_columns - x), 16);
    b_from += 1392; b_to += 48; b_left--;
  }
  while (a_left > 0) {
    mvin2(a_from, a_to, 48, 16);
    a_from += 1536; a_to += 48; a_left--;
  }
  if ((lk += 3) >= 6) {
    lk = 0;
    if ((lj += 3) >= 6) {
      lj = 0;
      li += lrows;
      lrows = 2;
    }
  }
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  uint64_t b_panel = 0;
  uint64_t c_at = 0x80000000;
  uint64_t full = FULL;
  KEEP(full);
  const int i = 0, rows = 2;
  b_panel = 0;
  for (int j = 0; j < 6; j += 3) {
    uint64_t b_slot = b_panel;
    uint64_t a_slot = 0;
    for (int k = 0; k < 6; k += 3) {
      if (li < 2) { /* loads for the next step */
        if (li == 0) {
          b_from = &B[lk * 16][lj * 16];
          b_to = 4096 + b_load % 2 * 8192 + b_load / 2 * 144;
          b_left = 3;
          b_columns = MIN(48, 87 - lj * 16);
          if (++b_load == 4) b_load = 0;
        }
        if (lj == 0) {
          a_from = &A[li * 16][lk * 16];
          a_to = a_load * 8192;
          a_left = lrows;
          a_load ^= 1;
        }
        if ((lk += 3) >= 6) {
          lk = 0;
          if ((lj += 3) >= 6) {
            lj = 0;
            li += lrows;
            lrows = 2;
          }
        }
      }
      uint64_t a = full + a_slot * 8192;
      uint64_t b = full + 4096 + b_slot % 2 * 8192 + b_slot / 2 * 144;
      uint64_t c_more = full + c_at + 0x40000000; /* accumulates */
      uint64_t c_first = k ? c_more : full + c_at; /* the first step overwrites */
      if (j + 3 < 6) {
        for (int kk = 0; kk < 3; kk++) {
          uint64_t a_k = a + kk * 16;
          uint64_t b_k = b + kk * 48;
          uint64_t c_first_k = kk ? c_more : c_first;
          for (int ii = 0; ii < rows; ii++) {
            uint64_t a_k_i = a_k + ii * 48;
            uint64_t c_first_k_i = c_first_k + ii * 48;
            uint64_t c_more_i = c_more + ii * 48;
            for (int jj = 0; jj < 3; jj++) {
              uint64_t b_k_j = b_k + jj * 16;
              uint64_t c_first_k_i_j = c_first_k_i + jj * 16;
              uint64_t c_more_i_j = c_more_i + jj * 16;
              KEEP(a_k_i); KEEP(b_k_j); KEEP(c_more_i_j); KEEP(c_first_k_i_j);
              preload(b_k_j, c_first_k_i_j, 0, 0, 0, 0);  compute_preloaded(a_k_i, NONE, 0, 0, 16, 16);
            }
            if (ii % 2 == 1) {
              if (c_left > 0) {
                for (int x = 0; x < c_columns; x += 48) mvout(c_to + x, c_from + x, MIN(48, c_columns - x), 16);
                c_to += 1392; c_from += 48; c_left--;
              }
            }
            if (ii % 2 == 1) {
              if (b_left > 0) {
                for (int x = 0; x < b_columns; x += 48) mvin3(b_from + x, b_to + x, MIN(48, b_columns - x), 16);
                b_from += 1392; b_to += 48; b_left--;
              } else if (a_left > 0) {
                mvin2(a_from, a_to, 48, 16);
                a_from += 1536; a_to += 48; a_left--;
              }
            }
          }
        }
      } else { /* the last chunk */
        for (int kk = 0; kk < 3; kk++) {
          uint64_t a_k = a + kk * 16;
          uint64_t b_k = b + kk * 48;
          uint64_t c_first_k = kk ? c_more : c_first;
          for (int ii = 0; ii < rows; ii++) {
            uint64_t a_k_i = a_k + ii * 48;
            uint64_t c_first_k_i = c_first_k + ii * 48;
            uint64_t c_more_i = c_more + ii * 48;
            for (int jj = 0; jj < 3; jj++) {
              const uint64_t cut_j = jj == 2 ? CUT_N : 0;
              uint64_t b_k_j = b_k + jj * 16 - (cut_j << 32);
              uint64_t c_first_k_i_j = c_first_k_i + jj * 16 - (cut_j << 32);
              uint64_t c_more_i_j = c_more_i + jj * 16 - (cut_j << 32);
              KEEP(a_k_i); KEEP(b_k_j); KEEP(c_more_i_j); KEEP(c_first_k_i_j);
              preload(b_k_j, c_first_k_i_j, 0, 0, 0, 0);  compute_preloaded(a_k_i, NONE, 0, 0, 16, 16);
            }
            if (ii % 2 == 1) {
              if (c_left > 0) {
                for (int x = 0; x < c_columns; x += 48) mvout(c_to + x, c_from + x, MIN(48, c_columns - x), 16);
                c_to += 1392; c_from += 48; c_left--;
              }
            }
            if (ii % 2 == 1) {
              if (b_left > 0) {
                for (int x = 0; x < b_columns; x += 48) mvin3(b_from + x, b_to + x, MIN(48, b_columns - x), 16);
                b_from += 1392; b_to += 48; b_left--;
              } else if (a_left > 0) {
                mvin2(a_from, a_to, 48, 16);
                a_from += 1536; a_to += 48; a_left--;
              }
            }
          }
        }
      }
      b_slot++;
      a_slot++;
      while (b_left > 0) {
        for (int x = 0; x < b_columns; x += 48) mvin3(b_from + x, b_to + x, MIN(48, b_columns - x), 16);
        b_from += 1392; b_to += 48; b_left--;
      }
      while (a_left > 0) {
        mvin2(a_from, a_to, 48, 16);
        a_from += 1536; a_to += 48; a_left--;
      }
    }
    while (c_left > 0) {
      for (int x = 0; x < c_columns; x += 48) mvout(c_to + x, c_from + x, MIN(48, c_columns - x), 16);
      c_to += 1392; c_from += 48; c_left--;
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_columns = MIN(48, 87 - j * 16);
    c_at ^= 512; /* the other accumulator buffer */
    b_panel += 2;
    if (b_panel == 4) b_panel = 0;
  }
  while (c_left > 0) {
    for (int x = 0; x < c_columns; x += 48) mvout(c_to + x, c_from + x, MIN(48, c_columns - x), 16);
    c_to += 1392; c_from += 48; c_left--;
  }
  fence();
}
