/* format.h - number formats: how each is stored, and its conversion from and to f32, exact to the bit.
 *
 *   tw_format_find -> tw_packing -> tw_format_sizes -> tw_format_encode / tw_format_decode
 *
 * A matrix of rows x columns of f32 (row-major) becomes two planes, both row-major and without gaps between rows:
 *
 *   codes   each row is ceil(columns / block) blocks of block_bytes bytes; every row begins at a byte
 *   scales  the scale of each block or group, if the format stores scales separately (tw_scale_kind)
 *
 * Blocks and groups run along a row (the K of a GEMM) and never cross its end. The last block of a row is filled with
 * codes of +0, which do not affect its scale. The last group of a row may be shorter than other groups.
 * Multi-byte numbers are little-endian. Plain conversions of one number are at the end of this header.
 *
 * docs/reference/formats.md draws the layouts, states the special cases and names the source of each format. In short:
 * - the default rounding is to nearest, ties to even; subnormals are kept; -0 stays -0 if the
 *   format has one;
 * - a block or group with a NaN or an infinity decodes to NaN in every element, so that a fault stays
 *   visible (e8m0 scale 0xFF, f32 or f16 scale NaN, bfp16 exponent 255);
 * - the floating-point environment is C's default (round to nearest, no flushing of subnormals).
 *
 * Every instruction-set path gives the same bits. The library chooses this CPU's fastest path once. The environment
 * variable TILEWRIGHT_FORMAT_ISA = reference, avx2 or avx512 selects a path. All functions are thread-safe. */
#ifndef TILEWRIGHT_FORMAT_H
#define TILEWRIGHT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"
#include "tilewright/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_format_id {
  TW_FORMAT_F32 = 0,
  TW_FORMAT_F16,        /* IEEE binary16 */
  TW_FORMAT_BF16,       /* upper half of an f32 */
  TW_FORMAT_E4M3,       /* OCP OFP8 E4M3: no infinities, max 448 ("e4m3fn") */
  TW_FORMAT_E5M2,       /* OCP OFP8 E5M2: IEEE-like, max 57344 */
  TW_FORMAT_MXFP8_E4M3, /* OCP MX 1.0: blocks of 32 with an e8m0 scale */
  TW_FORMAT_MXFP8_E5M2, /* */
  TW_FORMAT_MXFP6_E3M2, /* four 6-bit codes in three bytes, first code in the lowest bits */
  TW_FORMAT_MXFP6_E2M3, /* */
  TW_FORMAT_MXFP4,      /* e2m1; even element in the low nibble */
  TW_FORMAT_MXINT8,     /* two's complement, steps of 1/64 */
  TW_FORMAT_BFP16,      /* XDNA2's bfp16ebs8: exponent byte, then eight int8 mantissas, steps of 1/64 */
  TW_FORMAT_I8,         /* two's complement, symmetric: -127..127 */
  TW_FORMAT_I4,         /* two's complement, symmetric: -7..7; even element in the low nibble */
  TW_FORMAT_I2_S,       /* BitNet's x86 order: 128 ternary values in 32 bytes */
  TW_FORMAT_TQ1_0,      /* ggml: 256 ternary values in 54 bytes, five to a byte, f16 scale inside */
  TW_FORMAT_TQ2_0,      /* ggml: 256 ternary values in 66 bytes, four to a byte, f16 scale inside */
  TW_FORMAT_TL1,        /* BitNet's index of two values in 4 bits, row-major: 2 values to a nibble */
  TW_FORMAT_TL2,        /* BitNet's index and sign of three values, row-major: 96 values in 20 bytes */
  TW_FORMAT_E4M3FNUZ,   /* gfx942's fp8: bias 8, NaN 0x80, no infinities, no -0, max 240 */
  TW_FORMAT_COUNT
} tw_format_id;

typedef enum tw_scale_kind {
  TW_SCALE_NONE = 0, /* no scale: the scales plane is empty */
  TW_SCALE_E8M0,     /* one byte for each block: 2^(byte - 127), 255 is NaN */
  TW_SCALE_F32,      /* one f32 for each group, row or tensor (tw_packing.group) */
  TW_SCALE_INSIDE,   /* in the blocks of the codes plane; the scales plane is empty */
} tw_scale_kind;

typedef struct tw_format {
  tw_format_id id;
  /* The name for --to: "mxfp4". */
  const char *name;
  /* Description in one line. */
  const char *title;
  /* The type in an op's keys: `b=mxfp4`. */
  tw_type type;
  /* Bits of one code; 0 if several values share a code. */
  int bits;
  /* Number of values in a block. */
  size_t block;
  /* Bytes of a block's codes, with the scale if the block contains it. */
  size_t block_bytes;
  tw_scale_kind scale;
  /* Largest magnitude of a finite code, at scale 1. */
  double max;
} tw_format;

/* How a scale is computed from amax, the largest magnitude of the values that share it. 0 is the format's default.
 * MX (emax, m, max: exponent of the largest element, its mantissa bits, its value):
 *   FLOOR  2^(floor(log2 amax) - emax): OCP MX 1.0, section 6.3. The default.
 *   EVEN   as FLOOR after rounding amax to m mantissa bits, half upwards: AITER's Triton kernels, Quark's "even"
 *   UP     the least power of two p with amax <= p max: nothing is clipped (AITER's RoundUp)
 *   CEIL   the least power of two p with amax <= p 2^emax (AITER's Ceil)
 * All are clamped to 2^-127 .. 2^127. Subnormal amax counts by its bits as an f32, (bits + addend) >> 23.
 * Ternary: ABSMAX (default; ggml, I2_S) scale = amax; ABSMEAN (BitNet b1.58) scale = mean magnitude. */
typedef enum tw_scale_rule {
  TW_RULE_DEFAULT = 0,
  TW_RULE_FLOOR,
  TW_RULE_EVEN,
  TW_RULE_UP,
  TW_RULE_CEIL,
  TW_RULE_ABSMAX,
  TW_RULE_ABSMEAN,
  TW_RULE_COUNT
} tw_scale_rule;

typedef enum tw_rounding {
  TW_ROUND_EVEN = 0, /* to nearest, ties to even */
  TW_ROUND_FLOOR,    /* towards minus infinity: bfp16 only (XDNA2's default mode) */
} tw_rounding;

/* How e4m3, e5m2 and e4m3fnuz convert magnitudes that round beyond their largest value. MX elements always saturate;
 * f16 and bf16 always overflow to infinity. */
typedef enum tw_overflow {
  TW_OVERFLOW_SATURATE = 0, /* to the largest finite value, infinities too (OFP8's SAT) */
  TW_OVERFLOW_SPECIAL,      /* to infinity, or to NaN if the format has none (OFP8's NONSAT, ml_dtypes, PyTorch) */
} tw_overflow;

enum { TW_GROUP_ROW = 0, TW_GROUP_TENSOR = -1 }; /* special values of tw_packing.group */

/* A format with its options. {.format = f} is valid for every format. */
typedef struct tw_packing {
  const tw_format *format;
  tw_scale_rule rule;
  tw_rounding rounding;
  tw_overflow overflow;
  /* TW_SCALE_F32: values that share a scale along a row, an even number; or TW_GROUP_*. i2_s, tl1 and tl2: TW_GROUP_* only. */
  int64_t group;
  /* For encoding a part of a row or tensor with TW_GROUP_ROW or _TENSOR: the largest (ABSMEAN: mean) magnitude of the whole row or tensor; NaN if it has a NaN or infinity. 0: computed from x. */
  float magnitude;
} tw_packing;

typedef struct tw_packed_size {
  /* Bytes of a row; row_scales is 0 if the tensor has one scale. */
  size_t row_codes, row_scales;
  /* Bytes of the planes. */
  size_t codes, scales;
} tw_packed_size;

TW_API const tw_format *tw_format_at(tw_format_id); /* NULL out of range; valid for ever */
/* By its name or a common alias: e4m3fn, mxfp8-e4m3, mxfp6-e2m3, mxfp4-e2m1, bfp16ebs8, int8, int4, ternary (i2_s).
 * NULL: unknown. */
TW_API const tw_format *tw_format_find(const char *name);
/* The default format of a type: mxfp8 has e4m3, mxfp6 has e2m3, ternary has i2_s; NULL: none. */
TW_API const tw_format *tw_format_of_type(tw_type);
TW_API const char *tw_scale_rule_name(tw_scale_rule); /* "floor", ...; "default" for 0, "?" out of range */
TW_API bool tw_scale_rule_parse(const char *, tw_scale_rule *);

/* TW_USAGE with the reason if the options do not fit the format. */
TW_API tw_status tw_packing_check(const tw_packing *, tw_error *);

/* TW_USAGE if the packing is invalid or a size does not fit in size_t. rows or columns may be 0. */
TW_API tw_status tw_format_sizes(const tw_packing *, size_t rows, size_t columns, tw_packed_size *, tw_error *);

/* x: rows x columns, row r at x + r * stride (stride >= columns, in values). tw_format_sizes gives the sizes of codes and
 * scales; scales may be NULL if the plane is empty. Any alignment; no overlap. TW_USAGE for a wrong argument. */
TW_API tw_status tw_format_encode(const tw_packing *, size_t rows, size_t columns, const float *x, size_t stride,
                                  void *codes, void *scales, tw_error *);
TW_API tw_status tw_format_decode(const tw_packing *, size_t rows, size_t columns, const void *codes,
                                  const void *scales, float *x, size_t stride, tw_error *);

/* The scale of element (row, column); 1 for formats without scales. */
TW_API float tw_format_scale(const tw_packing *, size_t rows, size_t columns, const void *codes, const void *scales,
                             size_t row, size_t column);

/* Accumulates tw_packing.magnitude over n values of x. Start with {0}; pass parts in order. */
typedef struct tw_magnitude {
  /* The largest magnitude; NaN after a NaN or infinity. */
  float max;
  /* Sums of magnitudes, by index modulo 16. */
  double sum[16];
  uint64_t count;
} tw_magnitude;
TW_API void tw_magnitude_add(tw_magnitude *, const float *x, size_t n);
TW_API float tw_magnitude_of(const tw_magnitude *, const tw_packing *); /* by the packing's rule; 0 for no values */

/* ---- one number ---- */

TW_API float tw_f16_to_f32(uint16_t);  /* a signalling NaN becomes quiet, as in IEEE conversions */
TW_API uint16_t tw_f32_to_f16(float);  /* overflow to infinity; NaN keeps sign and the upper payload, becomes quiet */
TW_API float tw_bf16_to_f32(uint16_t); /* every bit kept */
TW_API uint16_t tw_f32_to_bf16(float); /* overflow to infinity; NaN keeps sign and the upper payload, becomes quiet */
TW_API float tw_e8m0_to_f32(uint8_t);  /* 255: NaN; 0: 2^-127, a subnormal f32 */
TW_API float tw_e4m3_to_f32(uint8_t);  /* 0x7F, 0xFF: NaN */
TW_API float tw_e5m2_to_f32(uint8_t);
TW_API float tw_e4m3fnuz_to_f32(uint8_t);          /* 0x80: NaN */
TW_API float tw_e3m2_to_f32(uint8_t);              /* low 6 bits */
TW_API float tw_e2m3_to_f32(uint8_t);              /* low 6 bits */
TW_API float tw_e2m1_to_f32(uint8_t);              /* low 4 bits: 0 .5 1 1.5 2 3 4 6 and their negatives */
TW_API uint8_t tw_f32_to_e4m3(float, tw_overflow); /* NaN: 0x7F with its sign */
TW_API uint8_t tw_f32_to_e5m2(float, tw_overflow); /* NaN: 0x7E (quiet) with its sign; SATURATE never gives infinity */
TW_API uint8_t tw_f32_to_e4m3fnuz(float, tw_overflow); /* NaN: 0x80; -0: 0 */
TW_API uint8_t tw_f32_to_e3m2(float);                  /* saturates; NaN: the largest, with its sign */
TW_API uint8_t tw_f32_to_e2m3(float);
TW_API uint8_t tw_f32_to_e2m1(float);

/* The instruction set of encode and decode: "reference", "avx2" or "avx512". */
TW_API const char *tw_format_isa(void);

#ifdef __cplusplus
}
#endif
#endif
