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

#define EACH_PRODUCT UNROLLED for (int k = first; k < first + group; k += step)

#ifdef __AVX512F__
static inline __m512i exponents_of(__m512i bits) {
  return _mm512_sub_epi32(_mm512_and_si512(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(0xFF)),
                          _mm512_set1_epi32(127));
}

/* Products of every `step`-th k, cut to 24 bits below the largest exponent and summed in units of the last bit. */
static inline __attribute__((always_inline)) __m512i cut_products(const cdna_fused *fused, int i_, int j, int first,
                                                                  int group, int step, __m512i *top) {
  const cdna_product *x = &fused->of;
  __m512i most = _mm512_set1_epi32(-1000), all = _mm512_setzero_si512();
  EACH_PRODUCT
  most = _mm512_max_epi32(most, _mm512_add_epi32(_mm512_loadu_si512(fused->b_exponent + k * x->n + j),
                                                 _mm512_set1_epi32(fused->a_exponent[k * x->m + i_])));
  const __m512i kept = _mm512_max_epi32(most, _mm512_set1_epi32(FUSED_LEAST));
  const __m512 unit = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(127 + 24), kept), 23));
  EACH_PRODUCT {
    const __m512 product = _mm512_mul_ps(_mm512_set1_ps(x->a[k * x->m + i_]), _mm512_loadu_ps(x->b + k * x->n + j));
    all = _mm512_add_epi32(all, _mm512_cvttps_epi32(_mm512_mul_ps(product, unit)));
  }
  *top = most;
  return all;
}

#define HALF(v_, h_) _mm512_cvtepi32_epi64((h_) ? _mm512_extracti64x4_epi64(v_, 1) : _mm512_castsi512_si256(v_))

/* Adds the sums of a group, of even and odd products if `halves`, to C of WIDTH columns. Shifts to the right cut
 * downward. */
static inline __attribute__((always_inline)) __m512 add_group(__m512 c, const __m512i top[2], const __m512i sum[2],
                                                              bool halves) {
  const __m512i bits = _mm512_castps_si512(c), e = halves ? _mm512_max_epi32(top[0], top[1]) : top[0];
  const __m512i of_c = _mm512_max_epi32(exponents_of(bits), _mm512_set1_epi32(-126)), all = _mm512_max_epi32(e, of_c);
  const __mmask16 is_normal = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7F800000));
  const __m512i fraction = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFF));
  const __m512i size = _mm512_mask_or_epi32(fraction, is_normal, fraction, _mm512_set1_epi32(0x800000));
  const __m512i twice = _mm512_slli_epi32(size, 1);
  __m512i addend = _mm512_mask_sub_epi32(twice, _mm512_movepi32_mask(bits), _mm512_setzero_si512(), twice);
  addend = _mm512_srav_epi32(addend, _mm512_sub_epi32(all, of_c));
  if (halves) /* far below the sums, C counts as zero */
    addend =
        _mm512_maskz_mov_epi32(_mm512_cmpge_epi32_mask(of_c, _mm512_sub_epi32(all, _mm512_set1_epi32(25))), addend);
  __m512i s = sum[0];
  if (halves)
    s = _mm512_add_epi32(_mm512_srav_epi32(s, _mm512_sub_epi32(e, top[0])),
                         _mm512_srav_epi32(sum[1], _mm512_sub_epi32(e, top[1])));
  const __m512i cut = _mm512_sub_epi32(all, e), scale = _mm512_add_epi32(all, _mm512_set1_epi32(1023 - 31));
  __m256 out[2];
  for (int h = 0; h < 2; h++) {
    const __m512i sums = _mm512_srav_epi64(_mm512_slli_epi64(HALF(s, h), 7), HALF(cut, h));
    const __m512i total = _mm512_add_epi64(_mm512_slli_epi64(HALF(addend, h), 7), sums);
    const __m512d unit = _mm512_castsi512_pd(_mm512_slli_epi64(HALF(scale, h), 52));
    out[h] = _mm512_cvtpd_ps(_mm512_mul_pd(_mm512_cvtepi64_pd(total), unit));
  }
  return _mm512_insertf32x8(_mm512_castps256_ps512(out[0]), out[1], 1);
}

static inline __attribute__((always_inline)) void fuse_columns(const cdna_fused *x, int i_, int j, int group) {
  const bool halves = group == 16;
  const uint16_t at = x->of.at[i_];
  __m512i top[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()}, sum[2] = {top[0], top[0]};
  __m512 c = _mm512_loadu_ps((const float *)(const void *)(x->of.c + at + j));
  for (int first = 0; first < x->of.k; first += group) {
    sum[0] = cut_products(x, i_, j, first, group, halves ? 2 : 1, &top[0]);
    if (halves) sum[1] = cut_products(x, i_, j, first + 1, group - 1, 2, &top[1]);
    c = add_group(c, top, sum, halves);
  }
  _mm512_storeu_ps((float *)(void *)(x->of.d + at + j), c);
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

static inline __attribute__((always_inline)) void fuse_columns(const cdna_fused *x, int i_, int j, int group) {
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
#endif

#ifdef __AVX512F__
/* Up to WIDTH of n dwords, and zeros after them. */
static inline __m512i part_of(const void *v, int n) {
  return n >= WIDTH ? _mm512_loadu_si512(v) : _mm512_maskz_loadu_epi32((__mmask16)((1u << n) - 1), v);
}

/* Exponents of all items: -126 for zero, `least` for subnormals; also the smallest and largest exponent of nonzero
 * items. */
static void exponents(const float *v, int n, int least, int32_t *e, int *low, int *high) {
  enum { FAR = 1000 };
  __m512i smallest = _mm512_set1_epi32(FAR), most = _mm512_set1_epi32(-FAR);
  for (int k = 0; k < n; k += WIDTH) {
    const __m512i bits = part_of(v + k, n - k), kept = _mm512_max_epi32(exponents_of(bits), _mm512_set1_epi32(least));
    const __mmask16 counts = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7FFFFFFF));
    smallest = _mm512_mask_min_epi32(smallest, counts, smallest, kept);
    most = _mm512_mask_max_epi32(most, counts, most, kept);
    _mm512_mask_storeu_epi32(e + k, n - k >= WIDTH ? 0xFFFF : (__mmask16)((1u << (n - k)) - 1),
                             _mm512_mask_mov_epi32(_mm512_set1_epi32(-126), counts, kept));
  }
  *low = _mm512_reduce_min_epi32(smallest);
  *high = _mm512_reduce_max_epi32(most);
}

/* The largest exponent of n numbers, given as bits. */
static int highest(const uint32_t *v, int n) {
  __m512i most = _mm512_setzero_si512();
  for (int k = 0; k < n; k += WIDTH)
    most = _mm512_max_epi32(most, _mm512_and_si512(part_of(v + k, n - k), _mm512_set1_epi32(0x7FFFFFFF)));
  return (_mm512_reduce_max_epi32(most) >> 23) - 127;
}
#else
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

/* The largest exponent of n numbers, given as bits. */
static int highest(const uint32_t *v, int n) {
  integers most = {0};
  int32_t all = 0;
  for (int k = 0; k < n; k += WIDTH) {
    const integers bits = PART_OF(v + k, n - k);
    most = LARGEST(most, bits & 0x7FFFFFFF);
  }
  for (int l = 0; l < WIDTH; l++) all = largest(all, most[l]);
  return (all >> 23) - 127;
}
#endif

/* The caller guarantees that the columns are a multiple of WIDTH. Constant arguments: a loop for each. Size 0: the
 * operands have any size. */
static inline __attribute__((always_inline)) void fuse_rows(const cdna_fused *fused, int group, int size) {
  cdna_fused x = *fused;
  x.group = group;
  if (size) x.of.m = x.of.n = size;
  for (int i_ = x.done; i_ < x.of.m; i_++)
    for (int j = 0; j < x.of.n; j += WIDTH) fuse_columns(&x, i_, j, group);
}
static inline __attribute__((always_inline)) void fuse_square(const cdna_fused *x, int size) {
  switch (x->group) {
  case 4: fuse_rows(x, 4, size); break;
  case 8: fuse_rows(x, 8, size); break;
  case 16: fuse_rows(x, 16, size); break;
  default: fuse_rows(x, x->group, 0);
  }
}
static void fuse(const cdna_fused *x) {
  const int size = x->of.m == x->of.n ? x->of.m : 0;
  if (size == 16)
    fuse_square(x, 16);
  else if (size == 32)
    fuse_square(x, 32);
  else
    fuse_rows(x, x->group, 0);
}

/* ---- sums of which little is cut ---- */

/* Let no exponent of A be above p, and none of B above q, and let all items be multiples of 2^(p - 9) and 2^(q - 9).
 * Products then are multiples of 2^(p + q - 18), so none is cut, and are below 2^(p + q + 2), so that the sum of 16 is
 * exact in binary32. C is not cut if it is a multiple of 2^(p + q - 24), nor small enough to count as zero. Sums are cut
 * only if C is at least 2^(p + q + 14). The result is C plus the sum, rounded once. */
#ifdef PACKED
enum { WHOLE_BITS = 9, NOT_WHOLE = 1000 };
typedef int32_t packed_bits __attribute__((vector_size(sizeof(packed))));

/* The larger of `most` and the magnitude of v. */
static inline __attribute__((always_inline)) packed larger(packed most, packed v) {
  return PACKED(max_ps)(PACKED(andnot_ps)(PACKED(set1_ps)(-0.0f), v), most);
}
/* v without its bits below the last bit of `round`; a zero may lose its sign. */
static inline __attribute__((always_inline)) packed rounded(packed v, packed round) {
  return PACKED(sub_ps)(PACKED(add_ps)(v, round), round);
}
static inline bool reaches(packed most, float limit) { return ANY((packed_bits)most >= i(u(limit))); }

/* p or q of n items, a multiple of 16; NOT_WHOLE: they have more bits, or all are 0. */
static int whole_exponent(const float *v, int n, int least) {
  packed sizes = PACKED(setzero_ps)(), rest = sizes;
  float size[PACKED_COLUMNS], most = 0;
  for (int k = 0; k < n; k += PACKED_COLUMNS) sizes = larger(sizes, PACKED(loadu_ps)(v + k));
  PACKED(storeu_ps)(size, sizes);
  for (int k = 0; k < PACKED_COLUMNS; k++) most = most > size[k] ? most : size[k];
  const int e = largest((i(u(most)) >> 23) - 127, least);
  if (reaches(sizes, 0x1p60f) || most == 0 || e < -60) return NOT_WHOLE;
  const packed round = PACKED(set1_ps)(1.5f * (float)power_of_two(e - WHOLE_BITS + 23));
  for (int k = 0; k < n; k += PACKED_COLUMNS) {
    const packed item = PACKED(loadu_ps)(v + k);
    rest = PACKED(or_ps)(rest, PACKED(sub_ps)(rounded(item, round), item));
  }
  return ANY(rest) ? NOT_WHOLE : e;
}

/* Cuts a sum downward to 31 bits below C, but not below its own last bit. */
static inline __attribute__((always_inline)) packed cut_sum(packed sum, packed c, float limit) {
  const packed exponent = PACKED(and_ps)(c, PACKED(set1_ps)(INFINITY)),
               power = PACKED(max_ps)(exponent, PACKED(set1_ps)(limit / 2)),
               up = (packed)(((2 * 127 + 31) << 23) - (packed_bits)power);
  return PACKED(mul_ps)(PACKED(floor_ps)(PACKED(mul_ps)(sum, up)), PACKED(mul_ps)(power, PACKED(set1_ps)(0x1p-31f)));
}

/* Exponents of products are at most `top`. */
static inline __attribute__((always_inline)) int whole_rows(const cdna_product *x, int columns, int group, int top) {
  const float limit = (float)power_of_two(top + 32 - 2 * WHOLE_BITS);
  const packed round = PACKED(set1_ps)(1.5f * (float)power_of_two(top));
  int row = 0;
  for (; row < x->m; row += SUMS_AT_ONCE * PACKED_COLUMNS / columns) {
    packed c[SUMS_AT_ONCE], sum[SUMS_AT_ONCE], most = PACKED(setzero_ps)(), rest = most;
    load_sums(x, row, columns, c);
    for (int first = 0; first < x->k; first += group) {
      EACH_SUM most = larger(most, c[s]), rest = PACKED(or_ps)(rest, PACKED(xor_ps)(c[s], rounded(c[s], round)));
      EACH_SUM sum[s] = PACKED(setzero_ps)();
      add_products(x, row, columns, first, first + group, sum);
      if (reaches(most, limit)) EACH_SUM sum[s] = cut_sum(sum[s], c[s], limit);
      EACH_SUM c[s] = PACKED(add_ps)(c[s], sum[s]);
    }
    if (ANY((packed_bits)rest & 0x7FFFFFFF) || reaches(most, 0x1p100f)) break;
    store_sums(x, row, columns, c);
  }
  return row;
}

static int multiply_whole(const cdna_product *x, int group, const int least[2]) {
  if (x->m % SUMS_AT_ONCE || (x->n != 16 && x->n != 32)) return 0;
  const int p = whole_exponent(x->a, x->m * x->k, least[0]), q = whole_exponent(x->b, x->n * x->k, least[1]);
  if (p == NOT_WHOLE || q == NOT_WHOLE) return 0;
  return x->n == 16 ? whole_rows(x, 16, group, p + q) : whole_rows(x, 32, group, p + q);
}
#else
static int multiply_whole(const cdna_product *x, int group, const int least[2]) {
  (void)x, (void)group, (void)least;
  return 0;
}
#endif
