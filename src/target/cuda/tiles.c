/* tiles.c - see tiles.h. */
#include "target/cuda/tiles.h"

#include <string.h>

#include "gpu/common/kinds.h"
#include "gpu/common/rows.h"
#include "gpu/nvidia/attention.h"
#include "gpu/nvidia/attention_decode.h"
#include "gpu/nvidia/attention_mma_sync.h"
#include "gpu/nvidia/conv_kernel.h"
#include "gpu/nvidia/cumsum.h"
#include "gpu/nvidia/gemm_mma_sync.h"
#include "gpu/nvidia/gemm_skinny.h"
#include "gpu/nvidia/gemm_sliced_k.h"
#include "gpu/nvidia/gemm_swap_ab.h"
#include "gpu/nvidia/pool.h"
#include "gpu/nvidia/reduce.h"
#include "gpu/nvidia/rows_split.h"
#include "op/attention.h"
#include "op/gemm_problem.h"
#include "target/cuda/gemm_model.h"
#include "target/cuda/models.h"

static bool multiplies(tw_type a, tw_type b) {
  return a == b && (a == TW_BF16 || a == TW_F16 || a == TW_E4M3 || a == TW_E5M2 || a == TW_I8 || a == TW_F32);
}
static bool multiplies_ampere(tw_type a, tw_type b) {
  return (a == b && (a == TW_BF16 || a == TW_F16 || a == TW_I8 || a == TW_F32)) || (a == TW_U8 && b == TW_I8);
}
static bool multiplies_ada(tw_type a, tw_type b) {
  return ((a == TW_E4M3 || a == TW_E5M2) && (b == TW_E4M3 || b == TW_E5M2)) || multiplies_ampere(a, b);
}

/* wgmma, TMA and setmaxnreg need an architecture that ends in "a". */
static bool is_hopper(const cuda_config *c) { return strcmp(c->architecture, "sm_90a") == 0; }
/* Does the machine have mma.sync of bf16 and cp.async? */
static bool has_mma_sync(const cuda_config *c) { return cuda_config_architecture(c) >= 80; }

tw_tile_machine cuda_tile_machine(const cuda_config *c) {
  const bool hopper = is_hopper(c);
  return (tw_tile_machine){.header = hopper            ? "tile.cuh"
                                     : has_mma_sync(c) ? "tile_ampere.cuh"
                                                       : NULL,
                           .warp_header = "tile_ampere.cuh",
                           .processors = (int)c->multiprocessors,
                           .shared_bytes = c->shared_block,
                           .l2_bytes = c->l2_bytes,
                           .registers = (int)c->registers,
                           .block_threads = 1024,
                           .warp_threads = 32,
                           .group_threads = 128,
                           .group_rows = 64,
                           .columns = 256,
                           .panel_bytes = 128,
                           .copy_alignment = 16,
                           /* larger clusters leave multiprocessors idle */
                           .cluster_max = hopper && c->cluster > 2 ? 2 : 1,
                           .blocks_together = hopper ? (int)c->cluster : 1,
                           .registers_move = hopper,
                           .few_rows = hopper,
                           .multiplies = hopper                              ? multiplies
                                         : cuda_config_architecture(c) >= 89 ? multiplies_ada
                                                                             : multiplies_ampere};
}

/* ---- the models of gemm_model.c ---- */

static double predict_gemm(const void *with, const void *plan) {
  const cuda_model *m = with;
  tw_gemm g = tw_gemm_of(m->problem);
  g.n = tw_gemm_columns(&g);
  return cuda_gemm_seconds(m->config, &g, plan);
}

static double predict_gemm_mma(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_gemm g = tw_gemm_of(m->problem);
  return cuda_gemm_mma_seconds(m->config, &g, plan);
}

/* ---- families ---- */

/* Does the schedule begin with the first step of the family? */
static bool begins(const tw_schedule *s, const tw_tile_family *f) {
  return s->n && tw_step_is(&f->language->verb[0], s->step[0]);
}
static bool is_skinny(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || begins(s, &tw_tile_skinny);
}
static bool is_sliced_k(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || begins(s, &tw_tile_sliced_k);
}
static bool is_swap_ab(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || begins(s, &tw_tile_swap_ab);
}
static bool is_tile(const tw_problem *p, const tw_schedule *s) {
  if (!s->n) return !tw_tile_skinny_only(p);
  return !begins(s, &tw_tile_skinny) && !begins(s, &tw_tile_sliced_k) && !begins(s, &tw_tile_swap_ab);
}
static bool is_backward(const tw_problem *p, const tw_schedule *s) { return (void)s, tw_attention_of(p).backward; }
static bool is_decode(const tw_problem *p, const tw_schedule *s) {
  return !tw_attention_of(p).backward && (!s->n || begins(s, &tw_tile_attention_decode));
}
static bool is_forward(const tw_problem *p, const tw_schedule *s) {
  return !is_backward(p, s) && (!s->n || !is_decode(p, s));
}
/* Heads of other sizes than 64 and 128 also have kernels of mma.sync, whose tiles have queries and warps; small heads have
 * no other, since wgmma would multiply more zeros than elements. */
static bool is_of_wgmma_alone(const tw_problem *p) {
  const tw_attention a = tw_attention_of(p);
  return (a.d == 64 || a.d == 128) && !a.tokens && !a.has_lengths && !a.page;
}
static bool is_forward_of_wgmma(const tw_problem *p, const tw_schedule *s) {
  return is_forward(p, s) && tw_attention_of(p).d >= TW_TILE_ATTENTION_LEAST_D &&
         (is_of_wgmma_alone(p) || !s->n || !strstr(s->step[0], "queries"));
}
static bool is_forward_of_other_heads(const tw_problem *p, const tw_schedule *s) {
  const bool small = tw_attention_of(p).d < TW_TILE_ATTENTION_LEAST_D;
  return is_forward(p, s) && !is_of_wgmma_alone(p) && (small || !s->n || strstr(s->step[0], "queries"));
}
static bool is_backward_of_small_heads(const tw_problem *p, const tw_schedule *s) {
  return is_backward(p, s) && tw_attention_of(p).d == 32;
}
static bool is_backward_of_wgmma(const tw_problem *p, const tw_schedule *s) {
  return is_backward(p, s) && !is_backward_of_small_heads(p, s);
}
static bool is_split_row(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || begins(s, &tw_tile_rows_split);
}
static bool is_whole_row(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || !begins(s, &tw_tile_rows_split);
}
/* Generations of machines, by the features that the kernels require. */
enum { HOPPER = 1, MMA_SYNC = 2, BOTH = HOPPER | MMA_SYNC };
static unsigned generation(const cuda_config *c) { return is_hopper(c) ? HOPPER : has_mma_sync(c) ? MMA_SYNC : 0; }

/* The kind of a schedule is the first kind that accepts it. A schedule without steps may become any kind. */
#define PLAINEST_MMA_SYNC                                                                                              \
  { "tile queries=64 keys=32 warps=4", "tile queries=128 keys=32 warps=8", "tile queries=32 keys=64" }
#define PLAINEST_ROW                                                                                                   \
  { "row warps=1", "row warps=8", "row warps=32" }
/* Columns of a tile are whole heads with rotary=halves. */
#define PLAINEST_TILE                                                                                                  \
  { "tile m=64 n=64", "tile m=64 n=128", "tile m=64 n=192", "tile m=64 n=256" }
static const tw_tile_kind table[] = {
    {"gemm", HOPPER, is_tile, &tw_tile_gemm, predict_gemm, PLAINEST_TILE},
    {"gemm", MMA_SYNC, NULL, &tw_tile_gemm_mma_sync, predict_gemm_mma, {"tile m=64 n=64"}},
    {"gemm", HOPPER, is_skinny, &tw_tile_skinny, cuda_predict_skinny, {"skinny n=32", "skinny n=16"}},
    {"gemm", HOPPER, is_sliced_k, &tw_tile_sliced_k, cuda_predict_sliced_k, {NULL}},
    {"gemm", HOPPER, is_swap_ab, &tw_tile_swap_ab, cuda_predict_swap_ab, {NULL}},
    {"attention",
     HOPPER,
     is_backward_of_wgmma,
     &tw_tile_attention_backward,
     cuda_predict_attention_backward,
     {"tile queries=64 consumers=2", "tile queries=128 consumers=2"}},
    {"attention",
     HOPPER,
     is_forward_of_wgmma,
     &tw_tile_attention,
     cuda_predict_attention,
     {"tile keys=64 consumers=1"}},
    {"attention", MMA_SYNC, is_backward, &tw_tile_attention_mma_sync_backward, cuda_predict_attention_mma_backward,
     PLAINEST_MMA_SYNC},
    {"attention", HOPPER, is_backward_of_small_heads, &tw_tile_attention_mma_sync_backward,
     cuda_predict_attention_mma_backward, PLAINEST_MMA_SYNC},
    {"attention", MMA_SYNC, is_forward, &tw_tile_attention_mma_sync, cuda_predict_attention_mma, PLAINEST_MMA_SYNC},
    {"attention", HOPPER, is_forward_of_other_heads, &tw_tile_attention_mma_sync, cuda_predict_attention_mma,
     PLAINEST_MMA_SYNC},
    {"attention",
     BOTH,
     is_decode,
     &tw_tile_attention_decode,
     cuda_predict_attention_decode,
     {"decode keys=32 warps=4", "decode keys=16 warps=2", "decode keys=32 warps=2"}},
    {"conv2d", HOPPER, NULL, &tw_tile_conv, cuda_predict_conv, {"tile x=8 y=8 n=64 consumers=1"}},
    {"conv3d", HOPPER, NULL, &tw_tile_conv, cuda_predict_conv, {"tile x=8 y=8 n=64 consumers=1"}},
    {"rotary", BOTH, NULL, &tw_tile_rotary, cuda_predict_rows, {"heads 1"}},
    {"layernorm", BOTH, is_whole_row, &tw_tile_layernorm, cuda_predict_rows, PLAINEST_ROW},
    {"softmax", BOTH, is_whole_row, &tw_tile_softmax, cuda_predict_rows, PLAINEST_ROW},
    {"layernorm", BOTH, is_split_row, &tw_tile_rows_split, cuda_predict_rows_split, {NULL}},
    {"softmax", BOTH, is_split_row, &tw_tile_rows_split, cuda_predict_rows_split, {NULL}},
    {"gate", BOTH, NULL, &tw_tile_gate, cuda_predict_rows, {"chunks 1"}},
    {"elementwise", BOTH, NULL, &tw_tile_elementwise, cuda_predict_rows, {"chunks 1"}},
    {"cumsum", BOTH, NULL, &tw_tile_cumsum, cuda_predict_rows, {"chunks 2"}},
    {"pool", BOTH, NULL, &tw_tile_pool, cuda_predict_pool, {"outputs 1"}},
    {"reduce", BOTH, NULL, &tw_tile_reduce, cuda_predict_reduce, {"loads 4"}},
};
static const tw_tile_kinds kinds = {table, sizeof table / sizeof *table};

const tw_language *cuda_tiles_language(size_t i) { return tw_tile_kinds_language(&kinds, i); }

/* The kind of kernel for the schedule, if the machine has the tile library and the op has kernels that use it. */
static tw_status kind_of(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                         const tw_schedule *s, const tw_tile_kind **out, tw_error *error) {
  const char *step = s->n ? s->step[0] : "";
  char ops[TW_TILE_OPS];
  if (!machine->header)
    return tw_fail(error, TW_UNSUPPORTED,
                   "step '%s': tile kernels require sm_80 or later, and %s is %s; use the empty schedule", step,
                   c->name, c->architecture);
  *out = tw_tile_kind_of(&kinds, generation(c), p, s);
  if (*out) return TW_OK;
  return tw_fail(error, TW_UNSUPPORTED, "step '%s': %s has no tile kernels on %s, which is %s; expected %s", step,
                 p->op->name, c->name, c->architecture, tw_tile_kinds_ops(&kinds, generation(c), ops));
}

tw_status cuda_tiles_plainest(const cuda_config *c, const tw_problem *p, tw_schedule *out, tw_error *error) {
  tw_error why = {0}, other = {0}; /* other: why kinds do not fit the problem or the machine */
  *out = (tw_schedule){0};
  if (!cuda_tile_machine(c).header)
    return tw_fail(
        error, TW_UNSUPPORTED,
        "no kernel for %s on %s, which is %s: tile kernels require sm_80 or later; write one (docs/guide/nvidia.md) "
        "and `tilewright run` it",
        p->op->name, c->name, c->architecture);
  /* Backwards: skinny GEMM, which accepts fewer problems, comes after GEMM in the list. */
  for (size_t i = kinds.n; i-- > 0;)
    for (int j = 0; j < TW_TILE_PLAINEST && table[i].plainest[j]; j++) {
      double cost;
      if (strcmp(table[i].op, p->op->name) != 0) continue;
      /* kernels of few rows say why they reject packed weights */
      if (table[i].family == &tw_tile_gemm && tw_tile_skinny_only(p)) continue;
      const tw_status status = tw_schedule_parse(table[i].plainest[j], out, error);
      if (status != TW_OK) return status;
      const bool is = tw_tile_kind_is(&table[i], generation(c), p, out);
      if (cuda_tiles_predict(c, p, out, &cost, is ? &why : &other) == TW_OK) return TW_OK;
    }
  if (!why.text[0]) why = other;
  if (why.text[0])
    return tw_fail(error, TW_UNSUPPORTED, "%s has no tile kernel for this problem: %s", p->op->name, why.text);
  return tw_fail(error, TW_UNSUPPORTED,
                 "no CUDA kernel for %s yet; write one (docs/guide/nvidia.md) and `tilewright run` it", p->op->name);
}

tw_status cuda_tiles_emit(const cuda_config *c, const tw_problem *p, const tw_schedule *s, char **source,
                          tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const tw_tile_kind *k;
  const tw_status status = kind_of(c, &machine, p, s, &k, error);
  return status == TW_OK ? tw_tile_emit(k->family, &machine, p, s, source, error) : status;
}

tw_status cuda_tiles_steps(const cuda_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                           tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const cuda_model m = {c, p};
  tw_status status = TW_OK;
  *out = (tw_menu){0};
  for (const tw_tile_kind *k = table; machine.header && status == TW_OK && k < table + kinds.n; k++) {
    tw_menu menu;
    if (!tw_tile_kind_is(k, generation(c), p, s)) continue;
    status = tw_tile_steps(k->family, &machine, p, s, k->predict, &m, &menu, error);
    if (status == TW_OK) status = tw_menu_join(out, &menu, error);
  }
  if (status != TW_OK) tw_menu_free(out);
  return status;
}

const tw_language *cuda_tiles_language_of(const cuda_config *c, const tw_problem *p, const tw_schedule *s) {
  const tw_tile_kind *k = tw_tile_kind_of(&kinds, generation(c), p, s);
  return k ? k->family->language : NULL;
}

tw_status cuda_tiles_predict(const cuda_config *c, const tw_problem *p, const tw_schedule *s, double *cost,
                             tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const cuda_model m = {c, p};
  const tw_tile_kind *k;
  const tw_status status = kind_of(c, &machine, p, s, &k, error);
  return status == TW_OK ? tw_tile_predict(k->family, &machine, p, s, k->predict, &m, cost, error) : status;
}
