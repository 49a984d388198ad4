/* print.c - a schedule as text: slots by cycle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/core/gemm_core.h"
#include "target/xdna2/core/picture.h"

static void print_register(const xc_loop *l, const xc_operand *o, char sign, char *out, size_t size) {
  const xc_value *v = &l->graph.value[o->value];
  const int reg = l->table.reg[o->value * l->table.copies];
  snprintf(out, size, " %c%c%d", sign,
           v->file == XC_ACCUMULATOR ? 'd'
           : v->width == 2           ? 'y'
                                     : 'x',
           v->width == 2 ? reg / 2 : reg);
}

void xc_label(const xc_loop *l, int node, char out[XC_LABEL]) {
  const xc_node *n = &l->graph.node[node];
  char place[24] = "", step[12] = "", reg[12] = "";
  const char role = n->role == 'M' ? 'C' : n->role;
  if (n->row >= 0 && n->column >= 0)
    snprintf(place, sizeof place, "%d%d", n->row, n->column);
  else if (n->row >= 0 || n->column >= 0)
    snprintf(place, sizeof place, "%d", n->row >= 0 ? n->row : n->column);
  if (n->step >= 0) snprintf(step, sizeof step, ".%d", n->step);
  if (n->write.value >= 0)
    print_register(l, &n->write, '>', reg, sizeof reg);
  else if (n->n_reads)
    print_register(l, &n->read[0], '<', reg, sizeof reg);
  snprintf(out, XC_LABEL, "%s %c%s%s%s", l->graph.machine->instruction[n->what].name, role, place, step, reg);
}

void xc_headline(const xd_core_kernel *k, const xc_loop *l, int clusters, char *out, size_t size) {
  const xc_timetable *s = &l->table;
  snprintf(out, size, "%dx%dx%d, cluster %dx%d, %s: %d cycles for %d cluster%s, the next %s %d", k->m, k->k, k->n,
           k->cluster[0], k->cluster[1], xd_core_way_name(k->way), s->length, clusters, clusters == 1 ? "" : "s",
           clusters == 1 ? "after" : "block after", s->ii);
}

/* The node that issues at a cycle of the table in a slot; with `ii`, of any iteration. -1: none. */
static int node_at(const xc_loop *l, int cycle, int slot, bool wrapped) {
  for (int i = 0; i < l->graph.n_nodes; i++) {
    const int at = wrapped ? l->table.cycle[i] % l->table.ii : l->table.cycle[i];
    if (at == cycle && l->table.slot[i] == slot) return i;
  }
  return -1;
}

/* Prints rows of a table. In the loop's rows, "-n" marks an instruction of the n-th iteration before. */
static void print_rows(tw_text *t, const xc_loop *l, int rows, bool wrapped) {
  const xc_machine *m = l->graph.machine;
  char label[XC_LABEL] = "", cell[XC_LABEL + 16];
  int width[XC_SLOTS_MAX] = {0};
  for (int slot = 0; slot < m->n_slots; slot++) { /* as wide as its longest entry */
    width[slot] = (int)strlen(m->slot[slot]);
    for (int i = 0; i < l->graph.n_nodes; i++) {
      if (l->table.slot[i] != slot) continue;
      xc_label(l, i, label);
      const int length = (int)strlen(label) + (wrapped ? 3 : 0);
      if (length > width[slot]) width[slot] = length;
    }
  }
  tw_text_add(t, "%5s", "cycle");
  for (int slot = 0; slot < m->n_slots; slot++) tw_text_add(t, "  %-*s", width[slot], m->slot[slot]);
  tw_text_add_string(t, "\n");
  for (int cycle = 0; cycle < rows; cycle++) {
    tw_text_add(t, "%5d", cycle);
    for (int slot = 0; slot < m->n_slots; slot++) {
      const int node = node_at(l, cycle, slot, wrapped);
      snprintf(cell, sizeof cell, ".");
      if (node >= 0) {
        const int stage = wrapped ? l->table.cycle[node] / l->table.ii : 0;
        xc_label(l, node, label);
        snprintf(cell, sizeof cell, "%s", label);
        if (stage) snprintf(cell, sizeof cell, "%s -%d", label, stage);
      }
      tw_text_add(t, "  %-*s", width[slot], cell);
    }
    while (t->length && !t->failed && t->data[t->length - 1] == ' ') t->data[--t->length] = '\0';
    tw_text_add_string(t, "\n");
  }
}

tw_status xd_core_print(const xd_core_kernel *k, char **out, tw_error *error) {
  xc_loop l;
  tw_text t = {0};
  char line[200];
  int clusters;
  tw_status status = xc_plan_kernel(k, &clusters, &l, error);
  if (status != TW_OK) return status;
  xc_headline(k, &l, clusters, line, sizeof line);
  tw_text_add(&t, "%s\nregisters: %d vectors, %d accumulators%s\n\none iteration\n", line, l.table.used[XC_VECTOR],
              l.table.used[XC_ACCUMULATOR], l.table.copies > 1 ? ", of its first copy" : "");
  print_rows(&t, &l, l.table.length, false);
  if (l.table.ii < l.table.length) {
    tw_text_add(&t, "\nthe loop: %d cycles; -1 is the iteration before\n", l.table.ii);
    print_rows(&t, &l, l.table.ii, true);
  }
  xc_loop_free(&l);
  if ((*out = tw_text_take(&t))) return TW_OK;
  return tw_no_memory(error, NULL);
}
