/* gemm.h - matrix multiplication on this computer's CPU. It is used like FFTW: describe, plan, pack, execute.
 *
 *   C = convert(act(alpha * row_scale[i] * column_scale[j] * op(A) op(B) + bias[j] + beta * C))
 *
 * C is m x n, op(A) m x k, op(B) k x n, all row-major. B contains the weights. They are packed once for any number of
 * executions. Plans with equal n, k, types and kernel may share packed weights; m may differ.
 *
 *   a             b             c                      the product is
 *   f32 bf16 f16  f32 bf16 f16  f32 bf16 f16           summed in binary32
 *   f32 bf16 f16  i8 i4 mxfp4   f32 bf16 f16           only the weights are quantized: code times scale, summed in binary32.
 *                 mxfp6 mxfp8                          With bf16 A, AVX512-BF16 and m > 16 (AMX: 2), weights are first rounded to
 *                 bfp16 ternary                        bf16 (exact for mxfp* and bfp16). With a_rounding, A is rounded to int8
 *   u8 i8         i8            i32, f32 bf16 f16      exact in int32 as long as k <= 2^16, then converted
 *
 * c may be i8 too: rounded to nearest, ties to even, and saturated to -128..127 (NaN: -128).
 *
 * The plan's kernel alone determines the order in which the k products of an element are added. Results are therefore
 * bit-identical for any number of threads. With a=bf16 b=bf16 on a CPU with AVX512-BF16, subnormal inputs and sums count as zero.
 *
 * Every function that can fail returns a tw_status and says in one line which argument is wrong (status.h). */
#ifndef TILEWRIGHT_GEMM_H
#define TILEWRIGHT_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/memory.h"
#include "tilewright/status.h"
#include "tilewright/type.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How A is rounded before it is multiplied by weights with scales. TW_A_EXACT: not at all. Otherwise each execution
 * rounds A to int8: to the nearest multiple of s, up to 127 s, where s is (largest magnitude of the row, or of the
 * group of the row) / 127. Products are then sums of integers, scaled group by group. Error: with D[p][j] = the
 * weight's value, |C[i][j] - exact| <= |alpha| (1/2 + 2^-15) sum over p of s |D[p][j]|, plus roundings in binary32.
 * Its random part grows with the square root of k. Magnitudes below 2^-118 count as 0. */
typedef enum tw_a_rounding {
  TW_A_EXACT,
  TW_A_INT8_ROWS,  /* one scale for each row of op(A) */
  TW_A_INT8_GROUPS /* one for each group of k that shares a scale of B */
} tw_a_rounding;

typedef enum tw_activation {
  TW_ACTIVATION_LINEAR,
  TW_ACTIVATION_RELU,
  TW_ACTIVATION_GELU,
  TW_ACTIVATION_SILU
} tw_activation; /* gelu: the tanh form */

/* The product that a plan computes. A member that is zero takes its default. */
typedef struct tw_gemm_spec {
  /* sizeof(tw_gemm_spec): see status.h. */
  size_t size;
  /* Sizes, each at least 1. */
  int64_t m, n, k;
  /* Element types; default f32. */
  tw_type a, b, c;
  /* True if A is stored as k x m, B as n x k. */
  bool a_transposed, b_transposed;
  /* Pitch: elements from one stored row to the next; default: no gaps. */
  int64_t lda, ldb, ldc;
  /* Default 1 and 0; c=i32 requires these values. */
  float alpha, beta;
  tw_activation activation;
  /* Elements along k that share a scale of B (i8, i4, ternary); default: all k. The groups of mx* and bfp16 are fixed. */
  int group;
  /* Requires a of f32, bf16 or f16, and b of i8, i4, mxfp4, mxfp6, bfp16 or ternary. */
  tw_a_rounding a_rounding;
  /* Number of threads; default: all cores that the process may use. */
  int threads;
  /* Name of a kernel (tw_gemm_kernel_at); default: the fastest kernel of this CPU for the types. */
  const char *kernel;
} tw_gemm_spec;

typedef struct tw_gemm_plan tw_gemm_plan;

/* Chooses kernel, blocks and threads, and reserves all memory that execution needs. Release with tw_gemm_plan_destroy. */
TW_API tw_status tw_gemm_plan_create(const tw_gemm_spec *, tw_gemm_plan **out, tw_error *);
TW_API void tw_gemm_plan_destroy(tw_gemm_plan *); /* NULL is fine */

/* Packs B into `packed`, which has tw_gemm_packed_bytes bytes, aligned to
 * TW_GEMM_ALIGNMENT. Memory of tw_memory_alloc (memory.h) is read fastest. tw_gemm_pack
 * takes B of a type with scales as f32 and rounds each column along k by the type's
 * default rule. tw_gemm_pack_codes takes the planes of format.h for n rows of k values:
 * one row for each column of B. Packing allocates memory for one column. */
enum { TW_GEMM_ALIGNMENT = 64 };
TW_API size_t tw_gemm_packed_bytes(const tw_gemm_plan *); /* 0 without a plan */
TW_API tw_status tw_gemm_pack(const tw_gemm_plan *, const void *b, void *packed, tw_error *);
TW_API tw_status tw_gemm_pack_codes(const tw_gemm_plan *, const void *codes, const void *scales, void *packed,
                                    tw_error *);

/* The operands of one execution. The vectors may be NULL: then their factor is 1 or their term 0. */
typedef struct tw_gemm_operands {
  /* sizeof(tw_gemm_operands): see status.h. */
  size_t size;
  const void *a;
  /* B as packed by tw_gemm_pack. */
  const void *packed_b;
  /* Must not overlap with another operand. It is read only if beta is not 0. */
  void *c;
  /* n values. */
  const float *bias;
  /* m values. */
  const float *row_scale;
  /* n values. */
  const float *column_scale;
} tw_gemm_operands;

/* Allocates nothing. Any number of threads may execute one plan at once; each execution runs on the plan's threads. */
TW_API tw_status tw_gemm_plan_execute(const tw_gemm_plan *, const tw_gemm_operands *, tw_error *);

/* One line about the plan: kernel, blocks, threads. Returns the length it needs, as snprintf does. */
TW_API size_t tw_gemm_plan_print(const tw_gemm_plan *, char *buffer, size_t size);
TW_API const char *tw_gemm_plan_kernel(const tw_gemm_plan *); /* "f32-gemm-14x32-avx512" */

/* Names of the kernels that this CPU can run, by index; NULL after the last. The environment variable
 * TILEWRIGHT_GEMM_ISA = portable, avx2, avxvnni, avx512, avx512vnni, avx512bf16 or amx limits the instruction set; it is
 * read once. */
TW_API const char *tw_gemm_kernel_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
