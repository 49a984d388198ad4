/* pool.c - maxima over windows that move by one element on Trainium (pool.py.in).
 *
 *   height 4           rows of the output in a partition
 *   rows, columns      engines of the maxima over rows, then over columns */
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int height, rows, columns;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("height", "height 4", "Compute this many output rows in each partition.", 1,
             TW_NUMBER("", plan, height, 1, 16))},
    {TRN_ENGINE(rows, "vector", TRN_CHOICES, "Compute maxima over rows on this engine.")},
    {TRN_ENGINE(columns, "gpsimd", TRN_CHOICES, "Compute maxima over columns on this engine.")},
};
static const tw_language language = {TW_LANGUAGE("pool on Trainium", verbs)};

TRN_START(.height = 1, .rows = TRN_CHOOSE_VECTOR, .columns = TRN_CHOOSE_VECTOR)

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t pool = trn_key(s, "r"), w = trn_key(s, "w"), size = trn_key_bytes(s, "a");
  static const trn_needed needed[] = {{"d", 1, "1"},   {"t", 1, "1"},        {"stride", 1, "1"},
                                      {"pad", 0, "0"}, {"dilation", 1, "1"}, {"f", 0, "max"}};
  const tw_status status = trn_needs(s, needed, sizeof needed / sizeof *needed, error);
  if (status != TW_OK) return status;
  if (p->rows == TRN_CHOOSE_SCALAR || p->columns == TRN_CHOOSE_SCALAR)
    return tw_fail(error, TW_USAGE, "unsupported engine scalar; expected vector or gpsimd for two tiles");
  if (trn_key(s, "s") != pool)
    return tw_fail(error, TW_USAGE, "unsupported s=%lld; expected as many columns of a window as rows (r=%lld)",
                   (long long)trn_key(s, "s"), (long long)pool);
  const int64_t bytes = 2 * size * w * (3 * p->height + pool - 1);
  return trn_fits(s, "height ", p->height, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const double pool = (double)trn_key(s, "r"), h = (double)trn_key(s, "h") - pool + 1, width = (double)trn_key(s, "w"),
               n = (double)trn_key(s, "n"), blocks = n * ((double)(int64_t)(h / (128.0 * p->height)) + 1);
  for (int k = 0; k < 2; k++)
    trn_add(s, w, (trn_choice)(k ? p->columns : p->rows), s->config->vector.tensor_tensor_32,
            blocks * (pool - 1) * p->height * width, blocks);
  w->bytes = n * h * width * trn_key_bytes(s, "a") * (2 + (pool - 1) / p->height);
  w->transfers = 2 * blocks;
  w->first = w->last = p->height * width * 2 + 2000;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  trn_offer_powers(m, "height", "taller parts reuse each loaded row in more windows", "height ", 1, 16);
  trn_offer_engines(m, "columns", "columns");
  trn_offer_engines(m, "rows", "rows");
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  const int64_t pool = trn_key(s, "r"), h = trn_key(s, "h"), w = trn_key(s, "w");
  TRN_NUMBERS(slots, {"pool", pool}, {"less", pool - 1}, {"second", pool > 1 ? 1 : 0}, {"out_h", h - pool + 1},
              {"out_w", w - pool + 1}, {"height", p->height}, {"block", 128 * p->height});
  tw_slots_text(slots, "rows_engine", trn_engine_argument((trn_choice)p->rows));
  tw_slots_text(slots, "columns_engine", trn_engine_argument((trn_choice)p->columns));
}

TRN_KIND(pool, NULL);
