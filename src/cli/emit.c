/* emit.c - `tilewright emit OP key=value... -t TARGET [--schedule FILE]`: the source that a schedule makes. */
#include <stdlib.h>

#include "cli/cli.h"

tw_status cli_emit(const cli *c, tw_error *error) {
  cli_subject subject;
  tw_schedule schedule;
  char *source;
  tw_status status = cli_subject_of(c, 0, &subject, error);
  if (status == TW_OK) status = cli_needs_schedules(&subject, error);
  if (status == TW_OK) status = cli_read_schedule(c, &schedule, error);
  if (status == TW_OK) status = subject.target->emit(subject.target, &subject.problem, &schedule, &source, error);
  if (status != TW_OK) return status;
  if (c->options.json)
    status = cli_print_json(
        c, json_pack("{s:o, s:o}", "source", cli_json_text(source), "schedule", cli_json_schedule(&schedule)), error);
  else
    fputs(source, stdout);
  free(source);
  return status;
}
