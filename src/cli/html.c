/* html.c - see html.h. No scripts, no fonts, nothing from elsewhere: the page can be mailed. */
#include "cli/html.h"

#include <math.h>

/* Nothing is wider than the window: text keeps its size, labels and long words wrap, and what cannot (sources, wide tables) is
 * moved within its own box; the last column of a `stack` goes below the others on narrow windows. Numbers have a column of their own, so no bar and no line crosses them. */
static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#1c2330;"
    "overflow-wrap:anywhere}"
    "h1{font-size:1.35em}h2{font-size:1.1em;margin-top:2em}pre{background:#f4f5f7;padding:1em;overflow:auto;"
    "overflow-wrap:normal;font-size:12.5px}"
    ".t{overflow-x:auto;overflow-wrap:normal}table{border-collapse:collapse}"
    "td,th{padding:.25em .9em .25em 0;text-align:left;vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.why{color:#5a6372}"
    ".big{display:flex;gap:1em 2.5em;flex-wrap:wrap;margin:1em 0}.big b{display:block;font-size:1.7em}"
    ".bars{display:grid;grid-template-columns:minmax(0,20em) minmax(4em,1fr) max-content;gap:.3em "
    ".8em;align-items:center}"
    ".bars>b{font-weight:400}.bars>span{font-variant-numeric:tabular-nums}"
    ".bars>div{position:relative;height:1.2em;background:#eef0f3}.bars i{position:absolute;left:0;top:0;bottom:0;"
    "background:#3b6fb6}.bars u{position:absolute;top:-.2em;bottom:-.2em;width:0;border-left:2px solid #c0392b}"
    ".faint{opacity:.55}.chart{padding:1em .5em 1.6em 3.2em}.chart svg{display:block;overflow:visible}"
    "svg text{font:12.5px system-ui,sans-serif;fill:#1c2330}summary{cursor:pointer;margin:.6em 0}"
    "@media(max-width:40em){.bars{grid-template-columns:minmax(4em,1fr) max-content}.bars>b{grid-column:1/-1}"
    ".stack tr{display:flex;flex-wrap:wrap;column-gap:1em}.stack th,.stack td{padding:.1em 0}.stack td:last-child{"
    "flex-basis:100%;padding-bottom:.5em}}";

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
  tw_text_add_string(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                          "content=\"width=device-width\"><title>");
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

static double within(double share) { return isfinite(share) ? fmin(fmax(share, 0), 1) : 0; }

static void add_bar(tw_text *out, const html_bar *bar, double mark) {
  const char *faint = bar->is_faint ? " class=\"faint\"" : "";
  tw_text_add(out, "<b%s title=\"", faint);
  html_text(out, bar->note ? bar->note : "");
  tw_text_add_string(out, "\">");
  html_text(out, bar->label);
  tw_text_add(out, "</b><div%s><i style=\"width:%.2f%%\"></i>", faint, 100 * within(bar->share));
  if (mark >= 0) tw_text_add(out, "<u style=\"left:%.2f%%\"></u>", 100 * within(mark));
  tw_text_add(out, "</div><span%s>", faint);
  html_text(out, bar->value);
  tw_text_add_string(out, "</span>\n");
}

void html_bars(tw_text *out, const html_bar *bars, size_t n, double mark) {
  tw_text_add_string(out, "<div class=\"bars\">\n");
  for (size_t i = 0; i < n; i++) add_bar(out, &bars[i], isfinite(mark) ? mark : -1);
  tw_text_add_string(out, "</div>\n");
}
