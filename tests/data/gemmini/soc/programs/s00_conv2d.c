/* conv2d n=1 h=8 w=8 c=64 k=16 r=5 s=5 stride=2 pad=2 bias=row relu=1 a=i8 b=i8 out=i8 acc=i32 on gemmini-16x16-int8, from the schedule
 *     pipeline p=4 q=4 k=16 c=32 r=5 loads=8 stores=8
 *     unroll runs
 *     tile r=1
 *     spread loads=4 stores=4
 * tiles of 4 x 4 pixels x 16 channels, steps of 32 channels x 1 rows of the kernel, order pk; A streamed (2), B streamed (2), C in 2 buffers; loads 1 step ahead.
 * A, pixels of the input: 2 slots of 4 x 11 pixels x 2 blocks from row 0 (bank 0); a pixel is a row for each
 * block of channels. B, weights: 2 slots of 10 blocks from row 4096 (bank 1). C: 4 rows of pixels in blocks of up
 * to 4. n, y, x count images, rows and columns of the output; k and c blocks of 16 channels; r rows of the
 * kernel; rr, ss, cc, kk are inside the step; ln to lc is the step whose operands are loaded next. */
#undef MIN
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#undef MAX
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define NONE 0xffffffffu /* no address */
/* Operands carry their size: rows << 48 | columns << 32 | address. */
#define BLOCK(rows) ((uint64_t)(rows) << 48 | (uint64_t)16 << 32)
/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */
#define KEEP(x) asm volatile("" : "+r"(x))
void test(int8_t input[1][8][8][64], int8_t weights[5][5][64][16], int32_t bias[1][16], int8_t output[1][4][4][16]) {
  config_ld(16, 1.0f, 16, 2); /* weights */
  config_ld(64, 1.0f, 11, 1); /* pixels */
  config_ld(0, 1.0f, 16, 0); /* bias */
  gemmini_extended_config_st(16, RELU, 1.0f);
  /* what is still to be moved: where from, where to, how much */
  uint64_t b_from = 0, b_to = 0;
  int b_left = 0;
  int b_inner = 0, b_inner_end = 0;
  uint64_t b_load = 0;
  uint64_t a_from = 0, a_to = 0;
  int a_left = 0, a_column = 0; /* rows of the chunk; columns of the first that are done */
  int a_row = 0; /* of the input */
  int a_begin = 0, a_end = 0; /* columns of the chunk that are pixels, not padding */
  int a_first = 0; /* column of the input */
  uint64_t a_load = 0;
  uint64_t c_to = 0, c_from = 0;
  int c_left = 0;
  int c_column = 0, c_columns = 0; /* of the row of the tile that is stored */
  uint64_t d_from = 0, d_to = 0;
  int d_left = 0;
  int ln = 0, ly = 0, lx = 0, lk = 0, lr = 0, lc = 0;
  /* the operands of the first step */
  b_to = 4096 + b_load * 8192;
  b_from = (uint64_t)weights + ((lr * 320L + lc * 16) * 16 + lk * 16);
  b_left = 5 * 2;
  b_inner = 0; b_inner_end = 2;
  b_load ^= 1;
  a_row = ly * 2 + lr - 2;
  a_first = lx * 2 - 2;
  a_from = (uint64_t)input + (((ln * 8L + a_row) * 8 + a_first) * 64 + lc * 16);
  a_to = a_load * 8192;
  a_left = 4;
  a_begin = a_first < 0 ? MIN(11, -a_first) : 0;
  a_end = MIN(11, MAX(a_begin, (8 - a_first)));
  a_load ^= 1;
  if (b_left > 0) { /* the first run needs all pixels, but few weights */
    mvin3(b_from, b_to, 16, 16);
    b_from += 256L; b_to += 16; b_left--;
    if (++b_inner == b_inner_end) {
      b_from += (64L - b_inner * 16) * 16L; b_to += (2 - b_inner) * 16; b_inner = 0;
    }
  }
  while (a_left > 0) {
    const int end = 11;
    int first = MAX(a_column, a_begin), last = MIN(end, a_end);
    if (a_row < 0 || a_row >= 8 || first >= last) first = last = end; /* all padding */
    if (first > a_column) {
      mvin2(0, a_to + a_column, 32, first - a_column);
    }
    if (last > first) {
      mvin2(a_from + first * 64L, a_to + first, 32, last - first);
    }
    if (end > last) {
      mvin2(0, a_to + last, 32, end - last);
    }
    a_row += 2;
    a_from += 1024L; a_to += 22; a_left--;
  }
  while (b_left > 0) {
    mvin3(b_from, b_to, 16, 16);
    b_from += 256L; b_to += 16; b_left--;
    if (++b_inner == b_inner_end) {
      b_from += (64L - b_inner * 16) * 16L; b_to += (2 - b_inner) * 16; b_inner = 0;
    }
  }
  if ((lc += 2) >= 4) {
    lc = 0;
    lr += 1;
  }
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 2, false, false);
  uint64_t b_slot = 0;
  uint64_t a_slot = 0;
  uint64_t c_at = 0x80000000;
  const uint64_t C_OTHER = 512; /* the two accumulator buffers differ in it */
  /* the bias of the first tile */
  d_from = (uint64_t)bias + (0) * 64;
  d_to = c_at;
  d_left = 4;
  while (d_left > 0) {
    for (int i = 0; i < 16; i += 16) mvin(d_from + i * 4, d_to + i / 16 * 16, 16, 16);
    d_to += 16; d_left--;
  }
  const int n = 0;
  const int y = 0;
  const int x = 0;
  const int k = 0;
  const int rows = 4;
  const int next_k = 0;
  d_from = (uint64_t)bias + (next_k) * 64;
  d_to = c_at ^ C_OTHER;
  d_left = 4;
  for (int r = 0; r < 5; r += 1) {
    for (int c = 0; c < 4; c += 2) {
      if (lr < 5) { /* loads for the next step */
        b_to = 4096 + b_load * 8192;
        b_from = (uint64_t)weights + ((lr * 320L + lc * 16) * 16 + lk * 16);
        b_left = 5 * 2;
        b_inner = 0; b_inner_end = 2;
        b_load ^= 1;
        a_row = ly * 2 + lr - 2;
        a_first = lx * 2 - 2;
        a_from = (uint64_t)input + (((ln * 8L + a_row) * 8 + a_first) * 64 + lc * 16);
        a_to = a_load * 8192;
        a_left = 4;
        a_begin = a_first < 0 ? MIN(11, -a_first) : 0;
        a_end = MIN(11, MAX(a_begin, (8 - a_first)));
        a_load ^= 1;
        if ((lc += 2) >= 4) {
          lc = 0;
          lr += 1;
        }
      }
      uint64_t a_at = BLOCK(4) + a_slot * 8192;
      uint64_t b_at = BLOCK(16) + 4096 + b_slot * 8192;
      for (int ss = 0; ss < 5; ss++) {
        for (int cc = 0; cc < 2; cc++) {
          uint64_t A = a_at + ss + cc * 11;
          uint64_t B = b_at + ss * 32 + cc * 16;
          uint64_t C = BLOCK(4) + (c_at | 0x40000000); /* accumulates */
          KEEP(A); KEEP(B); KEEP(C);
          preload(B, C, 0, 0, 0, 0);  compute_preloaded(A, NONE, 0, 0, 16, 16);
          preload(NONE, C + 16, 16, 16, 0, 0);  compute_accumulated(A + 22, NONE, 0, 0, 16, 16);
          preload(NONE, C + 32, 16, 16, 0, 0);  compute_accumulated(A + 44, NONE, 0, 0, 16, 16);
          preload(NONE, C + 48, 16, 16, 0, 0);  compute_accumulated(A + 66, NONE, 0, 0, 16, 16);
          if (c_left > 0) {
            const int height = c_column ? 4 : (c_columns - 1) % 4 + 1;
            mvout(c_to, c_from, 16, height);
            c_to += height * 16L; c_from += 16;
            if ((c_column += height) == c_columns) {
              c_column = 0; c_left--;
            }
          }
          if (a_left > 0) {
            const int end = 11;
            int first = MAX(a_column, a_begin), last = MIN(end, a_end);
            if (a_row < 0 || a_row >= 8 || first >= last) first = last = end; /* all padding */
            if (first > a_column) {
              mvin2(0, a_to + a_column, 32, first - a_column);
            }
            if (last > first) {
              mvin2(a_from + first * 64L, a_to + first, 32, last - first);
            }
            if (end > last) {
              mvin2(0, a_to + last, 32, end - last);
            }
            a_row += 2;
            a_from += 1024L; a_to += 22; a_left--;
          } else if (b_left > 0) {
            mvin3(b_from, b_to, 16, 16);
            b_from += 256L; b_to += 16; b_left--;
            if (++b_inner == b_inner_end) {
              b_from += (64L - b_inner * 16) * 16L; b_to += (2 - b_inner) * 16; b_inner = 0;
            }
          } else if (d_left > 0 && c_left == 0) {
            for (int i = 0; i < 16; i += 16) mvin(d_from + i * 4, d_to + i / 16 * 16, 16, 16);
            d_to += 16; d_left--;
          }
        }
      }
      b_slot ^= 1;
      a_slot ^= 1;
      while (a_left > 0) {
        const int end = 11;
        int first = MAX(a_column, a_begin), last = MIN(end, a_end);
        if (a_row < 0 || a_row >= 8 || first >= last) first = last = end; /* all padding */
        if (first > a_column) {
          mvin2(0, a_to + a_column, 32, first - a_column);
        }
        if (last > first) {
          mvin2(a_from + first * 64L, a_to + first, 32, last - first);
        }
        if (end > last) {
          mvin2(0, a_to + last, 32, end - last);
        }
        a_row += 2;
        a_from += 1024L; a_to += 22; a_left--;
      }
      while (b_left > 0) {
        mvin3(b_from, b_to, 16, 16);
        b_from += 256L; b_to += 16; b_left--;
        if (++b_inner == b_inner_end) {
          b_from += (64L - b_inner * 16) * 16L; b_to += (2 - b_inner) * 16; b_inner = 0;
        }
      }
    }
  }
  while (c_left > 0) {
    const int height = c_column ? 4 : (c_columns - 1) % 4 + 1;
    mvout(c_to, c_from, 16, height);
    c_to += height * 16L; c_from += 16;
    if ((c_column += height) == c_columns) {
      c_column = 0; c_left--;
    }
  }
  while (d_left > 0) {
    for (int i = 0; i < 16; i += 16) mvin(d_from + i * 4, d_to + i / 16 * 16, 16, 16);
    d_to += 16; d_left--;
  }
  c_to = (uint64_t)output + (((n * 4L + y) * 4 + x) * 16 + k * 16);
  c_from = c_at;
  c_left = rows; c_column = 0; c_columns = 4;
  c_at ^= C_OTHER;
  while (c_left > 0) {
    const int height = c_column ? 4 : (c_columns - 1) % 4 + 1;
    mvout(c_to, c_from, 16, height);
    c_to += height * 16L; c_from += 16;
    if ((c_column += height) == c_columns) {
      c_column = 0; c_left--;
    }
  }
  fence();
}
