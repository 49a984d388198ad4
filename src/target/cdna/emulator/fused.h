/* fused.h - how the matrix units of CDNA3 add: not one product after the other, but groups of them at once, with what lies far
 * below the largest cut off.
 *
 * Source: the bit-accurate rules that Microsoft Research measured and published as MMA-Sim (microsoft/MMA-Sim,
 * mmasim/simulator: amd.py and arithmetic.py), for bf16, f16, fp8, bf8 and xf32 of CDNA3; f32 and f64 are sequences of fma
 * there. Nothing like it is published for sparse instructions, nor for CDNA4.
 *
 * A group (8 products; 4 where K is 4, and of xf32; 16 of 8-bit formats) is added to C and rounded to nearest even:
 *   - A product's exponent is the sum of its factors' exponents (of subnormal numbers the least of the format, of zero -126).
 *   - Products are cut toward zero to 24 bits below the group's largest exponent, and summed. Of 8-bit formats the even and the
 *     odd ones are summed apart; both are then cut downward to 24 bits below the larger exponent of the two, and added.
 *   - With e the larger one of that exponent and C's: the sum is cut downward to 31 bits below e, C to 24 bits below; of 8-bit
 *     formats C counts as zero if its exponent is below e - 25.
 *   - A product of 2^128 or more is infinite; NaN and infinity go as in a sum in binary64. */
#ifndef TW_CDNA_FUSED_H
#define TW_CDNA_FUSED_H

#include "target/cdna/lanes/lanes.h"
#include "target/cdna/layout/mfma.h"

/* Products that are added at once; 0: the type's are added one after the other. */
int cdna_fused_group(cdna_arch, const cdna_mfma *);
/* One block, A [k][row], B [k][column], C [row][column]: by the kit's loops, or where numbers are not finite or exponents far
 * apart, one element after the other. */
void cdna_fused_multiply(const cdna_lane_kit *, const cdna_mfma *, float *c, const float *a, const float *b, int group);

#endif
