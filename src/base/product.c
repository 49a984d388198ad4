/* product.c - see product.h. One loop is compiled for several processors. None fuses a product with its sum (CMakeLists.txt). */
#include "base/product.h"

/* Sums that stay in registers: up to 8 rows of one or two vectors. */
enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline __attribute__((always_inline)) void products(int rows, int vectors, int64_t k, int64_t m, int64_t n,
                                                           tw_rows s, tw_rows x, float *sum) {
  for (int64_t c = 0; c < n; c += vectors * LANES)
    for (int64_t r = 0; r < m; r += rows) {
      lanes total[TW_PRODUCT_ROWS][2] = {{{0}}};
      for (int64_t i = 0; i < k; i++)
        for (int v = 0; v < vectors; v++) {
          const lanes from = *(const lanes *)(x.at + i * x.pitch + c + v * LANES);
          for (int row = 0; row < rows; row++) total[row][v] += s.at[i * s.pitch + r + row] * from;
        }
      for (int row = 0; row < rows; row++)
        for (int v = 0; v < vectors; v++) *(lanes *)(sum + (r + row) * n + c + v * LANES) = total[row][v];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void avx2(int64_t k, int64_t m, int64_t n, tw_rows s, tw_rows x, float *sum) {
  products(4, 1, k, m, n, s, x, sum);
}
__attribute__((target("avx512f"))) static void avx512(int64_t k, int64_t m, int64_t n, tw_rows s, tw_rows x,
                                                      float *sum) {
  products(8, 2, k, m, n, s, x, sum);
}
#endif

void tw_product(int64_t k, int64_t m, int64_t n, tw_rows s, tw_rows x, float *sum) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    avx512(k, m, n, s, x, sum);
    return;
  }
  if (__builtin_cpu_supports("avx2")) {
    avx2(k, m, n, s, x, sum);
    return;
  }
#endif
  products(4, 1, k, m, n, s, x, sum);
}
