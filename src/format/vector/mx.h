/* vector/mx.h - OCP MX. Special cases: mx.c.
 *
 * VW blocks at a time: largest magnitudes of all of them by one reduction, scales in one vector, then the codes in
 * steps of 4 vectors. Blocks that hold NaN, infinity or only magnitudes at the ends of f32's range are rare: the
 * reference does them. */
#include "format/vector/minifloat.h"
#include "format/vector/stream.h"

enum { MX_BLOCK = 32, MX_BATCH = VW * MX_BLOCK, MX_VECTORS = MX_BLOCK / VW, STEP_BLOCKS = STEP / MX_BLOCK };
enum { MX_INT8 = -1 };

/* mxint8 in vectors of 64 bytes takes so little time that the first pass prefetches all its lines. */
LANES bool mx_first_prefetches(small_float f) { return f.sign == MX_INT8 && VW == 16; }

static const small_float vector_int8 = {.sign = MX_INT8};

LANES vi mx_largest(const float *x) { /* the largest magnitude of one block, by lanes */
  vi most = v_and(v_load(x), v_set(F32_MAGNITUDE));
  for (size_t v = 1; v < MX_VECTORS; v++) most = v_max(most, v_and(v_load(x + v * VW), v_set(F32_MAGNITUDE)));
  return most;
}

/* Values of VW blocks' scales for computing their codes. */
typedef struct mx_scaling {
  union {
    uint32_t smallest[VW]; /* small floats: bits of the smallest normal times the scale */
    float inverse[VW];     /* mxint8: 2^(127 - scale's byte) */
  };
  uint32_t base[VW]; /* small_base of `smallest` */
  unsigned others;   /* a bit for each block that the reference encodes */
} mx_scaling;

LANES void mx_scales(small_float f, const format_job *job, const float *x, uint8_t *scales, mx_scaling *to) {
  vi most[VW];
  for (size_t b = 0; b < VW; b++) most[b] = mx_largest(x + b * MX_BLOCK);
  if (mx_first_prefetches(f))
    for (size_t i = 0; i < MX_BATCH; i += LINE_VALUES) f_ahead(x + i);
  else if (f.sign == MX_INT8)
    f_ahead_half(x, MX_BATCH);
  vi amax = v_max_across(most);
  vi byte = v_sub(v_srl(v_add(amax, v_set(job->addend)), 23), v_set((uint32_t)job->emax));
  byte = v_min(v_max(byte, v_set(0)), v_set(254));
  v_store_u8(scales, byte);
  if (f.sign == MX_INT8) { /* 2^(133 - byte) is an f32 from byte 6 on */
    v_store(to->inverse, v_sll(v_min(v_sub(v_set(260), byte), v_set(254)), 23));
    unsigned tiny = m_bits(v_above(v_set(6), byte)) & m_bits(v_above(amax, v_set(0)));
    to->others = tiny | m_bits(v_above(amax, v_set(F32_INFINITY - 1)));
    return;
  }
  /* a block of zeros may have any smallest normal; other blocks whose smallest normal is below f32's, or whose sums
   * would overflow: */
  vi field = v_add(byte, v_set((uint32_t)(1 - f.bias))), least = v_max(field, v_set(1));
  vi overflow = v_set((uint32_t)(255 - (23 - f.mantissa_bits)) << 23);
  v_store(to->smallest, v_sll(least, 23));
  v_store(to->base, small_base(f, least));
  unsigned tiny = m_bits(v_above(v_set(1), field)) & m_bits(v_above(amax, v_set(0)));
  to->others = tiny | m_bits(v_above(amax, v_sub(overflow, v_set(1))));
}

/* Encodes 4 VW codes from block b of a batch on. */
LANES vb mx_codes(small_float f, const float *x, const mx_scaling *scaling, size_t b) {
  if (f.sign != MX_INT8) {
    const size_t next = b + STEP_BLOCKS - 1;
    return small_codes(f, x, (vi[]){v_set(scaling->smallest[b]), v_set(scaling->smallest[next])},
                       (vi[]){v_set(scaling->base[b]), v_set(scaling->base[next])}, f.max);
  }
  vi code[4];
  for (size_t v = 0; v < 4; v++) {
    code[v] = v_rounded(f_mul(f_load(x + v * VW), f_set(scaling->inverse[b + v / MX_VECTORS])));
  }
  return b_max(bytes_of(code), b_set(-127));
}

LANES void mx_store(int bits, uint8_t *codes, vb bytes) {
  if (bits == 4)
    b_store_nibbles(codes, bytes);
  else if (bits == 6)
    b_store_6bit(codes, bytes);
  else
    b_store(codes, bytes);
}

/* Codes of VW blocks. */
LANES void mx_batch(small_float f, int bits, const format_job *job, const float *x, const mx_scaling *scaling,
                    uint8_t *codes, uint8_t *scales) {
  for (size_t b = 0; b < VW; b += STEP_BLOCKS) {
    for (size_t i = 0; i < STEP && !mx_first_prefetches(f); i += LINE_VALUES) f_ahead(x + b * MX_BLOCK + i);
    mx_store(bits, codes + b * (size_t)bits * MX_BLOCK / 8, mx_codes(f, x + b * MX_BLOCK, scaling, b));
  }
  for (unsigned others = scaling->others; others; others &= others - 1) {
    size_t b = (size_t)__builtin_ctz(others);
    mx_encode(job, x + b * MX_BLOCK, MX_BLOCK, codes + b * job->format->block_bytes, scales + b);
  }
}

LANES void mx_encode_as(small_float f, int bits, const format_job *job, const float *x, size_t n, uint8_t *codes,
                        uint8_t *scales) {
  const size_t block_bytes = (size_t)bits * MX_BLOCK / 8, batches = n / MX_BATCH, rest = n % MX_BATCH;
  mx_scaling scaling[2];
  /* the scales of a batch are computed together with the codes of the previous batch, so that neither waits */
  for (size_t i = 0; i <= batches; i++) {
    if (i < batches) mx_scales(f, job, x + i * MX_BATCH, scales + i * VW, &scaling[i % 2]);
    if (i == 0) continue;
    uint8_t buffer[MX_BATCH], *to = codes + (i - 1) * VW * block_bytes;
    mx_batch(f, bits, job, x + (i - 1) * MX_BATCH, &scaling[(i - 1) % 2], job->streamed ? buffer : to,
             scales + (i - 1) * VW);
    if (job->streamed) vector_stream(to, buffer, VW * block_bytes);
  }
  if (rest == 0) return;
  float padded[MX_BATCH];
  uint8_t rest_codes[MX_BATCH], rest_scales[VW];
  memcpy(padded, x + n - rest, rest * sizeof *x);
  memset(padded + rest, 0, (MX_BATCH - rest) * sizeof *x);
  mx_scales(f, job, padded, rest_scales, &scaling[0]);
  mx_batch(f, bits, job, padded, &scaling[0], rest_codes, rest_scales);
  memcpy(codes + batches * VW * block_bytes, rest_codes, rest / MX_BLOCK * block_bytes);
  memcpy(scales + batches * VW, rest_scales, rest / MX_BLOCK);
}

/* ---- decoding ---- */

typedef enum mx_kind { MX_BY_F16, MX_E5M2, MX_8BIT } mx_kind;

/* A block with its factor: 2^(15 - bias) times the scale. */
LANES void mx_by_f16(small_float f, const uint8_t *codes, vf factor, float *x) {
  for (size_t w = 0; w < MX_BLOCK; w += WORDS) {
    vi words = f.sign == 3 ? w_load_4bit(codes, w) : f.sign == 5 ? w_load_6bit(codes, w) : w_load_8bit(codes, w);
    small_values(f, words, factor, x + w);
  }
}

LANES void mx_decode_as(small_float f, mx_kind kind, size_t bits, const format_job *job, const uint8_t *codes,
                        const uint8_t *scales, size_t n, float *x) {
  const int more = kind == MX_BY_F16 ? 15 - f.bias : 0;
  for (size_t b = 0; b < n / MX_BLOCK; b++, codes += bits * MX_BLOCK / 8, x += MX_BLOCK) {
    int field = scales[b] + more;
    if (field > 254 || (kind == MX_BY_F16 && f.sign == 7 && e4m3_has_nan(codes))) {
      mx_decode(job, codes, scales + b, MX_BLOCK, x);
      continue;
    }
    vf factor = f_set(tw_float_of(field ? (uint32_t)field << 23 : 0x00400000));
    if (kind == MX_BY_F16) mx_by_f16(f, codes, factor, x);
    for (size_t i = 0; kind != MX_BY_F16 && i < MX_BLOCK; i += VW) {
      vf element = kind == MX_E5M2 ? f_load_e5m2(codes + i) : f_mul(f_of_int(v_load_s8(codes + i)), f_set(1.0f / 64));
      f_store(x + i, f_mul(element, factor));
    }
  }
}

#define MX_FORMAT(name, element, kind, bits)                                                                           \
  static void vector_##name##_encode(const format_job *job, const float *x, size_t n, uint8_t *codes,                  \
                                     uint8_t *scales) {                                                                \
    mx_encode_as(element, bits, job, x, n, codes, scales);                                                             \
  }                                                                                                                    \
  static void vector_##name##_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n,     \
                                     float *x) {                                                                       \
    mx_decode_as(element, kind, bits, job, codes, scales, n, x);                                                       \
  }

MX_FORMAT(mx_e4m3, vector_e4m3, MX_BY_F16, 8)
MX_FORMAT(mx_e5m2, vector_e5m2, MX_E5M2, 8)
MX_FORMAT(mx_e3m2, vector_e3m2, MX_BY_F16, 6)
MX_FORMAT(mx_e2m3, vector_e2m3, MX_BY_F16, 6)
MX_FORMAT(mx_e2m1, vector_e2m1, MX_BY_F16, 4)
MX_FORMAT(mx_int8, vector_int8, MX_8BIT, 8)
