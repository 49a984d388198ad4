/* driver.h - the used part of CUDA's driver API, declared here: the build does not need CUDA, and libcuda.so.1 is
 * loaded at run time. Names, values and layouts follow cuda.h (CUDA 12 and 13; the functions with a version in their
 * name have kept that version since CUDA 4). */
#ifndef TW_CUDA_RUNNER_DRIVER_H
#define TW_CUDA_RUNNER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;

typedef struct CUtensorMap_st {
  _Alignas(64) uint64_t opaque[16];
} CUtensorMap;

enum { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6 };
typedef struct CUlaunchAttribute_st {
  int id;
  char pad[4];
  union {
    char all[64];
    unsigned cluster[3];
    int programmatic;
  } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig_st {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned n_attributes;
} CUlaunchConfig;

enum { /* CUdevice_attribute */
       CU_CLOCK_KHZ = 13,
       CU_SMS = 16,
       CU_ECC = 32,
       CU_MEMORY_CLOCK_KHZ = 36,
       CU_BUS_BITS = 37,
       CU_L2_BYTES = 38,
       CU_MAJOR = 75,
       CU_MINOR = 76,
       CU_PAGEABLE_ACCESS = 88,
       CU_SHARED_OPTIN = 97
};
enum { /* CUfunction_attribute */
       CU_FUNCTION_SHARED = 1,
       CU_FUNCTION_LOCAL = 3,
       CU_FUNCTION_REGISTERS = 4,
       CU_FUNCTION_DYNAMIC_SHARED = 8,
       CU_FUNCTION_ANY_CLUSTER = 14
};
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0 };

/* Every function that is used. Each returns a CUresult. */
#define CUDA_FUNCTIONS(F)                                                                                              \
  F(cuInit, (unsigned flags))                                                                                          \
  F(cuDriverGetVersion, (int *version))                                                                                \
  F(cuDeviceGetCount, (int *count))                                                                                    \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                                                     \
  F(cuDeviceGetName, (char *name, int length, CUdevice))                                                               \
  F(cuDeviceGetUuid_v2, (CUuuid *, CUdevice))                                                                          \
  F(cuDeviceGetAttribute, (int *value, int attribute, CUdevice))                                                       \
  F(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice))                                                                   \
  F(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                                                 \
  F(cuCtxGetCurrent, (CUcontext *))                                                                                    \
  F(cuCtxGetDevice, (CUdevice *))                                                                                      \
  F(cuCtxSetCurrent, (CUcontext))                                                                                      \
  F(cuGetErrorName, (CUresult, const char **name))                                                                     \
  F(cuGetErrorString, (CUresult, const char **text))                                                                   \
  F(cuModuleLoadData, (CUmodule *, const void *image))                                                                 \
  F(cuModuleUnload, (CUmodule))                                                                                        \
  F(cuModuleGetFunction, (CUfunction *, CUmodule, const char *name))                                                   \
  F(cuFuncSetAttribute, (CUfunction, int attribute, int value))                                                        \
  F(cuFuncGetAttribute, (int *value, int attribute, CUfunction))                                                       \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction, int threads, size_t shared))                \
  F(cuOccupancyMaxActiveClusters, (int *clusters, CUfunction, const CUlaunchConfig *))                                 \
  F(cuMemAlloc_v2, (CUdeviceptr *, size_t bytes))                                                                      \
  F(cuMemFree_v2, (CUdeviceptr))                                                                                       \
  F(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                                                 \
  F(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                                       \
  F(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream))                                  \
  F(cuMemsetD8Async, (CUdeviceptr, unsigned char value, size_t bytes, CUstream))                                       \
  F(cuStreamCreate, (CUstream *, unsigned flags))                                                                      \
  F(cuStreamSynchronize, (CUstream))                                                                                   \
  F(cuEventCreate, (CUevent *, unsigned flags))                                                                        \
  F(cuEventRecord, (CUevent, CUstream))                                                                                \
  F(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))                                             \
  F(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **arguments, void **extra))

/* Since CUDA 12; NULL in older drivers. */
typedef CUresult cuTensorMapEncodeTiled_function(CUtensorMap *, int type, unsigned rank, void *address,
                                                 const uint64_t dims[], const uint64_t strides[], const unsigned box[],
                                                 const unsigned element_strides[], int interleave, int swizzle, int l2,
                                                 int fill);

typedef struct cuda_driver {
#define CUDA_FIELD(name, arguments) CUresult(*name) arguments; /* NOLINT(bugprone-macro-parentheses): a declaration */
  CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
  cuTensorMapEncodeTiled_function *cuTensorMapEncodeTiled;
} cuda_driver;

/* Loads libcuda.so.1 and calls cuInit. NULL, or the reason of the failure, in words. */
const char *cuda_driver_open(cuda_driver *);

/* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" */
void cuda_driver_error(const cuda_driver *, CUresult, char *out, size_t size);

#endif
