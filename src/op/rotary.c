/* rotary.c - rotary position embedding (J. Su et al., RoFormer, 2021): pairs of elements of each head are rotated by
 * angles that depend on the position.
 *
 *   y[b][s][h][i]  = x[b][s][h][i] cos[s][p] - x[b][s][h][j] sin[s][p]
 *   y[b][s][h][j]  = x[b][s][h][j] cos[s][p] + x[b][s][h][i] sin[s][p]
 *
 * for p < d / 2. With interleaved=0, as in GPT-NeoX and Llama, i = p and j = p + d / 2. With interleaved=1, as in the
 * paper, i = 2 p and j = 2 p + 1.
 *
 * The C parameters of a kernel are x, cos, sin and y, all of type a, dense but for x with ldx: the heads of a position
 * may be a part of a longer row, as in a projection to queries, keys and values. Their layouts follow attention.c: x
 * [b][s][h][d], cos [s][d/2], sin [s][d/2], y [b][s][h][d]. With transposed=1: x [b][h][d][s], cos [d/2][s], sin
 * [d/2][s], y [b][h][d][s]. cos and sin are tables of arbitrary numbers: their contents count, not their names. */
#include <math.h>

#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, COS, SIN, Y };

static const tw_key keys[] = {
    TW_SIZE_KEY("b", 1 << 20, 16, "sequences"),
    TW_SIZE_KEY("h", 1 << 16, 16, "heads"),
    TW_SIZE_KEY("s", 1 << 24, 2048, "positions"),
    {.name = "d", .kind = TW_KEY_INT, .min = 2, .max = 1 << 16, .example = 128, .help = "elements of a head; even"},
    TW_FLAG_KEY("interleaved", "pair neighbouring elements, not elements of the two halves"),
    TW_FLAG_KEY("transposed", "make positions the last dimension"),
    TW_INT_KEY("ldx", "0", 0, 1 << 24, "elements from one position of x to the next; 0 = dense"),
    TW_TYPE_KEY("a", "", "element type of every operand: f32, f16 or bf16"),
};

/* Elements from one position of x to the next. */
static int64_t pitch_of(const tw_problem *p) {
  const int64_t ldx = tw_problem_int(p, "ldx");
  return ldx ? ldx : tw_problem_int(p, "h") * tw_problem_int(p, "d");
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  const int64_t dense = tw_problem_int(p, "h") * tw_problem_int(p, "d");
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if (tw_problem_int(p, "d") % 2)
    return tw_fail(error, TW_USAGE, "d=%lld must be even; elements of a head are rotated in pairs",
                   (long long)tw_problem_int(p, "d"));
  if (tw_problem_int(p, "ldx") && (tw_problem_int(p, "transposed") || pitch_of(p) < dense))
    return tw_fail(error, TW_USAGE,
                   "ldx=%lld requires transposed=0 and at least h * d = %lld elements for each position",
                   (long long)pitch_of(p), (long long)dense);
  const double elements = (double)tw_problem_int(p, "b") * (double)tw_problem_int(p, "s") * (double)pitch_of(p);
  if (elements > 0x1p40)
    return tw_fail(error, TW_USAGE, "%.3g elements are too many; choose smaller b, s or h", elements);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t s = tw_problem_int(p, "s"), d = tw_problem_int(p, "d");
  const bool t = tw_problem_int(p, "transposed");
  const int64_t b = tw_problem_int(p, "b"), h = tw_problem_int(p, "h");
  const int64_t heads[] = {b, t ? h : s, t ? d : h, t ? s : d}, table[] = {t ? d / 2 : s, t ? s : d / 2};
  out[X] = tw_operand_positions("x", a, heads, tw_problem_int(p, "ldx"));
  out[COS] = tw_operand_dense("cos", a, 2, table);
  out[SIN] = tw_operand_dense("sin", a, 2, table);
  out[Y] = tw_operand_dense("y", a, 4, heads);
  out[Y].is_output = true;
  return Y + 1;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, X, &o[X], tw_spread_by_row, buffers[X]);
  tw_zero_a_row(seed, X, &o[X], buffers[X]);
  for (int i = COS; i < Y; i++) tw_fill_uniform(seed, i, &o[i], 1, buffers[i]);
}

typedef struct job {
  void *const *buffer;
  tw_type type;
  int64_t positions, heads, d, pitch;
  bool interleaved, transposed;
} job;

/* In binary32 two products and their sum are rounded: 2 u of their magnitudes, and of the result rounded to the
 * type. */
static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t half = j->d / 2;
  for (int64_t i = 0; i < count; i++) {
    /* element e of the vector at position s; rows are vectors, or with `transposed` elements of all positions */
    const int64_t e = j->transposed ? row % j->d : first + i,
                  s = j->transposed ? first + i : row / j->heads % j->positions;
    const int64_t step = j->transposed ? j->positions : 1,
                  at = j->transposed ? row / j->d * j->d * step + s : row / j->heads * j->pitch + row % j->heads * j->d;
    const int64_t table = j->transposed ? s : s * half, pair = j->interleaved ? e / 2 : e % half;
    const bool second = j->interleaved ? e % 2 : e >= half;
    const int64_t other = j->interleaved ? e ^ 1 : second ? e - half : e + half;
    const double cosine = tw_element(j->type, j->buffer[COS], table + pair * step),
                 sine = tw_element(j->type, j->buffer[SIN], table + pair * step);
    const double own = tw_element(j->type, j->buffer[X], at + e * step) * cosine,
                 others = tw_element(j->type, j->buffer[X], at + other * step) * sine;
    value[i] = second ? own + others : own - others;
    bound[i] = tw_store_error(j->type, value[i], 2 * TW_U32 * (fabs(own) + fabs(others)) + tw_least_real(TW_F32));
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {.buffer = buffers,
                 .type = tw_problem_type(p, "a"),
                 .positions = tw_problem_int(p, "s"),
                 .heads = tw_problem_int(p, "h"),
                 .d = tw_problem_int(p, "d"),
                 .pitch = pitch_of(p),
                 .interleaved = tw_problem_int(p, "interleaved"),
                 .transposed = tw_problem_int(p, "transposed")};
  return tw_exact_runs(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = 8;
  *row = 8 * (double)tw_problem_int(p, tw_problem_int(p, "transposed") ? "s" : "d");
}

/* Four products and two sums for two elements. */
static double operations(const tw_problem *p) {
  return 1.5 * (double)tw_problem_int(p, "b") * (double)tw_problem_int(p, "s") * (double)tw_problem_int(p, "h") *
         (double)tw_problem_int(p, "d");
}

const tw_op tw_op_rotary = {
    TW_EXACT_OP("rotary",
                "rotary position embedding: rotates pairs of elements of each head by the angles of the position"),
    .validate = validate};
