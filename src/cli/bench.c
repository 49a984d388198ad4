/* bench.c - `tilewright bench OP key=value... -t TARGET`: checks and measures what the library would run: the best
 * schedule that wisdom knows for this shape or a near one, else the plainest kernel. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

tw_status cli_bench(const cli *c, tw_error *error) {
  cli_subject subject;
  tw_schedule schedule;
  bool found, exact;
  char *source;
  tw_status status = cli_subject_of(c, 0, &subject, error);
  if (status != TW_OK) return status;
  cli_known_schedule(c, &subject, &schedule, &found, &exact);
  const char *note = exact && found ? "as tuned"
                     : found        ? "as tuned for a near shape"
                                    : "not tuned yet: the plainest kernel";
  status = subject.target->emit(subject.target, &subject.problem, &schedule, &source, error);
  if (status != TW_OK) return status;
  status = cli_measure_source(c, &subject, source, strlen(source), note, error);
  free(source);
  return status;
}
