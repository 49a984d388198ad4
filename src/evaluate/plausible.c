/* plausible.c - see plausible.h. Each family says with its bound what nothing can be below; that allows for what the roofline
 * leaves out (a host core that helps, a clock that rises), so that no honest kernel is ever refused. */
#include "evaluate/plausible.h"

#include <string.h>

tw_status tw_plausible(const tw_target *t, const tw_bound *b, double cost, tw_error *error) {
  if (cost >= b->least) return TW_OK;
  if (!strcmp(t->unit, "cycles"))
    return tw_fail(error, TW_FAILED,
                   "faster than the machine can be: %.0f cycles, and nothing takes less than %.0f (%s)", cost, b->least,
                   b->limit);
  return tw_fail(error, TW_FAILED, "faster than the machine can be: %.4g %s, and nothing takes less than %.4g (%s)",
                 cost, t->unit, b->least, b->limit);
}

tw_status tw_plausible_entry(const char *target, const char *problem, double cost, tw_error *error) {
  const tw_target *t = tw_target_find(target);
  tw_problem p;
  tw_bound bound;
  if (!t || tw_target_read(t, problem, &p, NULL) != TW_OK || tw_target_supports(t, &p, NULL) != TW_OK ||
      tw_target_bound(t, &p, &bound, NULL) != TW_OK)
    return TW_OK;
  return tw_plausible(t, &bound, cost, error);
}
