/* report.c - `tilewright report DIR...`: the results of `tune --out DIR`, final or so far, as one page; several runs
 * side by side. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json.h"
#include "cli/cli.h"
#include "report/report.h"

enum { RUNS_MAX = 12 };

/* With several runs the page has no sources, because it compares results. */
static tw_status read_runs(const cli *c, json_t **out, tw_error *error) {
  json_t *runs = json_array();
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < c->n_words; i++) {
    json_t *run = NULL;
    status = report_read_run(c->words[i], &run, error);
    if (run) json_array_append_new(runs, run);
  }
  if (status == TW_OK)
    *out = json_pack("{s:o, s:s}", "runs", runs, "tilewright", TILEWRIGHT_VERSION);
  else
    json_decref(runs);
  return status;
}

static tw_status write_page(const json_t *data, const json_t *sources, const char *path, tw_error *error) {
  char nonce[REPORT_NONCE], *page = NULL;
  report_make_nonce(nonce);
  tw_status status = report_make_page(data, sources, nonce, &page, error);
  if (status == TW_OK) status = tw_file_write(path, page, strlen(page), error);
  free(page);
  return status;
}

tw_status cli_report(const cli *c, tw_error *error) {
  json_t *data = NULL;
  if (!c->n_words)
    return tw_fail(
        error, TW_USAGE,
        "the directory of a run is missing; write `tilewright report DIR` with the DIR of `tilewright tune --out DIR`");
  tw_status status = cli_no_words(c, RUNS_MAX, error);
  if (status != TW_OK) return status;
  char *path = c->options.page ? strdup(c->options.page)
                               : tw_path_join(c->words[0], c->n_words > 1 ? "comparison.html" : "report.html");
  status = path ? read_runs(c, &data, error) : tw_no_memory(error, NULL);
  json_t *sources = status == TW_OK && c->n_words == 1 ? report_read_sources(c->words[0]) : json_object();
  if (status == TW_OK) status = write_page(data, sources, path, error);
  if (status == TW_OK && c->options.json)
    status = cli_print_json(c, json_pack("{s:o}", "report", tw_json_text(path)), error);
  else if (status == TW_OK)
    printf("%s\n", path);
  json_decref(data);
  json_decref(sources);
  free(path);
  return status;
}
