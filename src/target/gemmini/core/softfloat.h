/* softfloat.h - IEEE 754 binary32 and binary64 as the RISC-V F and D extensions define them.
 *
 * Integer arithmetic only: the result and the flags do not depend on the host's rounding mode or NaNs. It also has
 * round-to-nearest-max-magnitude, which hosts lack. Values travel as bits; a binary32 is in the low half (NaN boxing is
 * the caller's). Flags accumulate in *flags. */
#ifndef TW_GEMMINI_RV64_SOFTFLOAT_H
#define TW_GEMMINI_RV64_SOFTFLOAT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sf_format { SF_S, SF_D } sf_format;
enum sf_rounding { SF_RNE = 0, SF_RTZ = 1, SF_RDN = 2, SF_RUP = 3, SF_RMM = 4 };
enum sf_flag { SF_NX = 1, SF_UF = 2, SF_OF = 4, SF_DZ = 8, SF_NV = 16 };

uint64_t sf_add(sf_format, uint64_t a, uint64_t b, unsigned rounding, unsigned *flags);
uint64_t sf_mul(sf_format, uint64_t a, uint64_t b, unsigned rounding, unsigned *flags);
uint64_t sf_div(sf_format, uint64_t a, uint64_t b, unsigned rounding, unsigned *flags);
uint64_t sf_sqrt(sf_format, uint64_t a, unsigned rounding, unsigned *flags);
uint64_t sf_fma(sf_format, uint64_t a, uint64_t b, uint64_t c, unsigned rounding, unsigned *flags); /* a*b + c */

uint64_t sf_min(sf_format, uint64_t a, uint64_t b, unsigned *flags); /* minimumNumber, -0 < +0 */
uint64_t sf_max(sf_format, uint64_t a, uint64_t b, unsigned *flags);
bool sf_eq(sf_format, uint64_t a, uint64_t b, unsigned *flags); /* quiet */
bool sf_lt(sf_format, uint64_t a, uint64_t b, unsigned *flags); /* signalling */
bool sf_le(sf_format, uint64_t a, uint64_t b, unsigned *flags);
unsigned sf_class(sf_format, uint64_t a); /* fclass: one of 10 bits */

uint64_t sf_convert(sf_format from, sf_format to, uint64_t a, unsigned rounding, unsigned *flags);
uint64_t sf_from_int(sf_format, uint64_t value, bool is_signed, unsigned rounding, unsigned *flags);
/* To an integer of 32 or 64 bits, saturating; 32-bit results are sign-extended to 64 bits, unsigned ones too. */
uint64_t sf_to_int(sf_format, uint64_t a, int bits, bool is_signed, unsigned rounding, unsigned *flags);

uint64_t sf_nan(sf_format); /* the canonical NaN */
static inline uint64_t sf_sign_bit(sf_format f) { return f == SF_D ? 1ull << 63 : 1ull << 31; }

#endif
