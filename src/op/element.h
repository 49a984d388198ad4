/* element.h - one element of an array of any plain type, as a double. */
#ifndef TW_OP_ELEMENT_H
#define TW_OP_ELEMENT_H

#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "tilewright/format.h"

/* Code i of an array of codes of 6 bits: four fill three bytes, the first in the lowest bits. */
static inline unsigned tw_code6(const void *data, int64_t i) {
  const uint8_t *at = (const uint8_t *)data + i / 4 * 3;
  return ((unsigned)at[0] | (unsigned)at[1] << 8 | (unsigned)at[2] << 16) >> i % 4 * 6 & 63;
}
static inline void tw_set_code6(void *data, int64_t i, unsigned code) {
  uint8_t *at = (uint8_t *)data + i / 4 * 3;
  const int shift = (int)(i % 4) * 6;
  const unsigned four =
      (((unsigned)at[0] | (unsigned)at[1] << 8 | (unsigned)at[2] << 16) & ~(63u << shift)) | code << shift;
  for (int b = 0; b < 3; b++) at[b] = (uint8_t)(four >> 8 * b);
}

/* f32 f16 bf16 e4m3 e5m2 e4m3fnuz e2m3 e3m2 i8 u8 i16 i32; exact. Arrays of 6-bit codes have a multiple of four. */
static inline double tw_element(tw_type type, const void *data, int64_t i) {
  switch (type) {
  case TW_F16: return (double)tw_f16_to_f32(((const uint16_t *)data)[i]);
  case TW_BF16: return (double)tw_bf16_to_f32(((const uint16_t *)data)[i]);
  case TW_E4M3: return (double)tw_e4m3_to_f32(((const uint8_t *)data)[i]);
  case TW_E5M2: return (double)tw_e5m2_to_f32(((const uint8_t *)data)[i]);
  case TW_E4M3FNUZ: return (double)tw_e4m3fnuz_to_f32(((const uint8_t *)data)[i]);
  case TW_E2M3: return (double)tw_e2m3_to_f32((uint8_t)tw_code6(data, i));
  case TW_E3M2: return (double)tw_e3m2_to_f32((uint8_t)tw_code6(data, i));
  case TW_I8: return ((const int8_t *)data)[i];
  case TW_U8: return ((const uint8_t *)data)[i];
  case TW_I16: return ((const int16_t *)data)[i];
  case TW_I32: return ((const int32_t *)data)[i];
  default: return (double)((const float *)data)[i];
  }
}

/* Rounds to the type, ties to even; integers must fit. */
static inline void tw_set_element(tw_type type, void *data, int64_t i, double value) {
  switch (type) {
  case TW_F16: ((uint16_t *)data)[i] = tw_f32_to_f16((float)value); break;
  case TW_BF16: ((uint16_t *)data)[i] = tw_f32_to_bf16((float)value); break;
  case TW_E4M3: ((uint8_t *)data)[i] = tw_f32_to_e4m3((float)value, TW_OVERFLOW_SATURATE); break;
  case TW_E5M2: ((uint8_t *)data)[i] = tw_f32_to_e5m2((float)value, TW_OVERFLOW_SATURATE); break;
  case TW_E4M3FNUZ: ((uint8_t *)data)[i] = tw_f32_to_e4m3fnuz((float)value, TW_OVERFLOW_SATURATE); break;
  case TW_E2M3: tw_set_code6(data, i, tw_f32_to_e2m3((float)value)); break;
  case TW_E3M2: tw_set_code6(data, i, tw_f32_to_e3m2((float)value)); break;
  case TW_I8: ((int8_t *)data)[i] = (int8_t)value; break;
  case TW_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
  case TW_I16: ((int16_t *)data)[i] = (int16_t)value; break;
  case TW_I32: ((int32_t *)data)[i] = (int32_t)value; break;
  default: ((float *)data)[i] = (float)value; break;
  }
}

/* `n` elements, `step` apart, from element `at` on: the same values, in loops that a compiler can make vectors of. */
static inline void tw_element_row(tw_type type, const void *data, int64_t at, int64_t step, int64_t n, double *out) {
  if (type == TW_F32) {
    const float *x = (const float *)data + at;
    for (int64_t i = 0; i < n; i++) out[i] = (double)x[i * step];
  } else if (type == TW_BF16) {
    const uint16_t *x = (const uint16_t *)data + at;
    for (int64_t i = 0; i < n; i++) {
      const uint32_t bits = (uint32_t)x[i * step] << 16;
      float f;
      memcpy(&f, &bits, sizeof f);
      out[i] = (double)f;
    }
  } else if (type == TW_I32) {
    const int32_t *x = (const int32_t *)data + at;
    for (int64_t i = 0; i < n; i++) out[i] = x[i * step];
  } else if (type == TW_U8) {
    const uint8_t *x = (const uint8_t *)data + at;
    for (int64_t i = 0; i < n; i++) out[i] = x[i * step];
  } else if (type == TW_I8) {
    const int8_t *x = (const int8_t *)data + at;
    for (int64_t i = 0; i < n; i++) out[i] = x[i * step];
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = tw_element(type, data, at + i * step);
  }
}

/* The reverse: tw_set_element for n elements. */
static inline void tw_set_element_row(tw_type type, void *data, int64_t at, int64_t step, int64_t n, const double *x) {
  if (type == TW_F32) {
    float *to = (float *)data + at;
    for (int64_t i = 0; i < n; i++) to[i * step] = (float)x[i];
  } else if (type == TW_BF16) {
    uint16_t *to = (uint16_t *)data + at;
    for (int64_t i = 0; i < n; i++) to[i * step] = (uint16_t)(tw_round_to_bf16(tw_bits_of((float)x[i])) >> 16);
  } else {
    for (int64_t i = 0; i < n; i++) tw_set_element(type, data, at + i * step, x[i]);
  }
}

#endif
