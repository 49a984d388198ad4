/* verdict.h - why a confined process ended, in one line. */
#ifndef TW_X86_VERDICT_H
#define TW_X86_VERDICT_H

#include "target/x86/runner/arena.h"

/* `status` is waitpid's; `limit` is not 0 if the process was killed after so many seconds. Never TW_OK. */
tw_status x86_verdict(const arena_orders *, const arena_results *, int status, double limit, tw_error *);

#endif
