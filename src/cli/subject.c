/* subject.c - the problem and the machine of a command line. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/cli.h"
#include "target/parse.h"
#include "tilewright/extend/target.h"
#include "tilewright/machine.h"

enum { SCHEDULE_LIMIT = 1 << 16 };

tw_status cli_find_target(const char *name, const tw_target **out, tw_error *error) {
  if (!name)
    return tw_fail(error, TW_USAGE, "the target is missing; give -t TARGET (`tilewright targets` lists the targets)");
  return tw_target_open(name, out, error);
}

tw_status cli_subject_of(const cli *c, size_t first, cli_subject *out, tw_error *error) {
  *out = (cli_subject){.target = NULL};
  if (c->n_words <= first)
    return tw_fail(error, TW_USAGE,
                   "the op is missing; give an op, such as `gemm m=512 n=512 k=512` (`tilewright ops` lists the ops)");
  tw_error none = {0};
  const tw_status found = cli_find_target(c->options.target, &out->target, &none);
  tw_status status = tw_problem_parse_words(found == TW_OK ? out->target : NULL, c->words[first],
                                            c->n_words - first - 1, c->words + first + 1, &out->problem, error);
  /* a target that was given decides which keys and values there are, so its error comes first */
  if (found != TW_OK && (status == TW_OK || c->options.target)) {
    if (error) *error = none;
    return found;
  }
  if (status == TW_OK) status = tw_target_supports(out->target, &out->problem, error);
  return status;
}

tw_status cli_usable(const cli_subject *s, tw_error *error) { return s->target->available(s->target, error); }

tw_status cli_read_schedule(const cli *c, const cli_subject *s, tw_schedule *out, tw_error *error) {
  *out = (tw_schedule){0};
  const char *path = c->options.schedule;
  if (!path) return TW_OK;
  char *text = NULL;
  size_t length;
  tw_error why = {0};
  tw_status status = tw_file_read(path, SCHEDULE_LIMIT, &text, &length, &why);
  if (status != TW_OK && !tw_file_exists(path)) return tw_fail(error, status, "%s", why.text);
  if (status == TW_OK)
    status = strlen(text) == length ? tw_schedule_parse(text, out, &why)
                                    : tw_fail(&why, TW_USAGE, "it contains bytes that are not text");
  free(text);
  if (status == TW_OK) tw_target_rename_steps(s->target, &s->problem, out);
  return status == TW_OK ? TW_OK : tw_fail(error, status, "schedule file '%s': %.1800s", path, why.text);
}

void cli_find_known(const cli *c, const cli_subject *s, tw_known *out) {
  tw_error error = {0};
  *out = (tw_known){0};
  if (!c->options.no_wisdom && tw_known_find(NULL, s->target, &s->problem, out, &error) != TW_OK)
    fprintf(stderr, "tilewright: continuing without wisdom: %s\n", error.text);
  if (*out->illegal.text)
    fprintf(stderr, "tilewright: the schedule in wisdom is not used, and `tilewright tune` replaces it: %s\n",
            out->illegal.text);
}

tw_status cli_no_words(const cli *c, size_t most, tw_error *error) {
  return c->n_words <= most ? TW_OK
                            : tw_fail(error, TW_USAGE, "unexpected argument '%s'; leave it out", c->words[most]);
}
