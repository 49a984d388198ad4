/* rotary.c - rotary embedding on Trainium (rotary.py.in), for positions in the last dimension.
 *
 *   width 1024     positions that are worked on at once
 *   share 3        of the six instructions of a part, this many run on GpSimd */
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int width, share;
} plan;

enum { INSTRUCTIONS = 6 };

static const tw_verb verbs[] = {
    {TW_VERB("width", "width 1024", "Process this many positions at once.", 1, TW_NUMBER("", plan, width, 64, 8192))},
    {TW_VERB("share", "share 3", "Run this many of the six products and sums on GpSimd, the remaining ones on Vector.",
             1, TW_NUMBER("", plan, share, 0, INSTRUCTIONS))},
};
static const tw_language language = {TW_LANGUAGE("rotary on Trainium", verbs)};

TRN_START(.width = 2048)

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t d = trn_key(s, "d"), bytes = 2 * p->width * (6 * trn_key_bytes(s, "a") + 4 * 4);
  if (!trn_key(s, "transposed"))
    return tw_fail(error, TW_USAGE, "unsupported transposed=0: schedules on %s have positions last; add transposed=1",
                   s->config->name);
  if (d > 256) return tw_fail(error, TW_USAGE, "unsupported d=%lld; expected at most 256", (long long)d);
  return trn_fits(s, "width ", p->width, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const double heads = (double)trn_key(s, "b") * (double)trn_key(s, "h"), n = (double)trn_key(s, "s"),
               parts = n / p->width + 1;
  const double own = (INSTRUCTIONS - p->share) * heads, moved = p->share * heads;
  trn_add(s, w, TRN_CHOOSE_VECTOR, s->config->vector.tensor_tensor_32, own * n, own * parts);
  trn_add(s, w, TRN_CHOOSE_GPSIMD, 0, moved * n, moved * parts);
  w->run_bytes = (double)p->width * trn_key_bytes(s, "a");
  w->transfers = parts * (2 + 4 * heads);
  w->first = w->last = p->width * 2.0;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  trn_offer_powers(m, "width", "one part is computed while the next is loaded", "width ", 128, 8192);
  for (int n = 0; n <= INSTRUCTIONS; n++)
    tw_menu_offer(m, "share", "GpSimd takes some of Vector's work", "share %d", n);
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  const int64_t d = trn_key(s, "d");
  static const char *const names[] = {"product3", "sum1", "product2",
                                      "product1", "sum0", "product0"}; /* moved in this order */
  for (int i = 0; i < INSTRUCTIONS; i++)
    tw_slots_text(slots, names[i], trn_engine_argument(i < p->share ? TRN_CHOOSE_GPSIMD : TRN_CHOOSE_VECTOR));
  TRN_NUMBERS(slots, {"heads", trn_key(s, "b") * trn_key(s, "h")}, {"half", d / 2}, {"width", p->width});
  if (trn_key(s, "interleaved")) {
    tw_slots_format(slots, "upper", "0:%lld:2", (long long)d);
    tw_slots_format(slots, "lower", "1:%lld:2", (long long)d);
  } else {
    tw_slots_format(slots, "upper", "0:%lld", (long long)d / 2);
    tw_slots_format(slots, "lower", "%lld:%lld", (long long)d / 2, (long long)d);
  }
}

TRN_KIND(rotary, NULL);
