/* start.h - a kernel's launch in the driver's form: for the process that times kernels, and for programs that call
 * them. */
#ifndef TW_CUDA_START_H
#define TW_CUDA_START_H

#include "launch/launch.h"
#include "target/cuda/driver.h"

/* The map's CUtensorMapDataType; how often `bytes` can be halved until it is below `first`. */
int cuda_map_type(const tw_launch_map *);
int cuda_log(int bytes, int first);

/* Storage for the arguments of one kernel. */
typedef struct cuda_arguments {
  _Alignas(64) char value[TW_LAUNCH_ARGUMENTS][sizeof(CUtensorMap)];
  void *at[TW_LAUNCH_ARGUMENTS];
} cuda_arguments;

/* Fills in the arguments. Tensor maps are encoded for the addresses of the operands. On failure *map is the map that
 * the driver rejects. */
CUresult cuda_make_arguments(const cuda_driver *, const tw_launch *, size_t kernel, const CUdeviceptr operand[],
                             CUdeviceptr workspace, cuda_arguments *, uint32_t *map);
enum { CUDA_ATTRIBUTES = 2 };
/* The launch's numbers, with storage for its attributes. `early`: a launch with `overlap` may begin before the
 * previous work of the stream has ended (PDL). */
CUlaunchConfig cuda_make_config(const tw_launch_kernel *, CUstream, bool early, CUlaunchAttribute[CUDA_ATTRIBUTES]);
/* Sets the attributes that a function needs before this launch. */
CUresult cuda_allow(const cuda_driver *, const tw_launch_kernel *, CUfunction);

#endif
