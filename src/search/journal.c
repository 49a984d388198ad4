/* journal.c - the record of searches in SQLite.
 *
 * Invariants:
 * - The file is created in one transaction: it has either no tables, or all tables and the subject. Any other file of that name is rejected before anything is written to it.
 * - A candidate's key is (search, number), and numbers are the same in every run of a search: writing the same candidate twice changes nothing. So a resumed search need not know where it was interrupted.
 * - A verdict is recalled only for equal source text (the digest, which ignores comments, is just the index) and equal inputs (the seed). Verdicts about a missing compiler or device are never recalled.
 * - `wrong on fresh inputs` is decided at the end of a search: before that the candidate was correct. It is recalled as correct, so that a second run makes the same decisions.
 *
 * Write-ahead logging with synchronous=NORMAL: a killed process loses nothing, and a power failure loses at most the
 * last candidates. Neither damages the file. */
#include "search/journal.h"

#include <jansson.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/machine_name.h"
#include "base/strings.h"
#include "evaluate/text.h"

enum {
  APPLICATION_ID = 0x54574a33, /* "TWJ3" */
  OLDEST_ID = 0x54574a31,      /* "TWJ1" */
  BUSY_MILLISECONDS = 10000
};

struct tw_journal {
  sqlite3 *db;
  char *path;
  sqlite3_int64 search, seed;
  sqlite3_stmt *insert, *recall, *describe, *explain, *keep, *remember, *state;
  double opened, before; /* tw_now at the opening; seconds of this search in earlier processes */
  pthread_mutex_t lock;  /* lock of `keep`, `remember` and `models`: agents call from any thread */
  bool has_described;
  bool by_runner; /* TW_JOURNAL_RUNNER */
  char **models;  /* names of recalled models, each once */
  size_t n_models;
  tw_candidate **waiting; /* candidates that could not be written yet */
  size_t n_waiting, room;
  bool is_together;   /* a transaction is open: candidates wait for its end */
  char evaluator[80]; /* the machine of a runner's outcomes; "" before it is known */
  char reason[200];   /* why not */
  char trouble[800];
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

/* Columns that later versions added. Readers do not need them: a journal without these columns gets them when it is
 * opened again. */
static const char FACTS[] =
    "CREATE TABLE IF NOT EXISTS fact (search INTEGER NOT NULL REFERENCES search, key TEXT NOT NULL,"
    " value NOT NULL, PRIMARY KEY (search, key)) WITHOUT ROWID;";
static const char *const COLUMNS[][2] = {{"at", "ALTER TABLE candidate ADD COLUMN at REAL"},
                                         {"coverage", "ALTER TABLE candidate ADD COLUMN coverage TEXT"},
                                         {"place", "ALTER TABLE candidate ADD COLUMN place TEXT"}};

static const char INSERT[] =
    "INSERT OR REPLACE INTO candidate (search, number, iteration, parent, plan, twin, lever, why, schedule, source,"
    " digest, verdict, message, cost, cycles, seconds, instructions, utilization, counters, memory, took, agent, step,"
    " mends, at, coverage, place)"
    " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,"
    /* a candidate that is recalled or amended keeps the time and place of its evaluation */
    " coalesce((SELECT at FROM candidate WHERE search = ?1 AND number = ?2), ?25),"
    " coalesce(?26, (SELECT coverage FROM candidate WHERE search = ?1 AND number = ?2)),"
    " coalesce(?27, (SELECT place FROM candidate WHERE search = ?1 AND number = ?2)))";
static const char STATE[] = "INSERT OR REPLACE INTO fact VALUES (?1, ?2, ?3)";
static const char DESCRIBE[] = "INSERT OR IGNORE INTO counter VALUES (?1, ?2, ?3)";
static const char EXPLAIN[] = "SELECT unit, help FROM counter WHERE name = ?1";

static const char KEEP[] = "INSERT OR REPLACE INTO exchange VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)";
static const char REMEMBER[] = "SELECT model, answer, tokens_in, tokens_out, money, seconds FROM exchange"
                               " WHERE search = ?1 AND agent = ?2 AND place = ?3 AND asked = ?4";

static const char RECALL[] = "SELECT c.verdict, c.message, c.cost, c.cycles, c.seconds, c.instructions, c.utilization, "
                             "c.took, c.counters, c.memory"
                             " FROM candidate AS c JOIN search AS s ON s.id = c.search"
                             " WHERE c.digest = ?1 AND c.source = ?2 AND s.seed = ?3 AND"
                             " (instr(s.options, '" TW_JOURNAL_RUNNER "') = 1) = ?4 ORDER BY c.search, c.number";

/* ---- opening ---- */

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

/* The first column of the first row as a number. */
static int ask(tw_journal *j, const char *sql, sqlite3_int64 *out) {
  sqlite3_stmt *s = NULL;
  int code = sqlite3_prepare_v2(j->db, sql, -1, &s, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) *out = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return code == SQLITE_ROW ? SQLITE_OK : code;
}

static bool run(tw_journal *j, const char *sql) { return sqlite3_exec(j->db, sql, NULL, NULL, NULL) == SQLITE_OK; }

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
  bool done = run(j, SCHEMA);
  for (int i = 0; done && i < SUBJECTS; i++) {
    sqlite3_stmt *s = NULL;
    done = sqlite3_prepare_v2(j->db, "INSERT INTO journal VALUES (?1, ?2)", -1, &s, NULL) == SQLITE_OK &&
           sqlite3_bind_text(s, 1, key[i], -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_text(s, 2, value[i], -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_DONE;
    sqlite3_finalize(s);
  }
  char mark[64];
  snprintf(mark, sizeof mark, "PRAGMA application_id = %d", APPLICATION_ID);
  return done && run(j, mark) ? TW_OK : refuse_now(j, error);
}

/* A journal of an earlier version may have old names of keys: they are replaced. */
static bool rename_problem(tw_journal *j) {
  sqlite3_stmt *s = NULL;
  bool done = sqlite3_prepare_v2(j->db, "SELECT value FROM journal WHERE key = 'problem'", -1, &s, NULL) == SQLITE_OK;
  char *now = NULL, *old = NULL;
  if (done && sqlite3_step(s) == SQLITE_ROW) {
    old = strdup((const char *)sqlite3_column_text(s, 0));
    now = old ? tw_problem_renamed(old) : NULL;
    done = now;
  }
  sqlite3_finalize(s);
  if (now && strcmp(now, old) != 0) {
    s = NULL;
    done =
        sqlite3_prepare_v2(j->db, "UPDATE journal SET value = ?1 WHERE key = 'problem'", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_bind_text(s, 1, now, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_DONE;
    sqlite3_finalize(s);
  }
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
  sqlite3_stmt *s = NULL;
  if (!rename_problem(j) ||
      sqlite3_prepare_v2(j->db, "SELECT value FROM journal WHERE key = ?1", -1, &s, NULL) != SQLITE_OK)
    return refuse_now(j, error);
  tw_status status = TW_OK;
  for (int i = 0; status == TW_OK && i < SUBJECTS; i++) {
    sqlite3_reset(s);
    sqlite3_bind_text(s, 1, key[i], -1, SQLITE_STATIC);
    int code = sqlite3_step(s);
    const char *found = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      status = refuse_now(j, error);
    else if (!found || !is_same(key[i], found, value[i])) {
      bool brief = strcmp(key[i], "machine") != 0;
      status = tw_fail(error, TW_USAGE,
                       "the journal %s is of another %s%s%s%s; use another --out, or discard the journal with --fresh",
                       j->path, brief ? key[i] : "machine or compiler", brief ? " (" : "",
                       brief ? found ? found : "?" : "", brief ? ")" : "");
    }
  }
  sqlite3_finalize(s);
  return status;
}

/* Adds columns that an earlier version lacked. */
static tw_status extend(tw_journal *j, tw_error *error) {
  bool done = run(j, FACTS);
  for (size_t i = 0; done && i < sizeof COLUMNS / sizeof *COLUMNS; i++) {
    char question[120];
    sqlite3_int64 there = 0;
    snprintf(question, sizeof question, "SELECT count(*) FROM pragma_table_info('candidate') WHERE name = '%s'",
             COLUMNS[i][0]);
    done = ask(j, question, &there) == SQLITE_OK && (there || run(j, COLUMNS[i][1]));
  }
  return done ? TW_OK : refuse_now(j, error);
}

/* In one transaction: if two processes start at once, one creates the tables and the other compares them. */
static tw_status adopt(tw_journal *j, const tw_journal_subject *subject, tw_error *error) {
  sqlite3_int64 id = 0, tables = 0, others = 0;
  if (ask(j, "PRAGMA application_id", &id) != SQLITE_OK ||
      ask(j, "SELECT count(*) FROM sqlite_master", &tables) != SQLITE_OK ||
      ask(j, "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')", &others) != SQLITE_OK)
    return refuse_now(j, error);
  if (others) /* a view may never end, so it is rejected */
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
  sqlite3_stmt *s = NULL;
  static const char *const steps[] = {
      "INSERT OR IGNORE INTO search (agent, options, seed, started) VALUES (?1, ?2, ?3, datetime('now'))",
      "SELECT id FROM search WHERE agent = ?1 AND options = ?2 AND seed = ?3",
      "UPDATE search SET finished = NULL WHERE agent = ?1 AND options = ?2 AND seed = ?3",
  };
  int code = SQLITE_OK;
  for (int i = 0; i < 3; i++) {
    code = sqlite3_prepare_v2(j->db, steps[i], -1, &s, NULL);
    if (code == SQLITE_OK) {
      sqlite3_bind_text(s, 1, agent, -1, SQLITE_STATIC);
      sqlite3_bind_text(s, 2, options, -1, SQLITE_STATIC);
      sqlite3_bind_int64(s, 3, j->seed);
      code = sqlite3_step(s);
    }
    if (code == SQLITE_ROW) j->search = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    if (code != SQLITE_ROW && code != SQLITE_DONE) break;
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
  if (!run(j, "BEGIN IMMEDIATE")) return refuse_now(j, error);
  tw_status status = adopt(j, subject, error);
  if (status == TW_OK) status = find_search(j, agent, options, error);
  if (status == TW_OK && !run(j, "COMMIT")) status = refuse_now(j, error);
  if (status != TW_OK) {
    run(j, "ROLLBACK");
    return status;
  }
  char question[100];
  sqlite3_stmt *last = NULL;
  snprintf(question, sizeof question, "SELECT coalesce(max(at), 0) FROM candidate WHERE search = %lld", j->search);
  if (sqlite3_prepare_v2(j->db, question, -1, &last, NULL) == SQLITE_OK && sqlite3_step(last) == SQLITE_ROW)
    j->before = sqlite3_column_double(last, 0);
  sqlite3_finalize(last);
  j->opened = tw_now();
  /* On file systems without shared memory SQLite keeps its default: slower, as safe. */
  run(j, "PRAGMA journal_mode = WAL");
  run(j, "PRAGMA synchronous = NORMAL");
  if (sqlite3_prepare_v2(j->db, INSERT, -1, &j->insert, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(j->db, RECALL, -1, &j->recall, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(j->db, DESCRIBE, -1, &j->describe, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(j->db, EXPLAIN, -1, &j->explain, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(j->db, KEEP, -1, &j->keep, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(j->db, STATE, -1, &j->state, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(j->db, REMEMBER, -1, &j->remember, NULL) != SQLITE_OK)
    return refuse_now(j, error);
  return TW_OK;
}

static void free_journal(tw_journal *j) {
  sqlite3_finalize(j->insert);
  sqlite3_finalize(j->recall);
  sqlite3_finalize(j->describe);
  sqlite3_finalize(j->explain);
  sqlite3_finalize(j->keep);
  sqlite3_finalize(j->remember);
  sqlite3_finalize(j->state);
  if (j->db) run(j, "PRAGMA journal_mode = DELETE"); /* then it is one file, which can be read in a read-only folder */
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

/* ---- writing ---- */

/* As text; NULL if empty. Frees the object. */
static char *print_object(json_t *object) {
  char *text = json_object_size(object) ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  return text;
}

static void bind_text(sqlite3_stmt *s, int column, const char *text) {
  sqlite3_bind_text(s, column, text, -1, SQLITE_TRANSIENT); /* NULL for NULL */
}

/* For example "tile + double buffer". */
static void bind_levers(sqlite3_stmt *s, int column, const tw_candidate *c) {
  char text[TW_LEVERS_MAX * (TW_LEVER_MAX + 3)] = "";
  for (size_t i = 0, used = 0; i < c->n_levers; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " + " : "", c->lever[i]);
  bind_text(s, column, text);
}

static void bind_number(sqlite3_stmt *s, int column, int number) {
  if (number == TW_NONE)
    sqlite3_bind_null(s, column);
  else
    sqlite3_bind_int(s, column, number);
}

static void bind_measurement(sqlite3_stmt *s, int column, const tw_candidate *c) {
  const tw_measurement *m = &c->measured;
  const double value[] = {m->cost, m->cycles, m->seconds, m->instructions, m->utilization};
  bool measured = tw_verdict_has_cost(c->verdict);
  for (int i = 0; i < 5 && measured; i++) sqlite3_bind_double(s, column + i, value[i]);
  char *counters = measured ? print_object(tw_counters_object(m)) : NULL,
       *memories = measured ? print_object(tw_memories_object(m)) : NULL;
  bind_text(s, column + 5, counters);
  bind_text(s, column + 6, memories);
  free(counters);
  free(memories);
}

/* Stores the meaning of counters, unless it is stored already. */
static void describe_counters(tw_journal *j, const tw_measurement *m) {
  for (size_t i = 0; i < m->n_counters; i++) {
    bind_text(j->describe, 1, m->counter[i].name);
    bind_text(j->describe, 2, m->counter[i].unit);
    bind_text(j->describe, 3, m->counter[i].help);
    sqlite3_step(j->describe);
    sqlite3_reset(j->describe);
  }
}

static bool write_candidate(tw_journal *j, tw_candidate *c) {
  sqlite3_stmt *s = j->insert;
  size_t length = c->schedule ? tw_schedule_print(c->schedule, NULL, 0) : 0;
  char *schedule = c->schedule ? malloc(length + 1) : NULL;
  if (schedule) tw_schedule_print(c->schedule, schedule, length + 1);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  sqlite3_bind_int64(s, 1, j->search);
  sqlite3_bind_int(s, 2, c->number);
  sqlite3_bind_int(s, 3, c->iteration);
  bind_number(s, 4, c->parent);
  bind_number(s, 5, c->plan);
  bind_number(s, 6, c->twin);
  bind_levers(s, 7, c);
  bind_text(s, 8, c->why);
  bind_text(s, 9, schedule);
  bind_text(s, 10, c->verdict == TW_DUPLICATE ? NULL : c->source);
  sqlite3_bind_blob(s, 11, &c->source_digest, sizeof c->source_digest, SQLITE_TRANSIENT);
  bind_text(s, 12, tw_verdict_name(c->verdict));
  bind_text(s, 13, c->message);
  bind_measurement(s, 14, c);
  sqlite3_bind_double(s, 21, c->seconds);
  bind_text(s, 22, c->agent);
  bind_text(s, 23, c->step);
  bind_number(s, 24, c->repairs);
  sqlite3_bind_double(s, 25, j->before + tw_now() - j->opened);
  bind_text(s, 26, c->coverage[0] ? c->coverage : NULL);
  bind_text(s, 27, c->place[0] ? c->place : NULL);
  free(schedule);
  if (!j->has_described && c->measured.n_counters) describe_counters(j, &c->measured);
  j->has_described |= c->measured.n_counters > 0; /* all kernels of a target have the same counters */
  int code = sqlite3_step(s);
  if (code != SQLITE_DONE) snprintf(j->reason, sizeof j->reason, "%s", sqlite3_errmsg(j->db));
  sqlite3_reset(s);
  c->recorded = code == SQLITE_DONE;
  return c->recorded;
}

bool tw_journal_is_machine(tw_journal *j, const char *digest) {
  if (!j->evaluator[0]) {
    sqlite3_stmt *s = NULL;
    static const char *const steps[] = {"INSERT OR IGNORE INTO journal VALUES ('evaluator', ?1)",
                                        "SELECT value FROM journal WHERE key = 'evaluator'"};
    for (int i = 0; i < 2; i++) {
      /* a full disk, which is reported elsewhere */
      if (sqlite3_prepare_v2(j->db, steps[i], -1, &s, NULL) != SQLITE_OK) return true;
      if (i == 0) bind_text(s, 1, digest);
      if (sqlite3_step(s) == SQLITE_ROW)
        snprintf(j->evaluator, sizeof j->evaluator, "%s", (const char *)sqlite3_column_text(s, 0));
      sqlite3_finalize(s);
    }
  }
  return !j->evaluator[0] || !strcmp(j->evaluator, digest);
}

void tw_journal_state(tw_journal *j, const char *key, const char *text, double number) {
  if (!j) return;
  sqlite3_bind_int64(j->state, 1, j->search);
  bind_text(j->state, 2, key);
  if (text)
    bind_text(j->state, 3, text);
  else
    sqlite3_bind_double(j->state, 3, number);
  sqlite3_step(j->state);
  sqlite3_reset(j->state);
}

static void retry_waiting(tw_journal *j) {
  size_t kept = 0;
  for (size_t i = 0; i < j->n_waiting; i++)
    if (kept > 0 || !write_candidate(j, j->waiting[i])) /* after a failure, later candidates would fail too */
      j->waiting[kept++] = j->waiting[i];
  j->n_waiting = kept;
}

static bool wait_in_memory(tw_journal *j, tw_candidate *c) {
  if (j->n_waiting == j->room) {
    size_t room = j->room ? 2 * j->room : 64;
    tw_candidate **larger = tw_resize(j->waiting, room, sizeof(tw_candidate *));
    if (!larger) return false;
    j->waiting = larger;
    j->room = room;
  }
  j->waiting[j->n_waiting++] = c;
  return true;
}

/* Candidates of a transaction stay in memory until it has succeeded, so a full disk loses none. */
static void end_together(tw_journal *j) {
  bool done = true;
  for (size_t i = 0; done && i < j->n_waiting; i++) done = write_candidate(j, j->waiting[i]);
  if (done && run(j, "COMMIT")) {
    j->n_waiting = 0;
  } else {
    run(j, "ROLLBACK");
    j->has_described = false;
  }
}

void tw_journal_together(tw_journal *j, bool begin) {
  if (!j) return;
  if (!begin && j->is_together) end_together(j);
  j->is_together = begin && run(j, "BEGIN");
}

void tw_journal_record(tw_journal *j, tw_candidate *c) {
  if (c->verdict == TW_SKIPPED || c->verdict == TW_PENDING) return;
  if (j->is_together && wait_in_memory(j, c)) return;
  retry_waiting(j);
  if (j->n_waiting > 0 || !write_candidate(j, c)) wait_in_memory(j, c);
}

void tw_journal_amend(tw_journal *j, tw_candidate *c) {
  if (c->recorded && !write_candidate(j, c)) wait_in_memory(j, c);
}

const char *tw_journal_trouble(tw_journal *j) {
  retry_waiting(j);
  if (j->n_waiting == 0) return NULL;
  snprintf(j->trouble, sizeof j->trouble, "the last %zu candidates are not in the journal %s (%s)", j->n_waiting,
           j->path, j->reason);
  return j->trouble;
}

/* ---- reading ---- */

/* Reads units and meanings of the counters. */
static void explain_counters(tw_journal *j, tw_measurement *m) {
  for (size_t i = 0; i < m->n_counters; i++) {
    tw_counter *c = &m->counter[i];
    sqlite3_bind_text(j->explain, 1, c->name, -1, SQLITE_STATIC);
    if (sqlite3_step(j->explain) == SQLITE_ROW) {
      const char *unit = tw_intern((const char *)sqlite3_column_text(j->explain, 0)),
                 *help = tw_intern((const char *)sqlite3_column_text(j->explain, 1));
      if (unit && help) *c = (tw_counter){c->name, unit, help, c->value};
    }
    sqlite3_reset(j->explain);
  }
}

static void recall_objects(tw_journal *j, sqlite3_stmt *s, tw_measurement *m) {
  const char *counters = (const char *)sqlite3_column_text(s, 8), *memory = (const char *)sqlite3_column_text(s, 9);
  json_t *object = counters ? json_loads(counters, 0, NULL) : NULL;
  if (object && !tw_counters_read(object, m)) m->n_counters = 0;
  json_decref(object);
  object = memory ? json_loads(memory, 0, NULL) : NULL;
  if (object && !tw_memories_read(object, m)) m->n_memories = 0;
  json_decref(object);
  explain_counters(j, m);
}

static void recall_row(tw_journal *j, sqlite3_stmt *s, tw_verdict verdict, tw_candidate *c) {
  c->verdict = verdict == TW_UNCONFIRMED ? TW_CORRECT : verdict;
  const char *message = (const char *)sqlite3_column_text(s, 1);
  if (message && c->verdict != TW_CORRECT) c->message = strdup(message);
  c->measured = (tw_measurement){
      .cost = sqlite3_column_double(s, 2),
      .cycles = sqlite3_column_double(s, 3),
      .seconds = sqlite3_column_double(s, 4),
      .instructions = sqlite3_column_double(s, 5),
      .utilization = sqlite3_column_double(s, 6),
  };
  recall_objects(j, s, &c->measured);
  c->seconds = sqlite3_column_double(s, 7);
  c->recalled = true;
}

bool tw_journal_recall(tw_journal *j, tw_candidate *c) {
  sqlite3_stmt *s = j->recall;
  bool found = false;
  sqlite3_bind_blob(s, 1, &c->source_digest, sizeof c->source_digest, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, c->source, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, j->seed);
  sqlite3_bind_int(s, 4, j->by_runner);
  while (!found && sqlite3_step(s) == SQLITE_ROW) {
    tw_verdict verdict;
    const char *name = (const char *)sqlite3_column_text(s, 0);
    found = name && tw_verdict_parse(name, &verdict) &&
            (tw_verdict_is_final(verdict) ||
             (verdict == TW_SLOWER && c->limit > 0 && sqlite3_column_double(s, 2) > c->limit));
    if (found && tw_verdict_has_cost(verdict)) found = sqlite3_column_double(s, 2) > 0;
    if (found) recall_row(j, s, verdict, c);
  }
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return found;
}

/* ---- exchanges ---- */

static void bind_exchange(const tw_journal *j, sqlite3_stmt *s, const char *agent, uint64_t place) {
  sqlite3_bind_int64(s, 1, j->search);
  sqlite3_bind_text(s, 2, agent, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, (sqlite3_int64)place);
}

/* A copy that lives as long as the journal; "" without memory. */
static const char *name_of_model(tw_journal *j, const char *model) {
  for (size_t i = 0; model && i < j->n_models; i++)
    if (!strcmp(j->models[i], model)) return j->models[i];
  char **larger = model ? tw_resize(j->models, j->n_models + 1, sizeof(char *)) : NULL;
  if (larger) j->models = larger;
  char *copy = larger ? strdup(model) : NULL;
  if (copy) j->models[j->n_models++] = copy;
  return copy ? copy : "";
}

static bool remember(void *context, const char *agent, tw_exchange *e) {
  tw_journal *j = context;
  sqlite3_stmt *s = j->remember;
  pthread_mutex_lock(&j->lock);
  bind_exchange(j, s, agent, e->place);
  sqlite3_bind_text(s, 4, e->asked, -1, SQLITE_STATIC);
  bool found = sqlite3_step(s) == SQLITE_ROW && (e->answer = strdup((const char *)sqlite3_column_text(s, 1)));
  if (found) {
    e->model = name_of_model(j, (const char *)sqlite3_column_text(s, 0));
    e->tokens_in = sqlite3_column_double(s, 2);
    e->tokens_out = sqlite3_column_double(s, 3);
    e->money = sqlite3_column_double(s, 4);
    e->seconds = sqlite3_column_double(s, 5);
  }
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  pthread_mutex_unlock(&j->lock);
  return found;
}

/* A resumed search repeats requests that could not be written. The error for candidates reports the disk. */
static void keep_exchange(void *context, const char *agent, const tw_exchange *e) {
  tw_journal *j = context;
  sqlite3_stmt *s = j->keep;
  pthread_mutex_lock(&j->lock);
  bind_exchange(j, s, agent, e->place);
  sqlite3_bind_text(s, 4, e->model ? e->model : "", -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 5, e->asked, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 6, e->answer ? e->answer : "", -1, SQLITE_STATIC);
  sqlite3_bind_double(s, 7, e->tokens_in);
  sqlite3_bind_double(s, 8, e->tokens_out);
  sqlite3_bind_double(s, 9, e->money);
  sqlite3_bind_double(s, 10, e->seconds);
  sqlite3_step(s);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  pthread_mutex_unlock(&j->lock);
}

tw_memo tw_journal_memo(tw_journal *j) { return (tw_memo){.context = j, .recall = remember, .keep = keep_exchange}; }

void tw_journal_close(tw_journal *j, bool finished) {
  if (!j) return;
  retry_waiting(j);
  sqlite3_stmt *s = NULL;
  if (finished && sqlite3_prepare_v2(j->db, "UPDATE search SET finished = datetime('now') WHERE id = ?1", -1, &s,
                                     NULL) == SQLITE_OK) {
    sqlite3_bind_int64(s, 1, j->search);
    sqlite3_step(s);
  }
  sqlite3_finalize(s);
  free_journal(j);
}
