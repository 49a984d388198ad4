/* state.h - a running search, and its stages, each in a separate file. */
#ifndef TW_SEARCH_STATE_H
#define TW_SEARCH_STATE_H

#include <pthread.h>

#include "agent/agent.h"
#include "base/strings.h"
#include "evaluate/pool.h"
#include "search/journal.h"
#include "search/recording.h"
#include "search/result.h"
#include "tilewright/extend/target.h"
#include "tilewright/search.h"

enum { TW_BEAM_MAX = 256, TW_STALL_ITERATIONS = 4, TW_MEMBERS_MAX = 16, TW_KNOWN_MOST = 2 };
enum { TW_PLACE_BITS = 16 }; /* bits of tw_request.place for the agent */

/* The requests of agents to models. */
typedef struct tw_exchanges {
  pthread_mutex_t lock;
  tw_memo journal; /* none: {0} */
  size_t n, room;
  tw_model_call *asked;
} tw_exchanges;

/* Agents that propose together, and the size of their search. */
typedef struct tw_team {
  /* A short search that offers what earlier searches found; the next team continues with its budget of samples. */
  bool is_reuse;
  size_t n_members;
  tw_member member[TW_MEMBERS_MAX];
  double share;              /* share of all agents' requests */
  tw_search_options options; /* defaults filled in */
} tw_team;

/* A translation may be slower than its parent by this factor: the default of Autocomp's translate_perf_threshold. */
#define TW_TRANSLATION_SLOWER 15.0

/* Agents without models are the first team. A short team for reuse may precede each. */
enum { TW_TEAMS = 4 };

typedef struct tw_state {
  const tw_target *target;
  size_t n_teams; /* teams search one after another */
  tw_team team[TW_TEAMS];
  size_t n_members; /* the agents of the current team */
  const tw_member *member;
  bool is_patient;                 /* continues while there is something to try */
  bool is_reuse;                   /* true if the current team reuses recordings */
  bool is_translating;             /* this iteration: more complete translations count as gains */
  int first_iteration;             /* first iteration of the current team */
  int first_sample;                /* number of samples before the current team and its team for reuse */
  bool is_retired[TW_MEMBERS_MAX]; /* proposes no more */
  double plans_given[TW_MEMBERS_MAX];
  tw_exchanges exchanges;
  tw_memo memo;              /* of the exchanges */
  tw_problem problem;        /* types filled in by the target */
  tw_search_options options; /* of the team */
  char machine[68];          /* digest of the machine that evaluated, if a runner reports it */
  bool by_runner;            /* outcomes come from another program */
  tw_backend *backend;       /* the place where candidates are evaluated */
  tw_case data;              /* inputs and expected outputs; none if kernels are evaluated elsewhere */
  tw_bound bound;
  tw_journal *journal; /* NULL = none */
  /* by tw_now: beginning of the time limit, of the search; candidates start up to the deadline */
  double began, started, deadline;
  double last_measurement; /* measurements end by this time, so that the result can be confirmed in time */
  double last_trial;       /* candidates end by this time, so that the best can be compared with the start */
  double share;            /* share of the time, up to the end of this team */
  double case_seconds;     /* seconds for the inputs and expected outputs */
  double trial_seconds;    /* seconds of the quickest trial, without build, wait for a device and first use */

  size_t n, room;
  tw_candidate **all;          /* by number */
  tw_index schedules, sources; /* all candidates; duplicates have no source */
  size_t n_levers, levers_room;
  struct tw_experience {
    char lever[TW_LEVER_MAX];
    int tried, paid;
  } * experience;      /* results of the levers tried so far */
  tw_candidate *start; /* the baseline, or the user's program */
  size_t n_known;      /* kernels of earlier searches of this problem: a schedule, a source */
  struct tw_known {
    tw_candidate *candidate;
    bool lost; /* it is wrong, or slower than the baseline or the other known kernel */
  } known[TW_KNOWN_MOST];
  tw_candidate *best;                    /* the correct candidate of least cost */
  const tw_candidate *finished;          /* the best candidate after tw_finish; NULL: no team's search has ended */
  const tw_recordings *recordings;       /* NULL: none */
  double best_cost[TW_STALL_ITERATIONS]; /* at the start of recent iterations, the latest first */
  size_t n_beam;
  tw_candidate *beam[TW_BEAM_MAX]; /* the parents of the next iteration, the best first */
  int iteration;
  int idle;             /* iterations since a child beat its parent */
  int samples, correct; /* evaluated candidates; correct ones */
  int recalled;         /* samples whose verdict came from the journal */
  int slower;           /* samples that were slower than their parent and not checked */
  tw_cost_from cost_from;
  int in_flight;   /* handed to the evaluator and not complete */
  int to_propose;  /* maximum number of candidates of this iteration that are not made yet */
  tw_pool pool;    /* of the batch */
  tw_batch *batch; /* the candidates in flight; NULL: none */
  tw_text notes;   /* lines for the user */
} tw_state;

/* The subject of a search, in addition to its options. */
typedef struct tw_search_subject {
  const tw_target *target;
  const tw_problem *problem;
  size_t n_members;
  const tw_member *member;
  const char *program;             /* the program to start from; NULL = the target's baseline */
  bool is_patient;                 /* continues while an agent proposes kernels, even without a gain */
  const tw_recordings *recordings; /* recordings of earlier searches; NULL: none */
  tw_agent *reuse;                 /* the agent that offers their steps; NULL: they have none */
} tw_search_subject;

/* search.c: tw_search with agents that are already open. */
tw_status tw_search_by(const tw_search_subject *, const tw_search_options *, tw_search_result *out, tw_error *);

/* without.c: TW_USAGE for a part that no agent has. */
tw_status tw_without_check(uint64_t without, size_t n, const tw_member[], tw_error *);

/* ---- population.c: the candidates ---- */

/* Makes a candidate of a schedule, for one lever; tw_state_add adds it. It is illegal if the target cannot emit it.
 * NULL without memory. `limit`: as in tw_candidate. */
tw_candidate *tw_state_emit(const tw_state *, const tw_schedule *, int parent, double limit, const char *lever,
                            const char *why);
/* As above, for one menu step after `from`, which has a schedule. NULL if the step is illegal. */
tw_status tw_state_follow(const tw_state *, const tw_candidate *from, const tw_menu_item *, double limit,
                          tw_candidate **, tw_error *);
/* Numbers the candidate and takes ownership. It is a duplicate if its kernel exists already. Frees it without
 * memory. */
tw_status tw_state_add(tw_state *, tw_candidate *, tw_error *);
/* Evaluates all pending candidates from number `first` on, or recalls their verdicts. Journals and counts them. */
void tw_state_evaluate(tw_state *, size_t first);
/* The same in two steps: candidates are evaluated while the caller makes more of them, and then it waits. Until then
 * a candidate that was handed over belongs to the evaluator. If planning would disturb measurements, they begin with
 * the wait. */
void tw_state_hand_over(tw_state *, size_t first);
void tw_state_await(tw_state *);
/* Skips evaluations that have not begun, and waits for the rest. */
void tw_state_abandon(tw_state *);
/* Takes available outcomes, without waiting. */
void tw_state_poll(tw_state *);
/* Number of threads that make plans and kernels. */
int tw_state_planners(const tw_state *);
/* Builds and checks a candidate on the inputs of another seed; the verdict is returned, not recorded. */
void tw_state_check(tw_state *, const tw_candidate *, uint64_t seed, const tw_case *, tw_outcome *);
/* Builds, checks and measures a candidate again, alone. Its recorded cost stays. A deadline of HUGE_VAL: none. */
void tw_state_measure(tw_state *, const tw_candidate *, const tw_stop *until, tw_outcome *);
/* Checks a candidate that was too slow to be checked before. */
void tw_state_reconsider(tw_state *, tw_candidate *);
bool tw_state_is_stopped(const tw_state *); /* interrupted, or out of time or samples */
/* The candidates in flight, and `waiting` ones that are not handed over, use up all samples. */
bool tw_state_is_full(const tw_state *, size_t waiting);
bool tw_state_is_interrupted(const tw_state *);
/* A strict order: by cost, among equals by number. */
bool tw_is_better(const tw_candidate *, const tw_candidate *);
/* This iteration's requests to the agent are for translations, unless their parent is complete. */
bool tw_translates(const tw_state *, size_t member);
void tw_state_note(tw_state *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A note about how well the model ranked the measured kernels, if a real machine measured enough of them. */
void tw_note_ranks(tw_state *);

/* Seconds in which one core simulates the bound. 0 if this is not known, or nothing is simulated. */
double tw_simulation_seconds(const tw_target *, const tw_bound *);

/* open.c: prepares everything before the first candidate. After a failure, call tw_state_close. */
tw_status tw_state_open(tw_state *, const tw_search_subject *, const tw_search_options *, tw_error *);
void tw_state_close(tw_state *, bool finished);
tw_status tw_check_members(size_t n, tw_error *); /* TW_USAGE for more than TW_MEMBERS_MAX */

/* ---- the stages ---- */

/* teams.c: the teams of a search and their share of the time; defaults are filled in. */
void tw_teams_divide(tw_state *, const tw_search_subject *, const tw_search_options *, double simulation_seconds);
void tw_team_begin(tw_state *, size_t team);
bool tw_team_asks_models(const tw_team *);
/* teams.c: sets when the last candidate may start, from the time of the best candidate. */
void tw_team_set_deadline(tw_state *);
/* The whole search, including the confirmation of the result, ends by this time: the limit of --seconds less the
 * time to write the result. HUGE_VAL: no limit. */
double tw_state_end(const tw_state *);
/* starts.c: the start and the best known kernels of other searches are evaluated and make the first beam. */
tw_status tw_evaluate_starts(tw_state *, const char *program, tw_error *);

/* propose.c: plan and implement for each parent in the beam, and start the evaluation of the kernels; failed kernels
 * can be repaired until the round is freed. */
enum { TW_ORDERS_PER_THREAD = 4 }; /* kernels that are made together, for each thread */
typedef struct tw_round tw_round;
tw_status tw_propose(tw_state *, tw_round **out, tw_error *);
/* Replaces failed kernels of the round by repairs. */
tw_status tw_repair(tw_round *, tw_error *);
void tw_round_free(tw_round *);
/* exhaustive.c: evaluates all kernels that the menu reaches, or with options.samples the first of them. Without,
 * TW_USAGE if there are more than TW_EXHAUSTIVE_MOST. */
enum { TW_PARENTS_PER_THREAD = 4 }; /* kernels whose menus are followed together, for each thread */
tw_status tw_enumerate(tw_state *, tw_error *);
/* beam.c: selects the next parents from the candidates from number `first` on, and updates the success rates of
 * levers. */
void tw_select_beam(tw_state *, size_t first);
/* beam.c: whether its distance to the best is so large that it gets only one plan. */
bool tw_is_far_from_best(const tw_state *, const tw_candidate *);
/* beam.c: makes sure that agents that need schedules have a parent with one. */
void tw_keep_schedules(tw_state *);
/* polish.c: for small problems, tries the kernels around the best one if measuring costs little. */
void tw_polish(tw_state *);
/* finish.c: measures the steps of the best schedule one by one, and finds the best candidate that is correct on
 * fresh inputs. */
tw_status tw_finish(tw_state *, tw_error *);
/* finish.c: a candidate's schedule without its dead steps, but with all steps of the baseline at its beginning. */
tw_schedule tw_state_pruned(const tw_state *, const tw_candidate *);
/* duel.c: keeps the baseline, or the kernel of an earlier search, unless the best kernel is faster by more than the
 * noise. After an interrupt, it still compares for a few seconds. */
void tw_defend(tw_state *);
/* duel.c: is the kernel the incumbent, or faster than it by more than the noise? False without time to measure it. */
bool tw_beats_incumbent(tw_state *, const tw_candidate *);
/* duel.c: whether the difference is larger than any noise. */
bool tw_is_clearly_faster(const tw_candidate *, const tw_candidate *than);
/* exchanges.c: records requests in the memo that it returns; then lists them with their results. */
tw_memo tw_exchanges_open(tw_exchanges *);
void tw_exchanges_take(const tw_state *, tw_search_result *);
void tw_exchanges_close(tw_exchanges *);
/* confirm_here.c: evaluates the result and the start of a search by a runner in this process, if the target is
 * usable here. TW_FAILED if the outcomes do not agree. */
tw_status tw_confirm_here(tw_state *, tw_error *);
/* ladder.c: lists the rungs from the start to the best. */
tw_status tw_climb(const tw_state *, tw_search_result *, tw_error *);
/* Marks the rungs that differ from the previous one by no more than the result's error. */
void tw_mark_rungs(tw_search_result *);

/* "the baseline" or "the program". */
const char *tw_state_start_name(const tw_state *);
/* The earlier candidate with this schedule, or NULL. */
tw_candidate *tw_state_find(const tw_state *, const tw_schedule *);
/* The candidate with the kernel's verdict: itself, or the one whose duplicate it is. */
const tw_candidate *tw_state_evaluated(const tw_state *, const tw_candidate *);
/* The nearest ancestor with a schedule, or the candidate itself if it has one; NULL if none has. */
tw_candidate *tw_state_with_schedule(const tw_state *, tw_candidate *);
/* The number of steps of the baseline at the beginning of the schedule: all of them, or 0. */
size_t tw_state_shared_steps(const tw_state *, const tw_schedule *);
/* The first n steps. */
tw_schedule tw_beginning(const tw_schedule *, size_t n);

#endif
