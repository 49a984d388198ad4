/* attention.h - an attention problem as a plain struct, for attention.c, its exact values, its tests, and schedules. */
#ifndef TW_OP_ATTENTION_H
#define TW_OP_ATTENTION_H

#include "tilewright/extend/op.h"

typedef struct tw_attention {
  int64_t batches, query_heads, key_heads, queries, keys, d;
  int64_t group;                 /* heads of queries that share one of keys and values */
  int64_t window;                /* keys that a query sees at most, the last ones; 0: all */
  bool causal, backward, is_cut; /* is_cut: Q, K, P and V may be rounded to bf16 */
  double scale;                  /* of the scores */
  tw_type type;
} tw_attention;

/* Operands by position, as a kernel's C parameters. */
enum { TW_ATTENTION_Q, TW_ATTENTION_K, TW_ATTENTION_V, TW_ATTENTION_O, TW_ATTENTION_LSE };
enum { TW_ATTENTION_DO = 5, TW_ATTENTION_DQ, TW_ATTENTION_DK, TW_ATTENTION_DV };

tw_attention tw_attention_of(const tw_problem *);

/* The end of the keys that query i sees. */
static inline int64_t tw_attention_sees(const tw_attention *a, int64_t i) {
  return a->causal ? i + 1 + a->keys - a->queries : a->keys;
}

/* The first of these keys. */
static inline int64_t tw_attention_first(const tw_attention *a, int64_t i) {
  const int64_t sees = tw_attention_sees(a, i);
  return a->window && sees > a->window ? sees - a->window : 0;
}
/* Fails for a problem with a window, on kernels that have none. */
tw_status tw_attention_without_window(const tw_attention *, const char *kernels, tw_error *);

/* tw_op.exact */
tw_status tw_attention_exact(const tw_problem *, void *const buffers[], size_t operand, size_t n, const tw_place[],
                             double value[], double bound[], int threads, tw_error *);
/* tw_op.survey */
tw_status tw_attention_survey(const tw_problem *, void *const buffers[], const tw_effort *, tw_coverage *, tw_error *);

#endif
