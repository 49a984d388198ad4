/* clang.h - what CUDA's headers declare and kernels of tiles use, for clang without the toolkit: it makes PTX of a kernel, which is
 * never run. Included before the source. */
#pragma once
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__

struct thread_index {
  __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_tid_x(); }
};
struct block_index {
  __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_ctaid_x(); }
};
struct grid_size {
  __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_nctaid_x(); }
};
struct {
  thread_index x;
} static const __device__ threadIdx;
struct {
  block_index x;
} static const __device__ blockIdx;
struct {
  grid_size x;
} static const __device__ gridDim;

__device__ inline void __syncwarp() { __nvvm_bar_warp_sync(0xffffffffu); }
__device__ inline void __threadfence() { __nvvm_membar_gl(); }
__device__ inline int __shfl_sync(unsigned mask, int x, int lane) {
  return __nvvm_shfl_sync_idx_i32(mask, x, lane, 31);
}
__device__ inline float __shfl_xor_sync(unsigned mask, float x, int bits) {
  return __nvvm_shfl_sync_bfly_f32(mask, x, bits, 31);
}
__device__ inline bool __any_sync(unsigned mask, bool x) { return __nvvm_vote_any_sync(mask, x); }
__device__ inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
__device__ inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__device__ inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__device__ inline float fminf(float a, float b) { return __builtin_fminf(a, b); }
extern "C" __device__ float erff(float);
extern "C" __device__ float tanhf(float);
__device__ inline int min(int a, int b) { return a < b ? a : b; }
__device__ inline int max(int a, int b) { return a < b ? b : a; }
