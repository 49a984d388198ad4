/* tuned.h - what a source for the target x86 defines, in a search or in `tilewright run FILE gemm ... -t x86`: one of two.
 *
 * 1. A whole product, in plain C without headers of this project:
 *
 *      void gemm(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
 *                int64_t ldc, int threads);
 *
 *    C = A B as the problem says (types, transposed operands; B of a type with shared scales is f32; no bias, relu, scale).
 *    Row-major, pitches in elements. a, b and c begin at multiples of 64 bytes, as the judge has them; other rows need not.
 *    It may use OpenMP with `threads` threads. If it also defines
 *
 *      size_t gemm_packed_bytes(int64_t n, int64_t k);
 *      void gemm_pack(const void *b, void *packed, int64_t n, int64_t k, int64_t ldb);
 *
 *    then B is packed once, untimed, into memory aligned to 64 bytes, and `b` of gemm is what was packed.
 *
 * 2. A kernel for the loops of the library, as src/target/x86/emit.c writes it: the two constants below. */
#ifndef TW_X86_TUNED_H
#define TW_X86_TUNED_H

#include "target/x86/kernel.h"

typedef enum x86_a_choice { X86_CHOOSE_A, X86_READ_A_IN_PLACE, X86_PACK_A } x86_a_choice;

/* The loops around the kernel; what is 0 is chosen from the caches and the shape. mc x nc of C stay while k is walked in
 * pieces of kc; A is packed mc / rho rows at a time: the asymmetric tile buffering of the paper of that name, where the
 * buffer of A is rho times lower than the tile of C. */
typedef struct x86_blocks {
  int64_t mc, nc, kc; /* elements */
  int rho;            /* the buffer of A is mc / rho rows */
  x86_a_choice a;
  int panels;               /* that a tile takes at once: 1 or 2 */
  int threads_m, threads_n; /* parts of the rows and columns of C */
  int ahead;                /* bytes that codes are fetched before tiles on codes use them */
} x86_blocks;

extern const x86_kernel *const tilewright_kernel;
extern const x86_blocks tilewright_blocks;

#endif
