/* design.h - one way to run a GEMM on the array: a kernel, tiles, asymmetry; its buffers in L1 and L2.
 *
 * Words of the command line choose it. A word with blanks is a step of a schedule (array/plan.h), "tile m=128 k=64
 * n=128 rho=4"; steps are applied in order. Keys: core_tflops=0.95 (a measured rate of one core, instead of the
 * model's); for the core's scheduler, way= (the order of clusters). tile=128x64x128 (T_MC x T_K x T_N), rho=4,
 * kernel=NAME, depth=4, unroll=4 and cluster=4x1 are old names of steps. */
#ifndef TW_XDNA2_DESIGN_H
#define TW_XDNA2_DESIGN_H

#include "target/xdna2/config.h"
#include "tilewright/extend/target.h"

typedef struct xd_design {
  const xd_kernel *kernel;
  tw_tile tile;       /* of one core */
  int depth;          /* steps of K that a tile of A in L2 holds; 0: one */
  int copies[3];      /* copies of A, B and C in L1; 0: the kernel's number */
  double core_tflops; /* 0: the model's */
  bool way_given;
  xd_core_way way;
  int unroll;     /* 0: the kernel's */
  int cluster[2]; /* 0: the kernel's */
  bool b_transposed;
} xd_design;

extern const char *const xd_design_keys[]; /* ended by NULL */

/* The first kernel with these types; TW_TYPE_NONE matches any. NULL if none has them. `name` may be NULL. */
const xd_kernel *xd_find_kernel(const xd_config *machine, const char *name, tw_type a, tw_type b, tw_type c,
                                tw_type acc);

/* Multiply-accumulates a cycle of the fastest kernel of the same types: a core's peak for them. */
double xd_peak_macs(const xd_config *, const xd_kernel *);

/* TW_USAGE with the error and the expected value: no tile, not the kernel's multiples, rho that does not divide. */
tw_status xd_design_parse(const xd_config *, const tw_problem *, size_t n_words, const char *const words[],
                          xd_design *out, tw_error *);

/* Bytes of one element as stored in memory: 9/8 for bfp16. */
double xd_type_bytes(tw_type);
/* Bytes of an element of A, B and C for the kernel. */
tw_element_bytes xd_element_bytes(const xd_kernel *);
/* Bytes of an element as the paper counts them for intensities (section 3.1): 1.25 for bfp16. */
tw_element_bytes xd_paper_bytes(const xd_config *, const xd_kernel *);

/* Bytes of all buffers of one core: equation 3 with the kernel's copies, and the scratch and staging that equation 3
 * lacks. */
double xd_l1_bytes(const xd_design *);

/* Fills in buffers, memories and whether they fit. */
void xd_design_buffers(const xd_config *, const xd_design *, tw_explanation *out);

#endif
