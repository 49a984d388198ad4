/* known.c - see known.h. */
#include "search/known.h"

#include <stdlib.h>
#include <string.h>

#include "search/wisdom.h"
#include "tilewright/extend/target.h"

static void take_cost(tw_known *k, const tw_wisdom_entry *e) {
  k->cost = e->cost;
  k->utilization = e->utilization;
  k->machine = e->machine;
}

tw_status tw_known_find(const char *path, const tw_target *target, const tw_problem *problem, tw_known *out,
                        tw_error *error) {
  tw_wisdom *wisdom;
  char *source = NULL;
  *out = (tw_known){0};
  const tw_status status = tw_wisdom_load(path, &wisdom, error);
  if (status != TW_OK) return status;
  const tw_wisdom_entry *entry = tw_wisdom_find(wisdom, target->name, problem, &out->is_exact);
  /* The schedule of a neighbouring shape may be illegal for this one. */
  if (entry) {
    tw_error why = {0};
    out->has_schedule = tw_target_emit(target, problem, &entry->schedule, &source, &why) == TW_OK;
    *(out->has_schedule ? &out->schedule : &out->recording) = entry->schedule;
    if (!out->has_schedule && out->is_exact) out->illegal = why;
    if (out->has_schedule && out->is_exact) take_cost(out, entry);
    free(source);
  }
  entry = tw_wisdom_find_source(wisdom, target->name, problem);
  if (entry) {
    out->source = strdup(entry->source);
    take_cost(out, entry);
  }
  tw_wisdom_free(wisdom);
  return TW_OK;
}
