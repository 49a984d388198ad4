/* emit_stores.c - mvouts of the output, mvins of bias or zeros into the accumulator; see emit_loads.c. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>

/* Channels of every tile if the number never varies, otherwise 0. */
static int fixed_k(const gm_conv_emitter *e) { return gm_conv_fixed_channels(e, e->plan->tile_k, e->v->k); }

void gm_conv_emit_store_variables(gm_conv_emitter *e) {
  LINE("uint64_t c_to = 0, c_from = 0;");
  LINE("int c_left = 0;");
  if (!e->v->pool) LINE("int c_column = 0, c_columns = 0; /* of the row of the tile that is stored */");
  if (!fixed_k(e)) LINE("int c_channels = 0;");
  if (e->plan->levers.overwrite) return;
  LINE("uint64_t d_from = 0, d_to = 0;");
  LINE("int d_left = 0;");
  if (!fixed_k(e)) LINE("int d_channels = 0;");
}

/* ---- the output ---- */

/* With pooling: configures the shape of the tile, then stores a block of k with one command. */
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
  if (!fixed_k(e)) {
    gm_conv_channels_text(e, e->plan->tile_k, v->k, "k", text, sizeof text);
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
  if (v->k % d == 0)
    LINE("mvout(c_to, c_from, %d, 1);", d);
  else if (fixed_k(e))
    LINE("mvout(c_to, c_from, c_left == 1 ? %d : %d, 1);", v->k % d, d);
  else
    LINE("mvout(c_to, c_from, MIN(%d, c_channels), 1); c_channels -= %d;", d, d);
  LINE("c_to += %d; c_from += %d; c_left--;", d * v->output_bytes, e->layout->c_plane);
}

static void unit_c(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim, columns = e->plan->tile_k * d, step = gm_min(e->plan->levers.store_width * d, columns);
  const long pixel = (long)v->k * v->output_bytes;
  if (v->pool) {
    unit_pooled(e);
    return;
  }
  /* the first block of a row has the remainder of the full blocks */
  LINE("const int height = c_column ? %d : (c_columns - 1) %% %d + 1;", l->block, l->block);
  const int fixed = fixed_k(e);
  if (fixed)
    for (int x = 0; x < fixed; x += step)
      LINE("mvout(c_to + %d, c_from + %d, %d, height);", x * v->output_bytes, x, gm_min(step, fixed - x));
  else
    LINE("for (int i = 0; i < c_channels; i += %d) mvout(c_to + i * %d, c_from + i, MIN(%d, c_channels - i), height);",
         step, v->output_bytes, step);
  LINE("c_to += height * %ldL; c_from += %d;", pixel, l->c_block);
  LINE("if ((c_column += height) == c_columns) {");
  if (l->tiles_x > 1) LINE("c_to += (%d - c_columns) * %ldL;", v->out_w, pixel);
  LINE("c_column = 0; c_left--;");
  if (!gm_conv_fixed_columns(e))
    LINE("c_from += (%d - (c_columns + %d) / %d) * %d;", l->blocks, l->block - 1, l->block, l->c_block);
  LINE("}");
}

void gm_conv_emit_all_stores(gm_conv_emitter *e) {
  LINE("while (c_left > 0) {");
  unit_c(e);
  LINE("}");
}

/* ---- bias or zeros ---- */

/* Fills the whole buffer, even if the tile needs less. */
void gm_conv_emit_set_fill(gm_conv_emitter *e, const char *buffer, const char *k) {
  const gm_conv *v = e->v;
  const int d = e->config->dim;
  char text[128];
  if (v->bias) LINE("d_from = (uint64_t)bias + (%s) * %d;", k, d * v->acc_bytes);
  LINE("d_to = %s;", buffer);
  LINE("d_left = %d;", v->pool ? gm_ceil_div(e->layout->c_plane, d) : e->layout->rows * e->layout->blocks);
  if (!fixed_k(e)) {
    char place[96];
    snprintf(place, sizeof place, "(%s)", k);
    gm_conv_channels_text(e, e->plan->tile_k, v->k, place, text, sizeof text);
    LINE("d_channels = %s;", text);
  }
}

void gm_conv_emit_fill_unit(gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const gm_conv_layout *l = e->layout;
  const int d = e->config->dim;
  char rows[64], end[32];
  if (v->pool && l->c_plane % d)
    snprintf(rows, sizeof rows, "d_left == 1 ? %d : %d", l->c_plane % d, d);
  else
    snprintf(rows, sizeof rows, "%d", d);
  const int fixed = fixed_k(e);
  if (fixed)
    snprintf(end, sizeof end, "%d", fixed);
  else
    snprintf(end, sizeof end, "d_channels");
  char from[48] = "0", width[64];
  if (v->bias) snprintf(from, sizeof from, "d_from + i * %d", v->acc_bytes);
  if (v->k % d)
    snprintf(width, sizeof width, "MIN(%d, %s - i)", d, end);
  else
    snprintf(width, sizeof width, "%d", d);
  LINE("for (int i = 0; i < %s; i += %d) mvin(%s, d_to + i / %d * %d, %s, %s);", end, d, from, d, l->c_plane, width,
       rows);
  LINE("d_to += %d; d_left--;", v->pool ? d : l->c_block);
}

void gm_conv_emit_all_fill(gm_conv_emitter *e) {
  LINE("while (d_left > 0) {");
  gm_conv_emit_fill_unit(e);
  LINE("}");
}

void gm_conv_emit_some_stores(gm_conv_emitter *e) {
  LINE("if (c_left > 0) {");
  unit_c(e);
  if (gm_fills_ahead(&e->plan->levers) && e->plan->levers.spread_loads == 0) {
    LINE("} else if (d_left > 0) {");
    gm_conv_emit_fill_unit(e);
  }
  LINE("}");
}
