/* encode.c - tw_format_encode and tw_format_decode: divides a matrix into blocks for kernels.
 *
 * Kernels process whole blocks. Contiguous rows without a remainder are one long row; a remainder shorter than a
 * block is copied to a buffer and padded with +0. Scales of a whole row or tensor are computed here. */
#include <math.h>

#include "format/internal.h"

enum {
  MOST_BLOCK = 256,        /* of all formats */
  MOST_BYTES = 4,          /* maximum number of bytes for a value in all formats */
  STREAM_BYTES = 16 << 20, /* larger outputs bypass the caches, because they would evict all other data */
  PART = 512,              /* values converted between two streams, so that reading and writing memory overlap */
  GROUPS = 16,             /* maximum that vector/integer.h processes at once */
  MOST_PART = 6144,        /* maximum if one group is larger than PART; larger groups are not streamed */
};

typedef struct matrix {
  const format_kernels *kernels;
  const tw_packing *packing;
  size_t rows, columns, stride;
  tw_packed_size size;
  format_job job;
} matrix;

static tw_status matrix_of(const format_kernels *kernels, const tw_packing *p, size_t rows, size_t columns,
                           const void *x, size_t stride, const void *codes, const void *scales, matrix *out,
                           tw_error *error) {
  *out = (matrix){.packing = p, .rows = rows, .columns = columns, .stride = stride};
  tw_status status = tw_format_sizes(p, rows, columns, &out->size, error);
  if (status != TW_OK) return status;
  if (rows == 0 || columns == 0) return TW_OK;
  if (!x) return tw_fail(error, TW_USAGE, "x is NULL");
  if (!codes) return tw_fail(error, TW_USAGE, "codes is NULL");
  if (!scales && out->size.scales)
    return tw_fail(error, TW_USAGE, "scales is NULL, but %s has scales", p->format->name);
  if (stride < columns && rows > 1)
    return tw_fail(error, TW_USAGE, "the stride %zu is less than the %zu columns", stride, columns);
  out->kernels = kernels;
  out->job = format_job_of(p);
  if (p->format->scale == TW_SCALE_F32) out->job.group = p->group > 0 ? (size_t)p->group : 0;
  return TW_OK;
}

static bool any_length(const tw_format *f) { return f->id == TW_FORMAT_I4 || f->block == 1; }

/* Joins contiguous rows into one long row, if scales and codes then have the same layout. */
static void join_rows(matrix *m) {
  const tw_packing *p = m->packing;
  if (m->stride != m->columns || m->columns % p->format->block) return;
  if (p->format->scale == TW_SCALE_F32) {
    if (p->group == TW_GROUP_ROW) return;
    if (p->group > 0 && m->columns % (size_t)p->group) return;
  }
  m->columns *= m->rows;
  m->stride = m->columns;
  m->size.row_codes = m->size.codes;
  m->size.row_scales = p->group == TW_GROUP_TENSOR ? 0 : m->size.scales;
  m->rows = 1;
}

static float magnitude_of_rows(const matrix *m, const float *x, size_t rows) {
  tw_magnitude mean = {0};
  uint32_t most = 0;
  for (size_t r = 0; r < rows; r++) {
    const float *row = x + r * m->stride;
    if (m->packing->rule == TW_RULE_ABSMEAN) {
      tw_magnitude_add(&mean, row, m->columns);
    } else {
      uint32_t bits = m->kernels->magnitude(row, m->columns);
      if (bits > most) most = bits;
    }
  }
  return m->packing->rule == TW_RULE_ABSMEAN ? tw_magnitude_of(&mean, m->packing) : tw_float_of(most);
}

/* Computes one scale for `rows` rows from x on, and writes it to the job and to the scales plane. */
static void find_scale(matrix *m, const float *x, size_t rows, uint8_t *scales) {
  float magnitude = m->packing->magnitude;
  if (magnitude == 0) magnitude = magnitude_of_rows(m, x, rows);
  m->job.bounded = m->packing->magnitude == 0 && m->packing->rule != TW_RULE_ABSMEAN;
  format_scale_of(magnitude, (float)m->packing->format->max, &m->job.scale, &m->job.inverse);
  store_f32(scales, m->job.scale);
}

/* Number of values in a part: whole blocks, or as many groups as the vectors process at once; 0 if a group is too
 * large. */
static size_t part_of(const matrix *m) {
  const size_t group = m->job.group, block = m->packing->format->block;
  if (group == 0) return PART / block * block;
  if (group * GROUPS <= PART) return PART / group * group;
  return group * GROUPS <= MOST_PART ? group * GROUPS : group <= MOST_PART ? group : 0;
}

/* Bytes of the scales of n values in the plane. */
static size_t scale_bytes(const matrix *m, size_t n) {
  if (m->packing->format->scale == TW_SCALE_E8M0) return n / m->packing->format->block;
  return m->job.group ? n / m->job.group * 4 : 0;
}

/* Encodes whole blocks (any n if the format allows it). */
static void encode_values(const matrix *m, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  const tw_format *f = m->packing->format;
  format_encoder *encode = m->kernels->format[f->id].encode;
  size_t part = part_of(m), length;
  const bool streamed = m->size.codes >= STREAM_BYTES && part > 0;
  if (!streamed || m->kernels->format[f->id].streams) {
    format_job job = m->job;
    job.streamed = streamed;
    encode(&job, x, n, codes, scales);
    return;
  }
  for (; n; x += length, n -= length) {
    uint8_t buffer[MOST_PART * MOST_BYTES];
    length = n < part ? n : part;
    size_t bytes = (length + f->block - 1) / f->block * f->block_bytes;
    encode(&m->job, x, length, buffer, scales);
    m->kernels->stream(codes, buffer, bytes);
    codes += bytes;
    if (scales) scales += scale_bytes(m, length);
  }
}

static void encode_row(const matrix *m, const float *x, uint8_t *codes, uint8_t *scales) {
  const tw_format *f = m->packing->format;
  size_t whole = any_length(f) ? m->columns : m->columns - m->columns % f->block, rest = m->columns - whole;
  if (whole) encode_values(m, x, whole, codes, scales);
  if (rest) {
    float padded[MOST_BLOCK];
    memcpy(padded, x + whole, rest * sizeof *x);
    memset(padded + rest, 0, (f->block - rest) * sizeof *x);
    /* the kernel prefetches as far as `padded`; later data are prefetched here */
    for (size_t i = 0; i < rest; i += LINE_VALUES) format_ahead(x + whole + i);
    size_t block = whole / f->block;
    m->kernels->format[f->id].encode(&m->job, padded, f->block, codes + block * f->block_bytes,
                                     scales ? scales + block : NULL);
  }
}

tw_status format_encode_with(const format_kernels *kernels, const tw_packing *p, size_t rows, size_t columns,
                             const float *x, size_t stride, void *codes, void *scales, tw_error *error) {
  matrix m;
  tw_status status = matrix_of(kernels, p, rows, columns, x, stride, codes, scales, &m, error);
  if (status != TW_OK) return status;
  if (rows == 0 || columns == 0) {
    if (m.size.scales && scales) memset(scales, 0, m.size.scales);
    return TW_OK;
  }
  bool one_scale = scales && p->format->scale == TW_SCALE_F32 && p->group <= 0;
  if (one_scale && p->group == TW_GROUP_TENSOR) find_scale(&m, x, rows, scales);
  join_rows(&m);
  for (size_t r = 0; r < m.rows; r++) {
    const float *row = x + r * m.stride;
    uint8_t *row_scales = scales ? (uint8_t *)scales + r * m.size.row_scales : NULL;
    if (one_scale && p->group == TW_GROUP_ROW) find_scale(&m, row, 1, row_scales);
    encode_row(&m, row, (uint8_t *)codes + r * m.size.row_codes, one_scale ? NULL : row_scales);
  }
  kernels->fence();
  return TW_OK;
}

tw_status tw_format_encode(const tw_packing *p, size_t rows, size_t columns, const float *x, size_t stride, void *codes,
                           void *scales, tw_error *error) {
  return format_encode_with(format_kernels_chosen(), p, rows, columns, x, stride, codes, scales, error);
}

static void decode_values(const matrix *m, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  const tw_format *f = m->packing->format;
  format_decoder *decode = m->kernels->format[f->id].decode;
  size_t part = part_of(m), length;
  if (m->rows * m->columns * sizeof *x < STREAM_BYTES || part == 0) {
    decode(&m->job, codes, scales, n, x);
    return;
  }
  for (; n; x += length, n -= length) {
    _Alignas(64) float buffer[MOST_PART];
    length = n < part ? n : part;
    decode(&m->job, codes, scales, length, buffer);
    m->kernels->stream(x, buffer, length * sizeof *x);
    codes += (length + f->block - 1) / f->block * f->block_bytes;
    if (scales) scales += scale_bytes(m, length);
  }
}

static void decode_row(const matrix *m, const uint8_t *codes, const uint8_t *scales, float *x) {
  const tw_format *f = m->packing->format;
  size_t whole = any_length(f) ? m->columns : m->columns - m->columns % f->block, rest = m->columns - whole;
  if (whole) decode_values(m, codes, scales, whole, x);
  if (rest) {
    float padded[MOST_BLOCK];
    size_t block = whole / f->block;
    m->kernels->format[f->id].decode(&m->job, codes + block * f->block_bytes, scales ? scales + block : NULL, f->block,
                                     padded);
    memcpy(x + whole, padded, rest * sizeof *x);
  }
}

tw_status format_decode_with(const format_kernels *kernels, const tw_packing *p, size_t rows, size_t columns,
                             const void *codes, const void *scales, float *x, size_t stride, tw_error *error) {
  matrix m;
  tw_status status = matrix_of(kernels, p, rows, columns, x, stride, codes, scales, &m, error);
  if (status != TW_OK || rows == 0 || columns == 0) return status;
  bool one_scale = scales && p->format->scale == TW_SCALE_F32 && p->group <= 0;
  join_rows(&m);
  for (size_t r = 0; r < m.rows; r++) {
    const uint8_t *row_scales = scales ? (const uint8_t *)scales + r * m.size.row_scales : NULL;
    if (one_scale) m.job.scale = load_f32(row_scales);
    decode_row(&m, (const uint8_t *)codes + r * m.size.row_codes, one_scale ? NULL : row_scales, x + r * m.stride);
  }
  kernels->fence();
  return TW_OK;
}

tw_status tw_format_decode(const tw_packing *p, size_t rows, size_t columns, const void *codes, const void *scales,
                           float *x, size_t stride, tw_error *error) {
  return format_decode_with(format_kernels_chosen(), p, rows, columns, codes, scales, x, stride, error);
}

/* ---- magnitudes of parts ---- */

void tw_magnitude_add(tw_magnitude *m, const float *x, size_t n) {
  uint32_t most = format_kernels_chosen()->magnitude(x, n);
  if (most >= F32_INFINITY)
    m->max = tw_float_of(F32_NAN);
  else if (!isnan(m->max) && tw_float_of(most) > m->max)
    m->max = tw_float_of(most);
  size_t i = 0;
  for (; i < n && (m->count + i) % 16; i++) m->sum[(m->count + i) % 16] += fabsf(x[i]);
  for (; i + 16 <= n; i += 16) {
    for (int lane = 0; lane < 16; lane++) m->sum[lane] += fabsf(x[i + (size_t)lane]);
  }
  for (; i < n; i++) m->sum[(m->count + i) % 16] += fabsf(x[i]);
  m->count += n;
}

float tw_magnitude_of(const tw_magnitude *m, const tw_packing *p) {
  double sum = 0;
  if (isnan(m->max) || m->count == 0) return m->max;
  if (p->rule != TW_RULE_ABSMEAN) return m->max;
  for (int lane = 0; lane < 16; lane++) sum += m->sum[lane];
  return (float)(sum / (double)m->count);
}
