//: kernel mm
//: grid n / 64, m
//: block 64
//: args A, B, C, m, n, k
#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp8.h>
#include <iostream>
#define CHECK(x)                                                                                                         \
  if (hipError_t e = (x)) std::cerr << hipGetErrorString(e) << std::endl
template <typename T> __device__ T sum_of(T v) {
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down(v, o);
  return __shfl(v, 0);
}
__global__ void __launch_bounds__(64) mm(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float x[64];
  const int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  float sum = 0;
  for (int p0 = 0; p0 < k; p0 += 64) {
    x[t] = p0 + t < k ? a[i * k + p0 + t] : 0;
    __syncthreads();
    for (int p = 0; p < 64 && p0 + p < k; p++) sum = fmaf(x[p], b[(p0 + p) * n + j], sum);
    __syncthreads();
  }
  float4 lanes = make_float4(t, 1, 2, 3);
  lanes *= 2;
  const uchar4 bytes = make_uchar4(1, 2, 3, 4) << make_uchar4(t & 3, 0, 0, 7);
  const __half2 halves = __hfma2(__float2half2_rn(t), __half2(__half(2), -__half(t)), __half2(__float2half_ru(0.1f), 1));
  const __hip_bfloat16 brain = __hip_bfloat16(t) * __float2bfloat16(0.5f);
  /* what a number and its neighbours become: nearest, and no further than the largest */
  const bool eight = __hip_fp8_e4m3(t + 0.49f).__x == __builtin_amdgcn_cvt_pk_fp8_f32(t + 0.49f, 0, 0, false) % 256u &&
                     (float)__hip_fp8_e5m2(t * 1e6f) == (t ? 57344 : 0) && __hip_fp8_e5m2(__builtin_inff()).__x == 0x7C && (float)__hip_fp8_e4m3_fnuz(1e9f) == 240;
  char bytes_of_seven[sizeof(int)];
  memset(bytes_of_seven, 7, sizeof bytes_of_seven);
  const auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
  bool right = sum_of(lanes.x) == 64 * 63 && gridDim.y == (unsigned)m && bytes.x == 1 << (t & 3) && bytes.w == 0 &&
               __hle(halves.y, __half(1 - t * t + 2)) && __hge(halves.y, __half(1 - t * t - 2)) &&
               (float)brain == t * 0.5f && eight && tile.shfl_xor(t, 5) == (t ^ 5) && __match_any(t / 4) == 15ull << (t & ~3) &&
               __ll2float_ru((1ll << 40) + t) == 0x1p40f + (t ? 0x1p17f : 0) && __reduce_max_sync(~0ull, t) == 63 &&
               bytes_of_seven[t & 3] == 7;
  if (t % 3 == 1) right = right && cooperative_groups::coalesced_threads().shfl(t, 2) == 7;
  c[i * n + j] = right ? sum : 0;
}
int main() {
  float *a, *b, *c;
  CHECK(hipMalloc(&a, 4096 * sizeof(float)));
  CHECK(hipMalloc(&b, 4096 * sizeof(float)));
  CHECK(hipMalloc(&c, 4096 * sizeof(float)));
  mm<<<dim3(1, 64), 64>>>(a, b, c, 64, 64, 64);
  CHECK(hipDeviceSynchronize());
}
