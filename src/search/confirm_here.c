/* confirm_here.c - the result of a search by a runner, evaluated again in this process.
 *
 * A runner's answer may be false, or its machine may be in another state. So where this computer has the target, the
 * best kernel and the start are built, checked on two cases and measured here. On a deterministic target both costs
 * must equal the reported ones. On a real machine the costs of this computer replace the reported ones. If nothing
 * can be evaluated here, the result says so. */
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "evaluate/evaluator.h"
#include "search/state.h"

/* Maximum difference of a deterministic target's costs between two computers, whose mathematical libraries may round
 * differently. */
static const double SAME = 1e-6;

static tw_status report_only(tw_state *s, const char *why) {
  s->cost_from = TW_COST_REPORTED;
  tw_state_note(s, "the costs are those reported by the runner; the result was not confirmed here (%s)", why);
  return TW_OK;
}

static void evaluate_here(tw_state *s, const tw_candidate *c, tw_outcome *out) {
  const tw_trial trial = {.target = s->target,
                          .problem = &s->problem,
                          .source = c->source,
                          .length = strlen(c->source),
                          .seed = s->options.inputs,
                          .trust = s->options.trust || c->schedule,
                          .more_cases = 1};
  const tw_setting setting = {.bound = &s->bound, .jobs = s->options.jobs, .interrupt = s->options.interrupt};
  tw_trial_run(&trial, &setting, out);
}

/* The runner timed the kernel on the real machine, and this computer only has its model: the counter "real_machine"
 * says so. The costs then differ. */
static bool is_of_real_machine(const tw_candidate *c) {
  for (size_t i = 0; i < c->measured.n_counters; i++)
    if (!strcmp(c->measured.counter[i].name, "real_machine")) return c->measured.counter[i].value == 1;
  return false;
}

/* Does an outcome of this process agree with the candidate's? */
static tw_status compare_costs(const tw_state *s, const tw_candidate *c, const tw_outcome *o, tw_error *error) {
  const double reported = c->measured.cost, here = o->measured.cost;
  const char *what = c == s->start ? tw_state_start_name(s) : "the best kernel";
  if (o->verdict != TW_CORRECT)
    return tw_fail(error, TW_FAILED,
                   "--runner: it reported %s as correct, but here the verdict is \"%s\" (%.600s); check the runner",
                   what, tw_verdict_name(o->verdict), o->error.text);
  if (s->target->traits.deterministic && !is_of_real_machine(c) && fabs(here / reported - 1) > SAME)
    return tw_fail(error, TW_FAILED,
                   "--runner: it reported %.9g %s for %s, which takes %.9g here; use the same tilewright on both sides",
                   reported, s->target->unit, what, here);
  return TW_OK;
}

/* The runner's machine differs from this one: it is the real hardware of a simulator, or another GPU. Its costs
 * cannot be compared. */
static bool is_another_machine(const tw_state *s) {
  char digest[TW_HASH_TEXT];
  if (!s->machine[0]) return false;
  tw_evaluator_digest(s->target, digest);
  return strcmp(s->machine, digest) != 0;
}

/* True if the outcome says nothing about the kernel, or only that this computer's compiler does not build it. */
static bool is_inconclusive(const tw_outcome *o) {
  return !tw_verdict_is_final(o->verdict) || o->verdict == TW_UNBUILDABLE;
}

/* Applies the outcome to all candidates with this kernel. */
static void take_outcome(tw_state *s, tw_candidate *c, const tw_outcome *o) {
  memcpy(c->coverage, o->coverage, sizeof c->coverage);
  for (size_t i = 0; i < s->n; i++)
    if (s->all[i]->verdict == TW_CORRECT &&
        !memcmp(&s->all[i]->source_digest, &c->source_digest, sizeof c->source_digest))
      s->all[i]->measured = o->measured;
}

tw_status tw_confirm_here(tw_state *s, tw_error *error) {
  tw_candidate *const of[] = {s->best, s->start};
  const size_t n = s->best == s->start ? 1 : 2;
  tw_outcome o[2];
  tw_error why = {0};
  char there[TW_AMOUNT], here[TW_AMOUNT];
  if (!s->by_runner) return TW_OK;
  if (tw_state_is_interrupted(s)) return report_only(s, "interrupted");
  if (s->target->available && s->target->available(s->target, &why) != TW_OK) return report_only(s, why.text);
  for (size_t i = 0; i < n; i++) {
    evaluate_here(s, of[i], &o[i]);
    if (is_inconclusive(&o[i])) return report_only(s, o[i].error.text);
  }
  if (is_another_machine(s)) {
    for (size_t i = 0; i < n; i++)
      if (o[i].verdict != TW_CORRECT) return compare_costs(s, of[i], &o[i], error);
    return report_only(s, "they were measured on another machine; both kernels are correct here");
  }
  for (size_t i = 0; i < n; i++) {
    const tw_status status = compare_costs(s, of[i], &o[i], error);
    if (status != TW_OK) return status;
  }
  tw_print_amount(s->target->unit, s->best->measured.cost, there);
  tw_print_amount(s->target->unit, o[0].measured.cost, here);
  if (is_of_real_machine(s->best)) {
    tw_state_note(s, "the runner timed the kernels on the real machine: the best takes %s, and %s by the model here",
                  there, here);
    return report_only(s, "results were checked here, times were measured on the machine");
  }
  if (!s->target->traits.deterministic)
    tw_state_note(s, "the runner reported %s for the best kernel, which takes %s here", there, here);
  for (size_t i = 0; i < n; i++) take_outcome(s, of[i], &o[i]);
  if (n == 2 && s->best->measured.cost > s->start->measured.cost) {
    tw_state_note(s, "the best kernel is slower than %s here: %s is kept", tw_state_start_name(s),
                  tw_state_start_name(s));
    s->best = s->start;
  }
  s->cost_from = TW_COST_CONFIRMED;
  return TW_OK;
}
