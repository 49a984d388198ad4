/* gemm.c - gemm on Trainium: a plan, the steps that change it, its model, and its source (gemm.py.in).
 *
 *   block m n      tiles of 128 rows and of tile_n columns whose sums are in PSUM at once
 *   keep           the operand whose panel stays in SBUF while blocks pass over the other one
 *   load k         rows of k that a partition gets from one transfer
 *   turn transfer  tiles of A are transposed by DMA, each with one row of k in a partition
 *   copy           the engine that takes sums out of PSUM */
#include <math.h>

#include "target/trainium/kernels/kind.h"

enum { KEEP_NOTHING, KEEP_COLUMNS, KEEP_ROWS };
enum { TILE = 128, BLOCKS_MAX = 8, LOAD_MAX = 16 };

typedef struct plan {
  int m, n; /* tiles of a block */
  int tile_n, keep, load, copy, turn;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("block", "block m=2 n=2", "Keep the sums of m x n tiles in PSUM at once.", 2,
             TW_NUMBER("m", plan, m, 1, BLOCKS_MAX), TW_NUMBER("n", plan, n, 1, BLOCKS_MAX))},
    {TW_VERB("tile", "tile n=512", "Multiply this many columns with one instruction.", 1,
             TW_NUMBER("n", plan, tile_n, 64, 512))},
    {TW_VERB("keep", "keep columns", "Keep a panel of A (rows) or B (columns) in SBUF; the other operand streams.", 1,
             TW_CHOICE("", plan, keep, KEEP_NOTHING, "nothing|columns|rows"))},
    {TW_VERB("load", "load k=4", "Transfer this many rows of k to each partition in one DMA.", 1,
             TW_NUMBER("k", plan, load, 1, LOAD_MAX))},
    {TRN_ENGINE(copy, "vector", TRN_CHOICES_PSUM, "Copy sums out of PSUM on this engine.")},
    {TW_VERB("turn", "turn transfer", "Transpose tiles of A on the Tensor engine (product) or by DMA (transfer).", 1,
             TW_CHOICE("", plan, turn, TRN_BY_PRODUCT, "product|transfer"))},
};
static const tw_language language = {TW_LANGUAGE("gemm on Trainium", verbs)};

/* A has its rows of m first, and the Tensor engine transposes its tiles. */
static bool turns(const trn_subject *s, const plan *p) {
  return !trn_key(s, "a_transposed") && p->turn == TRN_BY_PRODUCT;
}

/* A transfer that transposes gives one row of k to a partition. */
static int load_of(const plan *p) { return p->turn == TRN_BY_TRANSFER ? 1 : p->load; }

/* Bytes of a partition of SBUF: a block's panels. What is left over lets loads of the next block overlap with products. */
static int64_t sbuf_bytes(const trn_subject *s, const plan *p) {
  const int64_t k = trn_key(s, "k"), a_bytes = trn_key_bytes(s, "a"), width = (int64_t)p->n * p->tile_n;
  const int64_t rows = k * p->m * a_bytes, columns = k / TILE * width * trn_key_bytes(s, "b");
  return rows * (turns(s, p) ? 2 : 1) + columns + 2 * width * trn_key_bytes(s, "c");
}

static tw_status legal(const trn_subject *s, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  const trn_config_memory *memory = &s->config->memory;
  const int64_t bank = memory->psum_bank_bytes, banks = (p->tile_n * 4 + bank - 1) / bank * p->m * p->n,
                most = memory->psum_banks - (turns(s, p) ? 1 : 0);
  const struct {
    const char *key;
    int multiple;
  } sizes[] = {{"m", TILE * p->m}, {"n", p->tile_n * p->n}, {"k", TILE * load_of(p)}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (trn_key(s, sizes[i].key) % sizes[i].multiple)
      return tw_fail(error, TW_USAGE, "gemm on %s does not support %s=%lld; expected a multiple of %d", s->config->name,
                     sizes[i].key, (long long)trn_key(s, sizes[i].key), sizes[i].multiple);
  if (p->turn == TRN_BY_TRANSFER &&
      (trn_key(s, "a_transposed") || trn_key_bytes(s, "a") != 2 || !s->config->dma.transpose_rate))
    return tw_fail(error, TW_USAGE, "unsupported 'turn transfer'; it needs a_transposed=0, a=bf16 or a=f16, and trn2");
  if (banks > most)
    return tw_fail(error, TW_USAGE, "a block needs %lld banks of PSUM; expected at most %lld", (long long)banks,
                   (long long)most);
  return trn_fits(s, "k=", trn_key(s, "k"), sbuf_bytes(s, p), error);
}

static void work(const trn_subject *s, const void *looked_at, trn_work *w) {
  const plan *p = looked_at;
  const trn_config *c = s->config;
  const double m = (double)trn_key(s, "m"), n = (double)trn_key(s, "n"), k = (double)trn_key(s, "k"),
               m_blocks = m / (TILE * p->m), n_blocks = n / (p->tile_n * p->n);
  const double a_loads = p->keep == KEEP_ROWS ? 1 : n_blocks, b_loads = p->keep == KEEP_COLUMNS ? 1 : m_blocks;
  const int load = load_of(p);
  const double row = (trn_key_bytes(s, "a") > 2 ? c->tensor.row_cycles_32 : c->tensor.row_cycles_16) / c->tensor.ghz;
  /* a narrow product ends before the next stationary tile is there */
  w->tensor = m / TILE * (k / TILE) * n / p->tile_n * fmax(p->tile_n * row, c->tensor.load_ns);
  w->vector = turns(s, p) ? m / TILE * k * a_loads * c->vector.psum / c->vector.ghz : 0;
  trn_add_copies(s, w, (trn_choice)p->copy, m / TILE * n, m / TILE * n / p->tile_n);
  w->bytes =
      m * k * trn_key_bytes(s, "a") * a_loads + k * n * trn_key_bytes(s, "b") * b_loads + m * n * trn_key_bytes(s, "c");
  /* neighbouring rows are one run if a panel has all of their columns */
  const double a_run = trn_key(s, "a_transposed") ? p->m * TILE * (m_blocks > 1 ? 1 : load) : k,
               b_run = p->n * p->tile_n * (n_blocks > 1 ? 1 : load);
  w->run_bytes = fmin(a_run * trn_key_bytes(s, "a"), b_run * trn_key_bytes(s, "b"));
  w->transfers = k / (TILE * load) * (m_blocks * a_loads + n_blocks * b_loads) + m / TILE * n_blocks;
  /* the first product waits for a panel of each operand, all of k if a product turns A; the last block is copied out */
  w->first = ((turns(s, p) ? k : TILE * load) * m / m_blocks * trn_key_bytes(s, "a") +
              TILE * load * n / n_blocks * trn_key_bytes(s, "b")) /
             c->dma.total_gbs;
  w->last = p->m * n / n_blocks * c->vector.psum / c->vector.ghz;
}

/* Tiles as wide as n allows, and the block, the operand that stays and the transfers that the model prefers. */
static void start(const trn_subject *s, void *out) {
  plan best = {.m = 1, .n = 1, .tile_n = 512, .load = 1};
  while (best.tile_n > 64 && trn_key(s, "n") % best.tile_n) best.tile_n /= 2;
  double least = trn_predicted(&trn_gemm, s, &best);
  for (plan p = best; p.m <= 4; p.m *= 2) /* copies and stores of more tiles of rows delay the next block */
    for (p.n = 1; p.m * p.n <= BLOCKS_MAX; p.n *= 2)
      for (p.keep = KEEP_NOTHING; p.keep <= KEEP_ROWS; p.keep++)
        for (p.load = 1; p.load <= LOAD_MAX; p.load *= 2) {
          const double cost = trn_predicted(&trn_gemm, s, &p);
          if (cost <= 0 || cost >= least) continue;
          least = cost;
          best = p;
        }
  *(plan *)out = best;
}

static void offer(const trn_subject *s, const void *now, tw_menu_builder *m) {
  (void)s, (void)now;
  for (int x = 1; x <= BLOCKS_MAX; x *= 2)
    for (int y = 1; x * y <= BLOCKS_MAX; y *= 2)
      tw_menu_offer(m, "block", "larger blocks reuse operands in SBUF for more sums", "block m=%d n=%d", x, y);
  trn_offer_powers(m, "tile", "wide tiles need fewer instructions", "tile n=", 64, 512);
  static const tw_offer offers[] = {
      {"keep", "keep columns", "B is loaded once"},
      {"keep", "keep rows", "A is loaded once"},
      {"keep", "keep nothing", "SBUF holds two generations of both panels"},
      {"turn", "turn transfer", "the Tensor engine only multiplies"},
  };
  tw_menu_offer_all(m, sizeof offers / sizeof *offers, offers);
  trn_offer_engines(m, "copy", "copy");
  trn_offer_powers(m, "load", "fewer transfers", "load k=", 1, LOAD_MAX);
}

static void fill(const trn_subject *s, const void *looked_at, tw_slots *slots) {
  const plan *p = looked_at;
  const int64_t m = trn_key(s, "m"), n = trn_key(s, "n"), k = trn_key(s, "k");
  const int height = TILE * p->m, width = p->tile_n * p->n, load = load_of(p);
  TRN_NUMBERS(slots, {"load", load}, {"depth", TILE * load}, {"turn_extent", (TILE - 1) * load + 1},
              {"panels", k / (TILE * load)}, {"height", height}, {"width", width}, {"tile_n", p->tile_n},
              {"blocks_m", p->m}, {"blocks_n", p->n}, {"m_blocks", m / height}, {"n_blocks", n / width});
  tw_slots_text(slots, "c_type", trn_type_name_of(tw_problem_type(s->problem, "c")));
  tw_slots_flag(slots, "turns", turns(s, p));
  tw_slots_flag(slots, "a_transposed", trn_key(s, "a_transposed"));
  tw_slots_flag(slots, "keeps_columns", p->keep == KEEP_COLUMNS);
  tw_slots_flag(slots, "keeps_rows", p->keep == KEEP_ROWS);
  tw_slots_flag(slots, "keeps_nothing", p->keep == KEEP_NOTHING);
  trn_copy_slots(s, slots, "copy", "from", "engine", (trn_choice)p->copy);
}

TRN_KIND(gemm, "m n k a_transposed a b c acc");
