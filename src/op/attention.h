/* attention.h - an attention problem as a plain struct, for attention.c, its exact values, its tests, and schedules. */
#ifndef TW_OP_ATTENTION_H
#define TW_OP_ATTENTION_H

#include "base/integers.h"
#include "tilewright/extend/op.h"

typedef struct tw_attention {
  int64_t batches, query_heads, key_heads, queries, keys, d;
  int64_t group;  /* heads of queries that share one of keys and values */
  int64_t window; /* keys that a query sees at most, the last ones; 0: all */
  int64_t page;   /* keys of a page; 0: K and V have no pages */
  double softcap; /* 0: none */
  int64_t pitch;  /* elements from one position of Q, K and V to the next; 0: dense */
  int64_t tokens; /* of all sequences, which follow one another in Q, K, V and O; 0: each has `queries` and `keys` */
  /* Sequences have their own numbers of keys. */
  bool has_lengths;
  /* After tw_attention_read: the operands, borrowed; NULL: all sequences have `keys` keys; the keys are in their order. */
  const int32_t *length_of, *page_of, *start_of;
  bool causal, backward, is_cut; /* is_cut: Q, K, P and V may be rounded to bf16 */
  double scale;                  /* of the scores */
  tw_type type;
} tw_attention;

/* Operands by position, as a kernel's C parameters. */
enum { TW_ATTENTION_Q, TW_ATTENTION_K, TW_ATTENTION_V, TW_ATTENTION_O, TW_ATTENTION_LSE };
enum { TW_ATTENTION_DO = 5, TW_ATTENTION_DQ, TW_ATTENTION_DK, TW_ATTENTION_DV };
/* LENGTHS and then PAGES, where the problem has them, follow LSE; or STARTS does. */
enum { TW_ATTENTION_MORE = 5 };

tw_attention tw_attention_of(const tw_problem *);
/* With the operands LENGTHS, PAGES and STARTS of the problem. */
tw_attention tw_attention_read(const tw_problem *, void *const buffers[]);

/* Pages of a sequence. */
static inline int64_t tw_attention_pages(const tw_attention *a) { return tw_ceil_div(a->keys, a->page); }

static inline int64_t tw_attention_length(const tw_attention *a, int64_t batch) {
  if (a->start_of) return a->start_of[batch + 1] - a->start_of[batch];
  return a->length_of ? a->length_of[batch] : a->keys;
}

/* Queries of a sequence, and the row of Q and O that has one of them, of one head. */
static inline int64_t tw_attention_queries(const tw_attention *a, int64_t batch) {
  return a->start_of ? tw_attention_length(a, batch) : a->queries;
}
static inline int64_t tw_attention_query(const tw_attention *a, int64_t batch, int64_t i) {
  return (a->start_of ? a->start_of[batch] : batch * a->queries) + i;
}
static inline int64_t tw_attention_rows(const tw_attention *a) {
  return a->tokens ? a->tokens : a->batches * a->queries;
}
/* The place of a query's log-sum-exp. */
static inline int64_t tw_attention_lse(const tw_attention *a, int64_t batch, int64_t head, int64_t i) {
  return a->start_of ? head * a->tokens + a->start_of[batch] + i : (batch * a->query_heads + head) * a->queries + i;
}

/* The row of K and V that has a key of a sequence, of one head. */
static inline int64_t tw_attention_row(const tw_attention *a, int64_t batch, int64_t key) {
  if (a->start_of) return a->start_of[batch] + key;
  if (!a->page_of) return batch * a->keys + key;
  return a->page_of[batch * tw_attention_pages(a) + key / a->page] * a->page + key % a->page;
}

/* The first element of a head of Q, K or V, of which `heads` follow one another in a row; row: of tw_attention_query or
 * tw_attention_row. */
static inline int64_t tw_attention_at(const tw_attention *a, int64_t row, int64_t heads, int64_t head) {
  return row * (a->pitch ? a->pitch : heads * a->d) + head * a->d;
}

/* The end of the keys that query i of a sequence sees. */
static inline int64_t tw_attention_sees(const tw_attention *a, int64_t batch, int64_t i) {
  const int64_t keys = tw_attention_length(a, batch);
  return a->causal ? i + 1 + keys - tw_attention_queries(a, batch) : keys;
}

/* The first of these keys. */
static inline int64_t tw_attention_first(const tw_attention *a, int64_t batch, int64_t i) {
  const int64_t sees = tw_attention_sees(a, batch, i);
  return a->window && sees > a->window ? sees - a->window : 0;
}

/* Fails for a problem with one of these keys, on kernels without it. */
enum {
  TW_ATTENTION_WINDOW = 1,
  TW_ATTENTION_SOFTCAP = 2,
  TW_ATTENTION_LENGTHS = 4,
  TW_ATTENTION_PAGE = 8,
  TW_ATTENTION_TOKENS = 16,
  TW_ATTENTION_PITCH = 32,
  TW_ATTENTION_ANY = 63
};
tw_status tw_attention_without(const tw_attention *, unsigned keys, const char *kernels, tw_error *);

/* tw_op.exact */
tw_status tw_attention_exact(const tw_problem *, void *const buffers[], size_t operand, size_t n, const tw_place[],
                             double value[], double bound[], int threads, tw_error *);
/* tw_op.survey */
tw_status tw_attention_survey(const tw_problem *, void *const buffers[], const tw_effort *, tw_coverage *, tw_error *);

#endif
