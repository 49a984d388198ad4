/* run.c - `tilewright run FILE OP key=value... -t TARGET`: checks and measures one kernel source, or with
 * --schedule and no FILE the kernel that the schedule makes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/headers.h"
#include "cli/cli.h"

/* Can the target's sources have the headers of --include and the macros of --define? */
static tw_status check_headers(const cli *c, tw_error *error) {
  const tw_target *t = NULL;
  const tw_headers own = cli_headers(c);
  if (!own.n && !own.n_macros) return TW_OK;
  tw_status status = cli_find_target(c->options.target, &t, error);
  if (status == TW_OK && t->traits.user_headers) status = tw_headers_check(&own, error);
  if (status != TW_OK || t->traits.user_headers) return status;
  return tw_fail(error, TW_UNSUPPORTED, "%s does not support headers and macros of your own; leave out --%s", t->name,
                 own.n ? "include" : "define");
}

/* Sources are compiled in another folder: an include "NAME" of a file beside the source requires its folder. */
static tw_status name_folder(const char *path, tw_status status, tw_error *error) {
  char folder[PATH_MAX] = ".", found[PATH_MAX + sizeof error->text];
  const char *end = status == TW_FAILED ? strstr(error->text, "' file not found") : NULL, *name = end;
  while (name && name > error->text && name[-1] != '\'') name--;
  if (name == end) return status;
  const char *slash = strrchr(path, '/');
  if (slash) snprintf(folder, sizeof folder, "%.*s", slash > path ? (int)(slash - path) : 1, path);
  snprintf(found, sizeof found, "%s/%.*s", folder, (int)(end - name), name);
  if (!tw_file_exists(found)) return status;
  const tw_error why = *error;
  return tw_fail(error, status, "%s is beside the source; add --include %s: %s", found + strlen(folder) + 1, folder,
                 why.text);
}

tw_status cli_run(const cli *c, tw_error *error) {
  cli_subject subject;
  tw_schedule schedule;
  char *source = NULL;
  size_t length = 0;
  bool from_schedule = c->options.schedule;
  const bool no_file = !c->n_words || (tw_op_find(c->words[0]) && !tw_file_exists(c->words[0]));
  if (!from_schedule && no_file)
    return tw_fail(
        error, TW_USAGE,
        "the file is missing; write `tilewright run FILE OP key=value... -t TARGET`; `tilewright emit` writes one");
  if (!from_schedule && !tw_file_exists(c->words[0]))
    return tw_fail(error, TW_USAGE, "cannot read '%s': %s", c->words[0], strerror(ENOENT));
  tw_status status = check_headers(c, error);
  if (status != TW_OK) return status;
  if (cli_is_launch(c)) return name_folder(c->words[0], cli_launch(c, error), error);
  if (c->options.no_timing || c->options.timing_only || c->options.workgroups)
    return tw_fail(error, TW_USAGE,
                   "--no-timing, --timing-only and --workgroups require a kernel without an op, launched by --grid, "
                   "--block and --arg");
  status = cli_subject_of(c, from_schedule ? 0 : 1, &subject, error);
  if (status == TW_OK) status = cli_check_header(c, subject.target, error);
  if (status == TW_OK) status = cli_read_schedule(c, &subject, &schedule, error);
  if (status == TW_OK && from_schedule) {
    subject.schedule = &schedule;
    status = tw_target_emit(subject.target, &subject.problem, &schedule, &source, error);
    length = status == TW_OK ? strlen(source) : 0;
  } else if (status == TW_OK) {
    status = cli_read_source(c->words[0], &source, &length, error);
    if (status != TW_OK && error) cli_refuse_source(c, error);
  }
  if (status == TW_OK && !from_schedule) status = cli_add_header(c, &source, &length, error);
  if (status != TW_OK) return status;
  status =
      cli_measure_source(c, &subject, source, length, from_schedule || c->options.trust, NULL, from_schedule, error);
  free(source);
  return from_schedule ? status : name_folder(c->words[0], status, error);
}
