/* agent.h - who proposes candidates: first plans, then kernels that implement them.
 *
 * An agent sees one parent (its schedule and its source) and returns plans: one lever each, or a few that belong
 * together, with a reason in words. The search then asks it for kernels, alternative 0, 1, ... of each plan, until
 * it has enough that are new. What an agent works on is its own business: `rules` appends steps of the target's menu
 * to the schedule and lets the target emit the source; an agent that writes source text fills `source` and leaves
 * the schedule as the record of what it did.
 *
 * Agents are called for several parents at once, on several threads: both functions are thread-safe on a const
 * agent, and deterministic in the request and its random stream. */
#ifndef TW_SEARCH_AGENT_H
#define TW_SEARCH_AGENT_H

#include "base/random.h"
#include "search/candidate.h"
#include "tilewright/target.h"

/* What the search wants for one parent. */
typedef struct tw_request {
  const tw_target *target;
  const tw_problem *problem;
  const tw_candidate *parent;
  int iteration, iterations;
  int idle;              /* iterations since any kernel beat its parent: time for other plans than the usual ones */
  size_t plans, kernels; /* N, and K per plan */
  double dropout;        /* the probability with which a lever is hidden from a plan */
  /* Was this schedule proposed before, by anyone? */
  bool (*known)(const void *context, const tw_schedule *);
  /* How many kernels that took this lever were tried in this search, and how many of them beat their parent. */
  void (*experience)(const void *context, const char *lever, int *tried, int *paid);
  const void *context;
} tw_request;

typedef struct tw_plan {
  char lever[TW_LEVER_MAX]; /* the first one, if it takes several */
  char why[TW_WHY_MAX];
  size_t n_alternatives; /* kernels that the agent can make of this plan, the most promising first */
  void *detail;          /* the agent's own; freed by free_plan */
} tw_plan;

/* What implement makes: one alternative, with all levers that it took. */
typedef struct tw_kernel {
  tw_schedule schedule;
  char *source; /* malloc'ed; NULL if the kernel could not be made: then `message` says why */
  size_t n_levers;
  char lever[TW_LEVERS_MAX][TW_LEVER_MAX];
  char why[TW_WHY_MAX];
  tw_error message;
} tw_kernel;

typedef struct tw_agent {
  const char *name;
  const void *settings; /* the agent's own */
  /* Fills at most request->plans plans, returns how many in *made; none if the parent has no untried step. */
  tw_status (*plan)(const struct tw_agent *, const tw_request *, tw_random *, tw_plan *out, size_t *made, tw_error *);
  /* Fills *out with alternative i of a plan. A kernel that cannot be made is no error: it has no source. */
  tw_status (*implement)(const struct tw_agent *, const tw_request *, const tw_plan *, size_t i, tw_kernel *out,
                         tw_error *);
  void (*free_plan)(tw_plan *);
} tw_agent;

/* Built in: picks levers of the target's menu, guided by the target's analytic model. */
extern const tw_agent tw_agent_rules;

#endif
