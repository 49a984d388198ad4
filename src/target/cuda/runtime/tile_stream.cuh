/* tile_stream.cuh - words for products with few rows whose weights are codes: each warp reads its own from memory straight
 * into registers, a few chunks ahead, and waits for nobody until its sums are whole.
 *
 * A chunk of a row of B is 64 bytes, 16 for each of four threads: 128 codes of mxfp4 or i4, 256 of ternary. What a thread has
 * of a chunk are `weights<type>` (tile_few.cuh), eight numbers at a time; `k_of` says which k the j-th eight are. A, which all
 * warps of a block multiply, lies in shared memory in the order in which threads want it: `operand_few`. */
#pragma once
#include "tile_few.cuh"

namespace tw {

template <class Type> struct chunk_of { /* mxfp4, i4: a thread has 32 that follow one another */
  static constexpr int codes = 128, eights = 4;
  static TW_FN int k_of(int j, int thread) { return 32 * thread + 8 * j; }
  static TW_FN void numbers(const vec16 &x, int j, u32 by, u32 (&to)[4]) { weights<Type>::numbers(x.word[j], 0, by, to); }
};
template <> struct chunk_of<ternary> { /* two threads share 128; the j-th: two words (j / 4), bits j % 4 */
  static constexpr int codes = 256, eights = 8;
  static TW_FN int k_of(int j, int thread) { return thread / 2 * 128 + j % 4 * 32 + thread % 2 * 16 + j / 4 * 8; }
  static TW_FN void numbers(const vec16 &x, int j, u32 by, u32 (&to)[4]) {
    const weights<ternary>::some two = {{x.word[j / 4 * 2], x.word[j / 4 * 2 + 1]}};
    weights<ternary>::numbers(two, j % 4, by, to);
  }
};

/* Chunks of M rows of A in bf16, arranged: eight numbers of chunk, eight, row and thread, in this order. What k does not have
 * is 0. */
template <class Type, int Chunks, int M> struct operand_few {
  using c = chunk_of<Type>;
  static constexpr u32 bytes = ((u32)Chunks * c::eights * M * 64 + 1023) / 1024 * 1024;
  static constexpr u32 none = ~0u;
  u32 at;
  TW_FN u32 place(int chunk, int j, int row, int thread) const {
    return at + (u32)(((chunk * c::eights + j) * M + row) * 4 + thread) * 16;
  }
  /* By all threads of the block, `count` chunks from the first-th on. Eight threads write without conflicts; 32 read whole
   * sectors. */
  TW_FN void lay(const bf16 *a, i64 pitch, int k, int first, int count) const {
    const int lane = thread_of_warp(), warps = (int)blockDim.x / 32, t = lane % 4, high = lane / 4 % 2, low = lane / 8;
    constexpr int fours = c::eights / 4, pairs = (M + 1) / 2, together = 4;
    const int all = count * fours * pairs;
    for (int i = warp_of_block(); i < all; i += warps * together) {
      vec16 x[together];
      u32 to[together];
#pragma unroll
      for (int e = 0; e < together; e++) {
        const int id = i + e * warps, chunk = id / (fours * pairs), rest = id % (fours * pairs);
        const int j = rest % fours * 4 + low, row = rest / fours * 2 + high, at_k = (first + chunk) * c::codes + c::k_of(j, t);
        x[e].word[0] = x[e].word[1] = x[e].word[2] = x[e].word[3] = 0;
        to[e] = id < all && row < M ? place(chunk, j, row, t) : none;
        const bf16 *from = a + row * pitch + at_k;
        if (to[e] == none) continue;
        if (at_k + 8 <= k) x[e] = load16(from);
        else if (at_k < k) x[e] = part(from, k - at_k);
      }
#pragma unroll
      for (int e = 0; e < together; e++) {
        u32 y[4];
        weights<Type>::arrange(x[e], y);
        if (to[e] != none) store_shared16(to[e], y[0], y[1], y[2], y[3]);
      }
    }
  }
  static TW_FN vec16 part(const bf16 *from, int count) {
    vec16 x = {{0, 0, 0, 0}};
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (i < count) x.word[i / 2] |= (u32)from[i].bits << i % 2 * 16;
    return x;
  }
};

/* What is read once, past the first cache, and no instruction waits for before it is used. */
TW_FN vec16 load16_weights(const void *p) {
  vec16 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p));
  return v;
}

/* Scales of a thread's weights of a chunk: mxfp4's own bytes, which are multiplied into the weights; of i4 the factor of the
 * group that the chunk is in (Together chunks share it), which sums are multiplied by. Together 0: a row has one scale, for
 * its whole sum. */
template <class Type, int Together> struct scale_of {
  static constexpr bool of_weights = false, of_sums = Together != 0;
  using stored = u32; /* bits of f32 */
  static TW_FN int place(int chunk) { return chunk / (Together ? Together : 1); }
};
template <int Together> struct scale_of<mxfp4, Together> {
  static constexpr bool of_weights = true, of_sums = false;
  using stored = u8;
  static TW_FN int place(int chunk) { return 4 * chunk + thread_of_warp() % 4; }
};

/* Rows rows of B from `row` on as a warp's: chunks first, first + step, ... below end, Ahead of them under way. */
template <class Type, int Rows, int Few, int M, int Together, int Ahead> struct stream_few {
  using c = chunk_of<Type>;
  using scale = scale_of<Type, Together>;
  static constexpr int rows = Rows / 8, tall = Rows / 16, wide = Few / 8;
  struct some {
    vec16 code[rows];
    u32 scale[rows];
  };
  const u8 *b[rows];
  const typename scale::stored *s[rows];
  int pitch, all, step, end;
  some under_way[Ahead];

  /* Of n rows of `pitch` bytes, with `all` scales each. */
  TW_FN stream_few(const u8 *codes, const void *scales, int row, int n, int pitch_, int all_, int step_, int end_)
      : pitch(pitch_), all(all_), step(step_), end(end_) {
#pragma unroll
    for (int i = 0; i < rows; i++) {
      const i64 r = min(row + 8 * i + weights<Type>::row_of(thread_of_warp() / 4), n - 1);
      b[i] = codes + r * pitch;
      s[i] = (const typename scale::stored *)scales + r * all;
    }
  }
  /* What lies behind a row meets zeros of A: anything of the row may be there. */
  TW_FN void fetch(some &to, int chunk) const {
    if (chunk >= end) return;
    const int place = min(chunk * 64 + thread_of_warp() % 4 * 16, pitch - 16);
#pragma unroll
    for (int i = 0; i < rows; i++) to.code[i] = load16_weights(b[i] + place);
    if constexpr (scale::of_weights || scale::of_sums) {
      const int first = min(scale::place(chunk), all - 1);
#pragma unroll
      for (int i = 0; i < rows; i++) to.scale[i] = (u32)s[i][first];
    }
  }
  /* The first chunks, before anything else is waited for. */
  TW_FN void begin(int first) {
#pragma unroll
    for (int i = 0; i < Ahead; i++) fetch(under_way[i], first + i * step);
  }
  /* The numbers of a chunk with those of A that begin at `a`. */
  template <class Codes> static TW_FN void multiply(sums_few<Rows, Few> &sums, const some &x, const u32 (&by)[rows], const u32 (&a)[wide]) {
    vec16 next[wide];
#pragma unroll
    for (int f = 0; f < wide; f++) next[f] = load_shared16(a[f]);
#pragma unroll
    for (int j = 0; j < c::eights; j++) {
      vec16 now[wide];
#pragma unroll
      for (int f = 0; f < wide; f++) {
        now[f] = next[f];
        if (j + 1 < c::eights) next[f] = load_shared16(a[f] + (u32)((j + 1) * M * 64));
      }
      u32 w[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++) Codes::numbers(x.code[i], j, by[i], w[i]);
#pragma unroll
      for (int h = 0; h < 4; h += 2)
#pragma unroll
        for (int r = 0; r < tall; r++)
#pragma unroll
          for (int f = 0; f < wide; f++)
            mma_few<bf16>(sums.value[r][f], w[2 * r][h], w[2 * r + 1][h], w[2 * r][h + 1], w[2 * r + 1][h + 1], now[f].word[h], now[f].word[h + 1]);
    }
  }
  static TW_FN void take(sums_few<Rows, Few> &sums, const some &x, const u32 (&a)[wide]) {
    u32 by[rows];
    if constexpr (scale::of_weights) {
      bool large = false;
#pragma unroll
      for (int i = 0; i < rows; i++) {
        large |= x.scale[i] > 128;
        by[i] = x.scale[i] * 0x00800080u + 126 * 0x00800080u;
      }
      if (any_of_warp(large)) {
#pragma unroll
        for (int i = 0; i < rows; i++) by[i] = (x.scale[i] == 255 ? 0x7FC0u : max(x.scale[i] << 7, 0x40u)) * 0x00010001u;
        multiply<chunk_of<mxfp4_large>>(sums, x, by, a);
      } else {
        multiply<c>(sums, x, by, a);
      }
    } else if constexpr (scale::of_sums) {
      sums_few<Rows, Few> part;
      clear(part);
      multiply<c>(part, x, by, a);
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) sums.value[r][f][i] += float_of(x.scale[2 * r + i / 2]) * part.value[r][f][i];
    } else {
      multiply<c>(sums, x, by, a);
    }
  }
  /* Chunks from `first` on; A's begin with the chunk `begin_of_a`. */
  template <class A> TW_FN void multiply_all(sums_few<Rows, Few> &sums, const A &as, int first, int begin_of_a) {
    const u32 further = (u32)(step * c::eights * M * 64);
    u32 a[wide];
#pragma unroll
    for (int f = 0; f < wide; f++)
      a[f] = as.place(first - begin_of_a, 0, min(8 * f + row_of_a(thread_of_warp() / 4), M - 1), thread_of_warp() % 4);
    /* Moves cost less than a loop that the processor's nearest instructions do not hold; short chunks are unrolled. */
    constexpr int turns = scale::of_sums ? Ahead : 1;
#pragma unroll 1
    for (int chunk = first; chunk < end;) {
#pragma unroll
      for (int t = 0; t < turns; t++) {
        some now = under_way[t];
        if constexpr (turns == 1) {
#pragma unroll
          for (int i = 0; i + 1 < Ahead; i++) under_way[i] = under_way[i + 1];
          fetch(under_way[Ahead - 1], chunk + Ahead * step);
        }
        take(sums, now, a);
        if constexpr (turns > 1) fetch(under_way[t], chunk + Ahead * step);
#pragma unroll
        for (int f = 0; f < wide; f++) a[f] += further;
        chunk += step;
        if (turns > 1 && chunk >= end) break;
      }
    }
  }
};

}  // namespace tw
