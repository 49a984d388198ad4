/* wisdom.c - the best known kernels, in one JSON file.
 *
 *   {"format": "tilewright wisdom", "version": 1, "entries": [
 *     {"target": "...", "problem": "gemm m=512 ...", "cost": 1.0, "unit": "cycles", "utilization": 0.99,
 *      "found": 1750000000, "schedule": ["tile m=128", ...]}, ...]}
 *
 * "found" is when it was measured, in seconds since 1970; the age of entries without a date is unknown.
 *
 * A kernel without a schedule has "source": "..." in the place of "schedule"; a file with such an entry says version
 * 2, so that older programs, which know only schedules, reject it with a clear error.
 *
 * Invariants:
 * - The file is only ever replaced as a whole (written beside it, then renamed): readers need no lock.
 * - Writers read, change and replace it under an exclusive lock on "<file>.lock", which stays, since a lock file that
 *   is removed lets two writers hold "the" lock.
 * - A file that is not understood entirely is never replaced: it may be of a newer version, or somebody's work. */
#include "search/wisdom.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/machine_name.h"
#include "base/strings.h"
#include "evaluate/evaluator.h"
#include "evaluate/plausible.h"
#include "search/prune.h"
#include "tilewright/extend/target.h"

static const char FORMAT[] = "tilewright wisdom";
enum { VERSION = 2, VERSION_OF_SCHEDULES = 1, SIZE_LIMIT = 64 << 20, LOCK_SECONDS = 10 };

/* ---- its location ---- */

static char *default_path(void) {
  const char *own = getenv("TILEWRIGHT_WISDOM"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (own && *own) return strdup(own);
  if (data && *data == '/') /* as in the XDG specification: a relative path is ignored */
    return tw_path_join(data, "tilewright/wisdom.json");
  return home && *home == '/' ? tw_path_join(home, ".local/share/tilewright/wisdom.json") : NULL;
}

static tw_status find_file(const char *path, char **out, tw_error *error) {
  *out = path ? strdup(path) : default_path();
  if (*out) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "the location of the wisdom file is unknown; set TILEWRIGHT_WISDOM to a file name, or set HOME");
}

/* ---- reading ---- */

static bool copy_text(const json_t *value, char *out, size_t size) {
  const char *text = json_string_value(value);
  if (!text || !*text || strlen(text) >= size) return false;
  memcpy(out, text, strlen(text) + 1);
  return true;
}

/* An entry of an earlier version may have old names of keys. */
static void rename_keys(tw_wisdom_entry *e) {
  char *renamed = tw_problem_renamed(e->problem);
  if (renamed && strlen(renamed) < sizeof e->problem) snprintf(e->problem, sizeof e->problem, "%s", renamed);
  free(renamed);
}

/* An entry of an earlier version may have old names of steps (verb.h). */
static void rename_steps(tw_wisdom_entry *e) {
  const tw_target *t = tw_target_find(e->target);
  tw_problem p;
  if (t && e->schedule.n && tw_problem_parse(t, e->problem, &p, NULL) == TW_OK)
    tw_target_rename_steps(t, &p, &e->schedule);
}

/* 16 hexadecimal digits. */
static bool read_machine(const json_t *text, uint64_t *out) {
  const char *digits = json_string_value(text);
  if (!digits || strlen(digits) != 16 || strspn(digits, "0123456789abcdef") != 16) return false;
  *out = strtoull(digits, NULL, 16);
  return true;
}

/* NULL, or the error. */
static const char *read_entry(const json_t *object, tw_wisdom_entry *out) {
  memset(out, 0, sizeof *out);
  if (!copy_text(json_object_get(object, "target"), out->target, sizeof out->target)) return "target";
  if (!copy_text(json_object_get(object, "problem"), out->problem, sizeof out->problem)) return "problem";
  if (!copy_text(json_object_get(object, "unit"), out->unit, sizeof out->unit)) return "unit";
  const json_t *steps = json_object_get(object, "schedule"), *source = json_object_get(object, "source");
  if (json_is_string(source) == json_is_array(steps)) return "schedule";
  for (size_t i = 0; i < json_array_size(steps); i++) {
    const char *step = json_string_value(json_array_get(steps, i));
    if (!step || tw_schedule_add(&out->schedule, step, NULL) != TW_OK) return "schedule";
  }
  rename_keys(out);
  rename_steps(out);
  out->cost = json_number_value(json_object_get(object, "cost"));
  if (!(out->cost > 0)) return "cost";
  out->utilization = json_number_value(json_object_get(object, "utilization"));
  if (!(out->utilization >= 0)) return "utilization";
  const json_t *found = json_object_get(object, "found");
  if (found && !(json_is_integer(found) && json_integer_value(found) >= 0)) return "time";
  out->found = json_integer_value(found);
  const json_t *machine = json_object_get(object, "machine");
  if (machine && !read_machine(machine, &out->machine)) return "machine";
  if (source && !(out->source = strdup(json_string_value(source)))) return "source";
  return NULL;
}

static tw_status malformed(const char *path, tw_error *error, const char *what) {
  return tw_fail(error, TW_USAGE, "%s is not a wisdom file, or is damaged: %s; move it away or repair it", path, what);
}

static tw_status read_root(const char *path, const json_t *root, tw_wisdom *out, tw_error *error) {
  const char *format = json_string_value(json_object_get(root, "format"));
  const json_t *entries = json_object_get(root, "entries"), *version = json_object_get(root, "version");
  if (!format || strcmp(format, FORMAT) != 0)
    return malformed(path, error, "\"format\": \"tilewright wisdom\" is missing");
  if (!json_is_integer(version)) return malformed(path, error, "its version is not a number");
  if (json_integer_value(version) < VERSION_OF_SCHEDULES || json_integer_value(version) > VERSION)
    return tw_fail(error, TW_USAGE,
                   "%s is wisdom of version %lld, but this program supports version %d; use another file", path,
                   (long long)json_integer_value(version), VERSION);
  if (!json_is_array(entries)) return malformed(path, error, "its list of entries is missing");
  size_t n = json_array_size(entries);
  out->entry = tw_new(n + 1, sizeof *out->entry);
  if (!out->entry) return tw_fail(error, TW_NO_MEMORY, "no memory for the %zu entries of %s", n, path);
  for (size_t i = 0; i < n; i++) {
    const char *wrong = read_entry(json_array_get(entries, i), &out->entry[i]);
    out->n = i + 1;
    if (wrong) {
      char what[96];
      snprintf(what, sizeof what, "the %s of entry %zu is malformed", wrong, i + 1);
      return malformed(path, error, what);
    }
  }
  return TW_OK;
}

static tw_status read_text(const char *path, const char *text, size_t length, tw_wisdom *out, tw_error *error) {
  json_error_t why;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
  if (!root) {
    char what[JSON_ERROR_TEXT_LENGTH + 32];
    snprintf(what, sizeof what, "line %d: %s", why.line, why.text);
    return malformed(path, error, what);
  }
  const tw_status status = read_root(path, root, out, error);
  json_decref(root);
  return status;
}

static tw_status load(const char *path, tw_wisdom **out, tw_error *error) {
  char *text = NULL;
  size_t length;
  if (!(*out = tw_new(1, sizeof **out))) return tw_no_memory(error, "wisdom");
  if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return TW_OK;
  tw_status status = tw_file_read(path, SIZE_LIMIT, &text, &length, error);
  if (status == TW_OK) status = read_text(path, text, length, *out, error);
  free(text);
  if (status == TW_OK) return TW_OK;
  tw_wisdom_free(*out);
  *out = NULL;
  return status;
}

uint64_t tw_wisdom_machine(const tw_target *t) {
  char digest[TW_HASH_TEXT], first[17];
  tw_evaluator_digest(t, digest);
  snprintf(first, sizeof first, "%.16s", digest);
  return strtoull(first, NULL, 16);
}

tw_status tw_wisdom_load(const char *path, tw_wisdom **out, tw_error *error) {
  char *file;
  *out = NULL;
  tw_status status = find_file(path, &file, error);
  if (status == TW_OK) status = load(file, out, error);
  free(file);
  return status;
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

/* ---- writing ---- */

static json_t *print_entry(const tw_wisdom_entry *e) {
  json_t *object = json_pack("{s:s, s:s, s:f, s:s, s:f}", "target", e->target, "problem", e->problem, "cost", e->cost,
                             "unit", e->unit, "utilization", e->utilization);
  if (!object) return NULL;
  if (e->found > 0) json_object_set_new(object, "found", json_integer(e->found));
  if (e->machine) json_object_set_new(object, "machine", tw_json_digits(e->machine));
  json_t *kernel = e->source ? json_string(e->source) : json_array();
  for (size_t i = 0; !e->source && i < e->schedule.n; i++)
    json_array_append_new(kernel, json_string(e->schedule.step[i]));
  if (json_object_set_new(object, e->source ? "source" : "schedule", kernel) == 0) return object;
  json_decref(object);
  return NULL;
}

static tw_status save(const char *path, const tw_wisdom *wisdom, tw_error *error) {
  json_t *entries = json_array();
  int version = VERSION_OF_SCHEDULES;
  for (size_t i = 0; i < wisdom->n; i++) {
    json_array_append_new(entries, print_entry(&wisdom->entry[i]));
    if (wisdom->entry[i].source) version = VERSION;
  }
  json_t *root = json_pack("{s:s, s:i, s:o}", "format", FORMAT, "version", version, "entries", entries);
  char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
  tw_status status;
  if (!text || json_array_size(entries) != wisdom->n)
    status = tw_fail(error, TW_USAGE, "a name or a source in the wisdom for %s is not UTF-8 text", path);
  else
    status = tw_file_write(path, text, strlen(text), error);
  free(text);
  json_decref(root);
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

static tw_status make_directory_of(const char *path, tw_error *error) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return TW_OK;
  char *directory = strndup(path, (size_t)(slash - path));
  tw_status status = directory ? tw_directory_make(directory, error) : tw_no_memory(error, "wisdom");
  free(directory);
  return status;
}

static tw_status lock(const char *path, int *out, tw_error *error) {
  const tw_stop patience = {.deadline = tw_now() + LOCK_SECONDS};
  tw_text name = {0};
  tw_text_add(&name, "%s.lock", path);
  char *file = tw_text_take(&name);
  tw_status status = file ? tw_lock_file(file, false, &patience, out, error) : tw_no_memory(error, "wisdom");
  free(file);
  if (status != TW_INTERRUPTED) return status;
  if (error) error->status = TW_USAGE;
  return TW_USAGE;
}

static tw_status check_entry(const tw_wisdom_entry *e, tw_error *error) {
  if (e->target[0] && e->problem[0] && e->unit[0] && isfinite(e->cost) && e->cost > 0 && isfinite(e->utilization) &&
      e->utilization >= 0)
    return TW_OK;
  return tw_fail(error, TW_USAGE, "an entry of wisdom requires a target, a problem, a unit and a positive cost");
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

/* ---- changes of the file ---- */

/* The file under its lock, and its entries. */
typedef struct change {
  char *file;
  int fd;
  tw_wisdom *wisdom;
} change;

/* On failure, too, end_change must be called. Without `creates`, a missing file has no entries and is not locked. */
static tw_status begin_change(const char *path, bool creates, change *c, tw_error *error) {
  *c = (change){.fd = -1};
  tw_status status = find_file(path, &c->file, error);
  if (status == TW_OK && !creates && !tw_file_exists(c->file)) return load(c->file, &c->wisdom, error);
  if (status == TW_OK && creates) status = make_directory_of(c->file, error);
  if (status == TW_OK) status = lock(c->file, &c->fd, error);
  if (status != TW_OK) return status;
  tw_file_remove_stale(c->file);
  return load(c->file, &c->wisdom, error);
}

/* Writes the file if the change succeeded and changed anything. Returns the status of all. */
static tw_status end_change(change *c, tw_status status, bool any, tw_error *error) {
  if (status == TW_OK && any) status = save(c->file, c->wisdom, error);
  tw_wisdom_free(c->wisdom);
  tw_unlock_file(c->fd);
  free(c->file);
  return status;
}

/* Keys may be in another order, as written by earlier versions of this program. */
static bool is_named(const tw_wisdom_entry *e, const tw_problem *problem) {
  char text[sizeof e->problem], again[sizeof e->problem];
  tw_problem known;
  if (tw_problem_print(problem, text, sizeof text) >= sizeof text) return false;
  if (!strcmp(text, e->problem)) return true;
  return tw_problem_parse(tw_target_find(e->target), e->problem, &known, NULL) == TW_OK &&
         tw_problem_print(&known, again, sizeof again) < sizeof again && !strcmp(text, again);
}

/* Removes the entries for a problem; returns their number. */
static size_t remove_entries(tw_wisdom *wisdom, const char *target, const tw_problem *p) {
  const size_t all = wisdom->n;
  size_t kept = 0;
  for (size_t i = 0; i < all; i++) {
    tw_wisdom_entry *e = &wisdom->entry[i];
    if (tw_same_machine(e->target, target) && is_named(e, p))
      free(e->source);
    else
      wisdom->entry[kept++] = *e;
  }
  wisdom->n = kept;
  return all - kept;
}

/* A schedule has no dead steps in the file. */
static void prune(tw_wisdom_entry *e) {
  const tw_target *t = tw_target_find(e->target);
  tw_problem problem;
  if (t && !e->source && tw_problem_parse(t, e->problem, &problem, NULL) == TW_OK &&
      tw_target_supports(t, &problem, NULL) == TW_OK)
    tw_prune_schedule(t, &problem, &e->schedule);
}

/* Copies of the possible entries as the file has them. They share their sources with `wisdom`; free out->entry. This
 * takes time, so it comes before the lock. */
static tw_status prepare(const tw_wisdom *wisdom, size_t *refused, tw_error *why, tw_wisdom *out, tw_error *error) {
  const size_t n = wisdom ? wisdom->n : 0;
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < n; i++) status = check_entry(&wisdom->entry[i], error);
  if (status == TW_OK && !(out->entry = tw_new(n + 1, sizeof *out->entry))) status = tw_no_memory(error, "wisdom");
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    tw_wisdom_entry *e = &out->entry[out->n];
    *e = wisdom->entry[i];
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
    change c;
    status = begin_change(path, true, &c, error);
    if (status == TW_OK && replaces) status = remove_all(c.wisdom, &new, error);
    for (size_t i = 0; status == TW_OK && i < new.n; i++) {
      bool changed = false;
      status = merge(c.wisdom, &new.entry[i], &changed, error);
      any = any || changed;
    }
    status = end_change(&c, status, any, error);
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
  change c;
  tw_status status = begin_change(path, false, &c, error);
  const size_t n = status == TW_OK ? remove_entries(c.wisdom, target, p) : 0;
  if (forgotten) *forgotten = n;
  return end_change(&c, status, n > 0, error);
}

/* ---- finding ---- */

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

/* Keys may be in another order, as written by earlier versions of this program. */
const tw_wisdom_entry *tw_wisdom_find(const tw_wisdom *wisdom, const char *target, const tw_problem *problem,
                                      bool *exact) {
  const tw_wisdom_entry *nearest = NULL;
  double least = HUGE_VAL;
  if (exact) *exact = false;
  for (size_t i = 0; wisdom && i < wisdom->n; i++) {
    const tw_wisdom_entry *e = &wisdom->entry[i];
    tw_problem known;
    if (e->source || !tw_same_machine(e->target, target)) continue;
    if (is_named(e, problem)) {
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
    if (tw_same_machine(e->target, target) && is_named(e, problem) && (!best || e->cost < best->cost)) best = e;
  }
  return best && best->source ? best : NULL;
}
