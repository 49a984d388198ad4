/* tile_mx.hpp - products of blocks of 32 elements with a scale (MXFP4), for gfx950: A of bf16 quantized on its way in, weights
 * packed as AITER shuffles them.
 *
 * A matrix instruction takes 16 rows, 128 deep; lane l has block l / 16 of row l % 16: 32 elements, and their scale. So a lane
 * quantizes what it has loaded by itself. Scales are E8M0 bytes: ((bits of the largest magnitude + Addend) >> 23) - 2, where
 * Addend makes the rule (format/mx.c). Weights: 16 rows x 128 are 1024 bytes, 16 of a lane; a word of scales of a lane belongs
 * to 32 rows x 256: byte 0 and 2 to the first 16 rows, 0 and 1 to the first 128 columns ("MXFP4 matmul on MI355X": the
 * layout that AITER's kernels take). Magnitudes are finite. */
#pragma once
#include "tile_mma.hpp"

namespace tw {
#ifdef __gfx950__

typedef u16 u16x2 __attribute__((ext_vector_type(2)));

constexpr int mx_rows = 16, mx_deep = 128, mx_block = 32, mx_step = 256; /* a step: what a word of scales belongs to */

/* What a matrix instruction of 4-bit elements sums, as mma<> for `acc` and `put`. */
struct mx_product {
  using sum = f32x4;
  static constexpr int side = mx_rows;
};

TW_FN int mx_scale(u32 largest, u32 addend) { return max(min((int)((largest + addend) >> 23) - 2, 254), 0); }

/* Blocks of A: 16 rows x 128, as they come. */
struct mx_fresh { vec16 chunk[4]; };
/* and as they are multiplied: codes and, in the lowest byte, the scale. */
struct mx_left {
  u32x4 codes;
  u32 scale;
};

template <u32 Addend> TW_FN mx_left mx_quantize(const mx_fresh &x) {
  u16x2 most = {0, 0};
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) /* magnitudes are ordered as their bits are */
      most = __builtin_elementwise_max(most, __builtin_bit_cast(u16x2, x.chunk[i].word[j] & 0x7fff7fffu));
  const u32 largest = (u32)(most[0] > most[1] ? most[0] : most[1]) << 16;
  mx_left out;
  out.scale = (u32)mx_scale(largest, Addend);
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
  return out;
}

/* Rows of A from `row` on; what it has not is 0. */
struct mx_reader {
  const bf16 *from;
  u32 bytes, offset;
  int cols;
  TW_FN mx_reader(const bf16 *a, i64 lda, int row, int rows, int columns) {
    const int lane = thread_of_group(), have = rows - row;
    from = a + row * lda;
    cols = columns;
    bytes = have > 0 ? (u32)(min(have, mx_rows) - 1) * (u32)lda * 2 + (u32)columns * 2 : 0;
    offset = (u32)(lane % mx_rows) * (u32)lda * 2 + (u32)(lane / mx_rows) * (mx_block * 2);
  }
  TW_FN void load(mx_fresh &to, int col) const {
    const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, col < cols ? bytes : 0, 0x00020000);
    const int first = col + thread_of_group() / mx_rows * mx_block;
#pragma unroll
    for (int i = 0; i < 4; i++)
      to.chunk[i] = vec16_of(__builtin_amdgcn_raw_buffer_load_b128(
          r, first + 8 * i < cols ? offset + 16u * (u32)i : NOWHERE, (u32)col * 2, 0));
  }
};

/* Blocks of A that all groups of a block read, in LDS. */
template <int Count> struct mx_shared {
  static constexpr u32 bytes = Count * 1280;
  TW_LOCAL u8 *at;
  TW_FN void lay(int i, const mx_left &x) const {
    *(TW_LOCAL u32x4 *)(at + (u32)i * 1280 + (u32)thread_of_group() * 16u) = x.codes;
    *(TW_LOCAL u32 *)(at + (u32)i * 1280 + 1024 + (u32)thread_of_group() * 4u) = x.scale;
  }
  TW_FN mx_left get(int i) const {
    mx_left x;
    x.codes = *(const TW_LOCAL u32x4 *)(at + (u32)i * 1280 + (u32)thread_of_group() * 16u);
    x.scale = *(const TW_LOCAL u32 *)(at + (u32)i * 1280 + 1024 + (u32)thread_of_group() * 4u);
    return x;
  }
};

/* Weights of Count x 32 columns of C, a step deep. */
template <int Count> struct mx_right {
  u32x4 codes[Count][2][2]; /* [16 columns][128 deep] */
  u32 scales[Count];
  /* `packed`, `scales_at`: of all weights; `deep` is k rounded up to whole steps. */
  TW_FN void load(const u8 *packed, const u8 *scales_at, int col, int cols, int deep, int step) {
#pragma unroll
    for (int i = 0; i < Count; i++) {
      const int first = col + 32 * i; /* all of 32 columns are there, or none */
      const u32 there = first < cols && step * mx_step < deep ? 0xffffffffu : 0;
      const u32 lane = (u32)thread_of_group(), tiles = (u32)deep / mx_deep;
      const __amdgpu_buffer_rsrc_t codes_of = __builtin_amdgcn_make_buffer_rsrc(
          (void *)(packed + (i64)(first / 16) * tiles * 1024), 0, there & (2 * tiles * 1024), 0x00020000);
      const __amdgpu_buffer_rsrc_t scales_of = __builtin_amdgcn_make_buffer_rsrc(
          (void *)(scales_at + (i64)(first / 32) * deep), 0, there & (u32)deep, 0x00020000);
#pragma unroll
      for (int n = 0; n < 2; n++)
#pragma unroll
        for (int k = 0; k < 2; k++)
          codes[i][n][k] = __builtin_amdgcn_raw_buffer_load_b128(
              codes_of, lane * 16u, ((u32)n * tiles + (u32)step * 2 + (u32)k) * 1024u, 0);
      scales[i] = __builtin_amdgcn_raw_buffer_load_b32(scales_of, lane * 4u, (u32)step * 256u, 0);
    }
  }
};

TW_FN i32x8 mx_bits(u32x4 v) { return (i32x8){(int)v[0], (int)v[1], (int)v[2], (int)v[3], 0, 0, 0, 0}; }

/* sums of 16 rows += A's blocks [128 deep] times weights. */
template <int Row, int Rows, int Count>
TW_FN void mx_multiply(acc<mx_product, Rows, 2 * Count> &sums, const mx_left (&a)[2], const mx_right<Count> &b) {
#define TW_MX(N, K)                                                                                                    \
  sums.value[Row][2 * i + N] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(                                       \
      mx_bits(b.codes[i][N][K]), mx_bits(a[K].codes), sums.value[Row][2 * i + N], 4, 4, N + 2 * K, (int)b.scales[i], 0,  \
      (int)a[K].scale)
#pragma unroll
  for (int i = 0; i < Count; i++) {
    TW_MX(0, 0);
    TW_MX(1, 0);
    TW_MX(0, 1);
    TW_MX(1, 1);
  }
#undef TW_MX
}
template <int Row, int Rows, int Count, int Blocks>
TW_FN void mx_multiply_rows(acc<mx_product, Rows, 2 * Count> &sums, mx_shared<Blocks> from, const mx_right<Count> &b) {
  if constexpr (Row < Rows) {
    const mx_left a[2] = {from.get(2 * Row), from.get(2 * Row + 1)};
    mx_multiply<Row>(sums, a, b);
    mx_multiply_rows<Row + 1>(sums, from, b);
  }
}

/* Packs 32 weights, a thread: element (k, n) of B lies at b[k * down + n * right]. Exact: B's elements are such blocks. */
TW_FN void mx_pack(const float *b, i64 down, i64 right, u8 *packed, u8 *scales_at, int n, int k, int columns, int deep) {
  const i64 item = (i64)block_of_grid() * 256 + thread_of_block();
  const int blocks = deep / mx_block, x = (int)(item / blocks), y = (int)(item % blocks);
  if (x >= columns) return;
  float v[32], most = 0;
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
#pragma unroll
  for (int i = 0; i < 32; i++) most = fmaxf(most, __builtin_fabsf(v[i]));
  const u32 byte = (u32)mx_scale(bits_of(most), 0);
  const float scale = float_of(byte << 23);
  u32x4 codes = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    u32 w = 0;
    w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i], v[8 * i + 1], scale, 0);
    w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i + 2], v[8 * i + 3], scale, 1);
    w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i + 4], v[8 * i + 5], scale, 2);
    w = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(w, v[8 * i + 6], v[8 * i + 7], scale, 3);
    codes[i] = w;
  }
  *(TW_GLOBAL u32x4 *)(packed + ((i64)(x / 16) * blocks + y) * 256 + x % 16 * 16) = codes;
  *(TW_GLOBAL u8 *)(scales_at + (i64)(x / 32) * blocks * 32 + y / 8 * 256 + y % 4 * 64 + x % 16 * 4 + y % 8 / 4 * 2 +
                    x % 32 / 16) = (u8)byte;
}

#endif
}  // namespace tw
