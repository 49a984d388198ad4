/* inputs.h - sets of inputs of a problem, in files that processes with a device map, and the expected results for each.
 *
 * Set 0 is a copy of the case; further sets are drawn from their own seeds. They are made once for all kernels of a
 * search: a few problems are kept. Expected results stay in this process: computed completely, or, for ops with exact single
 * elements, at places that are chosen after the kernel ran (tw_case_check). */
#ifndef TW_CUDA_INPUTS_H
#define TW_CUDA_INPUTS_H

#include "target/cuda/runner/protocol.h"
#include "tilewright/extend/op.h"

/* Sets of a check and of a measurement. CUDA_FILES_HIGH: our descriptors are above other processes' descriptors. */
enum { CUDA_CHECKED_SETS = 2, CUDA_INPUT_SETS = 3, CUDA_FILES_HIGH = 20 };

typedef struct cuda_inputs {
  uint64_t id; /* no others have it */
  tw_problem problem;
  uint64_t seed;
  size_t n_operands;
  tw_operand operand[TW_OPERANDS_MAX];
  uint64_t at[TW_OPERANDS_MAX]; /* in the files */
  int n_sets;
  int file[CUDA_INPUT_SETS];
  tw_case set[CUDA_INPUT_SETS];
  int users;
} cuda_inputs;

/* Inputs with at least `n_sets` sets. */
tw_status cuda_inputs_take(const tw_case *, int n_sets, cuda_inputs **out, tw_error *);
void cuda_inputs_give_back(cuda_inputs *);

/* Multiply-adds of a comparison, for ops with exact single elements: for a search's measurements, which need many
 * comparisons per second; for its result, or on request. */
#define CUDA_GLANCE 5e7
#define CUDA_LOOK 1e9

/* Are the operands (as the kernel left them) right for a set? Where an input is NULL, it is not looked at. `buffer`:
 * the set's, or with other inputs in their place. */
tw_status cuda_inputs_check(const cuda_inputs *, uint32_t set, void *const buffer[], void *const actual[],
                            const tw_effort *, tw_coverage *, tw_error *);

#endif
