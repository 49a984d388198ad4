/* resources.h - the resources of a compiled kernel, from the compiler's log and from the cubin. */
#ifndef TW_CUDA_RESOURCES_H
#define TW_CUDA_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/status.h"

typedef struct cuda_resources {
  int registers, stack, spill_stores, spill_loads, shared, barriers; /* per thread, per block; bytes */
  /* 1: ptxas serialized wgmma (warnings C7510, C7511, C7514, C7515); no kernel should be built like this */
  int wgmma_serialized;
  int setmaxnreg_ignored; /* 1: C7508 */
} cuda_resources;

/* Reads the output of ptxas -v about the function `kernel`. False if the output does not mention it. */
bool cuda_resources_read(const char *log, const char *kernel, cuda_resources *out);

/* TW_FAILED if the cubin has no function `kernel`, or device variables in which a kernel could keep results from
 * launch to launch. A few constants are fine: NVRTC gives each `constexpr int` of a source a place among them. */
enum { CUDA_VARIABLES_MAX = 4096 };
tw_status cuda_cubin_check(const char *cubin, size_t bytes, const char *kernel, tw_error *);

#endif
