/* tile_back.hpp - shared memory of attention's backward pass in one kernel, whose loop is assembly (loop/back.c).
 *
 * Matrices are stored in blocks of 32 rows x 16 columns of 16 bits, one after the other along a row. Each read of an operand is then at a constant distance from the first, and one address serves all. In a block, row r is the r-th 32 bytes; the halves of rows 16 .. 31 are exchanged. Blocks are `block` bytes apart, 128 more than they have. So reads along rows
 * (16 bytes of a lane, row l % 32) and down them (8 bytes of a lane, 4 rows x 16 columns of 16 lanes) meet no bank twice.
 *
 * dS lies likewise, keys as rows, in blocks of 16 queries; of a row the four chunks of 8 bytes are where their number ^ (row / 4) % 4
 * says: what lanes write, 8 bytes of 64 rows, meets no bank twice either. */
#pragma once
#include "tile_attention.hpp"

#ifdef __gfx950__
namespace tw {

template <class Product, int Width, int Tiles, int Groups> struct back_memory {
  using type = typename Product::type;
  static constexpr u32 block = 1152, tile = Width / 16 * block, keys = Tiles * Groups * tile, slopes = Tiles * Groups * 2 * block;
  static constexpr u32 of_queries = keys, of_slopes = of_queries + 4 * tile, bytes = of_slopes + 2 * slopes;
  /* columns of dQ, 32 at a time; a wave computes the columns of its number, for all keys or a part of them */
  static constexpr int wide = Width / 32;
  static constexpr int parts = Groups / wide;
  static_assert(Product::side == 32 && Groups % wide == 0 && Tiles * Groups % parts == 0, "a group has columns of dQ");
  TW_LOCAL u8 *at;

  TW_FN u32 base() const { return (u32)(__UINTPTR_TYPE__)at; }
  /* Source of lane l of a copy, which stores to 16 l of a block. */
  static TW_FN u32 copied(u32 pitch) {
    const u32 lane = (u32)thread_of_group();
    return lane / 2 * pitch + (lane % 2 ^ lane / 32) * 16;
  }
  /* The group's own keys; and zeros as dS of the second stage, which is multiplied before it is written. */
  TW_FN void begin(const type *from, i64 pitch, int first, int rows) const {
    const int have = max(min(rows - first, Tiles * 32), 0), group = group_of_block();
    const u32 bytes = (u32)pitch * 2;
    const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(
        (void *)(from + first * pitch), 0, have ? (u32)(have - 1) * bytes + Width * 2 : 0, 0x00020000);
#pragma unroll
    for (int t = 0; t < Tiles; t++)
#pragma unroll
      for (u32 i = 0; i < Width / 16; i++)
        __builtin_amdgcn_raw_ptr_buffer_load_lds(r, at + (u32)(group * Tiles + t) * tile + i * block, 16, copied(bytes),
                                                 (u32)t * 32 * bytes + i * 32, 0, 0);
    for (u32 o = (u32)thread_of_block() * 16; o < slopes; o += Groups * group_threads * 16)
      *(TW_LOCAL u32x4 *)(at + of_slopes + slopes + o) = (u32x4){0, 0, 0, 0};
  }
  /* Addresses of a lane, in the order of gpu/amd/loop.h. */
  static TW_FN u32 along() {
    const u32 lane = (u32)thread_of_group(), row = lane % 32;
    return row * 32 + (lane / 32 ^ row / 16) * 16;
  }
  static TW_FN u32 across(u32 half) {
    const u32 lane = (u32)thread_of_group(), in = lane % 16;
    return lane / 16 % 2 * block + (lane / 32 * 4 + in / 4) * 32 + (in % 4 * 8 ^ half * 16);
  }
  TW_FN u32 rows_q() const { return base() + of_queries + along(); }
  TW_FN u32 rows_k() const { return base() + (u32)group_of_block() * Tiles * tile + along(); }
  TW_FN u32 down_q(u32 half) const { return base() + of_queries + across(half); }
  TW_FN u32 down_k(u32 half) const {
    const u32 group = (u32)group_of_block();
    return base() + group / wide * (keys / parts) + group % wide * 2 * block + across(half);
  }
  TW_FN u32 slopes_of(u32 half) const {
    const u32 lane = (u32)thread_of_group(), in = lane % 16, group = (u32)group_of_block();
    return base() + of_slopes + group / wide * (slopes / parts) + lane / 16 % 2 * block + (lane / 32 * 4 + in / 4) * 32 +
           (in % 4 ^ half * 2 ^ lane / 32) * 8;
  }
  TW_FN u32 slopes_to(u32 half) const {
    const u32 lane = (u32)thread_of_group(), row = lane % 32;
    return base() + of_slopes + (u32)group_of_block() * Tiles * 2 * block + row * 32 + (half * 2 ^ lane / 32 ^ row / 4 % 4) * 8;
  }
  TW_FN u32 copied_to() const { return base() + of_queries + (u32)group_of_block() * (Width / 16 / Groups) * block; }
  static TW_FN u32 copied_from(u32 pitch) { return copied(pitch) + (u32)group_of_block() * (Width / 16 / Groups) * 32; }
};

/* A uniform value in a scalar register. Compilers know that it is uniform, drop the builtin, but multiply in a vector
 * register. */
TW_FN u32 for_all(float x) {
  u32 one;
  asm volatile("v_readfirstlane_b32 %0, %1" : "=s"(one) : "v"(x));
  return one;
}
TW_FN u32x4 words_of_matrix(const void *from, u32 bytes) {
  return (u32x4){(u32)(u64)from, (u32)((u64)from >> 32) & 0xffffu, bytes, 0x00020000};
}

}  // namespace tw
#endif
