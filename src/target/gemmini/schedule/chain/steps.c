/* steps.c - the menu of a chain: the levers of the paper's menu for such code (Autocomp, figure 17), for this
 * machine. A step is offered if its program passes the check of dependences. */
#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/family.h"

static const char code_why[] = "load the first lines of code, then the operands, then the remaining code";
static const tw_offer offers[] = {
    {"fuse", "fuse", "scales of loads, operand D and the accumulator do signs and additions, so the core does none"},
    {"hoist", "hoist", "load once the operands that every step loads"},
    {"merge", "merge", "set configuration only where it changes, because config_ex drains the array"},
    {"unfence", "unfence", "the reservation station orders commands; only dependences through memory need fences"},
    {"drain", "drain", "config_ex waits only for the array, so the core issues the next commands meanwhile"},
    {"prune", "prune", "do not compute unused values, such as the last state"},
    {"spread_banks", "spread_banks", "a bank has one port: place the operands of a compute in different banks"},
    {"keep_resident", "keep_resident", "vectors stay in the scratchpad between steps, not in memory"},
    {"closed_loop", "closed_loop",
     "compute Adyn - Bdyn Kinf once: each step waits for one matrix-vector product, not two"},
    {"dataflow", "output_stationary", "sums over blocks stay in the array instead of passing through D"},
    {"row_vectors", "row_vectors", "vectors as rows: sums stay in the array, and four results cost as much as one"},
    {"lookahead", "lookahead 2", "one product spans two steps: the recurrence is half as long"},
    {"lookahead", "lookahead 4", "one product spans four steps: the recurrence is a quarter as long"},
    {"prefetch_code", "prefetch_code", "DMA loads many lines of code at once; the core fetches one line after another"},
    {"prefetch_code", "prefetch_code 1", code_why},
    {"prefetch_code", "prefetch_code 3", code_why},
    {"unroll", "unroll inner",
     "unroll the innermost loops over blocks: fewer instructions, slightly more code to fetch"},
    {"unroll", "unroll all", "unroll all loops over blocks: fewest instructions, most code to fetch"},
};

typedef struct context {
  gm_chain_problem p; /* the first member: the context of the language's functions */
  const gm_config *config;
} context;

static double judge(const void *at, const void *plan) {
  const context *c = at;
  gm_chain chain;
  if (gm_chain_make(c->config, &c->p, plan, &chain, NULL) != TW_OK) return 0;
  const double cycles = gm_chain_cycles(c->config, &chain);
  gm_chain_free(&chain);
  return cycles;
}

tw_status gm_chain_steps(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                         tw_error *error) {
  const gm_config *config = gm_config_of(target);
  *out = (tw_menu){0};
  context c = {.config = config};
  gm_chain_plan now, next;
  gm_chain chain;
  tw_status status = gm_chain_problem_from(config, problem, &c.p, error);
  if (status == TW_OK) status = gm_chain_from(config, problem, schedule, &now, &chain, error);
  if (status != TW_OK) return status;
  tw_menu_builder m = {.language = &gm_chain_language,
                       .context = &c,
                       .schedule = schedule,
                       .now = &now,
                       .next = &next,
                       .plan_size = sizeof now,
                       .judge = judge,
                       .now_cost = gm_chain_cycles(config, &chain),
                       .peak_cost = problem->op->operations(problem) / config->dim / config->dim};
  gm_chain_free(&chain);
  tw_menu_offer_all(&m, sizeof offers / sizeof *offers, offers);
  return tw_menu_finish(&m, out, error);
}
