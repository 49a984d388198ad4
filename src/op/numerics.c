/* numerics.c - see numerics.h. */
#include "op/numerics.h"

static const struct {
  double unit, least;
} real[TW_TYPE_COUNT] = {
    [TW_F32] = {0x1p-24, 0x1p-126},
    [TW_BF16] = {0x1p-8, 0x1p-126},
    [TW_F16] = {0x1p-11, 0x1p-24},
};

bool tw_is_real(tw_type t) { return t == TW_F32 || t == TW_F16 || t == TW_BF16; }
bool tw_is_float8(tw_type t) { return t == TW_E4M3 || t == TW_E5M2; }
bool tw_is_float6(tw_type t) { return t == TW_E2M3 || t == TW_E3M2; }
bool tw_is_mx(tw_type t) { return t == TW_MXFP4 || t == TW_MXFP6 || t == TW_MXFP8; }
double tw_unit(tw_type t) { return real[t].unit; }
double tw_least_real(tw_type t) { return real[t].least; }
