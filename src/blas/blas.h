/* blas.h - the functions that libtilewright-blas.so exports, with CBLAS's and MKL's types and values.
 *
 * Integers have 32 bits (LP64). The structs, enumerations and values follow Netlib's cblas.h and Intel's
 * mkl_cblas.h. */
#ifndef TW_BLAS_BLAS_H
#define TW_BLAS_BLAS_H

#include <stdint.h>

#pragma GCC visibility push(default)

enum { BLAS_ROW_MAJOR = 101, BLAS_COLUMN_MAJOR = 102 };
enum { BLAS_NO_TRANSPOSE = 111, BLAS_TRANSPOSE = 112, BLAS_CONJUGATE_TRANSPOSE = 113 };
enum { BLAS_ROW_OFFSET = 171, BLAS_COLUMN_OFFSET = 172, BLAS_FIXED_OFFSET = 173 };

/* C := alpha op(A) op(B) + beta C. */
void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);
void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);
/* A and B of bfloat16, C of binary32. */
void cblas_gemm_bf16bf16f32(int layout, int transa, int transb, int m, int n, int k, float alpha, const uint16_t *a,
                            int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc);
/* C := alpha (op(A) + ao) (op(B) + bo) + beta C + oc. By columns, A is int8 and B uint8; by rows, A is uint8 and B
 * int8. `oc` has one element (fixed), m (one for each row of C: the "column offset") or n (one for each column: the
 * "row offset"). The sum of products is exact. Offsets and scales are applied in binary64. The result is rounded to
 * nearest and saturated. */
void cblas_gemm_s8u8s32(int layout, int transa, int transb, int offset, int m, int n, int k, float alpha, const void *a,
                        int lda, int8_t ao, const void *b, int ldb, int8_t bo, float beta, int32_t *c, int ldc,
                        const int32_t *oc);

#pragma GCC visibility pop
#endif
