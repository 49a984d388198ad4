/* training.c - a program with main() about the flags of the hardware convolution loop for training and for depthwise convolutions, on any
 * machine that has them. Every result is compared with plain loops. main() returns the number of the first case that fails. */
#include "gemmini.h"

enum { SIDE = 5, TAPS = 3, IN = DIM + 3, OUT = DIM + 1, MANY = DIM + 2, LARGEST = 9 };

typedef struct flags {
  int batches, pad, dilation; /* dilation: of the kernel */
  int wrot180, input_dilated, to1203, tw1203, tw0132, ti3120;
} flags;

static int image[MANY][SIDE][SIDE][IN], weight[TAPS][TAPS][IN][OUT], bias[OUT];
static elem_t A[MANY * SIDE * SIDE * IN] row_align(1), B[TAPS * TAPS * IN * OUT] row_align(1),
    C[MANY * LARGEST * LARGEST * OUT] row_align(1);
static acc_t D[OUT] row_align_acc(1);

static uint32_t seed = 777;
static int draw(int below) {
  seed = seed * 1664525u + 1013904223u;
  return (int)(seed >> 16) % below;
}

static int clipped(int x) {
#ifdef ELEM_T_IS_FLOAT
  return x;
#else
  return x > 127 ? 127 : x < -128 ? -128 : x;
#endif
}

static void draw_all(void) {
  int *all[] = {&image[0][0][0][0], &weight[0][0][0][0], bias};
  const int n[] = {MANY * SIDE * SIDE * IN, TAPS * TAPS * IN * OUT, OUT};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < n[i]; j++) all[i][j] = draw(5) - 2;
  for (int i = 0; i < OUT; i++) D[i] = (acc_t)bias[i];
}

/* The operands in memory, in the order that the flags ask for. */
static void place(const flags *f) {
  for (int b = 0; b < f->batches; b++)
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++)
        for (int c = 0; c < IN; c++)
          A[f->ti3120 ? ((c * SIDE + y) * SIDE + x) * f->batches + b : ((b * SIDE + y) * SIDE + x) * IN + c] =
              (elem_t)image[b][y][x][c];
  for (int r = 0; r < TAPS; r++)
    for (int s = 0; s < TAPS; s++)
      for (int c = 0; c < IN; c++)
        for (int k = 0; k < OUT; k++)
          B[f->tw1203   ? ((c * TAPS + r) * TAPS + s) * OUT + k
            : f->tw0132 ? ((r * TAPS + s) * OUT + k) * IN + c
                        : ((r * TAPS + s) * IN + c) * OUT + k] = (elem_t)weight[r][s][c][k];
  memset(C, 0x55, sizeof C);
}

/* A pixel of the image with padding and inserted zeros around its own. */
static int pixel(const flags *f, int b, int y, int x, int c) {
  const int step = f->input_dilated ? 2 : 1;
  if (y < 0 || x < 0 || y % step || x % step || y / step >= SIDE || x / step >= SIDE) return 0;
  return image[b][y / step][x / step][c];
}

static int expected(const flags *f, int b, int y, int x, int k) {
  int sum = bias[k];
  for (int r = 0; r < TAPS; r++)
    for (int s = 0; s < TAPS; s++)
      for (int c = 0; c < IN; c++)
        sum += pixel(f, b, y + r * f->dilation - f->pad, x + s * f->dilation - f->pad, c) *
               (f->wrot180 ? weight[TAPS - 1 - r][TAPS - 1 - s][c][k] : weight[r][s][c][k]);
  return clipped(sum);
}

static int is_right(const flags *f) {
  const int side = (f->input_dilated ? 2 * SIDE - 1 : SIDE) + 2 * f->pad - f->dilation * (TAPS - 1);
  place(f);
  gemmini_fence();
  gemmini_extended_config_st((f->to1203 ? f->batches : 1) * OUT * sizeof(elem_t), NO_ACTIVATION, ACC_SCALE_IDENTITY);
  gemmini_extended3_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0, ACC_SCALE_IDENTITY, f->input_dilated ? 2 : 1, 1, f->ti3120,
                              f->tw0132, false);
  gemmini_loop_conv_ws(f->batches, SIDE, IN, OUT, side, side, 1, f->pad, TAPS, f->dilation, 1, 1, 0, f->batches, side, side, OUT,
                       TAPS, TAPS, IN, f->pad, f->pad, f->pad, f->pad, 0, 0, 0, 0, side, side, B, C, D, A, 0, 1, 0, f->wrot180,
                       f->input_dilated, NO_ACTIVATION, f->to1203, f->tw1203, f->tw0132, f->ti3120, 1, 0);
  gemmini_fence();
  for (int b = 0; b < f->batches; b++)
    for (int y = 0; y < side; y++)
      for (int x = 0; x < side; x++)
        for (int k = 0; k < OUT; k++)
          if (C[(f->to1203 ? (y * side + x) * f->batches + b : (b * side + y) * side + x) * OUT + k] !=
              (elem_t)expected(f, b, y, x, k))
            return 0;
  return 1;
}

/* One loop for each channel. */
static int depthwise_is_right(void) {
  const int side = SIDE;
  const flags none = {.batches = 2, .dilation = 1};
  place(&none);
  for (int c = 0; c < OUT; c++)
    for (int t = 0; t < TAPS * TAPS; t++) B[c * TAPS * TAPS + t] = (elem_t)weight[t / TAPS][t % TAPS][0][c];
  gemmini_fence();
  gemmini_extended_config_st(IN * sizeof(elem_t), NO_ACTIVATION, ACC_SCALE_IDENTITY);
  gemmini_extended3_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0, ACC_SCALE_IDENTITY, 1, 1, false, false, false);
  for (int c = 0; c < OUT; c++)
    gemmini_loop_conv_ws(2, SIDE, IN, IN, side, side, 1, 1, TAPS, 1, 1, 1, 0, 2, side, side, 1, TAPS, TAPS, 1, 1, 1, 1, 1, 0, 0, 0,
                         0, side, side, B + c * TAPS * TAPS, C + c, D + c, A + c, 0, 1, 0, 0, 0, NO_ACTIVATION, 0, 0, 0, 0, 1, 1);
  gemmini_fence();
  for (int b = 0; b < 2; b++)
    for (int y = 0; y < side; y++)
      for (int x = 0; x < side; x++)
        for (int c = 0; c < OUT; c++) {
          int sum = bias[c];
          for (int t = 0; t < TAPS * TAPS; t++)
            sum += pixel(&none, b, y + t / TAPS - 1, x + t % TAPS - 1, c) * weight[t / TAPS][t % TAPS][0][c];
          if (C[((b * side + y) * side + x) * IN + c] != (elem_t)clipped(sum)) return 0;
        }
  return 1;
}

int main(void) {
  static const flags cases[] = {
      {.batches = 2, .pad = 1, .dilation = 1},
      {.batches = 2, .pad = 1, .dilation = 1, .wrot180 = 1},
      {.batches = 2, .pad = 0, .dilation = 1, .to1203 = 1},
      {.batches = 2, .pad = 1, .dilation = 1, .tw1203 = 1},
      {.batches = 2, .pad = 1, .dilation = 1, .tw0132 = 1},
      {.batches = MANY, .pad = 0, .dilation = 1, .ti3120 = 1},
      {.batches = 2, .pad = 2, .dilation = 2},
      {.batches = 1, .pad = 1, .dilation = 1, .input_dilated = 1},
      {.batches = 1, .pad = 2, .dilation = 1, .input_dilated = 1, .wrot180 = 1, .tw0132 = 1},   /* gradient of the input */
      {.batches = MANY, .pad = 1, .dilation = 2, .ti3120 = 1, .to1203 = 1, .tw1203 = 1},        /* of the weights */
  };
  draw_all();
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
    if (!is_right(&cases[i])) return i + 1;
  return depthwise_is_right() ? 0 : 100;
}
