/* steps.c - the menu of a chain: the levers of the paper's menu for such code (Autocomp, figure 17), for this
 * machine. A step is offered if its program passes the check of dependences. */
#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/family.h"

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
                       .now_cost = gm_chain_cycles(config, &chain)};
  gm_chain_free(&chain);
  tw_menu_offer_language(&m);
  tw_menu_offer(&m, "prefetch_code", "DMA loads many lines of code at once; the core fetches one line after another",
                "prefetch_code");
  return tw_menu_finish(&m, out, error);
}
