/* plan.c - the levers of a chain: problems, steps, and the program of a plan. The table of steps says what each does. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"

/* Limit on products of a schedule. Longer programs would only be slow to analyse. */
enum { PRODUCTS_LIMIT = 4000000 };

tw_status gm_chain_problem_from(const gm_config *config, const tw_problem *problem, gm_chain_problem *out,
                                tw_error *error) {
  const tw_mpc m = tw_mpc_of(problem);
  *out = (gm_chain_problem){.mpc = m,
                            .dim = config->dim,
                            .n = (int)m.states,
                            .m = (int)m.inputs,
                            .horizon = (int)m.horizon,
                            .widest = config->max_block_cols};
  if (config->input_type != TW_F32 || config->acc_type != TW_F32)
    return tw_fail(error, TW_USAGE, "%s: %s supports f32 only; use -t gemmini-4x4-fp32", config->name,
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
                   "%s: the matrices need %.0f rows of the scratchpad, but it has %d; choose fewer states or inputs",
                   config->name, rows, gm_spad_rows(config));
  return TW_OK;
}

/* ---- steps ---- */

static tw_status needs(bool there, const char *other, tw_error *error) {
  return there ? TW_OK : tw_fail(error, TW_USAGE, "requires '%s' before it", other);
}

static tw_status then_drain(const void *problem, void *plan, unsigned given, tw_error *error) {
  (void)problem, (void)given;
  return needs(((gm_chain_plan *)plan)->fences, "unfence", error);
}

static tw_status then_keep(const void *problem, void *plan, unsigned given, tw_error *error) {
  const gm_chain_plan *p = plan;
  (void)problem, (void)given;
  const tw_status status = needs(p->fuse, "fuse", error);
  return status == TW_OK ? needs(p->hoist, "hoist", error) : status;
}

static tw_status then_close(const void *problem, void *plan, unsigned given, tw_error *error) {
  const gm_chain_problem *of = problem;
  (void)given;
  if (!of->mpc.forward)
    return tw_fail(error, TW_USAGE, "requires mpc_forward; the backward pass has one recurrence with one matrix");
  return needs(((gm_chain_plan *)plan)->keep, "keep_resident", error);
}

static tw_status then_os(const void *problem, void *plan, unsigned given, tw_error *error) {
  const gm_chain_plan *p = plan;
  (void)problem, (void)given;
  if (p->rows) return tw_fail(error, TW_USAGE, "has no effect after row_vectors; sums already stay in the array");
  return needs(p->keep, "keep_resident", error);
}

static tw_status then_rows(const void *problem, void *plan, unsigned given, tw_error *error) {
  const gm_chain_problem *of = problem;
  gm_chain_plan *p = plan;
  (void)given;
  p->os = false;
  tw_status status = needs(p->close || !of->mpc.forward, "closed_loop", error);
  if (status == TW_OK) status = needs(p->keep, "keep_resident", error);
  return status == TW_OK ? needs(p->dead, "prune", error) : status;
}

static tw_status then_ahead(const void *problem, void *plan, unsigned given, tw_error *error) {
  (void)problem, (void)given;
  return needs(((gm_chain_plan *)plan)->rows, "row_vectors", error);
}

static tw_status then_premultiply(const void *problem, void *plan, unsigned given, tw_error *error) {
  const gm_chain_problem *of = problem;
  (void)given;
  if (of->mpc.forward) return tw_fail(error, TW_USAGE, "requires mpc_backward; mpc_forward has closed_loop");
  return needs(((gm_chain_plan *)plan)->rows, "row_vectors", error);
}

static void code(const void *problem, void *plan) {
  (void)problem;
  ((gm_chain_plan *)plan)->code = GM_CODE_LOADS_MOST;
}

#define FLAG(name_, help_, field_) TW_FLAG(name_, help_, gm_chain_plan, field_)
#define RENAMED(name_, old_, help_, field_) TW_FLAG_RENAMED(name_, old_, help_, gm_chain_plan, field_)
static const tw_verb verbs[] = {
    {FLAG("fuse", "Compute signs and sums in the accelerator, not in the core.", fuse),
     .why = "scales of loads, operand D and the accumulator do signs and additions, so the core does none"},
    {FLAG("hoist", "Move loads that every step repeats out of the loop.", hoist),
     .why = "load once the operands that every step loads"},
    {FLAG("merge", "Set configuration only where it changes.", merge),
     .why = "set configuration only where it changes, because config_ex drains the array"},
    {FLAG("unfence", "Remove fences that order no dependence through memory.", fences),
     .why = "the reservation station orders commands; only dependences through memory need fences"},
    {FLAG("drain", "Wait for products only (config_ex), not for all commands (fence).", drain), .then = then_drain,
     .why = "config_ex waits only for the array, so the core issues the next commands meanwhile"},
    {FLAG("prune", "Remove products whose result is not used.", dead),
     .why = "do not compute unused values, such as the last state"},
    {RENAMED("spread_banks", "spread", "Put the operands of a compute into different banks.", banks),
     .why = "a bank has one port: place the operands of a compute in different banks"},
    {RENAMED("keep_resident", "keep", "Keep vectors in the scratchpad from step to step.", keep), .then = then_keep,
     .why = "vectors stay in the scratchpad between steps, not in memory"},
    {RENAMED("closed_loop", "close", "Multiply Bdyn by Kinf once, so that a step waits for one product.", close),
     .then = then_close,
     .why = "compute Adyn - Bdyn Kinf once: each step waits for one matrix-vector product, not two"},
    {RENAMED("output_stationary", "os", "Keep sums in the array (output-stationary).", os), .then = then_os,
     .why = "sums over blocks stay in the array instead of passing through D"},
    {RENAMED("row_vectors", "rows", "Multiply vectors as rows, not as columns.", rows), .then = then_rows,
     .why = "vectors as rows: sums stay in the array, and four results cost as much as one"},
    {FLAG("premultiply", "Multiply Bdyn by Quu_inv once, so that a result waits for one product.", premultiply),
     .then = then_premultiply,
     .why = "compute Bdyn Quu_inv' once: after the last state, a result waits for one sum, not two"},
    {TW_VERB("lookahead|ahead", "lookahead 2, lookahead 4",
             "Compute x[i+2] or x[i+4] from x[i] with a power of the matrix.", 1,
             TW_CHOICE("", gm_chain_plan, ahead, 1, "2|4")),
     .then = then_ahead, .offers = "2, 4",
     .why = "one product spans two or four steps: the recurrence is half or a quarter as long"},
    {TW_VERB("unroll", "unroll inner, unroll all", "Unroll the loops over blocks.", 1,
             TW_CHOICE("", gm_chain_plan, unroll, 1, "inner|all")),
     .offers = "inner, all", .why = "unrolled loops over blocks: fewer instructions, more code to fetch"},
    {TW_VERB("prefetch_code|code", "prefetch_code, prefetch_code 2",
             "Prefetch the kernel's code into the cache with this many loads.", 0,
             TW_NUMBER("", gm_chain_plan, code, 1, 4)),
     .first = code, .offers = "1, 3",
     .why = "load the first lines of code, then the operands, then the remaining code"},
};
const tw_language gm_chain_language = {TW_LANGUAGE("mpc_forward and mpc_backward on Gemmini", verbs)};

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
                     "%s: the resident operands do not fit the scratchpad or the accumulator; choose a shorter horizon "
                     "or fewer states",
                     config->name);
  const int outputs[1] = {p->mpc.forward ? TW_MPC_U : TW_MPC_BACK_D};
  if (ok && status == TW_OK) {
    if (plan->dead) ok = gm_chain_drop_dead(out, outputs, 1);
    if (ok && plan->hoist) ok = gm_chain_hoist(out);
    if (ok && plan->code) gm_load_code(&b);
    ok = ok && !out->failed && !b.full;
    if (ok) ok = gm_chain_configure(out, plan->merge);
    if (ok && plan->fences) ok = gm_chain_drop_fences(config, out, plan->drain);
    if (ok) status = gm_chain_check(config, out, error);
  }
  if (!ok) status = tw_no_memory(error, NULL);
  if (status != TW_OK) gm_chain_free(out);
  return status;
}

tw_status gm_chain_from(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule,
                        gm_chain_plan *plan, gm_chain *out, tw_error *error) {
  gm_chain_problem p;
  *plan = (gm_chain_plan){0};
  tw_status status = gm_chain_problem_from(config, problem, &p, error);
  for (size_t i = 0; status == TW_OK && i < schedule->n; i++) {
    const gm_chain_plan before = *plan;
    status = tw_step_apply(&gm_chain_language, &p, schedule->step[i], plan, error);
    if (status == TW_OK && tw_plan_same(&gm_chain_language, plan, &before))
      status = tw_fail(error, TW_USAGE, "step '%s' repeats an earlier step; remove it", schedule->step[i]);
  }
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
              {p->drain, "array drained in place of fences"},
              {p->dead, "nothing unneeded"},
              {p->banks, "operands in different banks"},
              {p->keep, "vectors in the scratchpad"},
              {p->close, "closed loop"},
              {p->os, "sums in the array"},
              {p->rows, "vectors as rows"},
              {p->premultiply, "Bdyn times Quu_inv once"},
              {p->code, "code fetched ahead"},
              {p->ahead, p->ahead == 2 ? "four steps at once" : "two steps at once"},
              {p->unroll, p->unroll == 2 ? "blocks unrolled" : "innermost blocks unrolled"}};
  size_t at = 0;
  snprintf(buffer, size, "operators one by one");
  for (size_t i = 0; i < sizeof part / sizeof *part && at < size; i++)
    if (part[i].taken) at += (size_t)snprintf(buffer + at, size - at, "%s%s", at ? ", " : "", part[i].text);
  return buffer;
}
