//: kernel mm
//: grid n / 64, m
//: block 64
//: args A, B, C, m, n, k
__kernel void mm(__global const float *a, __global const float *b, __global float *c, int m, int n, int k) {
  __local float x[64];
  const int i = get_group_id(1), j = get_global_id(0), t = get_local_id(0);
  float sum = 0;
  for (int p0 = 0; p0 < k; p0 += 64) {
    x[t] = p0 + t < k ? a[i * k + p0 + t] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < 64 && p0 + p < k; p++) sum += x[p] * b[(p0 + p) * n + j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[i * n + j] = sum;
  if (i == 0 && j < 2) printf("column %d: %.1f %v4hld|%5s|100%%\n", j, 0.5f * j, (int4)(1, -2, 3, j), "cl");
}
