/* threads.c - the local backend: the calling thread evaluates the trial. */
#include <stdlib.h>

#include "base/strings.h"
#include "evaluate/backend.h"

static void evaluate(tw_backend *b, size_t slot, const tw_trial *trial, const tw_case *data, const tw_bound *bound,
                     const volatile int *interrupt, tw_outcome *out) {
  (void)slot;
  const tw_setting setting = {.data = data, .bound = bound, .jobs = *(int *)b->own, .interrupt = interrupt};
  tw_trial_run(trial, &setting, out);
}

static void close_threads(tw_backend *b) {
  free(b->own);
  free(b);
}

tw_status tw_backend_threads(int jobs, tw_backend **out, tw_error *error) {
  tw_backend *b = tw_new(1, sizeof *b);
  int *own = tw_new(1, sizeof *own);
  if (!b || !own) {
    free(b);
    free(own);
    return tw_no_memory(error, "evaluating");
  }
  *own = jobs;
  *b = (tw_backend){.name = "threads", .own = own, .evaluate = evaluate, .close = close_threads};
  *out = b;
  return TW_OK;
}
