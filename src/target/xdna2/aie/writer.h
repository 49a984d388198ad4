/* writer.h - for the files that write kernel.cc: each function of the simulator has one that writes its C++. */
#ifndef TW_XDNA2_AIE_WRITER_H
#define TW_XDNA2_AIE_WRITER_H

#include "base/strings.h"
#include "target/xdna2/array/program.h"

/* matmul.c: the micro-kernel with the call's cover, and the loops over its clusters. */
void xd_write_matmul(const xd_call *, tw_text *);

/* passes.c: what goes once over a buffer. */
void xd_write_zero(const xd_call *, tw_text *);
void xd_write_narrow(const xd_call *, tw_text *);
void xd_write_round(const xd_call *, tw_text *);
void xd_write_unpack(const xd_call *, tw_text *);

/* The statement that sets how conversions round, two blanks in front. */
void xd_write_rounding(const xd_call *, tw_text *);

#endif
