/* expand.h - hardware loops as the commands that they issue. */
#ifndef TW_GEMMINI_REWRITE_EXPAND_H
#define TW_GEMMINI_REWRITE_EXPAND_H

#include "target/gemmini/rewrite/stream.h"

/* Does the stream use a hardware loop? */
bool gm_has_hardware_loops(const gm_stream *);

/* Replaces each hardware loop by its commands, in the order in which the machine's own loop units (loop_ws.h,
 * loop_conv.h) send them without obstacles. The reservation station treats them in program order like the core's
 * commands. So every order of the units' commands has the same result. */
tw_status gm_expand_loops(gm_stream *, tw_error *);

#endif
