/* tile_mma.hpp - products of the tile vocabulary for AMD GPUs: matrix instructions, their operands from shared tiles, sums.
 *
 * A group multiplies from registers. B is an instruction's first operand and A its second: a lane then holds neighbouring columns of C, which it stores together. Layouts: layout/mfma.h. A lane takes 16 bytes of a row at a time; where
 * an instruction wants fewer, it gets the first part, and the next instruction the rest. Both operands are split alike, so only the order of summation differs. */
#pragma once
#include "tile_core.hpp"

namespace tw {

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x8 __attribute__((ext_vector_type(8)));
typedef i32 i32x16 __attribute__((ext_vector_type(16)));
typedef i16 i16x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x8 __attribute__((ext_vector_type(8)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));

/* 16 bytes of a lane, or 32. The second 16 are as far along the row as all lanes of the row together. */
template <int Pieces> struct pieces { vec16 piece[Pieces]; };

/* `Side` rows of A times as many columns of B, of type `Right`, `deep` elements of their sums: sum += b a. */
template <class Type, int Side, class Right = Type> struct mma;

#define TW_MMA(TYPE, SIDE, DEEP, PIECES, OUT, PRODUCT) TW_MMA_OF(TYPE, TYPE, SIDE, DEEP, PIECES, OUT, PRODUCT)
#define TW_MMA_OF(TYPE, RIGHT, SIDE, DEEP, PIECES, OUT, PRODUCT)                                                       \
  TW_MMA_AS(pieces<PIECES>, TYPE, RIGHT, SIDE, DEEP, PIECES, OUT, PRODUCT)
#define TW_MMA_AS(IN, TYPE, RIGHT, SIDE, DEEP, PIECES, OUT, PRODUCT)                                                   \
  template <> struct mma<TYPE, SIDE, RIGHT> {                                                                          \
    using type = TYPE;                                                                                                 \
    using sum = OUT;                                                                                                   \
    using in = IN;                                                                                                     \
    static constexpr int side = SIDE, deep = DEEP, parts = PIECES;                                                     \
    static TW_FN OUT of(in b, in a, OUT c) { PRODUCT }                                                                 \
  }
#define TW_LOW(V, T) __builtin_bit_cast(T, (u32x2){V.piece[0].word[0], V.piece[0].word[1]})
#define TW_HIGH(V, T) __builtin_bit_cast(T, (u32x2){V.piece[0].word[2], V.piece[0].word[3]})
#define TW_ALL(V, T) __builtin_bit_cast(T, V)
#define TW_TWICE(F, T)                                                                                                 \
  c = F(TW_LOW(b, T), TW_LOW(a, T), c, 0, 0, 0);                                                                       \
  return F(TW_HIGH(b, T), TW_HIGH(a, T), c, 0, 0, 0);
#define TW_ONCE(F, T) return F(TW_ALL(b, T), TW_ALL(a, T), c, 0, 0, 0);
#define TW_FOUR_TIMES(F)                                                                                               \
  for (int i = 0; i < 4; i++) c = F(float_of(b.piece[0].word[i]), float_of(a.piece[0].word[i]), c, 0, 0, 0);           \
  return c;
TW_MMA(float, 16, 16, 1, f32x4, TW_FOUR_TIMES(__builtin_amdgcn_mfma_f32_16x16x4f32));
TW_MMA(float, 32, 8, 1, f32x16, TW_FOUR_TIMES(__builtin_amdgcn_mfma_f32_32x32x2f32));

#ifdef __gfx950__
TW_MMA(bf16, 16, 32, 1, f32x4, TW_ONCE(__builtin_amdgcn_mfma_f32_16x16x32_bf16, bf16x8));
TW_MMA(bf16, 32, 16, 1, f32x16, TW_ONCE(__builtin_amdgcn_mfma_f32_32x32x16_bf16, bf16x8));
TW_MMA(f16, 16, 32, 1, f32x4, TW_ONCE(__builtin_amdgcn_mfma_f32_16x16x32_f16, f16x8));
TW_MMA(f16, 32, 16, 1, f32x16, TW_ONCE(__builtin_amdgcn_mfma_f32_32x32x16_f16, f16x8));
TW_MMA(i8, 16, 64, 1, i32x4, TW_ONCE(__builtin_amdgcn_mfma_i32_16x16x64_i8, i32x4));
TW_MMA(i8, 32, 32, 1, i32x16, TW_ONCE(__builtin_amdgcn_mfma_i32_32x32x32_i8, i32x4));
/* Formats of 8 bits: 0 is e4m3, 1 e5m2. */
#define TW_F8(A, B, A_FORMAT, B_FORMAT)                                                                                \
  TW_MMA_OF(A, B, 16, 128, 2, f32x4,                                                                                   \
            return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(TW_ALL(b, i32x8), TW_ALL(a, i32x8), c, B_FORMAT,   \
                                                                    A_FORMAT, 0, 0, 0, 0););                           \
  TW_MMA_OF(A, B, 32, 64, 2, f32x16,                                                                                   \
            return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(TW_ALL(b, i32x8), TW_ALL(a, i32x8), c, B_FORMAT,    \
                                                                   A_FORMAT, 0, 0, 0, 0);)
TW_F8(e4m3, e4m3, 0, 0);
TW_F8(e4m3, e5m2, 0, 1);
TW_F8(e5m2, e4m3, 1, 0);
TW_F8(e5m2, e5m2, 1, 1);
#else
TW_MMA(bf16, 16, 32, 1, f32x4, TW_TWICE(__builtin_amdgcn_mfma_f32_16x16x16bf16_1k, i16x4));
TW_MMA(bf16, 32, 16, 1, f32x16, TW_TWICE(__builtin_amdgcn_mfma_f32_32x32x8bf16_1k, i16x4));
TW_MMA(f16, 16, 32, 1, f32x4, TW_TWICE(__builtin_amdgcn_mfma_f32_16x16x16f16, f16x4));
TW_MMA(f16, 32, 16, 1, f32x16, TW_TWICE(__builtin_amdgcn_mfma_f32_32x32x8f16, f16x4));
TW_MMA(i8, 16, 64, 1, i32x4, TW_TWICE(__builtin_amdgcn_mfma_i32_16x16x32_i8, i64));
TW_MMA(i8, 32, 32, 1, i32x16, TW_TWICE(__builtin_amdgcn_mfma_i32_32x32x16_i8, i64));
/* Of the FNUZ formats. Copies convert OCP's (tile_core.hpp): each sum of them is a quarter of that of the operands. */
#define TW_F8(A, B, NAMES)                                                                                             \
  TW_MMA_OF(A, B, 16, 64, 1, f32x4, TW_TWICE(__builtin_amdgcn_mfma_f32_16x16x32_##NAMES, i64));                        \
  TW_MMA_OF(A, B, 32, 32, 1, f32x16, TW_TWICE(__builtin_amdgcn_mfma_f32_32x32x16_##NAMES, i64))
TW_F8(e4m3, e4m3, fp8_fp8);
TW_F8(e4m3, e5m2, bf8_fp8);
TW_F8(e5m2, e4m3, fp8_bf8);
TW_F8(e5m2, e5m2, bf8_bf8);
TW_F8(e4m3fnuz, e4m3fnuz, fp8_fp8);
#endif

/* Accumulators of a wave: Rows x Cols matrix instructions. */
template <class Product, int Rows, int Cols> struct acc {
  typename Product::sum value[Rows][Cols];
  TW_FN void clear() {
#pragma unroll
    for (int i = 0; i < Rows; i++)
#pragma unroll
      for (int j = 0; j < Cols; j++) value[i][j] = typename Product::sum{};
  }
  TW_FN void times(float factor) {
#pragma unroll
    for (int i = 0; i < Rows; i++)
#pragma unroll
      for (int j = 0; j < Cols; j++) value[i][j] *= factor;
  }
};

/* Count x Product::side rows of an operand, Steps instructions deep, in a group's registers. */
template <class Product, int Count, int Steps> struct operand {
  typename Product::in value[Count][Steps];
};

/* From rows first, first + 1, ... of a shared tile, `step` instructions from its first column. */
template <class Product, int Count, int Steps, class Tile>
TW_FN void load(operand<Product, Count, Steps> &to, Tile from, int first, int step) {
  constexpr u32 side = Product::side, down = side * Tile::row_bytes, run = group_threads / side * 16;
  static_assert(down % Tile::swizzle::span == 0, "a swizzle repeats with the rows of a matrix instruction");
  const u32 lane = (u32)thread_of_group(), row = lane % side, piece = lane / side * 16;
#pragma unroll
  for (int s = 0; s < Steps; s++)
#pragma unroll
    for (int p = 0; p < Product::parts; p++) {
      const u32 col = (u32)((step + s) * Product::parts + p) * run + piece;
      const TW_LOCAL u8 *at = from.at + (u32)first * Tile::row_bytes + Tile::swizzle::of(row * Tile::row_bytes + col);
#pragma unroll
      for (int i = 0; i < Count; i++) to.value[i][s].piece[p] = vec16_of(*(const TW_LOCAL u32x4 *)(at + (u32)i * down));
    }
}

/* Loads rows of a matrix from memory to the registers of a wave: `count` rows from `first` on, k along them. Tail: k
 * may end within the loaded bytes, at a multiple of 16 bytes. */
template <bool Tail> struct rows_of {
  const u8 *from;
  u32 bytes, pitch, columns;
  template <class Type> TW_FN rows_of(const Type *matrix, i64 ld, int first, int count, int rows, int cols) {
    const int have = min(rows - first, count);
    from = (const u8 *)(matrix + first * ld);
    pitch = (u32)ld * sizeof(Type);
    columns = (u32)cols * sizeof(Type);
    bytes = have > 0 ? (u32)(have - 1) * pitch + columns : 0;
  }
  /* From column `col` on. */
  template <class Product, int Count, int Steps> TW_FN void load(operand<Product, Count, Steps> &to, int col) const {
    using type = typename Product::type;
    constexpr u32 side = Product::side, run = group_threads / side * 16;
    const u32 lane = (u32)thread_of_group(), at = (u32)col * sizeof(type), piece = lane / side * 16;
    const __amdgpu_buffer_rsrc_t r =
        __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, at < columns ? bytes : 0, 0x00020000);
#pragma unroll
    for (int s = 0; s < Steps; s++)
#pragma unroll
      for (int p = 0; p < Product::parts; p++) {
        const u32 in = (u32)(s * Product::parts + p) * run + piece;
        const u32 place = !Tail || at + in < columns ? down(lane % side, pitch) + in : NOWHERE;
#pragma unroll
        for (int i = 0; i < Count; i++)
          to.value[i][s].piece[p] = vec16_of(multiplied<type>(
              __builtin_amdgcn_raw_buffer_load_b128(r, place, at + (u32)i * side * pitch, 0)));
      }
  }
};

/* As loaded: eight rows of k of four neighbouring columns of a lane. `turned` makes the operand of it. */
template <class Product, int Count, int Steps> struct unturned {
  u32x2 value[Count / 4][Steps][8];
};

/* Loads columns of a matrix of 16-bit elements from memory to the registers of a wave: Count x 16 columns from `first`
 * on, k down the rows. A lane gets four neighbours, so column 4 l + q of 64 becomes row l of fragment q: `put` with
 * Spread puts them back. Columns come in whole fours. */
struct columns_of {
  const u8 *from;
  u32 pitch;
  i64 rows;
  u32 columns;
  template <class Type> TW_FN columns_of(const Type *matrix, i64 ld, int first, int cols, int rows_) {
    static_assert(sizeof(Type) == 2, "elements of 16 bits");
    from = (const u8 *)(matrix + first);
    pitch = (u32)ld * sizeof(Type);
    rows = rows_;
    columns = cols > first ? (u32)(cols - first) * sizeof(Type) : 0;
  }
  /* From row `row` on. Rows after the last are zeros. */
  template <class Product, int Count, int Steps> TW_FN void load(unturned<Product, Count, Steps> &to, int row) const {
    static_assert(Product::side == 16 && Count % 4 == 0, "64 columns together");
    const u32 lane = (u32)thread_of_group();
    const int have = min((int)(rows - row), Steps * Product::deep);
    const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(
        (void *)(from + (i64)row * pitch), 0, have > 0 && columns ? (u32)(have - 1) * pitch + columns : 0, 0x00020000);
#pragma unroll
    for (int s = 0; s < Steps; s++)
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < Count / 4; j++) {
          const u32 at = (u32)j * 128 + lane % 16 * 8;
          to.value[j][s][i] = __builtin_amdgcn_raw_buffer_load_b64(
              r, at < columns ? down(lane / 16 * 8, pitch) + at : NOWHERE, (u32)(s * Product::deep + i) * pitch, 0);
        }
  }
};
template <class Product, int Count, int Steps>
TW_FN operand<Product, Count, Steps> turned(const unturned<Product, Count, Steps> &from) {
  operand<Product, Count, Steps> to;
#pragma unroll
  for (int s = 0; s < Steps; s++)
#pragma unroll
    for (int j = 0; j < Count / 4; j++)
#pragma unroll
      for (int p = 0; p < 4; p++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const u32 even = from.value[j][s][2 * p][h], odd = from.value[j][s][2 * p + 1][h];
          to.value[4 * j + 2 * h][s].piece[0].word[p] = __builtin_amdgcn_perm(odd, even, 0x05040100u);
          to.value[4 * j + 2 * h + 1][s].piece[0].word[p] = __builtin_amdgcn_perm(odd, even, 0x07060302u);
        }
  return to;
}

/* One of the reads that `load` makes of a step: Product::parts for each row. */
template <int Piece, class Product, int Count, class Tile>
TW_FN void load_piece(operand<Product, Count, 1> &to, Tile from, int first, int step) {
  constexpr u32 side = Product::side, down = side * Tile::row_bytes, run = group_threads / side * 16;
  const u32 lane = (u32)thread_of_group(), row = lane % side;
  constexpr u32 p = Piece % Product::parts, i = Piece / Product::parts;
  const u32 col = ((u32)step * Product::parts + p) * run + lane / side * 16;
  const TW_LOCAL u8 *at = from.at + (u32)first * Tile::row_bytes + Tile::swizzle::of(row * Tile::row_bytes + col);
  to.value[i][0].piece[p] = vec16_of(*(const TW_LOCAL u32x4 *)(at + i * down));
}

/* The row of C's tile, or column, that row x of an operand's fragment belongs to. */
template <class Product> TW_FN constexpr int row_in(Product, int fragment, int x) { return fragment * Product::side + x; }

/* LDS address of piece i along k of the first fragment. Other fragments have constant distances to it. */
template <class Product, class Tile> TW_FN u32 read_address(Tile from, int first, int i) {
  constexpr u32 side = Product::side, run = group_threads / side * 16;
  static_assert(side * Tile::row_bytes % Tile::swizzle::span == 0, "a swizzle repeats with the rows of a product");
  const u32 lane = (u32)thread_of_group();
  return (u32)(__UINTPTR_TYPE__)from.at + (u32)first * Tile::row_bytes +
         Tile::swizzle::of((u32)row_in(Product{}, 0, (int)(lane % side)) * Tile::row_bytes + (u32)i * run + lane / side * 16);
}

#ifdef __gfx950__
/* A transposing read of 4 x 16 elements of 16 lanes. `restrict`, because otherwise the compiler waits for all copies
 * to LDS. */
TW_FN u32x2 read_turned(const TW_LOCAL u8 *__restrict at) {
  return __builtin_bit_cast(u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16((TW_LOCAL i16x4 *)at));
}
/* The same for a tile of 16-bit elements that is stored k x rows, by transposing reads. Lane l of 16 reads four
 * columns of row l / 4 and gets four rows of column l (layout/lds.h). */
template <class Product, int Count, int Steps, class Tile>
TW_FN void load_across(operand<Product, Count, Steps> &to, Tile from, int first, int step) {
  static_assert(sizeof(typename Product::type) == 2, "elements of 16 bits");
  constexpr u32 side = Product::side, size = 2;
  static_assert(side * size % 16 == 0 && Product::deep * Tile::row_bytes % Tile::swizzle::span == 0,
                "a swizzle repeats with the k of a matrix instruction");
  const u32 lane = (u32)thread_of_group(), set = lane / 16, in = lane % 16;
  const u32 across = set % (side / 16) * 16 + in % 4 * 4, down = set / (side / 16) * 8 + in / 4;
#pragma unroll
  for (int i = 0; i < Count; i++) {
    const u32 col = ((u32)first + (u32)i * side + across) * size;
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const TW_LOCAL u8 *at = from.at + Tile::swizzle::of((down + 4 * half) * Tile::row_bytes + col);
#pragma unroll
      for (int s = 0; s < Steps; s++) {
        const u32x2 got = __builtin_bit_cast(
            u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16(
                       (TW_LOCAL i16x4 *)(at + (u32)(step + s) * Product::deep * Tile::row_bytes)));
        to.value[i][s].piece[0].word[2 * half] = got[0];
        to.value[i][s].piece[0].word[2 * half + 1] = got[1];
      }
    }
  }
}
/* One of its reads: two for each row. */
template <int Piece, class Product, int Count, class Tile>
TW_FN void load_across_piece(operand<Product, Count, 1> &to, Tile from, int first, int step) {
  constexpr u32 side = Product::side, size = 2, half = Piece % 2, i = Piece / 2;
  const u32 lane = (u32)thread_of_group(), set = lane / 16, in = lane % 16;
  const u32 across = set % (side / 16) * 16 + in % 4 * 4, down = set / (side / 16) * 8 + in / 4;
  const u32 col = ((u32)first + i * side + across) * size;
  const TW_LOCAL u8 *at = from.at + Tile::swizzle::of((down + 4 * half) * Tile::row_bytes + col);
  const u32x2 got = __builtin_bit_cast(u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16(
                                                  (TW_LOCAL i16x4 *)(at + (u32)step * Product::deep * Tile::row_bytes)));
  to.value[i][0].piece[0].word[2 * half] = got[0];
  to.value[i][0].piece[0].word[2 * half + 1] = got[1];
}
#endif

#ifdef __gfx950__
/* One read of load_across: read i % 2 of fragment i / 2. */
template <class Product, class Tile> TW_FN u32 read_address_across(Tile from, int first, int i) {
  constexpr u32 side = Product::side;
  static_assert(Product::deep * Tile::row_bytes % Tile::swizzle::span == 0, "a swizzle repeats with the k of a product");
  const u32 lane = (u32)thread_of_group(), set = lane / 16, in = lane % 16;
  const u32 across = set % (side / 16) * 16 + in % 4 * 4, down = set / (side / 16) * 8 + in / 4 + 4 * ((u32)i % 2);
  const u32 col = ((u32)first + (u32)i / 2 * side + across) * 2;
  return (u32)(__UINTPTR_TYPE__)from.at + Tile::swizzle::of(down * Tile::row_bytes + col);
}
#endif

/* sums += A B^T. */
template <class Product, int Rows, int Cols, int Steps>
TW_FN void mma_abt(acc<Product, Rows, Cols> &sums, const operand<Product, Rows, Steps> &a,
                   const operand<Product, Cols, Steps> &b) {
#pragma unroll
  for (int s = 0; s < Steps; s++)
#pragma unroll
    for (int i = 0; i < Rows; i++)
#pragma unroll
      for (int j = 0; j < Cols; j++) sums.value[i][j] = Product::of(b.value[j][s], a.value[i][s], sums.value[i][j]);
}

/* ---- scales of blocks of k ---- */

/* Scales of the rows of A that a lane has sums of, from row `first` on: element (row, block) is at from[row * down +
 * block * right]. Rows outside of the matrix have scale 0. */
template <class Product, int Rows> struct row_scales {
  float value[Rows];
  TW_FN void load(const float *from, int first, int rows, int down, int right, int blocks, int block) {
    const __amdgpu_buffer_rsrc_t r =
        __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, (u32)rows * (u32)blocks * 4, 0x00020000);
#pragma unroll
    for (int i = 0; i < Rows; i++) {
      const int row = first + i * Product::side + thread_of_group() % Product::side;
      value[i] = float_of(__builtin_amdgcn_raw_buffer_load_b32(
          r, row < rows && block < blocks ? (u32)(row * down + block * right) * 4 : NOWHERE, 0, 0));
    }
  }
};
/* One number, by each lane: a scalar load would be waited for together with all reads of LDS. */
TW_FN float by_lanes(const float *from, int count, int at) {
  const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, (u32)count * 4, 0x00020000);
  return float_of(__builtin_amdgcn_raw_buffer_load_b32(r, at < count ? (u32)at * 4 : NOWHERE, 0, 0));
}
/* For a loop in assembly: the words of the resource of all scales. */
TW_FN u32x4 words_of(const float *from, int count) {
  return (u32x4){(u32)(u64)from, (u32)((u64)from >> 32) & 0xffffu, (u32)count * 4, 0x00020000};
}
/* sums += A B^T, over a block of k, times scales of A's rows and of all of B. */
template <class Product, int Rows, int Cols, int Steps>
TW_FN void mma_abt_scaled(acc<Product, Rows, Cols> &sums, const operand<Product, Rows, Steps> &a,
                          const operand<Product, Cols, Steps> &b, const row_scales<Product, Rows> &of_a, float of_b) {
#pragma unroll
  for (int i = 0; i < Rows; i++) {
    const float factor = of_a.value[i] * of_b;
#pragma unroll
    for (int j = 0; j < Cols; j++) {
      typename Product::sum some{};
#pragma unroll
      for (int s = 0; s < Steps; s++) some = Product::of(b.value[j][s], a.value[i][s], some);
      sums.value[i][j] += some * factor;
    }
  }
}

/* A hint to the hardware: waves of higher priority (0 to 3) issue first. */
template <int Level> TW_FN void priority() { TW_PRIORITY(Level); }
/* The compiler's scheduler moves nothing across. */
TW_FN void fixed_here() { TW_FIXED(); }
/* Calls f(0), f(1), ... f(Count - 1) with compile-time constants, so that arrays that they index stay in registers. */
template <int Value> struct known { static constexpr int value = Value; };
template <int Count, int First = 0, class F> TW_FN void repeat(F &&f) {
  if constexpr (First < Count) {
    f(known<First>{});
    repeat<Count, First + 1>(f);
  }
}
/* mma_abt of one step that also calls act(0), act(1), ... act(Actions - 1) among the first half of the products. */
template <int Actions, class Product, int Rows, int Cols, class Act>
TW_FN void mma_abt_beside(acc<Product, Rows, Cols> &sums, const operand<Product, Rows, 1> &a,
                          const operand<Product, Cols, 1> &b, Act act) {
  constexpr int each = (2 * Actions + Rows * Cols - 1) / (Rows * Cols);
  repeat<Rows * Cols>([&](auto n) __attribute__((always_inline)) {
    constexpr int i = n.value / Cols, j = n.value % Cols, first = n.value * each;
    fixed_here();
    repeat<(first + each < Actions ? first + each : Actions), (first < Actions ? first : Actions)>(act);
    fixed_here();
    sums.value[i][j] = Product::of(b.value[j][0], a.value[i][0], sums.value[i][j]);
  });
  fixed_here();
}
/* The calls after the n-th product, when Count calls are spread evenly from product First to product End. */
template <int Count, int First, int End, int N, class F> TW_FN void share(F &&f) {
  constexpr int among = End - First, n = N < First ? 0 : N < End ? N - First : among, more = N >= First && N < End ? 1 : 0;
  repeat<(n + more) * Count / among, n * Count / among>(f);
}
/* The x-th of A + B calls when two kinds alternate as long as both remain: 0 .. A - 1, or A + the number of the
 * second kind. */
template <int A, int B> constexpr int in_turn(int x) {
  constexpr int both = A < B ? A : B;
  return x < 2 * both ? x % 2 * A + x / 2 : A > B ? x - B : x;
}
/* Barrier of all waves that waits for no read and no copy: the end of a ping-pong phase. */
TW_FN void end_turn() { tw_end_turn(); }
/* Waits until at most Count LDS reads of this wave are in flight. */
template <int Count> TW_FN void reads_wait() { TW_READS_WAIT(Count); }
/* Reads that fill an operand. */
template <class Operand> constexpr int reads_of = (int)(sizeof(Operand) / 16);

/* Hint to the compiler's scheduler for the earlier instructions of the basic block: `Rounds` rounds of `Reads` LDS
 * reads and `Products` matrix instructions; `Copies` loads are spread among the first. */
template <int Rounds, int Reads, int Products, int Copies> TW_FN void spread() {
#pragma unroll
  for (int i = 0; i < Rounds; i++) {
    TW_THEN(TW_READS, Reads);
    TW_THEN(TW_PRODUCTS, Products);
    if (i < Copies) TW_THEN(TW_COPIES, 1);
  }
}

/* Four neighbouring elements of a row of C. */
template <class Type> struct four;
template <> struct four<float> {
  using word = u32x4;
  static TW_FN word of(f32x4 v) { return __builtin_bit_cast(u32x4, v); }
};
template <> struct four<i32> {
  using word = u32x4;
  static TW_FN word of(i32x4 v) { return __builtin_bit_cast(u32x4, v); }
};
template <class Type> struct four {
  using word = u32x2;
  template <class V> static TW_FN word of(V v) {
    return (u32x2){packed<Type>::of(v[0], v[1]), packed<Type>::of(v[2], v[3])};
  }
};
template <> struct four<i8> {
  using word = u32;
  static TW_FN word of(i32x4 v) {
    return (u32)packed<i8>::of(v[0], v[1]) | (u32)packed<i8>::of(v[2], v[3]) << 16;
  }
};

template <class A> struct quad_of;
template <> struct quad_of<float> { using type = f32x4; };
template <> struct quad_of<i32> { using type = i32x4; };

/* How the caches treat stores of C: bits of the instruction. A kernel's `let` line may set 2, nontemporal. */
#ifndef STORE_CACHE
#define STORE_CACHE 0
#endif
TW_FN void store_bytes(u32x4 v, __amdgpu_buffer_rsrc_t r, u32 at) { __builtin_amdgcn_raw_buffer_store_b128(v, r, at, 0, STORE_CACHE); }
TW_FN void store_bytes(u32x2 v, __amdgpu_buffer_rsrc_t r, u32 at) { __builtin_amdgcn_raw_buffer_store_b64(v, r, at, 0, STORE_CACHE); }
TW_FN void store_bytes(u32 v, __amdgpu_buffer_rsrc_t r, u32 at) { __builtin_amdgcn_raw_buffer_store_b32(v, r, at, 0, STORE_CACHE); }
TW_FN void store_bytes(u16 v, __amdgpu_buffer_rsrc_t r, u32 at) { __builtin_amdgcn_raw_buffer_store_b16(v, r, at, 0, STORE_CACHE); }
TW_FN void store_bytes(u8 v, __amdgpu_buffer_rsrc_t r, u32 at) { __builtin_amdgcn_raw_buffer_store_b8(v, r, at, 0, STORE_CACHE); }
template <int Bytes> struct bits_type;
template <> struct bits_type<1> { using type = u8; };
template <> struct bits_type<2> { using type = u16; };
template <> struct bits_type<4> { using type = u32; };

/* C from (row, col) on, as a target of stores. Elements outside of the matrix are dropped. */
template <class Type> struct result_tile {
  __amdgpu_buffer_rsrc_t memory;
  u32 pitch;
  int columns;
  TW_FN result_tile(Type *c, i64 ld, int row, int col, int rows, int cols, int height) {
    const int have_rows = min(rows - row, height);
    pitch = (u32)ld;
    columns = cols - col;
    const bool any = have_rows > 0 && columns > 0;
    memory = __builtin_amdgcn_make_buffer_rsrc(
        c + (i64)row * ld + col, 0, any ? ((u32)(have_rows - 1) * pitch + (u32)columns) * (u32)sizeof(Type) : 0, 0x00020000);
  }
  /* Four neighbours of a row. Whole: they are stored at once. */
  template <bool Whole, class Four> TW_FN void store(Four v, int line, int at) const {
    constexpr int size = (int)sizeof(Type);
    const u32 place = ((u32)line * pitch + (u32)at) * size;
    if constexpr (Whole)
      store_words(four<Type>::of(v), line, at);
    else
#pragma unroll
      for (int e = 0; e < 4; e++) {
        Type one;
        set(one, v[e]);
        store_bytes(__builtin_bit_cast(typename bits_type<size>::type, one), memory,
                    at + e < columns ? place + (u32)(e * size) : NOWHERE);
      }
  }
  template <class Words> TW_FN void store_words(Words words, int line, int at) const {
    store_bytes(words, memory, at < columns ? ((u32)line * pitch + (u32)at) * (u32)sizeof(Type) : NOWHERE);
  }
};

/* Calls act(four sums, row, column of the first) for all fours of neighbours in a wave's part of C. Spread: columns_of has
 * loaded the columns. */
template <bool Spread, class Product, int Rows, int Cols, class Act>
TW_FN void each_four(const acc<Product, Rows, Cols> &sums, Act act) {
  constexpr int side = Product::side, quads = side * side / 64 / 4;
  using element = decltype(sums.value[0][0][0] + sums.value[0][0][0]);
  const int lane = thread_of_group(), down = lane % side, across = lane / side * 4;
#pragma unroll
  for (int i = 0; i < Rows; i++)
#pragma unroll
    for (int j = 0; j < Cols; j++)
#pragma unroll
      for (int q = 0; q < quads; q++) {
        typename quad_of<element>::type v;
#pragma unroll
        for (int e = 0; e < 4; e++) v[e] = Spread ? sums.value[i][j / 4 * 4 + e][j % 4] : sums.value[i][j][q * 4 + e];
        act(v, row_in(Product{}, i, down), Spread ? j / 4 * 64 + (across + j % 4) * 4 : row_in(Product{}, j, q * 8 + across));
      }
}

/* f of each of four neighbours. */
template <class Four, class Finish> TW_FN auto finished(Four v, int line, int at, Finish f) {
  using value = decltype(f(v[0], 0, 0));
  typename quad_of<value>::type out;
#pragma unroll
  for (int e = 0; e < 4; e++) out[e] = f(v[e], line, at + e);
  return out;
}

#ifdef __gfx950__
/* Stores sums of 16 bits, eight neighbours of a row at once: two fours of a lane change places with the fours of the
 * lanes beside it. A row's part in a store is then 64 bytes, or 32 with Product::side 32, twice that of fours. */
template <class Product, int Rows, int Cols, class Type, class Finish>
TW_FN void put_eights(const result_tile<Type> &to, const acc<Product, Rows, Cols> &sums, Finish f) {
  constexpr int side = Product::side, run = group_threads / side * 4; /* columns of a four of all lanes */
  const int lane_row = thread_of_group() / side, own = lane_row % 2 * run + lane_row / 2 * 8;
  u32x2 first = {0, 0};
  int number = 0;
  each_four<false>(sums, [&](auto v, int line, int at) TW_INLINE {
    u32x2 second = four<Type>::of(finished(v, line, at, f));
    if (number++ % 2 == 0) {
      first = second;
      return;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const auto both = side == 16 ? __builtin_amdgcn_permlane16_swap(first[i], second[i], false, false)
                                   : __builtin_amdgcn_permlane32_swap(first[i], second[i], false, false);
      first[i] = both[0], second[i] = both[1];
    }
    to.store_words((u32x4){first[0], first[1], second[0], second[1]}, line, at - lane_row * 4 - run + own);
  });
}
#endif

/* Stores f(sum, rows down, columns across) to C from (row, col) on; elements outside are dropped. Whole: true if C's
 * columns and pitch are multiples of 4, 2 if they are multiples of 8. Then a lane stores that many neighbours of a row
 * at once. */
template <int Whole, bool Spread = false, class Product, int Rows, int Cols, class Type, class Finish>
TW_FN void put(Type *c, i64 pitch, const acc<Product, Rows, Cols> &sums, int row, int col, int rows, int cols, Finish f) {
  const result_tile<Type> to(c, pitch, row, col, rows, cols, Rows * Product::side);
#ifdef __gfx950__
  if constexpr (Whole == 2 && !Spread && sizeof(Type) == 2 && (Product::side == 32 || Cols % 2 == 0)) {
    put_eights(to, sums, f);
    return;
  }
#endif
  each_four<Spread>(sums, [&](auto v, int line, int at)
                              TW_INLINE { to.template store<Whole != 0>(finished(v, line, at, f), line, at); });
}

/* The same for the sums of `Parts` waves that divide k: they meet in LDS, then each wave adds and stores some rows.
 * `Groups` such sets of waves work beside each other. Rows in LDS have 16 bytes more, against bank conflicts. */
template <int Whole, bool Spread, int Parts, int Groups, class Product, int Rows, int Cols, class Type, class Finish>
TW_FN void put_added(Type *c, i64 pitch, const acc<Product, Rows, Cols> &sums, TW_LOCAL u8 *memory, int part, int group,
                     int row, int col, int rows, int cols, Finish f) {
  constexpr int height = Rows * Product::side, width = Cols * Product::side, down = (width + 4) * 4;
  constexpr int fours = height * width / 4, units = fours / group_threads; /* of a set of waves; of all its lanes */
  using element = decltype(sums.value[0][0][0] + sums.value[0][0][0]);
  using quad = typename quad_of<element>::type;
  const result_tile<Type> to(c, pitch, row, col, rows, cols, height);
  each_four<Spread>(sums, [&](auto v, int line, int at) TW_INLINE {
    *(TW_LOCAL quad *)(memory + ((part * Groups + group) * height + line) * down + at * 4) = v;
  });
  sync_block();
#pragma unroll
  for (int u = 0; u < units; u += Parts) {
    if (units % Parts && u + part >= units) break;
    const int i = (u + part) * group_threads + thread_of_group(), line = i / (width / 4), at = i % (width / 4) * 4;
    const TW_LOCAL u8 *from = memory + (group * height + line) * down + at * 4;
    quad sum = *(const TW_LOCAL quad *)from;
#pragma unroll
    for (int p = 1; p < Parts; p++) sum += *(const TW_LOCAL quad *)(from + p * (Groups * height * down));
    to.template store<Whole != 0>(finished(sum, line, at, f), line, at);
  }
}

}  // namespace tw
