/* transpose.c - transposes on Trainium (transpose.py.in): tiles of 128 x 128 on the Tensor engine.
 *
 *   near rows=4 columns=4    neighbouring rows of x and of y that a partition holds: they are one descriptor
 *   copy vector              the engine that takes tiles out of PSUM */
#include "target/trainium/kernels/kind.h"

typedef struct plan {
  int rows, columns, copy;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("near", "near rows=4 columns=4", "Keep this many neighbouring rows of x and of y in each partition.", 2,
             TW_NUMBER("rows", plan, rows, 1, 4), TW_NUMBER("columns", plan, columns, 1, 16))},
    {TRN_ENGINE(copy, "vector", TRN_CHOICES_PSUM, "Copy tiles out of PSUM on this engine.")},
};
static const tw_language language = {TW_LANGUAGE("transpose on Trainium", verbs)};

TRN_START(.rows = 1, .columns = 1)

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const int64_t rows = trn_key(s, "rows"), cols = trn_key(s, "cols"), size = trn_key_bytes(s, "a");
  if (rows % (128 * p->rows))
    return tw_fail(error, TW_USAGE, "unsupported rows=%lld; expected a multiple of %d", (long long)rows, 128 * p->rows);
  if (cols % (128 * p->columns))
    return tw_fail(error, TW_USAGE, "unsupported cols=%lld; expected a multiple of %d", (long long)cols,
                   128 * p->columns);
  const int64_t bytes = 2 * size * (rows / 128 * cols + p->columns * rows);
  return trn_fits(s, "cols=", cols, bytes, error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const int64_t rows = trn_key(s, "rows"), cols = trn_key(s, "cols"), size = trn_key_bytes(s, "a");
  const double tiles = (double)trn_key(s, "b") * (double)(rows / 128) * (double)(cols / 128);
  w->tensor = tiles * 128 * (size < 4 ? c->tensor.row_cycles_16 : c->tensor.transpose_cycles_32) / c->tensor.ghz;
  trn_add_copies(s, w, (trn_choice)p->copy, 128 * tiles, tiles);
  const int64_t run_in = p->rows * cols * size, run_out = p->columns * rows * size;
  w->run_bytes = (double)(run_in < run_out ? run_in : run_out);
  w->transfers = (double)trn_key(s, "b") * ((double)rows / 128 / p->rows + (double)cols / 128 / p->columns);
  w->first = w->last = (double)(rows * cols) / 128 * (double)size / 30;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  for (int rows = 1; rows <= 4; rows *= 2)
    for (int columns = 1; columns <= 16; columns *= 2)
      tw_menu_offer(m, "near", "neighbouring rows give fewer and longer DMA descriptors", "near rows=%d columns=%d",
                    rows, columns);
  trn_offer_engines(m, "copy", "copy");
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  const int64_t rows = trn_key(s, "rows"), cols = trn_key(s, "cols");
  TRN_NUMBERS(slots, {"row_near", p->rows}, {"column_near", p->columns}, {"row_groups", rows / 128 / p->rows},
              {"column_groups", cols / 128 / p->columns}, {"column_step", 128 * p->columns},
              {"extent", 127 * p->columns + 1});
  tw_slots_format(slots, "psum_type", "nl.%s", trn_type_name_of(tw_problem_type(s->problem, "a")));
  trn_copy_slots(s, slots, "copy", "from", "engine", (trn_choice)p->copy);
}

TRN_KIND(transpose, NULL);
