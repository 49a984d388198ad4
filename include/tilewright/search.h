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
 * built, checked and measured, if there are at most TW_EXHAUSTIVE_MOST of them. With `samples`, the first of them are,
 * in the order of the number of their steps, and there may be more. */
#ifndef TILEWRIGHT_SEARCH_H
#define TILEWRIGHT_SEARCH_H

#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_progress {
  int iteration, iterations;
  /* Number of candidates evaluated so far; largest number planned. */
  int done, planned;
  int correct;
  double best_utilization;
  /* Seconds; left is an estimate, < 0 if unknown. */
  double elapsed, left;
} tw_progress;

/* tw_progress and more, for `watch`. Later versions may add members at the end. */
typedef struct tw_search_status {
  tw_progress progress;
  /* Best cost in the target's unit; 0: no candidate is correct yet. */
  double best_cost;
  /* Cost of the baseline; 0: not known yet. */
  double start_cost;
  /* The lower bound. */
  double bound_cost;
  /* Number of candidates in progress.done whose verdict came from the journal. */
  int recalled;
} tw_search_status;

enum { TW_EXHAUSTIVE_MOST = 4000 };

/* Requests of agents to language models: content and budgets. */
typedef struct tw_model_options {
  /* sizeof(tw_model_options): see status.h. */
  size_t size;
  /* The options of a planning prompt are in random order. */
  bool shuffle_menu;
  /* One answer contains both plan and kernel. */
  bool one_question;
  /* One more question for each parent: options for its program, added to the menu. */
  bool own_menu;
  /* Sampling temperature; 0 = 1; < 0 = the server's default. */
  double temperature;
  /* Repairs: how often a failed kernel is sent back with its error; 0 = once, < 0 = never. */
  int fixes;
  /* Number of questions in flight; 0 = 4. */
  int at_once;
  /* Largest number of earlier versions of the program in a planning prompt; 0 = none. */
  int ancestors;
  /* Time limit of an answer in seconds; 0 = 600. */
  double seconds;
  /* Limit of tokens of an answer; 0 = the server's limit. */
  int reply_tokens;
  /* Budgets of each agent. An agent that has used one up gets no more requests. 0 = no limit. */
  int questions;
  /* Limit of tokens in and out, as the server counts, or characters / 4 if it does not count. */
  double tokens;
  /* Limit of the cost at the prices below. */
  double money;
  /* Prices of a million tokens. */
  double price_in, price_out;
  /* Folder of prompt texts in the form of `tilewright prompt --write`; NULL = the built-in texts. */
  const char *prompts;
  /* File whose text is part of every prompt; NULL = none. */
  const char *context;
  /* Reasoning effort: "low", "medium" or "high"; NULL = the server's default. */
  const char *effort;
  /* Probability that a planning prompt has no measurements. */
  double hide_scores;
  /* Probability that a planning prompt shows a second parent, to combine the two. */
  double combine;
  /* Number of first iterations that only translate the program to the machine's language; 0 = none. */
  int translate;
  /* A prompt for a kernel describes only instructions that the program or the plan uses. */
  bool filter_isa;
  /* Must be 0. */
  char reserved[3];
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
  /* sizeof(tw_search_options): see status.h. */
  size_t size;
  /* Try every candidate. Iterations, plans, kernels, beam and dropout then have no effect. */
  bool exhaustive;
  /* Trust foreign sources: build them even if the system cannot confine compilers. */
  bool trust;
  /* `start` was found for exactly this problem (`start_source` always is). The result is then no slower than `start`,
   * unless the baseline is faster. */
  bool start_is_exact;
  /* Number of iterations (T); 0 = default. */
  int iterations;
  /* Number of plans per parent (N); 0 = default. */
  int plans;
  /* Number of kernels per plan (K); 0 = default. */
  int kernels;
  /* Size of the beam (B); 0 = default. */
  int beam;
  /* Probability that a menu entry is hidden from a plan; < 0 = default. */
  double dropout;
  /* Seed of all choices. */
  uint64_t seed;
  /* Seed of the inputs for checks of kernels; 0 = an unpredictable seed. */
  uint64_t inputs;
  /* Number of threads; 0 = all cores. */
  int jobs;
  /* Stop after this number of candidates, evaluated or recalled from a journal; 0 = no limit. Agents with models run after agents without, with an equal number of their own. */
  int samples;
  /* The search and the confirmation of its result end within max(1.2 seconds, seconds + 2), unless the baseline alone takes longer; 0 = no limit. Agents with and without models share it. */
  double seconds;
  /* A command that evaluates (see `tilewright evaluate`); NULL = threads of this process. */
  const char *runner;
  /* SQLite file; NULL = none. An interrupted search resumes from it. */
  const char *journal;
  /* Schedule to start from in addition to the baseline (wisdom); NULL = none. */
  const tw_schedule *start;
  /* Source to start from in addition to the baseline (wisdom); NULL = none. */
  const char *start_source;
  /* Source to start from instead of the target's baseline; NULL = none. Agents that work on schedules have nothing to do with it. */
  const char *program;
  /* Agents that propose kernels, with an optional share: "rules", "2*llm:MODEL". */
  const char *const *agents;
  /* Number of `agents`; 0: only "rules". */
  size_t n_agents;
  /* Options of agents that ask language models; NULL: defaults. */
  const tw_model_options *model;
  /* Stop when it becomes non-zero; NULL = never. */
  const volatile int *interrupt;
  /* Called from the calling thread; may be NULL. */
  void (*progress)(void *context, const tw_progress *);
  void *context;
  /* The command line, for the journal and its reports; NULL: none. */
  const char *command;
  /* As `progress`; may be NULL. */
  void (*watch)(void *context, const tw_search_status *);
  /* Evaluates kernels, `jobs` at a time. The command opens and closes it. NULL: threads or the runner evaluate. */
  struct tw_backend *backend;
  /* Earlier searches of this op and target: the output directory, the journal or a file of steps of each. First, a short search with
   * a small beam tries their steps one at a time, and agents with models get their plans. The full search follows with the rest of
   * `samples`. A `start` of another shape with illegal steps is reused in the same way. */
  const char *const *reuse;
  size_t n_reuse;
  /* Bits TW_WITHOUT_*; a bit that changes nothing for the agents is an error. */
  uint64_t without;
  /* The time limit begins at this time of CLOCK_MONOTONIC, in seconds; 0 = with the call. */
  double began;
} tw_search_options;

/* ---- the result ---- */

/* The result of tw_search and tw_tune; free it with tw_search_result_free. It owns everything that the functions below return.
 * Later versions may add members at the end of the returned structs. */
typedef struct tw_search_result tw_search_result;

/* One rung of the ladder: a step of the schedule and its result. */
typedef struct tw_rung {
  /* The step; "start" for the first rung. */
  char step[TW_STEP_MAX];
  char why[480];
  /* The agent that proposed it. */
  char agent[64];
  double cost, utilization;
  /* The cost differs from the last significant rung before it by less than tw_search_result_error. The command marks such a rung
   * with `~`. */
  bool within_error;
} tw_rung;

/* A question that an agent asked a language model, and its result. */
typedef struct tw_model_call {
  char agent[64], model[64];
  /* Place of the question in its iteration: ascending in the order of parents, plans and kernels. */
  uint64_t place;
  int iteration;
  /* Tokens: as the server counts, or characters / 4. */
  double tokens_in, tokens_out, money, seconds;
  /* True if the journal had the answer. */
  bool recalled;
  /* The candidate with the answer's kernel; -1: none. */
  int candidate;
  /* Cost of this candidate; 0: it was not measured. */
  double cost;
  /* "a plan"; or the kernel's error, or "correct"; or why no answer came. */
  char outcome[160];
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
