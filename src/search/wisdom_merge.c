/* wisdom_merge.c - changes: a better kernel replaces a worse one; the entries for a problem are removed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/machine_name.h"
#include "base/strings.h"
#include "evaluate/plausible.h"
#include "search/prune.h"
#include "search/wisdom.h"
#include "tilewright/extend/target.h"

static tw_status check_entry(const tw_wisdom_entry *e, tw_error *error) {
  if (e->target[0] && e->problem[0] && e->unit[0] && isfinite(e->cost) && e->cost > 0 && isfinite(e->utilization) &&
      e->utilization >= 0)
    return TW_OK;
  return tw_fail(error, TW_USAGE, "an entry of wisdom requires a target, a problem, a unit and a positive cost");
}

/* `out` gets a copy of the source; its old source is freed. */
static tw_status copy_entry(const tw_wisdom_entry *entry, tw_wisdom_entry *out, tw_error *error) {
  char *source = entry->source ? strdup(entry->source) : NULL;
  if (entry->source && !source) return tw_no_memory(error, "wisdom");
  free(out->source);
  *out = *entry;
  out->source = source;
  return TW_OK;
}

static tw_status append(tw_wisdom *wisdom, const tw_wisdom_entry *entry, tw_error *error) {
  tw_wisdom_entry *larger = tw_resize(wisdom->entry, wisdom->n + 1, sizeof *larger);
  if (!larger) return tw_no_memory(error, "wisdom");
  wisdom->entry = larger;
  larger[wisdom->n].source = NULL;
  const tw_status status = copy_entry(entry, &larger[wisdom->n], error);
  wisdom->n += status == TW_OK;
  return status;
}

tw_status tw_wisdom_add(tw_wisdom **wisdom, const tw_target *t, const tw_problem *p, const tw_schedule *schedule,
                        const char *source, const tw_measurement *measured, uint64_t machine, tw_error *error) {
  tw_wisdom_entry e = {.source = schedule ? NULL : (char *)source,
                       .cost = measured->cost,
                       .utilization = measured->utilization,
                       .found = (int64_t)time(NULL),
                       .machine = machine};
  tw_wisdom *w = *wisdom;
  if (schedule) e.schedule = *schedule;
  snprintf(e.target, sizeof e.target, "%s", t->name);
  snprintf(e.unit, sizeof e.unit, "%s", t->unit);
  if (!schedule == !source)
    return tw_fail(error, TW_USAGE, "an entry of wisdom requires either a schedule or a source; one must be NULL");
  if (tw_problem_print(p, e.problem, sizeof e.problem) >= sizeof e.problem)
    return tw_fail(error, TW_USAGE, "the problem has more than %zu characters", sizeof e.problem - 1);
  tw_status status = check_entry(&e, error);
  if (status == TW_OK && !w && !(w = tw_new(1, sizeof *w))) status = tw_no_memory(error, "wisdom");
  if (status == TW_OK) status = append(w, &e, error);
  if (status == TW_OK)
    *wisdom = w;
  else if (!*wisdom)
    tw_wisdom_free(w);
  return status;
}

/* A new measurement of the same kernel replaces its cost. */
static bool same_kernel(const tw_wisdom_entry *a, const tw_wisdom_entry *b) {
  if (a->source || b->source) return a->source && b->source && !strcmp(a->source, b->source);
  if (a->schedule.n != b->schedule.n) return false;
  for (size_t i = 0; i < a->schedule.n; i++)
    if (strcmp(a->schedule.step[i], b->schedule.step[i]) != 0) return false;
  return true;
}

/* Adds the entry, or replaces a worse one. Returns whether the file must be written. */
static tw_status merge(tw_wisdom *wisdom, const tw_wisdom_entry *entry, bool *changed, tw_error *error) {
  *changed = false;
  for (size_t i = 0; i < wisdom->n; i++) {
    tw_wisdom_entry *old = &wisdom->entry[i];
    if (!tw_same_machine(old->target, entry->target) || strcmp(old->problem, entry->problem) != 0 ||
        !old->source != !entry->source)
      continue;
    const bool comparable = !old->machine || !entry->machine || old->machine == entry->machine;
    *changed = (comparable ? entry->cost < old->cost : entry->found > old->found) ||
               (same_kernel(old, entry) && entry->cost != old->cost) ||
               tw_plausible_entry(old->target, old->problem, old->cost, NULL) != TW_OK;
    return *changed ? copy_entry(entry, old, error) : TW_OK;
  }
  const tw_status status = append(wisdom, entry, error);
  *changed = status == TW_OK;
  return status;
}

/* Removes the entries for a problem; returns their number. */
static size_t remove_entries(tw_wisdom *wisdom, const char *target, const tw_problem *p) {
  const size_t all = wisdom->n;
  size_t kept = 0;
  for (size_t i = 0; i < all; i++) {
    tw_wisdom_entry *e = &wisdom->entry[i];
    if (tw_same_machine(e->target, target) && tw_wisdom_is_named(e, p))
      free(e->source);
    else
      wisdom->entry[kept++] = *e;
  }
  wisdom->n = kept;
  return all - kept;
}

/* A schedule has no dead steps in the file. */
static void prune(tw_wisdom_entry *e) {
  const tw_target *t;
  tw_problem p;
  if (tw_wisdom_problem(e, &t, &p) && tw_target_supports(t, &p, NULL) == TW_OK) tw_prune_schedule(t, &p, &e->schedule);
}

/* Copies of the possible entries as the file has them. They share their sources with `wisdom`; free out->entry. This
 * takes time, so it comes before the lock. */
static tw_status prepare(const tw_wisdom *wisdom, size_t *refused, tw_error *why, tw_wisdom *out, tw_error *error) {
  const size_t n = wisdom ? wisdom->n : 0;
  tw_status status = TW_OK;
  if (!(out->entry = tw_new(n + 1, sizeof *out->entry))) status = tw_no_memory(error, "wisdom");
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    tw_wisdom_entry *e = &out->entry[out->n];
    *e = wisdom->entry[i];
    if ((status = check_entry(e, error)) != TW_OK) break;
    status = tw_plausible_entry(e->target, e->problem, e->cost, !refused ? error : *refused ? NULL : why);
    if (status == TW_OK) {
      prune(e);
      out->n++;
    } else if (refused) {
      ++*refused;
      status = TW_OK;
    }
  }
  return status;
}

/* Removes all entries for the problems of `new`. */
static tw_status remove_all(tw_wisdom *wisdom, const tw_wisdom *new, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < new->n; i++) {
    const tw_wisdom_entry *e = &new->entry[i];
    tw_problem p;
    status = tw_problem_parse(tw_target_find(e->target), e->problem, &p, error);
    if (status == TW_OK) remove_entries(wisdom, e->target, &p);
  }
  return status;
}

static tw_status store(const char *path, const tw_wisdom *wisdom, bool replaces, size_t *refused, tw_error *why,
                       tw_error *error) {
  tw_wisdom new = {0};
  bool any = replaces;
  tw_status status = prepare(wisdom, refused, why, &new, error);
  if (status == TW_OK) {
    tw_wisdom_change c;
    status = tw_wisdom_begin(path, true, &c, error);
    if (status == TW_OK && replaces) status = remove_all(c.wisdom, &new, error);
    for (size_t i = 0; status == TW_OK && i < new.n; i++) {
      bool changed = false;
      status = merge(c.wisdom, &new.entry[i], &changed, error);
      any = any || changed;
    }
    status = tw_wisdom_end(&c, status, any, error);
  }
  free(new.entry);
  return status;
}

tw_status tw_wisdom_keep(const char *path, const tw_wisdom *wisdom, size_t *refused, tw_error *why, tw_error *error) {
  if (refused) *refused = 0;
  return store(path, wisdom, false, refused, why, error);
}

tw_status tw_wisdom_replace(const char *path, const tw_wisdom *wisdom, tw_error *error) {
  return store(path, wisdom, true, NULL, NULL, error);
}

tw_status tw_wisdom_forget(const char *path, const char *target, const tw_problem *p, size_t *forgotten,
                           tw_error *error) {
  tw_wisdom_change c;
  tw_status status = tw_wisdom_begin(path, false, &c, error);
  const size_t n = status == TW_OK ? remove_entries(c.wisdom, target, p) : 0;
  if (forgotten) *forgotten = n;
  return tw_wisdom_end(&c, status, n > 0, error);
}
