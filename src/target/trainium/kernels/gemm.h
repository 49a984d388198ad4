/* gemm.h - schedules of gemm on Trainium: their language, menu, model, and the NKI source that they become. */
#ifndef TW_TRAINIUM_KERNELS_GEMM_H
#define TW_TRAINIUM_KERNELS_GEMM_H

#include "target/trainium/config.h"
#include "tilewright/menu.h"
#include "tilewright/op.h"

extern const tw_language trn_gemm_language;

tw_status trn_gemm_steps(const trn_config *, const tw_problem *, const tw_schedule *, tw_menu *out, tw_error *);
tw_status trn_gemm_emit(const trn_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
/* Seconds. */
tw_status trn_gemm_predict(const trn_config *, const tw_problem *, const tw_schedule *, double *cost, tw_error *);

#endif
