/* hip_words.h - the words of HIP's language that clang's own headers do not define. */
#pragma once
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
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#define __HIP_PLATFORM_HCC__ 1
#define __HIP_ARCH_HAS_WARP_SHUFFLE__ 1
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 4
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 60400000
/* Without lines of their own: what they become is on the line that calls them. */
#define TW_DEVICE static __device__ inline __attribute__((always_inline, nodebug))
#define TW_MEMBER __device__ __host__ inline __attribute__((always_inline, nodebug))
#define TW_BOTH static TW_MEMBER
