/* inspect.c - `run --checks LIST --counts`: the checks of a run, and their findings in the output. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

tw_status cli_inspection_of(const cli *c, const tw_target *t, const char *usual, tw_inspection *out, bool *wanted,
                            tw_error *error) {
  const bool can = t->inspect != NULL;
  *out = (tw_inspection){.checks = c->options.checks ? c->options.checks
                                   : can             ? usual
                                                     : "none",
                         .counts = c->options.counts};
  *wanted = can && (c->options.checks || c->options.counts || strcmp(out->checks, "none") != 0);
  if (!can && (c->options.checks || c->options.counts))
    return tw_fail(error, TW_USAGE, "%s does not inspect kernels; leave out --checks and --counts", t->name);
  return TW_OK;
}

void cli_print_inspection(const tw_inspection *i) {
  if (i->counted) printf("\n%s", i->counted);
  if (!i->findings || !*i->findings) {
    if (strcmp(i->checks, "none") != 0) printf("  checks        nothing found\n");
    return;
  }
  printf("\n");
  for (const char *line = i->findings; *line;) {
    const size_t n = strcspn(line, "\n");
    cli_put_text(stdout, line, n);
    printf("\n");
    line += n + (line[n] == '\n');
  }
  fflush(stdout); /* before the error that may follow from them */
}

/* "findings": a list of lines; "counts". */
void cli_json_inspection(const tw_inspection *i, json_t *object) {
  json_t *list = json_array();
  const char *line = i->findings ? i->findings : "";
  while (*line) {
    const size_t n = strcspn(line, "\n");
    char *copy = strndup(line, n);
    if (copy) json_array_append_new(list, tw_json_text(copy));
    free(copy);
    line += n + (line[n] == '\n');
  }
  json_object_set_new(object, "findings", list);
  if (i->json) json_object_set_new(object, "counts", json_loads(i->json, 0, NULL));
}

tw_status cli_judge_inspection(const tw_inspection *i, tw_error *error) {
  if (!i->n_errors) return TW_OK;
  return tw_fail(error, TW_FAILED, "%zu finding%s, listed above; --checks chooses the checks", i->n_errors,
                 i->n_errors == 1 ? "" : "s");
}
