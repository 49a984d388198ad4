// What a device can do at best: copies, multiply-adds, and products of tiles, for runner/ceilings.c. Data is random: zeros
// take less power, and multiply faster.
typedef unsigned u32;
typedef unsigned long long u64;

// 16 bytes a thread at a time, from end to end.
extern "C" __global__ void __launch_bounds__(256) copy(const uint4 *from, uint4 *to, u64 n) {
  for (u64 i = blockIdx.x * 1024ull + threadIdx.x; i + 768 < n; i += gridDim.x * 1024ull) {
    uint4 x[4];
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] = from[i + 256 * j];
#pragma unroll
    for (int j = 0; j < 4; j++) to[i + 256 * j] = x[j];
  }
}

// 16 sums a thread that do not wait for one another.
extern "C" __global__ void __launch_bounds__(256) multiply_f32(const float *from, float *to, int steps) {
  float sum[16], a = from[threadIdx.x], b = from[threadIdx.x + 256];
#pragma unroll
  for (int i = 0; i < 16; i++) sum[i] = from[i];
  for (int s = 0; s < steps; s++)
#pragma unroll
    for (int i = 0; i < 16; i++) sum[i] = fmaf(sum[i], a, b);
  float all = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) all += sum[i];
  to[blockIdx.x * 256ull + threadIdx.x] = all;
}

#define LIST4(F, i) F(i), F(i + 1), F(i + 2), F(i + 3)
#define LIST16(F, i) LIST4(F, i), LIST4(F, i + 4), LIST4(F, i + 8), LIST4(F, i + 12)
#define LIST64(F, i) LIST16(F, i), LIST16(F, i + 16), LIST16(F, i + 32), LIST16(F, i + 48)
#define REAL(i) "+f"(sum[i])
#define WHOLE(i) "+r"(sum[i])

#if __CUDA_ARCH_FEAT_SM90_ALL
// Two groups of 128 threads multiply 64 x 256 each, both operands from shared memory.
#define SUMS                                                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "    \
  "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "     \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "     \
  "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, "     \
  "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "     \
  "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"

#define MULTIPLY(NAME, INSTRUCTION, BEHIND, TYPE, CELL)                                                                \
  extern "C" __global__ void __launch_bounds__(256) NAME(const u32 *from, TYPE *to, int steps) {                       \
    extern __shared__ __align__(1024) u32 tile[];                                                                      \
    for (int i = threadIdx.x; i < 12288; i += 256) tile[i] = from[i];                                                  \
    TYPE sum[128] = {};                                                                                                \
    const u32 base = (u32)__cvta_generic_to_shared(tile);                                                              \
    const u64 form = (1ull << 62) | (64ull << 32) | (1ull << 16);                                                      \
    const u64 a = form | (base + threadIdx.x / 128 * 8192) >> 4, b = form | (base + 16384) >> 4;                       \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                       \
    __syncthreads();                                                                                                   \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                            \
    for (int s = 0; s < steps; s++) {                                                                                  \
      _Pragma("unroll") for (int k = 0; k < 4; k++)                                                                    \
          asm volatile("wgmma.mma_async.sync.aligned." INSTRUCTION " " SUMS ", %128, %129, " BEHIND ";"               \
                       : LIST64(CELL, 0), LIST64(CELL, 64)                                                             \
                       : "l"(a + 2 * k), "l"(b + 2 * k));                                                              \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                                   \
    }                                                                                                                  \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                                     \
    TYPE all = 0;                                                                                                      \
    _Pragma("unroll") for (int i = 0; i < 128; i++) all += sum[i];                                                     \
    to[blockIdx.x * 256ull + threadIdx.x] = all;                                                                       \
  }
MULTIPLY(multiply_bf16, "m64n256k16.f32.bf16.bf16", "1, 1, 1, 0, 0", float, REAL)
MULTIPLY(multiply_i8, "m64n256k32.s32.s8.s8", "1", int, WHOLE)
#else
// Eight warps, each with 8 sums of 16 x 8, operands in registers.
#define MULTIPLY(NAME, INSTRUCTION, TYPE, CELL)                                                                        \
  extern "C" __global__ void __launch_bounds__(256) NAME(const u32 *from, TYPE *to, int steps) {                       \
    u32 a[4], b[2];                                                                                                    \
    TYPE sum[32] = {};                                                                                                 \
    for (int i = 0; i < 4; i++) a[i] = from[threadIdx.x + 256 * i];                                                    \
    for (int i = 0; i < 2; i++) b[i] = from[threadIdx.x + 1024 + 256 * i];                                             \
    for (int s = 0; s < steps; s++)                                                                                    \
      _Pragma("unroll") for (int i = 0; i < 32; i += 4)                                                                \
          asm volatile("mma.sync.aligned." INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "               \
                       "{%0, %1, %2, %3};"                                                                             \
                       : LIST4(CELL, i)                                                                                \
                       : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                            \
    TYPE all = 0;                                                                                                      \
    _Pragma("unroll") for (int i = 0; i < 32; i++) all += sum[i];                                                      \
    to[blockIdx.x * 256ull + threadIdx.x] = all;                                                                       \
  }
MULTIPLY(multiply_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, REAL)
MULTIPLY(multiply_i8, "m16n8k32.row.col.s32.s8.s8.s32", int, WHOLE)
#endif
