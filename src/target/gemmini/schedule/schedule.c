/* schedule.c - the families of schedules, one an op. */
#include "target/gemmini/schedule/schedule.h"

#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/family.h"

static const gm_family families[] = {
    {"gemm", gm_gemm_steps, gm_gemm_emit, gm_gemm_predict, gm_gemm_bound, &gm_gemm_words},
    {"conv2d", gm_conv2d_steps, gm_conv2d_emit, gm_conv2d_predict, gm_conv2d_bound, &gm_conv2d_words},
    {"mpc_forward", gm_chain_steps, gm_chain_emit, gm_chain_predict, gm_chain_bound, &gm_chain_words},
    {"mpc_backward", gm_chain_steps, gm_chain_emit, gm_chain_predict, gm_chain_bound, &gm_chain_words},
};

const gm_family *gm_family_of(const char *op) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strcmp(families[i].op, op) == 0) return &families[i];
  return NULL;
}

static tw_status unknown(const gm_config *config, const tw_problem *problem, tw_error *error) {
  char known[128] = "";
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
    strncat(known, families[i].op, sizeof known - strlen(known) - 1);
  }
  return tw_fail(error, TW_USAGE, "%s: op %s is not supported; supported: %s", config->name, problem->op->name, known);
}

tw_status gm_steps(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                   tw_error *error) {
  const gm_family *f = gm_family_of(problem->op->name);
  *out = (tw_menu){0};
  return f ? f->steps(config, problem, schedule, out, error) : unknown(config, problem, error);
}

tw_status gm_emit(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, char **source,
                  tw_error *error) {
  const gm_family *f = gm_family_of(problem->op->name);
  return f ? f->emit(config, problem, schedule, source, error) : unknown(config, problem, error);
}

tw_status gm_predict(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, double *cycles,
                     tw_error *error) {
  const gm_family *f = gm_family_of(problem->op->name);
  return f ? f->predict(config, problem, schedule, cycles, error) : unknown(config, problem, error);
}

/* An op without schedules of its own can be run all the same: every multiplication once, every operand once. */
static tw_status plain_bound(const gm_config *config, const tw_problem *problem, tw_bound *bound) {
  bound->compute_cost = problem->op->operations(problem) / (config->dim * config->dim);
  bound->memory_cost = problem->op->bytes(problem) / (config->dma_bus_bits / 8.0);
  bool array = bound->compute_cost >= bound->memory_cost;
  bound->cost = array ? bound->compute_cost : bound->memory_cost;
  snprintf(bound->limit, sizeof bound->limit,
           array ? "the array: every multiplication once" : "the bus: every operand once");
  return TW_OK;
}

tw_status gm_bound(const gm_config *config, const tw_problem *problem, tw_bound *bound, tw_error *error) {
  const gm_family *f = gm_family_of(problem->op->name);
  *bound = (tw_bound){0};
  return f ? f->bound(config, problem, bound, error) : plain_bound(config, problem, bound);
}
