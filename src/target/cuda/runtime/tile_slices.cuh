/* tile_slices.cuh - functions of sliced-K GEMV with packed weights: each warp has its own slices of k and all rows of
 * B of the block in them. Its slice of A stays in registers while the rows stream by. Warps meet only to add their
 * sums.
 *
 * A step is Rows rows of a slice. Steps pass through the warp's own shared memory, Ahead of them in flight: codes,
 * which the thread that copied them reads, and one word of scales for each row (four scales of mxfp4, one of i4).
 * Slices of A arrive in the same way, as many in flight. tile_slices_products.cuh multiplies a step. */
#pragma once
#include "tile_slices_products.cuh"

namespace tw {

/* The first `count` of eight. */
TW_FN vec16 part_of_eight(const bf16 *from, int count) {
  vec16 x = {{0, 0, 0, 0}};
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (i < count) x.word[i / 2] |= (u32)from[i].bits << i % 2 * 16;
  return x;
}

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

/* Sets a matrix out for the L2 cache, all blocks together; reads nothing. */
TW_FN void early_operand(const void *a, i64 bytes) {
  for (i64 at = ((i64)threadIdx.x * gridDim.x + blockIdx.x) * 128; at < bytes; at += (i64)blockDim.x * gridDim.x * 128)
    prefetch_line((const char *)a + at);
}

/* Warps warps, Steps steps of Rows rows of B a slice, M rows of A; Together: as scale_of has it. */
template <class Type, int Rows, int Steps, int M, int Warps, int Ahead, int Together> struct slices {
  using c = slice_of<Type>;
  using scale = scale_of<Type, Together>;
  using product = typename products<Type, Rows, M, scale::of_sums>::type;
  static_assert(Rows <= 32, "a thread brings a row's scales");
  static constexpr int each = Rows / 8, later = (Ahead + Steps - 1) / Steps;
  static constexpr bool scaled = scale::of_weights || scale::of_sums, early = Steps > 4 && Ahead > 1; /* reads a step early */
  static constexpr u32 codes_bytes = Rows * 64, step_bytes = codes_bytes + (scaled ? Rows * 4 : 0), ring_bytes = Ahead * step_bytes;
  static constexpr int pieces = M * c::codes / 8, rounds = (pieces + 31) / 32; /* of 16 bytes, of a slice of A */
  static constexpr u32 row_bytes = slice_of_a<Type>::row_bytes, a_bytes = M * row_bytes;
  static constexpr int cols = Rows * Steps;
  static constexpr u32 pitch_of_sums = cols + 4, sums_bytes = Warps * M * pitch_of_sums * 4;
  static constexpr u32 warps_bytes = Warps * (ring_bytes + later * a_bytes + product::room);
  /* address of the single scale of a row */
  static constexpr u32 factors = warps_bytes > sums_bytes ? warps_bytes : sums_bytes;
  static constexpr u32 bytes = (factors + (scaled ? 0 : cols * 4) + 1023) / 1024 * 1024;
  u32 at;
  const float *rows_scales;
  int rows_left;
  const u8 *b, *s; /* this thread's place in the block's first rows */
  int pitch, of_scales, whole, left; /* bytes of a row of B and of its scales; slices; rows */
  u32 ring, slot, as, room;
  int warp;

  TW_FN void from(const u8 *codes, const void *scales, int row, int n, int pitch_, int all, int whole_) {
    pitch = pitch_, of_scales = all * (int)sizeof(typename scale::stored), whole = whole_, left = n - 1 - row, warp = warp_of_block();
    b = codes + (i64)row * pitch + thread_of_warp() % 4 * 16, s = (const u8 *)scales + (i64)row * of_scales;
    rows_scales = (const float *)scales + row, rows_left = left;
    ring = at + (u32)warp * ring_bytes, slot = 0, as = at + Warps * ring_bytes + (u32)warp * (later * a_bytes);
    room = at + Warps * (ring_bytes + later * a_bytes) + (u32)warp * product::room;
  }
  /* Weights after the end of a row are multiplied by zeros of A, and rows after the last are dropped, so their values
   * do not matter. The branch keeps the compiler from moving loads after products. */
  TW_FN void bring(int chunk, int step) const {
    if (chunk < whole) {
      const int lane = thread_of_warp(), place = min(chunk * 64, pitch - 16 - lane % 4 * 16);
#pragma unroll
      for (int i = 0; i < each; i++)
        copy16_once(ring + slot + (u32)(i * 32 + lane) * 16, b + (u32)(min(step * Rows + 8 * i + lane / 4, left) * pitch + place));
      if (scaled && lane < Rows) {
        const int word = scale::of_weights ? min(scale::place(chunk), of_scales - 4) : scale::place(chunk) * 4;
        copy4(ring + slot + codes_bytes + (u32)lane * 4, s + (u32)(min(step * Rows + lane, left) * of_scales + word));
      }
    }
    copies_commit();
  }
  TW_FN void next_slot() { slot = slot == (Ahead - 1) * step_bytes ? 0 : slot + step_bytes; }
  /* The first steps. */
  TW_FN void begin() {
    if constexpr (!scaled)
      for (int i = thread_of_block(); i < cols; i += Warps * 32) copy4(at + factors + (u32)i * 4, rows_scales + min(i, rows_left));
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
  /* The slices of A of the steps in flight. Whole: rows of A are multiples of eight. */
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
  /* One slice of A, in flight with the weights. */
  template <bool Whole> TW_FN void bring_a(const bf16 *a, i64 pitch_of_a, int k, int chunk, int nth) const {
#pragma unroll
    for (int i = 0; i < rounds; i++) {
      int row, at_k;
      const bool is = piece(i, row, at_k) && chunk < whole;
      const int from_k = chunk * c::codes + at_k;
      const bf16 *from = a + row * pitch_of_a + from_k;
      if (is && from_k + (Whole ? 0 : 7) < k) copy16_once(place_of_a(nth, row, at_k), from);
      else if (is) {
        vec16 x = {{0, 0, 0, 0}};
        if (!Whole && from_k < k) x = part_of_eight(from, k - from_k);
        store_shared16(place_of_a(nth, row, at_k), x.word[0], x.word[1], x.word[2], x.word[3]);
      }
    }
  }

  struct sums {
    typename product::tile value[Steps];
  };
  /* A thread's part of a step. */
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
      if constexpr (scale::of_weights) x.by[i] = load_shared_byte(place + thread_of_warp() % 4);
      else if constexpr (scaled) x.by[i] = load_shared(place);
    }
    return x;
  }
  /* All slices of this warp. */
  template <bool Whole> TW_FN void multiply_all(sums &to, const bf16 *a, i64 pitch_of_a, int k) {
    int nth = 0;
    slot = 0;
#pragma unroll
    for (int p = 0; p < Steps; p++) product::clear(to.value[p]);
    some now;
    if constexpr (early) {
      copies_wait<Ahead - 1>();
      sync_warp();
      now = read(0);
    }
#pragma unroll 1
    for (int chunk = warp; chunk < whole; chunk += Warps) {
      typename product::operand x;
      if constexpr (!early) {
        copies_wait<Ahead - 1>();
        sync_warp();
      }
      x.take(slice_of_a<Type>{as + (u32)nth * a_bytes}, room);
      sync_warp();
      bring_a<Whole>(a, pitch_of_a, k, chunk + later * Warps, nth);
      nth = nth + 1 == later ? 0 : nth + 1;
#pragma unroll
      for (int p = 0; p < Steps; p++) {
        const u32 behind = slot == (Ahead - 1) * step_bytes ? 0 : slot + step_bytes;
        if constexpr (early) {
          copies_wait<Ahead - 2>();
          sync_warp(); /* all threads have read `slot` */
          const some next = read(behind);
          bring(chunk + (p + Ahead) / Steps * Warps, (p + Ahead) % Steps);
          product::step(to.value[p], x, now.code, now.by);
          now = next;
        } else {
          if (p) {
            copies_wait<Ahead - 1>();
            if (scaled) sync_warp();
          }
          now = read(slot);
          if (scaled) sync_warp();
          bring(chunk + (p + Ahead) / Steps * Warps, (p + Ahead) % Steps);
          product::step(to.value[p], x, now.code, now.by);
        }
        slot = behind;
      }
    }
#pragma unroll
    for (int p = 0; p < Steps; p++) product::done(to.value[p]);
  }
  /* Stores the sums of a warp in the memory of the weights (after a sync_block()), and adds the sums of all warps. */
  TW_FN u32 place_of_sum(int part, int i, int j) const { return at + (u32)((part * M + i) * (int)pitch_of_sums + j) * 4; }
  TW_FN void lay(sums &x) const {
#pragma unroll
    for (int p = 0; p < Steps; p++) product::lay(x.value[p], place_of_sum(warp, 0, p * Rows), pitch_of_sums * 4);
  }
  /* The single scale of a row, multiplied into its finished sum. */
  TW_FN float factor(int j) const { return float_of(load_shared(at + factors + (u32)j * 4)); }
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
