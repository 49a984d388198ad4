/* exhaustive.c - every kernel that the menu leads to: breadth first, so that each has one of its shortest schedules.
 *
 * Steps that lead to a kernel that is there already are not followed: the next steps of a kernel do not depend on the
 * path to it. */
#include "search/state.h"

/* Adds the kernels one step after candidate `from`. */
static tw_status follow(tw_state *s, size_t from, tw_error *error) {
  tw_menu menu;
  tw_status status = tw_target_steps(s->target, &s->problem, s->all[from]->recipe, &menu, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < menu.n && status == TW_OK; i++) {
    tw_candidate *c;
    if ((status = tw_state_follow(s, s->all[from], &menu.item[i], 0, &c, error)) != TW_OK) break;
    if (c && tw_index_find(&s->sources, &c->source_digest) == TW_NONE)
      status = tw_state_add(s, c, error);
    else
      tw_candidate_free(c);
    if (status == TW_OK && s->n > TW_EXHAUSTIVE_MOST)
      status = tw_fail(error, TW_USAGE,
                       "exhaustive: the menu leads to more than %d kernels (counted up to %zu); leave out "
                       "--exhaustive, or use a smaller problem",
                       TW_EXHAUSTIVE_MOST, from + 1);
  }
  tw_menu_free(&menu);
  return status;
}

tw_status tw_enumerate(tw_state *s, tw_error *error) {
  s->iteration = s->options.iterations = 1;
  size_t next = 0;
  for (; next < s->n && !tw_state_is_stopped(s) && !tw_state_is_full(s); next++) {
    const size_t first = s->n;
    const tw_status status = follow(s, next, error);
    if (status != TW_OK) return status;
    tw_state_hand_over(s, first); /* evaluated while the next candidates are made */
    tw_state_poll(s);
  }
  if (next == s->n)
    tw_state_note(s, "exhaustive: the menu leads to %zu kernels; all are evaluated", s->n);
  else
    tw_state_note(s, "exhaustive: ended after %zu kernels; the menu leads to more", s->n);
  tw_state_await(s);
  return TW_OK;
}
