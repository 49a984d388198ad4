/* tile_warps.cuh - products of warps, for NVIDIA GPUs from Ampere (sm_80) on: threads copy to shared tiles by cp.async, warps read
 * operands by ldmatrix and multiply by mma.sync.
 *
 * Every product is 16 x 8 sums and 32 bytes of k deep. An operand in registers is `Count` blocks of 16 rows of A, or of 16 columns of B.
 * Thread t of a warp holds, in value[i][j][2 h + c], row 16 i + t / 4 + 8 h and column 8 j + 2 (t % 4) + c of the warp's sums. */
#pragma once
#include "tile_core.cuh"
#include "tile_warp_instructions.cuh"

namespace tw {

TW_FN int lane_of_warp() { return (int)(threadIdx.x % 32); }
/* Tells the compiler that a value is uniform in a warp. */
TW_FN int warp_of_block() { return __shfl_sync(0xffffffffu, (int)(threadIdx.x / 32), 0); }

/* ---- copies ---- */

/* A thread's pieces of the tiles of a matrix, which follow one another along its rows or, `Down`, down its rows. Elements outside of the
 * matrix arrive as zeros. Pitches are multiples of 16 bytes. */
template <class Tile, int Threads, bool Down> struct copier {
  static constexpr int size = (int)sizeof(typename Tile::type), chunks = Tile::row_bytes / 16, apart = Threads / chunks;
  static constexpr int pieces = (Tile::rows + apart - 1) / apart;
  static constexpr int patterns = apart >= 8 ? 1 : 8 / apart; /* rows of one swizzle */
  static_assert(Threads % chunks == 0 && pieces <= 32, "threads copy whole rows of a tile");
  const char *from;
  i64 hop; /* bytes to the next piece */
  i64 step; /* bytes to the next tile */
  int left, have; /* bytes (rows) of the matrix from this thread's piece on; bytes of each piece */
  u32 inside; /* a bit for each piece */
  u32 to[patterns];
  TW_FN copier(const typename Tile::type *matrix, i64 pitch, int row, int col, int rows, int cols) {
    const int r = (int)threadIdx.x / chunks, c = (int)threadIdx.x % chunks, x = col + c * (16 / size);
    from = (const char *)(matrix + (row + r) * pitch + x);
    hop = apart * pitch * size;
    step = Down ? Tile::rows * pitch * size : (i64)Tile::row_bytes;
    have = min(max((cols - x) * size, 0), 16);
    left = Down ? rows - row - r : (cols - x) * size;
    inside = 0;
#pragma unroll
    for (int j = 0; j < pieces; j++)
      if (row + r + j * apart < rows) inside |= 1u << j;
#pragma unroll
    for (int j = 0; j < patterns; j++) to[j] = Tile{0}.chunk(r + j * apart, c);
  }
  TW_FN void piece(Tile tile, int j) const {
    if (Tile::rows % apart && (int)threadIdx.x / chunks + j * apart >= Tile::rows) return;
    const bool there = Down ? left > j * apart : (inside >> j & 1) != 0;
    copy16(tile.at + to[j % patterns] + (u32)(j / patterns * patterns * apart * Tile::span), from + j * hop, there ? have : 0);
  }
  /* Pieces of one of `parts` parts of the tile. */
  TW_FN void copy(Tile tile, int part = 0, int parts = 1) const {
#pragma unroll
    for (int j = 0; j < pieces; j++)
      if (j * parts / pieces == part) piece(tile, j);
  }
  TW_FN void next() {
    from += step;
    left -= Down ? Tile::rows : Tile::row_bytes;
    if (!Down) have = min(max(left, 0), 16);
  }
  /* To the tile whose first row is `row`, from column 0 on, of a matrix of the same pitch. */
  TW_FN void go_to(const typename Tile::type *matrix, i64 pitch, int row, int rows) {
    static_assert(Down, "tiles are gone to by their rows only");
    const int r = (int)threadIdx.x / chunks, c = (int)threadIdx.x % chunks;
    from = (const char *)(matrix + (row + r) * pitch + c * (16 / size));
    left = rows - row - r;
  }
  /* To the tile before; of tiles that follow one another down. */
  TW_FN void back() {
    static_assert(Down, "tiles are gone through backwards down the rows only");
    from -= step;
    left += Tile::rows;
  }
};

/* A thread's pieces of tiles of rows that are on pages, from one of the last tiles to the first: row i is row i % Page of page pages[i / Page].
 * Rows from `rows` on, and columns from `cols` on, arrive as zeros. */
template <class Tile, int Threads, int Page> struct paged_copier {
  using plain = copier<Tile, Threads, true>;
  const char *from;
  const int *pages;
  i64 pitch; /* bytes */
  int row, rows, have; /* the first row of the tile; bytes of a piece */
  u32 to[plain::patterns];
  TW_FN paged_copier(const typename Tile::type *matrix, i64 pitch, int row, int rows, int cols, const int *pages)
      : pages(pages), pitch(pitch * plain::size), row(row), rows(rows) {
    const int r = (int)threadIdx.x / plain::chunks, x = (int)threadIdx.x % plain::chunks * (16 / plain::size);
    from = (const char *)(matrix + x);
    have = min(max((cols - x) * plain::size, 0), 16);
#pragma unroll
    for (int j = 0; j < plain::patterns; j++) to[j] = Tile{0}.chunk(r + j * plain::apart, (int)threadIdx.x % plain::chunks);
  }
  TW_FN void copy(Tile tile) const {
    constexpr bool together = Page % Tile::rows == 0; /* the tile is on one page */
    const int r = (int)threadIdx.x / plain::chunks, moved = together ? (pages[row / Page] - row / Page) * Page : 0;
#pragma unroll
    for (int j = 0; j < plain::pieces; j++) {
      const int i = r + j * plain::apart, key = row + i;
      if (i >= Tile::rows) continue;
      const int at = key >= rows ? 0 : together ? key + moved : pages[key / Page] * Page + key % Page;
      copy16(tile.at + to[j % plain::patterns] + (u32)(j / plain::patterns * plain::patterns * plain::apart * Tile::span), from + at * pitch, key < rows ? have : 0);
    }
  }
  TW_FN void back() { row -= Tile::rows; }
};

/* ---- operands ---- */

template <int Count> struct operand {
  u32 word[Count][4];
};

/* Where a warp's threads read an operand: rows from `first` on of a tile that is stored with k along its rows or, `Across`, columns of a
 * tile of 16-bit elements that is stored with k down its rows. `Right`: B's operand. */
template <class Tile, int Count, bool Across, bool Right> struct reader {
  static constexpr int chunks = Tile::span / 16, shift = Tile::span == 128 ? 0 : Tile::span == 64 ? 1 : 2;
  static constexpr int offsets = Across ? Count : chunks / 2;
  static_assert(!Across || sizeof(typename Tile::type) == 2, "only 16-bit elements are transposed while they are read");
  u32 at[offsets];
  TW_FN explicit reader(int first) {
    const int lane = lane_of_warp();
    const int inner = Right != Across ? lane % 8 + lane / 16 * 8 : lane % 16, outer = Right != Across ? lane / 8 % 2 : lane / 16;
#pragma unroll
    for (int i = 0; i < offsets; i++) {
      const int row = Across ? inner : first + inner, chunk = Across ? first / 8 + 2 * i + outer : 2 * i + outer;
      at[i] = (u32)(chunk / chunks * Tile::panel_bytes + row * Tile::span + ((chunk % chunks ^ ((row >> shift) & (chunks - 1))) << 4));
    }
  }
  /* Block i of the operand, `step` times 32 bytes of k from the tile's first. */
  TW_FN void load_block(u32 (&word)[4], Tile tile, int step, int i) const {
    if constexpr (Across)
      load_matrices_turned(word, tile.at + at[i] + (u32)(step * 16 * Tile::span));
    else
      load_matrices(word, tile.at + at[step % (chunks / 2)] + (u32)(step / (chunks / 2) * Tile::panel_bytes + i * 16 * Tile::span));
  }
  TW_FN void load(operand<Count> &to, Tile tile, int step) const {
#pragma unroll
    for (int i = 0; i < Count; i++) load_block(to.word[i], tile, step, i);
  }
};

/* f32 to nearest tf32: products ignore the bits below. */
template <int Count> TW_FN void round_to_tf32(operand<Count> &x) {
#pragma unroll
  for (int i = 0; i < Count; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) x.word[i][j] += 0x1000u;
}

/* ---- products ---- */

/* Rows x Cols sums in the registers of a warp. */
template <int Rows, int Cols, class Value = float> struct warp_acc {
  static_assert(Rows % 16 == 0 && Cols % 16 == 0, "a warp's sums have n x 16 rows and columns");
  Value value[Rows / 16][Cols / 8][4];
};
template <int Rows, int Cols, class Value> TW_FN void clear(warp_acc<Rows, Cols, Value> &d) {
#pragma unroll
  for (int i = 0; i < Rows / 16; i++)
#pragma unroll
    for (int j = 0; j < Cols / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) d.value[i][j][e] = 0;
}
/* d += A B, 32 bytes of k. Neighbouring products share an operand of A, or of B. */
template <class A, class B, int Rows, int Cols, class Value>
TW_FN void mma_sync(warp_acc<Rows, Cols, Value> &d, const operand<Rows / 16> &a, const operand<Cols / 16> &b) {
#pragma unroll
  for (int i = 0; i < Rows / 16; i++)
#pragma unroll
    for (int x = 0; x < Cols / 8; x++) {
      const int j = i % 2 ? Cols / 8 - 1 - x : x;
      multiply(d.value[i][j], a.word[i], b.word[j / 2][j % 2 * 2], b.word[j / 2][j % 2 * 2 + 1], A{}, B{});
    }
}

/* Sums that are rounded to operands of A: 16 columns of sums are one product's depth. No thread needs another's. */
template <class Type, int Rows, int Cols> TW_FN void round_to_operands(operand<Rows / 16> (&to)[Cols / 16], const warp_acc<Rows, Cols> &d) {
#pragma unroll
  for (int s = 0; s < Cols / 16; s++)
#pragma unroll
    for (int i = 0; i < Rows / 16; i++)
#pragma unroll
      for (int e = 0; e < 4; e++) to[s].word[i][e] = packed<Type>::of(d.value[i][2 * s + e / 2][e % 2 * 2], d.value[i][2 * s + e / 2][e % 2 * 2 + 1]);
}

/* d += A B for 16 columns of B, from 16 * block on: one read of B in registers. */
template <class A, class B, int Rows, int Cols> TW_FN void mma_sync_block(warp_acc<Rows, Cols> &d, const operand<Rows / 16> &a, const u32 (&b)[4], int block) {
#pragma unroll
  for (int x = 0; x < 2; x++)
#pragma unroll
    for (int i = 0; i < Rows / 16; i++) multiply(d.value[i][2 * block + x], a.word[i], b[2 * x], b[2 * x + 1], A{}, B{});
}

/* ---- rows of sums: a thread has parts of two for each 16, 8 apart, and four neighbouring threads share them ---- */

template <int Rows> struct warp_rows {
  float of[Rows / 16][2];
};
template <class Reduce, int Rows, int Cols> TW_FN void over_rows(warp_rows<Rows> &r, const warp_acc<Rows, Cols> &d) {
#pragma unroll
  for (int i = 0; i < Rows / 16; i++)
#pragma unroll
    for (int j = 0; j < Cols / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) r.of[i][e / 2] = Reduce::of(r.of[i][e / 2], d.value[i][j][e]);
}
template <class Reduce, int Rows> TW_FN void over_quads(warp_rows<Rows> &r) {
#pragma unroll
  for (int i = 0; i < Rows / 16; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      r.of[i][h] = Reduce::of(r.of[i][h], __shfl_xor_sync(0xffffffffu, r.of[i][h], 1));
      r.of[i][h] = Reduce::of(r.of[i][h], __shfl_xor_sync(0xffffffffu, r.of[i][h], 2));
    }
}
template <int Rows, int Cols> TW_FN void scale_rows(warp_acc<Rows, Cols> &d, const warp_rows<Rows> &by) {
#pragma unroll
  for (int i = 0; i < Rows / 16; i++)
#pragma unroll
    for (int j = 0; j < Cols / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) d.value[i][j][e] *= by.of[i][e / 2];
}

/* ---- results ---- */

/* The room of a warp in which results turn, 16 rows at a time, so that threads store 16 bytes of a row each. */
template <class Type, int Cols> struct turning {
  static constexpr int size = (int)sizeof(Type), pitch = Cols * size + 16, bytes = 16 * pitch;
  u32 base;
};
/* f(value, row, column) of a warp's sums to a matrix whose rows begin at multiples of 16 bytes (`Aligned`) or anywhere; rows and columns
 * outside of rows x cols are dropped. f counts them from the first sum, which is the matrix's element (row, col). */
template <class Type, bool Aligned, int Rows, int Cols, class Value, class Function>
TW_FN void put(Type *to, i64 pitch, const warp_acc<Rows, Cols, Value> &d, int row, int col, int rows, int cols, turning<Type, Cols> room, Function f) {
  using turn = turning<Type, Cols>;
  constexpr int each = 16 / turn::size, chunks = Cols / each;
  const int lane = lane_of_warp();
#pragma unroll
  for (int i = 0; i < Rows / 16; i++) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < Cols / 8; j++) {
      const int r = 16 * i + lane / 4, c = 8 * j + lane % 4 * 2;
      const u32 at = room.base + (u32)(lane / 4 * turn::pitch + c * turn::size);
      store_shared(at, packed<Type>::of(f(d.value[i][j][0], r, c), f(d.value[i][j][1], r, c + 1)));
      store_shared(at + (u32)(8 * turn::pitch), packed<Type>::of(f(d.value[i][j][2], r + 8, c), f(d.value[i][j][3], r + 8, c + 1)));
    }
    __syncwarp();
#pragma unroll
    for (int p = 0; p < 16 * chunks; p += 32) {
      const int r = (p + lane) / chunks, c = (p + lane) % chunks * each, y = row + 16 * i + r, x = col + c;
      if ((16 * chunks % 32 && p + lane >= 16 * chunks) || y >= rows || x >= cols) continue;
      const u32 at = room.base + (u32)(r * turn::pitch + c * turn::size);
      Type *const out = to + y * pitch + x;
      if (Aligned && x + each <= cols) {
        store16(out, load_shared16(at));
      } else {
        for (int e = 0; e < each && x + e < cols; e++) out[e] = load_shared_element<Type>(at + (u32)(e * turn::size));
      }
    }
  }
}

} // namespace tw
