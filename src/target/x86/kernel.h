/* kernel.h - what a generated kernel file gives the library: tile functions of one instruction set and one arithmetic.
 *
 * All kernels share one view of their operands: a *unit* is 32 bits that hold the `group` consecutive elements of k
 * which one lane of the machine's multiply-add takes at once.
 *
 *   arithmetic  elements of A x B        group  sums  instruction (AVX-512)
 *   f32         binary32 x binary32      1      f32   vfmadd231ps
 *   bf16        bfloat16 x bfloat16      2      f32   vdpbf16ps
 *   s16         int16 x int16            2      i32   vpmaddwd, vpaddd: exact for operands of 8 bits
 *   u8s8        uint8 x int8             4      i32   vpdpbusd
 *
 * Operands of other types are converted when they are packed. A panel of B is `columns` wide: unit (p, j) lies at
 * 4 * (p * columns + j). A strip of A is `r` <= rows rows: unit (i, p) lies at 4 * (p * r + i) when it is packed, at
 * i * stride + 4 * p when the kernel reads rows in place ("direct"). */
#ifndef TW_X86_KERNEL_H
#define TW_X86_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

enum { X86_UNIT = 4, X86_LINE = 64, X86_ROWS_MAX = 16, X86_COLUMNS_MAX = 64, X86_KERNELS_MAX = 64 };

typedef enum x86_isa {
  X86_PORTABLE,
  X86_AVX2,
  X86_AVXVNNI,
  X86_AVX512,
  X86_AVX512VNNI,
  X86_AVX512BF16,
  X86_ISAS
} x86_isa;
typedef enum x86_arithmetic { X86_F32, X86_BF16, X86_S16, X86_U8S8, X86_ARITHMETICS } x86_arithmetic;
typedef enum x86_activation { X86_LINEAR, X86_RELU, X86_GELU, X86_SILU } x86_activation;
typedef enum x86_output { X86_OUT_F32, X86_OUT_BF16, X86_OUT_F16, X86_OUT_I32 } x86_output;

/* C[i][j] = or += sum over k units; `columns` <= the kernel's: what lies right of them is not touched. Strides in bytes.
 * C's elements are the 32-bit sums. Meanwhile X86_LINE bytes at `next` are fetched into L2 for each unit: a part of the
 * panel that comes next. */
typedef void x86_tile(int64_t units, const void *a, int64_t a_stride, const void *b, void *c, int64_t c_stride,
                      int64_t columns, bool accumulate, const void *next);

/* What becomes of sums on their way into C:
 *   C = convert(act(alpha * row_scale[i] * column_scale[j] * (sum + offset[j]) + bias[j] + beta * C))
 * Any pointer may be NULL: then its factor is 1 or its term 0. i32 outputs take sum + offset alone. */
typedef struct x86_finish {
  const void *sums;
  int64_t sums_stride; /* bytes */
  void *c;
  int64_t c_stride; /* bytes */
  int64_t rows, columns;
  x86_output output;
  x86_activation activation;
  float alpha, beta;
  const float *row_scale, *column_scale, *bias;
  const int32_t *offset;
} x86_finish;

/* Weights that are kept as codes with scales; a panel is expanded before it is used. */
typedef struct x86_codes {
  int bits; /* of a field: 2, 4 or 8 */
  int width,
      mantissa;    /* of a minifloat (sign, exponent, mantissa) within it; mantissa -1: a two's-complement integer */
  int scale_bytes; /* 1: e8m0; 4: f32 */
  float factor;    /* on every code's value */
  int64_t group_units; /* units of k that share a scale; larger than any block: all of them */
} x86_codes;

typedef struct x86_kernel {
  const char *name; /* "f32-gemm-14x32-avx512" */
  x86_isa isa;
  x86_arithmetic arithmetic;
  int rows, columns;            /* of the largest tile */
  x86_tile *const *packed;      /* [r - 1]: on r packed rows */
  x86_tile *const *direct;      /* likewise on rows in place */
  double operations_per_round;  /* of `spin`: multiplications and additions */
  void (*spin)(int64_t rounds); /* multiply-adds on registers alone: the peak */
  void (*transpose)(void *to, const void *from, int64_t stride, int64_t rows, int64_t units); /* packs a strip of A */
  void (*finish)(const x86_finish *);
  /* NULL for integers. */
  void (*expand)(const x86_codes *, const void *codes, const void *scales, int64_t units, int64_t columns, void *panel);
} x86_kernel;

/* The default set (kernels.txt), in a generated table: NULL past the last. */
const x86_kernel *x86_kernel_at(int index);

#endif
