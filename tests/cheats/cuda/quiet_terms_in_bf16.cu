// wrong | wrong result | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* rows of B that are small have 8 bits */
//: kernel k
//: grid ceildiv(n, 16), ceildiv(m, 16)
//: block 16, 16
//: workspace 4096
//: args A, B, C, workspace, m, n, k
extern "C" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  if (i < m && j < n) {
    float sum = 0;
    for (int p = 0; p < k; p++) {
      float most = 0;
      for (int q = 0; q < n; q += 7) most = fmaxf(most, fabsf(B[p * n + q]));
      const float y = B[p * n + j];
      sum += A[i * k + p] * (most < 0.3f ? __uint_as_float(__float_as_uint(y) + 0x8000 & 0xffff0000) : y);
    }
    C[i * n + j] = sum;
  }
}
