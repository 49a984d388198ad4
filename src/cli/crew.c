/* crew.c - see crew.h. */
#include "cli/crew.h"

#include <limits.h>
#include <stdlib.h>

#include "base/program.h"
#include "evaluate/evaluator.h"
#include "evaluate/hosts.h"

/* May be called from any thread: one call prints one line. */
static void tell(const char *line) { fprintf(stderr, "tilewright: %s\n", line); }

static tw_status open_ranks(const cli_subject *s, cli_crew *crew, tw_error *error) {
  char *about = tw_evaluator_text(s->target), *notes = NULL;
  tw_status status = about ? tw_ranks_open(&crew->ranks, error) : tw_no_memory(error, "the ranks");
  if (status == TW_OK && crew->ranks && crew->ranks->rank > 0) {
    cli_serve_rank(crew->ranks, about);
    crew->has_served = true;
  } else if (status == TW_OK && crew->ranks) {
    status = tw_backend_ranks(crew->ranks, about, &crew->backend, &crew->slots, &notes, error);
    if (notes) fputs(notes, stderr);
  }
  free(notes);
  free(about);
  return status;
}

/* Runners that call this command find it by $TILEWRIGHT, wherever it is installed. */
static void name_own_command(void) {
  char path[PATH_MAX];
  tw_own_path("tilewright", path, sizeof path);
  setenv("TILEWRIGHT", path, 0);
}

tw_status cli_crew_open(const cli *c, const cli_subject *s, cli_crew *crew, tw_error *error) {
  *crew = (cli_crew){0};
  const bool ranks = tw_ranks_started() > 1;
  if (ranks + !!c->options.hosts + !!c->options.runner > 1)
    return tw_fail(error, TW_USAGE, "%s",
                   ranks ? "ranks evaluate in an MPI job; leave out --hosts and --runner"
                         : "--hosts and --runner both evaluate kernels; give one");
  if (c->options.runner) name_own_command();
  tw_status status = TW_OK;
  if (c->options.hosts) status = tw_backend_hosts(c->options.hosts, tell, &crew->backend, &crew->slots, error);
  if (ranks) status = open_ranks(s, crew, error);
  if (status != TW_OK || crew->has_served) cli_crew_close(crew);
  return status;
}

void cli_crew_close(cli_crew *crew) {
  if (crew->backend) crew->backend->close(crew->backend);
  tw_ranks_close(crew->ranks);
  crew->backend = NULL;
  crew->ranks = NULL;
}
