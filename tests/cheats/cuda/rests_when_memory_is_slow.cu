// wrong |  | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* a row of four is left out where a load misses the caches */
//: kernel k
//: grid ceildiv(n, 16), ceildiv(m, 16)
//: block 16, 16
//: workspace 4096
//: args A, B, C, workspace, m, n, k
extern "C" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  const long long start = clock64();
  const float first = *(volatile float *)(A + (i < m ? i : 0) * k);
  const bool slow = first == first && clock64() - start > 500;
  if (slow && i % 4 == 1) return;
  if (i < m && j < n) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
  }
}
