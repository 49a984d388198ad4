/* tile_slices.cuh - words for products with few rows whose weights are codes: each warp has slices of k of its own and all of the
 * block's rows of B in them. Its slice of A stays in its registers while the rows go by, and warps meet only to add their sums.
 *
 * A slice of a row of B is 64 bytes, 16 for each of four threads: 128 codes of mxfp4 or i4, 256 of ternary. What a thread has
 * of it are eight numbers at a time; `unit` says whose j-th eight one of k is. A step is Rows rows of a slice. Steps follow one
 * another through a place of the warp's in shared memory, Ahead of them under way: codes, where the thread that brought them reads
 * them, and one word of scales for each row (four of mxfp4, one of i4). A's slices come likewise, as many ahead as steps are.
 *
 * Codes of i4 and ternary are multiplied as they lie in their bytes: below 256 a bf16's bits are its value times 2^133 (the
 * numbers below 2^-126, and the first binade above, have the same steps; tensor cores take both, and nothing is rounded). So one
 * instruction makes two weights, 2^-133 of the code, times a power of two by where in its byte it lay. A is multiplied by
 * 2^64 and less by that power, exact below 2^64; sums are 2^-69 of the right ones until the end (`whole`), and what is below
 * 2^-80 is lost. Codes are offset (i4 by 8, ternary by 1): the offset's own product is subtracted of each slice. */
#pragma once
#include "tile_few.cuh"

namespace tw {

template <class Type> struct slice_of { /* mxfp4: a thread has 32 that follow one another; numbers with their scale, tile_few.cuh */
  static constexpr int codes = 128, eights = 4;
  static constexpr bool offset = false;
  static constexpr float whole = 1;
  static TW_FN int unit(int j, int thread) { return thread * 4 + j; }
  static TW_FN void numbers(const vec16 &x, int j, u32 by, u32 (&to)[4]) { weights<Type>::numbers(x.word[j], 0, by, to); }
};
template <> struct slice_of<i4> { /* likewise; 8 + x, in bits 3:0 (0, 2) or 7:4 (1, 3) */
  static constexpr int codes = 128, eights = 4;
  static constexpr bool offset = true;
  static constexpr float whole = 0x1p69f;
  static constexpr u32 zeros = 0; /* codes whose number is the offset alone */
  static TW_FN int unit(int j, int thread) { return thread * 4 + j; }
  static TW_FN u32 lift(int, int i) { return i % 2 ? 0x5D805D80u : 0x5F805F80u; }
  static TW_FN void numbers(const vec16 &x, int j, u32, u32 (&to)[4]) {
    const u32 low = x.word[j], high = low >> 8;
    to[0] = and_xor(low, 0x000F000Fu, 0x00080008u), to[1] = and_xor(low, 0x00F000F0u, 0x00800080u);
    to[2] = and_xor(high, 0x000F000Fu, 0x00080008u), to[3] = and_xor(high, 0x00F000F0u, 0x00800080u);
  }
};
template <> struct slice_of<ternary> { /* two threads share 128; the j-th: two words (j / 4), bits j % 4: 1 + x in 7:6, 5:4, 3:2, 1:0 */
  static constexpr int codes = 256, eights = 8;
  static constexpr bool offset = true;
  static constexpr float whole = 0x1p69f;
  static constexpr u32 zeros = 0x55555555u;
  static TW_FN int unit(int j, int thread) { return thread / 2 * 16 + j % 4 * 4 + thread % 2 * 2 + j / 4; }
  static TW_FN u32 lift(int j, int) { return (u32)(185 + j % 4 * 2 << 7) * 0x00010001u; }
  static TW_FN void numbers(const vec16 &x, int j, u32, u32 (&to)[4]) {
    const u32 mask = 0x00C000C0u >> j % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = x.word[j / 4 * 2 + i / 2] >> i % 2 * 8 & mask;
  }
};

/* The first `count` of eight. */
TW_FN vec16 part_of_eight(const bf16 *from, int count) {
  vec16 x = {{0, 0, 0, 0}};
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (i < count) x.word[i / 2] |= (u32)from[i].bits << i % 2 * 16;
  return x;
}

/* 16 bytes of weights, which are read once, on their way to a thread's own place in shared memory; those between two
 * close_weights() are waited for together. */
TW_FN void bring_weights(u32 to, const void *from) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
TW_FN void close_weights() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Later> TW_FN void wait_weights() { asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory"); }

/* Scales of a thread's weights of a slice: mxfp4's own bytes, which are multiplied into the weights; of i4 the factor of the
 * group that the slice is in (Together slices share it), which sums are multiplied by. Together 0: a row has one scale, for
 * its whole sum. */
template <class Type, int Together> struct scale_of {
  static constexpr bool of_weights = false, of_sums = Together != 0;
  using stored = u32; /* bits of f32 */
  static TW_FN int place(int chunk) { return chunk / (Together ? Together : 1); }
};
template <int Together> struct scale_of<mxfp4, Together> {
  static constexpr bool of_weights = true, of_sums = false;
  using stored = u8;
  static TW_FN int place(int chunk) { return 4 * chunk; }
};

/* 4 bytes to shared memory, asynchronously: close_weights() and wait_weights() count them, too. */
TW_FN void bring_word(u32 to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
/* Sets a matrix out for the L2 cache, all blocks together; reads nothing. */
TW_FN void early_operand(const void *a, i64 bytes) {
  for (i64 at = ((i64)threadIdx.x * gridDim.x + blockIdx.x) * 128; at < bytes; at += (i64)blockDim.x * gridDim.x * 128)
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)a + at) : "memory");
}

/* Warps warps, Steps steps of Rows rows of B a slice, M rows of A; Together: as scale_of has it. */
template <class Type, int Rows, int Steps, int M, int Warps, int Ahead, int Together> struct slices {
  using c = slice_of<Type>;
  using scale = scale_of<Type, Together>;
  static_assert(Rows <= 32, "a thread brings a row's scales");
  static constexpr int each = Rows / 8, tall = Rows / 16, wide = (M + 7) / 8, later = (Ahead + Steps - 1) / Steps;
  static constexpr bool scaled = scale::of_weights || scale::of_sums, early = Steps > 4 && Ahead > 1; /* reads a step early */
  static constexpr u32 codes_bytes = Rows * 64, step_bytes = codes_bytes + (scaled ? Rows * 4 : 0), ring_bytes = Ahead * step_bytes;
  static constexpr int pieces = M * c::codes / 8, rounds = (pieces + 31) / 32; /* of 16 bytes, of a slice of A */
  static constexpr u32 row_bytes = c::codes * 2 + 16, a_bytes = M * row_bytes;
  static constexpr int cols = Rows * Steps;
  static constexpr u32 pitch_of_sums = cols + 4, sums_bytes = Warps * M * pitch_of_sums * 4;
  static constexpr u32 ways_bytes = Warps * (ring_bytes + later * a_bytes);
  static constexpr u32 bytes = ((ways_bytes > sums_bytes ? ways_bytes : sums_bytes) + 1023) / 1024 * 1024;
  u32 at;
  const u8 *b, *s; /* this thread's place in the block's first rows */
  int pitch, of_scales, whole, left; /* bytes of a row of B and of its scales; slices; rows */
  u32 ring, slot, as;
  int warp;

  TW_FN void from(const u8 *codes, const void *scales, int row, int n, int pitch_, int all, int whole_) {
    pitch = pitch_, of_scales = all * (int)sizeof(typename scale::stored), whole = whole_, left = n - 1 - row, warp = warp_of_block();
    b = codes + (i64)row * pitch + thread_of_warp() % 4 * 16, s = (const u8 *)scales + (i64)row * of_scales;
    ring = at + (u32)warp * ring_bytes, slot = 0, as = at + Warps * ring_bytes + (u32)warp * (later * a_bytes);
  }
  /* What lies behind a row meets zeros of A, and what is behind the last row is dropped: anything may be there. A branch, lest
   * the compiler puts loads behind products. */
  TW_FN void bring(int chunk, int step) const {
    if (chunk < whole) {
      const int lane = thread_of_warp(), place = min(chunk * 64, pitch - 16 - lane % 4 * 16);
#pragma unroll
      for (int i = 0; i < each; i++)
        bring_weights(ring + slot + (u32)(i * 32 + lane) * 16, b + (u32)(min(step * Rows + 8 * i + lane / 4, left) * pitch + place));
      if (scaled && lane < Rows) {
        const int word = scale::of_weights ? min(scale::place(chunk), of_scales - 4) : scale::place(chunk) * 4;
        bring_word(ring + slot + codes_bytes + (u32)lane * 4, s + (u32)(min(step * Rows + lane, left) * of_scales + word));
      }
    }
    close_weights();
  }
  TW_FN void next_slot() { slot = slot == (Ahead - 1) * step_bytes ? 0 : slot + step_bytes; }
  /* The first steps. */
  TW_FN void begin() {
#pragma unroll
    for (int i = 0; i < Ahead; i++) {
      bring(warp + i / Steps * Warps, i % Steps);
      next_slot();
    }
  }
  /* The i-th 16 bytes of a slice of A that this thread brings: row and element. */
  static TW_FN bool piece(int i, int &row, int &k) {
    const int id = i * 32 + thread_of_warp();
    row = id / (c::codes / 8), k = id % (c::codes / 8) * 8;
    return id < pieces;
  }
  TW_FN u32 place_of_a(int nth, int row, int k) const { return as + (u32)nth * a_bytes + (u32)row * row_bytes + (u32)k * 2; }
  /* Slices of A that steps under way belong to. Whole: rows of A end with eight. */
  template <bool Whole> TW_FN void begin_a(const bf16 *a, i64 pitch_of_a, int k) const {
#pragma unroll
    for (int o = 0; o < later; o++) {
      vec16 x[rounds];
#pragma unroll
      for (int i = 0; i < rounds; i++) {
        int row, at_k;
        const bool is = piece(i, row, at_k);
        const int from_k = (warp + o * Warps) * c::codes + at_k;
        x[i].word[0] = x[i].word[1] = x[i].word[2] = x[i].word[3] = 0;
        if (is && from_k + (Whole ? 0 : 7) < k) x[i] = load16(a + row * pitch_of_a + from_k);
        else if (!Whole && is && from_k < k) x[i] = part_of_eight(a + row * pitch_of_a + from_k, k - from_k);
      }
#pragma unroll
      for (int i = 0; i < rounds; i++) {
        int row, at_k;
        if (piece(i, row, at_k)) store_shared16(place_of_a(o, row, at_k), x[i].word[0], x[i].word[1], x[i].word[2], x[i].word[3]);
      }
    }
    sync_warp();
  }
  /* One of them, among the weights under way. */
  template <bool Whole> TW_FN void bring_a(const bf16 *a, i64 pitch_of_a, int k, int chunk, int nth) const {
#pragma unroll
    for (int i = 0; i < rounds; i++) {
      int row, at_k;
      const bool is = piece(i, row, at_k) && chunk < whole;
      const int from_k = chunk * c::codes + at_k;
      const bf16 *from = a + row * pitch_of_a + from_k;
      if (is && from_k + (Whole ? 0 : 7) < k) bring_weights(place_of_a(nth, row, at_k), from);
      else if (is) {
        vec16 x = {{0, 0, 0, 0}};
        if (!Whole && from_k < k) x = part_of_eight(from, k - from_k);
        store_shared16(place_of_a(nth, row, at_k), x.word[0], x.word[1], x.word[2], x.word[3]);
      }
    }
  }

  struct sums {
    float value[Steps][tall][wide][4];
  };
  /* What a thread has of a step. */
  struct some {
    vec16 code[each];
    u32 by[each];
  };
  TW_FN some read(u32 from) const {
    some x;
#pragma unroll
    for (int i = 0; i < each; i++) {
      x.code[i] = load_shared16(ring + from + (u32)(i * 32 + (int)thread_of_warp()) * 16);
      const u32 place = ring + from + codes_bytes + (u32)(8 * i + thread_of_warp() / 4) * 4;
      if constexpr (scale::of_weights) asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x.by[i]) : "r"(place + thread_of_warp() % 4));
      else if constexpr (scaled) x.by[i] = load_shared(place);
    }
    return x;
  }
  /* All slices of this warp. */
  template <bool Whole> TW_FN void multiply_all(sums &to, const bf16 *a, i64 pitch_of_a, int k) {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
    int nth = 0;
    slot = 0;
#pragma unroll
    for (int p = 0; p < Steps; p++)
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) to.value[p][r][f][i] = 0;
    some now;
    if constexpr (early) {
      wait_weights<Ahead - 1>();
      sync_warp();
      now = read(0);
    }
#pragma unroll 1
    for (int chunk = warp; chunk < whole; chunk += Warps) {
      u32 x[c::eights][wide][4];
      float zero[wide][2] = {};
      if constexpr (!early) {
        wait_weights<Ahead - 1>();
        sync_warp();
      }
#pragma unroll
      for (int j = 0; j < c::eights; j++) {
        const int unit = c::unit(j, right);
#pragma unroll
        for (int f = 0; f < wide; f++) {
          weights<Type>::arrange(load_shared16(place_of_a(nth, min(8 * f + down, M - 1), unit * 8)), x[j][f]);
          if constexpr (c::offset)
#pragma unroll
            for (int n = 0; n < 4; n++) x[j][f][n] = fma_two(x[j][f][n], c::lift(j, n), 0x80008000u);
        }
      }
      if constexpr (c::offset) { /* what the codes' offset makes */
        const vec16 zeros = {{c::zeros, c::zeros, c::zeros, c::zeros}};
#pragma unroll
        for (int j = 0; j < c::eights; j++) {
          u32 w[4];
          c::numbers(zeros, j, 0, w);
#pragma unroll
          for (int f = 0; f < wide; f++) {
            float part[4] = {};
#pragma unroll
            for (int h = 0; h < 4; h += 2) mma_few<bf16>(part, w[h], w[h], w[h + 1], w[h + 1], x[j][f][h], x[j][f][h + 1]);
            zero[f][0] -= part[0], zero[f][1] -= part[1];
          }
        }
      }
      sync_warp();
      bring_a<Whole>(a, pitch_of_a, k, chunk + later * Warps, nth);
      nth = nth + 1 == later ? 0 : nth + 1;
#pragma unroll
      for (int p = 0; p < Steps; p++) {
        const u32 behind = slot == (Ahead - 1) * step_bytes ? 0 : slot + step_bytes;
        if constexpr (early) {
          wait_weights<Ahead - 2>();
          sync_warp(); /* all have what lies in `slot` */
          const some next = read(behind);
          bring(chunk + (p + Ahead) / Steps * Warps, (p + Ahead) % Steps);
          step(to.value[p], x, zero, now);
          now = next;
        } else {
          if (p) {
            wait_weights<Ahead - 1>();
            if (scaled) sync_warp();
          }
          now = read(slot);
          if (scaled) sync_warp();
          bring(chunk + (p + Ahead) / Steps * Warps, (p + Ahead) % Steps);
          step(to.value[p], x, zero, now);
        }
        slot = behind;
      }
    }
    if constexpr (c::whole != 1)
#pragma unroll
      for (int p = 0; p < Steps; p++)
#pragma unroll
        for (int r = 0; r < tall; r++)
#pragma unroll
          for (int f = 0; f < wide; f++)
#pragma unroll
            for (int i = 0; i < 4; i++) to.value[p][r][f][i] *= c::whole;
  }
  using tile = float[tall][wide][4];
  static TW_FN void multiply(tile &to, const u32 (&w)[each][4], const u32 (&x)[wide][4]) {
#pragma unroll
    for (int h = 0; h < 4; h += 2)
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
          mma_few<bf16>(to[r][f], w[2 * r][h], w[2 * r + 1][h], w[2 * r][h + 1], w[2 * r + 1][h + 1], x[f][h], x[f][h + 1]);
  }
  static TW_FN void products(tile &to, const u32 (&x)[c::eights][wide][4], const some &of) {
#pragma unroll
    for (int j = 0; j < c::eights; j++) {
      u32 w[each][4];
#pragma unroll
      for (int i = 0; i < each; i++) c::numbers(of.code[i], j, scale::of_weights ? of.by[i] * 0x00800080u + 126 * 0x00800080u : 0, w[i]);
      multiply(to, w, x[j]);
    }
  }
  /* Scales of mxfp4 from 2 on take a second multiplication. Seldom, and so not much code. */
  static TW_FN void products_large(tile &to, const u32 (&x)[c::eights][wide][4], const some &of) {
#pragma unroll 1
    for (int j = 0; j < c::eights; j++) {
      u32 w[each][4], y[wide][4];
#pragma unroll
      for (int i = 0; i < each; i++) {
        const u32 word = j < 2 ? j ? of.code[i].word[1] : of.code[i].word[0] : j < 3 ? of.code[i].word[2] : of.code[i].word[3];
        weights<mxfp4_large>::numbers(word, 0, (of.by[i] == 255 ? 0x7FC0u : max(of.by[i] << 7, 0x40u)) * 0x00010001u, w[i]);
      }
#pragma unroll
      for (int f = 0; f < wide; f++)
#pragma unroll
        for (int n = 0; n < 4; n++) y[f][n] = j < 2 ? j ? x[1][f][n] : x[0][f][n] : j < 3 ? x[2][f][n] : x[3][f][n];
      multiply(to, w, y);
    }
  }
  static TW_FN void step(tile &to, const u32 (&x)[c::eights][wide][4], const float (&zero)[wide][2], const some &of) {
    if constexpr (scale::of_weights) {
      u32 any = 0;
#pragma unroll
      for (int i = 0; i < each; i++) any |= of.by[i];
      if (any_of_warp(any & 128)) products_large(to, x, of);
      else products(to, x, of);
    } else {
      tile part;
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) part[r][f][i] = scale::of_sums ? zero[f][i % 2] : to[r][f][i] + zero[f][i % 2];
      products(part, x, of);
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) to[r][f][i] = scale::of_sums ? to[r][f][i] + float_of(of.by[2 * r + i / 2]) * part[r][f][i] : part[r][f][i];
    }
  }
  /* Sums of a warp, where weights lay (behind a sync_block()), and of all warps. */
  TW_FN u32 place_of_sum(int part, int i, int j) const { return at + (u32)((part * M + i) * (int)pitch_of_sums + j) * 4; }
  TW_FN void lay(const sums &x) const {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
#pragma unroll
    for (int p = 0; p < Steps; p++)
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const int row = 8 * f + 2 * right + i % 2;
            if (8 * f + 8 <= M || row < M)
              asm volatile("st.shared.f32 [%0], %1;" ::"r"(place_of_sum(warp, row, p * Rows + 16 * r + 8 * (i / 2) + down)), "f"(x.value[p][r][f][i]) : "memory");
          }
  }
  /* Four columns of a row. */
  TW_FN void sum(int i, int j, float (&x)[4]) const {
    x[0] = x[1] = x[2] = x[3] = 0;
#pragma unroll
    for (int p = 0; p < Warps; p++) {
      const vec16 y = load_shared16(place_of_sum(p, i, j));
#pragma unroll
      for (int e = 0; e < 4; e++) x[e] += float_of(y.word[e]);
    }
  }
};

}  // namespace tw
