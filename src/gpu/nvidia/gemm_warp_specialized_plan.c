/* gemm_warp_specialized_plan.c - replays the steps of a schedule, and offers the next ones; gemm_warp_specialized.h
 * lists them. */
#include <inttypes.h>

#include "gpu/common/verbs.h"
#include "gpu/nvidia/gemm_warp_specialized.h"
#include "op/gemm_problem.h"
#include "op/numerics.h"

enum {
  STAGES_MAX = 12,
  STAGES_USUAL = 8,
  BARRIER_BYTES = 8,
  ALIGNMENT = 1024, /* of shared tiles */
  BOX_MAX = 256,    /* rows of an asynchronous copy, at most */
  ROWS_MIN = 8,     /* rows of a part of a tile, at least */
  OVERHEAD = 40,    /* registers of a thread in addition to its sums */
  THREAD_MAX = 255,
  COPY_BY_THREADS = 72, /* registers of a thread that copies */
  USUAL = -1,           /* registers were not given */
};

/* Registers of producer and consumer threads that were good for 1, 2 and 3 consumers; they stay below the block's
 * limit. */
typedef struct share {
  int copy, multiply;
} share;
static share usual_share(const tw_tile_gemm_plan *p) {
  const bool by_threads = !p->copies_a || !p->copies_b;
  if (p->groups == 1) return (share){0, 0};
  if (p->groups == 3) return by_threads ? (share){COPY_BY_THREADS, 144} : (share){32, 160};
  if (by_threads) return (share){COPY_BY_THREADS, 216};
  const int rows = p->pingpong ? p->m : p->m / p->groups;
  return rows / 64 * p->n / 2 > 128 ? (share){24, 240} : (share){40, 232};
}

static tw_status supports(const tw_tile_machine *machine, const tw_problem *problem, tw_error *error) {
  (void)machine;
  const tw_gemm g = tw_gemm_of(problem);
  TW_REJECT_IF(g.packed,
               "kernels of packed weights are for few rows and begin with skinny, sliced_k or swap_ab (found m=%" PRId64
               "); for more rows, decode the weights once and multiply b=bf16",
               g.m);
  const bool real = tw_is_real(g.a) && tw_is_real(g.b) && tw_is_real(g.c) && g.acc == TW_F32;
  const bool float8 = tw_is_float8(g.a) && tw_is_float8(g.b) && tw_is_real(g.c) && g.acc == TW_F32;
  const bool integer = (g.a == TW_I8 || g.a == TW_U8) && g.b == TW_I8 && g.acc == TW_I32 && g.c != TW_BFP16;
  if ((real || float8 || integer) && g.a_rounding == TW_GEMM_A_EXACT) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels support a and b of f32, bf16, f16, e4m3 or e5m2 with c of f32, bf16 or f16, and a=i8 or "
                 "u8 with b=i8 (found a=%s b=%s c=%s)",
                 tw_type_name(g.a), tw_type_name(g.b), tw_type_name(g.c));
}

tw_type tw_tile_gemm_factor(const tw_tile_gemm_plan *p, tw_type a) { return p->products ? TW_BF16 : a; }

bool tw_tile_products_suffice(int products, tw_arithmetic arithmetic, int64_t k) {
  if (products < 3) return arithmetic == TW_ARITHMETIC_BF16;
  return products > 3 || arithmetic != TW_ARITHMETIC_FULL || k >= 1024;
}

static int usual_products(tw_arithmetic arithmetic, int64_t k) {
  return arithmetic == TW_ARITHMETIC_BF16 ? 1 : tw_tile_products_suffice(3, arithmetic, k) ? 3 : 6;
}

/* Sums of more than some hundred products on a unit that cuts have a larger error than f32's rounding. */
static int usual_promote(tw_arithmetic arithmetic, int64_t k) {
  return arithmetic == TW_ARITHMETIC_FULL && k >= 512 ? 256 : 0;
}

/* Tensor cores round f32 to tf32 and sum products of 8-bit floats in 14 bits, so the problem must allow it. */
static tw_status check_types(const tw_tile_machine *machine, const tw_gemm *g, const tw_tile_gemm_plan *p,
                             tw_error *error) {
  if (p->products) {
    TW_REJECT_IF(g->a != TW_F32 || g->b != TW_F32, "products %d requires f32 operands; leave it out", p->products);
    TW_REJECT_IF(p->products != 1 && p->products != 3 && p->products != 6,
                 "unsupported products %d; expected 1, 3 or 6", p->products);
    TW_REJECT_IF(p->products == 1 && g->arithmetic != TW_ARITHMETIC_BF16,
                 "products 1 rounds f32 to bf16; it requires arithmetic=bf16");
    return TW_OK;
  }
  TW_REJECT_IF(!machine->multiplies(g->a, g->b),
               "the tensor cores do not support a=%s b=%s; use the empty schedule, which is the plain kernel",
               tw_type_name(g->a), tw_type_name(g->b));
  TW_REJECT_IF(g->a == TW_F32 && g->arithmetic != TW_ARITHMETIC_TF32,
               "tensor cores multiply f32 as tf32; use arithmetic=tf32, or bf16 parts with 'products 3'");
  TW_REJECT_IF(tw_is_float8(g->a) && g->arithmetic != TW_ARITHMETIC_FAST8,
               "tensor cores sum %s in 14 bits; use arithmetic=fast_accum, or the empty schedule", tw_type_name(g->a));
  return TW_OK;
}

static int element_bytes(tw_type t) { return tw_type_bits(t) / 8; }

/* Rows of a shared tile have 32, 64 or n x 128 bytes. */
static bool row_fits(const tw_tile_machine *machine, int bytes) {
  return bytes > 0 &&
         (bytes % machine->panel_bytes == 0 || bytes == machine->panel_bytes / 2 || bytes == machine->panel_bytes / 4);
}

static int64_t pad(int64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static int64_t shared_bytes(const tw_gemm *g, const tw_tile_gemm_plan *p, int stages) {
  const int64_t stage = (int64_t)(p->m + p->n) * p->k * element_bytes(tw_tile_gemm_factor(p, g->a));
  const int64_t results = p->copies_c ? (int64_t)p->groups * p->staging * pad(64 * p->width * element_bytes(g->c)) : 0;
  const int64_t parts =
      (int64_t)(p->split - 1) * ((p->groups + p->split - 1) / p->split) * (p->m / p->groups) * p->n * 4;
  const int64_t scales = p->scales_staged ? (p->m / 256 + 1) * 1024 : 0;
  return ALIGNMENT + stages * (stage + scales) + results + parts + (2 * stages + p->groups + 1) * BARRIER_BYTES;
}

static bool copies(const tw_tile_machine *machine, int64_t pitch, tw_type t) {
  return machine->copy_alignment && pitch * element_bytes(t) % machine->copy_alignment == 0;
}

/* Bytes that a thread can copy asynchronously along a row with this pitch; 0: none. f32 is rounded during the copy. */
static int piece_of(const tw_tile_machine *machine, int64_t pitch, int size, bool along) {
  const int64_t bytes = pitch * size;
  return !machine->copy_alignment || size > 2 || !along || bytes % 4 ? 0 : bytes % 8 ? 4 : 8;
}

/* Columns of a tile of results: as many as a panel has, if n is a multiple of them. */
static int result_width(const tw_tile_machine *machine, int n, tw_type c) {
  int width = machine->panel_bytes / element_bytes(c);
  if (width > 64) width = 64;
  while (n % width) width /= 2;
  return width;
}

static int workers_of(const tw_tile_gemm_plan *p) { return p->pingpong ? 1 : p->groups; }

/* The sizes of a tile. */
static tw_status check_tile(const tw_tile_machine *machine, const tw_gemm *g, tw_tile_gemm_plan *p, tw_error *error) {
  const int size = element_bytes(tw_tile_gemm_factor(p, g->a)), workers = workers_of(p);
  if (!p->k) p->k = machine->panel_bytes / size;
  if (g->scales == TW_GEMM_SCALES_BLOCK) {
    TW_REJECT_IF(p->k != TW_GEMM_SCALE_BLOCK || TW_GEMM_SCALE_BLOCK % p->n || p->pingpong || p->split > 1,
                 "scales=block requires tile k=%d and n=16, 32, 64 or 128, the columns that share a scale of B; not "
                 "with pingpong or split_k",
                 TW_GEMM_SCALE_BLOCK);
    p->promote = p->k;
  }
  TW_REJECT_IF(p->m < 1 || p->m % (machine->group_rows * workers),
               "unsupported m=%d; expected a multiple of %d rows for each of %d consumer warpgroups", p->m,
               machine->group_rows, workers);
  TW_REJECT_IF(p->n < 16 || p->n > machine->columns || p->n % 16,
               "unsupported n=%d; expected a multiple of 16 up to %d", p->n, machine->columns);
  TW_REJECT_IF(!row_fits(machine, p->k * size), "unsupported k=%d; its %d bytes must be %d, %d or a multiple of %d",
               p->k, p->k * size, machine->panel_bytes / 4, machine->panel_bytes / 2, machine->panel_bytes);
  TW_REJECT_IF(p->groups < 1 || (p->groups + 1) * machine->group_threads > machine->block_threads,
               "consumers=%d and the producer exceed %d threads; use fewer consumers", p->groups,
               machine->block_threads);
  return TW_OK;
}

/* Chooses the ways of operands into shared memory and of results out of it. */
static tw_status place_operands(const tw_tile_machine *machine, const tw_gemm *g, tw_tile_gemm_plan *p,
                                tw_error *error) {
  const int size = element_bytes(tw_tile_gemm_factor(p, g->a));
  /* Threads transpose operands that wgmma cannot read in their layout. */
  p->across_a = g->a_transposed && size == 2;
  p->across_b = !g->b_transposed && size == 2;
  const bool a_lies = size == 2 || !g->a_transposed, b_lies = size == 2 || g->b_transposed;
  const bool a_fits = copies(machine, g->lda, g->a), b_fits = copies(machine, g->ldb, g->b);
  p->moved_a = p->repack && !p->products && !(a_lies && a_fits);
  p->moved_b = p->repack && !p->products && !(b_lies && b_fits);
  p->transposed_a = p->moved_a && !a_lies;
  p->transposed_b = p->moved_b && !b_lies;
  p->copies_a = p->products || p->moved_a || (a_lies && a_fits);
  p->copies_b = p->products || p->moved_b || (b_lies && b_fits);
  p->piece_a = p->copies_a ? 0 : piece_of(machine, g->lda, size, a_lies);
  p->piece_b = p->copies_b ? 0 : piece_of(machine, g->ldb, size, b_lies);
  /* both operands are awaited in the same way */
  if ((!p->copies_a && !p->piece_a) || (!p->copies_b && !p->piece_b)) p->piece_a = p->piece_b = 0;
  p->copies_c = copies(machine, g->ldc, g->c) && p->parts == 1;
  TW_REJECT_IF(p->repack && (p->stream_k || (!p->moved_a && !p->moved_b)),
               "repack requires a pitch that is not a multiple of %d bytes, or 8-bit or f32 operands stored across k; "
               "it cannot be combined with stream_k",
               machine->copy_alignment);
  TW_REJECT_IF(p->across_b && !row_fits(machine, p->n * size),
               "unsupported n=%d; with B stored k x n, expected 16, 32, 64, 128, 192 or 256", p->n);
  p->width = result_width(machine, tw_gemm_gates(g) ? p->n / 2 : p->n, g->c);
  if (p->width * element_bytes(g->c) < machine->panel_bytes / 4) p->copies_c = false;
  return TW_OK;
}

/* Divides registers between producer and consumer threads where the machine can move them. */
static tw_status share_registers(const tw_tile_machine *machine, tw_tile_gemm_plan *p, tw_error *error) {
  const share usual = usual_share(p);
  if (p->registers_copy == USUAL) {
    p->registers_copy = machine->registers_move ? usual.copy : 0;
    p->registers_multiply = machine->registers_move ? usual.multiply : 0;
  }
  TW_REJECT_IF(p->registers_copy && (p->registers_copy % 8 || p->registers_multiply % 8 || p->registers_copy < 24 ||
                                     p->registers_multiply > 240 ||
                                     (p->registers_copy + p->groups * p->registers_multiply) * machine->group_threads >
                                         machine->registers),
               "unsupported registers producer=%d consumer=%d; expected multiples of 8 between 24 and 240, and for %d "
               "consumers and the producer at most %d in all",
               p->registers_copy, p->registers_multiply, p->groups, machine->registers);
  TW_REJECT_IF(p->registers_copy && p->registers_copy < COPY_BY_THREADS && (!p->copies_a || !p->copies_b),
               "registers producer=%d is too small; threads copy this pitch or layout, which requires %d",
               p->registers_copy, COPY_BY_THREADS);
  return TW_OK;
}

/* Accumulators must fit the registers of the consumers. */
static tw_status place_sums(const tw_tile_machine *machine, const tw_gemm *g, tw_tile_gemm_plan *p, tw_error *error) {
  const int rows = p->m / workers_of(p);
  /* With block scales, a warpgroup with one product of rows has two sets of sums: the current block's and the total.
   * With more products, it has one additional set, which its rows use in turn. */
  const bool of_blocks = g->scales == TW_GEMM_SCALES_BLOCK;
  p->scales_staged = of_blocks && rows > machine->group_rows;
  const int sums = (of_blocks && !p->scales_staged ? 3 * rows / 64
                    : p->scales_staged             ? rows / 64 + 1
                                                   : rows / 64 * (p->promote ? 2 : 1)) *
                   p->n / 2;
  TW_REJECT_IF(p->scales_staged && (!p->copies_a || !p->copies_b),
               "scales=block: a consumer warpgroup with more than %d rows requires A stored m x k and B stored n x k, "
               "with pitches that are multiples of %d",
               machine->group_rows, machine->copy_alignment);
  int have =
      p->registers_copy ? p->registers_multiply : machine->registers / ((p->groups + 1) * machine->group_threads);
  if (have > THREAD_MAX) have = THREAD_MAX;
  TW_REJECT_IF(sums + OVERHEAD > have,
               "a tile of %d x %d per consumer warpgroup needs %d registers per thread for accumulators, which exceeds "
               "%d; use a smaller tile",
               rows, p->n, sums, have);
  p->scales_early = g->scales == TW_GEMM_SCALES_ROW && p->parts == 1 && sums + p->n / 4 + rows / 32 + OVERHEAD <= have;
  return TW_OK;
}

/* Rejects combinations of steps. */
static tw_status check_ways(const tw_gemm *g, const tw_tile_gemm_plan *p, tw_error *error) {
  TW_REJECT_IF(p->promote % p->k || (p->pingpong && p->promote),
               "unsupported promote k=%d; expected a multiple of the tile's k=%d, without pingpong", p->promote, p->k);
  TW_REJECT_IF(p->products && p->cluster_m * p->cluster_n > 1, "cluster cannot be combined with products; remove one");
  TW_REJECT_IF(p->parts > 1 && (p->split > 1 || p->pingpong || p->cluster_m * p->cluster_n > 1),
               "split_k_workspace %d cannot be combined with split_k, cluster or pingpong; remove one", p->parts);
  TW_REJECT_IF(
      p->stream_k && (p->parts > 1 || p->split > 1 || p->pingpong || p->products || p->cluster_m * p->cluster_n > 1),
      "stream_k cannot be combined with split_k, split_k_workspace, products, cluster or pingpong; remove one");
  TW_REJECT_IF(p->parts > 1 && g->k < (int64_t)p->parts * p->k,
               "split_k_workspace %d exceeds the steps of k=%" PRId64 " (%d each); use a smaller number", p->parts,
               g->k, p->k);
  return TW_OK;
}

/* A gate and its factor are columns of one tile: B's rows are copied in two parts, and one thread has both complete
 * sums. */
static tw_status check_glu(const tw_gemm *g, const tw_tile_gemm_plan *p, tw_error *error) {
  if (!g->glu) return TW_OK;
  TW_REJECT_IF(tw_gemm_gates(g) && !(g->b_transposed && p->copies_b),
               "glu requires B stored n x k, and pitches of B that are multiples of 16 bytes");
  TW_REJECT_IF(
      !p->copies_c || (g->glu_pass && g->n % p->width),
      "glu requires pitches of C that are multiples of 16 bytes; and with glu_pass, an n that is a multiple of "
      "the %d columns of a tile of results (found n=%" PRId64 ")",
      p->width, g->n);
  TW_REJECT_IF(tw_gemm_gates_back(g) && (tw_type_bits(g->c) != 16 || g->ldd % 8),
               "glu_pass=backward requires c of bf16 or f16, and ldd that is a multiple of 8 (found c=%s ldd=%" PRId64
               ")",
               tw_type_name(g->c), g->ldd);
  TW_REJECT_IF(p->split > 1 || p->parts > 1 || p->stream_k || p->repack || p->products,
               "glu cannot be combined with split_k, split_k_workspace, stream_k, repack or products; remove one");
  return p->n % 32 == 0 || tw_gemm_gates_back(g)
             ? TW_OK
             : tw_fail(error, TW_USAGE, "unsupported n=%d; glu requires a multiple of 32", p->n);
}

/* A thread has the sums of both halves of a head in its columns, 8 apart, if the tile has whole heads. */
static tw_status check_rotary(const tw_gemm *g, const tw_tile_gemm_plan *p, tw_error *error) {
  if (!g->rotary) return TW_OK;
  TW_REJECT_IF(p->parts > 1, "rotary cannot be combined with split_k_workspace, which adds the sums in another kernel");
  TW_REJECT_IF(g->rotary == TW_GEMM_ROTARY_HALVES && (g->head % 16 || p->n % g->head),
               "unsupported n=%d; rotary=halves requires a multiple of head=%" PRId64 ", itself a multiple of 16", p->n,
               g->head);
  return TW_OK;
}

/* Checks blocks that share copies, or a tile. */
static tw_status check_cluster(const tw_tile_machine *machine, const tw_gemm *g, const tw_tile_gemm_plan *p,
                               tw_error *error) {
  const int parts_a = p->across_a ? p->k : p->m, parts_b = p->across_b ? p->k : p->n;
  TW_REJECT_IF(p->cluster_m * p->cluster_n > machine->cluster_max,
               "unsupported cluster of %d x %d blocks; the machine has clusters of at most %d", p->cluster_m,
               p->cluster_n, machine->cluster_max);
  TW_REJECT_IF(p->split > machine->blocks_together ||
                   (p->split > 1 && (p->pingpong || p->cluster_m * p->cluster_n > 1)),
               "unsupported split_k %d; expected at most %d blocks, without cluster or pingpong", p->split,
               machine->blocks_together);
  TW_REJECT_IF(p->split > 1 && g->k < (int64_t)p->split * p->k,
               "split_k %d exceeds the steps of k=%" PRId64 " (%d each); use a smaller number", p->split, g->k, p->k);
  TW_REJECT_IF((p->cluster_m > 1 && !p->copies_b) || (p->cluster_n > 1 && !p->copies_a),
               "cluster requires asynchronous copies; the pitch or layout of this operand does not allow them");
  TW_REJECT_IF(parts_a % (ROWS_MIN * p->cluster_n) || parts_b % (ROWS_MIN * p->cluster_m),
               "cluster requires that each block copies a multiple of %d rows of a tile; use a larger tile", ROWS_MIN);
  TW_REJECT_IF(parts_a / p->cluster_n > BOX_MAX || parts_b / p->cluster_m > BOX_MAX,
               "one copy has at most %d rows of a tile; use a smaller tile", BOX_MAX);
  return TW_OK;
}

/* If the number of stages is not given: as many as fit. */
static tw_status place_stages(const tw_tile_machine *machine, const tw_gemm *g, tw_tile_gemm_plan *p, tw_error *error) {
  int stages = p->stages;
  if (!stages) {
    stages = STAGES_USUAL;
    while (stages > 2 && shared_bytes(g, p, stages) > machine->shared_bytes) stages--;
  }
  p->stages = stages;
  p->shared_bytes = shared_bytes(g, p, stages);
  TW_REJECT_STAGES(machine, stages, p->shared_bytes);
  return TW_OK;
}

static tw_status settle_gemm_warp_specialized(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                              tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  tw_tile_gemm_plan *p = plan;
  tw_status status = check_types(machine, g, p, error);
  if (status == TW_OK) status = check_tile(machine, g, p, error);
  if (status == TW_OK) status = place_operands(machine, g, p, error);
  if (status == TW_OK) status = share_registers(machine, p, error);
  if (status == TW_OK) status = place_sums(machine, g, p, error);
  if (status == TW_OK) status = check_ways(g, p, error);
  if (status == TW_OK) status = check_glu(g, p, error);
  if (status == TW_OK) status = check_rotary(g, p, error);
  if (status == TW_OK) status = check_cluster(machine, g, p, error);
  return status == TW_OK ? place_stages(machine, g, p, error) : status;
}

/* ---- steps ---- */

/* A new tile keeps rasterize, epilogue_stages, products, promote and repack. All other fields are reset. */
static void begin_tile(const void *with, void *plan) {
  const tw_gemm gemm = tw_gemm_of(((const tw_tile_context *)with)->problem), *g = &gemm;
  const bool parts = g->a == TW_F32 && g->b == TW_F32 && g->arithmetic != TW_ARITHMETIC_TF32;
  tw_tile_gemm_plan *p = plan;
  const tw_tile_gemm_plan before = *p;
  *p = (tw_tile_gemm_plan){.m = 128,
                           .n = 128,
                           .cluster_m = 1,
                           .cluster_n = 1,
                           .split = 1,
                           .parts = 1,
                           .products = parts ? usual_products(g->arithmetic, g->k) : 0,
                           .promote = parts ? usual_promote(g->arithmetic, g->k) : 0,
                           .band = 8,
                           .staging = 1,
                           .registers_copy = USUAL};
  if (!before.m) return;
  p->band = before.band;
  p->band_columns = before.band_columns;
  p->staging = before.staging;
  p->repack = before.repack;
  p->products = before.products;
  p->promote = before.promote;
}

static tw_status then_groups(const void *with, void *plan, unsigned given, tw_error *error) {
  tw_tile_gemm_plan *p = plan;
  (void)with, (void)given;
  if (!p->groups) p->groups = p->m >= 128 || p->pingpong ? 2 : 1;
  return p->pingpong && p->groups < 2
             ? tw_fail(error, TW_USAGE, "pingpong requires two consumer warpgroups; use consumers=2")
             : TW_OK;
}

static void begin_cluster(const void *with, void *plan) {
  tw_tile_gemm_plan *p = plan;
  (void)with;
  p->cluster_m = p->cluster_n = 1;
}

/* The second argument of the step is the width along columns. */
static tw_status then_band(const void *with, void *plan, unsigned given, tw_error *error) {
  ((tw_tile_gemm_plan *)plan)->band_columns = given == 2;
  (void)with;
  return given == 3 ? tw_fail(error, TW_USAGE, "takes m or n, not both") : TW_OK;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile m=128 n=256 k=64 consumers=2, tile m=64 n=256 consumers=2 pingpong",
     .help = "Set the tile of C of a thread block, the step along k and the consumer warpgroups; `pingpong` lets "
             "one multiply while another stores.",
     .needs = 2,
     .argument = {TW_NUMBER("m", tw_tile_gemm_plan, m, 16, 512), TW_NUMBER("n", tw_tile_gemm_plan, n, 16, 512),
                  TW_NUMBER("k", tw_tile_gemm_plan, k, 16, 512),
                  TW_NUMBER("consumers|groups", tw_tile_gemm_plan, groups, 1, 8),
                  TW_CHOICE("", tw_tile_gemm_plan, pingpong, 1, "pingpong=turns")},
     .first = begin_tile,
     .then = then_groups},
    TW_TILE_STAGES(tw_tile_gemm_plan, 2, STAGES_MAX, "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"),
    {.name = "cluster|team",
     .usage = "cluster m=2, cluster n=2",
     .help = "Let a cluster of two blocks share a tile of A or B by multicast.",
     .needs = 1,
     .argument = {TW_NUMBER("m", tw_tile_gemm_plan, cluster_m, 1, 16),
                  TW_NUMBER("n", tw_tile_gemm_plan, cluster_n, 1, 16)},
     .first = begin_cluster},
    {TW_NUMBERED("split_k|split", "split_k 4",
                 "Split k over the blocks of a cluster (split-K); each adds the partial sums of some consumers.",
                 tw_tile_gemm_plan, split, 1, 16),
     .offers = "1, 2, 3, 4, 5, 6, 7, 8", .why = "blocks that share k keep every processor busy with few tiles"},
    TW_TILE_PARTS(tw_tile_gemm_plan, "4, 8, 16, 32, 64"),
    {TW_FLAG_RENAMED("stream_k", "even", "Use stream-K: every block gets the same number of steps.", tw_tile_gemm_plan,
                     stream_k),
     .why = "all blocks share the last wave of tiles evenly"},
    {TW_FLAG_RENAMED("repack", "aligned",
                     "First copy A and B to padded buffers, if tile copies do not support their pitch or layout.",
                     tw_tile_gemm_plan, repack),
     .why = "operands that TMA cannot read are copied once to padded rows"},
    TW_TILE_PRODUCTS(tw_tile_gemm_plan),
    TW_TILE_PROMOTE(tw_tile_gemm_plan, ""),
    TW_TILE_RASTERIZE(tw_tile_gemm_plan, then_band),
    {TW_NUMBERED("epilogue_stages|staging", "epilogue_stages 2",
                 "Set the number of result tiles that a warpgroup stages in shared memory.", tw_tile_gemm_plan, staging,
                 1, 8),
     .offers = "1, 2, 4", .why = "one result tile is stored while the next is written to shared memory"},
    TW_TILE_REGISTERS(tw_tile_gemm_plan, "producer=24 consumer=240, producer=40 consumer=232"),
};
static const tw_language language = {TW_LANGUAGE("gemm on NVIDIA GPUs", verbs),
                                     .begun = TW_FIELD(tw_tile_gemm_plan, m)};

/* ---- the menu ---- */

static void offer_tiles(tw_menu_builder *m) {
  static const int rows[] = {64, 128, 192, 256}, columns[] = {16, 32, 64, 96, 128, 160, 192, 208, 256};
  static const char together[] = "large tiles need less bandwidth; small tiles keep every processor busy",
                    turns[] = "one consumer warpgroup multiplies while another stores its tile";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++) {
      for (int groups = 1; groups <= 3; groups++)
        tw_menu_offer(m, "tile", together, "tile m=%d n=%d consumers=%d", rows[i], columns[j], groups);
      tw_menu_offer(m, "tile", turns, "tile m=%d n=%d consumers=2 pingpong", rows[i], columns[j]);
    }
}

static const tw_offer fixed[] = {
    {"cluster", "cluster m=2", "multicast: two blocks load half of B's tile each, for both; half of the L2 traffic"},
    {"cluster", "cluster n=2", "multicast: two blocks load half of A's tile each, for both; half of the L2 traffic"},
    {"cluster", "cluster m=1", "no cluster: blocks do not wait for each other"},
};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  offer_tiles(m);
  static const int products[] = {1, 3, 6};
  for (size_t i = 0; g.a == TW_F32 && i < sizeof products / sizeof *products; i++)
    if (tw_tile_products_suffice(products[i], g.arithmetic, g.k))
      tw_menu_offer(m, "products", "f32 on the matrix unit, as bf16 parts", "products %d", products[i]);
  for (int i = 128; g.a == TW_F32 && i <= 1024; i *= 2)
    tw_menu_offer(m, "promote", TW_TILE_WHY_PROMOTE, "promote k=%d", i);
  tw_menu_offer_all(m, sizeof fixed / sizeof *fixed, fixed);
}

const tw_tile_family tw_tile_gemm = {.language = &language,
                                     .plan_size = sizeof(tw_tile_gemm_plan),
                                     .supports = supports,
                                     .settle = settle_gemm_warp_specialized,
                                     .offers = offers,
                                     .kernel = "gpu/nvidia/kernels/gemm_warp_specialized.cuh.in",
                                     .slots = tw_tile_gemm_slots};
