/* plan.h - a schedule for Gemmini in numbers: the state that its steps build up, one plain field a lever.
 *
 * A plan describes a kernel with one loop structure, the same for every plan:
 *
 *   for each tile of C (order ij or ji)                   a tile is in one accumulator buffer
 *     [fill the tile with zeros or bias]
 *     for each step along k                               a step uses one chunk of A and one chunk of B
 *       chunk of A: tile.m x tile.k, chunk of B: tile.k x tile.n, each in a slot of the scratchpad
 *       pairs (preload + compute) over the dim x dim blocks of the step, in the order `loops`
 *       [loads of a later step and stores of the previous tile, spread among the pairs]
 *     [store the tile]
 *
 * Sizes without a unit are blocks: dim x dim elements. Lengths that are not a multiple of dim end in a partial
 * block. */
#ifndef TW_GEMMINI_PLAN_H
#define TW_GEMMINI_PLAN_H

#include "tilewright/extend/op.h"
#include "tilewright/schedule.h"

#include "op/gemm_problem.h"
#include "target/gemmini/config.h"
#include "target/gemmini/schedule/levers.h"
#include "target/gemmini/schedule/operand.h"
#include "target/gemmini/schedule/slots.h"

/* The problem for this machine. */
typedef struct gm_gemm {
  int64_t m, n, k; /* elements: C is m x n */
  int mb, nb, kb;  /* blocks, the last one may be partial */
  bool a_transposed, b_transposed;
  tw_gemm_bias bias;
  bool relu;
  double scale;
  bool wide_output;           /* C has the accumulator's type, which differs from the input's: mvout of all bits */
  int64_t lda, ldb, ldc, ldd; /* elements from one stored row to the next */
  bool turns_b;       /* both are transposed: B is first transposed (emit_turn.c), and all else uses the transposed B */
  int64_t ldb_stored; /* pitch of the stored B */
  int input_bytes, output_bytes, acc_bytes;
  const char *input_type, *output_type, *acc_type; /* in C */
} gm_gemm;
tw_status gm_gemm_from(const gm_config *, const tw_problem *, gm_gemm *, tw_error *);

typedef struct gm_plan {
  gm_levers levers;
  int tile_m, tile_n, tile_k; /* blocks */
  bool outer_is_i;            /* order of the tile loops: ij or ji; k is always innermost */
  char loops[4];              /* order inside a step, outermost first: a permutation of "ijk" */
  int unroll;                 /* innermost loops of `loops` that are unrolled: 0 to 3 */
  bool reuse_weights;         /* i is innermost: B stays in the array, later pairs preload without B */
  bool taper;                 /* the last tiles have half the height each time, so that few stores remain at the end */
  /* the core prepares a step's loads before the step, and the first ones bring a row of A before B: little code is
   * fetched, and little loaded, between the first load and the first compute */
  bool quick_start;
} gm_plan;

/* The place of all data, and the number of all operations: derived from a plan. */
typedef struct gm_layout {
  int tiles_m, tiles_n, tiles_k;
  gm_operand_layout a, b;
  int c_rows;   /* accumulator rows of a tile; if rows of blocks alternate, of its part in one bank */
  int c_stride; /* accumulator rows from buffer 0 to buffer 1, or from an even row of blocks to an odd one */
  size_t spad_bytes, acc_bytes; /* in use */
} gm_layout;

/* Blocks of the first step along k. All other steps have tile_k blocks, except that the last one may be shorter. If rows
 * are stored early, the first one is the shorter one, because the stores need a long last step. */
static inline int gm_first_depth(const gm_plan *p, const gm_gemm *g) {
  return p->levers.early_stores ? (g->kb - 1) % p->tile_k + 1 : p->tile_k;
}

static inline bool gm_one_tile(const gm_layout *l) { return l->tiles_m == 1 && l->tiles_n == 1; }

/* Height of a tile with `left` block rows from its top on. `last`: it is in the last column of tiles. */
int gm_plan_tile_rows(const gm_plan *, int left, bool last);
/* Do tiles before the last one differ in height? */
static inline bool gm_heights_differ(const gm_plan *p) { return p->taper; }

static inline bool gm_rows_alternate(const gm_levers *l) { return l->early_stores && l->c_split && l->c_buffers == 1; }

/* Slots for loads (stores) if one comes every `spread` pairs. */
gm_slots gm_plan_slots(const gm_plan *, int spread);

/* The steps of gemm, as a table; its functions take a context. */
typedef struct gm_plan_context {
  gm_lever_context levers;
  const gm_gemm *gemm;
  gm_layout *layout; /* layout of the plan that was checked last */
} gm_plan_context;
extern const tw_language gm_plan_language;
gm_plan_context gm_plan_context_of(const gm_config *, const gm_gemm *, gm_layout *);
/* The rules of a plan; fills the context's layout. */
tw_status gm_plan_layout(const void *context, const void *plan, tw_error *);
/* Replays a schedule; every prefix of it must be legal. */
tw_status gm_plan_from(const gm_config *, const gm_gemm *, const tw_schedule *, gm_plan *, gm_layout *, tw_error *);

/* "256x64 tiles of 64 along k, order ij, ...": one line. Returns buffer. */
char *gm_plan_print(const gm_config *, const gm_plan *, char *buffer, size_t size);

/* The analytic model: cycles of a legal plan (model.c). */
double gm_plan_predict(const gm_config *, const gm_gemm *, const gm_plan *, const gm_layout *);

/* Blocks of the widest mvin into the accumulator, of the widest mvout. */
static inline int gm_widest_fill(const gm_config *c) {
  return gm_max(1, c->dma_max_bytes / (c->dim * gm_acc_bytes(c)));
}
static inline int gm_widest_store(const gm_config *c, const gm_gemm *g) {
  if (g->output_bytes > g->input_bytes)
    return 1; /* full-width data is moved one block at a time (StoreController.scala:217) */
  return gm_max(1, c->dma_max_bytes / (c->dim * g->output_bytes));
}

#endif
