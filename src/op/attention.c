/* attention.c - scaled dot-product attention, forward and backward: keys, operands, inputs, cost. attention_exact.c has
 * the reference.
 *
 *   S[i][j] = scale Q[i] . K[j]                for keys j that query i sees
 *   L[i]    = log of the sum of exp(S[i][j])   over these keys
 *   P[i][j] = exp(S[i][j] - L[i]), else 0
 *   O[i]    = sum of P[i][j] V[j]
 *
 * for each sequence and each of hq heads of queries; hq / hkv neighbouring ones share a head of keys and values
 * (grouped queries). causal=1: the last query sees all keys, each earlier query one less than the next (aligned at the
 * bottom right, as in FlashAttention); every query must see a key. window=w: a query sees the last w of these keys only.
 * softcap=c: scores are c tanh(S / c) before the softmax.
 *
 * lengths=1: sequence b has LENGTHS[b] keys, sq to sk; K and V have room for sk. page=n: key j of a sequence is row j % n of
 * page PAGES[b][j / n]; K and V are such pages, in any order, as in the caches of a server.
 *
 * tokens=n: the sequences follow one another in Q, K, V and O, n tokens in all. Sequence b has tokens STARTS[b] to
 * STARTS[b + 1], at most sq = sk of them, and may be empty.
 *
 * pass=backward computes the gradients of Q, K and V from that of O. O and LSE are inputs, and their values define the
 * result:
 *
 *   P[i][j]  = exp(S[i][j] - LSE[i])            D[i]  = dO[i] . O[i]
 *   dS[i][j] = P[i][j] (dO[i] . V[j] - D[i])    dQ[i] = scale sum of dS[i][j] K[j]
 *   dV[j]    = sum of P[i][j] dO[i]             dK[j] = scale sum of dS[i][j] Q[i]     over the heads of its group, too
 *
 * Their test data are close to the results of a forward pass, but not equal: exact data would take longer to compute
 * than the kernel's whole check. A kernel that ignores these inputs is found.
 *
 * The C parameters of a kernel are Q [b][sq][hq][d], K and V [b][sk][hkv][d], O [b][sq][hq][d], LSE [b][hq][sq] and,
 * for the backward pass, dO as O, dQ as Q, dK as K, dV as V: dense, heads inside of positions, as in the projections
 * before and after attention. With pages K and V are [pages][page][hkv][d]. After LSE come LENGTHS [b] and
 * PAGES [b][pages of a sequence], if the problem has them. With tokens, Q and O are [tokens][hq][d], K and V
 * [tokens][hkv][d], LSE is [hq][tokens], and STARTS [b + 1] comes last. LSE is f32, LENGTHS, PAGES and STARTS are i32, the
 * rest of type a. */
#include "op/attention.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/compare.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { D_MOST = 1024 };

static const tw_key keys[] = {
    TW_SIZE_KEY("b", 1 << 20, 16, "sequences"),
    TW_SIZE_KEY("hq", 1 << 12, 16, "query heads"),
    TW_SIZE_KEY("hkv", 1 << 12, 16, "key and value heads"),
    TW_SIZE_KEY("sq", 1 << 22, 2048, "queries"),
    TW_SIZE_KEY("sk", 1 << 22, 2048, "keys"),
    TW_SIZE_KEY("d", D_MOST, 128, "elements of a head"),
    TW_FLAG_KEY("causal", "causal mask: a query sees only keys up to its own position"),
    TW_INT_KEY("window", "0", 0, 1 << 22,
               "sliding window with causal=1: a query sees at most this many keys, up to its own; 0 = all"),
    TW_REAL_KEY("softcap", "0",
                "soft cap: scores are softcap * tanh(score / softcap) before the softmax (forward only); 0 = none"),
    TW_FLAG_KEY("lengths", "1: LENGTHS holds the number of keys of each sequence, sq to sk (forward only)"),
    TW_INT_KEY("page", "0", 0, 1 << 16,
               "keys of a page: PAGES lists the pages of K and V that each sequence has (forward only); 0 = no pages"),
    TW_INT_KEY(
        "tokens", "0", 0, 1 << 30,
        "tokens of all sequences, which follow one another; STARTS says where each begins, and has at most sq = sk "
        "tokens (forward only); 0 = sequences have equal sizes"),
    TW_INT_KEY(
        "pitch", "0", 0, 1 << 24,
        "elements from one position of Q, K and V to the next, as in one projection to all three (forward only); "
        "0 = dense"),
    TW_CHOICE_KEY("pass", "forward", "forward|backward", "forward computes O and LSE; backward computes dQ, dK and dV"),
    TW_REAL_KEY("scale", "0", "factor on the scores; 0 = 1 / sqrt(d)"),
    TW_CHOICE_KEY("arithmetic", "full", "full|bf16",
                  "full: products of type a; bf16: f32 Q, K, P and V may be rounded to bf16 (forward only)"),
    TW_TYPE_KEY("a", "", "element type of every operand except LSE: bf16, f16 or f32"),
};

tw_attention tw_attention_of(const tw_problem *p) {
  tw_attention a = {.batches = tw_problem_int(p, "b"),
                    .query_heads = tw_problem_int(p, "hq"),
                    .key_heads = tw_problem_int(p, "hkv"),
                    .queries = tw_problem_int(p, "sq"),
                    .keys = tw_problem_int(p, "sk"),
                    .d = tw_problem_int(p, "d"),
                    .causal = tw_problem_int(p, "causal"),
                    .window = tw_problem_int(p, "window"),
                    .page = tw_problem_int(p, "page"),
                    .tokens = tw_problem_int(p, "tokens"),
                    .pitch = tw_problem_int(p, "pitch"),
                    .softcap = (double)(float)tw_problem_real(p, "softcap"),
                    .has_lengths = tw_problem_int(p, "lengths"),
                    .is_cut = tw_problem_int(p, "arithmetic"),
                    .backward = tw_problem_int(p, "pass") == 1,
                    .scale = (double)(float)tw_problem_real(p, "scale"),
                    .type = tw_problem_type(p, "a")};
  a.group = a.query_heads / a.key_heads;
  if (a.scale == 0) a.scale = 1 / sqrt((double)a.d);
  return a;
}

tw_attention tw_attention_read(const tw_problem *p, void *const buffers[]) {
  tw_attention a = tw_attention_of(p);
  int at = TW_ATTENTION_MORE;
  if (a.has_lengths) a.length_of = buffers[at++];
  if (a.page) a.page_of = buffers[at];
  if (a.tokens) a.start_of = buffers[at];
  return a;
}

tw_status tw_attention_without(const tw_attention *a, unsigned without, const char *kernels, tw_error *error) {
  const struct {
    unsigned bit;
    const char *name;
    double value;
  } had[] = {{TW_ATTENTION_WINDOW, "window", (double)a->window}, {TW_ATTENTION_SOFTCAP, "softcap", a->softcap},
             {TW_ATTENTION_LENGTHS, "lengths", a->has_lengths},  {TW_ATTENTION_PAGE, "page", (double)a->page},
             {TW_ATTENTION_TOKENS, "tokens", (double)a->tokens}, {TW_ATTENTION_PITCH, "pitch", (double)a->pitch}};
  for (size_t i = 0; i < sizeof had / sizeof *had; i++)
    if ((without & had[i].bit) && had[i].value != 0)
      return tw_fail(error, TW_USAGE, "%s do not support %s=%g; use %s=0, or run a kernel of your own", kernels,
                     had[i].name, had[i].value, had[i].name);
  return TW_OK;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  const tw_attention a = tw_attention_of(p);
  if (!tw_is_real(a.type))
    return tw_fail(error, TW_UNSUPPORTED, "attention does not support a=%s; expected bf16, f16 or f32",
                   tw_type_name(a.type));
  if (a.query_heads % a.key_heads)
    return tw_fail(error, TW_USAGE, "hq=%lld query heads cannot share hkv=%lld key heads evenly; hkv must divide hq",
                   (long long)a.query_heads, (long long)a.key_heads);
  if (a.is_cut && (a.type != TW_F32 || a.backward))
    return tw_fail(error, TW_UNSUPPORTED, "unsupported arithmetic=bf16; expected a=f32 and pass=forward with it");
  if (a.causal && a.queries > a.keys)
    return tw_fail(error, TW_USAGE,
                   "causal=1 with sq=%lld above sk=%lld: the first queries would see no key; give sq <= sk",
                   (long long)a.queries, (long long)a.keys);
  if (a.window && !a.causal) return tw_fail(error, TW_USAGE, "window=%lld requires causal=1", (long long)a.window);
  if (a.backward) {
    const tw_status status =
        tw_attention_without(&a, TW_ATTENTION_ANY & ~TW_ATTENTION_WINDOW, "problems with pass=backward", error);
    if (status != TW_OK) return status;
  }
  if (!(a.softcap >= 0 && a.softcap <= 1e6))
    return tw_fail(error, TW_USAGE, "softcap=%g is out of range; expected 0 to 1e6", a.softcap);
  if (a.has_lengths && a.queries > a.keys)
    return tw_fail(error, TW_USAGE, "lengths=1 with sq=%lld above sk=%lld; give sq <= sk", (long long)a.queries,
                   (long long)a.keys);
  if (!(fabs(a.scale) <= 16)) return tw_fail(error, TW_USAGE, "scale=%g is out of range; expected -16 to 16", a.scale);
  const double most =
      (double)a.batches *
      (a.pitch ? fmax((double)a.queries, (double)a.keys) * (double)a.pitch
               : fmax((double)a.queries * (double)a.query_heads, (double)a.keys * (double)a.key_heads) * (double)a.d);
  const int64_t heads = a.query_heads > a.key_heads ? a.query_heads : a.key_heads;
  if (a.pitch && (a.pitch < heads * a.d || a.page || a.has_lengths))
    return tw_fail(error, TW_USAGE,
                   "pitch=%lld requires page=0, lengths=0 and at least the %lld elements of a position's heads",
                   (long long)a.pitch, (long long)(heads * a.d));
  if (a.tokens) {
    const tw_status status = tw_attention_without(&a, TW_ATTENTION_LENGTHS | TW_ATTENTION_PAGE | TW_ATTENTION_PITCH,
                                                  "problems with tokens", error);
    if (status != TW_OK) return status;
    if (a.queries != a.keys || a.tokens > a.batches * a.queries)
      return tw_fail(error, TW_USAGE,
                     "tokens=%lld requires sq = sk and at most b * sq tokens (found sq=%lld sk=%lld b=%lld)",
                     (long long)a.tokens, (long long)a.queries, (long long)a.keys, (long long)a.batches);
  }
  if (a.page && a.batches * tw_attention_pages(&a) > INT32_MAX)
    return tw_fail(error, TW_USAGE, "page=%lld makes more pages than PAGES can number; use larger pages",
                   (long long)a.page);
  if (most > 0x1p40)
    return tw_fail(error, TW_USAGE, "an array of %.3g elements is too large; choose smaller b, sq or sk", most);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_attention a = tw_attention_of(p);
  const int64_t q[] = {a.batches, a.queries, a.query_heads, a.d}, k[] = {a.batches, a.keys, a.key_heads, a.d};
  const int64_t pages = a.page ? tw_attention_pages(&a) : 0;
  const int64_t paged[] = {a.batches * pages, a.page, a.key_heads, a.d}, *kv = a.page ? paged : k;
  if (a.tokens) {
    const int64_t of_queries[] = {a.tokens, a.query_heads, a.d}, of_keys[] = {a.tokens, a.key_heads, a.d};
    out[TW_ATTENTION_Q] = tw_operand_dense("Q", a.type, 3, of_queries);
    out[TW_ATTENTION_K] = tw_operand_dense("K", a.type, 3, of_keys);
    out[TW_ATTENTION_V] = tw_operand_dense("V", a.type, 3, of_keys);
    out[TW_ATTENTION_O] = tw_operand_dense("O", a.type, 3, of_queries);
    out[TW_ATTENTION_LSE] = tw_operand_dense("LSE", TW_F32, 2, (int64_t[]){a.query_heads, a.tokens});
    out[TW_ATTENTION_O].is_output = out[TW_ATTENTION_LSE].is_output = true;
    out[TW_ATTENTION_MORE] = tw_operand_dense("STARTS", TW_I32, 1, (int64_t[]){a.batches + 1});
    return TW_ATTENTION_MORE + 1;
  }
  out[TW_ATTENTION_Q] = tw_operand_positions("Q", a.type, q, a.pitch);
  out[TW_ATTENTION_K] = tw_operand_positions("K", a.type, kv, a.pitch);
  out[TW_ATTENTION_V] = tw_operand_positions("V", a.type, kv, a.pitch);
  out[TW_ATTENTION_O] = tw_operand_dense("O", a.type, 4, q);
  out[TW_ATTENTION_LSE] = tw_operand_dense("LSE", TW_F32, 3, (int64_t[]){a.batches, a.query_heads, a.queries});
  if (!a.backward) {
    size_t n = TW_ATTENTION_MORE;
    out[TW_ATTENTION_O].is_output = out[TW_ATTENTION_LSE].is_output = true;
    if (a.has_lengths) out[n++] = tw_operand_dense("LENGTHS", TW_I32, 1, (int64_t[]){a.batches});
    if (a.page) out[n++] = tw_operand_dense("PAGES", TW_I32, 2, (int64_t[]){a.batches, pages});
    return n;
  }
  out[TW_ATTENTION_DO] = tw_operand_dense("dO", a.type, 4, q);
  out[TW_ATTENTION_DQ] = tw_operand_dense("dQ", a.type, 4, q);
  out[TW_ATTENTION_DK] = tw_operand_dense("dK", a.type, 4, k);
  out[TW_ATTENTION_DV] = tw_operand_dense("dV", a.type, 4, k);
  for (int i = TW_ATTENTION_DQ; i <= TW_ATTENTION_DV; i++) out[i].is_output = true;
  return TW_ATTENTION_DV + 1;
}

/* ---- inputs ----
 *
 * Scores of most queries have a deviation of 4/3 for d elements and scale 1 / sqrt(d): many keys contribute. One query
 * of 16 is 64 times as large: few keys contribute, and exp overflows binary32 unless the maximum is subtracted. Two of 16
 * are 4 times as large: many keys have weights that are small, but not small enough to be left out. Another query of 16 has scores near -120: exp underflows unless the maximum is subtracted. So a maximum that begins at 0 is
 * wrong, and log-sum-exps have both signs. For that, the first element of every key is near 2.
 *
 * In the forward pass, one query of eight points at a key, more often at a late one: it is a multiple of that key, whose
 * score is far above all others. So a kernel that ends early when its sum seems to be complete is wrong. */

enum { AMPLITUDE = 2, LOUD = 64, RAISED = 4, KEY_OFFSET = 2, KEY_SHARE = 64, OFFSET_LEAST_D = 4 };
static const double LOW_SCORE = -120, LARGEST_QUERY = 30000; /* a query that f16 can hold */

static bool is_low(const tw_attention *a, uint64_t seed, int64_t row) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)3 << 60 | (uint64_t)row);
  return a->d >= OFFSET_LEAST_D && tw_random_below(&r, 16) == 0;
}

/* Moves the first element of keys to KEY_OFFSET and that of low queries to where their scores are LOW_SCORE. */
static void offset_scores(const tw_attention *a, uint64_t seed, void *q, void *k) {
  if (a->d < OFFSET_LEAST_D) return;
  /* Cancels the scale of the first element of keys as a term: a large scale would move the scores of low queries. */
  const int exponent = a->is_cut ? 0 : tw_term_exponent(seed, 0, a->d);
  const int64_t rows = a->tokens ? a->tokens : a->batches * (a->page ? tw_attention_pages(a) * a->page : a->keys);
  for (int64_t row = 0; row < rows * a->key_heads; row++) {
    const int64_t at = tw_attention_at(a, row / a->key_heads, a->key_heads, row % a->key_heads);
    tw_set_element(a->type, k, at, KEY_OFFSET + ldexp(tw_element(a->type, k, at), exponent) / KEY_SHARE);
  }
  const double low = LOW_SCORE / KEY_OFFSET / a->scale;
  for (int64_t row = 0; row < tw_attention_rows(a) * a->query_heads; row++)
    if (is_low(a, seed, row))
      tw_set_element(a->type, q, tw_attention_at(a, row / a->query_heads, a->query_heads, row % a->query_heads),
                     fmax(-LARGEST_QUERY, fmin(low, LARGEST_QUERY)));
}

/* Of eight neighbouring rows, one at random points at a key. */
static bool points(uint64_t seed, int64_t row) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)9 << 60 | (uint64_t)(row / 8));
  return (int64_t)tw_random_below(&r, 8) == row % 8;
}

/* Makes a query a multiple of one of its keys. Elements are multiplied by `size`, which undoes the sizes of terms. */
static void point_at_a_key(const tw_attention *a, uint64_t seed, int64_t b, int64_t i, int64_t h, const double *size,
                           void *q, const void *k) {
  const int64_t row = tw_attention_query(a, b, i) * a->query_heads + h, sees = tw_attention_sees(a, b, i);
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)10 << 60 | (uint64_t)row);
  const double back = tw_random_real(&r), multiple = ldexp(a->scale < 0 ? -1 : 1, 2 + (int)tw_random_below(&r, 5));
  const int64_t key = sees - 1 - (int64_t)(back * back * (double)(sees - tw_attention_first(a, b, i)));
  const int64_t from = tw_attention_at(a, tw_attention_row(a, b, key), a->key_heads, h / a->group),
                to = tw_attention_at(a, tw_attention_query(a, b, i), a->query_heads, h);
  for (int64_t c = 0; c < a->d; c++)
    tw_set_element(a->type, q, to + c, multiple * size[c] * tw_element(a->type, k, from + c));
}

static void point_queries(const tw_attention *a, uint64_t seed, void *q, const void *k) {
  double size[D_MOST];
  for (int64_t c = 0; c < a->d; c++) size[c] = a->is_cut ? 1 : ldexp(1, 2 * tw_term_exponent(seed, c, a->d));
  if (a->d >= OFFSET_LEAST_D) size[0] = 0; /* equal in all keys */
  for (int64_t b = 0; b < a->batches; b++)
    for (int64_t i = 0; i < tw_attention_queries(a, b); i++)
      for (int64_t h = 0; h < a->query_heads; h++)
        if (points(seed, tw_attention_query(a, b, i) * a->query_heads + h))
          point_at_a_key(a, seed, b, i, h, size, q, k);
}

static tw_row_spread spread_of_query(uint64_t seed, int64_t row) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)row);
  const uint64_t kind = tw_random_below(&r, 16);
  return (tw_row_spread){.amplitude = AMPLITUDE * (kind == 0 ? LOUD : kind <= 2 ? RAISED : 1)};
}

/* In the backward pass, an input log-sum-exp must be close to that of its query's scores, because P would overflow
 * otherwise. For many quiet scores of this deviation it is log n + deviation^2 / 2; with a loud score it is the
 * maximum, which must be searched. With many long rows, fewer rows are loud, so the search takes a second at most.
 * The first element of a query adds its product with KEY_OFFSET to all scores. */

static const double LOUD_PRODUCTS = 1e9;

static bool is_loud(const tw_attention *a, uint64_t seed, int64_t row) {
  const double rows = (double)a->batches * (double)a->query_heads * (double)a->queries;
  const double share = fmin(1 / 16.0, LOUD_PRODUCTS / (rows * (double)a->keys * (double)a->d));
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)1 << 60 | (uint64_t)row);
  return tw_random_real(&r) < share;
}

static double largest_score(const tw_attention *a, const void *q, const void *k, int64_t b, int64_t i, int64_t h,
                            double *x, double *y) {
  double most = -HUGE_VAL;
  tw_element_row(a->type, q, ((b * a->queries + i) * a->query_heads + h) * a->d, 1, a->d, x);
  for (int64_t j = tw_attention_first(a, b, i); j < tw_attention_sees(a, b, i); j++) {
    tw_element_row(a->type, k, ((b * a->keys + j) * a->key_heads + h / a->group) * a->d, 1, a->d, y);
    double score = 0;
    for (int64_t c = 0; c < a->d; c++) score += x[c] * y[c];
    most = fmax(most, a->scale * score);
  }
  return most;
}

typedef struct lse_job {
  const tw_attention *a;
  uint64_t seed;
  void *q;
  const void *k;
  float *lse;
} lse_job;

static double size_of_term(const tw_attention *a, uint64_t seed, int64_t c) {
  return a->is_cut ? 1 : ldexp(1, tw_term_exponent(seed, c, a->d));
}

/* Fills one head of one sequence. Values are multiples of 2^-10, so that they do not depend on the host's log. */
static void fill_lse_of(void *with, size_t index) {
  const lse_job *j = with;
  const tw_attention *a = j->a;
  const int64_t b = (int64_t)index / a->query_heads, h = (int64_t)index % a->query_heads;
  double *x = tw_new(2 * (size_t)a->d, sizeof *x), *size = tw_new((size_t)a->d, sizeof *size); /* of a term */
  tw_random r;
  tw_random_seed_stream(&r, j->seed, (uint64_t)(TW_ATTENTION_LSE + 8) << 32 | (uint64_t)index);
  for (int64_t c = 0; size && c < a->d; c++) size[c] = size_of_term(a, j->seed, c);
  for (int64_t i = 0; i < a->queries; i++) {
    const int64_t row = (b * a->queries + i) * a->query_heads + h;
    const double moved = tw_random_real(&r) - 0.5;
    double about = 0, norm = 0;
    for (int64_t c = 0; c < a->d; c++) {
      const bool offset = c == 0 && a->d >= OFFSET_LEAST_D;
      const double e = tw_element(a->type, j->q, row * a->d + c), part = e / (offset ? KEY_SHARE
                                                                              : size ? size[c]
                                                                                     : size_of_term(a, j->seed, c));
      norm += part * part;
      if (offset) about = a->scale * e * KEY_OFFSET;
    }
    about += log((double)(tw_attention_sees(a, b, i) - tw_attention_first(a, b, i))) +
             a->scale * a->scale * norm * AMPLITUDE * AMPLITUDE / 6;
    if (x && is_loud(a, j->seed, row) && !is_low(a, j->seed, row)) {
      for (int64_t c = 0; c < a->d; c++)
        tw_set_element(a->type, j->q, row * a->d + c, LOUD * tw_element(a->type, j->q, row * a->d + c));
      about = largest_score(a, j->q, j->k, b, i, h, x, x + a->d);
    }
    j->lse[(int64_t)index * a->queries + i] = (float)(rint((about + moved) * 0x1p10) * 0x1p-10);
  }
  free(x);
  free(size);
}

/* Elements of Q and K along d are terms of scores. In the forward pass, elements of V along d have different sizes;
 * each contributes to one element of O. */
static void scale_channels(const tw_attention *a, uint64_t seed, const tw_operand o[], void *const buffers[]) {
  const tw_terms of_q = {.seed = seed, .n = a->d}, of_k = {.seed = seed, .n = a->d, .inverse = true};
  if (a->is_cut) return;
  tw_scale_terms(&of_q, &o[TW_ATTENTION_Q], buffers[TW_ATTENTION_Q]);
  tw_scale_terms(&of_k, &o[TW_ATTENTION_K], buffers[TW_ATTENTION_K]);
  if (!a->backward) tw_scale_terms(&of_q, &o[TW_ATTENTION_V], buffers[TW_ATTENTION_V]);
}

/* Of each two sequences, one has as many keys more than the mean as the other has fewer; a last one has three quarters at
 * least. So it is known how many there are at least. One of four has all keys, and the next one as few as possible. */
static int64_t least_length(const tw_attention *a) {
  const int64_t most = a->keys - a->keys / 4;
  return most > a->queries ? most : a->queries;
}

static void fill_lengths(const tw_attention *a, uint64_t seed, int32_t *length) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)5 << 60);
  for (int64_t b = 0; b < a->batches; b++) {
    const bool first = b % 2 == 0, alone = first && b + 1 == a->batches;
    const int64_t least = alone ? least_length(a) : a->queries;
    const int64_t drawn = least + (int64_t)tw_random_below(&r, (uint64_t)(a->keys - least + 1));
    const bool has_all = tw_random_below(&r, 4) == 0;
    length[b] = (int32_t)(!first ? a->keys + a->queries - length[b - 1] : has_all ? a->keys : drawn);
  }
}

/* Of each sequence any number of the tokens that are left, if the next ones have room for the rest. */
static void fill_starts(const tw_attention *a, uint64_t seed, int32_t *start) {
  int64_t left = a->tokens;
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)7 << 60);
  start[0] = 0;
  for (int64_t b = 0; b < a->batches; b++) {
    const int64_t room = (a->batches - 1 - b) * a->queries, most = left < a->queries ? left : a->queries;
    const int64_t least = left > room ? left - room : 0;
    const int64_t n = least + (int64_t)tw_random_below(&r, (uint64_t)(most - least + 1));
    start[b + 1] = start[b] + (int32_t)n;
    left -= n;
  }
}

/* All pages, in an order by chance. */
static void fill_pages(const tw_attention *a, uint64_t seed, int32_t *page) {
  const int64_t n = a->batches * tw_attention_pages(a);
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)6 << 60);
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = (int64_t)tw_random_below(&r, (uint64_t)i + 1);
    page[i] = page[at];
    page[at] = (int32_t)i;
  }
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_attention a = tw_attention_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  if (a.has_lengths) fill_lengths(&a, seed, buffers[TW_ATTENTION_MORE]);
  if (a.tokens) fill_starts(&a, seed, buffers[TW_ATTENTION_MORE]);
  if (a.page) fill_pages(&a, seed, buffers[TW_ATTENTION_MORE + a.has_lengths]);
  if (a.backward)
    tw_fill_uniform(seed, TW_ATTENTION_Q, &o[TW_ATTENTION_Q], AMPLITUDE, buffers[TW_ATTENTION_Q]);
  else
    tw_fill_rows(seed, TW_ATTENTION_Q, &o[TW_ATTENTION_Q], spread_of_query, buffers[TW_ATTENTION_Q]);
  for (int i = TW_ATTENTION_K; i <= TW_ATTENTION_V; i++) tw_fill_uniform(seed, i, &o[i], AMPLITUDE, buffers[i]);
  scale_channels(&a, seed, o, buffers);
  offset_scores(&a, seed, buffers[TW_ATTENTION_Q], buffers[TW_ATTENTION_K]);
  if (!a.backward) {
    a = tw_attention_read(p, buffers);
    point_queries(&a, seed, buffers[TW_ATTENTION_Q], buffers[TW_ATTENTION_K]);
  }
  for (int i = TW_ATTENTION_Q; i <= TW_ATTENTION_V && !a.backward; i++) tw_zero_a_row(seed, i, &o[i], buffers[i]);
  if (!a.backward) return;
  tw_fill_uniform(seed, TW_ATTENTION_O, &o[TW_ATTENTION_O], 0.5, buffers[TW_ATTENTION_O]);
  tw_fill_uniform(seed, TW_ATTENTION_DO, &o[TW_ATTENTION_DO], 1, buffers[TW_ATTENTION_DO]);
  lse_job job = {&a, seed, buffers[TW_ATTENTION_Q], buffers[TW_ATTENTION_K], buffers[TW_ATTENTION_LSE]};
  tw_parallel_for(0, (size_t)(a.batches * a.query_heads), fill_lse_of, &job);
}

/* ---- cost ---- */

/* The share of keys and values that must be read at least: sequences may be shorter, and windows reach less far. */
static double share_of_keys(const tw_attention *a) {
  const int64_t window = a->window + a->queries - 1, reach = a->window && window < a->keys ? window : a->keys;
  if (!a->has_lengths) return (double)reach / (double)a->keys;
  const int64_t least = least_length(a), alone = a->batches % 2 ? (least < reach ? least : reach) : 0;
  const int64_t pairs = a->batches / 2;
  return (double)(pairs * reach + alone) / ((double)a->batches * (double)a->keys);
}

/* Pairs of a query and a key that it sees, of one head, on average of the sequences. */
static double pairs(const tw_attention *a) {
  /* Of sequences with unequal lengths the mean is larger than that of equal ones. */
  const double even = (double)a->tokens / (double)a->batches;
  const double q = a->tokens ? even : (double)a->queries, k = a->tokens ? even : (double)a->keys;
  if (a->has_lengths) return fmax(q, q * k * share_of_keys(a) - q * q);
  if (!a->causal) return q * k;
  const double window = a->window ? (double)a->window : k, first = k - q + 1;
  const double growing = fmax(0, fmin(q, window - first)); /* queries that see less than a window */
  return growing * first + growing * (growing - 1) / 2 + (q - growing) * fmin(window, k);
}

/* The forward pass has two products of d for each pair, the backward pass five. */
static double operations(const tw_problem *p) {
  const tw_attention a = tw_attention_of(p);
  return (a.backward ? 5 : 2) * (double)a.batches * (double)a.query_heads * (double)a.d * pairs(&a);
}

/* Each operand once, and keys and values as far as they are needed. */
static double bytes(const tw_problem *p) {
  const tw_attention a = tw_attention_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  return tw_operands_once(p) - (1 - share_of_keys(&a)) * tw_operand_bytes(&o[TW_ATTENTION_K], 2); /* and V */
}

/* Operations of the host, including bounds; an exponential counts as 16. */
static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  const tw_attention a = tw_attention_of(p);
  const double d = (double)a.d, share = pairs(&a) / ((double)a.queries * (double)a.keys);
  const double of_query = share * (double)a.keys, of_key = share * (double)a.queries * (double)a.group;
  if (!a.backward) {
    *element = of_query * (d + 24);
    *row = operand == TW_ATTENTION_LSE ? *element * (double)a.queries : of_query * (4 * d + 24);
  } else {
    *element = (operand == TW_ATTENTION_DQ ? of_query : of_key) * (3 * d + 32);
    *row = (operand == TW_ATTENTION_DQ ? of_query : of_key) * (6 * d + 32);
  }
}

const tw_op tw_op_attention = {
    .name = "attention",
    .summary = "scaled dot-product attention with grouped queries, forward and backward",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .validate = validate,
    .operands = operands,
    .inputs = inputs,
    .reference = tw_exact_reference,
    .compare = tw_exact_compare,
    .operations = operations,
    .bytes = bytes,
    .exact = tw_attention_exact,
    .exact_cost = exact_cost,
    .survey = tw_attention_survey,
};
