/* cumsum.c - running sums of rows on Trainium (cumsum.py.in).
 *
 *   split 4      columns in parts, each of which begins with the sum before it */
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int split;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("split", "split 4",
             "Divide the columns into this many parts; each part starts from the previous part's last sum.", 1,
             TW_NUMBER("", plan, split, 1, 64))},
};
static const tw_language language = {TW_LANGUAGE("cumsum on Trainium", verbs)};

TRN_START(.split = 1)

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t cols = trn_key(s, "cols"), part = cols / p->split,
                bytes = part * (3 * trn_key_bytes(s, "a") + 2 * 4 + 2 * trn_key_bytes(s, "a"));
  if (trn_key(s, "reverse") || trn_key(s, "exclusive") || trn_key(s, "masked"))
    return tw_fail(error, TW_USAGE, "unsupported reverse=1, exclusive=1 or masked=1: schedules on %s have none of them",
                   s->config->name);
  if (cols % p->split)
    return tw_fail(error, TW_USAGE, "unsupported split %d; it must divide cols=%lld", p->split, (long long)cols);
  return trn_fits(s, "split ", p->split, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const double tiles = (double)trn_row_tiles(s), part = (double)trn_key(s, "cols") / p->split;
  trn_add(s, w, TRN_CHOOSE_VECTOR, s->config->vector.scan, tiles * p->split * part, tiles * p->split);
  w->run_bytes = part * trn_key_bytes(s, "a");
  w->transfers = 2 * tiles * p->split;
  w->first = w->last = part * 2;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  trn_offer_powers(m, "split", "one part is summed while the next is loaded", "split ", 1, 64);
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  TRN_NUMBERS(slots, {"tiles", trn_row_tiles(s)}, {"split", p->split}, {"part", trn_key(s, "cols") / p->split});
  tw_slots_flag(slots, "casts", trn_key_bytes(s, "a") < 4);
}

TRN_KIND(cumsum, NULL);
