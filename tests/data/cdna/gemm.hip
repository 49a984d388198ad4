//: kernel mm
//: grid n / 64, m
//: block 64
//: args A, B, C, m, n, k
extern "C" __global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float x[64];
  const int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  float sum = 0;
  for (int p0 = 0; p0 < k; p0 += 64) {
    x[t] = p0 + t < k ? a[i * k + p0 + t] : 0;
    __syncthreads();
    for (int p = 0; p < 64 && p0 + p < k; p++) sum += x[p] * b[(p0 + p) * n + j];
    __syncthreads();
  }
  c[i * n + j] = sum;
}
