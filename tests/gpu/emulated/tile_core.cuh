/* tile_core.cuh - the library's own tile_core.cuh ("tile_core_gpu.cuh" here) with its instructions in C++. */
#pragma once
#include "machine.h"

#define TW_FN __device__ __forceinline__
#include "tile_values.h"

namespace tw {

inline u32 rounded(float x, int drop) { /* to nearest, ties to even */
  const u32 bits = __float_as_uint(x), least = 1u << drop;
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : bits + (least / 2 - 1 + (bits >> drop & 1));
}
TW_FN u32 packed_bf16(float low, float high) { return rounded(low, 16) >> 16 | (rounded(high, 16) & 0xffff0000u); }
TW_FN u32 packed_f16(float low, float high) {
  const _Float16 x = (_Float16)low, y = (_Float16)high;
  return (u32)__builtin_bit_cast(u16, x) | (u32)__builtin_bit_cast(u16, y) << 16;
}
TW_FN float number(f16 x) { return (float)__builtin_bit_cast(_Float16, x.bits); }
TW_FN i32 rounded(float x) { return (i32)rintf(x); }
TW_FN i32 round_within(float x, i32 low, i32 high) { return (i32)fminf(fmaxf(rintf(x), (float)low), (float)high); }
TW_FN float exp2_fast(float x) { return exp2f(x); }
TW_FN float log2_fast(float x) { return log2f(x); }
TW_FN float max_or_nan(float x, float y) { return y > x || y != y ? y : x; }
TW_FN float rsqrt_fast(float x) { return 1 / sqrtf(x); }
TW_FN vec16 load16(const void *p) { return *(const vec16 *)p; }
TW_FN vec16 load16_once(const void *p) { return *(const vec16 *)p; }
TW_FN void store16(void *p, vec16 v) { *(vec16 *)p = v; }
TW_FN void store16_once(void *p, vec16 v) { *(vec16 *)p = v; }
TW_FN void store_shared16(u32 at, u32 a, u32 b, u32 c, u32 d) { *(vec16 *)emulated::shared(at, 16) = vec16{{a, b, c, d}}; }
TW_FN void store_shared(u32 at, u64 x) { memcpy(emulated::shared(at, 8), &x, 8); }
TW_FN void store_shared(u32 at, u16 x) { memcpy(emulated::shared(at, 2), &x, 2); }
TW_FN vec16 load_shared16(u32 at) { return *(vec16 *)emulated::shared(at, 16); }
TW_FN void add_in_memory(float *to, float a, float b, float c, float d) { to[0] += a, to[1] += b, to[2] += c, to[3] += d; }
TW_FN u32 next_of(u32 *count) { return (*count)++; }
TW_FN void announce(u32 *count) { ++*count; }
TW_FN void wait_for(const u32 *count, u32 n) {
  if (*count < n) emulated::wrong("waits for a block that has not begun");
}
struct two {
  float low, high;
};
template <int Count> struct line {
  static constexpr u32 bytes = Count * 4u;
  u32 at;
  TW_FN two pair(int i) const {
    two v;
    memcpy(&v, emulated::shared(at + (u32)i * 4u, 8), 8);
    return v;
  }
};
struct arena {
  u32 next = 1024;
  template <class Tile> TW_FN Tile take() {
    Tile t{next};
    next += Tile::bytes;
    return t;
  }
};

} // namespace tw

/* The GPU's have other names. */
#define packed_bf16 gpu_packed_bf16
#define packed_f16 gpu_packed_f16
#define number gpu_number
#define round_within gpu_round_within
#define rounded gpu_rounded
#define exp2_fast gpu_exp2_fast
#define log2_fast gpu_log2_fast
#define max_or_nan gpu_max_or_nan
#define rsqrt_fast gpu_rsqrt_fast
#define load16 gpu_load16
#define load16_once gpu_load16_once
#define store16 gpu_store16
#define store16_once gpu_store16_once
#define store_shared16 gpu_store_shared16
#define store_shared gpu_store_shared
#define load_shared16 gpu_load_shared16
#define add_in_memory gpu_add_in_memory
#define barrier gpu_barrier
#define barriers gpu_barriers
#define barriers_ready gpu_barriers_ready
#define prefetch gpu_prefetch
#define prefetch_row gpu_prefetch_row
#define griddepcontrol_wait gpu_griddepcontrol_wait
#define griddepcontrol_launch_dependents gpu_griddepcontrol_launch_dependents
#define linger gpu_linger
#define written gpu_written
#define sync gpu_sync
#define arrive gpu_arrive
#define setmaxnreg_dec gpu_setmaxnreg_dec
#define setmaxnreg_inc gpu_setmaxnreg_inc
#define copy_bytes gpu_copy_bytes
#define copy_head gpu_copy_head
#define store_head gpu_store_head
#define store gpu_store
#define store_commit gpu_store_commit
#define store_wait_read gpu_store_wait_read
#define store_wait gpu_store_wait
#define next_of gpu_next_of
#define announce gpu_announce
#define wait_for gpu_wait_for
#define arena gpu_arena
#define two gpu_two
#define line gpu_line
#include "tile_core_gpu.cuh"
#undef packed_bf16
#undef packed_f16
#undef number
#undef round_within
#undef rounded
#undef exp2_fast
#undef log2_fast
#undef max_or_nan
#undef rsqrt_fast
#undef load16
#undef load16_once
#undef store16
#undef store16_once
#undef store_shared16
#undef store_shared
#undef load_shared16
#undef add_in_memory
#undef next_of
#undef announce
#undef wait_for
#undef arena
#undef two
#undef line
#undef barrier
#undef barriers
#undef barriers_ready
#undef prefetch
#undef prefetch_row
#undef griddepcontrol_wait
#undef griddepcontrol_launch_dependents
#undef linger
#undef written
#undef sync
#undef arrive
#undef setmaxnreg_dec
#undef setmaxnreg_inc
#undef copy_bytes
#undef copy_head
#undef store_head
#undef store
#undef store_commit
#undef store_wait_read
#undef store_wait

/* ---- Hopper's barriers and copies of tiles. Copies arrive at once ---- */

namespace tw {

struct barrier {
  static constexpr u32 bytes = 8;
  u32 at;
  TW_FN void init(int count) const { emulated::init_barrier(at, count); }
  TW_FN void arrive() const { emulated::arrive(at, 1, 0); }
  TW_FN void expect(u32 bytes) const { emulated::arrive(at, 1, bytes); }
  TW_FN void arrive_after_copies() const {
    emulated::commit();
    emulated::wait(0);
    emulated::arrive(at, 1, 0);
  }
  TW_FN void wait(u32 parity) const { emulated::wait_phase(at, parity); }
};
template <int Count> struct barriers {
  static constexpr u32 bytes = 8 * Count;
  u32 at;
  TW_FN barrier operator[](int i) const { return barrier{at + (u32)i * 8u}; }
};
TW_FN void barriers_ready() {}
TW_FN void griddepcontrol_wait() {}
TW_FN void griddepcontrol_launch_dependents() {}
TW_FN void linger(int) {}
TW_FN void written() {}
TW_FN void prefetch(const tensor &) {}
TW_FN void prefetch_row(const void *, u32) {}

TW_FN void sync(int id, int threads) { emulated::sync_named(id, threads); }
TW_FN void arrive(int id, int threads) { emulated::arrive_named(id, threads); }
template <int Count> TW_FN void setmaxnreg_dec() {}
template <int Count> TW_FN void setmaxnreg_inc() {}

/* Calls f(place in memory or NULL, place in shared memory) for each element of part `part` of Parts of a tile's rows. */
template <int Parts, class Type, int Rows, int Cols, class F>
void for_elements(shared<Type, Rows, Cols> tile, const tensor &of, int batch, int row, int head, int col, int part, F f) {
  constexpr int each = 16 / (int)sizeof(Type);
  emulated::matrix m;
  memcpy(&m, &of, sizeof m);
  if (m.element != (int)sizeof(Type) || m.box_rows != Rows / Parts || m.box_cols != shared<Type, Rows, Cols>::panel_cols ||
      m.swizzle != shared<Type, Rows, Cols>::span)
    emulated::wrong("a tensor map that does not fit the tile");
  for (int r = 0; r < Rows / Parts; r++)
    for (int c = 0; c < Cols; c++) {
      const bool inside = row + r < m.rows && col + c < m.cols && batch < m.batches && head < m.heads;
      char *at = (char *)m.data + batch * m.batch_pitch + head * m.head_pitch + (row + r) * m.pitch + (col + c) * (long)sizeof(Type);
      f(inside ? at : nullptr, (char *)emulated::memory + tile.chunk(part * (Rows / Parts) + r, c / each) + c % each * sizeof(Type));
    }
}
template <int Parts, class Type, int Rows, int Cols>
void copy_rows(shared<Type, Rows, Cols> to, const tensor &from, int batch, int row, int head, int col, barrier b, int part) {
  for_elements<Parts>(to, from, batch, row, head, col, part, [](const char *at, char *place) {
    if (at) memcpy(place, at, sizeof(Type));
    else memset(place, 0, sizeof(Type));
  });
  emulated::arrive(b.at, 0, -(long)shared<Type, Rows, Cols>::bytes / Parts);
}
template <class Type, int Rows, int Cols>
void copy_head(shared<Type, Rows, Cols> to, const tensor &from, int batch, int row, int head, int col, barrier b) {
  copy_rows<1>(to, from, batch, row, head, col, b, 0);
}
template <int Parts, class Type, int Rows, int Cols>
void copy_part(shared<Type, Rows, Cols> to, const tensor &from, int row, int col, barrier b, int part) {
  copy_rows<Parts>(to, from, 0, row, 0, col, b, part);
}
inline void copy_bytes(u32 to, const void *from, u32 count, barrier b) {
  memcpy(emulated::shared(to, 16), from, count);
  emulated::arrive(b.at, 0, -(long)count);
}
template <class Type, int Rows, int Cols> void copy(shared<Type, Rows, Cols> to, const tensor &from, int row, int col, barrier b) {
  copy_head(to, from, 0, row, 0, col, b);
}
template <class Type, int Rows, int Cols>
void store_head(const tensor &to, int batch, int row, int head, int col, shared<Type, Rows, Cols> from) {
  for_elements<1>(from, to, batch, row, head, col, 0, [](char *at, const char *place) {
    if (at) memcpy(at, place, sizeof(Type));
  });
}
template <class Type, int Rows, int Cols> void store(const tensor &to, int row, int col, shared<Type, Rows, Cols> from) {
  store_head(to, 0, row, 0, col, from);
}
TW_FN void store_commit() {}
template <int Count> TW_FN void store_wait_read() {}
template <int Count> TW_FN void store_wait() {}

} // namespace tw
