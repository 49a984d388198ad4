/* hip_runtime.h - what a source in HIP C++ needs to be compiled for the device without ROCm: words of the language, work-items,
 * vector types, shuffles and votes of 64 lanes, atomics, bits. Names and meanings are those of HIP's documentation. Of the host's
 * functions there are declarations, so that a file with its host code is understood; nothing of that is compiled.
 * Mathematical functions are clang's (__clang_hip_runtime_wrapper.h), which stand on ROCm's device libraries. */
#pragma once
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H

#ifndef __CLANG_HIP_RUNTIME_WRAPPER_H__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
typedef __SIZE_TYPE__ size_t;
#endif
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#ifndef __noinline__
#define __noinline__ __attribute__((noinline))
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_SYMBOL(x) x
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 4
#define __HIP_PLATFORM_AMD__ 1
#define TW_DEVICE static __device__ inline __attribute__((always_inline))
#define TW_MEMBER __device__ __host__ inline __attribute__((always_inline))
#define TW_BOTH static TW_MEMBER

template <class To, class From> TW_BOTH To tw_any_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/* ---- vectors ---- */

/* clang-format off */
#define TW_VECTOR_OPERATIONS(V, T, N)                                                                                  \
  TW_VECTOR_OPERATOR(V, T, N, +) TW_VECTOR_OPERATOR(V, T, N, -)                                                        \
  TW_VECTOR_OPERATOR(V, T, N, *) TW_VECTOR_OPERATOR(V, T, N, /)                                                        \
  TW_BOTH bool operator==(const V &a, const V &b) {                                                                    \
    for (int i = 0; i < N; i++)                                                                                        \
      if (a.data[i] != b.data[i]) return false;                                                                        \
    return true;                                                                                                       \
  }                                                                                                                    \
  TW_BOTH bool operator!=(const V &a, const V &b) { return !(a == b); }                                                \
  TW_BOTH V operator-(const V &a) {                                                                                    \
    V r;                                                                                                               \
    for (int i = 0; i < N; i++) r.data[i] = (T)-a.data[i];                                                             \
    return r;                                                                                                          \
  }
/* clang-format on */
#define TW_VECTOR_OPERATOR(V, T, N, OP)                                                                                \
  TW_BOTH V operator OP(const V &a, const V &b) {                                                                      \
    V r;                                                                                                               \
    for (int i = 0; i < N; i++) r.data[i] = (T)(a.data[i] OP b.data[i]);                                               \
    return r;                                                                                                          \
  }                                                                                                                    \
  TW_BOTH V operator OP(const V &a, T b) {                                                                             \
    V r;                                                                                                               \
    for (int i = 0; i < N; i++) r.data[i] = (T)(a.data[i] OP b);                                                       \
    return r;                                                                                                          \
  }                                                                                                                    \
  TW_BOTH V operator OP(T a, const V &b) {                                                                             \
    V r;                                                                                                               \
    for (int i = 0; i < N; i++) r.data[i] = (T)(a OP b.data[i]);                                                       \
    return r;                                                                                                          \
  }                                                                                                                    \
  TW_BOTH V &operator OP##=(V &a, const V &b) { return a = a OP b; }                                                   \
  TW_BOTH V &operator OP##=(V &a, T b) { return a = a OP b; }
#define TW_VECTORS(T, P)                                                                                               \
  struct P##1 {                                                                                                        \
    union {                                                                                                            \
      struct {                                                                                                         \
        T x;                                                                                                           \
      };                                                                                                               \
      T data[1];                                                                                                       \
    };                                                                                                                 \
  };                                                                                                                   \
  struct alignas(2 * sizeof(T)) P##2 {                                                                                 \
    union {                                                                                                            \
      struct {                                                                                                         \
        T x, y;                                                                                                        \
      };                                                                                                               \
      T data[2];                                                                                                       \
    };                                                                                                                 \
  };                                                                                                                   \
  struct P##3 {                                                                                                        \
    union {                                                                                                            \
      struct {                                                                                                         \
        T x, y, z;                                                                                                     \
      };                                                                                                               \
      T data[3];                                                                                                       \
    };                                                                                                                 \
  };                                                                                                                   \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) P##4 {                                                       \
    union {                                                                                                            \
      struct {                                                                                                         \
        T x, y, z, w;                                                                                                  \
      };                                                                                                               \
      T data[4];                                                                                                       \
    };                                                                                                                 \
  };                                                                                                                   \
  TW_BOTH P##1 make_##P##1(T x) { return {{{x}}}; }                                                                    \
  TW_BOTH P##2 make_##P##2(T x, T y) { return {{{x, y}}}; }                                                            \
  TW_BOTH P##3 make_##P##3(T x, T y, T z) { return {{{x, y, z}}}; }                                                    \
  TW_BOTH P##4 make_##P##4(T x, T y, T z, T w) { return {{{x, y, z, w}}}; }                                            \
  TW_VECTOR_OPERATIONS(P##1, T, 1)                                                                                     \
  TW_VECTOR_OPERATIONS(P##2, T, 2) TW_VECTOR_OPERATIONS(P##3, T, 3) TW_VECTOR_OPERATIONS(P##4, T, 4)
TW_VECTORS(signed char, char)
TW_VECTORS(unsigned char, uchar)
TW_VECTORS(short, short)
TW_VECTORS(unsigned short, ushort)
TW_VECTORS(int, int)
TW_VECTORS(unsigned, uint)
TW_VECTORS(long, long)
TW_VECTORS(unsigned long, ulong)
TW_VECTORS(long long, longlong)
TW_VECTORS(unsigned long long, ulonglong)
TW_VECTORS(float, float)
TW_VECTORS(double, double)

struct dim3 {
  unsigned x, y, z;
  constexpr __device__ __host__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  __device__ __host__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __device__ __host__ operator uint3() const { return make_uint3(x, y, z); }
};

/* ---- work-items ---- */

#define TW_AXES(NAME, TO, X, Y, Z)                                                                                     \
  struct NAME {                                                                                                        \
    __declspec(property(get = get_x)) unsigned x;                                                                      \
    __declspec(property(get = get_y)) unsigned y;                                                                      \
    __declspec(property(get = get_z)) unsigned z;                                                                      \
    __device__ unsigned get_x() const { return X; }                                                                    \
    __device__ unsigned get_y() const { return Y; }                                                                    \
    __device__ unsigned get_z() const { return Z; }                                                                    \
    __device__ operator TO() const { return TO{X, Y, Z}; }                                                             \
  };
#define TW_BUILTINS(WHAT) __builtin_amdgcn_##WHAT##_x(), __builtin_amdgcn_##WHAT##_y(), __builtin_amdgcn_##WHAT##_z()
#define TW_BLOCKS(A) (__builtin_amdgcn_grid_size_##A() / __builtin_amdgcn_workgroup_size_##A())
#define TW_AXES_OF(NAME, TO, ...) TW_AXES(NAME, TO, __VA_ARGS__)
TW_AXES_OF(tw_thread, uint3, TW_BUILTINS(workitem_id))
TW_AXES_OF(tw_block, uint3, TW_BUILTINS(workgroup_id))
TW_AXES_OF(tw_size, dim3, TW_BUILTINS(workgroup_size))
TW_AXES(tw_grid, dim3, TW_BLOCKS(x), TW_BLOCKS(y), TW_BLOCKS(z))
extern const __device__ __attribute__((weak)) tw_thread threadIdx;
extern const __device__ __attribute__((weak)) tw_block blockIdx;
extern const __device__ __attribute__((weak)) tw_size blockDim;
extern const __device__ __attribute__((weak)) tw_grid gridDim;
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
static constexpr int warpSize = 64;

/* ---- barriers and fences ---- */

TW_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
TW_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
TW_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
TW_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
TW_DEVICE void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
TW_DEVICE int tw_block_sum(int value) {
  static __shared__ int sum;
  __syncthreads();
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) sum = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&sum, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  return sum;
}
TW_DEVICE int __syncthreads_count(int p) { return tw_block_sum(!!p); }
TW_DEVICE int __syncthreads_and(int p) { return !tw_block_sum(!p); }
TW_DEVICE int __syncthreads_or(int p) { return !!tw_block_sum(!!p); }

/* ---- lanes ---- */

TW_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
TW_DEVICE unsigned long long __activemask() { return __builtin_amdgcn_ballot_w64(true); }
TW_DEVICE unsigned long long __ballot(int p) { return __builtin_amdgcn_ballot_w64(p != 0); }
TW_DEVICE unsigned long long __ballot64(int p) { return __ballot(p); }
TW_DEVICE int __any(int p) { return __ballot(p) != 0; }
TW_DEVICE int __all(int p) { return __ballot(!p) == 0; }
TW_DEVICE unsigned long long __ballot_sync(unsigned long long m, int p) { return __ballot(p) & m; }
TW_DEVICE int __any_sync(unsigned long long m, int p) { return (__ballot(p) & m) != 0; }
TW_DEVICE int __all_sync(unsigned long long m, int p) { return (__ballot(!p) & m) == 0; }

/* A value of any type with 4 n bytes, or fewer than 4, goes in words of 4. */
template <class T> TW_DEVICE T tw_from_lane(T value, int lane) {
  constexpr unsigned words = (sizeof(T) + 3) / 4;
  int word[words] = {};
  __builtin_memcpy(word, &value, sizeof(T));
  for (unsigned i = 0; i < words; i++) word[i] = __builtin_amdgcn_ds_bpermute(lane << 2, word[i]);
  __builtin_memcpy(&value, word, sizeof(T));
  return value;
}
template <class T> TW_DEVICE T __shfl(T v, int from, int width = warpSize) {
  const int me = __lane_id();
  return tw_from_lane(v, (from & (width - 1)) + (me & ~(width - 1)));
}
template <class T> TW_DEVICE T __shfl_up(T v, unsigned by, int width = warpSize) {
  const int me = __lane_id(), at = me - (int)by;
  return tw_from_lane(v, at < (me & ~(width - 1)) ? me : at);
}
template <class T> TW_DEVICE T __shfl_down(T v, unsigned by, int width = warpSize) {
  const int me = __lane_id();
  return tw_from_lane(v, (me & (width - 1)) + (int)by >= width ? me : me + (int)by);
}
template <class T> TW_DEVICE T __shfl_xor(T v, int mask, int width = warpSize) {
  const int me = __lane_id(), at = me ^ mask;
  return tw_from_lane(v, at >= ((me + width) & ~(width - 1)) ? me : at);
}
template <class T> TW_DEVICE T __shfl_sync(unsigned long long, T v, int from, int width = warpSize) {
  return __shfl(v, from, width);
}
template <class T> TW_DEVICE T __shfl_up_sync(unsigned long long, T v, unsigned by, int width = warpSize) {
  return __shfl_up(v, by, width);
}
template <class T> TW_DEVICE T __shfl_down_sync(unsigned long long, T v, unsigned by, int width = warpSize) {
  return __shfl_down(v, by, width);
}
template <class T> TW_DEVICE T __shfl_xor_sync(unsigned long long, T v, int mask, int width = warpSize) {
  return __shfl_xor(v, mask, width);
}

/* ---- atomics: relaxed; of the device, or with _system of all ---- */

#define TW_ATOMIC(NAME, T, HOW)                                                                                        \
  TW_DEVICE T NAME(T *p, T v) { return HOW(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }                        \
  TW_DEVICE T NAME##_system(T *p, T v) { return HOW(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
#define TW_ATOMIC_INTEGERS(NAME, HOW)                                                                                  \
  TW_ATOMIC(NAME, int, HOW)                                                                                            \
  TW_ATOMIC(NAME, unsigned, HOW)                                                                                       \
  TW_ATOMIC(NAME, unsigned long, HOW) TW_ATOMIC(NAME, unsigned long long, HOW) TW_ATOMIC(NAME, long long, HOW)
#define TW_ATOMIC_REALS(NAME, HOW) TW_ATOMIC(NAME, float, HOW) TW_ATOMIC(NAME, double, HOW)
TW_ATOMIC_INTEGERS(atomicAdd, __hip_atomic_fetch_add)
TW_ATOMIC_REALS(atomicAdd, __hip_atomic_fetch_add)
TW_ATOMIC_INTEGERS(atomicSub, __hip_atomic_fetch_sub)
TW_ATOMIC_INTEGERS(atomicMin, __hip_atomic_fetch_min)
TW_ATOMIC_REALS(atomicMin, __hip_atomic_fetch_min)
TW_ATOMIC_INTEGERS(atomicMax, __hip_atomic_fetch_max)
TW_ATOMIC_REALS(atomicMax, __hip_atomic_fetch_max)
TW_ATOMIC_INTEGERS(atomicAnd, __hip_atomic_fetch_and)
TW_ATOMIC_INTEGERS(atomicOr, __hip_atomic_fetch_or)
TW_ATOMIC_INTEGERS(atomicXor, __hip_atomic_fetch_xor)
TW_ATOMIC_INTEGERS(atomicExch, __hip_atomic_exchange)
TW_ATOMIC_REALS(atomicExch, __hip_atomic_exchange)
TW_DEVICE float atomicSub(float *p, float v) { return atomicAdd(p, -v); }
TW_DEVICE double atomicSub(double *p, double v) { return atomicAdd(p, -v); }
TW_DEVICE float unsafeAtomicAdd(float *p, float v) { return atomicAdd(p, v); }
TW_DEVICE double unsafeAtomicAdd(double *p, double v) { return atomicAdd(p, v); }
TW_DEVICE float safeAtomicAdd(float *p, float v) { return atomicAdd(p, v); }
TW_DEVICE double safeAtomicAdd(double *p, double v) { return atomicAdd(p, v); }
TW_DEVICE void atomicAddNoRet(float *p, float v) { atomicAdd(p, v); }
TW_DEVICE unsigned atomicInc(unsigned *p, unsigned v) {
  return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "agent");
}
TW_DEVICE unsigned atomicDec(unsigned *p, unsigned v) {
  return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "agent");
}
#define TW_ATOMIC_CAS(T)                                                                                               \
  TW_DEVICE T atomicCAS(T *p, T old, T v) {                                                                            \
    __hip_atomic_compare_exchange_strong(p, &old, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);    \
    return old;                                                                                                        \
  }                                                                                                                    \
  TW_DEVICE T atomicCAS_system(T *p, T old, T v) {                                                                     \
    __hip_atomic_compare_exchange_strong(p, &old, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);   \
    return old;                                                                                                        \
  }
TW_ATOMIC_CAS(int)
TW_ATOMIC_CAS(unsigned)
TW_ATOMIC_CAS(unsigned long)
TW_ATOMIC_CAS(unsigned long long)
TW_ATOMIC_CAS(long long)

/* ---- bits and numbers ---- */

TW_DEVICE int __float_as_int(float x) { return tw_any_bits<int>(x); }
TW_DEVICE unsigned __float_as_uint(float x) { return tw_any_bits<unsigned>(x); }
TW_DEVICE float __int_as_float(int x) { return tw_any_bits<float>(x); }
TW_DEVICE float __uint_as_float(unsigned x) { return tw_any_bits<float>(x); }
TW_DEVICE long long __double_as_longlong(double x) { return tw_any_bits<long long>(x); }
TW_DEVICE double __longlong_as_double(long long x) { return tw_any_bits<double>(x); }
TW_DEVICE int __double2hiint(double x) { return (int)(tw_any_bits<long long>(x) >> 32); }
TW_DEVICE int __double2loint(double x) { return (int)tw_any_bits<long long>(x); }
TW_DEVICE double __hiloint2double(int hi, int lo) { return tw_any_bits<double>((long long)hi << 32 | (unsigned)lo); }
TW_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
TW_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TW_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
TW_DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
TW_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
TW_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
TW_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
TW_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
TW_DEVICE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
TW_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
TW_DEVICE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
TW_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
TW_DEVICE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
TW_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
TW_DEVICE unsigned __sad(int a, int b, unsigned c) { return (unsigned)(a > b ? a - b : b - a) + c; }
TW_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
TW_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long all = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= (unsigned)(all >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return r;
}
TW_DEVICE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) << (n & 31) >> 32);
}
TW_DEVICE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
TW_DEVICE unsigned __bitextract_u32(unsigned x, unsigned at, unsigned n) { return __builtin_amdgcn_ubfe(x, at, n); }
TW_DEVICE float __int2float_rn(int x) { return (float)x; }
TW_DEVICE float __uint2float_rn(unsigned x) { return (float)x; }
TW_DEVICE double __int2double_rn(int x) { return (double)x; }
TW_DEVICE float __double2float_rn(double x) { return (float)x; }
TW_DEVICE int __float2int_rz(float x) { return (int)x; }
TW_DEVICE int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
TW_DEVICE int __float2int_rd(float x) { return (int)__builtin_floorf(x); }
TW_DEVICE int __float2int_ru(float x) { return (int)__builtin_ceilf(x); }
TW_DEVICE unsigned __float2uint_rz(float x) { return (unsigned)x; }
TW_DEVICE unsigned __float2uint_rn(float x) { return (unsigned)__builtin_rintf(x); }
TW_DEVICE long long clock64() { return (long long)__builtin_readcyclecounter(); }
TW_DEVICE long long clock() { return clock64(); }
TW_DEVICE long long wall_clock64() { return (long long)__builtin_amdgcn_s_memrealtime(); }
template <class T> TW_DEVICE T __ldg(const T *p) { return *p; }

/* ---- what a device cannot do here: prints are dropped, a failed assertion traps ---- */

template <class... A> TW_DEVICE int printf(const char *, A...) { return 0; }
extern "C" __device__ inline __attribute__((weak, noinline)) void __assert_fail(const char *, const char *, unsigned,
                                                                                const char *) {
  __builtin_trap();
}

/* ---- the host's side, declared ---- */

typedef enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotReady = 600,
  hipErrorUnknown = 999
} hipError_t;
typedef enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
} hipMemcpyKind;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
enum { hipStreamDefault = 0, hipStreamNonBlocking = 1, hipHostMallocDefault = 0, hipMemAttachGlobal = 1 };
typedef struct hipDeviceProp_t {
  char name[256], gcnArchName[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int warpSize, maxThreadsPerBlock, multiProcessorCount, clockRate, memoryClockRate, memoryBusWidth, major, minor;
  int maxThreadsDim[3], maxGridSize[3];
} hipDeviceProp_t;
extern "C" {
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = 0);
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
hipError_t hipFree(void *);
hipError_t hipHostFree(void *);
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t = 0);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = 0);
hipError_t hipDeviceSynchronize(void);
hipError_t hipSetDevice(int);
hipError_t hipGetDevice(int *);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *, int);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamCreateWithFlags(hipStream_t *, unsigned);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = 0);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
hipError_t hipDeviceReset(void);
}
template <class T> hipError_t hipMalloc(T **, size_t);
template <class T> hipError_t hipMallocManaged(T **, size_t, unsigned = hipMemAttachGlobal);
template <class T> hipError_t hipHostMalloc(T **, size_t, unsigned = hipHostMallocDefault);
template <class T>
hipError_t hipMemcpyToSymbol(const T &, const void *, size_t, size_t = 0, hipMemcpyKind = hipMemcpyHostToDevice);
template <class T>
hipError_t hipMemcpyFromSymbol(void *, const T &, size_t, size_t = 0, hipMemcpyKind = hipMemcpyDeviceToHost);
template <class F> hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *, F, int, size_t);
#define hipLaunchKernelGGL(kernel, blocks, threads, shared, stream, ...)                                               \
  (kernel)<<<(blocks), (threads), (shared), (stream)>>>(__VA_ARGS__)
