/* vector/bfp.h - bfp16. Special cases: bfp.c.
 *
 * VW blocks of 8 at a time. 2^(133 - e) is no f32 for e < 6: then values are multiplied twice, by powers of two. */
#include "format/vector/minifloat.h"

enum { BFP_BATCH = 8 * VW, BFP_BYTES = 9, BFP_VECTORS = VW / BLOCKS_OF_8 };

typedef struct bfp_scaling { /* of VW blocks */
  uint8_t exponent[VW];
  float first[VW], second[VW]; /* the two factors whose product is 2^(133 - e) */
  bool twice;                  /* a second factor is needed, because the first is not enough for some block */
  unsigned faulty;             /* bits of blocks */
} bfp_scaling;

LANES void bfp_scales(const float *x, bfp_scaling *to) {
  vi most[BFP_VECTORS];
  for (size_t v = 0; v < BFP_VECTORS; v++) most[v] = v_and(v_load(x + v * VW), v_set(F32_MAGNITUDE));
  vi e = v_srl(v_max_of_8(most), 23), power = v_sub(v_set(133), e), half = v_min(power, v_set(127));
  v_store_u8(to->exponent, e);
  v_store(to->first, v_sll(v_add(half, v_set(127)), 23));
  to->twice = m_bits(v_above(v_set(6), e)) != 0;
  if (to->twice) v_store(to->second, v_sll(v_add(v_sub(power, half), v_set(127)), 23));
  to->faulty = m_bits(v_above(e, v_set(254)));
}

/* A tiny negative value must not become 0 in the product, because its floor is -1. If the product is 0, |x| itself
 * is below 1. */
LANES vf unless_zero(vf product, vf x) {
  vm zero = v_above(v_set(1), v_and(v_bits(product), v_set(F32_MAGNITUDE)));
  return f_of_bits(v_select(zero, v_bits(x), v_bits(product)));
}

LANES void bfp_codes(bool floors, bool twice, const float *x, const bfp_scaling *scaling, uint8_t *codes) {
  for (size_t v = 0; v < BFP_VECTORS; v += 4) {
    vi m[4];
    for (size_t u = v; u < v + 4; u++) {
      vf steps = f_mul(f_load(x + u * VW), f_of_blocks_of_8(scaling->first + u * BLOCKS_OF_8));
      if (twice) steps = f_mul(steps, f_of_blocks_of_8(scaling->second + u * BLOCKS_OF_8));
      if (floors) steps = f_floor(unless_zero(steps, f_load(x + u * VW)));
      m[u - v] = v_rounded(steps); /* 128 saturates */
    }
    for (size_t at = 0; at < STEP; at += 16) f_ahead(x + v * VW + at);
    const size_t block = v * VW / 8;
    b_store_after_bytes(codes + block * BFP_BYTES, scaling->exponent + block, bytes_of(m));
  }
}

LANES void bfp_batch(bool floors, const format_job *job, const float *x, const bfp_scaling *scaling, uint8_t *codes) {
  if (scaling->twice)
    bfp_codes(floors, true, x, scaling, codes);
  else
    bfp_codes(floors, false, x, scaling, codes);
  for (unsigned faulty = scaling->faulty; faulty; faulty &= faulty - 1) {
    size_t b = (size_t)__builtin_ctz(faulty);
    bfp16_encode(job, x + b * 8, 8, codes + b * BFP_BYTES, NULL);
  }
}

LANES void bfp_encode_as(bool floors, const format_job *job, const float *x, size_t n, uint8_t *codes) {
  const size_t batches = n / BFP_BATCH, rest = n % BFP_BATCH;
  bfp_scaling scaling[2];
  /* as in mx.h: the exponents of a batch are computed together with the mantissas of the previous batch */
  for (size_t i = 0; i <= batches; i++) {
    if (i < batches) bfp_scales(x + i * BFP_BATCH, &scaling[i % 2]);
    if (i > 0) bfp_batch(floors, job, x + (i - 1) * BFP_BATCH, &scaling[(i - 1) % 2], codes + (i - 1) * VW * BFP_BYTES);
  }
  if (rest == 0) return;
  float padded[BFP_BATCH] = {0};
  uint8_t rest_codes[VW * BFP_BYTES];
  memcpy(padded, x + n - rest, rest * sizeof *x);
  bfp_scales(padded, &scaling[0]);
  bfp_batch(floors, job, padded, &scaling[0], rest_codes);
  memcpy(codes + batches * VW * BFP_BYTES, rest_codes, rest / 8 * BFP_BYTES);
}

static void vector_bfp16_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  if (job->rounding == TW_ROUND_FLOOR)
    bfp_encode_as(true, job, x, n, codes);
  else
    bfp_encode_as(false, job, x, n, codes);
}

/* 2^(e - 133), a subnormal f32 for e < 7; NaN for 255. */
static const uint32_t bfp_scale_bits[256] = {
#define BFP_SCALE(e) ((e) == 255 ? F32_NAN : (e) > 6 ? ((uint32_t)(e)-6) << 23 : UINT32_C(1) << (16 + ((e)&7)))
#define BFP_SCALES_4(e) BFP_SCALE(e), BFP_SCALE((e) + 1), BFP_SCALE((e) + 2), BFP_SCALE((e) + 3)
#define BFP_SCALES_16(e) BFP_SCALES_4(e), BFP_SCALES_4((e) + 4), BFP_SCALES_4((e) + 8), BFP_SCALES_4((e) + 12)
#define BFP_SCALES_64(e) BFP_SCALES_16(e), BFP_SCALES_16((e) + 16), BFP_SCALES_16((e) + 32), BFP_SCALES_16((e) + 48)
    BFP_SCALES_64(0), BFP_SCALES_64(64), BFP_SCALES_64(128), BFP_SCALES_64(192)};

static void vector_bfp16_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n,
                                float *x) {
  size_t i = 0;
  (void)scales;
  for (; i + VW <= n; i += VW, codes += BLOCKS_OF_8 * BFP_BYTES) {
    float scale[BLOCKS_OF_8];
    for (size_t b = 0; b < BLOCKS_OF_8; b++) scale[b] = tw_float_of(bfp_scale_bits[codes[b * BFP_BYTES]]);
    f_store(x + i, f_mul(f_of_int(v_load_s8_pair(codes + 1, BFP_BYTES)), f_pair(scale)));
  }
  if (i < n) bfp16_decode(job, codes, NULL, n - i, x + i); /* one block */
}
