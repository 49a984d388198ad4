/* gemm_exact.c - single elements of C in double, at any places: for samples of results of any size.
 *
 * Places come row by row. A column of B is strided, and read whole for each of its elements, so places are processed by
 * panels of columns: the columns of a panel are copied once, then each row of A is multiplied at its places there. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/integers.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "base/per_cpu.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/gemm_values.h"

enum { PANEL_BYTES = 64 << 20, ROWS = 16, COLUMNS = 16 };

/* A column of B of the panel. */
typedef struct column {
  double *value;
  double norm, sum; /* Euclidean; of magnitudes */
  bool whole;       /* small whole numbers */
} column;

typedef struct job {
  tw_gemm_values v;
  const tw_place *place;
  double *value, *bound;
  int64_t first, width; /* columns of the panel */
  column *column;       /* value NULL: the column has no place */
  const size_t *begin;  /* index of each row's first place; one entry more than rows */
  size_t n_rows;
  atomic_bool failed;
} job;

/* Sums over a row of op(A), a column of op(B), or over products. */
typedef struct sums {
  double plain, size, square, largest,
      terms; /* of the numbers; of magnitudes; of squares; the largest magnitude; not 0 */
} sums;

static TW_ALWAYS_INLINE void sums_of_in(const double *restrict x, int64_t k, sums *out) {
  double size = 0, square = 0, largest = 0, terms = 0;
#pragma omp simd reduction(+ : size, square, terms) reduction(max : largest)
  for (int64_t p = 0; p < k; p++) {
    const double magnitude = fabs(x[p]);
    size += magnitude;
    square += x[p] * x[p];
    terms += x[p] != 0 ? 1 : 0;
    largest = magnitude > largest ? magnitude : largest;
  }
  *out = (sums){.size = size, .square = square, .largest = largest, .terms = terms};
}

TW_PER_CPU(sums_of, (const double *x, int64_t k, sums *out), (x, k, out))

static TW_ALWAYS_INLINE void dot_in(const double *restrict a, const double *restrict b, int64_t k, sums *out) {
  double plain = 0, size = 0, square = 0;
#pragma omp simd reduction(+ : plain, size, square)
  for (int64_t p = 0; p < k; p++) {
    const double product = a[p] * b[p];
    plain += product;
    size += fabs(product);
    square += product * product;
  }
  *out = (sums){.plain = plain, .size = size, .square = square};
}

TW_PER_CPU(dot, (const double *a, const double *b, int64_t k, sums *out), (a, b, k, out))

static bool are_small(const double *x, int64_t k) {
  int64_t p = 0;
  while (p < k && tw_gemm_is_small(x[p])) p++;
  return p == k;
}

/* Reads neighbours with places together: they share lines of the cache, and their values are adjacent. */
static void lay_out(void *context, size_t index) {
  job *j = context;
  const int64_t k = j->v.g.k, first = (int64_t)index * COLUMNS,
                end = j->width - first < COLUMNS ? j->width : first + COLUMNS;
  for (int64_t i = first, n = 1; i < end; i += n, n = 1) {
    if (!j->column[i].value) continue;
    while (i + n < end && j->column[i + n].value) n++;
    tw_gemm_column_run(&j->v, j->first + i, n, j->column[i].value);
    for (column *c = &j->column[i]; c < &j->column[i + n]; c++) {
      sums s;
      sums_of(c->value, k, &s);
      c->whole = are_small(c->value, k);
      c->norm = sqrt(s.square);
      c->sum = s.size;
    }
  }
}

static void make_element(const job *j, size_t at, const double *row, tw_gemm_sizes s) {
  const tw_gemm *g = &j->v.g;
  const column *c = &j->column[j->place[at].column - j->first];
  sums of;
  dot(row, c->value, g->k, &of);
  s.products = of.size;
  s.norm = sqrt(of.square);
  s.bias = tw_gemm_bias_at(&j->v, j->place[at].row, j->place[at].column);
  s.column = c->norm;
  s.weights = c->sum;
  s.whole &= c->whole;
  s.value = tw_gemm_finish(g, of.plain + s.bias);
  j->value[at] = s.value;
  j->bound[at] = tw_gemm_tolerance(g, &j->v.numerics, &s, false);
}

static size_t in_panel(const job *j, size_t from, size_t end) {
  while (from < end && j->place[from].column < j->first) from++;
  return from < end && j->place[from].column < j->first + j->width ? from : end;
}

/* The elements of a row of C at its places, from `at` on, in the panel. */
static void make_row(const job *j, const double *row, size_t at, size_t end) {
  sums of;
  sums_of(row, j->v.g.k, &of);
  const tw_gemm_sizes s = {
      .row = sqrt(of.square), .terms = of.terms, .largest = of.largest, .whole = are_small(row, j->v.g.k)};
  for (; at < end && j->place[at].column < j->first + j->width; at++) make_element(j, at, row, s);
}

/* Neighbouring rows of a transposed A share lines of the cache, as columns of B do. */
static void make_rows(void *context, size_t index) {
  job *j = context;
  const int64_t k = j->v.g.k;
  const size_t most = j->v.g.a_transposed ? ROWS : 1;
  size_t at[ROWS], end[ROWS], n = 0; /* of the rows with places in the panel */
  double *rows = tw_new(most * (size_t)k, sizeof *rows);
  if (!rows) {
    j->failed = true;
    return;
  }
  for (size_t r = index * ROWS; r < j->n_rows && r < (index + 1) * ROWS; r++) {
    end[n] = j->begin[r + 1];
    at[n] = in_panel(j, j->begin[r], end[n]);
    n += at[n] < end[n];
  }
  for (size_t i = 0, run; i < n; i += run) {
    const int64_t first = j->place[at[i]].row;
    for (run = 1; run < most && i + run < n && j->place[at[i + run]].row == first + (int64_t)run;) run++;
    tw_gemm_row_run(&j->v, first, (int64_t)run, rows);
    for (size_t r = 0; r < run; r++) make_row(j, rows + (int64_t)r * k, at[i + r], end[i + r]);
  }
  free(rows);
}

static void make_panel(job *j, size_t n, double *room, int threads) {
  const int64_t k = j->v.g.k;
  if (!j->column) return; /* for the analyzer: panels have room */
  for (int64_t c = 0; c < j->width; c++) j->column[c] = (column){0};
  for (size_t i = 0; i < n; i++) {
    const int64_t c = j->place[i].column - j->first;
    if (c >= 0 && c < j->width) j->column[c].value = room; /* has a place */
  }
  for (int64_t c = 0; c < j->width; c++) {
    if (!j->column[c].value) continue;
    j->column[c].value = room;
    room += k;
  }
  tw_parallel_for(threads, (size_t)tw_ceil_div(j->width, COLUMNS), lay_out, j);
  tw_parallel_for(threads, (j->n_rows + ROWS - 1) / ROWS, make_rows, j);
}

tw_status tw_gemm_exact_values(const tw_gemm_values *v, size_t n, const tw_place place[], double value[],
                               double bound[], int threads, tw_error *error) {
  const tw_gemm g = v->g;
  job j = {.v = *v, .place = place, .value = value, .bound = bound};
  const int64_t room_for = PANEL_BYTES / (g.k * (int64_t)sizeof(double));
  j.width = room_for < 1 ? 1 : room_for > g.n ? g.n : room_for;
  size_t *begin = tw_new(n + 1, sizeof *begin);
  const int64_t columns = (int64_t)n < j.width ? (int64_t)n : j.width; /* a few places need little memory */
  double *room = tw_new((size_t)(columns * g.k), sizeof *room);
  if (room) tw_wish_large_pages(room, (size_t)(columns * g.k) * sizeof *room);
  j.column = tw_new((size_t)j.width, sizeof *j.column);
  j.failed = !begin || !room || !j.column;
  for (size_t i = 0; begin && i < n; i++) {
    if (i == 0 || place[i].row != place[i - 1].row) begin[j.n_rows++] = i;
  }
  if (begin) begin[j.n_rows] = n;
  j.begin = begin;
  for (j.first = 0; !j.failed && j.first < g.n; j.first += j.width) {
    if (j.first + j.width > g.n) j.width = g.n - j.first;
    make_panel(&j, n, room, threads);
  }
  free(begin);
  free(room);
  free(j.column);
  return j.failed ? tw_no_memory(error, "the comparison") : TW_OK;
}

/* One of the two sums of an element; `index` is its place in the results. */
typedef struct part {
  tw_place place;
  size_t index;
} part;

static int by_place(const void *a, const void *b) {
  const tw_place x = ((const part *)a)->place, y = ((const part *)b)->place;
  return x.row != y.row ? (x.row > y.row) - (x.row < y.row) : (x.column > y.column) - (x.column < y.column);
}

/* The columns of an element's first and second sum; one column if it has one sum. */
static int64_t first_column(const tw_gemm *g, int64_t j) {
  if (tw_gemm_gates_back(g)) return j % g->n;
  return g->glu && g->glu_pass == TW_GLU_SUMS && j >= 2 * g->n ? j - 2 * g->n : j;
}
static int64_t second_column(const tw_gemm *g, int64_t j) {
  if (g->glu) {
    const bool is_gated = g->glu_pass == TW_GLU_FORWARD || (g->glu_pass == TW_GLU_SUMS && j >= 2 * g->n);
    return first_column(g, j) + (is_gated ? g->n : 0);
  }
  if (j >= g->heads * g->head) return j;
  if (g->rotary == TW_GEMM_ROTARY_INTERLEAVED) return j ^ 1;
  return j % g->head < g->head / 2 ? j + g->head / 2 : j - g->head / 2;
}

/* The gradient of a gate or of the value that it gates, from the sum that is the gradient of both's product. */
static void finish_gradient(const tw_gemm *g, const tw_gemm_numerics *numerics, const void *d, tw_place at, double sum,
                            double off, double *value, double *bound) {
  const int64_t first = at.row * g->ldd + at.column % g->n;
  const bool of_gate = at.column < g->n;
  const double gate = tw_element(g->d, d, first), up = tw_element(g->d, d, first + g->n);
  const double function = (of_gate ? tw_gemm_act_slope : tw_gemm_act)(g->glu, gate), by = of_gate ? up : 1;
  *value = sum * by * function;
  *bound = tw_gemm_real_tolerance(
      numerics, *value,
      fabs(by) * (off * fabs(function) + (fabs(sum) + off) * tw_gemm_act_error(g->c, gate, function)));
}

static void finish_pair(const tw_gemm *g, const tw_gemm_numerics *numerics, void *const buffers[], tw_place at,
                        const double sum[2], const double off[2], double *value, double *bound) {
  if (tw_gemm_gates_back(g)) {
    finish_gradient(g, numerics, buffers[tw_gemm_d_index(g)], at, sum[0], off[0], value, bound);
    return;
  }
  if (g->glu && second_column(g, at.column) == first_column(g, at.column)) {
    *value = sum[0];
    *bound = tw_gemm_real_tolerance(numerics, sum[0], off[0]);
    return;
  }
  if (g->glu) {
    *value = tw_gemm_act(g->glu, sum[0]) * sum[1];
    *bound = tw_gemm_glu_tolerance(g, numerics, sum[0], sum[1], off[0], off[1]);
    return;
  }
  const int64_t half = g->head / 2, in_head = at.column % g->head;
  const bool rotates = at.column < g->heads * g->head, neighbours = g->rotary == TW_GEMM_ROTARY_INTERLEAVED,
             second = neighbours ? in_head % 2 : in_head >= half;
  const int64_t angle = at.row % g->positions * half + (neighbours ? in_head / 2 : in_head % half);
  const size_t table = tw_gemm_cos_index(g);
  const double cosine = rotates ? tw_element(g->c, buffers[table], angle) : 1,
               sine = rotates ? tw_element(g->c, buffers[table + 1], angle) : 0;
  const double own = sum[0] * cosine, other = sum[1] * sine;
  *value = second ? own + other : own - other;
  *bound = tw_gemm_real_tolerance(numerics, *value,
                                  2 * TW_U32 * (fabs(own) + fabs(other)) + fabs(cosine) * off[0] + fabs(sine) * off[1]);
}

/* Elements of up to two sums, with glu and rotary: computes the sums in the order of their places. */
static tw_status exact_pairs(const tw_gemm *g, void *const buffers[], size_t n, const tw_place place[], double value[],
                             double bound[], int threads, tw_error *error) {
  tw_gemm plain = *g;
  plain.glu = TW_GLU_NONE;
  plain.rotary = TW_GEMM_ROTARY_NONE;
  plain.n = tw_gemm_columns(g);
  plain.c = TW_F32;
  const tw_gemm_values v = tw_gemm_values_of(&plain, buffers);
  const tw_gemm_numerics numerics = tw_gemm_numerics_of(g);
  part *parts = tw_new(2 * n, sizeof *parts);
  tw_place *places = tw_new(2 * n, sizeof *places);
  double *sum = tw_new(8 * n, sizeof *sum), *off = sum + 2 * n, *sorted = sum + 4 * n, *sorted_off = sum + 6 * n;
  tw_status status = parts && places && sum ? TW_OK : tw_no_memory(error, "the comparison");
  for (size_t i = 0; status == TW_OK && i < 2 * n; i++)
    parts[i] = (part){{place[i / 2].row, (i % 2 ? second_column : first_column)(g, place[i / 2].column)}, i};
  if (status == TW_OK) qsort(parts, 2 * n, sizeof *parts, by_place);
  for (size_t i = 0; status == TW_OK && i < 2 * n; i++) places[i] = parts[i].place;
  if (status == TW_OK) status = tw_gemm_exact_values(&v, 2 * n, places, sorted, sorted_off, threads, error);
  for (size_t i = 0; status == TW_OK && i < 2 * n; i++) {
    sum[parts[i].index] = sorted[i];
    off[parts[i].index] = sorted_off[i];
  }
  for (size_t i = 0; status == TW_OK && i < n; i++)
    finish_pair(g, &numerics, buffers, place[i], &sum[2 * i], &off[2 * i], &value[i], &bound[i]);
  free(parts);
  free(places);
  free(sum);
  return status;
}

tw_status tw_gemm_exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                        double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const tw_gemm g = tw_gemm_of(p);
  if (tw_gemm_pair_key(&g)) return exact_pairs(&g, buffers, n, place, value, bound, threads, error);
  const tw_gemm_values v = tw_gemm_values_of(&g, buffers);
  return tw_gemm_exact_values(&v, n, place, value, bound, threads, error);
}

void tw_gemm_exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  const tw_gemm g = tw_gemm_of(p);
  (void)operand;
  *element = (tw_gemm_pair_key(&g) ? 2 : 1) * (2 * (double)g.k + 16);
  *row = *element * (double)tw_gemm_c_columns(&g);
}
