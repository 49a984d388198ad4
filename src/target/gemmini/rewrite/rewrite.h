/* rewrite.h - a user's program as the start of a search: the functions of its tw_rewriter. */
#ifndef TW_GEMMINI_REWRITE_REWRITE_H
#define TW_GEMMINI_REWRITE_REWRITE_H

#include "tilewright/extend/target.h"

tw_status gm_study(const tw_target *, const tw_problem *, const char *source, size_t length, bool trust, uint64_t seed,
                   int jobs, const tw_stop *, tw_program **out, tw_error *);
tw_status gm_diagnose_program(const tw_program *, int jobs, tw_diagnosis *, tw_error *);
tw_status gm_rewrites(const tw_program *, const tw_schedule *, tw_menu *out, tw_error *);
tw_status gm_rewrite(const tw_program *, const tw_schedule *, char **source, tw_error *);
void gm_forget(tw_program *);

#endif
