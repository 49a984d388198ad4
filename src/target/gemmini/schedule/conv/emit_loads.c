/* emit_loads.c - mvins of pixels and weights.
 *
 * Data moves in units. A unit of A is up to dim columns of a row of a chunk, with all channels. A unit of B is a row of
 * blocks of weights. A unit of a finished tile or of the bias is a block of pixels (with pooling: a block of k). The
 * program keeps source, destination and remaining count of the units of each kind. A few instructions then serve every
 * step, and loads and stores can be anywhere among the computes.
 *
 * Addresses in memory are integers: a row of a chunk may begin in the padding, outside the array. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>
#include <string.h>

/* Can a chunk extend past the image, including the additional columns for packed pixels? */
static bool pads(const gm_conv_emitter *e) { return e->v->pad > 0 || e->plan->pack > 1; }

/* Channels of every step, of every tile, if constant; 0 otherwise. */
static int fixed_c(const gm_conv_emitter *e) { return gm_conv_fixed_channels(e, e->plan->tile_c, e->v->c); }
static int fixed_k(const gm_conv_emitter *e) { return gm_conv_fixed_channels(e, e->plan->tile_k, e->v->k); }

/* ---- variables ---- */

static void declare_a(gm_conv_emitter *e) {
  LINE("uint64_t a_from = 0, a_to = 0;");
  LINE("int a_left = 0, a_column = 0; /* rows of the chunk; columns of the first that are done */");
  if (pads(e)) LINE("int a_row = 0; /* of the input */");
  if (pads(e)) LINE("int a_begin = 0, a_end = 0; /* columns of the chunk that are pixels, not padding */");
  if (pads(e)) LINE("int a_first = 0; /* column of the input */");
  if (!gm_conv_fixed_columns(e)) LINE("int a_columns = 0;");
  if (!fixed_c(e)) LINE("int a_channels = 0;");
  if (e->layout->a.slots > 1) LINE("uint64_t a_load = 0;");
}

/* The weights of a kernel row, in their order in memory: `taps` times `depth` channels, in blocks of `high` of which a
 * chunk has `blocks` for each tap. Packed columns of the kernel are one tap. */
typedef struct weights {
  int taps, depth, high, blocks;
} weights;

static weights weights_of(const gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  if (e->plan->pack > 1) return (weights){1, v->s * v->c, gm_conv_weights_high(e), e->layout->taps};
  return (weights){v->s, v->c, e->config->dim, e->plan->tile_c};
}

/* Must a chunk know where its blocks of a tap end (transposed: of a block of k)? */
static bool inner_b(const gm_conv_emitter *e) {
  const weights w = weights_of(e);
  if (e->plan->pack > 1) return w.depth % w.high;
  return e->v->transposed ? e->plan->tile_r < e->v->r : e->plan->tile_c < e->v->cb || w.depth % w.high;
}

static void declare_b(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  LINE("uint64_t b_from = 0, b_to = 0;");
  LINE("int b_left = 0;");
  if (inner_b(e)) LINE("int b_inner = 0, b_inner_end = 0;");
  if (v->transposed ? !fixed_c(e) : !fixed_k(e)) LINE("int b_columns = 0;");
  const weights w = weights_of(e);
  if (v->transposed ? v->k % e->config->dim : w.depth % w.high) LINE("int b_last = %d;", w.high);
  if (e->layout->b.slots > 1) LINE("uint64_t b_load = 0;");
}

void gm_conv_emit_load_variables(gm_conv_emitter *e) {
  declare_b(e);
  declare_a(e);
}

/* ---- A ---- */

/* Columns of a chunk, as an expression at the loads. */
static void chunk_columns_text(const gm_conv_emitter *e, char *out, size_t size) {
  if (gm_conv_fixed_columns(e))
    snprintf(out, size, "%d", e->layout->chunk_w);
  else
    snprintf(out, size, "a_columns");
}

/* The condition under which a step loads a new chunk of A, or of B; "" if always. */
static void condition_text(const gm_conv_emitter *e, char name, const gm_conv_place *p, char *out, size_t size) {
  const gm_conv_layout *l = e->layout;
  out[0] = '\0';
  if (name == 'a') {
    if (e->plan->levers.a.hold != GM_STREAM && l->tiles_k > 1) snprintf(out, size, "%s == 0", p->k);
    return;
  }
  if (e->plan->levers.b.hold == GM_STREAM) return;
  size_t n = 0;
  const struct {
    const char *place;
    bool many;
  } over[] = {{p->n, l->tiles_n > 1}, {p->y, l->tiles_y > 1}, {p->x, l->tiles_x > 1}};
  for (int i = 0; i < 3; i++)
    if (over[i].many) n += (size_t)snprintf(out + n, size - n, "%s%s == 0", n ? " && " : "", over[i].place);
}

/* Which columns of a chunk are pixels; the first column is a_first. */
static void set_padding(gm_conv_emitter *e) {
  const gm_conv_layout *l = e->layout;
  char columns[32], before[48] = "-a_first";
  chunk_columns_text(e, columns, sizeof columns);
  if (l->dx > 1) snprintf(before, sizeof before, "(%d - a_first) / %d", l->dx - 1, l->dx);
  LINE("a_begin = a_first < 0 ? MIN(%s, %s) : 0;", columns, before);
  LINE("a_end = MIN(%s, MAX(a_begin, (%d - a_first + %d) / %d));", columns, e->v->w, l->dx - 1, l->dx);
}

static void set_a(gm_conv_emitter *e, const gm_conv_place *p) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  char condition[128], slot[128], row[160], column[160], text[256];
  condition_text(e, 'a', p, condition, sizeof condition);
  gm_conv_chunk_text(l, "a_load", slot, sizeof slot);
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
  LINE("%sa_first = %s * %d - %d;%s", pads(e) ? "" : "const long ", column, v->stride, v->pad,
       pads(e) ? "" : " /* column of the input */");
  LINE("a_from = (uint64_t)input + (((%s * %dL + %s) * %d + a_first) * %d + %s * %d) * %d;", p->n, v->h, row, v->w,
       v->c, p->c, e->config->dim, v->input_bytes);
  LINE("a_to = %s;", slot);
  if (gm_conv_fixed_rows(e)) {
    LINE("a_left = %d;", gm_conv_fixed_rows(e));
  } else {
    char taps[64];
    gm_conv_rows_text(e, p->y, text, sizeof text);
    gm_conv_left_text(e->plan->tile_r, v->r, p->r, taps, sizeof taps);
    LINE("a_left = (%s - 1) * %d + %s;", text, l->row_step, taps);
  }
  if (!gm_conv_fixed_columns(e)) {
    gm_conv_columns_text(e, p->x, text, sizeof text);
    LINE("a_columns = (%s - 1) * %d + %d;", text, l->a_stride, v->s + e->plan->pack - 1);
  }
  if (pads(e)) set_padding(e);
  if (!fixed_c(e)) {
    gm_conv_channels_text(e, e->plan->tile_c, v->c, p->c, text, sizeof text);
    LINE("a_channels = %s;", text);
  }
  gm_next_load(&e->out, 'a', l->a.slots);
  if (*condition) LINE("}");
}

/* The mvins of `columns` columns from column `at`: all channels. */
static void load_columns(gm_conv_emitter *e, const char *from, const char *at, const char *columns) {
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, step = gm_min(e->plan->levers.a.width, e->plan->tile_c) * d, bytes = e->v->input_bytes;
  const bool zeros = strcmp(from, "0") == 0;
  char to[96], more[96];
  const int channels = fixed_c(e);
  if (channels) {
    for (int x = 0; x < channels; x += step) {
      snprintf(to, sizeof to, "a_to + %s + %d", at, x / d * l->a_channels);
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
    snprintf(more, sizeof more, "%s + i * %d", from, bytes);
  LINE("for (int i = 0; i < a_channels; i += %d) mvin2(%s, a_to + %s + i / %d * %d, MIN(%d, a_channels - i), %s);",
       step, more, at, d, l->a_channels, step, columns);
}

/* A unit with padding: zeros before the pixels, the pixels, zeros after them. */
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

/* After the last row of an image of the chunk. */
static void next_image(gm_conv_emitter *e, long row) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  if (e->plan->tile_n == 1) return;
  LINE("if (a_left %% %d == 0) { /* on to the next image */", l->image_h);
  LINE("a_from += %ldL;", (long)v->h * v->w * v->c * v->input_bytes - l->image_h * row);
  if (pads(e)) LINE("a_row -= %d;", l->image_h * l->dy);
  LINE("}");
}

/* After the last row of a plane: back to the first image, whose pixels in the next plane are one to the right. */
static void next_plane(gm_conv_emitter *e, long row) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const bool many = e->plan->tile_n > 1;
  const long pixel = (long)v->c * v->input_bytes;
  if (l->planes == 1) return;
  LINE("if (a_left %% %d == 0) { /* on to the next column of the kernel */", l->chunk_h);
  LINE("a_from -= %ldL;", (many ? (long)e->plan->tile_n * v->h * v->w * pixel : l->chunk_h * row) - pixel);
  if (pads(e)) {
    if (!many) LINE("a_row -= %d;", l->chunk_h * l->dy);
    LINE("a_first++;");
    set_padding(e);
  }
  LINE("}");
}

static void unit_a(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim;
  const long pixel = (long)v->c * l->dx * v->input_bytes, row = (long)v->w * v->c * l->dy * v->input_bytes;
  char columns[32], end[96], from[64];
  chunk_columns_text(e, columns, sizeof columns);
  const bool one = gm_conv_fixed_columns(e) && l->chunk_w <= d;
  snprintf(end, sizeof end, one ? "%s" : "MIN(a_column + %2$d, %1$s)", columns, d);
  if (pads(e)) {
    load_padded(e, end);
  } else {
    if (!one) LINE("const int wide = MIN(%d, %s - a_column);", d, columns);
    snprintf(from, sizeof from, one ? "a_from" : "a_from + a_column * %ldL", pixel);
    load_columns(e, from, one ? "0" : "a_column", one ? columns : "wide");
  }
  if (!one) {
    LINE("if ((a_column += %d) >= %s) {", d, columns);
    LINE("a_column = 0;");
  }
  if (pads(e)) LINE("a_row += %d;", l->dy);
  LINE("a_from += %ldL; a_to += %d; a_left--;", row, l->a_row);
  next_image(e, row);
  next_plane(e, row);
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
  const weights w = weights_of(e);
  if (plan->pack > 1)
    snprintf(blocks_c, sizeof blocks_c, "%d", w.blocks);
  else
    gm_conv_left_text(plan->tile_c, v->cb, p->c, blocks_c, sizeof blocks_c);
  gm_conv_left_text(plan->tile_k, v->kb, p->k, blocks_k, sizeof blocks_k);
  if (*condition) LINE("if (%s) {", condition);
  LINE("b_to = %s;", slot);
  if (v->transposed) {
    LINE("b_from = (uint64_t)weights + ((%s * %dL + %s * %d) * %d + %s * %d) * %d;", p->k, d * v->r * v->s, p->r, v->s,
         v->c, p->c, d, v->input_bytes);
    LINE("b_left = %s * %s * %d;", blocks_k, taps, v->s);
    if (inner_b(e)) LINE("b_inner = 0; b_inner_end = %s * %d;", taps, v->s);
    gm_conv_channels_text(e, plan->tile_c, v->c, p->c, columns, sizeof columns);
    if (!fixed_c(e)) LINE("b_columns = %s;", columns);
    if (v->k % d) LINE("b_last = %s + %s == %d ? %d : %d;", p->k, blocks_k, v->kb, v->k % d, d);
  } else {
    LINE("b_from = (uint64_t)weights + ((%s * %dL + %s * %d) * %d + %s * %d) * %d;", p->r, v->s * v->c, p->c, d, v->k,
         p->k, d, v->input_bytes);
    LINE("b_left = %s * %d * %s;", taps, w.taps, blocks_c);
    if (inner_b(e)) LINE("b_inner = 0; b_inner_end = %s;", blocks_c);
    gm_conv_channels_text(e, plan->tile_k, v->k, p->k, columns, sizeof columns);
    if (!fixed_k(e)) LINE("b_columns = %s;", columns);
    if (w.depth % w.high && plan->pack > 1)
      LINE("b_last = %d;", w.depth % w.high);
    else if (w.depth % w.high)
      LINE("b_last = %s + %s == %d ? %d : %d;", p->c, blocks_c, v->cb, v->c % d, d);
  }
  gm_next_load(&e->out, 'b', l->b.slots);
  if (*condition) LINE("}");
}

/* Rows of weights of the next unit. A transposed chunk ends with the last block of k, other chunks with the last
 * block of c. */
static void b_rows_text(const gm_conv_emitter *e, char *out, size_t size) {
  const gm_conv *v = e->v;
  const weights w = weights_of(e);
  const int d = e->config->dim;
  if (v->transposed && v->k % d) /* the units of the last block of k are the last ones */
    snprintf(out, size, inner_b(e) ? "b_left <= b_inner_end ? b_last : %d" : "b_left <= %2$d ? b_last : %1$d", d,
             v->r * v->s);
  else if (!v->transposed && w.depth % w.high)
    snprintf(out, size, "b_inner + 1 == b_inner_end ? b_last : %d", w.high);
  else
    snprintf(out, size, "%d", w.high);
}

static void unit_b(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_plan *plan = e->plan;
  const int d = e->config->dim, bytes = v->input_bytes;
  const int columns = (v->transposed ? plan->tile_c : plan->tile_k) * d,
            step = gm_min(plan->levers.b.width * d, columns);
  const int fixed = v->transposed ? fixed_c(e) : fixed_k(e);
  char rows[96];
  b_rows_text(e, rows, sizeof rows);
  if (fixed)
    for (int x = 0; x < fixed; x += step)
      LINE("mvin3(b_from + %d, b_to + %d, %d, %s);", x * bytes, x, gm_min(step, fixed - x), rows);
  else
    LINE("for (int i = 0; i < b_columns; i += %d) mvin3(b_from + i * %d, b_to + i, MIN(%d, b_columns - i), %s);", step,
         bytes, step, rows);
  if (v->transposed) {
    /* taps of a block of k are consecutive; its next rows follow all taps and channels */
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
  const weights w = weights_of(e);
  LINE("b_from += %ldL; b_to += %d; b_left--;", (long)w.high * v->k * bytes, columns);
  if (inner_b(e)) {
    LINE("if (++b_inner == b_inner_end) {");
    LINE("b_from += (%ldL - b_inner * %d) * %ldL; b_to += (%d - b_inner) * %d; b_inner = 0;", (long)w.depth, w.high,
         (long)v->k * bytes, w.blocks, columns);
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

/* The next tile is filled among the loads, after these are issued and the tile that was there is stored. An earlier
 * fill would wait in the load queue for the last stores, and loads after it would wait, too. */
void gm_conv_emit_some_loads(gm_conv_emitter *e) {
  LINE("if (a_left > 0) {");
  unit_a(e);
  LINE("} else if (b_left > 0) {");
  unit_b(e);
  if (gm_fills_ahead(&e->plan->levers)) {
    LINE("} else if (d_left > 0 && c_left == 0) {");
    gm_conv_emit_fill_unit(e);
  }
  LINE("}");
}
