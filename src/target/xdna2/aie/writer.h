/* writer.h - for the files that write kernel.cc: for each function of the simulator, a function that writes its C++. */
#ifndef TW_XDNA2_AIE_WRITER_H
#define TW_XDNA2_AIE_WRITER_H

#include "base/template.h"
#include "target/xdna2/array/program.h"

/* matmul.c: the micro-kernel with the call's cover, and the loops over its clusters. */
tw_status xd_write_matmul(const xd_call *, tw_text *, tw_error *);

/* passes.c: functions that pass once over a buffer. */
tw_status xd_write_zero(const xd_call *, tw_text *, tw_error *);
tw_status xd_write_narrow(const xd_call *, tw_text *, tw_error *);
tw_status xd_write_round(const xd_call *, tw_text *, tw_error *);
tw_status xd_write_unpack(const xd_call *, tw_text *, tw_error *);

/* The AIE API's name for the rounding of conversions. */
const char *xd_rounding_name(const xd_call *);

#endif
