/* tile_attention.hpp - words for attention on AMD GPUs: scores lie so that a lane has one query, weights go from sums to the
 * next product's operand without a move between lanes.
 *
 * With A = queries and B = keys a lane of `acc` holds for query l % 16 the keys 4 (l / 16) .. + 3 of each 16. Two such tiles,
 * as they are, are an operand of 32 keys in the order 4g .. 4g + 3, 16 + 4g .. 16 + 4g + 3 of lanes g = l / 16. Values are
 * read in the same order. */
#pragma once
#include "tile_mma.hpp"

namespace tw {

/* Sums of 16-bit type `Type` as the operand of the next product. */
template <class Product, int Rows, int Cols>
TW_FN void round(operand<Product, Rows, Cols / 2> &to, const acc<Product, Rows, Cols> &from) {
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int s = 0; s < Cols / 2; s++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const auto v = from.value[i][2 * s + h];
        to.value[i][s].piece[0].word[2 * h] = packed<typename Product::type>::of(v[0], v[1]);
        to.value[i][s].piece[0].word[2 * h + 1] = packed<typename Product::type>::of(v[2], v[3]);
      }
}

/* Values, of a shared tile [keys][d], as B of a product over the 32 keys from `first` on: its columns are those of d. */
template <class Product, int Count, class Tile> TW_FN void load_values(operand<Product, Count, 1> &to, Tile from, int first) {
  constexpr u32 size = 2;
  static_assert(sizeof(typename Product::type) == size && Product::side == 16, "elements of 16 bits, 16 at a time");
  static_assert(16 * Tile::row_bytes % Tile::swizzle::span == 0, "a swizzle repeats with 16 keys");
  const u32 lane = (u32)thread_of_group(), set = lane / 16, in = lane % 16;
#pragma unroll
  for (int n = 0; n < Count; n++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const u32 under = ((u32)first + 16u * (u32)h) * Tile::row_bytes;
#ifdef __gfx950__
      const u32 o = (set * 4 + in / 4) * Tile::row_bytes + ((u32)n * 16 + in % 4 * 4) * size;
      const u32x2 got = __builtin_bit_cast(u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16(
                                                      (TW_LOCAL i16x4 *)(from.at + under + Tile::swizzle::of(o))));
#else
      u32x2 got;
#pragma unroll
      for (u32 e = 0; e < 2; e++) {
        const u32 o = (set * 4 + 2 * e) * Tile::row_bytes + ((u32)n * 16 + in) * size;
        got[e] = (u32) * (const TW_LOCAL u16 *)(from.at + under + Tile::swizzle::of(o)) |
                 (u32) * (const TW_LOCAL u16 *)(from.at + under + Tile::swizzle::of(o + Tile::row_bytes)) << 16;
      }
#endif
      to.value[n][0].piece[0].word[2 * h] = got[0];
      to.value[n][0].piece[0].word[2 * h + 1] = got[1];
    }
}

/* From memory: rows first, first + 1, ... of a matrix, of which there are `rows`; the others are 0. */
template <class Product, int Count, int Steps, class Type>
TW_FN void load_rows(operand<Product, Count, Steps> &to, const Type *from, i64 pitch, int first, int rows) {
  constexpr int side = Product::side;
  const int lane = thread_of_group(), have = rows - first;
  const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(
      (void *)(from + first * pitch), 0,
      have > 0 ? (u32)(min(have, Count * side) - 1) * (u32)pitch * sizeof(Type) + Steps * Product::deep * sizeof(Type) : 0,
      0x00020000);
#pragma unroll
  for (int i = 0; i < Count; i++)
#pragma unroll
    for (int s = 0; s < Steps; s++)
      to.value[i][s].piece[0] = vec16_of(__builtin_amdgcn_raw_buffer_load_b128(
          r, (u32)(i * side + lane % side) * (u32)pitch * sizeof(Type) + (u32)(lane / side) * 16u + (u32)s * (group_threads / side * 16), 0, 0));
}

/* Over the four lanes that share a query; all get it. */
template <class Reduce> TW_FN float over_query(float x) {
  const int lane = thread_of_group();
  x = Reduce::of(x, float_of((u32)__builtin_amdgcn_ds_swizzle((int)bits_of(x), 0x401F))); /* the lane 16 apart */
  return Reduce::of(x, float_of((u32)__builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, (int)bits_of(x))));
}

/* Keys first + ... that `query` does not see count nothing: those from `end` on, and, causal, those behind query + `offset`. */
template <bool Causal, class Product, int Rows, int Cols>
TW_FN void hide(acc<Product, Rows, Cols> &scores, int first, int end, int query, int offset) {
  const int lane = thread_of_group();
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int key = first + j * 16 + lane / 16 * 4 + e, own = query + i * 16 + lane % 16;
        if (key >= end || (Causal && key > own + offset)) scores.value[i][j][e] = -infinity();
      }
}

/* Of the queries of a lane: the score that weights are relative to, and the sum of weights that this lane has made. That score is
 * the largest at some time, not always: weights of up to 2^8 are as exact as those of up to 1, so only a larger one makes a
 * group look for the new largest scores and shrink what its sums hold. */
template <int Rows> struct softmax_state {
  float most[Rows], total[Rows];
  TW_FN void clear() {
#pragma unroll
    for (int i = 0; i < Rows; i++) most[i] = -infinity(), total[i] = 0;
  }
  /* Scores become weights; what sums hold already shrinks. */
  template <class Product, int Cols, int Wide>
  TW_FN void weigh(acc<Product, Rows, Cols> &scores, acc<Product, Rows, Wide> &sums, float factor) {
    constexpr float room = 8;
    float largest[Rows];
    bool grows = false;
#pragma unroll
    for (int i = 0; i < Rows; i++) {
      largest[i] = scores.value[i][0][0];
#pragma unroll
      for (int j = 0; j < Cols; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) largest[i] = fmaxf(largest[i], scores.value[i][j][e]);
      grows = grows || largest[i] * factor > most[i] * factor + room;
    }
    if (__builtin_amdgcn_ballot_w64(grows)) {
#pragma unroll
      for (int i = 0; i < Rows; i++) {
        const float before = most[i];
        most[i] = fmaxf(before, over_query<max_of>(largest[i]));
        const float shrink = before == -infinity() ? 0.f : exp2_fast((before - most[i]) * factor);
        total[i] *= shrink;
#pragma unroll
        for (int n = 0; n < Wide; n++) sums.value[i][n] *= shrink;
      }
    }
#pragma unroll
    for (int i = 0; i < Rows; i++) {
      const float offset = most[i] == -infinity() ? 0.f : most[i] * factor;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < Cols; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
          scores.value[i][j][e] = exp2_fast(scores.value[i][j][e] * factor - offset);
          sum += scores.value[i][j][e];
        }
      total[i] += sum;
    }
  }
};

/* ---- backward ---- */

/* One of the steps of an operand. */
template <class Product, int Count, int Steps>
TW_FN operand<Product, Count, 1> step_of(const operand<Product, Count, Steps> &from, int step) {
  operand<Product, Count, 1> part;
#pragma unroll
  for (int i = 0; i < Count; i++) part.value[i][0] = from.value[i][step];
  return part;
}

/* A number for each query where queries are columns of scores, and where they are rows, of which there are `rows`. */
template <int Count> struct of_columns {
  f32x4 value[Count];
  TW_FN of_columns(const float *from) {
#pragma unroll
    for (int j = 0; j < Count; j++)
      value[j] = *(const TW_GLOBAL f32x4 *)(from + j * 16 + thread_of_group() / 16 * 4);
  }
  TW_FN float of(int, int column, int element) const { return value[column][element]; }
};
template <int Count> struct of_rows {
  float value[Count];
  TW_FN of_rows(const float *from, int first, int rows, float else_) {
#pragma unroll
    for (int i = 0; i < Count; i++) {
      const int row = first + i * 16 + thread_of_group() % 16;
      value[i] = row < rows ? *(const TW_GLOBAL float *)(from + row) : else_;
    }
  }
  TW_FN float of(int row, int, int) const { return value[row]; }
};

/* Keys that are rows, from `key` on, count nothing for queries that are columns, from `query` on, and do not see them. */
template <class Product, int Rows, int Cols>
TW_FN void hide_keys(acc<Product, Rows, Cols> &scores, int key, int query, int offset) {
  const int lane = thread_of_group();
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (key + i * 16 + lane % 16 > query + j * 16 + lane / 16 * 4 + e + offset) scores.value[i][j][e] = -infinity();
}

/* Scores become weights, as the exponents of their sums are known, and gradients of weights those of scores. */
template <class Product, int Rows, int Cols, class Line>
TW_FN void weigh_again(acc<Product, Rows, Cols> &scores, acc<Product, Rows, Cols> &gradients, const Line &exponent,
                       const Line &minus, float factor) {
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const float weight = exp2_fast(scores.value[i][j][e] * factor - exponent.of(i, j, e));
        scores.value[i][j][e] = weight;
        gradients.value[i][j][e] = weight * (gradients.value[i][j][e] - minus.of(i, j, e));
      }
}

}  // namespace tw
