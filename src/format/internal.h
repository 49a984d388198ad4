/* internal.h - shared by the parts of src/format.
 *
 * A format is a row of the table in table.c. Its encoder and decoder exist once in plain C (the reference, one file per
 * family: float16.c fp8.c mx.c bfp.c integer.c ternary.c) and once per instruction set (vector/), all with the two
 * signatures below; encode.c divides a matrix into their inputs. */
#ifndef TW_FORMAT_INTERNAL_H
#define TW_FORMAT_INTERNAL_H

#include <string.h>

#include "base/bits.h"
#include "tilewright/format.h"

/* The parameters of a kernel in addition to the data, made once per call by format_job_of. */
typedef struct format_job {
  const tw_format *format;
  tw_overflow overflow;
  tw_rounding rounding;
  /* MX: the scale's byte is ((bits of amax + addend) >> 23) - emax, clamped to 0..254 */
  uint32_t addend;
  int emax;
  /* TW_SCALE_F32: number of values that share a scale, which the kernel computes (i8, i4); 0: scale and inverse are
   * given */
  size_t group;
  float scale, inverse; /* inverse is 0 exactly if all codes encode 0 */
  float threshold;      /* ternary: the least |x * inverse| that becomes 1 */
  bool streamed;        /* codes bypass the caches */
  /* inverse comes from the values' own largest magnitude: |x * inverse| is at most 1, except for rounding */
  bool bounded;
} format_job;

/* n values; a multiple of the format's block (any n for i8 and i4). codes and scales: of these values.
 * scales is NULL where the format or the job has none. */
typedef void format_encoder(const format_job *, const float *x, size_t n, uint8_t *codes, uint8_t *scales);
typedef void format_decoder(const format_job *, const uint8_t *codes, const uint8_t *scales, size_t n, float *x);

/* The loss between values x and y, by index modulo COMPARE_LANES, so that sums do not depend on the instruction set.
 * Counts are negative. */
enum { COMPARE_LANES = 16, COUNT_MOST = 2048 };
typedef struct format_errors {
  double error2[COMPARE_LANES], value2[COMPARE_LANES];      /* sums of squares of x - y, and of x */
  float max_error[COMPARE_LANES], max_value[COMPARE_LANES]; /* largest magnitudes */
  int32_t clipped[COMPARE_LANES];                           /* limit < |x|, and |y| < |x| */
  int32_t exact[COMPARE_LANES], faults[COMPARE_LANES];      /* x == y; x or y is not finite, which counts only here */
} format_errors;

typedef struct format_kernels {
  const char *isa;
  struct {
    format_encoder *encode;
    format_decoder *decode;
    bool streams; /* encode can write codes past the caches: format_job.streamed */
  } format[TW_FORMAT_COUNT];
  uint32_t (*magnitude)(const float *x, size_t n); /* the bits of the largest |x|: above 0x7F800000 if a value is NaN */
  /* memcpy of a part of a large output, past the caches; call fence before another thread reads it */
  void (*stream)(void *to, const void *from, size_t bytes);
  void (*fence)(void);
  /* Adds n values, a multiple of COMPARE_LANES, to *sums; error[i] = |x[i] - y[i]|, 0 for faults. limit: for each
   * value. The difference is rounded to f32. */
  void (*compare)(const float *x, const float *y, const float *limit, size_t n, float *error, format_errors *sums);
  /* Counts n magnitudes, at most COUNT_MOST, by their exponent fields: bin[0..255]. */
  void (*count)(const float *error, size_t n, uint32_t *bin);
} format_kernels;

extern const format_kernels format_reference; /* table.c */
#if defined TW_FORMAT_VECTOR
extern const format_kernels format_avx2, format_avx512; /* vector/ */
#endif
const format_kernels *format_kernels_chosen(void); /* dispatch.c: chosen once, by the CPU and TILEWRIGHT_FORMAT_ISA */
const format_kernels *format_kernels_named(const char *isa); /* NULL if the set is unknown, or this CPU lacks it */

/* encode.c: tw_format_encode and tw_format_decode with given kernels. */
tw_status format_encode_with(const format_kernels *, const tw_packing *, size_t rows, size_t columns, const float *x,
                             size_t stride, void *codes, void *scales, tw_error *);
tw_status format_decode_with(const format_kernels *, const tw_packing *, size_t rows, size_t columns, const void *codes,
                             const void *scales, float *x, size_t stride, tw_error *);

/* packing.c: tw_format_scale with the sizes of tw_format_sizes; row and column must be in range. */
float format_scale_at(const tw_packing *, const tw_packed_size *, const void *codes, const void *scales, size_t row,
                      size_t column);

/* table.c */
format_job format_job_of(const tw_packing *);
/* scale = magnitude / largest code, inverse = 1 / scale in f32. Both are 0 if the inverse would overflow (magnitude
 * 0 or tiny). They are NaN and 0 if the magnitude is not finite. */
void format_scale_of(float magnitude, float largest, float *scale, float *inverse);

/* the references */
format_encoder f32_encode, f16_encode, bf16_encode, e4m3_encode, e5m2_encode, e4m3fnuz_encode, mx_encode, bfp16_encode,
    i8_encode, i4_encode, i2s_encode, tq1_encode, tq2_encode, tl1_encode, tl2_encode;
format_decoder f32_decode, f16_decode, bf16_decode, e4m3_decode, e5m2_decode, e4m3fnuz_decode, mx_decode, bfp16_decode,
    i8_decode, i4_decode, i2s_decode, tq1_decode, tq2_decode, tl1_decode, tl2_decode;
uint32_t magnitude_bits(const float *x, size_t n);
void compare_reference(const float *x, const float *y, const float *limit, size_t n, float *error, format_errors *);
void count_reference(const float *error, size_t n, uint32_t *bin);

static inline float load_f32(const uint8_t *p) {
  float x;
  memcpy(&x, p, sizeof x);
  return x;
}

static inline void store_f32(uint8_t *p, float x) { memcpy(p, &x, sizeof x); }

static inline uint16_t load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static inline void store_u16(uint8_t *p, uint16_t x) {
  p[0] = (uint8_t)x;
  p[1] = (uint8_t)(x >> 8);
}

/* Prefetches the data that a loop over x needs soon; beyond the end of x it has no effect. */
static inline void format_ahead(const float *x) { __builtin_prefetch((const void *)((uintptr_t)x + 16384)); }

enum { LINE_VALUES = 16 }; /* number of f32 in a cache line */
enum { F32_INFINITY = 0x7F800000, F32_MAGNITUDE = 0x7FFFFFFF, F32_NAN = 0x7FC00000 };

#endif
