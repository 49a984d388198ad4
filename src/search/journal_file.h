/* journal_file.h - an open journal, for the files of its parts: journal_open.c (the file and its subject) and journal.c
 * (candidates, facts, exchanges). */
#ifndef TW_SEARCH_JOURNAL_FILE_H
#define TW_SEARCH_JOURNAL_FILE_H

#include <pthread.h>
#include <sqlite3.h>

#include "search/journal.h"

/* Statements that are prepared once. */
enum { INSERT, RECALL, DESCRIBE, EXPLAIN, KEEP, REMEMBER, STATE, STATEMENTS };

struct tw_journal {
  sqlite3 *db;
  char *path;
  sqlite3_int64 search, seed;
  sqlite3_stmt *statement[STATEMENTS];
  double opened, before; /* tw_now at the opening; seconds of this search in earlier processes */
  pthread_mutex_t lock;  /* lock of KEEP, REMEMBER and `models`: agents call from any thread */
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

/* Writes candidates that could not be written yet; what fails again keeps waiting. */
void tw_journal_retry(tw_journal *);
/* Statements without a result. */
bool tw_journal_run(tw_journal *, const char *sql);
/* A statement whose parameters are texts, ended by NULL. `first`, if not NULL, gets the first column of the first row,
 * malloc'ed, or NULL. Returns SQLite's code: SQLITE_ROW, SQLITE_DONE, or an error. */
int tw_journal_query(tw_journal *, const char *sql, const char *const text[], char **first);

#endif
