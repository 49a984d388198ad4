/* hip_runtime.h - what a source in HIP C++ needs to be compiled for the device without ROCm: words of the language, work-items,
 * vector types, shuffles and votes of 64 lanes, atomics, bits. Names and meanings are those of HIP's documentation. Of the host's
 * functions there are declarations, so that a file with its host code is understood; nothing of that is compiled.
 * Mathematical functions are clang's (__clang_hip_runtime_wrapper.h), which stand on ROCm's device libraries. */
#pragma once
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H

#ifdef __CLANG_HIP_RUNTIME_WRAPPER_H__
#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#endif
#include "hip_runtime_api.h"

#define TW_DEVICE_C extern "C" __device__ inline __attribute__((always_inline, nodebug))
TW_DEVICE_C void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
TW_DEVICE_C void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
TW_DEVICE_C void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }

/* Threads of a block, waves of a SIMD: as in ROCm's header. clang's own attribute has no effect for AMD GPUs. */
#define TW_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define TW_BOUNDS_2(threads, waves) __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define TW_BOUNDS_OF(one, two, name, ...) name
#define __launch_bounds__(...) TW_BOUNDS_OF(__VA_ARGS__, TW_BOUNDS_2, TW_BOUNDS_1, )(__VA_ARGS__)
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_SYMBOL(x) x

template <class To, class From> TW_BOTH To tw_any_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

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

/* The lanes whose value is equal to this lane's; all lanes, if they are all equal. */
template <class T> TW_DEVICE unsigned long long __match_any_sync(unsigned long long mask, T v) {
  unsigned long long left = mask & __activemask(), mine = 0;
  while (left) {
    const int first = __builtin_ctzll(left);
    const unsigned long long same = __ballot(tw_from_lane(v, first) == v) & mask;
    if (same >> __lane_id() & 1) mine = same;
    left &= ~same;
  }
  return mine;
}
template <class T> TW_DEVICE unsigned long long __match_any(T v) { return __match_any_sync(__activemask(), v); }
template <class T> TW_DEVICE unsigned long long __match_all_sync(unsigned long long mask, T v, int *all) {
  const unsigned long long on = mask & __activemask();
  *all = (__ballot(tw_from_lane(v, __builtin_ctzll(on)) == v) & on) == on;
  return *all ? on : 0;
}
template <class T> TW_DEVICE unsigned long long __match_all(T v, int *all) {
  return __match_all_sync(__activemask(), v, all);
}
#define TW_REDUCE(NAME, WITH)                                                                                          \
  template <class T> TW_DEVICE T __reduce_##NAME##_sync(unsigned long long mask, T v) {                                \
    unsigned long long left = mask & __activemask();                                                                   \
    T all = tw_from_lane(v, __builtin_ctzll(left));                                                                    \
    while (left &= left - 1) {                                                                                         \
      const T b = tw_from_lane(v, __builtin_ctzll(left));                                                              \
      all = WITH;                                                                                                      \
    }                                                                                                                  \
    return all;                                                                                                        \
  }
TW_REDUCE(add, all + b)
TW_REDUCE(min, b < all ? b : all)
TW_REDUCE(max, b > all ? b : all)
TW_REDUCE(and, all &b)
TW_REDUCE(or, all | b)
TW_REDUCE(xor, all ^ b)
TW_DEVICE int __hip_ds_permute(int at, int v) { return __builtin_amdgcn_ds_permute(at, v); }
TW_DEVICE int __hip_ds_bpermute(int at, int v) { return __builtin_amdgcn_ds_bpermute(at, v); }
TW_DEVICE float __hip_ds_permutef(int at, float v) {
  return tw_any_bits<float>(__builtin_amdgcn_ds_permute(at, tw_any_bits<int>(v)));
}
TW_DEVICE float __hip_ds_bpermutef(int at, float v) {
  return tw_any_bits<float>(__builtin_amdgcn_ds_bpermute(at, tw_any_bits<int>(v)));
}
#define __hip_ds_swizzle(v, pattern) __builtin_amdgcn_ds_swizzle(v, pattern)
template <int PATTERN> TW_DEVICE int __hip_ds_swizzle_N(int v) { return __builtin_amdgcn_ds_swizzle(v, PATTERN); }
#define __hip_move_dpp(v, control, rows, banks, bound) __builtin_amdgcn_mov_dpp(v, control, rows, banks, bound)
template <int CONTROL, int ROWS, int BANKS, bool BOUND> TW_DEVICE int __hip_move_dpp_N(int v) {
  return __builtin_amdgcn_mov_dpp(v, CONTROL, ROWS, BANKS, BOUND);
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
TW_DEVICE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
TW_DEVICE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
TW_DEVICE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
TW_DEVICE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
TW_DEVICE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
TW_DEVICE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
TW_DEVICE unsigned long long __bitextract_u64(unsigned long long x, unsigned at, unsigned n) {
  return n % 64 ? x >> at % 64 & ((1ull << n % 64) - 1) : 0;
}
TW_DEVICE unsigned long long __bitinsert_u64(unsigned long long a, unsigned long long b, unsigned at, unsigned n) {
  const unsigned long long mask = ((1ull << n % 64) - 1) << at % 64;
  return (a & ~mask) | (b << at % 64 & mask);
}
TW_DEVICE unsigned __bitinsert_u32(unsigned a, unsigned b, unsigned at, unsigned n) {
  const unsigned mask = ((1u << n % 32) - 1) << at % 32;
  return (a & ~mask) | (b << at % 32 & mask);
}
TW_DEVICE unsigned __bitextract_u32(unsigned x, unsigned at, unsigned n) { return __builtin_amdgcn_ubfe(x, at, n); }
#define TW_TO_INTEGER(NAME, F, I, X)                                                                                   \
  TW_DEVICE I __##NAME##_rn(F x) { return (I)__builtin_rint##X(x); }                                                   \
  TW_DEVICE I __##NAME##_rz(F x) { return (I)x; }                                                                      \
  TW_DEVICE I __##NAME##_rd(F x) { return (I)__builtin_floor##X(x); }                                                  \
  TW_DEVICE I __##NAME##_ru(F x) { return (I)__builtin_ceil##X(x); }
TW_TO_INTEGER(float2int, float, int, f)
TW_TO_INTEGER(float2uint, float, unsigned, f)
TW_TO_INTEGER(float2ll, float, long long, f)
TW_TO_INTEGER(float2ull, float, unsigned long long, f)
TW_TO_INTEGER(double2int, double, int, )
TW_TO_INTEGER(double2uint, double, unsigned, )
TW_TO_INTEGER(double2ll, double, long long, )
TW_TO_INTEGER(double2ull, double, unsigned long long, )
/* What cannot be held goes to the nearest, and from there to where it is asked to lie: between `to` and x's side. */
template <class F, class From, class Bits> TW_DEVICE F tw_toward(From x, int side) {
  const F near = (F)x;
  const __int128 back = (__int128)near, exact = (__int128)x;
  Bits bits = tw_any_bits<Bits>(near);
  const bool negative = bits >> (8 * sizeof bits - 1);
  if (side < 0 ? back > exact : side > 0 ? back < exact : negative ? back < exact : back > exact)
    bits = (side > 0) != negative ? bits + 1 : bits - 1;
  return tw_any_bits<F>(bits);
}
#define TW_TO_FLOAT(NAME, I, F, BITS)                                                                                  \
  TW_DEVICE F __##NAME##_rn(I x) { return (F)x; }                                                                      \
  TW_DEVICE F __##NAME##_rz(I x) { return tw_toward<F, I, BITS>(x, 0); }                                               \
  TW_DEVICE F __##NAME##_rd(I x) { return tw_toward<F, I, BITS>(x, -1); }                                              \
  TW_DEVICE F __##NAME##_ru(I x) { return tw_toward<F, I, BITS>(x, 1); }
TW_TO_FLOAT(int2float, int, float, unsigned)
TW_TO_FLOAT(uint2float, unsigned, float, unsigned)
TW_TO_FLOAT(ll2float, long long, float, unsigned)
TW_TO_FLOAT(ull2float, unsigned long long, float, unsigned)
TW_TO_FLOAT(ll2double, long long, double, unsigned long long)
TW_TO_FLOAT(ull2double, unsigned long long, double, unsigned long long)
TW_DEVICE double __int2double_rn(int x) { return (double)x; }
TW_DEVICE double __uint2double_rn(unsigned x) { return (double)x; }
TW_DEVICE float tw_float_toward(double x, int side) {
  const float near = (float)x;
  unsigned bits = tw_any_bits<unsigned>(near);
  const bool negative = bits >> 31;
  if (side < 0 ? near > x : side > 0 ? near < x : negative ? near < x : near > x)
    bits = (side > 0) != negative ? bits + 1 : bits - 1;
  return tw_any_bits<float>(bits);
}
TW_DEVICE float __double2float_rn(double x) { return (float)x; }
TW_DEVICE float __double2float_rz(double x) { return tw_float_toward(x, 0); }
TW_DEVICE float __double2float_rd(double x) { return tw_float_toward(x, -1); }
TW_DEVICE float __double2float_ru(double x) { return tw_float_toward(x, 1); }
TW_DEVICE long long clock64() { return (long long)__builtin_readcyclecounter(); }
TW_DEVICE long long clock() { return clock64(); }
TW_DEVICE long long wall_clock64() { return (long long)__builtin_amdgcn_s_memrealtime(); }
TW_DEVICE long long __clock64() { return clock64(); }
TW_DEVICE long long __clock() { return clock64(); }
template <class T> TW_DEVICE T __ldg(const T *p) { return *p; }
template <class T> TW_DEVICE T __ldca(const T *p) { return *p; }
template <class T> TW_DEVICE T __ldcg(const T *p) { return __builtin_nontemporal_load(p); }
template <class T> TW_DEVICE T __ldcs(const T *p) { return __builtin_nontemporal_load(p); }
template <class T> TW_DEVICE T __ldcv(const T *p) { return *(const volatile T *)p; }
template <class T> TW_DEVICE void __stcg(T *p, T v) { *p = v; }
template <class T> TW_DEVICE void __stcs(T *p, T v) { *p = v; }
template <class T> TW_DEVICE void __stwb(T *p, T v) { *p = v; }
template <class T> TW_DEVICE void __stwt(T *p, T v) { *p = v; }
TW_DEVICE void __trap() { __builtin_trap(); }
TW_DEVICE void abort() { __builtin_trap(); }
/* Of the compute unit: HW_ID's unit in its array, its array and its engine, XCC_ID's die. */
TW_DEVICE unsigned __smid() {
  const unsigned cu = __builtin_amdgcn_s_getreg(4 | 8 << 6 | 3 << 11),
                 se = __builtin_amdgcn_s_getreg(4 | 13 << 6 | 2 << 11);
  return (__builtin_amdgcn_s_getreg(20 | 3 << 11) << 3 | se) << 4 | cu;
}

/* ---- printing (printf_alloc.h); a failed assertion prints and traps ---- */

extern "C" __device__ int printf(const char *, ...) __attribute__((format(printf, 1, 2)));
extern "C" __device__ inline __attribute__((weak, noinline)) void __assert_fail(const char *what, const char *file,
                                                                                unsigned line, const char *function) {
  printf("%s:%u: %s: assertion `%s' failed\n", file, line, function, what);
  __builtin_trap();
}
