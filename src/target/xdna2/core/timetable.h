/* timetable.h - for each instruction its cycle and slot, for each value its register. */
#ifndef TW_XDNA2_CORE_TIMETABLE_H
#define TW_XDNA2_CORE_TIMETABLE_H

#include "target/xdna2/core/graph.h"

typedef struct xc_timetable {
  int ii;                         /* cycles from one iteration to the next; 0: straight-line code */
  int length;                     /* bundles from the first to the last issue of one iteration */
  int resource_ii, recurrence_ii; /* lower bounds of ii */
  int *cycle, *slot;              /* index: node; the first issues at 0 */
  int copies;                     /* modulo variable expansion: iteration i uses the registers of copy i mod copies */
  int *reg;                       /* index: value * copies + copy; the first register of a pair */
  int used[XC_FILES];             /* registers, constants included */
} xc_timetable;

void xc_timetable_free(xc_timetable *);

/* Moves all cycles, so that the first instruction issues at 0, and sets the length. */
void xc_start_at_0(const xc_graph *, xc_timetable *);

/* List scheduling of straight-line code, backwards: from the last instruction up, each as late as possible, those
 * farthest from the start first. So loads arrive just in time, and values have short lives. Registers are not
 * allocated. */
tw_status xc_list_schedule(const xc_graph *, xc_timetable *out, tw_error *);

/* Makes straight-line code the body of a loop whose iterations do not overlap: ii is its length, or more if stores
 * of one iteration would conflict with loads of the next in a bank. Allocates registers. */
tw_status xc_list_repeat(const xc_graph *, xc_timetable *, tw_error *);

/* Iterative modulo scheduling (B. R. Rau, 1994) of a loop, also backwards: the first II, from the least up to `ii_max`,
 * at which instructions and then registers fit. TW_USAGE if none does. Registers are allocated. With `skew` the chains
 * of a cluster are staggered, so that their accumulators are not all loaded and stored at once. */
tw_status xc_modulo_schedule(const xc_graph *, int ii_max, int skew, xc_timetable *out, tw_error *);

/* Gives each value a register (registers.c): colours the cyclic intervals of the loop, with as few copies as possible;
 * TW_USAGE with the file that is too small if it cannot. Frees an earlier allocation. */
tw_status xc_allocate(const xc_graph *, xc_timetable *, tw_error *);

/* Lower bounds of II, and for each node the longest path that ends there at a given II (NULL: not needed). False if
 * II is below the bound of recurrences. */
int xc_resource_ii(const xc_graph *);
bool xc_depths(const xc_graph *, int ii, int *depth);
/* The least II, at most ii_max, that recurrences allow; 0 if memory ran out. */
int xc_recurrence_ii(const xc_graph *, int ii_max);

/* ---- the reservation table (table.c): slots, write ports and banks by cycle modulo its span ---- */

typedef struct xc_table {
  const xc_graph *graph;
  int span, columns;
  int *taken; /* node + 1, by cycle and column: slots, ports, banks */
} xc_table;

bool xc_table_open(xc_table *, const xc_graph *, int span);
void xc_table_close(xc_table *);
/* The slot in which the node can issue at `cycle` (which may be negative); -1 if none. */
int xc_table_slot(const xc_table *, int node, int cycle);
void xc_table_put(xc_table *, int node, int cycle, int slot);
void xc_table_take(xc_table *, int node, int cycle, int slot);
/* The nodes in the way of `node` at `cycle` in `slot`; at most three. */
int xc_table_rivals(const xc_table *, int node, int cycle, int slot, int rivals[3]);

#endif
