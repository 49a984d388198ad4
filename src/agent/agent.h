/* agent.h - the interface of agents: they propose first plans, then kernels that implement them.
 *
 * An agent sees parents (source, cost, counters, lineage, results of their other children) and returns plans: one lever
 * each, or a few that belong together, with a reason in words. The search then orders kernels. It asks for alternative
 * 0, 1, ... of each plan until it has enough new kernels. All requests of one round arrive together, for all parents:
 * an agent that waits for a language model or a person sets its own number of questions in flight.
 *
 * A kernel is source. `rules` appends steps of the target's menu to the parent's schedule, and the target emits the
 * source. An agent that writes source text gives no schedule and describes its change in a line.
 *
 * Requests do not depend on threads or time. An answer depends only on the request and its random stream. A language
 * model gives many answers to one question, so its questions and answers are kept in the request's memo. A resumed
 * search therefore has an equal result and repeats no question. */
#ifndef TW_AGENT_H
#define TW_AGENT_H

#include "agent/candidate.h"
#include "base/random.h"
#include "base/strings.h"
#include "tilewright/extend/target.h"
#include "tilewright/search.h"

/* A question to a model or a person, and the answer. */
typedef struct tw_exchange {
  /* the place of the question in the search: request->place and the agent's own number */
  uint64_t place;
  const char *asked;                   /* everything that determines the answer, word for word, except secrets */
  const char *model;                   /* name of the model or command */
  bool kernel;                         /* the question was for a kernel, not for a plan */
  char *answer;                        /* malloc'ed; NULL: no answer */
  const char *trouble;                 /* the reason, if `answer` is NULL */
  double tokens_in, tokens_out, money; /* reported or estimated; money in the unit of the agent's budget */
  double seconds;
} tw_exchange;

/* The store of exchanges. Thread-safe. */
typedef struct tw_memo {
  void *context;
  /* Looks up the answer that `agent` got to the question at this place. It fills all fields but place and asked.
   * `model` is valid until the memo is freed. */
  bool (*recall)(void *context, const char *agent, tw_exchange *);
  void (*keep)(void *context, const char *agent, const tw_exchange *);
} tw_memo;

/* A request of the search for one parent. */
typedef struct tw_request {
  const tw_target *target;
  const tw_problem *problem;
  const tw_bound *bound;
  const tw_candidate *parent;
  const tw_diagnosis *diagnosis; /* diagnosis of the parent, for a prompt (tw_prompt_diagnose); NULL: none */
  const char *inner_loop;        /* its compiled inner loop, for a prompt (tw_prompt_inner_loop); NULL: none */
  size_t n_lineage;
  const tw_candidate *const *lineage; /* from the start to the parent, both included */
  size_t n_relatives;
  const tw_candidate *const *relative; /* other children of the parent's ancestors, by number */
  size_t n_children;
  const tw_candidate *const *child; /* results of the parent's earlier children: verdicts, messages, costs; by number */
  size_t n_beam;
  const tw_candidate *const *beam; /* all parents of this iteration, this one included */
  int iteration, iterations;
  int idle;              /* iterations since a kernel beat its parent; unusual plans are tried as it grows */
  size_t plans, kernels; /* number of plans, and of kernels per plan */
  const struct tw_prompt_texts *texts; /* the words of prompts (prompt_texts.h); NULL: the built-in ones */
  const char *user_text;               /* a text in each prompt; NULL: none */
  const tw_candidate *mate;            /* another program in the prompt, to be combined with the parent; NULL: none */
  size_t ancestors;                    /* maximum number of earlier versions of the program in a planning prompt */
  const char *more_menu;               /* options for this program: lines of "name: what to do"; NULL: none */
  bool shuffles_menu;                  /* the options are in random order */
  bool filters_isa;                    /* prompts for kernels omit instructions that nothing in them uses */
  bool translates;   /* a part of the program is translated to the machine's language; its speed does not count yet */
  size_t n_recorded; /* plans of an earlier search that are offered now, in their order; 0: new plans */
  const char *const *recorded; /* each is a reply to a planning prompt */
  double dropout;              /* the probability with which a lever is hidden from a plan */
  uint64_t without;            /* TW_WITHOUT_* */
  tw_random random;            /* a separate random stream of this request */
  uint64_t place;      /* number of this request in the search, in the upper 48 bits; the lower 16 are the agent's */
  int jobs;            /* threads that may compute */
  const tw_stop *stop; /* long operations end when it is set */
  const tw_memo *memo; /* NULL: nothing is kept */
  /* True if an agent proposed this schedule before. */
  bool (*known)(const void *context, const tw_schedule *);
  /* True if a candidate before this iteration has this source. Other steps may lead to the same source. */
  bool (*known_source)(const void *context, const char *source);
  /* The number of kernels with this lever in this search, and the number that beat their parent. */
  void (*experience)(const void *context, const char *lever, int *tried, int *paid);
  /* The candidate with a number, for `repairs` and `twin`. NULL: the request is outside of a search. */
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
  size_t n;            /* at most request->plans; 0 without a new plan */
  tw_agent_plan *plan; /* room for request->plans, the search's */
  tw_status status;
  tw_error error;
} tw_proposal;

/* The order of one kernel: alternative i of a plan. */
typedef struct tw_order {
  const tw_request *request;
  const tw_agent_plan *plan;
  size_t alternative;
  /* The failed earlier try with verdict and message: a kernel, or a reply without a kernel. NULL: this is the first
   * try. */
  const tw_candidate *failed;
  int repaired; /* number of this repair; 0: a first try */
} tw_order;

/* The result of an order. */
typedef struct tw_kernel {
  bool has_schedule;
  tw_schedule schedule;
  char *source; /* malloc'ed; NULL: no kernel, and `message` has the reason */
  size_t n_levers;
  char lever[TW_LEVERS_MAX][TW_LEVER_MAX];
  char step[TW_STEP_MAX]; /* without a schedule: the change to the parent, in a line */
  char why[TW_WHY_MAX];
  uint64_t exchange; /* the number of the question to a model; 0: none */
  int complete;      /* the translated percentage, by its author's estimate; 0: not stated */
  char *reply;       /* malloc'ed: the model's answer if it has no source; NULL: no answer */
  tw_error
      message; /* TW_FAILED: the failure counts as a tried kernel; TW_INTERRUPTED, TW_MISSING: no kernel was tried */
} tw_kernel;

typedef struct tw_agent tw_agent;
struct tw_agent {
  const char *name;    /* "rules", "llm:MODEL": its name in journals and ladders */
  bool needs_schedule; /* it extends schedules, so it gets no parents without a schedule */
  /* answers cost money, so the search uses the defaults of the Autocomp paper instead of the defaults for cheap
   * plans */
  bool asks_models;
  int max_repairs;  /* repairs of a failed kernel, at most */
  int translations; /* number of its first iterations whose requests it answers with a translation */
  void *own;        /* data of the agent */
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
/* llm.c: TW_USAGE if an option for language models is set; for a search without a model. */
tw_status tw_llm_check_unused(const tw_model_options *, tw_error *);
/* recorded.c: steps of earlier searches, one at a time. The schedules must outlive the agent. */
tw_status tw_recorded_open(size_t n, const tw_schedule[], tw_agent **out, tw_error *);
/* rewrites.c: rewrites of a user's program, which must outlive the agent and is the start of the search. */
tw_status tw_rewrites_open(const tw_target *, const tw_program *, tw_agent **out, tw_error *);

#endif
