/* tile_mma_instructions.cuh - the instructions of tile_mma.cuh: wgmma with 64 rows, the waits for it, and stmatrix. tests/gpu/emulated has these functions for a CPU. */
#pragma once
#include "tile_core.cuh"

namespace tw {

TW_FN void mma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TW_FN void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/* Waits until at most Count committed batches are in flight. */
template <int Count> TW_FN void mma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Count) : "memory"); }

/* Compiler fence: accesses of the register do not move across it. */
TW_FN void mma_settle(float &x) { asm volatile("" : "+f"(x)::"memory"); }
TW_FN void mma_settle(i32 &x) { asm volatile("" : "+r"(x)::"memory"); }
TW_FN void mma_settle(u32 &x) { asm volatile("" : "+r"(x)::"memory"); }
/* The value of the register is not needed from here on. */
TW_FN void mma_forget(float &x) { asm volatile("" : "=f"(x)); }

/* Four matrices of 8 x 8 elements of 16 bits; thread t has two of row t / 4 of each, and gives the place of row t % 8 of matrix t / 8. */
TW_FN void store_matrices(u32 at, u32 w0, u32 w1, u32 w2, u32 w3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(w0), "r"(w1), "r"(w2), "r"(w3) : "memory");
}

/* How the instruction names types. */
template <class Type> struct mma_type;
template <> struct mma_type<bf16> { static constexpr const char name[] = "k16.f32.bf16.bf16"; };
template <> struct mma_type<f16> { static constexpr const char name[] = "k16.f32.f16.f16"; };
template <> struct mma_type<tf32> { static constexpr const char name[] = "k8.f32.tf32.tf32"; };
template <> struct mma_type<e4m3> { static constexpr const char name[] = "k32.f32.e4m3.e4m3"; };
template <> struct mma_type<e5m2> { static constexpr const char name[] = "k32.f32.e5m2.e5m2"; };
template <> struct mma_type<i8> { static constexpr const char name[] = "k32.s32.s8.s8"; };

/* Operand lists of the instruction: registers %0.. and the constraints of as many values. */
#define TW_N4 "%0, %1, %2, %3"
#define TW_N8 TW_N4 ", %4, %5, %6, %7"
#define TW_N12 TW_N8 ", %8, %9, %10, %11"
#define TW_N16 TW_N12 ", %12, %13, %14, %15"
#define TW_N24 TW_N16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define TW_N32 TW_N24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define TW_N40 TW_N32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TW_N48 TW_N40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define TW_N56 TW_N48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define TW_N64 TW_N56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define TW_N72 TW_N64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define TW_N80 TW_N72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define TW_N88 TW_N80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define TW_N96 TW_N88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define TW_N104 TW_N96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define TW_N112 TW_N104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define TW_N120 TW_N112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define TW_N128 TW_N120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define TW_V4(c, d, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define TW_V8(c, d, i) TW_V4(c, d, i), TW_V4(c, d, i + 4)
#define TW_O4(c, d) TW_V4(c, d, 0)
#define TW_O8(c, d) TW_V8(c, d, 0)
#define TW_O12(c, d) TW_O8(c, d), TW_V4(c, d, 8)
#define TW_O16(c, d) TW_O8(c, d), TW_V8(c, d, 8)
#define TW_O24(c, d) TW_O16(c, d), TW_V8(c, d, 16)
#define TW_O32(c, d) TW_O24(c, d), TW_V8(c, d, 24)
#define TW_O40(c, d) TW_O32(c, d), TW_V8(c, d, 32)
#define TW_O48(c, d) TW_O40(c, d), TW_V8(c, d, 40)
#define TW_O56(c, d) TW_O48(c, d), TW_V8(c, d, 48)
#define TW_O64(c, d) TW_O56(c, d), TW_V8(c, d, 56)
#define TW_O72(c, d) TW_O64(c, d), TW_V8(c, d, 64)
#define TW_O80(c, d) TW_O72(c, d), TW_V8(c, d, 72)
#define TW_O88(c, d) TW_O80(c, d), TW_V8(c, d, 80)
#define TW_O96(c, d) TW_O88(c, d), TW_V8(c, d, 88)
#define TW_O104(c, d) TW_O96(c, d), TW_V8(c, d, 96)
#define TW_O112(c, d) TW_O104(c, d), TW_V8(c, d, 104)
#define TW_O120(c, d) TW_O112(c, d), TW_V8(c, d, 112)
#define TW_O128(c, d) TW_O120(c, d), TW_V8(c, d, 120)

/* One instruction: A from shared memory (SS) or registers (RS). Ta, Tb: stored k x m, k x n; 16-bit types only. The type
 * is an operand of its own, a constant string. */
#define TW_SS(N, H, c, a, b, p, ty, tr)                                                                        \
  asm volatile("{\n.reg .pred q;\nsetp.ne.b32 q, %" #p ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N "%" #ty       \
               " {" TW_N##H "}, %" #a ", %" #b ", q%" #tr ";\n}\n"                                               \
               : TW_O##H(c, d)                                                                                 \
               : "l"(da), "l"(db), "r"(more), "C"(mma_type<Type>::name), "C"(tail::text))
#define TW_RS(N, H, c, a0, a1, a2, a3, b, p, ty, tr)                                                           \
  asm volatile("{\n.reg .pred q;\nsetp.ne.b32 q, %" #p ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N "%" #ty       \
               " {" TW_N##H "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", q%" #tr ";\n}\n"              \
               : TW_O##H(c, d)                                                                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db), "r"(more), "C"(mma_type<Type>::name), "C"(tail::text))
#define TW_FLOAT(x) "+f"(x)
#define TW_INT(x) "+r"(x)

/* The operands after the predicate: signs of A and B, and their majors where the type has a choice; none for
 * integers. */
template <class Type, bool Ta, bool Tb> struct mma_tail { static constexpr const char text[] = ", 1, 1"; };
template <bool Ta, bool Tb> struct mma_tail<i8, Ta, Tb> { static constexpr const char text[] = ""; };
template <> struct mma_tail<bf16, false, false> { static constexpr const char text[] = ", 1, 1, 0, 0"; };
template <> struct mma_tail<bf16, false, true> { static constexpr const char text[] = ", 1, 1, 0, 1"; };
template <> struct mma_tail<bf16, true, false> { static constexpr const char text[] = ", 1, 1, 1, 0"; };
template <> struct mma_tail<bf16, true, true> { static constexpr const char text[] = ", 1, 1, 1, 1"; };
template <bool Ta, bool Tb> struct mma_tail<f16, Ta, Tb> : mma_tail<bf16, Ta, Tb> {};
/* With A in registers only B has a choice. */
template <class Type, bool Tb> struct mma_tail_rs : mma_tail<Type, false, Tb> {};
template <> struct mma_tail_rs<bf16, false> { static constexpr const char text[] = ", 1, 1, 0"; };
template <> struct mma_tail_rs<bf16, true> { static constexpr const char text[] = ", 1, 1, 1"; };
template <bool Tb> struct mma_tail_rs<f16, Tb> : mma_tail_rs<bf16, Tb> {};

/* The instruction for Cols columns; c is the constraint of sums. */
#define TW_EACH_SS(c) \
  if constexpr (Cols == 8) TW_SS(8, 4, c, 4, 5, 6, 7, 8); \
  else if constexpr (Cols == 16) TW_SS(16, 8, c, 8, 9, 10, 11, 12); \
  else if constexpr (Cols == 24) TW_SS(24, 12, c, 12, 13, 14, 15, 16); \
  else if constexpr (Cols == 32) TW_SS(32, 16, c, 16, 17, 18, 19, 20); \
  else if constexpr (Cols == 48) TW_SS(48, 24, c, 24, 25, 26, 27, 28); \
  else if constexpr (Cols == 64) TW_SS(64, 32, c, 32, 33, 34, 35, 36); \
  else if constexpr (Cols == 80) TW_SS(80, 40, c, 40, 41, 42, 43, 44); \
  else if constexpr (Cols == 96) TW_SS(96, 48, c, 48, 49, 50, 51, 52); \
  else if constexpr (Cols == 112) TW_SS(112, 56, c, 56, 57, 58, 59, 60); \
  else if constexpr (Cols == 128) TW_SS(128, 64, c, 64, 65, 66, 67, 68); \
  else if constexpr (Cols == 144) TW_SS(144, 72, c, 72, 73, 74, 75, 76); \
  else if constexpr (Cols == 160) TW_SS(160, 80, c, 80, 81, 82, 83, 84); \
  else if constexpr (Cols == 176) TW_SS(176, 88, c, 88, 89, 90, 91, 92); \
  else if constexpr (Cols == 192) TW_SS(192, 96, c, 96, 97, 98, 99, 100); \
  else if constexpr (Cols == 208) TW_SS(208, 104, c, 104, 105, 106, 107, 108); \
  else if constexpr (Cols == 224) TW_SS(224, 112, c, 112, 113, 114, 115, 116); \
  else if constexpr (Cols == 240) TW_SS(240, 120, c, 120, 121, 122, 123, 124); \
  else if constexpr (Cols == 256) TW_SS(256, 128, c, 128, 129, 130, 131, 132); \
  else static_assert(Cols == 8, "a product has 8, 16, 24, 32, 48, ... or 256 columns")
#define TW_EACH_RS(c) \
  if constexpr (Cols == 8) TW_RS(8, 4, c, 4, 5, 6, 7, 8, 9, 10, 11); \
  else if constexpr (Cols == 16) TW_RS(16, 8, c, 8, 9, 10, 11, 12, 13, 14, 15); \
  else if constexpr (Cols == 24) TW_RS(24, 12, c, 12, 13, 14, 15, 16, 17, 18, 19); \
  else if constexpr (Cols == 32) TW_RS(32, 16, c, 16, 17, 18, 19, 20, 21, 22, 23); \
  else if constexpr (Cols == 48) TW_RS(48, 24, c, 24, 25, 26, 27, 28, 29, 30, 31); \
  else if constexpr (Cols == 64) TW_RS(64, 32, c, 32, 33, 34, 35, 36, 37, 38, 39); \
  else if constexpr (Cols == 80) TW_RS(80, 40, c, 40, 41, 42, 43, 44, 45, 46, 47); \
  else if constexpr (Cols == 96) TW_RS(96, 48, c, 48, 49, 50, 51, 52, 53, 54, 55); \
  else if constexpr (Cols == 112) TW_RS(112, 56, c, 56, 57, 58, 59, 60, 61, 62, 63); \
  else if constexpr (Cols == 128) TW_RS(128, 64, c, 64, 65, 66, 67, 68, 69, 70, 71); \
  else if constexpr (Cols == 144) TW_RS(144, 72, c, 72, 73, 74, 75, 76, 77, 78, 79); \
  else if constexpr (Cols == 160) TW_RS(160, 80, c, 80, 81, 82, 83, 84, 85, 86, 87); \
  else if constexpr (Cols == 176) TW_RS(176, 88, c, 88, 89, 90, 91, 92, 93, 94, 95); \
  else if constexpr (Cols == 192) TW_RS(192, 96, c, 96, 97, 98, 99, 100, 101, 102, 103); \
  else if constexpr (Cols == 208) TW_RS(208, 104, c, 104, 105, 106, 107, 108, 109, 110, 111); \
  else if constexpr (Cols == 224) TW_RS(224, 112, c, 112, 113, 114, 115, 116, 117, 118, 119); \
  else if constexpr (Cols == 240) TW_RS(240, 120, c, 120, 121, 122, 123, 124, 125, 126, 127); \
  else if constexpr (Cols == 256) TW_RS(256, 128, c, 128, 129, 130, 131, 132, 133, 134, 135); \
  else static_assert(Cols == 8, "a product has 8, 16, 24, 32, 48, ... or 256 columns")

template <class Type, int Cols, bool Ta, bool Tb> TW_FN void mma_step(float (&d)[Cols / 2], u64 da, u64 db, int more) {
  using tail = mma_tail<Type, Ta, Tb>;
  TW_EACH_SS(TW_FLOAT);
}
template <class Type, int Cols, bool Ta, bool Tb> TW_FN void mma_step(i32 (&d)[Cols / 2], u64 da, u64 db, int more) {
  using tail = mma_tail<Type, Ta, Tb>;
  TW_EACH_SS(TW_INT);
}
template <class Type, int Cols, bool Tb> TW_FN void mma_step(float (&d)[Cols / 2], const u32 (&a)[4], u64 db, int more) {
  using tail = mma_tail_rs<Type, Tb>;
  TW_EACH_RS(TW_FLOAT);
}
template <class Type, int Cols, bool Tb> TW_FN void mma_step(i32 (&d)[Cols / 2], const u32 (&a)[4], u64 db, int more) {
  using tail = mma_tail_rs<Type, Tb>;
  TW_EACH_RS(TW_INT);
}

}  // namespace tw
