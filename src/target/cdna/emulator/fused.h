/* fused.h - the sums of CDNA3's matrix units, which add groups of products at once and cut off bits far below the
 * largest product.
 *
 * Source: the bit-accurate rules that Microsoft Research measured and published as MMA-Sim (microsoft/MMA-Sim,
 * mmasim/simulator: amd.py and arithmetic.py), for bf16, f16, fp8, bf8 and xf32 of CDNA3; f32 and f64 are sequences of
 * fma there. No rules are published for sparse instructions and for CDNA4.
 *
 * A group (8 products; 4 where K is 4, and of xf32; 16 of 8-bit formats) is added to C and rounded to nearest even:
 *   - A product's exponent is the sum of its factors' exponents (a subnormal has the least of the format, zero has
 *     -126).
 *   - Products are cut toward zero to 24 bits below the group's largest exponent, and summed. With 8-bit formats the
 *     even and the odd products are summed separately; both sums are then cut downward to 24 bits below the larger
 *     exponent of the two, and added.
 *   - With e the larger of that exponent and C's: the sum is cut downward to 31 bits below e, C to 24 bits below; with
 *     8-bit formats C counts as zero if its exponent is below e - 25.
 *   - A product of 2^128 or more is infinite; NaN and infinity propagate as in a sum in binary64. */
#ifndef TW_CDNA_FUSED_H
#define TW_CDNA_FUSED_H

#include "target/cdna/lanes/lanes.h"
#include "target/cdna/layout/mfma.h"

/* Number of products that are added at once; 0: products of the type are added in sequence. */
int cdna_fused_group(cdna_arch, const cdna_mfma *);
/* The items of A or B, and what is known about them: the results of two functions of the kit. */
typedef struct cdna_factor {
  float *item;
  int32_t *exponent; /* as many */
  bool has_whole, has_exponents;
  int whole, low, most;
} cdna_factor;

/* One block: by the loops of lanes/, or element by element where numbers are not finite or exponents are far apart. */
void cdna_fused_multiply(const cdna_lane_kit *, const cdna_mfma *, const cdna_product *, cdna_factor *a, cdna_factor *b,
                         int group);

#endif
