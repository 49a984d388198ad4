/* emit_pairs.c - the computation of one step: a nest over the blocks of its chunks, one preload + compute each.
 *
 * Loops that are unrolled become straight code. An unrolled nest is emitted for every combination of full and last
 * chunks if blocks are partial or chunks have fewer blocks. */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/emit_nest.h"

static int blocks_along(const gm_emitter *e, int x) { return x == I ? e->g->mb : x == J ? e->g->nb : e->g->kb; }

static void emit_pair(nest *n, bool reused) {
  n->e->addresses->pair(n, reused);
  n->pairs++;
  if (n->stores.level == 3 && n->pairs % n->stores.every == n->stores.every / 2) gm_emit_some_stores(n->e);
  if (n->loads.level == 3 && n->pairs % n->loads.every == 0) gm_emit_some_loads(n->e);
}

/* Inside the loop over i of a step that stores its own rows: earlier rows are complete. */
static void completed_before(const nest *n) {
  gm_emitter *e = n->e;
  if (!e->plan->levers.early_stores) return;
  if (n->index[I] < 0)
    snprintf(e->unready, sizeof e->unready, "rows - ii");
  else
    snprintf(e->unready, sizeof e->unready, "rows - %d", n->index[I]);
}

static void enter(nest *n, int x) {
  if (n->e->addresses->enter) n->e->addresses->enter(n, x);
}

static void keep(nest *n) {
  if (n->e->addresses->keep) n->e->addresses->keep(n);
}

static int axis(const nest *n, int level) { return n->e->plan->loops[level] - 'i'; }

static void emit_level(nest *n, int level, bool reused);

/* A slot after every n-th iteration of a rolled loop. */
static void rolled_slot(gm_emitter *e, int x, int every, void (*slot)(gm_emitter *)) {
  if (every > 1) LINE("if (%s %% %d == %d) {", variable[x], every, every - 1);
  slot(e);
  if (every > 1) LINE("}");
}

static void emit_rolled(nest *n, int level, int from, bool reused) {
  gm_emitter *e = n->e;
  const int x = axis(n, level);
  const nest outside = *n;
  n->index[x] = -1;
  if (n->v->bound[x] == 0)
    LINE("for (int %s = %d; %s < %s; %s++) {", variable[x], from, variable[x], x == I ? "rows" : "depth", variable[x]);
  else
    LINE("for (int %s = %d; %s < %d; %s++) {", variable[x], from, variable[x], n->v->bound[x], variable[x]);
  enter(n, x);
  if (x == I) completed_before(n);
  emit_level(n, level + 1, reused);
  if (n->stores.level == level) rolled_slot(e, x, n->stores.every, gm_emit_some_stores);
  if (n->loads.level == level) rolled_slot(e, x, n->loads.every, gm_emit_some_loads);
  LINE("}");
  const int pairs = n->pairs;
  *n = outside;
  n->pairs = pairs;
}

/* The first pair over i loads the weights; where that loop is rolled, this pair comes before it. */
static void emit_first_of_reuse(nest *n) {
  const nest outside = *n;
  gm_write(&n->e->out, "{");
  gm_write(&n->e->out, "const int ii = 0;");
  n->index[I] = -1;
  enter(n, I);
  keep(n);
  emit_pair(n, false);
  gm_write(&n->e->out, "}");
  *n = outside;
}

static void emit_level(nest *n, int level, bool reused) {
  if (level == 3 - n->e->plan->unroll) keep(n);
  if (level == 3) {
    emit_pair(n, reused);
    return;
  }
  const int x = axis(n, level);
  const bool reuse_here = n->e->plan->reuse_weights && level == 2;
  if (level < 3 - n->e->plan->unroll) {
    if (reuse_here) emit_first_of_reuse(n);
    emit_rolled(n, level, reuse_here ? 1 : 0, reuse_here);
    return;
  }
  for (int t = 0; t < n->v->bound[x]; t++) {
    n->index[x] = t;
    if (x == I) completed_before(n);
    emit_level(n, level + 1, reuse_here && t > 0);
  }
  n->index[x] = 0;
}

static void emit_variant(gm_emitter *e, const variant *v) {
  const gm_plan *p = e->plan;
  nest n = {
      .e = e, .v = v, .overwrites = p->levers.overwrite, .a = "a", .b = "b", .c_first = "c_first", .c_more = "c_more"};
  n.loads = gm_plan_slots(p, p->levers.spread_loads);
  n.stores = gm_plan_slots(p, p->levers.spread_stores);
  emit_level(&n, 0, false);
}

/* Chunks of one size along one dimension, and the condition that selects them. */
typedef struct kind {
  int bound;
  bool partial;
  char test[48];
} kind;

/* The steps along k: the first or the last one may be shorter, the last one may end in a partial block. A rolled loop
 * serves steps of all lengths. */
static int kinds_of_steps(const gm_emitter *e, bool rolled, bool partial, kind out[3]) {
  const int tile = e->plan->tile_k, first = gm_first_depth(e->plan, e->g),
            last = first < tile ? tile : (e->g->kb - 1) % tile + 1;
  const bool apart = partial || (last < tile && !rolled), shorter = first < tile || last < tile;
  int n = 0;
  if (first < tile && !rolled) out[n++] = (kind){first, false, "k == 0"};
  if (e->layout->tiles_k > n + apart) {
    out[n] = (kind){rolled && shorter ? 0 : tile, false, ""};
    snprintf(out[n++].test, sizeof out->test, "k + %d < %d", tile, e->g->kb);
  }
  if (apart) out[n++] = (kind){last, partial, ""};
  return n;
}

/* The kinds of chunks along one dimension; returns their number. The last one needs no test. */
static int kinds_of(const gm_emitter *e, int x, kind out[3]) {
  const gm_plan *p = e->plan;
  const int tile = x == I ? p->tile_m : x == J ? p->tile_n : p->tile_k, blocks = blocks_along(e, x);
  const char name = "ijk"[x];
  const bool partial = tail(e, x) != 0, rolled = !memchr(p->loops + 3 - p->unroll, name, (size_t)p->unroll);
  if (rolled && x == I) { /* the height is known only at run time */
    out[0] = (kind){0, partial, ""};
    return 1;
  }
  if (x == K && e->layout->tiles_k > 1) return kinds_of_steps(e, rolled, partial, out);
  const int tiles = gm_ceil_div(blocks, tile), last = blocks - (tiles - 1) * tile;
  out[0] = (kind){tile, false, ""};
  snprintf(out[0].test, sizeof out->test, "%c + %d < %d", name, tile, blocks);
  out[1] = (kind){last, partial, ""};
  if (last == tile && !partial) return 1;
  if (tiles > 1) return 2;
  out[0] = out[1];
  return 1;
}

static void emit_axis(gm_emitter *e, int x, variant *v) {
  if (x == 3) {
    emit_variant(e, v);
    return;
  }
  kind kinds[3];
  const int n = kinds_of(e, x, kinds);
  for (int t = 0; t < n; t++) {
    v->bound[x] = kinds[t].bound;
    v->partial[x] = kinds[t].partial;
    if (n > 1 && t == n - 1)
      LINE("} else {");
    else if (n > 1)
      LINE("%sif (%s) {", t ? "} else " : "", kinds[t].test);
    emit_axis(e, x + 1, v);
  }
  if (n > 1) LINE("}");
}

void gm_emit_pairs(gm_emitter *e) {
  variant v = {0};
  emit_axis(e, I, &v);
  snprintf(e->unready, sizeof e->unready, "0");
}
