/* rival.h - what a library must say of itself to take part in `bench_x86_rivals`: one file of this folder each, linked with
 * worker.c into a program of its own.
 *
 * A program each, because the libraries do not get along in one: they export the same names (cblas_sgemm, ggml_init), keep
 * thread pools that spin, and some abort. What a program says on its standard streams is in docs/lab/2026-11-x86-libraries.md: a library
 * that has no file here can take part by speaking that protocol. */
#ifndef TW_BENCH_RIVAL_H
#define TW_BENCH_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/gemm_problem.h"

/* C[m,n] = A[m,k] B[k,n], dense, row-major. `a` and `b` are inputs in the types of `gemm`; weights with shared scales are
 * f32 that the type can hold exactly. They stay where they are until the next case. */
typedef struct rival_case {
  tw_gemm gemm;
  int threads;
  const tw_problem *problem;
  const void *a, *b;
} rival_case;

/* What rival_open tells. */
typedef struct rival_ready {
  size_t weight_bytes; /* of one packed copy of the weights; a multiple of 64 */
  char what[64];       /* how it computes, in a word: "sgemm", "Q4_0 repacked" */
  tw_type output;      /* of its C: f32 or i32 */
} rival_ready;

/* Called once. NULL, or why the library cannot be used here: one line. */
const char *rival_start(void);
/* Makes ready for a case. NULL, or why it is not computed: one line. */
const char *rival_open(const rival_case *, rival_ready *);
/* Writes one copy of the weights, aligned to 64 bytes. */
void rival_pack(void *packed);
/* Computes C, dense, from one copy of them: this is what is timed. */
void rival_run(const void *packed, void *c);
void rival_close(void);

#endif
