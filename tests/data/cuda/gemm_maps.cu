// C = A B, bf16 to f32, any sizes: tiles come by tensor maps, in a cluster of two blocks, and are multiplied by ordinary
// instructions; partial sums of two halves of k go through the workspace. Slow: it is here for what a launch can ask for.
//: kernel gemm_maps
//: let T = 32
//: require a == bf16 && b == bf16 && c == f32
//: grid 2 * ceildiv(n, T), ceildiv(m, T)
//: cluster 2
//: block T, 8
//: shared 2 * T * T * 2 + 1024
//: map ta = A box(T, T) l2(128)
//: map tb = B box(T, T) swizzle(0)
//: workspace 4 * ceildiv(m, T) * ceildiv(n, T) zeroed
//: args ta, tb, C, workspace, m, n, k, i64(ldc)
struct alignas(64) map {
  char bytes[128];
};

static __device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

static __device__ void fetch(void *to, const map *m, int x, int y, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   address(to)),
               "l"(m), "r"(x), "r"(y), "r"(address(barrier))
               : "memory");
}

static __device__ float real(unsigned short x) { return __uint_as_float((unsigned)x << 16); }

extern "C" __global__ void __launch_bounds__(T * 8)
gemm_maps(const __grid_constant__ map ta, const __grid_constant__ map tb, float *C, int *turn, int m, int n, int k,
          long long ldc) {
  extern __shared__ char raw[];
  unsigned short *a = (unsigned short *)(raw + (-address(raw) & 1023)), *b = a + T * T;
  __shared__ unsigned long long barrier;
  const int half = blockIdx.x % 2, bx = blockIdx.x / 2, x = threadIdx.x, steps = (k + T - 1) / T;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;
  float sum[T / 8] = {};
  if (first) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&barrier)));
    asm volatile("fence.proxy.async.shared::cta;");
  }
  __syncthreads();
  for (int step = half, phase = 0; step < steps; step += 2, phase ^= 1) {
    if (first) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(2 * T * T * 2));
      fetch(a, &ta, step * T, blockIdx.y * T, &barrier);
      fetch(b, &tb, bx * T, step * T, &barrier);
    }
    for (unsigned done = 0; !done;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(address(&barrier)), "r"(phase)
                   : "memory");
    for (int i = 0; i < T / 8; i++)
      for (int p = 0; p < T; p++) sum[i] += real(a[(threadIdx.y + 8 * i) * T + p]) * real(b[p * T + x]);
    __syncthreads();
  }
  volatile int *mine = turn + blockIdx.y * (gridDim.x / 2) + bx;
  while (half && *mine == 0) continue;
  __threadfence();
  for (int i = 0; i < T / 8; i++) {
    const int row = blockIdx.y * T + threadIdx.y + 8 * i, column = bx * T + x;
    if (row < m && column < n) C[row * ldc + column] = half ? __ldcg(&C[row * ldc + column]) + sum[i] : sum[i];
  }
  __threadfence();
  __syncthreads();
  if (first && !half) *mine = 1;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
