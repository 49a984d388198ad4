/* verify.h - is C the product, without computing it? For the repeats of a measurement, whose inputs are new each
 * time. */
#ifndef TW_X86_VERIFY_H
#define TW_X86_VERIFY_H

#include "op/gemm_numerics.h"
#include "tilewright/extend/op.h"

enum { X86_VECTORS = 2, X86_ROWS = 32 /* that are filled or verified together */ };

/* Precomputed data of B (and the bias), with secret random weights. */
typedef struct x86_verifier {
  tw_gemm gemm;
  tw_gemm_numerics numerics;
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n_operands;
  double *weight[X86_VECTORS], *product[X86_VECTORS]; /* n weights; op(B) times them: k */
  double bias[X86_VECTORS];                           /* the bias times the weights */
  double *squares;                                    /* of each row of op(B), summed: k */
  double *term;                                       /* k: the size of each term (tw_gemm_term_sizes) */
  double columns, fourths; /* in the mean square, balanced by these sizes: a column's norm; that of its squares' root */
  double column;           /* in the mean square: a column's norm as it is */
  double sums;             /* squares of the columns' sums */
  double biases;           /* squares of the bias, summed */
  void *b;
  const void *d;
  float *down, *up; /* k: powers of two that undo the terms of the A that new inputs are like, and that fit B's
                       (tw_term_exponent) */
} x86_verifier;

/* `of_a`, `of_b`: the seeds that A and B of the case were drawn from. */
tw_status x86_verifier_make(const tw_problem *, void *const buffer[], uint64_t of_a, uint64_t of_b, x86_verifier *out,
                            tw_error *);
void x86_verifier_free(x86_verifier *);

/* Fills X86_ROWS rows of A from `first` on with new values of the same distribution as `like`: each row is one of its
 * rows, rotated by a random number of elements where its type allows it, with random signs. Threads may fill different
 * rows. */
tw_status x86_fill_rows(const x86_verifier *, uint64_t seed, int64_t first, const void *like, void *a, tw_error *);
/* TW_FAILED if X86_ROWS rows of C from `first` on cannot belong to act(scale * op(A) op(B) + bias). */
tw_status x86_verify_rows(const x86_verifier *, int64_t first, const void *a, const void *c, tw_error *);

/* ---- for changes.h ---- */

void x86_read_a(const x86_verifier *, const void *a, int64_t i, double *out); /* row i of op(A) */
/* Elements [first, end) of row i of op(A) get the other sign: bits that are turned where the type has no sign. */
void x86_negate_a(const x86_verifier *, void *a, int64_t i, int64_t first, int64_t end);
/* The right element of column j of C for a row of op(A), and its tolerance. */
double x86_element(const x86_verifier *, const double row[], int64_t j, double *tolerance);
/* TW_FAILED if C has another. */
tw_status x86_verify_element(const x86_verifier *, const double row[], const void *c, int64_t i, int64_t j, tw_error *);
/* Two columns of B leave the precomputed sums, and are in them again after their elements were exchanged. */
void x86_verifier_forget(x86_verifier *, const int64_t column[2]);
void x86_verifier_learn(x86_verifier *, const int64_t column[2]);

#endif
