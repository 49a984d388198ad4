/* state.h - one search under way, and its stages, each in a file of its own. */
#ifndef TW_SEARCH_STATE_H
#define TW_SEARCH_STATE_H

#include "base/strings.h"
#include "search/agent.h"
#include "search/evaluate.h"
#include "search/journal.h"
#include "tilewright/search.h"

enum { TW_BEAM_MAX = 256, TW_STALL_ITERATIONS = 4 };

typedef struct tw_state {
  const tw_target *target;
  const tw_agent *agent;
  tw_problem problem;        /* types filled in by the target */
  tw_search_options options; /* defaults filled in */
  tw_case data;              /* inputs and expected outputs */
  tw_bound bound;
  tw_journal *journal;      /* NULL = none */
  double started, deadline; /* by tw_now */

  size_t n, room;
  tw_candidate **all;          /* by number */
  tw_index schedules, sources; /* of all, but duplicates' sources */
  size_t n_levers, levers_room;
  struct tw_experience {
    char lever[TW_LEVER_MAX];
    int tried, paid;
  } * experience; /* of the levers that were tried so far */
  tw_candidate *plainest;
  tw_candidate *best;                    /* the correct one of least cost */
  double best_cost[TW_STALL_ITERATIONS]; /* at the start of the last iterations, the latest first */
  size_t n_beam;
  tw_candidate *beam[TW_BEAM_MAX]; /* the parents of the next iteration, the best first */
  int iteration;
  int idle;             /* iterations since a child beat its parent */
  int samples, correct; /* evaluated; of those correct */
  int slower;           /* and slower than their parent, not checked */
  int under_way;        /* handed to the evaluator and not ended yet */
  tw_text notes;        /* lines for the user */
} tw_state;

/* ---- population.c: the candidates ---- */

/* A candidate made of this schedule by one lever, to be added; illegal where the target cannot emit it. NULL without
 * memory. `limit`: as in tw_candidate. */
tw_candidate *tw_state_emit(const tw_state *, const tw_schedule *, int parent, double limit, const char *lever,
                            const char *why);
/* The same, one step of the menu behind `from`; NULL where that step leads nowhere. */
tw_status tw_state_follow(const tw_state *, const tw_candidate *from, const tw_menu_item *, double limit,
                          tw_candidate **, tw_error *);
/* Numbers it and takes it over; a kernel that is there already makes it a duplicate. Frees it without memory. */
tw_status tw_state_add(tw_state *, tw_candidate *, tw_error *);
/* Evaluates all that are pending from number `first` on, or recalls their verdicts, journals them, keeps the count. */
void tw_state_evaluate(tw_state *, size_t first);
/* Checks one that was too slow to be checked when it was met. */
void tw_state_reconsider(tw_state *, tw_candidate *);
bool tw_state_is_stopped(const tw_state *); /* interrupted, or out of time */
bool tw_state_is_interrupted(const tw_state *);
/* A strict order: by cost, among equals by number. */
bool tw_is_better(const tw_candidate *, const tw_candidate *);
void tw_state_note(tw_state *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How long one core takes to simulate the bound; 0 where that is not known, or nothing is simulated. */
double tw_simulation_seconds(const tw_target *, const tw_bound *);

/* ---- the stages ---- */

/* propose.c: plan and implement, for each parent in the beam. */
tw_status tw_propose(tw_state *, tw_error *);
/* exhaustive.c: all kernels that the menu leads to; TW_USAGE if there are more than TW_EXHAUSTIVE_MOST. */
tw_status tw_enumerate(tw_state *, tw_error *);
/* beam.c: the next parents, out of this iteration's candidates from number `first` on, and what it says of levers. */
void tw_select_beam(tw_state *, size_t first);
/* polish.c: small problems: the kernels around the best, wherever measuring costs little. */
void tw_polish(tw_state *);
/* finish.c: the steps of the best schedule one by one, and the best candidate that holds on fresh inputs. */
tw_status tw_finish(tw_state *, tw_error *);
/* finish.c: the ladder from the plainest kernel to the best. */
tw_status tw_climb(const tw_state *, tw_search_result *, tw_error *);

#endif
