/* tile_register.hpp - register tiles of a wave, and operators over all of their elements, under HipKittens' names.
 *
 * A tile consists of blocks of 16 x 16. In a tile by rows, lane l has four neighbouring columns of row l % 16 of each block,
 * from 4 (l / 16) on; by columns, four rows of column l % 16. So a tile and its transpose in the other layout are the same
 * registers, sums of products are tiles, and tiles are operands without a move between lanes: both operands have their k in
 * the same order. A line is a block's row or column of one lane; a piece is its four neighbours. */
#pragma once
#include "tile_attention.hpp"
#include "tile_rows.hpp"

namespace tw {

struct row_l {};
struct col_l {};

/* A lane's piece: four numbers. */
template <class Type> struct quad {
  using bits = u32x2;
  static TW_FN f32x4 floats(bits v) {
    f32x4 x;
#pragma unroll
    for (int e = 0; e < 4; e++) x[e] = number(Type{(u16)(v[e / 2] >> e % 2 * 16)});
    return x;
  }
  static TW_FN bits of(f32x4 x) { return (bits){packed<Type>::of(x[0], x[1]), packed<Type>::of(x[2], x[3])}; }
};
template <> struct quad<float> {
  using bits = f32x4;
  static TW_FN f32x4 floats(bits v) { return v; }
  static TW_FN bits of(f32x4 x) { return x; }
};

/* A number for each line of a lane, and four for each of its pieces. */
template <int Lines> struct line_vec { float value[Lines]; };
template <int Pieces> struct piece_vec { f32x4 value[Pieces]; };

template <bool Lines, int Count> struct vec_of { using type = line_vec<Count>; };
template <int Count> struct vec_of<false, Count> { using type = piece_vec<Count>; };

template <class Type, int Rows, int Cols, class Layout = row_l> struct rt {
  static_assert(Rows % 16 == 0 && Cols % 16 == 0, "a register tile consists of blocks of 16 x 16");
  static constexpr bool by_rows = same_type<Layout, row_l>::value;
  static constexpr int rows = Rows, cols = Cols, lines = (by_rows ? Rows : Cols) / 16, pieces = (by_rows ? Cols : Rows) / 16;
  using type = Type;
  using layout = Layout;
  using bits = typename quad<Type>::bits;
  /* A number for each row, and for each column. */
  using col_vec = typename vec_of<by_rows, Rows / 16>::type;
  using row_vec = typename vec_of<!by_rows, Cols / 16>::type;
  bits value[lines][pieces];
  TW_FN f32x4 get(int i, int j) const { return quad<Type>::floats(value[i][j]); }
  TW_FN void set(int i, int j, f32x4 x) { value[i][j] = quad<Type>::of(x); }
};
template <int Rows, int Cols, class Layout = row_l> using rt_fl = rt<float, Rows, Cols, Layout>;
template <int Rows, int Cols, class Layout = row_l> using rt_bf = rt<bf16, Rows, Cols, Layout>;
template <int Rows, int Cols, class Layout = row_l> using rt_hf = rt<f16, Rows, Cols, Layout>;

/* ---- element by element ----
 *
 * `to` and the operands may be the same. Numbers are computed in f32 and rounded to `to`'s type. */

template <class To, class Function> TW_FN void each_block(To &to, Function f) {
#pragma unroll
  for (int i = 0; i < To::lines; i++)
#pragma unroll
    for (int j = 0; j < To::pieces; j++) to.set(i, j, f(i, j));
}
template <class To> TW_FN void fill(To &to, float x) {
  each_block(to, [&](int, int) TW_INLINE { return (f32x4){x, x, x, x}; });
}
template <class To> TW_FN void zero(To &to) { fill(to, 0); }
template <class To> TW_FN void one(To &to) { fill(to, 1); }
template <class To> TW_FN void neg_infty(To &to) { fill(to, -infinity()); }

template <class To, class From> TW_FN void copy(To &to, const From &from) {
  static_assert(To::rows == From::rows && To::cols == From::cols && same_type<typename To::layout, typename From::layout>::value,
                "copy changes the type only");
  each_block(to, [&](int i, int j) TW_INLINE { return from.get(i, j); });
}
/* The transpose, in the other layout: the same registers. */
template <class Type, int Rows, int Cols> TW_FN void swap_layout_and_transpose(rt<Type, Cols, Rows, col_l> &to, const rt<Type, Rows, Cols, row_l> &from) {
  __builtin_memcpy(&to, &from, sizeof to);
}
template <class Type, int Rows, int Cols> TW_FN void swap_layout_and_transpose(rt<Type, Cols, Rows, row_l> &to, const rt<Type, Rows, Cols, col_l> &from) {
  __builtin_memcpy(&to, &from, sizeof to);
}

#define TW_EACH(NAME, EXPRESSION)                                                                                      \
  template <class To> TW_FN void NAME(To &to, const To &from) {                                                        \
    each_block(to, [&](int i, int j) TW_INLINE {                                                                       \
      const f32x4 x = from.get(i, j);                                                                                  \
      return (f32x4){EXPRESSION(x[0]), EXPRESSION(x[1]), EXPRESSION(x[2]), EXPRESSION(x[3])};                          \
    });                                                                                                                \
  }
TW_FN float exp_fast(float x) { return exp2_fast(x * 1.44269504f); }
TW_FN float log_fast(float x) { return log2_fast(x) * 0.693147181f; }
TW_EACH(exp, exp_fast)
TW_EACH(exp2, exp2_fast)
TW_EACH(log, log_fast)
TW_EACH(abs, __builtin_fabsf)
TW_EACH(relu, [](float v) TW_INLINE { return fmaxf(v, 0); })

/* With a number for all; with the element of a tile; with that of its row, and of its column. */
TW_FN f32x4 larger(f32x4 a, f32x4 b) { return __builtin_elementwise_max(a, b); }
TW_FN f32x4 smaller(f32x4 a, f32x4 b) { return __builtin_elementwise_min(a, b); }
TW_FN f32x4 of_block(float x, int, int) { return (f32x4){x, x, x, x}; }
template <int Count> TW_FN f32x4 of_block(const line_vec<Count> &v, int i, int j) { return of_block(v.value[i], i, j); }
template <int Count> TW_FN f32x4 of_block(const piece_vec<Count> &v, int, int j) { return v.value[j]; }
template <class Type, int Rows, int Cols, class Layout> TW_FN f32x4 of_block(const rt<Type, Rows, Cols, Layout> &t, int i, int j) { return t.get(i, j); }
template <class To, class With, class Function> TW_FN void each_with(To &to, const To &from, const With &with, Function f) {
  each_block(to, [&](int i, int j) TW_INLINE { return f(from.get(i, j), of_block(with, i, j)); });
}
#define TW_WITH(NAME, EXPRESSION)                                                                                      \
  struct apply_##NAME {                                                                                                \
    TW_FN f32x4 operator()(f32x4 a, f32x4 b) const { return EXPRESSION; }                                              \
  };                                                                                                                   \
  template <class To> TW_FN void NAME(To &to, const To &from, float with) { each_with(to, from, with, apply_##NAME{}); } \
  template <class To> TW_FN void NAME(To &to, const To &from, const To &with) { each_with(to, from, with, apply_##NAME{}); } \
  template <class To> TW_FN void NAME##_row(To &to, const To &from, const typename To::col_vec &with) {                \
    each_with(to, from, with, apply_##NAME{});                                                                         \
  }                                                                                                                    \
  template <class To> TW_FN void NAME##_col(To &to, const To &from, const typename To::row_vec &with) {                \
    each_with(to, from, with, apply_##NAME{});                                                                         \
  }
TW_WITH(add, a + b)
TW_WITH(sub, a - b)
TW_WITH(mul, a *b)
TW_WITH(div, a / b)
TW_WITH(max, larger(a, b))
TW_WITH(min, smaller(a, b))

/* Elements of column `end` and the columns after it become `x`. */
template <class To> TW_FN void right_fill(To &to, const To &from, int end, float x) {
  const int lane = thread_of_group();
  each_block(to, [&](int i, int j) TW_INLINE {
    f32x4 v = from.get(i, j);
#pragma unroll
    for (int e = 0; e < 4; e++)
      if ((To::by_rows ? 16 * j + lane / 16 * 4 + e : 16 * i + lane % 16) >= end) v[e] = x;
    return v;
  });
}

/* ---- vectors ---- */

template <class Function> TW_FN float each_number(float a, Function f) { return f(a); }
template <class Function> TW_FN f32x4 each_number(f32x4 a, Function f) { return (f32x4){f(a[0]), f(a[1]), f(a[2]), f(a[3])}; }
template <class Vec, class Function> TW_FN void each_of(Vec &to, Function f) {
#pragma unroll
  for (int i = 0; i < (int)(sizeof to.value / sizeof to.value[0]); i++) f(to.value[i], i);
}
#define TW_VECTORS(SHAPE)                                                                                              \
  template <int Count> TW_FN void fill(SHAPE<Count> &to, float x) {                                                            \
    each_of(to, [&](auto &v, int) TW_INLINE { v = decltype(+v){} + x; });                                              \
  }                                                                                                                    \
  template <int Count> TW_FN void zero(SHAPE<Count> &to) { fill(to, 0); }                                                      \
  template <int Count> TW_FN void one(SHAPE<Count> &to) { fill(to, 1); }                                                       \
  template <int Count> TW_FN void neg_infty(SHAPE<Count> &to) { fill(to, -infinity()); }                                       \
  template <int Count> TW_FN void copy(SHAPE<Count> &to, const SHAPE<Count> &from) { to = from; }                                  \
  template <int Count> TW_FN void exp2(SHAPE<Count> &to, const SHAPE<Count> &from) {                                               \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = each_number(from.value[i], exp2_fast); });                         \
  }                                                                                                                    \
  template <int Count> TW_FN void rsqrt(SHAPE<Count> &to, const SHAPE<Count> &from) {                                              \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = each_number(from.value[i], rsqrt_fast); });                        \
  }                                                                                                                    \
  template <int Count> TW_FN void add(SHAPE<Count> &to, const SHAPE<Count> &a, const SHAPE<Count> &b) {                                \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = a.value[i] + b.value[i]; });                                       \
  }                                                                                                                    \
  template <int Count> TW_FN void sub(SHAPE<Count> &to, const SHAPE<Count> &a, const SHAPE<Count> &b) {                                \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = a.value[i] - b.value[i]; });                                       \
  }                                                                                                                    \
  template <int Count> TW_FN void mul(SHAPE<Count> &to, const SHAPE<Count> &a, const SHAPE<Count> &b) {                                \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = a.value[i] * b.value[i]; });                                       \
  }                                                                                                                    \
  template <int Count> TW_FN void add(SHAPE<Count> &to, const SHAPE<Count> &a, float b) {                                          \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = a.value[i] + b; });                                                \
  }                                                                                                                    \
  template <int Count> TW_FN void mul(SHAPE<Count> &to, const SHAPE<Count> &a, float b) {                                          \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = a.value[i] * b; });                                                \
  }
TW_VECTORS(line_vec)
TW_VECTORS(piece_vec)

/* ---- reductions of rows and columns; all lanes of a row or column get the result ---- */

template <class Reduce, class From> TW_FN void reduce_into(line_vec<From::lines> &to, const From &from) {
#pragma unroll
  for (int i = 0; i < From::lines; i++) {
    f32x4 x = from.get(i, 0);
#pragma unroll
    for (int j = 1; j < From::pieces; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) x[e] = Reduce::of(x[e], from.get(i, j)[e]);
    to.value[i] = over_query<mma<bf16, 16>, Reduce>(Reduce::of(Reduce::of(x[0], x[1]), Reduce::of(x[2], x[3])));
  }
}
template <class Reduce, class From> TW_FN void reduce_into(piece_vec<From::pieces> &to, const From &from) {
#pragma unroll
  for (int j = 0; j < From::pieces; j++)
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float x = from.get(0, j)[e];
#pragma unroll
      for (int i = 1; i < From::lines; i++) x = Reduce::of(x, from.get(i, j)[e]);
      to.value[j][e] = over_16<Reduce>(x);
    }
}
/* `row_max(to, tile)`: a number for each row. With a third argument, the larger of both; `row_sum` adds to it. */
#define TW_REDUCE(NAME, VECTOR, REDUCE)                                                                                \
  template <class From> TW_FN void NAME(typename From::VECTOR &to, const From &from) { reduce_into<REDUCE>(to, from); } \
  template <class From> TW_FN void NAME(typename From::VECTOR &to, const From &from, const typename From::VECTOR &with) { \
    typename From::VECTOR own;                                                                                         \
    reduce_into<REDUCE>(own, from);                                                                                    \
    each_of(to, [&](auto &v, int i) TW_INLINE { v = joined<REDUCE>(own.value[i], with.value[i]); });                   \
  }
template <class Reduce> TW_FN float joined(float a, float b) { return Reduce::of(a, b); }
template <class Reduce> TW_FN f32x4 joined(f32x4 a, f32x4 b) {
  return (f32x4){Reduce::of(a[0], b[0]), Reduce::of(a[1], b[1]), Reduce::of(a[2], b[2]), Reduce::of(a[3], b[3])};
}
TW_REDUCE(row_max, col_vec, max_of)
TW_REDUCE(row_sum, col_vec, sum_of)
TW_REDUCE(col_max, row_vec, max_of)
TW_REDUCE(col_sum, row_vec, sum_of)

/* ---- products ----
 *
 * d += A B, of tiles of a 16-bit type. Both operands have their k along pieces, 32 at a time. */

template <class Tile> TW_FN pieces<1> piece_of(const Tile &t, int i, int s) {
  const u32x2 low = t.value[i][2 * s], high = t.value[i][2 * s + 1];
  return pieces<1>{{vec16_of((u32x4){low[0], low[1], high[0], high[1]})}};
}
template <class Sums, class Lines, class Pieces> TW_FN void multiply_add(Sums &d, const Lines &l, const Pieces &p) {
  static_assert(Lines::pieces == Pieces::pieces && Lines::pieces % 2 == 0, "both operands have the same k, a multiple of 32");
  static_assert(Sums::lines == Lines::lines && Sums::pieces == Pieces::lines, "the sums have the operands' shape");
#pragma unroll
  for (int s = 0; s < Lines::pieces / 2; s++)
#pragma unroll
    for (int i = 0; i < Sums::lines; i++)
#pragma unroll
      for (int j = 0; j < Sums::pieces; j++)
        d.value[i][j] = mma<typename Lines::type, 16>::of(piece_of(p, j, s), piece_of(l, i, s), d.value[i][j]);
}
/* The name says how A and B are stored, as in BLAS; a tile that is not transposed for the product has its k along rows. */
#define TW_MULTIPLY(NAME, A_LAYOUT, B_LAYOUT, A_ROWS, A_COLS, B_ROWS, B_COLS)                                          \
  template <class Type, int Down, int Right, int Deep, class Layout>                                                            \
  TW_FN void NAME(rt<float, Down, Right, Layout> &d, const rt<Type, A_ROWS, A_COLS, A_LAYOUT> &a,                             \
                  const rt<Type, B_ROWS, B_COLS, B_LAYOUT> &b, const rt<float, Down, Right, Layout> &c) {                     \
    if (&d != &c) d = c;                                                                                               \
    if constexpr (same_type<Layout, row_l>::value)                                                                     \
      multiply_add(d, a, b);                                                                                           \
    else                                                                                                               \
      multiply_add(d, b, a);                                                                                           \
  }
TW_MULTIPLY(mma_AB, row_l, col_l, Down, Deep, Deep, Right)
TW_MULTIPLY(mma_ABt, row_l, row_l, Down, Deep, Right, Deep)
TW_MULTIPLY(mma_AtB, col_l, col_l, Deep, Down, Deep, Right)
TW_MULTIPLY(mma_AtBt, col_l, row_l, Deep, Down, Right, Deep)

/* ---- memory ----
 *
 * `rows` x `cols` elements, `ld` from row to row. Elements outside are loaded as 0 and not stored. Where pieces go along
 * rows, `cols`, `ld` and the tile's first column are multiples of 4. */

template <class Type> struct matrix_of {
  Type *at;
  i64 ld;
  int rows, cols;
  /* Offset of a lane's piece, or of element e of it, in bytes from row `row` on. */
  template <class Tile> TW_FN u32 offset(int row, int col, int i, int j, int e) const {
    const int lane = thread_of_group(), line = 16 * i + lane % 16, piece = 16 * j + lane / 16 * 4 + e;
    const int r = Tile::by_rows ? line : piece, c = col + (Tile::by_rows ? piece : line);
    return row + r < rows && c < cols ? (down((u32)r, (u32)ld) + (u32)c) * (u32)sizeof(Type) : NOWHERE;
  }
  TW_FN __amdgpu_buffer_rsrc_t resource(int row) const {
    return __builtin_amdgcn_make_buffer_rsrc((void *)(at + row * ld), 0, 0x7fffffff, 0x00020000);
  }
};
template <class Tile, class Type> TW_FN void load(Tile &to, const matrix_of<const Type> &from, int row, int col) {
  static_assert(same_type<typename Tile::type, Type>::value, "a tile is loaded from its own type");
  const __amdgpu_buffer_rsrc_t r = from.resource(row);
#pragma unroll
  for (int i = 0; i < Tile::lines; i++)
#pragma unroll
    for (int j = 0; j < Tile::pieces; j++) {
      typename Tile::bits v;
      if constexpr (!Tile::by_rows && sizeof(Type) == 4)
        for (int e = 0; e < 4; e++) v[e] = float_of(__builtin_amdgcn_raw_buffer_load_b32(r, from.template offset<Tile>(row, col, i, j, e), 0, 0));
      else if constexpr (!Tile::by_rows)
        for (int e = 0; e < 2; e++)
          v[e] = (u32)(u16)__builtin_amdgcn_raw_buffer_load_b16(r, from.template offset<Tile>(row, col, i, j, 2 * e), 0, 0) |
                 (u32)(u16)__builtin_amdgcn_raw_buffer_load_b16(r, from.template offset<Tile>(row, col, i, j, 2 * e + 1), 0, 0) << 16;
      else if constexpr (sizeof(Type) == 4)
        v = __builtin_bit_cast(f32x4, __builtin_amdgcn_raw_buffer_load_b128(r, from.template offset<Tile>(row, col, i, j, 0), 0, 0));
      else
        v = __builtin_bit_cast(u32x2, __builtin_amdgcn_raw_buffer_load_b64(r, from.template offset<Tile>(row, col, i, j, 0), 0, 0));
      to.value[i][j] = v;
    }
}
template <class Tile, class Type> TW_FN void store(const matrix_of<Type> &to, const Tile &from, int row, int col) {
  const __amdgpu_buffer_rsrc_t r = to.resource(row);
#pragma unroll
  for (int i = 0; i < Tile::lines; i++)
#pragma unroll
    for (int j = 0; j < Tile::pieces; j++) {
      const typename quad<Type>::bits v = quad<Type>::of(from.get(i, j));
      if constexpr (!Tile::by_rows && sizeof(Type) == 4)
        for (int e = 0; e < 4; e++) __builtin_amdgcn_raw_buffer_store_b32(bits_of(v[e]), r, to.template offset<Tile>(row, col, i, j, e), 0, 0);
      else if constexpr (!Tile::by_rows)
        for (int e = 0; e < 4; e++)
          __builtin_amdgcn_raw_buffer_store_b16((i16)(v[e / 2] >> e % 2 * 16), r, to.template offset<Tile>(row, col, i, j, e), 0, 0);
      else if constexpr (sizeof(Type) == 4)
        __builtin_amdgcn_raw_buffer_store_b128(words_of(__builtin_bit_cast(vec16, v)), r, to.template offset<Tile>(row, col, i, j, 0), 0, 0);
      else
        __builtin_amdgcn_raw_buffer_store_b64(v, r, to.template offset<Tile>(row, col, i, j, 0), 0, 0);
    }
}
/* From row `row` and column `col` of a shared tile on. */
template <class Tile, class Shared> TW_FN void load_shared(Tile &to, Shared from, int row, int col) {
  using type = typename Tile::type;
  static_assert(same_type<type, typename Shared::type>::value && sizeof(type) == 2, "16-bit tiles are loaded from LDS");
  const int lane = thread_of_group();
#pragma unroll
  for (int i = 0; i < Tile::lines; i++)
#pragma unroll
    for (int j = 0; j < Tile::pieces; j++) {
      const u32 line = (u32)(16 * i + lane % 16), piece = (u32)(16 * j + lane / 16 * 4);
      const u32 o = Tile::by_rows ? (row + line) * Shared::row_bytes + (col + piece) * 2 : (row + piece) * Shared::row_bytes + (col + line) * 2;
      if constexpr (Tile::by_rows)
        to.value[i][j] = *(const TW_LOCAL u32x2 *)(from.at + Shared::swizzle::of(o));
      else
        for (u32 e = 0; e < 2; e++)
          to.value[i][j][e] = (u32) * (const TW_LOCAL u16 *)(from.at + Shared::swizzle::of(o + 2 * e * Shared::row_bytes)) |
                              (u32) * (const TW_LOCAL u16 *)(from.at + Shared::swizzle::of(o + (2 * e + 1) * Shared::row_bytes)) << 16;
    }
}

/* ---- pinned registers ----
 *
 * `pin<'v', 24>(tile)`: here, the tile is in v24, v25, ...; 'a' is the accumulation registers. Where a loop pins a tile in each
 * round, the compiler keeps it there, so products read and write these registers. The compiler knows of it: it moves what is
 * elsewhere, and never uses the registers for two values at once. From clang 21 on, constraints can be computed. */
#if __clang_major__ >= 21

template <char File, int First, int Count> struct register_range {
  char text[24] = {};
  unsigned length = 0;
  constexpr register_range(const char *mode) {
    while (*mode) add(*mode++);
    add('{'), add(File), add('['), add_number(First), add(':'), add_number(First + Count - 1), add(']'), add('}');
  }
  constexpr void add(char c) { text[length++] = c; }
  constexpr void add_number(int x) {
    if (x >= 100) add((char)('0' + x / 100));
    if (x >= 10) add((char)('0' + x / 10 % 10));
    add((char)('0' + x % 10));
  }
  constexpr const char *data() const { return text; }
  constexpr unsigned size() const { return length; }
};
template <char File, int First, class Tile> TW_FN void pin(Tile &t) {
  constexpr int each = (int)sizeof(typename Tile::bits) / 4;
  static_assert(First + Tile::lines * Tile::pieces * each <= 256, "a register file has 256 registers of a lane");
  repeat<Tile::lines * Tile::pieces>([&](auto n) __attribute__((always_inline)) {
    constexpr register_range<File, First + n.value * each, each> out("="), in("");
    auto &v = t.value[n.value / Tile::pieces][n.value % Tile::pieces];
    asm volatile("" : (out)(v) : (in)(v));
  });
}
#endif

}  // namespace tw
