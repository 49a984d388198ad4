/* fused.h - part of body.h: sums of products as the matrix units of CDNA3 build them (emulator/fused.h has the rules), for
 * operands whose exponents lie so that all of it fits in 32 bits and binary64. */

enum { FUSED_LEAST = -100 }; /* of what decides: below it, all products are zero */

static inline double power_of_two(int32_t e) {
  const uint64_t bits = (uint64_t)(int64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline int32_t largest(int32_t p, int32_t q) { return p > q ? p : q; }

/* Products of every `step`-th k: each cut to 24 bits below the largest exponent, and summed in those units. */
static inline __attribute__((always_inline)) void cut_products(const cdna_fused *x, int i_, int first, int last,
                                                               int step, int columns, int32_t *top, int32_t *sum) {
  float unit[32];
  for (int j = 0; j < columns; j++) top[j] = INT32_MIN, sum[j] = 0;
  for (int k = first; k < last; k += step) {
    const int32_t e = x->a_exponent[k * x->m + i_];
    for (int j = 0; j < columns; j++) top[j] = largest(top[j], e + x->b_exponent[k * x->n + j]);
  }
  for (int j = 0; j < columns; j++) unit[j] = f((uint32_t)(127 + 24 - largest(top[j], FUSED_LEAST)) << 23);
  for (int k = first; k < last; k += step) {
    const float a = x->a[k * x->m + i_];
    for (int j = 0; j < columns; j++) sum[j] += (int32_t)(a * x->b[k * x->n + j] * unit[j]);
  }
}

static inline __attribute__((always_inline)) void fuse_columns(const cdna_fused *x, int columns) {
  int32_t top[2][32], sum[2][32];
  for (int i_ = 0; i_ < x->m; i_++) {
    float *c = x->c + i_ * x->n;
    for (int first = 0; first < x->k; first += x->group) {
      const int last = first + x->group;
      if (x->halves) {
        cut_products(x, i_, first, last, 2, columns, top[0], sum[0]);
        cut_products(x, i_, first + 1, last, 2, columns, top[1], sum[1]);
      } else {
        cut_products(x, i_, first, last, 1, columns, top[0], sum[0]);
      }
      for (int j = 0; j < columns; j++) {
        int32_t e = top[0][j];
        double s = sum[0][j];
        if (x->halves) {
          e = largest(top[0][j], top[1][j]);
          s = floor(s * power_of_two(top[0][j] - e)) + floor(sum[1][j] * power_of_two(top[1][j] - e));
        }
        const int32_t of_c = largest((int32_t)(u(c[j]) >> 23 & 0xFF) - 127, -126), all = largest(e, of_c);
        const double sums = floor(s * power_of_two(e - all + 7)),
                     addend =
                         floor((double)c[j] * power_of_two(24 - all)) * (x->halves && of_c < all - 25 ? 0.0 : 128.0);
        c[j] = (float)((sums + addend) * power_of_two(all - 31));
      }
    }
  }
}
static void fuse(const cdna_fused *x) {
  if (x->n == 32)
    fuse_columns(x, 32);
  else if (x->n == 16)
    fuse_columns(x, 16);
  else
    fuse_columns(x, x->n);
}
