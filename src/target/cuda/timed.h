/* timed.h - the inputs of timed launches, and the check of the outputs of each. */
#ifndef TW_CUDA_TIMED_H
#define TW_CUDA_TIMED_H

#include "base/random.h"
#include "target/cuda/inputs.h"

typedef struct cuda_timed {
  cuda_command command;
  uint32_t fresh; /* the first launch with inputs that no earlier launch had */
  size_t operand[CUDA_PIECES];
  int64_t columns[CUDA_PIECES];                /* adjacent elements of a piece */
  tw_place place[CUDA_TIMED_MAX][CUDA_PIECES]; /* of its first */
} cuda_timed;

/* Draws sets, rotations and places at random for n launches. All sets except the last have been used before. */
void cuda_timed_draw(const cuda_inputs *, tw_random *, uint32_t n, cuda_timed *out);
/* Are the pieces that the launches kept right? `pieces` has the form of cuda_results. */
tw_status cuda_timed_check(const cuda_inputs *, const cuda_timed *,
                           const char pieces[CUDA_TIMED_MAX][CUDA_PIECES][CUDA_PIECE_BYTES], int threads, tw_error *);
/* Are the outputs of launch `command.whole` right? */
tw_status cuda_timed_check_whole(const cuda_inputs *, const cuda_timed *, void *const actual[], const tw_effort *,
                                 tw_coverage *, tw_error *);

#endif
