/* multiply.c - what the Tensor engine does: the product of two operands, summed in binary32 in the order of the contraction.
 *
 * It is most of the time of a check, so one loop is compiled for several processors. Products are rounded before they are
 * added, whatever the processor has (target.cmake): the bits are equal on all. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/trainium/machine/data.h"

/* Sums that stay in registers: ROWS rows of one or two vectors. */
enum { LANES = 16, ROWS = 4, WIDTH = 2 * LANES };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));

#define BODY static inline __attribute__((always_inline)) void

/* sum [m][n] = s [k][m]^T x [k][n]; m is a multiple of ROWS, n of WIDTH. */
BODY products(int vectors, int64_t k, int64_t m, int64_t n, const float *s, const float *x, float *sum) {
  for (int64_t c = 0; c < n; c += vectors * LANES)
    for (int64_t r = 0; r < m; r += ROWS) {
      lanes total[ROWS][2] = {{{0}}};
      for (int64_t i = 0; i < k; i++)
        for (int v = 0; v < vectors; v++) {
          const lanes from = *(const lanes *)(x + i * n + c + v * LANES);
          for (int row = 0; row < ROWS; row++) total[row][v] += s[i * m + r + row] * from;
        }
      for (int row = 0; row < ROWS; row++)
        for (int v = 0; v < vectors; v++) *(lanes *)(sum + (r + row) * n + c + v * LANES) = total[row][v];
    }
}

typedef void product(int64_t k, int64_t m, int64_t n, const float *s, const float *x, float *sum);

static void portable(int64_t k, int64_t m, int64_t n, const float *s, const float *x, float *sum) {
  products(1, k, m, n, s, x, sum);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void avx2(int64_t k, int64_t m, int64_t n, const float *s, const float *x,
                                                 float *sum) {
  products(1, k, m, n, s, x, sum);
}
__attribute__((target("avx512f"))) static void avx512(int64_t k, int64_t m, int64_t n, const float *s, const float *x,
                                                      float *sum) {
  products(2, k, m, n, s, x, sum);
}
#endif

static product *fastest(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return avx512;
  if (__builtin_cpu_supports("avx2")) return avx2;
#endif
  return portable;
}

/* A view of two dimensions as floats with `pitch` a row; returns the mark of an element that was never written. */
static uint8_t dense(const trn_view *dst, const trn_view *v, int64_t pitch, float *out) {
  uint8_t undefined = 0;
  double row[TRN_CHUNK];
  for (int64_t i = 0; i < v->size[0]; i++, out += pitch) {
    for (int64_t from = 0; from < v->size[1]; from += TRN_CHUNK) {
      const int64_t n = v->size[1] - from < TRN_CHUNK ? v->size[1] - from : TRN_CHUNK, step = v->stride[1],
                    begin = v->offset + i * v->stride[0] + from * step;
      trn_gather(v, begin, step, n, row);
      for (int64_t j = 0; j < n; j++) out[from + j] = (float)row[j];
      for (int64_t j = 0; v->array->undefined && j < n; j++)
        if (v->array->undefined[begin + j * step]) undefined |= trn_mark_of(dst, v, begin + j * step);
    }
  }
  return undefined;
}

bool trn_multiply(const trn_view *dst, const trn_view *stationary, const trn_view *moving, bool adds) {
  if (!dst->array) return true;
  const int64_t k = stationary->size[0], columns = stationary->size[1], n = moving->size[1],
                m = (columns + ROWS - 1) / ROWS * ROWS, pitch = (n + WIDTH - 1) / WIDTH * WIDTH;
  float *s = tw_new((size_t)(k * (m + pitch) + m * pitch), sizeof *s);
  if (!s) return false;
  float *x = s + k * m, *sum = x + k * pitch;
  uint8_t undefined = dense(dst, stationary, m, s);
  undefined |= dense(dst, moving, pitch, x);
  fastest()(k, m, pitch, s, x, sum);
  double row[TRN_CHUNK], old[TRN_CHUNK];
  for (int64_t r = 0; r < columns; r++, sum += pitch)
    for (int64_t from = 0; from < n; from += TRN_CHUNK) {
      const int64_t count = n - from < TRN_CHUNK ? n - from : TRN_CHUNK, step = dst->stride[1],
                    begin = dst->offset + r * dst->stride[0] + from * step;
      for (int64_t c = 0; c < count; c++) row[c] = (double)sum[from + c];
      if (adds) trn_gather(dst, begin, step, count, old);
      for (int64_t c = 0; adds && c < count; c++) row[c] += old[c];
      trn_scatter(dst, begin, step, count, row);
      for (int64_t c = 0; dst->array->undefined && c < count; c++) {
        const int64_t to = begin + c * step;
        dst->array->undefined[to] = undefined | (adds ? trn_mark_of(dst, dst, to) : 0);
      }
    }
  free(s);
  return true;
}
