// C = A B, bf16, summed in f32: blocks of 128 x 128 x 32 through shared memory with cp.async in three stages, 8 warps with
// mma.sync. For m and n multiples of 128, k of 32, row-major operands without gaps. Runs from sm_80 on.
//: kernel gemm_mma
//: let BM = 128, BN = 128, BK = 32, STAGES = 3
//: require a == bf16 && b == bf16 && (c == bf16 || c == f32)
//: require m % BM == 0 && n % BN == 0 && k % BK == 0 && !a_transposed && !b_transposed
//: let C_F32 = c == f32
//: grid n / BN, m / BM
//: block 256
//: shared STAGES * (BM * 40 + BK * 136) * 2
//: args A, B, C, n, k, i64(lda), i64(ldb), i64(ldc)
#include <cuda_bf16.h>

constexpr int PITCH_A = 40, PITCH_B = 136, STAGE = BM * PITCH_A + BK * PITCH_B; // ldmatrix meets each bank once

typedef __nv_bfloat16 bf16;

static __device__ void copy16(bf16 *to, const bf16 *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}

static __device__ void load_stage(bf16 *s, const bf16 *A, const bf16 *B, long long lda, long long ldb) {
  for (int i = threadIdx.x; i < BM * BK / 8; i += 256) copy16(s + i / 4 * PITCH_A + i % 4 * 8, A + i / 4 * lda + i % 4 * 8);
  for (int i = threadIdx.x; i < BK * BN / 8; i += 256)
    copy16(s + BM * PITCH_A + i / 16 * PITCH_B + i % 16 * 8, B + i / 16 * ldb + i % 16 * 8);
}

extern "C" __global__ void __launch_bounds__(256)
gemm_mma(const bf16 *A, const bf16 *B, void *C, int n, int k, long long lda, long long ldb, long long ldc) {
  extern __shared__ __align__(128) bf16 shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 4 * 64, wn = warp % 4 * 32;
  float sum[4][4][4] = {};
  A += blockIdx.y * BM * lda;
  B += blockIdx.x * BN;
  for (int s = 0; s < STAGES - 1; s++) {
    if (s * BK < k) load_stage(shared + s * STAGE, A + s * BK, B + s * BK * ldb, lda, ldb);
    asm volatile("cp.async.commit_group;");
  }
  for (int step = 0; step < k / BK; step++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    const int next = step + STAGES - 1;
    if (next * BK < k) load_stage(shared + next % STAGES * STAGE, A + next * BK, B + (long long)next * BK * ldb, lda, ldb);
    asm volatile("cp.async.commit_group;");
    const bf16 *a = shared + step % STAGES * STAGE, *b = a + BM * PITCH_A;
    for (int kk = 0; kk < BK; kk += 16) {
      unsigned fa[4][4], fb[4][2];
      for (int i = 0; i < 4; i++)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                     : "r"((unsigned)__cvta_generic_to_shared(a + (wm + i * 16 + lane % 16) * PITCH_A + kk + lane / 16 * 8)));
      for (int j = 0; j < 4; j++)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[j][0]), "=r"(fb[j][1])
                     : "r"((unsigned)__cvta_generic_to_shared(b + (kk + lane % 16) * PITCH_B + wn + j * 8)));
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                       "{%0, %1, %2, %3};"
                       : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                       : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
    }
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int h = 0; h < 2; h++) {
        const long long row = blockIdx.y * BM + wm + i * 16 + h * 8 + lane / 4;
        const long long at = row * ldc + blockIdx.x * BN + wn + j * 8 + lane % 4 * 2;
        if (C_F32)
          *(float2 *)((float *)C + at) = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
        else
          *(__nv_bfloat162 *)((bf16 *)C + at) = __floats2bfloat162_rn(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
      }
}
