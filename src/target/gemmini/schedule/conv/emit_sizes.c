/* emit_sizes.c - sizes of tiles and chunks as C expressions, or as constants if they never vary. */
#include "target/gemmini/schedule/conv/emit.h"

#include <stdio.h>
#include <string.h>

void gm_conv_left_text(int tile, int length, const char *place, char *out, size_t size) {
  if (length % tile == 0)
    snprintf(out, size, "%d", tile);
  else if (length < tile)
    snprintf(out, size, "%d", length);
  else
    snprintf(out, size, "MIN(%d, %d - %s)", tile, length, place);
}

void gm_conv_first_text(const gm_conv *v, const char *place, char *out, size_t size) {
  if (v->pool_pad)
    snprintf(out, size, "MAX(0, %s * %d - %d)", place, v->pool_stride, v->pool_pad);
  else if (v->pool_stride > 1)
    snprintf(out, size, "%s * %d", place, v->pool_stride);
  else
    snprintf(out, size, "%s", place);
}

/* For `tile` rows or columns of the output at `place`: the rows or columns of the convolution, of which there are
 * `length`. */
static void extent_text(const gm_conv *v, int tile, int out_length, int length, const char *place, char *out,
                        size_t size) {
  char left[64], first[96];
  gm_conv_left_text(tile, out_length, place, left, sizeof left);
  if (!v->pool) {
    snprintf(out, size, "%s", left);
    return;
  }
  gm_conv_first_text(v, place, first, sizeof first);
  snprintf(out, size, "MIN(%d, (%s + %s - 1) * %d + %d) - %s", length, place, left, v->pool_stride,
           v->pool - v->pool_pad, first);
}

void gm_conv_rows_text(const gm_conv_emitter *e, const char *place, char *out, size_t size) {
  if (e->layout->tiles_y == 1 || e->plan->unfold)
    snprintf(out, size, "%d", e->layout->rows);
  else
    extent_text(e->v, e->plan->tile_p, e->v->out_h, e->v->p, place, out, size);
}

void gm_conv_columns_text(const gm_conv_emitter *e, const char *place, char *out, size_t size) {
  if (e->layout->tiles_x == 1)
    snprintf(out, size, "%d", e->layout->columns);
  else
    extent_text(e->v, e->plan->tile_q, e->v->out_w, e->v->q, place, out, size);
}

int gm_conv_weights_high(const gm_conv_emitter *e) {
  return e->plan->pack > 1 ? e->plan->pack * e->v->c : e->config->dim;
}

void gm_conv_chunk_text(const gm_conv_layout *l, const char *slot, char *out, size_t size) {
  gm_slot_text(&l->a, slot, out, size);
  const size_t n = strlen(out);
  if (l->a_before) snprintf(out + n, size - n, " + %d", l->a_before);
}

int gm_conv_fixed_rows(const gm_conv_emitter *e) {
  const gm_conv *v = e->v;
  const bool whole = e->layout->tiles_y == 1, same = !v->pool && v->out_h % e->plan->tile_p == 0;
  return (whole || same) && v->r % e->plan->tile_r == 0 ? e->layout->planes * e->layout->chunk_h : 0;
}

bool gm_conv_fixed_columns(const gm_conv_emitter *e) {
  return e->layout->tiles_x == 1 || (!e->v->pool && e->v->out_w % e->plan->tile_q == 0);
}

int gm_conv_fixed_channels(const gm_conv_emitter *e, int tile, int length) {
  const int full = tile * e->config->dim;
  return length % full == 0 ? full : length < full ? length : 0;
}

void gm_conv_channels_text(const gm_conv_emitter *e, int tile, int length, const char *place, char *out, size_t size) {
  const int d = e->config->dim, fixed = gm_conv_fixed_channels(e, tile, length);
  if (fixed)
    snprintf(out, size, "%d", fixed);
  else
    snprintf(out, size, "MIN(%d, %d - %s * %d)", tile * d, length, place, d);
}
