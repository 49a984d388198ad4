/* gemm.c - gemm on Trainium: a plan, the steps that change it, its model, and its source (gemm.py.in).
 *
 *   block m n      tiles of 128 rows and of tile_n columns whose sums are in PSUM at once
 *   keep           the operand whose panel stays in SBUF while blocks pass over the other one
 *   load k         rows of k that a partition gets from one transfer
 *   copy           the engine that takes sums out of PSUM
 *
 * The model is a roofline of engines: multiplications, transfers, copies out of PSUM. The search measures every candidate on the
 * simulator, so the model only has to rank steps. */
#include "target/trainium/kernels/gemm.h"

#include <math.h>
#include <stdlib.h>

#include "base/template.h"

enum { KEEP_NOTHING, KEEP_COLUMNS, KEEP_ROWS };
enum { COPY_ANY, COPY_VECTOR, COPY_SCALAR };
enum { TILE = 128, BLOCKS_MAX = 8, LOAD_MAX = 16 };

typedef struct plan {
  int m, n; /* tiles of a block */
  int tile_n, keep, load, copy;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("block", "block m=2 n=2", "Sum this many tiles of rows and columns in PSUM at once.", 2,
             TW_NUMBER("m", plan, m, 1, BLOCKS_MAX), TW_NUMBER("n", plan, n, 1, BLOCKS_MAX))},
    {TW_VERB("tile", "tile n=512", "Multiply this many columns with one instruction.", 1,
             TW_NUMBER("n", plan, tile_n, 64, 512))},
    {TW_VERB("keep", "keep columns", "Keep the panel of an operand in SBUF while blocks pass over the other operand.",
             1, TW_CHOICE("", plan, keep, KEEP_NOTHING, "nothing|columns|rows"))},
    {TW_VERB("load", "load k=4", "Transfer this many rows of k to each partition at once.", 1,
             TW_NUMBER("k", plan, load, 1, LOAD_MAX))},
    {TW_VERB("copy", "copy vector", "Copy sums out of PSUM on this engine.", 1,
             TW_CHOICE("", plan, copy, COPY_ANY, "any|vector|scalar"))},
};
const tw_language trn_gemm_language = {"gemm on Trainium", sizeof verbs / sizeof *verbs, verbs};

/* What the functions of a language and of a menu need. */
typedef struct subject {
  const trn_config *config;
  const tw_problem *problem;
  int64_t m, n, k;
  int a_bytes, b_bytes, c_bytes;
  bool turns; /* A has its rows of m first: tiles are transposed */
} subject;

static subject subject_of(const trn_config *c, const tw_problem *p) {
  return (subject){.config = c,
                   .problem = p,
                   .m = tw_problem_int(p, "m"),
                   .n = tw_problem_int(p, "n"),
                   .k = tw_problem_int(p, "k"),
                   .a_bytes = tw_type_bits(tw_problem_type(p, "a")) / 8,
                   .b_bytes = tw_type_bits(tw_problem_type(p, "b")) / 8,
                   .c_bytes = tw_type_bits(tw_problem_type(p, "c")) / 8,
                   .turns = !tw_problem_int(p, "a_transposed")};
}

/* Bytes of a partition of SBUF: two generations of what is not kept, so that loads overlap with work. */
static int64_t sbuf_bytes(const subject *s, const plan *p) {
  const int64_t rows = s->k / TILE * p->m * TILE * s->a_bytes, columns = s->k / TILE * p->n * p->tile_n * s->b_bytes,
                turned = s->turns ? s->k * s->a_bytes * p->m : 0, out = p->n * p->tile_n * s->c_bytes;
  return rows * (p->keep == KEEP_ROWS ? 1 : 2) + columns * (p->keep == KEEP_COLUMNS ? 1 : 2) + turned + 2 * out;
}

static tw_status legal(const void *context, const void *looked_at, tw_error *error) {
  const subject *s = context;
  const plan *p = looked_at;
  const trn_config_memory *memory = &s->config->memory;
  if (s->m % (TILE * p->m))
    return tw_fail(error, TW_USAGE, "unsupported m=%lld; expected a multiple of %d", (long long)s->m, TILE * p->m);
  if (s->n % (p->tile_n * p->n))
    return tw_fail(error, TW_USAGE, "unsupported n=%lld; expected a multiple of %d", (long long)s->n, p->tile_n * p->n);
  if (s->k % (TILE * p->load))
    return tw_fail(error, TW_USAGE, "unsupported k=%lld; expected a multiple of %d", (long long)s->k, TILE * p->load);
  const int64_t bank = memory->psum_bank_bytes, banks = (p->tile_n * 4 + bank - 1) / bank * p->m * p->n;
  if (banks > memory->psum_banks - (s->turns ? 1 : 0))
    return tw_fail(error, TW_USAGE, "a block needs %lld banks of PSUM; expected at most %d", (long long)banks,
                   memory->psum_banks - (s->turns ? 1 : 0));
  if (sbuf_bytes(s, p) > memory->sbuf_bytes)
    return tw_fail(error, TW_USAGE, "panels need %lld bytes of a partition of SBUF; expected at most %lld",
                   (long long)sbuf_bytes(s, p), (long long)memory->sbuf_bytes);
  return TW_OK;
}

/* The kernel of the empty schedule: one tile at a time, as wide as n allows. */
static plan start_of(const subject *s) {
  plan p = {.m = 1, .n = 1, .tile_n = 512, .load = 1};
  while (p.tile_n > 64 && s->n % p.tile_n) p.tile_n /= 2;
  return p;
}

static tw_status plan_of(const subject *s, const tw_schedule *schedule, plan *out, tw_error *error) {
  *out = start_of(s);
  const tw_status status = legal(s, out, error);
  return status == TW_OK ? tw_steps_apply(&trn_gemm_language, s, schedule, out, legal, error) : status;
}

/* ---- the model ---- */

static double multiply_seconds(const subject *s) {
  const trn_config_tensor *t = &s->config->tensor;
  const double cycles = s->a_bytes > 2 ? t->row_cycles_32 : t->row_cycles_16;
  return (double)s->m / TILE * ((double)s->k / TILE) * (double)s->n * cycles / (t->ghz * 1e9);
}

static double cost_of(const subject *s, const plan *p) {
  const trn_config *c = s->config;
  const double m_blocks = (double)s->m / (TILE * p->m), n_blocks = (double)s->n / (p->tile_n * p->n),
               panels = (double)s->k / (TILE * p->load);
  const double a_loads = p->keep == KEEP_ROWS ? 1 : n_blocks, b_loads = p->keep == KEEP_COLUMNS ? 1 : m_blocks;
  const double bytes = (double)s->m * (double)s->k * s->a_bytes * a_loads +
                       (double)s->k * (double)s->n * s->b_bytes * b_loads + (double)s->m * (double)s->n * s->c_bytes;
  const double packets = (double)s->k * (m_blocks * a_loads + n_blocks * b_loads) + (double)s->m * n_blocks;
  const double triggers = panels * (m_blocks * a_loads + n_blocks * b_loads) + (double)s->m / TILE * n_blocks;
  const double transfers = (bytes / c->dma.engine_gbs + packets * c->dma.packet_ns) / c->dma.engines;
  const double copies =
      (double)s->m / TILE * (double)s->n * c->vector.psum / c->vector.ghz * (p->copy == COPY_ANY ? 0.6 : 1);
  const double turns = s->turns ? (double)s->m / TILE * (double)s->k * a_loads * (c->vector.psum / c->vector.ghz) : 0;
  const double engines[] = {multiply_seconds(s) * 1e9, transfers, triggers * c->dma.hardware_issue_ns, copies + turns};
  double most = 0, all = 0;
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    most = fmax(most, engines[i]);
    all += engines[i];
  }
  /* work of other engines hides behind the longest, except for one block's */
  return 1e-9 * (c->launch_ns + c->dma.static_first_ns + most + (all - most) / (m_blocks * n_blocks));
}

static double judge(const void *context, const void *looked_at) {
  return legal(context, looked_at, NULL) == TW_OK ? cost_of(context, looked_at) : 0;
}

tw_status trn_gemm_predict(const trn_config *c, const tw_problem *p, const tw_schedule *schedule, double *cost,
                           tw_error *error) {
  const subject s = subject_of(c, p);
  plan now;
  const tw_status status = plan_of(&s, schedule, &now, error);
  if (status == TW_OK) *cost = cost_of(&s, &now);
  return status;
}

/* ---- the menu ---- */

tw_status trn_gemm_steps(const trn_config *c, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                         tw_error *error) {
  const subject s = subject_of(c, p);
  plan now, next;
  const tw_status status = plan_of(&s, schedule, &now, error);
  if (status != TW_OK) return status;
  tw_menu_builder m = {.language = &trn_gemm_language,
                       .context = &s,
                       .schedule = schedule,
                       .now = &now,
                       .next = &next,
                       .plan_size = sizeof now,
                       .judge = judge,
                       .now_cost = judge(&s, &now),
                       .peak_cost = multiply_seconds(&s)};
  for (int x = 1; x <= BLOCKS_MAX; x *= 2)
    for (int y = 1; x * y <= BLOCKS_MAX; y *= 2)
      tw_menu_offer(&m, "block", "operands in SBUF serve more sums", "block m=%d n=%d", x, y);
  for (int n = 64; n <= 512; n *= 2) tw_menu_offer(&m, "tile", "columns of one multiplication", "tile n=%d", n);
  static const tw_offer offers[] = {
      {"keep", "keep columns", "B is loaded once"},
      {"keep", "keep rows", "A is loaded once"},
      {"keep", "keep nothing", "SBUF holds two generations of both panels"},
      {"copy", "copy vector", "the Scalar engine stays free"},
      {"copy", "copy scalar", "the Vector engine stays free"},
      {"copy", "copy any", "the engine that is free first copies"},
  };
  tw_menu_offer_all(&m, sizeof offers / sizeof *offers, offers);
  for (int k = 1; k <= LOAD_MAX; k *= 2) tw_menu_offer(&m, "load", "fewer transfers, and longer ones", "load k=%d", k);
  return tw_menu_finish(&m, out, error);
}

/* ---- the source ---- */

static const char *type_name(tw_type type) {
  return type == TW_BF16 ? "bfloat16" : type == TW_F16 ? "float16" : "float32";
}

tw_status trn_gemm_emit(const trn_config *c, const tw_problem *problem, const tw_schedule *schedule, char **source,
                        tw_error *error) {
  const subject s = subject_of(c, problem);
  plan p;
  tw_status status = plan_of(&s, schedule, &p, error);
  if (status != TW_OK) return status;
  tw_slots slots = {0};
  tw_text text = {0};
  const int height = TILE * p.m, width = p.tile_n * p.n;
  tw_slots_number(&slots, "m", s.m);
  tw_slots_number(&slots, "n", s.n);
  tw_slots_number(&slots, "k", s.k);
  tw_slots_text(&slots, "c_type", type_name(tw_problem_type(problem, "c")));
  tw_slots_number(&slots, "load", p.load);
  tw_slots_number(&slots, "depth", TILE * p.load);
  tw_slots_number(&slots, "turn_extent", (TILE - 1) * p.load + 1);
  tw_slots_number(&slots, "panels", s.k / (TILE * p.load));
  tw_slots_number(&slots, "height", height);
  tw_slots_number(&slots, "width", width);
  tw_slots_number(&slots, "tile_n", p.tile_n);
  tw_slots_number(&slots, "blocks_m", p.m);
  tw_slots_number(&slots, "blocks_n", p.n);
  tw_slots_number(&slots, "m_blocks", s.m / height);
  tw_slots_number(&slots, "n_blocks", s.n / width);
  tw_slots_flag(&slots, "turns", s.turns);
  tw_slots_flag(&slots, "keeps_columns", p.keep == KEEP_COLUMNS);
  tw_slots_flag(&slots, "keeps_rows", p.keep == KEEP_ROWS);
  tw_slots_flag(&slots, "keeps_nothing", p.keep == KEEP_NOTHING);
  tw_slots_text(&slots, "engine",
                p.copy == COPY_VECTOR   ? ", engine=nisa.vector_engine"
                : p.copy == COPY_SCALAR ? ", engine=nisa.scalar_engine"
                                        : "");
  status = tw_template_add(&text, "trainium/kernels/gemm.py.in", &slots, error);
  tw_slots_free(&slots);
  if (status == TW_OK && !(*source = tw_text_take(&text))) status = tw_fail(error, TW_MISSING, "out of memory");
  if (status != TW_OK) tw_text_free(&text);
  return status;
}
