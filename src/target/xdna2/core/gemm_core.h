/* gemm_core.h - the graphs of micro-kernels: clusters of accumulation chains, and conversions of A. */
#ifndef TW_XDNA2_CORE_GEMM_CORE_H
#define TW_XDNA2_CORE_GEMM_CORE_H

#include "target/xdna2/core/core.h"
#include "target/xdna2/core/graph.h"

/* Refuses shapes that the kernel cannot have. */
tw_status xc_check_kernel(const xc_machine *, const xd_core_kernel *, tw_error *);

/* Which registers a graph may use. */
typedef struct xc_binding {
  bool pinned; /* chain i of every cluster accumulates in register i; else accumulators are free */
  /* blocks of A and B alternate between this number of sets of vectors (2: ping-pong); 0: vectors are free */
  int sets;
} xc_binding;

/* `clusters` successive clusters of a row of blocks, with edges. TW_USAGE if the sets do not fit into the registers. */
tw_status xc_cluster_graph(const xc_machine *, const xd_core_kernel *, int clusters, xc_binding, xc_graph *out,
                           tw_error *);

/* Eight blocks of 8 x 8 from bf16 to bfp16; banks of the source and of the result. */
enum { XC_CONVERT_BLOCKS = 8 };
tw_status xc_to_bfp16_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);

/* Four blocks of 8 x 8 codes of 2 bits, side by side in the bytes of one vector, to int8 in memory. */
enum { XC_UNPACK_BLOCKS = 4 };
tw_status xc_unpack_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
/* The 256 codes of one vector to int4 in memory; the odd ones make up for a borrow (array/pack.h). */
tw_status xc_unpack_i4_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
/* Two blocks of 8 x 8 codes of 4 bits, which share their scales, to bfp16 in memory, through separate streams. */
enum { XC_SCALED_BLOCKS = 2 };
tw_status xc_unpack_bfp16_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
/* One vector of zeros; a block of 64 sums narrowed; one of bf16 rounded, through a separate stream. */
tw_status xc_clear_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
tw_status xc_narrow_i16_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
tw_status xc_narrow_bf16_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
tw_status xc_narrow_i8_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);
tw_status xc_round_bfp16_graph(const xc_machine *, const int bank[2], xc_graph *out, tw_error *);

#endif
