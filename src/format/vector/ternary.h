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
    for (size_t v = 0; v < 4; v++) t[v] = v_trit(f_mul(f_load(x + i + v * VW), f_set(inverse)), f_set(threshold));
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
  format_scale_of(float_of(v_max_of(most)), 1, &scale, &inverse);
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

/* ceil(number * 256 / 243) for numbers to 242 without a division: 256/243 = 1 + 13/243, and 13/243 is a little less
 * than 3506/65536; a test compares all numbers with the reference. */
LANES uint8_t tq1_scaled(unsigned number) { return (uint8_t)(number + ((number * 3506u + 65535u) >> 16)); }

/* `count` bytes of five digits (four if `digits` is 4), digit j of byte p at t[p + j * count]. */
LANES void pack_base3(const uint8_t *t, int count, int digits, uint8_t *codes) {
  for (int p = 0; p < count; p++) {
    unsigned number = 0;
    for (int j = 0; j < 5; j++) number = number * 3 + (j < digits ? t[p + j * count] : 0);
    codes[p] = tq1_scaled(number);
  }
}

LANES void unpack_base3(const uint8_t *codes, int count, int digits, int8_t *t) {
  static const uint8_t power[5] = {1, 3, 9, 27, 81};
  for (int j = 0; j < digits; j++) {
    for (int p = 0; p < count; p++) {
      uint16_t rest = (uint16_t)((uint8_t)(codes[p] * power[j]) * 3);
      t[p + j * count] = (int8_t)((rest >> 8) - 1);
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

/* ---- tl1 and tl2: indices of two and three trits ---- */

enum { TL_BATCH = 128 }; /* of tl1: 32 bytes */

LANES void pack_tl1(const uint8_t *t, size_t bytes, uint8_t *codes) { /* 3 (t0 - 1) + (t1 - 1) + 4 = 3 t0 + t1 */
  for (size_t p = 0; p < bytes; p++)
    codes[p] = (uint8_t)((3 * t[4 * p] + t[4 * p + 1]) << 4 | (3 * t[4 * p + 2] + t[4 * p + 3]));
}

static void vector_tl1_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[TL_BATCH];
  size_t i = 0;
  (void)scales;
  for (; i + TL_BATCH <= n; i += TL_BATCH) {
    trits_of(x + i, TL_BATCH, job->inverse, job->threshold, trits);
    pack_tl1(trits, TL_BATCH / 4, codes + i / 4);
  }
  if (i == n) return;
  float padded[TL_BATCH] = {0};
  memcpy(padded, x + i, (n - i) * sizeof *x);
  trits_of(padded, TL_BATCH, job->inverse, job->threshold, trits);
  pack_tl1(trits, (n - i) / 4, codes + i / 4);
}

/* The values of a byte's four trits, from a table of 256 that costs less than the arithmetic. */
static void vector_tl1_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t pair[16][2], trits[TL_BATCH];
  (void)scales;
  for (int index = 0; index < 16; index++) {
    pair[index][0] = (int8_t)(index / 3 - 1);
    pair[index][1] = (int8_t)(index % 3 - 1);
  }
  for (size_t i = 0, length; i < n; i += length) {
    length = n - i < TL_BATCH ? n - i : TL_BATCH;
    for (size_t p = 0; p < length / 4; p++) {
      uint8_t code = codes[i / 4 + p];
      memcpy(trits + 4 * p, pair[code >> 4], 2);
      memcpy(trits + 4 * p + 2, pair[code & 15], 2);
    }
    size_t whole = length - length % VW;
    values_of(trits, whole, job->scale, x + i);
    for (size_t k = whole; k < length; k++) x[i + k] = (float)trits[k] * job->scale;
  }
}

static void vector_tl2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  uint8_t trits[96];
  int8_t sum[32];
  (void)scales;
  for (size_t i = 0; i < n; i += 96, codes += 20) {
    uint32_t signs = 0;
    trits_of(x + i, 96, job->inverse, job->threshold, trits);
    for (int t = 0; t < 32; t++) sum[t] = (int8_t)(9 * trits[3 * t] + 3 * trits[3 * t + 1] + trits[3 * t + 2] - 13);
    for (int t = 0; t < 32; t++) signs |= (uint32_t)(sum[t] < 0) << t;
    for (int p = 0; p < 16; p++) {
      int high = sum[p] < 0 ? -sum[p] : sum[p], low = sum[16 + p] < 0 ? -sum[16 + p] : sum[16 + p];
      codes[p] = (uint8_t)(high << 4 | low);
    }
    memcpy(codes + 16, &signs, 4);
  }
}

static void vector_tl2_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  int8_t triple[32][4], trits[96 + 4]; /* by sign and index; a fourth byte so that a triple is one store */
  (void)scales;
  for (int index = 0; index < 32; index++) {
    int sign = index & 16 ? -1 : 1, digits = (index & 15) + 13;
    triple[index][0] = (int8_t)(sign * (digits / 9 - 1));
    triple[index][1] = (int8_t)(sign * (digits / 3 % 3 - 1));
    triple[index][2] = (int8_t)(sign * (digits % 3 - 1));
    triple[index][3] = 0;
  }
  for (size_t i = 0; i < n; i += 96, codes += 20) {
    uint32_t signs;
    memcpy(&signs, codes + 16, 4);
    for (int t = 0; t < 32; t++) {
      unsigned index = t < 16 ? codes[t] >> 4 : codes[t - 16] & 15;
      memcpy(trits + 3 * t, triple[index | (signs >> t & 1) << 4], 4);
    }
    values_of(trits, 96, job->scale, x + i);
  }
}
