/* hip_cooperative_groups.h - groups within a workgroup: the block, its tiles of 1 to 64 lanes. Grids do not synchronize here. */
#pragma once
#include "hip_runtime.h"

namespace cooperative_groups {
struct thread_block {
  static __device__ void sync() { __syncthreads(); }
  static __device__ unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static __device__ unsigned num_threads() { return size(); }
  static __device__ unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static __device__ dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
};
TW_DEVICE thread_block this_thread_block() { return {}; }
template <unsigned N, class Parent = thread_block> struct thread_block_tile {
  static_assert(N && N <= 64 && !(N & (N - 1)), "a tile has 1, 2, 4, ... 64 lanes");
  __device__ void sync() const { __syncwarp(); }
  static constexpr __device__ unsigned size() { return N; }
  static constexpr __device__ unsigned num_threads() { return N; }
  __device__ unsigned thread_rank() const { return thread_block::thread_rank() % N; }
  __device__ unsigned meta_group_rank() const { return thread_block::thread_rank() / N; }
  __device__ unsigned meta_group_size() const { return (thread_block::size() + N - 1) / N; }
  template <class T> __device__ T shfl(T v, int from) const { return __shfl(v, from, N); }
  template <class T> __device__ T shfl_up(T v, unsigned by) const { return __shfl_up(v, by, N); }
  template <class T> __device__ T shfl_down(T v, unsigned by) const { return __shfl_down(v, by, N); }
  template <class T> __device__ T shfl_xor(T v, unsigned mask) const { return __shfl_xor(v, mask, N); }
  __device__ unsigned long long mask() const {
    return (N == 64 ? ~0ull : (1ull << N % 64) - 1) << (__lane_id() & ~(N - 1));
  }
  __device__ unsigned long long ballot(int p) const { return (__ballot(p) & mask()) >> (__lane_id() & ~(N - 1)); }
  __device__ int any(int p) const { return ballot(p) != 0; }
  __device__ int all(int p) const { return ballot(!p) == 0; }
};
template <unsigned N, class Parent> TW_DEVICE thread_block_tile<N, Parent> tiled_partition(const Parent &) {
  return {};
}
template <class Group> TW_DEVICE void sync(const Group &g) { g.sync(); }
} // namespace cooperative_groups
