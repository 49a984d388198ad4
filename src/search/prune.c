/* prune.c - see prune.h. Only the target knows the meaning of a step, so a shorter schedule is judged by its emitted
 * code. */
#include "search/prune.h"

#include <stdlib.h>
#include <string.h>

#include "agent/candidate.h"

/* The emitted code and predicted cost of a schedule. */
typedef struct effect {
  tw_digest source;
  tw_status predicted;
  double cost; /* 0 unless `predicted` is TW_OK */
} effect;

static bool find_effect(const tw_target *t, const tw_problem *p, const tw_schedule *s, effect *out) {
  char *source = NULL;
  if (tw_target_emit(t, p, s, &source, NULL) != TW_OK) return false;
  out->source = tw_target_source_digest(t, source);
  free(source);
  out->cost = 0;
  out->predicted = tw_target_predict(t, p, s, &out->cost, NULL);
  if (out->predicted != TW_OK) out->cost = 0;
  return true;
}

static bool is_same(const effect *a, const effect *b) {
  return !memcmp(&a->source, &b->source, sizeof a->source) && a->predicted == b->predicted && a->cost == b->cost;
}

tw_schedule tw_schedule_without(const tw_schedule *schedule, size_t step) {
  tw_schedule shorter = *schedule;
  shorter.n--;
  memmove(shorter.step[step], shorter.step[step + 1], (shorter.n - step) * sizeof shorter.step[0]);
  return shorter;
}

/* Begins at the end, so that the first of two equal steps stays, and the steps between them remain legal. */
static bool remove_one(const tw_target *t, const tw_problem *p, const effect *whole, size_t kept,
                       tw_schedule *schedule) {
  for (size_t i = schedule->n; i-- > kept;) {
    const tw_schedule shorter = tw_schedule_without(schedule, i);
    effect e;
    if (!find_effect(t, p, &shorter, &e) || !is_same(whole, &e)) continue;
    *schedule = shorter;
    return true;
  }
  return false;
}

void tw_prune_schedule_after(const tw_target *t, const tw_problem *p, size_t kept, tw_schedule *schedule) {
  effect whole;
  if (schedule->n <= kept || !find_effect(t, p, schedule, &whole)) return;
  while (remove_one(t, p, &whole, kept, schedule)) continue;
}

void tw_prune_schedule(const tw_target *t, const tw_problem *p, tw_schedule *schedule) {
  tw_prune_schedule_after(t, p, 0, schedule);
}
