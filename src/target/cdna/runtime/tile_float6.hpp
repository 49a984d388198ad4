/* tile_float6.hpp - products of 6-bit floats (e2m3, e3m2) without scales, for gfx950.
 *
 * Rows of codes along k, 32 codes in 24 bytes: a lane multiplies such a block of a row. Ways to LDS and from there
 * (HipKittens, appendix F), each a type that `shared6` has:
 *
 *   x4_b64     copies of 16 bytes of a lane; three reads of 8 bytes, which are aligned and free of conflicts
 *   x4_b128    copies of 16 bytes; a read of 16 and one of 8. Every second block begins with its 8 bytes, so lanes choose
 *   x4_b96     copies of 16 bytes; two reads of 12, which are not aligned, and rows without swizzle
 *   x3_b96     copies of 12 bytes, 16 apart in LDS; two reads of 12
 *   x1_b64     copies of 4 bytes; as x4_b64 */
#pragma once
#include "tile_mma.hpp"

namespace tw {
#ifdef __gfx950__

/* 32 codes, the first in the lowest bits: how matrix instructions call their format. */
struct e2m3x32 {
  static constexpr int format = 2;
  u32 word[6];
};
struct e3m2x32 {
  static constexpr int format = 3;
  u32 word[6];
};

/* A lane's block: as the 8 registers that the compiler's builtins take. Only six of them are used. */
struct block6 { i32x8 words; };

#define TW_F6(A, B, SIDE, DEEP, OUT, NAME)                                                                             \
  TW_MMA_AS(block6, A, B, SIDE, DEEP, 1, OUT,                                                                          \
            return __builtin_amdgcn_mfma_scale_f32_##NAME##_f8f6f4(b.words, a.words, c, B::format, A::format, 0, 0,    \
                                                                   0, 0);)
#define TW_F6_BOTH(A, B)                                                                                               \
  TW_F6(A, B, 16, 4, f32x4, 16x16x128);                                                                                \
  TW_F6(A, B, 32, 2, f32x16, 32x32x64)
TW_F6_BOTH(e2m3x32, e2m3x32);
TW_F6_BOTH(e2m3x32, e3m2x32);
TW_F6_BOTH(e3m2x32, e2m3x32);
TW_F6_BOTH(e3m2x32, e3m2x32);

/* Rows of 96 bytes: the halves of each 32 bytes change places in rows 8 to 15 of each 16. So reads of 8 bytes of 16 rows
 * use all banks. */
struct flip_rows {
  static constexpr u32 span = 16 * 96;
  static constexpr TW_FN u32 of(u32 o) { return o ^ (o / 96 % 16 / 8 * 16); }
};

typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32x3 u32x3_anywhere __attribute__((aligned(4)));

TW_FN block6 block_of(u32x2 x, u32x2 y, u32x2 z) {
  return {(i32x8){(i32)x[0], (i32)x[1], (i32)y[0], (i32)y[1], (i32)z[0], (i32)z[1], 0, 0}};
}
TW_FN block6 block_of(u32x3 x, u32x3 y) {
  return {(i32x8){(i32)x[0], (i32)x[1], (i32)x[2], (i32)y[0], (i32)y[1], (i32)y[2], 0, 0}};
}
template <class V> TW_FN V lds_at(const TW_LOCAL u8 *p) { return *(const TW_LOCAL V *)p; }

/* A way: bytes that a lane copies (`piece`), their distance in LDS (`slot`), bytes of a block in LDS, the swizzle, the
 * reads of a block and their places, and the block of what they got. */
struct x4_b64 {
  static constexpr u32 piece = 16, slot = 16, block = 24;
  static constexpr int reads = 3;
  using swizzle = flip_rows;
  static TW_FN u32 place(u32 b, int read) { return b * block + 8 * (u32)read; }
  static TW_FN block6 get(const TW_LOCAL u8 *const (&at)[reads], u32 down, u32) {
    return block_of(lds_at<u32x2>(at[0] + down), lds_at<u32x2>(at[1] + down), lds_at<u32x2>(at[2] + down));
  }
};
struct x1_b64 : x4_b64 { static constexpr u32 piece = 4, slot = 4; };
struct x4_b128 : x4_b64 {
  static constexpr int reads = 2;
  static TW_FN u32 place(u32 b, int read) { return b * block + (read ? 16 - b % 2 * 16 : b % 2 * 8); }
  static TW_FN block6 get(const TW_LOCAL u8 *const (&at)[reads], u32 down, u32 b) {
    const u32x4 four = lds_at<u32x4>(at[0] + down);
    const u32x2 two = lds_at<u32x2>(at[1] + down), low = {four[0], four[1]}, high = {four[2], four[3]};
    return b % 2 ? block_of(two, low, high) : block_of(low, high, two);
  }
};
struct x4_b96 : x4_b64 {
  static constexpr int reads = 2;
  using swizzle = plain;
  static TW_FN u32 place(u32 b, int read) { return b * block + 12 * (u32)read; }
  static TW_FN block6 get(const TW_LOCAL u8 *const (&at)[reads], u32 down, u32) {
    return block_of(lds_at<u32x3_anywhere>(at[0] + down), lds_at<u32x3_anywhere>(at[1] + down));
  }
};
struct x3_b96 {
  static constexpr u32 piece = 12, slot = 16, block = 32;
  static constexpr int reads = 2;
  using swizzle = xor_bits<10, 7, 4>;
  static TW_FN u32 place(u32 b, int read) { return b * block + 16 * (u32)read; }
  static TW_FN block6 get(const TW_LOCAL u8 *const (&at)[reads], u32 down, u32) {
    return block_of(lds_at<u32x3>(at[0] + down), lds_at<u32x3>(at[1] + down));
  }
};

/* Rows of Cols blocks. */
template <class Type, int Rows, int Cols, class Way> struct shared6 {
  using type = Type;
  using way = Way;
  using swizzle = typename Way::swizzle;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr u32 row_bytes = (u32)Cols * Way::block, bytes = Rows * row_bytes, piece = Way::piece, slot = Way::slot;
  static_assert(Cols == 4, "swizzles are of rows of four blocks");
  TW_LOCAL u8 *at;
};

/* As for other tiles (tile_mma.hpp). */
template <class Product, int Count, int Steps, class Type, int Rows, int Cols, class Way>
TW_FN void load(operand<Product, Count, Steps> &to, shared6<Type, Rows, Cols, Way> from, int first, int step) {
  using tile = shared6<Type, Rows, Cols, Way>;
  constexpr u32 side = Product::side, down = side * tile::row_bytes;
  const u32 lane = (u32)thread_of_group(), row = lane % side;
#pragma unroll
  for (int s = 0; s < Steps; s++) {
    const u32 block = (u32)(step + s) * Product::deep + lane / side;
    const TW_LOCAL u8 *at[Way::reads];
#pragma unroll
    for (int r = 0; r < Way::reads; r++)
      at[r] = from.at + (u32)first * tile::row_bytes + tile::swizzle::of(row * tile::row_bytes + Way::place(block, r));
#pragma unroll
    for (int i = 0; i < Count; i++) to.value[i][s] = Way::get(at, (u32)i * down, block);
  }
}

/* LDS address of read i of a hand-scheduled loop: the reads of a block, then the reads for the next product along k. */
template <class Product, class Type, int Rows, int Cols, class Way>
TW_FN u32 read_address(shared6<Type, Rows, Cols, Way> from, int first, int i) {
  using tile = shared6<Type, Rows, Cols, Way>;
  const u32 lane = (u32)thread_of_group(), block = (u32)(i / Way::reads) * Product::deep + lane / Product::side;
  return (u32)(__UINTPTR_TYPE__)from.at + (u32)first * tile::row_bytes +
         tile::swizzle::of(lane % Product::side * tile::row_bytes + Way::place(block, i % Way::reads));
}

#endif
}  // namespace tw
