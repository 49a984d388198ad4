/* hip_runtime_api.h - the host's side of HIP by its types and names, so that a file with its host code is understood.
 * Only kernels are compiled: that a function is there and gives an error's number is all that is said of it. */
#pragma once
#include "hip_vector_types.h"

/* clang-format off */
typedef enum hipError_t {
  hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorMemoryAllocation = 2,
  hipErrorNotInitialized = 3, hipErrorInitializationError = 3, hipErrorDeinitialized = 4, hipErrorProfilerDisabled = 5,
  hipErrorProfilerNotInitialized = 6, hipErrorProfilerAlreadyStarted = 7, hipErrorProfilerAlreadyStopped = 8,
  hipErrorInvalidConfiguration = 9, hipErrorInvalidPitchValue = 12, hipErrorInvalidSymbol = 13,
  hipErrorInvalidDevicePointer = 17, hipErrorInvalidMemcpyDirection = 21, hipErrorInsufficientDriver = 35,
  hipErrorMissingConfiguration = 52, hipErrorPriorLaunchFailure = 53, hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100, hipErrorInvalidDevice = 101, hipErrorInvalidImage = 200, hipErrorInvalidContext = 201,
  hipErrorContextAlreadyCurrent = 202, hipErrorMapFailed = 205, hipErrorMapBufferObjectFailed = 205,
  hipErrorUnmapFailed = 206, hipErrorArrayIsMapped = 207, hipErrorAlreadyMapped = 208, hipErrorNoBinaryForGpu = 209,
  hipErrorAlreadyAcquired = 210, hipErrorNotMapped = 211, hipErrorNotMappedAsArray = 212,
  hipErrorNotMappedAsPointer = 213, hipErrorECCNotCorrectable = 214, hipErrorUnsupportedLimit = 215,
  hipErrorContextAlreadyInUse = 216, hipErrorPeerAccessUnsupported = 217, hipErrorInvalidKernelFile = 218,
  hipErrorInvalidGraphicsContext = 219, hipErrorInvalidSource = 300, hipErrorFileNotFound = 301,
  hipErrorSharedObjectSymbolNotFound = 302, hipErrorSharedObjectInitFailed = 303, hipErrorOperatingSystem = 304,
  hipErrorInvalidHandle = 400, hipErrorInvalidResourceHandle = 400, hipErrorIllegalState = 401, hipErrorNotFound = 500,
  hipErrorNotReady = 600, hipErrorIllegalAddress = 700, hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702, hipErrorPeerAccessAlreadyEnabled = 704, hipErrorPeerAccessNotEnabled = 705,
  hipErrorSetOnActiveProcess = 708, hipErrorContextIsDestroyed = 709, hipErrorAssert = 710,
  hipErrorHostMemoryAlreadyRegistered = 712, hipErrorHostMemoryNotRegistered = 713, hipErrorLaunchFailure = 719,
  hipErrorCooperativeLaunchTooLarge = 720, hipErrorNotSupported = 801, hipErrorStreamCaptureUnsupported = 900,
  hipErrorStreamCaptureInvalidated = 901, hipErrorStreamCaptureMerge = 902, hipErrorStreamCaptureUnmatched = 903,
  hipErrorStreamCaptureUnjoined = 904, hipErrorStreamCaptureIsolation = 905, hipErrorStreamCaptureImplicit = 906,
  hipErrorCapturedEvent = 907, hipErrorStreamCaptureWrongThread = 908, hipErrorGraphExecUpdateFailure = 910,
  hipErrorInvalidChannelDescriptor = 911, hipErrorInvalidTexture = 912, hipErrorUnknown = 999,
  hipErrorRuntimeMemory = 1052, hipErrorRuntimeOther = 1053
} hipError_t;
typedef enum hipMemcpyKind {
  hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault
} hipMemcpyKind;
typedef enum hipDeviceAttribute_t {
  hipDeviceAttributeEccEnabled, hipDeviceAttributeAccessPolicyMaxWindowSize, hipDeviceAttributeAsyncEngineCount,
  hipDeviceAttributeCanMapHostMemory, hipDeviceAttributeCanUseHostPointerForRegisteredMem, hipDeviceAttributeClockRate,
  hipDeviceAttributeComputeMode, hipDeviceAttributeComputePreemptionSupported, hipDeviceAttributeConcurrentKernels,
  hipDeviceAttributeConcurrentManagedAccess, hipDeviceAttributeCooperativeLaunch,
  hipDeviceAttributeCooperativeMultiDeviceLaunch, hipDeviceAttributeDeviceOverlap,
  hipDeviceAttributeDirectManagedMemAccessFromHost, hipDeviceAttributeGlobalL1CacheSupported,
  hipDeviceAttributeHostNativeAtomicSupported, hipDeviceAttributeIntegrated, hipDeviceAttributeIsMultiGpuBoard,
  hipDeviceAttributeKernelExecTimeout, hipDeviceAttributeL2CacheSize, hipDeviceAttributeLocalL1CacheSupported,
  hipDeviceAttributeLuid, hipDeviceAttributeLuidDeviceNodeMask, hipDeviceAttributeComputeCapabilityMajor,
  hipDeviceAttributeManagedMemory, hipDeviceAttributeMaxBlocksPerMultiProcessor, hipDeviceAttributeMaxBlockDimX,
  hipDeviceAttributeMaxBlockDimY, hipDeviceAttributeMaxBlockDimZ, hipDeviceAttributeMaxGridDimX,
  hipDeviceAttributeMaxGridDimY, hipDeviceAttributeMaxGridDimZ, hipDeviceAttributeMaxSurface1D,
  hipDeviceAttributeMaxSurface1DLayered, hipDeviceAttributeMaxSurface2D, hipDeviceAttributeMaxSurface2DLayered,
  hipDeviceAttributeMaxSurface3D, hipDeviceAttributeMaxSurfaceCubemap, hipDeviceAttributeMaxSurfaceCubemapLayered,
  hipDeviceAttributeMaxTexture1DWidth, hipDeviceAttributeMaxTexture1DLayered, hipDeviceAttributeMaxTexture1DLinear,
  hipDeviceAttributeMaxTexture1DMipmap, hipDeviceAttributeMaxTexture2DWidth, hipDeviceAttributeMaxTexture2DHeight,
  hipDeviceAttributeMaxTexture2DGather, hipDeviceAttributeMaxTexture2DLayered, hipDeviceAttributeMaxTexture2DLinear,
  hipDeviceAttributeMaxTexture2DMipmap, hipDeviceAttributeMaxTexture3DWidth, hipDeviceAttributeMaxTexture3DHeight,
  hipDeviceAttributeMaxTexture3DDepth, hipDeviceAttributeMaxTexture3DAlt, hipDeviceAttributeMaxTextureCubemap,
  hipDeviceAttributeMaxTextureCubemapLayered, hipDeviceAttributeMaxThreadsDim, hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxThreadsPerMultiProcessor, hipDeviceAttributeMaxPitch, hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeMemoryClockRate, hipDeviceAttributeComputeCapabilityMinor, hipDeviceAttributeMultiGpuBoardGroupID,
  hipDeviceAttributeMultiprocessorCount, hipDeviceAttributeName, hipDeviceAttributePageableMemoryAccess,
  hipDeviceAttributePageableMemoryAccessUsesHostPageTables, hipDeviceAttributePciBusId, hipDeviceAttributePciDeviceId,
  hipDeviceAttributePciDomainID, hipDeviceAttributePersistingL2CacheMaxSize, hipDeviceAttributeMaxRegistersPerBlock,
  hipDeviceAttributeMaxRegistersPerMultiprocessor, hipDeviceAttributeReservedSharedMemPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerBlock, hipDeviceAttributeSharedMemPerBlockOptin,
  hipDeviceAttributeSharedMemPerMultiprocessor, hipDeviceAttributeSingleToDoublePrecisionPerfRatio,
  hipDeviceAttributeStreamPrioritiesSupported, hipDeviceAttributeSurfaceAlignment, hipDeviceAttributeTccDriver,
  hipDeviceAttributeTextureAlignment, hipDeviceAttributeTexturePitchAlignment, hipDeviceAttributeTotalConstantMemory,
  hipDeviceAttributeTotalGlobalMem, hipDeviceAttributeUnifiedAddressing, hipDeviceAttributeUuid,
  hipDeviceAttributeWarpSize, hipDeviceAttributeMemoryPoolsSupported,
  hipDeviceAttributeVirtualMemoryManagementSupported, hipDeviceAttributeHostRegisterSupported,
  hipDeviceAttributeMemoryPoolSupportedHandleTypes, hipDeviceAttributeClockInstructionRate, hipDeviceAttributeArch,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, hipDeviceAttributeGcnArch, hipDeviceAttributeGcnArchName,
  hipDeviceAttributeHdpMemFlushCntl, hipDeviceAttributeHdpRegFlushCntl,
  hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc, hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim,
  hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim,
  hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem, hipDeviceAttributeIsLargeBar,
  hipDeviceAttributeAsicRevision, hipDeviceAttributeCanUseStreamWaitValue, hipDeviceAttributeImageSupport,
  hipDeviceAttributePhysicalMultiProcessorCount, hipDeviceAttributeFineGrainSupport, hipDeviceAttributeWallClockRate
} hipDeviceAttribute_t;
#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01
#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4
#define hipEventDisableSystemFence 0x20000000
#define hipEventReleaseToDevice 0x40000000
#define hipEventReleaseToSystem 0x80000000
#define hipHostMallocDefault 0x0
#define hipHostAllocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostAllocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostAllocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostAllocWriteCombined 0x4
#define hipHostMallocNumaUser 0x20000000
#define hipExtHostAllocNumaUser 0x20000000
#define hipHostMallocCoherent 0x40000000
#define hipExtHostAllocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipExtHostAllocNonCoherent 0x80000000
#define hipMemAttachGlobal 0x01
#define hipMemAttachHost 0x02
#define hipMemAttachSingle 0x04
#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipMallocSignalMemory 0x2
#define hipDeviceMallocUncached 0x3
#define hipDeviceMallocContiguous 0x4
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipHostRegisterIoMemory 0x4
#define hipHostRegisterReadOnly 0x08
#define hipExtHostRegisterCoarseGrained 0x8
#define hipDeviceScheduleAuto 0x0
#define hipDeviceScheduleSpin 0x1
#define hipDeviceScheduleYield 0x2
#define hipDeviceScheduleBlockingSync 0x4
#define hipDeviceScheduleMask 0x7
#define hipDeviceMapHost 0x8
#define hipDeviceLmemResizeToMax 0x10
#define hipArrayDefault 0x00
#define hipArrayLayered 0x01
#define hipArraySurfaceLoadStore 0x02
#define hipArrayCubemap 0x04
#define hipArrayTextureGather 0x08
#define hipOccupancyDefault 0x00
#define hipOccupancyDisableCachingOverride 0x01
#define hipCooperativeLaunchMultiDeviceNoPreSync 0x01
#define hipCooperativeLaunchMultiDeviceNoPostSync 0x02
#define hipExtAnyOrderLaunch 0x01
enum { hipCpuDeviceId = -1, hipInvalidDeviceId = -2 };
typedef enum hipMemoryType {
  hipMemoryTypeUnregistered, hipMemoryTypeHost, hipMemoryTypeDevice, hipMemoryTypeManaged, hipMemoryTypeArray,
  hipMemoryTypeUnified
} hipMemoryType;
typedef enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8, hipFuncAttributePreferredSharedMemoryCarveout = 9
} hipFuncAttribute;
typedef enum hipFuncCache_t {
  hipFuncCachePreferNone, hipFuncCachePreferShared, hipFuncCachePreferL1, hipFuncCachePreferEqual
} hipFuncCache_t;
typedef enum hipSharedMemConfig {
  hipSharedMemBankSizeDefault, hipSharedMemBankSizeFourByte, hipSharedMemBankSizeEightByte
} hipSharedMemConfig;
typedef enum hipLimit_t { hipLimitStackSize, hipLimitPrintfFifoSize, hipLimitMallocHeapSize } hipLimit_t;
typedef enum hipComputeMode {
  hipComputeModeDefault, hipComputeModeExclusive, hipComputeModeProhibited, hipComputeModeExclusiveProcess
} hipComputeMode;
typedef enum hipMemoryAdvise {
  hipMemAdviseSetReadMostly = 1, hipMemAdviseUnsetReadMostly, hipMemAdviseSetPreferredLocation,
  hipMemAdviseUnsetPreferredLocation, hipMemAdviseSetAccessedBy, hipMemAdviseUnsetAccessedBy,
  hipMemAdviseSetCoarseGrain = 100, hipMemAdviseUnsetCoarseGrain
} hipMemoryAdvise;
typedef enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed
} hipStreamCaptureMode;
typedef enum hipMemPoolAttr {
  hipMemPoolReuseFollowEventDependencies = 1, hipMemPoolReuseAllowOpportunistic, hipMemPoolReuseAllowInternalDependencies,
  hipMemPoolAttrReleaseThreshold
} hipMemPoolAttr;
typedef enum hipDataType {
  HIP_R_32F = 0, HIP_R_64F = 1, HIP_R_16F = 2, HIP_R_8I = 3, HIP_C_32F = 4, HIP_C_64F = 5, HIP_C_16F = 6, HIP_R_8U = 8,
  HIP_R_32I = 10, HIP_R_16BF = 14, HIP_R_8F_E4M3 = 28, HIP_R_8F_E5M2 = 29, HIP_R_8F_E4M3_FNUZ = 1000,
  HIP_R_8F_E5M2_FNUZ = 1001
} hipDataType;
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define HIP_LAUNCH_PARAM_END ((void *)3)

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipCtx_t *hipCtx_t;
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipArray *hipArray_t;
typedef struct __hip_texture *hipTextureObject_t;
typedef struct __hip_surface *hipSurfaceObject_t;
typedef void *hipDeviceptr_t;
typedef int hipDevice_t;
typedef void (*hipHostFn_t)(void *);
typedef void (*hipStreamCallback_t)(hipStream_t, hipError_t, void *);
typedef struct hipUUID {
  char bytes[16];
} hipUUID;
typedef struct hipExtent {
  size_t width, height, depth;
} hipExtent;
typedef struct hipPos {
  size_t x, y, z;
} hipPos;
typedef struct hipPitchedPtr {
  void *ptr;
  size_t pitch, xsize, ysize;
} hipPitchedPtr;
typedef struct hipMemcpy3DParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  hipMemcpyKind kind;
} hipMemcpy3DParms;
typedef struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;
typedef struct hipFuncAttributes {
  int binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  size_t constSizeBytes, localSizeBytes, sharedSizeBytes;
} hipFuncAttributes;
typedef struct hipLaunchParams {
  void *func;
  dim3 gridDim, blockDim;
  void **args;
  size_t sharedMem;
  hipStream_t stream;
} hipLaunchParams;
typedef struct hipDeviceArch_t {
  unsigned hasGlobalInt32Atomics : 1, hasSharedInt32Atomics : 1, hasFloatAtomicAdd : 1, hasGlobalInt64Atomics : 1,
      hasSharedInt64Atomics : 1, hasDoubles : 1, hasWarpVote : 1, hasWarpBallot : 1, hasWarpShuffle : 1,
      hasFunnelShift : 1, hasThreadFenceSystem : 1, hasSyncThreadsExt : 1, hasSurfaceFuncs : 1, has3dGrid : 1,
      hasDynamicParallelism : 1;
} hipDeviceArch_t;
typedef struct hipDeviceProp_t {
  char name[256], luid[8], gcnArchName[256];
  size_t totalGlobalMem, sharedMemPerBlock, memPitch, totalConstMem, textureAlignment, texturePitchAlignment,
      surfaceAlignment, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, reservedSharedMemPerBlock,
      maxSharedMemoryPerMultiProcessor;
  unsigned int luidDeviceNodeMask, gpuDirectRDMAFlushWritesOptions, memoryPoolSupportedHandleTypes;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor,
      deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode,
      maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
      maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap,
      maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2],
      maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2],
      concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
      unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize,
      maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported,
      regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
      canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch,
      pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize, hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported,
      timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported, gpuDirectRDMAWritesOrdering,
      deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers,
      clockInstructionRate, cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim,
      cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem, isLargeBar, asicRevision;
  hipUUID uuid;
  hipDeviceArch_t arch;
} hipDeviceProp_t;

extern "C" {
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = 0);
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
}
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
#define TW_HOST(NAME) template <class... A> inline hipError_t NAME(A...) { return hipSuccess; }
TW_HOST(hipArray3DCreate) TW_HOST(hipArray3DGetDescriptor) TW_HOST(hipArrayCreate) TW_HOST(hipArrayDestroy)
TW_HOST(hipArrayGetDescriptor) TW_HOST(hipArrayGetInfo) TW_HOST(hipBindTexture) TW_HOST(hipBindTexture2D)
TW_HOST(hipBindTextureToArray) TW_HOST(hipBindTextureToMipmappedArray) TW_HOST(hipChooseDevice)
TW_HOST(hipConfigureCall) TW_HOST(hipCreateSurfaceObject) TW_HOST(hipCreateTextureObject) TW_HOST(hipCtxCreate)
TW_HOST(hipCtxDestroy) TW_HOST(hipCtxDisablePeerAccess) TW_HOST(hipCtxEnablePeerAccess) TW_HOST(hipCtxGetApiVersion)
TW_HOST(hipCtxGetCacheConfig) TW_HOST(hipCtxGetCurrent) TW_HOST(hipCtxGetDevice) TW_HOST(hipCtxGetFlags)
TW_HOST(hipCtxGetSharedMemConfig) TW_HOST(hipCtxPopCurrent) TW_HOST(hipCtxPushCurrent) TW_HOST(hipCtxSetCacheConfig)
TW_HOST(hipCtxSetCurrent) TW_HOST(hipCtxSetSharedMemConfig) TW_HOST(hipCtxSynchronize) TW_HOST(hipDestroySurfaceObject)
TW_HOST(hipDestroyTextureObject) TW_HOST(hipDeviceCanAccessPeer) TW_HOST(hipDeviceComputeCapability)
TW_HOST(hipDeviceDisablePeerAccess) TW_HOST(hipDeviceEnablePeerAccess) TW_HOST(hipDeviceGet)
TW_HOST(hipDeviceGetAttribute) TW_HOST(hipDeviceGetByPCIBusId) TW_HOST(hipDeviceGetCacheConfig)
TW_HOST(hipDeviceGetDefaultMemPool) TW_HOST(hipDeviceGetGraphMemAttribute) TW_HOST(hipDeviceGetLimit)
TW_HOST(hipDeviceGetMemPool) TW_HOST(hipDeviceGetName) TW_HOST(hipDeviceGetP2PAttribute) TW_HOST(hipDeviceGetPCIBusId)
TW_HOST(hipDeviceGetSharedMemConfig) TW_HOST(hipDeviceGetStreamPriorityRange) TW_HOST(hipDeviceGetUuid)
TW_HOST(hipDeviceGraphMemTrim) TW_HOST(hipDevicePrimaryCtxGetState) TW_HOST(hipDevicePrimaryCtxRelease)
TW_HOST(hipDevicePrimaryCtxReset) TW_HOST(hipDevicePrimaryCtxRetain) TW_HOST(hipDevicePrimaryCtxSetFlags)
TW_HOST(hipDeviceReset) TW_HOST(hipDeviceSetCacheConfig) TW_HOST(hipDeviceSetGraphMemAttribute)
TW_HOST(hipDeviceSetLimit) TW_HOST(hipDeviceSetMemPool) TW_HOST(hipDeviceSetSharedMemConfig)
TW_HOST(hipDeviceSynchronize) TW_HOST(hipDeviceTotalMem) TW_HOST(hipDriverGetVersion) TW_HOST(hipEventCreate)
TW_HOST(hipEventCreateWithFlags) TW_HOST(hipEventDestroy) TW_HOST(hipEventElapsedTime) TW_HOST(hipEventQuery)
TW_HOST(hipEventRecord) TW_HOST(hipEventSynchronize) TW_HOST(hipExtGetLastError) TW_HOST(hipExtGetLinkTypeAndHopCount)
TW_HOST(hipExtHostAlloc) TW_HOST(hipExtLaunchKernel) TW_HOST(hipExtLaunchMultiKernelMultiDevice)
TW_HOST(hipExtMallocWithFlags) TW_HOST(hipExtModuleLaunchKernel) TW_HOST(hipExtStreamCreateWithCUMask)
TW_HOST(hipExtStreamGetCUMask)  TW_HOST(hipFreeArray) TW_HOST(hipFreeAsync) TW_HOST(hipFreeHost)
TW_HOST(hipFreeMipmappedArray) TW_HOST(hipFuncGetAttribute) TW_HOST(hipFuncGetAttributes) TW_HOST(hipFuncSetAttribute)
TW_HOST(hipFuncSetCacheConfig) TW_HOST(hipFuncSetSharedMemConfig) TW_HOST(hipGetChannelDesc) TW_HOST(hipGetDevice)
TW_HOST(hipGetDeviceCount) TW_HOST(hipGetDeviceFlags) TW_HOST(hipGetDeviceProperties) TW_HOST(hipGetFuncBySymbol)
TW_HOST(hipGetLastError) TW_HOST(hipGetMipmappedArrayLevel) TW_HOST(hipGetSymbolAddress) TW_HOST(hipGetSymbolSize)
TW_HOST(hipGetTextureAlignmentOffset) TW_HOST(hipGetTextureObjectResourceDesc)
TW_HOST(hipGetTextureObjectResourceViewDesc) TW_HOST(hipGetTextureObjectTextureDesc) TW_HOST(hipGetTextureReference)
TW_HOST(hipGraphAddChildGraphNode) TW_HOST(hipGraphAddDependencies) TW_HOST(hipGraphAddEmptyNode)
TW_HOST(hipGraphAddEventRecordNode) TW_HOST(hipGraphAddEventWaitNode) TW_HOST(hipGraphAddHostNode)
TW_HOST(hipGraphAddKernelNode) TW_HOST(hipGraphAddMemAllocNode) TW_HOST(hipGraphAddMemFreeNode)
TW_HOST(hipGraphAddMemcpyNode) TW_HOST(hipGraphAddMemcpyNode1D) TW_HOST(hipGraphAddMemcpyNodeFromSymbol)
TW_HOST(hipGraphAddMemcpyNodeToSymbol) TW_HOST(hipGraphAddMemsetNode) TW_HOST(hipGraphAddNode)
TW_HOST(hipGraphChildGraphNodeGetGraph) TW_HOST(hipGraphClone) TW_HOST(hipGraphCreate) TW_HOST(hipGraphDebugDotPrint)
TW_HOST(hipGraphDestroy) TW_HOST(hipGraphDestroyNode) TW_HOST(hipGraphEventRecordNodeGetEvent)
TW_HOST(hipGraphEventRecordNodeSetEvent) TW_HOST(hipGraphEventWaitNodeGetEvent) TW_HOST(hipGraphEventWaitNodeSetEvent)
TW_HOST(hipGraphExecChildGraphNodeSetParams) TW_HOST(hipGraphExecDestroy) TW_HOST(hipGraphExecEventRecordNodeSetEvent)
TW_HOST(hipGraphExecEventWaitNodeSetEvent) TW_HOST(hipGraphExecGetFlags) TW_HOST(hipGraphExecHostNodeSetParams)
TW_HOST(hipGraphExecKernelNodeSetParams) TW_HOST(hipGraphExecMemcpyNodeSetParams)
TW_HOST(hipGraphExecMemcpyNodeSetParams1D) TW_HOST(hipGraphExecMemcpyNodeSetParamsFromSymbol)
TW_HOST(hipGraphExecMemcpyNodeSetParamsToSymbol) TW_HOST(hipGraphExecMemsetNodeSetParams)
TW_HOST(hipGraphExecNodeSetParams) TW_HOST(hipGraphExecUpdate) TW_HOST(hipGraphGetEdges) TW_HOST(hipGraphGetNodes)
TW_HOST(hipGraphGetRootNodes) TW_HOST(hipGraphHostNodeGetParams) TW_HOST(hipGraphHostNodeSetParams)
TW_HOST(hipGraphInstantiate) TW_HOST(hipGraphInstantiateWithFlags) TW_HOST(hipGraphInstantiateWithParams)
TW_HOST(hipGraphKernelNodeCopyAttributes) TW_HOST(hipGraphKernelNodeGetAttribute) TW_HOST(hipGraphKernelNodeGetParams)
TW_HOST(hipGraphKernelNodeSetAttribute) TW_HOST(hipGraphKernelNodeSetParams) TW_HOST(hipGraphLaunch)
TW_HOST(hipGraphMemAllocNodeGetParams) TW_HOST(hipGraphMemFreeNodeGetParams) TW_HOST(hipGraphMemcpyNodeGetParams)
TW_HOST(hipGraphMemcpyNodeSetParams) TW_HOST(hipGraphMemcpyNodeSetParams1D)
TW_HOST(hipGraphMemcpyNodeSetParamsFromSymbol) TW_HOST(hipGraphMemcpyNodeSetParamsToSymbol)
TW_HOST(hipGraphMemsetNodeGetParams) TW_HOST(hipGraphMemsetNodeSetParams) TW_HOST(hipGraphNodeFindInClone)
TW_HOST(hipGraphNodeGetDependencies) TW_HOST(hipGraphNodeGetDependentNodes) TW_HOST(hipGraphNodeGetEnabled)
TW_HOST(hipGraphNodeGetType) TW_HOST(hipGraphNodeSetEnabled) TW_HOST(hipGraphNodeSetParams)
TW_HOST(hipGraphReleaseUserObject) TW_HOST(hipGraphRemoveDependencies) TW_HOST(hipGraphRetainUserObject)
TW_HOST(hipGraphUpload) TW_HOST(hipGraphicsMapResources) TW_HOST(hipGraphicsResourceGetMappedPointer)
TW_HOST(hipGraphicsSubResourceGetMappedArray) TW_HOST(hipGraphicsUnmapResources) TW_HOST(hipGraphicsUnregisterResource)
TW_HOST(hipHccModuleLaunchKernel) TW_HOST(hipHostAlloc) TW_HOST(hipHostFree) TW_HOST(hipHostGetDevicePointer)
TW_HOST(hipHostGetFlags) TW_HOST(hipHostMalloc) TW_HOST(hipHostRegister) TW_HOST(hipHostUnregister) TW_HOST(hipInit)
TW_HOST(hipIpcCloseMemHandle) TW_HOST(hipIpcGetEventHandle) TW_HOST(hipIpcGetMemHandle) TW_HOST(hipIpcOpenEventHandle)
TW_HOST(hipIpcOpenMemHandle) TW_HOST(hipLaunchByPtr) TW_HOST(hipLaunchCooperativeKernel)
TW_HOST(hipLaunchCooperativeKernelMultiDevice) TW_HOST(hipLaunchHostFunc) TW_HOST(hipLaunchKernel)
TW_HOST(hipLaunchKernelExC) TW_HOST(hipMalloc) TW_HOST(hipMalloc3D) TW_HOST(hipMalloc3DArray) TW_HOST(hipMallocArray)
TW_HOST(hipMallocAsync) TW_HOST(hipMallocFromPoolAsync) TW_HOST(hipMallocHost) TW_HOST(hipMallocManaged)
TW_HOST(hipMallocMipmappedArray) TW_HOST(hipMallocPitch) TW_HOST(hipMemAddressFree) TW_HOST(hipMemAddressReserve)
TW_HOST(hipMemAdvise) TW_HOST(hipMemAllocHost) TW_HOST(hipMemAllocPitch) TW_HOST(hipMemCreate)
TW_HOST(hipMemExportToShareableHandle) TW_HOST(hipMemGetAccess) TW_HOST(hipMemGetAddressRange)
TW_HOST(hipMemGetAllocationGranularity) TW_HOST(hipMemGetAllocationPropertiesFromHandle) TW_HOST(hipMemGetInfo)
TW_HOST(hipMemImportFromShareableHandle) TW_HOST(hipMemMap) TW_HOST(hipMemMapArrayAsync) TW_HOST(hipMemPoolCreate)
TW_HOST(hipMemPoolDestroy) TW_HOST(hipMemPoolExportPointer) TW_HOST(hipMemPoolExportToShareableHandle)
TW_HOST(hipMemPoolGetAccess) TW_HOST(hipMemPoolGetAttribute) TW_HOST(hipMemPoolImportFromShareableHandle)
TW_HOST(hipMemPoolImportPointer) TW_HOST(hipMemPoolSetAccess) TW_HOST(hipMemPoolSetAttribute) TW_HOST(hipMemPoolTrimTo)
TW_HOST(hipMemPrefetchAsync) TW_HOST(hipMemPtrGetInfo) TW_HOST(hipMemRangeGetAttribute)
TW_HOST(hipMemRangeGetAttributes) TW_HOST(hipMemRelease) TW_HOST(hipMemRetainAllocationHandle) TW_HOST(hipMemSetAccess)
TW_HOST(hipMemUnmap)  TW_HOST(hipMemcpy2D) TW_HOST(hipMemcpy2DArrayToArray) TW_HOST(hipMemcpy2DAsync)
TW_HOST(hipMemcpy2DFromArray) TW_HOST(hipMemcpy2DFromArrayAsync) TW_HOST(hipMemcpy2DToArray)
TW_HOST(hipMemcpy2DToArrayAsync) TW_HOST(hipMemcpy3D) TW_HOST(hipMemcpy3DAsync) TW_HOST(hipMemcpy3DPeer)  TW_HOST(hipMemcpyAtoA) TW_HOST(hipMemcpyAtoD) TW_HOST(hipMemcpyAtoH)
TW_HOST(hipMemcpyAtoHAsync) TW_HOST(hipMemcpyDtoA) TW_HOST(hipMemcpyDtoD) TW_HOST(hipMemcpyDtoDAsync)
TW_HOST(hipMemcpyDtoH) TW_HOST(hipMemcpyDtoHAsync) TW_HOST(hipMemcpyFromArray) TW_HOST(hipMemcpyFromSymbol)
TW_HOST(hipMemcpyFromSymbolAsync) TW_HOST(hipMemcpyHtoA) TW_HOST(hipMemcpyHtoAAsync) TW_HOST(hipMemcpyHtoD)
TW_HOST(hipMemcpyHtoDAsync) TW_HOST(hipMemcpyParam2D) TW_HOST(hipMemcpyParam2DAsync) TW_HOST(hipMemcpyPeer)
TW_HOST(hipMemcpyPeerAsync) TW_HOST(hipMemcpyToArray) TW_HOST(hipMemcpyToSymbol) TW_HOST(hipMemcpyToSymbolAsync)
TW_HOST(hipMemcpyWithStream)  TW_HOST(hipMemset2D) TW_HOST(hipMemset2DAsync) TW_HOST(hipMemset3D)
TW_HOST(hipMemset3DAsync)  TW_HOST(hipMemsetD16) TW_HOST(hipMemsetD16Async)
TW_HOST(hipMemsetD32) TW_HOST(hipMemsetD32Async) TW_HOST(hipMemsetD8) TW_HOST(hipMemsetD8Async)
TW_HOST(hipMipmappedArrayCreate) TW_HOST(hipMipmappedArrayDestroy) TW_HOST(hipMipmappedArrayGetLevel)
TW_HOST(hipModuleGetFunction) TW_HOST(hipModuleGetGlobal) TW_HOST(hipModuleLaunchCooperativeKernel)
TW_HOST(hipModuleLaunchCooperativeKernelMultiDevice) TW_HOST(hipModuleLaunchKernel) TW_HOST(hipModuleLoad)
TW_HOST(hipModuleLoadData) TW_HOST(hipModuleLoadDataEx) TW_HOST(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)
TW_HOST(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) TW_HOST(hipModuleOccupancyMaxPotentialBlockSize)
TW_HOST(hipModuleOccupancyMaxPotentialBlockSizeWithFlags) TW_HOST(hipModuleUnload)
TW_HOST(hipOccupancyMaxActiveBlocksPerMultiprocessor) TW_HOST(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
TW_HOST(hipOccupancyMaxPotentialBlockSize) TW_HOST(hipOccupancyMaxPotentialBlockSizeVariableSMem)
TW_HOST(hipOccupancyMaxPotentialBlockSizeWithFlags) TW_HOST(hipPeekAtLastError) TW_HOST(hipPointerGetAttribute)
TW_HOST(hipPointerGetAttributes) TW_HOST(hipPointerSetAttribute) TW_HOST(hipProfilerStart) TW_HOST(hipProfilerStop)
TW_HOST(hipRuntimeGetVersion) TW_HOST(hipSetDevice) TW_HOST(hipSetDeviceFlags) TW_HOST(hipSetValidDevices)
TW_HOST(hipSetupArgument) TW_HOST(hipStreamAddCallback) TW_HOST(hipStreamAttachMemAsync) TW_HOST(hipStreamBeginCapture)
TW_HOST(hipStreamBeginCaptureToGraph) TW_HOST(hipStreamCreate) TW_HOST(hipStreamCreateWithFlags)
TW_HOST(hipStreamCreateWithPriority) TW_HOST(hipStreamDestroy) TW_HOST(hipStreamEndCapture)
TW_HOST(hipStreamGetCaptureInfo) TW_HOST(hipStreamGetCaptureInfo_v2) TW_HOST(hipStreamGetDevice)
TW_HOST(hipStreamGetFlags) TW_HOST(hipStreamGetPriority) TW_HOST(hipStreamIsCapturing) TW_HOST(hipStreamQuery)
TW_HOST(hipStreamSynchronize) TW_HOST(hipStreamUpdateCaptureDependencies) TW_HOST(hipStreamWaitEvent)
TW_HOST(hipStreamWaitValue32) TW_HOST(hipStreamWaitValue64) TW_HOST(hipStreamWriteValue32)
TW_HOST(hipStreamWriteValue64) TW_HOST(hipTexObjectCreate) TW_HOST(hipTexObjectDestroy)
TW_HOST(hipTexObjectGetResourceDesc) TW_HOST(hipTexObjectGetResourceViewDesc) TW_HOST(hipTexObjectGetTextureDesc)
TW_HOST(hipThreadExchangeStreamCaptureMode) TW_HOST(hipUnbindTexture) TW_HOST(hipUserObjectCreate)
TW_HOST(hipUserObjectRelease) TW_HOST(hipUserObjectRetain)
#undef TW_HOST
inline hipError_t hipFree(void *) { return hipSuccess; }
inline hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind) { return hipSuccess; }
inline hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t = 0) { return hipSuccess; }
inline hipError_t hipMemset(void *, int, size_t) { return hipSuccess; }
inline hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = 0) { return hipSuccess; }
/* clang-format on */
#define hipLaunchKernelGGL(kernel, blocks, threads, shared, stream, ...)                                               \
  (kernel)<<<(blocks), (threads), (shared), (stream)>>>(__VA_ARGS__)
#define hipGetDevicePropertiesR0600 hipGetDeviceProperties
static inline hipExtent make_hipExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
static inline hipPos make_hipPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
static inline hipPitchedPtr make_hipPitchedPtr(void *p, size_t pitch, size_t x, size_t y) { return {p, pitch, x, y}; }
