/* plausible.c - see plausible.h. Each family's bound includes a hard bound. It allows for effects that the roofline
 * leaves out (a host core that helps, a clock that rises), so that no honest kernel is rejected. */
#include "evaluate/plausible.h"

#include <string.h>

#include "base/amount.h"

tw_status tw_plausible(const tw_target *t, const tw_bound *b, double cost, tw_error *error) {
  if (cost >= b->least) return TW_OK;
  char is[TW_AMOUNT], least[TW_AMOUNT];
  return tw_fail(error, TW_FAILED, "faster than the hard bound: %s; the bound is %s (%s)",
                 tw_print_amount(t->unit, cost, is), tw_print_amount(t->unit, b->least, least), b->limit);
}

/* A utilization is the quotient of the machine's least time and the cost. Clocks that rise explain no more than
 * this. */
static const double UTILIZATION_MOST = 2;

static bool is_evaluated(tw_verdict v) {
  return v == TW_CORRECT || v == TW_UNBUILDABLE || v == TW_WRONG || v == TW_UNMEASURED || v == TW_UNCONFIRMED ||
         v == TW_IMPOSSIBLE || v == TW_SLOWER || v == TW_UNAVAILABLE || v == TW_SKIPPED;
}

static bool is_ordered(const tw_spread *s) {
  return s->least <= s->lower && s->lower <= s->median && s->median <= s->upper && s->upper <= s->most;
}

tw_status tw_plausible_outcome(const tw_trial *trial, const tw_bound *given, const tw_outcome *o, tw_error *error) {
  const tw_measurement *m = &o->measured;
  const bool correct = o->verdict == TW_CORRECT, is_measured = correct && !trial->check_only;
  const double same = !strcmp(trial->target->unit, "cycles") ? m->cycles : m->seconds;
  tw_bound asked;
  if (!is_evaluated(o->verdict))
    return tw_fail(error, TW_FAILED, "unknown verdict \"%s\"", tw_verdict_name(o->verdict));
  if (o->verdict == TW_SLOWER && !(trial->limit > 0))
    return tw_fail(error, TW_FAILED, "verdict \"%s\" of a trial without a limit", tw_verdict_name(o->verdict));
  if (correct && !*o->coverage) return tw_fail(error, TW_FAILED, "verdict correct, but nothing was compared");
  if (is_measured && !(m->cost > 0)) return tw_fail(error, TW_FAILED, "verdict correct with a cost of %g", m->cost);
  if (!tw_verdict_has_cost(o->verdict) || !(m->cost > 0)) return TW_OK;
  if (same > 0 && same != m->cost)
    return tw_fail(error, TW_FAILED, "cost %.17g differs from %.17g %s", m->cost, same, trial->target->unit);
  if (m->utilization > UTILIZATION_MOST)
    return tw_fail(error, TW_FAILED, "a utilization of %.4g of the machine's peak", m->utilization);
  if (m->spread.rounds && !(is_ordered(&m->spread) && m->cost >= m->spread.least && m->cost <= m->spread.most))
    return tw_fail(error, TW_FAILED, "cost %.17g is outside of its rounds (%.17g to %.17g)", m->cost, m->spread.least,
                   m->spread.most);
  const tw_status status = given ? TW_OK : tw_target_bound(trial->target, trial->problem, &asked, error);
  return status == TW_OK ? tw_plausible(trial->target, given ? given : &asked, m->cost, error) : status;
}

tw_status tw_plausible_entry(const char *target, const char *problem, double cost, tw_error *error) {
  const tw_target *t = tw_target_find(target);
  tw_problem p;
  tw_bound bound;
  if (!t || tw_problem_parse(t, problem, &p, NULL) != TW_OK || tw_target_supports(t, &p, NULL) != TW_OK ||
      tw_target_bound(t, &p, &bound, NULL) != TW_OK)
    return TW_OK;
  return tw_plausible(t, &bound, cost, error);
}
