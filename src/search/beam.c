/* beam.c - which candidates are the parents of the next iteration.
 *
 * As in Autocomp (section 3.3): the best B children that are correct and faster than their own parent. Additions:
 * - The best candidate of all never leaves the beam: the next step is most likely from it.
 * - If fewer than B children qualify, the best of the old parents stay and are tried with other plans.
 * - A child that is much slower than the best does not displace an old parent.
 * - Half of the places are for kernels that begin with different steps.
 * - If agents need schedules, a kernel with a schedule stays (tw_keep_schedules).
 * - While a program is translated, a child that is more complete than its parent beats it, and the most complete come
 *   first. */
#include <string.h>

#include "search/state.h"

/* Much slower: by more than the gain of most single steps. */
static const double FAR = 2;
/* Nearly as fast: the gain of a few steps apart. */
static const double NEAR = 1.25;

static bool comes_first(const tw_state *s, const tw_candidate *a, const tw_candidate *b) {
  return s->is_translating && a->complete != b->complete ? a->complete > b->complete : tw_is_better(a, b);
}

/* Inserts in order; what falls off the end is dropped. */
static void insert(const tw_state *s, tw_candidate **beam, size_t *n, size_t room, tw_candidate *c) {
  if (*n == room) {
    if (room == 0 || !comes_first(s, c, beam[room - 1])) return;
    --*n;
  }
  size_t i = (*n)++;
  for (; i > 0 && comes_first(s, c, beam[i - 1]); i--) beam[i] = beam[i - 1];
  beam[i] = c;
}

static bool contains(tw_candidate *const *beam, size_t n, const tw_candidate *c) {
  for (size_t i = 0; i < n; i++)
    if (beam[i] == c) return true;
  return false;
}

static bool beats_its_parent(const tw_state *s, const tw_candidate *c) {
  return c->verdict == TW_CORRECT && c->parent != TW_NONE && c->measured.cost < s->all[c->parent]->measured.cost;
}

/* A step of a translation. */
static bool is_more_complete(const tw_state *s, const tw_candidate *c) {
  return s->is_translating && c->verdict == TW_CORRECT && c->parent != TW_NONE &&
         c->complete > s->all[c->parent]->complete &&
         c->measured.cost <= TW_TRANSLATION_SLOWER * s->all[c->parent]->measured.cost;
}

bool tw_translates(const tw_state *s, size_t member) {
  return !s->is_reuse && s->iteration - s->first_iteration < s->member[member].agent->translations;
}

bool tw_is_far_from_best(const tw_state *s, const tw_candidate *c) {
  return c->measured.cost > FAR * s->best->measured.cost;
}

static struct tw_experience *experience_of(tw_state *s, const char *lever) {
  for (size_t i = 0; i < s->n_levers; i++)
    if (!strcmp(s->experience[i].lever, lever)) return &s->experience[i];
  if (s->n_levers == s->levers_room) {
    size_t room = s->levers_room ? 2 * s->levers_room : 32;
    struct tw_experience *larger = tw_resize(s->experience, room, sizeof *larger);
    if (!larger) return NULL;
    s->experience = larger;
    s->levers_room = room;
  }
  struct tw_experience *new = &s->experience[s->n_levers++];
  *new = (struct tw_experience){0};
  memcpy(new->lever, lever, strlen(lever) + 1);
  return new;
}

/* The result counts for all levers of a kernel, because the effect of each lever is unknown. */
static void learn(tw_state *s, const tw_candidate *c) {
  bool tells = c->verdict == TW_ILLEGAL || c->verdict == TW_SLOWER || tw_verdict_is_final(c->verdict);
  for (size_t i = 0; tells && i < c->n_levers; i++) {
    struct tw_experience *e = experience_of(s, c->lever[i]);
    if (!e) return;
    e->tried++;
    e->paid += beats_its_parent(s, c);
  }
}

static tw_candidate *best_with_schedule(const tw_state *s) {
  tw_candidate *best = NULL;
  for (size_t i = 0; i < s->n; i++) {
    tw_candidate *c = s->all[i];
    if (c->schedule && c->verdict == TW_CORRECT && (!best || tw_is_better(c, best))) best = c;
  }
  return best;
}

/* If the beam has only sources without a schedule, agents that need a schedule would have no parent. So the best
 * kernel with a schedule stays in the beam, too. If all agents need a schedule, it replaces the sources. */
void tw_keep_schedules(tw_state *s) {
  size_t needing = 0;
  for (size_t i = 0; i < s->n_members; i++) needing += !s->is_retired[i] && s->member[i].agent->needs_schedule;
  for (size_t i = 0; i < s->n_beam; i++)
    if (s->beam[i]->schedule) return;
  tw_candidate *best = needing ? best_with_schedule(s) : NULL;
  const size_t room = (size_t)s->options.beam;
  if (!best || (room == 1 && needing < s->n_members)) return;
  if (s->n_beam == room) s->n_beam--;
  s->beam[s->n_beam++] = best;
}

/* The first step often decides on the structure of a kernel. Its own steps follow the steps of the baseline. */
static const char *first_step(const tw_state *s, const tw_candidate *c) {
  const size_t shared = c->schedule ? tw_state_shared_steps(s, c->schedule) : 0;
  return c->schedule && c->schedule->n > shared ? c->schedule->step[shared] : "";
}

static bool is_same_kind(const tw_state *s, const tw_candidate *a, const tw_candidate *b) {
  const char *x = first_step(s, a), *y = first_step(s, b);
  const size_t n = strcspn(x, " ");
  return n == strcspn(y, " ") && !strncmp(x, y, n);
}

/* The best kernel of another kind than all members. */
static tw_candidate *best_of_another_kind(const tw_state *s, tw_candidate *const *beam, size_t n) {
  tw_candidate *best = NULL;
  for (size_t i = 0; i < s->n; i++) {
    tw_candidate *c = s->all[i];
    if (c->verdict != TW_CORRECT || !*first_step(s, c) || c->measured.cost > NEAR * s->best->measured.cost ||
        (best && !tw_is_better(c, best)))
      continue;
    bool is_new = true;
    for (size_t k = 0; k < n; k++) is_new &= !is_same_kind(s, c, beam[k]);
    if (is_new) best = c;
  }
  return best;
}

/* Half of the members are the best kernels of other kinds, if these are nearly as fast: they may pass the first ones
 * once they have as many steps. */
static void spread_kinds(const tw_state *s, tw_candidate **beam, size_t n) {
  for (size_t i = (n + 1) / 2; n > 2 && i < n; i++) {
    tw_candidate *other = best_of_another_kind(s, beam, i);
    if (!other) return;
    size_t place = i;
    while (place + 1 < n && beam[place] != other) place++;
    memmove(beam + i + 1, beam + i, (place - i) * sizeof *beam);
    beam[i] = other;
  }
}

void tw_select_beam(tw_state *s, size_t first) {
  for (size_t i = first; i < s->n; i++) learn(s, s->all[i]);
  tw_candidate *next[TW_BEAM_MAX];
  size_t n = 0, room = (size_t)s->options.beam;
  bool gained = false;
  s->is_translating = false;
  for (size_t i = 0; i < s->n_members; i++) s->is_translating |= !s->is_retired[i] && tw_translates(s, i);
  for (size_t i = first; i < s->n; i++) {
    const bool translated = is_more_complete(s, s->all[i]);
    if (!beats_its_parent(s, s->all[i]) && !translated) continue;
    gained = true;
    if (translated || !tw_is_far_from_best(s, s->all[i])) insert(s, next, &n, room, s->all[i]);
  }
  s->idle = gained ? 0 : s->idle + 1;
  if (!contains(next, n, s->best) && !(s->is_translating && n == room)) {
    if (n > 0 && n == room) n--; /* the worst child makes room */
    insert(s, next, &n, room, s->best);
  }
  tw_candidate *others[TW_BEAM_MAX]; /* for the free places */
  size_t n_others = 0;
  for (size_t i = 0; i < s->n_beam; i++)
    if (!contains(next, n, s->beam[i])) insert(s, others, &n_others, room, s->beam[i]);
  for (size_t i = first; i < s->n; i++)
    if (beats_its_parent(s, s->all[i]) && tw_is_far_from_best(s, s->all[i]))
      insert(s, others, &n_others, room, s->all[i]);
  for (size_t i = 0; i < n_others && n < room; i++) insert(s, next, &n, room, others[i]);
  if (n == room && !s->is_translating) spread_kinds(s, next, n);
  memcpy(s->beam, next, n * sizeof(tw_candidate *));
  s->n_beam = n;
  tw_keep_schedules(s);
}
