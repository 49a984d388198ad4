/* gemm_epilogue.h - from a sum to an element of C: the part of a GEMM kernel's text that does not depend on how its tiles are
 * scheduled. kernels/gemm_result.cuh.in defines `result`, a function object in the words of docs/reference/tile-library.md; its fields follow
 * row, col, m, n.
 *
 * gpu/amd/kernels/gemm_add_parts.hip.in is a kernel that runs after blocks that share a tile's k: SPLIT matrices of sums, m x n, begin at the slot
 * `parts_at` of the workspace; it adds them in their order, a thread for each element of C. */
#ifndef TW_TILE_GEMM_EPILOGUE_H
#define TW_TILE_GEMM_EPILOGUE_H

#include "base/template.h"
#include "gpu/common/machine.h"
#include "op/gemm_problem.h"

/* The slots of these files, and of kernels: `result_parameters`, `result_names` and `result_arguments` are the values that `result`
 * needs in addition to row, col, m and n: as the kernel's parameters, as their names, and as arguments of a launch, each after a comma. `result` has no scales if the kernel applies the problem's scales itself. */
void tw_tile_result_slots(tw_slots *, const tw_gemm *problem, const tw_gemm *result);

#endif
