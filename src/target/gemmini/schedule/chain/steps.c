/* steps.c - the menu of a chain: the levers of the paper's menu for such code (Autocomp, figure 17) in this
 * machine's terms. A step is offered if the program that it makes passes the check of its dependences. */
#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/menu.h"

typedef struct chain_menu {
  gm_menu base;
  const gm_config *config;
  const tw_problem *problem;
  const tw_schedule *schedule;
} chain_menu;

static bool try(void *context, const char *step, double *cycles) {
  const chain_menu *m = context;
  tw_schedule longer = *m->schedule;
  return tw_schedule_add(&longer, step, NULL) == TW_OK &&
         gm_chain_predict(m->config, m->problem, &longer, cycles, NULL) == TW_OK;
}

tw_status gm_chain_steps(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                         tw_error *error) {
  *out = (tw_menu){0};
  chain_menu m = {.config = config, .problem = problem, .schedule = schedule};
  m.base = (gm_menu){.try = try, .context = &m, .out = out};
  tw_status status = gm_chain_predict(config, problem, schedule, &m.base.now, error);
  if (status != TW_OK) return status;
  m.base.peak = problem->op->operations(problem) / config->dim / config->dim;
  if (schedule->n < TW_STEPS_MAX) {
    gm_offer(
        &m.base, "fuse",
        "signs are scales of loads, additions D of a compute or sums in the accumulator: nothing left for the core",
        "fuse");
    gm_offer(&m.base, "hoist", "what every step loads again is loaded once", "hoist");
    gm_offer(&m.base, "merge", "configuration is set where it changes; config_ex drains the array", "merge");
    gm_offer(&m.base, "unfence",
             "the reservation station keeps the order that remains: no fence without a dependence through memory",
             "unfence");
    gm_offer(&m.base, "prune", "what no result needs, the last state for one, is not computed", "prune");
    gm_offer(&m.base, "spread", "a bank has one port: operands of a compute in different banks", "spread");
    gm_offer(&m.base, "keep", "vectors stay in the scratchpad: no way through memory from step to step", "keep");
    gm_offer(&m.base, "close",
             "Adyn - Bdyn Kinf once: a step waits for one product of matrix and vector instead of two", "close");
    gm_offer(&m.base, "dataflow", "output-stationary: sums over blocks stay in the array instead of passing through D",
             "os");
    gm_offer(&m.base, "rows", "vectors as rows: sums stay in the array, four results cost what one does", "rows");
    gm_offer(&m.base, "ahead", "two steps with one product: the chain is half as long", "ahead 2");
    gm_offer(&m.base, "ahead", "four steps with one product: the chain is a quarter as long", "ahead 4");
    gm_offer(&m.base, "code",
             "the kernel's code comes in by DMA, many lines at once; the core would fetch one after the other", "code");
    gm_offer(&m.base, "code", "the first lines of code, then the operands, then the rest of the code", "code 1");
    gm_offer(&m.base, "code", "the first lines of code, then the operands, then the rest of the code", "code 3");
    gm_offer(&m.base, "unroll", "no innermost loops over blocks: fewer instructions, a little more code to fetch",
             "unroll inner");
    gm_offer(&m.base, "unroll", "no loops over blocks: fewest instructions, most code to fetch", "unroll all");
  }
  return gm_menu_finish(&m.base, error);
}
