/* emit_runs.c - the computation of one step: a run for each block of weights, a pair (preload + compute) for each block
 * of pixels in it.
 *
 * The first pair of a run preloads the weights, later pairs keep them. An operand is one 64-bit number, rows << 48 |
 * columns << 32 | address; a block of pixels is then an addition of a small constant. The pairs of a row of pixels
 * are straight code; rows are a loop or straight code. If the last tiles have fewer columns, they have a second copy
 * of the runs. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/slots.h"

typedef struct runs {
  gm_conv_emitter *e;
  int columns, blocks, head; /* for this kind of tile: results in a row, blocks of results, pixels of the first block */
  int pairs;                 /* pairs emitted in the straight code so far */
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

/* Emits slots inside straight code. */
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

/* Scratchpad rows from the first row of results to row `y`. */
static int row_of_a(const gm_conv_layout *l, int y) {
  return (y / l->image_rows * l->image_h + y % l->image_rows * l->row_step) * l->a_row;
}

/* The pairs of row `y` of the straight code. */
static void row(runs *n, int y, bool first_of_run) {
  gm_conv_emitter *e = n->e;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, lack = l->block - n->head;
  for (int i = 0; i < n->blocks; i++) {
    const int pixel = i == 0 ? 0 : n->head + (i - 1) * l->block;
    const int a = pixel * l->a_stride + row_of_a(l, y);
    const int c = (e->v->pool ? pixel : i * l->c_block) + y * row_of_c(n);
    char low[48] = "";
    if (i == 0 && lack) snprintf(low, sizeof low, " - BLOCK(%d) + BLOCK(%d)", l->block, n->head);
    if (first_of_run && i == 0)
      LINE("preload(B, C + %d%s, 0, 0, 0, 0);  compute_preloaded(A + %d%s, NONE, 0, 0, %d, %d);", c, low, a, low, d, d);
    else
      LINE("preload(NONE, C + %d%s, %d, %d, 0, 0);  compute_accumulated(A + %d%s, NONE, 0, 0, %d, %d);", c, low, d, d,
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
  LINE("A += %d; C += %d;", row_of_a(l, 1), row_of_c(n));
  if (l->image_rows > 1 && l->image_rows < l->rows)
    LINE("if (yy %% %d == 0) A += %d; /* on to the next image */", l->image_rows,
         row_of_a(l, l->image_rows) - l->image_rows * row_of_a(l, 1));
  LINE("KEEP(A); KEEP(C);");
  n->pairs = 0;
  row(n, 0, false);
  slot(n, ROWS, "yy");
  LINE("}");
}

/* One run. A, B and C are its operands. */
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
  case 's': snprintf(out, size, "%d", e->layout->taps); return;
  case 'c': gm_conv_left_text(e->plan->tile_c, e->v->cb, "c", out, size); return;
  default: gm_conv_left_text(e->plan->tile_k, e->v->kb, "k", out, size); return;
  }
}

/* Does a loop over blocks of weights always run once? */
static bool once(const gm_conv_emitter *e, char loop) {
  char bound[64];
  bound_text(e, loop, bound, sizeof bound);
  return strcmp(bound, "1") == 0;
}

/* " + rr * 74 + ss * 5" for strides of the four loops. */
static void offset_text(const gm_conv_emitter *e, int r, int s, int c, int k, char *out, size_t size) {
  const struct {
    char loop;
    int stride;
  } terms[] = {{'r', r}, {'s', s}, {'c', c}, {'k', k}};
  size_t n = 0;
  *out = '\0';
  for (int i = 0; i < 4; i++)
    if (terms[i].stride && !once(e, terms[i].loop))
      n += (size_t)snprintf(out + n, size - n, " + %s * %d", variable(terms[i].loop), terms[i].stride);
}

/* "c + cc == 6": is this the last of all `blocks` blocks? Used only if there are several blocks. */
static void last_text(const gm_conv_emitter *e, const char *place, char loop, int tile, int blocks, char *out,
                      size_t size) {
  if (tile >= blocks)
    snprintf(out, size, "%s == %d", variable(loop), blocks - 1);
  else if (once(e, loop))
    snprintf(out, size, "%s == %d", place, blocks - 1);
  else
    snprintf(out, size, "%s + %s == %d", place, variable(loop), blocks - 1);
}

/* Missing parts of weight blocks at the last channels or the last columns of the kernel: " - (kk == 2 ? CUT_K : 0)". */
static void cuts_text(const gm_conv_emitter *e, char *out, size_t size) {
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  const int d = e->config->dim, packed = p->pack > 1;
  const struct {
    bool lacks;
    const char *place, *name;
    char loop;
    int tile, blocks;
  } cuts[] = {{packed && v->s % p->pack, "", "CUT_S", 's', e->layout->taps, e->layout->taps},
              {!packed && v->c % d, "c", "CUT_C", 'c', p->tile_c, v->cb},
              {v->k % d, "k", "CUT_K", 'k', p->tile_k, v->kb}};
  size_t n = 0;
  *out = '\0';
  for (int i = 0; i < 3; i++) {
    char last[64];
    if (!cuts[i].lacks) continue;
    last_text(e, cuts[i].place, cuts[i].loop, cuts[i].tile, cuts[i].blocks, last, sizeof last);
    n += (size_t)snprintf(out + n, size - n, cuts[i].blocks > 1 ? " - (%2$s ? %1$s : 0)" : " - %s", cuts[i].name, last);
  }
}

/* "step | rr | cc": true for all runs of a tile except the first; "" if there is only one run. */
static void later_text(const gm_conv_emitter *e, char *out, size_t size) {
  size_t n = 0;
  *out = '\0';
  if (gm_conv_steps_each(e->layout) > 1) n += (size_t)snprintf(out, size, "step");
  for (const char *x = "rsc"; *x; x++)
    if (!once(e, *x)) n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " | " : "", variable(*x));
}

static void operands(runs *n) {
  gm_conv_emitter *e = n->e;
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, taps = l->taps, across = p->tile_k * d, down = p->tile_c * d;
  char a[96], b[96], c[64], cuts[160], later[48];
  offset_text(e, l->a_row, l->a_tap, l->a_channels, 0, a, sizeof a);
  if (v->transposed)
    offset_text(e, taps * down, down, d, p->tile_r * taps * down, b, sizeof b);
  else
    offset_text(e, taps * p->tile_c * across, p->tile_c * across, across, d, b, sizeof b);
  offset_text(e, 0, 0, 0, l->c_plane, c, sizeof c);
  cuts_text(e, cuts, sizeof cuts);
  later_text(e, later, sizeof later);
  LINE("uint64_t A = a_at%s;", a);
  LINE("uint64_t B = b_at%s%s;", b, cuts);
  if (!p->levers.overwrite)
    LINE("uint64_t C = BLOCK(%d) + (c_at | 0x40000000)%s; /* accumulates */", l->block, c);
  else if (*later)
    LINE("uint64_t C = BLOCK(%d) + (%s ? c_at | 0x40000000 : c_at)%s; /* the first overwrites */", l->block, later, c);
  else
    LINE("uint64_t C = BLOCK(%d) + c_at%s;", l->block, c);
  LINE("KEEP(A); KEEP(B); KEEP(C);");
}

static void nest(runs *n) {
  gm_conv_emitter *e = n->e;
  const char *loops = e->plan->loops;
  for (int i = 0; i < ROWS; i++) {
    char bound[64];
    const char *x = variable(loops[i]);
    bound_text(e, loops[i], bound, sizeof bound);
    if (!once(e, loops[i])) LINE("for (int %s = 0; %s < %s; %s++) {", x, x, bound, x);
  }
  operands(n);
  run(n);
  for (int i = ROWS - 1; i >= 0; i--) {
    slot(n, i, variable(loops[i]));
    if (!once(e, loops[i])) LINE("}");
  }
}

static runs runs_of(gm_conv_emitter *e, int columns) {
  const gm_conv_layout *l = e->layout;
  runs n = {.e = e, .columns = columns, .blocks = gm_ceil_div(columns, l->block)};
  n.head = columns - (n.blocks - 1) * l->block;
  n.loads = gm_conv_slots(e->plan, l, e->plan->levers.spread_loads);
  n.stores = gm_conv_slots(e->plan, l, e->plan->levers.spread_stores);
  return n;
}

/* The numbers of columns of the tiles, in order, from the second tile on. With pooling, tiles near both ends of a
 * row have fewer columns: the first, the last and the second last, because windows are up to 3 wide (conv.c). */
enum { KINDS_MAX = 5 };

static int kinds_of(const gm_conv_emitter *e, int kinds[KINDS_MAX]) {
  const gm_conv *v = e->v;
  const int tile = e->plan->tile_q, tiles = e->layout->tiles_x;
  int n = 0;
  if (e->plan->unfold) return kinds[0] = e->layout->columns, 1;
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
