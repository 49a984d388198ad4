/* search.h - the beam search over candidates.
 *
 * A candidate has a source, and a schedule if the target emitted the source from one. In each iteration every
 * parent in the beam gets `plans` plans of one lever each, and each plan `kernels` kernels. The plans are divided among
 * the agents. Agents without a language model run first, until their search ends; agents with a model follow. Kernels are
 * built, checked and measured on `jobs` threads. The best `beam` kernels that are correct and beat their parent are the next
 * beam. On some targets measuring is safe without a check and costs less (tw_traits.measures_first). There, a kernel that does
 * not beat its parent is not checked. On a simulated target the result depends only on problem, target, options and start schedule,
 * never on `jobs` or timing, unless `seconds` ends the search. tw_search neither reads nor writes wisdom: tw_tune (tune.h) does.
 *
 * With `exhaustive` the search has no beam: every kernel that the menu leads to, step by step from the baseline, is
 * built, checked and measured, if there are at most TW_EXHAUSTIVE_MOST of them. */
#ifndef TILEWRIGHT_SEARCH_H
#define TILEWRIGHT_SEARCH_H

#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_progress {
  int iteration, iterations;
  int done, planned; /* candidates evaluated / planned at most */
  int correct;
  double best_utilization;
  double elapsed, left; /* seconds; left is an estimate, < 0 if unknown */
} tw_progress;

/* tw_progress and more, for `watch`. Later versions may add members at the end. */
typedef struct tw_search_status {
  tw_progress progress;
  double best_cost;  /* in the target's unit; 0: no candidate is correct yet */
  double start_cost; /* of the baseline; 0: not known yet */
  double bound_cost; /* the lower bound */
  int recalled;      /* candidates of progress.done whose verdict came from the journal */
} tw_search_status;

enum { TW_EXHAUSTIVE_MOST = 4000 };

/* Requests of agents to language models: content and budgets. */
typedef struct tw_model_options {
  size_t size;        /* sizeof(tw_model_options): status.h */
  bool shuffle_menu;  /* the options of a planning prompt are in random order */
  bool one_question;  /* plan and kernel are one answer */
  bool own_menu;      /* one more question for each parent: options for its program, added to the menu */
  double temperature; /* 0 = 1; < 0 = the server's default */
  int fixes;          /* repairs: how often a failed kernel is sent back with its error; 0 = once, < 0 = never */
  int at_once;        /* questions in flight; 0 = 4 */
  int ancestors;      /* earlier versions of the program in a planning prompt, at most; 0 = none */
  double seconds;     /* time limit of an answer; 0 = 600 */
  int reply_tokens;   /* limit of tokens of an answer; 0 = the server's limit */
  /* Budgets of each agent. An agent that has used one up gets no more requests. 0 = no limit. */
  int questions;
  double tokens;              /* in and out, as the server counts, or characters / 4 if it does not count */
  double money;               /* at the prices below */
  double price_in, price_out; /* of a million tokens */
  const char *prompts; /* folder of prompt texts, as `tilewright prompt --write` makes it; NULL = the built-in texts */
  const char *context; /* file whose text is part of every prompt; NULL = none */
  const char *effort;  /* reasoning effort: "low", "medium" or "high"; NULL = the server's default */
  double hide_scores;  /* probability that a planning prompt has no measurements */
  double combine;      /* probability that a planning prompt shows a second parent, to combine the two */
  int translate;       /* first iterations that only translate the program to the machine's language; 0 = none */
  bool filter_isa;     /* a prompt for a kernel describes only instructions that the program or the plan uses */
  char reserved[3];    /* 0 */
} tw_model_options;

/* Parts of a search that can be switched off to measure their effect: bits of tw_search_options.without. */
enum {
  TW_WITHOUT_MENU = 1,     /* the options in planning prompts */
  TW_WITHOUT_ISA = 2,      /* the machine's language in prompts */
  TW_WITHOUT_FEEDBACK = 4, /* measurements, history and earlier tries in prompts; the success rates of `rules` */
  TW_WITHOUT_MODEL = 8,    /* the analytic model's predictions in `rules` */
  TW_WITHOUT_EXAMPLES = 16 /* examples in prompts */
};
/* The bits of names, separated by commas: "menu", "isa", "feedback", "model", "examples". */
TW_API tw_status tw_without_parse(const char *names, uint64_t *out, tw_error *);

typedef struct tw_search_options {
  size_t size;     /* sizeof(tw_search_options): status.h */
  bool exhaustive; /* iterations, plans, kernels, beam and dropout then have no effect */
  bool trust;      /* trust foreign sources: build them even if the system cannot confine compilers */
  /* `start` was found for exactly this problem (`start_source` always is). The result is then no slower than `start`,
   * unless the baseline is faster. */
  bool start_is_exact;
  int iterations;           /* T; 0 = default */
  int plans;                /* N, per parent; 0 = default */
  int kernels;              /* K, per plan; 0 = default */
  int beam;                 /* B; 0 = default */
  double dropout;           /* probability that a menu entry is hidden from a plan; < 0 = default */
  uint64_t seed;            /* seed of all choices */
  uint64_t inputs;          /* seed of the inputs that kernels are checked on; 0 = an unpredictable one */
  int jobs;                 /* threads; 0 = all cores */
  int samples;              /* stop after this number of candidates, evaluated or recalled from a journal; 0 = no limit.
                              * Agents with models run after agents without, with an equal number of their own */
  double seconds;           /* the search and the confirmation of its result end within max(1.2 seconds, seconds + 2),
                              * unless the baseline alone takes longer; 0 = no limit. Agents with and without models share it */
  const char *runner;       /* a command that evaluates (see `tilewright evaluate`); NULL = threads here */
  const char *journal;      /* SQLite file; NULL = none. An interrupted search resumes from it. */
  const tw_schedule *start; /* schedule to start from in addition to the baseline (wisdom); NULL = none */
  const char *start_source; /* source to start from in addition to the baseline (wisdom); NULL = none */
  const char *program;      /* source to start from instead of the target's baseline; NULL = none. Agents
                                  * that work on schedules have nothing to do with it. */
  const char *const *agents;     /* agents that propose kernels, with an optional share: "rules", "2*llm:MODEL" */
  size_t n_agents;               /* 0: "rules" alone */
  const tw_model_options *model; /* for agents that ask language models; NULL: defaults */
  const volatile int *interrupt; /* stop when it becomes non-zero; NULL = never */
  void (*progress)(void *context, const tw_progress *); /* called from the calling thread; may be NULL */
  void *context;
  const char *command; /* the command line, for the journal and its reports; NULL: none */
  void (*watch)(void *context, const tw_search_status *); /* as `progress`; may be NULL */
  /* Evaluates kernels, `jobs` at a time. The command opens and closes it. NULL: threads or the runner evaluate. */
  struct tw_backend *backend;
  /* Earlier searches of this op and target: the output directory, the journal or a file of steps of each. First, a short search with
   * a small beam tries their steps one at a time, and agents with models get their plans. The full search follows with the rest of
   * `samples`. A `start` of another shape with illegal steps is reused in the same way. */
  const char *const *reuse;
  size_t n_reuse;
  uint64_t without; /* bits TW_WITHOUT_*; a bit that changes nothing for the agents is an error */
  double began;     /* the time limit begins at this time of CLOCK_MONOTONIC, in seconds; 0 = with the call */
} tw_search_options;

/* ---- the result ---- */

/* The result of tw_search and tw_tune; free it with tw_search_result_free. It owns everything that the functions below return.
 * Later versions may add members at the end of the returned structs. */
typedef struct tw_search_result tw_search_result;

/* One rung of the ladder: a step of the schedule and its result. */
typedef struct tw_rung {
  char step[TW_STEP_MAX]; /* "start" for the first */
  char why[480];
  char agent[64]; /* the agent that proposed it */
  double cost, utilization;
  /* The cost differs from the last significant rung before it by less than tw_search_result_error. The command marks such a rung
   * with `~`. */
  bool within_error;
} tw_rung;

/* A question that an agent asked a language model, and its result. */
typedef struct tw_model_call {
  char agent[64], model[64];
  uint64_t place; /* of the question in its iteration: ascending in the order of parents, plans and kernels */
  int iteration;
  double tokens_in, tokens_out, money, seconds; /* tokens: as the server counts, or characters / 4 */
  bool recalled;                                /* the journal had the answer */
  int candidate;                                /* the candidate with the answer's kernel; -1: none */
  double cost;                                  /* of this candidate; 0: it was not measured */
  char outcome[160]; /* "a plan", what is wrong with the kernel or "correct", or why no answer came */
} tw_model_call;

/* Who measured the result. Results of tw_search_options.runner are only checked for plausibility. */
typedef enum tw_cost_from {
  TW_COST_HERE,      /* this process */
  TW_COST_CONFIRMED, /* the runner, then this process: this process determined costs and verdict */
  TW_COST_REPORTED,  /* only the runner reported it: the notes say why it was not confirmed */
  TW_COST_WISDOM,    /* an earlier search with this machine, compiler and version: tw_tune found it in wisdom */
} tw_cost_from;

/* TW_OK, or TW_INTERRUPTED with the best so far in *out (NULL if there was none yet); otherwise *out is NULL. The best kernel is
 * checked once more on fresh inputs before it is returned, unless the search was interrupted. */
TW_API tw_status tw_search(const tw_target *, const tw_problem *, const tw_search_options *, tw_search_result **out,
                           tw_error *);
TW_API void tw_search_result_free(tw_search_result *); /* NULL is fine */

TW_API const char *tw_search_result_source(const tw_search_result *);
/* The schedule that the target emits the source from; NULL: the source has none. */
TW_API const tw_schedule *tw_search_result_schedule(const tw_search_result *);
TW_API const tw_measurement *tw_search_result_best(const tw_search_result *);
/* The baseline, or the user's program; NULL: not measured, because the result comes from wisdom. */
TW_API const tw_measurement *tw_search_result_start(const tw_search_result *);
TW_API const char *tw_search_result_start_source(const tw_search_result *); /* NULL as above */
TW_API tw_cost_from tw_search_result_cost_from(const tw_search_result *);
TW_API const tw_bound *tw_search_result_bound(const tw_search_result *);
/* Smaller relative differences of costs are not significant: the error of the target's model, or half of the distance between
 * the quartiles of the timed rounds; 0: unknown. */
TW_API double tw_search_result_error(const tw_search_result *);
/* The compared part of the best kernel's outputs: "every element", or "sampled: ..."; "" if unknown. */
TW_API const char *tw_search_result_coverage(const tw_search_result *);
/* The ladder from the start to the best, by index; NULL past the last. */
TW_API const tw_rung *tw_search_result_rung(const tw_search_result *, size_t index);
/* Questions to language models in the order of iterations and places, by index; NULL past the last. */
TW_API const tw_model_call *tw_search_result_model_call(const tw_search_result *, size_t index);
TW_API int tw_search_result_samples(const tw_search_result *);  /* candidates evaluated (duplicates once) */
TW_API int tw_search_result_correct(const tw_search_result *);  /* ... that were correct */
TW_API int tw_search_result_recalled(const tw_search_result *); /* ... that the journal knew: a search was resumed */
/* ... that were slower than their parent, as measured or by a bound, and therefore not checked. */
TW_API int tw_search_result_slower(const tw_search_result *);
TW_API double tw_search_result_seconds(const tw_search_result *);
/* No kernel beat the baseline by more than the noise: the best is the baseline. */
TW_API bool tw_search_result_is_baseline(const tw_search_result *);
/* The best kernel is the user's program (tw_tune_options.program), rewritten or unchanged. The rungs are rewrites. */
TW_API bool tw_search_result_is_rewritten(const tw_search_result *);
/* Lines for the user, each ended by a newline: steps of `start` that are illegal here, a journal that could not be written, ...;
 * "" if there are none. */
TW_API const char *tw_search_result_notes(const tw_search_result *);

#ifdef __cplusplus
}
#endif
#endif
