/* attention_exact.c - the definition of attention: rows of its outputs in double, and their error bounds.
 *
 * Bounds allow only for FlashAttention's roundings (T. Dao, 2023; J. Shah et al., 2024): scores and gradients of P are
 * sums in binary32, on a matrix unit that may cut (TW_CUT32); exp's argument and value are rounded; P and dS are
 * rounded to type a before they are multiplied by the next matrix; that product is a sum in binary32, rescaled
 * occasionally; it is rounded once to the output's type. Roundings to type a are independent of each other
 * (tw_random_sum). With arithmetic=bf16, Q, K, P and V of f32 are rounded to bf16. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "op/attention.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/numerics.h"

typedef struct job {
  tw_attention a;
  void *const *buffer;
  size_t operand; /* whose rows are needed */
} job;

/* A vector of d in double. */
static void load(const job *j, int operand, int64_t batch, int64_t at, int64_t head, double *x) {
  const tw_attention *a = &j->a;
  const bool of_keys = operand == TW_ATTENTION_K || operand == TW_ATTENTION_V;
  const int64_t heads = of_keys ? a->key_heads : a->query_heads;
  const int64_t row = of_keys ? tw_attention_row(a, batch, at) : tw_attention_query(a, batch, at);
  tw_element_row(a->type, j->buffer[operand], tw_attention_at(a, row, heads, head), 1, a->d, x);
}

static double dot(const double *restrict x, const double *restrict y, int64_t n, double *size) {
  double sum[4] = {0}, sizes[4] = {0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int l = 0; l < 4; l++) {
      const double product = x[i + l] * y[i + l];
      sum[l] += product;
      sizes[l] += fabs(product);
    }
  for (; i < n; i++) {
    sum[0] += x[i] * y[i];
    sizes[0] += fabs(x[i] * y[i]);
  }
  *size = sizes[0] + sizes[1] + sizes[2] + sizes[3];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Error of the product from rounding both vectors to bf16. */
static double cut_off(const double *restrict x, const double *restrict y, int64_t n, double size) {
  double square = 0;
  for (int64_t i = 0; i < n; i++) square += x[i] * y[i] * x[i] * y[i];
  return 2.01 * tw_unit(TW_BF16) * tw_random_sum(size, square);
}

/* A product of d in binary32. */
static double dot_off(const tw_attention *a, double size) { return tw_sum_steps((double)a->d) * TW_CUT32 * size; }

/* ---- a sum of vectors with weights, and its error bound ---- */

typedef struct weighted {
  int64_t n;
  double *sum, *size, *square,
      *off; /* sums of weight * x; of |weight * x|; of its square; of (error of the weight) * |x| */
  double terms;
} weighted;

static bool new_weighted(weighted *w, int64_t n) {
  *w = (weighted){.n = n, .sum = tw_new(4 * (size_t)n, sizeof *w->sum)};
  if (!w->sum) return false;
  w->size = w->sum + n;
  w->square = w->size + n;
  w->off = w->square + n;
  return true;
}

static void add(weighted *w, double weight, double weight_off, const double *restrict x) {
  double *restrict sum = w->sum, *restrict size = w->size, *restrict square = w->square, *restrict off = w->off;
  const double magnitude = fabs(weight);
  for (int64_t i = 0; i < w->n; i++) {
    const double term = weight * x[i], positive = fabs(x[i]);
    sum[i] += term;
    size[i] += magnitude * positive;
    square[i] += term * term;
    off[i] += weight_off * positive;
  }
  w->terms++;
}

/* Weights rounded to the type, terms summed in binary32. */
static double weighted_off(const weighted *w, int64_t i, tw_type type) {
  return tw_unit(type) * tw_random_sum(w->size[i], w->square[i]) + w->off[i] +
         (tw_sum_steps(w->terms) + 4) * TW_CUT32 * w->size[i];
}

/* ---- forward ---- */

/* exp in binary32: 4 u for the function, 2 u for each part of its argument. */
static double exp_off(double score, double score_off, double subtracted) {
  return score_off + (4 + 2 * (fabs(score) + fabs(subtracted))) * TW_U32;
}

typedef struct query {
  int64_t first, sees; /* the first key, and the end */
  double *score, *off; /* error bound of the score, then of its exponential, relative to it */
  double largest, sum; /* largest score; sum of exponentials relative to it */
  double off_of_sum;   /* relative to it */
} query;

/* Scores of query i of one head. */
static void score(const job *j, int64_t batch, int64_t head, int64_t i, double *room, query *q) {
  const tw_attention *a = &j->a;
  double *x = room, *k = room + a->d, size;
  load(j, TW_ATTENTION_Q, batch, i, head, x);
  q->largest = -INFINITY;
  for (int64_t at = q->first; at < q->sees; at++) {
    load(j, TW_ATTENTION_K, batch, at, head / a->group, k);
    q->score[at] = a->scale * dot(x, k, a->d, &size);
    q->off[at] = fabs(a->scale) * (dot_off(a, size) + (a->is_cut ? cut_off(x, k, a->d, size) : 0));
    if (a->softcap > 0) { /* tanh: its slope is at most 1; 16 u for the function by an exponential */
      q->score[at] = a->softcap * tanh(q->score[at] / a->softcap);
      q->off[at] += 16 * TW_U32 * a->softcap;
    }
    q->largest = fmax(q->largest, q->score[at]);
  }
  double errors = 0;
  q->sum = 0;
  for (int64_t at = q->first; at < q->sees; at++) {
    const double e = exp(q->score[at] - q->largest);
    q->off[at] = exp_off(q->score[at], q->off[at], q->largest);
    q->sum += e;
    errors += e * q->off[at];
  }
  q->off_of_sum = errors / q->sum + (tw_sum_steps((double)(q->sees - q->first)) + 4) * TW_U32;
}

static bool forward_row(const job *j, int64_t batch, int64_t head, int64_t i, int64_t first, int64_t count,
                        double *value, double *bound) {
  const tw_attention *a = &j->a;
  const int64_t sees = tw_attention_sees(a, batch, i);
  double *room = tw_new(2 * (size_t)(sees + a->d), sizeof *room);
  weighted o = {0};
  bool done = room != NULL;
  query q = {.first = tw_attention_first(a, batch, i), .sees = sees};
  if (done) {
    q.score = room + 2 * a->d;
    q.off = q.score + sees;
    score(j, batch, head, i, room, &q);
  }
  if (done && j->operand == TW_ATTENTION_LSE) {
    const double logs = log(q.sum);
    value[0] = q.largest + logs;
    bound[0] = tw_store_error(TW_F32, value[0], q.off_of_sum + 4 * TW_U32 * (fabs(q.largest) + fabs(logs) + 1));
  } else if (done && (done = new_weighted(&o, count))) {
    for (int64_t at = q.first; at < sees; at++) {
      const double p = exp(q.score[at] - q.largest) / q.sum;
      load(j, TW_ATTENTION_V, batch, at, head / a->group, room);
      add(&o, p, p * q.off[at], room + first);
    }
    for (int64_t c = 0; c < count; c++) {
      value[c] = o.sum[c];
      const double off = a->is_cut ? 2 * weighted_off(&o, c, TW_BF16) : weighted_off(&o, c, a->type); /* P and V */
      bound[c] = tw_store_error(a->type, o.sum[c], off + q.off_of_sum * fabs(o.sum[c]));
    }
  }
  free(room);
  free(o.sum);
  return done;
}

/* ---- backward ---- */

/* One query and one key: P and dS, and their error bounds. */
typedef struct pair {
  double p, p_off, ds, ds_off;
} pair;

typedef struct query_side {
  double *q, *gradient, *o; /* vectors of d */
  double lse, d, d_off;     /* d: dO . O */
} query_side;

static void load_query(const job *j, int64_t batch, int64_t head, int64_t i, query_side *s) {
  const tw_attention *a = &j->a;
  double size;
  load(j, TW_ATTENTION_Q, batch, i, head, s->q);
  load(j, TW_ATTENTION_DO, batch, i, head, s->gradient);
  load(j, TW_ATTENTION_O, batch, i, head, s->o);
  s->lse = (double)((const float *)j->buffer[TW_ATTENTION_LSE])[(batch * a->query_heads + head) * a->queries + i];
  s->d = dot(s->gradient, s->o, a->d, &size);
  s->d_off = dot_off(a, size);
}

/* Prefetches a later query: rows of one head are far apart in memory, so the processor does not do it by itself. Without
 * it, a row of dK or dV takes almost twice as long (docs/lab/2026-11-cdna-sampled-grids.md). */
enum { AHEAD = 4 };
static void prefetch_query(const job *j, int64_t batch, int64_t head, int64_t i) {
  static const int of[] = {TW_ATTENTION_Q, TW_ATTENTION_DO, TW_ATTENTION_O};
  const tw_attention *a = &j->a;
  const size_t bytes = (size_t)tw_type_bits(a->type) / 8 * (size_t)a->d;
  const size_t at = (size_t)(tw_attention_query(a, batch, i) * a->query_heads + head) * bytes;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++)
    for (size_t b = 0; b < bytes; b += 64) __builtin_prefetch((const char *)j->buffer[of[k]] + at + b);
}

static pair pair_of(const tw_attention *a, const query_side *s, const double *k, const double *v) {
  double size;
  const double raw = dot(s->q, k, a->d, &size), x = a->scale * raw, x_off = fabs(a->scale) * dot_off(a, size);
  pair r = {.p = exp(x - s->lse)};
  r.p_off = r.p * exp_off(x, x_off, s->lse);
  const double dp = dot(s->gradient, v, a->d, &size), difference = dp - s->d;
  r.ds = r.p * difference;
  r.ds_off = r.p_off * fabs(difference) + r.p * (dot_off(a, size) + s->d_off + 4 * TW_U32 * (fabs(dp) + fabs(s->d)));
  return r;
}

static void finish(const tw_attention *a, const weighted *w, double scale, double *value, double *bound) {
  for (int64_t c = 0; c < w->n; c++) {
    value[c] = scale * w->sum[c];
    bound[c] = tw_store_error(a->type, value[c], fabs(scale) * weighted_off(w, c, a->type));
  }
}

static bool query_gradient(const job *j, int64_t batch, int64_t head, int64_t i, int64_t first, int64_t count,
                           double *value, double *bound) {
  const tw_attention *a = &j->a;
  double *room = tw_new(5 * (size_t)a->d, sizeof *room);
  weighted w = {0};
  const bool done = room && new_weighted(&w, count);
  if (done) {
    double *k = room + 3 * a->d, *v = k + a->d;
    query_side s = {.q = room, .gradient = room + a->d, .o = room + 2 * a->d};
    load_query(j, batch, head, i, &s);
    for (int64_t at = tw_attention_first(a, batch, i); at < tw_attention_sees(a, batch, i); at++) {
      load(j, TW_ATTENTION_K, batch, at, head / a->group, k);
      load(j, TW_ATTENTION_V, batch, at, head / a->group, v);
      const pair r = pair_of(a, &s, k, v);
      add(&w, r.ds, r.ds_off, k + first);
    }
    finish(a, &w, a->scale, value, bound);
  }
  free(room);
  free(w.sum);
  return done;
}

/* A row of dK or dV. */
static bool key_gradient(const job *j, int64_t batch, int64_t key_head, int64_t at, int64_t first, int64_t count,
                         double *value, double *bound) {
  const tw_attention *a = &j->a;
  const bool of_value = j->operand == TW_ATTENTION_DV;
  double *room = tw_new(5 * (size_t)a->d, sizeof *room);
  weighted w = {0};
  const bool done = room && new_weighted(&w, count);
  if (done) {
    double *k = room + 3 * a->d, *v = k + a->d;
    query_side s = {.q = room, .gradient = room + a->d, .o = room + 2 * a->d};
    load(j, TW_ATTENTION_K, batch, at, key_head, k);
    load(j, TW_ATTENTION_V, batch, at, key_head, v);
    for (int64_t head = key_head * a->group; head < (key_head + 1) * a->group; head++)
      for (int64_t i = 0; i < a->queries; i++) {
        if (at >= tw_attention_sees(a, batch, i) || at < tw_attention_first(a, batch, i)) continue;
        if (i + AHEAD < a->queries) prefetch_query(j, batch, head, i + AHEAD);
        load_query(j, batch, head, i, &s);
        const pair r = pair_of(a, &s, k, v);
        add(&w, of_value ? r.p : r.ds, of_value ? r.p_off : r.ds_off, (of_value ? s.gradient : s.q) + first);
      }
    finish(a, &w, of_value ? 1 : a->scale, value, bound);
  }
  free(room);
  free(w.sum);
  return done;
}

/* ---- any output ---- */

/* The sequence that has a token. */
static int64_t batch_of(const tw_attention *a, int64_t token) {
  int64_t low = 0, high = a->batches -
                          1; /* the last one that begins at the token or before it is the only one that is not empty */
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (a->start_of[middle] <= token)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const tw_attention *a = &j->a;
  if (a->start_of) {
    const bool of_lse = j->operand == TW_ATTENTION_LSE;
    const int64_t token = of_lse ? first : row / a->query_heads, head = of_lse ? row : row % a->query_heads;
    const int64_t of = batch_of(a, token), i = token - a->start_of[of];
    return of_lse ? forward_row(j, of, head, i, 0, 1, value, bound)
                  : forward_row(j, of, head, i, first, count, value, bound);
  }
  if (!a->backward && j->operand == TW_ATTENTION_LSE)
    return forward_row(j, row / a->query_heads, row % a->query_heads, first, 0, 1, value, bound);
  const bool of_keys = j->operand == TW_ATTENTION_DK || j->operand == TW_ATTENTION_DV;
  const int64_t heads = of_keys ? a->key_heads : a->query_heads, positions = of_keys ? a->keys : a->queries;
  const int64_t head = row % heads, at = row / heads % positions, batch = row / heads / positions;
  return (of_keys       ? key_gradient
          : a->backward ? query_gradient
                        : forward_row)(j, batch, head, at, first, count, value, bound);
}

tw_status tw_attention_exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n,
                             const tw_place place[], double value[], double bound[], int threads, tw_error *error) {
  const job j = {.a = tw_attention_read(p, buffers), .buffer = buffers, .operand = operand};
  const bool alone = !j.a.backward && operand == TW_ATTENTION_LSE;
  return (alone ? tw_exact_elements : tw_exact_rows)(make_row, &j, n, place, value, bound, threads, error);
}
