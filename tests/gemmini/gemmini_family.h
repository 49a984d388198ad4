/* gemmini_family.h - schedules of a Gemmini configuration that no target of the list has. */
#ifndef TW_TESTS_GEMMINI_FAMILY_H
#define TW_TESTS_GEMMINI_FAMILY_H

#include "target/gemmini/target.h"

static inline tw_status gm_steps(const gm_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                                 tw_error *error) {
  const tw_target t = gm_target_of(c);
  return tw_target_steps(&t, p, s, out, error);
}

static inline tw_status gm_emit(const gm_config *c, const tw_problem *p, const tw_schedule *s, char **source,
                                tw_error *error) {
  const tw_target t = gm_target_of(c);
  return tw_target_emit(&t, p, s, source, error);
}

static inline tw_status gm_predict(const gm_config *c, const tw_problem *p, const tw_schedule *s, double *cycles,
                                   tw_error *error) {
  const tw_target t = gm_target_of(c);
  return tw_target_predict(&t, p, s, cycles, error);
}

static inline tw_status gm_bound(const gm_config *c, const tw_problem *p, tw_bound *out, tw_error *error) {
  const tw_target t = gm_target_of(c);
  return tw_target_bound(&t, p, out, error);
}

#endif
