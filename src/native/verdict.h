/* verdict.h - why a confined process ended, in one line. */
#ifndef TW_NATIVE_VERDICT_H
#define TW_NATIVE_VERDICT_H

#include "native/arena.h"

/* `status` is waitpid's; `limit` is not 0 if the process was killed after this many seconds. Never TW_OK. */
tw_status tw_sandbox_verdict(const tw_arena_orders *, const tw_arena_results *, int status, double limit, tw_error *);

#endif
