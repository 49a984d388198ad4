/* floorplan.c - see floorplan.h. Rows of the picture are rows of the array, the topmost compute row first. */
#include "target/xdna2/array/floorplan.h"

#include <inttypes.h>
#include <string.h>

#include "base/strings.h"

enum { TILE_W = 168, TILE_H = 118, GAP = 34, LEFT = 16, TOP = 54, BAR = 12, LINES = 7 };

static const char *const colour[] = {"#3b6fb6", "#e08a2e", "#1d9a6c", "#8a5bb5", "#c0392b", "#6b7a8f"};

/* The colour of a name, by its first letter: one for A, one for B, one for C, one for all other names. */
static const char *colour_of(const char *name) {
  const int letter = name[0] | 0x20;
  return letter >= 'a' && letter <= 'c' ? colour[letter - 'a'] : colour[3 + letter % 3];
}

typedef struct corner {
  int x, y;
} corner;

static corner corner_of(const xd_config *c, xd_place t) {
  return (corner){LEFT + t.column * (TILE_W + GAP), TOP + (c->rows + 1 - t.row) * (TILE_H + GAP)};
}

/* ---- tiles ---- */

static int64_t size_of(const xd_config *c, xd_place t) {
  return xd_kind_of(t) == XD_COMPUTE ? c->l1_bytes : xd_kind_of(t) == XD_MEMORY ? c->l2_bytes : 0;
}

static void draw_buffers(const xd_config *c, const xd_program *p, xd_place t, tw_text *s) {
  const corner at = corner_of(c, t);
  const int64_t size = size_of(c, t);
  int64_t used = 0;
  int line = 0;
  for (size_t i = 0; size && i < p->buffers.n; i++) {
    const xd_buffer *b = &p->buffers.at[i];
    if (b->external || !xd_same_place(b->tile, t)) continue;
    tw_text_add(s,
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" stroke=\"#fff\" "
                "stroke-width=\".5\"><title>%s: %" PRId64 " bytes</title></rect>\n",
                at.x + 6 + (double)used / (double)size * (TILE_W - 12), at.y + 22,
                (double)b->bytes / (double)size * (TILE_W - 12), BAR, colour_of(b->name), b->name, b->bytes);
    if (line < LINES)
      tw_text_add(s, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s <tspan fill=\"#555\">%" PRId64 "</tspan></text>\n",
                  at.x + 6, at.y + 45 + 10 * line, colour_of(b->name), b->name, b->bytes);
    line++;
    used += b->bytes;
  }
  if (line > LINES)
    tw_text_add(s, "<text x=\"%d\" y=\"%d\" fill=\"#555\">and %d more</text>\n", at.x + 6, at.y + 45 + 10 * LINES,
                line - LINES);
  if (size)
    tw_text_add(s, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#555\">%.1f of %" PRId64 " KiB</text>\n",
                at.x + TILE_W - 6, at.y + 14, (double)used / 1024, size >> 10);
}

static void draw_tile(const xd_config *c, const xd_program *p, xd_place t, tw_text *s) {
  static const char *const fill[] = {"#f3eee6", "#e9eef6", "#f7f7f7"};
  const corner at = corner_of(c, t);
  tw_text_add(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" stroke=\"#999\"/>\n", at.x,
              at.y, TILE_W, TILE_H, fill[xd_kind_of(t)]);
  tw_text_add(s, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", at.x + 6, at.y + 14,
              xd_place_label(t).text);
  if (size_of(c, t))
    tw_text_add(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#ddd\"/>\n", at.x + 6, at.y + 22,
                TILE_W - 12, BAR);
  draw_buffers(c, p, t, s);
}

/* ---- circuits ---- */

static const char *name_of(const xd_program *p, int route) {
  for (size_t i = 0; i < p->fifos.n; i++)
    if (p->fifos.at[i].source == p->routes.at[route].source) return p->fifos.at[i].name;
  return "circuit";
}

/* The link's number among the links that leave the same tile in the same or the opposite direction. */
static int lane_of(const xd_program *p, int step) {
  const xd_step *s = &p->steps.at[step];
  int lane = 0;
  for (int i = 0; i < step; i++) {
    const xd_step *o = &p->steps.at[i];
    lane += (xd_same_place(o->from, s->from) && xd_same_place(o->to, s->to)) ||
            (xd_same_place(o->from, s->to) && xd_same_place(o->to, s->from));
  }
  return lane;
}

/* Links are in the gaps between tiles, side by side, with the arrow at their end. */
static void draw_step(const xd_config *c, const xd_program *p, int route, int step, tw_text *s) {
  const xd_step *link = &p->steps.at[step];
  const corner a = corner_of(c, link->from), b = corner_of(c, link->to);
  const int lane = lane_of(p, step);
  const bool vertical = link->from.column == link->to.column;
  int x1, y1, x2, y2;
  if (vertical) {
    x1 = x2 = a.x + 14 + 12 * lane;
    y1 = a.y > b.y ? a.y : a.y + TILE_H;
    y2 = a.y > b.y ? b.y + TILE_H : b.y;
  } else {
    y1 = y2 = a.y + 14 + 12 * lane;
    x1 = a.x > b.x ? a.x : a.x + TILE_W;
    x2 = a.x > b.x ? b.x + TILE_W : b.x;
  }
  const xd_route *r = &p->routes.at[route];
  const char *name = name_of(p, route);
  tw_text_add(s,
              "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\" "
              "marker-end=\"url(#%c)\"><title>%s: %s to %d %s</title></line>\n",
              x1, y1, x2, y2, colour_of(name),
              "abc"[(name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'c' ? (name[0] | 0x20) - 'a' : 0], name,
              xd_channel_label(&p->channels.at[r->source]).text, r->n_sinks, r->n_sinks == 1 ? "sink" : "sinks");
}

char *xd_floorplan(const xd_config *c, const xd_program *p, const char *title) {
  tw_text s = {0};
  const int width = 2 * LEFT + c->columns * (TILE_W + GAP) - GAP, height = TOP + (c->rows + 2) * (TILE_H + GAP);
  tw_text_add(
      &s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"9\">\n",
      width, height);
  tw_text_add_string(&s, "<defs>\n");
  for (int i = 0; i < 3; i++)
    tw_text_add(&s,
                "<marker id=\"%c\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"4\" markerHeight=\"4\" "
                "orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" fill=\"%s\"/></marker>\n",
                "abc"[i], colour[i]);
  tw_text_add(&s, "</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
  tw_text_add(&s, "<text x=\"%d\" y=\"22\" font-size=\"15\">%s</text>\n", LEFT, title);
  tw_text_add(&s,
              "<text x=\"%d\" y=\"40\" fill=\"#555\">%zu buffers, %zu locks, %zu channels, %zu circuits over %zu "
              "links; A blue, B orange, C green</text>\n",
              LEFT, p->buffers.n, p->locks.n, p->channels.n, p->routes.n, p->steps.n);
  for (int column = 0; column < c->columns; column++)
    for (int row = 0; row < c->rows + 2; row++) draw_tile(c, p, (xd_place){column, row}, &s);
  for (size_t r = 0; r < p->routes.n; r++)
    for (int i = 0; i < p->routes.at[r].n_steps; i++) draw_step(c, p, (int)r, p->routes.at[r].first_step + i, &s);
  tw_text_add_string(&s, "</svg>\n");
  return tw_text_take(&s);
}
