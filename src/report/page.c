/* page.c - puts the page together: page/page.html with its style, its scripts, the charting library and the data. The
 * page needs nothing else, and its Content-Security-Policy allows nothing else: no connection, no script but its
 * own. */
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/embedded_table.h"
#include "base/random.h"
#include "base/strings.h"
#include "report/page_files.h"
#include "report/report.h"

/* In this order, because later scripts use earlier ones. */
static const char *const SCRIPTS[] = {"base.js",     "progress.js", "tree.js",     "steps.js",
                                      "counters.js", "models.js",   "roofline.js", "timeline.js",
                                      "detail.js",   "compare.js",  "report.js"};

static const tw_embedded *find(const char *name) {
  for (size_t i = 0; i < report_page_count; i++) {
    const char *slash = strrchr(report_page_files[i].name, '/');
    if (!strcmp(slash ? slash + 1 : report_page_files[i].name, name)) return &report_page_files[i];
  }
  return NULL;
}

static void add_file(tw_text *out, const char *name) {
  const tw_embedded *file = find(name);
  if (file)
    tw_text_add_bytes(out, file->data, file->size);
  else
    out->failed = true;
}

static void add_scripts(tw_text *out) {
  add_file(out, "d3.min.js");
  tw_text_add_string(out, "\n");
  add_file(out, "diff.js");
  for (size_t i = 0; i < sizeof SCRIPTS / sizeof *SCRIPTS; i++) {
    tw_text_add_string(out, "\n");
    add_file(out, SCRIPTS[i]);
  }
}

/* Inside of <script>, '<' could end the element, so it is written as a JSON escape. */
static void add_data(tw_text *out, const json_t *data) {
  char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(12));
  if (!text) out->failed = true;
  for (char *at = text; at && *at;) {
    const size_t plain = strcspn(at, "<");
    tw_text_add_bytes(out, at, plain);
    at += plain;
    if (*at == '<') tw_text_add_string(out, "\\u003c"), at++;
  }
  free(text);
}

static void add_escaped(tw_text *out, const char *text) {
  for (; *text; text++) {
    if (strchr("<>&\"'", *text))
      tw_text_add(out, "&#%d;", *text);
    else
      tw_text_add_bytes(out, text, 1);
  }
}

/* The title is visible before any script runs. */
static void add_title(tw_text *out, const json_t *data) {
  const json_t *runs = json_object_get(data, "runs"), *run = json_array_get(runs, 0);
  const char *problem = json_string_value(json_object_get(run, "problem")),
             *target = json_string_value(json_object_get(run, "target"));
  if (json_array_size(runs) > 1)
    tw_text_add(out, "Comparison of %zu runs", json_array_size(runs));
  else
    add_escaped(out, problem ? problem : "tilewright");
  if (target && json_array_size(runs) == 1) {
    tw_text_add_string(out, " on ");
    add_escaped(out, target);
  }
}

/* Licences are plain text within a comment of the page. */
static void add_licences(tw_text *out) {
  static const char *const names[] = {"d3-copyright", "diff-copyright"};
  for (size_t i = 0; i < 2; i++) {
    const tw_embedded *file = find(names[i]);
    for (size_t k = 0; file && k < file->size; k++)
      tw_text_add_bytes(out,
                        file->data[k] == '-'   ? "\xe2\x80\x90"
                        : file->data[k] == '>' ? ")"
                                               : (const char *)&file->data[k],
                        file->data[k] == '-' ? 3 : 1); /* "--" and "-->" would end the comment */
    tw_text_add_string(out, "\n");
  }
}

tw_status report_make_page(const json_t *data, const json_t *sources, const char *nonce, char **page, tw_error *error) {
  const tw_embedded *frame = find("page.html");
  tw_text out = {0};
  if (!frame || !find("d3.min.js") || !find("diff.js"))
    return tw_fail(error, TW_MISSING,
                   "this build has no report page: the packages node-d3 and node-diff were missing when it was built; "
                   "install them, run cmake again and build");
  for (const char *at = (const char *)frame->data, *mark; at; at = mark ? strchr(mark, '@') + 1 : NULL) {
    mark = strstr(at, "@@");
    tw_text_add_bytes(&out, at, mark ? (size_t)(mark - at) : strlen(at));
    if (!mark) break;
    mark += 2;
    if (!strncmp(mark, "nonce@", 6)) tw_text_add_string(&out, nonce);
    if (!strncmp(mark, "style@", 6)) add_file(&out, "page.css");
    if (!strncmp(mark, "scripts@", 8)) add_scripts(&out);
    if (!strncmp(mark, "data@", 5)) add_data(&out, data);
    if (!strncmp(mark, "title@", 6)) add_title(&out, data);
    if (!strncmp(mark, "sources@", 8)) add_data(&out, sources);
    if (!strncmp(mark, "licences@", 9)) add_licences(&out);
  }
  *page = tw_text_take(&out);
  return *page ? TW_OK : tw_no_memory(error, "the report");
}

void report_make_nonce(char nonce[REPORT_NONCE]) {
  static const char digit[] = "0123456789abcdef";
  for (int i = 0; i < 32; i += 8) {
    const uint64_t bits = tw_random_system();
    for (int k = 0; k < 8; k++) nonce[i + k] = digit[bits >> (4 * k) & 15];
  }
  nonce[32] = '\0';
}
