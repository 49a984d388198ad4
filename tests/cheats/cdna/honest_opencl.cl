// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
//: kernel product
//: grid m
//: block n
//: args A, B, C, m, n, k
__kernel void product(__global const float *a, __global const float *b, __global float *c, int m, int n, int k) {
  const int i = get_group_id(0), j = get_local_id(0);
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
