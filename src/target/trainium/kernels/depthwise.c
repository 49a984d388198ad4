/* depthwise.c - depthwise convolution on Trainium (depthwise.py.in): channels in partitions.
 *
 *   width 2048       elements of the output that are worked on at once
 *   first scalar     the engine of the first tap's product
 *   share 2          every second tap is multiplied on Scalar and added on GpSimd; else taps are one instruction on Vector */
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int width, first, share;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("width", "width 1024", "Process this many elements of a channel at once.", 1,
             TW_NUMBER("", plan, width, 64, 16384))},
    {TW_VERB("first", "first scalar", "Multiply by the first tap on this engine.", 1,
             TW_CHOICE("", plan, first, 0, "vector|scalar"))},
    {TW_VERB("share", "share 2", "Move every N-th tap from Vector to Scalar and GpSimd (0: no tap).", 1,
             TW_NUMBER("", plan, share, 0, 64))},
};
static const tw_language language = {TW_LANGUAGE("depthwise on Trainium", verbs)};

static int64_t out_width(const trn_subject *s) {
  return trn_key(s, "w") + 2 * trn_key(s, "pad") - trn_key(s, "taps") + 1;
}

TRN_START(.width = 2048)

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t bytes = 2 * (p->width + 64) * (trn_key_bytes(s, "a") + 4 * 4);
  return trn_fits(s, "width ", p->width, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const double out = (double)out_width(s), n = (double)trn_key(s, "n") * (double)((trn_key(s, "c") + 127) / 128),
               taps = (double)trn_key(s, "taps"), parts = n * (double)((int64_t)out / p->width + 1), elements = n * out;
  const double shared = p->share ? (double)((trn_key(s, "taps") - 1) / p->share) : 0;
  const double own = taps - 1 - shared;
  trn_add(s, w, TRN_CHOOSE_VECTOR, c->vector.tensor_tensor_32, own * elements, own * parts);
  trn_add(s, w, TRN_CHOOSE_SCALAR, 0, shared * elements, shared * parts);
  trn_add(s, w, TRN_CHOOSE_GPSIMD, 0, shared * elements, shared * parts);
  trn_add(s, w, p->first ? TRN_CHOOSE_SCALAR : TRN_CHOOSE_VECTOR, c->vector.copy_32, elements, parts);
  w->run_bytes = (double)p->width * trn_key_bytes(s, "a");
  w->transfers = 2 * parts;
  w->first = w->last = p->width * 2.0;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  trn_offer_powers(m, "width", "wide parts need fewer transfers; narrow parts overlap more", "width ", 256, 16384);
  trn_offer_powers(m, "share", "Scalar and GpSimd take some of Vector's work", "share ", 1, 8);
  static const tw_offer offers[] = {{"share", "share 0", "GpSimd is slow to start"},
                                    {"first", "first scalar", "Vector has less to do"},
                                    {"first", "first vector", "Scalar has less to do"}};
  tw_menu_offer_all(m, sizeof offers / sizeof *offers, offers);
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  tw_slots_number(slots, "out", out_width(s));
  tw_slots_number(slots, "width", p->width);
  tw_slots_flag(slots, "first_scalar", p->first);
  tw_slots_flag(slots, "by_scalar", p->share > 0);
  tw_slots_number(slots, "every", p->share > 0 ? p->share : 1);
}

TRN_KIND(depthwise, NULL);
