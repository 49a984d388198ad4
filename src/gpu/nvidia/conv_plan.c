/* conv_plan.c - replays the steps of a schedule, and offers the next ones; conv_kernel.h lists them. */
#include <inttypes.h>
#include <string.h>

#include "gpu/common/verbs.h"
#include "gpu/nvidia/conv_kernel.h"
#include "gpu/nvidia/gemm_warp_specialized.h"
#include "op/conv2d.h"

enum {
  STAGES_MAX = 8,
  ALIGNMENT = 1024,
  BARRIER_BYTES = 8,
  OVERHEAD = 40,
  PLACES = 64,
  TURNED_PITCH = 68 /* pitch in floats of turned_sums in the header */
};

#define PLAN tw_tile_conv_plan

static bool is_conv2d(const tw_problem *p) { return strcmp(p->op->name, "conv2d") == 0; }

tw_conv tw_tile_conv_of(const tw_problem *p) { return is_conv2d(p) ? tw_conv_of_conv2d(p) : tw_conv_of_conv3d(p); }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_conv v = tw_tile_conv_of(p);
  const bool real = v.input == TW_F32 || v.input == TW_BF16 || v.input == TW_F16;
  TW_REJECT_IF(is_conv2d(p) && tw_conv2d_of(p).pool, "tile kernels do not support pooling; leave out 'pool'");
  if (real && v.weights == v.input && v.acc == TW_F32) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels support convolutions with a and b both f32, bf16 or f16 (found a=%s b=%s)",
                 tw_type_name(v.input), tw_type_name(v.weights));
}

static tw_status check_products(const tw_conv *v, const PLAN *p, tw_error *error) {
  TW_REJECT_IF(v->input != TW_F32 && p->products, "products %d requires f32 operands; leave it out", p->products);
  TW_REJECT_IF(v->input == TW_F32 && !p->products && v->arithmetic != TW_ARITHMETIC_TF32,
               "tensor cores multiply f32 as tf32; use arithmetic=tf32, or bf16 parts with 'products 6'");
  TW_REJECT_IF(p->products && p->products != 1 && p->products != 3 && p->products != 6,
               "unsupported products %d; expected 1, 3 or 6", p->products);
  TW_REJECT_IF(p->products == 1 && v->arithmetic != TW_ARITHMETIC_BF16,
               "products 1 rounds f32 to bf16; it requires arithmetic=bf16");
  return TW_OK;
}

static tw_status settle_conv(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  const tw_conv conv = tw_tile_conv_of(problem), *v = &conv;
  PLAN *p = plan;
  const tw_status status = check_products(v, p, error);
  if (status != TW_OK) return status;
  TW_REJECT_IF(p->x * p->y != machine->group_rows,
               "unsupported tile x=%d y=%d; x times y must be %d, the rows of a warpgroup", p->x, p->y,
               machine->group_rows);
  TW_REJECT_IF(p->n % 16 || p->n > machine->columns, "unsupported n=%d; expected a multiple of 16 up to %d", p->n,
               machine->columns);
  TW_REJECT_IF((p->groups + 1) * machine->group_threads > machine->block_threads,
               "consumers=%d and the producer exceed %d threads; use fewer consumers", p->groups,
               machine->block_threads);
  int64_t channels = v->c;
  for (int d = 0; d < TW_CONV_DIMS; d++) {
    const bool all = TW_CONV_DIMS - d <= p->fold;
    const int64_t step = v->stride < v->window[d] ? v->stride : v->window[d];
    p->folded[d] = (int)(all ? v->window[d] : step);
    p->taps[d] = (int)(all ? 1 : (v->window[d] + v->stride - 1) / v->stride);
    channels *= p->folded[d];
  }
  TW_REJECT_IF(channels > 1 << 14, "fold %d makes %" PRId64 " channels, which is too many; use a smaller fold", p->fold,
               channels);
  p->channels = (int)channels;
  const int element = v->input == TW_F32 && !p->products ? 4 : 2, panel = machine->panel_bytes / element;
  p->k = p->channels <= panel / 4 ? panel / 4 : p->channels <= panel / 2 ? panel / 2 : panel;
  p->padded = (p->channels + p->k - 1) / p->k * p->k;
  p->planes = p->products ? tw_tile_parts_of(p->products).planes : 1;
  TW_REJECT_IF(p->promote % p->k, "unsupported promote k=%d; expected a multiple of the tile's k=%d", p->promote, p->k);
  if (machine->registers_move && p->groups > 1) {
    p->registers_copy = p->groups == 3 ? 32 : 24;
    p->registers_multiply = p->groups == 2 ? 240 : p->groups == 3 ? 160 : 0;
    if (!p->registers_multiply) p->registers_copy = 0;
  }
  const int sums = p->n / 2 * (p->promote ? 2 : 1);
  int have =
      p->registers_multiply ? p->registers_multiply : machine->registers / ((p->groups + 1) * machine->group_threads);
  if (have > 255) have = 255;
  TW_REJECT_IF(sums + OVERHEAD > have,
               "n=%d needs %d registers per thread for accumulators, which exceeds %d; use a smaller n", p->n, sums,
               have);
  const int64_t stage = (int64_t)p->planes * (PLACES * p->groups + p->n) * p->k * element;
  p->width = p->n % 32 ? 16 : 32;
  const int64_t results = v->images_first ? (int64_t)p->groups * p->width * TURNED_PITCH * 4 : 0;
  if (!p->stages) {
    p->stages = STAGES_MAX;
    while (p->stages > 2 && ALIGNMENT + results + p->stages * (stage + 2 * BARRIER_BYTES) > machine->shared_bytes)
      p->stages--;
  }
  p->shared_bytes = ALIGNMENT + results + p->stages * (stage + 2 * BARRIER_BYTES);
  TW_REJECT_STAGES(machine, p->stages, p->shared_bytes);
  TW_REJECT_IF(stage / p->planes % ALIGNMENT || (int64_t)p->n * p->k * element % ALIGNMENT,
               "unsupported n=%d; tiles of %d x %d elements must start at multiples of %d bytes", p->n, p->n, p->k,
               ALIGNMENT);
  return TW_OK;
}

static void begin_tile(const void *with, void *plan) {
  const tw_tile_context *c = with;
  const tw_conv v = tw_tile_conv_of(c->problem);
  *(PLAN *)plan = (PLAN){.groups = 2};
  if (v.input != TW_F32) return;
  const bool full = v.arithmetic == TW_ARITHMETIC_FULL; /* sums that are cut must be short then */
  ((PLAN *)plan)->products = full ? 6 : v.arithmetic == TW_ARITHMETIC_BF16 ? 1 : 0;
  ((PLAN *)plan)->promote = full ? c->machine->panel_bytes / 2 : 0;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile x=8 y=8 n=96 consumers=2",
     .help = "Set the output pixels of a warpgroup (x * y = 64) and the channels.",
     .needs = 3,
     .argument = {TW_NUMBER("x", PLAN, x, 1, 64), TW_NUMBER("y", PLAN, y, 1, 64), TW_NUMBER("n", PLAN, n, 16, 256),
                  TW_NUMBER("consumers|groups", PLAN, groups, 1, 4)},
     .first = begin_tile},
    {TW_NUMBERED("fold", "fold 2",
                 "Fold the window into channels in this many dimensions, for inputs with few channels.", PLAN, fold, 0,
                 TW_CONV_DIMS),
     .offers = "0, 1, 2, 3", .why = "folding the window into channels fills the copies of inputs with few channels"},
    TW_TILE_PRODUCTS(PLAN),
    TW_TILE_PROMOTE(PLAN, "k=128, k=256, k=512, k=1024"),
    TW_TILE_STAGES(PLAN, 2, STAGES_MAX, "2, 3, 4, 5, 6, 7, 8"),
};
static const tw_language language = {TW_LANGUAGE("convolutions on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, x)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_conv v = tw_tile_conv_of(c->problem);
  const int64_t terms = v.c * v.window[0] * v.window[1] * v.window[2];
  /* A search tries some steps of each lever, so each kind of tile is a separate lever. */
  static const char *const kind[3][2] = {{"narrow tile, 1 group", "wide tile, 1 group"},
                                         {"narrow tile, 2 groups", "wide tile, 2 groups"},
                                         {"narrow tile, 3 groups", "wide tile, 3 groups"}};
  for (int x = 1; x <= 64; x *= 2)
    for (int n = 32; n <= 256; n += 32)
      for (int groups = 1; groups <= 3; groups++)
        tw_menu_offer(m, kind[groups - 1][n > 96], "rectangles that fill the image waste few products",
                      "tile x=%d y=%d n=%d consumers=%d", x, 64 / x, n, groups);
  static const int products[] = {1, 3, 6};
  for (size_t i = 0; v.input == TW_F32 && i < sizeof products / sizeof *products; i++)
    if (tw_tile_products_suffice(products[i], v.arithmetic, terms))
      tw_menu_offer(m, "products", "f32 on the matrix unit, as bf16 parts", "products %d", products[i]);
}

const tw_tile_family tw_tile_conv = {.language = &language,
                                     .plan_size = sizeof(PLAN),
                                     .supports = supports,
                                     .settle = settle_conv,
                                     .offers = offers,
                                     .kernel = "gpu/nvidia/kernels/conv.cuh.in",
                                     .slots = tw_tile_conv_slots};
