/* exhaustive.c - every kernel that the menu leads to: breadth first, so that each has one of its shortest schedules.
 *
 * Steps that lead to a kernel that is there already are not followed: what a kernel may become does not depend on how
 * it was reached. */
#include <stdio.h>
#include <stdlib.h>

#include "search/state.h"

static tw_candidate *next_of(tw_state *s, const tw_candidate *from, const tw_menu_item *item, tw_error *error) {
  tw_schedule longer = from->schedule;
  tw_error why = {0};
  char *source = NULL;
  if (tw_schedule_add(&longer, item->step, &why) != TW_OK ||
      s->target->emit(s->target, &s->problem, &longer, &source, &why) != TW_OK)
    return NULL; /* such a step leads nowhere */
  const tw_digest digest = tw_source_digest(source);
  const bool is_new = tw_index_find(&s->sources, &digest) == TW_NONE;
  tw_candidate *c = is_new ? tw_candidate_new() : NULL;
  if (!c) {
    if (is_new) tw_fail(error, TW_MISSING, "no memory for another candidate");
    free(source);
    return NULL;
  }
  tw_candidate_set_kernel(c, &longer, source);
  c->iteration = s->iteration;
  c->parent = from->number;
  c->n_levers = 1;
  snprintf(c->lever[0], sizeof c->lever[0], "%s", item->lever);
  snprintf(c->why, sizeof c->why, "%s", item->why);
  return c;
}

/* The kernels one step behind candidate `from`. */
static tw_status follow(tw_state *s, size_t from, tw_error *error) {
  tw_menu menu;
  tw_status status = s->target->steps(s->target, &s->problem, &s->all[from]->schedule, &menu, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < menu.n && status == TW_OK; i++) {
    tw_error missing = {0};
    tw_candidate *c = next_of(s, s->all[from], &menu.item[i], &missing);
    if (c) status = tw_state_add(s, c, error);
    if (*missing.text) status = tw_fail(error, TW_MISSING, "%s", missing.text);
    if (status == TW_OK && s->n > TW_EXHAUSTIVE_MOST)
      status =
          tw_fail(error, TW_USAGE,
                  "exhaustive: the menu leads to more than %d kernels (found at the %zuth of them); search without "
                  "it, or a smaller problem",
                  TW_EXHAUSTIVE_MOST, from + 1);
  }
  tw_menu_free(&menu);
  return status;
}

tw_status tw_enumerate(tw_state *s, tw_error *error) {
  const size_t first = s->n;
  s->iteration = s->options.iterations = 1;
  for (size_t i = 0; i < s->n && !tw_state_is_stopped(s); i++) {
    const tw_status status = follow(s, i, error);
    if (status != TW_OK) return status;
  }
  tw_state_note(s, "exhaustive: the menu leads to %zu kernels; all are evaluated", s->n);
  tw_state_evaluate(s, first);
  return TW_OK;
}
