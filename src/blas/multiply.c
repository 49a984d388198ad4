/* multiply.c - see multiply.h.
 *
 * A product is divided into pieces whose B, once packed, has a limited size. For each piece the members of the team pack panels
 * of B, wait until all are packed, and then compute parts of C (x86_run_part). The pieces depend on the sizes alone: a result has
 * the same bits for any number of threads. */
#include "blas/multiply.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "blas/buffer.h"
#include "blas/team.h"
#include "target/x86/choose.h"
#include "target/x86/loops.h"
#include "target/x86/pack.h"
#include "target/x86/tune/apply.h"

enum {
  ROWS_MOST = 1 << 28,
  FEW_ROWS = 512, /* for these, packed B is not worth the way to memory and back */
  ROWS_OF_A_THREAD = 64,
  TASKS_OF_A_THREAD = 2,
  SMALL = 1 << 27,        /* multiply-adds */
  K_MOST = 1 << 15,       /* of a piece: then at least 512 columns of it fit */
  COLUMNS_STEP = 64,      /* pieces have whole pairs of panels */
  PACKED_MOST = 64 << 20, /* bytes */
  ON_STACK = 1 << 15      /* bytes: a small product takes its memory from the stack */
};

/* ---- plans ---- */

/* A thread keeps the plans of its last shapes: making one costs as much as a product of 16 x 16 x 16. */
enum { PLANS_KEPT = 8 };
typedef struct known_plan {
  tw_gemm_spec spec; /* .m = 0: there is none */
  tw_gemm_planned plan;
} known_plan;
static _Thread_local known_plan known[PLANS_KEPT];
static _Thread_local int next_known;

static bool same(const tw_gemm_spec *x, const tw_gemm_spec *y) {
  return x->m == y->m && x->n == y->n && x->k == y->k && x->a == y->a && x->b == y->b && x->c == y->c &&
         x->a_transposed == y->a_transposed && x->b_transposed == y->b_transposed && x->lda == y->lda &&
         x->ldb == y->ldb && x->ldc == y->ldc && x->alpha == y->alpha && x->beta == y->beta;
}

/* Where several threads share many rows, each would pack the same columns. In a small product that takes less time than to wait for
 * each other and to fetch what another core has packed: on 16 cores of an Intel server 128^3 took 24 us, as with one thread. */
static x86_b_mode b_mode(const tw_gemm_spec *s) {
  if (s->m > FEW_ROWS) return X86_B_PACKED;
  const bool small = s->m * s->n * s->k <= SMALL;
  return s->threads == 1 || s->m <= ROWS_OF_A_THREAD || small ? X86_B_STORED : X86_B_PACKED_FOR_ROWS;
}

static const tw_gemm_planned *plan_of(const tw_gemm_spec *s, tw_error *error) {
  for (int i = 0; i < PLANS_KEPT; i++)
    if (same(&known[i].spec, s)) return &known[i].plan;
  known_plan *k = &known[next_known];
  next_known = (next_known + 1) % PLANS_KEPT;
  k->spec.m = 0;
  if (x86_describe(s, NULL, b_mode(s), &k->plan, error) != TW_OK) return NULL;
  k->spec = *s;
  return &k->plan;
}

/* ---- one piece ---- */

typedef struct piece {
  const tw_gemm_planned *plan;
  tw_gemm_operands operands;
  const void *b;
  float scale; /* of B's elements, while they are packed */
  char *packed, *workspaces;
  int64_t together, groups; /* panels that are packed together; groups of them, in each block of k */
  atomic_int next_packing, packed_so_far;
  x86_deal deal;
} piece;

static void pack(piece *w, int64_t task) {
  const int64_t panel = task % w->groups * w->together;
  x86_pack_panels(w->plan, w->b, w->scale, task / w->groups, panel, x86_min(w->together, x86_panels(w->plan) - panel),
                  w->packed + x86_panel_at(w->plan, task / w->groups, panel));
}

static void wait_for(const atomic_int *done, int64_t tasks) {
  enum { LOOKS = 2000 };
  for (int looks = 0; atomic_load(done) < tasks; looks++)
    if (looks < LOOKS)
      blas_relax();
    else
      sched_yield();
}

static void work(void *context, int member) {
  piece *w = context;
  const int64_t tasks = w->plan->packs_b ? 0 : w->groups * w->plan->blocks;
  for (int64_t i; (i = atomic_fetch_add(&w->next_packing, 1)) < tasks; atomic_fetch_add(&w->packed_so_far, 1))
    pack(w, i);
  wait_for(&w->packed_so_far, tasks);
  char *const workspace = w->workspaces + (size_t)member * w->plan->bytes_per_thread;
  for (int i, from = 0; (i = x86_next_part(&w->deal, blas_team_thread(), &from)) >= 0;)
    x86_run_part_on(w->plan, &w->operands, w->b, w->scale, workspace, i);
}

static void complain(const char *text) { fprintf(stderr, "tilewright-blas: %s; C is not complete\n", text); }

/* Of B that is packed in advance. */
static size_t packed_bytes(const tw_gemm_planned *p) {
  const size_t bytes = p->packs_b ? 0 : tw_gemm_packed_bytes(p);
  return (bytes + TW_GEMM_ALIGNMENT - 1) / TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT;
}

static void run_in(piece *w, char *memory) {
  const tw_gemm_planned *p = w->plan;
  w->packed = memory;
  w->workspaces = memory + packed_bytes(p);
  w->together = X86_PANELS_AT_ONCE;
  while (w->together > 1 && x86_panels(p) * p->blocks < w->together * p->threads * TASKS_OF_A_THREAD) w->together /= 2;
  w->groups = x86_ceil_div(x86_panels(p), w->together);
  w->operands.packed_b = memory;
  x86_deal_parts(&w->deal, p);
  blas_team_run(p->threads, work, w);
}

static __attribute__((noinline)) void run_on_stack(piece *w) {
  _Alignas(TW_GEMM_ALIGNMENT) char memory[ON_STACK];
  run_in(w, memory);
}

static void run(const tw_gemm_spec *s, float scale, const void *a, const void *b, void *c) {
  tw_error error;
  piece w; /* `deal` is large */
  w.plan = plan_of(s, &error), w.operands = (tw_gemm_operands){.a = a, .c = c}, w.b = b, w.scale = scale;
  atomic_init(&w.next_packing, 0), atomic_init(&w.packed_so_far, 0);
  if (!w.plan) {
    complain(error.text);
    return;
  }
  const size_t bytes = packed_bytes(w.plan) + (size_t)w.plan->threads * w.plan->bytes_per_thread;
  if (bytes <= ON_STACK) {
    run_on_stack(&w);
    return;
  }
  const blas_buffer buffer = blas_buffer_take(bytes);
  if (!buffer.memory) {
    complain("out of memory");
    return;
  }
  run_in(&w, buffer.memory);
  blas_buffer_return(buffer);
}

/* ---- all pieces ---- */

/* n divided into pieces of at most `most`, all but the last of the same length, a multiple of `step`. */
static int64_t piece_length(int64_t n, int64_t most, int64_t step) {
  const int64_t pieces = x86_ceil_div(n, most);
  return x86_ceil_div(x86_ceil_div(n, pieces), step) * step;
}

static const char *element(const void *matrix, tw_type type, int64_t row, int64_t column, int64_t pitch,
                           bool transposed) {
  const int64_t at = transposed ? column * pitch + row : row * pitch + column;
  return (const char *)matrix + at * tw_type_bits(type) / 8;
}

/* Alpha goes into B where that is of f32: then sums need nothing more. The reference does the same. */
void blas_multiply(const tw_gemm_spec *given, const void *a, const void *b, void *c) {
  tw_gemm_spec s = *given;
  s.threads = blas_threads();
  const bool scales_b = s.a == TW_F32 && s.b == TW_F32;
  const float scale = scales_b ? s.alpha : 1;
  if (scales_b) s.alpha = 1;
  const int64_t ks = piece_length(given->k, s.c == TW_I32 ? given->k : K_MOST, COLUMNS_STEP);
  const int64_t most = PACKED_MOST / (int64_t)sizeof(float) / x86_min(ks, given->k);
  const int64_t columns = piece_length(given->n, most < COLUMNS_STEP ? COLUMNS_STEP : most, COLUMNS_STEP);
  const int64_t rows = piece_length(given->m, ROWS_MOST, COLUMNS_STEP);
  for (int64_t q = 0; q < given->k; q += ks)
    for (int64_t j = 0; j < given->n; j += columns)
      for (int64_t i = 0; i < given->m; i += rows) {
        s.m = x86_min(rows, given->m - i), s.n = x86_min(columns, given->n - j), s.k = x86_min(ks, given->k - q);
        if (q) s.beta = 1;
        run(&s, scale, element(a, s.a, i, q, s.lda, s.a_transposed), element(b, s.b, q, j, s.ldb, s.b_transposed),
            (void *)element(c, s.c, i, j, s.ldc, false));
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
