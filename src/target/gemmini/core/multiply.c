/* multiply.c - how long Rocket's iterative multiplier and divider take (rocket/Multiplier.scala, MulDiv with
 * mulUnroll = 8, divUnroll = 1, early out in both).
 *
 * The request fires in EX (issue + 1), the first step is a cycle later; the result can be written, and read by
 * an instruction in ID, in the cycle after the last step: issue + 2 + steps. */
#include "target/gemmini/core/core.h"

static unsigned top_bit(uint64_t x) { return x ? 63u - (unsigned)__builtin_clzll(x) : 0; }

/* Each step takes 8 bits of rs1. A step other than the first and last of a full multiply ends early if the rest
 * of rs1 is zero; 32-bit multiplies start in the middle (fastMulW), high halves never end early. */
unsigned rv64_multiply_latency(uint64_t multiplier, bool high, bool word) {
  unsigned steps = 8;
  if (word) {
    multiplier = (uint32_t)multiplier;
    steps = multiplier ? (top_bit(multiplier) / 8 + 2) : 1;
    if (steps > 4) steps = 4;
  } else if (!high) {
    steps = top_bit(multiplier) / 8 + 2;
    if (steps > 8) steps = 8;
  }
  return 2 + steps;
}

/* One bit a step, 65 steps; the first step skips the leading zeros that the quotient must have. Negative operands
 * cost a cycle at the start, a negative result one at the end. The shift is computed modulo 64 as in the RTL, so
 * that a dividend shorter than the divisor gains little. */
unsigned rv64_divide_latency(uint64_t dividend, uint64_t divisor, bool is_signed, bool remainder) {
  bool negative_dividend = is_signed && dividend >> 63, negative_divisor = is_signed && divisor >> 63;
  unsigned extra = negative_dividend || negative_divisor;
  bool negative_result = remainder ? negative_dividend : negative_dividend != negative_divisor;
  if (negative_dividend) dividend = -dividend;
  if (negative_divisor) divisor = -divisor;
  if (divisor) {
    unsigned skip = ~(top_bit(dividend) - top_bit(divisor)) & 63;
    extra += negative_result;
    return 2 + extra + (skip ? 66 - skip : 65);
  }
  return 2 + extra + 65 + (remainder && negative_result);
}
