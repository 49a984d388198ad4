/* database.h - an SQLite file that another program wrote, opened for reading.
 *
 * The file is untrusted: a file with views or triggers is rejected, and all queries together end after some seconds.
 * Another process may write to it at the same time. */
#ifndef TW_BASE_DATABASE_H
#define TW_BASE_DATABASE_H

#include <sqlite3.h>

#include "tilewright/status.h"

typedef struct tw_database {
  sqlite3 *db;
  double deadline; /* by tw_now */
} tw_database;

/* Queries that run past `seconds` end with SQLITE_INTERRUPT. Returns TW_USAGE if the file cannot be opened or is not
 * such a file. Close it with sqlite3_close in any case, and do not move the struct until then. */
tw_status tw_database_open(tw_database *, const char *path, double seconds, tw_error *);

/* The first column of the first row as a whole number; `otherwise` without one. Finalizes the statement, which may be
 * NULL. */
sqlite3_int64 tw_database_number(sqlite3_stmt *, sqlite3_int64 otherwise);

#endif
