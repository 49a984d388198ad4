/* emit_runs.c - the computation of one step: a run for each block of weights, a pair (preload + compute) for each block
 * of pixels in it.
 *
 * The first pair of a run preloads the weights, the others keep them. An operand is one 64-bit number, rows << 48 |
 * columns << 32 | address; a block of pixels is then an addition of a small constant. The pairs of a row of pixels are
 * straight code, rows are a loop or straight code too; where tiles of the last columns have fewer, there is a second copy
 * of the runs for them. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/slots.h"

#define LINE(...) gm_write(&e->out, __VA_ARGS__)

typedef struct runs {
  gm_conv_emitter *e;
  int columns, blocks, head; /* of this kind of tile: results in a row, blocks of them, pixels of the first block */
  int pairs;                 /* emitted in the straight code so far */
  gm_slots loads, stores;
} runs;

/* Levels of gm_conv_slots: the four loops over blocks of weights, rows of pixels, pairs of a row. */
enum { ROWS = 4, LEVELS = 6 };

static void slot(runs *n, int level, const char *counter) {
  gm_conv_emitter *e = n->e;
  const struct {
    const gm_slots *s;
    void (*emit)(gm_conv_emitter *);
  } kinds[] = {{&n->stores, gm_conv_emit_some_stores}, {&n->loads, gm_conv_emit_some_loads}};
  for (int i = 0; i < 2; i++) {
    if (kinds[i].s->level != level) continue;
    if (kinds[i].s->every > 1) LINE("if (%s %% %d == %d) {", counter, kinds[i].s->every, kinds[i].s->every - 1);
    kinds[i].emit(e);
    if (kinds[i].s->every > 1) LINE("}");
  }
}

/* Slots inside straight code. */
static void straight_slot(runs *n) {
  n->pairs++;
  if (n->stores.level == LEVELS && n->pairs % n->stores.every == n->stores.every / 2) {
    gm_conv_emit_some_stores(n->e);
  }
  if (n->loads.level == LEVELS && n->pairs % n->loads.every == 0) {
    gm_conv_emit_some_loads(n->e);
  }
}

/* Accumulator rows from row to row of results. */
static int row_of_c(const runs *n) { return n->e->v->pool ? n->columns : n->e->layout->c_row; }

/* The pairs of row `y` of the straight code. */
static void row(runs *n, int y, bool first_of_run) {
  gm_conv_emitter *e = n->e;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, lack = l->block - n->head;
  for (int i = 0; i < n->blocks; i++) {
    const int pixel = i == 0 ? 0 : n->head + (i - 1) * l->block;
    const int a = pixel * l->a_stride + y * l->row_step * l->a_row;
    const int c = (e->v->pool ? pixel : i * l->c_block) + y * row_of_c(n);
    char low[48] = "";
    if (i == 0 && lack) snprintf(low, sizeof low, " - BLOCK(%d) + BLOCK(%d)", l->block, n->head);
    if (first_of_run && i == 0)
      LINE("preload(b, c + %d%s, 0, 0, 0, 0);  compute_preloaded(a + %d%s, NONE, 0, 0, %d, %d);", c, low, a, low, d, d);
    else
      LINE("preload(NONE, c + %d%s, %d, %d, 0, 0);  compute_accumulated(a + %d%s, NONE, 0, 0, %d, %d);", c, low, d, d,
           a, low, d, d);
    straight_slot(n);
  }
}

static void rolled_rows(runs *n) {
  gm_conv_emitter *e = n->e;
  const gm_conv_layout *l = e->layout;
  row(n, 0, true);
  if (l->rows == 1) return;
  LINE("for (int yy = 1; yy < rows; yy++) {");
  LINE("a += %d; c += %d;", l->row_step * l->a_row, row_of_c(n));
  LINE("KEEP(a); KEEP(c);");
  n->pairs = 0;
  row(n, 0, false);
  slot(n, ROWS, "yy");
  LINE("}");
}

/* One run. `a`, `b` and `c` are its operands. */
static void run(runs *n) {
  gm_conv_emitter *e = n->e;
  const gm_conv_layout *l = e->layout;
  n->pairs = 0;
  if (e->plan->unroll == 1 || l->rows == 1) {
    rolled_rows(n);
    return;
  }
  const bool always = l->tiles_y == 1 || (!e->v->pool && e->v->out_h % e->plan->tile_p == 0);
  if (!always) LINE("if (rows == %d) {", l->rows);
  for (int y = 0; y < l->rows; y++) row(n, y, y == 0);
  if (always) return;
  LINE("} else {");
  n->pairs = 0;
  rolled_rows(n);
  LINE("}");
}

/* "rr", "ss", ... */
static const char *variable(char loop) { return loop == 'r' ? "rr" : loop == 's' ? "ss" : loop == 'c' ? "cc" : "kk"; }

static void bound_text(const gm_conv_emitter *e, char loop, char *out, size_t size) {
  switch (loop) {
  case 'r': gm_conv_left_text(e->plan->tile_r, e->v->r, "r", out, size); return;
  case 's': snprintf(out, size, "%d", e->v->s); return;
  case 'c': gm_conv_left_text(e->plan->tile_c, e->v->cb, "c", out, size); return;
  default: gm_conv_left_text(e->plan->tile_k, e->v->kb, "k", out, size); return;
  }
}

static void operands(runs *n) {
  gm_conv_emitter *e = n->e;
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim;
  char cuts[160] = "";
  LINE("uint64_t a = a_at + rr * %d + ss + cc * %d;", l->a_row, l->chunk_w);
  if (v->c % d) snprintf(cuts, sizeof cuts, " - (c + cc == %d ? CUT_C : 0)", v->cb - 1);
  if (v->k % d) snprintf(cuts + strlen(cuts), sizeof cuts - strlen(cuts), " - (k + kk == %d ? CUT_K : 0)", v->kb - 1);
  if (v->transposed)
    LINE("uint64_t b = b_at + ((kk * %d + rr) * %d + ss) * %d + cc * %d%s;", p->tile_r, v->s, p->tile_c * d, d, cuts);
  else
    LINE("uint64_t b = b_at + ((rr * %d + ss) * %d + cc) * %d + kk * %d%s;", v->s, p->tile_c, p->tile_k * d, d, cuts);
  if (!p->overwrite)
    LINE("uint64_t c = BLOCK(%d) + (c_at | 0x40000000) + kk * %d; /* accumulates */", l->block, l->c_plane);
  else
    LINE("uint64_t c = BLOCK(%d) + (%srr | ss | cc ? c_at | 0x40000000 : c_at) + kk * %d; /* the first overwrites */",
         l->block, gm_conv_steps_each(l) > 1 ? "step | " : "", l->c_plane);
  LINE("KEEP(a); KEEP(b); KEEP(c);");
}

static void nest(runs *n) {
  gm_conv_emitter *e = n->e;
  const char *loops = e->plan->loops;
  for (int i = 0; i < ROWS; i++) {
    char bound[64];
    const char *x = variable(loops[i]);
    bound_text(e, loops[i], bound, sizeof bound);
    LINE("for (int %s = 0; %s < %s; %s++) {", x, x, bound, x);
  }
  operands(n);
  run(n);
  for (int i = ROWS - 1; i >= 0; i--) {
    slot(n, i, variable(loops[i]));
    LINE("}");
  }
}

static runs runs_of(gm_conv_emitter *e, int columns) {
  const gm_conv_layout *l = e->layout;
  runs n = {.e = e, .columns = columns, .blocks = gm_ceil_div(columns, l->block)};
  n.head = columns - (n.blocks - 1) * l->block;
  n.loads = gm_conv_slots(e->v, e->plan, l, e->plan->spread_loads);
  n.stores = gm_conv_slots(e->v, e->plan, l, e->plan->spread_stores);
  return n;
}

/* The numbers of columns that tiles have, in the order of the tiles from the second on. With pooling, tiles near both ends
 * of a row have fewer: the first, the last, and the one before it, for windows are up to 3 wide (conv.c). */
enum { KINDS_MAX = 5 };

static int kinds_of(const gm_conv_emitter *e, int kinds[KINDS_MAX]) {
  const gm_conv *v = e->v;
  const int tile = e->plan->tile_q, tiles = e->layout->tiles_x;
  int n = 0;
  for (int i = 1; i <= tiles; i++) {
    const int x = i % tiles * tile, columns = gm_conv_extent(v, x, gm_min(tile, v->out_w - x), v->q);
    bool seen = false;
    for (int j = 0; j < n; j++) seen |= kinds[j] == columns;
    if (!seen && n < KINDS_MAX) kinds[n++] = columns;
  }
  return n;
}

/* One copy of the runs for each kind of tile. */
void gm_conv_emit_runs(gm_conv_emitter *e) {
  int kinds[KINDS_MAX];
  const int n = kinds_of(e, kinds);
  for (int i = 0; i < n; i++) {
    runs r = runs_of(e, kinds[i]);
    if (n > 1 && i < n - 1) LINE(i ? "} else if (columns == %d) {" : "if (columns == %d) {", kinds[i]);
    if (n > 1 && i == n - 1) LINE("} else { /* %d columns */", kinds[i]);
    nest(&r);
  }
  if (n > 1) LINE("}");
}
