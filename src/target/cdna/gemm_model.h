/* gemm_model.h - predicts a GEMM of tiles without running it, well enough to rank the steps of a menu. */
#ifndef TW_CDNA_GEMM_MODEL_H
#define TW_CDNA_GEMM_MODEL_H

#include "gpu/amd/gemm_block_scaled.h"
#include "gpu/amd/gemm_multistage.h"
#include "op/gemm_problem.h"
#include "target/cdna/machine.h"

/* Seconds. */
double cdna_gemm_seconds(const cdna_machine *, cdna_arch, const tw_gemm *, const tw_tile_multistage_plan *);

double cdna_mx_seconds(const cdna_machine *, const tw_gemm *, const tw_tile_block_scaled_plan *);

#endif
