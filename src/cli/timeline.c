/* timeline.c - see timeline.h. A lane is a unit (`tid` of the trace); lanes have the trace's own order. Spans of one
 * unit that overlap are drawn in rows below each other, each in the first row that is free; when the rows run out,
 * over each other in the last; lanes without room are counted below. Spans that are too short to see are merged into
 * a bar that covers them: a picture has thousands of bars, a trace may have millions of spans. Numbers over time are
 * curves below the lanes (curve.h). The trace has one event a line, so only one is in memory as JSON. */
#include "cli/timeline.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json.h"
#include "base/strings.h"
#include "cli/curve.h"
#include "cli/html.h"

enum {
  LANES = 48, /* a compute unit of cdna has 42 */
  ROWS = 4,
  NAMES = 14,
  CURVES = 8,
  WIDTH = 1000,
  LEFT = 84,
  RIGHT = 30,
  LEGEND = 17,
  ROW = 14,
  GAP = 8,
  AXIS = 34,
  ZOOM = 4 /* a page can be enlarged, so its bars are merged only if they are shorter by this factor */
};
#define DIGIT 7.0 /* pixels: about the width of one */
/* pixels: shorter spans are merged into bars of about this width, or as long as the spans of one name */
#define SLIVER 2.0

typedef struct span {
  char lane[24], name[40];
  double from, to;
} span;

typedef struct bar {
  double from, to;
  double covered[NAMES]; /* time of each name */
  bool melted;           /* covers several spans and the gaps between them */
} bar;

typedef struct lane {
  char name[24];
  int rows;
  double free_at[ROWS]; /* end of the last span in each row, melted or not */
  bar last[ROWS];       /* not yet written */
  bool pending[ROWS];
} lane;

typedef struct picture {
  const cli_timeline *t;
  double zero, from, to, scale; /* all in the trace's time; scale: pixels per unit */
  int n_lanes, left_out;        /* left_out: lanes for which there was no room */
  lane lane[LANES];
  char name[NAMES][40]; /* of each colour; "": the colour is free. The last colour is for all further names. */
  bool drawn[NAMES];
  tw_text bars[LANES][ROWS], cells[LANES][ROWS][NAMES]; /* cells: merged bars, one path for each colour */
  int shown, top;                                       /* spans; pixels above the lanes */
  cli_curve curve[CURVES];
  int n_curves;
  bool is_data; /* bars are numbers of a JSON array, which a page draws */
} picture;

static const char *const colour[NAMES] = {"#3b6fb6", "#1d9a6c", "#e08a2e", "#8a5bb5", "#c0392b", "#5fb0c9", "#9aa53a",
                                          "#b5638c", "#6b7a8f", "#c9a27a", "#2f4858", "#7fc8a9", "#d9b310", "#999999"};

/* ---- the trace ---- */

typedef void on_span(void *context, const span *);

typedef struct reader {
  on_span *lane; /* called for every lane that the trace orders, before its spans; may be NULL */
  on_span *span;
  on_span *value; /* a value `to` that holds from time `from` on */
  void *context;
} reader;

static void text_field(const json_t *event, const char *key, char *out, size_t size) {
  const char *text = json_string_value(json_object_get(event, key));
  snprintf(out, size, "%s", text ? text : "");
}

static void read_event(const char *line, const reader *r) {
  json_t *event = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL); /* a comma may follow */
  const char *phase = json_string_value(json_object_get(event, "ph"));
  span s;
  text_field(event, "tid", s.lane, sizeof s.lane);
  text_field(event, "name", s.name, sizeof s.name);
  s.from = json_number_value(json_object_get(event, "ts"));
  s.to = s.from + json_number_value(json_object_get(event, "dur"));
  if (phase && strcmp(phase, "X") == 0) r->span(r->context, &s);
  if (phase && strcmp(phase, "C") == 0) {
    s.to = json_number_value(json_object_get(json_object_get(event, "args"), "value"));
    r->value(r->context, &s);
  }
  if (phase && strcmp(phase, "M") == 0 && strcmp(s.name, "thread_sort_index") == 0 && r->lane) r->lane(r->context, &s);
  json_decref(event);
}

static tw_status read_trace(const char *path, const reader *r, tw_error *error) {
  FILE *f = fopen(path, "r");
  if (!f) return tw_fail(error, TW_USAGE, "%s: %s", path, strerror(errno));
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, f) > 0)
    if (strncmp(line, "{\"name\"", 7) == 0) read_event(line, r);
  free(line);
  fclose(f);
  return TW_OK;
}

/* ---- first pass: the lanes ---- */

static int lane_of(picture *p, const char *name) {
  for (int i = 0; i < p->n_lanes; i++)
    if (strcmp(p->lane[i].name, name) == 0) return i;
  if (p->n_lanes == LANES) return -1;
  snprintf(p->lane[p->n_lanes].name, sizeof p->lane->name, "%s", name);
  return p->n_lanes++;
}

static int name_of(const picture *p, const char *name) {
  int i = 0;
  while (i < NAMES - 1 && strcmp(p->name[i], name) != 0) i++;
  return i;
}

/* First pass: collects the names of the whole run, in any order. */
static void note_name(picture *p, const char *name) {
  int i = 0;
  while (i < NAMES - 1 && *p->name[i] && strcmp(p->name[i], name) != 0) i++;
  snprintf(p->name[i], sizeof p->name[0], "%s", i < NAMES - 1 ? name : "others");
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

/* Gives each name a colour that depends on the name, not on its place in the run: pictures of two runs are compared. With
 * this factor, the 13 names of Gemmini have 13 colours in every run; other names may give way to each other. */
static void choose_colours(picture *p) {
  static const uint32_t FACTOR = 135535;
  char name[NAMES - 1][sizeof p->name[0]];
  memcpy(name, p->name, sizeof name);
  memset(p->name, 0, sizeof name);
  qsort(name, NAMES - 1, sizeof name[0], by_name);
  for (int i = 0; i < NAMES - 1; i++) {
    uint32_t slot = 0;
    for (const char *c = name[i]; *c; c++) slot = FACTOR * slot + (unsigned char)*c;
    while (*p->name[slot %= NAMES - 1]) slot++;
    if (*name[i]) memcpy(p->name[slot], name[i], sizeof name[i]);
  }
}

static void note_lane(void *context, const span *s) {
  picture *p = context;
  if (strcmp(s->lane, "kernel") != 0) p->left_out += lane_of(p, s->lane) < 0; /* the kernel's own span is the axis */
}

static void measure_span(void *context, const span *s) {
  picture *p = context;
  if (strcmp(s->name, "kernel") == 0) {
    p->zero = s->from;
    p->to = s->to;
  }
  if (s->to > p->from) p->from = s->to; /* here: the end of the last span */
  if (strcmp(s->name, "kernel") != 0) note_name(p, s->name);
}

/* NULL if there are too many. */
static cli_curve *curve_of(picture *p, const char *name) {
  int i = 0;
  while (i < p->n_curves && strcmp(p->curve[i].name, name) != 0) i++;
  if (i == CURVES) return NULL;
  cli_curve *c = &p->curve[i];
  if (i == p->n_curves) {
    snprintf(c->name, sizeof c->name, "%s", name);
    c->x = LEFT;
    p->n_curves++;
  }
  return c;
}

static void measure_value(void *context, const span *s) {
  cli_curve *c = curve_of(context, s->name);
  if (c) c->most = fmax(c->most, s->to);
}

static void set_window(picture *p) {
  double end = p->to > 0 ? p->to : p->from;
  p->from = p->zero + p->t->from;
  p->to = p->t->to > 0 && p->zero + p->t->to < end ? p->zero + p->t->to : end;
  p->scale = p->to > p->from ? (WIDTH - LEFT - RIGHT) / (p->to - p->from) : 0;
}

/* ---- second pass: bars ---- */

static double x_of(const picture *p, double time) { return LEFT + (time - p->from) * p->scale; }

/* The name shown on a bar: the one with most of its time. */
static int name_shown(const bar *b) {
  int most = 0;
  for (int i = 1; i < NAMES; i++)
    if (b->covered[i] > b->covered[most]) most = i;
  return most;
}

/* '@' is replaced by the bar's vertical position. */
static void flush_bar(picture *p, int l, int row) {
  lane *n = &p->lane[l];
  if (!n->pending[row]) return;
  const bar *b = &n->last[row];
  const int name = name_shown(b);
  double from = x_of(p, fmax(b->from, p->from)), to = x_of(p, fmin(b->to, p->to)), width = fmax(to - from - 0.3, 0.4);
  n->pending[row] = false;
  if (p->is_data)
    tw_text_add(&p->bars[l][row], "%s[%.6g,%.6g,%d,%d]", p->bars[l][row].length ? "," : "", b->from - p->zero,
                b->to - p->zero, name, b->melted);
  else if (b->melted)
    tw_text_add(&p->cells[l][row][name], "M%.1f @h%.1fv%dh-%.1fz", from, width, ROW - 2, width);
  else
    tw_text_add(&p->bars[l][row],
                "<rect x=\"%.1f\" y=\"@\" width=\"%.1f\" height=\"%d\" fill=\"%s\">"
                "<title>%s %.0f-%.0f</title></rect>\n",
                from, width, ROW - 2, colour[name], p->name[name], b->from - p->zero, b->to - p->zero);
}

static bool is_sliver(const picture *p, double time) { return time * p->scale < SLIVER; }

static void draw_span(void *context, const span *s) {
  picture *p = context;
  if (s->to <= p->from || s->from >= p->to || strcmp(s->name, "kernel") == 0) return;
  int l = lane_of(p, s->lane), row = 0;
  if (l < 0) return;
  lane *n = &p->lane[l];
  while (row < ROWS - 1 && row < n->rows && n->free_at[row] > s->from) row++;
  if (row == n->rows) n->rows++;
  bar *b = &n->last[row];
  const int name = name_of(p, s->name);
  p->drawn[name] = true;
  if (n->pending[row] && is_sliver(p, s->to - s->from) && is_sliver(p, s->from - b->to) &&
      (is_sliver(p, b->to - b->from) || (b->melted && name_shown(b) == name))) {
    b->to = fmax(b->to, s->to);
    b->melted = true;
  } else {
    flush_bar(p, l, row);
    *b = (bar){.from = s->from, .to = s->to};
    n->pending[row] = true;
  }
  b->covered[name] += fmax(s->to - s->from, 1e-9); /* makes a span without length visible */
  n->free_at[row] = fmax(n->free_at[row], s->to);
  p->shown++;
}

static void draw_value(void *context, const span *s) {
  picture *p = context;
  cli_curve *c = curve_of(p, s->name);
  if (c && s->from < p->from)
    c->value = c->low = c->high = s->to;
  else if (c && s->from <= p->to)
    cli_curve_step(c, x_of(p, s->from), s->to);
}

/* ---- the page ---- */

static int lane_top(const picture *p, int l) {
  int y = p->top;
  for (int i = 0; i < l; i++) y += ROW * p->lane[i].rows + GAP;
  return y;
}

static double round_step(double least) {
  double power = pow(10, floor(log10(least)));
  return least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}

static void add_axis(tw_text *out, const picture *p, int bottom) {
  double step = fmax(round_step((p->to - p->from) / 10), 1);
  for (double at = ceil((p->from - p->zero) / step) * step; p->zero + at <= p->to; at += step) {
    double x = x_of(p, p->zero + at);
    tw_text_add(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#d5d9e0\"/>", x, p->top - 4, x,
                bottom);
    char label[32];
    const int length = snprintf(label, sizeof label, "%.0f", at);
    const bool fits = x + DIGIT * length / 2 < WIDTH;
    tw_text_add(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", fits ? x : WIDTH - 1, bottom + 15,
                fits ? "middle" : "end", label);
  }
  tw_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT, bottom + 29);
  html_text(out, p->t->unit);
  tw_text_add_string(out, "</text>\n");
}

/* Adds only names that are visible, in as many lines as necessary. */
static int add_legend(tw_text *out, const picture *p) {
  double x = LEFT;
  int y = 25;
  for (int i = 0; i < NAMES; i++) {
    if (!p->drawn[i]) continue;
    double width = 28 + 6.6 * (double)strlen(p->name[i]);
    if (x + width > WIDTH) {
      x = LEFT;
      y += LEGEND;
    }
    tw_text_add(out, "<rect x=\"%.0f\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%.0f\" y=\"%d\">", x,
                y, colour[i], x + 14, y + 9);
    html_text(out, p->name[i]);
    tw_text_add_string(out, "</text>\n");
    x += width;
  }
  return y + LEGEND;
}

/* Bars lack only their vertical position: '@' is its placeholder. */
static void add_row(tw_text *out, tw_text *bars, int y) {
  char *text = tw_text_take(bars);
  if (!text) {
    out->failed = true;
    return;
  }
  for (const char *at = text, *next; *at; at = next) {
    const char *mark = strchr(at, '@');
    next = mark ? mark + 1 : at + strlen(at);
    tw_text_add_bytes(out, at, (size_t)((mark ? mark : next) - at));
    if (mark) tw_text_add(out, "%d", y);
  }
  free(text);
}

static void add_cells(tw_text *out, picture *p, int l, int row, int y) {
  for (int i = 0; i < NAMES; i++) {
    tw_text *cells = &p->cells[l][row][i];
    if (!cells->length && !cells->failed) continue;
    tw_text_add(out, "<path fill=\"%s\" fill-opacity=\".7\" d=\"", colour[i]);
    add_row(out, cells, y);
    tw_text_add_string(out, "\"/>\n");
  }
}

static char *svg_of(picture *p) {
  tw_text out = {0}, legend = {0};
  p->top = add_legend(&legend, p) + 6;
  const int curves = lane_top(p, p->n_lanes), bottom = curves + p->n_curves * CLI_CURVE_HEIGHT;
  tw_text_add(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH,
              bottom + AXIS);
  tw_text_add_string(&out, "<style>text{font:12px system-ui,sans-serif;fill:#1c2330}</style>\n"
                           "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  tw_text_add(&out, "<text x=\"%d\" y=\"15\" font-weight=\"bold\">", LEFT);
  html_text(&out, p->t->title);
  tw_text_add_string(&out, "</text>\n");
  tw_text_add_bytes(&out, legend.data, legend.length);
  out.failed |= legend.failed;
  tw_text_free(&legend);
  add_axis(&out, p, bottom);
  if (p->left_out)
    tw_text_add(&out, "<text x=\"%d\" y=\"%d\">and %d more rows, which the trace has</text>\n", LEFT, bottom + 29,
                p->left_out);
  for (int l = 0; l < p->n_lanes; l++) {
    int y = lane_top(p, l);
    tw_text_add(&out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, y + ROW - 4);
    html_text(&out, p->lane[l].name);
    tw_text_add_string(&out, "</text>\n");
    for (int row = 0; row < p->lane[l].rows; row++) {
      flush_bar(p, l, row);
      add_cells(&out, p, l, row, y + ROW * row);
      add_row(&out, &p->bars[l][row], y + ROW * row);
    }
  }
  for (int i = 0; i < p->n_curves; i++)
    cli_curve_draw(&p->curve[i], &out, curves + i * CLI_CURVE_HEIGHT, LEFT, x_of(p, p->to));
  tw_text_add_string(&out, "</svg>\n");
  return tw_text_take(&out);
}

static void picture_free(picture *p) {
  for (int i = 0; i < p->n_curves; i++) cli_curve_free(&p->curve[i]);
  for (int l = 0; l < LANES; l++)
    for (int row = 0; row < ROWS; row++) {
      tw_text_free(&p->bars[l][row]);
      for (int i = 0; i < NAMES; i++) tw_text_free(&p->cells[l][row][i]);
    }
  free(p);
}

/* {"unit": ..., "from": ..., "to": ..., "names": [...], "left_out": N, "lanes": [{"name": ..., "rows": [[[from, to, name,
 * melted], ...]]}]}. "names" has "" for a colour without a name. */
static char *data_of(picture *p) {
  json_t *object = json_object(), *names = json_array(), *lanes = json_array();
  for (int l = 0; l < p->n_lanes; l++) {
    json_t *one = json_object(), *rows = json_array();
    json_object_set_new(one, "name", tw_json_text(p->lane[l].name));
    for (int row = 0; row < p->lane[l].rows; row++) {
      flush_bar(p, l, row);
      tw_text text = {0};
      tw_text_add_string(&text, "[");
      tw_text_add_bytes(&text, p->bars[l][row].data, p->bars[l][row].length);
      tw_text_add_string(&text, "]");
      json_array_append_new(rows, text.failed ? json_array() : json_loads(text.data, 0, NULL));
      tw_text_free(&text);
    }
    json_object_set_new(one, "rows", rows);
    json_array_append_new(lanes, one);
  }
  for (int i = 0; i < NAMES; i++) json_array_append_new(names, tw_json_text(p->drawn[i] ? p->name[i] : ""));
  json_object_set_new(object, "unit", tw_json_text(p->t->unit));
  json_object_set_new(object, "from", json_real(p->from - p->zero));
  json_object_set_new(object, "to", json_real(p->to - p->zero));
  json_object_set_new(object, "left_out", json_integer(p->left_out));
  json_object_set_new(object, "names", names);
  json_object_set_new(object, "lanes", lanes);
  char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(object);
  return text;
}

static tw_status write_picture(const cli_timeline *t, const char *trace, const char *path, bool is_data,
                               tw_error *error) {
  picture *p = tw_new(1, sizeof *p);
  if (!p) return tw_no_memory(error, "the timeline");
  p->t = t;
  p->is_data = is_data;
  tw_status status = read_trace(trace, &(reader){note_lane, measure_span, measure_value, p}, error);
  set_window(p);
  choose_colours(p);
  if (is_data) p->scale *= ZOOM;
  if (status == TW_OK && p->scale > 0) status = read_trace(trace, &(reader){NULL, draw_span, draw_value, p}, error);
  if (status == TW_OK && !p->shown && t->to > 0)
    status = tw_fail(error, TW_USAGE, "the run has nothing to draw between %s %.0f and %.0f; choose another --window",
                     t->unit, t->from, t->to);
  char *text = status != TW_OK ? NULL : is_data ? data_of(p) : svg_of(p);
  if (status == TW_OK && !text) status = tw_no_memory(error, "the timeline");
  if (text) status = tw_file_write(path, text, strlen(text), error);
  free(text);
  picture_free(p);
  return status;
}

tw_status cli_timeline_write(const cli_timeline *t, const char *trace, const char *svg, tw_error *error) {
  return write_picture(t, trace, svg, false, error);
}

tw_status cli_timeline_write_data(const cli_timeline *t, const char *trace, const char *json, tw_error *error) {
  return write_picture(t, trace, json, true, error);
}

tw_status cli_timeline_window(const char *text, cli_timeline *t, tw_error *error) {
  char first[32];
  const char *colon = strchr(text, ':');
  int64_t from, to;
  size_t length = colon ? (size_t)(colon - text) : 0;
  snprintf(first, sizeof first, "%.*s", (int)(length < sizeof first ? length : sizeof first - 1), text);
  if (!colon || length >= sizeof first || !tw_parse_int(first, &from) || !tw_parse_int(colon + 1, &to) || from < 0 ||
      to <= from)
    return tw_fail(error, TW_USAGE, "--window %s: expected FROM:TO, counted from the kernel's start, as in 0:2000",
                   text);
  t->from = (double)from;
  t->to = (double)to;
  return TW_OK;
}
