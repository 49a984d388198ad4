/* vector/integer.h - i8 and i4, and magnitudes. Special cases: integer.c.
 *
 * Groups of VW, 2 VW and multiples of 4 VW values go VW groups at a time: their scales come from one reduction and
 * two divisions. Other groups go one by one: whole vectors, and the reference for the odd ones. */
#include "format/vector/minifloat.h"

enum {
  SMALL_GROUP = 256, /* groups up to this size are processed in batches; a batch stays in the first-level cache */
  /* groups of this size or more are prefetched by both passes; batches of smaller groups overlap in the CPU */
  AHEAD_GROUP = 64,
};

static uint32_t vector_magnitude(const float *x, size_t n) {
  vi most[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
  size_t i = 0;
  for (; i + STEP <= n; i += STEP) {
    f_ahead_half(x + i, STEP);
    for (size_t v = 0; v < 4; v++) most[v] = v_max(most[v], v_and(v_load(x + i + v * VW), v_set(F32_MAGNITUDE)));
  }
  uint32_t vectors = v_max_of(v_max(v_max(most[0], most[1]), v_max(most[2], most[3])));
  uint32_t rest = magnitude_bits(x + i, n - i);
  return vectors > rest ? vectors : rest;
}

LANES void integer_store(bool nibbles, uint8_t *codes, vb bytes) {
  if (nibbles)
    b_store_nibbles(codes, b_low_nibbles(bytes));
  else
    b_store(codes, bytes);
}

/* Converts STEP values; vector v is multiplied with inverse[v * VW / group]. With `clamps`, products may have any
 * value, and NaN becomes the smallest code. Otherwise they do not exceed the largest code, except for rounding. */
LANES void integer_step(bool nibbles, bool clamps, const float *x, const float *inverse, size_t group, uint8_t *codes) {
  const int largest = nibbles ? 7 : 127;
  vi code[4];
  for (size_t v = 0; v < 4; v++) {
    vf y = f_mul(f_load(x + v * VW), f_set(inverse[v * VW / group]));
    code[v] = v_rounded(clamps ? f_min(f_set((float)largest), y) : y);
  }
  for (size_t at = 0; at < STEP; at += 16) f_ahead(x + at);
  vb bytes = bytes_of(code);
  if (clamps || !nibbles) bytes = b_max(bytes, b_set(-largest)); /* bytes saturate at -128 and 127 */
  integer_store(nibbles, codes, bytes);
}

/* Converts n values with one scale. */
LANES void integer_run(bool nibbles, const float *x, size_t n, float inverse, uint8_t *codes) {
  size_t per_byte = nibbles ? 2 : 1, i = 0;
  if (inverse == 0) {
    memset(codes, 0, (n + per_byte - 1) / per_byte);
    return;
  }
  for (; i + STEP <= n; i += STEP) integer_step(nibbles, true, x + i, &inverse, STEP, codes + i / per_byte);
  if (i < n) {
    float padded[STEP] = {0};
    uint8_t out[STEP];
    memcpy(padded, x + i, (n - i) * sizeof *x);
    integer_step(nibbles, true, padded, &inverse, STEP, out);
    memcpy(codes + i / per_byte, out, (n - i + per_byte - 1) / per_byte);
  }
}

/* Scales and inverses of VW groups; false if some need format_scale_of. */
LANES bool integer_scales(const float *x, size_t group, float largest, uint8_t *scales, float inverse[VW]) {
  vi most[VW];
  for (size_t g = 0; g < VW; g++) {
    if (group >= AHEAD_GROUP) f_ahead_half(x + g * group, group);
    most[g] = v_and(v_load(x + g * group), v_set(F32_MAGNITUDE));
    for (size_t i = VW; i < group; i += VW)
      most[g] = v_max(most[g], v_and(v_load(x + g * group + i), v_set(F32_MAGNITUDE)));
  }
  vi amax = v_max_across(most);
  vf scale = f_div(f_of_bits(amax), f_set(largest)), one_over = f_div(f_set(1), scale);
  v_store(scales, v_bits(scale));
  f_store(inverse, one_over);
  /* a finite amax other than 0, and a finite inverse */
  unsigned plain =
      m_bits(f_less(one_over, f_set(tw_float_of(F32_INFINITY)))) & m_bits(v_above(v_set(F32_INFINITY), amax));
  return plain == (1u << VW) - 1;
}

/* Processes groups one by one; the last may be shorter. */
LANES void integer_each_group(bool nibbles, size_t group, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  float scale, inverse;
  for (size_t i = 0; i < n; i += group, scales += 4) {
    size_t length = n - i < group ? n - i : group;
    format_scale_of(tw_float_of(vector_magnitude(x + i, length)), nibbles ? 7 : 127, &scale, &inverse);
    store_f32(scales, scale);
    integer_run(nibbles, x + i, length, inverse, codes + (nibbles ? i / 2 : i));
  }
}

LANES void integer_groups(bool nibbles, size_t group, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  const size_t batch = VW * group, batch_codes = nibbles ? batch / 2 : batch;
  const bool batched = group <= SMALL_GROUP && (group == VW || group == 2 * VW || group % STEP == 0);
  const size_t batches = batched ? n / batch : 0;
  float inverse[2][VW];
  bool plain[2];
  /* the scales of a batch are computed together with the codes of the previous batch, so that neither waits */
  for (size_t i = 0; i <= batches; i++) {
    if (i < batches)
      plain[i % 2] = integer_scales(x + i * batch, group, nibbles ? 7 : 127, scales + i * VW * 4, inverse[i % 2]);
    if (i == 0) continue;
    const float *from = x + (i - 1) * batch;
    uint8_t *to = codes + (i - 1) * batch_codes;
    if (!plain[(i - 1) % 2]) {
      integer_each_group(nibbles, group, from, batch, to, scales + (i - 1) * VW * 4);
      continue;
    }
    for (size_t at = 0; at < batch; at += STEP)
      integer_step(nibbles, false, from + at, inverse[(i - 1) % 2] + at / group, group, to + (nibbles ? at / 2 : at));
  }
  integer_each_group(nibbles, group, x + batches * batch, n - batches * batch, codes + batches * batch_codes,
                     scales + batches * VW * 4);
}

LANES void integer_encode(bool nibbles, const format_job *job, const float *x, size_t n, uint8_t *codes,
                          uint8_t *scales) {
  switch (job->group) {
  case 0: integer_run(nibbles, x, n, job->inverse, codes); return;
  case 32:
    integer_groups(nibbles, 32, x, n, codes, scales);
    return; /* a constant avoids a division by the group's size */
  case 64: integer_groups(nibbles, 64, x, n, codes, scales); return;
  case 128: integer_groups(nibbles, 128, x, n, codes, scales); return;
  default: integer_groups(nibbles, job->group, x, n, codes, scales);
  }
}

static void vector_i8_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  integer_encode(false, job, x, n, codes, scales);
}

static void vector_i4_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  integer_encode(true, job, x, n, codes, scales);
}

LANES void integer_decode_run(bool nibbles, const uint8_t *codes, size_t n, float scale, float *x) {
  size_t i = 0;
  for (; !nibbles && i + VW <= n; i += VW) f_store(x + i, f_mul(f_of_int(v_load_s8(codes + i)), f_set(scale)));
  for (; nibbles && i + WORDS <= n; i += WORDS) {
    vi values = w_sra(w_load_4bit(codes, i), 12);
    f_store(x + i, f_mul(f_of_low(values), f_set(scale)));
    f_store(x + i + VW, f_mul(f_of_high(values), f_set(scale)));
  }
  for (; i < n; i++) {
    int code = nibbles ? ((codes[i / 2] >> (i % 2 * 4) & 15) ^ 8) - 8 : (int8_t)codes[i];
    x[i] = (float)code * scale;
  }
}

LANES void integer_decode(bool nibbles, const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n,
                          float *x) {
  size_t per_byte = nibbles ? 2 : 1;
  if (job->group == 0) {
    integer_decode_run(nibbles, codes, n, job->scale, x);
    return;
  }
  for (size_t i = 0; i < n; i += job->group, scales += 4) {
    size_t length = n - i < job->group ? n - i : job->group;
    integer_decode_run(nibbles, codes + i / per_byte, length, load_f32(scales), x + i);
  }
}

static void vector_i8_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  integer_decode(false, job, codes, scales, n, x);
}

static void vector_i4_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  integer_decode(true, job, codes, scales, n, x);
}
