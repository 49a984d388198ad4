/* backend.h - where trials are evaluated: in threads of this process, or by commands that read trials and write
 * outcomes.
 *
 * A backend has slots; each evaluates one trial at a time, and one thread at a time uses it. */
#ifndef TW_EVALUATE_BACKEND_H
#define TW_EVALUATE_BACKEND_H

#include "evaluate/trial.h"

typedef struct tw_backend tw_backend;
struct tw_backend {
  const char *name;
  bool
      /* elsewhere, but by processes of this program on the same kind of machine: their outcomes are trusted like
       * local ones */
      is_own;
  bool is_away;      /* on other computers only: it does not use the cores of this one */
  bool is_elsewhere; /* makes inputs and expected outputs itself, and ignores `data` */
  void *own;
  /* `data`, `bound`: as in tw_setting. After the flag is set, the outcome soon becomes TW_SKIPPED. */
  void (*evaluate)(tw_backend *, size_t slot, const tw_trial *, const tw_case *data, const tw_bound *bound,
                   const volatile int *interrupt, tw_outcome *);
  void (*close)(tw_backend *); /* frees it */
};

/* threads.c: evaluates in the calling thread. `jobs`: threads that make the data of a trial that has none. */
tw_status tw_backend_threads(int jobs, tw_backend **out, tw_error *);
/* command.c: one process for each slot, a shell command that follows the protocol of `tilewright evaluate`: trials on
 * its standard input and outcomes on its standard output, one on each line (text.h). It is started when needed, and
 * restarted once if it ends without an answer. */
tw_status tw_backend_command(const char *command, size_t slots, tw_backend **out, tw_error *);

#endif
