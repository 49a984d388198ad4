/* functional_kernels.c - the inner loops of the functional machine: tile times tile, and the scaling of a row.
 *
 * Each loop is written once as an inline body and compiled for several processors. Intrinsics are used where the
 * compiler does not find the pairwise multiply-add. The choice is made at run time through a table, not by
 * target_clones, whose resolvers run before a sanitizer's own start. Integer sums never wrap here: 64 products of
 * int8 stay below 2^21. Floating point is one fused multiply-add a step, in hardware or in libm: the same bits. */
#include "target/gemmini/machine/functional_private.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BODY static inline __attribute__((always_inline)) void

BODY multiply_body(int dim, int rows, const int8_t *a, const int16_t *weights, const int32_t *init, int32_t *out) {
  int32_t sum[GM_MAX_DIM];
  for (int i = 0; i < rows; i++, a += dim, out += dim) {
    for (int j = 0; j < dim; j++) sum[j] = init ? init[i * dim + j] : 0;
    for (int k = 0; k < dim; k += 2) {
      const int16_t *w = weights + k * dim;
      int a0 = a[k], a1 = a[k + 1];
      for (int j = 0; j < dim; j++)
        sum[j] = gm_add_wrapping(sum[j], a0 * w[2 * j] + a1 * w[2 * j + 1]); /* init may be any int32 */
    }
    memcpy(out, sum, (size_t)dim * 4);
  }
}

BODY real_multiply_body(int dim, int rows, const float *a, const float *weights, const float *init, float *out) {
  float sum[GM_MAX_DIM];
  for (int i = 0; i < rows; i++, a += dim, out += dim) {
    for (int j = 0; j < dim; j++) sum[j] = init ? init[i * dim + j] : 0;
    for (int k = 0; k < dim; k++)
      for (int j = 0; j < dim; j++) sum[j] = __builtin_fmaf(a[k], weights[k * dim + j], sum[j]);
    for (int j = 0; j < dim; j++) out[j] = gm_canonical(sum[j]);
  }
}

BODY pack_body(int dim, const int8_t *matrix, int16_t *weights) {
  for (int k = 0; k < dim; k += 2, matrix += 2 * dim, weights += 2 * dim)
    for (int j = 0; j < dim; j++) weights[2 * j] = matrix[j], weights[2 * j + 1] = matrix[dim + j];
}

BODY scale_body(int dim, const int32_t *in, int32_t floor, float scale, int8_t *out) {
  for (int i = 0; i < dim; i++) out[i] = gm_scale_to_int8((float)(in[i] > floor ? in[i] : floor) * scale);
}

/* ---- any processor ---- */

static void multiply(int dim, int rows, const int8_t *a, const int16_t *weights, const int32_t *init, int32_t *out) {
  multiply_body(dim, rows, a, weights, init, out);
}
static void real_multiply(int dim, int rows, const float *a, const float *weights, const float *init, float *out) {
  real_multiply_body(dim, rows, a, weights, init, out);
}
static void pack(int dim, const int8_t *matrix, int16_t *weights) { pack_body(dim, matrix, weights); }
static void scale(int dim, const int32_t *in, int32_t floor, float factor, int8_t *out) {
  scale_body(dim, in, floor, factor, out);
}

static const gm_kernels portable_kernels = {multiply, real_multiply, pack, scale};

#if defined(__x86_64__)
/* ---- x86 with AVX2 and FMA ---- */

#define AVX2 __attribute__((target("avx2")))
#define AVX2_FMA __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

AVX2 static void multiply_avx2_one_row(int dim, const int8_t *a, const int16_t *weights, const int32_t *init,
                                       int32_t *out) {
  multiply_body(dim, 1, a, weights, init, out);
}

/* Processes two rows of A and 16 columns at a time, so that each load of weights serves two rows. dim is a multiple
 * of 16. */
AVX2 static void multiply_avx2(int dim, int rows, const int8_t *a, const int16_t *weights, const int32_t *init,
                               int32_t *out) {
  int16_t wide[2][GM_MAX_DIM] __attribute__((aligned(32)));
  for (int i = 0; i + 1 < rows; i += 2) {
    for (int r = 0; r < 2; r++)
      for (int k = 0; k < dim; k += 16)
        _mm256_store_si256(
            (__m256i *)(void *)&wide[r][k],
            _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(a + (i + r) * dim + k))));
    for (int j = 0; j < dim; j += 16) {
      __m256i s00 = _mm256_setzero_si256(), s01 = s00, s10 = s00, s11 = s00;
      if (init) {
        const __m256i *start = (const __m256i *)(const void *)(init + i * dim + j);
        s00 = _mm256_loadu_si256(start), s01 = _mm256_loadu_si256(start + 1);
        s10 = _mm256_loadu_si256(start + dim / 8), s11 = _mm256_loadu_si256(start + dim / 8 + 1);
      }
      for (int k = 0; k < dim; k += 2) {
        const __m256i *w = (const __m256i *)(const void *)(weights + k * dim + 2 * j);
        __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);
        int32_t pair0, pair1;
        memcpy(&pair0, &wide[0][k], 4);
        memcpy(&pair1, &wide[1][k], 4);
        __m256i a0 = _mm256_set1_epi32(pair0), a1 = _mm256_set1_epi32(pair1);
        s00 = _mm256_add_epi32(s00, _mm256_madd_epi16(a0, w0));
        s01 = _mm256_add_epi32(s01, _mm256_madd_epi16(a0, w1));
        s10 = _mm256_add_epi32(s10, _mm256_madd_epi16(a1, w0));
        s11 = _mm256_add_epi32(s11, _mm256_madd_epi16(a1, w1));
      }
      __m256i *end = (__m256i *)(void *)(out + i * dim + j);
      _mm256_storeu_si256(end, s00), _mm256_storeu_si256(end + 1, s01);
      _mm256_storeu_si256(end + dim / 8, s10), _mm256_storeu_si256(end + dim / 8 + 1, s11);
    }
  }
  if (rows % 2) {
    int i = (rows - 1) * dim;
    multiply_avx2_one_row(dim, a + i, weights, init ? init + i : NULL, out + i);
  }
}

AVX2_FMA static void real_multiply_fma(int dim, int rows, const float *a, const float *weights, const float *init,
                                       float *out) {
  if (dim == 4)
    real_multiply_body(4, rows, a, weights, init, out);
  else
    real_multiply_body(dim, rows, a, weights, init, out);
}

AVX2 static void pack_avx2(int dim, const int8_t *matrix, int16_t *weights) {
  if (dim == 16)
    pack_body(16, matrix, weights);
  else
    pack_body(dim, matrix, weights);
}

/* An intrinsic version, because the compiler makes branches of the body. MINPS returns its second operand for a NaN,
 * as the body does. The conversion rounds to nearest even in the current (default) mode. */
AVX2 static void scale_avx2(int dim, const int32_t *in, int32_t floor, float factor, int8_t *out) {
  if (dim % 8) {
    scale_body(dim, in, floor, factor, out);
    return;
  }
  __m256i least = _mm256_set1_epi32(floor);
  __m256 by = _mm256_set1_ps(factor), low = _mm256_set1_ps(-128), high = _mm256_set1_ps(127);
  for (int i = 0; i < dim; i += 8) {
    __m256i x = _mm256_max_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(in + i)), least);
    __m256 y = _mm256_max_ps(_mm256_min_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(x), by), high), low);
    __m256i integers = _mm256_cvtps_epi32(y);
    __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
    _mm_storel_epi64((__m128i *)(void *)(out + i), _mm_packs_epi16(halves, halves));
  }
}

/* ---- x86 with AVX-512 and VNNI: a tile of weights of a 16 x 16 array fills four registers ---- */

/* The four-fold multiply-add has one unsigned operand. That is A, increased by 128. The increase adds 128 times the
 * sum of the weights to each column, which is subtracted again. Weights: [k / 4][column][k % 4], then for each
 * column the negated correction as int32. */
enum { QUADS = 4, TILE_BYTES = 256 };

AVX512 static void pack_avx512_16(int dim, const int8_t *matrix, int16_t *weights) {
  (void)dim;
  __m512i added = _mm512_setzero_si512();
  for (int k = 0; k < QUADS; k++) {
    const __m128i *row = (const __m128i *)(const void *)matrix + QUADS * k;
    const __m128i r0 = _mm_loadu_si128(row), r1 = _mm_loadu_si128(row + 1);
    const __m128i r2 = _mm_loadu_si128(row + 2), r3 = _mm_loadu_si128(row + 3);
    const __m128i low01 = _mm_unpacklo_epi8(r0, r1), low23 = _mm_unpacklo_epi8(r2, r3);
    const __m128i high01 = _mm_unpackhi_epi8(r0, r1), high23 = _mm_unpackhi_epi8(r2, r3);
    __m512i w = _mm512_castsi128_si512(_mm_unpacklo_epi16(low01, low23));
    w = _mm512_inserti32x4(w, _mm_unpackhi_epi16(low01, low23), 1);
    w = _mm512_inserti32x4(w, _mm_unpacklo_epi16(high01, high23), 2);
    w = _mm512_inserti32x4(w, _mm_unpackhi_epi16(high01, high23), 3);
    _mm512_storeu_si512((int8_t *)weights + 64 * k, w);
    added = _mm512_dpbusd_epi32(added, _mm512_set1_epi8(-128), w); /* 128 without sign */
  }
  _mm512_storeu_si512((int8_t *)weights + TILE_BYTES, _mm512_sub_epi32(_mm512_setzero_si512(), added));
}

AVX512 static void multiply_avx512_16(int dim, int rows, const int8_t *a, const int16_t *weights, const int32_t *init,
                                      int32_t *out) {
  (void)dim;
  int32_t moved[TILE_BYTES / 4] __attribute__((aligned(64)));
  for (int i = 0; i < rows; i++)
    _mm_store_si128((__m128i *)(void *)(moved + QUADS * i),
                    _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(a + 16 * i)), _mm_set1_epi8(-128)));
  __m512i w[QUADS];
  for (int k = 0; k < QUADS; k++) w[k] = _mm512_loadu_si512((const int8_t *)weights + 64 * k);
  const __m512i taken_off = _mm512_loadu_si512((const int8_t *)weights + TILE_BYTES);
  for (int i = 0; i < rows; i++) {
    const int32_t *quad = moved + QUADS * i;
    __m512i even = init ? _mm512_add_epi32(taken_off, _mm512_loadu_si512(init + 16 * i)) : taken_off;
    __m512i odd = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(quad[1]), w[1]);
    even = _mm512_dpbusd_epi32(even, _mm512_set1_epi32(quad[0]), w[0]);
    odd = _mm512_dpbusd_epi32(odd, _mm512_set1_epi32(quad[3]), w[3]);
    even = _mm512_dpbusd_epi32(even, _mm512_set1_epi32(quad[2]), w[2]);
    _mm512_storeu_si512(out + 16 * i, _mm512_add_epi32(even, odd));
  }
}

static const gm_kernels avx2_kernels = {multiply_avx2, real_multiply_fma, pack_avx2, scale_avx2};
static const gm_kernels avx2_small_kernels = {multiply, real_multiply_fma, pack_avx2, scale_avx2};
static const gm_kernels avx512_kernels = {multiply_avx512_16, real_multiply_fma, pack_avx512_16, scale_avx2};
#endif

const gm_kernels *gm_choose_kernels(int dim, bool portable) {
#if defined(__x86_64__)
  if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    bool wide = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512vnni");
    if (dim == 16 && wide) return &avx512_kernels;
    return dim % 16 ? &avx2_small_kernels : &avx2_kernels;
  }
#else
  (void)dim, (void)portable;
#endif
  return &portable_kernels;
}
