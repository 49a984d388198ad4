/* mamba.c - Mamba's selective scan on Trainium (mamba.py.in).
 *
 *   width 512                positions that are worked on at once
 *   b transfer, c transfer   B and C come to all partitions by DMA, or by a product with ones, in PSUM
 *   b_engine, c_engine, sum  engines of the product with B, of the product with C, and of the sum over states */
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int width, b, c;
  int b_engine, c_engine, sum; /* trn_choice */
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("width", "width 512", "Process this many positions at once.", 1, TW_NUMBER("", plan, width, 64, 4096))},
    {TW_VERB("b", "b transfer", "Broadcast B to all partitions by DMA (transfer) or by a product with ones.", 1,
             TW_CHOICE("", plan, b, TRN_BY_PRODUCT, "product|transfer"))},
    {TW_VERB("c", "c transfer", "Broadcast C to all partitions by DMA (transfer) or by a product with ones.", 1,
             TW_CHOICE("", plan, c, TRN_BY_PRODUCT, "product|transfer"))},
    {TRN_ENGINE(b_engine, "gpsimd", TRN_CHOICES, "Multiply by B on this engine.")},
    {TRN_ENGINE(c_engine, "gpsimd", TRN_CHOICES, "Multiply by C on this engine.")},
    {TRN_ENGINE(sum, "gpsimd", TRN_CHOICES, "Sum over states on this engine.")},
};
static const tw_language language = {TW_LANGUAGE("mamba on Trainium", verbs)};

TRN_START(.width = 512, .b_engine = TRN_CHOOSE_VECTOR, .c_engine = TRN_CHOOSE_VECTOR, .sum = TRN_CHOOSE_VECTOR)

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t tiles = (trn_key(s, "c") + 127) / 128, size = trn_key_bytes(s, "a");
  if (p->b_engine == TRN_CHOOSE_SCALAR || p->c_engine == TRN_CHOOSE_SCALAR || p->sum == TRN_CHOOSE_SCALAR)
    return tw_fail(error, TW_USAGE, "unsupported engine scalar; expected vector or gpsimd for two tiles");
  if ((p->b == TRN_BY_PRODUCT || p->c == TRN_BY_PRODUCT) && p->width > 512)
    return tw_fail(error, TW_USAGE,
                   "unsupported width %d: a bank of PSUM holds 512; expected less, or 'b transfer' and 'c transfer'",
                   p->width);
  if ((p->b == TRN_BY_PRODUCT && p->b_engine == TRN_CHOOSE_GPSIMD) ||
      (p->c == TRN_BY_PRODUCT && p->c_engine == TRN_CHOOSE_GPSIMD))
    return tw_fail(error, TW_USAGE, "unsupported engine gpsimd: it cannot read PSUM; expected vector, or 'transfer'");
  const int64_t bytes = p->width * (tiles * (2 * size + 3 * 4) + 4 * size + 8 * 4) + tiles * trn_key(s, "n") * 8;
  return trn_fits(s, "width ", p->width, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const double tiles = (double)((trn_key(s, "c") + 127) / 128),
               positions = (double)trn_key(s, "b") * (double)trn_key(s, "s"), states = (double)trn_key(s, "n"),
               parts = positions / p->width, n = tiles * states * positions, calls = tiles * states * parts;
  trn_add(s, w, TRN_CHOOSE_SCALAR, 0, n, calls);
  trn_add(s, w, TRN_CHOOSE_VECTOR, c->vector.scan, n, calls);
  const int engine[] = {p->b_engine, p->c_engine, p->sum}, in_sbuf[] = {p->b, p->c, 1};
  for (int i = 0; i < 3; i++)
    trn_add(s, w, (trn_choice)engine[i], in_sbuf[i] ? c->vector.tensor_tensor_32 : c->vector.tensor_tensor_psum, n,
            calls);
  for (int i = 0; i < 2; i++)
    if (i ? p->c : p->b)
      w->bytes += 128 * states * positions * trn_key_bytes(s, "a");
    else
      w->tensor += states * positions * c->tensor.row_cycles_32 / c->tensor.ghz;
  w->run_bytes = (double)p->width * trn_key_bytes(s, "a");
  w->transfers = parts * (2 * states + 3 * tiles);
  w->first = w->last = p->width * 3.0;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  trn_offer_powers(m, "width", "wide parts need fewer instructions; narrow parts overlap more", "width ", 128, 4096);
  for (int x = 'b'; x <= 'c'; x++) {
    tw_menu_offer(m, "spread", "DMA broadcasts it into SBUF, which GpSimd can read", "%c transfer", x);
    tw_menu_offer(m, "spread", "one read from HBM; PSUM, to which a product broadcasts, is fast", "%c product", x);
    trn_offer_engines(m, "engines", x == 'b' ? "b_engine" : "c_engine");
  }
  trn_offer_engines(m, "engines", "sum");
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  tw_slots_number(slots, "tiles", (trn_key(s, "c") + 127) / 128);
  tw_slots_number(slots, "width", p->width);
  tw_slots_text(slots, "b_spread", p->b == TRN_BY_PRODUCT ? "by_product" : "by_transfer");
  tw_slots_text(slots, "c_spread", p->c == TRN_BY_PRODUCT ? "by_product" : "by_transfer");
  trn_copy_slots(s, slots, "copy", "from", "engine", TRN_CHOOSE_SCALAR);
  tw_slots_text(slots, "b_engine", trn_engine_argument((trn_choice)p->b_engine));
  tw_slots_text(slots, "c_engine", trn_engine_argument((trn_choice)p->c_engine));
  tw_slots_text(slots, "sum_engine", trn_engine_argument((trn_choice)p->sum));
}

TRN_KIND(mamba, NULL);
