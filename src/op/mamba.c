/* mamba.c - Mamba's selective scan (A. Gu and T. Dao, 2023).
 *
 *   h[n](t) = exp(delta[c][t] A[c][n]) h[n](t - 1) + delta[c][t] u[c][t] B[n][t],   h[n](-1) = 0
 *   y[c][t] = sum over n of C[n][t] h[n](t)
 *
 * for each sequence. The C parameters of a kernel are delta [b][c][s], u [b][c][s], A [c][n], B [b][n][s], C [b][n][s],
 * y [b][c][s], dense, all of type a. */
#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { DELTA, U, A, B, C, Y };

static const tw_key keys[] = {
    TW_INT_KEY("b", "1", 1, 1 << 20, "sequences"),
    TW_SIZE_KEY("c", 1 << 20, 256, "channels"),
    TW_SIZE_KEY("s", 1 << 24, 2048, "positions"),
    TW_SIZE_KEY("n", 4096, 16, "elements of a channel's state"),
    TW_TYPE_KEY("a", "", "element type of every operand: f32, f16 or bf16"),
};

static tw_status validate(const tw_problem *p, tw_error *error) {
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  const double elements = (double)tw_problem_int(p, "b") * (double)tw_problem_int(p, "s") *
                          ((double)tw_problem_int(p, "c") + (double)tw_problem_int(p, "n"));
  if (elements > 0x1p40)
    return tw_fail(error, TW_USAGE, "unsupported size: %.3g elements; expected at most 1.1e12", elements);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t b = tw_problem_int(p, "b"), c = tw_problem_int(p, "c"), s = tw_problem_int(p, "s"),
                n = tw_problem_int(p, "n");
  const int64_t channels[] = {b, c, s}, states[] = {b, n, s};
  out[DELTA] = tw_operand_dense("delta", a, 3, channels);
  out[U] = tw_operand_dense("u", a, 3, channels);
  out[A] = tw_operand_dense("A", a, 2, (int64_t[]){c, n});
  out[B] = tw_operand_dense("B", a, 3, states);
  out[C] = tw_operand_dense("C", a, 3, states);
  out[Y] = tw_operand_dense("y", a, 3, channels);
  out[Y].is_output = true;
  return Y + 1;
}

/* Steps of delta are around 0.4 and some are negative, so that a lost sign shows; A is negative, so that states do not
 * grow. */
static tw_row_spread steps(uint64_t seed, int64_t row) {
  (void)seed, (void)row;
  return (tw_row_spread){.middle = 0.4, .amplitude = 0.6};
}

/* One channel of four forgets in a few steps: exponents reach -16. */
static tw_row_spread decays(uint64_t seed, int64_t row) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)row);
  const double size = tw_random_below(&r, 4) == 0 ? 16 : 1;
  return (tw_row_spread){.middle = -0.5 * size, .amplitude = 0.45 * size};
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, DELTA, &o[DELTA], steps, buffers[DELTA]);
  tw_fill_rows(seed, A, &o[A], decays, buffers[A]);
  tw_fill_rows(seed, U, &o[U], tw_spread_by_row, buffers[U]);
  tw_zero_a_row(seed, U, &o[U], buffers[U]);
  tw_fill_uniform(seed, B, &o[B], 1, buffers[B]);
  tw_fill_uniform(seed, C, &o[C], 1, buffers[C]);
}

typedef struct job {
  void *const *buffer;
  tw_type type;
  int64_t c, s, n;
} job;

/* In binary32, exp has an error of 4 u, and 2 u of its argument. The state has the scaled error of the previous
 * state, plus a rounding of the product and of the sum. The term delta u B has 3 u. Intermediate values are kept in
 * binary32. */
static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t batch = row / j->c, channel = row % j->c;
  double *room = tw_new(4 * (size_t)count, sizeof *room);
  if (!room) return false;
  double *sum = room, *size = sum + count, *off = size + count;
  for (int64_t n = 0; n < j->n; n++) {
    const double a = tw_element(j->type, j->buffer[A], channel * j->n + n);
    double h = 0, h_off = 0;
    for (int64_t t = 0; t < first + count; t++) {
      const double delta = tw_element(j->type, j->buffer[DELTA], row * j->s + t),
                   u = tw_element(j->type, j->buffer[U], row * j->s + t),
                   b = tw_element(j->type, j->buffer[B], (batch * j->n + n) * j->s + t);
      const double factor = exp(delta * a), kept = factor * h, added = delta * u * b;
      h_off = factor * h_off + fabs(kept) * (5 + 2 * fabs(delta * a)) * TW_U32 + 3 * TW_U32 * fabs(added);
      h = kept + added;
      h_off += TW_U32 * fabs(h);
      if (t < first) continue;
      const double c = tw_element(j->type, j->buffer[C], (batch * j->n + n) * j->s + t);
      sum[t - first] += c * h;
      size[t - first] += fabs(c * h);
      off[t - first] += fabs(c) * h_off;
    }
  }
  for (int64_t i = 0; i < count; i++) {
    value[i] = sum[i];
    bound[i] = tw_store_error(j->type, sum[i], off[i] + (tw_sum_steps((double)j->n) + 2) * TW_CUT32 * size[i]);
  }
  free(room);
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {.buffer = buffers,
                 .type = tw_problem_type(p, "a"),
                 .c = tw_problem_int(p, "c"),
                 .s = tw_problem_int(p, "s"),
                 .n = tw_problem_int(p, "n")};
  return tw_exact_rows(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = *row = 20 * (double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "s");
}

/* An exponential, four products and two sums for each element of each state. */
static double operations(const tw_problem *p) {
  return 3.5 * (double)tw_problem_int(p, "b") * (double)tw_problem_int(p, "c") * (double)tw_problem_int(p, "s") *
         (double)tw_problem_int(p, "n");
}

const tw_op tw_op_mamba = {
    TW_EXACT_OP("mamba", "Mamba's selective scan: each channel has a decaying state, to which its inputs are added"),
    .validate = validate};
