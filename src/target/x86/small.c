/* small.c - products of f32 that take about as long as a call: without a plan, on the calling thread.
 *
 * Vectors run along n; along m, in the transposed product C' = op(B)' op(A)'; or along k. The cheapest is computed. An
 * operand that is not stored in the order of its vectors is transposed first, and so is C in the transposed product: a
 * few columns at a time, on the stack. */
#include <stdatomic.h>

#include "gemm/product.h"
#include "target/x86/choose.h"
#include "target/x86/cpu.h"
#include "target/x86/in_place.h"
#include "target/x86/plan.h"

enum { LANES = 16, HALF = LANES / 2, DOTS = 4 /* columns of a tile of dots */ };

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

static int64_t ceil_of(int64_t n, int64_t step) { return x86_ceil_div(n, step) * step; }

/* How C or the transposed C is computed, and an estimate of the time. */
typedef struct way {
  bool turned, dots; /* turned: the transposed C; dots: vectors run along k */
  int64_t cost;      /* half cycles */
} way;

/* A multiply-add takes a cycle, or half a cycle with a vector of half the length, unless the processor has no `fast_halves`.
 * Fewer than four whole sums wait for its latency. To begin and to store a sum takes two cycles. Loads under masks are a
 * third slower. An element is transposed in three quarters of a cycle, or in one if it moves alone. `packs`: B is not
 * stored in the order of tiles, but in that of dots. */
static way way_of(int64_t m, int64_t n, int64_t k, bool packs, bool a_transposed, bool may_use_dots, bool fast_halves) {
  enum { LATENCY = 8 };
  const int64_t halves = m * (fast_halves ? x86_ceil_div(n, HALF) : 2 * x86_ceil_div(n, LANES));
  const int64_t loops = (halves > LATENCY ? halves : LATENCY) * k;
  const int64_t tiles = loops + (n < HALF ? loops / 3 : 0) + 2 * halves + (packs ? k * n + k * n / 2 : 0);
  if (a_transposed || !may_use_dots) return (way){.cost = tiles};
  const int64_t sums = n < m && n < DOTS ? n * ceil_of(m, DOTS) : m * ceil_of(n, DOTS);
  const int64_t dots = 2 * sums * (x86_ceil_div(k, LANES) + 2) + (packs ? 0 : (n > 1 ? 1 : 2) * k * n);
  return dots < tiles ? (way){.dots = true, .cost = dots} : (way){.cost = tiles};
}

/* Where rows of A are not vectors as stored, other costs decide. */
static way cheapest(const tw_operands *x, bool may_use_dots) {
  const bool fast = !x->a_transposed || !x86_this_cpu()->whole_vectors;
  const way direct = way_of(x->m, x->n, x->k, x->b_transposed, x->a_transposed, may_use_dots, fast);
  way turned = way_of(x->n, x->m, x->k, !x->a_transposed, !x->b_transposed, may_use_dots, fast);
  turned.turned = true;
  turned.cost += fast ? x->m * x->n / 2 : x->m * x->n;
  return direct.cost <= turned.cost ? direct : turned;
}

/* The transposed product. C is as it was: stored by columns. */
static inline void transpose(tw_operands *x) {
  tw_operands_swap(x);
  x->a_transposed = !x->a_transposed, x->b_transposed = !x->b_transposed;
}

/* A column of C whose elements are neighbours is a row of the transposed C. An A of one row whose elements are
 * neighbours has either order. */
static void become_row(tw_operands *x) {
  transpose(x);
  x->ldc = x->n;
  if (x->lda == 1) x->a_transposed = false, x->lda = x->k;
}

/* May rows of a transposed A be better vectors than short rows of B? Not on processors with fast vectors of half the
 * length. */
static inline bool may_turn(const tw_operands *x) {
  return x->a_transposed && x->n <= HALF && x->m >= 2 * LANES && x86_this_cpu()->whole_vectors;
}

/* Products whose B is kept in registers. With more units, or with few rows, multiply-adds wait for one another. */
static inline bool has_few_units(const tw_operands *x) {
  enum { FEWER_UNITS = 4, ROWS_LEAST = 4 };
  return !x->b_transposed && x->k <= (x->m < ROWS_LEAST ? FEWER_UNITS : X86_FEW_UNITS) &&
         !(2 * x->n <= x->k && may_turn(x));
}

/* Products with so few sums that each has several vectors. With fewer columns than rows most lanes would be empty. */
static inline bool has_few_sums(const tw_operands *x) {
  return !x->b_transposed && x->m <= X86_FEW_SUMS_ROWS && x->m <= x->n && x->n <= LANES;
}

/* Likewise, with rows of a transposed A as vectors. More sums would take long to transpose. */
static inline bool has_few_sums_turned(const tw_operands *x) {
  enum { SUMS_MOST = 32 };
  return x->a_transposed && x->n <= X86_FEW_SUMS_ROWS && x->n <= x->m && x->m <= LANES && x->m * x->n <= SUMS_MOST &&
         x->k > X86_FEW_UNITS;
}

/* Products of rows with rows that need no estimate. With more sums it may be faster to transpose B. */
static inline bool is_best_as_dots(const tw_operands *x) {
  enum { SUMS_MOST = 64 };
  return x->b_transposed && !x->a_transposed && x->k >= LANES && (x->m <= 2 || x->n <= 2 || x->m * x->n <= SUMS_MOST);
}

/* Products that need no estimate: it takes as long as a product of 4 x 4 x 4. */
static inline bool is_best_in_place(const tw_operands *x) {
  enum { SHORT = 16 };
  if (x->b_transposed || may_turn(x)) return false;
  if (x->n % LANES == 0 || x->m == 1) return true;
  return x->a_transposed ? x->n < LANES && (x->n >= x->m || (x->n > 2 && x->k <= SHORT))
                         : x->n >= x->m || x->k <= SHORT;
}

static inline int into_of(const tw_operands *x) {
  return (x->beta != 0 ? X86_ADD : X86_SET) | (x->alpha != 1 ? X86_SCALED : X86_SET);
}

/* The product with its B in place. `across`: X86_ACROSS, if C is stored by columns, or 0. */
static inline x86_in_place in_place(const x86_kernel *kernel, const tw_operands *x, int across) {
  return (x86_in_place){.kernel = kernel,
                        .a = x->a,
                        .b = x->b,
                        .a_pitch = x->lda * X86_UNIT,
                        .b_row = x->ldb * X86_UNIT,
                        .c = x->c,
                        .c_pitch = x->ldc * X86_UNIT,
                        .panel = kernel->columns * X86_UNIT,
                        .rows = x->m,
                        .columns = x->n,
                        .units = x->k,
                        .turned = x->a_transposed,
                        .into = into_of(x) | across,
                        .alpha_beta = {x->alpha, x->beta}};
}

/* Transposes B, whose rows as stored are `stride` apart, to `room`. */
static inline void transpose_b(x86_in_place *p, bool dots, int64_t stride, float *room) {
  const int64_t pitch = ceil_of(dots ? p->units : p->columns, LANES);
  p->kernel->gather(room, p->b, stride, dots ? p->units : p->columns, pitch, dots ? p->columns : p->units, 1);
  p->b = room, p->b_row = pitch * X86_UNIT;
}

/* The transposed C, on the stack, then C. */
static __attribute__((noinline)) void compute_few_sums_turned(const x86_kernel *kernel, const tw_operands *x) {
  float sums[X86_FEW_SUMS_ROWS][LANES];
  tw_operands y = *x;
  transpose(&y);
  const int64_t b_pitch = y.ldb * X86_UNIT, a_pitch = y.lda * X86_UNIT;
  kernel->few_sums(y.m, y.n, y.k, y.a, y.a_transposed ? X86_UNIT : a_pitch, y.a_transposed ? a_pitch : X86_UNIT, y.b,
                   b_pitch, sums, sizeof *sums, into_of(x) & X86_SCALED, &x->alpha);
  float *c = x->c;
  for (int64_t j = 0; j < x->m; j++, c += x->ldc)
    for (int64_t i = 0; i < x->n; i++) c[i] = x->beta != 0 ? sums[i][j] + x->beta * c[i] : sums[i][j];
}

/* PART columns of C, or of the transposed C, at a time. The stack has memory for their B. False: too little. */
static __attribute__((noinline)) bool multiply_on_stack(const x86_kernel *kernel, const tw_operands *x, way w) {
  enum { PART = 64, ROOM = 1 << 14 };
  float memory[ROOM];
  tw_operands y = *x;
  if (w.turned) transpose(&y);
  x86_in_place p = in_place(kernel, &y, w.turned ? X86_ACROSS : 0);
  const int64_t most = x86_min(y.n, PART), b_row = p.b_row;
  const bool packs = y.b_transposed != w.dots;
  if (packs && (w.dots ? most * ceil_of(y.k, LANES) : y.k * ceil_of(most, LANES)) > ROOM) return false;
  const int64_t b_step = PART * (y.b_transposed ? b_row : X86_UNIT), c_step = PART * (w.turned ? p.c_pitch : X86_UNIT);
  const char *b = y.b;
  for (int64_t left = y.n; left > 0; left -= PART, b += b_step, p.c = (char *)p.c + c_step) {
    p.columns = x86_min(left, PART), p.b = b;
    if (packs) transpose_b(&p, w.dots, b_row, memory);
    if (w.dots)
      kernel->dots(p.rows, p.columns, p.units, p.a, p.a_pitch, p.b, p.b_row, p.c, p.c_pitch, p.into, p.alpha_beta);
    else
      x86_run_in_place(&p);
  }
  return true;
}

/* Products of up to WORK_MOST multiply-adds are computed here for any number of threads. With several threads, a larger
 * product has a plan (choose.c). With one it is computed here only if its sums have the bits that a plan gives: without
 * dots or factors, and with k up to K_MOST. */
bool tw_product_compute_small(tw_operands *x, int threads) {
  enum { WORK_MOST = 250000, WORK_MOST_ALONE = 4000000, K_MOST = 256 };
  const int64_t size = x->m * x->n;
  if (size > WORK_MOST_ALONE || x->alpha == 0) return false; /* 64 bits may be too few for a larger size times k */
  const int64_t work = size * x->k;
  if (work > WORK_MOST_ALONE || work == 0) return false;
  const bool small = work <= WORK_MOST;
  if (!small && (threads > 1 || x->alpha != 1 || (x->beta != 0 && x->beta != 1) || x->k > K_MOST)) return false;
  const x86_kernel *const kernel = kernel_of_f32();
  if (!kernel || !kernel->stored) return false;
  if (x->n == 1 && x->ldc == 1 && (x->a_transposed || x->k >= LANES)) become_row(x);
  const float alpha_beta[] = {x->alpha, x->beta};
  const int64_t a_pitch = x->lda * X86_UNIT, b_pitch = x->ldb * X86_UNIT, c_pitch = x->ldc * X86_UNIT;
  x86_few *const few = has_few_units(x) ? kernel->few_units : has_few_sums(x) ? kernel->few_sums : NULL;
  if (small && few) {
    const int64_t a_row = x->a_transposed ? X86_UNIT : a_pitch, a_step = x->a_transposed ? a_pitch : X86_UNIT;
    few(x->m, x->n, x->k, x->a, a_row, a_step, x->b, b_pitch, x->c, c_pitch, into_of(x), alpha_beta);
    return true;
  }
  if (small && kernel->few_sums && has_few_sums_turned(x)) {
    compute_few_sums_turned(kernel, x);
    return true;
  }
  if (small && is_best_as_dots(x)) {
    kernel->dots(x->m, x->n, x->k, x->a, a_pitch, x->b, b_pitch, x->c, c_pitch, into_of(x), alpha_beta);
    return true;
  }
  if (!is_best_in_place(x)) return multiply_on_stack(kernel, x, cheapest(x, small));
  if (x->m <= kernel->rows && x->n <= kernel->half_columns) {
    (x->a_transposed ? kernel->half_turned : kernel->half_stored)[x->m - 1](
        x->k, x->a, a_pitch, x->b, b_pitch, x->c, c_pitch, x->n, into_of(x), alpha_beta, 0, 1);
    return true;
  }
  const x86_in_place p = in_place(kernel, x, 0);
  x86_run_in_place(&p);
  return true;
}
