/* run.h - one kernel's source, built, checked and measured: what `tilewright run` does. */
#ifndef TILEWRIGHT_RUN_H
#define TILEWRIGHT_RUN_H

#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_run_options {
  /* sizeof(tw_run_options): see status.h. */
  size_t size;
  /* Seed of the inputs; 0: an unpredictable seed. */
  uint64_t seed;
  /* Number of threads that make inputs and expected outputs; 0 = all cores. */
  int jobs;
  /* Trust the source: build it even if the system cannot confine compilers. */
  bool trust;
  /* File name of a timeline in the Chrome trace format; NULL = none. */
  const char *trace;
  /* Time limit in seconds; 0 = none. After it the result is TW_INTERRUPTED, and the error names the work that did not end. */
  double seconds;
} tw_run_options;

/* The result of a run; free it with tw_run_result_free. It owns everything that the functions below return. */
typedef struct tw_run_result tw_run_result;

/* tw_target_supports must accept `problem` first. TW_FAILED, with the place and the error, if the kernel does not compile, is
 * wrong, or is faster than the hard bound; then *out is NULL. `options` may be NULL. */
TW_API tw_status tw_run(const tw_target *, const tw_problem *, const char *source, size_t length,
                        const tw_run_options *, tw_run_result **out, tw_error *);
TW_API void tw_run_result_free(tw_run_result *); /* NULL is fine */

TW_API const tw_measurement *tw_run_result_measurement(const tw_run_result *);
TW_API const tw_bound *tw_run_result_bound(const tw_run_result *);
/* The compared part of the outputs: "every element", or "sampled: ...". */
TW_API const char *tw_run_result_coverage(const tw_run_result *);
TW_API uint64_t tw_run_result_seed(const tw_run_result *); /* of the inputs */

#ifdef __cplusplus
}
#endif
#endif
