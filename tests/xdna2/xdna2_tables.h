/* xdna2_tables.h - the published tables (tests/data/xdna2) and the fits of the model's constants to them. */
#ifndef TW_TEST_XDNA2_TABLES_H
#define TW_TEST_XDNA2_TABLES_H

#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/files.h"
#include "base/strings.h"
#include "target/xdna2/rate.h"

enum { ROWS_MAX = 200, CELLS = 20, CELL = 96 };

/* A table as text, so that the digits that were printed are known. */
typedef struct table {
  size_t n;
  char head[CELLS][CELL], cell[ROWS_MAX][CELLS][CELL];
} table;

static inline void must(tw_status status, const tw_error *error) {
  if (status != TW_OK) fail_msg("%s", error->text);
}

static inline table read_table(const char *name) {
  char path[512], *text, *rest, *line;
  tw_error error = {0};
  table t = {0};
  snprintf(path, sizeof path, "%s/xdna2/%s", TW_TEST_DATA, name);
  must(tw_file_read(path, 1 << 16, &text, NULL, &error), &error);
  rest = text;
  for (size_t row = 0; (line = strsep(&rest, "\r\n"));) {
    if (!*line) continue;
    assert_true(row <= ROWS_MAX);
    char *word;
    for (size_t i = 0; (word = strsep(&line, ",")); i++) {
      assert_true(i < CELLS);
      if (row == 0)
        snprintf(t.head[i], sizeof t.head[i], "%s", word);
      else
        snprintf(t.cell[row - 1][i], sizeof t.cell[0][0], "%s", word);
    }
    t.n = row++;
  }
  free(text);
  return t;
}

static inline const char *cell(const table *t, size_t row, const char *column) {
  for (size_t i = 0; i < CELLS; i++)
    if (!strcmp(t->head[i], column)) return t->cell[row][i];
  fail_msg("no column %s", column);
  return "";
}

static inline double number(const table *t, size_t row, const char *column) {
  double x = 0;
  if (!tw_parse_real(cell(t, row, column), &x)) fail_msg("%s of row %zu is no number", column, row);
  return x;
}

/* Does the value, rounded half up to as many digits as were printed, read as printed? */
static inline bool reads_as(double value, const char *printed) {
  const char *point = strchr(printed, '.');
  const double scale = pow(10, point ? (double)strlen(point + 1) : 0), eps = 1e-9;
  return fabs(floor(value * scale + 0.5 + eps) / scale - strtod(printed, NULL)) < 1e-6;
}

/* A machine as its file says. */
static inline xd_config machine_of(const char *name) {
  xd_config c, base;
  tw_error error = {0};
  char path[64];
  snprintf(path, sizeof path, "xdna2/configs/%s.txt", name);
  const tw_embedded *file = tw_embedded_find(path);
  assert_non_null(file);
  const char *text = (const char *)file->data;
  int line;
  char *of = tw_config_base(text, &line); /* "base = xdna2": the file lists what differs */
  if (of) base = machine_of(of);
  must(tw_config_read(&xd_config_schema, text, file->name, of ? &base : NULL, &c, NULL, &error), &error);
  free(of);
  return c;
}
static inline xd_config machine(void) { return machine_of("xdna2"); }

static inline const xd_kernel *kernel_of(const xd_config *c, const char *name) {
  const xd_kernel *k = xd_find_kernel(c, name, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
  if (!k) fail_msg("no kernel %s", name);
  return k;
}

/* ---- least squares of relative errors: sum over rows of (1 - sum_j p_j x_ij / y_i)^2, one or two unknowns ---- */

typedef struct fit {
  int unknowns;
  double xx[2][2], xy[2];
} fit;

static inline void fit_add(fit *f, double x0, double x1, double scale, double rest) {
  const double x[2] = {x0 / scale, x1 / scale};
  for (int i = 0; i < f->unknowns; i++) {
    f->xy[i] += x[i] * rest / scale;
    for (int j = 0; j < f->unknowns; j++) f->xx[i][j] += x[i] * x[j];
  }
}

static inline void fit_solve(const fit *f, double p[2]) {
  p[1] = 0;
  if (f->unknowns == 1) {
    p[0] = f->xy[0] / f->xx[0][0];
    return;
  }
  const double det = f->xx[0][0] * f->xx[1][1] - f->xx[0][1] * f->xx[1][0];
  p[0] = (f->xy[0] * f->xx[1][1] - f->xy[1] * f->xx[0][1]) / det;
  p[1] = (f->xx[0][0] * f->xy[1] - f->xx[1][0] * f->xy[0]) / det;
}

/* ---- what is judged ---- */

typedef struct errors {
  double sum, worst;
  int n;
} errors;

static inline void note(errors *e, double relative) {
  e->sum += fabs(relative);
  e->worst = fmax(e->worst, fabs(relative));
  e->n++;
}

static inline double mean(const errors *e) { return e->sum / e->n; }

#endif
