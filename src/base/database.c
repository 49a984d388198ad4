/* database.c - see database.h. */
#include "base/database.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

enum { BUSY_MILLISECONDS = 5000, STEPS_BETWEEN_LOOKS = 10000 };

static int is_late(void *database) { return tw_now() > ((const tw_database *)database)->deadline; }

sqlite3_int64 tw_database_number(sqlite3_stmt *s, sqlite3_int64 otherwise) {
  const bool found = s && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER;
  const sqlite3_int64 value = found ? sqlite3_column_int64(s, 0) : otherwise;
  sqlite3_finalize(s);
  return value;
}

tw_status tw_database_open(tw_database *d, const char *path, double seconds, tw_error *error) {
  sqlite3_stmt *s = NULL;
  *d = (tw_database){.deadline = tw_now() + seconds};
  if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
    return tw_fail(error, TW_USAGE, "cannot open the journal %s: %s", path, sqlite3_errmsg(d->db));
  sqlite3_busy_timeout(d->db, BUSY_MILLISECONDS);
  sqlite3_progress_handler(d->db, STEPS_BETWEEN_LOOKS, is_late, d);
  sqlite3_prepare_v2(d->db, "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')", -1, &s, NULL);
  if (tw_database_number(s, 1) != 0)
    return tw_fail(error, TW_USAGE, "%s is not a journal of a search (views, triggers or no SQLite file)", path);
  return TW_OK;
}
