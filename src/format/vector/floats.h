/* vector/floats.h - f16, bf16, e4m3 and e5m2. Special cases: float16.c and fp8.c. */
#include "format/vector/minifloat.h"

LANES void f16_step(const format_job *job, const float *x, uint8_t *codes) {
  (void)job;
  for (size_t v = 0; v < 4; v++) f_store_f16(codes + v * 2 * VW, f_load(x + v * VW));
}

LANES void f16_step_back(const format_job *job, const uint8_t *codes, float *x) {
  (void)job;
  for (size_t v = 0; v < 4; v++) f_store(x + v * VW, f_load_f16(codes + v * 2 * VW));
}

/* Is one of 4 VW values NaN? This is rare, so the reference then converts all of them. */
LANES bool has_nan(const float *x) {
  vi largest = v_set(0);
  for (size_t v = 0; v < 4; v++) largest = v_max(largest, v_and(v_load(x + v * VW), v_set(F32_MAGNITUDE)));
  return m_bits(v_above(largest, v_set(F32_INFINITY)));
}

LANES vi bf16_code(vi bits) { /* of no NaN */
  vi odd = v_and(v_srl(bits, 16), v_set(1));
  return v_srl(v_add(v_add(bits, v_set(0x7FFF)), odd), 16);
}

LANES void bf16_step(const format_job *job, const float *x, uint8_t *codes) {
  if (has_nan(x)) {
    bf16_encode(job, x, STEP, codes, NULL);
    return;
  }
  for (size_t v = 0; v < 4; v += 2) {
    vi code[2] = {bf16_code(v_load(x + v * VW)), bf16_code(v_load(x + (v + 1) * VW))};
    v_store_u16(codes + v * 2 * VW, code);
  }
}

LANES void bf16_step_back(const format_job *job, const uint8_t *codes, float *x) {
  (void)job;
  for (size_t v = 0; v < 4; v++) v_store(x + v * VW, v_sll(v_load_u16(codes + v * 2 * VW), 16));
}

/* Codes above `most` become `most`. */
LANES void fp8_step(small_float f, int most, format_encoder *reference, const format_job *job, const float *x,
                    uint8_t *codes) {
  const vi least = small_least(f), smallest = v_sll(least, 23), base = small_base(f, least);
  for (size_t at = 0; at < STEP; at += 16) f_ahead(x + at);
  if (has_nan(x))
    reference(job, x, STEP, codes, NULL);
  else
    b_store(codes, small_codes(f, x, (vi[]){smallest, smallest}, (vi[]){base, base}, most));
}

LANES void e4m3_step(const format_job *job, const float *x, uint8_t *codes) {
  fp8_step(vector_e4m3, job->overflow == TW_OVERFLOW_SATURATE ? 0x7E : 0x7F, e4m3_encode, job, x, codes);
}

LANES void e5m2_step(const format_job *job, const float *x, uint8_t *codes) {
  fp8_step(vector_e5m2, job->overflow == TW_OVERFLOW_SATURATE ? 0x7B : 0x7C, e5m2_encode, job, x, codes);
}

LANES void e4m3_step_back(const format_job *job, const uint8_t *codes, float *x) {
  for (size_t i = 0; i < STEP; i += 32) {
    if (e4m3_has_nan(codes + i)) {
      e4m3_decode(job, codes + i, NULL, 32, x + i);
      continue;
    }
    for (size_t w = i; w < i + 32; w += WORDS) small_values(vector_e4m3, w_load_8bit(codes, w), f_set(256), x + w);
  }
}

LANES void e5m2_step_back(const format_job *job, const uint8_t *codes, float *x) {
  (void)job;
  for (size_t v = 0; v < 4; v++) f_store(x + v * VW, f_load_e5m2(codes + v * VW));
}

#define PLAIN_FORMAT(name)                                                                                             \
  static void vector_##name##_encode(const format_job *job, const float *x, size_t n, uint8_t *codes,                  \
                                     uint8_t *scales) {                                                                \
    (void)scales;                                                                                                      \
    encode_steps(name##_step, job, x, n, codes);                                                                       \
  }                                                                                                                    \
  static void vector_##name##_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n,     \
                                     float *x) {                                                                       \
    (void)scales;                                                                                                      \
    decode_steps(name##_step_back, job, codes, n, x);                                                                  \
  }

PLAIN_FORMAT(f16)
PLAIN_FORMAT(bf16)
PLAIN_FORMAT(e4m3)
PLAIN_FORMAT(e5m2)
