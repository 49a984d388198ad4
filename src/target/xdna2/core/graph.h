/* graph.h - a loop's body as instructions, the values they hand on, and what must come how long after what.
 *
 * Values are in single assignment: each is one register's content from its writers (several, if loads fill an
 * accumulator part by part) to its last reader. Which register holds it is decided later (registers.h), unless it is
 * pinned to one, as published kernels do with chess_storage. */
#ifndef TW_XDNA2_CORE_GRAPH_H
#define TW_XDNA2_CORE_GRAPH_H

#include "target/xdna2/core/machine.h"

typedef enum xc_file { XC_VECTOR, XC_ACCUMULATOR, XC_FILES } xc_file;

typedef struct xc_value {
  xc_file file;
  int width; /* registers: 2 is an aligned pair of vectors */
  int pin;   /* the register it must be in; -1: any */
} xc_value;

/* Reads or writes some parts of a value: bit i is part i. A vector register is one part, an accumulator
 * accumulator_parts of them. */
typedef struct xc_operand {
  int value; /* -1: none */
  unsigned parts;
} xc_operand;

enum { XC_READS_MAX = 3 };
typedef struct xc_node {
  int what; /* instruction */
  int n_reads;
  xc_operand read[XC_READS_MAX];
  int accumulator; /* index of the accumulator operand in read[]; -1: none */
  xc_operand write;
  int bank;  /* bank of the memory that it accesses; -1: none */
  int fifo;  /* load FIFOs from 0, then store FIFOs; -1: none */
  char role; /* 'A', 'B', 'C': the matrix it loads, stores or prepares; 'M': multiply-accumulates */
  int cluster, row, column, step; /* number of its block; -1 where it has none */
} xc_node;

/* `to` issues at least `latency` cycles after `from` of `distance` iterations before. May be negative: a register may
 * be overwritten by an instruction issued before its last reader, if the result comes later. */
typedef struct xc_edge {
  int from, to, latency, distance;
} xc_edge;

typedef struct xc_graph {
  const xc_machine *machine;
  int n_nodes, n_values, n_edges;
  xc_node *node;
  xc_value *value;
  xc_edge *edge;
  int room_nodes, room_values, room_edges;
  int constants[XC_FILES]; /* registers that hold constants: the last of each file */
  bool failed;             /* memory ran out while it was built */
} xc_graph;

/* Building: nodes in program order, which is the order of accesses of each FIFO. */
int xc_add_value(xc_graph *, xc_file, int width, int pin);
/* A node that reads and writes nothing yet. The pointer is good until the next call. */
xc_node *xc_add_node(xc_graph *, const char *instruction, char role, int cluster, int row, int column, int step);
void xc_reads(xc_node *, int value, unsigned parts);
void xc_accumulates(xc_node *, int value, unsigned parts); /* reads and writes the value as the accumulator operand */
void xc_writes(xc_node *, int value, unsigned parts);

/* Makes the edges: results, order within a FIFO, and reuse of registers that values are pinned to; the iterations of
 * the loop repeat with distance 1. TW_NO_MEMORY if memory ran out. */
tw_status xc_link(xc_graph *, tw_error *);
void xc_graph_free(xc_graph *);

/* All parts of a value. */
unsigned xc_all_parts(const xc_graph *, int value);

/* Cycles, counted from 0 at the issue of the node, at the ends of which it reads read[i], writes, accesses memory. */
static inline int xc_read_at(const xc_graph *g, const xc_node *n, int i) {
  const xc_instruction *what = &g->machine->instruction[n->what];
  return (i == n->accumulator ? what->accumulator : what->operands) - 1;
}
static inline int xc_write_at(const xc_graph *g, const xc_node *n) {
  return g->machine->instruction[n->what].result - 1;
}
/* 1 if the result of `from` reaches read[i] of `to` a cycle early. */
int xc_bypassed(const xc_graph *, const xc_node *from, const xc_node *to, int i);

#endif
