/* tile.h - the tile vocabulary in C, for AMD GPUs (gfx942, gfx950): what its words are made of, for kernels in C11, and for C++
 * (tile_core.hpp stands on it; hipcc reads it too).
 *
 * C has no types of tiles: a tile is an address in LDS, and the program says where its bytes are. What the machine has beside
 * plain C is here: copies to LDS past the registers (gfx950) and through them, swizzles, waits, barriers, priorities, hints to the
 * compiler's scheduler, matrix instructions. Words in capitals take constants. Compilers' builtins alone are needed.
 *
 * A lane's operand of a product is 16 bytes along k of row lane % side, from 16 * (lane / side) on; what follows belongs to the
 * next product. As B stands first, a lane gets four neighbouring columns of C: row lane % 16, columns lane / 16 * 4 + 0..3 of
 * 16 x 16; of 32 x 32 row lane % 32, columns i / 4 * 8 + lane / 32 * 4 + i % 4. */
#ifndef TW_TILE_H
#define TW_TILE_H

#define TW_GLOBAL __attribute__((address_space(1)))
#define TW_LOCAL __attribute__((address_space(3)))
#ifdef __HIP__
#define TW_C static __device__ inline __attribute__((always_inline))
#define TW_KERNEL_WORD extern "C" __global__
#else
#define TW_C static inline __attribute__((always_inline))
#ifdef __cplusplus
#define TW_KERNEL_WORD extern "C" __attribute__((amdgpu_kernel))
#else
#define TW_KERNEL_WORD __attribute__((amdgpu_kernel))
#endif
#define __shared__ static TW_LOCAL __attribute__((loader_uninitialized))
#endif
/* A kernel, its threads, and the workgroups that a compute unit shall hold, which limits its registers. */
#define TW_KERNEL(threads, blocks)                                                                                     \
  TW_KERNEL_WORD __attribute__((amdgpu_flat_work_group_size(threads, threads),                                         \
                                amdgpu_waves_per_eu(((threads) / 64 * (blocks) + 3) / 4))) void

/* The block's dynamic LDS: `shared BYTES` of the launch. */
#ifdef __HIP__
extern __shared__ __attribute__((aligned(1024))) unsigned char tw_dynamic[];
#else
extern TW_LOCAL __attribute__((aligned(1024))) unsigned char tw_dynamic[];
#endif

typedef unsigned tw_words __attribute__((ext_vector_type(4))); /* 16 bytes */
typedef float tw_f32x4 __attribute__((ext_vector_type(4)));
typedef float tw_f32x16 __attribute__((ext_vector_type(16)));
typedef int tw_i32x4 __attribute__((ext_vector_type(4)));
typedef int tw_i32x16 __attribute__((ext_vector_type(16)));

/* ---- threads ---- */

TW_C int tw_thread(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
TW_C int tw_block(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
TW_C int tw_lane(void) { return tw_thread() % 64; }
/* The wave index; uniform for the compiler. */
TW_C int tw_group(void) { return __builtin_amdgcn_readfirstlane(tw_thread() / 64); }

/* Nothing moves across at compile time; TW_FIXED: nor do registers' instructions. */
TW_C void tw_here(void) { __asm__ volatile("" ::: "memory"); }
#define TW_FIXED() __builtin_amdgcn_sched_barrier(0)
/* Waits until at most N copies of this thread, or reads of LDS, are in flight. */
#define TW_COPIES_WAIT(count) (tw_here(), __builtin_amdgcn_s_waitcnt(((count) & 15) | (count) >> 4 << 14 | 0xF70), tw_here())
#define TW_READS_WAIT(count) (tw_here(), __builtin_amdgcn_s_waitcnt(0xC07F | ((count) < 15 ? (count) : 15) << 8), tw_here())
/* Workgroup barrier. LDS writes before it are visible after it. It does not wait for copies to LDS. */
TW_C void tw_sync_block(void) {
  TW_READS_WAIT(0); /* clang 22 leaves out the wait of the fence if a loop ends with stores to LDS */
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
  tw_here();
}
/* Barrier of all waves that waits for no read and no copy: the end of a ping-pong phase. */
TW_C void tw_end_turn(void) {
  tw_here();
  TW_FIXED();
  __builtin_amdgcn_s_barrier();
  TW_FIXED();
  tw_here();
}
/* Waves of higher priority (0 to 3) issue first. */
#define TW_PRIORITY(level) __builtin_amdgcn_s_setprio(level)
/* Hints to the compiler's scheduler: which earlier instructions of the same basic block come next. */
enum { TW_PRODUCTS = 0x008, TW_COPIES = 0x020, TW_READS = 0x100 };
#define TW_THEN(kind, count) __builtin_amdgcn_sched_group_barrier(kind, count, 0)

/* ---- memory and LDS, 16 bytes of a lane ----
 *
 * Rows of a matrix: an address and their bytes; what is read past them is 0, what is written there is dropped. */

typedef __amdgpu_buffer_rsrc_t tw_rows;
TW_C tw_rows tw_rows_of(const void *first, unsigned bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((void *)first, 0, bytes, 0x00020000);
}
TW_C tw_words tw_load16(tw_rows from, unsigned of_lane, unsigned of_group) {
  return __builtin_amdgcn_raw_buffer_load_b128(from, of_lane, of_group, 0);
}
TW_C void tw_store16(tw_rows to, unsigned of_lane, tw_words v) { __builtin_amdgcn_raw_buffer_store_b128(v, to, of_lane, 0, 0); }
#ifdef __gfx950__
/* Direct-to-LDS load: lane l's 16 bytes go to `to` + 16 l; `to` is uniform in the wave. It counts as a copy in waits. */
TW_C void tw_copy16(TW_LOCAL void *to, tw_rows from, unsigned of_lane, unsigned of_group) {
  __builtin_amdgcn_raw_ptr_buffer_load_lds(from, to, 16, of_lane, of_group, 0, 0);
}
#endif
TW_C tw_words tw_read16(const TW_LOCAL void *at) { return *(const TW_LOCAL tw_words *)at; }
TW_C void tw_lay16(TW_LOCAL void *at, tw_words v) { *(TW_LOCAL tw_words *)at = v; }

/* Swizzle of offset o in a tile: bits begin..end-1 are XORed to the bits from `to` on, as `tilewright view swizzle`
 * prints them. The swizzle is its own inverse, so copies apply it to the memory address that a lane reads. */
#define TW_SWIZZLE(o, end, begin, to) ((o) ^ ((o) & ((1u << (end)) - 1u)) >> (begin) << (to))

/* ---- products: c + B A ---- */

#define TW_PRODUCT(NAME, SUM, ONE, HALF, TYPE, HALF_TYPE)                                                              \
  TW_C SUM NAME(tw_words b, tw_words a, SUM c) { TW_PRODUCT_BODY(ONE, HALF, TYPE, HALF_TYPE) }
#ifdef __gfx950__
#define TW_PRODUCT_BODY(ONE, HALF, TYPE, HALF_TYPE)                                                                    \
  return ONE(__builtin_bit_cast(TYPE, b), __builtin_bit_cast(TYPE, a), c, 0, 0, 0);
#else
#define TW_PRODUCT_BODY(ONE, HALF, TYPE, HALF_TYPE)                                                                    \
  c = HALF(__builtin_bit_cast(HALF_TYPE, b.xy), __builtin_bit_cast(HALF_TYPE, a.xy), c, 0, 0, 0);                      \
  return HALF(__builtin_bit_cast(HALF_TYPE, b.zw), __builtin_bit_cast(HALF_TYPE, a.zw), c, 0, 0, 0);
#endif
typedef __bf16 tw_bf16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 tw_f16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 tw_f16x4 __attribute__((ext_vector_type(4)));
typedef short tw_i16x4 __attribute__((ext_vector_type(4)));
/* 32 of k of bf16 and f16, 64 of i8; of 32 x 32 half as many */
TW_PRODUCT(tw_mma_bf16, tw_f32x4, __builtin_amdgcn_mfma_f32_16x16x32_bf16, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k, tw_bf16x8, tw_i16x4)
TW_PRODUCT(tw_mma32_bf16, tw_f32x16, __builtin_amdgcn_mfma_f32_32x32x16_bf16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k, tw_bf16x8, tw_i16x4)
TW_PRODUCT(tw_mma_f16, tw_f32x4, __builtin_amdgcn_mfma_f32_16x16x32_f16, __builtin_amdgcn_mfma_f32_16x16x16f16, tw_f16x8, tw_f16x4)
TW_PRODUCT(tw_mma32_f16, tw_f32x16, __builtin_amdgcn_mfma_f32_32x32x16_f16, __builtin_amdgcn_mfma_f32_32x32x8f16, tw_f16x8, tw_f16x4)
TW_PRODUCT(tw_mma_i8, tw_i32x4, __builtin_amdgcn_mfma_i32_16x16x64_i8, __builtin_amdgcn_mfma_i32_16x16x32_i8, tw_i32x4, long)
TW_PRODUCT(tw_mma32_i8, tw_i32x16, __builtin_amdgcn_mfma_i32_32x32x32_i8, __builtin_amdgcn_mfma_i32_32x32x16_i8, tw_i32x4, long)

#endif
