/* bfp.c - bfp16 as XDNA2 has it (bfp16ebs8): eight values share an exponent. The reference.
 *
 * A block is nine bytes: e, the largest biased f32 exponent of the block, then eight mantissas m in two's complement;
 * a value is m * 2^(e - 127 - 6) (mlir-aie, programming_examples/ml/block_datatypes/helper.h; design/xdna2-facts.md,
 * section 2). So |x| / 2^(e - 133) < 128, and m is that quotient rounded to nearest even, or towards minus infinity
 * as the core does unless its rounding mode is set.
 * Special cases:
 *   rounds to +128    becomes 127 (what the core does is not published); -128 is a mantissa like others
 *   all zeros         e = 0, m = 0; -0 becomes 0
 *   subnormals        count with exponent 0: the formula then holds for them too, in steps of 2^-133
 *   NaN or infinity   e = 255, m = 0: decodes to NaN (0x7FC00000) throughout. e = 255 always decodes so.
 *   tails             encode.c fills up with +0 */
#include <math.h>

#include "format/internal.h"

enum { BLOCK = 8, BLOCK_BYTES = 9 };

static int8_t mantissa(float x, int e, tw_rounding rounding) {
  double m = ldexp(x, 133 - e);
  m = rounding == TW_ROUND_FLOOR ? floor(m) : rint(m);
  return (int8_t)(m > 127 ? 127 : m);
}

void bfp16_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  for (size_t b = 0; b < n / BLOCK; b++, x += BLOCK, codes += BLOCK_BYTES) {
    int e = (int)(magnitude_bits(x, BLOCK) >> 23);
    codes[0] = (uint8_t)e;
    for (int i = 0; i < BLOCK; i++) codes[1 + i] = e == 255 ? 0 : (uint8_t)mantissa(x[i], e, job->rounding);
  }
}

void bfp16_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)job, (void)scales;
  for (size_t b = 0; b < n / BLOCK; b++, x += BLOCK, codes += BLOCK_BYTES) {
    for (int i = 0; i < BLOCK; i++)
      x[i] = codes[0] == 255 ? tw_float_of(F32_NAN) : (float)ldexp((int8_t)codes[1 + i], codes[0] - 133);
  }
}
