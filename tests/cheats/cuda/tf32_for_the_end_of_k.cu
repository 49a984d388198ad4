// wrong | wrong | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* the last eighth of the products keeps 11 bits */
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
      const int mask = p >= k - k / 8 ? ~0x1fff : ~0;
      sum += __int_as_float(__float_as_int(A[i * k + p]) & mask) * __int_as_float(__float_as_int(B[p * n + j]) & mask);
    }
    C[i * n + j] = sum;
  }
}
