/* verify.h - checks that C is the product without computing the product: for the repeats of a measurement, whose
 * inputs are new each time. */
#ifndef TW_X86_VERIFY_H
#define TW_X86_VERIFY_H

#include "op/gemm_numerics.h"
#include "tilewright/extend/op.h"

enum { X86_VECTORS = 2, X86_ROWS = 32 /* vectors, and rows, that are filled or verified together */ };

/* Values computed in advance from B (and the bias), with secret random weights. */
typedef struct x86_verifier {
  tw_gemm gemm;
  tw_gemm_numerics numerics;
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n_operands;
  double *weight[X86_VECTORS], *product[X86_VECTORS]; /* n weights; op(B) times the weights: k values */
  double bias[X86_VECTORS];                           /* the bias times the weights */
  double *squares;                                    /* k sums of squares, one for each row of op(B) */
  double *term;                                       /* k: the size of each term (tw_gemm_term_sizes) */
  /* mean squares with these sizes as weights: the norm of a column; of the root of its squares */
  double columns, fourths;
  double column; /* mean square: the norm of a column without weights */
  double sums;   /* squares of the columns' sums */
  double biases; /* squares of the bias, summed */
  void *b;
  const void *d;
  /* k powers of two: they remove the terms of the A that new inputs are like, and fit B's (tw_term_exponent) */
  float *down, *up;
} x86_verifier;

/* `of_a`, `of_b`: the seeds of the case's A and B. */
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
/* Elements [first, end) of row i of op(A) get the opposite sign; types without a sign get inverted bits. */
void x86_negate_a(const x86_verifier *, void *a, int64_t i, int64_t first, int64_t end);
/* The right element of column j of C for a row of op(A), and its tolerance. */
double x86_element(const x86_verifier *, const double row[], int64_t j, double *tolerance);
/* TW_FAILED if C's element differs. */
tw_status x86_verify_element(const x86_verifier *, const double row[], const void *c, int64_t i, int64_t j, tw_error *);
/* Removes two columns of B from the precomputed sums; adds them again after their elements were exchanged. */
void x86_verifier_forget(x86_verifier *, const int64_t column[2]);
void x86_verifier_learn(x86_verifier *, const int64_t column[2]);

#endif
