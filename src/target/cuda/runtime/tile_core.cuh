/* tile_core.cuh - functions of the tile library except products, for NVIDIA GPUs from Hopper (sm_90a) on.
 *
 * docs/reference/tile-library.md is the manual. A `shared` tile is in shared memory; a `tensor` is a matrix in global memory that tiles
 * are copied from and to; a `barrier` signals that copies have arrived or that a buffer is free; a group is a warpgroup: 128 threads that multiply together; a cluster is a set of blocks that can copy to each other. No header of CUDA's is needed: types and instructions are our
 * own, so that a kernel compiles in well under a second. Instructions come from the PTX ISA (mbarrier,
 * cp.async.bulk.tensor, setmaxnreg).
 *
 * Invariants: shared tiles start at multiples of 1024 bytes. Their rows are cut into panels of at most 128 bytes, the rows
 * of a panel are contiguous, and its chunks of 16 bytes are swizzled as copies and the multiplier expect it (for
 * 128 bytes: chunk ^= row % 8). Template parameters are words with small letters in them: a kernel's `let`s are macros. */
#pragma once

#define TW_FN __device__ __forceinline__
/* A kernel, its threads, and how many of its blocks a multiprocessor shall hold; a tensor as its parameter. */
#define TW_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define TW_TENSOR const __grid_constant__ tw::tensor

#include "tile_values.h"

namespace tw {

/* ---- values ---- */

TW_FN u32 bits_of(float x) { return __float_as_uint(x); }
TW_FN float float_of(u32 x) { return __uint_as_float(x); }

TW_FN u32 packed_bf16(float low, float high) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
TW_FN u32 packed_f16(float low, float high) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
TW_FN float number(f16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
TW_FN float erf_of(float x) { return erff(x); }
TW_FN float tanh_of(float x) { return tanhf(x); }

TW_FN i32 rounded(float x) {
  i32 r;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
TW_FN i32 round_within(float x, i32 low, i32 high) { return min(max(rounded(x), low), high); }

TW_FN float exp2_fast(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
TW_FN float log2_fast(float x) {
  float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
/* The larger one; NaN if one of them is. */
TW_FN float max_or_nan(float x, float y) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
TW_FN float rsqrt_fast(float x) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/* ---- 16 bytes of global memory, for code that works on rows ---- */

TW_FN vec16 load16(const void *p) {
  vec16 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p));
  return v;
}
/* For data that is read once: it is evicted from the caches first. */
TW_FN vec16 load16_once(const void *p) {
  vec16 v;
  asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p));
  return v;
}
TW_FN void store16(void *p, vec16 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :: "l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3]) : "memory");
}
/* For data that is not read again soon. */
TW_FN void store16_once(void *p, vec16 v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :: "l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

/* ---- shared memory ---- */

/* The block's dynamic shared memory, from its first multiple of 1024 bytes on: ask for 1024 more than is carved. */
struct arena {
  u32 next;
  TW_FN arena() {
    u32 base;
    extern __shared__ u8 tw_dynamic[];
    u64 generic = (u64)tw_dynamic;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(base) : "l"(generic));
    next = (base + 1023u) & ~1023u;
  }
  template <class Tile> TW_FN Tile take() {
    Tile t{next};
    next += Tile::bytes;
    return t;
  }
};

template <class Type, int Rows, int Cols> struct shared {
  using type = Type;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr int row_bytes = Cols * (int)sizeof(Type);
  static constexpr int span = row_bytes < 128 ? row_bytes : 128; /* bytes of a row of a panel */
  static constexpr int panels = row_bytes / span;
  static constexpr int panel_cols = span / (int)sizeof(Type);
  static constexpr int panel_bytes = Rows * span;
  static constexpr u32 bytes = Rows * row_bytes;
  static_assert(span == 32 || span == 64 || span == 128, "rows of a shared tile have 32, 64 or n x 128 bytes");
  static_assert(row_bytes % span == 0, "rows of a shared tile have 32, 64 or n x 128 bytes");
  static_assert(Rows % 8 == 0, "a shared tile has a multiple of 8 rows");
  u32 at;
  /* Address of the 16 bytes `chunk` of a row. */
  TW_FN u32 chunk(int row, int chunk_of_row) const {
    constexpr int n = span / 16;
    constexpr int shift = span == 128 ? 0 : span == 64 ? 1 : 2;
    int panel = chunk_of_row / n, c = chunk_of_row % n;
    return at + (u32)(panel * panel_bytes + row * span + ((c ^ ((row >> shift) & (n - 1))) << 4));
  }
};

/* 64 rows of a panel, as a tile: the operand of one warpgroup. */
template <class Type, int Rows, int Cols>
TW_FN shared<Type, 64, shared<Type, Rows, Cols>::panel_cols> part(shared<Type, Rows, Cols> t, int panel, int row) {
  using tile = shared<Type, Rows, Cols>;
  return {t.at + (u32)(panel * tile::panel_bytes + row * tile::span)};
}
/* One panel: all rows of panel_cols columns. */
template <class Type, int Rows, int Cols>
TW_FN shared<Type, Rows, shared<Type, Rows, Cols>::panel_cols> panel(shared<Type, Rows, Cols> t, int panel) {
  return {t.at + (u32)(panel * shared<Type, Rows, Cols>::panel_bytes)};
}

/* Numbers one after the other. */
struct two {
  float low, high;
};
template <int Count> struct line {
  static constexpr u32 bytes = Count * 4u;
  u32 at;
  TW_FN two pair(int i) const {
    two v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.low), "=f"(v.high) : "r"(at + (u32)i * 4u));
    return v;
  }
  TW_FN float number(int i) const {
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at + (u32)i * 4u));
    return v;
  }
};

/* Tiles, one after the other: the stages of a pipeline. */
template <class Tile, int Count> struct many {
  static constexpr u32 bytes = Tile::bytes * Count;
  static_assert(Tile::bytes % 1024 == 0, "stages start at multiples of 1024 bytes");
  u32 at;
  TW_FN Tile operator[](int i) const { return Tile{at + (u32)i * Tile::bytes}; }
};

TW_FN void store_shared16(u32 at, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
TW_FN void store_shared(u32 at, u64 x) { asm volatile("st.shared.u64 [%0], %1;" ::"r"(at), "l"(x) : "memory"); }
TW_FN void store_shared(u32 at, u16 x) { asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(x) : "memory"); }
TW_FN vec16 load_shared16(u32 at) {
  vec16 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "r"(at));
  return v;
}

/* ---- threads ---- */

constexpr int group_threads = 128;

TW_FN int thread_of_block() { return (int)threadIdx.x; }
TW_FN int block_of_grid() { return (int)blockIdx.x; }
TW_FN int blocks_of_grid() { return (int)gridDim.x; }
TW_FN int thread_of_group() { return (int)(threadIdx.x % 128); }
/* Tells the compiler that a value is uniform in a warp. */
TW_FN int group_of_block() { return __shfl_sync(0xffffffffu, (int)(threadIdx.x / 128), 0); }

TW_FN bool any_of_warp(bool x) { return __any_sync(0xffffffffu, x); }

TW_FN void sync_block() { __syncthreads(); }
/* Barrier of the `threads` threads that pass the same id (1..15). */
TW_FN void sync(int id, int threads) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory"); }

/* Arrives at the barrier of sync(id, threads) without waiting. */
TW_FN void arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

/* Registers move from producer to consumer warpgroups. Count is the new number per thread. */
template <int Count> TW_FN void setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(Count)); }
template <int Count> TW_FN void setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(Count)); }

/* Blocks of a cluster can copy to all of its blocks at once (multicast) and signal each other. */
TW_FN int rank_of_cluster() {
  u32 r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return (int)r;
}
TW_FN void sync_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
/* The same in two steps, by all threads. */
TW_FN void arrive_cluster() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
TW_FN void wait_cluster() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

/* Programmatic dependent launch (PDL). A kernel with `overlap` in its header may start before the previous kernel has ended.
 * It must not touch memory before griddepcontrol_wait(). Once all blocks have called griddepcontrol_launch_dependents(),
 * the next kernel may start. */
TW_FN void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
TW_FN void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
/* Names of older versions, for kernels that use them. */
#define give_registers setmaxnreg_dec
#define take_registers setmaxnreg_inc
#define earlier_ended griddepcontrol_wait
#define next_may_begin griddepcontrol_launch_dependents
#define rank_of_team rank_of_cluster
#define sync_team sync_cluster
#define copy_team copy_multicast
/* Delays this thread by some nanoseconds. */
TW_FN void linger(int ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }

/* ---- blocks that wait for others ---- */

/* The number before, which no other block gets. */
TW_FN u32 next_of(u32 *count) { return atomicAdd(count, 1u); }
/* Counts what this thread has written; a thread that waits for the count sees it. */
TW_FN void announce(u32 *count) { asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory"); }
TW_FN void wait_for(const u32 *count, u32 n) {
  for (u32 there = 0; there < n;) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(count) : "memory");
}

/* ---- barriers ---- */

/* A phase of a barrier ends when `count` arrivals and all announced bytes are there. Waiting names the parity of the
 * phase: 0 for the first. */
struct barrier {
  static constexpr u32 bytes = 8;
  u32 at;
  TW_FN void init(int count) const { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(count) : "memory"); }
  TW_FN void arrive() const { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory"); }
  TW_FN void arrive_at(int rank) const { /* of the cluster */
    asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [r]; }"
                 :: "r"(at), "r"(rank) : "memory");
  }
  /* With all that this thread wrote into the memory of block `rank`, which waits by wait_for_writes. */
  TW_FN void arrive_after_writes(int rank) const {
    asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }" ::"r"(at), "r"(rank) : "memory");
  }
  TW_FN void wait_for_writes(u32 parity) const {
    asm volatile("{\n.reg .pred p;\nTW_WAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%0], %1;\n@p bra TW_DONE;\nbra "
                 "TW_WAIT;\nTW_DONE:\n}" ::"r"(at), "r"(parity) : "memory");
  }
  /* When this thread's copies of numbers are there. */
  TW_FN void arrive_after_copies() const {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
  }
  TW_FN void expect(u32 count_of_bytes) const { /* and arrive */
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(count_of_bytes) : "memory");
  }
  TW_FN void wait(u32 parity) const {
    asm volatile("{\n.reg .pred p;\nTW_WAIT:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra TW_DONE;\nbra TW_WAIT;\nTW_DONE:\n}"
                 :: "r"(at), "r"(parity) : "memory");
  }
};
template <int Count> struct barriers {
  static constexpr u32 bytes = 8 * Count;
  u32 at;
  TW_FN barrier operator[](int i) const { return barrier{at + (u32)i * 8u}; }
};
/* Call this after one thread has initialized barriers and before any thread uses them. A sync of the block or cluster follows. */
TW_FN void barriers_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* A place in a ring of stages, and the parity of its round. */
template <int Stages> struct ring {
  int slot = 0;
  u32 parity = 0;
  TW_FN void next() {
    if (++slot == Stages) {
      slot = 0;
      parity ^= 1;
    }
  }
  TW_FN void skip(int count) {
    int to = slot + count;
    parity ^= (u32)(to / Stages) & 1u;
    slot = to % Stages;
  }
};

/* ---- copies between tensors and shared tiles, asynchronous ---- */

/* Rasterization: the position of tile t in a grid of `rows` x `cols` tiles. band > 0: bands of `band` rows, column by
 * column in a band. band < 0: bands of -band columns, row by row. Tiles that run at the same time then share operands
 * in L2. */
template <int band> TW_FN place place_of(int t, int rows, int cols) {
  constexpr int width = band > 0 ? band : -band;
  const int across = band > 0 ? cols : rows, along = band > 0 ? rows : cols;
  const int first = t / (width * across) * width, size = min(along - first, width), in = t - first * across;
  const int a = first + in % size, b = in / size;
  return band > 0 ? place{a, b} : place{b, a};
}

/* Stream-K: equal shares of k steps. Whole rounds of tiles come first, one tile for each block. The remaining steps,
 * less than two rounds, are divided evenly over all blocks, wherever tiles begin. A block's first share may be the
 * end of a tile that another block began; that other block finishes the tile. */
struct even_shares {
  int tiles, whole, rounds, round = 0, at;
  int tile = 0, begin = 0, steps = 0;
  TW_FN even_shares(int tiles_, int whole_) : tiles(tiles_), whole(whole_) {
    const int blocks = blocks_of_grid();
    rounds = tiles % blocks ? max(tiles / blocks - 1, 0) : tiles / blocks;
    at = first(block_of_grid());
  }
  TW_FN int first(int block) const { return (int)((i64)(tiles - rounds * blocks_of_grid()) * whole * block / blocks_of_grid()); }
  TW_FN bool next() {
    begin = 0, steps = whole;
    if (round < rounds) {
      tile = round++ * blocks_of_grid() + block_of_grid();
    } else {
      tile = rounds * blocks_of_grid() + at / whole, begin = at % whole;
      steps = min(whole - begin, first(block_of_grid() + 1) - at);
      at += steps;
    }
    /* Tells the compiler that a value is uniform in a warp. */
    tile = __shfl_sync(0xffffffffu, tile, 0), begin = __shfl_sync(0xffffffffu, begin, 0), steps = __shfl_sync(0xffffffffu, steps, 0);
    return steps > 0;
  }
};

struct alignas(64) tensor { u64 opaque[16]; }; /* made by the host; a parameter of the kernel */

TW_FN void prefetch(const tensor &t) { asm volatile("prefetch.tensormap [%0];" :: "l"(&t) : "memory"); }

/* Brings bytes of a row, a multiple of 16, to the L2. */
TW_FN void prefetch_row(const void *from, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

TW_FN void copy_panel(u32 to, const tensor &from, int row, int col, barrier b) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :: "r"(to), "l"(&from), "r"(col), "r"(row), "r"(b.at) : "memory");
}
TW_FN void copy_panel_multicast(u32 to, const tensor &from, int row, int col, barrier b, u16 ranks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(to), "l"(&from), "r"(col), "r"(row), "r"(b.at), "h"(ranks) : "memory");
}
/* Loads the tile whose first element is (row, col) of the tensor by TMA; elements outside arrive as zeros. One thread
 * calls. The tensor's box is rows x panel_cols of the tile. */
template <class Type, int Rows, int Cols>
TW_FN void copy(shared<Type, Rows, Cols> to, const tensor &from, int row, int col, barrier b) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++) copy_panel(to.at + p * tile::panel_bytes, from, row, col + p * tile::panel_cols, b);
}
/* From matrix `plane` of several; the box is rows x panel_cols x 1. */
template <class Type, int Rows, int Cols>
TW_FN void copy_plane(shared<Type, Rows, Cols> to, const tensor &from, int plane, int row, int col, barrier b) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(to.at + p * tile::panel_bytes), "l"(&from), "r"(col + p * tile::panel_cols), "r"(row), "r"(plane), "r"(b.at)
                 : "memory");
}
/* A box of one panel of a tensor [n][z][y][x][channel]: as many rows as the box has places. */
template <class Type, int Rows, int Cols>
TW_FN void copy_box(shared<Type, Rows, Cols> to, const tensor &from, int n, int z, int y, int x, int channel, barrier b) {
  static_assert(shared<Type, Rows, Cols>::panels == 1, "a box is one panel");
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
               ::"r"(to.at), "l"(&from), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(n), "r"(b.at)
               : "memory");
}
/* Multicast: loads part `part` of Parts of the rows to the same place in all blocks of the cluster that `ranks`
 * names. Each of these blocks' barriers counts the bytes. The tensor's box is rows / Parts x panel_cols. */
template <int Parts, class Type, int Rows, int Cols>
TW_FN void copy_multicast(shared<Type, Rows, Cols> to, const tensor &from, int row, int col, barrier b, int part, u16 ranks) {
  using tile = shared<Type, Rows, Cols>;
  static_assert(Rows % (8 * Parts) == 0, "parts of a tile have a multiple of 8 rows");
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    copy_panel_multicast(to.at + p * tile::panel_bytes + part * (Rows / Parts) * tile::span, from, row + part * (Rows / Parts),
                    col + p * tile::panel_cols, b, ranks);
}

/* Part `part` of Parts of the rows, which begins at (row, col) of the tensor; the tensor's box is rows / Parts x panel_cols. */
template <int Parts, class Type, int Rows, int Cols>
TW_FN void copy_part(shared<Type, Rows, Cols> to, const tensor &from, int row, int col, barrier b, int part) {
  using tile = shared<Type, Rows, Cols>;
  static_assert(Rows % (8 * Parts) == 0, "parts of a tile have a multiple of 8 rows");
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    copy_panel(to.at + p * tile::panel_bytes + part * (Rows / Parts) * tile::span, from, row, col + p * tile::panel_cols, b);
}

/* Of a tensor [batch][row][head][col]: rows of one head. The box is panel_cols x 1 x rows x 1. */
template <class Type, int Rows, int Cols>
TW_FN void copy_head(shared<Type, Rows, Cols> to, const tensor &from, int batch, int row, int head, int col, barrier b) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];"
                 ::"r"(to.at + p * tile::panel_bytes), "l"(&from), "r"(col + p * tile::panel_cols), "r"(head), "r"(row), "r"(batch), "r"(b.at)
                 : "memory");
}
template <class Type, int Rows, int Cols>
TW_FN void store_head(const tensor &to, int batch, int row, int head, int col, shared<Type, Rows, Cols> from) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];"
                 ::"l"(&to), "r"(col + p * tile::panel_cols), "r"(head), "r"(row), "r"(batch), "r"(from.at + p * tile::panel_bytes)
                 : "memory");
}

/* The same of a tensor [row][head][col]. */
template <class Type, int Rows, int Cols> TW_FN void copy_head(shared<Type, Rows, Cols> to, const tensor &from, int row, int head, int col, barrier b) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to.at + p * tile::panel_bytes),
                 "l"(&from), "r"(col + p * tile::panel_cols), "r"(head), "r"(row), "r"(b.at)
                 : "memory");
}
template <class Type, int Rows, int Cols> TW_FN void store_head(const tensor &to, int row, int head, int col, shared<Type, Rows, Cols> from) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&to), "r"(col + p * tile::panel_cols), "r"(head),
                 "r"(row), "r"(from.at + p * tile::panel_bytes)
                 : "memory");
}

/* Bytes that follow one another in memory: their number, and both places, are multiples of 16. */
TW_FN void copy_bytes(u32 to, const void *from, u32 count, barrier b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(count), "r"(b.at) : "memory");
}
template <int Count> TW_FN void copy(line<Count> to, const float *from, barrier b) {
  static_assert(Count % 4 == 0, "a line is copied in pieces of 16 bytes");
  copy_bytes(to.at, from, to.bytes, b);
}

/* The i-th number of a line, by any thread; 0, and nothing is read, where there is none. */
template <int Count> TW_FN void copy_number(line<Count> to, int i, const float *from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to.at + (u32)i * 4u), "l"(from), "r"(there ? 4 : 0) : "memory");
}

/* Adds to four numbers in memory that begin at a multiple of 16 bytes, each by itself, in any order with others. */
TW_FN void add_in_memory(float *to, float a, float b, float c, float d) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}

/* Stores a panel to the tensor by TMA; elements outside are dropped. One thread calls, after `written` and a sync. */
template <class Type, int Rows, int Cols>
TW_FN void store(const tensor &to, int row, int col, shared<Type, Rows, Cols> from) {
  using tile = shared<Type, Rows, Cols>;
#pragma unroll
  for (int p = 0; p < tile::panels; p++)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&to), "r"(col + p * tile::panel_cols), "r"(row), "r"(from.at + p * tile::panel_bytes) : "memory");
}
TW_FN void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Until at most Count committed stores still read their tile. This suffices at the end of a kernel, which ends after its writes. */
template <int Count> TW_FN void store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(Count) : "memory"); }
template <int Count> TW_FN void store_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(Count) : "memory"); }
/* Makes this thread's writes to shared memory visible to TMA and wgmma, after a following sync (proxy fence). */
TW_FN void written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Copies a tile by the threads of a warpgroup, asynchronously, in pieces of Bytes bytes along its rows; pitches are
 * multiples of them. Elements outside of the matrix arrive as zeros. Call arrive_after_copies() after it, and
 * `written` in the threads that wait. */
template <int Bytes, class Type, int Rows, int Cols>
TW_FN void copy_pieces(shared<Type, Rows, Cols> to, const Type *from, i64 pitch, int row, int col, int rows, int cols) {
  constexpr int pieces = shared<Type, Rows, Cols>::row_bytes / Bytes, size = (int)sizeof(Type);
  for (int i = thread_of_group(); i < Rows * pieces; i += group_threads) {
    const int r = i / pieces, byte = i % pieces * Bytes;
    const int have = row + r < rows ? min(max((cols - col) * size - byte, 0), Bytes) : 0;
    const Type *at = have ? from + (row + r) * pitch + col + byte / size : from;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to.chunk(r, byte / 16) + (u32)(byte % 16)), "l"(at), "n"(Bytes), "r"(have)
                 : "memory");
  }
}

/* An element on its way in: f32 becomes tf32, to nearest. */
template <class Type> TW_FN Type arriving(Type x) { return x; }
TW_FN tf32 arriving(tf32 x) {
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x.bits) : "f"(float_of(x.bits)));
  return x;
}

/* Copies a tile by the 128 threads of a warpgroup, from any address and pitches: element (row, col) is at from[row *
 * down + col * right]. Rows and columns outside of the matrix become zeros. `written` and a sync must follow. */
template <class Type, int Rows, int Cols>
TW_FN void copy_by_group(shared<Type, Rows, Cols> to, const Type *from, i64 down, i64 right, int row, int col, int rows,
                         int cols) {
  using tile = shared<Type, Rows, Cols>;
  constexpr int chunks = tile::row_bytes / 16, each = 16 / (int)sizeof(Type);
  for (int i = thread_of_group(); i < Rows * chunks; i += group_threads) {
    /* Neighbouring threads copy neighbours in memory, in either layout. */
    const int r = right == 1 ? i / chunks : i % Rows, c = right == 1 ? i % chunks : i / Rows;
    union {
      Type element[each];
      u32 word[4];
    } v;
    v.word[0] = v.word[1] = v.word[2] = v.word[3] = 0;
    if (row + r < rows)
#pragma unroll
      for (int e = 0; e < each; e++)
        if (col + c * each + e < cols) v.element[e] = arriving(from[(row + r) * down + (col + c * each + e) * right]);
    store_shared16(to.chunk(r, c), v.word[0], v.word[1], v.word[2], v.word[3]);
  }
}

}  // namespace tw
