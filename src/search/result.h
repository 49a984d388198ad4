/* result.h - the result of a search as the library and the command use it. Programs have the functions of search.h. */
#ifndef TW_SEARCH_RESULT_H
#define TW_SEARCH_RESULT_H

#include "tilewright/extend/target.h"
#include "tilewright/search.h"

/* The result of a search that started from a user's program. The rewritten program competed with a fresh schedule,
 * if the target has one for the problem. */
typedef struct tw_improvement {
  bool rewritten;         /* the best kernel is the user's program, rewritten or unchanged: `schedule` lists rewrites */
  tw_schedule rewrites;   /* that were kept */
  tw_measurement after;   /* measurement of the user's program after the rewrites */
  bool searched;          /* a fresh schedule was searched ... */
  tw_measurement fresh;   /* ... and its measurement */
  tw_diagnosis diagnosis; /* diagnosis of the user's program */
} tw_improvement;

struct tw_search_result {
  char *source;               /* source of the best candidate */
  bool has_schedule;          /* the target emits `source` from `schedule`; otherwise `source` has no schedule */
  tw_schedule schedule;       /* the schedule, if there is one */
  tw_measurement best, start; /* start: the baseline */
  char *start_source;         /* NULL: from wisdom, and the baseline was not measured */
  size_t n_rungs;
  tw_rung *rung; /* from the start to the best */
  tw_bound bound;
  int samples, correct; /* candidates evaluated (duplicates once), correct ones */
  int recalled;         /* samples whose verdict came from the journal of an interrupted search */
  int slower;           /* candidates slower than their parent, as measured or by a bound, and therefore not checked */
  /* The compared part of the best kernel's outputs: "every element", or "sampled: ..."; "" if unknown. */
  char coverage[240];
  size_t n_exchanges;
  tw_model_call *exchange; /* in the order of iterations and places */
  double wall_seconds;
  char *notes;      /* lines for the user; NULL or "": none */
  double error;     /* differences of costs below this fraction mean nothing; 0: not known */
  bool is_baseline; /* no kernel beat the baseline by more than the noise: the best is the baseline */
  /* `start_is_exact` or `start_source` were given, and each of these kernels was wrong, or slower than the baseline
   * when both were measured in turns. */
  bool known_lost;
  /* where the costs of `best` and `start` come from. The rungs between them have the costs of the search */
  tw_cost_from cost_from;
  tw_improvement *how; /* tw_tune from a user's program; NULL: none. Malloc'ed */
};

/* tw_search with a result struct of the caller; tw_search_result_clear empties it. */
tw_status tw_search_into(const tw_target *, const tw_problem *, const tw_search_options *, tw_search_result *out,
                         tw_error *);
void tw_search_result_clear(tw_search_result *);
/* Appends a line to the notes. */
void tw_search_result_note(tw_search_result *, const char *format, ...) TW_PRINTF(2, 3);

/* Improves the user's program: diagnoses where its time goes and rewrites it as long as that helps. Unless
 * `rewrites_only`, it also searches for a schedule of the same problem. *out gets the better of both results; its
 * start is the user's program, and its improving steps begin there. `how` may be NULL. `seconds` limits both;
 * rewrites use at most half of it. TW_FAILED with one line if the program is wrong. A program that cannot be
 * analysed is not rewritten (diagnosis.fixed). TW_INTERRUPTED as for tw_search. Each kernel is checked like any
 * candidate. */
tw_status tw_improve(const tw_target *, const tw_problem *, const char *source, size_t length,
                     const tw_search_options *, bool rewrites_only, tw_search_result *out, tw_improvement *how,
                     tw_error *);

#endif
