/* type.h - element types of operands, as written in keys (`a=i8 c=i32`). */
#ifndef TILEWRIGHT_TYPE_H
#define TILEWRIGHT_TYPE_H

#include <stdbool.h>

#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_type {
  TW_TYPE_NONE = 0, /* not given: the target chooses */
  TW_F32,
  TW_F16,
  TW_BF16,
  TW_E4M3,
  TW_E5M2,
  TW_MXFP4,
  TW_MXFP6,
  TW_MXFP8,
  TW_BFP16,
  TW_I8,
  TW_U8,
  TW_I4,
  TW_I32,
  TW_TERNARY,
  TW_I16,
  TW_E2M3,
  TW_E3M2,
  TW_E4M3FNUZ,
  TW_TYPE_COUNT
} tw_type;

TW_API const char *tw_type_name(tw_type type);             /* "f32", ...; "?" for a value out of range */
TW_API bool tw_type_parse(const char *text, tw_type *out); /* exact name only */
TW_API int tw_type_bits(tw_type type);                     /* bits of one element without shared scales */

#ifdef __cplusplus
}
#endif
#endif
