/* calls.c - a program of its own, with main(), for any machine of the generator: moves, scales, products of both dataflows, transposed
 * operands, the accumulator, activations and the library's products. All values are small integers, which every element type holds
 * exactly. main() returns the number of the first check that fails. The test gives the macros of parts that the machine lacks. */
#include "gemmini.h"

#define N (2 * DIM)
#ifndef NO_SCALE
#define NO_SCALE 0
#endif

static elem_t A[N][N] row_align(1), B[N][N] row_align(1), C[N][N] row_align(1);
static acc_t D[N][N] row_align_acc(1), full[N][N] row_align_acc(1);
static int a[N][N], b[N][N], d[N][N];

static uint32_t seed = 12345;
static int draw(int below) {
  seed = seed * 1664525u + 1013904223u;
  return (int)(seed >> 16) % below;
}

/* An integer as an element. */
static elem_t element(int x) {
#ifdef ELEM_T_IS_LOWPREC_FLOAT
  const int magnitude = x < 0 ? -x : x, sign = x < 0 ? 0x8000 : 0, bias = (1 << (ELEM_T_EXP_BITS - 1)) - 1;
  int exponent = 0;
  if (!x) return 0;
  while (magnitude >> (exponent + 1)) exponent++;
  return (elem_t)(sign | (exponent + bias) << (ELEM_T_SIG_BITS - 1) |
                  ((magnitude - (1 << exponent)) << (ELEM_T_SIG_BITS - 1) >> exponent));
#else
  return (elem_t)x;
#endif
}

/* On int8: as the machine saturates. */
static int clipped(int x) {
#ifdef ELEM_T_IS_FLOAT
  return x;
#else
  return x > 127 ? 127 : x < -128 ? -128 : x;
#endif
}

static void clear(void) { memset(C, 0x55, sizeof C); }

static int sum(int i, int j, int depth, int a_transposed) {
  int s = 0;
  for (int k = 0; k < depth; k++) s += (a_transposed ? a[k][i] : a[i][k]) * b[k][j];
  return s;
}

#define ACC(row) (0x80000000u | (row))
#define ADD(row) (0xc0000000u | (row))
#define WIDE(row) (0xa0000000u | (row))
#define EXPECT(number, rows, cols, value)                 \
  gemmini_fence();                                        \
  for (int i = 0; i < (rows); i++)                        \
    for (int j = 0; j < (cols); j++)                      \
      if (C[i][j] != element(clipped(value))) return number;

static int moves(void) {
  const int blocks = MAX_BLOCK_LEN < 2 ? 1 : 2, cols = blocks * DIM;
  gemmini_config_ld(sizeof A[0]);
  gemmini_config_st(sizeof C[0]);
  clear(); /* some rows and columns */
  gemmini_extended_mvin(A, 0, DIM - 1, DIM - 1);
  gemmini_extended_mvout(C, 0, DIM - 1, DIM - 1);
  EXPECT(1, DIM - 1, DIM - 1, a[i][j])
  if (C[0][DIM - 1] != (elem_t)0x5555 && C[0][DIM - 1] != (elem_t)0x55 && sizeof(elem_t) < 4) return 2;
  clear(); /* several blocks, with a stride of their own */
  gemmini_extended4_config_ld(sizeof A[0], MVIN_SCALE_IDENTITY, false, DIM + 4, 1);
  gemmini_extended_mvin2(A, 0, cols, DIM);
  gemmini_extended_mvout(C, 0, DIM, DIM);
  if (blocks == 2) gemmini_extended_mvout(&C[0][DIM], DIM + 4, DIM, DIM);
  EXPECT(3, DIM, cols, a[i][j])
  clear(); /* zeros, and one row for all */
  gemmini_extended3_config_ld(0, MVIN_SCALE_IDENTITY, false, 2);
  gemmini_extended_mvin3(NULL, 0, DIM, DIM);
  gemmini_extended_mvin3(A, DIM, DIM, DIM);
  gemmini_mvout(C, 0);
  gemmini_mvout(C[DIM], DIM);
  EXPECT(4, DIM, DIM, 0)
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < DIM; j++)
      if (C[DIM + i][j] != element(a[0][j])) return 5;
#ifdef HAS_MVIN_SCALE
  clear();
  gemmini_extended3_config_ld(sizeof A[0], -3.0, false, 0);
  gemmini_mvin(A, 0);
  gemmini_mvout(C, 0);
  EXPECT(6, DIM, DIM, -3 * a[i][j])
#endif
  return 0;
}

static int accumulator(void) {
  gemmini_extended3_config_ld(sizeof D[0], MVIN_SCALE_IDENTITY, false, 0);
  gemmini_extended3_config_ld(sizeof A[0], MVIN_SCALE_IDENTITY, true, 1);
#ifdef ACC_READ_SMALL_WIDTH
  clear(); /* D, then A added to it */
  gemmini_config_st(sizeof C[0]);
  gemmini_mvin(D, ACC(0));
  gemmini_mvin2(A, ADD(0));
  gemmini_mvout(C, ACC(0));
  EXPECT(10, DIM, DIM, d[i][j] + a[i][j])
  clear();
  gemmini_extended_config_st(sizeof C[0], NO_ACTIVATION, 2.0);
  gemmini_mvout(C, ACC(0));
  EXPECT(11, DIM, DIM, 2 * (d[i][j] + a[i][j]))
#ifndef NO_RELU
  clear();
  gemmini_extended_config_st(sizeof C[0], RELU, 1.0);
  gemmini_mvout(C, ACC(0));
  EXPECT(12, DIM, DIM, (d[i][j] + a[i][j] > 0 ? d[i][j] + a[i][j] : 0))
#endif
#endif
#ifdef FULL_WIDTH
  gemmini_config_st(sizeof full[0]);
  gemmini_mvin(D, ACC(0));
  gemmini_mvout(full, WIDE(0));
  gemmini_fence();
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < DIM; j++)
      if (full[i][j] != D[i][j]) return 13;
#endif
  return 0;
}

#ifdef ACC_READ_SMALL_WIDTH
static int products(int dataflow) {
  gemmini_config_ld(sizeof A[0]);
  gemmini_config_st(sizeof C[0]);
  for (int t = 0; t < 2; t++) { /* A: two tiles of k at 0; B: at 2 DIM */
    gemmini_mvin(&A[0][t * DIM], t * DIM);
    gemmini_mvin(B[t * DIM], (2 + t) * DIM);
  }
  clear();
  gemmini_config_ex(dataflow, NO_ACTIVATION, 0);
  if (dataflow == WEIGHT_STATIONARY) {
    for (int t = 0; t < 2; t++) {
      gemmini_preload((2 + t) * DIM, t ? ADD(DIM) : ACC(DIM));
      gemmini_compute_preloaded(t * DIM, GARBAGE_ADDR);
    }
  } else {
    gemmini_preload_zeros(GARBAGE_ADDR);
    gemmini_compute_preloaded(0, 2 * DIM);
    gemmini_preload_zeros(ACC(DIM));
    gemmini_compute_accumulated(DIM, 3 * DIM);
  }
  gemmini_mvout(C, ACC(DIM));
  EXPECT(20 + dataflow, DIM, DIM, sum(i, j, N, 0))
  if (dataflow == WEIGHT_STATIONARY) { /* the weights stay */
    clear();
    gemmini_preload_zeros(ACC(0));
    gemmini_compute_accumulated(DIM, GARBAGE_ADDR);
    gemmini_mvout(C, ACC(0));
    gemmini_fence();
    for (int i = 0; i < DIM; i++)
      for (int j = 0; j < DIM; j++) {
        int s = 0;
        for (int k = 0; k < DIM; k++) s += a[i][DIM + k] * b[DIM + k][j];
        if (C[i][j] != element(clipped(s))) return 24;
      }
  }
  clear(); /* A transposed */
  if (dataflow == WEIGHT_STATIONARY) {
    gemmini_extended_config_ex(dataflow, NO_ACTIVATION, 0, 1, true, false);
    gemmini_preload(2 * DIM, ACC(0));
    gemmini_compute_preloaded(0, GARBAGE_ADDR);
    gemmini_mvout(C, ACC(0));
    EXPECT(25, DIM, DIM, sum(i, j, DIM, 1))
  }
  return 0;
}

/* The library's loops: by single commands or by the hardware loop. */
static int library(void) {
  clear();
  tiled_matmul_auto(N, N, N, (elem_t *)A, (elem_t *)B, D, (elem_t *)C, N, N, N, N, MVIN_SCALE_IDENTITY,
                    MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, NO_ACTIVATION, ACC_SCALE_IDENTITY, 0, false, false, false,
                    false, false, 0, WS);
  EXPECT(30, N, N, sum(i, j, N, 0) + d[i][j])
  return 0;
}
#endif

int main(void) {
  int wrong;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      A[i][j] = element(a[i][j] = draw(5) - 2);
      B[i][j] = element(b[i][j] = draw(3) - 1);
      D[i][j] = (acc_t)(d[i][j] = draw(41) - 20);
    }
  gemmini_flush(0);
  if ((wrong = moves()) || (wrong = accumulator())) return wrong;
#ifdef ACC_READ_SMALL_WIDTH
#ifndef NO_WS
  if ((wrong = products(WEIGHT_STATIONARY))) return wrong;
#ifndef NO_LOOPS
  if ((wrong = library())) return wrong;
#endif
#endif
#ifndef NO_OS
  if ((wrong = products(OUTPUT_STATIONARY))) return wrong;
#endif
#endif
  return 0;
}
