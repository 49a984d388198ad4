/* gemm_multistage_plan.c - replays the steps of a schedule, and offers the next ones; gemm_multistage.h lists them. */
#include <inttypes.h>

#include "gpu/amd/gemm_multistage.h"
#include "gpu/common/verbs.h"
#include "op/gemm_problem.h"
#include "op/numerics.h"

#define PLAN tw_tile_multistage_plan

enum {
  STAGES_MAX = 8,
  HELD_MAX = 32,
  SPLIT_BELOW = 4, /* tiles per compute unit, below which split_k is offered */
  CHUNK = 16,      /* bytes of a thread's copy */
  PIECE = 1024,    /* bytes that a group copies at once; tiles begin at multiples of it */
  OVERHEAD = 32,   /* registers of a thread beside sums and operands */
  SHARES_MAX = 8,
  FLOAT6_K = 128,  /* swizzles of 6-bit operands are of rows of this k */
  SHARED_STEPS = 4 /* steps of k that a wave keeps, with split_k_waves alone */
};

/* Bytes of `n` elements, which fill whole bytes. */
static int64_t bytes_of(tw_type t, int64_t n) { return n * tw_type_bits(t) / 8; }
/* The usual step along k: 128 bytes of a row, or the k of a matrix instruction. */
static int usual_k(tw_type t) { return tw_is_float6(t) ? FLOAT6_K : 1024 / tw_type_bits(t); }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *problem, tw_error *error) {
  const tw_gemm g = tw_gemm_of(problem);
  const bool sums = g.acc == TW_F32 ? tw_is_real(g.c) : g.acc == TW_I32 && g.c != TW_BFP16;
  const char *pairs = tw_gemm_pair_key(&g);
  TW_REJECT_IF(pairs || g.d != g.acc, "this machine's GEMM does not support %s", pairs ? pairs : "d=c");
  const bool plain = g.a_rounding == TW_GEMM_A_EXACT && !g.quantize;
  if (machine->multiplies(g.a, g.b) && sums && plain) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels do not support a=%s b=%s c=%s%s; use a and b both f32, bf16 or f16, or e4m3 and e5m2, "
                 "or both i8, or on gfx942 both e4m3fnuz, or on gfx950 e2m3 and e3m2, or run a kernel of your own",
                 tw_type_name(g.a), tw_type_name(g.b), tw_type_name(g.c), plain ? "" : " with these roundings");
}

/* Can copies of 16 bytes read the operand? Its rows in memory must begin at multiples of 16 bytes and have a
 * multiple of 16 bytes. */
static bool aligned(int64_t pitch, int64_t columns, tw_type t) {
  return bytes_of(t, pitch) % CHUNK == 0 && bytes_of(t, columns) % CHUNK == 0;
}

static tw_tile_loop_operand loop_operand(const PLAN *p, tw_type type, int length, int groups, bool across) {
  const int row = across ? (int)bytes_of(type, length) : p->row;
  return (tw_tile_loop_operand){.type = type,
                                .fragments = length / groups / p->side,
                                .across = across,
                                .each_lane = across || tw_is_float6(type),
                                .bytes = row * (across ? p->k : length),
                                .row_bytes = row,
                                .advance = row};
}

tw_tile_loop tw_tile_multistage_loop(const tw_gemm *g, const PLAN *p) {
  return (tw_tile_loop){.operand = {loop_operand(p, g->a, p->m, p->groups_m, p->across_a),
                                    loop_operand(p, g->b, p->n, p->groups_n, p->across_b)},
                        .side = p->side,
                        .depth = p->k / p->deep,
                        .groups = p->groups_m * p->groups_n,
                        .stages = p->stages,
                        .tail = p->tail,
                        .laid = p->way_a == TW_TILE_REGISTERS,
                        .blocks = g->scales == TW_GEMM_SCALES_BLOCK};
}

static tw_status check_hand_scheduled(const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p,
                                      tw_error *error) {
  const int groups = p->groups_m * p->groups_n;
  TW_REJECT_IF(tw_is_float6(g->a) && p->loads != TW_TILE_X4_B64,
               "hand_scheduled supports loads x4_b64 alone; leave out the step loads");
  TW_REJECT_IF(!machine->loop || p->way_a == TW_TILE_ELEMENTS || p->way_b == TW_TILE_ELEMENTS,
               "hand_scheduled requires rows that start and end at multiples of 16 bytes; 8-bit operands, and all "
               "operands on gfx942, require b_transposed=1 without a_transposed");
  TW_REJECT_IF(p->ahead || p->interleave,
               "hand_scheduled cannot be combined with interleave or register_prefetch; remove one");
  TW_REJECT_IF((!p->across_a || !p->across_b) && !tw_is_float6(g->a) && PIECE * groups % (p->side * p->row),
               "hand_scheduled requires that %d rows of %d bytes fit the %d bytes that all waves load at once; use a "
               "smaller k or more waves",
               p->side, p->row, PIECE * groups);
  const tw_tile_loop loop = tw_tile_multistage_loop(g, p);
  return machine->loop(machine, &loop, NULL, error);
}

/* Assigns the roles of waves, and the operands that need no shared memory. */
static tw_status settle_roles(const tw_gemm *g, PLAN *p, tw_error *error) {
  const bool ordered = p->pingpong || p->ahead || p->interleave || p->hand_scheduled,
             direct = p->way_a == TW_TILE_DIRECT && p->way_b == TW_TILE_DIRECT;
  TW_REJECT_IF(p->producers && (ordered || p->stages < 2 || !direct || g->scales == TW_GEMM_SCALES_BLOCK),
               "producers requires stages >= 2 and direct-to-LDS loads; it cannot be combined with pingpong, "
               "interleave, register_prefetch, hand_scheduled or block scales");
  TW_REJECT_IF(p->producers && (p->m * p->row % (PIECE * p->producers) || p->n * p->row % (PIECE * p->producers)),
               "a tile of m=%d n=%d k=%d cannot be loaded evenly by %d producers; change the tile or producers", p->m,
               p->n, p->k, p->producers);
  const bool rows_b = !p->across_b && p->way_b != TW_TILE_ELEMENTS;
  TW_REJECT_IF(p->keep_in_registers && (ordered || p->producers || p->across_a || p->way_a == TW_TILE_ELEMENTS ||
                                        !(rows_b || p->columns_b) || g->scales == TW_GEMM_SCALES_BLOCK),
               "keep_in_registers requires b_transposed=1 (or 16-bit operands, mfma 16, 64 columns of each wave and n "
               "and ldb multiples of 4) without a_transposed, and rows that start and end at multiples of 16 bytes; it "
               "cannot be combined with another loop order or block scales");
  const int parts = p->split * p->shares;
  TW_REJECT_IF(p->keep_in_registers > ((g->k + p->k - 1) / p->k + parts - 1) / parts,
               "keep_in_registers %d exceeds the steps of k=%d for each of %d %s; use a smaller number",
               p->keep_in_registers, p->k, parts, p->shares > 1 ? "waves" : "workgroups");
  TW_REJECT_IF(p->shares > 1 && !p->keep_in_registers,
               "split_k_waves requires keep_in_registers, without another loop order");
  if (p->keep_in_registers && p->shares == 1) p->shared_bytes = 0;
  return TW_OK;
}

/* Operands of 6 bits. */
static tw_status settle_float6(const tw_gemm *g, const PLAN *p, tw_error *error) {
  TW_REJECT_IF(!tw_is_float6(g->a), "loads requires a and b of e2m3 or e3m2 (found a=%s); leave out this step",
               tw_type_name(g->a));
  TW_REJECT_IF(
      p->k != FLOAT6_K || g->k % FLOAT6_K || !aligned(g->lda, g->k, g->a) || !aligned(g->ldb, g->k, g->b),
      "kernels of a=%s b=%s require tile k=%d, k a multiple of %d, and lda and ldb of 64 (found tile k=%d k=%" PRId64
      "); pad the operands, or run a kernel of your own",
      tw_type_name(g->a), tw_type_name(g->b), FLOAT6_K, FLOAT6_K, p->k, g->k);
  TW_REJECT_IF(p->registers || p->no_swizzle || p->ahead || p->interleave || p->keep_in_registers || p->pingpong == 4,
               "a=%s excludes copy registers, no_swizzle, register_prefetch, interleave, keep_in_registers and "
               "pingpong 4; leave out these steps",
               tw_type_name(g->a));
  return TW_OK;
}

static tw_status settle_gemm_multistage(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                        tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  const int bits = tw_type_bits(g->a), groups = p->groups_m * p->groups_n;
  const bool across = machine->transposing_reads && bits == 16;
  const int row = p->row = p->loads == TW_TILE_X3_B96 ? p->k : (int)bytes_of(g->a, p->k); /* x3: 16 bytes for 12 */
  p->deep = machine->product_bytes(g->a) * 8 / bits * (machine->group_threads / p->side);
  p->across_a = across && g->a_transposed && aligned(g->lda, g->m, g->a);
  p->across_b = across && !g->b_transposed && aligned(g->ldb, g->n, g->b);
  TW_REJECT_IF(p->m % (p->groups_m * p->side) || p->n % (p->groups_n * p->side),
               "a tile of %d x %d does not divide into %d x %d matrix instructions for %d x %d waves; change the tile "
               "or the waves",
               p->m, p->n, p->side, p->side, p->groups_m, p->groups_n);
  TW_REJECT_IF(p->k % p->deep, "unsupported k=%d; expected a multiple of %d, the k of a %d x %d matrix instruction",
               p->k, p->deep, p->side, p->side);
  if (tw_is_float6(g->a) || p->loads) {
    const tw_status status = settle_float6(g, p, error);
    if (status != TW_OK) return status;
  } else if (row & (row - 1))
    return tw_fail(error, TW_USAGE, "unsupported k=%d; its %d bytes must be a power of two", p->k, row);
  const int waves = groups * p->shares + p->producers;
  TW_REJECT_IF(waves * machine->group_threads > machine->block_threads, "%d waves exceed %d threads; use fewer waves",
               waves, machine->block_threads);
  TW_REJECT_IF((p->across_a && p->m & (p->m - 1)) || (p->across_b && p->n & (p->n - 1)),
               "unsupported tile m=%d n=%d; the side of an operand that is not stored along k must be a power of two",
               p->m, p->n);
  const bool by_row_a = !g->a_transposed && aligned(g->lda, g->k, g->a),
             by_row_b = g->b_transposed && aligned(g->ldb, g->k, g->b);
  const tw_tile_way way = machine->direct_bytes && !p->registers ? TW_TILE_DIRECT : TW_TILE_REGISTERS;
  p->tail = g->k % p->k != 0;
  p->way_a = by_row_a || p->across_a ? way : TW_TILE_ELEMENTS;
  p->way_b = by_row_b || p->across_b ? way : TW_TILE_ELEMENTS;
  TW_REJECT_IF(!p->keep_in_registers && (p->m * row % (PIECE * groups) || p->n * row % (PIECE * groups)),
               "a tile of m=%d n=%d k=%d cannot be loaded evenly by %d waves; use a larger k or fewer waves", p->m,
               p->n, p->k, groups);
  p->columns_b = p->keep_in_registers && bits == 16 && !g->b_transposed && p->side == 16 &&
                 p->n / p->groups_n % 64 == 0 && g->n % 4 == 0 && g->ldb % 4 == 0;
  p->sums = p->m / p->groups_m * (p->n / p->groups_n) / 64;
  const int held = (p->way_a == TW_TILE_REGISTERS ? p->m : 0) + (p->way_b == TW_TILE_REGISTERS ? p->n : 0);
  p->halves = p->pingpong && p->way_a == TW_TILE_DIRECT && p->way_b == TW_TILE_DIRECT;
  const int words = machine->product_bytes(g->a) / 4 *
                    (p->ahead                    ? 2
                     : p->keep_in_registers      ? p->keep_in_registers * (p->k / p->deep)
                     : p->pingpong && !p->halves ? p->k / p->deep
                                                 : 1);
  const int operands = words * (p->m / p->groups_m + p->n / p->groups_n) / p->side +
                       (p->keep_in_registers ? 0 : held * row / (groups * machine->group_threads * 4));
  const int on_simd = (waves + machine->simds - 1) / machine->simds, have = machine->simd_registers / on_simd;
  TW_REJECT_IF(!p->hand_scheduled && p->sums + operands + OVERHEAD > have,
               "a tile of %d x %d for %d waves needs %d registers per thread for accumulators and operands, which "
               "exceeds %d; use a smaller tile or more waves",
               p->m, p->n, waves, p->sums + operands + OVERHEAD, have);
  /* The sums of each share have four additional columns for each group. */
  p->shared_bytes = p->shares > 1 ? (int64_t)p->shares * p->m * (p->n + 4 * p->groups_n) * 4
                                  : (int64_t)p->stages * (p->m + p->n) * row;
  TW_REJECT_STAGES(machine, p->stages, p->shared_bytes);
  TW_REJECT_IF(g->k < (int64_t)p->split * p->shares * p->k && p->split * p->shares > 1,
               "%d parts of k=%" PRId64 " exceed its steps (%d each); use a smaller number", p->split * p->shares, g->k,
               p->k);
  const bool laid = p->way_a == TW_TILE_REGISTERS && p->way_b == TW_TILE_REGISTERS;
  TW_REJECT_IF(p->pingpong && (groups != 2 * machine->simds || p->stages != 2 || !(p->halves || laid)),
               "pingpong requires %d waves, stages 2, and operands whose rows start and end at multiples of 16 bytes, "
               "both copied alike",
               2 * machine->simds);
  TW_REJECT_IF(p->pingpong == 4 && laid, "pingpong through registers has two phases per step; write pingpong 2");
  TW_REJECT_IF(p->halves && (p->m % (2 * p->groups_m * p->side) || p->n % (2 * p->groups_n * p->side) ||
                             p->m / 2 * row % (PIECE * groups) || p->n / 2 * row % (PIECE * groups)),
               "pingpong halves the tile; m=%d n=%d k=%d is too small for %d waves; use a larger tile", p->m, p->n,
               p->k, groups);
  const int halves = p->halves ? 2 : 1, columns = p->n / p->groups_n / halves;
  TW_REJECT_IF(g->scales == TW_GEMM_SCALES_BLOCK && (p->k % TW_GEMM_SCALE_BLOCK || TW_GEMM_SCALE_BLOCK % columns),
               "scales=block: k=%d must be a multiple of %d, and the %d columns of a wave must divide %d, the columns "
               "that share a scale of B",
               p->k, TW_GEMM_SCALE_BLOCK, columns, TW_GEMM_SCALE_BLOCK);
  TW_REJECT_IF(g->scales == TW_GEMM_SCALES_BLOCK && (p->pingpong || p->hand_scheduled) && p->k != TW_GEMM_SCALE_BLOCK,
               "scales=block with pingpong or hand_scheduled requires tile k=%d", TW_GEMM_SCALE_BLOCK);
  TW_REJECT_IF(p->ahead && (p->pingpong || p->stages < 2 || p->k / p->deep % 2 || p->way_a != TW_TILE_DIRECT ||
                            p->way_b != TW_TILE_DIRECT || g->scales == TW_GEMM_SCALES_BLOCK),
               "register_prefetch requires stages >= 2, direct-to-LDS loads and an even number of matrix instructions "
               "along k (k=%d has %d each); not with pingpong or block scales",
               p->k, p->deep);
  TW_REJECT_IF(p->interleave && (p->pingpong || p->ahead || p->stages < 2),
               "interleave requires stages >= 2; it cannot be combined with pingpong or register_prefetch");
  const tw_status status = settle_roles(g, p, error);
  return status == TW_OK && p->hand_scheduled ? check_hand_scheduled(machine, g, p, error) : status;
}

/* ---- steps ---- */

/* Tiles of 64 rows of 6 bits are whole copies of two waves. */
static void plainest(const tw_tile_context *c, void *plan) {
  const tw_type type = tw_gemm_of(c->problem).a;
  *(PLAN *)plan = (PLAN){.m = 64,
                         .n = 64,
                         .k = usual_k(type),
                         .groups_m = 2,
                         .groups_n = tw_is_float6(type) ? 1 : 2,
                         .side = 16,
                         .stages = 1,
                         .registers = !tw_is_float6(type),
                         .split = 1,
                         .shares = 1};
}

/* A new tile resets the plan: earlier steps may not fit it. */
static void begin_tile(const void *with, void *plan) {
  plainest(with, plan);
  ((PLAN *)plan)->registers = false;
}

/* A side of one matrix instruction has one row or column of waves. 128 rows of 6 bits are whole copies of four waves. */
static tw_status then_tile(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan;
  (void)given, (void)error;
  if (tw_is_float6(tw_gemm_of(((const tw_tile_context *)with)->problem).a) && p->m % 128 == 0 && p->n % 128 == 0)
    p->groups_n = 2;
  if (p->m == p->side) p->groups_m = 1;
  if (p->n == p->side) p->groups_n = 1;
  return TW_OK;
}

static void begin_order(const void *with, void *plan) {
  (void)with;
  ((PLAN *)plan)->window = ((PLAN *)plan)->chunk = 0;
}

static tw_status then_product(const void *with, void *plan, unsigned given, tw_error *error) {
  const int side = ((PLAN *)plan)->side;
  (void)with, (void)given;
  return side == 16 || side == 32 ? TW_OK : tw_fail(error, TW_USAGE, "must be 16 or 32");
}

/* pingpong needs two waves on each SIMD and two stages. If the schedule has fewer, the step also sets these. So a
 * search gets there in one step, and not through more waves alone, which are slower. */
static tw_status then_pingpong(const void *with, void *plan, unsigned given, tw_error *error) {
  const int simds = ((const tw_tile_context *)with)->machine->simds;
  PLAN *p = plan;
  (void)given;
  TW_REJECT_IF(p->pingpong == 3, "requires 2 or 4 phases per step (found 3)");
  if (p->groups_m * p->groups_n != 2 * simds) p->groups_m = 2, p->groups_n = simds;
  p->stages = 2;
  p->hand_scheduled = p->ahead = p->interleave = false;
  return TW_OK;
}

/* hand_scheduled: one wave on each SIMD with all its registers, and at least two stages; other loop orders are
 * reset. */
static tw_status then_pinned(const void *with, void *plan, unsigned given, tw_error *error) {
  const int simds = ((const tw_tile_context *)with)->machine->simds;
  PLAN *p = plan;
  (void)given, (void)error;
  if (p->groups_m * p->groups_n != simds) p->groups_m = 2, p->groups_n = simds / 2;
  if (p->stages < 2) p->stages = 2;
  p->pingpong = p->producers = p->keep_in_registers = 0;
  p->shares = 1;
  p->ahead = p->interleave = false;
  return TW_OK;
}

/* producers requires two stages, keep_in_registers none. */
static tw_status then_producers(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan;
  (void)with, (void)given, (void)error;
  if (p->stages < 2) p->stages = 2;
  p->pingpong = p->keep_in_registers = 0;
  p->shares = 1;
  p->hand_scheduled = p->ahead = p->interleave = false;
  return TW_OK;
}

static tw_status then_held(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan;
  (void)with, (void)given, (void)error;
  p->stages = 1;
  p->pingpong = p->producers = 0;
  p->hand_scheduled = p->ahead = p->interleave = false;
  return TW_OK;
}

/* Every wave has the whole tile, which may come with the step, and a share of k. It keeps its
 * share in registers, up to SHARED_STEPS steps. */
static tw_status then_shares(const void *with, void *plan, unsigned given, tw_error *error) {
  const tw_gemm g = tw_gemm_of(((const tw_tile_context *)with)->problem);
  PLAN *p = plan;
  const int64_t steps = (g.k + p->k - 1) / p->k / (p->split * p->shares);
  p->groups_m = p->groups_n = 1;
  p->keep_in_registers = (int)(steps < 1 ? 1 : steps < SHARED_STEPS ? steps : SHARED_STEPS);
  return then_held(with, plan, given, error);
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile m=256 n=256 k=64",
     .help = "Set the tile of C of a workgroup and the step along k.",
     .needs = 2,
     .argument = {TW_NUMBER("m", PLAN, m, 16, 512), TW_NUMBER("n", PLAN, n, 16, 512), TW_NUMBER("k", PLAN, k, 16, 512)},
     .first = begin_tile,
     .then = then_tile},
    {.name = "waves|groups",
     .usage = "waves m=2 n=4",
     .help = "Set the waves of a workgroup, in rows and columns of its tile.",
     .needs = 2,
     .argument = {TW_NUMBER("m", PLAN, groups_m, 1, 16), TW_NUMBER("n", PLAN, groups_n, 1, 16)}},
    TW_TILE_MFMA(PLAN, side, "16, 32", then_product),
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, "1, 2, 3, 4, 5, 6, 7, 8"),
    TW_TILE_COPY(PLAN),
    {TW_VERB("loads", "loads x3_b96",
             "Choose how 6-bit operands get to LDS, 16, 12 or 4 bytes of a lane at a time, and how they are read.", 1,
             TW_CHOICE("", PLAN, loads, 0, "x4_b64|x4_b128|x4_b96|x3_b96|x1_b64"))},
    {TW_FLAG_RENAMED("no_swizzle", "straight", "Store tiles in LDS without a swizzle.", PLAN, no_swizzle)},
    {TW_NUMBERED("split_k|split", "split_k 4",
                 "Split k over workgroups (split-K); a second kernel adds the partial sums.", PLAN, split, 1, 64)},
    {TW_NUMBERED("pingpong|turns", "pingpong 4",
                 "Alternate two sets of waves (8-wave ping-pong): one multiplies while the other reads LDS and copies.",
                 PLAN, pingpong, 2, 4),
     .then = then_pingpong, .offers = "2, 4", .why = "half of the waves multiply while the other half loads"},
    {TW_FLAG("interleave", "Ask the compiler to spread reads and copies among matrix instructions.", PLAN, interleave),
     .why = "the compiler spreads loads among the matrix instructions"},
    {TW_FLAG_RENAMED(
         "register_prefetch", "ahead",
         "Read the operands of the next products while the current ones multiply (register double buffering).", PLAN,
         ahead),
     .why = "register double buffering: the next operands are read while these multiply"},
    {TW_FLAG_RENAMED("hand_scheduled", "pinned", "Use a hand-scheduled assembly loop over k.", PLAN, hand_scheduled),
     .then = then_pinned, .why = "hand-scheduled assembly loop: loads are issued among the matrix instructions"},
    {TW_NUMBERED("producers", "producers 4", "Add waves that only copy (warp-specialized).", PLAN, producers, 1, 8),
     .then = then_producers, .offers = "4", .why = "producer waves load, consumer waves only multiply"},
    {TW_NUMBERED("keep_in_registers|held", "keep_in_registers 4",
                 "Keep operands resident in registers, loaded this many steps early, without LDS.", PLAN,
                 keep_in_registers, 1, HELD_MAX),
     .then = then_held},
    {.name = "split_k_waves",
     .usage = "split_k_waves 4, split_k_waves 4 m=16 n=64",
     .help =
         "Split k over the waves of a workgroup, operands in registers; the partial sums meet in LDS. With m and n: "
         "the tile of C.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, shares, 2, SHARES_MAX), TW_NUMBER("m", PLAN, m, 16, 512),
                  TW_NUMBER("n", PLAN, n, 16, 512)},
     .then = then_shares},
    {.name = "rasterize|order",
     .usage = "rasterize window=8 chunk=64",
     .help = "Set the rasterization of tiles over XCDs (HipKittens' window and chunk).",
     .needs = 2,
     .argument = {TW_NUMBER("window", PLAN, window, 1, 1024), TW_NUMBER("chunk", PLAN, chunk, 1, 4096)},
     .first = begin_order},
};
static const tw_language language = {TW_LANGUAGE("gemm on AMD GPUs", verbs)};

/* ---- the menu ---- */

static void offer_tiles(tw_menu_builder *m, int usual_k) {
  static const int sizes[] = {16, 32, 64, 96, 128, 192, 256};
  static const char together[] =
      "operands of a tile are read once for all of it: large ones need less bandwidth, small "
      "ones keep every processor busy",
                    deeper[] = "fewer barriers and waits for as many products";
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      tw_menu_offer(m, "tile", together, "tile m=%d n=%d k=%d", sizes[i], sizes[j], usual_k);
      tw_menu_offer(m, "tile", deeper, "tile m=%d n=%d k=%d", sizes[i], sizes[j], 2 * usual_k);
    }
}

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  const PLAN *now = m->now;
  offer_tiles(m, usual_k(g.a));
  for (int i = 1; i <= 4; i *= 2)
    for (int j = 1; j <= 4; j *= 2)
      tw_menu_offer(m, "waves", "the waves of a workgroup share its tiles; each holds its own accumulators",
                    "waves m=%d n=%d", i, j);
  for (int i = 0; i < 2 && tw_is_float6(g.a); i++)
    tw_menu_offer(m, "loads", "copies of 12 bytes need aligned reads of 12 alone; copies of 16 are fewer", "loads %s",
                  i ? "x3_b96" : "x4_b64");
  /* if every compute unit has several tiles, split_k gains nothing, and the check must execute the whole grid */
  const int64_t tiles = (g.m + now->m - 1) / now->m * ((g.n + now->n - 1) / now->n);
  const bool few = tiles < SPLIT_BELOW * (int64_t)c->machine->processors;
  for (int i = 1; i <= 16 && (few || now->split > 1); i += i < 4 ? 1 : i / 2)
    tw_menu_offer(m, "split_k", "blocks that share k keep every processor busy with few tiles", "split_k %d", i);
  const int64_t steps = ((g.k + now->k - 1) / now->k + now->split - 1) / now->split;
  for (int64_t i = 2; i <= HELD_MAX && few; i = i < steps && steps < 2 * i ? steps : 2 * i)
    tw_menu_offer(m, "keep_in_registers", "with a short k, operands stay in registers and skip LDS",
                  "keep_in_registers %d", (int)i);
  for (int i = 2; i <= SHARES_MAX; i *= 2)
    for (int rows = 16; rows <= 32; rows *= 2)
      for (int columns = 16; columns <= 128; columns *= 2)
        if ((g.m + rows - 1) / rows * ((g.n + columns - 1) / columns) < SPLIT_BELOW * (int64_t)c->machine->processors)
          tw_menu_offer(m, "split_k_waves",
                        "waves divide k: each loads few operands straight to registers, without LDS",
                        "split_k_waves %d m=%d n=%d", i, rows, columns);
  for (int window = 1; window <= 16; window *= 2)
    for (int chunk = window; chunk <= 8 * window; chunk *= 2)
      tw_menu_offer(m, "rasterize", "workgroups of one XCD read the same rows and columns: its L2 holds them",
                    "rasterize window=%d chunk=%d", window, chunk);
}

const tw_tile_family tw_tile_multistage = {.language = &language,
                                           .plan_size = sizeof(PLAN),
                                           .supports = supports,
                                           .plainest = plainest,
                                           .settle = settle_gemm_multistage,
                                           .offers = offers,
                                           .write = tw_tile_multistage_write};
