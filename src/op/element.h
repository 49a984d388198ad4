/* element.h - one element of an array of any plain type, as a double. */
#ifndef TW_OP_ELEMENT_H
#define TW_OP_ELEMENT_H

#include <stdint.h>

#include "tilewright/format.h"

/* f32 f16 bf16 i8 u8 i16 i32; exact. */
static inline double tw_element(tw_type type, const void *data, int64_t i) {
  switch (type) {
  case TW_F16: return (double)tw_f16_to_f32(((const uint16_t *)data)[i]);
  case TW_BF16: return (double)tw_bf16_to_f32(((const uint16_t *)data)[i]);
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
  case TW_I8: ((int8_t *)data)[i] = (int8_t)value; break;
  case TW_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
  case TW_I16: ((int16_t *)data)[i] = (int16_t)value; break;
  case TW_I32: ((int32_t *)data)[i] = (int32_t)value; break;
  default: ((float *)data)[i] = (float)value; break;
  }
}

#endif
