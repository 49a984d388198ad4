/* gemm_model.h - predicts the time of a tile GEMM on a GPU, well enough to rank schedules. */
#ifndef TW_CUDA_GEMM_MODEL_H
#define TW_CUDA_GEMM_MODEL_H

#include "gpu/nvidia/gemm_mma_sync.h"
#include "gpu/nvidia/gemm_warp_specialized.h"
#include "op/gemm_problem.h"
#include "target/cuda/config.h"

/* Seconds of a launch, without the host's part. */
double cuda_gemm_seconds(const cuda_config *, const tw_gemm *, const tw_tile_gemm_plan *);
/* Operations per cycle of a multiprocessor with mma.sync. */
double cuda_mma_sync_rate(const cuda_config *, tw_type);
double cuda_gemm_mma_seconds(const cuda_config *, const tw_gemm *, const tw_tile_gemm_mma_plan *);

#endif
