/* draw.c - a schedule as a picture (SVG): slots over time, a bar for each instruction, and below them the registers, a
 * bar for each value from its arrival to its last read. Successive iterations are drawn, the later the paler. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/core/picture.h"

enum { LEFT = 48, TOP = 40, LANE = 18, GAP = 14, CYCLE = 11, OVERLAPPED = 3, TICK = 8 };

typedef struct drawing {
  tw_text text;
  const xc_loop *l;
  int iterations, cycles;
} drawing;

/* Colours for loads of A and B, loads and stores of C, multiply-accumulates; distinguishable side by side and in
 * grey. */
static const char *colour_of(char role) {
  return role == 'A' ? "#4477aa" : role == 'B' ? "#66aa55" : role == 'C' ? "#ddaa33" : "#aa3355";
}

static double opacity(int iteration) { return iteration == 0 ? 1 : iteration == 1 ? 0.6 : 0.35; }

static void lane_name(drawing *d, int y, const char *name) {
  tw_text_add(&d->text, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6, y + LANE - 5, name);
  tw_text_add(&d->text, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n", LEFT,
              LEFT + d->cycles * CYCLE, y + LANE, y + LANE);
}

static void bar(drawing *d, int y, int from, int cycles, char role, int iteration, const char *title) {
  if (from + cycles > d->cycles) cycles = d->cycles - from;
  if (cycles <= 0) return;
  tw_text_add(&d->text,
              "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%.2f\"><title>%s</title>"
              "</rect>\n",
              LEFT + from * CYCLE, y + 2, cycles * CYCLE - 1, LANE - 4, colour_of(role), opacity(iteration), title);
}

/* Escapes '<' and '>' of labels for SVG. */
static void escape(const char *label, char *out, size_t size) {
  size_t n = 0;
  for (; *label && n + 5 < size; label++)
    n += (size_t)snprintf(out + n, size - n, *label == '<' ? "&lt;" : *label == '>' ? "&gt;" : "%c", *label);
  out[n] = '\0';
}

static void draw_axis(drawing *d, int y) {
  for (int cycle = 0; cycle <= d->cycles; cycle += TICK)
    tw_text_add(&d->text, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%d</text>\n",
                LEFT + cycle * CYCLE, y, cycle);
  for (int i = 1; i < d->iterations; i++)
    tw_text_add(&d->text, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#000\" stroke-dasharray=\"3 3\"/>\n",
                LEFT + i * d->l->table.ii * CYCLE, LEFT + i * d->l->table.ii * CYCLE, y + 4, y + 12);
}

static int draw_slots(drawing *d, int y) {
  const xc_machine *m = d->l->graph.machine;
  for (int slot = 0; slot < m->n_slots; slot++, y += LANE) {
    lane_name(d, y, m->slot[slot]);
    for (int iteration = d->iterations - 1; iteration >= 0; iteration--)
      for (int i = 0; i < d->l->graph.n_nodes; i++) {
        char label[XC_LABEL], escaped[XC_LABEL * 5], title[XC_LABEL * 5 + 40];
        const int cycle = d->l->table.cycle[i] + iteration * d->l->table.ii;
        if (d->l->table.slot[i] != slot) continue;
        xc_label(d->l, i, label);
        escape(label, escaped, sizeof escaped);
        snprintf(title, sizeof title, "%d: %s", cycle, escaped);
        bar(d, y, cycle, 1, d->l->graph.node[i].role, iteration, title);
      }
  }
  return y;
}

/* When a value is in its register, and the role of its last writer. */
static char life_of(const xc_loop *l, int value, int *from, int *to) {
  char role = 'C';
  *from = INT_MAX;
  *to = INT_MIN;
  for (int i = 0; i < l->graph.n_nodes; i++) {
    const xc_node *n = &l->graph.node[i];
    if (n->write.value == value) {
      const int arrives = l->table.cycle[i] + xc_write_at(&l->graph, n) + 1;
      if (arrives < *from) *from = arrives;
      role = n->role;
    }
    for (int r = 0; r < n->n_reads; r++)
      if (n->read[r].value == value && l->table.cycle[i] + xc_read_at(&l->graph, n, r) > *to)
        *to = l->table.cycle[i] + xc_read_at(&l->graph, n, r);
  }
  return role;
}

static int draw_registers(drawing *d, xc_file file, int y) {
  const xc_timetable *s = &d->l->table;
  const int registers = file == XC_VECTOR ? d->l->graph.machine->vectors : d->l->graph.machine->accumulators;
  for (int reg = 0; reg < registers; reg++) {
    char name[12];
    snprintf(name, sizeof name, "%s%d", file == XC_VECTOR ? "x" : "dm", reg);
    lane_name(d, y + reg * LANE, name);
  }
  for (int value = 0; value < d->l->graph.n_values; value++) {
    int from, to;
    const xc_value *v = &d->l->graph.value[value];
    const char role = life_of(d->l, value, &from, &to);
    for (int iteration = d->iterations - 1; v->file == file && iteration >= 0; iteration--)
      for (int i = 0; i < v->width; i++) {
        const int reg = s->reg[value * s->copies + iteration % s->copies] + i;
        bar(d, y + reg * LANE, from + iteration * s->ii, to - from + 1, role, iteration,
            role == 'M'   ? "a sum"
            : role == 'C' ? "C"
            : role == 'A' ? "A"
                          : "B");
      }
  }
  return y + registers * LANE;
}

tw_status xd_core_draw(const xd_core_kernel *k, char **out, tw_error *error) {
  xc_loop l;
  char line[200];
  int clusters;
  tw_status status = xc_plan_kernel(k, &clusters, &l, error);
  if (status != TW_OK) return status;
  drawing d = {.l = &l, .iterations = l.table.ii < l.table.length ? OVERLAPPED : 1};
  d.cycles = (d.iterations - 1) * l.table.ii + l.table.length + TICK;
  const int lanes = l.graph.machine->n_slots + l.graph.machine->vectors + l.graph.machine->accumulators;
  xc_headline(k, &l, clusters, line, sizeof line);
  tw_text_add(&d.text,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
              "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
              "<text x=\"%d\" y=\"14\" font-weight=\"bold\">%s</text>\n",
              LEFT + d.cycles * CYCLE + 10, TOP + lanes * LANE + 2 * GAP + 24, LEFT, line);
  draw_axis(&d, TOP - 12);
  int y = draw_slots(&d, TOP) + GAP;
  y = draw_registers(&d, XC_ACCUMULATOR, y) + GAP;
  y = draw_registers(&d, XC_VECTOR, y);
  tw_text_add(&d.text,
              "<text x=\"%d\" y=\"%d\"><tspan fill=\"%s\">A</tspan> <tspan fill=\"%s\">B</tspan> <tspan "
              "fill=\"%s\">C loaded and stored</tspan> <tspan fill=\"%s\">multiply-accumulates</tspan>; later "
              "iterations are paler</text>\n</svg>\n",
              LEFT, y + 16, colour_of('A'), colour_of('B'), colour_of('C'), colour_of('M'));
  xc_loop_free(&l);
  if ((*out = tw_text_take(&d.text))) return TW_OK;
  return tw_no_memory(error, NULL);
}
