/* crew.h - selects the place where a search's kernels are evaluated: the ranks of an MPI job, hosts reached by ssh, or
 * this process. */
#ifndef TW_CLI_CREW_H
#define TW_CLI_CREW_H

#include "cli/cli.h"
#include "evaluate/ranks.h"

typedef struct cli_crew {
  tw_ranks *ranks;
  tw_backend *backend; /* NULL: the search evaluates in threads, or by --runner */
  size_t slots;
  bool has_served; /* this process was a rank beyond 0, and the search has ended */
} cli_crew;

/* On ranks beyond 0 it returns after the search has ended. TW_USAGE: --hosts, --runner and ranks exclude each other. */
tw_status cli_crew_open(const cli *, const cli_subject *, cli_crew *, tw_error *);
void cli_crew_close(cli_crew *);

#endif
