/* gemm_problem.h - a gemm problem as a plain struct, for gemm.c, its reference and its tests. */
#ifndef TW_OP_GEMM_PROBLEM_H
#define TW_OP_GEMM_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "op/numerics.h"
#include "tilewright/extend/op.h"
#include "tilewright/format.h"

/* The order of packed operands (gemm_packed.h). */
typedef enum tw_gemm_shuffle { TW_GEMM_SHUFFLE_NONE, TW_GEMM_SHUFFLE_AITER, TW_GEMM_SHUFFLE_MMA } tw_gemm_shuffle;
typedef enum tw_gemm_bias { TW_GEMM_BIAS_NONE, TW_GEMM_BIAS_ROW, TW_GEMM_BIAS_FULL } tw_gemm_bias;

typedef enum tw_gemm_a_rounding { TW_GEMM_A_EXACT, TW_GEMM_A_ROWS, TW_GEMM_A_GROUPS } tw_gemm_a_rounding;

typedef enum tw_gelu { TW_GELU_NONE, TW_GELU_ERF, TW_GELU_TANH } tw_gelu;

typedef enum tw_glu { TW_GLU_NONE, TW_GLU_SILU, TW_GLU_GELU_ERF, TW_GLU_GELU_TANH } tw_glu;

/* C: the gated values; the sums G and U, then the gated values; or the gradients of G and U. */
typedef enum tw_glu_pass { TW_GLU_FORWARD, TW_GLU_SUMS, TW_GLU_BACKWARD } tw_glu_pass;

typedef enum tw_gemm_rotary { TW_GEMM_ROTARY_NONE, TW_GEMM_ROTARY_HALVES, TW_GEMM_ROTARY_INTERLEAVED } tw_gemm_rotary;

typedef enum tw_arithmetic {
  TW_ARITHMETIC_FULL,
  TW_ARITHMETIC_TF32,
  TW_ARITHMETIC_FAST8,
  TW_ARITHMETIC_BF16
} tw_arithmetic;

typedef enum tw_gemm_scales {
  TW_GEMM_SCALES_NONE,
  TW_GEMM_SCALES_TENSOR,
  TW_GEMM_SCALES_ROW,
  TW_GEMM_SCALES_BLOCK
} tw_gemm_scales;
typedef enum tw_gemm_quantize {
  TW_GEMM_QUANTIZE_NONE,
  TW_GEMM_QUANTIZE_MXFP4,
  TW_GEMM_QUANTIZE_MXFP6,
  TW_GEMM_QUANTIZE_MXFP8
} tw_gemm_quantize;

enum { TW_GEMM_SCALE_BLOCK = 128 }; /* elements of k, and columns of B, that share a scale */

typedef struct tw_gemm {
  int64_t m, n, k;
  bool a_transposed, b_transposed, relu;
  tw_gemm_bias bias;
  float scale;
  int64_t lda, ldb, ldc, ldd; /* elements; never 0 here */
  tw_type a, b, c, acc;
  tw_type d;     /* type of the bias: acc or c */
  int64_t group; /* group of the scales of B; 0 = the type's default */
  tw_gemm_a_rounding a_rounding;
  tw_gelu gelu;
  tw_glu glu; /* B has 2 n columns: C = act(A times the first n) (A times the second n) */
  tw_glu_pass glu_pass;
  tw_gemm_rotary rotary;          /* pairs of columns are rotated by the operands COS and SIN */
  int64_t head, heads, positions; /* the first heads * head columns; row i has position i % positions */
  tw_arithmetic arithmetic;
  tw_gemm_scales scales;     /* operands that A and B are multiplied by */
  tw_gemm_quantize quantize; /* type to which A is rounded on its way in, exactly, by this rule for the scales */
  tw_scale_rule rule;
  bool packed; /* B is codes and scales: operands B and SB; and A of an mx type likewise: A and SA (gemm_packed.h) */
  tw_gemm_shuffle shuffle;
} tw_gemm;

tw_gemm tw_gemm_of(const tw_problem *);

/* The key that makes an element of C depend on two sums of a row, or NULL. */
static inline const char *tw_gemm_pair_key(const tw_gemm *g) { return g->glu ? "glu" : g->rotary ? "rotary" : NULL; }

/* Does it scale, round or unpack operands before the products? Then the reference computes each element alone. */
static inline bool tw_gemm_by_element(const tw_gemm *g) {
  return g->scales || g->quantize || g->packed || tw_gemm_pair_key(g) || tw_is_float6(g->a);
}

/* Are the sums a gate and the value that it gates? */
static inline bool tw_gemm_gates(const tw_gemm *g) { return g->glu && g->glu_pass != TW_GLU_BACKWARD; }
/* Are the sums the gradients of gated values? Then D has the gates and the values that they gate. */
static inline bool tw_gemm_gates_back(const tw_gemm *g) { return g->glu && g->glu_pass == TW_GLU_BACKWARD; }

/* Columns of op(B), and of C. */
static inline int64_t tw_gemm_columns(const tw_gemm *g) { return tw_gemm_gates(g) ? 2 * g->n : g->n; }
static inline int64_t tw_gemm_c_columns(const tw_gemm *g) {
  return !g->glu || g->glu_pass == TW_GLU_FORWARD ? g->n : g->glu_pass == TW_GLU_SUMS ? 3 * g->n : 2 * g->n;
}

/* The places of D, COS (before SIN) and C among the operands: after A, B and the scales. */
static inline size_t tw_gemm_d_index(const tw_gemm *g) { return g->scales ? 4 : g->packed ? 3 + tw_is_mx(g->a) : 2; }
static inline bool tw_gemm_has_d(const tw_gemm *g) { return g->bias != TW_GEMM_BIAS_NONE || tw_gemm_gates_back(g); }
static inline size_t tw_gemm_cos_index(const tw_gemm *g) { return tw_gemm_d_index(g) + tw_gemm_has_d(g); }
static inline size_t tw_gemm_c_index(const tw_gemm *g) { return tw_gemm_cos_index(g) + (g->rotary ? 2 : 0); }

bool tw_gemm_scaled(tw_type b); /* has the type shared scales? */
/* Is B weights with scales, and are A and the sums real? i8 x i8 is a product of integers. */
bool tw_gemm_weights_only(const tw_gemm *);
/* How B is quantized, if its type has scales: along k, each column separately. */
tw_status tw_gemm_packing(const tw_gemm *, tw_packing *out, tw_error *);

/* tw_op.inputs, .compare, .exact, .exact_cost and .survey */
void tw_gemm_inputs(const tw_problem *, uint64_t seed, void *const buffers[]);
/* Rounds elements of A and B to values that types with shared scales can hold. */
void tw_gemm_round_operands(const tw_gemm *, void *const buffers[]);
tw_status tw_gemm_compare(const tw_problem *, void *const expected[], void *const actual[], tw_error *);

tw_status tw_gemm_exact(const tw_problem *, void *const buffers[], size_t operand, size_t n, const tw_place[],
                        double value[], double bound[], int threads, tw_error *);
void tw_gemm_exact_cost(const tw_problem *, size_t operand, double *element, double *row);
tw_status tw_gemm_survey(const tw_problem *, void *const buffers[], const tw_effort *, tw_coverage *, tw_error *);

/* buffers: A, B, [D,] C. */
void tw_gemm_reference(const tw_gemm *, void *const buffers[], int threads);

#endif
