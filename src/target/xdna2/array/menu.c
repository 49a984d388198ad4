/* menu.c - the next steps of a schedule: tiles with and without asymmetry, cores, buffers, depth of L2; the best by
 * prediction first. */
#include <stdlib.h>

#include "target/xdna2/array/plan.h"

enum { TILES_KEPT = 48 }; /* the best by the model, of thousands of legal tiles */

typedef struct menu {
  tw_menu_builder base;
  const xd_config *config;
  const xd_gemm *now;
} menu;

/* Most tiles do not fit, so the cheapest check comes first. */
static double judge(const void *config, const void *design) {
  const bool legal = xd_plan_fits(config, design, NULL) == TW_OK && xd_gemm_check(config, design, NULL) == TW_OK;
  return legal ? xd_plan_predict(config, design) : 0;
}

/* ---- tiles ---- */

typedef struct choice {
  tw_tile tile;
  double cost;
} choice;

static int cheaper(const void *a, const void *b) {
  const choice *x = a, *y = b;
  return x->cost < y->cost ? -1 : x->cost > y->cost;
}

enum { MOST_SIDE = 512 };

/* A tile larger than the matrix is offered only on one row or column of cores, and only the smallest such tile. */
static bool in_reach(int64_t side, int64_t unit, int count, int64_t size) {
  return side <= MOST_SIDE && (side * count <= size || (count == 1 && side - unit < size));
}

/* The possible asymmetries of tiles with this number of row units: its divisors. */
typedef struct rhos {
  int n;
  int64_t at[MOST_SIDE];
} rhos;

static rhos rhos_of(int64_t units, bool asymmetric) {
  rhos r = {.n = 0};
  for (int64_t rho = asymmetric ? 2 : 1; rho <= (asymmetric ? units : 1); rho++)
    if (units % rho == 0) r.at[r.n++] = rho;
  return r;
}

/* All tiles whose sides divide into units and that fit, with the given asymmetry (0: any from 2 on). */
static void tiles(menu *m, bool asymmetric) {
  const xd_gemm *now = m->now;
  const int um = xd_gemm_unit_m(now), uk = xd_unit_k(now->kernel), un = xd_gemm_unit_n(now);
  struct {
    size_t n, room;
    choice *at;
  } found = {0};
  for (int64_t tm = um; in_reach(tm, um, now->rows, now->m); tm += um) {
    const rhos rho = rhos_of(tm / um, asymmetric);
    for (int64_t tn = un; in_reach(tn, un, now->columns, now->n); tn += un)
      for (int64_t tk = uk; tk * now->depth <= now->k && tk <= MOST_SIDE; tk += tk < 64 ? uk : 4 * uk)
        for (int i = 0; i < rho.n; i++) {
          xd_gemm g = *now;
          g.tile = (tw_tile){.m = tm, .k = tk, .n = tn, .rho = rho.at[i]};
          const choice c = {g.tile, judge(m->base.context, &g)};
          if (c.cost > 0) xd_append(&found, sizeof c, &c, &m->base.failed);
        }
  }
  if (found.n) qsort(found.at, found.n, sizeof *found.at, cheaper);
  for (size_t i = 0; i < found.n && i < TILES_KEPT; i++) {
    const tw_tile *t = &found.at[i].tile;
    tw_menu_offer(&m->base, asymmetric ? "asymmetric tile" : "tile",
                  asymmetric ? "lower sub-tiles of A leave more of L1 to C, so operands are read less often"
                             : "larger tiles read fewer bytes for each product",
                  "tile m=%d k=%d n=%d rho=%d", (int)t->m, (int)t->k, (int)t->n, (int)t->rho);
  }
  free(found.at);
}

/* ---- all ---- */

/* unrolling of published kernels; twice the unrolling takes twice the scheduling time */
enum { CHAINS_MOST = 8, UNROLL_MOST = 4 };

static void covers(tw_menu_builder *m) {
  for (int rows = 1; rows <= CHAINS_MOST; rows++)
    for (int columns = 1; rows * columns <= CHAINS_MOST; columns++)
      tw_menu_offer(m, "cluster",
                    "a larger cluster of accumulators shares loads of A and B; a smaller one leaves registers free",
                    "cluster rows=%d columns=%d", rows, columns);
  for (int clusters = 1; clusters <= UNROLL_MOST; clusters *= 2)
    tw_menu_offer(m, "unroll", "unrolled clusters overlap: one loads while another computes", "unroll %d", clusters);
}

static void offer_others(tw_menu_builder *m, const xd_config *c) {
  static const char c_why[] =
      "with two buffers of C, one is stored while the next is computed; one buffer leaves room for larger tiles",
                    b_why[] = "a single buffer of B saves memory, but the core waits for each transfer",
                    a_why[] = "a single buffer of A saves memory, but the core waits for each transfer";
  static const tw_offer offers[] = {
      {"buffers", "buffers c=1", c_why}, {"buffers", "buffers c=2", c_why}, {"buffers", "buffers b=1", b_why},
      {"buffers", "buffers b=2", b_why}, {"buffers", "buffers a=1", a_why}, {"buffers", "buffers a=2", a_why},
  };
  for (size_t i = 0; i < c->n_kernels; i++)
    tw_menu_offer(m, "kernel", "use another micro-kernel for the same types", "kernel %s", c->kernel[i].name);
  for (int columns = 1; columns <= c->columns; columns++)
    for (int rows = 1; rows <= c->rows; rows++)
      tw_menu_offer(m, "cores", "more cores share the work; fewer cores may divide it without a remainder",
                    "cores rows=%d columns=%d", rows, columns);
  tw_menu_offer_all(m, sizeof offers / sizeof *offers, offers);
  tw_menu_offer(m, "unpacking", "the next tile of B is unpacked while the multiplier works", "hide_unpacking");
  for (int depth = 1; depth <= 16; depth *= 2)
    tw_menu_offer(m, "depth", "deeper tiles read longer contiguous rows of A from memory", "depth %d", depth);
}

tw_status xd_plan_menu(const xd_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out, tw_error *error) {
  xd_gemm now, next;
  tw_status status = xd_plan_of(c, p, s, &now, error);
  if (status != TW_OK) return status;
  menu m = {.base = {.language = &xd_plan_language,
                     .context = c,
                     .schedule = s,
                     .now = &now,
                     .next = &next,
                     .plan_size = sizeof now,
                     .judge = judge,
                     .now_cost = xd_plan_predict(c, &now)},
            .config = c,
            .now = &now};
  tiles(&m, false);
  tiles(&m, true);
  offer_others(&m.base, c);
  covers(&m.base);
  return tw_menu_finish(&m.base, out, error);
}
