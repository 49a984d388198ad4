/* half.h - converts between binary16, bf16 and binary32 without branches, so that loops over lanes vectorize. */
#ifndef TW_CDNA_HALF_H
#define TW_CDNA_HALF_H

#include <stdint.h>

#include "base/bits.h"

static inline float cdna_half_value(uint32_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, magnitude = h & 0x7FFFu;
  /* a product adjusts the exponent's bias and makes subnormals normal; infinities and NaN are corrected afterwards */
  const float scaled = tw_float_of(magnitude << 13) * 0x1p112f;
  const uint32_t special = tw_bits_of(scaled) | 0x7F800000u;
  return tw_float_of(sign | (magnitude >= 0x7C00u ? special : tw_bits_of(scaled)));
}

/* The same for a host that may treat denormals as 0: the f32 of every half except 0 is normal. */
static inline float cdna_half_value_kept(uint32_t h) {
  const uint32_t magnitude = h & 0x7FFFu;
  const float small = (float)(int32_t)magnitude * 0x1p-24f;
  if (magnitude >= 0x400u) return cdna_half_value(h);
  return tw_float_of((h & 0x8000u) << 16 | tw_bits_of(small));
}

/* Rounded by the host's mode; NaN becomes quiet and keeps the upper bits of its payload. Adding a power of two whose
 * last place is the half's last place rounds at the right bit; for subnormals the power is 0.5. */
static inline uint32_t cdna_half_bits(float f) {
  const uint32_t bits = tw_bits_of(f), sign = bits & 0x80000000u, magnitude = bits & 0x7FFFFFFFu;
  const uint32_t finite =
      magnitude < 0x477FFFFFu ? magnitude : 0x477FFFFFu; /* all larger values round like 65536 minus a little */
  const uint32_t exponent = finite < 0x38800000u ? 0x38800000u : finite & 0x7F800000u,
                 unit = sign | (exponent + (13u << 23));
  const uint32_t units = tw_bits_of(tw_float_of(sign | finite) + tw_float_of(unit)) - unit;
  const uint32_t nan = 0x7E00u | (magnitude >> 13 & 0x3FFu);
  uint32_t r = (exponent >> 13) - (113u << 10) + units;
  r = magnitude == 0x7F800000u ? 0x7C00u : r;
  r = magnitude > 0x7F800000u ? nan : r;
  return sign >> 16 | r;
}

/* Toward zero, as v_cvt_pkrtz_f16_f32 does: too large values become the largest finite value. */
static inline uint32_t cdna_half_bits_toward_zero(float f) {
  const uint32_t bits = tw_bits_of(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  const uint32_t normal = (magnitude - 0x38000000u) >> 13;
  const uint32_t shift = 126u - (magnitude >> 23), mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  const uint32_t small = shift > 24 ? 0 : mantissa >> shift;
  const uint32_t nan = 0x7E00u | (magnitude >> 13 & 0x3FFu);
  uint32_t r = magnitude < 0x38800000u ? small : normal;
  r = magnitude >= 0x47800000u ? 0x7BFFu : r;
  r = magnitude == 0x7F800000u ? 0x7C00u : r;
  r = magnitude > 0x7F800000u ? nan : r;
  return sign | r;
}

static inline float cdna_bf16_value(uint32_t h) { return tw_float_of(h << 16); }

static inline uint32_t cdna_bf16_bits(float f) {
  const uint32_t bits = tw_bits_of(f);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? (bits >> 16 | 0x40u) : rounded;
}

#endif
