/* gemm_model.h - predicts a GEMM of tiles without running it, well enough to rank the steps of a menu. */
#ifndef TW_CDNA_GEMM_MODEL_H
#define TW_CDNA_GEMM_MODEL_H

#include "op/gemm_problem.h"
#include "target/cdna/machine.h"
#include "tile/gemm_block_scaled.h"
#include "tile/gemm_multistage.h"

/* Seconds. */
double cdna_gemm_seconds(const cdna_machine *, cdna_arch, const tw_gemm *, const tw_tile_multistage_plan *);

double cdna_mx_seconds(const cdna_machine *, const tw_gemm *, const tw_tile_block_scaled_plan *);

#endif
