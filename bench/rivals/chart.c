/* chart.c - the measurements as one SVG picture. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/rivals/report.h"

enum { ROW = 15, LEFT = 250, WIDTH = 560, RIGHT = 20, TOP = 80, LIBRARIES = 16 };
static const double AXIS_END = 1.2; /* of the machine's limit: kernels of 8 bits can be faster than the peak of bf16 */

/* Colours that are told apart with the usual deficiencies of sight (Okabe and Ito 2008); black is ours. */
static const char *const colours[] = {"#000000", "#e69f00", "#56b4e9", "#009e73",
                                      "#0072b2", "#d55e00", "#cc79a7", "#999999"};
enum { COLOURS = sizeof colours / sizeof *colours };

typedef struct legend {
  size_t n;
  const char *library[LIBRARIES];
} legend;

static size_t place(legend *l, const char *library) {
  size_t i = 0;
  while (i < l->n && strcmp(l->library[i], library) != 0) i++;
  if (i == l->n && l->n < LIBRARIES) l->library[l->n++] = library;
  return i < LIBRARIES ? i : LIBRARIES - 1;
}

/* Of a library: ours is black, others take the colours in turns, the second time as rings. What follows closes it. */
static void draw_mark(FILE *to, size_t library, double x, double y, int radius) {
  const size_t others = COLOURS - 1;
  const char *colour = library ? colours[1 + (library - 1) % others] : colours[0];
  fprintf(to, "<circle cx='%.1f' cy='%.1f' r='%d' fill='%s' stroke='%s' stroke-width='1.5'>", x, y, radius,
          library > others ? "white" : colour, colour);
}

static void draw_legend(FILE *to, const legend *l) {
  enum { A_LINE = 8, APART = 100, HIGH = 16 };
  for (size_t i = 0; i < l->n; i++) {
    const double x = (double)(16 + i % A_LINE * APART), y = (double)(32 + i / A_LINE * HIGH);
    draw_mark(to, i, x, y, 4);
    fprintf(to, "</circle><text x='%.1f' y='%.1f'>%s</text>\n", x + 10, y + 4, l->library[i]);
  }
}

static double x_of(double part) { return LEFT + WIDTH * fmin(part, AXIS_END) / AXIS_END; }

static void draw_axis(FILE *to, double height) {
  for (int i = 0; i <= 12; i += 2)
    fprintf(to,
            "<line x1='%.1f' y1='%d' x2='%.1f' y2='%.1f' stroke='%s'/><text x='%.1f' y='%d' "
            "text-anchor='middle'>%d%%</text>\n",
            x_of(i / 10.0), TOP, x_of(i / 10.0), height, i == 10 ? "#666" : "#ddd", x_of(i / 10.0), TOP - 6, i * 10);
}

static void draw_row(FILE *to, const bench_results *all, const bench_result *own, double y, legend *l) {
  const bench_case *c = &own->c;
  const double bound = bench_bound(own);
  fprintf(to, "<text x='%d' y='%.1f' text-anchor='end'>%s %" PRId64 "x%" PRId64 "x%" PRId64 ", %d thread%s</text>\n",
          LEFT - 8, y + 4, c->kind->name, c->m, c->n, c->k, c->threads, c->threads > 1 ? "s" : "");
  for (int ours = 0; ours < 2; ours++) /* ours last, on top */
    for (size_t i = 0; i < all->n; i++) {
      const bench_result *r = &all->item[i];
      if (!bench_same(&r->c, c) || (r == own) != ours) continue;
      draw_mark(to, place(l, r->library), x_of(bound / r->seconds), y, ours ? 4 : 3);
      fprintf(to, "<title>%s: %.1f GFLOP/s</title></circle>\n", r->library, bench_operations(c) / r->seconds * 1e-9);
    }
}

bool bench_chart(const bench_results *all, const char *path) {
  legend l = {0};
  size_t rows = 0;
  const bench_result *own;
  while (bench_own(all, rows)) rows++;
  const double height = TOP + (double)(rows + 1) * ROW;
  FILE *to = fopen(path, "w");
  if (!to) return false;
  fprintf(to,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %.0f' font-family='sans-serif' font-size='11'>\n"
          "<rect width='100%%' height='100%%' fill='white'/>\n"
          "<text x='8' y='16' font-size='13'>Part of what the machine allows: its peak; for m &lt;= 16 also its read "
          "bandwidth</text>\n",
          LEFT + WIDTH + RIGHT, height);
  draw_axis(to, height);
  place(&l, "tilewright");
  for (size_t i = 0; (own = bench_own(all, i)); i++) draw_row(to, all, own, TOP + ((double)i + 0.8) * ROW, &l);
  draw_legend(to, &l);
  fprintf(to, "</svg>\n");
  return fclose(to) == 0;
}
