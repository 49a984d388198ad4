/* models.h - the cost models of tile kernels: seconds of a launch for a settled plan, well enough to rank schedules.
 * gemm_model.h has GEMM's. */
#ifndef TW_CDNA_MODELS_H
#define TW_CDNA_MODELS_H

#include "gpu/common/family.h"
#include "target/cdna/machine.h"

/* The first argument of each model. */
typedef struct cdna_model {
  const cdna_machine *machine;
  const tw_problem *problem;
} cdna_model;

/* Each operand passes through memory at least once. */
double cdna_pass_seconds(const cdna_model *); /* rows_model.c */

tw_tile_predictor cdna_predict_rows;                                       /* rows_model.c */
tw_tile_predictor cdna_predict_attention, cdna_predict_attention_backward; /* attention_model.c */

#endif
