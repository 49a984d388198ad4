/* gemm_model.h - what a GEMM of tiles should take on a GPU: good for an order among schedules. */
#ifndef TW_CUDA_GEMM_MODEL_H
#define TW_CUDA_GEMM_MODEL_H

#include "op/gemm_problem.h"
#include "target/cuda/config.h"
#include "tile/gemm_mma_sync.h"
#include "tile/gemm_warp_specialized.h"

/* Seconds of a launch, without what the host takes for it. */
double cuda_gemm_seconds(const cuda_config *, const tw_gemm *, const tw_tile_gemm_plan *);
/* Operations of a multiprocessor in a cycle by mma.sync. */
double cuda_mma_sync_rate(const cuda_config *, tw_type);
double cuda_gemm_mma_seconds(const cuda_config *, const tw_gemm *, const tw_tile_gemm_mma_plan *);

#endif
