/* multiply.c - the Tensor engine: the product of two operands, and the transpose of one. */
#include <stdlib.h>

#include "base/bits.h"
#include "base/product.h"
#include "target/trainium/machine/data.h"

/* The places of the elements of a partition, relative to the first. */
typedef struct places {
  int64_t n, at[TRN_CHUNK];
  bool is_dense; /* the elements are adjacent */
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
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the loops above fill `at` */
  for (int64_t i = 0; i < out->n; i++) out->is_dense = out->is_dense && out->at[i] == i;
}

/* The mark of a result in dst if any element of a row was never written. */
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

/* An operand as rows of `pitch` floats: the tensor's cells if they have that form, otherwise a copy in `room`. */
static tw_rows dense(const trn_view *dst, const trn_view *v, int64_t pitch, float *room, uint8_t *undefined) {
  places p;
  find_places(v, &p);
  for (int64_t i = 0; v->array->undefined && i < v->size[0]; i++)
    *undefined |= mark_of_row(dst, v, &p, v->offset + i * v->stride[0]);
  const bool is_real = trn_type_is_real(v->type);
  if (p.is_dense && p.n == pitch && is_real)
    return (tw_rows){(const tw_real *)(v->array->cell + v->offset), v->stride[0]};
  for (int64_t i = 0; i < v->size[0]; i++) {
    const int64_t begin = v->offset + i * v->stride[0];
    float *row = room + i * pitch;
    for (int64_t j = 0; is_real && j < p.n; j++) row[j] = tw_float_of(v->array->cell[begin + p.at[j]]);
    for (int64_t j = 0; !is_real && j < p.n; j++) row[j] = (float)trn_get(v, begin + p.at[j]);
    for (int64_t j = p.n; j < pitch; j++) row[j] = 0;
  }
  return (tw_rows){room, pitch};
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
  const int64_t k = stationary->size[0], m = (columns + TW_PRODUCT_ROWS - 1) / TW_PRODUCT_ROWS * TW_PRODUCT_ROWS,
                n = (p.n + TW_PRODUCT_COLUMNS - 1) / TW_PRODUCT_COLUMNS * TW_PRODUCT_COLUMNS;
  float *sum = malloc((size_t)(m * n + k * (m + n)) * sizeof *sum);
  if (!sum) return false;
  uint8_t undefined = 0;
  const tw_rows s = dense(dst, stationary, m, sum + m * n, &undefined),
                x = dense(dst, moving, n, sum + m * n + k * m, &undefined);
  tw_product(k, m, n, s, x, sum);
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
