/* report_journal.c - every candidate of the last search in DIR/journal.sqlite as a dot: in the order in which they
 * were evaluated, by utilization. A page without a journal has no such chart. */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/files.h"
#include "cli/report_journal.h"

enum { WIDTH = 900, HEIGHT = 300, LEFT = 50, RIGHT = 20, TOP = 12, BOTTOM = 30 };

static const char query_all[] =
    "SELECT number, iteration, utilization, verdict = 'correct', schedule, coalesce(message, ''),"
    " verdict = 'slower, not checked' FROM candidate"
    " WHERE search = (SELECT max(search) FROM candidate) AND twin IS NULL ORDER BY number LIMIT 20000";

/* A duplicate has a twin, whose verdict is its own: counted once. */
static const char query_extent[] =
    "SELECT max(number), count(*), sum(verdict = 'correct'), sum(verdict = 'slower, not checked') FROM candidate"
    " WHERE search = (SELECT max(search) FROM candidate) AND twin IS NULL";

static void add_axes(tw_text *out, int last) {
  for (int percent = 0; percent <= 100; percent += 25) {
    double y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - percent / 100.0);
    tw_text_add(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#d5d9e0\"/>", LEFT, y, WIDTH - RIGHT,
                y);
    tw_text_add(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d%%</text>\n", LEFT - 6, y + 4, percent);
  }
  tw_text_add(out, "<text x=\"%d\" y=\"%d\">candidate 0</text>", LEFT, HEIGHT - 8);
  tw_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">candidate %d</text>\n", WIDTH - RIGHT, HEIGHT - 8,
              last);
}

/* One row of query_all. Colours alternate from iteration to iteration; what was not checked is grey, what failed lies on
 * the axis, in red. */
static void add_dot(tw_text *out, sqlite3_stmt *row, int last) {
  int number = sqlite3_column_int(row, 0), iteration = sqlite3_column_int(row, 1);
  bool correct = sqlite3_column_int(row, 3);
  const bool slower = sqlite3_column_int(row, 6);
  double utilization = correct || slower ? sqlite3_column_double(row, 2) : 0;
  const char *schedule = (const char *)sqlite3_column_text(row, 4),
             *message = (const char *)sqlite3_column_text(row, 5);
  double x = LEFT + (WIDTH - LEFT - RIGHT) * (last > 0 ? (double)number / last : 0);
  double y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - utilization);
  tw_text_add(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\" fill-opacity=\".75\"><title>", x, y,
              slower          ? "#8a93a3"
              : !correct      ? "#c0392b"
              : iteration % 2 ? "#3b6fb6"
                              : "#1d9a6c");
  tw_text_add(out, "%d, iteration %d, %.1f%%\n", number, iteration, 100 * utilization);
  html_text(out, schedule ? schedule : "");
  html_text(out, message ? message : "");
  tw_text_add_string(out, "</title></circle>\n");
}

/* A journal has tables alone, which end; a view may be an endless query that somebody put there. */
static bool has_tables_alone(sqlite3 *db) {
  sqlite3_stmt *s = NULL;
  const bool ask = sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')", -1,
                                      &s, NULL) == SQLITE_OK &&
                   sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0) == 0;
  sqlite3_finalize(s);
  return ask;
}

/* And no query takes longer than this, whatever it is. */
static const double QUERY_SECONDS = 20;
static int is_late(void *deadline) { return tw_now() > *(const double *)deadline; }

static void add_chart(tw_text *out, sqlite3 *db) {
  sqlite3_stmt *extent = NULL, *all = NULL;
  if (sqlite3_prepare_v2(db, query_extent, -1, &extent, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(db, query_all, -1, &all, NULL) == SQLITE_OK && sqlite3_step(extent) == SQLITE_ROW &&
      sqlite3_column_int(extent, 1) > 0) {
    int last = sqlite3_column_int(extent, 0);
    tw_text_add(out, "<h2>Every candidate</h2>\n<p>%d candidates, %d of them correct; ", sqlite3_column_int(extent, 1),
                sqlite3_column_int(extent, 2));
    if (sqlite3_column_int(extent, 3) > 0)
      tw_text_add(out, "%d were slower than what they came from and not checked (grey); ",
                  sqlite3_column_int(extent, 3));
    tw_text_add_string(out, "a colour is an iteration, ");
    tw_text_add_string(out, "the height is the share of the machine's peak.</p>\n");
    tw_text_add(out, "<svg viewBox=\"0 0 %d %d\" width=\"100%%\" role=\"img\">\n", WIDTH, HEIGHT);
    add_axes(out, last);
    while (sqlite3_step(all) == SQLITE_ROW) add_dot(out, all, last);
    tw_text_add_string(out, "</svg>\n");
  }
  sqlite3_finalize(extent);
  sqlite3_finalize(all);
}

void report_add_journal(tw_text *out, const char *directory) {
  char *path = tw_path_join(directory, "journal.sqlite");
  sqlite3 *db = NULL;
  if (path && tw_file_exists(path) && sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
    double deadline = tw_now() + QUERY_SECONDS;
    sqlite3_progress_handler(db, 10000, is_late, &deadline);
    if (has_tables_alone(db)) add_chart(out, db);
  }
  sqlite3_close(db);
  free(path);
}
