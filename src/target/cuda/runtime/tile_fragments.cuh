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
    if (!is_large) slice_of<mxfp4>::numbers(x, j, by * 0x00800080u + 126 * 0x00800080u, to);
    else weights<mxfp4_large>::numbers(x.word[j], 0, (by == 255 ? 0x7FC0u : max(by << 7, 0x40u)) * 0x00010001u, to);
  }
};

/* The j-th product's registers, as exact<> has them. `by` is the `factor` of each of the thread's two rows: of mxfp4, the j-th of four scales. */
template <class Type> struct fragment {
  static constexpr int steps = slice_of<Type>::eights, k = 16 * steps;
  static TW_FN u32 factor(u32, int, bool) { return 0; }
  static TW_FN void numbers(const vec16 &x, int j, const u32 (&)[2], bool, u32 (&to)[4]) { exact<Type>::numbers(x, j, 0, false, to); }
};
template <> struct fragment<mxfp4> {
  static constexpr int steps = slice_of<mxfp4>::eights, k = 16 * steps;
  static TW_FN u32 factor(u32 scales, int j, bool large) {
    const u32 by = scales >> 8 * j & 255u;
    return large ? (by == 255 ? 0x7FC0u : max(by << 7, 0x40u)) * 0x00010001u : by * 0x00800080u + 126 * 0x00800080u;
  }
  static TW_FN void numbers(const vec16 &x, int j, const u32 (&by)[2], bool large, u32 (&to)[4]) {
    weights<mxfp4>::bare(x.word[j], to);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (large) to[i] = fma_two(to[i], 0x7E807E80u, 0x80008000u);
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
/* A stage of weights: `all` units of each 16 rows of n, from `row` and the unit `first` on. What there is not keeps its place, undefined: rows are
 * dropped, and A is 0 there. */
struct stage_of_fragments {
  const u8 *from;
  int tiles, all;
  TW_FN stage_of_fragments(const u8 *codes, int row, int n, int all_) : from(codes + (i64)(row / 16) * all_ * 512), tiles((n - row) / 16), all(all_) {}
  template <class Type, int Rows, int Step> TW_FN u32 bytes(fragments<Type, Rows, Step> to, int first) const {
    return (u32)(min(to.tiles, tiles) * min(to.units, all - first)) * to.unit_bytes;
  }
  template <class Type, int Rows, int Step> TW_FN void copy(fragments<Type, Rows, Step> to, int first, barrier b) const {
    const u32 each = (u32)min(to.units, all - first) * to.unit_bytes;
    for (int i = 0; i < min(to.tiles, tiles); i++) copy_bytes(to.at + (u32)i * to.tile_bytes, from + ((i64)i * all + first) * 512, each, b);
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

/* As multiply_few, with natural rows of A and B. `codes` is the thread's place in the warp's first unit; the next 16 rows begin Tile_bytes later. */
template <class Type, int Pieces, int Together, u32 Tile_bytes, int Rows, int Few, class A, class Factor>
TW_FN void multiply_fragments(sums_few<Rows, Few> &sums, A a, u32 codes, const places_of_a<Pieces, A> &at, bool large, Factor factor) {
  constexpr int each = fragment<Type>::k / 32;
  static_assert(Pieces % each == 0, "a unit is multiplied by one warp");
  sums_few<Rows, Few> some;
#pragma unroll
  for (int p = 0; p < Pieces; p += each) {
    vec16 raw[Rows / 16];
#pragma unroll
    for (int r = 0; r < Rows / 16; r++) raw[r] = load_shared16(codes + (u32)r * Tile_bytes + (u32)(p / each) * 512);
#pragma unroll
    for (int q = 0; q < each; q++) {
      u32 x[Few / 8][4];
#pragma unroll
      for (int f = 0; f < Few / 8; f++) load_matrices(x[f], a.at + at.a[p + q] + (u32)(8 * f * A::span));
      if constexpr (Together)
        if ((p + q) % Together == 0) clear(some);
      auto &to = *(Together ? &some : &sums);
#pragma unroll
      for (int r = 0; r < Rows / 16; r++) {
        u32 by[2] = {0, 0};
        if constexpr (!Together) by[0] = factor(2 * r, p + q), by[1] = factor(2 * r + 1, p + q);
#pragma unroll
        for (int h = 0; h < 2; h++) {
          u32 w[4];
          fragment<Type>::numbers(raw[r], 2 * q + h, by, large, w);
#pragma unroll
          for (int f = 0; f < Few / 8; f++) multiply(to.value[r][f], w, x[f][2 * h], x[f][2 * h + 1], bf16{}, bf16{});
        }
      }
      if constexpr (Together)
        if ((p + q + 1) % Together == 0)
#pragma unroll
          for (int r = 0; r < Rows / 16; r++)
#pragma unroll
            for (int f = 0; f < Few / 8; f++)
#pragma unroll
              for (int i = 0; i < 4; i++) sums.value[r][f][i] += factor(2 * r + i / 2, (p + q) / Together) * some.value[r][f][i];
    }
  }
}
/* To `room`, as right sums. */
template <class Type, class Room, int Rows, int Few> TW_FN void lay_fragments(Room room, const sums_few<Rows, Few> &s, int part, int row) {
  const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
#pragma unroll
  for (int r = 0; r < Rows / 16; r++)
#pragma unroll
    for (int f = 0; f < Few / 8; f++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        store_shared(room.place(part, 8 * f + 2 * right + i % 2, row + 16 * r + 8 * (i / 2) + down), bits_of(s.value[r][f][i] * exact<Type>::whole));
}

}  // namespace tw
