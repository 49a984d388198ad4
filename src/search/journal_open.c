/* journal_open.c - the file of a journal: its tables, its subject and its search.
 *
 * The file is created in one transaction: it has either no tables, or all tables and the subject. Any other file of that
 * name is rejected before anything is written to it.
 *
 * Write-ahead logging with synchronous=NORMAL: a killed process loses nothing, and a power failure loses at most the
 * last candidates. Neither damages the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine_name.h"
#include "base/strings.h"
#include "search/journal_file.h"

enum {
  APPLICATION_ID = 0x54574a33, /* "TWJ3" */
  OLDEST_ID = 0x54574a31,      /* "TWJ1" */
  BUSY_MILLISECONDS = 10000
};

static const char SCHEMA[] =
    "CREATE TABLE journal (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE search (id INTEGER PRIMARY KEY, agent TEXT NOT NULL, options TEXT NOT NULL, seed INTEGER NOT NULL,"
    " started TEXT NOT NULL, finished TEXT, UNIQUE (agent, options, seed));"
    "CREATE TABLE candidate (search INTEGER NOT NULL REFERENCES search, number INTEGER NOT NULL,"
    " iteration INTEGER NOT NULL, parent INTEGER, plan INTEGER, mends INTEGER, twin INTEGER, agent TEXT NOT NULL,"
    " lever TEXT NOT NULL, step TEXT NOT NULL, why TEXT NOT NULL, schedule TEXT, source TEXT, digest BLOB NOT NULL, "
    "verdict TEXT NOT NULL, message TEXT,"
    " cost REAL, cycles REAL, seconds REAL, instructions REAL, utilization REAL, counters TEXT, memory TEXT,"
    " took REAL NOT NULL, PRIMARY KEY (search, number)) WITHOUT ROWID;"
    "CREATE INDEX candidate_by_digest ON candidate (digest);"
    /* The description of a counter, stored once: candidates have name and value. */
    "CREATE TABLE counter (name TEXT PRIMARY KEY, unit TEXT NOT NULL, help TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE exchange (search INTEGER NOT NULL REFERENCES search, agent TEXT NOT NULL, place INTEGER NOT NULL,"
    " model TEXT NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL, tokens_in REAL, tokens_out REAL, money REAL,"
    " seconds REAL NOT NULL, PRIMARY KEY (search, agent, place));";

/* A table and columns that later versions added. Readers do not need them: a journal without them gets them when it is
 * opened again. */
static const char FACTS[] =
    "CREATE TABLE IF NOT EXISTS fact (search INTEGER NOT NULL REFERENCES search, key TEXT NOT NULL,"
    " value NOT NULL, PRIMARY KEY (search, key)) WITHOUT ROWID;";
static const char *const COLUMNS[][2] = {{"at", "ALTER TABLE candidate ADD COLUMN at REAL"},
                                         {"coverage", "ALTER TABLE candidate ADD COLUMN coverage TEXT"},
                                         {"place", "ALTER TABLE candidate ADD COLUMN place TEXT"}};

static const char *const SQL[STATEMENTS] = {
    [INSERT] =
        "INSERT OR REPLACE INTO candidate (search, number, iteration, parent, plan, twin, lever, why, schedule, source,"
        " digest, verdict, message, cost, cycles, seconds, instructions, utilization, counters, memory, took, agent,"
        " step, mends, at, coverage, place)"
        " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,"
        /* a candidate that is recalled or amended keeps the time and place of its evaluation */
        " coalesce((SELECT at FROM candidate WHERE search = ?1 AND number = ?2), ?25),"
        " coalesce(?26, (SELECT coverage FROM candidate WHERE search = ?1 AND number = ?2)),"
        " coalesce(?27, (SELECT place FROM candidate WHERE search = ?1 AND number = ?2)))",
    [RECALL] = "SELECT c.verdict, c.message, c.cost, c.cycles, c.seconds, c.instructions, c.utilization,"
               " c.took, c.counters, c.memory FROM candidate AS c JOIN search AS s ON s.id = c.search"
               " WHERE c.digest = ?1 AND c.source = ?2 AND s.seed = ?3 AND"
               " (instr(s.options, '" TW_JOURNAL_RUNNER "') = 1) = ?4 ORDER BY c.search, c.number",
    [DESCRIBE] = "INSERT OR IGNORE INTO counter VALUES (?1, ?2, ?3)",
    [EXPLAIN] = "SELECT unit, help FROM counter WHERE name = ?1",
    [KEEP] = "INSERT OR REPLACE INTO exchange VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    [REMEMBER] = ("SELECT model, answer, tokens_in, tokens_out, money, seconds FROM exchange"
                  " WHERE search = ?1 AND agent = ?2 AND place = ?3 AND asked = ?4"),
    [STATE] = "INSERT OR REPLACE INTO fact VALUES (?1, ?2, ?3)",
};

static tw_status refuse(const char *path, int code, const char *reason, tw_error *error) {
  switch (code & 0xff) {
  case SQLITE_NOTADB:
    return tw_fail(error, TW_USAGE, "%s is not the journal of a search (not a SQLite file); give another file name",
                   path);
  case SQLITE_CORRUPT:
    return tw_fail(error, TW_USAGE, "the journal %s is damaged (%s); move it away or give another file name", path,
                   reason);
  case SQLITE_IOERR:
    return tw_fail(error, TW_MISSING, "cannot write the journal %s: %s; check free space and the limit on file sizes",
                   path, reason);
  case SQLITE_FULL:
  case SQLITE_NOMEM:
    return tw_fail(error, (code & 0xff) == SQLITE_FULL ? TW_DISK_FULL : TW_NO_MEMORY,
                   "cannot create the journal %s: %s", path, reason);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return tw_fail(error, TW_USAGE, "the journal %s is in use by another process; give another file name", path);
  default: return tw_fail(error, TW_USAGE, "cannot open the journal %s: %s", path, reason);
  }
}

static tw_status refuse_now(const tw_journal *j, tw_error *error) {
  return refuse(j->path, sqlite3_extended_errcode(j->db), sqlite3_errmsg(j->db), error);
}

int tw_journal_query(tw_journal *j, const char *sql, const char *const text[], char **first) {
  sqlite3_stmt *s = NULL;
  int code = sqlite3_prepare_v2(j->db, sql, -1, &s, NULL);
  for (int i = 0; code == SQLITE_OK && text && text[i]; i++)
    code = sqlite3_bind_text(s, i + 1, text[i], -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_step(s);
  const char *found = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
  if (first) *first = found ? strdup(found) : NULL;
  sqlite3_finalize(s);
  return code;
}

bool tw_journal_run(tw_journal *j, const char *sql) { return sqlite3_exec(j->db, sql, NULL, NULL, NULL) == SQLITE_OK; }

/* The first column of the first row as a number. */
static bool ask(tw_journal *j, const char *sql, double *out) {
  char *text;
  const bool done = tw_journal_query(j, sql, NULL, &text) == SQLITE_ROW;
  if (text) *out = strtod(text, NULL);
  free(text);
  return done;
}

enum { SUBJECTS = 5 };

static void list_subject(const tw_journal_subject *s, const char *key[SUBJECTS], const char *value[SUBJECTS]) {
  const char *const keys[SUBJECTS] = {"target", "problem", "version", "machine", "unit"};
  const char *const values[SUBJECTS] = {s->target, s->problem, s->version, s->machine, s->unit};
  memcpy(key, keys, sizeof keys);
  memcpy(value, values, sizeof values);
}

static tw_status create(tw_journal *j, const tw_journal_subject *subject, tw_error *error) {
  const char *key[SUBJECTS], *value[SUBJECTS];
  list_subject(subject, key, value);
  bool done = tw_journal_run(j, SCHEMA);
  for (int i = 0; done && i < SUBJECTS; i++)
    done = tw_journal_query(j, "INSERT INTO journal VALUES (?1, ?2)", (const char *[]){key[i], value[i], NULL}, NULL) ==
           SQLITE_DONE;
  char mark[64];
  snprintf(mark, sizeof mark, "PRAGMA application_id = %d", APPLICATION_ID);
  return done && tw_journal_run(j, mark) ? TW_OK : refuse_now(j, error);
}

/* A journal of an earlier version may have old names of keys: they are replaced. */
static bool rename_problem(tw_journal *j) {
  char *old;
  const int code = tw_journal_query(j, "SELECT value FROM journal WHERE key = 'problem'", NULL, &old);
  char *now = old ? tw_problem_renamed(old) : NULL;
  bool done = old ? now != NULL : code == SQLITE_DONE;
  if (now && strcmp(now, old) != 0)
    done = tw_journal_query(j, "UPDATE journal SET value = ?1 WHERE key = 'problem'", (const char *[]){now, NULL},
                            NULL) == SQLITE_DONE;
  free(old);
  free(now);
  return done;
}

static bool is_same(const char *key, const char *a, const char *b) {
  return strcmp(key, "target") ? !strcmp(a, b) : tw_same_machine(a, b);
}

static tw_status compare_subject(tw_journal *j, const tw_journal_subject *subject, tw_error *error) {
  const char *key[SUBJECTS], *value[SUBJECTS];
  list_subject(subject, key, value);
  if (!rename_problem(j)) return refuse_now(j, error);
  tw_status status = TW_OK;
  for (int i = 0; status == TW_OK && i < SUBJECTS; i++) {
    char *found;
    const int code =
        tw_journal_query(j, "SELECT value FROM journal WHERE key = ?1", (const char *[]){key[i], NULL}, &found);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      status = refuse_now(j, error);
    else if (!found || !is_same(key[i], found, value[i])) {
      bool brief = strcmp(key[i], "machine") != 0;
      status = tw_fail(error, TW_USAGE,
                       "the journal %s is of another %s%s%s%s; use another --out, or discard the journal with --fresh",
                       j->path, brief ? key[i] : "machine or compiler", brief ? " (" : "",
                       brief ? found ? found : "?" : "", brief ? ")" : "");
    }
    free(found);
  }
  return status;
}

/* Adds columns that an earlier version lacked. */
static tw_status extend(tw_journal *j, tw_error *error) {
  bool done = tw_journal_run(j, FACTS);
  for (size_t i = 0; done && i < sizeof COLUMNS / sizeof *COLUMNS; i++) {
    char question[120];
    double there = 0;
    snprintf(question, sizeof question, "SELECT count(*) FROM pragma_table_info('candidate') WHERE name = '%s'",
             COLUMNS[i][0]);
    done = ask(j, question, &there) && (there > 0 || tw_journal_run(j, COLUMNS[i][1]));
  }
  return done ? TW_OK : refuse_now(j, error);
}

/* In one transaction: if two processes start at once, one creates the tables and the other compares them. */
static tw_status adopt(tw_journal *j, const tw_journal_subject *subject, tw_error *error) {
  double id = 0, tables = 0, others = 0;
  if (!ask(j, "PRAGMA application_id", &id) || !ask(j, "SELECT count(*) FROM sqlite_master", &tables) ||
      !ask(j, "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')", &others))
    return refuse_now(j, error);
  if (others > 0) /* a view may never end, so it is rejected */
    return tw_fail(error, TW_USAGE,
                   "%s has views or triggers, so it is not the journal of a search; give another file name", j->path);
  if (id >= OLDEST_ID && id < APPLICATION_ID)
    return tw_fail(error, TW_USAGE,
                   "the journal %s is of an older tilewright; use another --out, or discard the journal with --fresh",
                   j->path);
  if (id != APPLICATION_ID && (id != 0 || tables != 0))
    return tw_fail(error, TW_USAGE,
                   "%s is another kind of database, not the journal of a search; give another file name", j->path);
  const tw_status status = id == APPLICATION_ID ? compare_subject(j, subject, error) : create(j, subject, error);
  return status == TW_OK ? extend(j, error) : status;
}

static tw_status find_search(tw_journal *j, const char *agent, const char *options, tw_error *error) {
  static const char *const steps[] = {
      "INSERT OR IGNORE INTO search (agent, options, seed, started) VALUES (?1, ?2, %lld, datetime('now'))",
      "SELECT id FROM search WHERE agent = ?1 AND options = ?2 AND seed = %lld",
      "UPDATE search SET finished = NULL WHERE agent = ?1 AND options = ?2 AND seed = %lld",
  };
  int code = SQLITE_DONE;
  for (int i = 0; i < 3 && (code == SQLITE_ROW || code == SQLITE_DONE); i++) {
    char sql[160], *id;
    snprintf(sql, sizeof sql, steps[i], j->seed);
    code = tw_journal_query(j, sql, (const char *[]){agent, options, NULL}, &id);
    if (id) j->search = strtoll(id, NULL, 10);
    free(id);
  }
  return j->search && code == SQLITE_DONE ? TW_OK : refuse_now(j, error);
}

/* SQLite takes a file that is shorter than its header for an empty database, and would overwrite it. */
static bool is_something_else(const char *path) {
  static const char magic[16] = "SQLite format 3";
  char start[sizeof magic];
  FILE *f = fopen(path, "re");
  if (!f) return false; /* a new file, or one for which SQLite gives a better error */
  size_t n = fread(start, 1, sizeof start, f);
  fclose(f);
  return n > 0 && (n < sizeof magic || memcmp(start, magic, sizeof magic) != 0);
}

static tw_status open_file(tw_journal *j, const tw_journal_subject *subject, const char *agent, const char *options,
                           tw_error *error) {
  if (is_something_else(j->path)) return refuse(j->path, SQLITE_NOTADB, "", error);
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(j->path, &j->db, flags, NULL) != SQLITE_OK) return refuse_now(j, error);
  sqlite3_extended_result_codes(j->db, 1);
  sqlite3_busy_timeout(j->db, BUSY_MILLISECONDS);
  if (!tw_journal_run(j, "BEGIN IMMEDIATE")) return refuse_now(j, error);
  tw_status status = adopt(j, subject, error);
  if (status == TW_OK) status = find_search(j, agent, options, error);
  if (status == TW_OK && !tw_journal_run(j, "COMMIT")) status = refuse_now(j, error);
  if (status != TW_OK) {
    tw_journal_run(j, "ROLLBACK");
    return status;
  }
  char question[100];
  snprintf(question, sizeof question, "SELECT coalesce(max(at), 0) FROM candidate WHERE search = %lld", j->search);
  ask(j, question, &j->before);
  j->opened = tw_now();
  /* On file systems without shared memory SQLite keeps its default: slower, as safe. */
  tw_journal_run(j, "PRAGMA journal_mode = WAL");
  tw_journal_run(j, "PRAGMA synchronous = NORMAL");
  for (int i = 0; i < STATEMENTS; i++)
    if (sqlite3_prepare_v2(j->db, SQL[i], -1, &j->statement[i], NULL) != SQLITE_OK) return refuse_now(j, error);
  return TW_OK;
}

static void free_journal(tw_journal *j) {
  for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(j->statement[i]);
  /* then it is one file, which can be read in a read-only folder */
  if (j->db) tw_journal_run(j, "PRAGMA journal_mode = DELETE");
  sqlite3_close(j->db);
  for (size_t i = 0; i < j->n_models; i++) free(j->models[i]);
  free(j->models);
  pthread_mutex_destroy(&j->lock);
  free(j->waiting);
  free(j->path);
  free(j);
}

tw_status tw_journal_open(const char *path, const tw_journal_subject *subject, const char *agent, const char *options,
                          uint64_t seed, tw_journal **out, tw_error *error) {
  tw_journal *j = tw_new(1, sizeof *j);
  if (j) j->path = strdup(path);
  if (!j || !j->path) {
    free(j);
    return tw_fail(error, TW_NO_MEMORY, "no memory for the journal %s", path);
  }
  j->seed = (sqlite3_int64)seed;
  j->by_runner = !strncmp(options, TW_JOURNAL_RUNNER, strlen(TW_JOURNAL_RUNNER));
  pthread_mutex_init(&j->lock, NULL);
  const bool is_new = access(path, F_OK) != 0;
  struct stat info;
  tw_status status = open_file(j, subject, agent, options, error);
  if (status != TW_OK) {
    free_journal(j);
    /* removes the file if nothing could be written */
    if (is_new && stat(path, &info) == 0 && info.st_size == 0) unlink(path);
  }
  if (status == TW_OK) *out = j;
  return status;
}

void tw_journal_close(tw_journal *j, bool finished) {
  if (!j) return;
  tw_journal_retry(j);
  char sql[100];
  snprintf(sql, sizeof sql, "UPDATE search SET finished = datetime('now') WHERE id = %lld", j->search);
  if (finished) tw_journal_run(j, sql);
  free_journal(j);
}
