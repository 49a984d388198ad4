/* tile_mx.hpp - products of blocks of 32 elements with a scale (MXFP4, MXFP6, MXFP8), for gfx950: A of bf16, f16 or f32 is quantized in the kernel. Weights are packed beforehand, MXFP4 in AITER's layout.
 *
 * A matrix instruction takes 16 rows, 128 deep. With 4 and 6 bits, lane l has block l / 16 of row l % 16: 32 elements. With 8 bits it
 * has 16 elements from 16 (l / 16) and 16 from 64 + 16 (l / 16) on. The scale of block l / 16 always comes from lane l. A lane therefore
 * quantizes the block that it has loaded by itself; 8-bit codes change lanes on their way through LDS. Scales are
 * E8M0 bytes: ((bits of the largest magnitude + Addend) >> 23) - emax, where Addend implements the scale rule (format/mx.c). Weights: 16
 * rows x 128 are stored in the order of lanes, first 16 bytes of each lane, then the rest of each. A lane's word of scales
 * belongs to 32 rows x 256: byte 0 and 2 to the first 16 rows, 0 and 1 to the first 128 columns ("MXFP4 matmul on MI355X": the
 * layout of AITER's kernels). Magnitudes are finite. */
#pragma once
#include "tile_mma.hpp"

namespace tw {
#ifdef __gfx950__

typedef u16 u16x2 __attribute__((ext_vector_type(2)));

/* elements of k in a step, which share a word of scales */
constexpr int mx_rows = 16, mx_deep = 128, mx_block = 32, mx_step = 256;

/* The matrix instruction of 4-bit elements, as mma<> for `acc` and `put`. */
struct mx_product {
  using sum = f32x4;
  static constexpr int side = mx_rows;
};

/* The matrix instruction with `Side` rows and columns. */
template <int Side> struct mx_product_of;
template <> struct mx_product_of<16> : mx_product { static constexpr int deep = 128; };
template <> struct mx_product_of<32> {
  using sum = f32x16;
  static constexpr int side = 32, deep = 64;
};

TW_FN int mx_scale(u32 largest, u32 addend, int emax) {
  return max(min((int)((largest + addend) >> 23) - emax, 254), 0);
}

/* Formats: words of 32 codes, how matrix instructions call it, the exponent of the largest element, and a block's codes. */
struct mxfp4 {
  static constexpr int words = 4, code = 4, emax = 2;
  static TW_FN void encode(u32 (&to)[words], const float (&v)[32], float scale) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      u32 w = 0;
      w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i], v[8 * i + 1], scale, 0);
      w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i + 2], v[8 * i + 3], scale, 1);
      w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i + 4], v[8 * i + 5], scale, 2);
      w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i + 6], v[8 * i + 7], scale, 3);
      to[i] = w;
    }
  }
};
struct mxfp6 { /* e2m3 */
  static constexpr int words = 6, code = 2, emax = 2;
  static TW_FN void encode(u32 (&to)[words], const float (&v)[32], float scale) {
    f32x16 even, odd; /* the instruction takes them in turn */
#pragma unroll
    for (int i = 0; i < 16; i++) even[i] = v[2 * i], odd[i] = v[2 * i + 1];
    const auto got = __builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32(even, odd, scale);
#pragma unroll
    for (int i = 0; i < words; i++) to[i] = (u32)got[i];
  }
};
struct mxfp8 { /* e4m3 */
  static constexpr int words = 8, code = 0, emax = 8;
  static TW_FN void encode(u32 (&to)[words], const float (&v)[32], float scale) {
    const float most = 448.f * scale; /* the conversion turns larger values into NaN */
    const auto within = [&](float x) { return __builtin_amdgcn_fmed3f(x, -most, most); };
#pragma unroll
    for (int i = 0; i < words; i++) {
      typedef i16 i16x2 __attribute__((ext_vector_type(2)));
      i16x2 w = {0, 0};
      w = __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(w, within(v[4 * i]), within(v[4 * i + 1]), scale, false);
      w = __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(w, within(v[4 * i + 2]), within(v[4 * i + 3]), scale, true);
      to[i] = __builtin_bit_cast(u32, w);
    }
  }
};

/* Blocks of A: 16 rows x 128, as they come. */
template <class Type> struct mx_fresh { vec16 chunk[2 * sizeof(Type)]; };
/* and as they are quantized: codes and, in the lowest byte, the scale. */
template <class To> struct mx_left {
  u32 codes[To::words];
  u32 scale;
};

/* The bits of the largest magnitude: they are ordered as their numbers are. */
TW_FN u32 mx_largest(const mx_fresh<bf16> &x) {
  u16x2 most = {0, 0};
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
      most = __builtin_elementwise_max(most, __builtin_bit_cast(u16x2, x.chunk[i].word[j] & 0x7fff7fffu));
  return (u32)(most[0] > most[1] ? most[0] : most[1]) << 16;
}
template <class Type> TW_FN void mx_numbers(float (&v)[32], const mx_fresh<Type> &x) {
  constexpr int each = 16 / (int)sizeof(Type);
#pragma unroll
  for (int i = 0; i < 32 / each; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
      if constexpr (sizeof(Type) == 4) {
        v[i * each + j] = float_of(x.chunk[i].word[j]);
      } else {
        v[i * each + 2 * j] = low<Type>(x.chunk[i].word[j]);
        v[i * each + 2 * j + 1] = high<Type>(x.chunk[i].word[j]);
      }
}
TW_FN u32 mx_largest(const float (&v)[32]) {
  float most = 0;
#pragma unroll
  for (int i = 0; i < 32; i++) most = fmaxf(most, __builtin_fabsf(v[i]));
  return bits_of(most);
}

template <class To, u32 Addend, class Type> TW_FN mx_left<To> mx_quantize(const mx_fresh<Type> &x) {
  mx_left<To> out;
  if constexpr (same_type<To, mxfp4>::value && same_type<Type, bf16>::value) { /* without floats between */
    out.scale = (u32)mx_scale(mx_largest(x), Addend, To::emax);
    const float scale = float_of(out.scale << 23);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      u32 codes = 0;
      codes = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(codes, __builtin_bit_cast(bf16x2, x.chunk[i].word[0]), scale, 0);
      codes = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(codes, __builtin_bit_cast(bf16x2, x.chunk[i].word[1]), scale, 1);
      codes = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(codes, __builtin_bit_cast(bf16x2, x.chunk[i].word[2]), scale, 2);
      codes = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(codes, __builtin_bit_cast(bf16x2, x.chunk[i].word[3]), scale, 3);
      out.codes[i] = codes;
    }
  } else {
    float v[32];
    mx_numbers(v, x);
    out.scale = (u32)mx_scale(mx_largest(v), Addend, To::emax);
    To::encode(out.codes, v, float_of(out.scale << 23));
  }
  return out;
}

/* Rows of A from `row` on; elements outside are 0. */
template <class Type> struct mx_reader {
  static constexpr int size = (int)sizeof(Type), each = 16 / size;
  const Type *from;
  u32 bytes, offset;
  int cols;
  TW_FN mx_reader(const Type *a, i64 lda, int row, int rows, int columns) {
    const int lane = thread_of_group(), have = rows - row;
    from = a + row * lda;
    cols = columns;
    bytes = have > 0 ? (u32)(min(have, mx_rows) - 1) * (u32)lda * size + (u32)columns * size : 0;
    offset = down((u32)(lane % mx_rows), (u32)lda * size) + (u32)(lane / mx_rows) * (mx_block * size);
  }
  TW_FN void load(mx_fresh<Type> &to, int col) const {
    const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, col < cols ? bytes : 0, 0x00020000);
    const int first = col + thread_of_group() / mx_rows * mx_block;
#pragma unroll
    for (int i = 0; i < 2 * size; i++)
      to.chunk[i] = vec16_of(__builtin_amdgcn_raw_buffer_load_b128(
          r, first + each * i < cols ? offset + 16u * (u32)i : NOWHERE, (u32)col * size, 0));
  }
};

template <class Words> TW_FN TW_LOCAL Words *as_words(TW_LOCAL u8 *p) { return (TW_LOCAL Words *)p; }
template <class Words> TW_FN TW_GLOBAL Words *as_words(TW_GLOBAL u8 *p) { return (TW_GLOBAL Words *)p; }

/* Blocks of codes, of 16 rows x 128: the first 16 bytes of each lane, then the rest of each. Where a lane that has quantized block
 * l / 16 of row l % 16 writes: of 8 bits, its two halves are the lanes' l % 16 + 32 (block % 2), and 16 lanes on. */
template <class Type, class Bytes> TW_FN void mx_lay(Bytes *to, int row, int block, const u32 (&codes)[Type::words]) {
  const u32x4 first = {codes[0], codes[1], codes[2], codes[3]};
  if constexpr (Type::words == 8) {
    const u32 place = (u32)(block / 2 * 1024 + (block % 2 * 32 + row) * 16);
    *as_words<u32x4>(to + place) = first;
    *as_words<u32x4>(to + place + 256) = (u32x4){codes[4], codes[5], codes[6], codes[7]};
  } else {
    *as_words<u32x4>(to + (block * 16 + row) * 16) = first;
    if constexpr (Type::words == 6)
      *as_words<u32x2>(to + 1024 + (block * 16 + row) * 8) = (u32x2){codes[4], codes[5]};
  }
}

/* Blocks of A that all groups of a block read, in LDS, with their scales. */
template <class Type, int Count> struct mx_shared {
  static constexpr u32 each = Type::words * 256 + 256, bytes = Count * each, scales = Type::words * 256;
  TW_LOCAL u8 *at;
  TW_FN void lay(int i, const mx_left<Type> &x) const {
    const int lane = thread_of_group();
    mx_lay<Type>(at + (u32)i * each, lane % 16, lane / 16, x.codes);
    *(TW_LOCAL u32 *)(at + (u32)i * each + scales + (u32)lane * 4u) = x.scale;
  }
  /* A block that is in the order of the matrix instruction already. */
  TW_FN void put(int i, const mx_left<Type> &x) const {
    if constexpr (Type::words == 8) {
      const u32 lane = (u32)thread_of_group();
      TW_LOCAL u8 *const to = at + (u32)i * each;
      *(TW_LOCAL u32x4 *)(to + lane * 16u) = (u32x4){x.codes[0], x.codes[1], x.codes[2], x.codes[3]};
      *(TW_LOCAL u32x4 *)(to + 1024 + lane * 16u) = (u32x4){x.codes[4], x.codes[5], x.codes[6], x.codes[7]};
      *(TW_LOCAL u32 *)(to + scales + lane * 4u) = x.scale;
    } else {
      lay(i, x);
    }
  }
  TW_FN mx_left<Type> get(int i) const {
    const TW_LOCAL u8 *const from = at + (u32)i * each;
    const u32 lane = (u32)thread_of_group();
    mx_left<Type> x;
    const u32x4 first = *(const TW_LOCAL u32x4 *)(from + lane * 16u);
#pragma unroll
    for (int j = 0; j < 4; j++) x.codes[j] = first[j];
    if constexpr (Type::words == 8) {
      const u32x4 rest = *(const TW_LOCAL u32x4 *)(from + 1024 + lane * 16u);
#pragma unroll
      for (int j = 0; j < 4; j++) x.codes[4 + j] = rest[j];
    }
    if constexpr (Type::words == 6) {
      const u32x2 rest = *(const TW_LOCAL u32x2 *)(from + 1024 + lane * 8u);
      x.codes[4] = rest[0], x.codes[5] = rest[1];
    }
    x.scale = *(const TW_LOCAL u32 *)(from + scales + lane * 4u);
    return x;
  }
};

/* The order of an operand's codes or scales in memory: tiles as a matrix instruction takes them (AITER's order), or rows
 * along k. */
enum mx_order { mx_in_tiles, mx_in_rows };

/* The scales of 32 rows, a step deep. A lane's word has byte 0 and 2 for the first 16 rows, 0 and 1 for the first 128 of
 * k. In rows, a lane reads the 8 scales of each of its two rows, and picks the scales of its block. */
template <int Order> struct mx_scales;
template <> struct mx_scales<mx_in_tiles> {
  u32 all;
  TW_FN u32 word() const { return all; }
  TW_FN void load(const u8 *at, int first, int rows, int deep, int step, u32 there) {
    const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)(at + (i64)(first / 32) * deep), 0,
                                                                       there & (u32)deep, 0x00020000);
    all = __builtin_amdgcn_raw_buffer_load_b32(r, (u32)thread_of_group() * 4u, (u32)step * 256u, 0);
  }
};
template <> struct mx_scales<mx_in_rows> {
  u32x2 row[2];
  TW_FN u32 word() const {
    const u32 block = (u32)thread_of_group() / 16u, both = block | (block + 4u) << 8; /* of the second and first row */
    const u32 low = __builtin_amdgcn_perm(row[1][0], row[0][0], both | 0x0c0c0000u);  /* 12: a byte of zeros */
    return low | __builtin_amdgcn_perm(row[1][1], row[0][1], both << 16 | 0x0c0cu);
  }
  TW_FN void load(const u8 *at, int first, int rows, int deep, int step, u32 there) {
    const u32 pitch = (u32)deep / mx_block, have = (u32)min(rows - first, 32);
    const __amdgpu_buffer_rsrc_t r =
        __builtin_amdgcn_make_buffer_rsrc((void *)(at + (i64)first * pitch), 0, there & (have * pitch), 0x00020000);
#pragma unroll
    for (int n = 0; n < 2; n++)
      row[n] = __builtin_amdgcn_raw_buffer_load_b64(r, ((u32)thread_of_group() % 16u + 16u * (u32)n) * pitch,
                                                    (u32)step * 8u, 0);
  }
};

/* Weights of Count x 32 columns of C, a step deep. */
template <class Type, int Count, int Codes = mx_in_tiles, int Scales = mx_in_tiles> struct mx_right {
  u32 codes[Count][2][2][Type::words]; /* [16 columns][128 deep] */
  mx_scales<Scales> scales[Count];
  /* `packed`, `scales_at`: addresses of all weights and scales; `deep` is k rounded up to whole steps. Elements after
   * `end` steps are 0. In tiles, `cols` is a multiple of 32. */
  TW_FN void load(const u8 *packed, const u8 *scales_at, int col, int cols, int deep, int step, int end = 1 << 30) {
#pragma unroll
    for (int i = 0; i < Count; i++) load_part(i, packed, scales_at, col, cols, deep, step, end);
  }
  /* Of 32 columns, from column 32 i on. */
  TW_FN void load_part(int i, const u8 *packed, const u8 *scales_at, int col, int cols, int deep, int step, int end) {
    const int first = col + 32 * i;
    const u32 there = first < cols && step * mx_step < deep && step < end ? 0xffffffffu : 0;
    const __amdgpu_buffer_rsrc_t of = rows_from(packed, first, cols, deep, there);
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
      for (int k = 0; k < 2; k++) load_block(codes[i][n][k], of, n, k, deep, step);
    scales[i].load(scales_at, first, cols, deep, step, there);
  }
  /* 32 rows (columns of C) from `first` on. */
  static TW_FN __amdgpu_buffer_rsrc_t rows_from(const u8 *packed, int first, int cols, int deep, u32 there) {
    const u32 pitch = (u32)deep / mx_block * (Type::words * 4), have = Codes == mx_in_tiles ? 32u : (u32)min(cols - first, 32);
    return __builtin_amdgcn_make_buffer_rsrc((void *)(packed + (i64)first * pitch), 0, there & (have * pitch), 0x00020000);
  }
  /* 16 of their rows, 128 deep. */
  static TW_FN void load_block(u32 (&to)[Type::words], __amdgpu_buffer_rsrc_t of, int n, int k, int deep, int step) {
    constexpr u32 block = Type::words * 4, tile = block * 64;
    const u32 lane = (u32)thread_of_group(), tiles = (u32)deep / mx_deep, pitch = (u32)deep / mx_block * block;
    if constexpr (Codes == mx_in_tiles)
      part(to, of, lane * 16u, 1024u + lane * (Type::words == 6 ? 8u : 16u), ((u32)n * tiles + (u32)step * 2 + (u32)k) * tile);
    else
      part(to, of, from_row(n, pitch), from_row(n, pitch) + (Type::words == 8 ? 64u : 16u), ((u32)step * 2 + (u32)k) * (block * 4));
  }
  /* A lane's first byte of its row, which begins `pitch` bytes after the previous one: a lane has a block of 4 or 6 bits,
   * or 16 of each 64 bytes. */
  static TW_FN u32 from_row(int n, u32 pitch) {
    const u32 lane = (u32)thread_of_group();
    return (lane % 16u + 16u * (u32)n) * pitch + lane / 16u * (Type::words == 6 ? 24u : 16u);
  }
  static TW_FN void part(u32 (&to)[Type::words], __amdgpu_buffer_rsrc_t of, u32 first, u32 second, u32 at) {
    if constexpr (Type::words == 6 && Codes == mx_in_rows) { /* rows of 24 bytes a block: 8 of them are aligned */
#pragma unroll
      for (int j = 0; j < 6; j += 2) {
        const u32x2 two = __builtin_amdgcn_raw_buffer_load_b64(of, first + 4u * (u32)j, at, 0);
        to[j] = two[0], to[j + 1] = two[1];
      }
      return;
    }
    const u32x4 start = __builtin_amdgcn_raw_buffer_load_b128(of, first, at, 0);
#pragma unroll
    for (int j = 0; j < 4; j++) to[j] = start[j];
    if constexpr (Type::words == 8) {
      const u32x4 rest = __builtin_amdgcn_raw_buffer_load_b128(of, second, at, 0);
#pragma unroll
      for (int j = 0; j < 4; j++) to[4 + j] = rest[j];
    }
    if constexpr (Type::words == 6) {
      const u32x2 rest = __builtin_amdgcn_raw_buffer_load_b64(of, second, at, 0);
      to[4] = rest[0], to[5] = rest[1];
    }
  }
};

/* A block of an A that is packed: block i of 16 rows x 128 of a tile, in the order in which waves quantize blocks. */
template <class Type, int Codes, int Scales> struct mx_given {
  mx_left<Type> codes;
  mx_scales<Scales> scales;
  TW_FN void load(const u8 *packed, const u8 *scales_at, int row, int i, int rows, int deep, int step, int end) {
    using all = mx_right<Type, 1, Codes, Scales>;
    const int first = row + i / 4 * 32;
    const u32 there = first < rows && step * mx_step < deep && step < end ? 0xffffffffu : 0;
    all::load_block(codes.codes, all::rows_from(packed, first, rows, deep, there), i / 2 % 2, i % 2, deep, step);
    scales.load(scales_at, first, rows, deep, step, there);
  }
  TW_FN mx_left<Type> block(int i) const {
    mx_left<Type> x = codes;
    x.scale = scales.word() >> 8 * (i / 2 % 2 + i % 2 * 2);
    return x;
  }
};

template <int Words> TW_FN i32x8 mx_bits(const u32 (&v)[Words]) {
  i32x8 out = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < Words; i++) out[i] = (int)v[i];
  return out;
}

/* sums of 16 rows and columns 32 i to 32 i + 31 += A's blocks [128 deep] times weights. */
template <int Row, class A, class B, int Rows, int Count, int... Orders>
TW_FN void mx_multiply(acc<mx_product, Rows, 2 * Count> &sums, const mx_left<A> (&a)[2],
                       const mx_right<B, Count, Orders...> &b, int i) {
#define TW_MX(N, K)                                                                                                    \
  sums.value[Row][2 * i + N] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(                                       \
      mx_bits(b.codes[i][N][K]), mx_bits(a[K].codes), sums.value[Row][2 * i + N], B::code, A::code, N + 2 * K,          \
      (int)b.scales[i].word(), 0, (int)a[K].scale)
  TW_MX(0, 0);
  TW_MX(1, 0);
  TW_MX(0, 1);
  TW_MX(1, 1);
#undef TW_MX
}
template <int Row, class A, class B, int Rows, int Count, int Blocks, int... Orders>
TW_FN void mx_multiply_rows(acc<mx_product, Rows, 2 * Count> &sums, mx_shared<A, Blocks> from,
                            const mx_right<B, Count, Orders...> &b) {
  if constexpr (Row < Rows) {
    const mx_left<A> a[2] = {from.get(2 * Row), from.get(2 * Row + 1)};
#pragma unroll
    for (int i = 0; i < Count; i++) mx_multiply<Row>(sums, a, b, i);
    mx_multiply_rows<Row + 1>(sums, from, b);
  }
}

/* The same for an A that is packed like weights, by its rows. */
template <class A, class B, int Rows, int Count, int CodesA, int ScalesA, int... Orders>
TW_FN void mx_multiply_packed(acc<mx_product, 2 * Rows, 2 * Count> &sums, const mx_right<A, Rows, CodesA, ScalesA> &a,
                              const mx_right<B, Count, Orders...> &b) {
#define TW_MX(M, N, K)                                                                                                 \
  sums.value[2 * j + M][2 * i + N] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(                                 \
      mx_bits(b.codes[i][N][K]), mx_bits(a.codes[j][M][K]), sums.value[2 * j + M][2 * i + N], B::code, A::code,        \
      N + 2 * K, (int)b.scales[i].word(), M + 2 * K, (int)a.scales[j].word())
#pragma unroll
  for (int j = 0; j < Rows; j++)
#pragma unroll
    for (int i = 0; i < Count; i++) {
      TW_MX(0, 0, 0);
      TW_MX(0, 1, 0);
      TW_MX(1, 0, 0);
      TW_MX(1, 1, 0);
      TW_MX(0, 0, 1);
      TW_MX(0, 1, 1);
      TW_MX(1, 0, 1);
      TW_MX(1, 1, 1);
    }
#undef TW_MX
}

/* The place of scale y of row x in AITER's order: a word of a lane for 32 rows x 256. */
TW_FN i64 mx_word_place(int x, int y, int blocks) {
  return (i64)(x / 32) * blocks * 32 + y / 8 * 256 + y % 4 * 64 + x % 16 * 4 + y % 8 / 4 * 2 + x % 32 / 16;
}

/* The matrix instruction for scales in AITER's order (src/gpu/amd/loop.h): its rows are 16 neighbours, and with 32 the
 * 16 that begin 32 rows further down. */
template <int Side> struct mx_product_of_words : mx_product_of<Side> {};
template <int Side> TW_FN constexpr int row_in(mx_product_of_words<Side>, int fragment, int x) {
  return Side == 16 ? fragment * 16 + x : fragment / 2 * 64 + fragment % 2 * 16 + x / 16 * 32 + x % 16;
}
/* The place of a lane's first word of scales. */
template <int Side> TW_FN u32 mx_lane_word() {
  const u32 lane = (u32)thread_of_group();
  return Side == 16 ? lane * 4u : lane % 32u / 16u * 256u + (lane % 16u + lane / 32u * 16u) * 4u;
}

/* A tile of codes in AITER's order in memory and in LDS: for 16 rows, blocks of 16 rows x 64 bytes along k. */
template <int Rows, int RowBytes> struct mx_tile : shared<u8, Rows, RowBytes> {};
template <int Rows, int RowBytes, int Groups> struct copier<mx_tile<Rows, RowBytes>, Groups, false> {
  static constexpr bool regular = true;
  static constexpr int blocks = RowBytes / 64;
  static_assert(Groups % blocks == 0, "a group's next copy is at the same place along k");
  u64 from;
  u32 bytes, pitch, offset[1];
  TW_FN copier(const u8 *matrix, i64 ld, int row, int rows, int columns) {
    const u32 group = (u32)group_of_block();
    from = (u64)(matrix + row * ld);
    pitch = (u32)ld;
    bytes = (u32)min(rows - row, Rows) * pitch;
    offset[0] = group / blocks * 16u * pitch + group % blocks * 1024u + (u32)thread_of_group() * 16u;
  }
  TW_FN u32x4 words(int col) const {
    const u64 at = from + (u64)col * 16u;
    return (u32x4){(u32)at, (u32)(at >> 32) & 0xffffu, bytes - (u32)col * 16u, 0x00020000};
  }
  TW_FN u32 down_each() const { return Groups / blocks * 16u * pitch; }
};
template <class Product, int Rows, int RowBytes>
TW_FN u32 read_address(mx_tile<Rows, RowBytes> from, int first, int i) {
  const u32 lane = (u32)thread_of_group(), row = (u32)row_in(Product{}, 0, (int)lane % Product::side);
  const u32 block = (u32)i * (Product::deep / mx_block) + lane / Product::side;
  return (u32)(__UINTPTR_TYPE__)from.at + ((u32)first + row / 16u * 16u) * RowBytes + block / 4u * 1024u +
         (block % 4u * 16u + row % 16u) * 16u;
}

/* A thread packs 32 weights: element (k, n) of B is at b[k * down + n * right]. This is exact, because B is
 * block-scaled already. */
template <class Type>
TW_FN void mx_pack(const float *b, i64 down, i64 right, u8 *packed, u8 *scales_at, int n, int k, int columns, int deep) {
  const i64 item = (i64)block_of_grid() * 256 + thread_of_block();
  const int blocks = deep / mx_block, x = (int)(item / blocks), y = (int)(item % blocks);
  if (x >= columns) return;
  float v[32];
  typedef f32x4 anywhere __attribute__((aligned(4)));
  if (down == 1 && x < n && (y + 1) * mx_block <= k)
#pragma unroll
    for (int i = 0; i < 8; i++)
      *(f32x4 *)(v + 4 * i) = *(const TW_GLOBAL anywhere *)(b + x * right + y * mx_block + 4 * i);
  else
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const int at = y * mx_block + i;
      v[i] = x < n && at < k ? b[at * down + x * right] : 0.f;
    }
  const u32 byte = (u32)mx_scale(mx_largest(v), 0, Type::emax);
  u32 codes[Type::words];
  Type::encode(codes, v, float_of(byte << 23));
  constexpr int tile = Type::words * 256;
  mx_lay<Type>((TW_GLOBAL u8 *)packed + ((i64)(x / 16) * (blocks / 4) + y / 4) * tile, x % 16, y % 4, codes);
  *(TW_GLOBAL u8 *)(scales_at + mx_word_place(x, y, blocks)) = (u8)byte;
}

/* The scales of an operand of the hand-scheduled loop: the scales of Tile rows at a step of OfStep blocks are contiguous,
 * ordered by wave: for each lane of a product, the scales of all depths of the first Product::side rows, then of the
 * next rows. The place of block y of row x. */
template <class Product, int Tile, int Groups, int OfStep> TW_FN i64 mx_scale_place(int x, int y, int blocks) {
  constexpr int side = Product::side, of_lane = Product::deep / mx_block, own = Tile / Groups, depths = OfStep / of_lane;
  const int in = x % Tile, fragment = in % own / side, lane = y % of_lane * side + in % side;
  const int place = lane * (own / side * depths) + fragment * depths + y % OfStep / of_lane;
  return ((i64)(x / Tile) * (blocks / OfStep) + y / OfStep) * (Tile * OfStep) + in / own * (own * OfStep) + place;
}

/* Puts scales that are given in rows into that order, one scale in a thread. Rows that pad the last tile get 0. */
template <class Type, class Product, int Tile, int Groups, int Step>
TW_FN void mx_order_scales(const u8 *from, u8 *scales_at, int rows, int deep) {
  const i64 item = (i64)block_of_grid() * 256 + thread_of_block();
  const int blocks = deep / mx_block, x = (int)(item / blocks), y = (int)(item % blocks);
  if (x >= (rows + Tile - 1) / Tile * Tile) return;
  *(TW_GLOBAL u8 *)(scales_at + mx_scale_place<Product, Tile, Groups, Step / (Type::words * 4)>(x, y, blocks)) =
      x < rows ? *(const TW_GLOBAL u8 *)(from + item) : (u8)0;
}

/* Packs an operand of the hand-scheduled loop, one block of 32 elements of row x in a thread: element (x, i) is at
 * from[x * down + i * right]. Codes are stored row by row, and scales in either order. Rows that pad the last tile have
 * scales and no codes. */
template <class Type, class Product, int Tile, int Groups, int Step, u32 Addend, bool Words, class From>
TW_FN void mx_pack_rows(const From *from, i64 down, i64 right, u8 *codes_at, u8 *scales_at, int rows, int k, int deep) {
  constexpr int bytes = Type::words * 4, of_step = Step / bytes;
  const i64 item = (i64)block_of_grid() * 256 + thread_of_block();
  const int blocks = deep / mx_block, x = (int)(item / blocks), y = (int)(item % blocks);
  if (x >= (rows + Tile - 1) / Tile * Tile) return;
  float v[32];
  constexpr int each = 16 / (int)sizeof(From);
  if (right == 1 && down % each == 0 && x < rows && (y + 1) * mx_block <= k) {
    mx_fresh<From> fresh;
#pragma unroll
    for (int i = 0; i < 32 / each; i++) fresh.chunk[i] = load16(from + x * down + y * mx_block + each * i);
    mx_numbers(v, fresh);
  } else {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const int at = y * mx_block + i;
      v[i] = x < rows && at < k ? number(from[x * down + at * right]) : 0.f;
    }
  }
  const u32 byte = (u32)mx_scale(mx_largest(v), Addend, Type::emax);
  u32 codes[Type::words];
  Type::encode(codes, v, float_of(byte << 23));
  if (x < rows)
#pragma unroll
    for (int i = 0; i < Type::words; i += 4)
      *(TW_GLOBAL u32x4 *)(codes_at + ((i64)x * blocks + y) * bytes + 4 * i) =
          (u32x4){codes[i], codes[i + 1], codes[i + 2], codes[i + 3]};
  *(TW_GLOBAL u8 *)(scales_at + (Words ? mx_word_place(x, y, blocks)
                                      : mx_scale_place<Product, Tile, Groups, of_step>(x, y, blocks))) = (u8)byte;
}

#endif
}  // namespace tw
