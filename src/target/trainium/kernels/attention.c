/* attention.c - forward attention on Trainium (attention.py.in): 128 queries at once against sections of keys.
 *
 *   section 2048     keys whose scores are in PSUM at once; maxima and sums are carried between sections
 *   ahead 1          sections whose scores are computed before the products of a section
 *   load 8           tiles of keys and of values in one transfer
 *   copy vector      the engine that takes turned tiles of P out of PSUM
 *   key scalar       the engine that takes turned keys out of PSUM */
#include <math.h>

#include "op/attention.h"
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int section, ahead, load, copy, key;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("section", "section 2048", "Keep the scores of this many keys in PSUM at once.", 1,
             TW_NUMBER("", plan, section, 128, 3072))},
    {TW_VERB("ahead", "ahead 1", "Compute the scores of this many sections before the products of a section.", 1,
             TW_NUMBER("", plan, ahead, 0, 2))},
    {TW_VERB("load", "load 8",
             "Transfer this many tiles of keys and of values at once; neighbours go to one partition.", 1,
             TW_NUMBER("", plan, load, 1, 32))},
    {TRN_ENGINE(copy, "vector", TRN_CHOICES_PSUM, "Copy transposed tiles of P out of PSUM on this engine.")},
    {TRN_ENGINE(key, "scalar", TRN_CHOICES_PSUM, "Copy transposed keys out of PSUM on this engine.")},
};
static const tw_language language = {TW_LANGUAGE("attention on Trainium", verbs)};

/* The type of operands of the Tensor engine. */
static tw_type inner(const trn_subject *s) {
  const tw_type a = tw_problem_type(s->problem, "a");
  return a == TW_F32 && trn_key(s, "arithmetic") ? TW_BF16 : a;
}

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t sq = trn_key(s, "sq"), sk = trn_key(s, "sk"), d = trn_key(s, "d"), hq = trn_key(s, "hq"),
                hkv = trn_key(s, "hkv"), size = tw_type_bits(inner(s)) / 8;
  if (trn_key(s, "pass"))
    return tw_fail(error, TW_USAGE, "unsupported pass=backward: schedules on %s support pass=forward only",
                   s->config->name);
  const tw_attention a = tw_attention_of(s->problem);
  const tw_status without = tw_attention_without(&a, TW_ATTENTION_ANY, "Trainium's schedules", error);
  if (without != TW_OK) return without;
  if (sq % 128 || sq > 128 * 128)
    return tw_fail(error, TW_USAGE, "unsupported sq=%lld; expected a multiple of 128 up to 16384", (long long)sq);
  if (sk % 128) return tw_fail(error, TW_USAGE, "unsupported sk=%lld; expected a multiple of 128", (long long)sk);
  if (d > 128) return tw_fail(error, TW_USAGE, "unsupported d=%lld; expected at most 128", (long long)d);
  if (hq % hkv)
    return tw_fail(error, TW_USAGE, "unsupported hkv=%lld; it must divide hq=%lld", (long long)hkv, (long long)hq);
  if (trn_key(s, "causal") && sq > sk)
    return tw_fail(error, TW_USAGE, "unsupported sq=%lld; expected at most sk=%lld with causal=1", (long long)sq,
                   (long long)sk);
  if (p->section % 128)
    return tw_fail(error, TW_USAGE, "unsupported section %d; expected a multiple of 128", p->section);
  const int64_t banks = (p->section + 511) / 512 * (1 + p->ahead) + 2;
  if (banks > s->config->memory.psum_banks)
    return tw_fail(error, TW_USAGE, "unsupported section %d with ahead %d: %lld banks of PSUM; expected at most %d",
                   p->section, p->ahead, (long long)banks, s->config->memory.psum_banks);
  const int64_t bytes = sk * size * 2 + 2 * p->section * size + 2 * p->load * d * size + 64 * d + 16 * 1024;
  return trn_fits(s, "sk=", sk, bytes, error);
}

/* Scores are ahead of products, because no engine waits then; as many tiles in a transfer as fit. */
static void start(const trn_subject *s, void *out) {
  plan *p = out;
  *p = (plan){.section = 1024, .ahead = 1, .load = 32};
  while (p->load > 1 && legal(s, p, NULL) != TW_OK) p->load /= 2;
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const double tiles = (double)trn_key(s, "b") * (double)trn_key(s, "hq") * (double)trn_key(s, "sq") / 128,
               keys = (double)trn_key(s, "sk") * (trn_key(s, "causal") ? 0.5 + 64 / (double)trn_key(s, "sk") : 1),
               d = (double)trn_key(s, "d"), n = tiles * keys, blocks = ceil(n / 512),
               sections = tiles * ceil(keys / p->section);
  const double row = (tw_type_bits(inner(s)) > 16 ? c->tensor.row_cycles_32 : c->tensor.row_cycles_16) / c->tensor.ghz;
  w->tensor = n * row * (2 + d / 128);
  const double maxima = (n * c->vector.reduce + blocks * c->vector.start_cycles) / c->vector.ghz,
               carried = 6 * sections * (d / 4 + c->vector.start_cycles) / c->vector.ghz;
  w->vector = maxima + carried;
  const double exponentials = trn_add_copies(s, w, (trn_choice)p->copy, n, blocks); /* as long as copies on Scalar */
  w->scalar += exponentials + blocks * (c->scalar.accumulate_ns + c->scalar.pointer_ns);
  const bool adjacent = !trn_key(s, "causal") && trn_key(s, "hkv") == 1;
  w->run_bytes = d * trn_key_bytes(s, "a") * (adjacent ? p->load : 1);
  w->transfers =
      3 * tiles + 2 * (double)trn_key(s, "b") * (double)trn_key(s, "hkv") * (double)trn_key(s, "sk") / 128 / p->load;
  /* what waits at the end of each section: the last block's exponentials and products */
  w->first = sections * 1500 / (1 + p->ahead);
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  for (int n = 512; n <= 3072; n += 512)
    tw_menu_offer(m, "section", "larger sections carry fewer partial sums and keep more work in flight", "section %d",
                  n);
  trn_offer_powers(m, "load", "fewer and longer transfers", "load ", 1, 32);
  for (int n = 0; n <= 2; n++)
    tw_menu_offer(m, "ahead", "the Tensor engine has work while Scalar makes exponentials", "ahead %d", n);
  trn_offer_engines(m, "copy", "copy");
  trn_offer_engines(m, "key", "key");
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  const int64_t sq = trn_key(s, "sq"), sk = trn_key(s, "sk"), d = trn_key(s, "d");
  const bool causal = trn_key(s, "causal");
  const double scale = tw_problem_real(s->problem, "scale");
  TRN_NUMBERS(slots, {"group", trn_key(s, "hq") / trn_key(s, "hkv")}, {"key_tiles", sk / 128},
              {"query_tiles", sq / 128}, {"key_step", trn_key(s, "hkv") * d}, {"section", p->section},
              {"ahead", p->ahead}, {"load", p->load});
  tw_slots_flag(slots, "adjacent", !causal);
  tw_slots_flag(slots, "sections", p->section < sk);
  tw_slots_flag(slots, "causal", causal);
  tw_slots_number(slots, "later", sk - sq);
  if (causal)
    tw_slots_format(slots, "sees", "(i + 1) * 128 + %lld", (long long)(sk - sq));
  else
    tw_slots_number(slots, "sees", sk);
  tw_slots_format(slots, "scale", "%.9g", scale != 0 ? scale : 1 / sqrt((double)d));
  tw_slots_format(slots, "inner", "nl.%s", trn_type_name_of(inner(s)));
  trn_copy_slots(s, slots, "copy_call", "copy_from", "copy_engine", (trn_choice)p->copy);
  trn_copy_slots(s, slots, "key_call", "key_from", "key_engine", (trn_choice)p->key);
}

TRN_KIND(attention, NULL);
