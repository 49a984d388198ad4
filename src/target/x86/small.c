/* small.c - products of f32 that take about as long as a call: without a plan, on the calling thread.
 *
 * Vectors run along n; along m, in the transposed product C' = op(B)' op(A)'; or along k. The cheapest is computed. An
 * operand that is not stored in the order of its vectors is transposed first, and so is C in the transposed product: a
 * few columns at a time, on the stack. */
#include <stdatomic.h>

#include "gemm/product.h"
#include "target/x86/choose.h"
#include "target/x86/in_place.h"
#include "target/x86/plan.h"

enum { LANES = 16, DOTS = 4 /* columns of a tile of dots */ };

static __attribute__((noinline)) const x86_kernel *choose_kernel(void) {
  const tw_gemm_spec s = {.a = TW_F32, .b = TW_F32, .c = TW_F32};
  const x86_kernel *k;
  return x86_choose_kernel(&s, &k, NULL) == TW_OK ? k : NULL;
}

static const x86_kernel *kernel_of_f32(void) {
  static _Atomic(const x86_kernel *) kept;
  const x86_kernel *k = atomic_load_explicit(&kept, memory_order_relaxed); /* constant data */
  if (!k) atomic_store_explicit(&kept, k = choose_kernel(), memory_order_relaxed);
  return k;
}

static tw_operands transposed(const tw_operands *x) {
  tw_operands t = *x;
  t.m = x->n, t.n = x->m;
  t.a = x->b, t.lda = x->ldb, t.a_transposed = !x->b_transposed;
  t.b = x->a, t.ldb = x->lda, t.b_transposed = !x->a_transposed;
  return t;
}

/* Is the transposed C, one row, stored as C is? */
static bool is_one_row(const tw_operands *x) { return x->n == 1 && x->ldc == 1; }

static bool is_plain(const tw_operands *x) { return x->alpha == 1 && (x->beta == 0 || x->beta == 1); }

static int64_t ceil_of(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* How C or the transposed C is computed, in about this number of cycles. */
typedef struct way {
  bool turned, dots; /* dots: vectors run along k */
  int64_t cycles;
} way;

/* A multiply-add takes a cycle, and four are needed for its latency. To begin and to store sums takes two, three for
 * dots. An element is transposed in half a cycle, or in one if it moves alone. */
static way way_of(const tw_operands *x, bool turned, bool may_use_dots) {
  const int64_t m = x->m, n = x->n, k = x->k, vectors = m * (ceil_of(n, LANES) / LANES);
  const int64_t tiles = (vectors > 4 ? vectors : 4) * k + 2 * vectors + (x->b_transposed ? k * n / 2 : 0);
  if (x->a_transposed || !may_use_dots) return (way){turned, false, tiles};
  const int64_t dots = m * ceil_of(n, DOTS) * (ceil_of(k, LANES) / LANES + 3) + (x->b_transposed ? 0 : k * n);
  return dots < tiles ? (way){turned, true, dots} : (way){turned, false, tiles};
}

static way cheapest(const tw_operands *x, bool may_use_dots) {
  const tw_operands t = transposed(x);
  way direct = way_of(x, false, may_use_dots), turned = way_of(&t, true, may_use_dots);
  turned.cycles += is_one_row(x) ? 0 : x->m * x->n / (is_plain(x) ? 4 : 2);
  return direct.cycles <= turned.cycles ? direct : turned;
}

/* Products for which this needs no calculation, which takes as long as one of 4 x 4 x 4. */
static inline bool is_best_in_place(const tw_operands *x) {
  return !x->b_transposed && (x->n % LANES == 0 || (x->n >= x->m && (!x->a_transposed || x->n < LANES)));
}

/* Where B is not stored in the order of its vectors: B', with rows of this number of elements. */
static int64_t pitch_of_turned(const tw_operands *x, bool dots) { return ceil_of(dots ? x->k : x->n, LANES); }

static inline void multiply(const x86_kernel *kernel, const tw_operands *x, bool dots, float *c, int64_t c_pitch,
                            x86_into into, float *room) {
  const float *b = x->b;
  int64_t ldb = x->ldb;
  if (x->b_transposed != dots) {
    ldb = pitch_of_turned(x, dots);
    kernel->gather(room, b, x->ldb * X86_UNIT, dots ? x->k : x->n, ldb, dots ? x->n : x->k, 1);
    b = room;
  }
  if (dots) {
    kernel->dots(x->m, x->n, x->k, x->a, x->lda * X86_UNIT, b, ldb * X86_UNIT, c, c_pitch * X86_UNIT, into);
    return;
  }
  const x86_in_place p = {.kernel = kernel,
                          .a = x->a,
                          .b = b,
                          .c = c,
                          .a_pitch = x->lda * X86_UNIT,
                          .b_row = ldb * X86_UNIT,
                          .panel = kernel->columns * X86_UNIT,
                          .c_pitch = c_pitch * X86_UNIT,
                          .rows = x->m,
                          .columns = x->n,
                          .units = x->k,
                          .turned = x->a_transposed,
                          .into = into};
  x86_run_in_place(&p);
}

/* C = alpha sums + beta C, for a few columns or rows of C. */
static void finish(const x86_kernel *kernel, const tw_operands *x, const float *sums, int64_t pitch) {
  x86_finish f = {
      .sums_stride = pitch * X86_UNIT, .c_stride = x->ldc * X86_UNIT, .rows = x->m, .alpha = x->alpha, .beta = x->beta};
  for (int64_t column = 0; column < x->n; column += X86_COLUMNS_MAX) {
    f.sums = sums + column, f.c = (float *)x->c + column, f.columns = x86_min(x->n - column, X86_COLUMNS_MAX);
    kernel->finish(&f);
  }
}

static void finish_turned(const x86_kernel *kernel, const tw_operands *x, const float *sums, int64_t pitch,
                          float *room) {
  if (x->beta == 0) {
    kernel->gather(x->c, sums, pitch * X86_UNIT, x->n, x->ldc, x->m, x->alpha);
    return;
  }
  kernel->gather(room, sums, pitch * X86_UNIT, x->n, x->n, x->m, 1);
  finish(kernel, x, room, x->n);
}

/* PART columns of C, or of the transposed C, at a time. The stack has memory for their B, their sums, and these sums
 * transposed. False: too little. */
static __attribute__((noinline)) bool multiply_on_stack(const x86_kernel *kernel, const tw_operands *x, way w) {
  enum { PART = 64, ROOM = 1 << 14 };
  float memory[ROOM];
  const tw_operands t = w.turned ? transposed(x) : *x;
  const int64_t most = x86_min(t.n, PART), pitch = ceil_of(most, LANES);
  const int64_t of_b = t.b_transposed == w.dots ? 0 : w.dots ? most * pitch_of_turned(&t, true) : t.k * pitch;
  const bool row = !w.turned || is_one_row(x), across = !row && x->beta == 0;
  const bool to_c = is_plain(x) && (row || across);
  if (of_b + (to_c ? 0 : 2 * t.m * pitch) > ROOM) return false;
  float *const sums = memory + of_b, *const turned_sums = sums + t.m * pitch;
  const x86_into into = !to_c ? X86_SET : across ? X86_SET_ACROSS : x->beta == 1 ? X86_ADD : X86_SET;
  for (int64_t column = 0; column < t.n; column += PART) {
    tw_operands part = t, of_c = *x;
    *(w.turned ? &of_c.m : &of_c.n) = part.n = x86_min(t.n - column, PART);
    part.b = (const float *)t.b + column * (t.b_transposed ? t.ldb : 1);
    of_c.c = (float *)x->c + column * (w.turned ? x->ldc : 1);
    multiply(kernel, &part, w.dots, to_c ? of_c.c : sums, to_c ? x->ldc : pitch, into, memory);
    if (to_c) continue;
    if (w.turned)
      finish_turned(kernel, &of_c, sums, pitch, turned_sums);
    else
      finish(kernel, &of_c, sums, pitch);
  }
  return true;
}

/* Of products up to WORK_MOST multiply-adds the size alone decides. A larger one may be worth a second thread
 * (choose.c). Without it, up to K_MOST the sums have the same bits as with a plan. */
bool tw_product_compute_small(tw_operands *x, int threads) {
  enum { WORK_MOST = 250000, WORK_MOST_ALONE = 4000000, K_MOST = 256 };
  const int64_t size = x->m * x->n, work = size * x->k;
  if (size > WORK_MOST_ALONE || work > WORK_MOST_ALONE || work == 0) return false;
  const bool small = work <= WORK_MOST;
  if (!small && (threads > 1 || x->alpha != 1 || x->k > K_MOST)) return false;
  const x86_kernel *const kernel = kernel_of_f32();
  if (!kernel || !kernel->stored) return false;
  if (x->n == 1 && x->ldb == 1 && x->k >= LANES) x->b_transposed = true, x->ldb = x->k; /* it is both */
  if (is_plain(x) && is_best_in_place(x)) {
    const x86_into into = x->beta == 1 ? X86_ADD : X86_SET;
    if (x->m <= kernel->rows && x->n <= kernel->narrow_columns)
      (x->a_transposed ? kernel->narrow_turned : kernel->narrow_stored)[x->m - 1](
          x->k, x->a, x->lda * X86_UNIT, x->b, x->ldb * X86_UNIT, x->c, x->ldc * X86_UNIT, x->n, into, x->b, 0, 1);
    else
      multiply(kernel, x, false, x->c, x->ldc, into, NULL);
    return true;
  }
  return x->alpha != 0 && multiply_on_stack(kernel, x, cheapest(x, small));
}
