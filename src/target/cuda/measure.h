/* measure.h - tw_target.build, check, measure and release, and tw_family.bound, of GPUs. */
#ifndef TW_CUDA_MEASURE_H
#define TW_CUDA_MEASURE_H

#include "target/cuda/config.h"
#include "tilewright/extend/target.h"

const cuda_config *cuda_config_of(const tw_target *); /* target.c */

tw_status cuda_artefact(const tw_target *, const tw_problem *, const char *source, size_t length, tw_evaluation *,
                        tw_artefact **, tw_error *);
tw_status cuda_check(const tw_target *, tw_artefact *, const tw_case *, tw_evaluation *, tw_error *);
tw_status cuda_measure(const tw_target *, tw_artefact *, const tw_case *, tw_evaluation *, tw_measurement *,
                       tw_error *);
void cuda_release(tw_artefact *);
tw_status cuda_bound_on(const cuda_config *, const tw_problem *, tw_bound *, tw_error *);
tw_status cuda_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

#endif
