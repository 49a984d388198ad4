/* core.h - how long a micro-kernel takes on an AIE2P core: the interface of the instruction scheduler.
 *
 * A kernel call computes C (m x n) += A (m x k) * B (k x n) on tiles in L1. It goes cluster by cluster: cluster[0] x
 * cluster[1] accumulators are loaded from C, accumulate over all of k, and are stored. The schedule is made for the
 * machine of configs/aie2p.core.txt, its registers are allocated, and a checker replays it; only then has it a
 * result. */
#ifndef TW_XDNA2_CORE_CORE_H
#define TW_XDNA2_CORE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "tilewright/status.h"

/* The size of one multiply-accumulate, r x s x t: rows of A, depth, columns of B. */
typedef enum xd_core_mac {
  XD_CORE_I8,    /* 8x8x8, int8 x int8 */
  XD_CORE_I8_I4, /* 4x16x16, int8 x int4 */
  /* 8x8x8, int8 x codes of 2 bits, converted to int8 between load and multiplication; k in units of 32 */
  XD_CORE_I8_I2,
  XD_CORE_I16,   /* 4x4x8, int16 x int16, sums of 64 bits */
  XD_CORE_BFP16, /* 8x8x8, bfp16ebs8 on both sides */
  XD_CORE_BF16,  /* 8x8x8, bf16 on both sides in memory, converted to bfp16 after the load, as AIE API emulates it */
  XD_CORE_BF16_LANES, /* 4x8x8, bf16, exact: 32 products of elements at a time, as AIE API does without emulation */
  XD_CORE_MACS
} xd_core_mac;

/* The layout of C in L1, which decides the cost of loads and stores of an accumulator. */
typedef enum xd_core_form {
  XD_CORE_C_32, /* i32 or f32 */
  XD_CORE_C_I16,
  XD_CORE_C_I8,
  XD_CORE_C_BF16,
  XD_CORE_C_BFP16,
  XD_CORE_FORMS
} xd_core_form;

/* How clusters follow each other. */
typedef enum xd_core_way {
  XD_CORE_IN_TURN,   /* one after another: list scheduling of one cluster */
  XD_CORE_UNROLLED,  /* `unroll` clusters in straight-line code, on the same registers, list-scheduled together */
  XD_CORE_PIPELINED, /* overlapped by modulo scheduling */
  XD_CORE_WAYS
} xd_core_way;

typedef struct xd_core_kernel {
  xd_core_mac mac;
  xd_core_form c;
  int m, k, n; /* sizes of one call: with asymmetric buffering, m is T_MC / rho */
  int cluster[2];
  xd_core_way way;
  int unroll;     /* for XD_CORE_UNROLLED: at least 1; any number of clusters, the remainder is scheduled separately */
  bool convert_a; /* XD_CORE_BFP16: A arrives as bf16 and is first converted into a scratch buffer */
  /* XD_CORE_I8, XD_CORE_I8_I4: every cluster also unpacks a vector of 256 codes of 2 bits of the next tile of B, into
   * a second buffer */
  bool unpack;
  bool shuffle_b; /* blocks of B are by columns, as a column-major B has them: transposed after the load if need be */
  int bank[3];    /* banks of A, B and C; -1: any, without conflicts. A scratch of A is in none of them */
} xd_core_kernel;

typedef struct xd_core_result {
  /* cycles of the call: conversion and all clusters; not the call itself, locks or stalls by DMA */
  double cycles;
  double efficiency;   /* multiply-accumulates of the problem divided by cycles, at 1 VMAC per cycle */
  int clusters, vmacs; /* VMACs of one cluster */
  /* cycles of all clusters: before the first VMAC, until the last, after it; without conversion */
  int prologue, steady, epilogue;
  int ii; /* cycles from one cluster to the next (of an unrolled block: L / unroll, rounded up) */
  int resource_ii, recurrence_ii; /* lower bounds of ii: by slots, ports and banks; by dependences and FIFOs */
  int length;                     /* bundles from the first to the last instruction of one iteration */
  int code_bytes;                 /* prologue, loop and epilogue */
  int copies;                     /* copies of the loop by modulo variable expansion; 1 in straight-line code */
  int vectors, accumulators;      /* registers used */
  double convert_cycles;          /* conversion of A; 0 if it needs none */
  int convert_ii;                 /* for eight blocks of 64 elements */
} xd_core_result;

/* A kernel with the usual cluster 2x2, one buffer a bank. */
xd_core_kernel xd_core_kernel_of(xd_core_mac, xd_core_form, int m, int k, int n);

/* Schedules and checks. TW_USAGE in one line: sizes that do not divide, a kernel whose values do not fit into the
 * registers (nothing is spilled), code beyond the program memory. TW_FAILED: the checker refused the schedule, which
 * is an error of the scheduler. Pure; any thread; microseconds to a second. */
tw_status xd_core_schedule(const xd_core_kernel *, xd_core_result *out, tw_error *);

/* The time of a call is linear in its clusters: the same loop has more iterations. A pace is scheduled once, for all m
 * and n. */
typedef struct xd_core_loop {
  int ii, length; /* cycles from one iteration to the next, and of one */
} xd_core_loop;
typedef struct xd_core_pace {
  int each; /* clusters of one iteration of `block` */
  /* cycles of this number of clusters, of one, of eight blocks of A (0 if it needs none) */
  xd_core_loop block, cluster, convert;
  int code_bytes;
} xd_core_pace;

/* As xd_core_schedule, but m and n only decide whether there are enough clusters for the unrolling. */
tw_status xd_core_pace_of(const xd_core_kernel *, xd_core_pace *out, tw_error *);
/* Cycles of a call of m x k x n: the result of xd_core_schedule. */
double xd_core_pace_cycles(const xd_core_pace *, const xd_core_kernel *);

/* The cycles of xd_core_schedule, for frequent callers: paces are kept until the process ends (memo.c). */
tw_status xd_core_cycles(const xd_core_kernel *, double *cycles, tw_error *);

/* Loops that go once over a buffer in L1. */
typedef enum xd_core_pass {
  XD_PASS_UNPACK_I8, /* 2-bit codes to int8, or to int4, in a separate buffer; counted in codes */
  XD_PASS_UNPACK_I4,
  XD_PASS_UNPACK_BFP16, /* 4-bit codes times scales of bf16, to bfp16; counted in codes */
  XD_PASS_CLEAR,        /* counted in bytes */
  XD_PASS_NARROW_I16,   /* sums of 32 bits shifted, rounded, saturated; counted in elements */
  XD_PASS_NARROW_I8,
  XD_PASS_NARROW_BF16, /* sums of f32 rounded */
  XD_PASS_ROUND_BFP16, /* bf16 to bfp16, blocks of 64 in separate streams, as in kernel.cc; in elements */
  XD_PASSES
} xd_core_pass;

/* Cycles for `count` of the pass's units, whole iterations of its loop (256 codes, 64 other elements). Each pass is
 * scheduled once, by modulo scheduling; any thread. Errors as above. */
tw_status xd_core_pass_cycles(xd_core_pass, int64_t count, double *cycles, tw_error *);

/* Cycles of a call that unpacks the next tile of B, of the same k and n, beside its products: one vector of codes with
 * each cluster, what remains in a pass of its own. k->unpack is set here. Errors as xd_core_schedule. */
tw_status xd_core_hidden_cycles(const xd_core_kernel *k, double *cycles, tw_error *);

/* One iteration as a table of slots by cycle, or as a picture (SVG); *out is malloc'ed. */
tw_status xd_core_print(const xd_core_kernel *, char **out, tw_error *);
tw_status xd_core_draw(const xd_core_kernel *, char **out, tw_error *);

/* Shape of a multiply-accumulate: {r, s, t}. */
const int *xd_core_shape(xd_core_mac);

/* Words for options and output: "in-turn", "unrolled", "pipelined"; NULL past the last. False: not such a word. */
const char *xd_core_way_name(xd_core_way);
bool xd_core_parse_way(const char *, xd_core_way *out);

#endif
