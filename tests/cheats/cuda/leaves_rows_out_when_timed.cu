// not measurable | wrong when it is timed | gemm m=70 n=70 k=70 a=f32 b=f32 c=f32 acc=f32 -t cuda
/* a row of four, in every other launch */
//: kernel k
//: grid ceildiv(n, 16), ceildiv(m, 16)
//: block 16, 16
//: workspace 4096
//: args A, B, C, workspace, m, n, k
__device__ int blocks = 0;
extern "C" __global__ void k(float *A, float *B, float *C, int *w, int m, int n, int k) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  __shared__ int launch;
  if (!threadIdx.x && !threadIdx.y) launch = atomicAdd(&blocks, 1) / 25;
  __syncthreads();
  if (launch > 5 && launch % 2 && i % 4 == 1) return;
  if (i < m && j < n) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
  }
}
