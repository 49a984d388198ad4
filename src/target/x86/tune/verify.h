/* verify.h - is C the product, without computing it? For the repeats of a measurement, whose inputs are new each time. */
#ifndef TW_X86_VERIFY_H
#define TW_X86_VERIFY_H

#include "op/gemm_numerics.h"
#include "tilewright/op.h"

/* What is known of B (and the bias) beforehand, with random signs that nobody else knows. */
typedef struct x86_verifier {
  tw_gemm gemm;
  tw_gemm_numerics numerics;
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n_operands;
  double *sign, *product; /* n signs; op(B) times them: k */
  double columns, bias;   /* the largest norm of a column of B; the bias times the signs */
  const void *b, *d;
} x86_verifier;

tw_status x86_verifier_make(const tw_problem *, void *const buffer[], uint64_t seed, x86_verifier *out, tw_error *);
void x86_verifier_free(x86_verifier *);

/* Fills A with new values: reals of magnitudes in [1/2, 1), integers of the whole range. */
void x86_fill_a(const x86_verifier *, uint64_t seed, void *a);
/* TW_FAILED if C cannot be act(scale * op(A) op(B) + bias). */
tw_status x86_verify(const x86_verifier *, const void *a, const void *c, tw_error *);

#endif
