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
  int depth_unit;     /* blocks along the depth that belong together */
  int sum_bytes;      /* bytes of an element of an accumulator */
  int temporaries;    /* accumulators in addition to the chains */
  int constants;      /* vectors */
  int pairs, singles; /* temporary vectors for blocks of A and B, if they have sets of registers */
  bool fifos;         /* blocks come through the load FIFOs */
  /* products of elements in a multiplication of blocks, one for each element of depth; 0: whole blocks are
   * multiplied */
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
  int popped[2];                            /* pops since the last fill of each load FIFO, modulo pops_per_fill */
  int pushed;                               /* pushes since the last flush */
  int cluster, turn;                        /* number of clusters so far; number of steps of depth in all of them */
  int sets;                                 /* alternating sets of registers for blocks of A and B; 0: any registers */
  int pin_a, pin_b, pin_pairs, pin_singles; /* with sets: the first register of each */
} xc_builder;

/* With sets: assigns their registers, pairs first. False if there are too few registers. */
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

/* Unpacks 256 codes of B to the operands of the kernel (int8, or int4 for XD_CORE_I8_I4); the vectors of constants
 * that this needs. */
void xc_add_unpacking(xc_builder *);
int xc_unpacking_constants(xd_core_mac);

/* ---- FIFOs ---- */

void xc_seek(xc_builder *, char role, int fifo);
/* Loads one block into `value`, with a fill before it if one is due. */
void xc_pop(xc_builder *, char role, int fifo, int bank, int value, int row, int column, int step);
void xc_push(xc_builder *, char role, int value, int bank, int row, int column);
void xc_flush(xc_builder *);

/* ---- plain instructions ---- */

void xc_load(xc_builder *, const char *instruction, char role, int bank, int value, unsigned parts, int row, int column,
             int step);
/* Moves all of `from` to all of `to`. */
void xc_move(xc_builder *, const char *instruction, char role, int to, int from, int row, int column, int step);
void xc_store(xc_builder *, const char *instruction, char role, int bank, int value, unsigned parts, int row,
              int column);

/* Determines parts and edges; frees the graph on failure. */
tw_status xc_finish(xc_graph *, tw_error *);

#endif
