/* vector/ternary.h - the ternary packings. Layouts and special cases: ternary.c.
 *
 * Encoding: a block's trits become signed bytes by the operations of lanes_*.h. Then mostly 256-bit vectors, for every
 * x86-64 CPU with AVX2, pack them: packings are sums of trits times weights, plus a constant that maps -1, 0, 1 to 0,
 * 1, 2. Decoding is the inverse. */
#include "format/vector/minifloat.h"

LANES __m128i bytes_at(const void *p) { return _mm_loadu_si128(p); }
LANES __m256i bytes32_at(const void *p) { return _mm256_loadu_si256(p); }

/* Computes trits from values. */
typedef struct trit_rule {
  float inverse, threshold; /* an inverse of 0 gives only zeros */
  bool half_up; /* a half becomes 1, and |x * inverse| is at most 1 except for rounding, so one conversion suffices */
} trit_rule;

LANES trit_rule trit_rule_of(const format_job *job, float inverse, bool bounded) {
  const float largest = 0x1p126f; /* twice this is finite */
  return (trit_rule){inverse, job->threshold, bounded && job->threshold == 0.5f && inverse > 0 && inverse < largest};
}

/* From 4 vectors, `apart` values from one to the next: bytes from -2 to 2 in packed order, whose signs are the
 * trits. */
LANES vb trit_signs(const float *x, size_t apart, const trit_rule *rule) {
  vi t[4];
  if (rule->half_up) { /* a doubled quotient without its fraction */
    vf twice = f_set(2 * rule->inverse);
    for (size_t v = 0; v < 4; v++) t[v] = v_truncated(f_mul(f_load(x + v * apart), twice));
  } else {
    vf factor = f_set(rule->inverse), limit = f_set(rule->threshold);
    for (size_t v = 0; v < 4; v++) t[v] = v_trit(f_mul(f_load(x + v * apart), factor), limit);
  }
  return narrowed(t);
}

/* STEP trits in order. */
LANES vb trit_step(const float *x, const trit_rule *rule) {
  for (size_t at = 0; at < STEP; at += LINE_VALUES) f_ahead(x + at);
  return b_in_order(b_by_sign(trit_signs(x, VW, rule), 1));
}

/* n values, a multiple of 32. */
LANES void trits_of(const float *x, size_t n, const trit_rule *rule, int8_t *trits) {
  size_t i = 0;
  for (; i + STEP <= n; i += STEP) b_store((uint8_t *)trits + i, trit_step(x + i, rule));
  for (; i < n; i += VW) {
    vf y = f_mul(f_load(x + i), f_set(rule->inverse));
    v_store_u8((uint8_t *)trits + i, v_trit(y, f_set(rule->threshold)));
  }
}

/* For codes of less than a line per step. Without the prefetch, a store waits for its line, and later cached data
 * wait for the store. */
LANES void codes_ahead(const uint8_t *codes) { __builtin_prefetch((const void *)((uintptr_t)codes + 1024)); }

/* n bytes (a multiple of VW), each a trit as -1, 0, 1 (or 2, 3 from codes that encoding never makes). */
LANES void values_of(const int8_t *trits, size_t n, float scale, float *x) {
  for (size_t i = 0; i < n; i += VW)
    f_store(x + i, f_mul(f_of_int(v_load_s8((const uint8_t *)trits + i)), f_set(scale)));
}

/* ---- i2_s and tq2_0: four trits of 2 bits ---- */

enum { I2_BLOCK = 128, I2_BYTES = 32, VECTOR_TQ_BLOCK = 256 };

LANES __m256i bytes32_times_3(__m256i a) { return _mm256_add_epi8(_mm256_add_epi8(a, a), a); }
LANES __m256i bytes32_times_4(__m256i a) { return _mm256_add_epi8(_mm256_add_epi8(a, a), _mm256_add_epi8(a, a)); }

LANES void pack_2bit(const int8_t *t, bool first_is_high, uint8_t *codes) { /* 128 trits */
  __m256i code = bytes32_at(first_is_high ? t : t + 96);
  for (size_t j = 1; j < 4; j++)
    code = _mm256_add_epi8(bytes32_times_4(code), bytes32_at(t + 32 * (first_is_high ? j : 3 - j)));
  _mm256_storeu_si256((__m256i *)codes, _mm256_add_epi8(code, _mm256_set1_epi8(0x55)));
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
  const trit_rule rule = trit_rule_of(job, job->inverse, job->bounded);
  int8_t trits[I2_BLOCK];
  (void)scales;
  for (size_t i = 0; i < n; i += I2_BLOCK, codes += I2_BYTES) {
    trits_of(x + i, I2_BLOCK, &rule, trits);
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

/* Stores a block's scale after its codes. Returns the inverse. */
LANES float vector_tq_scale(const float *x, uint8_t *at) {
  float scale, inverse;
  vi most[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
  for (size_t i = 0; i < VECTOR_TQ_BLOCK; i += STEP) {
    for (size_t v = 0; v < 4; v++) most[v] = v_max(most[v], v_and(v_load(x + i + v * VW), v_set(F32_MAGNITUDE)));
  }
  vi largest = v_max(v_max(most[0], most[1]), v_max(most[2], most[3]));
  format_scale_of(tw_float_of(v_max_of(largest)), 1, &scale, &inverse);
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

/* Blocks of `bytes` that end with their scale: the scale of a block is computed while the previous block is packed. */
typedef void tq_packer(const int8_t trits[VECTOR_TQ_BLOCK], uint8_t *codes);
LANES void tq_encode(tq_packer *pack, size_t bytes, const format_job *job, const float *x, size_t n, uint8_t *codes) {
  const size_t blocks = n / VECTOR_TQ_BLOCK;
  float next = blocks ? vector_tq_scale(x, codes + bytes - 2) : 0;
  for (size_t b = 0; b < blocks; b++, x += VECTOR_TQ_BLOCK, codes += bytes) {
    int8_t trits[VECTOR_TQ_BLOCK];
    const trit_rule rule = trit_rule_of(job, next, true);
    if (b + 1 < blocks) next = vector_tq_scale(x + VECTOR_TQ_BLOCK, codes + 2 * bytes - 2);
    codes_ahead(codes);
    trits_of(x, VECTOR_TQ_BLOCK, &rule, trits);
    pack(trits, codes);
  }
}

LANES void pack_tq2(const int8_t trits[VECTOR_TQ_BLOCK], uint8_t *codes) {
  pack_2bit(trits, false, codes);
  pack_2bit(trits + I2_BLOCK, false, codes + I2_BYTES);
}

static void vector_tq2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  tq_encode(pack_tq2, 66, job, x, n, codes);
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
LANES __m256i tq1_scaled(__m256i number) {
  const __m256i zero = _mm256_setzero_si256(), factor = _mm256_set1_epi16(3506);
  __m256i low = _mm256_mulhi_epu16(_mm256_unpacklo_epi8(number, zero), factor);
  __m256i high = _mm256_mulhi_epu16(_mm256_unpackhi_epi8(number, zero), factor);
  __m256i above_0 = _mm256_min_epu8(number, _mm256_set1_epi8(1));
  return _mm256_add_epi8(_mm256_add_epi8(number, above_0), _mm256_packus_epi16(low, high));
}

/* Bytes 0 to 31 have digits at p + 32 j; 32 to 47 at 160 + p + 16 j; 48 to 51 at 240 + p + 4 j, and a fifth digit 0. */
LANES void pack_tq1(const int8_t t[VECTOR_TQ_BLOCK], uint8_t *codes) {
  __m256i first = bytes32_at(t), rest = _mm256_castsi128_si256(bytes_at(t + 160));
  uint32_t last;
  memcpy(&last, t + 240, 4);
  rest = _mm256_inserti128_si256(rest, _mm_cvtsi32_si128((int)last), 1);
  for (size_t j = 1; j < 5; j++) {
    uint32_t digits = UINT32_MAX; /* -1 becomes 0 */
    if (j < 4) memcpy(&digits, t + 240 + 4 * j, 4);
    __m256i more = _mm256_castsi128_si256(bytes_at(t + 160 + 16 * j));
    more = _mm256_inserti128_si256(more, _mm_cvtsi32_si128((int)digits), 1);
    first = _mm256_add_epi8(bytes32_times_3(first), bytes32_at(t + 32 * j));
    rest = _mm256_add_epi8(bytes32_times_3(rest), more);
  }
  const __m256i ones = _mm256_set1_epi8(121); /* five digits 1 */
  _mm256_storeu_si256((__m256i *)codes, tq1_scaled(_mm256_add_epi8(first, ones)));
  rest = tq1_scaled(_mm256_add_epi8(rest, ones));
  _mm_storeu_si128((__m128i *)(codes + 32), _mm256_castsi256_si128(rest));
  last = (uint32_t)_mm_cvtsi128_si32(_mm256_extracti128_si256(rest, 1));
  memcpy(codes + 48, &last, 4);
}

/* A trit is rest * 3 >> 8, which passes 1 at 86 and 2 at 171: as -1, 0, 1. */
LANES __m256i tq1_digit(__m256i rest) {
  __m256i above_85 = _mm256_cmpeq_epi8(_mm256_max_epu8(rest, _mm256_set1_epi8(86)), rest); /* -1 where true */
  __m256i below_171 = _mm256_cmpeq_epi8(_mm256_min_epu8(rest, _mm256_set1_epi8((char)170)), rest);
  return _mm256_sub_epi8(below_171, above_85);
}

LANES void unpack_tq1(const uint8_t *codes, int8_t *t) {
  uint32_t last;
  memcpy(&last, codes + 48, 4);
  __m256i first = bytes32_at(codes), rest = _mm256_castsi128_si256(bytes_at(codes + 32));
  rest = _mm256_inserti128_si256(rest, _mm_cvtsi32_si128((int)last), 1);
  for (size_t j = 0; j < 5; j++, first = bytes32_times_3(first), rest = bytes32_times_3(rest)) {
    __m256i digit = tq1_digit(rest);
    _mm256_storeu_si256((__m256i *)(t + 32 * j), tq1_digit(first));
    _mm_storeu_si128((__m128i *)(t + 160 + 16 * j), _mm256_castsi256_si128(digit));
    last = (uint32_t)_mm_cvtsi128_si32(_mm256_extracti128_si256(digit, 1));
    if (j < 4) memcpy(t + 240 + 4 * j, &last, 4);
  }
}

static void vector_tq1_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  tq_encode(pack_tq1, 54, job, x, n, codes);
}

static void vector_tq1_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[VECTOR_TQ_BLOCK];
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i += VECTOR_TQ_BLOCK, codes += 54) {
    unpack_tq1(codes, trits);
    values_of(trits, VECTOR_TQ_BLOCK, f16_at(codes + 52), x + i);
  }
}

/* ---- tl1 and tl2: indices of two and three trits, in vectors of 16 bytes ---- */

enum { TL1_STEP = 4 * STEP };

/* TL1_STEP values to STEP bytes. */
LANES void pack_tl1(const float *x, const trit_rule *rule, uint8_t *codes) {
  vi fours[4]; /* 16 (3 t0 + t1) + 3 t2 + t3 */
  for (size_t s = 0; s < 4; s++) {
    vi pairs = b_dot(b_set16(0x0103), trit_step(x + s * STEP, rule));
    fours[s] = w_dot(pairs, v_set(0x00010010));
  }
  b_store(codes, b_add(bytes_of(fours), b_set(0x44)));
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
  const trit_rule rule = trit_rule_of(job, job->inverse, job->bounded);
  size_t i = 0;
  (void)scales;
  for (; i + TL1_STEP <= n; i += TL1_STEP) pack_tl1(x + i, &rule, codes + i / 4);
  if (i == n) return;
  float padded[TL1_STEP] = {0};
  uint8_t rest[TL1_STEP / 4];
  memcpy(padded, x + i, (n - i) * sizeof *x);
  pack_tl1(padded, &rule, rest);
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

enum { TL2_BLOCK = 96, TL2_BYTES = 20, TL2_STEP = 12 * VW, TL2_STEP_BYTES = TL2_STEP / TL2_BLOCK * TL2_BYTES };

/* A block's code from its 32 sums 9 t0 + 3 t1 + t2. */
LANES void store_tl2(__m256i sums, uint8_t *codes) {
  uint32_t signs = (uint32_t)_mm256_movemask_epi8(sums);
  __m256i index = _mm256_abs_epi8(sums);
  __m128i high = _mm_slli_epi16(_mm256_castsi256_si128(index), 4); /* below 16: no bit leaves its byte */
  _mm_storeu_si128((__m128i *)codes, _mm_or_si128(high, _mm256_extracti128_si256(index, 1)));
  memcpy(codes + 16, &signs, 4);
}

/* Packs 12 vectors. Takes every third value, to separate first, second and third digits. */
LANES void pack_tl2(const float *x, const trit_rule *rule, uint8_t *codes) {
  vb signs[3], digit[3];
  for (size_t k = 0; k < 3; k++) {
    for (size_t at = 0; at < STEP; at += LINE_VALUES) f_ahead(x + k * STEP + at);
    signs[k] = trit_signs(x + k * VW, 3 * VW, rule);
  }
  b_thirds(signs, digit);
  vb sums = b_add(b_add(b_by_sign(digit[0], 9), b_by_sign(digit[1], 3)), b_by_sign(digit[2], 1));
  uint8_t bytes[STEP];
  b_store(bytes, b_of_thirds(sums));
  for (size_t b = 0; b < TL2_STEP / TL2_BLOCK; b++) store_tl2(bytes32_at(bytes + 32 * b), codes + b * TL2_BYTES);
}

static void vector_tl2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  const trit_rule rule = trit_rule_of(job, job->inverse, job->bounded);
  (void)scales;
  for (; n >= TL2_STEP; x += TL2_STEP, n -= TL2_STEP, codes += TL2_STEP_BYTES) {
    codes_ahead(codes);
    pack_tl2(x, &rule, codes);
  }
  if (n == 0) return; /* one block of two is left */
  float padded[TL2_STEP];
  uint8_t rest[TL2_STEP_BYTES];
  for (size_t i = 0; i < TL2_BLOCK; i += VW) f_store(padded + i, f_load(x + i));
  for (size_t i = TL2_BLOCK; i < TL2_STEP; i += VW) f_store(padded + i, f_set(0));
  pack_tl2(padded, &rule, rest);
  memcpy(codes, rest, TL2_BYTES);
}

LANES __m256i both_lanes(__m128i a) { return _mm256_broadcastsi128_si256(a); }

/* 96 trits: first of the 16 indices in the low lane with the low half of the signs, then of the 16 indices in the
 * high lane. */
LANES void unpack_tl2(__m256i index, uint32_t signs, int8_t *t) {
  /* digits of index + 13, less 1 */
  const __m256i first = both_lanes(_mm_setr_epi8(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2));
  const __m256i second = both_lanes(_mm_setr_epi8(0, 0, 1, 1, 1, -1, -1, -1, 0, 0, 0, 1, 1, 1, -1, -1));
  const __m256i third = both_lanes(_mm_setr_epi8(0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0, 1, -1, 0));
  const __m256i bit = both_lanes(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128));
  const __m256i spread =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  __m256i minus = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)signs), spread), bit);
  minus = _mm256_or_si256(_mm256_cmpeq_epi8(minus, bit), _mm256_set1_epi8(1)); /* -1 or 1 */
  __m256i t0 = _mm256_sign_epi8(_mm256_shuffle_epi8(first, index), minus);
  __m256i t1 = _mm256_sign_epi8(_mm256_shuffle_epi8(second, index), minus);
  __m256i t2 = _mm256_sign_epi8(_mm256_shuffle_epi8(third, index), minus);
  /* triples in units of 4 bytes, four to a lane */
  __m256i low = _mm256_unpacklo_epi8(t0, t1), low2 = _mm256_unpacklo_epi8(t2, t2);
  __m256i high = _mm256_unpackhi_epi8(t0, t1), high2 = _mm256_unpackhi_epi8(t2, t2);
  __m256i a = _mm256_unpacklo_epi16(low, low2), b = _mm256_unpackhi_epi16(low, low2);
  __m256i c = _mm256_unpacklo_epi16(high, high2), d = _mm256_unpackhi_epi16(high, high2);
  /* 12 bytes of each, contiguous */
  const __m128i a0 = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m128i b0 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 4);
  const __m128i b1 = _mm_setr_epi8(5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i c1 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6, 8, 9);
  const __m128i c2 = _mm_setr_epi8(10, 12, 13, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i d2 = _mm_setr_epi8(-1, -1, -1, -1, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14);
  __m256i out[3] = {_mm256_or_si256(_mm256_shuffle_epi8(a, both_lanes(a0)), _mm256_shuffle_epi8(b, both_lanes(b0))),
                    _mm256_or_si256(_mm256_shuffle_epi8(b, both_lanes(b1)), _mm256_shuffle_epi8(c, both_lanes(c1))),
                    _mm256_or_si256(_mm256_shuffle_epi8(c, both_lanes(c2)), _mm256_shuffle_epi8(d, both_lanes(d2)))};
  for (size_t o = 0; o < 3; o++) {
    _mm_storeu_si128((__m128i *)(t + 16 * o), _mm256_castsi256_si128(out[o]));
    _mm_storeu_si128((__m128i *)(t + 48 + 16 * o), _mm256_extracti128_si256(out[o], 1));
  }
}

static void vector_tl2_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t trits[96];
  (void)scales;
  for (size_t i = 0; i < n; i += 96, codes += 20) {
    uint32_t signs;
    memcpy(&signs, codes + 16, 4);
    __m128i code = bytes_at(codes);
    __m256i index = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_srli_epi16(code, 4)), code, 1);
    unpack_tl2(_mm256_and_si256(index, _mm256_set1_epi8(15)), signs, trits);
    values_of(trits, 96, job->scale, x + i);
  }
}
