/* pool.c - maxima and means over windows in one to three dimensions.
 *
 *   y[n][z][i][j] = max over t, r, s of x[n][z stride - pad + t dilation][i stride - pad + r dilation][j stride - pad + s dilation]
 *   f=mean: the sum over the elements of the window that exist, divided by all of them, as count_include_pad in PyTorch
 *
 * The C parameters of a kernel are x [n][d][h][w] and y, without d where it is 1, dense, of type a. A dimension with a
 * window of 1 is not pooled: its stride is 1 and its padding 0. */
#include "op/pool.h"

#include <math.h>

#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, Y, SIZE_MAX_ONE = 1 << 24, BAND = 8 /* lines at least */ };

#define SIZE(name, fallback, help) TW_INT_KEY(name, fallback, 1, SIZE_MAX_ONE, help)
#define WINDOW(name, help) TW_INT_KEY(name, "1", 1, 64, help)

static const tw_key keys[] = {
    SIZE("n", "1", "images, times their channels"),
    SIZE("d", "1", "depth of an image"),
    SIZE("h", "1", "height of an image"),
    TW_SIZE_KEY("w", SIZE_MAX_ONE, 448, "width of an image"),
    WINDOW("t", "depth of a window"),
    WINDOW("r", "height of a window"),
    TW_SIZE_KEY("s", 64, 3, "width of a window"),
    WINDOW("stride", "distance of windows"),
    TW_INT_KEY("pad", "0", 0, 32, "padding at each side"),
    WINDOW("dilation", "distance of a window's elements"),
    TW_CHOICE_KEY("f", "max", "max|mean", "the function of a window"),
    TW_TYPE_KEY("a", "", "element type: f32, f16 or bf16"),
};

tw_pool tw_pool_of(const tw_problem *p) {
  static const char *const sizes[] = {"d", "h", "w"}, *const windows[] = {"t", "r", "s"};
  tw_pool l = {.n = tw_problem_int(p, "n"),
               .dilation = tw_problem_int(p, "dilation"),
               .mean = tw_problem_int(p, "f") == 1,
               .type = tw_problem_type(p, "a")};
  for (int i = 0; i < 3; i++) {
    l.size[i] = tw_problem_int(p, sizes[i]);
    l.window[i] = tw_problem_int(p, windows[i]);
    l.stride[i] = l.window[i] > 1 ? tw_problem_int(p, "stride") : 1;
    l.pad[i] = l.window[i] > 1 ? tw_problem_int(p, "pad") : 0;
    const int64_t room = l.size[i] + 2 * l.pad[i] - l.dilation * (l.window[i] - 1) - 1;
    l.out[i] = room < 0 ? 0 : room / l.stride[i] + 1;
  }
  return l;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  const tw_pool l = tw_pool_of(p);
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if ((double)l.n * (double)l.size[0] * (double)l.size[1] * (double)l.size[2] > 0x1p40)
    return tw_fail(error, TW_USAGE, "n d h w must be at most 2^40; choose smaller ones");
  for (int i = 0; i < 3; i++) {
    if (2 * l.pad[i] > l.window[i])
      return tw_fail(error, TW_USAGE, "pad=%lld must be at most half of each window (found %lld)", (long long)l.pad[i],
                     (long long)l.window[i]);
    if (l.out[i] < 1)
      return tw_fail(error, TW_USAGE, "a window of %lld elements with dilation=%lld exceeds the padded size %lld",
                     (long long)l.window[i], (long long)l.dilation, (long long)(l.size[i] + 2 * l.pad[i]));
  }
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_pool l = tw_pool_of(p);
  const int64_t x[] = {l.n, l.size[0], l.size[1], l.size[2]}, y[] = {l.n, l.out[0], l.out[1], l.out[2]},
                flat_x[] = {l.n, l.size[1], l.size[2]}, flat_y[] = {l.n, l.out[1], l.out[2]};
  const bool is_flat = l.size[0] == 1 && l.out[0] == 1;
  out[X] = tw_operand_dense("x", l.type, is_flat ? 3 : 4, is_flat ? flat_x : x);
  out[Y] = tw_operand_dense("y", l.type, is_flat ? 3 : 4, is_flat ? flat_y : y);
  out[Y].is_output = true;
  return Y + 1;
}

/* Bands of lines are around -1, 0 or 1, or far below, within f16: maxima that begin at 0 or -10,000, or count padding
 * as 0, show. */
static tw_row_spread spread(uint64_t seed, int64_t band) {
  const uint64_t kind = (seed + (uint64_t)band) % 4;
  return kind == 3 ? (tw_row_spread){.middle = -0x1p15, .amplitude = 0x1p14}
                   : (tw_row_spread){.middle = (double)kind - 1, .amplitude = 1};
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  const tw_pool l = tw_pool_of(p);
  const int64_t lines = l.n * l.size[0] * l.size[1], w = l.size[2], band = l.window[1] > BAND ? l.window[1] : BAND,
                whole = lines / band * band;
  const tw_operand bands = tw_operand_dense("x", l.type, 2, (int64_t[]){lines / band, band * w}),
                   rest = tw_operand_dense("x", l.type, 2, (int64_t[]){1, (lines - whole) * w});
  if (whole) tw_fill_rows(seed, X, &bands, spread, buffers[X]);
  if (lines > whole) tw_fill_rows(~seed, X, &rest, spread, (char *)buffers[X] + whole * w * (tw_type_bits(l.type) / 8));
}

typedef struct job {
  tw_pool l;
  const void *x;
} job;

static void make_one(const job *j, int64_t image, const int64_t out[3], double *value, double *bound) {
  const tw_pool *l = &j->l;
  const int64_t all = l->window[0] * l->window[1] * l->window[2];
  double most = -INFINITY, sum = 0, size = 0;
  for (int64_t k = 0; k < all; k++) {
    const int64_t of[3] = {k / (l->window[1] * l->window[2]), k / l->window[2] % l->window[1], k % l->window[2]};
    int64_t at = image;
    bool is_inside = true;
    for (int i = 0; i < 3; i++) {
      const int64_t place = out[i] * l->stride[i] - l->pad[i] + of[i] * l->dilation;
      is_inside = is_inside && place >= 0 && place < l->size[i];
      at = at * l->size[i] + place;
    }
    if (!is_inside) continue;
    const double x = tw_element(l->type, j->x, at);
    most = fmax(most, x);
    sum += x;
    size += fabs(x);
  }
  *value = l->mean ? sum / (double)all : most;
  *bound = 0; /* a maximum is exact */
  if (!l->mean) return;
  const double off = TW_U32 * (tw_sum_steps((double)all) * size / (double)all + 2 * fabs(*value));
  *bound = tw_store_error(l->type, *value, off + tw_least_real(TW_F32));
}

static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t height = j->l.out[1], depth = j->l.out[0];
  for (int64_t i = 0; i < count; i++) {
    const int64_t out[3] = {row / height % depth, row % height, first + i};
    make_one(j, row / height / depth, out, &value[i], &bound[i]);
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {tw_pool_of(p), buffers[X]};
  return tw_exact_runs(make_row, &j, n, place, value, bound, threads, error);
}

static double of_window(const tw_pool *l) { return (double)(l->window[0] * l->window[1] * l->window[2]); }

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  const tw_pool l = tw_pool_of(p);
  (void)operand;
  *element = 4 * of_window(&l);
  *row = *element * (double)l.out[2];
}

/* A comparison or addition for each element of a window. */
static double operations(const tw_problem *p) {
  const tw_pool l = tw_pool_of(p);
  return 0.5 * of_window(&l) * (double)l.n * (double)l.out[0] * (double)l.out[1] * (double)l.out[2];
}

const tw_op tw_op_pool = {TW_EXACT_OP("pool", "maxima and means over windows in one to three dimensions"),
                          .validate = validate};
