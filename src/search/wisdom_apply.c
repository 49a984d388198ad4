/* wisdom_apply.c - loads the entries of wisdom into the libraries of targets that have one. */
#include "search/wisdom.h"
#include "tilewright/extend/target.h"

/* Earlier versions kept kernels that were slower than the library's own. The model is not exact, so only a large
 * difference counts. */
bool tw_wisdom_is_hopeless(const tw_target *t, const tw_problem *p, const tw_schedule *schedule) {
  static const double HOPELESS = 1.5;
  tw_schedule baseline;
  double known, usual;
  return tw_target_baseline(t, p, &baseline, NULL) == TW_OK && baseline.n > 0 &&
         tw_target_predict(t, p, schedule, &known, NULL) == TW_OK &&
         tw_target_predict(t, p, &baseline, &usual, NULL) == TW_OK && known > HOPELESS * usual;
}

tw_status tw_wisdom_apply(const char *path, size_t *applied, tw_error *error) {
  tw_wisdom *wisdom;
  size_t n = 0;
  const tw_status status = tw_wisdom_load(path, &wisdom, error);
  for (size_t i = 0; status == TW_OK && i < wisdom->n; i++) {
    const tw_wisdom_entry *e = &wisdom->entry[i];
    const tw_target *t = tw_target_find(e->target);
    tw_problem problem;
    if (!e->source && t && t->library && tw_problem_parse(t, e->problem, &problem, NULL) == TW_OK &&
        tw_target_supports(t, &problem, NULL) == TW_OK && !tw_wisdom_is_hopeless(t, &problem, &e->schedule))
      n += t->library->learn(t, &problem, &e->schedule, NULL) == TW_OK;
  }
  tw_wisdom_free(wisdom);
  if (applied) *applied = n;
  return status;
}
