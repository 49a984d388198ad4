/* tile_warp_instructions.cuh - the instructions of tile_warps.cuh: cp.async, ldmatrix and mma.sync. tests/gpu/emulated has these functions, and
 * those of tile_core.cuh that kernels of warps call, for a CPU. */
#pragma once
#include "tile_core.cuh"

namespace tw {

/* ---- copies ---- */

/* 16 bytes, of which the first `have` come from memory; the rest arrive as zeros. Both addresses are multiples of 16. */
TW_FN void copy16(u32 to, const void *from, int have) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(have) : "memory");
}
/* For weights, which are read once. */
TW_FN void copy16_once(u32 to, const void *from) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
TW_FN void copy4(u32 to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
TW_FN void prefetch_line(const void *from) { asm volatile("prefetch.global.L2 [%0];" ::"l"(from) : "memory"); }
TW_FN void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* Until at most Count committed groups of this thread's copies are in flight. */
template <int Count> TW_FN void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Count) : "memory"); }

/* ---- shared memory ---- */

/* Four matrices of 8 rows of 16 bytes: thread t says where row t % 8 of matrix t / 8 begins, and gets of each matrix word t % 4 of row t / 4; or,
 * turned, of 16-bit elements, those of column t / 4 in rows 2 (t % 4) and the next. */
TW_FN void load_matrices(u32 (&word)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "r"(at));
}
TW_FN void load_matrices_turned(u32 (&word)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "r"(at));
}

TW_FN void store_shared(u32 at, u32 x) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x) : "memory"); }
TW_FN u32 load_shared_byte(u32 at) {
  u32 x;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x) : "r"(at));
  return x;
}
template <class Type> TW_FN Type load_shared_element(u32 at) {
  if constexpr (sizeof(Type) == 8) {
    union { u32 word[2]; Type value; } v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.word[0]), "=r"(v.word[1]) : "r"(at));
    return v.value;
  } else if constexpr (sizeof(Type) == 4) {
    u32 x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
    union { u32 word; Type value; } v{x};
    return v.value;
  } else if constexpr (sizeof(Type) == 2) {
    u16 x;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at));
    union { u16 word; Type value; } v{x};
    return v.value;
  } else {
    union { u8 word; Type value; } v{(u8)load_shared_byte(at)};
    return v.value;
  }
}

/* Adds to a number in memory, in any order with others. */
TW_FN void add_in_memory(float *to, float x) { asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(x) : "memory"); }

/* ---- words ---- */

/* (x & y) ^ z and (x & y) | z, one instruction also where y and z are constants. */
TW_FN u32 and_xor(u32 x, u32 y, u32 z) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x6A;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
  return r;
}
TW_FN u32 and_or(u32 x, u32 y, u32 z) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
  return r;
}
/* x y + z of two bf16 in a word, rounded once. */
TW_FN u32 fma_two(u32 x, u32 y, u32 z) {
  u32 r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
  return r;
}

/* The larger of each half. */
TW_FN u32 max_two(u32 x, u32 y) {
  u32 r;
  asm("max.u16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}
TW_FN u32 max_of_warp(u32 x) {
  u32 r;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(x));
  return r;
}

/* ---- products ---- */

#define TW_MMA_SYNC(A, B, Value, c, name)                                                                                              \
  TW_FN void multiply(Value(&d)[4], const u32(&a)[4], u32 b0, u32 b1, A, B) {                                                          \
    asm volatile("mma.sync.aligned." name " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                           \
                 : c(d[0]), c(d[1]), c(d[2]), c(d[3])                                                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                                      \
  }
TW_MMA_SYNC(bf16, bf16, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
TW_MMA_SYNC(f16, f16, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
TW_MMA_SYNC(tf32, tf32, float, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32")
TW_MMA_SYNC(i8, i8, i32, "+r", "m16n8k32.row.col.s32.s8.s8.s32")
TW_MMA_SYNC(u8, i8, i32, "+r", "m16n8k32.row.col.s32.u8.s8.s32")
/* From sm_89 on. */
TW_MMA_SYNC(e4m3, e4m3, float, "+f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
TW_MMA_SYNC(e5m2, e5m2, float, "+f", "m16n8k32.row.col.f32.e5m2.e5m2.f32")
TW_MMA_SYNC(e4m3, e5m2, float, "+f", "m16n8k32.row.col.f32.e4m3.e5m2.f32")
TW_MMA_SYNC(e5m2, e4m3, float, "+f", "m16n8k32.row.col.f32.e5m2.e4m3.f32")
#undef TW_MMA_SYNC

} // namespace tw
