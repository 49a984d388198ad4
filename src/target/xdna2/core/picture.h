/* picture.h - labels of instructions in tables and pictures of a schedule. */
#ifndef TW_XDNA2_CORE_PICTURE_H
#define TW_XDNA2_CORE_PICTURE_H

#include "target/xdna2/core/plan.h"

enum { XC_LABEL = 48 };

/* "vld.pop A1.3 >x5", "vmac.f C01.3 >d2", "vst.conv C01 <d2": the instruction, the block (row, column, depth) and the
 * register, in iteration 0. */
void xc_label(const xc_loop *, int node, char out[XC_LABEL]);

/* One line that describes the schedule: sizes, way, cycles. */
void xc_headline(const xd_core_kernel *, const xc_loop *, int clusters, char *out, size_t size);

#endif
