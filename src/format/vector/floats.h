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

LANES vi bf16_code(vi bits) {
  vi upper = v_srl(bits, 16), odd = v_and(upper, v_set(1));
  vi rounded = v_srl(v_add(v_add(bits, v_set(0x7FFF)), odd), 16);
  vm is_nan = v_above(v_and(bits, v_set(F32_MAGNITUDE)), v_set(F32_INFINITY));
  return v_select(is_nan, v_or(upper, v_set(0x40)), rounded);
}

LANES void bf16_step(const format_job *job, const float *x, uint8_t *codes) {
  (void)job;
  for (size_t v = 0; v < 4; v += 2) {
    vi code[2] = {bf16_code(v_load(x + v * VW)), bf16_code(v_load(x + (v + 1) * VW))};
    v_store_u16(codes + v * 2 * VW, code);
  }
}

LANES void bf16_step_back(const format_job *job, const uint8_t *codes, float *x) {
  (void)job;
  for (size_t v = 0; v < 4; v++) v_store(x + v * VW, v_sll(v_load_u16(codes + v * 2 * VW), 16));
}

/* A limit that rounds to the special code stands for overflow; NaN, the largest of all bits, for e4m3 too. */
LANES vi fp8_code(small_float f, vf y, float limit, uint32_t nan) {
  vi code = small_code(f, y, limit), bits = v_bits(y);
  vm is_nan = v_above(v_and(bits, v_set(F32_MAGNITUDE)), v_set(F32_INFINITY));
  return v_select(is_nan, v_or_and(v_set(nan), v_srl(bits, 24), v_set(0x80)), code);
}

LANES void e4m3_step(const format_job *job, const float *x, uint8_t *codes) {
  float limit = job->overflow == TW_OVERFLOW_SATURATE ? 448 : 480;
  vi code[4];
  for (size_t v = 0; v < 4; v++) {
    f_ahead(x + v * VW);
    code[v] = fp8_code(vector_e4m3, f_load(x + v * VW), limit, 0x7F);
  }
  b_store(codes, b_of(code));
}

LANES void e5m2_step(const format_job *job, const float *x, uint8_t *codes) {
  float limit = job->overflow == TW_OVERFLOW_SATURATE ? 57344 : 65536;
  vi code[4];
  for (size_t v = 0; v < 4; v++) {
    f_ahead(x + v * VW);
    code[v] = fp8_code(vector_e5m2, f_load(x + v * VW), limit, 0x7E);
  }
  b_store(codes, b_of(code));
}

LANES void e4m3_step_back(const format_job *job, const uint8_t *codes, float *x) {
  (void)job;
  for (size_t v = 0; v < 4; v++) f_store(x + v * VW, e4m3_value(v_load_u8(codes + v * VW)));
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
