/* builder.h - shared by the files that make graphs of micro-kernels: the graph under construction, FIFOs, registers of
 * inputs. */
#ifndef TW_XDNA2_CORE_BUILDER_H
#define TW_XDNA2_CORE_BUILDER_H

#include "target/xdna2/core/gemm_core.h"

/* The differences between multiply-accumulates. */
typedef struct xc_mac {
  const char *instruction;
  int shape[3];       /* r, s, t */
  int issues;         /* instructions of one multiplication of blocks */
  int b_width;        /* vectors of a block of B */
  int depth_unit;     /* blocks of depth that belong together */
  int sum_bytes;      /* of an element of an accumulator */
  int temporaries;    /* accumulators besides the chains */
  int constants;      /* vectors */
  int pairs, singles; /* vectors on the way to blocks of A and B, with sets of registers */
  bool fifos;         /* blocks come through the load FIFOs */
  /* a multiplication of blocks is this number of products of elements, one for each element of depth; 0: of whole
   * blocks */
  int lanes;
} xc_mac;
extern const xc_mac xc_macs[XD_CORE_MACS];

enum { XC_ALL_PARTS = ~0u, XC_FIFO_A = 0, XC_FIFO_B = 1 };

typedef struct xc_builder {
  xc_graph *g;
  const xd_core_kernel *kernel;
  const xc_mac *mac;
  int bank_a, bank_b, bank_c, store_fifo;
  bool pinned;                              /* chain i accumulates in register i */
  int popped[2];                            /* since the last fill, of each load FIFO, modulo pops_per_fill */
  int pushed;                               /* since the last flush */
  int cluster, turn;                        /* clusters so far; steps of depth of all of them */
  int sets;                                 /* alternating sets of registers for blocks of A and B; 0: any registers */
  int pin_a, pin_b, pin_pairs, pin_singles; /* with sets: the first register of each */
} xc_builder;

/* With sets: lays them out, pairs first. False if there are too few registers. */
bool xc_lay_out_sets(xc_builder *);

/* The block of A of a row of the cluster, and of B of a column, at a step of depth: the value that holds it.
 * `packed` keeps, by column, the vector of 2-bit codes that four steps share. */
int xc_a_block(xc_builder *, int row, int step);
int xc_b_block(xc_builder *, int packed[], int column, int step);
int xc_unpacked_block(xc_builder *, int *packed, int column, int step);
/* For `lanes`: a block of A by columns; one of its columns, repeated for each column of C; a row of a block of B,
 * repeated for each row of C. */
int xc_turned_a(xc_builder *, int block, int row, int step);
int xc_column_of_a(xc_builder *, int turned, int row, int step);
int xc_row_of_b(xc_builder *, int block, int element, int column, int step);

/* ---- FIFOs ---- */

void xc_seek(xc_builder *, char role, int fifo);
/* One block into `value`, with a fill before it where one is due. */
void xc_pop(xc_builder *, char role, int fifo, int bank, int value, int row, int column, int step);
void xc_push(xc_builder *, char role, int value, int bank, int row, int column);
void xc_flush(xc_builder *);

/* ---- plain instructions ---- */

void xc_load(xc_builder *, const char *instruction, char role, int bank, int value, unsigned parts, int row, int column,
             int step);
/* `to`, all of it, from all of `from`. */
void xc_move(xc_builder *, const char *instruction, char role, int to, int from, int row, int column, int step);
void xc_store(xc_builder *, const char *instruction, char role, int bank, int value, unsigned parts, int row,
              int column);
/* An accumulator after the chains. */
int xc_temporary(xc_builder *);

/* Settles parts, makes the edges; frees the graph on failure. */
tw_status xc_finish(xc_graph *, tw_error *);

#endif
