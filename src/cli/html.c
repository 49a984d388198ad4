/* html.c - see html.h. No scripts, no fonts, nothing from elsewhere: the page can be mailed. */
#include "cli/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#1c2330}"
    "h1{font-size:1.35em}h2{font-size:1.1em;margin-top:2em}pre{background:#f4f5f7;padding:1em;overflow:auto;font-size:"
    "12.5px}"
    "table{border-collapse:collapse}td,th{padding:.25em .9em .25em 0;text-align:left;vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.why{color:#5a6372}"
    ".big{display:flex;gap:2.5em;flex-wrap:wrap;margin:1em 0}.big b{display:block;font-size:1.7em}"
    "svg text{font:12.5px system-ui,sans-serif;fill:#1c2330}summary{cursor:pointer;margin:.6em 0}";

void html_text(tw_text *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<': tw_text_add_string(out, "&lt;"); break;
    case '>': tw_text_add_string(out, "&gt;"); break;
    case '&': tw_text_add_string(out, "&amp;"); break;
    case '"': tw_text_add_string(out, "&quot;"); break;
    default: tw_text_add_bytes(out, text, 1);
    }
  }
}

void html_head(tw_text *out, const char *title) {
  tw_text_add_string(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  html_text(out, title);
  tw_text_add(out, "</title><style>%s</style></head>\n<body><h1>", style);
  html_text(out, title);
  tw_text_add_string(out, "</h1>\n");
}

void html_foot(tw_text *out) { tw_text_add_string(out, "</body></html>\n"); }

void html_source(tw_text *out, const char *title, const char *source) {
  if (!source || !*source) return;
  tw_text_add_string(out, "<details><summary>");
  html_text(out, title);
  tw_text_add_string(out, "</summary><pre>");
  html_text(out, source);
  tw_text_add_string(out, "</pre></details>\n");
}

enum { WIDTH = 900, LABEL = 300, LETTERS = 44, BAR_WIDTH = 440, ROW = 26, TOP = 22 };

/* How many bytes of a label are shown: up to `most` letters, and no part of one. */
static size_t shown(const char *label, size_t most) {
  size_t i = 0;
  for (size_t letters = 0; label[i]; i++)
    if (((unsigned char)label[i] & 0xc0) != 0x80 && letters++ == most) break;
  return i;
}

static void add_bar(tw_text *out, const html_bar *bar, int y) {
  double share = isfinite(bar->share) ? fmin(fmax(bar->share, 0), 1) : 0;
  tw_text_add(out, "<g><title>");
  html_text(out, bar->label);
  tw_text_add_string(out, bar->note && *bar->note ? "\n" : "");
  html_text(out, bar->note ? bar->note : "");
  /* A label begins at the left and ends before the bar: what does not fit is in the title, which browsers show on
   * hovering. However wide the letters, the picture in the picture cuts them off on the right alone. */
  tw_text_add(out, "</title><svg x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"><text x=\"0\" y=\"17\">", y, LABEL - 8,
              ROW);
  const size_t n = shown(bar->label, LETTERS);
  char *label = strndup(bar->label, n);
  html_text(out, label ? label : "");
  free(label);
  tw_text_add(out, "%s</text></svg><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#3b6fb6\"/>",
              bar->label[n] ? "…" : "", LABEL, y + 4, share * BAR_WIDTH, ROW - 8);
  tw_text_add(out, "<text x=\"%.1f\" y=\"%d\">", LABEL + share * BAR_WIDTH + 6, y + 17);
  html_text(out, bar->value);
  tw_text_add_string(out, "</text></g>\n");
}

void html_bars(tw_text *out, const html_bar *bars, size_t n, double mark, const char *mark_label) {
  int height = TOP + ROW * (int)n + 6;
  tw_text_add(out, "<svg viewBox=\"0 0 %d %d\" width=\"100%%\" role=\"img\">\n", WIDTH, height);
  for (size_t i = 0; i < n; i++) add_bar(out, &bars[i], TOP + ROW * (int)i);
  if (mark >= 0 && isfinite(mark)) {
    double x = LABEL + fmin(mark, 1) * BAR_WIDTH;
    tw_text_add(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#c0392b\" stroke-width=\"1.5\"/>", x,
                TOP - 4, x, height);
    tw_text_add(out, "<text x=\"%.1f\" y=\"13\" text-anchor=\"middle\">", x);
    html_text(out, mark_label);
    tw_text_add_string(out, "</text>\n");
  }
  tw_text_add_string(out, "</svg>\n");
}
