/* product.h - one product of unpacked operands on threads of the caller: what libtilewright-blas needs of the CPU's
 * kernels. src/target/x86/product.c implements it.
 *
 * Depending on the sizes, the threads first pack all of B together, or each packs what its parts of C need. A result
 * has the same bits for any number of threads. Nothing is allocated: both structs are in the caller's memory. */
#ifndef TW_GEMM_PRODUCT_H
#define TW_GEMM_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "tilewright/gemm.h"

typedef struct tw_product_plan {
  int64_t state[64];
} tw_product_plan;

/* The plan of a product for `spec->threads` threads; it holds nothing that must be freed. */
tw_status tw_product_plan_make(const tw_gemm_spec *, tw_product_plan *, tw_error *);
/* Number of threads that the plan uses, at most spec->threads. */
int tw_product_threads(const tw_product_plan *);
/* Size of the memory that a product needs, aligned to TW_GEMM_ALIGNMENT. */
size_t tw_product_bytes(const tw_product_plan *);

/* C = alpha op(A) op(B) + beta C, by rows. Pitches are in elements. */
typedef struct tw_operands {
  int64_t m, n, k, lda, ldb, ldc;
  bool a_transposed, b_transposed;
  float alpha, beta;
  const void *a, *b;
  void *c;
} tw_operands;

/* A product by columns as the equal one by rows, C' = op(B)' op(A)', or back. Operands stay as they are stored. */
static inline void tw_operands_swap(tw_operands *x) {
  const int64_t m = x->m, lda = x->lda;
  const void *a = x->a;
  const bool a_transposed = x->a_transposed;
  x->m = x->n, x->n = m;
  x->a = x->b, x->b = a;
  x->lda = x->ldb, x->ldb = lda;
  x->a_transposed = x->b_transposed, x->b_transposed = a_transposed;
}

/* Computes a product of f32 on the calling thread, without a plan, if it is small; with one thread, if it is of medium
 * size. Returns false otherwise, and if there is nothing to multiply (alpha or a size is 0). A product of one column may
 * become the equal product of one row. */
bool tw_product_compute_small(tw_operands *, int threads);

typedef struct tw_product {
  int64_t state[544];
} tw_product;

/* Must be called before the threads start. `scale` is multiplied into elements of B if they are f32; otherwise 1. */
void tw_product_begin(tw_product *, const tw_product_plan *, const void *a, const void *b, void *c, float scale,
                      char *memory);
/* Must be called once for each member below tw_product_threads, best by the same thread in each product; returns when
 * the member has no part left. */
void tw_product_compute(tw_product *, int member);

#endif
