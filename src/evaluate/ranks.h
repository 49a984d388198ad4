/* ranks.h - processes of one MPI job: rank 0 searches, all other ranks evaluate.
 *
 * The library does not need MPI. A launcher (mpirun, srun) says by environment variables that it started several
 * processes; only then a small module is loaded that belongs to the launcher's MPI: tilewright-mpi-openmpi.so or
 * tilewright-mpi-mpich.so (src/mpi). */
#ifndef TW_EVALUATE_RANKS_H
#define TW_EVALUATE_RANKS_H

#include <stddef.h>

#include "evaluate/backend.h"

/* The functions that the module fills in. They may be called from any thread. */
typedef struct tw_ranks {
  int rank, size, local; /* local: ranks on this computer */
  bool (*send)(int to, const char *bytes, size_t length);
  /* Takes an available message: malloc'ed, with a '\0' after it. NULL: no message is available. */
  char *(*receive)(int *from);
  void (*close)(void);
} tw_ranks;
typedef int tw_mpi_open(tw_ranks *); /* the module's one symbol, `tilewright_mpi_open`; 0: done */

/* The number of processes that a launcher started; 1: this one alone. */
int tw_ranks_started(void);
/* *out stays NULL if this process is alone. TW_MISSING: no module for the launcher; TW_USAGE: a launcher that does not
 * connect its processes. */
tw_status tw_ranks_open(tw_ranks **out, tw_error *);
void tw_ranks_close(tw_ranks *); /* on rank 0: ends all ranks; NULL is allowed */

/* On ranks beyond 0: evaluates what rank 0 sends by `answer`, which returns malloc'ed text, until it sends the end. The
 * first message is `about`: the machine and version (evaluator.h). */
void tw_ranks_serve(tw_ranks *, const char *about, char *(*answer)(void *context, const char *trial), void *context);

/* A slot for each rank beyond 0 whose machine and version equal `about`. Ranks of another machine are dismissed and
 * named in `notes`, malloc'ed lines. Closing the backend leaves the ranks open. */
tw_status tw_backend_ranks(tw_ranks *, const char *about, tw_backend **out, size_t *slots, char **notes, tw_error *);

#endif
