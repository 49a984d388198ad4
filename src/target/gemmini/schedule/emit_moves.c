/* emit_moves.c - mvins of A and B, mvouts of C, fills of the accumulator.
 *
 * A chunk is moved as rows of blocks. For each of A, B and C, the program keeps the source and destination of the next
 * row and the number of rows left; so a few instructions serve every step, and loads and stores can be anywhere among
 * the computes. Widths that do not change from chunk to chunk are unrolled; others are loops. */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/emit.h"

/* A chunk in memory order: rows along one dimension of the problem, columns along another. */
typedef struct chunk {
  char name; /* 'a', 'b' */
  const char *array, *mvin;
  char row_dim, col_dim;  /* 'm', 'n', 'k' */
  int row_tile, col_tile; /* blocks of a full chunk */
  int width;              /* width of an mvin in blocks */
  long pitch;             /* elements */
} chunk;

static int tile_of(const gm_emitter *e, char dim) {
  return dim == 'm' ? e->plan->tile_m : dim == 'n' ? e->plan->tile_n : e->plan->tile_k;
}

static int64_t length_of(const gm_emitter *e, char dim) {
  return dim == 'm' ? e->g->m : dim == 'n' ? e->g->n : e->g->k;
}

static int blocks_of(const gm_emitter *e, char dim) { return dim == 'm' ? e->g->mb : dim == 'n' ? e->g->nb : e->g->kb; }

static chunk chunk_of(const gm_emitter *e, char name) {
  const gm_gemm *g = e->g;
  const bool is_a = name == 'a', transposed = is_a ? g->a_transposed : g->b_transposed;
  chunk c = {.name = name, .array = is_a ? "A" : "B", .mvin = is_a ? "mvin2" : "mvin3"};
  c.row_dim = is_a ? 'm' : 'k';
  c.col_dim = is_a ? 'k' : 'n';
  if (transposed) {
    const char swap = c.row_dim;
    c.row_dim = c.col_dim;
    c.col_dim = swap;
  }
  c.row_tile = tile_of(e, c.row_dim);
  c.col_tile = tile_of(e, c.col_dim);
  c.width = gm_min(is_a ? e->plan->a.width : e->plan->b.width, c.col_tile);
  c.pitch = is_a ? g->lda : g->ldb;
  return c;
}

/* Do all chunks have the same extent in elements along this dimension? */
static bool is_even(const gm_emitter *e, char dim) {
  if (dim == 'm' && e->plan->taper) return false;
  return length_of(e, dim) % ((int64_t)tile_of(e, dim) * e->config->dim) == 0;
}

static const char *place_of(const gm_place *p, char dim) { return dim == 'm' ? p->i : dim == 'n' ? p->j : p->k; }

/* Blocks of the tile at a place along a dimension, as an expression. */
static void blocks_text(const gm_emitter *e, const gm_place *p, char dim, char *out, size_t size) {
  if (dim == 'm')
    snprintf(out, size, "%s", p->rows);
  else if (blocks_of(e, dim) % tile_of(e, dim) == 0)
    snprintf(out, size, "%d", tile_of(e, dim));
  else
    snprintf(out, size, "MIN(%d, %d - %s)", tile_of(e, dim), blocks_of(e, dim), place_of(p, dim));
}

/* Elements of it. */
static void elements_text(const gm_emitter *e, const gm_place *p, char dim, char *out, size_t size) {
  const int d = e->config->dim;
  if (dim == 'm' && e->plan->taper)
    snprintf(out, size, "MIN(%s * %d, %ld - %s * %d)", p->rows, d, (long)e->g->m, p->i, d);
  else if (is_even(e, dim))
    snprintf(out, size, "%d", tile_of(e, dim) * d);
  else
    snprintf(out, size, "MIN(%d, %ld - %s * %d)", tile_of(e, dim) * d, (long)length_of(e, dim), place_of(p, dim), d);
}

static void declare_loads(gm_emitter *e, char name) {
  const chunk c = chunk_of(e, name);
  const gm_operand_layout *l = name == 'a' ? &e->layout->a : &e->layout->b;
  gm_line(e, "const %s *%c_from = &%s[0][0];", e->g->input_type, name, c.array);
  gm_line(e, "uint64_t %c_to = 0;", name);
  gm_line(e, "int %c_left = 0;", name);
  if (l->slots > 1) gm_line(e, "uint64_t %c_load = 0;", name);
  if (!is_even(e, c.col_dim)) gm_line(e, "int %c_columns = 0;", name);
  if (length_of(e, c.row_dim) % e->config->dim) gm_line(e, "int %c_last = %d;", name, e->config->dim);
}

static void declare_fill(gm_emitter *);

void gm_emit_move_variables(gm_emitter *e) {
  gm_line(e, "/* rows of blocks still to move: where from, where to, how many */");
  declare_loads(e, 'b');
  declare_loads(e, 'a');
  gm_line(e, "%s *c_to = &C[0][0];", e->g->output_type);
  gm_line(e, "uint64_t c_from = 0;");
  gm_line(e, "int c_left = 0;");
  if (!is_even(e, 'n')) gm_line(e, "int c_columns = 0;");
  if (e->g->m % e->config->dim) gm_line(e, "int c_last = %d;", e->config->dim);
  if (!e->plan->overwrite) declare_fill(e);
}

/* When does a step load a new chunk? */
static void condition_text(const gm_emitter *e, char name, const gm_place *p, char *out, size_t size) {
  const gm_operand_plan *o = name == 'a' ? &e->plan->a : &e->plan->b;
  if (o->hold == GM_STREAM)
    snprintf(out, size, "1");
  else
    /* the first iteration of the loop that does not index it */
    snprintf(out, size, "%s == 0", name == 'a' ? p->j : p->i);
}

static void set_load(gm_emitter *e, char name, const gm_place *p) {
  const chunk c = chunk_of(e, name);
  const gm_operand_layout *l = name == 'a' ? &e->layout->a : &e->layout->b;
  const int d = e->config->dim;
  char condition[64], slot[128], slot_name[16], blocks[128], elements[128];
  condition_text(e, name, p, condition, sizeof condition);
  snprintf(slot_name, sizeof slot_name, "%c_load", name);
  gm_slot_text(l, slot_name, slot, sizeof slot);
  const bool always = strcmp(condition, "1") == 0;
  if (!always) gm_line(e, "if (%s) {", condition);
  gm_line(e, "%c_from = &%s[%s * %d][%s * %d];", name, c.array, place_of(p, c.row_dim), d, place_of(p, c.col_dim), d);
  gm_line(e, "%c_to = %s;", name, slot);
  blocks_text(e, p, c.row_dim, blocks, sizeof blocks);
  gm_line(e, "%c_left = %s;", name, blocks);
  if (!is_even(e, c.col_dim)) {
    elements_text(e, p, c.col_dim, elements, sizeof elements);
    gm_line(e, "%c_columns = %s;", name, elements);
  }
  if (length_of(e, c.row_dim) % d)
    gm_line(e, "%c_last = %s + %s == %d ? %d : %d;", name, place_of(p, c.row_dim), blocks, blocks_of(e, c.row_dim),
            (int)(length_of(e, c.row_dim) % d), d);
  if (l->slots == 2)
    gm_line(e, "%c_load ^= 1;", name);
  else if (l->slots > 2)
    gm_line(e, "if (++%c_load == %d) %c_load = 0;", name, l->slots, name);
  if (!always) gm_line(e, "}");
}

void gm_emit_set_loads(gm_emitter *e, const gm_place *p) {
  set_load(e, 'b', p);
  set_load(e, 'a', p);
}

/* The mvins of one row of blocks; then advances to the next row. */
static void load_row(gm_emitter *e, char name) {
  const chunk c = chunk_of(e, name);
  const int d = e->config->dim, step = c.width * d, columns = c.col_tile * d;
  char rows[32];
  if (length_of(e, c.row_dim) % d)
    snprintf(rows, sizeof rows, "%c_left == 1 ? %c_last : %d", name, name, d);
  else
    snprintf(rows, sizeof rows, "%d", d);
  if (is_even(e, c.col_dim))
    for (int x = 0; x < columns; x += step)
      if (x == 0)
        gm_line(e, "%s(%c_from, %c_to, %d, %s);", c.mvin, name, name, gm_min(step, columns), rows);
      else
        gm_line(e, "%s(%c_from + %d, %c_to + %d, %d, %s);", c.mvin, name, x, name, x, gm_min(step, columns - x), rows);
  else
    gm_line(e, "for (int x = 0; x < %c_columns; x += %d) %s(%c_from + x, %c_to + x, MIN(%d, %c_columns - x), %s);",
            name, step, c.mvin, name, name, step, name, rows);
  gm_line(e, "%c_from += %ld; %c_to += %d; %c_left--;", name, c.pitch * d, name, columns, name);
}

void gm_emit_all_loads(gm_emitter *e) {
  for (const char *name = "ba"; *name; name++) {
    gm_line(e, "while (%c_left > 0) {", *name);
    load_row(e, *name);
    gm_line(e, "}");
  }
}

void gm_emit_no_loads(gm_emitter *e) { gm_line(e, "b_left = a_left = 0;"); }

void gm_emit_first_loads(gm_emitter *e, const gm_place *p) {
  declare_loads(e, 'b');
  declare_loads(e, 'a');
  gm_emit_set_loads(e, p);
  load_row(e, 'a');
  gm_emit_all_loads(e);
}

void gm_emit_some_loads(gm_emitter *e) {
  gm_line(e, "if (b_left > 0) {");
  load_row(e, 'b');
  gm_line(e, "} else if (a_left > 0) {");
  load_row(e, 'a');
  gm_line(e, "}");
}

void gm_emit_set_stores(gm_emitter *e) {
  static const gm_place here = {"i", "j", "k", "rows"};
  const int d = e->config->dim;
  char elements[128];
  gm_line(e, "c_to = &C[i * %d][j * %d];", d, d);
  gm_line(e, "c_from = c_at%s;", e->g->wide_output ? " | 0x20000000" : "");
  gm_line(e, "c_left = rows;");
  if (!is_even(e, 'n')) {
    elements_text(e, &here, 'n', elements, sizeof elements);
    gm_line(e, "c_columns = %s;", elements);
  }
  if (e->g->m % d) gm_line(e, "c_last = i + rows == %d ? %d : %d;", e->g->mb, (int)(e->g->m % d), d);
}

static void store_row(gm_emitter *e) {
  const int d = e->config->dim, columns = e->plan->tile_n * d;
  const int step = gm_min(e->plan->store_width * d, columns);
  char rows[32];
  if (e->g->m % d)
    snprintf(rows, sizeof rows, "c_left == 1 ? c_last : %d", d);
  else
    snprintf(rows, sizeof rows, "%d", d);
  if (is_even(e, 'n'))
    for (int x = 0; x < columns; x += step)
      if (x == 0)
        gm_line(e, "mvout(c_to, c_from, %d, %s);", gm_min(step, columns), rows);
      else
        gm_line(e, "mvout(c_to + %d, c_from + %d, %d, %s);", x, x, gm_min(step, columns - x), rows);
  else
    gm_line(e, "for (int x = 0; x < c_columns; x += %d) mvout(c_to + x, c_from + x, MIN(%d, c_columns - x), %s);", step,
            step, rows);
  gm_line(e, "c_to += %ld; c_from += %d; c_left--;", (long)e->g->ldc * d, columns);
}

void gm_emit_all_stores(gm_emitter *e) {
  gm_line(e, "while (c_left > 0) {");
  store_row(e);
  gm_line(e, "}");
}

static void fill_row(gm_emitter *);

void gm_emit_some_stores(gm_emitter *e) {
  gm_line(e, "if (c_left > %s) {", e->unready);
  store_row(e);
  if (gm_fills_ahead(e->plan)) { /* the buffer that is stored now is filled for the next tile */
    gm_line(e, "} else if (d_left > 0) {");
    fill_row(e);
  }
  gm_line(e, "}");
}

/* Fills: zeros or the bias, row of blocks by row of blocks, into the tile at a place. */
static void declare_fill(gm_emitter *e) {
  if (e->g->bias != TW_GEMM_BIAS_NONE) gm_line(e, "const %s *d_from = &D[0][0];", e->g->acc_type);
  gm_line(e, "uint64_t d_to = 0;");
  gm_line(e, "int d_left = 0;");
  if (!is_even(e, 'n')) gm_line(e, "int d_columns = 0;");
  if (e->g->m % e->config->dim) gm_line(e, "int d_last = %d;", e->config->dim);
}

void gm_emit_set_fill(gm_emitter *e, const gm_place *p, const char *to) {
  const int d = e->config->dim;
  char elements[128];
  if (e->g->bias == TW_GEMM_BIAS_ROW)
    gm_line(e, "d_from = &D[0][%s * %d];", p->j, d);
  else if (e->g->bias == TW_GEMM_BIAS_FULL)
    gm_line(e, "d_from = &D[%s * %d][%s * %d];", p->i, d, p->j, d);
  gm_line(e, "d_to = %s;", to);
  gm_line(e, "d_left = %s;", p->rows);
  if (!is_even(e, 'n')) {
    elements_text(e, p, 'n', elements, sizeof elements);
    gm_line(e, "d_columns = %s;", elements);
  }
  if (e->g->m % d) gm_line(e, "d_last = %s + %s == %d ? %d : %d;", p->i, p->rows, e->g->mb, (int)(e->g->m % d), d);
}

static void fill_row(gm_emitter *e) {
  const gm_gemm *g = e->g;
  const int d = e->config->dim, columns = e->plan->tile_n * d;
  const bool bias = g->bias != TW_GEMM_BIAS_NONE;
  char rows[32];
  if (g->m % d)
    snprintf(rows, sizeof rows, "d_left == 1 ? d_last : %d", d);
  else
    snprintf(rows, sizeof rows, "%d", d);
  if (is_even(e, 'n'))
    for (int x = 0; x < columns; x += d)
      if (x == 0)
        gm_line(e, "mvin(%s, d_to, %d, %s);", bias ? "d_from" : "0", d, rows);
      else if (bias)
        gm_line(e, "mvin(d_from + %d, d_to + %d, %d, %s);", x, x, d, rows);
      else
        gm_line(e, "mvin(0, d_to + %d, %d, %s);", x, d, rows);
  else
    gm_line(e, "for (int x = 0; x < d_columns; x += %d) mvin(%s, d_to + x, MIN(%d, d_columns - x), %s);", d,
            bias ? "d_from + x" : "0", d, rows);
  if (g->bias == TW_GEMM_BIAS_FULL) gm_line(e, "d_from += %ld;", (long)g->ldd * d);
  gm_line(e, "d_to += %d; d_left--;", columns);
}

void gm_emit_all_fills(gm_emitter *e) {
  gm_line(e, "while (d_left > 0) { /* %s */", e->g->bias == TW_GEMM_BIAS_NONE ? "zeros" : "bias");
  fill_row(e);
  gm_line(e, "}");
}
