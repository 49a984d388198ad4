/* tiles.h - kernels of src/gpu on NVIDIA GPUs from Ampere on: schedules with steps, and their predicted cost. */
#ifndef TW_CUDA_TILES_H
#define TW_CUDA_TILES_H

#include "gpu/common/machine.h"
#include "target/cuda/config.h"
#include "tilewright/extend/menu.h"
#include "tilewright/extend/op.h"

/* The traits of a machine. `header` is NULL on machines that cannot use the vocabulary (before sm_80). */
tw_tile_machine cuda_tile_machine(const cuda_config *);

tw_status cuda_tiles_emit(const cuda_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
/* The plainest schedule of an op that has tile kernels but no kernel for the empty schedule. */
tw_status cuda_tiles_plainest(const cuda_config *, const tw_problem *, tw_schedule *, tw_error *);
/* The possible next steps. None, without an error, if the op or the machine has none. */
tw_status cuda_tiles_steps(const cuda_config *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
/* The steps that may follow; NULL if there are none. */
const tw_language *cuda_tiles_language_of(const cuda_config *, const tw_problem *, const tw_schedule *);
/* Seconds. */
tw_status cuda_tiles_predict(const cuda_config *, const tw_problem *, const tw_schedule *, double *cost, tw_error *);

/* The language of each kind of kernel, by position; NULL past the last. */
const tw_language *cuda_tiles_language(size_t index);

#endif
