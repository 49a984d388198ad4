/* report_journal.c - every candidate of the last search in DIR/journal.sqlite as a dot: in the order in which they
 * were evaluated, by utilization. A page without a journal has no such chart. */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/files.h"
#include "cli/report_journal.h"

enum { HEIGHT = 260, DOTS_MAX = 20000 }; /* as wide as the window: places across are percentages */

/* What was evaluated: a duplicate has a twin, whose verdict is its own, and is counted once; an illegal schedule has no kernel. */
#define EVALUATED                                                                                                      \
  " FROM candidate WHERE search = (SELECT max(search) FROM candidate) AND twin IS NULL AND verdict != 'illegal "       \
  "schedule'"
static const char query_all[] =
    "SELECT number, iteration, utilization, verdict = 'correct', schedule, coalesce(message, ''),"
    " verdict = 'slower, not checked'" EVALUATED " ORDER BY number";
static const char query_extent[] =
    "SELECT count(*), sum(verdict = 'correct'), sum(verdict = 'slower, not checked'), max(utilization),"
    " sum(verdict = 'slower, not checked' AND coalesce(utilization, 0) = 0)" EVALUATED;

/* What the axis ends with: room for all, in round numbers. */
static double axis_end(double most) {
  static const double ends[] = {0.01, 0.02, 0.04, 0.1, 0.2, 0.4};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (most <= ends[i]) return ends[i];
  return 1;
}

static void add_axes(tw_text *out, int n, double end) {
  for (int quarter = 0; quarter <= 4; quarter++) {
    const double y = HEIGHT * (1 - quarter / 4.0);
    tw_text_add(out, "<line x1=\"0\" y1=\"%.1f\" x2=\"100%%\" y2=\"%.1f\" stroke=\"#d5d9e0\"/>", y, y);
    tw_text_add(out, "<text x=\"-6\" y=\"%.1f\" text-anchor=\"end\">%g%%</text>\n", y + 4, 25 * quarter * end);
  }
  tw_text_add(out, "<text x=\"0\" y=\"%d\">the first</text>", HEIGHT + 18);
  tw_text_add(out, "<text x=\"100%%\" y=\"%d\" text-anchor=\"end\">the last of %d</text>\n", HEIGHT + 18, n);
}

/* One row of query_all. Colours alternate from iteration to iteration; what was not checked is grey, what failed lies on
 * the axis, in red. */
static void add_dot(tw_text *out, sqlite3_stmt *row, int index, int n, double end) {
  const int number = sqlite3_column_int(row, 0), iteration = sqlite3_column_int(row, 1);
  const bool correct = sqlite3_column_int(row, 3), slower = sqlite3_column_int(row, 6);
  const double utilization = correct || slower ? sqlite3_column_double(row, 2) : 0;
  const char *schedule = (const char *)sqlite3_column_text(row, 4),
             *message = (const char *)sqlite3_column_text(row, 5);
  tw_text_add(out, "<circle cx=\"%.2f%%\" cy=\"%.1f\" r=\"3\" fill=\"%s\" fill-opacity=\".75\"><title>",
              n > 1 ? 100.0 * index / (n - 1) : 50, HEIGHT * (1 - (utilization < end ? utilization / end : 1)),
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

static void add_chart(tw_text *out, sqlite3 *db, int samples) {
  sqlite3_stmt *extent = NULL, *all = NULL;
  if (sqlite3_prepare_v2(db, query_extent, -1, &extent, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(db, query_all, -1, &all, NULL) == SQLITE_OK && sqlite3_step(extent) == SQLITE_ROW &&
      sqlite3_column_int(extent, 0) > 0) {
    const int n = sqlite3_column_int(extent, 0), drawn = n < DOTS_MAX ? n : DOTS_MAX;
    const double end = axis_end(sqlite3_column_double(extent, 3));
    const int unmeasured = sqlite3_column_int(extent, 4);
    tw_text_add_string(out, "<h2>Every candidate</h2>\n<p>");
    if (n < samples) /* rewrites of a program, and then a fresh schedule: two searches */
      tw_text_add(out, "%d of the %d candidates, those of the last search, ", n, samples);
    else
      tw_text_add(out, "%d candidates, ", n);
    tw_text_add(out, "%d of them correct; ", sqlite3_column_int(extent, 1));
    if (drawn < n) tw_text_add(out, "the first %d are drawn; ", drawn);
    if (sqlite3_column_int(extent, 2) > 0)
      tw_text_add(out, "%d were slower than what they came from and not checked (grey%s); ",
                  sqlite3_column_int(extent, 2),
                  unmeasured ? ", on the axis where a bound said so before they ran" : "");
    tw_text_add_string(out, "a colour is an iteration, the height is the utilization.</p>\n");
    tw_text_add(out, "<div class=\"chart\"><svg width=\"100%%\" height=\"%d\" role=\"img\">\n", HEIGHT);
    add_axes(out, drawn, end);
    for (int i = 0; i < drawn && sqlite3_step(all) == SQLITE_ROW; i++) add_dot(out, all, i, drawn, end);
    tw_text_add_string(out, "</svg></div>\n");
  }
  sqlite3_finalize(extent);
  sqlite3_finalize(all);
}

void report_add_journal(tw_text *out, const char *directory, int samples) {
  char *path = tw_path_join(directory, "journal.sqlite");
  sqlite3 *db = NULL;
  if (path && tw_file_exists(path) && sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
    double deadline = tw_now() + QUERY_SECONDS;
    sqlite3_progress_handler(db, 10000, is_late, &deadline);
    if (has_tables_alone(db)) add_chart(out, db, samples);
  }
  sqlite3_close(db);
  free(path);
}
