/* tile_slices_products.cuh - how a warp multiplies a step of a slice of k (tile_slices.cuh): Rows rows of B, as codes in its registers, and M rows of A.
 *
 * A slice of a row of B is 64 bytes, 16 for each of four threads: 128 codes of mxfp4 or i4, 256 of ternary; `unit` says whose
 * j-th eight one of k is. A product knows
 *   operand: take(slice, room)     a slice of A, from bf16 in shared memory, as the instruction has it; `room` is the warp's own
 *   tile, clear(to)                sums of a step's rows
 *   step(to, operand, code, by)    adds the products; `by` are the scales of a thread's rows
 *   done(to), lay(to, at, pitch)   finished sums, and each as a float of a row's column, at + row * pitch + 4 * column
 *
 * `products_of_numbers`: bf16. Codes of i4 and ternary are multiplied at their place in the byte: below 256 a bf16's bits are its value
 * times 2^133 (the numbers below 2^-126, and the first binade above, have the same steps; tensor cores take both, and do not round them). So
 * one instruction makes two weights. A is multiplied by `lift`: exactly, except for elements of 2^64 and more. Sums are 2^-69 of the right
 * ones, and parts below 2^-80 are lost. Sums include the products of the codes' offset. Products of A and `minus` cancel them: `minus` is
 * the offset times -2^-69, as two bf16.
 *
 * `products_of_blocks`: mxfp4 with one or two rows. A thread's 16 bytes are a block with a scale of its own, and the instruction has eight
 * columns: of two rows of A four blocks each, zeros elsewhere. So sums are of blocks, and take their scales; weights need none. They are
 * 2^-126 of theirs, and A is multiplied by a power of two, by the largest of the slice's, so that nothing is lost.
 *
 * `products_of_digits`: i4 and ternary with one or two rows, in integers. One instruction makes four weights, bytes without a sign, again
 * as they lie. The columns are four digits of each row of A, to the base 256 with signs: A times a power of two, by the largest of
 * the slice's (`factor` takes it back) and by where the code lay in its byte, to nearest. An element is off by 2^-24 (i4: 2^-26) of the
 * largest of 256 (128) at most, and sums of a slice are exact. An element that is not finite makes NaN of the slice's sums.
 *
 * Codes are offset (i4 by 8, ternary by 1): the offset's own product is subtracted of each slice. */
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
template <> struct slice_of<i4> { /* 8 + x, in bits 3:0 (0, 2) or 7:4 (1, 3) */
  static constexpr int codes = 128, eights = 4;
  static constexpr bool offset = true;
  static constexpr float whole = 0x1p69f;
  static constexpr u32 minus = 0x9E809E80u;
  static constexpr u32 zeros = 0; /* codes of zero: the offset alone */
  static TW_FN int unit(int j, int thread) { return thread * 4 + j; }
  static TW_FN u32 lift(int, int i) { return i % 2 ? 0x5D805D80u : 0x5F805F80u; }
  static TW_FN void numbers(const vec16 &x, int j, u32, u32 (&to)[4]) {
    const u32 low = x.word[j], high = low >> 8;
    to[0] = and_xor(low, 0x000F000Fu, 0x00080008u), to[1] = and_xor(low, 0x00F000F0u, 0x00800080u);
    to[2] = and_xor(high, 0x000F000Fu, 0x00080008u), to[3] = and_xor(high, 0x00F000F0u, 0x00800080u);
  }
  /* In bytes: of two words of eight the even ones, then the odd ones, 16 times as large. */
  static constexpr u32 thread_bytes = 32, digit_bytes = 144; /* sum of a thread's digits; of all four threads' digits */
  static TW_FN void bytes(const vec16 &x, int j, u32 (&to)[2]) {
    const u32 mask = j % 2 ? 0xF0F0F0F0u : 0x0F0F0F0Fu, sign = j % 2 ? 0x80808080u : 0x08080808u;
    to[0] = and_xor(x.word[j / 2 * 2], mask, sign), to[1] = and_xor(x.word[j / 2 * 2 + 1], mask, sign);
  }
};
template <> struct slice_of<ternary> { /* two threads share 128; the j-th: two words (j / 4), bits j % 4: 1 + x in 7:6, 5:4, 3:2, 1:0 */
  static constexpr int codes = 256, eights = 8;
  static constexpr bool offset = true;
  static constexpr float whole = 0x1p69f;
  static constexpr u32 minus = 0x9D009D00u;
  static constexpr u32 zeros = 0x55555555u;
  static TW_FN int unit(int j, int thread) { return thread / 2 * 16 + j % 4 * 4 + thread % 2 * 2 + j / 4; }
  static TW_FN u32 lift(int j, int) { return (u32)(185 + j % 4 * 2 << 7) * 0x00010001u; }
  static TW_FN void numbers(const vec16 &x, int j, u32, u32 (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = x.word[j / 4 * 2 + i / 2] >> i % 2 * 8 & 0x00C000C0u >> j % 4 * 2;
  }
  /* The same in bytes. */
  static constexpr u32 thread_bytes = 80, digit_bytes = 320;
  static TW_FN void bytes(const vec16 &x, int j, u32 (&to)[2]) {
    const u32 mask = 0xC0C0C0C0u >> j % 4 * 2;
    to[0] = x.word[j / 4 * 2] & mask, to[1] = x.word[j / 4 * 2 + 1] & mask;
  }
};

/* A slice of A: rows of bf16, row_bytes apart. */
template <class Type> struct slice_of_a {
  static constexpr u32 row_bytes = slice_of<Type>::codes * 2 + 16;
  u32 at;
  TW_FN vec16 eight(int row, int unit) const { return load_shared16(at + (u32)row * row_bytes + (u32)unit * 16); }
};

/* All sums of a tile. */
template <class Tile, class Function> TW_FN void over_sums(Tile &of, Function f) {
#pragma unroll
  for (int r = 0; r < (int)(sizeof of / sizeof of[0]); r++)
#pragma unroll
    for (int c = 0; c < (int)(sizeof of[0] / sizeof of[0][0]); c++)
#pragma unroll
      for (int i = 0; i < (int)(sizeof of[0][0] / sizeof of[0][0][0]); i++) f(of[r][c][i], r, c, i);
}

/* of_weights: scales are multiplied into weights; of_sums: into sums, in f32; otherwise a row has one scale for its
 * whole sum. */
template <class Type, int Rows, int M, bool Of_weights, bool Of_sums> struct products_of_numbers {
  using c = slice_of<Type>;
  static constexpr int each = Rows / 8, tall = Rows / 16, wide = (M + 7) / 8;
  static constexpr u32 room = 0;
  using tile = float[tall][wide][4];
  struct operand {
    u32 x[c::eights][wide][4];
    float zero[wide][2]; /* subtracts the contribution of the codes' offset */
    TW_FN void take(slice_of_a<Type> a, u32) {
      const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
#pragma unroll
      for (int j = 0; j < c::eights; j++)
#pragma unroll
        for (int f = 0; f < wide; f++) {
          weights<Type>::arrange(a.eight(min(8 * f + down, M - 1), c::unit(j, right)), x[j][f]);
          if constexpr (c::offset)
#pragma unroll
            for (int n = 0; n < 4; n++) x[j][f][n] = fma_two(x[j][f][n], c::lift(j, n), 0x80008000u);
        }
#pragma unroll
      for (int f = 0; f < wide; f++) zero[f][0] = zero[f][1] = 0;
      if constexpr (c::offset) {
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
    }
  };
  static TW_FN void clear(tile &to) {
    over_sums(to, [](float &x, int, int, int) { x = 0; });
  }
  static TW_FN void multiply(tile &to, const u32 (&w)[each][4], const u32 (&x)[wide][4]) {
#pragma unroll
    for (int h = 0; h < 4; h += 2)
#pragma unroll
      for (int r = 0; r < tall; r++)
#pragma unroll
        for (int f = 0; f < wide; f++)
          mma_few<bf16>(to[r][f], w[2 * r][h], w[2 * r + 1][h], w[2 * r][h + 1], w[2 * r + 1][h + 1], x[f][h], x[f][h + 1]);
  }
  static TW_FN void products(tile &to, const operand &a, const vec16 (&code)[each], const u32 (&by)[each]) {
#pragma unroll
    for (int j = 0; j < c::eights; j++) {
      u32 w[each][4];
#pragma unroll
      for (int i = 0; i < each; i++) c::numbers(code[i], j, Of_weights ? two_of_scale<false>(by[i]) : 0, w[i]);
      multiply(to, w, a.x[j]);
    }
  }
  /* Scales of mxfp4 from 2 on take a second multiplication. Seldom, and so not much code. */
  static TW_FN void products_large(tile &to, const operand &a, const vec16 (&code)[each], const u32 (&by)[each]) {
#pragma unroll 1
    for (int j = 0; j < c::eights; j++) {
      u32 w[each][4], y[wide][4];
#pragma unroll
      for (int i = 0; i < each; i++) {
        const u32 word = j < 2 ? j ? code[i].word[1] : code[i].word[0] : j < 3 ? code[i].word[2] : code[i].word[3];
        weights<mxfp4_large>::numbers(word, 0, two_of_scale<true>(by[i]), w[i]);
      }
#pragma unroll
      for (int f = 0; f < wide; f++)
#pragma unroll
        for (int n = 0; n < 4; n++) y[f][n] = j < 2 ? j ? a.x[1][f][n] : a.x[0][f][n] : j < 3 ? a.x[2][f][n] : a.x[3][f][n];
      multiply(to, w, y);
    }
  }
  static TW_FN void step(tile &to, const operand &a, const vec16 (&code)[each], const u32 (&by)[each]) {
    if constexpr (Of_weights) {
      u32 any = 0;
#pragma unroll
      for (int i = 0; i < each; i++) any |= by[i];
      if (any_of_warp(any & 128)) products_large(to, a, code, by);
      else products(to, a, code, by);
    } else {
      tile part;
      over_sums(part, [&](float &x, int r, int f, int i) { x = Of_sums ? a.zero[f][i % 2] : to[r][f][i] + a.zero[f][i % 2]; });
      products(part, a, code, by);
      over_sums(to, [&](float &x, int r, int f, int i) { x = Of_sums ? x + float_of(by[2 * r + i / 2]) * part[r][f][i] : part[r][f][i]; });
    }
  }
  static TW_FN void done(tile &to) {
    if constexpr (c::whole != 1) over_sums(to, [](float &x, int, int, int) { x *= c::whole; });
  }
  static TW_FN void lay(tile &of, u32 at, u32 pitch) {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
    over_sums(of, [&](float &x, int r, int f, int i) {
      const int row = 8 * f + 2 * right + i % 2;
      if (8 * f + 8 <= M || row < M) store_shared(at + (u32)row * pitch + (u32)(16 * r + 8 * (i / 2) + down) * 4, bits_of(x));
    });
  }
};

TW_FN u32 largest_of_eight(const vec16 &x) { /* of bf16 without their signs, as bits */
  const u32 y = max_two(max_two(x.word[0] & 0x7FFF7FFFu, x.word[1] & 0x7FFF7FFFu), max_two(x.word[2] & 0x7FFF7FFFu, x.word[3] & 0x7FFF7FFFu));
  return max(y & 0xFFFFu, y >> 16);
}
template <int Rows, int M> struct products_of_blocks {
  static_assert(M <= 2, "four blocks of two rows fill the instruction");
  using c = slice_of<mxfp4>;
  static constexpr int each = Rows / 8, tall = Rows / 16;
  /* operands of A for the instruction; zeros */
  static constexpr u32 row_bytes = c::codes * 2, room = M * row_bytes + 64;
  using tile = float[tall][M][2]; /* of A's rows; of 16, the thread's */
  struct operand {
    u32 x[c::eights][4];
    float factor[M]; /* divides by the factor of A's rows, and by the 2^-126 of the weights */
    TW_FN void take(slice_of_a<mxfp4> a, u32 room) {
      const int thread = thread_of_warp(), down = thread / 4, right = thread % 4;
      vec16 y = {{0, 0, 0, 0}};
      if (thread < 16 * M) y = a.eight(thread / 16, thread % 16);
      const u32 mine = largest_of_eight(y) >> 7;
      u32 lift = 0;
#pragma unroll
      for (int m = 0; m < M; m++) {
        const u32 top = max(max_of_warp(M == 1 || thread / 16 == m ? mine : 0), 126u);
        if (M == 1 || thread / 16 == m) lift = (380 - top << 7) * 0x00010001u;
        factor[m] = float_of(top << 23);
      }
      if (thread < 16 * M) {
        u32 z[4];
        weights<mxfp4>::arrange(y, z);
#pragma unroll
        for (int n = 0; n < 4; n++) z[n] = fma_two(z[n], lift, 0x80008000u);
        store_shared16(room + (u32)thread * 16, z[0], z[1], z[2], z[3]);
      }
      if (thread < 4) store_shared16(room + M * row_bytes + (u32)thread * 16, 0, 0, 0, 0);
      sync_warp();
      const u32 from = room + (down / 2 == right && down % 2 < M ? (u32)(down % 2) * row_bytes + (u32)right * 64 : M * row_bytes);
#pragma unroll
      for (int j = 0; j < c::eights; j++) {
        const vec16 z = load_shared16(from + (u32)j * 16);
#pragma unroll
        for (int n = 0; n < 4; n++) x[j][n] = z.word[n];
      }
    }
  };
  static TW_FN void clear(tile &to) {
    over_sums(to, [](float &x, int, int, int) { x = 0; });
  }
  static TW_FN void step(tile &to, const operand &a, const vec16 (&code)[each], const u32 (&by)[each]) {
    float part[2 * tall][1][4]; /* two sums each: products wait for one another */
    over_sums(part, [](float &x, int, int, int) { x = 0; });
#pragma unroll
    for (int j = 0; j < c::eights; j++) {
      u32 w[each][4];
#pragma unroll
      for (int i = 0; i < each; i++) weights<mxfp4>::bare(code[i].word[j], w[i]);
#pragma unroll
      for (int h = 0; h < 4; h += 2)
#pragma unroll
        for (int r = 0; r < tall; r++)
          mma_few<bf16>(part[2 * r + h / 2][0], w[2 * r][h], w[2 * r + 1][h], w[2 * r][h + 1], w[2 * r + 1][h + 1], a.x[j][h], a.x[j][h + 1]);
    }
    over_sums(to, [&](float &x, int r, int m, int i) {
      const float scale = fmaxf(float_of(by[2 * r + i] << 23), 0x1p-127f); /* infinity: NaN */
      x += fmaf(scale, 0, scale) * ((part[2 * r][0][2 * i + m] + part[2 * r + 1][0][2 * i + m]) * a.factor[m]);
    });
  }
  static TW_FN void done(tile &) {}
  /* Adds over the four threads that have blocks of the same rows. */
  static TW_FN void lay(tile &of, u32 at, u32 pitch) {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
    over_sums(of, [&](float &x, int r, int m, int i) {
      x += __shfl_xor_sync(0xffffffffu, x, 1);
      x += __shfl_xor_sync(0xffffffffu, x, 2);
      if (right == 0) store_shared(at + (u32)m * pitch + (u32)(16 * r + 8 * i + down) * 4, bits_of(x));
    });
  }
};

/* d = a b + c of bytes: 16 x 32 without signs, 32 x 8 with. */
TW_FN void mma_bytes(i32 (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1, const i32 (&c)[4]) {
  const u32 a[4] = {a0, a1, a2, a3};
#pragma unroll
  for (int i = 0; i < 4; i++) d[i] = c[i];
  multiply(d, a, b0, b1, u8{}, i8{});
}
/* The four digits of four numbers, each digit's as a word. */
TW_FN void digits_of_four(const float (&x)[4], float by, u32 (&to)[4]) {
  u32 y[4];
#pragma unroll
  for (int i = 0; i < 4; i++) y[i] = ((u32)rounded(x[i] * by) + 0x00808080u) ^ 0x00808080u;
  const u32 low01 = __byte_perm(y[0], y[1], 0x5140), low23 = __byte_perm(y[2], y[3], 0x5140);
  const u32 high01 = __byte_perm(y[0], y[1], 0x7362), high23 = __byte_perm(y[2], y[3], 0x7362);
  to[3] = lows(low01, low23), to[2] = highs(low01, low23), to[1] = lows(high01, high23), to[0] = highs(high01, high23);
}

template <class Type, int Rows, int M, bool Of_sums> struct products_of_digits {
  static_assert(M <= 2, "four digits of two rows fill the instruction");
  using c = slice_of<Type>;
  static constexpr int each = Rows / 8, tall = Rows / 16, times = c::codes / 32;
  static constexpr u32 room = M * 4 * c::digit_bytes;
  using tile = float[tall][1][2]; /* of 16 rows, the thread's; of two digits */
  static constexpr u32 begin = 0x4B400000u; /* an integer below 2^22 more is the float 3 * 2^22 more */
  struct operand {
    u32 x[times][2];
    float zero[2], factor;
    TW_FN void take(slice_of_a<Type> a, u32 room) {
      const int thread = thread_of_warp(), down = thread / 4, right = thread % 4;
      u32 top[M];
#pragma unroll
      for (int m = 0; m < M; m++) {
        /* i4: two threads share eight, the even and the odd ones. */
        const int unit = c::codes == 256 ? thread : thread / 2;
        const vec16 y = a.eight(m, unit);
        top[m] = max(max_of_warp(largest_of_eight(y)) >> 7, 30u);
        u32 digit[4];
        if constexpr (c::codes == 256) {
          const int lift = unit % 16 / 4; /* its codes are in bits 7 - 2 lift and below */
          const float by = float_of((u32)(277 + 2 * lift - (int)top[m]) << 23);
          const u32 to = room + (u32)(unit / 16 * 2 + unit % 4 / 2) * c::thread_bytes + (u32)(unit % 2 * 4 + lift) * 8;
          const float first[4] = {low<bf16>(y.word[0]), high<bf16>(y.word[0]), low<bf16>(y.word[1]), high<bf16>(y.word[1])};
          const float then[4] = {low<bf16>(y.word[2]), high<bf16>(y.word[2]), low<bf16>(y.word[3]), high<bf16>(y.word[3])};
          u32 more[4];
          digits_of_four(first, by, digit), digits_of_four(then, by, more);
#pragma unroll
          for (int d = 0; d < 4; d++) store_shared(to + (u32)(4 * m + d) * c::digit_bytes, (u64)digit[d] | (u64)more[d] << 32);
        } else {
          const int odd = thread % 2;
          const float by = float_of((u32)(279 + (odd ? 0 : 4) - (int)top[m]) << 23);
          const u32 to = room + (u32)(unit / 4) * c::thread_bytes + (u32)(unit % 4 / 2 * 4 + odd * 2 + unit % 2) * 4;
          float four[4];
#pragma unroll
          for (int i = 0; i < 4; i++) four[i] = float_of(odd ? y.word[i] & 0xFFFF0000u : y.word[i] << 16);
          digits_of_four(four, by, digit);
#pragma unroll
          for (int d = 0; d < 4; d++) store_shared(to + (u32)(4 * m + d) * c::digit_bytes, digit[d]);
        }
      }
      sync_warp();
      const u32 from = room + (u32)min(down, 4 * M - 1) * c::digit_bytes + (u32)right * c::thread_bytes;
#pragma unroll
      for (int j = 0; j < times; j += 2) {
        const vec16 y = load_shared16(from + (u32)j * 8);
        x[j][0] = y.word[0], x[j][1] = y.word[1], x[j + 1][0] = y.word[2], x[j + 1][1] = y.word[3];
      }
      const u32 mine = M == 2 && right / 2 ? top[M - 1] : top[0];
      factor = float_of(mine == 255 ? 0x7FC00000u : mine - (right % 2 ? 21 : 5) << 23);
      const vec16 zeros = {{c::zeros, c::zeros, c::zeros, c::zeros}};
      i32 sum[4] = {(i32)begin, (i32)begin, (i32)begin, (i32)begin};
#pragma unroll
      for (int j = 0; j < times; j++) {
        u32 w[2];
        c::bytes(zeros, j, w);
        mma_bytes(sum, w[0], w[0], w[1], w[1], x[j][0], x[j][1], sum);
      }
      zero[0] = float_of((u32)sum[0]), zero[1] = float_of((u32)sum[1]);
    }
  };
  static TW_FN void clear(tile &to) {
    over_sums(to, [](float &x, int, int, int) { x = 0; });
  }
  static TW_FN void step(tile &to, const operand &a, const vec16 (&code)[each], const u32 (&by)[each]) {
    i32 from[4] = {(i32)begin, (i32)begin, (i32)begin, (i32)begin};
    i32 part[tall][4];
#pragma unroll
    for (int j = 0; j < times; j++) {
      u32 w[each][2];
#pragma unroll
      for (int i = 0; i < each; i++) c::bytes(code[i], j, w[i]);
#pragma unroll
      for (int r = 0; r < tall; r++) mma_bytes(part[r], w[2 * r][0], w[2 * r + 1][0], w[2 * r][1], w[2 * r + 1][1], a.x[j][0], a.x[j][1], j ? part[r] : from);
    }
    over_sums(to, [&](float &x, int r, int, int i) {
      const float high = float_of((u32)part[r][2 * i]) - a.zero[0], low = float_of((u32)part[r][2 * i + 1]) - a.zero[1];
      x += (Of_sums ? float_of(by[2 * r + i]) * a.factor : a.factor) * (high + low * 0x1p-8f);
    });
  }
  static TW_FN void done(tile &) {}
  /* Adds over the two threads that have digits of the same row. */
  static TW_FN void lay(tile &of, u32 at, u32 pitch) {
    const int down = thread_of_warp() / 4, right = thread_of_warp() % 4;
    over_sums(of, [&](float &x, int r, int, int i) {
      x += __shfl_xor_sync(0xffffffffu, x, 1);
      if (right % 2 == 0 && right / 2 < M) store_shared(at + (u32)(right / 2) * pitch + (u32)(16 * r + 8 * i + down) * 4, bits_of(x));
    });
  }
};

/* The product type for a problem. */
template <bool Is, class Yes, class No> struct either { using type = Yes; };
template <class Yes, class No> struct either<false, Yes, No> { using type = No; };
template <class Type, int Rows, int M, bool Of_sums> struct products {
  using type = typename either<(M <= 2), products_of_digits<Type, Rows, M, Of_sums>, products_of_numbers<Type, Rows, M, false, Of_sums>>::type;
};
template <int Rows, int M, bool Of_sums> struct products<mxfp4, Rows, M, Of_sums> {
  using type = typename either<(M <= 2), products_of_blocks<Rows, (M <= 2 ? M : 1)>, products_of_numbers<mxfp4, Rows, M, true, false>>::type;
};

}  // namespace tw
