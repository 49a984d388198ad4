/* mpc.c - the two passes of TinyMPC's primal update: chains of small matrix-vector products over a horizon of N steps
 * with n states and m inputs.
 *
 *   mpc_forward    u[i] = -Kinf x[i] - d[i],  x[i+1] = Adyn x[i] + Bdyn u[i]                      i = 0 .. N-1
 *   mpc_backward   d[i] = Quu_inv (Bdyn' p[i+1] + r[i]),  p[i] = q[i] + AmBKt p[i+1] - Kinf' r[i]   i = N-2 .. 0
 *
 * As in the Autocomp paper, appendix D.2, and in TinyMPC (src/tinympc/admm.cpp, forward_pass and backward_pass_grad,
 * without the affine terms). Quu_inv is symmetric in TinyMPC. The op does not assume it: its inputs are not symmetric,
 * so that a kernel that reads the transpose of a matrix is found.
 *
 * The C parameters of a kernel, dense:
 *   forward    Adyn[n][n], Bdyn[n][m], Kinf[m][n], x[N+1][n][1], d[N][m][1], u[N][m][1]
 *   backward   Bdyn[n][m], Quu_inv[m][m], Kinf[m][n], AmBKt[n][n], p[N][n][1], d[N][m][1], r[N][m][1], q[N][n][1]
 * The first row of x and the last row of p are given; the kernel may use the other rows. The check compares u, and d[0
 * .. N-2].
 *
 * Inputs: the recurrence's matrix (Adyn - Bdyn Kinf, AmBKt) is CONTRACTION times an orthogonal matrix. Its spectral
 * radius is below 1, and an error in any step is still visible many steps later. The orthogonal one is a product of
 * rational rotations, rounded to multiples of 2^-20; the other matrices are multiples of 2^-11, and Adyn - Bdyn Kinf is
 * exact. */
#include "op/mpc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/compare.h"
#include "op/ops.h"

enum { HORIZON_LIMIT = 10000, SIZE_LIMIT = 512 };
#define CONTRACTION 0.9

#define SIZE_KEYS                                                                                                      \
  TW_SIZE_KEY("states", SIZE_LIMIT, 12, "n: length of a state"),                                                       \
      TW_SIZE_KEY("inputs", SIZE_LIMIT, 4, "m: length of an input"),                                                   \
      TW_TYPE_KEY("type", "", "element type of every operand: f32"),

static const tw_key forward_keys[] = {TW_SIZE_KEY("horizon", HORIZON_LIMIT, 10, "N: steps"), SIZE_KEYS};
static const tw_key backward_keys[] = {{.name = "horizon",
                                        .kind = TW_KEY_INT,
                                        .min = 2,
                                        .max = HORIZON_LIMIT,
                                        .example = 10,
                                        .help = "N: there are N - 1 steps"},
                                       SIZE_KEYS};

tw_mpc tw_mpc_of(const tw_problem *p) {
  tw_mpc m = {.forward = p->op == &tw_op_mpc_forward,
              .horizon = tw_problem_int(p, "horizon"),
              .states = tw_problem_int(p, "states"),
              .inputs = tw_problem_int(p, "inputs")};
  m.steps = m.forward ? m.horizon : m.horizon - 1;
  return m;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  tw_type type = tw_problem_type(p, "type");
  if (type == TW_F32) return TW_OK;
  return tw_fail(error, TW_UNSUPPORTED, "%s does not support type=%s; use type=f32", p->op->name, tw_type_name(type));
}

static tw_operand matrix(const char *name, int64_t rows, int64_t columns) {
  return tw_operand_dense(name, TW_F32, 2, (int64_t[]){rows, columns});
}

/* `count` columns of `length` elements. */
static tw_operand vectors(const char *name, int64_t count, int64_t length) {
  return tw_operand_dense(name, TW_F32, 3, (int64_t[]){count, length, 1});
}

/* As above, written by the kernel, with vector `given` as an input. */
static tw_operand trajectory(const char *name, int64_t count, int64_t length, int64_t given) {
  tw_operand o = vectors(name, count, length);
  o.is_output = true;
  o.given_bytes = (size_t)length * sizeof(float);
  o.given_at = (size_t)given * o.given_bytes;
  return o;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_mpc m = tw_mpc_of(p);
  if (m.forward) {
    out[TW_MPC_ADYN] = matrix("Adyn", m.states, m.states);
    out[TW_MPC_BDYN] = matrix("Bdyn", m.states, m.inputs);
    out[TW_MPC_KINF] = matrix("Kinf", m.inputs, m.states);
    out[TW_MPC_X] = trajectory("x", m.horizon + 1, m.states, 0);
    out[TW_MPC_D] = vectors("d", m.horizon, m.inputs);
    out[TW_MPC_U] = vectors("u", m.horizon, m.inputs);
    out[TW_MPC_U].is_output = true;
    return TW_MPC_U + 1;
  }
  out[TW_MPC_BACK_BDYN] = matrix("Bdyn", m.states, m.inputs);
  out[TW_MPC_BACK_QUU] = matrix("Quu_inv", m.inputs, m.inputs);
  out[TW_MPC_BACK_KINF] = matrix("Kinf", m.inputs, m.states);
  out[TW_MPC_BACK_AMBKT] = matrix("AmBKt", m.states, m.states);
  out[TW_MPC_BACK_P] = trajectory("p", m.horizon, m.states, m.horizon - 1);
  out[TW_MPC_BACK_D] = vectors("d", m.horizon, m.inputs);
  out[TW_MPC_BACK_D].is_output = true;
  out[TW_MPC_BACK_R] = vectors("r", m.horizon, m.inputs);
  out[TW_MPC_BACK_Q] = vectors("q", m.horizon, m.states);
  return TW_MPC_BACK_Q + 1;
}

/* ---- inputs ---- */

/* Uniform multiples of 2^-11 in [-amplitude, amplitude]; of a column of vectors and of matrices alike. */
static void fill_array(uint64_t seed, int stream, double amplitude, int64_t n, float *data) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)stream);
  int64_t most = (int64_t)(amplitude * 0x1p11);
  if (most < 1) most = 1;
  for (int64_t i = 0; i < n; i++) data[i] = (float)((double)tw_random_between(&r, -most, most) * 0x1p-11);
}

/* Rotates rows i and j of a matrix of n columns. */
static void rotate(double *q, int64_t n, int64_t i, int64_t j, double cosine, double sine) {
  for (int64_t k = 0; k < n; k++) {
    double a = q[i * n + k], b = q[j * n + k];
    q[i * n + k] = cosine * a - sine * b;
    q[j * n + k] = sine * a + cosine * b;
  }
}

/* CONTRACTION times a product of rotations: rounds of pairs until every element depends on all. */
static void fill_contraction(uint64_t seed, int stream, int64_t n, float *out) {
  static const double triple[][3] = {{3, 4, 5}, {5, 12, 13}, {8, 15, 17}, {20, 21, 29}};
  double *q = tw_new((size_t)(n * n), sizeof *q);
  if (!q) {
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    return;
  }
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)stream);
  int64_t order[SIZE_LIMIT];
  for (int64_t i = 0; i < n; i++) {
    order[i] = i;
    q[i * n + i] = 1;
  }
  for (int64_t reach = 1; reach < 4 * n; reach *= 2) {
    tw_random_shuffle(&r, order, (size_t)n, sizeof *order);
    for (int64_t i = 0; i + 1 < n; i += 2) {
      const double *t = triple[tw_random_below(&r, 4)];
      bool turned = tw_random_below(&r, 2), negative = tw_random_below(&r, 2);
      double sine = t[turned] / t[2], cosine = t[!turned] / t[2];
      rotate(q, n, order[i], order[i + 1], cosine, negative ? -sine : sine);
    }
  }
  for (int64_t i = 0; i < n * n; i++) out[i] = (float)(rint(CONTRACTION * q[i] * 0x1p20) * 0x1p-20);
  free(q);
}

static void forward_inputs(const tw_mpc *m, uint64_t seed, void *const buffers[]) {
  float *A = buffers[TW_MPC_ADYN], *B = buffers[TW_MPC_BDYN], *K = buffers[TW_MPC_KINF];
  int64_t n = m->states, k = m->inputs;
  fill_array(seed, 1, 0.8 / sqrt((double)k), n * k, B);
  fill_array(seed, 2, 1.5 / sqrt((double)n), k * n, K);
  fill_contraction(seed, 3, n, A);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = (double)A[i * n + j];
      for (int64_t l = 0; l < k; l++) sum += (double)B[i * k + l] * (double)K[l * n + j];
      A[i * n + j] = (float)sum;
    }
  fill_array(seed, 4, 1, n, buffers[TW_MPC_X]);
  fill_array(seed, 5, 1, m->horizon * k, buffers[TW_MPC_D]);
}

static void backward_inputs(const tw_mpc *m, uint64_t seed, void *const buffers[]) {
  int64_t n = m->states, k = m->inputs;
  float *Quu = buffers[TW_MPC_BACK_QUU];
  fill_array(seed, 1, 1.5 / sqrt((double)n), n * k, buffers[TW_MPC_BACK_BDYN]);
  fill_array(seed, 2, 1 / sqrt((double)k), k * k, Quu);
  for (int64_t i = 0; i < k; i++) Quu[i * k + i] += Quu[i * k + i] < 0 ? -1 : 1; /* no row is small */
  fill_array(seed, 3, 0.8 / sqrt((double)k), k * n, buffers[TW_MPC_BACK_KINF]);
  fill_contraction(seed, 4, n, buffers[TW_MPC_BACK_AMBKT]);
  fill_array(seed, 5, 1, n, (float *)buffers[TW_MPC_BACK_P] + (m->horizon - 1) * n);
  fill_array(seed, 6, 1, m->horizon * k, buffers[TW_MPC_BACK_R]);
  fill_array(seed, 7, 0.5, m->horizon * n, buffers[TW_MPC_BACK_Q]);
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  const tw_mpc m = tw_mpc_of(p);
  if (m.forward)
    forward_inputs(&m, seed, buffers);
  else
    backward_inputs(&m, seed, buffers);
}

/* ---- reference: in double from step to step, rounded only when stored ---- */

/* y += factor op(A) x; A is stored rows x columns. */
static void multiply_add(double factor, const float *A, int64_t rows, int64_t columns, bool transposed, const double *x,
                         double *y) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double a = factor * (double)A[i * columns + j];
      if (transposed)
        y[j] += a * x[i];
      else
        y[i] += a * x[j];
    }
}

static void add(double factor, const float *from, int64_t n, double *to) {
  for (int64_t i = 0; i < n; i++) to[i] += factor * (double)from[i];
}

static void store(const double *from, int64_t n, float *to) {
  for (int64_t i = 0; i < n; i++) to[i] = (float)from[i];
}

static void forward_reference(const tw_mpc *m, void *const buffers[]) {
  const float *d = buffers[TW_MPC_D];
  float *x = buffers[TW_MPC_X], *u = buffers[TW_MPC_U];
  int64_t n = m->states, k = m->inputs;
  double state[SIZE_LIMIT] = {0}, next[SIZE_LIMIT], input[SIZE_LIMIT];
  add(1, x, n, state);
  for (int64_t i = 0; i < m->horizon; i++) {
    memset(input, 0, sizeof input);
    memset(next, 0, sizeof next);
    multiply_add(-1, buffers[TW_MPC_KINF], k, n, false, state, input);
    add(-1, d + i * k, k, input);
    store(input, k, u + i * k);
    multiply_add(1, buffers[TW_MPC_ADYN], n, n, false, state, next);
    multiply_add(1, buffers[TW_MPC_BDYN], n, k, false, input, next);
    store(next, n, x + (i + 1) * n);
    memcpy(state, next, sizeof state);
  }
}

static void backward_reference(const tw_mpc *m, void *const buffers[]) {
  const float *r = buffers[TW_MPC_BACK_R], *q = buffers[TW_MPC_BACK_Q];
  float *p = buffers[TW_MPC_BACK_P], *d = buffers[TW_MPC_BACK_D];
  int64_t n = m->states, k = m->inputs;
  double costate[SIZE_LIMIT] = {0}, next[SIZE_LIMIT], gradient[SIZE_LIMIT], step[SIZE_LIMIT], input[SIZE_LIMIT];
  add(1, p + (m->horizon - 1) * n, n, costate);
  for (int64_t i = m->horizon - 2; i >= 0; i--) {
    memset(gradient, 0, sizeof gradient);
    memset(step, 0, sizeof step);
    memset(next, 0, sizeof next);
    memset(input, 0, sizeof input);
    add(1, r + i * k, k, input);
    multiply_add(1, buffers[TW_MPC_BACK_BDYN], n, k, true, costate, gradient);
    add(1, r + i * k, k, gradient);
    multiply_add(1, buffers[TW_MPC_BACK_QUU], k, k, false, gradient, step);
    store(step, k, d + i * k);
    add(1, q + i * n, n, next);
    multiply_add(1, buffers[TW_MPC_BACK_AMBKT], n, n, false, costate, next);
    multiply_add(-1, buffers[TW_MPC_BACK_KINF], k, n, true, input, next);
    store(next, n, p + i * n);
    memcpy(costate, next, sizeof costate);
  }
}

static void reference(const tw_problem *p, void *const buffers[], int threads) {
  const tw_mpc m = tw_mpc_of(p);
  (void)threads; /* a chain: every step needs the previous one */
  if (m.forward)
    forward_reference(&m, buffers);
  else
    backward_reference(&m, buffers);
}

/* ---- comparison ---- */

static double norm(const void *data, int64_t n) {
  const float *x = data;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sqrt(sum);
}

static double largest_norm(const void *data, int64_t count, int64_t length) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) most = fmax(most, norm((const float *)data + i * length, length));
  return most;
}

/* The largest norm of a row. */
static double row_norm(const void *data, int64_t rows, int64_t columns) { return largest_norm(data, rows, columns); }

/* |computed - exact| of one element, for any order of the sums, also if products of the matrices are computed first
 * (such as x[i+1] = (Adyn - Bdyn Kinf) x[i] - Bdyn d[i]). A step in binary32 changes a state by a vector of norm at
 * most
 *   step = gamma (|A| |x| + |B| |u| + |B| (|K| |x| + |d|)),  gamma = 8 sqrt(n + m + 4) 2^-24
 * with a probability that is 1 in practice. The source is Higham and Mary, A New Approach to Probabilistic Rounding
 * Error Analysis, 2019, lambda = 4; the other factor 2 is for products of products. Norms of matrices are Frobenius
 * norms. Errors of different steps are independent and shrink by CONTRACTION a step: together step / sqrt(1 -
 * CONTRACTION^2). A result computed from a state has that error times a row of its matrix, plus its own rounding. */
static double tolerance(const tw_mpc *m, void *const e[]) {
  int64_t n = m->states, k = m->inputs;
  double gamma = 8 * sqrt((double)(n + k + 4)) * 0x1p-24, sum = 1 / sqrt(1 - CONTRACTION * CONTRACTION);
  if (m->forward) {
    double A = norm(e[TW_MPC_ADYN], n * n), B = norm(e[TW_MPC_BDYN], n * k), K = norm(e[TW_MPC_KINF], k * n);
    double x = largest_norm(e[TW_MPC_X], m->horizon, n), u = largest_norm(e[TW_MPC_U], m->horizon, k),
           d = largest_norm(e[TW_MPC_D], m->horizon, k);
    double step = gamma * (A * x + B * u + B * (K * x + d));
    return row_norm(e[TW_MPC_KINF], k, n) * (step * sum + gamma * x) + gamma * d + 0x1p-100;
  }
  double B = norm(e[TW_MPC_BACK_BDYN], n * k), K = norm(e[TW_MPC_BACK_KINF], k * n);
  double A = norm(e[TW_MPC_BACK_AMBKT], n * n), p = largest_norm(e[TW_MPC_BACK_P], m->horizon, n),
         r = largest_norm(e[TW_MPC_BACK_R], m->horizon, k), q = largest_norm(e[TW_MPC_BACK_Q], m->horizon, n);
  double step = gamma * (A * p + K * r + q);
  return row_norm(e[TW_MPC_BACK_QUU], k, k) * (B * step * sum + 2 * gamma * (B * p + r)) + 0x1p-100;
}

static tw_status compare(const tw_problem *problem, void *const expected[], void *const actual[], tw_error *error) {
  const tw_mpc m = tw_mpc_of(problem);
  tw_operand o[TW_OPERANDS_MAX];
  size_t n = operands(problem, o), result = m.forward ? TW_MPC_U : TW_MPC_BACK_D;
  tw_status status = tw_compare_inputs(o, n, expected, actual, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < n; i++) {
    if (memcmp((const char *)expected[i] + o[i].given_at, (const char *)actual[i] + o[i].given_at, o[i].given_bytes) !=
        0)
      return tw_fail(error, TW_FAILED, "the kernel changed its input %s[%d]", o[i].name,
                     (int)(o[i].given_at / o[i].given_bytes));
  }
  double most = tolerance(&m, expected);
  tw_mismatch found = {0};
  for (int64_t row = 0; row < m.steps * m.inputs; row++) {
    double off = fabs(tw_operand_element(&o[result], actual[result], row, 0) -
                      tw_operand_element(&o[result], expected[result], row, 0));
    if (!(off <= most) || tw_is_poison(&o[result], actual[result], row, 0))
      tw_note_element(&found, &o[result], expected[result], actual[result], row, 0);
  }
  return tw_mismatch_status(&o[result], &found, error);
}

/* ---- cost ---- */

/* As the equations above say, x[N] included, though no u needs it: the paper counts in the same way (prob_macs_map). */
static double operations(const tw_problem *p) {
  const tw_mpc m = tw_mpc_of(p);
  double n = (double)m.states, k = (double)m.inputs;
  return (double)m.steps * (n * n + 2 * n * k + (m.forward ? 0 : k * k));
}

/* Matrices, given vectors and requested vectors, once each. */
static double bytes(const tw_problem *p) {
  const tw_mpc m = tw_mpc_of(p);
  double n = (double)m.states, k = (double)m.inputs, steps = (double)m.steps;
  double elements = n * n + 2 * n * k + n + 2 * steps * k;
  if (!m.forward) elements += k * k + steps * n;
  return 4 * elements;
}

#define MPC(name_, summary_, keys_)                                                                                    \
  {                                                                                                                    \
    .name = (name_), .summary = (summary_), .keys = (keys_), .n_keys = sizeof(keys_) / sizeof *(keys_),                \
    .validate = validate, .operands = operands, .inputs = inputs, .reference = reference, .compare = compare,          \
    .operations = operations, .bytes = bytes, .inputs_cached = true                                                    \
  }

const tw_op tw_op_mpc_forward =
    MPC("mpc_forward", "TinyMPC's rollout u[i] = -Kinf x[i] - d[i], x[i+1] = Adyn x[i] + Bdyn u[i]", forward_keys);
const tw_op tw_op_mpc_backward = MPC(
    "mpc_backward", "TinyMPC's gradient d[i] = Quu_inv (Bdyn' p[i+1] + r[i]), p[i] = q[i] + AmBKt p[i+1] - Kinf' r[i]",
    backward_keys);
