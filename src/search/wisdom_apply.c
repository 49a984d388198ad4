/* wisdom_apply.c - what wisdom knows goes to the libraries of targets that have one. */
#include "tilewright/target.h"
#include "tilewright/wisdom.h"

tw_status tw_wisdom_apply(const char *path, size_t *applied, tw_error *error) {
  tw_wisdom wisdom;
  size_t n = 0;
  const tw_status status = tw_wisdom_load(path, &wisdom, error);
  for (size_t i = 0; status == TW_OK && i < wisdom.n; i++) {
    const tw_wisdom_entry *e = &wisdom.entry[i];
    const tw_target *t = tw_target_find(e->target);
    tw_problem problem;
    if (!e->source && t && t->library && tw_target_read(t, e->problem, &problem, NULL) == TW_OK &&
        tw_target_supports(t, &problem, NULL) == TW_OK)
      n += t->library->learn(t, &problem, &e->schedule, NULL) == TW_OK;
  }
  tw_wisdom_free(&wisdom);
  if (applied) *applied = n;
  return status;
}
