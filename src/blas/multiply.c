/* multiply.c - see multiply.h.
 *
 * A product is divided into pieces whose B, once packed, has a limited size. The members of the team compute each
 * piece together (gemm/product.h). The pieces depend only on the sizes, so a result has the same bits for any
 * number of threads. */
#include "blas/multiply.h"

#include <stdio.h>
#include <string.h>

#include "base/integers.h"
#include "base/team.h"
#include "blas/buffer.h"
#include "blas/threads.h"
#include "gemm/product.h"

enum {
  ROWS_MOST = 1 << 28,
  K_MOST = 1 << 15,       /* k of a piece, at most: then at least 512 columns fit */
  COLUMNS_STEP = 64,      /* pieces have whole pairs of panels */
  PACKED_MOST = 64 << 20, /* bytes */
  ON_STACK = 1 << 15      /* bytes: a small product takes its memory from the stack */
};

/* ---- plans ---- */

/* A thread keeps the plans of its last shapes, because making a plan costs as much as a product of 16 x 16 x 16. */
enum { PLANS_KEPT = 8 };
typedef struct known_plan {
  tw_gemm_spec spec; /* .m = 0: unused */
  tw_product_plan plan;
} known_plan;
static _Thread_local known_plan known[PLANS_KEPT];
static _Thread_local int next_known;

static bool same(const tw_gemm_spec *x, const tw_gemm_spec *y) {
  return x->m == y->m && x->n == y->n && x->k == y->k && x->a == y->a && x->b == y->b && x->c == y->c &&
         x->a_transposed == y->a_transposed && x->b_transposed == y->b_transposed && x->lda == y->lda &&
         x->ldb == y->ldb && x->ldc == y->ldc && x->alpha == y->alpha && x->beta == y->beta;
}

static const tw_product_plan *plan_of(const tw_gemm_spec *s, tw_error *error) {
  for (int i = 0; i < PLANS_KEPT; i++)
    if (same(&known[i].spec, s)) return &known[i].plan;
  known_plan *k = &known[next_known];
  next_known = (next_known + 1) % PLANS_KEPT;
  k->spec.m = 0;
  if (tw_product_plan_make(s, &k->plan, error) != TW_OK) return NULL;
  k->spec = *s;
  return &k->plan;
}

/* ---- one piece ---- */

static void work(void *product, int member) { tw_product_compute(product, member); }

static void complain(const char *text) { fprintf(stderr, "tilewright-blas: %s; C is not complete\n", text); }

typedef struct piece {
  const tw_product_plan *plan;
  const void *a, *b;
  void *c;
  float scale;
} piece;

static void run_in(const piece *p, char *memory) {
  tw_product product;
  tw_product_begin(&product, p->plan, p->a, p->b, p->c, p->scale, memory);
  const int members = tw_product_threads(p->plan);
  if (members > 1 && tw_team_run(members, work, &product) >= 0) return;
  for (int i = 0; i < members; i++) work(&product, i);
}

static __attribute__((noinline)) void run_on_stack(const piece *p) {
  _Alignas(TW_GEMM_ALIGNMENT) char memory[ON_STACK];
  run_in(p, memory);
}

static void run(const tw_gemm_spec *s, float scale, const void *a, const void *b, void *c) {
  tw_error error;
  const piece p = {plan_of(s, &error), a, b, c, scale};
  if (!p.plan) {
    complain(error.text);
    return;
  }
  const size_t bytes = tw_product_bytes(p.plan);
  if (bytes <= ON_STACK) {
    run_on_stack(&p);
    return;
  }
  const blas_buffer buffer = blas_buffer_take(bytes);
  if (!buffer.memory) {
    complain("out of memory");
    return;
  }
  run_in(&p, buffer.memory);
  blas_buffer_return(buffer);
}

/* ---- all pieces ---- */

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
/* n divided into pieces of at most `most`, all but the last of the same length, a multiple of `step`. */
static int64_t piece_length(int64_t n, int64_t most, int64_t step) {
  if (n <= most) return n;
  const int64_t pieces = tw_ceil_div(n, most);
  return tw_round_up(tw_ceil_div(n, pieces), step);
}

static const char *element(const void *matrix, tw_type type, int64_t row, int64_t column, int64_t pitch,
                           bool transposed) {
  const int64_t at = transposed ? column * pitch + row : row * pitch + column;
  if (at == 0) return matrix;
  return (const char *)matrix + at * tw_type_bits(type) / 8;
}

/* If B is f32, alpha is multiplied into B, so that sums need no further scaling. The reference does the same. */
void blas_multiply(tw_gemm_spec *s, const void *a, const void *b, void *c) {
  const int64_t m = s->m, n = s->n, k = s->k;
  s->threads = blas_threads();
  const bool scales_b = s->a == TW_F32 && s->b == TW_F32;
  const float scale = scales_b ? s->alpha : 1;
  if (scales_b) s->alpha = 1;
  if (m <= ROWS_MOST && (k <= K_MOST || s->c == TW_I32) && n * k <= PACKED_MOST / (int64_t)sizeof(float)) {
    run(s, scale, a, b, c); /* in one piece */
    return;
  }
  const int64_t ks = piece_length(k, s->c == TW_I32 ? k : K_MOST, COLUMNS_STEP);
  const int64_t most = PACKED_MOST / (int64_t)sizeof(float) / min(ks, k);
  const int64_t columns = piece_length(n, most < COLUMNS_STEP ? COLUMNS_STEP : most, COLUMNS_STEP);
  const int64_t rows = piece_length(m, ROWS_MOST, COLUMNS_STEP);
  for (int64_t q = 0; q < k; q += ks)
    for (int64_t j = 0; j < n; j += columns)
      for (int64_t i = 0; i < m; i += rows) {
        s->m = min(rows, m - i), s->n = min(columns, n - j), s->k = min(ks, k - q);
        if (q) s->beta = 1;
        run(s, scale, element(a, s->a, i, q, s->lda, s->a_transposed), element(b, s->b, q, j, s->ldb, s->b_transposed),
            (void *)element(c, s->c, i, j, s->ldc, false));
      }
}

void blas_scale(float *c, int64_t m, int64_t n, int64_t ldc, float beta) {
  for (int64_t i = 0; beta != 1 && i < m; i++) {
    float *row = c + i * ldc;
    if (beta == 0)
      memset(row, 0, (size_t)n * sizeof *row);
    else
      for (int64_t j = 0; j < n; j++) row[j] *= beta;
  }
}
