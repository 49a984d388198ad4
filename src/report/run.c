/* run.c - reads a run's directory: the journal, and the files that a search writes at its end.
 *
 * The journal is opened for reading while a search may write to it (SQLite's write-ahead log). It must have only
 * tables, no views or triggers. No query may take longer than QUERY_SECONDS (base/database.h). */
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/database.h"
#include "base/files.h"
#include "base/json.h"
#include "base/strings.h"
#include "report/lines.h"
#include "report/report.h"

enum { FILE_LIMIT = 64 << 20, SOURCES_LIMIT = 40 << 20, CANDIDATES_MAX = 200000, COUNTER_CELLS = 400000 };
static const double QUERY_SECONDS = 20;

typedef struct journal {
  tw_database file;
  sqlite3_int64 search;
} journal;

static sqlite3_stmt *prepare(const journal *j, const char *sql) {
  sqlite3_stmt *s = NULL;
  if (sqlite3_prepare_v2(j->file.db, sql, -1, &s, NULL) != SQLITE_OK) return NULL;
  if (sqlite3_bind_parameter_count(s)) sqlite3_bind_int64(s, 1, j->search);
  return s;
}

/* The first column of the first row as a whole number; `otherwise` without one. */
static sqlite3_int64 ask(const journal *j, const char *sql, sqlite3_int64 otherwise) {
  return tw_database_number(prepare(j, sql), otherwise);
}

static void set_column(json_t *object, const char *key, sqlite3_stmt *s, int column) {
  switch (sqlite3_column_type(s, column)) {
  case SQLITE_INTEGER: json_object_set_new(object, key, json_integer(sqlite3_column_int64(s, column))); break;
  case SQLITE_FLOAT: json_object_set_new(object, key, tw_json_real(sqlite3_column_double(s, column))); break;
  case SQLITE_TEXT: json_object_set_new(object, key, tw_json_text((const char *)sqlite3_column_text(s, column))); break;
  default: break; /* absent */
  }
}

/* {first column: second column, ...} */
static json_t *read_pairs(const journal *j, const char *sql) {
  json_t *object = json_object();
  sqlite3_stmt *s = prepare(j, sql);
  while (s && sqlite3_step(s) == SQLITE_ROW) {
    const char *key = (const char *)sqlite3_column_text(s, 0);
    if (key) set_column(object, key, s, 1);
  }
  sqlite3_finalize(s);
  return object;
}

/* {"array_busy": {"unit": "cycles", "help": "..."}, ...} */
static json_t *read_counters(const journal *j) {
  json_t *object = json_object();
  sqlite3_stmt *s = prepare(j, "SELECT name, unit, help FROM counter ORDER BY name");
  while (s && sqlite3_step(s) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(s, 0);
    json_t *counter = json_object();
    set_column(counter, "unit", s, 1);
    set_column(counter, "help", s, 2);
    if (name) json_object_set(object, name, counter);
    json_decref(counter);
  }
  sqlite3_finalize(s);
  return object;
}

/* Rows as objects whose keys are the names of the columns. */
static json_t *read_rows(const journal *j, const char *sql, size_t most) {
  json_t *list = json_array();
  sqlite3_stmt *s = prepare(j, sql);
  while (s && json_array_size(list) < most && sqlite3_step(s) == SQLITE_ROW) {
    json_t *row = json_object();
    for (int i = 0; i < sqlite3_column_count(s); i++) set_column(row, sqlite3_column_name(s, i), s, i);
    json_array_append_new(list, row);
  }
  sqlite3_finalize(s);
  return list;
}

/* Parses texts that hold JSON objects. */
static void parse_column(json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  json_t *object = text ? json_loads(text, 0, NULL) : NULL;
  if (text) json_object_del(row, key);
  if (json_is_object(object)) json_object_set(row, key, object);
  json_decref(object);
}

static bool has_column(const journal *j, const char *column) {
  char question[120];
  snprintf(question, sizeof question, "SELECT count(*) FROM pragma_table_info('candidate') WHERE name = '%s'", column);
  return ask(j, question, 0) > 0;
}

/* Data that earlier versions did not record is left out. */
static json_t *read_candidates(const journal *j) {
  tw_text sql = {0};
  tw_text_add_string(&sql, "SELECT number AS n, iteration, parent, plan, mends, twin, agent, lever, step, why, verdict,"
                           " message, cost, utilization, took, schedule");
  static const char *const later[] = {"at", "coverage", "place"};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (has_column(j, later[i])) tw_text_add(&sql, ", %s", later[i]);
  const bool few = ask(j, "SELECT count(*) FROM candidate WHERE search = ?1", 0) <= COUNTER_CELLS / 40;
  if (few) tw_text_add_string(&sql, ", counters");
  tw_text_add_string(&sql, ", CASE WHEN memory IS NOT NULL AND number < 1 THEN memory END AS memory"
                           " FROM candidate WHERE search = ?1 ORDER BY number");
  char *text = tw_text_take(&sql);
  json_t *list = text ? read_rows(j, text, CANDIDATES_MAX) : json_array(), *row;
  size_t i;
  json_array_foreach(list, i, row) {
    parse_column(row, "counters");
    parse_column(row, "memory");
  }
  free(text);
  return list;
}

/* Adds counters and memory of one candidate, if the list omitted them. */
static void add_details(const journal *j, json_t *candidates, sqlite3_int64 number) {
  char sql[160];
  snprintf(sql, sizeof sql, "SELECT counters, memory FROM candidate WHERE search = ?1 AND number = %lld", number);
  json_t *rows = read_rows(j, sql, 1), *row = json_array_get(rows, 0), *candidate;
  size_t i;
  parse_column(row, "counters");
  parse_column(row, "memory");
  json_array_foreach(candidates, i, candidate) if (json_integer_value(json_object_get(candidate, "n")) == number && row)
      json_object_update(candidate, row);
  json_decref(rows);
}

/* The candidate that the search ended with; while it runs, the best so far. */
static sqlite3_int64 best_of(const journal *j) {
  static const char least[] = "SELECT number FROM candidate WHERE search = ?1 AND verdict = 'correct' AND cost > 0"
                              " ORDER BY cost, number LIMIT 1";
  return ask(j, "SELECT CAST(value AS INTEGER) FROM fact WHERE search = ?1 AND key = 'best'", ask(j, least, -1));
}

/* As many sources as fit into SOURCES_LIMIT; `left_out` counts the rest. */
static void add_sources(const journal *j, json_t *out) {
  report_lines *lines = report_lines_new();
  json_t *runs = json_object();
  json_int_t left_out = 0;
  sqlite3_stmt *s = prepare(j, "SELECT number, source FROM candidate WHERE search = ?1 AND source IS NOT NULL"
                               " ORDER BY iteration, parent, number");
  while (lines && s && sqlite3_step(s) == SQLITE_ROW) {
    char key[32];
    const char *source = (const char *)sqlite3_column_text(s, 1);
    if (!source || report_lines_bytes(lines) > SOURCES_LIMIT) {
      left_out++;
      continue;
    }
    snprintf(key, sizeof key, "%lld", sqlite3_column_int64(s, 0));
    json_t *list = report_lines_add(lines, source);
    if (list) json_object_set_new(runs, key, list);
  }
  sqlite3_finalize(s);
  if (lines) json_object_set_new(out, "lines", report_lines_list(lines));
  json_object_set_new(out, "runs", runs);
  json_object_set_new(out, "left_out", json_integer(left_out));
  report_lines_free(lines);
}

/* Does the searching process still run? This is known only for processes of this computer. */
static const char *state_of(const json_t *search, const json_t *facts) {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  const char *theirs = json_string_value(json_object_get(facts, "host"));
  const pid_t process = (pid_t)json_number_value(json_object_get(facts, "process"));
  if (json_string_value(json_object_get(search, "finished"))) return "finished";
  if (!theirs || strcmp(theirs, host) != 0 || process <= 1) return "not finished";
  return kill(process, 0) == 0 ? "running" : "interrupted";
}

static void add_journal(const journal *j, json_t *run) {
  json_t *subject = read_pairs(j, "SELECT key, value FROM journal");
  json_t *search = read_rows(j, "SELECT id, agent, options, seed, started, finished FROM search WHERE id = ?1", 1);
  json_t *facts = read_pairs(j, "SELECT key, value FROM fact WHERE search = ?1"), *candidates = read_candidates(j);
  const sqlite3_int64 best = best_of(j);
  add_details(j, candidates, best);
  json_object_update_missing(run, subject);
  json_object_set(run, "search", json_array_get(search, 0));
  json_object_set_new(run, "searches", json_integer(ask(j, "SELECT count(*) FROM search", 1)));
  json_object_set_new(run, "state", json_string(state_of(json_array_get(search, 0), facts)));
  json_object_set_new(run, "facts", facts);
  json_object_set_new(run, "best", json_integer(best));
  json_object_set_new(run, "counters", read_counters(j));
  json_object_set_new(run, "candidates", candidates);
  json_object_set_new(run, "exchanges",
                      read_rows(j,
                                "SELECT agent, CASE WHEN (place & 32768) = 0 THEN 'plan' WHEN place & 7 THEN 'repair'"
                                " ELSE 'implement' END AS phase, ((place >> 16) & 4294967295) / 256 AS iteration,"
                                " model, tokens_in, tokens_out, money, seconds,"
                                " length(asked) AS asked, length(answer) AS answered"
                                " FROM exchange WHERE search = ?1 ORDER BY rowid",
                                100000));
  json_decref(subject);
  json_decref(search);
}

/* The search that was opened last. */
static sqlite3_int64 last_search(const journal *j) {
  static const char opened[] = "SELECT search FROM fact WHERE key = 'opened' ORDER BY value DESC, search DESC LIMIT 1";
  return ask(j, opened, ask(j, "SELECT max(id) FROM search", -1));
}

static tw_status open_journal(const char *path, journal *j, tw_error *error) {
  const tw_status status = tw_database_open(&j->file, path, QUERY_SECONDS, error);
  if (status != TW_OK) return status;
  if ((j->search = last_search(j)) < 0)
    return tw_fail(error, TW_USAGE, "the journal %s has no search; run `tilewright tune --out` again", path);
  return TW_OK;
}

/* Loads a file of the run; *out stays NULL if the file does not exist. */
static tw_status load(const char *directory, const char *name, json_t **out, tw_error *error) {
  char *path = tw_path_join(directory, name), *text = NULL;
  json_error_t why;
  tw_status status = path ? TW_OK : tw_no_memory(error, "the report");
  if (status == TW_OK && tw_file_exists(path)) {
    status = tw_file_read(path, FILE_LIMIT, &text, NULL, error);
    if (status == TW_OK && !(*out = json_loads(text, 0, &why)))
      status = tw_fail(error, TW_USAGE, "%s is not written by `tilewright tune --out`: line %d: %s", path, why.line,
                       why.text);
  }
  free(text);
  free(path);
  return status;
}

static tw_status load_summary(const char *directory, json_t **out, tw_error *error) {
  tw_status status = load(directory, "summary.json", out, error);
  if (status != TW_OK || !*out) return status;
  if (json_is_object(json_object_get(*out, "best")) && json_is_array(json_object_get(*out, "ladder"))) return TW_OK;
  json_decref(*out);
  *out = NULL;
  return tw_fail(error, TW_USAGE,
                 "%s/summary.json is not written by `tilewright tune --out`: its best kernel or ladder is missing",
                 directory);
}

static tw_status find_journal(const char *directory, char **path, tw_error *error) {
  *path = tw_path_join(directory, "journal.sqlite");
  if (!*path) return tw_no_memory(error, "the report");
  if (tw_file_exists(*path)) return TW_OK;
  free(*path);
  *path = NULL;
  return TW_OK;
}

tw_status report_read_run(const char *directory, json_t **out, tw_error *error) {
  json_t *run = json_object(), *summary = NULL, *timeline = NULL;
  char *path = NULL;
  journal j = {0};
  tw_error ignored;
  tw_status status = load_summary(directory, &summary, error);
  if (status == TW_OK) status = find_journal(directory, &path, error);
  if (status == TW_OK && !path && !summary)
    status = tw_fail(
        error, TW_USAGE,
        "'%s' has no run (neither journal.sqlite nor summary.json); give the directory of `tilewright tune --out`",
        directory);
  if (status == TW_OK && path) status = open_journal(path, &j, summary ? &ignored : error);
  if (status == TW_OK && path) add_journal(&j, run);
  if (status != TW_OK && summary && path) { /* the summary is enough for a page */
    status = TW_OK;
    json_object_set_new(run, "trouble", tw_json_text(ignored.text));
  }
  sqlite3_close(j.file.db);
  const char *state = json_string_value(json_object_get(run, "state"));
  const bool is_over = !state || !strcmp(state, "finished") || !strcmp(state, "interrupted");
  if (status == TW_OK && is_over) {
    load(directory, "timeline.json", &timeline, &ignored);
    if (summary) json_object_set(run, "summary", summary);
    if (timeline) json_object_set(run, "timeline", timeline);
  }
  json_object_set_new(run, "directory", tw_json_text(directory));
  json_decref(summary);
  json_decref(timeline);
  free(path);
  if (status != TW_OK) json_decref(run);
  *out = status == TW_OK ? run : NULL;
  return status;
}

json_t *report_read_sources(const char *directory) {
  json_t *out = json_object();
  char *path = NULL;
  journal j = {0};
  tw_error ignored;
  if (find_journal(directory, &path, &ignored) == TW_OK && path && open_journal(path, &j, &ignored) == TW_OK)
    add_sources(&j, out);
  sqlite3_close(j.file.db);
  free(path);
  return out;
}

/* The source of the candidate that `which` names for candidate k; for a duplicate, the source of its twin. */
static json_t *source_at(const journal *j, const char *which, sqlite3_int64 number) {
  char sql[320];
  snprintf(sql, sizeof sql,
           "SELECT c.source AS source FROM candidate AS c, candidate AS k, candidate AS o WHERE c.search = ?1 AND"
           " k.search = ?1 AND o.search = ?1 AND o.number = %lld AND k.number = %s AND c.number = coalesce(k.twin, "
           "k.number)",
           number, which);
  json_t *rows = read_rows(j, sql, 1), *source = json_incref(json_object_get(json_array_get(rows, 0), "source"));
  json_decref(rows);
  return source ? source : json_null();
}

tw_status report_read_source(const char *directory, int64_t number, json_t **out, tw_error *error) {
  char *path = NULL;
  journal j = {0};
  tw_status status = find_journal(directory, &path, error);
  if (status == TW_OK && !path) status = tw_fail(error, TW_USAGE, "%s has no journal.sqlite", directory);
  if (status == TW_OK) status = open_journal(path, &j, error);
  json_t *source = status == TW_OK ? source_at(&j, "o.number", number) : NULL;
  json_t *parent = status == TW_OK ? source_at(&j, "o.parent", number) : NULL;
  if (status == TW_OK && json_is_null(source) && json_is_null(parent))
    status = tw_fail(error, TW_USAGE, "the journal %s has no candidate %lld", path, (long long)number);
  if (status == TW_OK) *out = json_pack("{s:O, s:O}", "source", source, "parent", parent);
  json_decref(source);
  json_decref(parent);
  sqlite3_close(j.file.db);
  free(path);
  return status;
}

void report_read_stamp(const char *directory, char stamp[REPORT_STAMP]) {
  static const char asked[] = "SELECT (SELECT count(*) FROM candidate WHERE search = s.id) || ':' ||"
                              " (SELECT count(*) FROM exchange WHERE search = s.id) || ':' || s.id || ':' ||"
                              " coalesce(finished, '') FROM search AS s WHERE s.id = ?1";
  char *path = NULL;
  journal j = {0};
  tw_error ignored;
  *stamp = '\0';
  if (find_journal(directory, &path, &ignored) == TW_OK && path && open_journal(path, &j, &ignored) == TW_OK) {
    sqlite3_stmt *s = prepare(&j, asked);
    if (s && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
      snprintf(stamp, REPORT_STAMP, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
  }
  sqlite3_close(j.file.db);
  free(path);
}
