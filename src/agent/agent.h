/* agent.h - the interface of agents: they propose first plans, then kernels that implement them.
 *
 * An agent sees parents (source, cost, counters, lineage, results of their other children) and returns plans: one lever
 * each, or a few that belong together, with a reason in words. The search then orders kernels: alternative 0, 1, ... of
 * each plan, until it has enough new ones. All requests of one round arrive together, for all parents: an agent that
 * waits for a language model or a person decides itself how many questions are in flight.
 *
 * A kernel is source. `rules` appends steps of the target's menu to the parent's recipe and lets the target emit the
 * source; an agent that writes source text leaves the recipe out and describes its change in a line.
 *
 * Requests do not depend on threads or time, and an agent answers by its request and the random stream in it alone.
 * Where that is impossible (the same question to a model has many answers), questions and answers go through the
 * request's memo, so that a resumed search ends alike and asks nothing twice. */
#ifndef TW_AGENT_H
#define TW_AGENT_H

#include "agent/candidate.h"
#include "base/random.h"
#include "base/strings.h"
#include "tilewright/search.h"

/* A question to somebody outside, and the answer. */
typedef struct tw_exchange {
  /* the place of the question in the search: request->place and the agent's own number */
  uint64_t place;
  const char *asked;                   /* all that the answer depends on, word for word, but for secrets */
  const char *model;                   /* name of the answerer */
  bool kernel;                         /* the question was for a kernel, not for a plan */
  char *answer;                        /* malloc'ed; NULL: there was none */
  const char *trouble;                 /* why not */
  double tokens_in, tokens_out, money; /* reported or estimated; money in the unit of the agent's budget */
  double seconds;
} tw_exchange;

/* Where exchanges are kept. Thread-safe. NULL where there is none. */
typedef struct tw_memo {
  void *context;
  /* Looks up the answer that `agent` got to the question at this place. It fills all fields but place and asked.
   * `model` is valid as long as the memo. */
  bool (*recall)(void *context, const char *agent, tw_exchange *);
  void (*keep)(void *context, const char *agent, const tw_exchange *);
} tw_memo;

/* A request of the search for one parent. */
typedef struct tw_request {
  const tw_target *target;
  const tw_problem *problem;
  const tw_bound *bound;
  const tw_candidate *parent;
  const tw_diagnosis *diagnosis; /* of the parent, for a prompt (tw_prompt_diagnose); NULL: none */
  size_t n_lineage;
  const tw_candidate *const *lineage; /* from the start to the parent, both included */
  size_t n_children;
  const tw_candidate *const *child; /* results of the parent's earlier children: verdicts, messages, costs; by number */
  size_t n_beam;
  const tw_candidate *const *beam; /* all parents of this iteration, this one included */
  int iteration, iterations;
  int idle;              /* iterations since any kernel beat its parent: time for other plans than the usual ones */
  size_t plans, kernels; /* N, and K per plan */
  const struct tw_prompt_texts *texts; /* the words of prompts (prompt_texts.h); NULL: the built-in ones */
  const char *user_text;               /* in each prompt; NULL: none */
  const tw_candidate *mate;            /* another program in the prompt, to be combined with the parent; NULL: none */
  size_t ancestors;                    /* earlier versions of the program in a planning prompt, at most */
  const char *more_menu;               /* options for this very program: lines of "name: what to do"; NULL: none */
  bool shuffles_menu;                  /* the options are in random order */
  size_t n_recorded;           /* plans of an earlier search that are offered now, in their order; 0: new plans */
  const char *const *recorded; /* each is a reply to a planning prompt */
  double dropout;              /* the probability with which a lever is hidden from a plan */
  uint64_t without;            /* TW_WITHOUT_* */
  tw_random random;            /* a stream of this request's own */
  uint64_t place;      /* number of this request in the search, in the upper 48 bits; the lower 16 are the agent's */
  int jobs;            /* threads that may compute */
  const tw_stop *stop; /* long operations end when it says so */
  const tw_memo *memo; /* NULL: nothing is kept */
  /* Was this recipe proposed before, by anyone? */
  bool (*known)(const void *context, const tw_schedule *);
  /* How many kernels that took this lever were tried in this search, and how many of them beat their parent. */
  void (*experience)(const void *context, const char *lever, int *tried, int *paid);
  /* The candidate of a number: of `mends` and `twin`. NULL: the request is outside of a search. */
  const tw_candidate *(*candidate)(const void *context, int number);
  const void *context;
} tw_request;

typedef struct tw_agent_plan {
  char lever[TW_LEVER_MAX]; /* the first one, if it takes several */
  char why[TW_WHY_MAX];
  size_t n_alternatives; /* kernels that the agent can make of this plan, the most promising first */
  void *detail;          /* the agent's own; freed by free_plan */
} tw_agent_plan;

/* The answer to a request. On failure it has no plans, and the parent gets none. TW_MISSING: the agent stops
 * answering (its budget is spent, or its server is gone). TW_INTERRUPTED: it was stopped. */
typedef struct tw_proposal {
  size_t n;            /* at most request->plans; none if the agent has nothing to try that was not tried */
  tw_agent_plan *plan; /* room for request->plans, the search's */
  tw_status status;
  tw_error error;
} tw_proposal;

/* One kernel that is wanted: alternative i of a plan. */
typedef struct tw_order {
  const tw_request *request;
  const tw_agent_plan *plan;
  size_t alternative;
  /* The last try, with verdict and message, to be mended: a kernel, or a reply without one. NULL: a first try. */
  const tw_candidate *failed;
  int mended; /* how often it is ordered again, this time included */
} tw_order;

/* The result of an order. */
typedef struct tw_kernel {
  bool has_recipe;
  tw_schedule recipe;
  char *source; /* malloc'ed; NULL if no kernel was made: then `message` says why */
  size_t n_levers;
  char lever[TW_LEVERS_MAX][TW_LEVER_MAX];
  char step[TW_STEP_MAX]; /* without a schedule: the change to the parent, in a line */
  char why[TW_WHY_MAX];
  uint64_t exchange; /* the question to a model that it answers; 0: none */
  char *reply;       /* malloc'ed: without a source, the model's answer; NULL: it gave none */
  tw_error
      message; /* TW_FAILED: the failure counts as a tried kernel; TW_INTERRUPTED, TW_MISSING: no kernel was tried */
} tw_kernel;

typedef struct tw_agent tw_agent;
struct tw_agent {
  const char *name;  /* "rules", "llm:MODEL": how journals and ladders tell it from others */
  bool needs_recipe; /* it works on schedules: parents without a recipe are left to others */
  /* answers cost money: a search then has the paper's defaults instead of the defaults for cheap plans */
  bool asks_models;
  int mends; /* how often a failed kernel is ordered again, with its error */
  void *own; /* the agent's */
  /* Answers requests: proposal[i] to request[i]. */
  void (*plan)(tw_agent *, size_t n, const tw_request *const request[], tw_proposal proposal[]);
  /* Fills orders: kernel[i] for order[i]. */
  void (*implement)(tw_agent *, size_t n, const tw_order order[], tw_kernel kernel[]);
  void (*free_plan)(tw_agent_plan *);
  /* Frees the agent. Lines for the user about failures and spending are added to `notes` (may be NULL). */
  void (*close)(tw_agent *, tw_text *notes);
};

/* An agent of an ensemble. Plans are divided by shares among the agents that can work on a parent. */
typedef struct tw_member {
  tw_agent *agent;
  double share; /* > 0 */
} tw_member;

/* Opens an agent by the user's text: "rules", or with a share "2*rules". The kinds are a table in open.c. */
tw_status tw_agent_open(const char *text, const tw_target *, const tw_model_options *, tw_member *out, tw_error *);

/* rules.c: levers of the target's menu, guided by the target's analytic model; `random` draws steps of the menu. */
tw_status tw_rules_open(const char *text, const tw_target *, const tw_model_options *, tw_agent **out, tw_error *);
/* llm.c: a language model, or a command, that answers requests for plans and for source. */
tw_status tw_llm_open(const char *text, const tw_target *, const tw_model_options *, tw_agent **out, tw_error *);
/* llm.c: TW_USAGE if an option is set that has an effect on language models alone; for a search without one. */
tw_status tw_llm_check_unused(const tw_model_options *, tw_error *);
/* recorded.c: steps of earlier searches, one at a time. The schedules must outlive the agent. */
tw_status tw_recorded_open(size_t n, const tw_schedule[], tw_agent **out, tw_error *);
/* rewrites.c: rewrites of a user's program, which must outlive the agent and is the start of the search. */
tw_status tw_rewrites_open(const tw_target *, const tw_program *, tw_agent **out, tw_error *);

#endif
