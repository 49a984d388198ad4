/* tile_stream.cuh - words for products with few rows whose weights are codes: each thread brings its own from memory, a few
 * chunks ahead, to where it alone reads them in shared memory; warps wait for nobody until their sums are whole.
 *
 * A chunk of a row of B is 64 bytes, 16 for each of four threads: 128 codes of mxfp4 or i4, 256 of ternary. What a thread has
 * of a chunk are eight numbers at a time; `eight_of` says whose j-th eight one of k is. A, which all warps of a block multiply,
 * lies in shared memory in the order in which threads want it: `operand_few`.
 *
 * Codes of i4 and ternary are multiplied as they lie in their bytes: below 256 a bf16's bits are its value times 2^133 (the
 * numbers below 2^-126, and the first binade above, have the same steps; tensor cores take both, and nothing is rounded). So one
 * instruction makes two weights, 2^-133 of the code, times a power of two by where in its byte it lay. A is laid out times
 * 2^64 and less by that power, exact below 2^64; sums are 2^-69 of the right ones until the end (`whole`), and what is below
 * 2^-80 is lost. Codes are offset (i4 by 8, ternary by 1): the offset's own product, laid beside A, is subtracted of each
 * chunk. */
#pragma once
#include "tile_few.cuh"

namespace tw {

template <class Type> struct chunk_of { /* mxfp4: a thread has 32 that follow one another; numbers with their scale, tile_few.cuh */
  static constexpr int codes = 128, eights = 4;
  static constexpr bool offset = false;
  static constexpr float whole = 1;
  static TW_FN void eight_of(int unit, int &j, int &thread) { j = unit % 4, thread = unit / 4; }
  static TW_FN void numbers(const vec16 &x, int j, u32 by, u32 (&to)[4]) { weights<Type>::numbers(x.word[j], 0, by, to); }
};
template <> struct chunk_of<i4> { /* likewise; 8 + x, in bits 3:0 (0, 2) or 7:4 (1, 3) */
  static constexpr int codes = 128, eights = 4;
  static constexpr bool offset = true;
  static constexpr float whole = 0x1p69f, offset_by = 0x1p-66f; /* what the offset multiplies sums of A by */
  static constexpr u32 zeros = 0; /* codes whose number is the offset alone */
  static TW_FN void eight_of(int unit, int &j, int &thread) { j = unit % 4, thread = unit / 4; }
  static TW_FN u32 lift(int, int i) { return i % 2 ? 0x5D805D80u : 0x5F805F80u; }
  static TW_FN void numbers(const vec16 &x, int j, u32, u32 (&to)[4]) {
    const u32 low = x.word[j], high = low >> 8;
    to[0] = and_xor(low, 0x000F000Fu, 0x00080008u), to[1] = and_xor(low, 0x00F000F0u, 0x00800080u);
    to[2] = and_xor(high, 0x000F000Fu, 0x00080008u), to[3] = and_xor(high, 0x00F000F0u, 0x00800080u);
  }
};
template <> struct chunk_of<ternary> { /* two threads share 128; the j-th: two words (j / 4), bits j % 4: 1 + x in 7:6, 5:4, 3:2, 1:0 */
  static constexpr int codes = 256, eights = 8;
  static constexpr bool offset = true;
  static constexpr float whole = 0x1p69f, offset_by = 0x1p-69f;
  static constexpr u32 zeros = 0x55555555u;
  static TW_FN void eight_of(int unit, int &j, int &thread) { j = unit / 4 % 4 + unit % 2 * 4, thread = unit / 16 * 2 + unit / 2 % 2; }
  static TW_FN u32 lift(int j, int) { return (u32)(185 + j % 4 * 2 << 7) * 0x00010001u; }
  static TW_FN void numbers(const vec16 &x, int j, u32, u32 (&to)[4]) {
    const u32 mask = 0x00C000C0u >> j % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = x.word[j / 4 * 2 + i / 2] >> i % 2 * 8 & mask;
  }
};

/* Chunks of M rows of A in bf16, arranged: eight numbers of chunk, eight, row and thread, in this order; behind them, where
 * codes are offset, what the offset's product is, for rows r and r + 4 of eight together. What k does not have is 0; Whole:
 * it ends with an eight. All Warps of the block bring them together, `at_once` times 16 bytes of a thread, those of the first
 * turn ahead of weights: what sets out first arrives first. From 5 rows on there are places for eights of them, in the order
 * in which the multiplier takes them, and between eights of k a gap: eight threads read without conflicts, and write so. */
template <class Type, int Chunks, int M, int Warps, bool Whole> struct operand_few {
  using c = chunk_of<Type>;
  static constexpr int parts = c::eights / 4, wide = (M + 7) / 8, rows = M > 4 ? 8 * wide : M, pairs = (rows + 1) / 2;
  static constexpr bool multiplied = c::offset && rows > 4; /* what the offset makes is a product, too, of lay_offsets() */
  static constexpr int places = multiplied ? 1 : parts;     /* of it for a chunk */
  static constexpr int all = Chunks * parts * pairs, each = (all + Warps - 1) / Warps, at_once = each < 5 ? each : 5;
  static constexpr u32 eight = rows * 64 + 32, numbers = (u32)Chunks * c::eights * eight;
  static constexpr u32 bytes = (numbers + (c::offset ? (u32)Chunks * places * wide * 32 : 0) + 1023) / 1024 * 1024;
  u32 at;
  TW_FN u32 place(int chunk, int j, int nth, int thread) const {
    return at + (u32)(chunk * c::eights + j) * eight + (u32)(nth * 4 + thread) * 16;
  }
  /* The row that the multiplier takes from lane `lane` of four times eight. */
  static TW_FN int nth_of(int lane, int eight) { return rows < 8 ? min(row_of_a(lane), M - 1) : 8 * eight + lane; }
  TW_FN u32 place_of_zero(int chunk, int part, int nth) const {
    return at + numbers + (u32)(((chunk * places + part) * wide) * 8 + (rows < 8 ? nth * 2 : nth)) * 4;
  }
  /* Blocks begin at different places, or all would ask the same part of the L2 cache at a time. */
  static TW_FN int turn_of_block() { return (int)(block_of_grid() * 5 % all); }
  /* A warp's i-th 16 bytes: 16 threads have 128 elements of a row that follow one another. */
  struct where {
    int chunk, part, k, j, row, nth, thread;
    bool is;
    TW_FN where(int i, int turn) {
      const int lane = thread_of_warp(), mine = warp_of_block() + i * Warps, turned = mine + turn, id = turned - (turned < all ? 0 : all);
      const int rest = id % (parts * pairs);
      chunk = id / (parts * pairs), part = rest % parts, nth = rest / parts * 2 + lane / 16;
      c::eight_of(part * 16 + lane % 16, j, thread);
      k = chunk * c::codes + part * 128 + lane % 16 * 8;
      row = rows < 8 ? nth : nth / 8 * 8 + row_of_a(nth % 8);
      is = mine < all && row < M;
    }
  };
  /* From chunk `first` of k on, the i-th and those behind it. */
  static TW_FN void fetch(vec16 (&x)[at_once], const bf16 *a, i64 pitch, int k, int first, int i, int turn) {
#pragma unroll
    for (int e = 0; e < at_once; e++) {
      const where w(i + e, turn);
      const int at_k = first * c::codes + w.k;
      const bf16 *from = a + w.row * pitch + at_k;
      x[e].word[0] = x[e].word[1] = x[e].word[2] = x[e].word[3] = 0;
      if (w.is && at_k + (Whole ? 0 : 7) < k) x[e] = load16(from);
      else if (!Whole && w.is && at_k < k) x[e] = part(from, k - at_k);
    }
  }
  TW_FN void lay(const vec16 (&x)[at_once], int i, int turn) const {
#pragma unroll
    for (int e = 0; e < at_once; e++) {
      const where w(i + e, turn);
      u32 y[4];
      weights<Type>::arrange(x[e], y);
      if constexpr (c::offset && !multiplied) {
        float sum = 0;
#pragma unroll
        for (int n = 0; n < 4; n++) sum += __uint_as_float(y[n] << 16) + __uint_as_float(y[n] & 0xFFFF0000u);
#pragma unroll
        for (int with = 1; with < 16; with *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, with);
        if (w.is && thread_of_warp() % 16 == 0)
          asm volatile("st.shared.f32 [%0], %1;" ::"r"(place_of_zero(w.chunk, w.part, w.nth)), "f"(sum * c::offset_by) : "memory");
      }
      if constexpr (c::offset)
#pragma unroll
        for (int n = 0; n < 4; n++) y[n] = fma_two(y[n], c::lift(w.j, n), 0x80008000u);
      if (w.is) store_shared16(place(w.chunk, w.j, w.nth, w.thread), y[0], y[1], y[2], y[3]);
    }
  }
  /* What fetch(.., 0) brought, and the others. */
  TW_FN void lay_all(vec16 (&x)[at_once], const bf16 *a, i64 pitch, int k, int first, int turn) const {
    lay(x, 0, turn);
#pragma unroll 1
    for (int i = at_once; i < each; i += at_once) {
      fetch(x, a, pitch, k, first, i, turn);
      lay(x, i, turn);
    }
  }
  /* Behind a sync_block(), and another one follows: each warp multiplies other chunks by weights of 0. */
  TW_FN void lay_offsets() const {
    if constexpr (multiplied)
      for (int chunk = warp_of_block(); chunk < Chunks; chunk += Warps) {
        float sums[wide][4] = {};
        vec16 zeros = {{c::zeros, c::zeros, c::zeros, c::zeros}};
#pragma unroll
        for (int j = 0; j < c::eights; j++) {
          u32 w[4];
          c::numbers(zeros, j, 0, w);
#pragma unroll
          for (int f = 0; f < wide; f++) {
            const vec16 x = load_shared16(place(chunk, j, nth_of(thread_of_warp() / 4, f), thread_of_warp() % 4));
#pragma unroll
            for (int h = 0; h < 4; h += 2) mma_few<bf16>(sums[f], w[h], w[h], w[h + 1], w[h + 1], x.word[h], x.word[h + 1]);
          }
        }
#pragma unroll
        for (int f = 0; f < wide; f++)
          if (thread_of_warp() < 4)
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(place_of_zero(chunk, 0, 8 * f + 2 * thread_of_warp())), "f"(sums[f][0]), "f"(sums[f][1]) : "memory");
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

/* 16 bytes of weights, which are read once, on their way to a thread's own place in shared memory; those between two
 * close_weights() are waited for together. */
TW_FN void bring_weights(u32 to, const void *from) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
TW_FN void close_weights() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Later> TW_FN void wait_weights() { asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory"); }

/* Scales of a thread's weights of a chunk: mxfp4's own bytes, which are multiplied into the weights; of i4 the factor of the
 * group that the chunk is in (Together chunks share it), which sums are multiplied by. Together 0: a row has one scale, for
 * its whole sum. */
template <class Type, int Together> struct scale_of {
  static constexpr bool of_weights = false, of_sums = Together != 0;
  using stored = u32; /* bits of f32 */
  static TW_FN int place_from(int chunk) { return chunk / (Together ? Together : 1); } /* the first, and this thread's */
  static TW_FN int place(int chunk) { return place_from(chunk); }
};
template <int Together> struct scale_of<mxfp4, Together> {
  static constexpr bool of_weights = true, of_sums = false;
  using stored = u8;
  static TW_FN int place_from(int chunk) { return 4 * chunk; }
  static TW_FN int place(int chunk) { return place_from(chunk) + thread_of_warp() % 4; }
};

/* Before anything may be read: chunks from begin to end of a block's rows of B, `Bytes` of each row at most, set out for the L2
 * cache. That reads nothing: should what comes before write them, that is what is read later. */
template <class Type, int Together, int Bytes>
TW_FN void early_few(const u8 *codes, const void *scales, int row, int rows, int n, int pitch, int all, int begin, int end) {
  using scale = scale_of<Type, Together>;
  const int from = begin * 64, bytes = min(min(Bytes, (end - begin) * 64), pitch - from);
  const int last = min(all, scale::place_from(begin + (bytes + 63) / 64 - 1) + (scale::of_weights ? 4 : 1));
  for (int i = (int)threadIdx.x; i < rows && row + i < n; i += (int)blockDim.x) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(codes + (i64)(row + i) * pitch + from), "r"(bytes) : "memory");
    if (scale::of_weights || scale::of_sums) {
      const typename scale::stored *s = (const typename scale::stored *)scales + (i64)(row + i) * all;
      for (int j = scale::place_from(begin); j < last; j += 128 / (int)sizeof *s) asm volatile("prefetch.global.L2 [%0];" ::"l"(s + j) : "memory");
    }
  }
}

/* Where chunks of `Warps` warps wait for their turn, Ahead of them of each, Rows rows: every thread finds what it brought. */
template <int Rows, int Warps, int Ahead> struct waiting_few {
  static constexpr u32 row = Warps * 32 * 16, chunk = Rows / 8 * row, bytes = Ahead * chunk;
  u32 at;
};

/* Rows rows of B from `row` on as a warp's: chunks first, first + step, ... below end, Ahead of them under way. */
template <class Type, int Rows, int Few, int M, int Together, class Waiting, int Ahead> struct stream_few {
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
  u32 ring, slot = 0;
  u32 next_scale[rows];

  /* Of n rows of `pitch` bytes, with `all` scales each. */
  TW_FN stream_few(const u8 *codes, const void *scales, int row, int n, int pitch_, int all_, int step_, int end_, Waiting w)
      : pitch(pitch_), all(all_), step(step_), end(end_), ring(w.at + threadIdx.x * 16) {
#pragma unroll
    for (int i = 0; i < rows; i++) {
      const i64 r = min(row + 8 * i + weights<Type>::row_of(thread_of_warp() / 4), n - 1);
      b[i] = codes + r * pitch + thread_of_warp() % 4 * 16;
      s[i] = (const typename scale::stored *)scales + r * all;
    }
  }
  /* What lies behind a row meets zeros of A: anything of the row may be there. */
  TW_FN void bring(int chunk) const {
    if (chunk < end) {
      const int place = min(chunk * 64, pitch - 16 - thread_of_warp() % 4 * 16);
#pragma unroll
      for (int i = 0; i < rows; i++) bring_weights(ring + slot + (u32)i * Waiting::row, b[i] + place);
    }
    close_weights();
  }
  TW_FN void bring_scales(int chunk) {
    if constexpr (scale::of_weights || scale::of_sums) {
      if (chunk >= end) return;
      const int first = min(scale::place(chunk), all - 1);
#pragma unroll
      for (int i = 0; i < rows; i++) next_scale[i] = (u32)s[i][first];
    }
  }
  TW_FN void next_slot() { slot = slot == (u32)(Ahead - 1) * Waiting::chunk ? 0 : slot + Waiting::chunk; }
  /* The first chunks, before anything else is waited for; their scales set out before A. */
  TW_FN void begin(int first) {
#pragma unroll
    for (int i = 0; i < Ahead; i++) {
      bring(first + i * step);
      next_slot();
    }
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
        if (j + 1 < c::eights) next[f] = load_shared16(a[f] + (u32)(j + 1) * ((M > 4 ? Few : M) * 64 + 32));
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
  /* Less what the codes' offset makes of a chunk. */
  static TW_FN void less_offset(sums_few<Rows, Few> &sums, u32 zero) {
#pragma unroll
    for (int f = 0; f < wide; f++) {
      float x = 0, y = 0;
#pragma unroll
      for (int part = 0; part < (M > 4 ? 1 : c::eights / 4); part++) {
        float p, q;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(p), "=f"(q) : "r"(zero + (u32)(part * wide + f) * 32));
        x += p, y += q;
      }
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int i = 0; i < 4; i++) sums.value[r][f][i] -= i % 2 ? y : x;
    }
  }
  static TW_FN void take(sums_few<Rows, Few> &sums, const some &x, const u32 (&a)[wide], u32 zero) {
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
      less_offset(part, zero);
      multiply<c>(part, x, by, a);
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) sums.value[r][f][i] += float_of(x.scale[2 * r + i / 2]) * part.value[r][f][i];
    } else {
      if constexpr (c::offset) less_offset(sums, zero);
      multiply<c>(sums, x, by, a);
    }
  }
  /* Chunks from `first` on; A's begin with the chunk `begin_of_a`. */
  template <class A> TW_FN void multiply_all(sums_few<Rows, Few> &sums, const A &as, int first, int begin_of_a) {
    const u32 further = (u32)(step * c::eights) * A::eight, zero_further = (u32)(step * A::places * wide * 32);
    u32 a[wide], zero = as.place_of_zero(first - begin_of_a, 0, thread_of_warp() % 4 * (A::rows < 8 ? 1 : 2));
#pragma unroll
    for (int f = 0; f < wide; f++)
      a[f] = as.place(first - begin_of_a, 0, A::nth_of(thread_of_warp() / 4, f), thread_of_warp() % 4);
#pragma unroll 1
    for (int chunk = first; chunk < end; chunk += step) {
      some now;
      wait_weights<Ahead - 1>();
#pragma unroll
      for (int i = 0; i < rows; i++) now.code[i] = load_shared16(ring + slot + (u32)i * Waiting::row), now.scale[i] = next_scale[i];
      bring_scales(chunk + step);
      take(sums, now, a, zero);
      bring(chunk + Ahead * step); /* where these lay */
      next_slot();
      zero += zero_further;
#pragma unroll
      for (int f = 0; f < wide; f++) a[f] += further;
    }
    if constexpr (c::whole != 1)
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) sums.value[r][f][i] *= c::whole;
  }
};

}  // namespace tw
