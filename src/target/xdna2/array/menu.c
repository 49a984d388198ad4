/* menu.c - the next steps of a schedule: tiles with and without asymmetry, cores, buffers, depth of L2; the best by
 * prediction first. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/array/plan.h"

enum { TILES_KEPT = 48 }; /* of thousands of legal ones: those that the model puts first */

typedef struct menu {
  const xd_config *config;
  const xd_gemm *now;
  double cost;
  struct {
    size_t n, room;
    tw_menu_item *at;
  } items;
  bool failed;
} menu;

static bool same(const xd_gemm *a, const xd_gemm *b) {
  return !memcmp(&a->tile, &b->tile, sizeof a->tile) && a->rows == b->rows && a->columns == b->columns &&
         !memcmp(a->copies, b->copies, sizeof a->copies) && a->depth == b->depth && a->kernel == b->kernel &&
         xd_same_cover(a->cover, b->cover);
}

static bool fits(const xd_config *c, const xd_gemm *g) {
  return xd_gemm_l1_bytes(g) + c->stack_bytes <= c->l1_bytes && xd_gemm_l2_bytes(g) <= c->l2_bytes;
}

static void __attribute__((format(printf, 4, 5)))
offer(menu *m, const char *lever, const char *why, const char *format, ...) {
  tw_menu_item item = {0};
  xd_gemm g = *m->now;
  va_list words;
  va_start(words, format);
  vsnprintf(item.step, sizeof item.step, format, words);
  va_end(words);
  if (xd_plan_step(m->config, item.step, &g, NULL) != TW_OK || same(&g, m->now) || !fits(m->config, &g)) return;
  item.predicted_cost = xd_plan_predict(m->config, &g);
  snprintf(item.lever, sizeof item.lever, "%s", lever);
  snprintf(item.why, sizeof item.why, "%s: %.3g ms predicted, %.3g now", why, 1e3 * item.predicted_cost, 1e3 * m->cost);
  xd_append(&m->items, sizeof item, &item, &m->failed);
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

/* A tile beyond the matrix is worth a thought only on one row or column of cores, and if it is the least such. */
static bool in_reach(int64_t side, int64_t unit, int count, int64_t size) {
  return side <= MOST_SIDE && (side * count <= size || (count == 1 && side - unit < size));
}

/* The asymmetries of tiles with so many units of rows: what divides them. */
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
          if (!fits(m->config, &g) || xd_gemm_check(m->config, &g, NULL) != TW_OK) continue;
          const choice c = {g.tile, xd_plan_predict(m->config, &g)};
          xd_append(&found, sizeof c, &c, &m->failed);
        }
  }
  if (found.n) qsort(found.at, found.n, sizeof *found.at, cheaper);
  for (size_t i = 0; i < found.n && i < TILES_KEPT; i++) {
    const tw_tile *t = &found.at[i].tile;
    offer(m, asymmetric ? "asymmetric tile" : "tile",
          asymmetric ? "A in sub-tiles: less of it in L1, more of C, fewer reads"
                     : "larger tiles read less for each product",
          "tile m=%d k=%d n=%d rho=%d", (int)t->m, (int)t->k, (int)t->n, (int)t->rho);
  }
  free(found.at);
}

/* ---- covers ---- */

enum { CHAINS_MOST = 8, UNROLL_MOST = 4 }; /* what published kernels unroll; each more doubles the time to schedule */

static void covers(menu *m) {
  for (int rows = 1; rows <= CHAINS_MOST; rows++)
    for (int columns = 1; rows * columns <= CHAINS_MOST; columns++)
      offer(m, "cluster", "accumulators side by side share loads of A and B; fewer leave registers free",
            "cluster rows=%d columns=%d", rows, columns);
  for (int clusters = 1; clusters <= UNROLL_MOST; clusters *= 2)
    offer(m, "unroll", "clusters in straight-line code: one loads while another computes", "unroll %d", clusters);
}

/* ---- all ---- */

static int by_cost(const void *a, const void *b) {
  const tw_menu_item *x = a, *y = b;
  return x->predicted_cost < y->predicted_cost   ? -1
         : x->predicted_cost > y->predicted_cost ? 1
                                                 : strcmp(x->step, y->step);
}

tw_status xd_plan_menu(const xd_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out, tw_error *error) {
  xd_gemm now;
  tw_status status = xd_plan_of(c, p, s, &now, error);
  if (status != TW_OK) return status;
  menu m = {.config = c, .now = &now, .cost = xd_plan_predict(c, &now)};
  tiles(&m, false);
  tiles(&m, true);
  for (size_t i = 0; i < c->n_kernels; i++)
    offer(&m, "kernel", "another kernel of the same types", "kernel %s", c->kernel[i].name);
  for (int columns = 1; columns <= c->columns; columns++)
    for (int rows = 1; rows <= c->rows; rows++)
      offer(&m, "cores", "more cores share the work, fewer leave no edge", "cores rows=%d columns=%d", rows, columns);
  for (int copies = 1; copies <= 2; copies++) {
    offer(&m, "buffers", "two of C: it leaves while the next is computed; one: room for larger tiles", "buffers c=%d",
          copies);
    offer(&m, "buffers", "one of B saves room, but the core waits for it", "buffers b=%d", copies);
    offer(&m, "buffers", "one of A saves room, but the core waits for it", "buffers a=%d", copies);
  }
  for (int depth = 1; depth <= 16; depth *= 2) offer(&m, "depth", "longer runs of A in memory", "depth %d", depth);
  covers(&m);
  if (m.items.n) qsort(m.items.at, m.items.n, sizeof *m.items.at, by_cost);
  if (m.failed) {
    free(m.items.at);
    return tw_fail(error, TW_MISSING, "out of memory for the menu");
  }
  *out = (tw_menu){m.items.n, m.items.at};
  return TW_OK;
}
