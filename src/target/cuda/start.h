/* start.h - a kernel's launch as the driver takes it: for the process that times kernels, and for programs that call them. */
#ifndef TW_CUDA_START_H
#define TW_CUDA_START_H

#include "launch/launch.h"
#include "target/cuda/driver.h"

/* In the driver's numbers: CUtensorMapDataType, and how often `bytes` can be halved until it is below `first`. */
int cuda_map_type(const tw_launch_map *);
int cuda_log(int bytes, int first);

/* Room for the arguments of one kernel. */
typedef struct cuda_arguments {
  _Alignas(64) char value[TW_LAUNCH_ARGUMENTS][sizeof(CUtensorMap)];
  void *at[TW_LAUNCH_ARGUMENTS];
} cuda_arguments;

/* Fills it; maps are encoded for where the operands lie. On failure *map is the one that the driver refuses. */
CUresult cuda_make_arguments(const cuda_driver *, const tw_launch *, size_t kernel, const CUdeviceptr operand[],
                             CUdeviceptr workspace, cuda_arguments *, uint32_t *map);
enum { CUDA_ATTRIBUTES = 2 };
/* The launch's numbers, with room for its attributes. `early`: may it begin before what the stream has before it has ended,
 * where it says so itself? */
CUlaunchConfig cuda_make_config(const tw_launch_kernel *, CUstream, bool early, CUlaunchAttribute[CUDA_ATTRIBUTES]);
/* What a function has to be told before it can be started so. */
CUresult cuda_allow(const cuda_driver *, const tw_launch_kernel *, CUfunction);

#endif
