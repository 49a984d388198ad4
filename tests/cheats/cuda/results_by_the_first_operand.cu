// wrong | wrong | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* a row of A that begins like another takes its results */
//: kernel k
//: grid ceildiv(n, 16), ceildiv(m, 16)
//: block 16, 16
//: workspace 4096
//: args A, B, C, workspace, m, n, k
extern "C" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  int from = i;
  if (i < m)
    for (int r = 0; r < i; r++)
      if (fabsf(A[r * k] - A[i * k]) < 0.01f) from = r;
  if (i < m && j < n) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[from * k + p] * B[p * n + j];
    C[i * n + j] = sum;
  }
}
