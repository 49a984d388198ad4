/* tile_core.hpp - words of the tile vocabulary that do not multiply, for AMD GPUs (gfx942, gfx950).
 *
 * docs/reference/tile-library.md is the manual. A `shared` tile is in LDS; a group is a wave of 64 lanes. Two
 * compilers read it: clang 22 as freestanding C++17 for amdgcn, without ROCm, and hipcc as HIP. Instructions are reached by
 * the compiler's builtins (LLVM's "User Guide for AMDGPU Backend"); no header of either is needed.
 *
 * Invariants: a kernel's `shared BYTES` (docs/reference/kernel-header.md) is all of its LDS but for small static arrays. Rows of a shared tile
 * lie one after the other, and a swizzle (XOR of offset bits, layout/swizzle.h) says where each 16 bytes of it are. */
#pragma once

#include "tile.h"

#ifdef __HIP__
#define TW_FN __device__ inline __attribute__((always_inline))
#else
#define TW_FN inline __attribute__((always_inline))
#endif
/* Of lambdas: their captures are registers. */
#define TW_INLINE __attribute__((always_inline))

namespace tw {
constexpr TW_FN int min(int a, int b) { return a < b ? a : b; }
constexpr TW_FN int max(int a, int b) { return a > b ? a : b; }
TW_FN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
}  // namespace tw

#include "tile_values.h"

namespace tw {

typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));

template <class A, class B> struct same_type { static constexpr bool value = false; };
template <class A> struct same_type<A, A> { static constexpr bool value = true; };

/* gfx942's own 8-bit float (tilewright/format.h). */
struct e4m3fnuz {
  u8 bits;
};

/* ---- values ---- */

TW_FN u32 bits_of(float x) { return __builtin_bit_cast(u32, x); }
TW_FN float float_of(u32 x) { return __builtin_bit_cast(float, x); }

TW_FN u32 packed_bf16(float low, float high) {
  return __builtin_bit_cast(u32, __builtin_convertvector((f32x2){low, high}, bf16x2));
}
TW_FN u32 packed_f16(float low, float high) {
  return __builtin_bit_cast(u32, __builtin_convertvector((f32x2){low, high}, f16x2));
}
TW_FN float number(f16 x) { return (float)__builtin_bit_cast(_Float16, x.bits); }
TW_FN float exp2_fast(float x) { return __builtin_amdgcn_exp2f(x); }
TW_FN float log2_fast(float x) { return __builtin_amdgcn_logf(x); }
TW_FN float rsqrt_fast(float x) { return __builtin_amdgcn_rsqf(x); }

/* erf to 1.5e-7: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 7.1.26. */
TW_FN float erf_of(float x) {
  const float a = __builtin_fabsf(x), t = 1.f / (1.f + 0.3275911f * a);
  const float p = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return __builtin_copysignf(1.f - p * exp2_fast(-a * a * 1.44269504f), x);
}
TW_FN float tanh_of(float x) { return 1.f - 2.f / (1.f + exp2_fast(2.88539008f * x)); }

TW_FN i32 round_within(float x, i32 low, i32 high) {
  const float r = __builtin_rintf(x);
  return r >= (float)high ? high : r > (float)low ? (i32)r : low;
}

/* ---- 16 bytes of global memory ---- */

TW_FN vec16 vec16_of(u32x4 v) { return __builtin_bit_cast(vec16, v); }
TW_FN u32x4 words_of(vec16 v) { return __builtin_bit_cast(u32x4, v); }
TW_FN vec16 load16(const void *p) { return vec16_of(*(const TW_GLOBAL u32x4 *)p); }
/* For data that is read once or not soon again: it is evicted from the caches first. */
TW_FN vec16 load16_once(const void *p) { return vec16_of(__builtin_nontemporal_load((const TW_GLOBAL u32x4 *)p)); }
TW_FN void store16(void *p, vec16 v) { *(TW_GLOBAL u32x4 *)p = words_of(v); }
TW_FN void store16_once(void *p, vec16 v) { __builtin_nontemporal_store(words_of(v), (TW_GLOBAL u32x4 *)p); }

/* ---- threads ---- */

constexpr int group_threads = 64;

TW_FN int thread_of_block() { return tw_thread(); }
TW_FN int block_of_grid() { return tw_block(); }
TW_FN int thread_of_group() { return thread_of_block() % group_threads; }
/* Tells the compiler that a value is uniform in a wave. */
TW_FN int group_of_block() { return tw_group(); }

/* Nothing moves across at compile time. */
TW_FN void here() { tw_here(); }
/* Workgroup barrier. LDS writes before it are visible after it. It does not wait for copies to LDS. */
TW_FN void sync_block() { tw_sync_block(); }

/* ---- shared memory ---- */

/* The block's dynamic LDS, piece by piece. */
struct arena {
  u32 next = 0;
  template <class Tile> TW_FN Tile take() {
    const Tile t{(TW_LOCAL u8 *)tw_dynamic + next};
    next += (Tile::bytes + 1023u) & ~1023u;
    return t;
  }
};

/* Swizzle: offset o becomes o ^ ((o % 2^End) >> Begin << To) ^ ..., over all terms. */
struct plain {
  static constexpr u32 span = 16;
  static constexpr TW_FN u32 terms(u32) { return 0; }
  static constexpr TW_FN u32 of(u32 o) { return o; }
};
template <int End, int Begin, int To, class More = plain> struct xor_bits {
  static constexpr u32 span = More::span > (1u << End) ? More::span : 1u << End;
  static constexpr TW_FN u32 terms(u32 o) { return (o & (span_bits(End) - 1)) >> Begin << To ^ More::terms(o); }
  static constexpr TW_FN u32 of(u32 o) { return o ^ terms(o); }
  static constexpr TW_FN u32 span_bits(int bits) { return 1u << bits; }
};

template <class Type, int Rows, int Cols, class Swizzle = plain> struct shared {
  static constexpr u32 piece = 16, slot = 16; /* bytes of a lane's copy; their distance in LDS */
  using type = Type;
  using swizzle = Swizzle;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr u32 row_bytes = (u32)Cols * sizeof(Type), bytes = Rows * row_bytes;
  static_assert(row_bytes % 16 == 0, "rows of a shared tile have a multiple of 16 bytes");
  static_assert(bytes % Swizzle::span == 0, "a swizzle stays within its tile");
  TW_LOCAL u8 *at;
};

/* Tiles, one after the other: the stages of a pipeline. */
template <class Tile, int Count> struct many {
  static constexpr u32 bytes = Tile::bytes * Count;
  TW_LOCAL u8 *at;
  TW_FN Tile operator[](int i) const { return Tile{at + (u32)i * Tile::bytes}; }
};

/* ---- copies from memory to shared tiles ----
 *
 * A matrix is read through a buffer resource: what lies past its last row arrives as zeros, without a branch. */

/* Waits until at most Count copies of this thread are in flight. */
template <int Count> TW_FN void copies_wait() { TW_COPIES_WAIT(Count); }

/* Codes for the matrix instruction. gfx942 has the 8-bit FNUZ formats: a code means half of its OCP value. -0 becomes
 * 0, because it is NaN in FNUZ. NaN and infinities become NaN. */
template <class Type> TW_FN u32x4 multiplied(u32x4 v) {
#ifndef __gfx950__
  if constexpr (same_type<Type, e4m3>::value || same_type<Type, e5m2>::value) {
    constexpr u32 up = same_type<Type, e4m3>::value ? 0x01010101u : 0x04040404u; /* from NaN and infinities to 0x80 */
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const u32 size = v[i] & 0x7f7f7f7fu, some = (size + 0x7f7f7f7fu) & 0x80808080u, none = (size + up) & 0x80808080u;
      v[i] = (v[i] & (some | 0x7f7f7f7fu) & ~(none - (none >> 7))) | none;
    }
  }
#endif
  return v;
}

/* Copies of a thread that fill a tile. */
template <class Tile, int Groups> constexpr int copies_of = (int)(Tile::bytes / Tile::slot) / (Groups * group_threads);

/* Bytes of `rows` rows. Both factors have at most 24 bits, so the product is one instruction. */
TW_FN u32 down(u32 rows, u32 pitch) { return (rows & 0xffffffu) * (pitch & 0xffffffu); }

constexpr u32 NOWHERE = 0x80000000u; /* an offset that no matrix has */

/* Rows of a matrix of `Type`, some of its columns at a time, by Groups groups: row r of the tile is row `row` + r of the
 * matrix. Tail: the matrix may end within a tile's columns, at a multiple of 16 bytes. */
template <class Tile, int Groups, bool Tail> struct copier {
  using type = typename Tile::type;
  static constexpr int threads = Groups * group_threads, size = (int)sizeof(type);
  static constexpr int each = copies_of<Tile, Groups>; /* of a thread */
  static constexpr u32 stride = threads * Tile::slot, of_group = group_threads * Tile::slot;
  static_assert(each * stride == Tile::bytes, "a tile is a whole number of copies by all groups");
  /* Whether a thread's next copy is a fixed number of rows further down, in the same columns. */
  static constexpr bool regular = stride % Tile::swizzle::span == 0 && stride % Tile::row_bytes == 0;
  static constexpr int distinct = regular ? 1 : each;

  const void *from;
  u32 bytes, pitch;
  int cols, group;
  u32 offset[distinct];
  vec16 held[each];

  TW_FN copier(const type *matrix, i64 ld, int row, int rows, int columns, int first_group = 0) {
    const int have = min(rows - row, Tile::rows);
    group = group_of_block() - first_group;
    from = matrix + row * ld;
    pitch = (u32)ld * size;
    cols = columns;
    bytes = have > 0 ? (u32)(have - 1) * pitch + (u32)columns * size : 0;
#pragma unroll
    for (int i = 0; i < distinct; i++) {
      const u32 o = Tile::swizzle::of((u32)(i * threads + group * group_threads + thread_of_group()) * Tile::slot);
      offset[i] = down(o / Tile::row_bytes, pitch) + o % Tile::row_bytes / Tile::slot * Tile::piece;
    }
  }
  /* Memory offset of piece i, relative to the wave's uniform offset. */
  TW_FN u32 lane_offset(int i, int col) const {
    const u32 o = offset[regular ? 0 : i];
    if (!Tail) return o;
    const u32 at = Tile::swizzle::of((u32)((regular ? 0 : i) * threads + group * group_threads + thread_of_group()) * 16);
    return (int)(at % Tile::row_bytes) / size + col < cols ? o : NOWHERE;
  }
  TW_FN u32 group_offset(int i, int col) const {
    return (u32)col * size + (regular ? (u32)i * (stride / Tile::row_bytes) * pitch : 0);
  }
  TW_FN __amdgpu_buffer_rsrc_t resource(int col) const { /* nothing is read past the last column */
    return __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, col < cols ? bytes : 0, 0x00020000);
  }
#ifdef __gfx950__ /* other machines move 4 bytes of a lane, which is no faster than through registers */
  /* Asynchronously, past the registers: `each` copies of a thread. Columns begin at `col`. */
  TW_FN void copy(Tile to, int col) const {
#pragma unroll
    for (int i = 0; i < each; i++) copy_piece(to, col, i);
  }
  TW_FN void copy_piece(Tile to, int col, int i) const {
    __builtin_amdgcn_raw_ptr_buffer_load_lds(resource(col), to.at + (u32)i * stride + (u32)group * of_group, Tile::piece,
                                             lane_offset(i, col), group_offset(i, col), 0, 0);
  }
#endif
  /* For a loop in assembly: the resource's words from column `col` on, how much further down a thread's next copy is, and
   * where a lane's part of columns `col`, ... is past the last. */
  TW_FN u32x4 words(int col) const {
    const u64 at = (u64)from + (u64)col * size;
    return (u32x4){(u32)at, (u32)(at >> 32) & 0xffffu, bytes - (u32)col * size, 0x00020000};
  }
  TW_FN u32 down_each() const { return stride / Tile::row_bytes * pitch; }
  TW_FN u32 past(int col) const { return lane_offset(0, col) & NOWHERE; }
  /* The same in two steps, through registers: `load` starts it, `lay` waits for the data and stores it to LDS. */
  TW_FN void load(int col) {
    const __amdgpu_buffer_rsrc_t r = resource(col);
#pragma unroll
    for (int i = 0; i < each; i++)
      held[i] = vec16_of(__builtin_amdgcn_raw_buffer_load_b128(r, lane_offset(i, col), group_offset(i, col), 0));
  }
  TW_FN void lay(Tile to) const {
#pragma unroll
    for (int i = 0; i < each; i++)
      *(TW_LOCAL u32x4 *)(to.at + (u32)i * stride + (u32)group * 1024u + (u32)thread_of_group() * 16u) =
          multiplied<type>(words_of(held[i]));
  }
};

/* The same for a matrix that is stored with the tile's columns along its rows: row r of the tile is row `at` + r,
 * some rows at a time; columns `col`, ... Elements after the last column are undefined. */
template <class Tile, int Groups> struct copier_across {
  using type = typename Tile::type;
  static constexpr int threads = Groups * group_threads, size = (int)sizeof(type);
  static constexpr int each = (int)Tile::bytes / 16 / threads;
  static constexpr u32 stride = threads * 16;
  static_assert(each * stride == Tile::bytes, "a tile is a whole number of copies by all groups");
  static constexpr bool regular = stride % Tile::swizzle::span == 0 && stride % Tile::row_bytes == 0;
  static constexpr int distinct = regular ? 1 : each;

  const type *from;
  i64 ld;
  u32 pitch;
  int rows, have, group;
  u32 offset[distinct];
  vec16 held[each];

  TW_FN copier_across(const type *matrix, i64 ld_, int col, int cols, int rows_, int first_group = 0) {
    group = group_of_block() - first_group;
    from = matrix + col;
    ld = ld_;
    pitch = (u32)ld_ * size;
    rows = rows_;
    have = max(min(cols - col, Tile::cols), 0);
#pragma unroll
    for (int i = 0; i < distinct; i++) {
      const u32 o = Tile::swizzle::of((u32)(i * threads + group * group_threads + thread_of_group()) * 16);
      offset[i] = down(o / Tile::row_bytes, pitch) + o % Tile::row_bytes;
    }
  }
  TW_FN u32 group_offset(int i) const { return regular ? (u32)i * (stride / Tile::row_bytes) * pitch : 0; }
  /* For a hand-scheduled loop: a lane's offset of copy i, the bytes of the buffer resource, its words from row `at`
   * on, and the distance to the next tile. */
  TW_FN u32 lane_offset(int i) const { return offset[regular ? 0 : i] + group_offset(i); }
  TW_FN u32 bytes_of(int n) const { return n > 0 && have ? (u32)(n - 1) * pitch + (u32)have * size : 0; }
  TW_FN u32x4 words(int at) const {
    const u64 first = (u64)(from + at * ld);
    return (u32x4){(u32)first, (u32)(first >> 32) & 0xffffu, bytes_of(min(rows - at, Tile::rows)), 0x00020000};
  }
  TW_FN u32 step() const { return Tile::rows * pitch; }
  TW_FN __amdgpu_buffer_rsrc_t resource(int at) const {
    return __builtin_amdgcn_make_buffer_rsrc((void *)(from + at * ld), 0, bytes_of(min(rows - at, Tile::rows)), 0x00020000);
  }
#ifdef __gfx950__
  TW_FN void copy(Tile to, int at) const {
#pragma unroll
    for (int i = 0; i < each; i++) copy_piece(to, at, i);
  }
  TW_FN void copy_piece(Tile to, int at, int i) const {
    __builtin_amdgcn_raw_ptr_buffer_load_lds(resource(at), to.at + (u32)i * stride + (u32)group * 1024u, 16,
                                             offset[regular ? 0 : i], group_offset(i), 0, 0);
  }
#endif
  TW_FN void load(int at) {
    const __amdgpu_buffer_rsrc_t r = resource(at);
#pragma unroll
    for (int i = 0; i < each; i++)
      held[i] = vec16_of(__builtin_amdgcn_raw_buffer_load_b128(r, offset[regular ? 0 : i], group_offset(i), 0));
  }
  TW_FN void lay(Tile to) const {
#pragma unroll
    for (int i = 0; i < each; i++)
      *(TW_LOCAL u32x4 *)(to.at + (u32)i * stride + (u32)group * 1024u + (u32)thread_of_group() * 16u) =
          multiplied<type>(words_of(held[i]));
  }
};

/* Forces a value to be computed here, not at its use: a lane's value, and a uniform one. */
template <class Value> TW_FN void made_here(Value &v) { asm volatile("" : "+v"(v)); }
template <class Value> TW_FN void made_here_for_all(Value &v) { asm volatile("" : "+s"(v)); }

/* Tiles of such a matrix one below the other, as far as its rows go: `next` is a few scalar instructions. */
template <class Tile, int Groups> struct copier_down : copier_across<Tile, Groups> {
  using base = copier_across<Tile, Groups>;
  static constexpr int pieces = base::each;
  u32 whole, last, down_bytes;
  int left;

  TW_FN copier_down(const typename base::type *matrix, i64 ld_, int cols, int rows_) : base(matrix, ld_, 0, cols, rows_) {
    const u32 end = (u32)base::have * base::size;
    whole = (u32)(Tile::rows - 1) * base::pitch + end;
    last = (u32)((rows_ + Tile::rows - 1) % Tile::rows) * base::pitch + end;
    down_bytes = (u32)Tile::rows * base::pitch;
    left = rows_;
  }
  TW_FN void next() {
    base::from = (const typename base::type *)((const u8 *)base::from + down_bytes);
    left -= Tile::rows;
    made_here_for_all(base::from);
    made_here_for_all(left);
  }
  /* To `by` elements from here, where as many rows are left. */
  TW_FN void jump(i64 by, int rows_) {
    base::from += by;
    left = rows_;
    made_here_for_all(base::from);
    made_here_for_all(left);
  }
#ifdef __gfx950__
  TW_FN void copy_piece(Tile to, int i) const {
    const u32 bytes = left > Tile::rows ? whole : left > 0 ? last : 0;
    const __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)base::from, 0, bytes, 0x00020000);
    __builtin_amdgcn_raw_ptr_buffer_load_lds(r, to.at + (u32)i * base::stride + (u32)base::group * 1024u, 16,
                                             base::offset[base::regular ? 0 : i], base::group_offset(i), 0, 0);
  }
  TW_FN void copy(Tile to) const {
#pragma unroll
    for (int i = 0; i < pieces; i++) copy_piece(to, i);
  }
#endif
};

/* Copies a tile by all waves, from any address and pitches: element (row, col) is at from[row * below + col * right].
 * Rows and columns outside of the matrix become zeros. A sync must follow. */
template <int Groups, class Tile, class Type>
TW_FN void copy_by_groups(Tile to, const Type *from, i64 below, i64 right, int row, int col, int rows, int cols) {
  constexpr int chunks = (int)Tile::row_bytes / 16, each = 16 / (int)sizeof(Type);
  const TW_GLOBAL Type *at = (const TW_GLOBAL Type *)from + row * below + col * right;
  for (int i = thread_of_block(); i < Tile::rows * chunks; i += Groups * group_threads) {
    /* Neighbouring threads copy neighbours in memory, in either layout. */
    const int r = right == 1 ? i / chunks : i % Tile::rows, c = right == 1 ? i % chunks : i / Tile::rows;
    union {
      Type element[each];
      u32x4 words;
    } v;
    v.words = (u32x4){0, 0, 0, 0};
    if (row + r < rows)
#pragma unroll
      for (int e = 0; e < each; e++)
        if (col + c * each + e < cols) v.element[e] = at[down((u32)r, (u32)below) + down((u32)(c * each + e), (u32)right)];
    *(TW_LOCAL u32x4 *)(to.at + Tile::swizzle::of((u32)r * Tile::row_bytes + (u32)c * 16u)) =
        multiplied<Type>(v.words);
  }
}

/* ---- which tile ---- */

/* Workgroups are dealt to `chips` chiplets (XCDs) round-robin. This renumbers them so that each chiplet has one
 * range. */
template <int chips> TW_FN int range_of_chip(int t, int blocks) {
  const int chip = t % chips;
  return chip * (blocks / chips) + min(chip, blocks % chips) + t / chips;
}
/* XCD remap (HipKittens, algorithm 1). Workgroups are dealt to `chips` chiplets round-robin. They are renumbered so
 * that `chunk` neighbours run on one chiplet, and go through tiles in windows of `window` rows, column by column.
 * Without a whole set of chunks, each chiplet has one range. window 0: row by row. */
template <int window, int chunk, int chips> TW_FN place place_of_chips(int t, int rows, int cols) {
  if (window == 0) return place{t / cols, t % cols};
  constexpr int height = window ? window : 1, run = chunk ? chunk : 1;
  const int blocks = rows * cols, set = chips * run, whole = blocks / set * set, chip = t % chips, local = t / chips;
  int number = t;
  if (whole == 0)
    number = range_of_chip<chips>(t, blocks);
  else if (t < whole)
    number = local / run * set + chip * run + local % run;
  const int band = height * cols, first = number / band * height, in = number % band;
  const int size = min(rows - first, height);
  return place{first + in % size, in / size};
}

}  // namespace tw
