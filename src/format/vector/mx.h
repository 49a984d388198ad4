/* vector/mx.h - OCP MX. Special cases: mx.c.
 *
 * VW blocks at a time: largest magnitudes of all of them by one reduction, scales in one vector, then the codes in
 * steps of 4 vectors. Blocks that hold NaN or infinity are rare: the reference does them. */
#include "format/vector/minifloat.h"

enum { MX_BLOCK = 32, MX_BATCH = VW * MX_BLOCK, MX_VECTORS = MX_BLOCK / VW, STEP_BLOCKS = STEP / MX_BLOCK };
enum { MX_INT8 = -1 };

static const small_float vector_int8 = {.sign = MX_INT8};

LANES vi mx_code(small_float f, vf y) {
  if (f.sign != MX_INT8) return small_code(f, y, f.max);
  return v_rounded(f_min(f_max(f_mul(y, f_set(64)), f_set(-127)), f_set(127)));
}

LANES vi mx_largest(const float *x) { /* by lanes, of one block */
  f_ahead(x);
  f_ahead(x + 16); /* 64 bytes: the next line */
  vi most = v_and(v_load(x), v_set(F32_MAGNITUDE));
  for (size_t v = 1; v < MX_VECTORS; v++) most = v_max(most, v_and(v_load(x + v * VW), v_set(F32_MAGNITUDE)));
  return most;
}

/* Scale bytes of VW blocks, and what to multiply each with: 2^(127 - byte). Returns a bit for each faulty block. */
LANES unsigned mx_scales(const format_job *job, const float *x, uint8_t *scales, float inverse[VW]) {
  vi most[VW];
  for (size_t b = 0; b < VW; b++) most[b] = mx_largest(x + b * MX_BLOCK);
  vi amax = v_max_across(most);
  vi byte = v_sub(v_srl(v_add(amax, v_set(job->addend)), 23), v_set((uint32_t)job->emax));
  byte = v_min(v_max(byte, v_set(0)), v_set(254));
  v_store_u8(scales, byte);
  v_store(inverse, v_max(v_sll(v_sub(v_set(254), byte), 23), v_set(0x00400000))); /* 2^-127 for byte 254 */
  return m_bits(v_above(amax, v_set(F32_INFINITY - 1)));
}

LANES void mx_store(int bits, uint8_t *codes, vb bytes) {
  if (bits == 4)
    b_store_nibbles(codes, bytes);
  else if (bits == 6)
    b_store_6bit(codes, bytes);
  else
    b_store(codes, bytes);
}

LANES void mx_batch(small_float f, int bits, const format_job *job, const float *x, uint8_t *codes, uint8_t *scales) {
  float inverse[VW];
  unsigned faulty = mx_scales(job, x, scales, inverse);
  for (size_t b = 0; b < VW; b += STEP_BLOCKS) {
    vi code[4];
    for (size_t v = 0; v < 4; v++)
      code[v] = mx_code(f, f_mul(f_load(x + b * MX_BLOCK + v * VW), f_set(inverse[b + v / MX_VECTORS])));
    mx_store(bits, codes + b * (size_t)bits * MX_BLOCK / 8, b_of(code));
  }
  for (; faulty; faulty &= faulty - 1) {
    size_t b = (size_t)__builtin_ctz(faulty);
    mx_encode(job, x + b * MX_BLOCK, MX_BLOCK, codes + b * job->format->block_bytes, scales + b);
  }
}

LANES void mx_encode_as(small_float f, int bits, const format_job *job, const float *x, size_t n, uint8_t *codes,
                        uint8_t *scales) {
  size_t block_bytes = (size_t)bits * MX_BLOCK / 8, i = 0;
  for (; i + MX_BATCH <= n; i += MX_BATCH)
    mx_batch(f, bits, job, x + i, codes + i / MX_BLOCK * block_bytes, scales + i / MX_BLOCK);
  if (i == n) return;
  float padded[MX_BATCH];
  uint8_t rest_codes[MX_BATCH], rest_scales[VW];
  size_t rest = n - i, b = i / MX_BLOCK;
  memcpy(padded, x + i, rest * sizeof *x);
  memset(padded + rest, 0, (MX_BATCH - rest) * sizeof *x);
  mx_batch(f, bits, job, padded, rest_codes, rest_scales);
  memcpy(codes + b * block_bytes, rest_codes, rest / MX_BLOCK * block_bytes);
  memcpy(scales + b, rest_scales, rest / MX_BLOCK);
}

/* ---- decoding ---- */

typedef enum mx_kind { MX_E4M3, MX_E5M2, MX_E3M2, MX_E2M3, MX_E2M1, MX_8BIT } mx_kind;

/* VW elements from `codes` on. */
LANES vf mx_elements(mx_kind kind, const uint8_t *codes, f_table e2m1) {
  switch (kind) {
  case MX_E4M3: return e4m3_value(v_load_u8(codes));
  case MX_E5M2: return f_load_e5m2(codes);
  case MX_E3M2: return small_value(vector_e3m2, v_load_6bit(codes));
  case MX_E2M3: return small_value(vector_e2m3, v_load_6bit(codes));
  case MX_E2M1: return t_look_up(e2m1, v_load_nibbles(codes));
  default: return f_mul(f_of_int(v_load_s8(codes)), f_set(1.0f / 64));
  }
}

LANES void mx_decode_as(mx_kind kind, size_t bits, const format_job *job, const uint8_t *codes, const uint8_t *scales,
                        size_t n, float *x) {
  static const float values[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};
  const f_table e2m1 = t_load(values);
  size_t vector_bytes = bits * VW / 8, block_bytes = bits * MX_BLOCK / 8;
  for (size_t b = 0; b < n / MX_BLOCK; b++) {
    if (scales[b] == 255) {
      mx_decode(job, codes + b * block_bytes, scales + b, MX_BLOCK, x + b * MX_BLOCK);
      continue;
    }
    vf scale = f_set(tw_float_of(scales[b] ? (uint32_t)scales[b] << 23 : 0x00400000));
    for (size_t v = 0; v < MX_VECTORS; v++)
      f_store(x + b * MX_BLOCK + v * VW,
              f_mul(mx_elements(kind, codes + b * block_bytes + v * vector_bytes, e2m1), scale));
  }
}

#define MX_FORMAT(name, element, kind, bits)                                                                           \
  static void vector_##name##_encode(const format_job *job, const float *x, size_t n, uint8_t *codes,                  \
                                     uint8_t *scales) {                                                                \
    mx_encode_as(element, bits, job, x, n, codes, scales);                                                             \
  }                                                                                                                    \
  static void vector_##name##_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n,     \
                                     float *x) {                                                                       \
    mx_decode_as(kind, bits, job, codes, scales, n, x);                                                                \
  }

MX_FORMAT(mx_e4m3, vector_e4m3, MX_E4M3, 8)
MX_FORMAT(mx_e5m2, vector_e5m2, MX_E5M2, 8)
MX_FORMAT(mx_e3m2, vector_e3m2, MX_E3M2, 6)
MX_FORMAT(mx_e2m3, vector_e2m3, MX_E2M3, 6)
MX_FORMAT(mx_e2m1, vector_e2m1, MX_E2M1, 4)
MX_FORMAT(mx_int8, vector_int8, MX_8BIT, 8)
