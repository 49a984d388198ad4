/* vector/ternary.h - the ternary packings. Layouts and special cases: ternary.c.
 *
 * Encoding: a block's trits (as 0, 1, 2) become bytes with the vocabulary, and plain loops pack the bytes; the
 * compiler makes vectors of those loops. Decoding: the other way round. */
#include "format/vector/minifloat.h"

/* n values (a multiple of 8) to bytes 0, 1, 2. trits has room for STEP bytes more than n. */
LANES void trits_of(const float *x, size_t n, float inverse, float threshold, uint8_t *trits) {
  if (inverse == 0) {
    memset(trits, 1, n);
    return;
  }
  size_t i = 0;
  for (; i + STEP <= n; i += STEP) {
    vi t[4];
    for (size_t v = 0; v < 4; v++) {
      f_ahead(x + i + v * VW);
      t[v] = v_trit(f_mul(f_load(x + i + v * VW), f_set(inverse)), f_set(threshold));
    }
    b_store(trits + i, b_of(t));
  }
  for (; i + VW <= n; i += VW) v_store_u8(trits + i, v_trit(f_mul(f_load(x + i), f_set(inverse)), f_set(threshold)));
}

/* n bytes (a multiple of VW), each a trit as -1, 0, 1 (or 2, 3 from codes that encoding never makes). */
LANES void values_of(const int8_t *trits, size_t n, float scale, float *x) {
  for (size_t i = 0; i < n; i += VW)
    f_store(x + i, f_mul(f_of_int(v_load_s8((const uint8_t *)trits + i)), f_set(scale)));
}

/* ---- i2_s and tq2_0: four trits of 2 bits ---- */

enum { I2_BLOCK = 128, I2_BYTES = 32, VECTOR_TQ_BLOCK = 256 };

LANES void pack_2bit(const uint8_t *t, bool first_is_high, uint8_t *codes) {
  int a = first_is_high ? 6 : 0, b = first_is_high ? 4 : 2, c = first_is_high ? 2 : 4, d = first_is_high ? 0 : 6;
  for (int p = 0; p < I2_BYTES; p++) codes[p] = (uint8_t)(t[p] << a | t[32 + p] << b | t[64 + p] << c | t[96 + p] << d);
}

LANES void unpack_2bit(const uint8_t *codes, bool first_is_high, int8_t *t) {
  int a = first_is_high ? 6 : 0, b = first_is_high ? 4 : 2, c = first_is_high ? 2 : 4, d = first_is_high ? 0 : 6;
  for (int p = 0; p < I2_BYTES; p++) {
    t[p] = (int8_t)((codes[p] >> a & 3) - 1);
    t[32 + p] = (int8_t)((codes[p] >> b & 3) - 1);
    t[64 + p] = (int8_t)((codes[p] >> c & 3) - 1);
    t[96 + p] = (int8_t)((codes[p] >> d & 3) - 1);
  }
}

static void vector_i2s_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[I2_BLOCK];
  (void)scales;
  for (size_t i = 0; i < n; i += I2_BLOCK, codes += I2_BYTES) {
    trits_of(x + i, I2_BLOCK, job->inverse, job->threshold, trits);
    pack_2bit(trits, true, codes);
  }
}

static void vector_i2s_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[I2_BLOCK];
  (void)scales;
  for (size_t i = 0; i < n; i += I2_BLOCK, codes += I2_BYTES) {
    unpack_2bit(codes, true, trits);
    values_of(trits, I2_BLOCK, job->scale, x + i);
  }
}

/* A block's scale behind its codes; the inverse. */
LANES float vector_tq_scale(const float *x, uint8_t *at) {
  float scale, inverse;
  vi most = v_and(v_load(x), v_set(F32_MAGNITUDE));
  for (size_t i = VW; i < VECTOR_TQ_BLOCK; i += VW) most = v_max(most, v_and(v_load(x + i), v_set(F32_MAGNITUDE)));
  format_scale_of(tw_float_of(v_max_of(most)), 1, &scale, &inverse);
  uint8_t halves[2 * VW];
  f_store_f16(halves, f_set(scale));
  memcpy(at, halves, 2);
  return inverse;
}

LANES float f16_at(const uint8_t *p) {
  uint8_t halves[2 * VW] = {0};
  float values[VW];
  memcpy(halves, p, 2);
  f_store(values, f_load_f16(halves));
  return values[0];
}

static void vector_tq2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[VECTOR_TQ_BLOCK];
  (void)scales;
  for (size_t i = 0; i < n; i += VECTOR_TQ_BLOCK, codes += 66) {
    trits_of(x + i, VECTOR_TQ_BLOCK, vector_tq_scale(x + i, codes + 64), job->threshold, trits);
    pack_2bit(trits, false, codes);
    pack_2bit(trits + I2_BLOCK, false, codes + I2_BYTES);
  }
}

static void vector_tq2_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[VECTOR_TQ_BLOCK];
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i += VECTOR_TQ_BLOCK, codes += 66) {
    unpack_2bit(codes, false, trits);
    unpack_2bit(codes + I2_BYTES, false, trits + I2_BLOCK);
    values_of(trits, VECTOR_TQ_BLOCK, f16_at(codes + 64), x + i);
  }
}

/* ---- tq1_0: five trits as digits of base 3 ---- */

/* ceil(number * 256 / 243) for numbers to 242 without a division: 256/243 is 1 + 13/243, and 13/243 a little more than
 * 3506/65536, so the upper half of a product is ceil(number * 13/243) - 1. A test compares all numbers. */
LANES uint8_t tq1_scaled(uint16_t number) {
  return (uint8_t)(number + (uint16_t)((uint32_t)number * 3506 >> 16) + (number > 0));
}

/* `count` bytes of five digits (four if `digits` is 4), digit j of byte p at t[p + j * count]. */
LANES void pack_base3(const uint8_t *t, int count, int digits, uint8_t *codes) {
  for (int p = 0; p < count; p++) {
    uint8_t number = t[p];
    for (int j = 1; j < 5; j++) number = (uint8_t)(number + number + number + (j < digits ? t[p + j * count] : 0));
    codes[p] = tq1_scaled(number);
  }
}

/* A trit is rest * 3 >> 8, which passes 1 at 86 and 2 at 171. */
LANES void unpack_base3(const uint8_t *codes, int count, int digits, int8_t *t) {
  uint8_t rest[32];
  for (int p = 0; p < count; p++) rest[p] = codes[p];
  for (int j = 0; j < digits; j++) {
    for (int p = 0; p < count; p++) {
      t[p + j * count] = (int8_t)((rest[p] > 85) + (rest[p] > 170) - 1);
      rest[p] = (uint8_t)(rest[p] + rest[p] + rest[p]);
    }
  }
}

static void vector_tq1_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[VECTOR_TQ_BLOCK];
  (void)scales;
  for (size_t i = 0; i < n; i += VECTOR_TQ_BLOCK, codes += 54) {
    trits_of(x + i, VECTOR_TQ_BLOCK, vector_tq_scale(x + i, codes + 52), job->threshold, trits);
    pack_base3(trits, 32, 5, codes);
    pack_base3(trits + 160, 16, 5, codes + 32);
    pack_base3(trits + 240, 4, 4, codes + 48);
  }
}

static void vector_tq1_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[VECTOR_TQ_BLOCK];
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i += VECTOR_TQ_BLOCK, codes += 54) {
    unpack_base3(codes, 32, 5, trits);
    unpack_base3(codes + 32, 16, 5, trits + 160);
    unpack_base3(codes + 48, 4, 4, trits + 240);
    values_of(trits, VECTOR_TQ_BLOCK, f16_at(codes + 52), x + i);
  }
}

/* ---- tl1 and tl2: indices of two and three trits, in vectors of 16 bytes ---- */

LANES __m128i bytes_at(const void *p) { return _mm_loadu_si128(p); }

LANES void pack_tl1(const uint8_t *t, uint8_t *codes) { /* 64 trits; 3 (t0 - 1) + (t1 - 1) + 4 = 3 t0 + t1 */
  __m128i quad[4];
  for (size_t i = 0; i < 4; i++) {
    __m128i index = _mm_maddubs_epi16(bytes_at(t + 16 * i), _mm_set1_epi16(0x0103));
    quad[i] = _mm_madd_epi16(index, _mm_set1_epi32(0x00010010));
  }
  __m128i low = _mm_packs_epi32(quad[0], quad[1]), high = _mm_packs_epi32(quad[2], quad[3]);
  _mm_storeu_si128((__m128i *)codes, _mm_packus_epi16(low, high));
}

LANES void unpack_tl1(const uint8_t *codes, int8_t *t) {                                  /* 64 trits */
  const __m128i first = _mm_setr_epi8(-1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4); /* index / 3 - 1 */
  const __m128i second = _mm_setr_epi8(-1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1);
  __m128i code = bytes_at(codes), nibble = _mm_set1_epi8(15);
  __m128i high = _mm_and_si128(_mm_srli_epi16(code, 4), nibble), low = _mm_and_si128(code, nibble);
  __m128i t0 = _mm_shuffle_epi8(first, high), t1 = _mm_shuffle_epi8(second, high);
  __m128i t2 = _mm_shuffle_epi8(first, low), t3 = _mm_shuffle_epi8(second, low);
  __m128i a = _mm_unpacklo_epi8(t0, t1), b = _mm_unpacklo_epi8(t2, t3);
  __m128i c = _mm_unpackhi_epi8(t0, t1), d = _mm_unpackhi_epi8(t2, t3);
  _mm_storeu_si128((__m128i *)t, _mm_unpacklo_epi16(a, b));
  _mm_storeu_si128((__m128i *)(t + 16), _mm_unpackhi_epi16(a, b));
  _mm_storeu_si128((__m128i *)(t + 32), _mm_unpacklo_epi16(c, d));
  _mm_storeu_si128((__m128i *)(t + 48), _mm_unpackhi_epi16(c, d));
}

enum { TL1_BATCH = 64 };

static void vector_tl1_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[TL1_BATCH];
  size_t i = 0;
  (void)scales;
  for (; i + TL1_BATCH <= n; i += TL1_BATCH) {
    trits_of(x + i, TL1_BATCH, job->inverse, job->threshold, trits);
    pack_tl1(trits, codes + i / 4);
  }
  if (i == n) return;
  float padded[TL1_BATCH] = {0};
  uint8_t rest[TL1_BATCH / 4];
  memcpy(padded, x + i, (n - i) * sizeof *x);
  trits_of(padded, TL1_BATCH, job->inverse, job->threshold, trits);
  pack_tl1(trits, rest);
  memcpy(codes + i / 4, rest, (n - i) / 4);
}

static void vector_tl1_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[TL1_BATCH];
  size_t i = 0;
  (void)scales;
  for (; i + TL1_BATCH <= n; i += TL1_BATCH) {
    unpack_tl1(codes + i / 4, trits);
    values_of(trits, TL1_BATCH, job->scale, x + i);
  }
  if (i == n) return;
  uint8_t rest[TL1_BATCH / 4] = {0};
  memcpy(rest, codes + i / 4, (n - i) / 4);
  unpack_tl1(rest, trits);
  for (size_t k = 0; k < n - i; k++) x[i + k] = (float)trits[k] * job->scale;
}

/* Byte 3 j + k of 48 becomes byte j of vector k, and back: indices for byte shuffles, -1 for bytes of other vectors. */
static const int8_t deal_3[3][3][16] = {{{0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                         {-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1},
                                         {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13}},
                                        {{1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                         {-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1},
                                         {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14}},
                                        {{2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                         {-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1},
                                         {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15}}};
static const int8_t join_3[3][3][16] = {{{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
                                         {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
                                         {-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1}},
                                        {{-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
                                         {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
                                         {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1}},
                                        {{-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1},
                                         {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1},
                                         {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}}};

LANES __m128i shuffled_3(const __m128i v[3], const int8_t index[3][16]) {
  __m128i a = _mm_shuffle_epi8(v[0], bytes_at(index[0])), b = _mm_shuffle_epi8(v[1], bytes_at(index[1]));
  return _mm_or_si128(_mm_or_si128(a, b), _mm_shuffle_epi8(v[2], bytes_at(index[2])));
}

/* 48 trits: sums of 16 triples. */
LANES __m128i tl2_sums(const uint8_t *t) {
  __m128i v[3] = {bytes_at(t), bytes_at(t + 16), bytes_at(t + 32)};
  __m128i t0 = shuffled_3(v, deal_3[0]), t1 = shuffled_3(v, deal_3[1]), t2 = shuffled_3(v, deal_3[2]);
  __m128i upper = _mm_add_epi8(_mm_add_epi8(t0, t0), _mm_add_epi8(t0, t1)); /* 3 t0 + t1 */
  __m128i sum = _mm_add_epi8(_mm_add_epi8(upper, upper), _mm_add_epi8(upper, t2));
  return _mm_sub_epi8(sum, _mm_set1_epi8(13));
}

LANES void pack_tl2(const uint8_t *t, uint8_t *codes) { /* 96 trits */
  __m128i first = tl2_sums(t), second = tl2_sums(t + 48);
  uint32_t signs = (uint32_t)_mm_movemask_epi8(first) | (uint32_t)_mm_movemask_epi8(second) << 16;
  __m128i high = _mm_slli_epi16(_mm_abs_epi8(first), 4); /* below 16: no bit leaves its byte */
  _mm_storeu_si128((__m128i *)codes, _mm_or_si128(high, _mm_abs_epi8(second)));
  memcpy(codes + 16, &signs, 4);
}

enum { TL2_BLOCK = 96, TL2_BYTES = 20 };

/* Two blocks at a time: whole steps of trits_of. */
static void vector_tl2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[2 * TL2_BLOCK];
  size_t i = 0;
  (void)scales;
  for (; i + 2 * TL2_BLOCK <= n; i += 2 * TL2_BLOCK, codes += 2 * TL2_BYTES) {
    trits_of(x + i, 2 * TL2_BLOCK, job->inverse, job->threshold, trits);
    pack_tl2(trits, codes);
    pack_tl2(trits + TL2_BLOCK, codes + TL2_BYTES);
  }
  if (i == n) return;
  trits_of(x + i, TL2_BLOCK, job->inverse, job->threshold, trits);
  pack_tl2(trits, codes);
}

/* 48 trits of 16 indices and their signs. */
LANES void tl2_trits(__m128i index, uint32_t signs, int8_t *t) {
  /* digits of index + 13, less 1 */
  const __m128i first = _mm_setr_epi8(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2);
  const __m128i second = _mm_setr_epi8(0, 0, 1, 1, 1, -1, -1, -1, 0, 0, 0, 1, 1, 1, -1, -1);
  const __m128i third = _mm_setr_epi8(0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0);
  const __m128i bit = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  __m128i both = _mm_unpacklo_epi64(_mm_set1_epi8((char)signs), _mm_set1_epi8((char)(signs >> 8)));
  __m128i minus = _mm_or_si128(_mm_cmpeq_epi8(_mm_and_si128(both, bit), bit), _mm_set1_epi8(1)); /* -1 or 1 */
  __m128i v[3] = {_mm_sign_epi8(_mm_shuffle_epi8(first, index), minus),
                  _mm_sign_epi8(_mm_shuffle_epi8(second, index), minus),
                  _mm_sign_epi8(_mm_shuffle_epi8(third, index), minus)};
  for (size_t o = 0; o < 3; o++) _mm_storeu_si128((__m128i *)(t + 16 * o), shuffled_3(v, join_3[o]));
}

static void vector_tl2_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[96];
  (void)scales;
  for (size_t i = 0; i < n; i += 96, codes += 20) {
    uint32_t signs;
    memcpy(&signs, codes + 16, 4);
    __m128i code = bytes_at(codes), nibble = _mm_set1_epi8(15);
    tl2_trits(_mm_and_si128(_mm_srli_epi16(code, 4), nibble), signs, trits);
    tl2_trits(_mm_and_si128(code, nibble), signs >> 16, trits + 48);
    values_of(trits, 96, job->scale, x + i);
  }
}
