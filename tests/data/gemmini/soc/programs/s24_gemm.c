/* gemm m=48 n=64 k=48 relu=1 a=i8 b=i8 c=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     hold a=panel b=whole
 *     pipeline m=32 n=64 k=48 loads=8 stores=8
 *     reuse weights kji
 * 32 x 64 x 48 tiles (m x n x k), order ij; A held as a panel (2), B held whole (2), C in 2 buffers; loads 1 step ahead.
 * Scratchpad: A in 2 slots of 96 rows from row 0 (bank 0), B in 1 of 192 from row 4096 (bank 1).
 * i, j, k count blocks of 16 x 16: ii, jj, kk inside the tile that starts at i, j, k;
 * li, lj, lk is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
/* Operands carry their size: rows << 48 | columns << 32 | address. */
#define FULL ((uint64_t)16 << 48 | (uint64_t)16 << 32)
/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */
#define KEEP(x) asm volatile("" : "+r"(x))
void test(int8_t A[48][48], int8_t B[48][64], int8_t C[48][64]) {
  config_ld(64, 1.0f, 16, 2);
  config_ld(48, 1.0f, 16, 1);
  gemmini_extended_config_st(64, RELU, 1.0f);
  /* rows of blocks still to move: where from, where to, how many */
  const int8_t *b_from = &B[0][0];
  uint64_t b_to = 0;
  int b_left = 0;
  const int8_t *a_from = &A[0][0];
  uint64_t a_to = 0;
  int a_left = 0;
  uint64_t a_load = 0;
  int8_t *c_to = &C[0][0];
  uint64_t c_from = 0;
  int c_left = 0;
  int li = 0, lj = 0, lk = 0;
  int lrows = MIN(2, 3 - li);
  /* the operands of the first step */
  if (li == 0) {
    b_from = &B[lk * 16][lj * 16];
    b_to = 4096;
    b_left = 3;
  }
  if (lj == 0) {
    a_from = &A[li * 16][lk * 16];
    a_to = a_load * 8192;
    a_left = lrows;
    a_load ^= 1;
  }
  while (b_left > 0) {
    mvin3(b_from, b_to, 64, 16);
    b_from += 1024; b_to += 64; b_left--;
  }
  while (a_left > 0) {
    mvin2(a_from, a_to, 48, 16);
    a_from += 768; a_to += 48; a_left--;
  }
  li += lrows;
  lrows = MIN(2, 3 - li);
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  uint64_t a_panel = 0;
  uint64_t c_at = 0x80000000;
  uint64_t full = FULL;
  KEEP(full);
  for (int i = 0, rows; i < 3; i += rows) {
    rows = MIN(2, 3 - i);
    const int j = 0;
    uint64_t a_slot = a_panel;
    if (li < 3) { /* loads for the next step */
      if (li == 0) {
        b_from = &B[lk * 16][lj * 16];
        b_to = 4096;
        b_left = 3;
      }
      if (lj == 0) {
        a_from = &A[li * 16][lk * 16];
        a_to = a_load * 8192;
        a_left = lrows;
        a_load ^= 1;
      }
      li += lrows;
      lrows = MIN(2, 3 - li);
    }
    uint64_t a = full + a_slot * 8192;
    uint64_t b = full + 4096;
    uint64_t c_more = full + c_at + 0x40000000; /* accumulates */
    uint64_t c_first = full + c_at; /* overwrites */
    for (int kk = 0; kk < 3; kk++) {
      uint64_t a_k = a + kk * 16;
      uint64_t b_k = b + kk * 64;
      uint64_t c_first_k = kk ? c_more : c_first;
      for (int jj = 0; jj < 4; jj++) {
        uint64_t b_k_j = b_k + jj * 16;
        uint64_t c_first_k_j = c_first_k + jj * 16;
        uint64_t c_more_j = c_more + jj * 16;
        {
          const int ii = 0;
          uint64_t a_k_i = a_k + ii * 48;
          uint64_t c_first_k_j_i = c_first_k_j + ii * 64;
          uint64_t c_more_j_i = c_more_j + ii * 64;
          KEEP(a_k_i); KEEP(b_k_j); KEEP(c_more_j_i); KEEP(c_first_k_j_i);
          preload(b_k_j, c_first_k_j_i, 0, 0, 0, 0);  compute_preloaded(a_k_i, NONE, 0, 0, 16, 16);
        }
        for (int ii = 1; ii < rows; ii++) {
          uint64_t a_k_i = a_k + ii * 48;
          uint64_t c_first_k_j_i = c_first_k_j + ii * 64;
          uint64_t c_more_j_i = c_more_j + ii * 64;
          KEEP(a_k_i); KEEP(b_k_j); KEEP(c_more_j_i); KEEP(c_first_k_j_i);
          preload(NONE, c_first_k_j_i, 16, 16, 0, 0);  compute_accumulated(a_k_i, NONE, 0, 0, 16, 16);
        }
        if (jj % 4 == 3) {
          if (c_left > 0) {
            mvout(c_to, c_from, 64, 16);
            c_to += 1024; c_from += 64; c_left--;
          }
        }
        if (jj % 4 == 3) {
          if (b_left > 0) {
            mvin3(b_from, b_to, 64, 16);
            b_from += 1024; b_to += 64; b_left--;
          } else if (a_left > 0) {
            mvin2(a_from, a_to, 48, 16);
            a_from += 768; a_to += 48; a_left--;
          }
        }
      }
    }
    while (b_left > 0) {
      mvin3(b_from, b_to, 64, 16);
      b_from += 1024; b_to += 64; b_left--;
    }
    while (a_left > 0) {
      mvin2(a_from, a_to, 48, 16);
      a_from += 768; a_to += 48; a_left--;
    }
    while (c_left > 0) {
      mvout(c_to, c_from, 64, 16);
      c_to += 1024; c_from += 64; c_left--;
    }
    c_to = &C[i * 16][j * 16];
    c_from = c_at;
    c_left = rows;
    c_at ^= 512; /* the other accumulator buffer */
    a_panel += 1;
    if (a_panel == 2) a_panel = 0;
  }
  while (c_left > 0) {
    mvout(c_to, c_from, 64, 16);
    c_to += 1024; c_from += 64; c_left--;
  }
  fence();
}
