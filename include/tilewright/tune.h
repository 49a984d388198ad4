/* tune.h - the best known kernel for a problem: from wisdom, or from a search whose result becomes wisdom.
 *
 *   tw_search_result *r;
 *   if (tw_tune(target, &problem, NULL, &r, &error) != TW_OK) return fail(&error);
 *   puts(tw_search_result_source(r));
 *   tw_search_result_free(r);
 *
 * The command `tilewright tune` and the Python function tilewright.tune call tw_tune, so they share one file of wisdom. */
#ifndef TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TUNE_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A member that is zero takes its default. */
typedef struct tw_tune_options {
  /* sizeof(tw_tune_options): see status.h. */
  size_t size;
  /* Search even if wisdom has the result of an earlier search. */
  bool again;
  /* Do not read wisdom, and do not store the result in it. */
  bool no_wisdom;
  /* Improve `program` only by rewrites. */
  bool rewrites_only;
  /* The wisdom file; NULL = the default place (wisdom.h). */
  const char *wisdom;
  /* How to search; NULL = defaults. `start` and `start_source`: NULL = from wisdom. */
  const tw_search_options *search;
  /* A user's own program to improve. It is rewritten while rewrites help, and competes with a new schedule. TW_UNSUPPORTED if
   * the target cannot rewrite programs. NULL = none. */
  const char *program;
  /* Length of `program` in bytes; 0 = up to the '\0'. */
  size_t program_length;
} tw_tune_options;

/* 1. Reads wisdom. If it has a kernel for exactly this problem, and this machine, compiler and version of tilewright measured the
 *    kernel, the call returns it at once. Then tw_search_result_cost_from is TW_COST_WISDOM, and the measurement has only cost
 *    and utilization. `again`, `program` and tw_search_options.program always search.
 * 2. Otherwise searches. The search starts from what wisdom has for this or a similar problem. Every kernel is verified.
 * 3. Stores the result if it is faster than the baseline and than the entry of wisdom, by more than the noise. If the baseline
 *    is the best kernel, nothing is stored, and the next call searches again.
 *
 * A wisdom file that cannot be read or written adds a line to tw_search_result_notes; the call succeeds. `options` may be NULL. TW_OK, or
 * TW_INTERRUPTED with the best so far, as for tw_search; otherwise *out is NULL. */
TW_API tw_status tw_tune(const tw_target *, const tw_problem *, const tw_tune_options *, tw_search_result **out,
                         tw_error *);

#ifdef __cplusplus
}
#endif
#endif
