/* tile_swap.cuh - functions of swap-AB GEMM with packed weights: the transposed product C^T = B A^T, by wgmma. Rows of B are the 64 rows of the
 * instruction, made of codes in registers. Rows of A are its columns, in shared memory. So a weight becomes a number once for all rows of A.
 *
 * A slice of k is 64 bytes of a row of B (slice_of, tile_slices_products.cuh): a thread reads 16 bytes of each of its two rows. These are
 * `eights` of codes, the j-th of two products of 16 along k. Thus thread t % 4 chooses the elements of k, and A must have the same order:
 * `prepare_swapped` puts it there, once for all columns of the block. With shuffle=mma the 16 bytes belong to two units (tile_fragments.cuh)
 * and A keeps its order.
 *
 * A arrives by TMA, because copies by threads of what all blocks read took more than twice as long as the weights. */
#pragma once
#include "tile_fragments.cuh"
#include "tile_mma.cuh"
#include "tile_slices.cuh"

namespace tw {

/* Puts A of a stage into the codes' order, in place, by Warps warps. A warp takes 8 rows of a slice, several slices at a time to hide latency: it
 * reads all of them before it writes. So thread t % 4 of a product finds, in the n-th 16 bytes of its j-th eight of codes, the n-th two of its
 * eight elements. */
template <class Type, int Warps, class Tile> TW_FN void prepare_swapped(Tile a, int warp) {
  using c = slice_of<Type>;
  constexpr int chunks = c::codes / 8, slices = Tile::cols / c::codes, each = c::eights / 4, items = slices * (Tile::rows / 8);
  constexpr int rounds = (items + Warps - 1) / Warps, most = 4 / each, together = rounds < most ? rounds : most;
  const int j = thread_of_warp() / 8;
  const auto chunk = [&](int item, int i) { return a.chunk(item / slices * 8 + thread_of_warp() % 8, item % slices * chunks + i); };
#pragma unroll 1
  for (int first = warp; first < items; first += together * Warps) {
    u32 y[together][each][4][4];
#pragma unroll
    for (int t = 0; t < together; t++)
#pragma unroll
      for (int e = 0; e < each; e++)
#pragma unroll
        for (int q = 0; q < 4; q++)
          if (first + t * Warps < items) weights<Type>::arrange(load_shared16(chunk(first + t * Warps, c::unit(e * 4 + j, q))), y[t][e][q]);
    sync_warp();
#pragma unroll
    for (int t = 0; t < together; t++)
#pragma unroll
      for (int e = 0; e < each; e++)
#pragma unroll
        for (int n = 0; n < 4; n++)
          if (first + t * Warps < items)
            store_shared16(chunk(first + t * Warps, (e * 4 + j) * 4 + n), y[t][e][0][n], y[t][e][1][n], y[t][e][2][n], y[t][e][3][n]);
  }
}

/* Scales of the stages: for each of Rows rows Words words, a float or four bytes of mxfp4. They are copied in pieces of Bytes bytes. */
template <int Stages, int Words, int Rows, int Bytes> struct swapped_scales {
  static constexpr u32 bytes = Stages * Words * Rows * 4;
  u32 at;
  TW_FN u32 place(int slot, int row, int word) const { return at + (u32)((slot * Rows + row) * Words + word) * 4; }
  /* A warp starts copies: words from `first` on, of `all` in a row, of the rows from `row` on, of n. */
  TW_FN void copy(int slot, const void *from, int row, int n, int first, int all) const {
    constexpr int pieces = Words * 4 / Bytes;
#pragma unroll
    for (int i = 0; i < pieces * Rows / 32; i++) {
      const int id = i * 32 + thread_of_warp(), word = id % pieces * (Bytes / 4), r = id / pieces;
      const u32 *at = (const u32 *)from + (i64)min(row + r, n - 1) * all + min(first + word, all - Bytes / 4);
      if constexpr (Bytes == 16) copy16_once(place(slot, r, word), at);
      else copy4(place(slot, r, word), at);
    }
  }
};

/* A thread's codes of a slice, and the scales of its two rows: bits of a float, or of mxfp4 a byte, for units all four. */
struct swapped_codes {
  vec16 row[2];
  u32 by[2];
  bool large; /* a scale of the warp needs two multiplications */
};
/* The sums of a warpgroup: 64 rows of B, Few of A. Of_sums: each slice has factors for its sums. In_units: the order of shuffle=mma. */
template <class Type, int Few, bool Of_sums, bool In_units> struct swapped_sums {
  using c = exact<Type>;
  acc<64, Few> all, some; /* of all slices; of the slice whose products are in flight */
  u32 left[4][2][4];      /* operands of products in flight, of four eights of codes */
  /* The j-th eight of codes of both rows becomes the operands of two products. */
  TW_FN void make(const swapped_codes &code, int j) {
    if constexpr (In_units) {
      using f = fragment<Type>;
      const u32 by[2] = {f::factor(code.by[0], j, code.large), f::factor(code.by[1], j, code.large)};
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int p = 2 * j + h;
        if (code.large) f::template numbers<true>(code.row[p / f::steps], p % f::steps, by, left[j % 4][h]);
        else f::template numbers<false>(code.row[p / f::steps], p % f::steps, by, left[j % 4][h]);
      }
      return;
    }
    u32 x[2][4];
#pragma unroll
    for (int r = 0; r < 2; r++) c::numbers(code.row[r], j, code.by[r], code.large, x[r]);
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int i = 0; i < 4; i++) left[j % 4][h][i] = x[i % 2][2 * h + i / 2];
  }
  /* Operands are made before this place, while earlier products are in flight. */
  TW_FN void settle(int j) {
#pragma unroll
    for (int e = j; e < j + 2; e++)
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 4; i++) mma_settle(left[e % 4][h][i]);
  }
  /* The products of two eights of codes, from the j-th on. */
  template <class Tile> TW_FN void issue(acc<64, Few> &to, int j, Tile, u64 a, int slice) {
    settle(j);
    mma_begin();
#pragma unroll
    for (int e = j; e < j + 2; e++)
#pragma unroll
      for (int h = 0; h < 2; h++)
        mma_step<bf16, Few, false>(to.value[0], left[e % 4][h], a + (mma_rows(Tile{0}, 0, (slice * c::eights + e) * 2 + h) & 0x3fffu), !Of_sums || e || h);
    mma_commit();
  }
  /* Before the first slice, with codes in rows. */
  TW_FN void begin(const swapped_codes &code) {
    clear(all);
    make(code, 0), make(code, 1);
  }
  /* Adds the products of a slice. While two eights are multiplied, the next two are made. With codes in rows these are also the first of the `next`
   * slice. With units, other warpgroups multiply meanwhile: four of them need few registers each. */
  template <class Tile> TW_FN void multiply(const swapped_codes &code, Tile a, int slice, const swapped_codes &next) {
    const u64 at = mma_rows(a, 0, In_units ? slice * c::eights * 2 : 0);
    auto &to = *(Of_sums ? &some : &all);
    if constexpr (Of_sums && In_units) mma_forget(some);
#pragma unroll
    for (int j = 0; j < c::eights; j += 2) {
      if (j >= 4) mma_wait<1>();
      if (In_units || j) make(code, j), make(code, j + 1);
      issue(to, j, a, at, In_units ? 0 : slice);
    }
    if constexpr (!In_units) {
      mma_wait<1>();
      make(next, 0), make(next, 1);
      settle(0);
    }
    mma_wait<0>();
    mma_settle(to);
    if constexpr (Of_sums) {
#pragma unroll
      for (int i = 0; i < Few / 2; i++) all.value[0][i] += float_of(code.by[i / 2 % 2]) * some.value[0][i];
      mma_forget(some);
    }
  }
  /* To shared memory, where `room` adds the sums of warpgroups that share k. */
  template <class Room> TW_FN void lay(Room room, int part, int col) const {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
#pragma unroll
    for (int i = 0; i < Few / 2; i++)
      store_shared(room.place(part, i / 4 * 8 + 2 * right + i % 2, col + thread_of_group() / 32 * 16 + i / 2 % 2 * 8 + (In_units ? down : row_of_a(down))), bits_of(all.value[0][i] * c::whole));
  }
};

}  // namespace tw
