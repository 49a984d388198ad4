/* table.c - the reservation table: which instruction uses which slot, write port and bank in which cycle, modulo a
 * span. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/core/timetable.h"

bool xc_table_open(xc_table *t, const xc_graph *g, int span) {
  *t = (xc_table){.graph = g, .span = span, .columns = 2 * g->machine->n_slots + g->machine->banks};
  return (t->taken = tw_new((size_t)span * (size_t)t->columns, sizeof *t->taken));
}

void xc_table_close(xc_table *t) { free(t->taken); }

static int *at(const xc_table *t, int cycle, int column) {
  const int rest = cycle % t->span;
  return &t->taken[(size_t)(rest < 0 ? rest + t->span : rest) * (size_t)t->columns + (size_t)column];
}

/* The resources of a node that issues in `slot`: its slot, the port of its result, its bank. */
static int places(const xc_table *t, int node, int cycle, int slot, int *out[3]) {
  const xc_graph *g = t->graph;
  const xc_node *n = &g->node[node];
  const xc_instruction *what = &g->machine->instruction[n->what];
  int count = 0;
  out[count++] = at(t, cycle, slot);
  if (g->machine->write_port[slot] && n->write.value >= 0 && g->value[n->write.value].file == XC_VECTOR)
    out[count++] = at(t, cycle + what->result - 1, g->machine->n_slots + slot);
  if (n->bank >= 0 && what->memory) out[count++] = at(t, cycle + what->memory - 1, 2 * g->machine->n_slots + n->bank);
  return count;
}

int xc_table_rivals(const xc_table *t, int node, int cycle, int slot, int rivals[3]) {
  int *place[3], n = 0;
  const int count = places(t, node, cycle, slot, place);
  for (int i = 0; i < count; i++) {
    bool known = !*place[i];
    for (int j = 0; j < n; j++) known = known || rivals[j] == *place[i] - 1;
    if (!known) rivals[n++] = *place[i] - 1;
  }
  return n;
}

int xc_table_slot(const xc_table *t, int node, int cycle) {
  const xc_instruction *what = &t->graph->machine->instruction[t->graph->node[node].what];
  const int *slots = at(t, cycle, 0); /* most often the slot itself is taken */
  int rivals[3];
  for (int i = 0; i < what->n_slots; i++)
    if (!slots[what->slot[i]] && !xc_table_rivals(t, node, cycle, what->slot[i], rivals)) return what->slot[i];
  return -1;
}

void xc_table_put(xc_table *t, int node, int cycle, int slot) {
  int *place[3];
  const int count = places(t, node, cycle, slot, place);
  for (int i = 0; i < count; i++) *place[i] = node + 1;
}

void xc_table_take(xc_table *t, int node, int cycle, int slot) {
  int *place[3];
  const int count = places(t, node, cycle, slot, place);
  for (int i = 0; i < count; i++) *place[i] = 0;
}
