/* gemmini_short.h - the short macros of the Autocomp problems (ucb-bar/autocomp, agents/gemmini/prompts).
 *
 * Arguments are those of the long names without what these problems never vary: no shift, no shrunk loads. */
#ifndef GEMMINI_SHORT_H
#define GEMMINI_SHORT_H

#ifndef SRC_MAIN_C_GEMMINI_H /* the public header, which has the long names, too: gemmini-rocc-tests/include/gemmini.h */
#include "gemmini.h"
#endif

#define config_ex(dataflow, act, A_stride, A_transpose, B_transpose) \
  gemmini_extended_config_ex(dataflow, act, 0, A_stride, A_transpose, B_transpose)
/* id 0, 1, 2 configures mvin, mvin2, mvin3. */
#define config_ld(stride, scale, block_stride, id) gemmini_extended4_config_ld(stride, scale, false, block_stride, id)
/* config_st(stride) or config_st(stride, scale). */
#define config_st(...) GEMMINI_SHORT_ST(__VA_ARGS__, ACC_SCALE_IDENTITY, )
#define GEMMINI_SHORT_ST(stride, scale, ...) gemmini_extended_config_st(stride, NO_ACTIVATION, scale)

#define mvin(dram, local, cols, rows) gemmini_extended_mvin(dram, local, cols, rows)
#define mvin2(dram, local, cols, rows) gemmini_extended_mvin2(dram, local, cols, rows)
#define mvin3(dram, local, cols, rows) gemmini_extended_mvin3(dram, local, cols, rows)
#define mvout(dram, local, cols, rows) gemmini_extended_mvout(dram, local, cols, rows)

#define preload(B, C, B_cols, B_rows, C_cols, C_rows) gemmini_extended_preload(B, C, B_cols, B_rows, C_cols, C_rows)
#define compute_preloaded(A, D, A_cols, A_rows, D_cols, D_rows) \
  gemmini_extended_compute_preloaded(A, D, A_cols, A_rows, D_cols, D_rows)
#define compute_accumulated(A, D, A_cols, A_rows, D_cols, D_rows) \
  gemmini_extended_compute_accumulated(A, D, A_cols, A_rows, D_cols, D_rows)

#define fence() gemmini_fence()

#endif
