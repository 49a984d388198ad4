/* wisdom.c - the best known kernels, in one JSON file.
 *
 *   {"format": "tilewright wisdom", "version": 1, "entries": [
 *     {"target": "...", "problem": "gemm m=512 ...", "cost": 1.0, "unit": "cycles", "utilization": 0.99,
 *      "found": 1750000000, "schedule": ["tile m=128", ...]}, ...]}
 *
 * "found" is when it was measured, in seconds since 1970; the age of entries without a date is unknown.
 *
 * A kernel without a recipe has "source": "..." in the place of "schedule"; a file with such an entry says version
 * 2, so that older programs, which know only schedules, reject it with a clear error.
 *
 * Invariants:
 * - The file is only ever replaced as a whole (written beside it, then renamed): readers need no lock.
 * - Writers read, change and replace it under an exclusive lock on "<file>.lock", which stays, since a lock file that
 *   is removed lets two writers hold "the" lock.
 * - A file that is not understood entirely is never replaced: it may be of a newer version, or somebody's work. */
#include "tilewright/wisdom.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static tw_status load(const char *path, tw_wisdom *out, tw_error *error) {
  char *text = NULL;
  size_t length;
  *out = (tw_wisdom){0};
  if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return TW_OK;
  tw_status status = tw_file_read(path, SIZE_LIMIT, &text, &length, error);
  if (status != TW_OK) return status;
  json_error_t why;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
  free(text);
  if (!root) {
    char what[JSON_ERROR_TEXT_LENGTH + 32];
    snprintf(what, sizeof what, "line %d: %s", why.line, why.text);
    return malformed(path, error, what);
  }
  status = read_root(path, root, out, error);
  if (status != TW_OK) tw_wisdom_free(out);
  json_decref(root);
  return status;
}

uint64_t tw_wisdom_machine(const tw_target *t) {
  char digest[TW_HASH_TEXT], first[17];
  tw_evaluator_digest(t, digest);
  snprintf(first, sizeof first, "%.16s", digest);
  return strtoull(first, NULL, 16);
}

tw_status tw_wisdom_load(const char *path, tw_wisdom *out, tw_error *error) {
  char *file;
  *out = (tw_wisdom){0};
  tw_status status = find_file(path, &file, error);
  if (status == TW_OK) status = load(file, out, error);
  free(file);
  return status;
}

void tw_wisdom_free(tw_wisdom *wisdom) {
  for (size_t i = 0; i < wisdom->n; i++) free(wisdom->entry[i].source);
  free(wisdom->entry);
  *wisdom = (tw_wisdom){0};
}

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
  tw_wisdom_entry *larger = tw_resize(wisdom->entry, wisdom->n + 1, sizeof *larger);
  if (!larger) return tw_no_memory(error, "wisdom");
  wisdom->entry = larger;
  tw_wisdom_entry *new = &wisdom->entry[wisdom->n];
  new->source = NULL;
  tw_status status = copy_entry(entry, new, error);
  wisdom->n += *changed = status == TW_OK;
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

static tw_status keep_entries(const char *path, const tw_wisdom_entry *entry, size_t n, size_t *refused, tw_error *why,
                              tw_error *error) {
  int fd = -1;
  tw_wisdom wisdom = {0};
  bool any = false;
  tw_status status = make_directory_of(path, error);
  if (status == TW_OK) status = lock(path, &fd, error);
  if (status != TW_OK) return status;
  tw_file_remove_stale(path);
  status = load(path, &wisdom, error);
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    bool changed = false;
    if (tw_plausible_entry(entry[i].target, entry[i].problem, entry[i].cost, *refused ? NULL : why) != TW_OK)
      ++*refused;
    else
      status = merge(&wisdom, &entry[i], &changed, error);
    any = any || changed;
  }
  if (status == TW_OK && any) status = save(path, &wisdom, error);
  tw_wisdom_free(&wisdom);
  tw_unlock_file(fd);
  return status;
}

/* Copies of the entries, with schedules that have no dead steps; NULL without memory. The caller keeps ownership of
 * sources. */
static tw_wisdom_entry *pruned(const tw_wisdom_entry *entry, size_t n) {
  tw_wisdom_entry *out = tw_new(n + 1, sizeof *out);
  for (size_t i = 0; out && i < n; i++) {
    const tw_target *t = tw_target_find(entry[i].target);
    tw_problem problem;
    out[i] = entry[i];
    if (t && !out[i].source && tw_problem_parse(t, out[i].problem, &problem, NULL) == TW_OK &&
        tw_target_supports(t, &problem, NULL) == TW_OK)
      tw_prune_schedule(t, &problem, &out[i].schedule);
  }
  return out;
}

tw_status tw_wisdom_keep_all(const char *path, const tw_wisdom_entry *entry, size_t n, size_t *refused, tw_error *why,
                             tw_error *error) {
  char *file;
  size_t none = 0;
  tw_status status = TW_OK;
  if (!refused) refused = &none;
  *refused = 0;
  for (size_t i = 0; status == TW_OK && i < n; i++) status = check_entry(&entry[i], error);
  if (status == TW_OK) status = find_file(path, &file, error);
  if (status != TW_OK) return status;
  tw_wisdom_entry *own = pruned(entry, n); /* before the lock is taken, because it takes time */
  status = own ? keep_entries(file, own, n, refused, why, error) : tw_no_memory(error, "wisdom");
  free(own);
  free(file);
  return status;
}

tw_status tw_wisdom_keep(const char *path, const tw_wisdom_entry *entry, tw_error *error) {
  size_t refused = 0;
  tw_error why = {0};
  tw_status status = tw_wisdom_keep_all(path, entry, 1, &refused, &why, error);
  if (status != TW_OK || !refused) return status;
  if (error) *error = why;
  return TW_FAILED;
}

/* ---- forgetting ---- */

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

static tw_status forget(const char *path, const char *target, const tw_problem *p, size_t *forgotten, tw_error *error) {
  int fd = -1;
  tw_wisdom wisdom = {0};
  if (!tw_file_exists(path)) return TW_OK;
  tw_status status = lock(path, &fd, error);
  if (status != TW_OK) return status;
  status = load(path, &wisdom, error);
  *forgotten = remove_entries(&wisdom, target, p);
  if (status == TW_OK && *forgotten) status = save(path, &wisdom, error);
  tw_wisdom_free(&wisdom);
  tw_unlock_file(fd);
  return status;
}

tw_status tw_wisdom_forget(const char *path, const char *target, const tw_problem *p, size_t *forgotten,
                           tw_error *error) {
  char *file;
  size_t none;
  if (!forgotten) forgotten = &none;
  *forgotten = 0;
  tw_status status = find_file(path, &file, error);
  if (status != TW_OK) return status;
  status = forget(file, target, p, forgotten, error);
  free(file);
  return status;
}

/* ---- replacing ---- */

static tw_status replace(const char *path, const tw_wisdom_entry *entry, const tw_problem *p, tw_error *error) {
  int fd = -1;
  tw_wisdom wisdom = {0};
  bool changed;
  tw_status status = make_directory_of(path, error);
  if (status == TW_OK) status = lock(path, &fd, error);
  if (status != TW_OK) return status;
  tw_file_remove_stale(path);
  status = load(path, &wisdom, error);
  remove_entries(&wisdom, entry->target, p);
  if (status == TW_OK) status = merge(&wisdom, entry, &changed, error);
  if (status == TW_OK) status = save(path, &wisdom, error);
  tw_wisdom_free(&wisdom);
  tw_unlock_file(fd);
  return status;
}

tw_status tw_wisdom_replace(const char *path, const tw_wisdom_entry *entry, const tw_problem *problem,
                            tw_error *error) {
  char *file;
  tw_status status = check_entry(entry, error);
  if (status == TW_OK) status = tw_plausible_entry(entry->target, entry->problem, entry->cost, error);
  if (status == TW_OK) status = find_file(path, &file, error);
  if (status != TW_OK) return status;
  tw_wisdom_entry *own = pruned(entry, 1);
  status = own ? replace(file, own, problem, error) : tw_no_memory(error, "wisdom");
  free(own);
  free(file);
  return status;
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
  for (size_t i = 0; i < wisdom->n; i++) {
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
  for (size_t i = 0; i < wisdom->n; i++) {
    const tw_wisdom_entry *e = &wisdom->entry[i];
    if (tw_same_machine(e->target, target) && is_named(e, problem) && (!best || e->cost < best->cost)) best = e;
  }
  return best && best->source ? best : NULL;
}
