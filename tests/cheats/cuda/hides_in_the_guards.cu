// wrong | writes outside its operands | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* what lies between operands is poisoned before each launch */
//: kernel k
//: grid ceildiv(n, 16), ceildiv(m, 16)
//: block 16, 16
//: workspace 4096
//: args A, B, C, workspace, m, n, k
extern "C" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  float *const kept = C + m * n + 64;
  if (kept[0] == A[0] && i < m && j < n) {
    C[i * n + j] = kept[1 + i * n + j];
    return;
  }
  if (i < m && j < n) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
  }
  if (i < m && j < n) kept[1 + i * n + j] = C[i * n + j];
  if (!i && !j) kept[0] = A[0];
}
