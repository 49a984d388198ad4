/* exhaustive.c - every kernel that the menu leads to: breadth first, so that each has one of its shortest schedules.
 *
 * Steps that lead to a kernel that is there already are not followed: the next steps of a kernel do not depend on the
 * path to it. The steps after several kernels are made at a time, on several threads. They are added in the order of
 * the kernels and of their menus, so the candidates do not depend on the number of threads. */
#include <stdlib.h>

#include "base/parallel.h"
#include "search/state.h"

/* The kernels one step after a candidate. */
typedef struct family {
  tw_status status;
  tw_error error;
  size_t n, taken;
  tw_candidate **child;
} family;

typedef struct block {
  const tw_state *state;
  size_t first;
  family *family;
} block;

static void make_family(void *context, size_t i) {
  const block *b = context;
  const tw_state *s = b->state;
  const tw_candidate *parent = s->all[b->first + i];
  family *f = &b->family[i];
  tw_menu menu = {0};
  f->status = tw_target_steps(s->target, &s->problem, parent->schedule, &menu, &f->error);
  if (f->status == TW_OK && menu.n && !(f->child = tw_new(menu.n, sizeof(tw_candidate *))))
    f->status = tw_no_memory(&f->error, "candidates");
  for (size_t k = 0; k < menu.n && f->status == TW_OK; k++) {
    tw_candidate *c = NULL;
    f->status = tw_state_follow(s, parent, &menu.item[k], 0, &c, &f->error);
    if (c) f->child[f->n++] = c;
  }
  tw_menu_free(&menu);
}

/* With --samples the search ends by itself before it evaluates too many. */
static tw_status check_number(const tw_state *s, size_t parents, tw_error *error) {
  if (s->n <= TW_EXHAUSTIVE_MOST || s->options.samples > 0) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "exhaustive: the menu leads to more than %d kernels (counted after %zu of their menus); give "
                 "--samples N to evaluate the first N, leave out --exhaustive, or use a smaller problem",
                 TW_EXHAUSTIVE_MOST, parents);
}

/* Adds the new kernels of a family, until the search has enough. */
static tw_status take(tw_state *s, size_t parent, family *f, tw_error *error) {
  tw_status status = TW_OK;
  const size_t first = s->n;
  while (status == TW_OK && f->taken < f->n && !tw_state_is_full(s, s->n - first)) {
    tw_candidate *c = f->child[f->taken++];
    if (tw_index_find(&s->sources, &c->source_digest) == TW_NONE)
      status = tw_state_add(s, c, error);
    else
      tw_candidate_free(c);
    if (status == TW_OK) status = check_number(s, parent + 1, error);
  }
  if (status == TW_OK && f->status != TW_OK) status = tw_fail(error, f->status, "%s", f->error.text);
  if (status == TW_OK) tw_state_hand_over(s, first); /* evaluated while the next candidates are made */
  return status;
}

static void free_family(family *f) {
  for (size_t i = f->taken; i < f->n; i++) tw_candidate_free(f->child[i]);
  free(f->child);
}

/* Follows the candidates from `first` to before `end`. *all is false if some of their kernels were left out. */
static tw_status follow(tw_state *s, size_t first, size_t end, bool *all, tw_error *error) {
  block b = {.state = s, .first = first, .family = tw_new(end - first, sizeof(family))};
  if (!b.family) return tw_no_memory(error, "candidates");
  tw_parallel_for(tw_state_planners(s), end - first, make_family, &b);
  tw_status status = TW_OK;
  for (size_t i = 0; i < end - first; i++) {
    family *f = &b.family[i];
    const bool stopped = status != TW_OK || tw_state_is_stopped(s);
    if (!stopped) status = take(s, first + i, f, error);
    *all = *all && !stopped && f->taken == f->n;
    free_family(f);
  }
  free(b.family);
  tw_state_poll(s);
  return status;
}

tw_status tw_enumerate(tw_state *s, tw_error *error) {
  s->iteration = s->options.iterations = 1;
  const size_t most = TW_PARENTS_PER_THREAD * (size_t)tw_state_planners(s);
  bool all = true;
  for (size_t next = 0, end; next < s->n && all; next = end) {
    end = s->n - next < most ? s->n : next + most;
    const tw_status status = follow(s, next, end, &all, error);
    if (status != TW_OK) return status;
  }
  if (all)
    tw_state_note(s, "exhaustive: the menu leads to %zu kernels; all are evaluated", s->n);
  else
    tw_state_note(s, "exhaustive: ended after %zu kernels; the menu leads to more", s->n);
  tw_state_await(s);
  return TW_OK;
}
