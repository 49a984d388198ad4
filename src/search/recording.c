/* recording.c - see recording.h. A journal is opened read-only: a running search may write to it. */
#include "search/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/prompt.h"
#include "base/database.h"
#include "base/files.h"
#include "base/machine_name.h"
#include "base/strings.h"
#include "tilewright/extend/op.h"

enum { STEPS_MOST = 1 << 16 };
static const double QUERY_SECONDS = 20;

tw_status tw_recordings_add(tw_recordings *r, const tw_schedule *schedule, tw_error *error) {
  if (r->n == TW_RECORDINGS_MOST)
    return tw_fail(error, TW_USAGE, "too many recordings; at most %d are supported", TW_RECORDINGS_MOST);
  r->schedule[r->n++] = *schedule;
  return TW_OK;
}

void tw_recordings_free(tw_recordings *r) {
  for (size_t i = 0; i < r->n_plans; i++) free(r->plan[i]);
  *r = (tw_recordings){0};
}

/* ---- a file of steps ---- */

static tw_status read_steps(const char *path, tw_recordings *out, tw_error *error) {
  char *text = NULL;
  size_t length = 0;
  tw_schedule schedule = {0};
  tw_status status = tw_file_read(path, STEPS_MOST, &text, &length, error);
  if (status != TW_OK) return status;
  tw_error why = {0};
  status = strlen(text) == length ? tw_schedule_parse(text, &schedule, &why)
                                  : tw_fail(&why, TW_USAGE, "it contains bytes that are not text");
  free(text);
  if (status == TW_OK && schedule.n == 0) status = tw_fail(&why, TW_USAGE, "it has no steps");
  if (status != TW_OK) return tw_fail(error, TW_USAGE, "recording '%s': %.1800s", path, why.text);
  return tw_recordings_add(out, &schedule, error);
}

/* ---- a journal ---- */

typedef struct reader {
  tw_database file;
  const char *path;
  long long search, best;
} reader;

static tw_status fail(const reader *r, tw_error *error) {
  return tw_fail(error, TW_USAGE, "recording '%s': the journal cannot be read (%s)", r->path,
                 sqlite3_errmsg(r->file.db));
}

/* A prepared query with bound numbers. NULL: the journal cannot be read. */
static sqlite3_stmt *ask(const reader *r, const char *sql, long long first, long long second) {
  sqlite3_stmt *s = NULL;
  if (sqlite3_prepare_v2(r->file.db, sql, -1, &s, NULL) != SQLITE_OK) return NULL;
  if (sqlite3_bind_parameter_count(s) > 0) sqlite3_bind_int64(s, 1, first);
  if (sqlite3_bind_parameter_count(s) > 1) sqlite3_bind_int64(s, 2, second);
  return s;
}

static const char *text_of(sqlite3_stmt *s, int column) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  return text ? text : "";
}

static tw_status check_subject(const reader *r, const tw_target *target, const tw_problem *problem, tw_error *error) {
  sqlite3_stmt *s = ask(r, "SELECT key, value FROM journal", 0, 0);
  if (!s) return fail(r, error);
  tw_status status = TW_OK;
  while (status == TW_OK && sqlite3_step(s) == SQLITE_ROW) {
    const char *key = text_of(s, 0), *value = text_of(s, 1);
    const size_t op = strcspn(value, " ");
    if (!strcmp(key, "target") && !tw_same_machine(value, target->name))
      status = tw_fail(error, TW_USAGE, "recording '%s' is of the target %s; expected one of %s", r->path, value,
                       target->name);
    if (!strcmp(key, "problem") && (strlen(problem->op->name) != op || strncmp(value, problem->op->name, op) != 0))
      status = tw_fail(error, TW_USAGE, "recording '%s' is of the op %.*s; expected one of %s", r->path, (int)op, value,
                       problem->op->name);
  }
  sqlite3_finalize(s);
  return status;
}

/* The correct kernel of least cost in all searches of the journal. Of equal kernels, the one with the fewest steps. */
static tw_status find_best(reader *r, tw_error *error) {
  sqlite3_stmt *s = ask(r,
                        "SELECT search, number FROM candidate WHERE verdict = 'correct' AND cost > 0"
                        " ORDER BY cost, schedule IS NULL, length(schedule), search, number LIMIT 1",
                        0, 0);
  if (!s) return fail(r, error);
  const bool found = sqlite3_step(s) == SQLITE_ROW;
  if (found) r->search = sqlite3_column_int64(s, 0), r->best = sqlite3_column_int64(s, 1);
  sqlite3_finalize(s);
  return found ? TW_OK : tw_fail(error, TW_USAGE, "recording '%s' has no correct kernel yet", r->path);
}

/* The whole reply of a model that led to a candidate with this option and reason. Without such a reply, a plan made
 * of the two. malloc'ed. */
static char *find_plan(const reader *r, const char *lever, const char *why) {
  sqlite3_stmt *s = ask(r, "SELECT answer FROM exchange WHERE search = ?1 ORDER BY place", r->search, 0);
  char *plan = NULL;
  while (s && !plan && sqlite3_step(s) == SQLITE_ROW) {
    char its_lever[TW_LEVER_MAX], its_why[TW_WHY_MAX];
    const char *answer = text_of(s, 0);
    if (tw_prompt_read_plan(answer, its_lever, its_why) && !strcmp(its_lever, lever) && !strcmp(its_why, why))
      plan = strdup(answer);
  }
  sqlite3_finalize(s);
  if (plan) return plan;
  tw_text t = {0};
  tw_text_add(&t, "OPTION: %s\nWHY: %s\nPLAN: %s\n", lever, why, *why ? why : lever);
  return tw_text_take(&t);
}

/* Goes from the best kernel up to the first ancestor with a schedule. Adds the plans on this path in order. */
static tw_status read_lineage(const reader *r, tw_recordings *out, tw_error *error) {
  char *plan[TW_RECORDED_PLANS_MOST];
  size_t n = 0;
  tw_status status = TW_OK;
  bool goes_on = true;
  for (long long number = r->best; status == TW_OK && goes_on;) {
    sqlite3_stmt *s = ask(r, "SELECT schedule, parent, lever, why FROM candidate WHERE search = ?1 AND number = ?2",
                          r->search, number);
    goes_on = false;
    if (!s) status = fail(r, error);
    if (s && sqlite3_step(s) == SQLITE_ROW) {
      const bool has_schedule = sqlite3_column_type(s, 0) != SQLITE_NULL,
                 has_parent = sqlite3_column_type(s, 1) != SQLITE_NULL;
      tw_schedule schedule = {0};
      if (has_schedule) {
        status = tw_schedule_parse(text_of(s, 0), &schedule, error);
        if (status == TW_OK && schedule.n) status = tw_recordings_add(out, &schedule, error);
      } else if (has_parent && n + out->n_plans < TW_RECORDED_PLANS_MOST) {
        if ((plan[n] = find_plan(r, text_of(s, 2), text_of(s, 3)))) n++;
        /* true in every valid journal; the loop ends here in a damaged one */
        goes_on = sqlite3_column_int64(s, 1) < number;
        number = sqlite3_column_int64(s, 1);
      }
    }
    sqlite3_finalize(s);
  }
  while (n > 0) out->plan[out->n_plans++] = plan[--n];
  return status;
}

static tw_status read_journal(const char *path, const tw_target *target, const tw_problem *problem, tw_recordings *out,
                              tw_error *error) {
  reader r = {.path = path};
  const size_t before = out->n + out->n_plans;
  tw_error why = {0};
  tw_status status = tw_database_open(&r.file, path, QUERY_SECONDS, &why);
  if (status != TW_OK) tw_fail(error, status, "recording '%s': the journal cannot be read (%.1800s)", path, why.text);
  if (status == TW_OK) status = check_subject(&r, target, problem, error);
  if (status == TW_OK) status = find_best(&r, error);
  if (status == TW_OK) status = read_lineage(&r, out, error);
  sqlite3_close(r.file.db);
  if (status == TW_OK && out->n + out->n_plans == before)
    status =
        tw_fail(error, TW_USAGE, "recording '%s' has neither steps nor plans: its best kernel is the baseline", path);
  return status;
}

static bool is_journal(const char *path) {
  static const char magic[] = "SQLite format 3";
  char start[sizeof magic] = "";
  FILE *f = fopen(path, "rb");
  const bool read = f && fread(start, 1, sizeof magic, f) == sizeof magic;
  if (f) fclose(f);
  return read && !memcmp(start, magic, sizeof magic);
}

tw_status tw_recordings_read(const char *path, const tw_target *target, const tw_problem *problem, tw_recordings *out,
                             tw_error *error) {
  struct stat info;
  if (stat(path, &info) != 0)
    return tw_fail(error, TW_USAGE,
                   "recording '%s' does not exist; name an output directory of `tilewright tune --out DIR`, its "
                   "journal or a file of steps",
                   path);
  if (!S_ISDIR(info.st_mode))
    return is_journal(path) ? read_journal(path, target, problem, out, error) : read_steps(path, out, error);
  char *journal = tw_path_join(path, "journal.sqlite"), *steps = tw_path_join(path, "schedule.txt");
  tw_status status = TW_OK;
  if (!journal || !steps)
    status = tw_no_memory(error, "a recording");
  else if (tw_file_exists(journal))
    status = read_journal(journal, target, problem, out, error);
  else if (tw_file_exists(steps))
    status = read_steps(steps, out, error);
  else
    status = tw_fail(error, TW_USAGE,
                     "recording '%s' has neither journal.sqlite nor schedule.txt; name an output directory of "
                     "`tilewright tune --out DIR`, or a file of steps",
                     path);
  free(journal);
  free(steps);
  return status;
}
