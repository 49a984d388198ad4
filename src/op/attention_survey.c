/* attention_survey.c - conditions on every row of a forward pass, for a d-th of its cost. O is a mean of the values
 * that its query sees, so each element is between their minimum and maximum. By Jensen's inequality the log-sum-exp is
 * at least log n plus the mean score. It is at most log n plus the largest score that |Q| |K| allows. With a soft cap
 * only the cap and |Q| |K| bound scores. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "op/attention.h"
#include "op/compare.h"
#include "op/element.h"
#include "op/numerics.h"

typedef struct job {
  tw_attention a;
  void *const *buffer;
  tw_operand operand[TW_OPERANDS_MAX];
  tw_mismatch *of_head; /* two for each head of keys: for O and for LSE */
  atomic_bool failed;
} job;

/* The state after some keys. */
typedef struct seen {
  int64_t n,
      /* the end of these keys, and the first key in `sum`; minima, maxima and norms cover all keys before the end */
      first;
  double *least, *most, *sum; /* minimum of V, maximum of V, sum of K: d elements each */
  double longest;             /* the largest norm of a key */
} seen;

static void see(const job *j, int64_t batch, int64_t head, int64_t until, seen *s, double *x) {
  const tw_attention *a = &j->a;
  for (; s->n < until; s->n++) {
    const int64_t at = tw_attention_at(a, tw_attention_row(a, batch, s->n), a->key_heads, head);
    double norm = 0;
    tw_element_row(a->type, j->buffer[TW_ATTENTION_V], at, 1, a->d, x);
    for (int64_t c = 0; c < a->d; c++) {
      s->least[c] = fmin(s->least[c], x[c]);
      s->most[c] = fmax(s->most[c], x[c]);
    }
    tw_element_row(a->type, j->buffer[TW_ATTENTION_K], at, 1, a->d, x);
    for (int64_t c = 0; c < a->d; c++) {
      s->sum[c] += x[c];
      norm += x[c] * x[c];
    }
    s->longest = fmax(s->longest, sqrt(norm));
  }
}

/* Keys before the window leave the sum. */
static void leave(const job *j, int64_t batch, int64_t head, int64_t first, seen *s, double *x) {
  const tw_attention *a = &j->a;
  for (; s->first < first; s->first++) {
    const int64_t at = tw_attention_at(a, tw_attention_row(a, batch, s->first), a->key_heads, head);
    tw_element_row(a->type, j->buffer[TW_ATTENTION_K], at, 1, a->d, x);
    for (int64_t c = 0; c < a->d; c++) s->sum[c] -= x[c];
  }
}

static void judge(double got, double least, double most, double bound, tw_mismatch *m, int64_t row, int64_t column) {
  if (got >= least - bound && got <= most + bound) return;
  if (m->elements++ == 0) {
    m->row = row;
    m->column = column;
    m->got = got;
    m->expected = got < least ? least : most;
  }
}

/* O is rounded to type a, and P before it; numerator and denominator are sums of the same exponentials. With
 * arithmetic=bf16, O is not rounded, but V is; and the rounded Q and K change a score by at most 2 u |Q| |K|. */
static void judge_query(const job *j, int64_t batch, int64_t head, int64_t i, const seen *s, double *x,
                        tw_mismatch *m) {
  const tw_attention *a = &j->a;
  const int64_t row = tw_attention_query(a, batch, i) * a->query_heads + head;
  const double n = (double)(s->n - s->first);
  const double unit = tw_unit(a->is_cut ? TW_BF16 : a->type),
               off = 2.5 * unit + 2 * (tw_sum_steps((double)s->n) + 4) * TW_CUT32;
  tw_element_row(a->type, j->buffer[TW_ATTENTION_O], row * a->d, 1, a->d, x);
  for (int64_t c = 0; c < a->d; c++) {
    const double size = fmax(fabs(s->least[c]), fabs(s->most[c]));
    judge(x[c], s->least[c], s->most[c], off * size, &m[0], row, c);
  }
  double mean = 0, norm = 0;
  tw_element_row(a->type, j->buffer[TW_ATTENTION_Q],
                 tw_attention_at(a, tw_attention_query(a, batch, i), a->query_heads, head), 1, a->d, x);
  for (int64_t c = 0; c < a->d; c++) {
    mean += x[c] * s->sum[c];
    norm += x[c] * x[c];
  }
  const double logs = log(n), far = fabs(a->scale) * sqrt(norm) * s->longest;
  const double reach = a->softcap > 0 ? fmin(far, a->softcap) : far;
  const double mean_score = a->softcap > 0 ? -reach : a->scale * mean / n;
  const int64_t at = tw_attention_lse(a, batch, head, i), columns = a->tokens ? a->tokens : a->queries;
  judge((double)((const float *)j->buffer[TW_ATTENTION_LSE])[at], logs + mean_score, logs + reach,
        (tw_sum_steps((double)a->d) * TW_CUT32 + 16 * TW_U32) * (reach + 1) +
            (tw_sum_steps((double)s->n) + 4) * TW_U32 * (1 + logs) + (a->is_cut ? 2.01 * unit * far : 0),
        &m[1], at / columns, at % columns);
}

static void survey_head(void *context, size_t index) {
  job *j = context;
  const tw_attention *a = &j->a;
  const int64_t batch = (int64_t)index / a->key_heads, head = (int64_t)index % a->key_heads;
  double *room = tw_new(4 * (size_t)a->d, sizeof *room);
  if (!room) {
    j->failed = true;
    return;
  }
  seen s = {.least = room + a->d, .most = room + 2 * a->d, .sum = room + 3 * a->d};
  for (int64_t c = 0; c < a->d; c++) s.least[c] = INFINITY, s.most[c] = -INFINITY;
  for (int64_t i = 0; i < tw_attention_queries(a, batch); i++) {
    see(j, batch, head, tw_attention_sees(a, batch, i), &s, room);
    leave(j, batch, head, tw_attention_first(a, batch, i), &s, room);
    for (int64_t h = head * a->group; h < (head + 1) * a->group; h++)
      judge_query(j, batch, h, i, &s, room, j->of_head + 2 * index);
  }
  free(room);
}

static tw_status judged(const job *j, size_t which, tw_error *error) {
  const tw_operand *o = &j->operand[which == 0 ? TW_ATTENTION_O : TW_ATTENTION_LSE];
  tw_mismatch all = {0};
  for (int64_t i = 0; i < j->a.batches * j->a.key_heads; i++) {
    const tw_mismatch *m = &j->of_head[2 * i + (int64_t)which];
    const int64_t elements = all.elements + m->elements;
    if (!all.elements) all = *m;
    all.elements = elements;
  }
  if (!all.elements) return TW_OK;
  char place[128];
  tw_print_place(o, all.row, all.column, place, sizeof place);
  return tw_fail(error, TW_FAILED, "wrong result: %s is %.9g and cannot be %s %.9g; %lld elements are wrong", place,
                 all.got, all.got < all.expected ? "below" : "above", all.expected, (long long)all.elements);
}

tw_status tw_attention_survey(const tw_problem *p, void *const buffers[], const tw_effort *effort, tw_coverage *out,
                              tw_error *error) {
  job j = {.a = tw_attention_read(p, buffers), .buffer = buffers};
  if (j.a.backward) return TW_OK;
  const size_t heads = (size_t)(j.a.batches * j.a.key_heads);
  p->op->operands(p, j.operand);
  j.of_head = tw_new(2 * heads, sizeof *j.of_head);
  if (!j.of_head) return tw_no_memory(error, "the comparison");
  tw_parallel_for(effort->threads, heads, survey_head, &j);
  tw_status status = j.failed ? tw_no_memory(error, "the comparison") : judged(&j, 0, error);
  if (status == TW_OK) status = judged(&j, 1, error);
  free(j.of_head);
  if (status == TW_OK)
    snprintf(out->survey, sizeof out->survey, "that are not a possible mean of values or log-sum-exp of scores");
  return status;
}
