/* wisdom.c - entries: their members, the best or the nearest one for a problem, and libraries of targets that use them. */
#include "search/wisdom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
#include "evaluate/evaluator.h"
#include "tilewright/extend/target.h"

uint64_t tw_wisdom_machine(const tw_target *t) {
  char digest[TW_HASH_TEXT], first[17];
  tw_evaluator_digest(t, digest);
  snprintf(first, sizeof first, "%.16s", digest);
  return strtoull(first, NULL, 16);
}

void tw_wisdom_free(tw_wisdom *wisdom) {
  for (size_t i = 0; wisdom && i < wisdom->n; i++) free(wisdom->entry[i].source);
  if (wisdom) free(wisdom->entry);
  free(wisdom);
}

const tw_wisdom_entry *tw_wisdom_at(const tw_wisdom *w, size_t index) {
  return w && index < w->n ? &w->entry[index] : NULL;
}

const char *tw_wisdom_entry_target(const tw_wisdom_entry *e) { return e->target; }
const char *tw_wisdom_entry_problem(const tw_wisdom_entry *e) { return e->problem; }
const tw_schedule *tw_wisdom_entry_schedule(const tw_wisdom_entry *e) { return e->source ? NULL : &e->schedule; }
const char *tw_wisdom_entry_source(const tw_wisdom_entry *e) { return e->source; }
double tw_wisdom_entry_cost(const tw_wisdom_entry *e) { return e->cost; }
const char *tw_wisdom_entry_unit(const tw_wisdom_entry *e) { return e->unit; }
double tw_wisdom_entry_utilization(const tw_wisdom_entry *e) { return e->utilization; }
int64_t tw_wisdom_entry_found(const tw_wisdom_entry *e) { return e->found; }
uint64_t tw_wisdom_entry_machine(const tw_wisdom_entry *e) { return e->machine; }

bool tw_wisdom_problem(const tw_wisdom_entry *e, const tw_target **target, tw_problem *problem) {
  *target = tw_target_find(e->target);
  return !e->source && *target && tw_problem_parse(*target, e->problem, problem, NULL) == TW_OK;
}

bool tw_wisdom_is_named(const tw_wisdom_entry *e, const tw_problem *problem) {
  char text[sizeof e->problem], again[sizeof e->problem];
  tw_problem known;
  if (tw_problem_print(problem, text, sizeof text) >= sizeof text) return false;
  if (!strcmp(text, e->problem)) return true;
  return tw_problem_parse(tw_target_find(e->target), e->problem, &known, NULL) == TW_OK &&
         tw_problem_print(&known, again, sizeof again) < sizeof again && !strcmp(text, again);
}

/* The distance of two shapes: doublings of each size. A differing flag or choice counts as four doublings, because it
 * changes which schedules are good. HUGE_VAL if a schedule of one is useless for the other. */
static double distance(const tw_problem *a, const tw_problem *b) {
  double sum = 0;
  if (a->op != b->op) return HUGE_VAL;
  const tw_value *x, *y;
  const tw_key *key;
  for (size_t i = 0; (key = tw_problem_key(a, i, &x)) && tw_problem_key(b, i, &y); i++) switch (key->kind) {
    case TW_KEY_TYPE:
      if (x->i != y->i) return HUGE_VAL;
      break;
    case TW_KEY_INT:
      if (x->i > 0 && y->i > 0)
        sum += fabs(log2((double)x->i / (double)y->i));
      else
        sum += x->i == y->i ? 0 : 1; /* 0 means a default whose value is unknown here */
      break;
    case TW_KEY_BOOL:
    case TW_KEY_CHOICE: sum += x->i == y->i ? 0 : 4; break;
    case TW_KEY_REAL: sum += x->r == y->r ? 0 : 0.5; break;
    }
  return sum;
}

const tw_wisdom_entry *tw_wisdom_find(const tw_wisdom *wisdom, const char *target, const tw_problem *problem,
                                      bool *exact) {
  const tw_wisdom_entry *nearest = NULL;
  double least = HUGE_VAL;
  if (exact) *exact = false;
  for (size_t i = 0; wisdom && i < wisdom->n; i++) {
    const tw_wisdom_entry *e = &wisdom->entry[i];
    tw_problem known;
    if (e->source || !tw_same_machine(e->target, target)) continue;
    if (tw_wisdom_is_named(e, problem)) {
      if (exact) *exact = true;
      return e;
    }
    double d = tw_problem_parse(tw_target_find(target), e->problem, &known, NULL) == TW_OK ? distance(problem, &known)
                                                                                           : HUGE_VAL;
    if (d < least) {
      least = d;
      nearest = e;
    }
  }
  return nearest;
}

const tw_wisdom_entry *tw_wisdom_find_source(const tw_wisdom *wisdom, const char *target, const tw_problem *problem) {
  const tw_wisdom_entry *best = NULL;
  for (size_t i = 0; wisdom && i < wisdom->n; i++) {
    const tw_wisdom_entry *e = &wisdom->entry[i];
    if (tw_same_machine(e->target, target) && tw_wisdom_is_named(e, problem) && (!best || e->cost < best->cost))
      best = e;
  }
  return best && best->source ? best : NULL;
}

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
    const tw_target *t;
    tw_problem p;
    if (tw_wisdom_problem(e, &t, &p) && t->library && tw_target_supports(t, &p, NULL) == TW_OK &&
        !tw_wisdom_is_hopeless(t, &p, &e->schedule))
      n += t->library->learn(t, &p, &e->schedule, NULL) == TW_OK;
  }
  tw_wisdom_free(wisdom);
  if (applied) *applied = n;
  return status;
}
