/* product.h - products of matrices in binary32 with equal bits on every processor. */
#ifndef TW_BASE_PRODUCT_H
#define TW_BASE_PRODUCT_H

#include <stdint.h>

typedef float tw_real __attribute__((may_alias)); /* a float, or the bits of one */

/* Row i + 1 begins `pitch` floats after row i. */
typedef struct tw_rows {
  const tw_real *at;
  int64_t pitch;
} tw_rows;

/* sum [m][n] = s [k][m]^T x [k][n]. Each product is rounded, then added in the order of k. m and n are multiples of: */
enum { TW_PRODUCT_ROWS = 8, TW_PRODUCT_COLUMNS = 32 };
void tw_product(int64_t k, int64_t m, int64_t n, tw_rows s, tw_rows x, float *sum);

#endif
