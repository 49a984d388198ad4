/* tile_fragments.cuh - packed weights in the order of the instructions' registers (shuffle=mma, gemm_packed.h), and their products by mma.sync.
 *
 * A unit is 16 rows of B and `k` of their weights, 512 bytes: thread t has 16 bytes, and these are its registers of `steps` products of 16 along k.
 * So a warp reads a unit without conflicts, and A stays in its natural order. Units of the same rows follow one another, so a
 * stage of 16 rows is one copy. */
#pragma once
#include "tile_slices_products.cuh"

namespace tw {

/* Codes as exact numbers: `whole` times them is the weight. Large: a scale of the warp needs two multiplications. */
template <class Type> struct exact : slice_of<Type> {
  static constexpr float whole = 64;
  static constexpr u32 two_63 = 63 * 0x00800080u; /* added to the exponents of `lift` and `minus`: sums are then 2^-6 of the right ones */
  static TW_FN bool large(u32) { return false; }
  static TW_FN void numbers(const vec16 &x, int j, u32, bool, u32 (&to)[4]) {
    slice_of<Type>::numbers(x, j, 0, to);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = fma_two(to[i], slice_of<Type>::lift(j, i) + two_63, slice_of<Type>::minus + two_63);
  }
};
template <> struct exact<mxfp4> : slice_of<mxfp4> {
  static TW_FN bool large(u32 by) { return any_of_warp(by & 0x80808080u); }
  /* `by` is the scale's byte. */
  static TW_FN void numbers(const vec16 &x, int j, u32 by, bool is_large, u32 (&to)[4]) {
    if (!is_large) slice_of<mxfp4>::numbers(x, j, two_of_scale<false>(by), to);
    else weights<mxfp4_large>::numbers(x.word[j], 0, two_of_scale<true>(by), to);
  }
};

/* The j-th product's registers, as exact<> has them. `by` is the `factor` of each of the thread's two rows, of mxfp4. */
template <class Type> struct fragment {
  static constexpr int steps = slice_of<Type>::eights, k = 16 * steps;
  static TW_FN u32 factor(u32, int, bool) { return 0; }
  template <bool Large> static TW_FN void numbers(const vec16 &x, int j, const u32 (&)[2], u32 (&to)[4]) { exact<Type>::numbers(x, j, 0, false, to); }
};
template <> struct fragment<mxfp4> {
  static constexpr int steps = slice_of<mxfp4>::eights, k = 16 * steps;
  /* The i-th of four scales as two bf16. */
  static TW_FN u32 factor(u32 scales, int i, bool large) {
    const u32 by = scales >> 8 * i & 255u;
    return large ? two_of_scale<true>(by) : two_of_scale<false>(by);
  }
  template <bool Large> static TW_FN void numbers(const vec16 &x, int j, const u32 (&by)[2], u32 (&to)[4]) {
    weights<mxfp4>::bare(x.word[j], to);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if constexpr (Large) to[i] = fma_two(to[i], 0x7E807E80u, 0x80008000u);
      to[i] = fma_two(to[i], by[i % 2], 0x80008000u);
    }
  }
};

/* Units of Rows rows and Step weights of each in shared memory. */
template <class Type, int Rows, int Step> struct fragments {
  static constexpr int tiles = Rows / 16, units = Step / fragment<Type>::k;
  static constexpr u32 unit_bytes = 512, tile_bytes = units * unit_bytes, bytes = tiles * tile_bytes;
  u32 at;
  /* This thread's codes of a unit of the 16 rows from `row` on. */
  TW_FN u32 place(int row, int unit) const { return at + (u32)(row / 16) * tile_bytes + (u32)unit * unit_bytes + (u32)thread_of_warp() * 16; }
};
/* Words of scales of the stages' rows, as they are in memory: of each 16 rows one word each, Words times. */
template <int Stages, int Rows, int Words> struct scales_of_fragments {
  static constexpr int tiles = Rows / 16, units = Words;
  static constexpr u32 unit_bytes = 64, tile_bytes = Words * unit_bytes, stage_bytes = tiles * tile_bytes, bytes = Stages * stage_bytes;
  u32 at;
  TW_FN u32 place(int slot, int row, int word) const { return at + (u32)slot * stage_bytes + (u32)(row / 16) * tile_bytes + (u32)word * unit_bytes + (u32)(row % 16) * 4; }
  TW_FN scales_of_fragments operator[](int slot) const { return {at + (u32)slot * stage_bytes}; }
  /* By all threads, before the first copy: a part of a stage that is not copied has no NaN. */
  TW_FN void clear(int threads) const {
    for (u32 i = threadIdx.x * 16u; i < bytes; i += (u32)threads * 16u) store_shared16(at + i, 0, 0, 0, 0);
    written();
  }
};
/* Units in memory: `all` of each 16 rows, from `row` on, of n. A stage begins at the unit `first`. Its units that do not exist are not
 * copied: such rows are dropped, and A is 0 there. */
template <int Bytes> struct units_in_memory {
  const u8 *from;
  int tiles, all;
  TW_FN units_in_memory(const void *units, int row, int n, int all_) : from((const u8 *)units + (i64)(row / 16) * all_ * Bytes), tiles((n - row) / 16), all(all_) {}
  template <class Stage> TW_FN u32 bytes(Stage to, int first) const { return (u32)(min(to.tiles, tiles) * min(to.units, all - first)) * Bytes; }
  template <class Stage> TW_FN void copy(Stage to, int first, barrier b) const {
    static_assert(Stage::unit_bytes == Bytes, "units as in memory");
    const u32 each = (u32)min(to.units, all - first) * Bytes;
    for (int i = 0; i < min(to.tiles, tiles); i++) copy_bytes(to.at + (u32)i * to.tile_bytes, from + ((i64)i * all + first) * Bytes, each, b);
  }
};

/* Where a thread reads A's pieces of 32 along k (load_matrices), in a tile at 0, from `piece` on. */
template <int Pieces, class A> struct places_of_a {
  static constexpr int alike = Pieces % 2 ? Pieces : 2; /* a later panel has the same layout */
  u32 a[Pieces];
  TW_FN places_of_a(int piece) {
#pragma unroll
    for (int p = 0; p < Pieces; p++)
      a[p] = p < alike ? settled(A{0}.chunk(thread_of_warp() % 8, (piece + p) * 4 + thread_of_warp() / 8)) : a[p % alike] + (u32)(p / alike * A::panel_bytes);
  }
};

/* As multiply_few, with natural rows of A and B. `codes` is the thread's place in the warp's first unit; the next 16 rows begin Tile_bytes later.
 * `by` are words of scales of the thread's rows. What the next piece needs is read before a piece is multiplied. */
template <class Type, bool Large, int Pieces, int Together, u32 Tile_bytes, int Rows, int Few, class A, int Words>
TW_FN void multiply_fragments(sums_few<Rows, Few> &sums, A a, u32 codes, const places_of_a<Pieces, A> &at, const u32 (&by)[Rows / 8][Words]) {
  using f = fragment<Type>;
  constexpr int each = f::k / 32;
  static_assert(Pieces % each == 0, "a unit is multiplied by one warp");
  sums_few<Rows, Few> some;
  vec16 raw[2][Rows / 16];
  u32 x[2][Few / 8][4];
  const auto read = [&](int p) {
#pragma unroll
    for (int r = 0; r < Rows / 16; r++)
      if (p % each == 0) raw[p / each % 2][r] = load_shared16(codes + (u32)r * Tile_bytes + (u32)(p / each) * 512);
#pragma unroll
    for (int c = 0; c < Few / 8; c++) load_matrices(x[p % 2][c], a.at + at.a[p] + (u32)(8 * c * A::span));
  };
  read(0);
#pragma unroll
  for (int p = 0; p < Pieces; p++) {
    if (p + 1 < Pieces) read(p + 1);
    if constexpr (Together)
      if (p % Together == 0) clear(some);
    auto &to = *(Together ? &some : &sums);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      u32 w[Rows / 16][4];
#pragma unroll
      for (int r = 0; r < Rows / 16; r++) {
        const u32 two[2] = {f::factor(by[2 * r][p / 4 % Words], p % 4, Large), f::factor(by[2 * r + 1][p / 4 % Words], p % 4, Large)};
        f::template numbers<Large>(raw[p / each % 2][r], 2 * (p % each) + h, two, w[r]);
      }
#pragma unroll
      for (int r = 0; r < Rows / 16; r++)
#pragma unroll
        for (int c = 0; c < Few / 8; c++) multiply(to.value[r][c], w[r], x[p % 2][c][2 * h], x[p % 2][c][2 * h + 1], bf16{}, bf16{});
    }
    if constexpr (Together)
      if ((p + 1) % Together == 0)
#pragma unroll
        for (int r = 0; r < Rows / 16; r++)
#pragma unroll
          for (int c = 0; c < Few / 8; c++)
#pragma unroll
            for (int i = 0; i < 4; i++) sums.value[r][c][i] += float_of(by[2 * r + i / 2][p / Together % Words]) * some.value[r][c][i];
  }
}
/* To `room`, as right sums. */
template <class Type, class Room, int Rows, int Few> TW_FN void lay_fragments(Room room, const sums_few<Rows, Few> &s, int part, int row) {
  room.lay(s, part, row + thread_of_warp() / 4, exact<Type>::whole, [](int i) { return i; });
}

}  // namespace tw
