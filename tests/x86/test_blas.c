/* test_blas.c - libtilewright-blas as a program calls it: results against sums in double or exact integers, elements
 * that must not be read or written, wrong arguments, several threads, fork. `./dev check blas` runs Netlib's tests and
 * NumPy. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "blas/blas.h"
#include "guarded.h"
#include "tilewright/format.h"

enum { GAP = 3 /* elements behind a row that belong to nobody */ };

static int draw(tw_random *r, int least, int most) { return (int)tw_random_between(r, least, most); }

/* ---- matrices as they are stored ---- */

typedef enum kind { F32, BF16, U8, S8, I32 } kind;

/* op(X) is rows x columns. Elements are small multiples of 1/8: exact in bf16. */
typedef struct matrix {
  kind kind;
  int rows, columns, pitch;
  bool by_rows; /* op(X) is stored row after row */
  size_t elements;
  void *data;
} matrix;

static size_t at(const matrix *x, int i, int j) {
  return x->by_rows ? (size_t)i * (size_t)x->pitch + (size_t)j : (size_t)j * (size_t)x->pitch + (size_t)i;
}

static size_t bytes_of(kind k) { return k == F32 || k == I32 ? 4 : k == BF16 ? 2 : 1; }

static double get(const matrix *x, int i, int j) {
  const size_t p = at(x, i, j);
  switch (x->kind) {
  case F32: return ((const float *)x->data)[p];
  case BF16: return tw_bf16_to_f32(((const uint16_t *)x->data)[p]);
  case U8: return ((const uint8_t *)x->data)[p];
  case S8: return ((const int8_t *)x->data)[p];
  default: return ((const int32_t *)x->data)[p];
  }
}

static void put(matrix *x, int i, int j, double value) {
  const size_t p = at(x, i, j);
  switch (x->kind) {
  case F32: ((float *)x->data)[p] = (float)value; break;
  case BF16: ((uint16_t *)x->data)[p] = tw_f32_to_bf16((float)value); break;
  case U8: ((uint8_t *)x->data)[p] = (uint8_t)value; break;
  case S8: ((int8_t *)x->data)[p] = (int8_t)value; break;
  default: ((int32_t *)x->data)[p] = (int32_t)value;
  }
}

/* All bits of the gaps are set: NaN in real types. */
static matrix new_matrix(tw_random *r, kind type, int rows, int columns, bool by_rows) {
  matrix x = {.kind = type, .rows = rows, .columns = columns, .by_rows = by_rows};
  const int length = by_rows ? columns : rows, count = by_rows ? rows : columns;
  x.pitch = (length > 1 ? length : 1) + draw(r, 0, 1) * GAP;
  x.elements = (size_t)x.pitch * (size_t)(count > 1 ? count : 1);
  x.data = malloc(x.elements * bytes_of(type));
  assert_non_null(x.data);
  memset(x.data, 0xff, x.elements * bytes_of(type));
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      put(&x, i, j,
          type == U8    ? draw(r, 0, 255)
          : type == S8  ? draw(r, -128, 127)
          : type == I32 ? draw(r, -99999, 99999)
                        : draw(r, -40, 40) / 8.0);
  return x;
}

static matrix copy_of(const matrix *x) {
  matrix y = *x;
  y.data = malloc(x->elements * bytes_of(x->kind));
  memcpy(y.data, x->data, x->elements * bytes_of(x->kind));
  return y;
}

/* ---- one product ---- */

typedef struct product {
  int m, n, k, layout, transa, transb;
  float alpha, beta;
  matrix a, b, c, before;
} product;

static bool is_by_rows(int layout, int transpose) {
  return (layout == BLAS_ROW_MAJOR) == (transpose == BLAS_NO_TRANSPOSE);
}

static product new_product(tw_random *r, kind a, kind b, kind c, int m, int n, int k, int layout, int transa,
                           int transb) {
  static const float factors[] = {1, 1, 0, -1, 0.5f, 2.25f};
  product x = {.m = m, .n = n, .k = k, .layout = layout, .transa = transa, .transb = transb};
  x.alpha = factors[draw(r, 0, 5)], x.beta = factors[draw(r, 0, 5)];
  x.a = new_matrix(r, a, m, k, is_by_rows(layout, transa));
  x.b = new_matrix(r, b, k, n, is_by_rows(layout, transb));
  x.c = new_matrix(r, c, m, n, layout == BLAS_ROW_MAJOR);
  if (c == F32 && x.beta == 0 && m && n) put(&x.c, m - 1, n - 1, NAN); /* C is not read */
  if (x.alpha == 0 && m && k) put(&x.a, 0, 0, a == F32 ? NAN : 0);     /* nor are A and B */
  x.before = copy_of(&x.c);
  return x;
}

static void free_product(product *x) { free(x->a.data), free(x->b.data), free(x->c.data), free(x->before.data); }

static double sum_of(const product *x, int i, int j, double *size) {
  double sum = 0;
  *size = 0;
  for (int p = 0; x->alpha != 0 && p < x->k; p++) {
    const double term = get(&x->a, i, p) * get(&x->b, p, j);
    sum += term, *size += fabs(term);
  }
  return sum;
}

/* k + 2 roundings of binary32, at most half a unit each, and one of each element of B that alpha scales. */
static void check_real(const product *x) {
  for (int i = 0; i < x->m; i++)
    for (int j = 0; j < x->n; j++) {
      double size;
      const double old = x->beta == 0 ? 0 : (double)x->beta * get(&x->before, i, j);
      const double right = x->alpha * sum_of(x, i, j, &size) + old;
      const double bound = (x->k + 3) * (FLT_EPSILON / 2) * (fabs(x->alpha) * size + fabs(old)) * 1.01;
      if (!(fabs(get(&x->c, i, j) - right) <= bound))
        fail_msg("%dx%dx%d layout %d trans %d %d alpha %g beta %g: C(%d, %d) is %.9g, not %.9g", x->m, x->n, x->k,
                 x->layout, x->transa, x->transb, (double)x->alpha, (double)x->beta, i, j, get(&x->c, i, j), right);
    }
}

/* Nothing but C's elements was written. */
static void check_gaps(const product *x) {
  matrix c = copy_of(&x->c);
  for (int i = 0; i < x->m; i++)
    for (int j = 0; j < x->n; j++)
      memcpy((char *)c.data + at(&c, i, j) * 4, (char *)x->before.data + at(&c, i, j) * 4, 4);
  assert_memory_equal(c.data, x->before.data, c.elements * 4);
  free(c.data);
}

static const int transposes[] = {BLAS_NO_TRANSPOSE, BLAS_TRANSPOSE, BLAS_CONJUGATE_TRANSPOSE};

static product random_product(tw_random *r, kind a, kind b, kind c, int most) {
  const int layout = draw(r, BLAS_ROW_MAJOR, BLAS_COLUMN_MAJOR), small = draw(r, 0, 3) ? most : 9;
  return new_product(r, a, b, c, draw(r, 0, small), draw(r, 0, small), draw(r, 0, most), layout,
                     transposes[draw(r, 0, 2)], transposes[draw(r, 0, 2)]);
}

static void run_sgemm(const product *x) {
  cblas_sgemm(x->layout, x->transa, x->transb, x->m, x->n, x->k, x->alpha, x->a.data, x->a.pitch, x->b.data, x->b.pitch,
              x->beta, x->c.data, x->c.pitch);
}

static void random_products_of_f32_are_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 1);
  for (int run = 0; run < 600; run += race_stride()) {
    product x = random_product(&r, F32, F32, F32, 150);
    run_sgemm(&x);
    check_real(&x);
    check_gaps(&x);
    free_product(&x);
  }
}

/* Copies the matrix, without the gap after its last row, to the end or the beginning of memory between guard pages. */
static guarded fence(matrix *x, bool at_end, void **before) {
  const size_t length = (size_t)(x->by_rows ? x->columns : x->rows),
               bytes = (x->elements - (size_t)x->pitch + length) * 4;
  const guarded g = guarded_new(bytes, 4, at_end);
  *before = x->data;
  x->data = memcpy(g.data, x->data, bytes);
  return g;
}

static void unfence(matrix *x, guarded *g, void *before) {
  const size_t length = (size_t)(x->by_rows ? x->columns : x->rows);
  x->data = memcpy(before, g->data, (x->elements - (size_t)x->pitch + length) * 4);
  guarded_free(g);
}

/* Small products are computed in several ways, which depend on their sizes. */
static void small_products_touch_nothing_else(void **state) {
  tw_random r;
  tw_random_seed(&r, 9);
  static const int most[] = {6, 20, 70, 140};
  for (int run = 0; run < 3000; run += race_stride()) {
    const int m = draw(&r, 1, most[draw(&r, 0, 3)]), n = draw(&r, 1, most[draw(&r, 0, 3)]);
    product x = new_product(&r, F32, F32, F32, m, n, draw(&r, 1, most[draw(&r, 0, 3)]), BLAS_ROW_MAJOR + run % 2,
                            transposes[run / 2 % 2], transposes[run / 4 % 2]);
    if (run / 8 % 2) { /* C is the sums, or is added to them; A and a C that is read have no NaN */
      if (x.alpha == 0) put(&x.a, 0, 0, 1);
      x.alpha = 1, x.beta = x.beta == 0 ? 0 : 1;
    }
    void *before[3];
    guarded g[3] = {fence(&x.a, run % 3, &before[0]), fence(&x.b, run % 5 % 2, &before[1]),
                    fence(&x.c, run % 7 % 2, &before[2])};
    run_sgemm(&x);
    unfence(&x.a, &g[0], before[0]), unfence(&x.b, &g[1], before[1]), unfence(&x.c, &g[2], before[2]);
    check_real(&x);
    check_gaps(&x);
    free_product(&x);
  }
}

/* A and B are not read. The number of multiply-adds has more than 64 bits. */
static void alpha_of_zero_needs_no_operands_of_any_size(void **state) {
  float c = 7;
  cblas_sgemm(BLAS_ROW_MAJOR, BLAS_NO_TRANSPOSE, BLAS_NO_TRANSPOSE, INT_MAX, INT_MAX, INT_MAX, 0, NULL, INT_MAX, NULL,
              INT_MAX, 1, &c, INT_MAX);
  assert_true(c == 7);
}

/* Plans are kept: calls that differ in one pitch, factor or transpose alone must not share one. */
static void calls_that_differ_in_little_are_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 8);
  for (int run = 0; run < 300; run += race_stride()) {
    product x =
        new_product(&r, F32, F32, F32, 20, 20, 20, BLAS_ROW_MAJOR, transposes[run % 2], transposes[run / 2 % 2]);
    run_sgemm(&x);
    check_real(&x);
    check_gaps(&x);
    free_product(&x);
  }
}

/* Several blocks of k, several threads, heights and widths beside those of tiles. */
static void large_products_of_f32_are_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 2);
  const int step = race_stride() > 1 || example_stride() > 1 ? 3 : 1;
  for (int run = 0; run < 8; run += step) {
    product x = new_product(&r, F32, F32, F32, draw(&r, 1, 500), draw(&r, 1, 500), draw(&r, 1000, 2600),
                            BLAS_ROW_MAJOR + run % 2, transposes[run / 2 % 2], transposes[run / 4 % 2]);
    run_sgemm(&x);
    check_real(&x);
    check_gaps(&x);
    free_product(&x);
  }
}

/* K beyond what one piece takes. */
static void a_long_k_is_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 3);
  product x = new_product(&r, F32, F32, F32, 5, 7, 70001, BLAS_ROW_MAJOR, BLAS_NO_TRANSPOSE, BLAS_TRANSPOSE);
  run_sgemm(&x);
  check_real(&x);
  free_product(&x);
}

static void fortran_sgemm_is_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 4);
  for (int run = 0; run < 60; run += race_stride()) {
    const char *const letters[] = {"N", "n", "T", "t", "C", "c"};
    const int ta = run % 6, tb = run / 6 % 6;
    product x = new_product(&r, F32, F32, F32, draw(&r, 0, 40), draw(&r, 0, 40), draw(&r, 0, 40), BLAS_COLUMN_MAJOR,
                            transposes[ta / 2], transposes[tb / 2]);
    sgemm_(letters[ta], letters[tb], &x.m, &x.n, &x.k, &x.alpha, x.a.data, &x.a.pitch, x.b.data, &x.b.pitch, &x.beta,
           x.c.data, &x.c.pitch);
    check_real(&x);
    check_gaps(&x);
    free_product(&x);
  }
}

static void random_products_of_bf16_are_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 5);
  for (int run = 0; run < 200; run += race_stride()) {
    product x = random_product(&r, BF16, BF16, F32, 120);
    cblas_gemm_bf16bf16f32(x.layout, x.transa, x.transb, x.m, x.n, x.k, x.alpha, x.a.data, x.a.pitch, x.b.data,
                           x.b.pitch, x.beta, x.c.data, x.c.pitch);
    check_real(&x);
    check_gaps(&x);
    free_product(&x);
  }
}

/* ---- integers ---- */

static void check_integers(const product *x, int offset, int ao, int bo, const int32_t *oc) {
  for (int i = 0; i < x->m; i++)
    for (int j = 0; j < x->n; j++) {
      double sum = 0;
      for (int p = 0; p < x->k; p++) sum += (get(&x->a, i, p) + ao) * (get(&x->b, p, j) + bo);
      const double value = (double)x->alpha * sum + (x->beta == 0 ? 0 : (double)x->beta * get(&x->before, i, j)) +
                           oc[offset == BLAS_FIXED_OFFSET    ? 0
                              : offset == BLAS_COLUMN_OFFSET ? i
                                                             : j];
      const double right = fmin(fmax(nearbyint(value), INT32_MIN), INT32_MAX);
      if (get(&x->c, i, j) != right)
        fail_msg("%dx%dx%d layout %d trans %d %d offset %d ao %d bo %d alpha %g beta %g: C(%d, %d) is %.0f, not %.0f",
                 x->m, x->n, x->k, x->layout, x->transa, x->transb, offset, ao, bo, (double)x->alpha, (double)x->beta,
                 i, j, get(&x->c, i, j), right);
    }
}

static void integers_are_exact(tw_random *r, int m, int n, int k, float alpha) {
  enum { MOST = 200 };
  int32_t oc[MOST];
  const int layout = draw(r, BLAS_ROW_MAJOR, BLAS_COLUMN_MAJOR), offset = draw(r, BLAS_ROW_OFFSET, BLAS_FIXED_OFFSET);
  const kind a = layout == BLAS_ROW_MAJOR ? U8 : S8, b = layout == BLAS_ROW_MAJOR ? S8 : U8;
  const bool plain = draw(r, 0, 3) == 0;
  const int ao = plain ? 0 : draw(r, -128, 127), bo = plain ? 0 : draw(r, -128, 127);
  product x = new_product(r, a, b, I32, m, n, k, layout, transposes[draw(r, 0, 1)], transposes[draw(r, 0, 1)]);
  if (plain) x.alpha = 1, x.beta = 0;
  if (alpha != 0) x.alpha = alpha;
  for (int i = 0; i < MOST; i++) oc[i] = plain ? 0 : draw(r, -1000, 1000);
  cblas_gemm_s8u8s32(layout, x.transa, x.transb, offset, m, n, k, x.alpha, x.a.data, x.a.pitch, (int8_t)ao, x.b.data,
                     x.b.pitch, (int8_t)bo, x.beta, x.c.data, x.c.pitch, oc);
  check_integers(&x, offset, ao, bo, oc);
  check_gaps(&x);
  free_product(&x);
}

static void products_of_integers_are_exact(void **state) {
  tw_random r;
  tw_random_seed(&r, 6);
  for (int run = 0; run < 300; run += race_stride())
    integers_are_exact(&r, draw(&r, 0, 90), draw(&r, 0, 90), draw(&r, 0, 90), 0);
  integers_are_exact(&r, 2, 3, 200000, 1); /* sums beyond int32 saturate or become small again */
  integers_are_exact(&r, 3, 2, 200000, 0x1p-12f);
  integers_are_exact(&r, 4, 4, 300, 1e6f);
}

/* ---- wrong arguments: this program's handlers are called ---- */

static char handler_text[100];
static int handler_position;

/* NOLINTNEXTLINE: the name is CBLAS's */
__attribute__((visibility("default"))) void cblas_xerbla(int position, const char *routine, const char *format, ...) {
  (void)format;
  handler_position = position;
  snprintf(handler_text, sizeof handler_text, "%s", routine);
}

__attribute__((visibility("default"))) void xerbla_(const char *routine, const int *position, size_t length) {
  handler_position = *position;
  snprintf(handler_text, sizeof handler_text, "%.*s", (int)length, routine);
}

static void expect_handler(const char *routine, int position) {
  assert_string_equal(handler_text, routine);
  assert_int_equal(handler_position, position);
  handler_text[0] = '\0';
}

static void wrong_arguments_reach_the_handler_and_change_nothing(void **state) {
  float a[6] = {1, 2, 3, 4, 5, 6}, c[4] = {7, 7, 7, 7};
  /* by rows A is 2 x 3, B 3 x 2 */
  const struct {
    int position, layout, ta, tb, m, n, k, lda, ldb, ldc;
  } cases[] = {{1, 0, 111, 111, 2, 2, 3, 3, 2, 2},    {2, 101, 0, 111, 2, 2, 3, 3, 2, 2},
               {3, 101, 111, 114, 2, 2, 3, 3, 2, 2},  {4, 101, 111, 111, -1, 2, 3, 3, 2, 2},
               {5, 102, 111, 111, 2, -1, 3, 2, 3, 2}, {6, 101, 111, 111, 2, 2, -1, 3, 2, 2},
               {9, 101, 111, 111, 2, 2, 3, 2, 2, 2},  {9, 102, 112, 111, 2, 2, 3, 2, 3, 2},
               {11, 101, 111, 111, 2, 2, 3, 3, 1, 2}, {11, 101, 111, 112, 2, 2, 3, 3, 2, 2},
               {14, 101, 111, 111, 2, 2, 3, 3, 2, 1}, {14, 102, 111, 111, 2, 2, 3, 2, 3, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cblas_sgemm(cases[i].layout, cases[i].ta, cases[i].tb, cases[i].m, cases[i].n, cases[i].k, 1, a, cases[i].lda, a,
                cases[i].ldb, 0, c, cases[i].ldc);
    expect_handler("cblas_sgemm", cases[i].position);
  }
  const int two = 2, one = 1, minus = -1;
  const float f = 1;
  sgemm_("X", "N", &two, &two, &two, &f, a, &two, a, &two, &f, c, &two);
  expect_handler("SGEMM ", 1);
  sgemm_("N", "-", &two, &two, &two, &f, a, &two, a, &two, &f, c, &two);
  expect_handler("SGEMM ", 2);
  sgemm_("N", "N", &two, &two, &minus, &f, a, &two, a, &two, &f, c, &two);
  expect_handler("SGEMM ", 5);
  sgemm_("N", "N", &two, &two, &two, &f, a, &one, a, &two, &f, c, &two);
  expect_handler("SGEMM ", 8);
  sgemm_("N", "N", &two, &two, &two, &f, a, &two, a, &one, &f, c, &two);
  expect_handler("SGEMM ", 10);
  sgemm_("N", "N", &two, &two, &two, &f, a, &two, a, &two, &f, c, &one);
  expect_handler("SGEMM ", 13);
  int32_t oc = 0, integers[4] = {7, 7, 7, 7};
  cblas_gemm_s8u8s32(101, 111, 111, 170, 2, 2, 2, 1, a, 2, 0, a, 2, 0, 0, integers, 2, &oc);
  expect_handler("cblas_gemm_s8u8s32", 4);
  cblas_gemm_s8u8s32(101, 111, 111, 173, 2, 2, 2, 1, a, 2, 0, a, 1, 0, 0, integers, 2, &oc);
  expect_handler("cblas_gemm_s8u8s32", 13);
  cblas_gemm_bf16bf16f32(101, 111, 111, 2, 2, 2, 1, (void *)a, 1, (void *)a, 2, 0, c, 2);
  expect_handler("cblas_gemm_bf16bf16f32", 9);
  for (int i = 0; i < 4; i++) assert_true(c[i] == 7 && integers[i] == 7);
}

/* ---- threads and processes ---- */

enum { SHAPES = 9 };
static product known[SHAPES]; /* with what one thread computes, in `before` */

/* Sums of thirds are rounded: their bits depend on the order of additions. */
static void divide_by_three(matrix *x) {
  for (int i = 0; i < x->rows; i++)
    for (int j = 0; j < x->columns; j++) put(x, i, j, get(x, i, j) / 3);
}

static void make_known(void) {
  tw_random r;
  tw_random_seed(&r, 7);
  const int size[SHAPES][3] = {{300, 310, 320},  {17, 600, 500}, {600, 17, 500}, {64, 64, 64},  {5, 6, 7},
                               {257, 129, 1300}, {120, 24, 256}, {16, 200, 100}, {150, 130, 80}};
  for (int i = 0; i < SHAPES; i++) {
    product *x = &known[i];
    *x = new_product(&r, F32, F32, F32, size[i][0], size[i][1], size[i][2], BLAS_ROW_MAJOR, transposes[i % 2],
                     transposes[i / 2 % 2]);
    if (x->alpha == 0) x->alpha = 2, put(&x->a, 0, 0, 1);
    if (i >= 6) x->alpha = 1; /* without a plan on one thread, with a plan on several */
    x->beta = 0;
    divide_by_three(&x->a), divide_by_three(&x->b);
    run_sgemm(x);
    memcpy(x->before.data, x->c.data, x->c.elements * 4);
  }
}

/* The same bits as before, into memory of its own. */
static bool computes_the_same(int i) {
  product x = known[i];
  x.c = copy_of(&known[i].before);
  for (int row = 0; row < x.m; row++)
    for (int j = 0; j < x.n; j++) put(&x.c, row, j, NAN);
  run_sgemm(&x);
  const bool same = memcmp(x.c.data, known[i].before.data, x.c.elements * 4) == 0;
  free(x.c.data);
  return same;
}

static void *call_often(void *argument) {
  bool same = true;
  for (int i = 0; i < 40; i++) same = same && computes_the_same((int)((size_t)argument + (size_t)i) % SHAPES);
  return same ? argument : NULL;
}

static void threads_call_at_once(void **state) {
  enum { CALLERS = 4 };
  pthread_t thread[CALLERS];
  for (size_t i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, call_often, (void *)(i + 1)), 0);
  for (size_t i = 0; i < CALLERS; i++) {
    void *result;
    pthread_join(thread[i], &result);
    assert_ptr_equal(result, (void *)(i + 1));
  }
}

#if defined __SANITIZE_THREAD__
#define THREADS_SANITIZED
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define THREADS_SANITIZED /* ThreadSanitizer has no threads in children of fork */
#endif
#endif

#if !defined THREADS_SANITIZED
/* Does the process have threads beside this one? */
static bool has_helpers(void) {
  int tasks = 0;
  DIR *folder = opendir("/proc/self/task");
  while (folder && readdir(folder)) tasks++;
  if (folder) closedir(folder);
  return tasks > 3; /* and . and .. */
}

/* Exit status of a child that calls, alone and with helpers of its own; 99 if it hangs. */
static int status_of_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int right = 0;
    for (int i = 0; i < SHAPES; i++) right += computes_the_same(i);
    _exit(right + has_helpers());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
#endif

static void a_child_of_fork_calls(void **state) {
#if defined THREADS_SANITIZED
  skip();
#else
  assert_true(computes_the_same(0));
  for (int i = 0; i < 5; i++) assert_int_equal(status_of_child(), SHAPES + 1);
  assert_true(computes_the_same(0));
#endif
}

static void a_child_calls_while_other_threads_of_its_parent_did(void **state) {
#if defined THREADS_SANITIZED
  skip();
#else
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, call_often, (void *)1), 0);
  for (int i = 0; i < 10; i++) assert_int_equal(status_of_child(), SHAPES + 1);
  pthread_join(thread, NULL);
#endif
}

/* The number is read once, by each process. */
static void any_number_of_threads_gives_the_same_bits(void **state) {
  const char *const variables[][2] = {{"TILEWRIGHT_NUM_THREADS", "3"},
                                      {"TILEWRIGHT_NUM_THREADS", "7"},
                                      {"OMP_NUM_THREADS", "2,1"},
                                      {"TILEWRIGHT_NUM_THREADS", "nonsense"}};
  char self[4096] = "";
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  char first[64] = "";
  for (size_t i = 0; i <= sizeof variables / sizeof *variables; i++) {
    char command[5000], line[64] = "";
    snprintf(command, sizeof command, "TILEWRIGHT_NUM_THREADS= %s=%s '%s' bits",
             i ? variables[i - 1][0] : "OMP_NUM_THREADS", i ? variables[i - 1][1] : "1", self);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    if (i == 0) memcpy(first, line, sizeof first);
    assert_string_equal(line, first);
  }
}

/* A number that depends on every bit of the results. */
static int print_bits(void) {
  uint64_t hash = 14695981039346656037u;
  make_known();
  for (int i = 0; i < SHAPES; i++)
    for (size_t j = 0; j < known[i].c.elements * 4; j++)
      hash = (hash ^ ((unsigned char *)known[i].c.data)[j]) * 1099511628211u;
  return printf("%016llx\n", (unsigned long long)hash) < 0;
}

static int prepare(void **state) {
  setenv("TILEWRIGHT_NUM_THREADS", "3", 0);
  make_known();
  return 0;
}

int main(int argc, char *argv[]) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_products_of_f32_are_right),
      cmocka_unit_test(small_products_touch_nothing_else),
      cmocka_unit_test(alpha_of_zero_needs_no_operands_of_any_size),
      cmocka_unit_test(calls_that_differ_in_little_are_right),
      cmocka_unit_test(large_products_of_f32_are_right),
      cmocka_unit_test(a_long_k_is_right),
      cmocka_unit_test(fortran_sgemm_is_right),
      cmocka_unit_test(random_products_of_bf16_are_right),
      cmocka_unit_test(products_of_integers_are_exact),
      cmocka_unit_test(wrong_arguments_reach_the_handler_and_change_nothing),
      cmocka_unit_test(threads_call_at_once),
      cmocka_unit_test(a_child_of_fork_calls),
      cmocka_unit_test(a_child_calls_while_other_threads_of_its_parent_did),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
  };
  if (argc > 1 && strcmp(argv[1], "bits") == 0) return print_bits();
  return cmocka_run_group_tests(tests, prepare, NULL);
}
