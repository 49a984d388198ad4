/* type.c - names and widths of element types. */
#include <string.h>

#include "tilewright/type.h"

/* e2m3, e3m2: rows of codes without gaps between them, the first in the lowest bits. mxfp*: OCP Microscaling Formats 1.0. bfp16: 8 elements of 8 bits that share an 8-bit exponent. ternary: 2 bits
 * hold one of -1, 0, 1. */
static const struct {
  const char *name;
  int bits;
} types[TW_TYPE_COUNT] = {
    [TW_TYPE_NONE] = {"none", 0},
    [TW_F32] = {"f32", 32},
    [TW_F16] = {"f16", 16},
    [TW_BF16] = {"bf16", 16},
    [TW_E4M3] = {"e4m3", 8},
    [TW_E5M2] = {"e5m2", 8},
    [TW_MXFP4] = {"mxfp4", 4},
    [TW_MXFP6] = {"mxfp6", 6},
    [TW_MXFP8] = {"mxfp8", 8},
    [TW_BFP16] = {"bfp16", 8},
    [TW_I8] = {"i8", 8},
    [TW_U8] = {"u8", 8},
    [TW_I4] = {"i4", 4},
    [TW_I32] = {"i32", 32},
    [TW_TERNARY] = {"ternary", 2},
    [TW_I16] = {"i16", 16},
    [TW_E2M3] = {"e2m3", 6},
    [TW_E3M2] = {"e3m2", 6},
    [TW_E4M3FNUZ] = {"e4m3fnuz", 8},
};

static bool in_range(tw_type type) { return (int)type >= 0 && type < TW_TYPE_COUNT; }

const char *tw_type_name(tw_type type) { return in_range(type) ? types[type].name : "?"; }

int tw_type_bits(tw_type type) { return in_range(type) ? types[type].bits : 0; }

bool tw_type_parse(const char *text, tw_type *out) {
  for (int i = TW_TYPE_NONE + 1; i < TW_TYPE_COUNT; i++) {
    if (strcmp(text, types[i].name) == 0) {
      *out = (tw_type)i;
      return true;
    }
  }
  return false;
}
