/* tile_few.cuh - functions of skinny GEMM: weights stream by once, in the layout that they have in memory.
 *
 * Warps multiply by themselves (mma.sync.m16n8k16). Rows of B take the place of the instruction's 16 rows, and eight
 * rows of A fill its columns. A thread reads its weights, codes or numbers, from shared tiles and makes 16-bit
 * numbers of them in registers: four words of two for eight weights of a row. The codes determine the order of the
 * eight numbers. `arrange` puts eight numbers of A into the same order, so the sum is unchanged.
 *
 * Codes are defined in docs/reference/formats.md. A word has eight codes of mxfp4 or i4; 32 bytes have 128 codes of
 * ternary (i2_s), of which a thread reads eight bytes. Weights become numbers exactly; scales are applied to sums, in
 * f32.
 *
 * The instruction gives thread t of a warp rows t / 4 and t / 4 + 8 of 16, and columns 2 (t % 4) and the next of 8.
 * The choice of these rows in the tile is free. Eight threads that read 16 bytes each at a time (sixteen: 8 bytes)
 * take rows that the swizzle puts into different banks: rows 4 apart, in `row_of_a` and where weights are numbers. */
#pragma once
#include "tile_core.cuh"
#include "tile_warp_instructions.cuh"

namespace tw {

struct mxfp4;
struct mxfp4_large; /* with scales above 2 */
struct i4;
struct ternary;

TW_FN int warp_of_block() { return __shfl_sync(0xffffffffu, (int)(threadIdx.x / 32), 0); }
TW_FN int thread_of_warp() { return (int)(threadIdx.x % 32); }
TW_FN void sync_warp() { __syncwarp(); }

TW_FN u32 load_shared(u32 at) { return load_shared_element<u32>(at); }
/* Low (high) halves of two words. */
TW_FN u32 lows(u32 x, u32 y) { return __byte_perm(x, y, 0x5410); }
TW_FN u32 highs(u32 x, u32 y) { return __byte_perm(x, y, 0x7632); }
/* Values that are computed once. */
template <class Type> TW_FN Type settled(Type x) { return __shfl_sync(0xffffffffu, x, (int)(threadIdx.x % 32)); }

TW_FN int row_of_a(int i) { return i / 2 + i % 2 * 4; }

/* `pieces` of 32 along k come with one load of a row; `place` is where the i-th begins for this thread, in a tile at 0; `row_of` is
 * the row of eight that takes the instruction's i-th. */
template <class Type> struct weights { /* bf16, f16: numbers as they are */
  static constexpr int pieces = 1;
  static TW_FN int row_of(int i) { return row_of_a(i); }
  using some = vec16;
  template <class Tile> static TW_FN u32 place(int row, int i) { return Tile{0}.chunk(row, i * 4 + thread_of_warp() % 4); }
  static TW_FN some load(u32 at) { return load_shared16(at); }
  static TW_FN void numbers(const some &x, int, u32, u32 (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = x.word[i];
  }
  static TW_FN void arrange(const vec16 &x, u32 (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = x.word[i];
  }
};

/* Elements i and i + 4 of eight make a word. */
struct weights_of_nibbles {
  static constexpr int pieces = 1;
  static TW_FN int row_of(int i) { return i; }
  using some = u32;
  template <class Tile> static TW_FN u32 place(int row, int i) { return Tile{0}.chunk(row, i) + (u32)thread_of_warp() % 4 * 4; }
  static TW_FN some load(u32 at) { return load_shared(at); }
  static TW_FN void arrange(const vec16 &x, u32 (&to)[4]) {
    to[0] = lows(x.word[0], x.word[2]), to[1] = highs(x.word[0], x.word[2]);
    to[2] = lows(x.word[1], x.word[3]), to[3] = highs(x.word[1], x.word[3]);
  }
};
/* e2m1: sign, exponent and mantissa move to where bf16 has them, which is 2^-126 of the number, also of 0.5. `by` is the
 * scale times 2^126, as two bf16: that is one up to a scale of 2; of larger ones only the scale. */
template <> struct weights<mxfp4> : weights_of_nibbles {
  static TW_FN void bare(u32 x, u32 (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const u32 two = (i < 2 ? x : x >> 8) & (i % 2 ? 0x00F000F0u : 0x000F000Fu);
      to[i] = two * (i % 2 ? (1u << 8) + (1u << 2) : (1u << 12) + (1u << 6)) & 0x81C081C0u;
    }
  }
  static TW_FN void numbers(u32 x, int, u32 by, u32 (&to)[4]) {
    bare(x, to);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = fma_two(to[i], by, 0x80008000u);
  }
};
/* `by` of a scale's byte, for weights<mxfp4> or, if Large, weights<mxfp4_large>. */
template <bool Large> TW_FN u32 two_of_scale(u32 byte) {
  return Large ? (byte == 255 ? 0x7FC0u : max(byte << 7, 0x40u)) * 0x00010001u : byte * 0x00800080u + 126 * 0x00800080u;
}
template <> struct weights<mxfp4_large> : weights_of_nibbles {
  static TW_FN void numbers(u32 x, int q, u32 by, u32 (&to)[4]) {
    weights<mxfp4>::numbers(x, q, 0x7E807E80u, to);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = fma_two(to[i], by, 0x80008000u);
  }
};
/* Two's complement: 136 + x, as the lowest bits of 128.., less 136. */
template <> struct weights<i4> : weights_of_nibbles {
  static TW_FN void numbers(u32 x, int, u32, u32 (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = fma_two(and_xor(x >> 4 * i, 0x000F000Fu, 0x43084308u), 0x3F803F80u, 0xC308C308u);
  }
};
/* t + 1 in two bits of 128 + 4^j (t + 1); piece q in bits 7 - 2 q and below of each byte. */
template <> struct weights<ternary> {
  static constexpr int pieces = 4;
  static TW_FN int row_of(int i) { return i % 4 * 2 + i / 4; }
  struct some {
    u32 word[2];
  };
  template <class Tile> static TW_FN u32 place(int row, int i) {
    const int thread = thread_of_warp() % 4;
    return Tile{0}.chunk(row, 2 * i + thread / 2) + (u32)thread % 2 * 8;
  }
  static TW_FN some load(u32 at) { return load_shared_element<some>(at); }
  static TW_FN void numbers(const some &x, int q, u32, u32 (&to)[4]) {
    const u32 mask = q < 2 ? 0x00300030u : q == 2 ? 0x000C000Cu : 0x00030003u;
    const u32 factor = q < 2 ? 0x3D803D80u : q == 2 ? 0x3E803E80u : 0x3F803F80u; /* 1/16, 1/4, 1 */
    const u32 less = q < 2 ? 0xC110C110u : q == 2 ? 0xC204C204u : 0xC301C301u;   /* 9, 33, 129 */
#pragma unroll
    for (int i = 0; i < 4; i++)
      to[i] = fma_two(and_or(x.word[i / 2] >> (q == 0 ? 2 : 0) + i % 2 * 8, mask, 0x43004300u), factor, less);
  }
  static TW_FN void arrange(const vec16 &x, u32 (&to)[4]) {
    to[0] = lows(x.word[0], x.word[1]), to[1] = highs(x.word[0], x.word[1]);
    to[2] = lows(x.word[2], x.word[3]), to[3] = highs(x.word[2], x.word[3]);
  }
};

/* Sums of a warp: Rows rows of B, Few of A. */
template <int Rows, int Few> struct sums_few {
  static_assert(Rows % 16 == 0 && Few % 8 == 0, "a warp has n x 16 rows of B and n x 8 of A");
  float value[Rows / 16][Few / 8][4];
};
template <int Rows, int Few> TW_FN void clear(sums_few<Rows, Few> &s) {
#pragma unroll
  for (int r = 0; r < Rows / 16; r++)
#pragma unroll
    for (int f = 0; f < Few / 8; f++)
#pragma unroll
      for (int i = 0; i < 4; i++) s.value[r][f][i] = 0;
}

/* The type of the numbers that are multiplied: codes become bf16. */
template <class Type> struct number_of { using type = bf16; };
template <> struct number_of<f16> { using type = f16; };
template <class Type> TW_FN void mma_few(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  using number = typename number_of<Type>::type;
  const u32 a[4] = {a0, a1, a2, a3};
  multiply(d, a, b0, b1, number{}, number{});
}

/* Addresses of a thread's pieces in tiles A and B that begin at 0, from `piece` on. They are the same for all stages. */
template <class Type, int Pieces, class A, class B> struct places_few {
  using w = weights<Type>;
  /* A later panel has the same layout. */
  static constexpr int alike_a = Pieces % 2 ? Pieces : 2, loads = Pieces / w::pieces;
  u32 a[Pieces], b[loads];
  TW_FN places_few(int row, int piece) {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
#pragma unroll
    for (int p = 0; p < Pieces; p++)
      a[p] = p < alike_a ? settled(A{0}.chunk(row_of_a(down), (piece + p) * 4 + right)) : a[p % alike_a] + (u32)(p / alike_a * A::panel_bytes);
#pragma unroll
    for (int i = 0; i < loads; i++) b[i] = settled(w::template place<B>(row + w::row_of(down), piece / w::pieces + i));
  }
};

/* Adds the products of `Pieces` pieces of `a` (rows of A) and `b`, at `at`. `Together` pieces share a scale:
 * factor(i, j) for the thread's i-th row (8 i + thread / 4) and the j-th scale. Together = 0: scales are multiplied
 * into weights, by the word factor(i, piece). */
template <class Type, int Pieces, int Together, int Rows, int Few, class A, class B, class Places, class Factor>
TW_FN void multiply_few(sums_few<Rows, Few> &sums, A a, B b, const Places &at, Factor factor) {
  using w = weights<Type>;
  static_assert(Pieces % w::pieces == 0, "a load's pieces are multiplied together");
  sums_few<Rows, Few> some;
#pragma unroll
  for (int p = 0; p < Pieces; p += w::pieces) {
    typename w::some raw[Rows / 8];
#pragma unroll
    for (int r = 0; r < Rows / 8; r++) raw[r] = w::load(b.at + at.b[p / w::pieces] + (u32)(8 * r * B::span));
#pragma unroll
    for (int q = 0; q < w::pieces; q++) {
      u32 x_of[Few / 8][4];
#pragma unroll
      for (int f = 0; f < Few / 8; f++)
        w::arrange(load_shared16(a.at + at.a[p + q] + (u32)(8 * f * A::span)), x_of[f]);
      if constexpr (Together)
        if ((p + q) % Together == 0) clear(some);
      auto &to = *(Together ? &some : &sums);
      u32 x[Rows / 8][4];
#pragma unroll
      for (int r = 0; r < Rows / 8; r++)
        if constexpr (Together) w::numbers(raw[r], q, 0, x[r]);
        else w::numbers(raw[r], q, factor(r, p + q), x[r]);
#pragma unroll
      for (int i = 0; i < 4; i += 2)
#pragma unroll
        for (int r = 0; r < Rows / 16; r++)
#pragma unroll
          for (int f = 0; f < Few / 8; f++)
            mma_few<Type>(to.value[r][f], x[2 * r][i], x[2 * r + 1][i], x[2 * r][i + 1], x[2 * r + 1][i + 1], x_of[f][i], x_of[f][i + 1]);
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

/* Count scales of a row, loaded early. Each of four threads has every fourth scale and gets the other scales from its
 * neighbours. Scales after the end of a row are 0. */
template <class Type, int Count> struct factors_few {
  static constexpr int each = (Count + 3) / 4;
  u32 bits[each];
  TW_FN void fetch(const Type *row, int first, int all) {
    const int mine = first + (Count == 1 ? 0 : thread_of_warp() % 4);
#pragma unroll
    for (int i = 0; i < each; i++) {
      bits[i] = 0;
      if (mine + 4 * i < all) bits[i] = sizeof(Type) == 1 ? (u32)row[mine + 4 * i] : ((const u32 *)row)[mine + 4 * i];
    }
  }
  TW_FN u32 word(int j) const { return Count == 1 ? bits[0] : __shfl_sync(0xffffffffu, bits[j / 4], (int)(threadIdx.x & 28) | j % 4); }
  TW_FN float at(int j) const { return float_of(word(j)); }
  /* Of e8m0, 2^(x - 127), 255 is NaN: is one above 2? */
  TW_FN bool large() const {
    bool is = false;
#pragma unroll
    for (int i = 0; i < each; i++) is |= bits[i] > 128;
    return is;
  }
  /* The factor of weights<mxfp4> (Large: mxfp4_large). */
  template <bool Large> TW_FN factors_few two() const {
    factors_few to;
#pragma unroll
    for (int i = 0; i < each; i++) to.bits[i] = two_of_scale<Large>(bits[i]);
    return to;
  }
};

/* Adds the sums of `Parts` warps that have the same rows of B, in the memory of tiles that are no longer read: Few
 * rows of Cols. */
template <int Parts, int Few, int Cols> struct room_few {
  static constexpr u32 pitch = Cols + 8, bytes = Parts * Few * pitch * 4;
  u32 at;
  TW_FN u32 place(int part, int i, int j) const { return at + (u32)((part * Few + i) * (int)pitch + j) * 4; }
  template <class Type, int Rows> TW_FN void lay(const sums_few<Rows, Few> &s, int part, int row) const {
    lay(s, part, row + weights<Type>::row_of(thread_of_warp() / 4), 1, [](int i) { return row_of_a(i); });
  }
  /* The thread's first row of B is `row`. The instruction's i-th column is row row_of(i) of eight of A. */
  template <int Rows, class Function> TW_FN void lay(const sums_few<Rows, Few> &s, int part, int row, float times, Function row_of) const {
    const int right = thread_of_warp() % 4;
#pragma unroll
    for (int r = 0; r < Rows / 16; r++)
#pragma unroll
      for (int f = 0; f < Few / 8; f++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          store_shared(place(part, 8 * f + row_of(2 * right + i % 2), row + 16 * r + 8 * (i / 2)), bits_of(s.value[r][f][i] * times));
  }
  /* All parts of an element, of `Blocks` blocks of the cluster. */
  template <int Blocks> TW_FN float sum(int i, int j) const {
    float x = 0;
#pragma unroll
    for (int b = 0; b < Blocks; b++)
#pragma unroll
      for (int p = 0; p < Parts; p++) {
        if constexpr (Blocks > 1) {
          float y;
          asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %1, %2; ld.shared::cluster.f32 %0, [r]; }" : "=f"(y) : "r"(place(p, i, j)), "r"(b) : "memory");
          x += y;
        } else x += load_shared_element<float>(place(p, i, j));
      }
    return x;
  }
};

}  // namespace tw
