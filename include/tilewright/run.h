/* run.h - one kernel's source, built, checked and measured: what `tilewright run` does. */
#ifndef TILEWRIGHT_RUN_H
#define TILEWRIGHT_RUN_H

#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_run_options {
  size_t size;       /* sizeof(tw_run_options): status.h */
  uint64_t seed;     /* of the inputs; 0: an unpredictable one */
  int jobs;          /* threads that make inputs and expected outputs; 0 = all cores */
  bool trust;        /* the source is the caller's own: it is built even where the system cannot confine compilers */
  const char *trace; /* tw_target.measure; NULL = none */
} tw_run_options;

typedef struct tw_run_result {
  size_t size; /* sizeof(tw_run_result), set before the call: status.h */
  tw_measurement measured;
  tw_bound bound;
  char coverage[240]; /* the compared part of the outputs: "every element", or "sampled: ..." */
  uint64_t seed;      /* of the inputs */
} tw_run_result;

/* `problem` is supported (tw_target_supports). TW_FAILED, with where and how, if the kernel does not compile, is wrong, or
 * is faster than the machine can be. `options` may be NULL. */
TW_API tw_status tw_run(const tw_target *, const tw_problem *, const char *source, size_t length,
                        const tw_run_options *, tw_run_result *out, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
