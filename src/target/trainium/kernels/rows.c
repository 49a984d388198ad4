/* rows.c - layer and RMS normalization, and softmax, on Trainium (rows.py.in, softmax.py.in).
 *
 *   split 4            columns in parts, so that transfers, reductions and stores overlap
 *   spread transfer    weights come to all partitions by DMA, or by a product with ones
 *   sums vector        the engine of the first sum
 *   scale scalar       rows are scaled on Scalar; else on Vector, together with the weights
 *   multiply, add      engines of products with weights and of sums with biases */
#include <string.h>

#include "op/layernorm.h"
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int split, spread, sums, scale;
  int multiply, add; /* trn_choice */
} plan;

#define SPLIT                                                                                                          \
  TW_VERB("split", "split 4", "Divide the columns into this many parts, each with its own transfer.", 1,               \
          TW_NUMBER("", plan, split, 1, 64))
#define MULTIPLY                                                                                                       \
  TRN_ENGINE(multiply, "gpsimd", TRN_CHOICES,                                                                          \
             "Multiply by the weights (softmax: by the reciprocal of the sum) on this engine.")

static const tw_verb verbs[] = {
    {SPLIT},
    {TW_VERB("spread", "spread transfer",
             "Broadcast weights to all partitions by DMA (transfer) or by a product with ones.", 1,
             TW_CHOICE("", plan, spread, TRN_BY_PRODUCT, "product|transfer"))},
    {TW_VERB("sums", "sums vector", "Sum rows on this engine.", 1, TW_CHOICE("", plan, sums, 0, "scalar|vector"))},
    {TW_VERB("scale", "scale scalar", "Scale rows on Scalar, or on Vector in one instruction with the weights.", 1,
             TW_CHOICE("", plan, scale, 0, "vector|scalar"))},
    {MULTIPLY},
    {TRN_ENGINE(add, "gpsimd", TRN_CHOICES, "Add the bias on this engine.")},
};
static const tw_language rows_language = {TW_LANGUAGE("layernorm on Trainium", verbs)};

static const tw_verb softmax_verbs[] = {{SPLIT}, {MULTIPLY}};
static const tw_language softmax_language = {TW_LANGUAGE("softmax on Trainium", softmax_verbs)};

static bool is_norm(const trn_subject *s) { return strcmp(s->problem->op->name, "layernorm") == 0; }
static bool is_layer(const trn_subject *s) { return is_norm(s) && trn_key(s, "norm") == TW_NORM_LAYER; }

/* Bytes of a partition of SBUF: two tiles of rows, the weights, and parts of results and of scratch. */
static int64_t sbuf_bytes(const trn_subject *s, int split) {
  const int64_t cols = trn_key(s, "cols"), size = trn_key_bytes(s, "a"), part = cols / split;
  return is_norm(s) ? (2 + 1 + is_layer(s)) * cols * size + part * (2 * 4 + 2 * size + 2 * 4)
                    : 2 * cols * (size + 4) + 2 * part * size;
}

/* The fewest parts that fit. */
static void start(const trn_subject *s, void *out) {
  plan *p = out;
  p->split = 1;
  while (p->split < 64 && sbuf_bytes(s, p->split) > s->config->memory.sbuf_bytes &&
         trn_key(s, "cols") % (2 * p->split) == 0)
    p->split *= 2;
}

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t cols = trn_key(s, "cols");
  if (is_norm(s) && (trn_key(s, "residual") || trn_key(s, "quantize")))
    return tw_fail(error, TW_USAGE, "unsupported residual or quantize: schedules on %s have one input and one output",
                   s->config->name);
  if (is_norm(s) && tw_problem_real(s->problem, "dropout") > 0)
    return tw_fail(error, TW_USAGE, "unsupported dropout: schedules on %s require dropout=0", s->config->name);
  if (is_norm(s) &&
      (!trn_key(s, "affine") || trn_key(s, "groups") > 1 || trn_key(s, "span") > 1 || trn_key(s, "inner") > 1))
    return tw_fail(
        error, TW_USAGE,
        "unsupported affine=0, groups, span or inner: schedules on %s have neighbours with a weight for each column",
        s->config->name);
  if (!is_norm(s) && trn_key(s, "log"))
    return tw_fail(error, TW_USAGE, "unsupported log=1: schedules on %s compute the softmax itself", s->config->name);
  if (cols % p->split)
    return tw_fail(error, TW_USAGE, "unsupported split %d; it must divide cols=%lld", p->split, (long long)cols);
  if (is_norm(s) && (p->add == TRN_CHOOSE_SCALAR || p->multiply == TRN_CHOOSE_SCALAR))
    return tw_fail(error, TW_USAGE, "unsupported engine scalar; expected vector or gpsimd for two tiles");
  return trn_fits(s, "cols=", cols, sbuf_bytes(s, p->split), error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const double tiles = (double)trn_row_tiles(s), cols = (double)trn_key(s, "cols"),
               n = tiles * cols /* elements of a partition */, both = c->vector.tensor_tensor_32;
  w->run_bytes = cols / p->split * trn_key_bytes(s, "a");
  w->transfers = 2 * tiles * p->split;
  w->first = w->last = cols / p->split * 1.5;
  if (!is_norm(s)) {
    trn_add(s, w, TRN_CHOOSE_VECTOR, c->vector.reduce, n, 0);
    trn_add(s, w, TRN_CHOOSE_SCALAR, 0, n, 0);
    trn_add(s, w, (trn_choice)p->multiply, c->vector.copy_32, n, 0);
    return;
  }
  if (p->spread == TRN_BY_TRANSFER)
    w->bytes += 128 * cols * trn_key_bytes(s, "a") * (1 + is_layer(s));
  else
    w->first += cols * c->tensor.row_cycles_32 / c->tensor.ghz;
  trn_add(s, w, TRN_CHOOSE_SCALAR, 0, n * (1 + (is_layer(s) && !p->sums) + (p->scale || is_layer(s))), 0);
  if (is_layer(s) && p->sums) trn_add(s, w, TRN_CHOOSE_VECTOR, c->vector.reduce, n, 0);
  trn_add(s, w, p->scale ? (trn_choice)p->multiply : TRN_CHOOSE_VECTOR, both, n, 0);
  if (is_layer(s)) trn_add(s, w, (trn_choice)p->add, both, n, 0);
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)now;
  trn_offer_powers(m, "split", "one part is computed while the next is loaded", "split ", 1, 64);
  static const tw_offer offers[] = {
      {"spread", "spread transfer", "no multiplications before the first rows"},
      {"spread", "spread product", "weights are read from HBM once"},
      {"sums", "sums vector", "Scalar has less to do"},
      {"sums", "sums scalar", "Vector has less to do"},
      {"scale", "scale scalar", "Vector has less to do"},
      {"scale", "scale vector", "one pass less"},
  };
  trn_offer_engines(m, "multiply", "multiply");
  if (!is_norm(s)) return;
  tw_menu_offer_all(m, sizeof offers / sizeof *offers, offers);
  trn_offer_engines(m, "add", "add");
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  TRN_NUMBERS(slots, {"tiles", trn_row_tiles(s)}, {"split", p->split}, {"part", trn_key(s, "cols") / p->split});
  tw_slots_text(slots, "multiply", trn_engine_argument((trn_choice)p->multiply));
  if (!is_norm(s)) return;
  tw_slots_flag(slots, "layer", is_layer(s));
  tw_slots_flag(slots, "by_transfer", p->spread == TRN_BY_TRANSFER);
  tw_slots_flag(slots, "sums_vector", p->sums);
  tw_slots_flag(slots, "center_scalar", p->scale);
  tw_slots_text(slots, "add", trn_engine_argument((trn_choice)p->add));
}

#define ROWS .plan_size = sizeof(plan), .start = start, .legal = legal, .work = work, .offer = offer, .fill = fill

const trn_kind trn_rows = {
    .op = "layernorm", .language = &rows_language, .template = "trainium/kernels/rows.py.in", ROWS};
const trn_kind trn_softmax = {
    .op = "softmax", .language = &softmax_language, .template = "trainium/kernels/softmax.py.in", ROWS};
