/* wisdom_file.c - the file of wisdom: its place, JSON and lock.
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
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/strings.h"
#include "search/wisdom.h"
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

/* An entry of an earlier version may have old names of keys and steps. */
static void rename_old(tw_wisdom_entry *e) {
  const tw_target *t;
  tw_problem p;
  char *renamed = tw_problem_renamed(e->problem);
  if (renamed && strlen(renamed) < sizeof e->problem) snprintf(e->problem, sizeof e->problem, "%s", renamed);
  free(renamed);
  if (tw_wisdom_problem(e, &t, &p)) tw_target_rename_steps(t, &p, &e->schedule);
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
  rename_old(out);
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

#define MALFORMED(what_, ...)                                                                                          \
  tw_fail(error, TW_USAGE, "%s is not a wisdom file, or is damaged: " what_ "; move it away or repair it", path,       \
          ##__VA_ARGS__)

static tw_status read_root(const char *path, const json_t *root, tw_wisdom *out, tw_error *error) {
  const char *format = json_string_value(json_object_get(root, "format"));
  const json_t *entries = json_object_get(root, "entries"), *version = json_object_get(root, "version");
  if (!format || strcmp(format, FORMAT) != 0) return MALFORMED("\"format\": \"tilewright wisdom\" is missing");
  if (!json_is_integer(version)) return MALFORMED("its version is not a number");
  if (json_integer_value(version) < VERSION_OF_SCHEDULES || json_integer_value(version) > VERSION)
    return tw_fail(error, TW_USAGE,
                   "%s is wisdom of version %lld, but this program supports version %d; use another file", path,
                   (long long)json_integer_value(version), VERSION);
  if (!json_is_array(entries)) return MALFORMED("its list of entries is missing");
  size_t n = json_array_size(entries);
  out->entry = tw_new(n + 1, sizeof *out->entry);
  if (!out->entry) return tw_fail(error, TW_NO_MEMORY, "no memory for the %zu entries of %s", n, path);
  for (size_t i = 0; i < n; i++) {
    const char *wrong = read_entry(json_array_get(entries, i), &out->entry[i]);
    out->n = i + 1;
    if (wrong) return MALFORMED("the %s of entry %zu is malformed", wrong, i + 1);
  }
  return TW_OK;
}

static tw_status read_text(const char *path, const char *text, size_t length, tw_wisdom *out, tw_error *error) {
  json_error_t why;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
  if (!root) return MALFORMED("line %d: %s", why.line, why.text);
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

tw_status tw_wisdom_load(const char *path, tw_wisdom **out, tw_error *error) {
  char *file;
  *out = NULL;
  tw_status status = find_file(path, &file, error);
  if (status == TW_OK) status = load(file, out, error);
  free(file);
  return status;
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
  char *file;
  tw_text_add(&name, "%s.lock", path);
  tw_status status = tw_text_finish(&name, &file, error);
  if (status == TW_OK) status = tw_lock_file(file, false, &patience, out, error);
  free(file);
  return tw_status_restate(status, TW_INTERRUPTED, TW_USAGE, error);
}

tw_status tw_wisdom_begin(const char *path, bool creates, tw_wisdom_change *c, tw_error *error) {
  *c = (tw_wisdom_change){.fd = -1};
  tw_status status = find_file(path, &c->file, error);
  if (status == TW_OK && !creates && !tw_file_exists(c->file)) return load(c->file, &c->wisdom, error);
  if (status == TW_OK && creates) status = make_directory_of(c->file, error);
  if (status == TW_OK) status = lock(c->file, &c->fd, error);
  if (status != TW_OK) return status;
  tw_file_remove_stale(c->file);
  return load(c->file, &c->wisdom, error);
}

tw_status tw_wisdom_end(tw_wisdom_change *c, tw_status status, bool any, tw_error *error) {
  if (status == TW_OK && any) status = save(c->file, c->wisdom, error);
  tw_wisdom_free(c->wisdom);
  tw_unlock_file(c->fd);
  free(c->file);
  return status;
}
