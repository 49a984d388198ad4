/* fused.h - part of body.h: sums of products as the matrix units of CDNA3 compute them (emulator/fused.h has the
 * rules), for operands whose exponents allow exact sums in 32 bits and binary64. */

enum {
  FUSED_LEAST = -100, /* lower limit of the deciding exponent: below it, all products are zero */
  WIDTH = 16
}; /* number of columns computed at once, as vectors that the compiler divides into the host's */
typedef int32_t integers __attribute__((vector_size(4 * WIDTH)));
typedef float reals __attribute__((vector_size(4 * WIDTH)));

/* In memory order. Macros, because a function can return only vectors of the host's width. */
typedef int32_t integers_there __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef float reals_there __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
#define INTEGERS_AT(at_) (*(const integers_there *)(at_))
#define REALS_AT(at_) (*(const reals_there *)(at_))
#define LARGEST(p_, q_)                                                                                                \
  ({                                                                                                                   \
    const integers p = (p_), q = (q_), more = p > q;                                                                   \
    (p & more) | (q & ~more);                                                                                          \
  })
static inline double power_of_two(int32_t e) {
  const uint64_t bits = (uint64_t)(int64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline int32_t largest(int32_t p, int32_t q) { return p > q ? p : q; }

/* Products of every `step`-th k, cut to 24 bits below the largest exponent and summed in units of the last bit. */
static inline void cut_products(const cdna_fused *fused, int i_, int j, int first, int step, int32_t *top,
                                int32_t *sum) {
  const cdna_product *x = &fused->of;
  integers most = INTEGERS_AT(fused->b_exponent + first * x->n + j) + fused->a_exponent[first * x->m + i_], all = {0};
  reals unit;
  for (int k = first + step; k < first + fused->group; k += step)
    most = LARGEST(most, INTEGERS_AT(fused->b_exponent + k * x->n + j) + fused->a_exponent[k * x->m + i_]);
  const integers least = (integers){0} + FUSED_LEAST, unit_bits = (127 + 24 - LARGEST(most, least)) << 23;
  memcpy(&unit, &unit_bits, sizeof unit);
  for (int k = first; k < first + fused->group; k += step)
    all += __builtin_convertvector(x->a[k * x->m + i_] * REALS_AT(x->b + k * x->n + j) * unit, integers);
  memcpy(top, &most, sizeof most);
  memcpy(sum, &all, sizeof all);
}

/* Adds the sums of a group to C of WIDTH columns, given as bits. */
static inline void add_group(uint32_t *c, const int32_t *e, const double *s, bool halves) {
  INDEPENDENT
  for (int j = 0; j < WIDTH; j++) {
    const int32_t of_c = largest((int32_t)(c[j] >> 23 & 0xFF) - 127, -126), all = largest(e[j], of_c);
    const double sums = floor(s[j] * power_of_two(e[j] - all + 7)),
                 addend = floor((double)f(c[j]) * power_of_two(24 - all)) * 128.0;
    const double kept = halves && of_c < all - 25 ? 0.0 : addend;
    c[j] = u((float)((sums + kept) * power_of_two(all - 31)));
  }
}

static inline __attribute__((always_inline)) void fuse_columns(const cdna_fused *x, int i_, int j, bool halves) {
  int32_t top[2][WIDTH], sum[2][WIDTH], e[WIDTH];
  uint32_t c[WIDTH];
  double s[WIDTH];
  const uint16_t at = x->of.at[i_];
  memcpy(c, x->of.c + at + j, sizeof c);
  for (int first = 0; first < x->of.k; first += x->group) {
    cut_products(x, i_, j, first, halves ? 2 : 1, top[0], sum[0]);
    if (halves) {
      /* the odd products: `group` counts from the first product on, so one less */
      cdna_fused odd = *x;
      odd.group--;
      cut_products(&odd, i_, j, first + 1, 2, top[1], sum[1]);
    }
    INDEPENDENT
    for (int l = 0; l < WIDTH; l++) {
      e[l] = halves ? largest(top[0][l], top[1][l]) : top[0][l];
      s[l] = sum[0][l];
    }
    if (halves) {
      INDEPENDENT
      for (int l = 0; l < WIDTH; l++)
        s[l] = floor(s[l] * power_of_two(top[0][l] - e[l])) + floor(sum[1][l] * power_of_two(top[1][l] - e[l]));
    }
    add_group(c, e, s, halves);
  }
  memcpy(x->of.d + at + j, c, sizeof c);
}

/* Exponents of all items: -126 for zero, `least` for subnormals; also the smallest and largest exponent of nonzero
 * items. */
static void exponents(const void *v, int n, int least, int32_t *e, int *low, int *high) {
  int32_t smallest = 1000, most = -1000;
  for (int k = 0; k < n; k++) {
    uint32_t bits;
    memcpy(&bits, (const char *)v + 4 * k, sizeof bits);
    const int32_t of = (int32_t)(bits >> 23 & 0xFF) - 127, kept = of < least ? least : of;
    const bool zero = (bits & 0x7FFFFFFF) == 0;
    const int32_t lower = zero ? 1000 : kept, upper = zero ? -1000 : kept;
    e[k] = zero ? -126 : kept;
    smallest = lower < smallest ? lower : smallest;
    most = upper > most ? upper : most;
  }
  *low = smallest;
  *high = most;
}

/* The caller guarantees that the columns are a multiple of WIDTH. */
static void fuse(const cdna_fused *x) {
  for (int i_ = 0; i_ < x->of.m; i_++)
    for (int j = 0; j < x->of.n; j += WIDTH) {
      if (x->halves)
        fuse_columns(x, i_, j, true);
      else
        fuse_columns(x, i_, j, false);
    }
}
