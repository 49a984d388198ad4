/* product.h - one product whose B comes unpacked, computed by the caller's threads: the only part of this target that
 * libtilewright-blas uses.
 *
 * Depending on the sizes, the threads first pack all of B together, or each packs what its parts of C need. A result
 * has the same bits for any number of threads. */
#ifndef TW_X86_PRODUCT_H
#define TW_X86_PRODUCT_H

#include "target/x86/loops.h"

/* The plan of a product for `spec->threads` threads, in the caller's memory; it holds nothing that must be freed. */
tw_status x86_product_plan(const tw_gemm_spec *, tw_gemm_plan *, tw_error *);

/* Required size of `memory`, which must be aligned to TW_GEMM_ALIGNMENT. */
size_t x86_product_bytes(const tw_gemm_plan *);

typedef struct x86_product {
  const tw_gemm_plan *plan;
  const void *a, *b;
  void *c;
  float scale; /* factor of B's elements if they are f32; otherwise 1 */
  char *memory;
  /* the caller fills in these operands, x86_product_begin the other fields */
  tw_gemm_operands operands;
  char *workspaces;
  int64_t together, groups; /* number of panels that are packed together; number of such groups in each block of k */
  atomic_int next_packing, packed_so_far;
  x86_deal deal;
} x86_product;

/* Must be called before the threads start. */
void x86_product_begin(x86_product *);

/* Called once by each participating thread, at most plan->threads; returns when no part is left. `member` is the
 * thread's number below plan->threads. `thread` is its number among all threads, best the same in each call. */
void x86_product_compute(x86_product *, int member, int thread);

#endif
