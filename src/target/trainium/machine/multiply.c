/* multiply.c - the Tensor engine: the product of two operands, summed in binary32 in the order of the contraction.
 *
 * It is most of the time of a check, so one loop is compiled for several processors. Products are rounded before they are
 * added, whatever the processor has (target.cmake): the bits are equal on all. */
#include <stdlib.h>

#include "base/bits.h"
#include "target/trainium/machine/data.h"

/* Sums that stay in registers: up to ROWS rows of one or two vectors. Cells are read as floats. */
enum { LANES = 16, ROWS = 8, WIDTH = 2 * LANES };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float cell __attribute__((may_alias));

#define BODY static inline __attribute__((always_inline)) void

/* Rows of operands; row i + 1 begins `pitch` floats after row i. */
typedef struct operand {
  const cell *at;
  int64_t pitch;
} operand;

/* sum [m][n] = s [k][m]^T x [k][n]; m is a multiple of ROWS, n of WIDTH. */
BODY products(int rows, int vectors, int64_t k, int64_t m, int64_t n, operand s, operand x, float *sum) {
  for (int64_t c = 0; c < n; c += vectors * LANES)
    for (int64_t r = 0; r < m; r += rows) {
      lanes total[ROWS][2] = {{{0}}};
      for (int64_t i = 0; i < k; i++)
        for (int v = 0; v < vectors; v++) {
          const lanes from = *(const lanes *)(x.at + i * x.pitch + c + v * LANES);
          for (int row = 0; row < rows; row++) total[row][v] += s.at[i * s.pitch + r + row] * from;
        }
      for (int row = 0; row < rows; row++)
        for (int v = 0; v < vectors; v++) *(lanes *)(sum + (r + row) * n + c + v * LANES) = total[row][v];
    }
}

typedef void product(int64_t k, int64_t m, int64_t n, operand s, operand x, float *sum);

static void portable(int64_t k, int64_t m, int64_t n, operand s, operand x, float *sum) {
  products(4, 1, k, m, n, s, x, sum);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void avx2(int64_t k, int64_t m, int64_t n, operand s, operand x, float *sum) {
  products(4, 1, k, m, n, s, x, sum);
}
__attribute__((target("avx512f"))) static void avx512(int64_t k, int64_t m, int64_t n, operand s, operand x,
                                                      float *sum) {
  products(8, 2, k, m, n, s, x, sum);
}
#endif

static product *fastest(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return avx512;
  if (__builtin_cpu_supports("avx2")) return avx2;
#endif
  return portable;
}

/* Where the free elements of a partition are, from its first one, in order. */
typedef struct places {
  int64_t n, at[TRN_CHUNK];
  bool is_dense; /* one after the other */
} places;

static void find_places(const trn_view *v, places *out) {
  out->n = 1;
  out->at[0] = 0;
  for (int d = 1; d < v->n; d++) {
    for (int64_t i = out->n - 1; i >= 0; i--) {
      const int64_t from = out->at[i];
      for (int64_t j = v->size[d] - 1; j >= 0; j--) out->at[i * v->size[d] + j] = from + j * v->stride[d];
    }
    out->n *= v->size[d];
  }
  out->is_dense = true;
  for (int64_t i = 0; i < out->n; i++) out->is_dense = out->is_dense && out->at[i] == i;
}

/* The mark of an element that was never written, for a result in dst. */
static uint8_t mark_of_row(const trn_view *dst, const trn_view *v, const places *p, int64_t begin) {
  const uint8_t *u = v->array->undefined + begin;
  uint8_t any = 0, mark = 0;
  if (p->is_dense)
    for (int64_t i = 0; i < p->n; i++) any |= u[i];
  else
    for (int64_t i = 0; i < p->n; i++) any |= u[p->at[i]];
  for (int64_t i = 0; any && i < p->n; i++) mark |= trn_mark_of(dst, v, begin + p->at[i]);
  return mark;
}

/* An operand as rows of `pitch` floats: the tensor's cells where they have that form, else a copy in `room`. */
static operand dense(const trn_view *dst, const trn_view *v, int64_t pitch, float *room, uint8_t *undefined) {
  places p;
  find_places(v, &p);
  for (int64_t i = 0; v->array->undefined && i < v->size[0]; i++)
    *undefined |= mark_of_row(dst, v, &p, v->offset + i * v->stride[0]);
  const bool is_real = trn_type_is_real(v->type);
  if (p.is_dense && p.n == pitch && is_real) return (operand){(const cell *)(v->array->cell + v->offset), v->stride[0]};
  for (int64_t i = 0; i < v->size[0]; i++) {
    const int64_t begin = v->offset + i * v->stride[0];
    float *row = room + i * pitch;
    for (int64_t j = 0; is_real && j < p.n; j++) row[j] = tw_float_of(v->array->cell[begin + p.at[j]]);
    for (int64_t j = 0; !is_real && j < p.n; j++) {
      double x;
      trn_gather(v, begin + p.at[j], 0, 1, &x);
      row[j] = (float)x;
    }
    for (int64_t j = p.n; j < pitch; j++) row[j] = 0;
  }
  return (operand){room, pitch};
}

/* Writes or adds a row of sums. */
static void put(const trn_view *dst, const places *p, int64_t begin, const float *sum, bool adds, uint8_t mark) {
  uint32_t *to = dst->array->cell + begin;
  if (dst->array->undefined) {
    if (adds) mark |= mark_of_row(dst, dst, p, begin);
    for (int64_t i = 0; i < p->n; i++) dst->array->undefined[begin + p->at[i]] = mark;
  }
  if (p->is_dense && dst->type == TRN_F32 && adds)
    for (int64_t i = 0; i < p->n; i++) to[i] = tw_bits_of(sum[i] + tw_float_of(to[i]));
  else if (p->is_dense && dst->type == TRN_F32)
    for (int64_t i = 0; i < p->n; i++) to[i] = tw_bits_of(sum[i]);
  else
    for (int64_t i = 0; i < p->n; i++) {
      double x = 0;
      if (adds) trn_gather(dst, begin + p->at[i], 0, 1, &x);
      x = adds ? x + (double)sum[i] : (double)sum[i];
      trn_scatter(dst, begin + p->at[i], 0, 1, &x);
    }
}

bool trn_multiply(const trn_view *dst, const trn_view *stationary, const trn_view *moving, bool adds) {
  places p;
  find_places(dst, &p);
  int64_t columns = 1;
  for (int d = 1; d < stationary->n; d++) columns *= stationary->size[d];
  const int64_t k = stationary->size[0], m = (columns + ROWS - 1) / ROWS * ROWS, n = (p.n + WIDTH - 1) / WIDTH * WIDTH;
  float *sum = malloc((size_t)(m * n + k * (m + n)) * sizeof *sum);
  if (!sum) return false;
  uint8_t undefined = 0;
  const operand s = dense(dst, stationary, m, sum + m * n, &undefined),
                x = dense(dst, moving, n, sum + m * n + k * m, &undefined);
  fastest()(k, m, n, s, x, sum);
  for (int64_t r = 0; r < columns; r++) put(dst, &p, dst->offset + r * dst->stride[0], sum + r * n, adds, undefined);
  free(sum);
  return true;
}

void trn_turn(const trn_view *dst, const trn_view *src) {
  places p;
  find_places(src, &p);
  for (int64_t c = 0; c < p.n; c++) {
    trn_view column = *src, row = *dst;
    column.n = row.n = 1;
    column.offset += p.at[c];
    row.size[0] = dst->size[1];
    row.stride[0] = dst->stride[1];
    row.offset += c * dst->stride[0];
    trn_copy(&row, &column, NULL, NULL);
  }
}
