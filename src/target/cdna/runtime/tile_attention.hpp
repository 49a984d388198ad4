/* tile_attention.hpp - words for attention on AMD GPUs: scores lie so that a lane has one query, weights go from sums to the
 * next product's operand without a move between lanes.
 *
 * With A = queries and B = keys a lane of `acc` holds for query l % 16 the keys 4 (l / 16) .. + 3 of each 16. Two such tiles,
 * as they are, are an operand of 32 keys in the order 4g .. 4g + 3, 16 + 4g .. 16 + 4g + 3 of lanes g = l / 16. Values are
 * read in the same order. Products of side 32 likewise: query l % 32, keys 4 (l / 32) .. + 3 of each 8, two of which are an
 * operand of 16 keys. */
#pragma once
#include "tile_mma.hpp"

namespace tw {

/* Sums of a lane of an instruction; and which row of B, of a product of A and B, the x-th of them is of. */
template <class Product> constexpr int sums_of = Product::side * Product::side / group_threads;
template <class Product> TW_FN int column_of(int x) {
  return x / 4 * (group_threads / Product::side * 4) + thread_of_group() / Product::side * 4 + x % 4;
}

/* Sums of 16-bit type `Type` as the operand of the next product: a lane's, in their order, 8 to an instruction. */
template <class Product, int Rows, int Cols, int Steps>
TW_FN void round(operand<Product, Rows, Steps> &to, const acc<Product, Rows, Cols> &from) {
  constexpr int each = sums_of<Product>;
  static_assert(Steps * 8 == Cols * each, "as many steps as there are sums for");
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int x = 0; x < Cols * each; x += 2)
      to.value[i][x / 8].piece[0].word[x % 8 / 2] =
          packed<typename Product::type>::of(from.value[i][x / each][x % each], from.value[i][x / each][x % each + 1]);
}

/* Values, of a shared tile [keys][d], as B of a product over its `deep` keys from `first` on: columns Column * side ... of d,
 * half of the keys at a time, in the order in which a lane has weights. */
template <int Half, class Product, class Tile>
TW_FN void load_values_half(typename Product::in &to, Tile from, int first, int column) {
  constexpr u32 size = 2, side = Product::side, sets = side / 16, half_of = Product::deep / 2;
  static_assert(sizeof(typename Product::type) == size, "elements of 16 bits");
  const u32 lane = (u32)thread_of_group(), in = lane % 16, set = lane / 16 % sets, down = lane / side * 4;
  /* A swizzle is linear, so its part from the rows above a lane's own row is uniform. */
  const u32 under = ((u32)first + half_of * Half) * Tile::row_bytes, turn = Tile::swizzle::terms(under), across = (u32)column * side + set * 16;
#ifdef __gfx950__
  const u32 o = (down + in / 4) * Tile::row_bytes + (across + in % 4 * 4) * size;
  const u32x2 got = read_turned(from.at + under + (Tile::swizzle::of(o) ^ turn));
#else
  u32x2 got;
#pragma unroll
  for (u32 e = 0; e < 2; e++) {
    const u32 o = (down + 2 * e) * Tile::row_bytes + (across + in) * size;
    got[e] = (u32) * (const TW_LOCAL u16 *)(from.at + under + (Tile::swizzle::of(o) ^ turn)) |
             (u32) * (const TW_LOCAL u16 *)(from.at + under + (Tile::swizzle::of(o + Tile::row_bytes) ^ turn)) << 16;
  }
#endif
  to.piece[0].word[2 * Half] = got[0];
  to.piece[0].word[2 * Half + 1] = got[1];
}
/* All columns of d. */
template <class Product, int Count, class Tile> TW_FN void load_values(operand<Product, Count, 1> &to, Tile from, int first) {
#pragma unroll
  for (int n = 0; n < Count; n++) {
    load_values_half<0, Product>(to.value[n][0], from, first, n);
    load_values_half<1, Product>(to.value[n][0], from, first, n);
  }
}

/* Loads rows first, first + 1, ... of a matrix of `rows` rows from memory; rows after the end are 0. */
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

/* Over the lanes that share a query; all get it. */
template <class Product, class Reduce> TW_FN float over_query(float x) {
  const int lane = thread_of_group();
  if constexpr (Product::side == 16)
    x = Reduce::of(x, float_of((u32)__builtin_amdgcn_ds_swizzle((int)bits_of(x), 0x401F))); /* the lane 16 apart */
  return Reduce::of(x, float_of((u32)__builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, (int)bits_of(x))));
}

/* Masks keys: those from `end` on and, if causal, those after query + `offset`. */
template <bool Causal, class Product, int Rows, int Cols>
TW_FN void hide(acc<Product, Rows, Cols> &scores, int first, int end, int query, int offset) {
  constexpr int side = Product::side;
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int e = 0; e < sums_of<Product>; e++) {
        const int key = first + j * side + column_of<Product>(e), own = query + i * side + thread_of_group() % side;
        if (key >= end || (Causal && key > own + offset)) scores.value[i][j][e] = -infinity();
      }
}

/* Online softmax with lazy rescaling, for the queries of a lane: a reference score and this lane's sum of weights.
 * The reference score was the maximum at some time. Weights up to 2^8 are as exact as weights up to 1, so only a
 * larger score makes a wave search for the new maximum and rescale its sums. The work can be split into pieces that
 * interleave with products of other operands: all of `look`, `grows` and its consequences, all of `weigh`. */
template <class Product, int Rows, int Cols> struct softmax_state {
  static constexpr int scores_of_row = Cols * sums_of<Product>, steps = scores_of_row / 8;
  static constexpr int looks = Rows * steps, weighs = Rows * scores_of_row / 2;
  static constexpr float room = 8;
  using scores_type = acc<Product, Rows, Cols>;
  float most[Rows], largest[Rows];
  f32x2 total[Rows], minus[Rows]; /* minus the reference score, twice */
  TW_FN void clear() {
#pragma unroll
    for (int i = 0; i < Rows; i++) most[i] = -infinity(), minus[i] = total[i] = (f32x2){0, 0};
  }
  static TW_FN float score(const scores_type &scores, int i, int x) {
    return scores.value[i][x / sums_of<Product>][x % sums_of<Product>];
  }
  /* Eight scores of a row. */
  template <int Piece> TW_FN void look(const scores_type &scores) {
    constexpr int i = Piece / steps, first = Piece % steps * 8;
    if constexpr (first == 0) largest[i] = -infinity();
#pragma unroll
    for (int x = first; x < first + 8; x += 2)
      largest[i] = fmaxf(fmaxf(largest[i], score(scores, i, x)), score(scores, i, x + 1));
    made_here(largest[i]);
  }
  /* Whether the sums must be rescaled; uniform in a wave. */
  TW_FN bool grows(float factor) {
    bool any = false;
#pragma unroll
    for (int i = 0; i < Rows; i++) any = any || largest[i] * factor > most[i] * factor + room;
    return __builtin_amdgcn_ballot_w64(any) != 0;
  }
  /* The factor of the rescaled sums. */
  TW_FN void grow(float (&shrink)[Rows], float factor) {
#pragma unroll
    for (int i = 0; i < Rows; i++) {
      const float before = most[i];
      most[i] = fmaxf(before, over_query<Product, max_of>(largest[i]));
      minus[i] = most[i] == -infinity() ? 0.f : -most[i] * factor;
      shrink[i] = before == -infinity() ? 0.f : exp2_fast((before - most[i]) * factor);
      total[i] *= shrink[i];
    }
  }
  /* Turns two scores into weights of an operand. */
  template <int Piece> TW_FN void weigh(operand<Product, Rows, steps> &weights, const scores_type &scores, float factor) {
    constexpr int i = Piece / (scores_of_row / 2), x = Piece % (scores_of_row / 2) * 2;
    f32x2 weight = (f32x2){score(scores, i, x), score(scores, i, x + 1)} * factor + minus[i];
    weight[0] = exp2_fast(weight[0]);
    weight[1] = exp2_fast(weight[1]);
    u32 &word = weights.value[i][x / 8].piece[0].word[x % 8 / 2];
    total[i] += weight;
    word = packed<typename Product::type>::of(weight[0], weight[1]);
    made_here(word);
    made_here(total[i]);
  }
  /* All steps at once; also rescales the sums. */
  template <int Wide>
  TW_FN void weigh_all(operand<Product, Rows, steps> &weights, const scores_type &scores, acc<Product, Rows, Wide> &sums,
                       float factor) {
    repeat<looks>([&](auto n) __attribute__((always_inline)) { look<n.value>(scores); });
    if (grows(factor)) {
      float by[Rows];
      grow(by, factor);
      shrink(sums, by);
    }
    repeat<weighs>([&](auto n) __attribute__((always_inline)) { weigh<n.value>(weights, scores, factor); });
  }
  template <int Wide> static TW_FN void shrink(acc<Product, Rows, Wide> &sums, const float (&by)[Rows]) {
#pragma unroll
    for (int i = 0; i < Rows; i++)
#pragma unroll
      for (int n = 0; n < Wide; n++) sums.value[i][n] *= by[i];
  }
  TW_FN float total_of(int i) const { return over_query<Product, sum_of>(total[i][0] + total[i][1]); }
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
template <class Product, int Count> struct of_columns {
  static constexpr int quads = sums_of<Product> / 4, pieces = Count * quads;
  f32x4 value[pieces];
  of_columns() = default;
  TW_FN of_columns(const float *from) {
#pragma unroll
    for (int n = 0; n < pieces; n++) load(from, n);
  }
  TW_FN void load(const float *from, int n) {
    value[n] = *(const TW_GLOBAL f32x4 *)(from + n / quads * Product::side + column_of<Product>(n % quads * 4));
  }
  TW_FN float of(int, int column, int element) const { return value[column * quads + element / 4][element % 4]; }
  TW_FN typename Product::sum sums(int) const { return typename Product::sum{}; }
};
template <class Product, int Count> struct of_rows {
  float value[Count];
  TW_FN of_rows(const float *from, int first, int rows, float else_) {
#pragma unroll
    for (int i = 0; i < Count; i++) {
      const int row = first + i * Product::side + thread_of_group() % Product::side;
      value[i] = row < rows ? *(const TW_GLOBAL float *)(from + row) : else_;
    }
  }
  TW_FN float of(int row, int, int) const { return value[row]; }
  /* Initial value of the sums of a row, so that it is added. */
  TW_FN typename Product::sum sums(int row) const { return typename Product::sum{} + value[row]; }
};

/* Keys that are rows, from `key` on, count nothing for queries that are columns, from `query` on, and do not see them. */
template <class Product, int Rows, int Cols>
TW_FN void hide_keys(acc<Product, Rows, Cols> &scores, int key, int query, int offset) {
  constexpr int side = Product::side;
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int e = 0; e < sums_of<Product>; e++)
        if (key + i * side + thread_of_group() % side > query + j * side + column_of<Product>(e) + offset)
          scores.value[i][j][e] = -infinity();
}

/* Computes P from scores and LSE, and dS from P and dP. */
template <class Product, int Rows, int Cols, class Line>
TW_FN void weigh_again(acc<Product, Rows, Cols> &scores, acc<Product, Rows, Cols> &gradients, const Line &exponent,
                       const Line &minus, float factor) {
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int e = 0; e < sums_of<Product>; e++) {
        const float weight = exp2_fast(scores.value[i][j][e] * factor - exponent.of(i, j, e));
        scores.value[i][j][e] = weight;
        gradients.value[i][j][e] = weight * (gradients.value[i][j][e] + minus.of(i, j, e));
      }
}
/* The same in pieces of two, all rows of one tile before the rows of the next: first P, then dS (whose sums may have
 * begun with `minus`), then operands of both. The result of an exponential should not be used immediately. */
template <class Product, int Rows, int Cols> struct pieces_of {
  static constexpr int each = sums_of<Product>, count = Rows * Cols * each / 2, steps = Cols * each / 8;
  template <int Piece> struct at {
    static constexpr int tile = Piece / (Rows * each / 2), row = Piece / (each / 2) % Rows, e = Piece % (each / 2) * 2;
    static constexpr int x = tile * each + e;
  };
};
template <int Piece, class Product, int Rows, int Cols, class Line>
TW_FN void weigh_piece(acc<Product, Rows, Cols> &scores, const Line &exponent, float factor) {
  using p = typename pieces_of<Product, Rows, Cols>::template at<Piece>;
  auto &sum = scores.value[p::row][p::tile];
  f32x2 w = (f32x2){sum[p::e], sum[p::e + 1]} * factor -
            (f32x2){exponent.of(p::row, p::tile, p::e), exponent.of(p::row, p::tile, p::e + 1)};
  w[0] = exp2_fast(w[0]);
  w[1] = exp2_fast(w[1]);
  made_here(w);
  sum[p::e] = w[0];
  sum[p::e + 1] = w[1];
}
template <int Piece, bool Begun, class Product, int Rows, int Cols, class Line>
TW_FN void slope_piece(const acc<Product, Rows, Cols> &weights, acc<Product, Rows, Cols> &gradients, const Line &minus) {
  using p = typename pieces_of<Product, Rows, Cols>::template at<Piece>;
  const auto &weight = weights.value[p::row][p::tile];
  auto &sum = gradients.value[p::row][p::tile];
  f32x2 g = {sum[p::e], sum[p::e + 1]};
  if constexpr (!Begun) g += (f32x2){minus.of(p::row, p::tile, p::e), minus.of(p::row, p::tile, p::e + 1)};
  g *= (f32x2){weight[p::e], weight[p::e + 1]};
  made_here(g);
  sum[p::e] = g[0];
  sum[p::e + 1] = g[1];
}
template <int Piece, class Product, int Rows, int Cols, int Steps>
TW_FN void round_piece(operand<Product, Rows, Steps> &to, const acc<Product, Rows, Cols> &from) {
  using p = typename pieces_of<Product, Rows, Cols>::template at<Piece>;
  const auto &sum = from.value[p::row][p::tile];
  u32 &word = to.value[p::row][p::x / 8].piece[0].word[p::x % 8 / 2];
  word = packed<typename Product::type>::of(sum[p::e], sum[p::e + 1]);
  made_here(word);
}

}  // namespace tw
