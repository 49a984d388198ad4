/* tile_mma.cuh - products of tiles by wgmma: a warpgroup multiplies shared tiles (or its own registers) into its
 * registers.
 *
 * D[64 x N] += A[64 x k] B. B comes from shared memory, stored n x k (`mma_abt`) or k x n (`mma_ab`). A is stored m x
 * k, or k x m (`mma_atb`, `mma_atbt`). 8-bit types support m x k and n x k only. Between mma_begin and mma_wait<0>, D
 * must not be accessed. Thread t of a warpgroup holds, in value[4 j + 2 i + c], row 16 (t / 32) + t % 32 / 4 + 8 i,
 * column 8 j + 2 (t % 4) + c. */
#pragma once
#include "tile_core.cuh"
#include "tile_mma_instructions.cuh"

namespace tw {

/* Rows x Cols of f32 (or i32) in the registers of a group. */
template <int Rows, int Cols, class Value = float> struct acc {
  static_assert(Rows % 64 == 0 && Cols % 8 == 0, "a register tile has n x 64 rows and n x 8 columns");
  static constexpr int rows = Rows, cols = Cols, blocks = Rows / 64, values = Cols / 2;
  Value value[blocks][values];
};

template <class Type> struct mma_sum { using type = float; };
template <> struct mma_sum<i8> { using type = i32; };

/* Descriptor of an operand: `lead` bytes between panels (k x m, k x n), `step` bytes between 8 rows. */
template <class Tile> TW_FN u64 mma_place(u32 at, u32 lead, u32 step) {
  constexpr u64 swizzle = Tile::span == 128 ? 1 : Tile::span == 64 ? 2 : 3;
  return (u64)((at & 0x3ffffu) >> 4) | (u64)(lead >> 4) << 16 | (u64)(step >> 4) << 32 | swizzle << 62;
}
/* Step `i` along k (32 bytes of it) of a tile stored with k along its rows, from row `row` on. */
template <class Tile> TW_FN u64 mma_rows(Tile t, int row, int i) {
  const u32 byte = (u32)i * 32u;
  return mma_place<Tile>(t.at + byte / Tile::span * Tile::panel_bytes + byte % Tile::span + (u32)(row * Tile::span), 16,
                         8 * Tile::span);
}
/* Descriptor of a tile that is stored with k across its rows (16 rows a step), from column `col` on, a multiple of a
 * panel's columns. */
template <class Tile> TW_FN u64 mma_columns(Tile t, int col, int i) {
  return mma_place<Tile>(t.at + (u32)(col / Tile::panel_cols * Tile::panel_bytes) + (u32)(i * 16 * Tile::span),
                         Tile::panel_bytes, 8 * Tile::span);
}

/* d (+)= A B over all of k in the shared tiles; `more` false clears d first. A starts at row `row` (stored k x m: at
 * column `row`). Ta, Tb: stored k x m, k x n. */
template <bool Ta, bool Tb, int Rows, int Cols, class Value, class TileA, class TileB>
TW_FN void mma_shared(acc<Rows, Cols, Value> &d, TileA a, TileB b, bool more, int row) {
  using type = typename TileA::type;
  constexpr int steps = (Ta ? TileA::rows * 2 : TileA::row_bytes) / 32;
  static_assert((Tb ? TileB::rows * 2 : TileB::row_bytes) / 32 == steps, "A and B differ along k");
  static_assert((Tb ? TileB::cols : TileB::rows) == Cols, "B and the sums differ in columns");
  static_assert(!(Ta || Tb) || sizeof(type) == 2, "8-bit and 32-bit tiles are stored with k along their rows");
  static_assert(!Ta || TileA::panel_cols == 64, "A stored k x m has n x 64 columns");
#pragma unroll
  for (int i = 0; i < steps; i++)
#pragma unroll
    for (int q = 0; q < Rows / 64; q++)
      mma_step<type, Cols, Ta, Tb>(d.value[q], Ta ? mma_columns(a, row + 64 * q, i) : mma_rows(a, row + 64 * q, i),
                                   Tb ? mma_columns(b, 0, i) : mma_rows(b, 0, i), i ? 1 : (int)more);
}
template <int Rows, int Cols, class Value, class TileA, class TileB>
TW_FN void mma_abt(acc<Rows, Cols, Value> &d, TileA a, TileB b, bool more, int row = 0) {
  mma_shared<false, false>(d, a, b, more, row);
}
template <int Rows, int Cols, class Value, class TileA, class TileB>
TW_FN void mma_ab(acc<Rows, Cols, Value> &d, TileA a, TileB b, bool more, int row = 0) {
  mma_shared<false, true>(d, a, b, more, row);
}
template <int Rows, int Cols, class Value, class TileA, class TileB>
TW_FN void mma_atb(acc<Rows, Cols, Value> &d, TileA a, TileB b, bool more, int row = 0) {
  mma_shared<true, true>(d, a, b, more, row);
}
template <int Rows, int Cols, class Value, class TileA, class TileB>
TW_FN void mma_atbt(acc<Rows, Cols, Value> &d, TileA a, TileB b, bool more, int row = 0) {
  mma_shared<true, false>(d, a, b, more, row);
}

TW_FN void add_bits(float &to, u32 x) { to += float_of(x); }
TW_FN void add_bits(i32 &to, u32 x) { to += (i32)x; }
/* Partial sums of other blocks of a cluster: each thread has a place for each of its sums, in the memory of the block that adds. */
template <class Sums, int Groups, int Senders> struct partials {
  static constexpr u32 each = Sums::blocks * Sums::values * group_threads * 4;
  static constexpr u32 bytes = Senders * Groups * each;
  u32 at;
  TW_FN u32 place(int sender, int worker) const {
    return at + (u32)(sender * Groups + worker) * each + (u32)thread_of_group() * 4u;
  }
  TW_FN void send(const Sums &d, int sender, int worker, int rank) const {
    u32 to;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(place(sender, worker)), "r"(rank));
#pragma unroll
    for (int i = 0; i < Sums::blocks * Sums::values; i++)
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to + (u32)i * group_threads * 4u),
                   "r"(bits_of(d.value[i / Sums::values][i % Sums::values]))
                   : "memory");
  }
  TW_FN void add(Sums &d, int worker) const {
    for (int sender = 0; sender < Senders; sender++) {
      const u32 from = place(sender, worker);
#pragma unroll
      for (int i = 0; i < Sums::blocks * Sums::values; i++) {
        u32 x;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(from + (u32)i * group_threads * 4u) : "memory");
        add_bits(d.value[i / Sums::values][i % Sums::values], x);
      }
    }
  }
};

/* Stream-K: partial sums that a block leaves in memory for the block that finishes the tile. Each consumer of each
 * block has a place and a flag that begins as 0. */
template <class Sums, int Groups> struct left_sums {
  static constexpr int values = Sums::blocks * Sums::values;
  u32 *at, *flags;
  TW_FN u32 *place(int block, int worker) const { return at + (i64)(block * Groups + worker) * values * group_threads + thread_of_group(); }
  TW_FN void leave(const Sums &d, int worker) const {
    u32 *to = place(block_of_grid(), worker);
#pragma unroll
    for (int i = 0; i < values; i++) to[i * group_threads] = bits_of(d.value[i / Sums::values][i % Sums::values]);
    __threadfence();
    sync(1 + worker, group_threads);
    if (thread_of_group() == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flags + block_of_grid() * Groups + worker) : "memory");
    __syncwarp();
  }
  /* Adds the sums of the blocks that have the steps of the tile after the first `have`. */
  TW_FN void add(Sums &d, const even_shares &s, int have, int worker) const {
    for (int block = block_of_grid() + 1; have < s.whole; block++) {
      if (thread_of_group() == 0)
        for (u32 there = 0; !there;) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(flags + block * Groups + worker) : "memory");
      __syncwarp();
      sync(1 + worker, group_threads);
      const u32 *from = place(block, worker);
#pragma unroll
      for (int i = 0; i < values; i++) {
        u32 x;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(from + i * group_threads) : "memory");
        add_bits(d.value[i / Sums::values][i % Sums::values], x);
      }
      have += s.first(block + 1) - s.first(block);
    }
  }
};

/* Compiler fence for d: accesses do not move across it. Call it after mma_wait and before d is read. */
template <int Rows, int Cols, class Value> TW_FN void mma_settle(acc<Rows, Cols, Value> &d) {
#pragma unroll
  for (int q = 0; q < Rows / 64; q++)
#pragma unroll
    for (int i = 0; i < Cols / 2; i++) mma_settle(d.value[q][i]);
}

template <int Rows, int Cols, class Value> TW_FN void clear(acc<Rows, Cols, Value> &d) {
#pragma unroll
  for (int q = 0; q < Rows / 64; q++)
#pragma unroll
    for (int i = 0; i < Cols / 2; i++) d.value[q][i] = 0;
}
/* Call after mma_settle. */
template <int Rows, int Cols, class Value> TW_FN void add(acc<Rows, Cols, Value> &to, const acc<Rows, Cols, Value> &d) {
#pragma unroll
  for (int q = 0; q < Rows / 64; q++)
#pragma unroll
    for (int i = 0; i < Cols / 2; i++) to.value[q][i] += d.value[q][i];
}

/* A factor for each row of sums that a thread has parts of: f(row). */
template <int Rows> struct row_factors {
  float of[Rows / 64][2];
  template <class Function> TW_FN row_factors(Function f) {
#pragma unroll
    for (int q = 0; q < Rows / 64; q++)
#pragma unroll
      for (int h = 0; h < 2; h++) of[q][h] = f(64 * q + thread_of_group() / 32 * 16 + thread_of_group() % 32 / 4 + 8 * h);
  }
};
/* A factor for each column that a thread has sums of: f(column). */
template <int Cols> struct column_factors {
  float of[Cols / 4];
  template <class Function> TW_FN column_factors(Function f) {
#pragma unroll
    for (int i = 0; i < Cols / 4; i++) of[i] = f(i / 2 * 8 + thread_of_group() % 4 * 2 + i % 2);
  }
};
template <int Rows, int Cols> TW_FN void scale_sums(acc<Rows, Cols> &d, const row_factors<Rows> &rows, const column_factors<Cols> &columns) {
#pragma unroll
  for (int q = 0; q < Rows / 64; q++)
#pragma unroll
    for (int i = 0; i < Cols / 2; i++) d.value[q][i] *= rows.of[q][i / 2 % 2] * columns.of[i / 4 * 2 + i % 2];
}
/* A pair of numbers, as coordinates. */
TW_FN void rotate(float &x, float &y, float cosine, float sine) {
  const float turned = x * cosine - y * sine;
  y = y * cosine + x * sine;
  x = turned;
}
/* The first half of the columns of 64 rows of sums becomes act of itself times the second half. */
template <int Values, class Function> TW_FN void gate_sums(float (&d)[Values], Function act) {
  static_assert(Values % 8 == 0, "halves of a register tile have n x 8 columns");
#pragma unroll
  for (int i = 0; i < Values / 2; i++) d[i] = act(d[i]) * d[Values / 2 + i];
}
/* Rotates pairs of sums of heads of Head columns, in columns before `end`, by cosines and sines. Row i has the factors
 * of position i % positions. The first sum is at `row` and `col`. Pairs are of both halves of a head: `col` begins one. */
template <int Head, class Type, int Rows, int Cols>
TW_FN void rotate_halves(acc<Rows, Cols> &d, const Type *cosines, const Type *sines, int positions, int row, int col, int end) {
  static_assert(Head % 16 == 0 && Cols % Head == 0, "a thread has both sums of a pair");
  struct alignas(2 * sizeof(Type)) two {
    Type of[2];
  };
#pragma unroll
  for (int q = 0; q < 2 * Rows / 64; q++) {
    const i64 first = (i64)((row + q / 2 * 64 + thread_of_group() / 32 * 16 + thread_of_group() % 32 / 4 + q % 2 * 8) % positions) * (Head / 2);
#pragma unroll
    for (int j = 0; j < Head / 16; j++) {
      const i64 at = first + 8 * j + thread_of_group() % 4 * 2;
      const two c = *(const two *)(cosines + at), s = *(const two *)(sines + at);
#pragma unroll
      for (int head = 0; head < Cols / Head; head++) {
        if (col + head * Head >= end) continue;
#pragma unroll
        for (int e = 0; e < 2; e++)
          rotate(d.value[q / 2][(head * Head / 8 + j) * 4 + q % 2 * 2 + e], d.value[q / 2][(head * Head / 8 + Head / 16 + j) * 4 + q % 2 * 2 + e], number(c.of[e]), number(s.of[e]));
      }
    }
  }
}
/* The same for pairs of neighbours. */
template <int Head, class Type, int Rows, int Cols>
TW_FN void rotate_neighbours(acc<Rows, Cols> &d, const Type *cosines, const Type *sines, int positions, int row, int col, int end) {
#pragma unroll
  for (int q = 0; q < 2 * Rows / 64; q++) {
    const i64 first = (i64)((row + q / 2 * 64 + thread_of_group() / 32 * 16 + thread_of_group() % 32 / 4 + q % 2 * 8) % positions) * (Head / 2);
#pragma unroll
    for (int j = 0; j < Cols / 8; j++) {
      const int x = col + 8 * j + thread_of_group() % 4 * 2;
      if (x >= end) continue;
      rotate(d.value[q / 2][4 * j + q % 2 * 2], d.value[q / 2][4 * j + q % 2 * 2 + 1], number(cosines[first + x % Head / 2]), number(sines[first + x % Head / 2]));
    }
  }
}
template <int Rows, int Cols> TW_FN void add(acc<Rows, Cols> &to, const acc<Rows, Cols> &d, const row_factors<Rows> &by) {
#pragma unroll
  for (int q = 0; q < Rows / 64; q++)
#pragma unroll
    for (int i = 0; i < Cols / 2; i++) to.value[q][i] += d.value[q][i] * by.of[q][i / 2 % 2];
}
/* To 64 rows of it, the q-th. */
template <int Rows, int Cols> TW_FN void add(acc<Rows, Cols> &to, int q, const acc<64, Cols> &d, const row_factors<Rows> &by) {
#pragma unroll
  for (int i = 0; i < Cols / 2; i++) to.value[q][i] += d.value[0][i] * by.of[q][i / 2 % 2];
}

/* Ends the use of the values in d, before a product that clears it, so that they occupy no registers until then. */
template <int Rows, int Cols> TW_FN void mma_forget(acc<Rows, Cols, float> &d) {
#pragma unroll
  for (int q = 0; q < Rows / 64; q++)
#pragma unroll
    for (int i = 0; i < Cols / 2; i++) mma_forget(d.value[q][i]);
}

/* 64 x Cols elements in the registers of a group, as the left operand of a product: rounded from sums, no thread needs
 * another's. */
template <class Type, int Cols> struct left {
  u32 word[Cols / 16][4];
  TW_FN void round(const acc<64, Cols> &d) {
#pragma unroll
    for (int i = 0; i < Cols / 16; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) word[i][j] = packed<Type>::of(d.value[0][8 * i + 2 * j], d.value[0][8 * i + 2 * j + 1]);
  }
};
/* d (+)= A B, A in registers, B stored k x n. */
template <class Type, int Cols, int Depth, class TileB>
TW_FN void mma_ab(acc<64, Cols> &d, const left<Type, Depth> &a, TileB b, bool more) {
  static_assert(TileB::rows == Depth && TileB::cols == Cols, "A and B differ");
#pragma unroll
  for (int i = 0; i < Depth / 16; i++)
    mma_step<Type, Cols, true>(d.value[0], a.word[i], mma_columns(b, 0, i), i ? 1 : (int)more);
}

/* Rows of 64 x Cols sums: a thread has parts of two, 8 apart, four neighbouring threads share them. */
struct row_pair {
  float of[2];
};
/* Two chains for each row halve the latency of the last reduction. */
template <class Reduce, int Cols> TW_FN row_pair over_row(const acc<64, Cols> &d, row_pair r) {
  row_pair odd = {d.value[0][1], d.value[0][3]};
#pragma unroll
  for (int i = 0; i < Cols / 2; i++) {
    float &to = i % 2 ? odd.of[i / 2 % 2] : r.of[i / 2 % 2];
    if (i != 1 && i != 3) to = Reduce::of(to, d.value[0][i]);
  }
#pragma unroll
  for (int h = 0; h < 2; h++) r.of[h] = Reduce::of(r.of[h], odd.of[h]);
  return r;
}
template <class Reduce> TW_FN row_pair over_quad(row_pair r) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.of[h] = Reduce::of(r.of[h], __shfl_xor_sync(0xffffffffu, r.of[h], 1));
    r.of[h] = Reduce::of(r.of[h], __shfl_xor_sync(0xffffffffu, r.of[h], 2));
  }
  return r;
}
template <int Cols> TW_FN void scale_rows(acc<64, Cols> &d, row_pair by) {
#pragma unroll
  for (int i = 0; i < Cols / 2; i++) d.value[0][i] *= by.of[i / 2 % 2];
}

/* A matrix of 16-bit elements that is added to sums. Rows begin at multiples of 16 bytes, and cols is a multiple of 8. */
template <class Type> struct addend {
  const Type *first;
  i64 pitch;
  int rows, cols;
  /* Brings Rows x Cols elements to the L2: a thread of the group for each row. */
  template <int Rows, int Cols> TW_FN void prefetch(int row, int col) const {
    static_assert(Rows <= group_threads, "a thread for each row");
    const int y = row + thread_of_group(), width = min(Cols, cols - col);
    if (thread_of_group() < Rows && y < rows && width > 0) prefetch_row(first + y * pitch + col, (u32)width * 2);
  }
  /* Adds the elements from row and col on to 64 rows of sums. */
  template <int Values> TW_FN void add_to(float (&d)[Values], int row, int col) const {
    each<Values>(row, col, [&](int i, float x) { d[i] += x; });
  }
  /* As 64 rows of sums. */
  template <int Values> TW_FN void read(float (&d)[Values], int row, int col) const {
    each<Values>(row, col, [&](int i, float x) { d[i] = x; });
  }

 private:
  /* f(place among 64 rows of sums, element). Each thread reads 8 elements of a row at a time; the four threads of a row then exchange them,
   * since each has sums of 2 columns in 8. */
  template <int Values, class Function> TW_FN void each(int row, int col, Function f) const {
    constexpr int blocks = Values / 4; /* of 8 columns */
    const int lane = thread_of_group() % 32, part = lane % 4;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int y = row + thread_of_group() / 32 * 16 + lane / 4 + 8 * h;
#pragma unroll
      for (int i = 0; i < blocks; i += 4) {
        const int x = col + 8 * (i + part);
        vec16 v = {};
        if (y < rows && x < cols && i + part < blocks) v = load16(first + y * pitch + x);
        transpose_quad(v.word);
#pragma unroll
        for (int j = i; j < min(i + 4, blocks); j++) {
          f(4 * j + 2 * h, low<Type>(v.word[j - i]));
          f(4 * j + 2 * h + 1, high<Type>(v.word[j - i]));
        }
      }
    }
  }
  /* Word j of thread i of four becomes word i of thread j. */
  static TW_FN void transpose_quad(u32 (&w)[4]) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
      const bool upper = thread_of_group() & bit;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        if (i & bit) continue;
        const u32 other = __shfl_xor_sync(0xffffffffu, upper ? w[i] : w[i + bit], bit);
        (upper ? w[i] : w[i + bit]) = other;
      }
    }
  }
};

/* Stores f(value, row, column) of 64 x Width sums, from column `col` on, to a shared tile. Rows and columns count
 * from the first sum of d. f returns the type that the tile's elements are packed from. */
template <class Type, int Width, class Value, int Values, class Function>
TW_FN void lay(shared<Type, 64, Width> to, const Value (&d)[Values], int col, Function f) {
  static_assert(Width % 16 == 0, "a tile of results has n x 16 columns");
  const int lane = thread_of_group() % 32, warp_row = thread_of_group() / 32 * 16, row = warp_row + lane / 4;
#pragma unroll
  for (int j = 0; j < Width / 8; j += 2) {
    const int i = (col / 8 + j) * 4, c = col + 8 * j + lane % 4 * 2;
    const auto p0 = packed<Type>::of(f(d[i], row, c), f(d[i + 1], row, c + 1));
    const auto p1 = packed<Type>::of(f(d[i + 2], row + 8, c), f(d[i + 3], row + 8, c + 1));
    const auto p2 = packed<Type>::of(f(d[i + 4], row, c + 8), f(d[i + 5], row, c + 9));
    const auto p3 = packed<Type>::of(f(d[i + 6], row + 8, c + 8), f(d[i + 7], row + 8, c + 9));
    if constexpr (sizeof(Type) == 2) {
      store_matrices(to.chunk(warp_row + lane % 16, j + lane / 16), p0, p1, p2, p3);
    } else {
      constexpr int size = (int)sizeof(Type);
      const int byte = (8 * j + lane % 4 * 2) * size, next = byte + 8 * size;
      store_shared(to.chunk(row, byte / 16) + (u32)(byte % 16), p0);
      store_shared(to.chunk(row + 8, byte / 16) + (u32)(byte % 16), p1);
      store_shared(to.chunk(row, next / 16) + (u32)(next % 16), p2);
      store_shared(to.chunk(row + 8, next / 16) + (u32)(next % 16), p3);
    }
  }
}
/* Stages Width columns of 64 sums of each consumer, column by column, for results that are stored column by column. */
template <int Groups, int Width> struct turned_sums {
  static constexpr u32 pitch = 68; /* neither rows of a column nor columns of a row share banks */
  static constexpr u32 bytes = Groups * Width * pitch * 4;
  u32 base;
  TW_FN u32 place(int group, int col, int row) const { return base + ((u32)(group * Width + col) * pitch + (u32)row) * 4u; }
  template <int Values> TW_FN void lay(int group, const float (&d)[Values], int col) const {
    const int lane = thread_of_group() % 32, row = thread_of_group() / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < Width / 2; i++)
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(place(group, i / 4 * 8 + lane % 4 * 2 + i % 2, row + i / 2 % 2 * 8)),
                   "f"(d[col / 2 + i])
                   : "memory");
  }
  TW_FN float at(int group, int col, int row) const {
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(place(group, col, row)) : "memory");
    return v;
  }
};

/* A left operand, columns from `col` on, to a shared tile. */
template <class Type, int Width, int Depth> TW_FN void lay(shared<Type, 64, Width> to, const left<Type, Depth> &a, int col) {
  const int lane = thread_of_group() % 32, row = thread_of_group() / 32 * 16 + lane % 16;
#pragma unroll
  for (int j = 0; j < Width / 16; j++) {
    const u32(&w)[4] = a.word[col / 16 + j];
    store_matrices(to.chunk(row, 2 * j + lane / 16), w[0], w[1], w[2], w[3]);
  }
}
/* Stores all columns directly to a matrix in global memory; elements outside of rows x cols are dropped. */
template <class Type, class Value, int Values, class Function>
TW_FN void put(Type *to, i64 pitch, const Value (&d)[Values], int row, int col, int rows, int cols, Function f) {
  const int lane = thread_of_group() % 32, r = thread_of_group() / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < Values; i++) {
    const int y = r + i / 2 % 2 * 8, x = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row + y < rows && col + x < cols) set(to[(row + y) * pitch + col + x], f(d[i], y, x));
  }
}

}  // namespace tw
