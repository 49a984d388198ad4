/* data.c - arrays, and element types as the machine rounds to them. */
#include "target/trainium/machine/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/pages.h"
#include "base/strings.h"
#include "tilewright/format.h"

static const struct {
  const char *name;
  int bytes;
  bool is_real;
  tw_type type;
  double low, high; /* of integers */
} types[TRN_TYPES] = {
    [TRN_F32] = {"float32", 4, true, TW_F32, 0, 0},
    [TRN_TF32] = {"tfloat32", 4, true, TW_F32, 0, 0},
    [TRN_BF16] = {"bfloat16", 2, true, TW_BF16, 0, 0},
    [TRN_F16] = {"float16", 2, true, TW_F16, 0, 0},
    [TRN_E4M3] = {"float8_e4m3", 1, true, TW_E4M3, 0, 0},
    [TRN_E5M2] = {"float8_e5m2", 1, true, TW_E5M2, 0, 0},
    [TRN_I32] = {"int32", 4, false, TW_I32, -2147483648.0, 2147483647.0},
    [TRN_U32] = {"uint32", 4, false, TW_I32, 0, 4294967295.0},
    [TRN_I16] = {"int16", 2, false, TW_I16, -32768, 32767},
    [TRN_U16] = {"uint16", 2, false, TW_I16, 0, 65535},
    [TRN_I8] = {"int8", 1, false, TW_I8, -128, 127},
    [TRN_U8] = {"uint8", 1, false, TW_U8, 0, 255},
    [TRN_BOOL] = {"bool", 1, false, TW_U8, 0, 1},
};

const char *trn_type_name(trn_type type) { return types[type].name; }
int trn_type_bytes(trn_type type) { return types[type].bytes; }
bool trn_type_is_real(trn_type type) { return types[type].is_real; }
tw_type trn_type_to_tw(trn_type type) { return types[type].type; }

/* Rounds to 10 bits after the point, as tf32 has. */
static float round_tf32(float x) {
  const uint32_t bits = tw_bits_of(x);
  return (bits & 0x7f800000) == 0x7f800000 ? x : tw_float_of((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

double trn_round(trn_type type, double x) {
  switch (type) {
  case TRN_F32: return (double)(float)x;
  case TRN_TF32: return (double)round_tf32((float)x);
  case TRN_BF16: return (double)tw_bf16_to_f32(tw_f32_to_bf16((float)x));
  case TRN_F16: return (double)tw_f16_to_f32(tw_f32_to_f16((float)x));
  case TRN_E4M3: {
    const double kept = (double)tw_e4m3_to_f32(tw_f32_to_e4m3((float)x, TW_OVERFLOW_SATURATE));
    return kept > 240 ? 240 : kept < -240 ? -240 : kept;
  }
  case TRN_E5M2: return (double)tw_e5m2_to_f32(tw_f32_to_e5m2((float)x, TW_OVERFLOW_SATURATE));
  case TRN_BOOL: return x != 0;
  default:
    if (isnan(x)) return 0;
    return fmin(fmax(nearbyint(x), types[type].low), types[type].high);
  }
}

bool trn_array_make(trn_array *a, int64_t n, bool is_defined) {
  *a = (trn_array){.n = n};
  a->cell = tw_new((size_t)(n ? n : 1), sizeof *a->cell);
  if (!is_defined) a->undefined = malloc((size_t)(n ? n : 1));
  if (!a->cell || (!is_defined && !a->undefined)) {
    trn_array_free(a);
    return false;
  }
  tw_wish_large_pages(a->cell, (size_t)n * sizeof *a->cell);
  if (is_defined) return true;
  tw_wish_large_pages(a->undefined, (size_t)n);
  memset(a->undefined, 1, (size_t)n);
  return true;
}

void trn_array_free(trn_array *a) {
  free(a->cell);
  free(a->undefined);
  *a = (trn_array){0};
}

int64_t trn_view_elements(const trn_view *v) {
  int64_t n = 1;
  for (int d = 0; d < v->n; d++) n *= v->size[d];
  return n;
}
