/* conv2d.c - convolution on Trainium (conv2d.py.in): images in NCHW, weights in KCRS, stride 1, no padding.
 *
 *   block 16        rows of the output that one load and one store are for
 *   lines 4         rows of the output that are one multiplication
 *   copy vector     the engine that takes sums out of PSUM */
#include <math.h>

#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int block, lines, copy;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("block", "block 16", "Load and store this many rows of the output at once.", 1,
             TW_NUMBER("", plan, block, 1, 256))},
    {TW_VERB("lines", "lines 4", "Multiply this many rows of the output with one instruction.", 1,
             TW_NUMBER("", plan, lines, 1, 512))},
    {TRN_ENGINE(copy, "vector", TRN_CHOICES_PSUM, "Copy sums out of PSUM on this engine.")},
};
static const tw_language language = {TW_LANGUAGE("conv2d on Trainium", verbs)};

static int64_t out_h(const trn_subject *s) { return trn_key(s, "h") - trn_key(s, "r") + 1; }
static int64_t out_w(const trn_subject *s) { return trn_key(s, "w") - trn_key(s, "s") + 1; }

static bool is_cut(const trn_subject *s) { return trn_key(s, "arithmetic") == 2 && trn_key_bytes(s, "a") == 4; }

static void start(const trn_subject *s, void *out) {
  const int64_t width = out_w(s);
  *(plan *)out = (plan){.block = 8, .lines = width > 0 && width < 512 ? (int)fmin(8, 512.0 / (double)width) : 1};
}

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  static const trn_needed needed[] = {{"stride", 1, "1"},          {"pad", 0, "0"},  {"pool", 0, "0"},
                                      {"bias", 0, "none"},         {"relu", 0, "0"}, {"image_layout", 1, "nchw"},
                                      {"weight_layout", 2, "kcrs"}};
  const tw_status status = trn_needs(s, needed, sizeof needed / sizeof *needed, error);
  if (status != TW_OK) return status;
  if (tw_problem_real(s->problem, "scale") != 1)
    return tw_fail(error, TW_USAGE, "unsupported scale; schedules on %s need scale=1", s->config->name);
  if (tw_problem_type(s->problem, "a") != tw_problem_type(s->problem, "b"))
    return tw_fail(error, TW_USAGE, "unsupported types: schedules on %s need a and b of one type", s->config->name);
  if (out_w(s) * p->lines > 512)
    return tw_fail(error, TW_USAGE, "unsupported lines %d: a bank of PSUM holds 512 sums; expected at most %lld",
                   p->lines, (long long)(512 / out_w(s)));
  const int64_t c_tiles = (trn_key(s, "c") + 127) / 128, size = trn_key_bytes(s, "a"), small = is_cut(s) ? 2 : size,
                rows = p->block < out_h(s) ? p->block : out_h(s), tile = (rows + trn_key(s, "r") - 1) * trn_key(s, "w"),
                taps = trn_key(s, "r") * trn_key(s, "s"),
                bytes = c_tiles * taps * trn_key(s, "k") * small + 2 * trn_key(s, "c") * taps * size +
                        2 * c_tiles * tile * (size + (is_cut(s) ? 2 : 0)) +
                        2 * rows * out_w(s) * trn_key_bytes(s, "out");
  return trn_fits(s, "block ", p->block, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const double images = (double)trn_key(s, "n"), k_tiles = (double)((trn_key(s, "k") + 127) / 128),
               c_tiles = (double)((trn_key(s, "c") + 127) / 128), taps = (double)(trn_key(s, "r") * trn_key(s, "s")),
               columns = images * k_tiles * (double)(out_h(s) * out_w(s)),
               calls = columns / (double)(p->lines * out_w(s));
  const bool is_16 = is_cut(s) || trn_key_bytes(s, "a") < 4;
  w->tensor = c_tiles * taps *
              (columns * (is_16 ? c->tensor.row_cycles_16 : c->tensor.row_cycles_32) / c->tensor.ghz + calls * 5);
  trn_add_copies(s, w, (trn_choice)p->copy, columns, calls);
  const double blocks = images * ceil((double)out_h(s) / p->block);
  w->bytes += blocks * (double)((trn_key(s, "r") - 1) * trn_key(s, "w") * trn_key(s, "c") * trn_key_bytes(s, "a"));
  w->run_bytes = (double)(p->block * out_w(s) * trn_key_bytes(s, "out"));
  w->transfers = blocks * (c_tiles + k_tiles);
  w->first = taps * k_tiles * c_tiles * 200 + p->block * (double)out_w(s) * 2;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)now;
  trn_offer_powers(m, "block", "larger blocks load fewer rows twice, and their transfers are longer", "block ", 1, 256);
  for (int64_t n = 512 / (out_w(s) < 512 ? out_w(s) : 512); n >= 1; n = n > 8 ? n / 2 : n - 1)
    tw_menu_offer(m, "lines", "wide tiles need fewer instructions", "lines %d", (int)n);
  trn_offer_engines(m, "copy", "copy");
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  TRN_NUMBERS(slots, {"out_h", out_h(s)}, {"out_w", out_w(s)}, {"taps", trn_key(s, "r") * trn_key(s, "s")},
              {"c_tiles", (trn_key(s, "c") + 127) / 128}, {"k_tiles", (trn_key(s, "k") + 127) / 128},
              {"block", p->block}, {"lines", p->lines});
  tw_slots_flag(slots, "casts", is_cut(s));
  tw_slots_format(slots, "inner", "nl.%s", is_cut(s) ? "bfloat16" : trn_type_name_of(tw_problem_type(s->problem, "a")));
  tw_slots_format(slots, "out_type", "nl.%s", trn_type_name_of(tw_problem_type(s->problem, "out")));
  trn_copy_slots(s, slots, "copy", "from", "engine", (trn_choice)p->copy);
}

TRN_KIND(conv2d, NULL);
