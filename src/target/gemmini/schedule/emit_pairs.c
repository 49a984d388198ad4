/* emit_pairs.c - the computation of one step: a nest over the blocks of its chunks, one preload + compute each.
 *
 * Loops that are unrolled become straight code. An unrolled nest is emitted for every combination of full and last
 * chunks if blocks are partial or chunks have fewer blocks.
 *
 * With hoisted addresses an operand is one 64-bit number, rows << 48 | columns << 32 | address, made once; a block is
 * then an addition of a small constant, and a partial block a subtraction in the size fields. */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/emit.h"

/* One combination of chunk sizes. A bound of 0: known at run time only ("rows", "depth"). */
typedef struct variant {
  int bound[3];    /* blocks along i, j, k */
  bool partial[3]; /* is the last block partial? Along i this is unknown until run time if bound[0] is 0 */
} variant;

typedef struct nest {
  gm_emitter *e;
  const variant *v;
  int index[3];                               /* index of an unrolled loop; -1: a rolled loop, which has a variable */
  char a[32], b[32], c_first[32], c_more[32]; /* names of the operands at this level */
  int pairs;                                  /* pairs emitted in the unrolled body so far */
  gm_slots loads, stores;
} nest;

enum { I, J, K };
static const char *const variable[3] = {"ii", "jj", "kk"};

static int tail(const gm_emitter *e, int x) {
  const gm_gemm *g = e->g;
  return (int)((x == I ? g->m : x == J ? g->n : g->k) % e->config->dim);
}

static int blocks_along(const gm_emitter *e, int x) { return x == I ? e->g->mb : x == J ? e->g->nb : e->g->kb; }

/* Scratchpad rows from block to block. */
static int a_stride(const gm_emitter *e, int x) {
  const int d = e->config->dim;
  if (e->g->a_transposed) return x == K ? e->plan->tile_m * d : d;
  return x == I ? e->plan->tile_k * d : d;
}

static int b_stride(const gm_emitter *e, int x) {
  const int d = e->config->dim;
  if (e->g->b_transposed) return x == J ? e->plan->tile_k * d : d;
  return x == K ? e->plan->tile_n * d : d;
}

static int c_stride(const gm_emitter *e, int x) { return x == I ? e->plan->tile_n * e->config->dim : e->config->dim; }

/* Is the block at `x` of an unrolled loop the partial one? */
static bool is_cut(const nest *n, int x) {
  return n->index[x] >= 0 && n->v->partial[x] && n->v->bound[x] > 0 && n->index[x] == n->v->bound[x] - 1;
}

static const char *const cut_rows[3] = {"CUT_M << 48", "", "CUT_K << 48"};
static const char *const cut_columns[3] = {"", "CUT_N << 32", "CUT_K << 32"};

typedef int (*stride_of)(const gm_emitter *, int x);

/* Rows of blocks of C in alternate accumulator banks? */
static bool alternates(const gm_emitter *e, stride_of stride, int x) {
  return stride == c_stride && x == I && gm_rows_alternate(&e->plan->levers);
}

/* From the first block along `x` to the one of an unrolled loop. */
static int unrolled_offset(const nest *n, stride_of stride, int x) {
  const int index = n->index[x] > 0 ? n->index[x] : 0;
  if (!alternates(n->e, stride, x)) return index * stride(n->e, x);
  return index / 2 * stride(n->e, x) + index % 2 * n->e->layout->c_stride;
}

static int offset(const nest *n, stride_of stride, int x, int y) {
  return unrolled_offset(n, stride, x) + unrolled_offset(n, stride, y);
}

/* "ii * 64": likewise in a rolled loop. */
static const char *rolled_offset(const gm_emitter *e, stride_of stride, int x, char out[64]) {
  if (alternates(e, stride, x))
    snprintf(out, 64, "(%s >> 1) * %d + (%s & 1) * %d", variable[x], stride(e, x), variable[x], e->layout->c_stride);
  else
    snprintf(out, 64, "%s * %d", variable[x], stride(e, x));
  return out;
}

static void operand_text(char *out, size_t size, const char *name, int constant, const char *cut1, const char *cut2) {
  size_t n = (size_t)snprintf(out, size, "%s", name);
  if (constant) n += (size_t)snprintf(out + n, size - n, " + %d", constant);
  if (*cut1) n += (size_t)snprintf(out + n, size - n, " - (%s)", cut1);
  if (*cut2) snprintf(out + n, size - n, " - (%s)", cut2);
}

static void pair_hoisted(nest *n, bool reused) {
  gm_emitter *e = n->e;
  char a[96], b[96], c[96];
  const bool first_k = e->plan->levers.overwrite && n->index[K] <= 0;
  operand_text(a, sizeof a, n->a, offset(n, a_stride, I, K), is_cut(n, I) ? cut_rows[I] : "",
               is_cut(n, K) ? cut_columns[K] : "");
  operand_text(b, sizeof b, n->b, offset(n, b_stride, J, K), is_cut(n, K) ? cut_rows[K] : "",
               is_cut(n, J) ? cut_columns[J] : "");
  operand_text(c, sizeof c, first_k ? n->c_first : n->c_more, offset(n, c_stride, I, J),
               is_cut(n, I) ? cut_rows[I] : "", is_cut(n, J) ? cut_columns[J] : "");
  if (reused)
    gm_line(e, "preload(NONE, %s, %d, %d, 0, 0);  compute_accumulated(%s, NONE, 0, 0, %d, %d);", c, e->config->dim,
            e->config->dim, a, e->config->dim, e->config->dim);
  else
    gm_line(e, "preload(%s, %s, 0, 0, 0, 0);  compute_preloaded(%s, NONE, 0, 0, %d, %d);", b, c, a, e->config->dim,
            e->config->dim);
}

/* " + kk * 64 + 16": the place of a block, from rolled and unrolled indices. */
static void offset_text(const nest *n, stride_of stride, int x, int y, char *out, size_t size) {
  size_t used = 0;
  char rolled[64];
  out[0] = '\0';
  for (int t = 0; t < 2; t++) {
    const int z = t == 0 ? x : y;
    if (n->index[z] < 0)
      used += (size_t)snprintf(out + used, size - used, " + %s", rolled_offset(n->e, stride, z, rolled));
  }
  if (offset(n, stride, x, y)) snprintf(out + used, size - used, " + %d", offset(n, stride, x, y));
}

/* Elements of the block at `x`. */
static void extent_text(const nest *n, int x, char *out, size_t size) {
  const int d = n->e->config->dim;
  if (is_cut(n, x))
    snprintf(out, size, "%d", tail(n->e, x));
  else if (n->index[x] >= 0 || !n->v->partial[x])
    snprintf(out, size, "%d", d);
  else if (x == I)
    snprintf(out, size, "(i + ii == %d ? %d : %d)", n->e->g->mb - 1, tail(n->e, I), d);
  else
    snprintf(out, size, "(%s == %d ? %d : %d)", variable[x], n->v->bound[x] - 1, tail(n->e, x), d);
}

static void pair_plain(nest *n, bool reused) {
  gm_emitter *e = n->e;
  const int d = e->config->dim;
  char a[64], b[64], c[128], m[64], nn[64], k[64], flag[64];
  offset_text(n, a_stride, I, K, a, sizeof a);
  offset_text(n, b_stride, J, K, b, sizeof b);
  offset_text(n, c_stride, I, J, c, sizeof c);
  extent_text(n, I, m, sizeof m);
  extent_text(n, J, nn, sizeof nn);
  extent_text(n, K, k, sizeof k);
  const bool one_step = e->layout->tiles_k == 1;
  if (!e->plan->levers.overwrite || n->index[K] > 0)
    snprintf(flag, sizeof flag, " | 0x40000000");
  else if (n->index[K] < 0)
    snprintf(flag, sizeof flag, " | (%skk ? 0x40000000 : 0)", one_step ? "" : "k + ");
  else
    snprintf(flag, sizeof flag, "%s", one_step ? "" : " | (k ? 0x40000000 : 0)");
  if (reused)
    gm_line(e, "preload(NONE, (c%s)%s, %d, %d, %s, %s);  compute_accumulated(a%s, NONE, %s, %s, %d, %d);", c, flag, d,
            d, nn, m, a, k, m, d, d);
  else
    gm_line(e, "preload(b%s, (c%s)%s, %s, %s, %s, %s);  compute_preloaded(a%s, NONE, %s, %s, %d, %d);", b, c, flag, nn,
            k, nn, m, a, k, m, d, d);
}

static void emit_pair(nest *n, bool reused) {
  const gm_plan *p = n->e->plan;
  if (p->levers.hoist[GM_ADDRESSES])
    pair_hoisted(n, reused);
  else
    pair_plain(n, reused);
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

/* A new name for an operand inside a rolled loop: the old one plus an offset. */
static void move_on(nest *n, char name[32], int x, stride_of stride, const char *cut) {
  char old[32], rolled[64];
  memcpy(old, name, sizeof old);
  snprintf(name, 32, "%.28s_%c", old, "ijk"[x]);
  gm_line(n->e, "uint64_t %s = %s + %s%s;", name, old, rolled_offset(n->e, stride, x, rolled), cut);
}

/* The increment of the operands in a rolled loop, once per iteration. */
static void enter_rolled(nest *n, int x) {
  gm_emitter *e = n->e;
  if (!e->plan->levers.hoist[GM_ADDRESSES]) return;
  const bool partial = n->v->partial[x];
  if (partial && x == I)
    gm_line(e, "const uint64_t cut_i = i + ii == %d ? CUT_M << 48 : 0;", e->g->mb - 1);
  else if (partial)
    gm_line(e, "const uint64_t cut_%c = %s == %d ? CUT_%c : 0;", "ijk"[x], variable[x], n -> v -> bound[x] - 1,
            "MNK"[x]);
  switch (x) {
  case I:
    move_on(n, n->a, I, a_stride, partial ? " - cut_i" : "");
    if (e->plan->levers.overwrite) move_on(n, n->c_first, I, c_stride, partial ? " - cut_i" : "");
    move_on(n, n->c_more, I, c_stride, partial ? " - cut_i" : "");
    return;
  case J:
    move_on(n, n->b, J, b_stride, partial ? " - (cut_j << 32)" : "");
    if (e->plan->levers.overwrite) move_on(n, n->c_first, J, c_stride, partial ? " - (cut_j << 32)" : "");
    move_on(n, n->c_more, J, c_stride, partial ? " - (cut_j << 32)" : "");
    return;
  default:
    move_on(n, n->a, K, a_stride, partial ? " - (cut_k << 32)" : "");
    move_on(n, n->b, K, b_stride, partial ? " - (cut_k << 48)" : "");
    if (e->plan->levers.overwrite) {
      gm_line(e, "uint64_t %.28s_k = kk ? %s : %s;", n->c_first, n->c_more, n->c_first);
      strcat(n->c_first, "_k");
    }
    return;
  }
}

static int axis(const nest *n, int level) { return n->e->plan->loops[level] - 'i'; }

static void emit_level(nest *n, int level, bool reused);

/* A slot after every n-th iteration of a rolled loop. */
static void rolled_slot(gm_emitter *e, int x, int every, void (*slot)(gm_emitter *)) {
  if (every > 1) gm_line(e, "if (%s %% %d == %d) {", variable[x], every, every - 1);
  slot(e);
  if (every > 1) gm_line(e, "}");
}

static void emit_rolled(nest *n, int level, int from, bool reused) {
  gm_emitter *e = n->e;
  const int x = axis(n, level);
  const nest outside = *n;
  n->index[x] = -1;
  if (n->v->bound[x] == 0)
    gm_line(e, "for (int %s = %d; %s < %s; %s++) {", variable[x], from, variable[x], x == I ? "rows" : "depth",
            variable[x]);
  else
    gm_line(e, "for (int %s = %d; %s < %d; %s++) {", variable[x], from, variable[x], n->v->bound[x], variable[x]);
  enter_rolled(n, x);
  if (x == I) completed_before(n);
  emit_level(n, level + 1, reused);
  if (n->stores.level == level) rolled_slot(e, x, n->stores.every, gm_emit_some_stores);
  if (n->loads.level == level) rolled_slot(e, x, n->loads.every, gm_emit_some_loads);
  gm_line(e, "}");
  const int pairs = n->pairs;
  *n = outside;
  n->pairs = pairs;
}

/* Before unrolled code: makes the compiler compute sums where they are used, instead of in advance with spills. */
static void keep_operands(nest *n) {
  if (n->e->plan->levers.hoist[GM_ADDRESSES])
    gm_line(n->e,
            n->e->plan->levers.overwrite ? "KEEP(%s); KEEP(%s); KEEP(%s); KEEP(%s);" : "KEEP(%s); KEEP(%s); KEEP(%s);",
            n->a, n->b, n->c_more, n->c_first);
}

/* The first pair over i loads the weights; where that loop is rolled, this pair comes before it. */
static void emit_first_of_reuse(nest *n) {
  const nest outside = *n;
  gm_line(n->e, "{");
  gm_line(n->e, "const int ii = 0;");
  n->index[I] = -1;
  enter_rolled(n, I);
  keep_operands(n);
  emit_pair(n, false);
  gm_line(n->e, "}");
  *n = outside;
}

static void emit_level(nest *n, int level, bool reused) {
  if (level == 3 - n->e->plan->unroll) keep_operands(n);
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
  nest n = {.e = e, .v = v, .a = "a", .b = "b", .c_first = "c_first", .c_more = "c_more"};
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
      gm_line(e, "} else {");
    else if (n > 1)
      gm_line(e, "%sif (%s) {", t ? "} else " : "", kinds[t].test);
    emit_axis(e, x + 1, v);
  }
  if (n > 1) gm_line(e, "}");
}

void gm_emit_pairs(gm_emitter *e) {
  variant v = {0};
  emit_axis(e, I, &v);
  snprintf(e->unready, sizeof e->unready, "0");
}
