// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
//: kernel product
//: grid m
//: block n
//: args A, B, C, m, n, k
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  const int i = blockIdx.x, j = threadIdx.x;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
