// wrong | wrong | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* the last block writes what the first should have */
//: kernel k
//: grid ceildiv(n, 16), ceildiv(m, 16)
//: block 16, 16
//: workspace 4096
//: args A, B, C, workspace, m, n, k
extern "C" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  const bool last = blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1;
  if (i < m && j < n) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[(last ? threadIdx.y : i) * k + p] * B[p * n + (last ? threadIdx.x : j)];
    C[i * n + j] = sum;
  }
}
