/* hip_cooperative_groups.h - groups of work-items: the block, its tiles of 1 to 64 lanes, the lanes that are on, the grid. */
#pragma once
#include "hip_runtime.h"

namespace cooperative_groups {
/* What lanes of one wave do together; `mask()` says which they are. */
template <class Group> struct tw_lanes {
  __device__ unsigned long long mask() const { return static_cast<const Group *>(this)->tw_mask(); }
  __device__ unsigned rank_() const { return static_cast<const Group *>(this)->thread_rank(); }
  __device__ unsigned size_() const { return static_cast<const Group *>(this)->size(); }
  /* The lane of the wave that is the n-th of the group. */
  __device__ int at(unsigned n) const {
    unsigned long long left = mask();
    while (n--) left &= left - 1;
    return __builtin_ctzll(left);
  }
  __device__ unsigned long long packed(unsigned long long lanes) const {
    unsigned long long left = mask(), out = 0;
    for (unsigned n = 0; left; n++, left &= left - 1)
      if (lanes & left & -left) out |= 1ull << n;
    return out;
  }
  __device__ void sync() const { __syncwarp(); }
  template <class T> __device__ T shfl(T v, int from) const { return tw_from_lane(v, at((unsigned)from % size_())); }
  template <class T> __device__ T shfl_up(T v, unsigned by) const {
    return tw_from_lane(v, at(rank_() < by ? rank_() : rank_() - by));
  }
  template <class T> __device__ T shfl_down(T v, unsigned by) const {
    return tw_from_lane(v, at(rank_() + by < size_() ? rank_() + by : rank_()));
  }
  template <class T> __device__ T shfl_xor(T v, unsigned by) const {
    return tw_from_lane(v, at((rank_() ^ by) < size_() ? rank_() ^ by : rank_()));
  }
  __device__ unsigned long long ballot(int p) const { return packed(__ballot(p)); }
  __device__ int any(int p) const { return (__ballot(p) & mask()) != 0; }
  __device__ int all(int p) const { return (__ballot(!p) & mask()) == 0; }
  template <class T> __device__ unsigned long long match_any(T v) const { return packed(__match_any_sync(mask(), v)); }
  template <class T> __device__ unsigned long long match_all(T v, int &all) const {
    return packed(__match_all_sync(mask(), v, &all));
  }
};

struct thread_block {
  static __device__ void sync() { __syncthreads(); }
  static __device__ unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static __device__ unsigned num_threads() { return size(); }
  static __device__ unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static __device__ dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static __device__ dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  static __device__ dim3 dim_threads() { return group_dim(); }
  static __device__ bool is_valid() { return true; }
};
TW_DEVICE thread_block this_thread_block() { return {}; }

template <unsigned Width, class Parent = thread_block> struct thread_block_tile {
  static_assert(Width && Width <= 64 && !(Width & (Width - 1)), "a tile has 1, 2, 4, ... 64 lanes");
  __device__ void sync() const { __syncwarp(); }
  static constexpr __device__ unsigned size() { return Width; }
  static constexpr __device__ unsigned num_threads() { return Width; }
  __device__ unsigned thread_rank() const { return thread_block::thread_rank() % Width; }
  __device__ unsigned meta_group_rank() const { return thread_block::thread_rank() / Width; }
  __device__ unsigned meta_group_size() const { return (thread_block::size() + Width - 1) / Width; }
  __device__ bool is_valid() const { return true; }
  template <class T> __device__ T shfl(T v, int from) const { return __shfl(v, from, Width); }
  template <class T> __device__ T shfl_up(T v, unsigned by) const { return __shfl_up(v, by, Width); }
  template <class T> __device__ T shfl_down(T v, unsigned by) const { return __shfl_down(v, by, Width); }
  template <class T> __device__ T shfl_xor(T v, unsigned mask) const { return __shfl_xor(v, mask, Width); }
  __device__ unsigned long long mask() const {
    return (Width == 64 ? ~0ull : (1ull << Width % 64) - 1) << (__lane_id() & ~(Width - 1));
  }
  __device__ unsigned long long ballot(int p) const { return (__ballot(p) & mask()) >> (__lane_id() & ~(Width - 1)); }
  __device__ int any(int p) const { return ballot(p) != 0; }
  __device__ int all(int p) const { return ballot(!p) == 0; }
  template <class T> __device__ unsigned long long match_any(T v) const {
    return __match_any_sync(mask(), v) >> (__lane_id() & ~(Width - 1));
  }
  template <class T> __device__ unsigned long long match_all(T v, int &all) const {
    return __match_all_sync(mask(), v, &all) >> (__lane_id() & ~(Width - 1));
  }
};
template <unsigned Width, class Parent> TW_DEVICE thread_block_tile<Width, Parent> tiled_partition(const Parent &) {
  return {};
}

struct coalesced_group : tw_lanes<coalesced_group> {
  unsigned long long on;
  __device__ explicit coalesced_group(unsigned long long lanes) : on(lanes) {}
  __device__ unsigned long long tw_mask() const { return on; }
  __device__ unsigned size() const { return (unsigned)__popcll(on); }
  __device__ unsigned num_threads() const { return size(); }
  __device__ unsigned thread_rank() const { return (unsigned)__popcll(on & ((1ull << __lane_id()) - 1)); }
  __device__ unsigned meta_group_rank() const { return 0; }
  __device__ unsigned meta_group_size() const { return 1; }
  __device__ bool is_valid() const { return true; }
};
TW_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
template <class Group> TW_DEVICE coalesced_group binary_partition(const Group &g, bool p) {
  const unsigned long long yes = __ballot(p) & g.mask();
  return coalesced_group(p ? yes : g.mask() & ~yes);
}

/* Any of the above whose size is known when it runs. */
struct thread_group {
  unsigned n, rank;
  bool whole; /* the block */
  __device__ thread_group(unsigned size, unsigned r, bool block) : n(size), rank(r), whole(block) {}
  __device__ thread_group(thread_block b) : n(b.size()), rank(b.thread_rank()), whole(true) {}
  template <unsigned Width, class P>
  __device__ thread_group(thread_block_tile<Width, P> t) : n(Width), rank(t.thread_rank()), whole(false) {}
  __device__ thread_group(coalesced_group c) : n(c.size()), rank(c.thread_rank()), whole(false) {}
  __device__ unsigned size() const { return n; }
  __device__ unsigned num_threads() const { return n; }
  __device__ unsigned thread_rank() const { return rank; }
  __device__ bool is_valid() const { return true; }
  __device__ void sync() const {
    if (whole)
      __syncthreads();
    else
      __syncwarp();
  }
};
TW_DEVICE thread_group tiled_partition(const thread_group &g, unsigned n) { return {n, g.rank % n, false}; }

/* Blocks of a grid wait for one another by counting: those of a launch must all be on the machine at once, as they are where
 * a cooperative launch succeeds. */
static __device__ unsigned tw_grid_arrived;
struct grid_group {
  static __device__ unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static __device__ unsigned long long size() { return num_blocks() * thread_block::size(); }
  static __device__ unsigned long long num_threads() { return size(); }
  static __device__ dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  static __device__ unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static __device__ unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  static __device__ bool is_valid() { return true; }
  static __device__ void sync() {
    __threadfence();
    __syncthreads();
    if (thread_block::thread_rank() == 0) {
      const unsigned n = (unsigned)num_blocks(), before = atomicAdd(&tw_grid_arrived, 1u);
      while (__hip_atomic_load(&tw_grid_arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < before - before % n + n)
        __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
    __threadfence();
  }
};
TW_DEVICE grid_group this_grid() { return {}; }

template <class Group> TW_DEVICE void sync(const Group &g) { g.sync(); }
template <class Group, class T> TW_DEVICE void memcpy_async(const Group &g, T *to, const T *from, size_t bytes) {
  for (size_t i = g.thread_rank(); i < bytes / sizeof(T); i += g.size()) to[i] = from[i];
}
template <class Group> TW_DEVICE void wait(const Group &g) { g.sync(); }
} // namespace cooperative_groups
