/* plan.c - the levers of a chain: problems, steps, and the program of a plan.
 *
 *   fuse         element-wise work rides on loads, computes and the accumulator
 *   hoist        loads that every step repeats are made once
 *   merge        configuration is set where it changes
 *   unfence      fences go where no dependence needs them
 *   prune        what no result needs is not computed
 *   spread       operands lie in different banks
 *   keep         vectors stay in the scratchpad from step to step
 *   close        forward: the loop of state and input is closed once, for all steps
 *   os           sums over blocks stay in the array: output-stationary
 *   rows         vectors as rows, sums in the array, results of four steps at once; takes the place of os
 *   ahead 2      steps of the recurrence that one product spans
 *   code         the kernel's own code is brought into the L2 by loads; code 2: by two before the operands, the rest after
 *   unroll inner loops over blocks: the innermost, or all, are unrolled */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/words.h"

/* Products that a schedule may issue in all: what is beyond would only be slow to look at. */
enum { PRODUCTS_LIMIT = 4000000 };

tw_status gm_chain_problem_from(const gm_config *config, const tw_problem *problem, gm_chain_problem *out,
                                tw_error *error) {
  const tw_mpc m = tw_mpc_of(problem);
  *out = (gm_chain_problem){.mpc = m,
                            .dim = config->dim,
                            .n = (int)m.states,
                            .m = (int)m.inputs,
                            .horizon = (int)m.horizon,
                            .widest = config->dma_max_bytes / gm_input_bytes(config)};
  if (config->input_type != TW_F32 || config->acc_type != TW_F32)
    return tw_fail(error, TW_USAGE, "%s: %s needs floating point; use -t gemmini-4x4-fp32", config->name,
                   problem->op->name);
  double nb = ceil((double)out->n / config->dim), mb = ceil((double)out->m / config->dim);
  const double blocks = nb * nb + 2 * nb * mb + (m.forward ? 0 : mb * mb), products = blocks * out->horizon;
  if (products > PRODUCTS_LIMIT)
    return tw_fail(error, TW_USAGE,
                   "%s: no schedules for %.0f products of blocks; choose sizes with at most %d (horizon x (states / "
                   "4)^2 and so on)",
                   config->name, products, (int)PRODUCTS_LIMIT);
  double rows = (blocks + 2 * nb + 2 * mb) * config->dim;
  if (rows > gm_spad_rows(config))
    return tw_fail(error, TW_USAGE,
                   "%s: the matrices take %.0f rows of the scratchpad, which has %d: choose fewer states or inputs",
                   config->name, rows, gm_spad_rows(config));
  return TW_OK;
}

/* ---- steps ---- */

static tw_status usage(const char *step, tw_error *error) {
  return tw_fail(error, TW_USAGE,
                 "step '%s': the steps are fuse, hoist, merge, unfence, prune, spread, keep, close, os, rows, ahead "
                 "2|4, unroll inner|all, code [1-4]",
                 step);
}

static tw_status needs(const char *step, const char *other, tw_error *error) {
  return tw_fail(error, TW_USAGE, "step '%s' needs '%s' before it", step, other);
}

static tw_status apply(const gm_chain_problem *p, const char *step, gm_chain_plan *plan, tw_error *error) {
  const struct {
    const char *verb;
    bool *flag;
  } simple[] = {{"fuse", &plan->fuse},  {"hoist", &plan->hoist},  {"merge", &plan->merge}, {"unfence", &plan->fences},
                {"prune", &plan->dead}, {"spread", &plan->banks}, {"keep", &plan->keep},   {"close", &plan->close},
                {"os", &plan->os},      {"rows", &plan->rows}};
  gm_words w;
  tw_status status = gm_words_split(step, &w, error);
  if (status != TW_OK) return status;
  if (!strcmp(w.verb, "ahead")) {
    int ahead;
    if (w.n != 1 || w.value[0] || !gm_word_number(w.key[0], 2, 4, &ahead) || ahead == 3) return usage(step, error);
    if (!plan->rows) return needs(step, "rows", error);
    plan->ahead = ahead;
    return TW_OK;
  }
  if (!strcmp(w.verb, "unroll")) {
    if (!gm_words_single(&w) || (strcmp(w.key[0], "inner") && strcmp(w.key[0], "all"))) return usage(step, error);
    plan->unroll = strcmp(w.key[0], "all") ? 1 : 2;
    return TW_OK;
  }
  if (!strcmp(w.verb, "code")) {
    int first = GM_CODE_LOADS_MOST;
    if (w.n > 1 || (w.n && (w.value[0] || !gm_word_number(w.key[0], 1, 4, &first)))) return usage(step, error);
    if (plan->code == first) return tw_fail(error, TW_USAGE, "step '%s' has been taken already", step);
    plan->code = first;
    return TW_OK;
  }
  for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
    if (strcmp(w.verb, simple[i].verb)) continue;
    if (w.n) return usage(step, error);
    if (*simple[i].flag) return tw_fail(error, TW_USAGE, "step '%s' has been taken already", step);
    *simple[i].flag = true;
    if (simple[i].flag == &plan->rows) plan->os = false;
    if (plan->keep && !plan->fuse) return needs("keep", "fuse", error);
    if (plan->keep && !plan->hoist) return needs("keep", "hoist", error);
    if (plan->close && !p->mpc.forward)
      return tw_fail(error, TW_USAGE,
                     "step 'close' is for mpc_forward: the backward pass has one recurrence with one matrix");
    if (plan->close && !plan->keep) return needs("close", "keep", error);
    if (plan->os && !plan->keep) return needs("os", "keep", error);
    if (plan->os && plan->rows)
      return tw_fail(error, TW_USAGE, "step '%s': with vectors as rows sums are in the array anyway", step);
    if (plan->rows && p->mpc.forward && !plan->close) return needs("rows", "close", error);
    if (plan->rows && !plan->keep) return needs("rows", "keep", error);
    if (plan->rows && !plan->dead) return needs("rows", "prune", error);
    return TW_OK;
  }
  return usage(step, error);
}

/* ---- programs ---- */

static void add_parameters(gm_chain *c, const tw_mpc *m) {
  int n = (int)m->states, k = (int)m->inputs, N = (int)m->horizon;
  const gm_chain_array forward[] = {
      {.name = "Adyn", .length = n * n, .given = n * n}, {.name = "Bdyn", .length = n * k, .given = n * k},
      {.name = "Kinf", .length = k * n, .given = k * n}, {.name = "x", .length = (N + 1) * n, .given = n},
      {.name = "d", .length = N * k, .given = N * k},    {.name = "u", .length = N * k}};
  const gm_chain_array backward[] = {{.name = "Bdyn", .length = n * k, .given = n * k},
                                     {.name = "Quu_inv", .length = k * k, .given = k * k},
                                     {.name = "Kinf", .length = k * n, .given = k * n},
                                     {.name = "AmBKt", .length = n * n, .given = n * n},
                                     {.name = "p", .length = N * n, .given_at = (N - 1) * n, .given = n},
                                     {.name = "d", .length = N * k},
                                     {.name = "r", .length = N * k, .given = N * k},
                                     {.name = "q", .length = N * n, .given = N * n}};
  c->n_arrays = m->forward ? 6 : 8;
  memcpy(c->array, m->forward ? forward : backward, (size_t)c->n_arrays * sizeof *c->array);
  for (int i = 0; i < c->n_arrays; i++) c->array[i].parameter = true;
}

tw_status gm_chain_make(const gm_config *config, const gm_chain_problem *p, const gm_chain_plan *plan, gm_chain *out,
                        tw_error *error) {
  memset(out, 0, sizeof *out);
  out->identity = -1;
  out->dim = config->dim;
  add_parameters(out, &p->mpc);
  gm_builder b = {.chain = out, .config = config, .p = *p, .plan = *plan};
  if (plan->rows)
    gm_chain_rows(&b);
  else if (plan->keep)
    gm_chain_kept(&b);
  else if (plan->fuse)
    gm_chain_fused(&b);
  else
    gm_chain_plain(&b);
  bool ok = !out->failed;
  tw_status status = TW_OK;
  if (ok && b.full)
    status = tw_fail(error, TW_USAGE,
                     "%s: what stays there does not fit the scratchpad or the accumulator: choose a shorter horizon "
                     "or fewer states",
                     config->name);
  const int outputs[1] = {p->mpc.forward ? TW_MPC_U : TW_MPC_BACK_D};
  if (ok && status == TW_OK) {
    if (plan->dead) ok = gm_chain_drop_dead(out, outputs, 1);
    if (ok && plan->hoist) ok = gm_chain_hoist(out);
    if (ok && plan->code) gm_load_code(&b);
    ok = ok && !out->failed && !b.full;
    if (ok) ok = gm_chain_configure(out, plan->merge);
    if (ok && plan->fences) ok = gm_chain_drop_fences(config, out);
    if (ok) status = gm_chain_check(config, out, error);
  }
  if (!ok) status = tw_fail(error, TW_MISSING, "out of memory");
  if (status != TW_OK) gm_chain_free(out);
  return status;
}

tw_status gm_chain_from(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule,
                        gm_chain_plan *plan, gm_chain *out, tw_error *error) {
  gm_chain_problem p;
  memset(plan, 0, sizeof *plan);
  plan->ahead = 1;
  tw_status status = gm_chain_problem_from(config, problem, &p, error);
  for (size_t i = 0; status == TW_OK && i < schedule->n; i++) status = apply(&p, schedule->step[i], plan, error);
  return status == TW_OK ? gm_chain_make(config, &p, plan, out, error) : status;
}

char *gm_chain_plan_print(const gm_chain_plan *p, char *buffer, size_t size) {
  const struct {
    bool taken;
    const char *text;
  } part[] = {{p->fuse, "element-wise work fused"},
              {p->hoist, "loads hoisted"},
              {p->merge, "configuration merged"},
              {p->fences, "fences where needed"},
              {p->dead, "nothing unneeded"},
              {p->banks, "operands in different banks"},
              {p->keep, "vectors in the scratchpad"},
              {p->close, "closed loop"},
              {p->os, "sums in the array"},
              {p->rows, "vectors as rows"},
              {p->code, "code fetched ahead"},
              {p->ahead > 1, p->ahead == 4 ? "four steps at once" : "two steps at once"},
              {p->unroll, p->unroll == 2 ? "blocks unrolled" : "innermost blocks unrolled"}};
  size_t at = 0;
  snprintf(buffer, size, "operators one by one");
  for (size_t i = 0; i < sizeof part / sizeof *part && at < size; i++)
    if (part[i].taken) at += (size_t)snprintf(buffer + at, size - at, "%s%s", at ? ", " : "", part[i].text);
  return buffer;
}
