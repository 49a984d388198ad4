/* emit_moves.c - mvins of A and B, mvouts of C, fills of the accumulator.
 *
 * A chunk is moved as rows of blocks. For each of A, B and C, the program keeps the source and destination of the next
 * row and the number of rows left; so a few instructions serve every step, and loads and stores can be anywhere among
 * the computes. Widths that do not change from chunk to chunk are unrolled; others are loops. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/emit.h"

/* A chunk of A or B, or a tile of C that is stored or filled, in memory order: rows along one dimension of the problem,
 * columns along another. */
typedef struct chunk {
  char name; /* 'a', 'b', 'c'; 'd': a fill with zeros or bias */
  const char *command;
  const char *memory, *local; /* variables: addresses in memory ("0": zeros) and in the accelerator */
  char row_dim, col_dim;      /* 'm', 'n', 'k' */
  int row_tile, col_tile;     /* blocks of a full chunk */
  int width;                  /* width of a command in blocks */
  long pitch;                 /* elements */
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
  const gm_plan *p = e->plan;
  const bool bias = g->bias != TW_GEMM_BIAS_NONE, full = g->bias == TW_GEMM_BIAS_FULL;
  chunk c;
  switch (name) {
  case 'a': c = (chunk){name, "mvin2", "a_from", "a_to", 'm', 'k', 0, 0, p->levers.a.width, (long)g->lda}; break;
  case 'b': c = (chunk){name, "mvin3", "b_from", "b_to", 'k', 'n', 0, 0, p->levers.b.width, (long)g->ldb}; break;
  case 'c': c = (chunk){name, "mvout", "c_to", "c_from", 'm', 'n', 0, 0, p->levers.store_width, (long)g->ldc}; break;
  default: c = (chunk){name, "mvin", bias ? "d_from" : "0", "d_to", 'm', 'n', 0, 0, 1, full ? (long)g->ldd : 0};
  }
  if ((name == 'a' && g->a_transposed) || (name == 'b' && g->b_transposed)) {
    const char swap = c.row_dim;
    c.row_dim = c.col_dim;
    c.col_dim = swap;
  }
  c.row_tile = tile_of(e, c.row_dim);
  c.col_tile = tile_of(e, c.col_dim);
  c.width = gm_min(c.width, c.col_tile);
  return c;
}

/* Columns of every chunk in elements; 0 if chunks differ. */
static int columns_of(const gm_emitter *e, const chunk *c) {
  const gm_layout *l = e->layout;
  const int64_t length = length_of(e, c->col_dim), most = (int64_t)c->col_tile * e->config->dim;
  const int tiles = c->col_dim == 'm' ? l->tiles_m : c->col_dim == 'n' ? l->tiles_n : l->tiles_k;
  if (c->col_dim == 'm' && gm_heights_differ(e->plan)) return 0;
  if (tiles == 1) return (int)length;
  /* several commands for a row: the first chunk is loaded in full width, so that they have constant sizes */
  const bool wide = c->col_dim == 'k' && length % e->config->dim == 0 && c->col_tile > c->width &&
                    gm_first_depth(e->plan, e->g) < c->col_tile;
  return length % most && !wide ? 0 : (int)most;
}

/* Elements that the last block of rows lacks. */
static int missing_rows(const gm_emitter *e, const chunk *c) {
  return (int)((int64_t)blocks_of(e, c->row_dim) * e->config->dim - length_of(e, c->row_dim));
}

static const char *place_of(const gm_place *p, char dim) { return dim == 'm' ? p->i : dim == 'n' ? p->j : p->k; }

/* Blocks of the tile at a place along a dimension, as an expression. */
static void blocks_text(const gm_emitter *e, const gm_place *p, char dim, char *out, size_t size) {
  char depth[48];
  if (dim == 'm')
    snprintf(out, size, "%s", p->rows);
  else if (dim == 'k')
    snprintf(out, size, "%s", gm_depth_text(e, p, depth));
  else if (blocks_of(e, dim) % tile_of(e, dim) == 0)
    snprintf(out, size, "%d", tile_of(e, dim));
  else
    snprintf(out, size, "MIN(%d, %d - %s)", tile_of(e, dim), blocks_of(e, dim), place_of(p, dim));
}

/* Elements of the chunk's rows at a place, if chunks differ. */
static void elements_text(const gm_emitter *e, const gm_place *p, const chunk *c, char *out, size_t size) {
  const int d = e->config->dim;
  const long length = (long)length_of(e, c->col_dim);
  char depth[48];
  if (c->col_dim == 'm' && gm_heights_differ(e->plan))
    snprintf(out, size, "MIN(%s * %d, %ld - %s * %d)", p->rows, d, length, p->i, d);
  else if (c->col_dim == 'k' && gm_first_depth(e->plan, e->g) < c->col_tile)
    snprintf(out, size, "MIN(%s * %d, %ld - %s * %d)", gm_depth_text(e, p, depth), d, length, p->k, d);
  else
    snprintf(out, size, "MIN(%d, %ld - %s * %d)", c->col_tile * d, length, place_of(p, c->col_dim), d);
}

/* Do its addresses in the accelerator carry the size of a command? Then the core need not combine the two. */
static bool is_sized(const gm_emitter *e, const chunk *c) {
  return c->name != 'd' && e->addresses->carry_sizes && (columns_of(e, c) || c->col_tile <= c->width);
}

static void declare_size(gm_emitter *e, char name) {
  const chunk c = chunk_of(e, name);
  const int d = e->config->dim, columns = columns_of(e, &c),
            piece = gm_min(c.width * d, columns ? columns : c.width * d),
            less = columns ? piece - 1 - (columns - 1) % piece : 0;
  if (!is_sized(e, &c)) return;
  LINE("uint64_t %c_size = (uint64_t)%d << 48 | (uint64_t)%d << 32;", name, d, piece);
  LINE("KEEP(%c_size);", name);
  if (!less) return;
  LINE("uint64_t %c_less = (uint64_t)%d << 32; /* the last command of a row moves less */", name, less);
  LINE("KEEP(%c_less);", name);
}

/* On to the next row of blocks in the accumulator. */
static void next_accumulator_row(gm_emitter *e, const chunk *c, int columns) {
  const int bank = e->layout->c_stride;
  if (gm_rows_alternate(&e->plan->levers))
    LINE("%s += %s & %d ? %d : %d; /* banks in turn */", c->local, c->local, bank, columns - bank, bank);
  else
    LINE("%s += %d;", c->local, columns);
}

/* Moves one row of blocks, and goes on to the next row. */
static void move_row(gm_emitter *e, char name) {
  const chunk c = chunk_of(e, name);
  const int d = e->config->dim, step = c.width * d, columns = columns_of(e, &c), end = columns ? columns : step;
  const bool sized = is_sized(e, &c), zeros = !strcmp(c.memory, "0");
  char rows[32], cut[32] = "", from[24] = "", to[32] = "";
  snprintf(rows, sizeof rows, "%d", sized ? 0 : d);
  if (missing_rows(e, &c) && sized)
    snprintf(cut, sizeof cut, " - (%c_left == 1 ? %c_cut : 0)", name, name);
  else if (missing_rows(e, &c))
    snprintf(rows, sizeof rows, "%c_left == 1 ? %c_last : %d", name, name, d);
  if (!columns && !sized)
    LINE("for (int x = 0; x < %c_columns; x += %d) %s(%s%s, %s + x, MIN(%d, %c_columns - x), %s);", name, step,
         c.command, c.memory, zeros ? "" : " + x", c.local, step, name, rows);
  for (int x = 0; x < end && (columns || sized); x += step) {
    const int part = gm_min(step, end - x);
    if (x && !zeros) snprintf(from, sizeof from, " + %d", x);
    if (x && sized && part < step)
      snprintf(to, sizeof to, " - %c_less + %d", name, x);
    else if (x)
      snprintf(to, sizeof to, " + %d", x);
    LINE("%s(%s%s, %s%s%s, %d, %s);", c.command, c.memory, from, c.local, cut, to, sized ? 0 : part, rows);
  }
  if (c.pitch) LINE("%s += %ld;", c.memory, c.pitch * d);
  LINE("%c_left--;", name);
  if (name == 'c' || name == 'd')
    next_accumulator_row(e, &c, c.col_tile * d);
  else
    LINE("%s += %d;", c.local, c.col_tile * d);
}

/* The variables of rows that are still to be moved; set_rows gives them their values. */
static void declare_rows(gm_emitter *e, char name) {
  const chunk c = chunk_of(e, name);
  const bool sized = is_sized(e, &c);
  LINE("uint64_t %s = 0;", c.local);
  LINE("int %c_left = 0;", name);
  if (!columns_of(e, &c) && !sized) LINE("int %c_columns = 0;", name);
  if (missing_rows(e, &c)) LINE(sized ? "uint64_t %c_cut = 0;" : "int %c_last = 0;", name);
}

/* The rows of the chunk at a place; `at`: where it is in the accelerator. */
static void set_rows(gm_emitter *e, char name, const gm_place *p, const char *at) {
  const chunk c = chunk_of(e, name);
  const int d = e->config->dim, missing = missing_rows(e, &c);
  const bool sized = is_sized(e, &c), differ = !columns_of(e, &c);
  char blocks[128], elements[128];
  blocks_text(e, p, c.row_dim, blocks, sizeof blocks);
  elements_text(e, p, &c, elements, sizeof elements);
  if (sized && differ)
    LINE("%s = %c_size - ((uint64_t)(%d - %s) << 32) + %s;", c.local, name, c.width * d, elements, at);
  else if (sized)
    LINE("%s = %c_size + %s;", c.local, name, at);
  else
    LINE("%s = %s;", c.local, at);
  LINE("%c_left = %s;", name, blocks);
  if (differ && !sized) LINE("%c_columns = %s;", name, elements);
  if (missing && sized)
    LINE("%c_cut = %s + %s == %d ? (uint64_t)%d << 48 : 0;", name, place_of(p, c.row_dim), blocks,
         blocks_of(e, c.row_dim), missing);
  else if (missing)
    LINE("%c_last = %s + %s == %d ? %d : %d;", name, place_of(p, c.row_dim), blocks, blocks_of(e, c.row_dim),
         d - missing, d);
}

static void declare_loads(gm_emitter *e, char name) {
  const gm_operand_layout *l = name == 'a' ? &e->layout->a : &e->layout->b;
  LINE("const %s *%c_from = &%c[0][0];", e->g->input_type, name, toupper(name));
  declare_rows(e, name);
  if (l->slots > 1) LINE("uint64_t %c_load = 0;", name);
}

void gm_emit_move_variables(gm_emitter *e) {
  for (const char *name = "bac"; *name; name++) declare_size(e, *name);
  LINE("/* rows of blocks still to move: where from, where to, how many */");
  declare_loads(e, 'b');
  declare_loads(e, 'a');
  LINE("%s *c_to = &C[0][0];", e->g->output_type);
  declare_rows(e, 'c');
  if (e->plan->levers.overwrite) return;
  if (e->g->bias != TW_GEMM_BIAS_NONE) LINE("const %s *d_from = &D[0][0];", e->g->acc_type);
  declare_rows(e, 'd');
}

/* When does a step load a new chunk? */
static void condition_text(const gm_emitter *e, char name, const gm_place *p, char *out, size_t size) {
  const gm_operand_plan *o = name == 'a' ? &e->plan->levers.a : &e->plan->levers.b;
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
  char condition[64], slot[128], slot_name[16];
  condition_text(e, name, p, condition, sizeof condition);
  snprintf(slot_name, sizeof slot_name, "%c_load", name);
  gm_slot_text(l, slot_name, slot, sizeof slot);
  const bool always = strcmp(condition, "1") == 0;
  if (!always) LINE("if (%s) {", condition);
  LINE("%c_from = &%c[%s * %d][%s * %d];", name, toupper(name), place_of(p, c.row_dim), d, place_of(p, c.col_dim), d);
  set_rows(e, name, p, slot);
  gm_next_load(&e->out, name, l->slots);
  if (!always) LINE("}");
}

void gm_emit_set_loads(gm_emitter *e, const gm_place *p) {
  set_load(e, 'b', p);
  set_load(e, 'a', p);
}

void gm_emit_all_loads(gm_emitter *e) {
  for (const char *name = "ba"; *name; name++) {
    LINE("while (%c_left > 0) {", *name);
    move_row(e, *name);
    LINE("}");
  }
}

void gm_emit_no_loads(gm_emitter *e) { LINE("b_left = a_left = 0;"); }

void gm_emit_first_loads(gm_emitter *e, const gm_place *p) {
  declare_loads(e, 'b');
  declare_loads(e, 'a');
  gm_emit_set_loads(e, p);
  move_row(e, 'a');
  gm_emit_all_loads(e);
}

void gm_emit_some_loads(gm_emitter *e) {
  LINE("if (b_left > 0) {");
  move_row(e, 'b');
  LINE("} else if (a_left > 0) {");
  move_row(e, 'a');
  LINE("}");
}

void gm_emit_set_stores(gm_emitter *e) {
  static const gm_place here = {"i", "j", "k", "rows"};
  const int d = e->config->dim;
  LINE("c_to = &C[i * %d][j * %d];", d, d);
  set_rows(e, 'c', &here, e->g->wide_output ? "c_at + 0x20000000" : "c_at");
}

void gm_emit_all_stores(gm_emitter *e) {
  LINE("while (c_left > 0) {");
  move_row(e, 'c');
  LINE("}");
}

void gm_emit_some_stores(gm_emitter *e) {
  LINE("if (c_left > %s) {", e->unready);
  move_row(e, 'c');
  if (gm_fills_ahead(&e->plan->levers)) { /* the buffer that is stored now is filled for the next tile */
    LINE("} else if (d_left > 0) {");
    move_row(e, 'd');
  }
  LINE("}");
}

bool gm_all_have_slots(const gm_emitter *e) {
  const gm_plan *p = e->plan;
  const int trips[3] = {p->tile_m, p->tile_n, p->tile_k};
  const gm_slots s = gm_plan_slots(p, p->levers.spread_loads);
  if (e->g->kb % p->tile_k) return false;
  if (!gm_one_tile(e->layout) || p->levers.prefetch != 1 || s.level < 0) return false;
  int inside = 1, outside = 1; /* trips of the loops that are unrolled, or inside the slots' loop */
  for (int l = 0; l < 3; l++)
    *(l < (s.level < 3 ? s.level : 3 - p->unroll) ? &outside : &inside) *= trips[p->loops[l] - 'i'];
  return inside / s.pairs * outside >= chunk_of(e, 'a').row_tile + chunk_of(e, 'b').row_tile;
}

/* Fills: zeros or the bias, row of blocks by row of blocks, into the tile at a place. */
void gm_emit_set_fill(gm_emitter *e, const gm_place *p, const char *to) {
  const int d = e->config->dim;
  if (e->g->bias == TW_GEMM_BIAS_ROW)
    LINE("d_from = &D[0][%s * %d];", p->j, d);
  else if (e->g->bias == TW_GEMM_BIAS_FULL)
    LINE("d_from = &D[%s * %d][%s * %d];", p->i, d, p->j, d);
  set_rows(e, 'd', p, to);
}

void gm_emit_all_fills(gm_emitter *e) {
  LINE("while (d_left > 0) { /* %s */", e->g->bias == TW_GEMM_BIAS_NONE ? "zeros" : "bias");
  move_row(e, 'd');
  LINE("}");
}
