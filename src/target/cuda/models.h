/* models.h - the cost models of tile kernels: seconds of a launch for a settled plan, well enough to rank schedules.
 * A file for each group of kernels; gemm_model.h has GEMM's. */
#ifndef TW_CUDA_MODELS_H
#define TW_CUDA_MODELS_H

#include <math.h>

#include "gpu/common/family.h"
#include "target/cuda/config.h"

/* The first argument of each model. */
typedef struct cuda_model {
  const cuda_config *config;
  const tw_problem *problem;
} cuda_model;

/* Bytes per cycle from the L2 to one multiprocessor, and to all: from DeepGEMM's model (its heuristics for sm90). */
#define CUDA_L2_BYTES 64.0
#define CUDA_L2_BYTES_ALL 6154.0
/* Latency of DRAM in cycles at the start of a kernel: arXiv 2402.13499. */
#define CUDA_DRAM_LATENCY 479.0

static inline double cuda_ceil_div(double a, double b) { return ceil(a / b); }

tw_tile_predictor cuda_predict_skinny, cuda_predict_sliced_k, cuda_predict_swap_ab; /* skinny_model.c */
tw_tile_predictor cuda_predict_rows, cuda_predict_rows_split, cuda_predict_reduce, cuda_predict_pool; /* rows_model.c */
tw_tile_predictor cuda_predict_attention, cuda_predict_attention_backward; /* attention_model.c */
tw_tile_predictor cuda_predict_attention_mma, cuda_predict_attention_mma_backward, cuda_predict_attention_decode;
tw_tile_predictor cuda_predict_conv; /* conv_model.c */

#endif
