/* fused.h - part of body.h: sums of products as the matrix units of CDNA3 compute them (emulator/fused.h has the
 * rules), for operands whose exponents allow exact sums in 32 bits and binary64. */

enum {
  FUSED_LEAST = -100,             /* lower limit of the deciding exponent: below it, all products are zero */
  NEAR_LEAST = (127 - 100) << 23, /* bits of 2^-100 and 2^120 */
  NEAR_END = (127 + 120) << 23,
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

#ifdef __AVX512F__
static inline __m512i exponents_of(__m512i bits) {
  return _mm512_sub_epi32(_mm512_and_si512(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(0xFF)),
                          _mm512_set1_epi32(127));
}
/* 2^e, for e from -126 to 127. */
static inline __m512 powers_of_two(__m512i e) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(e, _mm512_set1_epi32(127)), 23));
}

/* The sum of some products of a row and WIDTH columns, in units of 2^(top - 24). */
typedef struct cut_sum_of_row {
  __m512i top, sum;
} cut_sum_of_row;

/* Products of `n` k from `first` on, every `step`-th, for all rows: cut to 24 bits below the largest exponent and
 * summed. Columns stay in registers. `top` is FUSED_LEAST at least. */
static inline __attribute__((always_inline)) void cut_products(const cdna_fused *x, int j, int first, int n, int step,
                                                               cut_sum_of_row *row) {
  const cdna_product *of = &x->of;
  __m512 b[8];
  __m512i e[8];
  UNROLLED for (int k = 0; k < n; k++) {
    b[k] = _mm512_loadu_ps(of->b + (first + k * step) * of->n + j);
    e[k] = _mm512_loadu_si512(x->b_exponent + (first + k * step) * of->n + j);
  }
  for (int r = x->done; r < of->m; r++) {
    const float *a = of->a + first * of->m + r;
    const int32_t *of_a = x->a_exponent + first * of->m + r;
    __m512i top = _mm512_set1_epi32(FUSED_LEAST), sum = _mm512_setzero_si512();
    UNROLLED for (int k = 0; k < n; k++) top =
        _mm512_max_epi32(top, _mm512_add_epi32(e[k], _mm512_set1_epi32(of_a[k * step * of->m])));
    const __m512 unit = powers_of_two(_mm512_sub_epi32(_mm512_set1_epi32(24), top));
    UNROLLED for (int k = 0; k < n; k++) {
      const __m512 product = _mm512_mul_ps(b[k], _mm512_set1_ps(a[k * step * of->m]));
      sum = _mm512_add_epi32(sum, _mm512_cvttps_epi32(_mm512_mul_ps(product, unit)));
    }
    row[r] = (cut_sum_of_row){top, sum};
  }
}

/* Adds the sums of even and of odd products. Shifts to the right cut downward. */
static inline cut_sum_of_row both_halves(cut_sum_of_row even, cut_sum_of_row odd) {
  const __m512i top = _mm512_max_epi32(even.top, odd.top);
  return (cut_sum_of_row){top, _mm512_add_epi32(_mm512_srav_epi32(even.sum, _mm512_sub_epi32(top, even.top)),
                                                _mm512_srav_epi32(odd.sum, _mm512_sub_epi32(top, odd.top)))};
}

/* C plus a sum, in units of 2^(e - 24). If C's exponent is at most 5 more than the sum's, e is the sum's, and all bits of
 * both fit in 32 bits. Else e is C's exponent less 5, and the sum is cut downward to two bits below the unit, 31 bits
 * below C. If one of these two bits is set, the last bit of the result becomes 1. The result is at least 2^25, so
 * rounding to float removes that bit. */
static inline __attribute__((always_inline)) __m512 add_sum(__m512 c, cut_sum_of_row x, bool halves) {
  const __m512i of_c = exponents_of(_mm512_castps_si512(c)), low = _mm512_sub_epi32(of_c, _mm512_set1_epi32(5)),
                e = _mm512_max_epi32(x.top, low);
  const __m512 scaled = _mm512_mul_ps(c, powers_of_two(_mm512_sub_epi32(_mm512_set1_epi32(24), e)));
  /* far below the sum, C counts as zero */
  const __mmask16 counts =
      halves ? _mm512_cmpge_epi32_mask(of_c, _mm512_sub_epi32(x.top, _mm512_set1_epi32(25))) : 0xFFFF;
  const __m512i addend = _mm512_maskz_cvt_roundps_epi32(counts, scaled, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  __m512i all = _mm512_add_epi32(addend, x.sum);
  if (_mm512_cmpgt_epi32_mask(low, x.top)) {
    const __m512i shift = _mm512_sub_epi32(e, x.top),
                  below = _mm512_srli_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(3), shift), 2);
    all = _mm512_add_epi32(addend, _mm512_srav_epi32(x.sum, shift));
    all = _mm512_mask_or_epi32(all, _mm512_test_epi32_mask(x.sum, below), all, _mm512_set1_epi32(1));
  }
  return _mm512_mul_ps(_mm512_cvtepi32_ps(all), powers_of_two(_mm512_sub_epi32(e, _mm512_set1_epi32(24))));
}

static inline __attribute__((always_inline)) void fuse_columns(const cdna_fused *x, int j, int group) {
  enum { ROWS = 32 };
  const bool halves = group == 16;
  const uint32_t *c = x->of.c;
  cut_sum_of_row sum[ROWS], odd[ROWS];
  for (int first = 0; first < x->of.k; first += group) {
    cut_products(x, j, first, halves ? 8 : group, halves ? 2 : 1, sum);
    if (halves) cut_products(x, j, first + 1, 8, 2, odd);
    for (int r = x->done; r < x->of.m; r++) {
      const uint16_t at = x->of.at[r];
      const __m512 before = _mm512_loadu_ps((const float *)(const void *)(c + at + j));
      _mm512_storeu_ps((float *)(void *)(x->of.d + at + j),
                       add_sum(before, halves ? both_halves(sum[r], odd[r]) : sum[r], halves));
    }
    c = x->of.d;
  }
}
#else
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

static inline __attribute__((always_inline)) void fuse_row(const cdna_fused *x, int i_, int j, int group) {
  const bool halves = group == 16;
  int32_t top[2][WIDTH], sum[2][WIDTH], e[WIDTH];
  uint32_t c[WIDTH];
  double s[WIDTH];
  const uint16_t at = x->of.at[i_];
  memcpy(c, x->of.c + at + j, sizeof c);
  for (int first = 0; first < x->of.k; first += group) {
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
static inline __attribute__((always_inline)) void fuse_columns(const cdna_fused *x, int j, int group) {
  for (int r = x->done; r < x->of.m; r++) fuse_row(x, r, j, group);
}
#endif

/* Up to WIDTH of n dwords, and zeros after them. A copy of constant size is no call. */
#define PART_OF(v_, n_)                                                                                                \
  ({                                                                                                                   \
    integers part = {0};                                                                                               \
    if ((n_) >= WIDTH)                                                                                                 \
      part = INTEGERS_AT(v_);                                                                                          \
    else                                                                                                               \
      memcpy(&part, v_, 4 * (size_t)(n_));                                                                             \
    part;                                                                                                              \
  })
#define CHOSEN(mask_, p_, q_) (((mask_) & (p_)) | (~(mask_) & (q_)))

/* Exponents of all items: -126 for zero, `least` for subnormals; also the smallest and largest exponent of nonzero
 * items. In vectors: the compiler makes branches of a loop over items. A last vector is filled up with zeros. */
static void exponents(const float *v, int n, int least, int32_t *e, int *low, int *high) {
  enum { FAR = 1000 };
  const integers zeros = {0};
  integers smallest = zeros + FAR, most = zeros - FAR;
  for (int k = 0; k < n; k += WIDTH) {
    const integers bits = PART_OF(v + k, n - k), of = (bits >> 23 & 0xFF) - 127, kept = LARGEST(of, zeros + least),
                   is_zero = (bits & 0x7FFFFFFF) == 0, all = CHOSEN(is_zero, zeros - 126, kept),
                   lower = CHOSEN(is_zero, zeros + FAR, kept), upper = CHOSEN(is_zero, zeros - FAR, kept);
    smallest = -LARGEST(-smallest, -lower);
    most = LARGEST(most, upper);
    if (n - k >= WIDTH)
      memcpy(e + k, &all, sizeof all);
    else
      memcpy(e + k, &all, 4 * (size_t)(n - k));
  }
  *low = FAR, *high = -FAR;
  for (int l = 0; l < WIDTH; l++) {
    *low = -largest(-*low, -smallest[l]);
    *high = largest(*high, most[l]);
  }
}

/* Are n numbers, given as bits, 0 or between 2^-100 and 2^120? n is a multiple of WIDTH. */
static bool are_near(const uint32_t *v, int n) {
  integers far = {0};
  int32_t all = 0;
  for (int k = 0; k < n; k += WIDTH) {
    const integers size = INTEGERS_AT(v + k) & 0x7FFFFFFF;
    far |= (size != 0) & ((size < NEAR_LEAST) | (size >= NEAR_END));
  }
  for (int l = 0; l < WIDTH; l++) all |= far[l];
  return !all;
}

/* Constant arguments: a loop for each. */
static inline __attribute__((always_inline)) void fuse_groups(const cdna_fused *fused, int size, int group) {
  cdna_fused x = *fused;
  x.group = group;
  x.of.m = x.of.n = size;
  for (int j = 0; j < size; j += WIDTH) fuse_columns(&x, j, group);
}
static inline __attribute__((always_inline)) void fuse_square(const cdna_fused *x, int size) {
  switch (x->group) {
  case 2: fuse_groups(x, size, 2); break;
  case 4: fuse_groups(x, size, 4); break;
  case 8: fuse_groups(x, size, 8); break;
  default: fuse_groups(x, size, 16);
  }
}
static void fuse(const cdna_fused *x) {
  if (x->of.m == 16)
    fuse_square(x, 16);
  else
    fuse_square(x, 32);
}

/* ---- sums of which little is cut ---- */

/* Let no exponent of A be above p, and none of B above q, and let all items be multiples of 2^(p - 9) and 2^(q - 9).
 * Products then are multiples of 2^(p + q - 18), so none is cut, and are below 2^(p + q + 2), so that the sum of 16 is
 * exact in binary32. C is not cut if it is a multiple of 2^(p + q - 24), nor small enough to count as zero. Sums are cut
 * only if C is at least 2^(p + q + 14). The result is C plus the sum, rounded once. */
#ifdef PACKED
enum { WHOLE_BITS = 9 };
typedef int32_t packed_bits __attribute__((vector_size(sizeof(packed))));

/* The larger of the magnitudes of `most` and v; a NaN does not count. `differences` has all bits in which a and b differ,
 * and the bits of `rest`. */
#ifdef __AVX512F__
static inline packed larger(packed most, packed v) { return _mm512_range_ps(most, v, 11); }
static inline packed differences(packed rest, packed a, packed b) {
  return (packed)_mm512_ternarylogic_epi32((__m512i)rest, (__m512i)a, (__m512i)b, 0xF6);
}
static inline float largest_of(packed v) { return _mm512_reduce_max_ps(v); }
#else
static inline __attribute__((always_inline)) packed larger(packed most, packed v) {
  return PACKED(max_ps)(PACKED(andnot_ps)(PACKED(set1_ps)(-0.0f), v), most);
}
static inline packed differences(packed rest, packed a, packed b) { return PACKED(or_ps)(rest, PACKED(xor_ps)(a, b)); }
static inline float largest_of(packed v) {
  float most = 0;
  for (int k = 0; k < PACKED_COLUMNS; k++) most = most > v[k] ? most : v[k];
  return most;
}
#endif
/* v without its bits below the last bit of `round`; a zero may lose its sign. */
static inline __attribute__((always_inline)) packed rounded(packed v, packed round) {
  return PACKED(sub_ps)(PACKED(add_ps)(v, round), round);
}
static inline bool reaches(packed most, float limit) { return ANY((packed_bits)most >= i(u(limit))); }

/* p or q. */
static int whole_exponent(const float *v, int n, int least) {
  packed sizes[2] = {PACKED(setzero_ps)(), PACKED(setzero_ps)()}, rest = sizes[0];
  for (int k = 0; k < n; k += 2 * PACKED_COLUMNS) {
    sizes[0] = larger(sizes[0], PACKED(loadu_ps)(v + k));
    sizes[1] = larger(sizes[1], PACKED(loadu_ps)(v + k + PACKED_COLUMNS));
  }
  sizes[0] = larger(sizes[0], sizes[1]);
  const float most = largest_of(sizes[0]);
  const int e = largest((i(u(most)) >> 23) - 127, least);
  if (reaches(sizes[0], 0x1p60f) || most == 0 || e < -60) return CDNA_NOT_WHOLE;
  const packed round = PACKED(set1_ps)(1.5f * (float)power_of_two(e - WHOLE_BITS + 23));
  for (int k = 0; k < n; k += PACKED_COLUMNS) {
    const packed item = PACKED(loadu_ps)(v + k);
    rest = differences(rest, rounded(item, round), item);
    if (k % (4 * PACKED_COLUMNS) == 0 && ANY((packed_bits)rest & 0x7FFFFFFF)) return CDNA_NOT_WHOLE;
  }
  return ANY((packed_bits)rest & 0x7FFFFFFF) ? CDNA_NOT_WHOLE : e;
}

/* Cuts a sum downward to 31 bits below C, but not below its own last bit. */
static inline __attribute__((always_inline)) packed cut_sum(packed sum, packed c, float limit) {
  const packed exponent = PACKED(and_ps)(c, PACKED(set1_ps)(INFINITY)),
               power = PACKED(max_ps)(exponent, PACKED(set1_ps)(limit / 2)),
               up = (packed)(((2 * 127 + 31) << 23) - (packed_bits)power);
  return PACKED(mul_ps)(PACKED(floor_ps)(PACKED(mul_ps)(sum, up)), PACKED(mul_ps)(power, PACKED(set1_ps)(0x1p-31f)));
}

/* As cut_sum, for sums below 2^-9 of C's power of two where C reaches the limit. Adding and subtracting a number whose
 * last bit is 31 bits below C rounds the sum downward. */
#ifdef __AVX512F__
static inline __attribute__((always_inline)) packed cut_small_sum(packed sum, packed c, float limit) {
  const packed power = _mm512_and_ps(c, _mm512_set1_ps(INFINITY)),
               round = _mm512_mul_ps(power, _mm512_set1_ps(1.5f * 0x1p-8f));
  return _mm512_mask_sub_ps(sum, _mm512_cmp_ps_mask(power, _mm512_set1_ps(limit), _CMP_GE_OQ),
                            _mm512_add_round_ps(sum, round, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC), round);
}
#else
#define cut_small_sum cut_sum
#endif

/* Exponents of products are at most `top`. */
static inline __attribute__((always_inline)) int whole_rows(const cdna_product *x, int columns, int group, int top) {
  const float limit = (float)power_of_two(top + 32 - 2 * WHOLE_BITS);
  const packed round = PACKED(set1_ps)(1.5f * (float)power_of_two(top));
  int row = 0;
  for (; row < x->m; row += SUMS_AT_ONCE * PACKED_COLUMNS / columns) {
    packed c[SUMS_AT_ONCE], sum[SUMS_AT_ONCE], most = PACKED(setzero_ps)(), other = most, rest = most;
    load_sums(x, row, columns, c);
    EACH_SUM rest = differences(rest, c[s], rounded(c[s], round)); /* later sums of C have no lower bits */
    for (int first = 0; first < x->k; first += group) {
      UNROLLED for (int s = 0; s < SUMS_AT_ONCE; s += 2) {
        most = larger(most, c[s]);
        other = larger(other, c[s + 1]);
      }
      most = larger(most, other);
      EACH_SUM sum[s] = PACKED(setzero_ps)();
      add_products(x, row, columns, first, first + group, sum);
      if (reaches(most, limit)) {
        if (group <= 8) /* sums are below 2^(top + 5), and the limit is 2^(top + 14) */
          EACH_SUM sum[s] = cut_small_sum(sum[s], c[s], limit);
        else
          EACH_SUM sum[s] = cut_sum(sum[s], c[s], limit);
      }
      EACH_SUM c[s] = PACKED(add_ps)(c[s], sum[s]);
    }
    if (ANY((packed_bits)rest & 0x7FFFFFFF) || reaches(most, 0x1p100f)) break;
    store_sums(x, row, columns, c);
  }
  return row;
}

static int multiply_whole(const cdna_product *x, int group, int top) {
  return x->n == 16 ? whole_rows(x, 16, group, top) : whole_rows(x, 32, group, top);
}
#else
static int whole_exponent(const float *v, int n, int least) {
  (void)v, (void)n, (void)least;
  return CDNA_NOT_WHOLE;
}
static int multiply_whole(const cdna_product *x, int group, int top) {
  (void)x, (void)group, (void)top;
  return 0;
}
#endif
