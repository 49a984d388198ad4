/* polish.c - searches the neighbourhood of the best kernel after the beam has ended. For small problems it tries all
 * kernels at a distance of one step of the menu, then two, and so on. A better kernel becomes the new centre.
 *
 * The beam follows steps that pay one by one, and stops where few do. If a design needs three steps and the first
 * two make it slower, only an exhaustive search finds it. Such a search is affordable where measuring is fast. */
#include <stdlib.h>

#include "search/state.h"

/* The number of new kernels, by the time to simulate the problem's bound. */
static const struct {
  double seconds; /* upper limit of that time */
  size_t kernels;
} BUDGET[] = {{1e-6, 4000}, {1e-5, 400}, {1e-4, 100}};

static size_t budget_of(const tw_state *s) {
  const double seconds = tw_simulation_seconds(s->target, &s->bound);
  if (!s->target->traits.measures_first || seconds == 0) return 0;
  for (size_t i = 0; i < sizeof BUDGET / sizeof *BUDGET; i++)
    if (seconds <= BUDGET[i].seconds) return BUDGET[i].kernels;
  return 0;
}

/* Kernels by distance from the best: numbers of candidates, each once. */
typedef struct ring {
  size_t n, room;
  int *number;
  size_t next; /* the first candidate whose next steps were not tried */
  tw_index met;
} ring;

static void free_ring(ring *r) {
  free(r->number);
  tw_index_free(&r->met);
}

/* False without memory. */
static bool reach(ring *r, const tw_candidate *c) {
  if (tw_index_find(&r->met, &c->source_digest) != TW_NONE) return true;
  if (r->n == r->room) {
    const size_t room = r->room ? 2 * r->room : 256;
    int *larger = tw_resize(r->number, room, sizeof *larger);
    if (!larger) return false;
    r->number = larger;
    r->room = room;
  }
  r->number[r->n++] = c->number;
  return tw_index_add(&r->met, &c->source_digest, c->number);
}

/* Adds the kernels one step after `from` to the ring. New kernels become candidates while these are fewer than
 * `most`. */
static tw_status follow(tw_state *s, ring *r, const tw_candidate *from, size_t most, tw_error *error) {
  tw_menu menu;
  if (!from->schedule) return TW_OK; /* the menu continues only from schedules */
  tw_status status = tw_target_steps(s->target, &s->problem, from->schedule, &menu, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < menu.n && status == TW_OK && s->n < most; i++) {
    tw_candidate *c;
    if ((status = tw_state_follow(s, from, &menu.item[i], s->best->measured.cost, &c, error)) != TW_OK) break;
    if (!c) continue;
    const int known = tw_index_find(&s->sources, &c->source_digest);
    if (known == TW_NONE) {
      if ((status = tw_state_add(s, c, error)) != TW_OK) break;
    } else {
      tw_candidate_free(c);
      c = s->all[known];
    }
    if (!reach(r, c)) status = tw_no_memory(error, "more variants of the best kernel");
  }
  tw_menu_free(&menu);
  return status;
}

/* Tries rings around the best until one holds a better kernel, nothing is left, or `most` candidates exist. */
static tw_status look_around(tw_state *s, size_t most, tw_error *error) {
  const tw_candidate *centre = s->best;
  ring r = {0};
  tw_status status = reach(&r, centre) ? TW_OK : tw_no_memory(error, "variants of the best kernel");
  while (status == TW_OK && s->best == centre && r.next < r.n && s->n < most && !tw_state_is_stopped(s)) {
    const size_t first = s->n;
    for (const size_t end = r.n; r.next < end && status == TW_OK && s->n < most; r.next++)
      status = follow(s, &r, s->all[r.number[r.next]], most, error);
    tw_state_evaluate(s, first);
  }
  free_ring(&r);
  return status;
}

void tw_polish(tw_state *s) {
  const size_t most = s->n + budget_of(s);
  const tw_candidate *before = NULL;
  tw_error why = {0};
  tw_status status = TW_OK;
  while (status == TW_OK && s->best != before && s->n < most && !tw_state_is_stopped(s)) {
    before = s->best;
    status = look_around(s, most, &why);
  }
  if (status != TW_OK) tw_state_note(s, "not all variants of the best kernel were tried: %s", why.text);
}
