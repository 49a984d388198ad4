/* emit_moves.c - mvins of pixels, weights and bias, mvouts of the output.
 *
 * Everything is moved in units: of A up to dim columns of a row of a chunk, all its channels; of B a row of blocks of
 * weights; of a finished tile a block of pixels (with pooling: a block of k); of the bias the same. The program keeps, for
 * each of them, where the next unit comes from, where it goes and how many are left; so the same few instructions serve
 * every step, and loads and stores can stand anywhere among the pairs.
 *
 * Addresses in memory are integers: a row of a chunk may begin in the padding, outside the array. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>
#include <string.h>

#define LINE(...) gm_write(&e->out, __VA_ARGS__)

/* ---- what is always the same ---- */

/* Do all steps have the same number of channels c, tiles of channels k? */
static bool even_c(const gm_conv_emitter *e) { return e->v->c % (e->plan->tile_c * e->config->dim) == 0; }
static bool even_k(const gm_conv_emitter *e) { return e->v->k % (e->plan->tile_k * e->config->dim) == 0; }

/* Rows and columns of every chunk, where they do not change; 0 otherwise. */
static int fixed_rows(const gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const bool whole = e->layout->tiles_y == 1, same = !v->pool && v->out_h % e->plan->tile_p == 0;
  return (whole || same) && v->r % e->plan->tile_r == 0 ? e->layout->chunk_h : 0;
}

static bool fixed_columns(const gm_conv_emitter *e) {
  return e->layout->tiles_x == 1 || (!e->v->pool && e->v->out_w % e->plan->tile_q == 0);
}

/* Does a chunk reach into the padding? */
static bool pads(const gm_conv_emitter *e) { return e->v->pad > 0; }

/* Channels of the step at `c`: "64" or "MIN(64, 100 - c * 16)". */
static void channels_text(const gm_conv_emitter *e, int tile, int length, const char *place, char *out, size_t size) {
  const int d = e->config->dim;
  if (length % (tile * d) == 0)
    snprintf(out, size, "%d", tile * d);
  else if (length < tile * d)
    snprintf(out, size, "%d", length);
  else
    snprintf(out, size, "MIN(%d, %d - %s * %d)", tile * d, length, place, d);
}

/* ---- variables ---- */

static void declare_a(gm_conv_emitter *e) {
  LINE("uint64_t a_from = 0, a_to = 0;");
  LINE("int a_left = 0, a_column = 0; /* rows of the chunk; columns of the first that are done */");
  if (pads(e)) LINE("int a_row = 0; /* of the input */");
  if (pads(e)) LINE("int a_begin = 0, a_end = 0; /* columns of the chunk that are pixels, not padding */");
  if (!fixed_columns(e)) LINE("int a_columns = 0;");
  if (!even_c(e)) LINE("int a_channels = 0;");
  if (e->layout->a.slots > 1) LINE("uint64_t a_load = 0;");
}

static bool inner_b(const gm_conv_emitter *e) {
  return e->v->transposed ? e->plan->tile_r < e->v->r : e->plan->tile_c < e->v->cb || !even_c(e);
}

static void declare_b(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  LINE("uint64_t b_from = 0, b_to = 0;");
  LINE("int b_left = 0;");
  if (inner_b(e)) LINE("int b_inner = 0, b_inner_end = 0;");
  if (v->transposed ? !even_c(e) : !even_k(e)) LINE("int b_columns = 0;");
  if (v->transposed ? v->k % e->config->dim : v->c % e->config->dim) LINE("int b_last = %d;", e->config->dim);
  if (e->layout->b.slots > 1) LINE("uint64_t b_load = 0;");
}

void gm_conv_emit_move_variables(gm_conv_emitter *e) {
  LINE("/* what is still to be moved: where from, where to, how much */");
  declare_b(e);
  declare_a(e);
  LINE("uint64_t c_to = 0, c_from = 0;");
  LINE("int c_left = 0;");
  if (!e->v->pool) LINE("int c_column = 0, c_columns = 0; /* of the row of the tile that is stored */");
  if (!even_k(e)) LINE("int c_channels = 0;");
  if (!e->plan->overwrite) {
    LINE("uint64_t d_from = 0, d_to = 0;");
    LINE("int d_left = 0;");
    if (!even_k(e)) LINE("int d_channels = 0;");
  }
}

/* ---- A ---- */

/* Columns of a chunk, as an expression where loads stand. */
static void chunk_columns_text(const gm_conv_emitter *e, char *out, size_t size) {
  if (fixed_columns(e))
    snprintf(out, size, "%d", e->layout->chunk_w);
  else
    snprintf(out, size, "a_columns");
}

/* When does a step load a new chunk of A, of B? "" if always. */
static void condition_text(const gm_conv_emitter *e, char name, const gm_conv_place *p, char *out, size_t size) {
  const gm_conv_layout *l = e->layout;
  out[0] = '\0';
  if (name == 'a') {
    if (e->plan->a.hold != GM_STREAM && l->tiles_k > 1) snprintf(out, size, "%s == 0", p->k);
    return;
  }
  if (e->plan->b.hold == GM_STREAM) return;
  size_t n = 0;
  const struct {
    const char *place;
    bool many;
  } over[] = {{p->n, e->v->n > 1}, {p->y, l->tiles_y > 1}, {p->x, l->tiles_x > 1}};
  for (int i = 0; i < 3; i++)
    if (over[i].many) n += (size_t)snprintf(out + n, size - n, "%s%s == 0", n ? " && " : "", over[i].place);
}

static void next_load(gm_conv_emitter *e, char name, int slots) {
  if (slots == 2)
    LINE("%c_load ^= 1;", name);
  else if (slots > 2)
    LINE("if (++%c_load == %d) %c_load = 0;", name, slots, name);
}

static void set_a(gm_conv_emitter *e, const gm_conv_place *p) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  char condition[128], slot[128], row[160], column[160], text[256];
  condition_text(e, 'a', p, condition, sizeof condition);
  gm_slot_text(&l->a, "a_load", slot, sizeof slot);
  gm_conv_first_text(v, p->y, row, sizeof row);
  gm_conv_first_text(v, p->x, column, sizeof column);
  if (*condition) LINE("if (%s) {", condition);
  if (pads(e)) {
    LINE("a_row = %s * %d + %s - %d;", row, v->stride, p->r, v->pad);
    snprintf(row, sizeof row, "a_row");
  } else {
    char first[128];
    memcpy(first, row, sizeof first - 1);
    first[sizeof first - 1] = '\0';
    snprintf(row, sizeof row, "%s * %d + %s", first, v->stride, p->r);
  }
  LINE("const long a_first = %s * %d - %d; /* column of the input */", column, v->stride, v->pad);
  LINE("a_from = (uint64_t)input + (((%s * %dL + %s) * %d + a_first) * %d + %s * %d) * %d;", p->n, v->h, row, v->w,
       v->c, p->c, e->config->dim, v->input_bytes);
  LINE("a_to = %s;", slot);
  if (fixed_rows(e)) {
    LINE("a_left = %d;", fixed_rows(e));
  } else {
    char taps[64];
    gm_conv_rows_text(e, p->y, text, sizeof text);
    gm_conv_left_text(e->plan->tile_r, v->r, p->r, taps, sizeof taps);
    LINE("a_left = (%s - 1) * %d + %s;", text, l->row_step, taps);
  }
  if (!fixed_columns(e)) {
    gm_conv_columns_text(e, p->x, text, sizeof text);
    LINE("a_columns = (%s - 1) * %d + %d;", text, l->a_stride, v->s);
  }
  if (pads(e)) {
    char columns[32];
    chunk_columns_text(e, columns, sizeof columns);
    LINE("a_begin = a_first < 0 ? MIN(%s, (int)(%d - a_first) / %d) : 0;", columns, l->dx - 1, l->dx);
    LINE("a_end = MIN(%s, MAX(a_begin, (int)(%d - a_first + %d) / %d));", columns, v->w, l->dx - 1, l->dx);
  }
  if (!even_c(e)) {
    channels_text(e, e->plan->tile_c, v->c, p->c, text, sizeof text);
    LINE("a_channels = %s;", text);
  }
  next_load(e, 'a', l->a.slots);
  if (*condition) LINE("}");
}

/* The mvins of `columns` columns from column `at`: all channels. */
static void load_columns(gm_conv_emitter *e, const char *from, const char *at, const char *columns) {
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, step = gm_min(e->plan->a.width, e->plan->tile_c) * d, bytes = e->v->input_bytes;
  const bool zeros = strcmp(from, "0") == 0;
  char to[96], more[96];
  if (even_c(e)) {
    const int channels = e->plan->tile_c * d;
    for (int x = 0; x < channels; x += step) {
      snprintf(to, sizeof to, "a_to + %s + %d", at, x / d * l->chunk_w);
      if (zeros)
        snprintf(more, sizeof more, "0");
      else
        snprintf(more, sizeof more, "%s + %d", from, x * bytes);
      LINE("mvin2(%s, %s, %d, %s);", more, to, gm_min(step, channels - x), columns);
    }
    return;
  }
  if (zeros)
    snprintf(more, sizeof more, "0");
  else
    snprintf(more, sizeof more, "%s + x * %d", from, bytes);
  LINE("for (int x = 0; x < a_channels; x += %d) mvin2(%s, a_to + %s + x / %d * %d, MIN(%d, a_channels - x), %s);",
       step, more, at, d, l->chunk_w, step, columns);
}

/* A unit with padding: zeros before the pixels, the pixels, zeros behind them. */
static void load_padded(gm_conv_emitter *e, const char *end) {
  const gm_conv *v = e->v;
  const long pixel = (long)v->c * e->layout->dx * v->input_bytes;
  char from[96];
  LINE("const int end = %s;", end);
  LINE("int first = MAX(a_column, a_begin), last = MIN(end, a_end);");
  LINE("if (a_row < 0 || a_row >= %d || first >= last) first = last = end; /* all padding */", v->h);
  LINE("if (first > a_column) {");
  load_columns(e, "0", "a_column", "first - a_column");
  LINE("}");
  LINE("if (last > first) {");
  snprintf(from, sizeof from, "a_from + first * %ldL", pixel);
  load_columns(e, from, "first", "last - first");
  LINE("}");
  LINE("if (end > last) {");
  load_columns(e, "0", "last", "end - last");
  LINE("}");
}

static void unit_a(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim;
  const long pixel = (long)v->c * l->dx * v->input_bytes, row = (long)v->w * v->c * l->dy * v->input_bytes;
  char columns[32], end[96], from[64];
  chunk_columns_text(e, columns, sizeof columns);
  const bool one = fixed_columns(e) && l->chunk_w <= d;
  snprintf(end, sizeof end, one ? "%s" : "MIN(a_column + %2$d, %1$s)", columns, d);
  if (pads(e)) {
    load_padded(e, end);
  } else {
    if (!one) LINE("const int columns = MIN(%d, %s - a_column);", d, columns);
    snprintf(from, sizeof from, one ? "a_from" : "a_from + a_column * %ldL", pixel);
    load_columns(e, from, one ? "0" : "a_column", one ? columns : "columns");
  }
  if (!one) {
    LINE("if ((a_column += %d) >= %s) {", d, columns);
    LINE("a_column = 0;");
  }
  if (pads(e)) LINE("a_row += %d;", l->dy);
  LINE("a_from += %ldL; a_to += %d; a_left--;", row, l->a_row);
  if (!one) LINE("}");
}

/* ---- B ---- */

static void set_b(gm_conv_emitter *e, const gm_conv_place *p) {
  const gm_conv *v = e->v;
  const gm_conv_plan *plan = e->plan;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim;
  char condition[128], slot[128], taps[64], blocks_c[64], blocks_k[64], columns[96];
  condition_text(e, 'b', p, condition, sizeof condition);
  gm_slot_text(&l->b, "b_load", slot, sizeof slot);
  gm_conv_left_text(plan->tile_r, v->r, p->r, taps, sizeof taps);
  gm_conv_left_text(plan->tile_c, v->cb, p->c, blocks_c, sizeof blocks_c);
  gm_conv_left_text(plan->tile_k, v->kb, p->k, blocks_k, sizeof blocks_k);
  if (*condition) LINE("if (%s) {", condition);
  LINE("b_to = %s;", slot);
  if (v->transposed) {
    LINE("b_from = (uint64_t)weights + ((%s * %dL + %s * %d) * %d + %s * %d) * %d;", p->k, d * v->r * v->s, p->r, v->s,
         v->c, p->c, d, v->input_bytes);
    LINE("b_left = %s * %s * %d;", blocks_k, taps, v->s);
    if (inner_b(e)) LINE("b_inner = 0; b_inner_end = %s * %d;", taps, v->s);
    channels_text(e, plan->tile_c, v->c, p->c, columns, sizeof columns);
    if (!even_c(e)) LINE("b_columns = %s;", columns);
    if (v->k % d) LINE("b_last = %s + %s == %d ? %d : %d;", p->k, blocks_k, v->kb, v->k % d, d);
  } else {
    LINE("b_from = (uint64_t)weights + ((%s * %dL + %s * %d) * %d + %s * %d) * %d;", p->r, v->s * v->c, p->c, d, v->k,
         p->k, d, v->input_bytes);
    LINE("b_left = %s * %d * %s;", taps, v->s, blocks_c);
    if (inner_b(e)) LINE("b_inner = 0; b_inner_end = %s;", blocks_c);
    channels_text(e, plan->tile_k, v->k, p->k, columns, sizeof columns);
    if (!even_k(e)) LINE("b_columns = %s;", columns);
    if (v->c % d) LINE("b_last = %s + %s == %d ? %d : %d;", p->c, blocks_c, v->cb, v->c % d, d);
  }
  next_load(e, 'b', l->b.slots);
  if (*condition) LINE("}");
}

/* Rows of weights of the next unit. A transposed chunk ends with the last block of k, another with that of c. */
static void b_rows_text(const gm_conv_emitter *e, char *out, size_t size) {
  const gm_conv *v = e->v;
  const int d = e->config->dim;
  if (v->transposed && v->k % d) /* the units of the last block of k are the last ones */
    snprintf(out, size, inner_b(e) ? "b_left <= b_inner_end ? b_last : %d" : "b_left <= %2$d ? b_last : %1$d", d,
             v->r * v->s);
  else if (!v->transposed && v->c % d)
    snprintf(out, size, "b_inner + 1 == b_inner_end ? b_last : %d", d);
  else
    snprintf(out, size, "%d", d);
}

static void unit_b(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_plan *plan = e->plan;
  const int d = e->config->dim, bytes = v->input_bytes;
  const int columns = (v->transposed ? plan->tile_c : plan->tile_k) * d, step = gm_min(plan->b.width * d, columns);
  const bool even = v->transposed ? even_c(e) : even_k(e);
  char rows[96];
  b_rows_text(e, rows, sizeof rows);
  if (even)
    for (int x = 0; x < columns; x += step)
      LINE("mvin3(b_from + %d, b_to + %d, %d, %s);", x * bytes, x, gm_min(step, columns - x), rows);
  else
    LINE("for (int x = 0; x < b_columns; x += %d) mvin3(b_from + x * %d, b_to + x, MIN(%d, b_columns - x), %s);", step,
         bytes, step, rows);
  if (v->transposed) {
    /* taps of a block of k lie behind each other, its next rows after all taps and channels */
    const long taps = (long)v->r * v->s;
    LINE("b_from += %ldL; b_to += %d; b_left--;", (long)v->c * bytes, columns);
    if (inner_b(e)) {
      LINE("if (++b_inner == b_inner_end) {");
      LINE("b_from += (%ldL - b_inner) * %ldL; b_to += (%d - b_inner) * %d; b_inner = 0;", taps * d, (long)v->c * bytes,
           plan->tile_r * v->s, columns);
      LINE("}");
    } else if (plan->tile_k > 1) {
      LINE("if (b_left %% %ld == 0) b_from += %ldL;", taps, taps * (d - 1) * v->c * bytes);
    }
    return;
  }
  LINE("b_from += %ldL; b_to += %d; b_left--;", (long)d * v->k * bytes, columns);
  if (inner_b(e)) {
    LINE("if (++b_inner == b_inner_end) {");
    LINE("b_from += (%ldL - b_inner * %d) * %ldL; b_to += (%d - b_inner) * %d; b_inner = 0;", (long)v->c, d,
         (long)v->k * bytes, plan->tile_c, columns);
    LINE("}");
  }
}

/* ---- loads of both ---- */

void gm_conv_emit_set_loads(gm_conv_emitter *e, const gm_conv_place *p) {
  set_b(e, p);
  set_a(e, p);
}

static void all_a(gm_conv_emitter *e) {
  LINE("while (a_left > 0) {");
  unit_a(e);
  LINE("}");
}

static void all_b(gm_conv_emitter *e) {
  LINE("while (b_left > 0) {");
  unit_b(e);
  LINE("}");
}

void gm_conv_emit_all_loads(gm_conv_emitter *e) {
  all_a(e);
  all_b(e);
}

void gm_conv_emit_first_loads(gm_conv_emitter *e) {
  LINE("if (b_left > 0) { /* the first run needs all pixels, but few weights */");
  unit_b(e);
  LINE("}");
  gm_conv_emit_all_loads(e);
}

/* ---- the output ---- */

/* With pooling: the machine is told what the tile is, then stores a block of k with one command. */
static void set_pooled_stores(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_plan *p = e->plan;
  char rows[64], columns[64], scale[40];
  gm_float_text(v->scale, scale, sizeof scale);
  gm_conv_left_text(p->tile_p, v->out_h, "y", rows, sizeof rows);
  gm_conv_left_text(p->tile_q, v->out_w, "x", columns, sizeof columns);
  if (v->pool_pad) {
    LINE("const int above = MAX(0, %d - y * %d); /* rows of the first windows outside */", v->pool_pad, v->pool_stride);
    LINE("const int before = MAX(0, %d - x * %d); /* columns */", v->pool_pad, v->pool_stride);
  }
  LINE("gemmini_extended2_config_st(%ld, %s, %s, %d, %d, %d, %s, %s, rows, columns, %s, %s);",
       (long)v->k * v->output_bytes, v->relu ? "RELU" : "NO_ACTIVATION", scale, v->pool_stride, v->pool,
       p->tile_p > 1 ? v->out_w : 0, rows, columns, v->pool_pad ? "above" : "0", v->pool_pad ? "before" : "0");
}

void gm_conv_emit_set_stores(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const int d = e->config->dim;
  char text[256];
  LINE("c_to = (uint64_t)output + (((n * %dL + y) * %d + x) * %d + k * %d) * %d;", v->out_h, v->out_w, v->k, d,
       v->output_bytes);
  LINE("c_from = c_at%s;", v->wide_output ? " | 0x20000000" : "");
  if (!even_k(e)) {
    channels_text(e, e->plan->tile_k, v->k, "k", text, sizeof text);
    LINE("c_channels = %s;", text);
  }
  if (v->pool) {
    set_pooled_stores(e);
    gm_conv_left_text(e->plan->tile_k, v->kb, "k", text, sizeof text);
    LINE("c_left = %s;", text);
    return;
  }
  gm_conv_columns_text(e, "x", text, sizeof text);
  LINE("c_left = rows; c_column = 0; c_columns = %s;", text);
}

/* With pooling: the windows of a block of k. */
static void unit_pooled(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const int d = e->config->dim;
  if (even_k(e))
    LINE("mvout(c_to, c_from, %d, 1);", d);
  else
    LINE("mvout(c_to, c_from, MIN(%d, c_channels), 1); c_channels -= %d;", d, d);
  LINE("c_to += %d; c_from += %d; c_left--;", d * v->output_bytes, e->layout->c_plane);
}

static void unit_c(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, columns = e->plan->tile_k * d, step = gm_min(e->plan->store_width * d, columns);
  const long pixel = (long)v->k * v->output_bytes;
  if (v->pool) {
    unit_pooled(e);
    return;
  }
  /* the first block of a row is what is left over from full ones */
  LINE("const int height = c_column ? %d : (c_columns - 1) %% %d + 1;", l->block, l->block);
  if (even_k(e))
    for (int x = 0; x < columns; x += step)
      LINE("mvout(c_to + %d, c_from + %d, %d, height);", x * v->output_bytes, x, gm_min(step, columns - x));
  else
    LINE("for (int x = 0; x < c_channels; x += %d) mvout(c_to + x * %d, c_from + x, MIN(%d, c_channels - x), height);",
         step, v->output_bytes, step);
  LINE("c_to += height * %ldL; c_from += %d;", pixel, l->c_block);
  LINE("if ((c_column += height) == c_columns) {");
  LINE("c_to += (%d - c_columns) * %ldL; c_column = 0; c_left--;", v->out_w, pixel);
  if (!fixed_columns(e))
    LINE("c_from += (%d - (c_columns + %d) / %d) * %d;", l->blocks, l->block - 1, l->block, l->c_block);
  LINE("}");
}

void gm_conv_emit_all_stores(gm_conv_emitter *e) {
  LINE("while (c_left > 0) {");
  unit_c(e);
  LINE("}");
}

/* ---- bias or zeros ---- */

/* All of a buffer is filled, whatever the tile needs of it. */
void gm_conv_emit_set_fill(gm_conv_emitter *e, const char *buffer, const char *k) {
  const gm_conv *v = e->v;
  const int d = e->config->dim;
  char text[128];
  if (v->bias) LINE("d_from = (uint64_t)bias + (%s) * %d;", k, d * v->acc_bytes);
  LINE("d_to = %s;", buffer);
  LINE("d_left = %d;", v->pool ? gm_ceil_div(e->layout->c_plane, d) : e->layout->rows * e->layout->blocks);
  if (!even_k(e)) {
    char place[96];
    snprintf(place, sizeof place, "(%s)", k);
    channels_text(e, e->plan->tile_k, v->k, place, text, sizeof text);
    LINE("d_channels = %s;", text);
  }
}

static void unit_fill(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, columns = e->plan->tile_k * d;
  char rows[64], end[32];
  if (v->pool && l->c_plane % d)
    snprintf(rows, sizeof rows, "d_left == 1 ? %d : %d", l->c_plane % d, d);
  else
    snprintf(rows, sizeof rows, "%d", d);
  snprintf(end, sizeof end, even_k(e) ? "%d" : "d_channels", columns);
  char from[48] = "0", width[64];
  if (v->bias) snprintf(from, sizeof from, "d_from + x * %d", v->acc_bytes);
  if (v->k % d)
    snprintf(width, sizeof width, "MIN(%d, %s - x)", d, end);
  else
    snprintf(width, sizeof width, "%d", d);
  LINE("for (int x = 0; x < %s; x += %d) mvin(%s, d_to + x / %d * %d, %s, %s);", end, d, from, d, l->c_plane, width,
       rows);
  LINE("d_to += %d; d_left--;", v->pool ? d : l->c_block);
}

void gm_conv_emit_all_fill(gm_conv_emitter *e) {
  LINE("while (d_left > 0) {");
  unit_fill(e);
  LINE("}");
}

/* The next tile is filled among the loads, when they are done and the tile that was there is stored: earlier it would wait
 * for the last stores in the queue of loads, and they with it. */
void gm_conv_emit_some_loads(gm_conv_emitter *e) {
  LINE("if (a_left > 0) {");
  unit_a(e);
  LINE("} else if (b_left > 0) {");
  unit_b(e);
  if (gm_conv_fills_ahead(e->plan)) {
    LINE("} else if (d_left > 0 && c_left == 0) {");
    unit_fill(e);
  }
  LINE("}");
}

void gm_conv_emit_some_stores(gm_conv_emitter *e) {
  LINE("if (c_left > 0) {");
  unit_c(e);
  if (gm_conv_fills_ahead(e->plan) && e->plan->spread_loads == 0) {
    LINE("} else if (d_left > 0) {");
    unit_fill(e);
  }
  LINE("}");
}
